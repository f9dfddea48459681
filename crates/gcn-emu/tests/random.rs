//! Random words on random registers: the machine neither panics nor hangs on any of them.

mod common;

use common::Rng;
use gcn_emu::interp::Interp;
use gcn_emu::mem::{Memory, Perm};
use gcn_emu::snippet::{Snippet, run};
use gcn_emu::wave::{Lds, WaveState};
use gcn_isa::Target;

/// Often a small, extreme or nearby number, as is common in registers.
fn word(rng: &mut Rng) -> u32 {
    let r = rng.next();
    match r >> 60 {
        0..=2 => (r & 0xff) as u32,
        3 => u32::MAX - (r & 0xff) as u32,
        4 => 0x8000_0000,
        5 => 1,
        6 => 0,
        _ => r as u32,
    }
}

#[test]
fn random_words() {
    let mut rng = Rng(0x1234_5678_9abc_def1);
    let memory = Memory::new(1 << 20).unwrap();
    memory.map_at(0, 1 << 16, Perm::RW).unwrap();
    let mut engine = Interp::new();
    let mut executed = 0;
    for arch in ["gfx600", "gfx701", "gfx803", "gfx900", "gfx904", "gfx906"] {
        let target = Target::parse(arch).unwrap();
        for _ in 0..4000 {
            let mut wave = WaveState::new(1 + (rng.next() % 64) as usize);
            wave.sgprs = std::array::from_fn(|_| word(&mut rng));
            for register in &mut wave.vgprs {
                let (base, scale) = (word(&mut rng), word(&mut rng));
                *register =
                    std::array::from_fn(|l| base.wrapping_add(scale.wrapping_mul(l as u32)));
            }
            wave.mode = word(&mut rng);
            wave.status = word(&mut rng);
            wave.scc = rng.next() & 1 != 0;
            // The bits of one format at a time, so that every format is tested; registers are ones that exist.
            let code: Vec<u8> = (0..4)
                .flat_map(|_| {
                    let low = match rng.next() % 4 {
                        0 => 0xd000_0000 | rng.next() as u32 & 0x03ff_ffff,
                        1 => 0xc000_0000 | rng.next() as u32 & 0x3fff_ffff,
                        2 => rng.next() as u32 & 0x7fff_ffff,
                        _ => rng.next() as u32,
                    };
                    [low, rng.next() as u32 & 0x1f3f_3f3f]
                })
                .flat_map(u32::to_le_bytes)
                .collect();
            let mut lds = Lds::new(512);
            let outcome = run(
                Snippet {
                    target,
                    code: &code,
                    start_pc: 0,
                    max: 16,
                },
                &mut wave,
                &mut lds,
                &memory,
                &mut engine,
            );
            executed += outcome.executed;
        }
    }
    assert!(executed > 10_000, "only {executed} instructions ran");
}
