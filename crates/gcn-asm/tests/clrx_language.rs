//! CLRX's language: each form beside its equivalent in LLVM's syntax, or beside its bytes.

use gcn_asm::{Options, Syntax, assemble, assemble_snippet, render, snippet};
use gcn_isa::Target;

fn target(name: &str) -> Target {
    Target::parse(name).unwrap()
}

/// Returns the bytes of a text, which must not depend on the text's length: plain lines of long texts are read in another way.
fn clrx(arch: &str, text: &str) -> Vec<u8> {
    let bytes = clrx_as_it_is(arch, text);
    let long = format!("{text}\n{}", "\n".repeat(1 << 12));
    assert_eq!(bytes, clrx_as_it_is(arch, &long), "{text}, in a long text");
    bytes
}

fn clrx_as_it_is(arch: &str, text: &str) -> Vec<u8> {
    let options = Options {
        target: Some(target(arch)),
        syntax: Syntax::Clrx,
        text_only: true,
        ..Options::default()
    };
    let output = assemble(text, "a.s", &options);
    let said = render(&output.diagnostics, false);
    let object = output.object.unwrap_or_else(|| panic!("{text}: {said}"));
    object.into_raw().unwrap().into_vec()
}

/// Returns the error of a text.
fn wrong(arch: &str, text: &str) -> String {
    let options = Options {
        target: Some(target(arch)),
        syntax: Syntax::Clrx,
        text_only: true,
        ..Options::default()
    };
    let output = assemble(text, "a.s", &options);
    assert!(output.object.is_none(), "{:.60} assembles", text);
    output.diagnostics[0].message.clone()
}

/// Returns the warnings for a text that assembles.
fn warned(arch: &str, text: &str) -> Vec<String> {
    let options = Options {
        target: Some(target(arch)),
        syntax: Syntax::Clrx,
        text_only: true,
        ..Options::default()
    };
    let output = assemble(text, "a.s", &options);
    assert!(output.object.is_some(), "{text}");
    output
        .diagnostics
        .iter()
        .map(|d| d.message.clone())
        .collect()
}

fn llvm(arch: &str, text: &str) -> Vec<u8> {
    assemble_snippet(target(arch), text, false).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

/// Checks that a CLRX text gives the same bytes as an LLVM text, also when the syntax is detected, unless LLVM accepts
/// it.
fn same(arch: &str, text: &str, as_llvm: &str) {
    let expected = llvm(arch, as_llvm);
    assert_eq!(clrx(arch, text), expected, "{arch}: {text}");
    if assemble_snippet(target(arch), text, false).is_err() && !text.contains('\n') {
        let auto = snippet(target(arch), text, Syntax::Auto, false);
        let auto = auto.unwrap_or_else(|e| panic!("{arch}, auto: {text}: {e:?}"));
        assert_eq!(auto, expected, "{arch}, auto: {text}");
    }
}

/// Like [`same`], for texts that the two dialects read differently.
fn differs(arch: &str, text: &str, as_llvm: &str) {
    assert_eq!(clrx(arch, text), llvm(arch, as_llvm), "{arch}: {text}");
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let word = |b: &[u8]| u32::from_le_bytes(b.try_into().unwrap());
    bytes.chunks(4).map(word).collect()
}

/// Integers are inline constants from -16 to 64; the bits of a float constant stay a literal.
#[test]
fn literals() {
    differs(
        "gfx900",
        "v_add_f32 v1, 0x3f800000, v2",
        "v_add_f32_e32 v1, lit(0x3f800000), v2",
    );
    differs(
        "gfx900",
        "s_mov_b32 s1, 0xfffffff0",
        "s_mov_b32 s1, lit(0xfffffff0)",
    );
    differs(
        "gfx803",
        "v_mul_f16 v1, 0x3c00, v2",
        "v_mul_f16_e32 v1, lit(0x3c00), v2",
    );
    differs(
        "gfx700",
        "s_mov_b64 s[2:3], 0xbf800000",
        "s_mov_b64 s[2:3], lit(0xbf800000)",
    );
    same(
        "gfx900",
        "v_add_f32 v1, 1.0, v2",
        "v_add_f32_e32 v1, 1.0, v2",
    );
    same("gfx900", "s_mov_b32 s1, -16", "s_mov_b32 s1, -16");
    assert_eq!(
        wrong("gfx900", "v_mad_f32 v1, 0x3f800000, v2, v3"),
        "expected a VGPR, an SGPR or an inline constant"
    );
    // Any 32 bits are valid where the instruction reads 16.
    assert_eq!(
        words(&clrx("gfx900", "v_add_f16 v0, 0x12345, v1"))[1],
        0x12345
    );
}

/// `h`, `s` and `l` name a float's width; a width other than the operand's makes a literal.
#[test]
fn floats_with_suffixes() {
    same(
        "gfx900",
        "v_add_f32 v1, 1.0s, v2",
        "v_add_f32_e32 v1, 1.0, v2",
    );
    same(
        "gfx900",
        "v_add_f32 v1, 1.5h, v2",
        "v_add_f32_e32 v1, lit(0x3e00), v2",
    );
    same(
        "gfx900",
        "v_add_f32 v1, 1.0l, v2",
        "v_add_f32_e32 v1, lit(0x3ff00000), v2",
    );
    same(
        "gfx900",
        "v_add_f16 v1, -0.5h, v2",
        "v_add_f16_e32 v1, -0.5, v2",
    );
    same(
        "gfx900",
        "v_add_f16 v1, 2.0s, v2",
        "v_add_f16_e32 v1, lit(0x40000000), v2",
    );
    same(
        "gfx900",
        "s_mov_b64 s[0:1], 1.5",
        "s_mov_b64 s[0:1], lit(0x3fc00000)",
    );
    same(
        "gfx900",
        "v_cvt_f32_f64 v1, 4.0",
        "v_cvt_f32_f64_e32 v1, 4.0",
    );
    same(
        "gfx900",
        "v_cvt_f32_f64 v1, lit(4.0s)",
        "v_cvt_f32_f64_e32 v1, lit(0x40800000)",
    );
    same(
        "gfx803",
        "v_mov_b32 v1, 0.15915494",
        "v_mov_b32_e32 v1, 0.15915494",
    );
    // The upper half of a double, rounded.
    differs(
        "gfx900",
        "v_cvt_f32_f64 v1, 1.1",
        "v_cvt_f32_f64_e32 v1, lit(0x3ff1999a)",
    );
    let buggy = ".buggyfplit\nv_cvt_f32_f64 v1, 1.5\n.nobuggyfplit\nv_cvt_f32_f64 v1, 1.5";
    let made = words(&clrx("gfx900", buggy));
    assert_eq!([made[1], made[3]], [0x3fc0_0000, 0x3ff8_0000]);
}

#[test]
fn modifiers_by_source() {
    same(
        "gfx900",
        "v_add_f32 v1, v2, v3 abs:3",
        "v_add_f32_e64 v1, |v2|, |v3|",
    );
    same(
        "gfx900",
        "v_add_f32 v1, v2, v3 neg:[0,1]",
        "v_add_f32_e64 v1, v2, -v3",
    );
    same(
        "gfx900",
        "v_mad_f32 v1, v2, v3, v4 neg:[1,0,1] abs:2",
        "v_mad_f32 v1, -v2, |v3|, -v4",
    );
    same(
        "gfx803",
        "v_mov_b32 v1, v2 sext:1",
        "v_mov_b32_sdwa v1, sext(v2) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD",
    );
    same(
        "gfx900",
        "v_add_f16 v1, v2, v3 op_sel:5",
        "v_add_f16_e64 v1, v2, v3 op_sel:[1,0,1]",
    );
    same(
        "gfx900",
        "v_add_f32 v1, v2, v3 vop3:1",
        "v_add_f32_e64 v1, v2, v3",
    );
    same(
        "gfx900",
        "v_add_f32 v1, v2, v3 vop3:0",
        "v_add_f32_e32 v1, v2, v3",
    );
    differs(
        "gfx900",
        "v_add_f32 v1, v2, v3 vop3:1 vop3:0",
        "v_add_f32_e32 v1, v2, v3",
    );
    same(
        "gfx700",
        "v_add_f32 v1, 1.0, v3 abs:1",
        "v_add_f32_e64 v1, |1.0|, v3",
    );
    same(
        "gfx900",
        "v_pk_add_f16 v1, v2, v3 neg:2",
        "v_pk_add_f16 v1, v2, v3 neg_lo:[0,1]",
    );
    same(
        "gfx900",
        "v_pk_mad_u16 v1, v2, v3, v4",
        "v_pk_mad_u16 v1, v2, v3, v4",
    );
    same(
        "gfx900",
        "v_mad_mix_f32 v1, v2, v3, v4",
        "v_mad_mix_f32 v1, v2, v3, v4 op_sel_hi:[1,1,1]",
    );
    // op_sel_hi has a third bit without a third source: set by default, clear if op_sel_hi is given.
    assert_eq!(
        words(&clrx("gfx900", "v_pk_add_u16 v1, v2, v3"))[0] >> 14 & 1,
        1
    );
    assert_eq!(
        words(&clrx("gfx900", "v_pk_add_u16 v1, v2, v3 op_sel_hi:[1,1]"))[0] >> 14 & 1,
        0
    );
}

#[test]
fn sdwa_and_dpp() {
    same(
        "gfx803",
        "v_add_f32 v1, v2, v3 dst_sel:b0 src0_sel:w1 src1_sel:byte_3",
        "v_add_f32_sdwa v1, v2, v3 dst_sel:BYTE_0 dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_3",
    );
    same(
        "gfx803",
        "x = 5; v_mov_b32 v1, v2 dst_sel:@x-1 dst_unused:@2",
        "v_mov_b32_sdwa v1, v2 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:DWORD",
    );
    same(
        "gfx900",
        "v_mov_b32 v1, v2 dppctrl:0x111",
        "v_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf",
    );
    let reserved = clrx("gfx900", "v_mov_b32 v1, v2 dppctrl:0x110");
    assert_eq!(words(&reserved)[1] >> 8 & 0x1ff, 0x110);
    same(
        "gfx900",
        "v_mov_b32 v1, v2 row_hmirror",
        "v_mov_b32_dpp v1, v2 row_half_mirror row_mask:0xf bank_mask:0xf",
    );
}

/// `_e64` of a scalar instruction requests a literal.
#[test]
fn sizes_of_scalar_instructions() {
    same(
        "gfx803",
        "s_add_u32_e64 s1, s2, 5",
        "s_add_u32 s1, s2, lit(5)",
    );
    same(
        "gfx803",
        "s_mov_b32_e64 s1, 1.0",
        "s_mov_b32 s1, lit(0x3f800000)",
    );
    same("gfx803", "s_mov_b32_e32 s1, 1.0", "s_mov_b32 s1, 1.0");
    same(
        "gfx803",
        "s_load_dword_e64 s1, s[2:3], 4",
        "s_load_dword s1, s[2:3], 4",
    );
    assert_eq!(
        wrong("gfx803", "s_mov_b32_e64 s1, s2"),
        "this instruction is not 64 bits long"
    );
}

#[test]
fn parts_of_pairs_and_attributes() {
    same(
        "gfx803",
        "s_mov_b32 vcc[0], flat_scratch[1]",
        "s_mov_b32 vcc_lo, flat_scratch_hi",
    );
    same("gfx803", "s_mov_b64 exec[0:1], vcc", "s_mov_b64 exec, vcc");
    same(
        "gfx803",
        "v_interp_p1_f32 v1, v2, attr26 . w",
        "v_interp_p1_f32 v1, v2, attr26.w",
    );
    same(
        "gfx803",
        "v_interp_mov_f32 v1, p10, ATTR3. Y",
        "v_interp_mov_f32 v1, p10, attr3.y",
    );
    assert_eq!(
        wrong("gfx803", "s_mov_b32 vcc[2], 0"),
        "expected registers from 0 to 1"
    );
}

#[test]
fn hardware_registers() {
    same(
        "gfx900",
        "s_getreg_b32 s1, hwreg(HWREG_MODE, 3, 7)",
        "s_getreg_b32 s1, hwreg(HW_REG_MODE, 3, 7)",
    );
    same(
        "gfx900",
        "s_getreg_b32 s1, hwreg(tba_lo, 0, 32)",
        "s_getreg_b32 s1, hwreg(16, 0, 32)",
    );
    same(
        "gfx900",
        "s_getreg_b32 s1, hwreg(hwreg_tma_hi, 0, 32)",
        "s_getreg_b32 s1, hwreg(19, 0, 32)",
    );
    same(
        "gfx900",
        "s_getreg_b32 s1, hwreg(@22, 0, 32)",
        "s_getreg_b32 s1, hwreg(22, 0, 32)",
    );
}

/// Atomics name a destination even if it is not written.
#[test]
fn memory() {
    let add = words(&clrx("gfx803", "flat_atomic_add v3, v[1:2], v4"));
    let glc = words(&llvm("gfx803", "flat_atomic_add v3, v[1:2], v4 glc"));
    assert_eq!(add, [glc[0] & !0x10000, glc[1]]);
    same(
        "gfx803",
        "flat_atomic_add v[1:2], v4",
        "flat_atomic_add v[1:2], v4",
    );
    let global = "global_atomic_swap_x2 v[3:4], v[1:2], v[5:6], off";
    let glc = words(&llvm("gfx900", &format!("{global} glc")));
    assert_eq!(words(&clrx("gfx900", global)), [glc[0] & !0x10000, glc[1]]);
    // Packed or unpacked, and any number of addresses.
    let image = "v[8:11], s[12:19] dmask:0xf unorm d16";
    let packed = clrx("gfx900", &format!("image_load v[0:1], {image}"));
    assert_eq!(
        packed,
        clrx("gfx900", &format!("image_load v[0:3], {image}"))
    );
    clrx("gfx900", "image_sample v1, v[2:3], s[8:15], s[4:7]");
    clrx("gfx900", "image_sample_d v1, v[2:14], s[8:15], s[4:7]");
    same(
        "gfx803",
        "tbuffer_load_format_x v1, v2, s[4:7], 0 offen format:[@4,@7]",
        "tbuffer_load_format_x v1, v2, s[4:7], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen",
    );
}

#[test]
fn registers_under_names() {
    let text = "pool = %v[16:31]; pair = %s[4:5]; one = %pool[3]; k = 2; half = %0.5; mask = %vcc
        s_and_b64 pair, mask, s[8:9]
        s_cmp_lt_i32 pair[1], s2
        v_xor_b32 pool[0], pool[k+1], one
        v_add_f32 v1, half, pool[15]
        v_cmp_eq_u32 mask, one, v2
        .set pair, %s[6:7]
        s_mov_b64 pair, 0
        s_mov_b32 mask[1], pair[0]
        flat_load_dword one, pool[4:5]";
    let expected = "s_and_b64 s[4:5], vcc, s[8:9]; s_cmp_lt_i32 s5, s2; v_xor_b32 v16, v19, v19
        v_add_f32_e32 v1, 0.5, v31; v_cmp_eq_u32_e32 vcc, v19, v2; s_mov_b64 s[6:7], 0; s_mov_b32 vcc_hi, s6
        flat_load_dword v19, v[20:21]";
    same("gfx803", text, expected);
    // Also when the syntax is detected, until a statement is LLVM's.
    let auto = snippet(
        target("gfx900"),
        "base = %s[4:5]\ns_load_dword s0, base, 0",
        Syntax::Auto,
        false,
    );
    assert_eq!(auto.unwrap(), llvm("gfx900", "s_load_dword s0, s[4:5], 0"));
    // CLRX's documents allow indices beyond the name's registers.
    same(
        "gfx803",
        "a = %s[4:5]; s_mov_b32 a[2], 0",
        "s_mov_b32 s6, 0",
    );
    assert_eq!(
        warned("gfx803", "a = %s[4:5]; s_mov_b32 a[2], 0"),
        ["the name stands for fewer registers than are counted from it here"]
    );
    assert!(warned("gfx803", "a = %s[4:5]; s_mov_b32 a[1], 0").is_empty());
    for beyond in [
        "a = %s[4:5]; s_mov_b32 a[98], 0",
        "a = %s[4:5]; s_mov_b32 a[-1], 0",
    ] {
        assert_eq!(wrong("gfx803", beyond), "expected registers from 0 to 1");
    }
    assert_eq!(
        wrong("gfx803", ".regvar a:s:2; s_mov_b32 a[2], 0"),
        "expected registers from 0 to 1"
    );
    assert_eq!(
        wrong("gfx803", "a = %s4; .int a"),
        "expected a number: this symbol stands for a register"
    );
}

#[test]
fn register_variables() {
    let text = "v_mov_b32 v3, s5
        .regvar acc:v, pair:s:2, quad:s:4
        v_mov_b32 acc, pair[1]
        s_mov_b64 pair, 0
        s_load_dwordx4 quad, pair, 0
        .usereg acc:rw, quad:w
        .rvlin acc
        .cf_jump out
        .cf_end
out:    s_endpgm";
    let expected = "v_mov_b32 v3, s5; v_mov_b32 v4, s7; s_mov_b64 s[6:7], 0
        s_load_dwordx4 s[8:11], s[6:7], 0; s_endpgm";
    same("gfx803", text, expected);
}

/// A symbol may be defined after the instruction that names it.
#[test]
fn symbols_defined_after_their_use() {
    same(
        "gfx900",
        "s_movk_i32 s1, k+1; ds_read_b32 v1, v2 offset:k*2; s_load_dword s1, s[2:3], k
         buffer_load_dword v1, off, s[4:7], 0 offset:k; s_cmpk_eq_i32 s2, k; s_mov_b32 s3, k
         s_nop k; global_load_dword v1, v[2:3], off inst_offset:-k; s_branch 1f; s_nop 0; 1: s_add_u32 s0, s0, 1f-1b
         1: k = 12; k = 13",
        "s_movk_i32 s1, 13; ds_read_b32 v1, v2 offset:24; s_load_dword s1, s[2:3], 12
         buffer_load_dword v1, off, s[4:7], 0 offset:12; s_cmpk_eq_i32 s2, 12; s_mov_b32 s3, lit(12)
         s_nop 12; global_load_dword v1, v[2:3], off offset:-12; s_branch 1; s_nop 0; s_add_u32 s0, s0, lit(8)",
    );
    assert_eq!(
        wrong("gfx900", "s_movk_i32 s1, nowhere"),
        "expected a number: a symbol here has no value"
    );
    assert_eq!(
        wrong("gfx900", "s_movk_i32 s1, k; k = 0x12345"),
        "expected a number from -32768 to 65535"
    );
    assert_eq!(
        wrong("gfx900", "s_movk_i32 s1, a; a = b; b = a"),
        "expected a number: a symbol here has no value"
    );
}

/// `@` forces an expression that looks like a register.
#[test]
fn expressions() {
    same(
        "gfx900",
        "v0 = 5; v_add_u32 v1, @v0, v4",
        "v_add_u32_e32 v1, 5, v4",
    );
    same(
        "gfx900",
        "s4 = 8; s_load_dword s1, s[2:3], @s4",
        "s_load_dword s1, s[2:3], 8",
    );
    let text = ".int -7//0x4000000000000000, -7/2, -7%%5, -7%4, -16>>>2, -16>>60, -1<@1, -1<1, 3>=@-1, 2>@1, 1<=@1
        .int 1 ? 2 : 3, 0 ? 2 : 0 ? 4 : 5, 7!8, 1||0&&0, 5 // 2, (9)//2
        .int 'a', '\\x41', '\\101', '\\n' // a comment";
    let expected = [
        3, -3, 4, -3, -4, 15, 0, -1, 0, -1, -1, 2, 5, -9, 0, 2, 4, 97, 0x41, 0x41, 10,
    ];
    let expected: Vec<u32> = expected.iter().map(|v: &i32| *v as u32).collect();
    assert_eq!(words(&clrx("gfx900", text)), expected);
    assert_eq!(
        words(&clrx("gfx900", ".int 1, \\\n 2\ns_nop \\\n 3"))[..3],
        [1, 2, 0xbf80_0003]
    );
}

#[test]
fn scopes() {
    let text = "x = 1; y = 2
        .scope a
            x = 10
            .int x, y, ::x
            .scope b; x = 100; .int x; .ends
            .int x, b::x
            .scope; x = 7; .int x; z = 8; .endscope
            .int x
            before: .int after
            after = 77
            .int global_later
        .ends
        global_later = 55
        .int x, a::x, ::a::b::x
        .scope c; x = 5; w = 6; .ends
        .using c
        .int x, w
        .scope d; .using a; .int x, w; .unusing a; .int x; .ends
        .unusing
        a::x = 11; ::a::x = a::x + 1; .int a::x
        .scope a; .int x; .ends
        .int a::before - . , not_yet::v
        .scope not_yet; v = 9; .ends
        s_branch a::there; s_branch here
        .scope a; there: s_nop 0; s_branch there; .ends
        here: a::e::last: s_nop 1";
    let made = words(&clrx("gfx900", text));
    let expected = [
        10, 2, 1, 100, 10, 100, 7, 10, 77, 55, 1, 10, 100, 1, 6, 10, 6, 1, 12, 12,
    ];
    assert_eq!(made[..20], expected);
    assert_eq!(made[20], (8 * 4u32).wrapping_sub(20 * 4));
    assert_eq!(made[21], 9);
    assert_eq!(
        made[22..],
        [
            0xbf82_0001,
            0xbf82_0002,
            0xbf80_0000,
            0xbf82_fffe,
            0xbf80_0001
        ]
    );
    assert_eq!(wrong("gfx900", ".ends"), "expected .scope before .ends");
    assert_eq!(
        wrong("gfx900", ".scope a; x: .ends; .scope a; x: .ends"),
        "'a::x' is defined twice"
    );
}

#[test]
fn symbols() {
    let text = ".enum A, B, C; .enum >8, D, E; .enum F
        .scope s; .enum G; .ends
        .enum >, H
        .byte A, B, C, D, E, F, s::G, H
        a = 3; b = 5
        .eqv sum, a+b
        .byte sum; b = 7; .byte sum, sum*2
        .equiv once, 4; .byte once
        v = 1; .byte v; .undef v; v = 2; .byte v, 0, 0
        .struct 8
        first: .skip 4
        second: .space 2
        .align 8
        third: . = 100
        fourth:
        .text
        .byte first, second, third, fourth";
    let expected = [
        0, 1, 2, 8, 9, 10, 0, 0, 8, 10, 20, 4, 1, 2, 0, 0, 8, 12, 16, 100,
    ];
    assert_eq!(clrx("gfx900", text), expected);
    assert_eq!(wrong("gfx900", ".enum A; A = 1"), "'A' is defined already");
    assert_eq!(
        wrong("gfx900", ".equiv a, 1; .equiv a, 2"),
        "'a' is defined already"
    );
    assert_eq!(
        wrong("gfx900", ".struct 0; .int 1"),
        "a structure has places and no bytes"
    );
}

#[test]
fn conditions_and_what_they_ask() {
    let text = ".rawcode; .gpu Ellesmere
        .get_arch arch; .get_gpu gpu; .get_format format; .get_64bit bits; .get_version version
        .byte arch, gpu, format, bits, version
        .iffmt raw; .byte 1; .elseiffmt rocm; .byte 2; .endif
        .ifnfmt amd; .byte 3; .endif
        .if64; .byte 4; .else; .byte 5; .endif
        .64bit
        .if32; .byte 6; .elseif64; .byte 7; .endif
        .ifgpu fiji; .byte 8; .elseifgpu Ellesmere; .byte 9; .endif
        .ifarch gcn1.2; .byte 10; .endif
        .policy 200; .get_policy policy; .byte policy";
    let expected = [2, 19, 2, 0, 109, 1, 3, 5, 7, 9, 10, 200];
    assert_eq!(clrx("gfx803", text), expected);
    assert_eq!(
        wrong("gfx803", ".iffmt elf\n.endif"),
        "expected rocm, raw, amd, amdcl2 or gallium"
    );
}

#[test]
fn macros() {
    let text = ".macro Put a, rest:vararg:req
            .byte \\a, \\rest
        .endm
        PUT 1, 2, 3; put 4 5
        .nomacrocase
        .macro PUT a
            .byte \\a+100
        .endm
        PUT 1
        .macrocase
        n = 6
        .macro text a; .ascii \"\\a\"; .endm
        text \\%n*7
        .rept 2; .byte 9; .endrept
        .altmacro
        .macro pair x y
            local skip
            .byte x, skip-., y
            skip:
        .endm
        pair 1, %n+1
        .macro quoted s
            .ascii \"s\"
        .endm
        quoted <a!>b>
        .noaltmacro";
    let expected = [
        1, 2, 3, 4, 5, 101, b'4', b'2', 9, 9, 1, 2, 7, b'a', b'>', b'b',
    ];
    assert_eq!(clrx("gfx900", text), expected);
}

#[test]
fn data() {
    let text = ".octa 0x112233445566778899aabbccddeeff00, 5
        .string16 \"ab\"; .string32 \"c\"; .string64 \"\"
        .fillq 1, 8, 0x1122334455667788; .fillq 2, 3, 0x010203
        .byte 1
        .balignw 8, 0x1234
        .balignl 16, 0x12345678";
    let made = clrx("gfx900", text);
    assert_eq!(made[..2], [0, 0xff]);
    assert_eq!(made[16..18], [5, 0]);
    assert_eq!(made[32..38], [b'a', 0, b'b', 0, 0, 0]);
    assert_eq!(made[38..46], [b'c', 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(made[46..54], [0; 8]);
    assert_eq!(made[54..62], 0x1122_3344_5566_7788u64.to_le_bytes());
    assert_eq!(made[62..68], [3, 2, 1, 3, 2, 1]);
    assert_eq!(made[68..72], [1, 0, 0x34, 0x12]);
    assert_eq!(made[72..], [0x78, 0x56, 0x34, 0x12, 0x78, 0x56, 0x34, 0x12]);
    let text = ".print \"seven\"; .lflags x y; .line 5; .title \"t\"; .extern nobody; .fail 600; .section .data, \"aw\", @progbits align=64; .int 1; .main; s_endpgm";
    let options = Options {
        target: Some(target("gfx900")),
        syntax: Syntax::Clrx,
        ..Options::default()
    };
    let output = assemble(text, "a.s", &options);
    assert_eq!(output.printed, "seven\n");
    assert_eq!(output.diagnostics.len(), 1, "{:?}", output.diagnostics);
    let object = output.object.unwrap();
    let data = object.sections.iter().find(|s| s.name == ".data").unwrap();
    assert_eq!(data.align, 64);
    assert_eq!(object.text(), [0, 0, 0x81, 0xbf]);
    assert_eq!(wrong("gfx900", ".err"), "the source says .err");
    assert_eq!(wrong("gfx900", ".fail 499"), "the source says .fail 499");
    assert_eq!(
        wrong("gfx900", ".abort\n.nonsense"),
        "the source says .abort"
    );
}

/// With `--raw` the code of formats that are not written is still available.
#[test]
fn code_of_other_formats() {
    let text = ".amdcl2; .gpu Bonaire; .64bit
        .globaldata; .int 1
        .kernel a
            .config; .dims x; .useargs; .usesetup; .setupargs; .arg n, uint
            .arg p, float*, global, const
            .text
            s_load_dwordx2 s[0:1], s[6:7], 12
            s_endpgm
        .kernel b
            .config; .sgprsnum 20
            .text
            s_endpgm";
    let expected = llvm(
        "gfx700",
        "s_load_dwordx2 s[0:1], s[6:7], 12; s_endpgm; s_endpgm",
    );
    assert_eq!(clrx("gfx704", text), expected);
}

/// Sources designed to take long end with an error.
#[test]
fn hostile_sources_end() {
    let chain: String = (0..2000)
        .map(|n| format!("a{n} = a{}+a{}\n", n + 1, n + 1))
        .collect();
    let deep = ".scope\n".repeat(1000);
    let wide: String = (0..900)
        .map(|n| format!(".scope s{n}; .ends; .using s{n}\n"))
        .collect::<String>()
        + &".int nobody_knows\n".repeat(60_000)
        + ".err\n";
    let many: String = (0..90)
        .map(|n| format!(".scope t{n}\n"))
        .chain((0..50_000).map(|n| format!("s_movk_i32 s0, u{n}\n")))
        .collect();
    for (text, message) in [
        (".macro m; m; .endm; m".to_string(), ""),
        (".altmacro\n.macro m\nlocal x\nm\n.endm\nm".to_string(), ""),
        (
            ".rept 0x7fffffffffffffff; .scope; .ends; .endr".to_string(),
            "",
        ),
        (deep, "expected fewer scopes in each other"),
        (chain + "s_movk_i32 s0, a0", ""),
        (wide, ""),
        (many, ""),
        (".eqv a, b; .eqv b, a; .int a".to_string(), ""),
        (format!(".int {}1", "1?".repeat(50_000)), ""),
        (format!(".int {}", "a::".repeat(50_000)), ""),
        (".fillq 0x7fffffffffffffff, 8".to_string(), ""),
        (
            ".struct 0; .skip 0x7fffffffffffffff; .skip 0x7fffffffffffffff; .int 1".to_string(),
            "",
        ),
        (".regvar a:v:32; ".repeat(10), ""),
        (
            ".regvar a:v:0x7fffffff".to_string(),
            "expected 1 to 32 registers",
        ),
    ] {
        let start = std::time::Instant::now();
        let said = wrong("gfx900", &text);
        assert!(said.contains(message), "{said}");
        let took = start.elapsed();
        assert!(
            took.as_secs() < 20,
            "{took:?}: {}",
            &text[..text.len().min(60)]
        );
    }
}

/// The short names of architectures, in any case.
#[test]
fn architectures() {
    for (name, number) in [
        ("SI", 0),
        ("GFX6", 0),
        ("ci", 1),
        ("gfx7", 1),
        ("VI", 2),
        ("Gfx8", 2),
        ("VEGA", 3),
        ("GFX9", 3),
        ("VEGA20", 4),
        ("GFX906", 4),
    ] {
        let text = format!(".rawcode; .arch {name}; .get_arch n; .int n");
        let options = Options {
            syntax: Syntax::Clrx,
            text_only: true,
            ..Options::default()
        };
        let object = assemble(&text, "a.s", &options).object.expect(name);
        assert_eq!(words(&object.into_raw().unwrap()), [number], "{name}");
    }
    // The last one has all features of the one before it.
    let asked = ".ifarch vega; .int 1; .else; .int 2; .endif; .ifnarch gcn1.4.1; .int 3; .endif";
    assert_eq!(words(&clrx("gfx906", asked)), [1]);
    assert_eq!(words(&clrx("gfx900", asked)), [1, 3]);
    assert_eq!(words(&clrx("gfx803", asked)), [2, 3]);
}

/// A named scope keeps the scopes that it uses when it is reopened, and a path may follow a directive.
#[test]
fn scopes_opened_again() {
    let text = ".scope a; x = 1; .ends; .scope b; x = 2; y = 3; .ends
        .scope c; .using b; .ends
        .scope c; .using a; .int x, y; .unusing a; .int x; .ends
        x = 9; .scope a; .int ::x; .int a::x; .ends";
    assert_eq!(words(&clrx("gfx803", text)), [1, 3, 2, 9, 1]);
}

/// Strings in single quotes as macro arguments.
#[test]
fn quoted_arguments() {
    let text = ".altmacro
        .macro put text; .ascii \"text\"; .endm
        put 'two words'
        put 'it!'s, <so>'
        put <that!>s it>
        .byte 'a', '\\n'
        .noaltmacro
        .byte 'b'";
    assert_eq!(
        String::from_utf8(clrx("gfx803", text)).unwrap(),
        "two wordsit's, <so>that>s ita\nb"
    );
    assert_eq!(
        wrong("gfx803", "put 'two words'"),
        "expected `'` after the character"
    );
}

/// Omitted values are 0, and numbers have up to 128 bits.
#[test]
fn data_left_out() {
    let zeros = |text: &str, len: usize| {
        assert_eq!(clrx("gfx803", text), vec![0; len], "{text}");
        let said = warned("gfx803", text);
        assert!(!said.is_empty(), "{text}");
        assert!(said.iter().all(|m| m == "there is no value here: it is 0"));
    };
    zeros(".byte ,", 2);
    zeros(".quad 0, , 0", 24);
    zeros(".float ,", 8);
    zeros(".half ,,", 6);
    zeros(".double 0,", 16);
    assert_eq!(words(&clrx("gfx803", ".int 1,,2")), [1, 0, 2]);
    assert_eq!(clrx("gfx803", ".fill 3,,5; .fill 1, 2, "), [5, 5, 5, 0, 0]);
    assert_eq!(
        words(&clrx("gfx803", ".float 1.5e, -2.0E")),
        [0x3fc0_0000, 0xc000_0000]
    );
    let octa = |text: &str| u128::from_le_bytes(clrx("gfx803", text).try_into().unwrap());
    assert_eq!(
        octa(".octa 340282366920938463463374607431768211455"),
        u128::MAX
    );
    assert_eq!(octa(".octa 18446744073709551616"), 1 << 64);
    assert_eq!(
        octa(".octa -18446744073709551617"),
        (1u128 << 64 | 1).wrapping_neg()
    );
    assert_eq!(
        wrong("gfx803", ".octa 340282366920938463463374607431768211456"),
        "expected a number of up to 128 bits"
    );
    assert_eq!(
        wrong("gfx803", ".quad 18446744073709551616"),
        "this number does not fit 64 bits"
    );
}

/// Modifiers and operands that the documents name.
#[test]
fn documented_forms() {
    differs(
        "gfx803",
        "v_xor_b32 v1, v2, v3 dst_sel:dw src0_sel:b1 src1_sel:DW",
        "v_xor_b32_sdwa v1, v2, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD",
    );
    let dpp = "v_xor_b32_dpp v1, v2, v3 row_shr:7 row_mask:0xf bank_mask:0xf";
    for (text, on) in [
        ("bound_ctrl", true),
        ("bound_ctrl:0", true),
        ("bound_ctrl:1", true),
        ("bound_ctrl:0:1", true),
        ("bound_ctrl:1:1-1", false),
        ("bound_ctrl:0:0", false),
    ] {
        let expected = format!("{dpp}{}", if on { " bound_ctrl:0" } else { "" });
        differs(
            "gfx803",
            &format!("v_xor_b32 v1, v2, v3 row_shr:7 {text}"),
            &expected,
        );
    }
    for name in ["emit-cut", "emit_cut", "gs_emit_cut", "GS_EMIT_CUT"] {
        differs(
            "gfx803",
            &format!("s_sendmsg sendmsg(gs, {name}, 1)"),
            "s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT_CUT, 1)",
        );
    }
    assert_eq!(
        words(&clrx("gfx803", "s_mov_b64 s[0:1], xnack_mask")),
        [0xbe80_0168]
    );
}

/// A number is the target address of a branch.
#[test]
fn branches_to_addresses() {
    let text = "s_nop 0; s_branch 12; s_branch 0; s_cbranch_scc0 at; at = 4";
    assert_eq!(
        words(&clrx("gfx803", text)),
        [0xbf80_0000, 0xbf82_0001, 0xbf82_fffd, 0xbf84_fffd]
    );
    differs("gfx900", "s_call_b64 s[0:1], 8", "s_call_b64 s[0:1], 1");
    assert_eq!(
        wrong("gfx803", "s_branch 6"),
        "expected an address at a multiple of 4 bytes from here"
    );
    assert_eq!(
        wrong("gfx803", "s_branch 0x100000"),
        "this address is farther away than a branch reaches"
    );
}

/// The halves of addresses, which a loader fills in: in gcn's own formats as relocations, and in formats that it does
/// not write.
#[test]
fn halves_of_addresses() {
    let code = "table: .int 5
        .kernel a; .config; .dims x
        .text; a: .skip 256
        s_mov_b32 s0, table&0xffffffff; s_mov_b32 s1, table>>32
        s_mov_b32 s2, (table+8)%%0x100000000; s_mov_b32 s3, (table+8)/0x100000000
        s_endpgm";
    let text = format!(".amdcl2; .globaldata; {code}");
    let made = words(&clrx("gfx803", &text));
    assert_eq!(made[64..66], [0xbe80_00ff, 0]);
    assert_eq!(warned("gfx803", &text).len(), 4);
    let text = format!(".rocm; .gpu fiji; .globaldata; {code}");
    let options = Options {
        syntax: Syntax::Clrx,
        ..Options::default()
    };
    let object = assemble(&text, "a.s", &options).object.unwrap();
    let kinds: Vec<_> = (object.relocations.iter())
        .map(|r| (r.kind.name(), r.addend))
        .collect();
    assert_eq!(
        kinds,
        [
            ("R_AMDGPU_ABS32_LO", 0),
            ("R_AMDGPU_ABS32_HI", 0),
            ("R_AMDGPU_ABS32_LO", 8),
            ("R_AMDGPU_ABS32_HI", 8),
        ]
    );
}

/// The settings of formats that are not written, as their documents name them.
#[test]
fn settings_of_other_formats() {
    let text = ".gallium; .llvm_version 40000; .gpu CapeVerde; .scratchsym rest
        .kernel a
            .args; .arg griddim; .arg scalar, 4, 4, 4, zext, general
            .config; .hsa_dims xyz; .hsa_sgprsnum 10; .hsa_userdatanum 4; .hsa_floatmode 0xc0
        .text
        a: s_mov_b32 s0, rest&0xffffffff
        s_endpgm";
    assert_eq!(words(&clrx("gfx601", text)), [0xbe80_03ff, 0, 0xbf81_0000]);
    let text = ".amdcl2; .64bit; .gpu Bonaire; .hsalayout; .inner; .main
        .kernel a; .config; .dims xy; .usesizes; .text
        a: .skip 4; s_endpgm";
    assert_eq!(words(&clrx("gfx704", text)), [0, 0xbf81_0000]);
}
