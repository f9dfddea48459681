//! Images: resources, samplers, addressing, filtering.
//!
//! A resource (T#) is eight dwords, a sampler (S#) four; their fields are those of AMD's register references for gfx6 to
//! gfx8 and for gfx9. Only linear images are supported: the address of an element of a tiled image depends on the
//! configuration of the chip's memory channels, which no descriptor contains. Where the manuals are silent, docs/errata.md
//! (image-linear, image-filter, image-range) gives the choices.

mod sample;

use crate::engine::{Failure, Machine};
use crate::eval;
use crate::formats::{self, Format, Number};
use crate::fp::{self, Env, F16, F32};
use crate::operands::{self, Opnd};
use crate::wave::{LANES, WaveState};
use gcn_isa::access::MemoryKind;
use gcn_isa::decode::Insn;
use gcn_isa::format::Field;
use gcn_isa::image::{Address, AddressField, ImageOp, Part, Raw};
use gcn_isa::meaning::{AtomicOp, Space};
use gcn_isa::shape::{Role, Ty};
use gcn_isa::target::{Features, Gen};

/// The kind of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    D1,
    D2,
    D3,
    Cube,
    D1Array,
    D2Array,
    D2Msaa,
    D2MsaaArray,
}

/// The decoded fields of a resource.
struct Image {
    generation: Gen,
    base: u64,
    /// `None`: nothing is bound, or the format is invalid.
    format: Option<Format>,
    select: [u8; 4],
    kind: Kind,
    width: u32,
    height: u32,
    /// For a 3D image its depth, for others the number of slices, counted from slice 0.
    depth: u32,
    /// Elements from one row of level 0 to the next.
    pitch: u32,
    base_level: u32,
    last_level: u32,
    /// The number of levels in memory.
    levels: u32,
    base_array: u32,
    samples: u32,
    /// The least level of detail, in 1/256.
    min_lod: i32,
    /// Level 0 is padded to powers of two as the smaller ones are (gfx6 to gfx8).
    padded: bool,
    /// The component of an element, before DST_SEL, that is the border's fourth one.
    border_alpha: usize,
}

/// A level of an image.
#[derive(Clone, Copy, Debug)]
struct Level {
    width: u32,
    height: u32,
    depth: u32,
    /// Bytes from the base to its first slice.
    offset: u64,
    /// Elements from one row to the next.
    pitch: u64,
    /// Elements from one slice to the next.
    slice: u64,
}

const TILED: &str = "the image is tiled, and where a tiled image has its elements depends on the chip's memory configuration, \
     which no descriptor says: only linear images (TILING_INDEX 8 on gfx6 to gfx8, SW_MODE 0 on gfx9) can be reached";
const NO_IMAGE: &str = "the resource's TYPE is not an image's (8 to 15)";
const COMPRESSED: &str = "the image is compressed (COMPRESSION_EN), and where its metadata lie depends on the chip's memory configuration";
const BLOCKS: &str =
    "the image's DATA_FORMAT is block-compressed or subsampled, which the machine does not decode";
const FORMAT: &str = "the image's DATA_FORMAT and NUM_FORMAT make no format that the machine knows";
const PALETTE: &str = "the sampler's border colour is in a palette in memory whose address is in a register of the driver's (TA_BC_BASE_ADDR)";
const ATOMIC_WIDTH: &str = "DMASK gives an atomic on an image neither 32 nor 64 bits of data (0x1 or 0x3; 0x3 or 0xf of a compare-and-swap)";

impl Image {
    /// Reads the resource in SRSRC; with `short` it has four dwords.
    fn new(words: [u32; 8], short: bool, generation: Gen) -> Result<Image, Failure> {
        let field =
            |word: usize, lo: u32, bits: u32| words[word] >> lo & ((1u64 << bits) - 1) as u32;
        let gfx9 = generation == Gen::Gfx9;
        let (data, number) = (field(1, 20, 6), field(1, 26, 4));
        let kind = match field(3, 28, 4) {
            8 => Kind::D1,
            9 => Kind::D2,
            10 => Kind::D3,
            11 => Kind::Cube,
            12 => Kind::D1Array,
            13 => Kind::D2Array,
            14 => Kind::D2Msaa,
            15 => Kind::D2MsaaArray,
            // No resource is bound.
            _ if data == 0 => Kind::D2,
            _ => return Err(Failure::unsupported(NO_IMAGE)),
        };
        let format = match data {
            // INVALID: loads give 0, stores do nothing.
            0 => None,
            32 | 33 | 35..=41 => return Err(Failure::unsupported(BLOCKS)),
            _ => match Format::image(data, number, generation) {
                None => return Err(Failure::unsupported(FORMAT)),
                format => format,
            },
        };
        let tiling = field(3, 20, 5);
        if format.is_some() && tiling != if gfx9 { 0 } else { 8 } {
            return Err(Failure::unsupported(TILED));
        }
        if format.is_some() && generation >= Gen::Gfx8 && field(6, 21, 1) != 0 {
            return Err(Failure::unsupported(COMPRESSED));
        }
        let msaa = matches!(kind, Kind::D2Msaa | Kind::D2MsaaArray);
        let (width, height) = (field(2, 0, 14) + 1, field(2, 14, 14) + 1);
        let height = match kind {
            Kind::D1 | Kind::D1Array => 1,
            _ => height,
        };
        let (base_level, last_level) = (field(3, 12, 4), field(3, 16, 4));
        let depth = match kind {
            Kind::D3 => field(4, 0, 13) + 1,
            Kind::D1Array | Kind::D2Array | Kind::D2MsaaArray | Kind::Cube if gfx9 => {
                field(4, 0, 13) + 1
            }
            Kind::D1Array | Kind::D2Array | Kind::D2MsaaArray => field(5, 13, 13) + 1,
            Kind::Cube => field(5, 13, 13).max(5) + 1,
            _ => field(5, 0, 13) + 1,
        };
        Ok(Image {
            generation,
            // The base has 40 bits, in units of 256 bytes.
            base: (words[0] as u64 | (field(1, 0, 8) as u64) << 32) << 8,
            format,
            select: formats::selection(words[3]),
            kind,
            width,
            height,
            depth: if kind == Kind::Cube {
                depth.max(6)
            } else {
                depth
            },
            pitch: if short {
                width
            } else {
                field(4, 13, if gfx9 { 16 } else { 14 }) + 1
            },
            base_level: if msaa { 0 } else { base_level },
            last_level: if msaa { 0 } else { last_level.max(base_level) },
            levels: match (msaa, gfx9) {
                (true, _) => 1,
                (_, true) => field(5, 28, 4).max(last_level) + 1,
                _ => last_level + 1,
            },
            base_array: if kind == Kind::D3 { 0 } else { field(5, 0, 13) },
            samples: if msaa { 1 << last_level.min(4) } else { 1 },
            min_lod: field(1, 8, 12) as i32,
            padded: !gfx9 && !short && field(3, 25, 1) != 0,
            border_alpha: match field(4, 29, 3) {
                // BC_SWIZZLE: WZYX and WXYZ; XWYZ; YXWZ; XYZW and ZYXW have alpha at the end.
                2 | 3 if gfx9 => 0,
                1 if gfx9 => 1,
                5 if gfx9 => 2,
                _ => 3,
            },
        })
    }

    /// The number of coordinates that an instruction gives, slice, face and sample included; with `array` (DA) one of them is a
    /// slice.
    fn coordinates(&self, array: bool) -> u8 {
        match self.kind {
            Kind::D1 => 1,
            Kind::D2 => 2,
            Kind::D3 | Kind::Cube => 3,
            Kind::D1Array => 1 + array as u8,
            Kind::D2Array => 2 + array as u8,
            Kind::D2Msaa => 3,
            Kind::D2MsaaArray => 3 + array as u8,
        }
    }

    /// The number of coordinates that are positions.
    fn dimensions(&self) -> u8 {
        match self.kind {
            Kind::D1 | Kind::D1Array => 1,
            Kind::D3 => 3,
            _ => 2,
        }
    }

    /// The number of slices that an instruction can address.
    fn slices(&self) -> u32 {
        match self.kind {
            Kind::D3 | Kind::D1 | Kind::D2 | Kind::D2Msaa => 1,
            _ => self.depth.saturating_sub(self.base_array).max(1),
        }
    }

    /// Level `level` of the memory, counted from 0. See docs/errata.md, image-linear.
    fn level(&self, level: u32) -> Level {
        let bytes = self.format.map_or(1, |f| f.bytes()) as u64;
        let smaller = |size: u32, level: u32| (size >> level).max(1);
        let mut at = Level {
            width: smaller(self.width, level),
            height: smaller(self.height, level),
            depth: match self.kind {
                Kind::D3 => smaller(self.depth, level),
                _ => self.depth,
            },
            offset: 0,
            pitch: self.pitch as u64,
            slice: 0,
        };
        if self.generation == Gen::Gfx9 {
            // All levels have the pitch of the first one; within each slice they follow each other.
            let (mut rows, mut height) = (0, self.height as u64);
            for k in 0..self.levels.max(level + 1) {
                if k == level {
                    at.offset = rows * at.pitch * bytes;
                }
                rows += height;
                height = height.div_ceil(2).max(1);
            }
            at.slice = rows * at.pitch;
            return at;
        }
        // The levels follow each other, each with all its slices, each aligned to 256 bytes. Smaller levels are padded
        // to powers of two, and their pitch is derived from that of the first level, not from the width.
        let align = (64 / bytes.min(64)).max(8);
        let whole = (256 / bytes).max(64);
        for k in 0..=level {
            let pad = |size: u32| match self.padded || k > 0 {
                true => size.next_power_of_two() as u64,
                false => size as u64,
            };
            let rows = pad(smaller(self.height, k));
            if k > 0 {
                at.pitch = pad(smaller(self.pitch, k)).next_multiple_of(align);
                // A slice is a multiple of 256 bytes and of 64 elements.
                while !(at.pitch * rows).is_multiple_of(whole) {
                    at.pitch += align;
                }
            }
            at.slice = at.pitch * rows;
            let slices = pad(match self.kind {
                Kind::D3 => smaller(self.depth, k),
                _ => self.depth,
            });
            if k < level {
                at.offset += (at.slice * slices * bytes).next_multiple_of(256);
            }
        }
        at
    }

    /// The address of an element whose position is within the level.
    fn element(&self, level: &Level, x: u32, y: u32, slice: u32, sample: u32) -> u64 {
        let bytes = self.format.map_or(1, |f| f.bytes()) as u64;
        let slice = slice as u64 + self.base_array as u64;
        let at = slice * level.slice + y as u64 * level.pitch + x as u64;
        // The samples of an element are adjacent.
        self.base
            .wrapping_add(level.offset)
            .wrapping_add((at * self.samples as u64 + sample as u64) * bytes)
    }
}

/// An image instruction with its resource and address layout.
struct Access<'a> {
    insn: &'a Insn,
    image: Image,
    address: Address,
    dmask: u32,
    /// D16.
    half: bool,
    /// D16 puts two components into a VGPR.
    packed: bool,
}

impl Access<'_> {
    /// The bits of one part of a lane's address.
    fn bits(&self, wave: &WaveState, lane: usize, location: AddressField) -> u32 {
        let number = self.insn.field(Field::Vaddr) as usize + location.dword as usize;
        let dword = operands::vgpr(wave, number)[lane % LANES];
        match location.part {
            Part::Whole => dword,
            Part::Low => dword & 0xffff,
            Part::High => dword >> 16,
        }
    }

    /// A part of a lane's address as an f32; 0 if the address does not have the part.
    fn float(&self, wave: &WaveState, lane: usize, location: Option<AddressField>) -> f32 {
        let Some(location) = location else { return 0.0 };
        let bits = self.bits(wave, lane, location);
        match location.part {
            Part::Whole => f32::from_bits(bits),
            _ => {
                let wide = fp::convert::<F16, F32>(bits as u64, &Env::IEEE, &Env::IEEE);
                f32::from_bits(wide as u32)
            }
        }
    }

    /// A part of a lane's address as an integer; 0 if the address does not have the part.
    fn integer(&self, wave: &WaveState, lane: usize, location: Option<AddressField>) -> u32 {
        location.map_or(0, |location| self.bits(wave, lane, location))
    }

    /// The address of the element that a lane names by integer coordinates. Returns `None` if it is out of range.
    fn location(&self, wave: &WaveState, lane: usize) -> Option<u64> {
        let image = &self.image;
        let at = |k: usize| self.integer(wave, lane, self.address.coordinates[k]);
        let level = image
            .base_level
            .checked_add(self.integer(wave, lane, self.address.level))
            .filter(|&level| level <= image.last_level)?;
        let level = image.level(level);
        let dimensions = image.dimensions() as usize;
        let x = at(0);
        let y = if dimensions > 1 { at(1) } else { 0 };
        let mut next = dimensions.min(2);
        let slices = match image.kind {
            Kind::D3 => level.depth,
            _ => image.slices(),
        };
        let array = self.insn.field(Field::Da) != 0;
        let slice = match image.kind {
            Kind::D3 | Kind::Cube => at(2),
            Kind::D1Array | Kind::D2Array | Kind::D2MsaaArray if array => {
                next += 1;
                at(next - 1)
            }
            _ => 0,
        };
        let sample = match image.kind {
            Kind::D2Msaa | Kind::D2MsaaArray => at(next),
            _ => 0,
        };
        let inside =
            x < level.width && y < level.height && slice < slices && sample < image.samples;
        inside.then(|| image.element(&level, x, y, slice, sample))
    }

    /// Writes a lane's results to VDATA: those of the four components that DMASK selects.
    fn write(&self, wave: &mut WaveState, lane: usize, components: [u32; 4], number: Number) {
        let mut chosen = [0; 4];
        let mut count = 0;
        for (k, &component) in components.iter().enumerate() {
            if self.dmask >> k & 1 != 0 {
                chosen[count] = component;
                count += 1;
            }
        }
        // If DMASK is 0, one register is written, with 0.
        self.write_all(wave, lane, &chosen[..count.max(1)], number);
    }

    /// Writes a lane's results to VDATA, and TFE's status after them.
    fn write_all(&self, wave: &mut WaveState, lane: usize, values: &[u32], number: Number) {
        let first = self.insn.field(Field::Vdata) as usize;
        let mut put = |at: usize, value: u32| {
            if let Some(register) = wave.vgprs.get_mut(first + at) {
                register[lane % LANES] = value;
            }
        };
        let mut next = 0;
        let per = if self.half && self.packed { 2 } else { 1 };
        for pair in values.chunks(per) {
            let mut dword = 0;
            for (k, &value) in pair.iter().enumerate() {
                dword |= match self.half {
                    true => (number.to_half(value) as u32) << (16 * k),
                    false => value,
                };
            }
            put(next, dword);
            next += 1;
        }
        if self.insn.field(Field::Tfe) != 0 {
            put(next, 0);
        }
    }

    /// Dword `k` of VDATA.
    fn data(&self, wave: &WaveState, lane: usize, k: usize) -> u32 {
        operands::vgpr(wave, self.insn.field(Field::Vdata) as usize + k)[lane % LANES]
    }
}

/// Runs an image instruction in the lanes in `lanes`.
///
/// # Errors
/// Resources and samplers that the machine does not support, and faults of memory, with the lane.
pub(crate) fn run(
    op: ImageOp,
    (insn, operands): (&Insn, &[Opnd]),
    lanes: u64,
    wave: &mut WaveState,
    machine: &Machine<'_>,
) -> Result<(), Failure> {
    let generation = insn.generation();
    let short = insn.short_resource();
    let dword = |role: Role, wave: &WaveState, k: usize| {
        operands::find(insn, operands, role).map_or(0, |o| o.scalar_dword(wave, machine, k))
    };
    let words = std::array::from_fn(|k| {
        if short && k >= 4 {
            0
        } else {
            dword(Role::Srsrc, wave, k)
        }
    });
    let image = Image::new(words, short, generation)?;
    // On gfx9 R128's bit is A16.
    let short_address = generation == Gen::Gfx9 && insn.field(Field::R128) != 0;
    let array = insn.field(Field::Da) != 0;
    let address = Address::new(
        op,
        image.coordinates(array),
        image.dimensions(),
        short_address,
    );
    let access = Access {
        insn,
        address,
        image,
        dmask: insn.field(Field::Dmask),
        half: insn.field(Field::D16) != 0,
        packed: insn.target.features().has(Features::PACKED_D16),
    };
    let each = (0..LANES).filter(|lane| lanes >> lane & 1 != 0);
    match op {
        ImageOp::Load { raw, .. } => {
            for lane in each {
                load(&access, raw, lane, wave, machine)?;
            }
        }
        ImageOp::Store { raw, .. } => {
            for lane in each {
                store(&access, raw, lane, wave, machine)?;
            }
        }
        ImageOp::Atomic(op, ty) => {
            for lane in each {
                atomic(&access, op, ty, lane, wave, machine)?;
            }
        }
        ImageOp::Size => {
            for lane in each {
                size(&access, lane, wave);
            }
        }
        ImageOp::Lod | ImageOp::Sample(_) | ImageOp::Gather(..) => {
            let words = std::array::from_fn(|k| dword(Role::Ssamp, wave, k));
            sample::run(op, &access, words, lanes, wave, machine)?;
        }
    }
    Ok(())
}

fn memory(lane: usize) -> impl Fn(crate::mem::Fault) -> Failure {
    move |fault| Failure::memory(fault, Some(lane as u8))
}

/// Reports an access of an element to the probe. Returns false if the access must not be made.
fn probed(machine: &Machine<'_>, kind: MemoryKind, at: u64, bytes: u32, lane: usize) -> bool {
    machine.probe.is_none_or(|probe| {
        probe.access(&crate::probe::Access {
            lane: lane as u8,
            kind,
            space: Space::Global,
            location: crate::probe::AccessLocation::Memory(at),
            address: at,
            size: bytes as u8,
            first: true,
            unchanged: false,
            scalar: false,
        })
    })
}

/// The bits of the element at an address.
fn read(machine: &Machine<'_>, format: &Format, at: u64, lane: usize) -> Result<u128, Failure> {
    let mut bytes = [0; 16];
    let memory_ = machine.memory;
    if !probed(machine, MemoryKind::Load, at, format.bytes(), lane) {
        return Ok(0);
    }
    let result = match format.bytes() {
        1 => return memory_.load_u8(at).map(u128::from).map_err(memory(lane)),
        2 => return memory_.load_u16(at).map(u128::from).map_err(memory(lane)),
        4 => return memory_.load_u32(at).map(u128::from).map_err(memory(lane)),
        size => memory_.read(at, &mut bytes[..size as usize]),
    };
    result.map_err(memory(lane))?;
    Ok(u128::from_le_bytes(bytes))
}

fn write(
    machine: &Machine<'_>,
    format: &Format,
    at: u64,
    element: u128,
    lane: usize,
) -> Result<(), Failure> {
    let memory_ = machine.memory;
    if !probed(machine, MemoryKind::Store, at, format.bytes(), lane) {
        return Ok(());
    }
    match format.bytes() {
        1 => memory_.store_u8(at, element as u8),
        2 => memory_.store_u16(at, element as u16),
        4 => memory_.store_u32(at, element as u32),
        size => memory_.write(at, &element.to_le_bytes()[..size as usize]),
    }
    .map_err(memory(lane))
}

fn load(
    access: &Access<'_>,
    raw: Raw,
    lane: usize,
    wave: &mut WaveState,
    machine: &Machine<'_>,
) -> Result<(), Failure> {
    let mut components = [0; 4];
    let mut number = Number::Uint;
    if let (Some(format), Some(at)) = (access.image.format, access.location(wave, lane)) {
        let element = read(machine, &format, at, lane)?;
        if raw == Raw::Converted {
            number = format.number();
            let all = std::array::from_fn(|k| format.component(element, k));
            components = format.selected(all, access.image.select);
        } else {
            components = std::array::from_fn(|k| (element >> (32 * k)) as u32);
            let bits = 8 * format.bytes();
            if raw == Raw::SignedDwords && bits < 32 {
                components[0] = ((components[0] << (32 - bits)) as i32 >> (32 - bits)) as u32;
            }
        }
    }
    access.write(wave, lane, components, number);
    Ok(())
}

fn store(
    access: &Access<'_>,
    raw: bool,
    lane: usize,
    wave: &WaveState,
    machine: &Machine<'_>,
) -> Result<(), Failure> {
    let (Some(format), Some(at)) = (access.image.format, access.location(wave, lane)) else {
        return Ok(());
    };
    let mut components = [0; 4];
    let chosen = (0..4).filter(|k| access.dmask >> k & 1 != 0);
    for (n, k) in chosen.enumerate() {
        components[k] = match (access.half, access.packed) {
            (false, _) => access.data(wave, lane, n),
            (true, false) => format.number().from_half(access.data(wave, lane, n) as u16),
            (true, true) => {
                let dword = access.data(wave, lane, n / 2);
                format.number().from_half((dword >> (16 * (n & 1))) as u16)
            }
        };
    }
    let element = if raw {
        (0..4).fold(0, |element, k| {
            element | (components[k] as u128) << (32 * k)
        })
    } else {
        format.element(formats::unselected(components, access.image.select))
    };
    write(machine, &format, at, element, lane)
}

fn atomic(
    access: &Access<'_>,
    op: AtomicOp,
    ty: Ty,
    lane: usize,
    wave: &mut WaveState,
    machine: &Machine<'_>,
) -> Result<(), Failure> {
    let pair = op == AtomicOp::CmpSwap;
    let dwords = access.dmask.count_ones() as usize >> pair as usize;
    let wide = match dwords {
        1 => false,
        2 => true,
        _ => return Err(Failure::unsupported(ATOMIC_WIDTH)),
    };
    let ty = match (wide, ty) {
        (false, ty) => ty,
        (true, Ty::I32) => Ty::I64,
        (true, Ty::F32) => Ty::F64,
        (true, _) => Ty::U64,
    };
    let value = |wave: &WaveState, at: usize| {
        let high = if wide {
            access.data(wave, lane, at + 1)
        } else {
            0
        };
        access.data(wave, lane, at) as u64 | (high as u64) << 32
    };
    let data = value(wave, 0);
    let comparand = if pair { value(wave, dwords) } else { 0 };
    let mut old = 0;
    let bytes = if wide { 8 } else { 4 };
    if let (Some(_), Some(at)) = (access.image.format, access.location(wave, lane))
        && probed(machine, MemoryKind::Atomic, at, bytes, lane)
    {
        let mode = wave.mode;
        let new = |old: u64| eval::atomic(op, ty, old, data, comparand, mode, false);
        old = if wide {
            machine.memory.fetch_update_u64(at, new)
        } else {
            machine
                .memory
                .fetch_update_u32(at, |old| new(old as u64) as u32)
                .map(u64::from)
        }
        .map_err(memory(lane))?;
    }
    if access.insn.field(Field::Glc) != 0 {
        let values = [old as u32, (old >> 32) as u32];
        let first = access.insn.field(Field::Vdata) as usize;
        for (k, &value) in values.iter().take(dwords).enumerate() {
            operands::store(wave, first + k, 1 << lane, |_, _| value);
        }
        if access.insn.field(Field::Tfe) != 0 {
            let status = first + access.dmask.count_ones() as usize;
            operands::store(wave, status, 1 << lane, |_, _| 0);
        }
    }
    Ok(())
}

/// Width, height, depth or number of slices, and number of levels; the sizes are 0 for a level that the resource does not have.
fn size(access: &Access<'_>, lane: usize, wave: &mut WaveState) {
    let image = &access.image;
    let level = access.integer(wave, lane, access.address.level);
    let levels = image.last_level - image.base_level + 1;
    let mut components = [0, 0, 0, levels];
    if image.format.is_none() {
        components = [0; 4];
    } else if level < levels {
        let at = image.level(image.base_level + level);
        let depth = match image.kind {
            Kind::D3 => at.depth,
            _ => image.slices(),
        };
        components = [at.width, at.height, depth, levels];
    }
    access.write(wave, lane, components, Number::Uint);
}
