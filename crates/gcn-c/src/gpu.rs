//! Loading and launching.

use crate::{Failure, gcn_err, guard, location, quiet, slice, target, text};
use gcn::emu::mem::Perm;
use gcn::{Arg, Error};
use std::ffi::c_char;

/// A GPU in software. Several threads may use it at once.
pub struct gcn_gpu(gcn::Gpu);

/// A loaded code object.
pub struct gcn_program(gcn::Program);

/// The kind of an argument.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum gcn_arg_kind {
    /// A value of `size` bytes at `data`: a number or a structure.
    Value = 0,
    /// The guest address `address`.
    Pointer = 1,
    /// A pointer to `size` bytes of LDS.
    Local = 2,
}

/// An argument of a kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gcn_arg {
    /// Its kind: a gcn_arg_kind.
    pub kind: u32,
    /// Bytes of a value, or of LDS.
    pub size: u32,
    /// A value's bytes.
    pub data: *const u8,
    /// The guest address of a pointer.
    pub address: u64,
}

/// The statistics of a launch.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct gcn_stats {
    /// Instructions that waves executed.
    pub instructions: u64,
    /// Waves.
    pub waves: u64,
}

/// The result code of an error of the library.
fn failure(error: Error) -> Failure {
    let err = match &error {
        Error::Run(_) => gcn_err::Run,
        Error::NoKernel { .. } | Error::WhichKernel { .. } => gcn_err::Kernel,
        Error::Argument { .. } | Error::ArgumentCount { .. } => gcn_err::Argument,
        Error::Memory(_) | Error::Access(_) | Error::HostMemory { .. } => gcn_err::Memory,
        Error::Assembly { .. } => gcn_err::Assembly,
        _ => gcn_err::Object,
    };
    Failure::new(err, error)
}

/// Creates a GPU of an architecture, with 4 GiB of memory. Only pages in use take memory of the host.
///
/// # Safety
/// `arch` is a string; `out` has room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_gpu_new(arch: *const c_char, out: *mut *mut gcn_gpu) -> gcn_err {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let (arch, out) = unsafe { (text(arch, "arch")?, location(out, "out")?) };
        let gpu = gcn::Gpu::new(target(arch)?).map_err(failure)?;
        *out = Box::into_raw(Box::new(gcn_gpu(gpu)));
        Ok(())
    })
}

/// Frees a GPU; programs that are loaded on it stay valid. NULL is ignored.
///
/// # Safety
/// `gpu` comes from gcn_gpu_new, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_gpu_free(gpu: *mut gcn_gpu) {
    if !gpu.is_null() {
        // SAFETY: `gcn_gpu_new` made it of a box, and it is freed once.
        quiet((), || drop(unsafe { Box::from_raw(gpu) }));
    }
}

/// Loads a code object, or the one for the GPU from a bundle, program or library.
///
/// # Safety
/// `gpu` comes from gcn_gpu_new; `file` has `size` bytes; `out` has room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_load(
    gpu: *mut gcn_gpu,
    file: *const u8,
    size: usize,
    out: *mut *mut gcn_program,
) -> gcn_err {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let (gpu, out) = unsafe { (shared(gpu)?, location(out, "out")?) };
        // SAFETY: guaranteed by the caller.
        let file = unsafe { slice(file, size, "file")? };
        let program = gpu.load(file).map_err(failure)?;
        *out = Box::into_raw(Box::new(gcn_program(program)));
        Ok(())
    })
}

/// The GPU of a handle, which other threads may use as well.
///
/// # Safety
/// `gpu` is NULL or comes from `gcn_gpu_new` and lives for `'a`.
unsafe fn shared<'a>(gpu: *const gcn_gpu) -> Result<&'a gcn::Gpu, Failure> {
    // SAFETY: the caller promises that it is NULL or valid.
    let gpu = unsafe { gpu.as_ref() };
    let null = || Failure::new(gcn_err::Argument, "gpu is NULL");
    Ok(&gpu.ok_or_else(null)?.0)
}

/// Unloads a program; NULL is ignored.
///
/// # Safety
/// `program` comes from gcn_load, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_program_free(program: *mut gcn_program) {
    if !program.is_null() {
        // SAFETY: `gcn_load` made it of a box, and it is freed once.
        quiet((), || drop(unsafe { Box::from_raw(program) }));
    }
}

/// Allocates `bytes` of guest memory, zeros, at `*address`.
///
/// # Safety
/// `gpu` comes from gcn_gpu_new; `address` has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_alloc(gpu: *mut gcn_gpu, bytes: u64, address: *mut u64) -> gcn_err {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let (gpu, address) = unsafe { (shared(gpu)?, location(address, "address")?) };
        let memory = &gpu.machine().memory;
        let made = memory.alloc(bytes.max(1), 256, Perm::RW);
        *address = made.map_err(|e| Failure::new(gcn_err::Memory, e))?;
        Ok(())
    })
}

/// Frees memory of gcn_alloc.
///
/// # Safety
/// `gpu` comes from gcn_gpu_new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_dealloc(gpu: *mut gcn_gpu, address: u64) -> gcn_err {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let memory = &unsafe { shared(gpu)? }.machine().memory;
        let freed = memory.free(address);
        freed.map_err(|e| Failure::new(gcn_err::Memory, e))
    })
}

/// Copies bytes from guest memory.
///
/// # Safety
/// `gpu` comes from gcn_gpu_new; `out` has room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_read(
    gpu: *mut gcn_gpu,
    address: u64,
    out: *mut u8,
    size: usize,
) -> gcn_err {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let memory = &unsafe { shared(gpu)? }.machine().memory;
        if size == 0 {
            return Ok(());
        }
        // SAFETY: guaranteed by the caller.
        let first = unsafe { location(out, "out")? };
        // SAFETY: there is room for `size` bytes, and writing zeros to it makes it initialised.
        let out = unsafe {
            std::ptr::write_bytes(first, 0, size);
            std::slice::from_raw_parts_mut(first, size)
        };
        let read = memory.read(address, out);
        read.map_err(|e| Failure::new(gcn_err::Memory, e))
    })
}

/// Copies bytes to guest memory.
///
/// # Safety
/// `gpu` comes from gcn_gpu_new; `data` has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_write(
    gpu: *mut gcn_gpu,
    address: u64,
    data: *const u8,
    size: usize,
) -> gcn_err {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let (gpu, data) = unsafe { (shared(gpu)?, slice(data, size, "data")?) };
        let written = gpu.machine().memory.write(address, data);
        written.map_err(|e| Failure::new(gcn_err::Memory, e))
    })
}

/// Runs a kernel (NULL: the only one) over `grid` work-items in workgroups of `group`, to its end. `stats` may be NULL.
///
/// # Safety
/// `program` comes from gcn_load; `kernel` is a string or NULL; `grid` and `group` have three numbers, `args` has `count` arguments, and each value its bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_launch(
    program: *mut gcn_program,
    kernel: *const c_char,
    grid: *const u32,
    group: *const u32,
    args: *const gcn_arg,
    count: usize,
    stats: *mut gcn_stats,
) -> gcn_err {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let program = unsafe { location(program, "program")? };
        // SAFETY: guaranteed by the caller.
        let (grid, group) = unsafe { (slice(grid, 3, "grid")?, slice(group, 3, "group")?) };
        // SAFETY: guaranteed by the caller.
        let args = unsafe { slice(args, count, "args")? };
        let kernel = match kernel.is_null() {
            true => program.0.only_kernel(),
            // SAFETY: guaranteed by the caller.
            false => program.0.kernel(unsafe { text(kernel, "kernel")? }),
        };
        let three = |of: &[u32]| [of[0].max(1), of[1].max(1), of[2].max(1)];
        let mut launch = kernel.map_err(failure)?.launch(three(grid), three(group));
        for (n, arg) in args.iter().enumerate() {
            launch = launch.arg(match arg.kind {
                0 => {
                    let what = format!("data of argument {n}");
                    // SAFETY: guaranteed by the caller.
                    Arg::Value(unsafe { slice(arg.data, arg.size as usize, &what)? }.to_vec())
                }
                1 => Arg::pointer(arg.address),
                2 => Arg::Local(arg.size),
                kind => {
                    let message = format!("argument {n} has the kind {kind}");
                    return Err(Failure::new(gcn_err::Argument, message));
                }
            });
        }
        let ran = launch.run().map_err(failure)?;
        // SAFETY: the caller promises that it is NULL or has room.
        if let Some(stats) = unsafe { stats.as_mut() } {
            *stats = gcn_stats {
                instructions: ran.instructions,
                waves: ran.waves,
            };
        }
        Ok(())
    })
}
