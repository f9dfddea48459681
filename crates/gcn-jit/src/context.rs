//! The state that compiled code and the engine share while a wave runs.

use crate::ir::fast_path::Line;
use crate::ir::region::{AccessRecord, FpEnv, Region, WaveHelper};
use gcn_emu::fp::Round;
use gcn_emu::group::Row;
use gcn_emu::mem::LDS_MOST;
use gcn_emu::wave::{LANES, WaveState};
use gcn_isa::operand::EXEC;

/// The number of slots for a block's scalars.
pub const SCALARS: usize = 2048;
/// The dwords for what is the same in all waves of a dispatch that begin in a region ([`crate::ir::grid`]).
pub const GRID: usize = 1024;
/// The number of slots for spilled vectors.
pub const VECTORS: usize = 768;

/// The maximum numbers of a block's bases and affine addresses.
pub const AFFINE_BASES: usize = 1024;
pub const AFFINE_ADDRESSES: usize = 128;
/// The number of slots for remembered ranges of memory.
pub const RANGES: usize = 2048;
/// The number of accesses that remember where they were. If there are more, some share a slot, and prefetch in vain.
pub const PACES: usize = 512;
/// The number of accesses that count in how many of them lanes' elements did not follow each other. If there are more, some share a counter.
pub const FOLLOWING: usize = 512;
/// The first slots belong to one access each. Each of the others belongs to the access that its tag names.
pub const OWN_RANGES: u32 = 1536;
/// The number of tiles, at most 8: their states are bytes of one qword.
pub const TILES: usize = 8;
/// What may be spent on a tile before it has been of use, in dwords that each lane would have loaded meanwhile.
pub const TILE_BUDGET: i32 = 128;
/// What a tile may cost at least after one, two, four and so on of a dispatch's batches: two accesses of all parts' lanes.
pub const TILE_AGAIN: i32 = 48;
/// The number of operands of a wave-wide helper.
pub const STAGED: usize = WaveHelper::OPERANDS;

// Compiled code reaches each field by a displacement of 32 bits.
const _: () = assert!(size_of::<Ctx>() < i32::MAX as usize);
// A helper's argument has eight bits for an address and sixteen for a range.
const _: () = assert!(AFFINE_ADDRESSES <= 1 << 8 && RANGES <= 1 << 16);
const _: () = assert!((OWN_RANGES as usize) < RANGES);
// VGPRs and LDS are reached by displacements and distances that are signed numbers of 32 bits, plus a few dwords.
const VGPR_BYTES: usize = 256 * 64 * 4;
const _: () = assert!(LDS_MOST <= 1 << 16 && VGPR_BYTES <= 1 << 16);
const _: () = {
    use gcn_isa::target::Gen;
    assert!(Gen::Gfx6.lds_bytes() as usize <= LDS_MOST);
    assert!(Gen::Gfx7.lds_bytes() as usize <= LDS_MOST);
    assert!(Gen::Gfx8.lds_bytes() as usize <= LDS_MOST);
    assert!(Gen::Gfx9.lds_bytes() as usize <= LDS_MOST);
};

/// Memory that lanes walk over: for each lane the 64 bytes from an address on, transposed, so that what all lanes have at one
/// distance from there lies together. Lanes that walk rows access one line of the cache each, again and again; here each line is read
/// once. A part belongs to the lanes of one vector register: 16 of them, or 8, of which a slice has two.
#[repr(C, align(64))]
pub struct Tile {
    /// Each lane's dwords.
    pub columns: [[Line; 4]; LINE],
    /// The lower halves of the lanes' addresses from which on their memory is here, without the access's constant.
    pub bases: [Line; 4],
    /// For each part: how many bytes farther the next access is expected, and how many the one after that. If there is nothing,
    /// the first is [`Tile::NOTHING`].
    pub next: [[u32; 2]; 4],
    pub step: [[u32; 2]; 4],
    /// The upper half of all addresses.
    pub high: u32,
    /// The memory that is here, and what lies between, as addresses' lower halves: before that an element's bytes but one.
    pub hull: u32,
    pub hull_bytes: u32,
    /// The same start as a host's address.
    pub hull_host: u32,
    /// Not 0: each byte of memory is here once at most.
    pub apart: u32,
    /// The access's constant.
    pub offset: u32,
    /// Not 0: what was read ahead the last time was used.
    pub good: u32,
    pub parts: TileParts,
}

/// The number of a tile's parts: two of each slice.
pub const PARTS: usize = 8;

/// The parts of a tile, as its helper sees them.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct TileParts {
    /// The lanes whose addresses are known.
    pub lanes: [u32; PARTS],
    /// Where the last access was that the helper saw, in bytes from the bases.
    pub last: [u32; PARTS],
    /// Of what is here: the first byte and the one after the last. 0 and 0 if there is nothing.
    pub from: [u32; PARTS],
    pub to: [u32; PARTS],
    /// A bit for each part that has some of this part's bytes too. The part's own bit: lanes' bytes may overlap.
    pub common: [u32; PARTS],
}

impl Tile {
    /// What an access never is at.
    pub const NOTHING: u32 = u32::MAX;
    /// Bytes before memory that is in a tile from which on a store may reach it.
    pub const BEFORE: u32 = 15;
}

/// A time slice of a wave that starts in compiled code, waits there at a barrier, or comes from one. Compiled code does time
/// slices that follow each other without leaving, as long as the waves come to barriers or to their ends.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct TimeSlice {
    /// Where the wave continues: null if that is not in its region, [`TimeSlice::ENDED`] if it has ended.
    pub code: *const u8,
    pub wave: *mut WaveState,
    pub vgprs: *mut u32,
    /// The initial state of a wave of a batch: the lines of scalars and the VGPRs of [`LiveIns`](crate::context::LiveIns).
    pub start: *const Line,
    /// The PC after the barrier where it waits, and the instructions that its clock lacks.
    pub pc: u64,
    pub late: i64,
    /// The fuel of this time slice, and of the later ones.
    pub given: u32,
    pub again: u32,
    /// The number of the wave's time slices that have ended.
    pub ended: u32,
    /// The number of its region, the same for all time slices of a call.
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
        ended: 0,
        region: 0,
    };
}

/// Workgroups that are run in one call, one after the other in the same wave states, each round after round of time slices.
#[repr(C)]
pub struct Batch {
    /// The first wave's time slice, if all waves are there. Null if there is only one round of some waves.
    pub time_slices: *mut TimeSlice,
    /// The current workgroup, and the end of the workgroups. For waves of one workgroup that have started: null, and the row after
    /// null.
    pub row: *const Row,
    pub rows_end: *const Row,
    /// The code that loads the initial state, and the code that it goes to.
    pub begin: *const u8,
    pub code: *const u8,
    /// Nonzero: all waves share one state because nothing waits. The time slices stay as they were at first.
    pub single: u64,
    /// Nonzero: the next wave begins where one ends in the [grid variant](crate::target::x64::grid), whose constants cannot change.
    pub direct: u64,
    /// The number of waves, and of waves of the current workgroup that have not ended.
    pub waves: i64,
    pub live: i64,
    /// The fuel of a first time slice, and the fuel that is left for time slices that have not ended.
    pub given: i64,
    pub spare: i64,
    /// The offsets in a wave where the workgroup's numbers are written.
    pub ids: [usize; 3],
}

/// Constants of compiled code: lanes' numbers and distances, and permutations.
#[repr(C)]
pub struct Tables {
    /// The lanes' numbers.
    pub lanes: [Line; 4],
    /// The lanes' distances in memory, by the logarithm of the element's bytes.
    pub strides: [Line; 8],
    /// By the distance from lane to lane (1 to 4 bytes): the bytes that make each lane's dword, and the byte of lanes' dwords that
    /// each byte comes from.
    pub bytes_in: [Line; 4],
    pub bytes_out: [Line; 4],
    /// Permutations: the even and the odd elements of two registers.
    pub even: Line,
    pub odd: Line,
    /// Permutations: the elements of two registers interleaved, of their lower and of their upper halves.
    pub zip_low: Line,
    pub zip_high: Line,
    /// Permutations that make three dwords of 16 lanes, one lane's after the other's, in three registers: of the first two dwords, whose
    /// result is a register of the next one, and of that and the third.
    pub triples: [[Line; 2]; 3],
    /// Permutations that make a dword of each of 16 lanes of what these were: of the first two registers, and of that and the third.
    pub untriples: [[Line; 2]; 3],
    /// Four times half of the lanes' numbers.
    pub nibbles: Line,
    /// Permutation: the elements in reverse order.
    pub reverse: Line,
}

/// The wave that runs.
#[repr(C)]
pub struct Current {
    pub wave: *mut WaveState,
    pub vgprs: *mut u32,
    /// Its time slice, and the end of those of this call.
    pub time_slice: *mut TimeSlice,
    pub end: *mut TimeSlice,
}

/// The guest's memory.
#[repr(C)]
pub struct GuestMemory {
    /// Host address less guest address of mapped memory.
    pub bias: u64,
    /// The states of the pages.
    pub pages: *const u8,
    /// The first guest address, and the number of addresses.
    pub start: u64,
    pub bytes: u64,
    /// The bits of guest addresses that are part of host addresses: see [`ALIAS`](gcn_emu::mem::ALIAS).
    pub host_bits: u64,
    /// Nonzero: other threads may access memory meanwhile.
    pub shared: u8,
}

/// The LDS of the workgroup.
#[repr(C)]
pub struct Lds {
    pub base: *mut u8,
    pub bytes: u64,
    /// The number of addresses at which this number of dwords lies in LDS.
    pub limits: [u32; 5],
}

/// What counts instructions.
#[repr(C)]
pub struct Clock {
    pub fuel: i64,
    /// The fuel when the wave's clock was last updated.
    pub synced: i64,
}

/// The functions that code calls, but for those of [`RangeLookup`].
#[repr(C)]
pub struct Helpers {
    /// Interprets an instruction.
    pub interpret: usize,
    /// Loads and stores at the addresses in [`Ctx::addresses`].
    pub load: usize,
    pub store: usize,
    /// Evaluates a slow path.
    pub slow_path: usize,
    /// The slow paths of the region, by number.
    pub slow_paths: *const std::sync::Arc<crate::ir::fast_path::Call>,
    /// The number of calls of slow paths.
    pub slow_path_calls: u64,
    /// The wave-wide helper.
    pub wave: usize,
}

/// For code that counts.
#[repr(C)]
pub struct Counts {
    /// The region's tallies.
    pub tallies: *mut Tally,
    /// That of the current block, and the time when it began.
    pub now: *mut Tally,
    pub since: u64,
    /// Saved registers.
    pub saved: [u64; 3],
}

/// What calls of helpers need.
#[repr(C)]
pub struct HelperCall {
    /// The state that helpers work on, opaque to compiled code.
    pub host: usize,
    /// MXCSR, by environment; that of the host; that of the code which calls.
    pub mxcsr: [u32; 16],
    pub host_mxcsr: u32,
    pub saved_mxcsr: u32,
    /// The lanes that a helper works for.
    pub lanes: u16,
}

/// Vector registers during calls.
#[repr(C)]
pub struct SavedRegisters {
    pub vectors: [Line; 32],
    pub opmasks: [u64; 8],
}

/// For each slice: the bases of affine values, and the host addresses of affine accesses.
#[repr(C)]
pub struct AffineValues {
    pub bases: [[u32; 4]; AFFINE_BASES],
    pub addresses: [[u64; 4]; AFFINE_ADDRESSES],
    /// The slices' guest addresses of the access that a helper checks, if they are not the host's less [`GuestMemory::bias`].
    pub guest: [u64; 4],
    /// The first lanes of the slices.
    pub firsts: [u32; 4],
}

/// What accesses remember from one execution to the next.
#[repr(C)]
pub struct Remembered {
    /// Where accesses were whose addresses a loop or lanes choose, to prefetch as far ahead as they move.
    pub paces: [u64; PACES],
    /// How often lanes' elements were tested in vain for following each other since they did. Negative numbers count the accesses without a test.
    pub following: [i32; FOLLOWING],
    /// The ranges of addresses that are permitted: the first address where an access may begin, and the number of such addresses.
    pub ranges: [[u64; 2]; RANGES],
    /// The access that a shared slot's range belongs to.
    pub tags: [u32; RANGES],
    /// The state of the mapping that `ranges` is of.
    pub mapping: u64,
}

/// What an access at lanes' own addresses asks of the helper `around`, beside the bytes and permissions that it needs.
pub(crate) struct AroundRequest;

impl AroundRequest {
    /// The access may lie in two ranges. The second one's slot is in the context.
    pub const TWO: u64 = 1 << 10;
    /// No other access uses the two slots.
    pub const OWN: u64 = 1 << 11;
}

/// The helpers that look up the range around an access, and what they are asked.
#[repr(C)]
pub struct RangeLookup {
    /// The bytes that `range` checks, from the base on: the first, and the one after the last.
    pub bytes: [i32; 2],
    pub range: usize,
    pub around: usize,
    /// The slot of the second range that `around` may remember.
    pub second: u32,
    /// How often `around` has found no ranges since it last found some.
    pub refused: u32,
    pub exact: usize,
    /// The address that `exact` checks.
    pub address: u64,
}

/// The recorded accesses of a block.
#[repr(C, align(64))]
pub struct RecordedAccesses {
    /// Of each: the lower and the upper halves of the lanes' addresses, or in the first two words one address.
    pub addresses: [[[u32; 64]; 2]; AccessRecord::MOST],
    /// The helper that is told of them.
    pub tell: usize,
    /// The address of the first wave's time slice of those that run together, and the bytes of all of them.
    pub time_slices: [usize; 2],
}

/// The tiles, and what is asked of their helper.
#[repr(C)]
pub struct TileTable {
    /// The first of them, if there are any.
    pub first: *mut Tile,
    /// For each: whether it has memory, and what is left of its budget.
    pub on: [u8; TILES],
    pub budget: [i32; TILES],
    /// How many batches of the dispatch have begun.
    pub binds: u32,
    pub helper: usize,
    /// Where the bases of the part are that the helper is asked for, from the first tile on.
    pub part: usize,
}

/// The number of loops whose fastest code is known at a time.
pub const LANE_LOOPS: usize = 64;
/// The VGPRs that a loop may change to run lane by lane, and the slots for spilled values of a lane.
pub const LANE_VGPRS: usize = 64;
pub const LANE_SPILLS: usize = 64;
/// The most accesses of a loop that stores, for each of which the addresses are recorded that lanes reach; and the entries of the log of what its stores
/// overwrite.
pub const LANE_ACCESSES: usize = 16;
pub const LANE_LOG: usize = 4096;
/// The iterations of a loop of several blocks that lanes run at a time.
pub const LANE_ROUNDS: usize = 1024;

/// Whether a loop runs lane by lane, and what its times were.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct LaneLoopChoice {
    /// The address of the loop.
    pub tag: u64,
    /// How often it will be entered before the helper is asked again.
    pub left: u32,
    /// Nonzero: the loop runs lane by lane.
    pub by_lane: u32,
    /// When the entries began that are timed together, their number, and the most that may be.
    pub since: u64,
    pub entries: u32,
    pub most: u32,
    /// The number of those that are being timed, which is smaller if it may tell already.
    pub timing: u32,
    /// How often in succession a dispatch ended before all of them had run.
    pub broken: u32,
    /// Nonzero: one more entry comes before those that are timed, because the first one after a change of code is slow.
    pub warms: u32,
    /// The number of times that were taken, and the times of an entry in one code or the other.
    pub taken: u32,
    pub times: [u64; LANE_TIMES],
    /// For how many times as many entries the last choice holds.
    pub holds: u32,
    /// The dispatch in which the entries began that are timed together ([`LaneRun::dispatch`]).
    pub dispatch: u32,
    /// How many choices all engines had made for the loop when this engine last looked.
    pub seen: u32,
}

/// The places at which a loop accesses memory, for the helper that looks for conflicts.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    pub count: u8,
    /// The stores, and the loads of scalars, a bit for each place.
    pub stores: u16,
    pub scalar: u16,
}

impl Places {
    pub fn encode(self) -> u64 {
        self.count as u64 | (self.stores as u64) << 8 | (self.scalar as u64) << 24
    }

    pub fn decode(what: u64) -> Places {
        Places {
            count: what as u8,
            stores: (what >> 8) as u16,
            scalar: (what >> 24) as u16,
        }
    }
}

/// The number of times that are taken for a choice.
pub const LANE_TIMES: usize = 8;

/// The state of a loop that runs lane by lane.
#[repr(C, align(64))]
pub struct LaneRun {
    /// The lane's registers that are not in host registers: VGPRs, scalars that change, and its bits of masks by half their codes.
    pub vgprs: [u32; 256],
    /// Its VGPRs as upper halves of numbers of 64 bits.
    pub highs: [u64; 256],
    pub sgprs: [u32; 128],
    pub bits: [u64; 64],
    /// The new masks, by half their codes.
    pub masks: [u64; 64],
    /// The scalars of the lane that was longest in the loop.
    pub last: [u32; 128],
    pub spills: [u64; LANE_SPILLS],
    /// The lanes that are active at the beginning, those that have not begun, and those whose fuel did not suffice.
    pub exec: u64,
    pub todo: u64,
    pub alive: u64,
    /// The lane's number.
    pub lane: u64,
    /// The fuel at the beginning, and the least that a lane has left.
    pub fuel: i64,
    pub least: i64,
    /// The VGPRs that the loop changes, as they were at the beginning.
    pub saved: [[u32; 64]; LANE_VGPRS],
    /// The fuel that is not for these lanes, because the log must suffice.
    pub held: i64,
    /// The fuel of the lane that is set aside until it is computed again for how many iterations its accesses are permitted.
    pub aside: i64,
    /// The lowest and the highest address of the lane's accesses at each place.
    pub reached: [[u64; 2]; LANE_ACCESSES],
    /// The ranges of all lanes' accesses at each place: the first address, and that after the last one.
    pub accessed: [[[u64; 2]; 64]; LANE_ACCESSES],
    /// Addresses to which the loop has stored, the number of bytes, and what was there before.
    pub log: [[u64; 4]; LANE_LOG],
    /// For a loop of several blocks, which of them lanes have come to in each iteration: a bit for each block that not all lanes come to. Zeros between
    /// loops.
    pub marks: [u32; LANE_ROUNDS],
    /// The addresses of the marks after those of the iterations that lanes may run, that the lane may run for now, and after those of the lane that was
    /// longest in the loop.
    pub marks_end: u64,
    pub marks_limit: u64,
    pub marks_last: u64,
    pub choices: [LaneLoopChoice; LANE_LOOPS],
    /// The number of the dispatch.
    pub dispatch: u32,
    /// For tests: all loops run lane by lane that can.
    pub always: bool,
    /// The helpers that choose, that look up the memory around an address, and that look for lanes which access what another one has stored.
    pub choose: usize,
    pub range: usize,
    pub conflicts: usize,
}

/// The context. Register RBP of compiled code points at it.
#[repr(C, align(64))]
pub struct Ctx {
    pub tables: Tables,
    /// Addresses for a helper, and the data that it reads or writes.
    pub addresses: [Line; 2],
    pub data: [Line; 16],
    /// The operands of a wave-wide helper, of all lanes.
    pub stage: [[u32; 64]; STAGED],
    pub current: Current,
    /// The time slice of a wave that runs alone.
    pub alone: TimeSlice,
    pub batch: Batch,
    pub memory: GuestMemory,
    pub lds: Lds,
    pub clock: Clock,
    pub helpers: Helpers,
    pub counts: Counts,
    pub call: HelperCall,
    /// A block's scalars.
    pub scalars: [u64; SCALARS],
    /// What is the same in all waves that begin in grid variants. Follows the scalars, so that it is reached as they are.
    pub grid: [u32; GRID],
    pub saved: SavedRegisters,
    /// Spilled vectors, and values whose writes are deferred.
    pub vectors: [Line; VECTORS],
    pub affine: AffineValues,
    pub remembered: Remembered,
    pub lookup: RangeLookup,
    pub tiles: TileTable,
    pub lanes: LaneRun,
    /// For loops of which several rounds are one block, by their starts: how often lanes left within the rounds.
    pub left_early: [u32; LANE_LOOPS],
    /// Nonzero: code has stored to LDS beyond its end.
    pub outside: u32,
    /// Nonzero: there is a transaction ([`gcn_emu::mem::Memory::tries`]).
    pub tries: u32,
    pub recorded: RecordedAccesses,
}

impl Tables {
    fn fill(&mut self) {
        for s in 0..4 {
            self.lanes[s] = Line(std::array::from_fn(|i| (16 * s + i) as u32));
        }
        for (log, line) in self.strides.iter_mut().enumerate() {
            *line = Line(std::array::from_fn(|i| (i << log) as u32));
        }
        for step in 1..=4 {
            let dword = |bytes: [usize; 4]| u32::from_le_bytes(bytes.map(|b| b as u8 & 63));
            self.bytes_in[step - 1] = Line(std::array::from_fn(|i| {
                dword(std::array::from_fn(|k| i * step + k))
            }));
            let from = |at: usize| at / step * 4 + at % step;
            self.bytes_out[step - 1] = Line(std::array::from_fn(|i| {
                dword(std::array::from_fn(|k| from(4 * i + k)))
            }));
        }
        self.even = Line(std::array::from_fn(|i| 2 * i as u32));
        self.odd = Line(std::array::from_fn(|i| 2 * i as u32 + 1));
        self.zip_low = Line(std::array::from_fn(|i| (i / 2 + 16 * (i % 2)) as u32));
        self.zip_high = Line(std::array::from_fn(|i| (8 + i / 2 + 16 * (i % 2)) as u32));
        for (n, [two, third]) in self.triples.iter_mut().enumerate() {
            let of = |i: usize| ((16 * n + i) / 3, (16 * n + i) % 3);
            *two = Line(std::array::from_fn(|i| {
                let (lane, dword) = of(i);
                (lane + 16 * (dword % 2)) as u32
            }));
            *third = Line(std::array::from_fn(|i| match of(i) {
                (lane, 2) => 16 + lane as u32,
                _ => i as u32,
            }));
        }
        for (n, [two, third]) in self.untriples.iter_mut().enumerate() {
            let of = |i: usize| (3 * i + n) as u32;
            *two = Line(std::array::from_fn(|i| of(i) % 32));
            *third = Line(std::array::from_fn(|i| match of(i) {
                at @ 32.. => at - 16,
                _ => i as u32,
            }));
        }
        self.nibbles = Line(std::array::from_fn(|i| 4 * (i as u32 / 2)));
        self.reverse = Line(std::array::from_fn(|i| 15 - i as u32));
    }
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
        c.tables.fill();
        c.affine.firsts = [0, 16, 32, 48];
        for (i, m) in c.call.mxcsr.iter_mut().enumerate() {
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

impl Drop for Ctx {
    fn drop(&mut self) {
        if !self.tiles.first.is_null() {
            // SAFETY: `Ctx::make_tiles` has it from a box of this type, and nothing else frees it.
            #[allow(unsafe_code)]
            drop(unsafe { Box::from_raw(self.tiles.first.cast::<[Tile; TILES]>()) });
        }
    }
}

impl Ctx {
    /// The tiles, which are made when they are needed first.
    pub fn make_tiles(&mut self) -> *mut Tile {
        if self.tiles.first.is_null() {
            let mut tiles = Box::<[Tile; TILES]>::new_uninit();
            // SAFETY: the bytes are those of the box; and every field is a number or an array of those.
            #[allow(unsafe_code)]
            let tiles = unsafe {
                tiles.as_mut_ptr().write_bytes(0, 1);
                tiles.assume_init()
            };
            self.tiles.first = Box::into_raw(tiles).cast();
        }
        self.tiles.first
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

/// The registers that are live at the entry of a region: VGPRs, and lines of scalars.
#[derive(Clone)]
pub(crate) struct LiveIns {
    pub vgprs: Vec<u16>,
    pub sgprs: Vec<u8>,
}

impl LiveIns {
    /// The live-ins of a region for waves with this number of VGPRs.
    pub fn of(region: &Region, vgprs: u16) -> LiveIns {
        // All code reads EXEC.
        let sgprs = region.live_in.1 | 1 << EXEC;
        let line = |n: u8| sgprs >> (n as usize * LINE) & ((1 << LINE) - 1) != 0;
        LiveIns {
            vgprs: (0..vgprs)
                .filter(|&n| region.live_in.0[n as usize])
                .collect(),
            sgprs: (0..8).filter(|&n| line(n)).collect(),
        }
    }

    /// The VGPRs that the launch initialises. The others are 0.
    pub fn given(&self) -> &[u16] {
        let count = self.vgprs.iter().take_while(|&&n| n < GIVEN).count();
        &self.vgprs[..count]
    }

    /// The VGPRs that are 0.
    pub fn zeros(&self) -> &[u16] {
        &self.vgprs[self.given().len()..]
    }

    /// The number of 64-byte lines that a wave loads when it starts.
    pub fn lines(&self) -> usize {
        self.sgprs.len() + LANES / LINE * self.given().len()
    }

    /// Returns true if there are few enough to be loaded by straight code.
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
