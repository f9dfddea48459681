//! Raw words on one wave.

use gcn_emu::engine::FaultKind;
use gcn_emu::interp::Interp;
use gcn_emu::mem::Memory;
use gcn_emu::snippet::{End, Outcome, Snippet, run};
use gcn_emu::wave::{Lds, WaveState};
use gcn_isa::Target;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn exec(arch: &str, code: &[u32], wave: &mut WaveState) -> Outcome {
    let target = Target::parse(arch).unwrap();
    let memory = Memory::new(1 << 20).unwrap();
    let mut lds = Lds::new(1024);
    run(
        Snippet {
            target,
            code: &words(code),
            start_pc: 0,
            max: 100,
        },
        wave,
        &mut lds,
        &memory,
        &mut Interp::new(),
    )
}

#[test]
fn scalar_sum_carries() {
    for arch in ["gfx600", "gfx701", "gfx803", "gfx900"] {
        let mut wave = WaveState::new(256);
        (wave.sgprs[0], wave.sgprs[1]) = (!0, 1);
        let outcome = exec(arch, &[0x8002_0100], &mut wave);
        assert_eq!(
            outcome,
            Outcome {
                end: End::FellOff,
                pc: 4,
                executed: 1
            }
        );
        assert_eq!((wave.sgprs[2], wave.scc), (0, true));
    }
}

/// s_add_u32 s2, s0, literal; and 64-bit inline constants: s_and_b64 s[4:5], s[0:1], -2.
#[test]
fn literals_and_inline_constants() {
    let mut wave = WaveState::new(1);
    (wave.sgprs[0], wave.sgprs[1]) = (5, 7);
    exec(
        "gfx900",
        &[0x8002_ff00, 0x1234_5678, 0x8684_c200],
        &mut wave,
    );
    assert_eq!(wave.sgprs[2], 0x1234_567d);
    assert_eq!((wave.sgprs[4], wave.sgprs[5], wave.scc), (4, 7, true));
    // s_or_b64 s[4:5], 0, literal: zero-extended; s_ashr_i64 s[6:7], literal, 0: sign-extended.
    exec(
        "gfx900",
        &[0x8784_ff80, 0x8000_0000, 0x9086_80ff, 0x8000_0000],
        &mut wave,
    );
    assert_eq!(
        (wave.pair(4), wave.pair(6)),
        (0x8000_0000, 0xffff_ffff_8000_0000)
    );
}

#[test]
fn an_unknown_word_is_a_fault() {
    let mut wave = WaveState::new(1);
    let outcome = exec("gfx900", &[0x8002_0100, 0xffff_ffff], &mut wave);
    assert_eq!((outcome.pc, outcome.executed), (4, 1));
    let End::Fault(report) = outcome.end else {
        panic!("{outcome:?}")
    };
    assert_eq!((report.kind, report.pc), (FaultKind::Illegal, 4));
}

#[test]
fn ends_and_branches() {
    let mut wave = WaveState::new(1);
    // s_endpgm after s_branch +1, which skips an unknown word.
    let outcome = exec(
        "gfx900",
        &[0xbf82_0001, 0xffff_ffff, 0xbf81_0000],
        &mut wave,
    );
    assert_eq!(
        outcome,
        Outcome {
            end: End::Endpgm,
            pc: 8,
            executed: 2
        }
    );
    // s_branch -1: an endless loop.
    let outcome = exec("gfx900", &[0xbf82_ffff], &mut wave);
    assert_eq!(
        outcome,
        Outcome {
            end: End::Limit,
            pc: 0,
            executed: 100
        }
    );
    // s_branch far away, and before the start.
    let outcome = exec("gfx900", &[0xbf82_0100], &mut wave);
    assert_eq!((outcome.end, outcome.pc), (End::FellOff, 0x404));
    let outcome = exec("gfx900", &[0xbf82_fff0], &mut wave);
    assert_eq!(
        (outcome.end, outcome.pc),
        (End::FellOff, 4u64.wrapping_sub(64))
    );
    // s_barrier; s_sethalt 1; s_trap 3.
    let outcome = exec("gfx900", &[0xbf8a_0000], &mut wave);
    assert_eq!(
        outcome,
        Outcome {
            end: End::Barrier,
            pc: 4,
            executed: 1
        }
    );
    let outcome = exec("gfx900", &[0xbf92_0003], &mut wave);
    assert_eq!(
        outcome,
        Outcome {
            end: End::Trap(3),
            pc: 0,
            executed: 1
        }
    );
    let outcome = exec("gfx900", &[0xbf8d_0001, 0x8002_0100], &mut wave);
    assert_eq!(
        outcome,
        Outcome {
            end: End::Halt,
            pc: 4,
            executed: 1
        }
    );
}

/// v_cmp_lt_u32 vcc, s0, v0: inactive lanes get 0 bits.
#[test]
fn compares_write_lane_masks() {
    let mut wave = WaveState::new(2);
    wave.vgprs[0] = std::array::from_fn(|lane| lane as u32);
    wave.sgprs[0] = 31;
    wave.set_vcc(!0);
    wave.set_exec(0xff00_ff00_ff00_ff00);
    exec("gfx900", &[0x7d92_0000], &mut wave);
    assert_eq!(wave.vcc(), 0xff00_ff00_0000_0000);
}
