//! Lines of LLVM's tests that gcn once read differently from LLVM: the bytes of those that
//! LLVM accepts, and those that it refuses (docs/llvm-tests.md).

use gcn_asm::{assemble_into, assemble_snippet};
use gcn_isa::Target;

#[rustfmt::skip]
const TAKEN: &[(&str, &str, &str)] = &[
    ("gfx600", "v_cmp_lt_f32 s[2:3] -|v4|, -|v6|", "020302d0040d0260"),
    ("gfx802", "v_max_f32 v1, v2 v3", "02070216"),
    ("gfx704", "flat_atomic_smax v[3:4], v5,", "0000dcdc03050000"),
    ("gfx704", "flat_atomic_add v[3:4], v5 slc", "0000cadc03050000"),
    ("gfx600", "tbuffer_store_format_xyzw v[1:4], off, ttmp[4:7] dfmt:15 nfmt:7 ttmp1", "0000ffeb00011d71"),
    ("gfx906", "v_dot2_f32_f16 v0, v1, v2, v3 op_sel:[0,1]", "0050a3d301050e1c"),
    ("gfx906", "v_dot2_f32_f16 v0, v1, v2, v3 op_sel_hi:[0,0]", "0000a3d301050e04"),
    ("gfx600", "s_mov_b64_e32 s[0:1], 0.5", "f00480be"),
    ("gfx600", "s_load_dword s1, s[2:3], 0xfc glc", "fc8300c0"),
    ("gfx803", "v_sin_f32 v0, -[ttmp0]", "000069d170000020"),
    ("gfx802", "v_cvt_f16_u16_e64 v5, s1 noclamp", "050079d101000000"),
    ("gfx802", "v_nop_sdwa", "f900007e00000000"),
    ("gfx900", "v_swap_b32_e32 v1, v2", "02a3027e"),
    ("gfx600", "v_add_co_u32 v84, s[4:5], v13, v31", "54044ad20d3f0200"),
];

#[rustfmt::skip]
const REFUSED: &[(&str, &str)] = &[
    ("gfx803", "v_ceil_f64 v[0:1], u"),
    ("gfx803", "v_add_u16 v0, u, v0"),
    ("gfx900", "s_sub_u32 s0, u, u"),
    ("gfx600", "v_mqsad_pk_u16_u8 v[2:3], v[1:2], v9, v[4:5]"),
    ("gfx704", "v_movreld_b32 v0, s1"),
    ("gfx802", "v_movrelsd_b32_e32 v1, s2"),
    ("gfx900", "v_lshlrev_b32 v0, lds_direct, v0"),
    ("gfx900", "v_add_f64 v[0:1], lds_direct, v[0:1]"),
    ("gfx900", "v_fma_f32 v0, v0, v0, lds_direct"),
    ("gfx600", "s_sendmsg sendmsg(MSG_GS, 4)"),
    ("gfx600", "s_sendmsg sendmsg(MSG_INTERRUPT, 0)"),
    ("gfx600", "s_sendmsg sendmsg(MSG_GS_DONE, GS_OP_NOP, 0)"),
    ("gfx900", "image_atomic_add v252, v2, s[8:15]"),
    ("gfx900", "image_gather4_cl v[5:8], v[1:4], s[8:15], s[12:15] dmask:0x3"),
    ("gfx900", "image_load_mip_pck v5, v[1:4], s[8:15] dmask:0x1 d16"),
    ("gfx810", "image_load v[5:7], v[1:4], s[8:15] dmask:0x3 tfe d16"),
    ("gfx600", "exp invalid_target_10 v3, v2, v1, v0"),
    ("gfx600", "v_interp_mov_f32 v11, invalid_param_3, attr0.y"),
    ("gfx600", "v_mul_f32 v0, null, v2"),
    ("gfx600", "buffer_load_dwordx2 v[1:2], off, s[4:7], s1 lds"),
    ("gfx802", "buffer_load_dword v5, off, s[8:11], s3 tfe lds"),
    ("gfx600", "tbuffer_store_format_xyzw v[1:4], off, ttmp[4:7], dfmt:1 s0 format:[BUF_NUM_FORMAT_FLOAT]"),
    ("gfx802", "tbuffer_store_format_xyzw v[1:4], off, ttmp[4:7], s0 format:[BUF_NUM_FORMAT_SNORM_OGL]"),
    ("gfx802", "s_mov_b64 xnack_mask, -1"),
    ("gfx802", "s_memtime exec"),
    ("gfx802", "s_load_dword m0, s[0:1], s4"),
    ("gfx600", "s_setpc_b64 0"),
    ("gfx600", "s_cbranch_g_fork 100, s[6:7]"),
    ("gfx600", "s_cmpk_le_u32 s2, -1"),
    ("gfx900", "v_interp_p2_f16 v5, v2, attr1.x, v3 mul:2"),
    ("gfx802", "v_mac_f32_sdwa v194, v13, v1 dst_sel:BYTE_0 src0_sel:BYTE_3 src1_sel:BYTE_2"),
    ("gfx900", "scratch_load_dword v1, off, exec_hi"),
    ("gfx600", "ds_swizzle_b32 v8, v2 offset:SWIZZLE(QUAD_PERM, 0, 1, 2, 3)"),
    ("gfx802", "v_ceil_f32 v0, --1"),
    ("gfx802", "v_movrels_b32"),
];

/// Instructions that LLVM 14 cannot write and later versions can, with the first such version. gcn writes the same
/// text.
#[rustfmt::skip]
const LATER: &[(&str, &str, &str)] = &[
    // 15
    ("gfx900", "s_load_dword s6, s[2:3], s7 offset:0x14", "814102c01400000e"),
    ("gfx900", "s_load_dword s6, s[2:3], s7 offset:-0x4 glc", "814103c0fcff1f0e"),
    ("gfx900", "s_buffer_load_dwordx2 s[6:7], s[4:7], m0 offset:0x0", "824126c0000000f8"),
    ("gfx900", "s_atomic_swap s5, s[2:3], s101 offset:0x5", "414102c2050000ca"),
    ("gfx900", "s_dcache_discard s[2:3], s7 offset:0x14", "0140a2c01400000e"),
    // 19
    ("gfx900", "v_pk_mad_i16 v1, v2, -1.0, 5", "014080d302e7151a"),
    ("gfx900", "v_pk_add_u16 v1, 0.15915494, v2", "01408ad3f8040218"),
    ("gfx906", "v_dot2_u32_u16 v1, 1.0, v2, v3", "0140a7d3f2040e1c"),
];

/// The same for text that gcn accepts but does not write.
#[rustfmt::skip]
const LATER_TAKEN: &[(&str, &str, &str)] = &[
    // 15
    ("gfx900", "s_getreg_b32 s1, hwreg(HW_REG_TBA_LO)", "10f881b8"),
    ("gfx900", "s_getreg_b32 s1, hwreg(HW_REG_TMA_HI, 0, 32)", "13f881b8"),
    // 19
    ("gfx900", "v_mad_u16 v1, 1.0, v2, v3", "010004d2f2040e04"),
    ("gfx900", "v_add_u16_e64 v1, v2, -4.0", "010026d102ef0100"),
    // 22
    ("gfx900", "s_getreg_b32 s1, {id: 1, offset: 2, size: 3}", "811081b8"),
    ("gfx600", "s_getreg_b32 s1, {size: 3, id: 1}", "011001b9"),
    // Extensions.
    ("gfx900", "s_getreg_b32 s1, hwreg({id: HW_REG_MODE, offset: 2, size: 3})", "811081b8"),
    ("gfx900", "s_getreg_b32 s1, {id: HW_REG_STATUS}", "02f881b8"),
];

#[test]
fn what_later_versions_write() {
    for (n, (target, line, bytes)) in LATER.iter().chain(LATER_TAKEN).enumerate() {
        let target = Target::parse(target).expect("a target");
        let made = assemble_snippet(target, line, false);
        let made = made.unwrap_or_else(|e| panic!("{}: {line}: {}", target.name(), e[0]));
        let text: String = made.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(text, *bytes, "{}: {line}", target.name());
        if n >= LATER.len() {
            continue;
        }
        let insn = gcn_isa::decode::decode(target, &made).expect("an instruction");
        let mut text = String::new();
        gcn_isa::print::print(&insn, &gcn_isa::print::Style::LLVM, &mut text);
        assert_eq!(text, *line);
    }
    for line in [
        "{id: 64}",
        "{id: 1, id: 1}",
        "{name: 1}",
        "{size: 0}",
        "{id: 1",
    ] {
        let line = format!("s_getreg_b32 s1, {line}");
        let target = Target::parse("gfx900").expect("a target");
        assert!(assemble_snippet(target, &line, false).is_err(), "{line}");
    }
}

/// A word with an opcode that LLVM 14 reads but does not write keeps its bits.
#[test]
fn opcodes_that_are_read_alone() {
    for target in ["gfx803", "gfx900"] {
        let target = Target::parse(target).expect("a target");
        let bytes = [0xae, 0x0b, 0xc4, 0xe3, 0x25, 0x71, 0x47, 0x9e];
        let insn = gcn_isa::decode::decode(target, &bytes).expect("an instruction");
        for (style, syntax) in [
            (gcn_isa::print::Style::LLVM, gcn_asm::Syntax::Llvm),
            (gcn_isa::print::Style::CLRX, gcn_asm::Syntax::Clrx),
        ] {
            let mut text = String::new();
            gcn_isa::print::print(&insn, &style, &mut text);
            assert!(text.starts_with("buffer_wbinvl1 "), "{text}");
            let made = gcn_asm::snippet(target, &text, syntax, false);
            assert_eq!(made.unwrap(), bytes, "{text}");
            let mut fast = gcn_isa::text::Text::new();
            gcn_isa::plan::Plans::new(target, style).print(&insn, None, &mut fast);
            assert_eq!(fast.as_bytes(), text.as_bytes());
        }
    }
}

#[test]
fn what_llvm_takes() {
    for (target, line, bytes) in TAKEN {
        let target = Target::parse(target).expect("a target");
        let made = assemble_snippet(target, line, false);
        let made = made.unwrap_or_else(|e| panic!("{}: {line}: {}", target.name(), e[0]));
        let made: String = made.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(made, *bytes, "{}: {line}", target.name());
    }
}

#[test]
fn what_llvm_refuses() {
    for (target, line) in REFUSED {
        let target = Target::parse(target).expect("a target");
        let made = assemble_into(target, line, &mut Vec::new());
        assert!(made.is_err(), "{}: {line}", target.name());
    }
}
