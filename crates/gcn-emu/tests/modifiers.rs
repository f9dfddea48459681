//! The state around an operation: SDWA, DPP, op_sel, clamp, GPR indexing, EXEC, LDS and buffer ranges. The encodings are
//! llvm-mc's.

use gcn_emu::interp::Interp;
use gcn_emu::mem::{Memory, Perm};
use gcn_emu::snippet::{End, Snippet, run};
use gcn_emu::wave::{Lds, WaveState};
use gcn_isa::Target;

const BASE: u64 = 0x1_0000;

fn step(arch: &str, code: &[u8], wave: &mut WaveState) -> Lds {
    let memory = Memory::new(1 << 20).unwrap();
    memory.map_at(BASE, 4096, Perm::RW).unwrap();
    for i in 0..1024 {
        memory.store_u32(BASE + 4 * i, 0x100 + i as u32).unwrap();
    }
    let mut lds = Lds::new(4096);
    let target = Target::parse(arch).unwrap();
    let outcome = run(
        Snippet {
            target,
            code,
            start_pc: 0,
            max: 10,
        },
        wave,
        &mut lds,
        &memory,
        &mut Interp::new(),
    );
    assert_eq!(outcome.end, End::FellOff);
    lds
}

/// A wave whose v0 counts the lanes and whose v2 is 0xaaaaaaaa.
fn wave() -> WaveState {
    let mut wave = WaveState::new(256);
    wave.vgprs[0] = std::array::from_fn(|lane| lane as u32);
    wave.vgprs[2] = [0xaaaa_aaaa; 64];
    wave
}

#[test]
fn sdwa_selects_extends_and_places() {
    // v_add_u32_sdwa v2, v0, v1 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_2 src1_sel:WORD_1
    let mut w = wave();
    (w.vgprs[0], w.vgprs[1]) = ([0x0033_0000; 64], [0x1234_5678; 64]);
    step("gfx900", &[0xf9, 2, 4, 0x68, 0, 0x11, 2, 5], &mut w);
    assert_eq!(w.vgprs[2], [0xaaaa_67aa; 64]);
    // v_add_u32_sdwa v2, sext(v0), v1 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD
    let mut w = wave();
    (w.vgprs[0], w.vgprs[1]) = ([0x55_55fe; 64], [1; 64]);
    step("gfx900", &[0xf9, 2, 4, 0x68, 0, 5, 8, 6], &mut w);
    assert_eq!(w.vgprs[2], [0xffff_0000; 64]);
    // v_mov_b32_sdwa v2, v0 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_0
    let mut w = wave();
    w.vgprs[0] = [0x1280; 64];
    step("gfx900", &[0xf9, 2, 4, 0x7e, 0, 9, 0, 0], &mut w);
    assert_eq!(w.vgprs[2], [0xffff_8000; 64]);
    // v_cmp_lt_u32_sdwa s[2:3], v0, v1 src0_sel:BYTE_0 src1_sel:BYTE_3
    let mut w = wave();
    w.vgprs[1] = [0x0800_0000; 64];
    step("gfx900", &[0xf9, 2, 0x92, 0x7d, 0, 0x82, 0, 3], &mut w);
    assert_eq!((w.pair(2), w.vcc()), (0xff, 0));
}

/// v_mov_b32_dpp v2, v0 with the control in `bits`.
fn dpp(bits: [u8; 3], exec: u64) -> [u32; 64] {
    let mut w = wave();
    w.set_exec(exec);
    step(
        "gfx803",
        &[0xfa, 2, 4, 0x7e, 0, bits[0], bits[1], bits[2]],
        &mut w,
    );
    w.vgprs[2]
}

#[test]
fn dpp_moves_between_lanes() {
    const OLD: u32 = 0xaaaa_aaaa;
    let want = |f: &dyn Fn(u32) -> u32| -> [u32; 64] { std::array::from_fn(|lane| f(lane as u32)) };
    // quad_perm:[1,2,3,0]
    assert_eq!(dpp([0x39, 0, 0xff], !0), want(&|l| l & !3 | (l + 1) & 3));
    // row_shr:1: the first lane of a row has no source and is not written; with bound_ctrl it takes 0.
    let shifted = |l: u32, edge: u32| if l & 15 == 0 { edge } else { l - 1 };
    assert_eq!(dpp([0x11, 1, 0xff], !0), want(&|l| shifted(l, OLD)));
    assert_eq!(dpp([0x11, 9, 0xff], !0), want(&|l| shifted(l, 0)));
    // An inactive lane is not a source.
    let got = dpp([0x11, 1, 0xff], !(1 << 4));
    assert_eq!((got[4], got[5], got[6]), (OLD, OLD, 5));
    let got = dpp([0x11, 9, 0xff], !(1 << 4));
    assert_eq!((got[4], got[5], got[6]), (OLD, 0, 5));
    // row_bcast:15 row_mask:0xa
    let row = |l: u32| if l & 16 != 0 { (l & 48) - 1 } else { OLD };
    assert_eq!(dpp([0x42, 1, 0xaf], !0), want(&row));
    // wave_ror:1
    assert_eq!(dpp([0x3c, 1, 0xff], !0), want(&|l| (l + 63) & 63));
    // row_half_mirror bank_mask:0x3
    let half = |l: u32| if l & 8 == 0 { l ^ 7 } else { OLD };
    assert_eq!(dpp([0x41, 1, 0xf3], !0), want(&half));
}

#[test]
fn dpp_of_compares() {
    // v_cmp_eq_u32 vcc, v0, v1 and v_cmpx_eq_u32, with the control in `bits`: no assembler has a text for them.
    let run = |opcode: u32, bits: u32| {
        let mut w = wave();
        w.vgprs[1] = std::array::from_fn(|lane| lane as u32 - (lane > 0) as u32);
        w.set_exec(0xffff);
        w.set_vcc(0xffff_ff00);
        let words = [0x3e << 25 | opcode << 17 | 1 << 9 | 0xfa, bits << 8];
        let code: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        step("gfx900", &code, &mut w);
        (w.vcc(), w.exec())
    };
    // row_shr:1 bound_ctrl: lane 0 reads 0, the others their left neighbour's number.
    assert_eq!(run(0xca, 0xff0911), (0xffff, 0xffff));
    // Without bound_ctrl lane 0 keeps its bit, which was 0; so do the lanes that a row mask or a bank mask excludes.
    assert_eq!(run(0xca, 0xff0111), (0xfffe, 0xffff));
    assert_eq!(run(0xca, 0xe10911), (0xff00, 0xffff));
    assert_eq!(run(0xca, 0xf10911), (0xff0f, 0xffff));
    // EXEC takes the result in the lanes that are written and stays in the others.
    assert_eq!(run(0xda, 0xff0111), (0xfffe, 0xffff));
    // quad_perm:[0,0,0,0] in banks 0 and 1: lane 0 and the second lane of each quad compare equal.
    assert_eq!(run(0xda, 0xf30800), (0xff23, 0xff23));
    // A reserved control: every lane reads 0.
    assert_eq!(run(0xda, 0xf30900), (0xff03, 0xff03));
}

#[test]
fn upper_halves_of_16_bit_results() {
    let halves = || {
        let mut w = wave();
        // 2.0 in the upper half of v0, 3.0, 1.0 in the lower halves.
        (w.vgprs[0], w.vgprs[1], w.vgprs[3]) = ([0x4000_3c00; 64], [0x4200; 64], [0x3c00; 64]);
        w
    };
    // v_add_f16 v2, v0, v1 clears on both; v_mad_f16 on gfx8 only.
    for (arch, code, want) in [
        ("gfx803", &[0, 3, 4, 0x3e][..], 0x4400),
        ("gfx900", &[0, 3, 4, 0x3e], 0x4400),
        ("gfx803", &[2, 0, 0xea, 0xd1, 0, 3, 0xe, 4], 0x4400),
        ("gfx900", &[2, 0, 3, 0xd2, 0, 3, 0xe, 4], 0xaaaa_4400),
        // op_sel:[1,0,0,1]: the upper half of v0, into the upper half.
        ("gfx900", &[2, 0x48, 3, 0xd2, 0, 3, 0xe, 4], 0x4700_aaaa),
    ] {
        let mut w = halves();
        step(arch, code, &mut w);
        assert_eq!(w.vgprs[2], [want; 64], "{arch} {code:x?}");
    }
}

/// v_add_f32_e64 v2, -v0, |v1| clamp
#[test]
fn source_and_output_modifiers() {
    let mut w = wave();
    (w.vgprs[0], w.vgprs[1]) = ([2.0f32.to_bits(); 64], [(-2.25f32).to_bits(); 64]);
    w.vgprs[1][1] = (-8.0f32).to_bits();
    w.vgprs[1][2] = 0;
    w.set_exec(7);
    step("gfx900", &[2, 0x82, 1, 0xd1, 0, 3, 2, 0x20], &mut w);
    let first: Vec<f32> = w.vgprs[2][..3].iter().map(|&b| f32::from_bits(b)).collect();
    assert_eq!(first, [0.25, 1.0, 0.0]);
    assert_eq!(w.vgprs[2][3], 0xaaaa_aaaa);
}

#[test]
fn gpr_indexing() {
    let mut w = wave();
    w.vgprs[3] = [33; 64];
    w.sgprs[0] = 3;
    // s_set_gpr_idx_on s0, gpr_idx(SRC0); v_mov_b32 v2, v0; s_set_gpr_idx_off; v_mov_b32 v2, v0 of another destination
    let on = |field| [0, field, 0x11, 0xbf];
    let mov = [0, 3, 4, 0x7e];
    step("gfx900", &[on(1), mov, [0, 0, 0x9c, 0xbf]].concat(), &mut w);
    assert_eq!(w.vgprs[2], [33; 64]);
    let mut w = wave();
    w.sgprs[0] = 3;
    step("gfx900", &[on(8), mov].concat(), &mut w);
    assert_eq!((w.vgprs[2][9], w.vgprs[5][9]), (0xaaaa_aaaa, 9));
}

/// v_mov_b32 v255, v254 in a wave of 4 VGPRs: reads v0, writes nothing.
#[test]
fn registers_beyond_the_wave() {
    let mut w = WaveState::new(4);
    let before = w.clone();
    step("gfx900", &[0xfe, 3, 0xfe, 0x7f], &mut w);
    assert_eq!(w.vgprs, before.vgprs);
    // v_mov_b32 v2, v254
    w.vgprs[0] = [7; 64];
    step("gfx900", &[0xfe, 3, 4, 0x7e], &mut w);
    assert_eq!(w.vgprs[2], [7; 64]);
}

#[test]
fn apertures_and_scalars_of_no_lane() {
    let mut w = wave();
    // s_mov_b64 s[2:3], src_shared_base
    step("gfx900", &[0xeb, 1, 0x82, 0xbe], &mut w);
    assert_eq!(w.pair(2), 1 << 48);
    // v_readfirstlane_b32 s2, v0 without an active lane reads lane 0.
    w.vgprs[0][0] = 5;
    w.set_exec(0);
    step("gfx900", &[0, 5, 4, 0x7e], &mut w);
    assert_eq!(w.sgprs[2], 5);
}

/// s[4:7]: a buffer of `bytes` bytes, or records of `stride`.
fn buffer(w: &mut WaveState, records: u32, stride: u32) {
    w.sgprs[4] = BASE as u32;
    w.sgprs[5] = stride << 16;
    (w.sgprs[6], w.sgprs[7]) = (records, 0);
}

#[test]
fn buffers_check_their_range() {
    // buffer_load_dword v2, v0, s[4:7], s8 offen offset:4, of 64 bytes
    let mut w = wave();
    buffer(&mut w, 64, 0);
    w.vgprs[0] = std::array::from_fn(|lane| 4 * lane as u32);
    w.sgprs[8] = 8;
    step("gfx900", &[4, 0x10, 0x50, 0xe0, 0, 2, 1, 8], &mut w);
    let want: [u32; 64] = std::array::from_fn(|l| if l < 13 { 0x103 + l as u32 } else { 0 });
    assert_eq!(w.vgprs[2], want);
    // buffer_load_dword v2, v0, s[4:7], 0 idxen, of 10 records of 16 bytes: gfx8 counts bytes without swizzling.
    for (arch, records) in [("gfx900", 10), ("gfx803", 160)] {
        let mut w = wave();
        buffer(&mut w, records, 16);
        step(arch, &[0, 0x20, 0x50, 0xe0, 0, 2, 1, 0x80], &mut w);
        let want: [u32; 64] =
            std::array::from_fn(|l| if l < 10 { 0x100 + 4 * l as u32 } else { 0 });
        assert_eq!(w.vgprs[2], want, "{arch}");
    }
    // The same buffer swizzled: elements of 4 bytes, index stride 8. Dword 0 of the first 8 records comes first.
    let mut w = wave();
    buffer(&mut w, 16, 16);
    w.sgprs[5] |= 1 << 31;
    step("gfx900", &[0, 0x20, 0x50, 0xe0, 0, 2, 1, 0x80], &mut w);
    assert_eq!(
        (w.vgprs[2][7], w.vgprs[2][8], w.vgprs[2][16]),
        (0x107, 0x120, 0)
    );
}

/// buffer_load_dword v2, off, s[4:7], 0 offset:4 lds
#[test]
fn loads_to_lds() {
    let mut w = wave();
    buffer(&mut w, 64, 0);
    w.sgprs[124] = 16;
    w.set_exec(0b101);
    let lds = step("gfx900", &[4, 0, 0x51, 0xe0, 0, 2, 1, 0x80], &mut w);
    let dword = |at: usize| u32::from_le_bytes(lds[at..at + 4].try_into().unwrap());
    assert_eq!([20, 24, 28].map(dword), [0x101, 0, 0x101]);
    assert_eq!(w.vgprs[2], [0xaaaa_aaaa; 64]);
}
