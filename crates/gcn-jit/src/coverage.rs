//! Counts the instructions of kernels that are not compiled, as a guide for extending the compiler: `OBJECTS=DIR cargo test -p gcn-jit --lib coverage
//! --
//! --ignored --nocapture` counts, over the code objects of a directory, the instructions that are left to the interpreter, those
//! that call helpers for all lanes, and the memory accesses whose addresses are affine.

use crate::frontend;
use crate::frontend::instruction_table;
use crate::ir::Inst;
use crate::ir::region::Terminator;
use crate::passes::affine;
use gcn_emu::engine::{EntryVgprs, Pattern};
use gcn_isa::Target;
use gcn_isa::decode::decode;
use gcn_object::CodeObject;
use std::collections::BTreeMap;

#[derive(Default)]
struct Counts {
    interpreted: BTreeMap<String, usize>,
    blamed: BTreeMap<String, usize>,
    helpers: BTreeMap<String, usize>,
    affine_loads: usize,
    other_loads: usize,
    affine_stores: usize,
    other_stores: usize,
    instructions: u32,
}

impl Counts {
    /// Adds the region of waves that start at an address of code.
    fn add(&mut self, target: Target, at: u64, code: &[u8]) {
        let fetch = |pc: u64| decode(target, code.get((pc.checked_sub(at)?) as usize..)?);
        let start = EntryVgprs([Pattern::Consecutive, Pattern::Same, Pattern::Same]);
        let region = frontend::region(
            at,
            &frontend::CompileRequest {
                target,
                mode: 0x3f0,
                vgprs: 256,
                all_live: false,
                precise: false,
                entry: Some(start),
                affine: true,
                distrusted: Default::default(),
                left_out: Default::default(),
                steps: Vec::new(),
                sgprs: [0; 128],
                typical: None,
                guessed: Default::default(),
                table: instruction_table(target),
                dump: None,
                fetch: &fetch,
            },
        );
        // Kernels that call functions missing from the object do not run.
        if region.blocks.iter().any(|b| b.start == 0) {
            return;
        }
        for block in &region.blocks {
            let name = || fetch(block.start).map_or("?", |i| i.row.name).to_owned();
            self.instructions += block.insns;
            if matches!(block.terminator, Terminator::Interpret { .. }) {
                *self.interpreted.entry(name()).or_default() += 1;
            }
            let e = &block.effects;
            if let Some(call) = &e.wave_helper {
                let kind = format!("{:?}", call.helper);
                let kind = kind.split([' ', '{', '(']).next().unwrap_or_default();
                *self.helpers.entry(kind.to_owned()).or_default() += 1;
            }
            for node in block.graph.iter().filter(|n| n.vec) {
                match node.op {
                    Inst::AffineLoad { .. } => self.affine_loads += 1,
                    Inst::Group { space, .. } => {
                        self.other_loads += 1;
                        let why = affine::blamed(&block.graph, &block.affine.state, node.args[0]);
                        let upper = affine::blamed(&block.graph, &block.affine.state, node.args[1]);
                        let why = format!("{space:?} {why}; upper half: {upper}");
                        *self.blamed.entry(why).or_default() += 1;
                    }
                    _ => {}
                }
            }
            let a = &block.affine;
            let affine = a.store.is_some() as usize + a.stores.len();
            self.affine_stores += affine;
            let all = e.store.is_some() as usize + e.deferred_stores.len() + e.rows.len();
            self.other_stores += all - affine;
        }
    }
}

#[test]
#[ignore = "prints figures about the objects of a directory"]
fn coverage() {
    let folder = std::env::var("OBJECTS").expect("OBJECTS is a directory of code objects");
    let mut all = Counts::default();
    let mut kernels = 0;
    for entry in std::fs::read_dir(folder).expect("a directory") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        let Ok(object) = CodeObject::parse(&bytes) else {
            continue;
        };
        let Some(target) = Target::parse(object.target_name()) else {
            continue;
        };
        for kernel in &object.kernels {
            let of = |s: &gcn_object::read::Segment| {
                (s.address..s.address + s.file.len() as u64).contains(&kernel.entry)
            };
            let segment = object.segments.iter().position(of).expect("a segment");
            let from = (kernel.entry - object.segments[segment].address) as usize;
            all.add(target, kernel.entry, &object.segment_data(segment)[from..]);
            kernels += 1;
        }
    }
    println!("{kernels} kernels, {} instructions", all.instructions);
    let (a, b, c, d) = (
        all.affine_loads,
        all.other_loads,
        all.affine_stores,
        all.other_stores,
    );
    println!("loads: {a} affine, {b} other; stores: {c} affine, {d} other");
    for (title, counts) in [
        ("interpreted", &all.interpreted),
        ("helpers", &all.helpers),
        ("why addresses are not affine", &all.blamed),
    ] {
        let mut counts: Vec<_> = counts.iter().collect();
        counts.sort_by_key(|c| std::cmp::Reverse(c.1));
        println!("{title}:");
        for (name, n) in counts {
            println!("  {n:6} {name}");
        }
    }
}
