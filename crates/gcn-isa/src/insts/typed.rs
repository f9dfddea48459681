//! The meanings of loads and stores of typed elements: MUBUF's take the format of the buffer resource, MTBUF's their own.

use crate::meaning::{Halves, Meaning};
use crate::shape::{Role, Ty};
use crate::target::Features;

/// Loads one component per dword of the destination.
pub fn load_format(m: &Meaning) {
    m.about("Loads an element and converts its components to 32 bits each.");
    let address = m.address();
    for k in 0..m.row().shape.slots[0].ty.dwords() {
        m.d_dword(k, m.load_format(Ty::B32, address, k));
    }
}

/// Stores one component per dword of the data.
pub fn store_format(m: &Meaning) {
    m.about(
        "Stores an element, its components converted from 32 bits each; missing components are 0.",
    );
    let count = m.row().shape.slots[0].ty.dwords();
    m.store_format(Role::Vdata, m.address(), count, Halves::No);
}

fn packed(m: &Meaning) -> bool {
    m.target().features().has(Features::PACKED_D16)
}

/// Loads `COUNT` components of 16 bits.
pub fn load_format_d16<const COUNT: u8>(m: &Meaning) {
    let address = m.address();
    let half = |k| m.load_format(Ty::B16, address, k).zext(Ty::B32);
    if !packed(m) {
        m.about("Loads an element and converts its components to 16 bits each, a VGPR each, whose upper half is 0.");
        for k in 0..COUNT {
            m.d_dword(k, half(k));
        }
        return;
    }
    m.about("Loads an element and converts its components to 16 bits each, two in a VGPR. The upper half of the last one is kept where their number is odd.");
    for k in (0..COUNT).step_by(2) {
        let upper = if k + 1 < COUNT {
            half(k + 1) << 16
        } else {
            m.dword(Role::Vdata, k / 2) & 0xffff_0000
        };
        m.d_dword(k / 2, half(k) | upper);
    }
}

/// Stores `COUNT` components of 16 bits.
pub fn store_format_d16<const COUNT: u8>(m: &Meaning) {
    let halves = if packed(m) {
        m.about("Stores an element, its components converted from 16 bits each, two in a VGPR; missing components are 0.");
        Halves::Both
    } else {
        m.about("Stores an element, its components converted from 16 bits each, the low half of a VGPR each; missing components are 0.");
        Halves::Low
    };
    m.store_format(Role::Vdata, m.address(), COUNT, halves);
}
