//! `gcn bundle`: its output and files; and with clang's bundler, a C compiler or hipcc, if they are installed, that these tools
//! accept the files.

#[allow(dead_code, reason = "other tests use the rest")]
mod common;

use common::{gcn, with_input};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

static SOURCE: &str = "\
.amdgcn_target \"amdgcn-amd-amdhsa--TARGET\"
.text
.p2align 8
.globl k
.type k,@function
k:
  v_mul_f32_e32 v0, v1, v2
  MORE
  s_endpgm
.rodata
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 3
  .amdhsa_next_free_sgpr 8
.end_amdhsa_kernel
";

/// A code object with this number of additional instructions.
fn code(target: &str, more: usize) -> Vec<u8> {
    let source = SOURCE
        .replace("TARGET", target)
        .replace("MORE", &"s_nop 0\n".repeat(more));
    let ran = with_input(&["asm", "-o", "-", "-"], source.as_bytes());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    ran.stdout
}

/// A folder with two code objects and a bundle of them.
struct Folder {
    dir: tempfile::TempDir,
}

const HOST: &str = "host-x86_64-unknown-linux";

impl Folder {
    fn new() -> Folder {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder { dir };
        for target in ["gfx900", "gfx906"] {
            std::fs::write(folder.path(&format!("{target}.co")), code(target, 0)).unwrap();
        }
        std::fs::write(folder.path("large.co"), code("gfx906", 20_000)).unwrap();
        folder.create("fat.hipfb", &[]);
        folder
    }

    fn path(&self, name: &str) -> String {
        let path: PathBuf = self.dir.path().join(name);
        path.to_str().unwrap().to_string()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn create(&self, name: &str, options: &[&str]) {
        let (out, a, b) = (
            self.path(name),
            format!("hipv4-amdgcn-amd-amdhsa--gfx900={}", self.path("gfx900.co")),
            format!("gfx906={}", self.path("gfx906.co")),
        );
        let host = format!("{HOST}=/dev/null");
        let mut args = vec!["bundle", "create", "-o", &out, &host, &a, &b];
        args.extend(options);
        done(&args);
    }

    /// Runs another tool in the folder.
    fn tool(&self, tool: &Path, args: &[&str]) -> String {
        let mut command = Command::new(tool);
        let ran = command.args(args).current_dir(self.dir.path()).output();
        let ran = ran.unwrap();
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(
            ran.status.success(),
            "{} {args:?}: {stderr}",
            tool.display()
        );
        String::from_utf8(ran.stdout).unwrap()
    }
}

/// Runs `gcn`, which must succeed, and returns its output.
fn done(args: &[&str]) -> String {
    let ran = gcn(args);
    assert_eq!(ran.status, 0, "gcn {args:?}: {}", ran.stderr);
    ran.text()
}

/// The tool under one of its names; `None`, with a message, if it is not installed.
fn find(test: &str, names: &[&str]) -> Option<PathBuf> {
    let works = |name: &&&str| {
        let ran = Command::new(**name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        ran.is_ok_and(|s| s.success())
    };
    let found = names.iter().find(works).map(PathBuf::from);
    if found.is_none() {
        eprintln!("SKIPPED {test}: {} is not installed", names[0]);
    }
    found
}

fn bundler(test: &str) -> Option<PathBuf> {
    let names = [
        "clang-offload-bundler",
        "clang-offload-bundler-14",
        "clang-offload-bundler-15",
        "/usr/lib/llvm-14/bin/clang-offload-bundler",
        "/usr/lib/llvm-15/bin/clang-offload-bundler",
    ];
    find(test, &names)
}

#[test]
fn lists_and_extracts() {
    let folder = Folder::new();
    let fat = folder.path("fat.hipfb");
    let sizes = [
        folder.read("gfx900.co").len(),
        folder.read("gfx906.co").len(),
    ];
    let expected = format!(
        "{HOST} 0\nhipv4-amdgcn-amd-amdhsa--gfx900 {}\nhipv4-amdgcn-amd-amdhsa--gfx906 {}\n",
        sizes[0], sizes[1]
    );
    assert_eq!(done(&["bundle", "list", &fat]), expected);
    let ran = with_input(&["bundle", "list", "-"], &folder.read("fat.hipfb"));
    assert_eq!(ran.text(), expected);
    let json = done(&["bundle", "list", "--json", &fat, "--target", "vega20"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["index"], &json["bytes"]),
        (&2.into(), &sizes[1].into())
    );
    assert_eq!(
        (&json["target"], &json["packing"]),
        (&"gfx906".into(), &"plain".into())
    );
    assert_eq!(
        json["offset"],
        0x3000 - 4096 * usize::from(sizes[0] <= 4096)
    );
    assert!(done(&["bundle", "list", "--long", &fat]).contains("    1    0  hipv4"));
    // A code object is a bundle of one.
    let one = done(&["bundle", "list", &folder.path("gfx906.co")]);
    assert_eq!(one, format!("amdgcn-amd-amdhsa--gfx906 {}\n", sizes[1]));

    let out = folder.path("out");
    done(&["bundle", "extract", &fat, "-d", &out]);
    let mut names: Vec<_> = std::fs::read_dir(&out)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "hipv4-amdgcn-amd-amdhsa--gfx900.co",
            "hipv4-amdgcn-amd-amdhsa--gfx906.co",
            HOST
        ]
    );
    for target in ["gfx900", "gfx906"] {
        let file = format!("out/hipv4-amdgcn-amd-amdhsa--{target}.co");
        assert_eq!(folder.read(&file), folder.read(&format!("{target}.co")));
        let ran = gcn(&["bundle", "extract", &fat, "--target", target, "-o", "-"]);
        assert_eq!(ran.stdout, folder.read(&format!("{target}.co")));
    }
    // Several bundles in one file do not overwrite one another, even with equal ids.
    let two = [
        folder.read("fat.hipfb"),
        vec![0; 4096],
        folder.read("fat.hipfb"),
    ]
    .concat();
    std::fs::write(folder.path("two"), &two).unwrap();
    done(&[
        "bundle",
        "extract",
        &folder.path("two"),
        "-d",
        &folder.path("many"),
    ]);
    assert_eq!(std::fs::read_dir(folder.path("many")).unwrap().count(), 6);
    assert_eq!(
        folder.read("many/1-hipv4-amdgcn-amd-amdhsa--gfx900.co"),
        folder.read("gfx900.co")
    );
    let odd = [
        ("../../escape", b"a"),
        ("/etc/x", b"b"),
        ("\u{1}", b"c"),
        (".", b"d"),
    ];
    let odd: Vec<(&str, &[u8])> = odd.iter().map(|(id, b)| (*id, &b[..])).collect();
    std::fs::write(
        folder.path("odd"),
        gcn::object::bundle::write(&odd, 1).unwrap(),
    )
    .unwrap();
    done(&[
        "bundle",
        "extract",
        &folder.path("odd"),
        "-d",
        &folder.path("deep/er"),
    ]);
    assert_eq!(
        std::fs::read_dir(folder.path("deep/er")).unwrap().count(),
        4
    );
    assert_eq!(std::fs::read_dir(folder.path("deep")).unwrap().count(), 1);
    assert_eq!(
        done(&["bundle", "list", &folder.path("odd")])
            .lines()
            .count(),
        4
    );
}

#[test]
fn replaces() {
    let folder = Folder::new();
    for options in [
        &[][..],
        &["--compress"],
        &["--compress=zstd", "--header", "3"],
        &["--align", "1"],
    ] {
        folder.create("b", options);
        let (file, out) = (folder.path("b"), folder.path("out"));
        for new in ["large.co", "gfx906.co"] {
            let new = folder.path(new);
            done(&[
                "bundle", "replace", &file, "--target", "gfx906", "--with", &new, "-o", &out,
            ]);
            let ran = gcn(&["bundle", "extract", &out, "--target", "gfx906", "-o", "-"]);
            assert_eq!(ran.stdout, std::fs::read(&new).unwrap(), "{options:?}");
            let ran = gcn(&["bundle", "extract", &out, "--entry", "1", "-o", "-"]);
            assert_eq!(ran.stdout, folder.read("gfx900.co"), "{options:?}");
        }
        // Repeating the command gives the same file, and a file may be changed in place.
        assert_eq!(folder.read("out"), folder.read("b"), "{options:?}");
        let large = folder.path("large.co");
        done(&[
            "bundle", "replace", &file, "--entry", "2", "--with", &large, "-o", &file,
        ]);
        assert!(
            done(&["bundle", "list", &file])
                .contains(&format!("gfx906 {}\n", folder.read("large.co").len()))
        );
    }
}

#[test]
fn mistakes_are_told() {
    let folder = Folder::new();
    let (fat, a, out) = (
        folder.path("fat.hipfb"),
        folder.path("gfx900.co"),
        folder.path("out"),
    );
    std::fs::write(folder.path("text"), "no bundle").unwrap();
    std::fs::write(folder.path("bytes"), [1, 2, 3]).unwrap();
    let source = SOURCE.replace("TARGET", "gfx906").replace("MORE", "");
    std::fs::write(folder.path("k.s"), source).unwrap();
    done(&["asm", "-c", &folder.path("k.s"), "-o", &folder.path("k.o")]);
    let (text, bytes) = (folder.path("text"), folder.path("bytes"));
    let object = folder.path("k.o");
    for (args, status, says) in [
        (&["bundle"][..], 2, "Usage"),
        (&["bundle", "list"], 2, "FILE"),
        (&["bundle", "list", "no-such-file"], 1, "no-such-file: "),
        (&["bundle", "list", &text], 1, "the file is text, not code"),
        (&["bundle", "list", &bytes], 1, "no offload bundle"),
        (&["bundle", "extract", &fat], 2, "-d"),
        (&["bundle", "extract", &fat, "-o", "-"], 1, "entry 1: hipv4"),
        (
            &["bundle", "extract", &fat, "--target", "gfx803", "-d", &out],
            1,
            "no code for gfx803",
        ),
        (
            &["bundle", "extract", &fat, "--entry", "7", "-d", &out],
            1,
            "no entry 7",
        ),
        (&["bundle", "create", "-o", &out, "gfx900"], 2, "ID=FILE"),
        (
            &["bundle", "create", "-o", &out, "gfx900=no-such-file"],
            1,
            "no-such-file",
        ),
        (
            &[
                "bundle",
                "create",
                "-o",
                &out,
                "--align",
                "3",
                "gfx900=/dev/null",
            ],
            1,
            "power of two",
        ),
        (
            &[
                "bundle", "replace", &fat, "--target", "gfx906", "--with", &a, "-o", &out,
            ],
            1,
            "for gfx900",
        ),
        (
            &[
                "bundle", "replace", &fat, "--target", "gfx906", "--with", &text, "-o", &out,
            ],
            1,
            "the file is text, not code",
        ),
        (
            &[
                "bundle", "replace", &fat, "--target", "gfx906", "--with", &object, "-o", &out,
            ],
            1,
            "relocatable",
        ),
        (
            &["bundle", "replace", &fat, "--with", &a, "-o", &out],
            2,
            "--target",
        ),
    ] {
        let ran = gcn(args);
        assert_eq!(ran.status, status, "gcn {args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "gcn {args:?}: {}", ran.stderr);
    }
    assert!(!Path::new(&out).exists());
    done(&[
        "bundle", "replace", &fat, "--target", "gfx906", "--with", &text, "-o", &out, "--force",
    ]);
}

#[test]
fn clangs_bundler_writes_and_reads_the_same() {
    let Some(bundler) = bundler("clangs_bundler_writes_and_reads_the_same") else {
        return;
    };
    let folder = Folder::new();
    std::fs::write(folder.path("empty"), "").unwrap();
    let ids =
        format!("-targets={HOST},hipv4-amdgcn-amd-amdhsa--gfx900,hipv4-amdgcn-amd-amdhsa--gfx906");
    for align in ["1", "16", "4096"] {
        folder.create("ours", &["--align", align]);
        folder.tool(
            &bundler,
            &[
                "-type=o",
                &format!("-bundle-align={align}"),
                &ids,
                "-inputs=empty,gfx900.co,gfx906.co",
                "-outputs=theirs",
            ],
        );
        assert!(folder.read("ours") == folder.read("theirs"), "{align}");
    }
    let large = folder.path("large.co");
    let (ours, changed) = (folder.path("ours"), folder.path("changed"));
    done(&[
        "bundle", "replace", &ours, "--target", "gfx906", "--with", &large, "-o", &changed,
    ]);
    let one = "-targets=hipv4-amdgcn-amd-amdhsa--gfx906";
    folder.tool(
        &bundler,
        &[
            "-unbundle",
            "-type=o",
            one,
            "-inputs=changed",
            "-outputs=one",
        ],
    );
    assert!(folder.read("one") == folder.read("large.co"));
}

/// A program that finds its bundle through the wrapper, as HIP's runtime does, and prints its entries.
static PROGRAM: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
__asm__(".section .hip_fatbin,\"a\",@progbits\n.p2align 12\n__hip_fatbin:\n.incbin \"fat.hipfb\"\n.previous\n");
extern const char __hip_fatbin[] __attribute__((visibility("hidden")));
struct wrapper { uint32_t magic, version; const char *binary; void *unused; };
static volatile struct wrapper wrapper
    __attribute__((section(".hipFatBinSegment"), used)) = {0x48495046, 1, __hip_fatbin, 0};
static char zeros[100000];
int main(void) {
  const char *binary = wrapper.binary, *at = binary + 24;
  for (unsigned i = 0; i < sizeof zeros; ++i)
    if (zeros[i]++) return 3;
  uint64_t count, word[3];
  memcpy(&count, at, 8);
  for (at += 8; count--; at += 24 + word[2]) {
    memcpy(word, at, 24);
    uint32_t sum = 0;
    for (uint64_t i = 0; i < word[1]; ++i) sum = sum * 31 + (unsigned char)binary[word[0] + i];
    printf("%.*s %u %u\n", (int)word[2], at + 24, (unsigned)word[1], sum);
  }
  return 0;
}
"#;

fn sum(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0u32, |s, b| s.wrapping_mul(31).wrapping_add(u32::from(*b)))
}

#[test]
fn changed_programs_still_run() {
    let Some(cc) = find("changed_programs_still_run", &["cc", "gcc", "clang-14"]) else {
        return;
    };
    let folder = Folder::new();
    std::fs::write(folder.path("p.c"), PROGRAM).unwrap();
    for option in ["-pie", "-no-pie"] {
        let pic = if option == "-pie" {
            "-fPIE"
        } else {
            "-fno-pie"
        };
        folder.tool(&cc, &[pic, option, "p.c", "-o", "p"]);
        for new in ["gfx906.co", "large.co"] {
            let (program, new, out) = (folder.path("p"), folder.path(new), folder.path("p2"));
            done(&[
                "bundle", "replace", &program, "--target", "gfx906", "--with", &new, "-o", &out,
            ]);
            let printed = folder.tool(Path::new(&out), &[]);
            let (old, new) = (folder.read("gfx900.co"), std::fs::read(&new).unwrap());
            assert_eq!(
                printed,
                format!(
                    "{HOST} 0 0\nhipv4-amdgcn-amd-amdhsa--gfx900 {} {}\nhipv4-amdgcn-amd-amdhsa--gfx906 {} {}\n",
                    old.len(),
                    sum(&old),
                    new.len(),
                    sum(&new)
                ),
                "{option}"
            );
            let list: String = printed
                .lines()
                .map(|l| format!("{}\n", l.rsplit_once(' ').unwrap().0))
                .collect();
            assert_eq!(done(&["bundle", "list", &out]), list);
        }
    }
}

/// A kernel of a HIP program is edited as text and replaced.
#[test]
fn a_hip_program_is_changed() {
    let test = "a_hip_program_is_changed";
    let (Some(hipcc), Some(bundler)) = (find(test, &["hipcc"]), bundler(test)) else {
        return;
    };
    let folder = Folder::new();
    let source = "#include <hip/hip_runtime.h>
        __global__ void square(float *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = a[i] * a[i]; }
        int main() { int n = 0; (void)hipGetDeviceCount(&n); return 0; }";
    std::fs::write(folder.path("sq.hip"), source).unwrap();
    // hipcc searches for clang's bundler in clang's folder or in PATH.
    let mut path = std::env::var("PATH").unwrap_or_default();
    path.push_str(":/usr/lib/llvm-15/bin:/usr/lib/llvm-14/bin");
    let ran = Command::new(&hipcc)
        .args([
            "--offload-arch=gfx900",
            "--offload-arch=gfx906",
            "sq.hip",
            "-o",
            "sq",
        ])
        .env("PATH", path)
        .current_dir(folder.dir.path())
        .output()
        .unwrap();
    if !ran.status.success() {
        let why = String::from_utf8_lossy(&ran.stderr);
        eprintln!("SKIPPED {test}: hipcc does not compile here: {why}");
        return;
    }
    let (program, object, text) = (folder.path("sq"), folder.path("k.co"), folder.path("k.s"));
    done(&[
        "bundle", "extract", &program, "--target", "gfx906", "-o", &object,
    ]);
    done(&["dis", &object, "-o", &text]);
    let kernel = std::fs::read_to_string(&text).unwrap();
    assert_eq!(kernel.matches("v_mul_f32").count(), 1, "{kernel}");
    let added = kernel.replace("v_mul_f32", "v_add_f32");
    let end = added.find("s_endpgm").unwrap();
    let larger = format!(
        "{}{}{}",
        &added[..end],
        "s_nop 0\n".repeat(5000),
        &added[end..]
    );
    for changed in [added, larger] {
        let (new, out) = (folder.path("new.co"), folder.path("sq2"));
        std::fs::write(&text, changed).unwrap();
        done(&["asm", &text, "-o", &new]);
        done(&[
            "bundle", "replace", &program, "--target", "gfx906", "--with", &new, "-o", &out,
        ]);
        folder.tool(Path::new(&out), &[]);
        let again = gcn(&["bundle", "extract", &out, "--target", "gfx906", "-o", "-"]);
        assert!(again.stdout == std::fs::read(&new).unwrap());
        let again = with_input(&["dis", "-"], &again.stdout);
        assert!(again.text().contains("v_add_f32") && !again.text().contains("v_mul_f32"));
        // The section, as other tools cut it out, is a bundle that clang reads.
        if let Some(objcopy) = find(test, &["objcopy", "llvm-objcopy-14", "llvm-objcopy"]) {
            folder.tool(
                &objcopy,
                &["-O", "binary", "-j", ".hip_fatbin", "sq2", "section"],
            );
            let one = "-targets=hipv4-amdgcn-amd-amdhsa--gfx906";
            folder.tool(
                &bundler,
                &[
                    "-unbundle",
                    "-type=o",
                    one,
                    "-inputs=section",
                    "-outputs=one",
                ],
            );
            assert!(folder.read("one") == std::fs::read(&new).unwrap());
        }
    }
}
