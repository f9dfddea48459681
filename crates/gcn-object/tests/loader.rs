//! The requirements of ROCm's loader, checked on every loadable file that is written. docs/objects.md lists the rules,
//! with their sources.

use gcn_object::write::{Relocation, Symbol};
use gcn_object::{
    Builder, CodeObject, RelocationKind, SymbolKind, SymbolSection, Version, Visibility,
};

static HSA: &[u8] = include_bytes!("data/linking-gfx900.o");
static V2: &[u8] = include_bytes!("data/v2-gfx900.o");

fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    let bytes = bytes[at..at + width].iter().rev();
    bytes.fold(0, |n, b| n << 8 | u64::from(*b))
}

fn rules(file: &[u8]) {
    let object = CodeObject::parse(file).unwrap();
    // The header: 64 bits, little-endian, HSA, an AMDGPU shared object for a known processor.
    assert_eq!(file[..8], [0x7f, b'E', b'L', b'F', 2, 1, 1, 64]);
    assert_eq!(file[8], object.version.abi());
    assert_eq!((number(file, 16, 2), number(file, 18, 2)), (3, 224));
    assert_eq!(number(file, 48, 4), u64::from(object.flags));

    // One piece of memory is allocated from the first segment's start to the last one's end.
    let segments = &object.segments;
    assert!(!segments.is_empty());
    assert_eq!((segments[0].address, segments[0].file.start), (0, 0));
    for segment in segments {
        assert!(segment.align >= 4096 && segment.align.is_power_of_two());
        assert_eq!(
            segment.address % segment.align,
            segment.file.start as u64 % segment.align
        );
        assert!(segment.readable);
    }
    for pair in segments.windows(2) {
        // Access rights apply to whole pages.
        assert!(pair[0].address + pair[0].size <= pair[1].address);
        assert!((pair[0].address + pair[0].size - 1) / 4096 < pair[1].address / 4096);
    }

    // The note, in a note section and a note segment, which are loaded.
    let note = match object.version {
        Version::V2 => {
            let version = object.note_of("AMD", 1).unwrap();
            assert_eq!(number(version, 0, 4), 2);
            // Dynamic relocations are allowed from code object version 2.1 on.
            assert!(number(version, 4, 4) >= 1);
            assert!(object.note_of("AMD", 3).is_some());
            object.notes.iter().find(|n| n.kind == 10).unwrap()
        }
        _ => object.notes.iter().find(|n| n.owner == "AMDGPU").unwrap(),
    };
    assert!(segments[0].file.contains(&note.file.start));
    let programs = (0..number(file, 56, 2) as usize).map(|n| 64 + 56 * n);
    let of_kind = |kind: u64| programs.clone().find(|at| number(file, *at, 4) == kind);
    let location = of_kind(4).unwrap();
    let start = number(file, location + 8, 8) as usize;
    assert!((start..start + number(file, location + 32, 8) as usize).contains(&note.file.start));

    // The dynamic table, which comgr and debuggers read, names the tables that the section headers name.
    let dynamic = of_kind(2).unwrap();
    let (start, size) = (number(file, dynamic + 8, 8), number(file, dynamic + 32, 8));
    let entry = |tag: u64| {
        (start as usize..(start + size) as usize)
            .step_by(16)
            .find(|at| number(file, *at, 8) == tag)
            .map(|at| number(file, at + 8, 8))
    };
    let section = |name: &str| object.sections.iter().find(|s| s.name == name);
    let address = |name: &str| section(name).map(|s| s.address);
    assert_eq!(entry(6), address(".dynsym"));
    assert_eq!(entry(5), address(".dynstr"));
    assert_eq!(entry(4), address(".hash"));
    assert_eq!(entry(0x6fff_fef5), address(".gnu.hash"));
    assert_eq!(entry(7), address(".rela.dyn"));
    assert_eq!(entry(10), section(".dynstr").map(|s| s.size));
    assert_eq!(entry(8), section(".rela.dyn").map(|s| s.size));
    assert_eq!(entry(9), entry(7).map(|_| 24));
    assert_eq!(entry(11), Some(24));
    // The hash table finds every dynamic symbol by its name.
    let table = object.read(entry(4).unwrap(), 8).unwrap();
    let (buckets, chains) = (number(table, 0, 4), number(table, 4, 4));
    assert_eq!(chains as usize, object.dynamic_symbols.len());
    let table = object
        .read(entry(4).unwrap(), 8 + 4 * (buckets + chains))
        .unwrap();
    for (n, symbol) in object.dynamic_symbols.iter().enumerate().skip(1) {
        let hash = symbol.name.bytes().fold(0u32, |h, b| {
            let h = (h << 4).wrapping_add(u32::from(b));
            (h ^ (h & 0xf000_0000) >> 24) & 0x0fff_ffff
        });
        let mut at = number(table, 8 + 4 * (u64::from(hash) % buckets) as usize, 4);
        while at != 0 && at as usize != n {
            at = number(table, (8 + 4 * (buckets + at)) as usize, 4);
        }
        assert_eq!(at as usize, n, "{}", symbol.name);
    }

    // Symbols: global names are unique, and each lies in its section.
    let mut names: Vec<&str> = Vec::new();
    for symbol in object.dynamic_symbols.iter().skip(1) {
        assert!(!names.contains(&symbol.name.as_str()));
        names.push(&symbol.name);
        assert_ne!(symbol.kind, SymbolKind::Section);
        assert_ne!(symbol.visibility, Visibility::Hidden);
        if let SymbolSection::Index(i) = symbol.section {
            let s = &object.sections[i];
            assert!(symbol.address >= s.address);
            assert!(symbol.address + symbol.size <= s.address + s.size);
        }
    }

    // Kernels: the descriptor is at a multiple of 64 bytes, 64 long, exported; the code is at a multiple of 256.
    assert!(!object.kernels.is_empty());
    for kernel in &object.kernels {
        let v2 = object.version == Version::V2;
        let name = match v2 {
            true => kernel.name.clone(),
            false => format!("{}.kd", kernel.name),
        };
        let symbol = object.dynamic_symbols.iter().find(|s| s.name == name);
        let symbol = symbol.unwrap();
        assert_eq!(symbol.address, kernel.descriptor_address);
        match v2 {
            true => {
                assert_eq!(symbol.kind, SymbolKind::HSA_KERNEL);
                assert_eq!(kernel.descriptor_address % 256, 0);
            }
            false => {
                assert_eq!((symbol.kind, symbol.size), (SymbolKind::Object, 64));
                assert_eq!(kernel.descriptor_address % 64, 0);
            }
        }
        assert_eq!(kernel.entry % 256, 0);
        let code = segments
            .iter()
            .find(|s| (s.address..s.address + s.size).contains(&kernel.entry));
        assert!(code.unwrap().executable && !code.unwrap().writable);
    }

    // Relocations: only the five kinds that the loader supports, of symbols of the four types that it supports, in
    // written bytes.
    for relocation in &object.relocations {
        let known = [
            RelocationKind::ABS32_LO,
            RelocationKind::ABS32_HI,
            RelocationKind::ABS32,
            RelocationKind::ABS64,
            RelocationKind::RELATIVE64,
        ];
        assert!(known.contains(&relocation.kind));
        let symbol = &object.dynamic_symbols[relocation.symbol.unwrap_or(0)];
        let known = [
            SymbolKind::NoType,
            SymbolKind::Object,
            SymbolKind::Func,
            SymbolKind::HSA_KERNEL,
        ];
        assert!(known.contains(&symbol.kind));
        let location = relocation.offset;
        let segment = segments
            .iter()
            .find(|s| (s.address..s.address + s.file.len() as u64).contains(&location));
        assert!(segment.unwrap().writable);
    }
}

#[test]
fn what_is_written_keeps_the_loaders_rules() {
    for file in [HSA, V2] {
        let object = CodeObject::parse(file).unwrap();
        let builder = Builder::from_relocatable(&object).unwrap();
        rules(&builder.loadable().unwrap());
    }
    // The same in other versions.
    let object = CodeObject::parse(HSA).unwrap();
    for version in [Version::V3, Version::V4, Version::V5, Version::V6] {
        let mut other = object.clone();
        other.version = version;
        rules(
            &Builder::from_relocatable(&other)
                .unwrap()
                .loadable()
                .unwrap(),
        );
    }
}

/// A reference that the loader would refuse is also refused by the linker.
#[test]
fn what_the_loader_refuses_is_refused() {
    let object = CodeObject::parse(HSA).unwrap();
    let mut builder = Builder::from_relocatable(&object).unwrap();
    let data = (0..)
        .find(|i| builder.section_mut(*i).unwrap().flags.write())
        .unwrap();
    let symbol = builder.symbol(Symbol {
        name: "far".into(),
        address: 0,
        size: 0,
        kind: SymbolKind::NoType,
        binding: gcn_object::Binding::Global,
        visibility: Visibility::Default,
        section: SymbolSection::Undefined,
    });
    for kind in [
        RelocationKind::REL32,
        RelocationKind::ABS32_LO,
        RelocationKind(99),
    ] {
        let mut builder = builder.clone();
        builder.relocation(Relocation {
            section: Some(data),
            offset: 0,
            kind,
            symbol: Some(symbol),
            addend: 0,
        });
        assert!(builder.loadable().is_err(), "{kind:?}");
    }
}
