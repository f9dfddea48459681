//! Prepares the tables with which waves begin in a region's [grid variant](crate::target::x64::grid): the block's addresses, evaluated
//! and checked for all workgroups, once per dispatch and mapping of memory. A region remembers the results of its last evaluations:
//! a dispatch with the same arguments only compares what they depend on.

use crate::context::{Ctx, GRID};
use crate::ir::fast_path::Line;
use crate::ir::grid::{Evaluated, Extent, Sum, Waves};
use crate::runtime::engine::{CodePointer, Jit};
use crate::runtime::helpers::{page_states, permitted};
use crate::target::x64::grid::{GridCode, GridLoad};
use gcn_emu::engine::Machine;
use gcn_emu::group::Groups;
use gcn_emu::mem::MAPPED;
use std::cell::RefCell;

/// The minimum number of waves of a dispatch that is evaluated in any case, and between two evaluations. An evaluation takes 10 to 20 µs, and
/// saves about 12 ns for each wave.
pub(crate) const WAVES: u64 = 2048;

/// The minimum number of waves of a dispatch for which remembered evaluations are compared. Smaller ones than [`WAVES`] are evaluated in the
/// region's second, fourth, eighth, … such dispatch, because the next ones may have the same arguments.
const FEW_WAVES: u64 = 256;

/// The number of evaluations that a region remembers.
const REMEMBERED: usize = 4;

/// After a failed evaluation, a region is skipped in some dispatches, twice as many after each further failure, and at most this number.
const MOST_SKIPPED: u32 = 256;

/// How often an evaluation is tried for fewer workgroups: each limit of an image may need two, at its beginning and its end.
const MOST_LIMITS: u32 = 12;

/// The bit of [`GridAddress::need`](crate::ir::grid::GridAddress::need) of memory that is written.
const WRITTEN: u8 = 2;

/// The state of the evaluation for a dispatch.
#[derive(Clone, Copy, Default)]
pub(crate) struct GridState {
    /// The version of the mapping for which waves may begin in the variant.
    ready: Option<u64>,
    /// The number of the evaluation that the region remembers for it.
    evaluation: usize,
    /// Evaluation is not possible.
    refused: bool,
}

/// What one engine knows of the evaluations of a region's grid.
#[derive(Default)]
pub(crate) struct GridHistory {
    /// The number of coming dispatches in which it is not evaluated, and that number after the last failure.
    skip: u32,
    failed: u32,
    /// The number of dispatches of fewer than [`WAVES`] waves that had no remembered evaluation.
    small: u32,
    remembered: Vec<Remembered>,
    /// The number of the evaluation that the next one replaces.
    next: usize,
}

/// A dispatch, as far as an evaluation depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Dispatch {
    /// The middle workgroup's ID in each dimension.
    middle: [u32; 3],
    /// The number of a workgroup's waves.
    waves: usize,
    /// The register that has the address of the wave's scratch.
    scratch: Option<u16>,
    /// The host's address less the guest's.
    bias: u64,
}

/// A register or a dword of memory that an evaluation has read, and its value.
#[derive(Clone, Copy)]
enum Read {
    Sgpr(usize, u8, u32),
    Vgpr(usize, u16, [u32; 4]),
    Memory(u64, u32),
}

/// Memory that waves access: the first and the last byte, and the permissions that they need.
#[derive(Clone, Copy)]
struct Accessed {
    first: u64,
    last: u64,
    need: u8,
}

/// An evaluation that succeeded.
struct Remembered {
    dispatch: Dispatch,
    reads: Vec<Read>,
    accessed: Vec<Accessed>,
    /// No wave can change the memory of the constants.
    constant: bool,
    /// [`Ctx::grid`], and the waves' tables.
    grid: Box<[u32; GRID]>,
    tables: Vec<Line>,
}

/// Returns the numbers of workgroups for which an evaluation is tried: all of them, or all but the last ones, which may differ, or have no
/// elements. `middle` is the middle workgroup's ID in each dimension.
fn attempts(middle: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    let most = middle.map(|m| m.saturating_mul(2).saturating_add(1));
    let less = [[0; 3], [1; 3], [2; 3], [2, 0, 0], [0, 2, 2]];
    let parts = [16, 4].map(|part| most.map(|n| n.div_ceil(part)));
    let all = less.into_iter().chain(parts);
    all.map(move |less| std::array::from_fn(|dim| most[dim].saturating_sub(less[dim]).max(1)))
}

impl Jit {
    /// Returns true if waves may begin in the region's grid variant, and prepares its tables. The context must be bound to the machine.
    pub(crate) fn grid_ready(
        &mut self,
        at: CodePointer,
        groups: &Groups<'_>,
        machine: &Machine<'_>,
    ) -> bool {
        let region = &self.code.regions[at.region() as usize];
        let (Some(grid), Some(like)) = (&region.grid, self.group.like.as_deref()) else {
            return false;
        };
        let mapping = self.ctx.remembered.mapping;
        if like.grid.refused || like.grid.ready == Some(mapping) {
            return !like.grid.refused;
        }
        let registers = groups.registers.iter().map(|&r| r as u32);
        let same = registers.eq(grid.program.ids.iter().map(|&id| id as u32));
        let dispatch = Dispatch::of(&self.ctx, groups, machine);
        let inputs = Inputs {
            dispatch,
            groups,
            machine,
        };
        let all = dispatch.all_waves();
        if !same || all < self.grid_waves.min(FEW_WAVES) {
            return self.refuse_grid();
        }
        if self.remembered_grid(at, &inputs) {
            return true;
        }
        let known = &mut self.code.regions[at.region() as usize].grid_history;
        if known.skip > 0 {
            known.skip -= 1;
            return self.refuse_grid();
        }
        if all < self.grid_waves {
            known.small += 1;
            if known.small < 2 || !known.small.is_power_of_two() {
                return self.refuse_grid();
            }
        } else {
            // Evaluations are at least `grid_waves` waves apart.
            let done = self.stats.in_batch;
            let evaluated = self.group.evaluated;
            if evaluated.is_some_and(|at| done < at + self.grid_waves) {
                return false;
            }
            self.group.evaluated = Some(done);
        }
        self.evaluate_grid(at, &inputs)
    }

    /// Returns true if no wave can change the memory of the variant's constants, and it has not changed since they were evaluated.
    pub(crate) fn grid_is_constant(
        &self,
        at: CodePointer,
        groups: &Groups<'_>,
        machine: &Machine<'_>,
    ) -> bool {
        let region = &self.code.regions[at.region() as usize];
        let like = self.group.like.as_deref();
        let made = like.and_then(|l| region.grid_history.remembered.get(l.grid.evaluation));
        made.is_some_and(|made| {
            let inputs = Inputs {
                dispatch: made.dispatch,
                groups,
                machine,
            };
            let in_memory = |read: &&Read| matches!(read, Read::Memory(..));
            let mut memory = made.reads.iter().filter(in_memory);
            made.constant && memory.all(|read| inputs.read_again(read))
        })
    }

    /// The dispatch's waves do not begin in the grid variant. Returns false.
    fn refuse_grid(&mut self) -> bool {
        if let Some(like) = self.group.like.as_deref_mut() {
            like.grid.refused = true;
        }
        false
    }

    /// Takes the tables from an evaluation that read the same registers and memory. Returns false if none is remembered.
    fn remembered_grid(&mut self, at: CodePointer, inputs: &Inputs<'_, '_, '_>) -> bool {
        let region = &self.code.regions[at.region() as usize];
        let remembered = &region.grid_history.remembered;
        let found = remembered.iter().position(|r| inputs.fit(r, &self.ctx));
        let (Some(number), Some(like)) = (found, self.group.like.as_deref_mut()) else {
            return false;
        };
        let found = &remembered[number];
        let from = region.live_ins.lines();
        let each = region.start_lines() - from;
        let all = like.lines.chunks_exact_mut(region.start_lines());
        for (w, lines) in all.enumerate() {
            lines[from..].copy_from_slice(&found.tables[w * each..][..each]);
        }
        self.ctx.grid = *found.grid;
        (like.grid.ready, like.grid.evaluation) = (Some(self.ctx.remembered.mapping), number);
        self.stats.grids += 1;
        self.stats.remembered_grids += 1;
        true
    }

    /// Evaluates the region's grid, and remembers the result.
    fn evaluate_grid(&mut self, at: CodePointer, inputs: &Inputs<'_, '_, '_>) -> bool {
        let region = &self.code.regions[at.region() as usize];
        let (Some(grid), Some(like)) = (&region.grid, self.group.like.as_deref_mut()) else {
            return false;
        };
        let from = region.live_ins.lines();
        let each = region.start_lines();
        for groups in attempts(inputs.dispatch.middle) {
            let first = [0; 3];
            let Some((evaluated, reads)) = inputs.evaluate(grid, Extent { first, groups }) else {
                continue;
            };
            let lines = like.lines.chunks_exact_mut(each);
            let lines = lines.map(|all| &mut all[from..]);
            let tables = Tables {
                grid,
                evaluated: &evaluated,
            };
            if let Some(accessed) = tables.fill(&mut self.ctx, inputs.machine, lines) {
                let written = accessed.iter().filter(|a| a.need & WRITTEN != 0);
                let others = |read: &Accessed| written.clone().all(|a| a.is_apart(read));
                let loads = tables.of_constants(&accessed);
                let constant = grid.writes_affine && loads.iter().all(others) || loads.is_empty();
                self.stats.grids += 1;
                let lines = like.lines.chunks_exact(each);
                let made = Remembered {
                    dispatch: inputs.dispatch,
                    reads,
                    accessed,
                    constant,
                    grid: Box::new(self.ctx.grid),
                    tables: lines.flat_map(|all| &all[from..]).copied().collect(),
                };
                let known = &mut self.code.regions[at.region() as usize].grid_history;
                known.failed = 0;
                like.grid.evaluation = known.remember(made);
                like.grid.ready = Some(self.ctx.remembered.mapping);
                return true;
            }
        }
        let known = &mut self.code.regions[at.region() as usize].grid_history;
        known.failed = (2 * known.failed).clamp(1, MOST_SKIPPED);
        // Tests evaluate each dispatch.
        known.skip = if self.grid_waves > 0 { known.failed } else { 0 };
        self.refuse_grid()
    }
}

impl GridHistory {
    /// Remembers an evaluation in place of the oldest one. Returns its number.
    fn remember(&mut self, made: Remembered) -> usize {
        if self.remembered.len() < REMEMBERED {
            self.remembered.push(made);
            return self.remembered.len() - 1;
        }
        let number = self.next;
        self.remembered[number] = made;
        self.next = (number + 1) % REMEMBERED;
        number
    }
}

impl Dispatch {
    fn of(ctx: &Ctx, groups: &Groups<'_>, machine: &Machine<'_>) -> Dispatch {
        Dispatch {
            middle: std::array::from_fn(|dim| {
                let register = groups.registers.get(dim);
                let id = machine.middle.iter().find(|id| Some(&id.0) == register);
                id.map_or(0, |id| id.1)
            }),
            waves: groups.like.len(),
            scratch: groups.scratch.map(|s| s.0),
            bias: ctx.memory.bias,
        }
    }

    /// Returns about how many waves the dispatch has.
    fn all_waves(&self) -> u64 {
        self.middle.iter().fold(self.waves as u64, |n, &m| {
            n.saturating_mul(2 * m as u64 + 1)
        })
    }
}

/// What an evaluation reads.
struct Inputs<'a, 'g, 'm> {
    dispatch: Dispatch,
    groups: &'a Groups<'g>,
    machine: &'a Machine<'m>,
}

impl Inputs<'_, '_, '_> {
    fn sgpr(&self, wave: usize, code: u8) -> Option<u32> {
        let own = self.groups.scratch.map(|s| s.0) != Some(code as u16);
        let registers = &self.groups.like[wave].state().sgprs;
        registers.get(code as usize).copied().filter(|_| own)
    }

    fn vgpr(&self, wave: usize, v: u16) -> [u32; 4] {
        let values = self.groups.like[wave].ids().get(v as usize);
        values.map_or([0; 4], |v| [v[0], v[16], v[32], v[48]])
    }

    fn memory(&self, at: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        let done = self.machine.memory.read(at, &mut bytes);
        done.ok().map(|()| u32::from_le_bytes(bytes))
    }

    /// Returns true if an evaluation would read the same again, and the memory that waves access is still permitted.
    fn fit(&self, made: &Remembered, ctx: &Ctx) -> bool {
        made.dispatch == self.dispatch
            && made.reads.iter().all(|read| self.read_again(read))
            && made.accessed.iter().all(|a| a.allowed(ctx, self.machine))
    }

    /// Returns true if a register or memory still has the value that was read.
    fn read_again(&self, read: &Read) -> bool {
        match *read {
            Read::Sgpr(wave, code, value) => self.sgpr(wave, code) == Some(value),
            Read::Vgpr(wave, v, values) => self.vgpr(wave, v) == values,
            Read::Memory(at, value) => self.memory(at) == Some(value),
        }
    }

    /// Evaluates the variant's program for workgroups. If it fails, it is tried for the fewer ones for which it might not, as long as these are half of all.
    /// Also returns what it has read.
    fn evaluate(&self, grid: &GridCode, all: Extent) -> Option<(Evaluated, Vec<Read>)> {
        let mut extent = all;
        for _ in 0..MOST_LIMITS {
            match self.evaluate_all(grid, extent) {
                Ok(found) => return Some(found),
                Err(fewer) => {
                    extent = fewer.filter(|f| f.count().saturating_mul(2) >= all.count())?;
                }
            }
        }
        None
    }

    /// Evaluates the variant's program for workgroups.
    fn evaluate_all(
        &self,
        grid: &GridCode,
        extent: Extent,
    ) -> Result<(Evaluated, Vec<Read>), Option<Extent>> {
        let reads = RefCell::new(Vec::new());
        let sgpr = |w: usize, code: u8| {
            let value = self.sgpr(w, code)?;
            reads.borrow_mut().push(Read::Sgpr(w, code, value));
            Some(value)
        };
        let vgpr = |w: usize, v: u16| {
            let values = self.vgpr(w, v);
            reads.borrow_mut().push(Read::Vgpr(w, v, values));
            values
        };
        let read = |at: u64| {
            let value = self.memory(at)?;
            reads.borrow_mut().push(Read::Memory(at, value));
            Some(value)
        };
        let waves = Waves {
            count: self.groups.like.len(),
            extent,
            sgpr: &sgpr,
            vgpr: &vgpr,
            read: &read,
        };
        let evaluated = grid.program.evaluate(&waves, self.dispatch.middle)?;
        Ok((evaluated, reads.into_inner()))
    }
}

/// The data for the tables that the variant's code reads.
struct Tables<'a> {
    grid: &'a GridCode,
    evaluated: &'a Evaluated,
}

impl Tables<'_> {
    /// Fills in the tables, and returns what memory the waves access. `None` if an access is not permitted in all waves.
    fn fill<'l>(
        &self,
        ctx: &mut Ctx,
        machine: &Machine<'_>,
        tables: impl Iterator<Item = &'l mut [Line]>,
    ) -> Option<Vec<Accessed>> {
        let (grid, program) = (self.grid, &self.grid.program);
        let addresses: Option<Vec<Sum>> = program
            .addresses
            .iter()
            .map(|a| self.evaluated.address(a))
            .collect();
        let addresses = addresses?;
        let mut accessed = Vec::new();
        for (sum, a) in addresses.iter().zip(&program.addresses) {
            let (least, most) = sum.limits(self.evaluated.extent().groups);
            accessed.push(Accessed {
                first: u64::try_from(least + a.from as i128).ok()?,
                last: u64::try_from(most + a.to as i128 - 1).ok()?,
                need: a.need,
            });
        }
        for &GridLoad { step, .. } in &grid.loads {
            let (first, dwords) = self.evaluated.loaded(step)?;
            let last = first + 4 * dwords.len() as u64 - 1;
            let need = 1;
            accessed.push(Accessed { first, last, need });
        }
        let allowed = accessed.iter().all(|a| a.allowed(ctx, machine));
        if !allowed || !self.are_apart(&addresses, &accessed) {
            return None;
        }
        let bases: Option<Vec<&Sum>> = program
            .bases
            .iter()
            .map(|&(_, step)| self.evaluated.sum(step))
            .collect();
        let bases = bases?;
        self.fill_context(ctx, &addresses, &bases)?;
        for (w, table) in tables.enumerate() {
            let of = |sum: &Sum, slice: usize| match sum.of.len() {
                1 => sum.of[0],
                _ => sum.of[4 * w + slice],
            };
            let mut dwords = table.iter_mut().flat_map(|line| &mut line.0);
            for sum in &addresses {
                for slice in 0..4 {
                    let host = (of(sum, slice) as u64).wrapping_add(ctx.memory.bias);
                    *dwords.next()? = host as u32;
                    *dwords.next()? = (host >> 32) as u32;
                }
            }
            for sum in &bases {
                for slice in 0..4 {
                    *dwords.next()? = of(sum, slice) as u32;
                }
            }
        }
        debug_assert_eq!(grid.slopes.len(), addresses.len() + bases.len());
        Some(accessed)
    }

    /// Returns the memory that constants come from, of all that waves access.
    fn of_constants<'m>(&self, accessed: &'m [Accessed]) -> &'m [Accessed] {
        let addresses = self.grid.program.addresses.len();
        accessed.get(addresses..).unwrap_or_default()
    }

    /// Returns true if no wave writes memory that later loads of its block read, or that constants come from.
    fn are_apart(&self, addresses: &[Sum], accessed: &[Accessed]) -> bool {
        let constants = self.of_constants(accessed);
        self.grid.program.apart.iter().all(|&(written, read)| {
            let [to, from] = [written, read].map(|number| number as usize);
            let (Some(all), Some(others)) = (accessed.get(to), accessed.get(from)) else {
                return false;
            };
            let apart = all.is_apart(others) || self.are_apart_in_waves(addresses, [to, from]);
            apart && constants.iter().all(|read| all.is_apart(read))
        })
    }

    /// Returns true if two addresses move alike from workgroup to workgroup, and no wave accesses a byte at both.
    fn are_apart_in_waves(&self, addresses: &[Sum], [a, b]: [usize; 2]) -> bool {
        let of_wave = |number: usize, w: usize| {
            let (sum, address) = (&addresses[number], &self.grid.program.addresses[number]);
            let slices = sum.of.get(4 * w..4 * w + 4).unwrap_or(&sum.of);
            let least = slices.iter().min().copied().unwrap_or(0);
            let most = slices.iter().max().copied().unwrap_or(0);
            (least + address.from as i128, most + address.to as i128)
        };
        let waves = addresses[a].of.len().max(addresses[b].of.len()).div_ceil(4);
        let apart = |w: usize| {
            let ((first, end), (other, other_end)) = (of_wave(a, w), of_wave(b, w));
            end <= other || other_end <= first
        };
        addresses[a].slopes == addresses[b].slopes && (0..waves).all(apart)
    }

    fn fill_context(&self, ctx: &mut Ctx, addresses: &[Sum], bases: &[&Sum]) -> Option<()> {
        for &GridLoad { to, pointer, step } in &self.grid.loads {
            let (at, dwords) = self.evaluated.loaded(step)?;
            let offset = self.grid.program.offset(step)?;
            let host = at
                .wrapping_sub(offset as i64 as u64)
                .wrapping_add(ctx.memory.bias);
            put(ctx, pointer, host)?;
            let room = ctx.grid.get_mut(to as usize..)?.get_mut(..dwords.len())?;
            room.copy_from_slice(dwords);
        }
        for &(to, step) in &self.grid.scalars {
            let value = self.evaluated.sum(step)?.uniform()?;
            put(ctx, to, value as u64)?;
        }
        for (sum, &at) in addresses
            .iter()
            .chain(bases.iter().copied())
            .zip(&self.grid.slopes)
        {
            for (dim, &slope) in sum.slopes.iter().enumerate() {
                put(ctx, at + 2 * dim as u32, slope as u64)?;
            }
        }
        let Extent { first, groups } = self.evaluated.extent();
        ctx.grid[..3].copy_from_slice(&groups);
        ctx.grid[3..6].copy_from_slice(&first);
        Some(())
    }
}

/// Writes a qword to two dwords of [`Ctx::grid`].
fn put(ctx: &mut Ctx, at: u32, value: u64) -> Option<()> {
    let room = ctx.grid.get_mut(at as usize..)?.get_mut(..2)?;
    room.copy_from_slice(&[value as u32, (value >> 32) as u32]);
    Some(())
}

impl Accessed {
    /// Returns true if no byte is in both.
    fn is_apart(&self, other: &Accessed) -> bool {
        self.last < other.first || other.last < self.first
    }

    /// Returns true if all bytes may be accessed.
    fn allowed(&self, ctx: &Ctx, machine: &Machine<'_>) -> bool {
        let start = ctx.memory.start;
        let bounds = self
            .first
            .checked_sub(start)
            .zip(self.last.checked_sub(start));
        let Some((low, high)) = bounds.filter(|b| b.0 <= b.1 && b.1 < ctx.memory.bytes) else {
            return false;
        };
        let need = MAPPED | self.need;
        // SAFETY: the context is bound to the machine, whose memory it has.
        let pages = unsafe { page_states(ctx) };
        permitted((machine.memory, start), pages, low, high, need, 0).is_some()
    }
}
