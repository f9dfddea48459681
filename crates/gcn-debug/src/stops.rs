//! Breakpoints and watchpoints.

use crate::expr::Expr;
use crate::session::{Error, Session, WaveId};
use crate::state::ValueLocation;

/// The waves that a breakpoint applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only waves of this workgroup.
    pub workgroup: Option<[u32; 3]>,
    /// Only waves with this number in their workgroup.
    pub wave: Option<usize>,
}

impl Filter {
    /// Returns true if the breakpoint applies to a wave.
    pub fn holds(&self, id: WaveId) -> bool {
        self.workgroup.is_none_or(|w| w == id.workgroup) && self.wave.is_none_or(|w| w == id.wave)
    }
}

/// A breakpoint: waves stop before the instructions at its addresses.
#[derive(Clone, Debug)]
pub struct Breakpoint {
    /// Its number; breakpoints and watchpoints share one sequence, from 1.
    pub id: u32,
    /// The location as it was given.
    pub location: String,
    /// Guest addresses.
    pub addresses: Vec<u64>,
    /// The line that was chosen, if it differs from the requested one.
    pub note: Option<String>,
    /// The waves that it applies to.
    pub filter: Filter,
    /// It stops only if this holds.
    pub condition: Option<Expr>,
    /// The number of times that it stopped, in either direction.
    pub hits: u64,
}

/// A watchpoint: waves stop after an instruction that writes a location.
#[derive(Clone, Debug)]
pub struct Watchpoint {
    /// Its number.
    pub id: u32,
    /// The location.
    pub location: ValueLocation,
    /// Any write stops, otherwise only one that changes the value.
    pub any_write: bool,
    /// It stops only if this holds after the instruction.
    pub condition: Option<Expr>,
    /// The number of times that it stopped, in either direction.
    pub hits: u64,
}

/// A moment at which the session stops: something was reported there in a run of the same launches. It is before an instruction
/// of a wave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The launch, from 0.
    pub launch: usize,
    /// The wave.
    pub wave: WaveId,
    /// The number of instructions that it has executed.
    pub executed: u64,
    /// The kernel. `offset` is the instruction's distance in bytes from its beginning.
    pub kernel: String,
    /// See `kernel`.
    pub offset: u64,
    /// The text that is shown at the stop.
    pub text: String,
    /// The session has stopped there.
    pub seen: bool,
}

/// All breakpoints and watchpoints.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stops {
    pub(crate) breakpoints: Vec<Breakpoint>,
    pub(crate) watchpoints: Vec<Watchpoint>,
    /// Reports, with the guest addresses of their instructions.
    pub(crate) reports: Vec<(u64, Report)>,
    last: u32,
}

impl Stops {
    pub(crate) fn breaks_at(&self, pc: u64) -> bool {
        self.breakpoints.iter().any(|b| b.addresses.contains(&pc))
            || self.reports.iter().any(|(at, _)| *at == pc)
    }

    /// The addresses at which waves may stop.
    pub(crate) fn addresses(&self) -> Vec<u64> {
        let breakpoints = self.breakpoints.iter().flat_map(|b| &b.addresses);
        let reports = self.reports.iter().map(|(at, _)| at);
        breakpoints.chain(reports).copied().collect()
    }

    fn number(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    pub(crate) fn hit(&mut self, id: u32) {
        for b in self.breakpoints.iter_mut().filter(|b| b.id == id) {
            b.hits += 1;
        }
        for w in self.watchpoints.iter_mut().filter(|w| w.id == id) {
            w.hits += 1;
        }
    }
}

impl Session {
    /// Stops at the moments of reports, forward and backward, as long as the session changes nothing that they depend on.
    ///
    /// # Errors
    /// A message: a report is about other code.
    pub fn stop_at_reports(&mut self, reports: Vec<Report>) -> Result<(), Error> {
        for report in reports {
            let found = self.code.locate(&report.kernel, self.entry())?;
            let first = found.addresses.first().copied().unwrap_or(0);
            self.stops.reports.push((first + report.offset, report));
        }
        self.mark_breaks();
        Ok(())
    }

    /// Sets a breakpoint at a location ([`CodeMap::locate`](crate::code::CodeMap::locate)) for all waves; with a condition if one is
    /// given. Returns it.
    ///
    /// # Errors
    /// A message: the location matches nothing, or the condition cannot be read.
    pub fn break_at(
        &mut self,
        location: &str,
        condition: Option<&str>,
    ) -> Result<Breakpoint, Error> {
        self.break_for(location, Filter::default(), condition)
    }

    /// As [`Session::break_at`], for some waves.
    ///
    /// # Errors
    /// As [`Session::break_at`].
    pub fn break_for(
        &mut self,
        location: &str,
        filter: Filter,
        condition: Option<&str>,
    ) -> Result<Breakpoint, Error> {
        let near = self.selected_pc().unwrap_or(self.entry());
        let found = self.code.locate(location, near)?;
        for &address in &found.addresses {
            if let Some(start) = self.code.within(address, self.memory()) {
                let location = location.trim();
                let start = self.code.file_address(start);
                let message = format!(
                    "`{location}` matches nothing: it is inside the instruction at {start:#x}"
                );
                return Err(message.into());
            }
        }
        if let Some([x, y, z]) = filter.workgroup {
            let [a, b, c] = self.grid();
            if self.launches() == 1 && (x >= a || y >= b || z >= c) {
                return Err(format!(
                    "there is no workgroup ({x},{y},{z}): the grid has {a},{b},{c}"
                )
                .into());
            }
        }
        if let Some(wave) = filter.wave {
            let (_, group) = self.work_items();
            let items: u64 = group.iter().map(|n| *n as u64).product();
            let count = items.div_ceil(64);
            if self.launches() == 1 && !self.is_attached() && wave as u64 >= count {
                return Err(format!("there is no wave {wave}: a workgroup has {count}").into());
            }
        }
        let condition = condition.map(|text| self.expr(text)).transpose()?;
        let breakpoint = Breakpoint {
            id: self.stops.number(),
            location: location.trim().to_owned(),
            addresses: found.addresses,
            note: found.note,
            filter,
            condition,
            hits: 0,
        };
        self.stops.breakpoints.push(breakpoint.clone());
        self.mark_breaks();
        Ok(breakpoint)
    }

    /// Sets a breakpoint at a guest address.
    ///
    /// # Errors
    /// A message if no instruction can be there, or the condition cannot be read.
    pub fn break_on(&mut self, address: u64, condition: Option<&str>) -> Result<Breakpoint, Error> {
        let condition = condition.map(|text| self.expr(text)).transpose()?;
        if !self.code.is_code(address) || !address.is_multiple_of(4) {
            return Err(format!("{address:#x} is not the address of an instruction").into());
        }
        let breakpoint = Breakpoint {
            id: self.stops.number(),
            location: format!("{:#x}", self.code.file_address(address)),
            addresses: vec![address],
            note: None,
            filter: Filter::default(),
            condition,
            hits: 0,
        };
        self.stops.breakpoints.push(breakpoint.clone());
        self.mark_breaks();
        Ok(breakpoint)
    }

    /// Sets a watchpoint on a location. Returns it.
    ///
    /// # Errors
    /// A message: there is no such location, or the condition cannot be read.
    pub fn watch(
        &mut self,
        location: ValueLocation,
        any_write: bool,
        condition: Option<&str>,
    ) -> Result<Watchpoint, Error> {
        if let ValueLocation::Memory { bytes: 0, .. } | ValueLocation::Lds { bytes: 0, .. } =
            location
        {
            return Err("0 bytes never change".into());
        }
        self.read(location)?;
        let condition = condition.map(|text| self.expr(text)).transpose()?;
        let watchpoint = Watchpoint {
            id: self.stops.number(),
            location,
            any_write,
            condition,
            hits: 0,
        };
        self.stops.watchpoints.push(watchpoint.clone());
        Ok(watchpoint)
    }

    /// Deletes a breakpoint or a watchpoint.
    ///
    /// # Errors
    /// A message if there is none of that number.
    pub fn delete(&mut self, id: u32) -> Result<(), Error> {
        let Stops {
            breakpoints,
            watchpoints,
            ..
        } = &mut self.stops;
        let before = breakpoints.len() + watchpoints.len();
        breakpoints.retain(|b| b.id != id);
        watchpoints.retain(|w| w.id != id);
        let after = breakpoints.len() + watchpoints.len();
        self.mark_breaks();
        match before == after {
            true => Err(format!("there is no breakpoint or watchpoint {id}").into()),
            false => Ok(()),
        }
    }

    /// The breakpoints.
    pub fn breakpoints(&self) -> &[Breakpoint] {
        &self.stops.breakpoints
    }

    /// The watchpoints.
    pub fn watchpoints(&self) -> &[Watchpoint] {
        &self.stops.watchpoints
    }

    /// Resolves the locations again after a change of the code. A breakpoint whose location no longer exists stays, without
    /// addresses.
    pub(crate) fn resolve_breakpoints(&mut self) {
        let entry = self.entry();
        for breakpoint in &mut self.stops.breakpoints {
            let found = self.code.locate(&breakpoint.location, entry);
            breakpoint.addresses = found.map_or(Vec::new(), |found| found.addresses);
        }
        self.mark_breaks();
    }

    pub(crate) fn mark_breaks(&mut self) {
        self.stops_compiled = None;
        let stops = &self.stops;
        self.code.mark(|pc| stops.breaks_at(pc));
    }
}
