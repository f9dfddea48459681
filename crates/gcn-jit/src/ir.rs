//! The intermediate representation: a block computes a graph of values, which the frontend builds and the target reads.
//!
//! A value is *scalar* (one for the wave, zero-extended to 64 bits) or *vector* (one per lane). 64-bit integers per lane are
//! split into halves as they are built, so that only floats and products are whole 64-bit values.

pub mod affine;
mod builder;
pub mod fast_path;
mod fold;
pub mod grid;
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

/// The operation that computes a value.
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
    /// True in active lanes.
    Exec,
    /// A 64-bit value made of two halves.
    Pair,
    Lo,
    Hi,
    /// A scalar: one lane of a VGPR at the block's start. A scalar below 64 is the lane's number.
    LaneIn(u16),
    /// A VGPR at the block's start, read from the lane whose number is each lane's value.
    LanesIn(u16),
    /// The VGPR whose number is a scalar, at the block's start.
    VgprAt,
    /// The value of another lane of the same 16 lanes: a hexadecimal digit for each lane.
    Shuffle(u64),
    /// The four dwords of two scalars of 64 bits: lane n has dword n modulo 4.
    Cycle,
    /// The lane's bit of a scalar.
    MaskOf,
    /// A scalar with the lanes' truth values as bits.
    Ballot,
    /// The first value shifted left by a constant, with the upper bits of the second shifted in.
    Shld(u8),
    /// The first value shifted right by a constant, with the lower bits of the second shifted in.
    Shrd(u8),
    /// A scalar shifted right by the lane's number. Only its lowest bit is used.
    ShrLane,
    /// An operation of the semantics ([`Op`]).
    Alu(Op),
    /// A load of `count` consecutive elements of `bytes` bytes at the address of the low and high half plus a constant. Its
    /// values are its [`Inst::Part`]s.
    Group {
        space: Space,
        bytes: u8,
        count: u8,
        offset: i32,
    },
    /// An element of a load.
    Part(u8),
    /// An affine value: for each 16 lanes a base of the block and a step.
    Affine {
        base: u16,
        step: i32,
    },
    /// A load at one of the block's affine addresses. With `broadcast` all lanes have the same elements. With `in_order` the
    /// elements' values hold the 16 lanes' memory in its order instead of one element of each lane; the stores of these values are
    /// `in_order`, too.
    AffineLoad {
        bytes: u8,
        count: u8,
        offset: i32,
        address: u16,
        broadcast: bool,
        in_order: bool,
    },
    /// A load of one dword per lane, consecutive from the first value's address plus a constant.
    Row(i32),
    /// A value with a fast path ([`crate::ir::fast_path`]). Operands: a condition, and the value where it is true.
    FastPath(u16),
    /// A scalar load of dwords.
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
    /// Returns true if the value is that of an operation on floats that depends on the floating-point environment.
    pub fn rounds(&self) -> bool {
        let Inst::Alu(op) = self.op else {
            return false;
        };
        let bits = matches!(
            op,
            Op::Neg
                | Op::Abs
                | Op::Select
                | Op::Unord
                | Op::Class
                | Op::FloatToInt
                | Op::FmaLdexp(_)
        );
        !bits && (self.ty.is_float() || self.out.is_float())
    }

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
            Inst::Pair
            | Inst::Cycle
            | Inst::Shld(_)
            | Inst::Shrd(_)
            | Inst::Group { .. }
            | Inst::FastPath(_) => 2,
            Inst::Alu(op) => op.arity(),
        }
    }

    pub fn inputs(&self) -> &[Id] {
        &self.args[..self.arity()]
    }
}

/// Returns the truth value of which a node is the part in active lanes. `None` if the node is something else.
pub(crate) fn limited_to_active(graph: &[Node], node: &Node) -> Option<Id> {
    let exec = |id: Id| graph[id as usize].op == Inst::Exec;
    match (node.op, node.ty, node.args) {
        (Inst::Alu(Op::And), Ty::Bool, [a, b, _]) if exec(b) => Some(a),
        (Inst::Alu(Op::And), Ty::Bool, [a, b, _]) if exec(a) => Some(b),
        _ => None,
    }
}

/// The compiler has no code for an operation: the interpreter runs the instruction.
#[derive(Debug)]
pub struct Unsupported;

pub(crate) type Got = Result<Id, Unsupported>;
