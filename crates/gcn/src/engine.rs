//! Which engine runs waves.

use gcn_emu::engine::Engine;
use gcn_emu::interp::Interp;

/// An engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The interpreter, which is the reference.
    Interp,
    /// The compiling engine, which makes code that the host can run.
    #[cfg(target_arch = "x86_64")]
    Jit(gcn_jit::Level),
}

/// The levels of the compiling engine, by name: what instructions of the host its code may use.
pub const LEVELS: [&str; 2] = ["avx2", "avx512"];

/// The compiling engine where the host can run what it makes, else the interpreter.
impl Default for Kind {
    fn default() -> Kind {
        Kind::jit().unwrap_or(Kind::Interp)
    }
}

impl Kind {
    /// The compiling engine, if the host can run what it makes.
    pub fn jit() -> Option<Kind> {
        #[cfg(target_arch = "x86_64")]
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
    /// A sentence that says what the host lacks, or that there is no such level.
    pub fn jit_level(name: &str) -> Result<Kind, String> {
        #[cfg(target_arch = "x86_64")]
        if let Some(level) = gcn_jit::Level::parse(name)
            && level.available()
        {
            return Ok(Kind::Jit(level));
        }
        if !LEVELS.contains(&name) {
            return Err(format!("expected {}", LEVELS.join(" or ")));
        }
        Err(format!("this host does not run {name} code"))
    }

    /// The engine that a name stands for: `interp`, `jit`.
    ///
    /// # Errors
    /// A sentence that says what was expected, or what the host lacks.
    pub fn parse(text: &str) -> Result<Kind, String> {
        match text {
            "interp" => Ok(Kind::Interp),
            "jit" => Kind::jit().ok_or_else(|| {
                "this host has no AVX2, which the jit needs at least; the engine is interp".into()
            }),
            _ => Err("expected interp or jit".into()),
        }
    }

    /// One for a host thread.
    pub fn engine(self) -> Box<dyn Engine> {
        match self {
            Kind::Interp => Box::new(Interp::new()),
            #[cfg(target_arch = "x86_64")]
            Kind::Jit(level) => Box::new(gcn_jit::Jit::with_level(level)),
        }
    }

    /// What makes the engines of a GPU's dispatches.
    pub fn maker(self) -> impl Fn() -> Box<dyn Engine> + Send + Sync + 'static {
        #[cfg(target_arch = "x86_64")]
        let cache = match self {
            Kind::Interp => gcn_jit::Cache::default(),
            Kind::Jit(level) => gcn_jit::Cache::with_level(level),
        };
        move || match self {
            Kind::Interp => Box::new(Interp::new()),
            #[cfg(target_arch = "x86_64")]
            Kind::Jit(_) => Box::new(cache.engine()),
        }
    }
}
