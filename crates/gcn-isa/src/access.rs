//! The registers, memory and counters that an instruction reads and writes, for emulators, compilers and
//! analyses.
//!
//! They are computed from the row's meaning, so they agree with the behaviour of the interpreter: a register counts as read
//! if a value that affects the result comes from it.
//!
//! [`InstructionInfo`] holds the properties of one row in one target; [`InstructionTable`] holds those of all rows. A table is built
//! in about a millisecond; querying it for an instruction allocates nothing.
//!
//! ```
//! use gcn_isa::access::{InstructionTable, File};
//! use gcn_isa::{Target, decode};
//!
//! let target = Target::parse("gfx803").unwrap();
//! let table = InstructionTable::new(target);
//! // v_addc_u32_e32 v2, vcc, v0, v1, vcc
//! let insn = decode(target, &0x3804_0300u32.to_le_bytes()).unwrap();
//! let mut read = Vec::new();
//! let mut written = Vec::new();
//! for access in table.of(&insn).accesses(&insn) {
//!     let names = if access.write { &mut written } else { &mut read };
//!     access.each_name(target.generation(), |name| names.push(name.to_string()));
//! }
//! assert_eq!(read, ["v0", "v1", "vcc", "exec"]);
//! assert_eq!(written, ["v2", "vcc"]);
//! ```
//!
//! Not covered: MODE.GPR_IDX_EN moves the VGPR operands of vector ALU instructions by M0 (see [`may_be_indexed`]),
//! MODE.VSKIP skips vector instructions, and PC is covered by [`crate::flow`].

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write as _;

use crate::decode::Insn;
use crate::flow::{Flow, FlowInfo};
use crate::format::{Encoding, Field, Format};
use crate::image::{Address, ImageOp};
use crate::inst::Inst;
use crate::insts;
use crate::meaning::{Change, Effect, Op, Program, Signal, Space, State, meaning};
use crate::names;
use crate::operand::{self, EXEC, M0, Pair, Reg, VCC, VGPR0, Value};
use crate::shape::{Access, Imm, Role, Slot};
use crate::target::{Gen, Target};

/// A register file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum File {
    /// The registers with codes 0 to 127: SGPRs, FLAT_SCRATCH, XNACK_MASK, VCC, TBA, TMA, TTMPs, M0, EXEC.
    Scalar,
    /// VGPRs.
    Vector,
    /// SCC: one bit, register 0 of its own file.
    Scc,
    /// The hardware registers of s_getreg, by number: 1 is MODE, 2 STATUS.
    Hwreg,
}

/// The number of MODE among the hardware registers.
pub const HWREG_MODE: u16 = 1;
/// The number of STATUS among the hardware registers.
pub const HWREG_STATUS: u16 = 2;

/// Consecutive registers that an instruction reads, or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct RegAccess {
    /// The register file.
    pub file: File,
    /// The first register: a scalar register's code (0 to 127), a VGPR's number (from 0), or a hardware
    /// register's number.
    pub first: u16,
    /// The number of registers, of 32 bits each (SCC: 1).
    pub count: u8,
    /// The access is a write; otherwise it is a read.
    pub write: bool,
    /// For a write: part of the old value may remain. This holds for a conditional write, for a write of one bit
    /// or field or of one lane, for a mask written with DPP, and for every write of a VGPR, because inactive lanes
    /// keep their values.
    pub partial: bool,
    /// The slot of the row's shape, if the access is an operand's.
    pub slot: Option<u8>,
    /// No field of the encoding names the register: VCC of the 32-bit compares, EXEC, SCC, M0.
    pub implicit: bool,
    /// The register number is computed at run time, as in s_movrels_b32: it can be any register of
    /// the file, and `first` is not significant.
    pub anywhere: bool,
}

impl RegAccess {
    /// Returns true if a register is among those of the access.
    pub fn touches(&self, file: File, register: u16) -> bool {
        self.file == file
            && (self.anywhere || (self.first..self.first + self.count as u16).contains(&register))
    }

    /// Calls `f` with the names of the registers in LLVM's syntax: `s[4:7]`, `v0`, `vcc`,
    /// `scc`, `mode`; `s*` or `v*` if the number is computed. There are several names if the range extends beyond
    /// the SGPRs.
    pub fn each_name(&self, generation: Gen, mut f: impl FnMut(&str)) {
        let mut name = String::new();
        match self.file {
            File::Scc => return f("scc"),
            File::Hwreg => {
                return match names::name_of(names::HWREGS, self.first as u32, generation) {
                    Some(known) => f(known.clrx),
                    None => {
                        let _ = write!(name, "hwreg({})", self.first);
                        f(&name);
                    }
                };
            }
            File::Vector if self.anywhere => return f("v*"),
            File::Scalar if self.anywhere => return f("s*"),
            File::Vector => {
                range_name(&mut name, "v", self.first, self.count as u16);
                return f(&name);
            }
            File::Scalar => {}
        }
        let end = self.first + self.count as u16;
        let mut at = self.first;
        while at < end {
            name.clear();
            let run = |same: &dyn Fn(Reg) -> bool| {
                (at..end)
                    .take_while(|&c| same(operand::reg(c, generation)))
                    .count() as u16
            };
            at += match operand::reg(at, generation) {
                Reg::Sgpr(n) => {
                    let count = run(&|r| matches!(r, Reg::Sgpr(_)));
                    range_name(&mut name, "s", n, count);
                    count
                }
                Reg::Ttmp(n) => {
                    let count = run(&|r| matches!(r, Reg::Ttmp(_)));
                    range_name(&mut name, "ttmp", n, count);
                    count
                }
                Reg::Half(pair, false) if at + 1 < end => {
                    name.push_str(pair.name());
                    2
                }
                Reg::Half(pair, high) => {
                    let half = if high { "hi" } else { "lo" };
                    let _ = write!(name, "{}_{half}", pair.name());
                    1
                }
                Reg::M0 => {
                    name.push_str("m0");
                    1
                }
                _ => {
                    let _ = write!(name, "op({at:#x})");
                    1
                }
            };
            f(&name);
        }
    }
}

fn range_name(out: &mut String, prefix: &str, first: u16, count: u16) {
    let _ = match count {
        1 => write!(out, "{prefix}{first}"),
        _ => write!(out, "{prefix}[{first}:{}]", first + count - 1),
    };
}

/// The memory that an instruction accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum MemorySpace {
    /// The workgroup's LDS.
    Lds,
    /// The global data share.
    Gds,
    /// Global memory by address: GLOBAL.
    Global,
    /// Global memory through a buffer resource: MUBUF, MTBUF.
    Buffer,
    /// Global memory, LDS or scratch, selected by the address: FLAT.
    Flat,
    /// Scratch, per lane: SCRATCH.
    Scratch,
    /// Global memory through the scalar cache: SMEM.
    Scalar,
    /// Global memory through an image resource: MIMG.
    Image,
    /// Render targets, positions and parameters: EXP.
    Export,
}

impl MemorySpace {
    /// Its name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            MemorySpace::Lds => "lds",
            MemorySpace::Gds => "gds",
            MemorySpace::Global => "global",
            MemorySpace::Buffer => "buffer",
            MemorySpace::Flat => "flat",
            MemorySpace::Scratch => "scratch",
            MemorySpace::Scalar => "scalar",
            MemorySpace::Image => "image",
            MemorySpace::Export => "export",
        }
    }
}

/// The kind of a memory access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum MemoryKind {
    /// It reads.
    Load,
    /// It writes.
    Store,
    /// It reads and writes atomically.
    Atomic,
}

impl MemoryKind {
    /// `load`, `store` or `atomic`.
    pub const fn name(self) -> &'static str {
        match self {
            MemoryKind::Load => "load",
            MemoryKind::Store => "store",
            MemoryKind::Atomic => "atomic",
        }
    }
}

/// The memory access of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct MemoryAccess {
    /// The accessed memory.
    pub space: MemorySpace,
    /// Load, store or atomic.
    pub kind: MemoryKind,
    /// Bytes per lane (for scalar memory: in total); `None` if a format in the instruction or in
    /// its resource determines it.
    pub bytes: Option<u16>,
    /// The value in memory is returned to registers.
    pub returns: bool,
    /// A buffer load whose data go to LDS, at M0, instead of VGPRs.
    pub to_lds: bool,
}

/// The counters of s_waitcnt that an instruction increments until it completes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Counters {
    /// VM_CNT.
    pub vm: bool,
    /// LGKM_CNT.
    pub lgkm: bool,
    /// EXP_CNT: until the data have been read out of their VGPRs.
    pub exp: bool,
    /// It may complete before an earlier instruction of the same counter does: scalar memory, FLAT.
    /// Then only a wait for 0 guarantees its completion.
    pub out_of_order: bool,
}

/// The condition under which a use happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Gate {
    Always,
    /// Depends on a condition known only at run time.
    Maybe,
    /// If a field of the encoding is not 0.
    Field(Field),
}

/// The register that a use refers to, before the instruction's bits select it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    /// The operand in a slot: `.2` dwords from dword `.1` on; a count of 0 means all.
    Slot(u8, u8, u8),
    /// Registers of a file: first, count.
    Fixed(File, u16, u8),
    /// Any register.
    Any(File, u8),
    /// The hardware register that SIMM16 names.
    Hwreg,
}

#[derive(Clone, Copy, Debug)]
struct Use {
    what: What,
    write: bool,
    partial: bool,
    gate: Gate,
}

/// The properties of a row in a target. See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct InstructionInfo {
    uses: Vec<Use>,
    memory: Option<(MemoryKind, Option<u16>)>,
    signals: u32,
    /// Bits of the constants below.
    special: u8,
    flow: FlowInfo,
}

/// Bits of [`InstructionInfo::special`]: it sets MODE.VSKIP, adds the lane's number to an LDS address, stores out of LDS.
const SETS_VSKIP: u8 = 1;
const ADDS_LANE: u8 = 2;
const READS_LDS: u8 = 4;

/// The properties of the operands that the meaning reads through [`Op::Src`] and similar nodes.
#[derive(Clone, Copy, Default)]
struct SlotRead {
    whole: bool,
    dwords: u16,
}

impl InstructionInfo {
    /// Computes the properties of a row for a target that has it.
    pub fn new(row: &'static Inst, target: Target) -> InstructionInfo {
        InstructionInfo::of(&meaning(row, target), target)
    }

    /// Computes the properties of a row from its meaning for a target.
    pub fn of(program: &Program, target: Target) -> InstructionInfo {
        let row = program.row;
        let live = live(program);
        let nodes = || {
            (program.nodes.iter().zip(&live))
                .filter(|(_, live)| **live)
                .map(|(node, _)| node)
        };
        let mut uses = Uses::default();
        let mut slots = vec![SlotRead::default(); row.shape.slots.len()];
        let mut bytes = [0u16; 3];
        let mut by_address = false;
        let (mut flat, mut scratch, mut lds, mut gds) = (false, false, false, false);
        // A format in the instruction or its resource determines the number of bytes.
        let mut formatted = None;
        let mut image = None;
        let mut see = |space: Space| match space {
            Space::Flat => flat = true,
            Space::Scratch => scratch = true,
            Space::Lds => lds = true,
            Space::Gds => gds = true,
            _ => {}
        };
        for node in nodes() {
            match node.op {
                Op::Src(slot) | Op::SrcHalf(slot, _) => slots[slot as usize].whole = true,
                Op::SrcDword(slot, k) => slots[slot as usize].dwords |= 1 << k.min(15),
                Op::Address => by_address = true,
                // Parameters are written before the wave begins, and no counter waits for them.
                Op::Load(Space::Parameters, _) => {}
                Op::LoadFormat(_) => formatted = Some(MemoryKind::Load),
                Op::Load(space, _) => {
                    see(space);
                    bytes[MemoryKind::Load as usize] += node.out.bits().div_ceil(8) as u16;
                }
                Op::Atomic(space, _) | Op::WaveAtomic(space, _) => {
                    see(space);
                    bytes[MemoryKind::Atomic as usize] += node.out.bits().div_ceil(8) as u16;
                }
                _ => {}
            }
        }
        for effect in &program.effects {
            match effect.change {
                Change::Store(space, _) => {
                    see(space);
                    let ty = program.nodes[effect.second as usize].out;
                    bytes[MemoryKind::Store as usize] += ty.bits().div_ceil(8) as u16;
                }
                Change::StoreFormat(slot, ..) => {
                    slots[slot as usize].whole = true;
                    formatted = Some(MemoryKind::Store);
                }
                Change::Export(_) => formatted = Some(MemoryKind::Store),
                Change::Image(op) => {
                    image = Some(op);
                    formatted = image_memory(op);
                    for (slot, read) in row.shape.slots.iter().zip(&mut slots) {
                        let data = slot.role == Role::Vdata && slot.access == Access::Write;
                        // The slot's type may not cover the whole address.
                        read.whole |= !data && slot.role != Role::ImgAddr;
                    }
                }
                // An address may select the lines of a cache.
                Change::Signal(Signal::Cache) => by_address = true,
                _ => {}
            }
        }
        if by_address {
            for (slot, read) in row.shape.slots.iter().zip(&mut slots) {
                read.whole |= slot.role.is_address();
            }
        }
        for (n, read) in slots.iter().enumerate() {
            if let (Some(op), Role::ImgAddr) = (image, row.shape.slots[n].role) {
                uses.read(What::Slot(n as u8, 0, Address::most(op, false)));
            }
            match *read {
                SlotRead { whole: true, .. } => uses.read(What::Slot(n as u8, 0, 0)),
                SlotRead { dwords: 0, .. } => {}
                SlotRead { dwords, .. } => {
                    let first = dwords.trailing_zeros() as u8;
                    let count = 16 - dwords.leading_zeros() as u8 - first;
                    uses.read(What::Slot(n as u8, first, count));
                }
            }
        }
        for node in nodes() {
            match node.op {
                Op::Get(state) => uses.read_state(state),
                Op::Sgpr => uses.read(What::Any(File::Scalar, node.out.dwords())),
                Op::Vgpr => uses.read(What::Any(File::Vector, node.out.dwords())),
                Op::Getreg => uses.read(What::Hwreg),
                _ => {}
            }
        }
        let memory = [MemoryKind::Atomic, MemoryKind::Store, MemoryKind::Load]
            .into_iter()
            .find(|kind| bytes[*kind as usize] != 0)
            .map(|kind| (kind, Some(bytes[kind as usize])))
            .or(formatted.map(|kind| (kind, None)));
        if row.format.is_vector() {
            let crosses =
                nodes().any(|n| matches!(n.op, Op::FirstLane | Op::SendLane | Op::WaveAtomic(..)));
            let writes = program.effects.iter().any(|e| match e.change {
                Change::Dst(slot) | Change::DstDword(slot, _) | Change::DstHalf(slot, _) => {
                    row.shape.slots[slot as usize].role != Role::SdstV
                }
                Change::Vgpr | Change::Image(_) | Change::Export(_) => true,
                _ => false,
            });
            if crosses || writes || memory.is_some() {
                uses.read(EXEC_PAIR);
            }
            let float_atomic = matches!(image, Some(ImageOp::Atomic(_, ty)) if ty.is_float());
            if float_atomic || nodes().any(|n| n.ty.is_float() || n.out.is_float()) {
                uses.read(MODE);
            }
        }
        let generation = target.generation();
        if generation < Gen::Gfx9 && (lds || flat) {
            // M0 holds the size of the LDS.
            uses.read(M0_DWORD);
        }
        // The LDS address of data that are stored out of LDS is also in M0.
        let out_of_lds = nodes().any(|n| n.op == Op::LdsOfLane);
        let by_m0 =
            row.format == Format::Ds && by_address && row.shape.slot(Role::DsAddr).is_none();
        if gds || by_m0 || out_of_lds {
            uses.read(M0_DWORD);
        }
        if flat || scratch {
            uses.read(flat_scratch(generation));
        }
        let mut signals = 0;
        for effect in &program.effects {
            uses.effect(program, effect);
            if let Change::Signal(signal) = effect.change {
                signals |= 1 << signal as u32;
                if signal == Signal::Sendmsg {
                    uses.read(M0_DWORD);
                }
            }
        }
        let special = special(program, &live);
        InstructionInfo {
            uses: uses.list,
            memory,
            signals,
            special,
            flow: FlowInfo::new(program),
        }
    }

    /// The registers that an instruction of this row reads, then those it writes; a register may be listed twice. Nothing is
    /// allocated.
    pub fn accesses<'a>(&'a self, insn: &'a Insn) -> impl Iterator<Item = RegAccess> + 'a {
        (self.uses.iter())
            .filter_map(move |used| used.expand(insn))
            .chain(beside(insn).into_iter().flatten())
    }

    /// Returns true if a write leaves nothing of the old values in the active lanes. Writes of VGPRs are partial because inactive
    /// lanes keep their values; this tells them from writes of one lane or half, and from those that depend on a condition.
    pub fn replaces(&self, insn: &Insn, access: &RegAccess) -> bool {
        if !access.write || access.anywhere {
            return false;
        }
        if !access.partial {
            return true;
        }
        let Some(slot) = access.slot.filter(|_| access.file == File::Vector) else {
            return false;
        };
        let own = |u: &&Use| u.write && matches!(u.what, What::Slot(n, ..) if n == slot);
        let whole = self.uses.iter().filter(own).all(|u| !u.partial);
        let dpp = match insn.encoding {
            Encoding::Dpp1 | Encoding::Dpp2 | Encoding::DppC => {
                insn.field(Field::RowMask) == 15
                    && insn.field(Field::BankMask) == 15
                    && insn.field(Field::BoundCtrl) != 0
            }
            _ => true,
        };
        // The upper half alone: OP_SEL's bit of the destination.
        let half = matches!(insn.encoding, Encoding::Vop3)
            && insn.generation() == Gen::Gfx9
            && insn.row.shape.slots[slot as usize].ty.bits() == 16
            && insn.field(Field::OpSel) & 8 != 0;
        whole && dpp && !half
    }

    /// The memory access of an instruction of this row. Returns `None` if it has none.
    pub fn memory(&self, insn: &Insn) -> Option<MemoryAccess> {
        let (kind, bytes) = self.memory?;
        let format = insn.row.format;
        let space = match format {
            Format::Ds if insn.field(Field::Gds) != 0 => MemorySpace::Gds,
            Format::Ds => MemorySpace::Lds,
            Format::Smem => MemorySpace::Scalar,
            Format::Mubuf | Format::Mtbuf => MemorySpace::Buffer,
            Format::Mimg => MemorySpace::Image,
            Format::Flat => MemorySpace::Flat,
            Format::Scratch => MemorySpace::Scratch,
            Format::Exp => MemorySpace::Export,
            _ => MemorySpace::Global,
        };
        let to_lds = kind == MemoryKind::Load && insn.data_in_lds();
        let returns = match kind {
            MemoryKind::Store => false,
            MemoryKind::Load => !to_lds,
            MemoryKind::Atomic if format == Format::Ds => insn.row.shape.slot(Role::Vdst).is_some(),
            MemoryKind::Atomic => insn.field(Field::Glc) != 0,
        };
        Some(MemoryAccess {
            space,
            kind,
            bytes,
            returns,
            to_lds,
        })
    }

    /// The counters that an instruction of this row increments.
    pub fn counters(&self, insn: &Insn) -> Counters {
        let writes = matches!(
            self.memory,
            Some((MemoryKind::Store | MemoryKind::Atomic, _))
        );
        // Before gfx7 the VGPRs of a store may be overwritten only after EXP_CNT is decremented.
        let old_store = writes && insn.generation() == Gen::Gfx6;
        let gds = insn.field(Field::Gds) != 0;
        let mut counters = Counters::default();
        match insn.row.format {
            Format::Smem => {
                counters.lgkm = true;
                counters.out_of_order = true;
            }
            Format::Ds => {
                counters.lgkm = true;
                counters.exp = gds;
            }
            // Cache instructions increment no counter.
            Format::Mubuf | Format::Mtbuf | Format::Mimg if !insn.row.shape.slots.is_empty() => {
                counters.vm = true;
                counters.exp = old_store;
            }
            Format::Flat => {
                counters.vm = true;
                counters.lgkm = true;
                counters.out_of_order = true;
            }
            Format::Global | Format::Scratch => counters.vm = true,
            Format::Exp => counters.exp = true,
            _ => counters.lgkm = self.signals(Signal::Sendmsg),
        }
        counters
    }

    /// Returns true if the meaning includes an event outside the wave's registers, such as a barrier or a wait.
    pub fn signals(&self, signal: Signal) -> bool {
        self.signals & 1 << signal as u32 != 0
    }

    /// Returns true if it sets MODE.VSKIP, other than by s_setreg.
    pub(crate) fn sets_vskip(&self) -> bool {
        self.special & SETS_VSKIP != 0
    }

    /// Returns true if it adds the lane's number to an LDS address.
    pub(crate) fn adds_lane(&self) -> bool {
        self.special & ADDS_LANE != 0
    }

    /// Returns true if it stores data out of LDS.
    pub(crate) fn reads_lds(&self) -> bool {
        self.special & READS_LDS != 0
    }

    /// Returns true if the number of an SGPR that it reads or writes is computed.
    pub(crate) fn computes_sgpr(&self) -> bool {
        (self.uses.iter()).any(|u| matches!(u.what, What::Any(File::Scalar, _)))
    }

    /// Returns true if it reads, or writes, a register that no operand names.
    pub(crate) fn names(&self, file: File, register: u16, write: bool) -> bool {
        (self.uses.iter()).any(|u| match u.what {
            What::Fixed(f, first, count) => {
                u.write == write && f == file && (first..first + count as u16).contains(&register)
            }
            _ => false,
        })
    }

    /// Returns true if it writes memory.
    pub(crate) fn stores(&self) -> bool {
        matches!(
            self.memory,
            Some((MemoryKind::Store | MemoryKind::Atomic, _))
        )
    }

    /// Returns true if a branch depends on a state.
    pub(crate) fn branches_on(&self, state: State) -> bool {
        self.flow.branches_on(state)
    }

    /// Returns true if it jumps to an address in registers.
    pub(crate) fn jumps_indirectly(&self) -> bool {
        self.flow.jumps_indirectly()
    }

    /// Returns true if the next instruction's address is saved in a register: a call, or s_getpc_b64.
    pub fn keeps_pc(&self) -> bool {
        self.flow.keeps_pc()
    }

    /// The control flow after an instruction of this row.
    pub fn flow(&self, insn: &Insn) -> Flow {
        self.flow.of(insn)
    }
}

/// Returns true if VGPR indexing (MODE.GPR_IDX_EN, gfx8 and gfx9), when enabled, moves the VGPR operands of an
/// instruction by M0. The decoder cannot tell whether it is enabled.
pub fn may_be_indexed(insn: &Insn) -> bool {
    insn.generation() >= Gen::Gfx8 && insn.row.format.is_valu()
}

/// The properties of every row that a target has.
pub struct InstructionTable {
    target: Target,
    rows: Vec<InstructionInfo>,
}

impl InstructionTable {
    /// Computes the table.
    pub fn new(target: Target) -> InstructionTable {
        let info = |row| match insts::exists(row, target) {
            true => InstructionInfo::new(row, target),
            false => InstructionInfo::default(),
        };
        InstructionTable {
            target,
            rows: insts::all().map(info).collect(),
        }
    }

    /// The target.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The properties of an instruction's row. The instruction must have been decoded for the table's
    /// target, or for one that shares its instruction table.
    pub fn of(&self, insn: &Insn) -> &InstructionInfo {
        debug_assert_eq!(insn.target.table(), self.target.table());
        &self.rows[insts::number(insn.row)]
    }
}

const EXEC_PAIR: What = What::Fixed(File::Scalar, EXEC, 2);
const M0_DWORD: What = What::Fixed(File::Scalar, M0, 1);
const MODE: What = What::Fixed(File::Hwreg, HWREG_MODE, 1);

/// FLAT_SCRATCH's registers.
fn flat_scratch(generation: Gen) -> What {
    let is = |code: &u16| operand::reg(*code, generation) == Reg::Half(Pair::FlatScratch, false);
    match (0..VCC).find(is) {
        Some(code) => What::Fixed(File::Scalar, code, 2),
        None => What::Fixed(File::Scalar, 0, 0),
    }
}

/// The bits of [`InstructionInfo::special`].
fn special(program: &Program, live: &[bool]) -> u8 {
    let has = |op: Op| {
        let mut nodes = program.nodes.iter().zip(live);
        nodes.any(|(node, live)| *live && node.op == op)
    };
    let vskip = |e: &Effect| e.change == Change::Set(State::Vskip);
    let bit = |on: bool, bit: u8| if on { bit } else { 0 };
    bit(program.effects.iter().any(vskip), SETS_VSKIP)
        | bit(program.row.format == Format::Ds && has(Op::Lane), ADDS_LANE)
        | bit(has(Op::LdsOfLane), READS_LDS)
}

/// The live nodes: those that effects and atomics need.
fn live(program: &Program) -> Vec<bool> {
    let mut live = vec![false; program.nodes.len()];
    for effect in &program.effects {
        live[effect.value as usize] = true;
        live[effect.second as usize] = true;
        if let Some(when) = effect.when {
            live[when as usize] = true;
        }
    }
    for (at, node) in program.nodes.iter().enumerate().rev() {
        if node.op.acts() {
            live[at] = true;
        }
        if live[at] {
            for &arg in &node.args[..node.op.arity()] {
                live[arg as usize] = true;
            }
        }
    }
    live
}

/// The register that holds a state; true if the state is the whole register.
fn location(state: State) -> Option<(What, bool)> {
    let mode = (MODE, false);
    let status = (What::Fixed(File::Hwreg, HWREG_STATUS, 1), false);
    Some(match state {
        State::Scc => (What::Fixed(File::Scc, 0, 1), true),
        State::Exec => (EXEC_PAIR, true),
        State::Vcc => (What::Fixed(File::Scalar, VCC, 2), true),
        State::M0 => (M0_DWORD, true),
        State::Vskip | State::GprIdxEn | State::Csp => mode,
        State::Halt
        | State::Prio
        | State::CondDbgSys
        | State::CondDbgUser
        | State::InstAtc
        | State::Priv => status,
        State::Pc | State::Kill | State::Time | State::RealTime => return None,
    })
}

#[derive(Default)]
struct Uses {
    list: Vec<Use>,
}

impl Uses {
    fn read(&mut self, what: What) {
        self.add(Use {
            what,
            write: false,
            partial: false,
            gate: Gate::Always,
        });
    }

    fn write(&mut self, what: What, gate: Gate, partial: bool) {
        let partial = partial || gate == Gate::Maybe;
        let same = |u: &&mut Use| u.write && u.gate == gate;
        // Dwords that are written one by one are merged into one access.
        if let What::Slot(slot, first, count) = what
            && let Some(before) =
                self.list
                    .iter_mut()
                    .filter(same)
                    .find_map(|u| match &mut u.what {
                        What::Slot(s, f, c)
                            if *s == slot && *c != 0 && count != 0 && *f + *c == first =>
                        {
                            Some(c)
                        }
                        _ => None,
                    })
        {
            *before += count;
            return;
        }
        self.add(Use {
            what,
            write: true,
            partial,
            gate,
        });
    }

    fn add(&mut self, new: Use) {
        let same = |u: &&mut Use| u.what == new.what && u.write == new.write;
        match self.list.iter_mut().find(same) {
            // Two conditional writes are still one conditional write.
            Some(old) if old.gate == new.gate => old.partial |= new.partial,
            Some(old) if old.gate == Gate::Always => {}
            Some(old) => *old = new,
            None => self.list.push(new),
        }
    }

    fn read_state(&mut self, state: State) {
        if let Some((what, _)) = location(state) {
            self.read(what);
        }
    }

    fn effect(&mut self, program: &Program, effect: &Effect) {
        let gate = match effect.when {
            None => Gate::Always,
            Some(when) => gate(program, when),
        };
        match effect.change {
            // Halves come in pairs.
            Change::Dst(slot) | Change::DstHalf(slot, _) => {
                self.write(What::Slot(slot, 0, 0), gate, false);
            }
            Change::DstDword(slot, k) => self.write(What::Slot(slot, k, 1), gate, false),
            Change::DstLane(slot) => self.write(What::Slot(slot, 0, 0), gate, true),
            Change::Set(state) => {
                if let Some((what, whole)) = location(state) {
                    self.write(what, gate, !whole);
                }
            }
            Change::SgprPair => self.write(What::Any(File::Scalar, 2), gate, true),
            Change::Sgpr | Change::Vgpr => {
                let file = match effect.change {
                    Change::Sgpr => File::Scalar,
                    _ => File::Vector,
                };
                let count = program.nodes[effect.second as usize].out.dwords();
                self.write(What::Any(file, count), gate, true);
            }
            Change::Setreg => self.write(What::Hwreg, gate, true),
            Change::Image(op) => {
                let slots = program.row.shape.slots;
                let data = slots.iter().position(|slot| slot.role == Role::Vdata);
                let gate = match image_memory(op) {
                    Some(MemoryKind::Store) => return,
                    Some(MemoryKind::Atomic) => Gate::Field(Field::Glc),
                    _ => gate,
                };
                if let Some(slot) = data {
                    self.write(What::Slot(slot as u8, 0, 0), gate, false);
                }
            }
            Change::Store(..)
            | Change::StoreFormat(..)
            | Change::Export(_)
            | Change::Signal(_)
            | Change::Raise(_) => {}
        }
    }
}

/// The kind of memory access of an image instruction.
fn image_memory(op: ImageOp) -> Option<MemoryKind> {
    match op {
        ImageOp::Load { .. } | ImageOp::Sample(_) | ImageOp::Gather(..) => Some(MemoryKind::Load),
        ImageOp::Store { .. } => Some(MemoryKind::Store),
        ImageOp::Atomic(..) => Some(MemoryKind::Atomic),
        ImageOp::Size | ImageOp::Lod => None,
    }
}

/// Reduces a condition to a field that is not 0, or to one that is known only at run time.
fn gate(program: &Program, when: u16) -> Gate {
    let node = &program.nodes[when as usize];
    let [a, b, _] = node.args;
    match (node.op, program.nodes[a as usize].op) {
        (Op::Ne, Op::Field(field)) if program.nodes[b as usize].op == Op::Const(0) => {
            Gate::Field(field)
        }
        _ => Gate::Maybe,
    }
}

impl Role {
    /// Returns true if the operand is part of the address of a memory instruction.
    const fn is_address(self) -> bool {
        matches!(
            self,
            Role::Sbase
                | Role::Soff
                | Role::DsAddr
                | Role::BufAddr
                | Role::Srsrc
                | Role::Soffset
                | Role::FlatAddr
                | Role::Saddr
        )
    }
}

impl Use {
    /// The access in an instruction. Returns `None` if it has none.
    fn expand(&self, insn: &Insn) -> Option<RegAccess> {
        if let Gate::Field(field) = self.gate
            && insn.field(field) == 0
        {
            return None;
        }
        let mut access = RegAccess {
            file: File::Scalar,
            first: 0,
            count: 1,
            write: self.write,
            partial: self.partial,
            slot: None,
            implicit: true,
            anywhere: false,
        };
        match self.what {
            What::Slot(n, first, count) => return self.of_slot(insn, access, n, first, count),
            What::Fixed(file, first, count) => {
                if count == 0 {
                    return None;
                }
                (access.file, access.first, access.count) = (file, first, count);
            }
            What::Any(file, count) => {
                (access.file, access.count, access.anywhere) = (file, count, true);
            }
            What::Hwreg => {
                access.file = File::Hwreg;
                access.first = insn.field(Field::Simm16) as u16 & 0x3f;
                access.implicit = false;
                // A field as wide as the register replaces the whole register.
                access.partial &= insn.field(Field::Simm16) >> 6 != 31 << 5;
            }
        }
        Some(access)
    }

    fn of_slot(
        &self,
        insn: &Insn,
        mut access: RegAccess,
        n: u8,
        first: u8,
        count: u8,
    ) -> Option<RegAccess> {
        let slot: &'static Slot = insn.row.shape.slots.get(n as usize)?;
        let Value::Code(code) = insn.operand(slot).value else {
            return None;
        };
        if self.write && matches!(slot.role, Role::Vdata | Role::Vdst) && insn.data_in_lds() {
            return None;
        }
        access.slot = Some(n);
        access.implicit = match slot.role {
            Role::CmpDst | Role::CarryOut | Role::CarryIn => !names_masks(insn, slot.role),
            _ => false,
        };
        let mut count = if count == 0 { insn.dwords(slot) } else { count };
        if slot.role == Role::ImgAddr {
            // The maximum that an image may need, limited to the last VGPR.
            count = (count as u16).min(512 - code) as u8;
        }
        if count == 0 {
            return None;
        }
        access.count = count;
        // DPP also keeps bits of a mask: those of lanes that its masks exclude or that have no source.
        access.partial |= self.write
            && matches!(
                insn.encoding,
                Encoding::Dpp1 | Encoding::Dpp2 | Encoding::DppC
            );
        match code {
            VGPR0.. => {
                access.file = File::Vector;
                access.first = code - VGPR0 + first as u16;
                access.partial |= self.write;
            }
            0..=127 => {
                if matches!(operand::reg(code, insn.generation()), Reg::Reserved(_)) {
                    return None;
                }
                access.first = code + first as u16;
            }
            _ if self.write => return None,
            operand::VCCZ => (access.first, access.count) = (VCC, 2),
            operand::EXECZ => (access.first, access.count) = (EXEC, 2),
            operand::SCC => (access.file, access.count) = (File::Scc, 1),
            operand::LDS_DIRECT => (access.first, access.count) = (M0, 1),
            _ => return None,
        }
        Some(access)
    }
}

/// Returns true if the encoding has a field for a mask operand; otherwise the operand is VCC.
fn names_masks(insn: &Insn, role: Role) -> bool {
    match (insn.encoding, role) {
        (Encoding::Vop3 | Encoding::Vop3b, _) => true,
        (Encoding::SdwaC, Role::CmpDst) => insn.field(Field::Sd) != 0,
        _ => false,
    }
}

/// The VGPR that takes the status of TFE in a MUBUF or MTBUF instruction: the one after the data. Returns `None` if the instruction
/// writes no data to VGPRs. An image's data operand includes the status.
pub fn status_register(insn: &Insn) -> Option<u16> {
    let buffer = matches!(insn.encoding, Encoding::Mubuf | Encoding::Mtbuf);
    if !buffer || insn.field(Field::Tfe) == 0 || insn.data_in_lds() {
        return None;
    }
    let slot = insn.row.shape.slot(Role::Vdata)?;
    let atomic = slot.access == Access::ReadWrite && slot.ty.bits() >= 32 && is_atomic(insn);
    if slot.access == Access::Read || atomic && insn.field(Field::Glc) == 0 {
        return None;
    }
    Some(insn.field(Field::Vdata) as u16 + insn.dwords(slot) as u16)
}

/// Returns true if the row is an atomic: it changes its data in memory and returns the old value only with GLC.
fn is_atomic(insn: &Insn) -> bool {
    let program = meaning(insn.row, insn.target);
    let mut nodes = program.nodes.iter();
    nodes.any(|node| matches!(node.op, Op::Atomic(..)))
}

/// The accesses that the encoding adds to the row: the old destination of SDWA, TFE's status, M0 of GDS and of
/// loads to LDS, a second scalar offset, the registers that hold STATUS's bits.
fn beside(insn: &Insn) -> [Option<RegAccess>; 6] {
    let access = |file, first, count, write| RegAccess {
        file,
        first,
        count,
        write,
        partial: write,
        slot: None,
        implicit: true,
        anywhere: false,
    };
    let mut list = [None; 6];
    match insn.encoding {
        Encoding::Sdwa1 | Encoding::Sdwa2 => {
            let preserves = insn.field(Field::DstUnused) == 2 && insn.field(Field::DstSel) != 6;
            if preserves && insn.row.shape.slot(Role::Vdst).is_some() {
                list[0] = Some(access(
                    File::Vector,
                    insn.field(Field::Vdst) as u16,
                    1,
                    false,
                ));
            }
        }
        Encoding::Mubuf | Encoding::Mtbuf | Encoding::Mimg => {
            if insn.data_in_lds() {
                list[0] = Some(access(File::Scalar, M0, 1, false));
            }
            list[1] = status_register(insn).map(|n| access(File::Vector, n, 1, true));
        }
        Encoding::Flat if insn.data_in_lds() => {
            list[0] = Some(access(File::Scalar, M0, 1, false));
        }
        Encoding::Ds if insn.generation() == Gen::Gfx9 && insn.field(Field::Gds) != 0 => {
            list[0] = Some(access(File::Scalar, M0, 1, false));
        }
        Encoding::Smem
            if insn.field(Field::SoffsetEn) != 0
                && insn.field(Field::Imm) != 0
                && insn.row.shape.slot(Role::Soff).is_some() =>
        {
            list[0] = Some(RegAccess {
                implicit: false,
                ..access(File::Scalar, insn.field(Field::Soffset) as u16, 1, false)
            });
        }
        Encoding::Sopk if insn.row.shape.slot(Role::Imm(Imm::Hwreg)).is_some() => {
            let code = insn.field(Field::Simm16);
            let (first, last) = (code >> 6 & 31, (code >> 6 & 31) + (code >> 11 & 31));
            if code as u16 & 0x3f == HWREG_STATUS {
                let write = insn.row.shape.slot(Role::Sdst).is_none();
                let has = |bit| (first..=last).contains(&bit);
                // SCC, EXECZ and VCCZ; only SCC can be written.
                list[0] = has(0).then(|| access(File::Scc, 0, 1, write));
                list[1] = (has(9) && !write).then(|| access(File::Scalar, EXEC, 2, false));
                list[2] = (has(10) && !write).then(|| access(File::Scalar, VCC, 2, false));
            }
        }
        _ => {}
    }
    list
}
