//! The fast path for plain lines. A plain line is an instruction whose operands are registers and numbers, or data
//! that are numbers or a string. It goes from characters to bytes without tokens and without the
//! symbol table.
//!
//! All other lines (a label, another directive, a symbol, a broken rule, an error) are left to the statement reader of
//! [`crate::asm`], which gives the same result for plain lines, only slower. The result of a line depends only on its
//! text and on a [`State`]: lines may be read ahead of time, and on any thread.

use crate::data::fits;
use crate::direct::{Directs, Plain};
use crate::hexadecimal::{small_digits, up_to_16, up_to_32};
use crate::insn::{
    Fitting, Modifier, asked_form, encodings, finished, modifier, rows_of, split_form,
};
use crate::lexer::{Lexer, Reading, Span, Tok, is_ident, is_ident_start, unescape};
use crate::operand::{File, Operand, Val, named, numbered, tuple};
use crate::parse::Parser;
use crate::symbols::Symbols;
use gcn_isa::encode::Encoder;
use gcn_isa::modifier::{Arg, Form, Sets};
use gcn_isa::operand::{EXEC, VCC};
use gcn_isa::shape::{Imm, Role};
use gcn_isa::{Gen, Target, names};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The state on which plain lines depend, in addition to their text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct State {
    pub target: Target,
    pub clrx: bool,
    pub reading: Reading,
    /// True if the position of each instruction in the text is recorded.
    pub positions: bool,
}

/// A label, or a branch to one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    /// Its offset in [`Quick::out`].
    pub offset: u32,
    /// The label's name.
    pub name: Span,
    /// True if the label is defined here.
    pub label: bool,
    /// The start of its line, and the value of [`Quick::used`] for the lines of the run before it.
    pub line: u32,
    pub used: [u32; 2],
}

/// An instruction, if [`State::positions`] are recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeLine {
    /// Its offset in [`Quick::out`].
    pub offset: u32,
    /// The position of its start in the text.
    pub position: u32,
}

/// Consecutive plain lines that were read ahead of time.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The lines, as byte offsets in the text.
    pub lines: Range<usize>,
    /// Their bytes in [`Quick::out`].
    pub bytes: Range<usize>,
    /// Their labels and branches in [`Quick::named`].
    pub named: Range<usize>,
    /// Their instructions in [`Quick::code`].
    pub code: Range<usize>,
    /// The value of [`Quick::used`] for these lines alone.
    pub used: [u32; 2],
}

/// The maximum number of operands and modifiers of a plain line.
const MOST: usize = 8;

/// The maximum number of zeros of a plain line, because the results may be discarded.
const MOST_ZEROS: i64 = 1 << 12;

/// The data that a directive emits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Data {
    /// Numbers of this many bytes, up to 8.
    Numbers(u8),
    /// Numbers of 16 bytes.
    Octas,
    /// A string, with or without a zero at its end.
    Text { ended: bool },
    /// A number of zeros.
    Zeros,
}

/// The directives whose lines may be plain.
pub(crate) fn data_directive(name: &str) -> Option<Data> {
    Some(match name {
        ".byte" => Data::Numbers(1),
        ".short" => Data::Numbers(2),
        ".long" => Data::Numbers(4),
        ".quad" => Data::Numbers(8),
        ".octa" => Data::Octas,
        ".ascii" => Data::Text { ended: false },
        ".asciz" => Data::Text { ended: true },
        ".zero" => Data::Zeros,
        _ => return None,
    })
}

/// The number of modifiers in the cache.
const KNOWN: usize = 256;
const NOTHING: Modifier = Modifier {
    what: Sets::Bits,
    value: 0,
    span: Span { start: 0, end: 0 },
};

/// Reads consecutive plain lines.
pub(crate) struct Quick<'s> {
    src: &'s str,
    state: State,
    plans: Plans<'s>,
    /// Always empty: a plain line names no symbol.
    sym: Symbols<'s>,
    operands: Vec<Operand>,
    modifiers: Vec<Modifier>,
    /// Modifiers read before, by a hash of their text: most of them recur.
    known: Vec<(&'s str, Modifier)>,
    /// Lines of instructions read before: in compiled code most of them recur.
    lines: Lines,
    /// One more than the highest VGPR and SGPR named by the lines read.
    pub used: [u32; 2],
    /// The length of [`Quick::out`] at the start of the current run.
    begin: usize,
    /// The bytes of the lines read.
    pub out: Vec<u8>,
    /// The labels among them and the branches to labels.
    pub named: Vec<Named>,
    /// The instructions among them, if [`State::positions`] are recorded.
    pub code: Vec<CodeLine>,
    /// The start of the line that is read, and [`Quick::used`] there.
    line: (u32, [u32; 2]),
}

impl<'s> Quick<'s> {
    pub fn new(src: &'s str, state: State) -> Quick<'s> {
        Quick {
            src,
            state,
            plans: Plans::new(),
            sym: Symbols::new(),
            operands: Vec::with_capacity(MOST),
            modifiers: Vec::with_capacity(MOST),
            known: vec![("", NOTHING); KNOWN],
            lines: Lines::new(src.len()),
            used: [0; 2],
            begin: 0,
            out: Vec::new(),
            named: Vec::new(),
            code: Vec::new(),
            line: (0, [0; 2]),
        }
    }

    /// Continues with a text, perhaps another one.
    pub fn read_under(&mut self, src: &'s str, state: State) {
        self.src = src;
        if (state.target, state.clrx) != (self.state.target, self.state.clrx) {
            self.plans = Plans::new();
        }
        if state != self.state {
            self.lines.invalidate();
        }
        self.state = state;
    }

    /// Drops the results, but keeps the plans of mnemonics and the known lines.
    pub fn clear(&mut self) {
        self.used = [0; 2];
        self.out.clear();
        self.named.clear();
        self.code.clear();
    }

    /// Reads lines from `pos` on, where a line starts, as long as they are plain and start before
    /// `end`. Returns the start of the first line that was not read.
    pub fn run(&mut self, pos: usize, end: usize) -> usize {
        let mut c = Cursor {
            src: self.src,
            bytes: self.src.as_bytes(),
            pos,
            reading: self.state.reading,
            generation: self.state.target.generation(),
        };
        self.begin = self.out.len();
        while c.pos < end {
            let (start, used) = (c.pos, self.used);
            self.line = (start as u32, used);
            if self.line(&mut c).is_none() {
                // Its registers are counted when its statement is read.
                self.used = used;
                return start;
            }
        }
        c.pos.min(self.src.len())
    }

    /// Reads every run of plain lines in a part of the text that starts and ends with a line.
    pub fn runs(&mut self, part: Range<usize>) -> Vec<Run> {
        self.clear();
        let mut runs = Vec::new();
        let mut pos = part.start;
        while pos < part.end {
            let (bytes, named, code) = (self.out.len(), self.named.len(), self.code.len());
            self.used = [0; 2];
            let end = self.run(pos, part.end);
            if end > pos {
                runs.push(Run {
                    lines: pos..end,
                    bytes: bytes..self.out.len(),
                    named: named..self.named.len(),
                    code: code..self.code.len(),
                    used: self.used,
                });
            }
            pos = next_line(self.src, end);
        }
        runs
    }

    /// Returns everything that was read since [`Quick::clear`], from `pos` to `end`, as one run.
    pub fn all(&self, lines: Range<usize>) -> Run {
        Run {
            lines,
            bytes: 0..self.out.len(),
            named: 0..self.named.len(),
            code: 0..self.code.len(),
            used: self.used,
        }
    }

    /// Reads a line of data; `None` if it is not plain.
    fn data(&mut self, c: &mut Cursor<'s>) -> Option<()> {
        // CLRX has its own syntax for numbers, divisions and escapes.
        if self.state.clrx {
            return None;
        }
        let before = self.out.len();
        let read = self.data_line(c);
        if read.is_none() {
            self.out.truncate(before);
        }
        read
    }

    fn data_line(&mut self, c: &mut Cursor<'s>) -> Option<()> {
        match c.directive()? {
            Data::Numbers(width) => loop {
                c.blanks();
                if width == 8 && self.quads(c) {
                    return Some(());
                }
                let value = c.data_number()?;
                if !fits(value, width) {
                    return None;
                }
                // One copy of a known size for each width.
                let bytes = value.to_le_bytes();
                match width {
                    8 => self.out.extend_from_slice(&bytes),
                    4 => self.out.extend_from_slice(&bytes[..4]),
                    2 => self.out.extend_from_slice(&bytes[..2]),
                    _ => self.out.push(bytes[0]),
                }
                if c.byte() != b',' {
                    break;
                }
                c.pos += 1;
            },
            Data::Octas => {
                c.blanks();
                return self.octas(c);
            }
            Data::Text { ended } => {
                c.blanks();
                let text = c.quoted()?;
                match text.as_bytes().contains(&b'\\') {
                    true => self.out.extend(unescape(text).ok()?),
                    false => self.out.extend(&text.as_bytes()[1..text.len() - 1]),
                }
                self.out.extend(ended.then_some(0));
            }
            Data::Zeros => {
                c.blanks();
                let count = c.unsigned().filter(|n| (0..=MOST_ZEROS).contains(n))?;
                // A `.loc` that is waiting for its first byte must not begin with zeros.
                if self.out.len() == self.begin {
                    return None;
                }
                self.out.resize(self.out.len() + count as usize, 0);
            }
        }
        c.end_of_line(false).then_some(())
    }

    /// Reads the next numbers of 64 bits, if they are hexadecimal and separated as disassemblers print them. Returns true
    /// if they end the line; otherwise another number, or an error, is next.
    #[inline]
    fn quads(&mut self, c: &mut Cursor<'s>) -> bool {
        while let Some(text) = c.bytes.get(c.pos..).and_then(|rest| rest.first_chunk()) {
            let [b'0', b'x', digits @ .., _, _]: &[u8; 20] = text else {
                break;
            };
            let (value, count) = up_to_16(digits);
            if count == 0 {
                break;
            }
            let end = 2 + count;
            // The start of the next number must not depend on more loads; other blanks are left to the caller.
            let ended = match (text[end], text[end + 1]) {
                (b'\n', _) => true,
                (b',', b' ') => false,
                _ => break,
            };
            self.out.extend_from_slice(&value.to_le_bytes());
            if ended {
                c.pos += end + 1;
                return true;
            }
            c.pos += end + 2;
        }
        false
    }

    /// Reads the numbers of 128 bits up to the end of the line; `None` if they are not hexadecimal and separated as
    /// disassemblers print them.
    #[inline]
    fn octas(&mut self, c: &mut Cursor<'s>) -> Option<()> {
        loop {
            let text: &[u8; 36] = c.bytes.get(c.pos..)?.first_chunk()?;
            let [b'0', b'x', digits @ .., _, _] = text else {
                return None;
            };
            let (value, count) = up_to_32(digits);
            if count == 0 {
                return None;
            }
            let end = 2 + count;
            let ended = match (text[end], text[end + 1]) {
                (b'\n', _) => true,
                (b',', b' ') => false,
                _ => return None,
            };
            self.out.extend_from_slice(&value.to_le_bytes());
            if ended {
                c.pos += end + 1;
                return Some(());
            }
            c.pos += end + 2;
        }
    }

    /// Reads one line; `None` if it is not plain.
    fn line(&mut self, c: &mut Cursor<'s>) -> Option<()> {
        if c.end_of_line(true) {
            return Some(());
        }
        if c.byte() == b'.' {
            return match c.at(1) {
                b'L' => self.label(c),
                _ => self.data(c),
            };
        }
        let (begin, position) = (self.out.len(), c.pos);
        self.code_line(c)?;
        if self.state.positions && self.out.len() > begin {
            self.code.push(CodeLine {
                offset: begin as u32,
                position: position as u32,
            });
        }
        Some(())
    }

    /// Reads a line of an instruction, or of a label, which begins here; `None` if it is not plain.
    fn code_line(&mut self, c: &mut Cursor<'s>) -> Option<()> {
        let start = c.pos;
        let Some((text, slot)) = self.lines.slot(c) else {
            return self.instruction(c);
        };
        let after = start + text.len as usize + 1;
        if let Some(known) = self.lines.at(slot, &text) {
            push_bits(&mut self.out, known.bits, known.short);
            self.used = greatest(self.used, known.used.map(u32::from));
            c.pos = after;
            return Some(());
        }
        let (begin, named) = (self.out.len(), self.named.len());
        let used = std::mem::take(&mut self.used);
        let read = self.instruction(c);
        if read.is_some() && self.named.len() == named {
            // The bytes must be those of the line alone.
            debug_assert_eq!(c.pos, after);
            let [vgprs, sgprs] = self.used;
            let known = Line {
                words: text.words,
                bits: 0,
                used: [vgprs as u16, sgprs as u16],
                len: text.len,
                short: self.out.len() - begin == 4,
            };
            self.lines.keep(slot, known, &self.out[begin..]);
        }
        self.used = greatest(used, self.used);
        read
    }

    /// Reads a label, which begins here and is alone in its line; `None` if its line is not plain.
    fn label(&mut self, c: &mut Cursor<'s>) -> Option<()> {
        // CLRX has scopes.
        if self.state.clrx || !is_ident_start(c.byte()) {
            return None;
        }
        if c.byte() == b'.' && !is_ident_start(c.at(1)) {
            return None;
        }
        let start = c.pos as u32;
        c.ident();
        let end = c.pos as u32;
        c.blanks();
        c.eat(b':')?;
        if !c.end_of_line(false) {
            return None;
        }
        self.name(Span { start, end }, true);
        Some(())
    }

    /// Records a label here, or a branch to one.
    fn name(&mut self, name: Span, label: bool) {
        let (line, used) = self.line;
        self.named.push(Named {
            offset: self.out.len() as u32,
            name,
            label,
            line,
            used,
        });
    }

    /// Reads a mnemonic with the number of its plan. Returns `Some(None)` and reads nothing if the next word cannot be one, and `None`
    /// if it is not plain.
    #[inline]
    fn mnemonic(&mut self, c: &mut Cursor<'s>) -> Option<Option<(&'s str, usize)>> {
        let start = c.pos;
        if let Some((name, ends)) = c.first_word()
            && let Some(number) = self.plans.find(name, ends, None)
        {
            c.pos += name.len();
            return Some(Some((name, number)));
        }
        let name = c.word();
        if !matches!(c.byte(), b' ' | b'\t' | b'\n' | b'\r') {
            c.pos = start;
            return Some(None);
        }
        Some(Some((name, self.plans.number(name, None, self.state)?)))
    }

    /// Reads the operands and modifiers of a line if the bits that they set in the first encoding are known. Otherwise
    /// returns false and reads nothing.
    #[inline]
    fn direct_line(&mut self, c: &mut Cursor<'s>, number: usize) -> bool {
        let Some(plan) = self.plans.list.get(number) else {
            return false;
        };
        let [Some((_, short, Learned::Directs(directs))), ..] = &plan.encoders else {
            return false;
        };
        if plan.addresses {
            return false;
        }
        let start = c.pos;
        let used = &mut self.used;
        let operands = directs.read(|n| c.plain_operand(n > 0, used));
        let bits = operands.and_then(|operands| {
            if c.end_of_line(false) {
                return directs.with_rest(operands);
            }
            c.known_modifiers(&mut self.known, &mut self.modifiers, plan.form)?;
            Some(modified_bits(&plan.modified, &self.modifiers)? | operands)
        });
        match bits {
            Some(bits) => push_bits(&mut self.out, bits, *short),
            None => c.pos = start,
        }
        bits.is_some()
    }

    /// Reads an instruction, which begins here; `None` if its line is not plain.
    fn instruction(&mut self, c: &mut Cursor<'s>) -> Option<()> {
        let Some((name, number)) = self.mnemonic(c)? else {
            return self.label(c);
        };
        if self.direct_line(c, number) {
            return Some(());
        }
        let mut plan = self.plans.list.get_mut(number)?;
        let mut p = Parser {
            src: self.src,
            base: 0,
            tokens: &[],
            at: 0,
            location: (0, 0),
            clrx: self.state.clrx,
            target: self.state.target,
            sym: &mut self.sym,
            used: &mut self.used,
        };
        self.operands.clear();
        self.modifiers.clear();
        let mut ended = c.end_of_line(false);
        if !ended && plan.most > 0 {
            loop {
                if self.operands.len() >= MOST {
                    return None;
                }
                if c.at_modifier(self.operands.len(), plan.most)? {
                    break;
                }
                if plan.waits && c.byte().is_ascii_lowercase() {
                    self.operands.push(c.waitcnt(self.state.target)?);
                    ended = c.end_of_line(false);
                    if !ended {
                        return None;
                    }
                    break;
                }
                if c.at_number() {
                    let (code, count) = c.register(&mut p)?;
                    push_register(&mut self.operands, code, count);
                } else if let Some(value) = c.small() {
                    push_number(&mut self.operands, value);
                } else {
                    let start = c.pos;
                    match c.operand(&mut p) {
                        Some(operand) => self.operands.push(operand),
                        None if plan.branch && self.operands.is_empty() => {
                            c.pos = start;
                            let label = c.label(&p)?;
                            let (encoder, ..) = plan.encoders[0].as_ref()?;
                            let (bytes, len) = encoder.bytes();
                            self.name(label, false);
                            self.out.extend_from_slice(&bytes[..len]);
                            return Some(());
                        }
                        None => return None,
                    }
                }
                ended = c.end_of_line(false);
                if ended {
                    break;
                }
                if c.byte() != b',' {
                    break;
                }
                c.pos += 1;
                if c.end_of_line(false) {
                    return None;
                }
            }
        }
        if plan.addresses && self.operands.iter().any(|o| matches!(o.val, Val::Int(_))) {
            return None;
        }
        let mut form = plan.form;
        while !ended {
            let m = c.known_modifier(&mut self.known)?;
            let twice = self.modifiers.iter().any(|o| o.what == m.what);
            if twice || self.modifiers.len() >= MOST {
                return None;
            }
            if let Some(asked) = asked_form(&m) {
                if form.is_some_and(|f| f != asked) {
                    return None;
                }
                form = Some(asked);
            }
            self.modifiers.push(m);
            ended = c.end_of_line(false);
            if !ended && c.byte() == b',' {
                c.pos += 1;
                ended = c.end_of_line(false);
            }
        }
        if form != plan.form {
            let number = self.plans.number(name, form, self.state)?;
            plan = self.plans.list.get_mut(number)?;
        }
        let (operands, modifiers) = (&self.operands, &self.modifiers);
        let (target, clrx) = (self.state.target, self.state.clrx);
        for (n, (encoder, short, learned)) in plan.encoders.iter_mut().flatten().enumerate() {
            let directs = learned.directs(|| Directs::of(*encoder, target, clrx));
            let direct = directs.and_then(|directs| match modifiers.is_empty() {
                true => directs.line(operands),
                false if n == 0 && directs.modifiers_apart() => {
                    let rest = modified_bits(&plan.modified, modifiers);
                    rest.and_then(|rest| Some(rest | directs.all(operands)?))
                }
                false => None,
            });
            if let Some(bits) = direct {
                push_bits(&mut self.out, bits, *short);
                return Some(());
            }
            let mut fitting = Fitting::with(&p, *encoder, operands, modifiers, Span::default());
            fitting.directs = directs;
            if fitting.run().is_err() || !fitting.violations.is_empty() {
                continue;
            }
            if fitting.warning.is_some() {
                return None;
            }
            let literal = fitting.encoder.literal.is_some();
            let encoder = finished(fitting.encoder, modifiers);
            let (bytes, len) = encoder.bytes();
            self.out.extend_from_slice(&bytes[..len]);
            if n == 0
                && !literal
                && !modifiers.is_empty()
                && let Some(directs) = directs
                && directs.modifiers_apart()
                && plan.modified.len() < MOST_MODIFIED
                && let Some(bits) = directs.all(operands)
                && encoder.bits & bits == bits
                && !modifiers.iter().any(|m| of_operands(m.what))
                && modified_bits(&plan.modified, modifiers).is_none()
            {
                let modifiers = modifiers.iter().map(|m| (m.what, m.value)).collect();
                let bits = encoder.bits & !bits;
                plan.modified.push(Modified { modifiers, bits });
            }
            return Some(());
        }
        None
    }
}

/// Appends an instruction of 32 or 64 bits.
#[inline]
fn push_bits(out: &mut Vec<u8>, bits: u64, short: bool) {
    // One copy of a known size for each.
    if short {
        out.extend_from_slice(&(bits as u32).to_le_bytes());
    } else {
        out.extend_from_slice(&bits.to_le_bytes());
    }
}

/// Returns the maximum of each of two pairs of numbers.
fn greatest(a: [u32; 2], b: [u32; 2]) -> [u32; 2] {
    [a[0].max(b[0]), a[1].max(b[1])]
}

/// The text of a short line without the blanks before it.
#[derive(Clone, Copy)]
struct Short {
    /// Its bytes, followed by zeros.
    words: [u64; Short::MOST / 8],
    len: u8,
}

impl Short {
    /// The text has fewer bytes.
    const MOST: usize = 48;
}

/// The bytes of a line that are kept, all of which are set, and those after it.
static KEPT: [u8; 2 * Short::MOST] = {
    let mut table = [0; 2 * Short::MOST];
    let mut n = 0;
    while n < Short::MOST {
        table[n] = 0xff;
        n += 1;
    }
    table
};

/// Returns the number of bytes before the first line's end; all of them if there is none.
#[cfg(target_arch = "x86_64")]
#[inline]
fn line_length(text: &[u8; Short::MOST]) -> usize {
    use safe_arch::{cmp_eq_mask_i8_m128i, m128i, move_mask_i8_m128i, set_splat_i8_m128i};
    let end = set_splat_i8_m128i(b'\n' as i8);
    let pieces = text.as_chunks().0.iter().enumerate();
    let ends = pieces.fold(1 << Short::MOST, |ends, (n, piece)| {
        let here = cmp_eq_mask_i8_m128i(m128i::from(*piece), end);
        ends | (move_mask_i8_m128i(here) as u64) << (16 * n)
    });
    ends.trailing_zeros() as usize
}

/// Returns the number of bytes before the first line's end; all of them if there is none.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn line_length(text: &[u8; Short::MOST]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut len = Short::MOST;
    for (n, word) in text.as_chunks().0.iter().enumerate().rev() {
        // The lowest bit that is set belongs to the first line's end.
        let other = u64::from_le_bytes(*word) ^ (ONES * b'\n' as u64);
        let ends = other.wrapping_sub(ONES) & !other & ONES << 7;
        let end = 8 * n + ends.trailing_zeros() as usize / 8;
        len = if ends != 0 { end } else { len };
    }
    len
}

/// More than the number of bytes of almost all mnemonics.
const WORD: usize = 32;

/// Returns the number of bytes before the first blank or control character; [`WORD`] if there is none.
#[cfg(target_arch = "x86_64")]
#[inline]
fn word_length(text: &[u8; WORD]) -> usize {
    use safe_arch::{
        cmp_eq_mask_i8_m128i, m128i, min_u8_m128i, move_mask_i8_m128i, set_splat_i8_m128i,
    };
    let pieces = text.as_chunks().0.iter().enumerate();
    let ends = pieces.fold(1 << WORD, |ends, (n, piece)| {
        let piece = m128i::from(*piece);
        let low = min_u8_m128i(piece, set_splat_i8_m128i(b' ' as i8));
        let here = cmp_eq_mask_i8_m128i(low, piece);
        ends | (move_mask_i8_m128i(here) as u64) << (16 * n)
    });
    ends.trailing_zeros() as usize
}

/// Returns the number of bytes before the first blank or control character; [`WORD`] if there is none.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn word_length(text: &[u8; WORD]) -> usize {
    text.iter().position(|c| *c <= b' ').unwrap_or(WORD)
}

/// A line of an instruction, and its result, in one line of the processor's cache. It does not refer to the source, whose
/// earlier parts are no longer in the cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    /// The text, as in [`Short`].
    words: [u64; Short::MOST / 8],
    bits: u64,
    /// The value of [`Quick::used`] for the line alone.
    used: [u16; 2],
    len: u8,
    /// True if the instruction has 32 bits.
    short: bool,
}

const _: () = assert!(size_of::<Line>() == 64);

impl Line {
    /// Returns true if the line has this text. All words are compared at once.
    #[inline]
    fn is(&self, text: &Short) -> bool {
        let words = self.words.iter().zip(&text.words);
        words.fold(0, |differ, (a, b)| differ | (a ^ b)) == 0 && self.len == text.len
    }
}

/// Lines read before, each in the slot of a hash of its text.
struct Lines {
    /// For each slot another part of the hash of its line, and 0 if there is none. These numbers stay in the
    /// processor's cache: they show early whether a line is known, and its slot is accessed only later.
    tags: Vec<u16>,
    /// The slots, whose number is a power of two.
    list: Vec<Line>,
    /// The number of lines looked up since the last decision about [`Lines::pause`], and the number found.
    sought: u32,
    found: u32,
    /// The number of lines that are not looked up, because few of the earlier ones were found.
    pause: u32,
}

/// The location of a line in [`Lines`].
#[derive(Clone, Copy)]
struct Slot {
    number: usize,
    /// An odd part of the hash of its text.
    tag: u16,
}

impl Lines {
    const NONE: Line = Line {
        words: [0; Short::MOST / 8],
        bits: 0,
        used: [0; 2],
        len: 0,
        short: false,
    };

    /// Creates the table for a text of a size in bytes.
    fn new(size: usize) -> Lines {
        let slots = (size / 1024).next_power_of_two().clamp(1 << 6, 1 << 13);
        Lines {
            tags: vec![0; slots],
            list: vec![Lines::NONE; slots],
            sought: 0,
            found: 0,
            pause: 0,
        }
    }

    fn invalidate(&mut self) {
        self.tags.fill(0);
    }

    /// Returns the text of the line that begins here, and its slot; `None` if it is not looked up.
    #[inline]
    fn slot(&mut self, c: &Cursor<'_>) -> Option<(Short, Slot)> {
        /// The number of look-ups after which their benefit is evaluated.
        const SOME: u32 = 1 << 10;
        const PAUSE: u32 = 1 << 14;
        /// Odd numbers without a pattern, one for each word.
        const MIX: [u64; Short::MOST / 8] = [
            0x9e37_79b9_7f4a_7c15,
            0xbf58_476d_1ce4_e5b9,
            0x94d0_49bb_1331_11eb,
            0xd6e8_feb8_6659_fd93,
            0xa076_1d64_78bd_642f,
            0xe703_7ed1_a0b4_28db,
        ];
        if self.pause > 0 {
            self.pause -= 1;
            return None;
        }
        if self.sought == SOME {
            if self.found < SOME / 8 {
                self.pause = PAUSE;
            }
            (self.sought, self.found) = (0, 0);
        }
        let rest: &[u8; Short::MOST] = c.bytes.get(c.pos..)?.first_chunk()?;
        // No branch depends on the length of the line, because a processor could not predict it.
        let len = line_length(rest);
        if len == Short::MOST {
            return None;
        }
        let kept: &[u8; Short::MOST] = KEPT.get(Short::MOST - len..)?.first_chunk()?;
        let mut words = [0; Short::MOST / 8];
        let mut sum = 0u64;
        let eights = rest.as_chunks().0.iter().zip(kept.as_chunks().0);
        for (n, (word, (eight, kept))) in words.iter_mut().zip(eights).enumerate() {
            *word = u64::from_le_bytes(*eight) & u64::from_le_bytes(*kept);
            sum = sum.wrapping_add(word.wrapping_mul(MIX[n]));
        }
        let hash = (sum ^ sum >> 29).wrapping_mul(MIX[0]);
        self.sought += 1;
        let slot = Slot {
            number: (hash >> 40) as usize & (self.list.len() - 1),
            tag: (hash >> 24) as u16 | 1,
        };
        let len = len as u8;
        Some((Short { words, len }, slot))
    }

    /// Returns the line in a slot if it has this text.
    #[inline]
    fn at(&mut self, slot: Slot, text: &Short) -> Option<&Line> {
        if *self.tags.get(slot.number)? != slot.tag {
            return None;
        }
        let line = self.list.get(slot.number)?;
        if !line.is(text) {
            return None;
        }
        self.found += 1;
        Some(line)
    }

    /// Stores a line with its bytes, if they are those of one instruction.
    fn keep(&mut self, slot: Slot, mut line: Line, bytes: &[u8]) {
        let mut eight = [0; 8];
        if !matches!(bytes.len(), 4 | 8) {
            return;
        }
        eight[..bytes.len()].copy_from_slice(bytes);
        line.bits = u64::from_le_bytes(eight);
        let number = slot.number;
        if let (Some(known), Some(tag)) = (self.list.get_mut(number), self.tags.get_mut(number)) {
            (*known, *tag) = (line, slot.tag);
        }
    }
}

// These are two functions, and an operand is written directly into its final location: copying it would cost more than
// all other work on it.

#[inline(never)]
fn push_register(operands: &mut Vec<Operand>, code: u16, count: u8) {
    operands.push(Operand::new(Val::Reg(code, count), Span::default()));
}

#[inline(never)]
fn push_number(operands: &mut Vec<Operand>, value: i64) {
    operands.push(Operand::new(Val::Int(value), Span::default()));
}

/// The plain lines of a part of a text.
#[derive(Default)]
pub(crate) struct Part {
    pub runs: Vec<Run>,
    pub out: Vec<u8>,
    pub named: Vec<Named>,
    pub code: Vec<CodeLine>,
}

/// Parts of a text that threads read before they are reached.
pub(crate) struct ReadAhead<'s, 'e> {
    src: &'s str,
    /// The end of each part, which is the start of the next one.
    ends: &'e [usize],
    /// The maximum number of parts that are read and not yet taken.
    most: usize,
    parts: Mutex<Parts>,
    changed: Condvar,
}

struct Parts {
    /// The number of the next part to read.
    next: usize,
    /// The number of the part that is taken next.
    wanted: usize,
    read: BTreeMap<usize, Part>,
    /// Parts that were taken, whose memory is reused.
    free: Vec<Part>,
    /// The number of reading threads.
    readers: usize,
    stopped: bool,
}

impl<'s, 'e> ReadAhead<'s, 'e> {
    /// Creates the state for `readers` threads. The first part is not read ahead.
    pub fn new(src: &'s str, ends: &'e [usize], readers: usize) -> ReadAhead<'s, 'e> {
        ReadAhead {
            src,
            ends,
            most: 2 * readers + 2,
            parts: Mutex::new(Parts {
                next: 1,
                wanted: 1,
                read: BTreeMap::new(),
                free: Vec::new(),
                readers,
                stopped: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads parts until there are no more.
    pub fn read(&self, mut quick: Quick<'s>) -> Quick<'s> {
        let mut gone = Gone {
            ahead: self,
            reading: None,
        };
        loop {
            let parts = self.lock();
            let full = |parts: &mut Parts| {
                !parts.stopped
                    && parts.next < self.ends.len()
                    && parts.next >= parts.wanted + self.most
            };
            let mut parts =
                (self.changed.wait_while(parts, full)).unwrap_or_else(PoisonError::into_inner);
            let number = parts.next;
            if parts.stopped || number >= self.ends.len() {
                break;
            }
            parts.next += 1;
            gone.reading = Some(number);
            let room = parts.free.pop().unwrap_or_default();
            drop(parts);
            (quick.out, quick.named, quick.code) = (room.out, room.named, room.code);
            let lines = self.ends[number - 1]..self.ends[number];
            debug_assert!(lines.end <= self.src.len());
            let part = Part {
                runs: quick.runs(lines),
                out: std::mem::take(&mut quick.out),
                named: std::mem::take(&mut quick.named),
                code: std::mem::take(&mut quick.code),
            };
            gone.reading = None;
            self.lock().read.insert(number, part);
            self.changed.notify_all();
        }
        drop(gone);
        quick
    }

    /// Waits for a part; `None` if no thread reads it.
    pub fn take(&self, number: usize) -> Option<Part> {
        let mut parts = self.lock();
        parts.wanted = number;
        self.changed.notify_all();
        loop {
            if let Some(part) = parts.read.remove(&number) {
                return Some(part);
            }
            if parts.readers == 0 {
                return None;
            }
            parts = (self.changed.wait(parts)).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns the memory of a part for reuse.
    pub fn give_back(&self, part: Part) {
        self.lock().free.push(part);
    }

    /// Records that one of the threads could not be started.
    pub fn refused(&self) {
        drop(Gone {
            ahead: self,
            reading: None,
        });
    }

    /// Ends the reading by other threads.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }
}

/// Marks a thread as ended, for any reason. The part that it was reading then counts as having no plain lines.
struct Gone<'a, 's, 'e> {
    ahead: &'a ReadAhead<'s, 'e>,
    reading: Option<usize>,
}

impl Drop for Gone<'_, '_, '_> {
    fn drop(&mut self) {
        let mut parts = self.ahead.lock();
        parts.readers -= 1;
        if let Some(number) = self.reading {
            parts.read.insert(number, Part::default());
        }
        drop(parts);
        self.ahead.changed.notify_all();
    }
}

/// Reads a line that has a directive and a decimal number: the directive, the number, and the start of the next line. `None` if
/// the line has anything else.
pub(crate) fn plain_setting(src: &str, pos: usize, reading: Reading) -> Option<(&str, i64, usize)> {
    let (directive, mut c) = Cursor::after_directive(src, pos, reading)?;
    let value = c.small()?;
    let ended = c.end_of_line(false);
    ended.then_some((directive, value, c.pos.min(src.len())))
}

/// Like [`plain_setting`], for a directive and the name of a symbol.
pub(crate) fn plain_declaration(
    src: &str,
    pos: usize,
    reading: Reading,
) -> Option<(&str, &str, usize)> {
    let (directive, mut c) = Cursor::after_directive(src, pos, reading)?;
    let dot = c.byte() == b'.';
    if !is_ident_start(c.byte()) || dot && !is_ident_start(c.at(1)) {
        return None;
    }
    let name = c.ident();
    let ended = c.end_of_line(false);
    ended.then_some((directive, name, c.pos.min(src.len())))
}

/// Returns the start of the line after the one that `pos` is in.
pub(crate) fn next_line(src: &str, pos: usize) -> usize {
    let rest = src.as_bytes().get(pos..).unwrap_or(&[]);
    pos + rest
        .iter()
        .position(|&c| c == b'\n')
        .map_or(rest.len(), |n| n + 1)
}

/// The encodings of a mnemonic, looked up once.
struct Plan<'s> {
    name: &'s str,
    /// The value of [`ends`] for the name, which avoids most comparisons of text.
    ends: Ends,
    /// The encoding that modifiers request.
    asked: Option<Form>,
    /// The encoding that the name requests, or otherwise the modifiers.
    form: Option<Form>,
    /// The maximum number of operands of any row.
    most: usize,
    /// True if the operand is that of s_waitcnt.
    waits: bool,
    /// True if the operand is a label and there is one encoding.
    branch: bool,
    /// True if a number among the operands is an address, which needs the current location.
    addresses: bool,
    /// The encodings to try, in order, each with true if it has 32 bits, and the bits of its operands once they are known.
    encoders: [Option<(Encoder, bool, Learned)>; 4],
    /// The modifiers that the first encoding was used with.
    modified: Vec<Modified>,
}

/// The bits of operands in an encoding, which are found after a few uses: finding them takes as long as reading many lines without them.
enum Learned {
    /// The number of uses before.
    Uses(u8),
    Directs(Box<Directs>),
}

/// The number of uses of an encoding before [`Directs`] are found. Tests have few lines, and try both ways.
const USES: u8 = if cfg!(test) { 1 } else { 8 };

impl Learned {
    #[inline]
    fn directs(&mut self, find: impl FnOnce() -> Directs) -> Option<&Directs> {
        match self {
            Learned::Uses(uses) if *uses < USES => {
                *uses += 1;
                return None;
            }
            Learned::Uses(_) => *self = Learned::Directs(Box::new(find())),
            Learned::Directs(_) => {}
        }
        match self {
            Learned::Directs(directs) => Some(directs),
            Learned::Uses(_) => None,
        }
    }
}

/// Modifiers, and the bits of a line with them that no operand sets.
struct Modified {
    modifiers: Vec<(Sets, u64)>,
    bits: u64,
}

/// Returns true if a modifier changes bits of operands, or any bits.
fn of_operands(what: Sets) -> bool {
    matches!(what, Sets::Abs | Sets::Neg | Sets::Sext | Sets::Bits)
}

/// The maximum number of lists of modifiers that are stored for a mnemonic.
const MOST_MODIFIED: usize = 8;

/// Returns the bits of a line with these modifiers that no operand sets, if they are known.
#[inline]
fn modified_bits(known: &[Modified], modifiers: &[Modifier]) -> Option<u64> {
    let known = known.iter().find(|known| {
        let mut both = known.modifiers.iter().zip(modifiers);
        known.modifiers.len() == modifiers.len()
            && both.all(|((what, value), m)| *what == m.what && *value == m.value)
    });
    known.map(|known| known.bits)
}

/// The plans of the mnemonics seen, found by a hash of the name's ends.
struct Plans<'s> {
    /// The number of a plan plus one.
    slots: Vec<u16>,
    list: Vec<Plan<'s>>,
}

/// More than twice the maximum number of plans.
const PLAN_SLOTS: usize = 1 << 13;
/// The maximum number of plans; further names are looked up by the statement reader. There are fewer names than this.
const PLANS: usize = PLAN_SLOTS / 2;

impl<'s> Plans<'s> {
    fn new() -> Plans<'s> {
        Plans {
            slots: vec![0; PLAN_SLOTS],
            list: Vec::new(),
        }
    }

    /// Returns the number of the plan of a name, if there is one.
    #[inline]
    fn find(&self, name: &str, ends: Ends, asked: Option<Form>) -> Option<usize> {
        let mut at = hash_of(ends, asked);
        loop {
            at %= PLAN_SLOTS;
            let number = (self.slots[at] as usize).checked_sub(1)?;
            let plan = self.list.get(number)?;
            let same = plan.ends == ends && (ends.2 <= 16 || plan.name == name);
            if same && plan.asked == asked {
                return Some(number);
            }
            at += 1;
        }
    }

    /// Returns the number of the plan of a name, which may be a new one; `None` if the name is unknown, or is not plain.
    fn number(&mut self, name: &'s str, asked: Option<Form>, state: State) -> Option<usize> {
        let ends = ends(name.as_bytes());
        if let Some(number) = self.find(name, ends, asked) {
            return Some(number);
        }
        if self.list.len() >= PLANS {
            return None;
        }
        self.list.push(Plan::new(name, asked, state)?);
        let mut at = hash_of(ends, asked) % PLAN_SLOTS;
        while self.slots[at] != 0 {
            at = (at + 1) % PLAN_SLOTS;
        }
        self.slots[at] = self.list.len() as u16;
        Some(self.list.len() - 1)
    }
}

fn hash(name: &[u8], asked: Option<Form>) -> usize {
    hash_of(ends(name), asked)
}

/// The first and the last eight bytes of a name, and its length. They identify a name of up to 16 bytes.
type Ends = (u64, u64, usize);

fn ends(name: &[u8]) -> Ends {
    let word = |from: usize| {
        let mut word = [0; 8];
        let part = &name[from..];
        match part.get(..8) {
            Some(part) => word.copy_from_slice(part),
            None => word[..part.len()].copy_from_slice(part),
        }
        u64::from_le_bytes(word)
    };
    (word(0), word(name.len().saturating_sub(8)), name.len())
}

#[inline]
fn hash_of((first, last, len): Ends, asked: Option<Form>) -> usize {
    let asked = asked.map_or(0, |f| f as u64 + 1);
    let mixed = (first ^ last.rotate_left(29) ^ (len as u64) << 3 ^ asked)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) as usize
}

impl<'s> Plan<'s> {
    /// Returns `None` if the name is unknown, or is not plain.
    fn new(name: &'s str, asked: Option<Form>, state: State) -> Option<Plan<'s>> {
        let (stem, named) = split_form(name);
        let form = asked.or(named);
        let rows = rows_of(stem, state.clrx, state.target);
        let rows = || rows.iter().flatten().copied();
        let first = rows().next()?;
        let role = first.shape.slots.first().map(|s| s.role);
        let mut encoders = [const { None }; 4];
        let mut n = 0;
        for row in rows() {
            for encoding in encodings(row, form, state.target, false) {
                if let Some(encoder) = Encoder::new(row, encoding, state.target) {
                    let short = encoder.bytes().1 == 4;
                    *encoders.get_mut(n)? = Some((encoder, short, Learned::Uses(0)));
                    n += 1;
                }
            }
        }
        let branch = role == Some(Role::Imm(Imm::Branch));
        let target = |r: &gcn_isa::Inst| r.shape.slot(Role::Imm(Imm::Branch)).is_some();
        Some(Plan {
            name,
            ends: ends(name.as_bytes()),
            asked,
            form,
            most: rows().map(|r| r.shape.slots.len()).max().unwrap_or(0),
            waits: role == Some(Role::Imm(Imm::Waitcnt)),
            branch: branch && n == 1 && first.shape.slots.len() == 1,
            addresses: state.clrx && rows().any(target),
            encoders,
            modified: Vec::new(),
        })
    }
}

/// A position in the text. Every reader returns `None` for text that is not plain.
struct Cursor<'s> {
    src: &'s str,
    bytes: &'s [u8],
    pos: usize,
    reading: Reading,
    generation: Gen,
}

impl<'s> Cursor<'s> {
    /// Returns the current byte; the text's end counts as a line's end.
    #[inline]
    fn byte(&self) -> u8 {
        self.bytes.get(self.pos).copied().unwrap_or(b'\n')
    }

    #[inline]
    fn at(&self, ahead: usize) -> u8 {
        self.bytes.get(self.pos + ahead).copied().unwrap_or(b'\n')
    }

    #[inline]
    fn eat(&mut self, c: u8) -> Option<()> {
        (self.byte() == c).then(|| self.pos += 1)
    }

    /// Skips blanks, and the line's end with its comment if that is next. `start` is true at the
    /// start of a line.
    #[inline]
    fn end_of_line(&mut self, start: bool) -> bool {
        self.blanks();
        let c = self.byte();
        if c == b'\n' {
            self.pos += 1;
            return true;
        }
        KIND[c as usize] & COMMENT != 0 && self.comment(start)
    }

    /// Skips a comment and the line's end, if one begins here.
    #[inline(never)]
    fn comment(&mut self, start: bool) -> bool {
        let is = match self.byte() {
            b';' => !self.reading.semicolon_separates,
            b'#' => start || self.reading.hash_comments,
            _ => self.at(1) == b'/',
        };
        if is {
            self.pos = next_line(self.src, self.pos);
        }
        is
    }

    /// Reads a name of lower-case letters, digits and `_` that ends at another kind of character.
    #[inline]
    fn word(&mut self) -> &'s str {
        self.take(|c| KIND[c as usize] & SMALL != 0)
    }

    /// Returns the text before the next blank or line's end, if it is short and not at the end of the text.
    #[inline]
    fn first_word(&self) -> Option<(&'s str, Ends)> {
        let text: &[u8; WORD] = self.bytes.get(self.pos..)?.first_chunk()?;
        let len = word_length(text);
        let first = u64::from_le_bytes(*text.first_chunk()?);
        let last = match len {
            0..8 => {
                let word = first & !(u64::MAX << (8 * len));
                return Some((self.src.get(self.pos..self.pos + len)?, (word, word, len)));
            }
            8..WORD => u64::from_le_bytes(*text.get(len - 8..)?.first_chunk()?),
            _ => return None,
        };
        let name = self.src.get(self.pos..self.pos + len)?;
        Some((name, (first, last, len)))
    }

    /// Reads a name like the lexer.
    #[inline]
    fn ident(&mut self) -> &'s str {
        self.take(is_ident)
    }

    /// Returns the text up to the first byte that is not one of these.
    #[inline]
    fn take(&mut self, is: impl Fn(u8) -> bool) -> &'s str {
        let start = self.pos;
        let mut end = start;
        while let Some(&c) = self.bytes.get(end)
            && is(c)
        {
            end += 1;
        }
        self.pos = end;
        self.src.get(start..end).unwrap_or("")
    }

    /// Returns true if no name or number continues here.
    #[inline]
    fn ended(&self) -> Option<()> {
        (!is_ident(self.byte())).then_some(())
    }

    /// Reads a number without sign, like the lexer.
    #[inline]
    fn number(&mut self) -> Option<Tok> {
        let start = self.pos;
        let mut value = 0u64;
        if self.byte() == b'0' && self.at(1) == b'x' {
            self.pos += 2;
            while let Some(d) = HEX[self.byte() as usize] {
                value = value << 4 | d as u64;
                self.pos += 1;
            }
            if (3..=18).contains(&(self.pos - start)) && self.ended().is_some() {
                return Some(Tok::Int(value));
            }
        } else {
            while self.byte().is_ascii_digit() {
                value = value
                    .wrapping_mul(10)
                    .wrapping_add((self.byte() - b'0') as u64);
                self.pos += 1;
            }
            let len = self.pos - start;
            let octal = len > 1 && self.bytes[start] == b'0';
            if (1..=19).contains(&len) && !octal && self.ended().is_some() {
                return Some(Tok::Int(value));
            }
        }
        let mut lexer = Lexer::new(self.src, self.reading);
        lexer.pos = start;
        let tok = lexer.number().ok()?;
        self.pos = lexer.pos;
        Some(tok)
    }

    /// Reads a directive in lower case and the blanks after it.
    fn after_directive(
        src: &'s str,
        pos: usize,
        reading: Reading,
    ) -> Option<(&'s str, Cursor<'s>)> {
        let mut c = Cursor {
            src,
            bytes: src.as_bytes(),
            pos,
            reading,
            generation: Gen::Gfx9,
        };
        c.blanks();
        let start = c.pos;
        c.eat(b'.')?;
        c.word();
        let name = src.get(start..c.pos)?;
        if !matches!(c.byte(), b' ' | b'\t') {
            return None;
        }
        c.blanks();
        Some((name, c))
    }

    /// Reads the directive of a line of data; a dot is next.
    #[inline]
    fn directive(&mut self) -> Option<Data> {
        let start = self.pos;
        match self.bytes[start..].first_chunk() {
            Some(b".octa ") => {
                self.pos += 6;
                return Some(Data::Octas);
            }
            Some(b".quad ") => {
                self.pos += 6;
                return Some(Data::Numbers(8));
            }
            _ => {}
        }
        self.pos += 1;
        self.word();
        if !matches!(self.byte(), b' ' | b'\t') {
            return None;
        }
        data_directive(self.src.get(start..self.pos)?)
    }

    /// Reads a number in a line of data, and the blanks after it.
    #[inline]
    fn data_number(&mut self) -> Option<i64> {
        let negative = self.eat(b'-').is_some();
        let start = self.pos;
        let mut value = 0u64;
        let value = if self.byte() == b'0' && self.at(1) == b'x' {
            self.pos += 2;
            // Sixteen digits are two steps.
            while self.pos - start < 18
                && let Some(eight) = self.bytes[self.pos..].first_chunk()
            {
                let (more, count) = small_digits(*eight);
                value = value.unbounded_shl(4 * count) | more as u64;
                self.pos += count as usize;
                if count < 8 {
                    break;
                }
            }
            while let Some(d) = HEX[self.byte() as usize] {
                value = value << 4 | d as u64;
                self.pos += 1;
            }
            if !(3..=18).contains(&(self.pos - start)) {
                return None;
            }
            self.ended()?;
            value as i64
        } else {
            self.unsigned()?
        };
        self.blanks();
        Some(if negative {
            value.wrapping_neg()
        } else {
            value
        })
    }

    /// Reads a string with its quotes, which ends in this line.
    #[inline]
    fn quoted(&mut self) -> Option<&'s str> {
        let start = self.pos;
        self.eat(b'"')?;
        loop {
            match *self.bytes.get(self.pos)? {
                b'"' => break,
                b'\n' => return None,
                b'\\' if self.at(1) != b'\n' => self.pos += 2,
                _ => self.pos += 1,
            }
        }
        self.pos += 1;
        self.src.get(start..self.pos)
    }

    fn unsigned(&mut self) -> Option<i64> {
        if !self.byte().is_ascii_digit() {
            return None;
        }
        match self.number()? {
            Tok::Int(value) => Some(value as i64),
            _ => None,
        }
    }

    fn integer(&mut self) -> Option<i64> {
        if self.eat(b'-').is_some() {
            return self.unsigned().map(i64::wrapping_neg);
        }
        self.unsigned()
    }

    /// Reads decimal digits only.
    #[inline]
    fn index(&mut self, most: usize) -> Option<i64> {
        let start = self.pos;
        let mut value = 0;
        while self.byte().is_ascii_digit() {
            value = value * 10 + (self.byte() - b'0') as i64;
            self.pos += 1;
            if self.pos - start > most {
                return None;
            }
        }
        (self.pos > start).then_some(value)
    }

    /// Returns true if a numbered VGPR or SGPR is next.
    #[inline]
    fn at_number(&self) -> bool {
        matches!(self.byte(), b'v' | b's') && matches!(self.at(1), b'0'..=b'9' | b'[')
    }

    /// Reads a register by number or name: its code and the number of registers.
    #[inline]
    fn register(&mut self, p: &mut Parser<'s, '_>) -> Option<(u16, u8)> {
        let (file, letters) = match self.byte() {
            b'v' => (File::V, 1),
            b's' => (File::S, 1),
            b't' if self.bytes[self.pos..].starts_with(b"ttmp") => (File::Ttmp, 4),
            _ => return self.named(p),
        };
        let next = self.at(letters);
        let (first, last) = if next == b'[' {
            self.pos += letters + 1;
            let first = self.bracketed()?;
            let last = if self.eat(b':').is_some() {
                self.bracketed()?
            } else {
                first
            };
            self.eat(b']')?;
            (first, last)
        } else if next.is_ascii_digit() {
            self.pos += letters + 1;
            let mut n = (next - b'0') as i64;
            while self.byte().is_ascii_digit() && n < 1000 {
                n = n * 10 + (self.byte() - b'0') as i64;
                self.pos += 1;
            }
            self.ended()?;
            (n, n)
        } else {
            return self.named(p);
        };
        tuple(file, first, last, self.generation, p.used)
    }

    /// Reads a short decimal number that is followed by a blank, a comma or the line's end.
    #[inline]
    fn small(&mut self) -> Option<i64> {
        let start = self.pos;
        let negative = self.eat(b'-').is_some();
        let first = self.pos;
        let mut value = 0;
        while self.byte().is_ascii_digit() && self.pos - first < 9 {
            value = value * 10 + (self.byte() - b'0') as i64;
            self.pos += 1;
        }
        let octal = self.pos - first > 1 && self.bytes[first] == b'0';
        let ends = matches!(self.byte(), b' ' | b',' | b'\n');
        if self.pos == first || octal || !ends {
            self.pos = start;
            return None;
        }
        Some(if negative { -value } else { value })
    }

    /// Reads a decimal number in brackets; numbers that octal would change are not plain.
    #[inline]
    fn bracketed(&mut self) -> Option<i64> {
        if self.byte() == b'0' && self.at(1).is_ascii_digit() {
            return None;
        }
        let n = self.index(4)?;
        self.ended()?;
        Some(n)
    }

    fn named(&mut self, p: &Parser<'s, '_>) -> Option<(u16, u8)> {
        let word = self.word();
        self.ended()?;
        match word {
            "vcc" => Some((VCC, 2)),
            "exec" => Some((EXEC, 2)),
            _ => named(word, self.generation, p.clrx)?.ok(),
        }
    }

    fn register_val(&mut self, p: &mut Parser<'s, '_>) -> Option<Val> {
        let (code, count) = self.register(p)?;
        Some(Val::Reg(code, count))
    }

    /// Reads a register by number, VCC or a short decimal number, and the comma before it if one is expected; `None`
    /// if something else comes next.
    #[inline]
    fn plain_operand(&mut self, comma: bool, used: &mut [u32; 2]) -> Option<Plain> {
        if comma && self.byte() == b',' && self.at(1) == b' ' {
            self.pos += 2;
        } else if comma {
            self.blanks();
            self.eat(b',')?;
        }
        self.blanks();
        let (code, count) = match self.byte() {
            b'v' if self.at(1) == b'c' => {
                let end = self.pos + 3;
                let named = self.bytes.get(self.pos..end) == Some(b"vcc");
                self.pos = end;
                self.ended().filter(|()| named)?;
                (VCC, 2)
            }
            b'v' => {
                let (first, last) = self.numbers()?;
                tuple(File::V, first, last, self.generation, used)?
            }
            b's' => {
                let (first, last) = self.numbers()?;
                tuple(File::S, first, last, self.generation, used)?
            }
            _ => return self.small().map(Plain::Integer),
        };
        Some(Plain::Register(code, count))
    }

    /// Reads the numbers of registers after the letter that is next: `v1`, `v[1]` or `v[1:2]`.
    #[inline]
    fn numbers(&mut self) -> Option<(i64, i64)> {
        let start = self.pos + 1;
        let text: &[u8; 12] = self.bytes.get(start..)?.first_chunk()?;
        let (number, len) = leading_number(text.first_chunk()?);
        if len > 0 {
            self.pos = start + len;
            self.ended()?;
            return Some((number, number));
        }
        let rest = text.strip_prefix(b"[")?;
        let (first, len) = leading_number(rest.first_chunk()?);
        // Octal would change a number that begins with 0.
        let octal = |text: &[u8], len| len > 1 && text[0] == b'0';
        if len == 0 || octal(rest, len) {
            return None;
        }
        let (last, end) = match rest[len] {
            b']' => (first, len),
            b':' => {
                let rest = &rest[len + 1..];
                let (last, more) = leading_number(rest.first_chunk()?);
                if more == 0 || octal(rest, more) || rest[more] != b']' {
                    return None;
                }
                (last, len + 1 + more)
            }
            _ => return None,
        };
        self.pos = start + 1 + end + 1;
        Some((first, last))
    }

    /// One operand.
    #[inline]
    fn operand(&mut self, p: &mut Parser<'s, '_>) -> Option<Operand> {
        let plain = |val| Some(Operand::new(val, Span::default()));
        match self.byte() {
            b'0'..=b'9' => plain(self.literal(false, p.clrx)?),
            b'-' if self.at(1).is_ascii_digit() => {
                self.pos += 1;
                plain(self.literal(true, p.clrx)?)
            }
            b'-' | b'|' => self.changed(p),
            b'a'..=b'z' => {
                let start = self.pos;
                let word = self.word();
                if self.byte() == b'(' {
                    return self.call(word, p);
                }
                if word == "off" {
                    self.ended()?;
                    return plain(Val::Off);
                }
                self.pos = start;
                plain(self.register_val(p)?)
            }
            _ => None,
        }
    }

    fn literal(&mut self, negative: bool, clrx: bool) -> Option<Val> {
        match self.number()? {
            Tok::Int(value) if negative => Some(Val::Int((value as i64).wrapping_neg())),
            Tok::Int(value) => Some(Val::Int(value as i64)),
            // In CLRX's syntax floats have other semantics.
            Tok::Float(_) if clrx => None,
            Tok::Float(value) => Some(Val::Float(if negative { -value } else { value })),
            _ => None,
        }
    }

    /// Reads `-v0`, `|v0|` and `-|v0|`.
    fn changed(&mut self, p: &mut Parser<'s, '_>) -> Option<Operand> {
        let neg = self.eat(b'-').is_some();
        let mut operand = if self.eat(b'|').is_some() {
            let val = self.register_val(p)?;
            self.eat(b'|')?;
            let mut operand = Operand::new(val, Span::default());
            operand.abs = true;
            operand
        } else if self.byte().is_ascii_lowercase() {
            let val = self.register_val(p)?;
            Operand::new(val, Span::default())
        } else {
            return None;
        };
        operand.neg = neg;
        Some(operand)
    }

    /// Reads `abs(v0)`, `neg(v0)`, `sext(v0)` and `lit(1)`; `(` is next.
    fn call(&mut self, word: &str, p: &mut Parser<'s, '_>) -> Option<Operand> {
        self.pos += 1;
        // In CLRX's syntax sext selects the encoding.
        if p.clrx && word == "sext" {
            return None;
        }
        let val = match word {
            "lit" => {
                let negative = self.eat(b'-').is_some();
                if !self.byte().is_ascii_digit() {
                    return None;
                }
                match self.literal(negative, p.clrx)? {
                    Val::Int(value) => Val::LitInt(value),
                    Val::Float(value) => Val::LitFloat(value),
                    _ => return None,
                }
            }
            "abs" | "neg" | "sext" if self.byte().is_ascii_lowercase() => self.register_val(p)?,
            _ => return None,
        };
        self.eat(b')')?;
        let mut operand = Operand::new(val, Span::default());
        operand.abs = word == "abs";
        operand.neg = word == "neg";
        operand.sext = word == "sext";
        Some(operand)
    }

    /// Reads the counters of s_waitcnt.
    fn waitcnt(&mut self, target: Target) -> Option<Operand> {
        let generation = target.generation();
        let none = names::waitcnt(0xffff, generation);
        let most = [none.vm.1, none.exp.1, none.lgkm.1];
        let mut counts = [None; 3];
        loop {
            let n = match self.word() {
                "vmcnt" => 0,
                "expcnt" => 1,
                "lgkmcnt" => 2,
                _ => return None,
            };
            self.eat(b'(')?;
            let value = u32::try_from(self.unsigned()?).ok()?;
            self.eat(b')')?;
            if value > most[n] || counts[n].is_some() {
                return None;
            }
            counts[n] = Some(value);
            self.blanks();
            if matches!(self.byte(), b'&' | b',') {
                self.pos += 1;
                self.blanks();
                if !self.byte().is_ascii_lowercase() {
                    return None;
                }
            }
            if !self.byte().is_ascii_lowercase() {
                break;
            }
        }
        let get = |n: usize| counts[n].unwrap_or(most[n]);
        let value = names::waitcnt_simm(get(0), get(1), get(2), generation);
        Some(Operand::new(Val::Imm(Imm::Waitcnt, value), Span::default()))
    }

    #[inline]
    fn blanks(&mut self) {
        while KIND[self.byte() as usize] & BLANK != 0 {
            self.pos += 1;
        }
    }

    /// Reads the name that ends the line, if it can only be a symbol's.
    fn label(&mut self, p: &Parser<'s, '_>) -> Option<Span> {
        let start = self.pos;
        let number =
            !is_ident_start(self.byte()) || self.byte() == b'.' && self.at(1).is_ascii_digit();
        let name = self.ident();
        let other = number
            || name == "."
            || name == "off"
            || numbered(name).is_some()
            || named(name, self.generation, p.clrx).is_some()
            || modifier(name).is_some()
            || p.clrx && name.bytes().any(|c| c.is_ascii_uppercase());
        let label = Span {
            start: start as u32,
            end: self.pos as u32,
        };
        (!other && self.end_of_line(false)).then_some(label)
    }

    /// Returns true if a modifier, not an operand, comes next.
    #[inline]
    fn at_modifier(&self, have: usize, most: usize) -> Option<bool> {
        // Most operands are registers by number.
        if !self.byte().is_ascii_lowercase() || self.at_number() {
            return Some(false);
        }
        let mut ahead = Cursor { ..*self };
        let word = ahead.word();
        let next = ahead.byte();
        let other = matches!(word, "vcc" | "exec" | "off") || modifier(word).is_none();
        if other {
            return Some(false);
        }
        ahead.blanks();
        if next != b':' && ahead.byte() == b':' {
            return None;
        }
        Some(next == b':' || have >= most)
    }

    /// Like [`Cursor::modifier`], which calls this only for new modifiers.
    #[inline]
    fn known_modifier(&mut self, known: &mut [(&'s str, Modifier)]) -> Option<Modifier> {
        let start = self.pos;
        let text = self.take(|c| c != b' ' && c != b'\n');
        let slot = &mut known[hash(text.as_bytes(), None) % KNOWN];
        if slot.0 == text && !text.is_empty() {
            return Some(slot.1);
        }
        let end = std::mem::replace(&mut self.pos, start);
        let modifier = self.modifier()?;
        if self.pos == end {
            *slot = (text, modifier);
        }
        Some(modifier)
    }

    /// Reads the modifiers up to the end of the line; `None` if they are not plain, or request another encoding.
    fn known_modifiers(
        &mut self,
        known: &mut [(&'s str, Modifier)],
        modifiers: &mut Vec<Modifier>,
        form: Option<Form>,
    ) -> Option<()> {
        modifiers.clear();
        loop {
            let m = self.known_modifier(known)?;
            let twice = modifiers.iter().any(|o| o.what == m.what);
            let other = asked_form(&m).is_some_and(|asked| form != Some(asked));
            if twice || other || modifiers.len() >= MOST {
                return None;
            }
            modifiers.push(m);
            let mut ended = self.end_of_line(false);
            if !ended && self.byte() == b',' {
                self.pos += 1;
                ended = self.end_of_line(false);
            }
            if ended {
                return Some(());
            }
        }
    }

    fn modifier(&mut self) -> Option<Modifier> {
        let word = self.word();
        let (what, arg) = modifier(word)?;
        let colon = self.eat(b':');
        let value = match arg {
            Arg::Fixed(value) if colon.is_none() => value,
            Arg::Flag if colon.is_none() => 1,
            Arg::Wave(base) if colon.is_none() => base,
            _ if colon.is_none() => return None,
            // `bound_ctrl:0` sets the bit, too.
            Arg::Flag if what == Sets::BoundCtrl => {
                within(self.integer()?, 0, 1)?;
                1
            }
            Arg::Flag => within(self.integer()?, 0, 1)? as u64,
            Arg::Wave(base) => {
                within(self.integer()?, 1, 1)?;
                base
            }
            Arg::Number => self.integer()? as u64,
            Arg::Plus(base, from, to) => base + within(self.integer()?, from, to)? as u64,
            Arg::OneOf(list) => {
                let value = self.integer()?;
                list.iter().find(|(n, _)| *n == value)?.1
            }
            Arg::Select(table) => {
                let word = self.ident();
                let is = |(llvm, clrx): &(&str, &str)| *llvm == word || *clrx == word;
                table.iter().position(is)? as u64
            }
            Arg::List => {
                self.eat(b'[')?;
                let (mut bits, mut n) = (0, 0u64);
                loop {
                    bits |= (within(self.integer()?, 0, 1)? as u64) << n;
                    n += 1;
                    if self.eat(b',').is_none() {
                        break;
                    }
                    if n == 4 {
                        return None;
                    }
                }
                self.eat(b']')?;
                bits | n << 8
            }
            Arg::QuadPerm => {
                self.eat(b'[')?;
                let mut value = 0;
                for k in 0..4 {
                    if k > 0 {
                        self.eat(b',')?;
                    }
                    value |= (within(self.integer()?, 0, 3)? as u64) << (2 * k);
                }
                self.eat(b']')?;
                value
            }
            _ => return None,
        };
        self.ended()?;
        Some(Modifier {
            what,
            value,
            span: Span::default(),
        })
    }
}

/// Returns the number of up to three decimal digits at the start of a text, and their count; a count of 0 if there are none, or
/// more.
#[inline]
fn leading_number(text: &[u8; 4]) -> (i64, usize) {
    let digits = u32::from_le_bytes(*text) ^ 0x3030_3030;
    // The high bit of each byte that is not a digit.
    let other = (((digits & 0x7f7f_7f7f) + 0x7676_7676) | digits) & 0x8080_8080;
    let count = other.trailing_zeros() / 8;
    if !(1..=3).contains(&count) {
        return (0, 0);
    }
    let [_, hundreds, tens, ones] = (digits << (32 - 8 * count)).to_le_bytes();
    let number = hundreds as i64 * 100 + tens as i64 * 10 + ones as i64;
    (number, count as usize)
}

fn within(value: i64, from: i64, to: i64) -> Option<i64> {
    (from..=to).contains(&value).then_some(value)
}

/// The characters of mnemonics, and of most names.
const SMALL: u8 = 1;
/// The characters between words.
const BLANK: u8 = 2;
/// The characters that may begin a comment.
const COMMENT: u8 = 4;

/// The kinds of each character.
static KIND: [u8; 256] = {
    let mut table = [0; 256];
    let mut c = 0;
    while c < 256 {
        table[c] = match c as u8 {
            b'a'..=b'z' | b'0'..=b'9' | b'_' => SMALL,
            b' ' | b'\t' | b'\r' => BLANK,
            b';' | b'#' | b'/' => COMMENT,
            _ => 0,
        };
        c += 1;
    }
    table
};

static HEX: [Option<u8>; 256] = {
    let mut table = [None; 256];
    let mut c = 0;
    while c < 256 {
        table[c] = match c as u8 {
            d @ b'0'..=b'9' => Some(d - b'0'),
            d @ b'a'..=b'f' => Some(d - b'a' + 10),
            d @ b'A'..=b'F' => Some(d - b'A' + 10),
            _ => None,
        };
        c += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::{WORD, leading_number, word_length};

    #[test]
    fn numbers_of_registers_are_up_to_three_digits() {
        let characters = b"0159 ,:]av/\0\xb2\xff";
        for n in 0..characters.len().pow(4) {
            let text =
                [0, 1, 2, 3].map(|at| characters[n / characters.len().pow(at) % characters.len()]);
            let count = text.iter().take_while(|c| c.is_ascii_digit()).count();
            let expected = match count {
                1..=3 => (
                    str::from_utf8(&text[..count]).unwrap().parse().unwrap(),
                    count,
                ),
                _ => (0, 0),
            };
            assert_eq!(leading_number(&text), expected, "{text:?}");
        }
    }

    #[test]
    fn words_end_before_blanks_and_control_characters() {
        for end in 0..=255 {
            for at in 0..WORD {
                let mut text = [0xc3; WORD];
                text[at] = end;
                text[WORD - 1 - at / 2] = b'z';
                let expected = text.iter().position(|c| *c <= b' ').unwrap_or(WORD);
                assert_eq!(word_length(&text), expected, "{text:?}");
            }
        }
    }
}
