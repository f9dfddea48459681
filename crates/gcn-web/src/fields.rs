//! The fields of an encoding, and the operands that they hold.

use gcn::isa::decode::Insn;
use gcn::isa::format::{Encoding, Field, layout_of};
use gcn::isa::operand::{Reg, Value as Operand, reg};
use gcn::isa::shape::{Access, Imm, Role, Slot};
use serde_json::{Value, json};

/// The fields of an instruction in the order of their bits: name, lowest bit, length, value, and the number of the operand that
/// the field holds, or -1. The bits that identify the encoding are a field with the encoding's name.
pub fn fields(insn: &Insn) -> Vec<Value> {
    let Some(layout) = layout_of(insn.encoding, insn.generation()) else {
        return Vec::new();
    };
    let slots = insn.row.shape.slots;
    let mut all: Vec<(u8, u8, String, u64, i64)> = Vec::new();
    for &(field, lo, len) in layout.fields {
        let operand = slots
            .iter()
            .position(|slot| field_of(slot.role, insn) == Some(field));
        let name = format!("{field:?}").to_uppercase();
        let value = u64::from(insn.field(field));
        all.push((lo, len, name, value, operand.map_or(-1, |n| n as i64)));
    }
    let encoding = format!("{:?}", insn.encoding).to_uppercase();
    let mut lo = 0;
    while lo < 64 {
        if layout.mask >> lo & 1 == 0 {
            lo += 1;
            continue;
        }
        let len = (!(layout.mask >> lo)).trailing_zeros().min(64 - lo);
        let value = layout.fixed >> lo & (u64::MAX >> (64 - len));
        all.push((lo as u8, len as u8, encoding.clone(), value, -1));
        lo += len;
    }
    if insn.len > layout.bytes {
        let literal = slots.iter().position(|slot| match slot.role {
            Role::K => true,
            _ => matches!(insn.operand(slot).value, Operand::Code(c) if reg(c, insn.generation()) == Reg::Literal),
        });
        let at = layout.bytes * 8;
        let value = u64::from(insn.literal);
        all.push((
            at,
            32,
            "LITERAL".into(),
            value,
            literal.map_or(-1, |n| n as i64),
        ));
    }
    all.sort();
    let list = all.into_iter();
    list.map(|(lo, len, name, value, operand)| json!([name, lo, len, value, operand]))
        .collect()
}

/// The field that holds the operand of a role; `None` if there is none, as for VCC of a 32-bit compare.
fn field_of(role: Role, insn: &Insn) -> Option<Field> {
    use Encoding::{Sdwa2, SdwaC, Vintrp, Vop3, Vop3b};
    let field = match role {
        Role::Sdst | Role::SsrcK | Role::Sdata => Field::Sdst,
        Role::Ssrc0 => Field::Ssrc0,
        Role::Ssrc1 => Field::Ssrc1,
        Role::Imm(kind) => kind.field(),
        Role::Vdst | Role::VdstIfGlc | Role::SdstV => Field::Vdst,
        Role::Src0 => Field::Src0,
        Role::Src1 if insn.encoding == Vintrp => Field::Vsrc0,
        Role::Src1 | Role::LaneSel => Field::Src1,
        Role::Src2 => Field::Src2,
        Role::CmpDst if insn.encoding == Vop3 => Field::Vdst,
        Role::CmpDst if matches!(insn.encoding, Sdwa2 | SdwaC) => Field::Sdst,
        Role::CarryOut if insn.encoding == Vop3b => Field::Sdst,
        Role::CarryIn if matches!(insn.encoding, Vop3 | Vop3b) => Field::Src2,
        Role::CmpDst | Role::CarryOut | Role::CarryIn | Role::K => return None,
        Role::Sbase => Field::Sbase,
        Role::Soff => match insn.has_field(Field::SoffsetEn) && insn.field(Field::SoffsetEn) != 0 {
            true => Field::Soffset,
            false => Field::Offset,
        },
        Role::DsAddr | Role::FlatAddr => Field::Addr,
        Role::Data0 => Field::Data0,
        Role::Data1 => Field::Data1,
        Role::Vdata => Field::Vdata,
        Role::BufAddr | Role::ImgAddr => Field::Vaddr,
        Role::Srsrc => Field::Srsrc,
        Role::Soffset => Field::Soffset,
        Role::Saddr => Field::Saddr,
        Role::Ssamp => Field::Ssamp,
        Role::Attr if insn.has_field(Field::Attr) => Field::Attr,
        Role::Attr => Field::Src0,
        Role::Param if insn.has_field(Field::Vsrc0) => Field::Vsrc0,
        Role::Param => Field::Src1,
        Role::ExpTgt => Field::Tgt,
        Role::ExpSrc(n) => match n {
            0 => Field::Vsrc0,
            1 => Field::Vsrc1,
            2 => Field::Vsrc2,
            _ => Field::Vsrc3,
        },
    };
    insn.has_field(field).then_some(field)
}

/// Returns true for the target of a branch.
pub fn is_branch(slot: &Slot) -> bool {
    slot.role == Role::Imm(Imm::Branch)
}

/// The purpose of an operand.
fn about(role: Role) -> &'static str {
    match role {
        Role::Sdst => "scalar destination",
        Role::Ssrc0 => "first scalar source",
        Role::Ssrc1 => "second scalar source",
        Role::SsrcK => "scalar source, in the field of the destination",
        Role::Imm(Imm::Branch) => {
            "target of the branch; the field counts dwords from the next instruction"
        }
        Role::Imm(Imm::Waitcnt) => "counters, and the values to wait for",
        Role::Imm(Imm::Sendmsg) => "message",
        Role::Imm(Imm::Hwreg) => "hardware register, with the first bit and the number of bits",
        Role::Imm(Imm::GprIdx | Imm::GprIdxSsrc1) => "operands whose VGPRs are indexed",
        Role::Imm(_) => "immediate",
        Role::K => "32-bit literal",
        Role::Vdst | Role::VdstIfGlc => "vector destination",
        Role::SdstV => "scalar destination of a vector instruction",
        Role::Src0 => "first source",
        Role::Src1 => "second source",
        Role::Src2 => "third source",
        Role::LaneSel => "number of the lane",
        Role::CmpDst => "result, a bit for each lane",
        Role::CarryOut => "carry out, a bit for each lane",
        Role::CarryIn => "carry in, a bit for each lane",
        Role::Sdata => "scalar data",
        Role::Sbase => "base address, or buffer resource; the field counts pairs of SGPRs",
        Role::Soff => "offset",
        Role::DsAddr => "address in LDS, in bytes",
        Role::Data0 => "data",
        Role::Data1 => "second data",
        Role::Vdata => "data",
        Role::BufAddr => "index and offset of each lane",
        Role::Srsrc => "resource; the field counts groups of four SGPRs",
        Role::Soffset => "offset, the same for all lanes",
        Role::FlatAddr => "address of each lane",
        Role::Saddr => "base address, the same for all lanes",
        Role::ImgAddr => "coordinates of each lane",
        Role::Ssamp => "sampler; the field counts groups of four SGPRs",
        Role::Attr => "attribute and channel",
        Role::Param => "vertex parameter",
        Role::ExpTgt => "target of the export",
        Role::ExpSrc(_) => "exported value",
    }
}

/// An operand: its text in both syntaxes, its purpose, and the registers that hold it.
pub fn operand(insn: &Insn, slot: &'static Slot, llvm: &str, clrx: &str) -> Value {
    let access = match slot.access {
        Access::Read => "read",
        Access::Write => "written",
        Access::ReadWrite => "read and written",
    };
    let mut json = json!({
        "llvm": llvm,
        "clrx": clrx,
        "about": about(slot.role),
        "type": slot.ty.name(),
        "access": access,
    });
    if let Operand::Code(code) = insn.operand(slot).value {
        let (file, first) = match reg(code, insn.generation()) {
            Reg::Vgpr(n) => ("v", n),
            Reg::Sgpr(_) | Reg::Ttmp(_) | Reg::Half(..) | Reg::M0 => ("s", code),
            Reg::Int(_) | Reg::Float(_) => return with(json, "constant"),
            Reg::Literal => return with(json, "literal"),
            Reg::Source(_) => return with(json, "state of the wave"),
            Reg::Reserved(_) => return with(json, "reserved code"),
        };
        json["reg"] = json!([file, first, insn.dwords(slot)]);
    }
    json
}

fn with(mut json: Value, kind: &str) -> Value {
    json["kind"] = kind.into();
    json
}
