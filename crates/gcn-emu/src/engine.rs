//! What runs a wave.

use crate::global::Global;
use crate::group::{Group, GroupStop, Groups};
use crate::held::Held;
use crate::mem::{self, Fault, Memory};
use crate::wave::{LANES, Lds, WaveState};
use gcn_isa::Target;
use gcn_isa::decode::{Insn, decode};
use std::fmt;

/// Where instructions are fetched from.
#[derive(Clone, Copy)]
pub enum Code<'a> {
    /// These bytes, from an address on. A wave that leaves them has fallen off.
    Snippet(u64, &'a [u8]),
    /// Guest memory.
    Memory,
}

/// The bytes of the instruction at `pc`, and how many of them are there: twelve, fewer before what cannot be fetched. A
/// snippet's end is no fault: there are no bytes then.
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

/// The instruction at `pc`, if there is one.
pub fn instruction(target: Target, code: Code<'_>, memory: &Memory, pc: u64) -> Option<Insn> {
    let (bytes, len) = fetch(code, memory, pc).ok()?;
    decode(target, &bytes[..len])
}

/// What surrounds a wave.
pub struct Machine<'a> {
    /// The chip.
    pub target: Target,
    /// Guest memory.
    pub memory: &'a Memory,
    /// Where the code is.
    pub code: Code<'a>,
    /// The workgroup's LDS.
    pub lds: &'a mut Lds,
    /// What the waves of a dispatch share beside memory.
    pub global: &'a Global,
    /// On gfx7 and gfx8: the guest address that the offset in FLAT_SCRATCH counts from (SH_HIDDEN_PRIVATE_BASE_VMID).
    pub hidden_private_base: u64,
}

/// What the values of 16 lanes (0 to 15, 16 to 31, 32 to 47 and 48 to 63) have in common, whatever lanes are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Nothing.
    #[default]
    Any,
    /// They are the same; those of other 16 lanes may be others.
    Same,
    /// Each is by 1 greater than the one before it, modulo 2³².
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

/// What is known of v0, v1 and v2 of a wave that is about to run its first instruction. The other VGPRs are 0.
///
/// It is found out once for the waves of a dispatch. Waves with lanes that never were on have zeros there, so the last
/// wave of a workgroup of, say, 100 work-items has no pattern in its v0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EntryVgprs(pub [Pattern; 3]);

impl EntryVgprs {
    /// Of a wave that has not run yet.
    pub fn of(wave: &WaveState) -> EntryVgprs {
        EntryVgprs(std::array::from_fn(|n| {
            wave.vgprs.get(n).map_or(Pattern::Any, Pattern::of)
        }))
    }
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A load, store or atomic.
    Memory(mem::FaultKind),
    /// The instruction could not be fetched.
    Fetch(mem::FaultKind),
    /// The target has no such instruction.
    Illegal,
    /// The machine lacks what the instruction needs.
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

/// An instruction that could not be executed. What its earlier lanes did to memory is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultReport {
    /// What went wrong.
    pub kind: FaultKind,
    /// The address it accessed.
    pub addr: Option<u64>,
    /// The lane that accessed it, in a vector instruction.
    pub lane: Option<u8>,
    /// The address of the instruction.
    pub pc: u64,
    /// The instruction's text, or its first dword where it is none.
    pub text: String,
    /// What its operands held, in that lane; nothing where it is no instruction.
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
    /// Nothing failed: the instruction waits, and is to be run again.
    pub retry: bool,
}

impl Failure {
    /// The instruction cannot go on until other waves did something.
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

/// Why a wave no longer runs.
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
    /// It waits at s_barrier. The PC is the next instruction's.
    Barrier,
    /// It lets others go first: s_sleep. The PC is the next instruction's.
    Yield,
    /// It can go on only after others did something: a wait for global wave sync, or for its turn at an ordered count. The
    /// PC is that instruction's, which is to be run again; it took no fuel and no time. See [`Global::changes`].
    Retry,
    /// The fuel is spent. The PC is the next instruction's.
    Limit,
    /// An instruction could not be executed. The PC is that instruction's.
    Fault(FaultReport),
}

/// The time slice of a wave, in instructions, where engines are to run waves in the same order.
pub const EXACT_SLICE: u64 = 1 << 14;

/// Runs waves. One belongs to one host thread and one target.
pub trait Engine: Send {
    /// Runs a wave until it ends, waits, gives way or has spent `fuel`, of which every instruction takes one.
    fn run(&mut self, wave: &mut WaveState, machine: &mut Machine<'_>, fuel: &mut u64) -> Stop;

    /// Runs the waves of a workgroup, in order, each until it ends or waits at a barrier; when all have come there, on from
    /// it; until all have ended or there is something else to look at. None of them has halted. Of `fuel` every
    /// instruction takes one; a wave's turn of [`GroupWave::turn`](crate::group::GroupWave::turn) instructions begins only
    /// if there is enough for all of it.
    fn group(
        &mut self,
        group: &mut Group<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        crate::group::run(self, group, machine, fuel)
    }

    /// Runs workgroups, one after the other, each as [`Engine::group`] does, until all have ended or there is something
    /// else to look at with one, of which alone is what it gives then. LDS is that of the first, and where another one
    /// begins it is filled with zeros.
    fn groups(
        &mut self,
        groups: &mut Groups<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        crate::group::run_all(self, groups, machine, fuel)
    }

    /// How many instructions a wave had better run before another one's turn.
    fn slice(&self) -> u64;

    /// From now on, or no longer, a turn has exactly as many instructions as it was given, and [`Engine::slice`] is
    /// [`EXACT_SLICE`]: so every engine runs the waves of a dispatch in the same order, instruction by instruction, and
    /// reports the same of them.
    fn exactly(&mut self, exact: bool);

    /// Forgets what it knows of the code: other code is at the same addresses now.
    fn forget(&mut self);
}
