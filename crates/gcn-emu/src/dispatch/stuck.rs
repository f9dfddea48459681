//! Waves that do not continue: their locations, and what they wait for.

use super::WaveLocation;
use crate::engine::{Code, instruction};
use crate::interp::instruction_info;
use crate::mem::Memory;
use gcn_isa::access::{MemoryKind, MemorySpace};
use gcn_isa::decode::Insn;
use gcn_isa::meaning::{Op, Signal, State, meaning};
use gcn_isa::print::{Style, print};
use gcn_isa::target::Target;
use std::fmt;

/// A wave that does not continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckWave {
    /// Its location.
    pub location: WaveLocation,
    /// The text of the instruction at its location: for [`Waits::Barrier`] the barrier itself, otherwise the next instruction.
    pub text: String,
    /// What it waits for.
    pub waits: Waits,
}

/// What a wave waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waits {
    /// It waits at a barrier for these waves of its workgroup.
    Barrier(Vec<usize>),
    /// It waits at an instruction that cannot continue until another wave acts: global wave sync.
    Others,
    /// It runs in a loop. This instruction of the loop polls memory for a change: its address relative to the kernel's first
    /// address and its text. `None` if the loop reads no memory.
    Loop(Option<(i64, String)>),
    /// It has halted.
    Halted,
    /// It waits for nothing; it could run.
    Nothing,
}

impl fmt::Display for StuckWave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StuckWave {
            location,
            text,
            waits,
        } = self;
        let [x, y, z] = location.workgroup;
        let at = format!(
            "pc {:#x} ({})",
            location.pc,
            super::Offset(&location.kernel, location.offset)
        );
        write!(f, "workgroup ({x}, {y}, {z}), wave {} ", location.wave)?;
        match waits {
            Waits::Barrier(others) => {
                write!(f, "waits at {text}, {at}, for {}", waves(others))
            }
            Waits::Others => write!(f, "waits at {text}, {at}"),
            Waits::Loop(Some((offset, load))) => {
                let load_at = super::Offset(&location.kernel, *offset);
                write!(f, "loops at {at}, looking at {load} ({load_at})")
            }
            Waits::Loop(None) => write!(f, "loops at {at}, {text}"),
            Waits::Halted => write!(f, "has halted before {text}, {at}"),
            Waits::Nothing => write!(f, "is before {text}, {at}"),
        }
    }
}

/// The kernel of the waves, for the first line of a message.
pub(super) fn kernel(waves: &[StuckWave]) -> &str {
    waves.first().map_or("", |w| &w.location.kernel)
}

fn waves(numbers: &[usize]) -> String {
    let list: Vec<String> = numbers.iter().map(usize::to_string).collect();
    match list.as_slice() {
        [] => "no wave".into(),
        [one] => format!("wave {one}"),
        many => format!("waves {}", many.join(", ")),
    }
}

/// Writes each wave on its own line.
pub(super) fn list(f: &mut fmt::Formatter<'_>, all: &[StuckWave], others: usize) -> fmt::Result {
    for wave in all {
        write!(f, "\n  {wave}")?;
    }
    if others > 0 {
        write!(f, "\n  and {others} waves more")?;
    }
    Ok(())
}

/// The instruction at `pc`.
pub(super) fn fetch(memory: &Memory, target: Target, pc: u64) -> Option<Insn> {
    instruction(target, Code::Memory, memory, pc)
}

/// The text of the instruction at `pc`.
pub(super) fn text(memory: &Memory, target: Target, pc: u64) -> String {
    match fetch(memory, target, pc) {
        Some(insn) => {
            let mut text = String::new();
            print(&insn, &Style::LLVM, &mut text);
            text
        }
        None => "no instruction".into(),
    }
}

/// The properties of an instruction in a loop that decide whether the loop can run forever.
#[derive(Clone, Copy, Default)]
pub(super) struct Traits {
    /// It may change state outside the wave, for any contents of memory, or it reads the time.
    pub acts: bool,
    /// It is an atomic, which may or may not change memory.
    pub atomic: bool,
    /// It reads state that other waves can change.
    pub reads: bool,
}

impl Traits {
    pub fn of(insn: Option<Insn>) -> Traits {
        let Some(insn) = insn else {
            return Traits::default();
        };
        let program = meaning(insn.row, insn.target);
        let time = program
            .nodes
            .iter()
            .any(|n| matches!(n.op, Op::Get(State::Time | State::RealTime)));
        let info = instruction_info(&insn);
        let signals = [Signal::Sendmsg, Signal::Trap].map(|s| info.signals(s));
        let mut traits = Traits {
            acts: time || signals.contains(&true),
            ..Traits::default()
        };
        if let Some(access) = info.memory(&insn) {
            match (access.kind, access.space) {
                (MemoryKind::Load, _) if access.to_lds => traits.acts = true,
                (MemoryKind::Load, _) => traits.reads = true,
                (MemoryKind::Atomic, MemorySpace::Export) => traits.acts = true,
                (MemoryKind::Atomic, _) => {
                    traits.atomic = true;
                    traits.reads = true;
                }
                (MemoryKind::Store, _) => traits.acts = true,
            }
        }
        traits
    }
}
