//! Affine values: within each 16 lanes a base and a constant step from lane to lane.

use crate::ir::Id;
use gcn_isa::meaning::Op;
use gcn_isa::shape::Ty;
use std::collections::BTreeMap;

/// The number of a base in its block.
pub type Base = u16;

/// The operation that computes a base. Truth values are all ones or zeros.
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

/// A base: its values in lanes 0, 16, 32 and 48.
#[derive(Clone, Copy, Debug)]
pub struct BaseOp {
    pub op: BaseKind,
    pub args: [Base; 3],
    /// The slices need it in memory.
    pub stored: bool,
}

impl Guard {
    /// The bits in which 16 lanes may differ whose last one is so much more than the first one, below the highest that does.
    pub fn moving(step: i32) -> u32 {
        u32::MAX << step.trailing_zeros().min(31)
    }
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

/// A condition on slices with active lanes. `step` is the last lane's value less the first lane's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Guard {
    /// The upper bits are the same in all lanes.
    Top { of: Base, step: i32, bits: u8 },
    /// The values do not wrap at the ends of 32-bit numbers, signed or unsigned ones.
    NoWrap { of: Base, step: i32, signed: bool },
    /// `first < second` has the same result in all lanes.
    Less { of: [Base; 2], step: [i32; 2] },
    /// The bits in which lanes differ are 0 in the second value, or 1. Those below the lowest one of the step do not differ.
    Bits {
        of: Base,
        step: i32,
        mask: Base,
        ones: bool,
    },
    /// In all lanes the first value differs from the second (`op` is [`Op::Ne`]), is equal, is less, or is less or equal.
    AssumedCompare {
        op: Op,
        signed: bool,
        of: [Base; 2],
        step: [i32; 2],
    },
}

/// An affine address.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    pub lo: Base,
    /// The upper half of global addresses, or the limit of LDS.
    pub hi: Base,
    /// The address is `lo`, sign-extended to 64 bits and shifted left by this. Then `hi` is not read.
    pub index: Option<u8>,
    /// The halves of a 64-bit scalar that is added.
    pub plus: Option<(Id, Id)>,
    pub limit: Option<Id>,
    /// Bytes from lane to lane.
    pub step: i32,
    /// 1 read, 2 written.
    pub need: u8,
    /// The bytes that 16 lanes access, relative to the first lane's address.
    pub from: i32,
    pub to: i32,
    /// Inactive lanes are read too.
    pub reads_inactive: bool,
    /// Each lane writes several dwords, the first of all lanes before the second of any. Writing slice after slice gives the
    /// same result if the slices lie like this.
    pub slice_layout: Option<SliceLayout>,
}

/// How slices lie in memory so that no two lanes share bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SliceLayout {
    /// Their distances are multiples of a lane's bytes, which is the number, in units of `lo`.
    Multiples(i32),
    /// One after the other.
    Rows,
}

/// The values that a block computes once for 16 lanes.
#[derive(Default, Debug)]
pub struct AffineState {
    pub ops: Vec<BaseOp>,
    pub guards: Vec<Guard>,
    pub addresses: Vec<Address>,
    /// The address of the block's store and a constant.
    pub store: Option<(u16, i32)>,
    /// The addresses of the deferred stores.
    pub stores: Vec<(u16, i32)>,
    /// VGPRs that take affine values in all 64 lanes.
    pub writes: Vec<(u16, Base, i32)>,
    /// The VGPRs that the block relies on to be affine.
    pub state: AffineVgprs,
}

/// VGPRs that are affine in all 64 lanes, with their steps.
pub type AffineVgprs = BTreeMap<u16, i32>;
