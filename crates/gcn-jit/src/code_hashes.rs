//! Hashes of the code that the compiler generates, for changes that must not change it: print them before and after with
//! `cargo test --release -p gcn-jit --lib code_hashes -- --ignored --nocapture` and compare.
//!
//! The regions are those at the entry of each committed kernel and at random sequences of the kernels' instructions, at
//! both levels, with and without the facts about starting waves, and in three MODEs.

use crate::context::LiveIns;
use crate::frontend;
use crate::frontend::CompileRequest;
use crate::target::{Level, x64};
use gcn_emu::engine::{EntryVgprs, Pattern};
use gcn_isa::Target;
use gcn_isa::decode::{Insn, decode};
use gcn_isa::flow::Flow;
use gcn_object::CodeObject;
use std::collections::BTreeMap;
use std::path::Path;

/// IEEE and f32 denormals; all denormals; rounding towards zero.
const MODES: [u32; 3] = [0x2c0, 0xf0, 0x20f];

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, &b| {
        (h ^ b as u64).wrapping_mul(0x100_0000_01b3)
    })
}

/// Returns the code as if it were the first that the process generates.
fn of_first(emitted: &x64::Emitted) -> Vec<u8> {
    let mut code = emitted.code.clone();
    let numbers: Vec<u32> = (0..emitted.ranges.len() as u32).collect();
    x64::range::apply_all(&mut code, &emitted.fixups, &numbers);
    code
}

/// The bytes of code that begin at an address.
struct Program<'a> {
    target: Target,
    at: u64,
    code: &'a [u8],
}

impl Program<'_> {
    fn fetch(&self, pc: u64) -> Option<Insn> {
        let from = usize::try_from(pc.checked_sub(self.at)?).ok()?;
        decode(self.target, self.code.get(from..)?)
    }

    /// Returns the hash of all variants of the region at the program's beginning at a level, and their total size in bytes.
    fn variants(&self, level: Level) -> (u64, usize) {
        let mut all = Vec::new();
        let start = EntryVgprs([Pattern::Consecutive, Pattern::Same, Pattern::Any]);
        for (mode, entry, exact) in [
            (MODES[0], None, false),
            (MODES[0], Some(start), false),
            (MODES[1], Some(start), false),
            (MODES[2], None, true),
        ] {
            let fetch = |pc| self.fetch(pc);
            let request = CompileRequest {
                vgprs: 128,
                entry,
                affine: entry.is_some(),
                ..CompileRequest::plain(self.target, mode, &fetch)
            };
            let region = frontend::region(self.at, &request);
            let live_ins = LiveIns::of(&region, 128);
            let batched = (entry.is_some() && live_ins.few()).then_some(x64::BatchStart {
                live_ins: &live_ins,
                entry: self.at,
                ids: &[],
            });
            let style = x64::Style {
                exact,
                ..x64::Style::plain(level)
            };
            if let Ok(emitted) = x64::emit(&region, style, batched) {
                all.extend(of_first(&emitted));
            }
        }
        (hash(&all), all.len())
    }
}

/// Returns the kernels in testdata of a target, by file and name: the addresses and the code.
fn kernels(target: &str) -> BTreeMap<String, (u64, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/kernels");
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("testdata/kernels") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.ends_with(&format!("-{target}.co")) {
            continue;
        }
        let object = CodeObject::parse(&std::fs::read(&path).expect("a file")).expect("an object");
        for kernel in &object.kernels {
            let entry = kernel.entry;
            let holds = |s: &gcn_object::read::Segment| {
                (s.address..s.address + s.file.len() as u64).contains(&entry)
            };
            let segment = object.segments.iter().position(holds).expect("a segment");
            let from = (entry - object.segments[segment].address) as usize;
            let code = object.segment_data(segment)[from..].to_vec();
            all.insert(format!("{name} {}", kernel.name), (entry, code));
        }
    }
    all
}

#[test]
#[ignore = "prints figures to compare by hand"]
fn code_hashes() {
    for level in [Level::Avx512, Level::Avx2] {
        println!("gfx: {}", level.name());
        let begun = std::time::Instant::now();
        hashes_of(level);
        eprintln!("{} {:?}", level.name(), begun.elapsed());
    }
}

fn hashes_of(level: Level) {
    let mut sum = 0;
    for name in ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"] {
        let target: Target = Target::parse(name).expect("a target");
        let mut insns: Vec<Vec<u8>> = Vec::new();
        for (kernel, (at, code)) in kernels(name) {
            let code = &code[..];
            let (hash, bytes) = Program { target, at, code }.variants(level);
            println!("{kernel} {bytes} {hash:016x}");
            sum ^= hash.rotate_left(1);
            let mut from = 0;
            while let Some(insn) = code.get(from..).and_then(|rest| decode(target, rest)) {
                let len = insn.len as usize;
                let flow = gcn_emu::interp::instruction_info(&insn).flow(&insn);
                if matches!(flow, Flow::Next | Flow::Branch { .. }) {
                    insns.push(code[from..from + len].to_vec());
                }
                from += len;
            }
        }
        let mut seed = 0x1234_5678_u32;
        let mut random = |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            seed as usize % below
        };
        let (mut all, mut bytes) = (Vec::new(), 0);
        for _ in 0..150 {
            let mut code = Vec::new();
            for _ in 0..4 + random(40) {
                code.extend(&insns[random(insns.len())]);
            }
            code.extend(0xbf81_0000_u32.to_le_bytes());
            let at = 0x1000;
            let code = &code[..];
            let (hash, some) = Program { target, at, code }.variants(level);
            all.extend(hash.to_le_bytes());
            bytes += some;
        }
        println!("{name} random {bytes} {:016x}", hash(&all));
        sum ^= hash(&all).rotate_left(1);
    }
    println!("all {sum:016x}");
}
