//! Workgroups one after the other, without leaving compiled code between their waves where each wave comes to its end
//! before the next one starts.

use crate::ctx::{Line, Turn};
use crate::emit::EXIT_NEXT;
use crate::group::GIVEN;
use crate::{At, Compiled, Jit, rarely};
use gcn_emu::engine::{Machine, Stop};
use gcn_emu::group::{self, Doing, GroupStop, Groups, Row};
use gcn_emu::wave::LANES;

/// What the waves of a workgroup start from, as compiled code takes it.
pub(crate) struct Like {
    /// The numbers of the [`Like`](group::Like)s that it was made of, and the scratch.
    of: Vec<u64>,
    scratch: Option<(u16, u32, u32)>,
    /// Where all of the waves begin; nothing where they do not begin in the same place or not in compiled code.
    at: Option<At>,
    /// Of each wave the lines that the unit needs.
    lines: Vec<Line>,
}

impl Like {
    fn is_of(&self, groups: &Groups<'_>) -> bool {
        let same = self.of.iter().zip(groups.like).all(|(&a, b)| a == b.id());
        same && self.of.len() == groups.like.len() && self.scratch == groups.scratch
    }
}

/// How far a series came.
enum Far {
    /// All workgroups have ended.
    Ended,
    /// The next workgroup is to begin, in another series.
    Next,
    /// The workgroup under way goes on without a series.
    Within,
    /// A wave of the workgroup under way has stopped so.
    Stopped(Stop),
}

impl Jit {
    /// What [`Engine::groups`](gcn_emu::engine::Engine::groups) says.
    pub(crate) fn in_series(
        &mut self,
        groups: &mut Groups<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        let Some(like) = groups.like.first() else {
            return GroupStop::Ended;
        };
        let possible = !self.check
            && self.counts.is_none()
            && !self.recorded(machine)
            && !rarely(like.state());
        loop {
            let far = match possible {
                true => self.series(groups, machine, fuel),
                false => Far::Within,
            };
            match far {
                Far::Ended => return GroupStop::Ended,
                Far::Next => continue,
                Far::Within => {}
                Far::Stopped(stop) => {
                    let waves = (groups.first()..).zip(groups.waves.iter());
                    for (number, _) in waves.filter(|(_, wave)| wave.doing == Doing::Ended) {
                        machine.global.ended(number);
                    }
                    return GroupStop::Wave(stop);
                }
            }
            let stop = groups.alone(|group| self.together(group, machine, fuel));
            if stop != GroupStop::Ended || !groups.go_on(machine.lds) {
                return stop;
            }
        }
    }

    /// Where the waves of workgroups begin, if all do in the same place, and what they start from.
    fn like(&mut self, groups: &Groups<'_>, machine: &mut Machine<'_>) -> Option<At> {
        if let Some(row) = &self.row
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
        // Code gives all of them SCC 0, and VGPRs behind those.
        let usual = |l: &group::Like| !l.state().scc && l.ids().len() <= GIVEN as usize;
        at = at.filter(|_| groups.like.iter().all(usual));
        let mut lines = Vec::new();
        if let Some(at) = at {
            let unit: &Compiled = &self.units[at.unit() as usize];
            for (w, like) in groups.like.iter().enumerate() {
                let mut sgprs = like.state().sgprs;
                if let Some((register, first, stride)) = groups.scratch
                    && let Some(s) = sgprs.get_mut(register as usize)
                {
                    *s = first.wrapping_add(stride.wrapping_mul(w as u32));
                }
                let of = sgprs.as_chunks().0;
                lines.extend(unit.needs.sgprs.iter().map(|&n| Line(of[n as usize])));
                for &n in unit.needs.given() {
                    let of = like.ids().get(n as usize).unwrap_or(&[0; LANES]);
                    lines.extend(of.as_chunks().0.iter().map(|&line| Line(line)));
                }
            }
        }
        self.row = Some(Box::new(Like {
            of: groups.like.iter().map(|like| like.id()).collect(),
            scratch: groups.scratch,
            at,
            lines,
        }));
        at
    }

    /// Workgroups from the one under way on, which has not begun, as far as their waves come to their ends in the unit where
    /// they start.
    fn series(
        &mut self,
        groups: &mut Groups<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> Far {
        let per_group = groups.waves.len();
        let begun = |w: &group::GroupWave| w.doing != Doing::New;
        if per_group != groups.like.len() || groups.waves.iter().any(begun) {
            return Far::Within;
        }
        let Some(wave) = groups.waves.first_mut() else {
            return Far::Within;
        };
        let given = wave.turn(crate::SLICE);
        if given > *fuel {
            return Far::Within;
        }
        let Some(at) = self.like(groups, machine) else {
            return Far::Within;
        };
        let known = &self.units[at.unit() as usize];
        // Where one often breaks off, it only costs time.
        let useless = known.broken > 16 && known.in_series < 8 * known.broken;
        let Some(first) = known.series.filter(|_| !useless) else {
            return Far::Within;
        };
        if !self.fresh(at.unit(), machine) {
            return Far::Within;
        }
        let unit: &Compiled = &self.units[at.unit() as usize];
        let code = unit.code.as_ptr();
        let each = unit.needs.lines();
        // LDS is filled with zeros between workgroups.
        let rows = match machine.lds.0.is_empty() {
            true => &groups.rows[groups.done..],
            false => &groups.rows[groups.done..][..1],
        };
        let (rows, count) = (rows.as_ptr(), rows.len());
        let (ids, taken) = groups.ids();
        let Some(like) = self
            .row
            .as_deref()
            .filter(|l| l.lines.len() == each * per_group)
        else {
            return Far::Within;
        };
        let lines = like.lines.as_ptr();
        let starts = groups.starts(&ids[..taken]);
        let state = &mut *groups.waves[0].state;
        if state.vgprs.len() != groups.like[0].vgprs() {
            starts.start(0, state);
        } else {
            starts.rest(0, state);
        }
        self.surround(machine);
        self.turns.resize(per_group, Turn::NONE);
        let ctx = &mut *self.ctx;
        ctx.alone = Turn::NONE;
        ctx.turn = &mut ctx.alone;
        ctx.turns_end = ctx.turn.wrapping_add(1);
        let spare = (*fuel).min(i64::MAX as u64) as i64;
        let series = &mut ctx.series;
        series.row = rows;
        series.rows_end = rows.wrapping_add(count);
        series.start = lines;
        series.starts = lines;
        series.starts_end = lines.wrapping_add(each * per_group);
        series.code = code.wrapping_add(at.at());
        (series.given, series.spare) = (given as i64, spare);
        series.ids = [&mut series.nowhere; 3];
        for (place, &(register, _)) in series.ids.iter_mut().zip(&ids[..taken]) {
            if let Some(s) = state.sgprs.get_mut(register as usize) {
                *place = s;
            }
        }
        ctx.wave = state;
        ctx.vgprs = state.vgprs.as_mut_ptr().cast();
        ctx.fuel = given as i64;
        // SAFETY: where a series starts the unit's code gives each wave the registers that it needs and goes to where the unit's
        // first chunk begins. The state is that of a wave of the group, the lines and rows are as many as it says, and
        // all outlive the call.
        let exit = unsafe { self.call(at.unit(), code.wrapping_add(first as usize), machine) };
        let series = &mut self.ctx.series;
        let row = (series.row as usize).wrapping_sub(rows as usize) / size_of::<Row>();
        let row = row.min(count);
        let w = (series.start as usize).wrapping_sub(lines as usize) / (each * size_of::<Line>());
        let w = w.min(per_group - 1);
        series.row = std::ptr::null();
        let spent = spare - series.spare;
        let all = row == count;
        let ended = (row * per_group + if all { 0 } else { w }) as u64;
        *fuel -= spent as u64;
        self.stats.executed += spent as u64;
        self.stats.in_series += ended;
        groups.turned += ended;
        groups.done += row;
        let known = &mut self.units[at.unit() as usize];
        known.begun += ended;
        known.in_series += ended;
        if all {
            groups.done -= 1;
            return match groups.go_on(machine.lds) {
                true => Far::Next,
                false => Far::Ended,
            };
        }
        groups.next = w;
        for wave in &mut groups.waves[..w] {
            wave.doing = Doing::Ended;
        }
        if exit.why() == EXIT_NEXT {
            return Far::Within;
        }
        known.begun += 1;
        known.broken += 1;
        // The wave goes on alone.
        let (ids, taken) = groups.ids();
        let starts = groups.starts(&ids[..taken]);
        let (hw_id, number) = (starts.hw_id, starts.number);
        let (before, now) = groups.waves.split_at_mut(w);
        if let (Some(first), Some(wave)) = (before.first_mut(), now.first_mut()) {
            std::mem::swap(&mut first.state, &mut wave.state);
        }
        let wave = &mut groups.waves[w];
        wave.doing = Doing::Running;
        let state = &mut *wave.state;
        state.hw_id = groups.like[w].state().hw_id | hw_id;
        state.number = number + w as u64;
        let mut left = self.ctx.fuel as u64;
        state.clock += 4 * (self.ctx.synced - self.ctx.fuel) as u64;
        let stop = self.turn_ends(wave, w, Some(exit), machine, given, &mut left);
        *fuel -= given - left;
        self.stats.executed += given - left;
        if let Some(stop) = stop {
            return Far::Stopped(stop);
        }
        wave.turns = wave.turns.saturating_add(1);
        groups.turned += 1;
        groups.next += 1;
        Far::Within
    }
}
