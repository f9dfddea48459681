//! Errors: the exception `gcn.Error` with its fields.

use gcn::asm::{Diagnostic, Level};
use gcn::emu::dispatch::RunError;
use gcn::object::CodeObject;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use serde_json::{Map, Value, json};

/// What an exception tells: the message and its fields, as JSON.
pub struct Told {
    kind: &'static str,
    message: String,
    fields: Box<Map<String, Value>>,
    class: &'static str,
}

impl Told {
    /// An error of a kind: `usage`, `assembly`, `object`, `run`, …
    pub fn new(kind: &'static str, message: impl Into<String>) -> Told {
        Told {
            kind,
            message: message.into(),
            fields: Box::default(),
            class: "Error",
        }
    }

    /// Raises another class of `gcn._error`.
    pub fn class(self, class: &'static str) -> Told {
        Told { class, ..self }
    }

    /// Adds a field.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Told {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// The errors of the assembler; the place is the first error's.
    pub fn of_diagnostics(diagnostics: &[Diagnostic]) -> Told {
        let text = gcn::asm::render(diagnostics, false);
        let told = Told::new("assembly", text.trim_end());
        let all: Vec<Value> = diagnostics
            .iter()
            .map(|d| {
                json!({
                    "level": match d.level { Level::Error => "error", Level::Warning => "warning" },
                    "message": d.message, "help": d.help, "file": d.file, "line": d.line, "column": d.column,
                    "source_line": d.source_line,
                })
            })
            .collect();
        let first = diagnostics.iter().find(|d| d.level == Level::Error);
        let told = match first {
            Some(d) => told
                .with("file", d.file.clone())
                .with("line", d.line)
                .with("column", d.column),
            None => told,
        };
        told.with("diagnostics", all)
    }

    /// An error of the library. `objects` are those that were loaded, for the lines of a report.
    pub fn of(error: gcn::Error, objects: &[CodeObject]) -> Told {
        use gcn::Error;
        let message = match objects {
            [] => error.to_string(),
            objects => gcn::locations::report(objects, &error),
        };
        match error {
            Error::File { path, .. } => {
                Told::new("file", message).with("file", path.display().to_string())
            }
            Error::Object(_) | Error::Load(_) | Error::Target(_) => Told::new("object", message),
            Error::Assembly { .. } => Told::new("assembly", message),
            Error::NoKernel { have, .. } | Error::WhichKernel { have } => {
                Told::new("kernel", message).with("kernels", have)
            }
            Error::ArgumentCount { kernel, .. } => {
                Told::new("argument", message).with("kernel", kernel)
            }
            Error::Argument { index, .. } => Told::new("argument", message).with("argument", index),
            Error::Run(run) => Told::of_run(&run, message),
            _ => Told::new("memory", message),
        }
    }

    fn of_run(run: &RunError, message: String) -> Told {
        let mut told = Told::new("run", message);
        match run {
            RunError::Fault { report, .. } => {
                told.kind = "fault";
                told = told
                    .with("fault_address", report.addr)
                    .with("lane", report.lane)
                    .with("instruction", report.text.clone());
                let mut fault = gcn::eval::fault_json(report);
                if let Some(operands) = fault.remove("operands") {
                    told = told.with("operands", operands);
                }
            }
            RunError::Trap { id, .. } => {
                told.kind = "trap";
                told = told.with("trap", *id);
            }
            RunError::Deadlock { .. } | RunError::Livelock { .. } => told.kind = "deadlock",
            RunError::Interrupted { .. } => told.kind = "interrupted",
            RunError::Limit { .. } => told.kind = "limit",
            _ => {}
        }
        if let Some(location) = run.location() {
            let source = location.source.as_deref().and_then(|s| s.lines().next());
            told = told
                .with("kernel", location.kernel.clone())
                .with("workgroup", location.workgroup.to_vec())
                .with("wave", location.wave)
                .with("pc", location.pc)
                .with("address", location.address);
            if let Some((file, line)) = source.and_then(|s| s.rsplit_once(':')) {
                told = told
                    .with("file", file.to_owned())
                    .with("line", line.parse::<u64>().ok());
            }
        }
        told
    }
}

impl From<Told> for PyErr {
    fn from(told: Told) -> PyErr {
        Python::attach(|py| {
            let raise = || -> PyResult<PyErr> {
                let class = py.import("gcn._error")?.getattr(told.class)?;
                let fields = PyDict::new(py);
                fields.set_item("kind", told.kind)?;
                for (name, value) in told.fields.iter() {
                    fields.set_item(name, to_python(py, value)?)?;
                }
                Ok(PyErr::from_value(
                    class.call((told.message.as_str(),), Some(&fields))?,
                ))
            };
            raise().unwrap_or_else(|e| e)
        })
    }
}

/// JSON as Python's objects.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(b) => b.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(n) => match (n.as_u64(), n.as_i64()) {
            (Some(n), _) => n.into_pyobject(py)?.into_any(),
            (_, Some(n)) => n.into_pyobject(py)?.into_any(),
            _ => n.as_f64().unwrap_or(f64::NAN).into_pyobject(py)?.into_any(),
        },
        Value::String(s) => s.into_pyobject(py)?.into_any(),
        Value::Array(list) => {
            let list: PyResult<Vec<_>> = list.iter().map(|v| to_python(py, v)).collect();
            list?.into_pyobject(py)?.into_any()
        }
        Value::Object(map) => {
            static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            let record = CLASS.import(py, "gcn._record", "Record")?.call0()?;
            for (key, value) in map {
                record.set_item(key, to_python(py, value)?)?;
            }
            record
        }
    })
}
