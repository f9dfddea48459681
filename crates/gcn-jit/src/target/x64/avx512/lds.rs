//! Stores to LDS at each lane's own address, and of two values a lane to two addresses.

use super::*;
use crate::target::x64::lds::{exec_of, staged};

impl Emit<'_, Avx512> {
    /// In all lanes of `t`: the last address at which so many bytes are within LDS and the limit. Jumps to `none` where
    /// there is none. RAX and RDX are spent.
    pub(super) fn last_in_lds(&mut self, limit: Id, bytes: i32, t: u8, none: Label) {
        self.a.mov(true, RAX, Rm::M(ctx!(lds_bytes)));
        if self.konst(limit).is_none_or(|l| l < u32::MAX as u64) {
            self.sload(RDX, limit);
            self.a.alu(alu::CMP, true, RDX, Rm::R(RAX));
            self.a.cmov(Cc::B, true, RAX, Rm::R(RDX));
        }
        self.a.alu_imm(alu::SUB, true, Rm::R(RAX), bytes);
        self.a.jcc(Cc::S, none);
        self.a.z(op::BCASTD_R, t, 0, Rm::R(RAX));
    }

    /// Opmasks 1 and 2, which may hold values, are put by for code after the block, or loaded again.
    pub(super) fn masks(&mut self, load: bool) {
        for k in [1, 2] {
            let m = ctx!(save_k, 8 * k as usize);
            match load {
                true => self.a.kload16(k, m),
                false => self.a.kstore16(m, k),
            }
        }
    }

    /// Stores the dwords of 16 lanes to LDS where their addresses say. Goes on behind this where several dwords do not lie
    /// whole in LDS or are no multiple of their size: such may meet others' in part.
    pub(super) fn scatter_lds(&mut self, out: &OutOfLine) {
        let (true, Space::Lds, 4, 0, Some(limit)) =
            (out.store, out.space, out.bytes, out.offset, out.limit)
        else {
            return;
        };
        let count = out.data.len();
        if !matches!(count, 1 | 2 | 4) {
            return;
        }
        let ([t, u], other) = (out.free, self.a.label());
        self.masks(false);
        self.last_in_lds(limit, 4 * count as i32, t, other);
        let to = |index: u8, disp: i32| {
            Rm::M(Mem {
                base: RCX,
                index: Some((index, 1)),
                disp,
            })
        };
        self.a.mov(true, RCX, Rm::M(ctx!(lds)));
        if let [d] = out.data[..] {
            // What is beyond the end goes nowhere.
            self.a.zi(op::CMPUD, 1, out.lo, Rm::R(t), keep(K_EXEC), 2);
            self.a.zk(op::SCATTERDD, d, 0, to(out.lo, 0), keep(1));
        } else {
            self.a.zi(op::CMPUD, 1, out.lo, Rm::R(t), keep(K_EXEC), 6);
            let cut = Rm::C(4 * count as u64 - 1);
            self.a.zk(op::TESTMD, 2, out.lo, cut, keep(K_EXEC));
            self.a.kop(kop::OR, 1, 1, 2);
            self.a.kortest(1, 1);
            self.a.jcc(Cc::Ne, other);
            for (half, mix) in [Mix::ZipLow, Mix::ZipHigh].into_iter().enumerate() {
                let mut index = out.lo;
                if half == 0 {
                    self.a.kop(kop::OR, 1, K_EXEC, K_EXEC);
                } else {
                    self.a.kshiftr(1, K_EXEC, 8);
                    self.a.zi(op::EXTRACT256, index, 0, Rm::R(u), ALL, 1);
                    index = u;
                }
                for (n, pair) in out.data.chunks(2).enumerate() {
                    self.mix(mix, t, pair[0], Rm::R(pair[1]));
                    self.a.kop(kop::OR, 2, 1, 1);
                    let at = to(index, 8 * n as i32);
                    self.a.zk(op::SCATTERDQ, t, 0, at, keep(2));
                }
            }
        }
        self.masks(true);
        self.a.jmp(out.back);
        self.a.bind(other);
        self.masks(true);
    }

    /// Jumps unless so many bytes from all addresses on that the staged operands have are within LDS, and these are
    /// multiples of a power of two. All vector registers and opmasks may be spent; RAX and RDX are.
    pub(super) fn staged_in_lds(
        &mut self,
        operands: &[usize],
        limit: Id,
        bytes: i32,
        multiple: u64,
        other: Label,
    ) {
        // The highest address, and the bits that are 1 in some.
        self.a.z(op::XORD, 0, 0, Rm::R(0));
        self.a.z(op::XORD, 1, 1, Rm::R(1));
        for slice in 0..4 {
            self.a.kload16(1, exec_of(slice));
            for &operand in operands {
                let from = Rm::M(staged(operand, slice));
                self.a.zk(op::MAXUD, 0, 0, from, keep(1));
                if multiple > 1 {
                    self.a.zk(op::ORD, 1, 1, from, keep(1));
                }
            }
        }
        self.last_in_lds(limit, bytes, 2, other);
        self.a.zi(op::CMPUD, 1, 0, Rm::R(2), ALL, 6);
        if multiple > 1 {
            self.a.zk(op::TESTMD, 2, 1, Rm::C(multiple - 1), ALL);
            self.a.kop(kop::OR, 1, 1, 2);
        }
        self.a.kortest(1, 1);
        self.a.jcc(Cc::Ne, other);
    }

    /// Stores what is staged to LDS at RCX: all lanes' first values, then the second ones.
    pub(super) fn store_two(&mut self, two: Two) {
        let to = |index: u8| {
            Rm::M(Mem {
                base: RCX,
                index: Some((index, 1)),
                disp: 0,
            })
        };
        for which in 0..2 {
            for slice in 0..4 {
                let data = 4 + which * two.dwords;
                self.a.kload16(1, exec_of(slice));
                self.a
                    .z(op::MOVDQU32, 0, 0, Rm::M(staged(2 * which, slice)));
                self.a.z(op::MOVDQU32, 1, 0, Rm::M(staged(data, slice)));
                if two.dwords == 1 {
                    self.a.zk(op::SCATTERDD, 1, 0, to(0), keep(1));
                    continue;
                }
                let high = Rm::M(staged(data + 1, slice));
                self.a.kshiftr(2, 1, 8);
                self.mix(Mix::ZipLow, 2, 1, high);
                self.a.zk(op::SCATTERDQ, 2, 0, to(0), keep(1));
                self.mix(Mix::ZipHigh, 3, 1, high);
                self.a.zi(op::EXTRACT256, 0, 0, Rm::R(4), ALL, 1);
                self.a.zk(op::SCATTERDQ, 3, 0, to(4), keep(2));
            }
        }
    }
}
