//! The calls that waves are in, followed as they run.

use std::collections::HashMap;

use crate::session::WaveId;

/// A call that has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The guest address of the instruction that called.
    pub caller: u64,
    /// The guest address of the instruction after it.
    pub returns_to: u64,
    /// The guest address of the function.
    pub entry: u64,
}

/// The calls of all waves.
#[derive(Clone, Debug, Default)]
pub struct Calls(HashMap<WaveId, Vec<Frame>>);

impl Calls {
    /// The calls of a wave, the outermost first.
    pub fn of(&self, wave: WaveId) -> &[Frame] {
        self.0.get(&wave).map_or(&[], Vec::as_slice)
    }

    /// The number of calls that a wave is in.
    pub fn depth(&self, wave: WaveId) -> usize {
        self.of(wave).len()
    }

    pub(crate) fn enter(&mut self, wave: WaveId, frame: Frame) {
        self.0.entry(wave).or_default().push(frame);
    }

    /// A wave jumped: if it is where one of its calls returns to, that call and those in it have ended.
    pub(crate) fn jumped(&mut self, wave: WaveId, to: u64) {
        if let Some(frames) = self.0.get_mut(&wave)
            && let Some(at) = frames.iter().rposition(|f| f.returns_to == to)
        {
            frames.truncate(at);
        }
    }

    pub(crate) fn ended(&mut self, wave: WaveId) {
        self.0.remove(&wave);
    }
}
