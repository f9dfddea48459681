//! Reading sources and writing destinations: the one place for codes, inline constants, literals, abs, neg, omod, clamp,
//! op_sel, SDWA, DPP, GPR indexing and EXEC.
//!
//! Choices where the manuals are silent: a code without a register reads 0, and writes to it are dropped; a VGPR beyond
//! the wave's reads as v0, and writes to it are dropped; all SGPRs of the generation exist.

use crate::engine::Machine;
use crate::exec::Exec;
use crate::fp::{self, Env, F16, F32, F64, Mode};
use crate::wave::{LANES, WaveState, mode};
use gcn_isa::decode::Insn;
use gcn_isa::format::{Encoding, Field};
use gcn_isa::inst::Flags;
use gcn_isa::operand::{self, LITERAL, Reg, Source, Value};
use gcn_isa::shape::{Access, Mods, Role, Slot, Ty};
use gcn_isa::target::Gen;

/// The location of an operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OperandLocation {
    /// The scalar register with this code, and those after it.
    Scalar(u16),
    /// The VGPR with this number, and those after it.
    Vgpr(u16),
    Const(u64),
    Source(Source),
    /// No register: reads 0.
    Nothing,
}

/// The role of a VGPR operand in GPR indexing: its bit in M0's field (`M0[15:12]`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Indexed {
    No,
    By(u32),
}

/// An operand of a decoded instruction.
#[derive(Clone, Debug)]
pub struct Opnd {
    pub location: OperandLocation,
    pub ty: Ty,
    pub code: Option<u16>,
    /// As a source, its value is that of its location: no modifier selects or changes any bit.
    plain: bool,
    /// Cleared bits (abs) and flipped bits (neg) of the value, after SEL.
    pub abs: u64,
    pub neg: u64,
    /// SDWA's selection of a source or destination; 6 selects all of it.
    pub sel: u8,
    pub sext: bool,
    /// op_sel: a 16-bit operand is the upper half of its register.
    pub high: bool,
    /// VOP3P: the positions of the 16 bits for the low and for the high half of the result, and the flips of their top bits.
    halves: [Half; 2],
    /// A source of v_mad_mix* that is an f16 and is converted to f32: the position of its first bit, 0 or 16.
    pub f16_at: Option<u32>,
    pub dpp: bool,
    pub indexed: Indexed,
}

/// The half of a packed operand that is read.
#[derive(Clone, Copy, Debug, Default)]
struct Half {
    /// Its first bit, 0 or 16.
    shift: u32,
    /// Flipped bits of the value.
    neg: u32,
}

/// The modifiers that apply to the whole instruction.
#[derive(Clone, Debug)]
pub struct Modifiers {
    pub dpp: Option<Dpp>,
    pub omod: u32,
    pub clamp: bool,
    /// SDWA's DST_UNUSED.
    pub unused: u8,
    /// A 16-bit result keeps the upper half of its register.
    pub keeps_upper: bool,
    /// The generation has MODE.FP16_OVFL.
    fp16_ovfl: bool,
}

/// The decoded fields of a DPP control.
#[derive(Clone, Debug)]
pub struct Dpp {
    /// The lane that each lane reads; 64 for none.
    pub from: [u8; LANES],
    /// BOUND_CTRL: a lane without a source reads 0; otherwise it is not written.
    pub zero: bool,
    /// Lanes that ROW_MASK and BANK_MASK allow to be written.
    pub lanes: u64,
}

impl Dpp {
    fn new(insn: &Insn) -> Dpp {
        let control = insn.field(Field::DppCtrl) as usize;
        let from = std::array::from_fn(|lane| {
            let (row, at) = (lane & !15, lane & 15);
            let n = control & 15;
            let source = match control {
                0x000..=0x0ff => Some(lane & !3 | control >> (2 * (lane & 3)) & 3),
                0x101..=0x10f => (at + n < 16).then_some(lane + n),
                0x111..=0x11f => (at >= n).then(|| lane - n),
                0x121..=0x12f => Some(row | (at + 16 - n) & 15),
                0x130 => (lane < 63).then_some(lane + 1),
                0x134 => Some((lane + 1) & 63),
                0x138 => lane.checked_sub(1),
                0x13c => Some((lane + 63) & 63),
                0x140 => Some(row | (15 - at)),
                0x141 => Some(lane & !7 | (7 - (lane & 7))),
                0x142 => row.checked_sub(1),
                0x143 => (lane >= 32).then_some(31),
                // Reserved: no lane has a source.
                _ => None,
            };
            source.unwrap_or(LANES) as u8
        });
        let (rows, banks) = (insn.field(Field::RowMask), insn.field(Field::BankMask));
        let lanes = (0..64u32)
            .filter(|lane| rows >> (lane >> 4) & 1 != 0 && banks >> (lane >> 2 & 3) & 1 != 0)
            .fold(0, |lanes, lane| lanes | 1u64 << lane);
        Dpp {
            from,
            zero: insn.field(Field::BoundCtrl) != 0,
            lanes,
        }
    }

    /// The lanes whose source is an active lane.
    fn sourced(&self, exec: u64) -> u64 {
        let mut lanes = 0;
        for (lane, &from) in self.from.iter().enumerate() {
            lanes |= (from < 64 && exec >> (from & 63) & 1 != 0) as u64 * (1 << lane);
        }
        lanes
    }

    /// The lanes of `exec` that the instruction writes.
    pub fn written(&self, exec: u64) -> u64 {
        let sourced = if self.zero { !0 } else { self.sourced(exec) };
        exec & self.lanes & sourced
    }
}

impl Modifiers {
    pub fn new(insn: &Insn) -> Modifiers {
        let dpp = matches!(
            insn.encoding,
            Encoding::Dpp1 | Encoding::Dpp2 | Encoding::DppC
        );
        let sdwa = matches!(
            insn.encoding,
            Encoding::Sdwa1 | Encoding::Sdwa2 | Encoding::SdwaC
        );
        let valu = sdwa
            || matches!(
                insn.encoding,
                Encoding::Vop3 | Encoding::Vop3b | Encoding::Vop3p
            );
        Modifiers {
            dpp: dpp.then(|| Dpp::new(insn)),
            omod: if valu { insn.field(Field::Omod) } else { 0 },
            clamp: valu && insn.field(Field::Clamp) != 0,
            unused: insn.field(Field::DstUnused) as u8,
            keeps_upper: keeps_upper(insn),
            fp16_ovfl: insn.generation() == Gen::Gfx9,
        }
    }
}

/// Returns true if a 16-bit result keeps the upper half of its VGPR. gfx8 always clears it. gfx9 clears it except in the
/// instructions that have three 16-bit sources, where an accumulator or a literal counts as a source, unless the row says
/// otherwise. (docs/errata.md, valu-16-bit-high.)
fn keeps_upper(insn: &Insn) -> bool {
    let halves = |s: &&Slot| s.ty.bits() == 16 && s.access != Access::Write && s.role != Role::Vdst;
    let accumulates = insn
        .row
        .shape
        .slots
        .iter()
        .any(|s| s.access == Access::ReadWrite);
    let sources = insn.row.shape.slots.iter().filter(halves).count() + accumulates as usize;
    let op_sel = insn.encoding == Encoding::Vop3 && insn.field(Field::OpSel) & 8 != 0;
    insn.generation() == Gen::Gfx9
        && (op_sel
            || insn.row.flags.has(Flags::KEEPS_UPPER)
            || sources == 3 && !insn.row.flags.has(Flags::CLEARS_UPPER))
}

/// The operand that has a role among an instruction's operands.
pub fn find<'o>(insn: &Insn, operands: &'o [Opnd], role: Role) -> Option<&'o Opnd> {
    let at = insn.row.shape.slots.iter().position(|s| s.role == role)?;
    operands.get(at)
}

mod undefined;

impl Opnd {
    /// The operand in a slot of the row's shape.
    pub fn new(insn: &Insn, slot: &'static Slot) -> Opnd {
        let mut opnd = Opnd::modified(insn, slot);
        opnd.plain = opnd.ty.bits() >= 32
            && (opnd.abs, opnd.neg) == (!0, 0)
            && (opnd.sel, opnd.sext, opnd.high) == (6, false, false)
            && opnd.f16_at.is_none();
        opnd
    }

    fn modified(insn: &Insn, slot: &'static Slot) -> Opnd {
        let operand = insn.operand(slot);
        let code = match operand.value {
            Value::Code(code) => Some(code),
            _ => None,
        };
        let location = match operand.value {
            Value::Code(code) => location(insn, code, slot.ty),
            Value::Imm(value) => OperandLocation::Const(value as u64),
            Value::Absent => OperandLocation::Nothing,
        };
        let mut opnd = Opnd {
            location,
            ty: slot.ty,
            code,
            plain: false,
            abs: !0,
            neg: 0,
            sel: 6,
            sext: false,
            high: false,
            halves: [Half::default(); 2],
            f16_at: None,
            dpp: false,
            indexed: Indexed::No,
        };
        if !insn.row.format.is_valu() {
            return opnd;
        }
        let source = match slot.role {
            Role::Src0 => Some(0),
            Role::Src1 => Some(1),
            Role::Src2 => Some(2),
            _ => None,
        };
        if let Some(n) = source {
            if insn.encoding == Encoding::Vop3p {
                opnd.packed(insn, n, code);
            } else {
                let mods = insn.src_mods(n);
                let top = 1u64 << (slot.ty.bits().clamp(1, 64) - 1);
                if slot.ty != Ty::Mask {
                    opnd.abs = if mods.abs { !top } else { !0 };
                    opnd.neg = if mods.neg { top } else { 0 };
                }
                opnd.sel = mods.sel;
                opnd.sext = mods.sext;
                opnd.high = slot.ty.bits() == 16
                    && insn.encoding == Encoding::Vop3
                    && insn.generation() == Gen::Gfx9
                    && insn.field(Field::OpSel) >> n & 1 != 0;
                // HIGH of an interpolation applies to P0 in a register as it does to parameters.
                opnd.high |= slot.ty.bits() == 16
                    && insn.row.shape.mods == Mods::InterpHigh
                    && insn.field(Field::Src0) & 0x100 != 0;
            }
            opnd.dpp = n == 0
                && matches!(
                    insn.encoding,
                    Encoding::Dpp1 | Encoding::Dpp2 | Encoding::DppC
                );
        }
        if slot.role == Role::Vdst {
            if matches!(insn.encoding, Encoding::Sdwa1 | Encoding::Sdwa2) {
                opnd.sel = insn.field(Field::DstSel) as u8;
            }
            opnd.high = insn.row.flags.has(Flags::WRITES_UPPER)
                || slot.ty.bits() == 16
                    && insn.encoding == Encoding::Vop3
                    && insn.generation() == Gen::Gfx9
                    && insn.field(Field::OpSel) & 8 != 0;
        }
        if matches!(location, OperandLocation::Vgpr(_)) && insn.generation() >= Gen::Gfx8 {
            opnd.indexed = Indexed::By(1 << (12 + source.unwrap_or(3)));
        }
        opnd
    }

    /// The modifiers of VOP3P for source `n`: docs/errata.md, vop3p-modifiers.
    fn packed(&mut self, insn: &Insn, n: usize, code: Option<u16>) {
        let bit = |field: Field, at: usize| insn.field(field) >> at & 1 != 0;
        let low = bit(Field::OpSel, n);
        let high = match n {
            2 => bit(Field::OpSelHi2, 0),
            n => bit(Field::OpSelHi, n),
        };
        let half = |upper: bool, neg: bool| Half {
            shift: if upper { 16 } else { 0 },
            neg: if neg { 0x8000 } else { 0 },
        };
        if insn.row.shape.mods == Mods::Mix {
            let mods = insn.src_mods(n);
            self.ty = Ty::F32;
            self.abs = if mods.abs { !(1 << 31) } else { !0 };
            self.neg = if mods.neg { 1 << 31 } else { 0 };
            if high {
                self.f16_at = Some(half(low, false).shift);
            } else if let Some(code) = code {
                self.location = location(insn, code, Ty::F32);
            }
            return;
        }
        self.halves = [
            half(low, bit(Field::Neg, n)),
            half(high, bit(Field::NegHi, n)),
        ];
        // The addend of a dot product is not packed.
        if bit(Field::Neg, n) {
            self.neg = 1 << 31;
        }
    }

    /// The number of the VGPR, GPR indexing included.
    #[inline]
    fn vgpr(&self, wave: &WaveState, number: u16) -> usize {
        match self.indexed {
            Indexed::By(bit) if wave.mode & mode::GPR_IDX_EN != 0 && wave.m0() & bit != 0 => {
                number as usize + (wave.m0() & 0xff) as usize
            }
            _ => number as usize,
        }
    }

    /// Reads the operand: one value, or one per lane. `dword` selects a dword of a wide operand, without modifiers.
    pub fn read<const N: usize>(
        &self,
        wave: &WaveState,
        machine: &Machine<'_>,
        mods: &Modifiers,
        dword: Option<u8>,
        out: &mut [u64; N],
    ) {
        let k = dword.unwrap_or(0) as usize;
        let ty = if dword.is_some() { Ty::B32 } else { self.ty };
        match self.location {
            OperandLocation::Vgpr(number) => {
                let low = vgpr(wave, self.vgpr(wave, number) + k);
                if ty.bits() > 32 {
                    let high = vgpr(wave, self.vgpr(wave, number) + k + 1);
                    for lane in 0..N {
                        out[lane] = low[lane] as u64 | (high[lane] as u64) << 32;
                    }
                } else {
                    for lane in 0..N {
                        out[lane] = low[lane] as u64;
                    }
                }
                if self.dpp
                    && let Some(dpp) = &mods.dpp
                {
                    permute(dpp, wave.exec(), out);
                }
            }
            OperandLocation::Scalar(_)
            | OperandLocation::Const(_)
            | OperandLocation::Source(_)
            | OperandLocation::Nothing => {
                let value = self.scalar(wave, machine, k, ty);
                if N == LANES && self.ty == Ty::Mask && dword.is_none() {
                    for (lane, out) in out.iter_mut().enumerate() {
                        *out = value >> lane & 1;
                    }
                    return;
                }
                *out = [value; N];
            }
        }
        if self.plain || dword.is_some() {
            return;
        }
        if let Some(at) = self.f16_at {
            let mode = Mode(wave.mode);
            let (from, to) = (&mode.env16(), &mode.env32());
            for v in out.iter_mut() {
                *v = fp::convert::<F16, F32>(*v >> at & 0xffff, from, to);
            }
        }
        if self.sel != 6 || self.sext {
            self.select(out);
        } else if self.high {
            // The upper half of a constant is that of its 16-bit value.
            out.iter_mut().for_each(|v| *v >>= 16);
        }
        if self.ty.bits() < 32 || self.abs != !0 || self.neg != 0 {
            let abs = self.abs & gcn_isa::meaning::width_mask(self.ty);
            out.iter_mut().for_each(|v| *v = *v & abs ^ self.neg);
        }
    }

    /// For a half of the result: the dword of a packed operand that holds its 16 bits, the position of their first
    /// bit, and the bits that are flipped.
    pub fn half(&self, half: u8) -> (u32, u32) {
        let Half { shift, neg } = self.halves[half as usize & 1];
        (shift, neg)
    }

    /// Reads the 16 bits of a packed operand that belong to a half of the result.
    pub fn read_half<const N: usize>(
        &self,
        wave: &WaveState,
        machine: &Machine<'_>,
        half: u8,
        out: &mut [u64; N],
    ) {
        let Half { shift, neg } = self.halves[half as usize & 1];
        let take = |word: u32| (word >> shift & 0xffff ^ neg) as u64;
        match self.location {
            OperandLocation::Vgpr(number) => {
                let register = vgpr(wave, self.vgpr(wave, number));
                for lane in 0..N {
                    out[lane] = take(register[lane]);
                }
            }
            _ => *out = [take(self.scalar_dword(wave, machine, 0)); N],
        }
    }

    /// SDWA's SEL and SEXT of a source.
    fn select<const N: usize>(&self, out: &mut [u64; N]) {
        let (shift, bits) = selection(self.sel);
        let mask = gcn_isa::meaning::width_mask(self.ty);
        for v in out {
            let part = *v as u32 >> shift << (32 - bits);
            *v = if self.sext {
                ((part as i32 >> (32 - bits)) as i64 as u64) & mask
            } else {
                (part >> (32 - bits)) as u64 & mask
            };
        }
    }

    /// A scalar operand's value; its first dword is dword `k`.
    fn scalar(&self, wave: &WaveState, machine: &Machine<'_>, k: usize, ty: Ty) -> u64 {
        match self.location {
            OperandLocation::Scalar(code) if ty.bits() > 32 => wave.pair(code + k as u16),
            OperandLocation::Scalar(code) => {
                wave.sgprs.get(code as usize + k).copied().unwrap_or(0) as u64
            }
            OperandLocation::Const(value) => {
                let value = value.checked_shr(32 * k as u32).unwrap_or(0);
                if ty.bits() > 32 {
                    value
                } else {
                    value as u32 as u64
                }
            }
            OperandLocation::Source(source) => {
                let value = source_value(source, wave, machine);
                if ty.bits() > 32 {
                    value
                } else {
                    (value >> (32 * k.min(1))) as u32 as u64
                }
            }
            OperandLocation::Vgpr(_) | OperandLocation::Nothing => 0,
        }
    }

    /// Reads a 32-bit scalar, dword `k` of the operand.
    pub fn scalar_dword(&self, wave: &WaveState, machine: &Machine<'_>, k: usize) -> u32 {
        self.scalar(wave, machine, k, Ty::B32) as u32
    }

    /// Reads 64 bits of scalars from the operand's first dword.
    pub fn scalar_pair(&self, wave: &WaveState, machine: &Machine<'_>) -> u64 {
        self.scalar(wave, machine, 0, Ty::B64)
    }

    /// The values of dword `k` of a VGPR operand in all lanes.
    pub fn lanes<'w>(&self, wave: &'w WaveState, k: usize) -> Option<&'w [u32; LANES]> {
        match self.location {
            OperandLocation::Vgpr(number) => Some(vgpr(wave, self.vgpr(wave, number) + k)),
            _ => None,
        }
    }

    /// Writes the operand, or a dword of it, in the lanes in `lanes` (the lanes of EXEC that DPP and the effect's condition
    /// allow). A lane mask takes the bits of the active lanes.
    pub(crate) fn write<const N: usize>(
        &self,
        cx: &mut Exec<'_, '_>,
        dword: Option<u8>,
        value: &[u64; N],
        value_ty: Ty,
        lanes: u64,
    ) {
        let (mods, exec) = (cx.mods, cx.exec);
        let wave = &mut *cx.wave;
        let k = dword.unwrap_or(0) as u16;
        let ty = if dword.is_some() { Ty::B32 } else { self.ty };
        match self.location {
            OperandLocation::Scalar(code) => {
                if N == LANES && ty == Ty::Mask && value_ty == Ty::Bool {
                    // Lanes that the condition excludes keep their bits.
                    let bits = pack(value) & exec;
                    let kept = wave.pair(code) & exec & !lanes;
                    wave.set_pair(code, bits & lanes | kept);
                } else if ty.bits() > 32 {
                    wave.set_pair(code, value[0]);
                } else if let Some(register) = wave.sgprs.get_mut((code + k) as usize) {
                    *register = value[0] as u32;
                }
            }
            OperandLocation::Vgpr(number) => {
                let number = self.vgpr(wave, number) + k as usize;
                let mut shaped;
                let mut value = value;
                if ty.is_float() && (mods.omod != 0 || mods.clamp) {
                    shaped = *value;
                    output_modifiers(&mut shaped, ty, mods, Mode(wave.mode));
                    value = &shaped;
                }
                if ty.bits() > 32 {
                    store(wave, number + 1, lanes, |lane, _| {
                        (value[lane % N] >> 32) as u32
                    });
                    store(wave, number, lanes, |lane, _| value[lane % N] as u32);
                } else if self.sel != 6 {
                    let (shift, bits) = selection(self.sel);
                    let mask = (u32::MAX >> (32 - bits)) << shift;
                    let unused = mods.unused;
                    store(wave, number, lanes, |lane, old| {
                        let placed = (value[lane % N] as u32) << shift & mask;
                        match unused {
                            1 => {
                                let sign =
                                    (placed << (32 - bits - shift)) as i32 >> (32 - bits - shift);
                                sign as u32
                            }
                            2 => old & !mask | placed,
                            _ => placed,
                        }
                    });
                } else if ty.bits() == 16 && (self.high || mods.keeps_upper) {
                    let shift = if self.high { 16 } else { 0 };
                    store(wave, number, lanes, |lane, old| {
                        old & !(0xffff << shift) | (value[lane % N] as u32 & 0xffff) << shift
                    });
                } else {
                    store(wave, number, lanes, |lane, _| value[lane % N] as u32);
                }
            }
            OperandLocation::Const(_) | OperandLocation::Source(_) | OperandLocation::Nothing => {}
        }
    }

    /// Writes a half of a VGPR in the lanes in `lanes` and keeps the other half.
    pub fn write_half<const N: usize>(
        &self,
        wave: &mut WaveState,
        mods: &Modifiers,
        half: u8,
        value: &[u64; N],
        value_ty: Ty,
        lanes: u64,
    ) {
        let OperandLocation::Vgpr(number) = self.location else {
            return;
        };
        let mut value = *value;
        if value_ty.is_float() && mods.clamp {
            output_modifiers(&mut value, value_ty, mods, Mode(wave.mode));
        }
        let number = self.vgpr(wave, number);
        let shift = 16 * (half as u32 & 1);
        store(wave, number, lanes, |lane, old| {
            old & !(0xffff << shift) | (value[lane % N] as u32 & 0xffff) << shift
        });
    }

    /// Writes one lane of a VGPR, independently of EXEC.
    pub fn write_lane(&self, wave: &mut WaveState, lane: usize, value: u32) {
        if let OperandLocation::Vgpr(number) = self.location {
            let number = self.vgpr(wave, number);
            store(wave, number, 1 << (lane % LANES), |_, _| value);
        }
    }
}

/// The shift and bits of an SDWA selection.
fn selection(sel: u8) -> (u32, u32) {
    match sel {
        0..=3 => (8 * sel as u32, 8),
        4 | 5 => (16 * (sel as u32 - 4), 16),
        _ => (0, 32),
    }
}

/// The location of a code's register or constant; a constant has the value that an operand of type `ty` reads.
fn location(insn: &Insn, code: u16, ty: Ty) -> OperandLocation {
    let literal = insn.literal as u64;
    match operand::reg(code, insn.generation()) {
        Reg::Vgpr(n) => OperandLocation::Vgpr(n),
        Reg::Sgpr(_) | Reg::Ttmp(_) | Reg::Half(..) | Reg::M0 => OperandLocation::Scalar(code),
        // A 16-bit pair: an inline float is an f16 in the lower half and 0 in the upper half; an inline integer has 32 bits.
        Reg::Int(_) if insn.encoding == Encoding::Vop3p && ty.bits() == 16 => {
            OperandLocation::Const(operand::inline_value(code, 32).unwrap_or(0))
        }
        Reg::Int(_) | Reg::Float(_) => {
            OperandLocation::Const(operand::inline_value(code, ty.bits().min(64)).unwrap_or(0))
        }
        Reg::Source(source) => OperandLocation::Source(source),
        Reg::Literal if code == LITERAL => OperandLocation::Const(match ty {
            Ty::I64 => literal as u32 as i32 as i64 as u64,
            Ty::F64 => literal << 32,
            _ => literal,
        }),
        Reg::Literal | Reg::Reserved(_) => OperandLocation::Nothing,
    }
}

/// The value of a source that is neither a register nor a constant, in 64 bits.
fn source_value(source: Source, wave: &WaveState, machine: &Machine<'_>) -> u64 {
    const APERTURE: u64 = 0xffff_ffff;
    match source {
        Source::SharedBase => wave.shared_base(),
        Source::SharedLimit => wave.shared_base() | APERTURE,
        Source::PrivateBase => wave.private_base(),
        Source::PrivateLimit => wave.private_base() | APERTURE,
        Source::PopsExitingWaveId => 0,
        Source::Vccz => (wave.vcc() == 0) as u64,
        Source::Execz => (wave.exec() == 0) as u64,
        Source::Scc => wave.scc as u64,
        Source::LdsDirect => lds_direct(wave, machine) as u64,
    }
}

/// LDS_DIRECT: the element at `M0[15:0]` of the type in `M0[18:16]`, or 0 beyond the end of LDS. docs/errata.md, lds-direct.
fn lds_direct(wave: &WaveState, machine: &Machine<'_>) -> u32 {
    let at = (wave.m0() & 0xffff) as usize;
    let byte = |i: usize| machine.lds.get(at + i).copied().unwrap_or(0);
    match wave.m0() >> 16 & 7 {
        0 => byte(0) as u32,
        1 => u16::from_le_bytes([byte(0), byte(1)]) as u32,
        2 | 3 => u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]),
        4 => byte(0) as i8 as u32,
        5 => i16::from_le_bytes([byte(0), byte(1)]) as u32,
        _ => 0,
    }
}

static NO_LANES: [u32; LANES] = [0; LANES];

/// A VGPR; a number beyond the wave's VGPRs selects v0.
#[inline]
pub(crate) fn vgpr(wave: &WaveState, number: usize) -> &[u32; LANES] {
    wave.vgprs
        .get(number)
        .or_else(|| wave.vgprs.first())
        .unwrap_or(&NO_LANES)
}

/// Writes lanes of a VGPR; a write beyond the wave's VGPRs is dropped. `value` gets the lane and its old value.
#[inline]
pub(crate) fn store(
    wave: &mut WaveState,
    number: usize,
    lanes: u64,
    value: impl Fn(usize, u32) -> u32,
) {
    let Some(register) = wave.vgprs.get_mut(number) else {
        return;
    };
    if lanes == !0 {
        for (lane, r) in register.iter_mut().enumerate() {
            *r = value(lane, *r);
        }
    } else {
        for (lane, r) in register.iter_mut().enumerate() {
            let keep = (lanes >> lane & 1).wrapping_sub(1) as u32;
            *r = *r & keep | value(lane, *r) & !keep;
        }
    }
}

/// Packs the truth value of each lane into its bit.
#[inline]
pub(crate) fn pack<const N: usize>(value: &[u64; N]) -> u64 {
    let mut bits = 0;
    for (lane, &v) in value.iter().enumerate() {
        bits |= (v & 1) << (lane % 64);
    }
    bits
}

fn permute<const N: usize>(dpp: &Dpp, exec: u64, out: &mut [u64; N]) {
    let old = *out;
    for (lane, out) in out.iter_mut().enumerate() {
        let from = dpp.from[lane % LANES] as usize;
        let on = from < 64 && exec >> (from & 63) & 1 != 0;
        *out = if on { old[from % N] } else { 0 };
    }
}

fn output_modifiers<const N: usize>(value: &mut [u64; N], ty: Ty, mods: &Modifiers, mode: Mode) {
    fn apply<F: fp::Float>(value: &mut [u64], mods: &Modifiers, env: &Env) {
        for v in value {
            *v = fp::apply_omod_clamp::<F>(*v, mods.omod, mods.clamp, env);
        }
    }
    match ty {
        Ty::F16 if mods.fp16_ovfl && mode.0 & mode::FP16_OVFL != 0 => {
            for v in value {
                let infinite = fp::is_inf::<F16>(*v);
                *v = fp::apply_omod_clamp::<F16>(*v, mods.omod, mods.clamp, &mode.env16());
                if fp::is_inf::<F16>(*v) && !infinite {
                    // The largest finite number is the one before infinity.
                    *v -= 1;
                }
            }
        }
        Ty::F16 => apply::<F16>(value, mods, &mode.env16()),
        Ty::F32 => apply::<F32>(value, mods, &mode.env32()),
        _ => apply::<F64>(value, mods, &mode.env64()),
    }
}
