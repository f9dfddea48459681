//! The search for the instruction that wrote a location.

use std::cell::{Cell, RefCell};

use gcn_emu::probe::{Access, AccessLocation, Executed, Probe};
use gcn_emu::wave::{WaveState, mode};
use gcn_isa::access::{File, HWREG_MODE, MemoryKind};
use gcn_isa::meaning::Change;

use crate::code::Info;
use crate::history::Coverage;
use crate::motion::Found;
use crate::session::{Error, Moment, Session, WaveId};
use crate::state::ValueLocation;

/// The writes of an instruction, as the interpreter reported them to the probe.
#[derive(Default)]
pub(crate) struct Log {
    /// The writes: true for LDS, the address and the size.
    writes: RefCell<Vec<(bool, u64, u64)>>,
    /// The lanes of VGPRs that it wrote.
    lanes: Cell<u64>,
    executed: Cell<bool>,
}

impl Log {
    pub(crate) fn clear(&self) {
        self.writes.borrow_mut().clear();
        self.lanes.set(0);
        self.executed.set(false);
    }
}

impl Probe for Log {
    fn access(&self, access: &Access) -> bool {
        if access.kind != MemoryKind::Load {
            let size = access.size as u64;
            match access.location {
                AccessLocation::Memory(at) => self.writes.borrow_mut().push((false, at, size)),
                AccessLocation::Lds(at) => self.writes.borrow_mut().push((true, at, size)),
                AccessLocation::Gds(_) | AccessLocation::Nowhere => {}
            }
        }
        true
    }

    fn executed(&self, executed: &Executed<'_>) {
        self.executed.set(true);
        let bits = |node: u16| {
            let values = executed.node(node as usize).iter().enumerate();
            values.fold(0, |all, (lane, value)| all | (value & 1) << lane)
        };
        let mut lanes = 0;
        for effect in &executed.program.effects {
            lanes |= match effect.change {
                Change::DstLane(_) => {
                    let lane = executed.node(effect.second as usize)[0];
                    1 << (lane & 63)
                }
                Change::Dst(_) | Change::DstDword(..) | Change::DstHalf(..) => match effect.when {
                    Some(when) if executed.width > 1 => executed.lanes & bits(when),
                    _ => executed.lanes,
                },
                Change::Vgpr | Change::Image(_) => executed.lanes,
                _ => 0,
            };
        }
        if executed.status.is_some() {
            lanes |= executed.lanes;
        }
        self.lanes.set(lanes);
    }
}

/// The instruction that wrote a location last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// The moment before it.
    pub moment: Moment,
    /// The wave.
    pub wave: WaveId,
    /// The guest address of the instruction.
    pub pc: u64,
    /// The text of the instruction.
    pub text: String,
    /// The bytes at the location before it.
    pub before: Vec<u8>,
    /// The bytes at the location after it.
    pub after: Vec<u8>,
}

/// Returns true if an instruction may write a location.
pub(crate) fn may_write(info: &Info, location: &ValueLocation) -> bool {
    let writes = |file: File, first: u16, count: u8| {
        let mut registers = first..first + count as u16;
        registers.any(|r| info.writes.iter().any(|access| access.touches(file, r)))
    };
    match *location {
        // GPR indexing moves the register of any vector instruction.
        ValueLocation::Vgpr { .. } => info.writes.iter().any(|access| access.file == File::Vector),
        ValueLocation::Scalar { first, count, .. } => writes(File::Scalar, first, count),
        ValueLocation::Scc(_) => writes(File::Scc, 0, 1),
        ValueLocation::Mode(_) => info.writes.iter().any(|access| access.file == File::Hwreg),
        ValueLocation::Pc(_) => true,
        ValueLocation::Lds { .. } | ValueLocation::Memory { .. } => info.stores,
    }
}

/// Returns true if the instruction that just ran wrote a location, even with the old value. `before` are the registers that
/// the wave had; `changed` is true if the bytes differ.
pub(crate) fn wrote(
    location: &ValueLocation,
    executed: WaveId,
    info: &Info,
    before: &WaveBefore,
    log: &Log,
    changed: bool,
) -> bool {
    if changed {
        return true;
    }
    if !log.executed.get() {
        return false;
    }
    let writes = |file: File, first: u16, count: u8| {
        let mut registers = first..first + count as u16;
        registers.any(|r| {
            let touches = |access: &&gcn_isa::access::RegAccess| {
                access.touches(file, r)
                    && !access.anywhere
                    && (file == File::Vector || !access.partial)
            };
            info.writes.iter().any(|access| touches(&access))
        })
    };
    let overlaps = |to_lds: bool, address: u64, bytes: u64| {
        let end = address.saturating_add(bytes);
        let writes = log.writes.borrow();
        writes
            .iter()
            .any(|&(lds, at, size)| lds == to_lds && at < end && address < at.saturating_add(size))
    };
    match *location {
        ValueLocation::Vgpr {
            wave,
            first,
            count,
            lane,
        } => {
            let lanes = lane.map_or(u64::MAX, |lane| 1 << (lane & 63));
            wave == executed
                && !before.indexed
                && log.lanes.get() & lanes != 0
                && writes(File::Vector, first, count)
        }
        ValueLocation::Scalar { wave, first, count } => {
            wave == executed && writes(File::Scalar, first, count)
        }
        ValueLocation::Scc(wave) => wave == executed && writes(File::Scc, 0, 1),
        ValueLocation::Mode(wave) => wave == executed && writes(File::Hwreg, HWREG_MODE, 1),
        ValueLocation::Pc(wave) => wave == executed,
        ValueLocation::Lds {
            workgroup,
            address,
            bytes,
        } => workgroup == executed.workgroup && overlaps(true, address, bytes),
        ValueLocation::Memory { address, bytes } => overlaps(false, address, bytes),
    }
}

/// The state of a wave before its instruction that [`wrote`] uses.
pub(crate) struct WaveBefore {
    indexed: bool,
}

impl WaveBefore {
    pub(crate) fn of(state: &WaveState) -> WaveBefore {
        WaveBefore {
            indexed: state.mode & mode::GPR_IDX_EN != 0,
        }
    }
}

impl Session {
    /// Returns true if a segment contains an instruction that may write a location, of the right wave or workgroup.
    pub(crate) fn covers_write(&self, coverage: &Coverage, location: &ValueLocation) -> bool {
        if let Some(wave) = location.wave()
            && !coverage.has_wave(self.number_of(wave.workgroup), wave.wave)
        {
            return false;
        }
        coverage.any(|n| may_write(self.code.info(n), location))
    }

    /// The number of a workgroup in the order in which they start.
    pub(crate) fn number_of(&self, [x, y, z]: [u32; 3]) -> u64 {
        let [a, b, _] = self.grid();
        (z as u64 * b as u64 + y as u64) * a as u64 + x as u64
    }

    /// The last instruction that wrote a location, in the current launch, or for memory in any earlier one. Returns `None` if no
    /// instruction wrote it. The present does not change.
    ///
    /// # Errors
    /// A message if there is no such location.
    pub fn who(&mut self, location: ValueLocation) -> Result<Option<Writer>, Error> {
        self.may_change_time()?;
        self.read(location)?;
        let now = self.now();
        self.mark();
        let found = self.last_write(location)?;
        let writer = match found {
            Some(found) => Some(self.writer(location, found)?),
            None => None,
        };
        self.goto(now)?;
        Ok(writer)
    }

    /// Searches for the last write. The position of the session afterwards is unspecified.
    fn last_write(&mut self, location: ValueLocation) -> Result<Option<Found>, Error> {
        let log = Log::default();
        let crosses = matches!(location, ValueLocation::Memory { .. });
        self.search_back(
            crosses,
            &|session, coverage| session.covers_write(coverage, &location),
            &mut |session| {
                let (Some(wave), Some(pc)) = (session.running(), session.running_pc()) else {
                    return false;
                };
                let number = session.info_number(pc);
                let may = number.is_some_and(|n| may_write(session.code.info(n), &location))
                    && location.wave().is_none_or(|of| of == wave);
                if !may {
                    session.tick(None);
                    return false;
                }
                let before = session.read(location).ok();
                let state = session.wave(wave).map(WaveBefore::of);
                log.clear();
                session.tick(Some(&log));
                let (Some(before), Some(state)) = (before, state) else {
                    return false;
                };
                let Some(info) = session.code.decoded(pc) else {
                    return false;
                };
                let after = session.read(location);
                // The registers of a workgroup that has ended are gone.
                let changed = after.is_ok_and(|after| after != before);
                wrote(&location, wave, info, &state, &log, changed)
            },
        )
    }

    /// Goes to a write and describes it.
    fn writer(&mut self, location: ValueLocation, found: Found) -> Result<Writer, Error> {
        self.goto(found.moment)?;
        let wave = self.running().ok_or("no instruction is next")?;
        let pc = self.running_pc().ok_or("no instruction is next")?;
        let before = self.read(location)?;
        let text = self.code.text(pc, self.memory());
        self.tick(None);
        let after = self.read(location).unwrap_or_else(|_| before.clone());
        Ok(Writer {
            moment: found.moment,
            wave,
            pc,
            text,
            before,
            after,
        })
    }

    /// Goes to the moment before the instruction that wrote a location last, and selects its wave. Returns `None`, and stays, if
    /// no instruction wrote it.
    ///
    /// # Errors
    /// A message if there is no such location.
    pub fn back(&mut self, location: ValueLocation) -> Result<Option<Writer>, Error> {
        let writer = self.who(location)?;
        if let Some(writer) = &writer {
            self.goto(writer.moment)?;
            self.follow();
        }
        Ok(writer)
    }
}
