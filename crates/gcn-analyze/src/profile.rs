//! The counts of a run: the output of `gcn run --profile --json`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Analysis;

/// The number of executions of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Executions by a wave.
    pub times: u64,
    /// Active lanes, summed over all executions, of instructions that have lanes.
    pub lanes: Option<u64>,
}

/// The counts of a run by address.
pub struct Profile {
    rows: BTreeMap<u64, Row>,
}

struct Row {
    text: String,
    counts: Counts,
}

impl Profile {
    /// Reads the output of `gcn run --profile --json`, or its field `profile`.
    ///
    /// # Errors
    /// A sentence about what is missing or wrong.
    pub fn parse(text: &str) -> Result<Profile, String> {
        let json: Value = serde_json::from_str(text).map_err(|e| format!("it is no JSON: {e}"))?;
        let profile = json.get("profile").unwrap_or(&json);
        let wrong = "it has no profile: expected the output of `gcn run --profile --json`";
        let list = (profile.get("instructions"))
            .and_then(Value::as_array)
            .ok_or(wrong)?;
        let mut rows = BTreeMap::new();
        for (n, entry) in list.iter().enumerate() {
            let number = |key: &str| {
                let value = entry.get(key).and_then(Value::as_u64);
                value.ok_or_else(|| format!("profile.instructions[{n}].{key}: expected a number"))
            };
            let text = entry.get("inst").and_then(Value::as_str);
            let text = text.ok_or_else(|| {
                format!("profile.instructions[{n}].inst: expected the text of an instruction")
            })?;
            let counts = Counts {
                times: number("times")?,
                lanes: entry.get("lanes").and_then(Value::as_u64),
            };
            let row = Row {
                text: text.to_string(),
                counts,
            };
            if rows.insert(number("address")?, row).is_some() {
                return Err(format!(
                    "profile.instructions[{n}]: there are two instructions at {:#x}: the run was of several files",
                    number("address")?
                ));
            }
        }
        Ok(Profile { rows })
    }

    /// Adds the counts to the instructions. Instructions without a count in the run did not run.
    ///
    /// # Errors
    /// A sentence: another instruction ran at an address, or none of the kernels ran.
    pub fn apply(&self, kernels: &mut [Analysis]) -> Result<(), String> {
        let mnemonic = |text: &str| text.split_whitespace().next().unwrap_or("").to_string();
        let mut found = false;
        for kernel in kernels.iter_mut() {
            for instruction in &mut kernel.instructions {
                let row = self.rows.get(&instruction.pc);
                if let Some(row) = row.filter(|r| mnemonic(&r.text) != mnemonic(&instruction.text))
                {
                    return Err(format!(
                        "the run was of other code: at {:#x} it had `{}`, the file has `{}`",
                        instruction.pc, row.text, instruction.text
                    ));
                }
                found |= row.is_some();
                instruction.counts = Some(row.map(|r| r.counts).unwrap_or_default());
            }
            for found in &mut kernel.loops {
                let header = kernel.instructions.iter().find(|i| i.pc == found.header);
                found.iterations = header.and_then(|i| i.counts).map(|c| c.times);
            }
        }
        match found {
            true => Ok(()),
            false => Err("none of these kernels ran in it".into()),
        }
    }
}

impl Analysis {
    /// The cycles of issue of all executions: the minimum of each instruction times its count. Measured counts, modelled cycles.
    pub fn issued(&self) -> Option<u64> {
        let of = |i: &crate::Instruction| Some(i.counts?.times.saturating_mul(i.cycles.into()));
        let mut sum = self.instructions.iter().map(of);
        sum.try_fold(0u64, |sum, cycles| Some(sum.saturating_add(cycles?)))
    }
}
