//! Symbols: their names, values and attributes, in the order of their first mention.

use crate::clrx::scopes::{Path, Scopes};
use crate::expr::{EvalError, Expr, Op, SymId, Term, Value, Variant, fold};
use foldhash::{HashMap, HashMapExt};
use gcn_object::{Binding, SymbolKind, Visibility};
use std::cell::Cell;
use std::collections::HashSet;
use std::hash::BuildHasher;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Def {
    None,
    /// The section and the offset in it.
    Label(u32, u64),
    /// A number, which may be set again.
    Absolute(i64),
    /// Another expression that names symbols.
    Alias(Expr),
    /// `.comm`: size and alignment.
    Common(u64, u64),
    /// `.amdgpu_lds`: size and alignment.
    Lds(u64, u64),
    /// Registers: the code of the first register and the number of registers; the number of a constant is 0 (CLRX).
    Register(u16, u8),
}

pub(crate) struct Symbol<'s> {
    pub name: Name<'s>,
    pub def: Def,
    pub binding: Option<Binding>,
    pub visibility: Visibility,
    pub kind: SymbolKind,
    pub size: Option<Expr>,
    /// The position of the definition, for "defined twice".
    pub defined_at: u32,
    /// The symbol's first number, which CLRX uses for references before the definition.
    pub first: Option<i64>,
    /// The way in which CLRX redefines the symbol, if any.
    pub again: Again,
}

/// The ways to redefine a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Again {
    Yes,
    /// `.equiv` and `.enum` define once.
    No,
    /// `.eqv`: the expression is evaluated at each use.
    Evaluated,
}

pub(crate) enum Name<'s> {
    Text(&'s str),
    Made(String),
    /// `1:` and the like, which have no name in the file.
    Local,
}

impl Name<'_> {
    pub fn as_str(&self) -> &str {
        match self {
            Name::Text(s) => s,
            Name::Made(s) => s,
            Name::Local => "",
        }
    }
}

/// Names in capitals that would be registers in lower case. In LLVM they are symbols.
#[derive(Default)]
pub(crate) struct Capitals {
    /// True if one was seen that has no value at its position.
    pub seen: Cell<bool>,
    /// The symbols that the source defines or declares, if it was read before. Other such names are registers.
    pub symbols: Option<HashSet<String>>,
}

/// The symbols by their names in the source. The names themselves are in the list of symbols. The table has only their
/// hashes, which keeps it small, and lets it grow without reading the names again.
#[derive(Default)]
struct Index {
    /// Slots, whose number is 0 or a power of two. The upper half is the hash of a name, whose lowest bits are the
    /// first slot to search; the lower half is one more than the symbol's number. A free slot is 0.
    locations: Vec<u64>,
    /// The number of names.
    count: usize,
    hasher: foldhash::fast::RandomState,
}

impl Index {
    /// Returns the symbol of a name, or otherwise the hash of the name.
    fn find(&self, list: &[Symbol], name: &str) -> Result<SymId, u32> {
        let hash = (self.hasher.hash_one(name) >> 32) as u32;
        let last = self.locations.len().wrapping_sub(1);
        let mut at = hash as usize & last;
        while let Some(&location) = self.locations.get(at)
            && location != 0
        {
            let id = location as u32 - 1;
            if (location >> 32) as u32 == hash && list[id as usize].name.as_str() == name {
                return Ok(id);
            }
            at = (at + 1) & last;
        }
        Err(hash)
    }

    /// Adds a symbol by the hash of its name, which must not be in the table.
    fn add(&mut self, hash: u32, id: SymId) {
        // At least half of the slots are free, which keeps searches short.
        if 2 * (self.count + 1) > self.locations.len() {
            let size = (2 * self.locations.len()).max(64);
            let locations = std::mem::replace(&mut self.locations, vec![0; size]);
            locations
                .into_iter()
                .for_each(|location| self.put(location));
        }
        self.put((hash as u64) << 32 | (id as u64 + 1));
        self.count += 1;
    }

    /// Puts the contents of a used slot into the table.
    fn put(&mut self, location: u64) {
        let last = self.locations.len().wrapping_sub(1);
        let mut at = (location >> 32) as usize & last;
        while location != 0
            && let Some(there) = self.locations.get_mut(at)
        {
            if *there == 0 {
                *there = location;
                return;
            }
            at = (at + 1) & last;
        }
    }
}

pub(crate) struct Symbols<'s> {
    pub capitals: Capitals,
    pub list: Vec<Symbol<'s>>,
    index: Index,
    pub made: HashMap<String, SymId>,
    /// The last and the next label of each number.
    local: HashMap<u32, (Option<SymId>, Option<SymId>)>,
    /// True after all text was read: undefined symbols then evaluate to themselves.
    pub finished: bool,
    /// CLRX's scopes, if there are any.
    pub scopes: Option<Box<Scopes<'s>>>,
    /// True if there are symbols that stand for registers.
    pub has_registers: bool,
    /// True if expressions keep symbols whose numbers are known, because the numbers may change.
    pub keep: bool,
    /// If `guess` is set, numbers that an instruction uses before they are known count as 0, and `guessed` is set.
    pub guess: bool,
    pub guessed: Cell<bool>,
    /// The local labels of instructions that are read a second time, by position.
    pub late_labels: HashMap<u32, SymId>,
    /// The value of `.` in the description of a structure, which is not a section's offset.
    pub structure: Option<i64>,
    /// The symbols of `.regvar`, and one more than the highest VGPR and SGPR of those that the statement names.
    pub variables: HashSet<SymId>,
    pub variables_used: [u32; 2],
    /// True if a register name's index lies outside its registers.
    pub beyond: bool,
    /// True if LLVM's rules apply although CLRX's syntax is being tried.
    pub strict: bool,
    /// True while `.buggyfplit` and `.oldmodparam` are in effect.
    pub buggy_floats: bool,
    pub old_parameters: bool,
}

/// The maximum depth of symbols that are defined through each other.
const DEPTH: u32 = 64;
/// The maximum number of symbols visited in one evaluation, against chains that double.
const FUEL: u32 = 10_000;
/// The maximum nesting of an expression: evaluating it must not exhaust the stack.
const NESTED: u32 = 400;

/// The remaining budget of an evaluation and the current depth in the expression.
struct Work {
    left: u32,
    nested: u32,
}

impl<'s> Symbols<'s> {
    pub fn new() -> Symbols<'s> {
        Symbols {
            capitals: Capitals::default(),
            list: Vec::new(),
            index: Index::default(),
            made: HashMap::new(),
            local: HashMap::new(),
            finished: false,
            scopes: None,
            has_registers: false,
            keep: false,
            guess: false,
            guessed: Cell::new(false),
            late_labels: HashMap::new(),
            structure: None,
            strict: false,
            variables: HashSet::new(),
            variables_used: [0; 2],
            beyond: false,
            buggy_floats: false,
            old_parameters: false,
        }
    }

    pub fn push(&mut self, name: Name<'s>) -> SymId {
        self.list.push(Symbol {
            name,
            def: Def::None,
            binding: None,
            visibility: Visibility::Default,
            kind: SymbolKind::NoType,
            size: None,
            defined_at: u32::MAX,
            first: None,
            again: Again::Yes,
        });
        self.list.len() as SymId - 1
    }

    /// Returns the number of a name, and adds the name if it is new.
    pub fn intern(&mut self, name: &'s str) -> SymId {
        if self.scopes.is_some() {
            let path = Path {
                name,
                ..Path::default()
            };
            if let Ok(id) = self.used(&path) {
                return id;
            }
        }
        self.intern_global(name)
    }

    /// Like [`Symbols::intern`], for a name that is defined here.
    pub fn intern_here(&mut self, name: &'s str) -> SymId {
        let path = Path {
            name,
            ..Path::default()
        };
        match self.scopes {
            Some(_) => (self.here(&path)).unwrap_or_else(|_| self.intern_global(name)),
            None => self.intern_global(name),
        }
    }

    /// Like [`Symbols::intern`], outside all scopes.
    pub fn intern_global(&mut self, name: &'s str) -> SymId {
        // Names of the source and generated names are never equal: one look-up decides whether the name is new.
        if !self.made.is_empty()
            && let Some(&id) = self.made.get(name)
        {
            return id;
        }
        match self.index.find(&self.list, name) {
            Ok(id) => id,
            Err(hash) => {
                let id = self.push(Name::Text(name));
                self.index.add(hash, id);
                id
            }
        }
    }

    /// Like [`Symbols::intern`], for a name that is not in the source.
    pub fn intern_made(&mut self, name: String) -> SymId {
        if let Some(id) = self.find(&name) {
            return id;
        }
        let id = self.push(Name::Made(name.clone()));
        self.made.insert(name, id);
        id
    }

    pub fn find(&self, name: &str) -> Option<SymId> {
        match self.index.find(&self.list, name) {
            Ok(id) => Some(id),
            Err(_) => self.made.get(name).copied(),
        }
    }

    pub fn get(&self, id: SymId) -> &Symbol<'s> {
        &self.list[id as usize]
    }

    pub fn get_mut(&mut self, id: SymId) -> &mut Symbol<'s> {
        &mut self.list[id as usize]
    }

    pub fn name(&self, id: SymId) -> &str {
        self.get(id).name.as_str()
    }

    /// Returns the symbol's value if it is a plain number.
    pub fn absolute(&self, id: SymId) -> Option<i64> {
        let symbol = self.get(id);
        match symbol.def {
            Def::Absolute(value) => Some(symbol.first.filter(|_| self.finished).unwrap_or(value)),
            _ => None,
        }
    }

    /// Returns the symbol that `1b` or `1f` refers to.
    pub fn local_label(&mut self, n: u32, forward: bool) -> Option<SymId> {
        let (last, next) = self.local.get(&n).copied().unwrap_or((None, None));
        if !forward {
            return last;
        }
        if next.is_some() {
            return next;
        }
        let id = self.push(Name::Local);
        self.local.insert(n, (last, Some(id)));
        Some(id)
    }

    /// Returns the symbol that a label `1:` defines here.
    pub fn define_local(&mut self, n: u32) -> SymId {
        let next = self.local.get(&n).and_then(|l| l.1);
        let id = next.unwrap_or_else(|| self.push(Name::Local));
        self.local.insert(n, (Some(id), None));
        id
    }

    /// Replaces symbols by numbers if their expressions are known: long chains of them are then followed only once.
    /// Most symbols were set before the symbols that they depend on, and the last ones are therefore done first.
    pub fn settle(&mut self) {
        loop {
            let mut settled = false;
            for id in (0..self.list.len()).rev() {
                let Def::Alias(expr) = &self.list[id].def else {
                    continue;
                };
                if let Ok(value) = self.evaluate(expr)
                    && value.is_absolute()
                {
                    self.list[id].def = Def::Absolute(value.addend);
                    settled = true;
                }
            }
            if !settled {
                return;
            }
        }
    }

    /// Returns true if an expression names a symbol that is not known yet; such an instruction is read a second time.
    pub fn waits(&self, expr: &Expr) -> bool {
        let waits = match self.evaluate(expr) {
            Ok(value) => !value.is_absolute(),
            Err(error) => matches!(error, EvalError::Undefined(_)),
        };
        if waits {
            self.guessed.set(true);
        }
        waits
    }

    /// Evaluates an expression with the symbols known now.
    pub fn evaluate(&self, expr: &Expr) -> Result<Value, EvalError> {
        let mut work = Work {
            left: FUEL,
            nested: 0,
        };
        self.value(expr, DEPTH, &mut work)
    }

    fn value(&self, expr: &Expr, depth: u32, fuel: &mut Work) -> Result<Value, EvalError> {
        fuel.nested += 1;
        if fuel.nested > NESTED {
            return Err(EvalError::Message(
                "symbols are defined through each other too deeply",
            ));
        }
        let value = self.value_of(expr, depth, fuel);
        fuel.nested -= 1;
        value
    }

    fn value_of(&self, expr: &Expr, depth: u32, fuel: &mut Work) -> Result<Value, EvalError> {
        let location = |section, offset, id, variant| Value {
            addend: 0,
            plus: Some(Term::Location(section, offset, id, variant)),
            minus: None,
        };
        if fuel.left == 0 {
            return Err(EvalError::Message("this expression is too large"));
        }
        fuel.left -= 1;
        match expr {
            Expr::Const(value) => Ok(Value::absolute(*value)),
            Expr::Location(section, offset) => Ok(location(*section, *offset, None, Variant::None)),
            Expr::Sym(id, variant) => match &self.get(*id).def {
                Def::Label(section, offset) => Ok(location(*section, *offset, Some(*id), *variant)),
                Def::Absolute(value) if *variant == Variant::None => {
                    let first = self.get(*id).first.filter(|_| self.finished);
                    Ok(Value::absolute(first.unwrap_or(*value)))
                }
                Def::Register(..) => Err(EvalError::Message(
                    "expected a number: this symbol stands for a register",
                )),
                Def::Alias(inner) if *variant == Variant::None => {
                    if depth == 0 {
                        return Err(EvalError::Message(
                            "symbols are defined through each other too deeply",
                        ));
                    }
                    self.value(inner, depth - 1, fuel)
                }
                Def::None if !self.finished => Err(EvalError::Undefined(*id)),
                _ => Ok(Value {
                    addend: 0,
                    plus: Some(Term::Undefined(*id, *variant)),
                    minus: None,
                }),
            },
            Expr::Neg(e) => Ok(self.value(e, depth, fuel)?.negate()),
            Expr::Not(e) => Ok(Value::absolute(!self.number(e, depth, fuel)?)),
            Expr::LogicNot(e) => Ok(Value::absolute((self.number(e, depth, fuel)? == 0) as i64)),
            Expr::Call(call) => {
                let (function, arguments) = &**call;
                let numbers: Result<Vec<i64>, EvalError> = (arguments.iter())
                    .map(|argument| self.number(argument, depth, fuel))
                    .collect();
                function
                    .call(&numbers?)
                    .map(Value::absolute)
                    .map_err(EvalError::Message)
            }
            Expr::Choice(three) => {
                let yes = self.number(&three.0, depth, fuel)? != 0;
                self.value(if yes { &three.1 } else { &three.2 }, depth, fuel)
            }
            Expr::Binary(..) => {
                // A chain of operators can be as long as the text, and is therefore evaluated without recursion.
                let mut row = Vec::new();
                let mut first = expr;
                while let Expr::Binary(op, pair) = first {
                    row.push((*op, &pair.1));
                    first = &pair.0;
                }
                let mut value = self.value(first, depth, fuel)?;
                while let Some((op, right)) = row.pop() {
                    let right = self.value(right, depth, fuel)?;
                    value = apply(op, value, right)?;
                }
                Ok(value)
            }
        }
    }

    fn number(&self, expr: &Expr, depth: u32, fuel: &mut Work) -> Result<i64, EvalError> {
        let value = self.value(expr, depth, fuel)?;
        if let Some(Term::Undefined(id, _)) = value.plus {
            Err(EvalError::Undefined(id))
        } else if value.is_absolute() {
            Ok(value.addend)
        } else {
            Err(EvalError::Message(
                "this operator takes numbers, not addresses",
            ))
        }
    }
}

/// Returns the half of an address that CLRX's sources select by a mask, a shift, a remainder or a division.
fn half_of_address(op: Op, a: &Value, b: &Value) -> Option<Variant> {
    let low = match (op, b.is_absolute().then_some(b.addend)?) {
        (Op::And, 0xffff_ffff) | (Op::Rem | Op::RemUnsigned, 0x1_0000_0000) => Variant::Abs32Lo,
        (Op::Shr | Op::ShrSigned, 32) | (Op::Div | Op::DivUnsigned, 0x1_0000_0000) => {
            Variant::Abs32Hi
        }
        _ => return None,
    };
    let plain = |term: &Term| match term {
        Term::Location(.., variant) | Term::Undefined(_, variant) => *variant == Variant::None,
    };
    (a.minus.is_none() && a.plus.as_ref().is_some_and(plain)).then_some(low)
}

/// Applies an operator to two values.
fn apply(op: Op, a: Value, b: Value) -> Result<Value, EvalError> {
    if let Some(half) = half_of_address(op, &a, &b) {
        let plus = a.plus.map(|term| match term {
            Term::Location(section, offset, id, _) => Term::Location(section, offset, id, half),
            Term::Undefined(id, _) => Term::Undefined(id, half),
        });
        return Ok(Value { plus, ..a });
    }
    match op {
        Op::Add => a.add(b),
        Op::Sub => a.add(b.negate()),
        _ if a.is_absolute() && b.is_absolute() => fold(op, a.addend, b.addend)
            .map(Value::absolute)
            .map_err(EvalError::Message),
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => {
            let difference = a.add(b.negate())?;
            if !difference.is_absolute() {
                return Err(EvalError::Message(
                    "these addresses cannot be compared: they are in different sections",
                ));
            }
            fold(op, difference.addend, 0)
                .map(Value::absolute)
                .map_err(EvalError::Message)
        }
        _ => Err(EvalError::Message(
            "this operator takes numbers, not addresses",
        )),
    }
}
