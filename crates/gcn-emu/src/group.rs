//! A workgroup's waves as an engine runs them together: how each starts, and how it fares.

use crate::engine::{Engine, EntryVgprs, Machine, Stop};
use crate::wave::{LANES, Lds, Vgprs, WaveState, hw_id, status};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How a wave of a workgroup fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It has not started: its state is any other wave's. [`Starts::start`] makes it its own.
    New,
    /// It can run.
    Running,
    /// It waits at a barrier. The PC is behind it.
    Waiting,
    /// It has halted.
    Halted,
    /// It has ended. Its state is of no use to anyone.
    Ended,
}

/// A wave of a workgroup.
#[derive(Debug)]
pub struct GroupWave {
    /// Its registers.
    pub state: Box<WaveState>,
    /// How it fares.
    pub doing: Doing,
    /// Turns that it has used up or given away.
    pub turns: u32,
}

impl GroupWave {
    /// Instructions of its next turn, where an engine wants `slice` of them. The first turn is short, as a wave may start
    /// into waiting. A wave of higher priority runs so many more for each step.
    pub fn turn(&self, slice: u64) -> u64 {
        match self.turns {
            0 => slice / 4,
            _ => self.next_turn(slice),
        }
    }

    /// As [`GroupWave::turn`], of the turn behind that one.
    pub fn next_turn(&self, slice: u64) -> u64 {
        next_turn(&self.state, slice)
    }
}

/// As [`GroupWave::next_turn`], of a wave in this state.
pub fn next_turn(state: &WaveState, slice: u64) -> u64 {
    let prio = state.status >> status::USER_PRIO_SHIFT & 3;
    slice * (1 + prio as u64)
}

/// What a wave of workgroups of one size starts from, whatever the workgroup.
#[derive(Clone, Debug)]
pub struct Like {
    /// No other one has it that is not the same.
    id: u64,
    /// The registers, but for VGPRs and what [`Starts`] tells of.
    state: WaveState,
    /// How many VGPRs it has.
    vgprs: usize,
    /// The first of them; the others are 0.
    ids: Vec<[u32; LANES]>,
    entry: EntryVgprs,
}

impl Like {
    /// As a state that has not run yet.
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

    /// A number that no other one has, unless it is the same in everything.
    #[inline]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The registers, VGPRs and what is the workgroup's own apart.
    pub fn state(&self) -> &WaveState {
        &self.state
    }

    /// How many VGPRs it has.
    pub fn vgprs(&self) -> usize {
        self.vgprs
    }

    /// The first VGPRs. All others are 0.
    pub fn ids(&self) -> &[[u32; LANES]] {
        &self.ids
    }

    /// What is known of v0 to v2.
    pub fn entry(&self) -> EntryVgprs {
        self.entry
    }
}

/// How the waves of a workgroup start.
#[derive(Clone, Copy, Debug)]
pub struct Starts<'a> {
    /// What each of them starts from. PC, MODE, STATUS and the number of VGPRs are the same of all.
    pub like: &'a [Like],
    /// SGPRs, and the workgroup's numbers, which they take.
    pub ids: &'a [(u16, u32)],
    /// The SGPR with the offset into scratch, the first wave's offset, and the bytes from one wave's to the next one's,
    /// modulo 2³².
    pub scratch: Option<(u16, u32, u32)>,
    /// Of HW_ID the bits that the workgroup has in it.
    pub hw_id: u32,
    /// The first wave's place in the order in which the dispatch's waves start.
    pub number: u64,
}

impl Starts<'_> {
    /// Makes a used state that of wave `w`, which is about to start.
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

    /// As [`Starts::start`], but for the VGPRs, and for the SGPRs that are no workgroup's own.
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
    /// How they start.
    pub starts: Starts<'a>,
    /// The wave whose turn it is in this round; 0 at the start of a round.
    pub next: usize,
    /// Turns that ended at a wave's end or at a barrier are added to it.
    pub turned: u64,
}

/// A workgroup's numbers, in the order of the registers that take them; behind those the first again.
pub type Row = [u32; 3];

/// Workgroups of one size that follow each other, of which an engine runs one after the other.
#[derive(Debug)]
pub struct Groups<'a> {
    /// The waves of the one under way. When it has ended, they are the next one's and have not started.
    pub waves: &'a mut [GroupWave],
    /// What each of them starts from.
    pub like: &'a [Like],
    /// The SGPRs that take a workgroup's numbers, at most three.
    pub registers: &'a [u16],
    /// The workgroups.
    pub rows: &'a [Row],
    /// As [`Starts::scratch`], of all of them.
    pub scratch: Option<(u16, u32, u32)>,
    /// The number of the first workgroup, and of its first wave.
    pub group: u64,
    pub number: u64,
    /// How many have ended; the next one is under way.
    pub done: usize,
    /// As [`Group::next`], of the one under way.
    pub next: usize,
    /// As [`Group::turned`], of all of them.
    pub turned: u64,
}

impl<'a> Groups<'a> {
    /// The registers of the workgroup under way that take its numbers, with these: the first so many of them.
    pub fn ids(&self) -> ([(u16, u32); 3], usize) {
        let row = self.rows.get(self.done).copied().unwrap_or_default();
        let mut ids = [(0, 0); 3];
        let those = ids.iter_mut().zip(self.registers.iter().zip(row));
        let count = those.map(|(id, (&r, value))| *id = (r, value)).count();
        (ids, count)
    }

    /// The number of the first wave of the workgroup under way.
    pub fn first(&self) -> u64 {
        self.number + (self.done * self.like.len()) as u64
    }

    /// How the waves of the workgroup under way start, of which `ids` has the numbers.
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

    /// Lets an engine run the workgroup under way alone.
    pub fn alone<T>(&mut self, run: impl FnOnce(&mut Group<'_>) -> T) -> T {
        let (ids, count) = self.ids();
        let mut group = Group {
            starts: self.starts(&ids[..count]),
            waves: self.waves,
            next: self.next,
            turned: 0,
        };
        let result = run(&mut group);
        (self.next, self.turned) = (group.next, self.turned + group.turned);
        result
    }

    /// The workgroup under way has ended: the next one is. Says whether there is one.
    pub fn go_on(&mut self, lds: &mut Lds) -> bool {
        self.done += 1;
        self.next = 0;
        if self.done >= self.rows.len() {
            return false;
        }
        for wave in self.waves.iter_mut() {
            (wave.doing, wave.turns) = (Doing::New, 0);
        }
        lds.fill(0);
        true
    }
}

/// How far an engine came with a workgroup, or with several.
#[derive(Debug, PartialEq, Eq)]
pub enum GroupStop {
    /// All waves have ended, of all workgroups. The dispatch's [`Global`](crate::global::Global) may still have to be told of it.
    Ended,
    /// The turn of [`Group::next`] has ended otherwise than at the wave's end or at a barrier: its `turns` are not yet
    /// counted up, and nobody has looked at what this means.
    Wave(Stop),
    /// The turn of [`Group::next`], or a round, has not begun: there is too little fuel for it, or something else to look
    /// at first.
    Paused,
}

/// Runs a workgroup's waves by [`Engine::run`]: what [`Engine::group`] says.
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
            let given = wave.turn(slice);
            if given > *fuel {
                return GroupStop::Paused;
            }
            let mut left = given;
            let stop = engine.run(&mut wave.state, machine, &mut left);
            *fuel -= given - left;
            match stop {
                Stop::Endpgm => wave.doing = Doing::Ended,
                Stop::Barrier => wave.doing = Doing::Waiting,
                stop => return GroupStop::Wave(stop),
            }
            wave.turns = wave.turns.saturating_add(1);
            group.turned += 1;
            group.next += 1;
        }
        if let Some(stop) = round(group) {
            return stop;
        }
    }
}

/// Runs workgroups by [`Engine::group`]: what [`Engine::groups`] says.
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

/// Every wave had its turn: opens the barrier, if all wait at it that have not ended. Otherwise the engine is to stop so.
pub fn round(group: &mut Group<'_>) -> Option<GroupStop> {
    group.next = 0;
    let mut ended = true;
    for wave in group.waves.iter() {
        match wave.doing {
            Doing::Ended => {}
            Doing::Waiting => ended = false,
            _ => return Some(GroupStop::Paused),
        }
    }
    if ended {
        return Some(GroupStop::Ended);
    }
    for wave in group.waves.iter_mut() {
        if wave.doing == Doing::Waiting {
            wave.doing = Doing::Running;
        }
    }
    None
}
