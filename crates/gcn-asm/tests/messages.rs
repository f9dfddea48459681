//! Messages: their text and the source location that they point to.

use expect_test::{Expect, expect};
use gcn_asm::{Options, assemble, render};
use gcn_isa::Target;

fn check(target: &str, source: &str, expected: Expect) {
    let options = Options {
        target: Target::parse(target),
        ..Options::default()
    };
    let output = assemble(source, "a.s", &options);
    expected.assert_eq(&render(&output.diagnostics, false));
}

#[test]
fn unknown_names() {
    check(
        "gfx900",
        "s_ad_u32 s0, s1, s2\nfoo_bar_baz s0\n.globbl x\n",
        expect![[r#"
            error: there is no instruction or directive `s_ad_u32`
             --> a.s:1:1
              |
            1 | s_ad_u32 s0, s1, s2
              | ^^^^^^^^
              |
              = help: did you mean `s_add_u32`?
            error: there is no instruction or directive `foo_bar_baz`
             --> a.s:2:1
              |
            2 | foo_bar_baz s0
              | ^^^^^^^^^^^
            error: there is no directive `.globbl`
             --> a.s:3:1
              |
            3 | .globbl x
              | ^^^^^^^
              |
              = help: did you mean `.globl`?
        "#]],
    );
    check(
        "gfx803",
        "s_mul_hi_u32 s0, s1, s2",
        expect![[r#"
        error: gfx803 has no s_mul_hi_u32: it exists from gfx9 on
         --> a.s:1:1
          |
        1 | s_mul_hi_u32 s0, s1, s2
          | ^^^^^^^^^^^^
    "#]],
    );
    check(
        "gfx900",
        "v_add_i32 v0, vcc, v1, v2\nv_mad_mix_f32 v0, v1, v2, v3\nv_dot2_i32_i16 v0, v1, v2, v3",
        expect![[r#"
            error: expected 3 operands, found 4
             --> a.s:1:24
              |
            1 | v_add_i32 v0, vcc, v1, v2
              |                        ^^
              |
              = help: it is v_add_i32 vdst, src0, src1 (VOP3)
            error: gfx900 has no v_dot2_i32_i16: it exists on gfx906
             --> a.s:3:1
              |
            3 | v_dot2_i32_i16 v0, v1, v2, v3
              | ^^^^^^^^^^^^^^
        "#]],
    );
    check(
        "gfx900",
        "v_add_f32 v0, v1, v2 clmp\ns_sendmsg sendmsg(MSG_FOO)\ns_getreg_b32 s0, hwreg(HW_REG_FOO)",
        expect![[r#"
            error: there is no modifier `clmp`
             --> a.s:1:22
              |
            1 | v_add_f32 v0, v1, v2 clmp
              |                      ^^^^
              |
              = help: did you mean `clamp`?
            error: expected the message's name or number
             --> a.s:2:19
              |
            2 | s_sendmsg sendmsg(MSG_FOO)
              |                   ^^^^^^^
              |
              = help: there are MSG_INTERRUPT, MSG_GS, MSG_GS_DONE, MSG_SAVEWAVE, MSG_STALL_WAVE_GEN, MSG_HALT_WAVES, MSG_ORDERED_PS_DONE, MSG_EARLY_PRIM_DEALLOC, MSG_GS_ALLOC_REQ, MSG_GET_DOORBELL, MSG_SYSMSG
            error: expected the register's name or number
             --> a.s:3:24
              |
            3 | s_getreg_b32 s0, hwreg(HW_REG_FOO)
              |                        ^^^^^^^^^^
              |
              = help: there are HW_REG_MODE, HW_REG_STATUS, HW_REG_TRAPSTS, HW_REG_HW_ID, HW_REG_GPR_ALLOC, HW_REG_LDS_ALLOC, HW_REG_IB_STS, HW_REG_SH_MEM_BASES
        "#]],
    );
    check(
        "gfx803",
        "s_sendmsg sendmsg(MSG_GET_DOORBELL)\ns_mov_b64 s[0:1], src_shared_base",
        expect![[r#"
            error: the message 'MSG_GET_DOORBELL' exists from gfx9 on
             --> a.s:1:19
              |
            1 | s_sendmsg sendmsg(MSG_GET_DOORBELL)
              |                   ^^^^^^^^^^^^^^^^
            error: gfx803 has no `src_shared_base`: this source exists from gfx9 on
             --> a.s:2:19
              |
            2 | s_mov_b64 s[0:1], src_shared_base
              |                   ^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn operands() {
    check(
        "gfx900",
        "s_add_u32 s0, s1\ns_add_u32 s0, v1, s2\ns_add_u32 s0, s[2:3], s4\ns_and_b64 s[1:2], s[2:3], s[4:5]",
        expect![[r#"
            error: expected 3 operands, found 2
             --> a.s:1:15
              |
            1 | s_add_u32 s0, s1
              |               ^^
              |
              = help: it is s_add_u32 sdst, ssrc0, ssrc1 (SOP2)
            error: expected an SGPR or a constant
             --> a.s:2:15
              |
            2 | s_add_u32 s0, v1, s2
              |               ^^
              |
              = help: it is s_add_u32 sdst, ssrc0, ssrc1 (SOP2)
            error: expected an SGPR or a constant, one register wide, found 2 registers
             --> a.s:3:15
              |
            3 | s_add_u32 s0, s[2:3], s4
              |               ^^^^^^
              |
              = help: it is s_add_u32 sdst, ssrc0, ssrc1 (SOP2)
            error: expected SGPRs from an even number on
             --> a.s:4:11
              |
            4 | s_and_b64 s[1:2], s[2:3], s[4:5]
              |           ^^^^^^
              |
              = help: it is s_and_b64 sdst[2], ssrc0[2], ssrc1[2] (SOP2)
        "#]],
    );
    check(
        "gfx900",
        "v_add_f32_e32 v0, v1, s2\nv_add_f32 v0, s1, s2\nv_add_f32 v0, v1, 0x12345678\nv_add_u32 v0, |v1|, v2",
        expect![[r#"
            error: expected a VGPR
             --> a.s:1:23
              |
            1 | v_add_f32_e32 v0, v1, s2
              |                       ^^
              |
              = help: it is v_add_f32 vdst, src0, vsrc1 (VOP2)
            error: two SGPRs are read, and the constant bus takes one
             --> a.s:2:15
              |
            2 | v_add_f32 v0, s1, s2
              |               ^^^^^^
              |
              = help: it is v_add_f32 vdst, src0, vsrc1 (VOP2)
                           or v_add_f32 vdst, src0, src1 (VOP3)
            error: expected a VGPR, an SGPR or an inline constant
             --> a.s:3:19
              |
            3 | v_add_f32 v0, v1, 0x12345678
              |                   ^^^^^^^^^^
              |
              = help: it is v_add_f32 vdst, src0, vsrc1 (VOP2)
                           or v_add_f32 vdst, src0, src1 (VOP3)
            error: abs and neg are for floats, and this operand is none
             --> a.s:4:15
              |
            4 | v_add_u32 v0, |v1|, v2
              |               ^^^^
              |
              = help: it is v_add_u32 vdst, src0, vsrc1 (VOP2)
                           or v_add_u32 vdst, src0, src1 (VOP3)
        "#]],
    );
    check(
        "gfx900",
        "s_add_u32 s200, s1, s2\nv_mov_b32 v[3:1], 0\ns_movk_i32 s0, 70000\ns_nop s0",
        expect![[r#"
            error: gfx900 has s0 to s101
             --> a.s:1:11
              |
            1 | s_add_u32 s200, s1, s2
              |           ^^^^
            error: the last register of a range comes before the first
             --> a.s:2:11
              |
            2 | v_mov_b32 v[3:1], 0
              |           ^^^^^^
            error: expected a number from -32768 to 65535
             --> a.s:3:16
              |
            3 | s_movk_i32 s0, 70000
              |                ^^^^^
              |
              = help: it is s_movk_i32 sdst, imm (SOPK)
            error: expected a number
             --> a.s:4:7
              |
            4 | s_nop s0
              |       ^^
              |
              = help: it is s_nop imm (SOPP)
        "#]],
    );
    check(
        "gfx900",
        "ds_read_b32 v0, v1 offset:65536\nbuffer_load_dword v0, v1, s[4:7], 0\nglobal_load_dword v0, v1, off",
        expect![[r#"
            error: expected an offset from 0 to 65535
             --> a.s:1:20
              |
            1 | ds_read_b32 v0, v1 offset:65536
              |                    ^^^^^^^^^^^^
              |
              = help: it is ds_read_b32 vdst, vaddr (DS)
            error: expected off, as none of offen, idxen and addr64 is given
             --> a.s:2:23
              |
            2 | buffer_load_dword v0, v1, s[4:7], 0
              |                       ^^
              |
              = help: it is buffer_load_dword vdata, vaddr[2], srsrc[4], soffset (MUBUF)
            error: expected a VGPR, 2 registers wide, found 1 register
             --> a.s:3:23
              |
            3 | global_load_dword v0, v1, off
              |                       ^^
              |
              = help: it is global_load_dword vdst, vaddr[2], saddr[2] (GLOBAL)
        "#]],
    );
}

#[test]
fn structure() {
    check(
        "gfx900",
        "a: s_nop 0\na: s_nop 0\ns_branch nowhere\n.long b-c\n",
        expect![[r#"
            error: 'a' is defined twice
             --> a.s:2:1
              |
            2 | a: s_nop 0
              | ^
              |
              = help: it is defined in line 1 already
            error: 'nowhere' is not defined
             --> a.s:3:10
              |
            3 | s_branch nowhere
              |          ^^^^^^^
            error: 'c' is not defined
             --> a.s:4:7
              |
            4 | .long b-c
              |       ^^^
        "#]],
    );
    check(
        "gfx900",
        "/* no end",
        expect![[r#"
        error: this comment has no end; expected `*/`
         --> a.s:1:1
          |
        1 | /* no end
          | ^^
    "#]],
    );
    check(
        "gfx900",
        ".fill 0x7fffffff, 8, 1\n.p2align 40\n.byte 256\n.long 1/0\n",
        expect![[r#"
            error: this makes the section larger than 256 MiB
             --> a.s:1:1
              |
            1 | .fill 0x7fffffff, 8, 1
              | ^^^^^
            error: expected an alignment that is a power of two up to 1048576
             --> a.s:2:10
              |
            2 | .p2align 40
              |          ^^
            error: expected a number that fits 8 bits
             --> a.s:3:7
              |
            3 | .byte 256
              |       ^^^
            error: this divides by zero
             --> a.s:4:7
              |
            4 | .long 1/0
              |       ^^^
        "#]],
    );
    check(
        "gfx900",
        ".amdhsa_kernel k\n.amdhsa_next_free_vgpr 300\n.amdhsa_next_free_spgr 3\n.end_amdhsa_kernel",
        expect![[r#"
            error: directive .amdhsa_next_free_sgpr is required
             --> a.s:1:1
              |
            1 | .amdhsa_kernel k
              | ^^^^^^^^^^^^^^
            error: unknown .amdhsa_kernel directive .amdhsa_next_free_spgr
             --> a.s:3:1
              |
            3 | .amdhsa_next_free_spgr 3
              | ^^^^^^^^^^^^^^^^^^^^^^
              |
              = help: did you mean `.amdhsa_next_free_sgpr`?
        "#]],
    );
    check(
        "",
        "s_nop 0\ns_nop 1",
        expect![[r#"
        error: the target is not known: expected .amdgcn_target before
         --> a.s:1:1
          |
        1 | s_nop 0
          | ^^^^^
          |
          = help: --arch gfx900 or `.arch gfx900` names it, too
    "#]],
    );
    check(
        "gfx803",
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"",
        expect![[r#"
            error: this is for gfx900, but the target is gfx803
             --> a.s:1:16
              |
            1 | .amdgcn_target "amdgcn-amd-amdhsa--gfx900"
              |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^
        "#]],
    );
    check(
        "gfx900",
        "s_branch far\n.fill 40000, 4, 0xbf800000\nfar: s_endpgm",
        expect![[r#"
            error: the label is 40000 dwords away, and a branch reaches -32768 to 32767
             --> a.s:1:10
              |
            1 | s_branch far
              |          ^^^
        "#]],
    );
}

/// Returns the lines of the messages, without the source excerpts.
fn heads(target: &str, source: &str, permissive: bool) -> Vec<String> {
    let options = Options {
        target: Target::parse(target),
        permissive,
        ..Options::default()
    };
    let output = assemble(source, "a.s", &options);
    output.diagnostics.iter().map(|d| d.to_string()).collect()
}

#[test]
fn the_constant_bus() {
    check(
        "gfx900",
        "v_mad_f32 v0, s0, v1, s1\nv_fma_f32 v0, s0, s1, vcc_lo\nv_add_f32_e32 v0, s0, v1\nv_addc_co_u32 v0, vcc, s0, v1, vcc",
        expect![[r#"
            error: two SGPRs are read, and the constant bus takes one
             --> a.s:1:15
              |
            1 | v_mad_f32 v0, s0, v1, s1
              |               ^^^^^^^^^^
              |
              = help: it is v_mad_f32 vdst, src0, src1, src2 (VOP3)
            error: more than two values are read over the constant bus, which takes one
             --> a.s:2:15
              |
            2 | v_fma_f32 v0, s0, s1, vcc_lo
              |               ^^^^^^^^^^^^^^
              |
              = help: it is v_fma_f32 vdst, src0, src1, src2 (VOP3)
            error: two SGPRs are read, and the constant bus takes one
             --> a.s:4:19
              |
            4 | v_addc_co_u32 v0, vcc, s0, v1, vcc
              |                   ^^^^^^^^^^^^^^^^
              |
              = help: it is v_addc_co_u32 vdst, vcc, src0, vsrc1, vcc (VOP2)
                           or v_addc_co_u32 vdst, sdst[2], src0, src1, ssrc2[2] (VOP3)
        "#]],
    );
    // The same register is read once.
    assert!(heads("gfx900", "v_mad_f32 v0, s0, v1, s0", false).is_empty());
    let bus = "a.s:1:15: warning: two SGPRs are read, and the constant bus takes one";
    assert_eq!(heads("gfx900", "v_mad_f32 v0, s0, v1, s1", true), [bus]);
}

#[test]
fn separators() {
    check(
        "gfx803",
        "v_add_f32 v0 v1, v2\nv_add_f32 v0, v1, v2,\nv_add_f32 v0,, v1, v2\ns_add_u32 s0, s1, s2 s3\ns_mov_b32 s0, (1+2\ns_mov_b32 s0, 1 +",
        expect![[r#"
            error: expected an expression, found `,`
             --> a.s:3:14
              |
            3 | v_add_f32 v0,, v1, v2
              |              ^
            error: expected `,` before the operand `s3`
             --> a.s:4:22
              |
            4 | s_add_u32 s0, s1, s2 s3
              |                      ^^
            error: expected `)`, found the end of the statement
             --> a.s:5:19
              |
            5 | s_mov_b32 s0, (1+2
              |                   ^
            error: expected an expression, found the end of the statement
             --> a.s:6:18
              |
            6 | s_mov_b32 s0, 1 +
              |                  ^
        "#]],
    );
}

#[test]
fn registers_out_of_step() {
    check(
        "gfx803",
        "s_load_dword s0, s[3:4], 0x0\ns_load_dwordx4 s[2:5], s[4:5], 0x0\nbuffer_load_dword v0, off, s[2:5], 0\ns_mov_b64 s0, 0\ns_mov_b32 exec, 0",
        expect![[r#"
            error: expected SGPRs from an even number on
             --> a.s:1:18
              |
            1 | s_load_dword s0, s[3:4], 0x0
              |                  ^^^^^^
              |
              = help: it is s_load_dword sdata, sbase[2], offset (SMEM)
            error: expected SGPRs from a multiple of 4 on
             --> a.s:2:16
              |
            2 | s_load_dwordx4 s[2:5], s[4:5], 0x0
              |                ^^^^^^
              |
              = help: it is s_load_dwordx4 sdata[4], sbase[2], offset (SMEM)
            error: expected SGPRs from a multiple of 4 on
             --> a.s:3:28
              |
            3 | buffer_load_dword v0, off, s[2:5], 0
              |                            ^^^^^^
              |
              = help: it is buffer_load_dword vdata, vaddr[2], srsrc[4], soffset (MUBUF)
            error: expected an SGPR, 2 registers wide, found 1 register
             --> a.s:4:11
              |
            4 | s_mov_b64 s0, 0
              |           ^^
              |
              = help: it is s_mov_b64 sdst[2], ssrc0[2] (SOP1)
            error: expected an SGPR, one register wide, found 2 registers
             --> a.s:5:11
              |
            5 | s_mov_b32 exec, 0
              |           ^^^^
              |
              = help: it is s_mov_b32 sdst, ssrc0 (SOP1)
        "#]],
    );
}

#[test]
fn modifiers() {
    check(
        "gfx803",
        "v_add_f32 v0, v1, v2 clamp clamp\nv_add_f32 v0, v1, v2 mul:3\nv_mov_b32_dpp v0, v1 row_shl:16\nv_mov_b32_dpp v0, v1 quad_perm:[0,1,2,4]\nv_add_f32_sdwa v0, v1, v2 dst_sel:BYTE_4\nv_fma_f32_sdwa v0, v1, v2, v3\nflat_load_dword v0, v[1:2] offset:4\nds_read_b32 v0, v1 offset0:1\nv_add_f32_dpp v0, v1, v2 src0_sel:DWORD",
        expect![[r#"
            error: this modifier is given twice
             --> a.s:1:28
              |
            1 | v_add_f32 v0, v1, v2 clamp clamp
              |                            ^^^^^
            error: expected mul:1 or 2 or 4
             --> a.s:2:26
              |
            2 | v_add_f32 v0, v1, v2 mul:3
              |                          ^
            error: expected row_shl from 1 to 15, found 16
             --> a.s:3:30
              |
            3 | v_mov_b32_dpp v0, v1 row_shl:16
              |                              ^^
            error: expected a lane of the quad from 0 to 3, found 4
             --> a.s:4:39
              |
            4 | v_mov_b32_dpp v0, v1 quad_perm:[0,1,2,4]
              |                                       ^
            error: expected BYTE_0, BYTE_1, BYTE_2, BYTE_3, WORD_0, WORD_1, DWORD
             --> a.s:5:35
              |
            5 | v_add_f32_sdwa v0, v1, v2 dst_sel:BYTE_4
              |                                   ^^^^^^
            error: v_fma_f32 has no SDWA encoding on gfx803
             --> a.s:6:1
              |
            6 | v_fma_f32_sdwa v0, v1, v2, v3
              | ^^^^^^^^^^^^^^
            error: FLAT takes an offset from gfx9 on
             --> a.s:7:28
              |
            7 | flat_load_dword v0, v[1:2] offset:4
              |                            ^^^^^^^^
              |
              = help: it is flat_load_dword vdst, vaddr[2] (FLAT)
            error: this instruction does not take this modifier
             --> a.s:8:20
              |
            8 | ds_read_b32 v0, v1 offset0:1
              |                    ^^^^^^^^^
              |
              = help: it is ds_read_b32 vdst, vaddr (DS)
            error: this modifier belongs to another encoding
             --> a.s:9:26
              |
            9 | v_add_f32_dpp v0, v1, v2 src0_sel:DWORD
              |                          ^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn targets() {
    check(
        "gfx600",
        "flat_load_dword v0, v[1:2]\ns_mov_b64 s[0:1], flat_scratch\ns_set_gpr_idx_off\nv_add_f32_sdwa v0, v1, v2",
        expect![[r#"
            error: gfx600 has no flat_load_dword: it exists from gfx7 on
             --> a.s:1:1
              |
            1 | flat_load_dword v0, v[1:2]
              | ^^^^^^^^^^^^^^^
            error: gfx600 has no `flat_scratch`: flat_scratch exists from gfx7 on
             --> a.s:2:19
              |
            2 | s_mov_b64 s[0:1], flat_scratch
              |                   ^^^^^^^^^^^^
            error: gfx600 has no s_set_gpr_idx_off: it exists from gfx8 on
             --> a.s:3:1
              |
            3 | s_set_gpr_idx_off
              | ^^^^^^^^^^^^^^^^^
            error: v_add_f32 has no SDWA encoding on gfx600
             --> a.s:4:1
              |
            4 | v_add_f32_sdwa v0, v1, v2
              | ^^^^^^^^^^^^^^
        "#]],
    );
    check(
        "gfx900",
        "v_mullit_f32 v0, v1, v2, v3\ns_mov_b64 s[0:1], tba\ns_load_dword s0, s[2:3], 0x200000",
        expect![[r#"
            error: gfx900 has no v_mullit_f32: it exists up to gfx7 only
             --> a.s:1:1
              |
            1 | v_mullit_f32 v0, v1, v2, v3
              | ^^^^^^^^^^^^
            error: gfx900 has no `tba`: tba and tma exist up to gfx8 only
             --> a.s:2:19
              |
            2 | s_mov_b64 s[0:1], tba
              |                   ^^^
            error: expected an offset from -1048576 to 1048575
             --> a.s:3:26
              |
            3 | s_load_dword s0, s[2:3], 0x200000
              |                          ^^^^^^^^
              |
              = help: it is s_load_dword sdata, sbase[2], offset (SMEM)
        "#]],
    );
}

/// Reading ends after the maximum number of errors, and the last message says so.
#[test]
fn many_errors() {
    for (line, last) in [
        (
            "frobnicate s0\n",
            "a.s:100:14: error: 100 errors: the rest was not read",
        ),
        (
            "s_branch nowhere\n",
            "a.s:201:1: error: 100 errors: further ones were not searched for",
        ),
        (
            "s_nop 0x10000\n",
            "a.s:100:14: error: 100 errors: the rest was not read",
        ),
    ] {
        let all = heads("gfx900", &line.repeat(200), false);
        assert_eq!(all.len(), 101);
        assert_eq!(all[100], last);
    }
    // Errors in some lines do not hide errors in others.
    let mut source = "s_nop 0\n".repeat(5000);
    source.push_str("s_nop\n");
    source.push_str(&"v_mov_b32 v1, v2\n".repeat(5000));
    source.push_str("s_bad\ns_branch nowhere\n");
    assert_eq!(
        heads("gfx900", &source, false),
        [
            "a.s:5001:1: error: expected 1 operand, found 0",
            "a.s:10002:1: error: there is no instruction or directive `s_bad`",
            "a.s:10003:10: error: 'nowhere' is not defined",
        ]
    );
}

/// A number that does not fit is always refused, never truncated.
#[test]
fn nothing_is_cut_in_silence() {
    let wrong = [
        "s_mov_b32 s0, 0x100000000",
        "s_mov_b32 s0, -0x80000001",
        "s_movk_i32 s0, 0x10000",
        "s_movk_i32 s0, -32769",
        "s_nop 65536",
        "s_add_u32 s0, 99999, 99998",
        "v_add_u16 v0, 65536, v1",
        "v_mov_b32 v0, 1.0e60",
        "v_mov_b32 v256, v0",
        "s_mov_b32 s102, 0",
        "s_mov_b64 s[101:102], 0",
        "s_waitcnt vmcnt(64)",
        "s_waitcnt lgkmcnt(16)",
        "s_getreg_b32 s0, hwreg(64)",
        "s_getreg_b32 s0, hwreg(1, 0, 33)",
        "s_sendmsg sendmsg(16)",
        "ds_read_b32 v0, v1 offset:65536",
        "ds_read2_b32 v[0:1], v1 offset0:256",
        "buffer_load_dword v0, off, s[0:3], 0 offset:4096",
        "global_load_dword v0, v[1:2], off offset:4096",
        "global_load_dword v0, v[1:2], off offset:-4097",
        "s_load_dword s0, s[2:3], 0x100000",
        "v_mov_b32_dpp v0, v1 row_mask:16",
        "v_and_b32 v0, neg(v1), v2",
        "v_add_f64 v[0:1], v[2:3], 0x3ff0000000000001",
        ".byte 256",
        ".short 65536",
        ".long 0x100000000",
        ".long 0x1ffffffffffffffff",
    ];
    // Alone, and among enough lines to be read on the fast path.
    let around = "s_nop 0\n".repeat(1000);
    for line in wrong {
        assert_eq!(heads("gfx900", line, false).len(), 1, "{line}");
        let source = format!("{around}{line}\n{around}");
        let all = heads("gfx900", &source, false);
        assert_eq!(all.len(), 1, "{line}");
        assert!(all[0].starts_with("a.s:1001:"), "{line}: {}", all[0]);
    }
}

#[test]
fn graphics_formats() {
    check(
        "gfx900",
        "image_load v[1:2], v2, s[8:15] dmask:1
image_load v1, v2, s[8:15] dmask:1 r128
v_pk_add_f16 v0, v1, v2 op_sel:[1,0,1]
exp mrt9 v0, v1, v2, v3
exp mrt0 v0, s1, v2, v3
v_interp_p1_f32 v0, v1, attr64.x
v_interp_p1_f32_e64 v0, s1, attr0.x
tbuffer_load_format_x v1, off, s[4:7], s1 format:[BUF_DATA_FORMAT_33]
v_mad_mix_f32 v0, |v1|, v2, v3 neg_hi:[1,0,0]
",
        expect![[r#"
            error: expected a VGPR for each channel of dmask (two channels with d16), and one for tfe, one register wide, found 2 registers
             --> a.s:1:12
              |
            1 | image_load v[1:2], v2, s[8:15] dmask:1
              |            ^^^^^^
              |
              = help: it is image_load vdata, vaddr, srsrc[8] (MIMG)
            error: r128 exists up to gfx8 only
             --> a.s:2:36
              |
            2 | image_load v1, v2, s[8:15] dmask:1 r128
              |                                    ^^^^
              |
              = help: it is image_load vdata, vaddr, srsrc[8] (MIMG)
            error: expected one bit for each source
             --> a.s:3:25
              |
            3 | v_pk_add_f16 v0, v1, v2 op_sel:[1,0,1]
              |                         ^^^^^^^^^^^^^^
              |
              = help: it is v_pk_add_f16 vdst, src0, src1 (VOP3P)
            error: expected mrt0 to mrt7, mrtz, null, pos0 to pos3 or param0 to param31
             --> a.s:4:5
              |
            4 | exp mrt9 v0, v1, v2, v3
              |     ^^^^
            error: expected a VGPR or off
             --> a.s:5:14
              |
            5 | exp mrt0 v0, s1, v2, v3
              |              ^^
              |
              = help: it is exp target, vsrc|off, vsrc|off, vsrc|off, vsrc|off (EXP)
            error: expected an attribute, attr0.x to attr63.w
             --> a.s:6:25
              |
            6 | v_interp_p1_f32 v0, v1, attr64.x
              |                         ^^^^^^^^
              |
              = help: it is v_interp_p1_f32 vdst, src1, attr (VINTRP)
                           or v_interp_p1_f32 vdst, src1, attr (VOP3)
            error: expected a VGPR
             --> a.s:7:25
              |
            7 | v_interp_p1_f32_e64 v0, s1, attr0.x
              |                         ^^
              |
              = help: it is v_interp_p1_f32 vdst, src1, attr (VOP3)
            error: expected one data format and one number format, as in [BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT]
             --> a.s:8:51
              |
            8 | tbuffer_load_format_x v1, off, s[4:7], s1 format:[BUF_DATA_FORMAT_33]
              |                                                   ^^^^^^^^^^^^^^^^^^
            error: this instruction does not take this modifier
             --> a.s:9:32
              |
            9 | v_mad_mix_f32 v0, |v1|, v2, v3 neg_hi:[1,0,0]
              |                                ^^^^^^^^^^^^^^
              |
              = help: it is v_mad_mix_f32 vdst, src0, src1, src2 (VOP3P)
        "#]],
    );
}
