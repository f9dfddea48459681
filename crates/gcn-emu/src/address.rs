//! The addresses of memory instructions, their range checks, and the accesses through them.

use crate::engine::Failure;
use crate::exec::Exec;
use crate::global::GDS_BYTES;
use crate::mem::{Fault, FaultKind};
use crate::operands::find;
use crate::probe::{Access, AccessLocation, Lanes};
use crate::wave::{LANES, WaveState};
use gcn_isa::access::MemoryKind;
use gcn_isa::decode::Insn;
use gcn_isa::format::{Field, Format};
use gcn_isa::meaning::{AtomicOp, Space};
use gcn_isa::operand::{Reg, reg};
use gcn_isa::shape::{Mods, Role, Ty};
use gcn_isa::target::Gen;

/// The range check that the last address of an instruction sets for the accesses through it.
pub(crate) struct Range {
    kind: Kind,
    /// The instruction accesses GDS instead of LDS.
    gds: bool,
    /// The LDS address is computed from M0, so M0 is not its limit.
    by_m0: bool,
    /// Addresses are rounded down to a multiple of the access's size, at most 4: buffers of gfx6.
    aligns: bool,
    /// For each lane: the address at which the accesses must end or before it.
    limit: [u64; LANES],
    /// Swizzled buffers: the addresses given, then the offset and the address of element 0 for each of them.
    first: [u64; LANES],
    offset: [u32; LANES],
    swizzle: Swizzle,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Unchecked,
    Limited,
    /// A buffer in which the elements of consecutive indices are adjacent.
    Swizzled,
}

#[derive(Clone, Copy, Default)]
struct Swizzle {
    base: u64,
    element: u32,
    index_stride: u32,
    stride: u32,
}

impl Swizzle {
    /// The address of a byte: "Buffer addressing, swizzled" in AMD's manuals.
    fn address(&self, index: u32, offset: u32) -> u64 {
        let (element, stride) = (self.element as u64, self.index_stride as u64);
        let (index, offset) = (index as u64, offset as u64);
        let row = index / stride * self.stride as u64 + offset / element * element;
        self.base + row * stride + index % stride * element + offset % element
    }
}

impl Range {
    pub fn new() -> Range {
        Range {
            kind: Kind::Unchecked,
            gds: false,
            by_m0: false,
            aligns: false,
            limit: [0; LANES],
            first: [0; LANES],
            offset: [0; LANES],
            swizzle: Swizzle::default(),
        }
    }

    /// Begins an instruction; with `gds` it accesses GDS instead of LDS.
    pub fn start(&mut self, gds: bool) {
        self.kind = Kind::Unchecked;
        self.gds = gds;
        self.by_m0 = false;
        self.aligns = false;
    }

    /// The real address of an access of `size` bytes at `address` in a lane. Returns `None` if it is out of range; then
    /// loads give 0 and stores do nothing.
    #[inline]
    pub(crate) fn check(&self, lane: usize, address: u64, size: u64) -> Option<u64> {
        let low = if self.aligns { size.min(4) - 1 } else { 0 };
        match self.kind {
            Kind::Unchecked => Some(address & !low),
            Kind::Limited => {
                let address = address & !low;
                let end = address.checked_add(size)?;
                (end <= self.limit[lane]).then_some(address)
            }
            Kind::Swizzled => {
                // Accesses are relative to the first address; in the buffer that is an offset within the lane's elements.
                let offset = self.offset[lane]
                    .wrapping_add(address.wrapping_sub(self.first[lane]) as u32)
                    & !(low as u32);
                let end = offset as u64 + size;
                let index = (self.limit[lane] >> 32) as u32;
                (end <= self.limit[lane] & 0xffff_ffff).then(|| self.swizzle.address(index, offset))
            }
        }
    }
}

/// The decoded fields of a buffer resource.
struct Buffer {
    base: u64,
    stride: u32,
    records: u32,
    swizzle: bool,
    add_tid: bool,
    element: u32,
    index_stride: u32,
}

impl Buffer {
    fn new(words: [u32; 4], generation: Gen) -> Buffer {
        let add_tid = words[3] >> 23 & 1 != 0;
        let mut stride = words[1] >> 16 & 0x3fff;
        if add_tid && generation >= Gen::Gfx8 {
            // DATA_FORMAT then holds the upper bits of the stride.
            stride |= (words[3] >> 15 & 15) << 14;
        }
        Buffer {
            base: words[0] as u64 | (words[1] as u64 & 0xffff) << 32,
            stride,
            records: words[2],
            swizzle: words[1] >> 31 != 0,
            add_tid,
            // gfx9 has no ELEMENT_SIZE; elements have 4 bytes.
            element: if generation == Gen::Gfx9 {
                4
            } else {
                2 << (words[3] >> 19 & 3)
            },
            index_stride: 8 << (words[3] >> 21 & 3),
        }
    }
}

/// The address of each lane, or the one address of a scalar instruction. Sets in `range` the range check of the accesses
/// through it.
pub(crate) fn addresses<const N: usize>(
    cx: &mut Exec<'_, '_>,
    out: &mut [u64; N],
) -> Result<(), Failure> {
    match cx.insn.row.format {
        Format::Smem => out[0] = scalar_address(cx),
        Format::Ds => lds_addresses(cx, out),
        Format::Mubuf | Format::Mtbuf => buffer_addresses(cx, out),
        Format::Flat | Format::Global | Format::Scratch => flat_addresses(cx, out),
        _ => {
            return Err(Failure::unsupported(
                "the machine has no memory for this format",
            ));
        }
    }
    Ok(())
}

/// Scalar memory: the dword-aligned base plus the offset; for buffers also the range check against the whole buffer.
fn scalar_address(cx: &mut Exec<'_, '_>) -> u64 {
    let Exec {
        insn,
        operands,
        wave,
        machine,
        range,
        ..
    } = cx;
    let generation = insn.generation();
    let sgpr = |code: u32| match reg(code as u16, generation) {
        Reg::Sgpr(_) | Reg::Ttmp(_) | Reg::Half(..) | Reg::M0 => {
            wave.sgprs.get(code as usize).copied().unwrap_or(0) as u64
        }
        _ => 0,
    };
    let unit = match insn.row.shape.mods {
        Mods::SmemScratch => 64,
        _ => 1,
    };
    let sgpr = |code: u32| sgpr(code) * unit;
    let raw = insn.field(Field::Offset);
    let immediate = insn.field(Field::Imm) != 0;
    let offset = match generation {
        Gen::Gfx6 | Gen::Gfx7 if immediate => raw as u64 * 4,
        // gfx7's literal counts dwords, like the immediate.
        Gen::Gfx7 if reg(raw as u16, generation) == Reg::Literal => insn.literal as u64 * 4,
        Gen::Gfx6 | Gen::Gfx7 => sgpr(raw),
        Gen::Gfx8 if immediate => raw as u64,
        Gen::Gfx8 => sgpr(raw & 0x7f),
        Gen::Gfx9 => {
            // The immediate has 21 bits, signed; an SGPR may be added to it.
            let signed = ((raw << 11) as i32 >> 11) as i64 as u64;
            // The low two bits of each are ignored.
            let soffset = || sgpr(insn.field(Field::Soffset));
            match (immediate, insn.field(Field::SoffsetEn) != 0) {
                (true, true) => (signed & !3).wrapping_add(soffset() & !3),
                (true, false) => signed,
                (false, true) => soffset(),
                (false, false) => sgpr(raw & 0x7f),
            }
        }
    };
    let Some(base) = find(insn, operands, Role::Sbase) else {
        return offset & !3;
    };
    if base.ty.bits() <= 64 {
        return (base.scalar_pair(wave, machine) & !3).wrapping_add(offset & !3);
    }
    let words = std::array::from_fn(|k| base.scalar_dword(wave, machine, k));
    let buffer = Buffer::new(words, generation);
    // Unlike vector memory, scalar memory counts records on gfx8 too: docs/errata.md, buffer-range.
    let bytes = buffer.records as u64 * buffer.stride.max(1) as u64;
    let address = (buffer.base & !3).wrapping_add(offset & !3);
    range.kind = Kind::Limited;
    range.limit[0] = if offset & !3 < bytes {
        (buffer.base & !3).wrapping_add(bytes)
    } else {
        0
    };
    address
}

/// LDS: the VGPR plus the 16-bit offset (if there are two offsets, the meaning adds them). Without a VGPR the address is
/// M0's low half plus the offset; in GDS it is the offset alone, because every address there is relative to M0's base.
fn lds_addresses<const N: usize>(cx: &mut Exec<'_, '_>, out: &mut [u64; N]) {
    let Exec {
        insn,
        operands,
        wave,
        range,
        ..
    } = cx;
    let offset = match insn.row.shape.mods {
        Mods::Ds2 => 0,
        _ => (insn.field(Field::Offset0) | insn.field(Field::Offset1) << 8) as u64,
    };
    if insn.row.shape.slot(Role::DsAddr).is_none() {
        let base = if range.gds { 0 } else { wave.m0() & 0xffff };
        range.by_m0 = true;
        *out = [base as u64 + offset; N];
        return;
    }
    let base = find(insn, operands, Role::DsAddr).and_then(|o| o.lanes(wave, 0));
    for (lane, out) in out.iter_mut().enumerate() {
        *out = base.map_or(0, |b| b[lane % LANES]) as u64 + offset;
    }
}

/// The significant bits of an LDS address, and the end of the LDS. On gfx6 to gfx8 the hardware limits addresses by M0, on
/// gfx9 by the size of the LDS alone. A sum of address and offset that exceeds 32 bits is out of range on gfx6 and wraps on the
/// other generations.
#[inline]
fn lds_limit(cx: &Exec<'_, '_>) -> (u64, u64) {
    const LOW: u64 = 0xffff_ffff;
    let (wave, machine) = (&*cx.wave, &*cx.machine);
    let bytes = machine.lds.len() as u64;
    match cx.generation {
        _ if cx.range.by_m0 => (LOW, bytes),
        Gen::Gfx6 => (u64::MAX, bytes.min(wave.m0() as u64)),
        Gen::Gfx7 | Gen::Gfx8 => (LOW, bytes.min(wave.m0() as u64)),
        Gen::Gfx9 => (LOW, bytes),
    }
}

/// The LDS bytes that an access of `size` bytes goes to.
#[inline]
fn lds_location(cx: &Exec<'_, '_>, address: u64, size: u64) -> Target {
    if cx.range.gds {
        return gds_location(cx.wave, address, size);
    }
    let (wrap, limit) = lds_limit(cx);
    let address = address & wrap;
    match address.checked_add(size) {
        Some(end) if end <= limit => Target::Lds(address as usize),
        _ => {
            cx.machine.memory.suspect();
            Target::Nowhere
        }
    }
}

/// The GDS bytes that an access of `size` bytes goes to: relative to M0's base (bits 31:16), limited by M0's size (bits 15:0).
fn gds_location(wave: &WaveState, address: u64, size: u64) -> Target {
    let (base, bytes) = ((wave.m0() >> 16) as u64, (wave.m0() & 0xffff) as u64);
    let address = address & 0xffff_ffff;
    if address + size <= bytes {
        gds_at(base + address, size)
    } else {
        Target::Nowhere
    }
}

fn gds_at(address: u64, size: u64) -> Target {
    match address.checked_add(size) {
        Some(end) if end <= GDS_BYTES as u64 => Target::Gds(address as usize),
        _ => Target::Nowhere,
    }
}

fn buffer_addresses<const N: usize>(cx: &mut Exec<'_, '_>, out: &mut [u64; N]) {
    let Exec {
        insn,
        operands,
        wave,
        machine,
        range,
        ..
    } = cx;
    let generation = insn.generation();
    let resource = find(insn, operands, Role::Srsrc);
    let words = std::array::from_fn(|k| resource.map_or(0, |r| r.scalar_dword(wave, machine, k)));
    let buffer = Buffer::new(words, generation);
    let soffset =
        find(insn, operands, Role::Soffset).map_or(0, |o| o.scalar_dword(wave, machine, 0)) as u64;
    let inst_offset = insn.field(Field::Offset);
    range.aligns = generation == Gen::Gfx6;
    let address = find(insn, operands, Role::BufAddr);
    let dword = |k: usize, lane: usize| {
        address
            .and_then(|a| a.lanes(wave, k))
            .map_or(0, |v| v[lane % LANES])
    };
    if insn.field(Field::Addr64) != 0 {
        // No range check: the size in the resource is not read. The sum has the 48 bits of the base, so that compilers can use
        // negative offsets there.
        for (lane, out) in out.iter_mut().enumerate() {
            let vaddr = dword(0, lane) as u64 | (dword(1, lane) as u64) << 32;
            *out = buffer
                .base
                .wrapping_add(vaddr)
                .wrapping_add(soffset + inst_offset as u64)
                & 0xffff_ffff_ffff;
        }
        range.kind = Kind::Unchecked;
        return;
    }
    let (idxen, offen) = (insn.field(Field::Idxen) != 0, insn.field(Field::Offen) != 0);
    // The unit of NUM_RECORDS: see "Buffer resource" in AMD's manuals, and Mesa's drivers for what the manuals leave out.
    let structured = buffer.stride != 0
        && match generation {
            Gen::Gfx6 | Gen::Gfx7 => true,
            Gen::Gfx8 => buffer.swizzle,
            Gen::Gfx9 => idxen,
        };
    let unchecked = generation == Gen::Gfx9 && buffer.add_tid && !idxen;
    range.swizzle = Swizzle {
        base: buffer.base.wrapping_add(soffset),
        element: buffer.element,
        index_stride: buffer.index_stride,
        stride: buffer.stride,
    };
    range.kind = if buffer.swizzle {
        Kind::Swizzled
    } else if unchecked {
        Kind::Unchecked
    } else {
        Kind::Limited
    };
    for (lane, out) in out.iter_mut().enumerate() {
        let mut index = if idxen { dword(0, lane) } else { 0 };
        if buffer.add_tid {
            index = index.wrapping_add(lane as u32);
        }
        let offset = (if offen {
            dword(idxen as usize, lane)
        } else {
            0
        }) as u64
            + inst_offset as u64;
        // An offset beyond the stride is out of range if the hardware checks index and offset separately (docs/errata.md,
        // buffer-range).
        let apart = (idxen || buffer.add_tid) && (generation <= Gen::Gfx7 || buffer.swizzle);
        let in_range = unchecked || !structured || index < buffer.records;
        let linear = index as u64 * buffer.stride as u64 + offset;
        if buffer.swizzle {
            let bytes = if structured && apart {
                buffer.stride as u64
            } else if unchecked || structured || buffer.stride == 0 && buffer.records == u32::MAX {
                u32::MAX as u64
            } else {
                (buffer.records as u64).saturating_sub(soffset)
            };
            *out = range.swizzle.address(index, offset as u32);
            range.first[lane] = *out;
            range.offset[lane] = offset as u32;
            // The index is in the upper half, the end of the offsets in the lower half.
            range.limit[lane] =
                (index as u64) << 32 | if in_range { bytes & 0xffff_ffff } else { 0 };
            continue;
        }
        let start = buffer.base.wrapping_add(soffset);
        *out = start.wrapping_add(linear);
        range.limit[lane] = if structured {
            match (in_range, apart) {
                (false, _) => 0,
                (true, false) => u64::MAX,
                // Each component must lie within the record.
                (true, true) if offset < buffer.stride as u64 => {
                    (out.wrapping_sub(offset)).saturating_add(buffer.stride as u64)
                }
                (true, true) => 0,
            }
        } else {
            let bytes = (buffer.records as u64).saturating_sub(soffset);
            if linear < bytes {
                start.saturating_add(bytes)
            } else {
                0
            }
        };
    }
}

/// The immediate offset of a vector memory instruction, in bytes. On gfx9, FLAT has 12 bits; GLOBAL and SCRATCH have 13 bits,
/// signed.
pub(crate) fn offset(insn: &Insn) -> i64 {
    let raw = insn.field(Field::Offset);
    match insn.row.format {
        Format::Flat => (raw & 0xfff) as i64,
        Format::Global | Format::Scratch => ((raw << 19) as i32 >> 19) as i64,
        _ => raw as i64,
    }
}

/// FLAT, GLOBAL and SCRATCH. For SCRATCH the results are offsets within a lane's scratch.
fn flat_addresses<const N: usize>(cx: &mut Exec<'_, '_>, out: &mut [u64; N]) {
    let Exec {
        insn,
        operands,
        wave,
        machine,
        ..
    } = cx;
    let offset = offset(insn) as u64;
    let address = find(insn, operands, Role::FlatAddr);
    let low = address.and_then(|a| a.lanes(wave, 0));
    let high = address.and_then(|a| a.lanes(wave, 1));
    let saddr = find(insn, operands, Role::Saddr)
        .filter(|s| s.location != crate::operands::OperandLocation::Nothing);
    let global = insn.row.format == Format::Global;
    let base = match saddr {
        Some(s) if global => s.scalar_pair(wave, machine),
        Some(s) => s.scalar_dword(wave, machine, 0) as u64,
        None => 0,
    };
    let wide = insn.row.format != Format::Scratch && saddr.is_none();
    for (lane, out) in out.iter_mut().enumerate() {
        let mut v = low.map_or(0, |l| l[lane % LANES]) as u64;
        if wide {
            v |= (high.map_or(0, |h| h[lane % LANES]) as u64) << 32;
        }
        *out = base.wrapping_add(v).wrapping_add(offset);
        if insn.row.format == Format::Scratch {
            *out = *out as u32 as u64;
        }
    }
}

/// The memory that an access goes to.
enum Target {
    Memory(u64),
    Lds(usize),
    Gds(usize),
    Nowhere,
}

/// The address of the lane's scratch byte at `offset`: from FLAT_SCRATCH on, the 4-byte elements of the 64 lanes are adjacent.
fn scratch_address(cx: &Exec<'_, '_>, lane: usize, offset: u32) -> u64 {
    let (wave, machine) = (&*cx.wave, &*cx.machine);
    let base = match cx.generation {
        Gen::Gfx9 => wave.pair(102),
        // FLAT_SCRATCH_HI counts units of 256 bytes, FLAT_SCRATCH_LO is the size.
        Gen::Gfx8 => machine
            .hidden_private_base
            .wrapping_add((wave.sgprs[103] as u64) << 8),
        _ => machine
            .hidden_private_base
            .wrapping_add((wave.sgprs[105] as u64) << 8),
    };
    let offset = offset as u64;
    base.wrapping_add(offset / 4 * 256 + lane as u64 * 4 + offset % 4)
}

#[inline]
fn resolve(cx: &Exec<'_, '_>, space: Space, lane: usize, address: u64, size: u64) -> Target {
    let in_lds = |at: u64| match at.checked_add(size) {
        Some(end) if end <= cx.machine.lds.len() as u64 => Target::Lds(at as usize),
        _ => {
            cx.machine.memory.suspect();
            Target::Nowhere
        }
    };
    let Some(address) = cx.range.check(lane, address, size) else {
        return Target::Nowhere;
    };
    match space {
        Space::Global => Target::Memory(address),
        Space::Parameters => in_lds(address),
        Space::Lds => lds_location(cx, address, size),
        Space::Gds => gds_at(address, size),
        Space::Scratch => Target::Memory(scratch_address(cx, lane, address as u32)),
        Space::Flat => {
            let aperture = address >> 32 << 32;
            if aperture == cx.wave.shared_base() {
                in_lds(address as u32 as u64)
            } else if aperture == cx.wave.private_base() {
                Target::Memory(scratch_address(cx, lane, address as u32))
            } else {
                Target::Memory(address)
            }
        }
    }
}

/// The value at a location, if it can be read.
fn held(cx: &Exec<'_, '_>, target: &Target, size: u64) -> Option<u64> {
    let machine = &*cx.machine;
    match *target {
        Target::Lds(at) => machine.lds.get(at..at + size as usize).map(lds_load),
        Target::Memory(at) => {
            let mut bytes = [0; 8];
            machine
                .memory
                .read(at, bytes.get_mut(..size as usize)?)
                .ok()?;
            Some(u64::from_le_bytes(bytes))
        }
        _ => None,
    }
}

/// As [`resolve`], and reports the access to the probe, which may refuse it. `part` is the access's size, and the value that the
/// access leaves, if known.
#[inline]
fn probed(
    cx: &Exec<'_, '_>,
    space: Space,
    kind: MemoryKind,
    lane: usize,
    address: u64,
    part: (u64, Option<u64>),
) -> Target {
    let target = resolve(cx, space, lane, address, part.0);
    let Some(probe) = cx.machine.probe else {
        return target;
    };
    let location = match target {
        Target::Memory(at) => AccessLocation::Memory(at),
        Target::Lds(at) => AccessLocation::Lds(at as u64),
        Target::Gds(at) => AccessLocation::Gds(at as u64),
        Target::Nowhere => AccessLocation::Nowhere,
    };
    let mask = u64::MAX >> (64 - 8 * part.0.clamp(1, 8));
    let leaves = |value: u64| held(cx, &target, part.0) == Some(value & mask);
    let access = Access {
        lane: lane as u8,
        kind,
        space,
        location,
        address,
        size: part.0 as u8,
        first: true,
        unchanged: part.1.is_some_and(leaves),
        scalar: cx.insn.row.format == Format::Smem,
    };
    match probe.access(&access) {
        true => target,
        false => Target::Nowhere,
    }
}

/// Reports an access of all active lanes to the probe, if there is one. Returns true if the lanes need not be reported one by
/// one.
pub(crate) fn told<const N: usize>(
    cx: &Exec<'_, '_>,
    (space, kind, ty): (Space, MemoryKind, Ty),
    exec: u64,
    addresses: &[u64; N],
    offset: i32,
) -> bool {
    let (range, machine) = (&*cx.range, &*cx.machine);
    let Some(probe) = machine.probe else {
        return false;
    };
    let lds = space == Space::Lds;
    let plain = range.kind == Kind::Unchecked && !range.aligns && !range.gds;
    if !plain || !lds && space != Space::Global {
        return false;
    }
    let lanes = Lanes {
        kind,
        lds,
        scalar: cx.insn.row.format == Format::Smem,
        exec,
        addresses,
        offset,
        size: (ty.bits() as u64).div_ceil(8) as u8,
    };
    if lds {
        let (wrap, limit) = lds_limit(cx);
        let inside = |(_, at): (usize, u64)| at + lanes.size as u64 <= limit;
        if wrap != 0xffff_ffff || !lanes.each().all(inside) {
            return false;
        }
    }
    probe.lanes(&lanes)
}

/// Reads a value of type `ty`; gives 0 out of range.
#[inline]
fn load(cx: &Exec<'_, '_>, space: Space, ty: Ty, lane: usize, address: u64) -> Result<u64, Fault> {
    let size = (ty.bits() as u64).div_ceil(8);
    let target = probed(cx, space, MemoryKind::Load, lane, address, (size, None));
    load_from(cx, target, size)
}

#[inline]
fn load_from(cx: &Exec<'_, '_>, target: Target, size: u64) -> Result<u64, Fault> {
    let machine = &*cx.machine;
    match target {
        Target::Nowhere => Ok(0),
        Target::Lds(at) => Ok(lds_load(&machine.lds[at..at + size as usize])),
        Target::Gds(at) => Ok(lds_load(&machine.global.gds()[at..at + size as usize])),
        Target::Memory(at) => match size {
            1 => machine.memory.load_u8(at).map(u64::from),
            2 => machine.memory.load_u16(at).map(u64::from),
            4 => machine.memory.load_u32(at).map(u64::from),
            _ => machine.memory.load_u64(at),
        },
    }
}

/// Reads a value of type `ty` in each active lane, at its address plus `offset`; gives 0 in inactive lanes and out of range.
///
/// # Errors
/// The fault of the lowest faulting lane, with the number of that lane.
pub(crate) fn load_lanes<const N: usize>(
    cx: &Exec<'_, '_>,
    space: Space,
    ty: Ty,
    addresses: &[u64; N],
    offset: i32,
    out: &mut [u64; N],
) -> Result<(), (Fault, usize)> {
    let size = (ty.bits() as u64).div_ceil(8);
    let (exec, range) = (cx.exec, &*cx.range);
    let (wave, machine) = (&*cx.wave, &*cx.machine);
    let unchecked = range.kind == Kind::Unchecked && !range.aligns;
    let any = |lane: usize, at: u64| load(cx, space, ty, lane, at);
    // The common cases choose space and size once for all lanes.
    match (space, size) {
        _ if machine.probe.is_some()
            && !told(cx, (space, MemoryKind::Load, ty), exec, addresses, offset) =>
        {
            each_lane(exec, addresses, offset, out, any)
        }
        (Space::Global, 4) if unchecked => each_lane(exec, addresses, offset, out, |_, at| {
            machine.memory.load_u32(at).map(u64::from)
        }),
        (Space::Flat, 4) if unchecked => {
            let (shared, private) = (wave.shared_base() >> 32, wave.private_base() >> 32);
            each_lane(exec, addresses, offset, out, |lane, at| {
                if at >> 32 == shared || at >> 32 == private {
                    return any(lane, at);
                }
                machine.memory.load_u32(at).map(u64::from)
            })
        }
        (Space::Lds, 4) if unchecked && !range.gds => {
            let (wrap, limit) = lds_limit(cx);
            let lds = machine.lds.get(..limit as usize).unwrap_or(&[]);
            each_lane(exec, addresses, offset, out, |_, at| {
                let at = (at & wrap) as usize;
                let bytes = lds.get(at..).and_then(|rest| rest.first_chunk::<4>());
                if bytes.is_none() {
                    machine.memory.suspect();
                }
                Ok(bytes.map_or(0, |b| u32::from_le_bytes(*b) as u64))
            })
        }
        _ => each_lane(exec, addresses, offset, out, |lane, at| {
            load_from(cx, resolve(cx, space, lane, at, size), size)
        }),
    }
}

#[inline]
fn each_lane<const N: usize>(
    exec: u64,
    addresses: &[u64; N],
    offset: i32,
    out: &mut [u64; N],
    read: impl Fn(usize, u64) -> Result<u64, Fault>,
) -> Result<(), (Fault, usize)> {
    for (lane, out) in out.iter_mut().enumerate() {
        *out = if exec >> lane & 1 != 0 {
            let at = addresses[lane].wrapping_add_signed(offset as i64);
            read(lane, at).map_err(|fault| (fault, lane))?
        } else {
            0
        };
    }
    Ok(())
}

/// Writes a value of type `ty`; does nothing out of range.
#[inline]
pub(crate) fn store(
    cx: &mut Exec<'_, '_>,
    (space, ty, told): (Space, Ty, bool),
    lane: usize,
    address: u64,
    value: u64,
) -> Result<(), Fault> {
    let size = (ty.bits() as u64).div_ceil(8);
    let target = match told {
        true => resolve(cx, space, lane, address, size),
        false => probed(
            cx,
            space,
            MemoryKind::Store,
            lane,
            address,
            (size, Some(value)),
        ),
    };
    let machine = &mut *cx.machine;
    match target {
        Target::Nowhere => Ok(()),
        Target::Lds(at) => {
            let size = size.min(8) as usize;
            machine.lds[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
            Ok(())
        }
        Target::Gds(at) => {
            machine.global.update(at, size.min(8) as usize, |_| value);
            Ok(())
        }
        Target::Memory(at) => match size {
            1 => machine.memory.store_u8(at, value as u8),
            2 => machine.memory.store_u16(at, value as u16),
            4 => machine.memory.store_u32(at, value as u32),
            _ => machine.memory.store_u64(at, value),
        },
    }
}

fn lds_load(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .take(8)
        .rev()
        .fold(0, |value, &b| value << 8 | b as u64)
}

/// A 32-bit or 64-bit atomic in a lane, with its address, data and second operand; returns the old value, 0 out of range.
///
/// # Errors
/// A fault of memory, or an address that is not a multiple of the size.
pub(crate) fn atomic(
    cx: &mut Exec<'_, '_>,
    space: Space,
    op: AtomicOp,
    ty: Ty,
    lane: usize,
    [address, data, second]: [u64; 3],
) -> Result<u64, Fault> {
    let size = (ty.bits() as u64).div_ceil(8);
    let mode = cx.wave.mode;
    let new = |old: u64, lds: bool| crate::eval::atomic(op, ty, old, data, second, mode, lds);
    // A compare and swap in LDS may leave the old value. The probe is told whether it does.
    let asks = op == AtomicOp::CmpSwap && space == Space::Lds && cx.machine.probe.is_some();
    let left = asks.then(|| {
        let old = held(cx, &resolve(cx, space, lane, address, size), size)?;
        Some(new(old, true))
    });
    let part = (size, left.flatten());
    let target = probed(cx, space, MemoryKind::Atomic, lane, address, part);
    let lds = !matches!(target, Target::Memory(_));
    let new = |old: u64| new(old, lds);
    let machine = &mut *cx.machine;
    match target {
        Target::Nowhere => Ok(0),
        Target::Lds(at) | Target::Gds(at) if !(at as u64).is_multiple_of(size) => Err(Fault {
            addr: address,
            size,
            kind: FaultKind::Misaligned,
        }),
        Target::Lds(at) => {
            let bytes = &mut machine.lds[at..at + size as usize];
            let old = lds_load(bytes);
            bytes.copy_from_slice(&new(old).to_le_bytes()[..size as usize]);
            Ok(old)
        }
        Target::Gds(at) => Ok(machine.global.update(at, size.min(8) as usize, new)),
        Target::Memory(at) if size == 4 => machine
            .memory
            .fetch_update_u32(at, |old| new(old as u64) as u32)
            .map(u64::from),
        Target::Memory(at) => machine.memory.fetch_update_u64(at, new),
    }
}
