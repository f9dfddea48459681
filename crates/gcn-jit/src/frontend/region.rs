//! Finds the code of a region and builds its blocks.

use super::calls::{Calls, Constants};
use super::*;
use crate::passes::lane_loop::LaneLoop;
use crate::passes::lane_paths::LanePaths;

/// The maximum number of instructions of a region.
const REGION_INSNS: usize = 16_000;

/// The number of instructions from which on a region does not continue into functions.
const CALLED_INSNS: usize = 8_000;

/// The instructions of a region.
struct Code {
    insns: BTreeMap<u64, InsnInfo>,
    leaders: BTreeSet<u64>,
    live: LiveSets,
    /// The scalar registers that instructions of the region write.
    written: u128,
    calls: Calls,
}

/// Instructions whose blocks can be built again alone: from a leader, or an instruction that does not follow the one before it, to the next one. Of other
/// code they depend only on the usual values of scalars ([`typical::Usual`]).
struct Run {
    /// The addresses from the first instruction to the end of the last one.
    code: Range<u64>,
    /// The number of its blocks.
    blocks: usize,
    /// Its blocks may be longer once it is known which values are affine.
    asked: bool,
}

/// Builds the region at an address: the code that direct jumps and calls reach from there.
pub fn region(entry: u64, s: &CompileRequest<'_>) -> Region {
    let code = Code::find(entry, s);
    let usual = typical::Usual::new(entry, &code.insns, s).map(RefCell::new);
    let usual = usual.as_ref();
    let (mut blocks, runs) = code.blocks(s, usual);
    dump(s, "frontend", &blocks);
    let mut continuations = Vec::new();
    if s.affine {
        let is_live = |pc: u64, v: u16| match code.live.get(pc) {
            Some(live) => live.vgpr(v) != LiveLanes::No,
            None => true,
        };
        let affine_states = |blocks: &[Block]| {
            let state = affine::states(blocks, entry_vgprs(entry, s), &is_live);
            let at = blocks.iter().map(|c| c.start).zip(state.iter().cloned());
            let at: Map<u64, AffineVgprs> = at.collect();
            (state, at)
        };
        let (mut state, mut at) = affine_states(&blocks);
        // The affine analysis needs blocks, and its results may allow longer blocks. In that case runs of blocks are built again.
        if runs.iter().any(|run| run.asked) {
            blocks = code.blocks_again(blocks, runs, s, usual, &at);
            (state, at) = affine_states(&blocks);
        }
        let assumable_of = |blocks: &[Block], state: &[AffineVgprs]| {
            let blocks = blocks.iter().zip(state);
            let kinds = blocks.map(|(c, state)| (c.start, affine::assumable(c, state)));
            kinds
                .filter_map(|(start, kind)| Some((start, kind?)))
                .collect()
        };
        let mut assumable = assumable_of(&blocks, &state);
        let mut loops = code.lane_loops(s, &blocks, entry);
        if !affine::take(&mut blocks, state) {
            // The first blocks have no deferred stores, which need affine addresses.
            blocks = code.blocks(s, usual).0;
            (state, at) = affine_states(&blocks);
            assumable = assumable_of(&blocks, &state);
            loops = code.lane_loops(s, &blocks, entry);
            let taken = affine::take(&mut blocks, state);
            debug_assert!(taken, "a deferred store has no affine address");
        }
        for (at, lane_loop) in loops {
            let part = |c: &&Block| lane_loop.contains(c.start);
            let mut parts = blocks.iter().filter(part);
            // The next blocks rely on the guards, which code for single lanes does not check.
            if parts.all(|c| c.affine.guards.is_empty() && !stores_beside(c)) {
                blocks[at].lane_loop = Some(lane_loop);
            }
        }
        dump(s, "affine", &blocks);
        let tracer = all_active::Tracer {
            insns: &code.insns,
            live: &code.live,
            s,
            state: &at,
            assumable,
            written: code.written,
            calls: &code.calls,
            entry,
            usual,
        };
        if !s.precise && !s.left_out.has(Optional::AllActive) {
            continuations = all_active::add_variants(&tracer, &mut blocks);
        }
        dump(s, "all_active", &blocks);
        dump(s, "all_active", &continuations);
        // Joined variants are not built when accesses are recorded: each access is recorded once, with the EXEC of its block.
        let recorded = s.left_out.has(Optional::Accesses);
        if !s.precise && !recorded && !s.left_out.has(Optional::Joined) {
            tracer.add_joined(&mut blocks);
        }
        dump(s, "joined", &blocks);
        dump(s, "joined", &continuations);
    }
    add_exits(&mut blocks);
    let mut live_in = ([true; 256], !0);
    if let Some(live) = code.live.get(entry) {
        live_in = ([false; 256], live.s);
        for (is_live, &lanes) in live_in.0.iter_mut().zip(live.v) {
            *is_live = lanes != LiveLanes::No;
        }
    }
    let region = Region {
        blocks,
        continuations,
        mode: s.mode,
        live_in,
        precise: s.precise,
        narrow_rows: s.entry.as_ref().is_some_and(|e| e.0[0] == Pattern::Any),
    };
    if cfg!(debug_assertions)
        && let Err(rule) = verify::region(&region)
    {
        panic!("after the frontend: {rule}");
    }
    region
}

/// Returns true if lanes store beside each other, so that one lane soon stores between what others have stored.
fn stores_beside(block: &Block) -> bool {
    /// Two cache lines, in bytes.
    const NEAR: u32 = 128;
    let affine = &block.affine;
    let near = |number: u16| affine.addresses[number as usize].step.unsigned_abs() <= NEAR;
    let mut stores = affine.store.iter().chain(&affine.stores);
    stores.any(|&(number, _)| near(number))
}

fn dump(s: &CompileRequest<'_>, stage: &str, blocks: &[Block]) {
    if let Some(dump) = s.dump {
        dump.blocks(stage, blocks);
    }
}

/// For each jump target without a block, adds a block that leaves to the dispatcher.
fn add_exits(blocks: &mut Vec<Block>) {
    let starts: BTreeSet<u64> = blocks.iter().map(|c| c.start).collect();
    let mut missing = BTreeSet::new();
    for c in &*blocks {
        missing.extend(c.targets().filter(|pc| !starts.contains(pc)));
    }
    for pc in missing {
        blocks.push(Block::empty(pc, Terminator::Leave));
    }
}

/// Returns the VGPRs that are affine at the entry, if the region is for waves that start there.
fn entry_vgprs(entry: u64, s: &CompileRequest<'_>) -> Option<(u64, AffineVgprs)> {
    let vgprs = s.entry.as_ref()?;
    let mut affine: AffineVgprs = s.steps.iter().copied().collect();
    for (n, pattern) in (0..s.vgprs).zip(vgprs.0) {
        match pattern {
            Pattern::Any => continue,
            Pattern::Same => affine.insert(n, 0),
            Pattern::Consecutive => affine.insert(n, 1),
        };
    }
    Some((entry, affine))
}

impl Code {
    /// Follows direct jumps and calls from an address.
    fn find(entry: u64, s: &CompileRequest<'_>) -> Code {
        let mut insns: BTreeMap<u64, InsnInfo> = BTreeMap::new();
        let mut leaders = BTreeSet::from([entry]);
        let (mut work, mut functions) = (vec![entry], Vec::new());
        let mut calls = BTreeMap::new();
        loop {
            let of_functions = insns.len() < CALLED_INSNS;
            let next = work
                .pop()
                .or_else(|| functions.pop().filter(|_| of_functions));
            let Some(mut pc) = next else { break };
            let mut constants = Constants::default();
            while !insns.contains_key(&pc) && insns.len() < REGION_INSNS {
                let Some(insn) = (s.fetch)(pc) else { break };
                let k = analyze(insn, s);
                let next = pc + k.len;
                if let Some(to) = constants.follow(pc, &k)
                    && !s.left_out.has(Optional::Calls)
                {
                    calls.insert(pc, to);
                    leaders.insert(to);
                    functions.push(to);
                }
                let target = k.flow.target(pc, &insn);
                let goes_on = k.flow.falls_through();
                let plain = k.flow == Flow::Next;
                insns.insert(pc, k);
                if let Some(target) = target {
                    leaders.insert(target);
                    work.push(target);
                }
                if !plain {
                    leaders.insert(next);
                }
                if !goes_on {
                    break;
                }
                pc = next;
            }
        }
        let calls = Calls::of(&insns, &calls);
        modes::follow(entry, &mut insns, &leaders, &calls, s);
        indexing::find_sequences(&mut insns, &leaders, s);
        Code {
            calls,
            live: liveness(&insns, s),
            written: insns.values().fold(0, |all, k| all | k.swrites),
            insns,
            leaders,
        }
    }

    /// Returns the runs of the code.
    fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (&pc, k) in &self.insns {
            let next = pc + k.len;
            match runs.last_mut() {
                Some(run) if run.code.end == pc && !self.leaders.contains(&pc) => {
                    run.code.end = next;
                }
                _ => runs.push(Run {
                    code: pc..next,
                    blocks: 0,
                    asked: false,
                }),
            }
        }
        runs
    }

    /// Returns the blocks of the code, and the runs that they are built from.
    fn blocks(
        &self,
        s: &CompileRequest<'_>,
        usual: Option<&RefCell<typical::Usual>>,
    ) -> (Vec<Block>, Vec<Run>) {
        let mut b = self.builder(s, usual);
        let mut blocks = Vec::new();
        let mut runs = self.runs();
        for run in &mut runs {
            let before = blocks.len();
            self.build(&mut b, run, &mut blocks);
            run.blocks = blocks.len() - before;
            run.asked = b.asked.take();
        }
        (blocks, runs)
    }

    /// Builds the blocks of the runs that asked for affine values again. `affine` has the VGPRs that are affine at the starts of blocks.
    fn blocks_again(
        &self,
        before: Vec<Block>,
        runs: Vec<Run>,
        s: &CompileRequest<'_>,
        usual: Option<&RefCell<typical::Usual>>,
        affine: &Map<u64, AffineVgprs>,
    ) -> Vec<Block> {
        let mut b = Builder {
            affine: Some(affine),
            ..self.builder(s, usual)
        };
        let mut before = before.into_iter();
        let mut blocks = Vec::new();
        for run in &runs {
            let of_run = before.by_ref().take(run.blocks);
            match run.asked {
                true => {
                    of_run.for_each(drop);
                    self.build(&mut b, run, &mut blocks);
                }
                false => blocks.extend(of_run),
            }
        }
        blocks
    }

    /// Returns the loops that can run for one lane after the other, with the positions of their first blocks. A loop is one block, or it would be one if
    /// it did not store after it has loaded, or several.
    fn lane_loops(
        &self,
        s: &CompileRequest<'_>,
        blocks: &[Block],
        entry: u64,
    ) -> Vec<(usize, Box<LoopBlocks>)> {
        if s.precise || s.left_out.has(Optional::LaneLoops) {
            return Vec::new();
        }
        let single = |c: &Block| {
            Box::new(LoopBlocks {
                blocks: vec![c.clone()],
                live: !0,
                scc: true,
            })
        };
        let possible = |c: &&Block| LaneLoop::of(c).is_some();
        let copies = blocks.iter().enumerate().filter(|(_, c)| possible(c));
        let mut loops: Vec<_> = copies.map(|(at, c)| (at, single(c))).collect();
        for run in self.runs() {
            if loops.iter().all(|l| l.1.blocks[0].start != run.code.start)
                && let Some(block) = self.storing_loop(run, s)
                && let Some(at) = blocks.iter().position(|c| c.start == block.start)
            {
                loops.push((at, single(&block)));
            }
        }
        for of_several in loops::of_several_blocks(blocks, entry) {
            let of_several: Vec<_> = of_several.iter().map(|&k| &blocks[k]).collect();
            let first = of_several[0].start;
            // Where an iteration begins, and where waves continue after the loop.
            let outside = |pc: &u64| *pc == first || of_several.iter().all(|c| c.start != *pc);
            let live_at = |pc: u64| self.live.get(pc).map_or((!0, true), |l| (l.s, l.scc));
            let targets = of_several.iter().flat_map(|c| c.targets());
            let ends = targets.filter(outside).map(live_at);
            let (live, scc) = ends.fold((0, false), |all, l| (all.0 | l.0, all.1 | l.1));
            let found = LoopBlocks {
                blocks: of_several.into_iter().cloned().collect(),
                live,
                scc,
            };
            if let Some(at) = blocks.iter().position(|c| c.start == first)
                && loops.iter().all(|l| l.1.blocks[0].start != first)
                && LanePaths::of(&found).is_some()
            {
                loops.push((at, Box::new(found)));
            }
        }
        loops
    }

    /// Returns a run as the block of a loop that stores, if it can run for one lane after the other.
    fn storing_loop(&self, run: Run, s: &CompileRequest<'_>) -> Option<Block> {
        /// The most instructions of such a loop.
        const MOST: u64 = 100;
        let Range { start, end } = run.code;
        let (&last, k) = self.insns.range(..end).next_back()?;
        let again = k.flow.target(last, &k.insn) == Some(start);
        let is_store = |e: &gcn_isa::meaning::Effect| matches!(e.change, Change::Store(..));
        let stores = |k: &InsnInfo| k.parts.row.program.effects.iter().any(is_store);
        let mut code = self.insns.range(start..end);
        if !again || end - start > 4 * MOST || !code.any(|(_, k)| stores(k)) {
            return None;
        }
        let mut b = Builder {
            by_lane: true,
            ..self.builder(s, None)
        };
        let mut blocks = Vec::new();
        self.try_to_build(&mut b, &run, &mut blocks);
        let block = blocks.pop().filter(|_| blocks.is_empty())?;
        let stores = block.effects.store.is_some() && b.failed_spans.is_empty();
        (stores && LaneLoop::of(&block).is_some()).then_some(block)
    }

    fn builder<'a>(
        &'a self,
        s: &'a CompileRequest<'a>,
        usual: Option<&'a RefCell<typical::Usual>>,
    ) -> Builder<'a> {
        Builder {
            usual,
            calls: Some(&self.calls),
            written: self.written,
            ..Builder::new(s)
        }
    }

    /// Builds the blocks of a run.
    fn build(&self, b: &mut Builder<'_>, run: &Run, blocks: &mut Vec<Block>) {
        let first = blocks.len();
        loop {
            self.try_to_build(b, run, blocks);
            let failed = std::mem::take(&mut b.failed_spans);
            if failed.is_empty() {
                return;
            }
            modes::split(&self.insns, &failed);
            blocks.truncate(first);
        }
    }

    /// [`Code::build`]; leaves the spans that no block may contain in the builder.
    fn try_to_build(&self, b: &mut Builder<'_>, run: &Run, blocks: &mut Vec<Block>) {
        b.regs.known.clear();
        let mut next = run.code.start;
        for (&pc, k) in self.insns.range(run.code.clone()) {
            if pc != next {
                // An instruction of another run begins within one of this run.
                continue;
            }
            next = pc + k.len;
            if b.code.insns >= BLOCK_INSNS {
                b.finish(Terminator::Jump(b.code.end), &self.live, blocks);
            }
            if b.code.insns == 0 {
                b.code.start = pc;
                b.code.end = pc;
            }
            b.step(pc, k, &self.live, blocks);
        }
        if b.code.insns > 0 {
            b.finish(Terminator::Jump(b.code.end), &self.live, blocks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::joined::tests::region_of;
    use super::*;

    /// The literal of `s_mov_b32` is `s_endpgm`, and the branch leads to it.
    const WITHIN_A_LITERAL: &str = "\
s_cbranch_scc1 1
s_mov_b32 s0, 0xbf810000
s_endpgm
";

    #[test]
    fn an_instruction_that_begins_within_another_is_a_block_of_its_own() {
        let region = region_of(WITHIN_A_LITERAL);
        let blocks = region.blocks.iter();
        let blocks: Vec<_> = blocks.map(|c| (c.start, c.end, c.insns)).collect();
        assert_eq!(blocks, [(0, 4, 1), (4, 12, 1), (8, 12, 1), (12, 16, 1)]);
        assert!(matches!(region.blocks[1].terminator, Terminator::Jump(12)));
        assert!(matches!(region.blocks[2].terminator, Terminator::End));
    }
    /// Returns whether the loop at `again` can run for one lane after the other.
    fn runs_lane_by_lane(body: &str) -> bool {
        let code = format!(
            "v_lshlrev_b32 v4, 3, v1\ns_mov_b64 s[8:9], 0\nagain:\n{body}s_mov_b64 exec, -1\nglobal_store_dword v0, v2, s[0:1]\ns_endpgm\n"
        );
        let region = region_of(&code);
        region.blocks.iter().any(|c| c.lane_loop.is_some())
    }

    const LOAD: &str = "global_load_dword v3, v4, s[0:1]\ns_waitcnt vmcnt(0)\nv_add_u32 v2, v2, v3\nv_and_b32 v4, 0xffc, v3\n";
    const STORE: &str = "global_store_dword v4, v2, s[0:1]\n";
    /// Lanes leave the loop if v2 is odd.
    const ODD: &str = "v_and_b32 v5, 1, v2\nv_cmp_eq_u32 vcc, 1, v5\ns_or_b64 s[8:9], vcc, s[8:9]\ns_andn2_b64 exec, exec, s[8:9]\ns_cbranch_execnz again\n";

    #[test]
    fn loops_without_branches_run_lane_by_lane() {
        let counted = "s_sub_u32 s6, s6, 1\ns_cmp_lg_u32 s6, 0\ns_cbranch_scc1 again\n";
        let alike = "v_cmp_lt_u32 vcc, v2, v0\ns_and_b64 vcc, exec, vcc\ns_cbranch_vccnz again\n";
        for end in [ODD, counted, alike] {
            assert!(runs_lane_by_lane(&format!("{LOAD}{end}")), "{end}");
            assert!(runs_lane_by_lane(&format!("{LOAD}{STORE}{end}")), "{end}");
        }
        assert!(runs_lane_by_lane(&format!(
            "v_add_u32 v2, v2, v4\n{STORE}{ODD}"
        )));
        // It loads after it has stored, or stores twice: these are several blocks.
        for several in [
            "global_store_dword v4, v2, s[0:1]\nglobal_load_dword v6, v4, s[0:1]\ns_waitcnt vmcnt(0)\nv_add_u32 v2, v6, v2\n",
            "global_store_dword v4, v2, s[0:1]\nglobal_store_dword v4, v2, s[2:3] offset:4\n",
        ] {
            assert!(
                runs_lane_by_lane(&format!("{LOAD}{several}{ODD}")),
                "{several}"
            );
        }
        for other in [
            // Lanes store to LDS.
            "ds_write_b32 v4, v2\n",
            // A lane's value comes from another lane.
            "v_mov_b32 v2, v3 row_shr:1\n",
            "v_readfirstlane_b32 s7, v3\nv_add_u32 v2, s7, v2\n",
            // A number of a mask's bits is no bit of a lane.
            "v_cmp_lt_u32 vcc, v2, v0\ns_bcnt1_i32_b64 s7, vcc\nv_add_u32 v2, s7, v2\n",
            // These bits change as long as any lane is in the loop.
            "v_cmp_lt_u32 vcc, v2, v0\ns_xnor_b64 s[10:11], s[10:11], vcc\nv_cndmask_b32 v2, v2, v3, s[10:11]\n",
        ] {
            assert!(
                !runs_lane_by_lane(&format!("{LOAD}{other}{ODD}")),
                "{other}"
            );
        }
        assert!(!runs_lane_by_lane(&format!("v_add_u32 v2, v2, v4\n{ODD}")));
    }

    #[test]
    fn loops_with_branches_run_lane_by_lane() {
        const IF: &str = "v_cmp_lt_u32 vcc, v2, v0\ns_and_saveexec_b64 s[12:13], vcc\n";
        const END: &str = "s_or_b64 exec, exec, s[12:13]\n";
        let within = |then: &str| format!("{IF}s_cbranch_execz over\n{then}over:\n{END}");
        let loads = "global_load_dword v6, v4, s[2:3]\ns_waitcnt vmcnt(0)\nv_add_u32 v2, v6, v2\n";
        let otherwise = "s_xor_b64 s[12:13], exec, s[12:13]\ns_cbranch_execz else\nv_add_u32 v2, 3, v2\nelse:\n\
                         s_or_saveexec_b64 s[12:13], s[12:13]\ns_xor_b64 exec, exec, s[12:13]\n";
        for body in [
            within(loads),
            within(STORE),
            // Without a branch.
            format!("{IF}{loads}{END}"),
            format!("{IF}{otherwise}{loads}{END}"),
            // For all lanes alike.
            format!("s_bitcmp1_b32 s6, 0\ns_cbranch_scc1 over\n{loads}over:\n"),
        ] {
            assert!(runs_lane_by_lane(&format!("{LOAD}{body}{ODD}")), "{body}");
        }
        // Lanes leave the loop in its middle.
        let middle = ODD.replace("s_cbranch_execnz again", "s_cbranch_execz left");
        let middle = format!("{LOAD}{middle}{loads}s_branch again\nleft:\n");
        assert!(runs_lane_by_lane(&middle));
        // Some leave it there, the others at its end, and all go the same way.
        let both = format!(
            "{LOAD}v_cmp_lt_u32 vcc, v2, v0\ns_mov_b64 s[14:15], -1\ns_and_saveexec_b64 s[12:13], vcc\ns_cbranch_execz over\n{loads}\
             v_cmp_eq_u32 vcc, 1, v2\ns_orn2_b64 s[14:15], vcc, exec\nover:\n{END}s_and_b64 s[14:15], exec, s[14:15]\n\
             s_or_b64 s[8:9], s[14:15], s[8:9]\ns_andn2_b64 exec, exec, s[8:9]\ns_cbranch_execnz again\n"
        );
        assert!(runs_lane_by_lane(&both));
        for body in [
            // Bits of lanes change that are inactive: those which skip the block, or have left the loop.
            within(
                "v_cmp_lt_u32 vcc, v3, v0\ns_xnor_b64 s[10:11], s[10:11], vcc\nv_cndmask_b32 v2, v2, v3, s[10:11]\n",
            ),
            format!(
                "{}v_cmp_lt_u32 vcc, v3, v0\ns_xnor_b64 s[10:11], s[10:11], vcc\nv_cndmask_b32 v2, v2, v3, s[10:11]\n",
                within(loads)
            ),
            // A scalar counts the lanes' ways.
            within("s_add_u32 s6, s6, 1\nv_add_u32 v2, s6, v2\n"),
            // Inactive lanes become active.
            format!("{}s_mov_b64 exec, -1\n", within(loads)),
            // The loop is left in two ways.
            format!(
                "{}s_bitcmp1_b32 s6, 0\ns_cbranch_scc1 left\n{}",
                within(loads),
                ODD.replace("s_cbranch_execnz again", "s_cbranch_execnz again\nleft:")
            ),
            // Whether some lane's number is odd is no branch of a lane.
            "v_cmp_eq_u32 vcc, 1, v5\ns_cbranch_vccz over\nv_add_u32 v2, 1, v2\nover:\n".into(),
        ] {
            assert!(!runs_lane_by_lane(&format!("{LOAD}{body}{ODD}")), "{body}");
        }
    }

    /// Each mask is computed from two that were before, in two ways: 2^60 ways in all.
    #[test]
    fn masks_are_computed_once() {
        const STEP: &str = "s_and_b64 s[26:27], s[28:29], s[10:11]\ns_or_b64 s[28:29], s[26:27], s[28:29]\ns_xor_b64 s[10:11], s[26:27], s[28:29]\n";
        let chain = format!(
            "v_cmp_eq_u32 vcc, 1, v2\ns_mov_b64 s[28:29], vcc\n{}",
            STEP.repeat(30)
        );
        for branch in ["", "s_cbranch_execz over\nv_add_u32 v2, 1, v2\nover:\n"] {
            let code = format!("{LOAD}{chain}{branch}v_cndmask_b32 v2, v2, v3, s[10:11]\n{ODD}");
            // The bits of lanes that have left the loop may be cleared.
            assert!(runs_lane_by_lane(&code));
        }
    }
}
