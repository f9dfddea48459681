//! The interface of the engines that run waves.

use crate::global::Global;
use crate::group::{Group, GroupStop, Groups};
use crate::held::Held;
use crate::mem::{self, Fault, Memory};
use crate::probe::Probe;
use crate::wave::{LANES, Lds, WaveState};
use gcn_isa::Target;
use gcn_isa::decode::{Insn, decode};
use std::fmt;

/// The source of instructions.
#[derive(Clone, Copy)]
pub enum Code<'a> {
    /// These bytes, from an address on. A wave whose PC is outside them has fallen off.
    Snippet(u64, &'a [u8]),
    /// Guest memory.
    Memory,
}

/// The bytes of the instruction at `pc`, and the number of valid ones: twelve, or fewer before memory that cannot be fetched. The
/// end of a snippet is not a fault: the number is then 0.
///
/// # Errors
/// The fault of the first dword in guest memory.
pub fn fetch(code: Code<'_>, memory: &Memory, pc: u64) -> Result<([u8; 12], usize), Fault> {
    let mut bytes = [0; 12];
    let mut len = 0;
    match code {
        Code::Snippet(base, code) => {
            let rest = usize::try_from(pc.wrapping_sub(base))
                .ok()
                .and_then(|at| code.get(at..))
                .unwrap_or(&[]);
            len = rest.len().min(12);
            bytes[..len].copy_from_slice(&rest[..len]);
        }
        Code::Memory => {
            for k in 0..3 {
                match memory.fetch_u32(pc.wrapping_add(4 * k as u64)) {
                    Ok(word) => bytes[4 * k..4 * k + 4].copy_from_slice(&word.to_le_bytes()),
                    Err(fault) if k == 0 => return Err(fault),
                    Err(_) => break,
                }
                len += 4;
            }
        }
    }
    Ok((bytes, len))
}

/// The instruction at `pc`. Returns `None` if there is none.
pub fn instruction(target: Target, code: Code<'_>, memory: &Memory, pc: u64) -> Option<Insn> {
    let (bytes, len) = fetch(code, memory, pc).ok()?;
    decode(target, &bytes[..len])
}

/// The machine of a wave: everything that the wave uses outside its own state.
pub struct Machine<'a> {
    /// The chip.
    pub target: Target,
    /// Guest memory.
    pub memory: &'a Memory,
    /// The source of the wave's instructions.
    pub code: Code<'a>,
    /// The workgroup's LDS.
    pub lds: &'a mut Lds,
    /// The state that the waves of a dispatch share in addition to memory.
    pub global: &'a Global,
    /// On gfx7 and gfx8: the guest address to which the offset in FLAT_SCRATCH is relative (SH_HIDDEN_PRIVATE_BASE_VMID).
    pub hidden_private_base: u64,
    /// SGPRs with the IDs that they take in a workgroup in the middle of the dispatch.
    pub middle: &'a [(u16, u32)],
    /// Sees values and accesses. The interpreter alone has probes.
    pub probe: Option<&'a dyn Probe>,
}

/// The relation between the values of 16 lanes (0 to 15, 16 to 31, 32 to 47 and 48 to 63), whether the lanes are active or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// No known relation.
    #[default]
    Any,
    /// All values of a block of 16 lanes are equal; other blocks may have other values.
    Same,
    /// Each value is greater by 1 than the one before it, modulo 2³².
    Consecutive,
}

impl Pattern {
    /// The pattern of a VGPR.
    pub fn of(values: &[u32; LANES]) -> Pattern {
        let steps = |step: u32| {
            let mut slices = values.chunks_exact(16);
            slices.all(|s| s.windows(2).all(|w| w[1] == w[0].wrapping_add(step)))
        };
        match () {
            () if steps(1) => Pattern::Consecutive,
            () if steps(0) => Pattern::Same,
            () => Pattern::Any,
        }
    }
}

/// The known patterns of v0, v1 and v2 of a wave that is about to run its first instruction. The other VGPRs are 0.
///
/// They are computed once for the waves of a dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EntryVgprs(pub [Pattern; 3]);

impl EntryVgprs {
    /// The patterns of a wave that has not run yet.
    pub fn of(wave: &WaveState) -> EntryVgprs {
        EntryVgprs(std::array::from_fn(|n| {
            wave.vgprs.get(n).map_or(Pattern::Any, Pattern::of)
        }))
    }
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// A load, store or atomic.
    Memory(mem::FaultKind),
    /// The instruction could not be fetched.
    Fetch(mem::FaultKind),
    /// The target does not have such an instruction.
    Illegal,
    /// The machine does not support a feature that the instruction uses.
    Unsupported(&'static str),
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = |kind: &mem::FaultKind| match kind {
            mem::FaultKind::Unmapped => "is not mapped",
            mem::FaultKind::NoRead => "may not be read",
            mem::FaultKind::NoWrite => "may not be written",
            mem::FaultKind::NoExec => "may not be executed",
            mem::FaultKind::Misaligned => "is misaligned",
        };
        match self {
            FaultKind::Memory(kind) => write!(f, "the memory it accesses {}", what(kind)),
            FaultKind::Fetch(kind) => write!(f, "the code {}", what(kind)),
            FaultKind::Illegal => f.write_str("illegal instruction"),
            FaultKind::Unsupported(why) => f.write_str(why),
        }
    }
}

/// An instruction that could not be executed. The memory accesses of its lower lanes were done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultReport {
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The address it accessed.
    pub addr: Option<u64>,
    /// The lane that accessed it, for a vector instruction.
    pub lane: Option<u8>,
    /// The address of the instruction.
    pub pc: u64,
    /// The instruction's text, or its first dword if it is not an instruction.
    pub text: String,
    /// The operand values in that lane; empty if it is not an instruction.
    pub operands: Vec<Held>,
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pc {:#x}: {}: {}", self.pc, self.text, self.kind)?;
        if let Some(addr) = self.addr {
            write!(f, ", address {addr:#x}")?;
        }
        if let Some(lane) = self.lane {
            write!(f, ", lane {lane}")?;
        }
        for held in &self.operands {
            write!(f, "\n  {held}")?;
        }
        Ok(())
    }
}

/// An access that failed inside an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    pub kind: FaultKind,
    pub addr: Option<u64>,
    pub lane: Option<u8>,
    /// Nothing failed: the instruction waits and must be run again.
    pub retry: bool,
}

impl Failure {
    /// The instruction cannot continue until another wave acts.
    pub(crate) fn retry() -> Failure {
        Failure {
            retry: true,
            ..Failure::unsupported("the wave waits")
        }
    }

    pub(crate) fn unsupported(why: &'static str) -> Failure {
        Failure {
            kind: FaultKind::Unsupported(why),
            addr: None,
            lane: None,
            retry: false,
        }
    }

    pub(crate) fn memory(fault: Fault, lane: Option<u8>) -> Failure {
        Failure {
            kind: FaultKind::Memory(fault.kind),
            addr: Some(fault.addr),
            lane,
            retry: false,
        }
    }
}

/// Why a wave stopped running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The PC left the snippet.
    FellOff,
    /// s_endpgm, or s_cbranch's kill. The PC is that instruction's.
    Endpgm,
    /// s_trap with its number. The PC is that instruction's.
    Trap(u32),
    /// STATUS.HALT is set. The PC is the next instruction's.
    Halt,
    /// The wave waits at s_barrier. The PC is the next instruction's.
    Barrier,
    /// The wave lets others run first: s_sleep. The PC is the next instruction's.
    Yield,
    /// The wave can continue only after another wave acted: it waits for global wave sync, or for its turn at an ordered
    /// append. The PC is that instruction's, which must be run again; it consumed no fuel and no time. See
    /// [`Global::changes`].
    Retry,
    /// The fuel is used up. The PC is the next instruction's.
    Limit,
    /// An instruction could not be executed. The PC is that instruction's.
    Fault(FaultReport),
}

/// The time slice of a wave, in instructions, when all engines must run waves in the same order.
pub const EXACT_SLICE: u64 = 1 << 14;

/// Runs waves. An engine belongs to one host thread and one target.
pub trait Engine: Send {
    /// Runs a wave until it ends, waits, yields or has used up `fuel`. Every instruction consumes one unit of fuel.
    fn run(&mut self, wave: &mut WaveState, machine: &mut Machine<'_>, fuel: &mut u64) -> Stop;

    /// Runs the waves of a workgroup, in order, each until it ends or waits at a barrier. When all waves have reached the
    /// barrier, they continue after it. Returns when all waves have ended or the caller must handle something else. No wave
    /// may be halted at the start. Every instruction consumes one unit of `fuel`; a time slice of
    /// [`GroupWave::time_slice`](crate::group::GroupWave::time_slice) instructions begins only if there is enough fuel for all of it.
    fn group(
        &mut self,
        group: &mut Group<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        crate::group::run(self, group, machine, fuel)
    }

    /// Runs workgroups, one after the other, each as [`Engine::group`] does, until all have ended or the caller must handle
    /// something else for one of them; the result is then about that workgroup alone. The LDS is that of the first
    /// workgroup; when another workgroup begins, it is filled with zeros.
    fn groups(
        &mut self,
        groups: &mut Groups<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        crate::group::run_all(self, groups, machine, fuel)
    }

    /// The number of instructions that a wave should preferably run per time slice.
    fn slice(&self) -> u64;

    /// Turns exact time slices on or off. When they are on, a time slice has exactly the number of instructions that it was
    /// given, and [`Engine::slice`] is [`EXACT_SLICE`]. So every engine runs the waves of a dispatch in the same order,
    /// instruction by instruction, and gives the same reports.
    fn exactly(&mut self, exact: bool);

    /// From now on [`Engine::run`] ends with [`Stop::Limit`] before an instruction at one of these addresses, unless it is the first
    /// one; and every register has its value whenever a wave stops, also those that no instruction reads any more. Returns false if the
    /// engine cannot do that.
    fn stop_at(&mut self, addresses: &[u64]) -> bool {
        let _ = addresses;
        false
    }

    /// Invalidates everything that was derived from the code, because the code at its addresses changed.
    fn invalidate(&mut self);
}
