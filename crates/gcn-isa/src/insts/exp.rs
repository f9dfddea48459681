//! EXP: exports of positions, parameters and pixels.

use crate::format::Format;
use crate::inst::Inst;
use crate::meaning::Meaning;
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
    m.untold("Exports up to four dwords a lane, or with COMPR four 16-bit values, to a target.");
}
