//! The parts of the command `gcn` in addition to its subcommands: texts that the library does not provide.
//!
//! They are a library so that tests can read them without running the command.

#![forbid(unsafe_code)]

pub mod demo;
pub mod dump;
pub mod manual;
pub mod meaning_text;
pub mod web;
