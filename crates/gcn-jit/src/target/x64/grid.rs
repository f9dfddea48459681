//! The grid variant of the block where waves of a batch begin. It computes addresses from the workgroup's IDs by multiplications
//! and additions ([`crate::ir::grid`]). The addresses in the first workgroup are next to the wave's initial registers, the other
//! data in [`Ctx::grid`]. The variant needs no guards and no checks of affine addresses: the runtime evaluated them for all
//! workgroups that begin in it. It checks that the memory of its constants (mostly the kernel's arguments) has not changed, and
//! that the IDs are within the evaluated workgroups. If a check fails, or if the variant is left otherwise, the wave restarts in
//! the usual code.
//!
//! Where the variant is all that a wave runs, the next wave begins at its end, without the code between time slices. If no wave of the dispatch
//! can change the memory of the constants, it is compared once for many waves, before the first of them ([`Batch::direct`]).
//!
//! [`Batch::direct`]: crate::context::Batch::direct

use super::*;
use crate::context::GRID;
use crate::ir::grid::{Builder, Program, StepId, StepOp};

/// The IDs of the workgroup, relative to the first evaluated one.
const IDS: [Gpr; 3] = [R8, R9, R10];

/// A load whose dwords are the same in all waves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GridLoad {
    /// The position of its dwords in [`Ctx::grid`].
    pub to: u32,
    /// The position in [`Ctx::grid`] of the host address that it is relative to.
    pub pointer: u32,
    pub step: StepId,
}

/// The code of a grid variant, and the layout of its data in [`Ctx::grid`], in dwords. The first three dwords are the numbers of workgroups,
/// the next three the first workgroup.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct GridCode {
    pub program: Program,
    /// The offset of the code's entry, which expects the wave's time slice in RCX.
    pub at: u32,
    pub loads: Vec<GridLoad>,
    /// Positions and steps of 64-bit scalars.
    pub scalars: Vec<(u32, StepId)>,
    /// Positions of the slopes of each address, then of each base: three qwords each.
    pub slopes: Vec<u32>,
    /// The block writes no other memory than that at its affine addresses.
    pub writes_affine: bool,
}

/// The dwords of [`Ctx::grid`] that have the first workgroup, in each dimension.
const FIRSTS: u32 = 3;
/// The first dword of [`Ctx::grid`] without a fixed use.
const FREE: u32 = 6;
const ADDRESS_BYTES: usize = size_of::<[u64; 4]>();
const BASE_BYTES: usize = size_of::<[u32; 4]>();

impl GridCode {
    /// Returns the number of 64-byte lines of each wave's table: a qword per slice for each address, and a dword per slice for each base.
    pub fn lines(&self) -> usize {
        let (addresses, bases) = (self.program.addresses.len(), self.program.bases.len());
        (ADDRESS_BYTES * addresses + BASE_BYTES * bases).div_ceil(64)
    }
}

fn grid_mem(dword: u32) -> Mem {
    ctx!(grid, 4 * dword as usize)
}

/// An allocator of dwords in [`Ctx::grid`].
struct Room(u32);

impl Room {
    /// Allocates dwords. `None` if there is no room.
    fn take(&mut self, dwords: u32) -> Option<u32> {
        let at = self.0.next_multiple_of(2);
        self.0 = at + dwords;
        (self.0 as usize <= GRID).then_some(at)
    }
}

/// A variant under construction.
pub(crate) struct Grid<'a> {
    pub builder: Builder<'a>,
    /// The registers that are loaded when a wave of a batch begins: see [`time_slices::begin`].
    pub live_ins: &'a LiveIns,
    pub mode: Option<u32>,
    pub at: u32,
    /// The number of instructions after the block, if nothing reads a register there.
    pub after: Option<u32>,
}

/// Where the next wave begins at the end of a grid variant, with its time slice in RCX and the IDs that the block reads in their registers.
pub(crate) struct Direct {
    known: Label,
    reads: [bool; 3],
    /// The number of instructions after the block.
    after: u32,
}

impl<V: Vectors> Emit<'_, V> {
    /// Emits the beginning of a grid variant: comparisons, addresses and bases. `used` marks the used scalars. RCX is the time slice.
    pub(super) fn grid_begin(&mut self, used: &[bool]) {
        if let Some(mut grid) = self.grid.take() {
            self.out.grid = self.grid_code(&mut grid, used);
        }
    }

    fn grid_code(&mut self, grid: &mut Grid<'_>, used: &[bool]) -> Option<GridCode> {
        let mut room = Room(FREE);
        let e = &self.c.effects;
        let affine = e.store.is_none() || self.c.affine.store.is_some();
        let mut code = GridCode {
            at: grid.at,
            writes_affine: affine && e.rows.is_empty() && e.wave_helper.is_none(),
            ..GridCode::default()
        };
        self.grid_constants(&mut grid.builder, used, &mut room, &mut code)?;
        let own = self.own_ids(&mut grid.builder.program, used);
        let program = &grid.builder.program;
        self.a.mov(true, RSI, Rm::M(ctx!(batch.row)));
        self.take_ids(RSI, program.reads);
        self.grid_comparisons(&code, program);
        if let Some(after) = grid.after {
            self.direct = Some(Direct {
                known: self.a.here(),
                reads: program.reads,
                after,
            });
            for dim in (0..3).filter(|&dim| own[dim]) {
                self.a.mov(false, RAX, Rm::R(IDS[dim]));
                let first = Rm::M(grid_mem(FIRSTS + dim as u32));
                self.a.alu(alu::ADD, false, RAX, first);
                self.a.store(false, sgpr_home(program.ids[dim]), RAX);
            }
            // Helpers read EXEC.
            self.a.imm(RAX, u64::MAX);
            self.a.store(true, sgpr_home(EXEC as u8), RAX);
            let start = mem(RCX, offset_of!(TimeSlice, start) as i32);
            self.a.mov(true, RDX, Rm::M(start));
            self.grid_vgprs(grid.live_ins);
            if !matches!(self.c.terminator, Terminator::End) {
                let clock = mem(WAVE, offset_of!(WaveState, clock) as i32);
                self.a.imm(RAX, 0);
                self.a.store(true, clock, RAX);
            }
        } else {
            time_slices::give::<V>(self.a, (grid.live_ins, grid.mode));
        }
        self.grid_sums(grid, &mut room, &mut code)?;
        code.program = grid.builder.program.clone();
        Some(code)
    }

    /// Emits the code at the end of the variant: the next wave begins in it, if waves may begin there directly.
    pub(super) fn next_of_grid(&mut self) {
        let Some(direct) = self.direct.take() else {
            return;
        };
        const BYTES: i32 = size_of::<TimeSlice>() as i32;
        let [usual, row, go, pause, leave] = std::array::from_fn(|_| self.a.label());
        let exit = self.common.exit;
        let a = &mut *self.a;
        a.alu_imm(alu::CMP, true, Rm::M(ctx!(batch.direct)), 0);
        a.jcc(Cc::E, usual);
        time_slices::spend_fuel(a, direct.after);
        a.mov(true, RCX, Rm::M(ctx!(current.time_slice)));
        a.alu_imm(alu::ADD, true, Rm::R(RCX), BYTES);
        a.mov(true, RDX, Rm::M(ctx!(batch.row)));
        a.alu(alu::CMP, true, RCX, Rm::M(ctx!(current.end)));
        a.jcc(Cc::E, row);
        a.bind(go);
        a.store(true, ctx!(current.time_slice), RCX);
        a.alu(alu::CMP, true, RSI, Rm::R(RDI));
        a.jcc(Cc::G, pause);
        a.lea(FUEL, mem(RSI, -(self.c.insns as i32)));
        self.take_ids(RDX, direct.reads);
        let a = &mut *self.a;
        a.jmp(direct.known);
        a.bind(row);
        time_slices::next_row(a, leave);
        a.mov(true, RCX, Rm::M(ctx!(batch.time_slices)));
        a.jmp(go);
        a.bind(leave);
        a.imm(RAX, EXIT_END | self.at.last << 8);
        a.jmp(exit);
        a.bind(pause);
        a.imm(RAX, EXIT_NEXT);
        a.jmp(exit);
        a.bind(usual);
    }

    /// Loads the IDs of a workgroup that the block reads. The wave starts again in the usual code if the workgroup is not one of the evaluated ones.
    fn take_ids(&mut self, row: Gpr, reads: [bool; 3]) {
        let anew = self.restart();
        for dim in (0..3).filter(|&dim| reads[dim]) {
            self.a.mov(false, IDS[dim], Rm::M(mem(row, 4 * dim as i32)));
            let first = Rm::M(grid_mem(FIRSTS + dim as u32));
            self.a.alu(alu::SUB, false, IDS[dim], first);
            let limit = Rm::M(grid_mem(dim as u32));
            self.a.alu(alu::CMP, false, IDS[dim], limit);
            self.a.jcc(Cc::Ae, anew);
        }
    }

    /// Returns which IDs are read by scalars other than those of bases.
    fn own_ids(&self, program: &mut Program, used: &[bool]) -> [bool; 3] {
        let mut own = [false; 3];
        for (n, _) in self.c.graph.iter().zip(used).filter(|(_, used)| **used) {
            if let Inst::SIn(code) = n.op
                && let Some(dim) = program.ids.iter().position(|&id| id == code)
            {
                own[dim] = true;
                program.reads[dim] = true;
            }
        }
        own
    }

    /// Assigns positions to the scalars that are the same in all workgroups.
    fn grid_constants(
        &mut self,
        builder: &mut Builder<'_>,
        used: &[bool],
        room: &mut Room,
        code: &mut GridCode,
    ) -> Option<()> {
        let c = self.c;
        let mut pointers: Vec<(StepId, u32)> = Vec::new();
        for (at, n) in c.graph.iter().enumerate() {
            let id = at as Id;
            if !used[at] || !builder.constant[at] {
                continue;
            }
            let to = match n.op {
                Inst::SLoad { count, .. } => {
                    let to = room.take(count as u32)?;
                    let address = builder.node(n.args[0])?;
                    let known = pointers.iter().find(|p| p.0 == address);
                    let pointer = match known {
                        Some(known) => known.1,
                        None => room.take(2)?,
                    };
                    pointers.push((address, pointer));
                    let step = builder.node(id)?;
                    code.loads.push(GridLoad { to, pointer, step });
                    to
                }
                Inst::SIn(_) | Inst::SccIn => {
                    let to = room.take(2)?;
                    code.scalars.push((to, builder.node(id)?));
                    to
                }
                _ if self.on_demand(id) => continue,
                _ => {
                    let to = room.take(2)?;
                    code.scalars.push((to, builder.node(id)?));
                    to
                }
            };
            // A scalar's slot is relative to the first scalar.
            let from_scalars = offset_of!(Ctx, grid) - offset_of!(Ctx, scalars);
            self.slot_of.insert(id, from_scalars as u32 + 4 * to);
        }
        Some(())
    }

    /// Checks that the memory of the constants has not changed. If it has, the wave starts again in the usual code.
    fn grid_comparisons(&mut self, code: &GridCode, program: &Program) {
        let anew = self.restart();
        let mut last = None;
        for load in &code.loads {
            let StepOp::Load { count, offset } = program.steps[load.step as usize].op else {
                continue;
            };
            if last != Some(load.pointer) {
                self.a.mov(true, RAX, Rm::M(grid_mem(load.pointer)));
                last = Some(load.pointer);
            }
            let mut done = 0;
            while done < count {
                let wide = count - done >= 2;
                let from = mem(RAX, offset + 4 * done as i32);
                self.a.mov(wide, RDI, Rm::M(from));
                let was = Rm::M(grid_mem(load.to + done as u32));
                self.a.alu(alu::CMP, wide, RDI, was);
                self.a.jcc(Cc::Ne, anew);
                done += 1 + wide as u8;
            }
        }
    }

    /// Copies the VGPRs that lanes read from the wave's initial registers, at RDX.
    fn grid_vgprs(&mut self, live_ins: &LiveIns) {
        let c = self.c;
        let leaves = c.fast_paths.iter().flat_map(|f| &f.leaves);
        let mut read: Vec<bool> = (0..c.graph.len())
            .map(|at| self.plan.live[at] || !self.plan.uses[at].is_empty())
            .collect();
        leaves.for_each(|&leaf| read[leaf as usize] = true);
        let mut copied = Vec::new();
        for (n, _) in c.graph.iter().zip(read).filter(|(_, read)| *read) {
            if let Inst::VIn(v) = n.op
                && !copied.contains(&v)
            {
                copied.push(v);
            }
        }
        for v in copied {
            let given = live_ins.given().iter().position(|&given| given == v);
            if given.is_none() {
                V::zero(self.a);
            }
            for slice in 0..4 {
                let to = vgpr_line(v, slice);
                match given {
                    Some(at) => {
                        let line = live_ins.sgprs.len() + 4 * at + slice as usize;
                        V::copy(self.a, 64, slice, mem(RDX, 64 * line as i32), to);
                    }
                    None => V::store_line(self.a, to),
                }
            }
        }
    }

    /// Computes addresses and bases from the IDs and the wave's table, at RDX.
    fn grid_sums(
        &mut self,
        grid: &mut Grid<'_>,
        room: &mut Room,
        code: &mut GridCode,
    ) -> Option<()> {
        let builder = &grid.builder;
        let program = &builder.program;
        let mut at = 64 * grid.live_ins.lines();
        let mut last = None;
        for a in &program.addresses {
            let slopes = room.take(6)?;
            code.slopes.push(slopes);
            let address = &self.c.affine.addresses[a.number as usize];
            // Addresses that differ by constants have the same slopes.
            let constant = address.plus.is_none_or(|(low, high)| {
                builder.constant[low as usize] && builder.constant[high as usize]
            });
            let kind = (address.lo, address.hi, address.index);
            if last != Some(kind) || !constant {
                self.grid_product(program, slopes);
            }
            last = constant.then_some(kind);
            let slot = self.address_slot(a.number);
            V::add_qwords(self.a, RAX, [mem(RDX, at as i32), slot]);
            at += ADDRESS_BYTES;
        }
        for &(base, _) in &program.bases {
            let slopes = room.take(6)?;
            code.slopes.push(slopes);
            self.grid_product(program, slopes);
            let slot = self.base_slot(base);
            V::add_dwords(self.a, RAX, [mem(RDX, at as i32), slot]);
            at += BASE_BYTES;
        }
        Some(())
    }

    /// Computes the sum of the IDs times slopes in RAX. RDI is clobbered.
    fn grid_product(&mut self, program: &Program, slopes: u32) {
        let dims: Vec<usize> = (0..3).filter(|&dim| program.reads[dim]).collect();
        if dims.is_empty() {
            self.a.imm(RAX, 0);
        }
        for (n, dim) in dims.into_iter().enumerate() {
            let to = if n == 0 { RAX } else { RDI };
            let slope = grid_mem(slopes + 2 * dim as u32);
            self.a.mov(true, to, Rm::M(slope));
            self.a.imul(true, to, Rm::R(IDS[dim]));
            if n > 0 {
                self.a.alu(alu::ADD, true, RAX, Rm::R(RDI));
            }
        }
    }
}
