//! The names of symbols and sections in the source.

use std::hash::BuildHasher;

use super::*;

/// Returns a name as the assembler accepts it: in quotes if it would be read differently without.
pub fn quoted(name: &str) -> Cow<'_, str> {
    let bytes = name.as_bytes();
    let start = |c: u8| c.is_ascii_alphabetic() || matches!(c, b'_' | b'.' | b'$') || c >= 0x80;
    let plain = bytes.first().is_some_and(|c| start(*c))
        && bytes.iter().all(|c| start(*c) || c.is_ascii_digit());
    // A name of a register would be read as the register.
    let numbered = |prefix: &str| {
        let number = name.strip_prefix(prefix).unwrap_or("");
        !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit())
    };
    let register = ["s", "v", "ttmp"].iter().any(|prefix| numbered(prefix)) || is_reserved(name);
    match plain && !register {
        true => Cow::Borrowed(name),
        false => Cow::Owned(format!("\"{}\"", name.replace('"', "'"))),
    }
}

/// Returns true if a name is a word that operands use, in upper or lower case, or half of a register with this name.
fn is_reserved(name: &str) -> bool {
    // This is called for every symbol. Comparing the lengths first is fast.
    let halves = name.strip_suffix("_lo").or(name.strip_suffix("_hi"));
    RESERVED
        .iter()
        .any(|word| word.len() == name.len() && word.eq_ignore_ascii_case(name))
        || halves.is_some_and(|half| RESERVED.contains(&half))
}

pub(super) fn unquoted(name: &str) -> &str {
    name.trim_matches('"')
}

/// The words that operands use.
pub(super) const RESERVED: &[&str] = &[
    "vcc",
    "exec",
    "scc",
    "m0",
    "flat_scratch",
    "xnack_mask",
    "tba",
    "tma",
    "vccz",
    "execz",
    "off",
    "lds_direct",
    "null",
    "src_vccz",
    "src_execz",
    "src_scc",
    "src_lds_direct",
    "shared_base",
    "shared_limit",
    "private_base",
    "private_limit",
    "pops_exiting_wave_id",
    "lit",
    "op",
    "hwreg",
    "sendmsg",
    "abs",
    "neg",
    "sext",
    "vmcnt",
    "lgkmcnt",
    "expcnt",
    "mul",
    "div",
];

/// The first symbol of each name, found by a hash of the name. The names themselves stay in the symbol table, which is often
/// large.
pub(super) struct ByName {
    /// One more than a symbol's number, and the upper half of the hash of its name in the upper half; 0 if there is none.
    slots: Vec<u64>,
    hasher: foldhash::fast::RandomState,
}

impl ByName {
    /// Room for the symbols of a table.
    fn new(table: &[Symbol]) -> ByName {
        ByName {
            // At least half of the slots are free, which keeps searches short.
            slots: vec![0; (2 * table.len()).next_power_of_two()],
            hasher: foldhash::fast::RandomState::default(),
        }
    }

    /// Returns the symbol of a name, or the free slot for it and the part of its hash that is stored there.
    fn find(&self, table: &[Symbol], name: &str) -> Result<usize, (usize, u64)> {
        let hash = self.hasher.hash_one(name);
        let (most, upper) = (self.slots.len() - 1, hash & !(u32::MAX as u64));
        let mut at = hash as usize & most;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err((at, upper));
            }
            let number = (slot as u32 - 1) as usize;
            if slot & !(u32::MAX as u64) == upper && table[number].name == name {
                return Ok(number);
            }
            at = (at + 1) & most;
        }
    }

    /// Returns the first symbol of a name.
    pub(super) fn get(&self, table: &[Symbol], name: &str) -> Option<usize> {
        self.find(table, name).ok()
    }

    /// Adds a symbol, if it is the first of its name. Returns the first one.
    fn add(&mut self, table: &[Symbol], number: usize) -> usize {
        match self.find(table, &table[number].name) {
            Ok(first) => first,
            Err((at, upper)) => {
                self.slots[at] = upper | (number as u64 + 1);
                number
            }
        }
    }
}

/// Returns the name of each symbol in the source, empty for symbols that the linker makes; and the first symbol of each name.
pub(super) fn names(table: &[Symbol]) -> (Vec<Cow<'_, str>>, ByName) {
    let is_made = |symbol: &Symbol| {
        symbol.name.is_empty()
            || matches!(symbol.kind, SymbolKind::Section | SymbolKind::File)
            || symbol.name == "_DYNAMIC"
    };
    let mut by_name = ByName::new(table);
    // Names whose first symbol is made by the linker, after another symbol of the name was found.
    let mut after_made: HashSet<&str> = HashSet::new();
    let mut again = Vec::new();
    let mut names = Vec::with_capacity(table.len());
    for (n, symbol) in table.iter().enumerate() {
        let first = by_name.add(table, n);
        if is_made(symbol) {
            names.push(Cow::Borrowed(""));
        } else if first == n || is_made(&table[first]) && after_made.insert(&symbol.name) {
            names.push(quoted(&symbol.name));
        } else {
            again.push(n);
            names.push(Cow::Borrowed(""));
        }
    }
    if again.is_empty() {
        return (names, by_name);
    }
    // Local symbols of several files may share a name, which is an error in one source.
    let mut taken: HashSet<String> = names.iter().map(|name| unquoted(name).into()).collect();
    taken.extend(table.iter().map(|symbol| symbol.name.clone()));
    let mut numbers: HashMap<&str, u64> = HashMap::new();
    for n in again {
        let number = numbers.entry(table[n].name.as_str()).or_insert(1);
        let name = loop {
            *number += 1;
            let name = format!("{}.{number}", table[n].name);
            if !taken.contains(unquoted(&quoted(&name))) {
                break name;
            }
        };
        names[n] = Cow::Owned(quoted(&name).into_owned());
        taken.insert(unquoted(&names[n]).into());
    }
    (names, by_name)
}

pub(super) fn hidden(symbol: &Symbol) -> bool {
    matches!(symbol.visibility, Visibility::Hidden | Visibility::Internal)
}

pub(super) fn visible(visibility: Visibility, name: &str) -> String {
    match visibility {
        Visibility::Protected => format!(".protected {name}\n"),
        Visibility::Hidden => format!(".hidden {name}\n"),
        Visibility::Internal => format!(".internal {name}\n"),
        Visibility::Default => String::new(),
    }
}

pub(super) fn with_addend(expression: &str, addend: i64) -> String {
    match addend {
        0 => expression.to_string(),
        addend => format!("{expression}{addend:+}"),
    }
}

pub(super) fn section_name(name: &str) -> String {
    let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.');
    match name.starts_with('.') && name.bytes().all(plain) {
        true => name.to_string(),
        false => format!("\"{name}\""),
    }
}

pub(super) fn power_of_two(align: u64) -> u64 {
    match align.is_power_of_two() {
        true => align,
        false => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_operands_are_quoted() {
        for name in [
            "vcc",
            "VCC",
            "Exec",
            "vcc_lo",
            "exec_hi",
            "m0",
            "s12",
            "v0",
            "ttmp3",
            "pops_exiting_wave_id",
        ] {
            assert_eq!(quoted(name), format!("\"{name}\""));
        }
        for name in [
            "vcc_low",
            "s",
            "s1a",
            "label_12",
            "m01",
            "a_pops_exiting_wave_id_hi",
            ".Lvcc",
        ] {
            assert_eq!(quoted(name), name);
        }
        assert_eq!(quoted("1a"), "\"1a\"");
    }

    #[test]
    fn names_that_come_again_are_numbered() {
        let symbol = |name: &str, kind: SymbolKind| Symbol {
            name: name.into(),
            address: 0,
            size: 0,
            binding: Binding::Local,
            visibility: Visibility::Default,
            kind,
            section: SymbolSection::Index(1),
        };
        let table = [
            symbol("a", SymbolKind::File),
            symbol("a", SymbolKind::NoType),
            symbol("a", SymbolKind::Object),
            symbol("b", SymbolKind::NoType),
            symbol("b", SymbolKind::NoType),
            symbol("", SymbolKind::Section),
        ];
        let (names, by_name) = names(&table);
        assert_eq!(names, ["", "a", "a.2", "b", "b.2", ""]);
        let first = |name: &str| by_name.get(&table, name);
        assert_eq!(
            ["a", "b", "", "c"].map(first),
            [Some(0), Some(3), Some(5), None]
        );
    }
}
