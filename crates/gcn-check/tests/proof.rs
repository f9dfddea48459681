//! Proofs that registers are written and lanes active, on code as compilers write it.

use gcn_asm::{Options, assemble};
use gcn_check::code::Region;
use gcn_check::proof::{Proved, prove};
use gcn_isa::access::InstructionTable;
use gcn_isa::target::Target;
use gcn_object::read::CodeObject;

fn proved(code: &str) -> Proved {
    let source = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n.text\n.p2align 8\nk:\n{code}\ns_endpgm\n.rodata\n.p2align 6\n\
         .amdhsa_kernel k\n.amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 32\n\
         .amdhsa_user_sgpr_kernarg_segment_ptr 1\n.end_amdhsa_kernel\n"
    );
    let assembled = assemble(&source, "k.s", &Options::default());
    let object = assembled
        .object
        .unwrap_or_else(|| panic!("{:?}", assembled.diagnostics));
    let bytes = object.loadable().expect("it links");
    let object = CodeObject::parse(&bytes).expect("an object");
    let kernel = &object.kernels[0];
    let table = InstructionTable::new(Target::parse("gfx900").expect("a target"));
    let text = object.sections.iter().position(|s| s.name == ".text");
    let text = text.expect("code");
    let region = Region {
        address: object.sections[text].address,
        bytes: object.section_data(text),
    };
    let graph = gcn_check::code::Graph::new(&table, region, kernel.entry).expect("code");
    prove(&graph, &kernel.descriptor)
}

/// Returns whether all registers that code reads are proved to be defined, and whether all lanes are proved to be active at its barriers.
fn of(code: &str) -> (bool, bool) {
    let proved = proved(code);
    (proved.defined, proved.whole_at_barriers)
}

/// Code that writes v1 on one or both sides of a branch, after which all lanes read it.
fn sides(then: &str, other: &str, end: &str) -> String {
    format!(
        "v_cmp_gt_u32_e32 vcc, 40, v0\ns_and_saveexec_b64 s[4:5], vcc\ns_xor_b64 s[4:5], exec, s[4:5]\n\
         s_cbranch_execz else\n{then}\nelse:\ns_or_saveexec_b64 s[4:5], s[4:5]\ns_xor_b64 exec, exec, s[4:5]\n\
         s_cbranch_execz join\n{other}\njoin:\ns_or_b64 exec, exec, s[4:5]\n{end}"
    )
}

#[test]
fn both_sides_of_a_branch() {
    let (set, get) = (
        "v_mov_b32_e32 v1, 0",
        "s_barrier\nv_add_u32_e32 v2, v1, v1\nds_write_b32 v0, v2",
    );
    assert_eq!(of(&sides(set, set, get)), (true, true));
    assert_eq!(of(&sides(set, "s_nop 0", get)), (false, true));
    assert_eq!(of(&sides("s_nop 0", set, get)), (false, true));
    let before = format!("{set}\n{}", sides("s_nop 0", "s_nop 0", get));
    assert_eq!(of(&before), (true, true));
    assert_eq!(of(&sides("s_barrier", "s_nop 0", "s_nop 0")), (true, false));
}

/// Lanes leave a loop one after the other. Code after the loop reads what each lane wrote in its last iteration.
#[test]
fn loops_that_lanes_leave() {
    let code = |body: &str, end: &str| {
        format!(
            "v_mov_b32_e32 v3, v0\ns_mov_b64 s[6:7], 0\nloop:\n{body}\nv_add_u32_e32 v3, -1, v3\n\
             v_cmp_eq_u32_e32 vcc, 0, v3\ns_or_b64 s[6:7], vcc, s[6:7]\ns_andn2_b64 exec, exec, s[6:7]\n\
             s_cbranch_execnz loop\ns_or_b64 exec, exec, s[6:7]\n{end}"
        )
    };
    let end = "s_barrier\nv_add_u32_e32 v2, v1, v1\nds_write_b32 v0, v2";
    assert_eq!(of(&code("v_mov_b32_e32 v1, v3", end)), (true, true));
    assert_eq!(of(&code("s_nop 0", end)), (false, true));
    assert_eq!(of(&code("s_barrier", "s_nop 0")), (true, false));
    // Here the mask is not empty before the loop.
    let other =
        code("v_mov_b32_e32 v1, v3", end).replace("s_mov_b64 s[6:7], 0", "s_mov_b64 s[6:7], exec");
    assert_eq!(of(&other), (false, true));
}

#[test]
fn lanes_beyond_the_active_ones() {
    assert_eq!(of("s_mov_b64 exec, -1\ns_barrier"), (true, false));
    assert_eq!(of("s_barrier"), (true, true));
    // Another lane of v1 may be undefined.
    let other = "v_mov_b32_e32 v1, 0\nv_readlane_b32 s4, v1, 5";
    assert_eq!(of(other), (false, true));
    assert_eq!(of("v_readlane_b32 s4, v0, 5"), (true, true));
    assert_eq!(
        of("v_mov_b32_e32 v1, 0\nv_readfirstlane_b32 s4, v1"),
        (true, true)
    );
    assert_eq!(of("s_add_u32 s4, s9, 1"), (false, true));
}

/// Compilers add indices of 64 bits of which they need the lower half alone, and leave the upper half of the addend undefined.
#[test]
fn the_upper_half_of_an_addend() {
    let sum = "v_mov_b32_e32 v2, 0\nv_mad_u64_u32 v[2:3], s[4:5], v0, v0, v[2:3]";
    let of = |sum: &str, then: &str| of(&format!("{sum}\n{then}")).0;
    assert!(of(sum, "ds_write_b32 v0, v2"));
    assert!(of(
        &sum.replace("_u64_u32", "_i64_i32"),
        "ds_write_b32 v0, v2"
    ));
    assert!(of(sum, "v_mov_b32_e32 v3, 0\nds_write_b64 v0, v[2:3]"));
    assert!(of(sum, "s_mov_b64 s[4:5], 0\ns_mov_b64 s[6:7], s[4:5]"));
    // The upper half, the carries, and a sum that saturates depend on it.
    assert!(!of(sum, "ds_write_b32 v0, v3"));
    assert!(!of(sum, "s_and_b64 exec, exec, s[4:5]"));
    assert!(!of(
        sum,
        "v_cndmask_b32_e64 v4, v0, v0, s[4:5]\nds_write_b32 v0, v4"
    ));
    assert!(!of(&format!("{sum} clamp"), "ds_write_b32 v0, v2"));
    // The lower half is undefined itself, and one of a factor.
    assert!(!of(&sum.replace("v2, 0", "v3, 0"), "ds_write_b32 v0, v3"));
    assert!(!of(&sum.replace("v0, v0", "v0, v5"), "ds_write_b32 v0, v2"));
    // A float's lower half depends on all of its operands.
    let float = "v_mov_b32_e32 v2, 0\nv_fma_f64 v[2:3], v[2:3], v[2:3], v[2:3]";
    assert!(!of(float, "ds_write_b32 v0, v2"));
}

/// Masks that are defined in some lanes alone, as loops with several exits have them.
#[test]
fn masks_that_are_defined_in_part() {
    // Whatever s[6:7] was, it is defined in the lanes of EXEC, and only those are used.
    let part = "s_or_b64 s[6:7], s[6:7], exec\nv_cmp_gt_u32_e32 vcc, 40, v0\ns_and_saveexec_b64 s[8:9], vcc\n\
                s_andn2_b64 s[6:7], s[6:7], exec\ns_or_b64 exec, exec, s[8:9]\n";
    assert_eq!(
        of(&format!(
            "{part}s_and_b64 s[4:5], exec, s[6:7]\ns_and_b64 exec, exec, s[4:5]"
        )),
        (true, true)
    );
    assert_eq!(
        of(&format!(
            "{part}v_cndmask_b32_e64 v1, 0, 1, s[6:7]\nds_write_b32 v0, v1"
        )),
        (true, true)
    );
    // These use all of the mask, its lower half, and SCC.
    assert_eq!(
        of(&format!("{part}s_and_b64 exec, s[6:7], exec")),
        (false, true)
    );
    assert_eq!(of(&format!("{part}s_add_u32 s4, s6, 1")), (false, true));
    assert_eq!(
        of("s_or_b64 s[6:7], s[6:7], exec\ns_cselect_b32 s4, 1, 0"),
        (false, true)
    );
    // Here EXEC has more lanes than when the mask was defined.
    let more = "v_cmp_gt_u32_e32 vcc, 40, v0\ns_and_saveexec_b64 s[8:9], vcc\ns_or_b64 s[6:7], s[6:7], exec\n\
                s_or_b64 exec, exec, s[8:9]\n";
    assert_eq!(
        of(&format!(
            "{more}v_cndmask_b32_e64 v1, 0, 1, s[6:7]\nds_write_b32 v0, v1"
        )),
        (false, true)
    );
    assert_eq!(
        of(&format!(
            "{more}s_and_b64 s[4:5], exec, s[6:7]\ns_add_u32 s4, s4, 1"
        )),
        (false, true)
    );
    // x & vcc is defined where vcc is 0, but not where it is 1.
    assert_eq!(
        of("v_cmp_gt_u32_e32 vcc, 40, v0\ns_and_b64 s[4:5], s[6:7], vcc\ns_add_u32 s4, s4, 1"),
        (false, true)
    );
}

/// Compilers copy registers that are then not used.
#[test]
fn undefined_vgprs_are_followed() {
    let copy = "v_mov_b32_e32 v2, v1\nv_add_u32_e32 v3, v2, v0";
    assert_eq!(of(copy), (true, true));
    let kept = format!("{copy}\nv_mov_b32_e32 v3, v0\nds_write_b32 v0, v3");
    assert_eq!(of(&kept), (true, true));
    for used in [
        "ds_write_b32 v0, v3",
        "ds_write_b32 v3, v0",
        "v_readfirstlane_b32 s4, v3",
        "v_cmp_eq_u32_e32 vcc, v0, v3",
        "v_add_co_u32_e32 v4, vcc, v0, v3",
        "v_mov_b32_dpp v4, v3 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf",
        "ds_bpermute_b32 v4, v0, v3",
    ] {
        assert_eq!(of(&format!("{copy}\n{used}")), (false, true), "{used}");
    }
    // v5 is undefined only in some lanes, and a loop does not hide that.
    let lost = "v_mov_b32_e32 v5, 0\ns_mov_b64 s[4:5], exec\nv_cmp_gt_u32_e32 vcc, 40, v0\ns_and_b64 exec, exec, vcc\n\
                v_mov_b32_e32 v5, v1\ns_mov_b64 exec, s[4:5]\nds_write_b32 v0, v5";
    assert_eq!(of(lost), (false, true));
    let around = "v_mov_b32_e32 v5, 0\ns_movk_i32 s4, 4\nagain:\nds_write_b32 v0, v5\nv_add_u32_e32 v5, v1, v5\n\
                  s_add_u32 s4, s4, -1\ns_cbranch_scc1 again";
    assert_eq!(of(around), (false, true));
    let scalar = "v_mov_b32_e32 v5, s9\nds_write_b32 v0, v5";
    assert_eq!(of(scalar), (false, true));
}
