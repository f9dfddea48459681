//! Registers as GDB sees them.
//!
//! GDB of most distributions does not support AMD GPUs, but a target may describe its own registers on top of an architecture
//! that GDB supports. We use x86-64: its instructions may have 8 and 12 bytes and begin anywhere, GDB leaves steps to the target,
//! and its register names do not hide ours. (RISC-V is stepped by breakpoints after the instruction, which GDB decodes itself;
//! instructions of AArch64 all have 4 bytes.) GDB requires `rax` and so on, which a wave does not have: they read as 0. `rip` is
//! the PC. GDB gets the scalar registers in one packet, and VGPRs one by one.
//!
//! The calls that a wave is in appear to GDB as a stack of return addresses, to which `rsp` points. The stack is not in guest
//! memory: [`stack`] computes it from the session's record of the calls.

use std::fmt::Write as _;

use gcn_isa::Target;

use crate::calls::Frame;
use crate::expr::{Expr, little};
use crate::session::{Error, Session, WaveId};
use crate::state::ValueLocation;

/// A register.
pub struct Register {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: usize,
    /// GDB's type.
    kind: &'static str,
    holds: Holds,
}

/// The value of a register.
#[derive(PartialEq, Eq)]
enum Holds {
    /// The session's expression for it.
    Value(String),
    /// A register of x86, which a wave does not have.
    Nothing,
    /// `rsp`.
    Stack,
}

/// All registers, by the protocol's numbers.
pub struct Registers {
    all: Vec<Register>,
    /// The number of the PC.
    pub pc: usize,
    /// The number of the last register of x86.
    last_base: usize,
    /// The number of the first VGPR: those before it are read together.
    first_vgpr: usize,
}

const VGPRS: usize = 256;

/// The first registers of x86-64.
const GENERAL: [&str; 16] = [
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
    "r14", "r15",
];

/// The last registers of x86-64 that GDB demands.
const X87: [&str; 8] = [
    "fctrl", "fstat", "ftag", "fiseg", "fioff", "foseg", "fooff", "fop",
];

/// Registers with names, each with true if it has 64 bits.
const NAMED: [(&str, bool); 9] = [
    ("exec", true),
    ("vcc", true),
    ("m0", false),
    ("scc", false),
    ("mode", false),
    ("status", false),
    ("trapsts", false),
    ("flat_scratch", true),
    ("xnack_mask", true),
];

impl Registers {
    /// The registers of a target.
    pub fn of(target: Target) -> Registers {
        let known = |name: &str| Expr::parse(name, target).is_ok();
        let mut all = Vec::new();
        let mut add = |name: &str, bytes: usize, kind: &'static str, holds: Holds| {
            all.push(Register {
                name: name.to_owned(),
                bytes,
                kind,
                holds,
            });
            all.len()
        };
        for name in GENERAL {
            add(
                name,
                8,
                "int64",
                if name == "rsp" {
                    Holds::Stack
                } else {
                    Holds::Nothing
                },
            );
        }
        let pc = add("rip", 8, "code_ptr", Holds::Value("pc".into())) - 1;
        for name in ["eflags", "cs", "ss", "ds", "es", "fs", "gs"] {
            add(name, 4, "int", Holds::Nothing);
        }
        for n in 0..8 {
            add(&format!("st{n}"), 10, "i387_ext", Holds::Nothing);
        }
        let mut last_base = 0;
        for name in X87 {
            last_base = add(name, 4, "int", Holds::Nothing) - 1;
        }
        let own = |name: &str| Holds::Value(name.to_owned());
        for (name, wide) in NAMED.into_iter().filter(|(name, _)| known(name)) {
            let (bytes, kind) = if wide { (8, "uint64") } else { (4, "uint32") };
            add(name, bytes, kind, own(name));
        }
        let sgprs = (0..104).map(|n| format!("s{n}"));
        let ttmps = (0..16).map(|n| format!("ttmp{n}"));
        for name in sgprs.chain(ttmps).filter(|name| known(name)) {
            add(&name, 4, "uint32", own(&name));
        }
        let first_vgpr = add("v0", 256, "lanes", own("v0")) - 1;
        for name in (1..VGPRS).map(|n| format!("v{n}")) {
            add(&name, 256, "lanes", own(&name));
        }
        Registers {
            all,
            pc,
            last_base,
            first_vgpr,
        }
    }

    /// A register by its number.
    pub fn get(&self, number: usize) -> Option<&Register> {
        self.all.get(number)
    }

    /// The registers that are read together.
    pub fn scalars(&self) -> &[Register] {
        &self.all[..self.first_vgpr]
    }

    /// The target description.
    pub fn description(&self) -> String {
        let mut text = String::from(
            "<?xml version=\"1.0\"?>\n<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n<target version=\"1.0\">\n\
             <architecture>i386:x86-64</architecture>\n<feature name=\"org.gnu.gdb.i386.core\">\n",
        );
        for (number, register) in self.all.iter().enumerate() {
            if number == self.last_base + 1 {
                text.push_str("</feature>\n<feature name=\"gcn.wave\">\n<vector id=\"lanes\" type=\"uint32\" count=\"64\"/>\n");
            }
            let group = match register.holds {
                Holds::Value(_) if register.kind == "lanes" => "vector",
                Holds::Value(_) => "general",
                _ => "system",
            };
            // For LLDB, which does not support vector types.
            let format = match register.kind {
                "lanes" => " encoding=\"vector\" format=\"vector-uint32\"",
                _ => "",
            };
            let _ = writeln!(
                text,
                "<reg name=\"{}\" bitsize=\"{}\" type=\"{}\" group=\"{group}\" regnum=\"{number}\"{format}/>",
                register.name,
                8 * register.bytes,
                register.kind
            );
        }
        text.push_str("</feature>\n</target>\n");
        text
    }
}

/// The bits of an address of a thread's stack; the others are the thread's number, from bit 16, and the location in the stack.
const STACK: u64 = 0x7f00 << 48;
/// The end of a stack.
const TOP: u64 = 0x8000;

/// GDB takes the frame without a base for the outermost one, and its base is eight bytes below `rsp`. The stack of a wave in few
/// calls therefore ends at this address. With a lower end the addresses would have no room, and GDB would show a frame at address
/// 0 after the outermost one.
const LAST: u64 = 8;
const FEW: usize = 2;

/// The address of the innermost word of a stack: `rsp`.
fn innermost(frames: &[Frame], thread: u32) -> u64 {
    let bytes = 8 * frames.len() as u64;
    match frames.len() <= FEW {
        true => LAST.wrapping_sub(bytes),
        false => (STACK | (thread as u64) << 16 | TOP) - bytes.min(TOP),
    }
}

/// The thread whose stack contains an address. `current` is the thread of the request, in which `frames` calls have not returned.
pub fn stack_of(address: u64, current: u32, frames: usize) -> Option<u32> {
    let below = LAST.wrapping_sub(address);
    if (1..=8 * FEW.min(frames) as u64).contains(&below) {
        return Some(current);
    }
    (address >> 48 << 48 == STACK).then_some((address >> 16) as u32)
}

/// The word of a stack of return addresses at an address.
pub fn stack(frames: &[Frame], address: u64) -> u64 {
    let top = match address >> 48 << 48 == STACK {
        true => address & !0xffff | TOP,
        false => LAST,
    };
    let from_top = top.wrapping_sub(address & !7);
    let n = usize::try_from(from_top / 8).ok();
    let frame = n.and_then(|n| frames.get(n.checked_sub(1)?));
    frame.map_or(0, |frame| frame.returns_to)
}

impl Register {
    fn expr(&self, session: &Session) -> Result<Expr, Error> {
        match &self.holds {
            Holds::Value(text) => Expr::parse(text, session.target()),
            _ => Err(format!("{} is no register of a wave", self.name).into()),
        }
    }

    /// The register's bytes in a wave.
    ///
    /// # Errors
    /// A message: the wave has no such register.
    pub fn read(&self, session: &Session, wave: WaveId, thread: u32) -> Result<Vec<u8>, Error> {
        let mut bytes = match &self.holds {
            Holds::Nothing => Vec::new(),
            Holds::Stack => {
                let at = innermost(session.frames(wave), thread);
                at.to_le_bytes().to_vec()
            }
            Holds::Value(_) => {
                let expr = self.expr(session)?;
                match session.location_of(&expr, Some(wave)) {
                    Ok((location, _)) => session.read(location)?,
                    // Some registers can only be read.
                    Err(_) => {
                        let value = session.eval_expr(&expr, Some(wave))?;
                        value.bits().to_le_bytes().to_vec()
                    }
                }
            }
        };
        bytes.resize(self.bytes, 0);
        Ok(bytes)
    }

    /// Changes the register in a wave.
    ///
    /// # Errors
    /// A message: the register cannot be changed, or the wave does not have it.
    pub fn write(&self, session: &mut Session, wave: WaveId, bytes: &[u8]) -> Result<(), Error> {
        if bytes.len() != self.bytes {
            return Err(format!("{} has {} bytes", self.name, self.bytes).into());
        }
        let (location, _) = session.location_of(&self.expr(session)?, Some(wave))?;
        match location {
            ValueLocation::Scc(_) => session.write(location, &[(little(bytes) != 0) as u8]),
            _ => session.write(location, bytes),
        }
    }
}
