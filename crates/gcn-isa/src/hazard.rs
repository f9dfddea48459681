//! Hazards: dependences that the hardware does not check. The program must keep the two instructions apart.
//!
//! [`HAZARDS`] is the one table. The manual prints it with each instruction, and checkers read it: an instruction can be the
//! first or the second of a hazard, and [`Hazard::first`] and [`Hazard::second`] return the registers that make the two depend on
//! each other.
//!
//! ```
//! use gcn_isa::access::InstructionTable;
//! use gcn_isa::hazard::HAZARDS;
//! use gcn_isa::{Target, decode};
//!
//! let target = Target::parse("gfx900").unwrap();
//! let table = InstructionTable::new(target);
//! // v_readfirstlane_b32 s4, v0; buffer_load_dword v1, off, s[4:7], 0
//! let first = decode(target, &0x7e08_0500u32.to_le_bytes()).unwrap();
//! let second = decode(target, &0x8001_0100_e050_0000u64.to_le_bytes()).unwrap();
//! let hazard = HAZARDS.iter().find(|h| h.name == "valu-sgpr-vmem").unwrap();
//! assert_eq!(hazard.waits_in(target), 5);
//! let written = hazard.first(&first, table.of(&first)).unwrap();
//! let read = hazard.second(&second, table.of(&second)).unwrap();
//! assert!(written.meets(&read));
//! ```
//!
//! The distance of two instructions is counted in wait states: each instruction between them is one, and s_nop is its operand
//! plus one. The sources are AMD's instruction set manuals ("Manually Inserted Wait States" of Southern Islands, Sea Islands, GCN3
//! and Vega), LLVM (GCNHazardRecognizer, SIInsertWaitcnts and the predicates of GCNSubtarget) and Mesa's ACO (aco_insert_NOPs).

use crate::access::{File, HWREG_MODE, HWREG_STATUS, InstructionInfo, MemoryKind};
use crate::decode::Insn;
use crate::flow::Flow;
use crate::format::{Encoding, Field, Format};
use crate::inst::{Flags, Inst};
use crate::meaning::{Signal, State};
use crate::operand::{self, EXEC, EXECZ, LDS_DIRECT, M0, VCC, VCCZ, Value};
use crate::shape::{Access, Imm, Role};
use crate::target::{Gen, Target};

/// The number of TRAPSTS among the hardware registers.
pub const HWREG_TRAPSTS: u16 = 3;
/// The bit of MODE that holds VSKIP.
const VSKIP_BIT: u32 = 28;

/// One hazard: a row of [`HAZARDS`].
pub struct Hazard {
    /// Its name in reports and in the manual.
    pub name: &'static str,
    /// The two instructions, and how they must be kept apart.
    pub rule: Rule,
    /// For gfx6 to gfx9: the wait states that must lie between the two instructions, or 0 if the hazard does not exist. For rules
    /// other than [`Rule::Wait`] it is 1 if the hazard exists.
    pub waits: [u8; 4],
    /// For gfx6 to gfx9: true if sources disagree whether the hazard exists. Checkers report it as a note.
    pub disputed: [bool; 4],
    /// A sentence for the manual and for reports.
    pub about: &'static str,
    /// The documents that describe it.
    pub sources: &'static str,
}

/// The kind of a hazard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Wait states must lie between the first instruction and the second.
    Wait(First, Second),
    /// VCC, or the SGPRs that hold it, was written under one name and is read under the other.
    VccAlias,
    /// VCCZ may be wrong after a scalar load has returned, until VCC is written.
    VcczAfterSmem,
    /// VCCZ does not follow a write of one half of VCC, until all of VCC is written.
    VcczAfterHalf,
    /// With XNACK, an instruction of a clause may be repeated, so none may overwrite a source of the clause, and stores
    /// must not share a clause. A clause is a sequence of scalar memory instructions, or of vector memory instructions.
    Clause(Clause),
}

/// The instructions that form a clause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clause {
    /// Scalar memory.
    Scalar,
    /// Vector memory, including FLAT.
    Vector,
}

/// The first instruction of a hazard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum First {
    /// A vector ALU instruction writes an SGPR, VCC or M0.
    ValuSgpr,
    /// A scalar ALU instruction writes an SGPR.
    SaluSgpr,
    /// A vector ALU instruction writes a VGPR.
    ValuVgpr,
    /// v_interp writes a VGPR.
    InterpVgpr,
    /// A vector ALU instruction writes EXEC.
    ValuExec,
    /// A vector ALU instruction writes VCC.
    ValuVcc,
    /// A vector ALU instruction writes VCC or EXEC.
    ValuMask,
    /// A scalar ALU instruction writes M0.
    SaluM0,
    /// s_setreg.
    Setreg,
    /// s_setreg of TRAPSTS.
    SetregTrapsts,
    /// s_setvskip.
    SetVskip,
    /// s_setreg of MODE.VSKIP.
    SetregVskip,
    /// A store of more than 64 bits per lane whose data are still in their VGPRs.
    WideStore,
}

/// The second instruction of a hazard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Second {
    /// A scalar memory instruction reads an SGPR.
    SmemSgpr,
    /// s_buffer_load reads its resource.
    SmemResource,
    /// A vector memory instruction reads an SGPR.
    VmemSgpr,
    /// v_readlane or v_writelane reads its lane select.
    LaneSelect,
    /// v_readlane or v_readfirstlane reads a VGPR.
    ReadLaneVgpr,
    /// v_div_fmas reads VCC.
    DivFmas,
    /// An instruction with DPP reads a VGPR.
    DppVgpr,
    /// An instruction with DPP.
    Dpp,
    /// s_getreg.
    Getreg,
    /// s_getreg of MODE.
    GetregMode,
    /// s_setreg.
    Setreg,
    /// A vector instruction.
    Vector,
    /// A vector ALU instruction has VCCZ or EXECZ as a source.
    MaskAsData,
    /// A GDS instruction, s_sendmsg or s_ttracedata.
    Message,
    /// s_movrels or s_movreld.
    Movrel,
    /// v_interp, an LDS instruction that adds the lane's number, a transfer between memory and LDS, or LDS_DIRECT.
    LdsByM0,
    /// s_rfe_b64, s_rfe_restore_b64.
    ReturnFromTrap,
    /// A vector ALU instruction writes a VGPR.
    ValuWritesVgpr,
}

const NOWHERE: [bool; 4] = [false; 4];
/// LLVM and ACO or the manuals disagree about gfx6 and gfx7.
const OLD: [bool; 4] = [true, true, false, false];
const ALL: &str = "the manuals; LLVM GCNHazardRecognizer; ACO";

/// Every hazard.
#[rustfmt::skip]
pub static HAZARDS: [Hazard; 23] = [
    //   name                  first, second                                        gfx6 gfx7 gfx8 gfx9
    wait("setreg-getreg",      First::Setreg,        Second::Getreg,              [  2,   2,   2,   2], NOWHERE, ALL,
        "s_getreg may not see what s_setreg wrote to the same hardware register."),
    wait("setreg-setreg",      First::Setreg,        Second::Setreg,              [  1,   1,   2,   2], NOWHERE, ALL,
        "Two s_setreg of the same hardware register may take effect in the wrong order."),
    wait("vskip-getreg",       First::SetVskip,      Second::GetregMode,          [  2,   2,   2,   2], NOWHERE, "the manuals",
        "s_getreg of MODE may not see what s_setvskip wrote."),
    wait("vskip-vector",       First::SetregVskip,   Second::Vector,              [  2,   2,   2,   2], NOWHERE, "the manuals; ACO",
        "A vector instruction may not see what s_setreg wrote to MODE.VSKIP."),
    wait("valu-mask-data",     First::ValuMask,      Second::MaskAsData,          [  5,   5,   5,   5], NOWHERE, "the manuals; ACO",
        "VCCZ and EXECZ as sources may not follow what a vector instruction wrote to VCC or EXEC."),
    wait("valu-lane-select",   First::ValuSgpr,      Second::LaneSelect,          [  4,   4,   4,   4], NOWHERE, ALL,
        "The lane select of v_readlane and v_writelane may not see what a vector instruction wrote to the SGPR."),
    wait("valu-div-fmas",      First::ValuVcc,       Second::DivFmas,             [  4,   4,   4,   4], NOWHERE, ALL,
        "v_div_fmas may not see what a vector instruction wrote to VCC."),
    wait("wide-store",         First::WideStore,     Second::ValuWritesVgpr,      [  0,   1,   1,   1], NOWHERE, ALL,
        "A store of more than 64 bits a lane has not yet read all of its data; a buffer store with an SGPR as offset has."),
    wait("valu-sgpr-vmem",     First::ValuSgpr,      Second::VmemSgpr,            [  5,   5,   5,   5], OLD, "the manuals; ACO; LLVM GCNHazardRecognizer (gfx8 on)",
        "A vector memory instruction may not see what a vector ALU instruction wrote to the SGPR."),
    wait("valu-sgpr-smem",     First::ValuSgpr,      Second::SmemSgpr,            [  4,   0,   0,   0], NOWHERE, ALL,
        "A scalar memory instruction may not see what a vector instruction wrote to the SGPR."),
    wait("salu-smem-resource", First::SaluSgpr,      Second::SmemResource,        [  4,   0,   0,   0], NOWHERE, "LLVM GCNHazardRecognizer (observed on hardware); ACO",
        "s_buffer_load may not see what a scalar instruction wrote to its resource."),
    wait("salu-m0-message",    First::SaluM0,        Second::Message,             [  1,   1,   1,   1], OLD, "the manuals; ACO; LLVM GCNHazardRecognizer (gfx8 on)",
        "A GDS instruction, s_sendmsg or s_ttracedata may not see what a scalar instruction wrote to M0."),
    wait("salu-m0-lds",        First::SaluM0,        Second::LdsByM0,             [  0,   0,   0,   1], NOWHERE, "the Vega manual; LLVM GCNHazardRecognizer; ACO",
        "v_interp, an LDS instruction that adds the lane's number, a transfer between memory and LDS, and LDS_DIRECT may not see what a scalar instruction wrote to M0."),
    wait("salu-m0-movrel",     First::SaluM0,        Second::Movrel,              [  0,   0,   0,   1], NOWHERE, "the Vega manual; LLVM GCNHazardRecognizer; ACO",
        "s_movrels and s_movreld may not see what a scalar instruction wrote to M0."),
    wait("valu-vgpr-dpp",      First::ValuVgpr,      Second::DppVgpr,             [  0,   0,   2,   2], NOWHERE, ALL,
        "An instruction with DPP may not see what a vector ALU instruction wrote to the VGPR."),
    wait("valu-exec-dpp",      First::ValuExec,      Second::Dpp,                 [  0,   0,   5,   5], NOWHERE, ALL,
        "An instruction with DPP may not see what a vector ALU instruction wrote to EXEC."),
    wait("interp-readlane",    First::InterpVgpr,    Second::ReadLaneVgpr,        [  1,   0,   0,   0], NOWHERE, "ACO (confirmed by AMD)",
        "v_readlane and v_readfirstlane of a VGPR that v_interp has just written can hang the hardware."),
    wait("setreg-rfe",         First::SetregTrapsts, Second::ReturnFromTrap,      [  0,   0,   1,   1], NOWHERE, "the GCN3 and Vega manuals; LLVM GCNHazardRecognizer",
        "The return from a trap may not see what s_setreg wrote to TRAPSTS."),
    rule("vcc-alias",          Rule::VccAlias,                                    [  1,   1,   1,   1], NOWHERE, "the manuals",
        "VCC can be named as VCC and as the last two SGPRs of the wave; the hardware does not know that they are the same registers, so a vector instruction that reads one name as data right after a vector instruction that wrote the other may not see it. One wait state must lie between them."),
    rule("vccz-smem",          Rule::VcczAfterSmem,                               [  1,   1,   0,   0], NOWHERE, "LLVM SIInsertWaitcnts",
        "A scalar load that returns may make VCCZ wrong. Before s_cbranch_vccz and s_cbranch_vccnz, s_waitcnt lgkmcnt(0) and a write of VCC, such as s_mov_b64 vcc, vcc, put it right."),
    rule("vccz-half",          Rule::VcczAfterHalf,                               [  1,   1,   1,   1], NOWHERE, "LLVM SIInsertWaitcnts",
        "VCCZ does not follow a write of VCC_LO or VCC_HI alone. Before s_cbranch_vccz and s_cbranch_vccnz, a write of VCC, such as s_mov_b64 vcc, vcc, puts it right."),
    rule("smem-clause",        Rule::Clause(Clause::Scalar),                      [  0,   0,   1,   1], NOWHERE, "LLVM GCNHazardRecognizer; ACO",
        "With XNACK, consecutive scalar memory instructions may be repeated: none may overwrite a register that another reads, and a store must not follow a load. Another instruction between them ends the sequence."),
    rule("vmem-clause",        Rule::Clause(Clause::Vector),                      [  0,   0,   1,   1], NOWHERE, "LLVM GCNHazardRecognizer",
        "With XNACK, consecutive vector memory instructions may be repeated: none may overwrite a register that another reads, and a store must not follow a load. Another instruction between them ends the sequence."),
];

const fn wait(
    name: &'static str,
    first: First,
    second: Second,
    waits: [u8; 4],
    disputed: [bool; 4],
    sources: &'static str,
    about: &'static str,
) -> Hazard {
    let rule = Rule::Wait(first, second);
    Hazard {
        name,
        rule,
        waits,
        disputed,
        about,
        sources,
    }
}

const fn rule(
    name: &'static str,
    rule: Rule,
    waits: [u8; 4],
    disputed: [bool; 4],
    sources: &'static str,
    about: &'static str,
) -> Hazard {
    Hazard {
        name,
        rule,
        waits,
        disputed,
        about,
        sources,
    }
}

/// The largest number of wait states that a hazard needs.
pub const MOST_WAITS: u8 = 5;

/// The registers through which an instruction takes part in a hazard.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Concern {
    ranges: [Option<(File, u16, u16)>; 8],
    count: usize,
    always: bool,
}

impl Concern {
    /// The hazard depends on no register.
    const ALWAYS: Concern = Concern {
        ranges: [None; 8],
        count: 0,
        always: true,
    };

    fn add(&mut self, file: File, first: u16, count: u16) {
        match self.ranges.get_mut(self.count) {
            Some(range) => {
                *range = Some((file, first, count));
                self.count += 1;
            }
            // No instruction has more operands than fit.
            None => self.always = true,
        }
    }

    fn some(self) -> Option<Concern> {
        (self.always || self.count > 0).then_some(self)
    }

    /// Returns true if the instruction always takes part, with any registers.
    pub fn is_always(&self) -> bool {
        self.always
    }

    /// The registers: file, first register and number.
    pub fn ranges(&self) -> impl Iterator<Item = (File, u16, u16)> + '_ {
        self.ranges.iter().flatten().copied()
    }

    /// Returns true if the two instructions of a hazard depend on each other.
    pub fn meets(&self, other: &Concern) -> bool {
        self.always || other.always || self.common(other).is_some()
    }

    /// The first register that both name.
    pub fn common(&self, other: &Concern) -> Option<(File, u16)> {
        self.ranges().find_map(|(file, first, count)| {
            other.ranges().find_map(|(f, a, n)| {
                let start = first.max(a);
                (f == file && start < (first + count).min(a + n)).then_some((file, start))
            })
        })
    }

    /// Removes the registers that an instruction overwrites. Returns false if none is left.
    pub fn without(&mut self, file: File, first: u16, count: u16) -> bool {
        if self.always {
            return true;
        }
        let old = *self;
        *self = Concern::default();
        for (f, a, n) in old.ranges() {
            let (end, cut) = (a + n, first + count);
            if f != file || cut <= a || end <= first {
                self.add(f, a, n);
                continue;
            }
            if a < first {
                self.add(f, a, first - a);
            }
            if cut < end {
                self.add(f, cut, end - cut);
            }
        }
        self.count > 0 || self.always
    }
}

impl Hazard {
    /// The wait states that a target needs; 0 if it does not have the hazard.
    pub fn waits_in(&self, target: Target) -> u8 {
        self.waits[target.generation() as usize]
    }

    /// Returns true if sources disagree whether a target has the hazard.
    pub fn disputed_in(&self, target: Target) -> bool {
        self.disputed[target.generation() as usize]
    }

    /// The registers through which an instruction is the first of the hazard. Returns `None` if it is not.
    pub fn first(&self, insn: &Insn, info: &InstructionInfo) -> Option<Concern> {
        match self.rule {
            Rule::Wait(first, _) => first.concern(insn, info),
            _ => None,
        }
    }

    /// The registers through which an instruction is the second of the hazard. Returns `None` if it is not.
    pub fn second(&self, insn: &Insn, info: &InstructionInfo) -> Option<Concern> {
        match self.rule {
            Rule::Wait(_, second) => second.concern(insn, info),
            _ => None,
        }
    }

    /// Returns true if some instruction of a row can be the first of the hazard.
    pub fn first_row(&self, row: &Inst, info: &InstructionInfo, generation: Gen) -> bool {
        match self.rule {
            Rule::Wait(first, _) => first.row(row, info),
            Rule::VcczAfterSmem => row.format == Format::Smem,
            Rule::VcczAfterHalf | Rule::VccAlias => false,
            Rule::Clause(clause) => generation >= Gen::Gfx8 && clause.row(row),
        }
    }

    /// Returns true if some instruction of a row can be the second of the hazard.
    pub fn second_row(&self, row: &Inst, info: &InstructionInfo, generation: Gen) -> bool {
        match self.rule {
            Rule::Wait(_, second) => second.row(row, info, generation),
            Rule::VcczAfterSmem | Rule::VcczAfterHalf => info.branches_on(State::Vcc),
            Rule::VccAlias => false,
            Rule::Clause(clause) => generation >= Gen::Gfx8 && clause.row(row),
        }
    }
}

impl Clause {
    /// Returns true if the instructions of a row can be part of a clause.
    pub fn row(self, row: &Inst) -> bool {
        match self {
            Clause::Scalar => row.format == Format::Smem,
            Clause::Vector => is_vmem(row),
        }
    }
}

/// Returns true if it is a vector ALU instruction, v_interp included.
pub fn is_valu(row: &Inst) -> bool {
    row.format.is_valu() || row.format == Format::Vintrp
}

/// Returns true if it is a scalar ALU instruction.
pub fn is_salu(row: &Inst) -> bool {
    matches!(
        row.format,
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp
    )
}

/// Returns true if it is a vector memory instruction, FLAT included.
pub fn is_vmem(row: &Inst) -> bool {
    matches!(
        row.format,
        Format::Mubuf
            | Format::Mtbuf
            | Format::Mimg
            | Format::Flat
            | Format::Global
            | Format::Scratch
    )
}

/// The number of wait states for which an instruction counts.
pub fn wait_states(insn: &Insn, info: &InstructionInfo) -> u32 {
    match info.signals(Signal::Nop) {
        true => {
            let mask = if insn.generation() >= Gen::Gfx8 {
                15
            } else {
                7
            };
            (insn.field(Field::Simm16) & mask) + 1
        }
        false => 1,
    }
}

/// The hardware register of s_setreg: its number and the first and last bit.
fn setreg(insn: &Insn) -> Option<(u16, u32, u32)> {
    let slots = &insn.row.shape;
    if slots.slot(Role::Imm(Imm::Hwreg)).is_none() || slots.slot(Role::Sdst).is_some() {
        return None;
    }
    let code = insn.field(Field::Simm16);
    let first = code >> 6 & 31;
    Some(((code & 63) as u16, first, first + (code >> 11 & 31)))
}

/// The number of the hardware register of s_getreg.
fn getreg(insn: &Insn) -> Option<u16> {
    let slots = &insn.row.shape;
    let is = slots.slot(Role::Imm(Imm::Hwreg)).is_some() && slots.slot(Role::Sdst).is_some();
    is.then(|| insn.field(Field::Simm16) as u16 & 63)
}

fn is_dpp(insn: &Insn) -> bool {
    matches!(
        insn.encoding,
        Encoding::Dpp1 | Encoding::Dpp2 | Encoding::DppC
    )
}

/// The registers of the accesses that a test selects.
fn registers(
    insn: &Insn,
    info: &InstructionInfo,
    mut test: impl FnMut(&crate::access::RegAccess) -> bool,
) -> Concern {
    let mut concern = Concern::default();
    for access in info.accesses(insn) {
        if !access.anywhere && test(&access) {
            concern.add(access.file, access.first, access.count as u16);
        }
    }
    concern
}

fn hwreg(number: u16) -> Concern {
    let mut concern = Concern::default();
    concern.add(File::Hwreg, number, 1);
    concern
}

/// Returns true if an operand has this code.
fn has_operand(insn: &Insn, code: u16) -> bool {
    insn.operands().any(|o| o.value == Value::Code(code))
}

/// The VGPRs of a store's data that the hardware reads late: data of more than 64 bits. An image store counts only with a
/// resource of 128 bits, and a buffer store only with a constant as offset.
fn wide_store(insn: &Insn, info: &InstructionInfo) -> Option<Concern> {
    let kind = info.memory(insn)?.kind;
    if kind == MemoryKind::Load || insn.data_in_lds() {
        return None;
    }
    let role = match insn.row.format {
        Format::Mubuf | Format::Mtbuf => {
            let constant = insn
                .code(Role::Soffset)
                .is_none_or(|code| code >= operand::INT0);
            constant.then_some(Role::Vdata)?
        }
        Format::Mimg => insn.short_resource().then_some(Role::Vdata)?,
        Format::Flat | Format::Global | Format::Scratch => Role::Data0,
        _ => return None,
    };
    let slot = insn.row.shape.slot(role)?;
    let Value::Code(code) = insn.operand(slot).value else {
        return None;
    };
    let count = insn.dwords(slot) as u16;
    if count <= 2 || code < operand::VGPR0 {
        return None;
    }
    let mut concern = Concern::default();
    concern.add(File::Vector, code - operand::VGPR0, count);
    Some(concern)
}

impl First {
    /// Its text in the manual: `a vector ALU instruction writes an SGPR`.
    pub const fn text(self) -> &'static str {
        match self {
            First::ValuSgpr => "a vector ALU instruction writes an SGPR or VCC",
            First::SaluSgpr => "a scalar ALU instruction writes an SGPR",
            First::ValuVgpr => "a vector ALU instruction writes a VGPR",
            First::InterpVgpr => "v_interp writes a VGPR",
            First::ValuExec => "a vector ALU instruction writes EXEC",
            First::ValuVcc => "a vector ALU instruction writes VCC",
            First::ValuMask => "a vector ALU instruction writes VCC or EXEC",
            First::SaluM0 => "a scalar ALU instruction writes M0",
            First::Setreg => "s_setreg writes a hardware register",
            First::SetregTrapsts => "s_setreg writes TRAPSTS",
            First::SetVskip => "s_setvskip",
            First::SetregVskip => "s_setreg writes MODE.VSKIP",
            First::WideStore => "a vector store of more than 64 bits a lane",
        }
    }

    fn concern(self, insn: &Insn, info: &InstructionInfo) -> Option<Concern> {
        let row = insn.row;
        let writes = |file: File| registers(insn, info, |a| a.write && a.file == file);
        let writes_mask = |code: u16| {
            registers(insn, info, |a| {
                a.write && (a.touches(File::Scalar, code) || a.touches(File::Scalar, code + 1))
            })
        };
        match self {
            First::ValuSgpr if is_valu(row) => registers(insn, info, |a| {
                a.write && a.file == File::Scalar && a.first < EXEC
            })
            .some(),
            First::SaluSgpr if is_salu(row) => writes(File::Scalar).some(),
            First::ValuVgpr if is_valu(row) => writes(File::Vector).some(),
            First::InterpVgpr if row.format == Format::Vintrp => writes(File::Vector).some(),
            First::ValuExec if is_valu(row) => writes_mask(EXEC).some().map(|_| Concern::ALWAYS),
            First::ValuVcc if is_valu(row) => writes_mask(VCC).some().map(|_| Concern::ALWAYS),
            First::ValuMask if is_valu(row) => registers(insn, info, |a| {
                a.write && a.file == File::Scalar && matches!(a.first, 106 | 107 | 126 | 127)
            })
            .some(),
            First::SaluM0 if is_salu(row) => {
                let m0 = registers(insn, info, |a| a.write && a.touches(File::Scalar, M0));
                m0.some().map(|_| Concern::ALWAYS)
            }
            First::Setreg => setreg(insn).map(|(number, ..)| hwreg(number)),
            First::SetregTrapsts => {
                setreg(insn).and_then(|(n, ..)| (n == HWREG_TRAPSTS).then_some(Concern::ALWAYS))
            }
            First::SetVskip => info.sets_vskip().then_some(Concern::ALWAYS),
            First::SetregVskip => setreg(insn).and_then(|(number, first, last)| {
                let vskip = number == HWREG_MODE && (first..=last).contains(&VSKIP_BIT);
                vskip.then_some(Concern::ALWAYS)
            }),
            First::WideStore => wide_store(insn, info),
            _ => None,
        }
    }

    fn row(self, row: &Inst, info: &InstructionInfo) -> bool {
        let shape = row.shape;
        let sets = |register: u16| info.names(File::Scalar, register, true);
        let mask = |role: Role| shape.slot(role).is_some();
        let masks = mask(Role::CmpDst) || mask(Role::CarryOut);
        match self {
            First::ValuSgpr => is_valu(row) && (masks || mask(Role::SdstV)),
            First::SaluSgpr => is_salu(row) && (mask(Role::Sdst) || sets(VCC) || sets(M0)),
            First::ValuVgpr => is_valu(row) && writes_slot(row, Role::Vdst),
            First::InterpVgpr => row.format == Format::Vintrp,
            First::ValuExec => is_valu(row) && (sets(EXEC) || masks || mask(Role::SdstV)),
            First::ValuVcc => is_valu(row) && (masks || mask(Role::SdstV)),
            First::ValuMask => is_valu(row) && (masks || mask(Role::SdstV) || sets(EXEC)),
            First::SaluM0 => is_salu(row) && (mask(Role::Sdst) || sets(M0)),
            First::Setreg | First::SetregTrapsts | First::SetregVskip => {
                mask(Role::Imm(Imm::Hwreg)) && !mask(Role::Sdst)
            }
            First::SetVskip => info.sets_vskip(),
            First::WideStore => {
                let data = shape.slot(Role::Vdata).or(shape.slot(Role::Data0));
                is_vmem(row)
                    && info.stores()
                    && data.is_some_and(|d| d.ty.dwords() > 2 || row.format == Format::Mimg)
            }
        }
    }
}

/// Returns true if a row writes the operand in a role.
fn writes_slot(row: &Inst, role: Role) -> bool {
    row.shape
        .slot(role)
        .is_some_and(|slot| slot.access != Access::Read)
}

impl Second {
    /// Its text in the manual: `v_div_fmas reads VCC`.
    pub const fn text(self) -> &'static str {
        match self {
            Second::SmemSgpr => "a scalar memory instruction reads the SGPR",
            Second::SmemResource => "s_buffer_load reads its resource",
            Second::VmemSgpr => "a vector memory instruction reads the SGPR",
            Second::LaneSelect => "v_readlane or v_writelane reads its lane select",
            Second::ReadLaneVgpr => "v_readlane or v_readfirstlane reads the VGPR",
            Second::DivFmas => "v_div_fmas reads VCC",
            Second::DppVgpr => "an instruction with DPP reads the VGPR",
            Second::Dpp => "an instruction with DPP",
            Second::Getreg => "s_getreg reads the same hardware register",
            Second::GetregMode => "s_getreg reads MODE",
            Second::Setreg => "s_setreg writes the same hardware register",
            Second::Vector => "a vector instruction",
            Second::MaskAsData => "a vector ALU instruction has VCCZ or EXECZ as a source",
            Second::Message => "a GDS instruction, s_sendmsg or s_ttracedata",
            Second::Movrel => "s_movrels or s_movreld",
            Second::LdsByM0 => {
                "v_interp, an LDS instruction that adds the lane's number, a transfer between memory and LDS, or LDS_DIRECT"
            }
            Second::ReturnFromTrap => "s_rfe_b64 or s_rfe_restore_b64",
            Second::ValuWritesVgpr => "a vector ALU instruction writes a VGPR of its data",
        }
    }

    fn concern(self, insn: &Insn, info: &InstructionInfo) -> Option<Concern> {
        let row = insn.row;
        let reads = |file: File| registers(insn, info, |a| !a.write && a.file == file);
        let when = |on: bool| on.then_some(Concern::ALWAYS);
        // EXEC, and VCC or M0 without an operand that names them, are not read as SGPRs.
        let sgprs = || {
            registers(insn, info, |a| {
                !a.write
                    && a.file == File::Scalar
                    && a.first < EXEC
                    && (!a.implicit || a.first < VCC)
            })
        };
        let of_slot = |role: Role| {
            let at = row.shape.slots.iter().position(|s| s.role == role);
            registers(insn, info, |a| {
                !a.write && a.slot.map(usize::from) == at && at.is_some()
            })
        };
        match self {
            Second::SmemSgpr if row.format == Format::Smem => sgprs().some(),
            Second::SmemResource if row.format == Format::Smem => {
                let slot = row.shape.slot(Role::Sbase)?;
                (insn.dwords(slot) > 2)
                    .then(|| of_slot(Role::Sbase))?
                    .some()
            }
            Second::VmemSgpr if is_vmem(row) => sgprs().some(),
            Second::LaneSelect => {
                let mut concern = of_slot(Role::LaneSel);
                concern.count = concern.ranges().filter(|r| r.0 == File::Scalar).count();
                concern.some()
            }
            Second::ReadLaneVgpr if row.shape.slot(Role::SdstV).is_some() => {
                reads(File::Vector).some()
            }
            Second::DivFmas => when(row.flags.has(Flags::READS_VCC)),
            Second::DppVgpr if is_dpp(insn) => reads(File::Vector).some(),
            Second::Dpp => when(is_dpp(insn)),
            Second::Getreg => getreg(insn).map(hwreg),
            Second::GetregMode => when(getreg(insn) == Some(HWREG_MODE)),
            Second::Setreg => setreg(insn).map(|(number, ..)| hwreg(number)),
            Second::Vector => when(row.format.is_vector()),
            Second::MaskAsData if is_valu(row) => {
                let mut concern = Concern::default();
                for (code, register) in [(VCCZ, VCC), (EXECZ, EXEC)] {
                    if has_operand(insn, code) {
                        concern.add(File::Scalar, register, 2);
                    }
                }
                concern.some()
            }
            Second::Message => when(
                row.format == Format::Ds && insn.field(Field::Gds) != 0
                    || info.signals(Signal::Sendmsg)
                    || info.signals(Signal::ThreadTrace),
            ),
            Second::Movrel => when(self.row(row, info, insn.generation())),
            Second::LdsByM0 => when(
                row.format == Format::Vintrp
                    || info.adds_lane()
                    || is_vmem(row) && (insn.data_in_lds() || info.reads_lds())
                    || is_valu(row) && has_operand(insn, LDS_DIRECT),
            ),
            Second::ReturnFromTrap => when(
                matches!(info.flow(insn), Flow::Indirect { .. })
                    && info.names(File::Hwreg, HWREG_STATUS, true),
            ),
            Second::ValuWritesVgpr if is_valu(row) => {
                registers(insn, info, |a| a.write && a.file == File::Vector).some()
            }
            _ => None,
        }
    }

    fn row(self, row: &Inst, info: &InstructionInfo, generation: Gen) -> bool {
        let shape = row.shape;
        let has = |role: Role| shape.slot(role).is_some();
        match self {
            Second::SmemSgpr => row.format == Format::Smem && has(Role::Sbase),
            Second::SmemResource => {
                let slot = shape.slot(Role::Sbase);
                row.format == Format::Smem && slot.is_some_and(|s| s.ty.dwords() > 2)
            }
            Second::VmemSgpr => {
                is_vmem(row) && (has(Role::Srsrc) || has(Role::Saddr) || has(Role::FlatAddr))
            }
            Second::LaneSelect => has(Role::LaneSel),
            Second::ReadLaneVgpr => has(Role::SdstV),
            Second::DivFmas => row.flags.has(Flags::READS_VCC),
            Second::DppVgpr | Second::Dpp => row.has_dpp(generation),
            Second::Getreg | Second::GetregMode => has(Role::Imm(Imm::Hwreg)) && has(Role::Sdst),
            Second::Setreg => has(Role::Imm(Imm::Hwreg)) && !has(Role::Sdst),
            Second::Vector => row.format.is_vector(),
            Second::MaskAsData => is_valu(row) && (has(Role::Src0) || has(Role::Src1)),
            Second::Message => {
                row.format == Format::Ds
                    || info.signals(Signal::Sendmsg)
                    || info.signals(Signal::ThreadTrace)
            }
            Second::Movrel => row.format == Format::Sop1 && info.computes_sgpr(),
            Second::LdsByM0 => {
                row.format == Format::Vintrp
                    || info.adds_lane()
                    || is_vmem(row) && (info.reads_lds() || shape.mods.to_lds())
                    || is_valu(row) && has(Role::Src0)
            }
            Second::ReturnFromTrap => {
                info.names(File::Hwreg, HWREG_STATUS, true) && info.jumps_indirectly()
            }
            Second::ValuWritesVgpr => is_valu(row) && writes_slot(row, Role::Vdst),
        }
    }
}
