//! Affine values: within each 16 lanes a base and a constant step from lane to lane.

use crate::ir::Id;
use gcn_isa::meaning::Op;
use gcn_isa::shape::Ty;
use std::collections::BTreeMap;

/// The number of a base in its block.
pub type Base = u16;

/// What computes a base. Truth values are all ones or zeros.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum BaseKind {
    /// Lanes 0, 16, 32 and 48 of a VGPR as it is at the block's start.
    Vgpr(u16),
    /// 0, 16, 32, 48.
    Lane,
    /// A scalar of the block's graph, four times.
    Scalar(Id),
    Const(u32),
    Alu(Op, Ty),
    Shld(u8),
    Shrd(u8),
}

/// A base.
#[derive(Clone, Copy, Debug)]
pub struct BaseOp {
    pub op: BaseKind,
    pub args: [Base; 3],
    /// The slices need it in memory.
    pub stored: bool,
}

impl BaseOp {
    pub fn inputs(&self) -> &[Base] {
        let n = match self.op {
            BaseKind::Alu(op, _) => op.arity(),
            BaseKind::Shld(_) | BaseKind::Shrd(_) => 2,
            _ => 0,
        };
        &self.args[..n]
    }
}

/// What must be so of slices with active lanes. `step`: what the last lane's value is more than the first's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Guard {
    /// The upper bits are the same in all lanes.
    Top { of: Base, step: i32, bits: u8 },
    /// The values do not run over 32 bits.
    Within { of: Base, step: i32 },
    /// All lanes answer alike whether the first is less than the second.
    Less { of: [Base; 2], step: [i32; 2] },
    /// The bits in which lanes differ are 0 in the second value, or 1.
    Bits {
        of: Base,
        step: i32,
        mask: Base,
        ones: bool,
    },
    /// Of all lanes the first value differs from the second (`op` is [`Op::Ne`]), or is less, or no more.
    AssumedCompare {
        op: Op,
        signed: bool,
        of: [Base; 2],
        step: [i32; 2],
    },
}

/// Addresses that are linear.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    pub lo: Base,
    /// The upper half of global addresses, or the limit of LDS.
    pub hi: Base,
    /// Scalars that are the halves of what is added to both.
    pub plus: Option<(Id, Id)>,
    pub limit: Option<Id>,
    /// Bytes from lane to lane.
    pub step: i32,
    /// 1 read, 2 written.
    pub need: u8,
    /// What is accessed: bytes from the first lane's address on, of all 16 lanes.
    pub from: i32,
    pub to: i32,
    /// inactive lanes are read, too.
    pub whole: bool,
    /// Several dwords of each lane are written, the first of all lanes before the second of any: 16 lanes after the others
    /// come to the same where the slices lie so.
    pub slice_layout: Option<SliceLayout>,
}

/// How slices lie of which no lane has a part of another one's bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SliceLayout {
    /// Multiples of a lane's bytes, so many, apart.
    Multiples(i32),
    /// One behind the other.
    Rows,
}

/// What a block computes for 16 lanes at a time.
#[derive(Default, Debug)]
pub struct AffineState {
    pub ops: Vec<BaseOp>,
    pub guards: Vec<Guard>,
    pub addresses: Vec<Address>,
    /// The address of the block's store and a constant.
    pub store: Option<(u16, i32)>,
    /// Those of the stores that wait.
    pub stores: Vec<(u16, i32)>,
    /// VGPRs that take linear values in all 64 lanes.
    pub writes: Vec<(u16, Base, i32)>,
    /// What the block relies on.
    pub facts: AffineVgprs,
}

/// VGPRs that are linear in all 64 lanes, with their steps.
pub type AffineVgprs = BTreeMap<u16, i32>;
