//! The operations of the meanings' IR that depend only on their operands and MODE.

use crate::fp::{self, Env, F16, F32, F64, Mode, Round};
use crate::wave::mode::FP16_OVFL;
use crate::with_known_env;
use gcn_isa::meaning::{AtomicOp, Op, width_mask};
use gcn_isa::op::Kind;
use gcn_isa::shape::Ty;
use gcn_isa::target::Gen;

/// The arithmetic of a float type under MODE.
pub(crate) fn env(mode: u32, ty: Ty) -> Env {
    match ty {
        Ty::F16 => Mode(mode).env16(),
        Ty::F32 => Mode(mode).env32(),
        _ => Mode(mode).env64(),
    }
}

/// `v` of `bits` bits as two's complement.
#[inline]
fn signed(v: u64, bits: u32) -> i64 {
    let shift = 64 - bits.clamp(1, 64);
    ((v << shift) as i64) >> shift
}

/// Evaluates `$body` with `$f` naming the float type of `$ty`.
macro_rules! by_float {
    ($ty:expr, $f:ident => $body:expr) => {
        match $ty {
            Ty::F16 => {
                type $f = F16;
                $body
            }
            Ty::F32 => {
                type $f = F32;
                $body
            }
            _ => {
                type $f = F64;
                $body
            }
        }
    };
}

#[inline]
fn map1<const N: usize>(d: &mut [u64; N], a: &[u64; N], f: impl Fn(u64) -> u64) {
    for i in 0..N {
        d[i] = f(a[i]);
    }
}

#[inline]
fn map2<const N: usize>(d: &mut [u64; N], a: &[u64; N], b: &[u64; N], f: impl Fn(u64, u64) -> u64) {
    for i in 0..N {
        d[i] = f(a[i], b[i]);
    }
}

#[inline]
fn map3<const N: usize>(
    d: &mut [u64; N],
    a: &[u64; N],
    b: &[u64; N],
    c: &[u64; N],
    f: impl Fn(u64, u64, u64) -> u64,
) {
    for i in 0..N {
        d[i] = f(a[i], b[i], c[i]);
    }
}

/// A float operation of two or three operands over all lanes, specialized for the common environments.
macro_rules! float2 {
    ($ty:expr, $env:expr, $op:ident, $d:expr, $a:expr, $b:expr) => {
        by_float!($ty, F => with_known_env!($env, |e| map2($d, $a, $b, |x, y| fp::$op::<F>(x, y, e))))
    };
}

macro_rules! float3 {
    ($ty:expr, $env:expr, $op:ident, $d:expr, $a:expr, $b:expr, $c:expr) => {
        by_float!($ty, F => with_known_env!($env, |e| map3($d, $a, $b, $c, |x, y, z| fp::$op::<F>(x, y, z, e))))
    };
}

macro_rules! float1 {
    ($ty:expr, $env:expr, $op:ident, $d:expr, $a:expr) => {
        by_float!($ty, F => map1($d, $a, |x| fp::$op::<F>(x, $env)))
    };
}

/// A comparison: floats by `fp`, integers as their type orders them.
macro_rules! compare {
    ($ty:expr, $mode:expr, $float:ident, $rel:tt, $d:expr, $a:expr, $b:expr) => {
        if $ty.is_float() {
            let e = &env($mode, $ty);
            by_float!($ty, F => map2($d, $a, $b, |x, y| fp::$float::<F>(x, y, e) as u64))
        } else if $ty.is_signed() {
            let bits = $ty.bits();
            map2($d, $a, $b, |x, y| (signed(x, bits) $rel signed(y, bits)) as u64)
        } else {
            map2($d, $a, $b, |x, y| (x $rel y) as u64)
        }
    };
}

/// An operation with the parameters that determine its result.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The operation.
    pub op: Op,
    /// The type that the operands are read as.
    pub ty: Ty,
    /// The type of the result.
    pub out: Ty,
    /// The generation.
    pub generation: Gen,
    /// MODE.
    pub mode: u32,
}

/// Computes a node that depends on its operands alone; returns `false` for any other operation. All values are zero-extended.
#[inline]
pub fn eval<const N: usize>(
    operation: Operation,
    [a, b, c]: [&[u64; N]; 3],
    d: &mut [u64; N],
) -> bool {
    let Operation {
        op,
        ty,
        out,
        generation,
        mode,
    } = operation;
    let mask = width_mask(out);
    let bits = ty.bits();
    let float = ty.is_float();
    match op {
        Op::Not => map1(d, a, |x| !x & mask),
        Op::Neg if float => by_float!(ty, F => map1(d, a, fp::neg::<F>)),
        Op::Neg => map1(d, a, |x| x.wrapping_neg() & mask),
        Op::Abs if float => by_float!(ty, F => map1(d, a, fp::abs::<F>)),
        Op::Abs if ty.is_signed() => {
            map1(d, a, |x| signed(x, bits).wrapping_abs() as u64 & mask);
        }
        Op::Abs => *d = *a,
        Op::Rev => map1(d, a, |x| x.reverse_bits() >> (64 - bits.min(64))),
        Op::Popcount => map1(d, a, |x| x.count_ones() as u64),
        Op::Clz => map1(d, a, |x| (x.leading_zeros() - (64 - bits.min(64))) as u64),
        Op::Ctz => map1(d, a, |x| x.trailing_zeros().min(bits) as u64),
        Op::Zext => *d = *a,
        Op::Sext => map1(d, a, |x| signed(x, bits) as u64 & mask),
        Op::Trunc => map1(d, a, |x| x & mask),
        Op::IntToFloat | Op::FloatToInt | Op::FloatToFloat => convert(operation, a, d),
        Op::Add if float => float2!(ty, &env(mode, ty), add, d, a, b),
        Op::Add => map2(d, a, b, |x, y| x.wrapping_add(y) & mask),
        Op::Sub if float => float2!(ty, &env(mode, ty), sub, d, a, b),
        Op::Sub => map2(d, a, b, |x, y| x.wrapping_sub(y) & mask),
        Op::Mul if float => float2!(ty, &env(mode, ty), mul, d, a, b),
        Op::Mul => map2(d, a, b, |x, y| x.wrapping_mul(y) & mask),
        Op::MulHi if ty.is_signed() => map2(d, a, b, |x, y| {
            ((signed(x, bits) as i128 * signed(y, bits) as i128) >> bits) as u64 & mask
        }),
        Op::MulHi => map2(d, a, b, |x, y| {
            ((x as u128 * y as u128) >> bits) as u64 & mask
        }),
        Op::And => map2(d, a, b, |x, y| x & y),
        Op::Or => map2(d, a, b, |x, y| x | y),
        Op::Xor => map2(d, a, b, |x, y| x ^ y),
        Op::Shl => map2(d, a, b, |x, n| if n < 64 { x << n & mask } else { 0 }),
        Op::Shr if ty.is_signed() => {
            map2(d, a, b, |x, n| (signed(x, bits) >> n.min(63)) as u64 & mask)
        }
        Op::Shr => map2(d, a, b, |x, n| if n < 64 { x >> n } else { 0 }),
        Op::Min | Op::Max if float => {
            // Before gfx9, v_min and v_max keep denormals.
            let e = env(mode, ty);
            let e = &if generation < Gen::Gfx9 {
                e.keeping_denormals()
            } else {
                e
            };
            if op == Op::Min {
                float2!(ty, e, min, d, a, b);
            } else {
                float2!(ty, e, max, d, a, b);
            }
        }
        Op::Min if ty.is_signed() => map2(d, a, b, |x, y| {
            if signed(x, bits) < signed(y, bits) {
                x
            } else {
                y
            }
        }),
        Op::Min => map2(d, a, b, u64::min),
        Op::Max if ty.is_signed() => map2(d, a, b, |x, y| {
            if signed(x, bits) > signed(y, bits) {
                x
            } else {
                y
            }
        }),
        Op::Max => map2(d, a, b, u64::max),
        Op::Eq => compare!(ty, mode, eq, ==, d, a, b),
        Op::Ne => compare!(ty, mode, lg, !=, d, a, b),
        Op::Lt => compare!(ty, mode, lt, <, d, a, b),
        Op::Le => compare!(ty, mode, le, <=, d, a, b),
        Op::Gt => compare!(ty, mode, gt, >, d, a, b),
        Op::Ge => compare!(ty, mode, ge, >=, d, a, b),
        Op::Unord => by_float!(ty, F => map2(d, a, b, |x, y| fp::u::<F>(x, y) as u64)),
        Op::Class => {
            by_float!(ty, F => map2(d, a, b, |x, m| fp::class_test::<F>(x, m as u32) as u64))
        }
        Op::Select => map3(d, a, b, c, |x, y, z| if x & 1 != 0 { y } else { z }),
        Op::Fma if ty != out => {
            let (from, to) = (&env(mode, ty), &env(mode, out));
            map3(d, a, b, c, |x, y, z| {
                fp::fma_to::<F32, F16>(x, y, z, from, to)
            });
        }
        Op::Fma => float3!(ty, &env(mode, ty), fma, d, a, b, c),
        Op::FmaLdexp(n) => {
            let e = &env(mode, ty);
            by_float!(ty, F => map3(d, a, b, c, |x, y, z| fp::fma_ldexp::<F>(x, y, z, n as i32, e)));
        }
        Op::Mad => float3!(ty, &env(mode, ty).flushing(), mad, d, a, b, c),
        Op::Div => {
            let e = &env(mode, ty);
            by_float!(ty, F => map2(d, a, b, |x, y| fp::div::<F>(x, y, e)));
        }
        Op::Sqrt => float1!(ty, &env(mode, ty), sqrt, d, a),
        Op::Ldexp => {
            let e = &env(mode, ty);
            by_float!(ty, F => map2(d, a, b, |x, n| fp::ldexp::<F>(x, n as u32 as i32, e)));
        }
        Op::Floor => float1!(ty, &env(mode, ty), floor, d, a),
        Op::Ceil => float1!(ty, &env(mode, ty), ceil, d, a),
        Op::RoundZero => float1!(ty, &env(mode, ty), trunc, d, a),
        Op::RoundEven => float1!(ty, &env(mode, ty), rndne, d, a),
        Op::Table(entries) => map1(d, a, |x| {
            let entry = usize::try_from(x).ok().and_then(|n| entries.get(n));
            entry.copied().unwrap_or(0) & mask
        }),
        // Operations that need more than operands and MODE.
        _ => {
            debug_assert!(op.info().kind != Kind::Compute, "{op:?} is not computed");
            return false;
        }
    }
    if out == Ty::F16 && mode & FP16_OVFL != 0 && generation >= Gen::Gfx9 {
        hold_overflow(op, ty, mode, [a, b, c], d);
    }
    true
}

/// Conversions between numbers.
#[inline]
fn convert<const N: usize>(operation: Operation, a: &[u64; N], d: &mut [u64; N]) {
    let Operation {
        op, ty, out, mode, ..
    } = operation;
    let (mask, bits) = (width_mask(out), ty.bits());
    match op {
        Op::IntToFloat => {
            let e = &env(mode, out);
            if ty.is_signed() {
                by_float!(out, F => map1(d, a, |x| fp::from_i64::<F>(signed(x, bits), e)));
            } else if bits <= 32 {
                by_float!(out, F => map1(d, a, |x| fp::from_u32::<F>(x as u32, e)));
            } else {
                by_float!(out, F => map1(d, a, |x| fp::from_u64::<F>(x, e)));
            }
        }
        Op::FloatToInt => by_float!(ty, F => match (out.bits(), out.is_signed()) {
            (16, true) => map1(d, a, |x| fp::to_i16::<F>(x) as u16 as u64),
            (16, false) => map1(d, a, |x| fp::to_u16::<F>(x) as u64),
            (32, true) => map1(d, a, |x| fp::to_i32::<F>(x) as u32 as u64),
            (64, true) => map1(d, a, |x| fp::to_i64::<F>(x) as u64),
            (64, false) => map1(d, a, fp::to_u64::<F>),
            // Narrower types saturate at their own limits.
            (_, true) => {
                let most = (mask >> 1) as i32;
                map1(d, a, |x| fp::to_i32::<F>(x).clamp(-most - 1, most) as u64 & mask);
            }
            (32, false) => map1(d, a, |x| fp::to_u32::<F>(x) as u64),
            (_, false) => map1(d, a, |x| (fp::to_u32::<F>(x) as u64).min(mask)),
        }),
        _ => {
            let (from, to) = (&env(mode, ty), &env(mode, out));
            match (ty, out) {
                (Ty::F16, Ty::F32) => map1(d, a, |x| fp::convert::<F16, F32>(x, from, to)),
                (Ty::F16, Ty::F64) => map1(d, a, |x| fp::convert::<F16, F64>(x, from, to)),
                (Ty::F32, Ty::F16) => map1(d, a, |x| fp::convert::<F32, F16>(x, from, to)),
                (Ty::F32, Ty::F64) => map1(d, a, |x| fp::convert::<F32, F64>(x, from, to)),
                (Ty::F64, Ty::F16) => map1(d, a, |x| fp::convert::<F64, F16>(x, from, to)),
                (Ty::F64, Ty::F32) => map1(d, a, |x| fp::convert::<F64, F32>(x, from, to)),
                _ => *d = *a,
            }
        }
    }
}

/// MODE.FP16_OVFL: an f16 result that overflowed becomes the largest finite number of its sign. An infinity that comes
/// from an infinite operand or from a division by zero stays. (docs/errata.md, fp16-ovfl.)
#[cold]
fn hold_overflow<const N: usize>(
    op: Op,
    ty: Ty,
    mode: u32,
    args: [&[u64; N]; 3],
    d: &mut [u64; N],
) {
    const LARGEST: u64 = 0x7bff;
    let infinite = |v: u64| by_float!(ty, F => fp::is_inf::<F>(v));
    for lane in 0..N {
        let [a, b, c] = args.map(|arg| arg[lane]);
        let exact = match op {
            Op::Add | Op::Sub | Op::Mul => infinite(a) || infinite(b),
            Op::Fma | Op::FmaLdexp(_) | Op::Mad => infinite(a) || infinite(b) || infinite(c),
            Op::Div => infinite(a) || fp::is_zero::<F16>(fp::flush_in::<F16>(b, &env(mode, ty))),
            Op::Ldexp | Op::FloatToFloat => infinite(a),
            Op::IntToFloat => false,
            _ => return,
        };
        if !exact && fp::is_inf::<F16>(d[lane]) {
            d[lane] = d[lane] & 0x8000 | LARGEST;
        }
    }
}

/// The value that an atomic stores, from the old value, its data and its second operand. With `lds` it is in LDS or GDS,
/// where float minimum, maximum and compare-and-swap treat denormal operands as MODE says; in memory they keep them.
pub fn atomic(op: AtomicOp, ty: Ty, old: u64, data: u64, second: u64, mode: u32, lds: bool) -> u64 {
    let mask = width_mask(ty);
    let bits = ty.bits();
    let float = ty.is_float();
    let smaller = |x: u64, y: u64| {
        if ty.is_signed() {
            signed(x, bits) < signed(y, bits)
        } else {
            x < y
        }
    };
    // The operands as float comparisons read them.
    let seen = &Env {
        flush_in: lds && env(mode, ty).flush_in,
        ..Env::IEEE
    };
    match op {
        AtomicOp::Swap => data,
        AtomicOp::CmpSwap if float => {
            let same = by_float!(ty, F => fp::eq::<F>(old, second, seen));
            if same { data } else { old }
        }
        AtomicOp::Min | AtomicOp::Max if float => {
            // A signalling NaN in the data takes precedence and is stored quieted, then one in memory; any other NaN loses.
            by_float!(ty, F => {
                let (old, data) = (fp::flush_in::<F>(old, seen), fp::flush_in::<F>(data, seen));
                let quiet = |v: u64| fp::is_nan::<F>(v) && !fp::is_snan::<F>(v);
                match op {
                    _ if quiet(old) && !fp::is_snan::<F>(data) => data,
                    AtomicOp::Min => fp::min::<F>(data, old, seen),
                    _ => fp::max::<F>(data, old, seen),
                }
            })
        }
        AtomicOp::CmpSwap => {
            if old == second {
                data
            } else {
                old
            }
        }
        AtomicOp::Add if float => {
            // The adder at the memory is not the VALU's: it quiets a NaN independently of MODE.IEEE.
            let e = &Env {
                ieee: true,
                ..env(mode, ty).rounding(Round::NearestEven)
            };
            by_float!(ty, F => fp::add::<F>(old, data, e))
        }
        AtomicOp::Add => old.wrapping_add(data) & mask,
        AtomicOp::Sub => old.wrapping_sub(data) & mask,
        AtomicOp::Rsub => data.wrapping_sub(old) & mask,
        AtomicOp::Min => {
            if smaller(data, old) {
                data
            } else {
                old
            }
        }
        AtomicOp::Max => {
            if smaller(old, data) {
                data
            } else {
                old
            }
        }
        AtomicOp::And => old & data,
        AtomicOp::Or => old | data,
        AtomicOp::Xor => old ^ data,
        AtomicOp::Inc => {
            if old >= data {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Dec => {
            if old == 0 || old > data {
                data
            } else {
                old - 1
            }
        }
        AtomicOp::Mskor => old & !data | second,
        AtomicOp::Wrap => {
            if old >= data {
                old - data
            } else {
                old.wrapping_add(second) & mask
            }
        }
        AtomicOp::AndAdd => (old & second).wrapping_add(data) & mask,
        AtomicOp::CondSwap => {
            let top = 1 << (bits - 1);
            if data & top != 0 { data ^ top } else { old }
        }
    }
}
