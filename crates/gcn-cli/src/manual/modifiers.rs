//! The modifiers of an instruction in its lines of syntax, and their descriptions.

use std::fmt::Write as _;

use gcn::isa::format::{Encoding, Format};
use gcn::isa::inst::Inst;
use gcn::isa::modifier::{self, Modifier};
use gcn::isa::shape::{Access, Mods, Role};
use gcn::isa::target::{Gen, Target};

use super::{encoding_name, encodings, targets_text};

/// A modifier in a line of syntax.
enum Takes {
    Must(&'static Modifier),
    May(&'static Modifier),
    /// A text that stands for several modifiers.
    Text(&'static str, &'static [&'static Modifier]),
}

use Takes::{May, Must, Text};

/// OMOD in a line of syntax.
const OMOD_TEXT: Takes = Text(" [mul:2|mul:4|div:2]", &[modifier::MUL, modifier::DIV]);

/// The modifiers that choose the lanes of DPP.
const DPP_TEXT: Takes = Text(
    " DPP_CTRL",
    &[
        modifier::QUAD_PERM,
        modifier::ROW_SHL,
        modifier::ROW_SHR,
        modifier::ROW_ROR,
        modifier::WAVE_SHL,
        modifier::WAVE_ROL,
        modifier::WAVE_SHR,
        modifier::WAVE_ROR,
        modifier::ROW_MIRROR,
        modifier::ROW_HALF_MIRROR,
        modifier::ROW_BCAST,
    ],
);

/// Returns the modifiers that the assembler accepts after the operands.
fn list(row: &Inst, encoding: Encoding, generation: Gen) -> Vec<Takes> {
    use Encoding::*;
    use modifier::*;
    let all = |list: &[&'static Modifier]| list.iter().copied().map(May).collect::<Vec<_>>();
    let gfx8 = generation == Gen::Gfx8;
    match (row.shape.mods, encoding) {
        (Mods::None | Mods::BufferBare, _) => vec![],
        (Mods::Valu, Sdwa1 | Sdwa2) => {
            let must = [DST_SEL, DST_UNUSED, SRC0_SEL].map(Must);
            let mut list = vec![May(CLAMP)];
            list.extend(must);
            list.push(May(SRC1_SEL));
            list
        }
        (Mods::Valu, SdwaC) => {
            let clamp = gfx8.then_some(May(CLAMP));
            let selects = [SRC0_SEL, SRC1_SEL].map(Must);
            clamp.into_iter().chain(selects).collect()
        }
        (Mods::Valu, Dpp1 | Dpp2 | DppC) => {
            vec![DPP_TEXT, Must(ROW_MASK), Must(BANK_MASK), May(BOUND_CTRL)]
        }
        (Mods::Valu, Vop3 | Vop3b) => vop3(row, encoding, generation),
        (Mods::Valu, _) => vec![],
        (Mods::Packed, _) => all(&[OP_SEL, OP_SEL_HI, NEG_LO, NEG_HI, CLAMP]),
        (Mods::Mix, _) => all(&[OP_SEL, OP_SEL_HI, CLAMP]),
        (Mods::Interp, Vop3) => vec![May(CLAMP), OMOD_TEXT],
        (Mods::InterpHigh, Vop3) => vec![May(HIGH), May(CLAMP), OMOD_TEXT],
        (Mods::Interp | Mods::InterpHigh, _) => vec![],
        (Mods::Typed, _) => all(&[FORMAT, IDXEN, OFFEN, OFFSET, GLC, SLC, TFE]),
        (Mods::Image, _) => {
            // D16 exists from gfx8 on.
            let had = |m: &&Modifier| generation >= Gen::Gfx8 || m.sets != D16.sets;
            let flags = modifier::image(generation).into_iter().filter(had);
            [Must(DMASK)].into_iter().chain(flags.map(May)).collect()
        }
        (Mods::Export, _) => all(&modifier::EXPORT),
        (Mods::Smem | Mods::SmemScratch, _) => all(&[GLC]),
        (Mods::Ds, _) => all(&[OFFSET, GDS]),
        (Mods::Swizzle, _) => vec![Text(" [offset:N | offset:swizzle(…)]", &[OFFSET]), May(GDS)],
        (Mods::Gds, _) => vec![May(OFFSET), Must(GDS)],
        (Mods::Ds2, _) => all(&[OFFSET0, OFFSET1, GDS]),
        (Mods::Buffer, _) if generation < Gen::Gfx8 => {
            all(&[IDXEN, OFFEN, ADDR64, OFFSET, GLC, SLC, TFE])
        }
        (Mods::Buffer, _) => all(&[IDXEN, OFFEN, OFFSET, GLC, SLC, TFE]),
        (Mods::BufferLds, _) => vec![May(OFFSET), Must(LDS), May(GLC), May(SLC)],
        (Mods::Flat, _) if generation == Gen::Gfx9 => all(&[OFFSET, GLC, SLC]),
        (Mods::Flat, _) => all(&[GLC, SLC]),
    }
}

/// Returns VOP3's modifiers, without abs and neg, which are written with the operands.
fn vop3(row: &Inst, encoding: Encoding, generation: Gen) -> Vec<Takes> {
    let slots = row.shape.slots;
    let float = slots.iter().any(|s| s.ty.is_float());
    let compare = row.format == Format::Vopc;
    let typed = slots.first().is_some_and(|s| s.ty.as_bits() != s.ty);
    let mut list = Vec::new();
    let halves = slots.iter().any(|s| s.ty.bits() == 16);
    if generation == Gen::Gfx9 && encoding == Encoding::Vop3 && halves && !compare {
        list.push(May(modifier::OP_SEL));
    }
    if if compare {
        float && generation >= Gen::Gfx8
    } else {
        float || typed && generation >= Gen::Gfx8
    } {
        list.push(May(modifier::CLAMP));
    }
    if float && !compare {
        list.push(OMOD_TEXT);
    }
    list
}

/// Returns the modifiers for a line of syntax, each with a space before it.
pub fn syntax(row: &Inst, encoding: Encoding, generation: Gen) -> String {
    let one = |takes: Takes| match takes {
        Must(m) => format!(" {}", m.syntax),
        May(m) => format!(" [{}]", m.syntax),
        Text(text, _) => text.to_string(),
    };
    list(row, encoding, generation)
        .into_iter()
        .map(one)
        .collect()
}

/// A line of the table: the modifier, its description, and the encodings that have it, each with its targets.
struct Line {
    syntax: String,
    doc: String,
    on: Vec<(&'static str, Vec<Target>)>,
}

/// Writes the description of each modifier, and where it is allowed.
pub fn table(out: &mut String, row: &'static Inst, targets: &[Target]) {
    let mut lines: Vec<Line> = Vec::new();
    // The encodings of the instruction, with their targets.
    let mut had: Vec<(&'static str, Vec<Target>)> = Vec::new();
    for encoding in 0..targets
        .iter()
        .map(|t| encodings(row, *t).len())
        .max()
        .unwrap_or(0)
    {
        for &target in targets {
            let Some(&e) = encodings(row, target).get(encoding) else {
                continue;
            };
            let generation = target.generation();
            let name = encoding_name(e, row.format, generation);
            note(&mut had, name, target);
            let mut found = sources(row, e, generation);
            for takes in list(row, e, generation) {
                match takes {
                    Must(m) | May(m) => found.push((m.syntax.into(), doc(row, m))),
                    Text(_, parts) => {
                        found.extend(parts.iter().map(|m| (m.syntax.into(), doc(row, m))));
                    }
                }
            }
            for (syntax, doc) in found {
                let known = lines
                    .iter_mut()
                    .find(|l| l.syntax == syntax && l.doc == doc);
                match known {
                    Some(line) => note(&mut line.on, name, target),
                    None => lines.push(Line {
                        syntax,
                        doc,
                        on: vec![(name, vec![target])],
                    }),
                }
            }
        }
    }
    if lines.is_empty() {
        return;
    }
    out.push_str("\n## Modifiers\n\nModifier | In | What it does\n----|----|----\n");
    for line in lines {
        let on: Vec<String> = (line.on.iter())
            .map(|(name, of)| {
                let all = had.iter().any(|(other, all)| other == name && all == of);
                match all {
                    true => name.to_string(),
                    false => format!("{name} ({})", targets_text(of)),
                }
            })
            .collect();
        let syntax = line.syntax.replace('|', "\\|");
        let _ = writeln!(out, "`{syntax}` | {} | {}", on.join(", "), line.doc);
    }
}

/// Adds a target to an encoding.
fn note(list: &mut Vec<(&'static str, Vec<Target>)>, name: &'static str, target: Target) {
    match list.iter_mut().find(|(other, _)| *other == name) {
        Some((_, of)) if of.contains(&target) => {}
        Some((_, of)) => of.push(target),
        None => list.push((name, vec![target])),
    }
}

/// The modifiers that are written with a source.
fn sources(row: &Inst, encoding: Encoding, generation: Gen) -> Vec<(String, String)> {
    use Encoding::*;
    let source = |s: &&gcn::isa::shape::Slot| {
        s.access != Access::Write && matches!(s.role, Role::Src0 | Role::Src1 | Role::Src2)
    };
    let any = |of: &dyn Fn(gcn::isa::shape::Ty) -> bool| {
        row.shape.slots.iter().filter(source).any(|s| of(s.ty))
    };
    let float = any(&|ty| ty.is_float());
    let whole = any(&|ty| !ty.is_float() && ty.bits() <= 32);
    let mut found: Vec<(String, String)> = Vec::new();
    let signed = match (row.shape.mods, encoding) {
        (Mods::Valu | Mods::Interp | Mods::InterpHigh, Vop3 | Vop3b) => float,
        (Mods::Valu, Sdwa1 | Sdwa2 | SdwaC | Dpp1 | Dpp2 | DppC) => float,
        (Mods::Mix, _) => true,
        _ => false,
    };
    if signed {
        found.push(("-SRC".into(), "Negates a float source".into()));
        if encoding != Vop3b {
            found.push((
                "|SRC|".into(),
                "Takes the absolute value of a float source; `-|SRC|` negates it".into(),
            ));
        }
    }
    if whole && matches!(encoding, Sdwa1 | Sdwa2 | SdwaC) && generation >= Gen::Gfx8 {
        let text = "Extends the sign of the part that `src0_sel` or `src1_sel` selects; without it the part is extended by zeros";
        found.push(("sext(SRC)".into(), text.into()));
    }
    found
}

/// The description of a modifier for this instruction.
fn doc(row: &Inst, m: &Modifier) -> String {
    let result = row.shape.slots.iter().find(|s| s.access != Access::Read);
    let float = result.is_some_and(|s| s.ty.is_float());
    let packed = row.shape.mods == Mods::Packed && row.shape.slots.iter().any(|s| s.ty.is_float());
    match m.name {
        "clamp" if row.format == Format::Vopc => {
            "The mask stays the same; on gfx9 NaN sources signal".into()
        }
        "clamp" if float || packed || row.shape.mods == Mods::Mix => {
            "Limits the result to 0.0 to 1.0".into()
        }
        "clamp" => "Saturates the result: `gcn doc integer-clamp`".into(),
        "offset" => match row.format {
            Format::Mubuf | Format::Mtbuf => "Adds 0 to 4095 bytes to the address".into(),
            Format::Ds => "Adds 0 to 65535 bytes to the address".into(),
            Format::Flat => "Adds 0 to 4095 bytes to the address".into(),
            Format::Global | Format::Scratch => "Adds -4096 to 4095 bytes to the address".into(),
            _ => m.doc.into(),
        },
        "offset0" | "offset1" => format!(
            "The {} address is ADDR plus this number of elements (with `st64` in the name, of 64 elements)",
            if m.name == "offset0" { "first" } else { "second" }
        ),
        "glc" if !matches!(row.format, Format::Smem) => {
            let atomic = row.shape.slots.iter().any(|s| {
                s.role == Role::VdstIfGlc || s.role == Role::Vdata && s.access == Access::ReadWrite
            });
            match atomic {
                true => "Returns the old value".into(),
                false => "Globally coherent: bypasses the L1 cache, or writes through it".into(),
            }
        }
        "dst_sel" | "src0_sel" | "src1_sel" => format!(
            "{}: BYTE_0 to BYTE_3, WORD_0, WORD_1 or DWORD",
            m.doc.split(':').next().unwrap_or(m.doc)
        ),
        "dst_unused" => {
            "The rest of the destination: UNUSED_PAD zeros, UNUSED_SEXT the sign, UNUSED_PRESERVE kept".into()
        }
        _ => m.doc.into(),
    }
}
