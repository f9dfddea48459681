//! Code that the tables of several formats share.

use crate::meaning::{Meaning, State, V};
use crate::shape::{Ty, valu};

/// The bit-field parameters of s_bfe_*: offset in the low bits of `control`, length in bits
/// 22:16; and the field, zero- or sign-extended as the type of `value` says. Length 0 gives 0.
pub fn bit_field<'m>(m: &'m Meaning, value: V<'m>, control: V<'m>) -> V<'m> {
    let width = value.ty.bits() as u64;
    let offset = control & (width - 1);
    let length = (control >> 16) & 0x7f;
    let end = offset + length;
    let inside = end.lt(m.c(Ty::U32, width));
    // Shift the top bit of the field to the top bit of the type, then shift back down.
    let top = m.c(Ty::U32, width) - end;
    let down = m.c(Ty::U32, width) - length;
    let cut = (value << top) >> down;
    let rest = value >> offset;
    let zero = m.c(value.ty, 0);
    length
        .eq(m.c(Ty::U32, 0))
        .select(zero, inside.select(cut, rest))
}

/// Splits EXEC by a condition mask, runs the smaller part first and pushes the other on the
/// control stack: s_cbranch_g_fork and s_cbranch_i_fork.
pub fn fork<'m>(m: &'m Meaning, condition: V<'m>, target: V<'m>) {
    let exec = m.get(State::Exec);
    let next = m.get(State::Pc);
    let pass = exec & condition;
    let fail = exec & !condition;
    let all_pass = pass.eq(exec);
    let mixed = !all_pass & fail.ne(exec);
    let fail_first = fail.popcount().lt(pass.popcount());
    let csp = m.get(State::Csp);
    let entry = csp << 2;
    m.when(all_pass, || m.set(State::Pc, target));
    m.when(mixed & fail_first, || {
        m.set(State::Exec, fail);
        m.set_sgpr_pair(entry, pass);
        m.set_sgpr_pair(entry + 2, target);
        m.set(State::Csp, csp + 1);
    });
    m.when(mixed & !fail_first, || {
        m.set(State::Exec, pass);
        m.set_sgpr_pair(entry, fail);
        m.set_sgpr_pair(entry + 2, next);
        m.set(State::Csp, csp + 1);
        m.set(State::Pc, target);
    });
}

/// Continues if the control stack's pointer is `base`; otherwise takes EXEC and PC from the top of the stack: s_cbranch_join.
pub fn join<'m>(m: &'m Meaning, base: V<'m>) {
    let csp = m.get(State::Csp);
    m.when(csp.ne(base), || {
        // CSP has three bits.
        let top = (csp - 1) & 7;
        let entry = (top << 2).as_(Ty::U32);
        m.set(State::Exec, m.sgpr(Ty::B64, entry));
        m.set(State::Pc, m.sgpr(Ty::B64, entry + 2));
        m.set(State::Csp, top);
    });
}

/// An instruction without operands.
pub static BARE: crate::shape::Shape = crate::shape::plain(&[]);

/// A vector instruction without operands.
pub static VBARE: crate::shape::Shape = valu(&[]);
