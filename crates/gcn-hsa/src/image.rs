//! Images and samplers: converts descriptions to the resources (T#, V#) and samplers (S#) that kernels read.
//!
//! A handle is the guest address of twelve dwords (eight for a sampler), which kernels read, or which HIP copies to memory that
//! they read. Images are linear: rows have a constant pitch, and a slice has a constant number of rows. The fields are
//! those of AMD's register references for gfx6 to gfx9, as `gcn_emu`'s image code reads them.

use crate::agent::is_gpu;
use crate::memory::of_host;
use crate::runtime::{self, Runtime};
use crate::signal::lock;
use crate::status::{Status, code};
use crate::types::{Dim3, Handle, items, put};
use gcn_isa::target::Gen;
use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::sync::Mutex;

/// `hsa_ext_image_descriptor_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Descriptor {
    geometry: u32,
    width: usize,
    height: usize,
    depth: usize,
    array: usize,
    channel: u32,
    order: u32,
}

/// `hsa_ext_sampler_descriptor_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SamplerDescriptor {
    normalized: u32,
    linear: u32,
    address: u32,
}

/// `hsa_ext_image_region_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Region {
    offset: Dim3,
    range: Dim3,
}

/// The properties of an image.
struct Image {
    layout: Layout,
    data: u64,
}

/// The layout of an image's elements.
#[derive(Clone, Copy)]
struct Layout {
    width: usize,
    height: usize,
    slices: usize,
    /// The size of an element, and the pitch of rows and slices, in bytes.
    element: usize,
    row: usize,
    slice: usize,
}

impl Layout {
    fn bytes(&self) -> usize {
        self.slice.saturating_mul(self.slices)
    }
}

/// Images and samplers by their handles.
#[derive(Default)]
pub struct Images {
    images: Mutex<HashMap<Handle, Image>>,
    samplers: Mutex<HashSet<Handle>>,
}

/// An element's format: DATA_FORMAT, NUM_FORMAT, size in bytes and DST_SEL.
struct Format {
    data: u32,
    number: u32,
    bytes: usize,
    select: [u32; 4],
}

/// DST_SEL's values.
const ZERO: u32 = 0;
const ONE: u32 = 1;
const X: u32 = 4;
const Y: u32 = 5;
const Z: u32 = 6;
const W: u32 = 7;

impl Format {
    /// The format of a channel type and order.
    fn of(channel: u32, order: u32) -> Result<Format, Status> {
        let unsupported = Status::ImageFormat;
        let (count, select) = match order {
            // A, R and RX, RG and RGX, RA.
            0 => (1, [ZERO, ZERO, ZERO, X]),
            1 | 2 | 18 => (1, [X, ZERO, ZERO, ONE]),
            3 | 4 => (2, [X, Y, ZERO, ONE]),
            5 => (2, [X, ZERO, ZERO, Y]),
            // RGB, RGBX, and of sRGB.
            6 | 7 | 12 | 13 => (3, [X, Y, Z, ONE]),
            // RGBA, BGRA, ARGB, ABGR.
            8 | 14 => (4, [X, Y, Z, W]),
            9 | 15 => (4, [Z, Y, X, W]),
            10 => (4, [Y, Z, W, X]),
            11 => (4, [W, Z, Y, X]),
            // Intensity and luminance.
            16 => (1, [X, X, X, X]),
            17 => (1, [X, X, X, ONE]),
            _ => return Err(unsupported),
        };
        let gamma = (12..=15).contains(&order);
        // The number of bits of a component, and the number format.
        let (bits, number) = match channel {
            0 => (8, 1),
            1 => (16, 1),
            2 => (8, if gamma { 9 } else { 0 }),
            3 => (16, 0),
            5..=7 if count == 3 => {
                let (data, bytes) = match channel {
                    5 => (17, 2),
                    6 => (16, 2),
                    _ => (8, 4),
                };
                // Red is the highest component of these.
                let select = [Z, Y, X, ONE];
                return Ok(Format {
                    data,
                    number: 0,
                    bytes,
                    select,
                });
            }
            8 => (8, 5),
            9 => (16, 5),
            10 => (32, 5),
            11 => (8, 4),
            12 => (16, 4),
            13 => (32, 4),
            14 => (16, 7),
            15 => (32, 7),
            _ => return Err(unsupported),
        };
        if gamma && number != 9 {
            return Err(unsupported);
        }
        // The fourth component of RGBX is ignored.
        let stored = if matches!(order, 7 | 13) { 4 } else { count };
        let data = match (bits, stored) {
            (8, 1) => 1,
            (8, 2) => 3,
            (8, 4) => 10,
            (16, 1) => 2,
            (16, 2) => 5,
            (16, 4) => 12,
            (32, 1) => 4,
            (32, 2) => 11,
            (32, 4) => 14,
            _ => return Err(unsupported),
        };
        Ok(Format {
            data,
            number,
            bytes: bits / 8 * stored,
            select,
        })
    }
}

/// The geometry of a buffer.
const BUFFER: u32 = 5;

impl Descriptor {
    /// Returns the number of rows and of slices.
    fn extent(&self) -> Result<(usize, usize, usize), Status> {
        let at_least = |n: usize| n.max(1);
        let (height, slices) = match self.geometry {
            0 | BUFFER => (1, 1),
            1 | 6 => (self.height, 1),
            2 => (self.height, self.depth),
            3 => (1, self.array),
            4 | 7 => (self.height, self.array),
            _ => return Err(Status::InvalidArgument),
        };
        let most = match self.geometry {
            BUFFER => u32::MAX as usize,
            _ => 16384,
        };
        let (height, slices) = (at_least(height), at_least(slices));
        if self.width == 0 || self.width > most || height > 16384 || slices > 8192 {
            return Err(Status::ImageSize);
        }
        Ok((self.width, height, slices))
    }

    /// Returns the layout of the elements. With a pitch of 0, rows begin at multiples of 256 bytes.
    fn layout(&self, row: usize, slice: usize) -> Result<(Format, Layout), Status> {
        let format = Format::of(self.channel, self.order)?;
        let (width, height, slices) = self.extent()?;
        let tight = width * format.bytes;
        let row = match row {
            0 if self.geometry == BUFFER => tight,
            0 => tight.next_multiple_of(256),
            row => row,
        };
        let whole = row * height;
        let fits = row >= tight && row.is_multiple_of(format.bytes);
        // The pitch has 14 bits on gfx6 to gfx8, and slices are adjacent.
        if !fits || row / format.bytes > 16384 && self.geometry != BUFFER {
            return Err(Status::ImagePitch);
        }
        if slices > 1 && slice != 0 && slice != whole {
            return Err(Status::ImagePitch);
        }
        let layout = Layout {
            width,
            height,
            slices,
            element: format.bytes,
            row,
            slice: whole,
        };
        Ok((format, layout))
    }

    /// Returns the resource.
    fn words(&self, format: &Format, layout: &Layout, data: u64, generation: Gen) -> [u32; 12] {
        let mut words = [0; 12];
        let select = format.select;
        let selects = select[0] | select[1] << 3 | select[2] << 6 | select[3] << 9;
        // The values that get_image_channel_data_type and related functions read.
        words[8] = self.channel;
        words[9] = self.order;
        words[10] = layout.width as u32;
        if self.geometry == BUFFER {
            let stride = layout.element as u32;
            let records = match generation {
                Gen::Gfx8 => layout.width as u32 * stride,
                _ => layout.width as u32,
            };
            words[0] = data as u32;
            words[1] = (data >> 32) as u32 & 0xffff | stride << 16;
            words[2] = records;
            words[3] = selects | format.number << 12 | format.data << 15;
            return words;
        }
        let gfx9 = generation == Gen::Gfx9;
        let kind = match self.geometry {
            0 => 8,
            1 | 6 => 9,
            2 => 10,
            3 => 12,
            _ => 13,
        };
        let (width, height) = (layout.width as u32 - 1, layout.height as u32 - 1);
        let last = layout.slices as u32 - 1;
        let pitch = (layout.row / layout.element) as u32 - 1;
        words[0] = (data >> 8) as u32;
        words[1] = (data >> 40) as u32 & 0xff | format.data << 20 | format.number << 26;
        words[2] = width | height << 14;
        // TILING_INDEX 8 is linear, on gfx9 SW_MODE 0.
        words[3] = selects | if gfx9 { 0 } else { 8 << 20 } | kind << 28;
        words[4] = if gfx9 || self.geometry == 2 { last } else { 0 } | pitch << 13;
        words[5] = if gfx9 || self.geometry == 2 {
            0
        } else {
            last << 13
        };
        words
    }
}

/// Returns the bytes of dwords for a slot.
fn slot(words: &[u32]) -> [u64; 8] {
    let word = |n: usize| words.get(n).copied().unwrap_or(0) as u64;
    std::array::from_fn(|n| word(2 * n) | word(2 * n + 1) << 32)
}

impl Runtime {
    /// Creates an image from memory.
    fn new_image(
        &self,
        descriptor: &Descriptor,
        data: u64,
        row: usize,
        slice: usize,
    ) -> Result<Handle, Status> {
        let (format, layout) = descriptor.layout(row, slice)?;
        let generation = self.properties.target.generation();
        if data == 0 || descriptor.geometry != BUFFER && !data.is_multiple_of(256) {
            return Err(Status::InvalidArgument);
        }
        let words = descriptor.words(&format, &layout, data, generation);
        // The bytes that image instructions write are not tracked.
        self.with_checks(|checks| checks.holds_image(data));
        let handle = self.new_slot(slot(&words))?;
        lock(&self.images.images).insert(handle, Image { layout, data });
        Ok(handle)
    }

    /// Copies a region between an image and other memory.
    ///
    /// # Safety
    /// The other memory and the image's are mapped.
    unsafe fn copy_region(
        &self,
        image: Handle,
        region: &Region,
        outside: u64,
        row: usize,
        slice: usize,
        into: bool,
    ) -> Result<(), Status> {
        let (layout, data) = {
            let images = lock(&self.images.images);
            let image = images.get(&image).ok_or(Status::InvalidArgument)?;
            (image.layout, image.data)
        };
        let Region { offset, range } = *region;
        let [width, height, depth] = [range.x, range.y, range.z].map(|n| n.max(1) as usize);
        let inside = |at: u32, count: usize, all: usize| at as usize + count <= all;
        if !inside(offset.x, width, layout.width)
            || !inside(offset.y, height, layout.height)
            || !inside(offset.z, depth, layout.slices)
        {
            return Err(Status::InvalidArgument);
        }
        let bytes = width * layout.element;
        let row = if row == 0 { bytes } else { row };
        let slice = if slice == 0 { row * height } else { slice };
        let _outside = self.outside();
        for z in 0..depth {
            for y in 0..height {
                let here = (offset.z as usize + z) * layout.slice
                    + (offset.y as usize + y) * layout.row
                    + offset.x as usize * layout.element;
                let here = of_host(data) as usize + here;
                let there = of_host(outside) as usize + z * slice + y * row;
                let (to, from) = if into { (here, there) } else { (there, here) };
                let to: *mut u8 = std::ptr::with_exposed_provenance_mut(to);
                let from: *const u8 = std::ptr::with_exposed_provenance(from);
                // SAFETY: guaranteed by the caller; the address is within the image.
                unsafe { to.copy_from(from, bytes) };
                self.with_checks(|checks| checks.written(to.addr() as u64, bytes as u64));
            }
        }
        Ok(())
    }
}

/// Returns a structure of the interface.
///
/// # Safety
/// The pointer is null or points to a structure.
unsafe fn one<T: Copy>(at: *const T) -> Result<T, Status> {
    // SAFETY: guaranteed by the caller.
    unsafe { items(at, 1)? }
        .first()
        .copied()
        .ok_or(Status::InvalidArgument)
}

/// # Safety
/// The caller follows the manual; this applies to all functions of the interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_ext_image_create(
    agent: Handle,
    descriptor: *const Descriptor,
    data: *const c_void,
    access: u32,
    image: *mut Handle,
) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe { hsa_ext_image_create_with_layout(agent, descriptor, data, access, 1, 0, 0, image) }
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_ext_image_create_with_layout(
    agent: Handle,
    descriptor: *const Descriptor,
    data: *const c_void,
    _access: u32,
    _layout: u32,
    row: usize,
    slice: usize,
    image: *mut Handle,
) -> u32 {
    code(runtime::get().and_then(|r| {
        is_gpu(agent)?;
        // SAFETY: guaranteed by the caller.
        let descriptor = unsafe { one(descriptor)? };
        let at = data.expose_provenance() as u64;
        let made = r.new_image(&descriptor, at, row, slice)?;
        // SAFETY: guaranteed by the caller.
        unsafe { put(image.cast(), made) }
    }))
}

/// # Safety
/// The caller follows the manual. The layout data of another chip's driver is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_image_create(
    agent: Handle,
    descriptor: *const Descriptor,
    _layout: *const c_void,
    data: *const c_void,
    access: u32,
    image: *mut Handle,
) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe { hsa_ext_image_create(agent, descriptor, data, access, image) }
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_ext_image_destroy(agent: Handle, image: Handle) -> u32 {
    code(runtime::get().and_then(|r| {
        is_gpu(agent)?;
        let found = lock(&r.images.images).remove(&image);
        found.ok_or(Status::InvalidArgument)?;
        r.free_slot(image)
    }))
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_ext_image_data_get_info(
    agent: Handle,
    descriptor: *const Descriptor,
    access: u32,
    info: *mut c_void,
) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe { hsa_ext_image_data_get_info_with_layout(agent, descriptor, access, 1, 0, 0, info) }
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_ext_image_data_get_info_with_layout(
    agent: Handle,
    descriptor: *const Descriptor,
    _access: u32,
    _layout: u32,
    row: usize,
    slice: usize,
    info: *mut c_void,
) -> u32 {
    code(is_gpu(agent).and_then(|_| {
        // SAFETY: guaranteed by the caller.
        let descriptor = unsafe { one(descriptor)? };
        let (_, layout) = descriptor.layout(row, slice)?;
        // SAFETY: guaranteed by the caller: memory for size and alignment.
        unsafe { put(info, [layout.bytes(), 256]) }
    }))
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_ext_image_get_capability(
    agent: Handle,
    geometry: u32,
    format: *const [u32; 2],
    mask: *mut c_void,
) -> u32 {
    code(is_gpu(agent).and_then(|_| {
        // SAFETY: guaranteed by the caller.
        let [channel, order] = unsafe { one(format)? };
        let can = geometry <= 7 && Format::of(channel, order).is_ok();
        // Read, write, both, and at the same time.
        // SAFETY: guaranteed by the caller.
        unsafe { put(mask, if can { 15u32 } else { 0 }) }
    }))
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_ext_image_import(
    agent: Handle,
    from: *const c_void,
    row: usize,
    slice: usize,
    image: Handle,
    region: *const Region,
) -> u32 {
    code(runtime::get().and_then(|r| {
        is_gpu(agent)?;
        let from = from.expose_provenance() as u64;
        // SAFETY: guaranteed by the caller.
        unsafe { r.copy_region(image, &one(region)?, from, row, slice, true) }
    }))
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_ext_image_export(
    agent: Handle,
    image: Handle,
    to: *mut c_void,
    row: usize,
    slice: usize,
    region: *const Region,
) -> u32 {
    code(runtime::get().and_then(|r| {
        is_gpu(agent)?;
        let to = to.expose_provenance() as u64;
        // SAFETY: guaranteed by the caller.
        unsafe { r.copy_region(image, &one(region)?, to, row, slice, false) }
    }))
}

/// Returns the sampler of a description.
fn sampler_words(d: &SamplerDescriptor) -> Result<[u32; 8], Status> {
    let clamp = match d.address {
        // Clamped to the edge, clamped to the border, repeated (also if undefined), mirrored.
        1 => 2,
        2 => 6,
        0 | 3 => 0,
        4 => 1,
        _ => return Err(Status::Sampler),
    };
    if d.normalized > 1 || d.linear > 1 {
        return Err(Status::Sampler);
    }
    let mut words = [0; 8];
    let unnormalized = 1 - d.normalized;
    // TRUNC_COORD is 0: for the nearest element, kernels compute coordinates that are multiples of an element's width, which
    // the chip must round.
    words[0] = clamp | clamp << 3 | clamp << 6 | unnormalized << 15;
    words[1] = 0xfff << 12;
    let across = if d.linear == 1 { 2 } else { 1 };
    words[2] = d.linear << 20 | d.linear << 22 | across << 24;
    Ok(words)
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_ext_sampler_create(
    agent: Handle,
    descriptor: *const SamplerDescriptor,
    sampler: *mut Handle,
) -> u32 {
    code(runtime::get().and_then(|r| {
        is_gpu(agent)?;
        // SAFETY: guaranteed by the caller.
        let words = sampler_words(&unsafe { one(descriptor)? })?;
        let handle = r.new_slot(slot(&words))?;
        lock(&r.images.samplers).insert(handle);
        // SAFETY: guaranteed by the caller.
        unsafe { put(sampler.cast(), handle) }
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_ext_sampler_destroy(agent: Handle, sampler: Handle) -> u32 {
    code(runtime::get().and_then(|r| {
        is_gpu(agent)?;
        if !lock(&r.images.samplers).remove(&sampler) {
            return Err(Status::InvalidArgument);
        }
        r.free_slot(sampler)
    }))
}
