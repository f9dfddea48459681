//! Writes the source of a single symbol.

use super::*;

/// Returns the metadata of one kernel as text.
pub(super) fn metadata_of(note: &[u8], name: &str) -> Option<String> {
    let mut value = metadata::decode(note).ok()?;
    if let metadata::Value::Map(pairs) = &mut value {
        for (key, value) in pairs.iter_mut() {
            if key.as_str() != Some("amdhsa.kernels") {
                continue;
            }
            if let metadata::Value::Array(kernels) = value {
                let symbol = format!("{name}.kd");
                kernels.retain(|kernel| {
                    let pairs = kernel.as_map().map_or(&[][..], Vec::as_slice);
                    (pairs.iter()).any(|(key, value)| {
                        key.as_str() == Some(".symbol") && value.as_str() == Some(&symbol)
                    })
                });
            }
        }
    }
    metadata::to_yaml(&value).ok()
}

impl<'a> Source<'a> {
    /// Writes one symbol's code or data.
    pub(super) fn write_one(mut self, name: &str, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let found = self.table.iter().position(|s| s.name == name);
        let Some(n) = found.filter(|n| !self.names[*n].is_empty()) else {
            return Err(invalid(format!("there is no symbol `{name}`")));
        };
        let symbol = self.table[n].clone();
        let SymbolSection::Index(index) = symbol.section else {
            return Err(invalid(format!("`{name}` has neither code nor data here")));
        };
        if !self.shown.contains(&index) {
            let section = &self.section(index).name;
            return Err(invalid(format!(
                "`{name}` is in {section}, which is not shown"
            )));
        }
        let (base, section_end) = (
            self.base(index),
            self.base(index) + self.section(index).size,
        );
        let start = symbol.address.clamp(base, section_end);
        let mut end = start.saturating_add(symbol.size).min(section_end);
        if symbol.size == 0 {
            // A symbol without a size ends at the next one.
            end = (self.table.iter())
                .filter(|s| s.section == symbol.section && s.address > start)
                .map(|s| s.address)
                .fold(section_end, u64::min);
        }
        // Lines about other symbols are removed.
        let own = |address: u64| (start..=end).contains(&address);
        for marks in &mut self.marks {
            marks.retain(|address, _| own(*address));
        }
        if let Some(mark) = self.marks[index].get_mut(&end) {
            let own = format!("-{}", self.names[n]);
            let lines: Vec<&str> = mark.ends.lines().collect();
            let kept = lines
                .chunks(2)
                .find(|pair| pair.iter().any(|line| line.ends_with(&own)));
            mark.ends = kept.map_or(String::new(), |pair| format!("{}\n", pair.join("\n")));
            mark.text.clear();
            mark.until = None;
        }
        let kernel =
            (self.object.kernels.iter()).find(|k| k.name == name && k.entry == symbol.address);
        self.keep_references(index, start, end);
        let mut text = String::new();
        self.head(&mut text);
        text.push('\n');
        self.declare_used(n, index, start, end, &mut text);
        self.section_head(index, &mut text);
        let code = self.section(index).flags.exec();
        if self.section(index).kind == SectionKind::NOBITS {
            let _ = writeln!(text, "{}:\n\t.zero {}", self.names[n], end - start);
        } else if code {
            out.write_all(text.as_bytes())?;
            text.clear();
            let bytes = self.object.section_data(index);
            let from = (start - base) as usize;
            let bytes = &bytes[from..(end - base) as usize];
            let prefix = self.prefix(index);
            let labels = Labels {
                base: start,
                show: self.options.show,
                named: &self.marks[index],
                fixes: &self.fixes[index],
                prefix: &prefix,
            };
            let listing = Listing::labelled(self.target, bytes, self.options.style, labels);
            self.code(&listing, out)?;
        } else {
            let range = (start - base) as usize..(end - base) as usize;
            let mut data = std::mem::take(&mut text).into_bytes();
            self.data(index, range, &mut data, out)?;
            out.write_all(&data)?;
            text.push('\n');
        }
        if let Some(kernel) = kernel {
            let found = (self.blocks.iter()).find(|(_, b)| b.kernel.name == kernel.name);
            if let Some((&(section, _), block)) = found {
                self.section_head(section, &mut text);
                let mut lines = Vec::new();
                self.block(block, &mut lines);
                text.push_str(&String::from_utf8_lossy(&lines));
            }
            if let Some(yaml) = self.object.note().and_then(|note| metadata_of(note, name)) {
                let yaml = yaml.trim_end();
                let _ = writeln!(text, "\n.amdgpu_metadata\n{yaml}\n.end_amdgpu_metadata");
            }
        }
        out.write_all(text.as_bytes())
    }

    /// Removes expressions whose labels are not in the output.
    pub(super) fn keep_references(&mut self, index: usize, start: u64, end: u64) {
        let inside = |name: &str| {
            let hex = name.strip_prefix(LABEL).unwrap_or("");
            let hex = hex.rsplit_once('_').map_or(hex, |(_, hex)| hex);
            u64::from_str_radix(hex, 16).is_ok_and(|a| (start..end).contains(&a))
        };
        let keep = |expression: &String| {
            let name = expression.split(['@', '+', '-']).next().unwrap_or("");
            !name.starts_with(LABEL) || inside(name)
        };
        self.fixes[index].retain(|at, expression| (start..end).contains(at) && keep(expression));
        self.words[index]
            .retain(|at, (_, expression)| (start..end).contains(at) && keep(expression));
    }

    /// Declares a symbol and the symbols in its expressions.
    pub(super) fn declare_used(
        &mut self,
        n: usize,
        index: usize,
        start: u64,
        end: u64,
        out: &mut String,
    ) {
        let mut used: BTreeSet<&str> = BTreeSet::new();
        let expressions = (self.fixes[index].range(start..end).map(|(_, e)| e.as_str())).chain(
            self.words[index]
                .range(start..end)
                .map(|(_, (_, e))| e.as_str()),
        );
        for expression in expressions {
            let name = expression.split(['@', '+', '-']).next().unwrap_or("");
            if !name.starts_with(LABEL) {
                used.insert(name);
            }
        }
        let (name, symbol) = (&self.names[n], &self.table[n]);
        let _ = match symbol.binding {
            Binding::Weak => writeln!(out, ".weak {name}"),
            Binding::Local if !hidden(symbol) => writeln!(out, ".local {name}"),
            _ => writeln!(out, ".globl {name}"),
        };
        out.push_str(&visible(symbol.visibility, name));
        for other in used.into_iter().filter(|other| other != name) {
            let _ = writeln!(out, ".globl {other}");
        }
    }
}
