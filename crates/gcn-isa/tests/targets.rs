//! The rows in which the targets of a generation differ: docs/targets.md.

use gcn_isa::{Target, insts};
use std::collections::BTreeSet;

fn rows(name: &str) -> BTreeSet<&'static str> {
    let target = Target::parse(name).unwrap();
    insts::of_target(target).map(|row| row.name).collect()
}

#[test]
fn tables() {
    let tables: [&[&str]; 8] = [
        &["gfx600", "gfx601", "gfx602"],
        &["gfx700", "gfx701", "gfx702", "gfx703", "gfx704", "gfx705"],
        &["gfx801", "gfx802", "gfx803", "gfx805"],
        &["gfx810"],
        &["gfx900", "gfx902", "gfx909", "gfx90c"],
        &["gfx904"],
        &["gfx906"],
        &["gfx9-generic"],
    ];
    for (n, names) in tables.iter().enumerate() {
        for name in *names {
            assert_eq!(Target::parse(name).unwrap().table(), n, "{name}");
        }
    }
    assert_eq!(
        tables.iter().map(|t| t.len()).sum::<usize>(),
        Target::all().count()
    );
}

#[test]
fn names_that_people_know() {
    for (name, target) in [
        ("capeverde", "gfx601"),
        ("Spectre", "gfx700"),
        ("liverpool", "gfx704"),
        ("topaz", "gfx802"),
        ("ellesmere", "gfx803"),
        ("lexa", "gfx803"),
        ("picasso", "gfx902"),
        ("cezanne", "gfx90c"),
        ("MI50", "gfx906"),
        ("gfx9-generic", "gfx9-generic"),
    ] {
        assert_eq!(
            Target::parse(name).map(Target::name),
            Some(target),
            "{name}"
        );
    }
    assert_eq!(Target::parse("navi10"), None);
    // No name belongs to two targets.
    let mut names: Vec<&str> = Target::all()
        .flat_map(|t| t.info().aliases.iter().copied().chain([t.name()]))
        .collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
    // The document lists each name.
    let document = include_str!("../../../docs/targets.md");
    for name in names {
        assert!(document.contains(name), "docs/targets.md has no {name}");
    }
}

#[test]
fn what_differs() {
    let only = |a: &str, b: &str| -> Vec<&str> { rows(a).difference(&rows(b)).copied().collect() };
    let mad = ["v_mad_mix_f32", "v_mad_mixhi_f16", "v_mad_mixlo_f16"];
    let fma = ["v_fma_mix_f32", "v_fma_mixhi_f16", "v_fma_mixlo_f16"];
    assert_eq!(only("gfx900", "gfx904"), mad);
    assert_eq!(only("gfx900", "gfx9-generic"), mad);
    assert!(only("gfx9-generic", "gfx906").is_empty());
    assert_eq!(only("gfx904", "gfx900"), fma);
    assert!(only("gfx904", "gfx906").is_empty());
    assert_eq!(
        only("gfx906", "gfx904"),
        [
            "v_dot2_f32_f16",
            "v_dot2_i32_i16",
            "v_dot2_u32_u16",
            "v_dot4_i32_i8",
            "v_dot4_u32_u8",
            "v_dot8_i32_i4",
            "v_dot8_u32_u4",
            "v_fmac_f32",
            "v_xnor_b32",
        ]
    );
    // The same names with other widths.
    assert_eq!(rows("gfx803"), rows("gfx810"));
    let d16 = |name: &str| {
        let target = Target::parse(name).unwrap();
        let row = insts::by_name("buffer_load_format_d16_xyzw")
            .find(|row| insts::exists(row, target))
            .unwrap();
        row.shape.slots[0].ty.dwords()
    };
    assert_eq!((d16("gfx803"), d16("gfx810"), d16("gfx900")), (4, 2, 2));
}
