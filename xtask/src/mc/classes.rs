//! Why lines of LLVM's tests do not pass, where that is as it should be (docs/llvm-tests.md).

use super::Failure;

/// A class of failing lines with its reason.
pub struct Class {
    pub name: &'static str,
    pub reason: &'static str,
    holds: fn(&Failure) -> bool,
}

/// The class of a failure; `None` where nothing explains it.
pub fn of(failure: &Failure) -> Option<&'static Class> {
    CLASSES.iter().find(|class| (class.holds)(failure))
}

static CLASSES: &[Class] = &[];
