//! What the waves of a dispatch share beside memory.

/// The global data share and the resources of global wave sync.
#[derive(Debug, Default)]
pub struct Global {}
