//! Plans, their shards, and the union of them (docs/clusters.md).

use crate::error::{Told, to_python};
use crate::gpu::interruptibly;
use gcn::plan::{self, Failure, Report};
use gcn::shard::{self, Part, Shard};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn read(plan: &Path, arch: Option<&str>) -> PyResult<(plan::Plan, plan::Options)> {
    let arch = arch.map(crate::cs::target).transpose()?;
    let file = plan.display().to_string();
    let told = |e: String| Told::new("file", e).with("file", file.clone());
    let (plan, mut options) = gcn::plan_toml::read(plan, arch).map_err(told)?;
    if options.threads == 0 {
        options.threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    }
    options.text_to_stderr = true;
    Ok((plan, options))
}

fn failed(failure: Failure) -> Told {
    let kind = match failure.run {
        Some(_) => "run",
        None => "plan",
    };
    Told::new(kind, failure.message)
}

fn of_report(report: &Report) -> Value {
    let launches: Vec<Value> = (report.launches.iter())
        .map(|l| json!({"kernel": l.kernel, "ms": l.ms}))
        .collect();
    let checks: Vec<Value> = (report.checks.iter())
        .map(|c| json!({"buffer": c.buffer, "ok": c.wrong == 0, "compared": c.count, "wrong": c.wrong, "text": c.text()}))
        .collect();
    json!({"launches": launches, "instructions": report.instructions, "waves": report.waves, "checks": checks})
}

/// Runs `work` with the plan, until Ctrl-C.
fn run<T: Send>(
    py: Python<'_>,
    path: &Path,
    arch: Option<&str>,
    work: impl FnOnce(&plan::Plan, &plan::Options) -> Result<T, Told> + Send,
) -> PyResult<T> {
    let (plan, mut options) = read(path, arch)?;
    let control = options.observers.control.get_or_insert_default().clone();
    let (out, raised) = interruptibly(py, &control, || work(&plan, &options));
    match raised {
        Some(raised) => Err(raised),
        None => Ok(out?),
    }
}

/// Runs a plan (docs/plans.md): its launches, checks and saves. Checks that fail are in the result.
#[pyfunction]
#[pyo3(signature = (plan, arch = None))]
pub fn run_plan<'py>(
    py: Python<'py>,
    plan: PathBuf,
    arch: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let report = run(py, &plan, arch, |plan, options| {
        plan::run(plan, options).map_err(failed)
    })?;
    to_python(py, &of_report(&report))
}

/// Runs part `index` of `count` of a plan's workgroups, and returns what it changed, for `merge`.
#[pyfunction]
#[pyo3(signature = (plan, index, count, arch = None))]
pub fn run_shard<'py>(
    py: Python<'py>,
    plan: PathBuf,
    index: u64,
    count: u64,
    arch: Option<&str>,
) -> PyResult<Bound<'py, PyBytes>> {
    let part = Part::parse(&format!("{index}/{count}")).map_err(|e| Told::new("usage", e))?;
    let bytes = run(py, &plan, arch, |plan, options| {
        let shard = shard::run(plan, options, part).map_err(failed)?;
        Ok(shard.to_bytes())
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// Unites all parts of a plan, and checks and saves as `run_plan` does. Races are an error with `kind` "race".
#[pyfunction]
#[pyo3(signature = (plan, shards, arch = None))]
pub fn merge<'py>(
    py: Python<'py>,
    plan: PathBuf,
    shards: Vec<Bound<'py, PyAny>>,
    arch: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut files = Vec::new();
    for (n, file) in shards.iter().enumerate() {
        let name = format!("shard {n} of the list");
        let shard = Shard::from_bytes(&crate::cs::bytes(file)?);
        let shard = shard.map_err(|e| Told::new("plan", format!("{name}: {e}")))?;
        files.push((name, shard));
    }
    let merged = run(py, &plan, arch, |plan, options| {
        shard::merge(plan, options, files).map_err(|error| {
            let kind = match &error {
                shard::Error::Races(..) => "race",
                _ => "plan",
            };
            Told::new(kind, error.text().trim_end())
        })
    })?;
    let mut all = of_report(&merged.report);
    all["shards"] = json!(merged.shards);
    to_python(py, &all)
}
