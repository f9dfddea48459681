//! A few instructions on one wave.

use crate::engine::{Code, Engine, FaultReport, Machine, Stop};
use crate::global::Global;
use crate::mem::Memory;
use crate::wave::{Lds, WaveState};
use gcn_isa::Target;

/// How a snippet's run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum End {
    /// The PC left the snippet: at its end, or by a branch.
    FellOff,
    Endpgm,
    /// s_trap with its number.
    Trap(u32),
    Halt,
    /// It waits for other waves. At s_barrier the PC is the next instruction's, at global wave sync and ordered counts that
    /// instruction's.
    Barrier,
    /// As many instructions as allowed have run.
    Limit,
    Fault(FaultReport),
}

/// What a snippet's run came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Bytes from the snippet's start: of [`End::Endpgm`], [`End::Trap`] and [`End::Fault`] to that instruction, else (but
    /// see [`End::Barrier`]) to the next one.
    pub pc: u64,
    /// Instructions run, those that VSKIP skipped included.
    pub executed: u64,
}

/// Runs `code` from byte `start_pc`, which is rounded down to a dword, for at most `max` instructions. Addresses of code
/// count from the snippet's start. The wave has a global data share of its own, of zeros.
#[allow(clippy::too_many_arguments)]
pub fn run(
    target: Target,
    code: &[u8],
    wave: &mut WaveState,
    lds: &mut Lds,
    memory: &Memory,
    start_pc: u64,
    max: u64,
    engine: &mut dyn Engine,
) -> Outcome {
    let global = Global::default();
    run_beside(
        target, code, wave, lds, memory, &global, start_pc, max, engine,
    )
}

/// As [`run`], with the global data share and the global wave sync that the wave has in common with others.
#[allow(clippy::too_many_arguments)]
pub fn run_beside(
    target: Target,
    code: &[u8],
    wave: &mut WaveState,
    lds: &mut Lds,
    memory: &Memory,
    global: &Global,
    start_pc: u64,
    max: u64,
    engine: &mut dyn Engine,
) -> Outcome {
    engine.forget();
    wave.pc = start_pc & !3;
    let mut machine = Machine {
        target,
        memory,
        code: Code::Snippet(0, code),
        lds,
        global,
        hidden_private_base: 0,
    };
    let mut fuel = max;
    let stop = loop {
        // There is nobody to let go first.
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
