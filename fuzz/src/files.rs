//! What must hold of any file. The fuzz targets and the tests of gcn-object share it.

use gcn_object::container::Kind;
use gcn_object::{Builder, CodeObject, Container, Source, directives, metadata, patch};

/// Everything that can be asked of a code object. Whether the bytes are one.
///
/// # Panics
/// When something does.
pub fn object(bytes: &[u8]) -> bool {
    let Ok(object) = CodeObject::parse(bytes) else {
        return false;
    };
    for i in 0..object.sections.len() {
        object.section_data(i);
    }
    for kernel in &object.kernels {
        let _ = directives(&kernel.descriptor, &object.target);
    }
    let _ = object.image(0);
    let _ = object.image_with(u64::MAX - 0x2000, |_| Some(1));
    if let Some(note) = object.note() {
        let _ = metadata::faithful_text(note);
        let _ = metadata::decode(note).map(|tree| metadata::verify(&tree));
    }
    let _ = object.metadata_text();
    if let Ok(builder) = Builder::from_relocatable(&object) {
        let _ = builder.loadable();
        if let Ok(again) = builder.relocatable() {
            // What is written can be read, but for what made the first a strange one.
            let _ = CodeObject::parse(&again);
        }
    }
    true
}

/// Everything that can be asked of a file that may carry code objects. Whether it carries any.
///
/// # Panics
/// When something does, or a file is changed other than it was asked for.
pub fn container(bytes: &[u8]) -> bool {
    /// Files with more entries are not asked for each.
    const ENTRIES: usize = 12;
    let Ok(container) = Container::new(Source::from_bytes(bytes.to_vec())) else {
        return false;
    };
    let _ = container.choose(None, None);
    for target in ["gfx906", "gfx906:xnack-", "gfx900:sramecc+:xnack+"] {
        let _ = container.choose(Some(target), None);
        for entry in container.matching(target) {
            assert!(entry.target.is_some() || entry.id == target);
        }
    }
    for entry in container.entries.iter().take(ENTRIES) {
        let chosen = container.choose(None, Some(entry.index));
        assert_eq!(chosen.map(|e| e.index), Ok(entry.index));
        if let Ok(read) = container.read(entry) {
            assert_eq!(read.len() as u64, entry.size);
            let _ = container.object(entry);
        }
        for new in [&b"\x7fELFnew code"[..], &[0x5a; 5000]] {
            let Ok(patched) = patch::replace(&container, entry, new) else {
                continue;
            };
            let mut out = Vec::new();
            if patched.write(&mut out).is_err() {
                continue;
            }
            assert_eq!(out.len() as u64, patched.size());
            // Parts of damaged files may lie over one another, so that what is read afterwards may be anything.
            let Ok(again) = Container::new(Source::from_bytes(out)) else {
                continue;
            };
            if container.kind == Kind::Bundle && container.bundles.len() == 1 {
                let entry = &again.entries[entry.index];
                assert_eq!(
                    again.read(entry).as_deref(),
                    Ok(new),
                    "entry {}",
                    entry.index
                );
            }
        }
    }
    true
}
