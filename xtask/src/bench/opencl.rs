//! The host's OpenCL, loaded at run time: building does not need it.
//!
//! Names, numbers and signatures are those of the OpenCL 1.2 specification.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_void};
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use libloading::Library;

type Handle = *mut c_void;

const DEVICE_TYPE_CPU: u64 = 2;
const PLATFORM_NAME: u32 = 0x0902;
const PLATFORM_VERSION: u32 = 0x0901;
const DEVICE_NAME: u32 = 0x102b;
const MEM_READ_WRITE: u64 = 1;
const MEM_COPY_HOST_PTR: u64 = 1 << 5;
const PROGRAM_BUILD_LOG: u32 = 0x1183;

/// The functions used here.
struct Functions {
    platform_ids: unsafe extern "C" fn(u32, *mut Handle, *mut u32) -> i32,
    platform_info: unsafe extern "C" fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32,
    device_ids: unsafe extern "C" fn(Handle, u64, u32, *mut Handle, *mut u32) -> i32,
    device_info: unsafe extern "C" fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32,
    create_context: unsafe extern "C" fn(
        *const isize,
        u32,
        *const Handle,
        *const c_void,
        *mut c_void,
        *mut i32,
    ) -> Handle,
    create_queue: unsafe extern "C" fn(Handle, Handle, u64, *mut i32) -> Handle,
    create_program:
        unsafe extern "C" fn(Handle, u32, *const *const c_char, *const usize, *mut i32) -> Handle,
    build_program: unsafe extern "C" fn(
        Handle,
        u32,
        *const Handle,
        *const c_char,
        *const c_void,
        *mut c_void,
    ) -> i32,
    build_info: unsafe extern "C" fn(Handle, Handle, u32, usize, *mut c_void, *mut usize) -> i32,
    create_kernel: unsafe extern "C" fn(Handle, *const c_char, *mut i32) -> Handle,
    set_arg: unsafe extern "C" fn(Handle, u32, usize, *const c_void) -> i32,
    create_buffer: unsafe extern "C" fn(Handle, u64, usize, *mut c_void, *mut i32) -> Handle,
    launch: unsafe extern "C" fn(
        Handle,
        Handle,
        u32,
        *const usize,
        *const usize,
        *const usize,
        u32,
        *const Handle,
        *mut Handle,
    ) -> i32,
    read: unsafe extern "C" fn(
        Handle,
        Handle,
        u32,
        usize,
        usize,
        *mut c_void,
        u32,
        *const Handle,
        *mut Handle,
    ) -> i32,
    write: unsafe extern "C" fn(
        Handle,
        Handle,
        u32,
        usize,
        usize,
        *const c_void,
        u32,
        *const Handle,
        *mut Handle,
    ) -> i32,
    finish: unsafe extern "C" fn(Handle) -> i32,
    release_memory: unsafe extern "C" fn(Handle) -> i32,
    release_kernel: unsafe extern "C" fn(Handle) -> i32,
    release_program: unsafe extern "C" fn(Handle) -> i32,
    /// Keeps the library loaded.
    _library: Library,
}

impl Functions {
    fn load() -> Result<Functions> {
        let names = ["libOpenCL.so.1", "libOpenCL.so", "OpenCL.dll"];
        // SAFETY: the library's initialisation is that of the system's OpenCL loader.
        let library = names
            .iter()
            .find_map(|name| unsafe { Library::new(*name) }.ok())
            .context("there is no libOpenCL (Debian: ocl-icd-libopencl1 and pocl-opencl-icd)")?;
        // SAFETY: every field's type is the signature of the function of that name in the specification.
        unsafe {
            Ok(Functions {
                platform_ids: *library.get(b"clGetPlatformIDs\0")?,
                platform_info: *library.get(b"clGetPlatformInfo\0")?,
                device_ids: *library.get(b"clGetDeviceIDs\0")?,
                device_info: *library.get(b"clGetDeviceInfo\0")?,
                create_context: *library.get(b"clCreateContext\0")?,
                create_queue: *library.get(b"clCreateCommandQueue\0")?,
                create_program: *library.get(b"clCreateProgramWithSource\0")?,
                build_program: *library.get(b"clBuildProgram\0")?,
                build_info: *library.get(b"clGetProgramBuildInfo\0")?,
                create_kernel: *library.get(b"clCreateKernel\0")?,
                set_arg: *library.get(b"clSetKernelArg\0")?,
                create_buffer: *library.get(b"clCreateBuffer\0")?,
                launch: *library.get(b"clEnqueueNDRangeKernel\0")?,
                read: *library.get(b"clEnqueueReadBuffer\0")?,
                write: *library.get(b"clEnqueueWriteBuffer\0")?,
                finish: *library.get(b"clFinish\0")?,
                release_memory: *library.get(b"clReleaseMemObject\0")?,
                release_kernel: *library.get(b"clReleaseKernel\0")?,
                release_program: *library.get(b"clReleaseProgram\0")?,
                _library: library,
            })
        }
    }
}

fn done(what: &str, code: i32) -> Result<()> {
    ensure!(code == 0, "{what}: OpenCL error {code}");
    Ok(())
}

/// PoCL's device: the processor's cores.
pub struct Device {
    f: Functions,
    device: Handle,
    context: Handle,
    queue: Handle,
    /// The platform's version and the device's name.
    pub name: String,
}

impl Device {
    /// # Errors
    /// If there is no OpenCL or PoCL is not among its platforms; the message names the package.
    pub fn pocl() -> Result<Device> {
        let f = Functions::load()?;
        let mut platforms = [null_mut(); 16];
        let mut count = 0;
        // SAFETY: here and below: pointers are to arrays of the lengths given with them, which outlive the call, and
        // handles are those that OpenCL has given and that have not been released.
        done("clGetPlatformIDs", unsafe {
            (f.platform_ids)(16, platforms.as_mut_ptr(), &mut count)
        })
        .context("OpenCL has no platform (Debian: pocl-opencl-icd)")?;
        let text =
            |of: unsafe extern "C" fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32,
             handle,
             what| {
                let mut bytes = [0u8; 256];
                let mut len = 0;
                // SAFETY: as above; `of` writes at most the stated number of bytes.
                unsafe {
                    of(
                        handle,
                        what,
                        bytes.len(),
                        bytes.as_mut_ptr().cast(),
                        &mut len,
                    )
                };
                let len = len.min(bytes.len()).saturating_sub(1);
                String::from_utf8_lossy(&bytes[..len]).trim().to_owned()
            };
        let known = &platforms[..(count as usize).min(platforms.len())];
        let pocl = |p: &&Handle| text(f.platform_info, **p, PLATFORM_NAME).contains("Portable");
        let &platform = known
            .iter()
            .find(pocl)
            .context("PoCL is not among OpenCL's platforms (Debian: pocl-opencl-icd)")?;
        let mut device = null_mut();
        // SAFETY: as above.
        done("clGetDeviceIDs", unsafe {
            (f.device_ids)(platform, DEVICE_TYPE_CPU, 1, &mut device, null_mut())
        })?;
        let name = format!(
            "{} on {}",
            text(f.platform_info, platform, PLATFORM_VERSION),
            text(f.device_info, device, DEVICE_NAME)
        );
        let mut error = 0;
        // SAFETY: as above.
        let context =
            unsafe { (f.create_context)(null(), 1, &device, null(), null_mut(), &mut error) };
        done("clCreateContext", error)?;
        // SAFETY: as above.
        let queue = unsafe { (f.create_queue)(context, device, 0, &mut error) };
        done("clCreateCommandQueue", error)?;
        Ok(Device {
            f,
            device,
            context,
            queue,
            name,
        })
    }

    /// Compiles source with options. Returns a kernel of it and the time.
    ///
    /// # Errors
    /// The compiler's messages, or that there is no such kernel.
    pub fn kernel(
        &self,
        source: &[u8],
        options: &str,
        name: &str,
    ) -> Result<(Kernel<'_>, Duration)> {
        let begun = Instant::now();
        let options = CString::new(format!("-cl-std=CL1.2 {options}"))?;
        let (text, len) = (source.as_ptr().cast::<c_char>(), source.len());
        let mut error = 0;
        // SAFETY: as in `pocl`; the text is copied.
        let program = unsafe { (self.f.create_program)(self.context, 1, &text, &len, &mut error) };
        done("clCreateProgramWithSource", error)?;
        // SAFETY: as in `pocl`.
        let code = unsafe {
            let options = options.as_ptr();
            (self.f.build_program)(program, 1, &self.device, options, null(), null_mut())
        };
        if code != 0 {
            let mut log = vec![0u8; 1 << 16];
            let mut len = 0;
            let (to, room) = (log.as_mut_ptr().cast(), log.len());
            // SAFETY: as in `pocl`.
            unsafe {
                (self.f.build_info)(program, self.device, PROGRAM_BUILD_LOG, room, to, &mut len)
            };
            log.truncate(len.min(room));
            bail!("PoCL does not build it: {}", String::from_utf8_lossy(&log));
        }
        let text = CString::new(name)?;
        // SAFETY: as in `pocl`.
        let kernel = unsafe { (self.f.create_kernel)(program, text.as_ptr(), &mut error) };
        done("clCreateKernel", error)?;
        let kernel = Kernel {
            device: self,
            kernel,
            program,
            buffers: Vec::new(),
            args: 0,
        };
        Ok((kernel, begun.elapsed()))
    }
}

/// A kernel and its arguments.
pub struct Kernel<'a> {
    device: &'a Device,
    kernel: Handle,
    program: Handle,
    /// The buffers with their sizes.
    buffers: Vec<(Handle, usize)>,
    args: u32,
}

impl Kernel<'_> {
    fn arg(&mut self, size: usize, value: *const c_void) -> Result<()> {
        // SAFETY: as in `Device::pocl`; `value` is null for a local argument, otherwise it points to `size` bytes.
        let code = unsafe { (self.device.f.set_arg)(self.kernel, self.args, size, value) };
        self.args += 1;
        done("clSetKernelArg", code)
    }

    /// The next argument: a value's bytes.
    ///
    /// # Errors
    /// If the kernel has no such argument.
    pub fn value(&mut self, bytes: &[u8]) -> Result<()> {
        self.arg(bytes.len(), bytes.as_ptr().cast())
    }

    /// The next argument: a pointer to this number of bytes of local memory.
    ///
    /// # Errors
    /// See [`Kernel::value`].
    pub fn local(&mut self, bytes: usize) -> Result<()> {
        self.arg(bytes, null())
    }

    /// The next argument: a buffer with a copy of `data`.
    ///
    /// # Errors
    /// If there is no memory for it; also see [`Kernel::value`].
    pub fn buffer(&mut self, data: &[u8]) -> Result<()> {
        let mut error = 0;
        // SAFETY: as in `Device::pocl`; the data are copied and not written, despite the signature.
        let buffer = unsafe {
            let data_at = data.as_ptr().cast_mut().cast();
            let how = MEM_READ_WRITE | MEM_COPY_HOST_PTR;
            (self.device.f.create_buffer)(self.device.context, how, data.len(), data_at, &mut error)
        };
        done("clCreateBuffer", error)?;
        self.buffers.push((buffer, data.len()));
        self.arg(size_of::<Handle>(), (&raw const buffer).cast())
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// An error of OpenCL.
    pub fn launch(&self, grid: [u32; 3], group: [u32; 3]) -> Result<()> {
        let (grid, group) = (grid.map(|n| n as usize), group.map(|n| n as usize));
        let f = &self.device.f;
        // SAFETY: as in `Device::pocl`. The kernel comes from this program's own source and stays inside its buffers.
        unsafe {
            let (g, l) = (grid.as_ptr(), group.as_ptr());
            let queue = self.device.queue;
            let code = (f.launch)(queue, self.kernel, 3, null(), g, l, 0, null(), null_mut());
            done("clEnqueueNDRangeKernel", code)?;
            done("clFinish", (f.finish)(queue))
        }
    }

    /// Resets the `n`th buffer to `data`, which has the same size.
    ///
    /// # Errors
    /// An error of OpenCL, or that there is no such buffer.
    pub fn write(&self, n: usize, data: &[u8]) -> Result<()> {
        let f = &self.device.f;
        let &(buffer, len) = self.buffers.get(n).context("no such buffer")?;
        ensure!(
            len == data.len(),
            "{} bytes for a buffer of {len}",
            data.len()
        );
        let (from, queue) = (data.as_ptr().cast(), self.device.queue);
        // SAFETY: as in `Device::pocl`; the call returns when all is written.
        let code = unsafe { (f.write)(queue, buffer, 1, 0, len, from, 0, null(), null_mut()) };
        done("clEnqueueWriteBuffer", code)
    }

    /// Returns the contents of the buffers in the order of the arguments.
    ///
    /// # Errors
    /// An error of OpenCL.
    pub fn read(&self) -> Result<Vec<Vec<u8>>> {
        let one = |&(buffer, len): &(Handle, usize)| {
            let mut data = vec![0u8; len];
            let (to, queue) = (data.as_mut_ptr().cast(), self.device.queue);
            // SAFETY: as in `Device::pocl`; the call returns when all is read.
            let code = unsafe {
                (self.device.f.read)(queue, buffer, 1, 0, len, to, 0, null(), null_mut())
            };
            done("clEnqueueReadBuffer", code).map(|()| data)
        };
        self.buffers.iter().map(one).collect()
    }
}

impl Drop for Kernel<'_> {
    fn drop(&mut self) {
        let f = &self.device.f;
        // SAFETY: each was created and is released once, and no commands are pending.
        unsafe {
            for &(buffer, _) in &self.buffers {
                (f.release_memory)(buffer);
            }
            (f.release_kernel)(self.kernel);
            (f.release_program)(self.program);
        }
    }
}
