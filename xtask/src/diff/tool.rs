//! Runs another program on a batch, with a temporary folder for its files.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// A new folder for temporary files, removed when dropped.
pub struct Scratch {
    dir: PathBuf,
    next: AtomicU64,
}

impl Scratch {
    pub fn new() -> Result<Scratch> {
        // Each thread may have its own folder.
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("gcn-diff-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        fs::create_dir(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        Ok(Scratch {
            dir,
            next: AtomicU64::new(0),
        })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns a unique path that ends in `name`.
    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(format!(
            "{}-{name}",
            self.next.fetch_add(1, Ordering::Relaxed)
        ))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A temporary folder that cannot be removed is harmless.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// The results of a program.
pub struct Outcome {
    /// `None` if a signal ended it, or it exceeded the time limit.
    pub status: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
    /// The contents of the `-o` file, if it had one.
    pub file: Option<Vec<u8>>,
}

/// The time limit of a batch. The largest batches take some seconds.
const LIMIT: Duration = Duration::from_secs(180);

/// The exit status; `None` if a signal ended the program, for example because it exceeded the time limit.
fn wait(mut child: Child) -> Result<Option<i32>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        if start.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs `program args… INPUT` (and `-o OUT` if `output`) on a file with the bytes of `input`. The streams are files, because
/// pipes could fill up.
///
/// # Errors
/// If the program cannot be started or a file cannot be written; a failing program is an `Outcome`.
pub fn run<S: AsRef<OsStr>>(
    scratch: &Scratch,
    program: &Path,
    args: &[S],
    input: &[u8],
    output: bool,
) -> Result<Outcome> {
    let (input_path, out_path) = (scratch.path("in"), scratch.path("out"));
    let (stdout_path, stderr_path) = (scratch.path("stdout"), scratch.path("stderr"));
    fs::write(&input_path, input)?;
    let mut command = Command::new(program);
    command.args(args).arg(&input_path).stdin(Stdio::null());
    // LLVM's tools look up the symbols of their stack when they crash, which takes longer than the batch.
    command.env("LLVM_DISABLE_SYMBOLIZATION", "1");
    command
        .stdout(File::create(&stdout_path)?)
        .stderr(File::create(&stderr_path)?);
    if output {
        command.arg("-o").arg(&out_path);
    }
    let child = command
        .spawn()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let outcome = Outcome {
        status: wait(child)?,
        stdout: fs::read(&stdout_path)?,
        stderr: String::from_utf8_lossy(&fs::read(&stderr_path)?).into_owned(),
        file: if output {
            fs::read(&out_path).ok()
        } else {
            None
        },
    };
    for path in [input_path, out_path, stdout_path, stderr_path] {
        // It is removed with the folder at the latest.
        let _ = fs::remove_file(path);
    }
    Ok(outcome)
}
