//! The machine instructions of a lane's code, and their encoding.
//!
//! Class 0 are general registers: integers, addresses, and truth values as 0 or 1. Values of 32 bits have zeros above them. Class 1 are
//! vector registers, of which the lowest element counts.

use super::*;
use crate::lir::Role;
use crate::target::x64::encode::vex::{H, LOAD, X};

/// The general registers that are allocated. Those that keep values from iteration to iteration are taken from the end.
pub(super) const GENERAL: [Gpr; 9] = [RDX, RSI, RDI, R8, R9, R10, R11, R12, R14];
/// Where the next entry of the log goes, if the loop stores. It is not allocated then.
pub(super) const LOG: Gpr = R14;
/// In the code of a block that is no loop: the number of the lane, and the bits of the lanes that are not done. They are not allocated then, and
/// neither is R12, from which the lane's VGPRs are reached as the wave's otherwise.
pub(super) const LANE: Gpr = R14;
pub(super) const TODO: Gpr = R11;
/// The number of general registers that are allocated in such code.
pub(super) const ONCE: u8 = 6;
/// The vector registers that are allocated; the two after them are for temporary values.
pub(super) const FLOATS: u8 = 14;
const TEMP: u8 = 14;
const MASK: u8 = 15;

/// A value that the loop changes from iteration to iteration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum What {
    Vgpr(u16),
    /// Two consecutive VGPRs as a number of 64 bits.
    VgprPair(u16),
    Sgpr(u8),
    SgprPair(u8),
    /// The lane's bit of a mask, by the first register's code.
    Bit(u8),
}

/// Where it is between iterations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    pub what: What,
    pub class: Class,
    /// A register that is not allocated. Otherwise the value is in the context.
    pub register: Option<u8>,
}

impl Home {
    /// Something that is kept in the context, as long as it is given no register.
    pub fn new(what: What, class: Class) -> Home {
        Home {
            what,
            class,
            register: None,
        }
    }

    pub fn wide(&self) -> bool {
        matches!(self.what, What::VgprPair(_) | What::SgprPair(_))
    }

    pub fn memory(&self) -> Mem {
        match self.what {
            What::Vgpr(n) | What::VgprPair(n) => vgpr_image(n),
            What::Sgpr(code) | What::SgprPair(code) => ctx!(lanes.sgprs, 4 * code as usize),
            What::Bit(code) => bit_image(code),
        }
    }
}

pub(super) fn vgpr_image(n: u16) -> Mem {
    ctx!(lanes.vgprs, 4 * n as usize)
}

/// A VGPR as the upper half of a number of 64 bits.
pub(super) fn high_image(n: u16) -> Mem {
    ctx!(lanes.highs, 8 * n as usize)
}

pub(super) fn bit_image(code: u8) -> Mem {
    ctx!(lanes.bits, 4 * code as usize)
}

/// How integers are compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compare {
    pub cc: Cc,
    pub wide: bool,
}

impl Compare {
    /// Returns the comparison that holds where this one does, or where it does not if `not`.
    pub fn unless(self, not: bool) -> Compare {
        let cc = if not { self.cc.not() } else { self.cc };
        Compare { cc, ..self }
    }
}

/// An element at an address, or several.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements {
    pub lds: bool,
    /// Their size.
    pub bytes: u16,
    /// A constant that is added to the address.
    pub offset: i32,
}

/// A machine instruction. Its operands are in parentheses.
#[derive(Clone, Debug)]
pub(super) enum L {
    /// (result) A value that iterations keep.
    Home(Home),
    /// (result) An operand in memory of 4 or 8 bytes.
    Memory(Mem, bool),
    /// (result) A scalar that was computed before, of 4 or 8 bytes. It becomes an operand in memory when it is known where it is.
    Scalar(Id, bool),
    /// (result) A register that is not allocated.
    Fixed(Gpr),
    /// (result) One of four elements of 4 or 8 bytes, which belong to 16 lanes each.
    OfSlice(Mem, bool),
    /// (host's address, result) Loads an element.
    HostElement(Elements),
    /// (mask, result) The lane's bit.
    Bit,
    /// (truth value) Adds the lane's bit to a ballot.
    Collect(Id),
    /// (value) Writes the lane's element of a VGPR.
    SetVgpr(u16),
    /// (address, value) Stores a permitted element.
    Put(Elements),
    /// (address, values) Keeps the values of permitted elements, and the host's address, until all lanes' elements are permitted.
    Stage(Elements),
    /// (result) A constant in a general register.
    Imm(u64),
    /// (result) A constant in a vector register.
    Line(u64, bool),
    /// (a, result) A copy.
    Copy(Class),
    /// (a, result = a, b)
    Binary(u8, bool),
    /// (a, result = a)
    BinaryImm(u8, bool, i32),
    /// (a, result = a) Shifts left (4), right (5) or right with the sign (7).
    ShiftImm(u8, bool, u8),
    /// (a, count, result) The same by a number that may be too large.
    Shift(u8),
    /// (a, result = a, b) The first operand moved left or right, filled with bits of the second.
    Double(bool, u8),
    Multiply(bool),
    /// (a, b, result) The upper 32 bits of a product, with or without sign.
    High(bool),
    /// (a, result) Instructions of one operand, by prefix and opcode.
    Unary(&'static [u8], bool),
    /// (a, b, result)
    Compare(Compare),
    CompareImm(Compare, i32),
    /// (b, result = b, a, x, y): a if x compares to y, else b.
    CompareSelect(Compare),
    /// (b, result = b, a, condition)
    Select,
    /// (condition, a, b, result)
    FloatSelect(bool),
    /// (x, y, a, b, result): a if the predicate holds for x and y, else b.
    FloatCompareSelect(u8, [bool; 2]),
    /// (a, b, result) Smaller or larger; of zeros the negative one is smaller. NaNs leave the lane's code.
    Extreme(bool, bool),
    /// (lo, hi, result) A number of 64 bits from its halves.
    Join,
    /// (a, result) From general to vector registers and back.
    ToFloat(bool),
    ToGeneral(bool),
    /// (a, b, result)
    Float2(u8, bool),
    /// (a, result)
    Root(bool),
    Round(bool, u8),
    /// (a, result) Signs: the constant, and whether it is combined by and or by exclusive or.
    Sign(u64, bool, bool),
    /// (a, result = a, b, c) a * b + c, with the product or the addend negated.
    Fma(bool, [bool; 2]),
    /// (c, result = c, a, b) The same.
    FmaTo(bool, [bool; 2]),
    /// (a, b, result) Compares with `seta` or `setae`.
    FloatAbove(Cc, bool),
    FloatCompare(u8, bool),
    /// (a, result) An integer of 32 bits, with or without sign, as a float, and a float as an integer. Numbers that have none leave the lane's code.
    FromInteger {
        signed: bool,
        wide: bool,
    },
    ToInteger {
        signed: bool,
        wide: bool,
    },
    /// (a, result) f32 to f64, or back.
    Resize(bool),
    /// (a) NaNs leave the lane's code.
    Check(bool),
    /// (condition) Leaves the lane's code if it is true, or false.
    Leave(bool),
    /// (address, limit if there is one) Leaves the lane's code if the elements may not be accessed. The limit is of LDS; other memory is
    /// looked up, and the range is remembered. The number is the permission: 1 to load, 2 to store.
    Permit(Elements, Option<Range>, u8),
    /// (address, result) Loads one of permitted elements.
    Element(Elements),
    /// (address) Records that the lane accesses the elements, at a place that has a number.
    Reach(Elements, u8),
    /// (address) Adds to the log what is where permitted elements will be stored. The number is the size of its entries.
    Log(Elements, i32),
    /// (a)
    SetHome(Home),
    /// An instruction one of whose operands, by number, is a permitted element in memory. The operand is its address.
    From(Box<L>, usize, Elements),
    /// An instruction whose result is where it is kept for the next iteration, and no operand.
    InPlace(Box<L>, Home),
    /// (condition) The end of an iteration: another one follows if the condition is this.
    Again(bool),
    /// (x, y) The same: another one follows if x compares to y.
    AgainIf(Compare),
    AgainIfImm(Compare, i32),
}

/// An operand's place.
#[derive(Clone, Copy)]
enum Place {
    R(u8),
    M(Mem),
    Imm(u64),
    Line(u64, bool),
}

/// The operands of an instruction.
pub(super) struct Operands<'o> {
    pub code: &'o Code<L>,
    pub locations: &'o [Location],
    pub roles: &'o [(VReg, Role)],
    /// The position of a result that is no operand, and its register.
    pub kept: Option<(usize, u8)>,
    /// The position of an operand that is an element in memory.
    pub element: Option<(usize, Mem)>,
}

impl Operands<'_> {
    /// Returns the position of an operand among those that are allocated.
    fn position(&self, k: usize) -> usize {
        k - self.kept.is_some_and(|(at, _)| at < k) as usize
    }

    fn place(&self, k: usize) -> Place {
        if let Some((_, r)) = self.kept.filter(|kept| kept.0 == k) {
            return Place::R(r);
        }
        if let Some((_, m)) = self.element.filter(|element| element.0 == k) {
            return Place::M(m);
        }
        let k = self.position(k);
        let class = self.code.class(self.roles[k].0);
        match self.locations[k] {
            Location::Reg(r) => Place::R(register(class, r)),
            Location::Slot(n) => Place::M(spill_slot(n)),
            Location::Memory(inst) => match &self.code.insts[inst as usize].op {
                L::Home(home) => match home.register {
                    Some(r) => Place::R(r),
                    None => Place::M(home.memory()),
                },
                &L::Memory(m, _) => Place::M(m),
                &L::Fixed(r) => Place::R(r),
                &L::Line(v, wide) => Place::Line(v, wide),
                &L::Imm(v) => Place::Imm(v),
                _ => Place::Imm(0),
            },
        }
    }

    /// Returns true if an operand in memory has 64 bits.
    fn is_wide(&self, k: usize) -> bool {
        match self.locations[self.position(k)] {
            Location::Memory(inst) => match self.code.insts[inst as usize].op {
                L::Home(home) => home.wide(),
                L::Memory(_, wide) => wide,
                _ => true,
            },
            _ => true,
        }
    }

    fn r(&self, k: usize) -> u8 {
        match self.place(k) {
            Place::R(r) => r,
            _ => 0,
        }
    }

    fn rm(&self, k: usize) -> Rm {
        match self.place(k) {
            Place::R(r) => Rm::R(r),
            Place::M(m) => Rm::M(m),
            Place::Imm(v) | Place::Line(v, _) => Rm::C(v),
        }
    }

    /// Returns an operand of 64 bits, if `wide`. One of 32 bits in memory is loaded to RCX first.
    fn operand(&self, a: &mut Asm, k: usize, wide: bool) -> Rm {
        match self.place(k) {
            Place::M(m) if wide && !self.is_wide(k) => {
                a.mov(false, RCX, Rm::M(m));
                Rm::R(RCX)
            }
            _ => self.rm(k),
        }
    }

    fn h(&self, a: &mut Asm, k: usize) -> H {
        match self.place(k) {
            Place::R(r) => H::R(r),
            Place::M(m) => H::M(m),
            Place::Imm(v) => a.every(v, false),
            Place::Line(v, wide) => a.every(v, wide),
        }
    }
}

/// The host's register of a class, by its number for the allocator.
pub(super) fn register(class: Class, r: u8) -> u8 {
    match class {
        0 => GENERAL[r as usize],
        _ => r,
    }
}

pub(super) fn spill_slot(n: u16) -> Mem {
    ctx!(lanes.spills, 8 * n as usize)
}

/// An instruction on one float of 32 or 64 bits.
const fn float(op: u8, wide: bool) -> X {
    X(1, if wide { 3 } else { 2 }, 0, op)
}

pub(super) fn compare_floats(a: &mut Asm, x: u8, y: H, wide: bool) {
    a.x(X(1, wide as u8, 0, 0x2e), x, 0, y);
}

/// The labels that a lane's code goes to.
#[derive(Clone, Copy)]
pub(super) struct Exits {
    /// Vector code begins again with all lanes.
    pub bail: Label,
    /// The next iteration.
    pub again: Label,
}

/// Code after the lane's loop, which looks up the memory around an address.
pub(super) struct LookUp {
    pub from: Label,
    pub back: Label,
    /// The address, as an operand.
    pub at: Mem,
    pub range: Range,
    pub bytes: i32,
    pub need: u8,
}

impl L {
    /// Encodes the instruction. Look-ups of memory are left for after the loop.
    pub fn encode<V: Vectors>(
        &self,
        e: &mut Emit<'_, V>,
        p: &Operands<'_>,
        exits: Exits,
        later: &mut Vec<LookUp>,
    ) {
        match self {
            L::Home(home) => match (home.register, home.class) {
                (Some(r), 0) => e.a.mov(true, p.r(0), Rm::R(r)),
                (Some(r), _) => e.a.x(X(1, 0, 0, 0x28), p.r(0), 0, H::R(r)),
                (None, class) => load_to(e.a, class, p.r(0), home.memory(), home.wide()),
            },
            &L::Memory(m, wide) => {
                let class = p.code.class(p.roles[0].0);
                load_to(e.a, class, p.r(0), m, wide);
            }
            &L::Imm(v) => e.a.imm(p.r(0), v),
            &L::Line(v, wide) => {
                let line = e.a.every(v, wide);
                e.a.x(LOAD, p.r(0), 0, line);
            }
            &L::Fixed(r) => e.a.mov(true, p.r(0), Rm::R(r)),
            &L::OfSlice(m, wide) => {
                e.a.mov(false, RAX, Rm::R(LANE));
                e.a.shift_imm(5, false, RAX, 4);
                let index = Some((RAX, if wide { 8 } else { 4 }));
                e.a.mov(wide, p.r(0), Rm::M(Mem { index, ..m }));
            }
            &L::HostElement(of) => {
                let class = p.code.class(p.roles[1].0);
                load_bytes(e.a, class, of.bytes, p.r(1), mem(p.r(0), of.offset));
            }
            L::Bit => {
                let d = p.r(1);
                e.a.mov(true, RAX, p.rm(0));
                e.a.shift_by(3, true, d, RAX, LANE);
                e.a.alu_imm(alu::AND, false, Rm::R(d), 1);
            }
            &L::Collect(id) => {
                let bits = e.slot(id);
                e.a.shift_by(1, true, RAX, p.r(0), LANE);
                e.a.g(true, &[0x09], RAX, Rm::M(bits)); // or
            }
            &L::SetVgpr(v) => {
                let class = p.code.class(p.roles[0].0);
                store_from(e.a, class, p.r(0), vgpr_line(v, 0), false);
            }
            &L::Put(of) => {
                let to = host_memory(e.a, of, p.r(0));
                store_bytes(e.a, p.code.class(p.roles[1].0), of.bytes, p.r(1), to);
            }
            &L::Stage(of) => {
                let from = host_memory(e.a, of, p.r(0));
                e.a.lea(RAX, from);
                e.a.mov(true, RCX, Rm::R(LANE));
                e.a.shift_imm(4, false, RCX, STAGED_LOG);
                e.a.store(true, staged(RCX, 0), RAX);
                for k in 1..p.roles.len() {
                    let class = p.code.class(p.roles[k].0);
                    let to = staged(RCX, 4 + 4 * k as i32);
                    store_from(e.a, class, p.r(k), to, false);
                }
            }
            L::Copy(0) => match p.place(0) {
                Place::M(m) => e.a.mov(p.is_wide(0), p.r(1), Rm::M(m)),
                _ => e.a.mov(true, p.r(1), p.rm(0)),
            },
            L::Copy(_) => e.a.x(X(1, 0, 0, 0x28), p.r(1), 0, H::R(p.r(0))),
            &L::SetHome(home) => set_home(e.a, home, p.r(0)),
            L::InPlace(op, home) => op.in_place(e, p, *home, exits, later),
            L::From(op, k, of) => {
                let (address, _) = address_of(e.a, *of, p, *k);
                let element = Some((*k, guest_memory(address, of.offset)));
                op.encode(e, &Operands { element, ..*p }, exits, later);
            }
            &L::Permit(of, range, need) => permit(e, of, (range, need), p, exits, later),
            &L::Element(of) => element(e.a, of, p),
            &L::Reach(of, place) => reach(e.a, of, place, p),
            &L::Log(of, size) => log(e.a, of, size, p),
            &L::Check(wide) => {
                compare_floats(e.a, p.r(0), H::R(p.r(0)), wide);
                e.a.jcc(Cc::P, exits.bail);
            }
            &L::Leave(when) => {
                e.a.test(false, p.r(0), p.r(0));
                e.a.jcc(if when { Cc::Ne } else { Cc::E }, exits.bail);
            }
            &L::Again(when) => {
                match p.place(0) {
                    Place::R(r) => e.a.test(false, r, r),
                    _ => e.a.alu_imm(alu::CMP, false, p.rm(0), 0),
                }
                e.a.jcc(if when { Cc::Ne } else { Cc::E }, exits.again);
            }
            &L::AgainIf(c) => {
                compare(e.a, c, p, 0);
                e.a.jcc(c.cc, exits.again);
            }
            &L::AgainIfImm(c, imm) => {
                let first = p.operand(e.a, 0, c.wide);
                e.a.alu_imm(alu::CMP, c.wide, first, imm);
                e.a.jcc(c.cc, exits.again);
            }
            L::Extreme(..) | L::ToInteger { .. } => self.partial(e.a, p, exits),
            _ if self.is_float() => self.float(e.a, p),
            _ => self.integer(e.a, p),
        }
    }

    /// The position of the result among the operands, and whether it overwrites the first one.
    fn result(&self, operands: usize) -> (usize, bool) {
        match self {
            L::Binary(..)
            | L::BinaryImm(..)
            | L::ShiftImm(..)
            | L::Double(..)
            | L::Multiply(_)
            | L::CompareSelect(_)
            | L::Select
            | L::Fma(..)
            | L::FmaTo(..) => (1, true),
            L::From(op, ..) => op.result(operands),
            _ => (operands, false),
        }
    }

    /// Encodes the instruction with its result in the register where it is kept.
    fn in_place<V: Vectors>(
        &self,
        e: &mut Emit<'_, V>,
        p: &Operands<'_>,
        home: Home,
        exits: Exits,
        later: &mut Vec<LookUp>,
    ) {
        let Some(r) = home.register else { return };
        let (at, over) = self.result(p.roles.len());
        if over {
            match (p.place(0), home.class) {
                (Place::R(from), _) if from == r => {}
                (Place::R(from), class) => move_to(e.a, class, from, r),
                (Place::M(m), class) => {
                    let wide = p.is_wide(0);
                    load_to(e.a, class, r, m, wide);
                }
                (Place::Imm(v), _) => e.a.imm(r, v),
                (Place::Line(v, wide), _) => {
                    let line = e.a.every(v, wide);
                    e.a.x(LOAD, r, 0, line);
                }
            }
        }
        let kept = Some((at, r));
        let p = Operands { kept, ..*p };
        self.encode(e, &p, exits, later);
    }

    fn is_float(&self) -> bool {
        matches!(
            self,
            L::FloatSelect(_)
                | L::FloatCompareSelect(..)
                | L::ToFloat(_)
                | L::ToGeneral(_)
                | L::Float2(..)
                | L::Root(_)
                | L::Round(..)
                | L::Sign(..)
                | L::Fma(..)
                | L::FmaTo(..)
                | L::FloatAbove(..)
                | L::FloatCompare(..)
                | L::FromInteger { .. }
                | L::Resize(_)
        )
    }

    fn integer(&self, a: &mut Asm, p: &Operands<'_>) {
        match *self {
            L::Binary(op, wide) => {
                let by = p.operand(a, 2, wide);
                a.alu(op, wide, p.r(1), by);
            }
            L::BinaryImm(op, wide, imm) => a.alu_imm(op, wide, Rm::R(p.r(1)), imm),
            L::ShiftImm(which, wide, by) => a.shift_imm(which, wide, p.r(1), by),
            L::Shift(which) => {
                let (x, count, d) = (p.r(0), p.r(1), p.r(2));
                // A shift by 32 or more gives 0, or the sign in all bits.
                let most = if which == 7 { 31 } else { 0 };
                a.imm(RAX, most);
                a.alu_imm(alu::CMP, false, Rm::R(count), 31);
                if which == 7 {
                    a.cmov(Cc::Be, false, RAX, Rm::R(count));
                    a.shift_by(2, false, d, x, RAX);
                } else {
                    a.shift_by(if which == 4 { 1 } else { 3 }, false, d, x, count);
                    a.cmov(Cc::A, false, d, Rm::R(RAX));
                }
            }
            L::Double(left, by) => {
                let opcode = if left { 0xa4 } else { 0xac };
                a.g(false, &[0x0f, opcode], p.r(2), Rm::R(p.r(1)));
                a.buf.push(by);
            }
            L::Multiply(wide) => {
                let by = p.operand(a, 2, wide);
                a.imul(wide, p.r(1), by);
            }
            L::High(signed) => {
                let (x, y, d) = (p.r(0), p.r(1), p.r(2));
                if signed {
                    a.movsxd(RAX, Rm::R(x));
                    a.movsxd(RCX, Rm::R(y));
                } else {
                    a.g(false, &[0x8b], RAX, Rm::R(x));
                    a.g(false, &[0x8b], RCX, Rm::R(y));
                }
                a.imul(true, RAX, Rm::R(RCX));
                a.shift_imm(5, true, RAX, 32);
                a.mov(false, d, Rm::R(RAX));
            }
            L::Unary(op, wide) => match op {
                [0xf3, rest @ ..] => {
                    a.buf.push(0xf3);
                    a.g(wide, rest, p.r(1), p.rm(0));
                }
                _ => a.g(wide, op, p.r(1), p.rm(0)),
            },
            L::Compare(c) => {
                compare(a, c, p, 0);
                a.setcc(c.cc, p.r(2));
            }
            L::CompareImm(c, imm) => {
                let first = p.operand(a, 0, c.wide);
                a.alu_imm(alu::CMP, c.wide, first, imm);
                a.setcc(c.cc, p.r(1));
            }
            L::CompareSelect(c) => {
                compare(a, c, p, 3);
                match p.place(2) {
                    Place::M(m) => a.cmov(c.cc, p.is_wide(2), p.r(1), Rm::M(m)),
                    _ => a.cmov(c.cc, true, p.r(1), p.rm(2)),
                }
            }
            L::Select => {
                a.test(false, p.r(3), p.r(3));
                a.cmov(Cc::Ne, true, p.r(1), Rm::R(p.r(2)));
            }
            L::Join => {
                let d = p.r(2);
                match p.place(1) {
                    Place::Imm(v) => a.imm(d, v),
                    _ => a.mov(false, d, p.rm(1)),
                }
                a.shift_imm(4, true, d, 32);
                a.alu(alu::OR, true, d, Rm::R(p.r(0)));
            }
            _ => {}
        }
    }

    fn float(&self, a: &mut Asm, p: &Operands<'_>) {
        match *self {
            L::FloatSelect(wide) => {
                let (x, y, d) = (p.r(1), p.r(2), p.r(3));
                a.mov(false, RAX, Rm::R(p.r(0)));
                a.g(true, &[0xf7], 3, Rm::R(RAX)); // neg
                a.x(X(1, 1, 1, 0x6e), MASK, 0, H::R(RAX));
                blend(a, wide, d, x, y);
            }
            L::FloatCompareSelect(predicate, [wide, of]) => {
                let (x, y, d) = (p.r(2), p.r(3), p.r(4));
                let second = H::R(p.r(1));
                a.v(float(0xc2, wide), 0, MASK, p.r(0), second, Some(predicate));
                blend(a, of, d, x, y);
            }
            L::ToFloat(wide) => match p.place(0) {
                Place::M(m) => load_to(a, 1, p.r(1), m, wide),
                _ => a.x(X(1, 1, wide as u8, 0x6e), p.r(1), 0, H::R(p.r(0))),
            },
            L::ToGeneral(true) => integer_of(a, p.r(1), p.r(0)),
            L::ToGeneral(false) => a.x(X(1, 1, 0, 0x7e), p.r(0), 0, H::R(p.r(1))),
            L::Float2(op, wide) => {
                let first = match p.place(0) {
                    Place::R(r) => r,
                    Place::M(m) => {
                        load_to(a, 1, TEMP, m, wide);
                        TEMP
                    }
                    _ => {
                        let line = p.h(a, 0);
                        a.x(LOAD, TEMP, 0, line);
                        TEMP
                    }
                };
                let b = p.h(a, 1);
                a.x(float(op, wide), p.r(2), first, b);
            }
            L::Root(wide) => a.x(float(0x51, wide), p.r(1), p.r(0), H::R(p.r(0))),
            L::Round(wide, mode) => {
                let x = X(3, 1, 0, if wide { 0x0b } else { 0x0a });
                a.v(x, 0, p.r(1), p.r(0), H::R(p.r(0)), Some(mode));
            }
            L::Sign(value, wide, and) => {
                let line = a.every(value, wide);
                let x = X(1, 0, 0, if and { 0x54 } else { 0x57 });
                a.x(x, p.r(1), p.r(0), line);
            }
            L::Fma(wide, [product, addend]) => {
                let op = 0xa9 + ((product as u8) << 2) + ((addend as u8) << 1);
                let c = p.h(a, 3);
                a.x(X(2, 1, wide as u8, op), p.r(1), p.r(2), c);
            }
            L::FmaTo(wide, [product, addend]) => {
                let op = 0xb9 + ((product as u8) << 2) + ((addend as u8) << 1);
                let b = p.h(a, 3);
                a.x(X(2, 1, wide as u8, op), p.r(1), p.r(2), b);
            }
            L::FloatAbove(cc, wide) => {
                let b = p.h(a, 1);
                compare_floats(a, p.r(0), b, wide);
                a.setcc(cc, p.r(2));
            }
            L::FloatCompare(predicate, wide) => {
                let b = p.h(a, 1);
                a.v(float(0xc2, wide), 0, MASK, p.r(0), b, Some(predicate));
                a.x(X(1, 1, 0, 0x7e), MASK, 0, H::R(p.r(2)));
                a.alu_imm(alu::AND, false, Rm::R(p.r(2)), 1);
            }
            L::FromInteger { signed, wide } => {
                let (x, d) = (p.r(0), p.r(1));
                a.x(X(1, 0, 0, 0x57), d, d, H::R(d));
                let X(map, pp, _, op) = float(0x2a, wide);
                // A number without a sign is one of 64 bits.
                a.x(X(map, pp, !signed as u8, op), d, d, H::R(x));
            }
            L::Resize(wide) => a.x(float(0x5a, wide), p.r(1), p.r(0), H::R(p.r(0))),
            _ => {}
        }
    }

    /// Encodes an operation that has no result for some operands: the lane's code is left for them.
    fn partial(&self, a: &mut Asm, p: &Operands<'_>, exits: Exits) {
        match *self {
            L::Extreme(max, wide) => {
                let (x, y, d) = (p.r(0), p.r(1), p.r(2));
                let op = if max { 0x5f } else { 0x5d };
                compare_floats(a, x, H::R(y), wide);
                a.jcc(Cc::P, exits.bail);
                // Both orders differ for zeros of different signs alone.
                a.x(float(op, wide), TEMP, x, H::R(y));
                a.x(float(op, wide), MASK, y, H::R(x));
                let joins = X(1, 0, 0, if max { 0x54 } else { 0x56 });
                a.x(joins, d, TEMP, H::R(MASK));
            }
            L::ToInteger { signed, wide } => {
                let X(map, pp, _, op) = float(0x2c, wide);
                a.x(X(map, pp, 1, op), RAX, 0, H::R(p.r(0)));
                // NaNs and numbers out of bounds are left to vector code.
                if signed {
                    a.movsxd(RCX, Rm::R(RAX));
                    a.alu(alu::CMP, true, RCX, Rm::R(RAX));
                    a.jcc(Cc::Ne, exits.bail);
                } else {
                    a.mov(true, RCX, Rm::R(RAX));
                    a.shift_imm(5, true, RCX, 32);
                    a.jcc(Cc::Ne, exits.bail);
                }
                a.g(false, &[0x8b], p.r(1), Rm::R(RAX));
            }
            _ => {}
        }
    }
}

/// A vector register becomes the 64 bits of a general one.
pub(super) fn float_of(a: &mut Asm, to: u8, from: Gpr) {
    a.x(X(1, 1, 1, 0x6e), to, 0, H::R(from));
}

/// A general register becomes the lowest 64 bits of a vector register.
pub(super) fn integer_of(a: &mut Asm, to: Gpr, from: u8) {
    a.x(X(1, 1, 1, 0x7e), from, 0, H::R(to));
}

/// Compares two operands.
fn compare(a: &mut Asm, c: Compare, p: &Operands<'_>, k: usize) {
    let first = match p.place(k) {
        Place::R(r) => r,
        _ => {
            let from = p.operand(a, k, c.wide);
            a.mov(c.wide, RAX, from);
            RAX
        }
    };
    let second = p.operand(a, k + 1, c.wide);
    a.alu(alu::CMP, c.wide, first, second);
}

/// Selects between two floats by a mask: `x` where it is set, else `y`.
fn blend(a: &mut Asm, wide: bool, d: u8, x: u8, y: u8) {
    let op = X(3, 1, 0, if wide { 0x4b } else { 0x4a });
    a.v(op, 0, d, y, H::R(x), Some(MASK << 4));
}

/// Loads a register of a class.
pub(super) fn load_to(a: &mut Asm, class: Class, r: u8, m: Mem, wide: bool) {
    match class {
        0 => a.mov(wide, r, Rm::M(m)),
        _ => a.x(float(0x10, wide), r, 0, H::M(m)),
    }
}

/// Stores a register of a class.
pub(super) fn store_from(a: &mut Asm, class: Class, r: u8, m: Mem, wide: bool) {
    match class {
        0 => a.store(wide, m, r),
        _ => a.x(float(0x11, wide), r, 0, H::M(m)),
    }
}

pub(super) fn move_to(a: &mut Asm, class: Class, from: u8, to: u8) {
    match class {
        0 => a.mov(true, to, Rm::R(from)),
        _ => a.x(X(1, 0, 0, 0x28), to, 0, H::R(from)),
    }
}

fn set_home(a: &mut Asm, home: Home, from: u8) {
    match home.register {
        Some(r) => move_to(a, home.class, from, r),
        None => store_from(a, home.class, from, home.memory(), home.wide()),
    }
}

/// Returns the register and the constant whose sum is the address of elements, which is an operand. RAX is clobbered.
fn address_of(a: &mut Asm, of: Elements, p: &Operands<'_>, k: usize) -> (Gpr, i32) {
    match p.place(k) {
        Place::R(r) => return (r, of.offset),
        Place::M(m) => a.mov(p.is_wide(k) && !of.lds, RAX, Rm::M(m)),
        Place::Imm(v) | Place::Line(v, _) => a.imm(RAX, v),
    }
    (RAX, of.offset)
}

/// Checks that elements may be accessed.
fn permit<V: Vectors>(
    e: &mut Emit<'_, V>,
    of: Elements,
    (range, need): (Option<Range>, u8),
    p: &Operands<'_>,
    exits: Exits,
    later: &mut Vec<LookUp>,
) {
    let bytes = of.bytes as i32;
    let (address, offset) = address_of(e.a, of, p, 0);
    let at = mem(address, offset);
    let Some(range) = range else {
        // Addresses of LDS are numbers of 32 bits.
        e.a.g(false, &[0x8d], RAX, Rm::M(at));
        e.a.lea(RAX, mem(RAX, bytes));
        e.a.alu(alu::CMP, true, RAX, Rm::M(ctx!(lds.bytes)));
        e.a.jcc(Cc::A, exits.bail);
        if p.roles.len() > 1 {
            let limit = p.operand(e.a, 1, true);
            e.a.alu(alu::CMP, true, RAX, limit);
            e.a.jcc(Cc::A, exits.bail);
        }
        return;
    };
    let (from, back) = (e.a.label(), e.a.label());
    e.check_tag(range, from);
    match offset {
        0 => e.a.mov(true, RCX, Rm::R(address)),
        _ => e.a.lea(RCX, at),
    }
    e.a.alu(alu::SUB, true, RCX, Rm::M(range.start()));
    e.a.alu(alu::CMP, true, RCX, Rm::M(range.bytes()));
    e.a.jcc(Cc::Ae, from);
    e.a.bind(back);
    later.push(LookUp {
        from,
        back,
        at,
        range,
        bytes,
        need,
    });
}

/// Widens the range of the lane's accesses at a place.
fn reach(a: &mut Asm, of: Elements, place: u8, p: &Operands<'_>) {
    let (address, offset) = address_of(a, of, p, 0);
    if offset != 0 || address != RAX {
        a.lea(RAX, mem(address, offset));
    }
    for (k, within) in [Cc::Ae, Cc::Be].into_iter().enumerate() {
        let known = reached(place, k);
        let done = a.label();
        a.alu(alu::CMP, true, RAX, Rm::M(known));
        a.jcc(within, done);
        a.store(true, known, RAX);
        a.bind(done);
    }
}

/// The lowest (0) or the highest (1) address of the lane's accesses at a place.
pub(super) fn reached(place: u8, k: usize) -> Mem {
    ctx!(lanes.reached, 16 * place as usize + 8 * k)
}

/// Adds to the log what is in memory.
fn log(a: &mut Asm, of: Elements, size: i32, p: &Operands<'_>) {
    let address = p.r(0);
    let mut at = address;
    if of.offset != 0 {
        a.lea(RAX, mem(address, of.offset));
        at = RAX;
    }
    a.store(true, mem(LOG, 0), at);
    a.store_imm(mem(LOG, 8), of.bytes as u32);
    let from = |more: i32| guest_memory(address, of.offset + more);
    let to = |more: i32| mem(LOG, LOGGED_DATA + more);
    match of.bytes {
        1 => a.movzx8(RAX, from(0)),
        2 => a.g(false, &[0x0f, 0xb7], RAX, Rm::M(from(0))),
        4 => a.mov(false, RAX, Rm::M(from(0))),
        16 => {
            a.x(X(1, 0, 0, 0x10), TEMP, 0, H::M(from(0)));
            a.x(X(1, 0, 0, 0x11), TEMP, 0, H::M(to(0)));
        }
        _ => a.mov(true, RAX, Rm::M(from(0))),
    }
    if of.bytes < 16 {
        a.store(of.bytes >= 8, to(0), RAX);
    }
    if of.bytes == 12 {
        a.mov(false, RAX, Rm::M(from(8)));
        a.store(false, to(8), RAX);
    }
    a.alu_imm(alu::ADD, true, Rm::R(LOG), size);
}

/// Returns the host's memory of elements. RAX is clobbered.
fn host_memory(a: &mut Asm, of: Elements, address: Gpr) -> Mem {
    match of.lds {
        true => {
            a.g(false, &[0x8d], RAX, Rm::M(mem(address, of.offset)));
            a.alu(alu::ADD, true, RAX, Rm::M(ctx!(lds.base)));
            mem(RAX, 0)
        }
        false => guest_memory(address, of.offset),
    }
}

/// The logarithm of the bytes that are kept for each lane: an address and up to four values.
pub(super) const STAGED_LOG: u8 = 5;

/// What is kept for a lane, at an offset. The register has the offset of the lane. The memory is that of the log of loops.
pub(super) fn staged(lane: Gpr, at: i32) -> Mem {
    const _: () = assert!(64 << STAGED_LOG <= 32 * LANE_LOG);
    let m = ctx!(lanes.log);
    Mem {
        disp: m.disp + at,
        index: Some((lane, 1)),
        ..m
    }
}

/// Where an entry of the log has what was in memory.
pub(super) const LOGGED_DATA: i32 = 12;

/// Returns the size of an entry of the log in a loop that stores at most so many bytes at a time.
pub(super) fn logged(most: u16) -> i32 {
    if most > 4 { 32 } else { 16 }
}

/// Returns true if an entry of the log may have elements of this size.
pub(super) fn can_be_logged(bytes: u16) -> bool {
    matches!(bytes, 1 | 2 | 4 | 8 | 12 | 16)
}

/// Stores the lowest bytes of a register of a class.
pub(super) fn store_bytes(a: &mut Asm, class: Class, bytes: u16, from: u8, to: Mem) {
    match bytes {
        1 => a.store8(to, from),
        2 => a.store16(to, from),
        _ => store_from(a, class, from, to, false),
    }
}

/// Loads an element.
fn element(a: &mut Asm, of: Elements, p: &Operands<'_>) {
    let (address, _) = address_of(a, of, p, 0);
    let from = host_memory(a, of, address);
    let class = p.code.class(p.roles[p.position(1)].0);
    load_bytes(a, class, of.bytes, p.r(1), from);
}

/// Loads a register of a class, with zeros above a number of fewer bits.
fn load_bytes(a: &mut Asm, class: Class, bytes: u16, to: u8, from: Mem) {
    match bytes {
        1 => a.g(false, &[0x0f, 0xb6], to, Rm::M(from)),
        2 => a.g(false, &[0x0f, 0xb7], to, Rm::M(from)),
        _ => load_to(a, class, to, from, bytes == 8),
    }
}
