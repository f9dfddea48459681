//! Motion through time: steps, continuing, and the same backwards.

use std::sync::atomic::Ordering::SeqCst;

use gcn_emu::engine::Stop as Emu;

use crate::history::Coverage;
use crate::session::{Error, Moment, Next, Session, Status, WaveId};
use crate::writer::{Log, WaveBefore, may_write, wrote};

/// Why a motion stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The requested motion is complete.
    Step,
    /// A wave is before an instruction with a breakpoint.
    Breakpoint {
        /// The breakpoint's number.
        id: u32,
        /// Its condition could not be evaluated.
        error: Option<String>,
    },
    /// A wave is before an instruction for which there is a report.
    Report(String),
    /// An instruction wrote a watched location. After a forward motion it has just run; after a backward one it is next.
    Watchpoint {
        /// The watchpoint's number.
        id: u32,
        /// The wave of the instruction, and its guest address.
        wave: WaveId,
        /// The guest address of the instruction.
        pc: u64,
        /// The bytes at the location before it.
        before: Vec<u8>,
        /// The bytes after it.
        after: Vec<u8>,
    },
    /// The wave that was to be stepped has ended.
    WaveEnded(WaveId),
    /// The wave that was to run alone, or every wave of its workgroup, waits for others; with the reason.
    Waits(WaveId, String),
    /// The last launch has ended.
    Ended,
    /// The launch failed: the report of `gcn run`.
    Failed(String),
    /// There is nothing before this moment, or the wave that was to be stepped back has not run before it.
    Start,
    /// The motion was interrupted from outside.
    Interrupted,
}

/// The stop of a motion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The reason.
    pub reason: Reason,
    /// The wave that it concerns, which is now selected.
    pub wave: Option<WaveId>,
    /// The present.
    pub moment: Moment,
}

/// The length of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// An instruction.
    Instruction,
    /// An instruction, with everything that it calls.
    Over,
    /// To the beginning of another source line, over calls.
    Line,
    /// Out of the current function.
    Out,
}

/// The waves whose stops count when the session continues, and the waves that run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All waves.
    All,
    /// The waves of the selected workgroup; the motion ends when the workgroup ends. All waves run, in the order that they have
    /// without a debugger.
    Workgroup,
    /// The selected wave, in the same way.
    Wave,
    /// The selected workgroup runs alone, until it ends. That changes the order of waves ([`Session::turn`]).
    WorkgroupAlone,
    /// The selected wave runs alone, until it ends or waits for others.
    WaveAlone,
}

impl Scope {
    /// Returns true if a wave is in the scope of another one.
    fn holds(self, about: Option<WaveId>, wave: WaveId) -> bool {
        match (self, about) {
            (Scope::All, _) | (_, None) => true,
            (Scope::Workgroup | Scope::WorkgroupAlone, Some(w)) => w.workgroup == wave.workgroup,
            (Scope::Wave | Scope::WaveAlone, Some(w)) => w == wave,
        }
    }

    fn is_alone(self) -> bool {
        matches!(self, Scope::WorkgroupAlone | Scope::WaveAlone)
    }
}

/// A moment that a search has found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) moment: Moment,
}

/// The number of instructions between two checks of the interrupt flag.
const LOOK: u32 = 1024;

impl Session {
    /// The guest address of the instruction that is next.
    pub(crate) fn running_pc(&self) -> Option<u64> {
        self.stepper().ready_state().map(|state| state.pc)
    }

    fn stop(&mut self, reason: Reason) -> Stop {
        // For a running program, the kernel's requests to the host would be made again.
        if !self.is_attached() {
            self.settle();
        }
        match &reason {
            Reason::Breakpoint { id, .. } => {
                self.stops.hit(*id);
                self.follow();
            }
            Reason::Watchpoint { id, wave, .. } => {
                self.stops.hit(*id);
                if self.select(*wave).is_err() {
                    self.follow();
                }
            }
            Reason::Failed(_) => {
                let location = self
                    .stepper()
                    .result()
                    .and_then(|r| r.as_ref().err()?.location());
                let wave = location.map(|location| WaveId {
                    workgroup: location.workgroup,
                    wave: location.wave,
                });
                if let Some(wave) = wave {
                    // The wave still exists unless its workgroup has ended.
                    let _ = self.select(wave);
                }
            }
            Reason::Report(_) => {
                self.follow();
                self.report_seen();
            }
            Reason::WaveEnded(_) | Reason::Interrupted => self.follow(),
            Reason::Step | Reason::Ended | Reason::Start | Reason::Waits(..) => {}
        }
        if self.current().is_err() {
            self.follow();
        }
        Stop {
            reason,
            wave: self.selected(),
            moment: self.now(),
        }
    }

    fn interrupted(&self) -> bool {
        self.options.interrupt.swap(false, SeqCst)
    }

    /// The breakpoint at the next instruction whose condition holds.
    fn broken(&mut self) -> Option<Reason> {
        if self.stops.breakpoints.is_empty() && self.stops.reports.is_empty() {
            return None;
        }
        let pc = self.running_pc()?;
        let wave = self.running()?;
        if !self
            .info_number(pc)
            .is_some_and(|n| self.code.info(n).breaks)
        {
            return None;
        }
        for b in &self.stops.breakpoints {
            if !b.addresses.contains(&pc) || !b.filter.holds(wave) {
                continue;
            }
            let holds = match &b.condition {
                None => Ok(true),
                Some(condition) => self.eval_expr(condition, Some(wave)).map(|v| v.is_true()),
            };
            match holds {
                Ok(false) => {}
                Ok(true) => {
                    return Some(Reason::Breakpoint {
                        id: b.id,
                        error: None,
                    });
                }
                Err(e) => {
                    return Some(Reason::Breakpoint {
                        id: b.id,
                        error: Some(e.to_string()),
                    });
                }
            }
        }
        let reports = self.reports_here();
        let texts: Vec<&str> = reports
            .iter()
            .map(|n| self.stops.reports[*n].1.text.as_str())
            .collect();
        (!texts.is_empty()).then(|| Reason::Report(texts.concat()))
    }

    /// The indices of the reports about the moment before the next instruction.
    fn reports_here(&self) -> Vec<usize> {
        let (Some(pc), Some(wave)) = (self.running_pc(), self.running()) else {
            return Vec::new();
        };
        let clock = self.wave(wave).map_or(0, |state| state.clock);
        let now = (self.now().launch, wave, clock / 4);
        let all = self.stops.reports.iter().enumerate();
        let here = all.filter(|(_, (at, r))| *at == pc && (r.launch, r.wave, r.executed) == now);
        here.map(|(n, _)| n).collect()
    }

    fn report_seen(&mut self) {
        for n in self.reports_here() {
            self.stops.reports[n].1.seen = true;
        }
    }

    /// The number of the instruction at a guest address.
    pub(crate) fn info_number(&mut self, pc: u64) -> Option<u32> {
        let stops = &self.stops;
        self.code
            .number(pc, &self.machine.memory, |pc| stops.breaks_at(pc))
    }

    /// Runs the next instruction. Returns how it stopped and the watchpoint that it hit.
    fn watched_tick(&mut self, log: &Log) -> (Option<Emu>, Option<Reason>) {
        if self.stops.watchpoints.is_empty() {
            return (self.tick(None), None);
        }
        let (Some(wave), Some(pc)) = (self.running(), self.running_pc()) else {
            return (self.tick(None), None);
        };
        let Some(number) = self.info_number(pc) else {
            return (self.tick(None), None);
        };
        let info = self.code.info(number);
        let mut written = Vec::new();
        for w in &self.stops.watchpoints {
            let own = w.location.wave().is_none_or(|of| of == wave);
            if own && may_write(info, &w.location) {
                written.push((w.clone(), self.read(w.location).ok()));
            }
        }
        if written.is_empty() {
            return (self.tick(None), None);
        }
        let state = self.wave(wave).map(WaveBefore::of);
        log.clear();
        let stop = self.tick(Some(log));
        for (watchpoint, before) in written {
            let after = self.read(watchpoint.location).ok();
            let (Some(before), Some(after), Some(state)) = (before, after, &state) else {
                continue;
            };
            let changed = before != after;
            let info = self.code.info(number);
            let hit = match watchpoint.any_write {
                true => wrote(&watchpoint.location, wave, info, state, log, changed),
                false => changed,
            };
            let holds = match &watchpoint.condition {
                // A condition that cannot be evaluated, for example because its wave has ended, stops.
                Some(condition) if hit => {
                    let value = self.eval_expr(condition, Some(wave));
                    value.map_or(true, |v| v.is_true())
                }
                _ => hit,
            };
            if holds {
                let reason = Reason::Watchpoint {
                    id: watchpoint.id,
                    wave,
                    pc,
                    before,
                    after,
                };
                return (stop, Some(reason));
            }
        }
        (stop, None)
    }

    /// Runs until a stop, or until `done` returns true after an instruction of a wave.
    fn forward(
        &mut self,
        scope: Scope,
        about: Option<WaveId>,
        done: &mut dyn FnMut(&Session, WaveId) -> bool,
    ) -> Result<Stop, Error> {
        self.forward_as(scope, about, false, done)
    }

    /// As [`Session::forward`]. With `compiled` only breakpoints and failures stop, and code is compiled if possible.
    fn forward_as(
        &mut self,
        scope: Scope,
        about: Option<WaveId>,
        compiled: bool,
        done: &mut dyn FnMut(&Session, WaveId) -> bool,
    ) -> Result<Stop, Error> {
        let log = Log::default();
        let (mut first, mut looked) = (!std::mem::take(&mut self.fresh), 0);
        // The user has seen the failure; now it is passed to the program.
        let mut passes_on = self.is_attached() && matches!(self.status(), Status::Failed(_));
        loop {
            match self.status() {
                Status::Running => {}
                Status::Failed(report) if !passes_on => {
                    return Ok(self.stop(Reason::Failed(report)));
                }
                Status::Failed(_) | Status::Ended => match self.next_launch()? {
                    Next::Begun => {
                        (first, passes_on) = (false, false);
                        continue;
                    }
                    Next::Last => return Ok(self.stop(Reason::Ended)),
                    Next::Interrupted => return Ok(self.stop(Reason::Interrupted)),
                },
            }
            let Some(mut wave) = self.running() else {
                continue;
            };
            if let (true, Some(about)) = (scope.is_alone(), about)
                && !scope.holds(Some(about), wave)
            {
                match self.turn_to(scope, about) {
                    Ok(own) => (wave, first) = (own, false),
                    Err(why) => return Ok(self.stop(Reason::Waits(about, why.to_string()))),
                }
            }
            if !first
                && scope.holds(about, wave)
                && let Some(reason) = self.broken()
            {
                return Ok(self.stop(reason));
            }
            first = false;
            let (stop, watch) = self.watched_tick(&log);
            if let Some(reason) = watch {
                return Ok(self.stop(reason));
            }
            let ended = match scope {
                Scope::All | Scope::Wave | Scope::WaveAlone => {
                    about == Some(wave) && stop == Some(Emu::Endpgm)
                }
                Scope::Workgroup | Scope::WorkgroupAlone => {
                    about.is_some_and(|w| self.stepper().group(w.workgroup).is_none())
                }
            };
            if let (true, Some(about)) = (ended, about) {
                return Ok(self.stop(Reason::WaveEnded(about)));
            }
            let failed = matches!(self.stepper().result(), Some(Err(_)));
            if !failed && done(self, wave) {
                return Ok(self.stop(Reason::Step));
            }
            looked += 1;
            if compiled && !failed && self.can_sprint() {
                self.sprint(u64::MAX);
            }
            if looked == LOOK || compiled {
                looked = 0;
                if self.interrupted() {
                    return Ok(self.stop(Reason::Interrupted));
                }
            }
        }
    }

    /// Continues until a breakpoint, a watchpoint or the end.
    ///
    /// # Errors
    /// A message if the next launch cannot begin.
    pub fn resume(&mut self) -> Result<Stop, Error> {
        let compiled = self.stops.watchpoints.is_empty();
        self.forward_as(Scope::All, None, compiled, &mut |_, _| false)
    }

    /// Gives the turn to a wave, or, if it cannot run and the scope is its workgroup, to another wave of the workgroup. Returns
    /// the next wave.
    fn turn_to(&mut self, scope: Scope, about: WaveId) -> Result<WaveId, Error> {
        let first = self.turn(about);
        let others = match scope {
            Scope::WorkgroupAlone => self.stepper().group(about.workgroup),
            _ => None,
        };
        let count = others.map_or(0, |view| view.waves().len());
        let mut tried = (0..count).map(|wave| WaveId { wave, ..about });
        match first {
            Ok(_) => Ok(about),
            Err(why) => tried.find(|wave| self.turn(*wave).is_ok()).ok_or(why),
        }
    }

    /// As [`Session::resume`], but only the stops of some waves count, or only these waves run.
    ///
    /// # Errors
    /// A message: there is no selected wave, or the next launch cannot begin.
    pub fn resume_scope(&mut self, scope: Scope) -> Result<Stop, Error> {
        let about = match scope {
            Scope::All => return self.resume(),
            _ => Some(self.current()?.0),
        };
        self.forward(scope, about, &mut |_, _| false)
    }

    /// Goes to the beginning of the first launch and continues from there.
    ///
    /// # Errors
    /// A message if a launch cannot be prepared.
    pub fn run(&mut self) -> Result<Stop, Error> {
        self.restart()?;
        self.resume()
    }

    /// Steps the selected wave. Waves whose turn comes before it also run.
    ///
    /// # Errors
    /// A message: there is no wave to step, or it is in no function.
    pub fn step(&mut self, unit: Unit) -> Result<Stop, Error> {
        // A step executes an instruction even at a breakpoint.
        self.fresh = false;
        match self.status() {
            Status::Running => {}
            Status::Failed(report) => return Ok(self.stop(Reason::Failed(report))),
            Status::Ended => return self.forward(Scope::All, None, &mut |_, _| true),
        }
        let (about, state) = self.current()?;
        let depth = self.calls.depth(about);
        let pc = state.pc;
        let line = self.code.line(pc).cloned();
        match unit {
            Unit::Instruction => {
                self.forward(Scope::All, Some(about), &mut |_, wave| wave == about)
            }
            Unit::Over => self.forward(Scope::All, Some(about), &mut |session, wave| {
                wave == about && session.calls.depth(about) <= depth
            }),
            Unit::Line => {
                if line.is_none() {
                    return Err(self.no_line(pc));
                }
                self.forward(Scope::All, Some(about), &mut |session, wave| {
                    if wave != about || session.calls.depth(about) > depth {
                        return false;
                    }
                    let pc = session.wave(about).map_or(0, |state| state.pc);
                    session.code.line_begins(pc) && session.code.line(pc) != line.as_ref()
                })
            }
            Unit::Out if depth == 0 => {
                Err("the wave is in no function that returns: it is in the kernel".into())
            }
            Unit::Out => self.forward(Scope::All, Some(about), &mut |session, wave| {
                wave == about && session.calls.depth(about) < depth
            }),
        }
    }

    fn no_line(&self, pc: u64) -> Error {
        let address = self.code.file_address(pc);
        format!(
            "{address:#x} has no source line; compilers and `gcn asm` write line tables with -g"
        )
        .into()
    }

    /// Goes back, or forward, to a moment that has been reached before.
    ///
    /// # Errors
    /// A message if a launch cannot be prepared again.
    pub fn goto(&mut self, moment: Moment) -> Result<(), Error> {
        self.may_change_time()?;
        if self.is_attached() && moment.launch != self.now().launch {
            let what = match moment.launch < self.now().launch {
                true => "has ended, and the program has gone on, which cannot be undone",
                false => "has not begun; a breakpoint in its kernel stops in it",
            };
            return Err(format!("launch {} {what}", moment.launch).into());
        }
        while self.now().launch > moment.launch {
            self.previous_launch()?;
        }
        while self.now().launch < moment.launch {
            if self.can_sprint() {
                self.sprint_through(u64::MAX);
            }
            while self.tick(None).is_some() {}
            if !matches!(self.next_launch()?, Next::Begun) {
                break;
            }
        }
        self.goto_tick(moment.tick);
        if self.current().is_err() {
            self.follow();
        }
        Ok(())
    }

    /// As [`Session::goto`], and selects the wave whose instruction is next there. The session runs to a moment that has not been
    /// reached; a moment after the end of the launch is its end.
    ///
    /// # Errors
    /// As [`Session::goto`].
    pub fn travel(&mut self, moment: Moment) -> Result<(), Error> {
        self.mark();
        self.goto(moment)?;
        let launch = self.first_launch();
        self.fresh = moment == Moment { launch, tick: 0 };
        self.follow();
        Ok(())
    }

    /// Goes to the moment at which a wave of a launch has executed a number of instructions, before its next one. A report of
    /// `gcn check --json` names such a moment (`at`).
    ///
    /// # Errors
    /// A message if there is no such moment; the session is then at the end of the launch.
    pub fn travel_to(&mut self, launch: usize, wave: WaveId, executed: u64) -> Result<(), Error> {
        if launch >= self.launches() {
            let have = self.launches();
            return Err(format!("there is no launch {launch}: the plan has {have}").into());
        }
        self.goto(Moment { launch, tick: 0 })?;
        self.fresh = false;
        loop {
            if self.running() == Some(wave)
                && let Some(state) = self.wave(wave)
                && state.clock / 4 >= executed
            {
                self.follow();
                return Ok(());
            }
            if self.tick(None).is_none() {
                return Err(format!(
                    "launch {launch} has no such moment: {wave} never executes {executed} instructions"
                )
                .into());
            }
        }
    }

    /// Goes to the beginning of the first launch.
    ///
    /// # Errors
    /// As [`Session::goto`].
    pub fn restart(&mut self) -> Result<Stop, Error> {
        let launch = self.first_launch();
        self.goto(Moment { launch, tick: 0 })?;
        self.follow();
        self.fresh = true;
        Ok(self.stop(Reason::Start))
    }

    /// Searches for the last instruction before the present for which `visit` returns true. `visit` runs the next instruction.
    /// `may` returns true if a segment can contain it. The position of the session afterwards is unspecified.
    pub(crate) fn search_back(
        &mut self,
        crosses: bool,
        may: &dyn Fn(&Session, &Coverage) -> bool,
        visit: &mut dyn FnMut(&mut Session) -> bool,
    ) -> Result<Option<Found>, Error> {
        loop {
            let mut limit = self.now().tick;
            while limit > 0 {
                let n = self.history().before(limit - 1);
                let start = self.history().ticks(n);
                if may(self, self.history().coverage(n)) {
                    if self.approach(n, limit) {
                        let nearer = self.history().before(limit - 1);
                        if self.history().ticks(nearer) > start {
                            continue;
                        }
                    }
                    self.goto_checkpoint(n);
                    let (mut found, mut looked) = (None, 0);
                    while self.now().tick < limit {
                        let moment = self.now();
                        if visit(self) {
                            found = Some(Found { moment });
                        }
                        if self.now() == moment {
                            break;
                        }
                        looked += 1;
                        if looked == LOOK {
                            looked = 0;
                            if self.interrupted() {
                                return Err("interrupted".into());
                            }
                        }
                    }
                    if found.is_some() {
                        return Ok(found);
                    }
                }
                limit = start;
            }
            if !crosses {
                return Ok(None);
            }
            match self.previous_launch()? {
                None => return Ok(None),
                Some(ticks) => self.goto_tick(ticks),
            }
        }
    }

    /// Makes checkpoints in a long segment of compiled code, with decreasing distances towards its end, where a search begins.
    /// Returns false if the segment is not a long one of compiled code.
    fn approach(&mut self, n: usize, end: u64) -> bool {
        let start = self.history().ticks(n);
        let spacing = self.options.spacing;
        let long = end - start > 4 * spacing && self.history().coverage(n).is_anything();
        if !long || !self.can_sprint() {
            return false;
        }
        self.goto_checkpoint(n);
        for distance in [64, 16, 4, 1].map(|n| n * spacing) {
            if distance < end - start {
                self.sprint_through(end - distance);
                self.mark();
            }
        }
        true
    }

    /// The last moment before the present at which a breakpoint stops a wave, found by compiled code. The position of the session
    /// afterwards is unspecified.
    fn last_break(&mut self) -> Result<Option<(Moment, Reason)>, Error> {
        loop {
            let mut limit = self.now().tick;
            while limit > 0 {
                let n = self.history().before(limit - 1);
                let coverage = self.history().coverage(n);
                let mut found = None;
                if coverage.any(|n| self.code.info(n).breaks) {
                    self.goto_checkpoint(n);
                    while self.now().tick < limit {
                        if let Some(reason) = self.broken() {
                            found = Some((self.now(), reason));
                        }
                        if self.tick(None).is_none() {
                            break;
                        }
                        if self.now().tick < limit && self.can_sprint() {
                            self.sprint(limit);
                        }
                        if self.interrupted() {
                            return Err("interrupted".into());
                        }
                    }
                }
                if found.is_some() {
                    return Ok(found);
                }
                limit = self.history().ticks(n);
            }
            match self.previous_launch()? {
                None => return Ok(None),
                Some(ticks) => self.goto_tick(ticks),
            }
        }
    }

    /// Searches back and goes to the moment found; otherwise stays.
    fn backward(
        &mut self,
        crosses: bool,
        may: &dyn Fn(&Session, &Coverage) -> bool,
        visit: &mut dyn FnMut(&mut Session) -> bool,
    ) -> Result<bool, Error> {
        let now = self.now();
        self.mark();
        match self.search_back(crosses, may, visit) {
            Ok(Some(found)) => {
                self.goto(found.moment)?;
                Ok(true)
            }
            Ok(None) => {
                self.goto(now)?;
                Ok(false)
            }
            Err(e) => {
                self.goto(now)?;
                Err(e)
            }
        }
    }

    /// Steps the selected wave back by an instruction.
    ///
    /// # Errors
    /// A message: there is no selected wave.
    pub fn reverse_step(&mut self) -> Result<Stop, Error> {
        self.reverse(Unit::Instruction)
    }

    /// The wave of a step backwards: the selected one, or after the end the one that ran last.
    fn stepping_back(&mut self) -> Result<Option<WaveId>, Error> {
        if let Ok((wave, _)) = self.current() {
            return Ok(Some(wave));
        }
        if self.selected().is_some() && self.status() == Status::Running {
            return Ok(self.selected());
        }
        Ok(None)
    }

    /// Steps the selected wave back. After the end of the plan, the wave that ran last is taken.
    ///
    /// # Errors
    /// A message: there is no line or no function to go back from.
    pub fn reverse(&mut self, unit: Unit) -> Result<Stop, Error> {
        self.may_change_time()?;
        let Some(about) = self.stepping_back()? else {
            // The last instruction of any wave.
            let tick = self.now().tick;
            if tick > 0 {
                self.mark();
                self.goto_tick(tick - 1);
                self.follow();
                return Ok(self.stop(Reason::Step));
            }
            return Ok(self.stop(Reason::Start));
        };
        self.reverse_of(about, unit)
    }

    /// Steps a wave back and selects it. The wave may have ended.
    ///
    /// # Errors
    /// As [`Session::reverse`].
    pub fn reverse_of(&mut self, about: WaveId, unit: Unit) -> Result<Stop, Error> {
        self.may_change_time()?;
        let number = self.number_of(about.workgroup);
        let depth = self.calls.depth(about);
        let pc = self.wave(about).map_or(0, |state| state.pc);
        if unit == Unit::Line && self.code.line(pc).is_none() {
            return Err(self.no_line(pc));
        }
        if unit == Unit::Out && depth == 0 {
            return Err("the wave is in no function that was called: it is in the kernel".into());
        }
        let mut last_line = None;
        let found = self.backward(
            false,
            &|_, coverage| coverage.has_wave(number, about.wave),
            &mut |session| {
                let hit = session.running() == Some(about)
                    && match unit {
                        Unit::Instruction => true,
                        Unit::Over => session.calls.depth(about) <= depth,
                        Unit::Out => session.calls.depth(about) < depth,
                        Unit::Line => {
                            let pc = session.running_pc().unwrap_or(0);
                            let line = session.code.line(pc).cloned();
                            let entered = session.calls.depth(about) <= depth
                                && session.code.line_begins(pc)
                                && line != last_line;
                            last_line = line;
                            entered
                        }
                    };
                session.tick(None);
                hit
            },
        )?;
        if self.select(about).is_err() {
            self.follow();
        }
        let reason = match found {
            true => Reason::Step,
            false => Reason::Start,
        };
        Ok(self.stop(reason))
    }

    /// Continues backwards to the last moment at which a breakpoint stops a wave, or before the last write that a watchpoint
    /// sees; otherwise to the beginning of the first launch.
    ///
    /// # Errors
    /// A message if a launch cannot be prepared again.
    pub fn reverse_resume(&mut self) -> Result<Stop, Error> {
        self.may_change_time()?;
        let log = Log::default();
        let mut hit = None;
        let locations: Vec<_> = self.stops.watchpoints.iter().map(|w| w.location).collect();
        let now = self.now();
        self.mark();
        if locations.is_empty() && self.can_sprint() {
            return match self.last_break() {
                Ok(Some((moment, reason))) => {
                    self.goto(moment)?;
                    self.follow();
                    Ok(self.stop(reason))
                }
                Ok(None) => self.restart(),
                Err(_) => {
                    self.goto(now)?;
                    Ok(self.stop(Reason::Interrupted))
                }
            };
        }
        let found = self.search_back(
            true,
            &|session, coverage| {
                coverage.any(|n| session.code.info(n).breaks)
                    || locations
                        .iter()
                        .any(|location| session.covers_write(coverage, location))
            },
            &mut |session| {
                let before = session.broken();
                let (_, watch) = session.watched_tick(&log);
                match before.or(watch) {
                    Some(reason) => {
                        hit = Some(reason);
                        true
                    }
                    None => false,
                }
            },
        );
        match (found, hit) {
            (Ok(Some(found)), Some(reason)) => {
                self.goto(found.moment)?;
                self.follow();
                Ok(self.stop(reason))
            }
            (Ok(_), _) => self.restart(),
            (Err(_), _) => {
                self.goto(now)?;
                Ok(self.stop(Reason::Interrupted))
            }
        }
    }
}
