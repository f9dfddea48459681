//! LLVM's text of every opcode in testdata/opcodes.tsv assembles to an instruction of the row with that opcode.

use gcn_asm::assemble_snippet;
use gcn_isa::{Format, Target, decode, insts};

/// The target of each column of text.
const TARGETS: [&str; 3] = ["gfx803", "gfx900", "gfx906"];
/// The columns where text and opcodes begin.
const TEXT: usize = 7;
const OPCODE: usize = 4;

/// A lane select in a VGPR, which LLVM prints but does not accept.
const LANE: &str = "the lane select is an SGPR or a constant; LLVM does not assemble its own text";

/// Four components in one VGPR.
const DMASK: &str = "an atomic has one component or two; LLVM does not assemble its own text";

/// Texts that are not the instruction's own, with the reason; a `*` stands for any characters.
const GATHER: &str = "a gather gives one channel of four texels, and DMASK says which";
const PARAM: &str = "there are three vertex parameters";
const EXCEPTIONS: &[(&str, &str)] = &[
    ("v_readlane_b32 s8, v0, v2", LANE),
    ("v_writelane_b32 v8, v0, v2", LANE),
    ("image_atomic_* v8, v0, s[8:15] dmask:0xf unorm", DMASK),
    ("image_gather4* dmask:0xf unorm", GATHER),
    ("v_interp_mov_f32_e64 v8, invalid_param_258, attr1.x", PARAM),
];

#[test]
fn llvms_texts_assemble_to_their_rows() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/opcodes.tsv");
    let table = std::fs::read_to_string(path).expect("testdata/opcodes.tsv");
    let mut wrong = String::new();
    let mut used = vec![false; EXCEPTIONS.len()];
    let mut count = 0;
    for line in table.lines().filter(|l| !l.starts_with('#')).skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let mut text = "";
        for (column, name) in TARGETS.into_iter().enumerate() {
            match cells.get(TEXT + column).copied().unwrap_or("") {
                "=" => {}
                other => text = other,
            }
            if text.is_empty() || text == "-" {
                continue;
            }
            count += 1;
            let target = Target::parse(name).expect("a target");
            let verdict = check(target, cells[0], cells[1], cells[OPCODE + column], text);
            let Err(what) = verdict else { continue };
            let fits = |pattern: &str| match pattern.split_once('*') {
                Some((head, tail)) => text.starts_with(head) && text.ends_with(tail),
                None => text == pattern,
            };
            match EXCEPTIONS.iter().position(|(pattern, _)| fits(pattern)) {
                Some(n) => used[n] = true,
                None => wrong += &format!("{name}: {text}: {what}\n"),
            }
        }
    }
    for ((text, why), _) in EXCEPTIONS.iter().zip(&used).filter(|(_, used)| !**used) {
        wrong += &format!("the exception `{text}` ({why}) is none\n");
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(count > 2000, "only {count} texts");
}

fn check(target: Target, format: &str, name: &str, op: &str, text: &str) -> Result<(), String> {
    let format = match Format::parse(format) {
        Some(Format::Flat) if name.starts_with("global_") => Format::Global,
        Some(Format::Flat) if name.starts_with("scratch_") => Format::Scratch,
        Some(format) => format,
        None => return Err(format!("{format} is no format")),
    };
    let mut op: u32 = op.parse().map_err(|e| format!("{op}: {e}"))?;
    if format == Format::Vop3p {
        // The table counts VOP3P's opcodes as VOP3's.
        op -= 896;
    }
    let row = insts::lookup(target, format, op).ok_or("no row has its opcode")?;
    let bytes = assemble_snippet(target, text, false).map_err(|e| {
        let lines: Vec<String> = e.iter().map(|d| d.message.clone()).collect();
        lines.join("; ")
    })?;
    let insn = decode(target, &bytes).ok_or_else(|| format!("{bytes:02x?} does not decode"))?;
    if !std::ptr::eq(insn.row, row) || insn.len as usize != bytes.len() {
        return Err(format!(
            "{bytes:02x?} is {}, not {}",
            insn.row.name, row.name
        ));
    }
    if insn.encoding != format.encoding() && !row.shape.is_vop3b() {
        return Err(format!("{bytes:02x?} is {:?}", insn.encoding));
    }
    Ok(())
}
