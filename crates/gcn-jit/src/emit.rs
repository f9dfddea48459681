//! From chunks to AVX-512 code.
//!
//! A chunk's scalars that do not depend on lanes come first, then its vector values for 16 lanes after the other (slices
//! without a lane that is on are passed over), then the scalars that depend on lanes, what was kept back until nothing can
//! fail any more, and where to go on. Vector registers are given out as the code is written, the value that is needed
//! last going to memory when there is none left.

use crate::asm::*;
use crate::ctx::{Ctx, SCALARS, VECTORS};
use crate::ir::{I, Id, Node};
use crate::lower::{Chunk, FpKey, Live, Tail, Unit};
use gcn_emu::fp::Mode;
use gcn_emu::mem::MAPPED;
use gcn_emu::wave::WaveState;
use gcn_isa::meaning::{Op, Space};
use gcn_isa::operand::EXEC;
use gcn_isa::shape::Ty;
use std::collections::HashMap;
use std::mem::offset_of;

/// Why compiled code has come back: the lower byte of what it returns; the rest is the chunk's number.
pub const EXIT_LEAVE: u64 = 0;
pub const EXIT_RESTART: u64 = 1;
pub const EXIT_FUEL: u64 = 2;
pub const EXIT_END: u64 = 3;
pub const EXIT_BARRIER: u64 = 4;
pub const EXIT_STOP: u64 = 5;

/// VGPRs below the address that R12 holds, so that short displacements reach more.
pub const VGPR_BIAS: i32 = 32;

pub const CTX: Gpr = RBP;
const WAVE: Gpr = RBX;
const VGPRS: Gpr = R12;
pub const BIAS: Gpr = R13;
const PAGES: Gpr = R14;
const FUEL: Gpr = R15;
/// The opmask of the slice's lanes that are on, and the one of those where something must be looked at again.
pub const K_EXEC: u8 = 7;
const K_BAD: u8 = 6;

macro_rules! ctx {
    ($field:ident) => {
        mem(CTX, offset_of!(Ctx, $field) as i32)
    };
    ($field:ident, $plus:expr) => {
        mem(CTX, (offset_of!(Ctx, $field) + $plus) as i32)
    };
}

fn sgpr_home(code: u8) -> Mem {
    mem(
        WAVE,
        (offset_of!(WaveState, sgprs) + 4 * code as usize) as i32,
    )
}

fn vgpr_home(n: u16, slice: u8) -> Mem {
    mem(VGPRS, (n as i32 - VGPR_BIAS) * 256 + 64 * slice as i32)
}

/// A unit's code.
pub struct Emitted {
    pub code: Vec<u8>,
    /// Where the trampoline, and each chunk's code, begins.
    pub starts: Vec<usize>,
}

/// `None` where a chunk is too much for the emitter.
pub fn emit(unit: &Unit, mode: u32) -> Option<Emitted> {
    let mut a = Asm::new();
    let mode = Mode(mode);
    let e = mode.env32();
    let default = FpKey {
        round: e.round as u8,
        daz: e.flush_in,
    };
    // In: RDI the context, RSI where to begin.
    let saved = [RBX, RBP, R12, R13, R14, R15];
    for r in saved {
        a.push(r);
    }
    a.alu_imm(5, true, Rm::R(RSP), 8);
    a.mov(true, CTX, Rm::R(RDI));
    a.mov(true, WAVE, Rm::M(ctx!(wave)));
    a.mov(true, VGPRS, Rm::M(ctx!(vgprs)));
    a.lea(VGPRS, mem(VGPRS, VGPR_BIAS * 256));
    a.mov(true, BIAS, Rm::M(ctx!(bias)));
    a.mov(true, PAGES, Rm::M(ctx!(pages)));
    a.mov(true, FUEL, Rm::M(ctx!(fuel)));
    a.stmxcsr(ctx!(host_mxcsr));
    a.ldmxcsr(mxcsr_of(default));
    a.jmp_to(Rm::R(RSI));
    // Out: RAX why.
    let exit = a.here();
    a.store(true, ctx!(fuel), FUEL);
    a.ldmxcsr(ctx!(host_mxcsr));
    a.vzeroupper();
    a.alu_imm(0, true, Rm::R(RSP), 8);
    for r in saved.iter().rev() {
        a.pop(*r);
    }
    a.ret();
    let slow = [
        slow_call(&mut a, offset_of!(Ctx, load)),
        slow_call(&mut a, offset_of!(Ctx, store)),
    ];
    let labels: HashMap<u64, Label> = unit.chunks.iter().map(|c| (c.start, a.label())).collect();
    let mut starts = Vec::with_capacity(unit.chunks.len());
    let mut failed = false;
    for (number, chunk) in unit.chunks.iter().enumerate() {
        starts.push(a.buf.len());
        a.bind(labels[&chunk.start]);
        let mut e = Emit {
            a: &mut a,
            c: chunk,
            number: number as u64,
            labels: &labels,
            exit,
            slow,
            default,
            mode,
            uses: Vec::new(),
            ops: Vec::new(),
            slot_of: HashMap::new(),
            restart: None,
            late: Vec::new(),
            slice: 0,
            z: Bank::default(),
            k: Bank::default(),
            outs: Vec::new(),
            accumulators: Vec::new(),
            pinned: Vec::new(),
            next_slot: 0,
            next_mask: 0,
            terns: HashMap::new(),
            checks: false,
            pos: 0,
            failed: false,
        };
        e.chunk();
        failed |= e.failed;
    }
    if failed {
        return None;
    }
    a.finish();
    Some(Emitted {
        code: a.buf,
        starts,
    })
}

fn mxcsr_of(key: FpKey) -> Mem {
    let at = key.round as usize | (key.daz as usize) << 2;
    mem(CTX, (offset_of!(Ctx, mxcsr) + 4 * at) as i32)
}

/// A routine that keeps all registers but RAX and flags around a call of a helper with the context and ESI.
fn slow_call(a: &mut Asm, helper: usize) -> Label {
    let label = a.here();
    for r in [RCX, RDX, RDI, R8, R9, R10, R11] {
        a.push(r);
    }
    for z in 0..32 {
        a.z(op::MOVDQU32_ST, z, 0, Rm::M(ctx!(save, 64 * z as usize)));
    }
    for k in 1..8 {
        a.kstore16(ctx!(save_k, 8 * k as usize), k);
    }
    a.store(true, ctx!(fuel), FUEL);
    a.stmxcsr(ctx!(saved_mxcsr));
    a.ldmxcsr(ctx!(host_mxcsr));
    a.vzeroupper();
    a.mov(true, RDI, Rm::R(CTX));
    a.call(Rm::M(mem(CTX, helper as i32)));
    a.ldmxcsr(ctx!(saved_mxcsr));
    for z in 0..32 {
        a.z(op::MOVDQU32, z, 0, Rm::M(ctx!(save, 64 * z as usize)));
    }
    for k in 1..8 {
        a.kload16(k, ctx!(save_k, 8 * k as usize));
    }
    for r in [R11, R10, R9, R8, RDI, RDX, RCX] {
        a.pop(r);
    }
    a.ret();
    label
}

/// A part of a value in a register: 64-bit values a lane have two.
type Part = (Id, u8);

#[derive(Default)]
pub(crate) struct Bank {
    /// What each register holds.
    pub regs: [Option<Part>; 32],
    pub at: HashMap<Part, u8>,
    spilled: HashMap<Part, u16>,
    /// Registers that may not be given out now.
    pub busy: u32,
}

/// An operation on vectors with its operands.
#[derive(Clone, Copy)]
struct VOp {
    id: Id,
    args: [Id; 3],
    /// Operands whose sign is turned.
    neg: [bool; 3],
    /// Its result must be looked at: it is a NaN, or is to be flushed.
    check: bool,
    flush: bool,
    /// What it is: an operation, or that a VGPR takes its value now.
    commit: Option<usize>,
}

/// A VGPR's value that waits: in a register or in memory.
#[derive(Clone, Copy)]
struct Pin {
    reg: Option<u8>,
    slot: u16,
    /// The index in [`Chunk::vgprs`].
    write: usize,
    pub slice: u8,
}

/// Code that is put behind the chunk.
pub(crate) struct Out {
    pub from: Label,
    pub back: Label,
    pub store: bool,
    pub space: Space,
    pub bytes: u8,
    pub offset: i32,
    pub lo: u8,
    /// The upper half, or nothing where the addresses are LDS's.
    pub hi: Option<u8>,
    /// Of LDS: the scalar that limits addresses.
    pub limit: Option<Id>,
    /// Where what is loaded goes, or what is stored.
    pub data: Vec<u8>,
    /// Registers to work with.
    pub free: [u8; 2],
}

pub(crate) struct Emit<'a> {
    pub a: &'a mut Asm,
    pub c: &'a Chunk,
    number: u64,
    labels: &'a HashMap<u64, Label>,
    exit: Label,
    pub slow: [Label; 2],
    default: FpKey,
    mode: Mode,
    /// Of each value: where in `ops` it is used, in order.
    pub uses: Vec<Vec<u32>>,
    ops: Vec<VOp>,
    slot_of: HashMap<Id, u16>,
    restart: Option<Label>,
    late: Vec<bool>,
    pub slice: u8,
    pub z: Bank,
    pub k: Bank,
    pub outs: Vec<Out>,
    accumulators: Vec<Id>,
    /// What is written at the end.
    pinned: Vec<Pin>,
    next_slot: u16,
    next_mask: u16,
    /// Bitwise operations on three values.
    terns: HashMap<Id, (u8, [Id; 3])>,
    checks: bool,
    pos: u32,
    failed: bool,
}

impl Emit<'_> {
    pub fn node(&self, id: Id) -> &Node {
        &self.c.graph[id as usize]
    }

    pub fn konst(&self, id: Id) -> Option<u64> {
        match self.node(id).op {
            I::Const(v) => Some(v),
            _ => None,
        }
    }

    pub fn restart(&mut self) -> Label {
        match self.restart {
            Some(l) => l,
            None => {
                let l = self.a.label();
                self.restart = Some(l);
                l
            }
        }
    }

    fn leave(&mut self, why: u64) {
        let number = self.number;
        self.a.imm(RAX, why | number << 8);
        let exit = self.exit;
        self.a.jmp(exit);
    }

    fn goto(&mut self, pc: u64) {
        // Rare code lies between chunks.
        let label = self.labels[&pc];
        self.a.jmp(label);
    }

    fn chunk(&mut self) {
        let c = self.c;
        if let Tail::Leave = c.tail {
            self.leave(EXIT_LEAVE);
            return;
        }
        let spent = self.a.label();
        self.a.alu_imm(5, true, Rm::R(FUEL), c.insns as i32);
        self.a.jcc(Cc::S, spent);
        if let Tail::Interpret { jumps } = c.tail {
            self.interpret(jumps);
        } else {
            self.body();
        }
        self.a.bind(spent);
        self.a.alu_imm(0, true, Rm::R(FUEL), c.insns as i32);
        self.leave(EXIT_FUEL);
        if let Some(restart) = self.restart {
            self.a.bind(restart);
            self.a.alu_imm(0, true, Rm::R(FUEL), c.insns as i32);
            if c.fp.is_some_and(|f| f != self.default) {
                self.a.ldmxcsr(mxcsr_of(self.default));
            }
            self.leave(EXIT_RESTART);
        }
    }

    /// The interpreter runs the chunk's one instruction.
    fn interpret(&mut self, jumps: bool) {
        // The helper counts the instruction itself.
        self.a.alu_imm(0, true, Rm::R(FUEL), 1);
        self.a.store(true, ctx!(fuel), FUEL);
        self.a.ldmxcsr(ctx!(host_mxcsr));
        self.a.vzeroupper();
        self.a.mov(true, RDI, Rm::R(CTX));
        self.a.imm(RSI, self.c.start);
        self.a.call(Rm::M(ctx!(interpret)));
        self.a.mov(true, FUEL, Rm::M(ctx!(fuel)));
        self.a.ldmxcsr(mxcsr_of(self.default));
        let stop = self.a.label();
        self.a.test(false, RAX, RAX);
        self.a.jcc(Cc::Ne, stop);
        if jumps {
            self.leave(EXIT_STOP);
        } else {
            let end = self.c.end;
            self.goto(end);
        }
        self.a.bind(stop);
        self.leave(EXIT_STOP);
    }

    /// What is computed, in order, and where values are used.
    fn plan(&mut self) {
        let c = self.c;
        let n = c.graph.len();
        let mut live = vec![false; n];
        let mut roots: Vec<Id> = Vec::new();
        roots.extend(c.vgprs.iter().map(|w| w.1));
        roots.extend(c.sgprs.iter().map(|w| w.1));
        roots.extend(c.scc);
        roots.extend(&c.guards);
        if let Some(s) = &c.store {
            roots.extend([s.lo, s.hi]);
            roots.extend(&s.data);
        }
        for &(address, _, value) in &c.rows {
            roots.extend([address, value]);
        }
        if let Tail::Branch { when, .. } = c.tail {
            roots.push(when);
        }
        for &r in &roots {
            live[r as usize] = true;
        }
        // What is no part of a value, but must happen: a load may fault.
        for (at, node) in c.graph.iter().enumerate() {
            if matches!(
                node.op,
                I::Group { .. } | I::SLoad { .. } | I::Row(_) | I::LdsAtomic(_)
            ) {
                live[at] = true;
            }
        }
        // Which values are looked at by what is no arithmetic of floats.
        let mut seen = vec![false; n];
        for &r in &roots {
            seen[r as usize] = true;
        }
        self.fuse(&mut live, &roots);
        for at in (0..n).rev() {
            if !live[at] {
                continue;
            }
            let node = &c.graph[at];
            let arith = match node.op {
                I::Alu(op) => float_reader(op) && (node.ty == Ty::F32 || node.ty == Ty::F64),
                _ => false,
            };
            let through = matches!(node.op, I::Alu(Op::Neg | Op::Abs)) && !seen[at];
            for a in self.inputs(at as Id) {
                live[a as usize] = true;
                if !arith && !through {
                    seen[a as usize] = true;
                }
            }
        }
        // Scalars that depend on lanes.
        self.late = vec![false; n];
        for at in 0..n {
            let node = &c.graph[at];
            self.late[at] = !node.vec
                && (node.op == I::Ballot || node.inputs().iter().any(|&i| self.late[i as usize]));
        }
        let written: HashMap<u16, usize> =
            c.vgprs.iter().enumerate().map(|(i, w)| (w.0, i)).collect();
        let mut critical = vec![false; c.vgprs.len()];
        for (at, node) in c.graph.iter().enumerate() {
            if let I::VIn(v) = node.op
                && live[at]
                && let Some(&i) = written.get(&v)
            {
                critical[i] = true;
            }
        }
        let mut ops: Vec<VOp> = Vec::new();
        let mut done = vec![false; n];
        // A VGPR that nothing reads any more takes its value as soon as this is there.
        let mut early: HashMap<Id, Vec<usize>> = HashMap::new();
        for (i, w) in c.vgprs.iter().enumerate() {
            if !critical[i] {
                early.entry(w.1).or_default().push(i);
            }
        }
        let commit = |i: usize| VOp {
            id: c.vgprs[i].1,
            args: [c.vgprs[i].1, 0, 0],
            neg: [false; 3],
            check: false,
            flush: false,
            commit: Some(i),
        };
        for at in 0..n {
            let id = at as Id;
            let node = &c.graph[at];
            if !live[at] {
                continue;
            }
            let leaf = matches!(
                node.op,
                I::Const(_) | I::VIn(_) | I::SIn(_) | I::SccIn | I::Lane | I::Exec | I::Part(_)
            );
            if node.vec && !leaf {
                let (args, neg) = self.operands(id);
                let mut check = false;
                let mut flush = false;
                if let I::Alu(o) = node.op
                    && (node.out == Ty::F32 || node.out == Ty::F64)
                    && makes_float(o)
                {
                    let env = if node.out == Ty::F32 {
                        self.mode.env32()
                    } else {
                        self.mode.env64()
                    };
                    check = seen[at] && o != Op::IntToFloat;
                    let out = env.flush_out || o == Op::Mad;
                    flush =
                        out && o != Op::IntToFloat && (seen[at] || !(env.flush_in || o == Op::Mad));
                }
                self.checks |= check;
                ops.push(VOp {
                    id,
                    args,
                    neg,
                    check,
                    flush,
                    commit: None,
                });
            }
            done[at] = true;
            for &i in early.get(&id).into_iter().flatten() {
                if node.vec && !matches!(node.op, I::Group { .. }) {
                    ops.push(commit(i));
                }
            }
        }
        for (i, w) in c.vgprs.iter().enumerate() {
            if !critical[i] && !c.graph[w.1 as usize].vec {
                ops.push(commit(i));
            }
        }
        for (i, &crit) in critical.iter().enumerate() {
            if crit {
                ops.push(commit(i));
            }
        }
        let mut uses = vec![Vec::new(); n];
        for (pos, op) in ops.iter().enumerate() {
            let arity = if op.commit.is_some() {
                1
            } else {
                self.arity(op.id)
            };
            for &a in &op.args[..arity] {
                // The parts of a load are there with the load.
                uses[a as usize].push(pos as u32);
            }
        }
        let end = ops.len() as u32;
        if let Some(s) = &c.store {
            for &a in [s.lo, s.hi].iter().chain(&s.data) {
                uses[a as usize].push(end);
            }
        }
        for &g in &c.guards {
            uses[g as usize].push(end);
        }
        for &(address, _, value) in &c.rows {
            uses[address as usize].push(end);
            uses[value as usize].push(end);
        }
        for (at, node) in c.graph.iter().enumerate() {
            if node.op == I::Ballot && live[at] {
                uses[node.args[0] as usize].push(end);
            }
        }
        self.ops = ops;
        self.uses = uses;
    }

    fn arity(&self, id: Id) -> usize {
        if self.terns.contains_key(&id) {
            3
        } else {
            self.node(id).arity()
        }
    }

    /// What an operation reads, signs and fused operations taken in.
    fn inputs(&self, id: Id) -> Vec<Id> {
        let (args, _) = self.operands(id);
        args[..self.arity(id)].to_vec()
    }

    fn operands(&self, id: Id) -> ([Id; 3], [bool; 3]) {
        let node = self.node(id);
        if self.terns.contains_key(&id) {
            return (self.terns[&id].1, [false; 3]);
        }
        let mut args = node.args;
        let mut neg = [false; 3];
        if let I::Alu(Op::Fma | Op::Mad | Op::Add | Op::Sub) = node.op
            && node.ty.is_float()
        {
            for k in 0..node.arity() {
                // The sign of a product that is rounded alone, and of a sum, is not to be turned afterwards: that would
                // round the other way, and turn zeros.
                let minus = matches!(node.op, I::Alu(Op::Sub));
                let alone = match node.op {
                    I::Alu(Op::Mad) => k < 2,
                    I::Alu(Op::Add | Op::Sub) => k == 1 && neg[0] && !minus,
                    _ => false,
                };
                if alone || minus && k == 0 {
                    continue;
                }
                let n = self.node(args[k]);
                if n.op == I::Alu(Op::Neg) && n.ty == node.ty {
                    args[k] = n.args[0];
                    neg[k] = true;
                }
            }
        }
        (args, neg)
    }

    /// Makes one operation of several bitwise ones that have no more than three operands together.
    fn fuse(&mut self, live: &mut [bool], roots: &[Id]) {
        let c = self.c;
        let mut count = vec![0u32; c.graph.len()];
        // Uses, dead values' among them: that only forbids.
        for node in &c.graph {
            for &a in node.inputs() {
                count[a as usize] += 1;
            }
        }
        for &r in roots {
            count[r as usize] += 2;
        }
        let logic = |id: Id| {
            let n = &c.graph[id as usize];
            n.vec
                && n.out.bits() == 32
                && n.ty.bits() == 32
                && matches!(n.op, I::Alu(Op::And | Op::Or | Op::Xor | Op::Not))
        };
        let mut inside = vec![false; c.graph.len()];
        for at in (0..c.graph.len()).rev() {
            let id = at as Id;
            if inside[at] || !logic(id) {
                continue;
            }
            let mut leaves: Vec<Id> = Vec::new();
            for &a in c.graph[at].inputs() {
                if !leaves.contains(&a) {
                    leaves.push(a);
                }
            }
            let mut taken: Vec<Id> = Vec::new();
            // Takes operands in while there is room.
            loop {
                let mut grown = false;
                for i in 0..leaves.len() {
                    let l = leaves[i];
                    if !logic(l) || count[l as usize] != 1 {
                        continue;
                    }
                    let mut after: Vec<Id> = leaves.iter().copied().filter(|&x| x != l).collect();
                    for &a in c.graph[l as usize].inputs() {
                        if !after.contains(&a) {
                            after.push(a);
                        }
                    }
                    if after.len() <= 3 {
                        leaves = after;
                        taken.push(l);
                        grown = true;
                        break;
                    }
                }
                if !grown {
                    break;
                }
            }
            if taken.is_empty() && !(c.graph[at].op == I::Alu(Op::Not)) {
                continue;
            }
            for &t in &taken {
                inside[t as usize] = true;
            }
            // The operand that is certainly in a register first.
            leaves.sort_by_key(|&l| !c.graph[l as usize].vec);
            while leaves.len() < 3 {
                leaves.push(leaves[0]);
            }
            let table = self.table(id, &leaves, &taken);
            self.terns
                .insert(id, (table, [leaves[0], leaves[1], leaves[2]]));
        }
        let _ = live;
    }

    fn table(&self, id: Id, leaves: &[Id], inside: &[Id]) -> u8 {
        fn value(e: &Emit<'_>, id: Id, root: bool, leaves: &[Id], inside: &[Id]) -> u8 {
            if !root && !inside.contains(&id) {
                let at = leaves.iter().position(|&l| l == id).unwrap_or(0);
                return [0xf0, 0xcc, 0xaa][at];
            }
            let n = e.node(id);
            let arg = |k: usize| value(e, n.args[k], false, leaves, inside);
            match n.op {
                I::Alu(Op::And) => arg(0) & arg(1),
                I::Alu(Op::Or) => arg(0) | arg(1),
                I::Alu(Op::Xor) => arg(0) ^ arg(1),
                _ => !arg(0),
            }
        }
        value(self, id, true, leaves, inside)
    }

    fn body(&mut self) {
        self.plan();
        let c = self.c;
        if let Some(key) = c.fp.filter(|&k| k != self.default) {
            self.a.ldmxcsr(mxcsr_of(key));
        }
        // Scalars that vectors may need.
        let used = self.scalar_uses();
        for (at, &used) in used.iter().enumerate() {
            if used && !c.graph[at].vec && !self.late[at] {
                self.scalar(at as Id);
            }
        }
        for &g in &c.guards {
            if !c.graph[g as usize].vec && !self.late[g as usize] {
                self.sload(RAX, g);
                self.a.test(false, RAX, RAX);
                let r = self.restart();
                self.a.jcc(Cc::Ne, r);
            }
        }
        let vectors = !self.ops.is_empty()
            || !c.rows.is_empty()
            || c.store.is_some()
            || (0..c.graph.len()).any(|at| used[at] && c.graph[at].op == I::Ballot);
        if vectors {
            self.slices(&used);
        }
        for (at, &used) in used.iter().enumerate() {
            if used && self.late[at] && c.graph[at].op != I::Ballot {
                self.scalar(at as Id);
            }
        }
        // Nothing fails from here on.
        for slice in 0..4 {
            self.commit_pinned(slice);
        }
        if let Some(key) = c.fp.filter(|&k| k != self.default) {
            let _ = key;
            self.a.ldmxcsr(mxcsr_of(self.default));
        }
        // The branch is decided before registers change.
        let when = match &c.tail {
            Tail::Branch { when, .. } => Some(*when),
            _ => None,
        };
        if let Some(when) = when {
            let direct = matches!(self.node(when).op, I::SccIn | I::SIn(_));
            if direct {
                self.sload(RDX, when);
            }
        }
        self.commit_scalars();
        match c.tail.clone() {
            Tail::Jump(pc) => self.goto(pc),
            Tail::Branch {
                when,
                taken,
                next: other,
            } => {
                if matches!(self.node(when).op, I::SccIn | I::SIn(_)) {
                    self.a.test(false, RDX, RDX);
                } else {
                    self.sload(RDX, when);
                    self.a.test(false, RDX, RDX);
                }
                let label = self.labels[&taken];
                self.a.jcc(Cc::Ne, label);
                self.goto(other);
            }
            Tail::End => self.leave(EXIT_END),
            Tail::Barrier => self.leave(EXIT_BARRIER),
            Tail::Interpret { .. } | Tail::Leave => {}
        }
        self.outs();
        if self.next_slot as usize > VECTORS || self.slot_of.len() > SCALARS || self.next_mask > 256
        {
            self.failed = true;
        }
    }

    /// Scalars that something needs.
    fn scalar_uses(&self) -> Vec<bool> {
        let c = self.c;
        let mut used = vec![false; c.graph.len()];
        for (at, u) in self.uses.iter().enumerate() {
            used[at] |= !u.is_empty();
        }
        for w in &c.sgprs {
            used[w.1 as usize] = true;
        }
        for &id in c.scc.iter().chain(&c.guards) {
            used[id as usize] = true;
        }
        if let Tail::Branch { when, .. } = c.tail {
            used[when as usize] = true;
        }
        for at in (0..c.graph.len()).rev() {
            let node = &c.graph[at];
            used[at] |= matches!(node.op, I::SLoad { .. });
            if used[at] && !node.vec {
                for &i in node.inputs() {
                    used[i as usize] = true;
                }
            }
        }
        used
    }

    pub fn slot(&mut self, id: Id) -> Mem {
        let n = self.slot_of.len() as u16;
        let at = *self.slot_of.entry(id).or_insert(n);
        if at as usize >= SCALARS {
            self.failed = true;
            return ctx!(scalars);
        }
        mem(CTX, (offset_of!(Ctx, scalars) + 8 * at as usize) as i32)
    }

    /// Where a scalar is in memory.
    fn smem(&mut self, id: Id) -> Mem {
        match self.node(id).op {
            I::SIn(code) => sgpr_home(code),
            I::Const(v) => {
                // A constant that must be in memory.
                let slot = self.slot(id);
                self.a.imm(RAX, v);
                self.a.store(true, slot, RAX);
                slot
            }
            _ => self.slot(id),
        }
    }

    pub fn sload(&mut self, to: Gpr, id: Id) {
        let n = *self.node(id);
        match n.op {
            I::Const(v) => self.a.imm(to, v),
            I::SIn(code) => self.a.mov(n.out.bits() > 32, to, Rm::M(sgpr_home(code))),
            I::SccIn => self
                .a
                .movzx8(to, mem(WAVE, offset_of!(WaveState, scc) as i32)),
            _ => {
                let slot = self.slot(id);
                self.a.mov(true, to, Rm::M(slot));
            }
        }
    }

    /// Computes a scalar into its slot.
    fn scalar(&mut self, id: Id) {
        let n = *self.node(id);
        let [x, y, w] = n.args;
        let wide = n.ty.bits() > 32;
        match n.op {
            I::Const(_) | I::SIn(_) | I::Ballot => return,
            I::SccIn => self.sload(RAX, id),
            I::Pair => {
                self.sload(RAX, x);
                self.sload(RCX, y);
                self.a.shift_imm(4, true, RCX, 32);
                self.a.alu(1, true, RAX, Rm::R(RCX));
            }
            I::Lo => {
                self.sload(RAX, x);
                self.a.mov(false, RAX, Rm::R(RAX));
            }
            I::Hi => {
                self.sload(RAX, x);
                self.a.shift_imm(5, true, RAX, 32);
            }
            I::SLoad { count, offset } => {
                self.scalar_load(id, x, count, offset);
                return;
            }
            I::Part(_) => return,
            I::Alu(o) => self.scalar_alu(o, &n, x, y, w, wide),
            _ => {
                self.failed = true;
                return;
            }
        }
        let slot = self.slot(id);
        self.a.store(true, slot, RAX);
    }

    fn scalar_load(&mut self, id: Id, address: Id, count: u8, offset: i32) {
        self.sload(RAX, address);
        if offset != 0 {
            self.a.lea(RAX, mem(RAX, offset));
        }
        let restart = self.restart();
        self.check_range(4 * count as i32, 1, restart);
        let parts: Vec<(Id, u8)> = self
            .c
            .graph
            .iter()
            .enumerate()
            .filter_map(|(at, n)| match n.op {
                I::Part(k) if n.args[0] == id && !n.vec => Some((at as Id, k)),
                _ => None,
            })
            .collect();
        for (part, k) in parts {
            let from = Mem {
                base: BIAS,
                index: Some((RAX, 1)),
                disp: 4 * k as i32,
            };
            self.a.mov(false, RCX, Rm::M(from));
            let slot = self.slot(part);
            self.a.store(true, slot, RCX);
        }
    }

    /// Jumps where not all of the `bytes` from RAX on may be accessed (1 read, 2 written); RCX, RDX and RSI are used.
    pub fn check_range(&mut self, bytes: i32, need: u8, bad: Label) {
        self.a.mov(true, RCX, Rm::R(RAX));
        self.a.alu(5, true, RCX, Rm::M(ctx!(linear_base)));
        self.a.lea(RSI, mem(RCX, bytes - 1));
        self.a.alu(7, true, RCX, Rm::M(ctx!(linear_bytes)));
        self.a.jcc(Cc::Ae, bad);
        self.a.alu(7, true, RSI, Rm::M(ctx!(linear_bytes)));
        self.a.jcc(Cc::Ae, bad);
        self.a.shift_imm(5, true, RCX, 12);
        self.a.shift_imm(5, true, RSI, 12);
        self.a.movzx8(
            RDX,
            Mem {
                base: PAGES,
                index: Some((RCX, 1)),
                disp: 0,
            },
        );
        // AND r32, m8 does not exist; the bytes behind do not matter.
        self.a.movzx8(
            RCX,
            Mem {
                base: PAGES,
                index: Some((RSI, 1)),
                disp: 0,
            },
        );
        self.a.alu(4, false, RDX, Rm::R(RCX));
        let need = (MAPPED | need) as i32;
        self.a.alu_imm(4, false, Rm::R(RDX), need);
        self.a.alu_imm(7, false, Rm::R(RDX), need);
        self.a.jcc(Cc::Ne, bad);
    }

    fn scalar_alu(&mut self, o: Op, n: &Node, x: Id, y: Id, w: Id, wide: bool) {
        let bits = n.ty.bits();
        let width = if wide { 64 } else { 32 };
        self.sload(RAX, x);
        let signed = n.ty.is_signed();
        let compare = |e: &mut Self, cc: Cc| {
            e.sload(RCX, y);
            e.a.alu(7, wide, RAX, Rm::R(RCX));
            e.a.setcc(cc, RAX);
        };
        match o {
            Op::Zext | Op::Trunc => {}
            Op::Not if bits == 1 => self.a.alu_imm(6, false, Rm::R(RAX), 1),
            Op::Not => {
                self.a.g(wide, &[0xf7], 2, Rm::R(RAX));
            }
            Op::Neg => self.a.g(wide, &[0xf7], 3, Rm::R(RAX)),
            Op::And | Op::Or | Op::Xor | Op::Add | Op::Sub => {
                self.sload(RCX, y);
                let which = match o {
                    Op::And => 4,
                    Op::Or => 1,
                    Op::Xor => 6,
                    Op::Add => 0,
                    _ => 5,
                };
                self.a.alu(which, wide, RAX, Rm::R(RCX));
            }
            Op::Mul => {
                self.sload(RCX, y);
                self.a.imul(wide, RAX, Rm::R(RCX));
            }
            Op::MulHi => {
                self.sload(RCX, y);
                if signed {
                    self.a.g(true, &[0x63], RAX, Rm::R(RAX));
                    self.a.g(true, &[0x63], RCX, Rm::R(RCX));
                }
                self.a.imul(true, RAX, Rm::R(RCX));
                self.a.shift_imm(5, true, RAX, 32);
            }
            Op::Shl | Op::Shr => {
                let pp = match o {
                    Op::Shl => 1,
                    _ if signed => 2,
                    _ => 3,
                };
                match self.konst(y) {
                    Some(by) if by >= width => {
                        if pp == 2 {
                            self.a.shift_imm(7, wide, RAX, width as u8 - 1);
                        } else {
                            self.a.imm(RAX, 0);
                        }
                    }
                    Some(by) => self
                        .a
                        .shift_imm([0, 4, 7, 5][pp as usize], wide, RAX, by as u8),
                    None => {
                        self.sload(RCX, y);
                        self.a.imm(RDX, width - 1);
                        self.a.imm(RSI, 0);
                        self.a.alu(7, true, RCX, Rm::R(RDX));
                        if pp == 2 {
                            self.a.cmov(Cc::A, true, RCX, Rm::R(RDX));
                        }
                        // The comparison's flags outlive the shift.
                        self.a.shift_by(pp, wide, RAX, RAX, RCX);
                        if pp != 2 {
                            self.a.cmov(Cc::A, true, RAX, Rm::R(RSI));
                        }
                    }
                }
            }
            Op::Eq => compare(self, Cc::E),
            Op::Ne => compare(self, Cc::Ne),
            Op::Lt => compare(self, if signed { Cc::L } else { Cc::B }),
            Op::Le => compare(self, if signed { Cc::Le } else { Cc::Be }),
            Op::Gt => compare(self, if signed { Cc::G } else { Cc::A }),
            Op::Ge => compare(self, if signed { Cc::Ge } else { Cc::Ae }),
            Op::Min | Op::Max => {
                self.sload(RCX, y);
                self.a.alu(7, wide, RCX, Rm::R(RAX));
                let cc = match (o == Op::Min, signed) {
                    (true, true) => Cc::L,
                    (true, false) => Cc::B,
                    (false, true) => Cc::G,
                    (false, false) => Cc::A,
                };
                self.a.cmov(cc, wide, RAX, Rm::R(RCX));
            }
            Op::Select => {
                self.sload(RCX, y);
                self.sload(RDX, w);
                self.a.test(false, RAX, RAX);
                self.a.mov(true, RAX, Rm::R(RCX));
                self.a.cmov(Cc::E, true, RAX, Rm::R(RDX));
            }
            Op::Popcount => {
                self.a.buf.push(0xf3);
                self.a.g(true, &[0x0f, 0xb8], RAX, Rm::R(RAX));
            }
            Op::Clz => {
                self.a.buf.push(0xf3);
                self.a.g(wide, &[0x0f, 0xbd], RAX, Rm::R(RAX));
            }
            Op::Ctz => {
                self.a.buf.push(0xf3);
                self.a.g(wide, &[0x0f, 0xbc], RAX, Rm::R(RAX));
            }
            Op::Abs => {
                self.a.mov(wide, RCX, Rm::R(RAX));
                self.a.g(wide, &[0xf7], 3, Rm::R(RAX));
                self.a.cmov(Cc::S, wide, RAX, Rm::R(RCX));
            }
            _ => self.failed = true,
        }
    }

    fn commit_scalars(&mut self) {
        let c = self.c;
        // Registers' old values may be read until the last is written: gather first where they are moved about.
        let mut moves: Vec<(u8, Id)> = Vec::new();
        for &(code, id) in &c.sgprs {
            if matches!(self.node(id).op, I::SIn(_) | I::SccIn) {
                moves.push((code, id));
            }
        }
        for &(_, id) in &moves {
            self.sload(RAX, id);
            let slot = self.slot(id);
            self.a.store(true, slot, RAX);
        }
        if let Some(id) = c.scc {
            self.sload(RAX, id);
            self.a
                .store8(mem(WAVE, offset_of!(WaveState, scc) as i32), RAX);
        }
        let mut i = 0;
        while i < c.sgprs.len() {
            let (code, id) = c.sgprs[i];
            let whole = c.sgprs.get(i + 1).and_then(|&(next, hi)| {
                let (a, b) = (self.node(id), self.node(hi));
                (next == code + 1 && a.op == I::Lo && b.op == I::Hi && a.args[0] == b.args[0])
                    .then_some(a.args[0])
            });
            let whole = whole.filter(|&w| !matches!(self.node(w).op, I::SIn(_)));
            if let Some(whole) = whole {
                self.sload(RAX, whole);
                self.a.store(true, sgpr_home(code), RAX);
                i += 2;
                continue;
            }
            if matches!(self.node(id).op, I::SIn(_) | I::SccIn) {
                let slot = self.slot(id);
                self.a.mov(true, RAX, Rm::M(slot));
            } else {
                self.sload(RAX, id);
            }
            self.a.store(false, sgpr_home(code), RAX);
            i += 1;
        }
    }

    // ---- vectors ----

    fn slices(&mut self, used: &[bool]) {
        let c = self.c;
        // Constants that vector code needs in memory are put there once.
        let ballots: Vec<Id> = (0..c.graph.len())
            .filter(|&at| used[at] && c.graph[at].op == I::Ballot)
            .map(|at| at as Id)
            .collect();
        for (i, &b) in ballots.iter().enumerate() {
            if i < 4 {
                self.a.imm(R8 + i as u8, 0);
            } else {
                let slot = self.slot(b);
                self.a.imm(RAX, 0);
                self.a.store(true, slot, RAX);
            }
        }
        self.accumulators = ballots;
        let lane_guards = c.guards.iter().any(|&g| c.graph[g as usize].vec);
        if self.checks || lane_guards {
            self.a.kop(0x47, K_BAD, K_BAD, K_BAD);
        }
        let has_group = !c.rows.is_empty()
            || c.graph
                .iter()
                .any(|n| matches!(n.op, I::Group { .. } | I::Row(_)));
        let fallible = self.checks || lane_guards || has_group || c.store.is_some();
        let critical: Vec<usize> = self.critical();
        // Few enough values are kept in registers until nothing can fail.
        let keep = fallible && !critical.is_empty() && critical.len() <= 4;
        for slice in 0..4 {
            self.slice = slice;
            let over = self.a.label();
            let exec = sgpr_home(EXEC as u8);
            let exec = Mem {
                disp: exec.disp + 2 * slice as i32,
                ..exec
            };
            self.a.cmp16_zero(exec);
            self.a.jcc(Cc::E, over);
            self.a.kload16(K_EXEC, exec);
            self.z = Bank::default();
            self.k = Bank::default();
            self.k.busy = 1 | 1 << K_EXEC | 1 << K_BAD | !0xff;
            self.let_go();
            for pos in 0..self.ops.len() {
                self.pos = pos as u32;
                let vop = self.ops[pos];
                match vop.commit {
                    None => self.vector(&vop),
                    Some(i) => self.commit(i, critical.contains(&i), fallible, keep),
                }
                self.release(&vop);
            }
            self.pos = self.ops.len() as u32;
            for i in 0..self.accumulators.len() {
                let b = self.accumulators[i];
                let k = self.kreg(self.node(b).args[0]);
                self.a.k_to_gpr(RAX, k);
                if slice > 0 {
                    self.a.shift_imm(4, true, RAX, 16 * slice);
                }
                if i < 4 {
                    self.a.alu(1, true, R8 + i as u8, Rm::R(RAX));
                } else {
                    let slot = self.slot(b);
                    self.a.g(true, &[0x09], RAX, Rm::M(slot));
                }
            }
            for gi in 0..c.guards.len() {
                let g = c.guards[gi];
                if c.graph[g as usize].vec {
                    let k = self.kreg(g);
                    self.a.kop(0x45, K_BAD, K_BAD, k);
                }
            }
            for row in 0..c.rows.len() {
                let (address, offset, value) = c.rows[row];
                self.store_row(address, offset, value);
            }
            if let Some(store) = &c.store {
                self.store_slice(store);
            }
            self.a.bind(over);
        }
        if self.checks || lane_guards {
            self.a.kortest(K_BAD, K_BAD);
            let r = self.restart();
            self.a.jcc(Cc::Ne, r);
        }
        for i in 0..self.accumulators.len().min(4) {
            let slot = self.slot(self.accumulators[i]);
            self.a.store(true, slot, R8 + i as u8);
        }
    }

    fn critical(&self) -> Vec<usize> {
        let c = self.c;
        (0..c.vgprs.len())
            .filter(|&i| {
                let v = c.vgprs[i].0;
                c.graph
                    .iter()
                    .enumerate()
                    .any(|(at, n)| n.op == I::VIn(v) && !self.uses[at].is_empty())
            })
            .collect()
    }

    /// A VGPR takes its value, now or when nothing can fail.
    fn commit(&mut self, i: usize, critical: bool, fallible: bool, keep: bool) {
        let (v, id, live) = self.c.vgprs[i];
        let value = self.zreg(id, 0);
        let home = vgpr_home(v, self.slice);
        let late = critical && fallible;
        self.z.busy |= 1 << value;
        let from = if live == Live::All {
            let t = self.temp();
            self.a.z(op::MOVDQU32, t, 0, Rm::M(home));
            self.a.zk(op::MOVDQU32, t, 0, Rm::R(value), keep_on());
            t
        } else if critical && keep && late {
            // A register of its own, since others may hold the value too.
            let t = self.temp();
            self.a.z(op::MOVDQU32, t, 0, Rm::R(value));
            t
        } else {
            value
        };
        self.z.busy &= !(1 << value);
        if !late && !critical {
            self.a.z(op::MOVDQU32_ST, from, 0, Rm::M(home));
        } else if late && keep {
            self.pinned.push(Pin {
                reg: Some(from),
                slot: 0,
                write: i,
                slice: self.slice,
            });
            self.let_go();
        } else {
            // One may be what another takes, so all wait.
            let (slot, m) = self.vslot();
            self.a.z(op::MOVDQU32_ST, from, 0, Rm::M(m));
            self.pinned.push(Pin {
                reg: None,
                slot,
                write: i,
                slice: self.slice,
            });
        }
    }

    /// Writes what was kept back.
    fn commit_pinned(&mut self, slice: u8) {
        let mine: Vec<Pin> = self
            .pinned
            .iter()
            .copied()
            .filter(|p| p.slice == slice)
            .collect();
        if mine.is_empty() {
            return;
        }
        let over = self.a.label();
        let exec = sgpr_home(EXEC as u8);
        let exec = Mem {
            disp: exec.disp + 2 * slice as i32,
            ..exec
        };
        self.a.cmp16_zero(exec);
        self.a.jcc(Cc::E, over);
        for pin in mine {
            let home = vgpr_home(self.c.vgprs[pin.write].0, slice);
            let r = pin.reg.unwrap_or_else(|| {
                // Every register that is not pinned is free by now.
                let pinned = self
                    .pinned
                    .iter()
                    .filter_map(|p| p.reg)
                    .fold(0, |b, r| b | 1u32 << r);
                let r = (!pinned).trailing_zeros().min(31) as u8;
                self.a.z(op::MOVDQU32, r, 0, Rm::M(vslot_mem(pin.slot)));
                r
            });
            self.a.z(op::MOVDQU32_ST, r, 0, Rm::M(home));
        }
        self.a.bind(over);
    }

    fn vslot(&mut self) -> (u16, Mem) {
        let n = self.next_slot;
        self.next_slot += 1;
        (n, vslot_mem(n))
    }

    /// The next use of a value from here on.
    pub fn next_use(&self, id: Id) -> u32 {
        let u = &self.uses[id as usize];
        let at = u.partition_point(|&p| p <= self.pos);
        u.get(at).copied().unwrap_or(u32::MAX)
    }

    /// Gives registers free whose values are not needed any more.
    fn release(&mut self, vop: &VOp) {
        let mut ids = vec![vop.id];
        ids.extend_from_slice(&vop.args);
        if let I::Group { .. } = self.node(vop.id).op {
            return;
        }
        for id in ids {
            if self.next_use(id) == u32::MAX {
                for part in 0..2 {
                    self.drop_part((id, part));
                }
            }
        }
    }

    fn drop_part(&mut self, part: Part) {
        if let Some(r) = self.z.at.remove(&part) {
            self.z.regs[r as usize] = None;
        }
        if let Some(r) = self.k.at.remove(&part) {
            self.k.regs[r as usize] = None;
        }
    }

    /// A free vector register, which stays free; makes room if it must.
    pub fn temp(&mut self) -> u8 {
        if let Some(r) =
            (0..32).find(|&r| self.z.busy >> r & 1 == 0 && self.z.regs[r as usize].is_none())
        {
            return r;
        }
        let mut best: Option<(u32, u8)> = None;
        for r in 0..32u8 {
            if self.z.busy >> r & 1 != 0 {
                continue;
            }
            if let Some((id, _)) = self.z.regs[r as usize] {
                // One whose home is in memory costs nothing to drop.
                let clean = matches!(
                    self.node(id).op,
                    I::VIn(_) | I::Const(_) | I::SIn(_) | I::Lane
                ) || !self.node(id).vec;
                let mut when = self.next_use(id);
                if clean {
                    when = when.saturating_add(4);
                }
                if best.is_none_or(|b| when > b.0) {
                    best = Some((when, r));
                }
            }
        }
        let Some((_, r)) = best else {
            self.failed = true;
            return 31;
        };
        let part = self.z.regs[r as usize].take().unwrap_or((0, 0));
        self.z.at.remove(&part);
        let n = self.node(part.0);
        let clean = matches!(n.op, I::VIn(_) | I::Const(_) | I::SIn(_) | I::Lane) || !n.vec;
        if !clean && !self.z.spilled.contains_key(&part) && self.next_use_or_now(part.0) {
            let (slot, m) = self.vslot();
            self.a.z(op::MOVDQU32_ST, r, 0, Rm::M(m));
            self.z.spilled.insert(part, slot);
        }
        r
    }

    fn next_use_or_now(&self, id: Id) -> bool {
        self.uses[id as usize].iter().any(|&p| p >= self.pos) || self.is_group_part(id)
    }

    fn is_group_part(&self, id: Id) -> bool {
        matches!(self.node(id).op, I::Part(_))
    }

    /// A register that holds a new value.
    pub fn define(&mut self, id: Id, part: u8) -> u8 {
        let r = self.temp();
        self.put(id, part, r);
        r
    }

    pub fn put(&mut self, id: Id, part: u8, r: u8) {
        self.z.regs[r as usize] = Some((id, part));
        self.z.at.insert((id, part), r);
    }

    /// A part of a value in a register.
    pub fn zreg(&mut self, id: Id, part: u8) -> u8 {
        if let Some(&r) = self.z.at.get(&(id, part)) {
            return r;
        }
        let r = self.temp();
        if let Some(&slot) = self.z.spilled.get(&(id, part)) {
            self.a.z(op::MOVDQU32, r, 0, Rm::M(vslot_mem(slot)));
            self.put(id, part, r);
            return r;
        }
        let n = *self.node(id);
        match n.op {
            I::Const(0) => self.a.evex(op::XORD, 2, r, r, Rm::R(r), ALL, None),
            I::Const(v) => self.bcast_const(r, v as u32 as u64, false),
            I::VIn(v) => {
                let home = vgpr_home(v, self.slice);
                self.a.z(op::MOVDQU32, r, 0, Rm::M(home));
            }
            I::Lane => {
                let m = ctx!(lanes, 64 * self.slice as usize);
                self.a.z(op::MOVDQU32, r, 0, Rm::M(m));
            }
            _ if !n.vec => {
                let m = self.smem(id);
                self.a.z(op::BCASTD, r, 0, Rm::M(m));
            }
            _ => {
                // It has no code: a mistake that the tests would show.
                self.failed = true;
            }
        }
        self.put(id, part, r);
        r
    }

    /// A constant in every element.
    fn bcast_const(&mut self, r: u8, v: u64, wide: bool) {
        // vpternlog makes all ones without memory.
        if !wide && v == 0xffff_ffff || wide && v == u64::MAX {
            self.a.zi(op::TERND, r, r, Rm::R(r), ALL, 0xff);
            return;
        }
        self.a
            .z(if wide { op::BCASTQ } else { op::BCASTD }, r, 0, Rm::C(v));
    }

    /// A half of a 64-bit value a lane in a register of 8 elements.
    fn wreg(&mut self, id: Id, part: u8) -> u8 {
        let n = *self.node(id);
        if n.vec && n.out.bits() > 32 {
            return self.zreg(id, part);
        }
        // Uniform: both parts are the same. Their key is apart from that of the 32-bit broadcast.
        let key = (id, 2);
        if let Some(&r) = self.z.at.get(&key) {
            return r;
        }
        let r = self.temp();
        match n.op {
            I::Const(v) => self.bcast_const(r, v, true),
            _ => {
                let m = self.smem(id);
                self.a.z(op::BCASTQ, r, 0, Rm::M(m));
            }
        }
        self.put(id, 2, r);
        r
    }

    fn wrm(&mut self, id: Id, part: u8) -> Rm {
        let n = *self.node(id);
        match n.op {
            I::Const(v) => Rm::C(v),
            _ if !n.vec => Rm::B(self.smem(id)),
            _ => Rm::R(self.wreg(id, part)),
        }
    }

    /// The second operand of an instruction: a register, memory, a constant.
    pub fn rm(&mut self, id: Id) -> Rm {
        if let Some(&r) = self.z.at.get(&(id, 0)) {
            return Rm::R(r);
        }
        let last = self.next_use(id) == u32::MAX;
        if last && let Some(&slot) = self.z.spilled.get(&(id, 0)) {
            return Rm::M(vslot_mem(slot));
        }
        let n = *self.node(id);
        match n.op {
            I::Const(v) if n.out.bits() <= 64 => Rm::C(v as u32 as u64),
            I::VIn(v) if last => Rm::M(vgpr_home(v, self.slice)),
            _ if !n.vec => Rm::B(self.smem(id)),
            _ => Rm::R(self.zreg(id, 0)),
        }
    }

    pub fn hold(&mut self, r: u8) {
        self.z.busy |= 1 << r;
    }

    pub fn hold_rm(&mut self, rm: Rm) {
        if let Rm::R(r) = rm {
            self.hold(r);
        }
    }

    pub fn let_go(&mut self) {
        self.z.busy = self
            .pinned
            .iter()
            .filter_map(|p| p.reg)
            .fold(0, |b, r| b | 1u32 << r);
    }

    // ---- opmasks ----

    pub fn ktemp(&mut self) -> u8 {
        if let Some(r) =
            (1..8).find(|&r| self.k.busy >> r & 1 == 0 && self.k.regs[r as usize].is_none())
        {
            return r;
        }
        let mut best: Option<(u32, u8)> = None;
        for r in 1..8u8 {
            if self.k.busy >> r & 1 != 0 {
                continue;
            }
            if let Some((id, _)) = self.k.regs[r as usize] {
                let when = self.next_use(id);
                if best.is_none_or(|b| when > b.0) {
                    best = Some((when, r));
                }
            }
        }
        let Some((_, r)) = best else {
            self.failed = true;
            return 1;
        };
        let part = self.k.regs[r as usize].take().unwrap_or((0, 0));
        self.k.at.remove(&part);
        if !self.k.spilled.contains_key(&part) && self.next_use_or_now(part.0) {
            let slot = self.next_mask.min(255);
            self.next_mask += 1;
            self.a.kstore16(ctx!(masks, 2 * slot as usize), r);
            self.k.spilled.insert(part, slot);
        }
        r
    }

    fn kput(&mut self, id: Id, r: u8) {
        self.k.regs[r as usize] = Some((id, 0));
        self.k.at.insert((id, 0), r);
    }

    fn kdefine(&mut self, id: Id) -> u8 {
        let r = self.ktemp();
        self.kput(id, r);
        r
    }

    /// A truth value a lane in an opmask.
    pub fn kreg(&mut self, id: Id) -> u8 {
        let n = *self.node(id);
        if n.op == I::Exec {
            return K_EXEC;
        }
        if let Some(&r) = self.k.at.get(&(id, 0)) {
            return r;
        }
        let r = self.ktemp();
        if let Some(&slot) = self.k.spilled.get(&(id, 0)) {
            self.a.kload16(r, ctx!(masks, 2 * slot as usize));
        } else {
            match n.op {
                I::Const(v) => {
                    let o = if v & 1 != 0 { 0x46 } else { 0x47 };
                    self.a.kop(o, r, r, r);
                }
                _ if !n.vec => {
                    self.sload(RAX, id);
                    self.a.g(false, &[0xf7], 3, Rm::R(RAX));
                    self.a.gpr_to_k(r, RAX);
                }
                _ => self.failed = true,
            }
        }
        self.kput(id, r);
        r
    }

    // ---- operations ----

    fn vector(&mut self, vop: &VOp) {
        let n = *self.node(vop.id);
        let [x, y, w] = vop.args;
        self.let_go();
        self.k.busy = 1 | 1 << K_EXEC | 1 << K_BAD | !0xff;
        if let Some(&(table, _)) = self.terns.get(&vop.id) {
            self.tern(vop.id, table, vop.args);
            self.let_go();
            return;
        }
        match n.op {
            I::MaskOf => {
                let m = self.smem(x);
                let m = Mem {
                    disp: m.disp + 2 * self.slice as i32,
                    ..m
                };
                let k = self.kdefine(vop.id);
                self.a.kload16(k, m);
            }
            I::Pair => self.combine(vop.id, x, y),
            I::Lo | I::Hi => {
                let (p, q) = (self.wreg(x, 0), {
                    let p = self.wreg(x, 0);
                    self.hold(p);
                    self.wreg(x, 1)
                });
                self.hold(q);
                let d = self.define(vop.id, 0);
                let index = if n.op == I::Lo { ctx!(even) } else { ctx!(odd) };
                self.a.z(op::MOVDQU32, d, 0, Rm::M(index));
                // VPERMI2D: the index is overwritten.
                self.a.z(
                    E {
                        op: 0x76,
                        ..op::PERMT2D
                    },
                    d,
                    p,
                    Rm::R(q),
                );
            }
            I::Shld(by) | I::Shrd(by) => {
                let left = matches!(n.op, I::Shld(_));
                let p = self.zreg(x, 0);
                self.hold(p);
                if x == y {
                    let d = self.define(vop.id, 0);
                    self.a
                        .evex(op::SHIFTD_I, 2, left as u8, d, Rm::R(p), ALL, Some(by));
                } else {
                    let q = self.rm(y);
                    self.hold_rm(q);
                    let d = self.define(vop.id, 0);
                    self.a
                        .zi(if left { op::SHLDD } else { op::SHRDD }, d, p, q, ALL, by);
                }
            }
            I::Group {
                space,
                bytes,
                count,
                offset,
            } => self.group(vop.id, space, bytes, count, offset, x, y),
            I::Row(offset) => self.row(vop.id, x, offset),
            I::LdsAtomic(o) => self.lds_atomic(vop.id, o, n.ty.is_signed(), x, y, w),
            I::Part(_) | I::ShrLane => {}
            I::Alu(o) => {
                if n.out == Ty::Bool {
                    self.truth(vop.id, o, &n, x, y);
                } else if n.ty == Ty::F64 || n.out == Ty::F64 || n.out.bits() > 32 {
                    self.wide(vop, o, &n);
                } else {
                    self.narrow(vop, o, &n, x, y, w);
                }
            }
            _ => self.failed = true,
        }
        self.let_go();
        if vop.flush || vop.check {
            let wide = n.out.bits() > 32;
            for part in 0..1 + wide as u8 {
                self.look(vop, part, wide);
            }
        }
        self.let_go();
    }

    /// Flushes a result and notes NaNs.
    fn look(&mut self, vop: &VOp, part: u8, wide: bool) {
        let r = self.zreg(vop.id, part);
        self.hold(r);
        let k = self.ktemp();
        if vop.flush {
            let e = E {
                map: 2,
                pp: 2,
                w: wide as u8,
                op: 0x27,
                n: 64,
            };
            let (exponent, sign) = if wide {
                (0x7ff << 52, 1 << 63)
            } else {
                (0x7f80_0000, 0x8000_0000)
            };
            self.a.zk(e, k, r, Rm::C(exponent), ALL);
            let and = E {
                w: wide as u8,
                ..op::ANDD
            };
            self.a.zk(and, r, r, Rm::C(sign), keep(k));
        }
        if vop.check {
            let mut on = K_EXEC;
            if part == 1 {
                self.a.kshiftr(k, K_EXEC, 8);
                on = k;
            }
            let e = if wide { op::CMPPS.pd() } else { op::CMPPS };
            self.a.zi(e, k, r, Rm::R(r), keep(on), 3);
            self.a.kop(0x45, K_BAD, K_BAD, k);
        }
    }

    fn tern(&mut self, id: Id, table: u8, args: [Id; 3]) {
        let [x, y, w] = args;
        let q = self.zreg(y, 0);
        self.hold(q);
        let r = self.rm(w);
        self.hold_rm(r);
        let d = self.overwrite(id, x);
        self.a.zi(op::TERND, d, q, r, ALL, table);
    }

    /// A register for a new value that holds the value `x` now: that of `x` itself where nothing else needs it.
    fn overwrite(&mut self, id: Id, x: Id) -> u8 {
        let r = self.zreg(x, 0);
        self.reuse((x, 0), (id, 0), r)
    }

    fn reuse(&mut self, from: Part, to: Part, r: u8) -> u8 {
        let held = self.z.busy >> r & 1 != 0;
        if self.next_use(from.0) == u32::MAX && !held && self.z.at.get(&from) == Some(&r) {
            self.z.at.remove(&from);
            self.put(to.0, to.1, r);
            return r;
        }
        self.hold(r);
        let d = self.define(to.0, to.1);
        self.a.z(op::MOVDQU32, d, 0, Rm::R(r));
        d
    }

    /// 64-bit values of halves.
    fn combine(&mut self, id: Id, lo: Id, hi: Id) {
        let p = self.zreg(lo, 0);
        self.hold(p);
        if self.konst(hi) == Some(0) {
            let d = self.define(id, 0);
            self.hold(d);
            self.a.z(op::PMOVZXDQ, d, 0, Rm::R(p));
            let e = self.define(id, 1);
            self.a.zi(op::EXTRACT256, p, 0, Rm::R(e), ALL, 1);
            self.a.z(op::PMOVZXDQ, e, 0, Rm::R(e));
            return;
        }
        let q = self.zreg(hi, 0);
        self.hold(q);
        let d = self.define(id, 0);
        self.hold(d);
        let permi = E {
            op: 0x76,
            ..op::PERMT2D
        };
        self.a.z(op::MOVDQU32, d, 0, Rm::M(ctx!(zip_low)));
        self.a.z(permi, d, p, Rm::R(q));
        let e = self.define(id, 1);
        self.a.z(op::MOVDQU32, e, 0, Rm::M(ctx!(zip_high)));
        self.a.z(permi, e, p, Rm::R(q));
    }

    /// An operation whose result is a truth value.
    fn truth(&mut self, id: Id, o: Op, n: &Node, x: Id, y: Id) {
        if n.ty == Ty::Bool {
            let p = self.kreg(x);
            self.k.busy |= 1 << p;
            if o == Op::Not {
                let d = self.kdefine(id);
                self.a.knot(d, p);
                return;
            }
            let q = self.kreg(y);
            self.k.busy |= 1 << q;
            let d = self.kdefine(id);
            let code = match o {
                Op::And => 0x41,
                Op::Or => 0x45,
                Op::Xor | Op::Ne => 0x47,
                Op::Eq => 0x46,
                _ => {
                    self.failed = true;
                    0x41
                }
            };
            self.a.kop(code, d, p, q);
            return;
        }
        if o == Op::Class {
            self.class(id, n, x, y);
            return;
        }
        let float = n.ty.is_float();
        let predicate = match (o, float) {
            (Op::Eq, _) => 0,
            (Op::Lt, false) => 1,
            (Op::Le, false) => 2,
            (Op::Ne, false) => 4,
            (Op::Ge, false) => 5,
            (Op::Gt, false) => 6,
            // Ordered and quiet.
            (Op::Lt, true) => 0x11,
            (Op::Le, true) => 0x12,
            (Op::Gt, true) => 0x1e,
            (Op::Ge, true) => 0x1d,
            (Op::Ne, true) => 0x0c,
            (Op::Unord, _) => 3,
            _ => {
                self.failed = true;
                0
            }
        };
        if n.ty == Ty::F64 {
            let p = self.wreg(x, 0);
            self.hold(p);
            let q = self.wrm(y, 0);
            self.hold_rm(q);
            let low = self.ktemp();
            self.k.busy |= 1 << low;
            self.a.zi(op::CMPPS.pd(), low, p, q, ALL, predicate);
            let p = self.wreg(x, 1);
            self.hold(p);
            let q = self.wrm(y, 1);
            self.hold_rm(q);
            let high = self.ktemp();
            self.k.busy |= 1 << high;
            self.a.zi(op::CMPPS.pd(), high, p, q, ALL, predicate);
            let d = self.kdefine(id);
            self.a.kunpckbw(d, high, low);
            return;
        }
        let p = self.zreg(x, 0);
        self.hold(p);
        let q = self.rm(y);
        self.hold_rm(q);
        let d = self.kdefine(id);
        let e = match (float, n.ty.is_signed()) {
            (true, _) => op::CMPPS,
            (_, true) => op::CMPD,
            _ => op::CMPUD,
        };
        self.a.zi(e, d, p, q, ALL, predicate);
    }

    /// Whether a float is of one of the classes that a constant names: NaNs and infinities.
    fn class(&mut self, id: Id, n: &Node, x: Id, mask: Id) {
        let mask = self.konst(mask).unwrap_or(0);
        // Signalling, quiet, minus and plus infinity, as the meaning numbers them and as the host does.
        let classes = [(0x001, 0x80), (0x002, 0x01), (0x004, 0x10), (0x200, 0x08)];
        let imm = classes.iter().fold(
            0,
            |imm, &(bit, host)| if mask & bit != 0 { imm | host } else { imm },
        );
        if n.ty == Ty::F32 {
            let p = self.zreg(x, 0);
            let d = self.kdefine(id);
            self.a.zi(op::FPCLASSPS, d, 0, Rm::R(p), ALL, imm);
            return;
        }
        let mut halves = [0; 2];
        for part in 0..2 {
            let p = self.wreg(x, part);
            self.hold(p);
            let k = self.ktemp();
            self.k.busy |= 1 << k;
            let e = E {
                w: 1,
                ..op::FPCLASSPS
            };
            self.a.zi(e, k, 0, Rm::R(p), ALL, imm);
            halves[part as usize] = k;
        }
        let d = self.kdefine(id);
        self.a.kunpckbw(d, halves[1], halves[0]);
    }

    fn narrow(&mut self, vop: &VOp, o: Op, n: &Node, x: Id, y: Id, w: Id) {
        let id = vop.id;
        let bits = n.out.bits();
        let float = n.ty == Ty::F32;
        let two = |e: &mut Self, i: E, a: Id, b: Id| -> u8 {
            let p = e.zreg(a, 0);
            e.hold(p);
            let q = e.rm(b);
            e.hold_rm(q);
            let d = e.target(id, &[a, b]);
            e.a.z(i, d, p, q);
            d
        };
        let one = |e: &mut Self, i: E, a: Id| {
            let p = e.rm(a);
            e.hold_rm(p);
            let d = e.define(id, 0);
            e.a.z(i, d, 0, p);
        };
        // Of operations that may change their operands' places the first had better be in a register.
        let (mut p, mut q) = (x, y);
        if matches!(o, Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor)
            && n.arity() == 2
            && !self.z.at.contains_key(&(x, 0))
            && (self.z.at.contains_key(&(y, 0)) || !self.node(x).vec)
            && !vop.neg[0]
        {
            (p, q) = (y, x);
        }
        match o {
            Op::Zext => {
                // A truth value as a number.
                let k = self.kreg(x);
                let d = self.define(id, 0);
                self.a.zk(op::BCASTD, d, 0, Rm::C(1), zero(k));
            }
            Op::Not => {
                let mask = gcn_isa::meaning::width_mask(n.out);
                let p = self.zreg(x, 0);
                self.hold(p);
                let d = self.define(id, 0);
                self.a.z(op::XORD, d, p, Rm::C(mask));
            }
            Op::And => drop(two(self, op::ANDD, p, q)),
            Op::Or => drop(two(self, op::ORD, p, q)),
            Op::Xor => drop(two(self, op::XORD, p, q)),
            Op::Add | Op::Sub if !float => {
                // A truth value as the second operand counts under its mask.
                let b = *self.node(y);
                if b.op == I::Alu(Op::Zext) && b.ty == Ty::Bool && bits == 32 {
                    let k = self.kreg_of_zext(y);
                    let d = self.overwrite(id, x);
                    let e = if o == Op::Add { op::ADDD } else { op::SUBD };
                    self.a.zk(e, d, d, Rm::C(1), keep(k));
                    return;
                }
                let d = two(self, if o == Op::Add { op::ADDD } else { op::SUBD }, p, q);
                self.narrow_to(d, n.out);
            }
            Op::Mul if !float => {
                let d = two(self, op::MULLD, p, q);
                self.narrow_to(d, n.out);
            }
            Op::Add | Op::Sub => {
                let minus = vop.neg[1] != (o == Op::Sub);
                match (vop.neg[0], minus) {
                    (false, false) => drop(two(self, op::ADDPS, p, q)),
                    (false, true) => drop(two(self, op::SUBPS, x, y)),
                    (true, false) => drop(two(self, op::SUBPS, y, x)),
                    (true, true) => {
                        let d = two(self, op::ADDPS, x, y);
                        self.a.z(op::XORD, d, d, Rm::C(0x8000_0000));
                    }
                }
            }
            Op::Mul => drop(two(self, op::MULPS, p, q)),
            Op::Div => drop(two(self, op::DIVPS, x, y)),
            Op::Sqrt => {
                one(self, op::SQRTPS, x);
            }
            Op::Neg if float => {
                let p = self.zreg(x, 0);
                self.hold(p);
                let d = self.define(id, 0);
                self.a.z(op::XORD, d, p, Rm::C(0x8000_0000));
            }
            Op::Abs if float => {
                let p = self.zreg(x, 0);
                self.hold(p);
                let d = self.define(id, 0);
                self.a.z(op::ANDD, d, p, Rm::C(0x7fff_ffff));
            }
            Op::Neg => {
                let p = self.rm(x);
                self.hold_rm(p);
                let t = self.temp();
                self.hold(t);
                self.a.z(op::XORD, t, t, Rm::R(t));
                let d = self.define(id, 0);
                self.a.z(op::SUBD, d, t, p);
            }
            Op::Abs => {
                if n.ty.is_signed() {
                    one(self, op::ABSD, x);
                } else {
                    self.overwrite(id, x);
                }
            }
            Op::Popcount => one(self, op::POPCNTD, x),
            Op::Clz => one(self, op::LZCNTD, x),
            Op::Ctz => {
                // The bits below the lowest 1, counted.
                let p = self.zreg(x, 0);
                self.hold(p);
                let t = self.temp();
                self.hold(t);
                self.a.zi(op::TERND, t, t, Rm::R(t), ALL, 0xff);
                let d = self.define(id, 0);
                self.a.z(op::ADDD, d, p, Rm::R(t));
                self.a.z(
                    E {
                        op: 0xdf,
                        ..op::ANDD
                    },
                    d,
                    p,
                    Rm::R(d),
                );
                self.a.z(op::POPCNTD, d, 0, Rm::R(d));
            }
            Op::Shl | Op::Shr => {
                let signed = n.ty.is_signed();
                if let Some(by) = self.konst(y) {
                    let p = self.zreg(x, 0);
                    self.hold(p);
                    let d = self.target(id, &[x]);
                    let ext = match o {
                        Op::Shl => 6,
                        _ if signed => 4,
                        _ => 2,
                    };
                    let by = if signed && o == Op::Shr {
                        by.min(31)
                    } else {
                        by.min(32)
                    };
                    self.a
                        .evex(op::SHIFTD_I, 2, ext, d, Rm::R(p), ALL, Some(by as u8));
                    if o == Op::Shl {
                        self.narrow_to(d, n.out);
                    }
                } else {
                    let e = match o {
                        Op::Shl => op::SLLVD,
                        _ if signed => op::SRAVD,
                        _ => op::SRLVD,
                    };
                    let d = two(self, e, x, y);
                    if o == Op::Shl {
                        self.narrow_to(d, n.out);
                    }
                }
            }
            Op::MulHi => self.mul_hi(id, n, x, y),
            Op::Min | Op::Max if float => {
                let p = self.zreg(x, 0);
                self.hold(p);
                let q = self.rm(y);
                self.hold_rm(q);
                let d = self.define(id, 0);
                // The sign of the operand that is chosen; -0 is below +0.
                self.a
                    .zi(op::RANGEPS, d, p, q, ALL, 4 | (o == Op::Max) as u8);
            }
            Op::Min | Op::Max => {
                let e = match (o == Op::Min, n.ty.is_signed()) {
                    (true, true) => op::MINSD,
                    (true, false) => op::MINUD,
                    (false, true) => op::MAXSD,
                    (false, false) => op::MAXUD,
                };
                two(self, e, p, q);
            }
            Op::Select => {
                let k = self.kreg(x);
                self.k.busy |= 1 << k;
                let p = self.zreg(w, 0);
                self.hold(p);
                let q = self.rm(y);
                self.hold_rm(q);
                let d = self.target(id, &[w, y]);
                self.a.zk(op::BLENDD, d, p, q, keep(k));
            }
            Op::Fma => self.fma(vop, x, y, w),
            Op::Mad => {
                let p = self.zreg(x, 0);
                self.hold(p);
                let q = self.rm(y);
                self.hold_rm(q);
                let t = self.temp();
                self.hold(t);
                self.a.z(op::MULPS, t, p, q);
                if vop.neg[0] != vop.neg[1] {
                    self.a.z(op::XORD, t, t, Rm::C(0x8000_0000));
                }
                let r = self.rm(w);
                self.hold_rm(r);
                let d = self.define(id, 0);
                self.a
                    .z(if vop.neg[2] { op::SUBPS } else { op::ADDPS }, d, t, r);
            }
            Op::Ldexp => {
                let q = self.rm(y);
                self.hold_rm(q);
                let t = self.temp();
                self.hold(t);
                self.a.z(op::CVTDQ2PS, t, 0, q);
                let p = self.zreg(x, 0);
                self.hold(p);
                let d = self.define(id, 0);
                self.a.z(op::SCALEFPS, d, p, Rm::R(t));
            }
            Op::Floor | Op::Ceil | Op::RoundZero | Op::RoundEven => {
                let imm = 8 | match o {
                    Op::RoundEven => 0,
                    Op::Floor => 1,
                    Op::Ceil => 2,
                    _ => 3,
                };
                let p = self.rm(x);
                self.hold_rm(p);
                let d = self.define(id, 0);
                self.a.zi(op::RNDSCALEPS, d, 0, p, ALL, imm);
            }
            Op::IntToFloat if n.ty.is_signed() => one(self, op::CVTDQ2PS, x),
            Op::IntToFloat => one(self, op::CVTUDQ2PS, x),
            Op::FloatToInt => {
                let p = self.zreg(x, 0);
                self.hold(p);
                let d = self.define(id, 0);
                let k = self.ktemp();
                if n.out.is_signed() {
                    self.a.z(op::CVTTPS2DQ, d, 0, Rm::R(p));
                    self.a.zi(op::CMPPS, k, p, Rm::C(0x4f00_0000), ALL, 0x1d);
                    self.a.zk(op::BCASTD, d, 0, Rm::C(0x7fff_ffff), keep(k));
                    self.a.zi(op::CMPPS, k, p, Rm::R(p), ALL, 7);
                    self.a.zk(op::MOVDQU32, d, 0, Rm::R(d), zero(k));
                } else {
                    // The larger of it and 0; of a NaN the second operand.
                    self.hold(d);
                    let t = self.temp();
                    self.a.z(op::XORD, t, t, Rm::R(t));
                    self.a.z(op::MAXPS, d, p, Rm::R(t));
                    self.a.z(op::CVTTPS2UDQ, d, 0, Rm::R(d));
                }
            }
            _ => self.failed = true,
        }
    }

    /// A register for a result, one of an operand's that dies among them.
    fn target(&mut self, id: Id, sources: &[Id]) -> u8 {
        for &s in sources {
            if self.next_use(s) == u32::MAX
                && let Some(&r) = self.z.at.get(&(s, 0))
                && !self.pinned.iter().any(|p| p.reg == Some(r))
            {
                self.z.at.remove(&(s, 0));
                self.put(id, 0, r);
                return r;
            }
        }
        self.define(id, 0)
    }

    fn narrow_to(&mut self, d: u8, out: Ty) {
        if out.bits() < 32 {
            self.a
                .z(op::ANDD, d, d, Rm::C(gcn_isa::meaning::width_mask(out)));
        }
    }

    fn kreg_of_zext(&mut self, id: Id) -> u8 {
        let k = self.node(id).args[0];
        if let Some(&r) = self.k.at.get(&(k, 0)) {
            return r;
        }
        if self.k.spilled.contains_key(&(k, 0))
            || matches!(self.node(k).op, I::Exec | I::Const(_))
            || !self.node(k).vec
        {
            return self.kreg(k);
        }
        // The mask is gone: made again of the number.
        let p = self.zreg(id, 0);
        let r = self.ktemp();
        self.a.zi(op::CMPUD, r, p, Rm::C(0), ALL, 4);
        r
    }

    fn fma(&mut self, vop: &VOp, x: Id, y: Id, w: Id) {
        // d = x * y + w, over the register of x or of w.
        let nega = vop.neg[0] != vop.neg[1];
        let negc = vop.neg[2];
        let which = match (nega, negc) {
            (false, false) => 0,
            (false, true) => 2,
            (true, false) => 4,
            (true, true) => 6,
        };
        let dies = |e: &Self, id: Id| {
            e.next_use(id) == u32::MAX && e.z.at.contains_key(&(id, 0)) && e.node(id).vec
        };
        let e = E {
            map: 2,
            pp: 1,
            w: 0,
            op: 0,
            n: 64,
        };
        if dies(self, w) || !dies(self, x) && !dies(self, y) {
            let p = self.zreg(x, 0);
            self.hold(p);
            let q = self.rm(y);
            self.hold_rm(q);
            let d = self.overwrite(vop.id, w);
            self.a.z(
                E {
                    op: 0xb8 + which,
                    ..e
                },
                d,
                p,
                q,
            );
        } else {
            let (x, y) = if dies(self, x) { (x, y) } else { (y, x) };
            let q = self.zreg(y, 0);
            self.hold(q);
            let r = self.rm(w);
            self.hold_rm(r);
            let d = self.overwrite(vop.id, x);
            self.a.z(
                E {
                    op: 0xa8 + which,
                    ..e
                },
                d,
                q,
                r,
            );
        }
    }

    fn mul_hi(&mut self, id: Id, n: &Node, x: Id, y: Id) {
        let e = if n.ty.is_signed() {
            op::MULDQ
        } else {
            op::MULUDQ
        };
        let p = self.zreg(x, 0);
        self.hold(p);
        let q = self.zreg(y, 0);
        self.hold(q);
        let d = self.define(id, 0);
        self.hold(d);
        let t = self.temp();
        self.hold(t);
        let u = self.temp();
        // Of even lanes; then of odd ones, moved down.
        self.a.z(e, d, p, Rm::R(q));
        self.a.evex(
            E {
                w: 1,
                op: 0x73,
                ..op::SHIFTD_I
            },
            2,
            2,
            t,
            Rm::R(p),
            ALL,
            Some(32),
        );
        self.a.evex(
            E {
                w: 1,
                op: 0x73,
                ..op::SHIFTD_I
            },
            2,
            2,
            u,
            Rm::R(q),
            ALL,
            Some(32),
        );
        self.a.z(e, t, t, Rm::R(u));
        // The upper halves: of d moved down, of t in place.
        self.a.evex(
            E {
                w: 1,
                op: 0x73,
                ..op::SHIFTD_I
            },
            2,
            2,
            d,
            Rm::R(d),
            ALL,
            Some(32),
        );
        self.a.imm(RAX, 0xaaaa);
        let k = self.ktemp();
        self.a.gpr_to_k(k, RAX);
        self.a.zk(op::MOVDQU32, d, 0, Rm::R(t), keep(k));
    }

    /// Operations with 64 bits a lane on one side or both.
    fn wide(&mut self, vop: &VOp, o: Op, n: &Node) {
        let id = vop.id;
        let [x, y, w] = vop.args;
        let out_wide = n.out.bits() > 32;
        let in_wide = n.ty.bits() > 32;
        if out_wide && in_wide {
            for part in 0..2 {
                self.wide_part(vop, o, n, part);
                self.let_go();
            }
            return;
        }
        if out_wide {
            // 32 bits to 64.
            let e = match (o, n.ty) {
                (Op::FloatToFloat, _) => op::CVTPS2PD,
                (Op::IntToFloat, t) if t.is_signed() => op::CVTDQ2PD,
                (Op::IntToFloat, _) => op::CVTUDQ2PD,
                (Op::Ldexp, _) => op::CVTDQ2PD,
                _ => {
                    self.failed = true;
                    return;
                }
            };
            let p = self.zreg(x, 0);
            self.hold(p);
            let d = self.define(id, 0);
            self.hold(d);
            let u = self.define(id, 1);
            self.a.z(e, d, 0, Rm::R(p));
            self.a.zi(op::EXTRACT256, p, 0, Rm::R(u), ALL, 1);
            self.a.z(e, u, 0, Rm::R(u));
            return;
        }
        let _ = (y, w);
        // 64 bits to 32: each half of the lanes to half a register.
        match o {
            Op::FloatToFloat => {
                let p = self.wreg(x, 0);
                self.hold(p);
                let q = self.wreg(x, 1);
                self.hold(q);
                let d = self.define(id, 0);
                self.hold(d);
                let t = self.temp();
                self.a.z(op::CVTPD2PS, d, 0, Rm::R(p));
                self.a.z(op::CVTPD2PS, t, 0, Rm::R(q));
                self.a.zi(op::INSERT256, d, d, Rm::R(t), ALL, 1);
            }
            Op::FloatToInt => {
                let signed = n.out.is_signed();
                let mut halves = [0; 2];
                for part in 0..2 {
                    let p = self.wreg(x, part);
                    self.hold(p);
                    let t = self.temp();
                    self.hold(t);
                    let u = self.temp();
                    self.hold(u);
                    let k = self.ktemp();
                    if signed {
                        // Confined before, so that only NaN is left.
                        self.bcast_const(u, 0x41df_ffff_ffc0_0000, true);
                        self.a.z(
                            E {
                                op: 0x5d,
                                ..op::ADDPS.pd()
                            },
                            u,
                            u,
                            Rm::R(p),
                        );
                        // min(limit, x): of a NaN x, x.
                        self.a.z(op::CVTTPD2DQ, t, 0, Rm::R(u));
                        self.a.zi(op::CMPPS.pd(), k, p, Rm::R(p), ALL, 7);
                        self.a.evex(op::MOVDQU32, 1, t, 0, Rm::R(t), zero(k), None);
                    } else {
                        self.a.z(op::XORD, u, u, Rm::R(u));
                        self.a.z(op::MAXPS.pd(), u, p, Rm::R(u));
                        self.a.z(op::CVTTPD2UDQ, t, 0, Rm::R(u));
                    }
                    halves[part as usize] = t;
                }
                let d = self.define(id, 0);
                self.a
                    .zi(op::INSERT256, d, halves[0], Rm::R(halves[1]), ALL, 1);
            }
            _ => self.failed = true,
        }
    }

    fn wide_part(&mut self, vop: &VOp, o: Op, n: &Node, part: u8) {
        let id = vop.id;
        let [x, y, w] = vop.args;
        let float = n.ty == Ty::F64;
        let two = |e: &mut Self, i: E, a: Id, b: Id| -> u8 {
            let p = e.wreg(a, part);
            e.hold(p);
            let q = e.wrm(b, part);
            e.hold_rm(q);
            let d = e.define(id, part);
            e.a.z(i, d, p, q);
            d
        };
        match o {
            Op::Add | Op::Sub if float => {
                let minus = vop.neg[1] != (o == Op::Sub);
                match (vop.neg[0], minus) {
                    (false, false) => drop(two(self, op::ADDPS.pd(), x, y)),
                    (false, true) => drop(two(self, op::SUBPS.pd(), x, y)),
                    (true, false) => drop(two(self, op::SUBPS.pd(), y, x)),
                    (true, true) => {
                        let d = two(self, op::ADDPS.pd(), x, y);
                        self.a.z(E { w: 1, ..op::XORD }, d, d, Rm::C(1 << 63));
                    }
                }
            }
            Op::Mul if float => drop(two(self, op::MULPS.pd(), x, y)),
            Op::Mul => {
                let zext = |e: &Self, i: Id| {
                    let n = e.node(i);
                    match n.op {
                        I::Pair => e.konst(n.args[1]) == Some(0),
                        I::Const(v) => v >> 32 == 0,
                        _ => !n.vec && n.out.bits() <= 32,
                    }
                };
                let e = if zext(self, x) && zext(self, y) {
                    op::MULUDQ
                } else {
                    op::MULLQ
                };
                two(self, e, x, y);
            }
            Op::Div => drop(two(self, op::DIVPS.pd(), x, y)),
            Op::Sqrt => {
                let p = self.wrm(x, part);
                self.hold_rm(p);
                let d = self.define(id, part);
                self.a.z(op::SQRTPS.pd(), d, 0, p);
            }
            Op::Neg | Op::Abs if float => {
                let p = self.wreg(x, part);
                self.hold(p);
                let d = self.define(id, part);
                let (e, c) = if o == Op::Neg {
                    (op::XORD, 1 << 63)
                } else {
                    (op::ANDD, u64::MAX >> 1)
                };
                self.a.z(E { w: 1, ..e }, d, p, Rm::C(c));
            }
            Op::Min | Op::Max if float => {
                let p = self.wreg(x, part);
                self.hold(p);
                let q = self.wrm(y, part);
                self.hold_rm(q);
                let d = self.define(id, part);
                self.a
                    .zi(op::RANGEPS.pd(), d, p, q, ALL, 4 | (o == Op::Max) as u8);
            }
            Op::Fma => {
                let nega = vop.neg[0] != vop.neg[1];
                let which = (nega as u8) << 2 | (vop.neg[2] as u8) << 1;
                let p = self.wreg(x, part);
                self.hold(p);
                let q = self.wrm(y, part);
                self.hold_rm(q);
                let r = self.wreg(w, part);
                let key = if self.node(w).vec { (w, part) } else { (w, 2) };
                let d = self.reuse(key, (id, part), r);
                self.a.z(
                    E {
                        map: 2,
                        pp: 1,
                        w: 1,
                        op: 0xb8 + which,
                        n: 64,
                    },
                    d,
                    p,
                    q,
                );
            }
            Op::Ldexp => {
                // The exponent is a 32-bit number: its half of the lanes.
                let q = self.zreg(y, 0);
                self.hold(q);
                let t = self.temp();
                self.hold(t);
                if part == 0 {
                    self.a.z(op::CVTDQ2PD, t, 0, Rm::R(q));
                } else {
                    self.a.zi(op::EXTRACT256, q, 0, Rm::R(t), ALL, 1);
                    self.a.z(op::CVTDQ2PD, t, 0, Rm::R(t));
                }
                let p = self.wreg(x, part);
                self.hold(p);
                let d = self.define(id, part);
                self.a.z(op::SCALEFPS.pd(), d, p, Rm::R(t));
            }
            Op::Floor | Op::Ceil | Op::RoundZero | Op::RoundEven => {
                let imm = 8 | match o {
                    Op::RoundEven => 0,
                    Op::Floor => 1,
                    Op::Ceil => 2,
                    _ => 3,
                };
                let p = self.wrm(x, part);
                self.hold_rm(p);
                let d = self.define(id, part);
                self.a.zi(op::RNDSCALEPD, d, 0, p, ALL, imm);
            }
            Op::Shl | Op::Shr => {
                let e = match o {
                    Op::Shl => op::SLLVQ,
                    _ if n.ty.is_signed() => op::SRAVQ,
                    _ => op::SRLVQ,
                };
                two(self, e, x, y);
            }
            Op::Select => {
                let k = self.kreg(x);
                self.k.busy |= 1 << k;
                let mut k = k;
                if part == 1 {
                    let t = self.ktemp();
                    self.a.kshiftr(t, k, 8);
                    k = t;
                }
                let p = self.wreg(w, part);
                self.hold(p);
                let q = self.wrm(y, part);
                self.hold_rm(q);
                let d = self.define(id, part);
                self.a.zk(op::BLENDQ, d, p, q, keep(k));
            }
            _ => self.failed = true,
        }
    }
}

fn keep_on() -> K {
    keep(K_EXEC)
}

fn vslot_mem(n: u16) -> Mem {
    let n = (n as usize).min(VECTORS - 1);
    mem(CTX, (offset_of!(Ctx, vectors) + 64 * n) as i32)
}

/// Whether an operation reads floats so that it does not matter which NaN one is, nor whether a denormal was flushed.
fn float_reader(o: Op) -> bool {
    matches!(
        o,
        Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Fma
            | Op::Mad
            | Op::Div
            | Op::Sqrt
            | Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge
            | Op::Unord
            | Op::Class
            | Op::FloatToInt
    )
}

/// Whether an operation's result is a float that it computes.
fn makes_float(o: Op) -> bool {
    !matches!(o, Op::Neg | Op::Abs | Op::Select)
}
