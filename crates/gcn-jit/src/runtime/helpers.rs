//! The functions that compiled code calls. They take the context as a pointer, as the code has it.

use crate::context::{AroundRequest, Ctx, TimeSlice};
use crate::runtime::engine::fetch;
use crate::runtime::lane_loops::SharedChoices;
use gcn_emu::engine::{Engine, Machine, Stop};
use gcn_emu::group::next_time_slice;
use gcn_emu::interp::Interp;
use gcn_emu::mem::{MAPPED, Memory, PAGE_SIZE, Perm};
use gcn_emu::probe::Probe;
use gcn_emu::wave::WaveState;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The state that helpers work on.
pub(crate) struct Host<'a, 'm> {
    pub(crate) interp: &'a mut Interp,
    pub(crate) machine: &'a mut Machine<'m>,
    pub(crate) stop: &'a mut Option<Stop>,
    pub(crate) interpreted: &'a mut u64,
    pub(crate) slice: u64,
    pub(crate) names: &'a mut Option<HashMap<&'static str, u64>>,
    pub(crate) choices: &'a SharedChoices,
}

/// The context of compiled code, and the state that its helpers work on.
///
/// # Safety
/// `ctx` is the context of a run under way: its wave, its time slice, its page map and its host are valid, and nothing else uses
/// them until the result is dropped.
pub(crate) unsafe fn parts<'c>(ctx: *mut Ctx) -> (&'c mut Ctx, &'c mut Host<'c, 'c>) {
    // SAFETY: the caller's.
    unsafe {
        let ctx = &mut *ctx;
        let host = &mut *(ctx.call.host as *mut Host<'_, '_>);
        (ctx, host)
    }
}

/// Runs one instruction. Nonzero: `stop` is why the wave does not continue, or it has jumped.
///
/// # Safety
/// As of [`parts`].
pub(crate) unsafe extern "sysv64" fn interpret(ctx: *mut Ctx, pc: u64) -> u64 {
    // SAFETY: the caller's.
    let (ctx, host, wave, time_slice) = unsafe {
        let (ctx, host) = parts(ctx);
        let (wave, time_slice) = (&mut *ctx.current.wave, &mut *ctx.current.time_slice);
        (ctx, host, wave, time_slice)
    };
    wave.pc = pc;
    if !ctx.batch.row.is_null() {
        // The wave must have a state of its own.
        return 1;
    }
    if let Some(names) = host.names
        && let Some(insn) = fetch(host.machine, pc)
    {
        *names.entry(insn.row.name).or_default() += 1;
    }
    if let Some(probe) = host.machine.probe {
        tell_turn(ctx, probe);
    }
    let mut fuel = 1;
    let late = std::mem::take(&mut time_slice.late);
    wave.clock += 4 * (ctx.clock.synced - ctx.clock.fuel + late) as u64;
    let stop = host.interp.run(wave, host.machine, &mut fuel);
    *host.interpreted += 1 - fuel;
    ctx.clock.fuel -= 1 - fuel as i64;
    ctx.clock.synced = ctx.clock.fuel;
    // The instruction may have changed the priority, and so the time slices.
    time_slice.again = next_time_slice(wave, host.slice) as u32;
    match stop {
        Stop::Limit => 0,
        stop => {
            *host.stop = Some(stop);
            1
        }
    }
}

/// Tells a probe which wave of those that run together has its time slice.
pub(crate) fn tell_turn(ctx: &Ctx, probe: &dyn Probe) {
    let [first, bytes] = ctx.recorded.time_slices;
    let at = ctx.current.time_slice.addr().wrapping_sub(first);
    if at < bytes {
        probe.turn(at / size_of::<TimeSlice>());
    }
}

pub(crate) fn lanes(ctx: &Ctx) -> impl Iterator<Item = usize> + use<> {
    let on = ctx.call.lanes;
    (0..16).filter(move |l| on >> l & 1 != 0)
}

/// Loads lane by lane. Nonzero: the interpreter must do it.
///
/// A block loads before all of its conditions are checked, so what it loads may be no access of the program. In a transaction the
/// interpreter makes the accesses that are out of bounds, if there are any.
///
/// # Safety
/// As of [`parts`].
pub(crate) unsafe extern "sysv64" fn load(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: the caller's.
    let (ctx, host, wave) = unsafe {
        let (ctx, host) = parts(ctx);
        let wave = &*ctx.current.wave;
        (ctx, host, wave)
    };
    let (bytes, count, lds) = (what & 0xff, what >> 8 & 0xff, what >> 16 & 1 != 0);
    let offset = (what >> 32) as i32;
    let tries = host.machine.memory.tries();
    for part in 0..count as usize {
        for lane in lanes(ctx) {
            let lo = ctx.addresses[0].0[lane];
            let hi = ctx.addresses[1].0[lane];
            let value = if lds {
                let at = lo
                    .wrapping_add(offset as u32)
                    .wrapping_add(part as u32 * bytes as u32) as usize;
                let end = at as u64 + bytes;
                let lds = &**host.machine.lds;
                if end <= hi as u64 && end <= lds.len() as u64 {
                    lds[at..at + bytes as usize]
                        .iter()
                        .rev()
                        .fold(0, |v, &b| v << 8 | b as u32)
                } else if tries {
                    return 1;
                } else {
                    0
                }
            } else {
                let at = (lo as u64 | (hi as u64) << 32)
                    .wrapping_add_signed(offset as i64 + (part as u64 * bytes) as i64);
                let last = at.wrapping_add(bytes - 1);
                let memory = host.machine.memory;
                if tries && memory.transaction_range(at, last, Perm::READ, 0) == Some(None) {
                    return 1;
                }
                let got = match bytes {
                    1 => host.machine.memory.load_u8(at).map(u32::from),
                    2 => host.machine.memory.load_u16(at).map(u32::from),
                    _ => host.machine.memory.load_u32(at),
                };
                if what >> 17 & 1 != 0 && aperture(wave, at) {
                    return 1;
                }
                match got {
                    Ok(v) => v,
                    Err(_) => return 1,
                }
            };
            ctx.data[part].0[lane] = value;
        }
    }
    0
}

/// Pages that [`range`] remembers on each side of an access.
pub(crate) const BESIDE: u64 = 1 << 12;

/// Pages that [`around`] remembers on each side of lanes' accesses, and at most between the lanes.
pub(crate) const AROUND: u64 = 1 << 16;

// The distance of a lane from the beginning of a remembered range is a signed number of 32 bits, however far an access reaches.
const _: () = assert!((3 * AROUND + 1) * PAGE_SIZE + (1 << 16) <= 1 << 31);
// An access checks the map's bytes of a page and of the three after it.
const _: () = assert!(gcn_emu::mem::LEAST_PAGES > 3);

/// Checks that the memory of an affine access, in slices with active lanes, may be accessed, and remembers how far around it
/// memory is like that. Nonzero: it may not.
///
/// # Safety
/// As of [`parts`].
pub(crate) unsafe extern "sysv64" fn range(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: the caller's.
    let (ctx, wave, pages, memory) = unsafe {
        let (ctx, host) = parts(ctx);
        let (wave, pages) = (&*ctx.current.wave, page_states(ctx));
        (ctx, wave, pages, host.machine.memory)
    };
    let (address, need, slot) = (what & 0xff, MAPPED | (what >> 8) as u8, what >> 16 & 0xffff);
    // Bytes from lane to lane, up or down, if inactive lanes are not accessed.
    let step = (what >> 32) as i32;
    let apart = step.unsigned_abs() as u64;
    let [from, to] = ctx.lookup.bytes.map(|n| n as i64 as u64);
    let mut run = None;
    for slice in 0..4 {
        let on = (wave.exec() >> (16 * slice)) as u16;
        if on == 0 {
            continue;
        }
        let base = match ctx.memory.host_bits {
            u64::MAX => ctx.affine.addresses[address as usize][slice].wrapping_sub(ctx.memory.bias),
            _ => ctx.affine.guest[slice],
        };
        let start = base.wrapping_sub(ctx.memory.start);
        let (mut below, mut above) = (on.trailing_zeros() as u64, on.leading_zeros() as u64);
        if step < 0 {
            (below, above) = (above, below);
        }
        if (base ^ base.wrapping_add(from)) & !ctx.memory.host_bits != 0 {
            return 1;
        }
        let first = start.wrapping_add(from).wrapping_add(apart * below);
        let last = start.wrapping_add(to).wrapping_sub(1 + apart * above);
        if first > last || last >= ctx.memory.bytes {
            return 1;
        }
        if run
            .as_ref()
            .is_some_and(|run: &Range<u64>| run.contains(&first) && run.contains(&last))
        {
            continue;
        }
        run = permitted((memory, ctx.memory.start), pages, first, last, need, BESIDE);
        if run.is_none() {
            return 1;
        }
    }
    // Another access's range must not be taken for this one's.
    ctx.remembered.ranges[slot as usize] = [0; 2];
    if let Some(run) = run {
        let start = (ctx.memory.start + run.start).wrapping_sub(from);
        let bytes = run.end - run.start;
        let span = to.wrapping_sub(from);
        ctx.remembered.ranges[slot as usize] = [start, (bytes + 1).saturating_sub(span)];
    }
    0
}

/// The state of each page of the linear part.
///
/// # Safety
/// As of [`parts`].
pub(crate) unsafe fn page_states<'c>(ctx: &Ctx) -> &'c [AtomicU8] {
    let pages = (ctx.memory.bytes / PAGE_SIZE) as usize;
    // SAFETY: the memory that the run borrows has a byte for each page of its linear part, readable as long as the run lasts.
    // Other threads change them by atomic stores alone.
    unsafe { std::slice::from_raw_parts(ctx.memory.pages.cast::<AtomicU8>(), pages) }
}

/// The pages around these, up to `far` on each side, that may all be accessed as `need` says: the first one, and the one after
/// the last. `None` if these themselves may not.
pub(crate) fn pages_around(
    states: &[AtomicU8],
    first: u64,
    last: u64,
    need: u8,
    far: u64,
) -> Option<(u64, u64)> {
    let pages = states.len() as u64;
    let allowed = |page: u64| {
        let state = states.get(page as usize);
        state.is_some_and(|state| state.load(Relaxed) & need == need)
    };
    if !(first..=last).all(allowed) {
        return None;
    }
    let least = first.saturating_sub(far);
    let below = (least..first).rev().find(|&p| !allowed(p));
    let most = (last + 1 + far).min(pages);
    let above = (last + 1..most).find(|&p| !allowed(p));
    Some((below.map_or(least, |p| p + 1), above.unwrap_or(most)))
}

/// The bytes of the linear part around an access, at most `far` pages on each side, that may all be accessed as `need` says. `None` if
/// the access itself, from its first byte to its last one, may not.
pub(crate) fn permitted(
    (memory, base): (&Memory, u64),
    pages: &[AtomicU8],
    first: u64,
    last: u64,
    need: u8,
    far: u64,
) -> Option<Range<u64>> {
    let perm = [Perm::READ, Perm::RW][(need & 2 != 0) as usize];
    match memory.transaction_range(base + first, base + last, perm, far) {
        Some(range) => range.map(|r| r.start - base..r.end - base),
        None => pages_around(pages, first / PAGE_SIZE, last / PAGE_SIZE, need, far)
            .map(|(low, high)| low * PAGE_SIZE..high * PAGE_SIZE),
    }
}

/// Checks that an access at an address that is in the context may be made, for code that found that the page map does not permit it:
/// in a transaction, pages that are partly out of bounds are not in the map. Nonzero: it may not.
///
/// # Safety
/// As of [`parts`].
pub(crate) unsafe extern "sysv64" fn exact(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: the caller's.
    let (ctx, host) = unsafe { parts(ctx) };
    let (bytes, write) = (what >> 32, what & 2 != 0);
    let (remember, slot) = (what >> 8 & 1 != 0, what >> 16 & 0xffff);
    let first = ctx.lookup.address;
    let Some(last) = first.checked_add(bytes - 1) else {
        return 1;
    };
    let perm = [Perm::READ, Perm::RW][write as usize];
    let tried = host
        .machine
        .memory
        .transaction_range(first, last, perm, BESIDE);
    let Some(run) = tried.flatten() else {
        return 1;
    };
    if remember {
        ctx.remembered.ranges[slot as usize] = [run.start, run.end - run.start + 1 - bytes];
    }
    0
}

/// Returns true if the code can address two remembered ranges by distances of 31 bits from the first one's beginning.
fn reachable_together(a: [u64; 2], b: [u64; 2], host_bits: u64) -> bool {
    let [low, high] = [a[0].min(b[0]), (a[0] + a[1]).max(b[0] + b[1])];
    let same = |bits: u64| (a[0] ^ b[0]) & bits == 0;
    high - low <= (1 << 31) - (1 << 16) && same(u64::MAX << 32) && same(!host_bits)
}

/// Checks that lanes' addresses lie in one range of memory that may be accessed, or in two if the access asks for it, and remembers
/// as much of it as can be reached from there. Nonzero: they do not; what is remembered stays.
///
/// # Safety
/// As of [`parts`].
pub(crate) unsafe extern "sysv64" fn around(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: the caller's.
    let (ctx, pages, memory) = unsafe {
        let (ctx, host) = parts(ctx);
        let pages = page_states(ctx);
        (ctx, pages, host.machine.memory)
    };
    let (two, own) = (
        what & AroundRequest::TWO != 0,
        what & AroundRequest::OWN != 0,
    );
    let (slot, second) = ((what >> 16 & 0xffff) as usize, ctx.lookup.second as usize);
    // Lanes that are in more than two buffers are refused again and again.
    if two && ctx.lookup.refused >= 8 && !ctx.lookup.refused.is_multiple_of(16) {
        ctx.lookup.refused += 1;
        return 1;
    }
    let address =
        |lane: usize| ctx.addresses[0].0[lane] as u64 | (ctx.addresses[1].0[lane] as u64) << 32;
    let Some(first) = lanes(ctx).map(address).min() else {
        return 1;
    };
    let last = lanes(ctx).map(address).max().unwrap_or(first);
    let range = |first, last| range_around(ctx, (memory, pages), what, first, last);
    let host_bits = ctx.memory.host_bits;
    let ranges = match range(first, last) {
        Some(one) => {
            let before = ctx.remembered.ranges[slot];
            let other = own && before[1] != 0 && reachable_together(one, before, host_bits);
            Some([one, if other { before } else { one }])
        }
        None if two => range(first, first)
            .zip(range(last, last))
            .map(|(a, b)| [a, b])
            .filter(|&[a, b]| {
                let inside = |r: [u64; 2], at: u64| at.wrapping_sub(r[0]) < r[1];
                let all = lanes(ctx)
                    .map(address)
                    .all(|at| inside(a, at) || inside(b, at));
                all && reachable_together(a, b, host_bits)
            }),
        None => None,
    };
    let Some([one, other]) = ranges else {
        ctx.lookup.refused += two as u32;
        return 1;
    };
    ctx.remembered.ranges[slot] = one;
    if two {
        ctx.lookup.refused = 0;
        ctx.remembered.ranges[second] = other;
    }
    0
}

/// Returns the addresses around these, without the access's constant, at which the access may begin: the first, and their number. `None`
/// if the code cannot address them all as distances from the first.
fn range_around(
    ctx: &Ctx,
    (memory, pages): (&Memory, &[AtomicU8]),
    what: u64,
    first: u64,
    last: u64,
) -> Option<[u64; 2]> {
    let (bytes, need) = (what & 0xff, MAPPED | (what >> 8 & 3) as u8);
    let offset = (what >> 32) as i32 as i64;
    let inside = |at: u64| {
        at.checked_sub(ctx.memory.start)
            .filter(|&at| at < ctx.memory.bytes)
    };
    let [low, high] = [first, last].map(|at| at.wrapping_add_signed(offset));
    let (low, high) = (inside(low)?, inside(high.checked_add(bytes - 1)?)?);
    if low > high || high / PAGE_SIZE - low / PAGE_SIZE > AROUND {
        return None;
    }
    let run = permitted((memory, ctx.memory.start), pages, low, high, need, AROUND)?;
    // Where accesses may begin, without the constant. All addresses have one upper half.
    let base = |at: u64| (ctx.memory.start + at).wrapping_add_signed(-offset);
    let (mut start, past) = (base(run.start), base(run.end).wrapping_sub(bytes - 1));
    if start >> 32 != first >> 32 {
        start = first >> 32 << 32;
    }
    let upper = (start >> 32 << 32) + (1 << 32);
    let count = past.min(upper).wrapping_sub(start);
    if (start ^ start.wrapping_add_signed(offset)) & !ctx.memory.host_bits != 0 {
        return None;
    }
    (first >= start && last.wrapping_sub(start) < count).then_some([start, count])
}

/// Returns true if a flat address is in the aperture of LDS or scratch.
pub(crate) fn aperture(wave: &WaveState, at: u64) -> bool {
    let top = at >> 32 << 32;
    top == wave.shared_base() || top == wave.private_base()
}

/// Stores lane by lane.
///
/// # Safety
/// As of [`parts`].
pub(crate) unsafe extern "sysv64" fn store(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: the caller's.
    let (ctx, host, wave) = unsafe {
        let (ctx, host) = parts(ctx);
        let wave = &*ctx.current.wave;
        (ctx, host, wave)
    };
    let (bytes, count, lds) = (what & 0xff, what >> 8 & 0xff, what >> 16 & 1 != 0);
    let offset = (what >> 32) as i32;
    // Every lane's first element is written before any lane's second one. If all lanes' addresses are multiples of their size (or
    // more), lanes that overlap have the same address, and only the order of the lanes matters. One lane alone has no order.
    let apart = (bytes * count).next_power_of_two() as u32;
    let meets = |ctx: &Ctx, lane: usize| {
        !ctx.addresses[0].0[lane]
            .wrapping_add(offset as u32)
            .is_multiple_of(apart)
    };
    let alone = wave.exec().count_ones() == 1;
    if count > 1 && !alone && lanes(ctx).any(|lane| meets(ctx, lane)) {
        return 1;
    }
    for part in 0..count as usize {
        for lane in lanes(ctx) {
            let lo = ctx.addresses[0].0[lane];
            let hi = ctx.addresses[1].0[lane];
            let value = ctx.data[part].0[lane];
            if lds {
                let at = lo
                    .wrapping_add(offset as u32)
                    .wrapping_add(part as u32 * bytes as u32) as usize;
                let end = at as u64 + bytes;
                let lds = &mut **host.machine.lds;
                if end <= hi as u64 && end <= lds.len() as u64 {
                    lds[at..at + bytes as usize]
                        .copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
                } else {
                    host.machine.memory.suspect();
                }
                continue;
            }
            let at = (lo as u64 | (hi as u64) << 32)
                .wrapping_add_signed(offset as i64 + (part as u64 * bytes) as i64);
            if what >> 17 & 1 != 0 && aperture(wave, at) {
                return 1;
            }
            let done = match bytes {
                1 => host.machine.memory.store_u8(at, value as u8),
                2 => host.machine.memory.store_u16(at, value as u16),
                _ => host.machine.memory.store_u32(at, value),
            };
            if done.is_err() {
                return 1;
            }
        }
    }
    0
}

/// Evaluates a slow path. Nonzero: the interpreter must run the block.
///
/// # Safety
/// As of [`parts`]; and `what` is the index of one of the calls that the region keeps whose code called this.
pub(crate) unsafe extern "sysv64" fn slow_path(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: the caller's.
    let (ctx, call) = unsafe {
        let (ctx, _) = parts(ctx);
        let call = &**ctx.helpers.slow_paths.add(what as usize);
        (ctx, call)
    };
    ctx.helpers.slow_path_calls += 1;
    !call.run(&mut ctx.data, ctx.call.lanes) as u64
}
