//! Compiled kernels: clang's assembly text assembles to the bytes of clang's and lld's objects.

use gcn_asm::{Options, assemble, render};
use gcn_object::CodeObject;
use std::path::PathBuf;

fn kernels() -> Vec<PathBuf> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/kernels");
    let mut list: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "s"))
        .collect();
    list.sort();
    assert!(list.len() >= 10, "the compiled kernels are missing");
    list
}

/// Clears the SGPR count of a descriptor. clang's text reserves VCC and FLAT_SCRATCH where its own objects do not;
/// llvm-mc computes another count from the text, too.
fn forget_sgprs(descriptor: &mut [u8]) {
    descriptor[48] &= 0x3f;
    descriptor[49] &= !3;
}

#[test]
fn compiled_kernels_come_out_byte_for_byte() {
    let mut wrong = Vec::new();
    for path in kernels() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let source = std::fs::read_to_string(&path).unwrap();
        let output = assemble(&source, &name, &Options::default());
        let Some(object) = output.object else {
            wrong.push(render(&output.diagnostics, false));
            continue;
        };
        let expected =
            CodeObject::parse(&std::fs::read(path.with_extension("co")).unwrap()).unwrap();
        let file = object.loadable().unwrap();
        let made = CodeObject::parse(&file).unwrap();
        for section in [".text", ".rodata", ".note", ".data"] {
            let of = |object: &CodeObject| {
                object.section(section).map(|i| {
                    let mut data = object.section_data(i).to_vec();
                    if section == ".rodata" {
                        for kernel in &object.kernels {
                            let at = kernel.descriptor_address - object.sections[i].address;
                            forget_sgprs(&mut data[at as usize..]);
                        }
                    }
                    (object.sections[i].address, data)
                })
            };
            if of(&made) != of(&expected) {
                wrong.push(format!("{name}: {section} differs"));
            }
        }
        let symbols = |object: &CodeObject| object.symbols.clone();
        if symbols(&made) != symbols(&expected) {
            wrong.push(format!("{name}: the symbols differ"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
