//! The tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::debian::{self, Half, Prepared};
use super::{Clock, median};

/// The measurements.
pub struct Report {
    set: String,
    target: String,
    clock: Clock,
    lines: Vec<Json>,
    /// The packages of the kernels, and kernels that could not be fetched.
    packages: Vec<String>,
    missing: Vec<(&'static str, String)>,
}

/// A table: its head, and rows of text. All columns except the first are numbers.
struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn text(&self, markdown: bool) -> String {
        let mut widths: Vec<usize> = self.head.iter().map(|h| h.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut out = String::new();
            for (n, (cell, &width)) in cells.zip(&widths).enumerate() {
                let cell = match n {
                    0 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                };
                let _ = match (markdown, n) {
                    (true, _) => write!(out, "| {cell} "),
                    (false, 0) => write!(out, "{cell}"),
                    _ => write!(out, "  {cell}"),
                };
            }
            let end = if markdown { "|\n" } else { "\n" };
            out.trim_end().to_owned() + if markdown { " " } else { "" } + end
        };
        let mut out = line(&mut self.head.iter().copied());
        if markdown {
            let rule = widths.iter().enumerate().map(|(n, &w)| match n {
                0 => format!("|{}", "-".repeat(w + 2)),
                _ => format!("|{}:", "-".repeat(w + 1)),
            });
            out.extend(rule);
            out.push_str("|\n");
        }
        for row in &self.rows {
            out += &line(&mut row.iter().map(String::as_str));
        }
        out
    }
}

/// Formats a number with three significant digits.
fn short(value: f64) -> String {
    match value {
        v if !v.is_finite() => "–".into(),
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

fn numbers(value: &Json) -> Vec<f64> {
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Json::as_f64).collect()
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::min)
}

fn number(value: &Json) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// The geometric mean.
fn mean(ratios: &[f64]) -> f64 {
    let logs: f64 = ratios.iter().map(|r| r.ln()).sum();
    (logs / ratios.len() as f64).exp()
}

/// The ratio of the peer's time to ours: by medians, and by the shortest times.
fn ratios(row: &Json) -> (f64, f64) {
    let (ours, theirs) = (numbers(&row["jit_ms"]), numbers(&row["pocl_ms"]));
    (
        median(&theirs) / median(&ours),
        least(&theirs) / least(&ours),
    )
}

/// A kernel's result as a line, printed immediately.
pub fn progress(row: &Json) -> Option<String> {
    let name = row["kernel"]
        .as_str()
        .filter(|_| row["jit_ms"].is_array())?;
    let wrong = ["as_interp", "as_pocl"].map(|with| row[with].as_str().unwrap_or("ok"));
    let wrong = wrong.into_iter().find(|said| *said != "ok");
    let [ours, theirs] = ["jit_ms", "pocl_ms"].map(|key| median(&numbers(&row[key])));
    Some(format!(
        "{name:45} JIT {:>6} ms, PoCL {:>6} ms, {:.2}{}",
        short(ours),
        short(theirs),
        theirs / ours,
        wrong.map_or(String::new(), |said| format!("  WRONG: {said}"))
    ))
}

/// A row for each optimisation, the most important first.
fn causes_table(lines: &[&Json]) -> Table {
    const ALTERED: f64 = 1.03;
    let mut worth: BTreeMap<&str, Vec<(f64, &str)>> = BTreeMap::new();
    for line in lines {
        let name = line["kernel"].as_str().unwrap_or_default();
        let whole = median(&numbers(&line["causes"][""]));
        for (pass, times) in line["causes"].as_object().into_iter().flatten() {
            let ratio = median(&numbers(times)) / whole;
            if !pass.is_empty() && ratio.is_finite() {
                worth.entry(pass).or_default().push((ratio, name));
            }
        }
    }
    let mut rows: Vec<(f64, Vec<String>)> = Vec::new();
    for (pass, of) in worth {
        let ratios: Vec<f64> = of.iter().map(|o| o.0).collect();
        let all = mean(&ratios);
        let slower: Vec<f64> = ratios.iter().copied().filter(|&r| r > ALTERED).collect();
        let faster = ratios.iter().filter(|&&r| r < 1.0 / ALTERED).count();
        let [most, least] = [
            of.iter().max_by(|a, b| a.0.total_cmp(&b.0)),
            of.iter().min_by(|a, b| a.0.total_cmp(&b.0)),
        ]
        .map(|o| o.map_or(String::new(), |(r, name)| format!("{name} {r:.2}")));
        let row = vec![
            pass.to_owned(),
            format!("{all:.3}"),
            slower.len().to_string(),
            short(mean(&slower)),
            faster.to_string(),
            most,
            least,
        ];
        rows.push((all, row));
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let head = [
        "pass",
        "geometric mean",
        "slower without it",
        "their mean",
        "faster without it",
        "most",
        "least",
    ];
    Table {
        head: head.to_vec(),
        rows: rows.into_iter().map(|r| r.1).collect(),
    }
}

impl Report {
    pub fn new(set: &str, target: &str, clock: Clock) -> Report {
        Report {
            set: set.into(),
            target: target.into(),
            clock,
            lines: Vec::new(),
            packages: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Sets the packages of the kernels.
    pub fn prepared(&mut self, prepared: &Prepared) {
        self.packages.clone_from(&prepared.packages);
        self.missing.clone_from(&prepared.missing);
    }

    /// The kernels that failed, or whose results differ from the interpreter's or from PoCL's.
    pub fn wrong(&self) -> Vec<String> {
        let bad = self.lines.iter().filter_map(|line| {
            let name = line["kernel"].as_str()?;
            let differs = |with: &str| line[with].as_str().is_some_and(|said| said != "ok");
            let bad = line["failed"].is_string() || differs("as_interp") || differs("as_pocl");
            bad.then(|| name.to_owned())
        });
        let mut bad: Vec<String> = bad.collect();
        bad.dedup();
        bad
    }

    /// Adds the results of a process.
    pub fn add(&mut self, lines: Vec<Json>) {
        self.lines.extend(lines);
    }

    /// The table of the optimisations' effects: the ratios of the launch times without them.
    pub fn causes(&self, markdown: bool) -> String {
        let mut out = String::new();
        let of = |line: &&Json| line["causes"].is_object();
        let lines: Vec<&Json> = self.lines.iter().filter(of).collect();
        let mut threads: Vec<u64> = lines.iter().filter_map(|l| l["threads"].as_u64()).collect();
        threads.sort_unstable();
        threads.dedup();
        for n in threads {
            let rows: Vec<&Json> = lines
                .iter()
                .copied()
                .filter(|l| l["threads"].as_u64() == Some(n))
                .collect();
            let _ = writeln!(
                out,
                "{}Threads: {n}; {} kernels; times without an optimisation over times with it\n",
                if out.is_empty() { "" } else { "\n" },
                rows.len()
            );
            out += &causes_table(&rows).text(markdown);
        }
        out
    }

    fn kernels(&self) -> impl Iterator<Item = &Json> {
        self.lines.iter().filter(|l| l["jit_ms"].is_array())
    }

    /// Returns all results and the values computed from them as JSON.
    pub fn json(&self) -> Json {
        let lines = self.lines.iter().map(|line| {
            let mut line = line.clone();
            if line["jit_ms"].is_array() {
                let (ratio, of_least) = ratios(&line);
                line["ratio"] = json!(ratio);
                line["ratio_of_least"] = json!(of_least);
            }
            let entry = line["kernel"].as_str().and_then(debian::find);
            if let Some(entry) = entry.filter(|_| self.set == "debian") {
                line["half"] = json!(entry.half().name());
            }
            line
        });
        let missing = self.missing.iter();
        let missing = missing.map(|(name, why)| json!({ "kernel": name, "why": why }));
        json!({
            "set": self.set, "target": self.target, "clock": self.clock.name(),
            "lines": lines.collect::<Vec<_>>(),
            "packages": self.packages, "missing": missing.collect::<Vec<_>>(),
        })
    }

    /// The tables, as text or as Markdown.
    pub fn text(&self, markdown: bool) -> String {
        let mut threads: Vec<u64> = self
            .kernels()
            .filter_map(|l| l["threads"].as_u64())
            .collect();
        threads.sort_unstable();
        threads.dedup();
        let clock = match self.clock {
            Clock::Wall => "time",
            Clock::Cpu => "processor time of all threads",
        };
        let mut out = String::new();
        if let Some(name) = self.lines.iter().find_map(|l| l["pocl"].as_str()) {
            let _ = writeln!(out, "{}, {clock}; {name}", self.target);
        } else {
            let _ = writeln!(out, "{}, {clock}; no PoCL", self.target);
        }
        for n in threads {
            let what = if n == 1 { "One thread" } else { "Threads" };
            let many = if n == 1 {
                String::new()
            } else {
                format!(": {n}")
            };
            let _ = writeln!(out, "\n{what}{many}\n");
            out += &self.threads(n, markdown);
        }
        out += &self.compile(markdown);
        out += &self.more(markdown);
        out
    }

    /// The tables of Debian's programs.
    pub fn programs(&self, markdown: bool) -> String {
        let mut out = format!("{}; packages: {}\n", self.target, self.packages.join(", "));
        if let Some(name) = self.lines.iter().find_map(|l| l["pocl"].as_str()) {
            let _ = writeln!(out, "{name}");
        }
        let mut threads: Vec<u64> = self
            .kernels()
            .filter_map(|l| l["threads"].as_u64())
            .collect();
        threads.sort_unstable();
        threads.dedup();
        for &n in &threads {
            let _ = writeln!(out, "\nThreads: {n}\n");
            out += &self.programs_table(n, markdown);
        }
        out.push('\n');
        for &n in &threads {
            for half in [Half::Build, Half::HeldOut] {
                out += &self.half(n, half);
            }
        }
        out += &self.programs_compile();
        for line in self.lines.iter().filter(|l| l["failed"].is_string()) {
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            let _ = writeln!(
                out,
                "FAILED {} ({} threads): {}",
                text("kernel"),
                line["threads"],
                text("failed")
            );
        }
        for (name, why) in &self.missing {
            let _ = writeln!(out, "SKIPPED {name}: {why}");
        }
        out
    }

    fn programs_table(&self, threads: u64, markdown: bool) -> String {
        let head = [
            "kernel",
            "half",
            "JIT ms",
            "PoCL ms",
            "JIT/PoCL",
            "by minima",
            "first ms",
            "PoCL first",
            "GCN instr",
            "ms/100 instr",
            "buffers MB",
            "over them",
            "interpreted",
            "results",
        ];
        let mut table = Table {
            head: head.to_vec(),
            rows: Vec::new(),
        };
        for row in self
            .kernels()
            .filter(|l| l["threads"].as_u64() == Some(threads))
        {
            let name = row["kernel"].as_str().unwrap_or_default();
            let (ratio, of_least) = ratios(row);
            let said = ["as_interp", "as_pocl"].map(|k| (k, row[k].as_str().unwrap_or("ok")));
            let wrong = said.iter().find(|(_, said)| *said != "ok");
            let compile = &row["compile"];
            let memory = self
                .lines
                .iter()
                .find(|l| l["peak"].is_number() && l["kernel"] == *name);
            let buffers = memory.map_or(f64::NAN, |l| number(&l["buffers"]));
            let peak = memory.map_or(f64::NAN, |l| number(&l["peak"]));
            table.rows.push(vec![
                name.to_owned(),
                debian::find(name)
                    .map_or("", |entry| entry.half().name())
                    .to_owned(),
                short(median(&numbers(&row["jit_ms"]))),
                short(median(&numbers(&row["pocl_ms"]))),
                format!("{ratio:.2}"),
                format!("{of_least:.2}"),
                short(number(&row["jit_first_ms"])),
                short(number(&row["pocl_build_ms"]) + number(&row["pocl_first_ms"])),
                format!("{:.0}", number(&compile["instructions"])),
                short(100.0 * number(&compile["ms"]) / number(&compile["instructions"])),
                short(buffers / 1e6),
                short((peak - buffers) / 1e6),
                format!("{:.2}%", 100.0 * number(&row["interpreted"])),
                wrong.map_or("ok".into(), |(with, said)| {
                    format!("{}: {said}", with.replace("as_", "not as "))
                }),
            ]);
        }
        table.text(markdown)
    }

    /// Returns a line about a half.
    fn half(&self, threads: u64, half: Half) -> String {
        let rows = self
            .kernels()
            .filter(|l| l["threads"].as_u64() == Some(threads));
        let of = rows.filter_map(|row| {
            let name = row["kernel"].as_str()?;
            let in_half = debian::find(name)?.half() == half;
            let (by_median, of_least) = ratios(row);
            (in_half && by_median.is_finite()).then_some((by_median, of_least, name))
        });
        let mut of: Vec<(f64, f64, &str)> = of.collect();
        of.sort_by(|a, b| a.0.total_cmp(&b.0));
        if of.is_empty() {
            return String::new();
        }
        let medians: Vec<f64> = of.iter().map(|o| o.0).collect();
        let minima: Vec<f64> = of.iter().map(|o| o.1).collect();
        let under = |limit: f64| medians.iter().filter(|&&ratio| ratio < limit).count();
        let worst = of
            .iter()
            .take(6)
            .map(|(ratio, _, name)| format!("{name} {ratio:.2}"));
        format!(
            "{threads} thread{}, {} half, {} kernels: JIT/PoCL geometric mean {:.2} (by minima {:.2}), median {:.2}, under 0.75: {}, \
             under 0.95: {}; worst: {}\n",
            if threads == 1 { "" } else { "s" },
            half.name(),
            of.len(),
            mean(&medians),
            mean(&minima),
            median(&medians),
            under(0.75),
            under(0.95),
            worst.collect::<Vec<_>>().join(", ")
        )
    }

    /// Compile time and memory over all kernels.
    fn programs_compile(&self) -> String {
        let first = self.kernels().next().and_then(|l| l["threads"].as_u64());
        let (mut sums, mut longest) = ([0.0; 2], (0.0, ""));
        for row in self.kernels().filter(|l| l["threads"].as_u64() == first) {
            let (instructions, ms) = (
                number(&row["compile"]["instructions"]),
                number(&row["compile"]["ms"]),
            );
            sums[0] += instructions;
            sums[1] += ms;
            if ms > longest.0 {
                longest = (ms, row["kernel"].as_str().unwrap_or_default());
            }
        }
        let mut out = format!(
            "compiling: {:.2} ms for 100 GCN instructions; longest {:.1} ms ({})\n",
            100.0 * sums[1] / sums[0],
            longest.0,
            longest.1
        );
        let memory = self.lines.iter().filter(|l| l["peak"].is_number());
        let over = memory.map(|l| (number(&l["peak"]) - number(&l["buffers"]), l));
        if let Some((bytes, row)) = over.max_by(|a, b| a.0.total_cmp(&b.0)) {
            let name = row["kernel"].as_str().unwrap_or_default();
            let _ = writeln!(
                out,
                "memory beyond the buffers: {:.0} MB at most ({name})",
                bytes / 1e6
            );
        }
        out
    }

    fn threads(&self, threads: u64, markdown: bool) -> String {
        let head = [
            "kernel",
            "interp ms",
            "JIT ms",
            "PoCL ms",
            "JIT/PoCL",
            "by minima",
            "JIT/interp",
            "M instr/s",
            "interpreted",
            "restarts",
            "results",
        ];
        let mut table = Table {
            head: head.to_vec(),
            rows: Vec::new(),
        };
        let mut all = Vec::new();
        let mut overs = Vec::new();
        for row in self
            .kernels()
            .filter(|l| l["threads"].as_u64() == Some(threads))
        {
            let ours = median(&numbers(&row["jit_ms"]));
            let (ratio, of_least) = ratios(row);
            let over = number(&row["interp_ms"]) / ours;
            let said = ["as_interp", "as_pocl"].map(|k| (k, row[k].as_str().unwrap_or("ok")));
            let wrong = said.iter().find(|(_, said)| *said != "ok");
            let name = row["kernel"].as_str().unwrap_or_default();
            table.rows.push(vec![
                name.to_owned(),
                short(number(&row["interp_ms"])),
                short(ours),
                short(median(&numbers(&row["pocl_ms"]))),
                format!("{ratio:.2}"),
                format!("{of_least:.2}"),
                short(over),
                short(number(&row["instructions"]) / ours / 1e3),
                format!("{:.2}%", 100.0 * number(&row["interpreted"])),
                short(number(&row["restarts"])),
                wrong.map_or("ok".into(), |(with, said)| {
                    format!("{}: {said}", with.replace("as_", "not as "))
                }),
            ]);
            all.push((ratio, name));
            overs.push(over);
        }
        let mut out = table.text(markdown);
        all.retain(|(ratio, _)| ratio.is_finite());
        let of: Vec<f64> = all.iter().map(|a| a.0).collect();
        if let Some((least, name)) = all.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0)) {
            let under = |limit: f64| of.iter().filter(|r| **r < limit).count();
            let _ = writeln!(
                out,
                "\nJIT/PoCL: geometric mean {:.2}, least {least:.2} ({name}), under 0.95: {}, under 0.5: {}, of {}",
                mean(&of),
                under(0.95),
                under(0.5),
                of.len()
            );
        }
        overs.retain(|over: &f64| over.is_finite());
        if !overs.is_empty() {
            let _ = writeln!(out, "JIT/interpreter: geometric mean {:.0}", mean(&overs));
        }
        out
    }

    /// Returns the table of compile times, for the first number of threads, because PoCL caches compiled kernels.
    fn compile(&self, markdown: bool) -> String {
        let first = self.kernels().next().and_then(|l| l["threads"].as_u64());
        let head = [
            "kernel",
            "GCN instr",
            "x86 bytes",
            "bytes/instr",
            "JIT compile ms",
            "ms/100 instr",
            "PoCL build ms",
            "and first launch",
        ];
        let mut table = Table {
            head: head.to_vec(),
            rows: Vec::new(),
        };
        let tables = self.lines.iter().find_map(|l| l["tables_ms"].as_f64());
        let mut sums = [0.0; 2];
        for row in self.kernels().filter(|l| l["threads"].as_u64() == first) {
            let c = &row["compile"];
            let (instructions, bytes, ms) = (
                number(&c["instructions"]),
                number(&c["bytes"]),
                number(&c["ms"]),
            );
            sums[0] += instructions;
            sums[1] += ms;
            let later = median(&numbers(&row["pocl_ms"]));
            table.rows.push(vec![
                row["kernel"].as_str().unwrap_or_default().to_owned(),
                format!("{instructions:.0}"),
                format!("{bytes:.0}"),
                short(bytes / instructions),
                short(ms),
                short(100.0 * ms / instructions),
                short(number(&row["pocl_build_ms"])),
                short(number(&row["pocl_first_ms"]) - later),
            ]);
        }
        if table.rows.is_empty() {
            return String::new();
        }
        format!(
            "\nCompiling\n\n{}\nall: {:.2} ms for 100 GCN instructions; and {} ms of tables, once a process\n",
            table.text(markdown),
            100.0 * sums[1] / sums[0],
            short(tables.unwrap_or(f64::NAN)),
        )
    }

    fn more(&self, markdown: bool) -> String {
        let mut out = String::new();
        let loops: Vec<&Json> = self
            .lines
            .iter()
            .filter(|l| l["rates"].is_array())
            .collect();
        if !loops.is_empty() {
            let head = [
                "loop of vector instructions",
                "threads",
                "M wave instr/s",
                "a thread",
                "best",
                "ticks a wave instr",
                "least",
            ];
            let mut table = Table {
                head: head.to_vec(),
                rows: Vec::new(),
            };
            for row in loops {
                let (rates, threads) = (numbers(&row["rates"]), number(&row["threads"]));
                let best = rates.iter().copied().fold(0.0, f64::max);
                let rate = median(&rates);
                table.rows.push(vec![
                    row["loop"].as_str().unwrap_or_default().to_owned(),
                    format!("{threads}"),
                    short(rate),
                    short(rate / threads),
                    short(best),
                    short(median(&numbers(&row["ticks"]))),
                    short(least(&numbers(&row["ticks"]))),
                ]);
            }
            let _ = write!(out, "\n{}", table.text(markdown));
        }
        let launches: Vec<&Json> = self
            .lines
            .iter()
            .filter(|l| l["median_us"].is_number())
            .collect();
        if !launches.is_empty() {
            let head = [
                "launches of a compiled kernel",
                "threads",
                "work-items",
                "median us",
                "mean us",
            ];
            let mut table = Table {
                head: head.to_vec(),
                rows: Vec::new(),
            };
            for row in launches {
                table.rows.push(vec![
                    format!("vadd, {} times", row["launches"]),
                    format!("{}", row["threads"]),
                    format!("{}", row["items"]),
                    short(number(&row["median_us"])),
                    short(number(&row["mean_us"])),
                ]);
            }
            let _ = write!(out, "\n{}", table.text(markdown));
        }
        let memory = self.lines.iter().filter(|l| l["peak"].is_number());
        let over = memory.map(|l| (number(&l["peak"]) - number(&l["buffers"]), l));
        if let Some((bytes, row)) = over.max_by(|a, b| a.0.total_cmp(&b.0)) {
            let name = row["kernel"].as_str().unwrap_or_default();
            let _ = writeln!(
                out,
                "\nPeak of memory beyond the buffers: {:.0} MB at most ({name}, {:.0} MB of buffers)",
                bytes / 1e6,
                number(&row["buffers"]) / 1e6
            );
        }
        out
    }
}
