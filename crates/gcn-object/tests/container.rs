//! Bundles and their containers: reading, writing, patching.

mod common;

use common::{BSS, library, load, number, object_file, sections};
use gcn_object::bundle::{self, Method};
use gcn_object::container::{Kind, Packing, Target};
use gcn_object::{Container, Error, Source, patch};

static CODE: &[u8] = include_bytes!("data/linking-gfx900.co");
static HOST: &str = "host-x86_64-unknown-linux";

fn id(target: &str) -> String {
    format!("hipv4-amdgcn-amd-amdhsa--{target}")
}

fn bundle_of(entries: &[(&str, &[u8])], align: u64) -> Vec<u8> {
    bundle::write(entries, align).unwrap()
}

/// A bundle with an empty host entry and two entries for gfx900 and gfx906.
fn two(first: &[u8], second: &[u8]) -> Vec<u8> {
    bundle_of(
        &[
            (HOST, b""),
            (&id("gfx900"), first),
            (&id("gfx906:xnack-"), second),
        ],
        4096,
    )
}

fn open(bytes: &[u8]) -> Container {
    Container::new(Source::from_bytes(bytes.to_vec())).unwrap()
}

/// Ids and bytes of all entries.
fn contents(container: &Container) -> Vec<(String, Vec<u8>)> {
    let read = |e| container.read(e).unwrap();
    let entries = container.entries.iter();
    entries.map(|e| (e.id.clone(), read(e))).collect()
}

fn replaced(file: &[u8], entry: usize, new: &[u8]) -> (Vec<u8>, bool) {
    let container = open(file);
    let patched = patch::replace(&container, &container.entries[entry], new).unwrap();
    let mut out = Vec::new();
    patched.write(&mut out).unwrap();
    assert_eq!(out.len() as u64, patched.size());
    (out, patched.moved)
}

/// The bytes that clang-offload-bundler 14 wrote for these entries (-type=o).
#[test]
fn a_bundle_is_clangs() {
    let bytes = bundle_of(&[(HOST, b"h"), (&id("gfx906"), b"code")], 16);
    let mut expected = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    for word in [2u64, 144, 1, 25] {
        expected.extend(word.to_le_bytes());
    }
    expected.extend(HOST.as_bytes());
    for word in [160u64, 4, 31] {
        expected.extend(word.to_le_bytes());
    }
    expected.extend(id("gfx906").as_bytes());
    expected.resize(144, 0);
    expected.push(b'h');
    expected.resize(160, 0);
    expected.extend(b"code");
    assert_eq!(bytes, expected);
}

#[test]
fn bundles_are_listed_and_read() {
    let plain = two(CODE, b"second");
    let mut expected = vec![
        (HOST.to_string(), Vec::new()),
        (id("gfx900"), CODE.to_vec()),
        (id("gfx906:xnack-"), b"second".to_vec()),
    ];
    let container = open(&plain);
    assert_eq!(container.kind, Kind::Bundle);
    assert_eq!(contents(&container), expected);
    assert_eq!(container.file_offset(&container.entries[1]), Some(4096));
    let object = container.object(&container.entries[1]).unwrap();
    assert_eq!(object.target_id(), "amdgcn-amd-amdhsa--gfx900");

    for method in [Method::Zlib, Method::Zstd] {
        for version in [1, 2, 3] {
            let packed = bundle::compress(&plain, method, version).unwrap();
            let container = open(&packed);
            assert_eq!(contents(&container), expected, "{method:?} {version}");
            assert_eq!(container.file_offset(&container.entries[1]), None);
            let Packing::Compressed(header) = container.bundles[0].packing else {
                panic!("{:?}", container.bundles[0]);
            };
            assert_eq!(header.uncompressed, plain.len() as u64);
            // Several bundles in a section; the first one, of version 1, does not record its size.
            let mut several = packed.clone();
            several.resize(several.len().next_multiple_of(4096), 0);
            several.extend(&plain);
            let container = open(&library(&[&several, &packed], false));
            assert_eq!(container.bundles.len(), 3);
            let all: Vec<_> = [&expected[..]; 3].concat();
            assert_eq!(contents(&container), all, "{method:?} {version}");
        }
    }
    for host in [
        library(&[&plain, &plain], false),
        library(&[&plain, &plain], true),
    ] {
        let container = open(&host);
        assert_eq!(container.kind, Kind::Host);
        assert_eq!(container.bundles.len(), 2);
        assert_eq!(container.bundles[1].section.as_deref(), Some(".hip_fatbin"));
        assert_eq!(contents(&container), [&expected[..]; 2].concat());
    }
    let section = format!("__CLANG_OFFLOAD_BUNDLE__{}", id("gfx900"));
    let container = open(&object_file(&section, CODE));
    assert_eq!(contents(&container), [expected.swap_remove(1)]);
    let container = open(CODE);
    assert_eq!(container.kind, Kind::CodeObject);
    assert_eq!(container.entries[0].id, "amdgcn-amd-amdhsa--gfx900");
    assert_eq!(container.choose(None, None).unwrap().index, 0);
}

/// Returns an archive of object files, each member at an even offset.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let header = format!(
            "{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            format!("{name}/"),
            0,
            0,
            0,
            644,
            bytes.len()
        );
        out.extend(header.as_bytes());
        out.extend(*bytes);
        if out.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    out
}

#[test]
fn archives_are_read() {
    let object = object_file(".hip_fatbin", &two(CODE, b"2"));
    let file = archive(&[
        ("a.o", &object),
        ("notes.txt", b"nothing"),
        ("b.o", &object),
    ]);
    let container = open(&file);
    assert_eq!(container.kind, Kind::Archive);
    assert_eq!(container.entries.len(), 6);
    assert_eq!(container.bundles[1].member.as_deref(), Some("b.o"));
    assert_eq!(container.read(&container.entries[4]).unwrap(), CODE);
    let (new, moved) = replaced(&file, 5, b"3");
    assert!(!moved && new.len() == file.len());
    assert_eq!(contents(&open(&new))[5].1, b"3");
    let error = patch::replace(&container, &container.entries[5], CODE).unwrap_err();
    assert!(error.to_string().contains("ar"), "{error}");
}

/// Returns LLVM's offload binary, as clang-offload-packager writes it.
fn offload_binary(arch: &str, image: &[u8]) -> Vec<u8> {
    let strings = format!("triple\0amdgcn-amd-amdhsa\0arch\0{arch}\0");
    let text = 32 + 40 + 32;
    let start = (text + strings.len()).next_multiple_of(8);
    let total = (start + image.len()).next_multiple_of(8);
    let mut out = vec![0x10, 0xff, 0x10, 0xad, 1, 0, 0, 0];
    for word in [total as u64, 32, 40] {
        out.extend(word.to_le_bytes());
    }
    // Image kind: object; producer: HIP.
    out.extend([1, 0, 3, 0, 0, 0, 0, 0]);
    let arch_at = text as u64 + 30;
    let locations = [text as u64, text as u64 + 7, text as u64 + 25, arch_at];
    for word in [72, 2, start as u64, image.len() as u64]
        .iter()
        .chain(&locations)
    {
        out.extend(word.to_le_bytes());
    }
    out.extend(strings.as_bytes());
    out.resize(start, 0);
    out.extend(image);
    out.resize(total, 0);
    out
}

#[test]
fn offload_binaries_are_read_and_changed() {
    let file = [
        offload_binary("gfx900", CODE),
        offload_binary("gfx906", b"second"),
    ]
    .concat();
    let expected = [
        ("hip-amdgcn-amd-amdhsa--gfx900".to_string(), CODE.to_vec()),
        (
            "hip-amdgcn-amd-amdhsa--gfx906".to_string(),
            b"second".to_vec(),
        ),
    ];
    let container = open(&file);
    assert_eq!(container.kind, Kind::OffloadBinary);
    assert_eq!(contents(&container), expected);
    let host = object_file(".llvm.offloading", &file);
    assert_eq!(contents(&open(&host)), expected);
    for file in [&file, &host] {
        for new in [&b"x"[..], &[7; 9999]] {
            for entry in 0..2 {
                let (out, _) = replaced(file, entry, new);
                let mut expected = expected.clone();
                expected[entry].1 = new.to_vec();
                assert_eq!(contents(&open(&out)), expected, "entry {entry}");
            }
        }
    }
}

#[test]
fn targets_fit_by_features() {
    let fits = |code: &str, wanted: &str| {
        let parse = |t| Target::parse(t).unwrap();
        parse(code).fits(&parse(wanted))
    };
    for (code, wanted, answer) in [
        ("gfx906", "gfx906", Some(0)),
        ("gfx906", "gfx900", None),
        ("gfx906", "gfx906:xnack+", Some(0)),
        ("gfx906:xnack+", "gfx906:xnack+", Some(1)),
        ("gfx906:xnack-", "gfx906:xnack+", None),
        ("gfx906:sramecc+:xnack-", "gfx906:xnack-", Some(1)),
        ("gfx906:sramecc+:xnack-", "gfx906", Some(0)),
        (
            "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+",
            "gfx90a:sramecc-:xnack+",
            Some(1),
        ),
        (
            "hip-amdgcn-amd-amdhsa-gfx803",
            "amdgcn-amd-amdhsa--gfx803",
            Some(0),
        ),
        (
            "hip-amdgcn-amd-amdhsa-gfx906+xnack+sram-ecc",
            "gfx906:sramecc+:xnack+",
            Some(2),
        ),
        ("gfx906+sram-ecc", "gfx906:sramecc-", None),
    ] {
        assert_eq!(fits(code, wanted), answer, "{code} for {wanted}");
    }
    for host in [HOST, "", "x86_64", "host-x86_64-unknown-linux--"] {
        assert_eq!(Target::parse(host), None, "{host}");
    }
    assert_eq!(
        Target::parse("a-gfx906+xnack").unwrap().to_string(),
        "gfx906:xnack+"
    );
}

#[test]
fn one_entry_is_chosen_or_all_are_listed() {
    let many = bundle_of(
        &[
            (HOST, b""),
            (&id("gfx1030"), b"0"),
            (&id("gfx906:xnack-"), b"1"),
            (&id("gfx906:xnack+"), b"2"),
            (&id("gfx900"), b"3"),
            (&id("gfx900:xnack+"), b"4"),
        ],
        1,
    );
    let container = open(&many);
    let choose = |target, number| container.choose(target, number).map(|e| e.index);
    assert_eq!(choose(Some("gfx906:xnack-"), None), Ok(2));
    assert_eq!(choose(Some("gfx906:sramecc+:xnack+"), None), Ok(3));
    assert_eq!(
        choose(Some("hipv4-amdgcn-amd-amdhsa--gfx906:xnack+"), None),
        Ok(3)
    );
    assert_eq!(choose(Some("gfx900"), None), Ok(4));
    assert_eq!(choose(Some("gfx900:xnack+"), None), Ok(5));
    assert_eq!(choose(Some("gfx900:xnack-"), None), Ok(4));
    assert_eq!(choose(Some("gfx1030"), None), Ok(1));
    assert_eq!(choose(Some(HOST), None), Ok(0));
    assert_eq!(choose(None, Some(3)), Ok(3));
    assert_eq!(choose(Some("gfx906"), Some(3)), Ok(3));
    for (target, number, words) in [
        (
            None,
            None,
            "entry 2: hipv4-amdgcn-amd-amdhsa--gfx906:xnack- (1 bytes)",
        ),
        (Some("gfx906"), None, "entry 3:"),
        (Some("gfx803"), None, "no code for gfx803"),
        (Some("nonsense"), None, "no code for nonsense"),
        (None, Some(6), "no entry 6"),
        (Some("gfx900"), Some(3), "entry 3 is hipv4"),
    ] {
        match choose(target, number) {
            Err(Error::Choice(text)) => assert!(text.contains(words), "{text}"),
            other => panic!("{target:?} {number:?}: {other:?}"),
        }
    }
    // The only entry that this crate reads.
    let one = bundle_of(
        &[(HOST, b""), (&id("gfx1030"), b"0"), (&id("gfx803"), b"1")],
        1,
    );
    assert_eq!(open(&one).choose(None, None).unwrap().index, 2);
}

#[test]
fn bundles_are_changed() {
    for align in [1, 16, 4096] {
        let make = |second: &[u8]| {
            bundle_of(
                &[
                    (HOST, b""),
                    (&id("gfx900"), CODE),
                    (&id("gfx906"), second),
                    (&id("gfx803"), b"3"),
                ],
                align,
            )
        };
        let old = make(b"second");
        for new in [&b"x"[..], b"longer", &[9; 5000], b""] {
            // The result equals the bundle made directly with the new code.
            assert_eq!(replaced(&old, 2, new), (make(new), false), "{align}");
            for method in [Method::Zlib, Method::Zstd] {
                for version in [1, 2, 3] {
                    let pack = |b: &[u8]| bundle::compress(b, method, version).unwrap();
                    let (out, _) = replaced(&pack(&old), 2, new);
                    assert_eq!(out, pack(&make(new)), "{align} {method:?} {version}");
                }
            }
        }
    }
    // A file of several bundles.
    let file = [two(b"a", &[1; 4096]), two(b"b", b"c")].concat();
    let (out, _) = replaced(&file, 1, &[2; 10_000]);
    let mut expected = contents(&open(&file));
    expected[1].1 = vec![2; 10_000];
    assert_eq!(contents(&open(&out)), expected);
    assert_eq!(open(&out).bundles[1].offset % 4096, 0);
}

/// Returns the bundles that the program finds through its wrappers at run time.
fn loaded(file: &[u8]) -> Vec<Vec<(String, Vec<u8>)>> {
    let (memory, pointers) = load(file);
    let bundle = |at: u64| {
        let bytes = &memory[at as usize..];
        let (items, _) = bundle::read_header(bytes, bytes.len() as u64).unwrap();
        let entry = |i: &bundle::Item| {
            let at = i.offset as usize;
            (i.id.clone(), bytes[at..at + i.size as usize].to_vec())
        };
        items.iter().map(entry).collect()
    };
    pointers.into_iter().map(bundle).collect()
}

#[test]
fn programs_are_changed_in_place() {
    for fixed in [false, true] {
        let old = library(&[&two(b"first", b"second"), &two(CODE, b"fourth")], fixed);
        for new in [&b"x"[..], &[5; 4000], b""] {
            let (out, moved) = replaced(&old, 1, new);
            assert!(!moved && out.len() == old.len());
            let mut expected = contents(&open(&old));
            expected[1].1 = new.to_vec();
            assert_eq!(contents(&open(&out)), expected);
            assert_eq!(loaded(&out).concat(), expected);
        }
    }
}

#[test]
fn programs_are_changed_by_moving_the_bundle() {
    for fixed in [false, true] {
        for bundles in [1, 2, 3] {
            let old = [
                two(b"first", b"second"),
                two(CODE, b"fourth"),
                two(b"5", b"6"),
            ];
            let old: Vec<&[u8]> = old.iter().take(bundles).map(Vec::as_slice).collect();
            let old = library(&old, fixed);
            assert_eq!(loaded(&old).concat(), contents(&open(&old)));
            for which in 0..bundles {
                let new = vec![7; 9000];
                let (out, moved) = replaced(&old, 3 * which + 2, &new);
                assert!(moved);
                // A program has its bundles in the order of its wrappers; in the file the moved one is last.
                let mut expected = contents(&open(&old));
                expected[3 * which + 2].1 = new.clone();
                assert_eq!(
                    loaded(&out).concat(),
                    expected,
                    "fixed {fixed} bundle {which} of {bundles}"
                );
                expected[3 * which..].rotate_left(3);
                assert_eq!(contents(&open(&out)), expected);
                still_whole(&old, &out, bundles > 1);
                // Again, with the moved bundle and with another one.
                let again = replaced(&out, 3 * bundles - 1, &[8; 30_000]).0;
                assert_eq!(loaded(&again)[which][2].1, [8; 30_000]);
                let again = replaced(&again, 1, &[9; 30_000]).0;
                let mut first: Vec<_> = loaded(&again).iter().map(|b| b[1].1.len()).collect();
                first.sort_unstable();
                assert_eq!(first.last(), Some(&30_000));
                assert_eq!(open(&again).bundles.len(), bundles);
            }
        }
    }
}

/// Checks a changed program: its zeroed data is zero, its other sections are unchanged, and its section headers are in
/// the file.
fn still_whole(old: &[u8], new: &[u8], second_section: bool) {
    let (before, after) = (sections(old), sections(new));
    assert_eq!(after.len(), before.len() + usize::from(second_section));
    let (memory, _) = load(new);
    for ((name, offset, size, address, _), (_, new_offset, new_size, new_address, kind)) in
        before.iter().zip(&after)
    {
        let (a, b) = (*offset, *new_offset);
        match name.as_str() {
            ".bss" => {
                assert_eq!((*new_address, *new_size as u64, *kind), (*address, BSS, 1));
                let zeros = &memory[*address as usize..][..*size];
                assert!(zeros.iter().all(|b| *b == 0));
            }
            ".comment" | ".shstrtab" => {
                assert_eq!(new[b..b + size], old[a..a + size], "{name}");
            }
            // Each symbol points to a bundle's start.
            ".symtab" => {
                for n in 1..size / 24 {
                    let value = number(new, b + 24 * n + 8, 8);
                    let section = number(new, b + 24 * n + 6, 2) as usize;
                    let (name, _, size, address, _) = &after[section - 1];
                    assert_eq!(name, ".hip_fatbin");
                    assert!(value >= *address && value < address + *size as u64);
                    assert!(memory[value as usize..].starts_with(bundle::MAGIC));
                }
            }
            _ => {}
        }
    }
}

#[test]
fn object_files_are_changed() {
    let old = object_file(".hip_fatbin", &two(b"first", b"second"));
    let (out, moved) = replaced(&old, 2, CODE);
    assert!(moved);
    let mut expected = contents(&open(&old));
    expected[2].1 = CODE.to_vec();
    assert_eq!(contents(&open(&out)), expected);
    let section = format!("__CLANG_OFFLOAD_BUNDLE__{}", id("gfx900"));
    let (out, _) = replaced(&object_file(&section, b"old"), 0, CODE);
    assert_eq!(contents(&open(&out)), [(id("gfx900"), CODE.to_vec())]);
    // A bare code object is replaced as a whole.
    assert_eq!(replaced(CODE, 0, b"new"), (b"new".to_vec(), false));
}

#[test]
fn what_cannot_grow_says_so() {
    let bundle = two(b"first", b"second");
    let refused = |file: &[u8], words: &str| {
        let container = open(file);
        let entry = &container.entries[2];
        let error = patch::replace(&container, entry, &[1; 50_000]).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    };
    // No wrapper, and a relocation of another kind.
    let mut file = library(&[&bundle], true);
    let segment = sections(&file)[3].1;
    file[segment..segment + 4].fill(0);
    refused(&file, "no wrapper");
    let mut file = library(&[&bundle], false);
    file[0x208] = 1;
    refused(&file, "cannot be pointed elsewhere");
    // A 32-bit host.
    let mut file = object_file(".hip_fatbin", &[bundle.clone(), bundle.clone()].concat());
    refused(&file, "several bundles");
    file[5] = 2;
    assert!(Container::new(Source::from_bytes(file)).is_err());
}
