//! The values of a typical wave, so that blocks are compiled for the path that most waves take.

use crate::hash::Map;
use crate::ir::{Graph, Id, Inst};
use gcn_emu::engine::{EntryVgprs, Pattern};
use std::cell::RefCell;

/// A wave that starts, of a workgroup in the middle of the dispatch.
pub struct TypicalWave<'a> {
    pub sgprs: [u32; 128],
    /// Reads a dword of guest memory. `None` if it cannot be read.
    pub read: &'a dyn Fn(u64) -> Option<u32>,
}

/// The values of a graph in one lane of such a wave, as far as they are known without running code.
pub(super) struct InLane<'a> {
    pub graph: &'a Graph,
    pub wave: &'a TypicalWave<'a>,
    pub entry: EntryVgprs,
    pub lane: u32,
}

/// The values that have been computed, and those that are not known.
type Found = Map<Id, Option<u64>>;

impl InLane<'_> {
    /// A value, whose upper bits are 0.
    pub fn value(&self, id: Id) -> Option<u64> {
        self.within(id, 100, &RefCell::default())
    }

    /// A value, from operands at most `depth` operations away. Each is computed once, however many operations read it.
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
        let sgpr = |code: u8| Some(*self.wave.sgprs.get(code as usize)? as u64);
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
                (self.wave.read)(at)? as u64
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::{CompileRequest, region};
    use gcn_isa::Target;
    use gcn_isa::decode::decode;

    /// Lanes below a limit in memory, and others: which ones the all-active variant is for.
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

    /// The assumptions of the all-active variant at the entry, for a limit and a workgroup.
    fn assumed(limit: Option<u32>, group: u32) -> Vec<String> {
        assumed_in(CODE, limit, group)
    }

    fn assumed_in(code: &str, limit: Option<u32>, group: u32) -> Vec<String> {
        let target = Target::parse("gfx900").expect("a target");
        let text = gcn_asm::assemble_snippet(target, code, false).expect("it assembles");
        let fetch = |pc: u64| decode(target, text.get(pc as usize..)?);
        let read = |at: u64| match at {
            0x1008 => limit,
            0x100c => limit.map(|_| 0),
            _ => None,
        };
        let mut sgprs = [0; 128];
        (sgprs[0], sgprs[2]) = (0x1000, group);
        let entry = EntryVgprs([Pattern::Consecutive, Pattern::Same, Pattern::Same]);
        let region = region(
            0,
            &CompileRequest {
                target,
                mode: 0x2c0,
                vgprs: 8,
                all_live: false,
                precise: false,
                entry: Some(entry),
                affine: true,
                left_out: Default::default(),
                steps: Vec::new(),
                sgprs,
                typical: Some(TypicalWave { sgprs, read: &read }),
                guessed: Default::default(),
                table: crate::frontend::instruction_table(target),
                dump: None,
                fetch: &fetch,
            },
        );
        let all = region.blocks[0].all_active.as_ref();
        let assumed = all.map_or(&[][..], |c| &c.assumed);
        assumed.iter().map(|d| d.op.name().to_owned()).collect()
    }

    #[test]
    fn comparisons_are_as_in_a_typical_wave() {
        // As a compiler writes it, whatever the values are.
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

    /// Each of these sums reads the one before it twice.
    #[test]
    fn shared_values_are_computed_once() {
        let sums = "s_add_u32 s4, s4, s4\n".repeat(80);
        let code = CODE.replace("v_cmp_le_u32", &format!("{sums}v_cmp_le_u32"));
        // The limit is 0 in the end.
        assert_eq!(assumed_in(&code, Some(1000), 3), ["le"]);
    }
}
