//! The state that compiled code and the engine share while a wave runs.

use crate::ir::region::{FpEnv, Region, WaveHelper};
use gcn_emu::fp::Round;
use gcn_emu::group::Row;
use gcn_emu::mem::LDS_MOST;
use gcn_emu::wave::{LANES, WaveState};
use gcn_isa::operand::EXEC;

/// Slots for scalars that a block computes.
pub const SCALARS: usize = 2048;
/// Slots for vectors that find no register.
pub const VECTORS: usize = 768;

/// AffineState that a block may have, and linear addresses.
pub const AFFINE_BASES: usize = 1024;
pub const AFFINE_ADDRESSES: usize = 128;
/// Places of memory accesses that remember where memory was found to be there.
pub const RANGES: usize = 1024;
/// As many of them, the first, belong to one place in code alone; others to that which their tag names.
pub const OWN_RANGES: u32 = 768;
/// Slots for opmasks that find no register.
pub const MASKS: usize = 256;
/// Operands of what a helper does for all lanes at once.
pub const STAGED: usize = WaveHelper::OPERANDS;

// Compiled code reaches each field by a displacement of 32 bits.
const _: () = assert!(size_of::<Ctx>() < i32::MAX as usize);
// Helpers are told an address in eight bits and a range in sixteen.
const _: () = assert!(AFFINE_ADDRESSES <= 1 << 8 && RANGES <= 1 << 16);
const _: () = assert!((OWN_RANGES as usize) < RANGES);
// VGPRs and LDS are reached by displacements and by distances of 32 bits with a sign, to which a few dwords come.
const VGPR_BYTES: usize = 256 * 64 * 4;
const _: () = assert!(LDS_MOST <= 1 << 16 && VGPR_BYTES <= 1 << 16);
const _: () = {
    use gcn_isa::target::Gen;
    assert!(Gen::Gfx6.lds_bytes() as usize <= LDS_MOST);
    assert!(Gen::Gfx7.lds_bytes() as usize <= LDS_MOST);
    assert!(Gen::Gfx8.lds_bytes() as usize <= LDS_MOST);
    assert!(Gen::Gfx9.lds_bytes() as usize <= LDS_MOST);
};

/// 64 bytes, for one vector register.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct Line(pub [u32; 16]);

/// A turn of a wave that starts in compiled code, waits there at a barrier, or comes from one. Turns that follow each other
/// are done without leaving it, as long as the waves come to barriers or to their ends.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct TimeSlice {
    /// Where the wave goes on; null where that is not in its region, [`TimeSlice::ENDED`] where it does not.
    pub code: *const u8,
    pub wave: *mut WaveState,
    pub vgprs: *mut u32,
    /// What a wave of a batch starts from: the lines of scalars and the VGPRs that the code needs
    /// ([`LiveIns`](crate::context::LiveIns)).
    pub start: *const Line,
    /// Behind the barrier where it waits: its PC, and the instructions by which its clock is behind.
    pub pc: u64,
    pub late: i64,
    /// Its fuel, and that of the turns behind it.
    pub given: u32,
    pub again: u32,
    /// The wave's turns that have ended.
    pub turns: u32,
    /// The number of its region; of all turns that are done together the same.
    pub region: u32,
}

impl TimeSlice {
    /// No code has this address.
    pub const ENDED: usize = 1;

    pub const NONE: TimeSlice = TimeSlice {
        code: std::ptr::null(),
        wave: std::ptr::null_mut(),
        vgprs: std::ptr::null_mut(),
        start: std::ptr::null(),
        pc: 0,
        late: 0,
        given: 0,
        again: 0,
        turns: 0,
        region: 0,
    };
}

/// Turns of all waves of a workgroup, round after round, and of workgroups that follow it in the same states.
#[repr(C)]
pub struct Batch {
    /// The first wave's turn, if all waves are there; null where there is but one round of some.
    pub turns: *mut TimeSlice,
    /// The workgroup under way, and the end of them. Waves of a workgroup alone, which have started, have none: null and
    /// behind it.
    pub row: *const Row,
    pub rows_end: *const Row,
    /// Where waves take what they start from, and go on to then.
    pub begin: *const u8,
    pub code: *const u8,
    /// Not 0: all waves have one state, as none waits for others. What turns there are is the same as at first.
    pub single: u64,
    /// Waves, and those of the workgroup under way that have not ended.
    pub waves: i64,
    pub alive: i64,
    /// The fuel of a first turn, and what there is for turns that have not ended.
    pub given: i64,
    pub spare: i64,
    /// Where in a wave the workgroup's numbers go.
    pub ids: [usize; 3],
}

/// Register RBP of compiled code points at it.
#[repr(C, align(64))]
pub struct Ctx {
    /// The lanes' numbers.
    pub lanes: [Line; 4],
    /// The lanes' distances in memory, by the logarithm of the element's bytes.
    pub strides: [Line; 8],
    /// Which of the bytes that lie so many from lane to lane (1 to 4) each lane's four are; and the other way round: which
    /// byte of lanes' dwords each of them is.
    pub bytes_in: [Line; 4],
    pub bytes_out: [Line; 4],
    /// Every other element of two registers, from the first and from the second on.
    pub even: Line,
    pub odd: Line,
    /// One element of each of two registers in turns: of their lower and of their upper halves.
    pub zip_low: Line,
    pub zip_high: Line,
    /// Four times half of the lanes' numbers.
    pub nibbles: Line,
    /// Addresses on their way to a helper, and what it read or is to write.
    pub addresses: [Line; 2],
    pub data: [Line; 16],
    /// All lanes' operands of what a helper does for all of them at once.
    pub stage: [[u32; 64]; STAGED],
    pub wave: *mut WaveState,
    pub vgprs: *mut u32,
    /// The turn under way, and the end of those that are done without leaving compiled code.
    pub turn: *mut TimeSlice,
    pub turns_end: *mut TimeSlice,
    /// The turn of a wave that runs alone.
    pub alone: TimeSlice,
    pub batch: Batch,
    /// Host address less guest address in the linear part.
    pub bias: u64,
    pub pages: *const u8,
    pub linear_base: u64,
    pub linear_bytes: u64,
    /// The bits of guest addresses that count in the host: see [`ALIAS`](gcn_emu::mem::ALIAS).
    pub host_bits: u64,
    pub lds: *mut u8,
    pub lds_bytes: u64,
    /// At how many addresses so many dwords lie in LDS.
    pub lds_places: [u32; 5],
    pub fuel: i64,
    /// The fuel when the wave's clock was last put right.
    pub synced: i64,
    /// Where compiled code has left.
    pub exit_pc: u64,
    pub interpret: usize,
    pub load: usize,
    pub store: usize,
    pub rare: usize,
    /// What the region's code asks `rare` for, by number.
    pub calls: *const std::sync::Arc<crate::ir::fast_path::Call>,
    pub whole: usize,
    /// Of code that counts: the region's tallies, that of the block under way, since when it is, and room for registers.
    pub tallies: *mut crate::context::Tally,
    pub tally_now: *mut crate::context::Tally,
    pub tally_since: u64,
    pub tally_kept: [u64; 3],
    /// Opaque: what helpers need.
    pub host: usize,
    pub rsp: u64,
    pub mxcsr: [u32; 16],
    pub host_mxcsr: u32,
    pub saved_mxcsr: u32,
    pub lanes_on: u16,
    pub scalars: [u64; SCALARS],
    pub masks: [u16; MASKS],
    pub save: [Line; 32],
    pub save_k: [u64; 8],
    pub vectors: [Line; VECTORS],
    /// Of AVX2 code: opmasks, and what lies between its instructions.
    pub opmasks: [Line; 32],
    pub scratch: [Line; 4],
    /// At lines' beginnings: the bases of linear values, and the host's addresses of linear accesses, of each slice.
    pub affine_bases: [[u32; 4]; AFFINE_BASES],
    pub affine_addresses: [[u64; 4]; AFFINE_ADDRESSES],
    /// Of the linear access that a helper is asked about, the slices' addresses in guest memory, where they are not the
    /// host's less [`Ctx::bias`].
    pub guest_bases: [u64; 4],
    /// The first lanes of the slices.
    pub firsts: [u32; 4],
    /// Where accesses may begin: from where on, and in how many bytes; none of what permits nothing.
    pub ranges: [[u64; 2]; RANGES],
    /// Of which place in code each range is, where several share it.
    pub range_tags: [u32; RANGES],
    /// The first lane of the slice that is on.
    pub first: u32,
    /// The state of the mapping that `ranges` is of.
    pub mapping: u64,
    /// What `range` is asked: the first and the last byte but one, from the base on.
    pub asked: [i32; 2],
    pub range: usize,
    pub around: usize,
}

impl Ctx {
    pub fn new() -> Box<Ctx> {
        let mut c = Box::<Ctx>::new_uninit();
        // SAFETY: the bytes are those of the box; and every field is a number, a raw pointer or an array of those, for
        // which zero bytes are a value.
        #[allow(unsafe_code)]
        let mut c = unsafe {
            c.as_mut_ptr().write_bytes(0, 1);
            c.assume_init()
        };
        for s in 0..4 {
            c.lanes[s] = Line(std::array::from_fn(|i| (16 * s + i) as u32));
        }
        for (log, line) in c.strides.iter_mut().enumerate() {
            *line = Line(std::array::from_fn(|i| (i << log) as u32));
        }
        for step in 1..=4 {
            let dword = |bytes: [usize; 4]| u32::from_le_bytes(bytes.map(|b| b as u8 & 63));
            c.bytes_in[step - 1] = Line(std::array::from_fn(|i| {
                dword(std::array::from_fn(|k| i * step + k))
            }));
            let from = |at: usize| at / step * 4 + at % step;
            c.bytes_out[step - 1] = Line(std::array::from_fn(|i| {
                dword(std::array::from_fn(|k| from(4 * i + k)))
            }));
        }
        c.even = Line(std::array::from_fn(|i| 2 * i as u32));
        c.odd = Line(std::array::from_fn(|i| 2 * i as u32 + 1));
        c.zip_low = Line(std::array::from_fn(|i| (i / 2 + 16 * (i % 2)) as u32));
        c.zip_high = Line(std::array::from_fn(|i| (8 + i / 2 + 16 * (i % 2)) as u32));
        c.firsts = [0, 16, 32, 48];
        c.nibbles = Line(std::array::from_fn(|i| 4 * (i as u32 / 2)));
        for (i, m) in c.mxcsr.iter_mut().enumerate() {
            let key = FpEnv {
                round: i as u8 & 3,
                daz: i & 4 != 0,
                ftz: i & 8 != 0,
            };
            *m = mxcsr(key);
        }
        c
    }
}

/// The value of MXCSR for an environment.
pub fn mxcsr(key: FpEnv) -> u32 {
    let rc = match Round::from_field(key.round as u32) {
        Round::NearestEven => 0,
        Round::MinusInf => 1,
        Round::PlusInf => 2,
        Round::Zero => 3,
    };
    0x1f80 | rc << 13 | (key.daz as u32) << 6 | (key.ftz as u32) << 15
}

/// Dwords of a cache line.
pub(crate) const LINE: usize = 16;

/// The number of VGPRs, the first ones, to which launches give values.
pub(crate) const GIVEN: u16 = 3;

/// What code needs of a wave that starts in it: VGPRs, and the lines of scalars.
#[derive(Clone)]
pub(crate) struct LiveIns {
    pub vgprs: Vec<u16>,
    pub sgprs: Vec<u8>,
}

impl LiveIns {
    /// Of a region for waves with so many VGPRs.
    pub fn of(region: &Region, vgprs: u16) -> LiveIns {
        // All code looks at EXEC.
        let sgprs = region.live_in.1 | 1 << EXEC;
        let line = |n: u8| sgprs >> (n as usize * LINE) & ((1 << LINE) - 1) != 0;
        LiveIns {
            vgprs: (0..vgprs)
                .filter(|&n| region.live_in.0[n as usize])
                .collect(),
            sgprs: (0..8).filter(|&n| line(n)).collect(),
        }
    }

    /// The VGPRs of them that the launch gives values; the others are 0.
    pub fn given(&self) -> &[u16] {
        let count = self.vgprs.iter().take_while(|&&n| n < GIVEN).count();
        &self.vgprs[..count]
    }

    /// Those that are 0.
    pub fn zeros(&self) -> &[u16] {
        &self.vgprs[self.given().len()..]
    }

    /// Lines of 64 bytes of values that a wave is given.
    pub fn lines(&self) -> usize {
        self.sgprs.len() + LANES / LINE * self.given().len()
    }

    /// Whether it is little enough to be written out in code.
    pub fn few(&self) -> bool {
        self.vgprs.len() <= 64
    }
}

/// The counts of a block, or of an instruction that the interpreter ran.
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of waves that ran it.
    pub times: u64,
    /// The sum of the active lanes of all runs.
    pub lanes: u64,
    /// Ticks of the time stamp counter from its beginning to that of the next one, or until the engine returned.
    pub ticks: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Tally) {
        self.times = self.times.wrapping_add(other.times);
        self.lanes = self.lanes.wrapping_add(other.lanes);
        self.ticks = self.ticks.wrapping_add(other.ticks);
    }
}
