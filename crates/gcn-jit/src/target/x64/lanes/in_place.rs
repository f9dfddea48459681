//! Operations whose results are written where the next iteration finds them.

use super::inst::{Home, L, What};
use super::*;
use crate::lir::{Remat, Role};
use std::collections::BTreeSet;

/// Lets operations whose results are kept for the next iteration, and whose old values nothing reads afterwards, write these where they are kept.
pub(super) fn in_place(code: &Code<L>) -> Code<L> {
    let home_of = |r: VReg| match &code.origin_of(r).op {
        L::Home(home) => Some(home.what),
        _ => None,
    };
    let count = code.insts.len() as u32;
    // Where each kept value is read last.
    let mut last: Map<What, u32> = Map::default();
    for at in 0..count {
        for &(r, role) in code.operands(at) {
            if let Some(what) = home_of(r).filter(|_| matches!(role, Role::Use | Role::Any)) {
                last.insert(what, at);
            }
        }
    }
    let mut writes: Map<u32, Home> = Map::default();
    let mut sets: Map<u32, u32> = Map::default();
    let sunk = sunk(code, home_of);
    for at in 0..count {
        let L::SetHome(home) = code.insts[at as usize].op else {
            continue;
        };
        let value = code.operands(at)[0].0;
        let by = code.origin(value);
        let op = &code.insts[by as usize].op;
        let operands = code.operands(by);
        let own = |r: VReg| home_of(r) == Some(home.what);
        let result = operands.iter().position(|o| o.0 == value);
        let fits = match result.map(|k| (k, operands[k].1)) {
            // The first operand is overwritten; the others must not be what is kept.
            Some((1, Role::Tied)) => !operands[2..].iter().any(|o| own(o.0)),
            Some((_, Role::Def)) => !matches!(op, L::Home(_)),
            _ => false,
        };
        let place = if sunk.contains(&by) { at } else { by };
        let read_later = last.get(&home.what).is_some_and(|&at| at > place);
        if home.register.is_some() && fits && !read_later && !writes.contains_key(&by) {
            writes.insert(by, home);
            sets.insert(at, by);
        }
    }
    let mut out = Code::default();
    let mut regs: Map<u32, VReg> = Map::default();
    let mut map =
        |out: &mut Code<L>, r: VReg| *regs.entry(r.0).or_insert_with(|| out.reg(code.class(r)));
    for at in 0..count {
        let at = match sets.get(&at) {
            Some(&by) if sunk.contains(&by) => by,
            None if writes.contains_key(&at) && sunk.contains(&at) => continue,
            Some(_) => continue,
            None => at,
        };
        let inst = &code.insts[at as usize];
        let operands = code.operands(at);
        match writes.get(&at) {
            Some(&home) => {
                let mut new = Vec::new();
                let mut value = None;
                for (k, &(r, role)) in operands.iter().enumerate() {
                    match role {
                        Role::Tied | Role::Def => value = Some(r),
                        // It is copied to where the result is kept, unless it is there.
                        Role::Use
                            if k == 0 && operands.get(1).is_some_and(|o| o.1 == Role::Tied) =>
                        {
                            new.push((map(&mut out, r), Role::Any));
                        }
                        _ => new.push((map(&mut out, r), role)),
                    }
                }
                out.push(L::InPlace(Box::new(inst.op.clone()), home), &new);
                if let Some(value) = value {
                    let d = map(&mut out, value);
                    out.push_remat_to(L::Home(home), Remat::Register, d);
                }
            }
            None if inst.remat != Remat::No => {
                let d = map(&mut out, operands[0].0);
                out.push_remat_to(inst.op.clone(), inst.remat, d);
            }
            None => {
                let new: Vec<_> = operands
                    .iter()
                    .map(|&(r, role)| (map(&mut out, r), role))
                    .collect();
                out.push(inst.op.clone(), &new);
            }
        }
    }
    out
}

/// Returns the operations that add to what is kept, or combine it otherwise with what does not change, and whose results nothing reads before they are
/// kept. They come last, so that what is kept has its old value as long as possible.
fn sunk(code: &Code<L>, home_of: impl Fn(VReg) -> Option<What>) -> BTreeSet<u32> {
    let count = code.insts.len() as u32;
    let mut first_read: Map<VReg, u32> = Map::default();
    for at in (0..count).rev() {
        for &(r, role) in code.operands(at) {
            if matches!(role, Role::Use | Role::Any) {
                first_read.insert(r, at);
            }
        }
    }
    let mut sunk = BTreeSet::new();
    for at in 0..count {
        let L::SetHome(home) = code.insts[at as usize].op else {
            continue;
        };
        let value = code.operands(at)[0].0;
        let by = code.origin(value);
        let operands = code.operands(by);
        let steps = matches!(code.insts[by as usize].op, L::BinaryImm(..) | L::Binary(..));
        let unchanging = |r: VReg| matches!(code.origin_of(r).op, L::Memory(..) | L::Imm(_));
        if steps
            && home_of(operands[0].0) == Some(home.what)
            && operands[2..].iter().all(|o| unchanging(o.0))
            && first_read.get(&value) == Some(&at)
        {
            sunk.insert(by);
        }
    }
    sunk
}
