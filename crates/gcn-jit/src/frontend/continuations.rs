//! Continuations: all-active blocks that only all-active blocks lead to.
//!
//! An all-active variant ends where an instruction cannot join it, as at a load after a store, and where a loop begins. All lanes wrote its
//! VGPRs, so some are affine after it that the plain blocks do not know to be, because they may have been written while EXEC was narrower:
//! the address of the next row, if each row is read only by the lanes that are within the image. A continuation begins there with
//! these facts. Variants and other continuations that keep the facts lead to it, those at the end of a loop included. It tests
//! whether all lanes are active, as variants do, and if anything fails, the plain block runs.

use super::all_active::{ControlFlow, Tracer, Tracing};
use super::*;

/// A continuation under construction.
struct Found {
    block: Block,
    /// The starts of the plain blocks that it replaces.
    over: Vec<u64>,
    /// The VGPRs that are affine before and after it.
    before: AffineVgprs,
    after: AffineVgprs,
}

/// The number of times that one address is tried, each time with fewer facts.
const MOST_TRIES: usize = 4;

/// The number of instructions of all tries in a region, after which no more continuations are built: it bounds the time of compiling.
const MOST_INSNS: u32 = 4096;

/// Returns true if all facts are among others.
fn within(facts: &AffineVgprs, others: &AffineVgprs) -> bool {
    facts.iter().all(|(v, step)| others.get(v) == Some(step))
}

impl Tracer<'_> {
    /// Returns the continuations of the blocks' variants, and makes variants and continuations lead to them. `after` has the VGPRs that are
    /// affine after variants, by their starts.
    pub(super) fn continuations(
        &self,
        blocks: &mut [Block],
        after: &Map<u64, AffineVgprs>,
        flow: &ControlFlow,
    ) -> Vec<Block> {
        let mut work = Vec::new();
        for variant in blocks.iter().filter_map(|c| c.all_active.as_deref()) {
            let Some(after) = after.get(&variant.start) else {
                continue;
            };
            let to = variant.successors();
            work.extend(to.map(|pc| (pc, after.clone())));
        }
        let mut found = self.all_found(work, flow);
        found.retain(|_, f| affine::extract_affine(&mut f.block, f.before.clone()));
        let addresses = |c: &Block| (c.start, c.affine.addresses.len());
        let addresses: Map<u64, usize> = blocks.iter().map(addresses).collect();
        retain_gaining(&mut found, &addresses);
        let facts = |(&pc, f): (&u64, &Found)| (pc, f.before.clone());
        let facts: Map<u64, AffineVgprs> = found.iter().map(facts).collect();
        let leads = |c: &Block, after: &AffineVgprs| {
            let to = c.successors();
            let known = |pc: &u64| facts.get(pc).is_some_and(|facts| within(facts, after));
            to.filter(known).collect::<Vec<u64>>()
        };
        let mut work = Vec::new();
        for c in blocks
            .iter_mut()
            .filter_map(|c| c.all_active.as_deref_mut())
        {
            if let Some(after) = after.get(&c.start) {
                c.continued = leads(c, after);
                work.extend(&c.continued);
            }
        }
        let mut reached: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        while let Some(pc) = work.pop() {
            if let Some(f) = found.get(&pc).filter(|_| !reached.contains_key(&pc)) {
                let to = leads(&f.block, &f.after);
                work.extend(&to);
                reached.insert(pc, to);
            }
        }
        let mut out = Vec::new();
        for (pc, to) in reached {
            let Some(mut one) = found.remove(&pc) else {
                continue;
            };
            let several = self.several_rounds(&one.block, flow, Some(&one.before), Tracing::ONCE);
            one.block.all_active = several.map(|mut several| {
                several.block.continued = leads(&several.block, &several.after);
                several.block.continued.retain(|pc| to.contains(pc));
                Box::new(several.block)
            });
            one.block.continued = to;
            one.block.replaces = one.over;
            if !self.s.left_out.has(Optional::InOrder) {
                affine::keep_order(&mut one.block);
            }
            out.push(one.block);
        }
        out
    }

    /// Builds continuations at addresses that have more facts than the plain blocks there, and at the addresses that those lead to, until no facts
    /// change.
    fn all_found(
        &self,
        mut work: Vec<(u64, AffineVgprs)>,
        flow: &ControlFlow,
    ) -> BTreeMap<u64, Found> {
        let mut found: BTreeMap<u64, Found> = BTreeMap::new();
        let mut tries: Map<u64, usize> = Map::default();
        let mut insns = 0;
        while let Some((pc, mut before)) = work.pop() {
            let live = self.live.get(pc);
            before.retain(|&v, _| live.is_none_or(|l| l.vgpr(v) != LiveLanes::No));
            // Where waves start, more is known.
            if pc == self.entry {
                continue;
            }
            let tried = tries.entry(pc).or_default();
            if *tried > 0 {
                // It was given up, or its facts must hold on all ways to it.
                let Some(known) = found.get(&pc) else {
                    continue;
                };
                if within(&known.before, &before) {
                    continue;
                }
                let also = &known.before;
                before.retain(|v, step| also.get(v) == Some(step));
            }
            *tried += 1;
            let may_try = *tried <= MOST_TRIES && insns < MOST_INSNS;
            found.remove(&pc);
            let none = AffineVgprs::new();
            if !may_try || within(&before, self.state.get(&pc).unwrap_or(&none)) {
                continue;
            }
            let states = Map::from_iter([(pc, before.clone())]);
            let Some((block, over)) = self.longest(pc, flow, Some(&states), Tracing::ONCE) else {
                continue;
            };
            insns += block.insns;
            if !self.keeps(&block, &before) {
                continue;
            }
            let after = affine::written(&block, &before);
            let to = block.successors();
            work.extend(to.map(|pc| (pc, after.clone())));
            let one = Found {
                block,
                over,
                before,
                after,
            };
            found.insert(pc, one);
        }
        found
    }
}

/// Drops continuations that neither have more affine addresses than the plain blocks that they replace nor lead to one that has.
fn retain_gaining(found: &mut BTreeMap<u64, Found>, addresses: &Map<u64, usize>) {
    let gains = |f: &&Found| {
        let plain: usize = f.over.iter().filter_map(|pc| addresses.get(pc)).sum();
        f.block.affine.addresses.len() > plain
    };
    let mut gaining: BTreeSet<u64> = found
        .values()
        .filter(gains)
        .map(|f| f.block.start)
        .collect();
    loop {
        let leads = |f: &&Found| {
            let mut to = f.block.successors();
            !gaining.contains(&f.block.start) && to.any(|pc| gaining.contains(&pc))
        };
        let more: Vec<u64> = found
            .values()
            .filter(leads)
            .map(|f| f.block.start)
            .collect();
        if more.is_empty() {
            break;
        }
        gaining.extend(more);
    }
    found.retain(|pc, _| gaining.contains(pc));
}

#[cfg(test)]
mod tests {
    use super::super::joined::tests::region_of;

    /// Returns the number of affine addresses and the text of each continuation.
    fn continuations(code: &str) -> Vec<(usize, String)> {
        let region = region_of(code);
        let all = region.continuations.iter();
        all.map(|c| (c.affine.addresses.len(), c.to_string()))
            .collect()
    }

    fn affine(text: &str) -> Vec<&str> {
        let lines = text.lines().map(str::trim);
        lines.filter(|l| l.starts_with("affine v")).collect()
    }

    const ROWS: &str = "\
v_lshlrev_b32 v1, 2, v0
v_cmp_gt_u32 vcc, s8, v0
s_and_saveexec_b64 s[4:5], vcc
global_load_dword v2, v1, s[0:1]
s_waitcnt vmcnt(0)
global_store_dword v1, v2, s[2:3]
v_add_u32 v1, s9, v1
s_mov_b64 exec, s[4:5]
s_mov_b64 s[4:5], exec
global_load_dword v2, v1, s[0:1]
s_waitcnt vmcnt(0)
global_store_dword v1, v2, s[2:3]
s_endpgm
";

    #[test]
    fn the_next_row_is_affine_if_all_lanes_had_the_one_before() {
        let found = continuations(ROWS);
        let [(2, text)] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(affine(text), ["affine v1 +4"], "{text}");
        // Only the variant leads there.
        let region = region_of(ROWS);
        let start = region.continuations[0].start;
        for c in &region.blocks {
            let variant = c.all_active.as_ref();
            let leads = variant.is_some_and(|v| v.continued == [start]);
            assert_eq!(leads, c.start == 0, "{c}");
            assert!(c.continued.is_empty(), "{c}");
        }
    }

    /// A loop that lanes leave, and `STEP` of the address.
    const LOOP: &str = "\
v_lshlrev_b32 v1, 2, v0
v_mov_b32 v3, 0
s_mov_b64 s[4:5], 0
again:
global_load_dword v2, v1, s[0:1]
v_add_u32 v3, 1, v3
v_cmp_lt_u32 vcc, s8, v3
s_waitcnt vmcnt(0)
global_store_dword v1, v2, s[2:3]
STEP
s_or_b64 s[4:5], vcc, s[4:5]
s_andn2_b64 exec, exec, s[4:5]
s_cbranch_execnz again
s_mov_b64 exec, -1
global_store_dword v1, v3, s[2:3]
s_endpgm
";

    #[test]
    fn facts_hold_in_all_iterations() {
        let same = continuations(&LOOP.replace("STEP", "v_add_u32 v1, s9, v1"));
        let head = same.iter().find(|c| c.1.contains("branch"));
        let (addresses, text) = head.expect("the loop has a continuation");
        assert_eq!(*addresses, 2, "{text}");
        assert_eq!(affine(text), ["affine v1 +4", "affine v3 +0"], "{text}");
        let region = region_of(&LOOP.replace("STEP", "v_add_u32 v1, s9, v1"));
        let head = region
            .continuations
            .iter()
            .find(|c| c.continued.contains(&c.start));
        assert!(head.is_some(), "an iteration leads to the next one");
        // With another distance after the first iteration, and with an unknown one.
        for step in ["v_lshlrev_b32 v1, 1, v1", "v_add_u32 v1, v1, v2"] {
            let found = continuations(&LOOP.replace("STEP", step));
            let text = found.iter().map(|c| c.1.as_str()).collect::<String>();
            assert!(!affine(&text).contains(&"affine v1 +4"), "{text}");
        }
    }

    #[test]
    fn loops_have_several_rounds() {
        // After the first row, the sum of others.
        let (first, _) = ROWS.rsplit_once("global_load_dword").expect("a load");
        let region = region_of(&format!(
            "v_mov_b32 v3, 0\n{first}again:\nglobal_load_dword v2, v1, s[0:1]\nv_add_u32 v1, s9, v1\ns_add_u32 s7, s7, -1\n\
             s_waitcnt vmcnt(0)\nv_add_u32 v3, v2, v3\ns_cmp_lg_u32 s7, 0\ns_cbranch_scc1 again\n\
             global_store_dword v1, v3, s[2:3]\ns_endpgm\n"
        ));
        let mut all = region.continuations.iter();
        let found = all.find(|c| c.runs_again_if().is_some());
        let one = found.expect("the loop has a continuation");
        let several = one.all_active.as_deref().expect("it has several rounds");
        assert_eq!((one.insns, several.insns), (7, 28), "{several}");
        assert_eq!(several.affine.addresses.len(), 4, "{several}");
        // Both lead to the loop's continuation.
        assert!(
            [one, several]
                .iter()
                .all(|c| c.continued.contains(&c.start))
        );
    }
}
