//! Converts instructions to text, in two syntaxes.
//!
//! The suffix `bits:0x…` shows everything that the text does not show by itself: the difference between the instruction's bits
//! and the bits that its text assembles to without the suffix. The text of every instruction assembles to exactly its bytes.

use crate::decode::{Insn, SrcMods};
use crate::encode::Encoder;
use crate::format::{Encoding, Field, Format};
use crate::inst::Flags;
use crate::modifier::{self, Arg, Modifier, Sets};
use crate::names;
use crate::operand::{self, FLOATS, LITERAL, Reg, Source, VCC, Value};
use crate::shape::{Access, Imm, Mods, Role, Slot, Ty};
use crate::target::Gen;
use crate::text::Sink;

/// The syntax of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Syntax {
    /// LLVM's.
    Llvm,
    /// The documents' syntax, which is CLRX's.
    Clrx,
}

/// The options of printing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// The syntax.
    pub syntax: Syntax,
}

impl Style {
    /// LLVM's syntax.
    pub const LLVM: Style = Style {
        syntax: Syntax::Llvm,
    };
    /// The documents' syntax.
    pub const CLRX: Style = Style {
        syntax: Syntax::Clrx,
    };
}

/// The SIMM16 of a branch in CLRX's syntax: a distance from the branch itself, given as the text before the
/// number and the number.
pub(crate) fn branch_from_here(simm16: u16) -> (&'static str, u32) {
    let bytes = i32::from(simm16 as i16) * 4 + 4;
    (if bytes < 0 { ".-" } else { ".+" }, bytes.unsigned_abs())
}

/// Appends the instruction's text to `out`. A branch's target is written as its SIMM16; in CLRX's syntax, as the distance in bytes.
pub fn print(insn: &Insn, style: &Style, out: &mut impl Sink) {
    Printer {
        insn,
        clrx: style.syntax == Syntax::Clrx,
        label: None,
        out,
    }
    .instruction();
}

/// As [`print`], with the target of a branch written as `label`.
pub fn print_with_label(insn: &Insn, style: &Style, label: &str, out: &mut impl Sink) {
    Printer {
        insn,
        clrx: style.syntax == Syntax::Clrx,
        label: Some(label),
        out,
    }
    .instruction();
}

/// Appends the text of one operand as [`print`] writes it. The slot must be one of the row's shape.
/// Nothing is appended if `print` omits the operand.
pub fn print_operand(insn: &Insn, slot: &'static Slot, style: &Style, out: &mut impl Sink) {
    let mut printer = Printer {
        insn,
        clrx: style.syntax == Syntax::Clrx,
        label: None,
        out,
    };
    let value = insn.operand(slot).value;
    if printer.shows(slot, value) {
        printer.operand(slot, value, &mut Encoder::like(insn));
    }
}

/// Appends a number in decimal.
pub fn push_dec(out: &mut impl Sink, value: impl Into<u64>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = value.into();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    for &d in &digits[at..] {
        out.push(d as char);
    }
}

/// Appends a number in hex after `0x`, without leading zeros.
pub fn push_hex(out: &mut impl Sink, value: u64) {
    out.push_str("0x");
    push_hex_digits(out, value);
}

/// Appends a number in hex, without leading zeros.
pub fn push_hex_digits(out: &mut impl Sink, value: u64) {
    let mut shift = (63 - (value | 1).leading_zeros()) & !3;
    loop {
        let digit = (value >> shift & 15) as usize;
        out.push(b"0123456789abcdef"[digit] as char);
        if shift == 0 {
            break;
        }
        shift -= 4;
    }
}

/// Appends the text of `code` in an operand of type `ty` in `dwords` registers, or in a destination: the
/// text that [`print`] writes in an instruction like `insn`.
pub(crate) fn print_code(
    insn: &Insn,
    style: &Style,
    (code, ty, dwords): (u16, Ty, u16),
    written: bool,
    out: &mut impl Sink,
) {
    let mut printer = Printer {
        insn,
        clrx: style.syntax == Syntax::Clrx,
        label: None,
        out,
    };
    if written && is_constant(code, insn.generation()) {
        printer.unnamed(code);
    } else {
        printer.code(code, ty, dwords);
    }
}

/// Returns true if a code names an inline constant or a literal.
pub(crate) fn is_constant(code: u16, generation: Gen) -> bool {
    matches!(
        operand::reg(code, generation),
        Reg::Int(_) | Reg::Float(_) | Reg::Literal
    )
}

struct Printer<'a, O: Sink> {
    insn: &'a Insn,
    clrx: bool,
    label: Option<&'a str>,
    out: &'a mut O,
}

impl<O: Sink> Printer<'_, O> {
    fn instruction(&mut self) {
        let insn = self.insn;
        let row = insn.row;
        self.out.push_str(if self.clrx {
            row.clrx.unwrap_or(row.name)
        } else {
            row.name
        });
        if !self.clrx {
            self.out.push_str(suffix(insn));
        }
        // The bits that the text written so far assembles to.
        let mut shown = Encoder::like(insn);
        let mut separator = " ";
        for slot in row.shape.slots {
            let operand = insn.operand(slot);
            if !self.shows(slot, operand.value) {
                continue;
            }
            self.out.push_str(separator);
            separator = if slot.role == Role::ExpTgt && !self.clrx {
                " "
            } else {
                ", "
            };
            self.operand(slot, operand.value, &mut shown);
        }
        self.modifiers(&mut shown);
        if self.clrx && shown.bits != insn.bits {
            self.ignored(&mut shown);
        }
        let hidden = shown.bits ^ insn.bits;
        if hidden != 0 {
            self.out.push_str(modifier::BITS.prefix);
            push_hex(self.out, hidden);
        }
    }

    /// CLRX's text names the fields that the instruction ignores.
    fn ignored(&mut self, shown: &mut Encoder) {
        let insn = self.insn;
        for &(field, name) in names::ignored_fields(insn.encoding) {
            let v = insn.field(field);
            if v != 0 && shown.get(field) == 0 && !shown.uses(field) {
                self.out.push(' ');
                self.out.push_str(name);
                self.out.push('=');
                push_hex(self.out, v as u64);
                shown.set(field, v);
            }
        }
        if !matches!(insn.encoding, Encoding::Vop3 | Encoding::Vop3b) {
            return;
        }
        for (n, (field, name)) in names::IGNORED_BITS.into_iter().enumerate() {
            let bit = 1 << (n / 2);
            let v = shown.get(field);
            if insn.field(field) & bit != 0 && v & bit == 0 {
                self.out.push(' ');
                self.out.push_str(name);
                shown.set(field, v | bit);
            }
        }
    }

    /// Returns true if the text contains the operand.
    fn shows(&self, slot: &Slot, value: Value) -> bool {
        match value {
            Value::Absent => self.shows_absent(slot),
            Value::Imm(0) => slot.role != Role::Imm(Imm::Optional),
            _ => true,
        }
    }

    /// Returns true if `off` is written for the absent register of a buffer or global instruction.
    fn shows_absent(&self, slot: &Slot) -> bool {
        match slot.role {
            Role::BufAddr => true,
            Role::FlatAddr => self.insn.row.format == Format::Scratch,
            Role::Saddr => self.insn.has_field(Field::Saddr),
            Role::ExpSrc(_) => true,
            _ => false,
        }
    }

    fn operand(&mut self, slot: &'static Slot, value: Value, shown: &mut Encoder) {
        match (slot.role, value) {
            (Role::Imm(kind), Value::Imm(v)) => {
                shown.set(kind.field(), v);
                self.immediate(kind, v, shown);
            }
            (Role::K, Value::Imm(v)) => self.literal_k(slot, v),
            (Role::Soff, v) => self.smem_offset(v, shown),
            (role @ (Role::Attr | Role::Param | Role::ExpTgt), Value::Imm(v)) => {
                shown.set_imm(role, v);
                self.graphics(role, v);
            }
            // CLRX's text names the address register that an unaddressed access ignores.
            (Role::BufAddr, Value::Absent) if self.clrx => {
                let code = operand::VGPR0 + self.insn.field(Field::Vaddr) as u16;
                shown.set_code(Role::BufAddr, code);
                self.code(code, slot.ty, 1);
            }
            (_, Value::Absent) => self.out.push_str("off"),
            // The encoding of an export's sources is determined together with its modifiers.
            (Role::ExpSrc(_), Value::Code(code)) => self.code(code, slot.ty, 1),
            (role, Value::Code(code)) => {
                shown.set_code(role, code);
                let mods = self.source_mods(role, shown);
                if is_constant(code, self.insn.generation()) && slot.access == Access::Write {
                    // An 8-bit field that names a destination.
                    self.unnamed(code);
                } else {
                    self.modified(mods, slot, code);
                }
            }
            (_, Value::Imm(v)) => push_hex(self.out, v as u64),
        }
    }

    /// The modifiers written around a source; they are also set in `shown`.
    fn source_mods(&self, role: Role, shown: &mut Encoder) -> SrcMods {
        let n = match role {
            Role::Src0 => 0,
            Role::Src1 => 1,
            Role::Src2 => 2,
            _ => return SrcMods::NONE,
        };
        let mods = self.insn.src_mods(n);
        let bit = 1 << n;
        match self.insn.encoding {
            // CLRX's syntax has neg_lo and neg_hi instead.
            Encoding::Vop3p if self.clrx => return SrcMods::NONE,
            Encoding::Vop3p => {
                let v = shown.get(Field::NegHi) | (mods.abs as u32) << n;
                shown.set(Field::NegHi, v);
                let v = shown.get(Field::Neg) | (mods.neg as u32) << n;
                shown.set(Field::Neg, v);
            }
            Encoding::Vop3 | Encoding::Vop3b => {
                let abs = self.insn.field(Field::Abs) & bit;
                let neg = self.insn.field(Field::Neg) & bit;
                let v = shown.get(Field::Abs) | abs;
                shown.set(Field::Abs, v);
                let v = shown.get(Field::Neg) | neg;
                shown.set(Field::Neg, v);
                if !self.clrx && neg != 0 && self.insn.row.shape.neg_is_sext(role) {
                    return SrcMods {
                        neg: false,
                        sext: true,
                        ..mods
                    };
                }
            }
            Encoding::Sdwa1
            | Encoding::Sdwa2
            | Encoding::SdwaC
            | Encoding::Dpp1
            | Encoding::Dpp2
            | Encoding::DppC => {
                let (abs, neg, sext) = if n == 0 {
                    (Field::Src0Abs, Field::Src0Neg, Field::Src0Sext)
                } else {
                    (Field::Src1Abs, Field::Src1Neg, Field::Src1Sext)
                };
                // Depending on its type, an operand takes either abs and neg or sext of SDWA's modifiers.
                let sdwa = shown.has(sext);
                let float = self
                    .insn
                    .row
                    .shape
                    .slot(role)
                    .is_some_and(|s| s.ty.is_float());
                if !sdwa && self.insn.row.shape.neg_is_sext(role) {
                    shown.set(neg, mods.neg as u32);
                    return SrcMods {
                        abs: false,
                        neg: false,
                        sext: mods.neg,
                        ..mods
                    };
                }
                let mods = SrcMods {
                    abs: mods.abs && (float || !sdwa),
                    neg: mods.neg && (float || !sdwa),
                    sext: mods.sext && !float,
                    ..mods
                };
                shown.set(abs, mods.abs as u32);
                shown.set(neg, mods.neg as u32);
                shown.set(sext, mods.sext as u32);
                return mods;
            }
            _ => {}
        }
        mods
    }

    fn modified(&mut self, mods: SrcMods, slot: &Slot, code: u16) {
        // A minus sign before a number would be read as part of the number.
        let neg_call =
            mods.neg && !mods.abs && !mods.sext && is_constant(code, self.insn.generation());
        if neg_call {
            self.out.push_str("neg(");
        } else if mods.neg {
            self.out.push('-');
        }
        if mods.sext {
            self.out.push_str("sext(");
        }
        match (mods.abs, self.clrx) {
            (true, true) => self.out.push_str("abs("),
            (true, false) => self.out.push('|'),
            _ => {}
        }
        self.code(code, slot.ty, self.width(slot));
        match (mods.abs, self.clrx) {
            (true, true) => self.out.push(')'),
            (true, false) => self.out.push('|'),
            _ => {}
        }
        if mods.sext || neg_call {
            self.out.push(')');
        }
    }

    /// The number of registers with which an operand is written.
    fn width(&self, slot: &Slot) -> u16 {
        let own = self.insn.dwords(slot) as u16;
        if !self.clrx || self.insn.encoding != Encoding::Mimg {
            return own;
        }
        // CLRX supports neither packed data nor short addresses, but it supports short resources.
        match slot.role {
            Role::ImgAddr => own.max(4),
            Role::Vdata => crate::decode::image_data_dwords(
                self.insn.row,
                self.insn.target,
                self.insn.field(Field::Dmask),
                false,
                self.insn.field(Field::Tfe) != 0,
            ) as u16,
            Role::Srsrc if self.insn.short_resource() => 4,
            _ => own,
        }
    }

    /// An attribute, a vertex parameter or the target of an export.
    fn graphics(&mut self, role: Role, v: u32) {
        match role {
            Role::Attr => {
                self.out.push_str("attr");
                push_dec(self.out, v & 63);
                self.out.push('.');
                self.out.push(b"xyzw"[(v >> 6 & 3) as usize] as char);
            }
            Role::Param => match names::PARAMS.get(v as usize) {
                Some(name) => self.out.push_str(name),
                None => {
                    self.out.push_str(if self.clrx {
                        "invalid_"
                    } else {
                        "invalid_param_"
                    });
                    push_dec(self.out, v);
                }
            },
            _ => match names::export_target(v) {
                Some((name, number)) => {
                    self.out.push_str(name);
                    if let Some(n) = number {
                        push_dec(self.out, n);
                    }
                }
                None => {
                    self.out
                        .push_str(if self.clrx { "ill_" } else { "invalid_target_" });
                    push_dec(self.out, v);
                }
            },
        }
    }

    /// A register or constant that an operand of type `ty` in `dwords` registers reads or writes.
    fn code(&mut self, code: u16, ty: Ty, dwords: u16) {
        let generation = self.insn.generation();
        match operand::reg(code, generation) {
            Reg::Sgpr(n) if n + dwords <= generation.sgprs() => self.tuple("s", n, dwords),
            Reg::Vgpr(n) if n + dwords <= 256 => self.tuple("v", n, dwords),
            Reg::Ttmp(n) if n + dwords <= if generation == Gen::Gfx9 { 16 } else { 12 } => {
                self.tuple("ttmp", n, dwords)
            }
            Reg::Half(pair, high) if dwords == 1 => {
                self.out.push_str(pair.name());
                self.out.push_str(if high { "_hi" } else { "_lo" });
            }
            Reg::Half(pair, false) if dwords == 2 => self.out.push_str(pair.name()),
            Reg::M0 if dwords == 1 => self.out.push_str("m0"),
            Reg::Int(v) => self.signed(v),
            // LLVM reads a float in a 16-bit integer operand as a literal. Packed instructions cannot have a literal;
            // LLVM 19 and later accept the float there.
            Reg::Float(_)
                if matches!(ty, Ty::I16 | Ty::U16) && self.insn.encoding != Encoding::Vop3p =>
            {
                self.unnamed(code)
            }
            Reg::Float(8) if dwords == 2 && !self.clrx => self.out.push_str("0.15915494309189532"),
            Reg::Float(n) => self.out.push_str(FLOATS[n as usize].0),
            Reg::Source(s) => {
                if !self.clrx {
                    self.out.push_str("src_");
                }
                self.out.push_str(s.name());
                if !self.clrx && s == Source::LdsDirect {
                    self.out.push_str("_direct");
                }
            }
            Reg::Literal if self.insn.len as usize > self.base_len() => {
                self.literal(self.insn.literal, self.insn.row.shape.literal_ty(ty))
            }
            Reg::Reserved(_) if self.clrx => {
                self.out.push_str("ill_");
                push_dec(self.out, code as u32);
            }
            _ => self.unnamed(code),
        }
    }

    /// Writes a code by its number.
    fn unnamed(&mut self, code: u16) {
        self.out.push_str("op(");
        push_hex(self.out, code as u64);
        self.out.push(')');
    }

    fn base_len(&self) -> usize {
        self.insn.layout.bytes as usize
    }

    fn tuple(&mut self, letter: &str, first: u16, n: u16) {
        self.out.push_str(letter);
        if n == 1 {
            push_dec(self.out, first as u32);
            return;
        }
        self.out.push('[');
        push_dec(self.out, first as u32);
        self.out.push(':');
        push_dec(self.out, (first + n - 1) as u32);
        self.out.push(']');
    }

    fn signed(&mut self, v: i32) {
        if v < 0 {
            self.out.push('-');
        }
        push_dec(self.out, v.unsigned_abs());
    }

    fn literal(&mut self, v: u32, ty: Ty) {
        // A text that would assemble to an inline constant, or lose its high half, is wrapped. In CLRX's syntax only
        // small integers are inline constants.
        if self.clrx {
            let small = v as i32;
            if (-16..=64).contains(&small) {
                self.out.push_str("lit(");
                self.signed(small);
                self.out.push(')');
                return;
            }
            return push_hex(self.out, v as u64);
        }
        let inline = operand::inline_code(v as u64, ty, self.insn.generation()).is_some();
        if inline || ty.bits() == 16 && v > 0xffff {
            self.out.push_str("lit(");
            push_hex(self.out, v as u64);
            self.out.push(')');
        } else {
            push_hex(self.out, v as u64);
        }
    }

    /// Writes a literal in an operand that is always a literal, so no wrapping is needed.
    fn literal_k(&mut self, slot: &Slot, v: u32) {
        if slot.ty == Ty::B32 && self.insn.encoding == Encoding::Sopk && !self.clrx {
            // LLVM prints the literal of s_setreg_imm32_b32 like any other operand.
            let small = v as i32;
            if (-16..=64).contains(&small) {
                return self.signed(small);
            }
        }
        push_hex(self.out, v as u64);
    }

    /// Returns true if scalar memory adds both an SGPR and an immediate to the address; only gfx9 supports this.
    fn has_register_and_offset(&self) -> bool {
        self.insn.row.shape.slot(Role::Soff).is_some()
            && self.insn.field(Field::SoffsetEn) != 0
            && self.insn.field(Field::Imm) != 0
    }

    fn smem_offset(&mut self, value: Value, shown: &mut Encoder) {
        let insn = self.insn;
        let old = insn.generation() < Gen::Gfx8;
        match value {
            Value::Imm(v) if self.has_register_and_offset() => {
                // LLVM 14 has no syntax for both at once; later versions print the offset as a modifier.
                let code = insn.field(Field::Soffset) as u16;
                shown.set(Field::Imm, 1);
                shown.set(Field::Offset, v);
                shown.set(Field::SoffsetEn, 1);
                shown.set(Field::Soffset, code as u32);
                self.code(code, Ty::B32, 1);
            }
            Value::Imm(v) => {
                shown.set(Field::Imm, 1);
                shown.set(Field::Offset, v);
                if insn.generation() == Gen::Gfx9 {
                    self.signed_21(v);
                } else {
                    push_hex(self.out, v as u64);
                }
            }
            Value::Code(code) if insn.field(Field::SoffsetEn) != 0 => {
                // The assembler encodes a register in OFFSET; `bits:` moves it.
                shown.set(Field::Offset, code as u32);
                self.code(code, Ty::B32, 1);
            }
            Value::Code(code) => {
                shown.set(Field::Offset, code as u32);
                if insn.generation() == Gen::Gfx7 && code == LITERAL {
                    // The assembler would encode a value that fits OFFSET there.
                    let wrapped = insn.literal <= 0xff;
                    self.out.push_str(if wrapped { "lit(" } else { "" });
                    push_hex(self.out, insn.literal as u64);
                    self.out.push_str(if wrapped { ")" } else { "" });
                } else if old && code >= operand::INT0 {
                    // No inline constants here: a number would be read as an immediate offset.
                    self.unnamed(code);
                } else {
                    self.code(code, Ty::B32, 1);
                }
            }
            Value::Absent => {}
        }
    }

    /// Writes a signed offset of 21 bits.
    fn signed_21(&mut self, v: u32) {
        let v = ((v << 11) as i32) >> 11;
        if v < 0 {
            self.out.push('-');
        }
        push_hex(self.out, v.unsigned_abs() as u64);
    }

    fn immediate(&mut self, kind: Imm, v: u32, shown: &mut Encoder) {
        match kind {
            // LLVM prints inline constants in decimal, for every operand.
            Imm::U16 | Imm::Sdata if !self.clrx && v <= 64 => push_dec(self.out, v),
            Imm::U16 | Imm::Hex16 | Imm::Sdata => push_hex(self.out, v as u64),
            Imm::Optional if self.clrx => push_hex(self.out, v as u64),
            Imm::Optional => push_dec(self.out, v),
            Imm::Branch => match self.label {
                Some(label) => self.out.push_str(label),
                // In CLRX's syntax a number is an address.
                None if self.clrx => {
                    let (sign, bytes) = branch_from_here(v as u16);
                    self.out.push_str(sign);
                    push_dec(self.out, bytes);
                }
                None => push_dec(self.out, v),
            },
            Imm::Waitcnt => self.waitcnt(v, shown),
            Imm::Sendmsg if self.clrx => self.sendmsg_clrx(v),
            Imm::Sendmsg => self.sendmsg(v, shown),
            Imm::Hwreg => self.hwreg(v),
            Imm::GprIdx | Imm::GprIdxSsrc1 => self.gpr_idx(v),
        }
    }

    fn waitcnt(&mut self, v: u32, shown: &mut Encoder) {
        let generation = self.insn.generation();
        let w = names::waitcnt(v, generation);
        let counters = [("vmcnt(", w.vm), ("expcnt(", w.exp), ("lgkmcnt(", w.lgkm)];
        let all = counters.iter().all(|(_, (v, max))| v == max);
        let mut first = true;
        for (name, (v, max)) in counters {
            if v == max && !all {
                continue;
            }
            if !first {
                self.out.push_str(if self.clrx { " & " } else { " " });
            }
            first = false;
            self.out.push_str(name);
            push_dec(self.out, v);
            self.out.push(')');
        }
        // LLVM's text does not show the spare bits; CLRX's text shows the whole number.
        if w.spare != 0 && self.clrx {
            self.out.push_str(" :");
            push_hex(self.out, v as u64);
        } else {
            shown.set(Field::Simm16, v & !w.spare);
        }
    }

    /// CLRX's syntax has two bits of operation for every message; the whole of SIMM16 follows after
    /// a colon if the names alone would lose bits.
    fn sendmsg_clrx(&mut self, v: u32) {
        let (id, op, stream) = (v & 15, v >> 4 & 3, v >> 8 & 3);
        let message = names::name_of(names::MESSAGES, id, self.insn.generation());
        self.out.push_str("sendmsg(");
        match message {
            Some(message) => self.out.push_str(message.clrx),
            None => {
                self.out.push('@');
                push_dec(self.out, id);
            }
        }
        let unknown = message.is_none() && id != 0;
        let mut named = 0xf;
        if id == 2 || id == 3 || unknown || v & 0x3f0 != 0 {
            named = 0x33f;
            self.out.push_str(", ");
            self.out.push_str(names::GS_OPS[op as usize].clrx);
            if op != 0 || stream != 0 {
                self.out.push_str(", ");
                push_dec(self.out, stream);
            }
        }
        self.out.push(')');
        if v & !named != 0 {
            self.out.push_str(" :");
            push_hex(self.out, v as u64);
        }
    }

    fn sendmsg(&mut self, v: u32, shown: &mut Encoder) {
        let generation = self.insn.generation();
        let (id, op, stream) = (v & 15, v >> 4 & 7, v >> 8 & 3);
        let gs = id == 2 || id == 3;
        let message = names::name_of(names::MESSAGES, id, generation);
        let ops = match id {
            2 | 3 => names::GS_OPS,
            15 => names::SYS_OPS,
            _ => &[],
        };
        let op_name = names::name_of(ops, op, generation);
        let has_op = !ops.is_empty();
        let has_stream = gs && op != 0;
        let op_fits = if has_op {
            op_name.is_some() && !(id == 2 && op == 0)
        } else {
            op == 0
        };
        match message {
            Some(message) if op_fits && (has_stream || stream == 0) => {
                self.out.push_str("sendmsg(");
                self.out.push_str(message.llvm);
                if let Some(op) = op_name {
                    self.out.push_str(", ");
                    self.out.push_str(op.llvm);
                }
                if has_stream {
                    self.out.push_str(", ");
                    push_dec(self.out, stream);
                }
                self.out.push(')');
                // The other bits of SIMM16 are not shown.
                shown.set(Field::Simm16, v & 0x37f);
            }
            _ if v & !0x37f == 0 => {
                self.out.push_str("sendmsg(");
                push_dec(self.out, id);
                self.out.push_str(", ");
                push_dec(self.out, op);
                self.out.push_str(", ");
                push_dec(self.out, stream);
                self.out.push(')');
            }
            _ => push_dec(self.out, v),
        }
    }

    fn hwreg(&mut self, v: u32) {
        let (id, offset, size) = (v & 63, v >> 6 & 31, (v >> 11 & 31) + 1);
        self.out.push_str("hwreg(");
        match names::name_of(names::HWREGS, id, self.insn.generation()) {
            Some(n) if self.clrx => self.out.push_str(n.clrx),
            Some(n) if !n.llvm.is_empty() => self.out.push_str(n.llvm),
            _ => {
                if self.clrx {
                    self.out.push('@');
                }
                push_dec(self.out, id);
            }
        }
        if self.clrx || offset != 0 || size != 32 {
            self.out.push_str(", ");
            push_dec(self.out, offset);
            self.out.push_str(", ");
            push_dec(self.out, size);
        }
        self.out.push(')');
    }

    fn gpr_idx(&mut self, v: u32) {
        if self.clrx || v > 15 {
            return push_hex(self.out, v as u64);
        }
        self.out.push_str("gpr_idx(");
        let mut first = true;
        for (bit, name) in names::GPR_IDX.iter().enumerate() {
            if v >> bit & 1 != 0 {
                if !first {
                    self.out.push(',');
                }
                first = false;
                self.out.push_str(name);
            }
        }
        self.out.push(')');
    }

    fn modifiers(&mut self, shown: &mut Encoder) {
        match self.insn.row.shape.mods {
            Mods::None | Mods::BufferBare => {}
            Mods::Valu => self.valu_modifiers(shown),
            Mods::Smem | Mods::SmemScratch => {
                if self.has_register_and_offset() {
                    self.out.push_str(modifier::OFFSET.prefix);
                    self.signed_21(self.insn.field(Field::Offset));
                }
                self.flag(modifier::NV, shown);
                self.flag(modifier::GLC, shown);
            }
            Mods::Ds => {
                self.ds_offset(shown);
                self.flag(modifier::GDS, shown);
            }
            Mods::Swizzle => {
                self.swizzle(shown);
                self.flag(modifier::GDS, shown);
            }
            Mods::Gds => {
                self.ds_offset(shown);
                self.out.push_str(modifier::GDS.word);
                shown.set(Field::Gds, 1);
            }
            Mods::Ds2 => {
                self.number(modifier::OFFSET0, shown);
                self.number(modifier::OFFSET1, shown);
                self.flag(modifier::GDS, shown);
            }
            Mods::Buffer => self.buffer(shown),
            Mods::Typed => {
                if !self.clrx {
                    self.typed_format(shown);
                }
                self.buffer(shown);
                if self.clrx {
                    self.typed_format(shown);
                }
            }
            Mods::Packed | Mods::Mix => self.packed(shown),
            Mods::Interp | Mods::InterpHigh => self.interp(shown),
            Mods::Image => self.image(shown),
            Mods::Export => self.export(shown),
            Mods::BufferLds => {
                self.number_in(Field::Offset, modifier::OFFSET, shown);
                shown.set(Field::Lds, 1);
                let lds = modifier::LDS.word;
                self.out.push_str(if self.clrx { "" } else { lds });
                self.flag(modifier::GLC, shown);
                self.flag(modifier::SLC, shown);
                self.out.push_str(if self.clrx { lds } else { "" });
            }
            Mods::Flat => {
                if self.insn.has_field(Field::Offset) {
                    self.flat_offset(shown);
                }
                self.flags(modifier::FLAT, shown);
            }
        }
    }

    fn buffer(&mut self, shown: &mut Encoder) {
        let order = match self.clrx {
            true => modifier::BUFFER_CLRX,
            false => modifier::BUFFER,
        };
        for m in order {
            match m.sets {
                Sets::Offset => self.number_in(Field::Offset, m, shown),
                _ => self.flag(m, shown),
            }
        }
    }

    /// The data and number format; 8 and UNORM are omitted.
    fn typed_format(&mut self, shown: &mut Encoder) {
        let (dfmt, nfmt) = (self.insn.field(Field::Dfmt), self.insn.field(Field::Nfmt));
        shown.set(Field::Dfmt, dfmt);
        shown.set(Field::Nfmt, nfmt);
        if dfmt == 1 && nfmt == 0 {
            return;
        }
        let (d_llvm, d_clrx) = names::DFMT[dfmt as usize & 15];
        let (n_llvm, n_clrx) = names::nfmt(nfmt, self.insn.generation());
        self.out.push_str(modifier::FORMAT.prefix);
        self.out.push('[');
        if dfmt != 1 {
            if !self.clrx {
                self.out.push_str("BUF_DATA_FORMAT_");
            }
            self.out.push_str(if self.clrx { d_clrx } else { d_llvm });
            if nfmt != 0 {
                self.out.push(',');
            }
        }
        if nfmt != 0 {
            if !self.clrx {
                self.out.push_str("BUF_NUM_FORMAT_");
            }
            self.out.push_str(if self.clrx { n_clrx } else { n_llvm });
        }
        self.out.push(']');
    }

    /// The number of sources of a VOP3P instruction.
    fn packed_sources(&self) -> usize {
        let sources = [Role::Src0, Role::Src1, Role::Src2];
        let has = |role: &&Role| self.insn.row.shape.slot(**role).is_some();
        sources.iter().filter(has).count()
    }

    /// Writes one bit per source: ` name:[0,1]`.
    fn bits(&mut self, m: &Modifier, v: u32, n: usize) {
        self.out.push_str(m.prefix);
        for k in 0..n {
            self.out.push(if k == 0 { '[' } else { ',' });
            push_dec(self.out, v >> k & 1);
        }
        self.out.push(']');
    }

    fn packed(&mut self, shown: &mut Encoder) {
        let insn = self.insn;
        let n = self.packed_sources();
        let all = (1 << n) - 1;
        let mix = insn.row.shape.mods == Mods::Mix && !self.clrx;
        let sel = insn.field(Field::OpSel) & all;
        if sel != 0 {
            self.bits(modifier::OP_SEL, sel, n);
            shown.set(Field::OpSel, sel);
        }
        let hi = (insn.field(Field::OpSelHi) | insn.field(Field::OpSelHi2) << 2) & all;
        let default = packed_default(insn.row.shape.mods, self.clrx);
        let told = hi != default & all;
        if told {
            self.bits(modifier::OP_SEL_HI, hi, n);
        }
        // If there is no third source, the assembler chooses its bit: CLRX's clears it if op_sel_hi is written.
        let rest = match told && self.clrx {
            true => 0,
            false => default & !all,
        };
        let hi = hi | rest;
        shown.set(Field::OpSelHi, hi & 3);
        shown.set(Field::OpSelHi2, hi >> 2);
        if !mix {
            for (field, m) in [
                (Field::Neg, modifier::NEG_LO),
                (Field::NegHi, modifier::NEG_HI),
            ] {
                let v = insn.field(field) & all;
                if v != 0 {
                    self.bits(m, v, n);
                    shown.set(field, v);
                }
            }
        }
        self.flag(modifier::CLAMP, shown);
    }

    fn interp(&mut self, shown: &mut Encoder) {
        if self.insn.encoding != Encoding::Vop3 {
            return;
        }
        if self.insn.row.shape.mods == Mods::InterpHigh && self.insn.field(Field::Src0) & 256 != 0 {
            self.out.push_str(modifier::HIGH.word);
            let v = shown.get(Field::Src0) | 256;
            shown.set(Field::Src0, v);
        }
        if self.clrx {
            self.omod(shown);
            self.flag(modifier::CLAMP, shown);
            if self.looks_like_e32() {
                self.out.push_str(modifier::VOP3.word);
            }
        } else {
            self.flag(modifier::CLAMP, shown);
            self.omod(shown);
        }
    }

    fn image(&mut self, shown: &mut Encoder) {
        let dmask = self.insn.field(Field::Dmask);
        shown.set(Field::Dmask, dmask);
        if dmask != self.clrx as u32 {
            self.out.push_str(modifier::DMASK.prefix);
            if self.clrx {
                push_dec(self.out, dmask);
            } else {
                push_hex(self.out, dmask as u64);
            }
        }
        self.flags(modifier::image(self.insn.generation()), shown);
    }

    fn export(&mut self, shown: &mut Encoder) {
        self.flags(modifier::EXPORT, shown);
        let en = self.insn.field(Field::En);
        let sources = core::array::from_fn(|n| {
            let v = self.insn.field(self.insn.export_source(n as u8));
            (en >> n & 1 != 0).then_some(v as u8)
        });
        let compr = self.insn.field(Field::Compr) != 0;
        crate::encode::export_sources(shown, sources, compr, self.clrx);
    }

    /// The 16-bit offset of DS.
    fn ds_offset(&mut self, shown: &mut Encoder) {
        let v = self.insn.field(Field::Offset0) | self.insn.field(Field::Offset1) << 8;
        if v != 0 {
            self.out.push_str(modifier::OFFSET.prefix);
            push_dec(self.out, v);
            shown.set(Field::Offset0, v & 255);
            shown.set(Field::Offset1, v >> 8);
        }
    }

    /// The offset of ds_swizzle_b32, which LLVM writes as a named pattern.
    fn swizzle(&mut self, shown: &mut Encoder) {
        let v = self.insn.field(Field::Offset0) | self.insn.field(Field::Offset1) << 8;
        let pattern = names::Swizzle::of(v);
        let (Some(pattern), false) = (pattern, self.clrx || v == 0) else {
            return self.ds_offset(shown);
        };
        self.out.push_str(modifier::OFFSET.prefix);
        self.out.push_str("swizzle(");
        self.out.push_str(pattern.name());
        match pattern {
            names::Swizzle::QuadPerm(lanes) => {
                for k in 0..4 {
                    self.out.push(',');
                    push_dec(self.out, lanes >> (2 * k) & 3);
                }
            }
            names::Swizzle::Swap(n) | names::Swizzle::Reverse(n) => {
                self.out.push(',');
                push_dec(self.out, n);
            }
            names::Swizzle::Broadcast(size, lane) => {
                self.out.push(',');
                push_dec(self.out, size);
                self.out.push(',');
                push_dec(self.out, lane);
            }
            names::Swizzle::BitmaskPerm(letters) => {
                self.out.push_str(",\"");
                for letter in letters {
                    self.out.push(letter as char);
                }
                self.out.push('"');
            }
        }
        self.out.push(')');
        // Different masks may make the same pattern.
        let v = pattern.offset();
        shown.set(Field::Offset0, v & 255);
        shown.set(Field::Offset1, v >> 8);
    }

    fn flat_offset(&mut self, shown: &mut Encoder) {
        let raw = self.insn.field(Field::Offset);
        // GLOBAL and SCRATCH have 13 signed bits; FLAT has the low 12 bits, unsigned.
        let signed = self.insn.row.format != Format::Flat;
        let v = if signed {
            ((raw << 19) as i32) >> 19
        } else {
            (raw & 0xfff) as i32
        };
        if v != 0 {
            self.out.push_str(flat_offset(self.clrx));
            self.signed(v);
            shown.set(Field::Offset, v as u32 & 0x1fff);
        }
    }

    fn flag(&mut self, m: &Modifier, shown: &mut Encoder) {
        if let Some(field) = m.field()
            && self.insn.field(field) != 0
        {
            self.out.push_str(m.word);
            shown.set(field, 1);
        }
    }

    fn flags<const N: usize>(&mut self, list: [&Modifier; N], shown: &mut Encoder) {
        for m in list {
            self.flag(m, shown);
        }
    }

    fn number(&mut self, m: &Modifier, shown: &mut Encoder) {
        if let Some(field) = m.field() {
            self.number_in(field, m, shown);
        }
    }

    /// Writes a number in the field that the instruction's format specifies.
    fn number_in(&mut self, field: Field, m: &Modifier, shown: &mut Encoder) {
        let v = self.insn.field(field);
        if v != 0 {
            self.out.push_str(m.prefix);
            push_dec(self.out, v);
            shown.set(field, v);
        }
    }

    fn omod(&mut self, shown: &mut Encoder) {
        let v = self.insn.field(Field::Omod);
        shown.set(Field::Omod, v);
        let (m, number) = match v {
            1 => (modifier::MUL, '2'),
            2 => (modifier::MUL, '4'),
            3 => (modifier::DIV, '2'),
            _ => return,
        };
        self.out.push_str(m.prefix);
        self.out.push(number);
    }

    fn valu_modifiers(&mut self, shown: &mut Encoder) {
        use Encoding::*;
        match self.insn.encoding {
            Vop3 | Vop3b => {
                self.op_sel(shown);
                if self.clrx {
                    self.omod(shown);
                    self.flag(modifier::CLAMP, shown);
                    if self.looks_like_e32() {
                        self.out.push_str(modifier::VOP3.word);
                    }
                } else {
                    self.flag(modifier::CLAMP, shown);
                    self.omod(shown);
                }
            }
            Sdwa1 | Sdwa2 | SdwaC => self.sdwa(shown),
            Dpp1 | Dpp2 | DppC => self.dpp(shown),
            _ => {}
        }
    }

    /// The op_sel bits that the text shows, and their number: gfx9's bits are those of the existing
    /// sources and of the destination.
    fn op_sel_bits(&self) -> (u32, usize) {
        let roles = [Role::Src0, Role::Src1, Role::Src2];
        let has = |role: &&Role| self.insn.row.shape.slot(**role).is_some();
        let sources = roles.iter().filter(has).count();
        if self.insn.generation() != Gen::Gfx9 || sources == 0 {
            return (0, 0);
        }
        (
            self.insn.field(Field::OpSel) & (((1 << sources) - 1) | 8),
            sources,
        )
    }

    fn op_sel(&mut self, shown: &mut Encoder) {
        let (sel, sources) = self.op_sel_bits();
        if sel == 0 {
            return;
        }
        self.out.push_str(modifier::OP_SEL.prefix);
        self.out.push('[');
        for n in 0..sources {
            push_dec(self.out, sel >> n & 1);
            self.out.push(',');
        }
        push_dec(self.out, sel >> 3);
        self.out.push(']');
        shown.set(Field::OpSel, sel);
    }

    /// Returns true if the operands of a VOP3 encoding would be read like those of the 32-bit encoding.
    fn looks_like_e32(&self) -> bool {
        let insn = self.insn;
        if insn.row.format == Format::Vop3 || insn.row.flags.has(Flags::ONLY_E32) {
            return false;
        }
        // Modifiers of constants are ignored: the assembler folds them.
        let sources = [Role::Src0, Role::Src1, Role::Src2];
        let modified = sources.iter().enumerate().any(|(n, &role)| {
            let mods = insn.src_mods(n);
            insn.row.shape.slot(role).is_some()
                && (mods.abs || mods.neg)
                && !insn
                    .code(role)
                    .is_some_and(|c| (operand::INT0..operand::SDWA).contains(&c))
        });
        let modified = modified
            || insn.field(Field::Clamp) != 0
            || insn.field(Field::Omod) != 0
            // The text of an interpolation does not show these.
            || insn.row.format != Format::Vintrp && self.op_sel_bits().0 != 0;
        !modified
            && insn.operands().all(|o| match (o.slot.role, o.value) {
                (Role::Src1, Value::Code(c)) => c >= operand::VGPR0,
                (Role::CmpDst | Role::CarryOut | Role::CarryIn, Value::Code(c)) => c == VCC,
                (Role::Src2, _) => false,
                (Role::Param, Value::Imm(v)) => v < 256,
                _ => true,
            })
    }

    fn sdwa(&mut self, shown: &mut Encoder) {
        let insn = self.insn;
        let one = insn.encoding == Encoding::Sdwa1;
        let none = insn.row.shape.slot(Role::Src0).is_none();
        if insn.generation() == Gen::Gfx8 || insn.encoding != Encoding::SdwaC {
            self.flag(modifier::CLAMP, shown);
        }
        if insn.has_field(Field::Omod) {
            self.omod(shown);
        }
        let mut any = false;
        let compare = insn.encoding == Encoding::SdwaC;
        let present = [!compare && !none, !compare && !none, !none, !one];
        for (m, present) in modifier::SELECTIONS.into_iter().zip(present) {
            let (Some(field), Arg::Select(table), true) = (m.field(), m.arg, present) else {
                continue;
            };
            let v = insn.field(field);
            let default = if field == Field::DstUnused { 0 } else { 6 };
            let Some((llvm, clrx)) = table.get(v as usize) else {
                // A reserved selection: the text has the default, and `bits:` corrects it. LLVM's
                // default keeps the rest of the destination.
                let keeps = field == Field::DstUnused && !self.clrx;
                shown.set(field, if keeps { 2 } else { default });
                continue;
            };
            shown.set(field, v);
            if self.clrx {
                if v == default {
                    continue;
                }
                any = true;
            }
            self.out.push_str(m.prefix);
            self.out.push_str(if self.clrx { clrx } else { llvm });
        }
        if self.clrx && !any {
            self.out.push_str(modifier::SDWA.word);
        }
    }

    fn dpp(&mut self, shown: &mut Encoder) {
        let insn = self.insn;
        let fields = [
            Field::DppCtrl,
            Field::BoundCtrl,
            Field::RowMask,
            Field::BankMask,
        ];
        for field in fields {
            shown.set(field, insn.field(field));
        }
        let [ctrl, bound, row, bank] = fields.map(|f| insn.field(f));
        print_dpp(ctrl, (bank, row), bound != 0, self.clrx, self.out);
    }
}

/// Appends DPP's modifiers: DPP_CTRL, BANK_MASK and ROW_MASK, BOUND_CTRL.
pub(crate) fn print_dpp(
    ctrl: u32,
    (bank, row): (u32, u32),
    bound: bool,
    clrx: bool,
    out: &mut impl Sink,
) {
    let n = ctrl & 15;
    let (name, number): (&str, Option<u32>) = match ctrl {
        0..=0xff => {
            out.push_str(modifier::QUAD_PERM.prefix);
            out.push('[');
            for k in 0..4 {
                if k != 0 {
                    out.push(',');
                }
                push_dec(out, ctrl >> (2 * k) & 3);
            }
            out.push(']');
            ("", None)
        }
        0x101..=0x10f => (modifier::ROW_SHL.prefix, Some(n)),
        0x111..=0x11f => (modifier::ROW_SHR.prefix, Some(n)),
        0x121..=0x12f => (modifier::ROW_ROR.prefix, Some(n)),
        0x130 => (modifier::WAVE_SHL.word, Some(1)),
        0x134 => (modifier::WAVE_ROL.word, Some(1)),
        0x138 => (modifier::WAVE_SHR.word, Some(1)),
        0x13c => (modifier::WAVE_ROR.word, Some(1)),
        0x140 => (modifier::ROW_MIRROR.word, None),
        0x141 => (modifier::ROW_HALF_MIRROR.word, None),
        0x142 if clrx => (modifier::ROW_BCAST15.word, None),
        0x143 if clrx => (modifier::ROW_BCAST31.word, None),
        0x142 => (modifier::ROW_BCAST.prefix, Some(15)),
        0x143 => (modifier::ROW_BCAST.prefix, Some(31)),
        // Reserved: the number is written.
        _ if clrx => {
            out.push_str(modifier::DPPCTRL.prefix);
            push_hex(out, ctrl as u64);
            ("", None)
        }
        _ => (modifier::DPP_CTRL.prefix, Some(ctrl)),
    };
    out.push_str(name);
    if let Some(n) = number {
        let wave = matches!(ctrl, 0x130 | 0x134 | 0x138 | 0x13c);
        if !(wave && clrx) {
            if wave {
                out.push(':');
            }
            push_dec(out, n);
        }
    }
    if clrx {
        if bound {
            out.push_str(modifier::BOUND_CTRL.word);
        }
        out.push_str(modifier::BANK_MASK.prefix);
        push_dec(out, bank);
        out.push_str(modifier::ROW_MASK.prefix);
        push_dec(out, row);
    } else {
        out.push_str(modifier::ROW_MASK.prefix);
        push_hex(out, row as u64);
        out.push_str(modifier::BANK_MASK.prefix);
        push_hex(out, bank as u64);
        if bound {
            out.push_str(modifier::BOUND_CTRL.prefix);
            out.push('1');
        }
    }
}

/// The text before the value of a FLAT, GLOBAL or SCRATCH offset.
pub(crate) fn flat_offset(clrx: bool) -> &'static str {
    match clrx {
        true => modifier::INST_OFFSET.prefix,
        false => modifier::OFFSET.prefix,
    }
}

/// The default of op_sel_hi if the text does not give it, one bit for each of three sources: all bits are set, also that of
/// a missing third source. Only v_mad_mix_f32 and related instructions have no bit set in LLVM's syntax.
pub fn packed_default(mods: Mods, clrx: bool) -> u32 {
    match (clrx, mods) {
        (false, Mods::Mix) => 0,
        _ => 7,
    }
}

/// LLVM's suffix for the encoding.
pub(crate) fn suffix(insn: &Insn) -> &'static str {
    if insn.row.flags.has(Flags::ONLY_E32) {
        return "";
    }
    match (insn.row.format, insn.encoding) {
        // If there are no operands, LLVM's text names only VOP3. The text then assembles back to the same encoding.
        (Format::Vop1, Encoding::Vop1 | Encoding::Dpp1) if insn.row.shape.slots.is_empty() => "",
        // LLVM's text names no encoding for gfx8's compares; the selections determine it.
        (Format::Vopc, Encoding::SdwaC)
            if insn.generation() == Gen::Gfx8
                && insn.field(Field::Src0Sel) & insn.field(Field::Src1Sel) != 7 =>
        {
            ""
        }
        (_, Encoding::Sdwa1 | Encoding::Sdwa2 | Encoding::SdwaC) => "_sdwa",
        (_, Encoding::Dpp1 | Encoding::Dpp2 | Encoding::DppC) => "_dpp",
        (
            Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vintrp,
            Encoding::Vop3 | Encoding::Vop3b,
        ) => "_e64",
        (Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vintrp, _) => "_e32",
        _ => "",
    }
}
