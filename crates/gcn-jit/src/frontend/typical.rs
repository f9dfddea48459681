//! The values of a typical wave, so that blocks are compiled for the path that most waves take.

use super::*;
use crate::ir::Node;

/// A starting wave of a workgroup in the middle of the dispatch.
pub struct TypicalWave<'a> {
    pub sgprs: [u32; 128],
    /// The scalar registers that differ from wave to wave.
    pub ids: u128,
    /// Reads a dword of guest memory. `None` if it cannot be read.
    pub read: &'a dyn Fn(u64) -> Option<u32>,
}

/// Evaluates the values of a graph in one lane of a typical wave, where that is possible without running code.
pub(super) struct InLane<'a> {
    pub graph: &'a Graph,
    pub sgpr: &'a dyn Fn(u8) -> Option<u32>,
    pub read: &'a dyn Fn(u64) -> Option<u32>,
    pub entry: EntryVgprs,
    pub lane: u32,
}

/// The values that have been evaluated; `None` for unknown ones.
type Found = Map<Id, Option<u64>>;

impl InLane<'_> {
    /// Returns a value, zero-extended, if it is known.
    pub fn value(&self, id: Id) -> Option<u64> {
        self.within(id, 100, &RefCell::default())
    }

    /// Returns a value, from operands at most `depth` operations away. Each value is evaluated only once.
    fn within(&self, id: Id, depth: u32, found: &RefCell<Found>) -> Option<u64> {
        if let Some(&value) = found.borrow().get(&id) {
            return value;
        }
        let value = depth
            .checked_sub(1)
            .and_then(|depth| self.compute(id, depth, found));
        found.borrow_mut().insert(id, value);
        value
    }

    fn compute(&self, id: Id, depth: u32, found: &RefCell<Found>) -> Option<u64> {
        let n = self.graph.get(id);
        let of = |k: usize| self.within(n.args[k], depth, found);
        let sgpr = |code: u8| Some((self.sgpr)(code)? as u64);
        let half = |value: u64| value & u32::MAX as u64;
        Some(match n.op {
            Inst::Const(v) => v,
            Inst::SIn(code) if n.out.bits() == 64 => sgpr(code)? | sgpr(code + 1)? << 32,
            Inst::SIn(code) => sgpr(code)?,
            Inst::VIn(v) => match self.entry.0.get(v as usize)? {
                Pattern::Consecutive => self.lane as u64,
                Pattern::Same => 0,
                Pattern::Any => return None,
            },
            Inst::Lane => self.lane as u64,
            Inst::Exec => 1,
            Inst::Pair => of(0)? | of(1)? << 32,
            Inst::Lo => half(of(0)?),
            Inst::Hi => of(0)? >> 32,
            Inst::Shld(by) => half((of(0)? << 32 | of(1)?) << by >> 32),
            Inst::Shrd(by) => half((of(1)? << 32 | of(0)?) >> by),
            Inst::Part(k) => {
                let load = self.graph.get(n.args[0]);
                let Inst::SLoad { offset, .. } = load.op else {
                    return None;
                };
                let from = self.within(load.args[0], depth, found)?;
                let at = from.wrapping_add_signed(offset as i64 + 4 * k as i64);
                (self.read)(at)? as u64
            }
            Inst::Alu(op) => {
                let mut values = [0; 3];
                for (k, value) in values.iter_mut().take(op.arity()).enumerate() {
                    *value = of(k)?;
                }
                self.graph.evaluate(op, n.ty, n.out, values)?
            }
            _ => return None,
        })
    }
}

/// The scalar registers that are known, without running code, to have the same value in all waves of the dispatch.
pub(super) type UsualScalars = BTreeMap<u8, u32>;

/// The usual values of scalar registers at the starts of blocks.
#[derive(Default)]
pub(super) struct Usual {
    at: Map<u64, UsualScalars>,
    /// The scalar registers that loops write, by the loop's start.
    loops: Map<u64, u128>,
}

/// The largest factor that is guessed. If lanes' elements are farther apart, few share a cache line.
const FACTOR: u32 = 4;

impl Usual {
    /// Creates the state at the address where waves start. `None` if nothing is to be guessed.
    pub fn new(
        entry: u64,
        insns: &BTreeMap<u64, InsnInfo>,
        s: &CompileRequest<'_>,
    ) -> Option<Usual> {
        let wave = s.typical.as_ref()?;
        if s.entry.is_none() || !s.affine || s.left_out.has(Optional::Strides) {
            return None;
        }
        let mut usual = Usual::default();
        let same = (0..128u8).filter(|&code| wave.ids >> code & 1 == 0);
        let start = same.map(|code| (code, wave.sgprs[code as usize])).collect();
        usual.at.insert(entry, start);
        for (&pc, k) in insns {
            if let Some(to) = k.flow.target(pc, &k.insn).filter(|&to| to <= pc) {
                let inside = insns.range(to..=pc);
                let written = inside.fold(0, |all, (_, k)| all | k.swrites);
                *usual.loops.entry(to).or_default() |= written;
            }
        }
        Some(usual)
    }

    /// Merges the usual scalars after a block into the state at `to`.
    fn reach(&mut self, to: u64, after: &UsualScalars) {
        let written = self.loops.get(&to).copied().unwrap_or(0);
        let stays = |code: u8| written >> code & 1 == 0;
        match self.at.get_mut(&to) {
            Some(have) => have.retain(|code, value| after.get(code) == Some(value)),
            None => {
                let mut known = after.clone();
                known.retain(|&code, _| stays(code));
                self.at.insert(to, known);
            }
        }
    }
}

impl Builder<'_> {
    /// Records which scalar registers have usual values after the block.
    pub(super) fn record_usual(&self, terminator: &Terminator, written: &[(u8, Id)]) {
        let Some(usual) = self
            .usual
            .filter(|_| !self.all_active && !self.joins.is_on())
        else {
            return;
        };
        let to = match *terminator {
            Terminator::Jump(pc) => [Some(pc), None],
            Terminator::Branch { taken, next, .. } => [Some(taken), Some(next)],
            Terminator::Barrier => [Some(self.code.end), None],
            _ => return,
        };
        let before = usual.borrow().at.get(&self.code.start).cloned();
        let Some(mut after) = before else { return };
        for &(code, id) in written {
            match self.usual_scalar(id) {
                Some(value) => after.insert(code, value),
                None => after.remove(&code),
            };
        }
        for pc in to.into_iter().flatten() {
            usual.borrow_mut().reach(pc, &after);
        }
    }

    /// Returns the value of a 32-bit scalar in all waves, if it is known.
    pub(super) fn usual_scalar(&self, id: Id) -> Option<u32> {
        let n = self.g.get(id);
        if n.vec || n.out.bits() > 32 || self.is_late(id) {
            return None;
        }
        self.usual_value(id)
    }

    /// Returns the value of a scalar that may be computed with the vectors, as that of [`Builder::usual_scalar`].
    pub(super) fn usual_value(&self, id: Id) -> Option<u32> {
        let wave = self.s.typical.as_ref()?;
        let usual = self.usual?.borrow();
        let known = usual.at.get(&self.code.start)?;
        let lane = InLane {
            graph: &self.g,
            sgpr: &|code| known.get(&code).copied(),
            read: wave.read,
            entry: EntryVgprs([Pattern::Any; 3]),
            lane: 0,
        };
        Some(lane.value(id)? as u32)
    }

    /// Returns the operands of a product of a vector value and a scalar. If the scalar is usually a small number, that number replaces
    /// it, and the block assumes the value.
    pub(super) fn guess_factor(
        &mut self,
        ty: Ty,
        args: [Id; 3],
        guesses: &mut Vec<AssumedCompare>,
    ) -> [Id; 3] {
        let [a, b, rest] = args;
        let vec = |g: &Graph, id: Id| g.get(id).vec;
        let factor = match (vec(&self.g, a), vec(&self.g, b)) {
            (true, false) => b,
            (false, true) => a,
            _ => return args,
        };
        if self.usual.is_none() || ty.is_float() || self.g.value_of(factor).is_some() {
            return args;
        }
        let scalar = match *self.g.get(factor) {
            // The scalar may be extended to 64 bits. For small numbers the upper half is 0 with either extension.
            Node {
                op: Inst::Pair,
                args: [lo, hi, _],
                ..
            } => {
                let sign = *self.g.get(hi);
                let extends = self.g.is(hi, 0)
                    || sign.op == Inst::Alu(Op::Shr) && sign.ty.is_signed() && sign.args[0] == lo;
                if !extends {
                    return args;
                }
                lo
            }
            _ => factor,
        };
        let Some(value) = self
            .usual_scalar(scalar)
            .filter(|v| (1..=FACTOR).contains(v))
        else {
            return args;
        };
        let number = self.c32(value as u64);
        guesses.push(AssumedCompare {
            op: Op::Eq,
            ty: Ty::U32,
            of: [scalar, number],
        });
        let number = self.g.constant(ty, value as u64);
        match factor == b {
            true => [a, number, rest],
            false => [number, b, rest],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gcn_isa::decode::decode;

    /// The code compares lanes with a limit in memory. The all-active variant assumes the typical wave's result.
    const CODE: &str = "\
s_load_dword s4, s[0:1], 0x8
s_lshl_b32 s5, s2, 6
v_add_u32 v0, s5, v0
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
v_cmp_le_u32 vcc, s4, v0
s_and_saveexec_b64 s[6:7], vcc
s_cbranch_execz below
global_store_dword v1, v0, s[0:1]
below:
s_xor_b64 exec, exec, s[6:7]
s_cbranch_execz done
global_store_dword v1, v1, s[0:1]
done:
s_endpgm
";

    /// Returns the assumptions of the all-active variant at the entry, for a limit and a workgroup.
    fn assumed(limit: Option<u32>, group: u32) -> Vec<String> {
        assumed_in(CODE, limit, group)
    }

    fn assumed_in(code: &str, limit: Option<u32>, group: u32) -> Vec<String> {
        let region = region_of(code, limit, group);
        let all = region.blocks[0].all_active.as_ref();
        let assumed = all.map_or(&[][..], |c| &c.assumed);
        assumed.iter().map(|d| d.op.name().to_owned()).collect()
    }

    fn region_of(code: &str, limit: Option<u32>, group: u32) -> Region {
        let target = Target::parse("gfx900").expect("a target");
        let text = gcn_asm::assemble_snippet(target, code, false).expect("it assembles");
        let fetch = |pc: u64| decode(target, text.get(pc as usize..)?);
        let read = |at: u64| match at {
            0x1008 => limit,
            0x100c => limit.map(|_| 0),
            0x1010 => Some(2),
            0x1014 => Some(5),
            _ => None,
        };
        let mut sgprs = [0; 128];
        (sgprs[0], sgprs[2]) = (0x1000, group);
        let entry = EntryVgprs([Pattern::Consecutive, Pattern::Same, Pattern::Same]);
        region(
            0,
            &CompileRequest {
                entry: Some(entry),
                affine: true,
                sgprs,
                typical: Some(TypicalWave {
                    sgprs,
                    ids: 1 << 2,
                    read: &read,
                }),
                ..CompileRequest::plain(target, 0x2c0, &fetch)
            },
        )
    }

    /// Code that multiplies lanes' numbers by scalars, in a loop and in a block after it.
    const STRIDES: &str = "\
s_load_dwordx2 s[4:5], s[0:1], 0x10
s_mov_b32 s6, 1
s_waitcnt lgkmcnt(0)
again:
v_mul_lo_u32 v1, v0, s4
v_lshlrev_b32 v1, 2, v1
global_store_dword v1, v0, s[0:1]
s_add_u32 s6, s6, 1
s_cmp_lt_u32 s6, s5
s_cbranch_scc1 again
v_mul_u32_u24 v2, s4, v0
v_lshlrev_b32 v2, 2, v2
global_store_dword v2, v0, s[0:1]
s_endpgm
";

    /// Returns the guesses of all plain blocks as text, and the number of affine accesses.
    fn guessed(code: &str) -> (Vec<String>, usize) {
        let region = region_of(code, None, 3);
        let texts = region.blocks.iter().map(ToString::to_string);
        let guesses = texts.flat_map(|text| {
            let lines = text.lines().filter(|line| line.contains("guess "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        });
        let affine = region.blocks.iter().map(|c| c.affine.addresses.len());
        (guesses.collect(), affine.sum())
    }

    #[test]
    fn strides_are_those_of_a_typical_wave() {
        let (guesses, affine) = guessed(STRIDES);
        assert_eq!((guesses.len(), affine), (2, 2), "{guesses:?}");
        // These are a number that the loop changes, one that differs between workgroups, and a large one.
        for other in ["s6", "s2", "s5"] {
            let code = STRIDES
                .replace("v0, s4", &format!("v0, {other}"))
                .replace("s4, v0", &format!("{other}, v0"));
            assert_eq!(guessed(&code), (vec![], 0), "{other}");
        }
    }

    #[test]
    fn comparisons_are_as_in_a_typical_wave() {
        // Without known values, the usual form of compilers' code is assumed.
        assert_eq!(assumed(None, 3), ["le"]);
        assert_eq!(assumed(Some(100), 3), ["le"]);
        assert_eq!(assumed(Some(1000), 3), ["lt"]);
        // Lanes of the typical wave are on both sides.
        assert_eq!(assumed(Some(200), 3), [""; 0]);
    }

    /// The upper halves of 64-bit numbers are assumed to be equal, the lower ones to compare as in the typical wave.
    #[test]
    fn comparisons_of_64_bits() {
        let code = CODE.replace("s_load_dword s4", "s_load_dwordx2 s[4:5]");
        let code = code
            .replace("s5, s2, 6", "s8, s2, 6")
            .replace("v0, s5, v0", "v0, s8, v0");
        let wide = "v_mov_b32 v1, 0\nv_cmp_gt_u64 vcc, s[4:5], v[0:1]";
        let code = code.replace("v_lshlrev_b32 v1,", "v_lshlrev_b32 v2,");
        let code = code.replace("v_cmp_le_u32 vcc, s4, v0", wide);
        let code = code.replace("store_dword v1,", "store_dword v2,");
        assert_eq!(assumed_in(&code, None, 3), ["eq", "lt"]);
        assert_eq!(assumed_in(&code, Some(1000), 3), ["eq", "lt"]);
        assert_eq!(assumed_in(&code, Some(100), 3), ["eq", "le"]);
        // Lanes of the typical wave are on both sides.
        assert_eq!(assumed_in(&code, Some(200), 3), [""; 0]);
    }

    /// A number is clamped to a limit, and one is clamped to 0.
    #[test]
    fn limits_are_as_in_a_typical_wave() {
        let code = "\
s_load_dword s4, s[0:1], 0x8
s_lshl_b32 s5, s2, 6
v_add_u32 v0, s5, v0
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
v_min_i32 v0, s4, v0
v_max_i32 v0, 0, v0
global_store_dword v1, v0, s[0:1]
s_endpgm
";
        assert_eq!(assumed_in(code, Some(1000), 3), ["le", "le"]);
        // The comparison with the limit follows from the typical wave.
        assert_eq!(assumed_in(code, Some(100), 3), ["le"]);
        // Lanes of the typical wave are on both sides.
        assert_eq!(assumed_in(code, Some(200), 3), [""; 0]);
        // Without known values, the usual results are assumed.
        assert_eq!(assumed_in(code, None, 3), ["le", "le"]);
    }

    /// Each of these sums reads the one before it twice.
    #[test]
    fn shared_values_are_computed_once() {
        let sums = "s_add_u32 s4, s4, s4\n".repeat(80);
        let code = CODE.replace("v_cmp_le_u32", &format!("{sums}v_cmp_le_u32"));
        // The computed limit is 0.
        assert_eq!(assumed_in(&code, Some(1000), 3), ["le"]);
    }
}
