//! The union of shards.

use serde_json::{Value as Json, json};

use super::code::Unite;
use super::file::{Group, Run, Shard, Touched};
use super::observers::{ATOMIC, STORED};
use super::{Refusal, Region, fingerprint, refused, regions};
use crate::plan::{Failure, Options, Plan, Ready, Report};
use gcn_emu::mem::Memory;

/// The maximum number of races that are listed.
const LISTED: usize = 16;

/// The result of the union.
pub struct Merged {
    /// The report of an unsharded run, with the sums of instructions and waves, and for each launch the sum of the shards' times.
    pub report: Report,
    /// The number of shards.
    pub shards: u64,
}

/// Two workgroups of different shards that write different values, or whose writes to the same byte cannot be united.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The buffer or object.
    pub region: String,
    /// The byte of it.
    pub byte: u64,
    /// The two writes: workgroup and byte.
    pub writes: [(Group, u8); 2],
}

impl Race {
    fn text(&self) -> String {
        let [(a, x), (b, y)] = &self.writes;
        format!(
            "  byte {} of {}: {} writes {x:#04x}, {} writes {y:#04x}",
            self.byte,
            self.region,
            shown(a),
            shown(b)
        )
    }

    fn json(&self) -> Json {
        let writes = self.writes.map(|(group, value)| {
            json!({"launch": group.launch, "workgroup": group.workgroup, "value": value})
        });
        json!({"buffer": self.region, "byte": self.byte, "writes": writes})
    }
}

fn shown(group: &Group) -> String {
    let [x, y, z] = group.workgroup;
    format!("workgroup ({x}, {y}, {z}) of launch {}", group.launch)
}

/// The reason why shards could not be united.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The files are not the shards of the plan, or the plan cannot be sharded.
    Failure(Failure),
    /// The first races, and the number of bytes that were written differently.
    Races(Vec<Race>, u64),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        Error::Failure(failure)
    }
}

impl Error {
    /// The message.
    pub fn text(&self) -> String {
        match self {
            Error::Failure(failure) => failure.message.clone(),
            Error::Races(races, bytes) => {
                let mut text = format!(
                    "race: workgroups of different shards write {bytes} bytes differently, so the result depends on their order\n"
                );
                for race in races {
                    text += &race.text();
                    text.push('\n');
                }
                if *bytes > races.len() as u64 {
                    text += &format!("  and {} more bytes\n", bytes - races.len() as u64);
                }
                text
            }
        }
    }

    /// As JSON.
    pub fn json(&self) -> Json {
        match self {
            Error::Failure(failure) => json!({"error": {"message": failure.message}}),
            Error::Races(races, bytes) => {
                let list: Vec<Json> = races.iter().map(Race::json).collect();
                json!({"races": list, "bytes": bytes, "error": {"message": self.text().trim_end()}})
            }
        }
    }
}

/// Unites shards, in any order, and then checks and saves as an unsharded run does. The names of files are for messages.
///
/// # Errors
/// If files are not all shards of the plan, for races, and for reads of bytes that another shard writes.
pub fn merge(
    plan: &Plan,
    options: &Options,
    mut shards: Vec<(String, Shard)>,
) -> Result<Merged, Error> {
    let ready = Ready::new(plan, options)?;
    ready.fill(true)?;
    let regions = regions(plan, &ready);
    let print = fingerprint(plan, &ready, &regions)?;
    shards.sort_by_key(|(_, shard)| shard.part.index);
    complete(&shards, &print, &regions, plan)?;
    let shards: Vec<Shard> = shards.into_iter().map(|(_, shard)| shard).collect();
    let memory = &ready.gpu().machine().memory;
    let mut races = (Vec::new(), 0);
    for (n, region) in regions.iter().enumerate() {
        unite(memory, n, region, &shards, &mut races)?;
    }
    if races.1 > 0 {
        return Err(Error::Races(races.0, races.1));
    }
    let mut report = ready.report();
    for shard in &shards {
        report.instructions += shard.instructions;
        report.waves += shard.waves;
        for (launch, ms) in report.launches.iter_mut().zip(&shard.ms) {
            launch.ms.resize(ms.len(), 0.0);
            let sums = launch.ms.iter_mut().zip(ms);
            sums.for_each(|(sum, ms)| *sum = ((*sum + ms) * 1e3).round() / 1e3);
        }
    }
    if let Some(most) = options.max_instructions
        && report.instructions > most
    {
        let message = format!(
            "the shards ran {} instructions, more than the {most} of max_instructions",
            report.instructions
        );
        return Err(Failure::from(message).into());
    }
    report.checks = ready.finish(plan)?;
    Ok(Merged {
        report,
        shards: shards.len() as u64,
    })
}

/// Checks that the files are the shards of the plan, each once.
fn complete(
    shards: &[(String, Shard)],
    print: &[u8; 32],
    regions: &[Region],
    plan: &Plan,
) -> Result<(), Failure> {
    let Some((first, one)) = shards.first() else {
        return Err("there are no shards to merge".into());
    };
    let count = one.part.count;
    for (name, shard) in shards {
        let sizes = shard.regions.iter().map(|r| r.bytes);
        if &shard.print != print
            || !sizes.eq(regions.iter().map(|r| r.bytes))
            || shard.ms.len() != plan.launches.len()
        {
            return Err(format!(
                "{name}: the shard is of another plan, or the plan, its files or the version of gcn have changed since; run it again"
            )
            .into());
        }
        if shard.part.count != count {
            return Err(format!(
                "{name} is shard {}, and {first} shard {}: expected parts of the same number",
                shard.part, one.part
            )
            .into());
        }
    }
    for pair in shards.windows(2) {
        let [(a, one), (b, other)] = pair else {
            continue;
        };
        if one.part == other.part {
            return Err(format!("{a} and {b} are both shard {}", one.part).into());
        }
    }
    let have = |n: &u64| !shards.iter().any(|(_, s)| s.part.index == *n);
    let missing: Vec<String> = (0..count)
        .filter(have)
        .take(LISTED)
        .map(|n| format!("{n}/{count}"))
        .collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{} of {count} shards are given; missing: {}{}",
            shards.len(),
            missing.join(", "),
            if count as usize - shards.len() > missing.len() {
                ", …"
            } else {
                ""
            }
        )
        .into()),
    }
}

/// The writes of a shard to a region: each run with its bytes.
fn writes(touched: &Touched) -> impl Iterator<Item = (&Run, &[u8])> {
    let mut at = 0;
    touched.runs.iter().filter(|r| r.kind != 0).map(move |run| {
        let bytes = &touched.data[at..at + run.len as usize];
        at += run.len as usize;
        (run, bytes)
    })
}

/// The run that has a byte.
fn run_at(touched: &Touched, byte: u64) -> Option<&Run> {
    let next = touched.runs.partition_point(|r| r.start <= byte);
    let run = touched.runs.get(next.checked_sub(1)?)?;
    (byte < run.start + run.len).then_some(run)
}

/// The workgroup with a number, from 1.
fn group(shard: &Shard, number: u32) -> Group {
    let known = shard.groups.get((number as usize).wrapping_sub(1));
    known.copied().unwrap_or(Group {
        launch: 0,
        workgroup: [0; 3],
    })
}

/// Several shards wrote the byte.
const SEVERAL: u32 = u32::MAX;

/// Unites what the shards wrote to a region, and stores it in memory.
fn unite(
    memory: &Memory,
    n: usize,
    region: &Region,
    shards: &[Shard],
    races: &mut (Vec<Race>, u64),
) -> Result<(), Failure> {
    if shards.iter().all(|s| s.regions[n].runs.is_empty()) {
        return Ok(());
    }
    let size = usize::try_from(region.bytes).map_err(|e| e.to_string())?;
    let mut before = vec![0; size];
    let read = memory.read(region.address, &mut before);
    read.map_err(|e| e.to_string())?;
    let mut now = before.clone();
    // For each byte: the number of the first shard that wrote it, from 1, and the kind of its writes.
    let (mut owner, mut kinds) = (vec![0u32; size], vec![0u8; size]);
    let mut several: Vec<(usize, u32)> = Vec::new();
    for (s, shard) in shards.iter().enumerate() {
        for (run, bytes) in writes(&shard.regions[n]) {
            let start = run.start as usize;
            let mut at = 0;
            while at < bytes.len() {
                let byte = start + at;
                if owner[byte] == 0 {
                    (owner[byte], kinds[byte], now[byte]) = (s as u32 + 1, run.kind, bytes[at]);
                    at += 1;
                    continue;
                }
                let unit = if run.kind >= ATOMIC {
                    4 << ((run.kind - ATOMIC) & 1)
                } else {
                    1
                };
                let united = match united(&before, &now, byte, (run, &bytes[at..]), &kinds, unit) {
                    Some(value) => {
                        now[byte..byte + unit].copy_from_slice(&value[..unit]);
                        (byte..byte + unit).for_each(|b| several.push((b, owner[b])));
                        unit
                    }
                    None => {
                        races.1 += 1;
                        if races.0.len() < LISTED {
                            let first = &shards[(owner[byte] - 1) as usize];
                            let writer = run_at(&first.regions[n], byte as u64);
                            let writer = writer.map_or(0, |run| run.writer);
                            races.0.push(Race {
                                region: region.name.clone(),
                                byte: byte as u64,
                                writes: [
                                    (group(first, writer), now[byte]),
                                    (group(shard, run.writer), bytes[at]),
                                ],
                            });
                        }
                        1
                    }
                };
                at += united;
            }
        }
    }
    for (byte, _) in several {
        owner[byte] = SEVERAL;
    }
    if races.1 > 0 {
        return Ok(());
    }
    for (s, shard) in shards.iter().enumerate() {
        let reads = shard.regions[n].runs.iter().filter(|r| r.reader != 0);
        for run in reads {
            let own = s as u32 + 1;
            let range = run.start as usize..(run.start + run.len) as usize;
            let other = range.clone().find(|b| owner[*b] != 0 && owner[*b] != own);
            let Some(byte) = other else { continue };
            let mut others = shards.iter().enumerate().filter(|(o, _)| *o != s);
            let writer = others.find_map(|(_, other)| {
                let run = run_at(&other.regions[n], byte as u64)?;
                (run.kind != 0).then(|| group(other, run.writer))
            });
            let writer = writer.map_or(String::new(), |w| format!(", which {} writes", shown(&w)));
            let reader = shown(&group(shard, run.reader));
            let location = format!("{reader} reads byte {byte} of {}{writer}", region.name);
            return Err(refused(Refusal::Reads, &location));
        }
    }
    store(memory, region, &before, &now)
}

/// The value that results at `byte` from the writes of two shards; `None` if it depends on their order. The unit of stores is a
/// byte, that of atomics their size.
fn united(
    before: &[u8],
    now: &[u8],
    byte: usize,
    (run, bytes): (&Run, &[u8]),
    kinds: &[u8],
    unit: usize,
) -> Option<[u8; 8]> {
    let mut out = [0; 8];
    if run.kind == STORED {
        out[0] = bytes[0];
        return (kinds[byte] == STORED && now[byte] == bytes[0]).then_some(out);
    }
    let op = Unite::of(run.kind.checked_sub(ATOMIC)? / 2)?;
    // Atomics are aligned: the unit begins where both of them begin.
    let whole = kinds.get(byte..byte + unit)?;
    if !byte.is_multiple_of(unit) || bytes.len() < unit || whole.iter().any(|k| *k != run.kind) {
        return None;
    }
    let value = |from: &[u8]| {
        let mut all = [0; 8];
        all[..unit].copy_from_slice(&from[..unit]);
        u64::from_le_bytes(all)
    };
    let (was, a, b) = (value(&before[byte..]), value(&now[byte..]), value(bytes));
    let bits = unit as u32 * 8;
    Some(op.unite(was, a, b, bits).to_le_bytes())
}

/// Stores the changed bytes.
fn store(memory: &Memory, region: &Region, before: &[u8], now: &[u8]) -> Result<(), Failure> {
    const PIECE: usize = 4096;
    let pieces = now.chunks(PIECE).zip(before.chunks(PIECE)).enumerate();
    for (n, (now, before)) in pieces {
        if now != before {
            let at = region.address + (n * PIECE) as u64;
            memory.write(at, now).map_err(|e| e.to_string())?;
        }
    }
    Ok(())
}
