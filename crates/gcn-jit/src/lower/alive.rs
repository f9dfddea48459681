//! What instructions read and write, and what is alive before each.

use super::*;

pub(super) fn bit(code: u16) -> u128 {
    if code < 128 { 1 << code } else { 0 }
}

/// What an instruction reads and writes.
pub(super) fn know(insn: Insn, s: &Setting<'_>) -> Known {
    let facts: &Facts = s.facts.of(&insn);
    let program = gcn_emu::interp::program(&insn);
    let flow = facts.flow(&insn);
    let mut k = Known {
        insn,
        flow,
        vreads: Vec::new(),
        vwrites: Vec::new(),
        sreads: 0,
        swrites: 0,
        scc: (false, false),
        exec: ExecChange::None,
        odd: odd(&insn, program, s),
        // Where MODE may change, so may what the code behind is.
        everything: program.untold
            || changes_mode(&insn) && !matches!(flow, Flow::Branch { links: false, .. }),
    };
    // DPP leaves the bits of lanes without a source in masks.
    let mixed = Modifiers::new(&insn).dpp.is_some();
    for a in facts.accesses(&insn) {
        let range = a.first..a.first + a.count as u16;
        if a.anywhere {
            k.everything = true;
        }
        match a.file {
            File::Vector => {
                let list = if a.write {
                    &mut k.vwrites
                } else {
                    &mut k.vreads
                };
                list.extend(range.map(|r| if r < s.vgprs { r } else { 0 }));
            }
            File::Scalar => {
                let bits = range.fold(0, |bits, r| bits | bit(r));
                if !a.write {
                    k.sreads |= bits;
                } else {
                    if bits & (bit(EXEC) | bit(EXEC + 1)) != 0 {
                        k.exec = exec_change(&insn, program);
                    }
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
    k
}

/// Whether an instruction looks at VGPRs' lanes that are off, or leaves some of what its destination was.
pub(super) fn odd(insn: &Insn, program: &Program, s: &Setting<'_>) -> bool {
    let mods = Modifiers::new(insn);
    if mods.dpp.is_some() || s.mode & gcn_emu::wave::mode::GPR_IDX_EN != 0 {
        return true;
    }
    let crosses = program
        .nodes
        .iter()
        .any(|n| matches!(n.op, Op::ReadLane | Op::SendLane | Op::Vgpr | Op::FirstLane));
    let leaves = program
        .effects
        .iter()
        .any(|e| e.when.is_some() || matches!(e.change, Change::DstLane(_) | Change::Vgpr));
    let parts = insn.row.shape.slots.iter().any(|slot| {
        slot.access != Access::Read && {
            let o = Opnd::new(insn, slot);
            matches!(o.place, Place::Vgpr(_))
                && (o.sel != 6 && mods.unused == 2
                    || slot.ty.bits() == 16 && (o.high || mods.keeps_upper))
        }
    });
    crosses || leaves || parts
}

/// Whether an instruction only turns lanes off.
pub(super) fn exec_change(insn: &Insn, program: &Program) -> ExecChange {
    let is_exec = |slot: u8| {
        let o = Opnd::new(insn, &insn.row.shape.slots[slot as usize]);
        o.place == Place::Scalar(EXEC) && o.ty.bits() == 64
    };
    fn narrow(p: &Program, node: u16, is_exec: &dyn Fn(u8) -> bool) -> bool {
        let n = &p.nodes[node as usize];
        match n.op {
            Op::Get(State::Exec) => true,
            Op::Src(slot) => is_exec(slot),
            Op::And => narrow(p, n.args[0], is_exec) || narrow(p, n.args[1], is_exec),
            _ => false,
        }
    }
    let vector = insn.row.format.is_vector();
    for e in &program.effects {
        let hits = match e.change {
            Change::Set(State::Exec) => true,
            Change::Dst(slot) | Change::DstDword(slot, _) => {
                let o = Opnd::new(insn, &insn.row.shape.slots[slot as usize]);
                matches!(o.place, Place::Scalar(c) if c + o.ty.dwords() as u16 > EXEC && c <= EXEC + 1)
            }
            Change::Sgpr | Change::SgprPair => true,
            _ => false,
        };
        if !hits {
            continue;
        }
        // A compare's bits are those of lanes that are on.
        let fine = vector && program.nodes[e.value as usize].out == Ty::Bool
            || narrow(program, e.value, &is_exec)
                && program.nodes[e.value as usize].out.bits() == 64;
        if !fine || e.when.is_some() {
            return ExecChange::Any;
        }
    }
    ExecChange::Narrows
}

/// What is alive before each instruction.
pub(super) fn liveness(known: &BTreeMap<u64, Known>, s: &Setting<'_>) -> Map<u64, Alive> {
    let outside = Alive::everything();
    let mut before: Map<u64, Alive> =
        Map::with_capacity_and_hasher(known.len(), Default::default());
    let pcs: Vec<u64> = known.keys().rev().copied().collect();
    loop {
        let mut changed = false;
        for &pc in &pcs {
            let k = &known[&pc];
            let next = pc + k.insn.len as u64;
            let nothing = Alive::nothing();
            let at = |pc: u64| match before.get(&pc) {
                Some(a) => a,
                None if known.contains_key(&pc) => &nothing,
                None => &outside,
            };
            let mut a = match k.flow {
                Flow::Next => at(next).clone(),
                Flow::Branch { links: true, .. } | Flow::Indirect { .. } | Flow::Trap => {
                    Alive::everything()
                }
                Flow::Branch { .. } => {
                    let mut a = at(k.flow.target(pc, &k.insn).unwrap_or(next)).clone();
                    if k.flow.falls_through() {
                        a.join(at(next));
                    }
                    a
                }
                Flow::End if s.all_live => Alive::everything(),
                Flow::End => Alive::nothing(),
            };
            if k.everything {
                a = Alive::everything();
            } else {
                back(k, &mut a);
            }
            if before.get(&pc) != Some(&a) {
                before.insert(pc, a);
                changed = true;
            }
        }
        if !changed {
            return before;
        }
    }
}

/// From what is alive after an instruction to what is alive before it.
pub(super) fn back(k: &Known, a: &mut Alive) {
    if k.exec == ExecChange::Any {
        for v in &mut a.v {
            if *v == Live::On {
                *v = Live::All;
            }
        }
    }
    if !k.odd {
        for &w in &k.vwrites {
            let v = &mut a.v[w as usize];
            if *v == Live::On {
                *v = Live::No;
            }
        }
    }
    a.s &= !k.swrites;
    if k.scc.1 {
        a.scc = false;
    }
    let how = if k.odd { Live::All } else { Live::On };
    for &r in &k.vreads {
        let v = &mut a.v[r as usize];
        *v = (*v).max(how);
    }
    if k.odd {
        for &w in &k.vwrites {
            a.v[w as usize] = Live::All;
        }
    }
    a.s |= k.sreads;
    a.scc |= k.scc.0;
}
