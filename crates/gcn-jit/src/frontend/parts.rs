//! What lowering needs to know of an instruction. It is found once, because an instruction is lowered for its block and for variants of it.

use super::cross_lane::{self, Table};
use super::*;
use gcn_emu::interp::{PerRow, program};

/// What lowering needs of an instruction.
pub(crate) struct Parts {
    pub row: &'static RowParts,
    pub operands: Vec<Opnd>,
    pub mods: Modifiers,
    /// See [`cross_lane::tables`].
    pub tables: Vec<Option<Table>>,
    /// The nodes that effects depend on, if that depends on the tables.
    needed: Option<Vec<bool>>,
}

/// What lowering needs of an instruction's row.
pub(crate) struct RowParts {
    pub program: &'static Program,
    pub shortcuts: &'static [Shortcut],
    /// The groups of loads that are adjacent in memory, by the number of each load's node.
    pub groups: Map<usize, Group>,
    /// No operand has the type f64. Then numbers of this type are intermediate results, which come from narrower numbers.
    pub narrow: bool,
    /// The instruction reads or writes single lanes.
    pub single_lanes: bool,
    /// The nodes that effects depend on, if no node has a table.
    needed: Vec<bool>,
}

/// A load in a group of loads that are adjacent in memory.
#[derive(Clone, Copy)]
pub(crate) struct Group {
    /// The first load of the group.
    pub first: usize,
    /// The load's position in the group, and the number of the group's loads.
    pub part: u8,
    pub count: u8,
    /// The offset of the first load.
    pub offset: i32,
}

impl Parts {
    pub(super) fn of(insn: &Insn) -> Parts {
        let row = RowParts::of(insn);
        let tables = cross_lane::tables(row.program, insn, insn.target.generation());
        let slots = insn.row.shape.slots.iter();
        Parts {
            row,
            operands: slots.map(|slot| Opnd::new(insn, slot)).collect(),
            mods: Modifiers::new(insn),
            needed: (!tables.is_empty()).then(|| needed_nodes(row.program, &tables, row.shortcuts)),
            tables,
        }
    }

    /// Returns for each node whether effects depend on it.
    pub(super) fn needed(&self) -> &[bool] {
        self.needed.as_deref().unwrap_or(&self.row.needed)
    }
}

impl RowParts {
    fn of(insn: &Insn) -> &'static RowParts {
        static ROWS: PerRow<RowParts> = PerRow::empty();
        ROWS.get(insn.row, insn.target, || {
            let program = program(insn);
            let shortcuts = shortcuts(program);
            let reads = program.nodes.iter().any(|n| n.op == Op::ReadLane);
            let one = |c: &Change| matches!(c, Change::DstLane(_));
            RowParts {
                program,
                shortcuts,
                groups: groups(program),
                narrow: insn.row.shape.slots.iter().all(|slot| slot.ty != Ty::F64),
                single_lanes: reads || program.effects.iter().any(|e| one(&e.change)),
                needed: needed_nodes(program, &[], shortcuts),
            }
        })
    }
}

/// Returns the shortcuts that are used: all, unless another node reads a value that has one.
fn shortcuts(program: &'static Program) -> &'static [Shortcut] {
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

/// Returns the nodes that effects depend on.
fn needed_nodes(
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

/// Returns the group of each load that has adjacent loads in memory.
fn groups(program: &Program) -> Map<usize, Group> {
    let mut out: Map<usize, Group> = Map::default();
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
            let group = Group {
                first: run[0],
                part: part as u8,
                count: run.len() as u8,
                offset: first,
            };
            out.insert(at, group);
        }
    }
    out
}
