//! The text of the IR, and the rules that the verifier keeps.

use super::region::Block;
use super::{Found, Graph, Inst, parse, verify};
use gcn_isa::meaning::{Op, Space};
use gcn_isa::shape::Ty;
use gcn_isa::target::Gen;

/// A saxpy of one element per lane, with a guard, an inserted lane and scalars that depend on lanes.
const SAXPY: &str = "\
block 0x1000..0x1030, 9 instructions, fp nearest daz ftz
  %0 = vgpr v0 : lanes b32
  %1 = vgpr v1 : lanes b32
  %2 = sgpr s9 : b32
  %3 = load.global 1x4 +16, %0, %1 : lanes b32
  %4 = part 0, %3 : lanes b32
  %5 = fma.f32 %2, %4, %4 : lanes f32
  %6 = exec : lanes bool
  %7 = gt.u32 %0, %2 : lanes bool
  %8 = and.bool %7, %6 : lanes bool
  %9 = ballot %8 : b64
  %10 = lo %9 : b32
  %11 = hi %9 : b32
  %12 = const 0x7 : b64
  %13 = const 0x0 : b64
  %14 = ne.b64 %9, %13 : bool
  guard %8
  deferred_store.global x4 -8, %0, %1 = %5
  v5 = %5 active
  v7[%12] = %2
  vcc_lo = %10
  vcc_hi = %11
  branch %14, 0x1000, 0x1030
";

fn block(text: &str) -> Block {
    parse::block(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn blocks_print_as_they_are_read() {
    assert_eq!(block(SAXPY).to_string(), SAXPY);
    for end in [
        "jump 0x10",
        "indirect %0",
        "interpret",
        "interpret jumps alone",
        "end",
        "barrier",
        "leave",
    ] {
        let text = format!("block 0x0..0x4, 1 instructions\n  %0 = scc : bool\n  {end}\n");
        assert_eq!(block(&text).to_string(), text);
    }
}

/// A VGPR is read by number, and another one written.
const NUMBERED: &str = "\
block 0x0..0xc, 3 instructions
  %0 = sgpr m0 : b32
  %1 = vgpr_at %0 : lanes b32
  indexed 4..24, %0 = %1
  end
";

#[test]
fn writes_by_number() {
    let read = block(NUMBERED);
    assert_eq!(read.to_string(), NUMBERED);
    assert_eq!(verify::block(&read), Ok(()));
    assert_eq!(read.roots(), [0, 1]);
    for (line, message) in [
        ("indexed 4..24, %1 = %1", "has lanes"),
        ("indexed 4..4, %0 = %1", "reaches none"),
    ] {
        let broken = NUMBERED.replace("indexed 4..24, %0 = %1", line);
        let said = verify::block(&block(&broken)).expect_err(line);
        assert!(said.contains(message), "{said}");
    }
}

#[test]
fn messages_of_the_reader_name_the_line() {
    for (line, message) in [
        ("  %1 = vgpr v0 : lanes b32", "line 2: %0 is expected"),
        ("  %0 = vgpr x0 : lanes b32", "line 2: `x0` is not a VGPR"),
        ("  %0 = add.b32 %0 : b32", "line 2: 2 operands are expected"),
        (
            "  %0 = frob.b32 %0 : b32",
            "line 2: `frob` is not an operation",
        ),
        ("  %0 = const 0x1 : b33", "line 2: `b33` is not a type"),
        ("  frob", "line 2: the line ends too early"),
    ] {
        let text = format!("block 0x0..0x4, 1 instructions\n{line}\n");
        assert_eq!(parse::block(&text).err().as_deref(), Some(message));
    }
}

#[test]
fn the_verifier_accepts_what_keeps_the_rules() {
    assert_eq!(verify::block(&block(SAXPY)), Ok(()));
}

#[test]
fn the_verifier_names_the_rule_that_is_broken() {
    let broken = |from: &str, to: &str, message: &str| {
        assert!(SAXPY.contains(from), "{from}");
        let said = verify::block(&block(&SAXPY.replace(from, to)));
        let said = said.expect_err(from);
        assert!(said.contains(message), "{said}");
    };
    broken("fma.f32 %2, %4, %4", "fma.f32 %2, %9, %4", "not before it");
    broken(
        "vgpr v1 : lanes b32",
        "vgpr v1 : b32",
        "has lanes but is scalar",
    );
    broken(
        "sgpr s9 : b32",
        "sgpr s9 : lanes b32",
        "is scalar but has lanes",
    );
    broken("part 0, %3", "part 1, %3", "is part 1 of 1");
    broken("part 0, %3", "part 0, %2", "is a part of no load");
    broken(", fp nearest daz ftz", "", "floating-point environment");
    broken(
        "gt.u32 %0, %2 : lanes bool",
        "gt.u32 %0, %2 : bool",
        "is scalar but reads lanes",
    );
    broken(
        "gt.u32 %0, %2 : lanes bool",
        "gt.u32 %0, %2 : lanes b32",
        "is Bool",
    );
    broken("vcc_lo = %10", "vcc_lo = %4", "a scalar register takes %4");
    broken("vcc_lo = %10", "vcc_hi = %10", "is written twice");
    broken(
        "v5 = %5 active",
        "v5 = %10 active",
        "needed before their end",
    );
    broken("v7[%12]", "v7[%0]", "has lanes");
    broken("branch %14", "branch %7", "the terminator depends on %7");
}

fn graph() -> Graph {
    Graph {
        nodes: Vec::new(),
        fast_paths: Vec::new(),
        found: Found::default(),
        generation: Gen::Gfx9,
        mode: 0,
        modes: Vec::new(),
        known_bits: true,
    }
}

/// A number is multiplied if the power of two by which it is scaled is one of at most two normal numbers.
#[test]
fn scaled_by_known_powers_of_two() {
    let mut g = graph();
    let lo = g.node(Inst::VIn(0), Ty::B32, Ty::B32, true, [0; 3]);
    let hi = g.node(Inst::VIn(1), Ty::B32, Ty::B32, true, [0; 3]);
    let x = g.pair(lo, hi);
    let when = g.alu(Op::Lt, Ty::U32, Ty::Bool, [lo, hi, 0]).expect("lt");
    let c = |g: &mut Graph, v: i32| g.constant(Ty::B32, v as u32 as u64);
    let scaled = |g: &mut Graph, n| {
        g.alu(Op::Ldexp, Ty::F64, Ty::F64, [x, n, 0])
            .expect("ldexp")
    };
    // As in a square root: 0 or 256, which is 1 << 8.
    let (one, zero, eight) = (c(&mut g, 1), c(&mut g, 0), c(&mut g, 8));
    let n = g
        .alu(Op::Select, Ty::B32, Ty::B32, [when, one, zero])
        .expect("select");
    let n = g
        .alu(Op::Shl, Ty::B32, Ty::B32, [n, eight, 0])
        .expect("shl");
    let root = scaled(&mut g, n);
    assert_eq!(g.get(root).op, Inst::Alu(Op::Mul));
    let factor = g.get(g.get(root).args[1]);
    assert_eq!(factor.op, Inst::Alu(Op::Select));
    let values = [1, 2].map(|k| g.value_of(factor.args[k]).map(f64::from_bits));
    assert_eq!(values, [Some(2f64.powi(256)), Some(1.0)]);
    for (n, product) in [(-1022, true), (1023, true), (-1023, false), (1024, false)] {
        let n = c(&mut g, n);
        let r = scaled(&mut g, n);
        let op = if product { Op::Mul } else { Op::Ldexp };
        assert_eq!(g.get(r).op, Inst::Alu(op), "{n}");
    }
    let r = scaled(&mut g, lo);
    assert_eq!(g.get(r).op, Inst::Alu(Op::Ldexp));
}

/// A mask is removed if it has all bits that a value may have.
#[test]
fn masks_of_known_bits() {
    let mut g = graph();
    let vgpr = |g: &mut Graph, n| g.node(Inst::VIn(n), Ty::B32, Ty::B32, true, [0; 3]);
    let (x, y) = (vgpr(&mut g, 0), vgpr(&mut g, 1));
    let load = Inst::Group {
        space: Space::Global,
        bytes: 1,
        count: 1,
        offset: 0,
    };
    let load = g.node(load, Ty::B32, Ty::B32, true, [x, y, 0]);
    let byte = g.node(Inst::Part(0), Ty::B32, Ty::B32, true, [load, 0, 0]);
    let c = |g: &mut Graph, v| g.constant(Ty::B32, v);
    let (low, four) = (c(&mut g, 0xffff), c(&mut g, 4));
    let and = |g: &mut Graph, a, b| g.alu(Op::And, Ty::B32, Ty::B32, [a, b, 0]).expect("and");
    let two = |g: &mut Graph, op, ty, a, b| g.alu(op, ty, ty, [a, b, 0]).expect("an operation");
    // The loaded value has 8 bits.
    assert_eq!(and(&mut g, byte, low), byte);
    let (xl, yl) = (and(&mut g, x, low), and(&mut g, y, low));
    assert_ne!(xl, x);
    assert_eq!(and(&mut g, xl, low), xl);
    for op in [Op::Min, Op::Max] {
        let of = two(&mut g, op, Ty::U16, xl, yl);
        assert_eq!(and(&mut g, of, low), of, "{op:?}");
        // The minimum has no higher bits than the smaller operand; the maximum may have the higher bits of either.
        let of = two(&mut g, op, Ty::U32, xl, y);
        assert_eq!(and(&mut g, of, low) == of, op == Op::Min, "{op:?}");
        // A negative number is less than all of them, so the signed minimum may be negative.
        let of = two(&mut g, op, Ty::I32, xl, y);
        assert_ne!(and(&mut g, of, low), of, "{op:?}");
    }
    let shifted = two(&mut g, Op::Shr, Ty::U32, xl, four);
    let less = c(&mut g, 0xfff);
    assert_eq!(and(&mut g, shifted, less), shifted);
    let signed = two(&mut g, Op::Shr, Ty::I32, x, four);
    assert_ne!(and(&mut g, signed, less), signed);
    let sum = two(&mut g, Op::Add, Ty::U32, xl, yl);
    assert_ne!(and(&mut g, sum, low), sum);
}
