//! A workgroup's waves as an engine runs them together: their initial states and their progress.

use crate::engine::{Engine, EntryVgprs, Machine, Stop};
use crate::wave::{LANES, Lds, Vgprs, WaveState, hw_id, status};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The state of progress of a wave of a workgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It has not started: its registers are left over from another wave. [`Starts::start`] initializes them.
    New,
    /// It can run.
    Running,
    /// It waits at a barrier. The PC is after it.
    Waiting,
    /// It has halted.
    Halted,
    /// It has ended. Its registers are no longer used.
    Ended,
}

/// A wave of a workgroup.
#[derive(Clone, Debug)]
pub struct GroupWave {
    /// Its registers.
    pub state: Box<WaveState>,
    /// Its state of progress.
    pub doing: Doing,
    /// Time slices that it has used up or given up.
    pub time_slices: u32,
}

impl GroupWave {
    /// The number of instructions of its next time slice, if an engine wants `slice` of them. The first time slice is short,
    /// because a wave may begin by waiting. A wave of higher priority runs that number more for each priority step.
    pub fn time_slice(&self, slice: u64) -> u64 {
        match self.time_slices {
            0 => slice / 4,
            _ => self.next_time_slice(slice),
        }
    }

    /// As [`GroupWave::time_slice`], for the time slice after that one.
    pub fn next_time_slice(&self, slice: u64) -> u64 {
        next_time_slice(&self.state, slice)
    }
}

/// As [`GroupWave::next_time_slice`], for a wave in this state.
pub fn next_time_slice(state: &WaveState, slice: u64) -> u64 {
    let prio = state.status >> status::USER_PRIO_SHIFT & 3;
    slice * (1 + prio as u64)
}

/// The initial state that waves of all workgroups of one size share.
#[derive(Clone, Debug)]
pub struct Like {
    /// Two values with the same id are the same.
    id: u64,
    /// The registers, except the VGPRs and those that [`Starts`] sets.
    state: WaveState,
    /// The number of its VGPRs.
    vgprs: usize,
    /// The first VGPRs; the others are 0.
    ids: Vec<[u32; LANES]>,
    entry: EntryVgprs,
}

impl Like {
    /// Takes the initial state from a wave that has not run yet.
    pub fn new(mut state: WaveState) -> Like {
        let entry = EntryVgprs::of(&state);
        let vgprs = std::mem::take(&mut state.vgprs);
        let zero = |v: &[u32; LANES]| v.iter().all(|&value| value == 0);
        let given = vgprs.iter().rposition(|v| !zero(v)).map_or(0, |n| n + 1);
        static MADE: AtomicU64 = AtomicU64::new(0);
        Like {
            id: MADE.fetch_add(1, Relaxed),
            state,
            vgprs: vgprs.len(),
            ids: vgprs[..given].to_vec(),
            entry,
        }
    }

    /// An identifier that no different value has.
    #[inline]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The registers, except the VGPRs and the workgroup's own values.
    pub fn state(&self) -> &WaveState {
        &self.state
    }

    /// The number of its VGPRs.
    pub fn vgprs(&self) -> usize {
        self.vgprs
    }

    /// The first VGPRs. All others are 0.
    pub fn ids(&self) -> &[[u32; LANES]] {
        &self.ids
    }

    /// The known patterns of v0 to v2.
    pub fn entry(&self) -> EntryVgprs {
        self.entry
    }
}

/// The initial states of the waves of a workgroup.
#[derive(Clone, Copy, Debug)]
pub struct Starts<'a> {
    /// The initial state of each wave. PC, MODE, STATUS and the number of VGPRs are the same in all of them.
    pub like: &'a [Like],
    /// SGPRs with the workgroup IDs that they take.
    pub ids: &'a [(u16, u32)],
    /// The SGPR that takes the scratch offset, the first wave's offset, and the distance in bytes from one wave's offset to
    /// the next one's, modulo 2³².
    pub scratch: Option<(u16, u32, u32)>,
    /// The bits of HW_ID that depend on the workgroup.
    pub hw_id: u32,
    /// The number of the first wave in the order in which the dispatch's waves start.
    pub number: u64,
}

impl Starts<'_> {
    /// Initializes `state`, which may have been used before, as that of wave `w`, which is about to start.
    pub fn start(&self, w: usize, state: &mut WaveState) {
        let like = &self.like[w];
        state.sgprs = like.state.sgprs;
        if state.vgprs.len() != like.vgprs {
            state.vgprs = Vgprs::new(like.vgprs);
        }
        let (given, rest) = state.vgprs.split_at_mut(like.ids.len());
        given.copy_from_slice(&like.ids);
        rest.fill([0; LANES]);
        self.rest(w, state);
    }

    /// As [`Starts::start`], except for the VGPRs, and for the SGPRs that do not depend on the workgroup.
    #[inline]
    pub fn rest(&self, w: usize, state: &mut WaveState) {
        let like = &self.like[w].state;
        for &(register, value) in self.ids {
            if let Some(s) = state.sgprs.get_mut(register as usize) {
                *s = value;
            }
        }
        if let Some((register, first, stride)) = self.scratch
            && let Some(s) = state.sgprs.get_mut(register as usize)
        {
            *s = first.wrapping_add(stride.wrapping_mul(w as u32));
        }
        state.scc = like.scc;
        state.mode = like.mode;
        state.status = like.status;
        state.trapsts = like.trapsts;
        state.pc = like.pc;
        state.hw_id = like.hw_id | self.hw_id;
        state.gpr_alloc = like.gpr_alloc;
        state.lds_alloc = like.lds_alloc;
        state.ib_sts = like.ib_sts;
        state.sh_mem_bases = like.sh_mem_bases;
        state.clock = like.clock;
        state.number = self.number + w as u64;
        state.turns = like.turns;
        state.ticket = like.ticket;
        state.exports.clear();
    }
}

/// A workgroup whose waves an engine runs.
#[derive(Debug)]
pub struct Group<'a> {
    /// Its waves.
    pub waves: &'a mut [GroupWave],
    /// Their initial states.
    pub starts: Starts<'a>,
    /// The wave whose time slice is next in this round; 0 at the start of a round.
    pub next: usize,
    /// The counter to which time slices that ended at a wave's end or at a barrier are added.
    pub ended_slices: u64,
}

/// The IDs of a workgroup, in the order of the registers that take them, followed by the first ID again.
pub type Row = [u32; 3];

/// Consecutive workgroups of one size, which an engine runs one after the other.
#[derive(Debug)]
pub struct Groups<'a> {
    /// The waves of the current workgroup. When it has ended, they are those of the next workgroup, not yet started.
    pub waves: &'a mut [GroupWave],
    /// The initial state of each wave.
    pub like: &'a [Like],
    /// The SGPRs that take the workgroup IDs, at most three.
    pub registers: &'a [u16],
    /// The workgroups.
    pub rows: &'a [Row],
    /// As [`Starts::scratch`], for all workgroups.
    pub scratch: Option<(u16, u32, u32)>,
    /// The number of the first workgroup.
    pub group: u64,
    /// The number of its first wave.
    pub number: u64,
    /// The number of workgroups that have ended; the next one is the current one.
    pub done: usize,
    /// As [`Group::next`], for the current workgroup.
    pub next: usize,
    /// As [`Group::ended_slices`], for all workgroups.
    pub ended_slices: u64,
}

impl<'a> Groups<'a> {
    /// The registers that take the IDs of the current workgroup, paired with the IDs, and the number of valid pairs.
    pub fn ids(&self) -> ([(u16, u32); 3], usize) {
        let row = self.rows.get(self.done).copied().unwrap_or_default();
        let mut ids = [(0, 0); 3];
        let those = ids.iter_mut().zip(self.registers.iter().zip(row));
        let count = those.map(|(id, (&r, value))| *id = (r, value)).count();
        (ids, count)
    }

    /// The number of the first wave of the current workgroup.
    pub fn first(&self) -> u64 {
        self.number + (self.done * self.like.len()) as u64
    }

    /// The initial states of the waves of the current workgroup; `ids` holds its IDs.
    pub fn starts<'s>(&self, ids: &'s [(u16, u32)]) -> Starts<'s>
    where
        'a: 's,
    {
        Starts {
            like: self.like,
            ids,
            scratch: self.scratch,
            hw_id: hw_id(self.group + self.done as u64, 0),
            number: self.first(),
        }
    }

    /// Lets an engine run the current workgroup alone.
    pub fn alone<T>(&mut self, run: impl FnOnce(&mut Group<'_>) -> T) -> T {
        let (ids, count) = self.ids();
        let mut group = Group {
            starts: self.starts(&ids[..count]),
            waves: self.waves,
            next: self.next,
            ended_slices: 0,
        };
        let result = run(&mut group);
        (self.next, self.ended_slices) = (group.next, self.ended_slices + group.ended_slices);
        result
    }

    /// Makes the next workgroup the current one, after this one has ended. Returns true if there is one.
    pub fn go_on(&mut self, lds: &mut Lds) -> bool {
        self.done += 1;
        self.next = 0;
        if self.done >= self.rows.len() {
            return false;
        }
        for wave in self.waves.iter_mut() {
            (wave.doing, wave.time_slices) = (Doing::New, 0);
        }
        lds.fill(0);
        true
    }
}

/// The reason why an engine stopped running a workgroup, or several.
#[derive(Debug, PartialEq, Eq)]
pub enum GroupStop {
    /// All waves have ended, of all workgroups. The caller may still have to report this to the dispatch's
    /// [`Global`](crate::global::Global).
    Ended,
    /// The time slice of [`Group::next`] has ended otherwise than at the wave's end or at a barrier. Its time slices are not yet
    /// counted, and the stop has not been handled.
    Wave(Stop),
    /// The time slice of [`Group::next`], or a round, has not begun: there is too little fuel for it, or the caller must
    /// handle something else first.
    Paused,
}

/// Runs a workgroup's waves by [`Engine::run`]: the implementation of [`Engine::group`].
pub fn run(
    engine: &mut (impl Engine + ?Sized),
    group: &mut Group<'_>,
    machine: &mut Machine<'_>,
    fuel: &mut u64,
) -> GroupStop {
    let slice = engine.slice();
    loop {
        while let Some(wave) = group.waves.get_mut(group.next) {
            match wave.doing {
                Doing::New => {
                    group.starts.start(group.next, &mut wave.state);
                    wave.doing = Doing::Running;
                }
                Doing::Running => {}
                Doing::Waiting | Doing::Halted | Doing::Ended => {
                    group.next += 1;
                    continue;
                }
            }
            let given = wave.time_slice(slice);
            if given > *fuel {
                return GroupStop::Paused;
            }
            if let Some(probe) = machine.probe {
                probe.turn(group.next);
            }
            let mut left = given;
            let stop = engine.run(&mut wave.state, machine, &mut left);
            *fuel -= given - left;
            match stop {
                Stop::Endpgm => wave.doing = Doing::Ended,
                Stop::Barrier => wave.doing = Doing::Waiting,
                stop => return GroupStop::Wave(stop),
            }
            wave.time_slices = wave.time_slices.saturating_add(1);
            group.ended_slices += 1;
            group.next += 1;
        }
        if let Some(stop) = round(group, machine) {
            return stop;
        }
    }
}

/// Runs workgroups by [`Engine::group`]: the implementation of [`Engine::groups`].
pub fn run_all(
    engine: &mut (impl Engine + ?Sized),
    groups: &mut Groups<'_>,
    machine: &mut Machine<'_>,
    fuel: &mut u64,
) -> GroupStop {
    loop {
        let stop = groups.alone(|group| engine.group(group, machine, fuel));
        if stop != GroupStop::Ended || !groups.go_on(machine.lds) {
            return stop;
        }
    }
}

/// Ends a round, in which every wave had its time slice: opens the barrier if all waves that have not ended wait at it. Otherwise
/// returns how the engine must stop.
pub fn round(group: &mut Group<'_>, machine: &Machine<'_>) -> Option<GroupStop> {
    group.next = 0;
    let mut ended = 0;
    for wave in group.waves.iter() {
        match wave.doing {
            Doing::Ended => ended += 1,
            Doing::Waiting => {}
            _ => return Some(GroupStop::Paused),
        }
    }
    if ended == group.waves.len() {
        return Some(GroupStop::Ended);
    }
    if let Some(probe) = machine.probe {
        probe.released(ended > 0);
    }
    for wave in group.waves.iter_mut() {
        if wave.doing == Doing::Waiting {
            wave.doing = Doing::Running;
        }
    }
    None
}
