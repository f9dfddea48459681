//! The calls that waves are in, and the counters that they have not waited for, tracked while the waves run.

use std::collections::HashMap;

use gcn_isa::access::Counters;
use gcn_isa::names::Waitcnt;

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

/// The number of instructions that a wave has issued for each counter of s_waitcnt since it last waited for that counter: the
/// maximum that could be outstanding on a chip. The machine itself completes each instruction at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outstanding {
    /// VM_CNT.
    pub vm: u32,
    /// LGKM_CNT.
    pub lgkm: u32,
    /// EXP_CNT.
    pub exp: u32,
}

impl Outstanding {
    fn add(&mut self, counters: Counters) {
        self.vm += counters.vm as u32;
        self.lgkm += counters.lgkm as u32;
        self.exp += counters.exp as u32;
    }

    /// The maximum that an s_waitcnt leaves outstanding.
    pub(crate) fn left_by(wait: &Waitcnt) -> Outstanding {
        let most = |(count, all): (u32, u32)| if count == all { u32::MAX } else { count };
        Outstanding {
            vm: most(wait.vm),
            lgkm: most(wait.lgkm),
            exp: most(wait.exp),
        }
    }

    fn wait(&mut self, to: &Outstanding) {
        self.vm = self.vm.min(to.vm);
        self.lgkm = self.lgkm.min(to.lgkm);
        self.exp = self.exp.min(to.exp);
    }
}

/// The calls and counters of all waves.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    frames: HashMap<WaveId, Vec<Frame>>,
    outstanding: HashMap<WaveId, Outstanding>,
}

impl Calls {
    /// The calls of a wave, the outermost first.
    pub fn of(&self, wave: WaveId) -> &[Frame] {
        self.frames.get(&wave).map_or(&[], Vec::as_slice)
    }

    /// The counters that a wave has not waited for.
    pub fn outstanding(&self, wave: WaveId) -> Outstanding {
        self.outstanding.get(&wave).copied().unwrap_or_default()
    }

    pub(crate) fn issued(&mut self, wave: WaveId, counters: Counters) {
        self.outstanding.entry(wave).or_default().add(counters);
    }

    pub(crate) fn waited(&mut self, wave: WaveId, to: &Outstanding) {
        self.outstanding.entry(wave).or_default().wait(to);
    }

    /// The number of calls that a wave is in.
    pub fn depth(&self, wave: WaveId) -> usize {
        self.of(wave).len()
    }

    pub(crate) fn enter(&mut self, wave: WaveId, frame: Frame) {
        self.frames.entry(wave).or_default().push(frame);
    }

    /// Records a jump of a wave. If the target is the return address of one of its calls, that call and those inside it have
    /// ended.
    pub(crate) fn jumped(&mut self, wave: WaveId, to: u64) {
        if let Some(frames) = self.frames.get_mut(&wave)
            && let Some(at) = frames.iter().rposition(|f| f.returns_to == to)
        {
            frames.truncate(at);
        }
    }

    /// Clears the counters, because instructions have run that were not counted.
    pub(crate) fn discard_outstanding(&mut self) {
        self.outstanding.clear();
    }

    pub(crate) fn ended(&mut self, wave: WaveId) {
        self.frames.remove(&wave);
        self.outstanding.remove(&wave);
    }
}
