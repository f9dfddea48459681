//! `gcn run --dump-jit`: prints compiled code with its GCN code.

#[cfg(all(feature = "jit", target_arch = "x86_64"))]
mod x64;

use gcn::engine::Engines;
use gcn::object::CodeObject;
use serde_json::Value as Json;

/// The objects that ran, each with the offset added to its addresses.
pub type Objects<'a> = &'a [(&'a CodeObject, u64)];

/// All code that the engines compiled, as text. `None` if their kind does not compile.
pub fn text(engines: &Engines, objects: Objects<'_>) -> Option<String> {
    #[cfg(all(feature = "jit", target_arch = "x86_64"))]
    return engines.report().map(|report| x64::text(&report, objects));
    #[cfg(not(all(feature = "jit", target_arch = "x86_64")))]
    {
        let _ = (engines, objects);
        None
    }
}

/// All code that the engines compiled, as JSON. `None` if their kind does not compile.
pub fn json(engines: &Engines, objects: Objects<'_>) -> Option<Json> {
    #[cfg(all(feature = "jit", target_arch = "x86_64"))]
    return engines.report().map(|report| x64::json(&report, objects));
    #[cfg(not(all(feature = "jit", target_arch = "x86_64")))]
    {
        let _ = (engines, objects);
        None
    }
}
