//! One instruction as the interpreter runs it: the state that its nodes and effects work on.

use crate::address::Range;
use crate::engine::Machine;
use crate::operands::{Modifiers, Opnd};
use crate::wave::WaveState;
use gcn_isa::decode::Insn;
use gcn_isa::target::Gen;

/// The parts of an instruction, the wave that runs it, and the machine of the wave.
pub(crate) struct Exec<'a, 'm> {
    pub insn: &'a Insn,
    /// The operands, in the order of the shape's slots.
    pub operands: &'a [Opnd],
    pub mods: &'a Modifiers,
    pub generation: Gen,
    /// The active lanes. For a scalar instruction only bit 0 is set.
    pub exec: u64,
    pub wave: &'a mut WaveState,
    pub machine: &'a mut Machine<'m>,
    /// The range check of the accesses through the last address.
    pub range: &'a mut Range,
}
