//! CLRX's ROCm sources: the results of their settings, and the sources that are refused.

use expect_test::{Expect, expect};
use gcn_asm::{Assembled, Options, assemble, render};
use gcn_object::target::Version;
use gcn_object::{Binding, CodeObject, KernelCode, SymbolKind};

fn good(source: &str) -> Assembled {
    let output = assemble(source, "a.s", &Options::default());
    let said = render(&output.diagnostics, false);
    output.object.unwrap_or_else(|| panic!("{said}"))
}

fn bad(source: &str, expected: Expect) {
    let output = assemble(source, "a.s", &Options::default());
    assert!(output.object.is_none());
    expected.assert_eq(&render(&output.diagnostics, false));
}

/// Returns the configuration in front of the first kernel.
fn code(source: &str) -> KernelCode {
    KernelCode::from_bytes(good(source).text()[..256].try_into().unwrap())
}

/// Returns a source with one kernel with these settings and this code.
fn kernel(gpu: &str, settings: &str, body: &str) -> String {
    format!(
        ".rocm\n.gpu {gpu}\n.kernel k\n.config\n{settings}\n.text\nk: .skip 256\n{body}\ns_endpgm\n"
    )
}

/// The words of a configuration that was written byte by byte from the format's description.
#[test]
fn a_whole_configuration() {
    let source = kernel(
        "Carrizo",
        ".dims x
        .sgprsnum 16
        .vgprsnum 8
        .dx10clamp
        .floatmode 0xc0
        .priority 0
        .userdatanum 8
        .pgmrsrc1 0x002c0041
        .pgmrsrc2 0x00000090
        .codeversion 1, 0
        .machine 1, 8, 0, 1
        .kernel_code_entry_offset 0x100
        .use_private_segment_buffer
        .use_dispatch_ptr
        .use_kernarg_segment_ptr
        .private_elem_size 4
        .use_ptr64
        .kernarg_segment_size 8
        .wavefront_sgpr_count 15
        .workitem_vgpr_count 7
        .kernarg_segment_align 16
        .group_segment_align 16
        .private_segment_align 16
        .wavefront_size 64
        .call_convention 0x0",
        "s_load_dword s2, s[4:5], 0x4",
    );
    let mut expected = [0u8; 256];
    let words: [(usize, &[u8]); 9] = [
        (0, &[1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 8, 0, 0, 0, 1, 0, 0, 1]),
        (48, &[0x41, 0, 0x2c, 0, 0x90, 0, 0, 0, 0x0b, 0, 0x0a, 0]),
        (72, &[8]),
        (84, &[15, 0, 7, 0]),
        (100, &[4, 4, 4, 6]),
        (104, &[0, 0, 0, 0]),
        (108, &[]),
        (120, &[]),
        (128, &[]),
    ];
    for (at, bytes) in words {
        expected[at..at + bytes.len()].copy_from_slice(bytes);
    }
    assert_eq!(code(&source).to_bytes(), expected);
}

/// The same bytes written by hand after the label, without `.config`.
#[test]
fn bytes_instead_of_a_configuration() {
    let source = "
.rocm
.gpu Carrizo
.kernel k
.text
k:
        .byte 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00
        .byte 0x01, 0x00, 0x08, 0x00, 0x00, 0x00, 0x01, 0x00
        .byte 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00
        .fill 232, 1, 0x00
        s_endpgm
";
    let object = good(source);
    assert_eq!(object.text().len(), 260);
    let symbol = object.symbols.iter().find(|s| s.name == "k").unwrap();
    assert_eq!(symbol.kind, SymbolKind::Other(10));
    assert_eq!((symbol.binding, symbol.size), (Binding::Global, 260));
    assert_eq!(object.version, Version::V2);
}

#[test]
fn registers_are_counted() {
    let count = |gpu: &str, settings: &str, body: &str| {
        let code = code(&kernel(gpu, settings, body));
        let field = |name| code.named(name);
        (
            field("workitem_vgpr_count"),
            field("wavefront_sgpr_count"),
            field("granulated_workitem_vgpr_count"),
            field("granulated_wavefront_sgpr_count"),
            field("user_sgpr_count"),
        )
    };
    // The two of VCC are added.
    assert_eq!(count("Fiji", "", "v_mov_b32 v9, s20"), (10, 23, 2, 2, 0));
    // Registers that the hardware initialises at the start count, too.
    assert_eq!(
        count("Fiji", ".default_hsa_features\n.dims xyz", ""),
        (3, 13, 0, 1, 8)
    );
    assert_eq!(
        count("Fiji", ".default_hsa_features\n.dims xy, z\n.tgsize", ""),
        (3, 13, 0, 1, 8)
    );
    assert_eq!(
        count("Fiji", ".use_flat_scratch_init", "v_mov_b32 v0, s9"),
        (1, 16, 0, 1, 2)
    );
    assert_eq!(
        count("Fiji", "", "s_mov_b32 flat_scratch_lo, s0"),
        (1, 7, 0, 0, 0)
    );
    assert_eq!(count("Fiji", ".use_xnack_enabled", ""), (1, 4, 0, 0, 0));
    assert_eq!(
        count("Bonaire", ".use_flat_scratch_init", ""),
        (1, 6, 0, 0, 2)
    );
    assert_eq!(count("Tahiti", ".scratchbuffer 64", ""), (1, 3, 0, 0, 0));
    assert_eq!(
        count("GFX900", ".sgprsnum 40\n.vgprsnum 30", "v_mov_b32 v99, s50"),
        (30, 40, 7, 4, 0)
    );
    assert_eq!(count("GFX900", ".userdatanum 5", ""), (1, 7, 0, 0, 5));
}

/// Code belongs to the kernel whose label precedes it, or to those that .kcode names.
#[test]
fn code_of_several_kernels() {
    let source = "
.rocm
.gpu Fiji
.kernel a
.config
.kernel b
.config
.kernel c
.config
.text
a: .skip 256
   v_mov_b32 v1, 0
.kcode b, c
   v_mov_b32 v2, 0
   .kcode -b
   v_mov_b32 v30, 0
   .kcodeend
.kcodeend
b: .skip 256
   v_mov_b32 v4, 0
.kcode +
   v_mov_b32 v8, 0
.kcodeend
c: .skip 256
";
    let object = good(source);
    let vgprs = |name: &str| {
        let at = object
            .symbols
            .iter()
            .find(|s| s.name == name)
            .unwrap()
            .address as usize;
        let bytes = object.text()[at..at + 256].try_into().unwrap();
        KernelCode::from_bytes(bytes).named("workitem_vgpr_count")
    };
    assert_eq!([vgprs("a"), vgprs("b"), vgprs("c")], [9, 9, 31]);
}

#[test]
fn words_and_sizes() {
    let settings = ".dims xz
        .localsize 1000
        .exceptions 0x55
        .priority 3
        .privmode
        .debugmode
        .ieeemode
        .floatmode 0x3f
        .gds_segment_size 12
        .reserved_sgprs 10, 20
        .reserved_vgprs 5, 5
        .private_elem_size 16
        .group_segment_align 256
        .use_grid_workgroup_count xz
        .max_scratch_backing_memory 77
        .kernel_code_prefetch_offset -4
        .kernel_code_prefetch_size 64
        .debug_private_segment_buffer_sgpr 9
        .runtime_loader_kernel_symbol 0x123456789a";
    let code = code(&kernel("Hawaii", settings, ""));
    let rsrc1 = code.compute_pgm_rsrc1();
    assert_eq!(
        rsrc1 >> 10 & 0x3fff,
        3 | 0x3f << 2 | 1 << 10 | 1 << 12 | 1 << 13
    );
    // Ids x and z of the group, all of the work-item; 2 blocks of 512 bytes of LDS.
    let expected = 2 << 1 | 5 << 7 | 2 << 11 | 2 << 15 | 0x55 << 24;
    assert_eq!(code.compute_pgm_rsrc2(), expected);
    for (field, value) in [
        ("gds_segment_byte_size", 12),
        ("reserved_sgpr_first", 10),
        ("reserved_sgpr_count", 11),
        ("reserved_vgpr_first", 5),
        ("reserved_vgpr_count", 1),
        ("private_element_size", 3),
        ("group_segment_alignment", 8),
        ("enable_sgpr_grid_workgroup_count_x", 1),
        ("enable_sgpr_grid_workgroup_count_y", 0),
        ("enable_sgpr_grid_workgroup_count_z", 1),
        ("max_scratch_backing_memory_byte_size", 77),
        ("kernel_code_prefetch_byte_offset", -4i64 as u64),
        ("kernel_code_prefetch_byte_size", 64),
        ("debug_private_segment_buffer_sgpr", 9),
        ("runtime_loader_kernel_symbol", 0x12_3456_789a),
        ("workgroup_group_segment_byte_size", 1000),
        ("amd_machine_version_major", 7),
        ("amd_machine_version_stepping", 1),
    ] {
        assert_eq!(code.named(field), value, "{field}");
    }
}

/// The new format leaves LDS to the loader and counts versions from 1.1.
#[test]
fn formats() {
    let source = kernel("Fiji", ".localsize 1000", "");
    assert_eq!(code(&source).compute_pgm_rsrc2() >> 15, 2);
    assert_eq!(code(&source).named("amd_code_version_minor"), 0);
    let source = source.replace(".gpu", ".newbinfmt\n.arch_stepping 4\n.gpu");
    assert_eq!(code(&source).compute_pgm_rsrc2() >> 15, 0);
    assert_eq!(code(&source).named("amd_code_version_minor"), 1);
    assert_eq!(code(&source).named("amd_machine_version_stepping"), 4);
}

const FULL: &str = "
.rocm
.gpu Fiji
.arch_minor 0
.arch_stepping 4
.newbinfmt
.tripple \"amdgcn-amd-amdhsa-amdgizcl\"
.md_version 1, 0
.kernel add
    .config
        .dims x
        .use_kernarg_segment_ptr
        .use_ptr64
    .control_directive
        .fill 127, 1, 0x11
        .byte 0x22
    .config
        .md_language \"OpenCL\", 1, 2
        .cws 64, , 1
        .vectypehint \"float4\"
        .printf 5, 4, 8, \"a: %d %s\\n\"
        .arg n, \"uint\", 4, , value, u32
        .arg a, \"float*\", 8, , globalbuf, f32, global, default const volatile
        .arg img, \"image2d_t\", 8, 8, image, struct, read_only, rdonly
        .arg loc, \"int*\", 4, 4, dynshptr, i32, 16, local
        .arg , \"\", 8, , gox, i64
.globaldata
table: .int 1, 2, 3
.gotsym table, table_got
.text
add:
.skip 256
/*c0060003 00000000*/ s_load_dwordx2  s[0:1], s[6:7], 0x0; s_nop 0
    s_getpc_b64 s[2:3]
    s_add_u32 s2, s2, table_got-.
    s_endpgm
";

#[test]
fn metadata() {
    let object = good(FULL);
    let file = object.loadable().unwrap();
    let read = CodeObject::parse(&file).unwrap();
    assert_eq!(read.kernels.len(), 1);
    let text = read.metadata_text().unwrap().unwrap();
    expect![[r#"
        ---
        Version:         [ 1, 0 ]
        Printf:
          - '5:2:4:8:a\72 %d %s\n'
        Kernels:
          - Name:            'add'
            SymbolName:      'add@kd'
            Language:        'OpenCL'
            LanguageVersion: [ 1, 2 ]
            Attrs:
              ReqdWorkGroupSize: [ 64, 1, 1 ]
              VecTypeHint:     'float4'
            Args:
              - Name:            'n'
                TypeName:        'uint'
                Size:            4
                Align:           4
                ValueKind:       ByValue
                ValueType:       U32
              - Name:            'a'
                TypeName:        'float*'
                Size:            8
                Align:           8
                ValueKind:       GlobalBuffer
                ValueType:       F32
                AddrSpaceQual:   Global
                ActualAccQual:   Default
                IsConst:         true
                IsVolatile:      true
              - Name:            'img'
                TypeName:        'image2d_t'
                Size:            8
                Align:           8
                ValueKind:       Image
                ValueType:       Struct
                AccQual:         ReadOnly
                ActualAccQual:   ReadOnly
              - Name:            'loc'
                TypeName:        'int*'
                Size:            4
                Align:           4
                ValueKind:       DynamicSharedPointer
                ValueType:       I32
                PointeeAlign:    16
                AddrSpaceQual:   Local
              - Size:            8
                Align:           8
                ValueKind:       HiddenGlobalOffsetX
                ValueType:       I64
            CodeProps:
              KernargSegmentSize: 40
              GroupSegmentFixedSize: 0
              PrivateSegmentFixedSize: 0
              KernargSegmentAlign: 16
              WavefrontSize:   64
              NumSGPRs:        10
              NumVGPRs:        1
              MaxFlatWorkGroupSize: 256
        ...
    "#]]
    .assert_eq(text);
    let told = read.kernels[0].metadata.as_ref().unwrap();
    assert_eq!(told.args.len(), 5);
    assert_eq!(told.kernarg_segment_size, 40);
    assert_eq!(told.reqd_workgroup_size, Some([64, 1, 1]));
    let code = KernelCode::from_bytes(**read.kernels[0].kernel_code.as_ref().unwrap());
    assert_eq!(code.control_directives()[..2], [0x11, 0x11]);
    assert_eq!(code.control_directives()[127], 0x22);
    let name = read.note_of("AMD", 11).unwrap();
    assert_eq!(name, b"amdgcn-amd-amdhsa-amdgizcl-gfx803");
}

/// The text itself, as bytes.
#[test]
fn metadata_as_bytes() {
    let source = ".rocm\n.gpu Fiji\n.text\ns_endpgm\n.metadata\n.ascii \"---\\nVersion: [ 1, 0 ]\\n\"\n.ascii \"...\\n\"\n.text\ns_nop 0\n";
    let object = good(source);
    assert_eq!(object.text().len(), 8);
    let file = CodeObject::parse(&object.loadable().unwrap()).unwrap();
    assert_eq!(
        file.note_of("AMD", 10),
        Some(&b"---\nVersion: [ 1, 0 ]\n...\n"[..])
    );
    bad(
        ".rocm\n.gpu Fiji\n.metadata\n.long later\n.text\n.metadata\n.ascii \"- [\"\n",
        expect![[r#"
            error: the settings give no metadata: line 2 of the YAML: while parsing a node, did not find expected node content
             --> a.s:1:1
              |
            1 | .rocm
              | ^
            error: expected a number that is known here
             --> a.s:4:7
              |
            4 | .long later
              |       ^^^^^
        "#]],
    );
    // Metadata that would not be read are no metadata.
    bad(
        ".rocm\n.gpu Fiji\n.text\ns_endpgm\n.metadata\n.ascii \"text\"\n",
        expect![[r#"
            error: the settings give no metadata: the metadata: a mapping expected
             --> a.s:1:1
              |
            1 | .rocm
              | ^
        "#]],
    );
}

#[test]
fn flags_of_the_file() {
    let file = good(".rocm\n.gpu Fiji\n.eflags 2\n.text\ns_endpgm\n").loadable();
    assert_eq!(file.unwrap()[48..52], [2, 0, 0, 0]);
}

#[test]
fn other_formats() {
    bad(
        ".amdcl2\n.gallium\n.amd\n.kernel x\n.config\n.dims x\n",
        expect![[r#"
            error: this binary format, the Catalyst driver's OpenCL 2.0, is not written by gcn
             --> a.s:1:1
              |
            1 | .amdcl2
              | ^^^^^^^
              |
              = help: gcn writes .rocm (code object v2) for such kernels, and --raw writes their code alone
            error: another binary format was chosen before
             --> a.s:2:1
              |
            2 | .gallium
              | ^^^^^^^^
            error: another binary format was chosen before
             --> a.s:3:1
              |
            3 | .amd
              | ^^^^
        "#]],
    );
}

#[test]
fn refusals() {
    bad(
        ".rocm
.gpu Fiji
.config
.kernel k
.dims x
.config
.dims w
.sgprsnum 103
.vgprsnum 257
.userdatanum 17
.floatmode 256
.private_elem_size 3
.private_elem_size 32
.kernarg_segment_align 8
.wavefront_size 32
.reserved_sgprs 5, 4
.localsize
.dx10clamp 1
.cws
.text
k: .skip 8
",
        expect![[r#"
            error: expected .kernel before .config
             --> a.s:3:1
              |
            3 | .config
              | ^^^^^^^
            error: kernel 'k' has no room for its configuration
             --> a.s:4:9
              |
            4 | .kernel k
              |         ^
              |
              = help: `.skip 256` after its label makes it
            error: expected .config before .dims
             --> a.s:5:1
              |
            5 | .dims x
              | ^^^^^
              |
              = help: settings stand in a kernel's .config
            error: expected dimensions: some of x, y and z, such as xy
             --> a.s:7:7
              |
            7 | .dims w
              |       ^
            error: expected a number from 0 to 102
             --> a.s:8:11
              |
            8 | .sgprsnum 103
              |           ^^^
            error: expected a number from 0 to 256
             --> a.s:9:11
              |
            9 | .vgprsnum 257
              |           ^^^
            error: expected a number from 0 to 16
              --> a.s:10:14
               |
            10 | .userdatanum 17
               |              ^^
            error: expected a number that fits 8 bits
              --> a.s:11:12
               |
            11 | .floatmode 256
               |            ^^^
            error: expected a power of two from 2 to 16
              --> a.s:12:20
               |
            12 | .private_elem_size 3
               |                    ^
            error: expected a power of two from 2 to 16
              --> a.s:13:20
               |
            13 | .private_elem_size 32
               |                    ^^
            error: expected a power of two from 16 on
              --> a.s:14:24
               |
            14 | .kernarg_segment_align 8
               |                        ^
            error: expected 64
              --> a.s:15:17
               |
            15 | .wavefront_size 32
               |                 ^^
            error: expected the first register and then the last
              --> a.s:16:17
               |
            16 | .reserved_sgprs 5, 4
               |                 ^
            error: expected an expression, found the end of the statement
              --> a.s:17:11
               |
            17 | .localsize
               |           ^
            error: expected the end of the statement, found `1`
              --> a.s:18:12
               |
            18 | .dx10clamp 1
               |            ^
            error: expected one to three sizes
              --> a.s:19:5
               |
            19 | .cws
               |     ^
        "#]],
    );
}

#[test]
fn refusals_of_arguments_and_words() {
    bad(
        ".rocm
.gpu Fiji
.kernel k
.config
.arg x, \"int\", 4
.arg x, \"int\", 4, , value, i33
.arg x, \"int\", 4, , valu, i32
.arg x, \"int\", 4, 3, value, i32
.printf 1
.sgprsnumm 4
.kcode nobody
.kcodeend
.nosectdiffs
.text
k: .skip 8
",
        expect![[r#"
            error: kernel 'k' has no room for its configuration
             --> a.s:3:9
              |
            3 | .kernel k
              |         ^
              |
              = help: `.skip 256` after its label makes it
            error: expected `,`, found the end of the statement
             --> a.s:5:17
              |
            5 | .arg x, "int", 4
              |                 ^
            error: expected a type of value, found `i33`
             --> a.s:6:28
              |
            6 | .arg x, "int", 4, , value, i33
              |                            ^^^
              |
              = help: did you mean `i32`?
            error: expected a kind of value, found `valu`
             --> a.s:7:21
              |
            7 | .arg x, "int", 4, , valu, i32
              |                     ^^^^
              |
              = help: did you mean `value`?
            error: expected an alignment that is a power of two
             --> a.s:8:19
              |
            8 | .arg x, "int", 4, 3, value, i32
              |                   ^
            error: expected an expression, found the end of the statement
             --> a.s:9:10
              |
            9 | .printf 1
              |          ^
            error: there is no directive `.sgprsnumm`
              --> a.s:10:1
               |
            10 | .sgprsnumm 4
               | ^^^^^^^^^^
               |
               = help: did you mean `.sgprsnum`?
            error: expected a kernel that .kernel named before
              --> a.s:11:8
               |
            11 | .kcode nobody
               |        ^^^^^^
            error: expected .kcode before .kcodeend
              --> a.s:12:1
               |
            12 | .kcodeend
               | ^^^^^^^^^
            error: .nosectdiffs is not what gcn does: sections are placed by the linker
              --> a.s:13:1
               |
            13 | .nosectdiffs
               | ^^^^^^^^^^^^
               |
               = help: distances between sections (SYMBOL - .) are resolved
        "#]],
    );
}

#[test]
fn refusals_of_kernels() {
    bad(
        ".rocm\n.gpu Fiji\n.kernel k\n.kernel m\n.config\n.control_directive\n.byte 1\n.text\nm: .skip 8\n",
        expect![[r#"
            error: kernel 'k' has no label in .text
             --> a.s:3:9
              |
            3 | .kernel k
              |         ^
            error: expected 128 bytes of .control_directive, found 1
             --> a.s:4:9
              |
            4 | .kernel m
              |         ^
            error: kernel 'm' has no room for its configuration
             --> a.s:4:9
              |
            4 | .kernel m
              |         ^
              |
              = help: `.skip 256` after its label makes it
        "#]],
    );
}

/// The output of `gcn dis --syntax clrx` if a constant's code stands for the register of a carry, in both syntaxes.
#[test]
fn constants_in_place_of_carries() {
    let target = gcn_isa::Target::parse("gfx803").expect("a target");
    for (clrx, llvm, code) in [
        ("0.15915494", "0.15915494309189532", 248u64),
        ("0.5", "0.5", 240),
        ("-4.0", "-4.0", 247),
        ("17", "17", 145),
        ("-16", "-16", 208),
    ] {
        let of = |name: &str, carry: &str, syntax| {
            gcn_asm::snippet(target, &format!("{name} v0, s0, s0, {carry}"), syntax, true)
        };
        let words = (0xd100_0000 | code << 50).to_le_bytes().to_vec();
        let read = of("v_cndmask_b32", clrx, gcn_asm::Syntax::Clrx);
        assert_eq!(read.as_ref(), Ok(&words), "{clrx}");
        assert_eq!(
            of("v_cndmask_b32_e64", llvm, gcn_asm::Syntax::Llvm),
            Ok(words)
        );
    }
}
