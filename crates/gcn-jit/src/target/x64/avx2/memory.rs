//! The code of loads and stores: at lanes' own addresses, and at affine addresses.

use super::*;
use crate::context::Tile;
use crate::passes::affine::Shape;
use crate::target::x64::affine::address_plus;
use crate::target::x64::atomic::DISTANCE;
use crate::target::x64::lds::{exec_of, staged};
use crate::target::x64::memory::{Access, Affine, Lanes, reach};
use crate::target::x64::range::Range;
use crate::target::x64::tiles::TileAt;

/// How far lanes' elements are from an address.
#[derive(Clone, Copy)]
enum To {
    /// A register has the distances.
    Index(u8),
    /// So many bytes from lane to lane.
    Step(i32),
}

impl Emit<'_, Avx2> {
    // ---- lanes' own addresses ----

    /// Loads what the lanes are at from a tile, or goes to the label. RAX, RCX, RDX, RSI and temporary registers are clobbered.
    fn tile_load(
        &mut self,
        l: &Lanes,
        tile: &TileAt,
        loaded: &[u8],
        [lo, u, w]: [u8; 3],
        (hi, mask): (Option<u8>, Option<u8>),
        other: Label,
    ) {
        self.tile_on(tile, other);
        let bases = self.at(tile.bases);
        self.a.y(SUBD, u, lo, H::M(bases));
        let next = self.at(tile.next);
        self.a.y(BROADCASTD, w, 0, H::M(next));
        self.a.y(EQD, u, u, H::R(w));
        let high = tile.field(offset_of!(Tile, high));
        match (hi, l.scalar) {
            (Some(hi), _) => {
                self.a.y(BROADCASTD, w, 0, H::M(high));
                self.a.y(EQD, w, w, H::R(hi));
                self.a.y(AND, u, u, H::R(w));
            }
            (None, Some(scalar)) => {
                self.sload(RAX, scalar);
                self.a.alu(alu::CMP, false, RAX, Rm::M(high));
                self.a.jcc(Cc::Ne, other);
            }
            (None, None) => {}
        }
        self.bits_of(RCX, u);
        self.a.alu_imm(alu::XOR, false, Rm::R(RCX), 0xff);
        self.test_active(l.active, RCX);
        self.a.jcc(Cc::Ne, other);
        let from = self.tile_next(tile, l.bytes, l.count, other);
        for (&d, &n) in loaded.iter().zip(&l.wanted) {
            // 64 dwords a column.
            self.a.y(LOAD, d, 0, H::M(plus(from, 256 * n as i32)));
            self.cut(l.bytes, d);
            if let Some(mask) = mask {
                self.a.y(AND, d, d, H::R(mask));
            }
        }
    }

    /// Where lanes have stored to memory that is in a tile: stores dwords there, too, if that is where the last access of all lanes was, and
    /// otherwise empties the tile. RAX, RCX, RDX, RSI and temporary registers are clobbered.
    fn tile_store(&mut self, l: &Lanes, tile: &TileAt, stored: &[u8], lo: u8, [t, u]: [u8; 2]) {
        let (within, done) = (self.a.label(), self.a.label());
        self.tile_on(tile, done);
        let offset = self.a.d32(l.offset as u32);
        self.a.y(ADDD, t, lo, offset);
        let hull = tile.field(offset_of!(Tile, hull));
        self.a.y(BROADCASTD, u, 0, H::M(hull));
        self.a.y(SUBD, t, t, H::R(u));
        let bytes = tile.field(offset_of!(Tile, hull_bytes));
        self.a.y(BROADCASTD, u, 0, H::M(bytes));
        self.a.y(MINUD, u, u, H::R(t));
        self.a.y(EQD, u, u, H::R(t));
        self.bits_of(RCX, u);
        self.test_active(l.active, RCX);
        self.a.jcc(Cc::Ne, within);
        self.a.bind(done);
        let (dword, tile, active) = ((l.bytes, l.count) == (4, 1), *tile, l.active);
        let (data, offset) = (stored.first().copied(), l.offset);
        self.section(move |e| {
            e.a.bind(within);
            if let Some(data) = data.filter(|_| dword) {
                let other = e.a.label();
                if e.all_active.is_none() {
                    e.compare_all_active(active);
                    e.a.jcc(Cc::Ne, other);
                }
                e.tile_last(&tile, other);
                let bases = e.at(tile.bases);
                e.a.y(SUBD, t, lo, H::M(bases));
                e.a.alu(
                    alu::ADD,
                    false,
                    RCX,
                    Rm::M(tile.field(offset_of!(Tile, offset))),
                );
                e.a.alu_imm(alu::SUB, false, Rm::R(RCX), offset);
                Avx2::broadcast_gpr(e.a, u, RCX);
                e.a.y(EQD, t, t, H::R(u));
                e.bits_of(RAX, t);
                e.a.alu_imm(alu::CMP, false, Rm::R(RAX), 0xff);
                e.a.jcc(Cc::Ne, other);
                e.tile_last(&tile, other);
                let to = e.tile_dwords(&tile);
                e.a.y(STORE, data, 0, H::M(to));
                e.a.jmp(done);
                e.a.bind(other);
            }
            e.empty_tile(&tile);
            e.a.jmp(done);
        });
    }

    /// The active lanes and their addresses go where helpers read them.
    fn hand_over(&mut self, l: &Lanes, lo: u8, high: Option<u8>, u: u8) {
        self.a.y(STORE, lo, 0, H::M(ctx!(addresses)));
        let upper = match (high, l.scalar) {
            (Some(high), _) => high,
            (None, Some(scalar)) => {
                self.sload(RAX, scalar);
                Avx2::broadcast_gpr(self.a, u, RAX);
                u
            }
            (None, None) => lo,
        };
        self.a.y(STORE, upper, 0, H::M(ctx!(addresses, 64)));
        self.active_to(l.active, RAX);
        self.a.store16(ctx!(call.lanes), RAX);
    }

    /// `t`: the offsets of active lanes' addresses in the remembered range; RAX: the host's address of that
    /// beginning. Jumps to `outside` if active lanes are not in it, with the bits of all such lanes in RCX, or to `unknown` if nothing is
    /// known of the access.
    fn in_range(
        &mut self,
        l: &Lanes,
        range: Range,
        [lo, t, u, w]: [u8; 4],
        high: Option<u8>,
        [outside, unknown]: [Label; 2],
    ) {
        self.check_tag(range, unknown);
        let (start, upper) = (range.start(), range.upper());
        self.a.y(BROADCASTD, u, 0, H::M(start));
        self.a.y(SUBD, t, lo, H::R(u));
        self.a.y(BROADCASTD, u, 0, H::M(range.bytes()));
        self.a.y(MAXUD, u, t, H::R(u));
        self.a.y(EQD, u, u, H::R(t));
        match (high, l.scalar) {
            (Some(high), _) => {
                self.a.y(BROADCASTD, w, 0, H::M(upper));
                self.a.y(EQD, w, w, H::R(high));
                self.a.y(ANDN, u, u, H::R(w));
                self.bits_of(RCX, u);
                self.a.alu_imm(alu::XOR, false, Rm::R(RCX), 0xff);
            }
            (None, scalar) => {
                if let Some(scalar) = scalar {
                    self.sload(RAX, scalar);
                    self.a.alu(alu::CMP, false, RAX, Rm::M(upper));
                    self.a.jcc(Cc::Ne, unknown);
                }
                self.bits_of(RCX, u);
            }
        }
        self.test_active(l.active, RCX);
        self.a.jcc(Cc::Ne, outside);
        self.a.mov(true, RAX, Rm::M(start));
        self.of_host(RAX);
        self.a.alu(alu::ADD, true, RAX, Rm::R(BIAS));
    }

    /// Finds the lanes that are outside of the first range, whose bits are in RCX, in the second one, or jumps to `unknown`. If all
    /// active lanes are there, the ranges change places, and the code goes on at `again`; otherwise RAX and `t` are as
    /// [`Emit::in_range`] leaves them, from the lower range's beginning. RCX, RDX, `u` and `w` are clobbered.
    fn in_two_ranges(
        &mut self,
        (active, ranges): (At, [Range; 2]),
        [lo, t, u, w]: [u8; 4],
        high: Option<u8>,
        [unknown, again]: [Label; 2],
    ) {
        self.both_ranges(ranges, unknown);
        let [_, second] = ranges;
        self.a.y(BROADCASTD, u, 0, H::M(second.start()));
        self.a.y(SUBD, t, lo, H::R(u));
        self.a.y(BROADCASTD, u, 0, H::M(second.bytes()));
        self.a.y(MAXUD, u, t, H::R(u));
        self.a.y(EQD, u, u, H::R(t));
        if let Some(high) = high {
            self.a.y(BROADCASTD, w, 0, H::M(second.upper()));
            self.a.y(EQD, w, w, H::R(high));
            self.a.y(ANDN, u, u, H::R(w));
            self.bits_of(RDX, u);
            self.a.alu_imm(alu::XOR, false, Rm::R(RDX), 0xff);
        } else {
            self.bits_of(RDX, u);
        }
        self.a.alu(alu::AND, false, RDX, Rm::R(RCX));
        self.test_active(active, RDX);
        self.a.jcc(Cc::Ne, unknown);
        let both = self.a.label();
        self.a.alu_imm(alu::XOR, false, Rm::R(RCX), 0xff);
        self.test_active(active, RCX);
        self.a.jcc(Cc::Ne, both);
        self.exchange_ranges(ranges);
        self.a.jmp(again);
        self.a.bind(both);
        self.lower_range(ranges);
        Avx2::broadcast_gpr(self.a, u, RAX);
        self.a.y(SUBD, t, lo, H::R(u));
        self.of_host(RAX);
        self.a.alu(alu::ADD, true, RAX, Rm::R(BIAS));
    }

    /// The register of active lanes' addresses, which is `lo` or `t`; RAX: where LDS is. Jumps to `from` unless all bytes are in LDS
    /// and below the limit, and those of several elements are multiples of their size.
    fn in_lds(&mut self, l: &Lanes, lo: u8, t: u8, u: u8, from: Label) -> u8 {
        let bytes = match l.store {
            true => l.bytes as u64 * l.count as u64,
            false => reach(l.bytes, l.count as usize),
        };
        let limit = l.scalar.unwrap_or(0);
        let mut index = lo;
        if l.offset != 0 {
            let offset = self.a.d32(l.offset as u32);
            self.a.y(ADDD, t, lo, offset);
            index = t;
        }
        if l.store && l.count > 1 && !bytes.is_power_of_two() {
            self.a.jmp(from);
            return index;
        }
        let unlimited = self.konst(limit).is_some_and(|l| l >= u32::MAX as u64);
        if unlimited && matches!(bytes, 4 | 8 | 12 | 16) {
            let locations = ctx!(lds.limits, bytes as usize);
            self.a.y(BROADCASTD, u, 0, H::M(locations));
            self.a.y(MAXUD, u, u, H::R(index));
            self.a.y(EQD, u, u, H::R(index));
            self.bits_of(RCX, u);
        } else {
            self.last_in_lds(limit, bytes as i32, from);
            Avx2::broadcast_gpr(self.a, u, RAX);
            self.a.y(MINUD, u, u, H::R(index));
            self.a.y(EQD, u, u, H::R(index));
            self.bits_of(RCX, u);
            self.a.alu_imm(alu::XOR, false, Rm::R(RCX), 0xff);
        }
        if l.store && l.count > 1 {
            let cut = self.a.d32(bytes as u32 - 1);
            let zero = self.a.d32(0);
            self.a.y(AND, u, index, cut);
            self.a.y(EQD, u, u, zero);
            self.bits_of(RDX, u);
            self.a.alu_imm(alu::XOR, false, Rm::R(RDX), 0xff);
            self.a.alu(alu::OR, false, RCX, Rm::R(RDX));
        }
        self.test_active(l.active, RCX);
        self.a.jcc(Cc::Ne, from);
        self.a.mov(true, RAX, Rm::M(ctx!(lds.base)));
        index
    }

    /// RAX: that and the distance of lane 0, where all lanes are active and their distances in `index` are as far apart as their elements
    /// are long. Jumps to `apart` where they are not. RCX and temporary registers are clobbered.
    fn first_lane(&mut self, l: &Lanes, index: u8, [u, w]: [u8; 2], apart: Label) {
        if self.all_active.is_none() {
            self.compare_all_active(l.active);
            self.a.jcc(Cc::Ne, apart);
        }
        let log = (l.bytes * l.count).trailing_zeros() as usize;
        self.a
            .y(SUBD, u, index, H::M(ctx!(tables.strides, 64 * log)));
        self.a.y(BROADCASTD, w, 0, H::R(u));
        self.a.y(EQD, w, w, H::R(u));
        self.bits_of(RCX, w);
        self.a.alu_imm(alu::CMP, false, Rm::R(RCX), 0xff);
        self.a.jcc(Cc::Ne, apart);
        self.a.x(MOVD_TO, u, 0, H::R(RCX));
        self.a.alu(alu::ADD, true, RAX, Rm::R(RCX));
    }

    /// Stores the staged dwords of lanes if all of the wave are active and follow each other, and goes to the label that is returned. Before
    /// that nothing is written: a fault finds memory as it was. All vector registers are clobbered.
    pub(super) fn store_staged(&mut self, l: &Lanes, range: Range) -> Label {
        let (from, slow, done) = (self.a.label(), self.a.label(), self.a.label());
        let apart = if l.count == 3 { slow } else { self.a.label() };
        let looped = std::mem::replace(&mut self.looped, false);
        let size = 4 * l.count as i32;
        let [lo, hi, t, u, w, base] = [4, 5, 6, 7, 8, 9];
        self.a.alu_imm(alu::CMP, true, Rm::M(exec_of(0)), -1);
        self.a.jcc(Cc::Ne, apart);
        let again = self.a.here();
        for part in 0..8 {
            self.staged_in_range(l, range, [lo, hi, t, u, w], part, from);
            for log in (0..8usize).filter(|log| size >> log & 1 != 0) {
                self.a.y(SUBD, t, t, H::M(ctx!(tables.strides, 64 * log)));
            }
            match part {
                0 => self.a.y(BROADCASTD, base, 0, H::R(t)),
                _ => {
                    let before = self.a.d32(8 * part as u32 * size as u32);
                    self.a.y(SUBD, t, t, before);
                }
            }
            self.a.y(EQD, t, t, H::R(base));
            self.bits_of(RCX, t);
            self.a.alu_imm(alu::CMP, false, Rm::R(RCX), 0xff);
            self.a.jcc(Cc::Ne, apart);
        }
        self.a.x(MOVD_TO, base, 0, H::R(RCX));
        self.a.alu(alu::ADD, true, RAX, Rm::R(RCX));
        self.fetch_at_pace(4 * size, l.offset, true);
        for part in 0..8 {
            let data: Vec<u8> = (0..l.count).collect();
            for &d in &data {
                self.a
                    .y(LOAD, d, 0, H::M(staged_part(2 + d as usize, part)));
            }
            let to = l.offset + 8 * part as i32 * size;
            self.store_dense(4, &data, [4, 5, 6, 7, 8], to);
        }
        self.a.jmp(done);
        if l.count != 3 {
            self.a.bind(apart);
            self.store_rows(l, range, [lo, hi, t, u, w], slow);
            self.a.jmp(done);
        }
        self.a.bind(from);
        self.hand_over(l, lo, Some(hi), u);
        self.ask_around(l, range, again);
        self.a.bind(slow);
        (self.slice, self.v.half, self.looped) = (0, 0, looped);
        done
    }

    /// Does what [`Emit::in_range`] does, for the staged addresses of a part.
    fn staged_in_range(
        &mut self,
        l: &Lanes,
        range: Range,
        [lo, hi, t, u, w]: [u8; 5],
        part: u8,
        outside: Label,
    ) {
        (self.slice, self.v.half) = (part / 2, part % 2);
        for (operand, register) in [lo, hi].into_iter().enumerate() {
            self.a
                .y(LOAD, register, 0, H::M(staged_part(operand, part)));
        }
        self.in_range(l, range, [lo, t, u, w], Some(hi), [outside; 2]);
    }

    /// Stores the staged two or four dwords of each active lane wherever it is. Jumps to `slow`, before anything is stored, where a lane is
    /// outside of the range or not aligned to its size: lanes that are aligned overlap only if they have the same address, so each lane's
    /// dwords may be stored before those of the next.
    fn store_rows(&mut self, l: &Lanes, range: Range, r: [u8; 5], slow: Label) {
        let size = 4 * l.count;
        let [lo, _, t, u, w] = r;
        let (any, zero) = (10, 11);
        self.a.y(XOR, any, any, H::R(any));
        for part in 0..8 {
            self.staged_in_range(l, range, r, part, slow);
            self.a.y(STORE, t, 0, H::M(staged_part(DISTANCE, part)));
            let mut address = lo;
            if l.offset % size as i32 != 0 {
                let offset = self.a.d32(l.offset as u32);
                self.a.y(ADDD, u, lo, offset);
                address = u;
            }
            self.a.y(OR, any, any, H::R(address));
        }
        let below = self.a.d32(size as u32 - 1);
        self.a.y(AND, any, any, below);
        self.a.y(XOR, zero, zero, H::R(zero));
        self.a.y(EQD, any, any, H::R(zero));
        self.bits_of(RCX, any);
        self.a.alu_imm(alu::CMP, false, Rm::R(RCX), 0xff);
        self.a.jcc(Cc::Ne, slow);
        let (some, done) = (self.a.label(), self.a.label());
        self.a.alu_imm(alu::CMP, true, Rm::M(exec_of(0)), -1);
        self.a.jcc(Cc::Ne, some);
        // R8: where the part's operands are staged.
        self.a.imm(R8, 0);
        let top = self.a.here();
        let of_part = |operand: usize| {
            H::M(Mem {
                index: Some((R8, 1)),
                ..staged_part(operand, 0)
            })
        };
        for d in 0..l.count {
            self.a.y(LOAD, d, 0, of_part(2 + d as usize));
        }
        self.a.y(LOAD, lo, 0, of_part(DISTANCE));
        // Rows of lanes 0 and 1, 4 and 5; 2 and 3, 6 and 7; or of lanes 0 and 4; 1 and 5; ….
        self.a.y(UNPCKL, t, 0, H::R(1));
        self.a.y(UNPCKH, u, 0, H::R(1));
        if l.count == 4 {
            self.a.y(UNPCKL, any, 2, H::R(3));
            self.a.y(UNPCKH, zero, 2, H::R(3));
            self.a.y(UNPCKLQ, 0, t, H::R(any));
            self.a.y(UNPCKHQ, 1, t, H::R(any));
            self.a.y(UNPCKLQ, 2, u, H::R(zero));
            self.a.y(UNPCKHQ, 3, u, H::R(zero));
        }
        for pair in 0..4u8 {
            let (upper, second) = (pair / 2, pair % 2);
            if pair == 2 {
                self.a.yi(EXTRACT, lo, 0, H::R(lo), 1);
            }
            self.two_lanes(lo, second);
            let to = [RDX, RCX].map(|by| {
                H::M(Mem {
                    index: Some((by, 1)),
                    ..mem(RAX, l.offset)
                })
            });
            if l.count == 4 {
                for (k, to) in to.into_iter().enumerate() {
                    let row = 2 * second + k as u8;
                    match upper {
                        0 => self.a.x(STORE, row, 0, to),
                        _ => self.a.yi(EXTRACT, row, 0, to, 1),
                    }
                }
                continue;
            }
            let mut row = [t, u][second as usize];
            if upper > 0 {
                self.a.yi(EXTRACT, row, 0, H::R(w), 1);
                row = w;
            }
            self.a.x(MOVQ_TO, row, 0, to[0]);
            self.a.v(EXTRACTQ, 0, row, 0, to[1], Some(1));
        }
        self.a.alu_imm(alu::ADD, false, Rm::R(R8), 32);
        self.a.alu_imm(alu::CMP, false, Rm::R(R8), 8 * 32);
        self.a.jcc(Cc::Ne, top);
        self.a.jmp(done);
        self.a.bind(some);
        self.a.mov(true, RDI, Rm::R(RAX));
        self.a.mov(true, R8, Rm::M(exec_of(0)));
        self.a.test(true, R8, R8);
        self.a.jcc(Cc::E, done);
        self.store_staged_lanes(size, l.offset);
        self.a.bind(done);
    }

    /// Loads the elements of 8 lanes one after the other, from RAX plus a constant on.
    fn load_consecutive(&mut self, l: &Lanes, loaded: &[u8], [t, u, w]: [u8; 3], offset: i32) {
        let at = |by: i32| H::M(address_plus(offset + by));
        let halves = |e: &mut Self, d: u8, low: i32, high: i32| {
            e.a.x(LOAD, d, 0, at(low));
            e.a.yi(INSERT, d, d, at(high), 1);
        };
        match (l.bytes, l.count) {
            (1, _) => self.a.y(X(2, 1, 0, 0x31), loaded[0], 0, at(0)),
            (2, _) => self.a.y(X(2, 1, 0, 0x33), loaded[0], 0, at(0)),
            (_, 1) => self.a.y(LOAD, loaded[0], 0, at(0)),
            (_, 2) => {
                halves(self, t, 0, 32);
                halves(self, u, 16, 48);
                for (&d, &n) in loaded.iter().zip(&l.wanted) {
                    self.a
                        .yi(SHUFPS, d, t, H::R(u), [0x88, 0xdd][n as usize % 2]);
                }
            }
            _ => {
                let rows = [t, u, w, loaded[loaded.len().min(2) - 1]];
                for (k, r) in rows.into_iter().enumerate() {
                    halves(self, r, 16 * k as i32, 64 + 16 * k as i32);
                }
                self.transpose(loaded, &l.wanted, rows);
            }
        }
    }

    /// The wanted ones of four dwords of each of 8 lanes at RAX plus its distance plus a constant: 16 bytes of each lane, transposed. RCX,
    /// RDX, RSI and temporary registers, which may have the distances, are clobbered.
    fn gather_rows(
        &mut self,
        loaded: &[u8],
        wanted: &[u8],
        index: u8,
        [t, u, w]: [u8; 3],
        offset: i32,
    ) {
        // The distances are moved from vector registers: through memory they would take twice the time.
        let distances = loaded[0];
        let rows = [t, u, w, loaded[1]];
        self.a.y(LOAD, distances, 0, H::R(index));
        for pair in 0..4u8 {
            if pair == 2 {
                self.a.yi(EXTRACT, distances, 0, H::R(distances), 1);
            }
            self.two_lanes(distances, pair % 2);
            let two = &rows[2 * (pair as usize % 2)..][..2];
            for (&row, by) in two.iter().zip([RDX, RCX]) {
                let from = H::M(Mem {
                    index: Some((by, 1)),
                    ..mem(RAX, offset)
                });
                match pair {
                    0..2 => self.a.x(LOAD, row, 0, from),
                    _ => self.a.yi(INSERT, row, row, from, 1),
                }
            }
        }
        self.transpose(loaded, wanted, rows);
    }

    /// The wanted dwords of lanes whose dwords are in 128 bits each: of lanes 0 and 4, 1 and 5, 2 and 6, 3 and 7. The last one's register
    /// is that of a wanted element, of the second one if there is one.
    fn transpose(&mut self, loaded: &[u8], wanted: &[u8], [t, u, w, last]: [u8; 4]) {
        if let &[d] = loaded {
            let e = if wanted[0] < 2 { UNPCKL } else { UNPCKH };
            self.a.y(e, t, t, H::R(u));
            self.a.y(e, w, w, H::R(last));
            let e = [UNPCKLQ, UNPCKHQ][wanted[0] as usize % 2];
            self.a.y(e, d, t, H::R(w));
            return;
        }
        let first = loaded[0];
        self.a.y(UNPCKL, first, t, H::R(u));
        self.a.y(UNPCKH, t, t, H::R(u));
        self.a.y(UNPCKL, u, w, H::R(last));
        self.a.y(UNPCKH, w, w, H::R(last));
        // The first one's register is read until the end.
        for (&d, &n) in loaded.iter().zip(wanted).rev() {
            let (a, b) = if n < 2 { (first, u) } else { (t, w) };
            let e = [UNPCKLQ, UNPCKHQ][n as usize % 2];
            self.a.y(e, d, a, H::R(b));
        }
    }

    /// One of the dwords of each of eight lanes at RAX plus a constant, where lanes are three dwords apart and access the first `count` of them.
    /// No byte after the last lane's last dword is read. `w` is clobbered.
    fn load_of_three(&mut self, element: u8, count: u8, d: u8, w: u8, offset: i32) {
        // Each lane's dword has another place among eight.
        let location_of = |lane: u32| 3 * lane + element as u32;
        let from = |n: u32| {
            let there = (0..8).filter(|&lane| location_of(lane) / 8 == n);
            there.fold(0, |mask, lane| mask | 1u8 << (location_of(lane) % 8))
        };
        let at = |n: i32| H::M(address_plus(offset + 32 * n));
        self.a.y(LOAD, d, 0, at(0));
        self.a.yi(BLENDD, d, d, at(1), from(1));
        if count < 3 {
            let mask = |i: usize| 0u32.wrapping_sub((from(2) >> i & 1) as u32);
            let mask = self.a.line(std::array::from_fn(mask));
            self.a.y(LOAD, w, 0, mask);
            self.a.y(MASKLOAD, w, w, at(2));
            self.a.yi(BLENDD, d, d, H::R(w), from(2));
        } else {
            self.a.yi(BLENDD, d, d, at(2), from(2));
        }
        let index = self
            .a
            .line(std::array::from_fn(|lane| location_of(lane as u32) % 8));
        self.a.y(LOAD, w, 0, index);
        self.a.y(PERMD, d, w, H::R(d));
    }

    /// The dwords in memory of eight lanes. `w` is clobbered.
    fn join_lanes(&mut self, d: u8, w: u8, address_plus: impl Fn(i32) -> Mem) {
        for (quarter, r) in [(0, d), (4, w)] {
            self.a.x(MOVD, r, 0, H::M(address_plus(quarter)));
            for lane in 1..4 {
                let from = H::M(address_plus(quarter + lane));
                self.a.v(INSERTD, 0, r, r, from, Some(lane as u8));
            }
        }
        self.a.yi(INSERT, d, d, H::R(w), 1);
    }

    /// Takes the elements of eight lanes in reverse order. `w` is clobbered.
    fn reverse(&mut self, to: u8, from: u8, w: u8) {
        let index = self.a.line([7, 6, 5, 4, 3, 2, 1, 0]);
        self.a.y(LOAD, w, 0, index);
        self.a.y(PERMD, to, w, H::R(from));
    }

    /// Loads elements of eight lanes that follow each other from the last lane's, which has this number, to the first one's. `w` is clobbered.
    fn load_reversed(&mut self, a: Affine, last: i32, d: u8, w: u8) {
        let from = H::M(address_plus(a.offset + last * a.step));
        match a.bytes {
            1 => self.a.y(X(2, 1, 0, 0x31), d, 0, from),
            2 => self.a.y(X(2, 1, 0, 0x33), d, 0, from),
            _ => self.a.y(LOAD, d, 0, from),
        }
        self.reverse(d, d, w);
    }

    /// Clears the bits of each dword above an element of this many bytes.
    fn cut(&mut self, bytes: u8, d: u8) {
        if bytes < 4 {
            let low = self.a.d32((1u32 << (8 * bytes)) - 1);
            self.a.y(AND, d, d, low);
        }
    }

    /// The same as [`Self::gather_elements`] by a load for each lane. The distances of inactive lanes become 0, where an active lane's element
    /// could be. RCX, RDX and temporary registers, which may have the distances, are clobbered.
    fn load_one_by_one(
        &mut self,
        (active, bytes, wanted): (At, u8, &[u8]),
        loaded: &[u8],
        index: u8,
        mask: Option<u8>,
        [t, u, w]: [u8; 3],
        offset: i32,
    ) {
        let done = self.a.label();
        let index = match mask {
            Some(mask) => {
                if active.half == 0 {
                    // The code is of both halves of a slice, of which this one may have no active lane.
                    for &d in loaded {
                        self.a.y(XOR, d, d, H::R(d));
                    }
                    let m = self.at(active);
                    self.a.cmp8(m, 0);
                    self.a.jcc(Cc::E, done);
                }
                self.a.y(AND, t, index, H::R(mask));
                t
            }
            None => index,
        };
        self.a.yi(EXTRACT, index, 0, H::R(u), 1);
        let pairs = bytes == 4 && matches!(wanted, &[a, b] if b == a + 1);
        let at = |by: Gpr, k: u8| {
            H::M(Mem {
                index: Some((by, 1)),
                ..mem(RAX, offset + k as i32 * bytes as i32)
            })
        };
        if pairs {
            // Qwords of two lanes in each 128 bits: of 0 and 1 with 4 and 5, and of 2 and 3 with 6 and 7.
            let [low, high] = [loaded[0], loaded[1]];
            for (from, to) in [(index, [low, high]), (u, [w, u])] {
                for (pair, r) in to.into_iter().enumerate() {
                    self.two_lanes(from, pair as u8);
                    self.a.x(LOADQ, r, 0, at(RDX, wanted[0]));
                    self.a.x(LOADHPS, r, r, at(RCX, wanted[0]));
                }
            }
            self.a.yi(INSERT, low, low, H::R(w), 1);
            self.a.yi(INSERT, high, high, H::R(u), 1);
            self.a.yi(SHUFPS, w, low, H::R(high), 0xdd);
            self.a.yi(SHUFPS, low, low, H::R(high), 0x88);
            self.a.y(LOAD, high, 0, H::R(w));
        } else {
            for (&d, &k) in loaded.iter().zip(wanted) {
                for (from, r) in [(index, d), (u, w)] {
                    for pair in 0..2u8 {
                        self.two_lanes(from, pair);
                        match pair {
                            0 => self.a.x(MOVD, r, 0, at(RDX, k)),
                            _ => self.a.v(INSERTD, 0, r, r, at(RDX, k), Some(2)),
                        }
                        self.a.v(INSERTD, 0, r, r, at(RCX, k), Some(2 * pair + 1));
                    }
                }
                self.a.yi(INSERT, d, d, H::R(w), 1);
                self.cut(bytes, d);
            }
        }
        if let Some(mask) = mask {
            for &d in loaded {
                self.a.y(AND, d, d, H::R(mask));
            }
        }
        self.a.bind(done);
    }

    /// Elements at RAX plus an index; 0 to inactive lanes. `w` is clobbered.
    fn gather_elements(&mut self, elements: Elements<'_>, index: u8, mask: Option<u8>, w: u8) {
        let Elements {
            bytes,
            offset,
            wanted,
            loaded,
        } = elements;
        for (&d, &k) in loaded.iter().zip(wanted) {
            match mask {
                Some(mask) => self.a.y(LOAD, w, 0, H::R(mask)),
                None => self.a.y(EQD, w, w, H::R(w)),
            }
            let at = Mem {
                index: Some((index, 1)),
                ..mem(RAX, offset + k as i32 * bytes as i32)
            };
            self.a.y(XOR, d, d, H::R(d));
            self.a.y(GATHERDD, d, w, H::M(at));
            self.cut(bytes, d);
        }
    }

    /// Stores elements of each active lane at RAX plus a constant plus the lane's distance, which is a multiple of the lane's number or
    /// in the context, one lane after the other. RCX, RDX, RSI and `w` are clobbered.
    fn scatter_lanes(
        &mut self,
        active: At,
        bytes: u8,
        data: &[u8],
        to: To,
        offset: i32,
        [t, w]: [u8; 2],
    ) {
        let (some, done) = (self.a.label(), self.a.label());
        if self.with(Optional::OneByOne) {
            if self.all_active.is_none() {
                self.compare_all_active(active);
                self.a.jcc(Cc::Ne, some);
            }
            self.scatter_all(bytes, data, to, offset, [t, w]);
            if self.all_active.is_some() {
                return;
            }
            self.a.jmp(done);
            self.a.bind(some);
        }
        let step = match to {
            To::Index(index) => {
                self.a.y(STORE, index, 0, H::M(ctx!(addresses)));
                None
            }
            To::Step(step) => Some(step),
        };
        for (k, &d) in data.iter().enumerate() {
            self.a.y(STORE, d, 0, H::M(ctx!(data, 64 * k)));
        }
        let count = data.len();
        self.each_lane(active, step, |e| {
            for k in 0..count {
                let value = Mem {
                    index: Some((RCX, 4)),
                    ..ctx!(data, 64 * k)
                };
                let at = Mem {
                    index: Some((RSI, 1)),
                    ..mem(RAX, offset + k as i32 * bytes as i32)
                };
                if bytes == 4 {
                    e.a.x(MOVD, w, 0, H::M(value));
                    e.a.x(MOVD_TO, w, 0, H::M(at));
                    continue;
                }
                e.a.mov(false, RCX, Rm::M(value));
                match bytes {
                    1 => e.a.store8(at, RCX),
                    _ => e.a.store16(at, RCX),
                }
            }
        });
        self.a.bind(done);
    }

    /// The same where all lanes are active: a store for each element. `t` and `w` are clobbered.
    fn scatter_all(&mut self, bytes: u8, data: &[u8], to: To, offset: i32, [t, w]: [u8; 2]) {
        if let To::Index(index) = to {
            self.a.yi(EXTRACT, index, 0, H::R(t), 1);
        }
        for pair in 0..4u8 {
            let by = match to {
                To::Index(index) => {
                    self.two_lanes(if pair < 2 { index } else { t }, pair % 2);
                    [0, 1].map(|n| Mem {
                        index: Some(([RDX, RCX][n], 1)),
                        ..mem(RAX, offset)
                    })
                }
                To::Step(step) => [0, 1].map(|n| mem(RAX, offset + (2 * pair as i32 + n) * step)),
            };
            for (k, &d) in data.iter().enumerate() {
                let mut from = d;
                if pair >= 2 {
                    if data.len() > 1 || pair == 2 {
                        self.a.yi(EXTRACT, d, 0, H::R(w), 1);
                    }
                    from = w;
                }
                for (n, at) in by.into_iter().enumerate() {
                    let lane = 2 * (pair % 2) + n as u8;
                    let at = H::M(plus(at, k as i32 * bytes as i32));
                    match (bytes, lane) {
                        (4, 0) => self.a.x(MOVD_TO, from, 0, at),
                        (1, _) => self.a.v(EXTRACTB, 0, from, 0, at, Some(4 * lane)),
                        (2, _) => self.a.v(EXTRACTW, 0, from, 0, at, Some(2 * lane)),
                        _ => self.a.v(EXTRACTD, 0, from, 0, at, Some(lane)),
                    }
                }
            }
        }
    }

    /// RDX, RCX: two dwords of 128 bits, the first ones or the others.
    fn two_lanes(&mut self, from: u8, pair: u8) {
        match pair {
            0 => self.a.v(MOVQ_TO, 0, from, 0, H::R(RCX), None),
            _ => self.a.v(EXTRACTQ, 0, from, 0, H::R(RCX), Some(1)),
        }
        self.a.mov(false, RDX, Rm::R(RCX));
        self.a.shift_imm(5, true, RCX, 32);
    }

    /// Writes a loop over the active lanes: RCX is the lane, RSI its distance. RDX is clobbered.
    fn each_lane(&mut self, active: At, step: Option<i32>, lane: impl FnOnce(&mut Self)) {
        self.active_to(active, RDX);
        let (top, done) = (self.a.label(), self.a.label());
        self.a.test(false, RDX, RDX);
        self.a.jcc(Cc::E, done);
        self.a.bind(top);
        self.a.tzcnt(false, RCX, RDX);
        match step {
            Some(step) => self.a.imul_imm(true, RSI, RCX, step),
            None => {
                let from = Mem {
                    index: Some((RCX, 4)),
                    ..ctx!(addresses)
                };
                self.a.movsxd(RSI, Rm::M(from));
            }
        }
        lane(self);
        self.a.blsr(false, RDX, RDX);
        self.a.jcc(Cc::Ne, top);
        self.a.bind(done);
    }

    // ---- affine addresses ----

    /// Loads one element of each active lane at RAX by way of the context.
    fn load_lanes(&mut self, a: Affine, d: u8) {
        let offset = a.offset + a.half * self.v.half as i32;
        self.a.y(XOR, d, d, H::R(d));
        self.a.y(STORE, d, 0, H::M(ctx!(data)));
        self.each_lane(a.active, Some(a.step), |e| {
            let at = Mem {
                index: Some((RSI, 1)),
                ..mem(RAX, offset)
            };
            match a.bytes {
                1 => e.a.g(false, &[0x0f, 0xb6], RSI, Rm::M(at)),
                2 => e.a.g(false, &[0x0f, 0xb7], RSI, Rm::M(at)),
                _ => e.a.mov(false, RSI, Rm::M(at)),
            }
            let to = Mem {
                index: Some((RCX, 4)),
                ..ctx!(data)
            };
            e.a.store(false, to, RSI);
        });
        self.a.y(LOAD, d, 0, H::M(ctx!(data)));
    }

    /// An element of each lane at RAX plus a constant, 1 to 4 bytes from lane to lane, where all lanes are active: 16 or 8 bytes for each four
    /// lanes, from the first lane's on and up to the last one's. `t` is clobbered.
    fn load_close(&mut self, a: Affine, d: u8, t: u8, offset: i32) {
        let span = 7 * a.step + a.bytes as i32;
        let bytes = if span < 16 { 8 } else { 16 };
        let starts = [0, (4 * a.step).min(span - bytes)];
        let [low, high] = starts.map(|start| H::M(address_plus(offset + start)));
        if bytes == 16 {
            self.a.x(LOAD, d, 0, low);
            self.a.yi(INSERT, d, d, high, 1);
        } else {
            self.a.x(LOADQ, d, 0, low);
            self.a.x(LOADQ, t, 0, high);
            self.a.yi(INSERT, d, d, H::R(t), 1);
        }
        let index = self.a.line(std::array::from_fn(|lane| {
            let first = lane as i32 * a.step - starts[lane / 4];
            let byte = |k: i32| match k < a.bytes as i32 {
                true => (first + k) as u8,
                false => 0x80,
            };
            u32::from_le_bytes([0, 1, 2, 3].map(byte))
        }));
        self.a.y(SHUFB, d, d, index);
    }

    /// Stores the dwords of active lanes at an address of RAX. `t` is for the mask; RCX is clobbered.
    pub(super) fn store_dwords(&mut self, active: At, r: u8, t: u8, at: Mem) {
        if self.all_active.is_some() {
            self.a.y(STORE, r, 0, H::M(at));
            return;
        }
        let (from, back) = (self.a.label(), self.a.label());
        self.compare_all_active(active);
        self.a.jcc(Cc::Ne, from);
        self.a.y(STORE, r, 0, H::M(at));
        self.a.bind(back);
        self.section(move |e| {
            e.a.bind(from);
            e.mask_of_bits(active, t);
            e.a.y(MASKSTORE, r, t, H::M(at));
            e.a.jmp(back);
        });
    }

    /// 64-bit values to each active lane's place.
    fn store_wide_lanes(&mut self, a: Affine, data: &[u8], offset: i32) {
        for (k, &r) in data.iter().enumerate() {
            self.store_quarters(r, ctx!(data, 16 * k), 32);
        }
        self.each_lane(a.active, Some(a.step), |e| {
            let value = Mem {
                index: Some((RCX, 8)),
                ..ctx!(data)
            };
            e.a.mov(true, RCX, Rm::M(value));
            let at = Mem {
                index: Some((RSI, 1)),
                ..mem(RAX, offset)
            };
            e.a.store(true, at, RCX);
        });
    }

    /// The two 128 bits of a register, so many bytes apart.
    fn store_quarters(&mut self, r: u8, at: Mem, apart: i32) {
        self.a.x(STORE, r, 0, H::M(at));
        self.a.yi(EXTRACT, r, 0, H::M(plus(at, apart)), 1);
    }

    /// Elements of all 8 lanes, one lane's after the other's.
    fn store_dense(&mut self, bytes: u8, data: &[u8], temps: [u8; 5], offset: i32) {
        let at = |by: i32| address_plus(offset + by);
        let [t, u, v, w, r] = temps;
        match (bytes, data) {
            (4, &[d]) => self.a.y(STORE, d, 0, H::M(at(0))),
            (8, _) => {
                for (k, &d) in data.iter().enumerate() {
                    self.store_quarters(d, at(16 * k as i32), 32);
                }
            }
            (1, _) => {
                let words = [0x0c08_0400, u32::MAX, u32::MAX, u32::MAX];
                let index = self.a.line(std::array::from_fn(|i| words[i % 4]));
                self.a.y(SHUFB, t, data[0], index);
                self.a.yi(EXTRACT, t, 0, H::R(u), 1);
                self.a.x(MOVD_TO, t, 0, H::M(at(0)));
                self.a.x(MOVD_TO, u, 0, H::M(at(4)));
            }
            (2, _) => {
                let words = [0x0504_0100, 0x0d0c_0908, u32::MAX, u32::MAX];
                let index = self.a.line(std::array::from_fn(|i| words[i % 4]));
                self.a.y(SHUFB, t, data[0], index);
                self.a.yi(PERMQ, t, 0, H::R(t), 0x08);
                self.a.x(STORE, t, 0, H::M(at(0)));
            }
            (_, &[x, y]) => {
                self.a.y(UNPCKL, t, x, H::R(y));
                self.a.y(UNPCKH, u, x, H::R(y));
                self.store_quarters(t, at(0), 32);
                self.store_quarters(u, at(16), 32);
            }
            (_, &[x, y, z]) => {
                // Each dword of an element goes to another place among eight.
                for (k, (from, to)) in [(x, t), (y, u), (z, v)].into_iter().enumerate() {
                    let lane =
                        |address_plus: usize| (0..8).find(|i| (3 * i + k) % 8 == address_plus);
                    let index =
                        std::array::from_fn(|address_plus| lane(address_plus).unwrap_or(0) as u32);
                    let index = self.a.line(index);
                    self.a.y(LOAD, w, 0, index);
                    self.a.y(PERMD, to, w, H::R(from));
                }
                for n in 0..3 {
                    let of = |k: usize| {
                        let there =
                            (0..8usize).filter(|address_plus| (8 * n + address_plus) % 3 == k);
                        there.fold(0, |mask, address_plus| mask | 1u8 << address_plus)
                    };
                    self.a.yi(BLENDD, r, t, H::R(u), of(1));
                    self.a.yi(BLENDD, r, r, H::R(v), of(2));
                    self.a.y(STORE, r, 0, H::M(at(32 * n as i32)));
                }
            }
            (_, &[x, y, z, w4]) => {
                self.a.y(UNPCKL, t, x, H::R(y));
                self.a.y(UNPCKH, u, x, H::R(y));
                self.a.y(UNPCKL, v, z, H::R(w4));
                self.a.y(UNPCKH, w, z, H::R(w4));
                let lanes = [
                    (UNPCKLQ, t, v),
                    (UNPCKHQ, t, v),
                    (UNPCKLQ, u, w),
                    (UNPCKHQ, u, w),
                ];
                for (k, (e, a, b)) in lanes.into_iter().enumerate() {
                    self.a.y(e, r, a, H::R(b));
                    self.store_quarters(r, at(16 * k as i32), 64);
                }
            }
            _ => self.mistaken(),
        }
    }
}

/// A staged operand of eight lanes.
fn staged_part(operand: usize, part: u8) -> Mem {
    plus(staged(operand, part / 2), 32 * (part % 2) as i32)
}

impl Accesses for Avx2 {
    fn lanes_code(e: &mut Emit<'_, Avx2>, access: &Rc<Access>, p: OperandRegisters<'_>) {
        let Access::Lanes(l) = &**access else {
            return;
        };
        let masked = !l.store && e.all_active.is_none();
        let lo = p.r(0);
        let high = l.high.then(|| p.r(1));
        let mut k = 1 + l.high as usize;
        let mask = masked.then(|| p.r(k));
        k += masked as usize;
        let data = if l.store { l.count as usize } else { 0 };
        let stored = p.range(k, data);
        k += data;
        let [t, u, w] = [0, 1, 2].map(|i| p.r(k + i));
        let more = if l.store {
            [3, 4].map(|i| p.r(k + i))
        } else {
            [w; 2]
        };
        let loaded = p.range(k + 3, l.wanted.len());
        let (from, back, again) = (e.a.label(), e.a.label(), e.a.here());
        let second = l.second.map(|_| [e.a.label(), e.a.label()]);
        let outside = second.map_or(from, |[outside, _]| outside);
        let lds = l.space == Space::Lds;
        let (ask, without) = (e.a.label(), e.a.label());
        let tile = l.tiles.first().copied();
        let tile = tile.filter(|_| !l.store && !loaded.is_empty());
        if let Some(tile) = tile {
            let untiled = e.a.label();
            e.tile_load(l, &tile, &loaded, [lo, u, w], (high, mask), untiled);
            e.a.jmp(back);
            e.a.bind(untiled);
        }
        let index = match l.range {
            None => e.in_lds(l, lo, t, u, from),
            Some(range) => {
                e.in_range(l, range, [lo, t, u, w], high, [outside, from]);
                t
            }
        };
        let offset = if lds { 0 } else { l.offset };
        let apart = e.a.label();
        if l.store {
            let untested = e.a.label();
            if l.consecutive() {
                e.may_follow(l, untested);
                e.first_lane(l, index, [u, w], apart);
                if !lds && e.v.half == 0 {
                    e.fetch_at_pace(l.bytes as i32 * l.count as i32, offset, true);
                }
                let temps = [t, u, w, more[0], more[1]];
                e.store_dense(l.bytes, &stored, temps, offset);
                e.follow(l);
                e.a.jmp(back);
                e.a.bind(apart);
                e.do_not_follow(l);
            } else {
                e.a.bind(apart);
            }
            e.a.bind(untested);
            if let Some([_, both]) = second {
                e.a.bind(both);
            }
            e.scatter_lanes(l.active, l.bytes, &stored, To::Index(index), offset, [u, w]);
        } else {
            let untested = e.a.label();
            let tests = l.consecutive() && !loaded.is_empty();
            if tests {
                e.may_follow(l, untested);
                e.first_lane(l, index, [u, w], apart);
                if !lds && e.v.half == 0 {
                    e.fetch_at_pace(l.bytes as i32 * l.count as i32, offset, false);
                }
                e.load_consecutive(l, &loaded, [t, u, w], offset);
                e.follow(l);
                e.a.jmp(back);
            }
            e.a.bind(apart);
            if tests {
                e.do_not_follow(l);
            }
            e.a.bind(untested);
            if let Some(tile) = tile {
                e.may_ask_for_tile(&tile, ask);
                e.a.bind(without);
            }
            if let Some([_, both]) = second {
                e.a.bind(both);
            }
            let apart = e.a.label();
            if l.in_rows() && l.wanted.len() > 1 {
                if e.all_active.is_none() {
                    e.compare_all_active(l.active);
                    e.a.jcc(Cc::Ne, apart);
                }
                e.gather_rows(&loaded, &l.wanted, index, [t, u, w], offset);
                e.a.jmp(back);
            }
            e.a.bind(apart);
            if e.with(Optional::OneByOne) {
                let what = (l.active, l.bytes, &l.wanted[..]);
                e.load_one_by_one(what, &loaded, index, mask, [t, u, w], offset);
            } else {
                let elements = Elements {
                    bytes: l.bytes,
                    offset,
                    wanted: &l.wanted,
                    loaded: &loaded,
                };
                e.gather_elements(elements, index, mask, w);
            }
        }
        e.a.bind(back);
        if l.store {
            for tile in &l.tiles {
                e.tile_store(l, tile, &stored, lo, [t, u]);
            }
        }
        let access = access.clone();
        e.section(move |e| {
            let Access::Lanes(l) = &*access else {
                return;
            };
            if let (Some(tile), Some(range)) = (tile, l.range) {
                e.a.bind(ask);
                e.hand_over(l, lo, high, u);
                e.ask_for_tile(l, &tile, range, [again, without]);
            }
            if let (Some([outside, both]), Some(first), Some(second)) = (second, l.range, l.second)
            {
                e.a.bind(outside);
                let at = (l.active, [first, second]);
                e.in_two_ranges(at, [lo, t, u, w], high, [from, again]);
                e.a.jmp(both);
            }
            e.a.bind(from);
            if let Some(range) = l.range {
                e.hand_over(l, lo, high, u);
                e.ask_around(l, range, again);
            }
            e.hand_over(l, lo, high, u);
            for (k, &d) in stored.iter().enumerate() {
                e.a.y(STORE, d, 0, H::M(ctx!(data, 64 * k)));
            }
            e.lanes_helper(l);
            for (&d, &k) in loaded.iter().zip(&l.wanted) {
                e.a.y(LOAD, d, 0, H::M(ctx!(data, 64 * k as usize)));
            }
            e.a.jmp(back);
        });
    }

    fn load_code(e: &mut Emit<'_, Avx2>, a: Affine, p: OperandRegisters<'_>) {
        let (t, u) = (p.r(0), p.r(1));
        let offset = a.offset + a.half * e.v.half as i32;
        if a.count == 1 {
            let d = p.r(2);
            let masked = e.all_active.is_none();
            let (from, back) = (e.a.label(), e.a.label());
            if masked {
                e.compare_all_active(a.active);
            }
            e.affine_address(a.address);
            if Shape::of(a.step, a.bytes, 1, false) != Some(Shape::Dense) {
                if masked {
                    e.a.jcc(Cc::Ne, from);
                }
                e.fetch(a, false);
                e.load_close(a, d, t, offset);
                e.a.bind(back);
                if masked {
                    e.section(move |e| {
                        e.a.bind(from);
                        e.load_lanes(a, d);
                        e.a.jmp(back);
                    });
                }
                return;
            }
            if masked {
                e.a.jcc(Cc::Ne, from);
            }
            e.fetch(a, false);
            let at = H::M(address_plus(offset));
            match a.bytes {
                1 => e.a.y(X(2, 1, 0, 0x31), d, 0, at),
                2 => e.a.y(X(2, 1, 0, 0x33), d, 0, at),
                _ => e.a.y(LOAD, d, 0, at),
            }
            e.a.bind(back);
            if masked {
                e.section(move |e| {
                    e.a.bind(from);
                    if a.bytes == 4 {
                        e.mask_of_bits(a.active, t);
                        e.a.y(MASKLOAD, d, t, at);
                    } else {
                        e.load_lanes(a, d);
                    }
                    e.a.jmp(back);
                });
            }
            return;
        }
        // All lanes may be read.
        e.affine_address(a.address);
        e.fetch(a, false);
        if a.in_order {
            for k in 0..a.count as usize {
                let at = H::M(address_plus(offset + 64 * k as i32));
                e.a.y(LOAD, p.r(2 + k), 0, at);
            }
            return;
        }
        let halves = |e: &mut Emit<'_, Avx2>, d: u8, low: i32, high: i32| {
            e.a.x(LOAD, d, 0, H::M(address_plus(offset + low)));
            let from = H::M(address_plus(offset + high));
            e.a.yi(INSERT, d, d, from, 1);
        };
        if a.count == 2 {
            halves(e, p.r(2), 0, 32);
            halves(e, p.r(3), 16, 48);
            return;
        }
        let [x, y, z, w] = [2, 3, 4, 5].map(|k| p.r(k));
        for (k, d) in [x, y, z, w].into_iter().enumerate() {
            halves(e, d, 16 * k as i32, 64 + 16 * k as i32);
        }
        // Four lanes' dwords in each 128 bits, to be transposed.
        e.a.y(UNPCKL, t, x, H::R(y));
        e.a.y(UNPCKH, x, x, H::R(y));
        e.a.y(UNPCKL, u, z, H::R(w));
        e.a.y(UNPCKH, z, z, H::R(w));
        e.a.y(UNPCKHQ, y, t, H::R(u));
        e.a.y(UNPCKHQ, w, x, H::R(z));
        e.a.y(UNPCKLQ, z, x, H::R(z));
        e.a.y(UNPCKLQ, x, t, H::R(u));
    }

    fn store_code(e: &mut Emit<'_, Avx2>, a: Affine, p: OperandRegisters<'_>) {
        let wide = a.bytes == 8;
        let registers = if wide { 2 } else { a.count as usize };
        let data = p.range(0, registers);
        let temps: [u8; 5] = std::array::from_fn(|k| p.r(registers + k));
        let offset = a.offset + a.half * e.v.half as i32;
        e.affine_address(a.address);
        if Shape::of(a.step, a.bytes, a.count, true) == Some(Shape::Apart) {
            let (apart, done) = (e.a.label(), e.a.label());
            let triples = data.len() == 3 && (a.bytes, a.step) == (4, 12);
            if triples && e.with(Optional::Triples) {
                if e.all_active.is_none() {
                    e.compare_all_active(a.active);
                    e.a.jcc(Cc::Ne, apart);
                }
                e.fetch(a, true);
                e.store_dense(a.bytes, &data, temps, offset);
                e.a.jmp(done);
            }
            if e.reversed(a) {
                if e.all_active.is_none() {
                    e.compare_all_active(a.active);
                    e.a.jcc(Cc::Ne, apart);
                }
                e.fetch(a, true);
                e.reverse(temps[0], data[0], temps[1]);
                let [t, more @ ..] = temps;
                let [u, v, w, r] = more;
                e.store_dense(a.bytes, &[t], [u, v, w, r, r], offset + 7 * a.step);
                e.a.jmp(done);
            }
            e.a.bind(apart);
            if a.bytes < 4 {
                e.fetch(a, true);
            }
            let to = To::Step(a.step);
            e.scatter_lanes(a.active, a.bytes, &data, to, offset, [temps[0], temps[1]]);
            e.a.bind(done);
            return;
        }
        e.fetch(a, true);
        if a.in_order {
            for (k, &r) in data.iter().enumerate() {
                let at = H::M(address_plus(offset + 64 * k as i32));
                e.a.y(STORE, r, 0, at);
            }
            return;
        }
        if (a.bytes, a.count) == (4, 1) {
            e.store_dwords(a.active, data[0], temps[0], address_plus(offset));
            return;
        }
        let masked = e.all_active.is_none();
        let (from, back) = (e.a.label(), e.a.label());
        if masked {
            e.compare_all_active(a.active);
            e.a.jcc(Cc::Ne, from);
        }
        e.store_dense(a.bytes, &data, temps, offset);
        e.a.bind(back);
        if masked {
            e.section(move |e| {
                e.a.bind(from);
                if wide {
                    e.store_wide_lanes(a, &data, offset);
                } else {
                    let (to, temps) = (To::Step(a.step), [temps[0], temps[1]]);
                    e.scatter_lanes(a.active, a.bytes, &data, to, offset, temps);
                }
                e.a.jmp(back);
            });
        }
    }

    fn gather_code(e: &mut Emit<'_, Avx2>, a: Affine, wanted: &[u8], p: OperandRegisters<'_>) {
        let masked = e.all_active.is_none();
        let mask = masked.then(|| p.r(1));
        let first = 1 + masked as usize;
        e.affine_address(a.address);
        let d = p.range(first + 1, wanted.len());
        let (index, w) = (p.r(0), p.r(first));
        if !e.with(Optional::OneByOne) {
            let elements = Elements {
                bytes: a.bytes,
                offset: a.offset,
                wanted,
                loaded: &d,
            };
            e.gather_elements(elements, index, mask, w);
            return;
        }
        // The distances are known; what inactive lanes would read may not be mapped.
        let (from, back) = (e.a.label(), e.a.label());
        if masked {
            e.compare_all_active(a.active);
            e.a.jcc(Cc::Ne, from);
        }
        let half = if a.first { e.v.half } else { 1 };
        let triples = e.with(Optional::Triples) && (a.bytes, a.step) == (4, 12);
        let triples = triples && wanted.iter().all(|&k| k < 3);
        if triples {
            e.fetch(a, false);
        }
        let reversed = e.reversed(a);
        if reversed {
            e.fetch(a, false);
        }
        for (&d, &k) in d.iter().zip(wanted) {
            if reversed {
                let last = 8 * half as i32 + 7;
                e.load_reversed(a, last, d, w);
                continue;
            }
            if triples {
                e.load_of_three(k, a.count, d, w, a.offset + 96 * half as i32);
                continue;
            }
            let address_plus = |lane: i32| {
                let lane = lane + 8 * half as i32;
                address_plus(a.offset + k as i32 * a.bytes as i32 + lane * a.step)
            };
            e.join_lanes(d, w, address_plus);
            e.cut(a.bytes, d);
        }
        e.a.bind(back);
        if masked {
            let wanted = wanted.to_vec();
            e.section(move |e| {
                e.a.bind(from);
                let elements = Elements {
                    bytes: a.bytes,
                    offset: a.offset,
                    wanted: &wanted,
                    loaded: &d,
                };
                e.gather_elements(elements, index, mask, w);
                e.a.jmp(back);
            });
        }
    }

    fn store_row_code(e: &mut Emit<'_, Avx2>, active: At, to: Mem, p: OperandRegisters<'_>) {
        e.store_dwords(active, p.r(0), p.r(1), to);
    }
}
