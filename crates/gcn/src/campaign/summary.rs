//! The results of a campaign.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{Campaign, Kind, Outcome, Record};

/// The maximum number of items that the text lists for each section.
const LISTED: usize = 20;

/// The results of a section.
pub struct SectionSummary {
    /// Its name.
    pub name: String,
    /// `sweep`, `mutate` or `fuzz`.
    pub kind: &'static str,
    /// Its items.
    pub items: u64,
    /// The items that have run.
    pub done: u64,
    /// The number of items of each outcome.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// The number of items in which a check reported something.
    pub checks: BTreeMap<String, u64>,
    /// The items that need attention: failures in a sweep or with a random program, and mutations that survived.
    pub notable: Vec<Record>,
    /// The number of items that should have passed and did not.
    pub bad: u64,
}

/// The results of a campaign.
pub struct Summary {
    /// Its file.
    pub campaign: String,
    /// Its items.
    pub items: u64,
    /// The items that have run.
    pub done: u64,
    /// The sections, in the order of their items.
    pub sections: Vec<SectionSummary>,
}

impl Campaign {
    /// Summarizes records, in any order.
    pub fn summary(&self, records: &[Record]) -> Summary {
        let mut records: Vec<&Record> = records.iter().collect();
        records.sort_by_key(|r| r.item);
        let sections = self.sections.iter().map(|section| {
            let mut summary = SectionSummary {
                name: section.name.clone(),
                kind: section.kind(),
                items: section.items,
                done: 0,
                outcomes: BTreeMap::new(),
                checks: BTreeMap::new(),
                notable: Vec::new(),
                bad: 0,
            };
            let range = section.first..section.first + section.items;
            for record in records.iter().filter(|r| range.contains(&r.item)) {
                summary.done += 1;
                *summary.outcomes.entry(record.outcome).or_default() += 1;
                let reports = record.json["reports"].as_array();
                let mut checks: Vec<&str> = reports
                    .into_iter()
                    .flatten()
                    .filter_map(|r| r["check"].as_str())
                    .collect();
                checks.sort_unstable();
                checks.dedup();
                for check in checks {
                    *summary.checks.entry(check.to_owned()).or_default() += 1;
                }
                // The first item of mutations is the unchanged code.
                let mutation =
                    matches!(section.kind, Kind::Mutate(_)) && record.item != range.start;
                let (notable, bad) = match record.outcome {
                    Outcome::Error => (true, true),
                    Outcome::Ok => (false, false),
                    outcome if mutation => (outcome == Outcome::Survived, false),
                    _ => (true, true),
                };
                summary.bad += u64::from(bad);
                if notable {
                    summary.notable.push((*record).clone());
                }
            }
            summary
        });
        let sections: Vec<SectionSummary> = sections.collect();
        Summary {
            campaign: self.path.display().to_string(),
            items: self.items(),
            done: sections.iter().map(|s| s.done).sum(),
            sections,
        }
    }
}

/// An item as one line.
fn line(record: &Record) -> String {
    let json = &record.json;
    let mut text = format!("item {} {}", record.item, record.outcome.name());
    if let Some(parameters) = json["parameters"].as_object() {
        let all: Vec<String> = parameters.iter().map(|(k, v)| format!("{k}={v}")).collect();
        text += &format!(" [{}]", all.join(" "));
    }
    for key in ["mutation", "target", "seed"] {
        match &json[key] {
            Json::Null => {}
            Json::String(value) => text += &format!(" {value}"),
            value => text += &format!(" {key} {value}"),
        }
    }
    let report = json["reports"].get(0).map(|report| {
        let word = |key: &str| report[key].as_str().unwrap_or("").to_owned();
        format!("{}: {}", word("check"), word("message"))
    });
    let message = json["message"]
        .as_str()
        .map(|m| m.lines().next().unwrap_or("").to_owned());
    if let Some(message) = report.or(message) {
        text += &format!(": {message}");
    }
    text
}

impl Summary {
    /// The number of items that should have passed and did not.
    pub fn bad(&self) -> u64 {
        self.sections.iter().map(|s| s.bad).sum()
    }

    /// As text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for section in &self.sections {
            let SectionSummary {
                name,
                kind,
                items,
                done,
                ..
            } = section;
            text += &format!("{name} ({kind}): {done} of {items} items");
            for (outcome, n) in &section.outcomes {
                text += &format!(", {n} {}", outcome.name());
            }
            text.push('\n');
            if !section.checks.is_empty() {
                let all: Vec<String> = section
                    .checks
                    .iter()
                    .map(|(c, n)| format!("{c} in {n}"))
                    .collect();
                text += &format!("  reported: {}\n", all.join(", "));
            }
            for record in section.notable.iter().take(LISTED) {
                text += &format!("  {}\n", line(record));
            }
            if section.notable.len() > LISTED {
                text += &format!(
                    "  and {} more (--json lists all)\n",
                    section.notable.len() - LISTED
                );
            }
        }
        text
    }

    /// As JSON.
    pub fn json(&self) -> Json {
        let sections = self.sections.iter().map(|s| {
            let outcomes: BTreeMap<&str, u64> = s.outcomes.iter().map(|(o, n)| (o.name(), *n)).collect();
            let notable: Vec<&Json> = s.notable.iter().map(|r| &r.json).collect();
            json!({"name": s.name, "kind": s.kind, "items": s.items, "done": s.done, "outcomes": outcomes, "checks": s.checks, "bad": s.bad, "notable": notable})
        });
        let sections: Vec<Json> = sections.collect();
        json!({"campaign": self.campaign, "items": self.items, "done": self.done, "bad": self.bad(), "sections": sections})
    }
}
