//! Any text as a plan and as a register file: it is read, or refused with a message; the raw code beside it runs.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use gcn::isa::Target;
use gcn::{plan_toml, raw};
use libfuzzer_sys::fuzz_target;

/// A folder of this process, with a source that plans may name.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("gcn-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = include_str!("../../examples/saxpy.s");
    std::fs::write(folder.join("saxpy.s"), source).expect("a file");
    folder
});

/// v_add_f32 v0, v1, v2 and s_endpgm.
const CODE: [u8; 8] = [0x01, 0x05, 0x00, 0x02, 0x00, 0x00, 0x81, 0xbf];

fuzz_target!(|data: &[u8]| {
    let path = FOLDER.join("any.toml");
    std::fs::write(&path, data).expect("a file");
    if let Err(message) = plan_toml::read(&path, None) {
        assert!(!message.is_empty());
    }
    if let Some(target) = Target::parse("gfx900") {
        let request = raw::Request {
            target,
            code: CODE.to_vec(),
            base: None,
            regs: Some(&path),
            max: 200,
            engine: gcn::engine::Kind::default(),
        };
        let _ = raw::run(&request).map(|outcome| (outcome.text(), outcome.json().to_string()));
    }
});
