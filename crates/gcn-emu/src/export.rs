//! The values that a wave exports: positions, parameters and colours are not consumed here, but kept for the caller.

use crate::wave::LANES;

/// The number of the first colour target, `mrt0`; there are eight.
pub const MRT0: u8 = 0;
/// The depth target.
pub const MRTZ: u8 = 8;
/// No target: only the flags take effect.
pub const NULL: u8 = 9;
/// The number of the first position target, `pos0`; there are four.
pub const POS0: u8 = 12;
/// The number of the first parameter target, `param0`; there are 32.
pub const PARAM0: u8 = 32;

/// A target's four components, X to W, of each lane. With COMPR they have 16 bits each.
pub type Components = [[u32; LANES]; 4];

/// The values that one wave has exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exports {
    /// By target, in the order of their first export. A component that was not enabled is 0, or keeps its earlier value.
    targets: Vec<(u8, Box<Components>)>,
    done: bool,
    valid: u64,
}

impl Exports {
    /// The values of a target (0 to 63). Returns `None` if nothing was exported to it.
    pub fn target(&self, target: u8) -> Option<&Components> {
        self.targets
            .iter()
            .find(|(number, _)| *number == target)
            .map(|(_, components)| &**components)
    }

    /// The targets that received an export, in the order of their first export.
    pub fn targets(&self) -> impl Iterator<Item = (u8, &Components)> {
        self.targets.iter().map(|(number, c)| (*number, &**c))
    }

    /// Returns true if an export was marked as the last one (DONE).
    pub fn done(&self) -> bool {
        self.done
    }

    /// EXEC of the last export with VM: the pixels to draw.
    pub fn valid(&self) -> u64 {
        self.valid
    }

    /// Sets component `k` of a target in the lanes of `lanes`. Exports to `null` are not kept.
    pub fn set(&mut self, target: u8, k: u8, lanes: u64, value: impl Fn(usize) -> u32) {
        let target = target & 63;
        if target == NULL {
            return;
        }
        let at = match self
            .targets
            .iter()
            .position(|(number, _)| *number == target)
        {
            Some(at) => at,
            None => {
                self.targets.push((target, Box::new([[0; LANES]; 4])));
                self.targets.len() - 1
            }
        };
        let component = &mut self.targets[at].1[k as usize & 3];
        for (lane, location) in component.iter_mut().enumerate() {
            if lanes >> lane & 1 != 0 {
                *location = value(lane);
            }
        }
    }

    /// Clears all exports.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if !self.targets.is_empty() {
            self.targets.clear();
        }
        (self.done, self.valid) = (false, 0);
    }

    /// Records an export: bit 0 of `flags` is DONE, bit 1 is VM.
    pub(crate) fn made(&mut self, flags: u32, exec: u64) {
        self.done |= flags & 1 != 0;
        if flags & 2 != 0 {
            self.valid = exec;
        }
    }
}

/// The name of a target in the assembly language; `target<n>` for a reserved number.
pub fn name(target: u8) -> String {
    match target {
        0..=7 => format!("mrt{target}"),
        MRTZ => "mrtz".into(),
        NULL => "null".into(),
        12..=15 => format!("pos{}", target - POS0),
        32..=63 => format!("param{}", target - PARAM0),
        _ => format!("target{target}"),
    }
}

/// The number of the target with a name.
pub fn number(text: &str) -> Option<u8> {
    (0..64).find(|&target| name(target) == text)
}
