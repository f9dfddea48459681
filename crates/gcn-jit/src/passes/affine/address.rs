//! Memory accesses whose addresses are affine.

use super::derive::AffineValue;
use crate::ir::region::Store;
use crate::ir::{Id, Inst, Node, limited_to_active};
use gcn_isa::meaning::{Op, Space};
use gcn_isa::shape::Ty;

/// The elements of a memory access.
#[derive(Clone, Copy)]
pub(super) struct Access16 {
    pub space: Space,
    pub lo: Id,
    pub hi: Id,
    pub offset: i32,
    pub bytes: u8,
    pub count: u8,
    pub need: u8,
}

/// An affine address: its lower half without a constant, the upper half, and the constant.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub lo: Id,
    /// The upper half of the address; for LDS, the limit.
    pub hi: Id,
    /// `lo` and `hi` hold a signed 32-bit index that is shifted left by this.
    pub index: Option<u8>,
    /// The halves of a 64-bit scalar that is added to the address.
    pub plus: Option<(Id, Id)>,
    pub offset: i32,
    pub step: i32,
}

/// Returns the index and the shift if these two halves are a sign-extended index shifted left.
fn index_of(graph: &[Node], values: &[Option<AffineValue>], lo: Id, hi: Id) -> Option<(Id, u8)> {
    let node = |id: Id| &graph[id as usize];
    // Returns the value and the count of a shift by a constant.
    let shift = |id: Id, op: Op| {
        let n = node(id);
        let Inst::Const(by) = node(n.args[1]).op else {
            return None;
        };
        let is = n.vec && n.op == Inst::Alu(op) && n.ty.bits() == 32 && n.out.bits() == 32;
        (is && by < 32).then_some((n.args[0], by as u8))
    };
    let signed = |id: Id| shift(id, Op::Shr).filter(|_| node(id).ty.is_signed());
    let (of, by) = match (node(lo).op, node(hi).op) {
        (_, Inst::Shld(by)) => {
            let [sign, of, _] = node(hi).args;
            (signed(sign)? == (of, 31) && shift(lo, Op::Shl)? == (of, by)).then_some((of, by))?
        }
        (Inst::Shrd(right), _) => {
            let [zero, of, _] = node(lo).args;
            let is = node(zero).op == Inst::Const(0) && (1..32).contains(&right);
            (is && signed(hi)? == (of, right)).then_some((of, 32 - right))?
        }
        _ => (signed(hi)? == (lo, 31)).then_some((lo, 0))?,
    };
    let (step, whole) = (values[of as usize]?.step, values[lo as usize]?.step);
    let same = (step as i64) << by == whole as i64;
    (same && node(of).vec).then_some((of, by))
}

/// If the halves are a 64-bit sum of a value and a scalar, returns the halves of the value and the halves of the scalar. The
/// sum is affine if the value is, regardless of carries.
fn sum_of(graph: &[Node], values: &[Option<AffineValue>], lo: Id, hi: Id) -> Option<[Id; 4]> {
    let node = |id: Id| &graph[id as usize];
    let add = |id: Id| {
        let n = node(id);
        let found = n.vec && n.op == Inst::Alu(Op::Add) && n.ty.bits() == 32 && !n.ty.is_float();
        found.then_some([n.args[0], n.args[1]])
    };
    let scalar = |id: Id| !node(id).vec && values[id as usize].is_some();
    // The scalar comes second.
    let apart = |[a, b]: [Id; 2]| match (scalar(a), scalar(b)) {
        (_, true) => Some([a, b]),
        (true, _) => Some([b, a]),
        _ => None,
    };
    let of = add(lo)?;
    let is_carry = |id: Id| {
        let n = node(id);
        // A carry that went through VCC is combined with EXEC.
        let carry = node(n.args[0]);
        let less = limited_to_active(graph, carry).map_or(carry, node);
        (n.op, n.ty) == (Inst::Alu(Op::Zext), Ty::Bool)
            && less.op == Inst::Alu(Op::Lt)
            && less.ty.bits() == 32
            && !less.ty.is_signed()
            && !less.ty.is_float()
            && less.args[0] == lo
            && of.contains(&less.args[1])
    };
    let [a, b] = add(hi)?;
    let rest = match (is_carry(a), is_carry(b)) {
        (_, true) => a,
        (true, _) => b,
        _ => return None,
    };
    let [x, low] = apart(of)?;
    let [y, high] = match add(rest) {
        Some(halves) => apart(halves)?,
        None if scalar(rest) => {
            let zero = graph.iter().position(|n| n.op == Inst::Const(0))?;
            [zero as Id, rest]
        }
        None => return None,
    };
    let uniform = values[y as usize]?.step == 0;
    (uniform && values[x as usize].is_some()).then_some([x, y, low, high])
}

pub(super) fn address(
    graph: &[Node],
    values: &[Option<AffineValue>],
    a: Access16,
) -> Option<Found> {
    let step = values[a.lo as usize]?.step;
    let lds = a.space == Space::Lds;
    let shape = Shape::of(step, a.bytes, a.count, a.need == 2)?;
    // A slice may be only partly within LDS, so its lanes must be near each other.
    if lds && shape == Shape::Apart && (a.bytes != 4 || !(4..=NEAR).contains(&step)) {
        return None;
    }
    if a.space != Space::Lds {
        let high = values[a.hi as usize]?;
        let both = graph[a.lo as usize].vec || graph[a.hi as usize].vec;
        let mut found = Found {
            lo: a.lo,
            hi: a.hi,
            index: None,
            plus: None,
            offset: a.offset,
            step,
        };
        if let Some([x, y, low, high]) = sum_of(graph, values, a.lo, a.hi) {
            (found.lo, found.hi, found.plus) = (x, y, Some((low, high)));
        }
        if let Some((of, by)) = index_of(graph, values, found.lo, found.hi) {
            (found.lo, found.hi, found.index) = (of, of, Some(by));
        }
        return (high.step == 0 && both).then_some(found);
    }
    let (mut lo, mut offset) = (a.lo, a.offset);
    loop {
        let n = &graph[lo as usize];
        let [x, y, _] = n.args;
        let (Inst::Alu(Op::Add), Inst::Const(c)) = (n.op, graph[y as usize].op) else {
            break;
        };
        if c > 1 << 17 || n.ty.bits() != 32 || !n.vec || values[x as usize].is_none() {
            break;
        }
        lo = x;
        offset = offset.checked_add(c as i32)?;
    }
    (graph[lo as usize].vec && (0..1 << 20).contains(&offset)).then_some(Found {
        lo,
        hi: a.hi,
        index: None,
        plus: None,
        offset,
        step,
    })
}

/// The layout of the elements of 16 lanes in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// All lanes access the same elements.
    Same,
    /// The lanes' elements are contiguous.
    Dense,
    /// Dwords of lanes that are one, two or four dwords apart: a row of that many dwords is read for each lane.
    Rows,
    /// Any other layout. No two lanes write the same bytes.
    Apart,
}

/// The maximum distance from lane to lane of [`Shape::Apart`], in bytes.
const APART: i32 = 1 << 14;
/// The maximum distance in LDS.
const NEAR: i32 = 256;
// The distances of 16 lanes, and the extents of accesses, must fit in signed 32-bit numbers.
const _: () = assert!(16 * APART as i64 + (1 << 16) < i32::MAX as i64 && NEAR <= APART);

impl Shape {
    pub fn of(step: i32, bytes: u8, count: u8, written: bool) -> Option<Shape> {
        let size = bytes as i32 * count as i32;
        match (step, bytes, count) {
            (0, 1 | 2 | 4, _) if !written => Some(Shape::Same),
            (_, 1 | 2, 1) | (_, 4 | 8, 1 | 2 | 4) if step == size => Some(Shape::Dense),
            (0, ..) => None,
            (4 | 8 | 16, 4, _) if !written => Some(Shape::Rows),
            _ if step.abs() > APART => None,
            (_, 4, _) if !written || step.abs() >= size => Some(Shape::Apart),
            (_, 1 | 2, 1) if !written => Some(Shape::Apart),
            // Elements of one or two bytes are stored only at small distances.
            (1..=4, 1 | 2, 1) if step >= size => Some(Shape::Apart),
            _ => None,
        }
    }

    /// Returns the bytes that an access at an offset from lanes' addresses may touch: the first, and the one after the last.
    pub fn touched(self, step: i32, bytes: u8, count: u8, offset: i32) -> (i32, i32) {
        let size = bytes as i32 * count as i32;
        let (from, to) = match self {
            // A gather reads at least a dword per lane.
            Shape::Apart if !within_register(step) => (offset, offset.saturating_add(size.max(4))),
            Shape::Rows => {
                let from = row_of(step, offset);
                let rows = ((offset - from + size) as u32).next_multiple_of(step as u32) as i32;
                (from, from.saturating_add(rows))
            }
            _ => (offset, offset.saturating_add(size)),
        };
        let (least, most) = (15 * step.min(0), 15 * step.max(0));
        (from.saturating_add(least), to.saturating_add(most))
    }

    /// Returns true if memory between the elements is read.
    pub fn reads_more(self, step: i32) -> bool {
        self == Shape::Rows && step > 4
    }
}

/// Returns the start of the first of the [rows](Shape::Rows) of an access. Addresses tend to be multiples of the step, so rows
/// end where objects end.
pub fn row_of(step: i32, offset: i32) -> i32 {
    match offset % 4 {
        0 => offset - offset.rem_euclid(step),
        _ => offset,
    }
}

/// Returns true if 16 lanes' elements of up to four bytes fit one vector register.
pub fn within_register(step: i32) -> bool {
    (1..=4).contains(&step)
}

pub(super) fn load_of(n: &Node) -> Option<Access16> {
    match n.op {
        Inst::Group {
            space,
            bytes,
            count,
            offset,
        } if n.vec => Some(Access16 {
            space,
            lo: n.args[0],
            hi: n.args[1],
            offset,
            bytes,
            count,
            need: 1,
        }),
        _ => None,
    }
}

pub(super) fn store_of(s: &Store) -> Access16 {
    Access16 {
        space: s.space,
        lo: s.lo,
        hi: s.hi,
        offset: s.offset,
        bytes: s.bytes,
        count: s.data.len() as u8,
        need: 2,
    }
}
