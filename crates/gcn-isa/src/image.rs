//! What image instructions do, and where their address VGPRs hold what.

use crate::meaning::AtomicOp;
use crate::shape::Ty;

/// An image instruction, as [`Change::Image`](crate::meaning::Change::Image) carries it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ImageOp {
    /// Reads an element: of the first level, or of the one that the address names.
    Load {
        /// The address ends with a level.
        mip: bool,
        /// How the element becomes dwords.
        raw: Raw,
    },
    /// Writes an element.
    Store {
        /// The address ends with a level.
        mip: bool,
        /// The dwords are the element, unconverted.
        raw: bool,
    },
    /// Changes an element of 32 or 64 bits as one; the type says how an operation reads it (the 32-bit type stands for both
    /// widths).
    Atomic(AtomicOp, Ty),
    /// Gives width, height, depth (or slices) and levels; the address is a level.
    Size,
    /// Gives the level that a sample would use, and the level before it is clamped.
    Lod,
    /// Filters elements.
    Sample(Sampling),
    /// Gives one component of several elements.
    Gather(Sampling, Footprint),
}

/// How an element becomes dwords.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)]
pub enum Raw {
    /// Converted from its format, a component a dword.
    Converted,
    /// Its own dwords.
    Dwords,
    /// Its own dwords; one that is not full is sign-extended.
    SignedDwords,
}

/// Which elements a gather reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Footprint {
    /// The four that a bilinear filter reads.
    Square,
    /// Four side by side.
    Row,
    /// Four side by side, a byte of each in one dword.
    PackedRow,
    /// Eight side by side, a byte of each in two dwords.
    PackedRow8,
}

/// Where the level of detail comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Detail {
    /// The differences of the coordinates within a quad of lanes.
    Quad,
    /// The same, plus a bias from the address.
    Bias,
    /// The address ends with it.
    Given,
    /// Level 0.
    Zero,
    /// The address has the derivatives.
    Derivatives,
    /// The address has derivatives, and those of a quad's first lane count for its four.
    CoarseDerivatives,
}

/// The variant of a sample or gather.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Sampling {
    /// Where the level of detail comes from.
    pub detail: Detail,
    /// Elements are compared with a value of the address before they are filtered.
    pub compare: bool,
    /// The address begins with offsets in elements.
    pub offset: bool,
    /// The address ends with the least level.
    pub clamp: bool,
    /// The derivatives have 16 bits.
    pub half_derivatives: bool,
}

/// Where a part of the address is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Which of the address VGPRs.
    pub dword: u8,
    /// Which bits of it.
    pub part: Part,
}

/// Which bits of a VGPR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Part {
    Whole,
    Low,
    High,
}

/// Where an image instruction's address is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Address {
    /// Offsets in elements: six signed bits each in bits 5:0, 13:8 and 21:16.
    pub offset: Option<Place>,
    /// Added to the level of detail.
    pub bias: Option<Place>,
    /// What elements are compared with.
    pub compare: Option<Place>,
    /// Derivatives: those by the horizontal direction, then the vertical.
    pub derivatives: [Option<Place>; 6],
    /// The coordinates; then a slice or face, then a sample.
    pub coordinates: [Option<Place>; 4],
    /// The level, or its least value.
    pub level: Option<Place>,
    /// How many VGPRs there are.
    pub dwords: u8,
}

impl Address {
    /// The address of an instruction on an image that takes so many coordinates (slice, face and sample included), and as
    /// many derivatives in a direction. `half` is gfx9's A16: all but offsets and what is compared have 16 bits. The order is
    /// the manuals': offset, bias, comparand, derivatives, coordinates, level.
    pub fn new(op: ImageOp, coordinates: u8, derivatives: u8, half: bool) -> Address {
        let mut address = Address::default();
        let mut next = Next::default();
        let sampling = match op {
            ImageOp::Sample(sampling) | ImageOp::Gather(sampling, _) => Some(sampling),
            _ => None,
        };
        let mut level = matches!(
            op,
            ImageOp::Load { mip: true, .. } | ImageOp::Store { mip: true, .. }
        );
        if op == ImageOp::Size {
            address.level = Some(next.take(half));
            address.dwords = next.dwords();
            return address;
        }
        if let Some(sampling) = sampling {
            level = sampling.clamp || sampling.detail == Detail::Given;
            address.offset = sampling.offset.then(|| next.take(false));
            if sampling.detail == Detail::Bias {
                address.bias = Some(next.take(half));
                next.align();
            }
            address.compare = sampling.compare.then(|| next.take(false));
            if matches!(
                sampling.detail,
                Detail::Derivatives | Detail::CoarseDerivatives
            ) {
                let half = half || sampling.half_derivatives;
                for direction in 0..2 {
                    for k in 0..derivatives.min(3) {
                        let at = direction * derivatives.min(3) + k;
                        address.derivatives[at as usize] = Some(next.take(half));
                    }
                    next.align();
                }
            }
        }
        for place in address.coordinates.iter_mut().take(coordinates as usize) {
            *place = Some(next.take(half));
        }
        address.level = level.then(|| next.take(half));
        address.dwords = next.dwords();
        address
    }

    /// The most VGPRs that an instruction's address may have, whatever the image.
    pub fn most(op: ImageOp, half: bool) -> u8 {
        let coordinates = match op {
            // Two coordinates, slice and sample; images of several levels have no samples.
            ImageOp::Load { mip: false, .. } | ImageOp::Store { mip: false, .. } => 4,
            ImageOp::Atomic(..) => 4,
            _ => 3,
        };
        Address::new(op, coordinates, 3, half).dwords
    }
}

/// Hands out the parts of an address in order.
#[derive(Default)]
struct Next {
    dword: u8,
    /// The upper half of the dword before is free.
    half: bool,
}

impl Next {
    fn take(&mut self, half: bool) -> Place {
        if half && self.half {
            self.half = false;
            return Place {
                dword: self.dword - 1,
                part: Part::High,
            };
        }
        self.half = half;
        self.dword += 1;
        Place {
            dword: self.dword - 1,
            part: if half { Part::Low } else { Part::Whole },
        }
    }

    /// What comes next begins a VGPR.
    fn align(&mut self) {
        self.half = false;
    }

    fn dwords(&self) -> u8 {
        self.dword
    }
}
