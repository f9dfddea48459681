//! The registers that instructions read and write, and the live registers before each instruction.

use super::*;

pub(super) fn bit(code: u16) -> u128 {
    if code < 128 { 1 << code } else { 0 }
}

/// Analyzes the reads and writes of an instruction.
pub(super) fn analyze(insn: Insn, s: &CompileRequest<'_>) -> InsnInfo {
    let info = instruction_info(&insn);
    let parts = Parts::of(&insn);
    let flow = info.flow(&insn);
    let mut k = InsnInfo {
        insn,
        mode: s.mode,
        sets_mode: None,
        len: insn.len as u64,
        count: 1,
        sequence: Vec::new(),
        indexed: 0,
        may_write: 0..0,
        flow,
        vreads: Vec::new(),
        vwrites: Vec::new(),
        sreads: 0,
        swrites: 0,
        scc: (false, false),
        masks: Vec::new(),
        touches_inactive: touches_inactive(&insn, &parts, s),
        // A change of MODE may need other compiled code after it.
        unknown_effects: indexed(&insn, s) || changes(&insn, false),
        polls: polls(&insn),
        parts,
    };
    // With DPP, masks keep the bits of lanes without a source.
    let mixed = k.parts.mods.dpp.is_some();
    let mut written = 0;
    for a in info.accesses(&insn) {
        let range = a.first..a.first + a.count as u16;
        match a.file {
            // Register 0 is read if there is no register with the number.
            File::Vector if a.anywhere && a.write => k.may_write = 0..s.vgprs,
            File::Vector if a.anywhere => k.vreads.extend(0..s.vgprs),
            _ if a.anywhere => k.unknown_effects = true,
            // For a VGPR that the wave does not have, v0 is read, and nothing is written.
            File::Vector if a.write => k.vwrites.extend(range.filter(|&r| r < s.vgprs)),
            File::Vector => k
                .vreads
                .extend(range.map(|r| if r < s.vgprs { r } else { 0 })),
            File::Scalar => {
                let bits = range.fold(0, |bits, r| bits | bit(r));
                if !a.write {
                    k.sreads |= bits;
                } else {
                    written |= bits;
                    if mixed {
                        k.sreads |= bits;
                    } else if !a.partial {
                        k.swrites |= bits;
                    }
                }
            }
            File::Scc if a.write => k.scc.1 |= !a.partial,
            File::Scc => k.scc.0 = true,
            File::Hwreg => {}
        }
    }
    if k.insn.row.format.is_vector() {
        k.sreads |= bit(EXEC) | bit(EXEC + 1);
    }
    if keeps_part(&k) {
        // The kept parts of destinations are read in the active lanes.
        k.vreads.extend(&k.vwrites);
    }
    k.masks = masks(&insn, &k.parts, written);
    k
}

/// Returns true if MODE adds M0 to the VGPR numbers of an instruction.
fn indexed(insn: &Insn, s: &CompileRequest<'_>) -> bool {
    s.mode & gcn_emu::wave::mode::GPR_IDX_EN != 0
        && s.target.generation() >= Gen::Gfx8
        && gcn_isa::access::may_be_indexed(insn)
}

/// Returns true if an instruction keeps a part of its destination VGPR.
fn keeps_part(k: &InsnInfo) -> bool {
    let mods = &k.parts.mods;
    let slots = k.insn.row.shape.slots.iter();
    slots.zip(&k.parts.operands).any(|(slot, o)| {
        slot.access != Access::Read && {
            matches!(o.location, OperandLocation::Vgpr(_))
                && (o.sel != 6 && mods.unused == 2
                    || slot.ty.bits() == 16 && (o.high || mods.keeps_upper))
        }
    })
}

/// Returns true if an instruction may read inactive lanes of VGPRs, or may leave some active lanes of its destination unchanged.
fn touches_inactive(insn: &Insn, parts: &Parts, s: &CompileRequest<'_>) -> bool {
    let program = parts.row.program;
    if parts.mods.dpp.is_some() || s.mode & gcn_emu::wave::mode::GPR_IDX_EN != 0 {
        return true;
    }
    let valu = insn.row.format.is_valu();
    let crosses = program.nodes.iter().any(|n| match n.op {
        Op::ReadLane | Op::SendLane | Op::FirstLane => true,
        Op::Vgpr => !valu,
        _ => false,
    });
    let leaves = program.effects.iter().any(|e| {
        let decided = e
            .when
            .map_or(Some(1), |w| modes::constant(insn, program, w));
        let lanes = match e.change {
            Change::DstLane(_) => true,
            Change::Vgpr => !valu,
            _ => false,
        };
        decided.is_none() || lanes && decided != Some(0)
    });
    crosses || leaves
}

/// Returns the pairs that an instruction writes, and the lanes that they can have afterwards ([`InsnInfo::masks`]).
fn masks(insn: &Insn, parts: &Parts, written: u128) -> Vec<(u8, Option<u64>)> {
    fn within(p: &Program, node: u16, of: &dyn Fn(u8) -> Option<u64>) -> Option<u64> {
        let n = &p.nodes[node as usize];
        let arg = |k: usize| within(p, n.args[k], of);
        match n.op {
            Op::Get(State::Exec) => Some(0),
            Op::Get(State::Vcc) => Some(1 << (VCC / 2)),
            Op::Src(slot) => of(slot),
            Op::And => match (arg(0), arg(1)) {
                (Some(a), Some(b)) => Some(if a.count_ones() < b.count_ones() {
                    a
                } else {
                    b
                }),
                (a, b) => a.or(b),
            },
            Op::Or | Op::Xor => Some(arg(0)? | arg(1)?),
            _ => None,
        }
    }
    let program = parts.row.program;
    let operand = |slot: u8| &parts.operands[slot as usize];
    let source = |slot: u8| {
        let o = operand(slot);
        match o.location {
            OperandLocation::Scalar(EXEC) if o.ty.bits() == 64 => Some(0),
            OperandLocation::Scalar(code) if o.ty.bits() == 64 && code % 2 == 0 => {
                Some(1 << (code / 2))
            }
            OperandLocation::Const(0) => Some(0),
            _ => None,
        }
    };
    let pairs = (0..64u8).filter(|&pair| written >> (2 * pair) & 3 != 0);
    let mut out: Vec<(u8, Option<u64>)> = pairs.map(|pair| (pair, None)).collect();
    for (pair, lanes) in &mut out {
        let code = 2 * *pair as u16;
        let mut writes = program.effects.iter().filter_map(|e| match e.change {
            Change::Set(State::Exec) => (code == EXEC).then_some((e, true)),
            Change::Set(State::Vcc) => (code == VCC).then_some((e, true)),
            Change::Dst(slot) | Change::DstDword(slot, _) => {
                let o = operand(slot);
                let OperandLocation::Scalar(first) = o.location else {
                    return None;
                };
                let whole = first == code
                    && matches!(e.change, Change::Dst(_))
                    && matches!(o.ty.bits(), 64);
                let dwords = o.ty.dwords().max(1) as u16;
                (first < code + 2 && code < first + dwords).then_some((e, whole))
            }
            Change::Sgpr | Change::SgprPair | Change::Setreg => Some((e, false)),
            _ => None,
        });
        let (Some((e, true)), None) = (writes.next(), writes.next()) else {
            continue;
        };
        let ty = program.nodes[e.value as usize].out;
        *lanes = match e.when {
            Some(_) => None,
            // A compare sets bits of active lanes only.
            None if insn.row.format.is_vector() && ty == Ty::Bool => Some(0),
            None if ty.bits() == 64 => within(program, e.value, &source),
            None => None,
        };
    }
    out
}

/// The sets of scalar pairs, which [`LiveLanes::Within`] refers to by number. The bit of a pair is half its code.
#[derive(Default)]
pub(super) struct Sets(Vec<u64>);

impl Sets {
    fn within(&mut self, pairs: u64) -> LiveLanes {
        if pairs == 0 {
            return LiveLanes::Active;
        }
        if let Some(at) = self.0.iter().position(|&p| p == pairs) {
            return LiveLanes::Within(at as u8);
        }
        if self.0.len() > u8::MAX as usize {
            return LiveLanes::All;
        }
        self.0.push(pairs);
        LiveLanes::Within(self.0.len() as u8 - 1)
    }

    pub(super) fn join(&mut self, a: LiveLanes, b: LiveLanes) -> LiveLanes {
        match (a, b) {
            (LiveLanes::Within(a), LiveLanes::Within(b)) => {
                let pairs = self.0[a as usize] | self.0[b as usize];
                self.within(pairs)
            }
            _ => a.max(b),
        }
    }

    /// Returns the pairs of scalar registers that live lanes depend on.
    fn pairs(&self, live: LiveLanes) -> u64 {
        match live {
            LiveLanes::Within(n) => self.0[n as usize],
            LiveLanes::No | LiveLanes::Active | LiveLanes::All => 0,
        }
    }

    /// Returns the lanes that are live before an instruction, from the lanes that are live after it.
    fn before(&mut self, k: &InsnInfo, live: LiveLanes) -> LiveLanes {
        let mut pairs = match live {
            LiveLanes::Active => 0,
            LiveLanes::Within(n) => self.0[n as usize],
            LiveLanes::No | LiveLanes::All => return live,
        };
        // The pair of EXEC itself is replaced last.
        let mut lanes = 0;
        pairs |= 1 << (EXEC / 2);
        while pairs != 0 {
            let pair = pairs.trailing_zeros() as u8;
            pairs &= pairs - 1;
            lanes |= match k.masks.iter().find(|m| m.0 == pair) {
                Some((_, Some(of))) => *of,
                Some((_, None)) => return LiveLanes::All,
                None => 1 << pair,
            };
        }
        self.within(lanes & !(1 << (EXEC / 2)))
    }
}

/// An instruction as [`liveness`] visits it. Each address that is reached other than by falling through has a set of live
/// registers, which is kept between rounds. The fields are numbers of these sets.
struct Visited<'a> {
    pc: u64,
    k: &'a InsnInfo,
    /// The set of the instruction's address.
    own: Option<u32>,
    /// The set of the following address, if the instruction there was not visited just before.
    next: Option<u32>,
    target: Option<u32>,
}

/// Returns the live registers before each instruction.
pub(super) fn liveness(known: &BTreeMap<u64, InsnInfo>, s: &CompileRequest<'_>) -> LiveSets {
    let mut joins: Map<u64, u32> = Map::default();
    let mut lives: Vec<LiveSet> = Vec::new();
    let mut join = |pc: u64| {
        *joins.entry(pc).or_insert_with(|| {
            lives.push(match known.contains_key(&pc) {
                true => LiveSet::none(s),
                false => LiveSet::all(s),
            });
            lives.len() as u32 - 1
        })
    };
    let mut code = Vec::with_capacity(known.len());
    let mut begins = None;
    for (&pc, k) in known.iter().rev() {
        let next = pc + k.len;
        code.push(Visited {
            pc,
            k,
            own: None,
            next: (begins != Some(next)).then(|| join(next)),
            target: k.flow.target(pc, &k.insn).map(&mut join),
        });
        begins = Some(pc);
    }
    for visited in &mut code {
        visited.own = joins.get(&visited.pc).copied();
    }
    let mut sets = Sets::default();
    // Stretches of code that end where a set is kept are visited until no set changes that they begin with or jump to.
    let stretches: Vec<&[Visited<'_>]> = code.split_inclusive(|v| v.own.is_some()).collect();
    let mut changes = vec![1u32; lives.len()];
    let mut visits = vec![0u32; stretches.len()];
    let mut now = 1;
    let bounds = Bounds {
        all: LiveSet::all(s),
        after_end: if s.all_live {
            LiveSet::all(s)
        } else {
            LiveSet::none(s)
        },
    };
    let mut live = LiveSet::none(s);
    loop {
        let mut changed = false;
        let mut begins = None;
        for (stretch, visit) in stretches.iter().zip(&mut visits) {
            let inputs = stretch.iter().flat_map(|v| [v.next, v.target]);
            let mut inputs = inputs.chain([begins]).flatten();
            let own = stretch.last().and_then(|v| v.own);
            if *visit == 0 || inputs.any(|at| changes[at as usize] > *visit) {
                now += 1;
                *visit = now;
                if let Some(at) = begins {
                    live.clone_from(&lives[at as usize]);
                }
                if backwards(
                    stretch,
                    &mut live,
                    &mut lives,
                    &mut sets,
                    &bounds,
                    |_, _| {},
                ) && let Some(own) = own
                {
                    now += 1;
                    changes[own as usize] = now;
                    changed = true;
                }
            }
            begins = own;
        }
        if !changed {
            break;
        }
    }
    let mut all = LiveSets::with_capacity(known.len(), live.v.len());
    backwards(
        &code,
        &mut live,
        &mut lives,
        &mut sets,
        &bounds,
        |pc, live| {
            all.add(pc, live);
        },
    );
    all
}

/// Sets that need no analysis.
struct Bounds {
    all: LiveSet,
    /// What is live after s_endpgm.
    after_end: LiveSet,
}

/// Visits code once from its end, after which `a` is live, and passes the live registers before each instruction to `before`. Returns true if
/// sets have changed.
fn backwards(
    code: &[Visited<'_>],
    a: &mut LiveSet,
    lives: &mut [LiveSet],
    sets: &mut Sets,
    bounds: &Bounds,
    mut before: impl FnMut(u64, &LiveSet),
) -> bool {
    let mut changed = false;
    for visited in code {
        let k = visited.k;
        if let Some(next) = visited.next {
            a.clone_from(&lives[next as usize]);
        }
        let mut leaves = k.unknown_effects;
        match k.flow {
            Flow::Next => {}
            // What is live where it jumps to is not known.
            Flow::Branch { links: true, .. } | Flow::Indirect { .. } => leaves = true,
            Flow::Trap => a.clone_from(&bounds.all),
            Flow::Branch { .. } => {
                let target = visited.target.map(|to| &lives[to as usize]);
                match (target, k.flow.falls_through()) {
                    (Some(live), true) => a.join(live, sets),
                    (Some(live), false) => a.clone_from(live),
                    (None, _) => {}
                }
            }
            Flow::End => a.clone_from(&bounds.after_end),
        }
        if leaves {
            a.clone_from(&bounds.all);
        } else {
            back(k, a, sets);
        }
        if let Some(own) = visited.own {
            changed |= lives[own as usize].become_equal(a);
        }
        before(visited.pc, a);
    }
    changed
}

/// Changes the registers that are live after an instruction to the registers that are live before it.
fn back(k: &InsnInfo, a: &mut LiveSet, sets: &mut Sets) {
    let of_masks = a.pairs | 1 << (EXEC / 2);
    if k.masks.iter().any(|&(pair, _)| of_masks >> pair & 1 != 0) {
        // Most VGPRs have the same live lanes, so the last result is cached.
        let mut last = (LiveLanes::No, LiveLanes::No);
        a.pairs = 0;
        for v in &mut a.v {
            if *v != last.0 {
                last = (*v, sets.before(k, *v));
                a.pairs |= sets.pairs(last.1);
            }
            *v = last.1;
        }
    }
    if !k.touches_inactive {
        for &w in &k.vwrites {
            let v = &mut a.v[w as usize];
            if *v == LiveLanes::Active {
                *v = LiveLanes::No;
            }
        }
    }
    a.s &= !k.swrites;
    if k.scc.1 {
        a.scc = false;
    }
    let how = if k.touches_inactive {
        LiveLanes::All
    } else {
        LiveLanes::Active
    };
    for &r in &k.vreads {
        let v = &mut a.v[r as usize];
        *v = (*v).max(how);
    }
    if k.touches_inactive {
        for &w in &k.vwrites {
            a.v[w as usize] = LiveLanes::All;
        }
    }
    a.s |= k.sreads;
    a.scc |= k.scc.0;
}
