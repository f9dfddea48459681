//! One process compiles code and another one loads it from disk: results are the same, whatever happens to the files.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[path = "../../gcn-emu/tests/programs/mod.rs"]
mod programs;

use gcn_jit::{Cache, Level, Store};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

const TARGETS: [&str; 5] = ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"];

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("gcn-stored-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// The arguments of [`child`]: the threads, the targets, the level and the folder.
const ASKED: &str = "GCN_TEST_STORED";

/// Starts a process that runs programs with this folder.
fn begin(threads: &str, targets: &[&str], level: Level, folder: &Path) -> Child {
    let asked = format!("{threads} {} {}", targets.join(","), level.name());
    Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "child", "--nocapture"])
        .env(ASKED, format!("{asked} {}", folder.display()))
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process")
}

/// Waits for a process, whose results must be right. Returns the numbers of regions that it read from the folder and that it wrote.
fn end(child: Child) -> (u64, u64) {
    let done = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{text}");
    let line = text
        .lines()
        .find_map(|l| l.split_once("counts "))
        .expect("counts");
    let (found, saved) = line.1.split_once(' ').expect("two");
    (
        found.parse().expect("a number"),
        saved.parse().expect("a number"),
    )
}

/// Runs a process on one thread, so that the same regions are compiled each time. Returns both numbers.
fn run(targets: &[&str], level: Level, folder: &Path) -> (u64, u64) {
    end(begin("1", targets, level, folder))
}

/// The program of the tests' child processes, in which each engine starts empty. It is not a test itself.
#[test]
fn child() {
    let Ok(asked) = std::env::var(ASKED) else {
        return;
    };
    let asked: Vec<&str> = asked.splitn(4, ' ').collect();
    let list = |n: usize| asked[n].split(',');
    let threads: Vec<usize> = list(0).map(|n| n.parse().expect("a number")).collect();
    let targets: Vec<&str> = list(1).collect();
    let level = Level::parse(asked[2]).expect("a level");
    let store = Arc::new(Store::open(Path::new(asked[3])).expect("a folder"));
    let right = programs::run_objects_on(&threads, &targets, || {
        let cache = Cache::with_level(level).stored(store.clone());
        Box::new(move || Box::new(cache.engine()))
    });
    assert!(right >= 10, "{right}");
    let (found, saved) = store.counts();
    println!("\ncounts {found} {saved}");
}

/// Returns the files of a folder except its key, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|e| e.expect("an entry").path());
    let mut files: Vec<PathBuf> = paths.filter(|p| !p.ends_with("key")).collect();
    files.sort();
    files
}

fn levels() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|level| level.available())
}

/// All regions that are compiled the first time are found the second time, with the same results.
#[test]
fn found_again() {
    for level in levels() {
        let folder = folder(level.name());
        let (_, saved) = run(&TARGETS, level, &folder);
        assert!(saved > 100, "{saved}");
        assert_eq!(files(&folder).len() as u64, saved);
        let (found, more) = run(&TARGETS, level, &folder);
        eprintln!("{}: {saved} saved, {found} found", level.name());
        assert!(found >= saved && more == 0, "{found} {more}");
        // On several threads the order of waves varies.
        let (found, _) = end(begin("1,3", &TARGETS, level, &folder));
        assert!(found > saved, "{found}");
        fs::remove_dir_all(folder).expect("a folder");
    }
}

/// Files that were changed, truncated or exchanged are ignored.
#[test]
fn damaged() {
    let Some(level) = levels().last() else {
        return;
    };
    let folder = folder("damaged");
    // Some programs have code in common.
    let (again, saved) = run(&["gfx900"], level, &folder);
    let good: Vec<Vec<u8>> = files(&folder)
        .iter()
        .map(|f| fs::read(f).expect("a file"))
        .collect();
    for how in 0..4 {
        let all = files(&folder);
        assert_eq!(all.len(), good.len());
        for (n, (file, good)) in all.iter().zip(&good).enumerate() {
            let bytes = match how {
                0 => {
                    let mut bytes = good.clone();
                    let at = n * 7919 % bytes.len();
                    bytes[at] ^= 1 << (n % 8);
                    bytes
                }
                1 => good[..n * 7919 % good.len()].to_vec(),
                2 => [&good[..], &good[..]].concat(),
                _ => good_of_another(&all, n),
            };
            fs::write(file, bytes).expect("writable");
        }
        let (found, more) = run(&["gfx900"], level, &folder);
        // This run finds the files that it has saved.
        assert_eq!((more, found), (saved, again));
        for (file, good) in all.iter().zip(&good) {
            fs::write(file, good).expect("writable");
        }
    }
    fs::remove_dir_all(folder).expect("a folder");
}

fn good_of_another(all: &[PathBuf], n: usize) -> Vec<u8> {
    fs::read(&all[(n + 1) % all.len()]).expect("a file")
}

/// Processes that share a folder do not disturb each other, and end with what one alone would have left.
#[test]
fn together() {
    let Some(level) = levels().last() else {
        return;
    };
    let folder = folder("together");
    let one = || begin("1", &["gfx803"], level, &folder);
    let children = [(); 4].map(|()| one());
    for child in children {
        end(child);
    }
    let (found, saved) = end(one());
    assert!(found > 0 && saved == 0, "{found} {saved}");
    fs::remove_dir_all(folder).expect("a folder");
}
