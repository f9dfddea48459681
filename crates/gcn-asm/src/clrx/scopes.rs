//! CLRX's scopes: the resolution of names to symbols.
//!
//! Scopes are a tree whose root is the global scope. A name is searched in the current scope, then in the scopes that
//! it uses, then in the enclosing scope. Definitions go into the current scope.

use crate::expr::{Expr, SymId, Variant};
use crate::symbols::{Def, Symbols};
use std::collections::HashMap;

/// The maximum nesting of scopes.
const MAX_DEPTH: usize = 100;
/// The maximum number of scopes.
const MAX_SCOPES: usize = 100_000;
/// The maximum number of scopes that one scope uses.
const MAX_USINGS: usize = 1000;
/// The maximum number of scopes visited in searches: a source with long chains of scopes must not take long.
const WORK: u64 = 30_000_000;

#[derive(Default)]
struct Scope<'s> {
    parent: usize,
    depth: usize,
    /// The prefix of the names of its symbols.
    path: String,
    children: HashMap<&'s str, usize>,
    /// The symbols of every scope but the global one.
    symbols: HashMap<&'s str, SymId>,
    usings: Vec<usize>,
    /// The next value of `.enum`.
    counter: u64,
}

/// The tree, and the current scope.
pub(crate) struct Scopes<'s> {
    list: Vec<Scope<'s>>,
    current: usize,
    work: u64,
    /// The scopes already visited, by the number of the search.
    seen: Vec<u64>,
    search: u64,
}

/// A symbol's name with its scopes, as written: `::a::b` or `b`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path<'s> {
    /// True if it starts with `::`.
    pub absolute: bool,
    pub scopes: Vec<&'s str>,
    pub name: &'s str,
}

impl<'s> Path<'s> {
    pub fn is_simple(&self) -> bool {
        !self.absolute && self.scopes.is_empty()
    }
}

impl<'s> Scopes<'s> {
    pub fn new() -> Scopes<'s> {
        Scopes {
            list: vec![Scope::default()],
            current: 0,
            work: 0,
            seen: vec![0],
            search: 0,
        }
    }

    /// Returns true if the budget for searches is used up.
    pub fn exhausted(&self) -> bool {
        self.work >= WORK
    }

    fn look(&mut self) -> bool {
        self.work += 1;
        self.work < WORK
    }

    fn make(&mut self, parent: usize, name: Option<&'s str>) -> Result<usize, &'static str> {
        let depth = self.list[parent].depth + 1;
        if depth > MAX_DEPTH {
            return Err("expected fewer scopes in each other");
        }
        let n = self.list.len();
        if n >= MAX_SCOPES {
            return Err("expected fewer scopes");
        }
        let path = match name {
            Some(name) => format!("{}{name}::", self.list[parent].path),
            // Symbols of an unnamed scope are not in the symbol table.
            None => format!(".L{n}::"),
        };
        self.list.push(Scope {
            parent,
            depth,
            path,
            ..Scope::default()
        });
        self.seen.push(0);
        if let Some(name) = name {
            self.list[parent].children.insert(name, n);
        }
        Ok(n)
    }

    /// `.scope NAME` or `.scope`.
    pub fn open(&mut self, name: Option<&'s str>) -> Result<(), &'static str> {
        let known = name.and_then(|name| self.list[self.current].children.get(name).copied());
        self.current = match known {
            Some(known) => known,
            None => self.make(self.current, name)?,
        };
        Ok(())
    }

    /// `.ends`; returns false if no scope is open.
    pub fn close(&mut self) -> bool {
        let open = self.current != 0;
        self.current = self.list[self.current].parent;
        open
    }

    /// Returns the current scope, to return to it later.
    pub fn location(&self) -> usize {
        self.current
    }

    pub fn go_to(&mut self, scope: usize) {
        self.current = scope;
    }

    /// Returns the next value of `.enum` and advances it.
    pub fn count(&mut self) -> u64 {
        let counter = &mut self.list[self.current].counter;
        let value = *counter;
        *counter = value.wrapping_add(1);
        value
    }

    /// `.enum >VALUE`.
    pub fn count_from(&mut self, value: u64) {
        self.list[self.current].counter = value;
    }

    /// `.using`: the scopes of a path; `name` is the last one.
    pub fn using(&mut self, path: &Path<'s>) -> Result<(), &'static str> {
        let scope = self.scope_of_path(path)?;
        let usings = &mut self.list[self.current].usings;
        usings.retain(|&s| s != scope);
        if usings.len() >= MAX_USINGS {
            return Err("expected fewer .using");
        }
        usings.push(scope);
        Ok(())
    }

    /// `.unusing` of a scope, or of all; returns false if it was not used.
    pub fn unusing(&mut self, path: Option<&Path<'s>>) -> Result<bool, &'static str> {
        let scope = match path {
            Some(path) => Some(self.scope_of_path(path)?),
            None => None,
        };
        let usings = &mut self.list[self.current].usings;
        let before = usings.len();
        usings.retain(|&s| scope.is_some_and(|scope| scope != s));
        Ok(usings.len() != before || scope.is_none())
    }

    fn scope_of_path(&mut self, path: &Path<'s>) -> Result<usize, &'static str> {
        let mut scopes = path.scopes.clone();
        scopes.extend((!path.name.is_empty()).then_some(path.name));
        self.scope(path.absolute, &scopes)
    }

    /// Returns the scope that a path leads to; it is created if it does not exist.
    fn scope(&mut self, absolute: bool, names: &[&'s str]) -> Result<usize, &'static str> {
        let Some((first, rest)) = names.split_first() else {
            return Ok(if absolute { 0 } else { self.current });
        };
        let mut scope = match absolute {
            true => self.child(0, first)?,
            false => {
                let mut around = self.current;
                loop {
                    if let Some(found) = self.child_seen(around, first) {
                        break found;
                    }
                    if around == 0 {
                        break self.make(self.current, Some(first))?;
                    }
                    around = self.list[around].parent;
                }
            }
        };
        for name in rest {
            scope = self.child(scope, name)?;
        }
        Ok(scope)
    }

    fn child(&mut self, scope: usize, name: &'s str) -> Result<usize, &'static str> {
        match self.child_seen(scope, name) {
            Some(found) => Ok(found),
            None => self.make(scope, Some(name)),
        }
    }

    /// Returns a scope of this name in a scope or in those that it uses.
    fn child_seen(&mut self, scope: usize, name: &str) -> Option<usize> {
        self.visit(scope, |s, _| s.children.get(name).copied())
    }

    /// Calls the function for a scope, then for those that it uses from the last to the first, and those that they use.
    fn visit<T>(
        &mut self,
        scope: usize,
        ask: impl Fn(&Scope<'s>, usize) -> Option<T>,
    ) -> Option<T> {
        if self.list[scope].usings.is_empty() {
            return self.look().then(|| ask(&self.list[scope], scope)).flatten();
        }
        self.search += 1;
        let mut waiting = vec![scope];
        while let Some(next) = waiting.pop() {
            if std::mem::replace(&mut self.seen[next], self.search) == self.search {
                continue;
            }
            if !self.look() {
                return None;
            }
            if let Some(found) = ask(&self.list[next], next) {
                return Some(found);
            }
            waiting.extend(&self.list[next].usings);
        }
        None
    }
}

impl<'s> Symbols<'s> {
    /// Returns the scopes; they exist from now on.
    pub fn scopes(&mut self) -> &mut Scopes<'s> {
        self.scopes.get_or_insert_with(|| Box::new(Scopes::new()))
    }

    /// Returns the symbol of a name in a scope or those it uses.
    fn in_scope(&self, scopes: &mut Scopes<'s>, scope: usize, name: &str) -> Option<SymId> {
        scopes.visit(scope, |s, n| match n {
            0 => self.find(name),
            _ => s.symbols.get(name).copied(),
        })
    }

    /// Returns the symbol that a name refers to here, if there is one.
    pub fn visible(&mut self, path: &Path<'s>) -> Option<SymId> {
        let Some(mut scopes) = self.scopes.take() else {
            return match path.is_simple() || path.scopes.is_empty() {
                true => self.find(path.name),
                false => None,
            };
        };
        let found = self.visible_in(&mut scopes, path);
        self.scopes = Some(scopes);
        found
    }

    fn visible_in(&self, scopes: &mut Scopes<'s>, path: &Path<'s>) -> Option<SymId> {
        if !path.is_simple() {
            let scope = scopes.scope(path.absolute, &path.scopes).ok()?;
            return self.in_scope(scopes, scope, path.name);
        }
        let mut scope = scopes.current;
        loop {
            if let Some(id) = self.in_scope(scopes, scope, path.name) {
                return Some(id);
            }
            if scope == 0 {
                return None;
            }
            scope = scopes.list[scope].parent;
        }
    }

    /// Returns the symbol of a name in the scope of its path; it is created if it does not exist.
    fn made_in(&mut self, scopes: &mut Scopes<'s>, scope: usize, name: &'s str) -> SymId {
        if scope == 0 {
            return self.intern_global(name);
        }
        if let Some(&id) = scopes.list[scope].symbols.get(name) {
            return id;
        }
        let id = self.push(crate::symbols::Name::Made(format!(
            "{}{name}",
            scopes.list[scope].path
        )));
        scopes.list[scope].symbols.insert(name, id);
        id
    }

    /// Returns the symbol that a name refers to where it is used; if there is none, a new one in the scope of its path
    /// or the current scope.
    pub fn used(&mut self, path: &Path<'s>) -> Result<SymId, &'static str> {
        if let Some(id) = self.visible(path) {
            return Ok(id);
        }
        self.here(path)
    }

    /// Returns the symbol that a name refers to where it is defined.
    pub fn here(&mut self, path: &Path<'s>) -> Result<SymId, &'static str> {
        if path.is_simple() && self.scopes.is_none() {
            return Ok(self.intern_global(path.name));
        }
        let mut scopes = (self.scopes.take()).unwrap_or_else(|| Box::new(Scopes::new()));
        let scope = scopes.scope(path.absolute, &path.scopes);
        let id = scope.map(|scope| self.made_in(&mut scopes, scope, path.name));
        self.scopes = Some(scopes);
        id
    }

    /// Gives symbols that were used but never defined in their scopes the values of symbols in enclosing scopes that
    /// were defined after the use. Returns false if the search was given up.
    pub fn settle_scopes(&mut self) -> bool {
        let Some(mut scopes) = self.scopes.take() else {
            return true;
        };
        for n in 1..scopes.list.len() {
            let open: Vec<(&'s str, SymId)> = (scopes.list[n].symbols.iter())
                .filter(|(_, id)| self.get(**id).def == Def::None)
                .map(|(name, id)| (*name, *id))
                .collect();
            for (name, id) in open {
                let mut around = n;
                while around != 0 {
                    around = scopes.list[around].parent;
                    let found = self.in_scope(&mut scopes, around, name);
                    if let Some(found) = found.filter(|f| self.get(*f).def != Def::None) {
                        self.get_mut(id).def = Def::Alias(Expr::Sym(found, Variant::None));
                        break;
                    }
                    // A name that no scope defines is one symbol, of another file.
                    if around == 0 {
                        let global = self.intern_global(name);
                        self.get_mut(id).def = Def::Alias(Expr::Sym(global, Variant::None));
                    }
                }
            }
        }
        let done = !scopes.exhausted();
        self.scopes = Some(scopes);
        done
    }
}
