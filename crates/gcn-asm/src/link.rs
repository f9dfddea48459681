//! The end of assembling: unresolved expressions become bytes or relocations.

use crate::asm::{Asm, FixKind, Fixup, MAX_ERRORS, MAX_WARNINGS};
use crate::data::fits;
use crate::expr::{EvalError, Expr, SymId, Term, Value, Variant};
use crate::lexer::Span;
use crate::sources::Message;
use crate::symbols::{Def, Name};
use crate::{Level, Output};
use foldhash::{HashMap, HashMapExt};
use gcn_object::read::{Relocation, Symbol};
use gcn_object::target::{TargetId, Version};
use gcn_object::write::Group;
use gcn_object::{Binding, RelocationKind, SymbolKind, SymbolSection, Visibility};

impl<'s> Asm<'s, '_> {
    /// Resolves the expressions that depended on symbols. The object is `None` after errors.
    pub(crate) fn finish(mut self) -> Output {
        let mut object = None;
        if self.errors < MAX_ERRORS {
            // This runs even after errors, because it finds further ones.
            self.sym.settle();
            self.finish_kernels();
            self.finish_rocm();
            if !self.sym.settle_scopes() {
                let end = self.sources.source(0).text.len() as u32;
                let span = Span { start: end, end };
                let message = "names are looked for in too many scopes".to_string();
                self.message(Level::Error, span, message, None);
            }
            if !self.options.text_only {
                self.write_debug();
            }
            self.name_sections();
            self.sym.finished = true;
            self.finish_late();
            object = self.link().filter(|_| self.errors == 0);
        }
        self.count_hidden();
        let listing = match (&self.listing, &object) {
            (Some(listing), Some(object)) => Some(listing.text(&self.sources, &object.sections)),
            _ => None,
        };
        let diagnostics = self.sources.diagnostics(std::mem::take(&mut self.messages));
        Output {
            object,
            diagnostics,
            listing,
            printed: self.clrx_state.printed,
        }
    }

    /// Reports how many messages were not shown.
    fn count_hidden(&mut self) {
        let end = self.sources.source(0).text.len() as u32;
        let counts = [
            (Level::Error, self.errors, MAX_ERRORS + 1, "errors"),
            (Level::Warning, self.warnings, MAX_WARNINGS, "warnings"),
        ];
        for (level, count, shown, what) in counts {
            if count > shown {
                self.messages.push(Message {
                    level,
                    span: Span { start: end, end },
                    text: format!("{} more {what} are not shown", count - shown),
                    help: None,
                });
            }
        }
    }

    /// A section's name stands for the section's start, unless a symbol has that name.
    fn name_sections(&mut self) {
        for (n, section) in self.sections.iter().enumerate() {
            if let Some(id) = self.sym.find(&section.name)
                && self.sym.get(id).def == Def::None
            {
                let symbol = self.sym.get_mut(id);
                symbol.def = Def::Label(n as u32, 0);
                symbol.name = Name::Local;
            }
        }
    }

    pub(crate) fn link(&mut self) -> Option<crate::Assembled> {
        let (mut relocations, wanted) = self.relocations()?;
        let mut symbols = Vec::new();
        for name in std::mem::take(&mut self.file_symbols) {
            symbols.push(Symbol {
                name,
                address: 0,
                size: 0,
                kind: SymbolKind::File,
                binding: Binding::Local,
                visibility: Visibility::Default,
                section: SymbolSection::Absolute,
            });
        }
        let mut section_symbol = vec![None; self.sections.len()];
        for (target, n) in &wanted {
            if let RelocTarget::Section(s) = target {
                let index = *section_symbol[*s as usize].get_or_insert_with(|| {
                    symbols.push(Symbol {
                        name: String::new(),
                        address: 0,
                        size: 0,
                        kind: SymbolKind::Section,
                        binding: Binding::Local,
                        visibility: Visibility::Default,
                        section: SymbolSection::Index(*s as usize),
                    });
                    symbols.len() - 1
                });
                relocations[*n].symbol = Some(index);
            }
        }
        let mut referenced = vec![false; self.sym.list.len()];
        for (target, _) in &wanted {
            if let RelocTarget::Symbol(id) = target {
                referenced[*id as usize] = true;
            }
        }
        let mut index = vec![None; self.sym.list.len()];
        let mut errors = Vec::new();
        for (id, symbol) in self.sym.list.iter().enumerate() {
            match self.linked_symbol(id as SymId, referenced[id]) {
                Ok(None) => {}
                Ok(Some(linked)) => {
                    index[id] = Some(symbols.len());
                    symbols.push(linked);
                }
                Err(message) => errors.push((symbol.defined_at, message)),
            }
        }
        for (at, message) in errors {
            let at = if at == u32::MAX { 0 } else { at };
            self.message(Level::Error, Span { start: at, end: at }, message, None);
        }
        for (target, n) in &wanted {
            if let RelocTarget::Symbol(id) = target {
                relocations[*n].symbol = index[*id as usize];
            }
        }
        for (id, name) in std::mem::take(&mut self.renames) {
            let symbol = index.get(id as usize).copied().flatten();
            if let Some(symbol) = symbol.and_then(|n| symbols.get_mut(n)) {
                symbol.name = name;
            }
        }
        if self.options.text_only {
            symbols.clear();
            relocations.clear();
        }
        let (groups, links) = self.groups_and_links(&index, &mut symbols);
        let target = self.target?;
        let id = self.id()?;
        let version = self.linked_version(id)?;
        Some(crate::Assembled {
            target,
            target_id: id,
            version,
            os: self.os.unwrap_or_default(),
            flags: self.rocm.flags,
            sections: std::mem::take(&mut self.sections),
            symbols,
            relocations,
            kernels: std::mem::take(&mut self.kernels),
            metadata: self.metadata.take(),
            groups,
            links,
            section_locations: std::mem::take(&mut self.section_locations),
            raw_blocker: self.raw_blocker.take(),
        })
    }

    /// Returns the remaining relocations, and the symbols and sections that they refer to, by the relocations' numbers.
    fn relocations(&mut self) -> Option<(Vec<Relocation>, Vec<Wanted>)> {
        let mut relocations = Vec::new();
        // The symbols and sections that relocations refer to.
        let mut wanted: Vec<Wanted> = Vec::new();
        for fixup in std::mem::take(&mut self.fixups) {
            match self.resolve(&fixup) {
                Ok(None) => {}
                Ok(Some((kind, target, addend))) => {
                    let n = relocations.len();
                    wanted.extend(target.map(|target| (target, n)));
                    relocations.push(Relocation {
                        section: Some(fixup.section as usize),
                        offset: fixup.offset,
                        kind,
                        symbol: None,
                        addend,
                    });
                }
                Err(message) => self.message(Level::Error, fixup.span, message, None),
            }
            if self.errors >= MAX_ERRORS {
                let end = self.sources.source(0).text.len() as u32;
                let span = Span { start: end, end };
                let message = format!("{MAX_ERRORS} errors: further ones were not searched for");
                self.message(Level::Error, span, message, None);
                return None;
            }
        }
        Some((relocations, wanted))
    }

    /// Returns a symbol in the object's form; `None` if the object leaves it out. `referenced` is true if a relocation
    /// needs it.
    fn linked_symbol(&self, id: SymId, referenced: bool) -> Result<Option<Symbol>, String> {
        let symbol = self.sym.get(id);
        let name = symbol.name.as_str();
        let temporary = matches!(symbol.name, Name::Local)
            || name.starts_with(".L")
            || symbol.defined_at == u32::MAX
                && [".amdgcn.", ".option.", ".kernel."]
                    .iter()
                    .any(|own| name.starts_with(own));
        if temporary && !referenced || matches!(symbol.def, Def::Register(..)) {
            return Ok(None);
        }
        let expr = Expr::Sym(id, Variant::None);
        let (section, address) = match &symbol.def {
            Def::Common(_, align) => (SymbolSection::Common, *align),
            // As in LLVM, LDS that nothing refers to is dropped, and other LDS is global.
            Def::None | Def::Lds(..) if symbol.binding.is_none() && !referenced => return Ok(None),
            Def::Lds(_, align) => (SymbolSection::Lds, *align),
            Def::None => (SymbolSection::Undefined, 0),
            Def::Absolute(value) => (SymbolSection::Absolute, *value as u64),
            _ => match self.sym.evaluate(&expr) {
                Ok(v) if v.is_absolute() => (SymbolSection::Absolute, v.addend as u64),
                Ok(Value {
                    addend,
                    plus: Some(Term::Location(section, offset, _, _)),
                    minus: None,
                }) => (
                    SymbolSection::Index(section as usize),
                    offset.wrapping_add_signed(addend),
                ),
                Ok(_) => {
                    return Err(format!(
                        "the value of '{name}' is no address in one section"
                    ));
                }
                Err(e) => return Err(self.explain(e)),
            },
        };
        let mut size = match &symbol.def {
            Def::Common(size, _) | Def::Lds(size, _) => *size,
            _ => 0,
        };
        if let Some(expr) = &symbol.size {
            match self.sym.evaluate(expr) {
                Ok(v) if v.is_absolute() && v.addend >= 0 => size = v.addend as u64,
                _ => return Err(format!("the size of '{name}' is no number")),
            }
        }
        if self.options.text_only {
            return Ok(None);
        }
        let defined = !matches!(section, SymbolSection::Undefined | SymbolSection::Lds);
        Ok(Some(Symbol {
            name: name.to_string(),
            address,
            size,
            kind: symbol.kind,
            binding: symbol.binding.unwrap_or(if defined {
                Binding::Local
            } else {
                Binding::Global
            }),
            visibility: symbol.visibility,
            section,
        }))
    }

    /// Returns the code object's version; `None`, with a message, if it does not support the target.
    fn linked_version(&mut self, id: TargetId) -> Option<Version> {
        let mut version = self
            .version
            .or(self.target_id.map(|t| t.1))
            .unwrap_or(Version::V4);
        if id.machine.generic != 0 && version < Version::V6 {
            if self.version.is_some() && !self.options.text_only {
                let name = id.machine.name;
                let message = format!(
                    "{name} needs code object version 6, but version {} is asked for",
                    version.number()
                );
                let end = self.sources.source(0).text.len() as u32;
                self.message(Level::Error, Span { start: end, end }, message, None);
                return None;
            }
            version = Version::V6;
        }
        Some(version)
    }

    /// Returns the groups and links of sections, in the numbers of the object. A group whose symbol does
    /// not exist gets a new one, as only its name matters.
    fn groups_and_links(
        &self,
        index: &[Option<usize>],
        symbols: &mut Vec<Symbol>,
    ) -> (Vec<Group>, Vec<(usize, usize)>) {
        let (mut groups, mut links) = (Vec::<Group>::new(), Vec::new());
        let mut of_name: HashMap<&str, usize> = HashMap::new();
        let mut numbers: Vec<&u32> = self.extras.keys().collect();
        numbers.sort();
        for n in numbers {
            let (section, extra) = (*n as usize, &self.extras[n]);
            if let Some(name) = &extra.group {
                let group = *of_name.entry(name).or_insert_with(|| {
                    let known = self.sym.find(name).and_then(|id| index[id as usize]);
                    let signature = known.unwrap_or_else(|| {
                        symbols.push(Symbol {
                            name: name.clone(),
                            address: 0,
                            size: 0,
                            kind: SymbolKind::NoType,
                            binding: Binding::Local,
                            visibility: Visibility::Default,
                            section: SymbolSection::Index(section),
                        });
                        symbols.len() - 1
                    });
                    groups.push(Group {
                        comdat: true,
                        signature,
                        members: Vec::new(),
                    });
                    groups.len() - 1
                });
                groups[group].members.push(section);
            }
            let about = (extra.link.as_ref())
                .and_then(|name| self.sections.iter().position(|s| s.name == *name));
            links.extend(about.map(|about| (section, about)));
        }
        (groups, links)
    }

    pub(crate) fn explain(&self, e: EvalError) -> String {
        match e {
            EvalError::Undefined(id) => format!("'{}' is not defined", self.sym.name(id)),
            EvalError::Message(message) => message.to_string(),
        }
    }

    /// Resolves a relocation by name (`.reloc`): returns its type, target and addend. Without a symbol the target is
    /// the number alone.
    fn resolve_asked(
        &mut self,
        fixup: &Fixup,
        kind: RelocationKind,
        value: Value,
    ) -> Result<Option<(RelocationKind, Option<RelocTarget>, i64)>, String> {
        let size = self.sections[fixup.section as usize].data.len() as u64;
        if (fixup.offset.checked_add(kind.width() as u64)).is_none_or(|end| end > size) {
            return Err(format!(
                "{} at {:#x} is not within the {size} bytes of the section",
                kind.name(),
                fixup.offset
            ));
        }
        self.block_raw(fixup, kind);
        let target = match (value.plus, value.minus) {
            (None, None) => return Ok(Some((kind, None, value.addend))),
            (Some(Term::Undefined(id, Variant::None)), None) => RelocTarget::Symbol(id),
            (Some(Term::Location(_, _, Some(id), Variant::None)), None) => RelocTarget::Symbol(id),
            (Some(Term::Location(section, offset, None, _)), None) => {
                let addend = value.addend.wrapping_add(offset as i64);
                return Ok(Some((kind, Some(RelocTarget::Section(section)), addend)));
            }
            _ => return Err("expected a symbol, perhaps plus a number".into()),
        };
        Ok(Some((kind, Some(target), value.addend)))
    }

    /// Writes the value of a fixup to its location, or returns a relocation for it.
    fn resolve(
        &mut self,
        fixup: &Fixup,
    ) -> Result<Option<(RelocationKind, Option<RelocTarget>, i64)>, String> {
        let mut value = self
            .sym
            .evaluate(&fixup.expr)
            .map_err(|e| self.explain(e))?;
        let width = match fixup.kind {
            FixKind::Data(width) => width,
            FixKind::Literal => 4,
            FixKind::Branch { .. } => 2,
            FixKind::Asked(kind) => return self.resolve_asked(fixup, kind, value),
        };
        if value.is_absolute() && matches!(fixup.kind, FixKind::Branch { addresses: true }) {
            value.plus = Some(Term::Location(fixup.section, 0, None, Variant::None));
        }
        if value.is_absolute() {
            if !fits(value.addend, width) {
                return Err(format!("{} does not fit {} bits", value.addend, width * 8));
            }
            self.store(fixup, value.addend, width);
            return Ok(None);
        }
        let Some(plus) = value.plus else {
            return Err("this subtracts an address from a number".into());
        };
        // An address relative to its own location.
        let mut addend = value.addend;
        let mut relative = false;
        match value.minus {
            Some(Term::Location(s, offset, ..)) if s == fixup.section => {
                addend = addend
                    .wrapping_add(fixup.offset as i64)
                    .wrapping_sub(offset as i64);
                relative = true;
            }
            Some(Term::Undefined(id, _)) => {
                return Err(format!("'{}' is not defined", self.sym.name(id)));
            }
            Some(_) => {
                return Err("this subtracts an address that is not in this section".into());
            }
            None => {}
        }
        let (target, variant, here) = match plus {
            Term::Undefined(id, variant) => {
                let name = self.sym.name(id);
                if name.is_empty() {
                    return Err("there is no label of this number after this".into());
                }
                let common = matches!(self.sym.get(id).def, Def::Common(..) | Def::Lds(..));
                if !common
                    && (name.starts_with(".L") || matches!(fixup.kind, FixKind::Branch { .. }))
                {
                    return Err(format!("'{name}' is not defined"));
                }
                (RelocTarget::Symbol(id), variant, None)
            }
            Term::Location(section, offset, id, variant) => {
                // A linker moves the entries of such a section, so an offset from an entry is only valid against its
                // own symbol.
                let merged = self.sections[section as usize].flags.merge() && addend != 0;
                let own = id.filter(|&id| {
                    let symbol = self.sym.get(id);
                    merged && !matches!(symbol.name, Name::Local)
                        || !matches!(symbol.binding, None | Some(Binding::Local))
                        || matches!(
                            variant,
                            Variant::Gotpcrel | Variant::Gotpcrel32Lo | Variant::Gotpcrel32Hi
                        ) && !symbol.name.as_str().starts_with(".L")
                });
                let here = (section == fixup.section).then_some(offset);
                match own {
                    Some(id) => (RelocTarget::Symbol(id), variant, here),
                    None => {
                        addend = addend.wrapping_add(offset as i64);
                        (RelocTarget::Section(section), variant, here)
                    }
                }
            }
        };
        let kind = self.kind_of(fixup, variant, &target, width, relative)?;
        let needed = match kind {
            RelocationKind::REL64 | RelocationKind::ABS64 => 8,
            RelocationKind::REL16 => 2,
            _ => 4,
        };
        if needed != width {
            return Err(format!("{} does not fit {} bits", kind.name(), width * 8));
        }
        if relative && variant != Variant::None {
            return Err("expected @ on a symbol alone, not on a difference".into());
        }
        // A target in the same section is known now; a symbol that other files see still gets its
        // relocation.
        if let Some(offset) = here {
            let distance = match target {
                RelocTarget::Section(_) => addend,
                RelocTarget::Symbol(_) => addend.wrapping_add(offset as i64),
            }
            .wrapping_sub(fixup.offset as i64);
            let local = matches!(target, RelocTarget::Section(_)) && variant == Variant::None;
            self.store_distance(fixup, kind, distance)?;
            if local
                && matches!(
                    kind,
                    RelocationKind::REL16 | RelocationKind::REL32 | RelocationKind::REL64
                )
            {
                return Ok(None);
            }
        } else {
            self.block_raw(fixup, kind);
        }
        Ok(Some((kind, Some(target), addend)))
    }

    /// Returns the relocation type of a fixup.
    fn kind_of(
        &self,
        fixup: &Fixup,
        variant: Variant,
        target: &RelocTarget,
        width: u8,
        relative: bool,
    ) -> Result<RelocationKind, String> {
        Ok(match (&fixup.kind, variant) {
            (FixKind::Asked(kind), _) => *kind,
            (FixKind::Branch { .. }, Variant::None) => RelocationKind::REL16,
            (FixKind::Branch { .. }, _) => return Err("a branch takes no @ after its label".into()),
            (_, Variant::Gotpcrel) => RelocationKind::GOTPCREL,
            (_, Variant::Gotpcrel32Lo) => RelocationKind::GOTPCREL32_LO,
            (_, Variant::Gotpcrel32Hi) => RelocationKind::GOTPCREL32_HI,
            (_, Variant::Rel32Lo) => RelocationKind::REL32_LO,
            (_, Variant::Rel32Hi) => RelocationKind::REL32_HI,
            (_, Variant::Rel64) => RelocationKind::REL64,
            (_, Variant::Abs32Lo) => RelocationKind::ABS32_LO,
            (_, Variant::Abs32Hi) => RelocationKind::ABS32_HI,
            // The halves of the scratch buffer's resource, which Mesa fills in.
            (FixKind::Literal, Variant::None)
                if matches!(target, RelocTarget::Symbol(id)
                    if self.sym.name(*id).starts_with("SCRATCH_RSRC_DWORD")) =>
            {
                RelocationKind::ABS32_LO
            }
            (FixKind::Literal, Variant::None) => RelocationKind::REL32,
            (FixKind::Data(4), Variant::None) if relative => RelocationKind::REL32,
            (FixKind::Data(8), Variant::None) if relative => RelocationKind::REL64,
            (FixKind::Data(4), Variant::None) => RelocationKind::ABS32,
            (FixKind::Data(8), Variant::None) => RelocationKind::ABS64,
            (FixKind::Data(_), Variant::None) => {
                return Err(format!(
                    "no relocation puts an address into {} bits",
                    width * 8
                ));
            }
        })
    }

    /// Stores a known distance at its location.
    fn store_distance(
        &mut self,
        fixup: &Fixup,
        kind: RelocationKind,
        distance: i64,
    ) -> Result<(), String> {
        match kind {
            RelocationKind::REL16 => {
                let from_next = distance.wrapping_sub(4);
                if from_next % 4 != 0 {
                    return Err("the label is not at a multiple of 4 bytes from here".into());
                }
                let Ok(dwords) = i16::try_from(from_next / 4) else {
                    return Err(format!(
                        "the label is {} dwords away, and a branch reaches -32768 to 32767",
                        from_next / 4
                    ));
                };
                self.store(fixup, dwords as i64, 2);
            }
            RelocationKind::REL32 => {
                if !fits(distance, 4) {
                    return Err("the distance does not fit 32 bits".into());
                }
                self.store(fixup, distance, 4);
            }
            RelocationKind::REL64 => self.store(fixup, distance, 8),
            RelocationKind::REL32_LO => self.store(fixup, distance & 0xffff_ffff, 4),
            RelocationKind::REL32_HI => self.store(fixup, distance >> 32 & 0xffff_ffff, 4),
            _ => self.block_raw(fixup, kind),
        }
        Ok(())
    }

    /// Records that the bytes of .text alone are not complete.
    pub(crate) fn block_raw(&mut self, fixup: &Fixup, kind: RelocationKind) {
        // The loaders of CLRX's other formats patch such locations in their code.
        if fixup.section == 0 && self.clrx_state.has_foreign_loader() {
            let text = "the driver's loader fills this in: it stays 0 here".to_string();
            self.message(Level::Warning, fixup.span, text, None);
            return;
        }
        if fixup.section == 0 && self.raw_blocker.is_none() {
            let text = self.sources.text(fixup.span);
            self.raw_blocker = Some(format!("`{}` needs {}", text, kind.name()));
        }
    }

    pub(crate) fn store(&mut self, fixup: &Fixup, value: i64, width: u8) {
        let start = fixup.offset as usize;
        let location = self.sections[fixup.section as usize]
            .data
            .get_mut(start..start + width as usize);
        if let Some(location) = location {
            location.copy_from_slice(&value.to_le_bytes()[..width as usize]);
        }
    }
}

/// The target of a relocation, and the relocation's number.
type Wanted = (RelocTarget, usize);

#[derive(Clone, Copy)]
enum RelocTarget {
    Symbol(SymId),
    Section(u32),
}
