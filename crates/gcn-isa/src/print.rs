//! Instructions to text.
