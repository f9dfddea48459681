//! Any kernel metadata, as text or msgpack: reading, checking and writing it does not panic, and what is written is read as the same.
#![no_main]

use gcn_object::{Metadata, metadata};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Metadata::from_v2(text);
        if let Ok(tree) = metadata::parse_yaml(text) {
            same(&tree);
        }
    }
    for note in metadata::notes(data) {
        assert!(data.get(note.descriptor.clone()).is_some());
    }
    metadata::find_note(data);
    if let Some(text) = metadata::faithful_text(data) {
        let tree = metadata::parse_yaml(&text);
        assert_eq!(
            tree.map(|tree| metadata::encode(&tree)).as_deref(),
            Ok(data),
            "{text}"
        );
    }
    if let Ok(tree) = metadata::decode(data) {
        same(&tree);
    }
});

/// A tree is read from the msgpack and the text that are made of it.
fn same(tree: &metadata::Value) {
    let _ = metadata::verify(tree);
    let _ = Metadata::from_value(tree);
    let bytes = metadata::encode(tree);
    assert_eq!(metadata::decode(&bytes).as_ref(), Ok(tree));
    if let Ok(text) = metadata::to_yaml(tree) {
        assert_eq!(metadata::parse_yaml(&text).as_ref(), Ok(tree), "{text}");
    }
}
