//! Operands to bits.
