//! Tiles: the memory that lanes of a loop's load walk over, read ahead and transposed ([`Tile`]).
//!
//! Blocks of an innermost loop share tiles, unless they make others' writes visible. Jumps among them go to a block's inner label; all other ways
//! to a block empty the tiles first, those of waves that start, continue after a barrier or come from the interpreter among
//! them. Stores of such blocks look whether they write memory that a tile has.

use super::machine::At;
use super::memory::{Affine, Lanes, computed};
use super::range::Range as RangeSlot;
use super::select::Select;
use super::slice::SLICE;
use super::*;
use crate::context::{TILES, Tile};
use crate::ir::region::{WaveHelper, WaveHelperCall};
use std::ops::Range;

/// Which of the blocks that begin at one address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Variant {
    Plain,
    AllActive,
    Joined,
}

/// The blocks that begin at one address.
fn variants(c: &Block) -> impl Iterator<Item = (Variant, &Block)> {
    let others = [
        (Variant::AllActive, c.all_active.as_deref()),
        (Variant::Joined, c.joined.as_deref()),
    ];
    let others = others.into_iter().filter_map(|(v, c)| Some((v, c?)));
    [(Variant::Plain, c)].into_iter().chain(others)
}

/// The tiles of a region.
#[derive(Default)]
pub(crate) struct Tiles {
    /// The loop of each block that has tiles.
    of_block: Vec<Option<usize>>,
    of_loop: Vec<Range<u8>>,
    /// By the block's number, its variant, and the load.
    of_load: Map<(u64, Variant, Id), u8>,
}

/// Returns true if a tile may outlive a block.
fn keeps(c: &Block) -> bool {
    c.has_code() && !c.polls && c.effects.rows.is_empty()
}

/// The loads of a block that may have a tile.
fn loads(c: &Block) -> impl Iterator<Item = Id> + '_ {
    let walks = |id: &Id| {
        let n = &c.graph[*id as usize];
        let Inst::Group {
            space, count: 1, ..
        } = n.op
        else {
            return false;
        };
        let of = [n.args[0], n.args[1]];
        n.vec && space != Space::Lds && c.graph[of[0] as usize].vec && computed(&c.graph, of)
    };
    (0..c.graph.len() as Id).filter(walks)
}

/// The innermost loops: the starts of their first and last blocks.
fn innermost(blocks: &[Block]) -> Vec<[u64; 2]> {
    let mut all: Vec<[u64; 2]> = Vec::new();
    for c in blocks {
        let to = match c.terminator {
            Terminator::Jump(pc) => pc,
            Terminator::Branch { taken, next, .. } => taken.min(next),
            _ => continue,
        };
        if to > c.start {
            continue;
        }
        match all.iter_mut().find(|l| l[0] == to) {
            Some(l) => l[1] = l[1].max(c.start),
            None => all.push([to, c.start]),
        }
    }
    let within = |a: &[u64; 2], b: &[u64; 2]| a != b && b[0] <= a[0] && a[1] <= b[1];
    let inner = |l: &&[u64; 2]| !all.iter().any(|other| within(other, l));
    all.iter().filter(inner).copied().collect()
}

impl Tiles {
    pub fn of(blocks: &[Block]) -> Tiles {
        let mut tiles = Tiles {
            of_block: vec![None; blocks.len()],
            ..Tiles::default()
        };
        let mut next = 0;
        for [first, last] in innermost(blocks) {
            let inside: Vec<usize> = (0..blocks.len())
                .filter(|&n| (first..=last).contains(&blocks[n].start))
                .filter(|&n| variants(&blocks[n]).all(|(_, c)| keeps(c)))
                .collect();
            let mut wanted = Vec::new();
            for &n in &inside {
                for (variant, c) in variants(&blocks[n]) {
                    wanted.extend(loads(c).map(|id| (n as u64, variant, id)));
                }
            }
            wanted.truncate(TILES);
            if wanted.is_empty() {
                continue;
            }
            if next + wanted.len() > TILES {
                next = 0;
            }
            for (k, &load) in wanted.iter().enumerate() {
                tiles.of_load.insert(load, (next + k) as u8);
            }
            for n in inside {
                tiles.of_block[n] = Some(tiles.of_loop.len());
            }
            let end = next + wanted.len();
            tiles.of_loop.push(next as u8..end as u8);
            next = end;
        }
        tiles
    }

    /// The loop of a block that has tiles.
    pub fn loop_of(&self, number: usize) -> Option<usize> {
        *self.of_block.get(number)?
    }
}

/// A tile as the code of an access uses it, with its address in RDX.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileAt {
    pub number: u8,
    pub bases: At,
    pub next: At,
    pub step: At,
    pub columns: At,
}

impl TileAt {
    fn new(number: u8) -> TileAt {
        let first = number as usize * size_of::<Tile>();
        let at = |field: usize| mem(RDX, (first + field) as i32);
        let dwords = |field: usize| At {
            mem: at(field),
            slice: 8,
            half: 4,
        };
        TileAt {
            number,
            bases: At::dwords(at(offset_of!(Tile, bases))),
            next: dwords(offset_of!(Tile, next)),
            step: dwords(offset_of!(Tile, step)),
            columns: At::dwords(at(offset_of!(Tile, columns))),
        }
    }

    /// A field that all parts share.
    pub fn field(&self, field: usize) -> Mem {
        mem(
            RDX,
            (self.number as usize * size_of::<Tile>() + field) as i32,
        )
    }
}

impl<V: Vectors> Select<'_, '_, V> {
    fn tile_at(&self, number: u8) -> TileAt {
        let TileAt {
            number,
            bases,
            next,
            step,
            columns,
        } = TileAt::new(number);
        TileAt {
            number,
            bases: self.at(bases),
            next: self.at(next),
            step: self.at(step),
            columns: self.at(columns),
        }
    }

    /// The tile of a load.
    pub(super) fn tile(&self, id: Id) -> Option<TileAt> {
        self.e.own_loop()?;
        let variant = match (self.e.all_active, self.e.other) {
            (Some(_), _) => Variant::AllActive,
            (None, Some(_)) => Variant::Joined,
            (None, None) => Variant::Plain,
        };
        let load = (self.e.at.number, variant, id);
        let number = *self.e.common.tiles.of_load.get(&load)?;
        Some(self.tile_at(number))
    }

    /// The tiles that a store may change.
    pub(super) fn tiles(&self) -> Vec<TileAt> {
        self.e.own_tiles().map(|n| self.tile_at(n)).collect()
    }
}

impl<V: Vectors> Emit<'_, V> {
    /// The tiles of the block's loop.
    pub(super) fn own_tiles(&self) -> Range<u8> {
        match self.own_loop() {
            Some(l) => self.common.tiles.of_loop[l].clone(),
            None => 0..0,
        }
    }

    /// The loop whose tiles the block shares.
    fn own_loop(&self) -> Option<usize> {
        let number = self.at.number as usize;
        let tiles = &self.common.tiles;
        (!self.without_tiles)
            .then(|| tiles.loop_of(number))
            .flatten()
    }

    /// The label of a block as a jump of this one reaches it.
    pub(super) fn label_of(&self, pc: u64) -> Label {
        if self.c.continued.contains(&pc) {
            return self.common.continuations[&pc];
        }
        let own = self.own_loop();
        match (self.common.inner.get(&pc), self.common.again.get(&pc)) {
            (Some(&(l, label)), _) if own == Some(l) => label,
            (_, Some((label, code))) if code.iter().any(|c| c.contains(&self.c.start)) => *label,
            _ => self.common.labels[&pc],
        }
    }

    /// Goes to the label if a tile has nothing. RDX: the tiles.
    pub(super) fn tile_on(&mut self, tile: &TileAt, off: Label) {
        self.a.cmp8(ctx!(tiles.on, tile.number as usize), 0);
        self.a.jcc(Cc::E, off);
        self.a.mov(true, RDX, Rm::M(ctx!(tiles.first)));
    }

    /// The memory of the part's dwords at a distance in RCX from the lanes' bases, whose bytes of an element come first. RCX and RSI are
    /// clobbered.
    fn tile_memory(&mut self, tile: &TileAt, bytes: u8) -> Mem {
        if bytes < 4 {
            self.a.mov(false, RSI, Rm::R(RCX));
            self.a.alu_imm(alu::AND, false, Rm::R(RSI), 3);
            self.a.alu_imm(alu::AND, false, Rm::R(RCX), !3);
        }
        self.a.shift_imm(4, false, RCX, 6);
        if bytes < 4 {
            self.a.alu(alu::ADD, false, RCX, Rm::R(RSI));
        }
        let At { mem: at, half, .. } = tile.columns;
        let mut disp = at.disp + half * self.v.half as i32;
        if self.looped {
            let slice = Mem {
                index: Some((SLICE, 8)),
                ..mem(RCX, 0)
            };
            self.a.lea(RCX, slice);
        } else {
            disp += 64 * self.slice as i32;
        }
        Mem {
            index: Some((RCX, 1)),
            ..mem(RDX, disp)
        }
    }

    /// Where the part has the first dword of an access that is where it is expected. The next one is expected a step farther. Goes to
    /// the label if it is outside. RCX and RSI are clobbered.
    pub(super) fn tile_next(&mut self, tile: &TileAt, bytes: u8, count: u8, outside: Label) -> Mem {
        let next = self.at(tile.next);
        self.a.mov(false, RCX, Rm::M(next));
        let last = 64 - bytes as i32 * count as i32;
        self.a.alu_imm(alu::CMP, false, Rm::R(RCX), last);
        self.a.jcc(Cc::A, outside);
        let step = self.at(tile.step);
        self.a.mov(false, RSI, Rm::M(step));
        self.a.alu(alu::ADD, false, RSI, Rm::R(RCX));
        let next = self.at(tile.next);
        self.a.store(false, next, RSI);
        self.tile_memory(tile, bytes)
    }

    /// RCX: where the part's last access was. Goes to the label if that was not in the tile, or is no dword's place, or if memory may be in
    /// the tile twice. RSI is clobbered.
    pub(super) fn tile_last(&mut self, tile: &TileAt, other: Label) {
        let apart = tile.field(offset_of!(Tile, apart));
        self.a.alu_imm(alu::CMP, false, Rm::M(apart), 0);
        self.a.jcc(Cc::E, other);
        let (next, step) = (self.at(tile.next), self.at(tile.step));
        self.a.mov(false, RCX, Rm::M(next));
        self.a.alu(alu::SUB, false, RCX, Rm::M(step));
        self.a.alu_imm(alu::CMP, false, Rm::R(RCX), 60);
        self.a.jcc(Cc::A, other);
        self.a.mov(false, RSI, Rm::R(RCX));
        self.a.alu_imm(alu::AND, false, Rm::R(RSI), 3);
        self.a.jcc(Cc::Ne, other);
    }

    /// The memory of the part's dwords at a distance in RCX.
    pub(super) fn tile_dwords(&mut self, tile: &TileAt) -> Mem {
        self.tile_memory(tile, 4)
    }

    /// Goes to the label if a tile's budget is not spent.
    pub(super) fn may_ask_for_tile(&mut self, tile: &TileAt, ask: Label) {
        let budget = ctx!(tiles.budget, 4 * tile.number as usize);
        self.a.alu_imm(alu::CMP, false, Rm::M(budget), 0);
        self.a.jcc(Cc::G, ask);
    }

    /// Asks the helper for the memory of lanes' addresses, which are where it reads them. Goes to `again` with it. Otherwise RAX becomes
    /// the host's address of the range's beginning, and the code goes on at `without`.
    pub(super) fn ask_for_tile(
        &mut self,
        l: &Lanes,
        tile: &TileAt,
        range: RangeSlot,
        [again, without]: [Label; 2],
    ) {
        self.a.mov(true, RDX, Rm::M(ctx!(tiles.first)));
        let bases = self.at(tile.bases);
        self.a.lea(RCX, bases);
        self.a.alu(alu::SUB, true, RCX, Rm::R(RDX));
        self.a.store(true, ctx!(tiles.part), RCX);
        let lanes = 16 / V::PARTS as u64;
        let size = l.bytes as u64 * l.count as u64;
        self.ask_range(lanes | size << 8 | (l.offset as u32 as u64) << 32, range);
        let call = self.common.tile_call;
        self.a.call_label(call);
        self.a.test(false, RAX, RAX);
        self.a.jcc(Cc::E, again);
        self.a.mov(true, RAX, Rm::M(range.start()));
        self.of_host(RAX);
        self.a.alu(alu::ADD, true, RAX, Rm::R(BIAS));
        self.a.jmp(without);
    }

    pub(super) fn empty_tile(&mut self, tile: &TileAt) {
        self.a.store_imm8(ctx!(tiles.on, tile.number as usize), 0);
    }

    /// Empties all tiles. Registers stay.
    pub(super) fn empty_tiles(a: &mut Asm) {
        a.g(true, &[0xc7], 0, Rm::M(ctx!(tiles.on)));
        a.buf.extend(0u32.to_le_bytes());
    }

    /// Empties the tiles whose memory an affine store to these addresses may have changed. RAX, RCX and RDX are clobbered.
    pub(super) fn affine_stored(&mut self, a: Affine) {
        let address = &self.c.affine.addresses[a.address as usize];
        if address.limit.is_some() {
            return;
        }
        let numbers: Vec<u8> = self.own_tiles().collect();
        // All that 16 lanes may reach, in both orders.
        let bytes = a.bytes as i32 * a.count as i32;
        let (from, to) = (
            a.offset + 16 * a.step.min(0) - 64,
            a.offset + 16 * a.step.max(0) + 16 * bytes + 64,
        );
        for number in numbers {
            let tile = TileAt::new(number);
            let done = self.a.label();
            self.tile_on(&tile, done);
            self.affine_address(a.address);
            self.a.lea(RCX, mem(RAX, to));
            let hull = tile.field(offset_of!(Tile, hull_host));
            self.a.alu(alu::SUB, false, RCX, Rm::M(hull));
            let bytes = tile.field(offset_of!(Tile, hull_bytes));
            self.a.mov(false, RAX, Rm::M(bytes));
            self.a.alu_imm(alu::ADD, false, Rm::R(RAX), to - from);
            self.a.alu(alu::CMP, false, RCX, Rm::R(RAX));
            self.a.jcc(Cc::A, done);
            self.empty_tile(&tile);
            self.a.bind(done);
        }
    }

    /// Empties the block's tiles if a helper stores to memory.
    pub(super) fn helper_stored(&mut self, w: &WaveHelperCall) {
        let stores = match w.helper {
            WaveHelper::Store { space, .. } | WaveHelper::Atomic { space, .. } => {
                space != Space::Lds
            }
            _ => false,
        };
        if stores && !self.own_tiles().is_empty() {
            Self::empty_tiles(self.a);
        }
    }
}

const _: () = assert!(TILES == 8);
