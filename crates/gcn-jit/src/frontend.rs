//! From decoded instructions to blocks: straight pieces of code, each a graph of values and what it changes.
//!
//! A block can be re-executed: nothing that it reads is changed before all that can go wrong in it has been looked at.
//! So whatever compiled code does not do itself (a fault, a NaN whose bits the host would choose otherwise) makes it leave
//! the block and the interpreter run it from its first instruction.

mod all_active;
mod analyze;
mod buffer;
mod cross_lane;
mod memory;
mod region;
mod value;
mod wave_helper;

use crate::hash::Map;
use crate::ir::affine::AffineVgprs;
use crate::ir::fast_path;
use crate::ir::print::Dump;
use crate::ir::region::{
    AssumedCompare, Block, Effects, FpEnv, LiveLanes, Region, Store, Terminator, WaveHelper,
    WaveHelperCall,
};
use crate::ir::{Found, Graph, Id, Inst, Unsupported, verify};
use crate::passes::affine;
use analyze::{analyze, liveness};
use gcn_emu::engine::{EntryVgprs, Pattern};
use gcn_emu::fp::{Mode, Round};
use gcn_emu::operands::{Dpp, Modifiers, Opnd, Place, find};
use gcn_isa::access::{FactTable, Facts, File};
use gcn_isa::decode::Insn;
use gcn_isa::flow::Flow;
use gcn_isa::format::{Encoding, Field, Format};
use gcn_isa::meaning::{AtomicOp, Change, Op, Program, Shortcut, Signal, Space, State};
use gcn_isa::operand::{EXEC, M0, Reg, Source, VCC, reg};
use gcn_isa::shape::{Access, Mods, Role, Ty};
use gcn_isa::target::{Gen, Target};
pub use region::region;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of an instruction before it is lowered.
pub(crate) struct InsnInfo {
    insn: Insn,
    flow: Flow,
    vreads: Vec<u16>,
    vwrites: Vec<u16>,
    sreads: u128,
    swrites: u128,
    scc: (bool, bool),
    /// Scalar pairs, EXEC's among them, that it writes, by half their codes; and the set of pairs whose lanes, beside those
    /// that are on, are all that a pair then has, if that is known.
    masks: Vec<(u8, Option<u64>)>,
    /// Reads of VGPRs may be of inactive lanes, and its writes leave something.
    odd: bool,
    everything: bool,
}

/// What is live between two instructions.
#[derive(Clone, PartialEq)]
pub(crate) struct LiveSet {
    v: [LiveLanes; 256],
    s: u128,
    scc: bool,
}

impl LiveSet {
    fn nothing() -> LiveSet {
        LiveSet {
            v: [LiveLanes::No; 256],
            s: 0,
            scc: false,
        }
    }
    fn everything() -> LiveSet {
        LiveSet {
            v: [LiveLanes::All; 256],
            s: !0,
            scc: true,
        }
    }
    fn join(&mut self, other: &LiveSet, sets: &mut analyze::Sets) {
        for (a, b) in self.v.iter_mut().zip(&other.v) {
            if a != b {
                *a = sets.join(*a, *b);
            }
        }
        self.s |= other.s;
        self.scc |= other.scc;
    }
}

/// What a region is made for.
pub struct CompileRequest<'a> {
    pub target: Target,
    pub mode: u32,
    /// VGPRs that the wave has.
    pub vgprs: u16,
    /// All registers matter where the code ends: there is somebody to look at them.
    pub all_live: bool,
    /// All registers are written at the end of every block.
    pub keep_all: bool,
    /// With `Some` the region is for waves that start: they come to its first block, at the entry, with this in v0 to v2,
    /// and to its other blocks by way of the region alone (what the interpreter does of its code for it counts as this), so
    /// what is found out of values before holds behind. With `None` a wave may come to the start of any block from
    /// anywhere at any time ([`Emitted::outside`](crate::target::x64::Emitted::outside)), and nothing is known of its
    /// registers there but what the block itself finds out.
    pub entry: Option<EntryVgprs>,
    /// Values that are affine in the lane are told from others. Where one is none after all, a wave leaves the region for
    /// one that was made without this.
    pub linear: bool,
    /// VGPRs that are linear at the entry, with their steps from lane to lane, beside those of `entry`: for tests.
    pub steps: Vec<(u16, i32)>,
    /// The scalar registers as they are now, from which buffer resources are guessed.
    pub sgprs: [u32; 128],
    pub facts: &'a FactTable,
    /// Takes the blocks as they are made.
    pub dump: Option<&'a Dump>,
    pub fetch: &'a dyn Fn(u64) -> Option<Insn>,
}

/// The most instructions of a block.
const BLOCK_INSNS: u32 = 400;

/// A block being made.
pub(crate) struct Builder<'a> {
    s: &'a CompileRequest<'a>,
    g: Graph,
    start: u64,
    end: u64,
    insns: u32,
    /// The end of the last vector instruction.
    vector_end: u64,
    /// The last instruction.
    last: u64,
    /// It is a jump.
    jumped: bool,
    v: Map<u16, Id>,
    sc: Map<u8, Id>,
    scc: Option<Id>,
    /// Scalar registers whose values are known at the block's start.
    known: Map<u8, u32>,
    /// See [`Block::may_write`].
    may_write: Option<Vec<u16>>,
    store: Option<Store>,
    stores: Vec<Store>,
    /// What is linear where blocks begin, once that has been found out.
    affine: Option<&'a Map<u64, AffineVgprs>>,
    /// Rows that the block has read, and those that it writes at its end.
    row_loads: Vec<(Id, i32)>,
    rows: Vec<(Id, i32, Id)>,
    whole: Option<WaveHelperCall>,
    lane_inserts: Vec<(u16, Id, Id)>,
    /// Their VGPRs.
    inserted_lanes: Vec<u16>,
    loads: bool,
    guards: Vec<Id>,
    fp: Option<FpEnv>,
    /// Scalar registers that the region writes.
    written: u128,
    /// The DPP of the instruction.
    dpp: Option<Dpp>,
    /// Of each value: a scalar that depends on lanes.
    late: Vec<bool>,
    /// All lanes are active throughout: EXEC is a constant.
    full: bool,
    decided: Vec<AssumedCompare>,
}

/// A node's value while an instruction is lowered.
#[derive(Clone, Copy)]
enum Val {
    Id(Id),
    /// A memory address: the value and a constant.
    Address(Id, i32),
    /// The address of the first lane's dword of a row of them, and an offset within the lanes' elements.
    Row(Id, i32),
    /// The table of the node: see [`cross_lane::tables`].
    Table(usize),
    /// What an atomic found, from this bit on.
    Old(u8),
    /// What a guard sees to that nobody needs.
    Never,
    /// A value that nobody asked for yet and that has no code.
    None,
}

/// Why an instruction does not become a part of the block.
pub(crate) enum Refusal {
    /// It can in a new block.
    NewBlock,
    /// The interpreter runs it.
    Interpreter,
}

impl From<Unsupported> for Refusal {
    fn from(_: Unsupported) -> Refusal {
        Refusal::Interpreter
    }
}

/// What an instruction changes.
#[derive(Default)]
pub(crate) struct Changes {
    v: Vec<(u16, Id)>,
    s: Vec<(u8, Id)>,
    scc: Option<Id>,
    jump: Option<(Option<Id>, u64)>,
    signal: Option<Signal>,
    store: Option<Store>,
    /// Stores wait until all lanes have loaded: this one, or those before a load.
    waits: bool,
    /// What goes to another address of LDS after it.
    store2: Option<Store>,
    rows: Vec<(Id, i32, Id)>,
    whole: Option<WaveHelperCall>,
    lane_inserts: Vec<(u16, Id, Id)>,
    /// An address that it jumps to.
    indirect: Option<Id>,
    /// VGPRs that the helper writes.
    helped: Vec<u16>,
    guards: Vec<Id>,
}

impl<'a> Builder<'a> {
    fn new(s: &'a CompileRequest<'a>) -> Builder<'a> {
        Builder {
            s,
            g: Graph {
                nodes: Vec::new(),
                fast_paths: Vec::new(),
                found: Found::default(),
                generation: s.target.generation(),
                mode: s.mode,
            },
            start: 0,
            end: 0,
            insns: 0,
            vector_end: 0,
            last: 0,
            jumped: false,
            v: Map::default(),
            sc: Map::default(),
            scc: None,
            known: Map::default(),
            may_write: Some(Vec::new()),
            store: None,
            stores: Vec::new(),
            affine: None,
            row_loads: Vec::new(),
            rows: Vec::new(),
            whole: None,
            lane_inserts: Vec::new(),
            inserted_lanes: Vec::new(),
            loads: false,
            guards: Vec::new(),
            fp: None,
            written: 0,
            dpp: None,
            late: Vec::new(),
            full: false,
            decided: Vec::new(),
        }
    }

    /// Ends the block.
    fn finish(
        &mut self,
        terminator: Terminator,
        live: &Map<u64, LiveSet>,
        blocks: &mut Vec<Block>,
    ) {
        let everything = LiveSet::everything();
        let after = |pc: u64| live.get(&pc).unwrap_or(&everything);
        let nothing = LiveSet::nothing();
        let ends = matches!(terminator, Terminator::End) && !self.s.all_live;
        let (mut v_after, mut s_after) = (after(self.vector_end), after(self.end));
        if matches!(terminator, Terminator::Branch { .. } | Terminator::Jump(_)) && self.insns > 0 {
            // What is live before a branch is so on both ways from it, and branches change no register.
            let jumps = |pc: u64| self.jumped && pc == self.end;
            if self.jumped {
                s_after = after(self.last);
            }
            if jumps(self.vector_end) {
                v_after = after(self.last);
            }
        }
        if ends {
            (v_after, s_after) = (&nothing, &nothing);
        } else if self.s.keep_all || matches!(terminator, Terminator::Indirect(_) | Terminator::End)
        {
            (v_after, s_after) = (&everything, &everything);
        }
        let mut vgprs: Vec<_> = self
            .v
            .drain()
            .filter(|&(n, id)| self.g.get(id).op != Inst::VIn(n))
            .map(|(n, id)| match v_after.v[n as usize] {
                LiveLanes::Within(_) => (n, id, LiveLanes::All),
                live => (n, id, live),
            })
            .filter(|w| w.2 != LiveLanes::No)
            .collect();
        vgprs.sort_by_key(|w| w.0);
        // What holds its value already.
        let g = &self.g;
        let known = &self.known;
        self.sc.retain(|code, id| {
            known
                .get(code)
                .is_none_or(|&v| g.value_of(*id) != Some(v as u64))
        });
        // What the block behind it, if nothing else leads there, starts from.
        for (&code, &id) in &self.sc {
            match self.g.value_of(id) {
                // One that nobody needs is not written.
                Some(v) if s_after.s >> code & 1 != 0 => self.known.insert(code, v as u32),
                Some(_) => self.known.remove(&code),
                None if self.g.get(id).op == Inst::SIn(code) => None,
                None => self.known.remove(&code),
            };
        }
        // EXEC stands for its register.
        self.known
            .retain(|&code, _| code as u16 != EXEC && code as u16 != EXEC + 1);
        // A wave that comes from outside may have anything there.
        if !matches!(terminator, Terminator::Jump(_)) || self.jumped || self.s.entry.is_none() {
            self.known.clear();
        }
        let mut sgprs: Vec<_> = self
            .sc
            .drain()
            .filter(|&(c, id)| self.g.get(id).op != Inst::SIn(c) && s_after.s >> c & 1 != 0)
            .collect();
        sgprs.sort_by_key(|w| w.0);
        let scc = self
            .scc
            .take()
            .filter(|&id| s_after.scc && self.g.get(id).op != Inst::SccIn);
        let effects = Effects {
            vgprs,
            sgprs,
            scc,
            store: self.store.take(),
            deferred_stores: std::mem::take(&mut self.stores),
            rows: std::mem::take(&mut self.rows),
            wave_helper: self.whole.take(),
            lane_inserts: std::mem::take(&mut self.lane_inserts),
        };
        blocks.push(Block {
            start: self.start,
            end: self.end,
            insns: self.insns,
            graph: std::mem::take(&mut self.g.nodes),
            fast_paths: std::mem::take(&mut self.g.fast_paths),
            effects,
            may_write: self.may_write.replace(Vec::new()),
            guards: std::mem::take(&mut self.guards),
            fp: self.fp.take(),
            terminator,
            affine: Default::default(),
            assumed: Vec::new(),
            replaces: Vec::new(),
            all_active: None,
        });
        self.late.clear();
        self.inserted_lanes.clear();
        self.row_loads.clear();
        self.loads = false;
        self.insns = 0;
        self.start = self.end;
    }

    /// Takes an instruction up, ending blocks before and behind it where it must be so.
    fn step(&mut self, pc: u64, k: &InsnInfo, live: &Map<u64, LiveSet>, blocks: &mut Vec<Block>) {
        let next = pc + k.insn.len as u64;
        let mut tried = self.lower(pc, k);
        if matches!(tried, Err(Refusal::NewBlock)) && self.insns > 0 {
            self.finish(Terminator::Jump(pc), live, blocks);
            tried = self.lower(pc, k);
        }
        let Ok(changes) = tried else {
            if self.insns > 0 {
                self.finish(Terminator::Jump(pc), live, blocks);
            }
            self.start = pc;
            self.end = next;
            self.insns = 1;
            self.vector_end = next;
            self.note_writes(k);
            let jumps = k.flow != Flow::Next || changes_mode(&k.insn);
            let nodes = &gcn_emu::interp::program(&k.insn).nodes;
            let alone = nodes.iter().any(|n| n.op == Op::Turn);
            self.finish(Terminator::Interpret { jumps, alone }, live, blocks);
            return;
        };
        let changes = self.take(changes, pc, next, k);
        if changes.whole.is_some() {
            for n in changes.helped {
                self.v.remove(&n);
            }
            self.whole = changes.whole;
            self.finish(Terminator::Jump(next), live, blocks);
            return;
        }
        if let Some(to) = changes.indirect {
            self.finish(Terminator::Indirect(to), live, blocks);
            return;
        }
        match (changes.jump, changes.signal) {
            (_, Some(Signal::Endpgm)) => self.finish(Terminator::End, live, blocks),
            (_, Some(Signal::Barrier)) => self.finish(Terminator::Barrier, live, blocks),
            (Some((None, to)), _) => self.finish(Terminator::Jump(to), live, blocks),
            (Some((Some(when), to)), _) => {
                let terminator = match self.g.value_of(when) {
                    Some(v) => Terminator::Jump(if v & 1 != 0 { to } else { next }),
                    None => Terminator::Branch {
                        when,
                        taken: to,
                        next,
                    },
                };
                self.finish(terminator, live, blocks);
            }
            _ => {}
        }
    }

    /// Notes which VGPRs an instruction may write.
    fn note_writes(&mut self, k: &InsnInfo) {
        match &mut self.may_write {
            Some(vgprs) if !k.everything => vgprs.extend(&k.vwrites),
            vgprs => *vgprs = None,
        }
    }

    /// Takes what an instruction changes into the block. What ends the block is given back.
    fn take(&mut self, mut changes: Changes, pc: u64, next: u64, k: &InsnInfo) -> Changes {
        for (n, id) in changes.v.drain(..) {
            self.v.insert(n, id);
        }
        for (c, id) in changes.s.drain(..) {
            self.sc.insert(c, id);
        }
        if changes.scc.is_some() {
            self.scc = changes.scc;
        }
        if changes.waits {
            self.stores.extend(self.store.take());
            self.stores.extend(changes.store.take());
            self.stores.extend(changes.store2.take());
        } else if changes.store.is_some() {
            self.store = changes.store.take();
        }
        for row in changes.rows.drain(..) {
            // The last one counts.
            self.rows.retain(|r| (r.0, r.1) != (row.0, row.1));
            self.rows.push(row);
        }
        self.guards.append(&mut changes.guards);
        self.inserted_lanes
            .extend(changes.lane_inserts.iter().map(|p| p.0));
        self.lane_inserts.append(&mut changes.lane_inserts);
        self.note_writes(k);
        self.insns += 1;
        self.end = next;
        self.last = pc;
        self.jumped = changes.jump.is_some();
        if k.insn.row.format.is_vector() || self.insns == 1 {
            self.vector_end = next;
        }
        changes
    }

    fn vgpr(&mut self, n: u16) -> Id {
        let n = if n < self.s.vgprs { n } else { 0 };
        if let Some(&id) = self.v.get(&n) {
            return id;
        }
        let id = self.g.node(Inst::VIn(n), Ty::B32, Ty::B32, true, [0; 3]);
        self.v.insert(n, id);
        id
    }

    fn sgpr(&mut self, code: u16) -> Id {
        if code >= 128 {
            return self.g.constant(Ty::B32, 0);
        }
        if let Some(&id) = self.sc.get(&(code as u8)) {
            return id;
        }
        if let Some(&v) = self.known.get(&(code as u8)) {
            return self.c32(v as u64);
        }
        let id = self
            .g
            .node(Inst::SIn(code as u8), Ty::B32, Ty::B32, false, [0; 3]);
        self.sc.insert(code as u8, id);
        id
    }

    fn sgpr_pair(&mut self, code: u16) -> Id {
        let (lo, hi) = (self.sgpr(code), self.sgpr(code + 1));
        self.g.pair(lo, hi)
    }

    fn scc(&mut self) -> Id {
        match self.scc {
            Some(id) => id,
            None => {
                let id = self.g.node(Inst::SccIn, Ty::Bool, Ty::Bool, false, [0; 3]);
                self.scc = Some(id);
                id
            }
        }
    }

    fn exec(&mut self) -> Id {
        if self.full {
            return self.g.constant(Ty::Bool, 1);
        }
        self.g.node(Inst::Exec, Ty::Bool, Ty::Bool, true, [0; 3])
    }

    fn c32(&mut self, value: u64) -> Id {
        self.g.constant(Ty::B32, value)
    }

    /// Lowers an instruction. Whatever comes of it, only the graph has grown.
    fn lower(&mut self, pc: u64, k: &InsnInfo) -> Result<Changes, Refusal> {
        let nodes = self.g.nodes.len();
        let (v, sc, scc, fp) = (self.v.clone(), self.sc.clone(), self.scc, self.fp);
        let loads = self.loads;
        let row_loads = self.row_loads.len();
        let result = self.try_lower(pc, k);
        if result.is_err() {
            self.g.nodes.truncate(nodes);
            self.late.truncate(nodes);
            (self.v, self.sc, self.scc, self.fp, self.loads) = (v, sc, scc, fp, loads);
            self.row_loads.truncate(row_loads);
        }
        result
    }

    fn try_lower(&mut self, pc: u64, k: &InsnInfo) -> Result<Changes, Refusal> {
        let insn = &k.insn;
        let program = gcn_emu::interp::program(insn);
        if program.untold {
            return Err(Refusal::Interpreter);
        }
        let vector = insn.row.format.is_vector();
        let mods = Modifiers::new(insn);
        let generation = self.s.target.generation();
        if vector {
            if self.s.mode & gcn_emu::wave::mode::GPR_IDX_EN != 0 && generation >= Gen::Gfx8 {
                return Err(Refusal::Interpreter);
            }
            // inactive lanes have what the VGPR was, not what the block has made of the others. (What asks whether the
            // other lane is on, as DPP does, may read what the block has made.)
            let one = program.nodes.iter().any(|n| n.op == Op::ReadLane)
                || (program.effects.iter()).any(|e| matches!(e.change, Change::DstLane(_)));
            let made = |v: &u16| {
                self.v
                    .get(v)
                    .is_some_and(|&id| self.g.get(id).op != Inst::VIn(*v))
            };
            if one && k.vreads.iter().any(made) {
                return Err(Refusal::NewBlock);
            }
            // Lanes that were written one by one are not looked at otherwise.
            let touched = |v: &u16| self.inserted_lanes.contains(v);
            if !(one && insn.row.format.is_valu())
                && (k.vreads.iter().any(touched) || k.vwrites.iter().any(touched))
            {
                return Err(Refusal::NewBlock);
            }
            let exec = |c: u16| {
                self.sc.get(&(c as u8)).is_some_and(|&id| {
                    let on = self.full && self.g.value_of(id) == Some(u32::MAX as u64);
                    !on && self.g.get(id).op != Inst::SIn(c as u8)
                })
            };
            if exec(EXEC) || exec(EXEC + 1) {
                return Err(Refusal::NewBlock);
            }
        }
        if matches!(
            insn.row.format,
            Format::Mtbuf | Format::Mimg | Format::Exp | Format::Vintrp
        ) && !program.nodes.is_empty()
            && program.nodes.iter().any(|n| matches!(n.op, Op::Address))
        {
            return Err(Refusal::Interpreter);
        }
        let to_lds = matches!(
            insn.row.format,
            Format::Flat | Format::Global | Format::Mubuf
        ) && insn.field(Field::Lds) != 0;
        if to_lds || insn.row.format == Format::Ds && insn.field(Field::Gds) != 0 {
            return Err(Refusal::Interpreter);
        }
        let first = self.g.nodes.len();
        let operands: Vec<Opnd> = insn
            .row
            .shape
            .slots
            .iter()
            .map(|slot| Opnd::new(insn, slot))
            .collect();
        let mut out = Changes::default();
        let mut vals: Vec<Val> = Vec::with_capacity(program.nodes.len());
        let groups = groups(program);
        let mut made: Map<usize, Id> = Map::default();
        let short = shortcuts(program);
        let tables = cross_lane::tables(program, insn, generation);
        let needed = needed(program, &tables, short);
        self.dpp = mods.dpp.clone();
        let next = pc + insn.len as u64;
        for (at, node) in fast_path::nodes(program).enumerate() {
            if !needed[at] {
                vals.push(Val::None);
                continue;
            }
            let arg = |k: usize| match vals[node.args[k] as usize] {
                Val::Id(id) => Ok(id),
                _ => Err(Refusal::Interpreter),
            };
            if let Some(Some(table)) = tables.get(at) {
                if table.iter().all(|v| *v == table[0]) {
                    vals.push(Val::Id(self.g.constant(node.out, table[0])));
                } else {
                    vals.push(Val::Table(at));
                }
                continue;
            }
            let table = |k: usize| match vals[node.args[k] as usize] {
                Val::Table(at) => tables[at].as_deref(),
                _ => None,
            };
            let id = match node.op {
                Op::Const(value) => self.g.constant(node.out, value),
                Op::Src(slot) => self.read(&operands[slot as usize], None, vector)?,
                Op::SrcDword(slot, d) => self.read(&operands[slot as usize], Some(d), vector)?,
                Op::SrcHalf(slot, half) => self.read_half(&operands[slot as usize], half)?,
                Op::Field(field) => self.c32(insn.field(field) as u64),
                Op::CodeOf(slot) => {
                    let code = operands[slot as usize].code.unwrap_or(0);
                    self.c32(code as u64)
                }
                Op::Lane if vector => self.g.node(Inst::Lane, Ty::U32, Ty::U32, true, [0; 3]),
                Op::Get(state) => match state {
                    State::Scc => self.scc(),
                    State::Exec => self.sgpr_pair(EXEC),
                    State::Vcc => self.sgpr_pair(VCC),
                    State::M0 => self.sgpr(M0),
                    State::Pc => self.g.constant(Ty::B64, next),
                    _ => return Err(Refusal::Interpreter),
                },
                Op::Address if insn.row.format == Format::Mubuf => {
                    let v = self.buffer(insn, &operands, &mut out)?;
                    vals.push(v);
                    continue;
                }
                Op::Address => {
                    let (id, offset) = self.address(insn, &operands)?;
                    vals.push(Val::Address(id, offset));
                    continue;
                }
                Op::Load(space, offset) => {
                    let lds = |space: Space| space == Space::Lds;
                    let mut before = self.store.iter().chain(&self.stores);
                    if before.any(|s| lds(s.space) == lds(space)) {
                        return Err(Refusal::NewBlock);
                    }
                    if let Some(store) = &self.store {
                        if !self.linear(&[store]) {
                            return Err(Refusal::NewBlock);
                        }
                        out.waits = true;
                    }
                    if let Val::Row(address, plus) = vals[node.args[0] as usize] {
                        if node.out.bits() != 32 {
                            return Err(Refusal::Interpreter);
                        }
                        let at = row_offset(plus + offset).ok_or(Refusal::Interpreter)?;
                        if let Some(row) = self.rows.iter().find(|r| (r.0, r.1) == (address, at)) {
                            vals.push(Val::Id(row.2));
                            continue;
                        }
                        if self.rows.iter().any(|r| r.0 != address) {
                            return Err(Refusal::NewBlock);
                        }
                        self.loads = true;
                        self.row_loads.push((address, at));
                        vals.push(Val::Id(self.g.node(
                            Inst::Row(at),
                            Ty::B32,
                            Ty::B32,
                            true,
                            [address, 0, 0],
                        )));
                        continue;
                    }
                    if !self.rows.is_empty() && space != Space::Lds {
                        return Err(Refusal::NewBlock);
                    }
                    let (address, plus) = match vals[node.args[0] as usize] {
                        Val::Address(id, plus) => (id, plus),
                        Val::Id(id) => (id, 0),
                        _ => return Err(Refusal::Interpreter),
                    };
                    let bytes = (node.out.bits() / 8).max(1) as u8;
                    let (group, part, count, first_offset) = groups[&at];
                    self.loads = true;
                    let id = match made.get(&group) {
                        Some(&id) => id,
                        None => {
                            let offset0 =
                                plus.checked_add(first_offset).ok_or(Refusal::Interpreter)?;
                            let id = {
                                let what = (space, bytes, count);
                                self.load(what, address, offset0, vector, &mut out)?
                            };
                            made.insert(group, id);
                            id
                        }
                    };
                    let _ = offset;
                    self.g
                        .node(Inst::Part(part), Ty::B32, Ty::B32, vector, [id, 0, 0])
                }
                Op::Atomic(space, op) if vector => {
                    let [address, data, second] = node.args.map(|a| vals[a as usize]);
                    let what = (space, op, node.ty);
                    let old = self.atomic(what, address, [data, second], &mut out)?;
                    vals.push(old);
                    continue;
                }
                Op::Trunc if let Val::Old(_) = vals[node.args[0] as usize] => {
                    vals.push(vals[node.args[0] as usize]);
                    continue;
                }
                Op::Shr if let Val::Old(0) = vals[node.args[0] as usize] => {
                    if self.g.value_of(arg(1)?) != Some(32) {
                        return Err(Refusal::Interpreter);
                    }
                    vals.push(Val::Old(32));
                    continue;
                }
                Op::Select => {
                    let cond = arg(0)?;
                    let (b, c) = (vals[node.args[1] as usize], vals[node.args[2] as usize]);
                    let chosen = self
                        .g
                        .value_of(cond)
                        .map(|v| if v & 1 != 0 { b } else { c });
                    match (b, c) {
                        _ if let Some(Val::Id(id)) = chosen => id,
                        (Val::Never, Val::Never) => {
                            vals.push(Val::Never);
                            continue;
                        }
                        (Val::Never, Val::Id(c)) => {
                            out.guards.push(cond);
                            c
                        }
                        (Val::Id(b), Val::Id(c)) => {
                            self.g.alu(Op::Select, node.ty, node.out, [cond, b, c])?
                        }
                        _ => return Err(Refusal::Interpreter),
                    }
                }
                Op::FmaLdexp(_) => {
                    vals.push(Val::Never);
                    continue;
                }
                Op::FirstLane if vector => self.first_lane()?,
                Op::ReadLane if vector => match table(1) {
                    Some(from) => {
                        let value = arg(0)?;
                        self.shuffle(value, from).ok_or(Refusal::Interpreter)?
                    }
                    None => {
                        let (value, lane) = (arg(0)?, arg(1)?);
                        self.read_lane(value, lane, first)?
                    }
                },
                // Whether the lanes of a table are on.
                Op::Shr
                    if let Some(from) = table(1)
                        && program.nodes[node.args[0] as usize].op == Op::Get(State::Exec) =>
                {
                    let (one, zero) = (self.shuffled_exec(from)?, self.c32(0));
                    self.g.pair(one, zero)
                }
                Op::SendLane if vector && node.out.bits() <= 32 => {
                    let (to, value) = (arg(1)?, arg(0)?);
                    let inputs = vec![self.g.lo(to), value];
                    self.helper(WaveHelper::Send { dst: 0 }, inputs, &mut out)?;
                    vals.push(Val::Old(0));
                    continue;
                }
                Op::Vgpr => {
                    let number = arg(0)?;
                    self.vgpr_at(number, node.out.bits() > 32)?
                }
                Op::Sgpr
                | Op::ReadLane
                | Op::SendLane
                | Op::FirstLane
                | Op::Lane
                | Op::Atomic(..)
                | Op::Getreg => {
                    return Err(Refusal::Interpreter);
                }
                op => {
                    let mut args = [0; 3];
                    for (k, a) in args.iter_mut().enumerate().take(op.arity()) {
                        *a = match vals[node.args[k] as usize] {
                            Val::Id(id) => id,
                            Val::Address(id, plus) => self.plus(id, plus)?,
                            _ => return Err(Refusal::Interpreter),
                        };
                    }
                    let float = node.ty.is_float() || node.out.is_float();
                    if node.nearest && float {
                        // It may round otherwise than MODE says.
                        let mode = Mode(self.s.mode);
                        if [mode.env32(), mode.env64()]
                            .iter()
                            .any(|e| e.round != Round::NearestEven)
                        {
                            return Err(Refusal::Interpreter);
                        }
                    }
                    self.float_env(op, node.ty, node.out)?;
                    self.g.alu(op, node.ty, node.out, args)?
                }
            };
            vals.push(Val::Id(id));
        }
        for s in short {
            vals[s.of as usize] = Val::Id(self.shortcut(program, s, &vals, &operands)?);
        }
        let written = match &mods.dpp {
            Some(dpp) => self.dpp_written(dpp)?,
            None => None,
        };
        for effect in &program.effects {
            // Nobody sees exceptions where compiled code runs.
            if matches!(effect.change, Change::Raise(_)) {
                continue;
            }
            let value = vals[effect.value as usize];
            let ty = program.nodes[effect.value as usize].out;
            let when = match effect.when {
                None => written,
                Some(_) if written.is_some() => return Err(Refusal::Interpreter),
                Some(w) => match vals[w as usize] {
                    Val::Id(id) => match self.g.value_of(id) {
                        Some(v) if v & 1 == 0 => continue,
                        Some(_) => None,
                        None => Some(id),
                    },
                    _ => return Err(Refusal::Interpreter),
                },
            };
            let id = || match value {
                Val::Id(id) => Ok(id),
                _ => Err(Refusal::Interpreter),
            };
            match effect.change {
                Change::Dst(slot) | Change::DstDword(slot, _) if let Val::Old(shift) = value => {
                    let dword = match effect.change {
                        Change::DstDword(_, d) => d,
                        _ => 0,
                    };
                    if when.is_some() {
                        return Err(Refusal::Interpreter);
                    }
                    self.give_old(&operands[slot as usize], dword, shift, &mut out)?;
                }
                Change::Dst(slot) | Change::DstDword(slot, _) => {
                    let dword = match effect.change {
                        Change::DstDword(_, d) => Some(d),
                        _ => None,
                    };
                    self.write(
                        &operands[slot as usize],
                        &mods,
                        dword,
                        id()?,
                        ty,
                        when,
                        vector,
                        &mut out,
                    )?;
                }
                Change::DstHalf(slot, half) => {
                    let value = id()?;
                    let o = &operands[slot as usize];
                    self.write_half(o, &mods, half, value, ty, when, &mut out)?;
                }
                Change::DstLane(slot) => {
                    let (Val::Id(lane), Place::Vgpr(n)) =
                        (vals[effect.second as usize], operands[slot as usize].place)
                    else {
                        return Err(Refusal::Interpreter);
                    };
                    let (value, lane, mask) = (id()?, self.g.lo(lane), self.c32(63));
                    let lane = self.g.alu(Op::And, Ty::B32, Ty::B32, [lane, mask, 0])?;
                    if self.g.get(value).vec || self.g.get(lane).vec || when.is_some() {
                        return Err(Refusal::Interpreter);
                    }
                    if n < self.s.vgprs {
                        out.lane_inserts.push((n, lane, value));
                    }
                }
                Change::Vgpr => {
                    let Val::Id(value) = vals[effect.second as usize] else {
                        return Err(Refusal::Interpreter);
                    };
                    let wide = program.nodes[effect.second as usize].out.bits() > 32;
                    if when.is_some() {
                        return Err(Refusal::Interpreter);
                    }
                    self.set_vgpr_at(id()?, value, wide, &mut out)?;
                }
                Change::Set(state) => {
                    if state == State::Pc {
                        let to = match self.g.value_of(id()?) {
                            Some(to) => to,
                            None if when.is_none() && out.jump.is_none() => {
                                out.indirect = Some(id()?);
                                continue;
                            }
                            None => return Err(Refusal::Interpreter),
                        };
                        if out.jump.is_some() {
                            return Err(Refusal::Interpreter);
                        }
                        out.jump = Some((when, to & !3));
                        continue;
                    }
                    let mut v = id()?;
                    if when.is_some() {
                        let code = if state == State::Exec { EXEC } else { VCC };
                        if !matches!(state, State::Exec | State::Vcc) || ty != Ty::Bool {
                            return Err(Refusal::Interpreter);
                        }
                        v = self.kept_mask(v, when, code)?;
                    }
                    match state {
                        State::Scc if !self.g.get(v).vec => out.scc = Some(v),
                        State::Exec | State::Vcc | State::M0 => {
                            if vector && ty == Ty::Bool {
                                v = self.ballot(v)?;
                            } else if self.g.get(v).vec {
                                return Err(Refusal::Interpreter);
                            }
                            let code = match state {
                                State::Exec => EXEC,
                                State::Vcc => VCC,
                                _ => M0,
                            } as u8;
                            let lo = self.g.lo(v);
                            out.s.push((code, lo));
                            if state != State::M0 {
                                let hi = self.g.hi(v);
                                out.s.push((code + 1, hi));
                            }
                        }
                        _ => return Err(Refusal::Interpreter),
                    }
                }
                Change::Store(_, offset) if matches!(value, Val::Row(..)) => {
                    let Val::Row(address, plus) = value else {
                        return Err(Refusal::Interpreter);
                    };
                    let Val::Id(data) = vals[effect.second as usize] else {
                        return Err(Refusal::Interpreter);
                    };
                    if program.nodes[effect.second as usize].out.bits() != 32 || when.is_some() {
                        return Err(Refusal::Interpreter);
                    }
                    let at = row_offset(plus + offset).ok_or(Refusal::Interpreter)?;
                    let read = |r: &(Id, i32)| *r == (address, at) || r.0 != address;
                    let other = |r: &(Id, i32, Id)| r.0 != address;
                    let group = self.loads
                        && self.row_loads.is_empty()
                        && self
                            .g
                            .nodes
                            .iter()
                            .any(|n| matches!(n.op, Inst::Group { .. }));
                    if self.store.is_some()
                        || !self.stores.is_empty()
                        || group
                        || self.row_loads.iter().any(read)
                        || self.rows.iter().any(other)
                    {
                        return Err(Refusal::NewBlock);
                    }
                    out.rows.push((address, at, data));
                }
                Change::Store(space, offset) => {
                    if !self.rows.is_empty() {
                        return Err(Refusal::NewBlock);
                    }
                    out.waits |= self.loads || self.store.is_some() || !self.stores.is_empty();
                    if out.waits && self.affine.is_none() {
                        return Err(Refusal::NewBlock);
                    }
                    if when.is_some() || !vector {
                        return Err(Refusal::Interpreter);
                    }
                    let (address, plus) = match value {
                        Val::Address(id, plus) => (id, plus),
                        Val::Id(id) => (id, 0),
                        _ => return Err(Refusal::Interpreter),
                    };
                    let Val::Id(data) = vals[effect.second as usize] else {
                        return Err(Refusal::Interpreter);
                    };
                    let bits = program.nodes[effect.second as usize].out.bits();
                    if bits > 32 {
                        return Err(Refusal::Interpreter);
                    }
                    let bytes = (bits / 8) as u8;
                    let offset = plus.checked_add(offset).ok_or(Refusal::Interpreter)?;
                    let (lo, hi) = self.place(space, address, &mut out)?;
                    match &mut out.store {
                        None => {
                            out.store = Some(Store {
                                space,
                                lo,
                                hi,
                                offset,
                                bytes,
                                data: vec![data],
                            })
                        }
                        Some(s)
                            if s.lo == lo
                                && s.hi == hi
                                && s.bytes == bytes
                                && s.offset + bytes as i32 * s.data.len() as i32 == offset =>
                        {
                            s.data.push(data);
                        }
                        Some(_) if space == Space::Lds && bytes == 4 => match &mut out.store2 {
                            None => {
                                out.store2 = Some(Store {
                                    space,
                                    lo,
                                    hi,
                                    offset,
                                    bytes,
                                    data: vec![data],
                                })
                            }
                            Some(s) if s.lo == lo => s.data.push(data),
                            Some(_) => return Err(Refusal::Interpreter),
                        },
                        _ => return Err(Refusal::Interpreter),
                    }
                }
                Change::Signal(signal) => match signal {
                    Signal::Nop
                    | Signal::Waitcnt
                    | Signal::Cache
                    | Signal::PerfUp
                    | Signal::PerfDown
                    | Signal::ThreadTrace => {}
                    Signal::Endpgm | Signal::Barrier => out.signal = Some(signal),
                    _ => return Err(Refusal::Interpreter),
                },
                _ => return Err(Refusal::Interpreter),
            }
        }
        if let Some(b) = out.store2.take() {
            self.two_stores(b, &mut out)?;
        }
        if out.waits
            && let Some(store) = &out.store
        {
            let new = [store].into_iter().chain(&out.store2);
            let all: Vec<&Store> = self.store.iter().chain(new).collect();
            if !self.linear(&all) {
                return Err(Refusal::NewBlock);
            }
        }
        // Guards of lanes count where these are on.
        for g in &mut out.guards {
            if self.g.get(*g).vec {
                let exec = self.exec();
                *g = self.g.alu(Op::And, Ty::Bool, Ty::Bool, [*g, exec, 0])?;
            }
        }
        // A vector operation may not depend on what the lanes of this block came to.
        for at in self.late.len()..self.g.nodes.len() {
            let n = &self.g.nodes[at];
            let leaves = match n.op {
                Inst::FastPath(number) => &self.g.fast_paths[number as usize].leaves[..],
                _ => &[],
            };
            let from_late = n
                .inputs()
                .iter()
                .chain(leaves)
                .any(|&i| self.late.get(i as usize).copied().unwrap_or(false));
            // What moves a mask down by the lane's number has no code: the lane's bit is taken from the truth value.
            if n.vec && from_late && n.op != Inst::ShrLane {
                return Err(Refusal::NewBlock);
            }
            self.late.push(from_late || !n.vec && n.op == Inst::Ballot);
        }
        // Nor may what lanes are to hold.
        let late = |&id: &Id| self.late.get(id as usize).copied().unwrap_or(false);
        let mut held: Vec<Id> = out.v.iter().map(|w| w.1).collect();
        held.extend(out.rows.iter().flat_map(|r| [r.0, r.2]));
        for s in out.store.iter().chain(&out.store2) {
            held.extend([s.lo, s.hi]);
            held.extend(&s.data);
        }
        held.extend(out.whole.iter().flat_map(|w| &w.inputs));
        if held.iter().any(late) || out.guards.iter().any(late) {
            return Err(Refusal::NewBlock);
        }
        Ok(out)
    }

    /// Whether the addresses of stores are linear.
    fn linear(&self, stores: &[&Store]) -> bool {
        let facts = self.affine.and_then(|at| at.get(&self.start));
        facts.is_some_and(|facts| affine::stores(&self.g.nodes, facts, stores))
    }

    /// Notes how MXCSR must stand for an operation.
    fn float_env(&mut self, op: Op, ty: Ty, out: Ty) -> Result<(), Refusal> {
        let mode = Mode(self.s.mode);
        let of = |ty: Ty| match ty {
            Ty::F32 => Some(mode.env32()),
            Ty::F64 => Some(mode.env64()),
            _ => None,
        };
        let key = match op {
            Op::Neg | Op::Abs | Op::Select | Op::Unord | Op::Class | Op::FloatToInt => {
                return Ok(());
            }
            _ if ty == Ty::F16 && (out.is_float() && out != Ty::F16 || out == Ty::Bool) => {
                return Ok(());
            }
            // f16 goes through f32, where no number is a denormal: only the rounding counts.
            _ if ty == Ty::F16 || out == Ty::F16 && ty != Ty::F32 => {
                let round = mode.env16().round as u8;
                if self.fp.is_some_and(|have| have.round == round) {
                    return Ok(());
                }
                Some(FpEnv::of(&mode.env32()).rounding(mode.env16().round))
            }
            Op::FloatToFloat if out == Ty::F16 => {
                Some(FpEnv::of(&mode.env32()).rounding(mode.env16().round))
            }
            Op::Mad => of(ty).map(|e| FpEnv::of(&e.flushing())),
            Op::FloatToFloat => {
                // Operands of the one type, results of the other. Code flushes the results, so that the key is that of
                // the operands' other operations; but the host must not flush what is kept.
                of(ty).zip(of(out)).map(|(a, b)| FpEnv {
                    ftz: a.flush_out && (b.flush_out || ty == Ty::F32),
                    ..FpEnv::of(&a).rounding(b.round)
                })
            }
            Op::IntToFloat => of(out).map(|e| FpEnv::of(&e)),
            Op::Min | Op::Max if ty.is_float() => {
                let Some(e) = of(ty) else {
                    return Err(Refusal::Interpreter);
                };
                if !e.ieee || (e.flush_in || e.flush_out) && self.s.target.generation() < Gen::Gfx9
                {
                    return Err(Refusal::Interpreter);
                }
                Some(FpEnv::of(&e))
            }
            _ => of(ty).map(|e| FpEnv::of(&e)),
        };
        let Some(key) = key else { return Ok(()) };
        match self.fp {
            Some(have) if have != key => Err(Refusal::NewBlock),
            _ => {
                self.fp = Some(key);
                Ok(())
            }
        }
    }

    /// The value that a shortcut is to, by the fast path.
    fn shortcut(
        &mut self,
        program: &'static Program,
        s: &Shortcut,
        vals: &[Val],
        operands: &[Opnd],
    ) -> Result<Id, Refusal> {
        let value = |at: u16| match vals[at as usize] {
            Val::Id(id) => Ok(id),
            _ => Err(Refusal::Interpreter),
        };
        let (when, short) = (value(s.when)?, value(s.short)?);
        let (slots, vcc) = fast_path::begins(program, s.of).ok_or(Refusal::Interpreter)?;
        let mut sources = Vec::with_capacity(slots.len());
        for slot in slots {
            let read = program.nodes.iter().position(|n| n.op == Op::Src(slot));
            let id = match read.map(|at| vals[at]) {
                Some(Val::Id(id)) => id,
                _ => self.read(&operands[slot as usize], None, true)?,
            };
            sources.push((slot, id));
        }
        let vcc = match vcc {
            true => {
                let pair = self.sgpr_pair(VCC);
                Some(self.g.mask_of(pair))
            }
            false => None,
        };
        let out = program.nodes[s.of as usize].out;
        let id = self
            .g
            .shortcut(program, s.of, &sources, vcc, when, short, out, s.normal)
            .ok_or(Refusal::Interpreter)?;
        Ok(self.g.division(id).unwrap_or(id))
    }

    fn plus(&mut self, id: Id, by: i32) -> Result<Id, Refusal> {
        let c = self.g.constant(Ty::B64, by as i64 as u64);
        Ok(self.g.alu(Op::Add, Ty::U64, Ty::U64, [id, c, 0])?)
    }

    /// The lanes' truth values, of those that are on, as a scalar.
    fn ballot(&mut self, id: Id) -> Result<Id, Refusal> {
        let exec = self.exec();
        let id = if self.g.get(id).vec {
            id
        } else {
            return self.uniform_ballot(id);
        };
        let k = self.g.alu(Op::And, Ty::Bool, Ty::Bool, [id, exec, 0])?;
        Ok(self
            .g
            .node(Inst::Ballot, Ty::Bool, Ty::B64, false, [k, 0, 0]))
    }

    /// The same of a truth value that all lanes share.
    fn uniform_ballot(&mut self, id: Id) -> Result<Id, Refusal> {
        let exec = self.sgpr_pair(EXEC);
        let zero = self.g.constant(Ty::B64, 0);
        Ok(self.g.alu(Op::Select, Ty::B64, Ty::B64, [id, exec, zero])?)
    }
}

/// Whether an instruction may change what a region is made for.
fn changes_mode(insn: &Insn) -> bool {
    changes(insn, true)
}

/// The same, jumps counted or not.
fn changes(insn: &Insn, jumps: bool) -> bool {
    let program = gcn_emu::interp::program(insn);
    program.untold
        || program.effects.iter().any(|e| {
            jumps && matches!(e.change, Change::Set(State::Pc))
                || matches!(
                    e.change,
                    Change::Setreg
                        | Change::Set(
                            State::Vskip | State::GprIdxEn | State::Csp | State::Halt | State::Kill
                        )
                )
        })
}

/// Where the dword at an offset within lanes' elements is in the rows of 64 lanes.
fn row_offset(offset: i32) -> Option<i32> {
    (offset % 4 == 0).then_some(offset.checked_mul(64)?)
}

/// The shift and bits of an SDWA selection.
fn selection(sel: u8) -> (u32, u32) {
    match sel {
        0..=3 => (8 * sel as u32, 8),
        4 | 5 => (16 * (sel as u32 - 4), 16),
        _ => (0, 32),
    }
}

/// The shortcuts that are taken: those to what an effect gives, where no other value is made of it.
fn shortcuts(program: &Program) -> &[Shortcut] {
    let inside = |of: u16| {
        program.nodes.iter().any(|n| {
            let args = &n.args[..n.op.arity()];
            args.contains(&of)
        })
    };
    if program.shortcuts.iter().any(|s| inside(s.of)) {
        return &[];
    }
    &program.shortcuts
}

/// The nodes that effects depend on.
fn needed(
    program: &Program,
    tables: &[Option<cross_lane::Table>],
    short: &[Shortcut],
) -> Vec<bool> {
    let all: Vec<_> = fast_path::nodes(program).collect();
    let mut needed = vec![false; all.len()];
    let stores = |c: &Change| {
        matches!(
            c,
            Change::Store(..)
                | Change::Vgpr
                | Change::Sgpr
                | Change::SgprPair
                | Change::Setreg
                | Change::DstLane(_)
        )
    };
    for e in &program.effects {
        if matches!(e.change, Change::Raise(_)) {
            continue;
        }
        match short.iter().find(|s| s.of == e.value) {
            Some(s) => {
                needed[s.when as usize] = true;
                needed[s.short as usize] = true;
            }
            None => needed[e.value as usize] = true,
        }
        if stores(&e.change) {
            needed[e.second as usize] = true;
        }
        if let Some(w) = e.when {
            needed[w as usize] = true;
        }
    }
    for at in (0..needed.len()).rev() {
        let node = all[at];
        needed[at] |= node.op.acts() || matches!(node.op, Op::Load(..));
        let known = |node: u16| tables.get(node as usize).and_then(|t| t.as_deref());
        if needed[at]
            && node.op == Op::Select
            && let Some(t) = known(node.args[0])
            && t.iter().all(|v| *v == t[0])
        {
            needed[node.args[0] as usize] = true;
            needed[node.args[if t[0] != 0 { 1 } else { 2 }] as usize] = true;
        } else if needed[at] {
            for &a in &node.args[..node.op.arity()] {
                needed[a as usize] = true;
            }
        }
    }
    needed
}

/// Of each load: its group, its place in it, the group's size and first offset. A group is what lies side by side.
fn groups(program: &Program) -> Map<usize, (usize, u8, u8, i32)> {
    let mut out: Map<usize, (usize, u8, u8, i32)> = Map::default();
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for (at, n) in program.nodes.iter().enumerate() {
        let Op::Load(space, offset) = n.op else {
            continue;
        };
        let bytes = (n.out.bits() / 8) as i32;
        let run = runs.iter_mut().find(|run| {
            let first = &program.nodes[run[0]];
            let Op::Load(s, o) = first.op else {
                return false;
            };
            s == space
                && first.args[0] == n.args[0]
                && first.out.bits() == n.out.bits()
                && o + bytes * run.len() as i32 == offset
        });
        match run {
            Some(run) => run.push(at),
            None => runs.push(vec![at]),
        }
    }
    for run in &runs {
        let Op::Load(_, first) = program.nodes[run[0]].op else {
            continue;
        };
        for (part, &at) in run.iter().enumerate() {
            out.insert(at, (run[0], part as u8, run.len() as u8, first));
        }
    }
    out
}

/// The rounding of MXCSR for that of MODE.
pub fn mxcsr(key: FpEnv) -> u32 {
    let rc = match Round::from_field(key.round as u32) {
        Round::NearestEven => 0,
        Round::MinusInf => 1,
        Round::PlusInf => 2,
        Round::Zero => 3,
    };
    0x1f80 | rc << 13 | (key.daz as u32) << 6 | (key.ftz as u32) << 15
}

const _: fn(&Insn) -> bool = |i| i.encoding == Encoding::Vop3p;
