//! What must hold of any code object that is shown to people. The fuzz target and a test of gcn share it.

use gcn::asm::{Options, assemble, render};
use gcn::info::Info;
use gcn::isa::print::Style;
use gcn::lines::Lines;
use gcn::object::CodeObject;
use gcn::{dis, dis_json, dot};
use std::io::ErrorKind;

/// Kernels of an object that are asked for one by one.
const KERNELS: usize = 4;

/// A code object as source, as JSON, as graphs and in short, or why not. Whether the bytes are one.
///
/// # Panics
/// When something does, or it does not hold.
pub fn source(bytes: &[u8]) -> bool {
    let Ok(object) = CodeObject::parse(bytes) else {
        return false;
    };
    if let Ok(info) = Info::new(&object) {
        assert!(!info.text().is_empty());
        assert!(info.json().is_object());
    }
    let lines = Lines::read(&object, false).ok();
    for style in [Style::LLVM, Style::CLRX] {
        let options = dis::Options {
            lines: lines.as_ref(),
            ..dis::Options::new(style)
        };
        let mut text = Vec::new();
        match dis::object(&object, &options, &mut text) {
            Ok(()) => assembles(&text),
            Err(e) => assert_eq!(e.kind(), ErrorKind::InvalidData, "{e}"),
        }
        let _ = dis_json::object(&object, None, style, &mut std::io::sink());
        for kernel in object.kernels.iter().take(KERNELS) {
            let mut text = Vec::new();
            if dis::symbol(&object, &kernel.name, &options, &mut text).is_ok() {
                assembles(&text);
            }
            if let Ok(graph) = dot::graph(&object, &kernel.name, style) {
                assert!(graph.dot().starts_with("digraph"));
                assert!(graph.json().is_object());
            }
        }
    }
    true
}

/// Source that was written for an object is read. Sections and symbols of a damaged file may have names and flags that no source can
/// have, which are errors then.
fn assembles(text: &[u8]) {
    let text = std::str::from_utf8(text).expect("source is UTF-8");
    let output = assemble(text, "object.s", &Options::default());
    render(&output.diagnostics, false);
    if let Some(object) = output.object {
        let _ = object.relocatable();
        let _ = object.loadable();
    }
}
