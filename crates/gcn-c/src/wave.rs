//! One wave that steps through code.

use crate::{Failure, gcn_err, guard, location, quiet, slice, target, text};
use gcn::emu::engine::Engine;
use gcn::emu::interp::Interp;
use gcn::emu::snippet::End;
use gcn::lang::{self, Bench, Location, Value};
use std::ffi::c_char;

/// A wave with its registers, LDS and memory, and the code that it runs.
pub struct gcn_wave {
    bench: Bench,
    code: Vec<u8>,
    engine: Interp,
}

/// The reason why stepping stopped.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum gcn_end {
    /// All steps were executed.
    Steps = 0,
    /// The PC left the code.
    FellOff = 1,
    /// s_endpgm.
    Endpgm = 2,
    /// s_trap.
    Trap = 3,
    /// The wave halted, or waits for other waves.
    Waits = 4,
    /// An instruction failed: gcn_error has the report.
    Fault = 5,
}

/// Creates a wave of 64 lanes, all active, with registers of 0, that runs `code` from its first byte on.
///
/// # Safety
/// `arch` is a string; `code` has `size` bytes; `out` has room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_wave_new(
    arch: *const c_char,
    code: *const u8,
    size: usize,
    out: *mut *mut gcn_wave,
) -> gcn_err {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let (arch, out) = unsafe { (text(arch, "arch")?, location(out, "out")?) };
        // SAFETY: guaranteed by the caller.
        let code = unsafe { slice(code, size, "code")? };
        let bench = Bench::new(target(arch)?);
        *out = Box::into_raw(Box::new(gcn_wave {
            bench: bench.map_err(|e| Failure::new(gcn_err::Memory, e))?,
            code: code.to_vec(),
            engine: Interp::new(),
        }));
        Ok(())
    })
}

/// Frees a wave; NULL is ignored.
///
/// # Safety
/// `wave` comes from gcn_wave_new, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_wave_free(wave: *mut gcn_wave) {
    if !wave.is_null() {
        // SAFETY: `gcn_wave_new` made it of a box, and it is freed once.
        quiet((), || drop(unsafe { Box::from_raw(wave) }));
    }
}

/// Runs at most `steps` instructions. `*end` is the reason why they stopped, and the register "pc" the position; a wave that has ended stays there.
///
/// # Safety
/// `wave` comes from gcn_wave_new; `end` has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_wave_step(
    wave: *mut gcn_wave,
    steps: u64,
    end: *mut gcn_end,
) -> gcn_err {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let (wave, end) = unsafe { (location(wave, "wave")?, location(end, "end")?) };
        let engine: &mut dyn Engine = &mut wave.engine;
        let outcome = wave.bench.run(&wave.code, steps, engine);
        wave.bench.start = outcome.pc;
        *end = match outcome.end {
            End::Limit => gcn_end::Steps,
            End::FellOff => gcn_end::FellOff,
            End::Endpgm => gcn_end::Endpgm,
            End::Trap(_) => gcn_end::Trap,
            End::Halt | End::Barrier => gcn_end::Waits,
            End::Fault(report) => {
                *end = gcn_end::Fault;
                return Err(Failure::new(gcn_err::Run, report));
            }
        };
        Ok(())
    })
}

/// The location of a register's name.
fn register(name: &str, target: gcn::Target) -> Result<Location, Failure> {
    let unknown = || {
        let message = format!(
            "`{name}` is no register: expected s0, v0, s[0:1], vcc, exec, scc, m0, mode, pc or another"
        );
        Failure::new(gcn_err::Argument, message)
    };
    match name {
        "pc" => Ok(Location::Pc),
        name => lang::location(name, target).ok_or_else(unknown),
    }
}

/// Reads a register by its name: `s4`, `s[4:5]`, `vcc`, `exec`, `scc`, `m0`, `mode`, `pc` (bytes from the code's start), or one lane of "v0".
///
/// # Safety
/// `wave` comes from gcn_wave_new; `name` is a string; `value` has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_wave_get(
    wave: *mut gcn_wave,
    name: *const c_char,
    lane: u32,
    value: *mut u64,
) -> gcn_err {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let (wave, value) = unsafe { (location(wave, "wave")?, location(value, "value")?) };
        // SAFETY: guaranteed by the caller.
        let name = unsafe { text(name, "name")? };
        let at = register(name, wave.bench.target)?;
        *value = match at {
            Location::Pc => wave.bench.start,
            at => wave.bench.get(at).lane(lane as usize),
        };
        Ok(())
    })
}

/// Sets a register by its name; for a VGPR one lane, or with `lane` 64 all of them.
///
/// # Safety
/// `wave` comes from gcn_wave_new; `name` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_wave_set(
    wave: *mut gcn_wave,
    name: *const c_char,
    lane: u32,
    value: u64,
) -> gcn_err {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let (wave, name) = unsafe { (location(wave, "wave")?, text(name, "name")?) };
        let at = register(name, wave.bench.target)?;
        let value = match wave.bench.get(at) {
            Value::Lanes(mut lanes) if lane < 64 => {
                lanes[lane as usize] = value;
                Value::Lanes(lanes)
            }
            _ => Value::One(value),
        };
        let set = wave.bench.set(at, &value);
        set.map_err(|e| Failure::new(gcn_err::Argument, e))
    })
}

/// Copies bytes to the wave's memory; missing pages are mapped.
///
/// # Safety
/// `wave` comes from gcn_wave_new; `data` has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_wave_write(
    wave: *mut gcn_wave,
    address: u64,
    data: *const u8,
    size: usize,
) -> gcn_err {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let (wave, data) = unsafe { (location(wave, "wave")?, slice(data, size, "data")?) };
        let memory = |e: &dyn std::fmt::Display| Failure::new(gcn_err::Memory, e);
        let mut at = address;
        while at < address.saturating_add(size as u64) {
            wave.bench.map(at).map_err(|e| memory(&e))?;
            at = (at | 4095).saturating_add(1);
        }
        wave.bench
            .memory
            .write(address, data)
            .map_err(|e| memory(&e))
    })
}

/// Copies bytes from the wave's memory.
///
/// # Safety
/// `wave` comes from gcn_wave_new; `out` has room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_wave_read(
    wave: *mut gcn_wave,
    address: u64,
    out: *mut u8,
    size: usize,
) -> gcn_err {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let wave = unsafe { location(wave, "wave")? };
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
        let read = wave.bench.memory.read(address, out);
        read.map_err(|e| Failure::new(gcn_err::Memory, e))
    })
}
