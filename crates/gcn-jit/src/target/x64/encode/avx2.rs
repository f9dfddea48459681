//! The same code on hosts without AVX-512: every EVEX instruction and every operation on opmasks becomes AVX2 ones.
//!
//! A register of 512 bits is two of 256: the first [`REAL`] are pairs of host registers, the others lines of memory, which
//! AVX2 instructions take as operands. An opmask is a line of memory, too: 16 dwords that are all ones or all zeros, as
//! AVX2's comparisons make them and its blends and masked moves want them; so there may be as many as one likes. The last
//! four host registers are for what lies between the AVX2 instructions of one EVEX instruction.
//!
//! What differs from the EVEX instructions: those of 256 and 128 bits leave the upper bits of their results as they were;
//! a masked load of elements narrower than 32 bits reads all of its operand; loads and stores under a mask, gathers, VRANGE, and `kortest`
//! but for its zero flag, spend the flags; opmasks have 16 bits.

use super::*;

#[cfg(test)]
mod tests;

/// Registers of 512 bits that are pairs of host registers.
pub const REAL: u8 = 6;
/// Host registers for the inside of one instruction: a result, two operands or temporaries, a mask.
const R: u8 = 15;
const S: u8 = 14;
const T: u8 = 13;
const U: u8 = 12;

/// Where what has no host register is: displacements from a base.
#[derive(Clone, Copy, Debug)]
pub struct Homes {
    pub base: Gpr,
    /// 32 lines of 64 bytes.
    pub vectors: i32,
    /// As many for opmasks.
    pub masks: i32,
    /// Four lines that nothing else uses.
    pub scratch: i32,
    /// A dword for the number of the first lane that is on.
    pub first: i32,
}

/// An AVX2 instruction: map, prefix, W, opcode.
#[derive(Clone, Copy)]
struct X(u8, u8, u8, u8);

const AND: X = X(1, 1, 0, 0xdb);
const ANDN: X = X(1, 1, 0, 0xdf);
const OR: X = X(1, 1, 0, 0xeb);
const XOR: X = X(1, 1, 0, 0xef);
const ADDD: X = X(1, 1, 0, 0xfe);
const ADDQ: X = X(1, 1, 0, 0xd4);
const SUBD: X = X(1, 1, 0, 0xfa);
const EQD: X = X(1, 1, 0, 0x76);
const EQQ: X = X(2, 1, 0, 0x29);
const GTD: X = X(1, 1, 0, 0x66);
const GTQ: X = X(2, 1, 0, 0x37);
const MULUDQ: X = X(1, 1, 0, 0xf4);
const LOAD: X = X(1, 2, 0, 0x6f);
const STORE: X = X(1, 2, 0, 0x7f);
const SHUFPS: X = X(1, 0, 0, 0xc6);
const PERMQ: X = X(3, 1, 1, 0x00);
const PERMD: X = X(2, 1, 0, 0x36);
const PERM128: X = X(3, 1, 0, 0x46);
const UNPCKL: X = X(1, 1, 0, 0x62);
const UNPCKH: X = X(1, 1, 0, 0x6a);
const EXTRACT: X = X(3, 1, 0, 0x39);
const INSERT: X = X(3, 1, 0, 0x38);
const BLENDV: X = X(3, 1, 0, 0x4a);
const BROADCASTD: X = X(2, 1, 0, 0x58);
const BROADCASTQ: X = X(2, 1, 0, 0x59);
const BROADCASTW: X = X(2, 1, 0, 0x79);
const SXDQ: X = X(2, 1, 0, 0x25);
const ZXDQ: X = X(2, 1, 0, 0x35);
const MASKLOAD: X = X(2, 1, 0, 0x8c);
const MASKSTORE: X = X(2, 1, 0, 0x8e);
const SHUFB: X = X(2, 1, 0, 0x00);
const PACKSSDW: X = X(1, 1, 0, 0x6b);
const PACKSSWB: X = X(1, 1, 0, 0x63);
const PACKUSDW: X = X(2, 1, 0, 0x2b);
const PACKUSWB: X = X(1, 1, 0, 0x67);
const CVTDQ2PS: X = X(1, 0, 0, 0x5b);
const CVTPS2DQ: X = X(1, 1, 0, 0x5b);
const CVTTPS2DQ: X = X(1, 2, 0, 0x5b);
const CVTPS2PD: X = X(1, 0, 0, 0x5a);
const CVTPD2PS: X = X(1, 1, 0, 0x5a);
const CVTDQ2PD: X = X(1, 2, 0, 0xe6);
const CVTTPD2DQ: X = X(1, 1, 0, 0xe6);

/// How two registers are mixed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mix {
    /// Every other element of both, from the first or from the second on.
    Even,
    Odd,
    /// One of each in turns, of their lower or of their upper halves.
    ZipLow,
    ZipHigh,
}

/// Half of an operand.
#[derive(Clone, Copy, PartialEq)]
enum H {
    /// A host register.
    R(u8),
    M(Mem),
    /// A constant.
    L(u32),
}

/// 32 bytes of constants after the code.
#[derive(Default)]
pub(super) struct Lines {
    lines: Vec<[u32; 8]>,
    /// Where a distance to one is to be put, which, and the bytes that follow it.
    fixups: Vec<(u32, u32, u8)>,
}

fn plus(m: Mem, by: i32) -> Mem {
    Mem {
        disp: m.disp + by,
        ..m
    }
}

fn whole(e: E) -> i32 {
    e.n as i32 / 2
}

/// An EVEX instruction that is to be written as AVX2 ones.
#[derive(Clone, Copy)]
struct Instruction {
    e: E,
    /// Halves of 256 bits.
    halves: u8,
    reg: u8,
    v: u8,
    rm: Rm,
    mask: K,
    /// Bytes of an element.
    size: u8,
    imm: Option<u8>,
}

impl Asm {
    /// Code for hosts with AVX2 and no AVX-512.
    pub fn avx2(homes: Homes) -> Asm {
        Asm {
            homes: Some(homes),
            ..Asm::default()
        }
    }

    /// Vector registers that cost nothing to use.
    pub fn registers(&self) -> u8 {
        if self.homes.is_some() { REAL } else { 32 }
    }

    /// Whether AVX2 code is written.
    pub fn is_avx2(&self) -> bool {
        self.homes.is_some()
    }

    /// Opmasks that are registers of the host.
    pub fn host_opmasks(&self) -> u8 {
        if self.homes.is_some() { 0 } else { 8 }
    }

    /// Opmasks that there are, the first among them.
    pub fn opmasks(&self) -> u8 {
        if self.homes.is_some() { 32 } else { 8 }
    }

    /// The active lanes, by their bits in memory. RAX is spent.
    pub fn on(&mut self, k: u8, bits: Mem) {
        self.kload16(k, bits);
        if let Some(homes) = self.homes {
            self.g(false, &[0x0f, 0xb7], RAX, Rm::M(bits));
            // TZCNT
            self.b(0xf3);
            self.g(false, &[0x0f, 0xbc], RAX, Rm::R(RAX));
            self.store(false, mem(homes.base, homes.first), RAX);
        }
    }

    /// `to`: what the first lane of the opmask that [`Asm::on`] made has in `v`; `u`: the same in every lane. One lane must
    /// be on.
    pub fn first(&mut self, to: Gpr, v: u8, on: u8, u: u8) {
        let Some(homes) = self.homes else {
            self.zk(op::COMPRESSD, v, 0, Rm::R(u), zero(on));
            self.evex(op::MOVD_ST, 0, u, 0, Rm::R(to), ALL, None);
            self.z(op::BCASTD, u, 0, Rm::R(u));
            return;
        };
        let at = match (self.half(v, 0), self.half(v, 1)) {
            (H::M(m), _) => m.disp,
            (lo, hi) => {
                for (h, half) in [lo, hi].into_iter().enumerate() {
                    if let H::R(r) = half {
                        self.y(
                            STORE,
                            r,
                            0,
                            H::M(mem(homes.base, homes.scratch + 32 * h as i32)),
                        );
                    }
                }
                homes.scratch
            }
        };
        self.mov(false, to, Rm::M(mem(homes.base, homes.first)));
        let element = Mem {
            base: homes.base,
            index: Some((to, 4)),
            disp: at,
        };
        self.mov(false, to, Rm::M(element));
        self.z(op::BCASTD_R, u, 0, Rm::R(to));
    }

    /// A mix of two registers. `index` is where the numbers of the elements that it takes are, for VPERMI2D.
    pub fn mix(&mut self, mix: Mix, d: u8, a: u8, b: Rm, index: Mem) {
        if self.homes.is_none() {
            self.z(op::MOVDQU32, d, 0, Rm::M(index));
            let permi = E {
                op: 0x76,
                ..op::PERMT2D
            };
            self.z(permi, d, a, b);
            return;
        }
        let (a0, a1) = (self.half(a, 0), self.half(a, 1));
        let (b0, b1) = (self.operand(b, 0, 32, 4, S), self.operand(b, 1, 32, 4, S));
        let [first, second] = match mix {
            Mix::Even | Mix::Odd => {
                let by = if mix == Mix::Even { 0x88 } else { 0xdd };
                for (t, lo, hi) in [(T, a0, a1), (R, b0, b1)] {
                    let lo = self.load(lo, t);
                    self.yi(SHUFPS, t, lo, hi, by);
                    self.yi(PERMQ, t, 0, H::R(t), 0xd8);
                }
                [T, R]
            }
            Mix::ZipLow | Mix::ZipHigh => {
                let (a, b) = if mix == Mix::ZipLow {
                    (a0, b0)
                } else {
                    (a1, b1)
                };
                let a = self.load(a, R);
                self.y(UNPCKL, T, a, b);
                self.y(UNPCKH, U, a, b);
                self.yi(PERM128, R, T, H::R(U), 0x31);
                self.yi(PERM128, T, T, H::R(U), 0x20);
                [T, R]
            }
        };
        self.give(d, 0, first);
        self.give(d, 1, second);
    }

    // ---- encoding ----

    fn v(&mut self, x: X, l: u8, reg: u8, v: u8, rm: H, imm: Option<u8>) {
        let X(map, pp, w, op) = x;
        let (xb, bb) = match rm {
            H::R(r) => (1, !(r >> 3) & 1),
            H::M(m) => (
                m.index.map_or(1, |(i, _)| !(i >> 3) & 1),
                !(m.base >> 3) & 1,
            ),
            H::L(_) => (1, 1),
        };
        let rb = !(reg >> 3) & 1;
        if map == 1 && w == 0 && xb == 1 && bb == 1 {
            self.b(0xc5);
            self.b(rb << 7 | (!v & 15) << 3 | l << 2 | pp);
        } else {
            self.b(0xc4);
            self.b(rb << 7 | xb << 6 | bb << 5 | map);
            self.b(w << 7 | (!v & 15) << 3 | l << 2 | pp);
        }
        self.b(op);
        match rm {
            H::R(r) => self.modrm(reg, &Rm::R(r), 1, 8, 0),
            H::M(m) => self.modrm(reg, &Rm::M(m), 1, 8, 0),
            H::L(line) => {
                self.b((reg & 7) << 3 | 5);
                let at = self.buf.len() as u32;
                self.lines.fixups.push((at, line, imm.is_some() as u8));
                self.d(0);
            }
        }
        if let Some(imm) = imm {
            self.b(imm);
        }
    }

    /// Of 256 bits.
    fn y(&mut self, x: X, reg: u8, v: u8, rm: H) {
        self.v(x, 1, reg, v, rm, None);
    }

    fn yi(&mut self, x: X, reg: u8, v: u8, rm: H, imm: u8) {
        self.v(x, 1, reg, v, rm, Some(imm));
    }

    /// Of 128 bits.
    fn x(&mut self, x: X, reg: u8, v: u8, rm: H) {
        self.v(x, 0, reg, v, rm, None);
    }

    /// Shifts each element by a constant. `op`: 0x72 for dwords, 0x73 for qwords; `ext`: 2 srl, 4 sra, 6 sll.
    fn shift(&mut self, op: u8, ext: u8, d: u8, a: u8, by: u8) {
        self.yi(X(1, 1, 0, op), ext, d, H::R(a), by);
    }

    fn line(&mut self, line: [u32; 8]) -> H {
        let lines = &mut self.lines.lines;
        let at = lines.iter().position(|l| *l == line).unwrap_or_else(|| {
            lines.push(line);
            lines.len() - 1
        });
        H::L(at as u32)
    }

    /// A constant in every element.
    fn every(&mut self, value: u64, wide: bool) -> H {
        let (lo, hi) = (value as u32, (value >> 32) as u32);
        let hi = if wide { hi } else { lo };
        self.line([lo, hi, lo, hi, lo, hi, lo, hi])
    }

    fn d32(&mut self, value: u32) -> H {
        self.every(value as u64, false)
    }

    fn f64(&mut self, value: f64) -> H {
        self.every(value.to_bits(), true)
    }

    /// Puts the constants after the code.
    pub(super) fn finish_lines(&mut self) {
        let Lines { lines, fixups } = std::mem::take(&mut self.lines);
        if lines.is_empty() {
            return;
        }
        while !self.buf.len().is_multiple_of(32) {
            self.b(0xcc);
        }
        let begin = self.buf.len();
        for n in lines.iter().flatten() {
            self.buf.extend_from_slice(&n.to_le_bytes());
        }
        for (at, line, after) in fixups {
            let to = begin + 32 * line as usize;
            let distance = to as i64 - (at as i64 + 4 + after as i64);
            self.buf[at as usize..at as usize + 4]
                .copy_from_slice(&(distance as i32).to_le_bytes());
        }
    }

    // ---- operands ----

    fn homes(&self) -> Homes {
        self.homes.unwrap_or(Homes {
            base: RBP,
            vectors: 0,
            masks: 0,
            scratch: 0,
            first: 0,
        })
    }

    fn half(&self, z: u8, h: u8) -> H {
        if z < REAL {
            return H::R(2 * z + h);
        }
        let homes = self.homes();
        H::M(mem(
            homes.base,
            homes.vectors + 64 * z as i32 + 32 * h as i32,
        ))
    }

    fn mask(&self, k: u8, by: i32) -> Mem {
        let homes = self.homes();
        mem(homes.base, homes.masks + 64 * k as i32 + by)
    }

    fn scratch(&self, by: i32) -> Mem {
        let homes = self.homes();
        mem(homes.base, homes.scratch + by)
    }

    /// Half of the last operand, whose elements have `size` bytes and of which memory holds `bytes` for each half.
    fn operand(&mut self, rm: Rm, h: u8, bytes: i32, size: u8, spare: u8) -> H {
        match rm {
            Rm::R(z) => self.half(z, h),
            Rm::M(m) => H::M(plus(m, bytes * h as i32)),
            Rm::B(m) => {
                let x = if size == 8 { BROADCASTQ } else { BROADCASTD };
                self.y(x, spare, 0, H::M(m));
                H::R(spare)
            }
            Rm::C(value) => self.every(value, size == 8),
        }
    }

    /// In a host register: `spare` where it is in none.
    fn load(&mut self, h: H, spare: u8) -> u8 {
        if let H::R(r) = h {
            return r;
        }
        self.y(LOAD, spare, 0, h);
        spare
    }

    /// Half of a register takes the value of a host register.
    fn give(&mut self, z: u8, h: u8, from: u8) {
        match self.half(z, h) {
            H::R(r) if r == from => {}
            H::R(r) => self.y(LOAD, r, 0, H::R(from)),
            at => self.y(STORE, from, 0, at),
        }
    }

    /// The same under a mask of elements of `size` bytes. T and U are spent.
    fn merge(&mut self, z: u8, h: u8, from: u8, mask: K, size: u8) {
        if mask.k == 0 {
            self.give(z, h, from);
            return;
        }
        let m = if size == 8 {
            self.y(SXDQ, T, 0, H::M(self.mask(mask.k, 16 * h as i32)));
            H::R(T)
        } else {
            H::M(self.mask(mask.k, 32 * h as i32))
        };
        let to = self.half(z, h);
        let d = match to {
            H::R(d) => d,
            _ if from >= U => from,
            _ => R,
        };
        if mask.zero {
            self.y(AND, d, from, m);
            self.give(z, h, d);
            return;
        }
        let m = self.load(m, T);
        let old = self.load(to, U);
        self.yi(BLENDV, d, old, H::R(from), m << 4);
        self.give(z, h, d);
    }

    /// A value of 8 truth values, all ones or zeros, is what an opmask's half is.
    fn set_mask(&mut self, k: u8, h: u8, from: u8) {
        let m = self.mask(k, 32 * h as i32);
        self.y(STORE, from, 0, H::M(m));
    }

    // ---- instructions ----

    /// An EVEX instruction in AVX2 ones.
    pub(super) fn narrow(
        &mut self,
        e: E,
        ll: u8,
        reg: u8,
        v: u8,
        rm: Rm,
        mask: K,
        imm: Option<u8>,
    ) {
        let halves = if ll == 2 { 2 } else { 1 };
        // Of 128 bits there are moves and broadcasts, and what is the same instruction.
        let short = matches!(
            (e.map, e.op),
            (1, 0x6e | 0x6f | 0x7e | 0x7f) | (2, 0x58 | 0x59 | 0x7c)
        );
        if ll == 0 && !short && lanewise(e).is_none() {
            self.unknown = true;
            return;
        }
        let size = if e.w == 1 { 8 } else { 4 };
        let i = Instruction {
            e,
            halves,
            reg,
            v,
            rm,
            mask,
            size,
            imm,
        };
        match (e.map, e.pp, e.op) {
            (1, 1, 0xfe | 0xfa) if rm == Rm::C(1) && mask.k != 0 && !mask.zero && reg == v => {
                self.others(i)
            }
            (1, 1..=3, 0x6f) if ll == 0 && mask.k == 0 => {
                let from = self.operand(rm, 0, 16, 4, S);
                self.x(LOAD, R, 0, from);
                self.give(reg, 0, R);
            }
            (1, 1..=3, 0x7f) if ll == 0 && mask.k == 0 => {
                let from = self.half(reg, 0);
                let from = self.load(from, R);
                match rm {
                    Rm::M(m) => self.x(STORE, from, 0, H::M(m)),
                    _ => self.unknown = true,
                }
            }
            (1, 1..=3, 0x6f) if ll > 0 => self.load_all(halves, reg, rm, mask, size),
            (1, 1..=3, 0x7f) if ll > 0 => self.store_all(halves, reg, rm, mask, size),
            // Numbers of one register that is exclusive-or'd with itself: no operand is wanted.
            (1, 1, 0xef) if mask.k == 0 && rm == Rm::R(v) => {
                self.y(XOR, R, R, H::R(R));
                for h in 0..halves {
                    self.clear(reg, h);
                }
            }
            (1, 0 | 1, 0xc2) | (3, 1, 0x1e | 0x1f) | (2, 1 | 2, 0x27) => {
                self.compare(e, halves, reg, v, rm, mask, imm.unwrap_or(0));
            }
            (3, 1, 0x66) => self.classes(e.w == 1, reg, rm, mask, imm.unwrap_or(0)),
            (3, 1, 0x25) => self.ternary(halves, reg, v, rm, mask, size, imm.unwrap_or(0)),
            (1, 1, 0x72 | 0x73) if imm.is_some() => {
                self.shifts(e, halves, reg, v, rm, mask, size, imm.unwrap_or(0));
            }
            (2, 1, 0x14 | 0x15) => self.rotate(e, halves, reg, v, rm, mask, size),
            (3, 1, 0x71 | 0x73) => self.double_shift(e, halves, reg, v, rm, mask, imm.unwrap_or(0)),
            (2, 1, 0x46) if e.w == 1 => self.integers64(i),
            (2, 1, 0x40) if e.w == 1 => self.integers64(i),
            (2, 1, 0x39 | 0x3b | 0x3d | 0x3f) if e.w == 1 => self.integers64(i),
            (2, 1, 0x1f) => self.integers64(i),
            (2, 1, 0x44) if e.w == 0 => self.leading_zeros(halves, reg, rm, mask),
            (2, 1, 0x55) if e.w == 0 => self.population(halves, reg, rm, mask),
            (2, 1, 0x64) => self.others(i),
            (2, 1, 0x58 | 0x59) => self.broadcast(i),
            (2, 1, 0x7c) => self.broadcast(i),
            (1, 1, 0x7e) => self.broadcast(i),
            (1, 1, 0x6e) => self.broadcast(i),
            (3, 1, 0x50) => self.range(e.w == 1, halves, reg, v, rm, mask, imm.unwrap_or(0)),
            (2, 1, 0x2c) if e.w == 0 => self.scale32(halves, reg, v, rm, mask),
            (2, 1, 0x2c) => self.scale64(halves, reg, v, rm, mask),
            (1, 3, 0x7a) if e.w == 0 => self.others(i),
            (1, 0, 0x78) if e.w == 0 => self.others(i),
            (1, 0, 0x5a) | (1, 2, 0xe6 | 0x7a) | (2, 1, 0x13) if e.w == 0 => {
                self.widen(e, reg, rm, mask);
            }
            (1, 1, 0x5a) | (1, 1, 0xe6) | (1, 0, 0x78) => self.halve(e, halves, reg, rm, mask),
            (3, 1, 0x1d) => self.parts(i),
            (2, 1, 0x20..=0x25 | 0x30..=0x35) => self.extend(e, halves, reg, rm, mask),
            (2, 2, 0x31 | 0x33 | 0x35) => self.truncate(e.op, halves, reg, rm, mask),
            (3, 1, 0x39 | 0x3b) => self.parts(i),
            (3, 1, 0x38 | 0x3a) if mask.k == 0 => self.parts(i),
            (2, 1, 0x76 | 0x7e) if e.w == 0 => {
                self.permute2(e.op == 0x76, halves, reg, v, rm, mask)
            }
            (2, 1, 0x36) if e.w == 0 && halves == 2 => self.permute(reg, v, rm, mask),
            (2, 1, 0x8b) if e.w == 0 && halves == 2 => self.compress(reg, rm, mask),
            (2, 1, 0x91) if e.w == 0 && halves == 2 => self.gather_by_qwords(reg, rm, mask),
            (2, 1, 0xa1) if e.w == 0 && halves == 2 => self.scatter_by_qwords(reg, rm, mask),
            (1, 2, 0xe6 | 0x7a) | (1, 0, 0x5b) | (1, 3, 0x7a) if e.w == 1 => {
                self.long_to_float(e, halves, reg, rm, mask);
            }
            (2, 1, 0x90) if e.w == 0 => self.others(i),
            _ => match lanewise(e) {
                Some((x, form)) => self.plain(e, x, form, halves, ll, reg, v, rm, mask, imm),
                None => self.unknown = true,
            },
        }
    }

    /// Arithmetic on integers of 64 bits.
    fn integers64(&mut self, i: Instruction) {
        let Instruction {
            e,
            halves,
            reg,
            v,
            rm,
            mask,
            ..
        } = i;
        match (e.map, e.pp, e.op) {
            (2, 1, 0x46) if e.w == 1 => {
                for h in 0..halves {
                    let (a, b) = (self.half(v, h), self.operand(rm, h, 32, 8, S));
                    let a = self.load(a, R);
                    self.y(XOR, U, U, H::R(U));
                    self.y(GTQ, U, U, H::R(a));
                    self.y(XOR, R, a, H::R(U));
                    self.y(X(2, 1, 1, 0x45), R, R, b);
                    self.y(XOR, R, R, H::R(U));
                    self.merge(reg, h, R, mask, 8);
                }
            }
            (2, 1, 0x40) if e.w == 1 => {
                for h in 0..halves {
                    let (a, b) = (self.half(v, h), self.operand(rm, h, 32, 8, S));
                    let (a, b) = (self.load(a, R), self.load(b, S));
                    self.shift(0x73, 2, U, a, 32);
                    self.y(MULUDQ, U, U, H::R(b));
                    self.shift(0x73, 2, T, b, 32);
                    self.y(MULUDQ, T, T, H::R(a));
                    self.y(ADDQ, U, U, H::R(T));
                    self.shift(0x73, 6, U, U, 32);
                    self.y(MULUDQ, R, a, H::R(b));
                    self.y(ADDQ, R, R, H::R(U));
                    self.merge(reg, h, R, mask, 8);
                }
            }
            // The smaller and the larger of numbers of 64 bits, and what has no sign.
            (2, 1, 0x39 | 0x3b | 0x3d | 0x3f) if e.w == 1 => {
                let smaller = matches!(e.op, 0x39 | 0x3b);
                for h in 0..halves {
                    let (a, b) = (self.half(v, h), self.operand(rm, h, 32, 8, S));
                    let (a, b) = (self.load(a, R), self.load(b, S));
                    if matches!(e.op, 0x3b | 0x3f) {
                        let sign = self.every(1 << 63, true);
                        self.y(LOAD, T, 0, sign);
                        self.y(XOR, U, b, H::R(T));
                        self.y(XOR, T, a, H::R(T));
                        self.y(GTQ, T, T, H::R(U));
                    } else {
                        self.y(GTQ, T, a, H::R(b));
                    }
                    let (x, y) = if smaller { (a, b) } else { (b, a) };
                    self.yi(BLENDV, R, x, H::R(y), T << 4);
                    self.merge(reg, h, R, mask, 8);
                }
            }
            (2, 1, 0x1f) => {
                for h in 0..halves {
                    let b = self.operand(rm, h, 32, 8, S);
                    let b = self.load(b, S);
                    self.y(XOR, U, U, H::R(U));
                    self.y(GTQ, U, U, H::R(b));
                    self.y(XOR, R, b, H::R(U));
                    self.y(X(1, 1, 0, 0xfb), R, R, H::R(U));
                    self.merge(reg, h, R, mask, 8);
                }
            }
            _ => self.unknown = true,
        }
    }

    /// Broadcasts, and moves from and to general registers.
    fn broadcast(&mut self, i: Instruction) {
        let Instruction {
            e,
            halves,
            reg,
            rm,
            mask,
            size,
            ..
        } = i;
        match (e.map, e.pp, e.op) {
            (2, 1, 0x58 | 0x59) => {
                let size = if e.op == 0x59 { 8 } else { 4 };
                let x = if size == 8 { BROADCASTQ } else { BROADCASTD };
                match rm {
                    Rm::C(value) if mask.zero && size == 4 => {
                        let line = self.every(value, false);
                        for h in 0..halves {
                            let t = self.lanes(mask.k, h, 4, T);
                            let d = self.target(reg, h);
                            self.y(AND, d, t, line);
                            self.give(reg, h, d);
                        }
                        return;
                    }
                    Rm::C(value) => {
                        let line = self.every(value, size == 8);
                        self.y(LOAD, R, 0, line);
                    }
                    Rm::R(z) => {
                        let low = self.half(z, 0);
                        self.y(x, R, 0, low);
                    }
                    Rm::M(m) | Rm::B(m) => self.y(x, R, 0, H::M(m)),
                }
                for h in 0..halves {
                    self.spread(reg, h, mask, size);
                }
            }
            (2, 1, 0x7c) => {
                let Rm::R(gpr) = rm else {
                    self.unknown = true;
                    return;
                };
                self.x(X(1, 1, e.w, 0x6e), R, 0, H::R(gpr));
                let x = if size == 8 { BROADCASTQ } else { BROADCASTD };
                self.y(x, R, 0, H::R(R));
                for h in 0..halves {
                    self.spread(reg, h, mask, size);
                }
            }
            (1, 1, 0x7e) => {
                let low = self.half(reg, 0);
                let low = self.load(low, R);
                let to = match rm {
                    Rm::M(m) => H::M(m),
                    Rm::R(gpr) => H::R(gpr),
                    _ => {
                        self.unknown = true;
                        return;
                    }
                };
                self.x(X(1, 1, e.w, 0x7e), low, 0, to);
            }
            (1, 1, 0x6e) => {
                let from = match rm {
                    Rm::M(m) => H::M(m),
                    Rm::R(gpr) => H::R(gpr),
                    _ => {
                        self.unknown = true;
                        return;
                    }
                };
                self.x(X(1, 1, e.w, 0x6e), R, 0, from);
                self.give(reg, 0, R);
            }
            _ => self.unknown = true,
        }
    }

    /// Parts of registers, and conversions to f16.
    fn parts(&mut self, i: Instruction) {
        let Instruction {
            e,
            halves,
            reg,
            v,
            rm,
            mask,
            size,
            imm,
        } = i;
        match (e.map, e.pp, e.op) {
            (3, 1, 0x1d) => {
                // The register is the source.
                let imm = imm.unwrap_or(4);
                for h in 0..halves {
                    let a = self.half(reg, h);
                    let a = self.load(a, R);
                    self.yi(
                        X(3, 1, 0, 0x1d),
                        a,
                        0,
                        H::R(if h == 0 { S } else { T }),
                        imm,
                    );
                }
                if halves == 2 {
                    self.yi(INSERT, S, S, H::R(T), 1);
                }
                match rm {
                    Rm::R(z) => self.merge(z, 0, S, mask, 4),
                    Rm::M(m) if mask.k == 0 => self.y(STORE, S, 0, H::M(m)),
                    _ => self.unknown = true,
                }
            }
            (3, 1, 0x39 | 0x3b) => {
                let imm = imm.unwrap_or(0);
                let quarter = e.op == 0x39;
                let h = if quarter { imm >> 1 & 1 } else { imm & 1 };
                let from = self.half(reg, h);
                let from = self.load(from, R);
                if quarter {
                    let to = match rm {
                        Rm::M(m) => H::M(m),
                        _ => H::R(R),
                    };
                    self.yi(EXTRACT, from, 0, to, imm & 1);
                    if let Rm::R(z) = rm {
                        self.merge(z, 0, R, mask, size);
                    }
                } else {
                    match rm {
                        Rm::R(z) => self.merge(z, 0, from, mask, size),
                        Rm::M(m) if mask.k == 0 => self.y(STORE, from, 0, H::M(m)),
                        _ => self.unknown = true,
                    }
                }
            }
            (3, 1, 0x38 | 0x3a) if mask.k == 0 => {
                let imm = imm.unwrap_or(0);
                let quarter = e.op == 0x38;
                let at = if quarter { imm >> 1 & 1 } else { imm & 1 };
                let low = self.operand(rm, 0, 32, size, S);
                let new = if quarter {
                    let old = self.half(v, at);
                    let old = self.load(old, T);
                    self.yi(INSERT, R, old, low, imm & 1);
                    R
                } else {
                    let low = self.load(low, S);
                    if low != S {
                        self.y(LOAD, S, 0, H::R(low));
                    }
                    S
                };
                if halves == 2 {
                    let other = self.half(v, 1 - at);
                    let other = self.load(other, T);
                    self.give(reg, 1 - at, other);
                }
                self.give(reg, at, new);
            }
            _ => self.unknown = true,
        }
    }

    /// Blends, gathers, conversions of unsigned integers, and sums with truth values.
    fn others(&mut self, i: Instruction) {
        let Instruction {
            e,
            halves,
            reg,
            v,
            rm,
            mask,
            size,
            ..
        } = i;
        match (e.map, e.pp, e.op) {
            // 1 more or less where the mask says so, which is -1 there.
            (1, 1, 0xfe | 0xfa) if rm == Rm::C(1) && mask.k != 0 && !mask.zero && reg == v => {
                let x = if e.op == 0xfe { SUBD } else { ADDD };
                for h in 0..halves {
                    let a = self.half(v, h);
                    let a = self.load(a, R);
                    let ones = self.mask(mask.k, 32 * h as i32);
                    self.y(x, a, a, H::M(ones));
                    self.give(reg, h, a);
                }
            }
            (2, 1, 0x64) => {
                for h in 0..halves {
                    let (a, b) = (self.half(v, h), self.operand(rm, h, 32, size, S));
                    if mask.k == 0 {
                        let b = self.load(b, S);
                        self.give(reg, h, b);
                        continue;
                    }
                    let a = self.load(a, R);
                    let m = self.lanes(mask.k, h, size, T);
                    let d = self.target(reg, h);
                    self.yi(BLENDV, d, a, b, m << 4);
                    self.give(reg, h, d);
                }
            }
            (1, 3, 0x7a) if e.w == 0 => {
                // The upper and the lower 16 bits are exact; their sum is rounded once.
                for h in 0..halves {
                    let b = self.operand(rm, h, 32, 4, S);
                    let b = self.load(b, S);
                    self.shift(0x72, 2, R, b, 16);
                    self.y(CVTDQ2PS, R, 0, H::R(R));
                    let low = self.d32(0xffff);
                    self.y(AND, T, b, low);
                    self.y(CVTDQ2PS, T, 0, H::R(T));
                    let k = self.d32(65536f32.to_bits());
                    self.y(LOAD, U, 0, k);
                    self.y(X(2, 1, 0, 0xa8), R, U, H::R(T));
                    self.merge(reg, h, R, mask, 4);
                }
            }
            (1, 0, 0x78) if e.w == 0 => {
                for h in 0..halves {
                    let b = self.operand(rm, h, 32, 4, S);
                    let b = self.load(b, S);
                    self.unsigned(b, false);
                    self.merge(reg, h, R, mask, 4);
                }
            }
            (2, 1, 0x90) if e.w == 0 => {
                let Rm::M(m) = rm else {
                    self.unknown = true;
                    return;
                };
                let Some((index, scale)) = m.index else {
                    self.unknown = true;
                    return;
                };
                for h in 0..halves {
                    let i = self.half(index, h);
                    let i = self.load(i, S);
                    let old = self.half(reg, h);
                    self.y(LOAD, R, 0, old);
                    let k = self.mask(mask.k, 32 * h as i32);
                    self.y(LOAD, T, 0, H::M(k));
                    let at = Mem {
                        index: Some((i, scale)),
                        ..m
                    };
                    self.y(X(2, 1, 0, 0x90), R, T, H::M(at));
                    self.give(reg, h, R);
                    self.set_mask(mask.k, h, T);
                }
            }
            _ => self.unknown = true,
        }
    }

    /// An instruction of 512 bits under another rounding than MXCSR's. The flags are spent.
    pub(super) fn narrow_rounded(&mut self, e: E, dst: u8, a: u8, b: u8, rc: u8) {
        // No instruction uses the last line.
        let (old, new) = (self.scratch(192), self.scratch(196));
        self.stmxcsr(old);
        self.stmxcsr(new);
        self.alu_imm(4, false, Rm::M(new), !0x6000);
        self.alu_imm(1, false, Rm::M(new), (rc as i32) << 13);
        self.ldmxcsr(new);
        self.z(e, dst, a, Rm::R(b));
        self.ldmxcsr(old);
    }

    /// A host register for half of a result that is given to it last.
    fn target(&self, z: u8, h: u8) -> u8 {
        match self.half(z, h) {
            H::R(r) => r,
            _ => R,
        }
    }

    fn clear(&mut self, z: u8, h: u8) {
        match self.half(z, h) {
            H::R(r) => self.y(XOR, r, r, H::R(r)),
            at => self.y(STORE, R, 0, at),
        }
    }

    /// R is half of a result, and must stay.
    fn spread(&mut self, z: u8, h: u8, mask: K, size: u8) {
        if mask.k == 0 {
            self.give(z, h, R);
            return;
        }
        self.y(LOAD, S, 0, H::R(R));
        self.merge(z, h, S, mask, size);
    }

    /// Half of an opmask for elements of `size` bytes.
    fn lanes(&mut self, k: u8, h: u8, size: u8, spare: u8) -> u8 {
        if size == 8 {
            let m = self.mask(k, 16 * h as i32);
            self.y(SXDQ, spare, 0, H::M(m));
        } else {
            let m = self.mask(k, 32 * h as i32);
            self.y(LOAD, spare, 0, H::M(m));
        }
        spare
    }

    fn load_all(&mut self, halves: u8, z: u8, rm: Rm, mask: K, size: u8) {
        for h in 0..halves {
            let from = self.operand(rm, h, 32, size, S);
            match from {
                _ if mask.k == 0 => match self.half(z, h) {
                    H::R(r) if from == H::R(r) => {}
                    H::R(r) => self.y(LOAD, r, 0, from),
                    _ => {
                        let from = self.load(from, R);
                        self.give(z, h, from);
                    }
                },
                H::M(m) if matches!(rm, Rm::M(_)) => {
                    // Of inactive lanes nothing is read. Nearly always all are on; and a masked load that misses
                    // the translation buffer takes hundreds of cycles on some hosts.
                    let t = self.lanes(mask.k, h, size, T);
                    let d = if mask.zero { self.target(z, h) } else { R };
                    let slow = self.unless_all(t);
                    self.y(LOAD, d, 0, H::M(m));
                    let over = self.short(0xeb);
                    self.land(slow);
                    self.y(MASKLOAD, d, t, H::M(m));
                    self.land(over);
                    if mask.zero {
                        self.give(z, h, d);
                    } else {
                        self.merge(z, h, R, mask, size);
                    }
                }
                from => {
                    let from = self.load(from, R);
                    self.merge(z, h, from, mask, size);
                }
            }
        }
    }

    fn store_all(&mut self, halves: u8, z: u8, rm: Rm, mask: K, size: u8) {
        let m = match rm {
            Rm::M(m) => m,
            Rm::R(to) => {
                self.load_all(halves, to, Rm::R(z), mask, size);
                return;
            }
            _ => {
                self.unknown = true;
                return;
            }
        };
        for h in 0..halves {
            let from = self.half(z, h);
            let from = self.load(from, R);
            let at = plus(m, 32 * h as i32);
            if mask.k == 0 {
                self.y(STORE, from, 0, H::M(at));
                continue;
            }
            // All lanes are active nearly always, and masked stores are slow on many hosts.
            let t = self.lanes(mask.k, h, size, T);
            let slow = self.unless_all(t);
            self.y(STORE, from, 0, H::M(at));
            let over = self.short(0xeb);
            self.land(slow);
            self.y(MASKSTORE, from, t, H::M(at));
            self.land(over);
        }
    }

    /// A jump that is taken where not all elements of a mask are on.
    fn unless_all(&mut self, mask: u8) -> usize {
        let ones = self.d32(u32::MAX);
        // VTESTPS: carry where no sign is missing.
        self.y(X(2, 1, 0, 0x0e), mask, 0, ones);
        self.short(0x73)
    }

    /// A short jump forward.
    fn short(&mut self, op: u8) -> usize {
        self.b(op);
        self.b(0);
        self.buf.len()
    }

    fn land(&mut self, from: usize) {
        let distance = self.buf.len() - from;
        // The code between is a few instructions.
        self.unknown |= distance > 127;
        self.buf[from - 1] = distance as u8;
    }

    /// What AVX2 has as well, by halves.
    fn plain(
        &mut self,
        e: E,
        x: X,
        form: Form,
        halves: u8,
        ll: u8,
        reg: u8,
        v: u8,
        rm: Rm,
        mask: K,
        imm: Option<u8>,
    ) {
        let size = if e.w == 1 { 8 } else { 4 };
        let broadcast = matches!(rm, Rm::B(_));
        let mut kept = H::R(S);
        for h in 0..halves {
            if h == 0 || !broadcast {
                kept = self.operand(rm, h, whole(e), size, S);
            }
            let b = kept;
            let d = if mask.k == 0 { self.target(reg, h) } else { R };
            let l = (ll > 0) as u8;
            match form {
                Form::One => self.v(x, l, d, 0, b, imm),
                Form::Two | Form::Swaps => {
                    let a = self.half(v, h);
                    let (a, b) = match (a, b) {
                        (H::M(_), H::R(_)) if form == Form::Swaps => (b, a),
                        _ => (a, b),
                    };
                    let a = self.load(a, R);
                    self.v(x, l, d, a, b, imm);
                }
                Form::Three => {
                    let old = self.half(reg, h);
                    if old != H::R(d) {
                        self.y(LOAD, d, 0, old);
                    }
                    let a = self.half(v, h);
                    let a = self.load(a, U);
                    self.v(x, l, d, a, b, imm);
                }
            }
            self.merge(reg, h, d, mask, size);
        }
    }

    /// Compares into an opmask.
    fn compare(&mut self, e: E, halves: u8, k: u8, v: u8, rm: Rm, mask: K, imm: u8) {
        let wide = match (e.map, e.op) {
            (1, _) => e.pp == 1,
            _ => e.w == 1,
        };
        let size = if wide { 8 } else { 4 };
        for h in 0..halves {
            let out = if wide && h == 1 { S } else { R };
            let a = self.half(v, h);
            // A broadcast is still there.
            let again = h == 1 && !wide && matches!(rm, Rm::B(_));
            let b = if again {
                H::R(U)
            } else {
                self.operand(rm, h, 32, size, U)
            };
            let not = self.compare_half(e, wide, out, a, b, imm);
            if wide && not {
                self.invert(out);
            }
            if wide {
                continue;
            }
            let lanes = H::M(self.mask(mask.k, 32 * h as i32));
            match (not, mask.k != 0) {
                (true, true) => self.y(ANDN, R, R, lanes),
                (true, false) => self.invert(R),
                (false, true) => self.y(AND, R, R, lanes),
                _ => {}
            }
            self.set_mask(k, h, R);
        }
        if wide {
            if halves == 1 {
                self.y(XOR, S, S, H::R(S));
            }
            self.pack64();
            if mask.k != 0 {
                let lanes = H::M(self.mask(mask.k, 0));
                self.y(AND, R, R, lanes);
            }
            self.set_mask(k, 0, R);
        }
        if wide || halves == 1 {
            self.y(XOR, R, R, H::R(R));
            self.set_mask(k, 1, R);
        }
    }

    /// R: the truth values of 4 and 4 qwords in R and S as dwords.
    fn pack64(&mut self) {
        self.yi(SHUFPS, R, R, H::R(S), 0x88);
        self.yi(PERMQ, R, 0, H::R(R), 0xd8);
    }

    fn invert(&mut self, r: u8) {
        let ones = self.d32(u32::MAX);
        self.y(XOR, r, r, ones);
    }

    /// Compares halves; whether the result is the contrary of what was asked for. T and U are spent, `b` may be U.
    fn compare_half(&mut self, e: E, wide: bool, out: u8, a: H, b: H, imm: u8) -> bool {
        let eq = if wide { EQQ } else { EQD };
        let gt = if wide { GTQ } else { GTD };
        if e.map == 1 {
            let a = self.load(a, out);
            self.yi(X(1, e.pp, 0, 0xc2), out, a, b, imm);
            return false;
        }
        if e.map == 2 {
            // VPTESTM and VPTESTNM.
            let a = self.load(a, out);
            self.y(AND, out, a, b);
            self.y(XOR, T, T, H::R(T));
            self.y(eq, out, out, H::R(T));
            return e.pp == 1;
        }
        let imm = imm & 7;
        let unsigned = e.op == 0x1e;
        match imm {
            0 | 4 => {
                let a = self.load(a, out);
                self.y(eq, out, a, b);
                imm == 4
            }
            3 | 7 => {
                self.y(XOR, out, out, H::R(out));
                imm == 7
            }
            1 | 2 | 5 | 6 if unsigned && !wide => {
                let a = self.load(a, out);
                let smaller = matches!(imm, 2 | 6);
                self.y(X(2, 1, 0, if smaller { 0x3b } else { 0x3f }), T, a, b);
                self.y(EQD, out, a, H::R(T));
                matches!(imm, 1 | 6)
            }
            _ => {
                let (mut a, mut b) = (a, b);
                if unsigned {
                    let sign = self.every(1 << 63, true);
                    self.y(LOAD, T, 0, sign);
                    self.y(XOR, U, T, b);
                    self.y(XOR, out, T, a);
                    (a, b) = (H::R(out), H::R(U));
                }
                // Less, greater or equal: b > a; the others: a > b.
                if matches!(imm, 1 | 5) {
                    let b = self.load(b, U);
                    self.y(gt, out, b, a);
                    imm == 5
                } else {
                    let a = self.load(a, out);
                    self.y(gt, out, a, b);
                    imm == 2
                }
            }
        }
    }

    /// Which floats are of the classes that the bits of `imm` name: 1 quiet NaN, 8 and 16 the infinities, 128 others.
    fn classes(&mut self, wide: bool, k: u8, rm: Rm, mask: K, imm: u8) {
        if imm & !0x99 != 0 {
            self.unknown = true;
            return;
        }
        let size = if wide { 8 } else { 4 };
        let (eq, gt) = if wide { (EQQ, GTQ) } else { (EQD, GTD) };
        let (infinity, sign, quiet) = if wide {
            (0x7ff << 52, 1 << 63, 1 << 51)
        } else {
            (0x7f80_0000u64, 0x8000_0000, 0x0040_0000u64)
        };
        for h in 0..2 {
            let out = if wide && h == 1 { S } else { R };
            let b = self.operand(rm, h, 32, size, U);
            let b = self.load(b, U);
            self.y(XOR, out, out, H::R(out));
            let either = |a: &mut Asm, t: u8| a.y(OR, out, out, H::R(t));
            for (bit, value) in [(8, infinity), (16, infinity | sign)] {
                if imm & bit != 0 {
                    let line = self.every(value, wide);
                    self.y(eq, T, b, line);
                    either(self, T);
                }
            }
            let magnitude = self.every(!sign, wide);
            if imm & 1 != 0 {
                // Above the largest signalling one.
                let line = self.every(infinity | (quiet - 1), wide);
                self.y(AND, T, b, magnitude);
                self.y(gt, T, T, line);
                either(self, T);
            }
            if imm & 128 != 0 {
                self.signalling(T, b, wide);
                either(self, T);
            }
            if !wide {
                if mask.k != 0 {
                    let lanes = H::M(self.mask(mask.k, 32 * h as i32));
                    self.y(AND, R, R, lanes);
                }
                self.set_mask(k, h, R);
            }
        }
        if wide {
            self.pack64();
            if mask.k != 0 {
                let lanes = H::M(self.mask(mask.k, 0));
                self.y(AND, R, R, lanes);
            }
            self.set_mask(k, 0, R);
            self.y(XOR, R, R, H::R(R));
            self.set_mask(k, 1, R);
        }
    }

    /// `out`: where `b` is a signalling NaN, which are those above infinity if the quiet bit is turned.
    fn signalling(&mut self, out: u8, b: u8, wide: bool) {
        let (sign, quiet, limit) = if wide {
            (1 << 63, 1 << 51, 0x7ff8 << 48)
        } else {
            (0x8000_0000u64, 0x0040_0000u64, 0x7fc0_0000u64)
        };
        let quiet = self.every(quiet, wide);
        let magnitude = self.every(!sign, wide);
        let limit = self.every(limit, wide);
        self.y(XOR, out, b, quiet);
        self.y(AND, out, out, magnitude);
        self.y(if wide { GTQ } else { GTD }, out, out, limit);
    }

    /// The function of three bits that a table says: result = f0(a, b) ^ (old & (f0 ^ f1)(a, b)).
    fn ternary(&mut self, halves: u8, reg: u8, v: u8, rm: Rm, mask: K, size: u8, table: u8) {
        if mask.k == 0 && matches!(table, 0 | 0xff) {
            let (x, r) = if table == 0 { (XOR, R) } else { (EQD, R) };
            self.y(x, r, r, H::R(r));
            for h in 0..halves {
                self.give(reg, h, R);
            }
            return;
        }
        let (f0, f1) = (table & 15, table >> 4);
        for h in 0..halves {
            let a = self.half(v, h);
            let b = self.operand(rm, h, 32, size, S);
            let old = self.half(reg, h);
            self.two(R, f0, a, b);
            match f0 ^ f1 {
                0 => {}
                15 => self.y(XOR, R, R, old),
                g => {
                    self.two(T, g, a, b);
                    self.y(AND, T, T, old);
                    self.y(XOR, R, R, H::R(T));
                }
            }
            self.merge(reg, h, R, mask, size);
        }
    }

    /// A function of two bits by its table, whose index is twice `a` and `b`. U is spent.
    fn two(&mut self, out: u8, table: u8, a: H, b: H) {
        let simple = |t: u8| match t {
            8 => Some((AND, false)),
            14 => Some((OR, false)),
            6 => Some((XOR, false)),
            2 => Some((ANDN, false)),
            4 => Some((ANDN, true)),
            _ => None,
        };
        match table {
            0 => self.y(XOR, out, out, H::R(out)),
            15 => self.y(EQD, out, out, H::R(out)),
            12 => self.y(LOAD, out, 0, a),
            10 => self.y(LOAD, out, 0, b),
            _ => {
                if let Some((x, swapped)) = simple(table) {
                    let (a, b) = if swapped { (b, a) } else { (a, b) };
                    let a = self.load(a, U);
                    self.y(x, out, a, b);
                } else {
                    self.two(out, !table & 15, a, b);
                    self.invert(out);
                }
            }
        }
    }

    /// Shifts and rotations by a constant.
    fn shifts(&mut self, e: E, halves: u8, ext: u8, to: u8, rm: Rm, mask: K, size: u8, by: u8) {
        let bits = 8 * size;
        for h in 0..halves {
            let a = self.operand(rm, h, 32, size, S);
            let a = self.load(a, S);
            let d = if mask.k == 0 && ext > 1 {
                self.target(to, h)
            } else {
                R
            };
            match ext & 7 {
                // Rotations right and left.
                0 | 1 => {
                    let op = if size == 8 { 0x73 } else { 0x72 };
                    let left = if ext == 1 {
                        by % bits
                    } else {
                        (bits - by % bits) % bits
                    };
                    self.shift(op, 6, R, a, left);
                    self.shift(op, 2, T, a, bits - left);
                    self.y(OR, R, R, H::R(T));
                }
                4 if size == 8 => {
                    self.y(XOR, U, U, H::R(U));
                    self.y(GTQ, U, U, H::R(a));
                    self.y(XOR, R, a, H::R(U));
                    self.shift(0x73, 2, R, R, by);
                    self.y(XOR, R, R, H::R(U));
                    self.merge(to, h, R, mask, size);
                    continue;
                }
                ext => self.shift(e.op, ext, d, a, by),
            }
            self.merge(to, h, d, mask, size);
        }
    }

    /// Rotations by a variable: 0x14 right, 0x15 left.
    fn rotate(&mut self, e: E, halves: u8, reg: u8, v: u8, rm: Rm, mask: K, size: u8) {
        let wide = size == 8;
        let (right, left) = (X(2, 1, e.w, 0x45), X(2, 1, e.w, 0x47));
        let (one, other) = if e.op == 0x14 {
            (right, left)
        } else {
            (left, right)
        };
        for h in 0..halves {
            let a = self.half(v, h);
            let b = self.operand(rm, h, 32, size, S);
            let a = self.load(a, R);
            let bits = self.every(8 * size as u64 - 1, wide);
            self.y(LOAD, U, 0, bits);
            self.y(AND, S, U, b);
            self.y(one, T, a, H::R(S));
            // As far as is left; all bits, so nothing, where the count is 0.
            let bits = self.every(8 * size as u64, wide);
            self.y(LOAD, U, 0, bits);
            self.y(if wide { X(1, 1, 0, 0xfb) } else { SUBD }, S, U, H::R(S));
            self.y(other, R, a, H::R(S));
            self.y(OR, R, R, H::R(T));
            self.merge(reg, h, R, mask, size);
        }
    }

    /// The bits of two, moved by a constant.
    fn double_shift(&mut self, e: E, halves: u8, reg: u8, v: u8, rm: Rm, mask: K, by: u8) {
        let (size, op) = if e.w == 1 { (8, 0x73) } else { (4, 0x72) };
        let bits = 8 * size;
        let by = by % bits;
        let (one, other) = if e.op == 0x71 { (6, 2) } else { (2, 6) };
        for h in 0..halves {
            let a = self.half(v, h);
            let b = self.operand(rm, h, 32, size, S);
            let (a, b) = (self.load(a, R), self.load(b, S));
            self.shift(op, other, T, b, bits - by);
            // Both operands have been read when the result's register is written.
            let d = if mask.k == 0 { self.target(reg, h) } else { R };
            self.shift(op, one, d, a, by);
            self.y(OR, d, d, H::R(T));
            self.merge(reg, h, d, mask, size);
        }
    }

    /// The exponent of the number as a float tells.
    fn leading_zeros(&mut self, halves: u8, reg: u8, rm: Rm, mask: K) {
        for h in 0..halves {
            let b = self.operand(rm, h, 32, 4, S);
            let b = self.load(b, S);
            // Bits below the first eight must not round it up.
            self.shift(0x72, 2, R, b, 8);
            self.y(ANDN, R, R, H::R(b));
            self.y(CVTDQ2PS, R, 0, H::R(R));
            self.shift(0x72, 2, R, R, 23);
            let bias = self.d32(158);
            self.y(LOAD, T, 0, bias);
            // Saturating: negative numbers, whose sign is among the bits, become 0.
            self.y(X(1, 1, 0, 0xd9), R, T, H::R(R));
            let most = self.d32(32);
            self.y(X(2, 1, 0, 0x39), R, R, most);
            self.merge(reg, h, R, mask, 4);
        }
    }

    fn population(&mut self, halves: u8, reg: u8, rm: Rm, mask: K) {
        const COUNTS: [u32; 4] = [0x0201_0100, 0x0302_0201, 0x0302_0201, 0x0403_0302];
        let [a, b, c, d] = COUNTS;
        for h in 0..halves {
            let b0 = self.operand(rm, h, 32, 4, S);
            let b0 = self.load(b0, S);
            let table = self.line([a, b, c, d, a, b, c, d]);
            let nibble = self.d32(0x0f0f_0f0f);
            let ones = self.d32(0x0101_0101);
            let words = self.d32(0x0001_0001);
            self.y(LOAD, U, 0, table);
            self.shift(0x72, 2, T, b0, 4);
            self.y(AND, T, T, nibble);
            self.y(AND, R, b0, nibble);
            self.y(SHUFB, T, U, H::R(T));
            self.y(SHUFB, R, U, H::R(R));
            self.y(X(1, 1, 0, 0xfc), R, R, H::R(T));
            // Bytes to words to dwords.
            self.y(X(2, 1, 0, 0x04), R, R, ones);
            self.y(X(1, 1, 0, 0xf5), R, R, words);
            self.merge(reg, h, R, mask, 4);
        }
    }

    /// The smaller (`imm` 4) or larger (5) float, of which -0 is below +0; a number rather than a quiet NaN.
    fn range(&mut self, wide: bool, halves: u8, reg: u8, v: u8, rm: Rm, mask: K, imm: u8) {
        if !matches!(imm, 4 | 5) {
            self.unknown = true;
            return;
        }
        let (pp, size) = if wide { (1, 8) } else { (0, 4) };
        let pick = X(1, pp, 0, if imm == 5 { 0x5f } else { 0x5d });
        let quiet = if wide { 1 << 51 } else { 0x0040_0000 };
        let compare = X(1, pp, 0, 0xc2);
        for h in 0..halves {
            let a = self.half(v, h);
            let b = self.operand(rm, h, 32, size, T);
            let (a, b) = (self.load(a, S), self.load(b, T));
            self.y(pick, R, a, H::R(b));
            self.y(pick, U, b, H::R(a));
            self.y(if imm == 5 { AND } else { OR }, R, R, H::R(U));
            self.yi(compare, U, a, H::R(b), 3);
            self.y(X(2, 1, 0, if wide { 0x0f } else { 0x0e }), U, 0, H::R(U));
            let numbers = self.label();
            self.jcc(Cc::E, numbers);
            for (x, other) in [(a, b), (b, a)] {
                // The other one where this is no number, the first where neither is.
                self.yi(compare, U, x, H::R(x), 3);
                self.yi(BLENDV, R, R, H::R(other), U << 4);
            }
            self.flush(wide);
            // A signalling NaN is the result.
            let quiet = self.every(quiet, wide);
            for (x, spoilt) in [(b, T), (a, S)] {
                self.signalling(U, x, wide);
                self.y(OR, spoilt, x, quiet);
                self.yi(BLENDV, R, R, H::R(spoilt), U << 4);
            }
            self.bind(numbers);
            self.flush(wide);
            self.merge(reg, h, R, mask, size);
        }
    }

    /// R: 0 instead of a denormal, where MXCSR says so. U is spent.
    fn flush(&mut self, wide: bool) {
        let nothing = self.every(0, wide);
        let magnitude = self.every(if wide { u64::MAX >> 1 } else { 0x7fff_ffff }, wide);
        self.yi(X(1, wide as u8, 0, 0xc2), U, R, nothing, 0);
        self.y(AND, U, U, magnitude);
        self.y(ANDN, R, U, H::R(R));
    }

    /// Times a power of 2 whose exponent is a whole number, as a float of 64 bits, which is rounded once.
    fn scale32(&mut self, halves: u8, reg: u8, v: u8, rm: Rm, mask: K) {
        for h in 0..halves {
            let b = self.operand(rm, h, 32, 4, S);
            let least = self.d32((-600f32).to_bits());
            let most = self.d32(600f32.to_bits());
            let bias = self.d32(1023);
            // Farther than that makes no difference.
            let b = self.load(b, S);
            self.y(X(1, 0, 0, 0x5f), S, b, least);
            self.y(X(1, 0, 0, 0x5d), S, S, most);
            self.y(CVTPS2DQ, S, 0, H::R(S));
            self.y(ADDD, S, S, bias);
            let a = self.half(v, h);
            let a = self.load(a, U);
            for q in 0..2 {
                let from = |asm: &mut Asm, r: u8, t: u8| {
                    if q == 0 {
                        return r;
                    }
                    asm.yi(EXTRACT, r, 0, H::R(t), 1);
                    t
                };
                let n = from(self, S, T);
                self.y(ZXDQ, T, 0, H::R(n));
                self.shift(0x73, 6, T, T, 52);
                let x = from(self, a, U);
                self.y(CVTPS2PD, U, 0, H::R(x));
                self.y(X(1, 1, 0, 0x59), U, U, H::R(T));
                if q == 0 {
                    // The operand may be in U.
                    self.y(CVTPD2PS, R, 0, H::R(U));
                    let again = self.half(v, h);
                    self.load(again, U);
                } else {
                    self.y(CVTPD2PS, U, 0, H::R(U));
                    self.yi(INSERT, R, R, H::R(U), 1);
                }
            }
            self.merge(reg, h, R, mask, 4);
        }
    }

    /// The same of 64 bits: in up to three steps, of which only the last may round.
    fn scale64(&mut self, halves: u8, reg: u8, v: u8, rm: Rm, mask: K) {
        for h in 0..halves {
            let b = self.operand(rm, h, 32, 8, S);
            let b = self.load(b, S);
            let (least, most) = (self.f64(-2200.0), self.f64(2200.0));
            self.y(X(1, 1, 0, 0x5f), S, b, least);
            self.y(X(1, 1, 0, 0x5d), S, S, most);
            self.y(CVTTPD2DQ, S, 0, H::R(S));
            let a = self.half(v, h);
            self.y(LOAD, R, 0, a);
            let lowest = self.d32(-1022i32 as u32);
            let highest = self.d32(1023);
            for _ in 0..2 {
                // Numbers so small that the product can only be next to 0: the last step does it.
                let magnitude = self.every(u64::MAX >> 1, true);
                let small = self.f64(2f64.powi(-53));
                self.y(AND, T, R, magnitude);
                self.yi(X(1, 1, 0, 0xc2), T, T, small, 1);
                self.yi(EXTRACT, T, 0, H::R(U), 1);
                self.v(SHUFPS, 0, T, T, H::R(U), Some(0x88));
                self.x(X(2, 1, 0, 0x3d), U, S, lowest);
                self.v(BLENDV, 0, S, S, H::R(U), Some(T << 4));
                // What this step takes.
                self.x(LOAD, U, 0, lowest);
                self.x(GTD, U, U, H::R(S));
                let down = self.d32(-969i32 as u32);
                self.x(AND, U, U, down);
                self.x(GTD, T, S, highest);
                self.x(AND, T, T, highest);
                self.x(OR, T, T, H::R(U));
                self.x(SUBD, S, S, H::R(T));
                self.power(T);
                // Times 1 is left out, as it may flush a denormal.
                let one = self.f64(1.0);
                self.yi(X(1, 1, 0, 0xc2), U, T, one, 0);
                self.y(X(1, 1, 0, 0x59), T, R, H::R(T));
                self.yi(BLENDV, R, T, H::R(R), U << 4);
            }
            self.x(X(2, 1, 0, 0x3d), S, S, lowest);
            self.x(X(2, 1, 0, 0x39), S, S, highest);
            self.power(S);
            self.y(X(1, 1, 0, 0x59), R, R, H::R(S));
            self.merge(reg, h, R, mask, 8);
        }
    }

    /// 2 to the power of each of four dwords.
    fn power(&mut self, r: u8) {
        let bias = self.d32(1023);
        self.x(ADDD, r, r, bias);
        self.y(ZXDQ, r, 0, H::R(r));
        self.shift(0x73, 6, r, r, 52);
    }

    /// R: the floats of `b`, which is not R, as numbers without a sign; all ones where they are none. Of 64 bits: the
    /// four results are in R's lower half.
    fn unsigned(&mut self, b: u8, wide: bool) {
        let (pp, convert) = if wide { (1, CVTTPD2DQ) } else { (0, CVTTPS2DQ) };
        let compare = X(1, pp, 0, 0xc2);
        let float = |asm: &mut Asm, value: f64| {
            if wide {
                asm.f64(value)
            } else {
                asm.d32((value as f32).to_bits())
            }
        };
        // What is below 2^31 as it is, what is not less that.
        let half = float(self, 2f64.powi(31));
        self.yi(compare, U, b, half, 0x1d);
        self.y(AND, T, U, half);
        self.y(X(1, pp, 0, 0x5c), R, b, H::R(T));
        self.y(convert, R, 0, H::R(R));
        if wide {
            self.pack(U);
        }
        self.shift(0x72, 6, U, U, 31);
        self.y(XOR, R, R, H::R(U));
        let whole = float(self, 2f64.powi(32));
        let minus = float(self, -1.0);
        self.yi(compare, U, b, whole, 0x1d);
        self.yi(compare, T, b, minus, 0x1a);
        self.y(OR, U, U, H::R(T));
        if wide {
            self.pack(U);
        }
        self.y(OR, R, R, H::R(U));
    }

    /// The truth values of four qwords as dwords in the lower half. T is spent.
    fn pack(&mut self, r: u8) {
        self.yi(EXTRACT, r, 0, H::R(T), 1);
        self.v(SHUFPS, 0, r, r, H::R(T), Some(0x88));
    }

    /// Conversions to elements of twice the size.
    fn widen(&mut self, e: E, reg: u8, rm: Rm, mask: K) {
        let x = X(e.map, e.pp, 0, e.op);
        let size = if e.map == 2 { 4 } else { 8 };
        // The upper one first, for the lower may be what is read.
        for h in [1, 0] {
            let b = match rm {
                Rm::R(z) => match self.half(z, 0) {
                    H::R(r) if h == 1 => {
                        self.yi(EXTRACT, r, 0, H::R(S), 1);
                        H::R(S)
                    }
                    H::M(m) => H::M(plus(m, 16 * h)),
                    low => low,
                },
                rm => self.operand(rm, h as u8, 16, 4, S),
            };
            if (e.pp, e.op) == (2, 0x7a) {
                // The upper and the lower 16 bits.
                self.x(LOAD, S, 0, b);
                let low = self.d32(0xffff);
                self.x(AND, T, S, low);
                self.v(X(1, 1, 0, 0x72), 0, 2, S, H::R(S), Some(16));
                self.y(CVTDQ2PD, S, 0, H::R(S));
                self.y(CVTDQ2PD, R, 0, H::R(T));
                let k = self.f64(65536.0);
                self.y(X(2, 1, 1, 0xb8), R, S, k);
            } else {
                self.y(x, R, 0, b);
            }
            if h == 1 {
                // Kept until the lower half is done where the operand is a line of memory that is the result as well.
                let at = self.scratch(32);
                self.y(STORE, R, 0, H::M(at));
            } else {
                self.merge(reg, 0, R, mask, size);
                let at = self.scratch(32);
                self.y(LOAD, R, 0, H::M(at));
                self.merge(reg, 1, R, mask, size);
            }
        }
    }

    /// Conversions to elements of half the size.
    fn halve(&mut self, e: E, halves: u8, reg: u8, rm: Rm, mask: K) {
        let at = self.scratch(0);
        for h in 0..halves {
            let b = self.operand(rm, h, 32, 8, S);
            if e.op == 0x78 {
                let b = self.load(b, S);
                self.unsigned(b, true);
            } else {
                self.y(X(e.map, e.pp, 0, e.op), R, 0, b);
            }
            if halves == 2 && h == 0 {
                self.x(STORE, R, 0, H::M(at));
            }
        }
        if halves == 2 {
            self.x(LOAD, S, 0, H::M(at));
            self.yi(INSERT, R, S, H::R(R), 1);
        }
        self.merge(reg, 0, R, mask, 4);
    }

    /// Bytes, words and dwords to larger elements.
    fn extend(&mut self, e: E, halves: u8, reg: u8, rm: Rm, mask: K) {
        // Bytes of the source for each half of the result, and those of a result's element.
        let (bytes, size) = match e.op & 15 {
            0 => (16, 2),
            1 => (8, 4),
            2 => (4, 8),
            3 => (16, 4),
            4 => (8, 8),
            _ => (16, 8),
        };
        if size == 2 && mask.k != 0 {
            self.unknown = true;
            return;
        }
        let x = X(2, 1, 0, e.op);
        for h in (0..halves).rev() {
            let b = match rm {
                Rm::R(z) => match self.half(z, 0) {
                    H::R(r) if h == 1 && bytes == 16 => {
                        self.yi(EXTRACT, r, 0, H::R(S), 1);
                        H::R(S)
                    }
                    H::R(r) if h == 1 => {
                        self.v(X(1, 1, 0, 0x73), 0, 3, S, H::R(r), Some(bytes as u8));
                        H::R(S)
                    }
                    H::M(m) => H::M(plus(m, bytes * h as i32)),
                    low => low,
                },
                rm => self.operand(rm, h, bytes, 4, S),
            };
            self.y(x, R, 0, b);
            if halves == 2 && h == 1 {
                let at = self.scratch(32);
                self.y(STORE, R, 0, H::M(at));
            } else {
                self.merge(reg, 0, R, mask, size);
                if halves == 2 {
                    let at = self.scratch(32);
                    self.y(LOAD, R, 0, H::M(at));
                    self.merge(reg, 1, R, mask, size);
                }
            }
        }
    }

    /// The low bytes (0x31) or words (0x33) of dwords, the low dwords of qwords (0x35): `reg` is what is read.
    fn truncate(&mut self, op: u8, halves: u8, reg: u8, rm: Rm, mask: K) {
        if halves != 2 {
            self.unknown = true;
            return;
        }
        if op == 0x35 {
            let (a, b) = (self.half(reg, 0), self.half(reg, 1));
            let a = self.load(a, R);
            self.yi(SHUFPS, R, a, b, 0x88);
            self.yi(PERMQ, R, 0, H::R(R), 0xd8);
            match rm {
                Rm::R(z) => self.merge(z, 0, R, mask, 4),
                Rm::M(m) if mask.k == 0 => self.y(STORE, R, 0, H::M(m)),
                Rm::M(m) => {
                    let t = self.lanes(mask.k, 0, 4, T);
                    self.y(MASKSTORE, R, t, H::M(m));
                }
                _ => self.unknown = true,
            }
            return;
        }
        // Words in R, in order.
        let low = self.d32(if op == 0x31 { 0xff } else { 0xffff });
        for (h, r) in [(0, R), (1, S)] {
            let a = self.half(reg, h);
            let a = self.load(a, r);
            self.y(AND, r, a, low);
        }
        self.y(PACKUSDW, R, R, H::R(S));
        self.yi(PERMQ, R, 0, H::R(R), 0xd8);
        if op == 0x31 {
            self.yi(EXTRACT, R, 0, H::R(S), 1);
            self.x(PACKUSWB, R, R, H::R(S));
        }
        let l = (op == 0x33) as u8;
        let m = match rm {
            Rm::R(z) if mask.k == 0 => {
                self.give(z, 0, R);
                return;
            }
            Rm::M(m) => m,
            _ => {
                self.unknown = true;
                return;
            }
        };
        if mask.k == 0 {
            self.v(STORE, l, R, 0, H::M(m), None);
            return;
        }
        // Element by element where not all are on.
        let k = self.mask(mask.k, 0);
        self.y(LOAD, T, 0, H::M(k));
        self.y(AND, T, T, H::M(plus(k, 32)));
        let ones = self.d32(u32::MAX);
        self.y(X(2, 1, 0, 0x0e), T, 0, ones);
        let (slow, over) = (self.label(), self.label());
        self.jcc(Cc::Ae, slow);
        self.v(STORE, l, R, 0, H::M(m), None);
        self.jmp(over);
        self.bind(slow);
        for lane in 0..16u8 {
            // CMP m8, 0
            self.g(false, &[0x80], 7, Rm::M(plus(k, 4 * lane as i32)));
            self.b(0);
            let off = self.short(0x74);
            if op == 0x31 {
                let at = plus(m, lane as i32);
                self.v(X(3, 1, 0, 0x14), 0, R, 0, H::M(at), Some(lane));
            } else {
                let at = plus(m, 2 * lane as i32);
                self.v(X(3, 1, 0, 0x15), 0, R, 0, H::M(at), Some(lane & 7));
            }
            self.land(off);
            if op == 0x33 && lane == 7 {
                self.yi(EXTRACT, R, 0, H::R(R), 1);
            }
        }
        self.bind(over);
    }

    /// Elements of two registers by number: `indices` says that the result's register holds the numbers, otherwise it
    /// is the first of the two and `v` holds them.
    fn permute2(&mut self, indices: bool, halves: u8, reg: u8, v: u8, rm: Rm, mask: K) {
        if halves != 2 || mask.k != 0 {
            self.unknown = true;
            return;
        }
        let (index, table) = if indices { (reg, v) } else { (v, reg) };
        let keep = self.scratch(0);
        for h in 0..2 {
            let i = self.half(index, h);
            let i = self.load(i, R);
            for (t, half) in [(T, 0), (U, 1)] {
                let from = self.half(table, half);
                self.y(PERMD, t, i, from);
            }
            self.shift(0x72, 6, S, i, 28);
            self.yi(BLENDV, T, T, H::R(U), S << 4);
            // The second register's, the same way; S says which half.
            // The numbers may be in R, which is written last of all.
            for (t, half) in [(U, 0), (R, 1)] {
                let from = self.operand(rm, half, 32, 4, t);
                self.y(PERMD, t, i, from);
            }
            self.yi(BLENDV, U, U, H::R(R), S << 4);
            let again = self.half(index, h);
            let i = self.load(again, R);
            self.shift(0x72, 6, S, i, 27);
            self.yi(BLENDV, T, T, H::R(U), S << 4);
            if h == 0 {
                self.y(STORE, T, 0, H::M(keep));
            }
        }
        self.give(reg, 1, T);
        self.y(LOAD, R, 0, H::M(keep));
        self.give(reg, 0, R);
    }

    /// Elements of one register by number.
    fn permute(&mut self, reg: u8, index: u8, rm: Rm, mask: K) {
        let keep = self.scratch(0);
        for h in 0..2 {
            let i = self.half(index, h);
            let i = self.load(i, R);
            for (t, half) in [(T, 0), (U, 1)] {
                let from = self.operand(rm, half, 32, 4, t);
                self.y(PERMD, t, i, from);
            }
            self.shift(0x72, 6, S, i, 28);
            self.yi(BLENDV, S, T, H::R(U), S << 4);
            if h == 0 {
                self.y(STORE, S, 0, H::M(keep));
            }
        }
        self.y(LOAD, R, 0, H::M(keep));
        self.merge(reg, 0, R, mask, 4);
        self.merge(reg, 1, S, mask, 4);
    }

    /// Where the lanes' addresses of a gather or scatter begin, and the register that is added to each.
    fn vector_address(&mut self, rm: Rm) -> Option<(Mem, u8, u8)> {
        match rm {
            Rm::M(m) => m.index.map(|(index, scale)| (m, index, scale)),
            _ => None,
        }
    }

    /// Eight dwords at eight addresses of 64 bits.
    fn gather_by_qwords(&mut self, reg: u8, rm: Rm, mask: K) {
        let Some((m, index, scale)) = self.vector_address(rm) else {
            self.unknown = true;
            return;
        };
        let keep = self.scratch(0);
        let old = self.half(reg, 0);
        let old = self.load(old, R);
        self.y(STORE, old, 0, H::M(keep));
        for h in 0..2 {
            let i = self.half(index, h);
            let i = self.load(i, S);
            let at = plus(keep, 16 * h as i32);
            let k = self.mask(mask.k, 16 * h as i32);
            self.x(LOAD, R, 0, H::M(at));
            self.x(LOAD, T, 0, H::M(k));
            let from = Mem {
                index: Some((i, scale)),
                ..m
            };
            self.y(X(2, 1, 0, 0x91), R, T, H::M(from));
            self.x(STORE, R, 0, H::M(at));
        }
        self.y(XOR, S, S, H::R(S));
        self.set_mask(mask.k, 0, S);
        self.set_mask(mask.k, 1, S);
        self.y(LOAD, R, 0, H::M(keep));
        self.give(reg, 0, R);
    }

    /// Eight dwords to eight addresses of 64 bits, in order.
    fn scatter_by_qwords(&mut self, reg: u8, rm: Rm, mask: K) {
        let Some((m, index, scale)) = self.vector_address(rm) else {
            self.unknown = true;
            return;
        };
        // The two that are used below, and the stack, are no places for the base.
        self.unknown |= matches!(m.base, RAX | RCX | RSP);
        for (at, half) in [
            (0, self.half(reg, 0)),
            (64, self.half(index, 0)),
            (96, self.half(index, 1)),
        ] {
            let from = self.load(half, R);
            let at = self.scratch(at);
            self.y(STORE, from, 0, H::M(at));
        }
        self.push(RAX);
        self.push(RCX);
        for lane in 0..8 {
            let k = self.mask(mask.k, 4 * lane);
            self.g(false, &[0x80], 7, Rm::M(k));
            self.b(0);
            let off = self.short(0x74);
            let (address, value) = (self.scratch(64 + 8 * lane), self.scratch(4 * lane));
            self.mov(true, RAX, Rm::M(address));
            self.mov(false, RCX, Rm::M(value));
            let to = Mem {
                index: Some((RAX, scale)),
                ..m
            };
            self.store(false, to, RCX);
            self.land(off);
        }
        self.pop(RCX);
        self.pop(RAX);
        self.y(XOR, S, S, H::R(S));
        self.set_mask(mask.k, 0, S);
        self.set_mask(mask.k, 1, S);
    }

    /// Integers of 64 bits to floats: the upper and lower halves are exact in 64 bits, and their sum is rounded once.
    fn long_to_float(&mut self, e: E, halves: u8, reg: u8, rm: Rm, mask: K) {
        let signed = matches!((e.pp, e.op), (2, 0xe6) | (0, 0x5b));
        let single = matches!(e.pp, 0 | 3);
        let keep = self.scratch(0);
        for h in 0..halves {
            let b = self.operand(rm, h, 32, 8, S);
            self.y(LOAD, S, 0, b);
            if single {
                self.sticky(signed);
            }
            // T: the lower halves, S: the upper ones.
            self.yi(EXTRACT, S, 0, H::R(U), 1);
            self.v(SHUFPS, 0, T, S, H::R(U), Some(0x88));
            self.v(SHUFPS, 0, S, S, H::R(U), Some(0xdd));
            self.whole_dwords(T, R);
            if signed {
                self.y(CVTDQ2PD, S, 0, H::R(S));
            } else {
                self.whole_dwords(S, R);
            }
            let k = self.f64(2f64.powi(32));
            self.y(LOAD, R, 0, k);
            self.y(X(2, 1, 1, 0xa8), S, R, H::R(T));
            if !single {
                self.merge(reg, h, S, mask, 8);
                continue;
            }
            self.y(CVTPD2PS, R, 0, H::R(S));
            if h == 0 {
                self.x(STORE, R, 0, H::M(keep));
            }
        }
        if single {
            if halves == 2 {
                self.x(LOAD, S, 0, H::M(keep));
                self.yi(INSERT, R, S, H::R(R), 1);
            }
            self.merge(reg, 0, R, mask, 4);
        }
    }

    /// S: numbers whose 53 upper bits are rounded to the same float of 32 bits. R, T and U are spent.
    fn sticky(&mut self, signed: bool) {
        // Small ones, which are exact as they are, stay: U.
        self.y(LOAD, T, 0, H::R(S));
        if signed {
            self.y(XOR, U, U, H::R(U));
            self.y(GTQ, U, U, H::R(S));
            self.y(XOR, T, T, H::R(U));
        }
        self.shift(0x73, 2, T, T, 53);
        self.y(XOR, U, U, H::R(U));
        self.y(EQQ, U, T, H::R(U));
        // Of the others what is below the last bit that counts makes that bit 1.
        let low = self.every(0x7ff, true);
        self.y(AND, T, S, low);
        self.y(LOAD, R, 0, low);
        self.y(ADDQ, T, T, H::R(R));
        self.y(OR, T, T, H::R(S));
        self.y(ANDN, R, R, H::R(T));
        self.yi(X(3, 1, 0, 0x4b), S, R, H::R(S), U << 4);
    }

    /// `r`: four dwords without a sign as floats of 64 bits. `t` is spent.
    fn whole_dwords(&mut self, r: u8, t: u8) {
        let low = self.d32(0xffff);
        self.x(AND, t, r, low);
        self.v(X(1, 1, 0, 0x72), 0, 2, r, H::R(r), Some(16));
        self.y(CVTDQ2PD, r, 0, H::R(r));
        self.y(CVTDQ2PD, t, 0, H::R(t));
        let k = self.f64(65536.0);
        self.y(X(2, 1, 1, 0x98), r, t, k);
    }

    /// The elements that are on, one behind another; zeros behind them, or what was there. RAX is kept.
    fn compress(&mut self, reg: u8, rm: Rm, mask: K) {
        let Rm::R(to) = rm else {
            self.unknown = true;
            return;
        };
        // At most 16 dwords are written, so none after the first line.
        for h in 0..2 {
            let a = self.half(reg, h);
            let a = self.load(a, R);
            let at = self.scratch(64 + 32 * h as i32);
            self.y(STORE, a, 0, H::M(at));
        }
        let homes = self.homes();
        for h in 0..2 {
            let old = self.half(to, h);
            let r = if mask.zero {
                self.y(XOR, R, R, H::R(R));
                R
            } else {
                self.load(old, R)
            };
            let at = self.scratch(32 * h as i32);
            self.y(STORE, r, 0, H::M(at));
        }
        for r in [RAX, RCX] {
            self.push(r);
        }
        self.imm(RAX, 0);
        for lane in 0..16 {
            let from = self.scratch(64 + 4 * lane);
            self.mov(false, RCX, Rm::M(from));
            let k = self.mask(mask.k, 4 * lane);
            self.g(false, &[0x80], 7, Rm::M(k));
            self.b(0);
            let off = self.short(0x74);
            let at = Mem {
                base: homes.base,
                index: Some((RAX, 4)),
                disp: homes.scratch,
            };
            self.store(false, at, RCX);
            self.alu_imm(0, false, Rm::R(RAX), 1);
            self.land(off);
        }
        for r in [RCX, RAX] {
            self.pop(r);
        }
        for h in 0..2 {
            let at = self.scratch(32 * h as i32);
            self.y(LOAD, R, 0, H::M(at));
            self.give(to, h, R);
        }
    }

    // ---- opmasks ----

    /// A general register: the 16 bits of an opmask.
    fn bits(&mut self, to: Gpr, k: u8) {
        let m = self.mask(k, 0);
        self.y(LOAD, R, 0, H::M(m));
        self.y(PACKSSDW, R, R, H::M(plus(m, 32)));
        self.yi(PERMQ, R, 0, H::R(R), 0xd8);
        self.yi(EXTRACT, R, 0, H::R(S), 1);
        self.x(PACKSSWB, R, R, H::R(S));
        self.x(X(1, 1, 0, 0xd7), to, 0, H::R(R));
    }

    /// An opmask of the bits in each word of R.
    fn of_bits(&mut self, k: u8) {
        for h in 0..2 {
            let line = self.line(std::array::from_fn(|i| 1 << (8 * h + i)));
            self.y(AND, S, R, line);
            self.y(EQD, S, S, line);
            self.set_mask(k, h as u8, S);
        }
    }

    pub(super) fn narrow_kop(&mut self, op: u8, d: u8, a: u8, b: u8) {
        let x = match op {
            0x41 => AND,
            0x42 => ANDN,
            0x45 => OR,
            _ => XOR,
        };
        if a == b && matches!(op, 0x46 | 0x47) {
            self.y(if op == 0x46 { EQD } else { XOR }, R, R, H::R(R));
            self.set_mask(d, 0, R);
            self.set_mask(d, 1, R);
            return;
        }
        for h in 0..2 {
            let (p, q) = (self.mask(a, 32 * h as i32), self.mask(b, 32 * h as i32));
            self.y(LOAD, R, 0, H::M(p));
            self.y(x, R, R, H::M(q));
            if op == 0x46 {
                self.invert(R);
            }
            self.set_mask(d, h, R);
        }
    }

    pub(super) fn narrow_knot(&mut self, d: u8, a: u8) {
        self.y(EQD, S, S, H::R(S));
        for h in 0..2 {
            let p = self.mask(a, 32 * h as i32);
            self.y(XOR, R, S, H::M(p));
            self.set_mask(d, h, R);
        }
    }

    pub(super) fn narrow_kload(&mut self, k: u8, m: Mem) {
        self.y(BROADCASTW, R, 0, H::M(m));
        self.of_bits(k);
    }

    pub(super) fn narrow_kstore(&mut self, m: Mem, k: u8) {
        let used = |r: Gpr| m.base == r || m.index.is_some_and(|(i, _)| i == r);
        let r = [RAX, RCX, RDX]
            .into_iter()
            .find(|&r| !used(r))
            .unwrap_or(RAX);
        self.push(r);
        self.bits(r, k);
        self.b(0x66);
        self.store(false, m, r);
        self.pop(r);
        // The stack is no place for it.
        self.unknown |= m.base == RSP;
    }

    pub(super) fn narrow_k_to_gpr(&mut self, to: Gpr, k: u8) {
        self.bits(to, k);
    }

    pub(super) fn narrow_gpr_to_k(&mut self, k: u8, from: Gpr) {
        self.x(X(1, 1, 0, 0x6e), R, 0, H::R(from));
        self.y(BROADCASTW, R, 0, H::R(R));
        self.of_bits(k);
    }

    pub(super) fn narrow_kortest(&mut self, a: u8, b: u8) {
        let m = self.mask(a, 0);
        self.y(LOAD, R, 0, H::M(m));
        self.y(OR, R, R, H::M(plus(m, 32)));
        if a != b {
            let m = self.mask(b, 0);
            self.y(OR, R, R, H::M(m));
            self.y(OR, R, R, H::M(plus(m, 32)));
        }
        // VPTEST
        self.y(X(2, 1, 0, 0x17), R, 0, H::R(R));
    }

    pub(super) fn narrow_kshiftr(&mut self, d: u8, a: u8, by: u8) {
        self.y(XOR, S, S, H::R(S));
        if by == 8 {
            let high = self.mask(a, 32);
            self.y(LOAD, R, 0, H::M(high));
            self.set_mask(d, 0, R);
            self.set_mask(d, 1, S);
            return;
        }
        // By way of memory with zeros behind.
        let m = self.mask(a, 0);
        for h in 0..4 {
            let at = self.scratch(32 * h);
            if h < 2 {
                self.y(LOAD, R, 0, H::M(plus(m, 32 * h)));
                self.y(STORE, R, 0, H::M(at));
            } else {
                self.y(STORE, S, 0, H::M(at));
            }
        }
        for h in 0..2 {
            let at = self.scratch(32 * h + 4 * by.min(16) as i32);
            self.y(LOAD, R, 0, H::M(at));
            self.set_mask(d, h as u8, R);
        }
    }

    pub(super) fn narrow_kunpckbw(&mut self, d: u8, high: u8, low: u8) {
        let (p, q) = (self.mask(low, 0), self.mask(high, 0));
        self.y(LOAD, R, 0, H::M(p));
        self.y(LOAD, S, 0, H::M(q));
        self.set_mask(d, 0, R);
        self.set_mask(d, 1, S);
    }
}

/// How many registers an instruction reads, beside a mask.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    One,
    Two,
    /// Two whose order does not matter.
    Swaps,
    /// Two and what its result's register holds.
    Three,
}

/// The instruction of AVX2 that does the same to 256 bits, element by element or within 128 bits.
fn lanewise(e: E) -> Option<(X, Form)> {
    let same = |form| Some((X(e.map, e.pp, 0, e.op), form));
    match (e.map, e.pp, e.op) {
        // Bitwise operations; additions.
        (1, 1, 0xdb | 0xeb | 0xef | 0xfe | 0xd4 | 0xfc | 0xfd | 0xf4) => same(Form::Swaps),
        (1, 1, 0xdf | 0xfa | 0xfb | 0xf8 | 0xf9) => same(Form::Two),
        // Products, saturating sums, averages, extremes of bytes and words; sums of products.
        (
            1,
            1,
            0xd5 | 0xe4 | 0xe5 | 0xec | 0xed | 0xdc | 0xdd | 0xe0 | 0xe3 | 0xea | 0xee | 0xda
            | 0xde,
        ) => same(Form::Swaps),
        (1, 1, 0xd8 | 0xd9 | 0xe8 | 0xe9 | 0xf5 | 0xf6) => same(Form::Two),
        // Packing and interleaving within 128 bits.
        (1, 1, 0x60..=0x63 | 0x67..=0x6d) => same(Form::Two),
        (1, 1..=3, 0x70) => same(Form::One),
        (2, 1, 0x00 | 0x04 | 0x0b | 0x2b) => same(Form::Two),
        (2, 1, 0x0c | 0x0d) => same(Form::Two),
        (3, 1, 0x04 | 0x05) => same(Form::One),
        (1, 0 | 1, 0xc6) => same(Form::Two),
        (2, 1, 0x28) => same(Form::Swaps),
        (2, 1, 0x40) if e.w == 0 => same(Form::Swaps),
        (2, 1, 0x38..=0x3f) if e.w == 0 => same(Form::Swaps),
        (2, 1, 0x45 | 0x47) => Some((X(2, 1, e.w, e.op), Form::Two)),
        (2, 1, 0x46) if e.w == 0 => same(Form::Two),
        (2, 1, 0x1c..=0x1e) => same(Form::One),
        // Floats. Which of two NaNs is the result depends on the order.
        (1, 0 | 1, 0x58 | 0x59 | 0x5c | 0x5d | 0x5e | 0x5f) => same(Form::Two),
        (1, 0 | 1, 0x54..=0x57 | 0x14 | 0x15) => same(Form::Two),
        (1, 0 | 1, 0x51) => same(Form::One),
        (1, 0..=2, 0x5b) if e.w == 0 => same(Form::One),
        (3, 1, 0x08 | 0x09) => same(Form::One),
        (
            2,
            1,
            0x96..=0x98
            | 0x9a
            | 0x9c
            | 0x9e
            | 0xa6..=0xa8
            | 0xaa
            | 0xac
            | 0xae
            | 0xb6..=0xb8
            | 0xba
            | 0xbc
            | 0xbe,
        ) => Some((X(2, 1, e.w, e.op), Form::Three)),
        _ => None,
    }
}
