//! Every row that can continue elsewhere than at the next instruction, and no other row.

use gcn_isa::access::InstructionTable;
use gcn_isa::encode::Encoder;
use gcn_isa::flow::{Flow, branch_target};
use gcn_isa::{Field, Insn, Target, decode, insts};

/// An instruction of each row in its own encoding, with SIMM16 = 5 if it has one.
fn examples(target: Target) -> impl Iterator<Item = Insn> {
    insts::of_target(target).map(move |row| {
        let mut encoder = Encoder::new(row, row.format.encoding(), target).expect(row.name);
        encoder.set(Field::Simm16, 5);
        let (mut bytes, _) = encoder.bytes();
        bytes[8..].fill(0);
        decode(target, &bytes).unwrap_or_else(|| panic!("{}", row.name))
    })
}

const JUMPS: &[&str] = &[
    "s_branch",
    "s_call_b64",
    "s_cbranch_cdbgsys",
    "s_cbranch_cdbgsys_and_user",
    "s_cbranch_cdbgsys_or_user",
    "s_cbranch_cdbguser",
    "s_cbranch_execnz",
    "s_cbranch_execz",
    "s_cbranch_g_fork",
    "s_cbranch_i_fork",
    "s_cbranch_join",
    "s_cbranch_scc0",
    "s_cbranch_scc1",
    "s_cbranch_vccnz",
    "s_cbranch_vccz",
    "s_endpgm",
    "s_endpgm_ordered_ps_done",
    "s_endpgm_saved",
    "s_rfe_b64",
    "s_rfe_restore_b64",
    "s_setkill",
    "s_setpc_b64",
    "s_swappc_b64",
    "s_trap",
];

#[test]
fn the_rows_that_change_pc() {
    let mut found = std::collections::BTreeSet::new();
    for target in Target::all() {
        let table = InstructionTable::new(target);
        for insn in examples(target) {
            if table.of(&insn).flow(&insn) != Flow::Next {
                found.insert(insn.row.name);
            }
        }
    }
    let found: Vec<&str> = found.into_iter().collect();
    assert_eq!(found, JUMPS);
}

/// The target in the meaning and the target in the shape are the same.
#[test]
fn branches_are_written_as_branches() {
    for target in Target::all() {
        let table = InstructionTable::new(target);
        for insn in examples(target) {
            let flow = table.of(&insn).flow(&insn);
            assert_eq!(
                flow.target(0x1000, &insn),
                branch_target(&insn, 0x1000),
                "{}",
                insn.row.name
            );
        }
    }
}
