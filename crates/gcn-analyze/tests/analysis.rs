//! Small kernels whose figures were computed by hand.

use gcn_analyze::chip::Chip;
use gcn_analyze::liveness::Bound;
use gcn_analyze::profile::Profile;
use gcn_analyze::{Analysis, Options, analyze};
use gcn_isa::access::InstructionTable;
use gcn_isa::target::Target;
use gcn_object::read::CodeObject;

fn of(target: &str, chip: Option<&str>, code: &str) -> Analysis {
    let source = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--{target}\"\n.text\n.p2align 8\nk:\n{code}\n.rodata\n.p2align 6\n\
         .amdhsa_kernel k\n.amdhsa_next_free_vgpr 32\n.amdhsa_next_free_sgpr 40\n.end_amdhsa_kernel\n"
    );
    let assembled = gcn_asm::assemble(&source, "k.s", &gcn_asm::Options::default());
    let object = assembled
        .object
        .unwrap_or_else(|| panic!("{:?}", assembled.diagnostics));
    let bytes = object.loadable().expect("it links");
    let object = CodeObject::parse(&bytes).expect("it can be read");
    let table = InstructionTable::new(Target::parse(target).expect("a target"));
    let options = Options {
        kernel: None,
        chip: chip.map(|name| Chip::parse(name).expect("a chip")),
        line: &|_, _| None,
    };
    let mut kernels = analyze(&object, &table, &options).expect("it is analyzed");
    assert_eq!(kernels.len(), 1);
    kernels.remove(0)
}

fn vgprs(analysis: &Analysis) -> Vec<u32> {
    analysis.instructions.iter().map(|i| i.live_vgprs).collect()
}

#[test]
fn live_registers() {
    let found = of(
        "gfx900",
        None,
        "v_mov_b32 v1, s0\nv_mov_b32 v2, s1\nv_add_f32 v3, v1, v2\nv_add_f32 v4, v3, v0\n\
         global_store_dword v[5:6], v4, off\ns_endpgm",
    );
    assert_eq!(vgprs(&found), [3, 4, 5, 4, 3, 0]);
    let sgprs: Vec<u32> = found.instructions.iter().map(|i| i.live_sgprs).collect();
    assert_eq!(sgprs, [2, 1, 0, 0, 0, 0]);
    assert_eq!((found.vgprs.count, found.bound), (5, Bound::Exact));
    assert_eq!(found.vgprs.registers, ["v[0:2]", "v[5:6]"]);
    assert_eq!(found.vgprs.at, [found.instructions[2].pc]);
}

/// A write of one lane, of a half or of a masked lane keeps the rest of the register, which is therefore live before it.
#[test]
fn writes_of_a_part_keep_the_rest() {
    for (part, before) in [
        ("v_writelane_b32 v1, s0, 3", 1),
        (
            "v_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xf bank_mask:0x3",
            2,
        ),
        (
            "v_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0",
            1,
        ),
        (
            "v_mov_b32_sdwa v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0",
            2,
        ),
        (
            "v_mov_b32_sdwa v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0",
            1,
        ),
        ("v_mov_b32 v1, s0", 0),
    ] {
        let code = format!("{part}\nds_write_b32 v1, v1\ns_endpgm");
        assert_eq!(vgprs(&of("gfx900", None, &code))[0], before, "{part}");
    }
}

#[test]
fn waits() {
    let found = of(
        "gfx900",
        None,
        "global_load_dword v1, v[4:5], off\nglobal_load_dword v2, v[4:5], off\ns_load_dword s0, s[2:3], 0x0\n\
         ds_read_b32 v3, v0\ns_waitcnt vmcnt(1)\ns_waitcnt lgkmcnt(0)\ns_waitcnt vmcnt(0)\ns_endpgm",
    );
    let pc: Vec<u64> = found.instructions.iter().map(|i| i.pc).collect();
    assert_eq!(found.instructions[4].waits_for, [pc[0]]);
    assert_eq!(found.instructions[5].waits_for, [pc[2], pc[3]]);
    assert_eq!(found.instructions[6].waits_for, [pc[1]]);
    assert!(found.instructions[7].waits_for.is_empty());
}

#[test]
fn cycles_by_chip() {
    let code = "v_add_f64 v[0:1], v[2:3], v[4:5]\nv_fma_f32 v0, v1, v2, v3\nv_rcp_f32 v0, v1\ns_nop 3\ns_endpgm";
    for (chip, f64, fma) in [("hawaii", 16, 4), ("hawaii-pro", 4, 4), ("bonaire", 32, 16)] {
        let found = of("gfx701", Some(chip), code);
        let cycles: Vec<u32> = found.instructions.iter().map(|i| i.cycles).collect();
        assert_eq!(cycles, [f64, fma, 16, 16, 4], "{chip}");
    }
    let atomics =
        "buffer_atomic_add v0, off, s[0:3], 0\nbuffer_atomic_add v0, off, s[0:3], 0 glc\ns_endpgm";
    let found = of("gfx803", Some("fiji"), atomics);
    assert_eq!(found.instructions[0].cycles, 16);
    assert_eq!(found.instructions[1].cycles, 17);
}

#[test]
fn stalls() {
    let found = of(
        "gfx803",
        None,
        "v_readfirstlane_b32 s0, v0\ns_add_u32 s1, s0, s0\ns_cmp_eq_u32 s1, 0\ns_cbranch_scc1 out\ns_nop 0\nout: s_endpgm",
    );
    let stalls: Vec<u32> = found.instructions.iter().map(|i| i.stall).collect();
    assert_eq!(stalls, [0, 16, 0, 4, 0, 0]);
    // Eight waves fill them; with three, 16 - 2 * 4 remain of the first, and nothing of the second.
    let mut found = found;
    let all = |exposed| gcn_analyze::Stalls {
        instructions: 2,
        cycles: 20,
        exposed,
    };
    assert_eq!((found.waves(), found.stalls()), (8, all(0)));
    if let Some(o) = &mut found.occupancy {
        o.occupancy.by_vgprs = 3;
    }
    assert_eq!((found.waves(), found.stalls()), (3, all(8)));
    assert_eq!((found.exposed(16), found.exposed(4)), (8, 0));
    let json = found.json();
    assert_eq!(json["stalls"]["exposed_cycles"], 8);
    assert_eq!(json["instructions"][1]["exposed_stall_cycles"], 8);
    found.occupancy = None;
    assert_eq!(found.stalls(), all(20));
}

/// An inner loop of 4 + 4 + 20 cycles in an outer one.
#[test]
fn nested_loops() {
    let found = of(
        "gfx900",
        None,
        "s_mov_b32 s0, 3\nouter: s_mov_b32 s1, 2\ninner: s_sub_u32 s1, s1, 1\ns_cmp_lg_u32 s1, 0\ns_cbranch_scc1 inner\n\
         s_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, 0\ns_cbranch_scc1 outer\ns_endpgm",
    );
    let pc = |n: usize| found.instructions[n].pc;
    let loops: Vec<_> = (found.loops.iter())
        .map(|l| {
            (
                l.header,
                l.latches.clone(),
                l.depth,
                l.instructions,
                l.cycles,
            )
        })
        .collect();
    assert_eq!(
        loops,
        [
            // One iteration of the inner loop, whose jump is not taken.
            (pc(1), vec![pc(7)], 1, 7, (44, 44)),
            (pc(2), vec![pc(4)], 2, 3, (28, 28)),
        ]
    );
    assert_eq!(
        (found.loops[0].parent, found.loops[1].parent),
        (None, Some(0))
    );
}

#[test]
fn loops_with_two_entries_have_no_cost() {
    let found = of(
        "gfx900",
        None,
        "s_cbranch_scc1 second\nfirst: s_nop 0\nsecond: s_nop 0\ns_cbranch_vccnz first\ns_endpgm",
    );
    assert_eq!((found.loops.len(), found.irreducible.len()), (0, 1));
}

#[test]
fn registers_by_computed_numbers() {
    let found = of(
        "gfx803",
        None,
        "v_mov_b32 v1, s0\nv_mov_b32 v2, s0\ns_mov_b32 m0, 1\nv_movrels_b32 v3, v1\nds_write_b32 v3, v3\ns_endpgm",
    );
    assert_eq!(found.bound, Bound::Upper);
    // All registers that the code names may be read.
    assert_eq!(vgprs(&found)[3], 3);
    let indexed = of(
        "gfx900",
        None,
        "s_set_gpr_idx_on s0, gpr_idx(SRC0)\nv_mov_b32 v1, v2\ns_set_gpr_idx_off\nds_write_b32 v1, v1\ns_endpgm",
    );
    assert_eq!(indexed.bound, Bound::Upper);
}

#[test]
fn profiles() {
    let mut kernels = vec![of("gfx900", None, "v_mov_b32 v0, 0\ns_endpgm")];
    let pc = kernels[0].instructions[0].pc;
    let run = |inst: &str| {
        format!(
            "{{\"profile\":{{\"instructions\":[{{\"address\":{pc},\"inst\":\"{inst}\",\"times\":7,\"lanes\":448}}]}}}}"
        )
    };
    let profile = Profile::parse(&run("v_mov_b32_e32 v0, 0")).expect("a profile");
    profile.apply(&mut kernels).expect("of this code");
    let counts = kernels[0].instructions[0].counts.expect("counts");
    assert_eq!((counts.times, counts.lanes), (7, Some(448)));
    assert_eq!(kernels[0].issued(), Some(28));
    let other = Profile::parse(&run("s_nop 0")).expect("a profile");
    let error = other.apply(&mut kernels).expect_err("other code");
    assert!(error.contains("the run was of other code"), "{error}");
    for (text, expected) in [
        ("{", "it is no JSON"),
        ("{}", "it has no profile"),
        (
            "{\"profile\":{\"instructions\":[{}]}}",
            "profile.instructions[0].inst",
        ),
    ] {
        let error = Profile::parse(text).err().expect("an error");
        assert!(error.contains(expected), "{error}");
    }
}
