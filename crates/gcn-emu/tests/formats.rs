//! Every data format with every number format, both ways, against vectors of exact fractions (data/formats.py).

use gcn_emu::formats::{Format, IDENTITY, Number, selection, unselected};
use gcn_isa::target::Gen;

fn numbers(text: &str) -> [u32; 4] {
    let mut numbers = [0; 4];
    for (location, word) in numbers.iter_mut().zip(text.split(' ')) {
        *location = u32::from_str_radix(word, 16).expect("hex");
    }
    numbers
}

#[test]
fn every_format() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in include_str!("data/formats.tsv").lines() {
        if line.starts_with('#') {
            continue;
        }
        let parts: Vec<&str> = line.split('\t').collect();
        let generation = if parts[1] == "6" {
            Gen::Gfx6
        } else {
            Gen::Gfx9
        };
        let (data, number) = (parts[2].parse().unwrap(), parts[3].parse().unwrap());
        let format = match parts[0] {
            "buffer" => Format::buffer(data, number, generation),
            _ => Format::image(data, number, generation),
        };
        count += 1;
        match (parts[4], format) {
            ("invalid", None) => {}
            ("load", Some(format)) => {
                let element = u128::from_str_radix(parts[5], 16).unwrap();
                let got: [u32; 4] = std::array::from_fn(|k| format.component(element, k));
                if got != numbers(parts[6]) {
                    wrong.push(format!("{line}: {got:08x?}"));
                }
            }
            ("store", Some(format)) => {
                let got = format.element(numbers(parts[5]));
                if got != u128::from_str_radix(parts[6], 16).unwrap() {
                    wrong.push(format!("{line}: {got:x}"));
                }
            }
            (_, format) => wrong.push(format!("{line}: {format:?}")),
        }
    }
    assert!(count > 1500, "{count} vectors");
    assert!(
        wrong.is_empty(),
        "{}\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
}

#[test]
fn sixteen_bits() {
    // 1/3 as f32 is 0.01010101…; of f16 the nearest is 0x3555.
    assert_eq!(Number::Unorm.to_half(0x3eaa_aaab), 0x3555);
    assert_eq!(Number::Float.to_half(0x477f_f000), 0x7c00); // 65520 is the middle of 65504 and 65536.
    assert_eq!(Number::Uint.to_half(0x1_2345), 0x2345);
    assert_eq!(Number::Sint.from_half(0xfffe), 0xffff_fffe);
    assert_eq!(Number::Uint.from_half(0xfffe), 0xfffe);
    assert_eq!(Number::Snorm.from_half(0xbc00), 0xbf80_0000);
}

#[test]
fn selections() {
    assert_eq!(selection(0xfac), IDENTITY);
    let format = Format::buffer(10, 4, Gen::Gfx8).expect("8_8_8_8 UINT");
    // W, 1, 0, a reserved code.
    assert_eq!(
        format.selected([10, 20, 30, 40], [7, 1, 0, 2]),
        [40, 1, 0, 0]
    );
    // BGRA: a store puts the value where a load reads Z.
    assert_eq!(unselected([10, 20, 30, 40], [6, 5, 4, 7]), [30, 20, 10, 40]);
    assert_eq!(unselected([10, 20, 30, 40], [4, 0, 1, 1]), [10, 0, 0, 0]);
}
