//! Probes: the values that an instruction computes and the memory that it accesses, while the interpreter runs it.
//!
//! An observer ([`crate::dispatch::observers::Observer`]) sees a wave before and after an instruction. A probe sees the values of
//! the instruction's nodes, and every access with its resolved address. Without a probe, an access costs a comparison in the
//! interpreter and nothing in compiled code.

use crate::operands::{Modifiers, Opnd};
use gcn_isa::access::MemoryKind;
use gcn_isa::decode::Insn;
use gcn_isa::meaning::{Program, Space};

/// The location of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessLocation {
    /// This guest address.
    Memory(u64),
    /// This byte of the workgroup's LDS.
    Lds(u64),
    /// This byte of the GDS.
    Gds(u64),
    /// A range check sends it nowhere: loads give 0, stores do nothing.
    Nowhere,
}

/// An access of one lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The lane; 0 for scalar instructions.
    pub lane: u8,
    /// Read, write, or atomic.
    pub kind: MemoryKind,
    /// The memory space that the instruction names.
    pub space: Space,
    /// The resolved location.
    pub location: AccessLocation,
    /// The address that the instruction computes.
    pub address: u64,
    /// Bytes.
    pub size: u8,
    /// The first part of the bytes that the lane accesses for one value of the instruction.
    pub first: bool,
    /// The access stores the bytes that are there already, or is a compare and swap in LDS that does not change them.
    pub unchanged: bool,
    /// The access goes through the scalar cache.
    pub scalar: bool,
}

/// Accesses of the same kind of all active lanes: plain loads or stores that no range check changes.
pub struct Lanes<'a> {
    /// Read or write.
    pub kind: MemoryKind,
    /// True for LDS: all accesses are within its end. False for memory.
    pub lds: bool,
    /// The access goes through the scalar cache.
    pub scalar: bool,
    /// The active lanes.
    pub exec: u64,
    /// By lane: the address, without the offset.
    pub addresses: &'a [u64],
    /// The offset added to each address, in 64 bits, or in LDS in 32 bits.
    pub offset: i32,
    /// Bytes per lane.
    pub size: u8,
}

impl Lanes<'_> {
    /// The active lanes and their addresses.
    pub fn each(&self) -> impl Iterator<Item = (usize, u64)> {
        let mut left = self.exec;
        std::iter::from_fn(move || {
            let lane = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            let at = self.addresses.get(lane)?;
            let at = at.wrapping_add_signed(self.offset as i64);
            Some((lane, if self.lds { at & 0xffff_ffff } else { at }))
        })
    }
}

/// The addresses of the active lanes.
#[derive(Clone, Copy)]
pub enum Addresses<'a> {
    /// All lanes have this address.
    Same(u64),
    /// The address of lane 0, active or not, and the distance from each lane's address to the next lane's. The active lanes are
    /// consecutive, and their addresses do not wrap.
    Apart(u64, i64),
    /// As [`Addresses::Apart`], for each 16 lanes.
    Slices([(u64, i64); 4]),
    /// For each lane the lower half of the address, and the upper half, unless the access is in LDS.
    Each(&'a [u32; 64], Option<&'a [u32; 64]>),
}

/// An access that compiled code has made, of all active lanes.
#[derive(Clone, Copy)]
pub struct RecordedAccess<'a> {
    /// Read, write, or atomic.
    pub kind: MemoryKind,
    /// True for LDS, perhaps beyond its end.
    pub lds: bool,
    /// The access goes through the scalar cache.
    pub scalar: bool,
    /// The active lanes, at least one; 1 for a scalar instruction.
    pub exec: u64,
    /// Their addresses.
    pub addresses: Addresses<'a>,
    /// Bytes per lane.
    pub size: u8,
}

impl RecordedAccess<'_> {
    /// The address of a lane.
    pub fn address(&self, lane: usize) -> u64 {
        match self.addresses {
            Addresses::Same(at) => at,
            Addresses::Apart(first, step) => {
                first.wrapping_add_signed(step.wrapping_mul(lane as i64))
            }
            Addresses::Slices(slices) => {
                let (first, step) = slices[lane / 16 % 4];
                first.wrapping_add_signed(step.wrapping_mul(lane as i64 % 16))
            }
            Addresses::Each(low, high) => {
                let high = high.map_or(0, |high| high[lane % 64]);
                low[lane % 64] as u64 | (high as u64) << 32
            }
        }
    }

    /// The addresses of the active lanes.
    pub fn each(&self) -> impl Iterator<Item = u64> {
        let mut left = self.exec;
        std::iter::from_fn(move || {
            let lane = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            (lane < 64).then(|| self.address(lane))
        })
    }
}

/// An instruction that has run.
pub struct Executed<'a> {
    /// The instruction.
    pub insn: &'a Insn,
    /// Its meaning.
    pub program: &'static Program,
    /// Its operands, in the order of the shape's slots.
    pub operands: &'a [Opnd],
    /// Its modifiers.
    pub mods: &'a Modifiers,
    /// The active lanes; for a scalar instruction 1.
    pub exec: u64,
    /// The lanes that effects without a condition change.
    pub lanes: u64,
    /// The number of values of a node: 1, or one per lane.
    pub width: usize,
    /// The values of the nodes, one node after the other.
    pub values: &'a [u64],
    /// The slot of a load whose data go to LDS.
    pub to_lds: Option<u8>,
    /// The VGPR that takes the status of TFE.
    pub status: Option<u16>,
}

impl Executed<'_> {
    /// The values of a node.
    pub fn node(&self, node: usize) -> &[u64] {
        &self.values[node * self.width..(node + 1) * self.width]
    }
}

/// Sees the accesses and values of the instructions that one host thread interprets, and the accesses of its compiled code.
pub trait Probe {
    /// Called before an access is made. Returns false to suppress it; loads then give 0 and stores do nothing.
    fn access(&self, access: &Access) -> bool;

    /// Called before `access` for accesses of all active lanes. Returns true to permit all of them; `access` is then not called.
    fn lanes(&self, _lanes: &Lanes<'_>) -> bool {
        false
    }

    /// Called when an instruction has run, before the observer is.
    fn executed(&self, executed: &Executed<'_>);

    /// Called when compiled code has made an access.
    fn recorded(&self, _access: &RecordedAccess<'_>) {}

    /// Called when the given wave of the running workgroup begins to execute. Engines that run the waves of a workgroup together
    /// call it.
    fn turn(&self, _wave: usize) {}

    /// Called when all waves of the running workgroup wait at barriers or have ended. The waiting waves continue.
    fn released(&self, _some_ended: bool) {}
}

/// A wave that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    /// The workgroup's number in the order in which they start.
    pub group: u64,
    /// The wave's number in the workgroup, and the number of its waves.
    pub wave: usize,
    /// See [`Runs::wave`].
    pub waves: usize,
}

/// A probe of waves without an observer. It records their accesses, and is told where waves begin and stop.
pub trait AccessRecorder: Probe {
    /// Called before a wave runs for some time.
    fn runs(&self, wave: Runs);

    /// The running workgroup has ended.
    fn ended(&self);

    /// Returns true if the recorded accesses may be wrong and the dispatch must run again with an observer.
    fn failed(&self) -> bool;
}
