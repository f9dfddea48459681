//! Values of other lanes: one lane's value for all, each lane's own choice, and DPP. VGPRs are in memory between blocks, where any lane can read any other lane's value. A read across slices therefore gets the VGPR's
//! value at the block's start.

use super::*;
use gcn_emu::eval::{Operation, eval};
use gcn_emu::operands::Dpp;

/// A number per lane that depends only on the instruction.
pub(super) type Table = Box<[u64; 64]>;

/// Returns the tables of an instruction that moves values between lanes: of each node that depends only on the
/// instruction's bits and the lane's number.
pub(super) fn tables(program: &Program, insn: &Insn, generation: Gen) -> Vec<Option<Table>> {
    let mut out: Vec<Option<Table>> = Vec::new();
    let crosses = |op: Op| matches!(op, Op::ReadLane | Op::SendLane);
    if !program.nodes.iter().any(|n| crosses(n.op)) {
        return out;
    }
    for n in &program.nodes {
        let table = match n.op {
            Op::Const(v) => Some([v; 64]),
            Op::Field(field) => Some([insn.field(field) as u64; 64]),
            Op::Lane => Some(std::array::from_fn(|lane| lane as u64)),
            op if op.arity() > 0 && !n.ty.is_float() && !n.out.is_float() && !op.acts() => {
                let zero = [0; 64];
                let arg = |k: usize| match k < op.arity() {
                    true => out[n.args[k] as usize].as_deref(),
                    false => Some(&zero),
                };
                let mut d = [0; 64];
                let operation = Operation {
                    op,
                    ty: n.ty,
                    out: n.out,
                    generation,
                    mode: 0,
                };
                match (arg(0), arg(1), arg(2)) {
                    (Some(a), Some(b), Some(c)) if eval(operation, [a, b, c], &mut d) => Some(d),
                    _ => None,
                }
            }
            _ => None,
        };
        out.push(table.map(Box::new));
    }
    // If lanes read other rows, their numbers are needed as values.
    let far = program.nodes.iter().any(|n| {
        crosses(n.op)
            && out[n.args[1] as usize]
                .as_deref()
                .is_some_and(|t| in_rows(|lane| (t[lane] & 63) as usize).is_none())
    });
    if far {
        for table in &mut out {
            if table
                .as_deref()
                .is_some_and(|t| t.iter().any(|v| *v != t[0]))
            {
                *table = None;
            }
        }
    }
    out
}

/// Returns which lane of its row each lane reads, as a hexadecimal digit per lane, if all rows are alike. Lanes without a
/// source (64) may read any.
fn in_rows(from: impl Fn(usize) -> usize) -> Option<u64> {
    let mut digits = 0;
    for at in 0..16 {
        let mut one = None;
        for row in (0..64).step_by(16) {
            match from(row + at) {
                64.. => {}
                lane if lane & !15 == row && one.is_none_or(|o| o == lane - row) => {
                    one = Some(lane - row);
                }
                _ => return None,
            }
        }
        digits |= (one.unwrap_or(at) as u64) << (4 * at);
    }
    Some(digits)
}

impl Builder<'_> {
    /// Returns the number of the VGPR whose value at the block's start a value is.
    fn untouched(&self, value: Id, first: usize) -> Result<u16, Refusal> {
        match self.g.get(value).op {
            Inst::VIn(n) if !self.inserted_lanes.contains(&n) => Ok(n),
            Inst::VIn(_) => Err(Refusal::NewBlock),
            // A value that the instruction itself computed is not in memory.
            _ if self.code.insns == 0 || value as usize >= first => Err(Refusal::Interpreter),
            _ => Err(Refusal::NewBlock),
        }
    }

    /// Returns `value` of another lane.
    pub(super) fn read_lane(&mut self, value: Id, lane: Id, first: usize) -> Result<Id, Refusal> {
        if !self.g.get(value).vec {
            return Ok(value);
        }
        if self.g.get(value).out.bits() > 32 {
            return Err(Refusal::Interpreter);
        }
        let (lane, mask) = (self.g.lo(lane), self.c32(63));
        let lane = self.g.alu(Op::And, Ty::B32, Ty::B32, [lane, mask, 0])?;
        if self.g.get(lane).vec {
            let n = self.untouched(value, first)?;
            return Ok(self
                .g
                .node(Inst::LanesIn(n), Ty::B32, Ty::B32, true, [lane, 0, 0]));
        }
        if let (Inst::VIn(n), Some(at)) = (self.g.get(value).op, self.g.value_of(lane))
            && let Some(known) = self.lane_insert_of(n, at)
        {
            return known.ok_or(Refusal::NewBlock);
        }
        // A lane with a known number is not one of the inserted lanes here.
        let n = match (self.g.get(value).op, self.g.value_of(lane)) {
            (Inst::VIn(n), Some(_)) => n,
            _ => self.untouched(value, first)?,
        };
        Ok(self
            .g
            .node(Inst::LaneIn(n), Ty::B32, Ty::B32, false, [lane, 0, 0]))
    }

    /// Returns the value that the block has inserted into a lane of a VGPR. `Some(None)` if it is unknown.
    fn lane_insert_of(&self, n: u16, lane: u64) -> Option<Option<Id>> {
        for &(m, at, value) in self.lane_inserts.iter().rev() {
            if m == n {
                match self.g.value_of(at) {
                    Some(at) if at == lane => return Some(Some(value)),
                    Some(_) => {}
                    None => return Some(None),
                }
            }
        }
        None
    }

    /// Returns the number of the first active lane; 0 if there is none.
    pub(super) fn first_lane(&mut self) -> Result<Id, Refusal> {
        let exec = self.sgpr_pair(EXEC);
        let first = self.g.alu(Op::Ctz, Ty::B64, Ty::B64, [exec, 0, 0])?;
        let (first, mask) = (self.g.lo(first), self.c32(63));
        Ok(self.g.alu(Op::And, Ty::B32, Ty::B32, [first, mask, 0])?)
    }

    /// Returns `value` of the lanes that a table names, each within its row.
    pub(super) fn shuffle(&mut self, value: Id, from: &[u64; 64]) -> Option<Id> {
        if !self.g.get(value).vec {
            return Some(value);
        }
        let digits = in_rows(|lane| (from[lane] & 63) as usize)?;
        (self.g.get(value).out.bits() == 32).then(|| self.moved(value, digits))
    }

    fn moved(&mut self, value: Id, digits: u64) -> Id {
        if digits == 0xfedc_ba98_7654_3210 || !self.g.get(value).vec {
            return value;
        }
        self.g
            .node(Inst::Shuffle(digits), Ty::B32, Ty::B32, true, [value, 0, 0])
    }

    /// Returns a truth value: true where the lane that a table names, within its row, is active.
    pub(super) fn shuffled_exec(&mut self, from: &[u64; 64]) -> Result<Id, Refusal> {
        let exec = self.exec();
        let one = self
            .g
            .node(Inst::Alu(Op::Zext), Ty::Bool, Ty::B32, true, [exec, 0, 0]);
        self.shuffle(one, from).ok_or(Refusal::Interpreter)
    }

    /// Returns a truth value: the lane's bit of a constant.
    fn lanes_of(&mut self, lanes: u64) -> Id {
        let lanes = self.g.constant(Ty::B64, lanes);
        self.g.mask_of(lanes)
    }

    /// Returns the number of each lane's DPP source, if sources are in other rows.
    fn dpp_lanes(&mut self, dpp: &Dpp) -> Result<Id, Refusal> {
        let fits = |f: &dyn Fn(usize) -> usize| {
            (0..64).all(|lane| dpp.from[lane] >= 64 || dpp.from[lane] as usize == f(lane) & 63)
        };
        let lane = self.g.node(Inst::Lane, Ty::U32, Ty::U32, true, [0; 3]);
        let (by, masked) = if fits(&|lane| lane + 1) {
            (1, lane)
        } else if fits(&|lane| lane + 63) {
            (63, lane)
        } else {
            // The source is the last lane of the previous row, or of a half.
            let mask = if fits(&|lane| (lane & 48) + 63) {
                48
            } else {
                32
            };
            if !fits(&|lane| (lane & mask) + 63) {
                return Err(Refusal::Interpreter);
            }
            let mask = self.c32(mask as u64);
            (63, self.g.alu(Op::And, Ty::B32, Ty::B32, [lane, mask, 0])?)
        };
        let (by, mask) = (self.c32(by), self.c32(63));
        let sum = self.g.alu(Op::Add, Ty::U32, Ty::U32, [masked, by, 0])?;
        Ok(self.g.alu(Op::And, Ty::B32, Ty::B32, [sum, mask, 0])?)
    }

    /// Returns a truth value: true where the lane's DPP source exists and is active.
    fn dpp_sourced(&mut self, dpp: &Dpp) -> Result<Id, Refusal> {
        let there = (0..64).fold(0, |m, l| m | ((dpp.from[l] < 64) as u64) << l);
        let zero = self.c32(0);
        let on = match in_rows(|lane| dpp.from[lane] as usize) {
            Some(digits) => {
                let exec = self.exec();
                let one = self
                    .g
                    .node(Inst::Alu(Op::Zext), Ty::Bool, Ty::B32, true, [exec, 0, 0]);
                let from = self.moved(one, digits);
                self.g.alu(Op::Ne, Ty::B32, Ty::Bool, [from, zero, 0])?
            }
            None => {
                let (exec, lanes) = (self.sgpr_pair(EXEC), self.dpp_lanes(dpp)?);
                let lanes = self.g.pair(lanes, zero);
                let bit = self.g.alu(Op::Shr, Ty::U64, Ty::U64, [exec, lanes, 0])?;
                let (bit, one) = (self.g.lo(bit), self.c32(1));
                let bit = self.g.alu(Op::And, Ty::B32, Ty::B32, [bit, one, 0])?;
                self.g.alu(Op::Ne, Ty::B32, Ty::Bool, [bit, zero, 0])?
            }
        };
        if there == !0 {
            return Ok(on);
        }
        let there = self.lanes_of(there);
        Ok(self.g.alu(Op::And, Ty::Bool, Ty::Bool, [on, there, 0])?)
    }

    /// Returns a VGPR as DPP reads it. If lanes without a source are not written, the value that they read does not matter.
    pub(super) fn dpp_read(&mut self, value: Id, dpp: &Dpp) -> Result<Id, Refusal> {
        let moved = match in_rows(|lane| dpp.from[lane] as usize) {
            Some(digits) => self.moved(value, digits),
            None => {
                let lanes = self.dpp_lanes(dpp)?;
                let first = self.g.nodes.len();
                self.read_lane(value, lanes, first)?
            }
        };
        if !dpp.zero {
            return Ok(moved);
        }
        let (on, zero) = (self.dpp_sourced(dpp)?, self.c32(0));
        Ok(self
            .g
            .alu(Op::Select, Ty::B32, Ty::B32, [on, moved, zero])?)
    }

    /// Returns the lanes that DPP lets an instruction write, if not all active ones.
    pub(super) fn dpp_written(&mut self, dpp: &Dpp) -> Result<Option<Id>, Refusal> {
        let lanes = (dpp.lanes != !0).then(|| self.lanes_of(dpp.lanes));
        if dpp.zero {
            return Ok(lanes);
        }
        let sourced = self.dpp_sourced(dpp)?;
        Ok(Some(match lanes {
            Some(lanes) => self
                .g
                .alu(Op::And, Ty::Bool, Ty::Bool, [sourced, lanes, 0])?,
            None => sourced,
        }))
    }
}
