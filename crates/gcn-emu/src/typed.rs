//! Typed buffer accesses: the element at an address and its components.

use crate::address::Range;
use crate::engine::{Failure, Machine};
use crate::exec::Exec;
use crate::formats::{self, Format};
use crate::operands;
use crate::probe::{Access, AccessLocation};
use crate::wave::{LANES, WaveState};
use gcn_isa::access::MemoryKind;
use gcn_isa::decode::Insn;
use gcn_isa::format::{Encoding, Field};
use gcn_isa::meaning::{Halves, Space};
use gcn_isa::shape::{Role, Ty};
use gcn_isa::target::Gen;

/// The format of the elements and the selection of their components. Typed buffer instructions give their own format, with
/// the selection X, Y, Z, W; for others it is the resource's. Returns `None` if the format is invalid; then loads give 0 and
/// stores do nothing.
fn format(cx: &Exec<'_, '_>) -> Option<(Format, [u8; 4])> {
    let (insn, generation) = (cx.insn, cx.generation);
    if insn.encoding == Encoding::Mtbuf {
        let (data, number) = (insn.field(Field::Dfmt), insn.field(Field::Nfmt));
        return Some((Format::buffer(data, number, generation)?, formats::IDENTITY));
    }
    let word = operands::find(insn, cx.operands, Role::Srsrc)?.scalar_dword(cx.wave, cx.machine, 3);
    if generation >= Gen::Gfx8 && word >> 23 & 1 != 0 {
        // With ADD_TID_ENABLE the field DATA_FORMAT holds the upper bits of the stride.
        return None;
    }
    let format = Format::buffer(word >> 15 & 15, word >> 12 & 7, generation)?;
    Some((format, formats::selection(word)))
}

/// Component `k` of the element at each lane's address: 32 bits, or 16 if `ty` has 16. It is 0 out of range.
pub(crate) fn load<const N: usize>(
    cx: &Exec<'_, '_>,
    addresses: &[u64; N],
    k: u8,
    ty: Ty,
    out: &mut [u64; N],
) -> Result<(), Failure> {
    *out = [0; N];
    let Some((format, select)) = format(cx) else {
        return Ok(());
    };
    for lane in (0..N).filter(|lane| cx.exec >> lane & 1 != 0) {
        let Some(element) = read(cx.machine, cx.range, lane, addresses[lane], &format)? else {
            continue;
        };
        let components = std::array::from_fn(|k| format.component(element, k));
        let value = format.selected(components, select)[k as usize & 3];
        out[lane] = match ty.bits() {
            16 => format.number().to_half(value) as u64,
            _ => value as u64,
        };
    }
    Ok(())
}

/// Stores an element at the address of each of `lanes`. Its first `count` components come from the VGPRs of the operand in
/// `slot`; the others are 0.
pub(crate) fn store<const N: usize>(
    cx: &Exec<'_, '_>,
    lanes: u64,
    addresses: &[u64; N],
    slot: u8,
    count: u8,
    halves: Halves,
) -> Result<(), Failure> {
    let Some((format, select)) = format(cx) else {
        return Ok(());
    };
    let data = &cx.operands[slot as usize];
    for lane in (0..N).filter(|lane| lanes >> lane & 1 != 0) {
        let mut components = [0; 4];
        for (k, component) in components.iter_mut().take(count as usize).enumerate() {
            let dword = |k: usize| {
                data.lanes(cx.wave, k)
                    .map_or(0, |lanes| lanes[lane % LANES])
            };
            let half = |shift: u32, k: usize| format.number().from_half((dword(k) >> shift) as u16);
            *component = match halves {
                Halves::No => dword(k),
                Halves::Low => half(0, k),
                Halves::High => half(16, k),
                Halves::Both => half(16 * (k as u32 & 1), k / 2),
            };
        }
        let element = format.element(formats::unselected(components, select));
        write(
            cx.machine,
            cx.range,
            lane,
            addresses[lane],
            &format,
            element,
        )?;
    }
    Ok(())
}

/// The pieces of an element's bytes: dwords, or less than a dword. A swizzled buffer keeps dwords contiguous, but not
/// elements.
fn pieces(bytes: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..bytes)
        .step_by(4)
        .map(move |at| (at, (bytes - at).min(4)))
}

/// Reports a part of an element to the probe: its offset in the element, its bytes, and the value that a store writes. Returns
/// false if the access must not be made.
fn probed(
    machine: &Machine<'_>,
    kind: MemoryKind,
    lane: usize,
    location: AccessLocation,
    (at, bytes, value): (u64, u32, u32),
) -> bool {
    let Some(probe) = machine.probe else {
        return true;
    };
    probe.access(&Access {
        lane: lane as u8,
        kind,
        space: Space::Global,
        location,
        address: match location {
            AccessLocation::Memory(address) => address,
            _ => 0,
        },
        size: bytes as u8,
        first: at == 0,
        scalar: false,
        unchanged: match (kind, location) {
            (MemoryKind::Store, AccessLocation::Memory(address)) => {
                let mut held = [0; 4];
                let there = machine.memory.read(address, &mut held[..bytes as usize]);
                there.is_ok() && u32::from_le_bytes(held) == value
            }
            _ => false,
        },
    })
}

fn read(
    machine: &Machine<'_>,
    range: &Range,
    lane: usize,
    address: u64,
    format: &Format,
) -> Result<Option<u128>, Failure> {
    let memory = machine.memory;
    // The range check is for the whole element.
    if range.check(lane, address, format.bytes() as u64).is_none() {
        probed(
            machine,
            MemoryKind::Load,
            lane,
            AccessLocation::Nowhere,
            (0, 0, 0),
        );
        return Ok(None);
    }
    let mut element = 0u128;
    for (at, bytes) in pieces(format.bytes()) {
        let location = address.wrapping_add(at as u64);
        let Some(location) = range.check(lane, location, bytes as u64) else {
            return Ok(None);
        };
        let part = (at as u64, bytes, 0);
        if !probed(
            machine,
            MemoryKind::Load,
            lane,
            AccessLocation::Memory(location),
            part,
        ) {
            continue;
        }
        let piece = match bytes {
            1 => memory.load_u8(location).map(u32::from),
            2 => memory.load_u16(location).map(u32::from),
            _ => memory.load_u32(location),
        };
        let piece = piece.map_err(|fault| Failure::memory(fault, Some(lane as u8)))?;
        element |= (piece as u128) << (8 * at);
    }
    Ok(Some(element))
}

fn write(
    machine: &Machine<'_>,
    range: &Range,
    lane: usize,
    address: u64,
    format: &Format,
    element: u128,
) -> Result<(), Failure> {
    let memory = machine.memory;
    if range.check(lane, address, format.bytes() as u64).is_none() {
        probed(
            machine,
            MemoryKind::Store,
            lane,
            AccessLocation::Nowhere,
            (0, 0, 0),
        );
        return Ok(());
    }
    for (at, bytes) in pieces(format.bytes()) {
        let location = address.wrapping_add(at as u64);
        let Some(location) = range.check(lane, location, bytes as u64) else {
            return Ok(());
        };
        let piece = (element >> (8 * at)) as u32;
        let part = (at as u64, bytes, piece & u32::MAX >> (32 - 8 * bytes));
        if !probed(
            machine,
            MemoryKind::Store,
            lane,
            AccessLocation::Memory(location),
            part,
        ) {
            continue;
        }
        let done = match bytes {
            1 => memory.store_u8(location, piece as u8),
            2 => memory.store_u16(location, piece as u16),
            _ => memory.store_u32(location, piece),
        };
        done.map_err(|fault| Failure::memory(fault, Some(lane as u8)))?;
    }
    Ok(())
}

/// The byte of LDS that a lane accesses in a memory instruction with LDS: M0's low half, plus the instruction's offset, plus four
/// times the lane's number. M0 is not a limit here.
pub(crate) fn lds_location(insn: &Insn, wave: &WaveState, lane: usize) -> usize {
    let start = (wave.m0() & 0xffff) as i64 + crate::address::offset(insn);
    start.wrapping_add(4 * lane as i64) as usize
}

/// Writes TFE's status, which is always 0: no access fails here.
pub(crate) fn write_status(wave: &mut WaveState, register: u16, lanes: u64) {
    operands::store(wave, register as usize, lanes, |_, _| 0);
}
