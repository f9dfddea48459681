//! `gcn campaign`: items, journals, and their state after a kill.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const GCN: &str = env!("CARGO_BIN_EXE_gcn");

/// A folder with the example plans and a campaign.
fn folder(campaign: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for file in ["saxpy.toml", "saxpy.s", "sums.toml", "sums.s"] {
        std::fs::copy(examples.join(file), folder.path().join(file)).expect(file);
    }
    let path = folder.path().join("c.toml");
    std::fs::write(&path, campaign).expect("a file");
    (folder, path)
}

fn gcn(file: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(GCN);
    command.arg("campaign").arg(file).args(args);
    command.output().expect("gcn")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The message for a campaign that is refused.
fn refused(campaign: &str) -> String {
    let (_folder, path) = folder(campaign);
    let output = gcn(&path, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", out(&output));
    err(&output)
}

const SWEEP: &str = r#"
[[sweep]]
name = "sizes"
plan = "saxpy.toml"
matrix.n = [256, 1000, 4096]
matrix."launch.0.args.3" = ["f32:2.0", "f32:1.0"]
set."buffers.x.count" = "${n}"
set."buffers.y.count" = "${n}"
set."launch.0.grid" = ["${(n + 255) / 256 * 256}"]
set."launch.0.args.2" = "u32:${n}"
exclude = [{ n = 256, "launch.0.args.3" = "f32:1.0" }]
include = [{ n = 7, "launch.0.args.3" = "f32:2.0" }]
"#;

#[test]
fn a_sweep_runs_every_combination() {
    let (folder, path) = folder(SWEEP);
    let results = folder.path().join("r.jsonl");
    let output = gcn(
        &path,
        &["--json", "--results", &results.display().to_string()],
    );
    // With the factor 1 the plan's check fails.
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(
        err(&output).contains("2 of 6 items are not right"),
        "{}",
        err(&output)
    );
    let summary: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(
        summary["sections"][0]["outcomes"],
        serde_json::json!({"ok": 4, "wrong": 2})
    );
    let text = std::fs::read_to_string(&results).expect("results");
    let records: Vec<serde_json::Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).expect("JSON"))
        .collect();
    let shown: Vec<String> = records
        .iter()
        .map(|r| {
            format!(
                "{} {} {}",
                r["parameters"]["n"], r["parameters"]["launch.0.args.3"], r["outcome"]
            )
        })
        .collect();
    let expected = [
        r#"1000 "f32:2.0" "ok""#,
        r#"4096 "f32:2.0" "ok""#,
        r#"256 "f32:2.0" "ok""#,
        r#"1000 "f32:1.0" "wrong""#,
        r#"4096 "f32:1.0" "wrong""#,
        r#"7 "f32:2.0" "ok""#,
    ];
    let sorted = |mut list: Vec<String>| {
        list.sort();
        list
    };
    assert_eq!(sorted(shown), sorted(expected.map(str::to_owned).to_vec()));
    // One item again, without a journal.
    let output = gcn(&path, &["--item", "5"]);
    let record: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(record, records[5]);
    let output = gcn(&path, &["--item", "6"]);
    assert!(
        err(&output).contains("there is no item 6: the campaign has 6"),
        "{}",
        err(&output)
    );
}

#[test]
fn mutations_are_noticed_or_survive() {
    let (_folder, path) = folder(
        "[[mutate]]\nplan = \"sums.toml\"\nkernel = \"block_sums\"\nof = [\"barriers\", \"waits\", \"operands\"]\n",
    );
    let output = gcn(&path, &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let summary: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    let outcomes = &summary["sections"][0]["outcomes"];
    assert_eq!(outcomes["ok"], 1, "the code as it is: {summary}");
    assert!(outcomes["reported"].as_u64() > Some(5), "{summary}");
    assert!(outcomes["survived"].as_u64() > Some(0), "{summary}");
    assert!(
        summary["sections"][0]["checks"]["waitcnt"].as_u64() > Some(0),
        "{summary}"
    );
}

#[test]
fn shards_and_their_summary_are_the_whole() {
    let campaign =
        format!("{SWEEP}\n[[fuzz]]\ntarget = [\"gfx600\", \"gfx900\"]\nseeds = \"1..=6\"\n");
    let (folder, path) = folder(&campaign);
    let whole = gcn(&path, &["--json", "--results", "-"]);
    assert!(out(&whole).lines().count() == 19, "{}", out(&whole));
    let mut journals = Vec::new();
    for n in 0..5 {
        gcn(&path, &["--shard", &format!("{n}/5"), "--threads", "1"]);
        journals.push(
            folder
                .path()
                .join(format!("c.{n}-of-5.journal"))
                .display()
                .to_string(),
        );
    }
    let mut args = vec!["--json", "--results", "-", "--summary"];
    args.extend(journals[..4].iter().map(String::as_str));
    let part = gcn(&path, &args);
    assert!(
        err(&part).contains("items are not right") || err(&part).contains("have not run"),
        "{}",
        err(&part)
    );
    args.push(&journals[4]);
    let united = gcn(&path, &args);
    assert_eq!(out(&united), out(&whole));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let sweep = |rest: &str| format!("[[sweep]]\nplan = \"saxpy.toml\"\n{rest}\n");
    for (campaign, message) in [
        (
            "".to_owned(),
            "c.toml: there is no [[sweep]], [[mutate]] or [[fuzz]]",
        ),
        ("[[sweep]]\nplan = \"none.toml\"\n".into(), "none.toml"),
        ("[[swep]]\n".into(), "c.toml:1:3: unknown field `swep`"),
        (
            sweep("matrix.n = [1]"),
            "c.toml:3:12: the plan has no `n`; there is: buffers, check, launch, object; a parameter is such a place, or `set` uses it as ${n}",
        ),
        (
            sweep("matrix.\"launch.1.grid\" = [[1]]"),
            "c.toml:3:26: `launch` has no `1`; there is: 0 to 0",
        ),
        (
            sweep("matrix.\"launch.0.grdi\" = [[1]]"),
            "`launch.0` has no `grdi`; there is: args, grid, group, kernel",
        ),
        (
            sweep("matrix.\"buffers.x\" = [1]"),
            "`buffers.x` is a table of the plan, not a value",
        ),
        (
            sweep("set.object = \"${k}\""),
            "`matrix` has no `k`, which `set` uses",
        ),
        (
            sweep("matrix.object = \"5\""),
            "`5` is not a range: expected \"1..=100\" or \"0..64\", or a list of values",
        ),
        (
            sweep("matrix.object = []"),
            "expected a list of values, or a range",
        ),
        (
            sweep("matrix.\"launch.0.args\" = [[]]\nmatrix.\"launch.0.args.2\" = [\"u32:1\"]"),
            "a place is set twice",
        ),
        (
            sweep("checks = \"oob,rase\""),
            "c.toml:3:10: `rase` is no check",
        ),
        (
            sweep("exclude = [{ n = 1 }]"),
            "c.toml:3:12: `matrix` has no `n`",
        ),
        (
            "[[mutate]]\nplan = \"sums.toml\"\nof = [\"waits\", \"jumps\"]\n".into(),
            "c.toml:3:16: `jumps` is nothing that is changed: expected waits, nops, barriers, operands",
        ),
        (
            "[[mutate]]\nplan = \"saxpy.toml\"\nof = [\"barriers\"]\n".into(),
            "has nothing to change of: barriers",
        ),
        (
            "[[fuzz]]\ntarget = \"gfx1030\"\nseeds = [1]\n".into(),
            "c.toml:2:10: `gfx1030` is not a target",
        ),
        (
            "[[fuzz]]\ntarget = \"gfx900\"\nseeds = [\"a\"]\n".into(),
            "`seeds` are integers",
        ),
        (
            "[[fuzz]]\ntarget = \"gfx900\"\nseeds = [1]\ninstructions = 0\n".into(),
            "`instructions` is 0: expected 1 to 4096",
        ),
    ] {
        let told = refused(&campaign);
        assert!(told.contains(message), "{campaign}\n{told}");
    }
}

#[test]
fn a_journal_belongs_to_its_campaign() {
    let (folder, path) = folder(SWEEP);
    gcn(&path, &[]);
    let journal = folder.path().join("c.journal");
    let bytes = std::fs::read(&journal).expect("a journal");
    // The code changes.
    let source = std::fs::read_to_string(folder.path().join("saxpy.s")).expect("source");
    std::fs::write(
        folder.path().join("saxpy.s"),
        source.replace("s_endpgm", "s_nop 0\n\ts_endpgm"),
    )
    .expect("a file");
    let output = gcn(&path, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        err(&output).contains("c.journal: the journal is of another campaign"),
        "{}",
        err(&output)
    );
    std::fs::write(folder.path().join("saxpy.s"), source).expect("a file");
    // Another file under its name is not overwritten.
    std::fs::write(&journal, "notes of mine\n").expect("a file");
    let output = gcn(&path, &[]);
    assert!(
        err(&output).contains("c.journal: it is no journal of gcn campaign"),
        "{}",
        err(&output)
    );
    assert_eq!(std::fs::read(&journal).expect("a file"), b"notes of mine\n");
    // The journal is cut off at every byte of the last line.
    let last = bytes[..bytes.len() - 1]
        .iter()
        .rposition(|b| *b == b'\n')
        .expect("lines")
        + 1;
    for end in (last..bytes.len()).step_by(37).chain([bytes.len() - 1]) {
        std::fs::write(&journal, &bytes[..end]).expect("a file");
        let output = gcn(&path, &[]);
        let noted = err(&output).contains("bytes of records that were not complete are cut off");
        assert_eq!(noted, end > last, "{}", err(&output));
        let sorted = |bytes: &[u8]| {
            let mut lines: Vec<Vec<u8>> =
                bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            lines.sort();
            lines
        };
        assert_eq!(
            sorted(&std::fs::read(&journal).expect("a journal")),
            sorted(&bytes)
        );
    }
}

/// A campaign of this many items is killed five times while it runs, and its results equal those of an uninterrupted run.
fn killed(items: u64) {
    let campaign = format!(
        "checks = \"none\"\n{SWEEP}\n[[mutate]]\nplan = \"sums.toml\"\n[[fuzz]]\ntarget = [\"gfx701\", \"gfx900\"]\nseeds = \"0..{}\"\ninstructions = 8\n",
        (items - 33) / 2
    );
    let (folder, path) = folder(&campaign);
    let file = |name: &str| folder.path().join(name).display().to_string();
    let whole = gcn(
        &path,
        &[
            "--journal",
            &file("whole.journal"),
            "--json",
            "--results",
            &file("whole.jsonl"),
        ],
    );
    let length = || std::fs::metadata(folder.path().join("c.journal")).map_or(0, |m| m.len());
    let all = std::fs::metadata(file("whole.journal"))
        .expect("a journal")
        .len();
    for kill in 1..=5 {
        let mut child = Command::new(GCN)
            .arg("campaign")
            .arg(&path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("gcn");
        let begun = Instant::now();
        while length() < all * kill / 7 && begun.elapsed() < Duration::from_secs(600) {
            std::thread::sleep(Duration::from_millis(1));
        }
        // SIGKILL on Unix.
        child.kill().expect("a process");
        child.wait().expect("a process");
        let now = length();
        assert!(
            now >= all * kill / 7 && now < all,
            "{kill}: {now} of {all} bytes"
        );
    }
    let rest = gcn(&path, &["--json", "--results", &file("rest.jsonl")]);
    assert_eq!(out(&rest), out(&whole));
    assert_eq!(rest.status, whole.status);
    let read = |name: &str| std::fs::read_to_string(file(name)).expect(name);
    let whole = read("whole.jsonl");
    println!("{} items", whole.lines().count());
    assert!(whole == read("rest.jsonl"), "the records differ");
    let numbers = whole
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).expect("JSON")["item"].as_u64());
    assert!(numbers.eq((0..whole.lines().count() as u64).map(Some)));
}

#[test]
fn a_campaign_that_is_killed_loses_nothing() {
    killed(250);
}

/// Minutes: `cargo test --release -p gcn-cli --test campaign -- --ignored --nocapture`.
#[test]
#[ignore = "takes minutes"]
fn ten_thousand_items_killed_five_times() {
    killed(10_033);
}
