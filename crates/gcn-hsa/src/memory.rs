//! Memory pools, and the program's memory that is lent to the GPU.
//!
//! All pools allocate the machine's memory, at addresses that the host and kernels share. Memory of the program is lent
//! page by page. Locked memory gets a second address for kernels, because HIP 5.2 cannot release it if both are the same.

use crate::agent::{CPU, Each, GPU, for_each, is_gpu};
use crate::check::Checks;
use crate::runtime::{self, Runtime};
use crate::signal::lock;
use crate::status::{Status, code};
use crate::types::{Handle, LinkInfo, PointerInfo, SvmPair, items, put};
use gcn::check::dynamic::Allocation;
use gcn_emu::mem::{ALIAS, PAGE_SIZE, Perm};
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;

/// The handles of pools: fine-grained CPU memory, memory for kernel arguments, coarse-grained CPU memory, the GPU's memory,
/// and LDS.
const FINE: Handle = 1;
const KERNARG: Handle = 2;
const COARSE: Handle = 3;
const VRAM: Handle = 4;
const GROUP: Handle = 5;

/// The pool of the GPU's memory.
pub const GPU_POOL: Handle = VRAM;

/// Allocations of at least this size are aligned to it, as with AMD's driver. The device's malloc relies on this to find its slabs.
const LARGE: u64 = 2 << 20;

/// Allocations and lent memory.
#[derive(Default)]
pub struct Allocations {
    /// The allocations by address: size and pool.
    made: BTreeMap<u64, (u64, Handle)>,
    /// Locked memory by host address: the size and the kernels' address of each lock.
    locked: BTreeMap<u64, Vec<(u64, u64)>>,
    /// Ranges with attributes.
    svm: Vec<Svm>,
    /// The memory that `hsa_memory_register` has lent: address and size.
    registered: Vec<(u64, u64)>,
}

/// A range of the program's memory with attributes.
struct Svm {
    at: u64,
    bytes: u64,
    lent: bool,
    attributes: HashMap<u64, u64>,
}

impl Svm {
    fn end(&self) -> u64 {
        self.at + self.bytes
    }
}

/// Returns the host's address for an address of kernels.
pub fn of_host(address: u64) -> u64 {
    if address >= ALIAS {
        address - ALIAS
    } else {
        address
    }
}

/// Returns the flags of a pool's memory.
fn flags(pool: Handle) -> u32 {
    match pool {
        FINE => 2,
        KERNARG => 3,
        GROUP => 0,
        _ => 4,
    }
}

fn owner(pool: Handle) -> Handle {
    if pool >= VRAM { GPU } else { CPU }
}

/// Returns the handles of an agent's pools.
pub fn pools(agent: Handle) -> Result<&'static [Handle], Status> {
    Ok(if is_gpu(agent)? {
        &[VRAM, GROUP]
    } else {
        &[FINE, KERNARG, COARSE]
    })
}

/// # Safety
/// The callback may be called with `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_agent_iterate_memory_pools(
    agent: Handle,
    callback: Option<Each>,
    data: *mut c_void,
) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe { for_each(pools(agent), callback, data) }
}

/// # Safety
/// There is room for the attribute's value.
unsafe fn pool_info(pool: Handle, attribute: u32, value: *mut c_void) -> Result<(), Status> {
    let r = runtime::get()?;
    if !(FINE..=GROUP).contains(&pool) {
        return Err(Status::InvalidPool);
    }
    let group = pool == GROUP;
    macro_rules! answer {
        ($value:expr) => {
            // SAFETY: guaranteed by the caller.
            unsafe { put(value, $value) }
        };
    }
    let bytes = match pool {
        GROUP => r.properties.target.generation().lds_bytes() as usize,
        VRAM => r.properties.memory as usize,
        _ => (r.memory().own().end - r.memory().own().start) as usize / 4,
    };
    match attribute {
        0 => answer!(if group { 3u32 } else { 0 }),
        1 => answer!(flags(pool)),
        2 => answer!(bytes),
        5 => answer!(!group),
        6 | 7 if group => answer!(0usize),
        6 | 7 => answer!(PAGE_SIZE as usize),
        15 => answer!(pool < VRAM),
        16 => answer!(if group { 0 } else { bytes }),
        _ => Err(Status::InvalidArgument),
    }
}

/// # Safety
/// The caller follows the manual; this applies to all functions of the interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_memory_pool_get_info(
    pool: Handle,
    attribute: u32,
    value: *mut c_void,
) -> u32 {
    // SAFETY: guaranteed by the caller.
    code(unsafe { pool_info(pool, attribute, value) })
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_agent_memory_pool_get_info(
    agent: Handle,
    pool: Handle,
    attribute: u32,
    value: *mut c_void,
) -> u32 {
    let answer = || {
        let gpu = is_gpu(agent)?;
        let own = owner(pool) == agent;
        match attribute {
            // The host has no access to the GPU's memory by default, as with a card with a small BAR.
            0 => {
                let access: u32 = match (own, gpu) {
                    (true, _) => 1,
                    (false, true) => 2,
                    (false, false) => 0,
                };
                // SAFETY: guaranteed by the caller.
                unsafe { put(value, access) }
            }
            // SAFETY: guaranteed by the caller.
            1 => unsafe { put(value, !own as u32) },
            2 if own => Ok(()),
            2 => {
                let link = LinkInfo {
                    min_latency: 0,
                    max_latency: 0,
                    min_bandwidth: 0,
                    max_bandwidth: 0,
                    atomic_32: true,
                    atomic_64: true,
                    coherent: true,
                    kind: 2,
                    numa_distance: 20,
                };
                // SAFETY: guaranteed by the caller, who has room for the links of one hop.
                unsafe { put(value, link) }
            }
            _ => Err(Status::InvalidArgument),
        }
    };
    code(answer())
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_memory_pool_allocate(
    pool: Handle,
    size: usize,
    _flags: u32,
    ptr: *mut *mut c_void,
) -> u32 {
    let allocate = || {
        let r = runtime::get()?;
        if !(FINE..GROUP).contains(&pool) {
            return Err(Status::InvalidPool);
        }
        if size == 0 || ptr.is_null() {
            return Err(Status::InvalidArgument);
        }
        let _outside = r.outside();
        let mut allocations = lock(&r.allocations);
        if pool == VRAM {
            let used: u64 = allocations.used(VRAM);
            if size as u64 > r.properties.memory.saturating_sub(used) {
                return Err(Status::OutOfResources);
            }
        }
        let align = if size as u64 >= LARGE {
            LARGE
        } else {
            PAGE_SIZE
        };
        let alloc = || r.memory().alloc(size as u64, align, Perm::RW);
        let at = alloc().or_else(|e| {
            let kept = r.checks.as_ref().map_or(Vec::new(), Checks::let_all_go);
            for at in &kept {
                // This cannot fail: the checks had kept the address allocated, and nothing else frees it.
                let _ = r.memory().free(*at);
            }
            if kept.is_empty() { Err(e) } else { alloc() }
        });
        let at = at.map_err(|_| Status::OutOfResources)?;
        allocations.made.insert(at, (size as u64, pool));
        r.with_checks(|checks| checks.allocated(at, size as u64, pool));
        // SAFETY: guaranteed by the caller.
        unsafe { put(ptr.cast(), at) }
    };
    code(allocate())
}

impl Allocations {
    fn used(&self, pool: Handle) -> u64 {
        let of_pool = self.made.values().filter(|a| a.1 == pool);
        of_pool.map(|a| a.0).sum()
    }

    /// Returns the locked memory that contains an address of the host or of kernels: the host's address, the kernels' address
    /// and the size.
    fn lock_at(&self, address: u64) -> Option<(u64, u64, u64)> {
        let host = of_host(address);
        let before = self.locked.range(..=host).rev();
        let all = before.flat_map(|(&at, locks)| locks.iter().map(move |&(n, to)| (at, to, n)));
        all.into_iter().find(|&(at, _, bytes)| host - at < bytes)
    }
}

impl Runtime {
    /// Returns the memory of the program that kernels may access, by the kernels' addresses, without overlaps.
    pub fn lent_memory(&self) -> Vec<Allocation> {
        let allocations = lock(&self.allocations);
        let managed = allocations.svm.iter().filter(|s| s.lent);
        let managed = managed.map(|s| (s.at, s.bytes, "managed memory"));
        let own = self.memory().own();
        let locked = allocations.locked.values().flatten();
        let locked = locked.filter(|(_, to)| !own.contains(to));
        let locked = locked.map(|&(bytes, to)| (to, bytes, "registered memory"));
        let registered = allocations.registered.iter();
        let registered = registered.map(|&(at, bytes)| (at, bytes, "registered memory"));
        let mut all: Vec<_> = managed.chain(locked).chain(registered).collect();
        all.sort_unstable();
        let mut merged: Vec<Allocation> = Vec::new();
        for (address, bytes, name) in all {
            match merged.last_mut() {
                Some(last) if address < last.address + last.bytes => {
                    last.bytes = last.bytes.max(address + bytes - last.address);
                }
                _ => merged.push(Allocation {
                    address,
                    bytes,
                    name: name.into(),
                    freed: false,
                }),
            }
        }
        merged
    }

    /// Returns the pool of the allocation that an address is in.
    pub fn pool_of(&self, at: u64) -> Option<Handle> {
        let allocations = lock(&self.allocations);
        let (&start, &(bytes, pool)) = allocations.made.range(..=at).next_back()?;
        (at - start < bytes).then_some(pool)
    }

    /// Returns all memory whose addresses kernels may get, in order: the kernels' address and the size.
    pub fn allocated(&self) -> Vec<(u64, u64)> {
        let allocations = lock(&self.allocations);
        let made = allocations
            .made
            .iter()
            .map(|(&at, &(bytes, _))| (at, bytes));
        let svm = allocations.svm.iter().filter(|s| s.lent);
        let locked = allocations.locked.values().flatten();
        let locked = locked.map(|&(bytes, to)| (to, bytes));
        let mut all: Vec<_> = made
            .chain(svm.map(|s| (s.at, s.bytes)))
            .chain(locked)
            .collect();
        all.sort_unstable();
        // If memory is registered twice, the longer range counts.
        all.reverse();
        all.dedup_by_key(|a| a.0);
        all.reverse();
        all
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_amd_memory_pool_free(ptr: *mut c_void) -> u32 {
    let free = || {
        let r = runtime::get()?;
        let at = ptr.addr() as u64;
        if at == 0 {
            return Ok(());
        }
        let _outside = r.outside();
        let mut allocations = lock(&r.allocations);
        let found = allocations.made.remove(&at);
        let (bytes, _) = found.ok_or(Status::InvalidAllocation)?;
        let checks = r.checks.as_ref();
        let gone = checks.map_or(vec![at], |checks| checks.freed(at, bytes));
        let free = |at: u64| r.memory().free(at).map_err(|_| Status::InvalidAllocation);
        gone.into_iter().try_for_each(free)
    };
    code(free())
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_amd_agents_allow_access(
    _count: u32,
    _agents: *const Handle,
    _flags: *const u32,
    _ptr: *const c_void,
) -> u32 {
    // All agents can access all memory.
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_amd_coherency_set_type(agent: Handle, _kind: u32) -> u32 {
    code(is_gpu(agent).map(|_| ()))
}

/// # Safety
/// The caller follows the manual: the memory stays the program's until it is unlocked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_memory_lock_to_pool(
    host: *mut c_void,
    size: usize,
    _agents: *mut Handle,
    _count: i32,
    _pool: Handle,
    _flags: u32,
    agent_ptr: *mut *mut c_void,
) -> u32 {
    let lock_it = || {
        let r = runtime::get()?;
        let at = host.expose_provenance() as u64;
        if at == 0 || size == 0 {
            return Err(Status::InvalidArgument);
        }
        let _outside = r.outside();
        let own = r.memory().own();
        let to = if own.contains(&at) {
            // It is already the GPU's memory.
            at
        } else {
            crate::lent::watch();
            // SAFETY: guaranteed by the caller: the memory stays mapped until it is unlocked, and the program synchronises with kernels.
            let lent = unsafe { r.memory().lend(at, size as u64, true) };
            lent.map_err(|_| Status::InvalidArgument)?
        };
        let mut allocations = lock(&r.allocations);
        let locks = allocations.locked.entry(at).or_default();
        locks.push((size as u64, to));
        r.with_checks(Checks::changed);
        // SAFETY: guaranteed by the caller.
        unsafe { put(agent_ptr.cast(), to) }
    };
    code(lock_it())
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_memory_lock(
    host: *mut c_void,
    size: usize,
    agents: *mut Handle,
    count: i32,
    agent_ptr: *mut *mut c_void,
) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe { hsa_amd_memory_lock_to_pool(host, size, agents, count, FINE, 0, agent_ptr) }
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_amd_memory_unlock(host: *mut c_void) -> u32 {
    let unlock = || {
        let r = runtime::get()?;
        let at = of_host(host.addr() as u64);
        let _outside = r.outside();
        let mut allocations = lock(&r.allocations);
        let locks = allocations.locked.get_mut(&at);
        let locks = locks.ok_or(Status::InvalidArgument)?;
        let (bytes, to) = locks.pop().ok_or(Status::InvalidArgument)?;
        if locks.is_empty() {
            allocations.locked.remove(&at);
        }
        // Taking memory back waits for kernels, which may need this lock.
        drop(allocations);
        r.with_checks(Checks::changed);
        if to != at {
            let back = r.memory().take_back(to, bytes);
            back.map_err(|_| Status::InvalidArgument)?;
        }
        Ok(())
    };
    code(unlock())
}

/// # Safety
/// The caller follows the manual: the memory stays the program's until it is deregistered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_memory_register(ptr: *mut c_void, size: usize) -> u32 {
    code(runtime::get().and_then(|r| {
        let at = ptr.expose_provenance() as u64;
        if r.memory().own().contains(&at) {
            return Ok(());
        }
        crate::lent::watch();
        let _outside = r.outside();
        // SAFETY: guaranteed by the caller.
        let lent = unsafe { r.memory().lend(at, size as u64, false) };
        lent.map_err(|_| Status::InvalidArgument)?;
        lock(&r.allocations).registered.push((at, size as u64));
        r.with_checks(Checks::changed);
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_memory_deregister(ptr: *mut c_void, size: usize) -> u32 {
    code(runtime::get().and_then(|r| {
        let at = ptr.addr() as u64;
        if r.memory().own().contains(&at) {
            return Ok(());
        }
        let _outside = r.outside();
        let mut allocations = lock(&r.allocations);
        let known = allocations
            .registered
            .iter()
            .position(|l| *l == (at, size as u64));
        known.map(|n| allocations.registered.swap_remove(n));
        drop(allocations);
        r.with_checks(Checks::changed);
        let back = r.memory().take_back(at, size as u64);
        back.map_err(|_| Status::InvalidArgument)
    }))
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_pointer_info(
    ptr: *const c_void,
    info: *mut PointerInfo,
    alloc: Option<extern "C" fn(usize) -> *mut c_void>,
    count: *mut u32,
    accessible: *mut *mut Handle,
) -> u32 {
    let answer = || {
        let r = runtime::get()?;
        if info.is_null() {
            return Err(Status::InvalidArgument);
        }
        let address = ptr.addr() as u64;
        let allocations = lock(&r.allocations);
        let made = allocations.made.range(..=address).next_back();
        let made = made.filter(|(at, (bytes, _))| address - **at < *bytes);
        let pointer = std::ptr::with_exposed_provenance_mut::<c_void>;
        let (kind, host, agent, bytes, flags, owner) = match made {
            Some((&at, &(bytes, pool))) => (1, at, at, bytes, flags(pool), owner(pool)),
            None => match allocations.lock_at(address) {
                Some((host, agent, bytes)) => (2, host, agent, bytes, 2, CPU),
                None => (0, 0, 0, 0, 0, 0),
            },
        };
        // SAFETY: guaranteed by the caller, who has stored the size of the structure in it.
        unsafe {
            let room = (*info).size as usize;
            let known = size_of::<PointerInfo>();
            let full = PointerInfo {
                size: room.min(known) as u32,
                kind,
                agent_base: pointer(agent as usize),
                host_base: pointer(host as usize),
                bytes: bytes as usize,
                user_data: std::ptr::null_mut(),
                owner,
                global_flags: flags,
            };
            let from: *const PointerInfo = &full;
            info.cast::<u8>()
                .copy_from_nonoverlapping(from.cast(), room.min(known));
        }
        if let Some(alloc) = alloc
            && !count.is_null()
            && !accessible.is_null()
        {
            let agents: &[Handle] = if kind == 0 { &[] } else { &[CPU, GPU] };
            let list: *mut Handle = alloc(size_of_val(agents).max(1)).cast();
            if list.is_null() {
                return Err(Status::OutOfResources);
            }
            // SAFETY: the list was allocated by the caller's function; the caller frees it.
            unsafe {
                list.copy_from_nonoverlapping(agents.as_ptr(), agents.len());
                count.write(agents.len() as u32);
                accessible.write(list);
            }
        }
        Ok(())
    };
    code(answer())
}

/// Attributes of ranges that concern the access of agents.
const ACCESSIBLE: u64 = 0x200;
const IN_PLACE: u64 = 0x201;
const NO_ACCESS: u64 = 0x202;
const ACCESS_QUERY: u64 = 0x203;

impl Runtime {
    /// Sets attributes of a range. If they require it, lends the range or takes it back.
    ///
    /// # Safety
    /// The range is the program's, and stays so as [`gcn_emu::mem::Memory::lend`] requires.
    unsafe fn set_svm(&self, at: u64, bytes: u64, pairs: &[SvmPair]) -> Result<(), Status> {
        let _outside = self.outside();
        // Ranges to take back at the end: taking back waits for kernels, which may need the lock of the allocations.
        let mut back = Vec::new();
        // SAFETY: guaranteed by the caller.
        let changed = unsafe { self.change_svm(at, bytes, pairs, &mut back) };
        self.with_checks(Checks::changed);
        for (at, bytes) in back {
            // This cannot fail, because the range was lent.
            let _ = self.memory().take_back(at, bytes);
        }
        changed
    }

    /// Does the work of [`Runtime::set_svm`], except that ranges are not taken back: their addresses and bytes are added to `back`, also if
    /// this function fails.
    ///
    /// # Safety
    /// As for [`Runtime::set_svm`].
    unsafe fn change_svm(
        &self,
        at: u64,
        bytes: u64,
        pairs: &[SvmPair],
        back: &mut Vec<(u64, u64)>,
    ) -> Result<(), Status> {
        let mut guard = lock(&self.allocations);
        let ranges = &mut guard.svm;
        let inside = |s: &Svm| s.at <= at && at + bytes <= s.end();
        if !ranges.iter().any(inside) {
            // Earlier ranges at these addresses are removed, because the program has mapped them again.
            let (old, kept) = std::mem::take(ranges)
                .into_iter()
                .partition(|s: &Svm| s.at < at + bytes && at < s.end());
            *ranges = kept;
            let lent = Vec::into_iter(old).filter(|s| s.lent);
            back.extend(lent.map(|s| (s.at, s.bytes)));
            ranges.push(Svm {
                at,
                bytes,
                lent: false,
                attributes: HashMap::new(),
            });
        }
        let Some(range) = ranges.iter_mut().find(|s| inside(s)) else {
            return Err(Status::Error);
        };
        for pair in pairs {
            match pair.attribute {
                ACCESSIBLE | IN_PLACE
                    if pair.value == GPU
                        && !range.lent
                        && !self.memory().own().contains(&range.at) =>
                {
                    crate::lent::watch();
                    // SAFETY: guaranteed by the caller.
                    let lent = unsafe { self.memory().lend(range.at, range.bytes, false) };
                    lent.map_err(|_| Status::InvalidArgument)?;
                    range.lent = true;
                }
                NO_ACCESS if pair.value == GPU && range.lent => {
                    back.push((range.at, range.bytes));
                    range.lent = false;
                }
                _ => {}
            }
            // Each agent has access attributes of its own.
            let key = match pair.attribute {
                ACCESSIBLE | IN_PLACE | NO_ACCESS => ACCESS_QUERY << 32 | pair.value,
                other => other,
            };
            let value = match pair.attribute {
                ACCESSIBLE | IN_PLACE | NO_ACCESS => pair.attribute,
                _ => pair.value,
            };
            range.attributes.insert(key, value);
        }
        Ok(())
    }
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_svm_attributes_set(
    ptr: *mut c_void,
    size: usize,
    list: *mut SvmPair,
    count: usize,
) -> u32 {
    code(runtime::get().and_then(|r| {
        let at = ptr.expose_provenance() as u64;
        if size == 0 || at.checked_add(size as u64).is_none() {
            return Err(Status::InvalidArgument);
        }
        // SAFETY: guaranteed by the caller.
        unsafe { r.set_svm(at, size as u64, items(list, count)?) }
    }))
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_svm_attributes_get(
    ptr: *mut c_void,
    size: usize,
    list: *mut SvmPair,
    count: usize,
) -> u32 {
    code(runtime::get().and_then(|r| {
        let at = ptr.addr() as u64;
        let allocations = lock(&r.allocations);
        let inside = |s: &&Svm| s.at <= at && at.saturating_add(size as u64) <= s.end();
        let range = allocations.svm.iter().find(inside);
        let get = |key: u64| range.and_then(|s| s.attributes.get(&key).copied());
        if list.is_null() && count > 0 {
            return Err(Status::InvalidArgument);
        }
        for n in 0..count {
            // SAFETY: guaranteed by the caller: the list has `count` elements.
            let pair = unsafe { &mut *list.add(n) };
            match pair.attribute {
                ACCESS_QUERY => {
                    let default = if pair.value == CPU {
                        ACCESSIBLE
                    } else {
                        NO_ACCESS
                    };
                    pair.attribute = get(ACCESS_QUERY << 32 | pair.value).unwrap_or(default);
                }
                // 0 for attributes that were not set, which means no preferred location (4) and no prefetch location (5).
                key => pair.value = get(key).unwrap_or(0),
            }
        }
        Ok(())
    }))
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_svm_prefetch_async(
    ptr: *mut c_void,
    size: usize,
    agent: Handle,
    count: u32,
    dependencies: *const Handle,
    completion: Handle,
) -> u32 {
    code(runtime::get().and_then(|r| {
        is_gpu(agent)?;
        let pair = SvmPair {
            attribute: 5,
            value: agent,
        };
        // SAFETY: guaranteed by the caller.
        let after = unsafe {
            r.set_svm(ptr.expose_provenance() as u64, size as u64, &[pair])?;
            items(dependencies, count as usize)?
        };
        r.start_copy(crate::copy::Copy::nothing(after, completion))
    }))
}

macro_rules! refused {
    ($($name:ident ( $($arg:ident: $ty:ty),* ) $why:literal;)*) => { $(
        #[doc = concat!("Always fails: ", $why, ".")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $ty),*) -> u32 {
            $(let _ = $arg;)*
            crate::report::line(concat!(stringify!($name), ": ", $why));
            Status::Error as u32
        }
    )* };
}

refused! {
    hsa_amd_ipc_memory_create(ptr: *mut c_void, len: usize, handle: *mut c_void)
        "memory of the GPU in software is not shared with other processes";
    hsa_amd_ipc_memory_attach(
        handle: *const c_void, len: usize, count: u32, agents: *const Handle, ptr: *mut *mut c_void
    ) "memory of the GPU in software is not shared with other processes";
    hsa_amd_ipc_memory_detach(ptr: *mut c_void)
        "memory of the GPU in software is not shared with other processes";
    hsa_amd_interop_map_buffer(
        count: u32, agents: *mut Handle, handle: i32, flags: u32, size: *mut usize,
        ptr: *mut *mut c_void, metadata_size: *mut usize, metadata: *mut *const c_void
    ) "there is no graphics driver whose buffers could be mapped";
    hsa_amd_interop_unmap_buffer(ptr: *mut c_void)
        "there is no graphics driver whose buffers could be mapped";
}
