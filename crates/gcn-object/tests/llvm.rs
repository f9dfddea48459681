//! Compares with LLVM 14's tools. Each test is skipped, with a message, if a tool is missing.

use gcn_object::write::Section;
use gcn_object::{
    Builder, CodeObject, KernelBuilder, SectionFlags, SectionKind, directives, metadata,
};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A directory for this test, and the tools.
struct Llvm {
    dir: PathBuf,
}

impl Llvm {
    fn new(test: &str) -> Option<Llvm> {
        for tool in [
            "llvm-mc-14",
            "ld.lld-14",
            "llvm-readelf-14",
            "llvm-objdump-14",
        ] {
            let found = Command::new(tool)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            if !found.is_ok_and(|s| s.success()) {
                eprintln!("SKIPPED {test}: {tool} is not installed");
                return None;
            }
        }
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
        std::fs::create_dir_all(&dir).unwrap();
        Some(Llvm { dir })
    }

    fn run(&self, tool: &str, args: &[&str]) -> String {
        let out = Command::new(tool)
            .args(args)
            .current_dir(&self.dir)
            .output()
            .unwrap();
        let (stdout, stderr) = (
            String::from_utf8_lossy(&out.stdout),
            String::from_utf8_lossy(&out.stderr),
        );
        assert!(out.status.success(), "{tool} {args:?}: {stderr}");
        assert!(!stderr.contains("warning"), "{tool} {args:?}: {stderr}");
        stdout.into_owned()
    }

    fn assemble(&self, source: &str, arch: &str, version: u8, name: &str) -> Vec<u8> {
        std::fs::write(self.dir.join("in.s"), source).unwrap();
        let (processor, xnack) = arch.split_once(':').unwrap_or((arch, ""));
        let attribute = match xnack {
            "xnack-" => "-mattr=-xnack",
            "xnack+" => "-mattr=+xnack",
            _ => "-mattr=",
        };
        let (version, cpu) = (
            format!("--amdhsa-code-object-version={version}"),
            format!("-mcpu={processor}"),
        );
        let args = [
            "-triple",
            "amdgcn-amd-amdhsa",
            &cpu,
            attribute,
            &version,
            "-filetype=obj",
            "in.s",
            "-o",
            name,
        ];
        self.run("llvm-mc-14", &args);
        std::fs::read(self.dir.join(name)).unwrap()
    }

    fn link(&self, from: &str, to: &str) -> Vec<u8> {
        self.run("ld.lld-14", &["-shared", from, "-o", to]);
        std::fs::read(self.dir.join(to)).unwrap()
    }

    /// Checks that both tools read the file without a warning.
    fn check(&self, name: &str) {
        let report = self.run("llvm-readelf-14", &["-a", name]);
        assert!(
            !report.contains("invalid") && !report.contains("unable"),
            "{report}"
        );
        self.run("llvm-objdump-14", &["-h", "-t", name]);
    }
}

/// Returns a builder of the object, with lld's `.comment` in place of the object's, so that whole files can be equal.
fn builder_like_lld(object: &CodeObject, linked: &CodeObject) -> Builder {
    let mut builder = Builder::from_relocatable(object).unwrap();
    let comment = linked
        .section(".comment")
        .map(|i| linked.section_data(i).to_vec())
        .unwrap_or_default();
    match object
        .sections
        .iter()
        .filter(|s| {
            ![SectionKind::SYMTAB, SectionKind::STRTAB, SectionKind::RELA].contains(&s.kind)
        })
        .position(|s| s.name == ".comment")
    {
        Some(i) => {
            let section = builder.section_mut(i).unwrap();
            section.size = comment.len() as u64;
            section.data = comment.into();
        }
        None => {
            let mut section = Section::new(".comment", SectionFlags(0x30), 1, comment);
            section.entry_size = 1;
            builder.section(section);
        }
    }
    builder
}

/// Links an object with lld and with the crate, as `lld.co` and `ours.co`; the files must be equal.
fn linked_like_lld(llvm: &Llvm, name: &str, object: &[u8]) -> (CodeObject, CodeObject) {
    std::fs::write(llvm.dir.join("a.o"), object).unwrap();
    let expected = llvm.link("a.o", "lld.co");
    let object = CodeObject::parse(object).unwrap();
    let linked = CodeObject::parse(&expected).unwrap();
    let ours = builder_like_lld(&object, &linked).loadable().unwrap();
    std::fs::write(llvm.dir.join("ours.co"), &ours).unwrap();
    if ours != expected {
        let diff = |file| llvm.run("llvm-readelf-14", &["-a", file]);
        let (left, right) = (diff("ours.co"), diff("lld.co"));
        let lines = left
            .lines()
            .zip(right.lines())
            .filter(|(a, b)| a != b)
            .map(|(a, b)| format!("ours: {a}\nlld:  {b}"));
        panic!(
            "{name}: the linked files differ\n{}",
            lines.collect::<Vec<_>>().join("\n")
        );
    }
    (object, linked)
}

/// Like [`linked_like_lld`]; LLVM's tools must also read the file. Then writes the object again and links that with
/// lld.
fn same_as_lld(llvm: &Llvm, name: &str, object: &[u8]) {
    let (object, linked) = linked_like_lld(llvm, name, object);
    llvm.check("ours.co");
    // LLVM has no disassembler for gfx6 and gfx7.
    if object.target.machine.generation >= 8 {
        llvm.run("llvm-objdump-14", &["-d", "ours.co"]);
    }

    let again = Builder::from_relocatable(&object)
        .unwrap()
        .relocatable()
        .unwrap();
    std::fs::write(llvm.dir.join("again.o"), &again).unwrap();
    llvm.check("again.o");
    let linked_again = CodeObject::parse(&llvm.link("again.o", "again.co")).unwrap();
    for (i, segment) in linked.segments.iter().enumerate() {
        assert_eq!(segment, &linked_again.segments[i], "{name}");
        // The file header holds the offset of the section headers.
        let skip = if i == 0 { 64 } else { 0 };
        assert_eq!(
            linked.segment_data(i)[skip..],
            linked_again.segment_data(i)[skip..],
            "{name}"
        );
    }
    assert_eq!(linked.kernels, linked_again.kernels, "{name}");
    assert_eq!(linked.symbols, linked_again.symbols, "{name}");
}

/// Checks that directives and metadata of one source give the same descriptor and note bytes as LLVM's assembler.
fn same_descriptors(name: &str, source: &str, object: &CodeObject) {
    let mut lines = source.lines();
    let mut seen = 0;
    while let Some(line) = lines.next() {
        if let Some(kernel) = line.trim().strip_prefix(".amdhsa_kernel ") {
            let mut builder = KernelBuilder::new(object.target);
            for line in lines
                .by_ref()
                .map(|l| l.split([';', '/']).next().unwrap_or("").trim())
            {
                if line == ".end_amdhsa_kernel" {
                    break;
                }
                if let Some((directive, value)) = line.split_once(char::is_whitespace) {
                    builder
                        .set(directive, value.trim().parse().unwrap())
                        .unwrap();
                }
            }
            let theirs = &object
                .kernel(kernel.trim())
                .unwrap_or_else(|| panic!("{name}: {kernel}"))
                .descriptor;
            assert_eq!(builder.finish().unwrap(), *theirs, "{name}: {kernel}");
            let mut again = KernelBuilder::new(object.target);
            for (directive, value) in directives(theirs, &object.target).unwrap() {
                again.set(directive, value as i64).unwrap();
            }
            assert_eq!(
                again.finish().unwrap(),
                *theirs,
                "{name}: {kernel} from its directives"
            );
            seen += 1;
        }
    }
    assert_eq!(seen, object.kernels.len(), "{name}");
    if let Some((_, text)) = source.split_once(".amdgpu_metadata\n") {
        let text = text
            .split(".end_amdgpu_metadata")
            .next()
            .unwrap()
            .trim_end_matches([' ', '\t']);
        let tree = metadata::parse_yaml(text).unwrap();
        metadata::verify(&tree).unwrap();
        let note = object.note().unwrap();
        assert_eq!(metadata::encode(&tree), note, "{name}");
        assert_eq!(
            metadata::faithful_text(note).as_deref(),
            Some(text.trim_end_matches('\n'))
                .map(|t| format!("{t}\n"))
                .as_deref(),
            "{name}"
        );
    }
}

fn sources() -> Vec<(String, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut list: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    list.retain(|p| p.extension().is_some_and(|e| e == "s"));
    // An environment variable may name a directory of more sources, such as compiled kernels.
    if let Some(dir) = std::env::var_os("GCN_OBJECT_SOURCES") {
        list.extend(
            std::fs::read_dir(dir)
                .unwrap()
                .map(|e| e.unwrap().path())
                .filter(|p| p.extension().is_some_and(|e| e == "s")),
        );
    }
    list.sort();
    list.iter()
        .map(|p| {
            (
                p.file_stem().unwrap().to_string_lossy().into_owned(),
                std::fs::read_to_string(p).unwrap(),
            )
        })
        .collect()
}

/// Tests every source, for the processor at the end of its name.
#[test]
fn sources_assemble_and_link_as_llvm_does() {
    let Some(llvm) = Llvm::new("sources") else {
        return;
    };
    for (name, source) in sources() {
        let arch = name.rsplit('-').next().unwrap();
        let object = llvm.assemble(&source, arch, 4, "a.o");
        same_descriptors(&name, &source, &CodeObject::parse(&object).unwrap());
        same_as_lld(&llvm, &name, &object);
    }
}

#[test]
fn versions_and_features() {
    let Some(llvm) = Llvm::new("versions") else {
        return;
    };
    for version in [3, 4, 5] {
        // LLVM 14 has no generic processors.
        let machines = gcn_object::target::MACHINES.iter();
        for machine in machines.filter(|machine| machine.generic == 0) {
            let object = llvm.assemble("s_nop 0\n", machine.name, version, "a.o");
            let object = CodeObject::parse(&object).unwrap();
            assert_eq!(
                (object.target_name(), object.version.number()),
                (machine.name, version)
            );
            assert_eq!(object.target.flags(object.version), object.flags);
            // lld 14 does not support v5.
            if version < 5 {
                linked_like_lld(&llvm, machine.name, object.data());
            }
        }
        for arch in ["gfx906:xnack+", "gfx906:xnack-"] {
            let object =
                CodeObject::parse(&llvm.assemble("s_nop 0\n", arch, version, "a.o")).unwrap();
            assert_eq!(object.target.flags(object.version), object.flags);
            if version > 3 {
                assert_eq!(object.target_id(), format!("amdgcn-amd-amdhsa--{arch}"));
            }
        }
    }
}

/// Register counts at every granule boundary give LLVM's bits, or are refused if LLVM refuses them.
#[test]
fn register_counts() {
    let Some(llvm) = Llvm::new("registers") else {
        return;
    };
    let kernel = |target: &str, list: &[(&str, i64)]| {
        let target = gcn_object::TargetId::parse(target, gcn_object::Version::V4).unwrap();
        let mut builder = KernelBuilder::new(target);
        for (name, value) in list {
            builder.set(name, *value)?;
        }
        builder.finish()
    };
    for arch in [
        "gfx600",
        "gfx701",
        "gfx801",
        "gfx802",
        "gfx803",
        "gfx900",
        "gfx900:xnack-",
        "gfx90c",
    ] {
        let generation = gcn_object::TargetId::parse(arch, gcn_object::Version::V4)
            .unwrap()
            .machine
            .generation;
        let mut source = String::from(".rodata\n");
        let mut expected = Vec::new();
        let mut refused = Vec::new();
        for vcc in [0, 1] {
            for flat in [0, 1] {
                for sgprs in (0..=106).step_by(if flat == 1 { 1 } else { 3 }) {
                    let mut list = vec![
                        (".amdhsa_next_free_vgpr", (sgprs * 5) % 257),
                        (".amdhsa_next_free_sgpr", sgprs),
                        (".amdhsa_reserve_vcc", vcc),
                    ];
                    if generation > 6 {
                        list.push((".amdhsa_reserve_flat_scratch", flat));
                    }
                    let block = |n: usize| {
                        let lines: String =
                            list.iter().map(|(d, v)| format!("{d} {v}\n")).collect();
                        format!(".amdhsa_kernel k{n}\n{lines}.end_amdhsa_kernel\n")
                    };
                    match kernel(arch, &list) {
                        Ok(descriptor) => {
                            source.push_str(&block(expected.len()));
                            expected.push(descriptor);
                        }
                        Err(_) => refused.push(block(refused.len())),
                    }
                }
            }
        }
        let code: String = (0..expected.len()).map(|n| format!("k{n}:\n")).collect();
        let object =
            CodeObject::parse(&llvm.assemble(&format!(".text\n{code}{source}"), arch, 4, "a.o"))
                .unwrap();
        let bytes = object.section_data(object.section(".rodata").unwrap());
        let ours: Vec<u8> = expected.iter().flat_map(|d| d.to_bytes()).collect();
        assert_eq!(bytes, ours, "{arch}");
        // LLVM must report an error for each of the other inputs.
        std::fs::write(llvm.dir.join("bad.s"), refused.concat()).unwrap();
        let (cpu, xnack) = arch.split_once(':').unwrap_or((arch, ""));
        let out = Command::new("llvm-mc-14")
            .args([
                "-triple",
                "amdgcn-amd-amdhsa",
                &format!("-mcpu={cpu}"),
                if xnack.is_empty() {
                    "-mattr="
                } else {
                    "-mattr=-xnack"
                },
                "bad.s",
            ])
            .current_dir(&llvm.dir)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&out.stderr)
            .matches("value out of range")
            .count();
        assert_eq!(errors, refused.len(), "{arch}");
        assert!(!refused.is_empty(), "{arch}");
    }
}
