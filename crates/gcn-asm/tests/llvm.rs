//! Compares with llvm-mc 14. The test is skipped, with a message, if it is missing.

use gcn_asm::{Options, assemble, render};
use gcn_object::{CodeObject, SymbolKind};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns llvm-mc's relocatable object of a file; `None` without llvm-mc.
fn llvm_mc(source: &Path, arch: &str) -> Option<Vec<u8>> {
    let name = source.file_stem()?.to_string_lossy().into_owned();
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("asm-{name}.o"));
    let run = Command::new("llvm-mc-14")
        .args(["--triple=amdgcn-amd-amdhsa", "-filetype=obj"])
        .arg(format!("-mcpu={arch}"))
        .arg(source)
        .arg("-o")
        .arg(&out)
        .output()
        .ok()?;
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    Some(std::fs::read(out).unwrap())
}

/// Returns everything relevant in a relocatable object, as lines.
fn describe(object: &CodeObject) -> Vec<String> {
    let mut lines = vec![format!("{:?} {:?}", object.target, object.version)];
    for (i, section) in object.sections.iter().enumerate() {
        // Tables of the file itself, and a list of addresses that only a linker reads.
        if [".symtab", ".strtab", ".shstrtab", ".llvm_addrsig", ""].contains(&section.name.as_str())
            || section.name.starts_with(".rela")
            || section.size == 0
        {
            continue;
        }
        let mut data = object.section_data(i).to_vec();
        for relocation in object.relocations.iter().filter(|r| r.section == Some(i)) {
            // The bytes that a relocation replaces are ignored.
            let start = relocation.offset as usize;
            let width = match relocation.kind.name() {
                "R_AMDGPU_REL16" => 2,
                name if name.contains("64") => 8,
                _ => 4,
            };
            data[start..start + width].fill(0);
        }
        lines.push(format!(
            "{} {:?} {:?} align {} size {} {:02x?}",
            section.name, section.kind, section.flags, section.align, section.size, data
        ));
    }
    let section = |s: &gcn_object::SymbolSection| match s {
        gcn_object::SymbolSection::Index(i) => object.sections[*i].name.clone(),
        other => format!("{other:?}"),
    };
    for symbol in object
        .symbols
        .iter()
        .skip(1)
        .filter(|s| s.kind != SymbolKind::Section)
    {
        lines.push(format!(
            "{} {:#x} {} {:?} {:?} {:?} {}",
            symbol.name,
            symbol.address,
            symbol.size,
            symbol.kind,
            symbol.binding,
            symbol.visibility,
            section(&symbol.section)
        ));
    }
    let mut relocations: Vec<String> = object
        .relocations
        .iter()
        .map(|r| {
            let symbol = r.symbol.map(|i| &object.symbols[i]);
            let name = symbol.map_or(String::new(), |s| match s.kind {
                SymbolKind::Section => section(&s.section),
                _ => s.name.clone(),
            });
            let location = r.section.map_or("", |i| &object.sections[i].name);
            format!(
                "{location}+{:#x} {} {name} {:+}",
                r.offset,
                r.kind.name(),
                r.addend
            )
        })
        .collect();
    relocations.sort();
    lines.extend(relocations);
    lines
}

#[test]
fn relocatable_objects_are_those_of_llvm_mc() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources: Vec<PathBuf> = std::fs::read_dir(root.join("testdata/kernels"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "s"))
        .collect();
    sources.sort();
    sources.push(root.join("crates/gcn-object/tests/data/linking-gfx900.s"));
    let own = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("own-gfx900.s");
    std::fs::write(&own, OWN).unwrap();
    sources.push(own);
    let mut wrong = Vec::new();
    for path in sources {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let arch = name.rsplit('-').next().unwrap();
        let Some(expected) = llvm_mc(&path, arch) else {
            eprintln!(
                "SKIPPED relocatable_objects_are_those_of_llvm_mc: llvm-mc-14 is not installed"
            );
            return;
        };
        let source = std::fs::read_to_string(&path).unwrap();
        let options = Options {
            target: gcn_isa::Target::parse(arch),
            ..Options::default()
        };
        let output = assemble(&source, &name, &options);
        let Some(object) = output.object else {
            wrong.push(render(&output.diagnostics, false));
            continue;
        };
        let made = describe(&CodeObject::parse(&object.relocatable().unwrap()).unwrap());
        let expected = describe(&CodeObject::parse(&expected).unwrap());
        for line in &expected {
            if !made.contains(line) {
                wrong.push(format!("{name}: missing: {line}"));
            }
        }
        for line in &made {
            if !expected.contains(line) {
                wrong.push(format!("{name}: too much: {line}"));
            }
        }
        if made.len() == expected.len() && made != expected {
            wrong.push(format!("{name}: another order: {made:#?} {expected:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Directives, expressions and references of every kind.
const OWN: &str = r#"
.amdgcn_target "amdgcn-amd-amdhsa--gfx900"
.set five, 5
.text
1: s_branch 1f
 s_branch 1b
1: s_branch 1b
 s_mov_b32 s0, five+1
 s_mov_b32 s0, end-start
 s_add_u32 s0, s0, start@rel32@lo+4
 s_addc_u32 s0, s0, outside@gotpcrel32@hi+12
 s_cbranch_scc0 end
start:
 s_nop 0
 .p2align 4
 .byte 1, -1, 0x7f, 'a'
 .p2align 3
 s_nop five*2
end:
 s_branch global
.globl global
.type global,@function
global: s_endpgm
.size global, .-global
.long 1==1, 2<1, 1&&2, 0||3, !5, !0, ~0
.quad -8>>1
.long 2+3<<1, 2|4+1, 7%4*2, 1<<2+1, -7/2, -7%4, 5!2
.fill 3, 2, 0x1234
.fill 2, 8, 0x11223344
.data
.globl object
.type object,@object
object: .long start, end-start, outside, 8
.quad object, outside+4
.asciz "a", "b\x41\101\t"
.size object, .-object
.p2align 3, 0xcc
.short 0x1234
.skip 3, 1
.zero 2
.float 1.0, -2.5
.double 1.5
.section .rodata.own,"a",@progbits
.long five
.weak weakling
.hidden concealed
concealed: .quad weakling
.bss
.p2align 4
zeros: .zero 64
.size zeros, 64
.comm shared,16,8
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel global
 .amdhsa_next_free_vgpr .amdgcn.next_free_vgpr+3
 .amdhsa_next_free_sgpr .amdgcn.next_free_sgpr
 .amdhsa_ieee_mode five-5
.end_amdhsa_kernel
"#;
