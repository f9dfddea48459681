//! Locations of waves, with source lines from an object's line tables.

use crate::Error;
use crate::emu::dispatch::{RunError, StuckWave, WaveLocation};
use crate::lines::Lines;
use crate::object::CodeObject;

/// Returns the file and line of a wave's instruction, if its kernel's object has line tables.
pub fn source_line(objects: &[CodeObject], location: &WaveLocation) -> Option<String> {
    let of = |object: &CodeObject| {
        let kernel = object.kernels.iter().find(|k| k.name == location.kernel)?;
        let address = kernel.entry.checked_add_signed(location.offset)?;
        let holds = |s: &crate::object::read::Section| {
            s.address <= address && address - s.address < s.size && s.address != 0
        };
        let section = match kernel.entry_section {
            Some(section) => section,
            None => object.sections.iter().position(holds)?,
        };
        let lines = Lines::read(object, false).ok()?;
        let from = kernel.entry.min(address);
        let line = lines.of(section, from, address + 1).last();
        line.map(|(_, text)| text.to_string())
    };
    objects.iter().find_map(of)
}

/// A wave in a report, with its source line.
pub fn wave(objects: &[CodeObject], wave: &StuckWave) -> String {
    match source_line(objects, &wave.location) {
        Some(line) => format!("{wave}, {line}"),
        None => wave.to_string(),
    }
}

/// Formats the error of a launch with the source lines of the listed waves.
pub fn report(objects: &[CodeObject], error: &Error) -> String {
    let mut text = error.to_string();
    let Error::Run(
        RunError::Interrupted { waves, .. }
        | RunError::Deadlock { waves, .. }
        | RunError::Livelock { waves, .. }
        | RunError::Limit { waves, .. },
    ) = error
    else {
        return text;
    };
    for stuck in waves {
        let line = stuck.to_string();
        text = text.replacen(&line, &wave(objects, stuck), 1);
    }
    text
}
