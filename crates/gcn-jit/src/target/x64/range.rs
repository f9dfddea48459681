//! Ranges of memory that an access remembers between runs: the addresses at which it may begin. After the first look-up the check is one comparison.

use super::*;
use crate::context::{AroundRequest, OWN_RANGES, RANGES};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The slot in which an access's range is remembered, by the access's number. Accesses differ in permissions and extent: if several
/// share a slot, its tag names the access whose range it holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    /// Its number in the process.
    number: u32,
    /// Its index among the region's ranges.
    own: u32,
}

/// Returns the slot in which the access with a number remembers its range.
fn slot(number: u32) -> usize {
    match number {
        n if n < OWN_RANGES => n as usize,
        n => (OWN_RANGES + (n - OWN_RANGES) % (RANGES as u32 - OWN_RANGES)) as usize,
    }
}

/// Until the code is finished, displacements from this value on stand for bytes of ranges: the range's index in the region,
/// and the byte. Range numbers are specific to the process, so stored code lists the positions that contain them.
pub(crate) const UNRESOLVED: i32 = 1 << 30;
const APART: i32 = 64;
/// The offset of the tag: the tag's bytes follow the range's.
const TAG: i32 = size_of::<[u64; 2]>() as i32;

/// A field in the code that contains the number of a range or depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// A 32-bit displacement of a byte of the range, or of the tag after it.
    Displacement(u8),
    /// The 32-bit number.
    Number,
    /// The 16-bit slot in the context.
    Slot,
}

/// The position of a field in the code that depends on the number of one of the region's ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixup {
    pub at: u32,
    pub range: u32,
    pub part: Part,
}

impl Fixup {
    /// Returns the fixup of an emitted displacement. `None` if it is beyond the bytes of a range.
    fn of(at: u32, disp: i32) -> Option<Fixup> {
        let by = disp - UNRESOLVED;
        let byte = by % APART;
        (byte < TAG + 4).then_some(Fixup {
            at,
            range: (by / APART) as u32,
            part: Part::Displacement(byte as u8),
        })
    }

    /// Returns true if the fixup is within `code` bytes of code and belongs to one of `ranges` ranges.
    pub fn fits(&self, code: usize, ranges: usize) -> bool {
        let bytes = if self.part == Part::Slot { 2 } else { 4 };
        self.at as usize + bytes <= code && (self.range as usize) < ranges
    }

    /// Patches the code for the range's number.
    fn apply(&self, code: &mut [u8], number: u32) {
        let slot = slot(number);
        let at = self.at as usize;
        let dword = match self.part {
            Part::Displacement(byte) if (byte as i32) < TAG => {
                offset_of!(Ctx, remembered.ranges) + 16 * slot + byte as usize
            }
            Part::Displacement(byte) => {
                offset_of!(Ctx, remembered.tags) + 4 * slot + (byte as i32 - TAG) as usize
            }
            Part::Number => number as usize,
            Part::Slot => {
                code[at..at + 2].copy_from_slice(&(slot as u16).to_le_bytes());
                return;
            }
        };
        code[at..at + 4].copy_from_slice(&(dword as u32).to_le_bytes());
    }
}

/// Patches the code for the ranges' numbers.
pub fn apply_all(code: &mut [u8], fixups: &[Fixup], numbers: &[u32]) {
    for fixup in fixups {
        fixup.apply(code, numbers[fixup.range as usize]);
    }
}

/// Returns the fixups of the displacements that the assembler recorded.
pub(super) fn displacements(recorded: &[(u32, i32)]) -> Option<Vec<Fixup>> {
    recorded
        .iter()
        .map(|&(at, disp)| Fixup::of(at, disp))
        .collect()
}

// Numbers must not fit in 8-bit immediates, and slots must fit in 16 bits.
const _: () = assert!(OWN_RANGES > i8::MAX as u32 && RANGES <= 1 << 16);

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Allocates numbers for code that was compiled before, whose first `alone` ranges have their own slots. `None` if no
/// such numbers are left: the code must be recompiled.
pub fn numbers(count: u32, alone: u32) -> Option<Vec<u32>> {
    let enough = |first: u32| {
        let end = first.checked_add(count)?;
        (alone == 0 || first.checked_add(alone)? <= OWN_RANGES).then_some(end)
    };
    let first = NEXT.fetch_update(Relaxed, Relaxed, enough).ok()?;
    Some((first..first + count).collect())
}

/// Returns how many numbers, at the beginning, have their own slots.
pub fn alone(numbers: &[u32]) -> u32 {
    numbers.iter().take_while(|&&n| n < OWN_RANGES).count() as u32
}

impl Range {
    fn shared(self) -> bool {
        self.number >= OWN_RANGES
    }

    fn at(self, byte: i32) -> Mem {
        mem(CTX, UNRESOLVED + APART * self.own as i32 + byte)
    }

    pub fn start(self) -> Mem {
        self.at(0)
    }

    pub fn bytes(self) -> Mem {
        self.at(8)
    }

    /// The upper half of the first address.
    pub fn upper(self) -> Mem {
        self.at(4)
    }

    fn tag(self) -> Mem {
        self.at(TAG)
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

/// The slow path of an access to a row, after the block.
pub(crate) struct RowOut {
    from: Label,
    back: Label,
    range: Range,
    need: u8,
    bad: Label,
}

/// The out-of-line code of an access that the page map refuses: it asks the runtime.
pub(crate) struct ExactOut {
    pub from: Label,
    pub back: Label,
    pub bytes: i32,
    pub need: u8,
    pub bad: Label,
}

impl<V: Vectors> Emit<'_, V> {
    /// Allocates a range for another access. Numbers are not reused: when they are used up, no more code is compiled.
    pub(super) fn new_range(&mut self) -> Range {
        let next = NEXT.fetch_update(Relaxed, Relaxed, |n| n.checked_add(1));
        let own = self.out.ranges.len() as u32;
        self.out.too_large |= next.is_err() || own as i32 >= (i32::MAX - UNRESOLVED) / APART;
        let number = next.unwrap_or(u32::MAX);
        self.out.ranges.push(number);
        Range { number, own }
    }

    /// Marks the last bytes of code as part of a range.
    fn fixup(&mut self, range: Range, part: Part, before: usize) {
        let at = (self.a.buf.len() - before) as u32;
        let range = range.own;
        self.out.fixups.push(Fixup { at, range, part });
    }

    /// Loads a helper's argument into RSI, with the number of the remembered range in bits 16 to 31.
    pub(super) fn ask_range(&mut self, what: u64, range: Range) {
        self.a.imm64(RSI, what & !(0xffff << 16));
        self.fixup(range, Part::Slot, 6);
    }

    /// Passes the slot of a second range to the helper that looks ranges up. Returns what the helper's argument says of the two.
    pub(super) fn ask_second_range(&mut self, first: Range, second: Range) -> u64 {
        self.a.store_imm(ctx!(lookup.second), 0);
        self.fixup(second, Part::Slot, 4);
        let own = !first.shared() && !second.shared();
        AroundRequest::TWO | if own { AroundRequest::OWN } else { 0 }
    }

    /// Jumps to the label if the slot holds another access's range.
    pub(super) fn check_tag(&mut self, range: Range, from: Label) {
        if range.shared() {
            self.a
                .alu_imm(alu::CMP, false, Rm::M(range.tag()), range.number as i32);
            self.fixup(range, Part::Number, 4);
            self.a.jcc(Cc::Ne, from);
        }
    }

    /// Marks the slot as holding this access's range. RAX is clobbered.
    pub(super) fn tag(&mut self, range: Range) {
        if range.shared() {
            self.a.imm(RAX, range.number as u64);
            self.fixup(range, Part::Number, 4);
            self.a.store(false, range.tag(), RAX);
        }
    }

    /// `distance` becomes the distance of an address from the range's start, and flags tell whether it is below the range's length.
    pub(super) fn within(&mut self, range: Range, address: Gpr, distance: Gpr) {
        self.a.mov(true, distance, Rm::R(address));
        self.a.alu(alu::SUB, true, distance, Rm::M(range.start()));
        self.a.alu(alu::CMP, true, distance, Rm::M(range.bytes()));
    }

    /// Jumps to the first label that is returned if an access at RAX is not within what is remembered; the second one comes next. RCX is clobbered.
    fn remembered(&mut self, range: Range) -> [Label; 2] {
        let (from, back) = (self.a.label(), self.a.label());
        self.check_tag(range, from);
        self.within(range, RAX, RCX);
        self.a.jcc(Cc::Ae, from);
        self.a.bind(back);
        [from, back]
    }

    /// Checks that a scalar load of `bytes` bytes at RAX is permitted. RCX, RDX and RSI are clobbered.
    pub(super) fn scalar_range(&mut self, bytes: i32) {
        let restart = self.restart();
        self.range_of(bytes, 1, restart);
    }

    /// Like [`Emit::scalar_range`], for an access that needs the permissions `need` (1 read, 2 write): jumps to `bad` if it is not permitted.
    pub(super) fn range_of(&mut self, bytes: i32, need: u8, bad: Label) {
        let range = self.new_range();
        let [from, back] = self.remembered(range);
        self.out_of_line.scalar.push(ScalarOut {
            from,
            back,
            range,
            bytes,
            need,
            bad,
        });
    }

    /// Jumps to `bad` if 64 bytes at RAX may not be accessed as `need` says. The rows that a block accesses are mostly in one array, so all have one
    /// range, which is more than a page. RCX, RDX and RSI are clobbered.
    pub(super) fn row_range(&mut self, need: u8, bad: Label) {
        let stores = (need > 1) as usize;
        let range = match self.row_ranges[stores] {
            Some(range) => range,
            None => self.new_range(),
        };
        self.row_ranges[stores] = Some(range);
        let [from, back] = self.remembered(range);
        self.out_of_line.rows.push(RowOut {
            from,
            back,
            range,
            need,
            bad,
        });
    }

    /// Emits the code after the block that looks up the memory around rows.
    fn rows_out_of_line(&mut self) {
        const BYTES: i32 = 64;
        for out in std::mem::take(&mut self.out_of_line.rows) {
            self.a.bind(out.from);
            let exact = self.a.label();
            self.a.store(true, ctx!(lookup.address), RAX);
            if let Some(call) = self.common.row_call {
                self.ask_range((BYTES as u64) << 32 | out.need as u64, out.range);
                self.a.call_label(call);
                self.a.test(false, RAX, RAX);
                self.a.jcc(Cc::Ne, exact);
                self.tag(out.range);
                self.a.mov(true, RAX, Rm::M(ctx!(lookup.address)));
                self.a.jmp(out.back);
            }
            self.a.bind(exact);
            self.a.mov(true, RAX, Rm::M(ctx!(lookup.address)));
            let refused = self.a.label();
            self.check_pages(BYTES, out.need, refused, out.bad);
            self.a.jmp(out.back);
            self.a.bind(refused);
            self.ask_exact(BYTES, out.need, None, out.bad);
            self.a.jmp(out.back);
        }
    }

    /// Emits the code after the block, which looks up the page of the first byte and remembers it.
    pub(super) fn scalar_out_of_line(&mut self) {
        self.rows_out_of_line();
        for out in std::mem::take(&mut self.out_of_line.scalar) {
            self.a.bind(out.from);
            let refused = self.a.label();
            self.check_pages(out.bytes, out.need, refused, out.bad);
            self.a.mov(true, RCX, Rm::R(RAX));
            self.a.mov(true, RDX, Rm::R(RAX));
            self.a.alu(alu::SUB, true, RCX, Rm::M(ctx!(memory.start)));
            self.a.alu_imm(alu::AND, true, Rm::R(RCX), 4095);
            // The range is the page's start, and the number of offsets at which a load may begin.
            self.a.alu(alu::SUB, true, RDX, Rm::R(RCX));
            self.a.store(true, out.range.start(), RDX);
            self.a.imm(RDX, (4096 - out.bytes + 1) as u64);
            self.a.store(true, out.range.bytes(), RDX);
            self.a.mov(true, RDX, Rm::R(RAX));
            self.tag(out.range);
            self.a.mov(true, RAX, Rm::R(RDX));
            self.a.jmp(out.back);
            self.a.bind(refused);
            self.ask_exact(out.bytes, out.need, Some(out.range), out.bad);
            self.a.jmp(out.back);
        }
        for out in std::mem::take(&mut self.out_of_line.exact) {
            self.a.bind(out.from);
            self.ask_exact(out.bytes, out.need, None, out.bad);
            self.a.jmp(out.back);
        }
    }

    /// Asks the runtime about an access at RAX that the page map refuses, and jumps to `bad` if it is not permitted. A given range
    /// remembers what is permitted around the access. RCX, RDX and RSI are clobbered.
    fn ask_exact(&mut self, bytes: i32, need: u8, range: Option<Range>, bad: Label) {
        self.a.store(true, ctx!(lookup.address), RAX);
        let what = (bytes as u64) << 32 | need as u64;
        match range {
            Some(range) => self.ask_range(what | 1 << 8, range),
            None => self.a.imm(RSI, what),
        }
        let call = self.common.exact_call;
        self.a.call_label(call);
        self.a.test(false, RAX, RAX);
        self.a.jcc(Cc::Ne, bad);
        if let Some(range) = range {
            self.tag(range);
        }
        self.a.mov(true, RAX, Rm::M(ctx!(lookup.address)));
    }
}
