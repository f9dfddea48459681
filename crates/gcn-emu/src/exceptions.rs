//! The exceptions of float arithmetic: those that an instruction's nodes raise, computed from their operands, and the test
//! whether a program can observe them.
//!
//! They are recorded in TRAPSTS only if a program can observe them: if a bit of MODE.EXCP_EN is set, or if the code reads TRAPSTS.
//! Otherwise none of this code runs.

use crate::engine::{Code, Machine};
use crate::eval;
use crate::fp::{self, Env, F16, F32, F64, Float, Round};
use crate::wave::LANES;
use gcn_isa::decode::decode;
use gcn_isa::meaning::{Change, Node, Op, Program, exception, meaning};
use gcn_isa::op::Kind;
use gcn_isa::shape::Ty;
use gcn_isa::target::{Gen, Target};
use std::collections::HashMap;

/// The number of the hwreg TRAPSTS.
const TRAPSTS: u32 = 3;

/// Returns true if an instruction of the code reads TRAPSTS. Data among the code may be mistaken for one, which costs only time.
pub fn visible(machine: &Machine<'_>) -> bool {
    let mut reads = ReadsHwreg::new(machine.target);
    let any = |reads: &mut ReadsHwreg, bytes: &[u8]| {
        let words = bytes.chunks_exact(4);
        let mut words = words.map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
        words.any(|word| word & 0x3f == TRAPSTS && reads.upper_half(word))
    };
    match machine.code {
        Code::Snippet(_, code) => any(&mut reads, code),
        Code::Memory => {
            let ask = |page: &[u8]| any(&mut reads, page);
            machine.memory.about_code(machine.target, ask)
        }
    }
}

/// The classes of upper halves of dwords, cached for those that were tested.
struct ReadsHwreg {
    target: Target,
    known: HashMap<u16, bool>,
}

impl ReadsHwreg {
    fn new(target: Target) -> ReadsHwreg {
        ReadsHwreg {
            target,
            known: HashMap::new(),
        }
    }

    /// Returns true if a dword with this upper half is an instruction that reads the hwreg that its lower half names.
    fn upper_half(&mut self, word: u32) -> bool {
        let target = self.target;
        *self.known.entry((word >> 16) as u16).or_insert_with(|| {
            let Some(insn) = decode(target, &word.to_le_bytes()) else {
                return false;
            };
            let nodes = meaning(insn.row, target).nodes;
            nodes.iter().any(|n| n.op == Op::Getreg)
        })
    }
}

/// The exceptions, as bits of TRAPSTS, that an instruction raises in `lanes`. `values` are those of its nodes, `clamp` is
/// its clamp bit: a conversion to an integer is inexact only with it (docs/errata.md, float-exceptions).
pub(crate) fn raised<const N: usize>(
    program: &Program,
    values: &[[u64; N]],
    mode: u32,
    lanes: u64,
    clamp: bool,
) -> u32 {
    // The value that a lane did not select was computed too, but raises nothing. This holds the lanes that need each node.
    let mut needed = vec![0u64; program.nodes.len()];
    let mut flags = 0;
    for effect in &program.effects {
        let mut lanes = lanes;
        if let Some(when) = effect.when {
            needed[when as usize] |= lanes;
            lanes &= truth(&values[when as usize]);
        }
        if let Change::Raise(exceptions) = effect.change {
            if truth(&values[effect.value as usize]) & lanes != 0 {
                flags |= exceptions as u32;
            }
            continue;
        }
        needed[effect.value as usize] |= lanes;
        needed[effect.second as usize] |= lanes;
    }
    for (at, node) in program.nodes.iter().enumerate().rev() {
        let lanes = needed[at];
        if lanes == 0 {
            continue;
        }
        let args = &node.args[..node.op.arity()];
        if let (Op::Select, &[condition, yes, no]) = (node.op, args) {
            let chosen = truth(&values[condition as usize]);
            needed[condition as usize] |= lanes;
            needed[yes as usize] |= lanes & chosen;
            needed[no as usize] |= lanes & !chosen;
            continue;
        }
        for &arg in args {
            // Values that other lanes computed may reach these lanes.
            let crosses = node.op.info().kind == Kind::Lanes;
            needed[arg as usize] |= if crosses { !0 } else { lanes };
        }
        if !node.nearest && (node.ty.is_float() || node.out.is_float()) {
            let value = |k: usize, lane: usize| values[node.args[k] as usize][lane];
            for lane in (0..N).filter(|lane| lanes >> lane & 1 != 0) {
                let operands = [value(0, lane), value(1, lane), value(2, lane)];
                let raised = of_node(node, mode, operands) as u32;
                flags |= match node.op {
                    Op::FloatToInt if !clamp => raised & !u32::from(exception::INEXACT),
                    _ => raised,
                };
            }
        }
    }
    flags
}

/// The lanes in which a truth value holds; a scalar value stands for all lanes.
fn truth<const N: usize>(value: &[u64; N]) -> u64 {
    if N == LANES {
        return crate::operands::pack(value);
    }
    if value[0] & 1 != 0 { !0 } else { 0 }
}

fn of_node(node: &Node, mode: u32, operands: [u64; 3]) -> u8 {
    match node.ty {
        Ty::F16 => of_float::<F16>(node, mode, operands),
        Ty::F32 => of_float::<F32>(node, mode, operands),
        Ty::F64 => of_float::<F64>(node, mode, operands),
        // The conversion of an integer to a float can only be inexact.
        _ if node.op == Op::IntToFloat => {
            let e = eval::env(mode, node.out);
            let rounded = |round| computed(node, &e.rounding(round), operands);
            match rounded(Round::PlusInf) == rounded(Round::MinusInf) {
                true => 0,
                false => exception::INEXACT,
            }
        }
        _ => 0,
    }
}

/// The node's value in another environment.
fn computed(node: &Node, env: &Env, [a, b, c]: [u64; 3]) -> u64 {
    let keep = |flush: bool, bits: u32| if flush { 0 } else { bits };
    // FP_ROUND and FP_DENORM of all precisions.
    let mode = (env.round as u32 * 0b0101)
        | keep(env.flush_in, 0x50)
        | keep(env.flush_out, 0xa0)
        | (env.dx10_clamp as u32) << 8
        | (env.ieee as u32) << 9;
    let mut value = [0];
    let operation = eval::Operation {
        op: node.op,
        ty: node.ty,
        out: node.out,
        generation: Gen::Gfx9,
        mode,
    };
    eval::eval(operation, [&[a], &[b], &[c]], &mut value);
    value[0]
}

fn of_float<F: Float>(node: &Node, mode: u32, operands: [u64; 3]) -> u8 {
    let env = match node.op {
        Op::Mad => eval::env(mode, node.ty).flushing(),
        _ => eval::env(mode, node.ty),
    };
    // Neg, abs, class and moves do not read their operands as numbers.
    let floats = node.op.info().floats as usize;
    if floats == 0 {
        return 0;
    }
    let mut operands = operands;
    let read = &mut operands[..floats];
    for x in read.iter_mut() {
        *x = fp::flush_in::<F>(*x, &env);
    }
    let mut flags = 0;
    if read.iter().any(|&x| fp::is_snan::<F>(x)) {
        flags |= exception::INVALID;
    }
    if read.iter().any(|&x| fp::is_denormal::<F>(x)) {
        flags |= exception::INPUT_DENORMAL;
    }
    if read.iter().any(|&x| fp::is_nan::<F>(x)) {
        if node.op == Op::FloatToInt {
            flags |= exception::INVALID;
        }
        return flags;
    }
    flags
        | match node.op {
            Op::FloatToInt => of_integer::<F>(node, operands[0]),
            Op::Mad => {
                let [a, b, c] = operands;
                let product = fp::mul::<F>(a, b, &env);
                let part = |op, operands| {
                    let node = Node { op, ..*node };
                    of_result::<F>(&node, &env, operands)
                };
                part(Op::Mul, [a, b, 0]) | part(Op::Add, [product, c, 0])
            }
            Op::FloatToFloat => {
                let to = eval::env(mode, node.out);
                match node.out {
                    Ty::F16 => of_result::<F16>(node, &to, operands),
                    Ty::F32 => of_result::<F32>(node, &to, operands),
                    _ => of_result::<F64>(node, &to, operands),
                }
            }
            Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Div
            | Op::Fma
            | Op::FmaLdexp(_)
            | Op::Sqrt
            | Op::Ldexp => of_result::<F>(node, &env, operands),
            _ => 0,
        }
}

/// The conversion of a float, not a NaN, to an integer: out of range is invalid, a fraction is inexact.
fn of_integer<F: Float>(node: &Node, x: u64) -> u8 {
    let whole = fp::trunc::<F>(x, &Env::IEEE);
    let back = match (node.out.is_signed(), computed(node, &Env::IEEE, [x, 0, 0])) {
        (true, i) => {
            let unused = 64 - node.out.bits();
            fp::from_i64::<F>(
                (i << unused) as i64 >> unused,
                &Env::IEEE.rounding(Round::Zero),
            )
        }
        (false, i) => fp::from_u64::<F>(i, &Env::IEEE.rounding(Round::Zero)),
    };
    let same = |a: u64, b: u64| fp::eq::<F>(a, b, &Env::IEEE);
    if !same(whole, back) {
        exception::INVALID
    } else if !same(whole, x) {
        exception::INEXACT
    } else {
        0
    }
}

/// An operation without a NaN among its operands, whose result has type `F`.
fn of_result<F: Float>(node: &Node, env: &Env, operands: [u64; 3]) -> u8 {
    let full = env.keeping_denormals();
    let under = |round, operands| computed(node, &full.rounding(round), operands);
    let rounded = under(env.round, operands);
    if fp::is_nan::<F>(rounded) {
        return exception::INVALID;
    }
    let magnitude = |x: u64| fp::abs::<F>(x);
    if node.op == Op::Div && magnitude(operands[1]) == 0 {
        return match fp::is_inf::<F>(operands[0]) {
            true => 0,
            false => exception::DIVIDE_BY_ZERO,
        };
    }
    let (up, down) = (
        under(Round::PlusInf, operands),
        under(Round::MinusInf, operands),
    );
    let inexact = up != down && !(fp::is_zero::<F>(up) && fp::is_zero::<F>(down));
    let mut flags = if inexact { exception::INEXACT } else { 0 };
    // An exact infinity comes from an infinite operand.
    if inexact && (fp::is_inf::<F>(up) || fp::is_inf::<F>(down)) {
        // A result that was rounded towards zero to the largest number overflows only if it reaches the next larger number.
        // At half the size that number exists.
        let half = |x: u64| fp::ldexp::<F>(x, -1, &full);
        let [a, b, c] = operands;
        let halved = match node.op {
            Op::Sqrt | Op::FloatToFloat => [a, b, c],
            Op::Add | Op::Sub => [half(a), half(b), c],
            _ => [half(a), b, half(c)],
        };
        let small = magnitude(under(env.round, halved));
        let fits = magnitude(rounded) == F::MAX && small == F::MAX - (1 << F::MANT);
        if !fits {
            flags |= exception::OVERFLOW;
        }
    }
    // A result that MODE would flush is tiny, except an exact zero.
    let flushing = Env {
        flush_out: true,
        ..full.rounding(env.round)
    };
    let zero = fp::is_zero::<F>(rounded) && !inexact;
    let tiny = !zero && fp::is_zero::<F>(computed(node, &flushing, operands));
    if tiny && (inexact || env.flush_out) {
        flags |= exception::UNDERFLOW | exception::INEXACT;
    }
    flags
}
