//! Bounds: the bytes of guest memory that a dispatch may access.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use gcn_emu::dispatch::observers::{About, KernelHeap};
use gcn_emu::mem::{Extent as Bytes, Memory, PAGE_SIZE, Perm};

/// An allocation with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The address of the first byte.
    pub address: u64,
    /// The size in bytes.
    pub bytes: u64,
    /// The name in reports, for example `argument 2 'out'`.
    pub name: String,
    /// True if it was freed, so that an access is a use after free.
    pub freed: bool,
}

/// An allocator of the memory that kernels access, if the caller of each dispatch does not allocate it: a runtime, whose allocations change
/// at any time.
pub trait Allocator: Send + Sync {
    /// Returns a number that changes with the allocations.
    fn version(&self) -> u64;

    /// Returns the present and former allocations, in any order. They are used in addition to the regions of guest memory, and name the
    /// regions that begin at the same addresses.
    fn allocations(&self) -> Vec<Allocation>;

    /// Returns true if dispatches may first run without an observer, in a transaction.
    fn screens(&self) -> bool {
        false
    }

    /// Returns true if only kernels access the allocation that begins at an address, except when it is the source or target of a copy.
    fn of_kernels(&self, _at: u64) -> bool {
        false
    }

    /// Returns lines that say where the allocation at an address was made and freed.
    fn story(&self, at: u64) -> Vec<String>;
}

/// Returns the memory that kernels allocate while they run, as far as it is known: the blocks that they asked the host for.
pub fn of_heap(heap: &dyn KernelHeap) -> Vec<Allocation> {
    let blocks = heap.blocks();
    let start = heap.start();
    let none = |address| Allocation {
        address,
        bytes: 0,
        name: "the heap of kernels".into(),
        freed: false,
    };
    let rest = (!blocks.iter().any(|b| b.address == start)).then(|| none(start));
    let blocks = blocks.iter().map(|block| Allocation {
        address: block.address,
        bytes: block.bytes,
        name: "a block of the heap of kernels".into(),
        freed: block.freed,
    });
    blocks.chain(rest).collect()
}

/// The kind of memory of an extent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// A buffer or a variable.
    Data,
    /// Memory of one wave.
    Scratch,
    /// Code, constants, arguments and packets, which kernels only read.
    Constant,
    /// An allocation that was freed.
    Freed,
}

struct Extent {
    start: u64,
    end: u64,
    class: Class,
    name: Arc<str>,
    /// The first address of its region of guest memory; 0 for a code object.
    region: u64,
}

fn class_of(allocation: &Allocation) -> Class {
    match allocation.freed {
        true => Class::Freed,
        false => Class::Data,
    }
}

/// The extents of a dispatch, in ascending order of addresses.
#[derive(Default)]
pub struct Bounds {
    extents: Vec<Extent>,
    /// The extent that was accessed last.
    last: usize,
    /// Scratch: the first address, the end, and the bytes per lane and per wave.
    scratch: (u64, u64, u32, u64),
    /// The dispatch's own memory, from which [`Bounds::again`] makes a new table.
    own: Own,
}

/// A dispatch's own memory: code, arguments, packet, queue and scratch.
#[derive(Clone, Copy, Default)]
pub struct Own {
    entry: u64,
    kernarg: (u64, u64),
    packet: u64,
    queue: u64,
    scratch: (u64, u32, u64),
}

impl Own {
    /// Returns the own memory of a dispatch that begins.
    pub fn new(about: &About<'_>) -> Own {
        let metadata = about.kernel.metadata.as_ref();
        let said = metadata.map_or(0, |m| m.kernarg_segment_size);
        let size = said.max(about.kernel.descriptor.kernarg_size as u64);
        Own {
            entry: about.base.wrapping_add(about.kernel.entry),
            kernarg: (about.kernarg, size),
            packet: about.packet,
            queue: about.queue,
            scratch: about.scratch,
        }
    }
}

/// A description of an access that is out of bounds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outside {
    /// The rule of the check.
    pub rule: &'static str,
    /// The location relative to an allocation: `4 bytes past argument 2 'out', 256 bytes at 0x…`.
    pub location: String,
    /// The nearest allocation, and its address.
    pub nearest: Option<(String, u64)>,
}

impl Bounds {
    /// Returns the extents of a dispatch that begins. `named` names regions of guest memory, and has the allocations that are not such
    /// regions.
    pub fn new(own: Own, memory: &Memory, named: &[Allocation]) -> Bounds {
        let mut bounds = Bounds {
            own,
            ..Bounds::default()
        };
        let names: HashMap<u64, &Allocation> = named.iter().map(|a| (a.address, a)).collect();
        let mut known: HashSet<u64> = HashSet::new();
        for (start, bytes) in memory.extents() {
            known.insert(start);
            bounds.region(memory, (start, bytes), names.get(&start).copied());
        }
        for lent in named.iter().filter(|a| !known.contains(&a.address)) {
            let end = lent.address.saturating_add(lent.bytes);
            bounds.push(
                (lent.address, end),
                class_of(lent),
                &lent.name,
                lent.address,
            );
        }
        // If two extents begin at the same address, the longer one comes last, and lookups find it.
        bounds.extents.sort_by_key(|e| (e.start, e.end));
        bounds
    }

    /// Makes a new table after the allocations have changed.
    pub fn again(&self, memory: &Memory, named: &[Allocation]) -> Bounds {
        Bounds::new(self.own, memory, named)
    }

    fn push(&mut self, (start, end): (u64, u64), class: Class, name: &str, region: u64) {
        if start < end {
            self.extents.push(Extent {
                start,
                end,
                class,
                name: name.into(),
                region,
            });
        }
    }

    /// Adds a region of guest memory.
    fn region(&mut self, memory: &Memory, (start, bytes): (u64, u64), name: Option<&Allocation>) {
        let own = self.own;
        let end = start + bytes;
        let holds = |at: u64| at != 0 && (start..end).contains(&at);
        if own.kernarg.0 == start && name.is_none() {
            return self.push(
                (start, end),
                Class::Constant,
                "the kernel's arguments",
                start,
            );
        }
        if holds(own.kernarg.0) && own.kernarg.1 != 0 {
            // The region holds the arguments of many launches.
            let (from, to) = (own.kernarg.0, end.min(own.kernarg.0 + own.kernarg.1));
            let others = "the runtime's memory for arguments";
            self.push((start, from), Class::Data, others, start);
            self.push((from, to), Class::Constant, "the kernel's arguments", start);
            return self.push((to, end), Class::Data, others, start);
        }
        if let Some(name) = name {
            let end = start + name.bytes.min(bytes);
            return self.push((start, end), class_of(name), &name.name, start);
        }
        if own.packet == start {
            return self.push((start, end), Class::Constant, "the dispatch packet", start);
        }
        if own.queue == start {
            return self.push((start, end), Class::Constant, "the queue", start);
        }
        let (scratch, lane, wave) = own.scratch;
        if scratch == start && scratch != 0 {
            self.scratch = (start, end, lane, wave);
            return self.push((start, end), Class::Scratch, "scratch", start);
        }
        // Each segment of a code object has its own permissions; variables lie in the writable ones.
        let perm = |at: u64| memory.perm(at).unwrap_or(Perm::NONE);
        if holds(own.entry) || !perm(start).contains(Perm::WRITE) {
            let mut at = start;
            while at < end {
                let own = perm(at);
                let mut next = at + PAGE_SIZE;
                while next < end && perm(next) == own {
                    next += PAGE_SIZE;
                }
                let class = match own.contains(Perm::WRITE) {
                    true => Class::Data,
                    false => Class::Constant,
                };
                self.push((at, next.min(end)), class, "the code object", 0);
                at = next;
            }
            return;
        }
        self.push((start, end), Class::Data, "an allocation", start);
    }

    /// Returns the first address and the end of scratch.
    pub fn scratch(&self) -> (u64, u64) {
        (self.scratch.0, self.scratch.1)
    }

    /// Returns the extents of a transaction that checks these bounds. Such extents cannot express which bytes of scratch belong to which
    /// lane. Returns `None` if scratch has a layout in which that matters. Beside a program, data is writable only if `beside` says that
    /// only kernels access it, because other stores cannot be rolled back.
    pub fn of_transaction(&self, beside: Option<&dyn Allocator>) -> Option<Vec<Bytes>> {
        let mut all = Vec::new();
        let mut last = None;
        let mut can_be_rolled_back = |extent: &Extent| match beside {
            Some(allocator) if extent.class == Class::Data && extent.region != 0 => {
                if last.is_none_or(|(region, _)| region != extent.region) {
                    last = Some((extent.region, allocator.of_kernels(extent.region)));
                }
                last.is_some_and(|(_, own)| own)
            }
            _ => true,
        };
        let (_, _, lane, wave) = self.scratch;
        for extent in self.extents.iter().filter(|e| e.class != Class::Freed) {
            let bytes = Bytes {
                start: extent.start,
                end: extent.end,
                writable: extent.class != Class::Constant && can_be_rolled_back(extent),
            };
            // The dwords of the 64 lanes are interleaved.
            let own = 64 * lane as u64;
            if extent.class != Class::Scratch || wave == own {
                all.push(bytes);
                continue;
            }
            if !lane.is_multiple_of(4) || own > wave {
                return None;
            }
            let starts = (bytes.start..bytes.end).step_by(usize::try_from(wave).ok()?);
            all.extend(starts.map(|start| Bytes {
                start,
                end: (start + own).min(bytes.end),
                ..bytes
            }));
        }
        Some(all)
    }

    /// Returns the extents and their classes, in ascending order.
    pub fn classes(&self) -> Vec<(u64, u64, Class)> {
        let of = |e: &Extent| (e.start, e.end, e.class);
        self.extents.iter().map(of).collect()
    }

    /// Returns the class of the memory at an address, if the address is in bounds.
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
    /// A description of the access, if it is out of bounds.
    pub fn check(&mut self, at: u64, size: u8, writes: bool) -> Result<(), Outside> {
        let end = at.saturating_add(size as u64);
        let Some(n) = self.find(at) else {
            return Err(self.outside(at, size));
        };
        let extent = &self.extents[n];
        if extent.class == Class::Freed {
            return Err(Outside {
                rule: "use-after-free",
                location: format!("in {}, which was freed", extent.name),
                nearest: Some(described(extent)),
            });
        }
        if end > extent.end {
            return Err(self.outside(at, size));
        }
        if writes && extent.class == Class::Constant {
            return Err(Outside {
                rule: "read-only",
                location: format!("in {}, which kernels may only read", extent.name),
                nearest: Some(described(extent)),
            });
        }
        let (start, _, lane, wave) = self.scratch;
        if extent.class == Class::Scratch && wave != 0 {
            // The dwords of the 64 lanes are interleaved.
            let within = (at - start) % wave;
            let offset = within / 256 * 4 + within % 4;
            if offset + size as u64 > lane as u64 {
                let past = offset + size as u64 - lane as u64;
                return Err(Outside {
                    rule: "scratch",
                    location: format!(
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
        let (location, nearest) = match (past, ahead) {
            (Some((far, e)), None) => (self.past(at, size, far, e), Some(e)),
            (Some((far, e)), Some((n, _))) if far <= n => (self.past(at, size, far, e), Some(e)),
            (_, Some((far, e))) => (
                format!("{} before {}", plural(far), described(e).0),
                Some(e),
            ),
            (None, None) => ("where nothing is allocated".into(), None),
        };
        let near = nearest.filter(|e| e.start.abs_diff(at).min(e.end.abs_diff(at)) < 1 << 24);
        Outside {
            rule: match near {
                Some(_) => "out-of-bounds",
                None => "wild",
            },
            location: match near {
                Some(_) => location,
                None => "not near any allocation".into(),
            },
            nearest: near.map(described),
        }
    }

    fn past(&self, at: u64, size: u8, far: u64, extent: &Extent) -> String {
        match at < extent.end {
            // The access begins inside the extent.
            true => {
                let over = at + size as u64 - extent.end;
                format!("its last {} past {}", plural(over), described(extent).0)
            }
            false if far == 0 => format!("at the end of {}", described(extent).0),
            false => format!("{} past the end of {}", plural(far), described(extent).0),
        }
    }
}

/// Returns text like `4 bytes`.
pub fn plural(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".into(),
        n => format!("{n} bytes"),
    }
}

fn described(extent: &Extent) -> (String, u64) {
    let bytes = plural(extent.end - extent.start);
    let text = format!("{}, {bytes} at {:#x}", extent.name, extent.start);
    (text, extent.start)
}
