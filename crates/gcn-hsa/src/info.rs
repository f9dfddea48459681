//! The properties of the runtime, in the form of ROCm's rocminfo: the system, the agents, their memory pools and
//! instruction set.
//!
//! They are read through the functions that programs call.

use crate::agent::{agents, hsa_agent_get_info, hsa_isa_get_info_alt, hsa_system_get_info, isas};
use crate::memory::{hsa_amd_memory_pool_get_info, pools};
use crate::runtime::hsa_init;
use crate::status::Status;
use crate::types::Handle;
use std::ffi::c_void;
use std::fmt::Write;

/// The value of an attribute, read from the bytes that the runtime wrote.
trait Attribute {
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! numbers {
    ($($ty:ty)*) => { $(
        impl Attribute for $ty {
            fn read(bytes: &[u8]) -> $ty {
                bytes.first_chunk().map_or(0, |bytes| <$ty>::from_ne_bytes(*bytes))
            }
        }
    )* };
}

numbers!(u8 u16 u32 u64 usize);

impl Attribute for bool {
    fn read(bytes: &[u8]) -> bool {
        u8::read(bytes) != 0
    }
}

impl<T: Attribute, const N: usize> Attribute for [T; N] {
    fn read(bytes: &[u8]) -> [T; N] {
        std::array::from_fn(|n| T::read(bytes.get(n * size_of::<T>()..).unwrap_or_default()))
    }
}

/// The maximum size of an attribute in bytes.
const ROOM: usize = 256;

fn ask<T: Attribute>(what: &str, get: impl Fn(*mut c_void) -> u32) -> Result<T, String> {
    let mut room = [0u8; ROOM];
    match get(room.as_mut_ptr().cast()) {
        0 => Ok(T::read(&room)),
        status => Err(format!("{what}: status {status:#x}")),
    }
}

fn text(what: &str, get: impl Fn(*mut c_void) -> u32) -> Result<String, String> {
    let bytes: [u8; 64] = ask(what, get)?;
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

fn line(out: &mut String, depth: usize, name: &str, value: impl std::fmt::Display) {
    let name = format!("{:1$}{name}:", "", 2 * depth);
    let _ = writeln!(out, "{name:<35}{value}");
}

fn title(out: &mut String, text: &str, mark: char) {
    let bar = mark.to_string().repeat(text.len().max(7));
    let _ = writeln!(out, "{bar}\n{text}\n{bar}");
}

fn yes(value: bool) -> &'static str {
    if value { "TRUE" } else { "FALSE" }
}

fn pool(out: &mut String, number: usize, pool: Handle) -> Result<(), String> {
    let get = |attribute: u32| {
        move |to: *mut c_void| {
            // SAFETY: `ask` passes `ROOM` bytes; no attribute is larger.
            unsafe { hsa_amd_memory_pool_get_info(pool, attribute, to) }
        }
    };
    let segment: u32 = ask("a pool's segment", get(0))?;
    let flags: u32 = ask("a pool's flags", get(1))?;
    let bytes: usize = ask("a pool's size", get(2))?;
    let allocates: bool = ask("whether a pool allocates", get(5))?;
    let granule: usize = ask("a pool's granule", get(6))?;
    let alignment: usize = ask("a pool's alignment", get(7))?;
    let shared: bool = ask("who reaches a pool", get(15))?;
    let kind = match (segment, flags) {
        (0, f) if f & 1 != 0 => "GLOBAL; FLAGS: KERNARG, FINE GRAINED",
        (0, f) if f & 2 != 0 => "GLOBAL; FLAGS: FINE GRAINED",
        (0, _) => "GLOBAL; FLAGS: COARSE GRAINED",
        _ => "GROUP",
    };
    line(out, 2, &format!("Pool {number}"), "");
    line(out, 3, "Segment", kind);
    line(out, 3, "Size", format_args!("{0}({0:#x}) KB", bytes / 1024));
    line(out, 3, "Allocatable", yes(allocates));
    line(
        out,
        3,
        "Alloc Granule",
        format_args!("{}KB", granule / 1024),
    );
    line(
        out,
        3,
        "Alloc Alignment",
        format_args!("{}KB", alignment / 1024),
    );
    line(out, 3, "Accessible by all", yes(shared));
    Ok(())
}

fn isa(out: &mut String, number: usize, isa: Handle) -> Result<(), String> {
    let get = |attribute: u32| {
        move |to: *mut c_void| {
            // SAFETY: `ask` passes `ROOM` bytes; no attribute is larger.
            unsafe { hsa_isa_get_info_alt(isa, attribute, to) }
        }
    };
    let models: [bool; 2] = ask("machine models", get(5))?;
    let profiles: [bool; 2] = ask("profiles", get(6))?;
    let half: bool = ask("f16", get(9))?;
    let group: [u16; 3] = ask("a workgroup's sizes", get(12))?;
    let most: u32 = ask("a workgroup's size", get(13))?;
    line(out, 2, &format!("ISA {number}"), "");
    line(out, 3, "Name", text("the name", get(1))?);
    let model = if models[1] {
        "HSA_MACHINE_MODEL_LARGE"
    } else {
        "HSA_MACHINE_MODEL_SMALL"
    };
    line(out, 3, "Machine Models", model);
    let profile = if profiles[1] {
        "HSA_PROFILE_BASE, HSA_PROFILE_FULL"
    } else {
        "HSA_PROFILE_BASE"
    };
    line(out, 3, "Profiles", profile);
    line(out, 3, "Default Rounding Mode", "NEAR");
    line(out, 3, "Fast f16", yes(half));
    line(out, 3, "Workgroup Max Size", most);
    line(
        out,
        3,
        "Workgroup Max Size per Dimension",
        format_args!("x {}, y {}, z {}", group[0], group[1], group[2]),
    );
    Ok(())
}

fn agent(out: &mut String, number: usize, agent: Handle) -> Result<(), String> {
    let get = |attribute: u32| {
        move |to: *mut c_void| {
            // SAFETY: `ask` passes `ROOM` bytes; no attribute is larger.
            unsafe { hsa_agent_get_info(agent, attribute, to) }
        }
    };
    let word = |name: &str, attribute: u32| ask::<u32>(name, get(attribute));
    title(out, &format!("Agent {number}"), '*');
    line(out, 1, "Name", text("the name", get(0))?);
    line(out, 1, "Uuid", text("the uuid", get(0xa011))?);
    line(out, 1, "Marketing Name", text("the product", get(0xa009))?);
    line(out, 1, "Vendor Name", text("the vendor", get(1))?);
    let feature = if word("the features", 2)? & 1 != 0 {
        "KERNEL_DISPATCH"
    } else {
        "None specified"
    };
    line(out, 1, "Feature", feature);
    let full = word("the profile", 4)? != 0;
    line(
        out,
        1,
        "Profile",
        if full { "FULL_PROFILE" } else { "BASE_PROFILE" },
    );
    for (name, attribute) in [
        ("Max Queue Number", 12),
        ("Queue Min Size", 13),
        ("Queue Max Size", 14),
    ] {
        line(out, 1, name, word(name, attribute)?);
    }
    line(out, 1, "Node", word("the node", 16)?);
    let gpu = word("the kind", 17)? == 1;
    line(out, 1, "Device Type", if gpu { "GPU" } else { "CPU" });
    let caches: [u32; 4] = ask("the caches", get(18))?;
    for (level, bytes) in caches.iter().enumerate().filter(|c| *c.1 != 0) {
        line(
            out,
            2,
            &format!("Cache L{}", level + 1),
            format_args!("{} KB", bytes / 1024),
        );
    }
    for (name, attribute) in [
        ("Chip ID", 0xa000),
        ("Cacheline Size", 0xa001),
        ("Max Clock Freq. (MHz)", 0xa003),
        ("BDFID", 0xa006),
        ("Compute Unit", 0xa002),
        ("SIMDs per CU", 0xa00b),
        ("Shader Engines", 0xa00c),
        ("Memory Clock (MHz)", 0xa008),
        ("Memory Width (bits)", 0xa007),
        ("Wavefront Size", 6),
        ("Workgroup Max Size", 8),
        ("Max Waves Per CU", 0xa00a),
        ("Max fbarriers/Workgrp", 11),
    ] {
        line(out, 1, name, word(name, attribute)?);
    }
    line(
        out,
        1,
        "Cooperative Launches",
        yes(ask("cooperative queues", get(0xa010))?),
    );
    let _ = writeln!(out, "  Pool Info:");
    let named = |status: Status| format!("an agent: status {:#x}", status as u32);
    for (n, &handle) in pools(agent).map_err(named)?.iter().enumerate() {
        pool(out, n + 1, handle)?;
    }
    let _ = writeln!(out, "  ISA Info:");
    for (n, &handle) in isas(agent).map_err(named)?.iter().enumerate() {
        isa(out, n + 1, handle)?;
    }
    Ok(())
}

/// The text.
///
/// # Errors
/// The runtime did not start; the reason is on standard error.
pub fn tell() -> Result<String, String> {
    if hsa_init() != 0 {
        return Err("the runtime does not start".into());
    }
    let get = |attribute: u32| {
        move |to: *mut c_void| {
            // SAFETY: `ask` passes `ROOM` bytes; no attribute is larger.
            unsafe { hsa_system_get_info(attribute, to) }
        }
    };
    let mut out = String::new();
    title(&mut out, "HSA System Attributes", '=');
    let (major, minor): (u16, u16) = (ask("the version", get(0))?, ask("the version", get(1))?);
    line(
        &mut out,
        0,
        "Runtime Version",
        format_args!("{major}.{minor}"),
    );
    let frequency: u64 = ask("the clock", get(3))?;
    let mhz = frequency as f64 / 1e6;
    line(
        &mut out,
        0,
        "System Timestamp Freq.",
        format_args!("{mhz:.6}MHz"),
    );
    line(&mut out, 0, "Machine Model", "LARGE");
    line(&mut out, 0, "System Endianness", "LITTLE");
    out.push('\n');
    title(&mut out, "HSA Agents", '=');
    let all = agents().map_err(|status| format!("the agents: status {:#x}", status as u32))?;
    for (n, &handle) in all.iter().enumerate() {
        agent(&mut out, n + 1, handle)?;
    }
    Ok(out)
}
