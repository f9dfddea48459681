//! Compares errors in directives, and complete objects with llvm-mc's.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind};

use super::source::{Kind, Line};
use super::{Failure, Outcome, Tally, Test, our_errors};

/// Checks the lines that [`super::instruction`] does not: those that are not instructions (all lines if they could not be
/// distinguished) and, if LLVM accepts the complete text, the object.
pub fn check(
    test: &Test,
    lines: &[Line],
    errors: &BTreeMap<usize, String>,
    in_step: bool,
    tally: &mut Tally,
) -> Result<()> {
    let others = |l: &&Line| !in_step || l.kind != Kind::Instruction;
    let others: Vec<&Line> = lines.iter().filter(others).collect();
    if others.is_empty() {
        return Ok(());
    }
    let (object, ours) = our_errors(test);
    for line in others {
        let first = |errors: &BTreeMap<usize, String>| {
            let mut range = errors.range(line.number..=line.last);
            range.next().map(|(_, message)| message.clone())
        };
        let failure = match (first(errors), first(&ours)) {
            (Some(message), None) => Some((Outcome::Taken, message, "no error".to_string())),
            (None, Some(message)) => Some((Outcome::Refused, "no error".to_string(), message)),
            _ => None,
        };
        tally.add(failure.map(|(outcome, wanted, found)| Failure {
            wanted,
            found,
            ..test.failure(line.number, &line.text, outcome)
        }));
    }
    if !errors.is_empty() {
        return Ok(());
    }
    let outcome = test.llvm(&["-filetype=obj"], true)?;
    let Some(theirs) = outcome.file.filter(|_| outcome.status == Some(0)) else {
        return Ok(());
    };
    let Some(object) = object else {
        return Ok(());
    };
    let parts = |file: &[u8]| -> Result<BTreeMap<String, String>> {
        let mut parts = parts(file)?;
        // Our object has a known processor.
        if test.run.is_generic() {
            parts.remove(HEADER);
        }
        Ok(parts)
    };
    let theirs = parts(&theirs).context("llvm-mc's object")?;
    let fail = |text: &str, wanted: &str, found: &str| Failure {
        wanted: short(wanted),
        found: short(found),
        ..test.failure(0, text, Outcome::Object)
    };
    let ours = match object.relocatable() {
        Ok(bytes) => parts(&bytes).context("our object")?,
        Err(error) => {
            tally.add(Some(fail("the object", "an object", &error.to_string())));
            return Ok(());
        }
    };
    for name in theirs
        .keys()
        .chain(ours.keys().filter(|n| !theirs.contains_key(*n)))
    {
        let none = "nothing".to_string();
        let (wanted, found) = (
            theirs.get(name).unwrap_or(&none),
            ours.get(name).unwrap_or(&none),
        );
        tally.add((wanted != found).then(|| fail(name, wanted, found)));
    }
    Ok(())
}

const HEADER: &str = "ELF header";

/// The maximum number of characters that are shown of a part.
const SHOWN: usize = 2000;

fn short(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{} …", &text[..at]),
        None => text.to_string(),
    }
}

/// Returns the parts of an object that must be equal, as text.
fn parts(file: &[u8]) -> Result<BTreeMap<String, String>> {
    let elf = ElfFile64::<object::Endianness>::parse(file)?;
    let mut parts = BTreeMap::new();
    let header = elf.elf_header();
    let e = object::Endianness::Little;
    parts.insert(
        HEADER.to_string(),
        format!(
            "abi {} version {} flags {:#x}",
            header.e_ident.os_abi,
            header.e_ident.abi_version,
            header.e_flags.get(e)
        ),
    );
    for section in elf.sections() {
        let name = section.name()?.to_string();
        let compared = matches!(
            section.kind(),
            SectionKind::Text
                | SectionKind::Data
                | SectionKind::ReadOnlyData
                | SectionKind::Note
                | SectionKind::UninitializedData
        );
        if !compared || section.size() == 0 {
            continue;
        }
        let data = section.data()?;
        let mut text = format!("{} bytes ", section.size());
        for byte in data {
            text.push_str(&format!("{byte:02x}"));
        }
        parts.insert(format!("section {name}"), text);
        let mut relocations = Vec::new();
        for (offset, relocation) in section.relocations() {
            let target = match relocation.target() {
                RelocationTarget::Symbol(index) => {
                    let symbol = elf.symbol_by_index(index)?;
                    let name = symbol.name()?;
                    match symbol.section_index() {
                        Some(section) if name.is_empty() => {
                            elf.section_by_index(section)?.name()?.to_string()
                        }
                        _ => name.to_string(),
                    }
                }
                _ => "nothing".to_string(),
            };
            relocations.push(format!(
                "{offset:#x} {:?} {target}{:+}",
                relocation.flags(),
                relocation.addend()
            ));
        }
        relocations.sort();
        if !relocations.is_empty() {
            parts.insert(format!("relocations of {name}"), relocations.join(", "));
        }
    }
    let mut symbols = Vec::new();
    for symbol in elf.symbols() {
        let name = symbol.name()?;
        if name.is_empty() {
            continue;
        }
        let section = match symbol.section_index() {
            Some(index) => elf.section_by_index(index)?.name()?.to_string(),
            None => format!("{:?}", symbol.section()),
        };
        symbols.push(format!(
            "{name} {section} {:#x} {} {:?}",
            symbol.address(),
            symbol.size(),
            symbol.flags()
        ));
    }
    symbols.sort();
    parts.insert("symbols".to_string(), symbols.join(", "));
    Ok(parts)
}
