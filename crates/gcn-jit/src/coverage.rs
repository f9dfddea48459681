//! Which instructions are not compiled, as a guide for extending the compiler. A test names the vector ALU instructions that are left to the
//! interpreter. `OBJECTS=DIR cargo test -p gcn-jit --lib coverage
//! --
//! --ignored --nocapture` counts, over the code objects of a directory, the instructions that are left to the interpreter, those
//! that call helpers for all lanes, and the memory accesses whose addresses are affine.

use crate::frontend;
use crate::frontend::CompileRequest;
use crate::ir::Inst;
use crate::ir::region::Terminator;
use crate::passes::affine;
use crate::target::{Level, x64};
use gcn_emu::engine::{EntryVgprs, Pattern};
use gcn_isa::Target;
use gcn_isa::decode::{Insn, decode};
use gcn_isa::encode::Encoder;
use gcn_isa::format::{Encoding, Field, Format};
use gcn_isa::insts;
use gcn_object::CodeObject;
use std::collections::{BTreeMap, BTreeSet};

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

/// Code of waves that start, with all VGPRs.
fn request<'a>(
    target: Target,
    mode: u32,
    fetch: &'a dyn Fn(u64) -> Option<Insn>,
) -> CompileRequest<'a> {
    let start = EntryVgprs([Pattern::Consecutive, Pattern::Same, Pattern::Same]);
    CompileRequest {
        vgprs: 256,
        entry: Some(start),
        affine: true,
        ..CompileRequest::plain(target, mode, fetch)
    }
}

impl Counts {
    /// Adds the region of waves that start at an address of code.
    fn add(&mut self, target: Target, at: u64, code: &[u8]) {
        let fetch = |pc: u64| decode(target, code.get((pc.checked_sub(at)?) as usize..)?);
        let region = frontend::region(at, &request(target, 0x3f0, &fetch));
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

/// Returns the names of the vector ALU instructions that are left to the interpreter in a MODE, if their sources are VGPRs. All levels must
/// have code for the others, also those that this host lacks.
fn left_to_the_interpreter(target: Target, mode: u32) -> BTreeSet<&'static str> {
    let vector = [
        Format::Vop1,
        Format::Vop2,
        Format::Vop3,
        Format::Vop3p,
        Format::Vopc,
    ];
    let mut left = BTreeSet::new();
    for row in insts::all().filter(|row| vector.contains(&row.format)) {
        let encodings = [Encoding::Vop3p, Encoding::Vop3, Encoding::Vop3b];
        let encoders = encodings.iter();
        let mut encoders = encoders.filter_map(|&e| Encoder::new(row, e, target));
        let Some(mut e) = encoders.next() else {
            continue;
        };
        let operands = [(Field::Src0, 258), (Field::Src1, 260), (Field::Src2, 262)];
        for (field, value) in operands.into_iter().chain([(Field::Vdst, 10)]) {
            e.set(field, value);
        }
        let mut code = e.bits.to_le_bytes().to_vec();
        code.extend(0xbf81_0000u32.to_le_bytes());
        let fetch = |pc: u64| decode(target, code.get(pc as usize..)?);
        if fetch(0).is_none_or(|insn| insn.row.name != row.name) {
            continue;
        }
        let region = frontend::region(0, &request(target, mode, &fetch));
        let first = region.blocks.iter().find(|block| block.start == 0);
        if first.is_none_or(|b| matches!(b.terminator, Terminator::Interpret { .. })) {
            left.insert(row.name);
        }
        for level in Level::ALL {
            let emitted = x64::emit(&region, x64::Style::plain(level), None);
            assert!(emitted.is_ok(), "{} {level:?} {mode:#x}", row.name);
        }
    }
    left
}

/// Compilers flush the denormals of f32 before gfx9 and keep them on gfx9; shaders for graphics disable IEEE. None of these MODEs may leave more
/// instructions to the interpreter than the first one, which keeps all denormals, with IEEE.
#[test]
fn usual_modes_leave_no_more_to_the_interpreter() {
    // Some of these need operands in SGPRs, so they are refused with VGPRs as sources.
    let old = "v_addc_u32 v_clrexcp v_cndmask_b32 v_subb_u32 v_subbrev_u32 v_trig_preop_f64";
    let expected = BTreeMap::from([
        ("gfx600", old),
        ("gfx701", old),
        (
            "gfx803",
            "v_addc_u32 v_clrexcp v_cmp_class_f16 v_cmpx_class_f16 v_cndmask_b32 v_interp_p1ll_f16 \
             v_interp_p1lv_f16 v_interp_p2_f16 v_mac_f16 v_mad_f16 v_readlane_b32 v_subb_u32 \
             v_subbrev_u32 v_trig_preop_f64 v_writelane_b32",
        ),
        (
            "gfx900",
            "v_interp_p1ll_f16 v_interp_p1lv_f16 v_interp_p2_f16 \
             v_interp_p2_legacy_f16 v_mad_f16 v_mad_legacy_f16 v_mad_mixhi_f16 v_mad_mixlo_f16 \
             v_readlane_b32 v_readlane_regrd_b32 v_trig_preop_f64 v_writelane_b32",
        ),
    ]);
    for name in ["gfx600", "gfx701", "gfx803", "gfx900"] {
        let target = Target::parse(name).expect("a target");
        let first = left_to_the_interpreter(target, 0x3f0);
        let left = first.iter().copied().collect::<Vec<_>>().join(" ");
        assert_eq!(left, expected[name]);
        for mode in [0x3c0, 0x1f0, 0x1c0] {
            let left = left_to_the_interpreter(target, mode);
            let more: Vec<_> = left.difference(&first).copied().collect();
            // These are computed in f64, whose conversion to f16 makes a signalling NaN quiet.
            let expected: &[&str] = match (name, mode & 0x200) {
                ("gfx803", 0) => &[
                    "v_cos_f16",
                    "v_exp_f16",
                    "v_log_f16",
                    "v_rsq_f16",
                    "v_sin_f16",
                ],
                _ => &[],
            };
            assert_eq!(more, expected, "{name}, MODE {mode:#x}");
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
