//! VINTRP: interpolation of vertex attributes, and the shapes of the variants that exist only in VOP3.

use crate::format::{Field, Format};
use crate::inst::Inst;
use crate::meaning::{Meaning, Space, State, V};
use crate::shape::{Mods, Role::*, Shape, Slot, Ty, read, write};

const fn interp(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::Interp,
    }
}

const fn half(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::InterpHigh,
    }
}

static P1: Shape = interp(&[
    write(Vdst, Ty::F32),
    read(Src1, Ty::F32),
    read(Attr, Ty::F32),
]);
static P2: Shape = interp(&[
    write(Vdst, Ty::F32).read_too(),
    read(Src1, Ty::F32),
    read(Attr, Ty::F32),
]);
static MOV: Shape = interp(&[
    write(Vdst, Ty::F32),
    read(Param, Ty::F32),
    read(Attr, Ty::F32),
]);
/// v_interp_p1ll_f16.
pub static P1LL: Shape = half(&[
    write(Vdst, Ty::F32),
    read(Src1, Ty::F32),
    read(Attr, Ty::F32),
]);
/// v_interp_p1lv_f16, whose third source holds P0.
pub static P1LV: Shape = half(&[
    write(Vdst, Ty::F32),
    read(Src1, Ty::F32),
    read(Attr, Ty::F32),
    read(Src2, Ty::F16),
]);
/// v_interp_p2_f16.
pub static P2_F16: Shape = half(&[
    write(Vdst, Ty::F16),
    read(Src1, Ty::F32),
    read(Attr, Ty::F32),
    read(Src2, Ty::F32),
]);

const fn vintrp(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Vintrp, name, opcode, shape, meaning)
}

/// The rows. On gfx8 and gfx9 they have a VOP3 form, whose opcode is 624 more.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //      name               gfx6 gfx7 gfx8 gfx9  shape   meaning
    vintrp("v_interp_p1_f32",  [  0,   0,   0,   0], &P1,    p1).errata(&["interpolation"]),
    vintrp("v_interp_p2_f32",  [  1,   1,   1,   1], &P2,    p2).errata(&["interpolation"]),
    vintrp("v_interp_mov_f32", [  2,   2,   2,   2], &MOV,   mov).errata(&["interpolation"]),
];

/// The parameters of the lane's primitive for one channel of an attribute: P0, P10 and P20.
struct Parameters<'m> {
    m: &'m Meaning,
    /// The address of the primitive's twelve parameters of the attribute.
    start: V<'m>,
    channel: V<'m>,
}

/// A parameter of a primitive.
#[derive(Clone, Copy)]
enum Parameter {
    P0,
    P10,
    P20,
}

/// The addresses of the parameters of the row's attribute. The low half of M0 is the address of the first one. The bits above it
/// stand for the quads of lanes except the first: a bit is 1 if the quad belongs to another primitive than the quad before it.
fn parameters(m: &Meaning) -> Parameters<'_> {
    let attribute = m.operand(Attr).as_(Ty::U32);
    let m0 = m.get(State::M0).as_(Ty::U32);
    let starts = (m0 >> 16) & 0x7fff;
    let one = m.c(Ty::U32, 1);
    let primitive = (starts & ((one << (m.lane() >> 2)) - 1)).popcount();
    let primitives = starts.popcount() + 1;
    let twelve = (attribute & 63) * primitives + primitive;
    Parameters {
        m,
        start: ((m0 & 0xffff) + twelve * 48).zext(Ty::U64),
        channel: attribute >> 6,
    }
}

impl<'m> Parameters<'m> {
    fn get(&self, which: Parameter) -> V<'m> {
        // P0 and P10 of the four channels alternate; the P20 of the channels follow.
        let (stride, first) = match which {
            Parameter::P0 => (8, 0),
            Parameter::P10 => (8, 4),
            Parameter::P20 => (4, 32),
        };
        let at = self.start + (self.channel * stride).zext(Ty::U64);
        self.m.load(Space::Parameters, Ty::F32, at, first)
    }

    /// The half that HIGH selects, in double precision.
    fn half(&self, which: Parameter) -> V<'m> {
        let bits = self.get(which).as_(Ty::B32);
        let high = (self.m.field(Field::Src0) >> 8) & 1;
        let half = (bits >> (high << 4)).trunc(Ty::B16).as_(Ty::F16);
        half.to_width(Ty::F64)
    }
}

/// The undocumented part of interpolation.
const BOUND: &str =
    "no document says whether the product is rounded before the sum; here it is not";

fn p1(m: &Meaning) {
    m.about("The first step of interpolating an attribute: P10 * I + P0.");
    m.bounded(BOUND);
    let parameters = parameters(m);
    let [p0, p10] = [Parameter::P0, Parameter::P10].map(|p| parameters.get(p));
    m.d(p10.fma(m.s(1), p0));
}

fn p2(m: &Meaning) {
    m.about("The second step of interpolating an attribute: adds P20 * J.");
    m.bounded(BOUND);
    let p20 = parameters(m).get(Parameter::P20);
    m.d(p20.fma(m.s(1), m.old()));
}

fn mov(m: &Meaning) {
    m.about("Copies a parameter of an attribute: P10, P20 or P0.");
    let parameters = parameters(m);
    let which = m.operand(Param).as_(Ty::U32);
    let [p0, p10, p20] = [Parameter::P0, Parameter::P10, Parameter::P20].map(|p| parameters.get(p));
    let is = |number| which.eq(m.c(Ty::U32, number));
    m.d(is(0).select(p10, is(1).select(p20, p0)));
}

/// v_interp_p1ll_f16.
pub fn p1ll_f16(m: &Meaning) {
    m.about("The first step of interpolating an f16 attribute, in f32: P10 * I + P0. HIGH chooses the upper halves of the parameters.");
    m.bounded(BOUND);
    let parameters = parameters(m);
    let [p0, p10] = [Parameter::P0, Parameter::P10].map(|p| parameters.half(p));
    m.d(p10.fma(m.s(1).to_width(Ty::F64), p0).to_width(Ty::F32));
}

/// v_interp_p1lv_f16.
pub fn p1lv_f16(m: &Meaning) {
    m.about("The first step of interpolating an f16 attribute, in f32: P10 * I + P0, with P0 in the third source. HIGH chooses the upper half of P10 and P0.");
    m.bounded(BOUND);
    let p10 = parameters(m).half(Parameter::P10);
    let p0 = m.s(2).to_width(Ty::F64);
    m.d(p10.fma(m.s(1).to_width(Ty::F64), p0).to_width(Ty::F32));
}

/// v_interp_p2_f16 and v_interp_p2_legacy_f16.
pub fn p2_f16(m: &Meaning) {
    m.about("The second step of interpolating an f16 attribute: the third source plus P20 * J, rounded to f16. HIGH chooses the upper half of P20.");
    m.bounded(BOUND);
    let p20 = parameters(m).half(Parameter::P20);
    let [j, sum] = [1, 2].map(|n| m.s(n).to_width(Ty::F64));
    m.d(p20.fma(j, sum).to_width(Ty::F16));
}
