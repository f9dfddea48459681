//! Parts of an instruction's page: operands, counters, cycles of issue, and differences between targets.

use std::fmt::Write as _;

use gcn::analyze::chip::Chip;
use gcn::isa::access::{Counters, InstructionInfo};
use gcn::isa::encode::Encoder;
use gcn::isa::format::{Field, Format};
use gcn::isa::inst::Inst;
use gcn::isa::insts;
use gcn::isa::insts::timing::{self, Cycles};
use gcn::isa::meaning::meaning;
use gcn::isa::shape::{Access, Imm, Mods, Role, Slot};
use gcn::isa::target::{Gen, Target};

use super::{
    by_text, encoding_name, encodings, opcode_in, operations, row_targets, slot_text, table_name,
    targets_text,
};
use crate::meaning_text;

/// Writes the operands: their names in the syntax and in the operation, their types and their roles.
pub fn operands(out: &mut String, row: &'static Inst, targets: &[Target]) {
    let program = meaning(row, targets[0]);
    if row.shape.slots.is_empty() {
        return;
    }
    out.push_str("\n## Operands\n\nIn the syntax | In the operation | Type | What it is\n----|----|----|----\n");
    for (n, slot) in row.shape.slots.iter().enumerate() {
        let name = meaning_text::operand_name(&program, n);
        let access = match (slot.access, slot.role) {
            (_, Role::Imm(_) | Role::K | Role::Attr | Role::Param | Role::ExpTgt) => "",
            (Access::Write, _) => "; written",
            (Access::ReadWrite, _) => "; read and written",
            _ => "",
        };
        let ty = match slot.role {
            Role::Imm(_) => "number",
            _ => slot.ty.name(),
        };
        let _ = writeln!(
            out,
            "{} | {name} | {ty} | {}{access}",
            syntax_names(row, slot, targets),
            role_text(row, slot.role)
        );
    }
}

/// Returns the names of an operand in the lines of syntax: `VSRC1, SRC1`.
fn syntax_names(row: &'static Inst, slot: &Slot, targets: &[Target]) -> String {
    let mut names: Vec<String> = Vec::new();
    for &target in targets {
        for encoding in encodings(row, target) {
            let text = slot_text(slot, encoding, target.generation());
            // Without the width: `VDST(2)`.
            let name = match slot.role {
                Role::Imm(_) => text.as_str(),
                _ => text.split('(').next().unwrap_or(&text),
            };
            if !names.iter().any(|n| n == name) {
                names.push(name.to_string());
            }
        }
    }
    names.join(", ").replace('|', "\\|")
}

/// Returns the role of an operand.
fn role_text(row: &Inst, role: Role) -> &'static str {
    let short = matches!(row.format, Format::Vop1 | Format::Vop2 | Format::Vopc);
    // The source of an instruction that moves a lane's value into an SGPR.
    let lane = row.shape.slot(Role::SdstV).is_some();
    match role {
        Role::Sdst => "scalar destination: SGPRs, VCC, M0, EXEC",
        Role::Ssrc0 => "first source: SGPRs, constants, a literal",
        Role::Ssrc1 => "second source: SGPRs, constants, a literal",
        Role::SsrcK => "an SGPR",
        Role::Imm(Imm::Branch) => "the distance of a jump in dwords, signed; written as a label",
        Role::Imm(Imm::Waitcnt) => "the counters to wait for: `gcn doc waitcnt`",
        Role::Imm(Imm::Sendmsg) => "the message",
        Role::Imm(Imm::Hwreg) => "the bits of a hardware register: `gcn doc hwreg`",
        Role::Imm(Imm::GprIdx | Imm::GprIdxSsrc1) => "which VGPR operands are indexed",
        Role::Imm(_) => "a number in the instruction",
        Role::K => "a constant of 32 bits after the instruction",
        Role::Vdst => "vector destination",
        Role::VdstIfGlc => "the old value; only with glc",
        Role::SdstV => "scalar destination: SGPRs, VCC, M0",
        Role::Src0 if lane => "a VGPR, or LDS_DIRECT",
        Role::Src0 if short => {
            "first source: VGPR, SGPR, constant, LDS_DIRECT; in the short encoding also a literal"
        }
        Role::Src0 => "first source: VGPR, SGPR or constant",
        Role::Src1 if row.format == Format::Vintrp => "a VGPR: the coordinate I or J of each lane",
        Role::Src1 if short => "second source: a VGPR; in VOP3 also an SGPR or constant",
        Role::Src1 => "second source: VGPR, SGPR or constant",
        Role::LaneSel => "the number of a lane: SGPR, M0 or constant",
        Role::Src2 => "third source: VGPR, SGPR or constant",
        Role::CmpDst => "a mask: the bit of each lane; VCC, in VOP3 any pair of SGPRs",
        Role::CarryOut => {
            "a mask: the carry or borrow of each lane; VCC, in VOP3 any pair of SGPRs"
        }
        Role::CarryIn => "a mask: a bit for each lane; VCC, in VOP3 any pair of SGPRs",
        Role::Sdata => "scalar data",
        Role::Sbase
            if row
                .shape
                .slot(Role::Sbase)
                .is_some_and(|s| s.ty.dwords() == 4) =>
        {
            "a buffer resource: `gcn doc buffers`"
        }
        Role::Sbase => "the base address: an aligned pair of SGPRs",
        Role::Soff => "an offset: a number or an SGPR",
        Role::DsAddr if row.shape.mods == Mods::Swizzle => "the value that the lanes exchange",
        Role::DsAddr => {
            "the address in LDS, in bytes (of ds_permute and ds_bpermute: 4 times the lane)"
        }
        Role::Data0 => "data",
        Role::Data1 => "second data",
        Role::Vdata => "data",
        Role::BufAddr => "index and offset, as idxen and offen say; `off` without them",
        Role::Srsrc if row.format == Format::Mimg => "an image resource: `gcn doc images`",
        Role::Srsrc => "a buffer resource: `gcn doc buffers`",
        Role::Soffset => "an offset in bytes: an SGPR or a constant",
        Role::FlatAddr => "the address of each lane",
        Role::Saddr => "a base address for the whole wave, or `off`",
        Role::ImgAddr => {
            "coordinates and what else the instruction needs of each lane: `gcn doc images`"
        }
        Role::Ssamp => "a sampler: `gcn doc images`",
        Role::Attr => "an attribute and its channel",
        Role::Param => "which parameter: p10, p20 or p0",
        Role::ExpTgt => "where the values go",
        Role::ExpSrc(_) => "a component",
    }
}

/// Writes the counters that the instruction increments, and the order in which these instructions complete.
pub fn counters(out: &mut String, row: &'static Inst, targets: &[Target]) {
    let of = |target: Target| -> Option<(Counters, bool, bool)> {
        let encoding = encodings(row, target).into_iter().next()?;
        let mut encoder = Encoder::new(row, encoding, target)?;
        if row.shape.mods == gcn::isa::shape::Mods::Gds {
            encoder.set(Field::Gds, 1);
        }
        let (bytes, n) = encoder.bytes();
        let insn = gcn::isa::decode(target, &bytes[..n])?;
        let facts = InstructionInfo::new(row, target);
        let memory = facts.memory(&insn);
        let returns = memory.is_none_or(|m| m.returns || m.to_lds);
        let counters = facts.counters(&insn);
        Some((counters, returns, counters != Counters::default()))
    };
    let groups = by_text(targets, of);
    if !groups.iter().any(|(_, c)| c.is_some_and(|c| c.2)) {
        return;
    }
    out.push_str("\n## Counters\n\n");
    for (on, counters) in &groups {
        let Some((counters, returns, true)) = counters else {
            continue;
        };
        let on = if groups.len() > 1 {
            format!("{}: ", targets_text(on))
        } else {
            String::new()
        };
        let _ = writeln!(out, "* {on}{}", counters_text(row, *counters, *returns));
    }
    out.push_str("\n`gcn doc waitcnt` says how to wait.\n");
}

fn counters_text(row: &Inst, counters: Counters, returns: bool) -> String {
    let mut names = Vec::new();
    if counters.vm {
        names.push("VM_CNT");
    }
    if counters.lgkm {
        names.push("LGKM_CNT");
    }
    if counters.exp {
        names.push("EXP_CNT");
    }
    let until = match (row.format, returns) {
        (Format::Exp, _) => "until the exported values have left their VGPRs",
        (Format::Sopp, _) => "until the message is sent",
        (_, true) => "until its result is in the registers",
        (_, false) => "until the memory has the data",
    };
    let order = match row.format {
        Format::Smem => {
            "Scalar memory instructions complete in any order, so only a wait for lgkmcnt(0) is a wait for this one."
        }
        Format::Flat => {
            "The address decides at run time whether the access goes to LDS or to memory, so it counts as both and completes in any order: only vmcnt(0) and lgkmcnt(0) together wait for it."
        }
        Format::Ds => {
            "LDS instructions complete in the order in which they were issued, so lgkmcnt(N) waits for all but the last N (while no scalar memory instruction or message is outstanding)."
        }
        Format::Exp => "Exports of one kind complete in order.",
        Format::Sopp => "Messages and scalar loads complete in any order: wait for lgkmcnt(0).",
        _ => {
            "Vector memory instructions decrement VM_CNT in the order in which they were issued, so vmcnt(N) waits for all but the last N."
        }
    };
    let verb = if names.len() > 1 { "are" } else { "is" };
    let mut text = format!("{} {verb} raised {until}. {order}", names.join(" and "));
    if counters.exp && counters.vm {
        text.push_str(" EXP_CNT is raised until the data have been read: before that, their VGPRs must not be overwritten.");
    } else if counters.exp && row.format == Format::Ds {
        text.push_str(" With gds, EXP_CNT is raised until the data have been read.");
    }
    text
}

/// Writes the cycles of issue.
pub fn issue(out: &mut String, row: &'static Inst) {
    let issue = timing::issue(row);
    out.push_str("\n## Issue\n\n");
    match issue.cycles {
        Cycles::Fixed(n) => {
            let _ = writeln!(out, "{n} cycles on every chip.");
        }
        Cycles::Range(least, most) => {
            let _ = writeln!(out, "{least} to {most} cycles on every chip.");
        }
        Cycles::Jump(least, most) => {
            let _ = writeln!(
                out,
                "{least} cycles if it does not jump, {most} if it does."
            );
        }
        Cycles::Glc(n, more) => {
            let _ = writeln!(out, "{n} cycles, {} with glc.", n + more);
        }
        cycles @ (Cycles::Double(_) | Cycles::Fma) => {
            out.push_str("It runs where double precision does, so the cycles differ by chip:\n\nDouble precision at | Cycles | Chips\n----|----|----\n");
            for factor in [1u16, 2, 4, 8] {
                let names: Vec<&str> = Chip::names()
                    .into_iter()
                    .filter_map(Chip::parse)
                    .filter(|chip| chip.double_rate() == 2 * factor)
                    .map(|chip| chip.name)
                    .collect();
                let chips = if factor == 8 {
                    "all others".into()
                } else {
                    names.join(", ")
                };
                let _ = writeln!(
                    out,
                    "1/{} of the rate | {} | {chips}",
                    2 * factor,
                    cycles.on(factor).0
                );
            }
        }
    }
    if let Some(per) = issue.throughput {
        let _ = writeln!(
            out,
            "\nA compute unit completes at most one such instruction of a whole wave every {per} cycles."
        );
    }
    if !issue.listed {
        out.push_str("\nNo public table lists it; the figure is that of similar instructions.\n");
    }
}

/// Writes a table of the targets, one row each, if they differ.
pub fn differences(out: &mut String, row: &'static Inst) {
    let targets = super::table_targets();
    let have = row_targets(row);
    let operation = |t: Target| {
        let program = meaning(row, t);
        (operations::text(&program, t), program.about, program.bound)
    };
    let variants = by_text(&have, operation);
    let line = |t: Target| -> [String; 4] {
        // Another row of the same name may exist on the target: v_readlane_b32 is VOP2, then VOP3.
        let row = match have.contains(&t) {
            true => Some(row),
            false => insts::by_name(row.name).find(|r| insts::exists(r, t)),
        };
        let Some(row) = row else {
            let none = String::new;
            return ["not there".into(), none(), none(), none()];
        };
        let list = encodings(row, t);
        let opcode = row
            .opcode_in(t.generation())
            .map_or(String::new(), |op| op.to_string());
        let vop3 = list.iter().skip(1).find_map(|e| {
            let op = opcode_in(row, *e, t)?;
            (op.to_string() != opcode).then(|| op.to_string())
        });
        let opcode = match (row.format, vop3) {
            (Format::Vop3, _) => {
                opcode_in(row, list[0], t).map_or(String::new(), |op| op.to_string())
            }
            (_, Some(vop3)) => format!("{opcode}, VOP3 {vop3}"),
            _ => opcode,
        };
        let names: Vec<&str> = list
            .iter()
            .map(|e| encoding_name(*e, row.format, t.generation()))
            .collect();
        let variant = variants
            .iter()
            .position(|(of, _)| of.contains(&t))
            .unwrap_or(0);
        let letter = match variants.len() {
            _ if !have.contains(&t) => String::new(),
            1 => String::new(),
            _ => char::from(b'A' + variant as u8).to_string(),
        };
        let elsewhere = match have.contains(&t) {
            true => "",
            false => ": a section of its own",
        };
        let names = format!("{}{elsewhere}", names.join(", "));
        [opcode, names, letter, exactness(row, t)]
    };
    let groups = by_text(&targets, line);
    if groups.len() < 2 {
        return;
    }
    let letters = variants.len() > 1;
    out.push_str("\n## Differences between targets\n\nTargets | Opcode | Encodings");
    out.push_str(if letters {
        " | Operation\n----|----|----|----\n"
    } else {
        "\n----|----|----\n"
    });
    for (of, [opcode, encodings, letter, _]) in &groups {
        let whole: Vec<Gen> = Gen::ALL
            .into_iter()
            .filter(|g| {
                targets
                    .iter()
                    .filter(|t| t.generation() == *g)
                    .all(|t| of.contains(t))
            })
            .collect();
        let apart = of
            .iter()
            .filter(|t| !whole.contains(&t.generation()))
            .map(|t| table_name(*t));
        let names: Vec<String> = whole
            .iter()
            .map(|g| g.name().to_string())
            .chain(apart)
            .collect();
        let _ = write!(out, "{} | {opcode} | {encodings}", names.join(", "));
        out.push_str(&if letters {
            format!(" | {letter}\n")
        } else {
            "\n".into()
        });
    }
    if letters {
        out.push_str("\nThe letters stand for the operations above, in their order.\n");
    }
}

fn exactness(row: &'static Inst, target: Target) -> String {
    meaning(row, target).bound.unwrap_or("").to_string()
}
