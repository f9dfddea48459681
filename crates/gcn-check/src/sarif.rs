//! Reports as SARIF 2.1.0, which code hosts and editors read.

use serde_json::{Value, json};

use crate::report::{Check, Report, Severity};

/// Returns a log with one run. `file` is the checked file.
pub fn log(reports: &[Report], file: &str) -> Value {
    let rules = Check::ALL.map(|check| {
        json!({
            "id": check.name(),
            "shortDescription": {"text": check.about()},
        })
    });
    let results: Vec<Value> = reports.iter().map(|report| result(report, file)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "gcn check",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "results": results,
        }],
    })
}

fn result(report: &Report, file: &str) -> Value {
    let related: Vec<Value> = (report.related.iter().enumerate())
        .map(|(n, other)| {
            let mut physical = location(file, other.pc, other.source.as_deref(), &report.kernel);
            physical["id"] = n.into();
            physical["message"] = json!({"text": other.message});
            physical
        })
        .collect();
    let rule = Check::ALL.iter().position(|check| *check == report.check);
    json!({
        "ruleId": report.check.name(),
        "ruleIndex": rule,
        "level": match report.severity {
            Severity::Error => "error",
            Severity::Note => "note",
        },
        "message": {"text": report.message},
        "locations": [location(file, Some(report.pc), report.source.as_deref(), &report.kernel)],
        "relatedLocations": related,
        "occurrenceCount": report.count,
        "partialFingerprints": {
            "kernelOffset/v1": format!("{}:{}:{}+{:#x}", report.check.name(), report.rule, report.kernel, report.offset()),
        },
        "properties": {"rule": report.rule, "instruction": report.instruction},
    })
}

/// Returns the line of source if it is known, otherwise the address in the checked file.
fn location(file: &str, pc: Option<u64>, source: Option<&str>, kernel: &str) -> Value {
    let line = source.and_then(|source| {
        let (path, line) = source.rsplit_once(':')?;
        Some((path, line.parse::<u32>().ok().filter(|line| *line > 0)?))
    });
    let mut physical = match line {
        Some((path, line)) => json!({
            "artifactLocation": {"uri": uri(path)},
            "region": {"startLine": line},
        }),
        None => json!({"artifactLocation": {"uri": uri(file)}}),
    };
    if let Some(pc) = pc {
        physical["address"] = json!({"absoluteAddress": pc, "kind": "instruction"});
    }
    json!({
        "physicalLocation": physical,
        "logicalLocations": [{"name": kernel, "kind": "function"}],
    })
}

/// Returns a path as a relative or absolute URI reference. Bytes that a URI cannot have are written as %XX.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                out.push(byte as char);
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    match path.starts_with('/') {
        true => format!("file://{out}"),
        false => out,
    }
}
