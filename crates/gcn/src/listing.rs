//! Prints code line by line, in parts that several threads can print.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use gcn_isa::decode::Decoder;
use gcn_isa::flow::branch_target;
use gcn_isa::format::{Bits, Encoding, layout_of};
use gcn_isa::inst::Flags;
use gcn_isa::operand::VGPR0;
use gcn_isa::plan::Plans;
use gcn_isa::print::{Style, push_hex_digits};
use gcn_isa::shape::{Access, Role, Slot};
use gcn_isa::text::{Sink, Text};
use gcn_isa::{Field, Insn, Target};

use crate::dis::Show;

/// The lines before the instruction at an address.
#[derive(Clone, Debug, Default)]
pub struct Mark {
    /// Complete lines about the code that ends here; they come first.
    pub ends: String,
    /// Complete lines: labels, directives, comments.
    pub text: String,
    /// The label among them that branches to the address use.
    pub name: Option<String>,
    /// The code up to this address is not printed: the lines stand for it.
    pub until: Option<u64>,
    /// The code that is not printed is padding, which must be printed if a branch goes there. Otherwise it is data, which
    /// contains no branches.
    pub padding: bool,
}

/// Marks by address.
pub type Marks = BTreeMap<u64, Mark>;

/// Expressions by the address of the literal that they replace, or of the branch whose target they are.
pub type Fixes = BTreeMap<u64, String>;

/// The number of bytes of code in a part, up to the next instruction: its text stays in the cache until it is written.
const PART: usize = 32 << 10;

/// The initial size of the buffer for the text of a part.
const TEXT: usize = 256 << 10;

/// Bytes of code, and the options of printing them.
pub struct Listing<'a> {
    decoder: Decoder,
    target: Target,
    style: Style,
    bytes: &'a [u8],
    labelled: Option<Labelled<'a>>,
}

/// The maximum length of text that is assembled at once to check its rules.
const MOST_CHECKED: usize = 1 << 20;

/// The properties of an instruction's row and form that determine whether it obeys the rules about operands.
#[derive(Clone, Copy)]
struct FormRules {
    kept: Rules,
    /// The fields of VGPRs whose numbers the rules do not depend on, and their values for v0.
    vgprs: [(Bits, u32); 6],
    /// The number of these fields.
    count: u8,
}

/// The instructions of a form that cannot break a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rules {
    /// None: the assembler must check them.
    Checked,
    /// Those whose first source is a VGPR, a numbered SGPR or a constant.
    Vector,
    /// Those that [`keeps_scalar_rules`] accepts.
    Scalar,
}

impl FormRules {
    /// Determines the rules of an instruction's form.
    fn of(insn: &Insn) -> FormRules {
        let closer = [
            Flags::READS_VCC,
            Flags::READS_M0,
            Flags::EARLY_WRITE,
            Flags::REGISTERS,
        ];
        let kept = match insn.encoding {
            _ if closer.iter().any(|flag| insn.row.flags.has(*flag)) => Rules::Checked,
            Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc if plain_vector(insn) => Rules::Vector,
            Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc => Rules::Scalar,
            _ => Rules::Checked,
        };
        let (vgprs, count) = vgpr_fields(insn);
        FormRules { kept, vgprs, count }
    }

    /// Returns true if an instruction of the form can break no rule.
    #[inline]
    fn keeps(&self, insn: &Insn) -> bool {
        match self.kept {
            Rules::Vector => matches!(insn.code(Role::Src0), Some(0..=101 | 128..=248 | 255..)),
            Rules::Scalar => keeps_scalar_rules(insn),
            _ => false,
        }
    }

    /// Returns the bits of an instruction with most VGPRs replaced by v0. Whether it obeys the rules depends only on them.
    ///
    /// Only the last VGPRs are distinguished, because a tuple may extend past them, and all VGPRs where a destination may
    /// overlap a source.
    #[inline]
    fn bits(&self, insn: &Insn) -> u64 {
        /// The number of VGPRs that no tuple extends past.
        const FAR: u32 = 240;
        let mut bits = insn.bits;
        for (field, v0) in self.vgprs.iter().take(self.count as usize) {
            if field.get(bits).wrapping_sub(*v0) < FAR {
                bits = field.set(bits, *v0);
            }
        }
        bits
    }
}

/// Returns true if a short instruction of the vector ALU has one scalar source and no operand is a pair of registers.
fn plain_vector(insn: &Insn) -> bool {
    let plain = [Role::Vdst, Role::Src0, Role::Src1, Role::CmpDst];
    (insn.row.shape.slots.iter()).all(|slot| {
        let narrow = slot.role == Role::CmpDst || insn.dwords(slot) <= 1;
        // A source that is written as well (v_swap_b32's) must be a VGPR, which the code of a source does not show.
        let read = slot.access == Access::Read || !matches!(slot.role, Role::Src0 | Role::Src1);
        plain.contains(&slot.role) && narrow && read
    })
}

/// Returns true if an instruction of the scalar ALU writes a register, and its operands are numbered SGPRs, VCC and EXEC,
/// aligned as their sizes require, and constants.
fn keeps_scalar_rules(insn: &Insn) -> bool {
    // Other instructions have more rules.
    let computes = insn.encoding == Encoding::Sopc || insn.row.shape.slot(Role::Sdst).is_some();
    computes
        && (insn.row.shape.slots.iter()).all(|slot| {
            let source = matches!(slot.role, Role::Ssrc0 | Role::Ssrc1);
            let register = match insn.dwords(slot) {
                0 | 1 => 1,
                2 => 2,
                _ => 4,
            };
            match insn.code(slot.role) {
                Some(128..=248 | 255) => source && slot.access == Access::Read,
                Some(code @ (0..=95 | 106 | 107 | 126 | 127)) => {
                    (source || slot.role == Role::Sdst)
                        && code.is_multiple_of(register)
                        && (code <= 95 || register <= 2)
                }
                _ => false,
            }
        })
}

/// Returns the fields for [`FormRules::vgprs`], and their number.
fn vgpr_fields(insn: &Insn) -> ([(Bits, u32); 6], u8) {
    let mut fields = [(Bits { lo: 0, len: 0 }, 0); 6];
    let layout = layout_of(insn.encoding, insn.generation());
    let Some(layout) = layout.filter(|_| !insn.row.flags.has(Flags::EARLY_WRITE)) else {
        return (fields, 0);
    };
    let long = matches!(
        insn.encoding,
        Encoding::Vop3 | Encoding::Vop3b | Encoding::Vop3p
    );
    let field = |slot: &Slot| {
        Some(match slot.role {
            Role::Vdst | Role::VdstIfGlc => (Field::Vdst, 0),
            // These have 9 bits, and VGPRs come after the scalar operands.
            Role::Src0 if long => (Field::Src0, VGPR0 as u32),
            Role::Src1 if long => (Field::Src1, VGPR0 as u32),
            Role::Src2 if long => (Field::Src2, VGPR0 as u32),
            Role::DsAddr | Role::FlatAddr => (Field::Addr, 0),
            Role::Data0 => (Field::Data0, 0),
            Role::Data1 => (Field::Data1, 0),
            Role::Vdata => (Field::Vdata, 0),
            Role::BufAddr | Role::ImgAddr => (Field::Vaddr, 0),
            _ => return None,
        })
    };
    let found = insn.row.shape.slots.iter().filter_map(field);
    let mut count = 0;
    for (to, (field, v0)) in fields.iter_mut().zip(found) {
        *to = (layout.field(field), v0);
        count += 1;
    }
    (fields, count)
}

/// The rules of the forms seen so far.
struct AllRules {
    /// By [`Insn::form`]: the index in `list` plus one, or 0.
    known: Vec<u16>,
    list: Vec<FormRules>,
}

impl AllRules {
    fn new() -> AllRules {
        AllRules {
            known: vec![0; Insn::forms()],
            list: Vec::new(),
        }
    }

    #[inline]
    fn of(&mut self, insn: &Insn) -> &FormRules {
        let known = &mut self.known[insn.form()];
        if *known == 0 {
            self.list.push(FormRules::of(insn));
            *known = self.list.len() as u16;
        }
        &self.list[*known as usize - 1]
    }
}

/// A fast hash of a few bits. Input that makes it collide costs only time.
#[derive(Default)]
pub(crate) struct BitsHasher(u64);

impl Hasher for BitsHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(*byte as u64);
        }
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(29) ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// Returns true if the text of instructions assembles: they obey all rules.
fn assembles(text: &Text) -> bool {
    let options = gcn_asm::Options {
        text_only: true,
        ..gcn_asm::Options::default()
    };
    let text = String::from_utf8_lossy(text.as_bytes());
    gcn_asm::assemble(&text, "", &options).object.is_some()
}

/// The labels, expressions and comments of [`Listing::labelled`].
#[derive(Clone, Copy)]
pub struct Labels<'p, 'a> {
    /// The address of the first byte.
    pub base: u64,
    /// The optional parts of the listing.
    pub show: Show,
    /// The existing labels, at addresses that are multiples of 4.
    pub named: &'a Marks,
    /// Expressions that replace operands.
    pub fixes: &'a Fixes,
    /// The prefix of the names of branch targets.
    pub prefix: &'p str,
}

/// The additional properties of a listing that is not plain.
struct Labelled<'a> {
    /// The address of the first byte.
    base: u64,
    show: Show,
    named: &'a Marks,
    fixes: &'a Fixes,
    /// The prefix of the labels of branch targets.
    prefix: String,
    /// The dwords that are branch targets: instructions, or the end.
    labels: BitSet,
    /// The dwords that are branch targets or have a mark.
    marked: BitSet,
    /// The dwords whose marks stand for code.
    replaced: BitSet,
    outline: Arc<Outline>,
    /// The dwords that have an expression.
    fixed: BitSet,
}

/// The memory that a thread reuses from part to part.
pub struct Scratch {
    of: (Target, Style),
    plans: Plans,
    texts: Texts,
    text: Text,
    /// The text of data.
    pub(crate) data: Vec<u8>,
}

impl Scratch {
    /// The scratch memory for a target and a syntax.
    pub fn new(target: Target, style: Style) -> Scratch {
        Scratch {
            of: (target, style),
            plans: Plans::new(target, style),
            texts: Texts::new(),
            text: Text::with_room(TEXT),
            data: Vec::new(),
        }
    }
}

/// The text that was printed for one instruction.
enum Printed {
    /// A line without its end, for a number of bytes; with `recurs`, their bits alone determine it.
    Line { bytes: usize, recurs: bool },
    /// Complete lines up to this position.
    Lines(usize),
}

impl Labelled<'_> {
    /// Returns the bits and the length of an instruction whose text they determine; `None` if it has an expression or a
    /// label in its middle.
    #[inline(always)]
    fn recurring(&self, bytes: &[u8], at: usize) -> Option<(u64, usize)> {
        let (bits, len) = self.outline.bits(bytes, at)?;
        let own =
            self.fixed.has(at) || self.fixed.has(at + 4) || len > 4 && self.marked.has(at + 4);
        (!own).then_some((bits, len))
    }

    /// Returns the first position from `at` on at which a part may begin: at an instruction, but not within a run of zeros,
    /// which is one line, or within code that a mark stands for.
    fn border(&self, bytes: &[u8], at: usize) -> usize {
        let mut at = at;
        while at < bytes.len()
            && at > 0
            && (!self.outline.starts.has(at) || is_zero(bytes, at) || self.is_replaced(at))
        {
            at += 4;
        }
        // Less than a dword at the end belongs to the last part.
        if bytes.len() < at + 4 {
            bytes.len() / 4 * 4
        } else {
            at
        }
    }

    /// Returns true if a mark before this position stands for the code here.
    fn is_replaced(&self, at: usize) -> bool {
        let address = self.base.wrapping_add(at as u64);
        let before = self.named.range(..address).next_back();
        before.is_some_and(|(_, mark)| mark.until.is_some_and(|until| until > address))
    }
}

/// A set of dwords of the code, and of its end: one bit each.
#[derive(Clone)]
struct BitSet(Vec<u64>);

impl BitSet {
    fn new(bytes: usize) -> BitSet {
        BitSet(vec![0; bytes / 4 / 64 + 1])
    }

    #[inline(always)]
    fn set(&mut self, byte: usize) {
        if let Some(word) = self.0.get_mut(byte / 256) {
            *word |= 1 << (byte / 4 % 64);
        }
    }

    #[inline(always)]
    fn has(&self, byte: usize) -> bool {
        (self.0.get(byte / 256)).is_some_and(|word| word >> (byte / 4 % 64) & 1 != 0)
    }
}

/// The number of bytes of code per word of [`BitSet`].
const BLOCK: usize = 256;

/// The starts of instructions.
pub(crate) struct Outline {
    /// The dwords at which instructions begin or the code ends.
    starts: BitSet,
    /// The dwords among `starts` that are branches.
    branches: BitSet,
}

impl Outline {
    pub(crate) fn new(decoder: &Decoder, bytes: &[u8]) -> Outline {
        let mut starts = BitSet::new(bytes.len());
        let mut branches = starts.clone();
        let mut scan = Scan::default();
        let words = starts.0.iter_mut().zip(&mut branches.0);
        for (n, (starts, branches)) in words.enumerate() {
            (*starts, *branches) = scan.block(decoder, bytes, n * BLOCK);
        }
        Outline { starts, branches }
    }

    /// Returns the bits of the instruction that begins at a position, and its length: two dwords if it has two, otherwise one.
    /// `None` near the end of the code. The first dword alone determines the number.
    #[inline(always)]
    pub(crate) fn bits(&self, bytes: &[u8], at: usize) -> Option<(u64, usize)> {
        let both = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
        Some(match self.starts.has(at + 4) {
            true => (both & u32::MAX as u64, 4),
            false => (both, 8),
        })
    }
}

/// Returns a slot for bits in a table whose size is a power of two.
#[inline(always)]
pub(crate) fn slot_of(bits: u64, size: usize) -> usize {
    (bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & (size - 1)
}

/// The length of the longest text of [`Texts`].
const LONGEST: usize = 54;

/// The bits of an instruction, in 8 bytes; the length of its text, 0 if there is none; the text. All are in one line of the
/// processor's cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Known([u8; 64]);

/// The texts of instructions printed before, each in the slot of a hash of its bits: in compiled code most instructions recur.
struct Texts {
    list: Vec<Known>,
    /// The number of instructions that were looked up since the last decision about [`Texts::pause`], and the number found.
    sought: u32,
    found: u32,
    /// The number of instructions that are not looked up, because few of the earlier ones were found.
    pause: u32,
}

impl Texts {
    const fn new() -> Texts {
        Texts {
            list: Vec::new(),
            sought: 0,
            found: 0,
            pause: 0,
        }
    }

    /// Reserves slots for the instructions of code of this many bytes. Existing texts remain if there is room.
    fn reserve(&mut self, bytes: usize) {
        let slots = (bytes / 16).next_power_of_two().clamp(1 << 6, 1 << 12);
        if self.list.len() < slots {
            self.list = vec![Known([0; 64]); slots];
        }
    }

    /// Returns the slot for an instruction of these bits; `None` if it is not looked up.
    #[inline(always)]
    fn slot(&mut self, bits: u64) -> Option<usize> {
        const SOME: u32 = 1 << 10;
        const PAUSE: u32 = 1 << 14;
        if self.pause > 0 {
            self.pause -= 1;
            return None;
        }
        self.sought += 1;
        if self.sought == SOME {
            if self.found < SOME / 8 {
                self.pause = PAUSE;
            }
            (self.sought, self.found) = (0, 0);
        }
        Some(slot_of(bits, self.list.len().max(1)))
    }

    /// Appends the text in a slot if it is that of an instruction of these bits.
    #[inline(always)]
    fn print(&mut self, slot: usize, bits: u64, out: &mut Text) -> bool {
        let Some(Known(known)) = self.list.get(slot) else {
            return false;
        };
        let (key, text) = known.split_at(8);
        if key != bits.to_le_bytes() || text[0] == 0 {
            return false;
        }
        // A copy of a fixed size is fast.
        if let Some(text) = text.last_chunk::<{ LONGEST + 1 }>() {
            self.found += 1;
            out.push_some(text, known[8] as usize);
        }
        true
    }

    /// Stores the text of an instruction of these bits.
    #[inline]
    fn keep(&mut self, slot: usize, bits: u64, text: &[u8]) {
        if let Some(Known(known)) = self.list.get_mut(slot)
            && (1..=LONGEST).contains(&text.len())
        {
            known[..8].copy_from_slice(&bits.to_le_bytes());
            known[8] = text.len() as u8;
            known[9..9 + text.len()].copy_from_slice(text);
        }
    }
}

/// Finds the first dwords of instructions, block by block. Each dword is decoded as if an instruction began there, which is
/// independent of the others; bit operations then find the dwords that are second ones.
#[derive(Default)]
struct Scan {
    /// True if the previous block ended inside an instruction.
    inside: bool,
}

impl Scan {
    /// Returns the dwords of the block at `from`, which must be the next one, at which an instruction begins or the bytes end;
    /// and those of them that are branches.
    fn block(&mut self, decoder: &Decoder, bytes: &[u8], from: usize) -> (u64, u64) {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        let rest = bytes.get(from..).unwrap_or_default();
        let (mut long, mut branches) = (0u64, 0u64);
        for (n, dword) in rest.chunks_exact(4).take(BLOCK / 4).enumerate() {
            let (two, branch) = decoder.skim_dword([dword[0], dword[1], dword[2], dword[3]]);
            long |= (two as u64) << n;
            branches |= (branch as u64) << n;
        }
        if rest.len() / 4 <= BLOCK / 4 {
            // An incomplete instruction at the end is a dword of data.
            long &= !(1u64 << (BLOCK / 4 - 1)).unbounded_shr((BLOCK / 4 - rest.len() / 4) as u32);
        }
        // In a run of dwords that all look like first dwords of long instructions, every other one is. An addition to a run
        // carries to its end, which distinguishes runs that begin at even and at odd positions.
        long &= !(self.inside as u64);
        let follows = long << 1 | self.inside as u64;
        let odd = long & !EVEN & !follows;
        let (even, inside) = odd.overflowing_add(long);
        self.inside = inside;
        let starts = !((EVEN ^ even << 1) & follows);
        (starts, branches & starts)
    }
}

impl<'a> Listing<'a> {
    /// A listing with one instruction per line and nothing else, for `--plain`.
    pub fn plain(target: Target, bytes: &'a [u8], style: Style) -> Listing<'a> {
        Listing {
            decoder: Decoder::new(target),
            target,
            style,
            bytes,
            labelled: None,
        }
    }

    /// A listing that assembles to the same bytes, with labels at branch targets.
    pub fn labelled(
        target: Target,
        bytes: &'a [u8],
        style: Style,
        labels: Labels<'_, 'a>,
    ) -> Listing<'a> {
        let outline = Outline::new(&Decoder::new(target), bytes);
        Listing::outlined(target, bytes, style, labels, Arc::new(outline))
    }

    /// Like [`Listing::labelled`], with the outline of the code.
    pub(crate) fn outlined(
        target: Target,
        bytes: &'a [u8],
        style: Style,
        labels: Labels<'_, 'a>,
        outline: Arc<Outline>,
    ) -> Listing<'a> {
        let Labels {
            base,
            show,
            named,
            fixes,
            prefix,
        } = labels;
        let decoder = Decoder::new(target);
        let mut labels = BitSet::new(bytes.len());
        let mut fixed = BitSet::new(bytes.len());
        for address in fixes.range(base..).map(|(address, _)| address - base) {
            fixed.set(usize::try_from(address).unwrap_or(usize::MAX));
        }
        let mut data = BitSet::new(bytes.len());
        let mut replaced = BitSet::new(bytes.len());
        let mut marks = BitSet::new(bytes.len());
        for (address, mark) in named.range(base..) {
            let from = address - base;
            if from > bytes.len() as u64 {
                break;
            }
            if from.is_multiple_of(4) {
                marks.set(from as usize);
            }
            let Some(until) = mark.until else {
                continue;
            };
            replaced.set(from as usize);
            let until = until.saturating_sub(base).min(bytes.len() as u64);
            for at in (from..until).step_by(4).filter(|_| !mark.padding) {
                data.set(at as usize);
            }
        }
        for (n, branches) in outline.branches.0.iter().enumerate() {
            // An expression replaces the target in the instruction.
            let mut branches = branches & !fixed.0[n] & !data.0[n];
            while branches != 0 {
                let at = n * BLOCK + 4 * branches.trailing_zeros() as usize;
                branches &= branches - 1;
                if let Some(insn) = decoder.decode(&bytes[at..])
                    && let Some(to) = branch_target(&insn, at as u64)
                    && to <= bytes.len() as u64
                {
                    labels.set(to as usize);
                }
            }
        }
        let starts = &outline.starts.0;
        for ((label, start), data) in labels.0.iter_mut().zip(starts).zip(&data.0) {
            *label &= start & !data;
        }
        let mut marked = marks;
        for (marked, label) in marked.0.iter_mut().zip(&labels.0) {
            *marked |= label;
        }
        Listing {
            decoder,
            target,
            style,
            bytes,
            labelled: Some(Labelled {
                base,
                show,
                named,
                fixes,
                prefix: prefix.to_string(),
                labels,
                marked,
                replaced,
                outline,
                fixed,
            }),
        }
    }

    /// Prints the complete listing.
    pub fn print_all(&self, out: &mut Text) {
        let mut plans = Plans::new(self.target, self.style);
        let mut texts = Texts::new();
        let end = self.print(0, self.bytes.len(), &mut plans, &mut texts, out);
        self.tail(end, out);
    }

    /// Prints with up to `threads` threads, and writes the text to `out` in order and part by part.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, threads: usize, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let threads = threads.min(self.bytes.len() / PART / 2);
        if threads < 2 {
            let mut plans = Plans::new(self.target, self.style);
            let mut texts = Texts::new();
            let mut text = Text::with_room(TEXT);
            let mut at = 0;
            while at < self.bytes.len() {
                let to = (at + PART).min(self.bytes.len());
                text.clear();
                at = self.print(at, to, &mut plans, &mut texts, &mut text);
                if self.bytes.len() - at < 4 {
                    self.tail(at, &mut text);
                    at = self.bytes.len();
                }
                out.write_all(text.as_bytes())?;
            }
            return Ok(());
        }
        let parts = Mutex::new(Parts::new(self));
        let output = Mutex::new(Output {
            next: 0,
            result: Ok(()),
            out,
        });
        let changed = Condvar::new();
        let work = || {
            let mut plans = Plans::new(self.target, self.style);
            let mut texts = Texts::new();
            let mut text = Text::with_room(TEXT);
            loop {
                let part = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(part) = part else { return };
                text.clear();
                self.print_part(&part, &mut plans, &mut texts, &mut text);
                let output = output.lock().unwrap_or_else(PoisonError::into_inner);
                let waits =
                    |output: &mut Output| output.next != part.number && output.result.is_ok();
                let mut output = changed
                    .wait_while(output, waits)
                    .unwrap_or_else(PoisonError::into_inner);
                if output.result.is_err() {
                    return;
                }
                output.result = output.out.write_all(text.as_bytes());
                output.next += 1;
                changed.notify_all();
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // If the host refuses a thread, the existing ones do the work.
                if std::thread::Builder::new()
                    .spawn_scoped(scope, work)
                    .is_err()
                {
                    break;
                }
            }
            work();
        });
        output
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .result
    }

    /// Returns the number of parts that [`Listing::part`] prints.
    pub fn parts(bytes: &[u8]) -> usize {
        (bytes.len() / PART).max(1)
    }

    /// Writes one part of labelled code. All parts in their order are the output of [`Listing::write`].
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn part(
        &self,
        number: usize,
        scratch: &mut Scratch,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let Some(labelled) = &self.labelled else {
            return Ok(());
        };
        let last = number + 1 >= Listing::parts(self.bytes);
        let border = |number: usize| labelled.border(self.bytes, number * PART);
        let part = Part {
            number,
            from: border(number),
            to: if last {
                self.bytes.len()
            } else {
                border(number + 1)
            },
            last,
        };
        if scratch.of != (self.target, self.style) {
            *scratch = Scratch::new(self.target, self.style);
        }
        scratch.text.clear();
        let Scratch {
            plans, texts, text, ..
        } = &mut *scratch;
        self.print_part(&part, plans, texts, text);
        out.write_all(scratch.text.as_bytes())
    }

    /// Writes the marks, the instructions with expressions, and zeros for the other code. The text assembles to the same
    /// layout, symbols and relocations.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_short(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(labelled) = &self.labelled else {
            return Ok(());
        };
        let bytes = self.bytes;
        let whole = bytes.len() / 4 * 4;
        let offset = |address: &u64| {
            let at = usize::try_from(address.checked_sub(labelled.base)?).ok()?;
            (at % 4 == 0 && at <= bytes.len()).then_some(at)
        };
        // An instruction with a literal begins one dword before it.
        let mut locations: Vec<usize> = (labelled.fixes.keys().filter_map(offset))
            .map(|at| match labelled.outline.starts.has(at) || at < 4 {
                true => at,
                false => at - 4,
            })
            .collect();
        locations.extend(labelled.named.keys().filter_map(offset));
        locations.sort_unstable();
        let mut plans = Plans::new(self.target, self.style);
        let mut text = Text::new();
        let mut at = 0;
        let zeros = |from: usize, to: usize, text: &mut Text| {
            if to > from {
                let _ = writeln!(text, "\t.zero {}", to - from);
            }
        };
        for location in locations {
            if location < at || location >= whole {
                continue;
            }
            if text.len() > 1 << 16 {
                out.write_all(text.as_bytes())?;
                text.clear();
            }
            zeros(at, location, &mut text);
            at = location;
            if labelled.marked.has(at)
                && let Some(to) = self.mark(labelled, at, &mut text)
            {
                at = to;
                continue;
            }
            let insn = self.decoder.decode(&bytes[at..]);
            at = match &insn {
                Some(insn) if self.divided(labelled, at, insn.len as usize) => {
                    self.words(labelled, at, at + insn.len as usize, &mut text)
                }
                Some(insn) if labelled.fixed.has(at) || labelled.fixed.has(at + 4) => {
                    self.fixed(labelled, at, insn, &mut plans, &mut text)
                }
                None if labelled.fixed.has(at) => self.words(labelled, at, at + 4, &mut text),
                _ => self.words(labelled, at, at + 4, &mut text),
            };
        }
        zeros(at, whole, &mut text);
        self.tail(whole.max(at), &mut text);
        out.write_all(text.as_bytes())
    }

    fn print_part(&self, part: &Part, plans: &mut Plans, texts: &mut Texts, out: &mut Text) {
        let end = self.print(part.from, part.to, plans, texts, out);
        if part.last {
            self.tail(end, out);
        }
    }

    /// Prints the instructions that begin in `from..to`. Returns the end of the last one.
    fn print(
        &self,
        from: usize,
        to: usize,
        plans: &mut Plans,
        texts: &mut Texts,
        out: &mut Text,
    ) -> usize {
        match &self.labelled {
            None => self.print_plain(from, to, plans, out),
            Some(labelled) => {
                texts.reserve(self.bytes.len());
                self.print_labelled(labelled, from..to, plans, texts, out)
            }
        }
    }

    fn print_plain(&self, from: usize, to: usize, plans: &mut Plans, out: &mut Text) -> usize {
        let mut at = from;
        while at < to && self.bytes.len() - at >= 4 {
            // The match is on a reference because moving an instruction takes longer than decoding it.
            match &self.decoder.decode(&self.bytes[at..]) {
                Some(insn) => {
                    plans.print(insn, None, out);
                    at += insn.len as usize;
                }
                None => {
                    self.long(at, out);
                    at += 4;
                }
            }
            out.push('\n');
        }
        at
    }

    fn print_labelled(
        &self,
        labelled: &Labelled,
        range: Range<usize>,
        plans: &mut Plans,
        texts: &mut Texts,
        out: &mut Text,
    ) -> usize {
        let bytes = self.bytes;
        let mut label = String::new();
        let (mut at, to) = (range.start, range.end);
        while at < to && bytes.len() - at >= 4 {
            if labelled.marked.has(at)
                && let Some(to) = self.mark(labelled, at, out)
            {
                at = to;
                continue;
            }
            if is_zero(bytes, at) {
                let zeros = self.zero_words(labelled, at);
                // Zeros decode to v_cndmask_b32 with an SGPR and VCC as sources, which is not allowed.
                if zeros == 1 {
                    let _ = writeln!(out, "\t.long 0");
                } else if zeros > 1 {
                    let _ = writeln!(out, "\t.fill {zeros}, 4, 0");
                }
                if zeros > 0 {
                    at += 4 * zeros;
                    continue;
                }
            }
            let start = out.len();
            let known = (labelled.recurring(bytes, at))
                .and_then(|(bits, len)| Some((bits, len, texts.slot(bits)?)));
            let step = match known {
                Some((bits, len, slot)) if texts.print(slot, bits, out) => len,
                _ => match self.print_one(labelled, at, plans, &mut label, out) {
                    Printed::Line { bytes, recurs } => {
                        if let (Some((bits, _, slot)), true) = (known, recurs) {
                            texts.keep(slot, bits, &out.as_bytes()[start..]);
                        }
                        bytes
                    }
                    Printed::Lines(end) => {
                        at = end;
                        continue;
                    }
                },
            };
            if labelled.show.encoding {
                let width = out.len() - start;
                for _ in width..48 {
                    out.push(' ');
                }
                let address = labelled.base.wrapping_add(at as u64);
                let _ = write!(out, " // {address:06x}:");
                for word in bytes[at..at + step].chunks_exact(4) {
                    let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                    let _ = write!(out, " {word:08x}");
                }
            }
            out.push('\n');
            at += step;
        }
        at
    }

    /// Prints the instruction or the data at a position.
    fn print_one(
        &self,
        labelled: &Labelled,
        at: usize,
        plans: &mut Plans,
        label: &mut String,
        out: &mut Text,
    ) -> Printed {
        let line = |bytes: usize, recurs: bool| Printed::Line { bytes, recurs };
        match &self.decoder.decode(&self.bytes[at..]) {
            Some(insn) if self.divided(labelled, at, insn.len as usize) => {
                Printed::Lines(self.words(labelled, at, at + insn.len as usize, out))
            }
            Some(insn) if labelled.fixed.has(at) || labelled.fixed.has(at + 4) => {
                Printed::Lines(self.fixed(labelled, at, insn, plans, out))
            }
            Some(insn) => {
                out.push('\t');
                if insn.branches() {
                    let to = branch_target(insn, at as u64).map(|to| to as usize);
                    let to = to.filter(|to| labelled.labels.has(*to));
                    label.clear();
                    if let Some(to) = to {
                        self.name(labelled, to, label);
                    }
                    plans.print(insn, to.is_some().then_some(label.as_str()), out);
                } else {
                    plans.print(insn, None, out);
                }
                line(insn.len as usize, !insn.branches())
            }
            None if labelled.fixed.has(at) => Printed::Lines(self.words(labelled, at, at + 4, out)),
            None => {
                out.push('\t');
                self.long(at, out);
                line(4, false)
            }
        }
    }

    /// Prints the mark or label at a position. Returns the position to continue at if the mark stands for code.
    #[inline(never)]
    fn mark(&self, labelled: &Labelled, at: usize, out: &mut Text) -> Option<usize> {
        let address = labelled.base.wrapping_add(at as u64);
        let mark = labelled.named.get(&address);
        if let Some(mark) = mark {
            out.push_str(&mark.ends);
            out.push_str(&mark.text);
        }
        if labelled.labels.has(at) && mark.is_none_or(|mark| mark.name.is_none()) {
            self.name(labelled, at, out);
            out.push_str(":\n");
        }
        self.stands_for(labelled, at, mark?)
    }

    /// Returns the end of the code from `at` on that a mark stands for.
    fn stands_for(&self, labelled: &Labelled, at: usize, mark: &Mark) -> Option<usize> {
        let until = mark.until?.checked_sub(labelled.base)?;
        let to = (usize::try_from(until).ok()).filter(|to| *to <= self.bytes.len())?;
        // Padding with a branch target inside is printed.
        let branched_to = |n| labelled.labels.has(n);
        let whole = !mark.padding || !(at + 4..to).step_by(4).any(branched_to);
        (to > at && whole).then_some(to)
    }

    /// Returns true if an instruction breaks a rule about its operands. Its text is then an error without `.gcn_permissive`.
    /// `head` is the directives that set the target.
    ///
    /// The assembler decides. Instructions that cannot break a rule, or that are like earlier ones, are skipped.
    pub fn breaks_rules(&self, head: &str, scratch: &mut Scratch) -> bool {
        if scratch.of != (self.target, Style::LLVM) {
            *scratch = Scratch::new(self.target, Style::LLVM);
        }
        let mut seen: HashSet<(u64, u8), BuildHasherDefault<BitsHasher>> = HashSet::default();
        // The bits of instructions that were examined, each in the slot of its hash.
        let mut known = vec![
            0u64;
            (self.bytes.len() / 16)
                .next_power_of_two()
                .clamp(64, 1 << 12)
        ];
        let mut all = AllRules::new();
        let Scratch { plans, text, .. } = scratch;
        text.clear();
        text.push_str(head);
        let empty = text.len();
        let bytes = self.bytes;
        let mut at = 0;
        while bytes.len() - at >= 4 {
            if let Some(labelled) = &self.labelled
                && labelled.replaced.has(at)
                && let Some(mark) = labelled.named.get(&labelled.base.wrapping_add(at as u64))
                && let Some(to) = self.stands_for(labelled, at, mark)
            {
                at = to;
                continue;
            }
            if let Some(labelled) = &self.labelled
                && is_zero(bytes, at)
            {
                let zeros = self.zero_words(labelled, at);
                if zeros > 0 {
                    at += 4 * zeros;
                    continue;
                }
            }
            if let Some(labelled) = &self.labelled
                && let Some((bits, len)) = labelled.outline.bits(bytes, at)
            {
                let slot = slot_of(bits, known.len());
                if std::mem::replace(&mut known[slot], bits) == bits && bits != 0 {
                    at += len;
                    continue;
                }
            }
            let Some(insn) = &self.decoder.decode(&bytes[at..]) else {
                at += 4;
                continue;
            };
            at += insn.len as usize;
            let rules = all.of(insn);
            if rules.keeps(insn) || !seen.insert((rules.bits(insn), insn.len)) {
                continue;
            }
            plans.print(insn, None, text);
            text.push('\n');
            if text.len() > MOST_CHECKED {
                if !assembles(text) {
                    return true;
                }
                text.clear();
                text.push_str(head);
            }
        }
        text.len() > empty && !assembles(text)
    }

    /// Returns true if a mark or label is in the middle of an instruction.
    #[inline]
    fn divided(&self, labelled: &Labelled, at: usize, len: usize) -> bool {
        len > 4
            && (at + 4..at + len)
                .step_by(4)
                .any(|n| labelled.marked.has(n))
    }

    /// Prints dwords as data. Returns their end.
    #[inline(never)]
    fn words(&self, labelled: &Labelled, from: usize, to: usize, out: &mut Text) -> usize {
        for at in (from..to).step_by(4) {
            if at != from && labelled.marked.has(at) {
                self.mark(labelled, at, out);
            }
            out.push('\t');
            let address = labelled.base.wrapping_add(at as u64);
            match labelled.fixes.get(&address) {
                Some(expression) => {
                    out.push_str(".long ");
                    out.push_str(expression);
                }
                None => self.long(at, out),
            }
            out.push('\n');
        }
        to
    }

    /// Prints an instruction whose literal or target is an expression. Returns its end.
    #[inline(never)]
    fn fixed(
        &self,
        labelled: &Labelled,
        at: usize,
        insn: &Insn,
        plans: &mut Plans,
        out: &mut Text,
    ) -> usize {
        let end = at + insn.len as usize;
        let fix = |at: usize| labelled.fixes.get(&labelled.base.wrapping_add(at as u64));
        if insn.branches()
            && let Some(target) = fix(at)
        {
            out.push('\t');
            plans.print(insn, Some(target), out);
            out.push('\n');
            return end;
        }
        // A literal that looks like nothing else in the text marks the location of the expression.
        const MARKER: u32 = 0x7ead_1eaf;
        if let Some(expression) = fix(at + 4)
            && fix(at).is_none()
            && insn.len == 8
            && let Some(head) = self.bytes[at..].first_chunk::<4>()
        {
            let mut bytes = [0; 8];
            bytes[..4].copy_from_slice(head);
            bytes[4..].copy_from_slice(&MARKER.to_le_bytes());
            let mut text = String::new();
            if let Some(insn) = self.decoder.words(&bytes)
                && insn.len == 8
            {
                gcn_isa::print::print(&insn, &self.style, &mut text);
            }
            let marker = format!("{MARKER:#x}");
            if text.matches(&marker).count() == 1 {
                out.push('\t');
                out.push_str(&text.replace(&marker, expression));
                if labelled.show.encoding {
                    let address = labelled.base.wrapping_add(at as u64);
                    let [first, second] = [word(self.bytes, at), word(self.bytes, at + 4)];
                    let words = (first.unwrap_or(0), second.unwrap_or(0));
                    let _ = write!(out, " // {address:06x}: {:08x} {:08x}", words.0, words.1);
                }
                out.push('\n');
                return end;
            }
        }
        self.words(labelled, at, end, out)
    }

    /// Writes the label that branches to a position use.
    fn name(&self, labelled: &Labelled, at: usize, out: &mut impl Sink) {
        let address = labelled.base.wrapping_add(at as u64);
        let mark = labelled.named.get(&address);
        if let Some(name) = mark.and_then(|mark| mark.name.as_ref()) {
            out.push_str(name);
        } else {
            out.push_str(&labelled.prefix);
            push_hex_digits(out, address);
        }
    }

    /// Returns the number of zero dwords from here to the next label: the padding between kernels.
    fn zero_words(&self, labelled: &Labelled, at: usize) -> usize {
        let mut end = at;
        while is_zero(self.bytes, end)
            && (end == at || !labelled.marked.has(end))
            && !labelled.fixed.has(end)
        {
            end += 4;
        }
        (end - at) / 4
    }

    fn long(&self, at: usize, out: &mut Text) {
        let _ = write!(out, ".long 0x{:08x}", word(self.bytes, at).unwrap_or(0));
    }

    /// Prints the bytes at the end that are less than a dword.
    fn tail(&self, at: usize, out: &mut Text) {
        if let Some(labelled) = &self.labelled
            && labelled.marked.has(at)
        {
            self.mark(labelled, at, out);
        }
        for byte in &self.bytes[at..] {
            if self.labelled.is_some() {
                out.push('\t');
            }
            let _ = writeln!(out, ".byte 0x{byte:02x}");
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*word))
}

fn is_zero(bytes: &[u8], at: usize) -> bool {
    word(bytes, at) == Some(0)
}

/// The output of several threads, which write in order.
struct Output<'a> {
    /// The number of the part to write next.
    next: usize,
    /// The first error, which ends the output.
    result: io::Result<()>,
    out: &'a mut (dyn Write + Send),
}

/// A part of the code, from the start of one instruction to the start of another.
struct Part {
    number: usize,
    from: usize,
    to: usize,
    last: bool,
}

/// Divides the code into parts on demand.
struct Parts<'a> {
    listing: &'a Listing<'a>,
    number: usize,
    at: usize,
    scan: Scan,
    over: bool,
}

impl<'a> Parts<'a> {
    fn new(listing: &'a Listing<'a>) -> Parts<'a> {
        Parts {
            listing,
            number: 0,
            at: 0,
            scan: Scan::default(),
            over: false,
        }
    }
}

impl Iterator for Parts<'_> {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        if self.over {
            return None;
        }
        let bytes = self.listing.bytes;
        let from = self.at;
        let to = match &self.listing.labelled {
            Some(labelled) => labelled.border(bytes, from + PART),
            None => {
                let blocks = self.number * PART..(self.number + 1) * PART;
                for block in blocks.step_by(BLOCK) {
                    self.scan.block(&self.listing.decoder, bytes, block);
                }
                (self.number + 1) * PART + 4 * self.scan.inside as usize
            }
        };
        let to = if bytes.len() < to + 4 {
            bytes.len()
        } else {
            to
        };
        self.at = to;
        self.over = to == bytes.len();
        self.number += 1;
        Some(Part {
            number: self.number - 1,
            from,
            to,
            last: self.over,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random instructions of a target; all rows are equally likely.
    fn random_instructions(target: Target, count: usize) -> Vec<Insn> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.wrapping_mul(0x2545_f491_4f6c_dd1d)
        };
        let rows: Vec<_> = gcn_isa::insts::of_target(target).collect();
        let mut insns = Vec::new();
        while insns.len() < count {
            let row = rows[next() as usize % rows.len()];
            let encodings = [
                row.format.encoding(),
                Encoding::Vop3,
                Encoding::Sdwa1,
                Encoding::Sdwa2,
            ];
            let encoding = encodings[next() as usize % 7 % 4];
            let Some(encoder) = gcn_isa::encode::Encoder::new(row, encoding, target) else {
                continue;
            };
            let Some(layout) = layout_of(encoder.encoding, target.generation()) else {
                continue;
            };
            let op = layout.field(Field::Op);
            let mask = layout.mask | op.set(0, u32::MAX);
            let fields = next() | next() & next();
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&(fields & !mask | encoder.bits & mask).to_le_bytes());
            bytes[8..].copy_from_slice(&next().to_le_bytes());
            insns.extend(gcn_isa::decode(target, &bytes));
        }
        insns
    }

    /// Returns true if the assembler accepts the text of instructions.
    fn assemble_all(target: Target, insns: &[Insn]) -> bool {
        let mut text = Text::new();
        text.push_str(&format!(".arch {}\n", target.name()));
        let mut plans = Plans::new(target, Style::LLVM);
        for insn in insns {
            plans.print(insn, None, &mut text);
            text.push('\n');
        }
        assembles(&text)
    }

    #[test]
    fn what_is_said_to_keep_the_rules_keeps_them() {
        for name in ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"] {
            let target = Target::parse(name).expect("a target");
            let mut rules = AllRules::new();
            let kept: Vec<Insn> = (random_instructions(target, 60_000).into_iter())
                .filter(|insn| rules.of(insn).keeps(insn))
                .collect();
            assert!(kept.len() > 2000, "{}", kept.len());
            let scalar = kept.iter().filter(|i| !i.row.format.is_vector()).count();
            assert!(scalar > 300, "{scalar}");
            if !assemble_all(target, &kept) {
                let wrong = kept.iter().find(|i| !assemble_all(target, &[**i]));
                panic!("{name}: {:?}", wrong.map(|i| (i.row.name, i.bits)));
            }
        }
    }

    #[test]
    fn rules_do_not_depend_on_the_numbers_of_vgprs() {
        let (mut changed, mut breaking) = (0, 0);
        for name in ["gfx701", "gfx803", "gfx906"] {
            let target = Target::parse(name).expect("a target");
            let mut rules = AllRules::new();
            for insn in random_instructions(target, 3000) {
                let bits = rules.of(&insn).bits(&insn);
                if bits == insn.bits {
                    continue;
                }
                let (mut bytes, _) = insn.to_bytes();
                bytes[..8].copy_from_slice(&bits.to_le_bytes());
                let Some(other) = gcn_isa::decode(target, &bytes) else {
                    panic!("{}: {bits:#x} is none", insn.row.name);
                };
                let breaks = !assemble_all(target, &[insn]);
                assert_eq!(
                    breaks,
                    !assemble_all(target, &[other]),
                    "{name} {} {:#x} {bits:#x}",
                    insn.row.name,
                    insn.bits
                );
                changed += 1;
                breaking += breaks as usize;
            }
        }
        assert!(changed > 1000 && breaking > 100, "{changed} {breaking}");
    }

    /// Returns the starts of instructions by decoding one after the other.
    fn starts(decoder: &Decoder, bytes: &[u8]) -> Vec<usize> {
        let mut at = 0;
        let mut starts = Vec::new();
        while bytes.len() - at >= 4 {
            starts.push(at);
            at += decoder
                .decode(&bytes[at..])
                .map_or(4, |insn| insn.len as usize);
        }
        starts.push(at);
        starts
    }

    #[test]
    fn scanning_finds_what_decoding_finds() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 16
        };
        for name in ["gfx600", "gfx803", "gfx900"] {
            let decoder = Decoder::new(Target::parse(name).expect("a target"));
            for n in 0..600 {
                // Some inputs have long runs of dwords that look like the first of two.
                let mut bytes = Vec::new();
                while bytes.len() < n {
                    let word = next() as u32;
                    let word = if next() % 4 < n as u64 % 5 {
                        word & 0x00ff_ffff | 0xd100_0000
                    } else {
                        word
                    };
                    bytes.extend(word.to_le_bytes());
                }
                bytes.truncate(n);
                let mut scan = Scan::default();
                let mut found = Vec::new();
                for from in (0..=n).step_by(BLOCK) {
                    let (starts, branches) = scan.block(&decoder, &bytes, from);
                    assert_eq!(branches & !starts, 0);
                    found.extend(
                        (0..64)
                            .filter(|n| starts >> n & 1 != 0)
                            .map(|n| from + 4 * n),
                    );
                }
                found.retain(|at| *at <= n / 4 * 4);
                assert_eq!(found, starts(&decoder, &bytes), "{name}, {n} bytes");
            }
        }
    }

    #[test]
    fn instructions_that_recur_have_the_same_text() {
        for name in ["gfx600", "gfx803", "gfx906"] {
            let target = Target::parse(name).expect("a target");
            // Each of a few instructions occurs many times, among others of the same slots.
            let some = random_instructions(target, 3000);
            let bytes: Vec<u8> = (0..20_000usize)
                .map(|n| &some[n * n / 13 % if n % 3 == 0 { 40 } else { some.len() }])
                .flat_map(|insn| {
                    let (bytes, len) = insn.to_bytes();
                    bytes[..len].to_vec()
                })
                .collect();
            let (named, fixes) = (Marks::new(), Fixes::new());
            let labels = Labels {
                base: 0,
                show: Show::default(),
                named: &named,
                fixes: &fixes,
                prefix: ".L",
            };
            let mut out = Text::new();
            Listing::labelled(target, &bytes, Style::LLVM, labels).print_all(&mut out);
            let text = String::from_utf8_lossy(out.as_bytes()).into_owned();
            let printed = text.lines().filter(|line| !line.ends_with(':'));
            let mut plans = Plans::new(target, Style::LLVM);
            let decoder = Decoder::new(target);
            let (mut at, mut lines) = (0, 0);
            for line in printed {
                if line.starts_with("\t.fill") || line == "\t.long 0" {
                    at += 4 * bytes[at..].chunks(4).take_while(|w| *w == [0; 4]).count();
                    continue;
                }
                let insn = decoder.decode(&bytes[at..]).expect("an instruction");
                at += insn.len as usize;
                let mut own = Text::new();
                plans.print(&insn, None, &mut own);
                let own = String::from_utf8_lossy(own.as_bytes()).into_owned();
                let same = line == format!("\t{own}") || insn.branches();
                assert!(same, "{name}: {line} is {own}");
                lines += 1;
            }
            assert!(at == bytes.len() && lines > 15_000, "{at} {lines}");
        }
    }

    #[test]
    fn threads_print_what_one_does() {
        let target = Target::parse("gfx803").expect("a target");
        // Branches, literals, zeros and invalid instructions.
        let some = [
            0xbf82_0004u32,
            0x7e00_02ff,
            0x7e00_02ff,
            0,
            0,
            0xffff_ffff,
            0xbf84_fff0,
            0xd285_0001,
        ];
        let words = (0..80_003usize).map(|n| some[n * n / 7 % 8]);
        let mut bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        bytes.extend([1, 2, 3]);
        let (named, fixes) = (Marks::new(), Fixes::new());
        let labels = Labels {
            base: 0,
            show: Show::default(),
            named: &named,
            fixes: &fixes,
            prefix: ".L",
        };
        for listing in [
            Listing::plain(target, &bytes, Style::LLVM),
            Listing::labelled(target, &bytes, Style::LLVM, labels),
        ] {
            let mut whole = Text::new();
            listing.print_all(&mut whole);
            for threads in [1, 2, 3] {
                let mut out = Vec::new();
                listing.write(threads, &mut out).expect("memory takes all");
                assert!(out == whole.as_bytes(), "{threads} threads");
            }
        }
    }
}
