//! `gcn eval`: runs instructions on one wave and prints the changes.

use std::io::BufReader;
use std::path::PathBuf;

use clap::Args;
use gcn::isa::Target;
use gcn::{eval, io};

#[derive(Args)]
#[command(after_help = "\
The line: instructions (`;` between them), then state, then perhaps what is expected.
  gcn eval --arch gfx900 's_add_u32 s2, s0, s1   s0 = 0xffffffff, s1 = 1'
  gcn eval --arch gfx900 'v_cmp_lt_f32 vcc, v0, v1   v0 = [1.0, 3.0 ..], v1 = 2.0 => vcc = 1'
Registers: s0 s[0:1] v0 v[0:1] exec vcc scc m0 mode status trapsts ttmp0 flat_scratch; memory:
mem[0x1000] lds[0x10] gds[0x10], a dword each. What is not given is 0, but exec all ones and mode 0x3c0.
Exports: mrt0.x mrtz.y pos0.z param31.w, exp.done, exp.valid (EXEC of the last export with vm).
Values: 5 -1 0xff; 1.0 is a 32-bit float, 1.0d a 64-bit, 1.0h a 16-bit one; [1, 2 ..] gives lanes.

JSON lines (--json -), one answer a line:
  {\"arch\":\"gfx900\",\"inst\":\"v_add_f32 v2, v0, v1\",\"state\":{\"v\":{\"0\":\"1.0\",\"1\":\"2.0\"}}}")]
pub struct Options {
    /// The target (gfx600 … gfx90c, or a code name)
    #[arg(long, value_parser = super::target(), ignore_case = true, hide_possible_values = true, required_unless_present = "json")]
    arch: Option<Target>,
    /// Read JSON lines from a file or `-` and answer each
    #[arg(long, value_name = "FILE", conflicts_with = "line")]
    json: Option<PathBuf>,
    /// The syntax of the instructions
    #[arg(long, value_enum, default_value = "auto")]
    syntax: super::SourceSyntax,
    /// The maximum number of instructions
    #[arg(long, default_value_t = eval::MAX)]
    max: u64,
    #[command(flatten)]
    engine: super::Engine,
    /// A line of the test language
    #[arg(required_unless_present = "json")]
    line: Option<String>,
}

/// Runs a line, or JSON lines, and prints the changes.
///
/// # Errors
/// A message: an error in the line, or the differences from its `=>`.
pub fn run(args: &Options) -> Result<(), String> {
    let engine = args.engine.kind(gcn::engine::Kind::Interp)?;
    let syntax = args.syntax.into();
    if let Some(path) = &args.json {
        let out = std::io::stdout().lock();
        let done = if path.as_os_str() == "-" {
            let input = std::io::stdin().lock();
            eval::json_lines(input, out, args.arch, syntax, args.max, engine)
        } else {
            let bytes = io::read(path)?;
            eval::json_lines(
                BufReader::new(bytes.as_slice()),
                out,
                args.arch,
                syntax,
                args.max,
                engine,
            )
        };
        return match done {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Err(e) => Err(e.to_string()),
        };
    }
    let (Some(arch), Some(line)) = (args.arch, &args.line) else {
        return Err("expected --arch and a line, or --json".into());
    };
    let answer = eval::line(arch, line, syntax, args.max, engine)?;
    io::print(format!("{}\n", answer.changed).as_bytes())?;
    match answer.fault {
        Some(fault) => Err(fault),
        None => Ok(()),
    }
}
