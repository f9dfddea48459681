//! Kernels from their source, and what they do to buffers of memory on one engine or the other.
#![allow(dead_code)]

use gcn_emu::dispatch::{Gpu, Launch};
use gcn_emu::engine::Engine;
use gcn_emu::interp::Interp;
use gcn_emu::mem::Perm;
use gcn_isa::Target;
use gcn_jit::{Cache, Level};
use gcn_object::CodeObject;

/// Returns the number that an environment variable gives, or the usual one.
pub fn setting(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => usual,
    }
}

/// Random numbers.
pub struct Rng(u64);

impl Rng {
    pub fn seeded(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    pub fn of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }
}

/// A kernel for gfx900, and a launch of it. Its argument is the addresses of the buffers, one after the other.
pub struct Kernel {
    /// The whole source.
    pub source: String,
    /// What the buffers have at first.
    pub buffers: Vec<Vec<u8>>,
    /// The memory before each buffer, which may be accessed too, in bytes.
    pub before: u32,
    /// The work-items, and those of a workgroup.
    pub items: u32,
    pub group: u32,
}

/// What a kernel has done.
pub struct Outcome {
    /// The buffers with what is before them, one after the other.
    pub memory: Vec<u8>,
    /// The instructions that waves executed in the last launch.
    pub instructions: u64,
    pub fault: Option<String>,
}

impl Kernel {
    /// Creates a kernel of one wave a workgroup. It may use 40 registers of each kind; `lds` is the size of its LDS in bytes.
    pub fn new(body: &str, lds: u32) -> Kernel {
        let source = format!(
            ".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n{body}\n\
             .rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\
             .amdhsa_next_free_vgpr 40\n.amdhsa_next_free_sgpr 40\n.amdhsa_group_segment_fixed_size {lds}\n.end_amdhsa_kernel\n"
        );
        Kernel {
            source,
            buffers: Vec::new(),
            before: 0,
            items: 192,
            group: 64,
        }
    }

    /// Launches the kernel twice: the second time, the code is compiled, and what it does is known.
    pub fn run(&self, engine: impl Fn() -> Box<dyn Engine> + Send + Sync + 'static) -> Outcome {
        let source = &self.source;
        let made = gcn_asm::assemble(source, "k.s", &gcn_asm::Options::default());
        let object = made
            .object
            .unwrap_or_else(|| panic!("{:?} {source}", made.diagnostics));
        let code = object.loadable().expect("it links");
        let target = Target::parse("gfx900").expect("a target");
        let gpu = Gpu::with_engine(target, 1 << 22, engine).expect("a GPU");
        let object = CodeObject::parse(&code).expect("it is read");
        let loaded = gpu.load(&object).expect("it is loaded");
        let mut kernarg = Vec::new();
        let mut places = Vec::new();
        for data in &self.buffers {
            let whole = data.len() + self.before as usize;
            let from = (gpu.memory.alloc(whole as u64, 4096, Perm::RW)).expect("memory");
            let at = from + self.before as u64;
            gpu.memory.write(at, data).expect("writable");
            kernarg.extend(at.to_le_bytes());
            places.push((from, whole));
        }
        let launch = Launch {
            grid: [self.items, 1, 1],
            group: [self.group, 1, 1],
            kernarg,
            threads: 1,
            ..Launch::default()
        };
        let (mut fault, mut instructions) = (None, 0);
        for _ in 0..2 {
            match gpu.dispatch(&loaded, "k", &launch) {
                Ok(ran) => instructions = ran.instructions,
                Err(e) => fault = fault.or(Some(e.to_string())),
            }
        }
        let mut memory = Vec::new();
        for (from, whole) in places {
            let mut after = vec![0; whole];
            gpu.memory.read(from, &mut after).expect("readable");
            memory.append(&mut after);
        }
        Outcome {
            memory,
            instructions,
            fault,
        }
    }

    /// Runs the kernel on the interpreter and at all levels that the host has, which must agree. `eager` engines take what is usually chosen by
    /// times. Returns the fault's message.
    pub fn check(&self, eager: bool) -> Option<String> {
        let want = self.run(|| Box::new(Interp::new()));
        for level in Level::ALL.into_iter().filter(|l| l.available()) {
            let cache = Cache::with_level(level);
            let engine = move || -> Box<dyn Engine> {
                let mut engine = cache.engine();
                engine.eager(eager);
                Box::new(engine)
            };
            let got = self.run(engine);
            let source = &self.source;
            assert_eq!(got.fault, want.fault, "{level:?}: {source}");
            let at = (0..want.memory.len()).find(|&at| want.memory[at] != got.memory[at]);
            assert_eq!(at, None, "{level:?}: the byte that differs\n{source}");
            assert_eq!(
                got.instructions, want.instructions,
                "{level:?}: executed instructions\n{source}"
            );
        }
        want.fault
    }
}
