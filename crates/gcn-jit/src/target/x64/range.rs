//! What is remembered of memory between runs of an access: where it may begin. Found out once, it takes a comparison then.

use super::*;
use crate::runtime::context::{OWN_RANGES, RANGES};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// An access's place for what is remembered, by the access's number. Accesses differ in what they need and in how far they
/// reach: where they share a place, a tag says whose range is there.
#[derive(Clone, Copy)]
pub(crate) struct Range(u32);

impl Range {
    pub fn slot(self) -> usize {
        let own = OWN_RANGES;
        match self.0 {
            n if n < own => n as usize,
            n => (own + (n - own) % (RANGES as u32 - own)) as usize,
        }
    }

    fn shared(self) -> bool {
        self.0 >= OWN_RANGES
    }

    pub fn start(self) -> Mem {
        ctx!(ranges, 16 * self.slot())
    }

    pub fn bytes(self) -> Mem {
        ctx!(ranges, 16 * self.slot() + 8)
    }

    fn tag(self) -> Mem {
        ctx!(range_tags, 4 * self.slot())
    }
}

/// The slow path of an access at one address, after the block.
pub(crate) struct ScalarOut {
    from: Label,
    back: Label,
    range: Range,
    bytes: i32,
    need: u8,
    bad: Label,
}

impl Emit<'_> {
    /// A place for another access. No two have one number: code is not made any more when these are used up.
    pub(super) fn new_range(&mut self) -> Range {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_update(Relaxed, Relaxed, |n| n.checked_add(1));
        self.failed |= next.is_err();
        Range(next.unwrap_or(u32::MAX))
    }

    /// Goes to the label where the range is another access's.
    pub(super) fn check_tag(&mut self, range: Range, from: Label) {
        if range.shared() {
            self.a
                .alu_imm(alu::CMP, false, Rm::M(range.tag()), range.0 as i32);
            self.a.jcc(Cc::Ne, from);
        }
    }

    /// The range is this access's from now on. RAX is lost.
    pub(super) fn tag(&mut self, range: Range) {
        if range.shared() {
            self.a.imm(RAX, range.0 as u64);
            self.a.store(false, range.tag(), RAX);
        }
    }

    /// Sees that a scalar load of so many bytes at RAX is permitted. RCX, RDX and RSI are lost.
    pub(super) fn scalar_range(&mut self, bytes: i32) {
        let restart = self.restart();
        self.range_of(bytes, 1, restart);
    }

    /// The same of an access that needs what is told (1 read, 2 written): jumps where it is not permitted.
    pub(super) fn range_of(&mut self, bytes: i32, need: u8, bad: Label) {
        let range = self.new_range();
        let (from, back) = (self.a.label(), self.a.label());
        self.check_tag(range, from);
        self.a.mov(true, RCX, Rm::R(RAX));
        self.a.alu(alu::SUB, true, RCX, Rm::M(range.start()));
        self.a.alu(alu::CMP, true, RCX, Rm::M(range.bytes()));
        self.a.jcc(Cc::Ae, from);
        self.a.bind(back);
        self.scalar_outs.push(ScalarOut {
            from,
            back,
            range,
            bytes,
            need,
            bad,
        });
    }

    /// The code after the block: it looks, and remembers the page of the first byte.
    pub(super) fn scalar_outs(&mut self) {
        for out in std::mem::take(&mut self.scalar_outs) {
            self.a.bind(out.from);
            self.check_range(out.bytes, out.need, out.bad);
            self.a.mov(true, RCX, Rm::R(RAX));
            self.a.mov(true, RDX, Rm::R(RAX));
            self.a.alu(alu::SUB, true, RCX, Rm::M(ctx!(linear_base)));
            self.a.alu_imm(alu::AND, true, Rm::R(RCX), 4095);
            // Where the page begins, and how far a load may begin behind that.
            self.a.alu(alu::SUB, true, RDX, Rm::R(RCX));
            self.a.store(true, out.range.start(), RDX);
            self.a.imm(RDX, (4096 - out.bytes + 1) as u64);
            self.a.store(true, out.range.bytes(), RDX);
            self.a.mov(true, RDX, Rm::R(RAX));
            self.tag(out.range);
            self.a.mov(true, RAX, Rm::R(RDX));
            self.a.jmp(out.back);
        }
    }
}
