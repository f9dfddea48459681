//! The file of a shard: compressed records of bytes.
//!
//! After eight bytes of magic: zlib data of LEB128 numbers and bytes. They are the part and the fingerprint; counts of
//! instructions and waves; the times of each launch in microseconds; the workgroups that accessed memory; and for each region
//! runs of bytes with the same history, then the bytes that were written.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::Part;
use super::observers::{ATOMIC, MIXED, STORED};

const MAGIC: &[u8; 8] = b"GCNshrd1";

/// The maximum number of bytes that zlib expands one byte to.
const MOST_EXPANSION: u64 = 1032;

/// A workgroup of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// The number of the launch in the plan.
    pub launch: u32,
    /// The workgroup's ID.
    pub workgroup: [u32; 3],
}

/// Bytes of a region with the same history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The first byte.
    pub start: u64,
    /// The number of bytes.
    pub len: u64,
    /// The kind of their writes; 0 for none.
    pub kind: u8,
    /// The number, from 1, of the workgroup that wrote them last; 0 none.
    pub writer: u32,
    /// The number of the workgroup that read them first; 0 none.
    pub reader: u32,
}

/// The accesses of a shard to a region.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Touched {
    /// The size of the region.
    pub bytes: u64,
    /// Runs in ascending order.
    pub runs: Vec<Run>,
    /// The bytes of the runs that were written, one after the other.
    pub data: Vec<u8>,
}

/// The result of a shard.
#[derive(Clone, PartialEq, Debug)]
pub struct Shard {
    /// The part of the plan.
    pub part: Part,
    /// The hash of the data that all shards of the plan share.
    pub(super) print: [u8; 32],
    /// Instructions that it executed.
    pub instructions: u64,
    /// Waves that it ran.
    pub waves: u64,
    /// The times of each launch in milliseconds.
    pub ms: Vec<Vec<f64>>,
    pub(super) groups: Vec<Group>,
    pub(super) regions: Vec<Touched>,
}

fn put(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

impl Shard {
    /// The number of bytes that it wrote.
    pub fn written(&self) -> u64 {
        self.regions.iter().map(|r| r.data.len() as u64).sum()
    }

    /// The file's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.part.index);
        put(&mut out, self.part.count);
        out.extend_from_slice(&self.print);
        put(&mut out, self.instructions);
        put(&mut out, self.waves);
        put(&mut out, self.ms.len() as u64);
        for times in &self.ms {
            put(&mut out, times.len() as u64);
            times
                .iter()
                .for_each(|ms| put(&mut out, (ms * 1e3).round() as u64));
        }
        put(&mut out, self.groups.len() as u64);
        for group in &self.groups {
            put(&mut out, group.launch.into());
            group
                .workgroup
                .iter()
                .for_each(|n| put(&mut out, (*n).into()));
        }
        put(&mut out, self.regions.len() as u64);
        for region in &self.regions {
            put(&mut out, region.bytes);
            put(&mut out, region.runs.len() as u64);
            let mut at = 0;
            for run in &region.runs {
                put(&mut out, run.start - at);
                put(&mut out, run.len);
                put(&mut out, run.kind.into());
                put(&mut out, run.writer.into());
                put(&mut out, run.reader.into());
                at = run.start + run.len;
            }
            out.extend_from_slice(&region.data);
        }
        let mut file = MAGIC.to_vec();
        let mut zlib = ZlibEncoder::new(&mut file, Compression::fast());
        // Writing to a vector does not fail.
        let _ = zlib.write_all(&out).and_then(|()| zlib.try_finish());
        drop(zlib);
        file
    }

    /// Reads a file's bytes.
    ///
    /// # Errors
    /// A sentence.
    pub fn from_bytes(file: &[u8]) -> Result<Shard, String> {
        let Some(data) = file.strip_prefix(MAGIC) else {
            return Err("it is no shard: expected a file of gcn run --out-shard".into());
        };
        let mut bytes = Vec::new();
        let most = (data.len() as u64).saturating_mul(MOST_EXPANSION);
        let mut zlib = ZlibDecoder::new(data).take(most);
        zlib.read_to_end(&mut bytes)
            .map_err(|e| format!("the shard is damaged or incomplete: {e}"))?;
        let mut reader = Reader(&bytes);
        let shard = reader.shard().ok_or("the shard is damaged")?;
        match reader.0.is_empty() {
            true => Ok(shard),
            false => Err("the shard is damaged: bytes follow its end".into()),
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            n |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(n);
            }
        }
        None
    }

    fn small<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.number()?).ok()
    }

    /// A count of items that each take at least a byte.
    fn count(&mut self) -> Option<usize> {
        let n: usize = self.small()?;
        (n <= self.0.len()).then_some(n)
    }

    fn take(&mut self, n: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn shard(&mut self) -> Option<Shard> {
        let part = Part {
            index: self.number()?,
            count: self.number()?,
        };
        if part.index >= part.count || part.count > 1 << 20 {
            return None;
        }
        let print = self.take(32)?.try_into().ok()?;
        let (instructions, waves) = (self.number()?, self.number()?);
        let mut ms = Vec::new();
        for _ in 0..self.count()? {
            let times = (0..self.count()?).map(|_| Some(self.number()? as f64 / 1e3));
            ms.push(times.collect::<Option<Vec<f64>>>()?);
        }
        let mut groups = Vec::new();
        for _ in 0..self.count()? {
            groups.push(Group {
                launch: self.small().filter(|n| (*n as usize) < ms.len())?,
                workgroup: [self.small()?, self.small()?, self.small()?],
            });
        }
        let mut regions = Vec::new();
        for _ in 0..self.count()? {
            regions.push(self.region(groups.len())?);
        }
        Some(Shard {
            part,
            print,
            instructions,
            waves,
            ms,
            groups,
            regions,
        })
    }

    fn region(&mut self, groups: usize) -> Option<Touched> {
        let bytes = self.number()?;
        let mut runs: Vec<Run> = Vec::new();
        let (mut at, mut data) = (0u64, 0u64);
        for _ in 0..self.count()? {
            let start = at.checked_add(self.number()?)?;
            let run = Run {
                start,
                len: self.number()?,
                kind: self.small()?,
                writer: self.small()?,
                reader: self.small()?,
            };
            at = start.checked_add(run.len)?;
            let known = |n: u32| n as usize <= groups;
            let kind = match run.kind {
                0 | STORED | MIXED => true,
                kind => kind >= ATOMIC && super::code::Unite::of((kind - ATOMIC) / 2).is_some(),
            };
            let written = run.kind != 0;
            if at > bytes || !kind || !known(run.writer) || !known(run.reader) {
                return None;
            }
            if written != (run.writer != 0) || run.len == 0 || !written && run.reader == 0 {
                return None;
            }
            if written {
                data = data.checked_add(run.len)?;
            }
            runs.push(run);
        }
        let data = self.take(usize::try_from(data).ok()?)?.to_vec();
        Some(Touched { bytes, runs, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard() -> Shard {
        let run = |start, len, kind, writer, reader| Run {
            start,
            len,
            kind,
            writer,
            reader,
        };
        Shard {
            part: Part { index: 1, count: 3 },
            print: [7; 32],
            instructions: 1 << 40,
            waves: 5,
            ms: vec![vec![1.5, 0.001], vec![]],
            groups: vec![
                Group {
                    launch: 0,
                    workgroup: [1, 2, 3],
                },
                Group {
                    launch: 1,
                    workgroup: [0, 0, u32::MAX],
                },
            ],
            regions: vec![
                Touched {
                    bytes: 100,
                    runs: vec![
                        run(4, 4, STORED, 1, 0),
                        run(8, 2, 0, 0, 2),
                        run(40, 8, ATOMIC + 1, 2, 1),
                    ],
                    data: (0..12).collect(),
                },
                Touched::default(),
            ],
        }
    }

    #[test]
    fn files_come_back() {
        let shard = shard();
        assert_eq!(Shard::from_bytes(&shard.to_bytes()), Ok(shard));
    }

    #[test]
    fn damaged_files_are_errors() {
        let file = shard().to_bytes();
        for end in 0..file.len() {
            assert!(Shard::from_bytes(&file[..end]).is_err(), "{end}");
        }
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut file = file.clone();
                file[at] ^= 1 << bit;
                // zlib's header has bits without effect.
                let _ = Shard::from_bytes(&file);
            }
        }
        // The contents may be any bytes.
        let mut random = crate::data::SplitMix(1);
        for _ in 0..20_000 {
            let mut out = Vec::new();
            let mut zlib = ZlibDecoder::new(&file[8..]);
            zlib.read_to_end(&mut out).unwrap();
            let at = (random.next_u64() % out.len() as u64) as usize;
            out[at] = random.next_u64() as u8;
            let mut reader = Reader(&out);
            let _ = reader.shard();
        }
    }
}
