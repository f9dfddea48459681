//! Metrics: bank conflicts of LDS, 64-byte lines of global memory, and active lanes, by instruction.

use std::collections::BTreeMap;

use gcn_emu::probe::{Access, AccessLocation};
use serde_json::{Value, json};

/// The totals over all executions of an instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metric {
    /// The kernel.
    pub kernel: String,
    /// The instruction.
    pub instruction: String,
    /// File and line.
    pub source: Option<String>,
    /// The number of executions by waves.
    pub count: u64,
    /// The sum of active lanes over all executions.
    pub lanes: u64,
    /// Accesses of LDS by a wave, and the conflicts among them.
    pub lds: (u64, u64),
    /// Accesses of memory by a wave, and the lines that they touched.
    pub memory: (u64, u64),
}

/// Banks of LDS, four bytes wide each.
pub const BANKS: u64 = 32;

/// The conflicts of one instruction's accesses of LDS: for each half of the wave, the largest number of dwords in one bank, minus
/// one. Lanes that access the same dword do not conflict.
pub fn conflicts(accesses: &[Access]) -> u64 {
    let mut dwords: Vec<(u8, u64, u64)> = Vec::new();
    for access in accesses {
        if let AccessLocation::Lds(at) = access.location {
            let last = at + access.size.max(1) as u64 - 1;
            for dword in at / 4..=last / 4 {
                dwords.push((access.lane / 32, dword % BANKS, dword));
            }
        }
    }
    dwords.sort_unstable();
    dwords.dedup();
    let mut most = [0u64; 2];
    for bank in dwords.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let half = bank[0].0 as usize & 1;
        most[half] = most[half].max(bank.len() as u64);
    }
    most.iter().map(|n| n.saturating_sub(1)).sum()
}

/// The 64-byte lines of memory that one instruction's accesses touch.
pub fn lines(accesses: &[Access]) -> u64 {
    let mut lines: Vec<u64> = Vec::new();
    for access in accesses {
        if let AccessLocation::Memory(at) = access.location {
            let last = at.saturating_add(access.size.max(1) as u64 - 1);
            lines.extend(at / 64..=last / 64);
        }
    }
    lines.sort_unstable();
    lines.dedup();
    lines.len() as u64
}

/// Metrics by address.
pub type Metrics = BTreeMap<(String, u64), Metric>;

/// Returns the metrics as JSON: the instructions with LDS conflicts and those that access memory, both worst first, and the mean number of active
/// lanes.
pub fn json(metrics: &Metrics) -> Value {
    let list = |mut all: Vec<(&(String, u64), &Metric)>, worst: &dyn Fn(&Metric) -> u64| {
        all.retain(|(_, m)| worst(m) > 0);
        all.sort_by_key(|(at, m)| (std::cmp::Reverse(worst(m)), (*at).clone()));
        all.into_iter()
            .map(|((kernel, pc), m)| {
                json!({
                    "kernel": kernel,
                    "pc": pc,
                    "instruction": m.instruction,
                    "source": m.source,
                    "count": m.count,
                    "mean_active_lanes": m.lanes as f64 / m.count.max(1) as f64,
                    "lds_accesses": m.lds.0,
                    "lds_bank_conflicts": m.lds.1,
                    "memory_accesses": m.memory.0,
                    "memory_lines": m.memory.1,
                })
            })
            .collect::<Vec<_>>()
    };
    let all = || metrics.iter().collect::<Vec<_>>();
    let (count, lanes) = totals(metrics);
    json!({
        "mean_active_lanes": lanes as f64 / count.max(1) as f64,
        "lds": list(all(), &|m| m.lds.0),
        "memory": list(all(), &|m| m.memory.0),
        "divergence": list(all(), &|m| 64 * m.count - m.lanes.min(64 * m.count)),
    })
}

/// Executions of vector instructions, and their active lanes.
fn totals(metrics: &Metrics) -> (u64, u64) {
    (metrics.values()).fold((0, 0), |(n, lanes), m| (n + m.count, lanes + m.lanes))
}

/// The maximum number of lines of a list in the text.
const LISTED: usize = 10;

/// Returns the metrics as text.
pub fn text(metrics: &Metrics) -> String {
    let (count, lanes) = totals(metrics);
    let mean = |count: u64, lanes: u64| lanes as f64 / count.max(1) as f64;
    let mut out = format!(
        "mean active lanes of vector instructions: {:.1} of 64\n",
        mean(count, lanes)
    );
    let mut list =
        |title: &str, worst: &dyn Fn(&Metric) -> u64, show: &dyn Fn(&Metric) -> String| {
            let mut all: Vec<_> = metrics.iter().filter(|(_, m)| worst(m) > 0).collect();
            all.sort_by_key(|(at, m)| (std::cmp::Reverse(worst(m)), (*at).clone()));
            if all.is_empty() {
                return;
            }
            out.push_str(&format!("\n{title}\n"));
            for ((kernel, pc), m) in all.iter().take(LISTED) {
                let source = m
                    .source
                    .as_ref()
                    .map_or(String::new(), |s| format!("  ({s})"));
                let line = format!(
                    "{:>32}  {kernel} {pc:#x}  {}{source}\n",
                    show(m),
                    m.instruction
                );
                out.push_str(&line);
            }
        };
    list("LDS bank conflicts", &|m| m.lds.1, &|m| {
        format!("{} in {} accesses", m.lds.1, m.lds.0)
    });
    list("64-byte lines of memory", &|m| m.memory.1, &|m| {
        format!("{} in {} accesses", m.memory.1, m.memory.0)
    });
    list(
        "inactive lanes",
        &|m| 64 * m.count - m.lanes.min(64 * m.count),
        &|m| format!("{:.1} active, {} times", mean(m.count, m.lanes), m.count),
    );
    out
}
