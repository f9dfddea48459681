//! The two agents, a CPU and a GPU, and the attributes of them, of the system and of the GPU's instruction set.

use crate::loader;
use crate::runtime::{self, Runtime};
use crate::status::{Status, code};
use crate::types::{Dim3, Handle, put, put_text};
use gcn_isa::target::{Gen, Target};
use gcn_object::target::Machine;
use std::ffi::c_void;

/// The handles of the agents and of the GPU's instruction set.
pub const CPU: Handle = 1;
pub const GPU: Handle = 2;
const ISA: Handle = 1;

/// The properties of a chip.
pub struct Properties {
    pub target: Target,
    /// `amdgcn-amd-amdhsa--gfx900:xnack-`.
    pub isa: String,
    /// The driver's name of the product.
    product: &'static str,
    chip_id: u32,
    compute_units: u32,
    engines: u32,
    /// In MHz.
    clock: u32,
    memory_clock: u32,
    /// In bits.
    memory_width: u32,
    /// In bytes.
    l2: u32,
    /// The size of memory in bytes.
    pub memory: u64,
    /// True if it shares the host's memory.
    integrated: bool,
}

/// Common chips: the target, the driver's name, the device id, compute units, shader engines, MHz of the core and of memory,
/// the width of the memory bus in bits, KiB of L2, MiB of memory. Sources: AMD's product pages and the Linux driver.
type Row = (
    &'static str,
    &'static str,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u64,
);
const CHIPS: &[Row] = &[
    (
        "gfx600",
        "AMD Radeon HD 7970",
        0x6798,
        32,
        2,
        925,
        1375,
        384,
        768,
        3072,
    ),
    (
        "gfx601",
        "AMD Radeon HD 7870",
        0x6818,
        20,
        2,
        1000,
        1200,
        256,
        512,
        2048,
    ),
    (
        "gfx602",
        "AMD Radeon HD 8570",
        0x6660,
        6,
        1,
        730,
        900,
        128,
        256,
        1024,
    ),
    (
        "gfx700",
        "AMD Radeon R7 Graphics (Kaveri)",
        0x130f,
        8,
        1,
        720,
        1066,
        128,
        512,
        0,
    ),
    (
        "gfx701",
        "AMD FirePro W9100",
        0x67a0,
        44,
        4,
        930,
        1250,
        512,
        1024,
        16384,
    ),
    (
        "gfx702",
        "AMD Radeon R9 290X",
        0x67b0,
        44,
        4,
        1000,
        1250,
        512,
        1024,
        4096,
    ),
    (
        "gfx703",
        "AMD Radeon R3 Graphics (Kabini)",
        0x9830,
        2,
        1,
        600,
        800,
        64,
        128,
        0,
    ),
    (
        "gfx704",
        "AMD Radeon HD 7790",
        0x6658,
        14,
        2,
        1075,
        1625,
        128,
        256,
        2048,
    ),
    (
        "gfx705",
        "AMD Radeon R4 Graphics (Mullins)",
        0x9850,
        2,
        1,
        500,
        666,
        64,
        128,
        0,
    ),
    (
        "gfx801",
        "AMD Radeon R7 Graphics (Carrizo)",
        0x9874,
        8,
        1,
        800,
        1066,
        128,
        512,
        0,
    ),
    (
        "gfx802",
        "AMD Radeon R9 285",
        0x6939,
        28,
        4,
        918,
        1375,
        256,
        512,
        2048,
    ),
    (
        "gfx803",
        "AMD Radeon RX 480",
        0x67df,
        36,
        4,
        1266,
        2000,
        256,
        2048,
        8192,
    ),
    (
        "gfx805",
        "AMD Radeon R9 285 (Tonga Pro)",
        0x6939,
        28,
        4,
        918,
        1375,
        256,
        512,
        2048,
    ),
    (
        "gfx810",
        "AMD Radeon R5 Graphics (Stoney)",
        0x98e4,
        3,
        1,
        800,
        1066,
        64,
        128,
        0,
    ),
    (
        "gfx900",
        "AMD Radeon RX Vega 64",
        0x687f,
        64,
        4,
        1630,
        945,
        2048,
        4096,
        8176,
    ),
    (
        "gfx902",
        "AMD Radeon Vega 11 Graphics",
        0x15dd,
        11,
        1,
        1250,
        1200,
        128,
        1024,
        0,
    ),
    (
        "gfx904",
        "AMD Radeon Pro Vega 20",
        0x69af,
        20,
        4,
        1200,
        740,
        1024,
        1024,
        4080,
    ),
    (
        "gfx906",
        "AMD Radeon VII",
        0x66af,
        60,
        4,
        1801,
        1000,
        4096,
        4096,
        16368,
    ),
    (
        "gfx909",
        "AMD Radeon Vega 3 Graphics",
        0x15d8,
        3,
        1,
        1200,
        1200,
        128,
        512,
        0,
    ),
    (
        "gfx90c",
        "AMD Radeon Graphics (Renoir)",
        0x1636,
        8,
        1,
        2100,
        1600,
        128,
        1024,
        0,
    ),
];

impl Properties {
    /// The chip of a target, with the available memory.
    pub fn of(target: Target, bytes: u64) -> Properties {
        let row = CHIPS.iter().find(|c| c.0 == target.name());
        let row = row.unwrap_or(&CHIPS[14]);
        let &(_, product, chip_id, compute_units, engines, clock, memory_clock, width, l2, memory) =
            row;
        let mut isa = format!("amdgcn-amd-amdhsa--{}", target.name());
        if let Some(machine) = Machine::from_name(target.name()) {
            for (has, feature) in [(machine.sramecc, ":sramecc+"), (machine.xnack, ":xnack-")] {
                if has {
                    isa.push_str(feature);
                }
            }
        }
        Properties {
            target,
            isa,
            product,
            chip_id,
            compute_units,
            engines,
            clock,
            memory_clock,
            memory_width: width,
            l2: l2 << 10,
            memory: match memory {
                0 => bytes / 2,
                n => (n << 20).min(bytes / 2),
            },
            integrated: memory == 0,
        }
    }
}

/// Returns `None` if a handle is not an agent's, otherwise whether it is the GPU's.
pub fn is_gpu(agent: Handle) -> Result<bool, Status> {
    match agent {
        CPU => Ok(false),
        GPU => Ok(true),
        _ => Err(Status::InvalidAgent),
    }
}

fn cpu_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|l| l.strip_prefix("model name"));
    let name = name.and_then(|l| l.split_once(':'));
    name.map_or("CPU", |(_, name)| name.trim()).to_string()
}

/// The limits of images: attributes 0x3000 to 0x300c.
fn image_limit(attribute: u32) -> Option<Limit> {
    let largest = 16384;
    Some(match attribute {
        0x3000 | 0x3001 => Limit::Word(largest),
        0x3002 => Limit::Word(u32::MAX),
        0x3003..=0x3006 => Limit::Pair(largest, largest),
        0x3007 => Limit::Triple(2048, 2048, 2048),
        0x3008 => Limit::Word(2048),
        0x3009 => Limit::Word(128),
        0x300a => Limit::Word(64),
        0x300b => Limit::Word(16),
        0x300c => Limit::Long(256),
        _ => return None,
    })
}

enum Limit {
    Word(u32),
    Pair(u32, u32),
    Triple(u32, u32, u32),
    Long(usize),
}

/// # Safety
/// `value` points to memory for the attribute.
unsafe fn agent_info(
    r: &Runtime,
    agent: Handle,
    attribute: u32,
    value: *mut c_void,
) -> Result<(), Status> {
    let gpu = is_gpu(agent)?;
    let p = &r.properties;
    let gen7 = p.target.generation() <= Gen::Gfx7;
    // SAFETY (of all below): guaranteed by the caller.
    macro_rules! answer {
        ($value:expr) => {
            // SAFETY: guaranteed by the caller.
            unsafe { put(value, $value) }
        };
    }
    macro_rules! text {
        ($text:expr) => {
            // SAFETY: guaranteed by the caller: texts have 64 bytes.
            unsafe { put_text(value, $text, 64) }
        };
    }
    let of_gpu = |n: u32| if gpu { n } else { 0 };
    if let Some(limit) = image_limit(attribute) {
        return match limit {
            Limit::Word(n) => answer!(of_gpu(n)),
            Limit::Pair(a, b) => answer!([of_gpu(a), of_gpu(b)]),
            Limit::Triple(a, b, c) => answer!([of_gpu(a), of_gpu(b), of_gpu(c)]),
            Limit::Long(n) => answer!(n),
        };
    }
    match attribute {
        0 if gpu => text!(p.target.name()),
        0 => text!(&cpu_name()),
        1 => text!(if gpu { "AMD" } else { "CPU" }),
        // Kernel dispatch.
        2 => answer!(of_gpu(1)),
        3 => answer!(1u32),
        // The full profile is for chips that access all of the host's memory.
        4 => answer!((!gpu || gen7) as u32),
        5 => answer!(if gpu { 2u32 } else { 0 }),
        6 => answer!(of_gpu(64)),
        7 => answer!([of_gpu(1024) as u16; 3]),
        8 => answer!(of_gpu(1024)),
        9 => answer!(Dim3 {
            x: of_gpu(u32::MAX),
            y: of_gpu(u32::MAX),
            z: of_gpu(u32::MAX),
        }),
        10 => answer!(of_gpu(u32::MAX)),
        11 => answer!(of_gpu(32)),
        12 => answer!(of_gpu(128)),
        13 => answer!(of_gpu(64)),
        14 => answer!(of_gpu(1 << 17)),
        15 => answer!(0u32),
        16 => answer!(gpu as u32),
        17 => answer!(gpu as u32),
        18 if gpu => answer!([16u32 << 10, p.l2, 0, 0]),
        18 => answer!([32u32 << 10, 0, 0, 0]),
        19 => answer!(if gpu { ISA } else { 0 }),
        20 => {
            let mut bits = [0u8; 128];
            // Images, and AMD's loader.
            bits[0] = 1 << 1;
            bits[0x201 / 8] |= 1 << (0x201 % 8);
            answer!(bits)
        }
        21 => answer!(1u16),
        22 => answer!(1u16),
        23 => answer!(of_gpu(2)),
        24 => answer!(gpu && p.target.generation() >= Gen::Gfx8),
        0xa000..0xa100 => {
            // SAFETY: guaranteed by the caller.
            unsafe { amd_agent_info(r, gpu, attribute, value) }
        }
        _ => Err(Status::InvalidArgument),
    }
}

/// AMD's own attributes.
///
/// # Safety
/// `value` points to memory for the attribute.
unsafe fn amd_agent_info(
    r: &Runtime,
    gpu: bool,
    attribute: u32,
    value: *mut c_void,
) -> Result<(), Status> {
    let p = &r.properties;
    let of_gpu = |n: u32| if gpu { n } else { 0 };
    macro_rules! answer {
        ($value:expr) => {
            // SAFETY: guaranteed by the caller.
            unsafe { put(value, $value) }
        };
    }
    match attribute {
        0xa000 => answer!(of_gpu(p.chip_id)),
        0xa001 => answer!(64u32),
        0xa002 | 0xa014 if gpu => answer!(p.compute_units),
        0xa002 => answer!(r.threads as u32),
        0xa003 => answer!(if gpu { p.clock } else { 0 }),
        0xa004 => answer!(gpu as u32),
        0xa005 => answer!(of_gpu(4)),
        // Bus 3; the CPU has bus 0.
        0xa006 => answer!(of_gpu(3 << 8)),
        0xa007 => answer!(of_gpu(p.memory_width)),
        0xa008 => answer!(of_gpu(p.memory_clock)),
        0xa009 => {
            let name = if gpu {
                p.product.to_string()
            } else {
                cpu_name()
            };
            // SAFETY: guaranteed by the caller: names have 64 bytes.
            unsafe { put_text(value, &name, 64) }
        }
        0xa00a => answer!(of_gpu(40)),
        0xa00b => answer!(of_gpu(4)),
        0xa00c => answer!(of_gpu(p.engines)),
        0xa00d => answer!(of_gpu(1)),
        // There are no registers for flushes.
        0xa00e => answer!([0usize; 2]),
        0xa00f => answer!(0u32),
        // HIP has the kernel that initializes global wave sync only for gfx9.
        0xa010 => answer!(gpu && p.target.generation() >= Gen::Gfx9),
        0xa011 => {
            let uuid = if gpu { "GPU-XX" } else { "CPU-XX" };
            // SAFETY: guaranteed by the caller: it has 21 bytes.
            unsafe { put_text(value, uuid, 21) }
        }
        0xa012 => answer!(0u32),
        0xa013 => answer!(p.integrated),
        0xa014 => answer!(0u32),
        // Later runtimes have further attributes, such as free memory.
        0xa015 => answer!(r.memory().free_bytes()),
        _ => Err(Status::InvalidArgument),
    }
}

/// # Safety
/// The caller follows the manual; this applies to all functions of the interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_agent_get_info(
    agent: Handle,
    attribute: u32,
    value: *mut c_void,
) -> u32 {
    // SAFETY: guaranteed by the caller.
    code(runtime::get().and_then(|r| unsafe { agent_info(r, agent, attribute, value) }))
}

/// A callback that is called for each handle; a status other than 0 ends the iteration.
pub type Each = unsafe extern "C" fn(handle: Handle, data: *mut c_void) -> u32;

/// Calls the callback with each of the handles. Returns the first status other than 0, or 0.
///
/// # Safety
/// The callback may be called with `data`.
pub unsafe fn for_each(
    handles: Result<&[Handle], Status>,
    callback: Option<Each>,
    data: *mut c_void,
) -> u32 {
    let handles = match (handles, callback) {
        (Err(status), _) => return status as u32,
        (Ok(_), None) => return Status::InvalidArgument as u32,
        (Ok(handles), Some(callback)) => handles.iter().map(move |&handle| {
            // SAFETY: guaranteed by the caller.
            unsafe { callback(handle, data) }
        }),
    };
    handles.into_iter().find(|&status| status != 0).unwrap_or(0)
}

/// The handles of all agents.
pub fn agents() -> Result<&'static [Handle], Status> {
    runtime::get().map(|_| [CPU, GPU].as_slice())
}

/// The handles of an agent's instruction sets.
pub fn isas(agent: Handle) -> Result<&'static [Handle], Status> {
    Ok(if is_gpu(agent)? { &[ISA] } else { &[] })
}

/// # Safety
/// The callback may be called with `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_iterate_agents(callback: Option<Each>, data: *mut c_void) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe { for_each(agents(), callback, data) }
}

/// # Safety
/// The callback may be called with `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_agent_iterate_isas(
    agent: Handle,
    callback: Option<Each>,
    data: *mut c_void,
) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe { for_each(isas(agent), callback, data) }
}

/// # Safety
/// `value` points to memory for the attribute.
unsafe fn isa_info(isa: Handle, attribute: u32, value: *mut c_void) -> Result<(), Status> {
    if isa != ISA {
        return Err(Status::InvalidIsa);
    }
    let p = &runtime::get()?.properties;
    macro_rules! answer {
        ($value:expr) => {
            // SAFETY: guaranteed by the caller.
            unsafe { put(value, $value) }
        };
    }
    match attribute {
        0 => answer!(p.isa.len() as u32 + 1),
        // SAFETY: guaranteed by the caller, who has asked for the length.
        1 => unsafe { put_text(value, &p.isa, p.isa.len() + 1) },
        2 => answer!(1u32),
        3 => answer!(64u32),
        4 => answer!(40u32),
        5 => answer!([false, true]),
        6 => answer!([true, p.target.generation() <= Gen::Gfx7]),
        7 => answer!([false, false, true]),
        8 => answer!([false, false, true]),
        9 => answer!(p.target.generation() >= Gen::Gfx8),
        12 => answer!([1024u16; 3]),
        13 => answer!(1024u32),
        14 => answer!(Dim3 {
            x: u32::MAX,
            y: u32::MAX,
            z: u32::MAX,
        }),
        16 => answer!(u64::MAX),
        17 => answer!(32u32),
        _ => Err(Status::InvalidArgument),
    }
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_isa_get_info_alt(
    isa: Handle,
    attribute: u32,
    value: *mut c_void,
) -> u32 {
    // SAFETY: guaranteed by the caller.
    code(unsafe { isa_info(isa, attribute, value) })
}

/// # Safety
/// `value` points to memory for the attribute.
unsafe fn system_info(attribute: u32, value: *mut c_void) -> Result<(), Status> {
    let r = runtime::get()?;
    macro_rules! answer {
        ($value:expr) => {
            // SAFETY: guaranteed by the caller.
            unsafe { put(value, $value) }
        };
    }
    match attribute {
        0 | 1 => answer!(1u16),
        2 => answer!(r.now()),
        3 => answer!(1_000_000_000u64),
        4 => answer!(u64::MAX),
        5 => answer!(0u32),
        6 => answer!(1u32),
        7 => {
            let mut bits = [0u8; 128];
            bits[0] = 1 << 1;
            bits[0x201 / 8] |= 1 << (0x201 % 8);
            answer!(bits)
        }
        0x200 => answer!(c"gcn".as_ptr()),
        0x201 => answer!(true),
        // Kernels can access lent memory, not all of the host's.
        0x202 => answer!(false),
        _ => Err(Status::InvalidArgument),
    }
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_system_get_info(attribute: u32, value: *mut c_void) -> u32 {
    // SAFETY: guaranteed by the caller.
    code(unsafe { system_info(attribute, value) })
}

/// Images, and AMD's loader.
fn supported(extension: u16, major: u16) -> bool {
    matches!(extension, 1 | 0x201) && major == 1
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_system_extension_supported(
    extension: u16,
    major: u16,
    _minor: u16,
    result: *mut bool,
) -> u32 {
    // SAFETY: guaranteed by the caller.
    code(unsafe { put(result.cast(), supported(extension, major)) })
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_agent_extension_supported(
    extension: u16,
    agent: Handle,
    major: u16,
    _minor: u16,
    result: *mut bool,
) -> u32 {
    code(is_gpu(agent).and_then(|gpu| {
        // SAFETY: guaranteed by the caller.
        unsafe { put(result.cast(), gpu && supported(extension, major)) }
    }))
}

/// # Safety
/// As the manual says: there are `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_system_get_major_extension_table(
    extension: u16,
    major: u16,
    length: usize,
    table: *mut c_void,
) -> u32 {
    if !supported(extension, major) || table.is_null() {
        return Status::InvalidArgument as u32;
    }
    let functions = match extension {
        0x201 => loader::table(),
        _ => Vec::new(),
    };
    let bytes: Vec<u8> = functions.into_iter().flat_map(usize::to_ne_bytes).collect();
    // SAFETY: guaranteed by the caller; the text is truncated to the length of the buffer.
    unsafe {
        table.cast::<u8>().write_bytes(0, length);
        let count = bytes.len().min(length);
        table
            .cast::<u8>()
            .copy_from_nonoverlapping(bytes.as_ptr(), count);
    }
    0
}
