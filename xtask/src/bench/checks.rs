//! `cargo xtask bench --checks LIST`: the cost of checks compared with compiled code without checks.

use anyhow::{Context, Result, ensure};
use gcn::check::dynamic;
use serde_json::{Value as Json, json};

use super::cases::Case;
use super::child::{Machine, Options, object, same, timed};
use super::median;

/// Measures a kernel without checks, and with each list of them. The first launch of each is not counted, because it compiles.
pub fn kernel(case: &Case, options: &Options) -> Result<Json> {
    let args = (case.args)();
    let bytes = object(case, options)?;
    let machine = Machine::compiling(&options.target, options)?;
    let kernel = machine.gpu.load(&bytes)?.kernel(case.kernel)?;
    let ready = machine.launch(&kernel, case, &args, options.threads)?;
    ready.launch.run()?;
    let results = ready.read()?;
    let mut times = Vec::new();
    for _ in 0..options.rounds {
        times.push(timed(options.clock, || Ok(ready.launch.run()?))?.0);
    }
    let plain = median(&times);
    let mut row = json!({ "kernel": case.name, "threads": options.threads, "ms": plain });
    for list in &options.checks {
        let checks = dynamic::Options::parse(list).map_err(anyhow::Error::msg)?;
        let ready = machine.launch(&kernel, case, &args, options.threads)?;
        let checked = machine.gpu.check(&ready.launch, checks.clone());
        checked.outcome?;
        same(&args, &results, &ready.read()?).context("the results under checks")?;
        let reports = checked.reports.len();
        let mut times = Vec::new();
        for _ in 0..options.rounds {
            let run = || Ok(machine.gpu.check(&ready.launch, checks.clone()).outcome?);
            times.push(timed(options.clock, run)?.0);
            // Interpreted launches take long.
            if times[0] > 100.0 * plain {
                break;
            }
        }
        row[list.as_str()] = json!({ "ms": median(&times), "reports": reports });
    }
    Ok(row)
}

/// Prints the table of the results of [`kernel`]. Fails if something was reported.
pub fn print(lines: &[Json], lists: &[String], markdown: bool) -> Result<()> {
    let head = |list: &str| match list {
        "" => "default".to_owned(),
        list => list.to_owned(),
    };
    let heads: Vec<String> = lists.iter().map(|list| head(list)).collect();
    match markdown {
        true => {
            println!("| kernel | threads | ms | {} |", heads.join(" | "));
            println!("|---|---:|---:|{}", "---:|".repeat(lists.len()));
        }
        false => println!("kernel threads ms {}", heads.join(" ")),
    }
    let mut logs = vec![0.0; lists.len()];
    let mut reports = 0;
    let rows: Vec<&Json> = lines.iter().filter(|l| l["ms"].is_f64()).collect();
    for row in &rows {
        let ms = row["ms"].as_f64().unwrap_or(f64::NAN);
        let mut cells = vec![
            row["kernel"].as_str().unwrap_or("").to_owned(),
            row["threads"].to_string(),
            format!("{ms:.2}"),
        ];
        for (list, log) in lists.iter().zip(&mut logs) {
            let times = row[list.as_str()]["ms"].as_f64().unwrap_or(f64::NAN) / ms;
            *log += times.ln() / rows.len() as f64;
            reports += row[list.as_str()]["reports"].as_u64().unwrap_or(0);
            cells.push(format!("{times:.2}"));
        }
        match markdown {
            true => println!("| {} |", cells.join(" | ")),
            false => println!("{}", cells.join(" ")),
        }
    }
    let means: Vec<String> = logs.iter().map(|log| format!("{:.2}", log.exp())).collect();
    match markdown {
        true => println!("| geometric mean | | | {} |", means.join(" | ")),
        false => println!("geometric mean {}", means.join(" ")),
    }
    ensure!(reports == 0, "{reports} reports");
    Ok(())
}
