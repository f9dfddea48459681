//! The interpreter: evaluates the meaning of each instruction, every operation in all lanes. It is the reference.

use crate::address::{self, Range};
use crate::engine::{
    self, Code, EXACT_SLICE, Engine, Failure, FaultKind, FaultReport, Machine, Stop,
};
use crate::eval;
use crate::exceptions;
use crate::exec::Exec;
use crate::held;
use crate::image;
use crate::mem::Fault;
use crate::operands::{self, Modifiers, OperandLocation, Opnd, pack};
use crate::probe::{self, Access, Executed};
use crate::typed;
use crate::wave::{LANES, WaveState, mode, status};
use gcn_isa::access::{InstructionInfo, MemoryKind};
use gcn_isa::decode::{Insn, decode};
use gcn_isa::format::{Field, Format};
use gcn_isa::inst::Inst;
use gcn_isa::insts;
use gcn_isa::meaning::{
    Change, Effect, Node, Op, Program, Signal, Space, State, meaning, width_mask,
};
use gcn_isa::operand::{EXEC, Reg, VCC, reg};
use gcn_isa::print::{Style, print};
use gcn_isa::shape::{Role, Ty};
use gcn_isa::target::{Gen, TABLES, Target};
use std::collections::HashMap;
use std::sync::OnceLock;

/// The meaning of an instruction, written once per process.
pub fn program(insn: &Insn) -> &'static Program {
    program_of(insn.row, insn.target)
}

/// The meaning of a row on a target, written once per process.
pub fn program_of(row: &'static Inst, target: Target) -> &'static Program {
    static PROGRAMS: PerRow<Program> = PerRow::empty();
    PROGRAMS.get(row, target, || meaning(row, target))
}

/// The properties of an instruction's row, computed once per process.
pub fn instruction_info(insn: &Insn) -> &'static InstructionInfo {
    static ROWS: PerRow<InstructionInfo> = PerRow::empty();
    let compute = || InstructionInfo::of(program(insn), insn.target);
    ROWS.get(insn.row, insn.target, compute)
}

/// What is known of each row on each target, computed when it is first needed.
pub struct PerRow<T>([OnceLock<Vec<OnceLock<T>>>; TABLES]);

impl<T> PerRow<T> {
    /// Returns a table without values.
    pub const fn empty() -> PerRow<T> {
        PerRow([const { OnceLock::new() }; TABLES])
    }

    /// Returns the value of a row on a target, which `compute` returns if there is none yet.
    pub fn get(&self, row: &'static Inst, target: Target, compute: impl FnOnce() -> T) -> &T {
        let none = || (0..insts::count()).map(|_| OnceLock::new()).collect();
        let rows = self.0[target.table()].get_or_init(none);
        rows[insts::number(row)].get_or_init(compute)
    }
}

/// A decoded instruction, ready to run.
struct Step {
    insn: Insn,
    program: &'static Program,
    operands: Vec<Opnd>,
    mods: Modifiers,
    vector: bool,
    /// For a load whose data go to LDS: the slot of the registers that the data would otherwise go to.
    to_lds: Option<u8>,
    /// The instruction accesses GDS for LDS in its meaning.
    gds: bool,
    /// The VGPR that takes TFE's status.
    status: Option<u16>,
}

impl Step {
    fn new(insn: Insn) -> Step {
        let program = program(&insn);
        let vdata = insn.row.shape.slots.iter().position(|s| {
            s.role == Role::Vdata || s.role == Role::Vdst && insn.row.format != Format::Ds
        });
        Step {
            to_lds: vdata.filter(|_| insn.data_in_lds()).map(|slot| slot as u8),
            status: gcn_isa::access::status_register(&insn),
            program,
            gds: insn.field(Field::Gds) != 0,
            operands: insn
                .row
                .shape
                .slots
                .iter()
                .map(|slot| Opnd::new(&insn, slot))
                .collect(),
            mods: Modifiers::new(&insn),
            vector: insn.row.format.is_vector(),
            insn,
        }
    }
}

/// Dwords of code per page of the cache.
const PAGE_DWORDS: usize = 1024;

/// The decoded instructions by address.
#[derive(Default)]
struct Cache {
    pages: HashMap<u64, usize>,
    /// For each page, the number of each dword's step plus one, or 0.
    slots: Vec<[u32; PAGE_DWORDS]>,
    steps: Vec<Step>,
    /// The page used last.
    page: Option<(u64, usize)>,
}

/// Why no instruction could be decoded.
enum Missing {
    Fetch(Fault),
    Illegal(u32),
}

impl Cache {
    /// The number of the step at `pc`, a multiple of 4.
    #[inline]
    fn at(&mut self, pc: u64, machine: &Machine<'_>) -> Result<usize, Missing> {
        let page = pc / (4 * PAGE_DWORDS as u64);
        let slots = match self.page {
            Some((at, slots)) if at == page => slots,
            _ => {
                let next = self.slots.len();
                let slots = *self.pages.entry(page).or_insert(next);
                if slots == next {
                    self.slots.push([0; PAGE_DWORDS]);
                }
                self.page = Some((page, slots));
                slots
            }
        };
        let slot = (pc / 4) as usize % PAGE_DWORDS;
        match self.slots[slots][slot] {
            0 => {
                self.steps.push(fetch(pc, machine)?);
                self.slots[slots][slot] = self.steps.len() as u32;
                Ok(self.steps.len() - 1)
            }
            n => Ok(n as usize - 1),
        }
    }
}

/// Fetches and decodes.
fn fetch(pc: u64, machine: &Machine<'_>) -> Result<Step, Missing> {
    let fetched = engine::fetch(machine.code, machine.memory, pc);
    let (bytes, len) = fetched.map_err(Missing::Fetch)?;
    match decode(machine.target, &bytes[..len]) {
        Some(insn) => Ok(Step::new(insn)),
        None => Err(Missing::Illegal(u32::from_le_bytes([
            bytes[0], bytes[1], bytes[2], bytes[3],
        ]))),
    }
}

/// The interpreter of one host thread.
pub struct Interp {
    cache: Cache,
    /// The nodes' values of scalar instructions and of vector instructions.
    scalars: Vec<[u64; 1]>,
    vectors: Vec<[u64; LANES]>,
    range: Range,
    /// True if an instruction of the code reads TRAPSTS; `None` until the code was searched.
    reads_exceptions: Option<bool>,
    /// Time slices have [`EXACT_SLICE`] instructions.
    exact: bool,
}

impl Default for Interp {
    fn default() -> Interp {
        Interp::new()
    }
}

impl Interp {
    /// An interpreter with an empty instruction cache.
    pub fn new() -> Interp {
        Interp {
            cache: Cache::default(),
            scalars: Vec::new(),
            vectors: Vec::new(),
            range: Range::new(),
            reads_exceptions: None,
            exact: false,
        }
    }
}

/// The instruction's text.
fn text(insn: &Insn) -> String {
    let mut text = String::new();
    print(insn, &Style::LLVM, &mut text);
    text
}

impl Engine for Interp {
    fn run(&mut self, wave: &mut WaveState, machine: &mut Machine<'_>, fuel: &mut u64) -> Stop {
        let seen = self.reads_exceptions;
        let reads_exceptions = seen.unwrap_or_else(|| exceptions::visible(machine));
        self.reads_exceptions = Some(reads_exceptions);
        loop {
            // Privileged code continues to run; the halt takes effect at the end of the trap handler.
            if wave.status & (status::HALT | status::PRIV) == status::HALT {
                return Stop::Halt;
            }
            let pc = wave.pc;
            if let Code::Snippet(base, code) = machine.code
                && pc.wrapping_sub(base) >= code.len() as u64
            {
                return Stop::FellOff;
            }
            if *fuel == 0 {
                return Stop::Limit;
            }
            let fault = |kind, addr, text| {
                Stop::Fault(FaultReport {
                    kind,
                    addr,
                    lane: None,
                    pc,
                    text,
                    operands: Vec::new(),
                })
            };
            let step = match self.cache.at(pc, machine) {
                Ok(step) => &self.cache.steps[step],
                Err(Missing::Fetch(f)) => {
                    return fault(
                        FaultKind::Fetch(f.kind),
                        Some(f.addr),
                        "no instruction".into(),
                    );
                }
                Err(Missing::Illegal(word)) => {
                    return fault(FaultKind::Illegal, None, format!("{word:#010x}"));
                }
            };
            *fuel -= 1;
            wave.clock += 4;
            wave.pc = pc.wrapping_add(step.insn.len as u64);
            let result = if !step.vector {
                let (values, range) = (&mut self.scalars, &mut self.range);
                execute(step, wave, machine, values, range, false)
            } else if wave.mode & mode::VSKIP != 0 {
                continue;
            } else {
                let record = reads_exceptions || wave.mode & mode::EXCP_EN != 0;
                let (values, range) = (&mut self.vectors, &mut self.range);
                execute(step, wave, machine, values, range, record)
            };
            match result {
                Ok(None) => {}
                Ok(Some(stop)) => {
                    if matches!(stop, Stop::Endpgm | Stop::Trap(_)) {
                        wave.pc = pc;
                    }
                    if stop == Stop::Endpgm {
                        machine.global.ended(wave.number);
                    }
                    return stop;
                }
                Err(failure) if failure.retry => {
                    wave.pc = pc;
                    wave.clock -= 4;
                    *fuel += 1;
                    return Stop::Retry;
                }
                Err(failure) => {
                    wave.pc = pc;
                    return Stop::Fault(FaultReport {
                        kind: failure.kind,
                        addr: failure.addr,
                        lane: failure.lane,
                        pc,
                        text: text(&step.insn),
                        operands: held::operands(&step.insn, wave, failure.lane),
                    });
                }
            }
        }
    }

    fn slice(&self) -> u64 {
        match self.exact {
            true => EXACT_SLICE,
            false => 4096,
        }
    }

    fn exactly(&mut self, exact: bool) {
        self.exact = exact;
    }

    fn invalidate(&mut self) {
        self.cache = Cache::default();
        self.reads_exceptions = None;
    }
}

/// Runs one instruction, for one lane or 64. `wave.pc` is already that of the next instruction. With `record` its float
/// exceptions are recorded in TRAPSTS.
fn execute<const N: usize>(
    step: &Step,
    wave: &mut WaveState,
    machine: &mut Machine<'_>,
    values: &mut Vec<[u64; N]>,
    range: &mut Range,
    record: bool,
) -> Result<Option<Stop>, Failure> {
    let program = step.program;
    if values.len() < program.nodes.len() {
        values.resize(program.nodes.len(), [0; N]);
    }
    range.start(step.gds);
    let exec = if N == 1 { 1 } else { wave.exec() };
    let cx = &mut Exec {
        insn: &step.insn,
        operands: &step.operands,
        mods: &step.mods,
        generation: machine.target.generation(),
        exec,
        wave,
        machine,
        range,
    };
    for at in 0..program.nodes.len() {
        let (before, rest) = values.split_at_mut(at);
        let Some(out) = rest.first_mut() else { break };
        node(cx, &program.nodes[at], before, out)?;
    }
    let mut stop = None;
    let lanes = match &step.mods.dpp {
        Some(dpp) => dpp.written(exec),
        None => exec,
    };
    if record {
        let mode = cx.wave.mode;
        cx.wave.trapsts |= exceptions::raised(program, values, mode, lanes, step.mods.clamp);
    }
    for effect in &program.effects {
        let mut lanes = lanes;
        if let Some(when) = effect.when {
            let when = &values[when as usize];
            let vector = match effect.change {
                Change::Dst(slot) | Change::DstDword(slot, _) | Change::DstHalf(slot, _) => {
                    !matches!(
                        step.operands[slot as usize].location,
                        OperandLocation::Scalar(_)
                    ) || step.operands[slot as usize].ty == Ty::Mask
                }
                Change::Store(..)
                | Change::StoreFormat(..)
                | Change::Image(_)
                | Change::Export(_)
                | Change::Vgpr => true,
                _ => false,
            };
            if vector && N == LANES {
                lanes &= pack(when);
            } else if when[0] & 1 == 0 {
                continue;
            }
        }
        apply(cx, step, effect, lanes, values, &mut stop)?;
    }
    if let Some(register) = step.status {
        typed::write_status(cx.wave, register, lanes);
    }
    if let Some(probe) = cx.machine.probe {
        probe.executed(&Executed {
            insn: &step.insn,
            program,
            operands: &step.operands,
            mods: &step.mods,
            exec,
            lanes,
            width: N,
            values: values.as_flattened(),
            to_lds: step.to_lds,
            status: step.status,
        });
    }
    Ok(stop)
}

/// Computes one node. Always inlined: the call costs a tenth of a kernel's time.
#[inline(always)]
fn node<const N: usize>(
    cx: &mut Exec<'_, '_>,
    node: &Node,
    before: &[[u64; N]],
    out: &mut [u64; N],
) -> Result<(), Failure> {
    let arg = |k: usize| {
        before
            .get(node.args[k] as usize)
            .unwrap_or(const { &[0; N] })
    };
    let lane_of = |lane: usize| (N == LANES).then_some(lane as u8);
    let exec = cx.exec;
    match node.op {
        Op::Const(value) => *out = [value; N],
        Op::Src(slot) => {
            cx.operands[slot as usize].read(cx.wave, cx.machine, cx.mods, None, out);
        }
        Op::SrcDword(slot, k) => {
            cx.operands[slot as usize].read(cx.wave, cx.machine, cx.mods, Some(k), out);
        }
        Op::SrcHalf(slot, half) => {
            cx.operands[slot as usize].read_half(cx.wave, cx.machine, half, out);
        }
        Op::Get(state) => *out = [get(state, cx.wave); N],
        Op::Field(field) => *out = [cx.insn.field(field) as u64; N],
        Op::CodeOf(slot) => *out = [cx.operands[slot as usize].code.unwrap_or(0) as u64; N],
        Op::Sgpr => *out = [read_sgpr(cx.wave, cx.generation, arg(0)[0], node.out); N],
        Op::Vgpr => {
            let number = arg(0)[0] as usize;
            let low = operands::vgpr(cx.wave, number);
            let high = operands::vgpr(cx.wave, number + 1);
            let wide = node.out.bits() > 32;
            for (lane, out) in out.iter_mut().enumerate() {
                let upper = if wide { (high[lane] as u64) << 32 } else { 0 };
                *out = low[lane] as u64 | upper;
            }
        }
        Op::ReadLane => {
            let (value, from) = (arg(0), arg(1));
            for lane in 0..N {
                out[lane] = value[from[lane] as usize % N];
            }
        }
        Op::SendLane => {
            let (value, to) = (arg(0), arg(1));
            *out = [0; N];
            for lane in (0..N).filter(|lane| exec >> lane & 1 != 0) {
                out[to[lane] as usize % N] = value[lane];
            }
        }
        Op::FirstLane => {
            let first = if exec == 0 { 0 } else { exec.trailing_zeros() };
            *out = [first as u64; N];
        }
        Op::Lane => *out = std::array::from_fn(|lane| lane as u64),
        Op::Address => {
            address::addresses(cx, out)?;
        }
        Op::Load(space, offset) => {
            let ty = node.out;
            address::load_lanes(cx, space, ty, arg(0), offset, out)
                .map_err(|(fault, lane)| Failure::memory(fault, lane_of(lane)))?;
        }
        Op::LoadFormat(k) => {
            typed::load(cx, arg(0), k, node.out, out)?;
        }
        Op::LdsOfLane => {
            for (lane, out) in out.iter_mut().enumerate() {
                let at = typed::lds_location(cx.insn, cx.wave, lane);
                if exec >> lane & 1 != 0 && !of_lane(cx.machine, lane, at, MemoryKind::Load) {
                    *out = 0;
                    continue;
                }
                let bytes = cx.machine.lds.get(at..).and_then(|rest| rest.first_chunk());
                if bytes.is_none() && exec >> lane & 1 != 0 {
                    cx.machine.memory.suspect();
                }
                *out = bytes.map_or(0, |b| u32::from_le_bytes(*b) as u64);
            }
        }
        Op::Atomic(space, op) | Op::WaveAtomic(space, op) => {
            let operands = [arg(0), arg(1), arg(2)];
            let mut once = |lane: usize| {
                let operands = operands.map(|values| values[lane]);
                address::atomic(cx, space, op, node.ty, lane, operands)
                    .map_err(|f| Failure::memory(f, lane_of(lane)))
            };
            *out = [0; N];
            if let Op::Atomic(..) = node.op {
                for lane in (0..N).filter(|lane| exec >> lane & 1 != 0) {
                    out[lane] = once(lane)?;
                }
            } else if exec != 0 {
                *out = [once(exec.trailing_zeros() as usize)?; N];
            }
        }
        Op::Getreg => {
            let bits = cx.insn.bits as u32;
            *out = [cx.wave.getreg(arg(0)[0] as u32, cx.generation, bits) as u64; N];
        }
        Op::Gws(op) => {
            let (resource, value) = (arg(0)[0] as usize, arg(1)[0] as u32);
            if !cx
                .machine
                .global
                .gws(op, resource, value, &mut cx.wave.ticket)
            {
                return Err(Failure::retry());
            }
            *out = [0; N];
        }
        Op::Turn => match cx.machine.global.turn(cx.wave.number, cx.wave.turns) {
            Some(true) => *out = [1; N],
            Some(false) => return Err(Failure::retry()),
            None => {
                return Err(Failure::unsupported(
                    "the wave has had all its turns at ordered counts",
                ));
            }
        },
        op => {
            let mode = match node.nearest {
                true => cx.wave.mode & !mode::FP_ROUND,
                false => cx.wave.mode,
            };
            let operation = eval::Operation {
                op,
                ty: node.ty,
                out: node.out,
                generation: cx.generation,
                mode,
            };
            eval::eval(operation, [arg(0), arg(1), arg(2)], out);
        }
    }
    Ok(())
}

/// Reports to the probe that a lane reads its dword of LDS, or writes a value to it. Returns false if the access must not be
/// made.
fn of_lane(machine: &Machine<'_>, lane: usize, at: usize, kind: MemoryKind) -> bool {
    let Some(probe) = machine.probe else {
        return true;
    };
    let inside = at
        .checked_add(4)
        .is_some_and(|end| end <= machine.lds.len());
    probe.access(&Access {
        lane: lane as u8,
        kind,
        space: Space::Lds,
        location: match inside {
            true => probe::AccessLocation::Lds(at as u64),
            false => probe::AccessLocation::Nowhere,
        },
        address: at as u64,
        size: 4,
        first: true,
        unchanged: false,
        scalar: false,
    })
}

/// Performs one effect in `lanes`, a subset of the active lanes.
fn apply<const N: usize>(
    cx: &mut Exec<'_, '_>,
    step: &Step,
    effect: &Effect,
    lanes: u64,
    values: &[[u64; N]],
    stop: &mut Option<Stop>,
) -> Result<(), Failure> {
    let (operands, exec) = (cx.operands, cx.exec);
    let value = &values[effect.value as usize];
    let second = &values[effect.second as usize];
    let ty = step.program.nodes[effect.value as usize].out;
    let second_ty = step.program.nodes[effect.second as usize].out;
    match effect.change {
        Change::Dst(slot) | Change::DstDword(slot, _) if step.to_lds == Some(slot) => {
            let k = if let Change::DstDword(_, k) = effect.change {
                k as usize
            } else {
                0
            };
            for lane in (0..N).filter(|lane| lanes >> lane & 1 != 0) {
                // Consecutive dwords of one lane are LANES elements apart.
                let at = typed::lds_location(cx.insn, cx.wave, lane + LANES * k);
                if !of_lane(cx.machine, lane, at, MemoryKind::Store) {
                    continue;
                }
                if let Some(location) = cx.machine.lds.get_mut(at..at.saturating_add(4)) {
                    location.copy_from_slice(&(value[lane] as u32).to_le_bytes());
                } else {
                    cx.machine.memory.suspect();
                }
            }
        }
        Change::Dst(slot) => {
            operands[slot as usize].write(cx, None, value, ty, lanes);
        }
        Change::DstDword(slot, k) => {
            operands[slot as usize].write(cx, Some(k), value, ty, lanes);
        }
        Change::DstHalf(slot, half) => {
            operands[slot as usize].write_half(cx.wave, cx.mods, half, value, ty, lanes);
        }
        Change::DstLane(slot) => {
            operands[slot as usize].write_lane(cx.wave, second[0] as usize, value[0] as u32);
        }
        Change::Set(state) => {
            // A truth value of each lane makes a mask; the bits of inactive lanes are 0.
            let value = match state {
                State::Exec | State::Vcc if ty == Ty::Bool && N == LANES => {
                    pack(value) & lanes | get(state, cx.wave) & exec & !lanes
                }
                _ => value[0],
            };
            set(state, value, cx.wave, stop);
        }
        Change::SgprPair => cx.wave.set_pair((value[0] & 0x7f) as u16, second[0]),
        Change::Sgpr => write_sgpr(cx.wave, cx.generation, value[0], second[0], second_ty),
        Change::Vgpr => {
            let number = value[0] as usize;
            operands::store(cx.wave, number, lanes, |lane, _| second[lane % N] as u32);
            if second_ty.bits() > 32 {
                operands::store(cx.wave, number + 1, lanes, |lane, _| {
                    (second[lane % N] >> 32) as u32
                });
            }
        }
        Change::Store(space, offset) => {
            let kind = (space, MemoryKind::Store, second_ty);
            let told = address::told(cx, kind, lanes, value, offset);
            for lane in (0..N).filter(|lane| lanes >> lane & 1 != 0) {
                let at = value[lane].wrapping_add_signed(offset as i64);
                address::store(cx, (space, second_ty, told), lane, at, second[lane])
                    .map_err(|f| Failure::memory(f, (N == LANES).then_some(lane as u8)))?;
            }
        }
        Change::Setreg => {
            let generation = cx.generation;
            cx.wave
                .setreg(value[0] as u32, second[0] as u32, generation);
        }
        // Recorded before the effects, where a program can observe it.
        Change::Raise(_) => {}
        Change::StoreFormat(slot, count, halves) => {
            typed::store(cx, lanes, value, slot, count, halves)?;
        }
        Change::Image(op) => image::run(op, (cx.insn, cx.operands), lanes, cx.wave, cx.machine)?,
        Change::Export(k) => {
            let target = second[0] as u8;
            cx.wave
                .exports
                .set(target, k, lanes, |lane| value[lane % N] as u32);
        }
        Change::Signal(signal) => match signal {
            Signal::Endpgm => *stop = Some(Stop::Endpgm),
            Signal::Barrier => *stop = Some(Stop::Barrier),
            Signal::Trap => *stop = Some(Stop::Trap(value[0] as u32)),
            Signal::Sleep => *stop = Some(Stop::Yield),
            Signal::Release => {
                cx.machine
                    .global
                    .release(cx.wave.number, cx.wave.turns, value[0] != 0);
                cx.wave.turns = cx.wave.turns.saturating_add(1);
            }
            Signal::Exported => cx.wave.exports.made(value[0] as u32, exec),
            // Every access is complete when its instruction is, there are no caches, and no profiler is attached.
            Signal::Nop
            | Signal::Waitcnt
            | Signal::Wakeup
            | Signal::Sendmsg
            | Signal::Cache
            | Signal::PerfUp
            | Signal::PerfDown
            | Signal::ThreadTrace => {}
        },
    }
    Ok(())
}

/// The operand code of a computed scalar register number: numbers outside the generation's SGPRs and VCC select s0.
fn sgpr_code(generation: Gen, code: u64) -> Option<usize> {
    let code = u16::try_from(code).ok()?;
    match reg(code, generation) {
        Reg::Sgpr(_) => Some(code as usize),
        _ if code == VCC || code == VCC + 1 => Some(code as usize),
        _ => None,
    }
}

fn read_sgpr(wave: &WaveState, generation: Gen, code: u64, ty: Ty) -> u64 {
    let one = |code| wave.sgprs[sgpr_code(generation, code).unwrap_or(0)] as u64;
    if ty.bits() > 32 {
        one(code) | one(code + 1) << 32
    } else {
        one(code) & width_mask(ty)
    }
}

fn write_sgpr(wave: &mut WaveState, generation: Gen, code: u64, value: u64, ty: Ty) {
    for k in 0..ty.dwords().min(2) as u64 {
        if let Some(at) = sgpr_code(generation, code.wrapping_add(k)) {
            wave.sgprs[at] = (value >> (32 * k)) as u32;
        }
    }
}

fn get(state: State, wave: &WaveState) -> u64 {
    let flag = |bit: u32| (wave.status & bit != 0) as u64;
    match state {
        State::Scc => wave.scc as u64,
        State::Exec => wave.exec(),
        State::Vcc => wave.vcc(),
        State::M0 => wave.m0() as u64,
        State::Pc => wave.pc,
        State::Vskip => (wave.mode & mode::VSKIP != 0) as u64,
        State::GprIdxEn => (wave.mode & mode::GPR_IDX_EN != 0) as u64,
        State::Csp => (wave.mode >> mode::CSP_SHIFT) as u64,
        State::Halt => flag(status::HALT),
        State::Kill => 0,
        State::Prio => (wave.status >> status::USER_PRIO_SHIFT & 3) as u64,
        State::CondDbgSys => flag(status::COND_DBG_SYS),
        State::CondDbgUser => flag(status::COND_DBG_USER),
        State::InstAtc => flag(status::INST_ATC),
        State::Priv => flag(status::PRIV),
        State::Time => wave.clock,
        // The real-time clock is a tenth of the core's clock: 100 MHz and 1 GHz.
        State::RealTime => wave.clock / 10,
    }
}

fn set(state: State, value: u64, wave: &mut WaveState, stop: &mut Option<Stop>) {
    let on = value & 1 != 0;
    match state {
        State::Scc => wave.scc = on,
        State::Exec => wave.set_pair(EXEC, value),
        State::Vcc => wave.set_pair(VCC, value),
        State::M0 => wave.sgprs[gcn_isa::operand::M0 as usize] = value as u32,
        // Instructions are dword-aligned.
        State::Pc => wave.pc = value & !3,
        State::Vskip => wave.set_mode(mode::VSKIP, on),
        State::GprIdxEn => wave.set_mode(mode::GPR_IDX_EN, on),
        State::Csp => {
            let kept = wave.mode & ((1 << mode::CSP_SHIFT) - 1);
            wave.mode = kept | (value as u32 & 7) << mode::CSP_SHIFT;
        }
        State::Halt => wave.set_status(status::HALT, on),
        State::Kill => {
            if on {
                *stop = Some(Stop::Endpgm);
            }
        }
        State::Prio => {
            let kept = wave.status & !(3 << status::USER_PRIO_SHIFT);
            wave.status = kept | (value as u32 & 3) << status::USER_PRIO_SHIFT;
        }
        State::CondDbgSys => wave.set_status(status::COND_DBG_SYS, on),
        State::CondDbgUser => wave.set_status(status::COND_DBG_USER, on),
        State::InstAtc => wave.set_status(status::INST_ATC, on),
        State::Priv => wave.set_status(status::PRIV, on),
        State::Time | State::RealTime => {}
    }
}
