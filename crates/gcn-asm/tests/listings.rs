//! clang's listings become clang's objects.

use gcn_asm::{Options, assemble, render};
use gcn_isa::Target;
use gcn_object::{CodeObject, SymbolKind, SymbolSection};
use std::collections::BTreeSet;
use std::path::Path;

/// Written as each writer likes; what they say is tested otherwise.
const FREE: [&str; 9] = [
    ".debug_line",
    ".debug_line_str",
    ".strtab",
    ".shstrtab",
    ".symtab",
    ".llvm_addrsig",
    ".note.GNU-stack",
    "",
    ".comment",
];

fn section_of(object: &CodeObject, section: SymbolSection) -> String {
    match section {
        SymbolSection::Index(n) => object.sections[n].name.clone(),
        other => format!("{other:?}"),
    }
}

/// Everything that must be equal, as lines.
fn describe(object: &CodeObject) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    let (os, version, flags) = (object.os, object.version, object.flags);
    lines.insert(format!("{os:?} {version:?} {flags:#x}"));
    for (n, section) in object.sections.iter().enumerate() {
        let name = section.name.as_str();
        if FREE.contains(&name) || name.starts_with(".rel") || section.size == 0 {
            continue;
        }
        let data = object.section_data(n);
        let (kind, flags, align) = (section.kind, section.flags, section.align);
        lines.insert(format!("{name} {kind:?} {flags:?} {align} {data:02x?}"));
    }
    for symbol in &object.symbols {
        if symbol.kind == SymbolKind::Section || symbol.name.is_empty() {
            continue;
        }
        let section = section_of(object, symbol.section);
        lines.insert(format!("{symbol:?} in {section}").replace("Index", ""));
    }
    for r in &object.relocations {
        let place = r.section.map(|n| object.sections[n].name.as_str());
        if place.is_some_and(|p| FREE.contains(&p)) {
            continue;
        }
        let target = r.symbol.map(|n| &object.symbols[n]);
        let target = target.map(|s| match s.kind {
            SymbolKind::Section => section_of(object, s.section),
            _ => s.name.clone(),
        });
        let (offset, kind, addend) = (r.offset, r.kind.name(), r.addend);
        lines.insert(format!("{place:?} {offset:#x} {kind} {target:?} {addend}"));
    }
    lines
}

#[test]
fn become_the_compilers_objects() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/listings");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "s") {
            continue;
        }
        seen += 1;
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        let target = name.split('-').nth(1).unwrap();
        let source = std::fs::read_to_string(&path).unwrap();
        // Mesa's listings do not say their target before the first instruction.
        let options = Options {
            target: name
                .contains("mesa3d")
                .then(|| Target::parse(target).unwrap()),
            ..Options::default()
        };
        let output = assemble(&source, &name, &options);
        assert_eq!(render(&output.diagnostics, false), "", "{name}");
        let ours = output.object.unwrap();
        assert_eq!(ours.target.name(), target, "{name}");
        let linked = ours.loadable().unwrap();
        let ours = CodeObject::parse(&ours.relocatable().unwrap()).unwrap();
        let theirs = std::fs::read(path.with_extension("o")).unwrap();
        let theirs = CodeObject::parse(&theirs).unwrap();
        let strip = |set: BTreeSet<String>| -> BTreeSet<String> {
            // Sections stand in another order.
            let number = |l: String| match (l.find("section: "), l.find(" } in ")) {
                (Some(a), Some(b)) => format!("{}{}", &l[..a], &l[b..]),
                _ => l,
            };
            set.into_iter().map(number).collect()
        };
        let (own, other) = (strip(describe(&ours)), strip(describe(&theirs)));
        let missing: Vec<_> = other.difference(&own).collect();
        let more: Vec<_> = own.difference(&other).collect();
        assert!(missing.is_empty(), "{name}: {missing:#?}\n{more:#?}");
        assert!(more.is_empty(), "{name}: {more:#?}");
        // What is loaded has the same code.
        let linked = CodeObject::parse(&linked).unwrap();
        let text = linked.section(".text").unwrap();
        let theirs_text = theirs.section(".text").unwrap();
        assert_eq!(linked.section_data(text), theirs.section_data(theirs_text));
        assert_eq!(linked.kernels.len(), theirs.kernels.len(), "{name}");
    }
    assert_eq!(seen, 7);
}
