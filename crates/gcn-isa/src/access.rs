//! What an instruction reads and writes: registers, memory, counters; for emulators, compilers and
//! analyses.
//!
//! It is computed from the row's meaning, so that it agrees with what runs: a register is read
//! where a value that matters comes from it.
//!
//! [`Facts`] is what is known of one row in one target; [`FactTable`] has those of all rows, made
//! in about a millisecond. Asking one about an instruction allocates nothing.
//!
//! ```
//! use gcn_isa::access::{FactTable, File};
//! use gcn_isa::{Target, decode};
//!
//! let target = Target::parse("gfx803").unwrap();
//! let facts = FactTable::new(target);
//! // v_addc_u32_e32 v2, vcc, v0, v1, vcc
//! let insn = decode(target, &0x3804_0300u32.to_le_bytes()).unwrap();
//! let mut read = Vec::new();
//! let mut written = Vec::new();
//! for access in facts.of(&insn).accesses(&insn) {
//!     let names = if access.write { &mut written } else { &mut read };
//!     access.each_name(target.generation(), |name| names.push(name.to_string()));
//! }
//! assert_eq!(read, ["v0", "v1", "vcc", "exec"]);
//! assert_eq!(written, ["v2", "vcc"]);
//! ```
//!
//! What it does not know: MODE.GPR_IDX_EN moves the VGPR operands of vector ALU instructions by M0
//! (see [`may_be_indexed`]), MODE.VSKIP skips vector instructions, and PC is the business of
//! [`crate::flow`].

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write as _;

use crate::decode::Insn;
use crate::flow::{Flow, FlowFacts};
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
    /// What codes 0 to 127 name: SGPRs, FLAT_SCRATCH, XNACK_MASK, VCC, TBA, TMA, TTMPs, M0, EXEC.
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
    /// The first register: a scalar's code (0 to 127), a VGPR's number (from 0), a hardware
    /// register's.
    pub first: u16,
    /// How many registers, of 32 bits each (SCC: 1).
    pub count: u8,
    /// They are written; otherwise read.
    pub write: bool,
    /// Of a write: something of the old value may remain. A write under a condition, of one bit
    /// or field, of one lane; a mask by DPP; and every write of a VGPR, whose lanes that EXEC has
    /// off remain.
    pub partial: bool,
    /// The slot of the row's shape whose operand it is.
    pub slot: Option<u8>,
    /// No field of the encoding names it: VCC of the 32-bit compares, EXEC, SCC, M0.
    pub implicit: bool,
    /// The number is computed when the instruction runs, as s_movrels_b32 does: any register of
    /// the file may be meant, and `first` says nothing.
    pub anywhere: bool,
}

impl RegAccess {
    /// Whether a register is among those of the access.
    pub fn touches(&self, file: File, register: u16) -> bool {
        self.file == file
            && (self.anywhere || (self.first..self.first + self.count as u16).contains(&register))
    }

    /// Calls `f` with the names, as LLVM writes them, of the registers: `s[4:7]`, `v0`, `vcc`,
    /// `scc`, `mode`; `s*` or `v*` where they are computed. Several names where the range leaves
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

/// What memory an instruction goes to.
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
    /// Global memory, LDS or scratch, as the address says: FLAT.
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

/// What an instruction does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum MemoryKind {
    /// It reads.
    Load,
    /// It writes.
    Store,
    /// It reads and writes as one.
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

/// An instruction's access of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct MemoryAccess {
    /// Which memory.
    pub space: MemorySpace,
    /// Load, store or atomic.
    pub kind: MemoryKind,
    /// Bytes a lane (of scalar memory: in all); `None` where a format in the instruction or in
    /// its resource decides.
    pub bytes: Option<u16>,
    /// What was in memory goes to registers.
    pub returns: bool,
    /// A buffer load whose data go to LDS, at M0, in place of VGPRs.
    pub to_lds: bool,
}

/// The counters of s_waitcnt that an instruction raises until it is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Counters {
    /// VM_CNT.
    pub vm: bool,
    /// LGKM_CNT.
    pub lgkm: bool,
    /// EXP_CNT: until the data have been read out of their VGPRs.
    pub exp: bool,
    /// It may finish before an earlier instruction of the same counter does: scalar memory, FLAT.
    /// Only a wait for 0 then says that it is done.
    pub out_of_order: bool,
}

/// Whether an instruction happens to its whole extent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Gate {
    Always,
    /// Where a condition holds that is known only when it runs.
    Maybe,
    /// Where a field of the encoding is not 0.
    Field(Field),
}

/// What a use names, before the instruction's bits say which register that is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    /// The operand in a slot: dwords from `.1`, `.2` of them; 0 stands for all.
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

/// What is known of a row in a target. See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    uses: Vec<Use>,
    memory: Option<(MemoryKind, Option<u16>)>,
    signals: u32,
    flow: FlowFacts,
}

/// What is known of the operands that the meaning reads through [`Op::Src`] and its like.
#[derive(Clone, Copy, Default)]
struct SlotRead {
    whole: bool,
    dwords: u16,
}

impl Facts {
    /// Computes what is known of a row in a target that has it.
    pub fn new(row: &'static Inst, target: Target) -> Facts {
        let program = &meaning(row, target);
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
        // A format in the instruction or its resource says how many bytes there are.
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
                // Parameters were put there before the wave began, and no counter waits for them.
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
                        // Of the address not all may be in the slot's type.
                        read.whole |= !data && slot.role != Role::ImgAddr;
                    }
                }
                // Lines of a cache may be named by an address.
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
            // The LDS's size is in M0.
            uses.read(M0_DWORD);
        }
        // The place of what is stored out of LDS is in M0, too.
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
        Facts {
            uses: uses.list,
            memory,
            signals,
            flow: FlowFacts::new(program),
        }
    }

    /// The registers that an instruction of this row reads, then those it writes; some of them
    /// may be named twice. Nothing is allocated.
    pub fn accesses<'a>(&'a self, insn: &'a Insn) -> impl Iterator<Item = RegAccess> + 'a {
        (self.uses.iter())
            .filter_map(move |used| used.expand(insn))
            .chain(beside(insn).into_iter().flatten())
    }

    /// What an instruction of this row does to memory; `None` where that is nothing.
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

    /// The counters that an instruction of this row raises.
    pub fn counters(&self, insn: &Insn) -> Counters {
        let writes = matches!(
            self.memory,
            Some((MemoryKind::Store | MemoryKind::Atomic, _))
        );
        // Before gfx7 the VGPRs of a store are free only when EXP_CNT says so.
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
            // Cache instructions raise none.
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

    /// Whether an event outside the wave's registers is part of the meaning: a barrier, a wait.
    pub fn signals(&self, signal: Signal) -> bool {
        self.signals & 1 << signal as u32 != 0
    }

    /// Whether the next instruction's address is kept in a register: a call, or s_getpc_b64.
    pub fn keeps_pc(&self) -> bool {
        self.flow.keeps_pc()
    }

    /// Where an instruction of this row goes on.
    pub fn flow(&self, insn: &Insn) -> Flow {
        self.flow.of(insn)
    }
}

/// Whether VGPR indexing (MODE.GPR_IDX_EN, gfx8 and gfx9) moves the VGPR operands of an
/// instruction by M0. The decoder cannot know whether it is on.
pub fn may_be_indexed(insn: &Insn) -> bool {
    insn.generation() >= Gen::Gfx8 && insn.row.format.is_valu()
}

/// The facts of every row that a target has.
pub struct FactTable {
    target: Target,
    rows: Vec<Facts>,
}

impl FactTable {
    /// Computes them.
    pub fn new(target: Target) -> FactTable {
        let facts = |row| match insts::exists(row, target) {
            true => Facts::new(row, target),
            false => Facts::default(),
        };
        FactTable {
            target,
            rows: insts::all().map(facts).collect(),
        }
    }

    /// The target.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The facts of an instruction's row. The instruction must have been decoded for the table's
    /// target, or one that shares its instruction table.
    pub fn of(&self, insn: &Insn) -> &Facts {
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

/// Which nodes matter: those that effects and atomics need.
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

/// Where a state lies, and whether that is all of the register.
fn place(state: State) -> Option<(What, bool)> {
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
        // Dwords that are written one by one make one access.
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
            // Two writes under conditions are still one under a condition.
            Some(old) if old.gate == new.gate => old.partial |= new.partial,
            Some(old) if old.gate == Gate::Always => {}
            Some(old) => *old = new,
            None => self.list.push(new),
        }
    }

    fn read_state(&mut self, state: State) {
        if let Some((what, _)) = place(state) {
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
                if let Some((what, whole)) = place(state) {
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

/// What an image instruction does to memory.
fn image_memory(op: ImageOp) -> Option<MemoryKind> {
    match op {
        ImageOp::Load { .. } | ImageOp::Sample(_) | ImageOp::Gather(..) => Some(MemoryKind::Load),
        ImageOp::Store { .. } => Some(MemoryKind::Store),
        ImageOp::Atomic(..) => Some(MemoryKind::Atomic),
        ImageOp::Size | ImageOp::Lod => None,
    }
}

/// What a condition comes down to: a field that is not 0, or what only running tells.
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
    /// Whether the address of a memory instruction is made of it.
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
    /// The access in an instruction; `None` where it has none.
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
                // A field as wide as the register replaces all of it.
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
            // The most that an image may need; there are no VGPRs beyond the last.
            count = (count as u16).min(512 - code) as u8;
        }
        if count == 0 {
            return None;
        }
        access.count = count;
        // DPP keeps lanes of a mask too: those that its masks name or that have no source.
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

/// Whether the encoding has a field for a mask operand, which is VCC otherwise.
fn names_masks(insn: &Insn, role: Role) -> bool {
    match (insn.encoding, role) {
        (Encoding::Vop3 | Encoding::Vop3b, _) => true,
        (Encoding::SdwaC, Role::CmpDst) => insn.field(Field::Sd) != 0,
        _ => false,
    }
}

/// What the encoding adds to the row: the old destination of SDWA, TFE's status, M0 of GDS and of
/// loads to LDS, a second scalar offset, the registers behind STATUS's bits.
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
            let data = insn.row.shape.slot(Role::Vdata);
            // Of images the operand's own width has it.
            if insn.field(Field::Tfe) != 0
                && insn.encoding != Encoding::Mimg
                && let Some(slot) = data.filter(|s| s.access != Access::Read)
            {
                let after = insn.field(Field::Vdata) as u16 + insn.dwords(slot) as u16;
                list[1] = Some(access(File::Vector, after, 1, true));
            }
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
                // SCC, EXECZ and VCCZ; only the first can be written.
                list[0] = has(0).then(|| access(File::Scc, 0, 1, write));
                list[1] = (has(9) && !write).then(|| access(File::Scalar, EXEC, 2, false));
                list[2] = (has(10) && !write).then(|| access(File::Scalar, VCC, 2, false));
            }
        }
        _ => {}
    }
    list
}
