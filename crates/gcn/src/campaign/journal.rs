//! The journal of a campaign: a line for each item that has run.
//!
//! A line is 16 hexadecimal digits, a space, JSON, and a line break; the digits are the first half of the JSON's BLAKE3 hash. The
//! first line names the campaign. Records are appended and synchronised before they count. A crash loses only records that were
//! not synchronised: an incomplete record and all after it are cut off when the journal is opened again, and their items run
//! again.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::{Campaign, Outcome};
use crate::io;

/// The record of an item.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// The item's number.
    pub item: u64,
    /// The result.
    pub outcome: Outcome,
    /// The complete record.
    pub json: Json,
}

impl Record {
    /// Reads a record's JSON.
    ///
    /// # Errors
    /// A sentence.
    pub fn parse(text: &str) -> Result<Record, String> {
        let json: Json = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let item = json["item"].as_u64().ok_or("a record has no `item`")?;
        let outcome = json["outcome"].as_str().and_then(Outcome::parse);
        let outcome = outcome.ok_or("a record has no `outcome`")?;
        Ok(Record {
            item,
            outcome,
            json,
        })
    }
}

/// The hash of a line's text.
fn checksum(text: &str) -> String {
    let hash = blake3::hash(text.as_bytes());
    hash.as_bytes()[..8]
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

/// The line of a text: its checksum, and the text, which has no line break.
pub fn line(text: &str) -> String {
    format!("{} {text}\n", checksum(text))
}

/// The text of an undamaged line, without its line break.
fn intact(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line).ok()?;
    let (sum, text) = line.split_once(' ')?;
    (sum == checksum(text)).then_some(text)
}

/// The contents of a journal.
pub struct Contents {
    /// The campaign's hash.
    pub campaign: String,
    /// The campaign's items.
    pub items: u64,
    /// The undamaged records, in their order.
    pub records: Vec<Record>,
    /// The length of the header and the undamaged records. The rest is incomplete.
    pub intact: usize,
}

/// Reads a journal's bytes.
///
/// # Errors
/// A sentence: the bytes are not a journal.
pub fn parse(bytes: &[u8]) -> Result<Contents, String> {
    let mut lines = bytes.split_inclusive(|b| *b == b'\n');
    let mut next = || {
        let line = lines.next()?.strip_suffix(b"\n")?;
        Some((line.len() + 1, intact(line)?))
    };
    let no_journal = "it is no journal of gcn campaign";
    let (mut length, header) = next().ok_or(no_journal)?;
    let header: Json = serde_json::from_str(header).map_err(|_| no_journal)?;
    let campaign = header["campaign"].as_str().ok_or(no_journal)?.to_owned();
    let items = header["items"].as_u64().ok_or(no_journal)?;
    if header["gcn-campaign"] != 1 {
        return Err("it is a journal of another version of gcn campaign".into());
    }
    let mut records = Vec::new();
    while let Some((n, text)) = next() {
        let record = Record::parse(text)?;
        if record.item >= items {
            let item = record.item;
            return Err(format!("there is a record of item {item} of {items}"));
        }
        records.push(record);
        length += n;
    }
    Ok(Contents {
        campaign,
        items,
        records,
        intact: length,
    })
}

/// A journal that is open, and locked against other processes.
pub struct Journal {
    path: PathBuf,
    file: File,
    records: Vec<Record>,
    /// Bytes that were cut off: records that a crash left incomplete.
    torn: usize,
}

impl Journal {
    /// Opens the campaign's journal, or begins it.
    ///
    /// # Errors
    /// A message: the file is not a journal or belongs to another campaign, another process has it open, or it cannot be written.
    pub fn open(path: &Path, campaign: &Campaign) -> Result<Journal, String> {
        let named = |e: std::io::Error| io::named(path, e);
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(named)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(io::named(
                    path,
                    "another process has the journal open; --shard gives each process its own",
                ));
            }
            // Some file systems have no locks.
            Err(TryLockError::Error(_)) => {}
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(named)?;
        let header = line(
            &json!({"gcn-campaign": 1, "campaign": campaign.print(), "items": campaign.items()})
                .to_string(),
        );
        // A header that was not written completely has no records after it.
        if header.as_bytes().starts_with(&bytes) && bytes.len() < header.len() {
            file.set_len(0).map_err(named)?;
            file.rewind().map_err(named)?;
            file.write_all(header.as_bytes()).map_err(named)?;
            file.sync_all().map_err(named)?;
            bytes = header.into_bytes();
        }
        let contents = parse(&bytes).map_err(|e| io::named(path, e))?;
        if contents.campaign != campaign.print() {
            return Err(io::named(
                path,
                "the journal is of another campaign: the file, a plan, its code or its data have changed since; \
                 delete the journal to begin anew, or name another with --journal",
            ));
        }
        let torn = bytes.len() - contents.intact;
        if torn > 0 {
            file.set_len(contents.intact as u64).map_err(named)?;
            file.sync_all().map_err(named)?;
        }
        file.seek(SeekFrom::Start(contents.intact as u64))
            .map_err(named)?;
        let mut records = contents.records;
        records.sort_by_key(|r| r.item);
        records.dedup_by_key(|r| r.item);
        Ok(Journal {
            path: path.to_owned(),
            file,
            records,
            torn,
        })
    }

    /// The records: those that were read, in ascending order of items, then the added ones in their order.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Bytes that were cut off when it was opened.
    pub fn torn(&self) -> usize {
        self.torn
    }

    /// Appends records, and waits until they are durable.
    ///
    /// # Errors
    /// A message with the file's name.
    pub fn append(&mut self, records: Vec<Record>) -> Result<(), String> {
        let text: String = records.iter().map(|r| line(&r.json.to_string())).collect();
        let written = self.file.write_all(text.as_bytes());
        let synced = written.and_then(|()| self.file.sync_data());
        synced.map_err(|e| io::named(&self.path, e))?;
        self.records.extend(records);
        Ok(())
    }
}

/// The records of several journals of a campaign, merged; items in ascending order.
///
/// # Errors
/// A message: a file is not a journal of the campaign, or two have different records of one item.
pub fn unite(paths: &[PathBuf], campaign: &Campaign) -> Result<Vec<Record>, String> {
    let mut all: Vec<(usize, Record)> = Vec::new();
    for (n, path) in paths.iter().enumerate() {
        let contents = parse(&io::read(path)?).map_err(|e| io::named(path, e))?;
        if contents.campaign != campaign.print() {
            return Err(io::named(path, "the journal is of another campaign"));
        }
        all.extend(contents.records.into_iter().map(|record| (n, record)));
    }
    all.sort_by_key(|(_, record)| record.item);
    for pair in all.windows(2) {
        let [(a, one), (b, two)] = pair else { continue };
        if one.item == two.item && one.outcome != two.outcome {
            return Err(format!(
                "item {} is {} in {} and {} in {}",
                one.item,
                one.outcome.name(),
                paths[*a].display(),
                two.outcome.name(),
                paths[*b].display()
            ));
        }
    }
    all.dedup_by_key(|(_, record)| record.item);
    Ok(all.into_iter().map(|(_, record)| record).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> Vec<u8> {
        let mut text = line(r#"{"gcn-campaign":1,"campaign":"ab","items":9}"#);
        for item in [3, 1, 7] {
            text += &line(&format!(r#"{{"item":{item},"outcome":"ok"}}"#));
        }
        text.into_bytes()
    }

    #[test]
    fn a_torn_tail_is_cut_off() {
        let bytes = journal();
        let whole = parse(&bytes).unwrap();
        assert_eq!((whole.records.len(), whole.intact), (3, bytes.len()));
        let header = bytes.iter().position(|b| *b == b'\n').unwrap() + 1;
        for end in header..bytes.len() {
            let contents = parse(&bytes[..end]).unwrap();
            assert!(
                contents.records.len() < 3 && contents.intact <= end,
                "{end}"
            );
        }
        for end in 0..header {
            assert!(parse(&bytes[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn a_changed_byte_never_gives_another_record() {
        let bytes = journal();
        let whole = parse(&bytes).unwrap();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                if let Ok(contents) = parse(&bytes) {
                    let kept = contents.records.len();
                    assert_eq!(contents.records, whole.records[..kept], "{at}");
                    assert!(kept < 3, "{at}");
                }
            }
        }
    }
}
