//! Which engine runs waves.

use gcn_emu::engine::Engine;
use gcn_emu::interp::Interp;

/// An engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The interpreter, which is the reference.
    Interp,
    /// The compiling engine, where the host can run what it makes.
    #[cfg(target_arch = "x86_64")]
    Jit,
}

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
        if gcn_jit::available() {
            return Some(Kind::Jit);
        }
        None
    }

    /// The engine that a name stands for: `interp`, `jit`.
    ///
    /// # Errors
    /// A sentence that says what was expected, or what the host lacks.
    pub fn parse(text: &str) -> Result<Kind, String> {
        match text {
            "interp" => Ok(Kind::Interp),
            "jit" => Kind::jit().ok_or_else(|| {
                "this host has no AVX-512, which the jit makes code for; the engine is interp"
                    .into()
            }),
            _ => Err("expected interp or jit".into()),
        }
    }

    /// One for a host thread.
    pub fn engine(self) -> Box<dyn Engine> {
        match self {
            Kind::Interp => Box::new(Interp::new()),
            #[cfg(target_arch = "x86_64")]
            Kind::Jit => Box::new(gcn_jit::Jit::new()),
        }
    }

    /// What makes the engines of a GPU's dispatches.
    pub fn maker(self) -> impl Fn() -> Box<dyn Engine> + Send + Sync + 'static {
        #[cfg(target_arch = "x86_64")]
        let cache = gcn_jit::Cache::default();
        move || match self {
            Kind::Interp => Box::new(Interp::new()),
            #[cfg(target_arch = "x86_64")]
            Kind::Jit => Box::new(cache.engine()),
        }
    }
}
