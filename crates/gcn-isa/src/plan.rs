//! Fast printing: how an instruction is printed is determined once, at its first use, and cached.
//!
//! A `Plan` holds the common parts of the text of one row in one encoding: the mnemonic, the positions of the
//! operands' codes, and the bits that the text shows. [`crate::print`] is the general printer: it defines
//! the text, prints instructions without a plan, and writes the tokens that plans combine.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::decode::{Form, Insn};
use crate::format::{Encoding, Field, Format};
use crate::inst::NO;
use crate::modifier::{self, Arg, Modifier, Sets};
use crate::names;
use crate::operand::{self, VCC, VGPR0};
use crate::print::{self, Style, Syntax};
use crate::shape::{Access, Imm, Mods, Role, Slot, Ty};
use crate::target::{Gen, Target};
use crate::text::{Line, Piece, Text};

/// The plans of a target's instructions in one syntax. Printing with them gives the same text as
/// [`print::print`].
pub struct Plans {
    target: Target,
    style: Style,
    clrx: bool,
    /// By row and encoding: [`UNKNOWN`], [`GENERAL`], or the plan's index plus two.
    known: Vec<u16>,
    plans: Vec<Plan>,
    /// Indexed as the plans are.
    details: Vec<Detail>,
    /// Tokens: an empty one, then 512 for each of `tables`.
    tokens: Vec<Token>,
    tables: Vec<Table>,
    long: Vec<Piece<32>>,
    items: Vec<Item>,
    /// The text that modifiers put around a source: bit 0 abs, 1 neg, 2 sext, 3 the source is a constant.
    around: [(Piece<16>, Piece<8>); 16],
    /// SDWA's selections by field (DST_SEL, DST_UNUSED, SRC0_SEL, SRC1_SEL) and value.
    selections: [[Piece<32>; 8]; 4],
    /// DPP_CTRL by value; then BANK_MASK with ROW_MASK. Built at the first use.
    dpp_ctrl: Vec<Piece<32>>,
    dpp_masks: Vec<Piece<32>>,
}

const UNKNOWN: u16 = 0;
const GENERAL: u16 = 1;

/// The text of an operand code followed by `, `: 14 bytes at most. The byte after the text holds flags, [`Token::LITERAL`] and
/// the others; the last byte holds the length. A token is copied as a whole.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Token([u8; 16]);

/// The decimal digits of each number, and their count.
static DECIMAL: [[u8; 4]; 256] = {
    let mut table = [[0; 4]; 256];
    let mut n = 0;
    while n < 256 {
        let all = [n / 100, n / 10 % 10, n % 10];
        let zeros = if n < 10 { 2 } else { (n < 100) as usize };
        let mut k = zeros;
        while k < 3 {
            table[n][k - zeros] = b'0' + all[k] as u8;
            k += 1;
        }
        table[n][3] = 3 - zeros as u8;
        n += 1;
    }
    table
};

impl Token {
    /// The text depends on the literal.
    const LITERAL: u8 = 1;
    /// The text is too long for a token; the first two bytes hold its index in `Plans::long`.
    const LONG: u8 = 2;
    /// An inline constant or a literal.
    const CONSTANT: u8 = 4;

    const EMPTY: Token = Token([0; 16]);

    /// Returns `None` if `text` is too long.
    fn new(text: &str) -> Option<Token> {
        let mut token = Token::EMPTY;
        token.0[..14]
            .get_mut(..text.len())?
            .copy_from_slice(text.as_bytes());
        token.0[15] = text.len() as u8;
        Some(token)
    }

    /// The token of a numbered SGPR or VGPR, or of a tuple of them.
    #[inline]
    fn numbered(letter: u8, first: u16, dwords: u16) -> Token {
        let (mut text, mut len) = (u128::from(letter), 1);
        let mut push = |more: u32, count: u32| {
            text |= u128::from(more) << (8 * len);
            len += count;
        };
        let digits = |n: u16| {
            let [text @ .., count] = DECIMAL[n as usize & 0xff];
            (u32::from_le_bytes([text[0], text[1], text[2], 0]), count)
        };
        let (number, count) = digits(first);
        if dwords == 1 {
            push(number, count.into());
        } else {
            push(b'['.into(), 1);
            push(number, count.into());
            push(b':'.into(), 1);
            let (number, count) = digits(first + dwords - 1);
            push(number, count.into());
            push(b']'.into(), 1);
        }
        push(u16::from_le_bytes(*b", ").into(), 2);
        let mut token = Token(text.to_le_bytes());
        token.0[15] = len as u8;
        token
    }

    /// A token that refers to a text in `Plans::long`.
    fn long(index: usize) -> Token {
        let mut token = Token::EMPTY;
        token.0[..2].copy_from_slice(&(index as u16).to_le_bytes());
        token.0[14] = Token::LONG;
        token
    }

    /// The index in `Plans::long`.
    fn index(&self) -> usize {
        u16::from_le_bytes([self.0[0], self.0[1]]) as usize
    }

    #[inline(always)]
    fn has(&self, flag: u8) -> bool {
        self.0[14] & flag != 0
    }

    #[inline(always)]
    fn write(&self, line: &mut Line) {
        line.copy(&self.0, self.0[15] as usize);
    }
}

/// The properties on which the text of a code depends.
#[derive(Clone, Copy, PartialEq)]
struct Table {
    dwords: u16,
    /// A 16-bit integer, for which inline floats are not printed.
    short: bool,
    /// A destination, which cannot be a constant.
    written: bool,
    /// 0x7f is `off`.
    saddr: bool,
    /// A literal may follow.
    literal: bool,
}

/// The token of an operand.
#[derive(Clone, Copy)]
struct Take {
    /// The index of the token for a field of zeros.
    base: u16,
    /// The field: the number of bits to rotate to the right, then the mask.
    mask: u16,
    rotate: u8,
}

/// The other properties of an operand.
#[derive(Clone, Copy)]
struct Operand {
    take: Take,
    kind: Kind,
    /// The base if the operand may have another width.
    other: u16,
    /// The bits of abs, neg and sext; [`NO_BIT`] if there are none.
    mods: [u8; 3],
    ty: Ty,
}

const NO_BIT: u8 = 255;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A code, printed as a token.
    Code,
    /// SDWA's sources on gfx9: this bit marks a scalar source.
    Scalar(u8),
    /// SDWA's compares on gfx9: VCC, or SDST.
    CmpDst,
    /// Present with GLC.
    IfGlc,
    BufAddr,
    /// One VGPR with SADDR, otherwise two.
    GlobalAddr,
    /// Absent with SADDR.
    ScratchAddr,
    Soff,
    Imm(Imm),
    K,
}

/// The text after the operands.
#[derive(Clone, Copy, PartialEq)]
enum Tail {
    Items,
    Sdwa,
    Dpp,
}

/// A modifier that is written if its bits are not 0.
#[derive(Clone, Copy)]
struct Item {
    kind: ItemKind,
    rotate: u8,
    mask: u32,
    text: Piece<16>,
}

#[derive(Clone, Copy)]
enum ItemKind {
    Flag,
    Number,
    Signed13,
    Omod,
    /// For this number of sources.
    OpSel(u8),
}

const TAKES: usize = 6;

/// The number of operands that the fast path writes, whether they exist or not.
const STRAIGHT: usize = 4;

/// The data for the text of most instructions: two cache lines.
#[repr(C, align(64))]
struct Plan {
    mnemonic: Piece<32>,
    count: u8,
    /// The length of the separator at the end of the plain text.
    separator: u8,
    /// All operands are plain codes and there are at most [`STRAIGHT`].
    straight: bool,
    tail: Tail,
    /// True if `Detail::e32` is used.
    e32: bool,
    takes: [Take; STRAIGHT],
    /// The bits that put text around a source.
    around: u64,
    /// The bits that the text does not show, and the values that the text implies for them.
    hidden: u64,
    default: u64,
    /// The bits that make the text have a modifier; the text of SDWA and DPP always has some.
    shown: u64,
    /// If any of these bits differs from `usual`, the text is more than the mnemonic and plain codes.
    special: u64,
    usual: u64,
}

/// The data for the text of the remaining instructions.
struct Detail {
    operands: [Operand; TAKES],
    /// The index of the first item in `Plans::items`, and the number of items.
    items: (u16, u8),
    /// CLRX's `vop3` is written if the bits selected by the mask have this value.
    e32: Option<(u64, u64)>,
}

impl Plans {
    /// An empty cache of plans.
    pub fn new(target: Target, style: Style) -> Plans {
        let clrx = style.syntax == Syntax::Clrx;
        Plans {
            target,
            style,
            clrx,
            known: vec![UNKNOWN; Insn::forms()],
            plans: Vec::new(),
            details: Vec::new(),
            tokens: vec![Token::EMPTY],
            tables: Vec::new(),
            long: Vec::new(),
            items: Vec::new(),
            around: core::array::from_fn(|mods| around(mods, clrx)),
            selections: selections(clrx),
            dpp_ctrl: Vec::new(),
            dpp_masks: Vec::new(),
        }
    }

    /// Appends the instruction's text to `out`. The target of a branch is written as `label`, or
    /// as its SIMM16 if there is no label.
    #[inline]
    pub fn print(&mut self, insn: &Insn, label: Option<&str>, out: &mut Text) {
        if insn.target == self.target
            && let Some(n) = self.plan(insn)
            && let Some(plan) = self.plans.get(n)
            && let Some(mut line) = out.line()
            && (self.write_plain(plan, insn, &mut line)
                || self.write(n, insn, label, &mut line).is_some() && line.fits())
        {
            let len = line.at;
            return out.advance(len);
        }
        self.print_general(insn, label, out);
    }

    #[cold]
    #[inline(never)]
    fn print_general(&self, insn: &Insn, label: Option<&str>, out: &mut Text) {
        match label {
            Some(label) => print::print_with_label(insn, &self.style, label, out),
            None => print::print(insn, &self.style, out),
        }
    }

    /// The index of an instruction's plan, if it has one.
    #[inline(always)]
    fn plan(&mut self, insn: &Insn) -> Option<usize> {
        match *self.known.get(insn.form as usize)? {
            UNKNOWN => self.learn(insn),
            n => (n as usize).checked_sub(2),
        }
    }

    /// Writes the text if it consists of the mnemonic and plain codes, as most instructions' text does.
    #[inline(always)]
    fn write_plain(&self, plan: &Plan, insn: &Insn, line: &mut Line) -> bool {
        let bits = insn.bits;
        if (bits ^ plan.usual) & plan.special != 0 {
            return false;
        }
        line.piece(&plan.mnemonic);
        let mut flags = 0;
        for take in &plan.takes {
            let Some(token) = self.token(take, bits) else {
                return false;
            };
            token.write(line);
            flags |= token.0[14];
        }
        // The last separator.
        line.at -= plan.separator as usize;
        flags & (Token::LITERAL | Token::LONG) == 0
    }

    #[cold]
    #[inline(never)]
    fn learn(&mut self, insn: &Insn) -> Option<usize> {
        let at = insn.form as usize;
        // A plan covers only one of several opcodes.
        if tells_no_encoding(insn) || insn.row.also_read != NO {
            return None;
        }
        let n = self.plans.len();
        match self.make(insn) {
            Some((plan, detail)) => {
                self.plans.push(plan);
                self.details.push(detail);
                self.known[at] = n as u16 + 2;
                Some(n)
            }
            None => {
                self.known[at] = GENERAL;
                None
            }
        }
    }

    /// Writes the text by its plan. Returns `None` if the general printer must write it.
    fn write(&self, n: usize, insn: &Insn, label: Option<&str>, line: &mut Line) -> Option<()> {
        let (plan, detail) = (self.plans.get(n)?, self.details.get(n)?);
        let bits = insn.bits;
        let mut hidden = (bits ^ plan.default) & plan.hidden;
        line.at = 0;
        line.piece(&plan.mnemonic);
        let first = line.at;
        let mut flags = Token::LITERAL;
        if plan.straight && bits & plan.around == 0 {
            flags = 0;
            for take in &plan.takes {
                let token = self.token(take, bits)?;
                token.write(line);
                flags |= token.0[14];
            }
        }
        if flags & (Token::LITERAL | Token::LONG) != 0 {
            line.at = first;
            for operand in detail.operands.get(..plan.count as usize)? {
                self.operand(operand, insn, label, line, &mut hidden)?;
            }
        }
        // The last separator: `, ` after an operand or the space after the mnemonic.
        if plan.count != 0 {
            line.at -= if line.at == first { 1 } else { 2 };
        }
        match plan.tail {
            Tail::Items if bits & plan.shown == 0 => {}
            Tail::Items => self.modifiers(detail, bits, line),
            Tail::Sdwa => self.sdwa((plan, detail), insn, line, &mut hidden)?,
            Tail::Dpp => self.dpp(insn, line)?,
        }
        if plan.e32
            && let Some((mask, value)) = detail.e32
            && bits & mask == value
            && !(bits & plan.around != 0 && changes_a_register(detail, bits))
        {
            line.text(modifier::VOP3.word);
        }
        if hidden != 0 {
            if self.clrx {
                // CLRX's text names the ignored fields.
                return None;
            }
            line.copy(b" bits:\0\0", 6);
            line.hex(hidden);
        }
        Some(())
    }

    #[inline(always)]
    fn token(&self, take: &Take, bits: u64) -> Option<&Token> {
        let code = bits.rotate_right(take.rotate as u32) as u16 & take.mask;
        self.tokens.get(take.base as usize + code as usize)
    }

    /// Writes one operand of any kind, with its separator.
    #[inline]
    fn operand(
        &self,
        operand: &Operand,
        insn: &Insn,
        label: Option<&str>,
        line: &mut Line,
        hidden: &mut u64,
    ) -> Option<()> {
        let bits = insn.bits;
        let take = &operand.take;
        let code = (bits.rotate_right(take.rotate as u32) as u16 & take.mask) as usize;
        let base = take.base as usize;
        let absent = |hidden: &mut u64| {
            *hidden |= bits & (take.mask as u64).rotate_left(take.rotate as u32);
        };
        let off = |line: &mut Line| line.copy(b"off, \0\0\0", 5);
        let at = match operand.kind {
            Kind::Code => base + code,
            Kind::Scalar(bit) if bits >> bit & 1 != 0 => base + code,
            Kind::Scalar(_) => base + VGPR0 as usize + code,
            Kind::CmpDst => {
                let own = insn.field(Field::Sd) != 0;
                if !own || code == VCC as usize {
                    absent(hidden);
                    // The bit that selects the register is shown only by the register's name.
                    *hidden |= if own { bits & SD } else { 0 };
                    base + VCC as usize
                } else {
                    base + code
                }
            }
            Kind::IfGlc => {
                if insn.field(Field::Glc) == 0 {
                    absent(hidden);
                    return Some(());
                }
                base + code
            }
            Kind::BufAddr => match insn.buffer_address_dwords() {
                // CLRX's text names the ignored register.
                0 if self.clrx => base + code,
                0 => {
                    absent(hidden);
                    off(line);
                    return Some(());
                }
                1 => base + code,
                _ => operand.other as usize + code,
            },
            Kind::GlobalAddr if insn.field(Field::Saddr) == 0x7f => base + code,
            Kind::GlobalAddr => operand.other as usize + code,
            Kind::ScratchAddr if insn.field(Field::Saddr) == 0x7f => base + code,
            Kind::ScratchAddr => {
                absent(hidden);
                off(line);
                return Some(());
            }
            Kind::Soff => return self.smem_offset(take, insn, line, hidden),
            Kind::Imm(kind) => {
                self.immediate(kind, code as u32, insn.generation(), label, line, hidden)?;
                return Some(());
            }
            Kind::K => {
                line.hex(insn.literal as u64);
                line.copy(b", ", 2);
                return Some(());
            }
        };
        let token = self.tokens.get(at)?;
        let bit = |n: usize| bits.unbounded_shr(operand.mods[n] as u32) as usize & 1;
        let mods = bit(0) | bit(1) << 1 | bit(2) << 2;
        let constant = token.has(Token::CONSTANT) as usize;
        let (before, after) = &self.around[mods | constant << 3];
        if mods != 0 {
            line.piece(before);
        }
        if token.has(Token::LITERAL) {
            if insn.len == insn.layout.bytes {
                return None;
            }
            self.literal(insn.literal, operand.ty, line);
        } else if token.has(Token::LONG) {
            line.piece(self.long.get(token.index())?);
        } else {
            token.write(line);
        }
        if mods != 0 {
            line.at -= 2;
            line.piece(after);
        }
        Some(())
    }

    /// Writes a literal, wrapped if its text would assemble to another constant.
    #[inline]
    fn literal(&self, v: u32, ty: Ty, line: &mut Line) {
        if self.clrx {
            let small = v as i32;
            if (-16..=64).contains(&small) {
                line.copy(b"lit(", 4);
                if small < 0 {
                    line.copy(b"-", 1);
                }
                line.dec(small.unsigned_abs());
                line.copy(b"), \0", 3);
            } else {
                line.hex(v as u64);
                line.copy(b", ", 2);
            }
            return;
        }
        // Inline constants are small integers and floats with few bits set.
        let maybe = match ty.bits() {
            16 => true,
            _ => v.wrapping_add(16) <= 80 || v & 0xffff == 0 || v & 0xffff == 0xf983,
        };
        let inline =
            maybe && operand::inline_code(v as u64, ty, self.target.generation()).is_some();
        if inline || ty.bits() == 16 && v > 0xffff {
            line.copy(b"lit(", 4);
            line.hex(v as u64);
            line.copy(b"), \0", 3);
        } else {
            line.hex(v as u64);
            line.copy(b", ", 2);
        }
    }

    fn smem_offset(
        &self,
        take: &Take,
        insn: &Insn,
        line: &mut Line,
        hidden: &mut u64,
    ) -> Option<()> {
        let generation = insn.generation();
        let raw = insn.field(Field::Offset);
        if insn.field(Field::Imm) != 0 {
            if insn.field(Field::SoffsetEn) != 0 {
                return None;
            }
            let mut v = raw;
            if generation == Gen::Gfx9 {
                // 21 bits, signed.
                let signed = ((raw << 11) as i32) >> 11;
                if signed < 0 {
                    line.copy(b"-", 1);
                }
                v = signed.unsigned_abs();
            }
            line.hex(v as u64);
            line.copy(b", ", 2);
            return Some(());
        }
        let mut code = raw;
        if generation >= Gen::Gfx8 {
            if insn.field(Field::SoffsetEn) != 0 {
                return None;
            }
            code &= 0x7f;
            *hidden |= ((raw ^ code) as u64) << 32;
        } else if code >= operand::INT0 as u32 {
            return None;
        }
        let token = self.tokens.get(take.base as usize + code as usize)?;
        if token.has(Token::LONG) {
            return None;
        }
        token.write(line);
        Some(())
    }

    #[inline]
    fn immediate(
        &self,
        kind: Imm,
        v: u32,
        generation: Gen,
        label: Option<&str>,
        line: &mut Line,
        hidden: &mut u64,
    ) -> Option<()> {
        match kind {
            Imm::U16 if !self.clrx && v <= 64 => line.dec(v),
            Imm::U16 | Imm::Hex16 => line.hex(v as u64),
            Imm::Optional if v == 0 => return Some(()),
            Imm::Optional if self.clrx => line.hex(v as u64),
            Imm::Optional => line.dec(v),
            Imm::Branch => match label {
                // A long label does not fit the line buffer.
                Some(label) if label.len() > 64 => return None,
                Some(label) => line.text(label),
                None if self.clrx => {
                    let (sign, bytes) = crate::print::branch_from_here(v as u16);
                    line.text(sign);
                    line.dec(bytes);
                }
                None => line.dec(v),
            },
            Imm::Waitcnt => self.waitcnt(v, generation, line, hidden),
            _ => return None,
        }
        line.copy(b", ", 2);
        Some(())
    }

    fn waitcnt(&self, v: u32, generation: Gen, line: &mut Line, hidden: &mut u64) {
        let w = names::waitcnt(v, generation);
        let all = [w.vm, w.exp, w.lgkm].iter().all(|(v, max)| v == max);
        let start = line.at;
        for (name, (v, max)) in [
            (b"vmcnt(\0\0", w.vm),
            (b"expcnt(\0", w.exp),
            (b"lgkmcnt(", w.lgkm),
        ] {
            if v == max && !all {
                continue;
            }
            if line.at != start {
                line.text(if self.clrx { " & " } else { " " });
            }
            line.copy(
                name,
                if name[6] == 0 {
                    6
                } else {
                    7 + (name[7] != 0) as usize
                },
            );
            line.dec(v);
            line.copy(b")", 1);
        }
        if w.spare != 0 {
            if self.clrx {
                line.text(" :");
                line.hex(v as u64);
            } else {
                *hidden |= w.spare as u64;
            }
        }
    }

    #[inline]
    fn modifiers(&self, detail: &Detail, bits: u64, line: &mut Line) {
        let (first, count) = detail.items;
        let all = first as usize..first as usize + count as usize;
        for item in self.items.get(all).unwrap_or_default() {
            let v = bits.rotate_right(item.rotate as u32) as u32 & item.mask;
            if v == 0 {
                continue;
            }
            match item.kind {
                ItemKind::Flag => line.piece(&item.text),
                ItemKind::Number => {
                    line.piece(&item.text);
                    line.dec(v);
                }
                ItemKind::Signed13 => {
                    line.piece(&item.text);
                    let signed = ((v << 19) as i32) >> 19;
                    if signed < 0 {
                        line.copy(b"-", 1);
                    }
                    line.dec(signed.unsigned_abs());
                }
                ItemKind::Omod => omod(v, line),
                ItemKind::OpSel(sources) => {
                    line.copy(b" op_sel:[", 9);
                    for n in 0..sources {
                        line.copy(&[b'0' + (v >> n & 1) as u8, b','], 2);
                    }
                    line.copy(&[b'0' + (v >> 3 & 1) as u8, b']'], 2);
                }
            }
        }
    }

    #[inline]
    fn sdwa(
        &self,
        (plan, detail): (&Plan, &Detail),
        insn: &Insn,
        line: &mut Line,
        hidden: &mut u64,
    ) -> Option<()> {
        if tells_no_encoding(insn) {
            return None;
        }
        self.modifiers(detail, insn.bits, line);
        let start = line.at;
        for (n, (field, lo)) in SELECTIONS.into_iter().enumerate() {
            // The first items are clamp and omod; the bits of the existing selections follow.
            if plan.shown >> lo & 1 == 0 {
                continue;
            }
            let v = (insn.bits >> lo) as usize & if n == 1 { 3 } else { 7 };
            let piece = &self.selections[n][v];
            line.piece(piece);
            let default = match field {
                Field::DstUnused if self.clrx => 0,
                Field::DstUnused => 2,
                _ => 6,
            };
            let reserved = v == if n == 1 { 3 } else { 7 };
            *hidden |= if reserved {
                (v as u64 ^ default) << lo
            } else {
                0
            };
        }
        if self.clrx && line.at == start {
            line.text(modifier::SDWA.word);
        }
        Some(())
    }

    #[inline]
    fn dpp(&self, insn: &Insn, line: &mut Line) -> Option<()> {
        let ctrl = insn.field(Field::DppCtrl);
        let masks = insn.bits >> 56;
        let bound = insn.field(Field::BoundCtrl) != 0;
        line.piece(self.dpp_ctrl.get(ctrl as usize)?);
        if bound && self.clrx {
            line.copy(b" bound_ctrl\0\0\0\0\0", 11);
        }
        line.piece(self.dpp_masks.get(masks as usize)?);
        if bound && !self.clrx {
            line.copy(b" bound_ctrl:1\0\0\0", 13);
        }
        Some(())
    }
}

/// SDWA's SD bit on gfx9.
const SD: u64 = 1 << 47;

/// The fields of SDWA's selections in the order of the text, with the position of each.
const SELECTIONS: [(Field, u8); 4] = [
    (Field::DstSel, 40),
    (Field::DstUnused, 43),
    (Field::Src0Sel, 48),
    (Field::Src1Sel, 56),
];

/// Returns true if it is one of gfx8's SDWA compares whose mnemonic has a different suffix.
fn tells_no_encoding(insn: &Insn) -> bool {
    insn.encoding == Encoding::SdwaC
        && insn.generation() == Gen::Gfx8
        && insn.field(Field::Src0Sel) & insn.field(Field::Src1Sel) == 7
}

/// Returns true if abs or neg applies to a source that is not an inline constant.
fn changes_a_register(detail: &Detail, bits: u64) -> bool {
    detail.operands.iter().any(|operand| {
        let modified = (operand.mods.iter()).any(|at| bits.unbounded_shr(*at as u32) & 1 != 0);
        let take = &operand.take;
        let code = bits.rotate_right(take.rotate as u32) as u16 & take.mask;
        modified && !(operand::INT0..operand::SDWA).contains(&code)
    })
}

fn omod(v: u32, line: &mut Line) {
    line.copy(
        [
            b"\0\0\0\0\0\0\0\0",
            b" mul:2\0\0",
            b" mul:4\0\0",
            b" div:2\0\0",
        ][v as usize & 3],
        6,
    );
}

/// The text that modifiers put around a source: see `Plans::around`.
fn around(mods: usize, clrx: bool) -> (Piece<16>, Piece<8>) {
    let (abs, neg, sext) = (mods & 1 != 0, mods & 2 != 0, mods & 4 != 0);
    let call = neg && !abs && !sext && mods & 8 != 0;
    let mut before = String::new();
    let mut after = String::new();
    if neg {
        before.push_str(if call { "neg(" } else { "-" });
    }
    if sext {
        before.push_str("sext(");
    }
    if abs {
        before.push_str(if clrx { "abs(" } else { "|" });
        after.push_str(if clrx { ")" } else { "|" });
    }
    if sext || call {
        after.push(')');
    }
    after.push_str(", ");
    (piece(&before), piece(&after))
}

fn selections(clrx: bool) -> [[Piece<32>; 8]; 4] {
    modifier::SELECTIONS.map(|m| {
        let Arg::Select(table) = m.arg else {
            return [Piece::EMPTY; 8];
        };
        let default = if m.sets == modifier::DST_UNUSED.sets {
            0
        } else {
            6
        };
        core::array::from_fn(|v| match table.get(v) {
            Some((llvm, clrx_name)) if !clrx || v != default => {
                let mut text = String::from(m.prefix);
                text.push_str(if clrx { clrx_name } else { llvm });
                piece(&text)
            }
            _ => Piece::EMPTY,
        })
    })
}

/// A text of this module, which is known to fit.
fn piece<const N: usize>(text: &str) -> Piece<N> {
    Piece::new(text).unwrap_or(Piece::EMPTY)
}

// Construction of plans.

impl Plans {
    /// Returns `None` if the general printer must write the instruction.
    fn make(&mut self, insn: &Insn) -> Option<(Plan, Detail)> {
        let row = insn.row;
        let mut mnemonic = String::from(if self.clrx {
            row.clrx.unwrap_or(row.name)
        } else {
            row.name
        });
        if !self.clrx {
            mnemonic.push_str(print::suffix(insn));
        }
        let slots = row.shape.slots;
        if !slots.is_empty() {
            mnemonic.push(' ');
        }
        let nothing = Take {
            base: 0,
            mask: 0,
            rotate: 0,
        };
        let empty = Operand {
            take: nothing,
            kind: Kind::Code,
            other: 0,
            mods: [NO_BIT; 3],
            ty: Ty::B32,
        };
        let mut plan = Plan {
            mnemonic: Piece::new(&mnemonic)?,
            count: slots.len() as u8,
            separator: if slots.is_empty() { 0 } else { 2 },
            straight: slots.len() <= STRAIGHT,
            tail: Tail::Items,
            e32: false,
            takes: [nothing; STRAIGHT],
            around: 0,
            hidden: 0,
            default: 0,
            shown: 0,
            special: 0,
            usual: 0,
        };
        let mut detail = Detail {
            operands: [empty; TAKES],
            items: (self.items.len() as u16, 0),
            e32: None,
        };
        let mut visible = insn.layout.name;
        for (n, slot) in slots.iter().enumerate() {
            let operand = self.take(insn, slot, &mut visible)?;
            plan.straight &= operand.kind == Kind::Code;
            for bit in operand.mods {
                plan.around |= 1u64.unbounded_shl(bit as u32);
            }
            if let Some(take) = plan.takes.get_mut(n) {
                *take = operand.take;
            }
            *detail.operands.get_mut(n)? = operand;
        }
        visible |= plan.around;
        self.tail(insn, &mut plan, &mut detail)?;
        visible |= plan.shown;
        if plan.tail == Tail::Dpp {
            visible |= bits_of(insn, &[Field::DppCtrl, Field::BoundCtrl]);
            visible |= bits_of(insn, &[Field::RowMask, Field::BankMask]);
        }
        if matches!(row.format, Format::Global | Format::Scratch) {
            plan.default = bits_of(insn, &[Field::Saddr]);
        }
        let all = if insn.layout.bytes == 4 {
            u32::MAX as u64
        } else {
            u64::MAX
        };
        plan.hidden = all & !visible;
        if self.clrx && insn.form as u8 & 3 == Form::VOP3 {
            detail.e32 = looks_like_e32(insn, plan.shown);
            plan.e32 = detail.e32.is_some();
        }
        if plan.straight && plan.tail == Tail::Items && !plan.e32 {
            plan.special = plan.around | plan.shown | plan.hidden;
            plan.usual = plan.default & plan.hidden;
        } else {
            // All instructions of the plan have the same bits as this one where the bits name the instruction.
            plan.special = insn.layout.name;
            plan.usual = !insn.bits;
        }
        Some((plan, detail))
    }

    /// Determines how an operand is read; adds the bits that its text shows to `visible`.
    fn take(&mut self, insn: &Insn, slot: &'static Slot, visible: &mut u64) -> Option<Operand> {
        use Encoding::*;
        let (encoding, format) = (insn.encoding, insn.row.format);
        let mut kind = Kind::Code;
        let mut saddr = false;
        // The field, the factor of its value and the number added to it.
        let (field, times, plus) = match slot.role {
            Role::Sdst | Role::SsrcK | Role::Sdata => (Field::Sdst, 1, 0),
            Role::Ssrc0 => (Field::Ssrc0, 1, 0),
            Role::Ssrc1 => (Field::Ssrc1, 1, 0),
            Role::Vdst => (Field::Vdst, 1, VGPR0),
            Role::VdstIfGlc => {
                kind = Kind::IfGlc;
                (Field::Vdst, 1, VGPR0)
            }
            Role::SdstV => (Field::Vdst, 1, 0),
            Role::Src0 | Role::Src1 => {
                let first = slot.role == Role::Src0;
                let (field, scalar) = if first {
                    (Field::Src0, Field::S0)
                } else {
                    (Field::Src1, Field::S1)
                };
                match encoding {
                    Sdwa1 | Sdwa2 | SdwaC if insn.has_field(scalar) => {
                        kind = Kind::Scalar(insn.layout.field(scalar).lo);
                        *visible |= bits_of(insn, &[scalar]);
                        (field, 1, 0)
                    }
                    Sdwa1 | Sdwa2 | SdwaC | Dpp1 | Dpp2 | DppC => (field, 1, VGPR0),
                    Vop3 | Vop3b => (field, 1, 0),
                    Vop1 | Vop2 | Vopc => (field, 1, if first { 0 } else { VGPR0 }),
                    _ => return None,
                }
            }
            Role::LaneSel => (Field::Src1, 1, 0),
            Role::Src2 => (Field::Src2, 1, 0),
            Role::CmpDst if encoding == Vop3 => (Field::Vdst, 1, 0),
            Role::CmpDst if encoding == SdwaC && insn.has_field(Field::Sd) => {
                kind = Kind::CmpDst;
                *visible |= bits_of(insn, &[Field::Sd]);
                (Field::Sdst, 1, 0)
            }
            Role::CarryOut if encoding == Vop3b => (Field::Sdst, 1, 0),
            Role::CarryIn if matches!(encoding, Vop3 | Vop3b) => (Field::Src2, 1, 0),
            Role::CmpDst | Role::CarryOut | Role::CarryIn => (Field::Op, 0, VCC),
            Role::Sbase => (Field::Sbase, 2, 0),
            Role::Srsrc => (Field::Srsrc, 4, 0),
            Role::DsAddr => (Field::Addr, 1, VGPR0),
            Role::FlatAddr => {
                kind = match format {
                    Format::Flat => Kind::Code,
                    Format::Global => Kind::GlobalAddr,
                    Format::Scratch => Kind::ScratchAddr,
                    _ => return None,
                };
                (Field::Addr, 1, VGPR0)
            }
            Role::Data0 => (Field::Data0, 1, VGPR0),
            Role::Data1 => (Field::Data1, 1, VGPR0),
            Role::Vdata => (Field::Vdata, 1, VGPR0),
            Role::BufAddr => {
                kind = Kind::BufAddr;
                (Field::Vaddr, 1, VGPR0)
            }
            Role::Soffset => (Field::Soffset, 1, 0),
            Role::Saddr if insn.has_field(Field::Saddr) => {
                saddr = true;
                (Field::Saddr, 1, 0)
            }
            Role::Soff => {
                kind = Kind::Soff;
                *visible |= bits_of(insn, &[Field::Imm]);
                (Field::Offset, 1, 0)
            }
            Role::Imm(
                imm @ (Imm::U16 | Imm::Hex16 | Imm::Optional | Imm::Branch | Imm::Waitcnt),
            ) => {
                kind = Kind::Imm(imm);
                (Field::Simm16, 1, 0)
            }
            Role::K if encoding == Vop2 => {
                kind = Kind::K;
                (Field::Op, 0, 0)
            }
            _ => return None,
        };
        let at = insn.layout.field(field);
        if times != 0 {
            if at.len == 0 {
                return None;
            }
            *visible |= bits_of(insn, &[field]);
        }
        let dwords = match kind {
            Kind::BufAddr | Kind::Soff => 1,
            _ => slot.ty.dwords() as u16,
        };
        // Only a field of more than seven bits can hold the code of a constant.
        let written = slot.access == Access::Write && plus == 0 && at.len > 7;
        let mut table = Table {
            dwords,
            short: matches!(slot.ty, Ty::I16 | Ty::U16) && encoding != Vop3p,
            written,
            saddr,
            literal: insn.layout.bytes == 4 && at.len > 7 && !written,
        };
        let tokens = !matches!(kind, Kind::Imm(_) | Kind::K);
        let base = if tokens {
            self.table(insn, table)? + plus
        } else {
            0
        };
        let mut other = 0;
        if matches!(kind, Kind::BufAddr | Kind::GlobalAddr) {
            table.dwords = if kind == Kind::BufAddr { 2 } else { 1 };
            other = self.table(insn, table)? + plus;
        }
        let shift: u32 = match times {
            0 | 1 => 0,
            2 => 1,
            _ => 2,
        };
        let mask = if times == 0 {
            0
        } else {
            (((1u32 << at.len) - 1) << shift) as u16
        };
        Some(Operand {
            take: Take {
                base,
                mask,
                rotate: ((at.lo as u32).wrapping_sub(shift) % 64) as u8,
            },
            kind,
            other,
            mods: source_mods(insn, slot, self.clrx),
            ty: insn.row.shape.literal_ty(slot.ty),
        })
    }

    /// The index of the first token of a table.
    fn table(&mut self, insn: &Insn, table: Table) -> Option<u16> {
        let n = match self.tables.iter().position(|t| *t == table) {
            Some(n) => n,
            None => {
                self.tables.push(table);
                let start = self.tokens.len();
                self.tokens.resize(start + 512, Token::EMPTY);
                let (sgprs, vgprs) = match table.dwords {
                    0 => (0, 0),
                    n => (insn.generation().sgprs() + 1 - n, 257 - n),
                };
                // Most codes are numbered registers, whose text is known without the printer.
                for (letter, from, count) in [(b's', 0, sgprs), (b'v', VGPR0, vgprs)] {
                    let numbered = &mut self.tokens[start + from as usize..];
                    for (n, token) in (0..count).zip(numbered) {
                        *token = Token::numbered(letter, n, table.dwords);
                    }
                }
                let mut text = String::with_capacity(32);
                for code in (sgprs..VGPR0).chain(VGPR0 + vgprs..512) {
                    self.tokens[start + code as usize] = self.code(insn, table, code, &mut text);
                }
                self.tables.len() - 1
            }
        };
        u16::try_from(1 + 512 * n).ok().filter(|n| *n < 0xfe00)
    }

    fn code(&mut self, insn: &Insn, table: Table, code: u16, text: &mut String) -> Token {
        let constant = if print::is_constant(code, insn.generation()) {
            Token::CONSTANT
        } else {
            0
        };
        if code == operand::LITERAL && table.literal {
            let mut token = Token::EMPTY;
            token.0[14] = Token::LITERAL | constant;
            return token;
        }
        let ty = if table.short { Ty::I16 } else { Ty::B32 };
        text.clear();
        if table.saddr && code == 0x7f {
            text.push_str("off");
        } else {
            // If no literal can follow, the literal's code has no name.
            let mut bare = *insn;
            bare.len = insn.layout.bytes;
            let what = (code, ty, table.dwords);
            print::print_code(&bare, &self.style, what, table.written, text);
        }
        text.push_str(", ");
        let mut token = match Token::new(text) {
            Some(token) => token,
            None => {
                self.long.push(piece(text));
                Token::long(self.long.len() - 1)
            }
        };
        token.0[14] |= constant;
        token
    }

    /// Determines the modifiers that may follow.
    fn tail(&mut self, insn: &Insn, plan: &mut Plan, detail: &mut Detail) -> Option<()> {
        use Encoding::*;
        let first = self.items.len();
        match insn.row.shape.mods {
            Mods::None | Mods::BufferBare => {}
            Mods::Valu => match insn.encoding {
                Vop1 | Vop2 | Vopc => {}
                Vop3 | Vop3b => {
                    self.op_sel(insn);
                    if self.clrx {
                        self.omod(insn);
                        self.flag(insn, modifier::CLAMP);
                    } else {
                        self.flag(insn, modifier::CLAMP);
                        self.omod(insn);
                    }
                }
                Sdwa1 | Sdwa2 | SdwaC => {
                    plan.tail = Tail::Sdwa;
                    if insn.generation() == Gen::Gfx8 || insn.encoding != SdwaC {
                        self.flag(insn, modifier::CLAMP);
                    }
                    self.omod(insn);
                    let source = insn.row.shape.slot(Role::Src0).is_some();
                    let selects = source && insn.encoding != SdwaC;
                    let present = [selects, selects, source, insn.encoding != Sdwa1];
                    for ((field, lo), present) in SELECTIONS.into_iter().zip(present) {
                        if present {
                            let len = if field == Field::DstUnused { 2 } else { 3 };
                            let at = insn.layout.field(field);
                            if (at.lo, at.len) != (lo, len) {
                                return None;
                            }
                            plan.shown |= bits_of(insn, &[field]);
                        }
                    }
                }
                Dpp1 | Dpp2 | DppC => {
                    plan.tail = Tail::Dpp;
                    self.learn_dpp(insn)?;
                }
                _ => return None,
            },
            Mods::Smem | Mods::SmemScratch => {
                self.flag(insn, modifier::NV);
                self.flag(insn, modifier::GLC);
            }
            Mods::Ds => {
                let (low, high) = (
                    insn.layout.field(Field::Offset0),
                    insn.layout.field(Field::Offset1),
                );
                if low.lo + low.len != high.lo {
                    return None;
                }
                let kind = ItemKind::Number;
                self.item(kind, low.lo, low.len + high.len, modifier::OFFSET.prefix);
                self.flag(insn, modifier::GDS);
            }
            Mods::Ds2 => {
                self.number(insn, modifier::OFFSET0);
                self.number(insn, modifier::OFFSET1);
                self.flag(insn, modifier::GDS);
            }
            Mods::Buffer => {
                let order = match self.clrx {
                    true => modifier::BUFFER_CLRX,
                    false => modifier::BUFFER,
                };
                for m in order {
                    match m.sets {
                        Sets::Offset => {
                            self.field(insn, Field::Offset, ItemKind::Number, m.prefix);
                        }
                        _ => self.flag(insn, m),
                    }
                }
            }
            Mods::Flat => {
                let offset = insn.layout.field(Field::Offset);
                let name = print::flat_offset(self.clrx);
                match (offset.len, insn.row.format) {
                    (0, _) => {}
                    (13, Format::Flat) => self.item(ItemKind::Number, offset.lo, 12, name),
                    (13, _) => self.item(ItemKind::Signed13, offset.lo, 13, name),
                    _ => return None,
                }
                for m in modifier::FLAT {
                    self.flag(insn, m);
                }
            }
            _ => return None,
        }
        for item in &self.items[first..] {
            plan.shown |= (item.mask as u64).rotate_left(item.rotate as u32);
        }
        detail.items = (first as u16, (self.items.len() - first) as u8);
        Some(())
    }

    fn item(&mut self, kind: ItemKind, lo: u8, len: u8, text: &str) {
        self.items.push(Item {
            kind,
            rotate: lo,
            mask: (1 << len) - 1,
            text: piece(text),
        });
    }

    fn field(&mut self, insn: &Insn, field: Field, kind: ItemKind, text: &str) {
        let at = insn.layout.field(field);
        if at.len != 0 {
            self.item(kind, at.lo, at.len, text);
        }
    }

    fn flag(&mut self, insn: &Insn, m: &Modifier) {
        if let Some(field) = m.field() {
            self.field(insn, field, ItemKind::Flag, m.word);
        }
    }

    fn number(&mut self, insn: &Insn, m: &Modifier) {
        if let Some(field) = m.field() {
            self.field(insn, field, ItemKind::Number, m.prefix);
        }
    }

    fn omod(&mut self, insn: &Insn) {
        self.field(insn, Field::Omod, ItemKind::Omod, "");
    }

    /// gfx9's op_sel, for the sources that exist and the destination.
    fn op_sel(&mut self, insn: &Insn) {
        let sources = sources(insn).count();
        let at = insn.layout.field(Field::OpSel);
        if insn.generation() == Gen::Gfx9 && sources != 0 && at.len == 4 {
            self.items.push(Item {
                kind: ItemKind::OpSel(sources as u8),
                rotate: at.lo,
                mask: ((1 << sources) - 1) | 8,
                text: Piece::EMPTY,
            });
        }
    }

    /// Takes the text of every DPP_CTRL and every pair of masks from the general printer.
    fn learn_dpp(&mut self, insn: &Insn) -> Option<()> {
        if !self.dpp_ctrl.is_empty() {
            return Some(());
        }
        let (bank, row) = (
            insn.layout.field(Field::BankMask),
            insn.layout.field(Field::RowMask),
        );
        if (bank.lo, bank.len, row.lo, row.len) != (56, 4, 60, 4) {
            return None;
        }
        let mut text = String::new();
        let mut sample = |ctrl: u32, masks: u32| {
            text.clear();
            print::print_dpp(ctrl, (masks & 15, masks >> 4), false, self.clrx, &mut text);
            text.clone()
        };
        let first = if self.clrx {
            modifier::BANK_MASK
        } else {
            modifier::ROW_MASK
        };
        let marker = first.prefix;
        let mut ctrls = Vec::new();
        for ctrl in 0..512 {
            let text = sample(ctrl, 0);
            ctrls.push(Piece::new(&text[..text.find(marker)?])?);
        }
        let mut masks = Vec::new();
        for pair in 0..256 {
            let text = sample(0, pair);
            masks.push(Piece::new(&text[text.find(marker)?..])?);
        }
        self.dpp_ctrl = ctrls;
        self.dpp_masks = masks;
        Some(())
    }
}

/// The bits of some fields.
fn bits_of(insn: &Insn, fields: &[Field]) -> u64 {
    fields
        .iter()
        .map(|f| insn.layout.field(*f).set(0, u32::MAX))
        .fold(0, |all, bits| all | bits)
}

/// The sources that take modifiers, with their indices.
fn sources(insn: &Insn) -> impl Iterator<Item = (usize, &'static Slot)> {
    let shape = insn.row.shape;
    [Role::Src0, Role::Src1, Role::Src2]
        .into_iter()
        .enumerate()
        .filter_map(|(n, role)| Some((n, shape.slot(role)?)))
}

/// The positions of the abs, neg and sext bits of a source.
fn source_mods(insn: &Insn, slot: &Slot, clrx: bool) -> [u8; 3] {
    use Encoding::*;
    let Some((n, _)) = sources(insn).find(|(_, s)| s.role == slot.role) else {
        return [NO_BIT; 3];
    };
    let bit = |field: Field, n: usize| {
        let at = insn.layout.field(field);
        if at.len == 0 { NO_BIT } else { at.lo + n as u8 }
    };
    match insn.encoding {
        Vop3 | Vop3b if !clrx && insn.row.shape.neg_is_sext(slot.role) => {
            [bit(Field::Abs, n), NO_BIT, bit(Field::Neg, n)]
        }
        Vop3 | Vop3b => [bit(Field::Abs, n), bit(Field::Neg, n), NO_BIT],
        Sdwa1 | Sdwa2 | SdwaC | Dpp1 | Dpp2 | DppC => {
            let (abs, neg, sext) = if n == 0 {
                (Field::Src0Abs, Field::Src0Neg, Field::Src0Sext)
            } else {
                (Field::Src1Abs, Field::Src1Neg, Field::Src1Sext)
            };
            if !insn.has_field(sext) && insn.row.shape.neg_is_sext(slot.role) {
                return [NO_BIT, NO_BIT, bit(neg, 0)];
            }
            // Depending on its type, an operand takes either abs and neg or sext of SDWA's modifiers.
            if !insn.has_field(sext) || slot.ty.is_float() {
                [bit(abs, 0), bit(neg, 0), NO_BIT]
            } else {
                [NO_BIT, NO_BIT, bit(sext, 0)]
            }
        }
        _ => [NO_BIT; 3],
    }
}

/// The bits, and their values, with which the operands of a VOP3 encoding would be read like those of the 32-bit
/// encoding, except for abs and neg. `shown` are the bits of its other modifiers.
fn looks_like_e32(insn: &Insn, shown: u64) -> Option<(u64, u64)> {
    use crate::inst::Flags;
    if insn.row.format == Format::Vop3 || insn.row.flags.has(Flags::ONLY_E32) {
        return None;
    }
    let (mut mask, mut value) = (shown, 0);
    for slot in insn.row.shape.slots {
        let vcc = match slot.role {
            Role::Src2 => return None,
            Role::Src1 => {
                let vgpr = (VGPR0 as u64) << insn.layout.field(Field::Src1).lo;
                mask |= vgpr;
                value |= vgpr;
                continue;
            }
            Role::CmpDst if insn.encoding == Encoding::Vop3 => Field::Vdst,
            Role::CarryOut if insn.encoding == Encoding::Vop3b => Field::Sdst,
            Role::CarryIn => Field::Src2,
            _ => continue,
        };
        mask |= bits_of(insn, &[vcc]);
        value = insn.layout.field(vcc).set(value, VCC as u32);
    }
    Some((mask, value))
}
