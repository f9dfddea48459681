//! The table of the IR's operations and the meanings that are written with them.

use gcn_isa::insts;
use gcn_isa::meaning::meaning;
use gcn_isa::op::{Kind, OPS, Out};
use gcn_isa::target::Target;

#[test]
fn operations_have_names_of_their_own_and_sentences() {
    let mut names: Vec<&str> = OPS.iter().map(|op| op.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), OPS.len());
    for op in OPS {
        assert!(op.doc.ends_with('.'), "{}: {:?}", op.name, op.doc);
        assert!(op.floats <= op.arity, "{}", op.name);
        assert!(op.kind != Kind::Leaf || op.arity == 0, "{}", op.name);
    }
}

/// Each node of each meaning has the operands and the type of its operation's row, and comes after its operands.
#[test]
fn meanings_keep_to_the_table() {
    for target in Target::all() {
        for row in insts::all().filter(|row| insts::exists(row, target)) {
            let program = meaning(row, target);
            for (at, node) in program.nodes.iter().chain(&program.aside).enumerate() {
                let (used, unused) = node.args.split_at(node.op.arity());
                assert!(
                    used.iter().all(|&arg| (arg as usize) < at),
                    "{}: {node:?}",
                    row.name
                );
                assert_eq!(unused, &[0, 0, 0][..unused.len()], "{}: {node:?}", row.name);
                match node.op.info().out {
                    Out::Given => {}
                    _ => assert_eq!(
                        Some(node.out),
                        node.op.out(node.ty),
                        "{}: {node:?}",
                        row.name
                    ),
                }
            }
        }
    }
}
