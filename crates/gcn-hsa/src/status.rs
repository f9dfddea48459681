//! The results of functions: `hsa_status_t`.

use std::ffi::{CStr, c_char};

macro_rules! statuses {
    ($($name:ident = $value:literal, $text:literal;)*) => {
        /// `hsa_status_t`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Status {
            $(#[doc = $text] $name = $value,)*
        }

        const TEXTS: &[(u32, &CStr)] = &[$(($value, c_text(concat!($text, "\0"))),)*];
    };
}

const fn c_text(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

statuses! {
    Success = 0, "The function has done what it was asked for.";
    InvalidPool = 40, "The memory pool is invalid.";
    IllegalInstruction = 42, "A kernel executed an illegal instruction.";
    MemoryFault = 43, "A kernel accessed memory that it may not access.";
    Error = 0x1000, "An error without a status of its own.";
    InvalidArgument = 0x1001, "An argument is outside what the function takes.";
    InvalidQueueCreation = 0x1002, "The queue asked for cannot be made.";
    InvalidAllocation = 0x1003, "The memory asked for cannot be allocated.";
    InvalidAgent = 0x1004, "The agent is invalid.";
    InvalidSignal = 0x1006, "The signal is invalid.";
    InvalidQueue = 0x1007, "The queue is invalid.";
    OutOfResources = 0x1008, "The runtime could not get what the function needs.";
    InvalidPacket = 0x1009, "A packet is malformed.";
    NotInitialized = 0x100b, "The runtime has not been initialised.";
    IncompatibleArguments = 0x100d, "The code object does not fit the agent.";
    InvalidIsa = 0x100f, "The instruction set is invalid.";
    InvalidCodeObject = 0x1010, "The code object is invalid.";
    InvalidExecutable = 0x1011, "The executable is invalid.";
    FrozenExecutable = 0x1012, "The executable is frozen.";
    InvalidSymbolName = 0x1013, "The executable has no symbol of this name.";
    VariableDefined = 0x1014, "The variable is defined already.";
    VariableUndefined = 0x1015, "A variable that the code object needs is not defined.";
    Exception = 0x1016, "A kernel raised an exception.";
    InvalidSymbol = 0x1019, "The executable symbol is invalid.";
    InvalidReader = 0x1021, "The code object reader is invalid.";
    ImageFormat = 0x3000, "The image format is not supported.";
    ImageSize = 0x3001, "The image's size is not supported.";
    ImagePitch = 0x3002, "The image's pitch is not supported.";
    Sampler = 0x3003, "The sampler is not supported.";
}

/// Converts the result of a function to C's number.
pub fn code(result: Result<(), Status>) -> u32 {
    match result {
        Ok(()) => Status::Success as u32,
        Err(status) => status as u32,
    }
}

/// # Safety
/// The caller follows the manual of `hsa_status_string`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_status_string(status: u32, text: *mut *const c_char) -> u32 {
    let found = TEXTS.iter().find(|t| t.0 == status);
    if text.is_null() {
        return Status::InvalidArgument as u32;
    }
    match found {
        Some((_, found)) => {
            // SAFETY: guaranteed by the caller; the texts are static.
            unsafe { text.write(found.as_ptr()) };
            0
        }
        None => Status::InvalidArgument as u32,
    }
}
