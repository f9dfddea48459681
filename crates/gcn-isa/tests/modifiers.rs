//! The table of modifiers.

use gcn_isa::modifier::{Arg, MODIFIERS, Sets, by_name, of_field};

#[test]
fn names_lead_to_their_rows() {
    for row in MODIFIERS {
        for name in [row.name].iter().chain(row.aliases) {
            assert_eq!(
                by_name(name).map(|found| found.name),
                Some(row.name),
                "{name}"
            );
        }
        assert_eq!(row.word.trim_start(), row.name);
        assert_eq!(row.prefix.trim(), format!("{}:", row.name));
        assert!(row.syntax.starts_with(row.name), "{}", row.syntax);
        assert!(
            !row.doc.is_empty() && !row.doc.ends_with('.'),
            "{}",
            row.doc
        );
        // Each field has only one row that describes its value.
        if let (Sets::Flag(field) | Sets::Number(field), Arg::Flag | Arg::Number) =
            (row.sets, row.arg)
        {
            assert_eq!(of_field(field).map(|found| found.name), Some(row.name));
        }
    }
    for other in ["", "x", "clam", "clampp", "offset:", "v0", "vcc", "noclamp"] {
        assert!(by_name(other).is_none(), "{other}");
    }
}
