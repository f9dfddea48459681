//! ELF notes of AMDGPU files: the types of the notes of owners `AMD` and `AMDGPU`, reading and writing.

use std::ops::Range;

/// `AMDGPU`'s note of metadata as msgpack, in v3 and later and in PAL: `NT_AMDGPU_METADATA`.
pub const MSGPACK: u32 = 32;
/// `AMD`'s note of the code object version: major and minor, 32 bits each.
pub const VERSION: u32 = 1;
/// `AMD`'s note of the instruction set: an [`Isa`].
pub const ISA: u32 = 3;
/// `AMD`'s note of metadata as YAML text, v2.
pub const METADATA: u32 = 10;
/// `AMD`'s note of the target id.
pub const ISA_NAME: u32 = 11;
/// `AMD`'s note of PAL's older metadata: pairs of register and value, 32 bits each.
pub const PAL: u32 = 12;

/// One note in a sequence of notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note<'a> {
    /// The owner, without the zero at its end.
    pub owner: &'a [u8],
    /// The type.
    pub kind: u32,
    /// The descriptor, as a range of the bytes that were searched.
    pub descriptor: Range<usize>,
}

/// Returns the notes in `bytes`, as far as they are complete. Owners and descriptors are aligned to 4 bytes.
pub fn notes(bytes: &[u8]) -> impl Iterator<Item = Note<'_>> {
    let mut at = 0usize;
    std::iter::from_fn(move || {
        let [name_size, size] = [word(bytes, at)? as usize, word(bytes, at + 4)? as usize];
        let kind = word(bytes, at + 8)?;
        let name = at + 12;
        let start = name.checked_add(name_size)?.checked_next_multiple_of(4)?;
        let end = start.checked_add(size).filter(|end| *end <= bytes.len())?;
        let owner = bytes.get(name..name.checked_add(name_size)?)?;
        at = end.checked_next_multiple_of(4)?;
        Some(Note {
            owner: owner.strip_suffix(b"\0").unwrap_or(owner),
            kind,
            descriptor: start..end,
        })
    })
}

/// Returns the descriptor of the first note of msgpack metadata among the notes in `bytes`, as a range of `bytes`.
/// `None` if there is none or the notes are truncated.
pub fn find_metadata(bytes: &[u8]) -> Option<Range<usize>> {
    notes(bytes)
        .find(|n| n.kind == MSGPACK && n.owner == b"AMDGPU")
        .map(|n| n.descriptor)
}

/// Returns the bytes of one note, including its padding.
pub fn bytes(owner: &str, kind: u32, descriptor: &[u8]) -> Vec<u8> {
    let mut note = Vec::new();
    push(&mut note, owner, kind, descriptor);
    note
}

/// Appends the bytes of one note, including its padding, to bytes whose number is a multiple of 4.
pub fn push(out: &mut Vec<u8>, owner: &str, kind: u32, descriptor: &[u8]) {
    let head = head(owner, kind, descriptor.len());
    out.reserve(head.len() + descriptor.len() + 3);
    out.extend(head);
    out.extend(descriptor);
    out.resize(out.len().next_multiple_of(4), 0);
}

/// Returns the bytes of a note before its descriptor.
fn head(owner: &str, kind: u32, descriptor: usize) -> Vec<u8> {
    let mut head = Vec::with_capacity(owner.len() + 16);
    head.extend((owner.len() as u32 + 1).to_le_bytes());
    head.extend((descriptor as u32).to_le_bytes());
    head.extend(kind.to_le_bytes());
    head.extend(owner.as_bytes());
    head.push(0);
    head.resize(head.len().next_multiple_of(4), 0);
    head
}

/// Returns the end of a note that begins at an offset, with its padding, if its bytes are those that [`bytes`] gives.
pub fn plain_end(bytes: &[u8], at: usize, owner: &str, note: &Note) -> Option<usize> {
    let Range { start, end } = note.descriptor;
    let padded = end.checked_next_multiple_of(4)?;
    let plain = bytes.get(at..start)? == head(owner, note.kind, end - start)
        && bytes.get(end..padded)?.iter().all(|b| *b == 0);
    plain.then_some(padded)
}

/// The descriptor of an [`ISA`] note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa<'a> {
    /// `AMD`.
    pub vendor: &'a [u8],
    /// `AMDGPU`.
    pub architecture: &'a [u8],
    /// Major, minor and stepping.
    pub version: [u32; 3],
}

impl<'a> Isa<'a> {
    /// Reads the descriptor: the lengths of both names with the zeros at their ends (16 bits each), the numbers (32
    /// bits each), the names. Returns `None` if bytes are missing or left over.
    pub fn parse(descriptor: &'a [u8]) -> Option<Isa<'a>> {
        let sizes = word(descriptor, 0)?;
        let version = isa_version(descriptor)?;
        let names = descriptor.get(16..)?;
        let (vendor, architecture) = names.split_at_checked((sizes & 0xffff) as usize)?;
        if architecture.len() != (sizes >> 16) as usize {
            return None;
        }
        Some(Isa {
            vendor: vendor.strip_suffix(b"\0")?,
            architecture: architecture.strip_suffix(b"\0")?,
            version,
        })
    }

    /// Returns its bytes; `None` if a name is longer than 65534 bytes.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        for name in [self.vendor, self.architecture] {
            out.extend(u16::try_from(name.len() + 1).ok()?.to_le_bytes());
        }
        for number in self.version {
            out.extend(number.to_le_bytes());
        }
        for name in [self.vendor, self.architecture] {
            out.extend(name);
            out.push(0);
        }
        Some(out)
    }
}

/// Returns the major, minor and stepping of an [`ISA`] note, even if its names are damaged.
pub(crate) fn isa_version(descriptor: &[u8]) -> Option<[u32; 3]> {
    Some([
        word(descriptor, 4)?,
        word(descriptor, 8)?,
        word(descriptor, 12)?,
    ])
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let b = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_found() {
        let note = bytes("AMDGPU", MSGPACK, &[0x80]);
        assert_eq!(note.len(), 24);
        let mut two = vec![
            4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, b'G', b'N', b'U', 0, 9, 0, 0, 0,
        ];
        let at = two.len() + 20;
        two.extend(note);
        assert_eq!(find_metadata(&two), Some(at..at + 1));
        assert_eq!(find_metadata(&two[..at]), None);
        assert_eq!(find_metadata(&[0xff; 12]), None);
    }

    #[test]
    fn isa_notes_are_read_as_they_are_written() {
        let isa = Isa {
            vendor: b"AMD",
            architecture: b"AMDGPU",
            version: [8, 0, 3],
        };
        let bytes = isa.to_bytes().unwrap();
        assert_eq!(bytes.len(), 27);
        assert_eq!(&bytes[..8], &[4, 0, 7, 0, 8, 0, 0, 0]);
        assert_eq!(Isa::parse(&bytes), Some(isa));
        assert_eq!(Isa::parse(&bytes[..26]), None);
        assert_eq!(Isa::parse(&[&bytes[..], &[0]].concat()), None);
    }
}
