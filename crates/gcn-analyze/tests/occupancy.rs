//! Compares the occupancy with the figures that LLVM's compilers print.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gcn_analyze::chip::Chip;
use gcn_analyze::occupancy::Occupancy;
use gcn_analyze::{Options, analyze};
use gcn_isa::access::InstructionTable;
use gcn_isa::target::{Gen, Target};
use gcn_object::read::CodeObject;

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata")
        .join(name)
}

/// Returns true if LLVM's figure differs from the hardware's (docs/analyze.md).
fn differs(generation: Gen, sgprs: u32, lds: u64) -> bool {
    match generation {
        // LLVM takes a compute unit's LDS to be as large as a workgroup's maximum.
        Gen::Gfx6 if lds > 0 => true,
        // LLVM assumes that no wave has more than 96.
        Gen::Gfx6 | Gen::Gfx7 => sgprs > 96,
        // LLVM does not round up to the granule of 16.
        Gen::Gfx8 | Gen::Gfx9 => (81..=88).contains(&sgprs) || (97..=100).contains(&sgprs),
    }
}

#[test]
fn figures_of_compiled_kernels() {
    let text =
        std::fs::read_to_string(testdata("vectors/occupancy.tsv")).expect("the file is there");
    let mut compared = 0;
    for line in text.lines().filter(|l| !l.starts_with('#')).skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let n: Vec<u32> = cells[1..]
            .iter()
            .map(|c| c.parse().expect("a number"))
            .collect();
        let [vgprs, sgprs, lds, workgroup, waves] = n[..] else {
            panic!("{line}");
        };
        let target = Target::parse(cells[0]).expect("a target");
        // The first waves of these chips need initialized SGPRs; each wave gets 96.
        let fixed = target.name() == "gfx802";
        let generation = target.generation();
        if differs(generation, sgprs, lds.into()) {
            continue;
        }
        let o = Occupancy::new(
            generation,
            vgprs,
            sgprs,
            lds.into(),
            workgroup.into(),
            fixed,
        );
        assert_eq!(o.waves(), waves, "{line}: {o:?}");
        compared += 1;
    }
    assert!(compared > 150, "{compared} lines");
}

/// The kernels of testdata/kernels, whose objects are in the same folder as the assembly that states their occupancy.
#[test]
fn committed_kernels() {
    let mut compared = 0;
    for entry in std::fs::read_dir(testdata("kernels")).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "s") {
            continue;
        }
        let mut printed = BTreeMap::new();
        let mut name = None;
        let text = std::fs::read_to_string(&path).expect("text");
        for line in text.lines() {
            if let Some(kernel) = line.trim().strip_prefix(".amdhsa_kernel ") {
                name = Some(kernel.to_string());
            } else if let (Some(waves), Some(name)) = (line.strip_prefix("; Occupancy: "), &name) {
                printed.insert(name.clone(), waves.parse::<u32>().expect("a number"));
            }
        }
        let bytes = std::fs::read(path.with_extension("co")).expect("the object");
        let object = CodeObject::parse(&bytes).expect("it can be read");
        let target = Target::parse(object.target_name()).expect("a target");
        let options = Options {
            kernel: None,
            chip: Some(Chip::of(target)),
            line: &|_, _| None,
        };
        let kernels = analyze(&object, &InstructionTable::new(target), &options).expect("kernels");
        assert_eq!(kernels.len(), printed.len());
        for kernel in kernels {
            let waves = kernel.occupancy.expect("a kernel's").occupancy.waves();
            assert_eq!(
                waves,
                printed[&kernel.name],
                "{} {}",
                path.display(),
                kernel.name
            );
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared} kernels");
}
