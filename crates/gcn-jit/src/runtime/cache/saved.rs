//! The format of regions on disk ([`crate::runtime::disk`]): their dependencies and their contents.

use crate::codec::{In, Naming, Out};
use crate::context::LiveIns;
use crate::ir::affine::{Suspect, Trust};
use crate::ir::fast_path::Call;
use crate::runtime::cache::{Compiled, Key, Made, executable};
use crate::runtime::disk::{self, Name, Store};
use crate::runtime::engine::fetch;
use crate::target::Level;
use crate::target::x64::grid::GridCode;
use crate::target::x64::range::{self, Fixup, Part};
use gcn_emu::engine::{Code, Machine};
use gcn_isa::decode::Insn;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;

/// The number of dwords of code that a region's name depends on, so that different code at the same address usually has a different name.
const NAMED: u64 = 64;

/// What blocks may suspect, as the format numbers it.
const SUSPECTS: [Suspect; 3] = [
    Suspect::Guesses,
    Suspect::Guards(Trust::Carries),
    Suspect::Guards(Trust::Nothing),
];

/// The parameters of a region's code.
pub(crate) struct Request<'a> {
    pub key: Key,
    pub level: Level,
    /// The region is for code that encounters NaNs.
    pub exact: bool,
    /// VGPRs that are affine at the entry, with their steps.
    pub steps: &'a [(u16, i32)],
}

impl Request<'_> {
    /// Returns the region's name. `None` for code that is not in memory, or if the build of this program cannot be identified.
    pub fn name(&self, machine: &Machine<'_>) -> Option<Name> {
        let Code::Memory = machine.code else {
            return None;
        };
        let mut naming = Naming(blake3::Hasher::new());
        disk::build()?.hash(&mut naming);
        machine.target.name().hash(&mut naming);
        machine.memory.is_of_host().hash(&mut naming);
        self.level.name().hash(&mut naming);
        (self.key, self.exact, self.steps).hash(&mut naming);
        for n in 0..NAMED {
            let at = self.key.pc.wrapping_add(4 * n);
            let Ok(word) = machine.memory.fetch_u32(at) else {
                break;
            };
            word.hash(&mut naming);
        }
        Some(naming.0.finalize())
    }
}

/// The instructions that a region was compiled from, recorded during compilation: the region depends on them in addition to its name.
#[derive(Default)]
pub(crate) struct Fetched {
    /// The addresses at which instructions were fetched, and their sizes in bytes; 0 if there was no instruction.
    pub bytes: RefCell<BTreeMap<u64, u8>>,
}

impl Fetched {
    pub fn fetch(&self, machine: &Machine<'_>, pc: u64) -> Option<Insn> {
        let insn = fetch(machine, pc);
        let bytes = insn.as_ref().map_or(0, |insn| insn.len);
        self.bytes.borrow_mut().insert(pc, bytes);
        insn
    }
}

/// The source of a region.
pub(crate) struct Origin<'a> {
    pub fetched: &'a Fetched,
    /// For each scalar register: the bits on whose values the code depends.
    pub guessed: &'a BTreeMap<u8, u32>,
    pub sgprs: &'a [u32; 128],
    pub machine: &'a Machine<'a>,
}

/// The compiled region, and counts for reports.
pub(crate) struct Saved {
    pub made: Made,
    pub insns: u64,
    pub all_active: u64,
    pub bytes: u64,
    /// The emitter refused the region.
    pub refused: bool,
}

impl Fixup {
    fn save(&self, out: &mut Out) {
        out.u32(self.at);
        out.u32(self.range);
        let (kind, byte) = match self.part {
            Part::Displacement(byte) => (0, byte),
            Part::Number => (1, 0),
            Part::Slot => (2, 0),
        };
        out.u8(kind);
        out.u8(byte);
    }

    fn load(from: &mut In<'_>) -> Option<Fixup> {
        Some(Fixup {
            at: from.u32()?,
            range: from.u32()?,
            part: match (from.u8()?, from.u8()?) {
                (0, byte) => Part::Displacement(byte),
                (1, _) => Part::Number,
                (2, _) => Part::Slot,
                _ => return None,
            },
        })
    }
}

impl Saved {
    /// Writes the region to disk if it can be serialized. `ranges` and `fixups`: see [`crate::target::x64::Emitted`].
    pub fn save(
        &self,
        (store, name): (&Store, &Name),
        origin: &Origin<'_>,
        ranges: &[u32],
        fixups: &[Fixup],
    ) {
        let Origin {
            fetched,
            guessed,
            sgprs,
            machine,
        } = *origin;
        let mut out = Out::default();
        let fetched: Vec<_> = fetched.bytes.take().into_iter().collect();
        out.list(&fetched, |out, &(pc, bytes)| {
            out.u64(pc);
            out.u8(bytes);
            for at in (0..bytes as u64).step_by(4) {
                out.u32(machine.memory.fetch_u32(pc + at).unwrap_or(0));
            }
        });
        let guessed: Vec<_> = guessed.iter().collect();
        out.list(&guessed, |out, &(&code, &mask)| {
            out.u8(code);
            out.u32(mask);
            out.u32(sgprs.get(code as usize).map_or(0, |s| s & mask));
        });
        for count in [self.insns, self.all_active, self.bytes] {
            out.u64(count);
        }
        let whole = match &self.made {
            Made::Nothing(those) => {
                out.u8(0);
                out.list(those, |out, &pc| out.u64(pc));
                Some(())
            }
            Made::Region(region) => {
                out.u8(1);
                out.u32(ranges.len() as u32);
                out.u32(range::alone(ranges));
                out.list(fixups, |out, fixup| fixup.save(out));
                region.save(&mut out)
            }
        };
        if whole.is_some() {
            store.save(name, &out.0);
        }
    }

    /// Loads the region with a name from disk, if it was compiled from the current contents of memory and from equal registers.
    pub fn load(
        store: &Store,
        name: &Name,
        request: &Request<'_>,
        sgprs: &[u32; 128],
        machine: &Machine<'_>,
    ) -> Option<Saved> {
        let bytes = store.load(name)?;
        let from = &mut In(&bytes);
        let mut same = true;
        from.list(|from| {
            let (pc, bytes) = (from.u64()?, from.u8()?);
            for at in (0..bytes as u64).step_by(4) {
                let word = from.u32()?;
                same &= machine.memory.fetch_u32(pc.checked_add(at)?) == Ok(word);
            }
            same &= bytes != 0 || fetch(machine, pc).is_none();
            Some(())
        })?;
        from.list(|from| {
            let (code, mask, value) = (from.u8()?, from.u32()?, from.u32()?);
            same &= sgprs.get(code as usize).map_or(0, |s| s & mask) == value;
            Some(())
        })?;
        if !same {
            return None;
        }
        let (insns, all_active, bytes) = (from.u64()?, from.u64()?, from.u64()?);
        let made = match from.u8()? {
            0 => Made::Nothing(from.list(|from| from.u64())?.into()),
            1 => {
                let (count, alone) = (from.u32()?, from.u32()?);
                let fixups = from.list(Fixup::load)?;
                let mut region = Compiled::load(from, request.key, machine, |code| {
                    let fit = |s: &Fixup| s.fits(code.len(), count as usize);
                    let numbers = fixups
                        .iter()
                        .all(fit)
                        .then(|| range::numbers(count, alone))??;
                    range::apply_all(code, &fixups, &numbers);
                    Some(())
                })?;
                region.first = region.inside(request.key.pc)?;
                Made::Region(Arc::new(region))
            }
            _ => return None,
        };
        if !from.0.is_empty() {
            return None;
        }
        store.found();
        Some(Saved {
            refused: matches!(made, Made::Nothing(_)),
            made,
            insns,
            all_active,
            bytes,
        })
    }
}

impl Compiled {
    fn save(&self, out: &mut Out) -> Option<()> {
        out.bytes(&self.code);
        out.u64(self.end as u64);
        out.list(&self.blocks, |out, &(start, end, at, insns)| {
            out.u64(start);
            out.u64(end);
            out.u32(at as u32);
            out.u32(insns);
        });
        out.list(&self.modes, |out, &(start, mode)| {
            out.u64(start);
            out.u32(mode);
        });
        out.list(&self.inside, |out, &(start, at)| {
            out.u64(start);
            out.u32(at);
        });
        out.list(&self.live_ins.vgprs, |out, &v| out.u32(v as u32));
        out.bytes(&self.live_ins.sgprs);
        out.u8(self.batch.is_some() as u8);
        out.u32(self.batch.unwrap_or(0));
        out.u8(self.grid.is_some() as u8);
        let mut saved = Some(());
        if let Some(grid) = &self.grid {
            saved = grid.save(out);
        }
        out.u8(self.waits as u8);
        out.u8(self.checks as u8);
        out.list(&self.suspects, |out, &(pc, suspect)| {
            out.u64(pc);
            let number = SUSPECTS.iter().position(|&s| s == suspect);
            out.u8(number.unwrap_or(0) as u8);
        });
        out.list(&self.steps, |out, (pc, steps)| {
            out.u64(*pc);
            out.list(steps, |out, &(v, step)| {
                out.u32(v as u32);
                out.u32(step as u32);
            });
        });
        out.list(&self.words, |out, &(at, word)| {
            out.u64(at);
            out.u32(word);
        });
        out.list(&self.calls, |out, call| {
            saved = saved.and_then(|()| call.save(out));
        });
        saved
    }

    /// Reads a saved region. `place` patches the code for this process.
    fn load(
        from: &mut In<'_>,
        key: Key,
        machine: &Machine<'_>,
        location: impl FnOnce(&mut [u8]) -> Option<()>,
    ) -> Option<Compiled> {
        let mut code = from.bytes()?.to_vec();
        let size = code.len();
        let within = |at: u32| ((at as usize) < size).then_some(at);
        let end = usize::try_from(from.u64()?)
            .ok()
            .filter(|&end| end <= size)?;
        let blocks = from.list(|from| {
            let (start, end) = (from.u64()?, from.u64()?);
            Some((start, end, within(from.u32()?)? as usize, from.u32()?))
        })?;
        let modes = from.list(|from| Some((from.u64()?, from.u32()?)))?;
        let inside = from.list(|from| Some((from.u64()?, within(from.u32()?)?)))?;
        let live_ins = LiveIns {
            vgprs: from.list(|from| from.u32()?.try_into().ok())?,
            sgprs: from.bytes()?.to_vec(),
        };
        let in_batch = from.flag()?;
        let batch = from.u32()?;
        let grid = match from.flag()? {
            true => Some(GridCode::load(from, size)?),
            false => None,
        };
        let (waits, checks) = (from.flag()?, from.flag()?);
        let suspects = from.list(|from| {
            let pc = from.u64()?;
            Some((pc, *SUSPECTS.get(from.u8()? as usize)?))
        })?;
        let steps = from.list(|from| {
            let pc = from.u64()?;
            let step = |from: &mut In<'_>| Some((from.u32()?.try_into().ok()?, from.u32()? as i32));
            Some((pc, from.list(step)?))
        })?;
        let words = from.list(|from| Some((from.u64()?, from.u32()?)))?;
        let calls = from.list(|from| Some(Arc::new(Call::load(from, machine.target)?)))?;
        location(&mut code)?;
        let mut region = Compiled {
            code: executable(&code)?,
            blocks,
            modes,
            inside,
            first: 0,
            live_ins,
            batch: in_batch
                .then(|| within(batch))
                .map_or(Some(None), |s| s.map(Some))?,
            grid,
            waits,
            steps,
            words,
            key,
            calls,
            checks,
            suspects,
            end,
            aliased: machine.memory.is_of_host(),
            bytes: 0,
        };
        region.bytes = region.size();
        Some(region)
    }
}
