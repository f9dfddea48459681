//! The code of loads and stores. At lanes' own addresses: where all of them are in the range that the access remembers, they are distances
//! from its beginning, of 32 bits; elsewhere gathers and scatters take eight at a time, after each lane's page has been looked up.

use super::*;
use crate::context::Tile;
use crate::passes::affine::{Shape, within_register};
use crate::target::x64::affine::address_plus;
use crate::target::x64::lds::{exec_of, staged};
use crate::target::x64::memory::{Access, Affine, Lanes, reach};
use crate::target::x64::range::Range;
use crate::target::x64::tiles::TileAt;

/// The registers of an access at lanes' own addresses.
#[derive(Clone, Copy)]
struct Regs {
    lo: u8,
    hi: Option<u8>,
    t: u8,
    u: u8,
    v: u8,
    w: u8,
    k: u8,
    k2: u8,
}

/// A memory operand whose index is a register.
fn indexed(base: Gpr, index: u8, disp: i32) -> Mem {
    Mem {
        index: Some((index, 1)),
        ..mem(base, disp)
    }
}

impl Emit<'_, Avx512> {
    // ---- lanes' own addresses ----

    /// Loads what the lanes are at from a tile, or goes to the label. RAX, RCX, RDX, RSI, `u` and opmasks are clobbered.
    fn tile_load(&mut self, l: &Lanes, tile: &TileAt, loaded: &[u8], r: Regs, other: Label) {
        let Regs { lo, u, k, k2, .. } = r;
        self.tile_on(tile, other);
        let bases = self.at(tile.bases);
        self.a.z(op::SUBD, u, lo, Rm::M(bases));
        let next = self.at(tile.next);
        self.a.zi(op::CMPD, k, u, Rm::B(next), keep(K_EXEC), 4);
        let high = tile.field(offset_of!(Tile, high));
        match (r.hi, l.scalar) {
            (Some(hi), _) => {
                self.a.zi(op::CMPD, k2, hi, Rm::B(high), keep(K_EXEC), 4);
                self.a.kop(kop::OR, k, k, k2);
            }
            (None, Some(scalar)) => {
                self.sload(RAX, scalar);
                self.a.alu(alu::CMP, false, RAX, Rm::M(high));
                self.a.jcc(Cc::Ne, other);
            }
            (None, None) => {}
        }
        self.a.kortest(k, k);
        self.a.jcc(Cc::Ne, other);
        let from = self.tile_next(tile, l.bytes, l.count, other);
        for (&d, &n) in loaded.iter().zip(&l.wanted) {
            // 64 dwords a column.
            let from = Rm::M(plus(from, 256 * n as i32));
            self.a.zk(op::MOVDQU32, d, 0, from, self.on_or_zero());
            if l.bytes < 4 {
                let mask = (1u64 << (8 * l.bytes)) - 1;
                self.a.z(op::ANDD, d, d, Rm::C(mask));
            }
        }
    }

    /// Where lanes have stored to memory that is in a tile: stores dwords there, too, if that is where the last access was, and otherwise
    /// empties the tile. RCX, RDX, RSI and temporary registers are clobbered.
    fn tile_store(&mut self, l: &Lanes, tile: &TileAt, stored: &[u8], r: Regs) {
        let Regs { lo, t, u, k, .. } = r;
        let (within, done) = (self.a.label(), self.a.label());
        self.tile_on(tile, done);
        let offset = Rm::C(l.offset as u32 as u64);
        self.a.z(op::ADDD, t, lo, offset);
        let hull = tile.field(offset_of!(Tile, hull));
        self.a.z(op::SUBD, u, t, Rm::B(hull));
        let bytes = tile.field(offset_of!(Tile, hull_bytes));
        self.a.zi(op::CMPUD, k, u, Rm::B(bytes), keep(K_EXEC), 1);
        self.a.kortest(k, k);
        self.a.jcc(Cc::Ne, within);
        self.a.bind(done);
        let (dword, tile) = ((l.bytes, l.count) == (4, 1), *tile);
        let data = stored.first().copied();
        self.section(move |e| {
            e.a.bind(within);
            if let Some(data) = data.filter(|_| dword) {
                let other = e.a.label();
                e.tile_last(&tile, other);
                let bases = e.at(tile.bases);
                e.a.z(op::SUBD, t, t, Rm::M(bases));
                let offset = tile.field(offset_of!(Tile, offset));
                e.a.z(op::SUBD, t, t, Rm::B(offset));
                e.a.z(op::BCASTD_R, u, 0, Rm::R(RCX));
                e.a.zi(op::CMPD, k, t, Rm::R(u), keep(K_EXEC), 4);
                e.a.kortest(k, k);
                e.a.jcc(Cc::Ne, other);
                let to = e.tile_dwords(&tile);
                let on = e.on();
                e.a.zk(op::MOVDQU32_ST, data, 0, Rm::M(to), on);
                e.a.jmp(done);
                e.a.bind(other);
            }
            e.empty_tile(&tile);
            e.a.jmp(done);
        });
    }

    /// The active lanes and their addresses go where helpers read them.
    fn hand_over(&mut self, l: &Lanes, r: Regs) {
        let store = op::MOVDQU32_ST;
        self.a.z(store, r.lo, 0, Rm::M(ctx!(addresses)));
        let upper = match (r.hi, l.scalar) {
            (Some(hi), _) => hi,
            (None, Some(scalar)) => {
                self.sload(RAX, scalar);
                self.a.z(op::BCASTD_R, r.u, 0, Rm::R(RAX));
                r.u
            }
            (None, None) => r.lo,
        };
        self.a.z(store, upper, 0, Rm::M(ctx!(addresses, 64)));
        self.a.kstore16(ctx!(call.lanes), K_EXEC);
    }

    /// `t`: the offsets of active lanes' addresses in the remembered range; RAX: the host's address of that
    /// beginning. Jumps to `outside` if active lanes, those in `k`, are not in it, or to `unknown` if nothing is known of the access.
    fn in_range(&mut self, l: &Lanes, range: Range, r: Regs, [outside, unknown]: [Label; 2]) {
        let Regs { lo, t, k, k2, .. } = r;
        self.check_tag(range, unknown);
        let (start, upper) = (range.start(), range.upper());
        self.a.z(op::SUBD, t, lo, Rm::B(start));
        self.a
            .zi(op::CMPUD, k, t, Rm::B(range.bytes()), keep(K_EXEC), 5);
        match (r.hi, l.scalar) {
            (Some(hi), _) => {
                self.a.zi(op::CMPD, k2, hi, Rm::B(upper), keep(K_EXEC), 4);
                self.a.kop(kop::OR, k, k, k2);
            }
            (None, Some(scalar)) => {
                self.sload(RAX, scalar);
                self.a.alu(alu::CMP, false, RAX, Rm::M(upper));
                self.a.jcc(Cc::Ne, unknown);
            }
            (None, None) => {}
        }
        self.a.kortest(k, k);
        self.a.jcc(Cc::Ne, outside);
        self.a.mov(true, RAX, Rm::M(start));
        self.of_host(RAX);
        self.a.alu(alu::ADD, true, RAX, Rm::R(BIAS));
    }

    /// Finds the active lanes that are outside of the first range, those in `k`, in the second one, or jumps to `unknown`. If all
    /// active lanes are there, the ranges change places, and the code goes on at `again`; otherwise RAX and `t` are as
    /// [`Emit::in_range`] leaves them, from the lower range's beginning. RCX, `u` and `k2` are clobbered.
    fn in_two_ranges(&mut self, ranges: [Range; 2], r: Regs, [unknown, again]: [Label; 2]) {
        let Regs {
            lo,
            hi,
            t,
            u,
            k,
            k2,
            ..
        } = r;
        self.both_ranges(ranges, unknown);
        let [_, second] = ranges;
        self.a.z(op::SUBD, u, lo, Rm::B(second.start()));
        self.a
            .zi(op::CMPUD, k2, u, Rm::B(second.bytes()), keep(k), 5);
        self.a.kortest(k2, k2);
        self.a.jcc(Cc::Ne, unknown);
        if let Some(hi) = hi {
            self.a
                .zi(op::CMPD, k2, hi, Rm::B(second.upper()), keep(k), 4);
            self.a.kortest(k2, k2);
            self.a.jcc(Cc::Ne, unknown);
        }
        let both = self.a.label();
        self.a.kop(kop::ANDN, k2, k, K_EXEC);
        self.a.kortest(k2, k2);
        self.a.jcc(Cc::Ne, both);
        self.exchange_ranges(ranges);
        self.a.jmp(again);
        self.a.bind(both);
        self.lower_range(ranges);
        self.a.z(op::BCASTD_R, u, 0, Rm::R(RAX));
        self.a.z(op::SUBD, t, lo, Rm::R(u));
        self.of_host(RAX);
        self.a.alu(alu::ADD, true, RAX, Rm::R(BIAS));
    }

    /// `t`: the addresses of active lanes; RAX: where LDS is. Jumps to `from` unless all bytes are in LDS and below the limit.
    fn in_lds(&mut self, l: &Lanes, r: Regs, from: Label) {
        let Regs { lo, t, u, k, .. } = r;
        let bytes = reach(l.bytes, l.count as usize);
        let limit = l.scalar.unwrap_or(0);
        let offset = Rm::C(l.offset as u32 as u64);
        match l.offset {
            0 => self.a.z(op::MOVDQU32, t, 0, Rm::R(lo)),
            _ => self.a.z(op::ADDD, t, lo, offset),
        }
        let unlimited = self.konst(limit).is_some_and(|l| l >= u32::MAX as u64);
        if unlimited && matches!(bytes, 4 | 8 | 12 | 16) {
            let locations = Rm::B(ctx!(lds.limits, bytes as usize));
            self.a.zi(op::CMPUD, k, t, locations, keep(K_EXEC), 5);
        } else {
            self.last_in_lds(limit, bytes as i32, from);
            self.a.z(op::BCASTD_R, u, 0, Rm::R(RAX));
            self.a.zi(op::CMPUD, k, t, Rm::R(u), keep(K_EXEC), 6);
        }
        self.a.kortest(k, k);
        self.a.jcc(Cc::Ne, from);
        self.a.mov(true, RAX, Rm::M(ctx!(lds.base)));
    }

    /// RAX: that and the distance of lane 0, where active lanes' distances in `t` are as far apart as their elements are long. Jumps to
    /// `apart` where they are not, or where all are loaded at once and some are inactive. RCX, `u`, `v` and `k` are clobbered.
    ///
    /// Lane 0 itself need not be active: its distance is used only if those of all active lanes follow from it.
    fn first_lane(&mut self, l: &Lanes, r: Regs, apart: Label) {
        let Regs { t, u, v, k, .. } = r;
        self.without_locations(u, t, l.bytes * l.count);
        self.a.z(op::BCASTD, v, 0, Rm::R(u));
        self.a.zi(op::CMPD, k, u, Rm::R(v), keep(K_EXEC), 4);
        self.a.kortest(k, k);
        self.a.jcc(Cc::Ne, apart);
        if !l.store && l.count > 1 && self.all_active.is_none() {
            self.a.kortest(K_EXEC, K_EXEC);
            self.a.jcc(Cc::Ae, apart);
        }
        self.a.evex(op::MOVD_ST.l(0), u, 0, Rm::R(RCX), ALL, None);
        self.a.movsxd(RCX, Rm::R(RCX));
        self.a.alu(alu::ADD, true, RAX, Rm::R(RCX));
    }

    /// Loads what the lanes of two rows of a workgroup access, if that may be what they are, and goes to `back`, or on if they are not.
    fn load_two_rows(&mut self, l: &Lanes, loaded: &[u8], r: Regs, offset: i32, back: Label) {
        let Some(&first) = loaded.first() else {
            return;
        };
        if l.consecutive() && l.count == 1 {
            let apart = self.a.label();
            self.two_runs(l, first, r, offset, apart);
            self.follow(l);
            self.a.jmp(back);
            self.a.bind(apart);
        }
        if l.computed && l.bytes == 4 && (l.range.is_none() || self.common.narrow_rows) {
            let apart = self.a.label();
            self.two_elements(l, loaded, r, offset, apart);
            self.follow(l);
            self.a.jmp(back);
            self.a.bind(apart);
        }
    }

    /// Loads an element of each lane where the active lanes are two runs whose elements follow each other: those of two rows of a workgroup or of a
    /// tile. Jumps to `apart` where they are not. `u`: the distances less the places; `k`: the active lanes where that is not as in lane 0. `t`
    /// stays. RCX, RDX, `v` and opmasks are clobbered.
    fn two_runs(&mut self, l: &Lanes, d: u8, r: Regs, offset: i32, apart: Label) {
        let Regs { u, v, k, k2, .. } = r;
        let done = self.a.label();
        let load = match l.bytes {
            1 => op::PMOVZXBD,
            2 => op::PMOVZXWD,
            _ => op::MOVDQU32,
        };
        // The other run is that of lane 15.
        self.a.z(op::BCASTD, v, 0, Rm::C(15));
        self.a.z(op::PERMD, v, v, Rm::R(u));
        self.a.zi(op::CMPD, k2, u, Rm::R(v), keep(k), 4);
        self.a.kortest(k2, k2);
        self.a.jcc(Cc::Ne, apart);
        if l.bytes == 4 {
            // Two rows of eight are read without what is around them: reading what an earlier wave has just stored beside them would
            // have to wait for that.
            let other = self.a.label();
            self.unless_all_active(other);
            self.a.k_to_gpr(RDX, k);
            self.a.alu_imm(alu::CMP, false, Rm::R(RDX), 0xff00);
            self.a.jcc(Cc::Ne, other);
            let rows = self.two_rows([u, v], offset);
            self.a.evex(op::MOVDQU32.l(1), d, 0, rows[0], ALL, None);
            self.a.zi(op::INSERT256, d, d, rows[1], ALL, 1);
            self.a.jmp(done);
            self.a.bind(other);
        }
        self.a.kop(kop::ANDN, k2, k, K_EXEC);
        self.load_runs(load, d, (u, v), [k2, k], offset);
        self.a.bind(done);
    }

    /// Loads two runs of lanes, whose distances are in the lanes 0 of two registers.
    fn load_runs(&mut self, load: E, d: u8, of: (u8, u8), lanes: [u8; 2], offset: i32) {
        self.first_distance(of.0, RCX);
        self.first_distance(of.1, RDX);
        self.only_active([RCX, RDX], lanes[0]);
        let lanes = [zero(lanes[0]), keep(lanes[1])];
        for (by, lanes) in [RCX, RDX].into_iter().zip(lanes) {
            let from = Rm::M(indexed(RAX, by, offset));
            self.a.zk(load, d, 0, from, lanes);
        }
    }

    /// The distance of lanes becomes that of others if none of the lanes is active. It may be any then, and where no memory is mapped, a masked access
    /// is slow.
    fn only_active(&mut self, [of, others]: [Gpr; 2], lanes: u8) {
        if self.all_active.is_none() {
            self.a.kortest(lanes, lanes);
            self.a.cmov(Cc::E, true, of, Rm::R(others));
        }
    }

    /// A general register becomes lane 0's distance.
    fn first_distance(&mut self, of: u8, to: Gpr) {
        self.a.evex(op::MOVD_ST.l(0), of, 0, Rm::R(to), ALL, None);
        self.a.movsxd(to, Rm::R(to));
    }

    /// Loads the dwords that the lower eight lanes share, and those that the upper eight share, as two rows of a workgroup read a column. Jumps
    /// to `apart` if they share none, or some are inactive. `t` stays. RCX, RDX, `u`, `v` and `k` are clobbered.
    fn two_elements(&mut self, l: &Lanes, loaded: &[u8], r: Regs, offset: i32, apart: Label) {
        let Regs { t, u, v, k, .. } = r;
        self.unless_all_active(apart);
        self.first_of_eight(v, t);
        self.a.zi(op::CMPD, k, t, Rm::R(v), ALL, 4);
        self.a.kortest(k, k);
        self.a.jcc(Cc::Ne, apart);
        self.a.zi(op::EXTRACT128, v, 0, Rm::R(u), ALL, 2);
        for (first, by) in [(v, RCX), (u, RDX)] {
            self.a
                .evex(op::MOVD_ST.l(0), first, 0, Rm::R(by), ALL, None);
        }
        for (&d, &n) in loaded.iter().zip(&l.wanted) {
            let at = |by: Gpr| Rm::M(indexed(RAX, by, offset + 4 * n as i32));
            let [low, high] = [RCX, RDX].map(at);
            self.a.evex(op::BCASTD.l(1), d, 0, low, ALL, None);
            self.a.evex(op::BCASTD.l(1), v, 0, high, ALL, None);
            self.a.zi(op::INSERT256, d, d, Rm::R(v), ALL, 1);
        }
    }

    /// The lower eight lanes become lane 0's number, and the upper eight lane 8's.
    fn first_of_eight(&mut self, to: u8, of: u8) {
        self.a.zi(op::SHUFPS, to, of, Rm::R(of), ALL, 0);
        self.a.zi(op::SHUF128, to, to, Rm::R(to), ALL, 0xa0);
    }

    /// Returns where two rows of eight dwords are. The registers have their distances from RAX, less the places, in their lanes 0. RCX and RDX
    /// are clobbered.
    fn two_rows(&mut self, of: [u8; 2], offset: i32) -> [Rm; 2] {
        for (run, by) in of.into_iter().zip([RCX, RDX]) {
            self.first_distance(run, by);
        }
        let second = offset + 32;
        [
            Rm::M(indexed(RAX, RCX, offset)),
            Rm::M(indexed(RAX, RDX, second)),
        ]
    }

    /// Stores an element of each lane where lanes' elements follow each other, or those of each eight lanes, and goes to `back`; or on if they do not. `t` stays.
    fn store_following(&mut self, l: &Lanes, data: u8, r: Regs, back: Label) {
        if !l.consecutive() {
            return;
        }
        let Regs { t, u, v, k, .. } = r;
        let [halves, apart, untested] = std::array::from_fn(|_| self.a.label());
        self.may_follow(l, untested);
        self.first_lane(l, r, halves);
        self.fetch_at_pace(l.bytes as i32, l.offset, true);
        self.store_elements(l.bytes, &[data], mem(RAX, l.offset), [t, u, v], k);
        self.follow(l);
        self.a.jmp(back);
        self.a.bind(halves);
        self.store_halves(l, data, r, apart);
        self.follow(l);
        self.a.jmp(back);
        self.a.bind(apart);
        self.do_not_follow(l);
        self.a.bind(untested);
    }

    /// Stores an element of each lane by halves, where the active lanes' distances in `u`, less their places, are equal in the lower
    /// eight lanes, and in the upper eight: those of two rows of a workgroup. Jumps to `apart` where they are not. `t` stays. RCX, RDX, `u`, `v` and
    /// opmasks are clobbered.
    fn store_halves(&mut self, l: &Lanes, data: u8, r: Regs, apart: Label) {
        let Regs { u, v, k, k2, .. } = r;
        self.first_of_eight(v, u);
        self.a.zi(op::CMPD, k, u, Rm::R(v), keep(K_EXEC), 4);
        self.a.kortest(k, k);
        self.a.jcc(Cc::Ne, apart);
        self.a.zi(op::EXTRACT128, v, 0, Rm::R(u), ALL, 2);
        let (other, done) = (self.a.label(), self.a.label());
        if l.bytes == 4 {
            self.unless_all_active(other);
            let rows = self.two_rows([v, u], l.offset);
            self.a
                .evex(op::MOVDQU32_ST.l(1), data, 0, rows[0], ALL, None);
            self.a.zi(op::EXTRACT256, data, 0, rows[1], ALL, 1);
            self.a.jmp(done);
            self.a.bind(other);
        }
        self.a.evex(op::MOVD_ST.l(0), v, 0, Rm::R(RCX), ALL, None);
        self.a.evex(op::MOVD_ST.l(0), u, 0, Rm::R(RDX), ALL, None);
        // The upper eight lanes' opmask, and the lower eight's.
        self.a.kshiftr(k, K_EXEC, 16);
        self.a.kshiftr(k2, K_EXEC, 8);
        self.a.kunpckbw(k2, k2, k);
        self.a.kunpckbw(k, k, K_EXEC);
        let store = match l.bytes {
            1 => op::PMOVDB_ST,
            2 => op::PMOVDW_ST,
            _ => op::MOVDQU32_ST,
        };
        self.a.movsxd(RCX, Rm::R(RCX));
        self.a.movsxd(RDX, Rm::R(RDX));
        self.only_active([RCX, RDX], k);
        self.only_active([RDX, RCX], k2);
        for (by, lanes) in [(RCX, k), (RDX, k2)] {
            let to = Rm::M(indexed(RAX, by, l.offset));
            self.a.zk(store, data, 0, to, keep(lanes));
        }
        self.a.bind(done);
    }

    /// Distances less the places of 16 lanes' elements of so many bytes one after the other.
    fn without_locations(&mut self, to: u8, distances: u8, size: u8) {
        let mut from = distances;
        for log in (0..8).filter(|log| size >> log & 1 != 0) {
            let locations = Rm::M(ctx!(tables.strides, 64 * log as usize));
            self.a.z(op::SUBD, to, from, locations);
            from = to;
        }
    }

    /// Stores the staged dwords of lanes if all of the wave's active ones follow each other, and goes to the label that is returned. Before
    /// that nothing is written: a fault finds memory as it was. All vector registers are clobbered.
    pub(super) fn store_staged(&mut self, l: &Lanes, range: Range) -> Label {
        let (from, slow, done) = (self.a.label(), self.a.label(), self.a.label());
        let apart = self.a.label();
        let looped = std::mem::replace(&mut self.looped, false);
        let size = 4 * l.count;
        let r = Regs {
            lo: 4,
            hi: Some(5),
            t: 6,
            u: 7,
            v: 8,
            w: 9,
            k: 1,
            k2: 2,
        };
        if l.count == 3 {
            // These have no masks.
            self.a.alu_imm(alu::CMP, true, Rm::M(exec_of(0)), -1);
            self.a.jcc(Cc::Ne, slow);
        }
        let again = self.a.here();
        for slice in 0..4 {
            self.a.kload16(K_EXEC, exec_of(slice));
            self.staged_in_range(l, range, r, slice, from);
            self.without_locations(r.u, r.t, size);
            match slice {
                0 => self.a.z(op::BCASTD, r.v, 0, Rm::R(r.u)),
                _ => {
                    let before = 16 * slice as u64 * size as u64;
                    self.a.z(op::SUBD, r.u, r.u, Rm::C(before));
                }
            }
            self.a.zi(op::CMPD, r.k, r.u, Rm::R(r.v), keep(K_EXEC), 4);
            self.a.kortest(r.k, r.k);
            self.a.jcc(Cc::Ne, if l.count == 3 { slow } else { apart });
        }
        self.a.evex(op::MOVD_ST.l(0), r.v, 0, Rm::R(RCX), ALL, None);
        self.a.movsxd(RCX, Rm::R(RCX));
        self.a.alu(alu::ADD, true, RAX, Rm::R(RCX));
        self.fetch_at_pace(4 * size as i32, l.offset, true);
        for slice in 0..4 {
            self.a.kload16(K_EXEC, exec_of(slice));
            let data: Vec<u8> = (0..l.count).collect();
            for &d in &data {
                let from = Rm::M(staged(2 + d as usize, slice));
                self.a.z(op::MOVDQU32, d, 0, from);
            }
            let to = mem(RAX, l.offset + 16 * slice as i32 * size as i32);
            self.store_elements(4, &data, to, [r.u, r.v, r.w], r.k);
        }
        self.a.jmp(done);
        self.a.bind(apart);
        if l.count != 3 {
            self.store_rows(l, range, r, slow);
            self.a.jmp(done);
        }
        self.a.bind(from);
        self.hand_over(l, r);
        self.ask_around(l, range, again);
        self.a.bind(slow);
        self.looped = looped;
        done
    }

    /// Does what [`Emit::in_range`] does, for the staged addresses of a slice.
    fn staged_in_range(&mut self, l: &Lanes, range: Range, r: Regs, slice: u8, outside: Label) {
        for (operand, register) in [Some(r.lo), r.hi].into_iter().flatten().enumerate() {
            let from = Rm::M(staged(operand, slice));
            self.a.z(op::MOVDQU32, register, 0, from);
        }
        self.in_range(l, range, r, [outside; 2]);
    }

    /// Stores the staged two or four dwords of each lane wherever it is. Jumps to `slow`, before anything is stored, where a lane is inactive,
    /// outside of the range, or not aligned to its size: lanes that are aligned overlap only if they have the same address, so each lane's
    /// dwords may be stored before those of the next.
    fn store_rows(&mut self, l: &Lanes, range: Range, r: Regs, slow: Label) {
        let size = 4 * l.count;
        let distances = |slice: u8| 16 + slice;
        self.a.alu_imm(alu::CMP, true, Rm::M(exec_of(0)), -1);
        self.a.jcc(Cc::Ne, slow);
        self.a.kop(kop::XNOR, K_EXEC, K_EXEC, K_EXEC);
        for slice in 0..4 {
            let t = distances(slice);
            self.staged_in_range(l, range, Regs { t, ..r }, slice, slow);
            let offset = Rm::C(l.offset as u32 as u64);
            self.a.z(op::ADDD, r.u, r.lo, offset);
            let below = Rm::C(size as u64 - 1);
            self.a.z(op::TESTMD, r.k, r.u, below);
            self.a.kortest(r.k, r.k);
            self.a.jcc(Cc::Ne, slow);
        }
        for slice in 0..4 {
            for d in 0..l.count {
                let from = Rm::M(staged(2 + d as usize, slice));
                self.a.z(op::MOVDQU32, d, 0, from);
            }
            // Rows of lanes 0, 4, 8, 12; 1, 5, …; or of lanes 0 and 1, 4 and 5, …; 2 and 3, ….
            let [t, u, v, w] = [r.t, r.u, r.v, r.w];
            self.a.z(op::UNPCKLD, t, 0, Rm::R(1));
            self.a.z(op::UNPCKHD, u, 0, Rm::R(1));
            if l.count == 4 {
                self.a.z(op::UNPCKLD, v, 2, Rm::R(3));
                self.a.z(op::UNPCKHD, w, 2, Rm::R(3));
                self.a.z(op::UNPCKLQ, 0, t, Rm::R(v));
                self.a.z(op::UNPCKHQ, 1, t, Rm::R(v));
                self.a.z(op::UNPCKLQ, 2, u, Rm::R(w));
                self.a.z(op::UNPCKHQ, 3, u, Rm::R(w));
            }
            for pair in 0..8u8 {
                let (quarter, upper) = (pair / 2, pair % 2);
                let by = self.two_lanes(distances(slice), r.lo, pair as i32);
                let to = by.map(|by| Rm::M(indexed(RAX, by, l.offset)));
                if l.count == 4 {
                    for (k, to) in to.into_iter().enumerate() {
                        let row = 2 * upper + k as u8;
                        match quarter {
                            0 => self.a.evex(op::MOVDQU32_ST.l(0), row, 0, to, ALL, None),
                            _ => self.a.zi(op::EXTRACT128, row, 0, to, ALL, quarter),
                        }
                    }
                    continue;
                }
                let mut row = [t, u][upper as usize];
                if quarter > 0 {
                    self.a.zi(op::EXTRACT128, row, 0, Rm::R(v), ALL, quarter);
                    row = v;
                }
                self.a.evex(op::MOVQ_ST.l(0), row, 0, to[0], ALL, None);
                self.a.evex(op::PEXTRQ.l(0), row, 0, to[1], ALL, Some(1));
            }
        }
    }

    /// Loads the elements of 16 lanes one after the other, from RAX plus a constant on.
    fn load_consecutive(&mut self, l: &Lanes, loaded: &[u8], r: Regs, offset: i32) {
        let Regs { t, u, v, .. } = r;
        let at = |by: i32| Rm::M(mem(RAX, offset + by));
        let on = self.on_or_zero();
        match (l.bytes, l.count) {
            (1, _) => self.a.zk(op::PMOVZXBD, loaded[0], 0, at(0), on),
            (2, _) => self.a.zk(op::PMOVZXWD, loaded[0], 0, at(0), on),
            (_, 1) => self.a.zk(op::MOVDQU32, loaded[0], 0, at(0), on),
            (_, 2) => {
                self.a.z(op::MOVDQU32, t, 0, at(0));
                for (&d, &n) in loaded.iter().zip(&l.wanted) {
                    let mix = [Mix::Even, Mix::Odd][n as usize];
                    self.mix(mix, d, t, at(64));
                }
            }
            _ => {
                let mut to = [None; 4];
                for (&d, &n) in loaded.iter().zip(&l.wanted) {
                    to[n as usize] = Some(d);
                }
                self.load_four(offset, to, [t, u, v]);
            }
        }
    }

    /// The wanted ones, at least two, of four dwords of each lane at RAX plus its distance in the first register plus a constant: 16 bytes
    /// of each lane that is on, transposed. Lanes that are off get what is at RAX. RCX and RDX are clobbered.
    fn gather_rows(&mut self, loaded: &[u8], wanted: &[u8], rows: [u8; 4], offset: i32) {
        let t = rows[0];
        // The distances are moved from vector registers: through memory they would take twice the time.
        let (distances, part) = (loaded[0], loaded[1]);
        let on = self.on_or_zero();
        self.a.zk(op::MOVDQU32, distances, 0, Rm::R(t), on);
        for pair in 0..8u8 {
            // Four lanes in turns.
            let quarter = pair / 2;
            let two = &rows[2 * (pair as usize % 2)..][..2];
            let by = self.two_lanes(distances, part, pair as i32);
            for (&row, by) in two.iter().zip(by) {
                let from = Rm::M(indexed(RAX, by, offset));
                match quarter {
                    0 => self.a.evex(op::MOVDQU32.l(0), row, 0, from, ALL, None),
                    _ => self.a.zi(op::INSERT128, row, row, from, ALL, quarter),
                }
            }
        }
        self.transpose(loaded, wanted, rows);
    }

    /// The wanted ones, at least two, of four dwords of each lane: the registers have them for each fourth lane. The last one may be the second one that is loaded.
    fn transpose(&mut self, loaded: &[u8], wanted: &[u8], [t, u, v, w]: [u8; 4]) {
        let first = loaded[0];
        self.a.z(op::UNPCKLD, first, t, Rm::R(u));
        self.a.z(op::UNPCKHD, t, t, Rm::R(u));
        self.a.z(op::UNPCKLD, u, v, Rm::R(w));
        self.a.z(op::UNPCKHD, v, v, Rm::R(w));
        // The first one's register is read until the end.
        for (&d, &n) in loaded.iter().zip(wanted).rev() {
            let (a, b) = if n < 2 { (first, u) } else { (t, v) };
            let e = [op::UNPCKLQ, op::UNPCKHQ][n as usize % 2];
            self.a.z(e, d, a, Rm::R(b));
        }
    }

    /// Loads the wanted elements of lanes whose distances from RAX are in `t`, wherever they are.
    fn load_apart(&mut self, l: &Lanes, loaded: &[u8], r: Regs, offset: i32) {
        let Regs { t, u, v, w, k, .. } = r;
        if l.in_rows() && l.wanted.len() > 1 {
            self.gather_rows(loaded, &l.wanted, [t, u, v, w], offset);
        } else if self.with(Optional::OneByOne) {
            let temps = [u, v, w];
            self.gather_one_by_one(l.bytes, loaded, &l.wanted, t, temps, offset);
        } else {
            let elements = Elements {
                bytes: l.bytes,
                offset,
                wanted: &l.wanted,
                loaded,
            };
            self.gather(elements, t, [u, v, w], k);
        }
    }

    /// Stores to LDS where the lanes' addresses follow each other. Goes on at `from` where they do not, or where slices that are no
    /// multiple apart might meet.
    fn store_in_lds(&mut self, l: &Lanes, stored: &[u8], r: Regs, from: Label) {
        let stride = l.bytes * l.count;
        if !matches!((l.bytes, l.count), (_, 1) | (4, 2) | (4, 4)) {
            self.a.jmp(from);
            return;
        }
        let Regs { lo, t, u, v, k, .. } = r;
        // RAX: the address of the first lane if it were active, where all follow each other.
        let log = stride.trailing_zeros() as usize;
        self.a
            .z(op::SUBD, t, lo, Rm::M(ctx!(tables.strides, 64 * log)));
        self.a.zk(op::COMPRESSD, t, 0, Rm::R(u), zero(K_EXEC));
        self.a.evex(op::MOVD_ST.l(0), u, 0, Rm::R(RAX), ALL, None);
        self.a.z(op::BCASTD, u, 0, Rm::R(u));
        self.a.zi(op::CMPD, k, t, Rm::R(u), keep(K_EXEC), 4);
        self.a.kortest(k, k);
        self.a.jcc(Cc::Ne, from);
        // Addresses must not wrap.
        self.a.mov(false, RCX, Rm::R(RAX));
        self.a
            .alu_imm(alu::ADD, false, Rm::R(RCX), 16 * stride as i32);
        self.a.jcc(Cc::B, from);
        if l.count > 1 {
            self.a.mov(false, RCX, Rm::R(RAX));
            self.a
                .alu_imm(alu::AND, false, Rm::R(RCX), stride as i32 - 1);
            self.a.jcc(Cc::Ne, from);
        }
        self.lds_range(16 * stride as i32, l.scalar.unwrap_or(0), from);
        self.store_elements(l.bytes, stored, mem(RAX, 0), [t, u, v], k);
    }

    /// Loads dwords of LDS where each ends within the limit; 0 elsewhere. In a transaction it goes on at `helper`.
    fn gather_lds(&mut self, l: &Lanes, loaded: &[u8], r: Regs, helper: Label) {
        let Regs { lo, t, u, k, .. } = r;
        self.a.alu_imm(alu::CMP, false, Rm::M(ctx!(tries)), 0);
        self.a.jcc(Cc::Ne, helper);
        self.last_in_lds(l.scalar.unwrap_or(0), 4, helper);
        self.a.z(op::BCASTD_R, t, 0, Rm::R(RAX));
        self.a.mov(true, RCX, Rm::M(ctx!(lds.base)));
        for (&d, &n) in loaded.iter().zip(&l.wanted) {
            match n {
                0 => self.a.z(op::MOVDQU32, u, 0, Rm::R(lo)),
                _ => self.a.z(op::ADDD, u, lo, Rm::C(4 * n as u64)),
            }
            self.a.zi(op::CMPUD, k, u, Rm::R(t), keep(K_EXEC), 2);
            self.a.z(op::XORD, d, d, Rm::R(d));
            let at = Rm::M(indexed(RCX, u, 0));
            self.a.zk(op::GATHERDD, d, 0, at, keep(k));
        }
    }

    /// Stores the dwords of 16 lanes to LDS where their addresses say. Goes on at `helper` where several dwords do not lie whole in LDS or
    /// are no multiple of their size: such may meet others' in part.
    fn scatter_lds(&mut self, l: &Lanes, stored: &[u8], r: Regs, helper: Label) {
        let Regs {
            lo, t, u, k, k2, ..
        } = r;
        let count = stored.len();
        self.last_in_lds(l.scalar.unwrap_or(0), 4 * count as i32, helper);
        self.a.z(op::BCASTD_R, t, 0, Rm::R(RAX));
        self.a.mov(true, RCX, Rm::M(ctx!(lds.base)));
        let to = |index: u8, disp: i32| Rm::M(indexed(RCX, index, disp));
        if let &[d] = stored {
            // Bytes beyond the end are not stored.
            let inside = self.a.label();
            self.a.zi(op::CMPUD, k, lo, Rm::R(t), keep(K_EXEC), 6);
            self.a.kortest(k, k);
            self.a.jcc(Cc::E, inside);
            self.a.store_imm(ctx!(outside), 1);
            self.a.bind(inside);
            self.a.zi(op::CMPUD, k, lo, Rm::R(t), keep(K_EXEC), 2);
            self.a.zk(op::SCATTERDD, d, 0, to(lo, 0), keep(k));
            return;
        }
        self.a.zi(op::CMPUD, k, lo, Rm::R(t), keep(K_EXEC), 6);
        let cut = Rm::C(4 * count as u64 - 1);
        self.a.zk(op::TESTMD, k2, lo, cut, keep(K_EXEC));
        self.a.kop(kop::OR, k, k, k2);
        self.a.kortest(k, k);
        self.a.jcc(Cc::Ne, helper);
        for (half, mix) in [Mix::ZipLow, Mix::ZipHigh].into_iter().enumerate() {
            let mut index = lo;
            if half == 0 {
                self.a.kop(kop::OR, k, K_EXEC, K_EXEC);
            } else {
                self.a.kshiftr(k, K_EXEC, 8);
                self.a.zi(op::EXTRACT256, index, 0, Rm::R(u), ALL, 1);
                index = u;
            }
            for (n, pair) in stored.chunks(2).enumerate() {
                self.mix(mix, t, pair[0], Rm::R(pair[1]));
                self.a.kop(kop::OR, k2, k, k);
                let at = to(index, 8 * n as i32);
                self.a.zk(op::SCATTERDQ, t, 0, at, keep(k2));
            }
        }
    }

    /// Stores the bytes or words of 16 lanes to LDS where their addresses say. Goes on at `helper` where some do not lie whole in LDS.
    fn scatter_small(&mut self, l: &Lanes, data: u8, r: Regs, helper: Label) {
        let Regs { lo, t, k, .. } = r;
        self.last_in_lds(l.scalar.unwrap_or(0), l.bytes as i32, helper);
        self.a.z(op::BCASTD_R, t, 0, Rm::R(RAX));
        self.a.zi(op::CMPUD, k, lo, Rm::R(t), keep(K_EXEC), 6);
        self.a.kortest(k, k);
        self.a.jcc(Cc::Ne, helper);
        self.a.mov(true, RAX, Rm::M(ctx!(lds.base)));
        self.scatter(l.bytes, data, lo, k, 0);
    }

    /// Elements at RAX plus an index. Those that lie side by side are taken as one of 64 bits.
    fn gather(&mut self, elements: Elements<'_>, index: u8, [t, u, v]: [u8; 3], k: u8) {
        let Elements {
            bytes,
            offset,
            wanted,
            loaded,
        } = elements;
        let at = |index: u8, n: u8| indexed(RAX, index, offset + n as i32 * bytes as i32);
        let (mut n, mut upper) = (0, false);
        while n < wanted.len() {
            let (d, element) = (loaded[n], wanted[n]);
            if bytes == 4 && wanted.get(n + 1) == Some(&(element + 1)) {
                if !upper {
                    self.a.zi(op::EXTRACT256, index, 0, Rm::R(v), ALL, 1);
                    upper = true;
                }
                self.gather_part(op::GATHERDQ, t, at(index, element), k, 0);
                self.gather_part(op::GATHERDQ, u, at(v, element), k, 1);
                self.mix(Mix::Even, d, t, Rm::R(u));
                self.mix(Mix::Odd, loaded[n + 1], t, Rm::R(u));
                n += 2;
                continue;
            }
            self.gather_part(op::GATHERDD, d, at(index, element), k, 0);
            if bytes < 4 {
                let mask = (1u64 << (8 * bytes)) - 1;
                self.a.z(op::ANDD, d, d, Rm::C(mask));
            }
            n += 1;
        }
    }

    /// A gather of the lanes of the lower or the upper half that are on, or of all; 0 to the others. `k` is clobbered.
    fn gather_part(&mut self, e: E, d: u8, at: Mem, k: u8, half: u8) {
        match half {
            0 => self.a.kop(kop::OR, k, K_EXEC, K_EXEC),
            _ => self.a.kshiftr(k, K_EXEC, 8),
        }
        self.a.z(op::XORD, d, d, Rm::R(d));
        self.a.zk(e, d, 0, Rm::M(at), keep(k));
    }

    /// Stores an element of each lane that is on at RAX plus `t` plus a constant, one lane after the other. RCX, RDX and RSI are clobbered.
    fn scatter(&mut self, bytes: u8, data: u8, t: u8, k: u8, offset: i32) {
        if bytes == 4 {
            self.a.kop(kop::OR, k, K_EXEC, K_EXEC);
            let at = indexed(RAX, t, offset);
            self.a.zk(op::SCATTERDD, data, 0, Rm::M(at), keep(k));
            return;
        }
        let store = op::MOVDQU32_ST;
        self.a.z(store, t, 0, Rm::M(ctx!(addresses)));
        self.a.z(store, data, 0, Rm::M(ctx!(data)));
        self.a.k_to_gpr(RDX, K_EXEC);
        let top = self.a.here();
        let lane = |m: Mem| Mem {
            index: Some((RCX, 4)),
            ..m
        };
        self.a.tzcnt(false, RCX, RDX);
        self.a.mov(false, RSI, Rm::M(lane(ctx!(addresses))));
        self.a.mov(false, RCX, Rm::M(lane(ctx!(data))));
        let at = indexed(RAX, RSI, offset);
        match bytes {
            1 => self.a.store8(at, RCX),
            _ => self.a.store16(at, RCX),
        }
        self.a.blsr(false, RDX, RDX);
        self.a.jcc(Cc::Ne, top);
    }

    /// T: eight lanes' guest addresses; K: which of them are on. Jumps to `bad` where not all of those may be accessed by plain
    /// instructions. U, V and K2 are clobbered.
    fn eight(&mut self, l: &Lanes, half: u8, r: Regs, bad: Label) {
        let Regs { t, u, v, k, k2, .. } = r;
        let wide = |e: &mut Self, to: u8, from: u8| {
            let mut from = from;
            if half == 1 {
                e.a.zi(op::EXTRACT256, from, 0, Rm::R(to), ALL, 1);
                from = to;
            }
            e.a.z(op::PMOVZXDQ, to, 0, Rm::R(from));
        };
        wide(self, t, r.lo);
        match (r.hi, l.scalar) {
            (Some(hi), _) => {
                wide(self, u, hi);
                self.a.evex(op::SHIFTQ_I, 6, u, Rm::R(u), ALL, Some(32));
                self.a.z(op::ORQ, t, t, Rm::R(u));
            }
            (None, Some(scalar)) => {
                self.sload(RAX, scalar);
                self.a.shift_imm(4, true, RAX, 32);
                self.a.z(op::BCASTQ_R, u, 0, Rm::R(RAX));
                self.a.z(op::ORQ, t, t, Rm::R(u));
            }
            (None, None) => {}
        }
        if l.offset != 0 {
            self.a.z(op::ADDQ, t, t, Rm::C(l.offset as i64 as u64));
        }
        if half == 0 {
            self.a.kop(kop::OR, k, K_EXEC, K_EXEC);
        } else {
            self.a.kshiftr(k, K_EXEC, 8);
        }
        let total = l.bytes as u64 * l.count as u64;
        // A page's byte is read with the three after it.
        let linear = ctx!(memory.start);
        self.a.z(op::SUBQ, u, t, Rm::B(linear));
        let limit = ctx!(memory.bytes);
        self.a.mov(true, RAX, Rm::M(limit));
        self.a.alu_imm(alu::SUB, true, Rm::R(RAX), 3 << 12);
        self.a.z(op::BCASTQ_R, v, 0, Rm::R(RAX));
        self.a.zi(op::CMPUQ, k2, u, Rm::R(v), keep(k), 5);
        self.a.kortest(k2, k2);
        self.a.jcc(Cc::Ne, bad);
        // Within one page, with what a gather of bytes reads beside them.
        let room = 4096 - total.max(4);
        self.a.z(op::ANDQ, v, u, Rm::C(4095));
        self.a.zi(op::CMPUQ, k2, v, Rm::C(room), keep(k), 6);
        self.a.kortest(k2, k2);
        self.a.jcc(Cc::Ne, bad);
        self.a.evex(op::SHIFTQ_I, 2, u, Rm::R(u), ALL, Some(12));
        self.gather_to(v, indexed(PAGES, u, 0), r);
        let need = (MAPPED | if l.store { 2 } else { 1 }) as u64;
        self.a.evex(op::ANDD.l(1), v, v, Rm::C(need), ALL, None);
        self.a
            .evex(op::CMPD.l(1), k2, v, Rm::C(need), keep(k), Some(4));
        self.a.kortest(k2, k2);
        self.a.jcc(Cc::Ne, bad);
    }

    /// Eight dwords; those of inactive lanes become 0.
    fn gather_to(&mut self, to: u8, at: Mem, Regs { k, k2, .. }: Regs) {
        self.a.kop(kop::OR, k2, k, k);
        self.a.evex(op::XORD.l(1), to, to, Rm::R(to), ALL, None);
        self.a.evex(op::GATHERQD, to, 0, Rm::M(at), keep(k2), None);
    }

    /// Loads each lane's elements or stores one, or jumps to `bad`, where all can be done again.
    fn lane_by_lane(&mut self, l: &Lanes, data: &[u8], r: Regs, bad: Label) {
        let Regs { t, v, k, k2, .. } = r;
        for half in 0..2 {
            self.eight(l, half, r, bad);
            if self.common.aliased {
                self.a.z(op::ANDQ, t, t, Rm::C(!ALIAS));
            }
            for (n, &d) in data.iter().enumerate() {
                let element = if l.store { n as u8 } else { l.wanted[n] };
                let at = indexed(BIAS, t, element as i32 * l.bytes as i32);
                match (l.store, half) {
                    (false, 0) => self.gather_to(d, at, r),
                    (false, _) => {
                        self.gather_to(v, at, r);
                        self.a.zi(op::INSERT256, d, d, Rm::R(v), ALL, 1);
                    }
                    (true, _) => {
                        let mut from = d;
                        if half == 1 {
                            self.a.zi(op::EXTRACT256, d, 0, Rm::R(v), ALL, 1);
                            from = v;
                        }
                        self.a.kop(kop::OR, k2, k, k);
                        self.a
                            .evex(op::SCATTERQD, from, 0, Rm::M(at), keep(k2), None);
                    }
                }
            }
        }
        if !l.store && l.bytes < 4 {
            let mask = (1u64 << (8 * l.bytes)) - 1;
            for &d in data {
                self.a.z(op::ANDD, d, d, Rm::C(mask));
            }
        }
    }

    // ---- affine addresses ----

    /// Wanted elements by a load for each lane, or one of 64 bits for two elements that lie side by side. `two`: where two lanes' first
    /// elements are. The temporary registers are clobbered.
    fn load_one_by_one(
        &mut self,
        bytes: u8,
        loaded: &[u8],
        wanted: &[u8],
        [t, u]: [u8; 2],
        quarters: i32,
        two: impl Fn(&mut Self, i32) -> [Mem; 2],
    ) {
        let short = |e: &mut Self, op: E, r: u8, at: Mem, lane: Option<u8>| {
            let v = if lane.is_some() { r } else { 0 };
            e.a.evex(op.l(0), r, v, Rm::M(at), ALL, lane);
        };
        let mut n = 0;
        while n < wanted.len() {
            let (d, element) = (loaded[n], wanted[n]);
            let by = element as i32 * bytes as i32;
            let pairs = bytes == 4 && wanted.get(n + 1) == Some(&(element + 1));
            for quarter in 0..quarters {
                let parts = match (pairs, quarter) {
                    (true, 0) => [d, loaded[n + 1]],
                    (false, 0) => [d; 2],
                    _ => [t; 2],
                };
                for (k, r) in parts.into_iter().enumerate() {
                    let [a, b] = two(self, 2 * quarter + k as i32).map(|m| plus(m, by));
                    if pairs {
                        short(self, op::MOVQ_LD, r, a, None);
                        short(self, op::PINSRQ, r, b, Some(1));
                        if quarter > 0 {
                            let to = loaded[n + k];
                            self.a
                                .zi(op::INSERT128, to, to, Rm::R(r), ALL, quarter as u8);
                        }
                        continue;
                    }
                    match k {
                        0 => short(self, op::MOVD_LD, r, a, None),
                        _ => short(self, op::PINSRD, r, a, Some(2)),
                    }
                    short(self, op::PINSRD, r, b, Some(2 * k as u8 + 1));
                }
                if !pairs && quarter > 0 {
                    self.a.zi(op::INSERT128, d, d, Rm::R(t), ALL, quarter as u8);
                }
            }
            if pairs {
                // Qwords of lanes 0, 1, 4, 5, … and of lanes 2, 3, 6, 7, ….
                let other = loaded[n + 1];
                self.a.zi(op::SHUFPS, u, d, Rm::R(other), ALL, 0xdd);
                self.a.zi(op::SHUFPS, d, d, Rm::R(other), ALL, 0x88);
                self.a.z(op::MOVDQU32, other, 0, Rm::R(u));
                n += 2;
                continue;
            }
            if bytes < 4 {
                let mask = (1u64 << (8 * bytes)) - 1;
                self.a.z(op::ANDD, d, d, Rm::C(mask));
            }
            n += 1;
        }
    }

    /// Two lanes' numbers of a register, zero-extended in RDX and RCX; pairs must be taken in order. `v` has four lanes at a time.
    fn two_lanes(&mut self, index: u8, v: u8, pair: i32) -> [Gpr; 2] {
        let quarter = pair / 2;
        let from = match quarter {
            0 => index,
            _ => v,
        };
        if pair % 2 == 0 {
            if quarter > 0 {
                self.a
                    .zi(op::EXTRACT128, index, 0, Rm::R(v), ALL, quarter as u8);
            }
            self.a
                .evex(op::MOVQ_ST.l(0), from, 0, Rm::R(RCX), ALL, None);
        } else {
            self.a
                .evex(op::PEXTRQ.l(0), from, 0, Rm::R(RCX), ALL, Some(1));
        }
        self.a.mov(false, RDX, Rm::R(RCX));
        self.a.shift_imm(5, true, RCX, 32);
        [RDX, RCX]
    }

    /// The same with one load per lane, at RAX plus an index plus a constant. Inactive lanes read where an active lane reads, and get 0.
    /// RCX, RDX and the temporary registers are clobbered.
    fn gather_one_by_one(
        &mut self,
        bytes: u8,
        loaded: &[u8],
        wanted: &[u8],
        index: u8,
        [t, u, v]: [u8; 3],
        offset: i32,
    ) {
        let some = self.all_active.is_none();
        if some {
            self.a
                .zk(op::MOVDQU32, index, 0, Rm::R(index), zero(K_EXEC));
        }
        let two = |e: &mut Self, pair: i32| {
            let by = e.two_lanes(index, v, pair);
            by.map(|by| indexed(RAX, by, offset))
        };
        let done = self.a.label();
        if some && self.common.slices == 1 {
            // A workgroup of up to eight work-items has no other lanes.
            let more = self.a.label();
            self.a.k_to_gpr(RDX, K_EXEC);
            self.a.alu_imm(alu::CMP, false, Rm::R(RDX), 0xff);
            self.a.jcc(Cc::A, more);
            self.load_one_by_one(bytes, loaded, wanted, [t, u], 2, two);
            self.a.jmp(done);
            self.a.bind(more);
        }
        self.load_one_by_one(bytes, loaded, wanted, [t, u], 4, two);
        self.a.bind(done);
        if some {
            for &d in loaded {
                self.a.zk(op::MOVDQU32, d, 0, Rm::R(d), zero(K_EXEC));
            }
        }
    }

    /// The wanted dwords of each lane at RAX plus a constant, where lanes are three dwords apart and access the first `count` of them. No byte
    /// after the last lane's last dword is read. RCX is clobbered.
    fn load_three(
        &mut self,
        (offset, count): (i32, u8),
        loaded: &[u8],
        wanted: &[u8],
        [t, u, v]: [u8; 3],
        k: u8,
    ) {
        let at = |by: i32| Rm::M(address_plus(offset + by));
        self.a.z(op::MOVDQU32, t, 0, at(0));
        let mut last = at(128);
        if count < 3 {
            let dwords = 3 * 15 + count - 32;
            self.a.imm(RCX, (1 << dwords) - 1);
            self.a.gpr_to_k(k, RCX);
            self.a.zk(op::MOVDQU32, v, 0, last, zero(k));
            last = Rm::R(v);
        }
        for (&d, &n) in loaded.iter().zip(wanted) {
            let index = |k: usize| Rm::M(ctx!(tables.untriples, 128 * n as usize + 64 * k));
            self.a.z(op::MOVDQU32, u, 0, index(0));
            self.a.z(op::PERMI2D, u, t, at(64));
            self.a.z(op::MOVDQU32, d, 0, index(1));
            self.a.z(op::PERMI2D, d, u, last);
        }
    }

    /// Loads the wanted dwords of four per lane at RAX plus a constant: every other dword, then the rest.
    fn load_four(&mut self, offset: i32, wanted: [Option<u8>; 4], [t, u, v]: [u8; 3]) {
        for (k, mix) in [Mix::Even, Mix::Odd].into_iter().enumerate() {
            if wanted[k].is_none() && wanted[k + 2].is_none() {
                continue;
            }
            for (half, to) in [(0, u), (128, v)] {
                let from = offset + half;
                self.a.z(op::MOVDQU32, t, 0, Rm::M(address_plus(from)));
                self.mix(mix, to, t, Rm::M(address_plus(from + 64)));
            }
            for (k, mix) in [(k, Mix::Even), (k + 2, Mix::Odd)] {
                if let Some(d) = wanted[k] {
                    self.mix(mix, d, u, Rm::R(v));
                }
            }
        }
    }

    /// An opmask of the active lanes' bytes, from lane 0's first one on: `bytes` of each lane, `step` apart. RCX and RDX are clobbered.
    fn bytes_on(&mut self, bytes: u8, step: i32, k: u8) {
        let firsts = (0..16).fold(0u64, |mask, lane| mask | 1 << (lane * step));
        if self.all_active.is_some() {
            let all = (0..bytes as u64).fold(0, |all, byte| all | firsts << byte);
            self.a.imm(RCX, all);
            self.a.gpr_to_k64(k, RCX);
            return;
        }
        self.a.k_to_gpr(RCX, K_EXEC);
        self.a.imm(RDX, firsts);
        self.a.pdep(RCX, RCX, RDX);
        for half in [1, 2].into_iter().filter(|&half| half < bytes) {
            self.a.mov(true, RDX, Rm::R(RCX));
            self.a.shift_imm(4, true, RDX, half);
            self.a.alu(alu::OR, true, RCX, Rm::R(RDX));
        }
        self.a.gpr_to_k64(k, RCX);
    }

    /// The element of each lane that is on at RAX plus a constant, 1 to 4 bytes from lane to lane, all within 64; 0 to the others. `t`,
    /// RCX and RDX are clobbered.
    fn load_close(&mut self, a: Affine, d: u8, t: u8, k: u8) {
        self.bytes_on(a.bytes, a.step, k);
        self.a
            .zk(op::MOVDQU8, t, 0, Rm::M(mem(RAX, a.offset)), zero(k));
        let locations = ctx!(tables.bytes_in, 64 * (a.step as usize - 1));
        self.a.z(op::MOVDQU32, d, 0, Rm::M(locations));
        self.a.z(op::PERMB, d, d, Rm::R(t));
        if a.bytes < 4 {
            let mask = (1u64 << (8 * a.bytes)) - 1;
            self.a.z(op::ANDD, d, d, Rm::C(mask));
        }
    }

    /// The same the other way: lanes' bytes do not overlap.
    fn store_close(&mut self, a: Affine, data: u8, t: u8, k: u8) {
        self.bytes_on(a.bytes, a.step, k);
        let locations = ctx!(tables.bytes_out, 64 * (a.step as usize - 1));
        self.a.z(op::MOVDQU32, t, 0, Rm::M(locations));
        self.a.z(op::PERMB, t, t, Rm::R(data));
        self.a
            .zk(op::MOVDQU8_ST, t, 0, Rm::M(mem(RAX, a.offset)), keep(k));
    }

    /// Jumps to the label if some of the slice's lanes are inactive.
    fn unless_all_active(&mut self, some: Label) {
        if self.all_active.is_none() {
            self.a.kortest(K_EXEC, K_EXEC);
            self.a.jcc(Cc::Ae, some);
        }
    }

    /// Loads elements of 16 lanes that follow each other from the last lane's to the first one's.
    fn load_reversed(&mut self, a: Affine, d: u8, t: u8) {
        let from = Rm::M(address_plus(a.offset + 15 * a.step));
        let load = match a.bytes {
            1 => op::PMOVZXBD,
            2 => op::PMOVZXWD,
            _ => op::MOVDQU32,
        };
        self.a.z(load, t, 0, from);
        self.a.z(op::MOVDQU32, d, 0, Rm::M(ctx!(tables.reverse)));
        self.a.z(op::PERMD, d, d, Rm::R(t));
    }

    /// Stores of dwords two by two.
    fn scatter_pairs(&mut self, data: &[u8], t: u8, u: u8, k: u8, a: Affine) {
        // Eight lanes at a time: the others are as far from the ninth as these from the first.
        for (half, mix) in [Mix::ZipLow, Mix::ZipHigh].into_iter().enumerate() {
            for (n, pair) in data.chunks_exact(2).enumerate() {
                self.mix(mix, u, pair[0], Rm::R(pair[1]));
                match half {
                    0 => self.a.kop(kop::OR, k, K_EXEC, K_EXEC),
                    _ => self.a.kshiftr(k, K_EXEC, 8),
                }
                let by = 8 * (a.step * half as i32 + n as i32);
                let at = indexed(RAX, t, a.offset + by);
                self.a.zk(op::SCATTERDQ, u, 0, Rm::M(at), keep(k));
            }
        }
    }

    /// Stores a dword of each lane where lanes are two or four dwords apart: as parts of registers, of which the other dwords are not written. RCX and
    /// RDX are clobbered.
    fn store_spread(&mut self, step: i32, data: u8, at: Mem, [t, u, _]: [u8; 3], k: u8) {
        let places: u64 = match step {
            8 => 0x5555_5555,
            _ => 0x1111_1111_1111_1111,
        };
        let all_active = self.all_active.is_some();
        if all_active {
            self.a.imm(RCX, places & 0xffff);
            self.a.gpr_to_k(k, RCX);
        } else {
            self.a.k_to_gpr(RCX, K_EXEC);
            self.a.imm(RDX, places);
            self.a.pdep(RCX, RCX, RDX);
        }
        let store = |e: &mut Self, r: u8, by: i32| {
            if !all_active {
                e.a.gpr_to_k(k, RCX);
                e.a.shift_imm(5, true, RCX, 16);
            }
            let to = Rm::M(plus(at, by));
            e.a.zk(op::MOVDQU32_ST, r, 0, to, keep(k));
        };
        let mixes = [Mix::ZipLow, Mix::ZipHigh];
        for (half, mix) in (0..).zip(mixes) {
            self.mix(mix, t, data, Rm::R(data));
            if step == 8 {
                store(self, t, 64 * half);
                continue;
            }
            for (quarter, mix) in (0..).zip(mixes) {
                self.mix(mix, u, t, Rm::R(t));
                store(self, u, 128 * half + 64 * quarter);
            }
        }
    }

    /// Elements of 16 lanes to memory from `at` on, one lane's after the other's: one to four of 4 bytes, or a smaller one; three of all lanes. All of it
    /// may be written. RCX and RDX are clobbered.
    fn store_elements(&mut self, bytes: u8, data: &[u8], at: Mem, [t, u, v]: [u8; 3], k: u8) {
        let on = self.on();
        match (bytes, data) {
            (4, &[d]) => self.a.zk(op::MOVDQU32_ST, d, 0, Rm::M(at), on),
            (1, _) => self.a.zk(op::PMOVDB_ST, data[0], 0, Rm::M(at), on),
            (2, _) => self.a.zk(op::PMOVDW_ST, data[0], 0, Rm::M(at), on),
            (_, &[x, y]) => {
                let q = op::MOVDQU32_ST.pd();
                self.mix(Mix::ZipLow, t, x, Rm::R(y));
                self.a.zk(q, t, 0, Rm::M(at), on);
                self.mix(Mix::ZipHigh, t, x, Rm::R(y));
                let upper = self.upper_on(k);
                self.a.zk(q, t, 0, Rm::M(plus(at, 64)), upper);
            }
            (_, &[x, y, z]) => {
                // Of all lanes.
                for n in 0..3 {
                    let index = |k: usize| Rm::M(ctx!(tables.triples, 128 * n + 64 * k));
                    self.a.z(op::MOVDQU32, t, 0, index(0));
                    self.a.z(op::PERMI2D, t, x, Rm::R(y));
                    self.a.z(op::MOVDQU32, u, 0, index(1));
                    self.a.z(op::PERMI2D, u, t, Rm::R(z));
                    let to = Rm::M(plus(at, 64 * n as i32));
                    self.a.z(op::MOVDQU32_ST, u, 0, to);
                }
            }
            (_, &[x, y, z, w]) => {
                // Four bits for each lane's one, 16 for each register.
                let all_active = self.all_active.is_some();
                if !all_active {
                    self.a.k_to_gpr(RCX, K_EXEC);
                    self.a.imm(RDX, 0x1111_1111_1111_1111);
                    self.a.pdep(RCX, RCX, RDX);
                    self.a.mov(true, RDX, Rm::R(RCX));
                    self.a.shift_imm(4, true, RCX, 4);
                    self.a.alu(alu::SUB, true, RCX, Rm::R(RDX));
                }
                // X with Z and Y with W in turns, then both of these.
                let mixes = [Mix::ZipLow, Mix::ZipHigh];
                for (half, mix) in mixes.into_iter().enumerate() {
                    self.mix(mix, t, x, Rm::R(z));
                    self.mix(mix, u, y, Rm::R(w));
                    for (quarter, mix) in mixes.into_iter().enumerate() {
                        self.mix(mix, v, t, Rm::R(u));
                        let part = plus(at, 128 * half as i32 + 64 * quarter as i32);
                        if all_active {
                            self.a.z(op::MOVDQU32_ST, v, 0, Rm::M(part));
                            continue;
                        }
                        self.a.gpr_to_k(k, RCX);
                        self.a.shift_imm(5, true, RCX, 16);
                        self.a.zk(op::MOVDQU32_ST, v, 0, Rm::M(part), keep(k));
                    }
                }
            }
            _ => self.mistaken(),
        }
    }
}

impl Accesses for Avx512 {
    fn lanes_code(e: &mut Emit<'_, Avx512>, access: &Rc<Access>, p: OperandRegisters<'_>) {
        let Access::Lanes(l) = &**access else {
            return;
        };
        let mut n = 1 + l.high as usize;
        let stored = p.range(n, if l.store { l.count as usize } else { 0 });
        n += stored.len();
        let regs = Regs {
            lo: p.r(0),
            hi: l.high.then(|| p.r(1)),
            t: p.r(n),
            u: p.r(n + 1),
            v: p.r(n + 2),
            w: p.r(n + 3),
            k: p.k(n + 4),
            k2: p.k(n + 5),
        };
        let loaded = p.range(n + 6, l.wanted.len());
        let (from, helper, back) = (e.a.label(), e.a.label(), e.a.label());
        let again = e.a.here();
        let (ask, without) = (e.a.label(), e.a.label());
        let second = l.second.map(|_| [e.a.label(), e.a.label()]);
        let outside = second.map_or(from, |[outside, _]| outside);
        let tile = l.tiles.first().copied();
        let tile = tile.filter(|_| !l.store && !loaded.is_empty());
        match (l.store, l.range) {
            (false, range) => {
                if let Some(tile) = tile {
                    let untiled = e.a.label();
                    e.tile_load(l, &tile, &loaded, regs, untiled);
                    e.a.jmp(back);
                    e.a.bind(untiled);
                }
                match range {
                    Some(range) => e.in_range(l, range, regs, [outside, from]),
                    None => e.in_lds(l, regs, from),
                }
                let offset = if range.is_some() { l.offset } else { 0 };
                let (apart, untested) = (e.a.label(), e.a.label());
                let tests = l.consecutive() && !loaded.is_empty();
                if tests {
                    e.may_follow(l, untested);
                    e.first_lane(l, regs, apart);
                    if range.is_some() {
                        e.fetch_at_pace(l.bytes as i32 * l.count as i32, offset, false);
                    }
                    e.load_consecutive(l, &loaded, regs, offset);
                    e.follow(l);
                    e.a.jmp(back);
                }
                e.a.bind(apart);
                e.load_two_rows(l, &loaded, regs, offset, back);
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
                e.load_apart(l, &loaded, regs, offset);
            }
            (true, Some(range)) if l.count == 1 => {
                e.in_range(l, range, regs, [outside, from]);
                let Regs { t, k, .. } = regs;
                e.store_following(l, stored[0], regs, back);
                if let Some([_, both]) = second {
                    e.a.bind(both);
                }
                e.scatter(l.bytes, stored[0], t, k, l.offset);
            }
            (true, None) if l.offset == 0 => e.store_in_lds(l, &stored, regs, from),
            _ => e.a.jmp(helper),
        }
        e.a.bind(back);
        if l.store {
            for tile in &l.tiles {
                e.tile_store(l, tile, &stored, regs);
            }
        }
        let access = access.clone();
        e.section(move |e| {
            let Access::Lanes(l) = &*access else {
                return;
            };
            if let (Some(tile), Some(range)) = (tile, l.range) {
                e.a.bind(ask);
                e.hand_over(l, regs);
                e.ask_for_tile(l, &tile, range, [again, without]);
            }
            if let (Some([outside, both]), Some(first), Some(second)) = (second, l.range, l.second)
            {
                e.a.bind(outside);
                e.in_two_ranges([first, second], regs, [from, again]);
                e.a.jmp(both);
            }
            e.a.bind(from);
            match (l.range, l.store) {
                (Some(range), _) => {
                    e.hand_over(l, regs);
                    e.ask_around(l, range, again);
                    if !l.store || l.bytes == 4 && l.count == 1 {
                        let data = if l.store { &stored } else { &loaded };
                        e.lane_by_lane(l, data, regs, helper);
                        e.a.jmp(back);
                    }
                }
                (None, false) if l.bytes == 4 && l.offset == 0 => {
                    e.gather_lds(l, &loaded, regs, helper);
                    e.a.jmp(back);
                }
                (None, true) if l.bytes < 4 && l.count == 1 && l.offset == 0 => {
                    e.scatter_small(l, stored[0], regs, helper);
                    e.a.jmp(back);
                }
                (None, true) if l.bytes == 4 && l.offset == 0 => {
                    if matches!(l.count, 1 | 2 | 4) {
                        e.scatter_lds(l, &stored, regs, helper);
                        e.a.jmp(back);
                    }
                }
                (None, _) => {}
            }
            e.a.bind(helper);
            e.hand_over(l, regs);
            for (k, &d) in stored.iter().enumerate() {
                e.a.z(op::MOVDQU32_ST, d, 0, Rm::M(ctx!(data, 64 * k)));
            }
            e.lanes_helper(l);
            for (&d, &k) in loaded.iter().zip(&l.wanted) {
                let from = ctx!(data, 64 * k as usize);
                e.a.z(op::MOVDQU32, d, 0, Rm::M(from));
            }
            e.a.jmp(back);
        });
    }

    fn load_code(e: &mut Emit<'_, Avx512>, a: Affine, p: OperandRegisters<'_>) {
        e.affine_address(a.address);
        let at = |by: i32| address_plus(a.offset + by);
        if a.count == 1 && Shape::of(a.step, a.bytes, 1, false) != Some(Shape::Dense) {
            e.fetch(a, false);
            e.load_close(a, p.r(2), p.r(0), p.k(1));
            return;
        }
        e.fetch(a, false);
        if a.in_order {
            for k in (0..a.count as usize).filter(|k| a.wanted >> k & 1 != 0) {
                let from = Rm::M(at(64 * k as i32));
                e.a.z(op::MOVDQU32, p.r(k), 0, from);
            }
            return;
        }
        let on = e.on_or_zero();
        match (a.bytes, a.count) {
            (1, _) => e.a.zk(op::PMOVZXBD, p.r(0), 0, Rm::M(at(0)), on),
            (2, _) => e.a.zk(op::PMOVZXWD, p.r(0), 0, Rm::M(at(0)), on),
            (_, 1) => e.a.zk(op::MOVDQU32, p.r(0), 0, Rm::M(at(0)), on),
            (_, 2) => {
                // All of it may be read, of inactive lanes as well.
                for k in 0..2 {
                    let from = Rm::M(at(64 * k as i32));
                    e.a.z(op::MOVDQU32, p.r(k), 0, from);
                }
            }
            _ => {
                let wanted = |k: usize| a.wanted >> k & 1 != 0;
                let to = std::array::from_fn(|k| wanted(k).then(|| p.r(3 + k)));
                e.load_four(a.offset, to, [0, 1, 2].map(|k| p.r(k)));
            }
        }
    }

    fn store_code(e: &mut Emit<'_, Avx512>, a: Affine, p: OperandRegisters<'_>) {
        let wide = a.bytes == 8;
        let registers = if wide { 2 } else { a.count as usize };
        let data = p.range(0, registers);
        let temps = [0, 1, 2].map(|n| p.r(registers + n));
        let [t, u, _] = temps;
        let k = p.k(registers + 3);
        e.affine_address(a.address);
        if Shape::of(a.step, a.bytes, a.count, true) == Some(Shape::Apart) {
            if within_register(a.step) && a.count == 1 {
                e.fetch(a, true);
                e.store_close(a, data[0], t, k);
                return;
            }
            if let (4, &[d], 8 | 16) = (a.bytes, &data[..], a.step) {
                e.fetch(a, true);
                e.store_spread(a.step, d, address_plus(a.offset), temps, k);
                return;
            }
            let (apart, done) = (e.a.label(), e.a.label());
            if e.reversed(a) {
                e.unless_all_active(apart);
                e.fetch(a, true);
                e.a.z(op::MOVDQU32, t, 0, Rm::M(ctx!(tables.reverse)));
                e.a.z(op::PERMD, t, t, Rm::R(data[0]));
                let to = address_plus(a.offset + 15 * a.step);
                e.store_elements(a.bytes, &[t], to, temps, k);
                e.a.jmp(done);
            }
            if data.len() == 3 && a.step == 12 && e.with(Optional::Triples) {
                e.unless_all_active(apart);
                e.fetch(a, true);
                e.store_elements(4, &data, address_plus(a.offset), temps, k);
                e.a.jmp(done);
            }
            e.a.bind(apart);
            e.distances(t, a.step);
            if data.len().is_multiple_of(2) {
                e.scatter_pairs(&data, t, u, k, a);
                return;
            }
            for (n, &r) in data.iter().enumerate() {
                e.scatter(a.bytes, r, t, k, a.offset + 4 * n as i32);
            }
            e.a.bind(done);
            return;
        }
        e.fetch(a, true);
        if a.in_order {
            for (n, &r) in data.iter().enumerate() {
                let to = Rm::M(address_plus(a.offset + 64 * n as i32));
                e.a.z(op::MOVDQU32_ST, r, 0, to);
            }
            return;
        }
        if wide {
            let q = op::MOVDQU32_ST.pd();
            for (part, &r) in data.iter().enumerate() {
                let on = match part {
                    0 => e.on(),
                    _ => e.upper_on(k),
                };
                let to = Rm::M(address_plus(a.offset + 64 * part as i32));
                e.a.zk(q, r, 0, to, on);
            }
            return;
        }
        e.store_elements(a.bytes, &data, address_plus(a.offset), temps, k);
    }

    fn gather_code(e: &mut Emit<'_, Avx512>, a: Affine, wanted: &[u8], p: OperandRegisters<'_>) {
        e.affine_address(a.address);
        let loaded = p.range(5, wanted.len());
        let temps = [1, 2, 3].map(|k| p.r(k));
        let (apart, done) = (e.a.label(), e.a.label());
        let triples = e.with(Optional::Triples);
        if triples
            && a.bytes == 4
            && a.step == 12
            && !wanted.is_empty()
            && wanted.iter().all(|&k| k < 3)
        {
            e.unless_all_active(apart);
            e.fetch(a, false);
            e.load_three((a.offset, a.count), &loaded, wanted, temps, p.k(4));
            e.a.jmp(done);
        }
        if e.reversed(a) && !loaded.is_empty() {
            e.unless_all_active(apart);
            e.fetch(a, false);
            e.load_reversed(a, loaded[0], temps[0]);
            if e.all_active.is_some() {
                e.a.bind(apart);
                e.a.bind(done);
                return;
            }
            e.a.jmp(done);
        }
        if e.with(Optional::GatherRows) && a.bytes == 4 && a.count == 4 && wanted.len() > 2 {
            e.unless_all_active(apart);
            let rows = [temps[0], temps[1], temps[2], loaded[1]];
            for lane in 0..16 {
                let from = Rm::M(address_plus(a.offset + lane * a.step));
                let row = rows[lane as usize % 4];
                match lane / 4 {
                    0 => e.a.evex(op::MOVDQU32.l(0), row, 0, from, ALL, None),
                    quarter => e.a.zi(op::INSERT128, row, row, from, ALL, quarter as u8),
                }
            }
            e.transpose(&loaded, wanted, rows);
            if e.all_active.is_some() {
                e.a.bind(apart);
                e.a.bind(done);
                return;
            }
            e.a.jmp(done);
        }
        e.a.bind(apart);
        if e.with(Optional::OneByOne) {
            // The distances are known; what inactive lanes would read may not be mapped.
            let some = e.a.label();
            if e.all_active.is_none() {
                e.a.kortest(K_EXEC, K_EXEC);
                e.a.jcc(Cc::Ae, some);
            }
            let two = |_: &mut Emit<'_, Avx512>, pair: i32| {
                [0, 1].map(|n| address_plus(a.offset + (2 * pair + n) * a.step))
            };
            e.load_one_by_one(a.bytes, &loaded, wanted, [temps[0], temps[1]], 4, two);
            if e.all_active.is_some() {
                e.a.bind(done);
                return;
            }
            e.a.jmp(done);
            e.a.bind(some);
        }
        let elements = Elements {
            bytes: a.bytes,
            offset: a.offset,
            wanted,
            loaded: &loaded,
        };
        e.gather(elements, p.r(0), temps, p.k(4));
        e.a.bind(done);
    }

    fn store_row_code(e: &mut Emit<'_, Avx512>, _: At, to: Mem, p: OperandRegisters<'_>) {
        let on = keep(K_EXEC);
        e.a.zk(op::MOVDQU32_ST, p.r(0), 0, Rm::M(to), on);
    }
}
