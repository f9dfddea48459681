//! The machine instructions, and their encoding.

use super::*;

/// A machine instruction. Operands are in the order in which they are named.
pub(crate) enum M {
    Plain(Plain),
    Shared(Shared),
    /// A constant vector for each half.
    HalfLine([u32; 2]),
    /// An element of 4 bytes in all lanes, plus a constant vector for each half.
    Affine(At, [u32; 2]),
    Mxcsr(FpEnv),
    /// The block restarts if this is true in an active lane.
    Check(At),
    Range(float::Range),
    /// Mask (tied), index, result: dwords at an address plus 4 times the index.
    Gather(Mem),
}

impl From<Shared> for M {
    fn from(op: Shared) -> M {
        M::Shared(op)
    }
}

impl Machine<Avx2> for M {
    fn encode(&self, e: &mut Emit<'_, Avx2>, p: OperandRegisters<'_>) {
        match self {
            M::Plain(op) => op.encode(e, p),
            M::Shared(op) => op.encode(e, p),
            &M::HalfLine(lines) => {
                let line = lines[e.v.half as usize];
                e.a.y(LOAD, p.r(0), 0, H::L(line));
            }
            &M::Affine(at, lines) => {
                let m = e.at(at);
                e.a.y(BROADCASTD, p.r(0), 0, H::M(m));
                let line = lines[e.v.half as usize];
                e.a.y(ADDD, p.r(0), p.r(0), H::L(line));
            }
            &M::Mxcsr(env) => e.a.ldmxcsr(mxcsr_of(env)),
            &M::Check(active) => e.check_lanes(active, p.r(0)),
            M::Range(range) => e.range_code(*range, p),
            &M::Gather(m) => {
                let (mask, index, d) = (p.r(1), p.r(2), p.r(3));
                let at = Mem {
                    index: Some((index, 4)),
                    ..m
                };
                e.a.y(XOR, d, d, H::R(d));
                e.a.y(GATHERDD, d, mask, H::M(at));
            }
        }
    }
}

impl VexMachine for M {
    fn in_memory(&self, e: &mut Emit<'_, Avx2>) -> Option<H> {
        match *self {
            M::Shared(Shared::Load(at)) => Some(H::M(e.at(at))),
            M::Plain(Plain::Line(line)) => Some(H::L(line)),
            M::HalfLine(lines) => Some(H::L(lines[e.v.half as usize])),
            _ => None,
        }
    }
}

impl Emit<'_, Avx2> {
    /// Returns an operand as the last one of an instruction.
    pub(super) fn h(&mut self, p: OperandRegisters<'_>, k: usize) -> H {
        M::operand(self, p, k)
    }

    /// Loads the truth values of 8 lanes from bits in memory.
    pub(super) fn mask_of_bits(&mut self, at: At, r: u8) {
        let m = self.at(at);
        let line = self.a.line(BIT_OF_LANE);
        self.a.y(BROADCASTB, r, 0, H::M(m));
        self.a.y(AND, r, r, line);
        self.a.y(EQD, r, r, line);
    }

    /// Copies the bits of truth values to a general register.
    pub(super) fn bits_of(&mut self, to: Gpr, r: u8) {
        self.a.y(MOVMSKPS, to, 0, H::R(r));
    }

    /// Tests the bits of active lanes in a register.
    pub(super) fn test_active(&mut self, active: At, bits: Gpr) {
        if self.no_inactive_lanes() {
            self.a.test(false, bits, bits);
            return;
        }
        let m = self.at(active);
        self.a.test8(m, bits);
    }

    /// Loads the active lanes' bits into a register.
    pub(super) fn active_to(&mut self, active: At, to: Gpr) {
        if self.no_inactive_lanes() {
            self.a.imm(to, 0xff);
            return;
        }
        let m = self.at(active);
        self.a.movzx8(to, m);
    }

    /// Compares the active lanes with all lanes: not equal if one is inactive.
    pub(super) fn compare_all_active(&mut self, active: At) {
        let m = self.at(active);
        self.a.cmp8(m, 0xff);
    }

    fn check_lanes(&mut self, active: At, r: u8) {
        self.bits_of(RCX, r);
        self.test_active(active, RCX);
        let restart = self.restart();
        self.a.jcc(Cc::Ne, restart);
    }
}
