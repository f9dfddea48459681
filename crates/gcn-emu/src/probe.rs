//! Probes: what an instruction computes and which memory it accesses, while the interpreter runs it.
//!
//! An observer ([`crate::dispatch::watch::Observer`]) sees a wave before and after an instruction. A probe sees what is between: the
//! values of the meaning's nodes, and every access with the place that it resolves to. Without one, an access costs a comparison in the
//! interpreter and nothing in compiled code.

use crate::operands::{Modifiers, Opnd};
use gcn_isa::access::MemoryKind;
use gcn_isa::decode::Insn;
use gcn_isa::meaning::{Program, Space};

/// Where an access goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// This guest address.
    Memory(u64),
    /// This byte of the workgroup's LDS.
    Lds(u64),
    /// This byte of the GDS.
    Gds(u64),
    /// A range check sends it nowhere: loads give 0, stores do nothing.
    Nowhere,
}

/// An access of one lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The lane; 0 for scalar instructions.
    pub lane: u8,
    /// It reads, writes, or does both atomically.
    pub kind: MemoryKind,
    /// The memory that the instruction names.
    pub space: Space,
    /// Where it goes.
    pub place: Place,
    /// The address that the instruction gives.
    pub address: u64,
    /// Bytes.
    pub size: u8,
    /// It is the first part of what the lane accesses for one value of the instruction.
    pub first: bool,
    /// It stores what is there already.
    pub unchanged: bool,
}

/// An instruction that has run.
pub struct Executed<'a> {
    /// The instruction.
    pub insn: &'a Insn,
    /// Its meaning.
    pub program: &'static Program,
    /// Its operands, in the order of the shape's slots.
    pub operands: &'a [Opnd],
    /// Its modifiers.
    pub mods: &'a Modifiers,
    /// The active lanes; for a scalar instruction 1.
    pub exec: u64,
    /// The lanes that effects without a condition change.
    pub lanes: u64,
    /// The number of values of a node: 1, or one a lane.
    pub width: usize,
    /// The values of the nodes, one node after the other.
    pub values: &'a [u64],
    /// The slot of a load whose data go to LDS.
    pub to_lds: Option<u8>,
    /// The VGPR that takes the status of TFE.
    pub status: Option<u16>,
}

impl Executed<'_> {
    /// The values of a node.
    pub fn node(&self, node: usize) -> &[u64] {
        &self.values[node * self.width..(node + 1) * self.width]
    }
}

/// Sees the accesses and values of the instructions that one host thread interprets.
pub trait Probe {
    /// Called before an access is made. Returns false if it must not be made; then it goes nowhere.
    fn access(&self, access: &Access) -> bool;

    /// Called when an instruction has run, before the observer is.
    fn executed(&self, executed: &Executed<'_>);
}
