//! Prints meanings as pseudo-code, for the section "Operation" of `gcn doc`.
//!
//! The text is derived only from the nodes and effects, in the notation of AMD's manuals: `D` is the destination, `S0` to `S2` are the
//! sources, `S0.u` is a source read as an unsigned number of its width, `.i` as a signed one, `.f` as a float. Values that are used several
//! times get a name, `t0`, `t1`, … Sources are read before anything is written. tests/operations.rs evaluates the text beside the nodes.

use std::fmt::Write as _;

use gcn::isa::format::{Field, Format};
use gcn::isa::image::{Detail, Footprint, ImageOp, Raw, Sampling};
use gcn::isa::meaning::{
    AtomicOp, Change, Effect, GwsOp, Halves, Node, Op, Program, Signal, Space, State,
};
use gcn::isa::op::{Bind, Notation, Reads};
use gcn::isa::shape::{Access, Imm, Role, Ty};

/// The names of the bits of TRAPSTS, from the lowest on.
const EXCEPTIONS: [&str; 7] = [
    "invalid operation",
    "denormal source",
    "division by zero",
    "overflow",
    "underflow",
    "inexact result",
    "integer division by zero",
];

/// Returns the pseudo-code of a meaning, one statement per line, without a line break at the end.
pub fn text(program: &Program) -> String {
    let mut printer = Printer::new(program);
    printer.statements();
    printer.out.trim_end().to_string()
}

/// Returns the name of an operand in the pseudo-code.
pub fn operand_name(program: &Program, slot: usize) -> &'static str {
    let slots = program.row.shape.slots;
    let Some(s) = slots.get(slot) else { return "?" };
    // The first destination is D, independently of its field.
    let is_d = |role| {
        matches!(
            role,
            Role::Sdst | Role::Vdst | Role::SdstV | Role::CmpDst | Role::Sdata | Role::Vdata
        )
    };
    if slots.iter().position(|s| is_d(s.role)) == Some(slot) {
        return match s.role {
            // Data that is read is a source, as is the destination of atomics.
            Role::Sdata | Role::Vdata if s.access != Access::Write => "DATA",
            _ => "D",
        };
    }
    role_name(s.role)
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Sdst | Role::Vdst | Role::SdstV | Role::CmpDst => "D",
        Role::Ssrc0 | Role::Src0 | Role::SsrcK => "S0",
        Role::Ssrc1 | Role::Src1 | Role::LaneSel => "S1",
        Role::Src2 => "S2",
        Role::Imm(Imm::GprIdxSsrc1) => "SSRC1",
        Role::Imm(Imm::Sdata) => "SDATA",
        Role::Imm(_) => "SIMM16",
        Role::K => "K",
        Role::CarryOut => "CARRY_OUT",
        Role::CarryIn => "CARRY_IN",
        Role::Sdata | Role::Vdata => "DATA",
        Role::Sbase => "SBASE",
        Role::Soff => "OFFSET",
        Role::DsAddr | Role::FlatAddr => "ADDR",
        Role::Data0 => "DATA0",
        Role::Data1 => "DATA1",
        Role::BufAddr => "VADDR",
        Role::Srsrc => "SRSRC",
        Role::Soffset => "SOFFSET",
        Role::Saddr => "SADDR",
        Role::VdstIfGlc => "D",
        Role::ImgAddr => "VADDR",
        Role::Ssamp => "SSAMP",
        Role::Attr => "ATTR",
        Role::Param => "PARAM",
        Role::ExpTgt => "TGT",
        Role::ExpSrc(n) => ["VSRC0", "VSRC1", "VSRC2", "VSRC3"][n as usize & 3],
    }
}

/// Returns the suffix for reading a value as a type: `.u`, `.i`, `.f`, `.d`, with the width unless it is 32 bits.
pub fn suffix(ty: Ty) -> &'static str {
    match ty {
        Ty::Bool | Ty::B96 | Ty::B128 | Ty::B256 | Ty::B512 => "",
        Ty::B8 => ".u8",
        Ty::B16 | Ty::U16 => ".u16",
        Ty::I16 => ".i16",
        Ty::F16 => ".f16",
        Ty::B32 | Ty::U32 => ".u",
        Ty::I32 => ".i",
        Ty::F32 => ".f",
        Ty::B64 | Ty::U64 | Ty::Mask => ".u64",
        Ty::I64 => ".i64",
        Ty::F64 => ".d",
    }
}

/// The unsigned type of a width.
fn unsigned(ty: Ty) -> Ty {
    match ty.bits() {
        16 => Ty::U16,
        32 => Ty::U32,
        64 => Ty::U64,
        _ => ty,
    }
}

/// The signed type of a width.
fn signed(ty: Ty) -> Ty {
    match ty.bits() {
        16 => Ty::I16,
        32 => Ty::I32,
        64 => Ty::I64,
        _ => ty,
    }
}

/// The float type of a width.
fn float(ty: Ty) -> Ty {
    match ty.bits() {
        16 => Ty::F16,
        32 => Ty::F32,
        64 => Ty::F64,
        _ => ty,
    }
}

/// Nodes that are written as one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Idiom {
    /// A float without its denormals.
    Flush(u16),
    /// The test for a signaling NaN.
    SignalingNan(u16),
    /// The low bits, or with CLAMP the nearest value that fits.
    Saturate(u16, Ty),
    /// The low bits of an operand as a signed number.
    SignedLow(u16, u32),
}

/// The mask of the exponent of a float type, and that of its sign.
fn float_masks(ty: Ty) -> (u64, u64) {
    match ty.bits() {
        16 => (0x7c00, 0x8000),
        32 => (0x7f80_0000, 0x8000_0000),
        _ => (0x7ff0_0000_0000_0000, 0x8000_0000_0000_0000),
    }
}

/// Recognises nodes that are written as one.
fn idiom(program: &Program, at: u16) -> Option<Idiom> {
    let node = |n: u16| &program.nodes[n as usize];
    let constant = |n: u16| match node(n).op {
        Op::Const(value) => Some(value),
        _ => None,
    };
    let this = node(at);
    let [a, b, c] = this.args;
    match this.op {
        Op::Class if constant(b) == Some(1) => Some(Idiom::SignalingNan(a)),
        Op::Shr if this.ty.is_signed() => {
            let inner = node(a);
            let n = constant(b)?;
            let same = inner.op == Op::Shl && constant(inner.args[1]) == Some(n);
            let operand = matches!(node(inner.args[0]).op, Op::Src(_));
            (same && operand && matches!(this.ty.bits() as u64 - n, 4 | 8 | 16 | 24))
                .then(|| Idiom::SignedLow(inner.args[0], this.ty.bits() - n as u32))
        }
        Op::Select => {
            let test = node(a);
            let (exponent, sign) = float_masks(this.ty);
            let masked = |n: u16, mask: u64| {
                let and = node(n);
                and.op == Op::And && and.args[0] == b && constant(and.args[1]) == Some(mask)
            };
            if test.op == Op::Ne
                && constant(test.args[1]) == Some(0)
                && masked(test.args[0], exponent)
                && masked(c, sign)
            {
                return Some(Idiom::Flush(b));
            }
            saturation(program, at)
        }
        _ => None,
    }
}

/// Recognises `CLAMP && extended(low(x)) != x ? limit : low(x)`.
fn saturation(program: &Program, at: u16) -> Option<Idiom> {
    let node = |n: u16| &program.nodes[n as usize];
    let [test, limit, low] = node(at).args;
    let of = node(low).args[0];
    let both = node(test);
    if node(low).op != Op::Trunc || both.op != Op::And || both.ty != Ty::Bool {
        return None;
    }
    let clamp = node(both.args[0]);
    let differs = node(both.args[1]);
    let is_clamp = clamp.op == Op::Ne
        && node(clamp.args[0]).op == Op::Field(Field::Clamp)
        && node(clamp.args[1]).op == Op::Const(0);
    let extended = node(differs.args[0]);
    let fits = differs.op == Op::Ne && differs.args[1] == of && extended.args[0] == low;
    let ty = node(low).out;
    let ones = u64::MAX >> (64 - ty.bits());
    match (extended.op, node(limit).op) {
        (Op::Zext, Op::Const(most)) if is_clamp && fits && most == ones => {
            Some(Idiom::Saturate(of, unsigned(ty)))
        }
        (Op::Sext, Op::Select) if is_clamp && fits => {
            let [negative, least, most] = node(limit).args;
            let is_negative = node(negative).op == Op::Lt
                && node(negative).args[0] == of
                && node(node(negative).args[1]).op == Op::Const(0);
            let limits = node(least).op == Op::Const((ones >> 1) + 1)
                && node(most).op == Op::Const(ones >> 1);
            (is_negative && limits).then(|| Idiom::Saturate(of, signed(ty)))
        }
        _ => None,
    }
}

/// The nodes that the text of a node names.
fn children(program: &Program, at: u16) -> Vec<u16> {
    match idiom(program, at) {
        Some(Idiom::Flush(x) | Idiom::SignalingNan(x) | Idiom::SignedLow(x, _)) => vec![x],
        Some(Idiom::Saturate(x, _)) => vec![x, x],
        None => {
            let node = &program.nodes[at as usize];
            node.args[..node.op.arity()].to_vec()
        }
    }
}

struct Printer<'p> {
    program: &'p Program,
    uses: Vec<u32>,
    /// Returns the name of a node, if it has one.
    names: Vec<Option<String>>,
    temporaries: usize,
    vector: bool,
    out: String,
}

fn is_leaf(op: Op) -> bool {
    op.arity() == 0
}

/// The nodes an effect reads.
fn effect_reads(effect: &Effect) -> impl Iterator<Item = u16> {
    let second = match effect.change {
        Change::SgprPair
        | Change::Sgpr
        | Change::Vgpr
        | Change::Store(..)
        | Change::DstLane(_)
        | Change::Export(_)
        | Change::Setreg => Some(effect.second),
        Change::Dst(_)
        | Change::DstDword(..)
        | Change::DstHalf(..)
        | Change::StoreFormat(..)
        | Change::Image(_)
        | Change::Set(_)
        | Change::Signal(_)
        | Change::Raise(_) => None,
    };
    effect.when.into_iter().chain([effect.value]).chain(second)
}

impl<'p> Printer<'p> {
    fn new(program: &'p Program) -> Printer<'p> {
        let mut uses = vec![0; program.nodes.len()];
        for effect in &program.effects {
            for node in effect_reads(effect) {
                uses[node as usize] += 1;
            }
        }
        // The order is backwards, because only operands of needed nodes are counted.
        for at in (0..program.nodes.len()).rev() {
            if uses[at] > 0 || program.nodes[at].op.acts() {
                for arg in children(program, at as u16) {
                    uses[arg as usize] += 1;
                }
            }
        }
        // The condition of consecutive effects is printed once.
        for pair in program.effects.windows(2) {
            if let (Some(a), Some(b)) = (pair[0].when, pair[1].when)
                && a == b
            {
                uses[a as usize] -= 1;
            }
        }
        Printer {
            program,
            uses,
            names: vec![None; program.nodes.len()],
            temporaries: 0,
            vector: program.row.format.is_vector(),
            out: String::new(),
        }
    }

    fn node(&self, at: u16) -> &'p Node {
        &self.program.nodes[at as usize]
    }

    fn statements(&mut self) {
        let effects = &self.program.effects;
        // Every value is read before anything is written. A value that is overwritten before the text reads it gets a name.
        for at in 0..self.program.nodes.len() as u16 {
            if self.is_overwritten(at) {
                self.give_name(at);
            }
        }
        // Atomics change memory even if the old value is not used.
        for at in 0..self.program.nodes.len() as u16 {
            if !self.node(at).op.acts() {
                continue;
            }
            let plain = |e: &Effect| e.when.is_none() && e.value == at;
            for arg in children(self.program, at) {
                self.name_shared(arg);
            }
            if let Op::Atomic(space, op) | Op::WaveAtomic(space, op) = self.node(at).op {
                self.atomic(at, space, op);
            } else if self.uses[at as usize] == 0 {
                let text = self.expression(at, Bind::Select);
                self.line("", &text);
            } else if self.uses[at as usize] > 1 || !effects.iter().any(plain) {
                self.give_name(at);
            }
        }
        let mut condition = None;
        for (at, effect) in effects.iter().enumerate() {
            if effect.when.is_none() {
                let by_destination = self.takes_destination_name(effect);
                for node in effect_reads(effect) {
                    if node == effect.value && by_destination {
                        // Later uses refer to D.
                        for arg in children(self.program, node) {
                            self.name_shared(arg);
                        }
                    } else {
                        self.name_shared(node);
                    }
                }
            } else if effect.when != condition {
                // Names that are used inside an `if` are assigned before it.
                for inside in effects[at..].iter().take_while(|e| e.when == effect.when) {
                    for node in effect_reads(inside) {
                        self.name_shared(node);
                    }
                }
            }
            if effect.when != condition
                && let Some(c) = effect.when
            {
                let text = self.expression(c, Bind::Select);
                self.line("", &format!("if {text}:"));
            }
            condition = effect.when;
            let indent = if condition.is_some() { "    " } else { "" };
            let named = self.takes_destination_name(effect);
            let text = self.effect(effect);
            self.line(indent, &text);
            if named {
                self.names[effect.value as usize] = Some("D".into());
            }
        }
    }

    /// Returns true if a node reads state that an effect before its first use in the text writes.
    fn is_overwritten(&self, at: u16) -> bool {
        let op = self.node(at).op;
        let writes = |change: Change| match (op, change) {
            (Op::Get(read), Change::Set(state)) => read == state,
            (Op::Src(read), Change::Dst(slot) | Change::DstDword(slot, _)) => read == slot,
            (Op::SrcDword(read, _), Change::Dst(slot)) => read == slot,
            (Op::SrcDword(read, k), Change::DstDword(slot, j))
            | (Op::SrcHalf(read, k), Change::DstHalf(slot, j)) => (read, k) == (slot, j),
            _ => false,
        };
        let effects = &self.program.effects;
        let Some(first) = effects.iter().position(|e| writes(e.change)) else {
            return false;
        };
        let (before, after) = effects.split_at(first + 1);
        // Values that both sides share already have names.
        let shared = |n: u16| {
            let many = self.uses[n as usize] > 1 && !is_leaf(self.node(n).op);
            self.node(n).op.acts()
                || many
                    && before
                        .iter()
                        .any(|e| effect_reads(e).any(|r| self.reaches(r, n, &|_| false)))
        };
        after
            .iter()
            .any(|e| effect_reads(e).any(|read| self.reaches(read, at, &shared)))
    }

    /// Returns true if a node's text contains another's; nodes with names count as their names.
    fn reaches(&self, from: u16, to: u16, is_name: &dyn Fn(u16) -> bool) -> bool {
        from == to
            || !is_name(from)
                && children(self.program, from)
                    .into_iter()
                    .any(|arg| self.reaches(arg, to, is_name))
    }

    /// Writes `t0 = …` for a node.
    fn give_name(&mut self, at: u16) {
        let text = self.expression(at, Bind::Select);
        let name = format!("t{}", self.temporaries);
        self.temporaries += 1;
        self.line("", &format!("{name} = {text}"));
        self.names[at as usize] = Some(name);
    }

    /// Writes an atomic as AMD's manuals do: the old value, then the new one.
    fn atomic(&mut self, at: u16, space: Space, op: AtomicOp) {
        let node = self.node(at);
        let [a, b, c] = node.args;
        let acts = |n: &&Node| matches!(n.op, Op::Atomic(..) | Op::WaveAtomic(..));
        let name = match self.program.nodes.iter().filter(acts).count() {
            1 => "tmp".to_string(),
            _ => {
                let before = &self.program.nodes[..at as usize];
                format!("tmp{}", before.iter().filter(acts).count())
            }
        };
        let location = self.location(space, node.out, a, 0);
        let value = |n: u16| self.typed(n, node.ty, true, Bind::Unary);
        let data = value(b);
        let ordered = matches!(op, AtomicOp::Min | AtomicOp::Max) && node.ty.is_signed();
        let old = match ordered {
            true => format!("{name}{}", suffix(node.ty)),
            false => name.clone(),
        };
        let new = match op {
            AtomicOp::Swap => self.typed(b, node.ty, true, Bind::Select),
            AtomicOp::CmpSwap => format!("{name} == {} ? {data} : {name}", value(c)),
            AtomicOp::Add => format!("{name} + {data}"),
            AtomicOp::Sub => format!("{name} - {data}"),
            AtomicOp::Rsub => format!("{data} - {name}"),
            AtomicOp::Min => format!("min({old}, {data})"),
            AtomicOp::Max => format!("max({old}, {data})"),
            AtomicOp::And => format!("{name} & {data}"),
            AtomicOp::Or => format!("{name} | {data}"),
            AtomicOp::Xor => format!("{name} ^ {data}"),
            AtomicOp::Inc => format!("{name} >= {data} ? 0 : {name} + 1"),
            AtomicOp::Dec => format!("{name} == 0 || {name} > {data} ? {data} : {name} - 1"),
            AtomicOp::Mskor => format!("({name} & ~{data}) | {}", value(c)),
            AtomicOp::Wrap => format!("{name} >= {data} ? {name} - {data} : {name} + {}", value(c)),
            AtomicOp::AndAdd => format!("({name} & {}) + {data}", value(c)),
            AtomicOp::CondSwap => {
                let top = node.out.bits() - 1;
                format!("{data}[{top}] ? {data}[{}:0] : {name}", top - 1)
            }
        };
        let indent = match node.op {
            Op::WaveAtomic(..) => {
                self.line("", "once for the wave:");
                "    "
            }
            _ => "",
        };
        self.line(indent, &format!("{name} = {location}"));
        self.line(indent, &format!("{location} = {new}"));
        self.names[at as usize] = Some(name);
    }

    /// Returns true if an effect assigns a value to D, to which later text can refer as D.
    fn takes_destination_name(&self, effect: &Effect) -> bool {
        let Change::Dst(slot) = effect.change else {
            return false;
        };
        let node = self.node(effect.value);
        let slot_ty = self.program.row.shape.slots[slot as usize].ty;
        !self.vector
            && effect.when.is_none()
            && !is_leaf(node.op)
            && self.names[effect.value as usize].is_none()
            && self.uses[effect.value as usize] > 1
            && node.out.bits() == slot_ty.bits()
            && !self.program.nodes.iter().any(|n| n.op == Op::Src(slot))
            && operand_name(self.program, slot as usize) == "D"
    }

    fn line(&mut self, indent: &str, text: &str) {
        self.out.push_str(indent);
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// Writes the assignments of the names that an expression needs.
    fn name_shared(&mut self, at: u16) {
        if self.names[at as usize].is_some() || self.two_dwords(at).is_some() {
            return;
        }
        let node = self.node(at);
        for arg in children(self.program, at) {
            self.name_shared(arg);
        }
        let shared = self.uses[at as usize] > 1 && !is_leaf(node.op);
        if shared && !self.is_bit_range_inside(at) {
            self.give_name(at);
        }
    }

    /// Returns true for a shift that all its users print as a range of bits, so that it needs no name.
    fn is_bit_range_inside(&self, at: u16) -> bool {
        let is_shift = matches!(self.node(at).op, Op::Shr)
            && matches!(self.node(self.node(at).args[1]).op, Op::Const(_))
            && is_leaf(self.node(self.node(at).args[0]).op);
        is_shift
            && self.program.nodes.iter().enumerate().all(|(n, node)| {
                !node.args[..node.op.arity()].contains(&at) || self.bit_range(n as u16).is_some()
            })
            && !self
                .program
                .effects
                .iter()
                .any(|e| effect_reads(e).any(|n| n == at))
    }

    /// `(x >> lo) & ones` as (x, highest bit, lowest bit).
    fn bit_range(&self, at: u16) -> Option<(u16, u64, u64)> {
        let and = self.node(at);
        if and.op != Op::And {
            return None;
        }
        let Op::Const(mask) = self.node(and.args[1]).op else {
            return None;
        };
        let shift = self.node(and.args[0]);
        let leaf = matches!(
            shift.op,
            Op::Src(_) | Op::SrcDword(..) | Op::SrcHalf(..) | Op::Get(_) | Op::Field(_)
        );
        if leaf
            && mask != 0
            && mask & mask.wrapping_add(1) == 0
            && self.own_type(and.args[0]) != Ty::Bool
        {
            return Some((and.args[0], mask.count_ones() as u64 - 1, 0));
        }
        if shift.op != Op::Shr || self.names[and.args[0] as usize].is_some() {
            return None;
        }
        let Op::Const(lo) = self.node(shift.args[1]).op else {
            return None;
        };
        let n = mask.trailing_ones() as u64;
        let width = shift.ty.bits() as u64;
        (n != 0 && mask == u64::MAX >> (64 - n) && lo + n <= width).then_some((
            shift.args[0],
            lo + n - 1,
            lo,
        ))
    }

    /// `(x >> n) & 1 != 0` as (x, n).
    fn one_bit(&self, at: u16) -> Option<(u16, u16)> {
        let test = self.node(at);
        if test.op != Op::Ne || self.node(test.args[1]).op != Op::Const(0) {
            return None;
        }
        let and = self.node(test.args[0]);
        let unnamed = |n: u16| self.names[n as usize].is_none();
        if and.op != Op::And
            || self.node(and.args[1]).op != Op::Const(1)
            || !unnamed(test.args[0])
            || !unnamed(and.args[0])
        {
            return None;
        }
        let shift = self.node(and.args[0]);
        (shift.op == Op::Shr).then_some((shift.args[0], shift.args[1]))
    }

    /// Matches two consecutive dwords of an operand: returns the slot and the lower dword's number.
    fn two_dwords(&self, at: u16) -> Option<(u8, u8)> {
        let dword = |n: u16| match self.node(n).op {
            Op::Zext => match self.node(self.node(n).args[0]).op {
                Op::SrcDword(slot, k) => Some((slot, k)),
                _ => None,
            },
            _ => None,
        };
        let or = self.node(at);
        let high = self.node(or.args[1]);
        if or.op != Op::Or || high.op != Op::Shl || self.node(high.args[1]).op != Op::Const(32) {
            return None;
        }
        let (low, high) = (dword(or.args[0])?, dword(high.args[0])?);
        (low.0 == high.0 && low.1 % 2 == 0 && low.1 + 1 == high.1).then_some(low)
    }

    fn effect(&self, effect: &Effect) -> String {
        let value = || self.expression(effect.value, Bind::Select);
        let second = || self.expression(effect.second, Bind::Select);
        match effect.change {
            Change::Dst(slot) => {
                let name = operand_name(self.program, slot as usize);
                let mask = self.vector
                    && self.program.row.shape.slots[slot as usize].ty == Ty::Mask
                    && self.node(effect.value).out == Ty::Bool;
                let written = match mask {
                    true => "[lane]",
                    false => self.written(slot, effect.value),
                };
                format!("{name}{written} = {}", value())
            }
            Change::DstDword(slot, k) => match self.dword(slot, k) {
                text if text.contains(".dword") => format!("{text} = {}", value()),
                text => format!("{text}{} = {}", self.written(slot, effect.value), value()),
            },
            Change::DstHalf(slot, k) => {
                let ty = self.node(effect.value).out;
                format!("{} = {}", self.half(slot, k, ty), value())
            }
            Change::DstLane(slot) => {
                let name = operand_name(self.program, slot as usize);
                let name = format!("{name}{}", self.written(slot, effect.value));
                format!("{name}[lane {}] = {}", second(), value())
            }
            Change::Set(state) => {
                let per_lane = self.vector
                    && matches!(state, State::Exec | State::Vcc)
                    && self.node(effect.value).out == Ty::Bool;
                let lane = if per_lane { "[lane]" } else { "" };
                format!("{}{lane} = {}", state.name(), value())
            }
            Change::SgprPair => {
                let number = value();
                format!(
                    "SGPR[{number} : {}] = {}",
                    self.next(effect.value),
                    second()
                )
            }
            Change::Sgpr => format!(
                "SGPR[{}]{} = {}",
                value(),
                self.pair(effect.second),
                second()
            ),
            Change::Vgpr => format!(
                "VGPR[{}]{} = {}",
                value(),
                self.pair(effect.second),
                second()
            ),
            Change::Store(space, offset) => {
                let ty = self.node(effect.second).out.as_bits();
                let ty = if self.node(effect.second).out.bits() > 64 {
                    self.node(effect.second).out
                } else {
                    ty
                };
                format!(
                    "{} = {}",
                    self.location(space, ty, effect.value, offset),
                    second()
                )
            }
            Change::StoreFormat(slot, count, halves) => {
                let components = ["x", "xy", "xyz", "xyzw"][(count as usize + 3) % 4];
                let part = match halves {
                    Halves::No => "",
                    Halves::Low => ".low_halves",
                    Halves::High => ".high_half",
                    Halves::Both => ".halves",
                };
                let data = operand_name(self.program, slot as usize);
                format!(
                    "element at {} = convert({components} of {data}{part})",
                    value()
                )
            }
            Change::Image(op) => image(op),
            Change::Export(k) => format!(
                "EXPORT[{}].{} = {}",
                second(),
                ["x", "y", "z", "w"][k as usize & 3],
                value()
            ),
            Change::Setreg => format!("HWREG({}) = {}", value(), second()),
            Change::Raise(exceptions) => {
                let names: Vec<&str> = EXCEPTIONS
                    .iter()
                    .enumerate()
                    .filter(|(bit, _)| exceptions >> bit & 1 != 0)
                    .map(|(_, name)| *name)
                    .collect();
                format!("exception if {}: {}", value(), names.join(", "))
            }
            Change::Signal(signal) => match signal {
                Signal::Nop => format!("idle for {} cycles", value()),
                Signal::Endpgm => "end the wave".into(),
                Signal::Barrier => "wait until every wave of the workgroup is here".into(),
                Signal::Waitcnt => format!("wait for the counters in {}", value()),
                Signal::Sleep => format!(
                    "sleep about 64 * {} cycles",
                    self.expression(effect.value, Bind::Unary)
                ),
                Signal::Wakeup => "wake the sleeping waves of the workgroup".into(),
                Signal::Sendmsg => format!("send the message in {}", value()),
                Signal::Trap => format!("enter the trap handler with {}", value()),
                Signal::Cache => match self.program.row.format {
                    Format::Sopp => "invalidate the instruction cache".into(),
                    Format::Smem => "maintain the scalar data cache".into(),
                    _ => "maintain the vector cache".into(),
                },
                Signal::PerfUp => format!("PERFCNT[{}] += 1", value()),
                Signal::PerfDown => format!("PERFCNT[{}] -= 1", value()),
                Signal::Release => format!("give up the turn, and all to come if {}", value()),
                Signal::Exported => format!("make the export with the flags {}", value()),
                Signal::ThreadTrace => format!("thread trace gets {}", value()),
            },
        }
    }

    /// Returns the text of the next register number: `t0 + 3` after `t0 + 2`.
    fn next(&self, number: u16) -> String {
        let node = self.node(number);
        if node.op == Op::Add
            && self.names[number as usize].is_none()
            && let Op::Const(c) = self.node(node.args[1]).op
        {
            return format!("{} + {}", self.expression(node.args[0], Bind::Sum), c + 1);
        }
        format!("{} + 1", self.expression(number, Bind::Sum))
    }

    /// Returns the text of a dword of an operand, which is the operand itself if it has only one.
    fn dword(&self, slot: u8, k: u8) -> String {
        let name = operand_name(self.program, slot as usize);
        match self.program.row.shape.slots[slot as usize].ty.dwords() {
            0 | 1 => name.into(),
            _ => format!("{name}.dword{k}"),
        }
    }

    /// Returns the text of one of the halves of a packed operand, read as a type.
    fn half(&self, slot: u8, k: u8, ty: Ty) -> String {
        let name = operand_name(self.program, slot as usize);
        format!("{name}{}[{k}]", suffix(ty))
    }

    /// Returns the suffix of a destination that takes a value.
    fn written(&self, slot: u8, value: u16) -> &'static str {
        let declared = self.program.row.shape.slots[slot as usize].ty;
        let out = self.own_type(value);
        let same = out.bits() == declared.bits() && out != Ty::Bool;
        match same && out.is_float() != declared.is_float() {
            true => suffix(out),
            false => suffix(declared),
        }
    }

    /// Returns the text that marks a register number as that of a pair.
    fn pair(&self, value: u16) -> &'static str {
        if self.node(value).out.bits() > 32 {
            ".pair"
        } else {
            ""
        }
    }

    fn location(&self, space: Space, ty: Ty, address: u16, offset: i32) -> String {
        let name = match space {
            Space::Global => "MEM",
            Space::Flat => "FLAT",
            Space::Scratch => "SCRATCH",
            Space::Lds | Space::Parameters => "LDS",
            Space::Gds => "GDS",
        };
        // An address has 64 bits anyway.
        let address = match self.node(address).op {
            Op::Zext if self.names[address as usize].is_none() => self.node(address).args[0],
            _ => address,
        };
        let mut at = self.expression(address, if offset == 0 { Bind::Select } else { Bind::Sum });
        match offset {
            0 => {}
            o if o < 0 => {
                let _ = write!(at, " - {}", o.unsigned_abs());
            }
            o => {
                let _ = write!(at, " + {o}");
            }
        }
        let ty = if ty.is_float() {
            ty
        } else {
            match ty {
                Ty::B8 => Ty::B8,
                signed if signed.is_signed() => signed,
                other => unsigned(other),
            }
        };
        let ty = if ty == Ty::B8 { "u8" } else { ty.name() };
        format!("{name}.{ty}[{at}]")
    }

    /// Returns the type of a node: of a declared operand, of a state or of its result.
    fn own_type(&self, at: u16) -> Ty {
        let node = self.node(at);
        match node.op {
            Op::Src(slot) => {
                let ty = self.program.row.shape.slots[slot as usize].ty;
                // With mixed precision a source may have another width than the slot.
                if ty == Ty::Mask || ty.bits() != node.out.bits() {
                    node.out
                } else {
                    ty
                }
            }
            Op::Select if matches!(idiom(self.program, at), Some(Idiom::Flush(_))) => {
                float(node.out)
            }
            _ => node.out,
        }
    }

    /// Returns the text of an operand that is read as `ty`; `signs` is true if the operation distinguishes signed and unsigned.
    fn typed(&self, at: u16, ty: Ty, signs: bool, bind: Bind) -> String {
        let own = self.own_type(at);
        let differs =
            own.is_float() != ty.is_float() || (signs && own.is_signed() != ty.is_signed());
        let constant = matches!(self.node(at).op, Op::Const(_));
        if constant {
            let Op::Const(value) = self.node(at).op else {
                unreachable!()
            };
            return constant_text(value, ty);
        }
        if differs && ty != Ty::Bool && own != Ty::Bool {
            self.read_as(at, ty)
        } else {
            self.expression(at, bind)
        }
    }

    /// Returns the text of a value with the suffix of a type.
    fn read_as(&self, at: u16, ty: Ty) -> String {
        let name = self.names[at as usize].as_deref();
        match (name, self.node(at).op) {
            (Some("D"), _) => format!("D{}", suffix(ty)),
            (None, Op::Src(slot)) if self.own_type(at) != Ty::Bool => {
                format!(
                    "{}{}",
                    operand_name(self.program, slot as usize),
                    suffix(ty)
                )
            }
            (None, Op::SrcHalf(slot, k)) => self.half(slot, k, ty),
            (None, Op::Or) if self.bare(at).1.ends_with(".u64") => {
                let text = self.bare(at).1;
                format!("{}{}", text.trim_end_matches(".u64"), suffix(ty))
            }
            (None, Op::SrcDword(slot, k)) => match self.dword(slot, k) {
                text if text.contains(".dword") => format!("{text}{}", suffix(ty)),
                _ => format!(
                    "{}{}",
                    operand_name(self.program, slot as usize),
                    suffix(ty)
                ),
            },
            _ => format!("{}{}", self.expression(at, Bind::Atom), suffix(ty)),
        }
    }

    /// Returns the text of a value from which bits are taken.
    fn bits_of(&self, at: u16) -> String {
        match (&self.names[at as usize], self.node(at).op) {
            (None, Op::Src(_) | Op::SrcHalf(..)) => self.read_as(at, unsigned(self.own_type(at))),
            (None, Op::Trunc) if is_leaf(self.node(self.node(at).args[0]).op) => {
                self.bits_of(self.node(at).args[0])
            }
            _ => self.expression(at, Bind::Atom),
        }
    }

    fn expression(&self, at: u16, bind: Bind) -> String {
        if let Some(name) = &self.names[at as usize] {
            return match name.as_str() {
                "D" => format!("D{}", suffix(self.node(at).out)),
                _ => name.clone(),
            };
        }
        let (own, text) = self.bare(at);
        if own < bind {
            format!("({text})")
        } else {
            text
        }
    }

    /// Returns an expression without parentheses around it, and its precedence.
    fn bare(&self, at: u16) -> (Bind, String) {
        if let Some(idiom) = self.idiom(at) {
            return idiom;
        }
        let node = self.node(at);
        match idiom(self.program, at) {
            Some(Idiom::Flush(x)) => {
                return call(
                    "flush",
                    &[self.typed(x, float(node.ty), true, Bind::Select)],
                );
            }
            Some(Idiom::SignalingNan(x)) => {
                return call(
                    "is_signaling_nan",
                    &[self.typed(x, node.ty, true, Bind::Select)],
                );
            }
            Some(Idiom::Saturate(x, ty)) => {
                let (x, top) = (self.expression(x, Bind::Atom), ty.bits() - 1);
                let text = format!("CLAMP ? saturate_{}({x}) : {x}[{top}:0]", ty.name());
                return (Bind::Select, text);
            }
            Some(Idiom::SignedLow(x, bits)) => {
                let Op::Src(slot) = self.node(x).op else {
                    unreachable!("an operand")
                };
                let name = operand_name(self.program, slot as usize);
                let part = if bits == 24 { "" } else { "[0]" };
                return (Bind::Atom, format!("{name}.i{bits}{part}"));
            }
            None => {}
        }
        let info = node.op.info();
        match info.notation {
            Notation::Call => call(info.name, &self.operands(node)),
            Notation::Sized => self.width(at),
            Notation::Infix(symbol, bind) => {
                self.infix(node, symbol, bind, info.reads == Reads::Signed)
            }
            Notation::Word => (Bind::Atom, info.name.into()),
            Notation::Own => self.own_notation(at),
        }
    }

    /// An operand as an argument of a function.
    fn argument(&self, at: u16) -> String {
        self.expression(at, Bind::Select)
    }

    /// An operand that a node reads as its type, as an argument of a function.
    fn argument_as(&self, at: u16, node: &Node) -> String {
        match node.op.info().reads {
            Reads::Bits => self.argument(at),
            reads => self.typed(at, node.ty, reads == Reads::Signed, Bind::Select),
        }
    }

    /// All operands as arguments.
    fn operands(&self, node: &Node) -> Vec<String> {
        let args = &node.args[..node.op.arity()];
        args.iter().map(|&n| self.argument_as(n, node)).collect()
    }

    /// The operation is left-associative, so the right operand needs a higher precedence.
    fn infix(&self, node: &Node, symbol: &str, bind: Bind, signs: bool) -> (Bind, String) {
        let [a, b, _] = node.args;
        let (left, right) = match bind {
            Bind::Compare => (Bind::Sum, Bind::Sum),
            // C's precedence of & | ^ and comparisons is error-prone, so they get parentheses.
            Bind::Or | Bind::Xor | Bind::And if self.node(a).op == node.op => (bind, Bind::Unary),
            Bind::Or | Bind::Xor | Bind::And => (Bind::Unary, Bind::Unary),
            Bind::Sum => (Bind::Sum, Bind::Product),
            _ => (bind, Bind::Unary),
        };
        let x = self.typed(a, node.ty, signs, left);
        let y = self.typed(b, node.ty, signs, right);
        (bind, format!("{x} {symbol} {y}"))
    }

    /// Returns the text of nodes whose notation depends on their operands or type.
    fn idiom(&self, at: u16) -> Option<(Bind, String)> {
        let node = self.node(at);
        let [a, b, _] = node.args;
        let boolean = node.ty == Ty::Bool;
        let atom = |at: u16| self.expression(at, Bind::Atom);
        Some(match node.op {
            Op::Not
                if matches!(self.node(a).op, Op::Eq | Op::Ne)
                    && !self.node(a).ty.is_float()
                    && self.names[a as usize].is_none()
                    && self.one_bit(a).is_none() =>
            {
                let test = self.node(a);
                let symbol = if test.op == Op::Eq { "!=" } else { "==" };
                self.infix(test, symbol, Bind::Compare, false)
            }
            Op::Trunc if node.out == Ty::Bool => (Bind::Atom, format!("{}[0]", self.bits_of(a))),
            // The immediate already has 16 bits.
            Op::Trunc if node.out.bits() == 16 && self.node(a).op == Op::Field(Field::Simm16) => {
                let signs = if node.out.is_signed() { ".i16" } else { "" };
                (Bind::Atom, format!("{}{signs}", atom(a)))
            }
            Op::And => match self.bit_range(at) {
                Some((x, hi, lo)) if hi == lo => (Bind::Atom, format!("{}[{lo}]", self.bits_of(x))),
                Some((x, hi, lo)) => (Bind::Atom, format!("{}[{hi}:{lo}]", self.bits_of(x))),
                None if boolean => self.infix(node, "&&", Bind::And, false),
                None => match self.node(b).op {
                    // A mask of all but some low bits.
                    Op::Const(mask) if matches!(node.ty.bits(), 32 | 64) => {
                        let ones = u64::MAX >> (64 - node.ty.bits());
                        let low = !mask & ones;
                        if low > 0xff || low & (low + 1) != 0 || low == 0 {
                            return None;
                        }
                        let x = self.typed(a, node.ty, false, Bind::Unary);
                        (Bind::And, format!("{x} & ~{low}"))
                    }
                    _ => return None,
                },
            },
            Op::Add if !node.ty.is_float() && self.node(b).op == Op::Const(0) => self.through(a),
            Op::Or => match self.two_dwords(at) {
                Some((slot, k)) => {
                    let name = operand_name(self.program, slot as usize);
                    match self.program.row.shape.slots[slot as usize].ty.dwords() {
                        0..=2 => (Bind::Atom, format!("{name}.u64")),
                        _ => (Bind::Atom, format!("{name}.qword{}", k / 2)),
                    }
                }
                None if boolean => self.infix(node, "||", Bind::Or, false),
                None => return None,
            },
            Op::Ne => match (self.one_bit(at), self.node(a).op, self.node(b).op) {
                (Some((x, n)), ..) => (
                    Bind::Atom,
                    format!("{}[{}]", self.bits_of(x), self.argument(n)),
                ),
                (None, Op::Field(Field::Glc | Field::Clamp), Op::Const(0)) => (Bind::Atom, atom(a)),
                (None, Op::And, Op::Const(0))
                    if self.names[a as usize].is_none()
                        && self.bit_range(a).is_some_and(|(_, hi, lo)| hi == lo) =>
                {
                    self.bare(a)
                }
                _ if node.ty.is_float() => self.infix(node, "<>", Bind::Compare, false),
                _ => return None,
            },
            Op::Fma if node.out != node.ty => call("fma_to_f16", &self.operands(node)),
            _ => return None,
        })
    }

    /// Returns the text of a change of width.
    fn width(&self, at: u16) -> (Bind, String) {
        let node = self.node(at);
        let a = node.args[0];
        let from = self.own_type(a);
        match node.op {
            _ if from == Ty::Bool => self.through(a),
            Op::Zext => {
                let x = self.typed(a, unsigned(self.node(a).out), true, Bind::Select);
                call(unsigned(node.out).name(), &[x])
            }
            Op::Sext if matches!(self.node(a).op, Op::Load(..)) && from == Ty::B8 => {
                let x = self.argument(a).replace(".u8[", ".i8[");
                call(signed(node.out).name(), &[x])
            }
            Op::Sext => {
                let x = self.typed(a, signed(self.node(a).out), true, Bind::Select);
                call(signed(node.out).name(), &[x])
            }
            _ => self.low(at),
        }
    }

    /// Returns the text of another node, with its precedence.
    fn through(&self, at: u16) -> (Bind, String) {
        match &self.names[at as usize] {
            Some(_) => (Bind::Atom, self.expression(at, Bind::Atom)),
            None => self.bare(at),
        }
    }

    /// Returns the text of the low bits of a node's operand.
    fn low(&self, at: u16) -> (Bind, String) {
        let node = self.node(at);
        let a = node.args[0];
        let bits = node.out.bits() as u64;
        let unnamed = self.names[a as usize].is_none();
        if unnamed
            && !node.out.is_signed()
            && let Some((_, hi, lo)) = self.bit_range(a)
            && hi - lo < bits
        {
            return self.bare(a);
        }
        let inner = self.node(a);
        let simple = |n: u16| self.names[n as usize].is_some() || is_leaf(self.node(n).op);
        let integer = |n: u16| !self.own_type(n).is_float();
        if !node.out.is_signed() {
            if simple(a) && integer(a) {
                return (Bind::Atom, format!("{}[{}:0]", self.bits_of(a), bits - 1));
            }
            if inner.op == Op::Shr
                && unnamed
                && simple(inner.args[0])
                && integer(inner.args[0])
                && let Op::Const(lo) = self.node(inner.args[1]).op
                && lo + bits <= inner.ty.bits() as u64
            {
                let x = self.bits_of(inner.args[0]);
                return (Bind::Atom, format!("{x}[{}:{lo}]", lo + bits - 1));
            }
        }
        let to = if node.out.is_signed() {
            node.out
        } else {
            unsigned(node.out)
        };
        let x = self.typed(a, unsigned(inner.out), false, Bind::Select);
        call(if to == Ty::B8 { "u8" } else { to.name() }, &[x])
    }

    /// Returns the text of operations with a notation of their own.
    fn own_notation(&self, at: u16) -> (Bind, String) {
        let node = self.node(at);
        let [a, b, c] = node.args;
        let arg = |n: u16| self.argument(n);
        let arg_as = |n: u16| self.argument_as(n, node);
        match node.op {
            Op::Const(value) => (Bind::Atom, constant_text(value, node.out)),
            Op::Src(slot) => {
                let name = operand_name(self.program, slot as usize);
                let mask = self.vector
                    && self.program.row.shape.slots[slot as usize].ty == Ty::Mask
                    && node.out == Ty::Bool;
                let role = self.program.row.shape.slots[slot as usize].role;
                let plain = matches!(role, Role::Imm(_) | Role::Attr | Role::Param | Role::ExpTgt);
                let read = match mask {
                    true => "[lane]",
                    false if plain => "",
                    false => suffix(self.own_type(at)),
                };
                (Bind::Atom, format!("{name}{read}"))
            }
            Op::SrcDword(slot, k) => match self.dword(slot, k) {
                text if text.contains(".dword") => (Bind::Atom, text),
                text => (Bind::Atom, format!("{text}{}", suffix(node.out))),
            },
            Op::SrcHalf(slot, k) => (Bind::Atom, self.half(slot, k, node.out)),
            Op::Get(state) => (Bind::Atom, state.name().into()),
            Op::Field(field) => (Bind::Atom, field_name(field)),
            Op::CodeOf(slot) => call("code", &[operand_name(self.program, slot as usize).into()]),
            Op::Sgpr => (Bind::Atom, format!("SGPR[{}]{}", arg(a), self.pair(at))),
            Op::Vgpr => (Bind::Atom, format!("VGPR[{}]{}", arg(a), self.pair(at))),
            Op::Not => {
                let symbol = if node.ty == Ty::Bool { "!" } else { "~" };
                let x = self.expression(a, Bind::Unary);
                (Bind::Unary, format!("{symbol}{x}"))
            }
            Op::Neg => {
                let x = self.typed(a, node.ty, false, Bind::Unary);
                (Bind::Unary, format!("-{x}"))
            }
            Op::IntToFloat | Op::FloatToInt | Op::FloatToFloat => {
                call(node.out.name(), &[arg_as(a)])
            }
            Op::MulHi => {
                let x = self.typed(a, node.ty, true, Bind::Product);
                let y = self.typed(b, node.ty, true, Bind::Unary);
                call(&format!("high{}", node.out.bits()), &[format!("{x} * {y}")])
            }
            Op::Shl | Op::Shr => {
                let x = self.typed(a, node.ty, node.op == Op::Shr, Bind::Unary);
                if self.node(b).op == Op::Const(0) {
                    return (Bind::Unary, x);
                }
                let symbol = if node.op == Op::Shl { "<<" } else { ">>" };
                let n = self.expression(b, Bind::Unary);
                (Bind::Shift, format!("{x} {symbol} {n}"))
            }
            Op::Unord if a == b => call("isnan", &[arg_as(a)]),
            Op::Unord => {
                let (x, y) = (arg_as(a), arg_as(b));
                (Bind::Or, format!("isnan({x}) || isnan({y})"))
            }
            Op::Class | Op::Ldexp => call(node.op.name(), &[arg_as(a), arg(b)]),
            Op::Select => {
                let condition = self.expression(a, Bind::Or);
                let (x, y) = (self.expression(b, Bind::Or), arg(c));
                (Bind::Select, format!("{condition} ? {x} : {y}"))
            }
            Op::FmaLdexp(n) => {
                let args = [arg_as(a), arg_as(b), arg_as(c), n.to_string()];
                call(node.op.name(), &args)
            }
            Op::ReadLane => {
                let x = self.expression(a, Bind::Atom);
                (Bind::Atom, format!("{x}[lane {}]", arg(b)))
            }
            Op::Table(entries) => (Bind::Atom, format!("TABLE{}[{}]", entries.len(), arg(a))),
            _ => self.memory(node),
        }
    }

    /// Returns the text of operations on memory and on state that a dispatch's waves share; atomics have names.
    fn memory(&self, node: &Node) -> (Bind, String) {
        let [a, b, _] = node.args;
        let arg = |n: u16| self.argument(n);
        match node.op {
            Op::Load(space, offset) => (Bind::Atom, self.location(space, node.out, a, offset)),
            Op::LoadFormat(k) => {
                let component = ["x", "y", "z", "w"][k as usize & 3];
                let bits = node.out.bits();
                let text = format!("convert_to_{bits}(element at {}).{component}", arg(a));
                (Bind::Atom, text)
            }
            Op::LdsOfLane => (Bind::Atom, "LDS[M0 + OFFSET + 4 * lane]".into()),
            Op::Gws(op) => {
                let resource = format!("GWS[{}]", arg(a));
                match op {
                    GwsOp::Init => call("set", &[resource, arg(b)]),
                    GwsOp::Signal => call("signal", &[resource, arg(b)]),
                    GwsOp::Take => call("wait_for", &[resource]),
                    GwsOp::ReleaseAll => call("release_all", &[resource]),
                    GwsOp::Barrier => call("meet_at", &[resource, arg(b)]),
                }
            }
            op => unreachable!("{op:?} has a notation"),
        }
    }
}

/// Returns a function call.
fn call(name: &str, args: &[String]) -> (Bind, String) {
    (Bind::Atom, format!("{name}({})", args.join(", ")))
}

/// Returns the name of an atomic operation.
fn atomic_name(op: AtomicOp) -> &'static str {
    match op {
        AtomicOp::Swap => "swap",
        AtomicOp::CmpSwap => "compare_swap",
        AtomicOp::Add => "add",
        AtomicOp::Sub => "sub",
        AtomicOp::Rsub => "reverse_sub",
        AtomicOp::Min => "min",
        AtomicOp::Max => "max",
        AtomicOp::And => "and",
        AtomicOp::Or => "or",
        AtomicOp::Xor => "xor",
        AtomicOp::Inc => "increment_wrapping_at",
        AtomicOp::Dec => "decrement_wrapping_to",
        AtomicOp::Mskor => "mask_or",
        AtomicOp::Wrap => "wrap",
        AtomicOp::AndAdd => "and_add",
        AtomicOp::CondSwap => "conditional_swap",
    }
}

/// Returns the statement of an image instruction.
fn image(op: ImageOp) -> String {
    let texel = |mip: bool| {
        if mip {
            "mip texel at VADDR"
        } else {
            "texel at VADDR"
        }
    };
    match op {
        ImageOp::Load { mip, raw } => {
            let texel = texel(mip);
            match raw {
                Raw::Converted => format!("D = DMASK of convert({texel})"),
                Raw::Dwords => format!("D = DMASK of dwords({texel})"),
                Raw::SignedDwords => format!("D = DMASK of sign_extended_dwords({texel})"),
            }
        }
        ImageOp::Store { mip, raw: false } => format!("{} = convert(DATA)", texel(mip)),
        ImageOp::Store { mip, raw: true } => format!("{} = DATA", texel(mip)),
        ImageOp::Atomic(op, ty) => {
            let name = atomic_name(op);
            let ty = ty.name();
            format!(
                "DATA = atomic_{name}(texel at VADDR as {ty} or its 64-bit form, DATA) (written with GLC)"
            )
        }
        ImageOp::Size => {
            "D = DMASK of (width, height, depth or slices, levels) of level VADDR".into()
        }
        ImageOp::Lod => "D = DMASK of (clamped level of detail, level of detail)".into(),
        ImageOp::Sample(sampling) => format!("D = DMASK of sample({})", sample_arguments(sampling)),
        ImageOp::Gather(sampling, footprint) => {
            let which = match footprint {
                Footprint::Square => "square of four",
                Footprint::Row => "row of four",
                Footprint::PackedRow => "bytes of a row of four",
                Footprint::PackedRow8 => "bytes of a row of eight",
            };
            format!("D = gather({which}; {})", sample_arguments(sampling))
        }
    }
}

/// Returns the components of a sample's address in order.
fn sample_arguments(sampling: Sampling) -> String {
    let mut parts = Vec::new();
    if sampling.offset {
        parts.push("offsets");
    }
    if sampling.detail == Detail::Bias {
        parts.push("bias");
    }
    if sampling.compare {
        parts.push("comparand");
    }
    match sampling.detail {
        Detail::Derivatives if sampling.half_derivatives => parts.push("16-bit derivatives"),
        Detail::CoarseDerivatives if sampling.half_derivatives => {
            parts.push("16-bit coarse derivatives");
        }
        Detail::Derivatives => parts.push("derivatives"),
        Detail::CoarseDerivatives => parts.push("coarse derivatives"),
        _ => {}
    }
    parts.push("coordinates");
    match sampling.detail {
        Detail::Given => parts.push("level"),
        Detail::Zero => parts.push("at level 0"),
        _ => {}
    }
    if sampling.clamp {
        parts.push("least level");
    }
    parts.join(", ")
}

/// Returns a field's name in the manuals: `SIMM16`, `OFFSET0`.
pub fn field_name(field: Field) -> String {
    format!("{field:?}").to_uppercase()
}

fn constant_text(value: u64, ty: Ty) -> String {
    match ty {
        Ty::Bool => if value == 0 { "0" } else { "1" }.into(),
        Ty::F32 => float_text(f32::from_bits(value as u32) as f64, ty, value),
        Ty::F64 => float_text(f64::from_bits(value), ty, value),
        Ty::F16 => float_text(half_to_f64(value as u16), ty, value),
        Ty::I16 | Ty::I32 | Ty::I64 => {
            let shift = 64 - ty.bits();
            let signed = (value << shift) as i64 >> shift;
            if (-4096..4096).contains(&signed) {
                signed.to_string()
            } else {
                format!("{value:#x}")
            }
        }
        _ if value < 1024 => value.to_string(),
        _ => format!("{value:#x}"),
    }
}

fn float_text(value: f64, ty: Ty, bits: u64) -> String {
    if value.is_nan() {
        let quiet = match ty {
            Ty::F16 => 0x7e00,
            Ty::F32 => 0x7fc0_0000,
            _ => 0x7ff8_0000_0000_0000,
        };
        let sign = float_masks(ty).1;
        return match bits {
            _ if bits == quiet => "nan".into(),
            _ if bits == quiet | sign => "-nan".into(),
            _ => format!("{bits:#x}"),
        };
    }
    let short = match ty {
        Ty::F64 => format!("{value:?}"),
        _ => format!("{:?}", value as f32),
    };
    let scientific = match ty {
        Ty::F64 => format!("{value:e}"),
        _ => format!("{:e}", value as f32),
    };
    if short.len() > 12 { scientific } else { short }
}

/// Returns the value of an IEEE half.
pub fn half_to_f64(bits: u16) -> f64 {
    let sign = if bits & 0x8000 != 0 { -1.0 } else { 1.0 };
    let fraction = (bits & 0x3ff) as f64;
    match bits >> 10 & 0x1f {
        0 => sign * fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        e => sign * (1024.0 + fraction) * 2f64.powi(e as i32 - 25),
    }
}
