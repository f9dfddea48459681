//! `cargo xtask libraries FOLDER`: runs kernels from Debian's ROCm libraries with `gcn run`, and compares random numbers with
//! published reference values, and products of sparse matrices and vectors with the host's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use gcn_object::Container;

#[derive(clap::Args)]
pub struct Options {
    /// The folder with librocrand.so.1.1 and librocsparse.so.0.1
    folder: PathBuf,
    /// Targets, by comma
    #[arg(long, value_delimiter = ',', default_value = "gfx803,gfx900,gfx906")]
    target: Vec<String>,
    /// The gcn binary; by default the workspace's release build, built first
    #[arg(long)]
    gcn: Option<PathBuf>,
    /// Check each run (`gcn run --check`): a report is an error
    #[arg(long)]
    check: bool,
}

const PHILOX: &str = "_ZN12rocrand_host6detailL15generate_kernelIj20uniform_distributionIjEEEvNS0_27philox4x32_10_device_engineEPT_mT0_";
const MRG: &str = "_ZN12rocrand_host6detailL15generate_kernelId24mrg_uniform_distributionIdEEEvPN14rocrand_device15mrg32k3a_engineEjPT_mT0_";

/// Counter, key and result: Random123's kat_vectors for philox4x32 with 10 rounds.
const PHILOX_VECTORS: [([u32; 4], [u32; 2], [u32; 4]); 3] = [
    (
        [0; 4],
        [0; 2],
        [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
    ),
    (
        [!0; 4],
        [!0; 2],
        [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
    ),
    (
        [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
        [0xa4093822, 0x299f31d0],
        [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
    ),
];

/// The first numbers of MRG32k3a from a state of 12345s, as L'Ecuyer's RngStreams gives them.
const MRG_VECTORS: [f64; 5] = [
    0.127011122046577,
    0.318527565396794,
    0.309186015583200,
    0.825846862993872,
    0.221629915820528,
];

/// Runs and compares. Returns true if all results are right.
///
/// # Errors
/// If a library is missing.
pub fn run(options: &Options, root: &Path) -> Result<bool> {
    let gcn = match &options.gcn {
        Some(gcn) => std::path::absolute(gcn)?,
        None => crate::build_gcn(root)?,
    };
    let rocrand = options.folder.join("librocrand.so.1.1");
    let rocsparse = options.folder.join("librocsparse.so.0.1");
    let work = std::env::temp_dir().join(format!("gcn-libraries-{}", std::process::id()));
    fs::create_dir_all(&work)?;
    let mut good = true;
    for target in &options.target {
        let launch = |file: &Path, entry: Option<usize>, kernel: &str, args: &[String]| {
            launch((&gcn, options.check), file, target, entry, kernel, args)
        };
        let mut say = |what: &str, result: Result<String>| match result {
            Ok(said) => println!("{target:<7} {what}: {said}"),
            Err(error) => {
                println!("{target:<7} {what}: WRONG: {error:#}");
                good = false;
            }
        };
        say("rocrand philox4x32_10", philox(&rocrand, &work, &launch));
        say("rocrand mrg32k3a", mrg(&rocrand, &work, &launch));
        for (letter, lanes) in [("d", 8), ("d", 64), ("f", 8), ("f", 32)] {
            let what = format!("rocsparse csrmvn_general<{lanes}, {letter}>");
            say(
                &what,
                csrmv(&rocsparse, target, letter, lanes, &work, &launch),
            );
        }
    }
    fs::remove_dir_all(&work)?;
    Ok(good)
}

type Launch<'a> = dyn Fn(&Path, Option<usize>, &str, &[String]) -> Result<()> + 'a;

fn launch(
    (gcn, check): (&Path, bool),
    file: &Path,
    target: &str,
    entry: Option<usize>,
    kernel: &str,
    args: &[String],
) -> Result<()> {
    let mut command = Command::new(gcn);
    command.arg("run").arg(file).args(["--kernel", kernel]);
    command.args(check.then_some("--check"));
    match entry {
        Some(entry) => command.args(["--entry", &entry.to_string()]),
        None => command.args(["--target", target]),
    };
    let output = command.args(args).output().context("cannot run gcn")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said: String = said.chars().take(600).collect();
    ensure!(output.status.success(), "{said}");
    Ok(())
}

fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|s| s.to_string()).collect()
}

fn hex(words: &[u32]) -> String {
    let bytes = words.iter().flat_map(|w| w.to_le_bytes());
    bytes.map(|b| format!("{b:02x}")).collect()
}

/// Ten rounds of Philox: "Parallel Random Numbers: As Easy as 1, 2, 3" (Salmon and others).
fn philox_rounds(mut c: [u32; 4], mut k: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let product = |m: u32, v: u32| u64::from(m) * u64::from(v);
        let (a, b) = (product(0xd2511f53, c[0]), product(0xcd9e8d57, c[2]));
        c = [
            (b >> 32) as u32 ^ c[1] ^ k[0],
            b as u32,
            (a >> 32) as u32 ^ c[3] ^ k[1],
            a as u32,
        ];
        k = [k[0].wrapping_add(0x9e3779b9), k[1].wrapping_add(0xbb67ae85)];
    }
    c
}

fn philox(library: &Path, work: &Path, launch: &Launch<'_>) -> Result<String> {
    let out = work.join("philox.bin");
    // Two workgroups, each of whose work-items produces four numbers, twice.
    let (items, count) = (512usize, 4096usize);
    for (counter, key, expected) in PHILOX_VECTORS {
        // The engine: counter, the last result, key, index in the result, padding.
        let engine = [&counter[..], &[0; 4], &key, &[0, 0]].concat();
        let args = [
            words(&["--grid", "512", "--group", "256", "--arg"]),
            vec![format!("bytes:{}", hex(&engine))],
            words(&["--arg", "buf:zero:16384", "--arg", "u64:4096"]),
            words(&["--arg", "bytes:00", "--out"]),
            vec![format!("1={}", out.display())],
        ];
        launch(library, None, PHILOX, &args.concat())?;
        let bytes = fs::read(&out)?;
        let got: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        ensure!(
            got[..4] == expected,
            "{:08x?}, not {expected:08x?}",
            &got[..4]
        );
        ensure!(
            got.len() == count && items * 8 == count,
            "the output's size"
        );
        let start = counter
            .iter()
            .rev()
            .fold(0u128, |n, w| n << 32 | u128::from(*w));
        for (n, four) in got.chunks_exact(4).enumerate() {
            let now = start.wrapping_add(n as u128);
            let now = std::array::from_fn(|i| (now >> (32 * i)) as u32);
            let expected = philox_rounds(now, key);
            ensure!(
                four == expected,
                "number {}: {four:08x?}, not {expected:08x?}",
                4 * n
            );
        }
    }
    Ok("the 3 vectors of Random123, and 12288 numbers equal to the host's".into())
}

fn mrg(library: &Path, work: &Path, launch: &Launch<'_>) -> Result<String> {
    let (engines, out) = (work.join("engines.bin"), work.join("mrg.bin"));
    // Every engine's state consists of six 12345s, for engines of any size.
    fs::write(&engines, 12345u32.to_le_bytes().repeat(64 * 1024))?;
    let args = [
        words(&["--grid", "64", "--group", "64", "--arg"]),
        vec![format!("buf:{}", engines.display())],
        words(&[
            "--arg",
            "u32:0",
            "--arg",
            "buf:zero:4096",
            "--arg",
            "u64:512",
        ]),
        words(&["--arg", "bytes:00", "--out"]),
        vec![format!("2={}", out.display())],
    ];
    launch(library, None, MRG, &args.concat())?;
    let bytes = fs::read(&out)?;
    let got: Vec<f64> = bytes
        .chunks_exact(8)
        .map(|b| f64::from_le_bytes(std::array::from_fn(|i| b[i])))
        .collect();
    // Each of 64 work-items has its own engine, and stores every 64th number.
    for (n, expected) in MRG_VECTORS.into_iter().enumerate() {
        for (lane, got) in got[64 * n..][..64].iter().enumerate() {
            ensure!(
                (got - expected).abs() < 1e-9,
                "number {n} of engine {lane} is {got}, not {expected}"
            );
        }
    }
    Ok("the first 5 numbers of RngStreams, from each of 64 engines".into())
}

/// The entry of a target that contains a kernel.
fn entry_with(library: &Path, target: &str, kernel: &str) -> Result<usize> {
    let container = Container::open(library)?;
    for entry in container.matching(target) {
        let Ok(bytes) = container.read(entry) else {
            continue;
        };
        let mut locations = bytes.windows(kernel.len());
        if locations.any(|location| location == kernel.as_bytes()) {
            return Ok(entry.index);
        }
    }
    anyhow::bail!("no code for {target} has {kernel}")
}

fn csrmv(
    library: &Path,
    target: &str,
    letter: &str,
    lanes: u32,
    work: &Path,
    launch: &Launch<'_>,
) -> Result<String> {
    let kernel = format!(
        "_ZL21csrmvn_general_kernelILj512ELj{lanes}Eii{letter}{letter}EvbT2_T4_PKT1_PKS0_PKT3_S9_S1_PS7_21rocsparse_index_base_"
    );
    let entry = entry_with(library, target, &kernel)?;
    // Integers, because their sums do not depend on the order of additions.
    let (rows, columns) = (300usize, 200usize);
    let mut state = 0x2545f491u32;
    let mut next = |modulus: u32| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state % modulus
    };
    let (mut starts, mut indices, mut values) = (vec![0i32], Vec::new(), Vec::new());
    for _ in 0..rows {
        for _ in 0..next(40) {
            indices.push(next(columns as u32) as i32);
            values.push(f64::from(next(21)) - 10.0);
        }
        starts.push(indices.len() as i32);
    }
    let x: Vec<f64> = (0..columns).map(|_| f64::from(next(31)) - 15.0).collect();
    let y: Vec<f64> = (0..rows).map(|_| f64::from(next(9)) - 4.0).collect();
    let (alpha, beta) = (3.0, -2.0);
    let expected: Vec<f64> = (0..rows)
        .map(|row| {
            let range = starts[row] as usize..starts[row + 1] as usize;
            let sum: f64 = range.map(|k| values[k] * x[indices[k] as usize]).sum();
            alpha * sum + beta * y[row]
        })
        .collect();
    let double = letter == "d";
    let floats = |values: &[f64]| -> Vec<u8> {
        let each = |v: &f64| match double {
            true => v.to_le_bytes().to_vec(),
            false => (*v as f32).to_le_bytes().to_vec(),
        };
        values.iter().flat_map(each).collect()
    };
    let ints = |values: &[i32]| {
        values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let file = |name: &str, bytes: Vec<u8>| -> Result<String> {
        let path = work.join(name);
        fs::write(&path, bytes)?;
        Ok(format!("buf:{}", path.display()))
    };
    let out = work.join("y.out");
    let scalar = |v: f64| format!("f{}:{v}", if double { 64 } else { 32 });
    let threads = (rows * lanes as usize).next_multiple_of(512);
    let args = [
        format!("--grid={threads}"),
        "--group=512".into(),
        "--arg=u8:0".into(),
        format!("--arg=i32:{rows}"),
        format!("--arg={}", scalar(alpha)),
        format!("--arg={}", file("starts", ints(&starts))?),
        format!("--arg={}", file("indices", ints(&indices))?),
        format!("--arg={}", file("values", floats(&values))?),
        format!("--arg={}", file("x", floats(&x))?),
        format!("--arg={}", scalar(beta)),
        format!("--arg={}", file("y", floats(&y))?),
        "--arg=i32:0".into(),
        format!("--out=8={}", out.display()),
    ];
    launch(library, Some(entry), &kernel, &args)?;
    ensure!(fs::read(&out)? == floats(&expected), "y is not the host's");
    Ok(format!(
        "{rows} rows, {} elements, equal to the host's",
        values.len()
    ))
}
