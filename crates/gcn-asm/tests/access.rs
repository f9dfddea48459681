//! Registers and memory that instructions read and write, and their control flow: known instructions, by their text.

use gcn_isa::access::{File, InstructionTable, MemoryKind, MemorySpace};
use gcn_isa::flow::{Condition, Flow};
use gcn_isa::meaning::{Signal, State};
use gcn_isa::{Insn, Target, decode};

fn insn(target: Target, text: &str) -> Insn {
    let bytes = gcn_asm::assemble_snippet(target, text, true)
        .unwrap_or_else(|e| panic!("{text}: {}", gcn_asm::render(&e, false)));
    decode(target, &bytes).unwrap_or_else(|| panic!("{text}"))
}

fn check(arch: &str, lines: &[(&str, &str, &str)]) {
    let target = Target::parse(arch).unwrap();
    let table = InstructionTable::new(target);
    let mut wrong = String::new();
    for &(text, reads, writes) in lines {
        let insn = insn(target, text);
        let mut lists: [Vec<String>; 2] = Default::default();
        for access in table.of(&insn).accesses(&insn) {
            access.each_name(target.generation(), |name| {
                let list = &mut lists[access.write as usize];
                if !list.iter().any(|n| n == name) {
                    list.push(name.to_string());
                }
            });
        }
        for (what, expected, found) in [("reads", reads, &lists[0]), ("writes", writes, &lists[1])]
        {
            if found.join(" ") != expected {
                wrong += &format!(
                    "{text}: {what} `{}`, expected `{expected}`\n",
                    found.join(" ")
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{arch}:\n{wrong}");
}

#[test]
fn scalar_registers() {
    check(
        "gfx803",
        &[
            ("s_add_u32 s2, s0, s1", "s0 s1", "s2 scc"),
            ("s_addc_u32 s2, s0, 5", "s0 scc", "s2 scc"),
            ("s_mov_b64 exec, s[4:5]", "s[4:5]", "exec"),
            ("s_mov_b32 m0, -1", "", "m0"),
            ("s_mov_b32 vcc_hi, ttmp3", "ttmp3", "vcc_hi"),
            (
                "s_and_saveexec_b64 s[6:7], vcc",
                "vcc exec",
                "s[6:7] exec scc",
            ),
            ("s_cmov_b32 s3, s4", "s4 scc", "s3"),
            ("s_bitset1_b32 s3, s4", "s3 s4", "s3"),
            ("s_movrels_b32 s3, s4", "m0 s*", "s3"),
            ("s_movreld_b64 s[4:5], s[2:3]", "s[2:3] m0", "s*"),
            ("s_addk_i32 s9, 0x1", "s9", "s9 scc"),
            ("s_cbranch_scc1 3", "scc", ""),
            ("s_cbranch_vccz 3", "vcc", ""),
            ("s_getreg_b32 s2, hwreg(HW_REG_MODE)", "mode", "s2"),
            (
                "s_getreg_b32 s2, hwreg(HW_REG_STATUS)",
                "status scc exec vcc",
                "s2",
            ),
            ("s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s2", "s2", "mode"),
            ("s_sendmsg sendmsg(MSG_INTERRUPT)", "m0", ""),
            ("s_set_gpr_idx_on s3, gpr_idx(SRC0)", "s3 m0", "mode m0"),
            ("s_setvskip s0, 1", "s0", "mode"),
            ("s_load_dwordx4 s[8:11], s[4:5], s3", "s[4:5] s3", "s[8:11]"),
            ("s_load_dwordx2 vcc, s[4:5], 0x10", "s[4:5]", "vcc"),
            ("s_buffer_load_dword s8, s[4:7], 0x10", "s[4:7]", "s8"),
            ("s_store_dwordx2 s[8:9], s[4:5], 0x10", "s[8:9] s[4:5]", ""),
            ("s_memtime s[0:1]", "", "s[0:1]"),
        ],
    );
}

#[test]
fn vector_registers() {
    check(
        "gfx803",
        &[
            ("v_mov_b32 v1, s3", "s3 exec", "v1"),
            ("v_nop", "", ""),
            ("v_mov_b32 v1, src_vccz", "vcc exec", "v1"),
            ("v_mov_b32 v1, src_scc", "scc exec", "v1"),
            ("v_mov_b32 v1, src_lds_direct", "m0 exec", "v1"),
            ("v_add_f32 v2, v0, v1", "v0 v1 exec mode", "v2"),
            ("v_mac_f32 v2, v0, v1", "v2 v0 v1 exec mode", "v2"),
            (
                "v_fma_f64 v[2:3], v[4:5], s[6:7], 1.0",
                "v[4:5] s[6:7] exec mode",
                "v[2:3]",
            ),
            ("v_add_u32_e32 v2, vcc, v0, v1", "v0 v1 exec", "v2 vcc"),
            (
                "v_addc_u32_e64 v2, s[4:5], v0, v1, s[6:7]",
                "v0 v1 s[6:7] exec",
                "v2 s[4:5]",
            ),
            ("v_cndmask_b32_e32 v2, v0, v1, vcc", "v0 v1 vcc exec", "v2"),
            ("v_cmp_eq_u32 vcc, v0, v1", "v0 v1 exec", "vcc"),
            ("v_cmp_eq_u32_e64 s[4:5], v0, v1", "v0 v1 exec", "s[4:5]"),
            ("v_cmpx_eq_u32 vcc, v0, v1", "v0 v1 exec", "vcc exec"),
            (
                "v_div_fmas_f32 v0, v1, v2, v3",
                "v1 v2 v3 vcc exec mode",
                "v0",
            ),
            (
                "v_div_scale_f32 v0, vcc, v1, v2, v3",
                "v1 v2 v3 exec mode",
                "v0 vcc",
            ),
            ("v_movrels_b32 v0, v1", "m0 v* exec", "v0"),
            ("v_movreld_b32 v0, v1", "v1 m0 exec", "v*"),
            (
                "v_interp_p2_f16 v0, v1, attr0.x, v3",
                "v1 v3 m0 exec mode",
                "v0",
            ),
            ("v_readlane_b32 s2, v3, s4", "v3 s4", "s2"),
            ("v_writelane_b32 v3, s4, 1", "s4", "v3"),
            ("v_readfirstlane_b32 s2, v3", "v3 exec", "s2"),
            (
                "v_add_u16_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 src1_sel:DWORD",
                "v2 v3 exec v1",
                "v1",
            ),
            ("v_madmk_f32 v1, v2, 0x1234, v3", "v2 v3 exec mode", "v1"),
            ("ds_read2_b32 v[0:1], v4 offset1:1", "v4 exec m0", "v[0:1]"),
            ("ds_write_b64 v4, v[6:7]", "v4 v[6:7] exec m0", ""),
            ("ds_cmpst_rtn_b32 v0, v1, v2, v3", "v1 v2 v3 exec m0", "v0"),
            ("ds_permute_b32 v0, v1, v2", "v1 v2 exec", "v0"),
            (
                "buffer_load_dwordx3 v[2:4], v5, s[8:11], s3 idxen",
                "v5 s[8:11] s3 exec",
                "v[2:4]",
            ),
            (
                "buffer_store_dword v2, off, s[8:11], 0",
                "v2 s[8:11] exec",
                "",
            ),
            (
                "buffer_atomic_add v2, off, s[8:11], 0",
                "v2 s[8:11] exec",
                "",
            ),
            (
                "buffer_atomic_cmpswap v[2:3], off, s[8:11], 0 glc",
                "v[2:3] s[8:11] exec",
                "v2",
            ),
            ("buffer_wbinvl1", "", ""),
            (
                "flat_load_dword v1, v[2:3]",
                "v[2:3] exec m0 flat_scratch",
                "v1",
            ),
            (
                "flat_atomic_swap v1, v[2:3], v4 glc",
                "v[2:3] v4 exec m0 flat_scratch",
                "v1",
            ),
            (
                "flat_atomic_swap v[2:3], v4",
                "v[2:3] v4 exec m0 flat_scratch",
                "",
            ),
        ],
    );
}

#[test]
fn registers_of_gfx900_and_gfx600() {
    check(
        "gfx900",
        &[
            ("ds_read_b32 v0, v1", "v1 exec", "v0"),
            ("ds_add_u32 v0, v1 gds", "v0 v1 exec m0", ""),
            ("ds_read_u16_d16 v0, v1", "v0 v1 exec", "v0"),
            ("ds_read_addtid_b32 v0", "m0 exec", "v0"),
            (
                "flat_load_dword v1, v[2:3]",
                "v[2:3] exec flat_scratch",
                "v1",
            ),
            ("global_load_dword v1, v[2:3], off", "v[2:3] exec", "v1"),
            ("global_load_dword v1, v2, s[4:5]", "v2 s[4:5] exec", "v1"),
            (
                "global_load_short_d16_hi v1, v2, s[4:5]",
                "v1 v2 s[4:5] exec",
                "v1",
            ),
            (
                "scratch_store_dword off, v1, s3",
                "v1 s3 exec flat_scratch",
                "",
            ),
            ("v_swap_b32 v1, v2", "v1 v2 exec", "v1 v2"),
            (
                "v_cmp_lt_u32_sdwa s[8:9], v0, v1 src0_sel:BYTE_0 src1_sel:DWORD",
                "v0 v1 exec",
                "s[8:9]",
            ),
            ("s_call_b64 s[8:9], 4", "", "s[8:9]"),
            ("ds_append v0", "exec m0", "v0"),
            ("ds_gws_init v0 gds", "v0 m0 exec", ""),
            (
                "buffer_load_format_d16_hi_x v8, v0, s[8:11], 0 idxen",
                "v8 v0 s[8:11] exec",
                "v8",
            ),
            ("s_scratch_load_dword s8, s[4:5], 0x10", "s[4:5]", "s8"),
            (
                "image_atomic_add v8, v0, s[8:15] dmask:0x1 glc",
                "v8 v[0:3] s[8:15] exec",
                "v8",
            ),
            (
                "image_atomic_add v8, v0, s[8:15] dmask:0x1",
                "v8 v[0:3] s[8:15] exec",
                "",
            ),
            (
                "image_load v[8:9], v0, s[8:15] dmask:0x2 tfe",
                "v[0:3] s[8:15] exec",
                "v[8:9]",
            ),
            ("exp mrt0 off, v1, off, off done", "v1 exec", ""),
            (
                "v_interp_p2_f32 v8, v2, attr1.x",
                "v8 v2 m0 exec mode",
                "v8",
            ),
            (
                "s_buffer_atomic_add s4, s[8:11], 0x10 glc",
                "s4 s[8:11]",
                "s4",
            ),
            ("s_buffer_atomic_add s4, s[8:11], 0x10", "s4 s[8:11]", ""),
        ],
    );
    check(
        "gfx600",
        &[(
            "buffer_load_dword v0, v[2:3], s[8:11], 0 addr64",
            "v[2:3] s[8:11] exec",
            "v0",
        )],
    );
}

#[test]
fn partial_and_implicit() {
    let target = Target::parse("gfx803").unwrap();
    let table = InstructionTable::new(target);
    let writes = |text: &str| {
        let insn = insn(target, text);
        let all = table.of(&insn).accesses(&insn).filter(|a| a.write);
        let list: Vec<_> = all.map(|a| (a.partial, a.implicit, a.slot)).collect();
        list
    };
    assert_eq!(writes("s_cmov_b32 s3, s4"), [(true, false, Some(0))]);
    assert_eq!(
        writes("s_add_u32 s3, s4, s5"),
        [(false, false, Some(0)), (false, true, None)]
    );
    assert_eq!(writes("v_mov_b32 v3, v4"), [(true, false, Some(0))]);
    assert_eq!(writes("v_cmp_eq_u32 vcc, v3, v4"), [(false, true, Some(0))]);
    assert_eq!(
        writes("v_cmp_eq_u32_e64 vcc, v3, v4"),
        [(false, false, Some(0))]
    );
    assert_eq!(
        writes("s_setreg_b32 hwreg(HW_REG_MODE), s2"),
        [(false, false, None)]
    );
    assert_eq!(
        writes("s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s2"),
        [(true, false, None)]
    );
}

/// Space, kind, bytes (0 if unknown), and whether it returns a value.
type Memory = Option<(MemorySpace, MemoryKind, u16, bool)>;

#[test]
fn memory_and_counters() {
    use MemoryKind::*;
    use MemorySpace::*;
    let lines: &[(&str, &str, Memory, &str)] = &[
        (
            "gfx900",
            "s_load_dwordx4 s[8:11], s[4:5], 0x0",
            Some((Scalar, Load, 16, true)),
            "lgkm?",
        ),
        ("gfx900", "s_memtime s[0:1]", None, "lgkm?"),
        (
            "gfx900",
            "ds_read2_b64 v[0:3], v4",
            Some((Lds, Load, 16, true)),
            "lgkm",
        ),
        (
            "gfx900",
            "ds_write_b8 v0, v1 gds",
            Some((Gds, Store, 1, false)),
            "lgkm exp",
        ),
        (
            "gfx900",
            "ds_add_u64 v0, v[2:3]",
            Some((Lds, Atomic, 8, false)),
            "lgkm",
        ),
        ("gfx900", "ds_bpermute_b32 v0, v1, v2", None, "lgkm"),
        (
            "gfx900",
            "buffer_store_dwordx3 v[0:2], off, s[4:7], 0",
            Some((Buffer, Store, 12, false)),
            "vm",
        ),
        (
            "gfx600",
            "buffer_store_dword v0, off, s[4:7], 0",
            Some((Buffer, Store, 4, false)),
            "vm exp",
        ),
        (
            "gfx900",
            "buffer_load_ubyte v0, off, s[4:7], 0",
            Some((Buffer, Load, 1, true)),
            "vm",
        ),
        ("gfx900", "buffer_wbinvl1", None, ""),
        (
            "gfx900",
            "flat_load_dwordx2 v[0:1], v[2:3]",
            Some((Flat, Load, 8, true)),
            "vm lgkm?",
        ),
        (
            "gfx900",
            "global_atomic_cmpswap v1, v[2:3], v[4:5], off glc",
            Some((Global, Atomic, 4, true)),
            "vm",
        ),
        (
            "gfx900",
            "global_atomic_add v[2:3], v4, off",
            Some((Global, Atomic, 4, false)),
            "vm",
        ),
        (
            "gfx900",
            "scratch_load_dword v0, v1, off",
            Some((Scratch, Load, 4, true)),
            "vm",
        ),
        ("gfx900", "s_sendmsg sendmsg(MSG_INTERRUPT)", None, "lgkm"),
        ("gfx900", "v_mov_b32 v0, v1", None, ""),
        (
            "gfx900",
            "ds_append v0",
            Some((Lds, Atomic, 4, true)),
            "lgkm",
        ),
        ("gfx900", "ds_gws_sema_v gds", None, "lgkm exp"),
        (
            "gfx900",
            "image_get_lod v8, v0, s[8:15], s[8:11]",
            None,
            "vm",
        ),
        (
            "gfx900",
            "s_scratch_store_dword s8, s[4:5], 0x10",
            Some((Scalar, Store, 4, false)),
            "lgkm?",
        ),
        (
            "gfx900",
            "exp mrt0 off, v1, off, off done",
            Some((Export, Store, 0, false)),
            "exp",
        ),
    ];
    for &(arch, text, memory, counters) in lines {
        let target = Target::parse(arch).unwrap();
        let table = InstructionTable::new(target);
        let insn = insn(target, text);
        let found = table.of(&insn).memory(&insn);
        let found = found.map(|m| (m.space, m.kind, m.bytes.unwrap_or(0), m.returns));
        assert_eq!(found, memory, "{text}");
        let c = table.of(&insn).counters(&insn);
        let mut names: Vec<&str> = [("vm", c.vm), ("lgkm", c.lgkm), ("exp", c.exp)]
            .iter()
            .filter(|(_, on)| *on)
            .map(|(name, _)| *name)
            .collect();
        let mut last = String::new();
        if c.out_of_order {
            last = names.pop().unwrap_or("").to_string() + "?";
            names.push(&last);
        }
        assert_eq!(names.join(" "), counters, "{text} {last}");
    }
}

/// A buffer load to LDS, and GDS and TFE.
#[test]
fn bits_beside_the_operands() {
    let target = Target::parse("gfx803").unwrap();
    let table = InstructionTable::new(target);
    let mut to_lds = insn(target, "buffer_load_dword v7, v5, s[8:11], s3 offen");
    to_lds.bits |= 1 << 16;
    let access = table.of(&to_lds).memory(&to_lds).unwrap();
    assert!(access.to_lds && !access.returns);
    let all: Vec<_> = table.of(&to_lds).accesses(&to_lds).collect();
    assert!(all.iter().all(|a| !a.write));
    assert!(all.iter().any(|a| a.touches(File::Scalar, 124)), "{all:?}");
    let tfe = insn(
        target,
        "buffer_load_dwordx2 v[7:8], v5, s[8:11], s3 offen tfe",
    );
    let written =
        |n| (table.of(&tfe).accesses(&tfe)).any(|a| a.write && a.touches(File::Vector, n));
    assert!(!written(6) && written(7) && written(8) && written(9) && !written(10));
}

/// As in LLVM: VCC itself is included, half of it is not.
#[test]
fn an_implicit_vcc_takes_the_constant_bus() {
    let target = Target::parse("gfx900").unwrap();
    let takes = |text| gcn_asm::assemble_snippet(target, text, false).is_ok();
    assert!(takes("v_div_fmas_f32 v0, 1.0, v1, v2"));
    assert!(takes("v_div_fmas_f64 v[0:1], vcc, v[2:3], v[4:5]"));
    assert!(!takes("v_div_fmas_f32 v0, s4, v1, v2"));
    assert!(!takes("v_div_fmas_f32 v0, vcc_lo, v1, v2"));
    assert!(!takes("v_div_fmas_f64 v[0:1], s[2:3], v[2:3], v[4:5]"));
    assert!(gcn_asm::assemble_snippet(target, "v_div_fmas_f32 v0, s4, v1, v2", true).is_ok());
}

#[test]
fn flow() {
    let if_ = |state, set| Condition::If { state, set };
    let branch = |offset, when, links| Flow::Branch {
        offset,
        when,
        links,
    };
    let indirect = |when, links| Flow::Indirect { when, links };
    let lines = [
        ("s_nop 0", Flow::Next),
        ("s_barrier", Flow::Next),
        ("s_branch -2", branch(-8, Condition::Always, false)),
        (
            "s_cbranch_scc0 4",
            branch(16, if_(State::Scc, false), false),
        ),
        ("s_cbranch_scc1 4", branch(16, if_(State::Scc, true), false)),
        (
            "s_cbranch_vccz 4",
            branch(16, if_(State::Vcc, false), false),
        ),
        (
            "s_cbranch_vccnz 4",
            branch(16, if_(State::Vcc, true), false),
        ),
        (
            "s_cbranch_execz 4",
            branch(16, if_(State::Exec, false), false),
        ),
        (
            "s_cbranch_execnz 4",
            branch(16, if_(State::Exec, true), false),
        ),
        (
            "s_cbranch_cdbgsys 4",
            branch(16, if_(State::CondDbgSys, true), false),
        ),
        (
            "s_cbranch_cdbgsys_or_user 4",
            branch(16, Condition::Other, false),
        ),
        (
            "s_cbranch_i_fork s[2:3], 4",
            branch(16, Condition::Other, false),
        ),
        (
            "s_cbranch_g_fork s[2:3], s[4:5]",
            indirect(Condition::Other, false),
        ),
        ("s_cbranch_join s2", indirect(Condition::Other, false)),
        ("s_setpc_b64 s[2:3]", indirect(Condition::Always, false)),
        (
            "s_swappc_b64 s[2:3], s[4:5]",
            indirect(Condition::Always, true),
        ),
        ("s_rfe_b64 s[2:3]", indirect(Condition::Always, false)),
        (
            "s_rfe_restore_b64 s[2:3], s4",
            indirect(Condition::Always, false),
        ),
        ("s_call_b64 s[2:3], 4", branch(16, Condition::Always, true)),
        ("s_endpgm", Flow::End),
        ("s_endpgm_saved", Flow::End),
        ("s_setkill 1", Flow::End),
        ("s_setkill 0", Flow::Next),
        ("s_trap 2", Flow::Trap),
    ];
    let target = Target::parse("gfx900").unwrap();
    let table = InstructionTable::new(target);
    for (text, flow) in lines {
        let insn = insn(target, text);
        assert_eq!(table.of(&insn).flow(&insn), flow, "{text}");
    }
    let barrier = insn(target, "s_barrier");
    assert!(table.of(&barrier).signals(Signal::Barrier));
    assert!(!table.of(&barrier).signals(Signal::Waitcnt));
}
