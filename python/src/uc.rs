//! One wave that is stepped, in the shape of unicorn's Python module.

use crate::cs::bytes;
use crate::error::Told;
use gcn::emu::engine::{Code, Engine, Machine, Stop};
use gcn::emu::interp::Interp;
use gcn::emu::mem::{MemError, Perm};
use gcn::emu::probe::{Access, AccessLocation, Executed, Probe};
use gcn::isa::access::MemoryKind;
use gcn::isa::decode::Decoder;
use gcn::lang::{self, Bench, Location, Value};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Unicorn's numbers of hooks.
pub const HOOK_CODE: u32 = 4;
pub const HOOK_MEM_READ: u32 = 1 << 10;
pub const HOOK_MEM_WRITE: u32 = 1 << 11;
pub const MEM_READ: u32 = 16;
pub const MEM_WRITE: u32 = 17;

/// Instructions between two looks for Ctrl-C.
const SLICE: u64 = 4096;

struct Inner {
    bench: Bench,
    engine: Interp,
}

struct Hook {
    number: u64,
    kinds: u32,
    callback: Py<PyAny>,
    data: Py<PyAny>,
    begin: u64,
    end: u64,
}

impl Hook {
    /// Unicorn's rule: a hook whose end is before its beginning is for all addresses.
    fn covers(&self, kind: u32, address: u64) -> bool {
        self.kinds & kind != 0
            && (self.begin > self.end || (self.begin..=self.end).contains(&address))
    }
}

/// The accesses of an instruction.
#[derive(Default)]
struct Recorder(RefCell<Vec<Access>>);

impl Probe for Recorder {
    fn access(&self, access: &Access) -> bool {
        self.0.borrow_mut().push(*access);
        true
    }

    fn executed(&self, _: &Executed<'_>) {}
}

/// A wave of 64 lanes with its registers, LDS and memory, in the shape of unicorn's `Uc`. Registers are named as in assembly; VGPRs have 64 values.
///
/// >>> import gcn
/// >>> uc = gcn.Uc("gfx900")
/// >>> uc.mem_map(0x10000, 0x1000)
/// >>> code = gcn.asm("s_add_u32 s2, s0, s1; s_endpgm", "gfx900")
/// >>> uc.mem_write(0x10000, code)
/// >>> uc.reg_write("s0", 40); uc.reg_write("s1", 2)
/// >>> seen = []
/// >>> hook = uc.hook_add(gcn.UC_HOOK_CODE, lambda uc, address, size, data: seen.append(hex(address)))
/// >>> uc.emu_start(0x10000, 0x10000 + len(code))
/// >>> uc.reg_read("s2"), seen
/// (42, ['0x10000', '0x10004'])
#[pyclass(module = "gcn", frozen)]
pub struct Uc {
    /// In a box, because a wave's state is aligned to 64 bytes, and objects of Python to 16.
    inner: Box<Mutex<Inner>>,
    hooks: Mutex<Vec<Hook>>,
    numbers: AtomicU64,
    stopped: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn memory(error: MemError) -> PyErr {
    Told::new("memory", error.to_string()).into()
}

impl Uc {
    fn location(&self, name: &str) -> PyResult<Location> {
        if name.eq_ignore_ascii_case("pc") {
            return Ok(Location::Pc);
        }
        let target = lock(&self.inner).bench.target;
        let unknown = || {
            Told::new(
                "usage",
                format!(
                    "`{name}` is no register: expected s0, s[0:1], v0, vcc, exec, scc, m0, mode, pc or another"
                ),
            )
        };
        Ok(lang::location(name, target).ok_or_else(unknown)?)
    }

    /// Runs an instruction, and returns how it stopped and its accesses, if they are wanted.
    fn step(&self, inner: &mut Inner, accesses: bool) -> (Stop, Vec<Access>) {
        let recorder = Recorder::default();
        let Inner { bench, engine } = inner;
        let mut machine = Machine {
            target: bench.target,
            memory: &bench.memory,
            code: Code::Memory,
            lds: &mut bench.lds,
            global: &bench.global,
            hidden_private_base: 0,
            middle: &[],
            probe: accesses.then_some(&recorder as &dyn Probe),
        };
        let stop = engine.run(&mut bench.wave, &mut machine, &mut 1);
        (stop, recorder.0.into_inner())
    }

    /// Calls the hooks of a kind at an address.
    fn call(
        slf: &Bound<'_, Self>,
        kind: u32,
        address: u64,
        args: impl Fn(&Bound<'_, PyAny>, &Py<PyAny>, &Py<PyAny>) -> PyResult<()>,
    ) -> PyResult<()> {
        let py = slf.py();
        let hooks: Vec<(Py<PyAny>, Py<PyAny>)> = lock(&slf.get().hooks)
            .iter()
            .filter(|h| h.covers(kind, address))
            .map(|h| (h.callback.clone_ref(py), h.data.clone_ref(py)))
            .collect();
        for (callback, data) in hooks {
            args(slf.as_any(), &callback, &data)?;
        }
        Ok(())
    }

    /// An error of how an instruction stopped; true if the wave has ended.
    fn ended(stop: Stop, pc: u64) -> PyResult<bool> {
        let told = match stop {
            // A wave alone passes barriers.
            Stop::Limit | Stop::Yield | Stop::Barrier => return Ok(false),
            Stop::Endpgm | Stop::FellOff => return Ok(true),
            Stop::Trap(id) => Told::new("trap", format!("s_trap {id} at {pc:#x}")).with("trap", id),
            Stop::Halt => Told::new("run", format!("the wave halted before {pc:#x}")),
            Stop::Retry => Told::new(
                "deadlock",
                format!("the wave waits at {pc:#x} for others, and there are none"),
            ),
            Stop::Fault(report) => Told::new("fault", report.to_string())
                .with("fault_address", report.addr)
                .with("lane", report.lane)
                .with("instruction", report.text),
        };
        Err(told.with("pc", pc).with("address", pc).into())
    }
}

#[pymethods]
impl Uc {
    /// `arch` is a target, `gfx600` to `gfx90c`, or a chip's name; `mode` is 0.
    #[new]
    #[pyo3(signature = (arch, mode = 0))]
    fn new(arch: &str, mode: u32) -> PyResult<Uc> {
        let _ = mode;
        let bench = Bench::new(crate::cs::target(arch)?).map_err(|e| Told::new("memory", e))?;
        Ok(Uc {
            inner: Box::new(Mutex::new(Inner {
                bench,
                engine: Interp::new(),
            })),
            hooks: Mutex::default(),
            numbers: AtomicU64::new(1),
            stopped: AtomicBool::new(false),
        })
    }

    /// Maps `size` bytes of zeros at `address`, both multiples of 4096. `perms`: 1 read, 2 write, 4 execute.
    #[pyo3(signature = (address, size, perms = 7))]
    fn mem_map(&self, address: u64, size: u64, perms: u32) -> PyResult<()> {
        if !address.is_multiple_of(4096) || !size.is_multiple_of(4096) {
            return Err(Told::new("usage", "address and size must be multiples of 4096").into());
        }
        let kinds = [(1, Perm::READ), (2, Perm::WRITE), (4, Perm::EXEC)];
        let perm = kinds.into_iter().filter(|(bit, _)| perms & bit != 0);
        let perm = perm.fold(Perm::NONE, |all, (_, perm)| all | perm);
        let inner = lock(&self.inner);
        inner
            .bench
            .memory
            .map_at(address, size, perm)
            .map_err(memory)
    }

    /// Unmaps what `mem_map` mapped at `address`.
    #[pyo3(signature = (address, size = 0))]
    fn mem_unmap(&self, address: u64, size: u64) -> PyResult<()> {
        let _ = size;
        lock(&self.inner).bench.memory.free(address).map_err(memory)
    }

    /// Copies bytes to memory.
    fn mem_write(&self, address: u64, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let data = bytes(data)?;
        let done = lock(&self.inner).bench.memory.write(address, &data);
        done.map_err(|e| Told::new("memory", e.to_string()).into())
    }

    /// Copies bytes from memory.
    fn mem_read<'py>(
        &self,
        py: Python<'py>,
        address: u64,
        size: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        PyBytes::new_with(py, size, |out| {
            let done = lock(&self.inner).bench.memory.read(address, out);
            done.map_err(|e| Told::new("memory", e.to_string()).into())
        })
    }

    /// The value of a register; of a VGPR its 64 values.
    fn reg_read<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let value = match self.location(name)? {
            Location::Pc => Value::One(lock(&self.inner).bench.wave.pc),
            location => lock(&self.inner).bench.get(location),
        };
        match value {
            Value::One(n) => Ok(n.into_pyobject(py)?.into_any()),
            Value::Lanes(list) => {
                let lanes = py.import("gcn._display")?.getattr("Lanes")?;
                lanes.call1((list, name))
            }
        }
    }

    /// Sets a register; a VGPR to one value in all lanes, or to a sequence of them.
    fn reg_write(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let given = match value.extract::<u64>() {
            Ok(n) => Value::One(n),
            Err(_) => Value::Lanes(value.extract()?),
        };
        match self.location(name)? {
            Location::Pc => lock(&self.inner).bench.wave.pc = given.lane(0),
            location => {
                let set = lock(&self.inner).bench.set(location, &given);
                set.map_err(|e| Told::new("usage", e))?;
            }
        }
        Ok(())
    }

    /// Adds a hook: `UC_HOOK_CODE` calls `callback(uc, address, size, user_data)` before an instruction; `UC_HOOK_MEM_READ` and
    /// `UC_HOOK_MEM_WRITE` call `callback(uc, access, address, size, value, user_data)` for each lane's access to memory, after the
    /// instruction. It holds from the next instruction on, also if another hook adds it. Returns its number.
    #[pyo3(signature = (htype, callback, user_data = None, begin = 1, end = 0))]
    fn hook_add(
        &self,
        py: Python<'_>,
        htype: u32,
        callback: Py<PyAny>,
        user_data: Option<Py<PyAny>>,
        begin: u64,
        end: u64,
    ) -> PyResult<u64> {
        if htype == 0 || htype & !(HOOK_CODE | HOOK_MEM_READ | HOOK_MEM_WRITE) != 0 {
            let message =
                "expected UC_HOOK_CODE, UC_HOOK_MEM_READ, UC_HOOK_MEM_WRITE, or several of them";
            return Err(Told::new("usage", message).into());
        }
        let number = self.numbers.fetch_add(1, Relaxed);
        lock(&self.hooks).push(Hook {
            number,
            kinds: htype,
            callback,
            data: user_data.unwrap_or_else(|| py.None()),
            begin,
            end,
        });
        Ok(number)
    }

    /// Removes a hook.
    fn hook_del(&self, number: u64) -> PyResult<()> {
        let mut hooks = lock(&self.hooks);
        let at = hooks.iter().position(|h| h.number == number);
        let unknown = || Told::new("usage", format!("there is no hook {number}"));
        hooks.remove(at.ok_or_else(unknown)?);
        Ok(())
    }

    /// Ends `emu_start` before the next instruction; for hooks.
    fn emu_stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Runs from `begin` until the PC is `until`, the wave ends, `count` instructions have run (0: any number), or `timeout` microseconds have
    /// passed. Ctrl-C and exceptions of hooks end it, too.
    #[pyo3(signature = (begin, until, timeout = 0, count = 0))]
    fn emu_start(
        slf: Bound<'_, Self>,
        begin: u64,
        until: u64,
        timeout: u64,
        count: u64,
    ) -> PyResult<()> {
        let (py, uc) = (slf.py(), slf.get());
        uc.stopped.store(false, Relaxed);
        {
            let mut inner = lock(&uc.inner);
            inner.engine.invalidate();
            inner.bench.wave.pc = begin;
        }
        let start = Instant::now();
        let late = || timeout != 0 && start.elapsed() >= Duration::from_micros(timeout);
        let mut left = if count == 0 { u64::MAX } else { count };
        loop {
            if left == 0 || uc.stopped.load(Relaxed) || late() {
                return Ok(());
            }
            py.check_signals()?;
            let kinds = lock(&uc.hooks).iter().fold(0, |all, hook| all | hook.kinds);
            if kinds == 0 {
                let (ended, ran) = py.detach(|| -> PyResult<(bool, u64)> {
                    let mut inner = lock(&uc.inner);
                    for ran in 0..SLICE.min(left) {
                        let pc = inner.bench.wave.pc;
                        if pc == until || Uc::ended(uc.step(&mut inner, false).0, pc)? {
                            return Ok((true, ran));
                        }
                    }
                    Ok((false, SLICE.min(left)))
                })?;
                left -= ran;
                if ended {
                    return Ok(());
                }
                continue;
            }
            let (pc, size) = {
                let inner = lock(&uc.inner);
                let pc = inner.bench.wave.pc;
                let mut code = [0; 8];
                let half = inner.bench.memory.read(pc, &mut code[..4]);
                let whole = inner.bench.memory.read(pc, &mut code);
                let len = if whole.is_ok() { 8 } else { 4 };
                let insn = half
                    .ok()
                    .and_then(|()| Decoder::new(inner.bench.target).decode(&code[..len]));
                (pc, insn.map_or(4, |i| i.len))
            };
            if pc == until {
                return Ok(());
            }
            Uc::call(&slf, HOOK_CODE, pc, |uc, callback, data| {
                callback.call1(uc.py(), (uc, pc, size, data)).map(|_| ())
            })?;
            if uc.stopped.load(Relaxed) {
                return Ok(());
            }
            // A hook may have moved the PC.
            let pc = lock(&uc.inner).bench.wave.pc;
            let memory = kinds & (HOOK_MEM_READ | HOOK_MEM_WRITE) != 0;
            let (stop, accesses) = uc.step(&mut lock(&uc.inner), memory);
            left -= 1;
            for access in accesses {
                let AccessLocation::Memory(address) = access.location else {
                    continue;
                };
                let size = usize::from(access.size).min(8);
                let mut value = [0; 8];
                let read = lock(&uc.inner)
                    .bench
                    .memory
                    .read(address, &mut value[..size]);
                let value = read.map_or(0, |()| u64::from_le_bytes(value));
                let both = [
                    (access.kind != MemoryKind::Store, HOOK_MEM_READ, MEM_READ),
                    (access.kind != MemoryKind::Load, HOOK_MEM_WRITE, MEM_WRITE),
                ];
                for (_, hook, kind) in both.into_iter().filter(|(is, ..)| *is) {
                    Uc::call(&slf, hook, address, |uc, callback, data| {
                        let args = (uc, kind, address, access.size, value, data);
                        callback.call1(uc.py(), args).map(|_| ())
                    })?;
                }
            }
            if Uc::ended(stop, pc)? {
                return Ok(());
            }
        }
    }
}
