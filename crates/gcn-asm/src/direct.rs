//! The bits that plain operands set in an encoding; most lines then need no full fit.

use crate::insn::Fitting;
use crate::lexer::Span;
use crate::operand::{Operand, Val};
use crate::parse::Parser;
use crate::symbols::Symbols;
use gcn_isa::encode::Encoder;
use gcn_isa::inst::Flags;
use gcn_isa::operand::{VCC, VGPR0};
use gcn_isa::shape::Access;
use gcn_isa::{Format, Target};

/// The kinds of plain operands: a VGPR, an SGPR, a small integer, or VCC.
const KINDS: usize = 4;

/// The operand does not take this kind, or not in this simple form.
const NONE: u8 = u8::MAX;

/// The bits of one operand in an encoding.
#[derive(Clone, Copy, Default)]
struct Direct {
    /// For each kind, the bits that its first value sets: v0, s0, 0, vcc.
    bits: [u64; KINDS],
    /// The shift of the difference to the first value, or [`NONE`].
    shift: [u8; KINDS],
    /// The bits that abs, neg and sext of a register set; 0 if they need a full fit.
    changes: [u64; 3],
    /// The required width of a register in dwords.
    dwords: u8,
    /// True if an SGPR or VCC is read over the constant bus.
    bus: bool,
}

/// A plain operand.
pub(crate) enum Plain {
    /// The first register and the number of registers.
    Register(u16, u8),
    Integer(i64),
}

impl Direct {
    #[inline]
    fn register(&self, code: u16, count: u8) -> Option<u64> {
        if count != self.dwords {
            return None;
        }
        match code {
            VGPR0.. => self.number(0, code - VGPR0),
            0..102 if code.is_multiple_of([1, 1, 2, 2, 4][count.min(4) as usize]) => {
                self.number(1, code)
            }
            VCC => self.number(3, 0),
            _ => None,
        }
    }

    #[inline]
    fn integer(&self, value: i64) -> Option<u64> {
        match value {
            0..=64 => self.number(2, value as u16),
            -16..=-1 => self.number(2, (64 - value) as u16),
            _ => None,
        }
    }

    /// Returns the bits of the value with this number of a kind.
    #[inline]
    fn number(&self, kind: usize, number: u16) -> Option<u64> {
        let shift = self.shift[kind];
        (shift != NONE).then(|| self.bits[kind] | (number as u64) << shift)
    }

    /// Returns the bits that the abs, neg and sext of an operand set.
    fn changes(&self, operand: &Operand) -> Option<u64> {
        if !matches!(operand.val, Val::Reg(..)) || operand.sext && (operand.abs || operand.neg) {
            return None;
        }
        let mut bits = 0;
        for (change, is) in self
            .changes
            .iter()
            .zip([operand.abs, operand.neg, operand.sext])
        {
            if is {
                if *change == 0 {
                    return None;
                }
                bits |= change;
            }
        }
        Some(bits)
    }
}

/// The bits of all operands in an encoding.
#[derive(Clone, Copy)]
pub(crate) struct Directs {
    operands: [Direct; 5],
    /// The number of operands.
    count: u8,
    /// The bits of a line that no operand sets; `None` if every line needs a full fit.
    rest: Option<u64>,
    /// True if modifiers set bits of their own.
    apart: bool,
}

impl Directs {
    /// Finds the bits by fitting some operands of each kind. Operands count as plain if only their number matters.
    pub fn of(encoder: Encoder, target: Target, clrx: bool) -> Directs {
        let slots = encoder.row.shape.slots;
        let mut directs = Directs {
            operands: [Direct::default(); 5],
            count: 0,
            rest: None,
            apart: false,
        };
        let scalar = matches!(
            encoder.row.format,
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk
        );
        let valu = encoder.row.format.is_valu();
        for direct in &mut directs.operands {
            direct.shift = [NONE; KINDS];
        }
        if slots.len() > directs.operands.len() || !(scalar || valu) {
            return directs;
        }
        let parser = Parser {
            src: "",
            base: 0,
            tokens: &[],
            at: 0,
            location: (0, 0),
            clrx,
            target,
            sym: &mut Symbols::new(),
            used: &mut [0; 2],
        };
        for (slot, direct) in slots.iter().zip(&mut directs.operands) {
            let dwords = slot.ty.dwords();
            // The bits that an operand sets.
            let changed = |operand: Operand| {
                let operand = [operand];
                let mut fitting = Fitting::with(&parser, encoder, &operand, &[], Span::default());
                let fits = fitting.slot(slot, 0, false).is_ok()
                    && fitting.violations.is_empty()
                    && fitting.warning.is_none()
                    && fitting.encoder.literal.is_none();
                fits.then_some(fitting.encoder.bits ^ encoder.bits)
            };
            let bits = |val: Val| changed(Operand::new(val, Span::default()));
            let register = |code: u16| bits(Val::Reg(code, dwords));
            // The first value's bits, and the shift that gives the bits of the others.
            let linear = |first: Option<u64>, others: &[(u64, Option<u64>)]| {
                let first = first?;
                let (number, bits) = *others.first()?;
                let unit = (first ^ bits?).checked_div(number)?;
                let shift = unit.is_power_of_two().then(|| unit.trailing_zeros())?;
                let fits =
                    |&(number, bits): &(u64, Option<u64>)| bits == Some(first | number << shift);
                others.iter().all(fits).then_some((first, shift as u8))
            };
            let vgprs = [1, 2, 128, 255].map(|n| (n as u64, register(VGPR0 + n)));
            let sgprs = [4, 8, 64, 100].map(|n| (n as u64, register(n)));
            // The codes of small negative integers come after 64.
            let integers = [(1, 1), (2, 2), (64, 64), (65, -1), (66, -2), (80, -16)]
                .map(|(number, value)| (number, bits(Val::Int(value))));
            let kinds = [
                linear(register(VGPR0), &vgprs),
                linear(register(0), &sgprs),
                linear(bits(Val::Int(0)), &integers),
                bits(Val::Reg(VCC, 2))
                    .filter(|_| dwords == 2)
                    .map(|bits| (bits, 0)),
            ];
            for (kind, found) in kinds.into_iter().enumerate() {
                if let Some((bits, shift)) = found {
                    direct.bits[kind] = bits;
                    direct.shift[kind] = shift;
                }
            }
            // abs, neg and sext must set the same bits of every register.
            for (n, change) in direct.changes.iter_mut().enumerate() {
                let of = |code: u16| {
                    let mut operand = Operand::new(Val::Reg(code, dwords), Span::default());
                    [operand.abs, operand.neg, operand.sext] = [n == 0, n == 1, n == 2];
                    Some(register(code)? ^ changed(operand)?)
                };
                let sgprs = direct.shift[1] != NONE || direct.shift[3] != NONE;
                *change = match (of(VGPR0), of(VGPR0 + 255), of(0)) {
                    (Some(a), Some(b), c) if a == b && (!sgprs || c == Some(a)) => a,
                    _ => 0,
                };
            }
            direct.dwords = dwords;
            direct.bus = valu && slot.access != Access::Write;
        }
        directs.count = slots.len() as u8;
        // A full fit is needed if the constant bus is shared with an implicit VCC or M0, or if a
        // destination may overlap a source.
        let closer = [Flags::READS_VCC, Flags::READS_M0, Flags::EARLY_WRITE];
        if !closer.iter().any(|f| encoder.row.flags.has(*f)) {
            directs.rest = directs.try_line(encoder, &parser);
            directs.apart = valu;
        }
        directs
    }

    /// Fits a whole line of plain operands to find the bits that no operand sets; `None` if
    /// operands alone are not enough.
    fn try_line(&self, encoder: Encoder, parser: &Parser<'_, '_>) -> Option<u64> {
        let mut operands = Vec::new();
        let mut bits = 0;
        for (n, _) in encoder.row.shape.slots.iter().enumerate() {
            let direct = &self.operands[n];
            let kind = direct.shift.iter().position(|&shift| shift != NONE)?;
            let val = match kind {
                0 => Val::Reg(VGPR0, direct.dwords),
                1 => Val::Reg(0, direct.dwords),
                2 => Val::Int(0),
                _ => Val::Reg(VCC, 2),
            };
            operands.push(Operand::new(val, Span::default()));
            bits |= direct.bits[kind];
        }
        let mut fitting = Fitting::with(parser, encoder, &operands, &[], Span::default());
        let fits = fitting.run().is_ok()
            && fitting.violations.is_empty()
            && fitting.warning.is_none()
            && fitting.encoder.literal.is_none();
        fits.then_some(fitting.encoder.bits & !bits)
    }

    /// Returns the bits that the operand with number `n` sets; `None` if it needs a full fit.
    #[inline]
    pub fn bits(&self, n: usize, operand: &Operand) -> Option<u64> {
        let direct = self.operands.get(n)?;
        let changes = if operand.has_mods() {
            direct.changes(operand)?
        } else {
            0
        };
        let bits = match operand.val {
            Val::Reg(code, count) => direct.register(code, count),
            Val::Int(value) => direct.integer(value),
            _ => None,
        };
        Some(bits? | changes)
    }

    /// Reads the operands of a line from its text. `operand` reads the next one, with the numbers of its registers, or else
    /// its value; `None` if it is not plain. Returns the bits that the operands set, as [`Directs::all`] does.
    #[inline]
    pub fn read(&self, mut operand: impl FnMut(usize) -> Option<Plain>) -> Option<u64> {
        if self.count == 0 || self.rest.is_none() && !self.apart {
            return None;
        }
        let mut all = 0;
        let mut bus = false;
        for (n, direct) in self.operands.iter().enumerate().take(self.count as usize) {
            all |= match operand(n)? {
                Plain::Register(code, count) => {
                    if code < VGPR0 && direct.bus && std::mem::replace(&mut bus, true) {
                        return None;
                    }
                    direct.register(code, count)?
                }
                Plain::Integer(value) => direct.integer(value)?,
            };
        }
        Some(all)
    }

    /// Returns all bits of a line by those of its operands; `None` if it needs a full fit.
    #[inline]
    pub fn with_rest(&self, operands: u64) -> Option<u64> {
        Some(self.rest? | operands)
    }

    /// Returns all bits of a line without modifiers; `None` if an operand, or their combination, needs a full fit.
    #[inline]
    pub fn line(&self, operands: &[Operand]) -> Option<u64> {
        Some(self.rest? | self.all(operands)?)
    }

    /// Returns true if modifiers set separate bits, independently of the operands. The modifiers of the vector ALU do,
    /// unless an operand, or their combination, needs a full fit.
    pub fn modifiers_apart(&self) -> bool {
        self.apart
    }

    /// Returns the bits that the operands of a line set; `None` if one, or their combination, needs a full fit.
    #[inline]
    pub fn all(&self, operands: &[Operand]) -> Option<u64> {
        let mut all = 0;
        if operands.len() != self.count as usize {
            return None;
        }
        let mut bus = None;
        for (n, operand) in operands.iter().enumerate() {
            all |= self.bits(n, operand)?;
            if let Val::Reg(code @ 0..VGPR0, count) = operand.val
                && self.operands[n].bus
                && bus.replace((code, count)).is_some()
            {
                return None;
            }
        }
        Some(all)
    }
}
