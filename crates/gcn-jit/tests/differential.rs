//! Random blocks of instructions on both engines: registers, LDS, memory and how they end must be the same.
//! `BLOCKS` says how many (3000), `SEED` where to begin; a failure prints its seed.

// The bits of instructions.
#![allow(clippy::precedence)]
#![cfg(target_arch = "x86_64")]

use gcn_emu::engine::{Code, Engine, Machine, Stop};
use gcn_emu::global::Global;
use gcn_emu::interp::Interp;
use gcn_emu::mem::{Memory, Perm};
use gcn_emu::wave::{Lds, WaveState};
use gcn_isa::Target;
use gcn_isa::decode::decode;
use gcn_isa::print::{Style, print};
use gcn_jit::{Jit, Level};

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
    /// A scalar or vector source.
    fn source(&mut self) -> u64 {
        match self.below(10) {
            0..=4 => 256 + self.below(12),
            5 | 6 => self.below(20),
            7 => 128 + self.below(81),
            8 => 240 + self.below(8),
            _ => self.pick(&[106, 107, 124, 126, 127, 251, 252, 253]),
        }
    }
    fn scalar(&mut self) -> u64 {
        match self.below(8) {
            0..=4 => self.below(20),
            5 => 128 + self.below(81),
            _ => self.pick(&[106, 107, 124, 126, 127, 253]),
        }
    }
    /// A number with interesting bits.
    fn word(&mut self) -> u32 {
        const SPECIAL: [u32; 20] = [
            0,
            1,
            0x8000_0000,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0xffc0_0000,
            0x7f80_0001,
            0x7fa0_0000,
            0x0000_0001,
            0x807f_ffff,
            0x0080_0000,
            0x7f7f_ffff,
            0x3f80_0000,
            0xbf80_0000,
            0x4f00_0000,
            0xffff_ffff,
            0x7fff_ffff,
            0x7ff0_0000,
            0x3ff0_0000,
        ];
        match self.below(6) {
            0 => self.pick(&SPECIAL),
            1 => self.below(64) as u32,
            2 | 3 => (self.below(200) as f32 - 100.0)
                .to_bits()
                .wrapping_add(self.below(3) as u32),
            _ => self.next() as u32,
        }
    }
}

/// The bits of an instruction, most of which exist.
fn instruction(r: &mut Rng, gfx6: bool, gfx9: bool) -> u64 {
    let vdst = r.below(12);
    match r.below(16) {
        // SDWA and DPP of VOP2, VOP1 and VOPC.
        14 => {
            let low = match r.below(4) {
                0 => r.below(12) << 9 | vdst << 17 | r.below(62) << 25,
                1 => r.below(120) << 9 | vdst << 17 | 0x3f << 25,
                2 => r.below(12) << 9 | r.below(256) << 17 | 0x3e << 25,
                _ => r.below(12) << 9 | vdst << 17 | r.pick(&[0, 1, 2, 16, 25, 26, 28]) << 25,
            };
            let high = if r.below(3) == 0 {
                r.below(12) | (r.next() & 0x3f3f_ffff) << 8
            } else {
                let control = match r.below(4) {
                    0 => r.below(256),
                    1 => 0x100 + r.below(0x30),
                    2 => r.pick(&[0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143]),
                    _ => r.pick(&[0x111, 0x112, 0x114, 0x118, 0x142, 0x143, 0xb1, 0x4e]),
                };
                let any = r.below(256);
                let masks = r.pick(&[0xff, 0xff, 0xaf, 0xcf, any]);
                r.below(12)
                    | control << 8
                    | r.below(2) << 19
                    | r.below(16) * r.below(2) << 20
                    | masks << 24
            };
            r.pick(&[249, 250, 250]) | low | (high & 0xffff_ffff) << 32
        }
        // v_readfirstlane_b32, v_readlane_b32, v_writelane_b32; v_movrel*.
        15 => {
            let (register, number) = (r.below(20), 128 + r.below(64));
            let lane = r.pick(&[register, number, 124]);
            let low = 0b110100 << 26;
            match r.below(4) {
                0 => 256 + r.below(12) | 2 << 9 | r.below(20) << 17 | 0x3f << 25,
                1 if gfx6 => low | r.below(20) | (256 + r.below(12) | lane << 9) << 32,
                1 => low | r.below(20) | 0x289 << 16 | (256 + r.below(12) | lane << 9) << 32,
                2 if !gfx6 => low | vdst | 0x28a << 16 | (r.below(20) | lane << 9) << 32,
                2 => r.below(12) | lane << 9 | vdst << 17 | 2 << 25,
                _ => r.source() | (66 + r.below(3)) << 9 | vdst << 17 | 0x3f << 25,
            }
        }
        // VOP2
        0..=2 => {
            r.source()
                | r.below(12) << 9
                | vdst << 17
                | r.below(62) << 25
                | (r.next() & 0xffff_ffff) << 32
        }
        // VOP1
        3 => r.source() | r.below(120) << 9 | vdst << 17 | 0x3f << 25,
        // VOPC
        4 => r.source() | r.below(12) << 9 | r.below(256) << 17 | 0x3e << 25,
        // VOP3
        5..=8 => {
            let low = if gfx6 {
                vdst | r.below(8) << 8 | r.below(2) * r.below(2) << 11 | r.below(512) << 17
            } else {
                vdst | r.below(8) * r.below(2) << 8
                    | r.below(2) * r.below(2) << 15
                    | r.below(1024) << 16
            };
            let high = r.source()
                | r.source() << 9
                | r.source() << 18
                | r.below(4) * r.below(2) * r.below(2) << 27
                | r.below(8) * r.below(2) << 29;
            low | 0b110100 << 26 | high << 32
        }
        // SOP2, SOP1, SOPC, SOPK
        9 => r.scalar() | r.scalar() << 8 | r.below(20) << 16 | r.below(52) << 23 | 0b10 << 30,
        10 => {
            r.scalar()
                | r.below(56) << 8
                | r.pick(&[0, 2, 4, 6, 8, 10, 106, 126]) << 16
                | 0b1_0111_1101 << 23
        }
        11 => r.scalar() | r.scalar() << 8 | r.below(20) << 16 | 0b1_0111_1110 << 23,
        12 => r.next() & 0xffff | r.below(20) << 16 | r.below(18) << 23 | 0b1011 << 28,
        // DS
        _ => {
            let any = r.below(256);
            let usual = r.pick(&[
                0, 5, 9, 13, 14, 15, 30, 32, 54, 55, 56, 58, 77, 78, 118, 119,
            ]);
            let opcode = r.pick(&[any, usual]);
            let shift = if gfx9 || !gfx6 { 17 } else { 18 };
            (r.below(64) * 4)
                | opcode << shift
                | 0b110110 << 26
                | (r.below(4) | r.below(12) << 8 | r.below(12) << 16 | vdst << 24) << 32
        }
    }
}

fn block(r: &mut Rng, target: Target) -> (Vec<u8>, String) {
    let gfx6 = target.generation() <= gcn_isa::target::Gen::Gfx7;
    let gfx9 = target.generation() == gcn_isa::target::Gen::Gfx9;
    let (mut code, mut text) = (Vec::new(), String::new());
    let wanted = 1 + r.below(14);
    let mut n = 0;
    while n < wanted {
        let bytes = instruction(r, gfx6, gfx9).to_le_bytes();
        let Some(insn) = decode(target, &bytes) else {
            continue;
        };
        let name = insn.row.name;
        // What jumps, ends or reads the time is tested elsewhere.
        let jumps = [
            "pc_b64", "branch", "fork", "join", "rfe", "endpgm", "trap", "call", "barrier",
            "ordered", "gws",
        ];
        if jumps.iter().any(|j| name.contains(j)) {
            continue;
        }
        code.extend_from_slice(&bytes[..insn.len as usize]);
        print(&insn, &Style::LLVM, &mut text);
        text.push('\n');
        n += 1;
    }
    (code, text)
}

fn run(
    engine: &mut dyn Engine,
    target: Target,
    code: &[u8],
    wave: &mut WaveState,
    lds: &mut Lds,
    memory: &Memory,
) -> Stop {
    engine.forget();
    let global = Global::default();
    let mut machine = Machine {
        target,
        memory,
        code: Code::Snippet(0, code),
        lds,
        global: &global,
        hidden_private_base: 0,
    };
    let mut fuel = 1000;
    loop {
        match engine.run(wave, &mut machine, &mut fuel) {
            Stop::Yield => {}
            stop => return stop,
        }
    }
}

fn blocks(name: &str) {
    for level in Level::ALL {
        if level.available() {
            blocks_of(name, level);
        } else {
            eprintln!("passed over: this host has no {}", level.name());
        }
    }
}

fn blocks_of(name: &str, level: Level) {
    let number = |name: &str, default: u64| {
        std::env::var(name)
            .ok()
            .and_then(|v| v.parse().ok())
            .unwrap_or(default)
    };
    let (first, count) = (number("SEED", 1), number("BLOCKS", 3000));
    let target = Target::parse(name).expect("a target");
    let (mut jit, mut interp) = (Jit::with_level(level), Interp::new());
    let memory = Memory::new(1 << 20).expect("memory");
    memory.alloc(1 << 16, 256, Perm::RW).expect("a buffer");
    for seed in first..first + count {
        let mut r = Rng(seed.wrapping_mul(0x1234_5678_9abc_def1));
        let (code, text) = block(&mut r, target);
        let mut wave = WaveState::new(16);
        for v in &mut wave.vgprs {
            let one = r.word();
            let plain = r.below(3) == 0;
            for lane in v.iter_mut() {
                *lane = if plain { one } else { r.word() };
            }
        }
        for s in &mut wave.sgprs[..108] {
            *s = r.word();
        }
        let exec = match r.below(5) {
            0 | 1 => !0,
            2 => 0,
            3 => r.next() & 0xffff_0000_0000_ffff,
            _ => r.next(),
        };
        wave.set_exec(exec);
        wave.sgprs[124] = if r.below(2) == 0 {
            u32::MAX
        } else {
            r.below(2000) as u32 >> r.below(12)
        };
        wave.scc = r.below(2) != 0;
        wave.mode = match r.below(3) {
            0 => 0x3f0,
            1 => 0x3c0,
            _ => (r.next() & 0x3ff) as u32,
        };
        let lds = Lds((0..1024).map(|_| r.next() as u8).collect());
        let (mut a, mut b) = (wave.clone(), wave.clone());
        let (mut la, mut lb) = (lds.clone(), lds.clone());
        jit.lean = seed % 2 == 0;
        let want = run(&mut interp, target, &code, &mut a, &mut la, &memory);
        let got = run(&mut jit, target, &code, &mut b, &mut lb, &memory);
        if std::env::var("DUMP").is_ok()
            && let Some((code, chunks)) = jit.last_code()
        {
            std::fs::write(std::env::temp_dir().join("jit.bin"), code).expect("written");
            eprintln!("{chunks:x?}");
        }
        let mut what = String::new();
        for (n, (x, y)) in a.vgprs.iter().zip(&b.vgprs).enumerate() {
            if let Some(lane) = (0..64).find(|&l| x[l] != y[l]) {
                what += &format!(
                    "v{n}[{lane}]: {:#x}, compiled {:#x}, before {:#x}\n",
                    x[lane], y[lane], wave.vgprs[n][lane]
                );
            }
        }
        for (n, (x, y)) in a.sgprs.iter().zip(&b.sgprs).enumerate() {
            if x != y {
                what += &format!(
                    "s{n}: {x:#x}, compiled {y:#x}, before {:#x}\n",
                    wave.sgprs[n]
                );
            }
        }
        if la != lb {
            what += "LDS differs\n";
        }
        if want != got || a.pc != b.pc {
            what += &format!("{want:?} at {:#x}, compiled {got:?} at {:#x}\n", a.pc, b.pc);
        } else if what.is_empty() && a != b && !matches!(want, Stop::Fault(_)) {
            what += &format!(
                "scc {} {} mode {:#x} {:#x} clock {} {}\n",
                a.scc, b.scc, a.mode, b.mode, a.clock, b.clock
            );
        }
        let fault = matches!(want, Stop::Fault(_)) && want == got && la == lb;
        assert!(
            what.is_empty() || fault,
            "{name}, {level:?}, SEED={seed}, mode {:#x}, exec {exec:#x}:\n{text}{what}compiled {got:?}",
            wave.mode
        );
    }
    assert_eq!(
        jit.stats.refused, 0,
        "{name}, {level:?}: units were left to the interpreter"
    );
}

#[test]
fn gfx600() {
    blocks("gfx600");
}
#[test]
fn gfx701() {
    blocks("gfx701");
}
#[test]
fn gfx803() {
    blocks("gfx803");
}
#[test]
fn gfx900() {
    blocks("gfx900");
}
#[test]
fn gfx906() {
    blocks("gfx906");
}
