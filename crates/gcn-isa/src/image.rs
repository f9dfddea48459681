//! The operations of image instructions, and the layout of their address VGPRs.

use crate::meaning::AtomicOp;
use crate::shape::Ty;

/// An image instruction, as [`Change::Image`](crate::meaning::Change::Image) carries it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ImageOp {
    /// Loads an element: of the first level, or of the level in the address.
    Load {
        /// The address ends with a level.
        mip: bool,
        /// The conversion of the element to dwords.
        raw: Raw,
    },
    /// Stores an element.
    Store {
        /// The address ends with a level.
        mip: bool,
        /// The dwords are the element, unconverted.
        raw: bool,
    },
    /// Changes an element of 32 or 64 bits atomically; the type says how an operation reads it (the 32-bit type stands for both
    /// widths).
    Atomic(AtomicOp, Ty),
    /// Returns width, height, depth (or slices) and levels; the address is a level.
    Size,
    /// Returns the level that a sample would use, and the level before clamping.
    Lod,
    /// Samples: filters elements.
    Sample(Sampling),
    /// Returns one component of several elements.
    Gather(Sampling, Footprint),
}

/// The conversion of an element to dwords.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)]
pub enum Raw {
    /// Converted from its format, one component per dword.
    Converted,
    /// The element's own dwords.
    Dwords,
    /// The element's own dwords; a partial dword is sign-extended.
    SignedDwords,
}

/// The elements that a gather reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Footprint {
    /// The four that a bilinear filter reads.
    Square,
    /// Four adjacent elements of a row.
    Row,
    /// Four adjacent elements of a row, one byte of each, packed in one dword.
    PackedRow,
    /// Eight adjacent elements of a row, one byte of each, packed in two dwords.
    PackedRow8,
}

/// The source of the level of detail.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Detail {
    /// The differences of the coordinates within a quad of lanes.
    Quad,
    /// As `Quad`, plus a bias from the address.
    Bias,
    /// The last part of the address.
    Given,
    /// Level 0.
    Zero,
    /// Derivatives in the address.
    Derivatives,
    /// Derivatives in the address; those of a quad's first lane apply to its four lanes.
    CoarseDerivatives,
}

/// The variant of a sample or gather.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Sampling {
    /// The source of the level of detail.
    pub detail: Detail,
    /// Elements are compared with a value in the address before they are filtered.
    pub compare: bool,
    /// The address begins with offsets in elements.
    pub offset: bool,
    /// The address ends with the minimum level.
    pub clamp: bool,
    /// The derivatives have 16 bits.
    pub half_derivatives: bool,
}

/// The location of a part of the address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressField {
    /// The index of the address VGPR.
    pub dword: u8,
    /// The bits of the VGPR.
    pub part: Part,
}

/// A part of a VGPR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Part {
    Whole,
    Low,
    High,
}

/// The layout of an image instruction's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Address {
    /// Offsets in elements: six signed bits each in bits 5:0, 13:8 and 21:16.
    pub offset: Option<AddressField>,
    /// The bias added to the level of detail.
    pub bias: Option<AddressField>,
    /// The comparison value.
    pub compare: Option<AddressField>,
    /// Derivatives: first those in the horizontal direction, then those in the vertical direction.
    pub derivatives: [Option<AddressField>; 6],
    /// The coordinates; then a slice or face, then a sample.
    pub coordinates: [Option<AddressField>; 4],
    /// The level, or its minimum.
    pub level: Option<AddressField>,
    /// The number of VGPRs.
    pub dwords: u8,
}

impl Address {
    /// The address layout of an instruction for an image that takes `coordinates` coordinates (slice, face and sample included),
    /// and `derivatives` derivatives per direction. `half` is gfx9's A16: everything except offsets and the comparison value has
    /// 16 bits. The order is that of the manuals: offset, bias, comparison value, derivatives, coordinates, level.
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
        for location in address.coordinates.iter_mut().take(coordinates as usize) {
            *location = Some(next.take(half));
        }
        address.level = level.then(|| next.take(half));
        address.dwords = next.dwords();
        address
    }

    /// The maximum number of VGPRs of an instruction's address, for any image.
    pub fn most(op: ImageOp, half: bool) -> u8 {
        let coordinates = match op {
            // Two coordinates, slice and sample; images with several levels have no samples.
            ImageOp::Load { mip: false, .. } | ImageOp::Store { mip: false, .. } => 4,
            ImageOp::Atomic(..) => 4,
            _ => 3,
        };
        Address::new(op, coordinates, 3, half).dwords
    }
}

/// Assigns the parts of an address in order.
#[derive(Default)]
struct Next {
    dword: u8,
    /// The upper half of the previous dword is free.
    half: bool,
}

impl Next {
    fn take(&mut self, half: bool) -> AddressField {
        if half && self.half {
            self.half = false;
            return AddressField {
                dword: self.dword - 1,
                part: Part::High,
            };
        }
        self.half = half;
        self.dword += 1;
        AddressField {
            dword: self.dword - 1,
            part: if half { Part::Low } else { Part::Whole },
        }
    }

    /// The next part begins at a VGPR.
    fn align(&mut self) {
        self.half = false;
    }

    fn dwords(&self) -> u8 {
        self.dword
    }
}
