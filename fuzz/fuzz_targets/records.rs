//! Any bytes as a shard, as what a shard's file holds, as a journal, as a journal's records, and as a campaign: they are read, or refused with a
//! message, and what was read is written as the same.
#![no_main]

use std::io::Write;
use std::path::PathBuf;
use std::sync::LazyLock;

use gcn::campaign::{Campaign, journal};
use gcn::shard::Shard;
use libfuzzer_sys::fuzz_target;

/// A folder of this process, with a plan that campaigns may name.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("gcn-fuzz-records-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, text) in [
        ("saxpy.s", include_str!("../../examples/saxpy.s")),
        ("saxpy.toml", include_str!("../../examples/saxpy.toml")),
    ] {
        std::fs::write(folder.join(name), text).expect("a file");
    }
    folder
});

fn shard(file: &[u8]) {
    match Shard::from_bytes(file) {
        Ok(shard) => assert_eq!(Shard::from_bytes(&shard.to_bytes()), Ok(shard)),
        Err(message) => assert!(!message.is_empty()),
    }
}

fn journal(bytes: &[u8]) {
    match journal::parse(bytes) {
        Ok(contents) => {
            let again = journal::parse(&bytes[..contents.intact]).expect("the intact part");
            assert_eq!(again.records, contents.records);
        }
        Err(message) => assert!(!message.is_empty()),
    }
}

fuzz_target!(|data: &[u8]| {
    shard(data);
    let mut file = b"GCNshrd1".to_vec();
    let mut zlib = flate2::write::ZlibEncoder::new(&mut file, flate2::Compression::fast());
    zlib.write_all(data)
        .and_then(|()| zlib.try_finish())
        .expect("a vector");
    drop(zlib);
    shard(&file);
    journal(data);
    if let Ok(text) = std::str::from_utf8(data) {
        let lines: String = text.lines().map(journal::line).collect();
        journal(lines.as_bytes());
        let path = FOLDER.join("any.toml");
        std::fs::write(&path, text).expect("a file");
        match Campaign::read(&path, None) {
            Ok(campaign) => assert!(campaign.items() > 0),
            Err(message) => assert!(
                message.contains("any.toml") || message.contains("saxpy"),
                "{message}"
            ),
        }
    }
});
