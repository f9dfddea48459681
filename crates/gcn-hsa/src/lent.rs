//! Reports accesses of kernels to lent memory that the program has unmapped, or whose file it has truncated.
//!
//! The page map still permits the access, but the host has no page there. A handler of the host's signal reports this and
//! then forwards the signal to the previous handler.

use crate::runtime;
use gcn_emu::mem::ALIAS;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::SeqCst};

/// The maximum number of concurrent launches that a report can name.
const SLOTS: usize = 16;

/// A running launch: its number, 0 if the slot is free, and its kernel's name.
struct Slot {
    number: AtomicU64,
    name: AtomicPtr<u8>,
    bytes: AtomicUsize,
}

static LAUNCHES: [Slot; SLOTS] = [const {
    Slot {
        number: AtomicU64::new(0),
        name: AtomicPtr::new(ptr::null_mut()),
        bytes: AtomicUsize::new(0),
    }
}; SLOTS];

/// The slot of a launch, which is freed when this is dropped.
pub struct Running<'a> {
    slot: Option<&'static Slot>,
    /// The name that the signal handler reads.
    _name: &'a str,
}

impl Running<'_> {
    pub fn new(number: u64, name: &str) -> Running<'_> {
        let free = |slot: &&Slot| {
            let taken = slot.number.compare_exchange(0, number, SeqCst, SeqCst);
            taken.is_ok()
        };
        let slot = LAUNCHES.iter().find(free);
        if let Some(slot) = slot {
            slot.bytes.store(0, SeqCst);
            slot.name.store(name.as_ptr().cast_mut(), SeqCst);
            slot.bytes.store(name.len(), SeqCst);
        }
        Running { slot, _name: name }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            slot.bytes.store(0, SeqCst);
            slot.number.store(0, SeqCst);
        }
    }
}

/// Text that is formatted without allocation.
struct Line {
    text: [u8; 1024],
    len: usize,
}

impl Line {
    fn put(&mut self, bytes: &[u8]) {
        let room = self.text.len() - self.len;
        let count = bytes.len().min(room);
        self.text[self.len..self.len + count].copy_from_slice(&bytes[..count]);
        self.len += count;
    }

    fn number(&mut self, mut value: u64, base: u64) {
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b"0123456789abcdef"[(value % base) as usize];
            value /= base;
            if value == 0 {
                break;
            }
        }
        self.put(&digits[at..]);
    }
}

/// The previous handlers of the signals.
static mut BEFORE: [MaybeUninit<libc::sigaction>; 2] = [MaybeUninit::uninit(); 2];
const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// True after the first report.
static SAID: AtomicBool = AtomicBool::new(false);

/// Installs the handler. Called before the first page is lent.
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (n, signal) in SIGNALS.into_iter().enumerate() {
            let handle: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = handle;
            // SAFETY: the structures are plain numbers, for which zeros are valid; the handler calls only async-signal-safe
            // functions.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handle as libc::sighandler_t;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                let before = (&raw mut BEFORE).cast::<libc::sigaction>().add(n);
                before.write(std::mem::zeroed());
                libc::sigaction(signal, &action, before);
            }
        }
    });
}

/// Returns true if kernels may access an address of the host that is not the GPU's own memory.
fn is_lent(address: u64) -> bool {
    let Ok(r) = runtime::get() else { return false };
    let memory = r.memory();
    if memory.own().contains(&address) {
        return false;
    }
    memory.perm(address).is_some() || memory.perm(address.wrapping_add(ALIAS)).is_some()
}

fn tell(address: u64) {
    let mut line = Line {
        text: [0; 1024],
        len: 0,
    };
    line.put(b"gcn: the page at 0x");
    line.number(address, 16);
    line.put(
        b" is lent to the GPU (registered or managed memory), but the program has unmapped it\n",
    );
    let mut any = false;
    for slot in &LAUNCHES {
        let number = slot.number.load(SeqCst);
        let (name, bytes) = (slot.name.load(SeqCst), slot.bytes.load(SeqCst));
        if number == 0 || bytes == 0 {
            continue;
        }
        any = true;
        line.put(b"gcn:   under way: launch ");
        line.number(number, 10);
        line.put(b", kernel ");
        // SAFETY: the name is valid until its launch ends, and the launch waits for this thread or for another one in this
        // handler.
        line.put(unsafe { std::slice::from_raw_parts(name, bytes.min(256)) });
        line.put(b"\n");
    }
    if !any {
        line.put(b"gcn:   no kernel is under way: a copy, or the program itself, goes there\n");
    }
    // SAFETY: the text is valid; write is async-signal-safe.
    unsafe { libc::write(2, line.text.as_ptr().cast(), line.len) };
}

/// The handler of [`SIGNALS`].
///
/// # Safety
/// The operating system calls it with the arguments of a handler with `SA_SIGINFO`.
unsafe extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let n = usize::from(signal == libc::SIGBUS);
    // SAFETY: guaranteed by the caller; `BEFORE` was written before this handler was installed.
    let (address, before) = unsafe {
        let before = (&raw const BEFORE).cast::<libc::sigaction>().add(n);
        ((*info).si_addr() as u64, &*before)
    };
    if is_lent(address) && !SAID.swap(true, SeqCst) {
        tell(address);
    }
    match before.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // The access is repeated, and the signal then has its default effect.
            // SAFETY: the structure is plain numbers.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &action, ptr::null_mut());
            }
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: it was the program's handler of this kind.
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: it was the program's handler of this kind.
            let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}
