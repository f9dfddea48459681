//! Prepares the tables with which waves begin in a region's [grid variant](crate::target::x64::grid): the block's addresses, evaluated
//! and checked for all workgroups, once per dispatch and mapping of memory.

use crate::context::Ctx;
use crate::ir::fast_path::Line;
use crate::ir::grid::{Evaluated, Sum, Waves};
use crate::runtime::engine::{CodePointer, Jit};
use crate::runtime::helpers::{page_states, permitted};
use crate::target::x64::grid::{GridCode, GridLoad};
use gcn_emu::engine::Machine;
use gcn_emu::group::Groups;
use gcn_emu::mem::MAPPED;

/// The minimum number of waves of a dispatch that is evaluated, and between two evaluations. An evaluation takes about 20 µs.
pub(crate) const WAVES: u64 = 8192;

/// After a failed evaluation, a region is skipped in some dispatches, twice as many after each further failure, and at most this number.
const MOST_SKIPPED: u32 = 256;

/// The state of the evaluation for a dispatch.
#[derive(Clone, Copy, Default)]
pub(crate) struct GridState {
    /// The version of the mapping for which waves may begin in the variant.
    ready: Option<u64>,
    /// Evaluation is not possible.
    refused: bool,
}

/// Returns the numbers of workgroups for which an evaluation is tried: all of them, or all but the last ones, which may differ.
/// `middle` is the middle workgroup's ID in each dimension.
fn attempts(middle: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    let less = [[0; 3], [1; 3], [2; 3], [2, 0, 0], [0, 2, 2]];
    less.into_iter().map(move |less| {
        std::array::from_fn(|dim| {
            let most = middle[dim].saturating_mul(2).saturating_add(1);
            most.saturating_sub(less[dim]).max(1)
        })
    })
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
        let (Some(grid), Some(like)) = (&region.grid, self.group.like.as_deref_mut()) else {
            return false;
        };
        let mapping = self.ctx.remembered.mapping;
        if like.grid.refused || like.grid.ready == Some(mapping) {
            return !like.grid.refused;
        }
        if region.grid_skip > 0 {
            self.code.regions[at.region() as usize].grid_skip -= 1;
            like.grid.refused = true;
            return false;
        }
        // Evaluations are at least `grid_waves` waves apart.
        let done = self.stats.in_batch;
        if self
            .group
            .evaluated
            .is_some_and(|at| done < at + self.grid_waves)
        {
            return false;
        }
        self.group.evaluated = Some(done);
        let registers = groups.registers.iter().map(|&r| r as u32);
        let same = registers.eq(grid.program.ids.iter().map(|&id| id as u32));
        let middle: [u32; 3] = std::array::from_fn(|dim| {
            let register = groups.registers.get(dim);
            let id = machine.middle.iter().find(|id| Some(&id.0) == register);
            id.map_or(0, |id| id.1)
        });
        let all = middle.iter().fold(groups.like.len() as u64, |n, &m| {
            n.saturating_mul(2 * m as u64 + 1)
        });
        if !same || all < self.grid_waves {
            like.grid.refused = true;
            return false;
        }
        let from = region.live_ins.lines();
        let each = region.start_lines();
        for counts in attempts(middle) {
            let evaluated = evaluate(grid, counts, groups, machine);
            let Some(evaluated) = evaluated else {
                continue;
            };
            let lines = like
                .lines
                .chunks_exact_mut(each)
                .map(|all| &mut all[from..]);
            let tables = Tables {
                grid,
                evaluated: &evaluated,
                counts,
            };
            if tables.fill(&mut self.ctx, machine, lines).is_some() {
                like.grid.ready = Some(mapping);
                self.stats.grids += 1;
                self.code.regions[at.region() as usize].grid_failed = 0;
                return true;
            }
        }
        like.grid.refused = true;
        let known = &mut self.code.regions[at.region() as usize];
        known.grid_failed = (2 * known.grid_failed).clamp(1, MOST_SKIPPED);
        // Tests evaluate each dispatch.
        known.grid_skip = if self.grid_waves > 0 {
            known.grid_failed
        } else {
            0
        };
        false
    }
}

/// Evaluates the variant's program for numbers of workgroups.
fn evaluate(
    grid: &GridCode,
    counts: [u32; 3],
    groups: &Groups<'_>,
    machine: &Machine<'_>,
) -> Option<Evaluated> {
    let scratch = groups.scratch.map(|s| s.0);
    let sgpr = |w: usize, code: u8| {
        let own = scratch != Some(code as u16);
        let value = groups.like[w].state().sgprs.get(code as usize).copied();
        value.filter(|_| own)
    };
    let vgpr = |w: usize, v: u16| {
        let values = groups.like[w].ids().get(v as usize);
        values.map_or([0; 4], |v| [v[0], v[16], v[32], v[48]])
    };
    let read = |at: u64| {
        let mut bytes = [0; 4];
        let done = machine.memory.read(at, &mut bytes);
        done.ok().map(|()| u32::from_le_bytes(bytes))
    };
    grid.program.evaluate(&Waves {
        count: groups.like.len(),
        first: [0; 3],
        groups: counts,
        sgpr: &sgpr,
        vgpr: &vgpr,
        read: &read,
    })
}

/// The data for the tables that the variant's code reads.
struct Tables<'a> {
    grid: &'a GridCode,
    evaluated: &'a Evaluated,
    counts: [u32; 3],
}

impl Tables<'_> {
    /// Fills in the tables. `None` if an access is not permitted in all waves.
    fn fill<'l>(
        &self,
        ctx: &mut Ctx,
        machine: &Machine<'_>,
        tables: impl Iterator<Item = &'l mut [Line]>,
    ) -> Option<()> {
        let (grid, program) = (self.grid, &self.grid.program);
        let addresses: Option<Vec<Sum>> = program
            .addresses
            .iter()
            .map(|a| self.evaluated.address(a))
            .collect();
        let addresses = addresses?;
        for (sum, a) in addresses.iter().zip(&program.addresses) {
            let (least, most) = sum.limits(self.counts);
            let first = u64::try_from(least + a.from as i128).ok()?;
            let last = u64::try_from(most + a.to as i128 - 1).ok()?;
            allowed(ctx, machine, first, last, a.need)?;
        }
        let bases: Option<Vec<&Sum>> = program
            .bases
            .iter()
            .map(|&(_, step)| self.evaluated.sum(step))
            .collect();
        let bases = bases?;
        self.fill_context(ctx, machine, &addresses, &bases)?;
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
        Some(())
    }

    fn fill_context(
        &self,
        ctx: &mut Ctx,
        machine: &Machine<'_>,
        addresses: &[Sum],
        bases: &[&Sum],
    ) -> Option<()> {
        for &GridLoad { to, pointer, step } in &self.grid.loads {
            let (at, dwords) = self.evaluated.loaded(step)?;
            allowed(ctx, machine, at, at + 4 * dwords.len() as u64 - 1, 1)?;
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
        ctx.grid[..3].copy_from_slice(&self.counts);
        Some(())
    }
}

/// Writes a qword to two dwords of [`Ctx::grid`].
fn put(ctx: &mut Ctx, at: u32, value: u64) -> Option<()> {
    let room = ctx.grid.get_mut(at as usize..)?.get_mut(..2)?;
    room.copy_from_slice(&[value as u32, (value >> 32) as u32]);
    Some(())
}

/// Returns `Some` if all bytes from the first to the last may be accessed.
fn allowed(ctx: &Ctx, machine: &Machine<'_>, first: u64, last: u64, need: u8) -> Option<()> {
    let start = ctx.memory.start;
    let (low, high) = (first.checked_sub(start)?, last.checked_sub(start)?);
    if low > high || high >= ctx.memory.bytes {
        return None;
    }
    // SAFETY: the context is bound to the machine, whose memory it has.
    let pages = unsafe { page_states(ctx) };
    permitted((machine.memory, start), pages, low, high, MAPPED | need, 0).map(|_| ())
}
