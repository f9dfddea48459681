//! clang's listings assemble to clang's objects.

use gcn_asm::{Options, assemble, render};
use gcn_isa::Target;
use gcn_object::{CodeObject, SymbolKind, SymbolSection};
use std::collections::BTreeSet;
use std::path::Path;

/// Sections whose form differs between writers; their contents are tested elsewhere.
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

/// Returns everything that must be equal, as lines.
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
        let location = r.section.map(|n| object.sections[n].name.as_str());
        if location.is_some_and(|p| FREE.contains(&p)) {
            continue;
        }
        let target = r.symbol.map(|n| &object.symbols[n]);
        let target = target.map(|s| match s.kind {
            SymbolKind::Section => section_of(object, s.section),
            _ => s.name.clone(),
        });
        let (offset, kind, addend) = (r.offset, r.kind.name(), r.addend);
        lines.insert(format!(
            "{location:?} {offset:#x} {kind} {target:?} {addend}"
        ));
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
        // A dash separates the words of the file's name.
        let target = name.split('-').nth(1).unwrap().replace('_', "-");
        let target = target.as_str();
        let source = std::fs::read_to_string(&path).unwrap();
        // Mesa's listings do not name their target before the first instruction.
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
            // The order of the sections differs.
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
        // The loaded parts have the same code.
        let linked = CodeObject::parse(&linked).unwrap();
        let text = linked.section(".text").unwrap();
        let theirs_text = theirs.section(".text").unwrap();
        // The bytes that are not left to the linker.
        let mut open = theirs.relocations.iter();
        if !open.any(|r| r.section == Some(theirs_text)) {
            assert_eq!(linked.section_data(text), theirs.section_data(theirs_text));
        }
        assert_eq!(linked.kernels.len(), theirs.kernels.len(), "{name}");
    }
    assert_eq!(seen, 9);
}

/// A CLRX source with most of its directives.
const ROCM: &str = "
.rocm
.gpu GFX900
.newbinfmt
.tripple \"amdgcn-amd-amdhsa\"
.md_version 1, 0
.kernel a
.config
.dims xy, z
.default_hsa_features
.localsize 64
.pgmrsrc2 1
.private_elem_size 4
.reserved_sgprs 1, 2
.md_language \"OpenCL\", 1, 2
.cws 64, 1, 1
.arg n, \"int\", 4, , value, i32
.arg p, \"int*\", 8, , globalbuf, i32, global, default const
.printf 1, 4, \"%d\"
.control_directive
.fill 128
.kernel b
.fkernel
.text
a: .skip 256
v_mov_b32 v1, s2
.kcode b, -a
.kcodeend
b: s_endpgm
.globaldata
t: .int 1
.gotsym t, g
";

/// Random changes, many times: each gives an error or an object, never a panic, and never takes long.
#[test]
fn damaged_sources_do_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/listings");
    let mut sources = vec![ROCM.to_string()];
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "s") {
            let text = std::fs::read_to_string(&path).unwrap();
            // Without instructions, which other tests damage.
            let directive = |l: &&str| !l.contains("v_") && !l.contains("s_");
            sources.push(
                text.lines()
                    .filter(directive)
                    .collect::<Vec<_>>()
                    .join("\n"),
            );
        }
    }
    let mut state = 1u64;
    let mut random = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n.max(1) as u64) as usize
    };
    let options = Options {
        target: Target::parse("gfx900"),
        budget: Some(1 << 20),
        ..Options::default()
    };
    for round in 0..600 {
        let source = &sources[round % sources.len()];
        let mut lines: Vec<String> = source.lines().map(str::to_owned).collect();
        for _ in 0..1 + random(4) {
            let (at, from) = (random(lines.len()), random(lines.len()));
            match random(5) {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, lines[from].clone()),
                2 => lines.swap(at, from),
                3 => {
                    let line: Vec<char> = lines[at].chars().collect();
                    let cut = random(line.len());
                    lines[at] = line[..cut].iter().collect();
                }
                _ => {
                    let number = ["-1", "0", "0xffffffffffffffff", "256", "65536"][random(5)];
                    let digit = |c: char| c.is_ascii_digit();
                    if let Some(n) = lines[at].find(digit) {
                        lines[at].replace_range(n..n + 1, number);
                    }
                }
            }
        }
        let text = lines.join("\n");
        let started = std::time::Instant::now();
        let output = assemble(&text, "a.s", &options);
        match output.object {
            Some(object) => {
                let _ = (object.relocatable(), object.loadable());
            }
            None => assert!(!output.diagnostics.is_empty(), "{text}"),
        }
        assert!(started.elapsed().as_secs() < 10, "{text}");
    }
}

/// Many, deep and endless constructs are refused or processed quickly.
#[test]
fn hostile_sources() {
    let deep = "[".repeat(100_000);
    let many_files: String = (1..20_000).map(|n| format!(".file {n} \"a\"\n")).collect();
    let cases = [
        format!(".amd_amdgpu_hsa_metadata\n{deep}\n.end_amd_amdgpu_hsa_metadata\n"),
        format!(".amdgpu_pal_metadata\n{deep}\n.end_amdgpu_pal_metadata\n"),
        format!(".amdgpu_metadata\n{}", "a: 1\n".repeat(100_000)),
        format!(".amd_kernel_code_t\n{}", "priority = 1\n".repeat(100_000)),
        many_files,
        format!(".file 1 \"a\"\n{}", ".loc 1 5\n".repeat(200_000)),
        format!(
            ".file 1 \"a\"\n{}",
            ".loc 1 4294967295 4294967295\ns_nop 0\n".repeat(50_000)
        ),
        format!(".rocm\n{}", ".kcode +\n".repeat(100_000)),
        format!(
            ".rocm\n{}",
            (0..50_000)
                .map(|n| format!(".kernel k{n}\n"))
                .collect::<String>()
        ),
        format!(
            ".rocm\n.kernel k\n.config\n{}",
            ".arg a, \"t\", 4, , value, i32\n".repeat(50_000)
        ),
        ".rocm\n.kernel k\n.config\n.control_directive\n.fill 1000000000\n".into(),
        ".cfi_startproc\n.fill 1000000000\n.cfi_endproc\n".into(),
        format!(".uleb128 {}\n", "1,".repeat(100_000)),
        format!(".amd_amdgpu_pal_metadata {}1\n", "1,".repeat(100_001)),
    ];
    let options = Options {
        target: Target::parse("gfx900"),
        ..Options::default()
    };
    for source in cases {
        let started = std::time::Instant::now();
        let output = assemble(&source, "a.s", &options);
        let written = output
            .object
            .map(|o| (o.relocatable().is_ok(), o.loadable().is_ok()));
        let head: String = source.chars().take(60).collect();
        let time = started.elapsed();
        assert!(time.as_millis() < 5000, "{time:?} {written:?}: {head}");
    }
}
