//! Values of a whole wave: in general registers and in slots of the context.

use super::*;

impl Emit<'_> {
    /// Scalars that something needs.
    pub(super) fn scalar_uses(&self) -> Vec<bool> {
        let c = self.c;
        let mut used = vec![false; c.graph.len()];
        for (at, u) in self.uses.iter().enumerate() {
            used[at] |= !u.is_empty();
        }
        for w in &c.sgprs {
            used[w.1 as usize] = true;
        }
        for &id in c.scc.iter().chain(&c.guards) {
            used[id as usize] = true;
        }
        if let Tail::Branch { when, .. } | Tail::Indirect(when) = c.tail {
            used[when as usize] = true;
        }
        for &(_, lane, value) in &c.pokes {
            used[lane as usize] = true;
            used[value as usize] = true;
        }
        for at in (0..c.graph.len()).rev() {
            let node = &c.graph[at];
            used[at] |= matches!(node.op, I::SLoad { .. });
            if used[at] && !node.vec {
                for &i in node.inputs() {
                    used[i as usize] = true;
                }
            }
        }
        used
    }

    pub fn slot(&mut self, id: Id) -> Mem {
        let n = self.slot_of.len() as u16;
        let at = *self.slot_of.entry(id).or_insert(n);
        if at as usize >= SCALARS {
            self.failed = true;
            return ctx!(scalars);
        }
        mem(CTX, (offset_of!(Ctx, scalars) + 8 * at as usize) as i32)
    }

    /// Where a scalar is in memory.
    pub(super) fn smem(&mut self, id: Id) -> Mem {
        match self.node(id).op {
            I::SIn(code) => sgpr_home(code),
            I::Const(v) => {
                // A constant that must be in memory.
                let slot = self.slot(id);
                self.a.imm(RAX, v);
                self.a.store(true, slot, RAX);
                slot
            }
            _ => self.slot(id),
        }
    }

    pub fn sload(&mut self, to: Gpr, id: Id) {
        let n = *self.node(id);
        match n.op {
            I::Const(v) => self.a.imm(to, v),
            I::SIn(code) => self.a.mov(n.out.bits() > 32, to, Rm::M(sgpr_home(code))),
            I::SccIn => self
                .a
                .movzx8(to, mem(WAVE, offset_of!(WaveState, scc) as i32)),
            _ => {
                let slot = self.slot(id);
                self.a.mov(true, to, Rm::M(slot));
            }
        }
    }

    /// Computes a scalar into its slot.
    pub(super) fn scalar(&mut self, id: Id) {
        let n = *self.node(id);
        let [x, y, w] = n.args;
        let wide = n.ty.bits() > 32;
        match n.op {
            I::Const(_) | I::SIn(_) | I::Ballot => return,
            I::SccIn => self.sload(RAX, id),
            I::Pair => {
                self.sload(RAX, x);
                self.sload(RCX, y);
                self.a.shift_imm(4, true, RCX, 32);
                self.a.alu(1, true, RAX, Rm::R(RCX));
            }
            I::Lo => {
                self.sload(RAX, x);
                self.a.mov(false, RAX, Rm::R(RAX));
            }
            I::Hi => {
                self.sload(RAX, x);
                self.a.shift_imm(5, true, RAX, 32);
            }
            I::SLoad { count, offset } => {
                self.scalar_load(id, x, count, offset);
                return;
            }
            I::Part(_) => return,
            I::LaneIn(v) => self.lane_in(v, x),
            I::Alu(o) => self.scalar_alu(o, &n, x, y, w, wide),
            _ => {
                self.failed = true;
                return;
            }
        }
        let slot = self.slot(id);
        self.a.store(true, slot, RAX);
    }

    pub(super) fn scalar_load(&mut self, id: Id, address: Id, count: u8, offset: i32) {
        self.sload(RAX, address);
        if offset != 0 {
            self.a.lea(RAX, mem(RAX, offset));
        }
        let restart = self.restart();
        self.check_range(4 * count as i32, 1, restart);
        let parts: Vec<(Id, u8)> = self
            .c
            .graph
            .iter()
            .enumerate()
            .filter_map(|(at, n)| match n.op {
                I::Part(k) if n.args[0] == id && !n.vec => Some((at as Id, k)),
                _ => None,
            })
            .collect();
        for (part, k) in parts {
            let from = Mem {
                base: BIAS,
                index: Some((RAX, 1)),
                disp: 4 * k as i32,
            };
            self.a.mov(false, RCX, Rm::M(from));
            let slot = self.slot(part);
            self.a.store(true, slot, RCX);
        }
    }

    /// Jumps where not all of the `bytes` from RAX on may be accessed (1 read, 2 written); RCX, RDX and RSI are used.
    pub fn check_range(&mut self, bytes: i32, need: u8, bad: Label) {
        self.a.mov(true, RCX, Rm::R(RAX));
        self.a.alu(5, true, RCX, Rm::M(ctx!(linear_base)));
        self.a.lea(RSI, mem(RCX, bytes - 1));
        self.a.alu(7, true, RCX, Rm::M(ctx!(linear_bytes)));
        self.a.jcc(Cc::Ae, bad);
        self.a.alu(7, true, RSI, Rm::M(ctx!(linear_bytes)));
        self.a.jcc(Cc::Ae, bad);
        self.a.shift_imm(5, true, RCX, 12);
        self.a.shift_imm(5, true, RSI, 12);
        self.a.movzx8(
            RDX,
            Mem {
                base: PAGES,
                index: Some((RCX, 1)),
                disp: 0,
            },
        );
        // AND r32, m8 does not exist; the bytes behind do not matter.
        self.a.movzx8(
            RCX,
            Mem {
                base: PAGES,
                index: Some((RSI, 1)),
                disp: 0,
            },
        );
        self.a.alu(4, false, RDX, Rm::R(RCX));
        let need = (MAPPED | need) as i32;
        self.a.alu_imm(4, false, Rm::R(RDX), need);
        self.a.alu_imm(7, false, Rm::R(RDX), need);
        self.a.jcc(Cc::Ne, bad);
    }

    pub(super) fn scalar_alu(&mut self, o: Op, n: &Node, x: Id, y: Id, w: Id, wide: bool) {
        let bits = n.ty.bits();
        let width = if wide { 64 } else { 32 };
        self.sload(RAX, x);
        let signed = n.ty.is_signed();
        let compare = |e: &mut Self, cc: Cc| {
            e.sload(RCX, y);
            e.a.alu(7, wide, RAX, Rm::R(RCX));
            e.a.setcc(cc, RAX);
        };
        match o {
            Op::Zext | Op::Trunc => {}
            Op::Not if bits == 1 => self.a.alu_imm(6, false, Rm::R(RAX), 1),
            Op::Not => {
                self.a.g(wide, &[0xf7], 2, Rm::R(RAX));
            }
            Op::Neg => self.a.g(wide, &[0xf7], 3, Rm::R(RAX)),
            Op::And | Op::Or | Op::Xor | Op::Add | Op::Sub => {
                self.sload(RCX, y);
                let which = match o {
                    Op::And => 4,
                    Op::Or => 1,
                    Op::Xor => 6,
                    Op::Add => 0,
                    _ => 5,
                };
                self.a.alu(which, wide, RAX, Rm::R(RCX));
            }
            Op::Mul => {
                self.sload(RCX, y);
                self.a.imul(wide, RAX, Rm::R(RCX));
            }
            Op::MulHi => {
                self.sload(RCX, y);
                if signed {
                    self.a.g(true, &[0x63], RAX, Rm::R(RAX));
                    self.a.g(true, &[0x63], RCX, Rm::R(RCX));
                }
                self.a.imul(true, RAX, Rm::R(RCX));
                self.a.shift_imm(5, true, RAX, 32);
            }
            Op::Shl | Op::Shr => {
                let pp = match o {
                    Op::Shl => 1,
                    _ if signed => 2,
                    _ => 3,
                };
                match self.konst(y) {
                    Some(by) if by >= width => {
                        if pp == 2 {
                            self.a.shift_imm(7, wide, RAX, width as u8 - 1);
                        } else {
                            self.a.imm(RAX, 0);
                        }
                    }
                    Some(by) => self
                        .a
                        .shift_imm([0, 4, 7, 5][pp as usize], wide, RAX, by as u8),
                    None => {
                        self.sload(RCX, y);
                        self.a.imm(RDX, width - 1);
                        self.a.imm(RSI, 0);
                        self.a.alu(7, true, RCX, Rm::R(RDX));
                        if pp == 2 {
                            self.a.cmov(Cc::A, true, RCX, Rm::R(RDX));
                        }
                        // The comparison's flags outlive the shift.
                        self.a.shift_by(pp, wide, RAX, RAX, RCX);
                        if pp != 2 {
                            self.a.cmov(Cc::A, true, RAX, Rm::R(RSI));
                        }
                    }
                }
            }
            Op::Eq => compare(self, Cc::E),
            Op::Ne => compare(self, Cc::Ne),
            Op::Lt => compare(self, if signed { Cc::L } else { Cc::B }),
            Op::Le => compare(self, if signed { Cc::Le } else { Cc::Be }),
            Op::Gt => compare(self, if signed { Cc::G } else { Cc::A }),
            Op::Ge => compare(self, if signed { Cc::Ge } else { Cc::Ae }),
            Op::Min | Op::Max => {
                self.sload(RCX, y);
                self.a.alu(7, wide, RCX, Rm::R(RAX));
                let cc = match (o == Op::Min, signed) {
                    (true, true) => Cc::L,
                    (true, false) => Cc::B,
                    (false, true) => Cc::G,
                    (false, false) => Cc::A,
                };
                self.a.cmov(cc, wide, RAX, Rm::R(RCX));
            }
            Op::Select => {
                self.sload(RCX, y);
                self.sload(RDX, w);
                self.a.test(false, RAX, RAX);
                self.a.mov(true, RAX, Rm::R(RCX));
                self.a.cmov(Cc::E, true, RAX, Rm::R(RDX));
            }
            Op::Popcount => {
                self.a.buf.push(0xf3);
                self.a.g(true, &[0x0f, 0xb8], RAX, Rm::R(RAX));
            }
            Op::Clz => {
                self.a.buf.push(0xf3);
                self.a.g(wide, &[0x0f, 0xbd], RAX, Rm::R(RAX));
            }
            Op::Ctz => {
                self.a.buf.push(0xf3);
                self.a.g(wide, &[0x0f, 0xbc], RAX, Rm::R(RAX));
            }
            Op::Abs => {
                self.a.mov(wide, RCX, Rm::R(RAX));
                self.a.g(wide, &[0xf7], 3, Rm::R(RAX));
                self.a.cmov(Cc::S, wide, RAX, Rm::R(RCX));
            }
            _ => self.failed = true,
        }
    }

    pub(super) fn commit_scalars(&mut self) {
        let c = self.c;
        // Registers' old values may be read until the last is written: gather first where they are moved about.
        let mut moves: Vec<(u8, Id)> = Vec::new();
        for &(code, id) in &c.sgprs {
            if matches!(self.node(id).op, I::SIn(_) | I::SccIn) {
                moves.push((code, id));
            }
        }
        for &(_, id) in &moves {
            self.sload(RAX, id);
            let slot = self.slot(id);
            self.a.store(true, slot, RAX);
        }
        if let Some(id) = c.scc {
            self.sload(RAX, id);
            self.a
                .store8(mem(WAVE, offset_of!(WaveState, scc) as i32), RAX);
        }
        let mut i = 0;
        while i < c.sgprs.len() {
            let (code, id) = c.sgprs[i];
            let whole = c.sgprs.get(i + 1).and_then(|&(next, hi)| {
                let (a, b) = (self.node(id), self.node(hi));
                (next == code + 1 && a.op == I::Lo && b.op == I::Hi && a.args[0] == b.args[0])
                    .then_some(a.args[0])
            });
            let whole = whole.filter(|&w| !matches!(self.node(w).op, I::SIn(_)));
            if let Some(whole) = whole {
                self.sload(RAX, whole);
                self.a.store(true, sgpr_home(code), RAX);
                i += 2;
                continue;
            }
            if matches!(self.node(id).op, I::SIn(_) | I::SccIn) {
                let slot = self.slot(id);
                self.a.mov(true, RAX, Rm::M(slot));
            } else {
                self.sload(RAX, id);
            }
            self.a.store(false, sgpr_home(code), RAX);
            i += 1;
        }
    }
}
