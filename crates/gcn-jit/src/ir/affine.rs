//! Affine values: for each 16 lanes a base and a constant step from lane to lane.

use crate::ir::Id;
use gcn_isa::meaning::Op;
use gcn_isa::shape::Ty;
use std::collections::BTreeMap;

/// The number of a base in its block.
pub type Base = u16;

/// The operation that computes a base. Truth values are all ones or zeros.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum BaseKind {
    /// Lanes 0, 16, 32 and 48 of a VGPR at the block's start.
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
    /// The slices read the base from memory.
    pub stored: bool,
}

impl Guard {
    /// Returns the bits in which 16 lanes may differ, up to the highest differing one, which the caller determines. `step` is the last lane's value
    /// minus the first lane's.
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

/// Which guards a block may have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Trust {
    /// None, and no access is at an affine address: 16 lanes may reach further than the memory that the active ones access.
    Nothing,
    /// Those of carries: all lanes have the same carry of a sum, and the upper half of a product is zero.
    Carries,
    /// All of them.
    #[default]
    Everything,
}

impl Trust {
    pub fn name(self) -> &'static str {
        match self {
            Trust::Nothing => "nothing",
            Trust::Carries => "carries",
            Trust::Everything => "everything",
        }
    }
}

/// What a block should no longer assume if it was left because an assumption did not hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Suspect {
    /// The values of scalars.
    Guesses,
    /// More than this.
    Guards(Trust),
}

/// A condition on slices with active lanes. `step` is the last lane's value minus the first lane's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Guard {
    /// The upper bits are the same in all lanes.
    Top { of: Base, step: i32, bits: u8 },
    /// The values do not wrap as signed or unsigned 32-bit numbers.
    NoWrap { of: Base, step: i32, signed: bool },
    /// `first < second` has the same result in all lanes.
    Less { of: [Base; 2], step: [i32; 2] },
    /// The bits in which lanes differ are all 0 (or all 1) in the second value. Bits below the step's lowest 1 do not differ.
    Bits {
        of: Base,
        step: i32,
        mask: Base,
        ones: bool,
    },
    /// In all lanes the comparison `op` of the two values holds: not equal ([`Op::Ne`]), equal, less, or less or equal.
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
    /// The address is `lo`, sign-extended to 64 bits and shifted left by this. In this case `hi` is not read.
    pub index: Option<u8>,
    /// The halves of a 64-bit scalar that is added to the address.
    pub plus: Option<(Id, Id)>,
    pub limit: Option<Id>,
    /// The distance from lane to lane, in bytes.
    pub step: i32,
    /// 1 read, 2 written.
    pub need: u8,
    /// The bytes that 16 lanes access, relative to the first lane's address.
    pub from: i32,
    pub to: i32,
    /// Inactive lanes are read, too.
    pub reads_inactive: bool,
    /// Each lane writes several dwords: all lanes' first dwords before any second one. Writing slice after slice gives the
    /// same result if the slices have this layout.
    pub slice_layout: Option<SliceLayout>,
}

/// A layout of slices in memory in which no two lanes share bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SliceLayout {
    /// The distances between slices are multiples of a lane's size, which is the number, in units of `lo`.
    Multiples(i32),
    /// The slices follow each other.
    Rows,
}

/// The values that a block computes once per 16 lanes.
#[derive(Clone, Default, Debug)]
pub struct AffineState {
    pub ops: Vec<BaseOp>,
    pub guards: Vec<Guard>,
    pub addresses: Vec<Address>,
    /// The address of the block's store and a constant.
    pub store: Option<(u16, i32)>,
    /// The addresses of the deferred stores.
    pub stores: Vec<(u16, i32)>,
    /// VGPRs that are written with affine values in all 64 lanes.
    pub writes: Vec<(u16, Base, i32)>,
    /// The VGPRs that must be affine at the block's start.
    pub state: AffineVgprs,
}

/// VGPRs that are affine in all 64 lanes, with their steps.
pub type AffineVgprs = BTreeMap<u16, i32>;
