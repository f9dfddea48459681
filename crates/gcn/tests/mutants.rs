//! Damaged code objects are disassembled and assembled: each gives the same loaded and linked data, or `gcn dis` refuses it and
//! reports what would be lost.
//!
//! `MUTANTS=100000 SEED=7 cargo test -p gcn --test mutants -- --nocapture` tests more of them.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use gcn::asm::{Level, assemble};
use gcn::dis;
use gcn::isa::print::Style;
use gcn::object::read::{CodeObject, FileKind};
use gcn::object::{SectionKind, SymbolSection};

/// The number of damaged files of each fixture in a run without `MUTANTS`.
const FEW: u64 = 60;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 16) as usize % end.max(1)
    }
}

/// The small fixtures of other tests, and one that lld 22 has linked (`padded-gfx900.co`).
fn fixtures() -> Vec<PathBuf> {
    const LARGEST: u64 = 20_000;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = [
        "crates/gcn-object/tests/data",
        "testdata/kernels",
        "testdata/listings",
        "testdata/programs/objects",
    ];
    let mut files: Vec<PathBuf> = (folders.iter())
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).expect("a folder"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "co" || e == "o"))
        .filter(|path| path.metadata().is_ok_and(|about| about.len() < LARGEST))
        .collect();
    files.sort();
    files
}

/// Changes one to three places, mostly in sections, symbols, relocations, notes, descriptors and headers.
fn damage(object: &CodeObject, random: &mut Random) -> Vec<u8> {
    let mut file = object.data().to_vec();
    let number = |at: usize, size: usize| -> usize {
        let bytes = file.get(at..at + size).unwrap_or_default();
        bytes.iter().rev().fold(0, |n, b| n << 8 | *b as usize)
    };
    let headers = [
        0..64,
        number(32, 8)..number(32, 8) + 56 * number(56, 2),
        number(40, 8)..number(40, 8) + 64 * number(60, 2),
    ];
    let sections = object.sections.iter().map(|s| s.file.clone());
    let notes = object.notes.iter().map(|n| n.file.clone());
    let descriptors = object.kernels.iter().filter_map(|kernel| {
        let size = if kernel.kernel_code.is_some() {
            256
        } else {
            64
        };
        let from = match kernel.descriptor_section {
            Some(n) => object.sections[n].file.start + kernel.descriptor_address as usize,
            None => {
                let holds = |s: &&gcn::object::read::Segment| {
                    (s.address..s.address + s.size).contains(&kernel.descriptor_address)
                };
                let segment = object.segments.iter().find(holds)?;
                segment.file.start + (kernel.descriptor_address - segment.address) as usize
            }
        };
        Some(from..from + size)
    });
    let locations: Vec<_> = (headers.into_iter().chain(sections))
        .chain(notes)
        .chain(descriptors)
        .filter(|range| !range.is_empty() && range.end <= object.data().len())
        .collect();
    for _ in 0..1 + random.below(3) {
        let location = locations[random.below(locations.len())].clone();
        let at = location.start + random.below(location.len());
        match random.below(4) {
            0 => file[at] ^= 1 << random.below(8),
            1 => file[at] = random.next() as u8,
            2 => file[at] = [0, 1, 0x7f, 0x80, 0xff, 0x22, 0x5c, 0x0a][random.below(8)],
            _ => {
                let from = location.start + random.below(location.len());
                let size = (1 + random.below(16)).min(location.end - at.max(from));
                file.copy_within(from..from + size, at);
            }
        }
    }
    file
}

/// Disassembles an object. Returns the source, assembled.
fn there_and_back(object: &CodeObject, style: Style) -> Result<CodeObject, String> {
    let mut text = Vec::new();
    dis::object(object, &dis::Options::new(style), &mut text).map_err(|e| e.to_string())?;
    let text = String::from_utf8(text).map_err(|e| e.to_string())?;
    let output = assemble(&text, "object.s", &Default::default());
    let Some(made) = output.object else {
        let error = output.diagnostics.iter().find(|d| d.level == Level::Error);
        let error = error.map(|d| format!("{}: {}", d.source_line, d.message));
        return Err(format!("refused: {error:?}"));
    };
    let builder = made.into_builder();
    let file = match object.kind {
        FileKind::Loadable => builder.loadable(),
        FileKind::Relocatable => builder.relocatable(),
    };
    let file = file.map_err(|e| e.to_string())?;
    CodeObject::from_bytes(file).map_err(|e| e.to_string())
}

fn same<T: PartialEq + Debug>(what: &str, a: T, b: T) -> Result<(), String> {
    match a == b {
        true => Ok(()),
        false => Err(format!("{what}: {a:?} has become {b:?}")),
    }
}

/// Compares the loaded bytes, except the headers, whose tables are elsewhere; for relocatable files the linked data.
fn compare(a: &CodeObject, b: &CodeObject) -> Result<(), String> {
    same("the header", &a.data()[..32], &b.data()[..32])?;
    same("the flags", a.flags, b.flags)?;
    same("the metadata", a.note(), b.note())?;
    if a.kind == FileKind::Loadable {
        // Up to the end of a page, which newer linkers fill.
        let segments = |object: &CodeObject| -> Vec<_> {
            (object.segments.iter())
                .filter(|s| s.size != 0)
                .map(|s| {
                    let end = (s.address + s.size).next_multiple_of(0x1000);
                    (s.address, end, s.readable, s.writable, s.executable)
                })
                .collect()
        };
        same("the segments", segments(a), segments(b))?;
        for (n, segment) in a.segments.iter().enumerate() {
            let m = b.segments.iter().position(|s| s.address == segment.address);
            let (mine, theirs) = (a.segment_data(n), b.segment_data(m.unwrap_or(usize::MAX)));
            let headers = match segment.file.start {
                0 => 64 + 56 * a.data()[56] as usize,
                _ => 0,
            };
            for at in headers..mine.len().max(theirs.len()) {
                let byte = |bytes: &[u8]| bytes.get(at).copied().unwrap_or(0);
                let address = segment.address + at as u64;
                same(&format!("address {address:#x}"), byte(mine), byte(theirs))?;
            }
        }
    } else {
        let tables = [
            SectionKind::SYMTAB,
            SectionKind::STRTAB,
            SectionKind::RELA,
            SectionKind::REL,
        ];
        for (n, section) in a.sections.iter().enumerate() {
            if tables.contains(&section.kind) || section.kind == SectionKind::GROUP {
                continue;
            }
            let nth = (a.sections[..n].iter())
                .filter(|s| s.name == section.name)
                .count();
            let found = (b.sections.iter().enumerate()).filter(|(_, s)| s.name == section.name);
            let Some((m, other)) = { found }.nth(nth) else {
                return Err(format!("section {} is not there", section.name));
            };
            let head = |s: &gcn::object::read::Section| {
                (s.kind, s.flags, s.size, s.align.max(1), s.entry_size)
            };
            same(&section.name, head(section), head(other))?;
            same(&section.name, a.section_data(n), b.section_data(m))?;
        }
        let relocations = |object: &CodeObject| -> Vec<_> {
            let mut all: Vec<_> = (object.relocations.iter())
                .map(|r| {
                    let section = r.section.map(|n| object.sections[n].name.clone());
                    (section, r.offset, r.kind.0)
                })
                .collect();
            all.sort();
            all
        };
        same("relocations", relocations(a), relocations(b))?;
    }
    let symbols = |object: &CodeObject| -> Vec<_> {
        let own = |s: &&gcn::object::read::Symbol| !s.name.is_empty() && s.name != "_DYNAMIC";
        let mut all: Vec<_> = (object.symbols.iter())
            .filter(own)
            .map(|s| {
                let section = match s.section {
                    SymbolSection::Index(n) => object.sections.get(n).map(|s| s.name.clone()),
                    other => Some(format!("{other:?}")),
                };
                let kind = format!("{:?} {:?} {:?}", s.kind, s.binding, s.visibility);
                (s.name.clone(), s.address, s.size, section, kind)
            })
            .filter(|(.., kind)| !kind.starts_with("File") && !kind.starts_with("Section"))
            .collect();
        all.sort();
        all
    };
    same("symbols", symbols(a), symbols(b))
}

#[test]
fn damaged_objects_come_back_or_are_refused() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let seed = setting("SEED").unwrap_or(1);
    let files = fixtures();
    let each = setting("MUTANTS").map_or(FEW, |all| all.div_ceil(files.len() as u64));
    let (mut whole, mut refused, mut unread) = (0u64, 0u64, 0u64);
    let mut wrong = Vec::new();
    let mut reasons = std::collections::BTreeMap::<String, u64>::new();
    for (number, path) in files.iter().enumerate() {
        let file = std::fs::read(path).expect("a file");
        let object = CodeObject::from_bytes(file).expect("a code object");
        let lost = dis::lost(&object, false).expect("it has source");
        assert!(lost.is_empty(), "{}: {lost:?}", path.display());
        for n in 0..each {
            let start = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (number as u64) << 40 ^ (n + 1);
            let mut random = Random(start.wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1);
            for _ in 0..4 {
                random.next();
            }
            let Ok(damaged) = CodeObject::from_bytes(damage(&object, &mut random)) else {
                unread += 1;
                continue;
            };
            let style = [Style::LLVM, Style::CLRX][random.below(2)];
            match dis::lost(&damaged, false) {
                Ok(lost) if lost.is_empty() => {}
                Ok(lost) => {
                    *reasons.entry(lost[0].clone()).or_default() += 1;
                    refused += 1;
                    continue;
                }
                Err(_) => {
                    refused += 1;
                    continue;
                }
            }
            let done = there_and_back(&damaged, style).and_then(|again| compare(&damaged, &again));
            match done {
                Ok(()) => whole += 1,
                Err(e) => {
                    let name = path.file_name().unwrap_or_default().display();
                    let e: String = e.chars().take(300).collect();
                    wrong.push(format!("{name} {n}: {e}"));
                    if let Some(folder) = std::env::var_os("KEEP") {
                        let kept = Path::new(&folder).join(format!("{n}-{name}"));
                        std::fs::write(kept, damaged.data()).expect("the file is written");
                    }
                }
            }
        }
    }
    println!("{whole} come back, {refused} are refused, {unread} are not read");
    for (reason, count) in &reasons {
        println!("  {count:6} {reason}");
    }
    let first = wrong
        .iter()
        .take(40)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(wrong.is_empty(), "{} go wrong:\n{first}", wrong.len());
    // Damage to a linker's own sections is refused; most other damage can be expressed.
    assert!(
        whole > refused / 4,
        "{whole} come back, {refused} are refused"
    );
}
