//! Control flow after an instruction: to the next one, to a branch's target, to an address in registers, or to the end of the wave.
//!
//! ```
//! use gcn_isa::access::InstructionTable;
//! use gcn_isa::flow::{Condition, Flow};
//! use gcn_isa::meaning::State;
//! use gcn_isa::{Target, decode};
//!
//! let target = Target::parse("gfx900").unwrap();
//! let table = InstructionTable::new(target);
//! // s_cbranch_scc1 -2
//! let insn = decode(target, &0xbf85_fffeu32.to_le_bytes()).unwrap();
//! let flow = table.of(&insn).flow(&insn);
//! let when = Condition::If { state: State::Scc, set: true };
//! assert_eq!(flow, Flow::Branch { offset: -8, when, links: false });
//! assert!(flow.falls_through());
//! assert_eq!(flow.target(0x100, &insn), Some(0xfc));
//! ```

use crate::decode::Insn;
use crate::format::Field;
use crate::meaning::{Change, Op, Program, Signal, State};

/// The control flow after an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Continues with the next instruction.
    Next,
    /// Branches to a distance that the instruction contains.
    Branch {
        /// Bytes from the next instruction.
        offset: i32,
        /// The condition of the branch.
        when: Condition,
        /// The next instruction's address is saved in a register: a call.
        links: bool,
    },
    /// Jumps to an address in registers: s_setpc_b64, s_rfe_b64, the control stack of s_cbranch_join.
    Indirect {
        /// The condition of the jump.
        when: Condition,
        /// The next instruction's address is saved in a register: a call.
        links: bool,
    },
    /// Enters the trap handler, which may return to the next instruction.
    Trap,
    /// The wave ends.
    End,
}

/// The condition of a jump.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Condition {
    /// Always.
    #[default]
    Always,
    /// Taken if a state is 1 (for a mask: not 0), or if it is 0.
    If {
        /// SCC, VCC, EXEC or a debug bit of STATUS.
        state: State,
        /// True if the state must be 1, or not 0.
        set: bool,
    },
    /// Another condition: two debug bits, or the test whether a fork split EXEC.
    Other,
}

impl Flow {
    /// Returns true if the next instruction may follow. It eventually does after a call and after a trap.
    pub fn falls_through(&self) -> bool {
        match self {
            Flow::Next | Flow::Trap => true,
            Flow::Branch { when, links, .. } | Flow::Indirect { when, links } => {
                *links || *when != Condition::Always
            }
            Flow::End => false,
        }
    }

    /// The address of a branch's target for an instruction at address `at`.
    pub fn target(&self, at: u64, insn: &Insn) -> Option<u64> {
        match self {
            Flow::Branch { offset, .. } => Some(
                at.wrapping_add(insn.len as u64)
                    .wrapping_add_signed(*offset as i64),
            ),
            _ => None,
        }
    }
}

/// The address of the target of an instruction at `at` whose SIMM16 is a branch's distance; determined
/// from the shape, without [`InstructionInfo`](crate::access::InstructionInfo).
#[inline]
pub fn branch_target(insn: &Insn, at: u64) -> Option<u64> {
    if !insn.branches() {
        return None;
    }
    Some(
        at.wrapping_add(insn.len as u64)
            .wrapping_add_signed(offset(insn) as i64),
    )
}

/// SIMM16 as a branch's distance in bytes.
fn offset(insn: &Insn) -> i32 {
    4 * (insn.field(Field::Simm16) as u16 as i16 as i32)
}

/// The control-flow properties of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct FlowInfo {
    jump: Option<Jump>,
    ends: bool,
    traps: bool,
    /// Bit 0 of SIMM16 ends the wave: s_setkill.
    kills: bool,
    /// The next instruction's address is saved in a register.
    keeps_pc: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Jump {
    direct: bool,
    when: Condition,
    links: bool,
}

impl FlowInfo {
    pub(crate) fn new(program: &Program) -> FlowInfo {
        let mut info = FlowInfo::default();
        let is_pc = |node: u16| program.nodes[node as usize].op == Op::Get(State::Pc);
        for effect in &program.effects {
            match effect.change {
                Change::Set(State::Pc) => {
                    let when = match effect.when {
                        None => Condition::Always,
                        Some(when) => condition(program, when, true),
                    };
                    let direct = is_relative(program, effect.value);
                    info.jump = Some(match info.jump {
                        None => Jump {
                            direct,
                            when,
                            links: false,
                        },
                        // Two jumps, each with its own condition.
                        Some(before) => Jump {
                            direct: before.direct && direct,
                            when: Condition::Other,
                            links: false,
                        },
                    });
                }
                Change::Set(State::Kill) => info.kills = true,
                Change::Signal(Signal::Endpgm) => info.ends = true,
                Change::Signal(Signal::Trap) => info.traps = true,
                _ => {}
            }
        }
        info.keeps_pc =
            (program.effects.iter()).any(|e| matches!(e.change, Change::Dst(_)) && is_pc(e.value));
        if let Some(jump) = &mut info.jump {
            jump.links = info.keeps_pc;
        }
        info
    }

    pub(crate) fn keeps_pc(&self) -> bool {
        self.keeps_pc
    }

    pub(crate) fn branches_on(&self, on: State) -> bool {
        let when = self.jump.map(|jump| jump.when);
        matches!(when, Some(Condition::If { state, .. }) if state == on)
    }

    pub(crate) fn jumps_indirectly(&self) -> bool {
        self.jump.is_some_and(|jump| !jump.direct)
    }

    pub(crate) fn of(&self, insn: &Insn) -> Flow {
        if self.ends || self.kills && insn.field(Field::Simm16) & 1 != 0 {
            return Flow::End;
        }
        if self.traps {
            return Flow::Trap;
        }
        match self.jump {
            None => Flow::Next,
            Some(jump) if jump.direct => Flow::Branch {
                offset: offset(insn),
                when: jump.when,
                links: jump.links,
            },
            Some(jump) => Flow::Indirect {
                when: jump.when,
                links: jump.links,
            },
        }
    }
}

/// Returns true if an address is computed only from PC, SIMM16 and constants.
fn is_relative(program: &Program, node: u16) -> bool {
    let node = &program.nodes[node as usize];
    match node.op {
        Op::Get(State::Pc) | Op::Field(Field::Simm16) | Op::Const(_) => true,
        op => {
            op.arity() != 0
                && node.args[..op.arity()]
                    .iter()
                    .all(|&n| is_relative(program, n))
        }
    }
}

/// A condition as the state that it tests; each NOT inverts `set`.
fn condition(program: &Program, node: u16, set: bool) -> Condition {
    let node = &program.nodes[node as usize];
    match node.op {
        Op::Get(state) => Condition::If { state, set },
        Op::Not => condition(program, node.args[0], !set),
        Op::Ne if program.nodes[node.args[1] as usize].op == Op::Const(0) => {
            condition(program, node.args[0], set)
        }
        Op::Eq if program.nodes[node.args[1] as usize].op == Op::Const(0) => {
            condition(program, node.args[0], !set)
        }
        _ => Condition::Other,
    }
}
