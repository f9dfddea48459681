//! Whole programs on the machine: every committed object of testdata/programs, which compilers made for every generation,
//! code object version, library and ABI, against what the host computes.

mod programs;

use gcn_object::CodeObject;
use programs::Made;
use std::path::PathBuf;

/// Runs all objects whose target begins so, and returns how many launches were right.
fn run(targets: &[&str]) -> usize {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/programs/objects");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let cases = programs::cases();
    let (mut right, mut wrong) = (0, Vec::new());
    for file in files {
        // The source, the target, the library, the version where it is not Mesa's, the level.
        let name = file.file_stem().unwrap().to_str().unwrap().to_string();
        let parts: Vec<&str> = name.split('-').collect();
        let (source, target, library) = (parts[0], parts[1], parts[2]);
        if !targets.contains(&target) {
            continue;
        }
        let version = parts[3].strip_prefix('v').map_or(2, |v| v.parse().unwrap());
        let made = Made {
            target,
            library,
            version,
        };
        let object = CodeObject::parse(&std::fs::read(&file).unwrap()).unwrap();
        for case in cases
            .iter()
            .filter(|c| c.file == source && (c.needs)(&made))
        {
            for threads in [1, 3] {
                match case.run(&object, threads) {
                    Ok(_) => right += 1,
                    Err(why) => {
                        wrong.push(format!("{name}, {threads} threads: {}: {why}", case.kernel))
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    right
}

#[test]
fn gfx6() {
    assert!(run(&["gfx600"]) >= 30);
}

#[test]
fn gfx7() {
    assert!(run(&["gfx700", "gfx701"]) >= 30);
}

#[test]
fn gfx8() {
    assert!(run(&["gfx803"]) >= 30);
}

#[test]
fn gfx900() {
    assert!(run(&["gfx900"]) >= 30);
}

#[test]
fn gfx906() {
    assert!(run(&["gfx906"]) >= 30);
}

#[test]
fn mesa() {
    assert!(run(&["tahiti", "bonaire", "tonga"]) >= 20);
}
