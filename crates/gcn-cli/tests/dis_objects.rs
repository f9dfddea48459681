//! Whole code objects are disassembled and assembled again.

mod common;

use std::path::Path;
use std::process::Command;

use common::{gcn, kernel, with_input};
use gcn::object::CodeObject;

/// A file's source, and the file assembled from it.
fn there_and_back(file: &[u8], options: &[&str]) -> (String, Vec<u8>) {
    let mut args = vec!["dis", "-"];
    args.extend(options);
    let source = with_input(&args, file);
    assert_eq!((source.status, source.stderr.as_str()), (0, ""));
    let relocatable = file.get(16) == Some(&1);
    let args: &[&str] = match relocatable {
        true => &["asm", "-c", "-", "-o", "-"],
        false => &["asm", "-", "-o", "-"],
    };
    let again = with_input(args, &source.stdout);
    let text = source.text();
    assert_eq!((again.status, again.stderr.as_str()), (0, ""), "{text}");
    (text, again.stdout)
}

/// The file is reproduced byte for byte, in both syntaxes.
fn whole(file: &[u8], what: &str) -> String {
    let mut first = String::new();
    for syntax in ["clrx", "llvm"] {
        let (text, again) = there_and_back(file, &["--syntax", syntax]);
        if again != file {
            let [a, b] = [file, &again].map(|f| CodeObject::parse(f).expect("a code object"));
            for (n, section) in a.sections.iter().enumerate() {
                let other = b.section(&section.name);
                let data = other.map(|m| b.section_data(m));
                assert_eq!(
                    data,
                    Some(a.section_data(n)),
                    "{what}: {}\n{text}",
                    section.name
                );
            }
            assert_eq!(a.symbols, b.symbols, "{what}\n{text}");
            panic!("{what}: the file differs\n{text}");
        }
        first = text;
    }
    first
}

fn asm(args: &[&str], source: &str) -> Vec<u8> {
    let mut all = vec!["asm", "-", "-o", "-"];
    all.extend(args);
    let made = with_input(&all, source.as_bytes());
    assert_eq!((made.status, made.stderr.as_str()), (0, ""), "{source}");
    made.stdout
}

#[test]
fn compiled_kernels_come_back_whole() {
    for name in ["vadd", "mandelbrot", "matmul", "reduce"] {
        for arch in ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"] {
            let path = kernel(name, arch);
            whole(&std::fs::read(&path).expect("a code object"), &path);
        }
    }
}

/// Every kind of symbol, section and reference that source can have.
const RICH: &str = r#"
.amdgcn_target "amdgcn-amd-amdhsa--gfx906:xnack-"
.globl elsewhere
.weak perhaps
.text
.p2align 8
helper:
  s_setpc_b64 s[30:31]
  s_nop 0
.hidden inner
.globl inner
.type inner,@function
inner:
inner_too:
  s_cbranch_scc1 inner
  v_mov_b32 v0, 0x12345
  s_branch 1f
1: s_endpgm
.size inner, .-inner
.globl f
.p2align 8
.type f,@function
f:
  s_getpc_b64 s[0:1]
  s_add_u32 s0, s0, table@rel32@lo+12
  s_addc_u32 s1, s1, table@rel32@hi+20
  s_getpc_b64 s[2:3]
  s_add_u32 s2, s2, visible@gotpcrel32@lo+4
  s_addc_u32 s3, s3, visible@gotpcrel32@hi+12
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, helper@rel32@lo+4
  s_addc_u32 s5, s5, helper@rel32@hi+12
  s_endpgm
.Lend:
.size f, .Lend-f
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel f
  .amdhsa_next_free_vgpr 3
  .amdhsa_next_free_sgpr 12
  .amdhsa_kernarg_size 24
.end_amdhsa_kernel
.type table,@object
table:
  .long 1, 2, 3, 4
  .asciz "a text of \"some\" length\n"
  .byte 1, 2, 3
  .quad helper-.
.size table, 16
.section .strange,"a",@progbits
odd: .byte 7
.section .names,"aMS",@progbits,1
.asciz "one"
.asciz "two"
.section .data.rel.ro,"aw",@progbits
.p2align 3
.quad f, table+8, visible+4
.data
.globl visible
.type visible,@object
visible: .long 5
.p2align 3
  .quad inner
.protected limit
.globl limit
.set limit, 0x1234
.set nothing, 7
.bss
.p2align 4
.globl zeros
.type zeros,@object
zeros: .zero 100
.size zeros, 100
.local last
last: .zero 28
.comm shared, 24, 3
.section .comment,"MS",@progbits,1
.asciz "made by hand"
.section .debug_what,"",@progbits
.long 1
.quad 0x123456789abcdef0
.ascii "no end"
"#;

#[test]
fn symbols_sections_and_references_come_back() {
    let loadable = asm(&[], RICH);
    let text = whole(&loadable, "loadable");
    for part in [
        ".L",
        "visible@gotpcrel32@lo+4",
        "helper@rel32@hi+12",
        ".hidden inner",
        ".weak perhaps",
        ".globl elsewhere",
        ".set limit, 0x1234",
        ".amdhsa_kernel f",
        ".p2align 8",
        ".asciz \"a text of \\\"some\\\" length\\n\"",
        ".section .names,\"aMS\",@progbits,1",
    ] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    // No section gets an explicit address if the linker would choose the same.
    assert!(!text.contains(".gcn_section_at"), "{text}");
    let relocatable = asm(&["-c"], RICH);
    let text = whole(&relocatable, "relocatable");
    assert!(text.contains("table@rel32@lo+12"), "{text}");
    assert!(text.contains(".comm shared, 24, 3"), "{text}");
    let (text, _) = there_and_back(&loadable, &["--loaded-only"]);
    assert!(!text.contains(".debug_what,"), "{text}");
    assert!(text.contains("// Left out: .comment .debug_what"), "{text}");
}

#[test]
fn sections_elsewhere_stay_there() {
    let source = "\
.amdgcn_target \"amdgcn-amd-amdhsa--gfx803\"
.gcn_section_at .text, 0x10000
.gcn_section_at .data, 0x40000
.globl f
f: s_getpc_b64 s[0:1]
s_add_u32 s0, s0, d@rel32@lo+4
s_addc_u32 s1, s1, d@rel32@hi+12
.data
d: .long 1
";
    let text = whole(&asm(&[], source), "placed");
    assert!(text.contains(".gcn_section_at .text, 0x10000"), "{text}");
    assert!(text.contains(".gcn_section_at .data, 0x40000"), "{text}");
    assert!(!text.contains(".gcn_section_at .rodata"), "{text}");
}

/// Labels where no instruction begins, and symbols outside their section.
#[test]
fn labels_in_odd_places() {
    let source = "\
.amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"
.globl f
f: v_mov_b32 v0, 0x12345
.set middle, f+4
.globl middle
.set behind, f+6
.globl behind
s_branch middle
s_endpgm
.section .rodata,\"a\",@progbits
data: .quad 1
.set inside, data+3
.globl inside
";
    let text = whole(&asm(&[], source), "odd");
    assert!(text.contains("middle:\n\t.long 0x00012345"), "{text}");
    assert!(text.contains(".set behind, .Lstart"), "{text}");
    whole(&asm(&["-c"], source), "odd, relocatable");
}

#[test]
fn older_objects_come_back() {
    let code = "\
f:
.amd_kernel_code_t
  wavefront_sgpr_count = 8
  workitem_vgpr_count = 4
  enable_sgpr_kernarg_segment_ptr = 1
.end_amd_kernel_code_t
s_load_dword s0, s[0:1], 0x0
1: s_cbranch_scc0 1b
s_endpgm
.Lend:
.size f, .Lend-f
";
    let hsa = format!(
        "\
.hsa_code_object_version 2,1
.hsa_code_object_isa 8,0,3,\"AMD\",\"AMDGPU\"
.amdgcn_target \"amdgcn-amd-amdhsa--gfx803\"
.amd_amdgpu_isa \"amdgcn-amd-amdhsa--gfx803\"
.text
.globl f
.p2align 8
.amdgpu_hsa_kernel f
{code}.amd_amdgpu_hsa_metadata
---
Version: [ 1, 0 ]
Kernels:
  - Name: f
    SymbolName: 'f@kd'
    Language: OpenCL C
...
.end_amd_amdgpu_hsa_metadata
"
    );
    let mesa = format!(
        "\
.amdgcn_target \"amdgcn-mesa-mesa3d--gfx803\"
.text
.globl f
.p2align 8
.amdgpu_hsa_kernel f
{code}.section .AMDGPU.config,\"\",@progbits
.long 47176, 11272256, 47180, 132
.amd_amdgpu_isa \"amdgcn-mesa-mesa3d--gfx803\"
"
    );
    for (name, source) in [("HSA", &hsa), ("Mesa", &mesa)] {
        for args in [&[][..], &["-c"]] {
            let text = whole(&asm(args, source), name);
            assert!(text.contains(".amd_kernel_code_t\n"), "{text}");
            assert!(text.contains("wavefront_sgpr_count = 8\n"), "{text}");
            assert!(text.contains(".amdgpu_hsa_kernel f\n"), "{text}");
            assert!(text.contains(".amd_amdgpu_isa"), "{text}");
        }
    }
    let text = whole(&asm(&[], &hsa), "HSA");
    assert!(text.contains(".hsa_code_object_version 2,1\n"), "{text}");
    assert!(text.contains(".amd_amdgpu_hsa_metadata\n---\n"), "{text}");
}

#[test]
fn versions_and_features_are_kept() {
    for (version, id) in [
        (2, "gfx803"),
        (2, "gfx900+xnack"),
        (3, "gfx900"),
        (3, "gfx906+xnack+sram-ecc"),
        (3, "gfx803"),
        (4, "gfx906:sramecc-:xnack+"),
        (4, "gfx900"),
        (5, "gfx900:xnack-"),
        (5, "gfx701"),
        (6, "gfx906:sramecc+:xnack-"),
        (6, "gfx803"),
        (6, "gfx9-generic"),
        (6, "gfx9-generic:xnack+"),
    ] {
        let source = format!(
            ".amdhsa_code_object_version {version}\n.amdgcn_target \"amdgcn-amd-amdhsa--{id}\"\ns_endpgm\n"
        );
        for args in [&[][..], &["-c"]] {
            whole(&asm(args, &source), &format!("v{version} {id}"));
        }
    }
}

#[test]
fn one_kernel_alone() {
    let path = kernel("reduce", "gfx900");
    let one = gcn(&["dis", &path, "--kernel", "minmax_argmax"]);
    assert_eq!(one.status, 0, "{}", one.stderr);
    let text = one.text();
    assert!(!text.contains("reduce_sum"), "{text}");
    let object = CodeObject::parse(&asm(&[], &text)).expect("a code object");
    let file = std::fs::read(&path).expect("a file");
    let whole = CodeObject::parse(&file).expect("a code object");
    let (a, b) = (&object.kernels[0], whole.kernel("minmax_argmax"));
    let b = b.expect("the kernel");
    assert_eq!((object.kernels.len(), &a.name), (1, &b.name));
    assert_eq!(a.metadata, b.metadata);
    let code = |object: &CodeObject, entry| object.read(entry, 316).map(<[u8]>::to_vec);
    assert_eq!(code(&object, a.entry), code(&whole, b.entry));
    // A symbol, and a name that is none.
    let loadable = asm(&[], RICH);
    let table = with_input(&["dis", "-", "--symbol", "table"], &loadable);
    assert!(
        table
            .text()
            .contains("table:\n\t.size table, 16\n\t.quad 0x200000001, 0x400000003\n"),
        "{}",
        table.text()
    );
    asm(&["-c"], &table.text());
    let f = with_input(&["dis", "-", "--kernel", "f"], &loadable);
    assert!(f.text().contains(".globl table\n"), "{}", f.text());
    asm(&["-c"], &f.text());
    let none = gcn(&["dis", &path, "--kernel", "reduce"]);
    assert_eq!(none.status, 1);
    assert!(
        none.stderr
            .contains("no symbol `reduce`; there are reduce_sum"),
        "{}",
        none.stderr
    );
}

/// The data that a kernel references moves when its code grows.
#[test]
fn an_edited_kernel_reaches_its_data() {
    let (text, _) = there_and_back(&asm(&[], RICH), &[]);
    let edited = text.replacen("\ts_setpc_b64", "\ts_nop 1\n\ts_nop 2\n\ts_setpc_b64", 1);
    assert_ne!(edited, text);
    let object = CodeObject::parse(&asm(&[], &edited)).expect("a code object");
    let f = object
        .kernels
        .iter()
        .find(|k| k.name == "f")
        .expect("the kernel");
    let code = object.read(f.entry, 20).expect("its code");
    let low = i32::from_le_bytes([code[8], code[9], code[10], code[11]]);
    let table = object
        .symbols
        .iter()
        .find(|s| s.name == "table")
        .expect("the table");
    assert_eq!(
        f.entry.wrapping_add_signed(4 + low as i64),
        table.address + 8
    );
}

#[test]
fn source_lines_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("lines.s");
    std::fs::write(
        &source,
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\nf:\n  s_nop 1\n\n  s_endpgm // the end\n",
    )
    .expect("a file");
    let path = source.to_str().expect("UTF-8");
    for args in [&[][..], &["-c"]] {
        let mut all = vec!["asm", "-g", path, "-o", "-"];
        all.extend(args);
        let object = gcn(&all);
        assert_eq!(object.status, 0, "{}", object.stderr);
        let text = with_input(&["dis", "-", "-l"], &object.stdout).text();
        assert!(text.contains("lines.s:3\n\ts_nop 1\n"), "{text}");
        let text = with_input(&["dis", "-", "-S"], &object.stdout).text();
        assert!(
            text.contains("lines.s:5\n\t//   s_endpgm // the end\n\ts_endpgm"),
            "{text}"
        );
        let (_, again) = there_and_back(&object.stdout, &["--lines"]);
        assert_eq!(again, object.stdout);
    }
    let none = gcn(&["dis", "--lines", &kernel("vadd", "gfx900")]);
    assert_eq!(none.status, 1);
    assert!(none.stderr.contains(".debug_line"), "{}", none.stderr);
}

#[test]
fn control_flow_graphs() {
    let path = kernel("matmul", "gfx906");
    let object = CodeObject::parse(&std::fs::read(&path).expect("a file")).expect("an object");
    let name = object.kernels[0].name.clone();
    let dot = gcn(&["dis", &path, "--kernel", &name, "--cfg"]).text();
    assert!(
        dot.starts_with(&format!("digraph \"{name}\" {{\n")),
        "{dot}"
    );
    assert!(dot.trim_end().ends_with('}'), "{dot}");
    let json = gcn(&["dis", &path, "--kernel", &name, "--cfg", "--json"]).text();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let blocks = json["blocks"].as_array().expect("blocks");
    assert!(blocks.len() > 2);
    assert_eq!(blocks[0]["start"], object.kernels[0].entry);
    let starts: Vec<_> = blocks.iter().map(|b| &b["start"]).collect();
    for block in blocks {
        for edge in block["edges"].as_array().expect("edges") {
            assert!(starts.contains(&&edge["to"]), "{edge}");
        }
    }
    // Graphviz accepts it.
    match Command::new("dot").arg("-V").output() {
        Ok(_) => {
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("g.dot");
            std::fs::write(&file, &dot).expect("a file");
            let ran = Command::new("dot")
                .arg("-Tsvg")
                .arg(&file)
                .output()
                .expect("dot runs");
            assert!(ran.status.success());
        }
        Err(_) => eprintln!("SKIPPED: dot is not installed"),
    }
    // The only kernel need not be named; if there are several, one must be.
    assert_eq!(gcn(&["dis", &path, "--cfg"]).text(), dot);
    let several = gcn(&["dis", &kernel("reduce", "gfx906"), "--cfg"]);
    assert_eq!(several.status, 2, "{}", several.stderr);
    assert!(several.stderr.contains("--kernel names one of"));
}

#[test]
fn entries_of_bundles_are_chosen() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("fat.hipfb");
    let out = out.to_str().expect("UTF-8");
    let [a, b] = ["gfx803", "gfx906"].map(|arch| kernel("vadd", arch));
    let entries = [
        format!("hipv4-amdgcn-amd-amdhsa--gfx803={a}"),
        format!("hipv4-amdgcn-amd-amdhsa--gfx906:xnack-={b}"),
    ];
    let made = gcn(&["bundle", "create", "-o", out, &entries[0], &entries[1]]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    for args in [
        &["--target", "gfx906"][..],
        &["--arch", "gfx906"],
        &["--target", "gfx906:xnack-"],
    ] {
        let mut all = vec!["dis", out];
        all.extend(args);
        let ran = gcn(&all);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_eq!(ran.text(), gcn(&["dis", &b]).text());
    }
    let ran = gcn(&["dis", out]);
    assert_eq!(ran.status, 1);
    for part in ["gfx803", "gfx906:xnack-", "chosen"] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
    let all = gcn(&["info", out, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&all.text()).expect("JSON");
    let processors: Vec<_> = (json["entries"].as_array().expect("entries").iter())
        .map(|e| e["processor"].as_str().expect("a name"))
        .collect();
    assert_eq!(processors, ["gfx803", "gfx906"]);
}

/// Damaged files cause a message or give source, never a panic.
#[test]
fn damaged_objects_are_survived() {
    let mut files = vec![asm(&[], RICH), asm(&["-c"], RICH)];
    files.push(std::fs::read(kernel("reduce", "gfx900")).expect("a file"));
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 16
    };
    let style = gcn::isa::print::Style::LLVM;
    let mut read = 0;
    for file in files {
        let headers = file.len() - file.len().min(4000);
        for n in 0..400 {
            let mut bytes = file.clone();
            for _ in 0..1 + next() % 4 {
                // The headers of sections at the end, and everything else.
                let at = match n % 2 {
                    0 => headers + next() as usize % (file.len() - headers),
                    _ => next() as usize % file.len(),
                };
                bytes[at] = match next() % 4 {
                    0 => 0xff,
                    1 => 0,
                    _ => next() as u8,
                };
            }
            let Ok(object) = CodeObject::parse(&bytes) else {
                continue;
            };
            read += 1;
            let options = gcn::dis::Options {
                loaded_only: n % 3 == 0,
                ..gcn::dis::Options::new(style)
            };
            let mut out = Vec::new();
            let _ = gcn::dis::object(&object, &options, &mut out);
            let _ = gcn::lines::Lines::read(&object, false);
            let names = object.symbols.iter().take(8).map(|s| s.name.clone());
            for name in names.collect::<Vec<_>>() {
                let _ = gcn::dis::symbol(&object, &name, &options, &mut Vec::new());
                let _ = gcn::dot::graph(&object, &name, style);
            }
            if let Ok(info) = gcn::info::Info::new(&object) {
                let _ = (info.text(), info.json());
            }
        }
    }
    assert!(read > 200, "{read} were read");
}

/// Objects of clang and lld, with functions, tables and debugging information.
#[test]
fn objects_of_clang_and_lld_come_back() {
    let tools = ["clang-14", "ld.lld-14"];
    if tools
        .iter()
        .any(|tool| Command::new(tool).arg("--version").output().is_err())
    {
        eprintln!("SKIPPED: clang-14 or ld.lld-14 is not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("code.cl");
    std::fs::write(
        &source,
        "__constant int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
         __global int counter = 5;
         __constant int *__constant ways[2] = {table, table + 3};
         static __attribute__((noinline)) int helper(int x) { return x * 3 + table[x & 7]; }
         __attribute__((noinline)) int seen(int x) { return helper(x) + counter; }
         kernel void k(__global int *o, int n) { o[n] = seen(n) + *ways[n & 1]; }",
    )
    .expect("a file");
    let run = |tool: &str, args: &[&str], files: &[&Path]| {
        let done = Command::new(tool)
            .args(args)
            .args(files)
            .output()
            .expect("it runs");
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
    };
    for (visibility, version, arch) in [
        ("default", "4", "gfx900"),
        ("hidden", "4", "gfx906"),
        ("protected", "3", "gfx803"),
        ("default", "2", "gfx803"),
    ] {
        let (object, linked) = (folder.path().join("a.o"), folder.path().join("a.co"));
        let visibility = format!("-fvisibility={visibility}");
        let version = format!("-mcode-object-version={version}");
        let args = [
            "-x",
            "cl",
            "-cl-std=CL2.0",
            "-target",
            "amdgcn-amd-amdhsa",
            "-nogpulib",
            "-g",
            "-O1",
            "-c",
        ];
        let mut args = args.to_vec();
        let mcpu = format!("-mcpu={arch}");
        args.extend([visibility.as_str(), &version, &mcpu, "-o"]);
        run("clang-14", &args, &[&object, &source]);
        run("ld.lld-14", &["-shared", "-o"], &[&linked, &object]);
        let linked_bytes = std::fs::read(&linked).expect("a file");
        let text = whole(&linked_bytes, &format!("{visibility} {version}"));
        assert!(text.contains("@rel32@lo+4"), "{text}");
        let bytes = std::fs::read(&object).expect("a file");
        let (text, again) = there_and_back(&bytes, &[]);
        let [a, b] = [&bytes, &again].map(|f| CodeObject::parse(f).expect("a code object"));
        for (n, section) in a.sections.iter().enumerate() {
            // Tables of names and symbols may have another order, which the linker ignores.
            if section.name.starts_with(".rela")
                || [".symtab", ".strtab"].contains(&section.name.as_str())
            {
                continue;
            }
            let same = b.section(&section.name).map(|m| b.section_data(m));
            assert_eq!(same, Some(a.section_data(n)), "{}\n{text}", section.name);
        }
        // Linked again, it gives the same file.
        std::fs::write(&object, &again).expect("a file");
        run("ld.lld-14", &["-shared", "-o"], &[&linked, &object]);
        let linked_again = std::fs::read(&linked).expect("a file");
        let [a, b] =
            [&linked_bytes, &linked_again].map(|f| CodeObject::parse(f).expect("a code object"));
        for name in [
            ".text",
            ".rodata",
            ".data",
            ".note",
            ".rela.dyn",
            ".dynsym",
            ".debug_info",
            ".debug_line",
        ] {
            let data = |o: &CodeObject| o.section(name).map(|n| o.section_data(n).to_vec());
            assert_eq!(data(&a), data(&b), "{name}");
        }
    }
}

/// The source of compiled objects is also LLVM's assembly.
#[test]
fn llvm_takes_the_source_of_compiled_kernels() {
    for name in ["vadd", "mandelbrot", "matmul", "reduce"] {
        for arch in ["gfx803", "gfx900", "gfx906"] {
            let path = kernel(name, arch);
            let source = gcn(&["dis", &path]);
            assert!(!source.text().contains(".gcn_"), "{}", source.text());
            let folder = tempfile::tempdir().expect("a folder");
            let (text, object) = (folder.path().join("a.s"), folder.path().join("a.o"));
            std::fs::write(&text, &source.stdout).expect("a file");
            let ran = Command::new("llvm-mc-14")
                .args(["-triple=amdgcn-amd-amdhsa", "-filetype=obj"])
                .arg(format!("-mcpu={arch}"))
                .arg(&text)
                .arg("-o")
                .arg(&object)
                .output();
            let Ok(ran) = ran else {
                eprintln!("SKIPPED: llvm-mc-14 is not installed");
                continue;
            };
            let stderr = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success(), "{path}: {stderr}");
            let theirs = CodeObject::parse(&std::fs::read(object).expect("a file"));
            let ours = CodeObject::parse(&asm(&["-c"], &source.text()));
            let code = |object: &CodeObject| {
                let text = object.section(".text").expect("code");
                object.section_data(text).to_vec()
            };
            assert!(
                code(&theirs.expect("an object")) == code(&ours.expect("an object")),
                "{path}"
            );
        }
    }
}

/// The source of code that breaks operand rules contains a directive about it, and other source does not.
#[test]
fn broken_rules_are_allowed_where_they_are() {
    let sound = ".arch gfx900\nv_add_f32 v0, s0, v1\ns_mov_b64 s[0:1], s[2:3]\ns_endpgm\n";
    let (text, _) = there_and_back(&asm(&[], sound), &[]);
    assert!(!text.contains(".gcn_permissive"), "{text}");
    for broken in [
        "v_add_f32_e64 v0, s0, s1",
        "s_mov_b64 s[1:2], s[2:3]",
        "v_addc_co_u32_e32 v0, vcc, s0, v1, vcc",
        "v_cndmask_b32_e32 v0, s0, v1, vcc",
    ] {
        let object = asm(&[], &format!("{sound}.gcn_permissive\n{broken}\n"));
        let (text, again) = there_and_back(&object, &[]);
        assert!(text.contains(".gcn_permissive"), "{broken}\n{text}");
        assert!(again == object, "{broken}");
    }
}

/// A C++ function is found by its name alone, if only one function has it.
#[test]
fn functions_by_their_own_names() {
    let labels = [
        "_Z6squarePfPKfi",
        "_ZN2ns4cubeEf",
        "_Z3addi",
        "_Z3addf",
        "plain",
    ];
    let source: String = labels
        .iter()
        .map(|name| format!(".globl {name}\n{name}: s_endpgm\n"))
        .collect();
    let object = CodeObject::parse(&asm(&[], &format!(".arch gfx900\n{source}"))).expect("ours");
    let found = |name: &str| gcn::dis::symbol_named(&object, name);
    assert_eq!(found("square"), Ok("_Z6squarePfPKfi"));
    assert_eq!(found("cube"), Ok("_ZN2ns4cubeEf"));
    assert_eq!(found("plain"), Ok("plain"));
    assert_eq!(found("_Z3addi"), Ok("_Z3addi"));
    let both = "there is no symbol `add`; there are _Z3addf, _Z3addi";
    let message = found("add").expect_err("two of them");
    assert!(
        message == both || message == both.replace("f, _Z3addi", "i, _Z3addf"),
        "{message}"
    );
    assert_eq!(found("cub_"), Err("there is no symbol `cub_`".into()));
}

/// Flags other than the target's, as CLRX's `.eflags` sets them, and the notes that then name the target.
#[test]
fn odd_flags_come_back() {
    let source = ".rocm\n.gpu Fiji\n.eflags 2\n.kernel k\n.config\n.dims x\n.sgprsnum 8\n\
                  .vgprsnum 4\n.text\nk:\n.skip 256\ns_endpgm\n";
    let object = asm(&[], source);
    let (text, again) = there_and_back(&object, &[]);
    assert!(text.contains(".gcn_flags 0x2\n"), "{text}");
    assert!(again == object, "{text}");
    let object = CodeObject::parse(&object).expect("ours");
    assert_eq!((object.target_name(), object.flags), ("gfx803", 2));
    // The loader and the packet processor require kernels at multiples of 256 bytes.
    assert_eq!(object.kernels[0].entry % 256, 0);
}
