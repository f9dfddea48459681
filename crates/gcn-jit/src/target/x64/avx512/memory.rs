//! Loads and stores of a slice: addresses that follow each other or are all the same go straight to memory; LDS that is
//! read here and there is gathered; everything else a helper does, lane by lane.

use super::gather::Upper;
use super::{Avx512, BIAS, CTX, Emit, K_EXEC, Mix, OutOfLine, reach};
use crate::context::Ctx;
use crate::ir::Id;
use crate::ir::region::Store;
use crate::target::x64::encode::*;
use gcn_isa::meaning::Space;
use std::mem::offset_of;

fn field(at: usize) -> Mem {
    mem(CTX, at as i32)
}

impl Emit<'_, Avx512> {
    /// RAX: the address of the first lane if it were on, where all that are on follow each other by `stride` bytes; jumps
    /// to `other` where they do not. `t` and `u` are spent.
    fn follow(&mut self, lo: u8, hi: Option<u8>, stride: u8, t: u8, u: u8, other: Label) {
        let log = stride.trailing_zeros() as usize;
        let steps = field(offset_of!(Ctx, strides) + 64 * log);
        self.a.z(op::SUBD, t, lo, Rm::M(steps));
        self.same(t, hi, u, other);
        // Where lower halves run over, the upper ones are not the same.
        self.a.mov(false, RCX, Rm::R(RAX));
        self.a
            .alu_imm(alu::ADD, false, Rm::R(RCX), 16 * stride as i32);
        self.a.jcc(Cc::B, other);
    }

    /// RAX: the value that all active lanes have; `u` is spent.
    fn same(&mut self, lo: u8, hi: Option<u8>, u: u8, other: Label) {
        let k = self.ktemp();
        self.v.k.busy |= 1 << k;
        self.first(lo, RAX, k, u);
        if let Some(hi) = hi {
            let k2 = self.ktemp();
            self.first(hi, RDX, k2, u);
            self.a.kop(kop::OR, k, k, k2);
            self.a.shift_imm(4, true, RDX, 32);
            self.a.alu(alu::OR, true, RAX, Rm::R(RDX));
        }
        self.a.kortest(k, k);
        self.a.jcc(Cc::Ne, other);
        self.v.k.busy &= !(1 << k);
    }

    /// `to`: what the first lane that is on has of `v`. `k`: the active lanes and have something else. `u` is spent.
    fn first(&mut self, v: u8, to: u8, k: u8, u: u8) {
        self.a.zk(op::COMPRESSD, v, 0, Rm::R(u), zero(K_EXEC));
        self.a.evex(op::MOVD_ST, 0, u, 0, Rm::R(to), ALL, None);
        self.a.z(op::BCASTD, u, 0, Rm::R(u));
        self.a.zi(op::CMPD, k, v, Rm::R(u), keep(K_EXEC), 4);
    }

    /// The upper half of addresses: a register, or nothing where RAX is to get it from the scalar `hi`.
    fn high(&mut self, hi: Id) -> Option<u8> {
        if !self.node(hi).vec {
            return None;
        }
        let r = self.zreg(hi, 0);
        self.hold(r);
        Some(r)
    }

    #[allow(clippy::too_many_arguments)]
    pub fn group(
        &mut self,
        id: Id,
        space: Space,
        bytes: u8,
        count: u8,
        offset: i32,
        lo: Id,
        hi: Id,
    ) {
        let lds = space == Space::Lds;
        let parts = self.parts(id, count);
        let stride = bytes * count;
        if !self.node(lo).vec && (lds || !self.node(hi).vec) && (!lds || bytes == 4) {
            // One address for all.
            self.sload(RAX, lo);
            let restart = self.restart();
            let from = if lds {
                self.lds_range(stride as i32, hi, restart);
                Mem {
                    base: RAX,
                    index: None,
                    disp: 0,
                }
            } else {
                self.add_high(hi, offset);
                self.check_range(stride as i32, 1, restart);
                self.of_host(RAX);
                Mem {
                    base: BIAS,
                    index: Some((RAX, 1)),
                    disp: 0,
                }
            };
            for (k, part) in parts.iter().enumerate() {
                let Some(part) = *part else { continue };
                let d = self.define(part, 0);
                self.hold(d);
                let from = Mem {
                    disp: k as i32 * bytes as i32,
                    ..from
                };
                self.broadcast_element(d, bytes, from);
            }
            return;
        }
        let p = self.zreg(lo, 0);
        self.hold(p);
        let high = if lds { None } else { self.high(hi) };
        let t = self.temp();
        self.hold(t);
        let u = self.temp();
        self.hold(u);
        let data: Vec<u8> = parts
            .iter()
            .map(|part| {
                let r = match part {
                    Some(part) => self.define(*part, 0),
                    None => self.temp(),
                };
                self.hold(r);
                r
            })
            .collect();
        let (from, back) = (self.a.label(), self.a.label());
        self.forked(false);
        // Where the upper half is a scalar the helper needs it in a register all the same.
        let scalar_high = !lds && high.is_none();
        let mut range = None;
        if !lds {
            let upper = high.map_or(Upper::Scalar(hi), Upper::Lanes);
            range = Some(self.in_range(p, upper, t, from));
            let wanted: Vec<bool> = parts.iter().map(Option::is_some).collect();
            self.gather(bytes, &data, &wanted, t, u, offset);
        } else if lds && offset == 0 {
            self.in_lds(p, reach(bytes, data.len()), hi, t, from);
            let wanted: Vec<bool> = parts.iter().map(Option::is_some).collect();
            self.gather(bytes, &data, &wanted, t, u, 0);
        } else if stride.is_power_of_two() && stride <= 16 {
            self.follow(p, high, stride, t, u, from);
            let at = if lds {
                self.lds_range(16 * stride as i32, hi, from);
                Mem {
                    base: RAX,
                    index: None,
                    disp: 0,
                }
            } else {
                self.add_high(hi, offset);
                self.check_range(16 * stride as i32, 1, from);
                self.of_host(RAX);
                Mem {
                    base: BIAS,
                    index: Some((RAX, 1)),
                    disp: 0,
                }
            };
            self.load_elements(bytes, &data, at, t, u);
        } else {
            self.a.jmp(from);
        }
        self.rejoined(back);
        self.v.out_of_line.push(OutOfLine {
            from,
            back,
            store: false,
            space,
            bytes,
            offset,
            lo: p,
            hi: high,
            limit: (lds || scalar_high).then_some(hi),
            data,
            free: [t, u],
            range,
        });
    }

    /// An element from memory to all lanes. RCX is spent.
    pub(super) fn broadcast_element(&mut self, d: u8, bytes: u8, from: Mem) {
        if bytes == 4 {
            self.a.z(op::BCASTD, d, 0, Rm::M(from));
            return;
        }
        let load: &[u8] = if bytes == 1 {
            &[0x0f, 0xb6]
        } else {
            &[0x0f, 0xb7]
        };
        self.a.g(false, load, RCX, Rm::M(from));
        self.a.z(op::BCASTD_R, d, 0, Rm::R(RCX));
    }

    /// Elements of 16 lanes that follow each other in memory from `at` on to a register each: one, two or four of 4 bytes
    /// a lane, or a smaller one. All of it may be read. `t` and `u` are spent, where there is more than one element.
    pub(super) fn load_elements(&mut self, bytes: u8, data: &[u8], at: Mem, t: u8, u: u8) {
        let plus = |n: i32| Mem {
            disp: at.disp + 64 * n,
            ..at
        };
        let on = self.on_or_zero();
        match (bytes, data.len()) {
            (4, 1) => self.a.zk(op::MOVDQU32, data[0], 0, Rm::M(at), on),
            (1, _) => self.a.zk(op::PMOVZXBD, data[0], 0, Rm::M(at), on),
            (2, _) => self.a.zk(op::PMOVZXWD, data[0], 0, Rm::M(at), on),
            (_, 2) => {
                self.a.z(op::MOVDQU32, t, 0, Rm::M(at));
                for (k, mix) in [Mix::Even, Mix::Odd].into_iter().enumerate() {
                    self.mix(mix, data[k], t, Rm::M(plus(1)));
                }
            }
            _ => {
                // Four elements of four dwords a register: first every other dword of two registers, then again.
                let [x, y, z, w] = [data[0], data[1], data[2], data[3]];
                self.a.z(op::MOVDQU32, t, 0, Rm::M(at));
                self.mix(Mix::Even, x, t, Rm::M(plus(1)));
                self.mix(Mix::Odd, y, t, Rm::M(plus(1)));
                self.a.z(op::MOVDQU32, t, 0, Rm::M(plus(2)));
                self.mix(Mix::Even, z, t, Rm::M(plus(3)));
                self.mix(Mix::Odd, w, t, Rm::M(plus(3)));
                // x: X and Z of the lower lanes, z: of the upper; y and w: Y and W.
                for (a, b) in [(x, z), (y, w)] {
                    self.mix(Mix::Even, t, a, Rm::R(b));
                    self.mix(Mix::Odd, u, a, Rm::R(b));
                    self.a.z(op::MOVDQU32, a, 0, Rm::R(t));
                    self.a.z(op::MOVDQU32, b, 0, Rm::R(u));
                }
            }
        }
    }

    /// The same the other way. All of it may be written; RCX and RDX are spent, too.
    pub(super) fn store_elements(&mut self, bytes: u8, data: &[u8], at: Mem, t: u8, u: u8) {
        let plus = |n: i32| Mem {
            disp: at.disp + 64 * n,
            ..at
        };
        let on = self.on();
        match (bytes, data.len()) {
            (4, 1) => self.a.zk(op::MOVDQU32_ST, data[0], 0, Rm::M(at), on),
            (1, _) => self.a.zk(op::PMOVDB_ST, data[0], 0, Rm::M(at), on),
            (2, _) => self.a.zk(op::PMOVDW_ST, data[0], 0, Rm::M(at), on),
            (_, 2) => {
                let q = op::MOVDQU32_ST.pd();
                self.mix(Mix::ZipLow, t, data[0], Rm::R(data[1]));
                self.a.zk(q, t, 0, Rm::M(at), on);
                self.mix(Mix::ZipHigh, t, data[0], Rm::R(data[1]));
                let upper = self.upper_on(true);
                self.a.zk(q, t, 0, Rm::M(plus(1)), upper);
            }
            _ => {
                // Four bits for each lane's one, 16 for each register.
                let k = self.ktemp();
                let full = self.full.is_some();
                if !full {
                    self.a.k_to_gpr(RCX, K_EXEC);
                    self.a.imm(RDX, 0x1111_1111_1111_1111);
                    self.a.pdep(RCX, RCX, RDX);
                    self.a.mov(true, RDX, Rm::R(RCX));
                    self.a.shift_imm(4, true, RCX, 4);
                    self.a.alu(alu::SUB, true, RCX, Rm::R(RDX));
                }
                // X with Z and Y with W in turns, then both of these.
                let v = self.temp();
                self.hold(v);
                let mixes = [Mix::ZipLow, Mix::ZipHigh];
                for (half, mix) in mixes.into_iter().enumerate() {
                    self.mix(mix, t, data[0], Rm::R(data[2]));
                    self.mix(mix, u, data[1], Rm::R(data[3]));
                    for (quarter, mix) in mixes.into_iter().enumerate() {
                        self.mix(mix, v, t, Rm::R(u));
                        let part = plus(2 * half as i32 + quarter as i32);
                        if full {
                            self.a.z(op::MOVDQU32_ST, v, 0, Rm::M(part));
                            continue;
                        }
                        self.a.gpr_to_k(k, RCX);
                        self.a.shift_imm(5, true, RCX, 16);
                        self.a.zk(op::MOVDQU32_ST, v, 0, Rm::M(part), keep(k));
                    }
                }
            }
        }
    }

    pub fn store_slice(&mut self, s: &Store) {
        self.let_go();
        let lds = s.space == Space::Lds;
        let count = s.data.len() as u8;
        let stride = s.bytes * count;
        let p = self.zreg(s.lo, 0);
        self.hold(p);
        let high = if lds { None } else { self.high(s.hi) };
        let mut data = Vec::new();
        for &d in &s.data {
            let r = self.zreg(d, 0);
            self.hold(r);
            data.push(r);
        }
        let t = self.temp();
        self.hold(t);
        let u = self.temp();
        self.hold(u);
        let (from, back) = (self.a.label(), self.a.label());
        self.forked(count > 2);
        let direct = matches!((s.bytes, count), (_, 1) | (4, 2) | (4, 4));
        let mut range = None;
        if !lds && count == 1 {
            let upper = high.map_or(Upper::Scalar(s.hi), Upper::Lanes);
            range = Some(self.in_range(p, upper, t, from));
            self.scatter(s.bytes, data[0], t, s.offset);
        } else if direct {
            self.follow(p, high, stride, t, u, from);
            if count > 1 {
                // Slices that are no multiple apart might meet: see the helper.
                self.a.lea(RCX, mem(RAX, s.offset));
                self.a
                    .alu_imm(alu::AND, false, Rm::R(RCX), stride as i32 - 1);
                self.a.jcc(Cc::Ne, from);
            }
            let at = if lds {
                self.lds_range(16 * stride as i32, s.hi, from);
                Mem {
                    base: RAX,
                    index: None,
                    disp: 0,
                }
            } else {
                self.add_high(s.hi, s.offset);
                self.check_range(16 * stride as i32, 2, from);
                self.of_host(RAX);
                Mem {
                    base: BIAS,
                    index: Some((RAX, 1)),
                    disp: 0,
                }
            };
            self.store_elements(s.bytes, &data, at, t, u);
        } else {
            self.a.jmp(from);
        }
        self.rejoined(back);
        let scalar_high = !lds && high.is_none();
        self.v.out_of_line.push(OutOfLine {
            from,
            back,
            store: true,
            space: s.space,
            bytes: s.bytes,
            offset: s.offset,
            lo: p,
            hi: high,
            limit: (lds || scalar_high).then_some(s.hi),
            data,
            free: [t, u],
            range,
        });
        self.let_go();
    }

    /// The code after the block.
    pub fn out_of_line(&mut self) {
        for out in std::mem::take(&mut self.v.out_of_line) {
            self.a.bind(out.from);
            let lds = out.space == Space::Lds;
            let [t, u] = out.free;
            let helper = self.a.label();
            self.look_around(&out);
            if !out.store && out.bytes == 4 && out.range.is_none() {
                self.v.k.busy = !0b110;
                // Registers 1 and 2 may hold values.
                self.masks(false);
                (self.v.k.regs[1], self.v.k.regs[2]) = (None, None);
                let gather = self.a.label();
                let done = self.a.label();
                self.same(out.lo, out.hi, u, gather);
                let bytes = 4 * out.data.len() as i32;
                let at = if lds {
                    self.lds_range(bytes, out.limit.unwrap_or(0), gather);
                    Mem {
                        base: RAX,
                        index: None,
                        disp: 0,
                    }
                } else {
                    if let Some(hi) = out.limit {
                        self.add_high(hi, 0);
                    }
                    self.add_high_offset(out.offset);
                    self.check_range(bytes, 1, gather);
                    self.of_host(RAX);
                    Mem {
                        base: BIAS,
                        index: Some((RAX, 1)),
                        disp: 0,
                    }
                };
                for (k, &d) in out.data.iter().enumerate() {
                    self.a.z(
                        op::BCASTD,
                        d,
                        0,
                        Rm::M(Mem {
                            disp: 4 * k as i32,
                            ..at
                        }),
                    );
                }
                self.a.jmp(done);
                self.a.bind(gather);
                if lds {
                    // Each dword where it ends within the limit; 0 elsewhere.
                    let helper2 = self.a.label();
                    self.last_in_lds(out.limit.unwrap_or(0), 4, t, helper2);
                    self.a.mov(true, RCX, Rm::M(field(offset_of!(Ctx, lds))));
                    for (k, &d) in out.data.iter().enumerate() {
                        let from = if k == 0 {
                            self.a.z(op::MOVDQU32, u, 0, Rm::R(out.lo));
                            u
                        } else {
                            self.a.z(op::ADDD, u, out.lo, Rm::C(4 * k as u64));
                            u
                        };
                        self.a.zi(op::CMPUD, 1, from, Rm::R(t), keep(K_EXEC), 2);
                        self.a.z(op::XORD, d, d, Rm::R(d));
                        let at = Mem {
                            base: RCX,
                            index: Some((from, 1)),
                            disp: 0,
                        };
                        self.a.zk(op::GATHERDD, d, 0, Rm::M(at), keep(1));
                    }
                    self.a.bind(done);
                    self.masks(true);
                    self.a.jmp(out.back);
                    self.a.bind(helper2);
                    self.masks(true);
                } else {
                    let bad = self.a.label();
                    self.lane_by_lane(&out, bad);
                    self.a.jmp(done);
                    self.a.bind(bad);
                    self.masks(true);
                    self.a.jmp(helper);
                    self.a.bind(done);
                    self.masks(true);
                    self.a.jmp(out.back);
                }
            }
            self.scatter_lds(&out);
            let gathers = !lds && out.store == (out.bytes == 4) && out.data.len() == 1;
            if gathers || out.range.is_some() && !out.store {
                let bad = self.a.label();
                self.masks(false);
                self.lane_by_lane(&out, bad);
                self.masks(true);
                self.a.jmp(out.back);
                self.a.bind(bad);
                self.masks(true);
            }
            self.a.bind(helper);
            self.hand_over(&out);
            if out.store {
                for (k, &d) in out.data.iter().enumerate() {
                    self.a.z(
                        op::MOVDQU32_ST,
                        d,
                        0,
                        Rm::M(field(offset_of!(Ctx, data) + 64 * k)),
                    );
                }
            }
            let what = out.bytes as u64
                | (out.data.len() as u64) << 8
                | (lds as u64) << 16
                | ((out.space == Space::Flat) as u64) << 17;
            self.a.imm(RSI, what | (out.offset as u32 as u64) << 32);
            let slow = self.common.slow[out.store as usize];
            self.a.call_label(slow);
            self.a.test(false, RAX, RAX);
            let restart = self.restart();
            self.a.jcc(Cc::Ne, restart);
            if !out.store {
                for (k, &d) in out.data.iter().enumerate() {
                    self.a.z(
                        op::MOVDQU32,
                        d,
                        0,
                        Rm::M(field(offset_of!(Ctx, data) + 64 * k)),
                    );
                }
            }
            self.a.jmp(out.back);
        }
    }

    pub fn row(&mut self, id: Id, address: Id, offset: i32) {
        let at = self.row_address(address, offset, 1);
        if self.plan.uses[id as usize].is_empty() {
            return;
        }
        let d = self.define(id, 0);
        self.a.z(op::MOVDQU32, d, 0, Rm::M(at));
    }

    pub fn store_row(&mut self, address: Id, offset: i32, value: Id) {
        self.let_go();
        let r = self.zreg(value, 0);
        let at = self.row_address(address, offset, 3);
        self.a.zk(op::MOVDQU32_ST, r, 0, Rm::M(at), keep(K_EXEC));
    }
}
