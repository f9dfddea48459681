//! The engines that run waves.

use gcn_emu::engine::Engine;
use gcn_emu::interp::Interp;

/// An engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The interpreter, which is the reference.
    Interp,
    /// The compiling engine, which compiles waves' code for the host.
    #[cfg(all(feature = "jit", target_arch = "x86_64"))]
    Jit(gcn_jit::Level),
}

/// The levels of the compiling engine: the instruction sets that its code may use.
pub const LEVELS: [&str; 2] = ["avx2", "avx512"];

/// True if the compiling engine is part of this build.
const COMPILES: bool = cfg!(all(feature = "jit", target_arch = "x86_64"));

const NO_COMPILER: &str =
    "this build has no jit (the feature `jit`, on x86-64); the engine is interp";

/// The compiling engine if the host can run its code, otherwise the interpreter.
impl Default for Kind {
    fn default() -> Kind {
        Kind::jit().unwrap_or(Kind::Interp)
    }
}

impl Kind {
    /// The compiling engine, if the host can run its code.
    pub fn jit() -> Option<Kind> {
        #[cfg(all(feature = "jit", target_arch = "x86_64"))]
        if let Some(level) = gcn_jit::Level::best() {
            return Some(Kind::Jit(level));
        }
        None
    }

    /// The compiling engine at each level that the host has.
    pub fn jits() -> Vec<Kind> {
        let levels = LEVELS.into_iter();
        levels.filter_map(|l| Kind::jit_level(l).ok()).collect()
    }

    /// The compiling engine at one of the [`LEVELS`].
    ///
    /// # Errors
    /// A message if the host does not support the level, or it does not exist.
    pub fn jit_level(name: &str) -> Result<Kind, String> {
        #[cfg(all(feature = "jit", target_arch = "x86_64"))]
        if let Some(level) = gcn_jit::Level::parse(name)
            && level.available()
        {
            return Ok(Kind::Jit(level));
        }
        if !LEVELS.contains(&name) {
            return Err(format!("expected {}", LEVELS.join(" or ")));
        }
        Err(match COMPILES {
            true => format!("this host does not run {name} code"),
            false => NO_COMPILER.into(),
        })
    }

    /// Parses the name of an engine: `interp`, `jit`.
    ///
    /// # Errors
    /// A message with the expected names, or with the feature that the host lacks.
    pub fn parse(text: &str) -> Result<Kind, String> {
        match text {
            "interp" => Ok(Kind::Interp),
            "jit" => Kind::jit().ok_or_else(|| match COMPILES {
                true => "this host has no AVX2, which the jit needs at least; the engine is interp"
                    .into(),
                false => NO_COMPILER.into(),
            }),
            _ => Err("expected interp or jit".into()),
        }
    }

    /// An engine for a host thread.
    pub fn engine(self) -> Box<dyn Engine> {
        match self {
            Kind::Interp => Box::new(Interp::new()),
            #[cfg(all(feature = "jit", target_arch = "x86_64"))]
            Kind::Jit(level) => Box::new(gcn_jit::Jit::with_level(level)),
        }
    }

    /// The cache that engines of this kind share.
    #[cfg(all(feature = "jit", target_arch = "x86_64"))]
    fn cache(self) -> gcn_jit::Cache {
        match self {
            Kind::Interp => gcn_jit::Cache::default(),
            Kind::Jit(level) => gcn_jit::Cache::with_level(level),
        }
    }

    /// Creates the engines of a GPU's dispatches.
    pub fn maker(self) -> impl Fn() -> Box<dyn Engine> + Send + Sync + 'static {
        let engines = Engines::new(self);
        move || engines.engine()
    }
}

/// The names of the compiler's passes, in order.
pub fn pass_names() -> Vec<&'static str> {
    #[cfg(all(feature = "jit", target_arch = "x86_64"))]
    return gcn_jit::pass_names().collect();
    #[cfg(not(all(feature = "jit", target_arch = "x86_64")))]
    Vec::new()
}

/// The names of the compiler's optional optimisations.
pub fn optional_passes() -> Vec<&'static str> {
    #[cfg(all(feature = "jit", target_arch = "x86_64"))]
    return gcn_jit::Optional::ALL.map(gcn_jit::Optional::name).into();
    #[cfg(not(all(feature = "jit", target_arch = "x86_64")))]
    Vec::new()
}

/// Engines of a kind, and the state that they share.
#[derive(Clone)]
pub struct Engines {
    kind: Kind,
    #[cfg(all(feature = "jit", target_arch = "x86_64"))]
    cache: gcn_jit::Cache,
}

impl Default for Engines {
    fn default() -> Engines {
        Engines::new(Kind::default())
    }
}

/// The host's time stamp counter, if it has one that can be read cheaply; otherwise 0.
pub fn ticks() -> u64 {
    #[cfg(all(feature = "jit", target_arch = "x86_64"))]
    return gcn_jit::ticks();
    #[cfg(not(all(feature = "jit", target_arch = "x86_64")))]
    0
}

/// Counts of a sequence of consecutive instructions.
pub struct Stretch {
    /// The address of the first instruction.
    pub start: u64,
    /// The address after the last instruction.
    pub end: u64,
    /// The number of instructions; 0 if the ticks belong to the code after it.
    pub instructions: u32,
    /// The number of executions by a wave.
    pub times: u64,
    /// Active lanes, summed over all executions.
    pub lanes: u64,
    /// Its ticks of the host's time stamp counter.
    pub ticks: u64,
    /// True for compiled code.
    pub compiled: bool,
}

impl Engines {
    /// Engines without compiled code.
    pub fn new(kind: Kind) -> Engines {
        Engines {
            kind,
            #[cfg(all(feature = "jit", target_arch = "x86_64"))]
            cache: kind.cache(),
        }
    }

    /// Engines whose code has counters for [`Engines::counted`], if their kind compiles.
    pub fn counting(kind: Kind) -> Engines {
        Engines {
            kind,
            #[cfg(all(feature = "jit", target_arch = "x86_64"))]
            cache: kind.cache().counting(),
        }
    }

    /// The same engines, which store the IR after a pass for [`Engines::dump_ir`].
    #[must_use]
    pub fn dumping_ir(self, pass: &str) -> Engines {
        #[cfg(all(feature = "jit", target_arch = "x86_64"))]
        return Engines {
            cache: self.cache.dumping(pass),
            ..self
        };
        #[cfg(not(all(feature = "jit", target_arch = "x86_64")))]
        {
            let _ = pass;
            self
        }
    }

    /// The same engines without an optimisation: one of [`optional_passes`].
    ///
    /// # Errors
    /// A sentence with the expected names.
    pub fn without(self, pass: &str) -> Result<Engines, String> {
        #[cfg(all(feature = "jit", target_arch = "x86_64"))]
        return Ok(Engines {
            cache: self.cache.without(gcn_jit::Optional::parse(pass)?),
            ..self
        });
        #[cfg(not(all(feature = "jit", target_arch = "x86_64")))]
        Err(format!("{pass}: {NO_COMPILER}"))
    }

    /// The IR of the compiled code, as text.
    pub fn dump_ir(&self) -> String {
        #[cfg(all(feature = "jit", target_arch = "x86_64"))]
        return self.cache.dump();
        #[cfg(not(all(feature = "jit", target_arch = "x86_64")))]
        String::new()
    }

    /// Returns true if they compile.
    pub fn compile(&self) -> bool {
        self.kind != Kind::Interp
    }

    /// An engine for a host thread.
    pub fn engine(&self) -> Box<dyn Engine> {
        match self.kind {
            Kind::Interp => Box::new(Interp::new()),
            #[cfg(all(feature = "jit", target_arch = "x86_64"))]
            Kind::Jit(_) => Box::new(self.cache.engine()),
        }
    }

    /// Engines for runs whose memory accesses are recorded ([`gcn_emu::dispatch::Gpu::set_recording_engine`]).
    #[must_use]
    pub fn recording(self) -> Engines {
        #[cfg(all(feature = "jit", target_arch = "x86_64"))]
        return Engines {
            cache: self.cache.without(gcn_jit::Optional::Accesses),
            ..self
        };
        #[cfg(not(all(feature = "jit", target_arch = "x86_64")))]
        self
    }

    /// An engine that stops at a debugger's addresses ([`Engine::stop_at`]). `None` if their kind does not compile.
    pub fn debugging(&self) -> Option<Box<dyn Engine>> {
        self.compile().then(|| self.kind.engine())
    }

    /// The counts of every sequence of code that ran, and the ticks that counting adds to each execution. `None` if their kind
    /// does not compile.
    pub fn counted(&self) -> Option<(Vec<Stretch>, u64)> {
        #[cfg(all(feature = "jit", target_arch = "x86_64"))]
        if self.compile() {
            let report = self.cache.report();
            let stretch = |start, end, instructions, tally: &gcn_jit::Tally, compiled| Stretch {
                start,
                end,
                instructions,
                times: tally.times,
                lanes: tally.lanes,
                ticks: tally.ticks,
                compiled,
            };
            let pieces = report.regions.iter().flat_map(|u| &u.pieces);
            let pieces = pieces.filter(|p| p.tally.times > 0);
            let pieces = pieces.map(|p| stretch(p.start, p.end, p.instructions, &p.tally, true));
            let single = report.interpreted.iter();
            let single = single.map(|(&pc, tally)| stretch(pc, pc + 4, 1, tally, false));
            return Some((pieces.chain(single).collect(), gcn_jit::tick_cost()));
        }
        None
    }

    /// A line about the compiled code. `None` if their kind does not compile.
    pub fn compiled(&self) -> Option<String> {
        #[cfg(all(feature = "jit", target_arch = "x86_64"))]
        if self.compile() {
            let s = self.cache.stats();
            let mistakes = match s.mistakes {
                0 => String::new(),
                n => format!(", {n} of them by a mistake of the compiler: please report it"),
            };
            let slow = match s.slow_calls {
                0 => String::new(),
                n => format!("; slow paths were called {n} times, for 16 lanes each"),
            };
            let interpreted = match s.interpreted {
                0 => String::new(),
                n => format!("; {n} of {} instructions were interpreted", s.executed),
            };
            let restarts = match s.restarts {
                0 => String::new(),
                n => format!("; blocks were executed again {n} times"),
            };
            return Some(format!(
                "compiled: {} regions of {} instructions to {} bytes in {:.3} ms; {} \
                 refused{mistakes}{slow}{interpreted}{restarts}\n",
                s.regions,
                s.insns,
                s.bytes,
                s.compiling.as_secs_f64() * 1e3,
                s.refused,
            ));
        }
        None
    }

    /// The compiled code. `None` if their kind does not compile.
    #[cfg(all(feature = "jit", target_arch = "x86_64"))]
    pub fn report(&self) -> Option<gcn_jit::Report> {
        self.compile().then(|| self.cache.report())
    }
}
