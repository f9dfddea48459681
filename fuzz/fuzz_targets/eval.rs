//! Any line of the test language and any JSON of `gcn eval`: it is answered, whatever the program in it does.
#![no_main]

use gcn::asm::Syntax;
use gcn::isa::Target;
use libfuzzer_sys::fuzz_target;

/// Instructions that a program may take.
const MOST: u64 = 200;

fuzz_target!(|data: &[u8]| {
    let Some((&which, rest)) = data.split_first() else {
        return;
    };
    let targets: Vec<Target> = Target::all().collect();
    let target = targets[which as usize % targets.len()];
    match std::str::from_utf8(rest) {
        Ok(text) if !text.starts_with('{') => {
            let _ = gcn::eval::line(target, text, Syntax::Auto, MOST, gcn::engine::Kind::Interp);
        }
        _ => {
            let mut out = Vec::new();
            let lines = gcn::eval::json_lines(rest, &mut out, Some(target), Syntax::Auto, MOST, gcn::engine::Kind::Interp);
            assert!(lines.is_ok(), "{lines:?}");
            let asked = rest
                .split(|c| *c == b'\n')
                .filter(|line| !line.trim_ascii().is_empty());
            assert_eq!(out.iter().filter(|c| **c == b'\n').count(), asked.count());
        }
    }
});
