//! Writes labels, types, sizes and declarations of symbols.

use super::*;

impl<'a> Source<'a> {
    /// Adds the labels, types and sizes of symbols to the marks.
    pub(super) fn place_symbols(&mut self) {
        let mut ends = 0;
        // The ends of the symbols so far, by section.
        let mut symbol_ends = vec![BTreeSet::new(); self.marks.len()];
        let mut order: Vec<usize> = (0..self.table.len()).collect();
        order.sort_by_key(|n| self.table[*n].address);
        let kernels: HashSet<(Option<usize>, u64)> = (self.object.kernels.iter())
            .map(|k| (k.entry_section, k.entry))
            .collect();
        for n in order {
            let symbol = &self.table[n];
            let SymbolSection::Index(section) = symbol.section else {
                continue;
            };
            if self.names[n].is_empty()
                || self.left_out[n]
                || !self.is_shown[section]
                || self.blocks.contains_key(&(section, symbol.address))
            {
                continue;
            }
            let name = self.names[n].clone();
            let (base, size) = (self.base(section), self.section(section).size);
            let code = self.section(section).flags.exec();
            let mut own = base;
            if !(kernels.is_empty() && self.with_header.is_empty()) {
                let before = symbol_ends[section].range(..=symbol.address).next_back();
                own = before.copied().unwrap_or(base);
                symbol_ends[section].insert(symbol.address.saturating_add(symbol.size));
            }
            let inside = |address: u64| {
                (base..=base + size).contains(&address)
                    && (!code || (address - base).is_multiple_of(4))
            };
            let kind = match symbol.kind {
                SymbolKind::Func => Some("@function"),
                SymbolKind::Object => Some("@object"),
                SymbolKind::HSA_KERNEL => Some("@amdgpu_hsa_kernel"),
                _ => None,
            };
            if !inside(symbol.address) {
                let start = format!("{LABEL}start{section}");
                let mark = self.marks[section].entry(base).or_default();
                let line = format!("{start}:\n");
                if !mark.text.contains(&line) {
                    mark.text.push_str(&line);
                }
                let _ = writeln!(
                    self.settings,
                    ".set {name}, {start}{:+}",
                    symbol.address.wrapping_sub(base) as i64
                );
                if let Some(kind) = kind {
                    let _ = writeln!(self.settings, ".type {name},{kind}");
                }
                if symbol.size != 0 {
                    let _ = writeln!(self.settings, ".size {name}, {}", symbol.size);
                }
                continue;
            }
            let entry_section = (!self.loadable).then_some(section);
            let kernel = code && kernels.contains(&(entry_section, symbol.address));
            let with_header = self
                .with_header
                .get(&(entry_section, symbol.address))
                .copied();
            let mut text = String::new();
            if kernel || with_header.is_some() {
                text.push('\n');
                if self.section(section).align >= 256 && (symbol.address - base).is_multiple_of(256)
                {
                    text.push_str("\t.p2align 8\n");
                    self.omit_padding(section, own, symbol.address);
                }
            }
            if symbol.kind == SymbolKind::HSA_KERNEL {
                let _ = writeln!(text, "\t.amdgpu_hsa_kernel {name}");
            } else if let Some(kind) = kind {
                let _ = writeln!(text, "\t.type {name},{kind}");
            }
            let cpp = match self.short {
                true => None,
                false => crate::cpp::demangled(&symbol.name),
            };
            let cpp = cpp.map_or(String::new(), |cpp| format!(" // {cpp}"));
            text.reserve_exact(name.len() + cpp.len() + 2);
            text.push_str(&name);
            text.push(':');
            text.push_str(&cpp);
            text.push('\n');
            let header = with_header.and_then(|kernel| kernel.kernel_code.as_ref());
            let header = header.map(|bytes| kernel_code(bytes, self.object));
            if let Some(header) = &header {
                text.push_str(header);
            }
            let end = symbol.address.wrapping_add(symbol.size);
            let mut size = None;
            if symbol.size != 0 {
                let function = matches!(symbol.kind, SymbolKind::Func | SymbolKind::HSA_KERNEL);
                if code && function && inside(end) {
                    size = Some(format!(
                        "{LABEL}func_end{ends}:\n\t.size {name}, {LABEL}func_end{ends}-{name}\n"
                    ));
                    ends += 1;
                } else {
                    let _ = writeln!(text, "\t.size {name}, {}", symbol.size);
                }
            }
            let mark = self.marks[section].entry(symbol.address).or_default();
            match mark.text.is_empty() {
                true => mark.text = text,
                false => mark.text.push_str(&text),
            }
            if header.is_some() {
                mark.until = Some(symbol.address + KERNEL_CODE as u64);
                mark.padding = false;
            }
            // The assembler would leave a branch to a global symbol to the linker.
            if mark.name.is_none() && (self.loadable || symbol.binding == Binding::Local) {
                mark.name = Some(name.into_owned());
            }
            if let Some(size) = size {
                // The end comes before labels at the same address.
                let mark = self.marks[section].entry(end).or_default();
                mark.ends.push_str(&size);
            }
        }
    }

    /// Chooses the symbols that short source leaves out because nothing else depends on them: local labels with plain names,
    /// at addresses that can have labels, which no expression names.
    pub(super) fn leave_out_labels(&mut self) {
        let expressions = (self.fixes.iter().flat_map(|fixes| fixes.values()))
            .chain((self.words.iter()).flat_map(|words| words.values().map(|(_, e)| e)));
        let ends = ['@', '+', '-'];
        let mut used: HashSet<&str> = expressions
            .map(|expression| match expression.strip_prefix('"') {
                Some(rest) => rest.split('"').next().unwrap_or(""),
                None => expression.split(ends).next().unwrap_or(""),
            })
            .collect();
        used.extend(self.object.kernels.iter().map(|k| k.name.as_str()));
        used.extend(
            self.got_uses
                .iter()
                .map(|got| self.table[got.symbol].name.as_str()),
        );
        let groups = self.object.groups.iter();
        used.extend(groups.filter_map(|g| Some(self.table.get(g.signature)?.name.as_str())));
        let plain = |n: usize| {
            let symbol = &self.table[n];
            let SymbolSection::Index(section) = symbol.section else {
                return false;
            };
            let at = symbol.address.wrapping_sub(self.base(section));
            let code = self.section(section).flags.exec();
            let kinds = [SymbolKind::NoType, SymbolKind::Func, SymbolKind::Object];
            self.is_shown[section]
                && symbol.binding == Binding::Local
                && symbol.visibility == Visibility::Default
                && kinds.contains(&symbol.kind)
                && self.names[n] == symbol.name
                && at <= self.section(section).size
                && (!code || at.is_multiple_of(4))
                && !self.blocks.contains_key(&(section, symbol.address))
                && !used.contains(symbol.name.as_str())
        };
        let left_out = (0..self.table.len()).map(plain).collect();
        self.left_out = left_out;
    }

    /// Omits the code before a kernel if it is the padding that `.p2align 8` makes. `own` is the end of the previous function.
    pub(super) fn omit_padding(&mut self, section: usize, own: u64, address: u64) {
        const NOP: u32 = 0xbf80_0000;
        let base = self.base(section);
        let bytes = self.object.section_data(section);
        let mut at = (address - base) as usize;
        let end = at;
        while at >= 4 && bytes.get(at - 4..at) == Some(&NOP.to_le_bytes()[..]) && end - at < 252 {
            at -= 4;
        }
        let from = base + at as u64;
        // Code of a function and code with a label are not padding.
        let from = from.max(own);
        let free = |marks: &Marks| marks.range(from + 1..address).next().is_none();
        if from < address && from.is_multiple_of(4) && free(&self.marks[section]) {
            let mark = self.marks[section].entry(from).or_default();
            mark.until = Some(address);
            mark.padding = true;
        }
    }

    /// Adds comments with source lines to the marks.
    pub(super) fn place_lines(&mut self) {
        let Some(lines) = self.options.lines else {
            return;
        };
        for &section in &self.shown {
            let (base, end) = (self.base(section), self.section(section).size);
            if !self.section(section).flags.exec() {
                continue;
            }
            for (address, text) in lines.of(section, base, base.saturating_add(end)) {
                if !(address - base).is_multiple_of(4) {
                    continue;
                }
                let mark = self.marks[section].entry(address).or_default();
                for line in text.lines() {
                    let _ = writeln!(mark.text, "\t// {line}");
                }
            }
        }
    }

    /// Writes the binding and visibility of symbols in the order of the symbol table, which determines the order of the tables
    /// that the assembler and linker make.
    pub(super) fn declarations(&self, out: &mut String) {
        let kernels: HashMap<&str, &Kernel> = self
            .blocks
            .values()
            .map(|b| (b.kernel.name.as_str(), b.kernel))
            .collect();
        for n in self.order() {
            let (symbol, name) = (&self.table[n], &self.names[n]);
            if name.is_empty() || self.left_out[n] || !self.has(symbol) {
                continue;
            }
            match symbol.binding {
                Binding::Weak => writeln!(out, ".weak {name}"),
                // The linker makes hidden symbols local.
                Binding::Local if !(self.loadable && hidden(symbol)) => {
                    writeln!(out, ".local {name}")
                }
                _ => writeln!(out, ".globl {name}"),
            }
            .ok();
            let visibility = match kernels.get(symbol.name.as_str()) {
                // The assembler makes the code protected, and the descriptor's symbol like the code's.
                Some(kernel) => {
                    let kd = self.find(&format!("{}.kd", kernel.name));
                    match (symbol.visibility, kd.map(|kd| kd.visibility)) {
                        (Visibility::Protected, Some(Visibility::Default)) => Visibility::Default,
                        (own, _) => own,
                    }
                }
                None => symbol.visibility,
            };
            if unquoted(name) != symbol.name {
                let _ = writeln!(out, ".gcn_rename {name}, \"{}\"", symbol.name);
            }
            // The descriptor's symbol has the visibility of the code's.
            let of_block =
                (symbol.name.strip_suffix(".kd")).is_some_and(|n| kernels.contains_key(n));
            if !of_block {
                out.push_str(&visible(visibility, name));
            }
            match symbol.section {
                SymbolSection::Absolute => {
                    let _ = writeln!(out, ".set {name}, {:#x}", symbol.address);
                    if symbol.size != 0 {
                        let _ = writeln!(out, ".size {name}, {}", symbol.size);
                    }
                }
                SymbolSection::Lds => {
                    // The value of the symbol is its alignment.
                    let align = power_of_two(symbol.address);
                    let _ = writeln!(out, ".amdgpu_lds {name}, {}, {align}", symbol.size);
                }
                SymbolSection::Common => {
                    let align = symbol.address.max(1);
                    let _ = writeln!(
                        out,
                        ".comm {name}, {}, {}",
                        symbol.size,
                        align.trailing_zeros()
                    );
                }
                _ => {}
            }
        }
    }

    /// Returns the symbols in the order in which the linker read them. It moves hidden symbols before the others, but their
    /// names stay in the original order.
    pub(super) fn order(&self) -> Vec<usize> {
        let table: Vec<usize> = (0..self.table.len()).collect();
        let symtab = (self.object.sections.iter()).position(|s| s.kind == SectionKind::SYMTAB);
        let (true, Some(symtab)) = (self.loadable, symtab) else {
            return table;
        };
        let entries = self.object.section_data(symtab).chunks_exact(24);
        let names: Vec<u32> = entries
            .map(|entry| u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]))
            .collect();
        if names.len() != table.len() {
            return table;
        }
        let mut order = table.clone();
        order.sort_by_key(|n| names[*n]);
        // Local symbols are also sorted by file, which is not known.
        let seen = |order: &[usize]| -> Vec<usize> {
            let others = |n: &&usize| self.table[**n].binding != Binding::Local;
            order.iter().filter(others).copied().collect()
        };
        match seen(&order) == seen(&table) {
            true => order,
            false => table,
        }
    }

    /// Returns true if the symbol is in the source.
    pub(super) fn has(&self, symbol: &Symbol) -> bool {
        match symbol.section {
            SymbolSection::Index(i) => self.is_shown[i],
            _ => true,
        }
    }
}
