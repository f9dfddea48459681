//! `cargo xtask seeds`: writes the fuzzers' initial inputs, `fuzz/corpus`, and the dictionary of the assembler's words.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use gcn_isa::Target;

/// Directives and operands that are not in the instruction tables.
const WORDS: &[&str] = &[
    ".amd_kernel_code_t",
    ".amdgcn_target",
    ".amdhsa_kernel",
    ".amdhsa_next_free_vgpr",
    ".amdhsa_next_free_sgpr",
    ".arch",
    ".byte",
    ".cfi_startproc",
    ".config",
    ".else",
    ".elseif",
    ".end_amd_kernel_code_t",
    ".end_amdhsa_kernel",
    ".endif",
    ".endm",
    ".endr",
    ".equ",
    ".file 1",
    ".fill",
    ".gcn_permissive",
    ".globl",
    ".if",
    ".ifdef",
    ".irp",
    ".kernel",
    ".loc 1",
    ".long",
    ".macro",
    ".p2align",
    ".rept",
    ".rocm",
    ".set",
    ".syntax clrx",
    ".text",
    "abs(",
    "bank_mask:0x0",
    "bits:0x1",
    "bound_ctrl:0",
    "bound_ctrl:1",
    "clamp",
    "d16",
    "da",
    "dlc",
    "dmask:0xf",
    "done",
    "compr",
    "dst_sel:BYTE_0",
    "dst_unused:UNUSED_PAD",
    "exec",
    "exec_lo",
    "exec_hi",
    "flat_scratch",
    "format:1",
    "gds",
    "glc",
    "gpr_idx(SRC0,DST)",
    "hwreg(HW_REG_MODE, 0, 4)",
    "idxen",
    "lds",
    "lgkmcnt(0)",
    "lit(0x1)",
    "lwe",
    "m0",
    "mrt0",
    "mul:2",
    "div:2",
    "neg(",
    "neg_hi:[0,1]",
    "neg_lo:[1,0]",
    "null",
    "off",
    "offen",
    "offset0:1",
    "offset1:1",
    "offset:1",
    "op(0xd1)",
    "op_sel:[0,1]",
    "op_sel_hi:[1,0]",
    "param0",
    "pos0",
    "quad_perm:[0,1,2,3]",
    "r128",
    "row_bcast:15",
    "row_half_mirror",
    "row_mask:0xf",
    "row_mirror",
    "row_ror:1",
    "row_shl:1",
    "s[0:1]",
    "s[4:7]",
    "scc",
    "sendmsg(MSG_INTERRUPT)",
    "sext(",
    "slc",
    "src0_sel:WORD_1",
    "src1_sel:DWORD",
    "src_execz",
    "src_lds_direct",
    "src_private_base",
    "src_shared_base",
    "swizzle(QUAD_PERM, 0, 1, 2, 3)",
    "tba",
    "tfe",
    "tma",
    "ttmp0",
    "unorm",
    "v[0:1]",
    "v[0:3]",
    "vcc",
    "vccz",
    "vm",
    "vmcnt(0)",
    "wave_ror:1",
    "xnack_mask",
    "0.15915494",
    "0x3f800000",
];

/// Code object v2, PAL and LDS.
const HSA: &str = ".hsa_code_object_version 2,1\n.hsa_code_object_isa 9,0,0,\"AMD\",\"AMDGPU\"\n\
                   .amdgpu_lds l, 16, 4\n.amdgpu_hsa_kernel k\nk: .amd_kernel_code_t\npriority = 1\n\
                   call_convention = -1\n.end_amd_kernel_code_t\ns_mov_b32 s0, l@abs32@lo\n\
                   .amd_amdgpu_hsa_metadata\nVersion: [ 1, 0 ]\n.end_amd_amdgpu_hsa_metadata\n\
                   .amd_amdgpu_isa \"amdgcn-amd-amdhsa--gfx900\"\n";
/// Lines and frames.
const DEBUG: &str = ".file 0 \"d\" \"a\" md5 0x0123456789abcdef0123456789abcdef\n.file 1 \"b\"\n\
                     .cfi_sections .debug_frame\n.cfi_startproc\n.loc 0 1 2 prologue_end is_stmt 0\n\
                     s_nop 0\n.cfi_def_cfa_offset 4\n.loc 1 5\n.cfi_endproc\n.uleb128 1, .-k\nk:\n\
                     .section .debug_info\n.long .debug_line\n";
/// CLRX's ROCm format.
const ROCM: &str = ".rocm\n.gpu GFX900\n.newbinfmt\n.tripple \"amdgcn-amd-amdhsa\"\n.kernel a\n.config\n\
                    .dims xy, z\n.default_hsa_features\n.localsize 64\n.pgmrsrc2 1\n\
                    .arg n, \"int\", 4, , value, i32\n.arg p, \"int*\", 8, , globalbuf, i32, global, default const\n\
                    .printf 1, 4, \"%d\"\n.control_directive\n.fill 128\n.kernel b\n.fkernel\n.text\na: .skip 256\n\
                    v_mov_b32 v1, s2\n.kcode b, -a\n.kcodeend\nb: s_endpgm\n.globaldata\n.gotsym a, g\n\
                    .metadata\n.ascii \"Version: [ 1, 0 ]\"\n";

/// Writes the corpora and the dictionary.
///
/// # Errors
/// If the test data cannot be read or a file cannot be written.
pub fn run(root: &Path) -> Result<()> {
    let corpus = root.join("fuzz/corpus");
    let (mut bytes, mut texts) = (BTreeSet::new(), BTreeSet::new());
    for (index, target) in (0_u8..).zip(Target::all()) {
        let path = root.join(format!("testdata/vectors/{}.txt", target.name()));
        let Ok(vectors) = fs::read_to_string(&path) else {
            continue;
        };
        for (hex, text) in vectors.lines().filter_map(|line| line.split_once('\t')) {
            let mut seed = vec![index];
            for at in (0..hex.len()).step_by(2) {
                let byte = hex
                    .get(at..at + 2)
                    .and_then(|pair| u8::from_str_radix(pair, 16).ok());
                seed.push(byte.with_context(|| format!("{}: {hex} are no bytes", path.display()))?);
            }
            bytes.insert(seed);
            texts.insert(text_seed(index, text));
        }
    }
    let gfx900 = (0_u8..)
        .zip(Target::all())
        .find(|(_, target)| target.name() == "gfx900");
    let (gfx900, _) = gfx900.context("gfx900 is not a target")?;
    for entry in fs::read_dir(root.join("testdata"))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "gcn") {
            continue;
        }
        for line in fs::read_to_string(&path)?.lines() {
            // Two blanks separate the instruction from the state.
            let text = line.trim().split("  ").next().unwrap_or_default();
            if line.starts_with(' ') && !text.is_empty() {
                texts.insert(text_seed(gfx900, text));
            }
        }
    }
    let directives = "x = 4\n.macro m a, b=1\ns_add_u32 \\a, s0, \\b\n.endm\n.rept 2\nm s3\n.endr\n\
                      .if x > 3\na: s_branch a\n.endif\n.set y, x*2+1\n.long y, 1b-0f\n";
    for text in [directives, HSA, DEBUG, ROCM] {
        texts.insert(text_seed(gfx900, text));
    }
    write_all(&corpus.join("decode"), &bytes)?;
    write_all(&corpus.join("asm"), &texts)?;
    write_all(&corpus.join("jit"), &stretches(root, &bytes)?)?;
    fs::write(corpus.join("jit.dict"), words(&bytes))?;
    let files = files(root)?;
    write_all(&corpus.join("object"), &files)?;
    write_all(&corpus.join("container"), &carriers(&files)?)?;

    let names: BTreeSet<&str> = Target::all()
        .flat_map(gcn_isa::insts::of_target)
        .map(|row| row.name)
        .collect();
    let mut dictionary = String::new();
    for word in names.into_iter().chain(WORDS.iter().copied()) {
        let _ = writeln!(dictionary, "\"{word}\"");
    }
    fs::write(corpus.join("asm.dict"), dictionary)?;
    println!(
        "{}: {} and {} seeds",
        corpus.display(),
        bytes.len(),
        texts.len()
    );
    Ok(())
}

/// The input of the target `jit`: single instructions, and parts of compiled kernels.
fn stretches(root: &Path, instructions: &BTreeSet<Vec<u8>>) -> Result<BTreeSet<Vec<u8>>> {
    /// The form of the code, and the seed of the registers.
    const HEAD: [u8; 4] = [2, 1, 2, 3];
    /// The size of a part in bytes.
    const LENGTH: usize = 64;
    let seed = |target: u8, code: &[u8]| [&[target][..], &HEAD, code].concat();
    let mut out: BTreeSet<Vec<u8>> = (instructions.iter())
        .filter_map(|one| one.split_first())
        .map(|(&target, code)| seed(target, code))
        .collect();
    for (index, target) in (0_u8..).zip(Target::all()) {
        for kernel in ["vadd", "matmul", "reduce", "mandelbrot"] {
            let name = format!("testdata/kernels/{kernel}-{}.co", target.name());
            let Ok(bytes) = fs::read(root.join(name)) else {
                continue;
            };
            let object = gcn_object::CodeObject::parse(&bytes)?;
            let image = object.image(0)?;
            let code = image.segments.iter().filter(|s| s.executable);
            let parts = code.flat_map(|s| s.bytes.chunks(LENGTH));
            out.extend(parts.map(|part| seed(index, part)));
        }
    }
    Ok(out)
}

/// Returns instructions in the form of libFuzzer's dictionaries, one for each upper half of a first dword.
fn words(instructions: &BTreeSet<Vec<u8>>) -> String {
    let mut seen = BTreeSet::new();
    let mut out = String::new();
    for one in instructions {
        if let Some(kind) = one.get(3..5)
            && seen.insert(kind)
        {
            let bytes: String = one[1..].iter().map(|b| format!("\\x{b:02x}")).collect();
            let _ = writeln!(out, "\"{bytes}\"");
        }
    }
    out
}

/// Small ELF files, relocatable and loadable.
fn files(root: &Path) -> Result<BTreeSet<Vec<u8>>> {
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(root.join("crates/gcn-object/tests/data"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "o" || e == "co") {
            files.insert(fs::read(path)?);
        }
    }
    Ok(files)
}

/// Bundles of each file, plain and compressed, and the files themselves.
fn carriers(files: &BTreeSet<Vec<u8>>) -> Result<BTreeSet<Vec<u8>>> {
    use gcn_object::bundle::{self, Method};
    let mut carriers = files.clone();
    for file in files {
        let entries = [
            ("host-x86_64-unknown-linux", &b""[..]),
            ("hipv4-amdgcn-amd-amdhsa--gfx900:xnack-", file),
            ("hip-amdgcn-amd-amdhsa-gfx906", b"code"),
        ];
        let plain = bundle::write(&entries, 64)?;
        for (method, version) in [(Method::Zlib, 1), (Method::Zlib, 2), (Method::Zstd, 3)] {
            carriers.insert(bundle::compress(&plain, method, version)?);
        }
        carriers.insert(plain);
    }
    Ok(carriers)
}

/// The input of the target `asm`: the target, strict or permissive, the text.
fn text_seed(target: u8, text: &str) -> Vec<u8> {
    let mut seed = vec![target, 2];
    seed.extend(text.bytes());
    seed
}

fn write_all(folder: &Path, seeds: &BTreeSet<Vec<u8>>) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (number, seed) in seeds.iter().enumerate() {
        fs::write(folder.join(format!("seed-{number:05}")), seed)?;
    }
    Ok(())
}
