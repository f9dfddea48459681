//! Which engine runs waves.

use gcn_emu::engine::Engine;
use gcn_emu::interp::Interp;

/// An engine.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The interpreter, which is the reference.
    #[default]
    Interp,
    /// The compiling engine, where the host can run what it makes.
    Jit,
}

impl Kind {
    /// The engine that a name stands for: `interp`, `jit`.
    ///
    /// # Errors
    /// A sentence that says what was expected, or what the host lacks.
    pub fn parse(text: &str) -> Result<Kind, String> {
        match text {
            "interp" => Ok(Kind::Interp),
            "jit" if gcn_jit::available() => Ok(Kind::Jit),
            "jit" => Err(
                "this host has no AVX-512, which the jit makes code for; the engine is interp"
                    .into(),
            ),
            _ => Err("expected interp or jit".into()),
        }
    }

    /// One for a host thread.
    pub fn engine(self) -> Box<dyn Engine> {
        match self {
            Kind::Interp => Box::new(Interp::new()),
            Kind::Jit => Box::new(gcn_jit::Jit::new()),
        }
    }

    /// What makes the engines of a GPU's dispatches.
    pub fn maker(self) -> impl Fn() -> Box<dyn Engine> + Send + Sync + 'static {
        let cache = gcn_jit::Cache::default();
        move || match self {
            Kind::Interp => Box::new(Interp::new()),
            Kind::Jit => Box::new(cache.engine()),
        }
    }
}
