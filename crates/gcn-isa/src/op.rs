//! The operations of the IR that meanings are written in: one row per operation.
//!
//! A row of the table at the end of this file has the operation's data, its name, the number of its operands, the dependencies of
//! its result, the type of its result, how it reads its operands, its notation in the manual, and, as its documentation, its
//! description in the manual. [`Op::info`] returns the row. The computation itself is code in `gcn-emu`'s interpreter and in
//! compilers.

use crate::format::Field;
use crate::meaning::{AtomicOp, GwsOp, Space, State};
use crate::shape::Ty;

/// The dependencies of an operation's result, or the fact that the operation has an effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Kind {
    /// A constant, or part of the state or of the instruction; no operands. Equal leaves of a meaning are one node.
    Leaf,
    /// Its operands and MODE alone, in each lane independently.
    Compute,
    /// Values of other lanes, or the set of active lanes.
    Lanes,
    /// A register whose number is an operand.
    Register,
    /// Memory, or the instruction's address operands.
    Memory,
    /// It has an effect, and is executed even if its result is not used.
    Act,
}

/// The type of an operation's result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Out {
    /// The type that its operands are read as ([`Node::ty`](crate::meaning::Node::ty)).
    Operand,
    /// A truth value.
    Bool,
    /// U32, for operands of any type.
    U32,
    /// The type that the node gives.
    Given,
}

/// The interpretation of an operation's operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Reads {
    /// As bit patterns of any type.
    Bits,
    /// As numbers. Signed and unsigned integers give the same bits.
    Numbers,
    /// As numbers. Signed and unsigned integers differ.
    Signed,
}

/// The precedence of an expression in the manual's pseudo-code, lowest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[allow(missing_docs)]
pub enum Bind {
    Select,
    Or,
    Xor,
    And,
    Compare,
    Shift,
    Sum,
    Product,
    Unary,
    Atom,
}

/// The notation of an operation in the manual's pseudo-code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Notation {
    /// `name(x, y)`.
    Call,
    /// `name32(x)`, with the width of the result.
    Sized,
    /// `x + y`.
    Infix(&'static str, Bind),
    /// Only the name.
    Word,
    /// A notation of its own.
    Own,
}

/// The properties of an operation that are the same for all its uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpInfo {
    /// Its name, in the manual and in printed IR.
    pub name: &'static str,
    /// The number of its operands.
    pub arity: u8,
    /// The dependencies of its result.
    pub kind: Kind,
    /// The type of its result.
    pub out: Out,
    /// The interpretation of its operands.
    pub reads: Reads,
    /// The number of operands, from the first on, that it reads as numbers if their type is a float: it flushes their denormals,
    /// and a signalling NaN among them is an invalid operation.
    pub floats: u8,
    /// Its notation in the manual.
    pub notation: Notation,
    /// Its description, in Markdown. If readers of the manual need the description, it begins with the operation's notation in
    /// the manual, as in "`` `ldexp(x, n)`: ``".
    pub doc: &'static str,
}

impl Op {
    /// Its name, in the manual and in printed IR.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The number of [`Node::args`](crate::meaning::Node::args) that it takes.
    #[inline]
    pub const fn arity(self) -> usize {
        self.info().arity as usize
    }

    /// Returns true if it has an effect of its own. It is then executed even if its result is not used.
    #[inline]
    pub const fn acts(self) -> bool {
        matches!(self.info().kind, Kind::Act)
    }

    /// The type of its result if its operands are read as `ty`; `None` if each node gives it.
    pub const fn out(self, ty: Ty) -> Option<Ty> {
        match self.info().out {
            Out::Operand => Some(ty),
            Out::Bool => Some(Ty::Bool),
            Out::U32 => Some(Ty::U32),
            Out::Given => None,
        }
    }
}

/// Declares [`Op`] and [`OPS`] from the rows of the table.
macro_rules! ops {
    ($(
        $(#[doc = $doc:literal])+
        $op:ident $(($($data:ty),+))? :
        $name:literal, $arity:literal, $kind:ident, $out:ident, $reads:ident, $floats:literal, $notation:expr;
    )+) => {
        /// The operation of a node.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Op {
            $($(#[doc = $doc])+ $op $(($($data),+))?,)+
        }

        /// The operations, in the order of their declaration.
        pub static OPS: &[&OpInfo] = &[$(ops!(@row $($doc)+, $name, $arity, $kind, $out, $reads, $floats, $notation)),+];

        impl Op {
            /// The properties that are the same for all its uses.
            #[inline]
            pub const fn info(self) -> &'static OpInfo {
                match self {
                    $(Op::$op { .. } => {
                        ops!(@row $($doc)+, $name, $arity, $kind, $out, $reads, $floats, $notation)
                    })+
                }
            }
        }
    };
    (@row $($doc:literal)+, $name:literal, $arity:literal, $kind:ident, $out:ident, $reads:ident, $floats:literal, $notation:expr) => {
        const {
            use Notation::*;
            &OpInfo {
                name: $name,
                arity: $arity,
                kind: Kind::$kind,
                out: Out::$out,
                reads: Reads::$reads,
                floats: $floats,
                notation: $notation,
                doc: concat!($($doc),+).trim_ascii(),
            }
        }
    };
}

ops! {
    // Columns: operation, name, operands, kind, result, reads, floats, notation.

    // Leaves.

    /// A constant.
    Const(u64): "constant", 0, Leaf, Given, Bits, 0, Own;
    /// The operand in a slot of the shape.
    Src(u8): "operand", 0, Leaf, Given, Bits, 0, Own;
    /// Dword `.1` of the operand in slot `.0`.
    SrcDword(u8, u8): "operand_dword", 0, Leaf, Given, Bits, 0, Own;
    /// The 16 bits of the packed operand in slot `.0` that belong to half `.1` of the result: op_sel and neg_lo select those of
    /// half 0, op_sel_hi and neg_hi those of half 1.
    SrcHalf(u8, u8): "operand_half", 0, Leaf, Given, Bits, 0, Own;
    /// A named state.
    Get(State): "state", 0, Leaf, Given, Bits, 0, Own;
    /// A field of the encoding, or SIMM16.
    Field(Field): "field", 0, Leaf, Given, Bits, 0, Own;
    /// `code(x)`: the operand code of the register x, not its value.
    CodeOf(u8): "code", 0, Leaf, Given, Bits, 0, Own;

    // Registers whose numbers are computed at run time.

    /// The scalar register whose code (0 to 127) is the operand: one, or two for a 64-bit result. A code outside the generation's
    /// SGPRs and VCC reads s0; the registers of a pair are checked separately.
    Sgpr: "sgpr", 1, Register, Given, Bits, 0, Own;
    /// The VGPR whose number (from 0) is the operand, the same in every lane: one, or two for a 64-bit result. A number outside
    /// the wave's VGPRs reads v0.
    Vgpr: "vgpr", 1, Register, Given, Bits, 0, Own;
    /// `HWREG(x)`: the bits of the hardware register that x names: `x[5:0]` is its number, `x[10:6]` the first bit, `x[15:11]` the number of bits less one.
    Getreg: "HWREG", 1, Register, Given, Bits, 0, Call;

    // Bits.

    /// The bits inverted.
    Not: "not", 1, Compute, Operand, Bits, 0, Own;
    /// The operand with the opposite sign. For a float, only the sign bit is flipped.
    Neg: "neg", 1, Compute, Operand, Numbers, 0, Own;
    /// The magnitude. For a float, only the sign bit is cleared.
    Abs: "abs", 1, Compute, Operand, Signed, 0, Call;
    /// `reverse_bits(x)`: the bits of x in reverse order.
    Rev: "reverse_bits", 1, Compute, Operand, Bits, 0, Call;
    /// `count_ones(x)`: how many bits of x are 1.
    Popcount: "count_ones", 1, Compute, U32, Bits, 0, Call;
    /// `leading_zeros(x)`: zeros above the highest 1 of x; its width where x is 0.
    Clz: "leading_zeros", 1, Compute, U32, Bits, 0, Call;
    /// `trailing_zeros(x)`: zeros below the lowest 1 of x; its width where x is 0.
    Ctz: "trailing_zeros", 1, Compute, U32, Bits, 0, Call;
    /// `zext64(x)`: x with zeros above it, 64 bits in all.
    Zext: "zext", 1, Compute, Given, Bits, 0, Sized;
    /// `sext64(x)`: x with its sign bit repeated above it, 64 bits in all.
    Sext: "sext", 1, Compute, Given, Bits, 0, Sized;
    /// `low32(x)`: the low 32 bits of x.
    Trunc: "low", 1, Compute, Given, Bits, 0, Sized;

    // Conversions.

    /// An integer as a float, rounded as MODE says.
    IntToFloat: "int_to_float", 1, Compute, Given, Signed, 0, Own;
    /// A float as an integer: towards zero, saturating, NaN to 0.
    FloatToInt: "float_to_int", 1, Compute, Given, Signed, 1, Own;
    /// A float of another width.
    FloatToFloat: "float_to_float", 1, Compute, Given, Signed, 1, Own;

    // Two operands.

    /// The sum.
    Add: "add", 2, Compute, Operand, Numbers, 2, Infix("+", Bind::Sum);
    /// The difference.
    Sub: "sub", 2, Compute, Operand, Numbers, 2, Infix("-", Bind::Sum);
    /// The product.
    Mul: "mul", 2, Compute, Operand, Numbers, 2, Infix("*", Bind::Product);
    /// `high32(x * y)`: the high 32 bits of the product, which has twice the width of its factors.
    MulHi: "high", 2, Compute, Operand, Signed, 0, Own;
    /// The bits that are 1 in both.
    And: "and", 2, Compute, Operand, Numbers, 0, Infix("&", Bind::And);
    /// The bits that are 1 in either.
    Or: "or", 2, Compute, Operand, Numbers, 0, Infix("|", Bind::Or);
    /// The bits that differ.
    Xor: "xor", 2, Compute, Operand, Numbers, 0, Infix("^", Bind::Xor);
    /// The first operand moved left by the second, of any width; 0 from its own width on.
    Shl: "shl", 2, Compute, Operand, Numbers, 0, Own;
    /// The first operand moved right by the second, of any width; 0, or the sign of a signed type, from its own width on.
    Shr: "shr", 2, Compute, Operand, Signed, 0, Own;
    /// The smaller one.
    Min: "min", 2, Compute, Operand, Signed, 2, Call;
    /// The larger one.
    Max: "max", 2, Compute, Operand, Signed, 2, Call;
    /// Equal; false where either is a NaN.
    Eq: "eq", 2, Compute, Bool, Numbers, 2, Infix("==", Bind::Compare);
    /// Not equal. For floats: less or greater; false where either is a NaN.
    Ne: "ne", 2, Compute, Bool, Numbers, 2, Infix("!=", Bind::Compare);
    /// Less.
    Lt: "lt", 2, Compute, Bool, Signed, 2, Infix("<", Bind::Compare);
    /// Less or equal.
    Le: "le", 2, Compute, Bool, Signed, 2, Infix("<=", Bind::Compare);
    /// Greater.
    Gt: "gt", 2, Compute, Bool, Signed, 2, Infix(">", Bind::Compare);
    /// Greater or equal.
    Ge: "ge", 2, Compute, Bool, Signed, 2, Infix(">=", Bind::Compare);
    /// Either operand is a NaN.
    Unord: "unordered", 2, Compute, Bool, Numbers, 2, Own;
    /// `class(x, m)`: whether the bit of m that stands for x's class is 1.
    Class: "class", 2, Compute, Bool, Numbers, 0, Own;

    // Three operands.

    /// First operand (a truth value) ? second : third.
    Select: "select", 3, Compute, Operand, Bits, 0, Own;
    /// `fma(x, y, z)`: x * y + z, rounded once.
    Fma: "fma", 3, Compute, Given, Numbers, 3, Call;
    /// `fma_times_power_of_two(x, y, z, n)`: (x * y + z) * 2^n, rounded once. Denormal operands are kept.
    FmaLdexp(i16): "fma_times_power_of_two", 3, Compute, Operand, Numbers, 3, Own;
    /// `mad(x, y, z)`: x * y + z, rounded after the product and after the sum; denormals are flushed.
    Mad: "mad", 3, Compute, Operand, Numbers, 3, Call;

    // Floats.

    /// The float quotient, correctly rounded.
    Div: "div", 2, Compute, Operand, Numbers, 2, Infix("/", Bind::Product);
    /// The float square root, correctly rounded.
    Sqrt: "sqrt", 1, Compute, Operand, Numbers, 1, Call;
    /// `ldexp(x, n)`: x * 2^n, rounded once.
    Ldexp: "ldexp", 2, Compute, Operand, Numbers, 1, Own;
    /// The float rounded to an integral value: towards minus infinity.
    Floor: "floor", 1, Compute, Operand, Numbers, 1, Call;
    /// The float rounded to an integral value: towards plus infinity.
    Ceil: "ceil", 1, Compute, Operand, Numbers, 1, Call;
    /// `trunc(x)`: x rounded to an integral value towards zero.
    RoundZero: "trunc", 1, Compute, Operand, Numbers, 1, Call;
    /// `round_to_even(x)`: x rounded to the nearest integral value, ties to the even one.
    RoundEven: "round_to_even", 1, Compute, Operand, Numbers, 1, Call;

    // Lanes.

    /// The value of the lane whose number (modulo 64) is the second operand, independently of EXEC.
    ReadLane: "read_lane", 2, Lanes, Operand, Bits, 0, Own;
    /// `send_to_lane(x, n)`: each lane sends x to lane n modulo 64, the highest sender winning; 0 where none sends.
    SendLane: "send_to_lane", 2, Lanes, Operand, Bits, 0, Call;
    /// `first_active_lane`: the lowest lane that EXEC has on; 0 where none is.
    FirstLane: "first_active_lane", 0, Lanes, Given, Bits, 0, Word;
    /// The lane's own number, 0 to 63.
    Lane: "lane", 0, Leaf, Given, Bits, 0, Word;

    // Memory.

    /// The byte address of a memory instruction, from its address operands and modifiers; for buffers with the range check for
    /// every access through it.
    Address: "address", 0, Memory, Given, Bits, 0, Word;
    /// Reads memory at the address plus a constant.
    Load(Space, i32): "load", 1, Memory, Given, Bits, 0, Own;
    /// Component `.0` of the typed element at the address, converted to 32 bits, or to 16 if the result has 16. The format is the
    /// instruction's own or that of its buffer resource.
    LoadFormat(u8): "load_format", 1, Memory, Given, Bits, 0, Own;
    /// The dword of LDS that belongs to the lane in a buffer instruction: at M0's low half plus the instruction's offset plus
    /// four times the lane's number.
    LdsOfLane: "lds_of_lane", 0, Memory, Given, Bits, 0, Own;
    /// The entry of a table of constants whose index is the operand; 0 beyond its end.
    Table(&'static &'static [u64]): "table", 1, Compute, Given, Bits, 0, Own;

    // Operations with effects.

    /// Reads, computes and writes memory in one atomic step; returns the old value. Operands: address, data, comparand. It is
    /// executed even if the old value is not used.
    Atomic(Space, AtomicOp): "atomic", 3, Act, Operand, Bits, 0, Own;
    /// An atomic that is executed once for the wave, with the operands of the lowest active lane; every lane gets the old value.
    /// Without an active lane it is not executed, and returns 0.
    WaveAtomic(Space, AtomicOp): "wave_atomic", 3, Act, Operand, Bits, 0, Own;
    /// An operation of global wave sync, executed once for the wave, even if its result, which is 0, is not used. Operands:
    /// resource (modulo 64), value; both of lane 0. If the operation must wait, the instruction is run again later.
    Gws(GwsOp): "global_wave_sync", 2, Act, U32, Bits, 0, Own;
    /// `wait_for_turn()`: waits until every wave that started before has given up the turn that this one waits for (its first, its second, …) or has ended.
    Turn: "wait_for_turn", 0, Act, U32, Bits, 0, Call;
}
