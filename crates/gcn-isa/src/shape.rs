//! Shapes: the operands of an instruction, their widths and types, in the order of the text.

use crate::format::Field;

/// The type of a value or operand. The letter gives the kind (B: untyped bits), the number the width.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Ty {
    /// One truth value per lane (a single one in a scalar instruction).
    Bool,
    B8,
    B16,
    I16,
    U16,
    F16,
    B32,
    I32,
    U32,
    F32,
    B64,
    I64,
    U64,
    F64,
    B96,
    B128,
    B256,
    B512,
    /// A lane mask in an SGPR pair: bit n belongs to lane n.
    Mask,
}

impl Ty {
    /// Width in bits: 64 for a mask, 1 for a truth value.
    #[inline]
    pub const fn bits(self) -> u32 {
        match self {
            Ty::Bool => 1,
            Ty::B8 => 8,
            Ty::B16 | Ty::I16 | Ty::U16 | Ty::F16 => 16,
            Ty::B32 | Ty::I32 | Ty::U32 | Ty::F32 => 32,
            Ty::B64 | Ty::I64 | Ty::U64 | Ty::F64 | Ty::Mask => 64,
            Ty::B96 => 96,
            Ty::B128 => 128,
            Ty::B256 => 256,
            Ty::B512 => 512,
        }
    }

    /// The number of registers that hold it.
    #[inline]
    pub const fn dwords(self) -> u8 {
        self.bits().div_ceil(32) as u8
    }

    /// Returns true if abs, neg, omod and clamp apply to it.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self, Ty::F16 | Ty::F32 | Ty::F64)
    }

    /// Returns true if it is read as two's complement.
    #[inline]
    pub const fn is_signed(self) -> bool {
        matches!(self, Ty::I16 | Ty::I32 | Ty::I64)
    }

    /// The bit pattern type of the same width.
    pub const fn as_bits(self) -> Ty {
        match self.bits() {
            1 => Ty::Bool,
            8 => Ty::B8,
            16 => Ty::B16,
            32 => Ty::B32,
            _ => Ty::B64,
        }
    }

    /// The name that `gcn doc` prints for the type: `b32`, `f64`, `mask`.
    pub const fn name(self) -> &'static str {
        match self {
            Ty::Bool => "bool",
            Ty::B8 => "b8",
            Ty::B16 => "b16",
            Ty::I16 => "i16",
            Ty::U16 => "u16",
            Ty::F16 => "f16",
            Ty::B32 => "b32",
            Ty::I32 => "i32",
            Ty::U32 => "u32",
            Ty::F32 => "f32",
            Ty::B64 => "b64",
            Ty::I64 => "i64",
            Ty::U64 => "u64",
            Ty::F64 => "f64",
            Ty::B96 => "b96",
            Ty::B128 => "b128",
            Ty::B256 => "b256",
            Ty::B512 => "b512",
            Ty::Mask => "mask",
        }
    }
}

/// The role of a slot's operand in the instruction. The position of the operand's bits follows from the
/// role and the encoding: see [`Insn::code`](crate::decode::Insn::code).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Role {
    /// SDST of the scalar formats.
    Sdst,
    /// SSRC0.
    Ssrc0,
    /// SSRC1.
    Ssrc1,
    /// SDST of SOPK as a source.
    SsrcK,
    /// An immediate in the instruction's SIMM16 (or, for gpr_idx, in SSRC1).
    Imm(Imm),
    /// A 32-bit literal that is part of the instruction: v_madmk_f32, s_setreg_imm32_b32.
    K,
    /// The vector destination.
    Vdst,
    /// The vector destination of a FLAT atomic: present only with GLC.
    VdstIfGlc,
    /// A scalar destination in the VDST field: v_readlane_b32.
    SdstV,
    /// SRC0 of the vector ALU.
    Src0,
    /// SRC1 of the vector ALU.
    Src1,
    /// The lane select of v_readlane_b32 and v_writelane_b32: SRC1, a scalar operand in VOP2 too.
    LaneSel,
    /// SRC2 of VOP3.
    Src2,
    /// The result of a compare: VCC, or SDST in VOP3 and gfx9's SDWA.
    CmpDst,
    /// The carry out: VCC, or SDST in VOP3.
    CarryOut,
    /// The carry in: VCC, or SRC2 in VOP3.
    CarryIn,
    /// SDATA of the scalar memory formats.
    Sdata,
    /// SBASE of the scalar memory formats, in units of two SGPRs.
    Sbase,
    /// The offset of the scalar memory formats: an immediate or an SGPR.
    Soff,
    /// The LDS address VGPR of DS.
    DsAddr,
    /// DATA0 of DS and the data of FLAT stores.
    Data0,
    /// DATA1 of DS.
    Data1,
    /// VDATA of the buffer formats.
    Vdata,
    /// VADDR of the buffer formats: none, one or two VGPRs, depending on OFFEN, IDXEN and ADDR64.
    BufAddr,
    /// SRSRC: a buffer or image resource.
    Srsrc,
    /// SOFFSET of the buffer formats.
    Soffset,
    /// The address of FLAT, GLOBAL and SCRATCH.
    FlatAddr,
    /// SADDR of GLOBAL and SCRATCH.
    Saddr,
    /// The address of an image instruction: at least the number of VGPRs that the slot's type gives; the
    /// image's kind may need more, but the encoding does not contain it.
    ImgAddr,
    /// SSAMP: a sampler.
    Ssamp,
    /// An attribute and its channel: `attr3.y`. In VOP3 they are encoded in SRC0.
    Attr,
    /// The vertex parameter of v_interp_mov_f32: `p10`. In VOP3 it is encoded in SRC1.
    Param,
    /// The target of an export.
    ExpTgt,
    /// One of the four sources of an export; absent if EN does not enable it.
    ExpSrc(u8),
}

/// The syntax of an immediate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)]
pub enum Imm {
    /// An unsigned number.
    U16,
    /// An unsigned number, omitted if it is 0: s_endpgm.
    Optional,
    /// A number in hex: s_movk_i32.
    Hex16,
    /// A branch target: a label, or the SIMM16.
    Branch,
    Waitcnt,
    Sendmsg,
    Hwreg,
    /// `gpr_idx(SRC0,DST)` in SIMM16.
    GprIdx,
    /// `gpr_idx(SRC0,DST)` in SSRC1.
    GprIdxSsrc1,
    /// An unsigned number in SDATA: s_atc_probe.
    Sdata,
}

impl Imm {
    /// The field that holds it.
    pub const fn field(self) -> Field {
        match self {
            Imm::GprIdxSsrc1 => Field::Ssrc1,
            Imm::Sdata => Field::Sdst,
            _ => Field::Simm16,
        }
    }
}

/// The kind of access to an operand: read, written or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)]
pub enum Access {
    Read,
    Write,
    ReadWrite,
}

/// One operand of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// The role of the operand.
    pub role: Role,
    /// Its type, which gives its width.
    pub ty: Ty,
    /// Its access: read, written or both.
    pub access: Access,
}

impl Slot {
    /// The same slot, but also read: the accumulator of v_mac_f32.
    pub const fn read_too(mut self) -> Slot {
        self.access = Access::ReadWrite;
        self
    }
}

/// The operands of an instruction in the order of its text.
#[derive(PartialEq, Eq, Debug)]
pub struct Shape {
    /// See [`Slot`].
    pub slots: &'static [Slot],
    /// The modifiers that the text may have.
    pub mods: Mods,
}

/// The modifiers that may follow the operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Mods {
    None,
    /// abs, neg, clamp, omod, as far as the operands' types allow them, in VOP3, SDWA and DPP.
    Valu,
    Smem,
    /// As `Smem`, but an offset in an SGPR is in units of 64 bytes.
    SmemScratch,
    /// `offset:`, gds.
    Ds,
    /// `offset0:` `offset1:`, gds.
    Ds2,
    /// As `Ds`, with the names of the patterns of ds_swizzle_b32's offset.
    Swizzle,
    /// As `Ds`, but gds is mandatory.
    Gds,
    Buffer,
    /// As `Buffer`, but lds is mandatory: buffer_store_lds_dword.
    BufferLds,
    /// A buffer instruction without operands and modifiers: buffer_wbinvl1.
    BufferBare,
    Flat,
    /// op_sel, op_sel_hi, neg_lo, neg_hi, clamp: two halves per register.
    Packed,
    /// As `Packed`, but neg_hi is abs: v_mad_mix_f32 reads each source as f32 or as either half as f16.
    Mix,
    /// abs, neg, clamp, omod of the VOP3 form.
    Interp,
    /// As `Interp`, with `high`: the upper half of an attribute.
    InterpHigh,
    /// As `Buffer`, with the data and number format.
    Typed,
    Image,
    Export,
}

impl Mods {
    /// Returns true if `lds` is one of them: data go between memory and LDS.
    pub const fn to_lds(self) -> bool {
        matches!(self, Mods::Buffer | Mods::BufferLds | Mods::Flat)
    }
}

impl Shape {
    /// The slot that has a role.
    #[inline]
    pub fn slot(&self, role: Role) -> Option<&'static Slot> {
        self.slots.iter().find(|s| s.role == role)
    }

    /// Returns true if LLVM writes `sext` for the NEG bit of VOP3 and DPP at a source: at an integer source of an instruction
    /// whose first source is a float, except for compares.
    pub fn neg_is_sext(&self, role: Role) -> bool {
        let float = |role| self.slot(role).is_some_and(|s| s.ty.is_float());
        !float(role) && float(Role::Src0) && self.slot(Role::CmpDst).is_none()
    }

    /// The type with which a source of type `ty` reads an integer that may be a literal. For an instruction with a 16-bit
    /// literal, LLVM encodes 0x4400 as the literal, not as the inline constant 4.0.
    pub fn literal_ty(&self, ty: Ty) -> Ty {
        if ty == Ty::F16 && self.slot(Role::K).is_some() {
            Ty::I16
        } else {
            ty
        }
    }

    /// Returns true if VOP3 encodes it with a second, scalar destination.
    pub const fn is_vop3b(&self) -> bool {
        let mut i = 0;
        while i < self.slots.len() {
            if matches!(self.slots[i].role, Role::CarryOut) {
                return true;
            }
            i += 1;
        }
        false
    }
}

const fn slot(role: Role, ty: Ty, access: Access) -> Slot {
    Slot { role, ty, access }
}

/// Makes a slot that is written.
pub const fn write(role: Role, ty: Ty) -> Slot {
    slot(role, ty, Access::Write)
}

/// Makes a slot that is read.
pub const fn read(role: Role, ty: Ty) -> Slot {
    slot(role, ty, Access::Read)
}

/// An immediate operand.
pub const fn imm(kind: Imm) -> Slot {
    slot(Role::Imm(kind), Ty::B32, Access::Read)
}

/// A shape without modifiers.
pub const fn plain(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::None,
    }
}

/// A shape of the vector ALU.
pub const fn valu(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::Valu,
    }
}
