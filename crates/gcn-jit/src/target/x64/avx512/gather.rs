//! Memory at 16 lanes' own addresses. Where all of them are in the range that the access remembers, they are distances from
//! its beginning, of 32 bits; elsewhere gathers and scatters take eight at a time, after each lane's page has been looked up.

use super::range::Range;
use super::*;

/// The upper half of 16 lanes' addresses: a register, or a scalar.
#[derive(Clone, Copy)]
pub(super) enum Upper {
    Lanes(u8),
    Scalar(Id),
}

impl Emit<'_, Avx512> {
    /// `t`: how far behind the beginning of a range that is remembered the addresses are of the active lanes; RAX: the
    /// host's address of that beginning. Jumps to `from` where they are not all in it. Opmasks may be spent.
    pub(super) fn in_range(&mut self, lo: u8, hi: Upper, t: u8, from: Label) -> (Range, Label) {
        let range = self.new_range();
        let again = self.a.here();
        self.check_tag(range, from);
        let start = range.start();
        let upper = Mem {
            disp: start.disp + 4,
            ..start
        };
        let k = self.ktemp();
        self.v.k.busy |= 1 << k;
        self.a.z(op::SUBD, t, lo, Rm::B(start));
        self.a
            .zi(op::CMPUD, k, t, Rm::B(range.bytes()), keep(K_EXEC), 5);
        match hi {
            Upper::Lanes(hi) => {
                let other = self.ktemp();
                self.a
                    .zi(op::CMPD, other, hi, Rm::B(upper), keep(K_EXEC), 4);
                self.a.kop(kop::OR, k, k, other);
            }
            Upper::Scalar(hi) => {
                self.sload(RAX, hi);
                self.a.alu(alu::CMP, false, RAX, Rm::M(upper));
                self.a.jcc(Cc::Ne, from);
            }
        }
        self.a.kortest(k, k);
        self.v.k.busy &= !(1 << k);
        self.a.jcc(Cc::Ne, from);
        self.a.mov(true, RAX, Rm::M(start));
        self.of_host(RAX);
        self.a.alu(alu::ADD, true, RAX, Rm::R(BIAS));
        (range, again)
    }

    /// `t`: the addresses of active lanes; RAX: where LDS is. Jumps to `from` where one of so many bytes is not in LDS or
    /// beyond the limit. Opmasks, RCX and RDX may be spent.
    pub(super) fn in_lds(&mut self, lo: u8, bytes: u64, limit: Id, t: u8, from: Label) {
        let k = self.ktemp();
        if self.konst(limit).is_some_and(|l| l >= u32::MAX as u64) {
            let places = Rm::B(ctx!(lds_places, bytes as usize));
            self.a.zi(op::CMPUD, k, lo, places, keep(K_EXEC), 5);
        } else {
            self.last_in_lds(limit, bytes as i32, t, from);
            self.a.zi(op::CMPUD, k, lo, Rm::R(t), keep(K_EXEC), 6);
        }
        self.a.kortest(k, k);
        self.a.jcc(Cc::Ne, from);
        self.a.z(op::MOVDQU32, t, 0, Rm::R(lo));
        self.a.mov(true, RAX, Rm::M(ctx!(lds)));
    }

    /// Where the range is another part of memory, or another access's: the helper finds it anew. Goes on behind it where
    /// it does not hold all lanes.
    pub(super) fn look_around(&mut self, out: &OutOfLine) {
        let Some((range, again)) = out.range else {
            return;
        };
        self.hand_over(out);
        let total = reach(out.bytes, out.data.len());
        let need = if out.store { 2 } else { 1 };
        let what = total | need << 8;
        self.ask_range(what | (out.offset as u32 as u64) << 32, range);
        let call = self.common.around_call;
        self.a.call_label(call);
        self.a.test(false, RAX, RAX);
        let other = self.a.label();
        self.a.jcc(Cc::Ne, other);
        self.tag(range);
        self.a.jmp(again);
        self.a.bind(other);
    }

    /// The active lanes and their addresses go where helpers read them.
    pub(super) fn hand_over(&mut self, out: &OutOfLine) {
        let [_, u] = out.free;
        let store = op::MOVDQU32_ST;
        self.a.z(store, out.lo, 0, Rm::M(ctx!(addresses)));
        let upper = match (out.hi, out.limit) {
            (Some(hi), _) => Some(hi),
            (None, Some(scalar)) => {
                self.sload(RAX, scalar);
                self.a.z(op::BCASTD_R, u, 0, Rm::R(RAX));
                Some(u)
            }
            _ => None,
        };
        if let Some(r) = upper {
            self.a.z(store, r, 0, Rm::M(ctx!(addresses, 64)));
        }
        self.a.kstore16(ctx!(lanes_on), K_EXEC);
    }

    /// Elements at RAX plus `t` plus a constant, of which those that are wanted go to a register each. `t` and `u` are spent.
    pub(super) fn gather(
        &mut self,
        bytes: u8,
        data: &[u8],
        wanted: &[bool],
        t: u8,
        u: u8,
        offset: i32,
    ) {
        let k = self.ktemp();
        self.v.k.busy |= 1 << k;
        let at = |n: usize| Mem {
            base: RAX,
            index: Some((t, 1)),
            disp: offset + (n * bytes as usize) as i32,
        };
        let count = data.len();
        // Two that are wanted and lie side by side are taken as one of 64 bits.
        let mut pairs = Vec::new();
        let mut n = 0;
        while n < count {
            if bytes == 4 && wanted[n] && wanted.get(n + 1) == Some(&true) {
                pairs.push(n);
                n += 2;
                continue;
            }
            if wanted[n] {
                self.gather_part(op::GATHERDD, data[n], at(n), k, 0);
                if bytes < 4 {
                    let mask = (1u64 << (8 * bytes)) - 1;
                    self.a.z(op::ANDD, data[n], data[n], Rm::C(mask));
                }
            }
            n += 1;
        }
        for half in 0..2 {
            if half == 1 && !pairs.is_empty() {
                self.a.zi(op::EXTRACT256, t, 0, Rm::R(t), ALL, 1);
            }
            for &n in &pairs {
                self.gather_part(op::GATHERDQ, data[n + half as usize], at(n), k, half);
            }
        }
        for &n in &pairs {
            let (x, y) = (data[n], data[n + 1]);
            self.mix(Mix::Even, u, x, Rm::R(y));
            self.mix(Mix::Odd, t, x, Rm::R(y));
            self.a.z(op::MOVDQU32, x, 0, Rm::R(u));
            self.a.z(op::MOVDQU32, y, 0, Rm::R(t));
        }
        self.v.k.busy &= !(1 << k);
    }

    /// The lanes' distances from the first one.
    pub(super) fn distances(&mut self, t: u8, step: i32) {
        let log = step.unsigned_abs().trailing_zeros() as usize;
        if step > 0 && step.unsigned_abs().is_power_of_two() && log < 8 {
            self.a.z(op::MOVDQU32, t, 0, Rm::M(ctx!(strides, 64 * log)));
            return;
        }
        self.a.z(op::MOVDQU32, t, 0, Rm::M(ctx!(strides)));
        self.a.z(op::MULLD, t, t, Rm::C(step as u32 as u64));
    }

    /// An opmask of the bytes, from lane 0's first one on, of those active lanes: so many of each, `step` apart. RCX and
    /// RDX are spent.
    fn bytes_on(&mut self, bytes: u8, step: i32) -> u8 {
        let k = self.ktemp();
        let firsts = (0..16).fold(0u64, |mask, lane| mask | 1 << (lane * step));
        self.a.k_to_gpr(RCX, K_EXEC);
        self.a.imm(RDX, firsts);
        self.a.pdep(RCX, RCX, RDX);
        for half in [1, 2].into_iter().filter(|&half| half < bytes) {
            self.a.mov(true, RDX, Rm::R(RCX));
            self.a.shift_imm(4, true, RDX, half);
            self.a.alu(alu::OR, true, RCX, Rm::R(RDX));
        }
        self.a.gpr_to_k64(k, RCX);
        k
    }

    /// The element of each lane that is on at RAX plus a constant, `step` (1 to 4) bytes from lane to lane, all within 64; 0
    /// to the others. `t`, RCX and RDX are spent.
    pub(super) fn load_close(&mut self, bytes: u8, d: u8, t: u8, step: i32, offset: i32) {
        let k = self.bytes_on(bytes, step);
        self.a
            .zk(op::MOVDQU8, t, 0, Rm::M(mem(RAX, offset)), zero(k));
        let places = ctx!(bytes_in, 64 * (step as usize - 1));
        self.a.z(op::MOVDQU32, d, 0, Rm::M(places));
        self.a.z(op::PERMB, d, d, Rm::R(t));
        if bytes < 4 {
            let mask = (1u64 << (8 * bytes)) - 1;
            self.a.z(op::ANDD, d, d, Rm::C(mask));
        }
    }

    /// The same the other way: lanes' bytes do not overlap.
    pub(super) fn store_close(&mut self, bytes: u8, data: u8, t: u8, step: i32, offset: i32) {
        let k = self.bytes_on(bytes, step);
        let places = ctx!(bytes_out, 64 * (step as usize - 1));
        self.a.z(op::MOVDQU32, t, 0, Rm::M(places));
        self.a.z(op::PERMB, t, t, Rm::R(data));
        self.a
            .zk(op::MOVDQU8_ST, t, 0, Rm::M(mem(RAX, offset)), keep(k));
    }

    /// The same of dwords two by two, where the distances are multiples of `step`.
    pub(super) fn scatter_pairs(&mut self, data: &[u8], t: u8, step: i32, offset: i32) {
        let u = self.temp();
        self.hold(u);
        let k = self.ktemp();
        // Eight lanes at a time: the others are as far from the ninth as these from the first.
        for (half, mix) in [Mix::ZipLow, Mix::ZipHigh].into_iter().enumerate() {
            for (n, pair) in data.chunks_exact(2).enumerate() {
                self.mix(mix, u, pair[0], Rm::R(pair[1]));
                match half {
                    0 => self.a.kop(kop::OR, k, K_EXEC, K_EXEC),
                    _ => self.a.kshiftr(k, K_EXEC, 8),
                }
                let at = Mem {
                    base: RAX,
                    index: Some((t, 1)),
                    disp: offset + 8 * (step * half as i32 + n as i32),
                };
                self.a.zk(op::SCATTERDQ, u, 0, Rm::M(at), keep(k));
            }
        }
    }

    /// Stores an element of each lane that is on at RAX plus `t` plus a constant, one lane after the other. RCX, RDX and RSI
    /// are spent.
    pub(super) fn scatter(&mut self, bytes: u8, data: u8, t: u8, offset: i32) {
        if bytes == 4 {
            let k = self.ktemp();
            self.a.kop(kop::OR, k, K_EXEC, K_EXEC);
            let at = Mem {
                base: RAX,
                index: Some((t, 1)),
                disp: offset,
            };
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
        let at = Mem {
            base: RAX,
            index: Some((RSI, 1)),
            disp: offset,
        };
        match bytes {
            1 => self.a.store8(at, RCX),
            _ => self.a.store16(at, RCX),
        }
        self.a.blsr(false, RDX, RDX);
        self.a.jcc(Cc::Ne, top);
    }

    /// A gather of the lanes of the lower or the upper half that are on, or of all; 0 to the others. `k` is spent.
    fn gather_part(&mut self, e: E, d: u8, at: Mem, k: u8, half: u8) {
        match half {
            0 => self.a.kop(kop::OR, k, K_EXEC, K_EXEC),
            _ => self.a.kshiftr(k, K_EXEC, 8),
        }
        self.a.z(op::XORD, d, d, Rm::R(d));
        self.a.zk(e, d, 0, Rm::M(at), keep(k));
    }

    /// T: eight lanes' guest addresses; opmask 1: which of them are on. Jumps to `bad` where not all of those may be
    /// accessed by plain instructions. U, V and opmask 2 are spent.
    fn eight(&mut self, out: &OutOfLine, half: u8, [t, u, v]: [u8; 3], bad: Label) {
        let wide = |e: &mut Self, to: u8, from: u8| {
            let mut from = from;
            if half == 1 {
                e.a.zi(op::EXTRACT256, from, 0, Rm::R(to), ALL, 1);
                from = to;
            }
            e.a.z(op::PMOVZXDQ, to, 0, Rm::R(from));
        };
        wide(self, t, out.lo);
        match (out.hi, out.limit) {
            (Some(hi), _) => {
                wide(self, u, hi);
                self.a.evex(op::SHIFTQ_I, 2, 6, u, Rm::R(u), ALL, Some(32));
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
        if out.offset != 0 {
            self.a.z(op::ADDQ, t, t, Rm::C(out.offset as i64 as u64));
        }
        if half == 0 {
            self.a.kop(kop::OR, 1, K_EXEC, K_EXEC);
        } else {
            self.a.kshiftr(1, K_EXEC, 8);
        }
        let total = out.bytes as u64 * out.data.len() as u64;
        // A page's byte is read with the three behind it.
        let linear = ctx!(linear_base);
        self.a.z(op::SUBQ, u, t, Rm::B(linear));
        let limit = ctx!(linear_bytes);
        self.a.mov(true, RAX, Rm::M(limit));
        self.a.alu_imm(alu::SUB, true, Rm::R(RAX), 3 << 12);
        self.a.z(op::BCASTQ_R, v, 0, Rm::R(RAX));
        self.a.zi(op::CMPUQ, 2, u, Rm::R(v), keep(1), 5);
        self.a.kortest(2, 2);
        self.a.jcc(Cc::Ne, bad);
        // Within one page, with what a gather of bytes reads beside them.
        let room = 4096 - total.max(4);
        self.a.z(op::ANDQ, v, u, Rm::C(4095));
        self.a.zi(op::CMPUQ, 2, v, Rm::C(room), keep(1), 6);
        self.a.kortest(2, 2);
        self.a.jcc(Cc::Ne, bad);
        self.a.evex(op::SHIFTQ_I, 2, 2, u, Rm::R(u), ALL, Some(12));
        self.gather_to(
            v,
            Mem {
                base: PAGES,
                index: Some((u, 1)),
                disp: 0,
            },
        );
        let need = (MAPPED | if out.store { 2 } else { 1 }) as u64;
        self.a.evex(op::ANDD, 1, v, v, Rm::C(need), ALL, None);
        self.a
            .evex(op::CMPD, 1, 2, v, Rm::C(need), keep(1), Some(4));
        self.a.kortest(2, 2);
        self.a.jcc(Cc::Ne, bad);
    }

    /// Eight dwords; those of inactive lanes become 0.
    fn gather_to(&mut self, to: u8, at: Mem) {
        self.a.kop(kop::OR, 2, 1, 1);
        self.a.evex(op::XORD, 1, to, to, Rm::R(to), ALL, None);
        self.a
            .evex(op::GATHERQD, 2, to, 0, Rm::M(at), keep(2), None);
    }

    /// Loads each lane's elements or stores one, or jumps to `bad`, where all can be done again. Opmasks 1 and 2 are spent.
    pub(super) fn lane_by_lane(&mut self, out: &OutOfLine, bad: Label) {
        let [t, u] = out.free;
        let taken =
            |r: u8| [out.lo, t, u].contains(&r) || out.hi == Some(r) || out.data.contains(&r);
        let v = (0..32).find(|&r| !taken(r)).unwrap_or(31);
        self.a.z(op::MOVDQU32_ST, v, 0, Rm::M(ctx!(save)));
        let failed = self.a.label();
        let done = self.a.label();
        for half in 0..2 {
            self.eight(out, half, [t, u, v], failed);
            if self.common.aliased {
                self.a.z(op::ANDQ, t, t, Rm::C(!ALIAS));
            }
            for (k, &d) in out.data.iter().enumerate() {
                let at = Mem {
                    base: BIAS,
                    index: Some((t, 1)),
                    disp: (k * out.bytes as usize) as i32,
                };
                match (out.store, half) {
                    (false, 0) => self.gather_to(d, at),
                    (false, _) => {
                        self.gather_to(v, at);
                        self.a.zi(op::INSERT256, d, d, Rm::R(v), ALL, 1);
                    }
                    (true, _) => {
                        let mut from = d;
                        if half == 1 {
                            self.a.zi(op::EXTRACT256, d, 0, Rm::R(v), ALL, 1);
                            from = v;
                        }
                        self.a.kop(kop::OR, 2, 1, 1);
                        self.a
                            .evex(op::SCATTERQD, 2, from, 0, Rm::M(at), keep(2), None);
                    }
                }
            }
        }
        if !out.store && out.bytes < 4 {
            let mask = (1u64 << (8 * out.bytes)) - 1;
            for &d in &out.data {
                self.a.z(op::ANDD, d, d, Rm::C(mask));
            }
        }
        self.a.z(op::MOVDQU32, v, 0, Rm::M(ctx!(save)));
        self.a.jmp(done);
        self.a.bind(failed);
        self.a.z(op::MOVDQU32, v, 0, Rm::M(ctx!(save)));
        self.a.jmp(bad);
        self.a.bind(done);
    }
}
