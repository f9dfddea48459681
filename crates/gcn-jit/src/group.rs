//! The waves of a workgroup in one go: what is the same for all is looked up once, and a wave that waits at a barrier is
//! gone on with where its code goes on.

use crate::ctx::Turn;
use crate::emit::EXIT_END;
use crate::{At, Exit, Jit, Place, rarely};
use gcn_emu::engine::{Machine, Stop};
use gcn_emu::group::{self, Doing, Group, GroupStop, GroupWave, Starts};
use gcn_emu::wave::{LANES, WaveState};

/// Dwords of a cache line.
pub(crate) const LINE: usize = 16;

/// Copies lines.
#[inline]
fn copy(to: &mut [u32], from: &[u32]) {
    let (to, from) = (to.as_chunks_mut::<LINE>().0, from.as_chunks::<LINE>().0);
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

impl Jit {
    /// What [`Engine::group`] says.
    pub(crate) fn together(
        &mut self,
        group: &mut Group<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        let Some(like) = group.starts.like.first() else {
            return GroupStop::Ended;
        };
        if self.check || self.recorded(machine) || rarely(like.state()) {
            return group::run(self, group, machine, fuel);
        }
        let stop = self.rounds(group, machine, fuel);
        if stop != GroupStop::Ended {
            // Their states may be others' by now.
            for (number, wave) in (group.starts.number..).zip(group.waves.iter()) {
                if wave.doing == Doing::Ended {
                    machine.global.ended(number);
                }
            }
        }
        stop
    }

    fn rounds(
        &mut self,
        group: &mut Group<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        self.surround(machine);
        self.turns.clear();
        self.turns.resize(group.waves.len(), Turn::NONE);
        let begun = *fuel;
        let stop = 'stop: loop {
            while group.next < group.waves.len() {
                let w = group.next;
                let doing = group.waves[w].doing;
                if matches!(doing, Doing::Waiting | Doing::Ended | Doing::Halted) {
                    group.next += 1;
                    continue;
                }
                let given = group.waves[w].turn(crate::SLICE);
                if given > *fuel {
                    break 'stop GroupStop::Paused;
                }
                if !self.turns[w].code.is_null() {
                    if let Some(stop) = self.turns_on(group, machine, fuel) {
                        break 'stop GroupStop::Wave(stop);
                    }
                    continue;
                }
                let at = if doing == Doing::New {
                    // The registers of a wave that has ended are near.
                    if let [.., before, now] = &mut group.waves[..=w]
                        && before.doing == Doing::Ended
                    {
                        std::mem::swap(&mut before.state, &mut now.state);
                    }
                    let at = self.entry(&group.starts, w, machine);
                    let wave = &mut group.waves[w];
                    wave.doing = Doing::Running;
                    match at {
                        Some(at) => self.start(&group.starts, w, at, &mut wave.state),
                        None => group.starts.start(w, &mut wave.state),
                    }
                    at
                } else {
                    None
                };
                let wave = &mut group.waves[w];
                let mut left = given;
                let exit = at.map(|at| self.enter(at, &mut wave.state, machine, &mut left));
                let stop = self.turn_ends(wave, w, exit, machine, given, &mut left);
                *fuel -= given - left;
                if let Some(stop) = stop {
                    break 'stop GroupStop::Wave(stop);
                }
                wave.turns = wave.turns.saturating_add(1);
                group.turned += 1;
                group.next += 1;
            }
            if let Some(stop) = group::round(group) {
                break stop;
            }
        };
        self.stats.executed += begun - *fuel;
        stop
    }

    /// The turns of the waves from [`Group::next`] on that come from a barrier, without leaving compiled code between
    /// them. Gives what the last of them came to but its end and a barrier.
    fn turns_on(
        &mut self,
        group: &mut Group<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> Option<Stop> {
        let first = group.next;
        let unit = self.turns[first].unit;
        let most = if self.counts.is_some() { 1 } else { usize::MAX };
        let (mut count, mut all) = (0, 0);
        let those = group.waves[first..]
            .iter_mut()
            .zip(&mut self.turns[first..]);
        for (wave, turn) in those.take(most) {
            let given = wave.turn(crate::SLICE);
            all += given;
            let ready = wave.doing == Doing::Running && !turn.code.is_null() && turn.unit == unit;
            if !ready || all > *fuel {
                break;
            }
            turn.wave = &mut *wave.state;
            turn.vgprs = wave.state.vgprs.as_mut_ptr().cast();
            turn.given = given as i64;
            count += 1;
        }
        let ctx = &mut *self.ctx;
        ctx.turn = &mut self.turns[first];
        ctx.turns_end = ctx.turn.wrapping_add(count);
        let Turn {
            code,
            wave,
            vgprs,
            given,
            ..
        } = self.turns[first];
        (ctx.wave, ctx.vgprs, ctx.fuel) = (wave, vgprs, given);
        if let Some(counts) = &mut self.counts {
            counts.begin(unit as usize, self.units[unit as usize].chunks.len(), ctx);
        }
        // SAFETY: the turns are of waves of the group, which are different ones. Each goes on where this unit's code has
        // said so, which the engine keeps as long as it runs.
        let exit = unsafe { self.call(unit, code, machine) };
        let done = (self.ctx.turn as usize).wrapping_sub(self.turns[first..].as_ptr() as usize);
        let done = (done / size_of::<Turn>()).min(count);
        if let Some(counts) = &mut self.counts {
            let exec = || group.waves[first].state.exec();
            let undone = exit.undone(&self.stopped).then(|| (exit.chunk(), exec()));
            counts.end(unit as usize, &self.ctx, undone);
        }
        let those = group.waves[first..].iter_mut().zip(&self.turns[first..]);
        for (wave, turn) in those.take(done) {
            *fuel -= (turn.given - turn.left) as u64;
            wave.doing = Doing::Waiting;
            wave.turns = wave.turns.saturating_add(1);
        }
        group.turned += done as u64;
        group.next += done;
        if done == count {
            return None;
        }
        let (w, wave) = (group.next, &mut group.waves[group.next]);
        let given = self.turns[w].given as u64;
        let mut left = self.ctx.fuel as u64;
        wave.state.clock += 4 * (self.ctx.synced - self.ctx.fuel) as u64;
        self.turns[w].code = std::ptr::null();
        let stop = self.turn_ends(wave, w, Some(exit), machine, given, &mut left);
        *fuel -= given - left;
        if stop.is_none() {
            wave.turns = wave.turns.saturating_add(1);
            group.turned += 1;
            group.next += 1;
        }
        stop
    }

    /// Brings a wave's turn to its end, of whose `given` instructions there are `left`. `exit` is how compiled code has
    /// left it, if it was there. Gives what it came to but its end and a barrier.
    fn turn_ends(
        &mut self,
        wave: &mut GroupWave,
        w: usize,
        exit: Option<Exit>,
        machine: &mut Machine<'_>,
        given: u64,
        left: &mut u64,
    ) -> Option<Stop> {
        if exit.is_some_and(|exit| exit.why() == EXIT_END) {
            wave.doing = Doing::Ended;
            return None;
        }
        self.behind = None;
        let next = match exit {
            Some(exit) => self.left(exit, &mut wave.state, machine, given, left),
            None => Ok(None),
        };
        let stop = match next {
            Ok(from) => self.go(&mut wave.state, machine, left, from),
            Err(stop) => stop,
        };
        wave.doing = match stop {
            Stop::Endpgm => Doing::Ended,
            Stop::Barrier => {
                if let Some((code, unit)) = self.behind {
                    let none = Turn::NONE;
                    self.turns[w] = Turn { code, unit, ..none };
                }
                Doing::Waiting
            }
            stop => return Some(stop),
        };
        None
    }

    /// Where a wave begins, if it is in compiled code.
    fn entry(&mut self, starts: &Starts<'_>, w: usize, machine: &mut Machine<'_>) -> Option<At> {
        let like = &starts.like[w];
        let state = like.state();
        let key = (
            state.pc,
            state.mode,
            like.vgprs() as u16,
            Some(like.entry()),
        );
        if let Some((known, at)) = self.entered
            && known == key
        {
            self.units[at.unit() as usize].begun += 1;
            return Some(at);
        }
        loop {
            match self.places.get(&key) {
                Some(&Place::Code(at)) => {
                    if self.fresh(at.unit(), machine) {
                        self.entered = Some((key, at));
                        return Some(at);
                    }
                }
                Some(Place::Interpret) => return None,
                None => {
                    // What it guesses from them it finds in the wave's own.
                    let mut own = WaveState::new(0);
                    own.sgprs = state.sgprs;
                    starts.rest(w, &mut own);
                    self.compile(key, &own.sgprs, machine, self.exact);
                }
            }
        }
    }

    /// Gives a wave that starts the registers that its unit needs.
    fn start(&self, starts: &Starts<'_>, w: usize, at: At, wave: &mut WaveState) {
        let like = &starts.like[w];
        let unit = &self.units[at.unit() as usize];
        if wave.vgprs.len() != like.vgprs() {
            starts.start(w, wave);
            return;
        }
        let (to, from) = (&mut wave.sgprs, &like.state().sgprs);
        for &n in &unit.sgprs {
            let place = n as usize * LINE..(n as usize + 1) * LINE;
            copy(&mut to[place.clone()], &from[place]);
        }
        let (to, from) = (&mut *wave.vgprs, like.ids());
        for &n in &unit.vgprs {
            match from.get(n as usize) {
                Some(from) => copy(&mut to[n as usize], from),
                None => to[n as usize] = [0; LANES],
            }
        }
        starts.rest(w, wave);
    }
}
