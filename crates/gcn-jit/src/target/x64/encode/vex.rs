//! VEX instructions on vectors of 128 and 256 bits, and their constants.

use super::*;

/// An AVX2 instruction: map, prefix, W, opcode.
#[derive(Clone, Copy, Debug)]
pub struct X(pub u8, pub u8, pub u8, pub u8);

/// An operand of a VEX instruction.
#[derive(Clone, Copy, PartialEq)]
pub enum H {
    /// A host register.
    R(u8),
    M(Mem),
    /// A constant.
    L(u32),
}

/// 32 bytes of constants after the code.
#[derive(Default)]
pub struct Lines {
    lines: Vec<[u32; 8]>,
    /// The offset of a distance to a constant, the constant, and the number of instruction bytes that follow.
    fixups: Vec<(u32, u32, u8)>,
}

pub const AND: X = X(1, 1, 0, 0xdb);
pub const ANDN: X = X(1, 1, 0, 0xdf);
pub const OR: X = X(1, 1, 0, 0xeb);
pub const XOR: X = X(1, 1, 0, 0xef);
pub const ADDD: X = X(1, 1, 0, 0xfe);
pub const ADDQ: X = X(1, 1, 0, 0xd4);
pub const SUBD: X = X(1, 1, 0, 0xfa);
pub const SUBQ: X = X(1, 1, 0, 0xfb);
pub const EQD: X = X(1, 1, 0, 0x76);
pub const EQQ: X = X(2, 1, 0, 0x29);
pub const GTD: X = X(1, 1, 0, 0x66);
pub const GTQ: X = X(2, 1, 0, 0x37);
pub const MULUDQ: X = X(1, 1, 0, 0xf4);
pub const LOAD: X = X(1, 2, 0, 0x6f);
pub const STORE: X = X(1, 2, 0, 0x7f);
pub const SHUFPS: X = X(1, 0, 0, 0xc6);
pub const PERMQ: X = X(3, 1, 1, 0x00);
pub const PERMD: X = X(2, 1, 0, 0x36);
pub const UNPCKL: X = X(1, 1, 0, 0x62);
pub const UNPCKH: X = X(1, 1, 0, 0x6a);
pub const EXTRACT: X = X(3, 1, 0, 0x39);
pub const INSERT: X = X(3, 1, 0, 0x38);
pub const BLENDV: X = X(3, 1, 0, 0x4a);
pub const BROADCASTD: X = X(2, 1, 0, 0x58);
pub const BROADCASTQ: X = X(2, 1, 0, 0x59);
pub const SXDQ: X = X(2, 1, 0, 0x25);
pub const ZXDQ: X = X(2, 1, 0, 0x35);
pub const MASKLOAD: X = X(2, 1, 0, 0x8c);
pub const MASKSTORE: X = X(2, 1, 0, 0x8e);
pub const SHUFB: X = X(2, 1, 0, 0x00);
pub const CVTDQ2PS: X = X(1, 0, 0, 0x5b);
pub const CVTTPS2DQ: X = X(1, 2, 0, 0x5b);
pub const CVTPS2PD: X = X(1, 0, 0, 0x5a);
pub const CVTPD2PS: X = X(1, 1, 0, 0x5a);
pub const CVTDQ2PD: X = X(1, 2, 0, 0xe6);
pub const CVTTPD2DQ: X = X(1, 1, 0, 0xe6);

impl Asm {
    pub fn v(&mut self, x: X, l: u8, reg: u8, v: u8, rm: H, imm: Option<u8>) {
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

    /// Emits an instruction on 256 bits.
    pub fn y(&mut self, x: X, reg: u8, v: u8, rm: H) {
        self.v(x, 1, reg, v, rm, None);
    }

    pub fn yi(&mut self, x: X, reg: u8, v: u8, rm: H, imm: u8) {
        self.v(x, 1, reg, v, rm, Some(imm));
    }

    /// Emits an instruction on 128 bits.
    pub fn x(&mut self, x: X, reg: u8, v: u8, rm: H) {
        self.v(x, 0, reg, v, rm, None);
    }

    pub fn line(&mut self, line: [u32; 8]) -> H {
        let lines = &mut self.lines.lines;
        let at = lines.iter().position(|l| *l == line).unwrap_or_else(|| {
            lines.push(line);
            lines.len() - 1
        });
        H::L(at as u32)
    }

    /// Returns a constant with a value in every element.
    pub fn every(&mut self, value: u64, wide: bool) -> H {
        let (lo, hi) = (value as u32, (value >> 32) as u32);
        let hi = if wide { hi } else { lo };
        self.line([lo, hi, lo, hi, lo, hi, lo, hi])
    }

    pub fn d32(&mut self, value: u32) -> H {
        self.every(value as u64, false)
    }

    /// Appends the constants to the code.
    pub fn finish_lines(&mut self) {
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
}
