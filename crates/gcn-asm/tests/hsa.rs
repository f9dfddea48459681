//! Directives of code object v2, Mesa and PAL: their output and their errors.

use expect_test::{Expect, expect};
use gcn_asm::{Assembled, Options, assemble, render};
use gcn_isa::Target;
use gcn_object::target::{Feature, Os, Version};
use gcn_object::{CodeObject, KernelCode, SymbolKind, SymbolSection};
use std::process::Command;

fn options(target: &str) -> Options {
    Options {
        target: Target::parse(target),
        ..Options::default()
    }
}

fn good(target: &str, source: &str) -> Assembled {
    let output = assemble(source, "a.s", &options(target));
    let said = render(&output.diagnostics, false);
    output.object.unwrap_or_else(|| panic!("{said}"))
}

fn bad(target: &str, source: &str, expected: Expect) {
    let output = assemble(source, "a.s", &options(target));
    assert!(output.object.is_none());
    expected.assert_eq(&render(&output.diagnostics, false));
}

/// Returns owner, type and descriptor of each note.
fn notes(object: &Assembled) -> Vec<(String, u32, Vec<u8>)> {
    let file = object.relocatable().unwrap();
    let read = CodeObject::parse(&file).unwrap();
    let note = |n: &gcn_object::read::Note| {
        let data = file[n.file.clone()].to_vec();
        (n.owner.clone(), n.kind, data)
    };
    read.notes.iter().map(note).collect()
}

#[test]
fn version_and_isa_are_notes() {
    let object = good(
        "",
        ".hsa_code_object_version 2,1\n.hsa_code_object_isa 8,0,3,\"AMD\",\"AMDGPU\"\ns_endpgm\n",
    );
    assert_eq!(object.target.name(), "gfx803");
    assert_eq!((object.version, object.os), (Version::V2, Os::Hsa));
    let isa = b"\x04\0\x07\0\x08\0\0\0\0\0\0\0\x03\0\0\0AMD\0AMDGPU\0";
    assert_eq!(
        notes(&object),
        [
            ("AMD".into(), 1, vec![2, 0, 0, 0, 1, 0, 0, 0]),
            ("AMD".into(), 3, isa.to_vec()),
        ]
    );
    let file = object.loadable().unwrap();
    assert_eq!(file[7..9], [64, 0]);
    assert_eq!(file[48..52], [0x2a, 0, 0, 0]);
}

/// A gfx906 that may have XNACK on is a gfx907 in code object v2.
#[test]
fn xnack_is_in_the_name() {
    let with = |name: &str| {
        let source = format!(
            ".hsa_code_object_version 2,1\n.amd_amdgpu_isa \"amdgcn-amd-amdhsa--{name}\"\n"
        );
        good("gfx906", &source).target_id
    };
    assert_eq!(with("gfx907").xnack, Feature::On);
    assert_eq!(with("gfx906").xnack, Feature::Off);
    assert_eq!(with("gfx907").flags(Version::V2), 0x32f);
    // Without arguments the note holds the target's own numbers.
    let object = good(
        "gfx906",
        ".hsa_code_object_version 2,0\n.hsa_code_object_isa\n",
    );
    assert_eq!(
        notes(&object)[1].2[4..16],
        [9, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0]
    );
}

#[test]
fn kernel_code() {
    let source = "
.amdgpu_hsa_kernel k
k:
.amd_kernel_code_t
    amd_machine_version_stepping = 3
    granulated_workitem_vgpr_count = (15 - 1) / 4
    compute_pgm_rsrc1_sgprs = 9
    enable_exception = 0x7f
    is_ptr64 = one
    kernarg_segment_byte_size = 1 << 33
    call_convention = -1
    max_scratch_backing_memory_byte_size = 77
.end_amd_kernel_code_t
    s_endpgm
";
    let object = good("gfx803", &format!(".set one, 1\n{source}"));
    let text = object.text();
    assert_eq!(text.len(), 260);
    let code = KernelCode::from_bytes(text[..256].try_into().unwrap());
    assert_eq!(code.compute_pgm_rsrc1(), 3 | 9 << 6);
    assert_eq!(code.compute_pgm_rsrc2(), 0x7f << 24);
    assert_eq!(code.named("is_ptr64"), 1);
    assert_eq!(code.named("kernarg_segment_byte_size"), 1 << 33);
    assert_eq!(code.named("amd_machine_version_major"), 8);
    assert_eq!(code.named("max_scratch_backing_memory_byte_size"), 0);
    let kernel = object.symbols.iter().find(|s| s.name == "k").unwrap();
    assert_eq!(kernel.kind, SymbolKind::Other(10));
}

/// The block's machine sets the target, unless something else does.
#[test]
fn kernel_code_names_the_target() {
    let source = "
k: .amd_kernel_code_t
    amd_machine_version_major = 9
    amd_machine_version_minor = 0
    amd_machine_version_stepping = 12
.end_amd_kernel_code_t
    s_endpgm
";
    assert_eq!(good("", source).target.name(), "gfx90c");
    bad(
        "",
        ".amd_kernel_code_t\namd_machine_version_major = 11\n.end_amd_kernel_code_t\n",
        expect![[r#"
            error: gfx1100 is no target
             --> a.s:1:1
              |
            1 | .amd_kernel_code_t
              | ^^^^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn kernel_code_refusals() {
    bad(
        "gfx900",
        ".amd_kernel_code_t
    priorty = 1
    priority = 4
    enable_wavefront_size32 = 1
    priority
    priority = later
.end_amd_kernel_code_t
.end_amd_kernel_code_t
.amd_kernel_code_t
    priority = 1
",
        expect![[r#"
            error: there is no field 'priorty' in amd_kernel_code_t
             --> a.s:2:5
              |
            2 |     priorty = 1
              |     ^^^^^^^
              |
              = help: did you mean `priority`?
            error: the value of priority must fit 2 bits
             --> a.s:3:16
              |
            3 |     priority = 4
              |                ^
            error: the value of enable_wavefront_size32 must be 0 before gfx10
             --> a.s:4:31
              |
            4 |     enable_wavefront_size32 = 1
              |                               ^
            error: expected FIELD = VALUE or .end_amd_kernel_code_t
             --> a.s:5:5
              |
            5 |     priority
              |     ^^^^^^^^
            error: expected a value that is known here: 'later' is not defined before
             --> a.s:6:16
              |
            6 |     priority = later
              |                ^^^^^
            error: expected .amd_kernel_code_t before this
             --> a.s:8:1
              |
            8 | .end_amd_kernel_code_t
              | ^^^^^^^^^^^^^^^^^^^^^^
            error: expected .end_amd_kernel_code_t: this block has no end
             --> a.s:9:1
              |
            9 | .amd_kernel_code_t
              | ^^^^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn mesa_is_another_system() {
    let source = "s_endpgm\n.amd_amdgpu_isa \"amdgcn-mesa-mesa3d--gfx906\"\n";
    let object = good("gfx906", source);
    assert_eq!(object.os, Os::Mesa3d);
    for file in [object.relocatable().unwrap(), object.loadable().unwrap()] {
        assert_eq!(file[7..9], [66, 0]);
        assert_eq!(file[48..52], [0x2f, 3, 0, 0]);
    }
    let note = object.sections.iter().find(|s| s.name == ".note").unwrap();
    assert!(!note.flags.alloc());
    assert_eq!(notes(&object)[0].2, b"amdgcn-mesa-mesa3d--gfx906");
    let target = ".amdgcn_target \"amdgcn-mesa-mesa3d--gfx803\"\ns_endpgm\n";
    assert_eq!(good("", target).os, Os::Mesa3d);
    bad(
        "",
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx803\"\n.amd_amdgpu_isa \"amdgcn-mesa-mesa3d--gfx803\"\n.amd_amdgpu_isa \"amdgcn-amd-amdhsa--gfx900\"\n.amd_amdgpu_isa \"x86_64-pc-linux\"\n",
        expect![[r#"
            error: this is for mesa3d, but the file is for hsa
             --> a.s:2:17
              |
            2 | .amd_amdgpu_isa "amdgcn-mesa-mesa3d--gfx803"
              |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            error: this is for gfx900, but the target is gfx803
             --> a.s:3:17
              |
            3 | .amd_amdgpu_isa "amdgcn-amd-amdhsa--gfx900"
              |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^
            error: target id 'x86_64-pc-linux' does not begin as amdgcn-amd-amdhsa-- or amdgcn-mesa-mesa3d-- do
             --> a.s:4:17
              |
            4 | .amd_amdgpu_isa "x86_64-pc-linux"
              |                 ^^^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn metadata_of_v2_stays_text() {
    let yaml = "---\nVersion:         [ 1, 0 ]\nKernels:\n  - Name:            k\n    SymbolName:      'k@kd'\n...\n";
    let source = format!(
        ".hsa_code_object_version 2,1\n.amd_amdgpu_hsa_metadata\n{yaml}\n\t.end_amd_amdgpu_hsa_metadata\n"
    );
    let object = good("gfx803", &source);
    assert_eq!(
        notes(&object)[1],
        ("AMD".into(), 10, yaml.as_bytes().to_vec())
    );
    bad(
        "gfx803",
        ".amd_amdgpu_hsa_metadata\nKernels: []\n.end_amd_amdgpu_hsa_metadata\n.amd_amdgpu_hsa_metadata\n- [\n.end_amd_amdgpu_hsa_metadata\n.amd_amdgpu_hsa_metadata\nVersion: [1, 0]\n",
        expect![[r#"
            error: kernel metadata: expected a map with 'Version' and 'Kernels'
             --> a.s:1:1
              |
            1 | .amd_amdgpu_hsa_metadata
              | ^^^^^^^^^^^^^^^^^^^^^^^^
            error: kernel metadata: line 2 of the YAML: while parsing a node, did not find expected node content
             --> a.s:4:1
              |
            4 | .amd_amdgpu_hsa_metadata
              | ^^^^^^^^^^^^^^^^^^^^^^^^
            error: expected .end_amd_amdgpu_hsa_metadata: this block has no end
             --> a.s:7:1
              |
            7 | .amd_amdgpu_hsa_metadata
              | ^^^^^^^^^^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn pal_metadata() {
    let object = good(
        "gfx900",
        ".amd_amdgpu_pal_metadata 0x2c0b, 2, 0x2c0a, 1, 0x2c0b, 0x10\n",
    );
    assert_eq!(object.os, Os::Pal);
    let words = [0x2c0au32, 1, 0x2c0b, 0x12].map(u32::to_le_bytes).concat();
    assert_eq!(notes(&object), [("AMD".into(), 12, words)]);
    let object = good(
        "gfx900",
        ".amdgpu_pal_metadata\n---\namdpal.pipelines:\n  - .registers:\n      0x2c0a (SPI_SHADER_PGM_RSRC1_LS): 0x10\n...\n.end_amdgpu_pal_metadata\n",
    );
    // {"amdpal.pipelines": [{".registers": {0x2c0a: 16}}]}
    let expected = b"\x81\xb0amdpal.pipelines\x91\x81\xaa.registers\x81\xcd\x2c\x0a\x10";
    assert_eq!(notes(&object), [("AMDGPU".into(), 32, expected.to_vec())]);
    bad(
        "gfx900",
        ".amd_amdgpu_pal_metadata 1, 2, 3\n.amd_amdgpu_pal_metadata 1, 0x100000000\n",
        expect![[r#"
            error: expected registers and their values in turn: a value is missing
             --> a.s:1:33
              |
            1 | .amd_amdgpu_pal_metadata 1, 2, 3
              |                                 ^
            error: expected a number of 32 bits
             --> a.s:2:29
              |
            2 | .amd_amdgpu_pal_metadata 1, 0x100000000
              |                             ^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn lds() {
    let source = "
    .globl a
    .amdgpu_lds a, 1024, 16
    .amdgpu_lds b, 4
    .amdgpu_lds unused, 8
    s_mov_b32 s0, b@abs32@lo
";
    let object = good("gfx900", source);
    let found: Vec<_> = object
        .symbols
        .iter()
        .filter(|s| s.section == SymbolSection::Lds)
        .map(|s| (s.name.as_str(), s.address, s.size, s.kind))
        .collect();
    // As in LLVM, the address is the alignment.
    assert_eq!(
        found,
        [
            ("a", 16, 1024, SymbolKind::Object),
            ("b", 4, 4, SymbolKind::Object)
        ]
    );
    let file = object.relocatable().unwrap();
    let read = CodeObject::parse(&file).unwrap();
    assert!(read.symbols.iter().any(|s| s.section == SymbolSection::Lds));
    assert!(object.loadable().unwrap_err().to_string().contains("LDS"));
    bad(
        "gfx900",
        ".amdgpu_lds a, 65537\n.amdgpu_lds a, -1\n.amdgpu_lds a, 4, 3\n.amdgpu_lds a, 4\n.amdgpu_lds a, 4\n.amdgpu_lds a\n",
        expect![[r#"
            error: expected a size of 0 to 65536 bytes of LDS
             --> a.s:1:16
              |
            1 | .amdgpu_lds a, 65537
              |                ^^^^^
            error: expected a size of 0 to 65536 bytes of LDS
             --> a.s:2:16
              |
            2 | .amdgpu_lds a, -1
              |                ^
            error: expected an alignment that is a power of two
             --> a.s:3:19
              |
            3 | .amdgpu_lds a, 4, 3
              |                   ^
            error: 'a' is defined already
             --> a.s:5:13
              |
            5 | .amdgpu_lds a, 4
              |             ^
            error: expected `,`, found the end of the statement
             --> a.s:6:14
              |
            6 | .amdgpu_lds a
              |              ^
        "#]],
    );
}

/// A section's name is a symbol for its start.
#[test]
fn sections_are_symbols() {
    let object = good(
        "gfx900",
        ".section .foo\n.long 1\n.section .bar\n.long .foo, .foo + 2\n",
    );
    assert_eq!(object.relocations.len(), 2);
    assert_eq!(object.relocations[1].addend, 2);
    assert!(object.symbols.iter().all(|s| s.kind == SymbolKind::Section));
}

/// After a reset, the symbols count only the registers named afterwards.
#[test]
fn next_free_registers() {
    let source = "
    v_mov_b32 v9, s20
    .set .amdgcn.next_free_vgpr, 0
    .set .amdgcn.next_free_sgpr, 0
    v_mov_b32 v3, s4
    .long .amdgcn.next_free_vgpr, .amdgcn.next_free_sgpr
";
    assert_eq!(good("gfx900", source).text()[8..], [4, 0, 0, 0, 5, 0, 0, 0]);
}

/// Register counts of code that follows.
#[test]
fn late_register_counts() {
    let block = |vgprs: &str| {
        format!(
            ".amdhsa_kernel k\n.amdhsa_next_free_vgpr {vgprs}\n.amdhsa_next_free_sgpr sgprs + 1\n.end_amdhsa_kernel\nk: s_endpgm\n"
        )
    };
    let late = good(
        "gfx900",
        &format!("{}.set vgprs, 20\n.set sgprs, 9\n", block("vgprs * 2")),
    );
    let known = good("gfx900", &format!(".set sgprs, 9\n{}", block("40")));
    assert_eq!(late.kernels, known.kernels);
    assert_eq!(late.text(), known.text());
    bad(
        "gfx900",
        &block("300 + later"),
        expect![[r#"
        error: 'later' is not defined
         --> a.s:2:24
          |
        2 | .amdhsa_next_free_vgpr 300 + later
          |                        ^^^^^^^^^^^
        error: 'sgprs' is not defined
         --> a.s:3:24
          |
        3 | .amdhsa_next_free_sgpr sgprs + 1
          |                        ^^^^^^^^^
    "#]],
    );
    bad(
        "gfx900",
        &format!("{}.set vgprs, 300\n.set sgprs, k\n", block("vgprs")),
        expect![[r#"
            error: expected an absolute expression: this one depends on where code is placed
             --> a.s:3:24
              |
            3 | .amdhsa_next_free_sgpr sgprs + 1
              |                        ^^^^^^^^^
        "#]],
    );
}

#[test]
fn dynamic_stack() {
    let source = "
.amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"
.amdhsa_kernel k
    .amdhsa_next_free_vgpr 1
    .amdhsa_next_free_sgpr 1
    .amdhsa_uses_dynamic_stack 1
.end_amdhsa_kernel
k: s_endpgm
";
    let object = good("", source);
    assert_eq!(object.kernels[0].descriptor.kernel_code_properties, 1 << 11);
}

/// llvm-mc's bytes for every field, and for the notes.
#[test]
fn agrees_with_llvm_mc() {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut source = String::from(
        ".hsa_code_object_version 1,0\n.hsa_code_object_isa 8,0,3,\"AMD\",\"AMDGPU\"\n.amdgpu_hsa_kernel k\n.p2align 8\nk:\n.amd_kernel_code_t\n",
    );
    for (n, field) in gcn_object::kernel_code::FIELDS.iter().enumerate() {
        let later = ["wgp", "mem_ordered", "fwd", "size32", "wavefront_size"];
        if field.named && !later.iter().any(|l| field.name.contains(l)) {
            let most = 1u64 << (field.width - 1).min(40);
            let value = (n as u64 * 0x9e37_79b9) % most.max(2);
            source += &format!("  {} = {value}\n", field.alias);
        }
    }
    source += ".end_amd_kernel_code_t\ns_endpgm\n";
    let (file, out) = (dir.join("hsa.s"), dir.join("hsa.o"));
    std::fs::write(&file, &source).unwrap();
    let run = Command::new("llvm-mc-14")
        .args(["-triple=amdgcn-amd-amdhsa", "-mcpu=gfx803", "-filetype=obj"])
        .arg("--amdhsa-code-object-version=2")
        .args([&file, std::path::Path::new("-o"), &out])
        .output();
    let Ok(run) = run else {
        eprintln!("SKIPPED: llvm-mc-14 is not installed");
        return;
    };
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let theirs = CodeObject::parse(&std::fs::read(out).unwrap()).unwrap();
    let ours = good("gfx803", &source).relocatable().unwrap();
    let ours = CodeObject::parse(&ours).unwrap();
    for name in [".text", ".note"] {
        let data = |o: &CodeObject| o.section_data(o.section(name).unwrap()).to_vec();
        assert_eq!(data(&ours), data(&theirs), "{name}");
    }
    assert_eq!((ours.flags, ours.version), (theirs.flags, theirs.version));
}

/// Code object v6 and generic processors: the numbers are those of llvm-mc 22.
#[test]
fn version_6_and_generic_processors() {
    let header = |source: &str| {
        let object = good("", source);
        let file = object.loadable().unwrap();
        let number = u32::from_le_bytes(file[48..52].try_into().unwrap());
        (object.version, file[8], number)
    };
    let target = |id: &str| format!(".amdgcn_target \"amdgcn-amd-amdhsa--{id}\"\n");
    let v6 = ".amdhsa_code_object_version 6\ns_endpgm\n";
    assert_eq!(header(&(target("gfx906") + v6)), (Version::V6, 4, 0x52f));
    assert_eq!(
        header(&(target("gfx9-generic") + v6)),
        (Version::V6, 4, 0x0100_0151)
    );
    // No other version has it.
    assert_eq!(
        header(&(target("gfx9-generic:xnack-") + "s_endpgm\n")),
        (Version::V6, 4, 0x0100_0251)
    );
    assert_eq!(
        header(".arch gfx9-generic\ns_endpgm\n"),
        (Version::V6, 4, 0x0100_0151)
    );
    bad(
        "gfx9-generic",
        ".amdhsa_code_object_version 5\ns_endpgm\n",
        expect![[r#"
            error: gfx9-generic needs code object version 6, but version 5 is asked for
             --> a.s:3:1
              |
            3 |
              | ^
        "#]],
    );
    bad(
        "gfx900",
        ".amdhsa_code_object_version 7\n",
        expect![[r#"
        error: expected code object version 2, 3, 4, 5 or 6
         --> a.s:1:29
          |
        1 | .amdhsa_code_object_version 7
          |                             ^
    "#]],
    );
    // Features that only some of its chips have are refused.
    bad(
        "gfx9-generic",
        "v_mad_mix_f32 v1, v2, v3, v4\n",
        expect![[r#"
            error: gfx9-generic has no v_mad_mix_f32: it exists on gfx900, gfx902, gfx909, gfx90c
             --> a.s:1:1
              |
            1 | v_mad_mix_f32 v1, v2, v3, v4
              | ^^^^^^^^^^^^^
        "#]],
    );
}
