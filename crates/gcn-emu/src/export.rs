//! What a wave's exports leave: positions, parameters and colours go nowhere from here, and are kept for who wants them.

use crate::wave::LANES;

/// The number of a colour target, from `mrt0`; eight.
pub const MRT0: u8 = 0;
/// The depth target.
pub const MRTZ: u8 = 8;
/// No target: only the flags count.
pub const NULL: u8 = 9;
/// The number of a position target, from `pos0`; four.
pub const POS0: u8 = 12;
/// The number of a parameter target, from `param0`; 32.
pub const PARAM0: u8 = 32;

/// A target's four components, X to W, of each lane. With COMPR they have 16 bits each.
pub type Components = [[u32; LANES]; 4];

/// What one wave has exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exports {
    /// By target, in the order of their first export. A component that was not enabled is 0, or as it was.
    targets: Vec<(u8, Box<Components>)>,
    done: bool,
    valid: u64,
}

impl Exports {
    /// The values that a target (0 to 63) has; `None` where nothing went to it.
    pub fn target(&self, target: u8) -> Option<&Components> {
        self.targets
            .iter()
            .find(|(number, _)| *number == target)
            .map(|(_, components)| &**components)
    }

    /// The targets that something went to, in the order of their first export.
    pub fn targets(&self) -> impl Iterator<Item = (u8, &Components)> {
        self.targets.iter().map(|(number, c)| (*number, &**c))
    }

    /// Whether an export was marked as the last one (DONE).
    pub fn done(&self) -> bool {
        self.done
    }

    /// EXEC of the last export with VM: which pixels are to be drawn.
    pub fn valid(&self) -> u64 {
        self.valid
    }

    /// Sets component `k` of a target in the lanes of `lanes`. Nothing is kept of `null`.
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
        for (lane, place) in component.iter_mut().enumerate() {
            if lanes >> lane & 1 != 0 {
                *place = value(lane);
            }
        }
    }

    /// Forgets everything.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if !self.targets.is_empty() {
            self.targets.clear();
        }
        (self.done, self.valid) = (false, 0);
    }

    /// An export is made: bit 0 of `flags` is DONE, bit 1 VM.
    pub(crate) fn made(&mut self, flags: u32, exec: u64) {
        self.done |= flags & 1 != 0;
        if flags & 2 != 0 {
            self.valid = exec;
        }
    }
}

/// The name of a target, as the assembly language has it; `target<n>` of a reserved number.
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

/// The number of a target with a name.
pub fn number(text: &str) -> Option<u8> {
    (0..64).find(|&target| name(target) == text)
}
