//! Bounds: which bytes of guest memory an access may touch.

use gcn_emu::dispatch::watch::About;
use gcn_emu::mem::{PAGE_SIZE, Perm};

/// An allocation with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The first byte.
    pub address: u64,
    /// How many bytes.
    pub bytes: u64,
    /// What it is: `argument 2 'out'`.
    pub name: String,
}

/// What kind of memory an extent is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// A buffer or a variable.
    Data,
    /// Memory of one wave.
    Scratch,
    /// Code, constants, arguments and packets, which kernels only read.
    Constant,
}

struct Extent {
    start: u64,
    end: u64,
    class: Class,
    /// Stores are allowed.
    writable: bool,
    name: String,
}

/// The extents of a dispatch, in ascending order of addresses.
#[derive(Default)]
pub struct Bounds {
    extents: Vec<Extent>,
    /// The extent that was accessed last.
    last: usize,
    scratch: (u64, u64, u32, u64),
}

/// Why an access is out of bounds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outside {
    /// The rule of the check.
    pub rule: &'static str,
    /// Where it is: `4 bytes past argument 2 'out', 256 bytes at 0x…`.
    pub place: String,
    /// The nearest allocation.
    pub nearest: Option<String>,
}

impl Bounds {
    /// The extents of a dispatch that begins.
    pub fn new(about: &About<'_>, named: &[Allocation]) -> Bounds {
        let (scratch, lane, wave) = about.scratch;
        let mut bounds = Bounds::default();
        for (start, bytes) in about.memory.extents() {
            let mut push = |start: u64, end: u64, class: Class, writable: bool, name: String| {
                bounds.extents.push(Extent {
                    start,
                    end,
                    class,
                    writable,
                    name,
                });
            };
            let end = start + bytes;
            let holds = |at: u64| (start..end).contains(&at);
            let name = named.iter().find(|a| a.address == start);
            if let Some(name) = name {
                push(
                    start,
                    start + name.bytes.min(bytes),
                    Class::Data,
                    true,
                    name.name.clone(),
                );
            } else if holds(about.base.wrapping_add(about.kernel.entry)) {
                // Its segments have permissions of their own; variables lie in those that may be written.
                let mut at = start;
                while at < end {
                    let perm = about.memory.perm(at).unwrap_or(Perm::NONE);
                    let same = |page: &u64| about.memory.perm(*page) == Some(perm);
                    let mut next = at + PAGE_SIZE;
                    while next < end && same(&next) {
                        next += PAGE_SIZE;
                    }
                    let writable = perm.contains(Perm::WRITE);
                    let class = if writable {
                        Class::Data
                    } else {
                        Class::Constant
                    };
                    push(at, next.min(end), class, writable, "the code object".into());
                    at = next;
                }
            } else if about.kernarg == start {
                push(
                    start,
                    end,
                    Class::Constant,
                    false,
                    "the kernel's arguments".into(),
                );
            } else if about.packet == start {
                push(
                    start,
                    end,
                    Class::Constant,
                    false,
                    "the dispatch packet".into(),
                );
            } else if about.queue == start {
                push(start, end, Class::Constant, false, "the queue".into());
            } else if scratch == start && scratch != 0 {
                bounds.scratch = (start, end, lane, wave);
                push(start, end, Class::Scratch, true, "scratch".into());
            } else {
                push(start, end, Class::Data, true, "an allocation".into());
            }
        }
        bounds.extents.sort_by_key(|e| e.start);
        bounds
    }

    /// The addresses of scratch.
    pub fn scratch(&self) -> (u64, u64) {
        (self.scratch.0, self.scratch.1)
    }

    /// The class of memory at an address, if it is in bounds.
    pub fn class(&mut self, at: u64) -> Option<Class> {
        self.find(at).map(|n| self.extents[n].class)
    }

    fn find(&mut self, at: u64) -> Option<usize> {
        let holds = |e: &Extent| (e.start..e.end).contains(&at);
        if self.extents.get(self.last).is_some_and(holds) {
            return Some(self.last);
        }
        let after = self.extents.partition_point(|e| e.start <= at);
        let n = after.checked_sub(1).filter(|n| holds(&self.extents[*n]))?;
        self.last = n;
        Some(n)
    }

    /// Checks an access.
    ///
    /// # Errors
    /// Where it is, if it is out of bounds.
    pub fn check(&mut self, at: u64, size: u8, writes: bool) -> Result<(), Outside> {
        let end = at.saturating_add(size as u64);
        let Some(n) = self.find(at) else {
            return Err(self.outside(at, size));
        };
        let extent = &self.extents[n];
        if end > extent.end {
            return Err(self.outside(at, size));
        }
        if writes && !extent.writable {
            return Err(Outside {
                rule: "read-only",
                place: format!("in {}, which kernels may only read", extent.name),
                nearest: Some(described(extent)),
            });
        }
        let (start, _, lane, wave) = self.scratch;
        if extent.class == Class::Scratch && wave != 0 {
            // Elements of four bytes, those of the lanes side by side.
            let within = (at - start) % wave;
            let offset = within / 256 * 4 + within % 4;
            if offset + size as u64 > lane as u64 {
                let past = offset + size as u64 - lane as u64;
                return Err(Outside {
                    rule: "scratch",
                    place: format!(
                        "{} past the {lane} bytes of scratch of a lane",
                        plural(past)
                    ),
                    nearest: None,
                });
            }
        }
        Ok(())
    }

    fn outside(&self, at: u64, size: u8) -> Outside {
        let after = self.extents.partition_point(|e| e.start <= at);
        let before = after.checked_sub(1).map(|n| &self.extents[n]);
        let next = self.extents.get(after);
        let past = before.map(|e| (at.saturating_sub(e.end), e));
        let ahead = next.map(|e| (e.start - at, e));
        let (place, nearest) = match (past, ahead) {
            (Some((far, e)), None) => (self.past(at, size, far, e), Some(e)),
            (Some((far, e)), Some((n, _))) if far <= n => (self.past(at, size, far, e), Some(e)),
            (_, Some((far, e))) => (format!("{} before {}", plural(far), described(e)), Some(e)),
            (None, None) => ("where nothing is allocated".into(), None),
        };
        let near = nearest.filter(|e| e.start.abs_diff(at).min(e.end.abs_diff(at)) < 1 << 24);
        Outside {
            rule: match near {
                Some(_) => "out-of-bounds",
                None => "wild",
            },
            place: match near {
                Some(_) => place,
                None => "not near any allocation".into(),
            },
            nearest: near.map(described),
        }
    }

    fn past(&self, at: u64, size: u8, far: u64, extent: &Extent) -> String {
        match at < extent.end {
            // It begins inside.
            true => {
                let over = at + size as u64 - extent.end;
                format!("its last {} past {}", plural(over), described(extent))
            }
            false if far == 0 => format!("at the end of {}", described(extent)),
            false => format!("{} past the end of {}", plural(far), described(extent)),
        }
    }
}

/// `4 bytes`.
pub fn plural(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".into(),
        n => format!("{n} bytes"),
    }
}

fn described(extent: &Extent) -> String {
    let bytes = plural(extent.end - extent.start);
    format!("{}, {bytes} at {:#x}", extent.name, extent.start)
}
