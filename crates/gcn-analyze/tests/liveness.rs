//! Compares liveness with another algorithm, over all committed code objects: from each read of a register, a walk against the
//! control flow until an instruction replaces the register.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use gcn_analyze::liveness::{Bound, liveness};
use gcn_check::code::Graph;
use gcn_check::registers::RegisterSet;
use gcn_check::statically::roots;
use gcn_isa::access::{File, InstructionTable, RegAccess};
use gcn_isa::operand::EXEC;
use gcn_isa::target::Target;
use gcn_object::read::CodeObject;

fn objects(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            objects(&path, found);
        } else if path.extension().is_some_and(|e| e == "co" || e == "o") {
            found.push(path);
        }
    }
}

fn registers(access: &RegAccess) -> impl Iterator<Item = (File, u16)> + use<> {
    let (file, first) = (access.file, access.first);
    (first..first + u16::from(access.count)).map(move |n| (file, n))
}

/// Follows each read back separately.
fn by_walks(graph: &Graph<'_>) -> Vec<RegisterSet> {
    let mut live = vec![RegisterSet::EMPTY; graph.sites.len()];
    let counts = |a: &RegAccess| {
        a.file != File::Hwreg && !(a.file == File::Scalar && (EXEC..EXEC + 2).contains(&a.first))
    };
    let mut replaced: Vec<HashSet<(File, u16)>> = Vec::new();
    for (at, site) in graph.sites.iter().enumerate() {
        let info = graph.info(at);
        let writes = info
            .accesses(&site.insn)
            .filter(|a| info.replaces(&site.insn, a));
        replaced.push(writes.flat_map(|a| registers(&a)).collect());
    }
    for (at, site) in graph.sites.iter().enumerate() {
        let reads = graph.info(at).accesses(&site.insn);
        for access in reads.filter(|a| !a.write && counts(a)) {
            for register in registers(&access) {
                // EXEC is not tracked.
                if register.0 == File::Scalar && (EXEC..EXEC + 2).contains(&register.1) {
                    continue;
                }
                let mut waiting = vec![at];
                while let Some(before) = waiting.pop() {
                    if live[before].insert(register.0, register.1) {
                        let previous = graph.sites[before].previous.iter().copied();
                        waiting.extend(previous.filter(|p| !replaced[*p].contains(&register)));
                    }
                }
            }
        }
    }
    live
}

#[test]
fn equal_to_walks_from_each_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    for folder in [
        "testdata",
        "crates/gcn-emu/tests/data",
        "crates/gcn-object/tests/data",
    ] {
        objects(&root.join(folder), &mut paths);
    }
    let (mut graphs, mut exact, mut instructions) = (0, 0, 0);
    for path in paths {
        let bytes = std::fs::read(&path).expect("the object");
        let Ok(object) = CodeObject::parse(&bytes) else {
            continue;
        };
        let Some(target) = Target::parse(object.target_name()) else {
            continue;
        };
        let table = InstructionTable::new(target);
        let Ok(roots) = roots(&object) else { continue };
        for root in roots {
            let Ok(graph) = root.graph(&object, &table) else {
                continue;
            };
            let found = liveness(&graph);
            graphs += 1;
            // Registers with computed numbers stand for all registers, and the walks do not model that.
            if matches!(found.bound, Bound::Upper | Bound::Estimate) {
                continue;
            }
            exact += 1;
            instructions += graph.sites.len();
            let walked = by_walks(&graph);
            for (at, site) in graph.sites.iter().enumerate() {
                assert!(
                    found.before[at] == walked[at],
                    "{} {} {:#x}: {:?}, walked {:?}",
                    path.display(),
                    root.name,
                    site.pc,
                    found.before[at],
                    walked[at]
                );
            }
        }
    }
    println!("{exact} of {graphs} graphs, {instructions} instructions");
    assert!(
        graphs >= 190 && exact == graphs,
        "{exact} of {graphs} graphs"
    );
}
