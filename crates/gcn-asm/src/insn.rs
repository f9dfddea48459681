//! One instruction: the look-up of its mnemonic in the rows, and the encoding of its operands.

use crate::direct::Directs;
use crate::expr::Expr;
use crate::lexer::{Span, Tok};
use crate::operand::{Constant, Lower, Operand, Val, graphics, number_as};
use crate::parse::{Fail, Parser};
use gcn_isa::decode::image_data_dwords;
use gcn_isa::encode::{Encoder, export_sources};
use gcn_isa::inst::Flags;
use gcn_isa::modifier::{Arg, Dialect, Form, MODIFIERS, Sets, by_name};
use gcn_isa::names::Swizzle;
use gcn_isa::operand::{EXEC, LDS_DIRECT, LITERAL, M0, VCC, VGPR0};
use gcn_isa::print::packed_default;
use gcn_isa::shape::{Access, Imm, Mods, Role, Slot, Ty};
use gcn_isa::{Encoding, Field, Format, Gen, Inst, Target, insts, names};
use gcn_object::target::Machine;

/// A modifier as it was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modifier {
    pub what: Sets,
    pub value: u64,
    pub span: Span,
}

/// Returns the field that the modifier of a name sets, and the form of its value.
pub(crate) fn modifier(name: &str) -> Option<(Sets, Arg)> {
    let row = by_name(name).filter(|row| row.dialect == Dialect::Both)?;
    Some((row.sets, row.arg))
}

/// Like `modifier`, including modifiers that only CLRX has.
fn clrx_modifier(name: &str) -> Option<(Sets, Arg)> {
    by_name(name).map(|row| (row.sets, row.arg))
}

/// Returns LLVM's name for CLRX's short names of SDWA selections: `b0`, `w1`.
fn short_select(word: &str) -> &str {
    match word.as_bytes() {
        [b'b' | b'B', b'0'] => "byte0",
        [b'b' | b'B', b'1'] => "byte1",
        [b'b' | b'B', b'2'] => "byte2",
        [b'b' | b'B', b'3'] => "byte3",
        [b'w' | b'W', b'0'] => "word0",
        [b'w' | b'W', b'1'] => "word1",
        [b'd' | b'D', b'w' | b'W'] => "dword",
        _ => word,
    }
}

/// Applies `abs:`, `neg:` and `sext:` to the sources. For packed instructions `neg:` is `neg_lo:`.
fn listed_mods(row: &'static Inst, operands: &mut [Operand], modifiers: &mut [Modifier]) {
    for m in modifiers {
        if m.what == Sets::Neg && row.format == Format::Vop3p {
            m.what = Sets::Bits3(Field::Neg);
        }
        if !matches!(m.what, Sets::Abs | Sets::Neg | Sets::Sext) {
            continue;
        }
        for (n, role) in [Role::Src0, Role::Src1, Role::Src2].into_iter().enumerate() {
            let at = row.shape.slots.iter().position(|s| s.role == role);
            if m.value >> n & 1 == 0 {
                continue;
            }
            if let Some(operand) = at.and_then(|at| operands.get_mut(at)) {
                operand.abs |= m.what == Sets::Abs;
                operand.neg |= m.what == Sets::Neg;
                operand.sext |= m.what == Sets::Sext;
            }
        }
    }
}

/// Turns constants into literals, which `_e64` of a scalar instruction requests.
fn literals(operands: &mut [Operand]) {
    for operand in operands {
        operand.val = match operand.val {
            Val::Int(value) => Val::LitInt(value),
            Val::Float(value) => Val::LitFloat(value),
            Val::FloatAs(value, width) => Val::LitFloatAs(value, width),
            _ => continue,
        };
    }
}

/// Returns true if an instruction has the length of CLRX's suffix; `_e32` may have a literal.
fn has_size(encoder: &Encoder, form: Option<Form>) -> bool {
    let long = encoder.bytes().1;
    match form {
        Some(Form::E32) => long == 4 || encoder.literal.is_some(),
        Some(Form::E64) => long == 8,
        _ => true,
    }
}

/// A rule that an instruction breaks, although it can be encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Violation {
    pub span: Span,
    pub message: &'static str,
}

/// An assembled instruction.
pub(crate) struct Assembled {
    pub bytes: [u8; 12],
    pub len: usize,
    /// The expression that sets the literal.
    pub literal: Option<(Expr, Span)>,
    /// The expression that sets the branch distance in SIMM16.
    pub branch: Option<(Expr, Span)>,
    /// Broken rules, if they are permitted.
    pub violations: Vec<Violation>,
    pub warning: Option<(Span, &'static str)>,
}

/// The reason why an encoding does not fit. Messages are formatted only after all encodings have failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Miss {
    span: Span,
    why: Why,
    /// The number of operands that fitted.
    at: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Why {
    Text(&'static str),
    /// Expected, found.
    Count(usize, usize),
    /// A register of this many dwords in this file was expected.
    Register(&'static str, u8),
    /// As `Register`, and the number of dwords found.
    Width(&'static str, u8, u8),
    /// From, to.
    Range(&'static str, i64, i64),
    /// A modifier that the encoding does not have.
    Modifier,
    Violation(&'static str),
}

/// XNACK_MASK of gfx8 and gfx9.
const XNACK_MASK: u16 = 104;
const XNACK_MASK_HI: u16 = 105;

/// The upper half of EXEC.
const EXEC_HI: u16 = EXEC + 1;

const EXPORT_TARGETS: &str = "expected mrt0 to mrt7, mrtz, null, pos0 to pos3 or param0 to param31";

/// The result of fitting an encoding to the operands.
struct Fit {
    encoder: Encoder,
    /// The operand whose expression sets the literal or SIMM16.
    literal: Option<usize>,
    branch: Option<usize>,
    violations: Vec<Violation>,
    warning: Option<(Span, &'static str)>,
}

/// Applies a `bits:` among the modifiers to the encoder's bits.
pub(crate) fn finished(mut encoder: Encoder, modifiers: &[Modifier]) -> Encoder {
    if let Some(m) = modifiers.iter().find(|m| m.what == Sets::Bits) {
        encoder.bits ^= m.value;
    }
    encoder
}

/// Splits a mnemonic into the name and the encoding that its suffix names.
pub(crate) fn split_form(full: &str) -> (&str, Option<Form>) {
    match full.rsplit_once('_') {
        Some((stem, "e32")) => (stem, Some(Form::E32)),
        Some((stem, "e64")) => (stem, Some(Form::E64)),
        Some((stem, "sdwa")) => (stem, Some(Form::Sdwa)),
        Some((stem, "dpp")) => (stem, Some(Form::Dpp)),
        _ => (full, None),
    }
}

/// Returns the rows of a name on a target: first those that have the name in the current
/// dialect.
pub(crate) fn rows_of(name: &str, clrx: bool, target: Target) -> [Option<&'static Inst>; 8] {
    let mut rows = [None; 8];
    let mut n = 0;
    for first in [true, false] {
        for row in insts::by_name(name) {
            let own = if clrx {
                row.clrx.unwrap_or(row.name)
            } else {
                row.name
            };
            if (own == name) == first && insts::exists(row, target) && n < rows.len() {
                rows[n] = Some(row);
                n += 1;
            }
        }
    }
    rows
}

/// The value of `vop3:0` and the like: the encoding is not requested.
const NOT_ASKED: u64 = 1;

/// Returns the encoding that a modifier belongs to.
pub(crate) fn asked_form(m: &Modifier) -> Option<Form> {
    match m.what {
        Sets::Form(form) => (m.value != NOT_ASKED).then_some(form),
        Sets::Number(Field::DstSel | Field::DstUnused | Field::Src0Sel | Field::Src1Sel) => {
            Some(Form::Sdwa)
        }
        Sets::DppCtrl | Sets::BoundCtrl | Sets::Number(Field::RowMask | Field::BankMask) => {
            Some(Form::Dpp)
        }
        _ => None,
    }
}

const MAX_OPERANDS: usize = 16;

/// Adds a modifier to the previous ones. In CLRX's syntax the last of several takes precedence.
fn add(modifiers: &mut Vec<Modifier>, m: Modifier, clrx: bool) -> Result<(), Fail> {
    let offsets = |m: &Modifier| matches!(m.what, Sets::Offset | Sets::Swizzle);
    let twice = |o: &Modifier| o.what == m.what || offsets(o) && offsets(&m);
    if clrx {
        modifiers.retain(|o| !twice(o));
    } else if modifiers.iter().any(twice) {
        return Err(Fail::new(m.span, "this modifier is given twice"));
    }
    modifiers.push(m);
    Ok(())
}

impl<'s> Parser<'s, '_> {
    /// Reads an instruction that begins at the current token.
    pub fn instruction(&mut self, permissive: bool) -> Result<Assembled, Fail> {
        let name_span = self.span();
        let text = self.text(name_span);
        self.next();
        let lower = Lower::new(text);
        let full = lower.as_ref().map_or("", Lower::as_str);
        let (name, mut form) = split_form(full);
        let target = self.target;
        let rows = rows_of(name, self.clrx, target);
        let rows = || rows.iter().flatten().copied();
        let Some(first) = rows().next() else {
            return Err(self.unknown(name_span, full, name));
        };

        let waits = matches!(
            first.shape.slots.first(),
            Some(Slot {
                role: Role::Imm(Imm::Waitcnt),
                ..
            })
        );
        let most = rows().map(|r| r.shape.slots.len()).max().unwrap_or(0);
        let has = |role| rows().any(|r| r.shape.slots.iter().any(|s| s.role == role));
        let exports = has(Role::ExpTgt);
        let graphic = exports || has(Role::Attr);
        let typed = rows().any(|r| r.shape.mods == Mods::Typed);
        let mut operands: Vec<Operand> = Vec::with_capacity(most);
        let mut modifiers: Vec<Modifier> = Vec::new();
        if most > 0 && !self.at_end() && !self.at_modifier(operands.len(), most) {
            loop {
                // In LLVM's syntax the format of a typed buffer is among the operands.
                if typed && self.at_modifier(operands.len(), most) {
                    let m = self.modifier()?;
                    add(&mut modifiers, m, self.clrx && !self.sym.strict)?;
                    self.eat(b',');
                    if self.at_end() {
                        break;
                    }
                    continue;
                }
                let operand = if waits {
                    self.waitcnt()?
                } else if graphic && let Some(operand) = self.graphics_operand() {
                    operand
                } else if exports && operands.is_empty() {
                    return Err(Fail::new(self.span(), EXPORT_TARGETS));
                } else {
                    self.operand()?
                };
                let target = matches!(operand.val, Val::Graphics(Role::ExpTgt, _));
                operands.push(operand);
                // LLVM has no comma after the target of an export.
                if exports && target && !self.at_end() && self.peek() != Tok::Punct(b',') {
                    continue;
                }
                let comma = self.eat(b',');
                if !typed && self.at_modifier(operands.len(), most) {
                    break;
                }
                // LLVM needs no comma between operands, and accepts one after the last.
                if !comma && (self.clrx || operands.len() >= most || !self.at_operand(typed))
                    || comma && !self.clrx && self.at_end()
                {
                    break;
                }
                if operands.len() > MAX_OPERANDS {
                    return Err(Fail::new(self.span(), "expected fewer operands"));
                }
            }
        }
        while !self.at_end() {
            let m = self.modifier()?;
            add(&mut modifiers, m, self.clrx && !self.sym.strict)?;
            self.eat(b',');
        }
        if self.clrx {
            listed_mods(first, &mut operands, &mut modifiers);
        }
        for m in &modifiers {
            let Some(asked) = asked_form(m) else {
                continue;
            };
            if form.is_some_and(|f| f != asked) {
                return Err(Fail::new(
                    m.span,
                    "this modifier belongs to another encoding",
                ));
            }
            form = Some(asked);
        }
        // CLRX writes no `sdwa` if an operand implies it.
        if self.clrx && form.is_none() && operands.iter().any(|o| o.sext) {
            form = first
                .has_sdwa(target.generation())
                .then_some(Form::Sdwa)
                .filter(|_| matches!(first.format, Format::Vop1 | Format::Vop2 | Format::Vopc));
        }
        let scalar = matches!(
            first.format,
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk
        );
        if self.clrx && scalar && form == Some(Form::E64) {
            literals(&mut operands);
        }

        let mut best: Option<Miss> = None;
        let mut broken: Option<Fit> = None;
        for row in rows() {
            for encoding in encodings(row, form, target, self.clrx) {
                let fitting = Fitting::new(self, row, encoding, &operands, &modifiers, name_span);
                let miss = match fitting.and_then(Fitting::fit) {
                    Ok(fit) if self.clrx && !has_size(&fit.encoder, form) => Miss {
                        span: name_span,
                        why: Why::Text(match form {
                            Some(Form::E32) => "this instruction is not 32 bits long",
                            _ => "this instruction is not 64 bits long",
                        }),
                        at: MAX_OPERANDS,
                    },
                    Ok(fit) if fit.violations.is_empty() => {
                        return Ok(self.finish(fit, operands, &modifiers));
                    }
                    Ok(fit) => {
                        let v = fit.violations[0];
                        if broken.is_none() {
                            broken = Some(fit);
                        }
                        Miss {
                            span: v.span,
                            why: Why::Violation(v.message),
                            at: MAX_OPERANDS,
                        }
                    }
                    Err(miss) => miss,
                };
                if best.is_none_or(|b| miss.at >= b.at) {
                    best = Some(miss);
                }
            }
        }
        if permissive && let Some(fit) = broken {
            return Ok(self.finish(fit, operands, &modifiers));
        }
        let name = (name, name_span);
        Err(self.refusal(name, rows(), form, best))
    }

    /// Returns the error for an instruction that no encoding fits, based on the encoding that fits best.
    fn refusal(
        &self,
        (name, name_span): (&str, Span),
        rows: impl Iterator<Item = &'static Inst>,
        form: Option<Form>,
        best: Option<Miss>,
    ) -> Fail {
        let target = self.target;
        let generation = target.generation();
        let Some(miss) = best else {
            let what = match form {
                Some(Form::E64) => "VOP3",
                Some(Form::Sdwa) => "SDWA",
                Some(Form::Dpp) => "DPP",
                _ => "32-bit",
            };
            return Fail::new(
                name_span,
                format!("{name} has no {what} encoding on {}", target.name()),
            );
        };
        let mut shapes: Vec<String> = Vec::new();
        for row in rows {
            for encoding in encodings(row, form, target, self.clrx) {
                if gcn_isa::format::layout_of(encoding, generation).is_some() {
                    shapes.push(syntax(row, encoding));
                }
            }
        }
        shapes.dedup();
        shapes.truncate(5);
        let message = match miss.why {
            Why::Text(text) | Why::Violation(text) => text.to_string(),
            Why::Count(wanted, found) => {
                let s = if wanted == 1 { "" } else { "s" };
                format!("expected {wanted} operand{s}, found {found}")
            }
            Why::Register(file, 1) => format!("expected {file}"),
            Why::Register(file, n) => format!("expected {file}, {n} registers wide"),
            Why::Width(file, 1, found) => {
                format!("expected {file}, one register wide, found {found} registers")
            }
            Why::Width(file, n, found) => {
                let s = if found == 1 { "" } else { "s" };
                format!("expected {file}, {n} registers wide, found {found} register{s}")
            }
            Why::Range(what, from, to) => format!("expected {what} from {from} to {to}"),
            Why::Modifier => "this instruction does not take this modifier".to_string(),
        };
        let mut fail = Fail::new(miss.span, message);
        if !shapes.is_empty() {
            fail = fail.help(format!("it is {}", shapes.join("\n     or ")));
        }
        fail
    }

    fn finish(&self, fit: Fit, operands: Vec<Operand>, modifiers: &[Modifier]) -> Assembled {
        let (bytes, len) = finished(fit.encoder, modifiers).bytes();
        let (mut literal, mut branch) = (None, None);
        for (n, operand) in operands.into_iter().enumerate() {
            if let Val::Expr(expr) = operand.val {
                if fit.branch == Some(n) {
                    branch = Some((expr, operand.span));
                } else if fit.literal == Some(n) {
                    literal = Some((expr, operand.span));
                }
            }
        }
        Assembled {
            bytes,
            len,
            literal,
            branch,
            violations: fit.violations,
            warning: fit.warning,
        }
    }

    fn graphics_operand(&mut self) -> Option<Operand> {
        if self.peek() != Tok::Ident {
            return None;
        }
        let span = self.span();
        if self.clrx
            && let Some(operand) = self.attribute_in_parts()
        {
            return Some(operand);
        }
        let lower = Lower::new(self.text(span))?;
        let val = graphics(lower.as_str())?;
        self.next();
        Some(Operand::new(val, span))
    }

    /// Returns true if an operand may begin here.
    fn at_operand(&self, typed: bool) -> bool {
        let name = match self.peek() {
            Tok::Ident => Lower::new(self.text(self.span())),
            _ => None,
        };
        if let Some(name) = name {
            let name = name.as_str();
            let off = name.strip_prefix("no").and_then(modifier);
            return typed || modifier(name).is_none() && off.is_none();
        }
        matches!(
            self.peek(),
            Tok::Int(_)
                | Tok::Float(_)
                | Tok::LocalRef(..)
                | Tok::Punct(b'-' | b'|' | b'[' | b'(' | b'+' | b'~' | b'!')
        )
    }

    /// Returns true if a modifier, not an operand, comes next.
    fn at_modifier(&self, have: usize, most: usize) -> bool {
        if self.peek() != Tok::Ident {
            return false;
        }
        let Some(lower) = Lower::new(self.text(self.span())) else {
            return false;
        };
        let name = lower.as_str();
        if self.clrx && self.double_colon(1) {
            return false;
        }
        let known = match self.clrx {
            true => clrx_modifier(name).is_some(),
            false => modifier(name).is_some(),
        };
        known && (self.peek_at(1) == Tok::Punct(b':') || have >= most)
    }

    /// Reads `attr26 . w`, which CLRX accepts in parts.
    fn attribute_in_parts(&mut self) -> Option<Operand> {
        let start = self.span();
        let text = self.text(start);
        let attr = text
            .get(..4)
            .is_some_and(|t| t.eq_ignore_ascii_case("attr"));
        if !attr || text.len() > 8 {
            return None;
        }
        let mut name = String::new();
        for n in 0..3 {
            if self.peek_at(n) != Tok::Ident {
                return None;
            }
            name.push_str(self.text(self.span_at(n)));
            name.make_ascii_lowercase();
            if name.len() > 8 {
                return None;
            }
            if let Some(val) = graphics(&name) {
                self.at += n + 1;
                return Some(Operand::new(val, start.to(self.last_span())));
            }
        }
        None
    }

    /// Reads CLRX's modifier for a field that the instruction ignores.
    fn ignored(&mut self, name: &str, span: Span) -> Result<Option<Modifier>, Fail> {
        let bit = names::IGNORED_BITS.iter().position(|b| b.1 == name);
        let what = match bit {
            Some(n) => {
                self.next();
                (Sets::IgnoredBit(names::IGNORED_BITS[n].0, n as u8 / 2), 1)
            }
            None if self.peek_at(1) == Tok::Punct(b'=') => {
                // The encoding determines the field.
                let Some(known) = names::ignored_name(name) else {
                    return Ok(None);
                };
                self.next();
                self.next();
                (Sets::Ignored(known), self.absolute()? as u64)
            }
            None => return Ok(None),
        };
        Ok(Some(Modifier {
            what: what.0,
            value: what.1,
            span: span.to(self.last_span()),
        }))
    }

    fn modifier(&mut self) -> Result<Modifier, Fail> {
        let span = self.span();
        if self.peek() != Tok::Ident {
            return Err(Fail::new(
                span,
                format!(
                    "expected `,`, a modifier or the end, found {}",
                    self.found()
                ),
            ));
        }
        let text = self.text(span);
        let lower = Lower::new(text);
        let name = lower.as_ref().map_or("", Lower::as_str);
        if self.clrx
            && let Some(m) = self.ignored(name, span)?
        {
            return Ok(m);
        }
        // LLVM's `noclamp` and the like.
        let off = name
            .strip_prefix("no")
            .filter(|_| !self.clrx)
            .and_then(modifier)
            .filter(|(_, arg)| matches!(arg, Arg::Flag));
        if let Some((what, _)) = off {
            self.next();
            let value = 0;
            return Ok(Modifier { what, value, span });
        }
        let known = match self.clrx {
            true => clrx_modifier(name),
            false => modifier(name),
        };
        let Some((mut what, arg)) = known else {
            if self.starts_register(0) {
                return Err(Fail::new(
                    span,
                    format!("expected `,` before the operand `{text}`"),
                ));
            }
            let fail = Fail::new(span, format!("there is no modifier `{text}`"));
            let known = MODIFIERS
                .iter()
                .filter(|row| self.clrx || row.dialect == Dialect::Both);
            return Err(match nearest(name, known.map(|row| row.name)) {
                Some(near) => fail.help(format!("did you mean `{near}`?")),
                None => fail,
            });
        };
        self.next();
        let value = self.argument(name, &mut what, arg)?;
        Ok(Modifier {
            what,
            value,
            span: span.to(self.last_span()),
        })
    }

    /// Reads the argument after a modifier's name.
    fn argument(&mut self, name: &str, what: &mut Sets, arg: Arg) -> Result<u64, Fail> {
        Ok(match arg {
            // `vop3:0` does not request the encoding.
            Arg::Fixed(_) if self.clrx && matches!(*what, Sets::Form(_)) && self.is(b':') => {
                self.next();
                match self.enables(name)? {
                    true => 0,
                    false => NOT_ASKED,
                }
            }
            Arg::Fixed(value) => value,
            Arg::Flag if !self.is(b':') => 1,
            Arg::Flag => {
                self.next();
                self.flag(name, *what)?
            }
            Arg::Wave(base) => {
                if self.eat(b':') {
                    self.ranged(name, 1, 1)?;
                }
                base
            }
            Arg::Number => {
                self.expect(b':')?;
                if *what == Sets::Offset
                    && self.peek() == Tok::Ident
                    && self.is_word(self.text(self.span()), "swizzle")
                    && self.peek_at(1) == Tok::Punct(b'(')
                {
                    *what = Sets::Swizzle;
                    self.swizzle()? as u64
                } else {
                    self.absolute_or_later()? as u64
                }
            }
            Arg::Plus(base, from, to) => {
                self.expect(b':')?;
                base + self.ranged(name, from, to)? as u64
            }
            Arg::OneOf(list) => self.one_of(name, list)?,
            Arg::Select(table) => self.selection(name, table)?,
            Arg::List if self.clrx && self.peek_at(1) != Tok::Punct(b'[') => {
                self.expect(b':')?;
                self.ranged(name, 0, 15)? as u64
            }
            Arg::List => self.bit_list(name)?,
            Arg::Format => {
                self.expect(b':')?;
                self.buffer_format()?
            }
            Arg::QuadPerm => self.quad_perm()?,
        })
    }

    /// Reads `:0` and the like after a flag's name.
    fn flag(&mut self, name: &str, what: Sets) -> Result<u64, Fail> {
        // `bound_ctrl:0` sets the bit; in CLRX's syntax a second number says whether to set it.
        if what == Sets::BoundCtrl {
            self.ranged(name, 0, 1)?;
            if !self.clrx || !self.eat(b':') {
                return Ok(1);
            }
        }
        if !self.clrx {
            return Ok(self.ranged(name, 0, 1)? as u64);
        }
        Ok(self.enables(name)? as u64)
    }

    fn one_of(&mut self, name: &str, list: &[(i64, u64)]) -> Result<u64, Fail> {
        self.expect(b':')?;
        let start = self.span();
        let value = self.absolute()?;
        match list.iter().find(|(n, _)| *n == value) {
            Some((_, bits)) => Ok(*bits),
            None => {
                let list: Vec<String> = list.iter().map(|(n, _)| n.to_string()).collect();
                Err(Fail::new(
                    start.to(self.last_span()),
                    format!("expected {name}:{}", list.join(" or ")),
                ))
            }
        }
    }

    /// Reads a selection of SDWA, by name or number.
    fn selection(&mut self, name: &str, table: &[(&str, &str)]) -> Result<u64, Fail> {
        self.expect(b':')?;
        let start = self.span();
        if self.peek() != Tok::Ident {
            return Ok(self.ranged(name, 0, table.len() as i64 - 1)? as u64);
        }
        let word = self.ident("a name")?;
        let short = match self.clrx {
            true => short_select(word),
            false => word,
        };
        let found = table.iter().position(|(llvm, clrx)| {
            let bare = llvm.strip_prefix("UNUSED_").unwrap_or(llvm);
            let is = |n: &&str| n.eq_ignore_ascii_case(word) || n.eq_ignore_ascii_case(short);
            [*llvm, *clrx, bare].iter().any(is)
        });
        found.map(|n| n as u64).ok_or_else(|| {
            let list: Vec<&str> = table.iter().map(|n| n.0).collect();
            Fail::new(start, format!("expected {}", list.join(", ")))
        })
    }

    /// Reads `:[0,1]`: one bit per item, and the number of items from bit 8 on.
    fn bit_list(&mut self, name: &str) -> Result<u64, Fail> {
        self.expect(b':')?;
        self.expect(b'[')?;
        let (mut bits, mut n) = (0, 0u64);
        loop {
            bits |= (self.ranged(name, 0, 1)? as u64) << n;
            n += 1;
            if n > 4 {
                return Err(Fail::new(self.span(), "expected at most four bits"));
            }
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b']')?;
        Ok(bits | n << 8)
    }

    fn quad_perm(&mut self) -> Result<u64, Fail> {
        self.expect(b':')?;
        self.expect(b'[')?;
        let mut value = 0;
        for k in 0..4 {
            if k > 0 {
                self.expect(b',')?;
            }
            value |= (self.ranged("a lane of the quad", 0, 3)? as u64) << (2 * k);
        }
        self.expect(b']')?;
        Ok(value)
    }

    /// Reads the format of a typed buffer: its number (NFMT above four bits of DFMT) or its names.
    fn buffer_format(&mut self) -> Result<u64, Fail> {
        if !self.eat(b'[') {
            return Ok(self.ranged("a format", 0, 127)? as u64);
        }
        let generation = self.target.generation();
        let (mut dfmt, mut nfmt) = (None, None);
        loop {
            // CLRX's data formats look like numbers.
            let span = self.span();
            if self.clrx && self.eat(b'@') {
                let number = match dfmt {
                    None => &mut dfmt,
                    Some(_) => &mut nfmt,
                };
                *number = Some(self.ranged("a format", 0, 15)? as u64);
                if !self.eat(b',') {
                    break;
                }
                continue;
            }
            while !matches!(self.peek(), Tok::Punct(b',' | b']') | Tok::End) {
                self.next();
            }
            let text = self.text(span.to(self.last_span())).to_ascii_uppercase();
            let data = text.strip_prefix("BUF_DATA_FORMAT_").unwrap_or(&text);
            let number = text.strip_prefix("BUF_NUM_FORMAT_").unwrap_or(&text);
            // CLRX's names are LLVM's in lower case, with two exceptions.
            let clrx = self.clrx;
            let is = |names: (&str, &str), text: &str| {
                names.0 == text || clrx && names.1.eq_ignore_ascii_case(text)
            };
            if let Some(n) = names::DFMT.iter().position(|&names| is(names, data))
                && dfmt.is_none()
            {
                dfmt = Some(n as u64);
            } else if let Some(n) = (0..8).find(|&n| is(names::nfmt(n, generation), number))
                && nfmt.is_none()
            {
                nfmt = Some(n as u64);
            } else {
                return Err(Fail::new(
                    span.to(self.last_span()),
                    "expected one data format and one number format, as in [BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT]",
                ));
            }
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b']')?;
        Ok(dfmt.unwrap_or(1) | nfmt.unwrap_or(0) << 4)
    }

    /// Reads `swizzle(QUAD_PERM,0,1,2,3)` and the like: the offset of ds_swizzle_b32.
    fn swizzle(&mut self) -> Result<u32, Fail> {
        self.next();
        self.next();
        let span = self.span();
        let name = self.ident("the pattern's name")?;
        let pattern = match Swizzle::NAMES.iter().position(|n| self.is_word(name, n)) {
            Some(0) => {
                let mut lanes = 0;
                for k in 0..4 {
                    self.expect(b',')?;
                    lanes |= (self.ranged("a lane of the quad", 0, 3)? as u32) << (2 * k);
                }
                Swizzle::QuadPerm(lanes)
            }
            Some(1) => Swizzle::Swap(self.group_size(1, 16)?),
            Some(2) => Swizzle::Reverse(self.group_size(2, 32)?),
            Some(3) => {
                let size = self.group_size(2, 32)?;
                self.expect(b',')?;
                let lane = self.ranged("a lane of the group", 0, size as i64 - 1)?;
                Swizzle::Broadcast(size, lane as u32)
            }
            Some(_) => {
                self.expect(b',')?;
                let span = self.span();
                let letters = match self.peek() {
                    Tok::Str => self.text(span).trim_matches('"').as_bytes().try_into().ok(),
                    _ => None,
                };
                let letters: Option<[u8; 5]> = letters;
                match letters.filter(|l| l.iter().all(|l| b"01pi".contains(l))) {
                    Some(letters) => {
                        self.next();
                        Swizzle::BitmaskPerm(letters)
                    }
                    None => {
                        return Err(Fail::new(
                            span,
                            "expected five letters 0, 1, p or i in quotes",
                        ));
                    }
                }
            }
            None => {
                let message = format!("expected {}", Swizzle::NAMES.join(", "));
                return Err(Fail::new(span, message));
            }
        };
        self.expect(b')')?;
        Ok(pattern.offset())
    }

    /// Returns true if the text is the given word; LLVM requires the exact case.
    fn is_word(&self, text: &str, word: &str) -> bool {
        text == word || self.clrx && text.eq_ignore_ascii_case(word)
    }

    /// Reads a power of two after a comma.
    fn group_size(&mut self, from: u32, to: u32) -> Result<u32, Fail> {
        self.expect(b',')?;
        let start = self.span();
        let size = self.ranged("the number of lanes", from as i64, to as i64)? as u32;
        if size.is_power_of_two() {
            return Ok(size);
        }
        Err(Fail::new(
            start.to(self.last_span()),
            "expected a power of two",
        ))
    }

    /// Reads the value after the colon of a flag in CLRX's syntax: any number but 0 sets the flag.
    fn enables(&mut self, name: &str) -> Result<bool, Fail> {
        match self.sym.old_parameters || self.sym.strict {
            true => Ok(self.ranged(name, 0, 1)? != 0),
            false => Ok(self.absolute()? != 0),
        }
    }

    fn ranged(&mut self, what: &str, from: i64, to: i64) -> Result<i64, Fail> {
        let start = self.span();
        if self.clrx {
            self.eat(b'@');
        }
        let value = self.absolute()?;
        if (from..=to).contains(&value) {
            return Ok(value);
        }
        Err(Fail::new(
            start.to(self.last_span()),
            format!("expected {what} from {from} to {to}, found {value}"),
        ))
    }

    /// Returns the error for a mnemonic that is unknown on the target.
    fn unknown(&self, span: Span, full: &str, name: &str) -> Fail {
        let target = self.target;
        let text = self.text(span);
        let generations: Vec<Gen> = Gen::ALL
            .into_iter()
            .filter(|&g| insts::by_name(name).any(|row| row.opcode_in(g).is_some()))
            .collect();
        let here = generations.contains(&target.generation());
        if let (Some(first), Some(last)) = (generations.first(), generations.last()) {
            let where_ = if here {
                let list: Vec<&str> = Target::all()
                    .filter(|&t| insts::by_name(name).any(|row| insts::exists(row, t)))
                    .map(Target::name)
                    .collect();
                format!("exists on {}", list.join(", "))
            } else if *last == Gen::Gfx9 {
                format!("exists from {} on", first.name())
            } else if first == last {
                format!("exists on {} only", first.name())
            } else if *first == Gen::Gfx6 {
                format!("exists up to {} only", last.name())
            } else {
                format!("exists from {} to {} only", first.name(), last.name())
            };
            return Fail::new(
                span,
                format!("{} has no {name}: it {where_}", target.name()),
            );
        }
        let fail = Fail::new(
            span,
            format!("there is no instruction or directive `{text}`"),
        );
        let names = insts::of_target(target).flat_map(|row| {
            let clrx = row.clrx.into_iter().filter(|_| self.clrx);
            [row.name].into_iter().chain(clrx)
        });
        match nearest(if name.is_empty() { full } else { name }, names) {
            Some(near) => fail.help(format!("did you mean `{near}`?")),
            None => fail,
        }
    }
}

/// Returns the encodings to try, in order.
pub(crate) fn encodings(
    row: &'static Inst,
    form: Option<Form>,
    target: Target,
    clrx: bool,
) -> impl Iterator<Item = Encoding> {
    use Encoding::*;
    let generation = target.generation();
    let own = row.format.encoding();
    let promoted = match row.format {
        Format::Vop1 => Some((Sdwa1, Dpp1)),
        Format::Vop2 => Some((Sdwa2, Dpp2)),
        Format::Vopc => Some((SdwaC, DppC)),
        _ => None,
    };
    let vop3 = row
        .has_vop3()
        .then_some(if row.shape.is_vop3b() { Vop3b } else { Vop3 });
    let list = match form {
        None => [
            if row.format == Format::Vop3 {
                None
            } else {
                Some(own)
            },
            vop3,
        ],
        // CLRX's suffixes give the length of an instruction in any format.
        Some(Form::E32) if clrx => [Some(own), None],
        Some(Form::E64) if clrx && vop3.is_none() => [Some(own), None],
        // LLVM also accepts `_e32` on everything that has no other form.
        Some(Form::E32) => [
            (!matches!(row.format, Format::Vop3 | Format::Vop3p)).then_some(own),
            None,
        ],
        Some(Form::E64) => [vop3, None],
        Some(Form::Sdwa) => [
            promoted.filter(|_| row.has_sdwa(generation)).map(|p| p.0),
            None,
        ],
        Some(Form::Dpp) => [
            promoted.filter(|_| row.has_dpp(generation)).map(|p| p.1),
            None,
        ],
    };
    list.into_iter().flatten()
}

/// The fit of one encoding to the operands.
pub(crate) struct Fitting<'a, 's, 'b> {
    parser: &'a Parser<'s, 'b>,
    pub encoder: Encoder,
    /// The bits of plain operands, if known.
    pub directs: Option<&'a Directs>,
    row: &'static Inst,
    operands: &'a [Operand],
    modifiers: &'a [Modifier],
    name_span: Span,
    generation: Gen,
    /// The number of operands that fitted.
    at: usize,
    literal: Option<usize>,
    branch: Option<usize>,
    pub violations: Vec<Violation>,
    pub warning: Option<(Span, &'static str)>,
    /// The registers read over the constant bus: code and width.
    bus: [(u16, u8); 4],
    bus_reads: usize,
}

impl<'a, 's, 'b> Fitting<'a, 's, 'b> {
    fn new(
        parser: &'a Parser<'s, 'b>,
        row: &'static Inst,
        encoding: Encoding,
        operands: &'a [Operand],
        modifiers: &'a [Modifier],
        name_span: Span,
    ) -> Result<Self, Miss> {
        let Some(encoder) = Encoder::new(row, encoding, parser.target) else {
            let why = Why::Text("the target has no such encoding");
            return Err(Miss {
                span: name_span,
                why,
                at: 0,
            });
        };
        Ok(Fitting::with(
            parser, encoder, operands, modifiers, name_span,
        ))
    }

    /// Like [`Fitting::new`], with an encoder made by [`Encoder::new`].
    pub fn with(
        parser: &'a Parser<'s, 'b>,
        encoder: Encoder,
        operands: &'a [Operand],
        modifiers: &'a [Modifier],
        name_span: Span,
    ) -> Self {
        Fitting {
            parser,
            encoder,
            directs: None,
            row: encoder.row,
            operands,
            modifiers,
            name_span,
            generation: parser.target.generation(),
            at: 0,
            literal: None,
            branch: None,
            violations: Vec::new(),
            warning: None,
            bus: [if encoder.row.flags.has(Flags::READS_M0) {
                (M0, 1)
            } else {
                (VCC, 2)
            }; 4],
            bus_reads: (encoder.row.flags.has(Flags::READS_VCC)
                || encoder.row.flags.has(Flags::READS_M0)) as usize,
        }
    }

    fn miss<T>(&self, span: Span, why: Why) -> Result<T, Miss> {
        Err(Miss {
            span,
            why,
            at: self.at,
        })
    }

    fn violate(&mut self, span: Span, message: &'static str) {
        self.violations.push(Violation { span, message });
    }

    /// Checks a rule that LLVM has and CLRX does not.
    fn llvm_rule(&mut self, span: Span, message: &'static str) {
        if !self.parser.clrx || self.parser.sym.strict {
            self.violate(span, message);
        }
    }

    fn flag(&self, field: Field) -> bool {
        self.modifiers
            .iter()
            .any(|m| m.what == Sets::Flag(field) && m.value != 0)
    }

    fn is_sdwa(&self) -> bool {
        matches!(
            self.encoder.encoding,
            Encoding::Sdwa1 | Encoding::Sdwa2 | Encoding::SdwaC
        )
    }

    fn is_dpp(&self) -> bool {
        matches!(
            self.encoder.encoding,
            Encoding::Dpp1 | Encoding::Dpp2 | Encoding::DppC
        )
    }

    fn buffer_address_dwords(&self) -> u8 {
        if self.flag(Field::Addr64) {
            2
        } else {
            self.flag(Field::Offen) as u8 + self.flag(Field::Idxen) as u8
        }
    }

    fn fit(mut self) -> Result<Fit, Miss> {
        self.run()?;
        Ok(Fit {
            encoder: self.encoder,
            literal: self.literal,
            branch: self.branch,
            violations: self.violations,
            warning: self.warning,
        })
    }

    /// Fits operands and modifiers; the result stays in `self`.
    pub fn run(&mut self) -> Result<(), Miss> {
        let slots = self.row.shape.slots;
        let found = self.operands.len();
        // The slots that the text leaves out, by number.
        let mut wanted = slots.len();
        let mut without = [slots.len(); 2];
        let if_glc = slots.iter().position(|s| s.role == Role::VdstIfGlc);
        // CLRX names the destination even if it is not written.
        let named = self.parser.clrx && found == wanted;
        if let Some(n) = if_glc
            && !self.flag(Field::Glc)
            && !named
        {
            without[0] = n;
            wanted -= 1;
        }
        if wanted == found + 1 {
            let unaddressed = self.buffer_address_dwords() == 0;
            let left = slots.iter().position(|slot| match slot.role {
                Role::Imm(Imm::Optional) | Role::Saddr => true,
                Role::BufAddr => unaddressed,
                _ => false,
            });
            if let Some(n) = left {
                without[1] = n;
                wanted -= 1;
            }
        }
        if wanted != found {
            let at = self.operands.last().map_or(self.name_span, |o| o.span);
            return self.miss(at, Why::Count(wanted, found));
        }
        let present = || {
            let given = move |(n, _): &(usize, &'static Slot)| !without.contains(n);
            slots.iter().enumerate().filter(given).map(|(_, slot)| slot)
        };
        let has_saddr = present()
            .zip(self.operands)
            .any(|(s, o)| s.role == Role::Saddr && o.val != Val::Off);
        for (n, slot) in present().enumerate() {
            if !self.direct(slot, n) {
                self.slot(slot, n, has_saddr)?;
            }
            self.at += 1;
        }
        self.selections();
        for m in self.modifiers {
            self.modifier(m)?;
        }
        let (always, message) = match self.row.shape.mods {
            Mods::Gds => (Field::Gds, "expected gds: only GDS has this instruction"),
            Mods::BufferLds => (Field::Lds, "expected lds: the data come from LDS"),
            _ => (Field::Op, ""),
        };
        if always != Field::Op && !self.flag(always) {
            self.encoder.set(always, 1);
            self.violate(self.name_span, message);
        }
        self.combinations(present());
        if self.is_dpp() && !self.modifiers.iter().any(|m| m.what == Sets::DppCtrl) {
            if !self
                .modifiers
                .iter()
                .any(|m| m.what == Sets::Form(Form::Dpp))
            {
                return self.miss(
                    self.name_span,
                    Why::Text("expected quad_perm, row_shl or another DPP modifier"),
                );
            }
            self.encoder.set(Field::DppCtrl, 0xe4);
        }
        if self.row.format.is_valu() && !self.is_dpp() {
            let literal = self.encoder.literal.is_some() as usize;
            if self.bus_reads + literal > 1
                && !(self.parser.clrx && !self.parser.sym.strict && self.bus_has_room())
            {
                let span = match (self.operands.get(1), self.operands.last()) {
                    (Some(a), Some(b)) => a.span.to(b.span),
                    _ => self.name_span,
                };
                let message = match (self.bus_reads, literal) {
                    (1, _) => "an SGPR and a literal are read, and the constant bus takes one",
                    (2, 0) => "two SGPRs are read, and the constant bus takes one",
                    _ => "more than two values are read over the constant bus, which takes one",
                };
                self.violate(span, message);
            }
        }
        Ok(())
    }

    /// Returns true if CLRX accepts the reads over the constant bus: at most one SGPR; with a literal neither an SGPR
    /// nor M0, and VCC only as the carry.
    fn bus_has_room(&self) -> bool {
        let literal = self.encoder.literal.is_some();
        let carries = (self.row.shape.slots.iter()).any(|s| s.role == Role::CarryIn);
        let bus = self.bus[..self.bus_reads].iter();
        match literal {
            true => bus
                .clone()
                .all(|&(code, _)| code >= 108 && code != M0 || code == VCC && carries),
            false => bus.filter(|(code, _)| *code < 108).count() <= 1,
        }
    }

    /// Checks rules about operands and modifiers together.
    fn combinations(&mut self, present: impl Iterator<Item = &'static Slot> + Clone) {
        let row = self.row;
        if row.flags.has(Flags::EARLY_WRITE) {
            let registers = |slot: &Slot, operand: &Operand| match operand.val {
                Val::Reg(code, count) => Some(code..code + count.max(slot.ty.dwords()) as u16),
                _ => None,
            };
            let mut all = present
                .zip(self.operands)
                .filter_map(|(slot, operand)| Some((registers(slot, operand)?, operand.span)));
            if let Some((written, span)) = all.next()
                && all.any(|(read, _)| read.start < written.end && written.start < read.end)
            {
                self.violate(span, "the destination must not overlap a source");
            }
        }
        match row.shape.mods {
            Mods::Image => self.image_rules(),
            Mods::Buffer | Mods::BufferLds => {
                let span = self.flag_span(Field::Lds);
                let wide = self.generation >= Gen::Gfx8;
                let load = |s: &Slot| s.access == Access::Write && (wide || s.ty.dwords() == 1);
                let loads = row.shape.slot(Role::Vdata).is_some_and(load);
                if let Some(span) = span {
                    if row.shape.mods == Mods::Buffer && !loads {
                        self.violate(span, "lds is for loads, before gfx8 of one dword at most");
                    } else if self.flag(Field::Tfe) {
                        self.violate(span, "lds and tfe exclude each other");
                    }
                }
            }
            Mods::Typed => {
                let of = |what: Sets| self.modifiers.iter().find(|m| m.what == what);
                let number = of(Sets::Number(Field::Dfmt)).or(of(Sets::Number(Field::Nfmt)));
                if let (Some(m), Some(_)) = (number, of(Sets::Format)) {
                    self.violate(m.span, "the format is given twice");
                }
            }
            // v_mac_f32 and related instructions preserve no part of the register that they add to.
            Mods::Valu if self.is_sdwa() => {
                let adds = |s: &&Slot| s.role == Role::Vdst && s.access == Access::ReadWrite;
                let select = Sets::Number(Field::DstSel);
                if let Some(m) = self
                    .modifiers
                    .iter()
                    .find(|m| m.what == select && m.value != 6)
                    && row.shape.slots.iter().any(|s| adds(&s))
                {
                    self.violate(
                        m.span,
                        "this instruction writes whole registers: dst_sel:DWORD",
                    );
                }
            }
            _ => {}
        }
    }

    /// Checks DMASK and D16.
    fn image_rules(&mut self) {
        if self.parser.clrx && !self.parser.sym.strict {
            return;
        }
        let row = self.row;
        let select = |m: &&Modifier| m.what == Sets::Number(Field::Dmask);
        let given = self.modifiers.iter().find(select);
        let dmask = given.map_or(self.parser.clrx as u64, |m| m.value);
        let span = given.map_or(self.name_span, |m| m.span);
        let atomic = |s: &Slot| s.access == Access::ReadWrite;
        if row.shape.slot(Role::Vdata).is_some_and(atomic) && !matches!(dmask, 1 | 3 | 15) {
            self.violate(
                span,
                "expected dmask:0x1, dmask:0x3 or dmask:0xf of an atomic",
            );
        } else if row.flags.has(Flags::FOUR_CHANNELS)
            && !row.flags.has(Flags::NO_D16)
            && dmask.count_ones() != 1
        {
            self.violate(span, "expected one bit in the dmask of a gather");
        }
        if let Some(span) = self.flag_span(Field::D16)
            && row.flags.has(Flags::NO_D16)
        {
            self.violate(span, "this instruction has no d16");
        }
    }

    /// Returns the span of a flag if it is set.
    fn flag_span(&self, field: Field) -> Option<Span> {
        let set = |m: &&Modifier| m.what == Sets::Flag(field) && m.value != 0;
        self.modifiers.iter().find(set).map(|m| m.span)
    }

    /// Returns the number of sources SRC0 to SRC2.
    fn sources(&self) -> usize {
        [Role::Src0, Role::Src1, Role::Src2]
            .iter()
            .filter(|&&r| self.row.shape.slot(r).is_some())
            .count()
    }

    /// Fits an operand whose bits are known; returns false if it needs [`Fitting::slot`].
    #[inline]
    fn direct(&mut self, slot: &Slot, n: usize) -> bool {
        let operand = &self.operands[n];
        let Some(bits) = self.directs.and_then(|d| d.bits(n, operand)) else {
            return false;
        };
        self.encoder.bits |= bits;
        if let Val::Reg(code, count) = operand.val {
            self.read(slot, code, count);
        }
        true
    }

    /// Sets the encodings' defaults, and bits that no single operand determines.
    fn selections(&mut self) {
        let e = &mut self.encoder;
        match e.encoding {
            // v_nop has no selections.
            Encoding::Sdwa1 | Encoding::Sdwa2 if self.row.shape.slots.is_empty() => {}
            Encoding::Sdwa1 | Encoding::Sdwa2 => {
                e.set(Field::DstSel, 6);
                // LLVM's default preserves the rest of the destination, CLRX's clears it.
                e.set(Field::DstUnused, if self.parser.clrx { 0 } else { 2 });
            }
            Encoding::Dpp1 | Encoding::Dpp2 | Encoding::DppC => {
                e.set(Field::RowMask, 15);
                e.set(Field::BankMask, 15);
            }
            Encoding::Vop3p => {
                let shape = self.row.shape;
                let hi = packed_default(shape.mods, self.parser.clrx);
                self.encoder.set(Field::OpSelHi, hi & 3);
                self.encoder.set(Field::OpSelHi2, hi >> 2);
            }
            Encoding::Mimg => {
                e.set(Field::Dmask, self.parser.clrx as u32);
            }
            Encoding::Mtbuf => {
                e.set(Field::Dfmt, 1);
            }
            Encoding::Exp => {
                let mut sources = [None; 4];
                for (to, operand) in sources.iter_mut().zip(self.operands.iter().skip(1)) {
                    if let Val::Reg(code, _) = operand.val {
                        *to = code.checked_sub(VGPR0).map(|v| v as u8);
                    }
                }
                let compr = self.flag(Field::Compr);
                export_sources(&mut self.encoder, sources, compr, self.parser.clrx);
            }
            _ => {}
        }
        if self.is_sdwa() {
            if self.row.shape.slot(Role::Src0).is_some() {
                self.encoder.set(Field::Src0Sel, 6);
            }
            if self.encoder.encoding != Encoding::Sdwa1 {
                self.encoder.set(Field::Src1Sel, 6);
            }
        }
    }

    pub fn slot(&mut self, slot: &'static Slot, n: usize, has_saddr: bool) -> Result<(), Miss> {
        let operand = &self.operands[n];
        let span = operand.span;
        match slot.role {
            Role::Imm(kind) => return self.immediate(kind, n),
            Role::K => {
                if operand.has_mods() && matches!(operand.val, Val::Reg(..)) {
                    return self.miss(span, Why::Text("expected a literal"));
                }
                return match &operand.val {
                    Val::Expr(_) => self.put_literal(0, Some(n), span),
                    val => self.literal_number(val, slot.ty, operand),
                };
            }
            Role::Soff => return self.smem_offset(n),
            Role::Attr | Role::Param | Role::ExpTgt => {
                return match operand.val {
                    Val::Graphics(role, v) if role == slot.role && !operand.has_mods() => {
                        if role == Role::ExpTgt && names::export_target(v).is_none() {
                            self.violate(span, EXPORT_TARGETS);
                        } else if role == Role::Param && v as usize >= names::PARAMS.len() {
                            self.violate(span, "expected p10, p20 or p0");
                        }
                        if self.encoder.set_imm(role, v) {
                            Ok(())
                        } else {
                            self.miss(span, Why::Text("this encoding cannot hold it"))
                        }
                    }
                    _ => self.miss(
                        span,
                        Why::Text(match slot.role {
                            Role::Attr => "expected an attribute, attr0.x to attr63.w",
                            Role::Param => "expected p10, p20 or p0",
                            _ => EXPORT_TARGETS,
                        }),
                    ),
                };
            }
            Role::ExpSrc(_) => {
                return match operand.val {
                    Val::Reg(VGPR0.., 1) | Val::Off if !operand.has_mods() => Ok(()),
                    // A code by its number: op(0x1ff).
                    Val::Reg(VGPR0.., 0) if !operand.has_mods() => Ok(()),
                    _ => self.miss(span, Why::Text("expected a VGPR or off")),
                };
            }
            _ => {}
        }
        let mut dwords = slot.ty.dwords();
        match slot.role {
            Role::BufAddr => {
                dwords = self.buffer_address_dwords();
                // CLRX names the register that an access without an address ignores.
                if dwords == 0
                    && self.parser.clrx
                    && !self.parser.sym.strict
                    && matches!(operand.val, Val::Reg(VGPR0.., _))
                {
                    dwords = 1;
                }
            }
            Role::Vdata if self.encoder.encoding == Encoding::Mimg => {
                dwords = self.image_data(true);
                // CLRX accepts packed or unpacked registers for 16-bit data.
                let unpacked = self.image_data(false);
                if self.parser.clrx
                    && matches!(operand.val, Val::Reg(_, count) if count == unpacked)
                {
                    dwords = unpacked;
                }
            }
            Role::ImgAddr => {
                // The image's kind determines the number; at most 16. CLRX accepts fewer, too.
                let least = if self.parser.clrx { 1 } else { dwords };
                if let Val::Reg(_, count) = operand.val
                    && (least..=16).contains(&count)
                {
                    dwords = count;
                }
            }
            Role::Srsrc
                if self.parser.clrx
                    && dwords == 8
                    && self.flag(Field::R128)
                    && self.generation < Gen::Gfx9 =>
            {
                dwords = 4;
            }
            Role::FlatAddr if self.row.format == Format::Global => {
                dwords = if has_saddr { 1 } else { 2 };
            }
            _ => {}
        }
        match &operand.val {
            Val::Off => {
                let fits = match slot.role {
                    Role::Saddr => true,
                    Role::BufAddr => dwords == 0,
                    Role::FlatAddr => self.row.format == Format::Scratch && has_saddr,
                    _ => false,
                };
                if !fits || operand.has_mods() {
                    return self.not_wanted(slot, dwords, span);
                }
                Ok(())
            }
            Val::Reg(code, count) => self.register(slot, n, *code, *count, dwords, has_saddr),
            Val::Imm(..) => self.not_wanted(slot, dwords, span),
            _ => self.number(slot, n, dwords),
        }
    }

    /// Returns the number of VGPRs of an image's data, given the modifiers.
    fn image_data(&self, packed: bool) -> u8 {
        let number = |field| {
            let of = |m: &&Modifier| m.what == Sets::Number(field);
            self.modifiers.iter().find(of).map(|m| m.value)
        };
        let dmask = number(Field::Dmask).unwrap_or(self.parser.clrx as u64);
        let d16 = packed && self.flag(Field::D16);
        image_data_dwords(
            self.row,
            self.parser.target,
            dmask as u32 & 15,
            d16,
            self.flag(Field::Tfe),
        )
    }

    /// Describes the required registers of a slot, for a message.
    fn wanted(&self, slot: &Slot, dwords: u8) -> (&'static str, u8) {
        let e = self.encoder.encoding;
        let what = match slot.role {
            Role::Sdst
            | Role::Sdata
            | Role::SdstV
            | Role::SsrcK
            | Role::Sbase
            | Role::Srsrc
            | Role::Ssamp
            | Role::Soff => "an SGPR",
            Role::Saddr => "an SGPR or off",
            Role::CmpDst | Role::CarryOut | Role::CarryIn => match e {
                Encoding::Vop3 | Encoding::Vop3b => "an SGPR pair or vcc",
                Encoding::SdwaC if self.encoder.has(Field::Sd) => "an SGPR pair or vcc",
                _ => "vcc",
            },
            Role::Ssrc0 | Role::Ssrc1 => "an SGPR or a constant",
            Role::Soffset | Role::LaneSel => "an SGPR or an inline constant",
            Role::BufAddr if dwords == 0 => {
                return ("off, as none of offen, idxen and addr64 is given", 1);
            }
            Role::Vdata if e == Encoding::Mimg => {
                "a VGPR for each channel of dmask (two channels with d16), and one for tfe"
            }
            Role::Src0 | Role::Src1 | Role::Src2 if slot.access == Access::Read => match e {
                Encoding::Vop3 | Encoding::Vop3b | Encoding::Vop3p => {
                    "a VGPR, an SGPR or an inline constant"
                }
                Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc if slot.role == Role::Src0 => {
                    "a VGPR, an SGPR or a constant"
                }
                _ if self.is_sdwa() && self.encoder.has(Field::S0) => {
                    "a VGPR, an SGPR or an inline constant"
                }
                _ => "a VGPR",
            },
            _ => "a VGPR",
        };
        (what, dwords)
    }

    fn not_wanted(&self, slot: &Slot, dwords: u8, span: Span) -> Result<(), Miss> {
        let (what, n) = self.wanted(slot, dwords);
        self.miss(span, Why::Register(what, n))
    }

    fn register(
        &mut self,
        slot: &'static Slot,
        n: usize,
        code: u16,
        count: u8,
        dwords: u8,
        has_saddr: bool,
    ) -> Result<(), Miss> {
        let operand = &self.operands[n];
        let span = operand.span;
        let tfe = slot.role == Role::Vdata
            && self.encoder.encoding != Encoding::Mimg
            && self.flag(Field::Tfe)
            && count == dwords + 1;
        if dwords == 0 {
            return self.not_wanted(slot, dwords, span);
        }
        if count != 0 && count != dwords && !tfe {
            let (what, _) = self.wanted(slot, dwords);
            return self.miss(span, Why::Width(what, dwords, count));
        }
        if slot.role == Role::FlatAddr && self.row.format == Format::Scratch && has_saddr {
            self.violate(
                span,
                "expected off: scratch takes a VGPR or an SGPR as address",
            );
        }
        // The hardware does not read an unaligned tuple as written.
        let step = if dwords >= 4 { 4 } else { 2 };
        let misplaced = code < 128 && dwords >= 2 && count != 0 && !code.is_multiple_of(step);
        let aligned = if step == 4 {
            "expected SGPRs from a multiple of 4 on"
        } else {
            "expected SGPRs from an even number on"
        };
        let unaligned = self.parser.clrx
            && !self.parser.sym.strict
            && self.row.format.is_valu()
            && (slot.role == Role::CarryIn || code & 3 != 3 && dwords == 2);
        if misplaced && !unaligned {
            self.violate(span, aligned);
        }
        let end = code + u16::from(dwords);
        if code <= XNACK_MASK_HI && end > XNACK_MASK && self.generation == Gen::Gfx8 {
            let replays = Machine::from_name(self.parser.target.name()).is_some_and(|m| m.xnack);
            // CLRX accepts the register on all of gfx8.
            if !replays && !self.parser.clrx {
                self.violate(span, "the target has no xnack_mask");
            }
        }
        self.source_mods(slot, n)?;
        if !self.encoder.set_code(slot.role, code) {
            if misplaced {
                return self.miss(span, Why::Text(aligned));
            }
            return self.not_wanted(slot, dwords, span);
        }
        self.check_code(slot, code, span);
        self.read(slot, code, dwords);
        Ok(())
    }

    /// Checks the rules for the codes of a slot whose field could hold further codes.
    fn check_code(&mut self, slot: &Slot, code: u16, span: Span) {
        let vgpr = code >= VGPR0;
        let shape = self.row.shape;
        let message = match slot.role {
            Role::Sdst | Role::Sdata | Role::SdstV | Role::SsrcK | Role::CmpDst
            | Role::CarryOut | Role::CarryIn | Role::Saddr
                // LLVM accepts the sources that are read like registers.
                if code >= 128 && !matches!(code, 235..=239 | 251..=253) =>
            {
                "expected an SGPR"
            }
            Role::Ssrc0 | Role::Ssrc1 | Role::Soffset if code == LDS_DIRECT => {
                "lds_direct is for the vector ALU"
            }
            Role::Ssrc0
                if matches!(code, 128..=208 | 240..=248 | LITERAL)
                    && self.row.flags.has(Flags::REGISTERS) =>
            {
                "expected an SGPR"
            }
            Role::Sdst | Role::Sdata
                if self.row.format == Format::Smem && matches!(code, M0 | EXEC | EXEC_HI) =>
            {
                "expected an SGPR that is neither m0 nor of exec"
            }
            Role::Saddr if code == EXEC_HI => "exec_hi cannot be an address",
            Role::Src0 if !vgpr && code != LDS_DIRECT && self.row.flags.has(Flags::REGISTERS) => {
                "expected a VGPR"
            }
            Role::Src0
                if code == LDS_DIRECT
                    && (self.row.flags.has(Flags::SWAPPED)
                        || self.is_sdwa()
                        || slot.ty.dwords() > 1
                        || self.generation >= Gen::Gfx8
                            && shape.slot(Role::Vdst).is_some()
                            && shape.slot(Role::LaneSel).is_some()) =>
            {
                "lds_direct cannot be used with this instruction"
            }
            Role::Src1 | Role::Src2 if code == LDS_DIRECT
                    && !matches!(shape.mods, Mods::Interp | Mods::InterpHigh) => {
                "lds_direct can be the first source only"
            }
            Role::LaneSel if vgpr => "expected an SGPR or an inline constant",
            Role::Src0 if !vgpr && code != LDS_DIRECT && shape.slot(Role::SdstV).is_some() => {
                "expected a VGPR"
            }
            Role::Src0
                if vgpr
                    && shape.slot(Role::LaneSel).is_some()
                    && shape.slot(Role::Vdst).is_some() =>
            {
                "expected an SGPR or an inline constant"
            }
            Role::Src0 | Role::Src1 if slot.access != Access::Read && !vgpr => "expected a VGPR",
            // M0 is read over the constant bus, so no other SGPR can be; lds_direct is M0, too.
            Role::Src1 if shape.mods == Mods::Interp && !vgpr && !matches!(code, M0 | LDS_DIRECT) =>
            {
                "expected a VGPR"
            }
            _ => return,
        };
        self.violate(span, message);
    }

    /// Records the registers that a source reads over the constant bus.
    fn read(&mut self, slot: &Slot, code: u16, dwords: u8) {
        let scalar = code < 128 || matches!(code, 235..=239 | 251..=253);
        if slot.access == Access::Write || !scalar || !self.row.format.is_valu() {
            return;
        }
        let entry = (code, dwords);
        if !self.bus[..self.bus_reads].contains(&entry) && self.bus_reads < self.bus.len() {
            self.bus[self.bus_reads] = entry;
            self.bus_reads += 1;
        }
    }

    /// Sets the bits of abs, neg and sext of a source.
    fn source_mods(&mut self, slot: &Slot, n: usize) -> Result<(), Miss> {
        let operand = &self.operands[n];
        if !operand.has_mods() {
            return Ok(());
        }
        let span = operand.span;
        let index = match slot.role {
            Role::Src0 => 0,
            Role::Src1 => 1,
            Role::Src2 => 2,
            _ => return self.miss(span, Why::Text("this operand takes no modifier")),
        };
        use Encoding::*;
        let e = self.encoder.encoding;
        let mut fits = true;
        if matches!(e, Vop3 | Vop3b | Vop3p) {
            let layout = gcn_isa::format::layout_of(e, self.generation);
            let or = |enc: &mut Encoder, field| {
                let at = layout.map(|l| l.field(field)).filter(|b| b.len != 0);
                match at {
                    Some(at) => enc.set(field, at.get(enc.bits) | 1 << index),
                    None => false,
                }
            };
            let abs = if e == Vop3p { Field::NegHi } else { Field::Abs };
            // Packed halves have neg_lo and neg_hi.
            fits &= self.row.shape.mods != Mods::Packed;
            fits &= !operand.abs || or(&mut self.encoder, abs);
            fits &= !operand.neg || or(&mut self.encoder, Field::Neg);
            if operand.sext {
                fits &= e != Vop3p
                    && self.row.shape.neg_is_sext(slot.role)
                    && or(&mut self.encoder, Field::Neg);
            }
        } else {
            let (abs, neg, sext) = if index == 0 {
                (Field::Src0Abs, Field::Src0Neg, Field::Src0Sext)
            } else {
                (Field::Src1Abs, Field::Src1Neg, Field::Src1Sext)
            };
            fits &= index < 2;
            fits &= !operand.abs || self.encoder.set(abs, 1);
            fits &= !operand.neg || self.encoder.set(neg, 1);
            let sext = if self.is_dpp() && self.row.shape.neg_is_sext(slot.role) {
                neg
            } else {
                sext
            };
            fits &= !operand.sext || self.encoder.set(sext, 1);
        }
        if !fits {
            return self.miss(span, Why::Text("this encoding takes no such modifier here"));
        }
        // v_cndmask_b32 moves both floats and bits.
        let shape = self.row.shape;
        let moves = slot.ty == Ty::B32
            && shape.slot(Role::CarryIn).is_some()
            && shape.slot(Role::CarryOut).is_none();
        let float = slot.ty.is_float() || moves;
        if (operand.abs || operand.neg) && !float {
            self.llvm_rule(span, "abs and neg are for floats, and this operand is none");
        }
        if operand.sext && (operand.abs || operand.neg) {
            self.llvm_rule(span, "sext is for integers, abs and neg are for floats");
        }
        if operand.sext && slot.ty.is_float() {
            self.llvm_rule(span, "sext is for integers, and this operand is none");
        }
        if !matches!(
            shape.mods,
            Mods::Valu | Mods::Mix | Mods::Interp | Mods::InterpHigh
        ) {
            self.llvm_rule(span, "this instruction takes no modifiers");
        }
        Ok(())
    }

    /// Encodes a number or an expression as a source.
    fn number(&mut self, slot: &'static Slot, n: usize, dwords: u8) -> Result<(), Miss> {
        let operand = &self.operands[n];
        let span = operand.span;
        let source = matches!(
            slot.role,
            Role::Ssrc0
                | Role::Ssrc1
                | Role::Src0
                | Role::Src1
                | Role::Src2
                | Role::Soffset
                | Role::LaneSel
        );
        if source && slot.access != Access::Read {
            self.violate(span, "expected a VGPR");
        } else if !source {
            // A scalar destination in a field of eight bits may hold a constant's code.
            let constant = match self.parser.clrx {
                true => self.clrx_number(&operand.val, slot.ty),
                false => number_as(&operand.val, slot.ty, false, false, self.parser.target)
                    .map(|(constant, _)| constant),
            };
            if matches!(slot.role, Role::SdstV | Role::CmpDst | Role::CarryIn)
                && !operand.has_mods()
                && let Ok(Constant::Inline(code)) = constant
                && self.encoder.set_code(slot.role, code)
            {
                self.violate(span, "expected an SGPR");
                return Ok(());
            }
            return self.not_wanted(slot, dwords, span);
        }
        use Encoding::*;
        let has_literal = matches!(
            self.encoder.encoding,
            Sop1 | Sop2 | Sopc | Vop1 | Vop2 | Vopc
        );
        if let Val::Expr(_) = operand.val {
            if operand.has_mods() {
                return self.miss(span, Why::Text("abs, neg and sext take no symbols"));
            }
            if slot.ty.bits() != 32 {
                return self.miss(span, Why::Text("an address is for 32-bit operands"));
            }
            if !has_literal || !self.encoder.set_code(slot.role, LITERAL) {
                return self.not_wanted(slot, dwords, span);
            }
            return self.put_literal(0, Some(n), span);
        }
        // If the encoding has modifiers they stay modifiers; otherwise they change the number.
        let keep = (!has_literal || self.parser.clrx) && operand.has_mods();
        let (abs, neg) = (operand.abs && !keep, operand.neg && !keep);
        if keep {
            self.source_mods(slot, n)?;
        } else if operand.sext {
            return self.miss(span, Why::Text("sext needs SDWA"));
        }
        let ty = match operand.val {
            Val::Int(_) => self.row.shape.literal_ty(slot.ty),
            _ => slot.ty,
        };
        // If no literal can follow, a float in a 16-bit integer operand is the inline constant's code, as LLVM reads it
        // from version 19 on. LLVM 14 accepts none there.
        let ty = match (&operand.val, ty) {
            (Val::Float(_), Ty::I16 | Ty::U16) if !has_literal => Ty::F16,
            _ => ty,
        };
        let constant = match self.parser.clrx {
            true => self.clrx_number(&operand.val, ty).map(|c| (c, false)),
            false => number_as(&operand.val, ty, abs, neg, self.parser.target),
        };
        let (constant, lost) = match constant {
            Ok(constant) => constant,
            Err(message) => return self.miss(span, Why::Text(message)),
        };
        match constant {
            Constant::Inline(code) => {
                if !self.encoder.set_code(slot.role, code) {
                    return self.not_wanted(slot, dwords, span);
                }
                self.check_code(slot, code, span);
                Ok(())
            }
            Constant::Literal(value) => {
                if !has_literal || !self.encoder.set_code(slot.role, LITERAL) {
                    return self.not_wanted(slot, dwords, span);
                }
                if self.row.flags.has(Flags::NO_LITERAL) {
                    self.violate(span, "this instruction takes no literal");
                }
                self.check_code(slot, LITERAL, span);
                if lost {
                    self.warning = Some((
                        span,
                        "a 64-bit float literal has its high 32 bits only; the low ones become zero",
                    ));
                }
                self.put_literal(value, None, span)
            }
        }
    }

    fn clrx_number(&self, val: &Val, ty: Ty) -> Result<Constant, &'static str> {
        if let (Val::Int(_), true) = (val, self.parser.sym.strict) {
            return number_as(val, ty, false, false, self.parser.target).map(|(c, _)| c);
        }
        let vector = self.row.format.is_valu();
        let buggy = self.parser.sym.buggy_floats;
        crate::clrx::numbers::number_as(val, ty, vector, self.parser.target, buggy)
    }

    /// Encodes a literal that is part of the instruction.
    fn literal_number(&mut self, val: &Val, ty: Ty, operand: &Operand) -> Result<(), Miss> {
        let span = operand.span;
        if operand.sext || matches!(val, Val::Reg(..) | Val::Off | Val::Imm(..)) {
            return self.miss(span, Why::Text("expected a 32-bit literal"));
        }
        if self.parser.clrx {
            let forced = match *val {
                Val::Int(value) => Val::LitInt(value),
                Val::Float(value) => Val::LitFloat(value),
                Val::FloatAs(value, width) => Val::LitFloatAs(value, width),
                ref other => other.clone(),
            };
            return match self.clrx_number(&forced, ty) {
                Ok(Constant::Literal(value)) => {
                    let sign = u32::from(operand.neg) << 31;
                    self.put_literal((value & !(u32::from(operand.abs) << 31)) ^ sign, None, span)
                }
                Ok(Constant::Inline(_)) => self.miss(span, Why::Text("expected a literal")),
                Err(message) => self.miss(span, Why::Text(message)),
            };
        }
        // LLVM also prints the upper bits of a 16-bit literal.
        if let (16, Val::Int(value @ 0x1_0000..=0xffff_ffff)) = (ty.bits(), val)
            && !operand.has_mods()
        {
            return self.put_literal(*value as u32, None, span);
        }
        match number_as(val, ty, operand.abs, operand.neg, self.parser.target) {
            Ok((Constant::Literal(value), _)) => self.put_literal(value, None, span),
            Ok((Constant::Inline(code), _)) => {
                let value = gcn_isa::operand::inline_value(code, ty.bits()).unwrap_or(0);
                self.put_literal(value as u32, None, span)
            }
            Err(message) => self.miss(span, Why::Text(message)),
        }
    }

    fn put_literal(&mut self, value: u32, from: Option<usize>, span: Span) -> Result<(), Miss> {
        if let Some(other) = self.encoder.literal {
            // Values that a linker fills in may differ.
            if from.is_some() || self.literal.is_some() || other != value {
                return self.miss(span, Why::Text("expected at most one literal"));
            }
        }
        self.encoder.literal = Some(value);
        self.literal = self.literal.or(from);
        Ok(())
    }

    /// Returns the value of an operand that is a plain number now.
    fn known(&self, n: usize, branch: bool) -> Option<i64> {
        let operand = &self.operands[n];
        if operand.has_mods() {
            return None;
        }
        match &operand.val {
            Val::Int(value) => Some(*value),
            Val::Expr(expr) => match self.parser.sym.evaluate(expr) {
                Ok(value) if value.is_absolute() => Some(value.addend),
                _ if branch => None,
                _ if self.parser.sym.guess && self.parser.sym.waits(expr) => Some(0),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the SIMM16 of a branch to an address in the section, which is CLRX's meaning of a number.
    fn distance(&self, address: i64, span: Span) -> Result<i64, Miss> {
        let next = self.parser.location.1 as i64 + 4;
        let bytes = address.wrapping_sub(next);
        if bytes % 4 != 0 {
            let text = "expected an address at a multiple of 4 bytes from here";
            return self.miss(span, Why::Text(text));
        }
        match i16::try_from(bytes / 4) {
            Ok(dwords) => Ok(dwords.into()),
            Err(_) => {
                let text = "this address is farther away than a branch reaches";
                self.miss(span, Why::Text(text))
            }
        }
    }

    fn immediate(&mut self, kind: Imm, n: usize) -> Result<(), Miss> {
        let operand = &self.operands[n];
        let span = operand.span;
        let field = kind.field();
        let (first, last) = match kind {
            Imm::GprIdxSsrc1 => (0, 0xff),
            Imm::Sdata => (0, 0x7f),
            Imm::Hex16 if self.row.shape.slots.iter().any(|s| s.ty == Ty::U32) => (0, 0xffff),
            _ => (-0x8000, 0xffff),
        };
        let value = match (&operand.val, self.known(n, kind == Imm::Branch)) {
            (Val::Imm(made, value), _) if !operand.has_mods() => {
                let same = *made == kind || *made == Imm::GprIdx && kind == Imm::GprIdxSsrc1;
                if !same {
                    return self.miss(
                        span,
                        Why::Text("expected a number or an immediate of another kind"),
                    );
                }
                *value
            }
            (Val::Expr(_), None) if kind == Imm::Branch && !operand.has_mods() => {
                self.branch = Some(n);
                0
            }
            (Val::Expr(_), None) => {
                return self.miss(
                    span,
                    Why::Text(match self.parser.sym.finished {
                        true => "expected a number: a symbol here has no value",
                        false => "expected a number that is known here",
                    }),
                );
            }
            (_, Some(value)) => {
                let value = match kind == Imm::Branch && self.parser.clrx {
                    true => self.distance(value, span)?,
                    false => value,
                };
                if !(first..=last).contains(&value) {
                    return self.miss(span, Why::Range("a number", first, last));
                }
                (value & last) as u32
            }
            _ => {
                let text = match kind {
                    Imm::Branch => "expected a label or a number",
                    Imm::Waitcnt => "expected vmcnt(), expcnt(), lgkmcnt() or a number",
                    Imm::Sendmsg => "expected sendmsg() or a number",
                    Imm::Hwreg => "expected hwreg() or a number",
                    Imm::GprIdx | Imm::GprIdxSsrc1 => "expected gpr_idx() or a number",
                    _ => "expected a number",
                };
                return self.miss(span, Why::Text(text));
            }
        };
        if kind == Imm::GprIdxSsrc1 && value > 15 {
            self.violate(span, "expected a number from 0 to 15");
        }
        if !self.encoder.set(field, value) {
            return self.miss(span, Why::Text("this encoding has no such immediate"));
        }
        Ok(())
    }

    fn smem_offset(&mut self, n: usize) -> Result<(), Miss> {
        let operand = &self.operands[n];
        let span = operand.span;
        let old = self.generation < Gen::Gfx8;
        if let Val::Reg(code, count @ (0 | 1)) = operand.val
            && !operand.has_mods()
        {
            let with_offset = self.modifiers.iter().any(|m| m.what == Sets::Offset);
            let fits = if with_offset {
                self.encoder.set(Field::SoffsetEn, 1)
                    && self.encoder.set(Field::Soffset, code as u32)
            } else {
                (code < 128 || count == 0) && self.encoder.set(Field::Offset, code as u32)
            };
            return if fits {
                Ok(())
            } else {
                self.miss(span, Why::Register("an SGPR", 1))
            };
        }
        let literal = match operand.val {
            Val::LitInt(value) => Some(value),
            _ => None,
        };
        if let Some(value) = self.known(n, false).or(literal) {
            let forced = literal.is_some();
            let fits_field = match self.generation {
                Gen::Gfx9 => {
                    let buffer = self
                        .row
                        .shape
                        .slot(Role::Sbase)
                        .is_some_and(|s| s.ty == Ty::B128);
                    if buffer && !(0..1 << 20).contains(&value) {
                        self.violate(span, "expected an offset from 0 to 1048575");
                    }
                    (-(1 << 20)..1 << 20).contains(&value)
                        && self.encoder.set(Field::Offset, value as u32 & 0x1f_ffff)
                }
                _ => u32::try_from(value).is_ok_and(|value| self.encoder.set(Field::Offset, value)),
            };
            if fits_field && !forced {
                self.encoder.set(Field::Imm, 1);
                return Ok(());
            }
            if self.generation == Gen::Gfx7
                && let Ok(value) = u32::try_from(value)
            {
                self.encoder.set(Field::Offset, LITERAL as u32);
                return self.put_literal(value, None, span);
            }
            return self.miss(
                span,
                match self.generation {
                    Gen::Gfx9 => Why::Range("an offset", -(1 << 20), (1 << 20) - 1),
                    Gen::Gfx8 => Why::Range("an offset", 0, (1 << 20) - 1),
                    Gen::Gfx7 => Why::Range("an offset", 0, u32::MAX as i64),
                    Gen::Gfx6 => Why::Range("an offset in dwords", 0, 255),
                },
            );
        }
        let text = if old {
            "expected an SGPR or an offset in dwords"
        } else {
            "expected an SGPR or an offset"
        };
        self.miss(span, Why::Text(text))
    }

    fn has_float(&self) -> bool {
        self.row.shape.slots.iter().any(|s| s.ty.is_float())
    }

    fn modifier(&mut self, m: &Modifier) -> Result<(), Miss> {
        let span = m.span;
        let mods = self.row.shape.mods;
        let compare = self.row.shape.slot(Role::CmpDst).is_some();
        match m.what {
            Sets::Form(_) | Sets::Abs | Sets::Neg | Sets::Sext => {}
            Sets::Bits => {
                let bytes = gcn_isa::format::layout_of(self.encoder.encoding, self.generation)
                    .map_or(4, |l| l.bytes);
                if bytes == 4 && m.value > u32::MAX as u64 {
                    return self.miss(span, Why::Text("expected bits of a 32-bit encoding"));
                }
            }
            Sets::Offset => return self.offset(m),
            Sets::Swizzle if mods == Mods::Swizzle => return self.offset(m),
            Sets::Swizzle => return self.miss(span, Why::Modifier),
            Sets::A16 => {
                let fits = self.generation == Gen::Gfx9 && self.encoder.has(Field::R128);
                if !fits {
                    return self.miss(span, Why::Text("a16 exists on gfx9 only"));
                }
                self.encoder.set(Field::R128, m.value as u32);
            }
            Sets::Flag(Field::R128) if self.generation == Gen::Gfx9 => {
                return self.miss(span, Why::Text("r128 exists up to gfx8 only"));
            }
            Sets::Flag(field) => {
                if m.value == 0 && self.encoder.has(field) {
                    return Ok(());
                }
                // Before gfx8 the encodings lack these bits; LLVM accepts them there and drops them.
                let absent = matches!(
                    (self.encoder.encoding, field),
                    (Encoding::Smem, Field::Glc) | (Encoding::Vop3b, Field::Clamp)
                ) && (field == Field::Glc || self.has_float());
                if absent && !self.encoder.has(field) && !self.parser.clrx {
                    self.warning =
                        Some((span, "this generation has no such bit here: it is ignored"));
                    return Ok(());
                }
                if mods == Mods::BufferBare || !self.encoder.set(field, m.value as u32) {
                    return self.miss(span, Why::Modifier);
                }
                if field == Field::Clamp {
                    self.check_clamp(span);
                }
            }
            Sets::Omod => {
                if !self.encoder.has(Field::Omod) || !self.encoder.set(Field::Omod, m.value as u32)
                {
                    return self.miss(span, Why::Modifier);
                }
                let wide = |s: &Slot| s.ty.bits() > 16;
                let valu = match mods {
                    Mods::Valu | Mods::Interp => true,
                    Mods::InterpHigh => self.row.shape.slot(Role::Vdst).is_some_and(wide),
                    _ => false,
                };
                if m.value != 0 && (!valu || compare || !self.has_float()) {
                    self.llvm_rule(span, "mul and div do not apply to this instruction");
                }
            }
            Sets::OpSel if self.encoder.encoding == Encoding::Vop3p => {
                let value = self.source_bits(m)?;
                self.encoder.set(Field::OpSel, value);
            }
            Sets::OpSelHi => {
                let value = self.source_bits(m)?;
                if self.encoder.encoding != Encoding::Vop3p {
                    return self.miss(span, Why::Modifier);
                }
                // The bit of a missing third source stays unchanged.
                let third = value >> 2 & 1;
                self.encoder.set(Field::OpSelHi, value & 3);
                if self.sources() == 3 || self.parser.clrx {
                    self.encoder.set(Field::OpSelHi2, third);
                }
            }
            Sets::Ignored(name) => {
                let fields = names::ignored_fields(self.encoder.encoding);
                let field = fields.iter().find(|f| f.1 == name).map(|f| f.0);
                let Some(field) = field.filter(|&f| !self.encoder.uses(f)) else {
                    return self.miss(
                        span,
                        Why::Text("this instruction does not ignore this field"),
                    );
                };
                if !u32::try_from(m.value).is_ok_and(|v| self.encoder.set(field, v)) {
                    return self.miss(span, Why::Text("the field is not as wide"));
                }
            }
            Sets::IgnoredBit(field, n) => {
                let source = [Role::Src0, Role::Src1, Role::Src2][n as usize % 3];
                let layout = gcn_isa::format::layout_of(self.encoder.encoding, self.generation);
                let at = layout.map(|l| l.field(field)).filter(|at| at.len == 3);
                let Some(at) = at.filter(|_| self.row.shape.slot(source).is_none()) else {
                    return self.miss(span, Why::Modifier);
                };
                let value = at.get(self.encoder.bits) | 1 << n;
                self.encoder.set(field, value);
            }
            Sets::Bits3(field) => {
                let value = self.source_bits(m)?;
                let halves = self.encoder.encoding == Encoding::Vop3p;
                let mixed = self
                    .operands
                    .iter()
                    .any(|o| o.abs && field == Field::NegHi || o.neg && field == Field::Neg);
                if !halves || mixed {
                    return self.miss(span, Why::Modifier);
                }
                self.encoder.set(field, value);
            }
            Sets::High => {
                let layout = gcn_isa::format::layout_of(self.encoder.encoding, self.generation);
                let Some(src0) = layout
                    .map(|l| l.field(Field::Src0))
                    .filter(|_| mods == Mods::InterpHigh)
                else {
                    return self.miss(span, Why::Modifier);
                };
                let value = src0.get(self.encoder.bits) & 255 | (m.value as u32) << 8;
                self.encoder.set(Field::Src0, value);
            }
            Sets::Format => {
                let fits = mods == Mods::Typed
                    && self.encoder.set(Field::Dfmt, m.value as u32 & 15)
                    && self.encoder.set(Field::Nfmt, m.value as u32 >> 4);
                if !fits {
                    return self.miss(span, Why::Modifier);
                }
            }
            Sets::OpSel => return self.op_sel(m),
            Sets::BoundCtrl => return self.field(Field::BoundCtrl, m),
            Sets::DppCtrl => return self.field(Field::DppCtrl, m),
            Sets::Number(field) => return self.field(field, m),
        }
        Ok(())
    }

    /// Checks LLVM's rules for clamp on instructions where it has no effect.
    fn check_clamp(&mut self, span: Span) {
        let mods = self.row.shape.mods;
        let compare = self.row.shape.slot(Role::CmpDst).is_some();
        let destination = self.row.shape.slots.first().map_or(Ty::B32, |s| s.ty);
        let integer = self.generation >= Gen::Gfx8 && destination.as_bits() != destination;
        // If SDWA has the bit, LLVM accepts it for every type.
        let sdwa = matches!(
            self.encoder.encoding,
            Encoding::Sdwa1 | Encoding::Sdwa2 | Encoding::SdwaC
        );
        let fits = if compare {
            self.generation >= Gen::Gfx8 && self.has_float()
        } else {
            self.has_float() || integer
        };
        let packed = matches!(
            mods,
            Mods::Packed | Mods::Mix | Mods::Interp | Mods::InterpHigh
        );
        if !packed && (mods != Mods::Valu || !fits && !sdwa) {
            self.llvm_rule(span, "clamp does not apply to this instruction");
        }
    }

    /// Sets op_sel of VOP3: one bit per source and one for the destination.
    fn op_sel(&mut self, m: &Modifier) -> Result<(), Miss> {
        let span = m.span;
        let (bits, count) = ((m.value & 15) as u32, (m.value >> 8) as usize);
        let shape = self.row.shape;
        let sources = [Role::Src0, Role::Src1, Role::Src2]
            .iter()
            .filter(|&&r| shape.slot(r).is_some())
            .count();
        let number = count == 0;
        if !number && count != sources && count != sources + 1 {
            return self.miss(span, Why::Count(sources + 1, count));
        }
        if self.parser.clrx && bits == 0 && !self.encoder.has(Field::OpSel) {
            return Ok(());
        }
        let low = (1 << sources) - 1;
        let value = bits & low | (bits >> sources & 1) << 3;
        if self.generation != Gen::Gfx9 || !self.encoder.set(Field::OpSel, value) {
            return self.miss(span, Why::Modifier);
        }
        if value != 0 && !shape.slots.iter().any(|s| s.ty.bits() == 16) {
            self.llvm_rule(span, "op_sel is for 16-bit operands, and there are none");
        }
        Ok(())
    }

    /// Returns a list of one bit per source.
    fn source_bits(&self, m: &Modifier) -> Result<u32, Miss> {
        let (bits, count) = ((m.value & 15) as u32, (m.value >> 8) as usize);
        // Omitted ones are 0, as in LLVM.
        let fits = if self.parser.clrx {
            count == self.sources() || count == 0 && bits >> self.sources() == 0
        } else {
            count <= self.sources()
        };
        if !fits {
            return self.miss(m.span, Why::Text("expected one bit for each source"));
        }
        Ok(bits)
    }

    fn field(&mut self, field: Field, m: &Modifier) -> Result<(), Miss> {
        if !self.encoder.has(field) {
            return self.miss(m.span, Why::Modifier);
        }
        // DS instructions have one offset or two.
        let two = matches!(field, Field::Offset0 | Field::Offset1);
        if two && self.row.shape.mods != Mods::Ds2 {
            return self.miss(m.span, Why::Modifier);
        }
        if !u32::try_from(m.value).is_ok_and(|v| self.encoder.set(field, v)) {
            let len = gcn_isa::format::layout_of(self.encoder.encoding, self.generation)
                .map_or(0, |l| l.field(field).len);
            return self.miss(m.span, Why::Range("a number", 0, (1 << len) - 1));
        }
        Ok(())
    }

    fn offset(&mut self, m: &Modifier) -> Result<(), Miss> {
        let value = m.value as i64;
        let (from, to) = match self.row.shape.mods {
            Mods::Ds | Mods::Swizzle | Mods::Gds => (0, 0xffff),
            Mods::Buffer | Mods::BufferLds | Mods::Typed => (0, 0xfff),
            Mods::Flat if !self.encoder.has(Field::Offset) => (0, 0),
            Mods::Flat if self.row.format == Format::Flat => (0, 0xfff),
            Mods::Flat => (-0x1000, 0xfff),
            Mods::Smem | Mods::SmemScratch if self.generation == Gen::Gfx9 => {
                (-(1 << 20), (1 << 20) - 1)
            }
            _ => return self.miss(m.span, Why::Modifier),
        };
        if !(from..=to).contains(&value) {
            if to == 0 {
                return self.miss(m.span, Why::Text("FLAT takes an offset from gfx9 on"));
            }
            return self.miss(m.span, Why::Range("an offset", from, to));
        }
        let e = &mut self.encoder;
        match self.row.shape.mods {
            Mods::Ds | Mods::Swizzle | Mods::Gds => {
                e.set(Field::Offset0, value as u32 & 255);
                e.set(Field::Offset1, value as u32 >> 8);
            }
            Mods::Smem | Mods::SmemScratch => {
                let has_register = e.set(Field::Imm, 1);
                if !has_register {
                    return self.miss(m.span, Why::Modifier);
                }
                e.set(Field::Offset, value as u32 & 0x1f_ffff);
            }
            Mods::Flat => {
                e.set(Field::Offset, value as u32 & 0x1fff);
            }
            _ => {
                e.set(Field::Offset, value as u32);
            }
        }
        Ok(())
    }
}

/// Describes the syntax of an encoding of a row, for messages.
fn syntax(row: &'static Inst, encoding: Encoding) -> String {
    let mut text = row.name.to_string();
    let mut separator = " ";
    for slot in row.shape.slots {
        let name = match slot.role {
            Role::Sdst | Role::SdstV => "sdst",
            Role::Ssrc0 => "ssrc0",
            Role::Ssrc1 => "ssrc1",
            Role::SsrcK => "ssrc",
            Role::Imm(Imm::Branch) => "label",
            Role::Imm(_) => "imm",
            Role::K => "literal",
            Role::Vdst | Role::VdstIfGlc => "vdst",
            Role::Src0 => "src0",
            Role::Src1 => match encoding {
                Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => "vsrc1",
                _ => "src1",
            },
            Role::Src2 => "src2",
            Role::CmpDst | Role::CarryOut | Role::CarryIn => match encoding {
                Encoding::Vop3 | Encoding::Vop3b => "sdst",
                Encoding::SdwaC => "sdst",
                _ => "vcc",
            },
            Role::Sdata => "sdata",
            Role::Sbase => "sbase",
            Role::Soff => "offset",
            Role::DsAddr | Role::FlatAddr | Role::BufAddr => "vaddr",
            Role::Data0 => "data0",
            Role::Data1 => "data1",
            Role::Vdata => "vdata",
            Role::Srsrc => "srsrc",
            Role::Soffset => "soffset",
            Role::Saddr => "saddr",
            Role::ImgAddr => "vaddr",
            Role::Ssamp => "ssamp",
            Role::Attr => "attr",
            Role::Param => "p10|p20|p0",
            Role::ExpTgt => "target",
            Role::ExpSrc(_) => "vsrc|off",
            Role::LaneSel => "lane",
        };
        text.push_str(separator);
        separator = ", ";
        text.push_str(match name {
            "sdst" if slot.role == Role::CarryIn => "ssrc2",
            name => name,
        });
        if slot.ty.dwords() > 1 && name != "vcc" && !matches!(slot.role, Role::Imm(_)) {
            text.push_str(&format!("[{}]", slot.ty.dwords()));
        }
    }
    let form = match encoding {
        Encoding::Vop3 | Encoding::Vop3b => "VOP3",
        Encoding::Sdwa1 | Encoding::Sdwa2 | Encoding::SdwaC => "SDWA",
        Encoding::Dpp1 | Encoding::Dpp2 | Encoding::DppC => "DPP",
        _ => row.format.name(),
    };
    format!("{text} ({form})")
}

/// Returns the name with the least edit distance, if that is small.
pub(crate) fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let limit = 1 + name.len() / 4;
    if name.len() > 48 {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for candidate in names {
        if candidate.len().abs_diff(name.len()) > limit {
            continue;
        }
        let distance = edit_distance(name.as_bytes(), candidate.as_bytes());
        if distance <= limit && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, name)| name)
}

/// Returns the number of letters to insert, delete, replace or swap with their neighbour.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut before = [0usize; 64];
    let mut last: [usize; 64] = core::array::from_fn(|n| n);
    let width = b.len().min(63);
    for i in 1..=a.len() {
        let mut row = [0usize; 64];
        row[0] = i;
        for j in 1..=width {
            let same = a[i - 1] == b[j - 1];
            row[j] = (last[j - 1] + !same as usize)
                .min(last[j] + 1)
                .min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = last;
        last = row;
    }
    last[width]
}
