//! The meanings of loads, stores and atomics of SMEM, MUBUF, FLAT, GLOBAL and SCRATCH. The format determines the address; the
//! row's shape determines the rest.

use crate::format::{Field, Format};
use crate::meaning::{AtomicOp, Meaning, Space, V};
use crate::shape::{Role, Ty};

fn space(m: &Meaning) -> Space {
    match m.row().format {
        Format::Flat => Space::Flat,
        Format::Scratch => Space::Scratch,
        _ => Space::Global,
    }
}

/// The operand that holds the data of a store or atomic.
fn data(m: &Meaning) -> (Role, Ty) {
    let slots = m.row().shape.slots;
    match slots
        .iter()
        .find(|s| matches!(s.role, Role::Sdata | Role::Vdata | Role::Data0))
    {
        Some(slot) => (slot.role, slot.ty),
        None => panic!("{}: its shape has no data", m.row().name),
    }
}

/// Loads as many dwords as the destination holds.
pub fn load(m: &Meaning) {
    m.about("Loads consecutive dwords.");
    let address = m.address();
    // The destination is the first operand of every load.
    for k in 0..m.row().shape.slots[0].ty.dwords() {
        m.d_dword(k, m.load(space(m), Ty::B32, address, 4 * k as i32));
    }
}

fn load_part(m: &Meaning, ty: Ty, signed: bool) -> V<'_> {
    let part = m.load(space(m), ty, m.address(), 0);
    if signed {
        part.sext(Ty::B32)
    } else {
        part.zext(Ty::B32)
    }
}

/// Loads a byte.
pub fn load_ubyte(m: &Meaning) {
    m.about("Loads a byte.");
    m.d(load_part(m, Ty::B8, false));
}

/// Loads a signed byte.
pub fn load_sbyte(m: &Meaning) {
    m.about("Loads a byte, sign-extended.");
    m.d(load_part(m, Ty::B8, true));
}

/// Loads 16 bits.
pub fn load_ushort(m: &Meaning) {
    m.about("Loads 16 bits.");
    m.d(load_part(m, Ty::B16, false));
}

/// Loads 16 signed bits.
pub fn load_sshort(m: &Meaning) {
    m.about("Loads 16 bits, sign-extended.");
    m.d(load_part(m, Ty::B16, true));
}

fn to_low(m: &Meaning, part: V<'_>) {
    m.d((m.old() & 0xffff_0000) | (part & 0xffff));
}

fn to_high(m: &Meaning, part: V<'_>) {
    m.d((m.old() & 0xffff) | (part << 16));
}

/// Loads a byte into the low half.
pub fn load_ubyte_d16(m: &Meaning) {
    m.about("Loads a byte into the destination's low half; the high half is kept.");
    to_low(m, load_part(m, Ty::B8, false));
}

/// Loads a byte into the high half.
pub fn load_ubyte_d16_hi(m: &Meaning) {
    m.about("Loads a byte into the destination's high half; the low half is kept.");
    to_high(m, load_part(m, Ty::B8, false));
}

/// Loads a signed byte into the low half.
pub fn load_sbyte_d16(m: &Meaning) {
    m.about("Loads a byte, sign-extended, into the destination's low half; the high half is kept.");
    to_low(m, load_part(m, Ty::B8, true));
}

/// Loads a signed byte into the high half.
pub fn load_sbyte_d16_hi(m: &Meaning) {
    m.about("Loads a byte, sign-extended, into the destination's high half; the low half is kept.");
    to_high(m, load_part(m, Ty::B8, true));
}

/// Loads 16 bits into the low half.
pub fn load_short_d16(m: &Meaning) {
    m.about("Loads 16 bits into the destination's low half; the high half is kept.");
    to_low(m, load_part(m, Ty::B16, false));
}

/// Loads 16 bits into the high half.
pub fn load_short_d16_hi(m: &Meaning) {
    m.about("Loads 16 bits into the destination's high half; the low half is kept.");
    to_high(m, load_part(m, Ty::B16, false));
}

/// Stores as many dwords as the data holds.
pub fn store(m: &Meaning) {
    m.about("Stores consecutive dwords.");
    let address = m.address();
    let (role, ty) = data(m);
    for k in 0..ty.dwords() {
        m.store(space(m), address, 4 * k as i32, m.dword(role, k));
    }
}

fn store_part(m: &Meaning, ty: Ty, shift: u64) {
    let whole = m.operand(data(m).0);
    let part = if shift == 0 { whole } else { whole >> shift };
    m.store(space(m), m.address(), 0, part.trunc(ty));
}

/// Stores a byte.
pub fn store_byte(m: &Meaning) {
    m.about("Stores the data's low byte.");
    store_part(m, Ty::B8, 0);
}

/// Stores 16 bits.
pub fn store_short(m: &Meaning) {
    m.about("Stores the data's low half.");
    store_part(m, Ty::B16, 0);
}

/// Stores bits 23:16.
pub fn store_byte_d16_hi(m: &Meaning) {
    m.about("Stores bits 23:16 of the data.");
    store_part(m, Ty::B8, 16);
}

/// Stores the high half.
pub fn store_short_d16_hi(m: &Meaning) {
    m.about("Stores the data's high half.");
    store_part(m, Ty::B16, 16);
}

/// One or two dwords of the data from dword `first` on, as a value of type `ty`.
fn part(m: &Meaning, first: u8, ty: Ty) -> V<'_> {
    let (role, _) = data(m);
    let low = m.dword(role, first);
    if ty.bits() == 32 {
        return low.as_(ty);
    }
    (low.zext(Ty::B64) | (m.dword(role, first + 1).zext(Ty::B64) << 32)).as_(ty)
}

/// With GLC, the destination takes the old value.
fn give_back(m: &Meaning, old: V<'_>) {
    m.when(m.field(Field::Glc).nonzero(), || {
        if old.ty.bits() == 32 {
            m.d_dword(0, old.as_(Ty::B32));
        } else {
            m.d_dword(0, old.trunc(Ty::B32));
            m.d_dword(1, (old.as_(Ty::B64) >> 32).trunc(Ty::B32));
        }
    });
}

fn atomic(m: &Meaning, op: AtomicOp, signed: bool) {
    let ty = match (data(m).1, signed) {
        (Ty::B32, false) => Ty::U32,
        (Ty::B32, true) => Ty::I32,
        (_, false) => Ty::U64,
        (_, true) => Ty::I64,
    };
    let value = part(m, 0, ty);
    give_back(m, m.atomic(space(m), op, m.address(), value, value));
}

/// Swap.
pub fn swap(m: &Meaning) {
    m.about("Atomically stores the data; GLC gives the old value.");
    atomic(m, AtomicOp::Swap, false);
}

/// Compare and swap.
pub fn cmpswap(m: &Meaning) {
    m.about("Atomically stores the data's first half where memory equals its second half; GLC gives the old value.");
    let (ty, second) = if data(m).1 == Ty::B64 {
        (Ty::U32, 1)
    } else {
        (Ty::U64, 2)
    };
    let (new, compared) = (part(m, 0, ty), part(m, second, ty));
    give_back(
        m,
        m.atomic(space(m), AtomicOp::CmpSwap, m.address(), new, compared),
    );
}

/// Add.
pub fn add(m: &Meaning) {
    m.about("Atomically adds the data to memory; GLC gives the old value.");
    atomic(m, AtomicOp::Add, false);
}

/// Subtract.
pub fn sub(m: &Meaning) {
    m.about("Atomically subtracts the data from memory; GLC gives the old value.");
    atomic(m, AtomicOp::Sub, false);
}

/// Reverse subtract.
pub fn rsub(m: &Meaning) {
    m.about("Atomically stores the data minus memory; GLC gives the old value.");
    atomic(m, AtomicOp::Rsub, false);
}

/// Signed minimum.
pub fn smin(m: &Meaning) {
    m.about(
        "Atomically stores the smaller, signed, of memory and the data; GLC gives the old value.",
    );
    atomic(m, AtomicOp::Min, true);
}

/// Unsigned minimum.
pub fn umin(m: &Meaning) {
    m.about(
        "Atomically stores the smaller, unsigned, of memory and the data; GLC gives the old value.",
    );
    atomic(m, AtomicOp::Min, false);
}

/// Signed maximum.
pub fn smax(m: &Meaning) {
    m.about(
        "Atomically stores the larger, signed, of memory and the data; GLC gives the old value.",
    );
    atomic(m, AtomicOp::Max, true);
}

/// Unsigned maximum.
pub fn umax(m: &Meaning) {
    m.about(
        "Atomically stores the larger, unsigned, of memory and the data; GLC gives the old value.",
    );
    atomic(m, AtomicOp::Max, false);
}

/// AND.
pub fn and(m: &Meaning) {
    m.about("Atomically ANDs the data into memory; GLC gives the old value.");
    atomic(m, AtomicOp::And, false);
}

/// OR.
pub fn or(m: &Meaning) {
    m.about("Atomically ORs the data into memory; GLC gives the old value.");
    atomic(m, AtomicOp::Or, false);
}

/// XOR.
pub fn xor(m: &Meaning) {
    m.about("Atomically XORs the data into memory; GLC gives the old value.");
    atomic(m, AtomicOp::Xor, false);
}

/// Count up.
pub fn inc(m: &Meaning) {
    m.about("Atomically counts up: 0 where memory is at least the data, else memory plus 1; GLC gives the old value.");
    atomic(m, AtomicOp::Inc, false);
}

/// Count down.
pub fn dec(m: &Meaning) {
    m.about("Atomically counts down: the data where memory is 0 or above it, else memory minus 1; GLC gives the old value.");
    atomic(m, AtomicOp::Dec, false);
}

/// The type of floats that the data, or each half of it, holds.
fn float(m: &Meaning, halves: bool) -> Ty {
    match (data(m).1, halves) {
        (Ty::B32, false) | (Ty::B64, true) => Ty::F32,
        _ => Ty::F64,
    }
}

/// Compare and swap floats.
pub fn fcmpswap(m: &Meaning) {
    m.about("Atomically stores the data's first half where memory equals its second half, compared as floats: zeros are equal whatever their signs, a NaN equals nothing. GLC gives the old value.");
    let ty = float(m, true);
    let (new, compared) = (part(m, 0, ty), part(m, ty.dwords(), ty));
    give_back(
        m,
        m.atomic(space(m), AtomicOp::CmpSwap, m.address(), new, compared),
    );
}

fn float_atomic(m: &Meaning, op: AtomicOp) {
    let value = part(m, 0, float(m, false));
    give_back(m, m.atomic(space(m), op, m.address(), value, value));
}

/// The smaller float.
pub fn fmin(m: &Meaning) {
    m.about("Atomically stores the smaller of the data and memory, floats, -0 being below +0; if one is a quiet NaN, the other; a signalling NaN is made quiet. GLC gives the old value.");
    float_atomic(m, AtomicOp::Min);
}

/// The larger float.
pub fn fmax(m: &Meaning) {
    m.about("Atomically stores the larger of the data and memory, floats, +0 being above -0; if one is a quiet NaN, the other; a signalling NaN is made quiet. GLC gives the old value.");
    float_atomic(m, AtomicOp::Max);
}
