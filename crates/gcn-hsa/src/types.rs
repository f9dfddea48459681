//! The types of the interface, as in AMD's headers.

use crate::status::Status;
use std::ffi::c_void;

/// An opaque handle: in C, a structure that is passed like its only member.
pub type Handle = u64;

pub type Value = i64;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

/// `hsa_pitched_ptr_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pitched {
    pub base: *mut c_void,
    pub pitch: usize,
    pub slice: usize,
}

/// `hsa_queue_t`, the start of `amd_queue_t`.
#[repr(C)]
pub struct QueueHead {
    pub kind: u32,
    pub features: u32,
    pub base_address: *mut c_void,
    pub doorbell: Handle,
    pub size: u32,
    pub reserved: u32,
    pub id: u64,
}

/// `hsa_amd_pointer_info_t`.
#[repr(C)]
pub struct PointerInfo {
    pub size: u32,
    pub kind: u32,
    pub agent_base: *mut c_void,
    pub host_base: *mut c_void,
    pub bytes: usize,
    pub user_data: *mut c_void,
    pub owner: Handle,
    pub global_flags: u32,
}

/// `hsa_amd_svm_attribute_pair_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SvmPair {
    pub attribute: u64,
    pub value: u64,
}

/// `hsa_amd_memory_pool_link_info_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LinkInfo {
    pub min_latency: u32,
    pub max_latency: u32,
    pub min_bandwidth: u32,
    pub max_bandwidth: u32,
    pub atomic_32: bool,
    pub atomic_64: bool,
    pub coherent: bool,
    pub kind: u32,
    pub numa_distance: u32,
}

/// The callback for errors of a queue.
pub type QueueCallback = extern "C" fn(status: u32, queue: *mut QueueHead, data: *mut c_void);

/// An asynchronous handler of a signal. Returns true to be called again.
pub type SignalHandler = extern "C" fn(value: Value, arg: *mut c_void) -> bool;

/// Stores a result at a pointer of the caller.
///
/// # Safety
/// `to` is null or points to memory for a `T`, aligned or not.
pub unsafe fn put<T>(to: *mut c_void, value: T) -> Result<(), Status> {
    if to.is_null() {
        return Err(Status::InvalidArgument);
    }
    // SAFETY: guaranteed by the caller.
    unsafe { to.cast::<T>().write_unaligned(value) };
    Ok(())
}

/// Stores a text followed by zeros, `room` bytes in total.
///
/// # Safety
/// `to` is null or points to `room` bytes.
pub unsafe fn put_text(to: *mut c_void, text: &str, room: usize) -> Result<(), Status> {
    if to.is_null() {
        return Err(Status::InvalidArgument);
    }
    let len = text.len().min(room.saturating_sub(1));
    // SAFETY: guaranteed by the caller; `len` is less than `room`.
    unsafe {
        to.cast::<u8>().write_bytes(0, room);
        to.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), len);
    }
    Ok(())
}

/// Returns the items at a pointer of the interface.
///
/// # Safety
/// There are `count` items, which do not change while the result is used.
pub unsafe fn items<'a, T>(from: *const T, count: usize) -> Result<&'a [T], Status> {
    if count == 0 {
        return Ok(&[]);
    }
    if from.is_null() || !from.is_aligned() {
        return Err(Status::InvalidArgument);
    }
    // SAFETY: guaranteed by the caller.
    Ok(unsafe { std::slice::from_raw_parts(from, count) })
}
