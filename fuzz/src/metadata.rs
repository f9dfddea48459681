//! What must hold of any kernel metadata. The fuzz target and a test of gcn-object share it.

use gcn_object::{Metadata, metadata, note};

/// Metadata as text and as msgpack is read, checked and written; what is written is read as the same.
///
/// # Panics
/// When something does, or it does not hold.
pub fn metadata(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Metadata::from_v2(text);
        if let Ok(tree) = metadata::parse_yaml(text) {
            same(&tree);
        }
    }
    for note in note::notes(data) {
        assert!(data.get(note.descriptor.clone()).is_some());
    }
    note::find_metadata(data);
    if let Some(text) = metadata::faithful_text(data) {
        let tree = metadata::parse_yaml(&text);
        assert_eq!(
            tree.map(|tree| metadata::encode(&tree)).as_deref(),
            Ok(data),
            "{text}"
        );
    }
    if let Some(made) = metadata::faithful(data) {
        assert_eq!(made.descriptor[..], *data);
        let again = metadata::assemble(&made.text);
        assert_eq!(
            again,
            Ok((made.descriptor.to_vec(), made.minor)),
            "{}",
            made.text
        );
    }
    if let Some(version) = metadata::accepted_version(data) {
        let read = Metadata::from_note(data);
        assert_eq!(read.map(|read| read.version), Ok(version));
    }
    if let Ok(tree) = metadata::decode(data) {
        same(&tree);
    }
}

/// A tree is read from the msgpack that is made of it, and, but for the order of its keys, from the text.
fn same(tree: &metadata::Value) {
    let _ = metadata::verify(tree);
    let _ = Metadata::from_value(tree);
    let bytes = metadata::encode(tree);
    // As bytes, for no NaN equals itself.
    let again = metadata::decode(&bytes).map(|again| metadata::encode(&again));
    assert_eq!(again.as_ref(), Ok(&bytes));
    if let Ok(text) = metadata::to_yaml(tree) {
        let read = metadata::parse_yaml(&text);
        assert_eq!(read.as_ref(), Ok(&metadata::canonical(tree)), "{text}");
    }
}
