//! Batches: workgroups that run one after the other without leaving compiled code between their waves.

use crate::context::GIVEN;
use crate::context::{Batch, TimeSlice};
use crate::ir::fast_path::Line;
use crate::runtime::cache::Compiled;
use crate::runtime::engine::{CodePointer, Exit, Jit, must_interpret};
use crate::runtime::grid::GridState;
use crate::runtime::group::tell_ends;
use crate::target::x64::EXIT_NEXT;
use gcn_emu::engine::{Engine, Machine, Stop};
use gcn_emu::group::{self, Doing, GroupStop, Groups, Row};
use gcn_emu::wave::{LANES, WaveState};
use std::mem::offset_of;

/// The initial state of a workgroup's waves, in the form that compiled code reads.
pub(crate) struct Like {
    /// The numbers of the [`Like`](group::Like)s that it was made of, and the size of scratch.
    of: Vec<u64>,
    scratch: Option<(u16, u32, u32)>,
    /// Where all waves begin. `None` if they do not begin at the same address or not in compiled code.
    at: Option<CodePointer>,
    /// The lines of each wave that the region reads, and those of the grid variant.
    pub(crate) lines: Vec<Line>,
    pub(crate) grid: GridState,
}

impl Like {
    fn is_of(&self, groups: &Groups<'_>) -> bool {
        let same = self.of.iter().zip(groups.like).all(|(&a, b)| a == b.id());
        same && self.of.len() == groups.like.len() && self.scratch == groups.scratch
    }
}

/// How compiled code has left a batch.
struct Left {
    /// Where the batch's waves begin.
    at: CodePointer,
    exit: Exit,
    /// All waves share one state.
    single: bool,
}

/// The progress of a batch.
enum Progress {
    /// All workgroups have ended.
    Ended,
    /// The current workgroup continues without a batch.
    Within,
    /// A wave of the current workgroup has stopped for this reason.
    Stopped(Stop),
}

/// Initializes the registers of the first waves' states that a batch's lines do not contain.
#[inline]
fn start_states(groups: &mut Groups<'_>, ids: &[(u16, u32)], states: usize) {
    let starts = groups.starts(ids);
    for (w, wave) in groups.waves.iter_mut().take(states).enumerate() {
        let state = &mut *wave.state;
        if state.vgprs.len() != groups.like[w].vgprs() {
            starts.start(w, state);
        } else {
            starts.rest(w, state);
        }
    }
}

/// Returns the offsets in a wave's state at which the workgroup's IDs are written. Missing IDs get the offset of the first one.
#[inline]
fn id_offsets(ids: &[(u16, u32)]) -> [usize; 3] {
    std::array::from_fn(|n| {
        let register = ids.get(n).or(ids.first()).map_or(0, |id| id.0);
        offset_of!(WaveState, sgprs) + 4 * (register as usize).min(127)
    })
}

impl Jit {
    /// Implements `Engine::groups`.
    pub(crate) fn run_groups(
        &mut self,
        groups: &mut Groups<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        let Some(like) = groups.like.first() else {
            return GroupStop::Ended;
        };
        let possible = !self.testing.compare
            && self.counts.is_none()
            && !self.recorded(machine)
            && !must_interpret(like.state());
        loop {
            let progress = match possible {
                true => self.batch(groups, machine, fuel),
                false => Progress::Within,
            };
            match progress {
                Progress::Ended => return GroupStop::Ended,
                Progress::Within => {}
                Progress::Stopped(stop) => {
                    tell_ends(machine, groups.first(), groups.waves);
                    return GroupStop::Wave(stop);
                }
            }
            if machine.global.asked() {
                machine.global.all_ended(groups.number..groups.first());
            }
            let stop = groups.alone(|group| self.continue_group(group, machine, fuel));
            if stop != GroupStop::Ended || !groups.go_on(machine.lds) {
                return stop;
            }
        }
    }

    /// Returns where the waves of workgroups begin, if all begin at the same address, and prepares their initial state.
    fn prepare_like(
        &mut self,
        groups: &Groups<'_>,
        machine: &mut Machine<'_>,
    ) -> Option<CodePointer> {
        if let Some(row) = &self.group.like
            && row.is_of(groups)
        {
            return row.at;
        }
        let (ids, count) = groups.ids();
        let starts = groups.starts(&ids[..count]);
        let mut at = self.entry(&starts, 0, machine);
        for w in 1..groups.like.len() {
            let other = self.entry(&starts, w, machine);
            at = at.filter(|at| other.is_some_and(|other| other.is(*at)));
        }
        // Code sets SCC, the clock, and the VGPRs after the initial ones to 0 in all waves.
        let usual = |l: &group::Like| {
            !l.state().scc && l.state().clock == 0 && l.ids().len() <= GIVEN as usize
        };
        at = at.filter(|_| groups.like.iter().all(usual));
        let mut lines = Vec::new();
        if let Some(at) = at {
            let region: &Compiled = &self.code.regions[at.region() as usize];
            for (w, like) in groups.like.iter().enumerate() {
                let mut sgprs = like.state().sgprs;
                if let Some((register, first, stride)) = groups.scratch
                    && let Some(s) = sgprs.get_mut(register as usize)
                {
                    *s = first.wrapping_add(stride.wrapping_mul(w as u32));
                }
                let of = sgprs.as_chunks().0;
                lines.extend(region.live_ins.sgprs.iter().map(|&n| Line(of[n as usize])));
                for &n in region.live_ins.given() {
                    let of = like.ids().get(n as usize).unwrap_or(&[0; LANES]);
                    lines.extend(of.as_chunks().0.iter().map(|&line| Line(line)));
                }
                lines.resize((w + 1) * region.start_lines(), Line([0; 16]));
            }
        }
        self.group.like = Some(Box::new(Like {
            of: groups.like.iter().map(|like| like.id()).collect(),
            scratch: groups.scratch,
            at,
            lines,
            grid: GridState::default(),
        }));
        at
    }

    /// Returns where the waves of workgroups begin, and the offset of the code that loads their initial state. `None` if a batch is not
    /// possible or not worthwhile.
    #[inline]
    fn batch_entry(
        &mut self,
        groups: &Groups<'_>,
        machine: &mut Machine<'_>,
    ) -> Option<(CodePointer, u32)> {
        let begun = |w: &group::GroupWave| w.doing != Doing::New;
        if groups.waves.len() != groups.like.len()
            || groups.waves.iter().any(begun)
            || groups.registers.is_empty()
        {
            return None;
        }
        let at = self.prepare_like(groups, machine)?;
        let known = &self.code.regions[at.region() as usize];
        // Batches that are often left early only cost time.
        let useless = known.broken > 16 && known.in_batch < 8 * known.broken;
        let begin = known.batch.filter(|_| !useless)?;
        self.fresh(at.region(), machine).then_some((at, begin))
    }

    /// Runs workgroups, beginning with the current one, which has not begun, as long as their waves reach barriers and their ends
    /// in the region in which they begin.
    fn batch(
        &mut self,
        groups: &mut Groups<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> Progress {
        self.group.time_slices.clear();
        let waves = groups.waves.len();
        let Some((at, begin)) = self.batch_entry(groups, machine) else {
            return Progress::Within;
        };
        self.bind(machine);
        let of_grid = self.grid_ready(at, groups, machine);
        let region: &Compiled = &self.code.regions[at.region() as usize];
        let code = region.code.as_ptr();
        let begin = code.wrapping_add(begin as usize);
        let grid = region.grid.as_ref().filter(|_| of_grid);
        let grid = grid.map_or(begin, |grid| code.wrapping_add(grid.at as usize));
        let each = region.start_lines();
        let Some(like) = self
            .group
            .like
            .as_deref()
            .filter(|l| l.lines.len() == each * waves)
        else {
            return Progress::Within;
        };
        // Without barriers each wave can reuse the state of the one before it.
        let single = !region.waits;
        let states = if single { 1 } else { waves };
        let (ids, count_of_ids) = groups.ids();
        let ids = &ids[..count_of_ids];
        start_states(groups, ids, states);
        let first = &groups.waves[0];
        let given = first.time_slice(self.slice());
        let again = first.next_time_slice(self.slice());
        if given > *fuel {
            return Progress::Within;
        }
        for (w, start) in like.lines.chunks_exact(each).enumerate() {
            let state = &mut *groups.waves[w % states].state;
            let all_active = groups.like[w].state().exec() == u64::MAX;
            self.group.time_slices.push(TimeSlice {
                code: if all_active { grid } else { begin },
                vgprs: state.vgprs.as_mut_ptr().cast(),
                wave: state,
                start: start.as_ptr(),
                pc: 0,
                late: 0,
                given: given as u32,
                again: again as u32,
                ended: 0,
                region: at.region(),
            });
        }
        let all_in_grid = |slice: &TimeSlice| slice.code == grid && grid != begin;
        let direct = single
            && machine.lds.is_empty()
            && self.group.time_slices.iter().all(all_in_grid)
            && self.grid_is_constant(at, groups, machine);
        let rows = &groups.rows[groups.done..];
        let (rows, count) = (rows.as_ptr(), rows.len());
        let spare = (*fuel).min(i64::MAX as u64) as i64;
        let ctx = &mut *self.ctx;
        ctx.current.time_slice = self.group.time_slices.as_mut_ptr();
        ctx.current.end = ctx.current.time_slice.wrapping_add(waves);
        ctx.batch = Batch {
            time_slices: ctx.current.time_slice,
            row: rows,
            rows_end: rows.wrapping_add(count),
            begin,
            code: code.wrapping_add(at.at()),
            single: single as u64,
            direct: direct as u64,
            waves: waves as i64,
            live: waves as i64,
            given: given as i64,
            spare,
            ids: id_offsets(ids),
        };
        let TimeSlice { wave, vgprs, .. } = self.group.time_slices[0];
        (ctx.current.wave, ctx.current.vgprs, ctx.clock.fuel) = (wave, vgprs, given as i64);
        // SAFETY: at `begin` the region's code loads the registers that each wave needs and continues at the region's first block.
        // The states belong to waves of the group; waves that run at the same time have different states. The lines and rows have
        // the given counts, and all outlive the call.
        let exit = unsafe { self.call(at.region(), begin, machine) };
        let batch = &mut self.ctx.batch;
        let row = (batch.row as usize).wrapping_sub(rows as usize) / size_of::<Row>();
        let row = row.min(count);
        batch.row = std::ptr::null();
        (batch.single, batch.direct) = (0, 0);
        let spent = spare - batch.spare;
        let ended = (row * waves) as u64;
        *fuel -= spent as u64;
        self.stats.executed += spent as u64;
        self.stats.in_batch += ended;
        groups.ended_slices += ended;
        groups.done += row;
        let known = &mut self.code.regions[at.region() as usize];
        known.begun += ended;
        known.in_batch += ended;
        if row == count {
            return Progress::Ended;
        }
        let left = Left { at, exit, single };
        self.leave_batch(left, groups, machine, fuel)
    }

    /// Ends a batch that was left early: records the progress of the current workgroup's waves, and completes the time slice of
    /// the wave that left the batch.
    fn leave_batch(
        &mut self,
        Left { at, exit, single }: Left,
        groups: &mut Groups<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> Progress {
        if single {
            let current = (self.ctx.current.time_slice as usize)
                .wrapping_sub(self.group.time_slices.as_ptr() as usize);
            for slice in self
                .group
                .time_slices
                .iter_mut()
                .take(current / size_of::<TimeSlice>())
            {
                (slice.code, slice.ended) = (std::ptr::without_provenance(TimeSlice::ENDED), 1);
            }
        }
        let waves = groups.waves.len();
        let (current, ended) = self.record_progress(groups.waves, 0, waves, exit);
        groups.ended_slices += ended;
        groups.next = current;
        let those = groups.waves.iter();
        let begun = those.filter(|wave| wave.doing != Doing::New).count();
        let known = &mut self.code.regions[at.region() as usize];
        known.begun += begun as u64;
        known.in_batch += current as u64;
        let (ids, taken) = groups.ids();
        let starts = groups.starts(&ids[..taken]);
        let (hw_id, number) = (starts.hw_id, starts.number);
        if single && current > 0 && current < waves {
            let (before, now) = groups.waves.split_at_mut(current);
            std::mem::swap(&mut before[0].state, &mut now[0].state);
        }
        for (w, wave) in groups.waves.iter_mut().enumerate() {
            if matches!(wave.doing, Doing::Running | Doing::Waiting) {
                wave.state.hw_id = groups.like[w].state().hw_id | hw_id;
                wave.state.number = number + w as u64;
            }
        }
        if current == waves || exit.why() == EXIT_NEXT {
            return Progress::Within;
        }
        // The wave that left the batch continues alone.
        known.broken += 1;
        machine.global.all_ended(groups.number..groups.first());
        tell_ends(machine, groups.first(), groups.waves);
        let begun = *fuel;
        let stop = self.finish_alone(&mut groups.waves[current], current, exit, machine, fuel);
        self.stats.executed += begun - *fuel;
        if let Some(stop) = stop {
            return Progress::Stopped(stop);
        }
        groups.ended_slices += 1;
        groups.next += 1;
        Progress::Within
    }
}
