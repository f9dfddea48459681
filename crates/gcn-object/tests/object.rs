//! Reading, loading and writing, on files that llvm-mc 14 and ld.lld 14 made from `data/linking-gfx900.s`.

use gcn_object::metadata::{self, ValueKind};
use gcn_object::note;
use gcn_object::read::FileKind;
use gcn_object::write::{Group, Relocation, Section, Symbol};
use gcn_object::{
    Binding, Builder, CodeObject, Error, KernelBuilder, Os, RelocationKind, SectionFlags,
    SectionKind, SymbolKind, SymbolSection, TargetId, Version, Visibility,
};

static OBJECT: &[u8] = include_bytes!("data/linking-gfx900.o");
static LINKED: &[u8] = include_bytes!("data/linking-gfx900.co");

#[test]
fn reads_a_loadable_file() {
    let co = CodeObject::parse(LINKED).unwrap();
    assert_eq!(
        (co.kind, co.version, co.target_name()),
        (FileKind::Loadable, Version::V4, "gfx900")
    );
    assert_eq!(co.target_id(), "amdgcn-amd-amdhsa--gfx900");
    let names: Vec<&str> = co.sections.iter().map(|s| s.name.as_str()).collect();
    assert!(
        names.starts_with(&[
            ".note",
            ".dynsym",
            ".gnu.hash",
            ".hash",
            ".dynstr",
            ".rela.dyn",
            ".rodata"
        ]),
        "{names:?}"
    );
    let rights: Vec<_> = co
        .segments
        .iter()
        .map(|s| (s.readable, s.writable, s.executable))
        .collect();
    assert_eq!(
        rights,
        [
            (true, false, false),
            (true, false, true),
            (true, true, false),
            (true, true, false)
        ]
    );
    assert_eq!(co.kernels.len(), 1);
    let kernel = co.kernel("foo").unwrap();
    let text = &co.sections[co.section(".text").unwrap()];
    assert_eq!(kernel.entry, text.address);
    assert_eq!(kernel.descriptor.sgpr_count(), 8);
    let data = kernel.metadata.as_ref().unwrap();
    assert_eq!(
        (
            data.kernarg_segment_size,
            data.kernarg_segment_align,
            data.wavefront_size
        ),
        (24, 8, 64)
    );
    assert_eq!(data.reqd_workgroup_size, Some([64, 1, 1]));
    assert_eq!(data.args.len(), 3);
    assert!(data.args[0].is_const && !data.args[0].value_kind.hidden());
    assert_eq!(data.args[0].type_name.as_deref(), Some("uint*"));
    assert_eq!(
        (
            data.args[1].offset,
            data.args[1].size,
            data.args[1].value_kind
        ),
        (8, 4, ValueKind::ByValue)
    );
    assert!(data.args[2].value_kind.hidden());
    assert_eq!(co.metadata.version, [1, 1]);
    let foo = co.symbols.iter().find(|s| s.name == "foo").unwrap();
    assert_eq!(
        (foo.kind, foo.binding, foo.visibility),
        (SymbolKind::Func, Binding::Global, Visibility::Protected)
    );
    assert_eq!(
        co.read(text.address, 4),
        Some(&co.section_data(co.section(".text").unwrap())[..4])
    );
    assert_eq!(co.read(text.address + text.size, 1), None);
    assert_eq!(co.read(u64::MAX, 1), None);
    assert_eq!(
        metadata::encode(&metadata::decode(co.note().unwrap()).unwrap()),
        co.note().unwrap()
    );
}

#[test]
fn reads_a_relocatable_file() {
    let co = CodeObject::parse(OBJECT).unwrap();
    assert_eq!(co.kind, FileKind::Relocatable);
    let kernel = co.kernel("foo").unwrap();
    assert_eq!(
        (kernel.entry, kernel.entry_section),
        (0, co.section(".text"))
    );
    assert_eq!(kernel.descriptor_section, co.section(".rodata"));
    assert!(matches!(co.image(0), Err(Error::Layout(_))));
    assert!(
        co.relocations
            .iter()
            .any(|r| r.kind == RelocationKind::GOTPCREL32_LO)
    );
}

/// A file without section headers is read through its dynamic section, as loaders do.
#[test]
fn reads_a_file_without_sections() {
    let mut bytes = LINKED.to_vec();
    bytes[40..48].fill(0);
    bytes[60..64].fill(0);
    let (co, whole) = (
        CodeObject::parse(&bytes).unwrap(),
        CodeObject::parse(LINKED).unwrap(),
    );
    assert!(co.sections.is_empty());
    assert_eq!(
        co.kernel("foo").map(|k| k.entry),
        whole.kernel("foo").map(|k| k.entry)
    );
    assert_eq!(co.dynamic_symbols.len(), whole.dynamic_symbols.len());
    // The first segment holds the file header, which differs.
    let segments = |co: &CodeObject| {
        co.image_with(0x1000, |_| Some(7))
            .unwrap()
            .segments
            .split_off(1)
    };
    assert_eq!(segments(&co), segments(&whole));
}

#[test]
fn image_is_relocated() {
    let co = CodeObject::parse(LINKED).unwrap();
    let base = 0x7f00_0000_0000;
    assert!(
        matches!(co.image(base), Err(Error::Relocation { detail, .. }) if detail.contains("'ext' is undefined"))
    );
    let image = co
        .image_with(base, |name| (name == "ext").then_some(0x1234_5678_9abc))
        .unwrap();
    let address = |name: &str| base + co.symbols.iter().find(|s| s.name == name).unwrap().address;
    let word = |at: u64| {
        let segment = image.segment(at).unwrap();
        let start = (at - segment.address) as usize;
        u64::from_le_bytes(segment.bytes[start..start + 8].try_into().unwrap())
    };
    let gv = address("gv");
    let expected = [
        gv,
        address("foo"),
        address("tab") + 8,
        0x1234_5678_9abc,
        address("local_fn"),
    ];
    for (i, value) in expected.into_iter().enumerate() {
        assert_eq!(word(gv + 8 * i as u64), value, "word {i}");
    }
    let got = base + co.sections[co.section(".got").unwrap()].address;
    assert_eq!((word(got), word(got + 8)), (gv, 0x1234_5678_9abc));
    // .bss is in the segment, after its bytes.
    let zeroed = image.segment(address("zz")).unwrap();
    assert!(zeroed.bytes.len() as u64 <= address("zz") - zeroed.address);
    assert_eq!(
        image.size,
        co.segments.last().map(|s| s.address + s.size).unwrap()
    );
    assert!(co.image_with(u64::MAX - 0x1000, |_| Some(0)).is_err());
}

/// The linked file equals lld's, byte for byte, apart from lld's name in `.comment`.
#[test]
fn links_as_lld_does() {
    let expected = CodeObject::parse(LINKED).unwrap();
    let mut builder = Builder::from_relocatable(&CodeObject::parse(OBJECT).unwrap()).unwrap();
    let mut comment = Section::new(
        ".comment",
        SectionFlags(0x30),
        1,
        expected
            .section_data(expected.section(".comment").unwrap())
            .to_vec(),
    );
    comment.entry_size = 1;
    builder.section(comment);
    assert!(builder.loadable().unwrap() == LINKED);
}

/// The parts of a file are equal to its bytes, also with gaps between sections and with pages of zeros.
#[test]
fn parts_are_the_bytes() {
    let (mut builder, ..) = hand_made();
    let mut data = vec![0; 20_000];
    data[12_345] = 7;
    for align in [1, 64, 4096] {
        let name = format!(".data.{align}");
        builder.section(Section::new(&name, SectionFlags::DATA, align, data.clone()));
    }
    builder.section(Section::new(".debug_a", SectionFlags(0), 256, data.clone()));
    builder.section(Section::new(".debug_b", SectionFlags(0), 4096, Vec::new()));
    builder.section(Section::new(".debug_c", SectionFlags(0), 1, data.clone()));
    let bytes = builder.loadable().unwrap();
    let mut written = Vec::new();
    builder.linked().unwrap().write(&mut written).unwrap();
    assert!(written == bytes);
    let object = CodeObject::from_bytes(bytes).unwrap();
    for name in [".debug_a", ".debug_c"] {
        assert!(object.section_data(object.section(name).unwrap()) == data);
    }
    let joined = object.section_data(object.section(".data").unwrap());
    assert_eq!(joined.iter().filter(|b| **b == 7).count(), 3);
}

/// A section merged from data and strings has the flags of both and no entry size, as in lld.
#[test]
fn strings_join_read_only_data() {
    let (mut builder, ..) = hand_made();
    let mut strings = Section::new(".rodata.str1.1", SectionFlags(0x32), 1, b"a\0".to_vec());
    strings.entry_size = 1;
    builder.section(strings);
    let object = CodeObject::from_bytes(builder.loadable().unwrap()).unwrap();
    let rodata = &object.sections[object.section(".rodata").unwrap()];
    assert_eq!((rodata.flags, rodata.entry_size), (SectionFlags(0x32), 0));
}

/// A kernel made only with the builder.
fn hand_made() -> (Builder, usize, usize) {
    let target = TargetId::parse("gfx803", Version::V4).unwrap();
    let mut builder = Builder::new(target, Version::V4);
    // s_endpgm
    let text = builder.section(Section::new(
        ".text",
        SectionFlags::CODE,
        256,
        vec![0, 0, 0x81, 0xbf],
    ));
    let rodata = builder.section(Section::new(
        ".rodata",
        SectionFlags::ALLOC,
        64,
        vec![1, 2, 3],
    ));
    let code = builder.symbol(Symbol {
        name: "k".into(),
        address: 0,
        size: 4,
        kind: SymbolKind::Func,
        binding: Binding::Global,
        visibility: Visibility::Default,
        section: SymbolSection::Index(text),
    });
    let mut kernel = KernelBuilder::new(target);
    kernel.set(".amdhsa_next_free_vgpr", 9).unwrap();
    kernel.set(".amdhsa_next_free_sgpr", 9).unwrap();
    builder
        .kernel(rodata, code, &kernel.finish().unwrap())
        .unwrap();
    (builder, text, rodata)
}

#[test]
fn builds_a_kernel() {
    let (mut builder, text, _) = hand_made();
    let yaml = "amdhsa.version: [1, 1]\namdhsa.kernels: []";
    let metadata = metadata::encode(&metadata::parse_yaml(yaml).unwrap());
    builder.note("AMDGPU", note::MSGPACK, &metadata);
    let co = CodeObject::parse(&builder.loadable().unwrap()).unwrap();
    let kernel = co.kernel("k").unwrap();
    assert_eq!(kernel.descriptor.vgpr_count(), 12);
    assert_eq!(kernel.descriptor_address % 64, 0);
    assert_eq!(co.read(kernel.entry, 4), Some(&[0, 0, 0x81, 0xbf][..]));
    let relocatable = CodeObject::parse(&builder.relocatable().unwrap()).unwrap();
    assert_eq!(relocatable.kernel("k").unwrap().entry, 0);
    // Linking an object that was written and read back gives the same as linking it directly.
    assert_eq!(
        Builder::from_relocatable(&relocatable).unwrap().loadable(),
        builder.loadable()
    );

    // At a given address.
    builder.place_at(".text", 0x8100);
    let co = CodeObject::parse(&builder.loadable().unwrap()).unwrap();
    assert_eq!(co.kernel("k").unwrap().entry, 0x8100);
    for bad in [0x8110, 0x100, !0xff] {
        builder.place_at(".text", bad);
        assert!(
            matches!(builder.loadable(), Err(Error::Layout(_))),
            "{bad:#x}"
        );
    }
    builder.place_at(".text", 0x1100);
    builder.section_mut(text).unwrap().align = 3;
    assert!(matches!(builder.loadable(), Err(Error::Layout(_))));
}

#[test]
fn bad_references_are_refused() {
    let refer = |kind, symbol: Option<usize>, offset, in_text: bool| {
        let (mut builder, text, rodata) = hand_made();
        builder.symbol(Symbol {
            name: "missing".into(),
            address: 0,
            size: 0,
            kind: SymbolKind::NoType,
            binding: Binding::Global,
            visibility: Visibility::Default,
            section: SymbolSection::Undefined,
        });
        builder.relocation(Relocation {
            section: Some(if in_text { text } else { rodata }),
            offset,
            kind,
            symbol,
            addend: 0,
        });
        builder.loadable()
    };
    for (kind, symbol, offset, in_text, says) in [
        (RelocationKind::REL32, Some(2), 0, true, "undefined"),
        (RelocationKind::REL32, Some(9), 0, true, "does not exist"),
        (RelocationKind::REL32, Some(0), 1, true, "outside"),
        (RelocationKind::REL32, Some(0), u64::MAX, true, "outside"),
        (RelocationKind::ABS32_LO, Some(0), 0, true, "run time"),
        (RelocationKind::ABS64, Some(0), 0, false, "read-only"),
        (RelocationKind(12), Some(0), 0, true, "unknown"),
        (RelocationKind::RELATIVE64, None, 0, false, "loader"),
    ] {
        match refer(kind, symbol, offset, in_text) {
            Err(Error::Relocation { detail, .. }) => assert!(detail.contains(says), "{detail}"),
            other => panic!("{kind:?}: {other:?}"),
        }
    }
    assert!(refer(RelocationKind::REL32, Some(0), 0, true).is_ok());
}

#[test]
fn other_files_are_named() {
    let with = |at: usize, value: u8| {
        let mut bytes = LINKED.to_vec();
        bytes[at] = value;
        CodeObject::parse(&bytes).unwrap_err()
    };
    assert_eq!(with(18, 62), Error::Machine(62));
    assert!(with(8, 5).to_string().contains("code object v7"));
    assert_eq!(
        with(7, 67),
        Error::Abi {
            os_abi: 67,
            abi_version: 2
        }
    );
    assert_eq!(with(16, 2), Error::FileType(2));
    assert!(with(48, 0x36).to_string().contains("gfx1030"));
    assert!(matches!(CodeObject::parse(b""), Err(Error::Elf(_))));
    assert!(matches!(CodeObject::parse(b"MZ"), Err(Error::Elf(_))));
}

/// LLVM's YAML text of many odd strings, and the note it encodes for them.
#[test]
fn yaml_is_llvms() {
    let (text, note) = (
        include_str!("data/scalars.yaml"),
        include_bytes!("data/scalars.note"),
    );
    let note = &note[note::find_metadata(note).unwrap()];
    let printed = metadata::to_yaml(&metadata::decode(note).unwrap()).unwrap();
    for (ours, theirs) in printed.lines().zip(text.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(printed, text);
    assert!(metadata::encode(&metadata::parse_yaml(text).unwrap()) == note);
}

static V2_OBJECT: &[u8] = include_bytes!("data/v2-gfx900.o");
static V2_LINKED: &[u8] = include_bytes!("data/v2-gfx900.co");
static MESA: &[u8] = include_bytes!("data/mesa-gfx900.o");

#[test]
fn reads_code_object_v2() {
    for (file, text) in [(V2_OBJECT, 0), (V2_LINKED, 0x1b00)] {
        let co = CodeObject::parse(file).unwrap();
        assert_eq!((co.os, co.version), (Os::Hsa, Version::V2));
        assert_eq!(co.target_id(), "amdgcn-amd-amdhsa--gfx901");
        let notes: Vec<_> = co
            .notes
            .iter()
            .map(|n| (n.owner.as_str(), n.kind))
            .collect();
        assert_eq!(notes, [("AMD", 1), ("AMD", 3), ("AMD", 11), ("AMD", 10)]);
        assert_eq!(co.note_of("AMD", 1), Some(&[2, 0, 0, 0, 1, 0, 0, 0][..]));
        assert!(co.note().is_none());
        assert!(
            co.metadata_text()
                .unwrap()
                .unwrap()
                .starts_with("---\nVersion:")
        );
        let names: Vec<_> = co.kernels.iter().map(|k| k.name.as_str()).collect();
        assert_eq!(names, ["foo", "bar"]);
        let bar = co.kernel("bar").unwrap();
        assert_eq!(
            (bar.descriptor_address, bar.entry),
            (text + 0x200, text + 0x300)
        );
        let code = bar.kernel_code.as_deref().unwrap();
        assert_eq!(code[..8], [1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(bar.descriptor.kernarg_size, 12);
        assert_eq!(bar.descriptor.kernel_code_properties & 0x7f, 0b1001);
        let data = bar.metadata.as_ref().unwrap();
        assert_eq!(data.symbol, "bar@kd");
        assert_eq!(data.reqd_workgroup_size, Some([64, 1, 1]));
        assert_eq!((data.kernarg_segment_size, data.wavefront_size), (12, 64));
        assert_eq!(data.args[1].value_kind, ValueKind::DynamicSharedPointer);
        assert_eq!((data.args[0].offset, data.args[1].offset), (0, 8));
        assert_eq!(data.args[0].address_space.as_deref(), Some("global"));
        assert_eq!(data.args[0].access, None);
        assert!(data.args[0].is_restrict && !data.args[1].is_restrict);
        let offsets = &co.kernel("foo").unwrap().metadata.as_ref().unwrap().args;
        let offsets: Vec<_> = offsets.iter().map(|a| (a.offset, a.size)).collect();
        assert_eq!(offsets, [(0, 8), (8, 4), (12, 4)]);
    }
    // The first compilers wrote no processor into the header.
    let mut bytes = V2_OBJECT.to_vec();
    bytes[48..52].fill(0);
    let co = CodeObject::parse(&bytes).unwrap();
    assert_eq!(co.target_id(), "amdgcn-amd-amdhsa--gfx901");
}

/// The file that lld made of the same object, except for lld's name in `.comment`.
#[test]
fn v2_is_linked_as_lld_links_it() {
    let (object, linked) = (
        CodeObject::parse(V2_OBJECT).unwrap(),
        CodeObject::parse(V2_LINKED).unwrap(),
    );
    let mut builder = Builder::from_relocatable(&object).unwrap();
    let comment = linked.section_data(linked.section(".comment").unwrap());
    let index = (0..).find(|i| {
        let section = builder.section_mut(*i);
        section.is_none_or(|s| s.name == ".comment")
    });
    let section = builder.section_mut(index.unwrap()).unwrap();
    (section.size, section.data) = (comment.len() as u64, comment.to_vec().into());
    assert!(builder.loadable().unwrap() == V2_LINKED);
    let again = CodeObject::parse(&builder.relocatable().unwrap()).unwrap();
    assert_eq!((&again.kernels, &again.notes.len()), (&object.kernels, &4));
    assert_eq!(again.relocations, object.relocations);
}

/// Mesa's relocations have their addends at the relocated locations, and its notes are not loaded.
#[test]
fn mesa_objects_come_back() {
    let object = CodeObject::parse(MESA).unwrap();
    assert_eq!(object.target_id(), "amdgcn-mesa-mesa3d--gfx900");
    assert_eq!(object.kernels.len(), 2);
    assert!(object.section(".AMDGPU.config").is_some());
    let addends: Vec<_> = object
        .relocations
        .iter()
        .map(|r| (r.kind, r.addend))
        .collect();
    assert_eq!(
        addends,
        [
            (RelocationKind::REL32_LO, 4),
            (RelocationKind::REL32_HI, 12)
        ]
    );
    let builder = Builder::from_relocatable(&object).unwrap();
    let again = builder.relocatable().unwrap();
    assert_eq!(&again[7..9], &MESA[7..9]);
    let again = CodeObject::parse(&again).unwrap();
    assert_eq!(again.relocations, object.relocations);
    assert_eq!(again.kernels, object.kernels);
    assert!(again.sections.iter().all(|s| s.kind != SectionKind::RELA));
    // Linking needs no other tool, although lld 14 refuses such relocations.
    let linked = CodeObject::parse(&builder.loadable().unwrap()).unwrap();
    let foo = linked.kernel("foo").unwrap();
    let tab = linked.symbols.iter().find(|s| s.name == "tab").unwrap();
    let location = foo.descriptor_address + object.relocations[0].offset;
    let low = linked.read(location, 4).unwrap();
    let low = u32::from_le_bytes(low.try_into().unwrap());
    assert_eq!(
        u64::from(low),
        (tab.address + 4).wrapping_sub(location) & 0xffff_ffff
    );
}

#[test]
fn section_groups_come_back() {
    let (mut builder, text, _) = hand_made();
    let data = builder.section(Section::new(".text.f", SectionFlags::CODE, 4, vec![0; 8]));
    let signature = builder.symbol(Symbol {
        name: "f".into(),
        address: 0,
        size: 8,
        kind: SymbolKind::Func,
        binding: Binding::Weak,
        visibility: Visibility::Hidden,
        section: SymbolSection::Index(data),
    });
    builder.relocation(Relocation {
        section: Some(data),
        offset: 4,
        kind: RelocationKind::REL32,
        symbol: Some(signature),
        addend: 0,
    });
    builder.group(Group {
        comdat: true,
        signature,
        members: vec![data],
    });
    let object = CodeObject::parse(&builder.relocatable().unwrap()).unwrap();
    let [group] = &object.groups[..] else {
        panic!("{:?}", object.groups);
    };
    assert_eq!(group.flags, 1);
    assert_eq!(object.symbols[group.signature].name, "f");
    let members = group.members.iter().map(|i| &object.sections[*i]);
    let members: Vec<_> = members.map(|s| (s.name.as_str(), s.flags.0)).collect();
    assert_eq!(members, [(".text.f", 0x206), (".rela.text.f", 0x200)]);
    let again = Builder::from_relocatable(&object).unwrap();
    assert_eq!(again.relocatable(), builder.relocatable());
    assert_eq!(again.loadable(), builder.loadable());
    builder.group(Group {
        comdat: false,
        signature,
        members: vec![text, data],
    });
    assert!(matches!(builder.relocatable(), Err(Error::Layout(_))));
}

#[test]
fn notes_are_recognized_by_their_plain_bytes() {
    let mut bytes = note::bytes("AMD", note::VERSION, &[2, 0, 0, 0, 1]);
    let second = bytes.len();
    note::push(&mut bytes, "AMDGPU", note::MSGPACK, &[7; 9]);
    let ends = |bytes: &[u8]| {
        let mut at = 0;
        let mut ends = Vec::new();
        for found in note::notes(bytes) {
            let owner = str::from_utf8(found.owner).unwrap();
            match note::plain_end(bytes, at, owner, &found) {
                Some(end) => at = end,
                None => return ends,
            }
            ends.push(at);
        }
        ends
    };
    assert_eq!(ends(&bytes), [second, bytes.len()]);
    // The padding of the first descriptor, and that of the second owner.
    for (padding, before) in [
        (second - 1, vec![]),
        (second + 12 + "AMDGPU".len() + 1, vec![second]),
    ] {
        let mut other = bytes.clone();
        other[padding] = 1;
        assert_eq!(ends(&other), before, "{padding}");
    }
    // A note that ends without its padding.
    assert_eq!(ends(&bytes[..bytes.len() - 1]), [second]);
}
