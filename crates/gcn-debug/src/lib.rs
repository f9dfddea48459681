//! A debugger's session over the launches of a plan, without a user interface.
//!
//! A [`Session`] runs the launches of a [`gcn::plan::Plan`] instruction by instruction, on one thread and in the order of `gcn
//! run --deterministic --engine interp`, with the same results. It stops before an instruction at a breakpoint, after one at a
//! watchpoint ([`stops`]), and after each step ([`motion`]). It can return to any past moment: it keeps copies of the machine at
//! growing distances and runs from there ([`history`]). Every motion has its reverse, and [`Session::who`] finds the last
//! instruction that wrote a register or a byte.
//!
//! Front ends hold a session, call its methods and show the results. [`commands`] is the text front end: one command per line,
//! its output as a string. Nothing here prints.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/kernels/vadd-gfx900.co");
//! use gcn_debug::{Options, Reason, Session};
//!
//! # let object = gcn::io::code_object(path.as_ref(), None, None)?;
//! # let args = ["buf:randf32:256:1", "buf:randf32:256:2", "buf:zero:256", "u32:64"];
//! # let args = args.into_iter().map(gcn::run::parse_arg).collect::<Result<Vec<_>, _>>()?;
//! let plan = gcn::run::plan(
//!     object,
//!     gcn::run::Request {
//!         kernel: Some("vadd"),
//!         grid: [64, 1, 1],
//!         group: [64, 1, 1],
//! #       args,
//!         // …
//! #       offset: [0; 3], dynamic_lds: 0, any_type: false, outs: Vec::new(), repeat: 0,
//!     },
//! )?;
//! let mut session = Session::new(plan, Options::default())?;
//! session.break_at("vadd+0x10", None)?;
//! let stop = session.resume()?;
//! assert!(matches!(stop.reason, Reason::Breakpoint { .. }));
//! assert_eq!(session.eval("exec == ~0")?.to_string(), "1");
//! session.reverse_step()?;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

pub mod calls;
pub mod code;
pub mod commands;
pub mod dap;
pub mod expr;
pub mod gdb;
pub mod history;
mod interrupts;
pub mod motion;
pub mod program;
pub mod session;
pub mod state;
pub mod stops;
#[cfg(feature = "terminal")]
pub mod terminal;
mod threads;
pub mod writer;

pub use motion::{Reason, Stop};
pub use program::{Arrival, Program, ProgramLaunch};
pub use session::{Error, Moment, Options, Session, Status, WaveId};
pub use state::{ValueLocation, WaveView};
pub use stops::{Breakpoint, Report, Watchpoint};
pub use writer::Writer;
