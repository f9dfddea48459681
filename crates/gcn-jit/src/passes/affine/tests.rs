//! Tests the pass on blocks that are given as text.

use super::{Assumable, after_block, assumable, extract_affine, keep_order, written};
use crate::ir::affine::{AffineVgprs, Guard};
use crate::ir::{parse, verify};

/// The results of the pass for a block in which v0 is the lane's number and v1 is uniform; and the loads that it changes.
fn made(values: &str) -> Vec<String> {
    let text = format!("block 0x0..0x10, 4 instructions\n{values}  end\n");
    let mut block = parse::block(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify::block(&block), Ok(()), "{block}");
    assert!(extract_affine(
        &mut block,
        AffineVgprs::from([(0, 1), (1, 0)])
    ));
    let mut added = String::new();
    block.print_affine(&mut added).expect("a string takes all");
    let all = block.to_string();
    let loads = all.lines().filter(|l| l.contains("load.affine"));
    let lines = loads.chain(added.lines()).map(str::trim);
    lines
        .filter(|l| !l.starts_with("affine"))
        .map(str::to_owned)
        .collect()
}

/// Like [`made`], for values of which two are the halves of an address that a dword is loaded from.
fn loaded(values: &str, lo: usize, hi: usize) -> Vec<String> {
    let n = values.lines().count();
    let part = n + 1;
    made(&format!(
        "{values}  %{n} = load.global 1x4 +0, %{lo}, %{hi} : lanes b32
  %{part} = part 0, %{n} : lanes b32
  v9 = %{part} active
"
    ))
}

#[test]
fn an_index_that_is_sign_extended_and_shifted_makes_an_affine_address() {
    let said = loaded(
        "  %0 = vgpr v0 : lanes b32
  %1 = const 0x1f : b64
  %2 = const 0x2 : b64
  %3 = shr.i32 %0, %1 : lanes b32
  %4 = shl.b32 %0, %2 : lanes b32
  %5 = shld 2, %3, %0 : lanes b32
",
        4,
        5,
    );
    assert_eq!(
        said,
        [
            "%6 = load.affine 1x4 a0 +0 : lanes b32",
            "b0 = v0",
            "guard no_wrap.i32 b0 +15",
            "a0 = b0.i32 << 2 +4 read 0..64"
        ]
    );
}

#[test]
fn a_funnel_shift_with_uniform_lower_bits_is_affine() {
    let said = loaded(
        "  %0 = vgpr v0 : lanes b32
  %1 = const 0x0 : b64
  %2 = const 0x1e : b64
  %3 = shrd 30, %1, %0 : lanes b32
  %4 = shr.i32 %0, %2 : lanes b32
",
        3,
        4,
    );
    assert_eq!(
        said,
        [
            "%5 = load.affine 1x4 a0 +0 : lanes b32",
            "b0 = v0",
            "guard no_wrap.i32 b0 +15",
            "a0 = b0.i32 << 2 +4 read 0..64"
        ]
    );
}

#[test]
fn a_number_of_24_bits_is_affine_where_it_does_not_wrap() {
    let said = loaded(
        "  %0 = vgpr v0 : lanes b32
  %1 = vgpr v1 : lanes b32
  %2 = const 0x8 : b64
  %3 = shl.b32 %0, %2 : lanes b32
  %4 = shr.i32 %3, %2 : lanes b32
  %5 = shl.b32 %4, %2 : lanes b32
  %6 = add.b32 %1, %1 : lanes b32
",
        5,
        6,
    );
    assert_eq!(
        said,
        [
            "%7 = load.affine 1x4 a0 +0 : lanes b32",
            "b0 = v0",
            "b1 = v1",
            "b2 = 0x8",
            "b3 = shl.b32 b0, b2",
            "b4 = shr.i32 b3, b2",
            "b5 = shl.b32 b4, b2",
            "b6 = add.b32 b1, b1",
            "guard no_wrap.i32 b3 +3840",
            "guard no_wrap.u32 b5 +3840",
            "a0 = b5:b6 +256 read 0..3844"
        ]
    );
}

#[test]
fn a_carry_through_vcc_is_a_part_of_the_sum() {
    let said = loaded(
        "  %0 = vgpr v0 : lanes b32
  %1 = vgpr v1 : lanes b32
  %2 = sgpr s4 : b32
  %3 = sgpr s5 : b32
  %4 = const 0x2 : b64
  %5 = shl.b32 %0, %4 : lanes b32
  %6 = exec : lanes bool
  %7 = add.b32 %2, %5 : lanes b32
  %8 = lt.u32 %7, %2 : lanes bool
  %9 = and.bool %8, %6 : lanes bool
  %10 = zext.bool %9 : lanes b32
  %11 = add.b32 %3, %1 : lanes b32
  %12 = add.b32 %11, %10 : lanes b32
",
        7,
        12,
    );
    assert_eq!(
        said,
        [
            "%13 = load.affine 1x4 a0 +0 : lanes b32",
            "b0 = v0",
            "b1 = v1",
            "b2 = 0x2",
            "b3 = shl.b32 b0, b2",
            "guard no_wrap.u32 b3 +60",
            "a0 = b3:b1 +4 read 0..64, plus %2:%3"
        ]
    );
}

/// The two halves are not a sign-extended index.
#[test]
fn a_sign_of_another_value_makes_no_index() {
    let said = loaded(
        "  %0 = vgpr v0 : lanes b32
  %1 = const 0x1f : b64
  %2 = const 0x2 : b64
  %3 = vgpr v1 : lanes b32
  %4 = shr.i32 %3, %1 : lanes b32
  %5 = shl.b32 %0, %2 : lanes b32
",
        5,
        4,
    );
    assert_eq!(
        said.last().map(String::as_str),
        Some("a0 = b5:b3 +4 read 0..64")
    );
}

/// Bits below those in which lanes differ may be set by an OR.
#[test]
fn numbers_below_the_step_are_added_by_an_or() {
    let said = loaded(
        "  %0 = vgpr v0 : lanes b32
  %1 = vgpr v1 : lanes b32
  %2 = const 0x3 : b64
  %3 = const 0x7 : b64
  %4 = const 0x0 : b64
  %5 = shl.b32 %0, %2 : lanes b32
  %6 = and.b32 %1, %3 : lanes b32
  %7 = or.b32 %5, %6 : lanes b32
  %8 = or.b32 %7, %3 : lanes b32
",
        8,
        4,
    );
    let guards: Vec<_> = said.iter().filter(|l| l.contains("bits_are")).collect();
    assert_eq!(guards.len(), 2, "{said:?}");
    assert_eq!(Guard::moving(15 * 8), !7);
    assert_eq!(Guard::moving(-15 * 8), !7);
    assert_eq!(Guard::moving(15), !0);
}

/// The results of the pass for a block with loads of two elements per lane, a value computed from them, and a store of that value and another one.
fn kept_in_order(between: &str, stored: [usize; 2]) -> bool {
    let [x, y] = stored;
    let text = format!(
        "block 0x0..0x10, 4 instructions, fp nearest
  %0 = vgpr v0 : lanes b32
  %1 = const 0x3 : b64
  %2 = shl.b32 %0, %1 : lanes b32
  %3 = const 0x0 : b64
  %4 = load.global 2x4 +0, %2, %3 : lanes b32
  %5 = part 0, %4 : lanes b32
  %6 = part 1, %4 : lanes b32
  %7 = vgpr v1 : lanes b32
{between}  assume lt.u32 %0, %1
  deferred_store.global x4 +0, %2, %3 = %{x}, %{y}
  end
"
    );
    let mut block = parse::block(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify::block(&block), Ok(()), "{block}");
    let state = AffineVgprs::from([(0, 1), (1, 0)]);
    assert!(extract_affine(&mut block, state));
    keep_order(&mut block);
    let load = block.to_string().contains("load.in_order 2x4");
    assert_eq!(block.effects.deferred_stores[0].in_order, load, "{block}");
    load
}

#[test]
fn the_same_of_each_element_is_computed_in_the_order_of_memory() {
    let both = |a: &str, b: &str| format!("  %8 = {a} : lanes f32\n  %9 = {b} : lanes f32\n");
    assert!(kept_in_order("", [5, 6]));
    // v1 is the same in all lanes.
    assert!(kept_in_order(
        &both("add.f32 %5, %7", "add.f32 %6, %7"),
        [8, 9]
    ));
    assert!(kept_in_order(
        &both("mul.f32 %5, %5", "mul.f32 %6, %6"),
        [8, 9]
    ));
    // These have exchanged elements, the first element twice, another scalar for each element, or an operation on one of them.
    assert!(kept_in_order("", [6, 5]));
    assert!(kept_in_order("", [5, 5]));
    assert!(kept_in_order(
        &both("add.f32 %5, %1", "add.f32 %6, %3"),
        [8, 9]
    ));
    assert!(kept_in_order(
        &both("add.f32 %5, %7", "mul.f32 %6, %7"),
        [8, 6]
    ));
    // Lanes do not share an operand.
    assert!(!kept_in_order(
        &both("add.f32 %5, %0", "add.f32 %6, %0"),
        [8, 9]
    ));
    // Transpositions take fewer instructions.
    let longer: String = (9..16)
        .map(|n| format!("  %{n} = mul.f32 %{}, %7 : lanes f32\n", n - 1))
        .collect();
    let longer = format!("  %8 = add.f32 %5, %6 : lanes f32\n{longer}");
    assert!(!kept_in_order(&longer, [15, 15]));
    // Chains of any length are looked at.
    let chains: String = (8..10_000)
        .map(|n| {
            format!(
                "  %{n} = add.f32 %{}, %7 : lanes f32\n",
                if n < 10 { n - 3 } else { n - 2 }
            )
        })
        .collect();
    assert!(!kept_in_order(&chains, [9998, 9999]));
    // An element has another use.
    assert!(!kept_in_order("  v9 = %6 active\n", [5, 6]));
    let beside = both("add.f32 %5, %7", "add.f32 %6, %7");
    assert!(!kept_in_order(
        &format!("{beside}  v9 = %6 active\n"),
        [8, 9]
    ));
}

#[test]
fn the_upper_half_of_a_small_product_is_zero() {
    let said = loaded(
        "  %0 = vgpr v0 : lanes b32
  %1 = const 0x0 : b64
  %2 = const 0xc : b64
  %3 = pair %0, %1 : lanes b64
  %4 = mul.b64 %3, %2 : lanes b64
  %5 = mul.b32 %0, %2 : lanes b32
  %6 = hi %4 : lanes b32
",
        5,
        6,
    );
    assert_eq!(
        said,
        [
            "%7 = load.affine 1x4 a0 +0 : lanes b32",
            "b0 = v0",
            "b1 = 0xc",
            "b2 = mul.b32 b0, b1",
            "b3 = 0x15555555",
            "b4 = 0x0",
            "guard le.unsigned b0 +15, b3 +0",
            "guard no_wrap.u32 b2 +180",
            "a0 = b2:b4 +12 read 0..184"
        ]
    );
}

#[test]
fn the_upper_half_of_a_product_of_shared_numbers_is_a_base() {
    let said = loaded(
        "  %0 = vgpr v0 : lanes b32
  %1 = const 0x0 : b64
  %2 = const 0x4 : b64
  %3 = shr.b32 %0, %2 : lanes b32
  %4 = sgpr s5 : b32
  %5 = pair %3, %1 : lanes b64
  %6 = mul.b64 %5, %4 : lanes b64
  %7 = mul.b32 %3, %4 : lanes b32
  %8 = add.b32 %7, %0 : lanes b32
  %9 = hi %6 : lanes b32
",
        8,
        9,
    );
    let base = "b6 = high.u32 b2, b3";
    assert!(said.iter().any(|l| l == base), "{said:#?}");
}

#[test]
fn a_number_with_all_bits_inverted_goes_backwards() {
    let said = loaded(
        "  %0 = vgpr v0 : lanes b32
  %1 = vgpr v1 : lanes b32
  %2 = const 0xffffffff : b64
  %3 = const 0x2 : b64
  %4 = xor.b32 %0, %2 : lanes b32
  %5 = shl.b32 %4, %3 : lanes b32
",
        5,
        1,
    );
    assert_eq!(
        said,
        [
            "%6 = load.affine 1x4 a0 +0 : lanes b32",
            "b0 = v0",
            "b1 = v1",
            "b2 = 0xffffffff",
            "b3 = xor.b32 b0, b2",
            "b4 = 0x2",
            "b5 = shl.b32 b3, b4",
            "guard no_wrap.u32 b5 -60",
            "a0 = b5:b1 -4 read -60..4"
        ]
    );
}

/// A write by number may change the VGPRs of its range, except those that are written afterwards.
#[test]
fn writes_by_number_end_facts() {
    let text = "block 0x0..0x10, 4 instructions
  %0 = sgpr m0 : b32
  %1 = vgpr v0 : lanes b32
  indexed 1..5, %0 = %1
  v2 = %1 active
  end
";
    let block = parse::block(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let before = AffineVgprs::from([(0, 1), (1, 0), (4, 2), (5, 3)]);
    let after = AffineVgprs::from([(0, 1), (2, 1), (5, 3)]);
    assert_eq!(written(&block, &before), after);
    assert_eq!(after_block(&block, &before), after);
}

/// A comparison is the same in all lanes, but a mask of it, and a mask of that, is false in inactive lanes.
#[test]
fn masks_of_masks_are_limited_to_active_lanes() {
    let text = "block 0x0..0x10, 4 instructions
  %0 = vgpr v1 : lanes b32
  %1 = exec : lanes bool
  %2 = sgpr s4 : b32
  %3 = gt.i32 %0, %2 : lanes bool
  %4 = and.bool %3, %1 : lanes bool
  %5 = lt.u32 %0, %2 : lanes bool
  %6 = and.bool %5, %4 : lanes bool
  %7 = and.bool %5, %3 : lanes bool
  %8 = ballot %6 : b64
  %9 = ballot %7 : b64
  %10 = lo %8 : b32
  %11 = lo %9 : b32
  s8 = %10
  s9 = %11
  end
";
    let mut block = parse::block(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!(extract_affine(&mut block, AffineVgprs::from([(1, 0)])));
    let text = block.to_string();
    for kept in [
        "%4 = and.bool %3, %1",
        "%6 = and.bool %5, %4",
        "%7 = affine",
    ] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
}

/// A block that trusts only carries has no guard of the sign of x - 1, which differs at the left border of an image. One that trusts nothing
/// has no guards and no affine address.
#[test]
fn blocks_use_the_guards_that_they_trust() {
    let of = |trust: &str| {
        made(&format!(
            "{trust}  %0 = vgpr v0 : lanes b32
  %1 = const 0xffffffff : b64
  %2 = const 0x1f : b64
  %3 = vgpr v1 : lanes b32
  %4 = add.b32 %0, %1 : lanes b32
  %5 = shr.i32 %4, %2 : lanes b32
  %6 = add.b32 %3, %0 : lanes b32
  %7 = lt.u32 %6, %3 : lanes bool
  %8 = zext.bool %7 : lanes b32
  %9 = load.global 1x4 +0, %0, %3 : lanes b32
  %10 = part 0, %9 : lanes b32
  v4 = %5 active
  v5 = %8 active
  v6 = %10 active
"
        ))
    };
    let guards = |trust: &str| -> Vec<String> {
        let lines = of(trust).into_iter();
        let lines = lines.filter(|line| line.starts_with("guard") || line.starts_with("a0"));
        lines
            .map(|line| line.split(" b").next().unwrap_or_default().to_owned())
            .collect()
    };
    let sign = "guard same_upper_bits 1 of";
    let (carry, address) = ("guard no_wrap.u32", "a0 =");
    assert_eq!(guards(""), [sign, carry, carry, address]);
    assert_eq!(guards("  trusts carries\n"), [carry, carry, address]);
    assert_eq!(guards("  trusts nothing\n"), [""; 0]);
}

#[test]
fn a_variant_may_assume_comparisons_of_affine_values() {
    let of = |operation: &str| {
        let text = format!(
            "block 0x0..0x10, 4 instructions
  %0 = vgpr v0 : lanes b32
  %1 = vgpr v2 : lanes b32
  %2 = sgpr s8 : b32
  %3 = {operation}
  v9 = %3 active
  end
"
        );
        let text = match operation.ends_with("bool") {
            true => text.replace(
                "v9 = %3 active",
                "%4 = select.b32 %3, %0, %1 : lanes b32\n  v9 = %4 active",
            ),
            false => text,
        };
        let block = parse::block(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assumable(&block, &AffineVgprs::from([(0, 1)]))
    };
    assert_eq!(of("lt.u32 %0, %2 : lanes bool"), Some(Assumable::Order));
    assert_eq!(of("eq.u32 %0, %2 : lanes bool"), Some(Assumable::Always));
    assert_eq!(of("min.i32 %0, %2 : lanes b32"), Some(Assumable::Always));
    // v2 is not affine, and floats are not compared before the vectors.
    assert_eq!(of("lt.u32 %1, %2 : lanes bool"), None);
    assert_eq!(of("lt.f32 %0, %2 : lanes bool"), None);
    assert_eq!(of("add.u32 %0, %2 : lanes b32"), None);
}
