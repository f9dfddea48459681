//! Names that operands are written with.
