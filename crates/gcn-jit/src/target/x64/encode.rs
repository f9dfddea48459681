//! Encodes x86-64 machine code: the few general and the AVX-512 instructions that compiled blocks use.
//!
//! This emitter takes a tenth of the time of a general one.

pub mod vex;

use vex::X;

/// A general register by number; 4 is RSP.
pub type Gpr = u8;
pub const RAX: Gpr = 0;
pub const RCX: Gpr = 1;
pub const RDX: Gpr = 2;
pub const RBX: Gpr = 3;
pub const RSP: Gpr = 4;
pub const RBP: Gpr = 5;
pub const RSI: Gpr = 6;
pub const RDI: Gpr = 7;
pub const R8: Gpr = 8;
pub const R9: Gpr = 9;
pub const R10: Gpr = 10;
pub const R11: Gpr = 11;
pub const R12: Gpr = 12;
pub const R13: Gpr = 13;
pub const R14: Gpr = 14;
pub const R15: Gpr = 15;

/// A memory operand: base, index times a scale, displacement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mem {
    pub base: Gpr,
    pub index: Option<(u8, u8)>,
    pub disp: i32,
}

/// Returns memory at a register plus a displacement.
pub const fn mem(base: Gpr, disp: i32) -> Mem {
    Mem {
        base,
        index: None,
        disp,
    }
}

/// The operand that MODRM.RM names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rm {
    R(u8),
    M(Mem),
    /// A memory element that is broadcast to every element.
    B(Mem),
    /// A constant of 32 or 64 bits that is broadcast to every element.
    C(u64),
}

/// A VEX or EVEX instruction.
#[derive(Clone, Copy, Debug)]
pub struct E {
    pub map: u8,
    pub pp: u8,
    pub w: u8,
    pub op: u8,
    /// The size of a whole memory operand at 512 bits, which is the unit of disp8.
    pub n: u8,
    /// The length of vectors: 0 for 128 bits, 1 for 256, 2 for 512.
    pub ll: u8,
}

const fn e(map: u8, pp: u8, w: u8, op: u8) -> E {
    E {
        map,
        pp,
        w,
        op,
        n: 64,
        ll: 2,
    }
}
const fn en(map: u8, pp: u8, w: u8, op: u8, n: u8) -> E {
    E {
        n,
        ..e(map, pp, w, op)
    }
}

#[rustfmt::skip]
pub mod op {
    use super::{E, e, en};
    pub const MOVDQU32: E = e(1, 2, 0, 0x6f);
    pub const MOVDQU32_ST: E = e(1, 2, 0, 0x7f);
    pub const ADDD: E = e(1, 1, 0, 0xfe);
    pub const SUBD: E = e(1, 1, 0, 0xfa);
    pub const MULLD: E = e(2, 1, 0, 0x40);
    pub const MULLQ: E = e(2, 1, 1, 0x40);
    pub const MULUDQ: E = e(1, 1, 1, 0xf4);
    pub const MULDQ: E = e(2, 1, 1, 0x28);
    pub const ANDD: E = e(1, 1, 0, 0xdb);
    pub const ORD: E = e(1, 1, 0, 0xeb);
    pub const XORD: E = e(1, 1, 0, 0xef);
    pub const TERND: E = e(3, 1, 0, 0x25);
    pub const SLLVD: E = e(2, 1, 0, 0x47);
    pub const SRLVD: E = e(2, 1, 0, 0x45);
    pub const SRAVD: E = e(2, 1, 0, 0x46);
    pub const SLLVQ: E = e(2, 1, 1, 0x47);
    pub const SRLVQ: E = e(2, 1, 1, 0x45);
    pub const SRAVQ: E = e(2, 1, 1, 0x46);
    /// Shifts by an immediate: the register field is a part of the opcode.
    pub const SHIFTD_I: E = e(1, 1, 0, 0x72);
    pub const SHLDD: E = e(3, 1, 0, 0x71);
    pub const SHRDD: E = e(3, 1, 0, 0x73);
    pub const MINSD: E = e(2, 1, 0, 0x39);
    pub const MINUD: E = e(2, 1, 0, 0x3b);
    pub const MAXSD: E = e(2, 1, 0, 0x3d);
    pub const MAXUD: E = e(2, 1, 0, 0x3f);
    pub const CMPD: E = e(3, 1, 0, 0x1f);
    pub const CMPUD: E = e(3, 1, 0, 0x1e);
    pub const BLENDD: E = e(2, 1, 0, 0x64);
    pub const BLENDQ: E = e(2, 1, 1, 0x64);
    pub const ABSD: E = e(2, 1, 0, 0x1e);
    pub const LZCNTD: E = e(2, 1, 0, 0x44);
    pub const POPCNTD: E = e(2, 1, 0, 0x55);
    pub const BCASTD_R: E = e(2, 1, 0, 0x7c);
    pub const BCASTQ_R: E = e(2, 1, 1, 0x7c);
    pub const BCASTD: E = en(2, 1, 0, 0x58, 4);
    /// Moves the first lane to a register or memory of 32 bits.
    pub const MOVD_ST: E = en(1, 1, 0, 0x7e, 4);
    pub const BCASTQ: E = en(2, 1, 1, 0x59, 8);
    pub const ADDPS: E = e(1, 0, 0, 0x58);
    pub const MULPS: E = e(1, 0, 0, 0x59);
    pub const SUBPS: E = e(1, 0, 0, 0x5c);
    pub const DIVPS: E = e(1, 0, 0, 0x5e);
    pub const SQRTPS: E = e(1, 0, 0, 0x51);
    pub const MINPS: E = e(1, 0, 0, 0x5d);
    pub const MAXPS: E = e(1, 0, 0, 0x5f);
    /// Multiplies the destination by the first operand and adds the second; adds the operands' product to the destination.
    pub const FMADD213PS: E = e(2, 1, 0, 0xa8);
    pub const FMADD231PS: E = e(2, 1, 0, 0xb8);
    pub const CMPPS: E = e(1, 0, 0, 0xc2);
    pub const RANGEPS: E = e(3, 1, 0, 0x50);
    pub const RNDSCALEPS: E = e(3, 1, 0, 0x08);
    pub const RNDSCALEPD: E = e(3, 1, 1, 0x09);
    pub const FPCLASSPS: E = e(3, 1, 0, 0x66);
    pub const SCALEFPS: E = e(2, 1, 0, 0x2c);
    pub const CVTDQ2PS: E = e(1, 0, 0, 0x5b);
    pub const CVTUDQ2PS: E = e(1, 3, 0, 0x7a);
    pub const CVTTPS2DQ: E = e(1, 2, 0, 0x5b);
    pub const CVTTPS2UDQ: E = e(1, 0, 0, 0x78);
    pub const CVTPS2PD: E = en(1, 0, 0, 0x5a, 32);
    pub const CVTPD2PS: E = e(1, 1, 1, 0x5a);
    pub const CVTPH2PS: E = en(2, 1, 0, 0x13, 32);
    /// The destination is the operand in MODRM.RM.
    pub const CVTPS2PH: E = en(3, 1, 0, 0x1d, 32);
    pub const CVTQQ2PD: E = e(1, 2, 1, 0xe6);
    pub const CVTUQQ2PD: E = e(1, 2, 1, 0x7a);
    pub const CVTQQ2PS: E = e(1, 0, 1, 0x5b);
    pub const CVTUQQ2PS: E = e(1, 3, 1, 0x7a);
    pub const CVTDQ2PD: E = en(1, 2, 0, 0xe6, 32);
    pub const CVTUDQ2PD: E = en(1, 2, 0, 0x7a, 32);
    pub const CVTTPD2DQ: E = e(1, 1, 1, 0xe6);
    pub const CVTTPD2UDQ: E = e(1, 0, 1, 0x78);
    pub const PERMD: E = e(2, 1, 0, 0x36);
    /// Permutes elements of two registers; the destination holds their indices.
    pub const PERMI2D: E = e(2, 1, 0, 0x76);
    pub const PMOVSXDQ: E = en(2, 1, 0, 0x25, 32);
    pub const PMOVZXDQ: E = en(2, 1, 0, 0x35, 32);
    pub const PMOVZXBD: E = en(2, 1, 0, 0x31, 16);
    pub const PMOVZXWD: E = en(2, 1, 0, 0x33, 32);
    pub const PMOVDB_ST: E = en(2, 2, 0, 0x31, 16);
    pub const PMOVDW_ST: E = en(2, 2, 0, 0x33, 32);
    pub const EXTRACT256: E = en(3, 1, 1, 0x3b, 32);
    pub const INSERT256: E = en(3, 1, 1, 0x3a, 32);
    pub const INSERT128: E = en(3, 1, 0, 0x38, 16);
    pub const PSHUFD: E = e(1, 1, 0, 0x70);
    pub const UNPCKLD: E = e(1, 1, 0, 0x62);
    pub const UNPCKHD: E = e(1, 1, 0, 0x6a);
    pub const UNPCKLQ: E = e(1, 1, 1, 0x6c);
    pub const UNPCKHQ: E = e(1, 1, 1, 0x6d);
    pub const COMPRESSD: E = en(2, 1, 0, 0x8b, 4);
    pub const MOVD_LD: E = en(1, 1, 0, 0x6e, 4);
    pub const PINSRD: E = en(3, 1, 0, 0x22, 4);
    pub const MOVQ_LD: E = en(1, 1, 1, 0x6e, 8);
    pub const PINSRQ: E = en(3, 1, 1, 0x22, 8);
    /// Move the first or another qword of a register to a register or memory of 64 bits.
    pub const MOVQ_ST: E = en(1, 1, 1, 0x7e, 8);
    pub const PEXTRQ: E = en(3, 1, 1, 0x16, 8);
    pub const EXTRACT128: E = en(3, 1, 0, 0x39, 16);
    pub const SHUFPS: E = e(1, 0, 0, 0xc6);
    pub const SHUF128: E = e(3, 1, 0, 0x43);
    /// Expands a mask's bits to elements of ones or zeros.
    pub const MOVM2D: E = e(2, 2, 0, 0x38);
    pub const TESTMD: E = e(2, 1, 0, 0x27);
    pub const TESTNMD: E = e(2, 2, 0, 0x27);
    pub const ANDND: E = e(1, 1, 0, 0xdf);
    pub const ANDQ: E = e(1, 1, 1, 0xdb);
    pub const ADDQ: E = e(1, 1, 1, 0xd4);
    pub const SUBQ: E = e(1, 1, 1, 0xfb);
    pub const ORQ: E = e(1, 1, 1, 0xeb);
    pub const SHIFTQ_I: E = e(1, 1, 1, 0x73);
    pub const CMPUQ: E = e(3, 1, 1, 0x1e);
    pub const MOVDQU8: E = e(1, 3, 0, 0x6f);
    pub const MOVDQU8_ST: E = e(1, 3, 0, 0x7f);
    pub const PERMB: E = e(2, 1, 0, 0x8d);
    pub const GATHERDD: E = en(2, 1, 0, 0x90, 4);
    pub const GATHERQD: E = en(2, 1, 0, 0x91, 4);
    pub const GATHERDQ: E = en(2, 1, 1, 0x90, 8);
    pub const SCATTERQD: E = en(2, 1, 0, 0xa1, 4);
    pub const SCATTERDD: E = en(2, 1, 0, 0xa0, 4);
    pub const SCATTERDQ: E = en(2, 1, 1, 0xa0, 8);
}

impl E {
    /// Returns FMADD with the signs of the product and of the addend negated.
    pub const fn turned(self, product: bool, addend: bool) -> E {
        E {
            op: self.op + ((product as u8) << 2) + ((addend as u8) << 1),
            ..self
        }
    }

    /// Returns the form for vectors of a length: 0 for 128 bits, 1 for 256, 2 for 512.
    pub const fn l(self, ll: u8) -> E {
        E { ll, ..self }
    }

    /// Returns the form for 64-bit elements, if `wide`.
    pub const fn wide(self, wide: bool) -> E {
        if wide { self.pd() } else { self }
    }

    /// Returns the form for 64-bit elements: PD for PS.
    pub const fn pd(self) -> E {
        // If PS has no prefix, PD has 66; otherwise only W differs.
        E {
            w: 1,
            pp: if self.pp == 0 { 1 } else { self.pp },
            ..self
        }
    }
}

/// The operations of `Asm::alu` and `Asm::alu_imm`, as in the opcode.
pub mod alu {
    pub const ADD: u8 = 0;
    pub const OR: u8 = 1;
    pub const AND: u8 = 4;
    pub const SUB: u8 = 5;
    pub const XOR: u8 = 6;
    pub const CMP: u8 = 7;
}

/// The operations of `Asm::kop`, as in the opcode. ANDN clears the bits of the first operand in the second.
pub mod kop {
    pub const AND: u8 = 0x41;
    pub const ANDN: u8 = 0x42;
    pub const OR: u8 = 0x45;
    pub const XNOR: u8 = 0x46;
    pub const XOR: u8 = 0x47;
}

/// An opmask: its register, and whether masked-off elements become zero. Register 0 means no mask.
#[derive(Clone, Copy, Debug, Default)]
pub struct K {
    pub k: u8,
    pub zero: bool,
}

/// All elements.
pub const ALL: K = K { k: 0, zero: false };

/// Elements whose mask bit is 0 keep their values.
pub const fn keep(k: u8) -> K {
    K { k, zero: false }
}

/// Masked-off elements become zero.
pub const fn zero(k: u8) -> K {
    K { k, zero: true }
}

/// A jump target in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(u32);

/// Conditions of jumps.
#[derive(Clone, Copy, Debug)]
pub enum Cc {
    B = 2,
    Ae = 3,
    E = 4,
    Ne = 5,
    Be = 6,
    A = 7,
    S = 8,
    Ns = 9,
    P = 10,
    Np = 11,
    L = 12,
    Ge = 13,
    Le = 14,
    G = 15,
}

impl Cc {
    /// Returns the opposite condition.
    pub fn not(self) -> Cc {
        match self {
            Cc::B => Cc::Ae,
            Cc::Ae => Cc::B,
            Cc::E => Cc::Ne,
            Cc::Ne => Cc::E,
            Cc::Be => Cc::A,
            Cc::A => Cc::Be,
            Cc::S => Cc::Ns,
            Cc::Ns => Cc::S,
            Cc::P => Cc::Np,
            Cc::Np => Cc::P,
            Cc::L => Cc::Ge,
            Cc::Ge => Cc::L,
            Cc::Le => Cc::G,
            Cc::G => Cc::Le,
        }
    }
}

/// Code being written.
#[derive(Default)]
pub struct Asm {
    pub buf: Vec<u8>,
    labels: Vec<u32>,
    /// The location of a 32-bit distance to a label.
    fixups: Vec<(u32, Label)>,
    consts: Vec<(u64, u8)>,
    /// The location of a 32-bit distance to a constant, and the number of instruction bytes that follow it.
    const_fixups: Vec<(u32, u32, u8)>,
    lines: vex::Lines,
    /// The offset at which the code ends and constants begin.
    pub end: usize,
    /// Displacements from this value on are recorded: the offset of each in the code, and its value.
    pub noted_from: Option<i32>,
    pub displacements: Vec<(u32, i32)>,
}

const UNBOUND: u32 = u32::MAX;

impl Asm {
    pub fn new() -> Asm {
        Asm::default()
    }

    pub fn label(&mut self) -> Label {
        self.labels.push(UNBOUND);
        Label(self.labels.len() as u32 - 1)
    }

    pub fn bind(&mut self, label: Label) {
        self.labels[label.0 as usize] = self.buf.len() as u32;
    }

    pub fn here(&mut self) -> Label {
        let label = self.label();
        self.bind(label);
        label
    }

    fn b(&mut self, byte: u8) {
        self.buf.push(byte);
    }

    fn d(&mut self, dword: u32) {
        self.buf.extend_from_slice(&dword.to_le_bytes());
    }

    /// Emits MODRM, SIB and displacement for a register or memory. disp8 is in units of `n` bytes. `after` is the number of instruction bytes after
    /// the displacement.
    fn modrm(&mut self, reg: u8, rm: &Rm, n: i32, size: u8, after: u8) {
        let reg = (reg & 7) << 3;
        match rm {
            Rm::R(r) => self.b(0xc0 | reg | r & 7),
            Rm::C(value) => {
                self.b(reg | 5);
                let key = (*value, size);
                let at = match self.consts.iter().position(|&c| c == key) {
                    Some(at) => at,
                    None => {
                        self.consts.push(key);
                        self.consts.len() - 1
                    }
                };
                self.const_fixups
                    .push((self.buf.len() as u32, at as u32, after));
                self.d(0);
            }
            Rm::M(m) | Rm::B(m) => {
                let sib = m.index.is_some() || m.base & 7 == 4;
                let low = if sib { 4 } else { m.base & 7 };
                let short = m.disp % n == 0 && (-128..128).contains(&(m.disp / n));
                let mode = match m.disp {
                    0 if m.base & 7 != 5 => 0,
                    _ if short => 0x40,
                    _ => 0x80,
                };
                self.b(mode | reg | low);
                if sib {
                    let (index, scale) = m.index.unwrap_or((4, 1));
                    self.b((scale.trailing_zeros() as u8) << 6 | (index & 7) << 3 | m.base & 7);
                }
                match mode {
                    0x40 => self.b((m.disp / n) as u8),
                    0x80 => {
                        if self.noted_from.is_some_and(|from| m.disp >= from) {
                            self.displacements.push((self.buf.len() as u32, m.disp));
                        }
                        self.d(m.disp as u32);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Emits an EVEX instruction.
    pub fn evex(&mut self, e: E, reg: u8, v: u8, rm: Rm, mask: K, imm: Option<u8>) {
        let (mut x, mut b) = (1, 1);
        let mut v = v;
        let mut bcast = 0;
        match rm {
            Rm::R(r) => {
                b = !(r >> 3) & 1;
                x = !(r >> 4) & 1;
            }
            Rm::M(m) | Rm::B(m) => {
                b = !(m.base >> 3) & 1;
                if let Some((index, _)) = m.index {
                    x = !(index >> 3) & 1;
                    // The index of a gather may be a high vector register, whose top bit takes V'.
                    if matches!(e.op, 0x90 | 0x91 | 0xa0 | 0xa1) && e.map == 2 {
                        v = index & 16;
                    }
                }
                bcast = matches!(rm, Rm::B(_)) as u8;
            }
            // Broadcast instructions do not set the broadcast bit.
            Rm::C(_) => bcast = !(e.map == 2 && matches!(e.op, 0x58 | 0x59)) as u8,
        }
        self.b(0x62);
        self.b((!(reg >> 3) & 1) << 7 | x << 6 | b << 5 | (!(reg >> 4) & 1) << 4 | e.map);
        self.b(e.w << 7 | (!v & 15) << 3 | 4 | e.pp);
        self.b((mask.zero as u8) << 7 | e.ll << 5 | bcast << 4 | (!(v >> 4) & 1) << 3 | mask.k);
        self.b(e.op);
        let size = if e.w == 1 { 8 } else { 4 };
        let n = if bcast == 1 {
            size as i32
        } else {
            (e.n >> (2 - e.ll).min(if e.n < 32 { 0 } else { 2 })) as i32
        };
        self.modrm(reg, &rm, n.max(1), size, imm.is_some() as u8);
        if let Some(imm) = imm {
            self.b(imm);
        }
    }

    /// Emits a 512-bit instruction with two sources.
    pub fn z(&mut self, e: E, dst: u8, a: u8, rm: Rm) {
        self.evex(e, dst, a, rm, ALL, None);
    }

    /// Like [`Asm::z`], with registers and a rounding mode `rc`, numbered as in MXCSR.
    pub fn zr(&mut self, e: E, dst: u8, a: u8, b: u8, rc: u8) {
        let at = self.buf.len();
        self.evex(e, dst, a, Rm::R(b), ALL, None);
        // If the broadcast bit is set for registers, the length field is a rounding mode.
        let byte = &mut self.buf[at + 3];
        *byte = *byte & !(3 << 5) | rc << 5 | 1 << 4;
    }

    /// Like [`Asm::z`], under a mask.
    pub fn zk(&mut self, e: E, dst: u8, a: u8, rm: Rm, mask: K) {
        self.evex(e, dst, a, rm, mask, None);
    }

    /// Like [`Asm::zk`], with an immediate.
    pub fn zi(&mut self, e: E, dst: u8, a: u8, rm: Rm, mask: K, imm: u8) {
        self.evex(e, dst, a, rm, mask, Some(imm));
    }

    /// Emits a VEX instruction with three operands, for opmasks.
    pub fn vex(&mut self, x: X, l: u8, reg: u8, v: u8, rm: Rm, imm: Option<u8>) {
        let X(map, pp, w, op) = x;
        let (x, b) = match rm {
            Rm::R(r) => (1, !(r >> 3) & 1),
            Rm::M(m) | Rm::B(m) => (
                m.index.map_or(1, |(i, _)| !(i >> 3) & 1),
                !(m.base >> 3) & 1,
            ),
            Rm::C(_) => (1, 1),
        };
        self.b(0xc4);
        self.b((!(reg >> 3) & 1) << 7 | x << 6 | b << 5 | map);
        self.b(w << 7 | (!v & 15) << 3 | l << 2 | pp);
        self.b(op);
        self.modrm(reg, &rm, 1, 8, imm.is_some() as u8);
        if let Some(imm) = imm {
            self.b(imm);
        }
    }

    /// Emits an operation on two opmasks of 16 bits: 0x41 and, 0x42 and-not (first inverted), 0x45 or, 0x46 xnor, 0x47 xor.
    pub fn kop(&mut self, op: u8, dst: u8, a: u8, b: u8) {
        self.vex(X(1, 0, 0, op), 1, dst, a, Rm::R(b), None);
    }

    pub fn knot(&mut self, dst: u8, a: u8) {
        self.vex(X(1, 0, 0, 0x44), 0, dst, 0, Rm::R(a), None);
    }

    pub fn kload16(&mut self, dst: u8, m: Mem) {
        self.vex(X(1, 0, 0, 0x90), 0, dst, 0, Rm::M(m), None);
    }

    pub fn kstore16(&mut self, m: Mem, src: u8) {
        self.vex(X(1, 0, 0, 0x91), 0, src, 0, Rm::M(m), None);
    }

    pub fn k_to_gpr(&mut self, dst: Gpr, k: u8) {
        self.vex(X(1, 0, 0, 0x93), 0, dst, 0, Rm::R(k), None);
    }

    pub fn gpr_to_k(&mut self, k: u8, src: Gpr) {
        self.vex(X(1, 0, 0, 0x92), 0, k, 0, Rm::R(src), None);
    }

    pub fn kortest(&mut self, a: u8, b: u8) {
        self.vex(X(1, 0, 0, 0x98), 0, a, 0, Rm::R(b), None);
    }

    pub fn kshiftr(&mut self, dst: u8, a: u8, by: u8) {
        self.vex(X(3, 1, 1, 0x30), 0, dst, 0, Rm::R(a), Some(by));
    }

    /// Joins the low eight bits of `low`, below those of `high`.
    pub fn kunpckbw(&mut self, dst: u8, high: u8, low: u8) {
        self.vex(X(1, 1, 0, 0x4b), 1, dst, high, Rm::R(low), None);
    }

    fn rex(&mut self, wide: bool, reg: u8, rm: &Rm, byte: bool) {
        let (x, b) = match rm {
            Rm::R(r) => (0, r >> 3 & 1),
            Rm::M(m) | Rm::B(m) => (m.index.map_or(0, |(i, _)| i >> 3 & 1), m.base >> 3 & 1),
            Rm::C(_) => (0, 0),
        };
        let rex = (wide as u8) << 3 | (reg >> 3 & 1) << 2 | x << 1 | b;
        if rex != 0 || byte {
            self.b(0x40 | rex);
        }
    }

    /// Emits a general instruction: opcode bytes, MODRM.
    pub fn g(&mut self, wide: bool, op: &[u8], reg: u8, rm: Rm) {
        self.rex(wide, reg, &rm, false);
        self.buf.extend_from_slice(op);
        self.modrm(reg, &rm, 1, 8, 0);
    }

    pub fn mov(&mut self, wide: bool, dst: Gpr, rm: Rm) {
        if rm != Rm::R(dst) || !wide {
            self.g(wide, &[0x8b], dst, rm);
        }
    }

    pub fn store(&mut self, wide: bool, m: Mem, src: Gpr) {
        self.g(wide, &[0x89], src, Rm::M(m));
    }

    pub fn store8(&mut self, m: Mem, src: Gpr) {
        self.rex(false, src, &Rm::M(m), true);
        self.b(0x88);
        self.modrm(src, &Rm::M(m), 1, 8, 0);
    }

    pub fn store_imm(&mut self, m: Mem, value: u32) {
        self.g(false, &[0xc7], 0, Rm::M(m));
        self.d(value);
    }

    pub fn store_imm8(&mut self, m: Mem, value: u8) {
        self.g(false, &[0xc6], 0, Rm::M(m));
        self.b(value);
    }

    /// Sets a byte of memory to 1 or 0. Flags do not change.
    pub fn setcc_to(&mut self, cc: Cc, m: Mem) {
        self.g(false, &[0x0f, 0x90 | cc as u8], 0, Rm::M(m));
    }

    pub fn movzx8(&mut self, dst: Gpr, m: Mem) {
        self.g(false, &[0x0f, 0xb6], dst, Rm::M(m));
    }

    pub fn imm(&mut self, dst: Gpr, value: u64) {
        if value == 0 {
            self.g(false, &[0x31], dst, Rm::R(dst));
        } else if value <= u32::MAX as u64 {
            self.rex(false, 0, &Rm::R(dst), false);
            self.b(0xb8 | dst & 7);
            self.d(value as u32);
        } else if value as i64 >= i32::MIN as i64 && (value as i64) < 0 {
            self.g(true, &[0xc7], 0, Rm::R(dst));
            self.d(value as u32);
        } else {
            self.rex(true, 0, &Rm::R(dst), false);
            self.b(0xb8 | dst & 7);
            self.buf.extend_from_slice(&value.to_le_bytes());
        }
    }

    /// Loads a constant that always takes 64 bits of the code.
    pub fn imm64(&mut self, dst: Gpr, value: u64) {
        self.rex(true, 0, &Rm::R(dst), false);
        self.b(0xb8 | dst & 7);
        self.buf.extend_from_slice(&value.to_le_bytes());
    }

    /// Emits an ALU instruction: 0 add, 1 or, 4 and, 5 sub, 6 xor, 7 cmp.
    pub fn alu(&mut self, which: u8, wide: bool, dst: Gpr, rm: Rm) {
        self.g(wide, &[which << 3 | 3], dst, rm);
    }

    /// Clears a bit of a register of 64 bits.
    pub fn clear_bit(&mut self, r: Gpr, bit: u8) {
        let rex = 0x48 | (r >> 3);
        self.buf.extend([rex, 0x0f, 0xba, 0xf0 | (r & 7), bit]);
    }

    pub fn alu_imm(&mut self, which: u8, wide: bool, rm: Rm, imm: i32) {
        if (-128..128).contains(&imm) {
            self.g_after(wide, &[0x83], which, rm, 1);
            self.b(imm as u8);
        } else {
            self.g_after(wide, &[0x81], which, rm, 4);
            self.d(imm as u32);
        }
    }

    fn g_after(&mut self, wide: bool, op: &[u8], reg: u8, rm: Rm, _after: u8) {
        self.g(wide, op, reg, rm);
    }

    /// Compares 16 bits of memory with 0.
    pub fn cmp16_zero(&mut self, m: Mem) {
        self.b(0x66);
        self.g(false, &[0x83], 7, Rm::M(m));
        self.b(0);
    }

    /// Compares 8 bits of memory with a constant.
    pub fn cmp8(&mut self, m: Mem, value: u8) {
        self.g(false, &[0x80], 7, Rm::M(m));
        self.b(value);
    }

    /// Tests bits of a constant, which is sign-extended.
    pub fn test_imm(&mut self, wide: bool, rm: Rm, imm: i32) {
        self.g_after(wide, &[0xf7], 0, rm, 4);
        self.d(imm as u32);
    }

    /// Tests 8 bits of memory and of a register.
    pub fn test8(&mut self, m: Mem, r: Gpr) {
        self.rex(false, r, &Rm::M(m), true);
        self.b(0x84);
        self.modrm(r, &Rm::M(m), 1, 8, 0);
    }

    /// Extends 32 bits with their sign.
    pub fn movsxd(&mut self, dst: Gpr, rm: Rm) {
        self.g(true, &[0x63], dst, rm);
    }

    /// Shifts by an immediate: 4 shl, 5 shr, 7 sar, 1 ror.
    pub fn shift_imm(&mut self, which: u8, wide: bool, dst: Gpr, by: u8) {
        self.g(wide, &[0xc1], which, Rm::R(dst));
        self.b(by);
    }

    pub fn rotate_right(&mut self, wide: bool, rm: Rm, by: u8) {
        self.g(wide, &[0xc1], 1, rm);
        self.b(by);
    }

    /// Shifts by the count's low five or six bits: SHLX (pp 1), SHRX (3), SARX (2).
    pub fn shift_by(&mut self, pp: u8, wide: bool, dst: Gpr, src: Gpr, count: Gpr) {
        self.vex(X(2, pp, wide as u8, 0xf7), 0, dst, count, Rm::R(src), None);
    }

    /// Deposits the lowest bits of `src` at the ones of `mask`.
    pub fn pdep(&mut self, dst: Gpr, src: Gpr, mask: Gpr) {
        self.vex(X(2, 3, 1, 0xf5), 0, dst, src, Rm::R(mask), None);
    }

    /// Counts the zeros below the lowest 1.
    pub fn tzcnt(&mut self, wide: bool, dst: Gpr, src: Gpr) {
        self.b(0xf3);
        self.g(wide, &[0x0f, 0xbc], dst, Rm::R(src));
    }

    /// Clears the lowest 1 of `src`. ZF is set if none remains.
    pub fn blsr(&mut self, wide: bool, dst: Gpr, src: Gpr) {
        self.vex(X(2, 0, wide as u8, 0xf3), 0, 1, dst, Rm::R(src), None);
    }

    pub fn store16(&mut self, m: Mem, src: Gpr) {
        self.b(0x66);
        self.store(false, m, src);
    }

    /// Moves 64 bits to an opmask.
    pub fn gpr_to_k64(&mut self, k: u8, src: Gpr) {
        self.vex(X(1, 3, 1, 0x92), 0, k, 0, Rm::R(src), None);
    }

    /// Counts the ones of 64 bits.
    pub fn popcnt(&mut self, dst: Gpr, src: Gpr) {
        self.b(0xf3);
        self.g(true, &[0x0f, 0xb8], dst, Rm::R(src));
    }

    pub fn imul(&mut self, wide: bool, dst: Gpr, rm: Rm) {
        self.g(wide, &[0x0f, 0xaf], dst, rm);
    }

    /// Multiplies by a constant.
    pub fn imul_imm(&mut self, wide: bool, dst: Gpr, src: Gpr, by: i32) {
        self.g(wide, &[0x69], dst, Rm::R(src));
        self.d(by as u32);
    }

    pub fn test(&mut self, wide: bool, a: Gpr, b: Gpr) {
        self.g(wide, &[0x85], a, Rm::R(b));
    }

    pub fn lea(&mut self, dst: Gpr, m: Mem) {
        self.g(true, &[0x8d], dst, Rm::M(m));
    }

    pub fn setcc(&mut self, cc: Cc, dst: Gpr) {
        self.rex(false, 0, &Rm::R(dst), true);
        self.b(0x0f);
        self.b(0x90 | cc as u8);
        self.modrm(0, &Rm::R(dst), 1, 8, 0);
        // Zero-extend the byte to the whole register.
        self.rex(false, dst, &Rm::R(dst), true);
        self.b(0x0f);
        self.b(0xb6);
        self.modrm(dst, &Rm::R(dst), 1, 8, 0);
    }

    pub fn cmov(&mut self, cc: Cc, wide: bool, dst: Gpr, rm: Rm) {
        self.g(wide, &[0x0f, 0x40 | cc as u8], dst, rm);
    }

    pub fn jmp(&mut self, label: Label) {
        self.b(0xe9);
        self.fixups.push((self.buf.len() as u32, label));
        self.d(0);
    }

    pub fn jcc(&mut self, cc: Cc, label: Label) {
        self.b(0x0f);
        self.b(0x80 | cc as u8);
        self.fixups.push((self.buf.len() as u32, label));
        self.d(0);
    }

    /// Loads the address of a label.
    pub fn lea_label(&mut self, dst: Gpr, label: Label) {
        self.rex(true, dst, &Rm::R(0), false);
        self.b(0x8d);
        // The operand is RIP plus a displacement.
        self.b((dst & 7) << 3 | 5);
        self.fixups.push((self.buf.len() as u32, label));
        self.d(0);
    }

    pub fn jmp_to(&mut self, rm: Rm) {
        self.g(false, &[0xff], 4, rm);
    }

    pub fn call(&mut self, rm: Rm) {
        self.g(false, &[0xff], 2, rm);
    }

    pub fn call_label(&mut self, label: Label) {
        self.b(0xe8);
        self.fixups.push((self.buf.len() as u32, label));
        self.d(0);
    }

    /// Stores AL to RCX bytes from RDI on.
    pub fn stosb(&mut self) {
        self.buf.extend_from_slice(&[0xf3, 0xaa]);
    }

    pub fn ret(&mut self) {
        self.b(0xc3);
    }

    pub fn push(&mut self, r: Gpr) {
        self.rex(false, 0, &Rm::R(r), false);
        self.b(0x50 | r & 7);
    }

    pub fn pop(&mut self, r: Gpr) {
        self.rex(false, 0, &Rm::R(r), false);
        self.b(0x58 | r & 7);
    }

    pub fn vzeroupper(&mut self) {
        self.buf.extend_from_slice(&[0xc5, 0xf8, 0x77]);
    }

    pub fn ldmxcsr(&mut self, m: Mem) {
        self.g(false, &[0x0f, 0xae], 2, Rm::M(m));
    }

    pub fn stmxcsr(&mut self, m: Mem) {
        self.g(false, &[0x0f, 0xae], 3, Rm::M(m));
    }

    /// Appends the constants to the code and fills in the distances to labels and constants.
    pub fn finish(&mut self) {
        self.end = self.buf.len();
        while !self.buf.len().is_multiple_of(8) {
            self.b(0xcc);
        }
        let mut locations = Vec::with_capacity(self.consts.len());
        for (value, size) in std::mem::take(&mut self.consts) {
            while !self.buf.len().is_multiple_of(size as usize) {
                self.b(0xcc);
            }
            locations.push(self.buf.len());
            self.buf
                .extend_from_slice(&value.to_le_bytes()[..size as usize]);
        }
        for (at, which, after) in std::mem::take(&mut self.const_fixups) {
            let distance = locations[which as usize] as i64 - (at as i64 + 4 + after as i64);
            self.buf[at as usize..at as usize + 4]
                .copy_from_slice(&(distance as i32).to_le_bytes());
        }
        self.finish_lines();
        for (at, label) in std::mem::take(&mut self.fixups) {
            let target = self.labels[label.0 as usize];
            assert!(target != UNBOUND, "a jump goes nowhere");
            let distance = target as i64 - (at as i64 + 4);
            self.buf[at as usize..at as usize + 4]
                .copy_from_slice(&(distance as i32).to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests;
