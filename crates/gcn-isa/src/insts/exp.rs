//! EXP: exports of positions, parameters and pixels.

use crate::format::{Field, Format};
use crate::inst::Inst;
use crate::meaning::{Meaning, Signal};
use crate::shape::{Mods, Role::*, Shape, Ty, read};

static EXPORT: Shape = Shape {
    slots: &[
        read(ExpTgt, Ty::B32),
        read(ExpSrc(0), Ty::B32),
        read(ExpSrc(1), Ty::B32),
        read(ExpSrc(2), Ty::B32),
        read(ExpSrc(3), Ty::B32),
    ],
    mods: Mods::Export,
};

/// The row.
pub static ROWS: &[Inst] = &[Inst::new(Format::Exp, "exp", [0, 0, 0, 0], &EXPORT, export)];

fn export(m: &Meaning) {
    m.about("Exports up to four dwords a lane, or with COMPR four 16-bit values, to a target. EN says which. DONE marks the last export, VM that EXEC says which pixels are drawn.");
    let target = m.field(Field::Tgt);
    let compressed = m.field(Field::Compr).nonzero();
    for k in 0..4 {
        let source = m.operand(ExpSrc(k));
        // With COMPR two components share a VGPR; X and Z are in the low half.
        let half = if k & 1 == 0 {
            source & 0xffff
        } else {
            source >> 16
        };
        m.when(m.field(Field::En).bits(k as u32, 1).nonzero(), || {
            m.export(k, target, compressed.select(half, source));
        });
    }
    m.signal(
        Signal::Exported,
        m.field(Field::Done) | (m.field(Field::Vm) << 1),
    );
}
