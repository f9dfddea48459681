//! Wave-wide helpers execute an instruction for all 64 lanes at once, after compiled code has computed every lane's operands.
//! They are stores, atomics (lane after lane), and sends of values to other lanes.

use crate::context::Ctx;
use crate::ir::region::WaveHelper;
use crate::runtime::helpers::{aperture, page_states, parts};
use gcn_emu::engine::Machine;
use gcn_emu::eval;
use gcn_emu::mem::{MAPPED, Memory, PAGE_SIZE, Perm};
use gcn_emu::wave::WaveState;
use gcn_isa::meaning::{AtomicOp, Space};
use gcn_isa::shape::Ty;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

const OPS: [AtomicOp; 16] = [
    AtomicOp::Swap,
    AtomicOp::CmpSwap,
    AtomicOp::Add,
    AtomicOp::Sub,
    AtomicOp::Rsub,
    AtomicOp::Min,
    AtomicOp::Max,
    AtomicOp::And,
    AtomicOp::Or,
    AtomicOp::Xor,
    AtomicOp::Inc,
    AtomicOp::Dec,
    AtomicOp::Mskor,
    AtomicOp::Wrap,
    AtomicOp::AndAdd,
    AtomicOp::CondSwap,
];
const TYPES: [Ty; 6] = [Ty::U32, Ty::I32, Ty::F32, Ty::U64, Ty::I64, Ty::F64];
const SPACES: [Space; 3] = [Space::Global, Space::Flat, Space::Lds];

impl WaveHelper {
    /// Returns the number that compiled code passes. `None` if there is no helper.
    pub fn encode(self) -> Option<u64> {
        Some(match self {
            WaveHelper::Atomic { space, op, ty, dst } => {
                let at = |found: Option<usize>| found.map(|n| n as u64);
                let op = at(OPS.iter().position(|&o| o == op))?;
                let ty = at(TYPES.iter().position(|&t| t == ty))?;
                let space = at(SPACES.iter().position(|&s| s == space))?;
                let dst = dst.map_or(0, |d| d as u64 | 1 << 8);
                op << 4 | ty << 8 | space << 12 | dst << 16
            }
            WaveHelper::Send { dst } => 1 | (dst as u64) << 16,
            WaveHelper::Store {
                space,
                dwords,
                two,
                offset,
            } => {
                let space = SPACES.iter().position(|&s| s == space)? as u64;
                let what = (dwords as u64) << 4 | space << 12 | (two as u64) << 16;
                3 | what | (offset as u32 as u64) << 32
            }
        })
    }

    fn decode(what: u64) -> WaveHelper {
        let bits = |at: u32, n: u32| (what >> at & ((1 << n) - 1)) as usize;
        match what & 15 {
            0 => WaveHelper::Atomic {
                space: SPACES[bits(12, 2).min(2)],
                op: OPS[bits(4, 4)],
                ty: TYPES[bits(8, 4).min(5)],
                dst: (bits(24, 1) != 0).then_some(bits(16, 8) as u8),
            },
            1 => WaveHelper::Send {
                dst: bits(16, 8) as u8,
            },
            _ => WaveHelper::Store {
                space: SPACES[bits(12, 2).min(2)],
                dwords: bits(4, 8) as u8,
                two: bits(16, 1) != 0,
                offset: bits(32, 32) as i32,
            },
        }
    }
}

/// Executes a helper for compiled code. Returns nonzero if nothing was done, so that the interpreter must run the instruction.
///
/// # Safety
/// As of [`parts`].
pub unsafe extern "sysv64" fn run(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: the caller's contract.
    let (ctx, host, wave, pages) = unsafe {
        let (ctx, host) = parts(ctx);
        let (wave, pages) = (&mut *ctx.current.wave, page_states(ctx));
        (ctx, host, wave, pages)
    };
    let linear = Linear {
        ctx,
        pages,
        memory: host.machine.memory,
    };
    let exec = wave.exec();
    if exec == 0 {
        return 0;
    }
    match WaveHelper::decode(what) {
        WaveHelper::Atomic { space, op, ty, dst } => {
            let lds = space == Space::Lds;
            let a = Atomic { op, ty, dst, lds };
            let done = match space {
                Space::Lds => a.in_lds(ctx, host.machine, wave, exec),
                _ => a.in_memory(linear, host.machine, wave, exec, space == Space::Flat),
            };
            return !done as u64;
        }
        WaveHelper::Store {
            space: Space::Lds,
            dwords,
            two,
            ..
        } => store_lds(ctx, host.machine, exec, dwords as usize, two),
        WaveHelper::Store {
            space,
            dwords,
            offset,
            ..
        } => {
            let flat = space == Space::Flat;
            return !store(linear, wave, dwords as usize, offset, flat) as u64;
        }
        WaveHelper::Send { dst } => {
            let mut out = [0; 64];
            for lane in lanes(exec) {
                out[ctx.stage[0][lane] as usize % 64] = ctx.stage[1][lane];
            }
            put(wave, dst as usize, exec, &out);
        }
    }
    0
}

/// Returns the lanes of a mask, lowest first.
fn lanes(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < 64).then_some(lane)
    })
}

/// Writes the active lanes of a VGPR. VGPRs that the wave does not have are not written.
fn put(wave: &mut WaveState, number: usize, exec: u64, value: &[u32; 64]) {
    let Some(register) = wave.vgprs.get_mut(number) else {
        return;
    };
    if exec == !0 {
        *register = *value;
        return;
    }
    for lane in lanes(exec) {
        register[lane] = value[lane];
    }
}

/// Returns true if all active lanes have the value of the first one.
fn same(exec: u64, values: &[u32; 64]) -> bool {
    let first = values[exec.trailing_zeros() as usize % 64];
    if exec == !0 {
        return values.iter().fold(0, |d, v| d | (v ^ first)) == 0;
    }
    lanes(exec).all(|lane| values[lane] == first)
}

/// The linear part of guest memory.
#[derive(Clone, Copy)]
struct Linear<'c> {
    ctx: &'c Ctx,
    /// The state of each page.
    pages: &'c [AtomicU8],
    memory: &'c Memory,
}

impl Linear<'_> {
    /// Returns the host address of `size` bytes of mapped memory, if `need` is permitted for them.
    fn host_address(self, at: u64, size: u64, need: u8) -> Option<*mut u8> {
        self.may_access(at, size, need).then(|| self.host(at))
    }

    fn host(self, at: u64) -> *mut u8 {
        self.ctx
            .memory
            .bias
            .wrapping_add(at & self.ctx.memory.host_bits) as *mut u8
    }

    /// Returns true if `size` bytes are mapped and `need` is permitted for them.
    fn may_access(self, at: u64, size: u64, need: u8) -> bool {
        let first = at.wrapping_sub(self.ctx.memory.start);
        let state = |offset: u64| {
            let page = self.pages.get((offset / PAGE_SIZE) as usize)?;
            Some(page.load(Relaxed))
        };
        let both = || {
            let last = first.checked_add(size - 1)?;
            Some(state(first)? & state(last)?)
        };
        let all = need | MAPPED;
        if both().is_some_and(|may| may & all == all) {
            return true;
        }
        let perm = [Perm::READ, Perm::RW][(need & 2 != 0) as usize];
        let tried = at.checked_add(size - 1);
        let tried = tried.and_then(|last| self.memory.transaction_range(at, last, perm, 0));
        tried.flatten().is_some()
    }
}

/// Writes all active lanes' first dwords before any second dword. Writes nothing if a lane's address is not writable.
fn store(linear: Linear<'_>, wave: &WaveState, dwords: usize, offset: i32, flat: bool) -> bool {
    let (ctx, exec) = (linear.ctx, wave.exec());
    let mut addresses = [std::ptr::null_mut::<u8>(); 64];
    let size = 4 * dwords;
    // Adjacent lanes mostly share a page, which is looked up once.
    let (mut page, mut bits) = (u64::MAX, 0);
    for lane in lanes(exec) {
        let at = (ctx.stage[0][lane] as u64 | (ctx.stage[1][lane] as u64) << 32)
            .wrapping_add_signed(offset as i64);
        let first = at.wrapping_sub(ctx.memory.start);
        if first / PAGE_SIZE != page || first % PAGE_SIZE > PAGE_SIZE - size as u64 {
            if !linear.may_access(at, size as u64, 2) {
                return false;
            }
            // In a transaction the next bytes of a page may be out of bounds.
            let state = linear.pages.get((first / PAGE_SIZE) as usize);
            let mapped = state.is_some_and(|state| state.load(Relaxed) & MAPPED != 0);
            page = if mapped { first / PAGE_SIZE } else { u64::MAX };
        }
        if flat && aperture(wave, at) {
            return false;
        }
        addresses[lane] = linear.host(at);
        bits |= addresses[lane].addr();
    }
    // Lanes whose addresses are multiples of their size overlap only if they have the same address. In this case only the order of the lanes matters.
    if dwords.is_multiple_of(2) && size.is_power_of_two() && bits & (size - 1) == 0 {
        for lane in lanes(exec) {
            for part in (0..dwords).step_by(2) {
                let [low, high] = [2, 3].map(|k| ctx.stage[k + part][lane] as u64);
                let to = addresses[lane].wrapping_add(4 * part);
                // SAFETY: as below; and the address is a multiple of 8.
                unsafe { AtomicU64::from_ptr(to.cast()).store(low | high << 32, Relaxed) };
            }
        }
        return true;
    }
    for part in 0..dwords {
        let values = &ctx.stage[2 + part];
        for lane in lanes(exec) {
            let to = addresses[lane].wrapping_add(4 * part);
            // SAFETY: the pages of these bytes are mapped in the linear part, which is the host's for the whole run. Other
            // threads access them by atomic operations alone.
            unsafe { store_dword(to, values[lane]) };
        }
    }
    true
}

/// Stores a dword in its widest naturally aligned parts, as [`gcn_emu::mem::Memory`] does.
///
/// # Safety
/// The four bytes may be written, and are accessed by atomic operations alone.
unsafe fn store_dword(to: *mut u8, value: u32) {
    // SAFETY: the bytes are the caller's, and each part is aligned.
    unsafe {
        match to.addr() % 4 {
            0 => AtomicU32::from_ptr(to.cast()).store(value, Relaxed),
            2 => {
                AtomicU16::from_ptr(to.cast()).store(value as u16, Relaxed);
                AtomicU16::from_ptr(to.add(2).cast()).store((value >> 16) as u16, Relaxed);
            }
            _ => {
                AtomicU8::from_ptr(to).store(value as u8, Relaxed);
                AtomicU16::from_ptr(to.add(1).cast()).store((value >> 8) as u16, Relaxed);
                AtomicU8::from_ptr(to.add(3)).store((value >> 24) as u8, Relaxed);
            }
        }
    }
}

/// Like [`store`] in LDS, where bytes beyond the end are dropped.
fn store_lds(ctx: &Ctx, machine: &mut Machine<'_>, exec: u64, dwords: usize, two: bool) {
    let memory = machine.memory;
    let bytes = &mut **machine.lds;
    let addresses = 1 + two as usize;
    for which in 0..addresses {
        let limit = ctx.stage[2 * which + 1][exec.trailing_zeros() as usize];
        let limit = (limit as usize).min(bytes.len());
        for part in 0..dwords {
            let values = &ctx.stage[2 * addresses + which * dwords + part];
            for lane in lanes(exec) {
                let at = ctx.stage[2 * which][lane].wrapping_add(4 * part as u32) as usize;
                if at + 4 <= limit {
                    bytes[at..at + 4].copy_from_slice(&values[lane].to_le_bytes());
                } else {
                    memory.suspect();
                }
            }
        }
    }
}

struct Atomic {
    op: AtomicOp,
    ty: Ty,
    dst: Option<u8>,
    lds: bool,
}

impl Atomic {
    fn size(&self) -> u64 {
        self.ty.bits() as u64 / 8
    }

    fn data(&self, ctx: &Ctx, first: usize, lane: usize) -> u64 {
        let low = ctx.stage[first][lane] as u64;
        if self.size() == 4 {
            low
        } else {
            low | (ctx.stage[first + 1][lane] as u64) << 32
        }
    }

    /// Returns the new value that a lane's operation computes from the old one.
    fn after(&self, ctx: &Ctx, lane: usize, old: u64, mode: u32) -> u64 {
        let (data, second) = (self.data(ctx, 2, lane), self.data(ctx, 4, lane));
        eval::atomic(self.op, self.ty, old, data, second, mode, self.lds)
    }

    /// If the old values are unused, returns the data of one operation that has the same result as all lanes' operations in sequence.
    fn joined(&self, ctx: &Ctx, exec: u64) -> Option<u64> {
        use AtomicOp as A;
        if self.dst.is_some() || self.ty.is_float() {
            return None;
        }
        fn fold<T: Copy>(
            exec: u64,
            none: T,
            value: impl Fn(usize) -> T,
            join: impl Fn(T, T) -> T,
        ) -> T {
            if exec == !0 {
                return (0..64).fold(none, |all, lane| join(all, value(lane)));
            }
            lanes(exec).fold(none, |all, lane| join(all, value(lane)))
        }
        if self.op == A::Swap {
            let last = 63 - exec.leading_zeros() as usize;
            return Some(self.data(ctx, 2, last));
        }
        let signed = self.ty.is_signed();
        if self.size() == 4 {
            let d = &ctx.stage[2];
            return Some(match self.op {
                A::Add | A::Sub => fold(exec, 0, |l| d[l], u32::wrapping_add),
                A::Min if signed => fold(exec, i32::MAX, |l| d[l] as i32, i32::min) as u32,
                A::Max if signed => fold(exec, i32::MIN, |l| d[l] as i32, i32::max) as u32,
                A::Min => fold(exec, u32::MAX, |l| d[l], u32::min),
                A::Max => fold(exec, 0, |l| d[l], u32::max),
                A::And => fold(exec, u32::MAX, |l| d[l], |a, b| a & b),
                A::Or => fold(exec, 0, |l| d[l], |a, b| a | b),
                A::Xor => fold(exec, 0, |l| d[l], |a, b| a ^ b),
                _ => return None,
            } as u64);
        }
        let d = |lane: usize| self.data(ctx, 2, lane);
        Some(match self.op {
            A::Add | A::Sub => fold(exec, 0, d, u64::wrapping_add),
            A::Min if signed => fold(exec, i64::MAX, |l| d(l) as i64, i64::min) as u64,
            A::Max if signed => fold(exec, i64::MIN, |l| d(l) as i64, i64::max) as u64,
            A::Min => fold(exec, u64::MAX, d, u64::min),
            A::Max => fold(exec, 0, d, u64::max),
            A::And => fold(exec, u64::MAX, d, |a, b| a & b),
            A::Or => fold(exec, 0, d, |a, b| a | b),
            A::Xor => fold(exec, 0, d, |a, b| a ^ b),
            _ => return None,
        })
    }

    /// Executes all lanes' operations on one address. `update` replaces its value and returns the old one.
    fn at_one(
        &self,
        ctx: &Ctx,
        wave: &mut WaveState,
        exec: u64,
        update: impl FnOnce(&mut dyn FnMut(u64) -> u64) -> Option<u64>,
    ) -> bool {
        let mode = wave.mode;
        if let Some(data) = self.joined(ctx, exec) {
            let mut new = |old| eval::atomic(self.op, self.ty, old, data, 0, mode, self.lds);
            return update(&mut new).is_some();
        }
        let mut new = |old| lanes(exec).fold(old, |old, lane| self.after(ctx, lane, old, mode));
        let Some(mut old) = update(&mut new) else {
            return false;
        };
        if self.dst.is_some() {
            let mut found = [0; 64];
            for lane in lanes(exec) {
                found[lane] = old;
                old = self.after(ctx, lane, old, mode);
            }
            self.give(wave, exec, &found);
        }
        true
    }

    fn give(&self, wave: &mut WaveState, exec: u64, found: &[u64; 64]) {
        let Some(dst) = self.dst else { return };
        put(wave, dst as usize, exec, &found.map(|v| v as u32));
        if self.size() == 8 {
            let high = found.map(|v| (v >> 32) as u32);
            put(wave, dst as usize + 1, exec, &high);
        }
    }

    fn in_memory(
        &self,
        linear: Linear<'_>,
        machine: &Machine<'_>,
        wave: &mut WaveState,
        exec: u64,
        flat: bool,
    ) -> bool {
        let (ctx, memory) = (linear.ctx, machine.memory);
        let address = |lane: usize| ctx.stage[0][lane] as u64 | (ctx.stage[1][lane] as u64) << 32;
        let size = self.size();
        let may = |at: u64| {
            if !at.is_multiple_of(size) || flat && aperture(wave, at) {
                return false;
            }
            linear.host_address(at, size, 3).is_some()
                || memory.perm(at).is_some_and(|p| p.contains(Perm::RW))
        };
        let update = |at: u64, new: &mut dyn FnMut(u64) -> u64| match size {
            4 => memory
                .fetch_update_u32(at, |old| new(old as u64) as u32)
                .map(u64::from)
                .ok(),
            _ => memory.fetch_update_u64(at, new).ok(),
        };
        if same(exec, &ctx.stage[0]) && same(exec, &ctx.stage[1]) {
            let at = address(exec.trailing_zeros() as usize);
            return may(at) && self.at_one(ctx, wave, exec, |new| update(at, new));
        }
        if !lanes(exec).all(|lane| may(address(lane))) {
            return false;
        }
        let mut found = [0; 64];
        let mode = wave.mode;
        for lane in lanes(exec) {
            let old = update(address(lane), &mut |old| self.after(ctx, lane, old, mode));
            // The access succeeds, because nothing is unmapped while kernels run.
            found[lane] = old.unwrap_or(0);
        }
        self.give(wave, exec, &found);
        true
    }

    fn in_lds(
        &self,
        ctx: &Ctx,
        machine: &mut Machine<'_>,
        wave: &mut WaveState,
        exec: u64,
    ) -> bool {
        let size = self.size() as usize;
        let first = exec.trailing_zeros() as usize;
        let memory = machine.memory;
        let bytes = &mut **machine.lds;
        let limit = (ctx.stage[1][first] as usize).min(bytes.len());
        let bytes = &mut bytes[..limit];
        // Operations beyond the end have no effect. An unaligned address faults, which must be detected before the first lane's operation.
        let inside = |lane: usize| ctx.stage[0][lane] as usize + size <= limit;
        let cut = |lane: usize| !(ctx.stage[0][lane] as usize).is_multiple_of(size);
        let read = |bytes: &[u8], at: usize| match size {
            4 => bytes[at..]
                .first_chunk()
                .map_or(0, |b| u32::from_le_bytes(*b) as u64),
            _ => bytes[at..]
                .first_chunk()
                .map_or(0, |b| u64::from_le_bytes(*b)),
        };
        if same(exec, &ctx.stage[0]) {
            if !inside(first) {
                memory.suspect();
                self.give(wave, exec, &[0; 64]);
                return true;
            }
            let at = ctx.stage[0][first] as usize;
            return !cut(first)
                && self.at_one(ctx, wave, exec, |new| {
                    let old = read(bytes, at);
                    bytes[at..at + size].copy_from_slice(&new(old).to_le_bytes()[..size]);
                    Some(old)
                });
        }
        if lanes(exec).any(|lane| inside(lane) && cut(lane)) {
            return false;
        }
        if !lanes(exec).all(inside) {
            memory.suspect();
        }
        let mode = wave.mode;
        let mut found = [0; 64];
        for lane in lanes(exec).filter(|&lane| inside(lane)) {
            let at = ctx.stage[0][lane] as usize;
            let old = read(bytes, at);
            let new = self.after(ctx, lane, old, mode);
            bytes[at..at + size].copy_from_slice(&new.to_le_bytes()[..size]);
            found[lane] = old;
        }
        self.give(wave, exec, &found);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dwords_are_stored_at_any_address() {
        for at in 0..8 {
            let mut bytes = [0xeeu8; 12];
            // SAFETY: the four bytes are among the array's, which nothing else uses.
            unsafe { store_dword(bytes.as_mut_ptr().add(at), 0x4433_2211) };
            let mut expected = [0xee; 12];
            expected[at..at + 4].copy_from_slice(&[0x11, 0x22, 0x33, 0x44]);
            assert_eq!(bytes, expected, "at {at}");
        }
    }

    #[test]
    fn what_is_told_is_understood() {
        for op in OPS {
            for ty in TYPES {
                for space in SPACES {
                    for dst in [None, Some(0), Some(255)] {
                        let act = WaveHelper::Atomic { space, op, ty, dst };
                        assert_eq!(act.encode().map(WaveHelper::decode), Some(act));
                    }
                }
            }
        }
        for offset in [0, -4096, 4095, i32::MAX, i32::MIN] {
            for dwords in [1, 2, 4] {
                let act = WaveHelper::Store {
                    space: Space::Global,
                    dwords,
                    two: dwords == 2,
                    offset,
                };
                assert_eq!(act.encode().map(WaveHelper::decode), Some(act));
            }
        }
        let act = WaveHelper::Send { dst: 200 };
        assert_eq!(act.encode().map(WaveHelper::decode), Some(act));
        let scratch = WaveHelper::Store {
            space: Space::Scratch,
            dwords: 1,
            two: false,
            offset: 0,
        };
        assert_eq!(scratch.encode(), None);
    }
}
