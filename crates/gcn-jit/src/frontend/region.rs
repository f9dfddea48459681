//! Finds the code of a region and builds its blocks.

use super::*;

/// The maximum number of instructions of a region.
const REGION_INSNS: usize = 16_000;

/// The instructions of a region.
struct Code {
    insns: BTreeMap<u64, InsnInfo>,
    leaders: BTreeSet<u64>,
    live: LiveSets,
    /// The scalar registers that instructions of the region write.
    written: u128,
}

/// Builds the region at an address: the code that direct jumps reach from there.
pub fn region(entry: u64, s: &CompileRequest<'_>) -> Region {
    let code = Code::find(entry, s);
    let usual = typical::Usual::new(entry, &code.insns, s).map(RefCell::new);
    let usual = usual.as_ref();
    let (mut blocks, asked) = code.blocks(s, usual, None);
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
        let (state, at) = affine_states(&blocks);
        // The affine analysis needs blocks, and its results may allow longer blocks. In that case the blocks are built again.
        let mut longer = None;
        if asked {
            let mut again = code.blocks(s, usual, Some(&at)).0;
            let (state, at) = affine_states(&again);
            longer = affine::take(&mut again, state).then_some((again, at));
        }
        let at = match longer {
            Some((again, at)) => {
                blocks = again;
                at
            }
            None => {
                // The first blocks have no deferred stores.
                let taken = affine::take(&mut blocks, state);
                debug_assert!(taken, "a deferred store has no affine address");
                at
            }
        };
        dump(s, "affine", &blocks);
        let tracer = all_active::Tracer {
            insns: &code.insns,
            live: &code.live,
            s,
            state: &at,
            written: code.written,
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
    };
    if cfg!(debug_assertions)
        && let Err(rule) = verify::region(&region)
    {
        panic!("after the frontend: {rule}");
    }
    region
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
    /// Follows direct jumps from an address.
    fn find(entry: u64, s: &CompileRequest<'_>) -> Code {
        let mut insns: BTreeMap<u64, InsnInfo> = BTreeMap::new();
        let mut leaders = BTreeSet::from([entry]);
        let mut work = vec![entry];
        while let Some(mut pc) = work.pop() {
            while !insns.contains_key(&pc) && insns.len() < REGION_INSNS {
                let Some(insn) = (s.fetch)(pc) else { break };
                let k = analyze(insn, s);
                let next = pc + k.len;
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
        modes::follow(entry, &mut insns, &leaders, s);
        indexing::find_sequences(&mut insns, &leaders, s);
        Code {
            live: liveness(&insns, s),
            written: insns.values().fold(0, |all, k| all | k.swrites),
            insns,
            leaders,
        }
    }

    /// Returns the blocks of the code. `affine` has the VGPRs that are affine at the starts of blocks, if the affine analysis
    /// has run. Also returns whether the blocks may change once it has.
    fn blocks(
        &self,
        s: &CompileRequest<'_>,
        usual: Option<&RefCell<typical::Usual>>,
        affine: Option<&Map<u64, AffineVgprs>>,
    ) -> (Vec<Block>, bool) {
        loop {
            let (blocks, asked, failed) = self.try_blocks(s, usual, affine);
            if failed.is_empty() {
                return (blocks, asked);
            }
            modes::split(&self.insns, &failed);
        }
    }

    /// [`Code::blocks`]; returns also the spans that no block may contain.
    fn try_blocks(
        &self,
        s: &CompileRequest<'_>,
        usual: Option<&RefCell<typical::Usual>>,
        affine: Option<&Map<u64, AffineVgprs>>,
    ) -> (Vec<Block>, bool, BTreeSet<u64>) {
        let mut blocks = Vec::new();
        let mut b = Builder {
            affine,
            usual,
            written: self.written,
            ..Builder::new(s)
        };
        let mut code = self.insns.iter().peekable();
        while let Some((&pc, k)) = code.next() {
            let next = pc + k.len;
            let begins = self.leaders.contains(&pc) || b.code.end != pc;
            if b.code.insns > 0 && (begins || b.code.insns >= BLOCK_INSNS) {
                b.finish(Terminator::Jump(b.code.end), &self.live, &mut blocks);
            }
            if begins {
                b.regs.known.clear();
            }
            if b.code.insns == 0 {
                b.code.start = pc;
                b.code.end = pc;
            }
            b.step(pc, k, &self.live, &mut blocks);
            let last = code.peek().is_none_or(|&(&after, _)| after != next);
            if b.code.insns > 0 && last {
                let to = b.code.end;
                b.finish(Terminator::Jump(to), &self.live, &mut blocks);
            }
        }
        (blocks, b.asked.get(), b.failed_spans)
    }
}
