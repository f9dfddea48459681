//! Writes notes as directives.

use gcn_object::note::{self, Isa};

use super::*;

/// The notes section, as directives that reproduce it.
pub(super) struct Notes {
    pub(super) section: usize,
    /// The directives before the target.
    pub(super) version: String,
    /// The directives after the target.
    pub(super) isa: String,
    /// The text before the metadata, the metadata, and the text after them.
    pub(super) metadata: [String; 3],
    /// The metadata's text and the note that the assembler makes of it.
    pub(super) made: Option<Arc<KnownMetadata>>,
    /// The code object version that these directives imply.
    pub(super) known: Option<Version>,
}

impl Notes {
    /// Returns `None` if there are no notes, or if directives cannot reproduce the same bytes.
    pub(super) fn new(object: &CodeObject) -> Option<Notes> {
        let flags = match object.os {
            Os::Hsa => SectionFlags::ALLOC,
            _ => SectionFlags(0),
        };
        let section = (object.sections.iter()).position(|s| {
            let head = (s.kind, s.flags, s.align, s.entry_size);
            s.name == ".note" && head == (SectionKind::NOTE, flags, 4, 0)
        })?;
        let bytes = object.section_data(section);
        let mut notes = Notes {
            section,
            version: String::new(),
            isa: String::new(),
            metadata: Default::default(),
            made: None,
            known: None,
        };
        // The directives give notes in this order: the version, names of the target, metadata.
        let mut order = [0; 3];
        let mut at = 0;
        for found in note::notes(bytes) {
            let owner = str::from_utf8(found.owner).ok()?;
            let descriptor = bytes.get(found.descriptor.clone())?;
            at = note::plain_end(bytes, at, owner, &found)?;
            let place = match (owner, found.kind) {
                ("AMD", note::VERSION) => {
                    let [major, minor] = words(descriptor)?;
                    let line = format!(".hsa_code_object_version {major},{minor}\n");
                    notes.version.push_str(&line);
                    notes.known.get_or_insert(Version::V2);
                    0
                }
                ("AMD", note::ISA) => {
                    notes.isa.push_str(&isa_line(descriptor)?);
                    1
                }
                ("AMD", note::ISA_NAME) => {
                    let name = std::str::from_utf8(descriptor).ok()?;
                    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
                    if !name.chars().all(plain) {
                        return None;
                    }
                    let _ = writeln!(notes.isa, ".amd_amdgpu_isa \"{name}\"");
                    1
                }
                ("AMD", note::METADATA) if order[2] == 0 => {
                    let text = std::str::from_utf8(descriptor).ok()?;
                    notes.metadata[1] = v2_metadata(text)?;
                    2
                }
                ("AMDGPU", note::MSGPACK) if order[2] == 0 && object.os == Os::Hsa => {
                    notes.made = Some(Arc::new(KnownMetadata::of_note(descriptor)?));
                    notes.metadata[0] = "\n.amdgpu_metadata\n".into();
                    notes.metadata[2] = ".end_amdgpu_metadata\n".into();
                    notes.known = Some(match object.metadata.version[1] {
                        0 => Version::V3,
                        2 => Version::V5,
                        _ => Version::V4,
                    });
                    2
                }
                _ => return None,
            };
            order[place] += 1;
            if order[place + 1..].iter().any(|later| *later != 0) {
                return None;
            }
        }
        (at > 0 && at == bytes.len()).then_some(notes)
    }
}

/// Reads `N` little-endian words of 32 bits; `None` if the length differs.
pub(super) fn words<const N: usize>(bytes: &[u8]) -> Option<[u32; N]> {
    let words: Vec<u32> = (bytes.chunks_exact(4))
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
        .collect();
    words.try_into().ok().filter(|_| bytes.len() == 4 * N)
}

/// Returns the note's `.hsa_code_object_isa` directive.
pub(super) fn isa_line(descriptor: &[u8]) -> Option<String> {
    let Isa {
        vendor,
        architecture: name,
        version: [major, minor, stepping],
    } = Isa::parse(descriptor)?;
    let plain = |c: &u8| c.is_ascii_alphanumeric();
    if !vendor.iter().chain(name).all(plain) {
        return None;
    }
    let (vendor, name) = (str::from_utf8(vendor).ok()?, str::from_utf8(name).ok()?);
    Some(format!(
        ".hsa_code_object_isa {major},{minor},{stepping},\"{vendor}\",\"{name}\"\n"
    ))
}

/// Returns the directives for the metadata of code object v2, which are text in the file.
pub(super) fn v2_metadata(text: &str) -> Option<String> {
    const END: &str = ".end_amd_amdgpu_hsa_metadata";
    let read = metadata::parse_yaml(text).ok()?;
    let version = |pairs: &Vec<_>| {
        (pairs.iter()).any(|(key, _): &(metadata::Value, _)| key.as_str() == Some("Version"))
    };
    let kept = text.ends_with('\n')
        && !text.starts_with(['\n', '\r'])
        && !text.contains(END)
        && !text.contains('\0')
        && read.as_map().is_some_and(version);
    // The directive removes one of two line breaks at the end.
    let more = if text.ends_with("\n\n") { "\n" } else { "" };
    kept.then(|| format!("\n.amd_amdgpu_hsa_metadata\n{text}{more}{END}\n"))
}

/// Writes the `amd_kernel_code_t` at the start of a kernel as directives, or as numbers if directives cannot express it.
pub(super) fn kernel_code(bytes: &[u8; KERNEL_CODE], object: &CodeObject) -> String {
    let mut out = String::new();
    match KernelCode::from_bytes(*bytes).lines(object.target.machine) {
        Some(lines) => {
            out.push_str("\t.amd_kernel_code_t\n");
            for (name, value) in lines {
                let _ = writeln!(out, "\t\t{name} = {value}");
            }
            out.push_str("\t.end_amd_kernel_code_t\n");
        }
        None => {
            let mut rest = &bytes[..];
            let mut data = Vec::new();
            while !rest.is_empty() {
                rest = &rest[plain_data(rest, false, &mut data)..];
            }
            out.push_str(&String::from_utf8_lossy(&data));
        }
    }
    out
}
