//! Campaigns: many independent items, with a journal (docs/clusters.md).

use crate::error::{Told, to_python};
use crate::gpu::interruptibly;
use gcn::campaign::{self, journal};
use gcn::emu::dispatch::observers::Control;
use gcn::shard::Part;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A campaign: `len` is the number of its items.
#[pyclass(frozen, module = "gcn")]
pub struct Campaign(Arc<campaign::Campaign>);

fn told(message: String) -> PyErr {
    Told::new("plan", message).into()
}

fn records(texts: &[String]) -> PyResult<Vec<journal::Record>> {
    let records = texts.iter().map(|text| journal::Record::parse(text));
    records.collect::<Result<_, _>>().map_err(told)
}

#[pymethods]
impl Campaign {
    #[new]
    #[pyo3(signature = (file, arch = None))]
    fn new(file: PathBuf, arch: Option<&str>) -> PyResult<Campaign> {
        let arch = arch.map(crate::cs::target).transpose()?;
        let read = campaign::Campaign::read(&file, arch);
        Ok(Campaign(Arc::new(read.map_err(|e| {
            Told::new("file", e).with("file", file.display().to_string())
        })?)))
    }

    fn __len__(&self) -> usize {
        self.0.items() as usize
    }

    /// The hash of the file and of all that it names.
    #[getter]
    fn print(&self) -> String {
        self.0.print()
    }

    /// Runs an item, and returns its record.
    fn run_item<'py>(&self, py: Python<'py>, item: u64) -> PyResult<Bound<'py, PyAny>> {
        let record = self.record(py, item)?;
        to_python(py, &record.json)
    }

    /// Runs an item, and returns its record as JSON, for `Journal.append`.
    fn run_text(&self, py: Python<'_>, item: u64) -> PyResult<String> {
        Ok(self.record(py, item)?.json.to_string())
    }

    /// Runs what the journal does not have, and returns the summary. By default the journal is beside the file.
    #[pyo3(signature = (journal = None, *, shard = None, threads = None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        journal: Option<PathBuf>,
        shard: Option<(u64, u64)>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let part = match shard {
            None => None,
            Some((index, count)) => {
                let part = Part::parse(&format!("{index}/{count}"));
                Some(part.map_err(|e| Told::new("usage", e))?)
            }
        };
        let path = journal.unwrap_or_else(|| self.0.journal(part));
        let mut journal = journal::Journal::open(&path, &self.0).map_err(told)?;
        let stop = Arc::new(AtomicBool::new(false));
        let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
        let options = campaign::Options {
            part: part.unwrap_or(Part { index: 0, count: 1 }),
            threads: threads.unwrap_or_else(cores),
            stop: stop.clone(),
            progress: &|_| (),
        };
        let (ran, raised) = interruptibly(py, &Control::new(stop), || {
            self.0.run(&mut journal, &options)
        });
        if let Some(raised) = raised {
            return Err(raised);
        }
        ran.map_err(told)?;
        to_python(py, &self.0.summary(journal.records()).json())
    }

    /// Opens the campaign's journal, or begins it.
    #[pyo3(signature = (file = None))]
    fn journal(&self, file: Option<PathBuf>) -> PyResult<Journal> {
        let path = file.unwrap_or_else(|| self.0.journal(None));
        let journal = journal::Journal::open(&path, &self.0).map_err(told)?;
        Ok(Journal {
            campaign: self.0.clone(),
            journal,
        })
    }
}

impl Campaign {
    fn record(&self, py: Python<'_>, item: u64) -> PyResult<journal::Record> {
        let control = Arc::new(Control::default());
        let (record, raised) = interruptibly(py, &control, || self.0.run_item(item, &control));
        match (record, raised) {
            (_, Some(raised)) => Err(raised),
            (Some(record), None) => Ok(record),
            (None, None) => {
                let all = self.0.items();
                Err(Told::new(
                    "usage",
                    format!("there is no item {item}: the campaign has {all}, from 0"),
                )
                .into())
            }
        }
    }
}

/// The journal of a campaign, locked against other processes while the object lives.
#[pyclass(module = "gcn")]
pub struct Journal {
    campaign: Arc<campaign::Campaign>,
    journal: journal::Journal,
}

#[pymethods]
impl Journal {
    /// The numbers of the items that it has.
    #[getter]
    fn done(&self) -> Vec<u64> {
        self.journal.records().iter().map(|r| r.item).collect()
    }

    /// Appends records, the texts of `Campaign.run_text`, and waits until they are on the disk.
    fn append(&mut self, py: Python<'_>, texts: Vec<String>) -> PyResult<()> {
        let records = records(&texts)?;
        let all = self.campaign.items();
        if let Some(record) = records.iter().find(|r| r.item >= all) {
            let message = format!("there is no item {}: the campaign has {all}", record.item);
            return Err(Told::new("usage", message).into());
        }
        py.detach(|| self.journal.append(records)).map_err(told)
    }

    /// The records, as dictionaries in the order of items.
    #[getter]
    fn records<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut records: Vec<&journal::Record> = self.journal.records().iter().collect();
        records.sort_by_key(|r| r.item);
        let all: serde_json::Value = records.into_iter().map(|r| r.json.clone()).collect();
        to_python(py, &all)
    }

    /// What the records come to, as `gcn campaign --json` prints it.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.campaign.summary(self.journal.records()).json())
    }
}
