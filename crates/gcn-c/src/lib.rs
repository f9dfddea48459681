//! The C interface, in the shape of capstone's: `include/gcn.h` is generated from here, docs/c.md describes it.
//!
//! Functions return a [`gcn_err`]; the message of the last error of the thread is [`gcn_error`]. Handles belong to one thread at a time, except for a
//! [`gcn_gpu`], which several may use. A panic does not leave the library: the result is [`gcn_err::Internal`].

#![allow(non_camel_case_types)]
#![allow(unsafe_code)]

mod code;
mod gpu;
mod wave;

pub use code::*;
pub use gpu::*;
pub use wave::*;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The version of this interface: the upper 16 bits change when programs must be recompiled, the lower ones when something is added.
pub const GCN_API_VERSION: u32 = 0x0001_0000;

/// The result of a function.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum gcn_err {
    /// The function succeeded.
    Ok = 0,
    /// An argument is NULL, is not UTF-8, or has an invalid value.
    Argument = 1,
    /// The architecture is none of gfx6 to gfx9.
    Arch = 2,
    /// Text does not assemble.
    Assembly = 3,
    /// A file or its code object cannot be read or loaded.
    Object = 4,
    /// There is no such kernel.
    Kernel = 5,
    /// Guest memory is exhausted, or an address is not mapped.
    Memory = 6,
    /// The kernel failed: a fault, a trap, a deadlock, a limit.
    Run = 7,
    /// An error in this library.
    Internal = 8,
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// A failure: the result code, and the message.
pub(crate) struct Failure(gcn_err, String);

impl Failure {
    fn new(err: gcn_err, message: impl std::fmt::Display) -> Failure {
        Failure(err, message.to_string())
    }
}

/// Runs the body of a function of the interface, and stores its message.
fn guard(body: impl FnOnce() -> Result<(), Failure>) -> gcn_err {
    let Failure(err, message) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return gcn_err::Ok,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::new(
            gcn_err::Internal,
            "a mistake of the library; please report it",
        ),
    };
    let bytes: Vec<u8> = message
        .into_bytes()
        .into_iter()
        .filter(|b| *b != 0)
        .collect();
    MESSAGE.with(|m| *m.borrow_mut() = CString::new(bytes).unwrap_or_default());
    err
}

/// Runs the body of a function that cannot fail. After an error in the library it returns `otherwise`.
fn quiet<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

/// The text of an argument.
///
/// # Safety
/// `text` is NULL or a string that ends with NUL and lives for `'a`.
unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::new(gcn_err::Argument, format!("{what} is NULL")));
    }
    // SAFETY: it is a string that ends with NUL, as the caller promises.
    let bytes = unsafe { CStr::from_ptr(text) };
    let wrong = |_| Failure::new(gcn_err::Argument, format!("{what} is no UTF-8"));
    bytes.to_str().map_err(wrong)
}

/// The bytes of an argument.
///
/// # Safety
/// `data` is NULL or has `len` bytes that live, unchanged, for `'a`.
unsafe fn slice<'a, T>(data: *const T, len: usize, what: &str) -> Result<&'a [T], Failure> {
    match data.is_null() {
        true if len == 0 => Ok(&[]),
        true => Err(Failure::new(gcn_err::Argument, format!("{what} is NULL"))),
        // SAFETY: it has `len` elements, as the caller promises.
        false => Ok(unsafe { std::slice::from_raw_parts(data, len) }),
    }
}

/// The object that a handle or a result pointer points to.
///
/// # Safety
/// `pointer` is NULL or points to a `T` that nothing else uses for `'a`.
unsafe fn location<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: the caller promises that it is NULL or valid.
    let location = unsafe { pointer.as_mut() };
    location.ok_or_else(|| Failure::new(gcn_err::Argument, format!("{what} is NULL")))
}

/// The target of a name.
fn target(name: &str) -> Result<gcn::Target, Failure> {
    let unknown = || {
        Failure::new(
            gcn_err::Arch,
            format!("`{name}` is no target of gfx6 to gfx9"),
        )
    };
    gcn::Target::parse(name).ok_or_else(unknown)
}

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn gcn_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The version of the library's interface: compare its upper 16 bits with those of GCN_API_VERSION.
#[unsafe(no_mangle)]
pub extern "C" fn gcn_api_version() -> u32 {
    GCN_API_VERSION
}

/// The message of the last error of this thread. It is valid until the next one.
#[unsafe(no_mangle)]
pub extern "C" fn gcn_error() -> *const c_char {
    MESSAGE.with(|m| m.borrow().as_ptr())
}
