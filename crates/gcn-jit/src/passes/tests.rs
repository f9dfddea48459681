//! Tests each pass on blocks that are given as text.

use super::{Options, PASSES, Plan, plan};
use crate::ir::region::Block;
use crate::ir::{parse, verify};

/// Parses a block. Without a MODE in the text: IEEE, f32 denormals flushed.
fn block(text: &str) -> Block {
    let mut block = parse::block(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    if !text.contains(", mode ") {
        block.mode = 0x200;
    }
    assert_eq!(verify::block(&block), Ok(()), "{block}");
    block
}

const OPTIONS: Options = Options {
    registers: 16,
    truths_in_registers: true,
    exact: false,
    precise: false,
    ternary_logic: true,
    selections: true,
};

/// Returns the lines that a pass and the passes before it add to a block.
fn added(text: &str, pass: &str, options: &Options) -> String {
    let block = block(text);
    let mut plan = Plan::new(&block);
    for p in PASSES {
        (p.run)(&block, options, &mut plan);
        if p.name == pass {
            break;
        }
    }
    let all = block.print_with(Some(&plan));
    all[block.to_string().len()..].to_owned()
}

/// Returns the lines that begin with a word.
fn lines(text: &str, word: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines
        .filter(|l| l.starts_with(word))
        .map(str::to_owned)
        .collect()
}

const LOGIC: &str = "\
block 0x0..0x10, 4 instructions
  %0 = vgpr v0 : lanes b32
  %1 = vgpr v1 : lanes b32
  %2 = vgpr v2 : lanes b32
  %3 = and.b32 %0, %1 : lanes b32
  %4 = not.b32 %2 : lanes b32
  %5 = or.b32 %3, %4 : lanes b32
  v3 = %5 active
  end
";

#[test]
fn bitwise_operations_of_three_values_are_one() {
    // (a & b) | ~c
    assert_eq!(
        lines(&added(LOGIC, "ternary_logic", &OPTIONS), "ternary"),
        ["ternary %5 = 0xd5 %0, %1, %2"]
    );
    // A value with another use remains.
    let used = LOGIC.replace("  end", "  v4 = %3 active\n  end");
    let lines_ = lines(&added(&used, "ternary_logic", &OPTIONS), "ternary");
    assert_eq!(lines_, ["ternary %5 = 0xf3 %3, %2, %3"]);
    let without = Options {
        ternary_logic: false,
        ..OPTIONS
    };
    assert_eq!(added(LOGIC, "ternary_logic", &without), "");
}

const FLOATS: &str = "\
block 0x0..0x10, 4 instructions, fp nearest daz ftz
  %0 = vgpr v0 : lanes b32
  %1 = vgpr v1 : lanes b32
  %2 = mul.f32 %0, %1 : lanes f32
  %3 = add.f32 %2, %0 : lanes f32
  %4 = sub.f32 %0, %1 : lanes f32
  %5 = lt.f32 %2, %3 : lanes bool
  %6 = ballot %5 : b64
  %7 = lo %6 : b32
  v0 = %3 active
  vcc_lo = %7
  end
";

#[test]
fn only_floats_that_are_seen_are_checked() {
    let plan = added(FLOATS, "schedule", &OPTIONS);
    // The difference is unused. Only arithmetic and comparisons read the product.
    assert_eq!(lines(&plan, "live"), ["live %0, %1, %2, %3, %5, %6, %7"]);
    assert_eq!(
        lines(&plan, "compute"),
        ["compute %2", "compute %3", "compute %5"]
    );
    assert_eq!(lines(&plan, "late"), ["late %6, %7"]);
    // The host's sums and products choose NaNs as the interpreter does, if their operands stay in order.
    assert_eq!(lines(&plan, "ordered"), ["ordered %2, %3"]);
    // Fused operations do not. A sum is checked if an operand may be another NaN.
    let fused = FLOATS.replace("mul.f32 %0, %1", "fma.f32 %0, %1, %0");
    assert_eq!(
        lines(&added(&fused, "schedule", &OPTIONS), "compute"),
        ["compute %2", "compute %3 check", "compute %5"]
    );
    // Nor does anything without IEEE, where signalling NaNs stay.
    let signalling = FLOATS.replace(" instructions", " instructions, mode 0x0");
    assert_eq!(
        lines(&added(&signalling, "schedule", &OPTIONS), "compute"),
        ["compute %2", "compute %3 check", "compute %5"]
    );
    let exact = Options {
        exact: true,
        ..OPTIONS
    };
    assert_eq!(
        lines(&added(&fused, "schedule", &exact), "compute"),
        ["compute %2 fix", "compute %3", "compute %5"]
    );
}

/// What decides a selection is not observed to the bit, but the operands of what is selected stay in order.
#[test]
fn selected_sums_keep_the_order_of_their_operands() {
    let text = "\
block 0x0..0x10, 4 instructions, fp nearest daz ftz
  %0 = vgpr v0 : lanes b32
  %1 = vgpr v1 : lanes b32
  %2 = fma.f32 %0, %1, %0 : lanes f32
  %3 = add.f32 %0, %1 : lanes f32
  %4 = lt.f32 %2, %1 : lanes bool
  %5 = const 0x0 : b64
  %6 = select.b32 %4, %5, %3 : lanes b32
  v3 = %6 active
  end
";
    let plan = added(text, "schedule", &OPTIONS);
    assert_eq!(lines(&plan, "ordered"), ["ordered %3"]);
    assert!(!plan.contains("check"), "{plan}");
}

/// A selection that drops a NaN is checked, not what it selects from.
#[test]
fn selections_are_checked_instead_of_their_operands() {
    let text = "\
block 0x0..0x10, 4 instructions, fp nearest daz ftz
  %0 = vgpr v0 : lanes b32
  %1 = vgpr v1 : lanes b32
  %2 = fma.f32 %0, %1, %0 : lanes f32
  %3 = lt.f32 %0, %1 : lanes bool
  %4 = const 0x7f800000 : b32
  %5 = select.b32 %3, %2, %4 : lanes b32
  v3 = %5 active
  end
";
    let computed = |text: &str| lines(&added(text, "schedule", &OPTIONS), "compute");
    assert_eq!(
        computed(text),
        ["compute %2", "compute %3", "compute %5 check"]
    );
    // If the sum has other uses it is checked, and then the selection need not be.
    assert_eq!(
        computed(&text.replace("  end", "  v4 = %2 active\n  end")),
        ["compute %2 check", "compute %3", "compute %5"]
    );
    // A constant that would be taken for a NaN but is none.
    assert_eq!(
        computed(&text.replace("0x7f800000", "0xffffffff")),
        ["compute %2 check", "compute %3", "compute %5"]
    );
}

#[test]
fn a_vgpr_that_the_block_reads_is_written_last() {
    // The block reads v0, but not v9.
    let text = FLOATS.replace("  vcc_lo", "  v9 = %2 active\n  vcc_lo");
    let order = |options: &Options| {
        let plan = added(&text, "schedule", options);
        let ops = plan.lines().map(str::trim);
        let of = |l: &&str| l.starts_with("compute") || l.starts_with("write");
        ops.filter(of)
            .map(|l| l[..8].trim().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        order(&OPTIONS),
        ["compute", "write 1", "compute", "compute", "write 0"]
    );
    // Where registers must be precise all writes come last.
    let precise = Options {
        precise: true,
        ..OPTIONS
    };
    assert_eq!(
        order(&precise),
        ["compute", "compute", "compute", "write 0", "write 1"]
    );
}

#[test]
fn the_verifier_finds_a_write_that_comes_too_early() {
    let block = block(FLOATS);
    let mut made = plan(&block, &OPTIONS, None);
    assert_eq!(super::verify::plan(&block, &OPTIONS, &made, true), Ok(()));
    // v0, from which the comparison's operands come, must not be written before the last operation.
    let write = made.ops.pop().expect("the write of v0");
    made.ops.insert(2, write);
    let said = super::verify::plan(&block, &OPTIONS, &made, true);
    assert!(said.is_err_and(|e| e.contains("v0, which the block reads, is written before")));
    made.ops.swap(0, 1);
    let said = super::verify::plan(&block, &OPTIONS, &made, true);
    assert!(said.is_err_and(|e| e.contains("is computed before its operand")));
}

#[test]
fn signs_are_taken_into_sums() {
    let text = "\
block 0x0..0x10, 4 instructions, fp nearest
  %0 = vgpr v0 : lanes f32
  %1 = vgpr v1 : lanes f32
  %2 = neg.f32 %1 : lanes f32
  %3 = fma.f32 %0, %2, %2 : lanes f32
  v2 = %3 active
  end
";
    let plan = added(text, "schedule", &OPTIONS);
    assert_eq!(lines(&plan, "compute"), ["compute %3 neg%1 neg%1 check"]);
}

/// A comparison in active lanes, selections by it, and what else observes it.
const SELECTIONS: &str = "\
block 0x0..0x10, 4 instructions, mode 0x2f0, fp nearest
  %0 = vgpr v0 : lanes b32
  %1 = vgpr v1 : lanes b32
  %2 = lt.f32 %0, %1 : lanes bool
  %3 = exec : lanes bool
  %4 = and.bool %2, %3 : lanes bool
  %5 = select.b32 %4, %0, %1 : lanes b32
  %6 = select.b32 %4, %1, %0 : lanes b32
  v2 = %5 active
  v3 = %6 active
  end
";

fn selections(text: &str, options: &Options) -> Vec<String> {
    lines(&added(text, "selections", options), "selection")
}

#[test]
fn selections_between_compared_values_are_extremes() {
    let of = |op: &str| selections(&SELECTIONS.replace("lt.f32", op), &OPTIONS);
    let two = |a: &str, b: &str| vec![format!("selection %5 = {a}"), format!("selection %6 = {b}")];
    let (less, greater) = ("min.f32 %0, %1", "max.f32 %1, %0");
    assert_eq!(of("lt.f32"), two(less, greater));
    assert_eq!(of("gt.f32"), two("max.f32 %0, %1", "min.f32 %1, %0"));
    // The selected one of two zeros, or of a number and a NaN, is not the host's.
    let blended = two("%2, %0, %1", "%2, %1, %0");
    assert_eq!(of("le.f32"), blended);
    assert_eq!(of("ge.f32"), blended);
    assert_eq!(of("eq.f32"), blended);
    assert_eq!(of("le.i32"), two("min.i32 %0, %1", "max.i32 %1, %0"));
    assert_eq!(of("gt.u32"), two("max.u32 %0, %1", "min.u32 %1, %0"));
    // The comparison is not computed.
    let plan = added(SELECTIONS, "schedule", &OPTIONS);
    assert_eq!(lines(&plan, "compute"), ["compute %5", "compute %6"]);
    let without = Options {
        selections: false,
        ..OPTIONS
    };
    assert_eq!(selections(SELECTIONS, &without), [""; 0]);
}

#[test]
fn hosts_that_flush_denormals_have_no_float_extremes() {
    let flushing = SELECTIONS.replace("0x2f0, fp nearest", "0x200, fp nearest daz ftz");
    let blended = ["selection %5 = %2, %0, %1", "selection %6 = %2, %1, %0"];
    assert_eq!(selections(&flushing, &OPTIONS), blended);
    let integers = flushing.replace("lt.f32", "lt.u32");
    assert_eq!(
        selections(&integers, &OPTIONS),
        [
            "selection %5 = min.u32 %0, %1",
            "selection %6 = max.u32 %1, %0"
        ]
    );
}

#[test]
fn negated_conditions_swap_what_they_select() {
    let text = "\
block 0x0..0x10, 4 instructions, mode 0x2f0, fp nearest
  %0 = vgpr v0 : lanes b32
  %1 = vgpr v1 : lanes b32
  %2 = gt.f32 %0, %1 : lanes bool
  %3 = not.bool %2 : lanes bool
  %4 = exec : lanes bool
  %5 = and.bool %3, %4 : lanes bool
  %6 = select.b32 %5, %0, %1 : lanes b32
  %7 = vgpr v2 : lanes b32
  %8 = select.b32 %5, %0, %7 : lanes b32
  v2 = %6 active
  v3 = %8 active
  end
";
    let found = selections(text, &OPTIONS);
    assert_eq!(
        found,
        ["selection %6 = min.f32 %1, %0", "selection %8 = %2, %7, %0"]
    );
}

#[test]
fn conditions_keep_exec_where_inactive_lanes_are_observed() {
    // A comparison of all lanes reads the first selection.
    let observed = SELECTIONS.replace(
        "  v2 = %5 active",
        "  %7 = eq.b32 %5, %0 : lanes bool\n  %8 = ballot %7 : b64\n  %9 = lo %8 : b32\n  v2 = %5 active\n  vcc_lo = %9",
    );
    assert_eq!(
        selections(&observed, &OPTIONS),
        ["selection %6 = max.f32 %1, %0"]
    );
    let active = observed.replace("ballot %7", "ballot %4");
    assert_eq!(
        selections(&active, &OPTIONS),
        [
            "selection %5 = min.f32 %0, %1",
            "selection %6 = max.f32 %1, %0"
        ]
    );
    // Sums of truth values.
    let text = "\
block 0x0..0x10, 4 instructions
  %0 = vgpr v0 : lanes b32
  %1 = vgpr v1 : lanes b32
  %2 = lt.u32 %0, %1 : lanes bool
  %3 = exec : lanes bool
  %4 = and.bool %3, %2 : lanes bool
  %5 = zext.bool %4 : lanes b32
  %6 = add.b32 %0, %5 : lanes b32
  v2 = %6 active
  end
";
    assert_eq!(selections(text, &OPTIONS), ["selection %5 = %2"]);
}

/// A value that a write by number takes is used at the block's end.
#[test]
fn values_of_writes_by_number_are_kept() {
    let text = "\
block 0x0..0x10, 4 instructions
  %0 = sgpr m0 : b32
  %1 = vgpr_at %0 : lanes b32
  %2 = add.b32 %1, %0 : lanes b32
  %3 = sub.b32 %2, %0 : lanes b32
  indexed 0..24, %0 = %2
  v3 = %3 active
  end
";
    let block = block(text);
    let made = plan(&block, &OPTIONS, None);
    assert!(made.live[2]);
    assert_eq!(made.uses[2].last(), Some(&(made.ops.len() as u32)));
}

/// Returns a block of sums, each of which adds a VGPR to the result of the one so many sums before.
fn sums(count: usize, apart: usize) -> Block {
    let mut text = String::from("block 0x0..0x400, 40 instructions, fp nearest daz ftz\n");
    text += "  %0 = vgpr v0 : lanes b32\n";
    for n in 1..=count {
        let before = n.saturating_sub(apart);
        text += &format!("  %{n} = add.f32 %0, %{before} : lanes f32\n");
    }
    for v in 0..apart.min(count) {
        text += &format!("  v{} = %{} active\n", v + 1, count - v);
    }
    block(&(text + "  end\n"))
}

#[test]
fn long_chains_wait() {
    let waits = |count: usize, apart: usize| {
        let block = sums(count, apart);
        plan(&block, &OPTIONS, None).waits(&block)
    };
    assert!(waits(40, 1) && waits(100, 2));
    // Other lanes' operations fill the time of short chains, and chains beside each other have enough to do.
    assert!(!waits(10, 1) && !waits(200, 8));
}

/// A block that first computes `count` products, and then their sum.
fn products_first(count: usize, polls: bool) -> Block {
    let mut text = String::from("block 0x0..0x10, 4 instructions, mode 0x2f0, fp nearest\n");
    if polls {
        text += "  polls\n";
    }
    let mut values = vec!["vgpr v0 : lanes b32".to_owned()];
    values.extend((1..count).map(|v| format!("vgpr v{v} : lanes b32")));
    values.extend((0..count).map(|v| format!("mul.f32 %{v}, %0 : lanes f32")));
    let first = count;
    values.extend((1..count).map(|k| {
        let sum = if k == 1 { first } else { 2 * count + k - 2 };
        format!("add.f32 %{sum}, %{} : lanes f32", first + k)
    }));
    let last = values.len() - 1;
    for (id, value) in values.iter().enumerate() {
        text += &format!("  %{id} = {value}\n");
    }
    text += &format!("  v{count} = %{last} active\n  end\n");
    block(&text)
}

#[test]
fn values_wait_in_registers() {
    let order = |block: &Block, registers: u8| {
        let options = Options {
            registers,
            ..OPTIONS
        };
        let made = plan(block, &options, None);
        assert_eq!(super::verify::plan(block, &options, &made, true), Ok(()));
        let ids = made.ops.iter().filter(|op| op.commit.is_none());
        (ids.map(|op| op.id).collect::<Vec<_>>(), made)
    };
    let many = products_first(40, false);
    let (plain, _) = order(&many, 0);
    assert!(plain.is_sorted());
    // Each product comes right before the sum that it is added to.
    let (ids, made) = order(&many, 16);
    assert_ne!(ids, plain);
    let position = |id: u32| {
        ids.iter()
            .position(|&other| other == id)
            .expect("it is computed")
    };
    for sum in 81..119 {
        let product = many.graph[sum as usize].args[1];
        assert_eq!(position(product) + 1, position(sum), "{ids:?}");
    }
    // The uses are those of the new order.
    assert_eq!(made.uses[41], [position(80) as u32]);
    // There are registers enough, or other waves may write what is read.
    assert_eq!(order(&products_first(12, false), 16).0.len(), 23);
    assert!(order(&many, 64).0.is_sorted());
    assert!(order(&products_first(40, true), 16).0.is_sorted());
}
