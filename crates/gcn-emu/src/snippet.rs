//! A few instructions on one wave.

use crate::engine::{Code, Engine, FaultReport, Machine, Stop};
use crate::global::Global;
use crate::mem::Memory;
use crate::wave::{Lds, WaveState};
use gcn_isa::Target;

/// The reason why a snippet's run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum End {
    /// The PC left the snippet: at its end, or by a branch.
    FellOff,
    Endpgm,
    /// s_trap with its number.
    Trap(u32),
    Halt,
    /// It waits for other waves. At s_barrier the PC is the next instruction's; at global wave sync and ordered append it is that
    /// instruction's.
    Barrier,
    /// The maximum number of instructions has run.
    Limit,
    Fault(FaultReport),
}

/// The result of a snippet's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The reason why it ended.
    pub end: End,
    /// Bytes from the snippet's start: for [`End::Endpgm`], [`End::Trap`] and [`End::Fault`] to that instruction, otherwise
    /// (except for [`End::Barrier`]) to the next one.
    pub pc: u64,
    /// Instructions run, including those that VSKIP skipped.
    pub executed: u64,
}

/// A few instructions, the start of their run and its maximum length. Addresses of code are relative to the snippet's start.
#[derive(Clone, Copy, Debug)]
pub struct Snippet<'c> {
    /// The target.
    pub target: Target,
    /// The instructions.
    pub code: &'c [u8],
    /// The byte at which the run begins, rounded down to a dword.
    pub start_pc: u64,
    /// The maximum number of instructions.
    pub max: u64,
}

/// Runs a snippet. The wave has its own global data share, filled with zeros.
pub fn run(
    snippet: Snippet<'_>,
    wave: &mut WaveState,
    lds: &mut Lds,
    memory: &Memory,
    engine: &mut dyn Engine,
) -> Outcome {
    run_beside(snippet, wave, lds, memory, &Global::default(), engine)
}

/// As [`run`], with the global data share and the global wave sync that the wave shares with others.
pub fn run_beside(
    snippet: Snippet<'_>,
    wave: &mut WaveState,
    lds: &mut Lds,
    memory: &Memory,
    global: &Global,
    engine: &mut dyn Engine,
) -> Outcome {
    let Snippet {
        target,
        code,
        start_pc,
        max,
    } = snippet;
    engine.invalidate();
    wave.pc = start_pc & !3;
    let mut machine = Machine {
        target,
        memory,
        code: Code::Snippet(0, code),
        lds,
        global,
        hidden_private_base: 0,
        middle: &[],
        probe: None,
    };
    let mut fuel = max;
    let stop = loop {
        // There is no other wave to yield to.
        match engine.run(wave, &mut machine, &mut fuel) {
            Stop::Yield => {}
            stop => break stop,
        }
    };
    let end = match stop {
        Stop::FellOff => End::FellOff,
        Stop::Endpgm => End::Endpgm,
        Stop::Trap(id) => End::Trap(id),
        Stop::Halt => End::Halt,
        Stop::Barrier | Stop::Retry | Stop::Yield => End::Barrier,
        Stop::Limit => End::Limit,
        Stop::Fault(report) => End::Fault(report),
    };
    Outcome {
        end,
        pc: wave.pc,
        executed: max - fuel,
    }
}
