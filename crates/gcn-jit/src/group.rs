//! The waves of a workgroup in one go: what is the same for all is looked up once, and a wave that waits at a barrier is
//! gone on with where its code goes on.

use crate::emit::{EXIT_BARRIER, EXIT_END};
use crate::{At, Jit, Place, rarely};
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
            for wave in group.waves.iter().filter(|w| w.doing == Doing::Ended) {
                machine.global.ended(wave.state.number);
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
        self.goes_on.clear();
        self.goes_on.resize(group.waves.len(), None);
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
                let from = if doing == Doing::New {
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
                    self.goes_on[w].take()
                };
                let wave = &mut group.waves[w];
                let stop = self.one_turn(wave, w, from, machine, given, fuel);
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

    /// A wave's turn of up to `given` instructions. Gives what it came to but its end and a barrier.
    fn one_turn(
        &mut self,
        wave: &mut GroupWave,
        w: usize,
        from: Option<At>,
        machine: &mut Machine<'_>,
        given: u64,
        fuel: &mut u64,
    ) -> Option<Stop> {
        let mut left = given;
        self.behind = None;
        let stop = match from {
            None => self.go(&mut wave.state, machine, &mut left, None),
            Some(at) => {
                let exit = self.enter(at, &mut wave.state, machine, &mut left);
                let why = exit.why();
                if why == EXIT_END {
                    *fuel -= given - left;
                    wave.doing = Doing::Ended;
                    return None;
                }
                if why == EXIT_BARRIER {
                    *fuel -= given - left;
                    let unit = &self.units[exit.unit as usize];
                    wave.state.pc = unit.chunks[exit.chunk()].1;
                    let behind = unit.behind[exit.chunk()];
                    self.goes_on[w] = behind.and_then(|at| At::new(exit.unit, at));
                    wave.doing = Doing::Waiting;
                    return None;
                }
                let next = self.left(exit, &mut wave.state, machine, given, &mut left);
                match next {
                    Ok(from) => self.go(&mut wave.state, machine, &mut left, from),
                    Err(stop) => stop,
                }
            }
        };
        *fuel -= given - left;
        wave.doing = match stop {
            Stop::Endpgm => Doing::Ended,
            Stop::Barrier => {
                self.goes_on[w] = self.behind;
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
