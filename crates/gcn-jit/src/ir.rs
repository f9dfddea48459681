//! What a block of code computes: a graph of values, made by the lowering and read by the emitter.
//!
//! A value is *scalar* (one for the wave, zero-extended in 64 bits) or *vector* (one a lane). Integers of 64 bits a lane
//! are taken apart into halves as they are made, so that only floats and products live as whole 64-bit values.

pub mod affine;
mod builder;
pub mod fast_path;
mod fold;
mod half;
#[cfg(test)]
pub mod parse;
pub mod print;
pub mod region;
mod split64;
#[cfg(test)]
mod tests;
pub mod verify;

pub use builder::{Found, Graph};
use gcn_isa::meaning::{Op, Space};
use gcn_isa::shape::Ty;

/// The number of a value.
pub type Id = u32;

/// What computes a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inst {
    /// The same in every lane.
    Const(u64),
    /// A VGPR as it was at the block's start.
    VIn(u16),
    /// A scalar register as it was at the block's start, by code; 32 bits, or two registers.
    SIn(u8),
    SccIn,
    /// The lane's number.
    Lane,
    /// Whether the lane is on.
    Exec,
    /// 64 bits of two halves.
    Pair,
    Lo,
    Hi,
    /// A scalar: what the lane that a scalar numbers (below 64) had of a VGPR at the block's start.
    LaneIn(u16),
    /// The same of the lane that each lane's value numbers.
    LanesIn(u16),
    /// The VGPR, as it was at the block's start, that a scalar numbers.
    VgprAt,
    /// The value of another lane of the same 16: a hexadecimal digit for each.
    Shuffle(u64),
    /// The lane's bit of a scalar.
    MaskOf,
    /// A scalar of the lanes' truth values.
    Ballot,
    /// The bits of the first value, moved left by a constant, with the upper bits of the second below.
    Shld(u8),
    /// The bits of the first value, moved right by a constant, with the lower bits of the second above.
    Shrd(u8),
    /// A scalar moved right by the lane's number: only its lowest bit is ever looked at.
    ShrLane,
    /// An operation of the meanings' language.
    Alu(Op),
    /// Memory that a load reads: so many elements of so many bytes, one behind another, at the address of the low and high
    /// half plus a constant. Its values are its [`Inst::Part`]s.
    Group {
        space: Space,
        bytes: u8,
        count: u8,
        offset: i32,
    },
    /// An element of a group.
    Part(u8),
    /// A value that is affine in the lane: of each 16 lanes the base that a base of the block has, and a step.
    Affine {
        base: u16,
        step: i32,
    },
    /// A group whose address is one of the block's linear ones, where each lane has its elements, or all have the same.
    AffineLoad {
        bytes: u8,
        count: u8,
        offset: i32,
        address: u16,
        broadcast: bool,
    },
    /// A dword of each lane, side by side from the address on that the first value is, plus a constant.
    Row(i32),
    /// A value with a fast path ([`crate::ir::fast_path`]): a truth value, and what the value is where that holds.
    FastPath(u16),
    /// Scalar memory: dword at the address.
    SLoad {
        count: u8,
        offset: i32,
    },
}

/// A value.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub op: Inst,
    /// The type that the operands are read as.
    pub ty: Ty,
    pub out: Ty,
    pub vec: bool,
    pub args: [Id; 3],
}

impl Node {
    pub fn arity(&self) -> usize {
        match self.op {
            Inst::Const(_)
            | Inst::VIn(_)
            | Inst::SIn(_)
            | Inst::SccIn
            | Inst::Lane
            | Inst::Exec
            | Inst::Affine { .. }
            | Inst::AffineLoad { .. } => 0,
            Inst::Lo
            | Inst::Hi
            | Inst::MaskOf
            | Inst::Ballot
            | Inst::ShrLane
            | Inst::Part(_)
            | Inst::SLoad { .. }
            | Inst::LaneIn(_)
            | Inst::LanesIn(_)
            | Inst::VgprAt
            | Inst::Shuffle(_)
            | Inst::Row(_) => 1,
            Inst::Pair | Inst::Shld(_) | Inst::Shrd(_) | Inst::Group { .. } | Inst::FastPath(_) => {
                2
            }
            Inst::Alu(op) => op.arity(),
        }
    }

    pub fn inputs(&self) -> &[Id] {
        &self.args[..self.arity()]
    }
}

/// An operation that is left to the interpreter.
#[derive(Debug)]
pub struct Unsupported;

pub(crate) type Got = Result<Id, Unsupported>;
