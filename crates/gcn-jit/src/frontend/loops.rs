//! Finds the innermost loops of several blocks.

use crate::hash::Map;
use crate::ir::region::{Block, Terminator};

/// The most blocks and instructions of a loop.
const BLOCKS: usize = 32;
const INSNS: u32 = 400;

/// Returns the innermost loops of several blocks that waves enter at one block only. The numbers of a loop's blocks begin with that one, and each of the
/// others comes after those that lead to it. Waves come to the region at the address `entry`.
pub(super) fn of_several_blocks(blocks: &[Block], entry: u64) -> Vec<Vec<usize>> {
    // Of several blocks at an address, the first one counts.
    let mut at: Map<u64, usize> = Map::default();
    for (number, c) in blocks.iter().enumerate().rev() {
        at.insert(c.start, number);
    }
    let mut predecessors = vec![Vec::new(); blocks.len()];
    for (number, c) in blocks.iter().enumerate() {
        for to in c.successors().filter_map(|pc| at.get(&pc)) {
            predecessors[*to].push(number);
        }
    }
    let entry = at.get(&entry).copied();
    let graph = Graph {
        blocks,
        predecessors,
        entry,
    };
    let loops = (0..blocks.len()).filter_map(|first| graph.loop_at(first));
    loops.collect()
}

struct Graph<'b> {
    blocks: &'b [Block],
    predecessors: Vec<Vec<usize>>,
    entry: Option<usize>,
}

impl Graph<'_> {
    /// Returns the loop whose iterations begin with a block, if there is one.
    fn loop_at(&self, first: usize) -> Option<Vec<usize>> {
        let mut body = vec![first];
        for &last in &self.predecessors[first] {
            body.extend(self.back_from(last, first).unwrap_or_default());
        }
        body.sort_unstable();
        body.dedup();
        let insns: u32 = body.iter().map(|&k| self.blocks[k].insns).sum();
        if !(2..=BLOCKS).contains(&body.len()) || insns > INSNS {
            return None;
        }
        self.in_order(first, body)
    }

    /// Returns the blocks from which a block is reached, without the first one of the loop, if all ways to them lead over that.
    fn back_from(&self, last: usize, first: usize) -> Option<Vec<usize>> {
        let mut body = Vec::new();
        let mut work = vec![last];
        while let Some(k) = work.pop() {
            if k == first || body.contains(&k) {
                continue;
            }
            let c = &self.blocks[k];
            let goes_on = matches!(
                c.terminator,
                Terminator::Jump(_) | Terminator::Branch { .. }
            );
            let enters = self.entry == Some(k) || self.predecessors[k].is_empty();
            if !goes_on || enters || body.len() == BLOCKS {
                return None;
            }
            body.push(k);
            work.extend(&self.predecessors[k]);
        }
        Some(body)
    }

    /// Orders the blocks of a loop. `None` if there is a loop among them: none of its blocks comes after all that lead to it.
    fn in_order(&self, first: usize, body: Vec<usize>) -> Option<Vec<usize>> {
        let mut order = vec![first];
        while order.len() < body.len() {
            let ready = |k: &usize| {
                let mut before = self.predecessors[*k].iter();
                !order.contains(k) && before.all(|p| order.contains(p))
            };
            let next = body.iter().copied().find(ready)?;
            order.push(next);
        }
        Some(order)
    }
}

#[cfg(test)]
mod tests {
    use super::super::joined::tests::region_of;
    use super::*;

    /// Returns the loops of a program, as positions of blocks in the order of addresses.
    fn loops_of(code: &str) -> Vec<Vec<usize>> {
        let region = region_of(code);
        let mut starts: Vec<u64> = region.blocks.iter().map(|c| c.start).collect();
        starts.sort_unstable();
        let position = |&k: &usize| {
            let start = region.blocks[k].start;
            starts
                .iter()
                .position(|&s| s == start)
                .unwrap_or(usize::MAX)
        };
        let loops = of_several_blocks(&region.blocks, starts[0]);
        let loops = loops.iter().map(|l| l.iter().map(position).collect());
        loops.collect()
    }

    #[test]
    fn loops_with_branches_are_found() {
        let with_if = "s_nop 0\nagain:\ns_cmp_eq_u32 s2, s3\ns_cbranch_scc1 over\ns_add_u32 s4, s4, 1\nover:\ns_sub_u32 s2, s2, 1\ns_cbranch_scc0 again\ns_endpgm\n";
        assert_eq!(loops_of(with_if), [[1, 2, 3]]);
        // The first block is last.
        let rotated = "s_branch first\nlatch:\ns_sub_u32 s2, s2, 1\ns_cbranch_scc1 done\nfirst:\ns_cmp_eq_u32 s2, s3\ns_cbranch_scc1 latch\ns_add_u32 s4, s4, 1\ns_branch latch\ndone:\ns_endpgm\n";
        assert_eq!(loops_of(rotated), [[2, 3, 1]]);
        // A second way into the loop, and a loop of one block.
        for other in [
            "s_cbranch_vccz over\nagain:\ns_cmp_eq_u32 s2, s3\ns_cbranch_scc1 over\ns_add_u32 s4, s4, 1\nover:\ns_sub_u32 s2, s2, 1\ns_cbranch_scc0 again\ns_endpgm\n",
            "s_nop 0\nagain:\ns_sub_u32 s2, s2, 1\ns_cbranch_scc0 again\ns_endpgm\n",
        ] {
            assert_eq!(loops_of(other), [[0; 0]; 0], "{other}");
        }
        // Of a loop in a loop, the inner one.
        let nested = "s_nop 0\nagain:\ns_mov_b32 s3, 4\ninner:\ns_cbranch_vccz over\ns_nop 0\nover:\ns_sub_u32 s3, s3, 1\ns_cbranch_scc0 inner\ns_sub_u32 s2, s2, 1\ns_cbranch_scc0 again\ns_endpgm\n";
        assert_eq!(loops_of(nested), [[2, 3, 4]]);
    }
}
