//! Symbols: their names, values and attributes, in the order of their first mention.

use crate::expr::{EvalError, Expr, Op, SymId, Term, Value, Variant, fold};
use gcn_object::{Binding, SymbolKind, Visibility};
use std::collections::HashMap;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Def {
    None,
    /// In a section, at an offset.
    Label(u32, u64),
    /// A number, which may be set again.
    Absolute(i64),
    /// Another expression, which names symbols.
    Alias(Expr),
    /// `.comm`: size and alignment.
    Common(u64, u64),
    /// `.amdgpu_lds`: size and alignment.
    Lds(u64, u64),
}

pub(crate) struct Symbol<'s> {
    pub name: Name<'s>,
    pub def: Def,
    pub binding: Option<Binding>,
    pub visibility: Visibility,
    pub kind: SymbolKind,
    pub size: Option<Expr>,
    /// Where it was defined, for "defined twice".
    pub defined_at: u32,
}

pub(crate) enum Name<'s> {
    Text(&'s str),
    Made(String),
    /// `1:` and the like have no name in the file.
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

pub(crate) struct Symbols<'s> {
    pub list: Vec<Symbol<'s>>,
    index: HashMap<&'s str, SymId>,
    made: HashMap<String, SymId>,
    /// The last and the next label of each number.
    local: HashMap<u32, (Option<SymId>, Option<SymId>)>,
    /// Whether undefined symbols evaluate to themselves: after all text was read.
    pub finished: bool,
}

/// Symbols defined through each other beyond this are refused.
const DEPTH: u32 = 64;
/// Symbols looked at in one evaluation beyond this are refused: doubling chains.
const FUEL: u32 = 10_000;

impl<'s> Symbols<'s> {
    pub fn new() -> Symbols<'s> {
        Symbols {
            list: Vec::new(),
            index: HashMap::new(),
            made: HashMap::new(),
            local: HashMap::new(),
            finished: false,
        }
    }

    fn push(&mut self, name: Name<'s>) -> SymId {
        self.list.push(Symbol {
            name,
            def: Def::None,
            binding: None,
            visibility: Visibility::Default,
            kind: SymbolKind::NoType,
            size: None,
            defined_at: u32::MAX,
        });
        self.list.len() as SymId - 1
    }

    /// The number of a name, which is made known by this.
    pub fn intern(&mut self, name: &'s str) -> SymId {
        if let Some(&id) = self.index.get(name) {
            return id;
        }
        if let Some(&id) = self.made.get(name) {
            return id;
        }
        let id = self.push(Name::Text(name));
        self.index.insert(name, id);
        id
    }

    /// As [`Symbols::intern`], for a name that is not in the source.
    pub fn intern_made(&mut self, name: String) -> SymId {
        if let Some(id) = self.find(&name) {
            return id;
        }
        let id = self.push(Name::Made(name.clone()));
        self.made.insert(name, id);
        id
    }

    pub fn find(&self, name: &str) -> Option<SymId> {
        self.index
            .get(name)
            .or_else(|| self.made.get(name))
            .copied()
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

    /// Its value if it is a plain number.
    pub fn absolute(&self, id: SymId) -> Option<i64> {
        match self.get(id).def {
            Def::Absolute(value) => Some(value),
            _ => None,
        }
    }

    /// The symbol behind `1b` or `1f`.
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

    /// The symbol that a label `1:` here defines.
    pub fn define_local(&mut self, n: u32) -> SymId {
        let next = self.local.get(&n).and_then(|l| l.1);
        let id = next.unwrap_or_else(|| self.push(Name::Local));
        self.local.insert(n, (Some(id), None));
        id
    }

    /// An expression's value from what is known now.
    pub fn evaluate(&self, expr: &Expr) -> Result<Value, EvalError> {
        self.value(expr, DEPTH, &mut { FUEL })
    }

    fn value(&self, expr: &Expr, depth: u32, fuel: &mut u32) -> Result<Value, EvalError> {
        let place = |section, offset, id, variant| Value {
            addend: 0,
            plus: Some(Term::Place(section, offset, id, variant)),
            minus: None,
        };
        if *fuel == 0 {
            return Err(EvalError::Message("this expression is too large"));
        }
        *fuel -= 1;
        match expr {
            Expr::Const(value) => Ok(Value::absolute(*value)),
            Expr::Place(section, offset) => Ok(place(*section, *offset, None, Variant::None)),
            Expr::Sym(id, variant) => match &self.get(*id).def {
                Def::Label(section, offset) => Ok(place(*section, *offset, Some(*id), *variant)),
                Def::Absolute(value) if *variant == Variant::None => Ok(Value::absolute(*value)),
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
            Expr::Binary(op, pair) => {
                let a = self.value(&pair.0, depth, fuel)?;
                let b = self.value(&pair.1, depth, fuel)?;
                match op {
                    Op::Add => a.add(b),
                    Op::Sub => a.add(b.negate()),
                    _ if a.is_absolute() && b.is_absolute() => fold(*op, a.addend, b.addend)
                        .map(Value::absolute)
                        .map_err(EvalError::Message),
                    Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => {
                        let difference = a.add(b.negate())?;
                        if !difference.is_absolute() {
                            return Err(EvalError::Message(
                                "these addresses cannot be compared: they are in different sections",
                            ));
                        }
                        fold(*op, difference.addend, 0)
                            .map(Value::absolute)
                            .map_err(EvalError::Message)
                    }
                    _ => Err(EvalError::Message(
                        "this operator takes numbers, not addresses",
                    )),
                }
            }
        }
    }

    fn number(&self, expr: &Expr, depth: u32, fuel: &mut u32) -> Result<i64, EvalError> {
        let value = self.value(expr, depth, fuel)?;
        if value.is_absolute() {
            Ok(value.addend)
        } else {
            Err(EvalError::Message(
                "this operator takes numbers, not addresses",
            ))
        }
    }
}
