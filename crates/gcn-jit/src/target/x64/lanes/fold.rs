//! Elements that only one operation reads, which reads them from memory itself.

use super::inst::L;
use super::*;
use crate::lir::Role;
use std::collections::BTreeSet;

/// Lets operations on floats load operands that nothing else reads. The operands of sums and products change places for that only if their results are
/// checked for NaNs: of two NaNs the host gives the first one.
pub(super) fn elements(code: &mut Code<L>, checked: &BTreeSet<VReg>) {
    let count = code.insts.len() as u32;
    let mut reads: Map<VReg, u32> = Map::default();
    for at in 0..count {
        for &(r, role) in code.operands(at) {
            if matches!(role, Role::Use | Role::Any) {
                *reads.entry(r).or_insert(0) += 1;
            }
        }
    }
    let stores = |op: &L| matches!(op, L::Put(_) | L::Stage(_));
    let end = code
        .insts
        .iter()
        .position(|i| stores(&i.op))
        .unwrap_or(count as usize);
    let mut removed = vec![false; count as usize];
    for at in 0..end as u32 {
        let op = &code.insts[at as usize].op;
        // The operand that may be in memory, and the one with which it may change places.
        let (k, other, wide) = match *op {
            L::Float2(0x58 | 0x59, wide) if checked.contains(&code.operands(at)[2].0) => {
                (1, Some(0), wide)
            }
            L::Float2(_, wide) => (1, None, wide),
            L::Fma(wide, _) => (3, None, wide),
            L::FmaTo(wide, _) => (3, Some(2), wide),
            _ => continue,
        };
        let bytes = if wide { 8 } else { 4 };
        let element = |k: usize| {
            let r = code.operands(at)[k].0;
            let L::Element(of) = code.origin_of(r).op else {
                return None;
            };
            (reads.get(&r) == Some(&1) && !of.lds && of.bytes == bytes).then_some((r, of))
        };
        let (from, of) = match (element(k), other.and_then(element)) {
            (Some(found), _) => found,
            (None, Some(found)) => {
                let moved = code.operands(at)[k].0;
                code.replace_operand(at, other.unwrap_or(k), moved);
                found
            }
            _ => continue,
        };
        let load = code.origin(from);
        let address = code.operands(load)[0].0;
        let op = L::From(Box::new(code.insts[at as usize].op.clone()), k, of);
        code.replace_operand(at, k, address);
        code.insts[at as usize].op = op;
        removed[load as usize] = true;
    }
    code.remove(&removed);
}
