//! AMD's loader extension, version 1.01: the contents of memory by address.

use crate::agent::GPU;
use crate::executable::Object;
use crate::runtime::{self, Runtime};
use crate::signal::lock;
use crate::status::{Status, code};
use crate::types::{Handle, put, put_text};
use std::ffi::c_void;
use std::sync::Arc;

/// The functions in the order of the table.
pub fn table() -> Vec<usize> {
    vec![
        query_host_address as *const () as usize,
        query_segment_descriptors as *const () as usize,
        query_executable as *const () as usize,
        iterate_loaded_code_objects as *const () as usize,
        loaded_code_object_get_info as *const () as usize,
    ]
}

/// # Safety
/// The caller follows the extension's header; this applies to all of its functions.
unsafe extern "C" fn query_host_address(device: *const c_void, host: *mut *const c_void) -> u32 {
    // SAFETY: guaranteed by the caller. The host's address is the device's.
    code(unsafe { put(host.cast(), device) })
}

/// `hsa_ven_amd_loader_segment_descriptor_t`.
#[repr(C)]
struct Segment {
    agent: Handle,
    executable: Handle,
    storage: u32,
    storage_base: u64,
    storage_size: usize,
    storage_offset: usize,
    base: u64,
    size: usize,
}

impl Runtime {
    /// All code objects, with their executables.
    fn objects(&self) -> Vec<(Handle, Handle, Arc<Object>)> {
        let list = lock(&self.executables.list);
        let all = list.iter().flat_map(|(&executable, e)| {
            let objects = e.objects.iter();
            objects.map(move |(handle, object)| (executable, *handle, object.clone()))
        });
        all.collect()
    }
}

/// # Safety
/// The caller follows the extension's header.
unsafe extern "C" fn query_segment_descriptors(list: *mut c_void, count: *mut usize) -> u32 {
    code(runtime::get().and_then(|r| {
        let objects = r.objects();
        if count.is_null() {
            return Err(Status::InvalidArgument);
        }
        if list.is_null() {
            // SAFETY: guaranteed by the caller.
            return unsafe { put(count.cast(), objects.len()) };
        }
        // SAFETY: guaranteed by the caller.
        let room = unsafe { count.read() };
        for (n, (executable, _, object)) in objects.iter().take(room).enumerate() {
            let segment = Segment {
                agent: GPU,
                executable: *executable,
                // In memory.
                storage: 2,
                storage_base: object.file.0,
                storage_size: object.file.1 as usize,
                storage_offset: 0,
                base: object.loaded.base,
                size: object.bytes as usize,
            };
            // SAFETY: guaranteed by the caller: there is memory for this number.
            unsafe { list.cast::<Segment>().add(n).write_unaligned(segment) };
        }
        Ok(())
    }))
}

/// # Safety
/// The caller follows the extension's header.
unsafe extern "C" fn query_executable(device: *const c_void, executable: *mut Handle) -> u32 {
    code(runtime::get().and_then(|r| {
        let at = device.addr() as u64;
        let holds = |o: &Object| at.wrapping_sub(o.loaded.base) < o.bytes;
        let found = r.objects().into_iter().find(|(_, _, o)| holds(o));
        let (found, ..) = found.ok_or(Status::InvalidArgument)?;
        // SAFETY: guaranteed by the caller.
        unsafe { put(executable.cast(), found) }
    }))
}

/// # Safety
/// The callback may be called with `data`.
unsafe extern "C" fn iterate_loaded_code_objects(
    executable: Handle,
    callback: Option<unsafe extern "C" fn(Handle, Handle, *mut c_void) -> u32>,
    data: *mut c_void,
) -> u32 {
    let (Ok(r), Some(callback)) = (runtime::get(), callback) else {
        return Status::InvalidArgument as u32;
    };
    for (of, object, _) in r.objects() {
        if of == executable {
            // SAFETY: guaranteed by the caller.
            match unsafe { callback(executable, object, data) } {
                0 => {}
                status => return status,
            }
        }
    }
    0
}

/// # Safety
/// The caller follows the extension's header.
unsafe extern "C" fn loaded_code_object_get_info(
    object: Handle,
    attribute: u32,
    value: *mut c_void,
) -> u32 {
    code(runtime::get().and_then(|r| {
        let found = r.objects().into_iter().find(|(_, h, _)| *h == object);
        let (executable, _, object) = found.ok_or(Status::InvalidCodeObject)?;
        let pid = std::process::id();
        let (at, bytes) = object.file;
        let uri = format!("memory://{pid}#offset={at:#x}&size={bytes}");
        macro_rules! answer {
            ($value:expr) => {
                // SAFETY: guaranteed by the caller.
                unsafe { put(value, $value) }
            };
        }
        match attribute {
            1 => answer!(executable),
            2 => answer!(2u32),
            3 => answer!(GPU),
            4 => answer!(2u32),
            5 => answer!(at),
            6 => answer!(bytes),
            8 => answer!(object.loaded.base as i64),
            9 => answer!(object.loaded.base),
            10 => answer!(object.bytes),
            11 => answer!(uri.len() as u32),
            // SAFETY: guaranteed by the caller, who has asked for the length.
            12 => unsafe { put_text(value, &uri, uri.len() + 1) },
            _ => Err(Status::InvalidArgument),
        }
    }))
}
