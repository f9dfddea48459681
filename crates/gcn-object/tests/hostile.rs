//! Damaged files: for any input the readers return its contents or an error, quickly and with little memory.

mod common;

#[path = "../../../fuzz/src/files.rs"]
mod files;

#[path = "../../../fuzz/src/metadata.rs"]
mod check;

use common::{Xorshift, library, object_file};
use gcn_object::bundle::{self, Method};
use gcn_object::{CodeObject, Container, Source, metadata};
use std::time::{Duration, Instant};

static OBJECT: &[u8] = include_bytes!("data/linking-gfx900.o");
static LINKED: &[u8] = include_bytes!("data/linking-gfx900.co");
static V2: &[u8] = include_bytes!("data/v2-gfx900.o");
static V2_LINKED: &[u8] = include_bytes!("data/v2-gfx900.co");
static MESA: &[u8] = include_bytes!("data/mesa-gfx900.o");

/// The duration of each random test.
const SMOKE: Duration = Duration::from_secs(1);

#[test]
fn truncated() {
    for file in [OBJECT, LINKED, V2, V2_LINKED, MESA] {
        assert!(files::object(file));
        for length in (0..file.len()).step_by(3) {
            files::object(&file[..length]);
        }
    }
}

#[test]
fn mutated() {
    let mut random = Xorshift(0x9e37_79b9_7f4a_7c15);
    let start = Instant::now();
    let (mut read, mut rounds) = (0, 0);
    while start.elapsed() < SMOKE {
        let mut file = [OBJECT, LINKED, V2, V2_LINKED, MESA][rounds % 5].to_vec();
        random.mutate(&mut file);
        read += usize::from(files::object(&file));
        rounds += 1;
    }
    // Most changes to data are harmless; the number shows that the deeper code has run.
    assert!(
        rounds > 200 && (rounds / 20..rounds).contains(&read),
        "{read} of {rounds}"
    );
}

/// Returns one file of each container format.
fn carriers() -> Vec<Vec<u8>> {
    let id = "hipv4-amdgcn-amd-amdhsa--gfx906:xnack-";
    let entries = [
        ("host-x86_64-unknown-linux", &b""[..]),
        (id, b"code"),
        ("hip-amdgcn-amd-amdhsa-gfx900", b"more"),
    ];
    let plain = bundle::write(&entries, 16).unwrap();
    let mut list = vec![
        bundle::write(&[(id, LINKED)], 4096).unwrap(),
        library(&[&plain], false),
        library(&[&plain, &plain], true),
        object_file(".hip_fatbin", &plain),
        object_file(
            "__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx906",
            b"code",
        ),
        plain.clone(),
    ];
    for version in [1, 2, 3] {
        for method in [Method::Zlib, Method::Zstd] {
            let packed = bundle::compress(&plain, method, version).unwrap();
            list.push(library(&[&packed, &plain], false));
            list.push(packed);
        }
    }
    let mut archive = b"!<arch>\n".to_vec();
    archive.extend(format!("{:<48}{:<10}`\n", "a.o/", list[3].len()).as_bytes());
    archive.extend(&list[3]);
    list.push(archive);
    list
}

#[test]
fn carriers_truncated() {
    for file in carriers() {
        assert!(files::container(&file));
        let step = file.len().div_ceil(150);
        for length in (0..file.len()).step_by(step) {
            files::container(&file[..length]);
        }
    }
}

#[test]
fn carriers_mutated() {
    let mut random = Xorshift(0x1234_5678_9abc_def1);
    let list = carriers();
    let start = Instant::now();
    let (mut read, mut rounds) = (0, 0);
    while start.elapsed() < SMOKE {
        let mut file = list[rounds % list.len()].clone();
        random.mutate(&mut file);
        read += usize::from(files::container(&file));
        rounds += 1;
    }
    assert!(
        rounds > 200 && (rounds / 20..rounds).contains(&read),
        "{read} of {rounds}"
    );
}

/// Checks that opening and reading all of a file gives an error with these words, in less than a second.
fn refused(file: Vec<u8>, words: &str) {
    let start = Instant::now();
    let text = match Container::new(Source::from_bytes(file)) {
        Err(e) => e.to_string(),
        Ok(container) => {
            let read = |e| container.read(e).map(|_| ());
            match container.entries.iter().try_for_each(read) {
                Err(e) => e.to_string(),
                Ok(()) => panic!("it was read; '{words}' is expected"),
            }
        }
    };
    assert!(text.contains(words), "{text}; '{words}' is expected");
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "{:?}: {text}",
        start.elapsed()
    );
}

fn put(file: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

/// Wrong counts and sizes.
#[test]
fn bundles_that_lie() {
    let plain = bundle::write(&[("hip-amdgcn-amd-amdhsa--gfx900", b"code")], 1).unwrap();
    let huge = u64::MAX.to_le_bytes();
    refused(put(&plain, 24, &huge), "entries are promised");
    refused(put(&plain, 24, &3u64.to_le_bytes()), "the bytes end within");
    refused(put(&plain, 32, &huge), "entry 0");
    refused(put(&plain, 40, &huge), "entry 0");
    refused(put(&plain, 48, &huge), "an id of");
    refused(put(&plain, 56, &[0xff]), "not UTF-8");
    refused(plain[..40].to_vec(), "the bytes end within");
    // As many entries as the bytes could hold, each covering all bytes.
    let mut many = bundle::MAGIC.to_vec();
    many.extend(100_000u64.to_le_bytes());
    for _ in 0..100_000 {
        for word in [0, 2_400_032, 0u64] {
            many.extend(word.to_le_bytes());
        }
    }
    refused(many, "overlap");
    // A million bundles.
    let mut many = bundle::MAGIC.to_vec();
    many.extend([0; 8]);
    refused(many.repeat(1_000_000), "too many");

    let packed = bundle::compress(&plain, Method::Zlib, 2).unwrap();
    refused(put(&packed, 4, &[9]), "version 9");
    refused(put(&packed, 6, &[9]), "method 9");
    refused(put(&packed, 8, &[0xff; 4]), "promises");
    refused(put(&packed, 12, &[0xff; 4]), "grow");
    refused(put(&packed, 12, &[1, 0, 0, 0]), "");
    refused(put(&packed, 24, &[0xff; 8]), "");
    let packed = bundle::compress(&plain, Method::Zstd, 3).unwrap();
    refused(put(&packed, 8, &huge), "promises");
    refused(put(&packed, 16, &huge), "grow");
    refused(put(&packed, 32, &[0xff; 8]), "");
}

/// Small inputs that decompress to very large ones: directly, in steps, and in many bundles.
#[test]
fn bombs() {
    let zeros = vec![0; 200 << 20];
    let bundle = bundle::write(&[("hip-amdgcn-amd-amdhsa--gfx900", &zeros)], 1).unwrap();
    drop(zeros);
    let bomb = bundle::compress(&bundle, Method::Zlib, 2).unwrap();
    drop(bundle);
    assert!(bomb.len() < 1 << 20);
    refused(bomb.clone(), "grow");
    // The header gives a smaller size than the contents have.
    let modest = put(&bomb, 12, &(1u32 << 20).to_le_bytes());
    refused(modest, "");
    // Listing reads only the header of each of many bundles.
    let zeros = vec![0; 16 << 20];
    let bundle = bundle::write(&[("hip-amdgcn-amd-amdhsa--gfx900", &zeros)], 1).unwrap();
    let mut many = bundle::compress(&bundle, Method::Zlib, 2).unwrap();
    many.resize(many.len().next_multiple_of(64), 0);
    let start = Instant::now();
    let container = Container::new(Source::from_bytes(many.repeat(300))).unwrap();
    assert_eq!(container.entries.len(), 300);
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "{:?}",
        start.elapsed()
    );
}

/// Host files with wrong headers.
#[test]
fn hosts_that_lie() {
    let plain = bundle::write(&[("hip-amdgcn-amd-amdhsa--gfx900", b"code")], 1).unwrap();
    let host = library(&[&plain], false);
    refused(put(&host, 40, &u64::MAX.to_le_bytes()), "section");
    refused(put(&host, 60, &[0xff, 0xff]), "section");
    refused(put(&host, 62, &[0xff, 0xfe]), "names");
    let sections = common::number(&host, 40, 8) as usize;
    // Section 0 holds the number of sections if the header does not.
    let many = put(&host, 60, &[0, 0]);
    refused(put(&many, sections + 32, &[0xff; 4]), "");
    let fatbin = sections + 2 * 64;
    refused(put(&host, fatbin + 32, &u64::MAX.to_le_bytes()), "outside");
    refused(put(&host, fatbin + 24, &u64::MAX.to_le_bytes()), "outside");
    refused(
        put(&host, fatbin + 24, &64u64.to_le_bytes()),
        "no offload bundle",
    );
    refused(b"MZ".repeat(100), "");
    refused(b"\x7fELF".to_vec(), "");
    refused(b"!<arch>\nzzzz".to_vec(), "");
    refused(b"!<thin>\n".to_vec(), "thin");
    refused(Vec::new(), "empty");
    refused(
        b"# __CLANG_OFFLOAD_BUNDLE____START__ hip-amdgcn".to_vec(),
        "-S",
    );
}

/// Lengths far beyond the end of the bytes take no time or memory.
#[test]
fn large_promises() {
    for bytes in [
        &[0xdd, 0xff, 0xff, 0xff, 0xff][..],
        &[0xdf, 0xff, 0xff, 0xff, 0xff],
        &[0xdb, 0xff, 0xff, 0xff, 0xff, 0x61],
    ] {
        assert!(metadata::decode(bytes).is_err());
    }
}

/// Values of every kind of msgpack, including those that have no text.
fn any_value(random: &mut Xorshift, depth: usize) -> metadata::Value {
    use metadata::Value;
    const BYTES: [&[u8]; 6] = [b"", b"a", b"\xff", b"1", b"true", b"it's \"so\"\n"];
    let bytes = BYTES[random.below(BYTES.len())].to_vec();
    let number = random.next();
    match random.below(if depth == 0 { 9 } else { 13 }) {
        0 => Value::Nil,
        1 => Value::Boolean(number & 1 != 0),
        2 => Value::from(number >> (number & 63)),
        3 => Value::from((number as i64) >> (number & 63)),
        4 => Value::F32(f32::from_bits(number as u32)),
        5 => Value::F64(f64::NAN),
        6 => Value::Binary(bytes),
        7 => Value::Ext(number as i8, bytes),
        // Strings that are not UTF-8 can only be made by decoding.
        8 => {
            let string = [&[0xa0 | bytes.len() as u8][..], &bytes].concat();
            metadata::decode(&string).expect("a string")
        }
        9 | 10 => {
            let items = (0..random.below(4)).map(|_| any_value(random, depth - 1));
            Value::Array(items.collect())
        }
        _ => {
            let pairs =
                (0..random.below(5)).map(|_| (any_value(random, 0), any_value(random, depth - 1)));
            Value::Map(pairs.collect())
        }
    }
}

#[test]
fn metadata_are_written_as_they_were_read() {
    let mut random = Xorshift(777);
    for _ in 0..3000 {
        check::metadata(&metadata::encode(&any_value(&mut random, 4)));
    }
    // Lengths from 16 on, and again from 32 and 256, need a longer head.
    for count in [15, 16, 31, 32, 255, 256, 65_535, 65_536] {
        let text = metadata::Value::from("x".repeat(count));
        let nils = vec![metadata::Value::Nil; count];
        let pairs = (0..count).map(|n| (metadata::Value::from(n), metadata::Value::Nil));
        for value in [text, nils.into(), metadata::Value::Map(pairs.collect())] {
            let mut expected = Vec::new();
            rmpv::encode::write_value(&mut expected, &value).expect("memory takes all");
            assert_eq!(metadata::encode(&value), expected);
        }
    }
}

#[test]
fn mutated_notes_and_text() {
    let mut random = Xorshift(12345);
    let object = CodeObject::parse(LINKED).unwrap();
    let note = object.note().unwrap();
    let text = metadata::faithful_text(note).unwrap();
    for _ in 0..3000 {
        let mut bytes = note.to_vec();
        let at = random.below(bytes.len());
        bytes[at] = random.next() as u8;
        check::metadata(&bytes);
        let mut bytes = text.clone().into_bytes();
        let at = random.below(bytes.len());
        let odd = b" \n-:!&*[]{}'\"~x\t#|>%@?,\0\xc3";
        bytes[at] = odd[random.below(odd.len())];
        check::metadata(&bytes);
    }
}
