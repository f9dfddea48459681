//! Random kernels with several waves and workgroups, on both engines. They compare the memory after a dispatch, the number
//! of instructions, and the messages of faults. `BLOCKS`, `SEED`, `TARGET` and `SHOW` as in `differential.rs`.
#![allow(clippy::precedence)]
#![cfg(target_arch = "x86_64")]

mod both;

use both::generate::Maker;
use both::guards::guarded;
use both::rng::Rng;
use both::{Case, How, Piece};
use gcn_emu::dispatch::observers::{About, Observe, Observer, Scene, Screened, Who};
use gcn_emu::dispatch::{Gpu, Launch, Loaded, Stats};
use gcn_emu::engine::{Engine, Stop};
use gcn_emu::interp::Interp;
use gcn_emu::mem::{Extent, PAGE_SIZE, Perm};
use gcn_emu::probe::{self, AccessLocation, Executed, Probe, RecordedAccess, Runs};
use gcn_isa::Target;
use gcn_isa::access::MemoryKind;
use gcn_object::CodeObject;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The size of the buffer that kernels use, and of the buffer that they store registers to, in bytes.
const DATA: u64 = 3 * PAGE_SIZE;
const DUMP: u64 = 1 << 16;
/// The maximum number of work-items.
const ITEMS: u32 = 1024;
/// The size of the kernel in dwords.
const CODE: u64 = 2048;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

/// A GPU whose kernel and engine can be replaced: addresses are the same with both engines, in every configuration of memory.
struct Board {
    gpu: Gpu,
    /// True if kernels are compiled.
    compiles: Arc<AtomicBool>,
    loaded: Loaded,
    data: u64,
    dump: u64,
}

impl Board {
    fn new(target: Target) -> Board {
        let compiles = Arc::new(AtomicBool::new(false));
        let (asked, cache) = (compiles.clone(), gcn_jit::Cache::default());
        let engine = move || -> Box<dyn Engine> {
            match asked.load(Relaxed) {
                true => {
                    let mut engine = cache.engine();
                    engine.eager(true);
                    Box::new(engine)
                }
                false => Box::new(Interp::new()),
            }
        };
        let mut gpu = Gpu::with_engine(target, 1 << 22, engine).expect("a GPU");
        let (asked, cache) = (compiles.clone(), gcn_jit::Cache::default());
        let cache = cache.without(gcn_jit::Optional::Accesses);
        gpu.set_recording_engine(move || match asked.load(Relaxed) {
            true => Box::new(cache.engine()),
            false => Box::new(Interp::new()),
        });
        let target = target.name();
        let source = format!(
            ".amdgcn_target \"amdgcn-amd-amdhsa--{target}\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n\
             .fill {CODE}, 4, 0xbf810000\n.rodata\n.p2align 6\n.amdhsa_kernel k\n\
             .amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_next_free_vgpr 24\n.amdhsa_next_free_sgpr 80\n\
             .end_amdhsa_kernel\n"
        );
        let options = gcn_asm::Options::default();
        let made = gcn_asm::assemble(&source, "k.s", &options);
        let object = made.object.expect("the template assembles");
        let bytes = object.loadable().expect("it links");
        let object = CodeObject::parse(&bytes).expect("it is read");
        let loaded = gpu.load(&object).expect("it is loaded");
        let alloc = |bytes| gpu.memory.alloc(bytes, 256, Perm::RW).expect("memory");
        let (data, dump) = (alloc(DATA), alloc(DUMP));
        Board {
            gpu,
            compiles,
            loaded,
            data,
            dump,
        }
    }

    /// Runs code on the interpreter or compiled.
    fn run(&self, compiled: bool, code: &[u8], before: &[u8], launch: &Launch) -> Ran {
        self.compiles.store(compiled, Relaxed);
        let memory = &self.gpu.memory;
        let entry = self.loaded.base + self.loaded.kernels[0].entry;
        let bytes = 4 * CODE;
        memory.protect(entry, bytes, Perm::RW).expect("mapped");
        memory.write(entry, code).expect("writable");
        memory.protect(entry, bytes, Perm::RX).expect("mapped");
        memory.write(self.data, before).expect("writable");
        let dump = vec![0; DUMP as usize];
        memory.write(self.dump, &dump).expect("writable");
        let result = self.gpu.dispatch(&self.loaded, "k", launch);
        let mut after = vec![0; (DATA + DUMP) as usize];
        let (data, dump) = after.split_at_mut(DATA as usize);
        memory.read(self.data, data).expect("readable");
        memory.read(self.dump, dump).expect("readable");
        (result.map_err(|e| e.to_string()), after)
    }
}

/// A byte that was accessed: the workgroup, the wave, the number of barriers before it, the kind, whether it is in LDS, and its address.
type Touched = (u64, usize, u32, u8, bool, u64);

/// The bytes that waves access.
#[derive(Default)]
struct Bytes {
    all: BTreeSet<Touched>,
    now: (u64, usize, u32),
}

/// Collects the recorded accesses of a run.
#[derive(Clone, Default)]
struct Collected {
    bytes: Arc<Mutex<Bytes>>,
    /// How often a dispatch was run without an observer.
    passed: Arc<AtomicU64>,
    extents: Vec<(u64, u64)>,
    lds: u64,
}

impl Collected {
    fn add(&self, kind: MemoryKind, lds: bool, at: u64, size: u8) {
        let end = at + size as u64;
        if lds && end > self.lds {
            return;
        }
        let mut bytes = self.bytes.lock().expect("no panic");
        let (group, wave, round) = bytes.now;
        bytes
            .all
            .extend((at..end).map(|at| (group, wave, round, kind as u8, lds, at)));
    }
}

impl Probe for Collected {
    fn access(&self, access: &probe::Access) -> bool {
        match access.location {
            AccessLocation::Memory(at) => self.add(access.kind, false, at, access.size),
            AccessLocation::Lds(at) => self.add(access.kind, true, at, access.size),
            _ => {}
        }
        true
    }

    fn executed(&self, _: &Executed<'_>) {}

    fn recorded(&self, access: &RecordedAccess<'_>) {
        for at in access.each() {
            self.add(access.kind, access.lds, at, access.size);
        }
    }

    fn turn(&self, wave: usize) {
        self.bytes.lock().expect("no panic").now.1 = wave;
    }

    fn released(&self, _: bool) {
        self.bytes.lock().expect("no panic").now.2 += 1;
    }
}

impl probe::AccessRecorder for Collected {
    fn runs(&self, runs: Runs) {
        let now = &mut self.bytes.lock().expect("no panic").now;
        let round = if now.0 == runs.group { now.2 } else { 0 };
        *now = (runs.group, runs.wave, round);
    }

    fn ended(&self) {}

    fn failed(&self) -> bool {
        false
    }
}

struct Quiet;

impl Observer for Quiet {
    fn before(&mut self, _: Who, _: &Scene<'_>) {}
    fn after(&mut self, _: Who, _: &Scene<'_>, _: &Stop) {}
}

impl Observe for Collected {
    fn observer(&self) -> Box<dyn Observer> {
        Box::new(Quiet)
    }

    fn screen(&self, _: &About<'_>) -> Option<Screened> {
        let own = self.clone();
        let extent = |&(start, bytes): &(u64, u64)| Extent {
            start,
            end: start + bytes,
            writable: true,
        };
        Some(Screened {
            extents: self.extents.iter().map(extent).collect(),
            recorder: Some(Arc::new(move || Box::new(own.clone()))),
            passed: None,
            again: None,
        })
    }

    fn passed(&self) {
        self.passed.fetch_add(1, Relaxed);
    }
}

impl Board {
    /// Runs code whose accesses are recorded. Returns the bytes, unless something is suspicious, such as an access beyond the end of LDS.
    fn recorded(
        &self,
        compiled: bool,
        code: &[u8],
        before: &[u8],
        launch: &Launch,
    ) -> (Ran, Option<BTreeSet<Touched>>) {
        let collected = Collected {
            extents: self.gpu.memory.extents(),
            lds: launch.dynamic_lds as u64,
            ..Collected::default()
        };
        let mut launch = launch.clone();
        launch.observers.observe = Some(Arc::new(collected.clone()));
        let ran = self.run(compiled, code, before, &launch);
        let bytes = std::mem::take(&mut *collected.bytes.lock().expect("no panic"));
        let passed = collected.passed.load(Relaxed) == 1;
        (ran, passed.then_some(bytes.all))
    }
}

/// The result of a dispatch, and memory after it.
type Ran = (Result<Stats, String>, Vec<u8>);

/// Returns how the accesses that compiled code recorded differ from those that the interpreter recorded.
fn differ(
    want: &Ran,
    interpreted: (Ran, Option<BTreeSet<Touched>>),
    compiled: (Ran, Option<BTreeSet<Touched>>),
) -> Option<String> {
    match (interpreted.1, compiled.1) {
        (None, None) => None,
        _ if interpreted.0 != *want || compiled.0 != *want => {
            Some("a run whose accesses are recorded does something else".to_owned())
        }
        (Some(a), Some(b)) if a == b => None,
        (Some(a), Some(b)) => {
            let only = |a: &BTreeSet<Touched>, b: &BTreeSet<Touched>| {
                let first = a.difference(b).next().copied();
                format!("{:x?} of {}", first, a.difference(b).count())
            };
            let (not, more) = (only(&a, &b), only(&b, &a));
            Some(format!(
                "compiled code does not record {not}, and records {more}"
            ))
        }
        (a, b) => Some(format!(
            "passed interpreted: {}, compiled: {}",
            a.is_some(),
            b.is_some()
        )),
    }
}

fn prologue(board: &Board, old: bool) -> String {
    let (lo, hi) = (board.data as u32, board.data >> 32);
    let mut text = format!("s_mov_b32 s76, s2\ns_mov_b32 s20, {lo:#x}\ns_mov_b32 s21, {hi}\n");
    text += "s_mov_b64 s[22:23], s[20:21]\ns_mov_b32 m0, -1\n";
    for k in 0..6 {
        let s = 24 + 4 * k;
        let (high, size, last) = match k {
            2 => (hi | 8 << 16, 100, 0x27fac),
            3 => (hi | 1 << 31, u32::MAX, 0x00e8_0000),
            _ => (hi, 0x3000, 0x27fac),
        };
        text += &format!(
            "s_mov_b32 s{s}, s20\ns_mov_b32 s{}, {high:#x}\ns_mov_b32 s{}, {size:#x}\ns_mov_b32 s{}, {last:#x}\n",
            s + 1,
            s + 2,
            s + 3
        );
    }
    text += "s_mov_b32 s48, 64\ns_mov_b32 s49, 12\nv_mov_b32 v22, v0\n";
    text += "v_lshlrev_b32 v16, 2, v0\nv_lshlrev_b32 v17, 3, v0\nv_lshlrev_b32 v18, 2, v0\n";
    text += "v_lshlrev_b32 v19, 2, v0\n";
    for k in 1..12 {
        text += &format!(
            "buffer_load_dword v{k}, v18, s[24:27], 0 offen offset:{}\n",
            256 * k
        );
    }
    let add = if old {
        "v_add_i32 v12, vcc, s20, v18\nv_add_i32 v14, vcc, s20, v17\n"
    } else {
        "v_add_u32 v12, vcc, s20, v18\nv_add_u32 v14, vcc, s20, v17\n"
    };
    text + add + "v_mov_b32 v13, s21\nv_mov_b32 v15, s21\ns_waitcnt vmcnt(0)\n"
}

fn epilogue(board: &Board, group: u32, old: bool) -> String {
    let add = if old { "v_add_i32" } else { "v_add_u32" };
    let mut text = format!(
        "s_mov_b64 exec, -1\ns_mov_b32 s60, {:#x}\ns_mov_b32 s61, {}\ns_mov_b32 s62, {DUMP}\ns_mov_b32 s63, 0x27fac\n\
         s_mul_i32 s76, s76, {group}\n{add} v21, vcc, s76, v22\nv_lshlrev_b32 v21, 2, v21\n",
        board.dump as u32,
        board.dump >> 32
    );
    for k in 0..12 {
        text += &format!(
            "s_mov_b32 s59, {:#x}\nbuffer_store_dword v{k}, v21, s[60:63], s59 offen\n",
            k * 4 * ITEMS
        );
    }
    for s in 0..4 {
        text += &format!(
            "v_mov_b32 v0, s{}\ns_mov_b32 s59, {:#x}\nbuffer_store_dword v0, v21, s[60:63], s59 offen\n",
            4 + 2 * s,
            (12 + s) * 4 * ITEMS
        );
    }
    text + "s_endpgm"
}

/// On gfx9, additions without a carry have the names of gfx8's additions with a carry.
fn for_target(text: &str, target: Target) -> String {
    match target.generation() {
        gcn_isa::target::Gen::Gfx9 => text.replace("v_add_u32 v", "v_add_co_u32 v"),
        _ => text.to_string(),
    }
}

fn kernels(name: &str) {
    if !gcn_jit::available() {
        eprintln!("skipped: this host cannot run compiled code");
        return;
    }
    if std::env::var("TARGET").is_ok_and(|t| t != name) {
        return;
    }
    let (first, count) = (number("SEED").unwrap_or(1), number("BLOCKS").unwrap_or(100));
    let target = Target::parse(name).expect("a target");
    let old = target.generation() <= gcn_isa::target::Gen::Gfx7;
    let board = Board::new(target);
    let mut maker = Maker::new(target);
    let mut faults = 0;
    for seed in first..first + count {
        let mut r = Rng(seed.wrapping_mul(0x1357_9bdf_0246_8ace));
        maker.tame = !r.once_in(4);
        let group = r.pick(&[64, 128, 192, 256, 100, 1, 65]);
        let groups = 1 + r.below((ITEMS / group).min(16) as u64) as u32;
        let mut pieces = maker.lines(&for_target(&prologue(&board, old), target), 0);
        for n in 0..1 + r.below(3) {
            if n > 0 {
                pieces.extend(maker.lines("s_barrier", 0));
            }
            let at = pieces.len();
            let text = |text: &str| match old {
                true => text.replace("v_add_u32", "v_add_i32"),
                false => for_target(text, target),
            };
            let body = match r.below(3) {
                0 => guarded(&mut maker, &mut r, 0, &text),
                _ => maker.body(&mut r),
            };
            pieces.extend(body.into_iter().map(|p| Piece {
                to: p.to.map(|to| to + at),
                ..p
            }));
        }
        let end = for_target(&epilogue(&board, group, old), target);
        pieces.extend(maker.lines(&end, 0));
        let before: Vec<u8> = (0..DATA / 4).flat_map(|_| r.word().to_le_bytes()).collect();
        let launch = Launch {
            grid: [groups * group, 1, 1],
            group: [group, 1, 1],
            kernarg: vec![0; 16],
            // Workgroups without LDS start in batches.
            dynamic_lds: r.pick(&[0, 4096]),
            max_instructions: Some(match r.below(6) {
                0 => 1 + r.below(3000),
                _ => 100_000,
            }),
            threads: 1,
            deterministic: true,
            ..Launch::default()
        };
        let case = |pieces: &[Piece]| Case {
            target,
            how: How::Memory,
            base: 0,
            pieces: pieces.to_vec(),
            lds: Vec::new(),
            rounds: Vec::new(),
        };
        if std::env::var("SHOW").is_ok() {
            eprintln!("{name} SEED={seed}\n{}", case(&pieces).text());
        }
        let differs = |case: &Case| {
            let (mut code, _) = case.code();
            code.resize(4 * CODE as usize, 0);
            for at in (0..code.len()).rev().step_by(4).take(4) {
                code[at - 3..=at].copy_from_slice(&0xbf81_0000u32.to_le_bytes());
            }
            // The code runs twice: the second time it is already compiled.
            let [want, got, again] =
                [false, true, true].map(|compiled| board.run(compiled, &code, &before, &launch));
            // A dispatch that is deterministic or has a limit has the same result and message with every engine.
            let same = |ran: &Ran| *ran == want;
            if same(&got) && same(&again) {
                let recorded = |compiled| board.recorded(compiled, &code, &before, &launch);
                let different = want
                    .0
                    .is_ok()
                    .then(|| differ(&want, recorded(false), recorded(true)));
                return (want.0.is_err(), different.flatten());
            }
            let other = if same(&got) { again } else { got };
            let at = (0..want.1.len()).find(|&at| want.1[at] != other.1[at]);
            let word =
                |m: &[u8], at: usize| u32::from_le_bytes([m[at], m[at + 1], m[at + 2], m[at + 3]]);
            let location = at.map(|at| at & !3).map(|at| match at as u64 {
                data if data < DATA => format!(
                    "data+{at:#x}: {:#x}, compiled {:#x}",
                    word(&want.1, at),
                    word(&other.1, at)
                ),
                dump => format!(
                    "dump of register {}, item {}: {:#x}, compiled {:#x}",
                    (dump - DATA) / 4096,
                    (dump - DATA) % 4096 / 4,
                    word(&want.1, at),
                    word(&other.1, at)
                ),
            });
            let what = format!("{:?}\ncompiled {:?}\n{location:?}", want.0, other.0);
            (true, Some(what))
        };
        let mut now = case(&pieces);
        let (failed, what) = differs(&now);
        faults += failed as u64;
        if let Some(mut what) = what {
            loop {
                let before = now.pieces.len();
                for at in (0..now.pieces.len()).rev() {
                    let less = now.without(at);
                    if let (_, Some(why)) = differs(&less) {
                        (now, what) = (less, why);
                    }
                }
                if now.pieces.len() == before {
                    break;
                }
            }
            panic!(
                "{name} SEED={seed}, {groups} groups of {group}, at most {:?}:\n{}\nof which matter:\n{}\n{what}",
                launch.max_instructions,
                case(&pieces).text(),
                now.text()
            );
        }
    }
    eprintln!("{name}: {count} kernels, {faults} of which fail");
}

#[test]
fn gfx701() {
    kernels("gfx701");
}
#[test]
fn gfx803() {
    kernels("gfx803");
}
#[test]
fn gfx900() {
    kernels("gfx900");
}
#[test]
fn gfx906() {
    kernels("gfx906");
}
#[test]
fn gfx600() {
    kernels("gfx600");
}

/// A lane that is out of a resource's range accesses nothing: neither what lies there nor what an address in the same block would be that is
/// computed from it. What is in range and not allocated is refused on both engines.
#[test]
fn lanes_out_of_range_access_nothing() {
    if !gcn_jit::available() {
        eprintln!("skipped: this host cannot run compiled code");
        return;
    }
    // The shift that makes a lane's offset, the resource's size, whether it goes well, and what is done with what was loaded.
    let far = (20, 0x3000, true, "");
    let refused = (20, 1 << 27, false, "");
    let as_address = (2, 128, true, "ds_read_b32 v5, v4\n");
    let in_range = (2, 256, false, "ds_read_b32 v5, v4\n");
    for name in ["gfx600", "gfx701", "gfx803", "gfx900"] {
        let target = Target::parse(name).expect("a target");
        let old = target.generation() <= gcn_isa::target::Gen::Gfx7;
        let board = Board::new(target);
        let mut maker = Maker::new(target);
        // The upper 32 lanes load addresses beyond the end of LDS.
        let words = (0..DATA as u32 / 4).map(|n| if n < 32 { 4 * n } else { 0x10000 });
        let before: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        for (shift, bytes, passes, then) in [far, refused, as_address, in_range] {
            let text = format!(
                "v_lshlrev_b32 v3, {shift}, v22\ns_mov_b32 s26, {bytes:#x}\n\
                 buffer_load_dword v4, v3, s[24:27], 0 offen\ns_waitcnt vmcnt(0)\n{then}s_waitcnt lgkmcnt(0)\n"
            );
            let all = [&prologue(&board, old), &text, &epilogue(&board, 64, old)];
            let pieces = all.map(|text| maker.lines(&for_target(text, target), 0));
            let mut code: Vec<u8> = (pieces.iter().flatten())
                .flat_map(|piece| piece.bytes.clone())
                .collect();
            code.resize(4 * CODE as usize, 0);
            let launch = Launch {
                grid: [64, 1, 1],
                group: [64, 1, 1],
                kernarg: vec![0; 16],
                dynamic_lds: 4096,
                max_instructions: Some(100_000),
                threads: 1,
                deterministic: true,
                ..Launch::default()
            };
            let want = board.run(false, &code, &before, &launch);
            let interpreted = board.recorded(false, &code, &before, &launch);
            assert_eq!(interpreted.1.is_some(), passes, "{name}\n{text}");
            // Twice: the second time the code is already compiled.
            for again in [false, true] {
                let compiled = board.recorded(true, &code, &before, &launch);
                let different = differ(&want, interpreted.clone(), compiled);
                assert_eq!(different, None, "{name}, again {again}\n{text}");
            }
        }
    }
}
