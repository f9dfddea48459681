//! Memory at 16 lanes' own addresses: gathers and scatters of eight at a time, after each lane's page has been looked up.

use super::*;

impl Emit<'_> {
    /// T: eight lanes' guest addresses; opmask 1: which of them are on. Jumps to `bad` where not all of those may be
    /// accessed by plain instructions. U, V and opmask 2 are spent.
    fn eight(&mut self, out: &Out, half: u8, [t, u, v]: [u8; 3], bad: Label) {
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

    /// Eight dwords; those of lanes that are off become 0.
    fn gather_to(&mut self, to: u8, at: Mem) {
        self.a.kop(kop::OR, 2, 1, 1);
        self.a.evex(op::XORD, 1, to, to, Rm::R(to), ALL, None);
        self.a
            .evex(op::GATHERQD, 2, to, 0, Rm::M(at), keep(2), None);
    }

    /// Loads each lane's elements or stores one, or jumps to `bad`, where all can be done again. Opmasks 1 and 2 are spent.
    pub(super) fn lane_by_lane(&mut self, out: &Out, bad: Label) {
        let [t, u] = out.free;
        let taken =
            |r: u8| [out.lo, t, u].contains(&r) || out.hi == Some(r) || out.data.contains(&r);
        let v = (0..32).find(|&r| !taken(r)).unwrap_or(31);
        self.a.z(op::MOVDQU32_ST, v, 0, Rm::M(ctx!(save)));
        let failed = self.a.label();
        let done = self.a.label();
        for half in 0..2 {
            self.eight(out, half, [t, u, v], failed);
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
