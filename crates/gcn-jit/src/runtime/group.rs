//! Runs the waves of a workgroup in one call. Their common state is looked up once, and a wave that waited at a barrier
//! continues in compiled code.

use crate::context::{LINE, TimeSlice};
use crate::passes::optional::Optional;
use crate::runtime::cache::{Compiled, Key};
use crate::runtime::engine::{CodePointer, Entry, Exit, Jit, Scalars, must_interpret};
use crate::target::Level;
use crate::target::x64::{EXIT_NEXT, SLICES};
use gcn_emu::engine::{Engine, Machine, Stop};
use gcn_emu::group::{self, Doing, Group, GroupStop, GroupWave, Like, Starts};
use gcn_emu::wave::{LANES, WaveState};
use std::arch::asm;
use std::arch::x86_64::*;

/// Copies a line by one store, since compiled code reads it by one load. A load that spans several pending stores would have
/// to wait for them.
///
/// # Safety
/// The host has AVX-512F.
#[inline]
unsafe fn copy_512(to: &mut [u32; LINE], from: &[u32; LINE]) {
    // SAFETY: the lines have 64 bytes, and the host has the instructions.
    unsafe {
        asm!(
            "vmovups zmm0, [{from}]",
            "vmovups [{to}], zmm0",
            from = in(reg) from,
            to = in(reg) to,
            out("xmm0") _,
            options(nostack, preserves_flags)
        );
    }
}

/// Like [`copy_512`], in two halves.
///
/// # Safety
/// The host has AVX2.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn copy_256(to: &mut [u32; LINE], from: &[u32; LINE]) {
    let (to, from) = (to.as_chunks_mut::<8>().0, from.as_chunks::<8>().0);
    for (to, from) in to.iter_mut().zip(from) {
        // SAFETY: each half has 32 bytes.
        unsafe {
            _mm256_storeu_si256(
                to.as_mut_ptr().cast(),
                _mm256_loadu_si256(from.as_ptr().cast()),
            )
        };
    }
}

/// Copies the SGPR lines and the VGPRs that a region reads to a starting wave.
#[inline(always)]
fn give(
    region: &Compiled,
    like: &Like,
    wave: &mut WaveState,
    copy: impl Fn(&mut [u32; LINE], &[u32; LINE]),
) {
    let to = wave.sgprs.as_chunks_mut::<LINE>().0;
    let from = like.state().sgprs.as_chunks::<LINE>().0;
    for &n in &region.live_ins.sgprs {
        copy(&mut to[n as usize], &from[n as usize]);
    }
    let (to, from) = (&mut *wave.vgprs, like.ids());
    for &n in &region.live_ins.vgprs {
        let to = to[n as usize].as_chunks_mut().0;
        let from = from.get(n as usize).unwrap_or(&[0; LANES]).as_chunks().0;
        for (to, from) in to.iter_mut().zip(from) {
            copy(to, from);
        }
    }
}

/// [`give`] for AVX-512 code.
///
/// # Safety
/// The host has AVX-512F.
unsafe fn give_512(region: &Compiled, like: &Like, wave: &mut WaveState) {
    // SAFETY: the caller guarantees the level.
    give(region, like, wave, |to, from| unsafe { copy_512(to, from) });
    // SAFETY: the host has the instruction, which clears the upper parts of the named registers.
    unsafe {
        asm!(
            "vzeroupper",
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options(nostack, preserves_flags, nomem)
        );
    }
}

/// [`give`] for AVX2 code.
///
/// # Safety
/// The host has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn give_256(region: &Compiled, like: &Like, wave: &mut WaveState) {
    // SAFETY: the caller guarantees the level.
    give(region, like, wave, |to, from| unsafe { copy_256(to, from) });
}

/// Publishes which of a workgroup's waves have ended, since other waves may wait for their ends. `first` is the first wave's
/// number, because states may already belong to other waves.
pub(crate) fn tell_ends(machine: &Machine<'_>, first: u64, waves: &[GroupWave]) {
    for (number, wave) in (first..).zip(waves) {
        if wave.doing == Doing::Ended {
            machine.global.ended(number);
        }
    }
}

/// Returns the number of slices for which a wave of a workgroup without other waves has code. Code for three would hardly be shorter than for all four.
fn slices_of(exec: u64) -> u8 {
    match exec.checked_ilog2().unwrap_or(0) {
        0..16 => 1,
        16..32 => 2,
        _ => SLICES,
    }
}

/// Time slices that can run one after the other in compiled code.
struct Ready {
    count: usize,
    /// The number of their waves that have not ended.
    live: i64,
    region: u32,
    /// Fields of the first time slice. Reading them back from memory would wait for the stores.
    code: *const u8,
    wave: *mut WaveState,
    vgprs: *mut u32,
    given: u32,
}

impl Jit {
    /// See [`Engine::group`].
    pub(crate) fn run_group(
        &mut self,
        group: &mut Group<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        self.group.time_slices.clear();
        self.continue_group(group, machine, fuel)
    }

    /// Like [`Jit::run_group`], if the time slices already have the code pointers at which waves continue.
    pub(crate) fn continue_group(
        &mut self,
        group: &mut Group<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        let Some(like) = group.starts.like.first() else {
            return GroupStop::Ended;
        };
        if self.testing.compare || self.recorded(machine) || must_interpret(like.state()) {
            return group::run(self, group, machine, fuel);
        }
        let stop = self.rounds(group, machine, fuel);
        if stop != GroupStop::Ended {
            tell_ends(machine, group.starts.number, group.waves);
        }
        stop
    }

    fn rounds(
        &mut self,
        group: &mut Group<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        self.bind(machine);
        self.group
            .time_slices
            .resize(group.waves.len(), TimeSlice::NONE);
        let begun = *fuel;
        let stop = 'stop: loop {
            while group.next < group.waves.len() {
                let w = group.next;
                let doing = group.waves[w].doing;
                if matches!(doing, Doing::Waiting | Doing::Ended | Doing::Halted) {
                    group.next += 1;
                    continue;
                }
                let given = group.waves[w].time_slice(self.slice());
                if given > *fuel {
                    break 'stop GroupStop::Paused;
                }
                if doing == Doing::New || !self.group.time_slices[w].code.is_null() {
                    match self.run_time_slices(group, machine, fuel) {
                        Some(Some(stop)) => break 'stop GroupStop::Wave(stop),
                        Some(None) => continue,
                        None => {}
                    }
                }
                let wave = &mut group.waves[w];
                if doing == Doing::New {
                    group.starts.start(w, &mut wave.state);
                    wave.doing = Doing::Running;
                }
                let mut left = given;
                let stop = self.finish_time_slice(wave, w, None, machine, given, &mut left);
                *fuel -= given - left;
                if let Some(stop) = stop {
                    break 'stop GroupStop::Wave(stop);
                }
                wave.time_slices = wave.time_slices.saturating_add(1);
                group.ended_slices += 1;
                group.next += 1;
            }
            if let Some(stop) = group::round(group, machine) {
                break stop;
            }
        };
        self.stats.executed += begun - *fuel;
        stop
    }

    /// Runs the time slices of the waves from [`Group::next`] on that start or continue after a barrier, without leaving compiled
    /// code between them; if these are all waves, round after round. Returns why the last of them stopped, unless it ended or
    /// came to a barrier. Returns `None` if there is no such time slice.
    fn run_time_slices(
        &mut self,
        group: &mut Group<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> Option<Option<Stop>> {
        let first = group.next;
        let ready = self.prepare_time_slices(group, machine);
        let Ready { count, region, .. } = ready;
        if count == 0 || ready.given as u64 > *fuel {
            return None;
        }
        let ctx = &mut *self.ctx;
        ctx.current.time_slice = &mut self.group.time_slices[first];
        ctx.current.end = ctx.current.time_slice.wrapping_add(count);
        let none = std::ptr::null();
        // With a recorder, each round is a separate call.
        let rounds = machine.probe.is_none();
        let all = &self.group.time_slices[..];
        ctx.recorded.time_slices = [all.as_ptr().addr(), size_of_val(all)];
        ctx.batch.time_slices = match rounds && count == group.waves.len() {
            true => ctx.current.time_slice,
            false => std::ptr::null_mut(),
        };
        ctx.batch.row = none;
        ctx.batch.rows_end = none.wrapping_add(1);
        ctx.batch.live = ready.live;
        ctx.batch.spare = (*fuel).min(i64::MAX as u64) as i64;
        let spare = ctx.batch.spare;
        (ctx.current.wave, ctx.current.vgprs) = (ready.wave, ready.vgprs);
        ctx.clock.fuel = ready.given as i64;
        if let Some(counts) = &mut self.counts {
            counts.begin(
                region as usize,
                self.code.regions[region as usize].blocks.len(),
                ctx,
            );
        }
        // SAFETY: the time slices belong to different waves of the group. Each starts at a block of this region or continues at an
        // address that the region's code has recorded, and the engine keeps the code as long as it runs.
        let exit = unsafe { self.call(region, ready.code, machine) };
        self.ctx.batch.row = none;
        if let Some(counts) = &mut self.counts {
            let exec = || group.waves[first].state.exec();
            let rolled_back = exit
                .rolled_back(&self.stopped)
                .then(|| (exit.block(), exec()));
            counts.end(region as usize, &self.ctx, rolled_back);
        }
        *fuel -= (spare - self.ctx.batch.spare) as u64;
        let (current, ended) = self.record_progress(group.waves, first, count, exit);
        group.ended_slices += ended;
        group.next = first + current;
        if current == count || exit.why() == EXIT_NEXT {
            return Some(None);
        }
        // The wave may depend on these ends when it continues.
        tell_ends(machine, group.starts.number, group.waves);
        let (w, wave) = (group.next, &mut group.waves[group.next]);
        let stop = self.finish_alone(wave, w, exit, machine, fuel);
        if stop.is_none() {
            group.ended_slices += 1;
            group.next += 1;
        }
        Some(stop)
    }

    /// Fills in the time slices of the waves from [`Group::next`] on that can run one after the other in compiled code.
    #[inline]
    fn prepare_time_slices(&mut self, group: &mut Group<'_>, machine: &mut Machine<'_>) -> Ready {
        let first = group.next;
        let end = match self.counts {
            Some(_) => first + 1,
            None => group.waves.len(),
        };
        let mut ready = Ready {
            count: 0,
            live: 0,
            region: 0,
            code: std::ptr::null(),
            wave: std::ptr::null_mut(),
            vgprs: std::ptr::null_mut(),
            given: 0,
        };
        let mut slices = std::mem::take(&mut self.group.time_slices);
        let those = group.waves[first..end].iter_mut().zip(&mut slices[first..]);
        for (n, (wave, slice)) in those.enumerate() {
            let (code, in_region) = match wave.doing {
                Doing::New => {
                    let Some(at) = self.entry(&group.starts, first + n, machine) else {
                        break;
                    };
                    self.start(&group.starts, first + n, at, &mut wave.state);
                    let base = self.code.regions[at.region() as usize].code.as_ptr();
                    (base.wrapping_add(at.at()), at.region())
                }
                Doing::Running => (slice.code, slice.region),
                Doing::Ended if n > 0 => {
                    (std::ptr::without_provenance(TimeSlice::ENDED), ready.region)
                }
                _ => break,
            };
            if code.is_null() || n > 0 && in_region != ready.region {
                break;
            }
            let given = wave.time_slice(self.slice()) as u32;
            // The count must not wrap to 0, because 0 means that the wave has not begun.
            let ended = wave.time_slices.min(1 << 30);
            let doing = wave.doing;
            let state = &mut *wave.state;
            let vgprs = state.vgprs.as_mut_ptr().cast();
            (slice.pc, slice.late) = (state.pc, 0);
            slice.code = code;
            slice.vgprs = vgprs;
            slice.wave = state;
            slice.given = given;
            slice.ended = ended;
            slice.again = wave.next_time_slice(self.slice()) as u32;
            slice.region = in_region;
            if n == 0 {
                ready.region = in_region;
                (ready.code, ready.wave, ready.vgprs) = (code, slice.wave, vgprs);
                ready.given = given;
            }
            ready.live += (doing != Doing::Ended) as i64;
            ready.count += 1;
        }
        self.group.time_slices = slices;
        ready
    }

    /// Records in the waves the progress of `count` time slices from `first` on after compiled code has returned. Returns the index,
    /// from `first` on, of the current time slice, and the number of time slices that have ended.
    pub(crate) fn record_progress(
        &mut self,
        waves: &mut [GroupWave],
        first: usize,
        count: usize,
        exit: Exit,
    ) -> (usize, u64) {
        let current = (self.ctx.current.time_slice as usize)
            .wrapping_sub(self.group.time_slices[first..].as_ptr() as usize);
        let current = (current / size_of::<TimeSlice>()).min(count);
        let mut ended = 0;
        let those = waves[first..]
            .iter_mut()
            .zip(&mut self.group.time_slices[first..]);
        for (n, (wave, slice)) in those.take(count).enumerate() {
            ended += (slice.ended - wave.time_slices.min(slice.ended)) as u64;
            wave.time_slices = slice.ended;
            wave.state.clock += 4 * std::mem::take(&mut slice.late) as u64;
            wave.doing = match slice.code as usize {
                TimeSlice::ENDED => Doing::Ended,
                _ if n < current => {
                    wave.state.pc = slice.pc;
                    Doing::Waiting
                }
                _ if n == current && exit.why() != EXIT_NEXT => {
                    slice.code = std::ptr::null();
                    Doing::Running
                }
                _ if slice.ended == 0 => {
                    slice.code = std::ptr::null();
                    Doing::New
                }
                _ => {
                    wave.state.pc = slice.pc;
                    Doing::Running
                }
            };
        }
        (current, ended)
    }

    /// Completes the time slice in which compiled code has returned with `exit`. Returns why the wave stopped, unless it ended or came
    /// to a barrier.
    pub(crate) fn finish_alone(
        &mut self,
        wave: &mut GroupWave,
        w: usize,
        exit: Exit,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> Option<Stop> {
        let given = self.group.time_slices[w].given as u64;
        let mut left = self.ctx.clock.fuel as u64;
        wave.state.clock += 4 * (self.ctx.clock.synced - self.ctx.clock.fuel) as u64;
        let stop = self.finish_time_slice(wave, w, Some(exit), machine, given, &mut left);
        *fuel -= given - left;
        if stop.is_none() {
            wave.time_slices = wave.time_slices.saturating_add(1);
        }
        stop
    }

    /// Completes a wave's time slice, of whose `given` instructions `left` remain. `exit` is the exit from compiled code, if the
    /// wave was in it. Returns why the wave stopped, unless it ended or came to a barrier.
    fn finish_time_slice(
        &mut self,
        wave: &mut GroupWave,
        w: usize,
        exit: Option<Exit>,
        machine: &mut Machine<'_>,
        given: u64,
        left: &mut u64,
    ) -> Option<Stop> {
        self.group.after_barrier = None;
        if let Some(probe) = machine.probe {
            probe.turn(w);
        }
        let next = match exit {
            Some(exit) => self.after_exit(exit, &mut wave.state, machine, given, left),
            None => Ok(None),
        };
        let stop = match next {
            Ok(from) => self.run_wave(&mut wave.state, machine, left, from),
            Err(stop) => stop,
        };
        wave.doing = match stop {
            Stop::Endpgm => Doing::Ended,
            Stop::Barrier => {
                if let Some((code, region)) = self.group.after_barrier {
                    let none = TimeSlice::NONE;
                    self.group.time_slices[w] = TimeSlice {
                        code,
                        region,
                        ..none
                    };
                }
                Doing::Waiting
            }
            stop => return Some(stop),
        };
        None
    }

    /// Returns the code at which a wave begins, if there is any.
    pub(crate) fn entry(
        &mut self,
        starts: &Starts<'_>,
        w: usize,
        machine: &mut Machine<'_>,
    ) -> Option<CodePointer> {
        let like = &starts.like[w];
        if let Some(&Some((known, at))) = self.group.entered.get(w)
            && known == like.id()
        {
            self.code.regions[at.region() as usize].begun += 1;
            return Some(at);
        }
        let state = like.state();
        let wide = Key {
            entry: Some(like.entry()),
            ..Key::plain(state.pc, state.mode, like.vgprs() as u16)
        };
        let narrow = Key {
            slices: slices_of(state.exec()),
            ..wide
        };
        // The last workgroup may have fewer lanes than the others.
        let alone = starts.like.len() == 1 && !self.code.entries.contains_key(&wide);
        let possible = !self.left_out.has(Optional::Narrow) && !self.code.wide.contains(&narrow);
        let key = if alone && possible { narrow } else { wide };
        loop {
            match self.code.entries.get(&key).copied() {
                Some(Entry::Code(at)) => {
                    if self.fresh(at.region(), machine) {
                        let count = starts.like.len().max(self.group.entered.len());
                        self.group.entered.resize(count, None);
                        self.group.entered[w] = Some((like.id(), at));
                        return Some(at);
                    }
                }
                Some(Entry::Interpret) => return None,
                None if !self.may_compile(state.mode) => return None,
                None => {
                    // Guesses come from the wave's own registers.
                    let mut own = WaveState::new(0);
                    own.sgprs = state.sgprs;
                    starts.rest(w, &mut own);
                    self.compile(key, Scalars::of(&own.sgprs), machine, self.testing.exact);
                }
            }
        }
    }

    /// Copies the registers that its region reads to a starting wave.
    fn start(&self, starts: &Starts<'_>, w: usize, at: CodePointer, wave: &mut WaveState) {
        let like = &starts.like[w];
        let region = &self.code.regions[at.region() as usize];
        if wave.vgprs.len() != like.vgprs() {
            starts.start(w, wave);
            return;
        }
        // SAFETY: the host supports the code's level.
        unsafe {
            match self.level {
                Level::Avx2 => give_256(region, like, wave),
                _ => give_512(region, like, wave),
            }
        }
        starts.rest(w, wave);
    }
}
