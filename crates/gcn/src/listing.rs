//! Code printed line by line, in chunks that several threads can print.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, PoisonError};

use gcn_isa::decode::Decoder;
use gcn_isa::flow::branch_target;
use gcn_isa::format::{Encoding, layout_of};
use gcn_isa::inst::Flags;
use gcn_isa::operand::VGPR0;
use gcn_isa::plan::Plans;
use gcn_isa::print::{Style, push_hex_digits};
use gcn_isa::shape::{Access, Role};
use gcn_isa::text::{Sink, Text};
use gcn_isa::{Field, Insn, Target};

use crate::dis::Show;

/// What is printed before the instruction at an address.
#[derive(Clone, Debug, Default)]
pub struct Mark {
    /// Whole lines that are about what ends here; they come first.
    pub ends: String,
    /// Whole lines: labels, directives, comments.
    pub text: String,
    /// The label among them by which the address is branched to.
    pub name: Option<String>,
    /// The code up to this address is not printed: the lines say it.
    pub until: Option<u64>,
    /// What is not printed is padding, which must be printed after all where it is branched to.
    /// Otherwise it is data, which branches nowhere.
    pub padding: bool,
}

/// Marks by address.
pub type Marks = BTreeMap<u64, Mark>;

/// Expressions by the address of the literal that they stand for, or of the branch whose target
/// they are.
pub type Fixes = BTreeMap<u64, String>;

/// How many bytes of code a chunk has, or a little more: its text stays in the cache until it is
/// written.
const CHUNK: usize = 32 << 10;

/// What the text of a chunk needs, or less where it is much text.
const TEXT: usize = 256 << 10;

/// Bytes of code, and how they are printed.
pub struct Listing<'a> {
    decoder: Decoder,
    target: Target,
    style: Style,
    bytes: &'a [u8],
    labelled: Option<Labelled<'a>>,
}

/// Text whose rules are looked at together.
const MOST_CHECKED: usize = 1 << 20;

/// Whether an instruction is of a kind that can break no rule.
fn keeps_rules(insn: &Insn) -> bool {
    let closer = [
        Flags::READS_VCC,
        Flags::READS_M0,
        Flags::EARLY_WRITE,
        Flags::REGISTERS,
    ];
    if closer.iter().any(|flag| insn.row.flags.has(*flag)) {
        return false;
    }
    match insn.encoding {
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => keeps_vector_rules(insn),
        Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc => keeps_scalar_rules(insn),
        _ => false,
    }
}

/// A short one of the vector ALU, which has one scalar source and names no pair of registers.
fn keeps_vector_rules(insn: &Insn) -> bool {
    let plain = [Role::Vdst, Role::Src0, Role::Src1, Role::CmpDst];
    (insn.row.shape.slots.iter()).all(|slot| {
        let narrow = slot.role == Role::CmpDst || insn.dwords(slot) <= 1;
        // A source that is written as well (v_swap_b32's) must be a VGPR, which the code of a source does not say.
        let read = slot.access == Access::Read || !matches!(slot.role, Role::Src0 | Role::Src1);
        plain.contains(&slot.role) && narrow && read
    }) && matches!(insn.code(Role::Src0), Some(0..=101 | 128..=248 | 255..))
}

/// One of the scalar ALU that computes something, of numbered SGPRs, VCC and EXEC where they may begin, and of constants.
fn keeps_scalar_rules(insn: &Insn) -> bool {
    // What goes elsewhere has rules of its own.
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

/// The bits of an instruction with v0 in place of most other VGPRs: whether it keeps the rules depends on these alone.
///
/// Only the last VGPRs are told apart, as a tuple may go beyond them, and where a destination may overlap a source.
fn bits_for_rules(insn: &Insn) -> u64 {
    const NEAR_END: u16 = VGPR0 + 240;
    let mut bits = insn.bits;
    let layout = layout_of(insn.encoding, insn.generation());
    let Some(layout) = layout.filter(|_| !insn.row.flags.has(Flags::EARLY_WRITE)) else {
        return bits;
    };
    let long = matches!(
        insn.encoding,
        Encoding::Vop3 | Encoding::Vop3b | Encoding::Vop3p
    );
    for slot in insn.row.shape.slots {
        let field = match slot.role {
            Role::Vdst | Role::VdstIfGlc => Field::Vdst,
            Role::Src0 if long => Field::Src0,
            Role::Src1 if long => Field::Src1,
            Role::Src2 if long => Field::Src2,
            Role::DsAddr | Role::FlatAddr => Field::Addr,
            Role::Data0 => Field::Data0,
            Role::Data1 => Field::Data1,
            Role::Vdata => Field::Vdata,
            Role::BufAddr | Role::ImgAddr => Field::Vaddr,
            _ => continue,
        };
        if let Some(VGPR0..NEAR_END) = insn.code(slot.role) {
            bits = layout.field(field).set(bits, VGPR0 as u32);
        }
    }
    bits
}

/// A quick hash of a few bits, which nobody chooses to collide but at the cost of their own time.
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

/// Whether instructions keep all rules.
fn assembles(text: &Text) -> bool {
    let options = gcn_asm::Options {
        text_only: true,
        ..gcn_asm::Options::default()
    };
    let text = String::from_utf8_lossy(text.as_bytes());
    gcn_asm::assemble(&text, "", &options).object.is_some()
}

/// What [`Listing::labelled`] prints beside the instructions.
#[derive(Clone, Copy)]
pub struct Labels<'p, 'a> {
    /// The address of the first byte.
    pub base: u64,
    pub show: Show,
    /// Labels that there are already, at addresses that are multiples of 4.
    pub named: &'a Marks,
    /// Expressions that replace operands.
    pub fixes: &'a Fixes,
    /// The names of branch targets begin with this.
    pub prefix: &'p str,
}

/// What a listing has that is not plain.
struct Labelled<'a> {
    /// The address of the first byte.
    base: u64,
    show: Show,
    named: &'a Marks,
    fixes: &'a Fixes,
    /// What the labels of branch targets begin with.
    prefix: String,
    /// Which dwords are an instruction, or the end, that is branched to.
    labels: Bits,
    /// The same, and those that have a name.
    marked: Bits,
    /// Those of marks that pass over code.
    passing: Bits,
    /// Which dwords an instruction begins with, or are behind the last.
    starts: Bits,
    /// Which instructions have an expression.
    fixed: Bits,
}

/// What a thread uses again from part to part.
pub struct Own {
    of: (Target, Style),
    plans: Plans,
    text: Text,
}

impl Own {
    /// For a target and a spelling.
    pub fn new(target: Target, style: Style) -> Own {
        Own {
            of: (target, style),
            plans: Plans::new(target, style),
            text: Text::with_room(TEXT),
        }
    }
}

impl Labelled<'_> {
    /// Where a part may begin: the place, or the next one where an instruction begins. A run of zeros is one line, and
    /// what is passed over is none: no part begins within.
    fn border(&self, bytes: &[u8], at: usize) -> usize {
        let mut at = at;
        while at < bytes.len()
            && at > 0
            && (!self.starts.has(at) || is_zero(bytes, at) || self.passed_over(at))
        {
            at += 4;
        }
        // Bytes at the end that are no dword belong to the last part.
        if bytes.len() < at + 4 {
            bytes.len() / 4 * 4
        } else {
            at
        }
    }

    /// Whether a mark before passes over this place.
    fn passed_over(&self, at: usize) -> bool {
        let address = self.base.wrapping_add(at as u64);
        let before = self.named.range(..address).next_back();
        before.is_some_and(|(_, mark)| mark.until.is_some_and(|until| until > address))
    }
}

/// One bit for every dword of the code, and one for its end.
#[derive(Clone)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(bytes: usize) -> Bits {
        Bits(vec![0; bytes / 4 / 64 + 1])
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

/// How many bytes of code a word of [`Bits`] is for.
const BLOCK: usize = 256;

/// Finds where instructions begin, block by block. Every dword is looked at as if one began there,
/// which needs no other's length; bit operations then tell which dwords are second ones.
#[derive(Default)]
struct Scan {
    /// Whether the block ended inside an instruction.
    inside: bool,
}

impl Scan {
    /// The dwords of the block at `from`, the next one, that an instruction begins with, or the
    /// bytes' end; and those of them that are branches.
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
            // What is cut short is no instruction.
            long &= !(1u64 << (BLOCK / 4 - 1)).unbounded_shr((BLOCK / 4 - rest.len() / 4) as u32);
        }
        // In a run of dwords that are each the first of two, as far as they know, every other one
        // is. Adding to a run carries to its end; that tells apart those that begin at an even
        // place and at an odd one.
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
    /// One instruction a line and nothing else, as the contract's `--plain` has it.
    pub fn plain(target: Target, bytes: &'a [u8], style: Style) -> Listing<'a> {
        Listing {
            decoder: Decoder::new(target),
            target,
            style,
            bytes,
            labelled: None,
        }
    }

    /// Source that assembles to the same bytes, with labels at branch targets.
    pub fn labelled(
        target: Target,
        bytes: &'a [u8],
        style: Style,
        labels: Labels<'_, 'a>,
    ) -> Listing<'a> {
        let Labels {
            base,
            show,
            named,
            fixes,
            prefix,
        } = labels;
        let decoder = Decoder::new(target);
        let mut starts = Bits::new(bytes.len());
        let mut labels = Bits::new(bytes.len());
        let mut fixed = Bits::new(bytes.len());
        for address in fixes.range(base..).map(|(address, _)| address - base) {
            fixed.set(usize::try_from(address).unwrap_or(usize::MAX));
        }
        let mut data = Bits::new(bytes.len());
        let mut passing = Bits::new(bytes.len());
        let mut marks = Bits::new(bytes.len());
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
            passing.set(from as usize);
            let until = until.saturating_sub(base).min(bytes.len() as u64);
            for at in (from..until).step_by(4).filter(|_| !mark.padding) {
                data.set(at as usize);
            }
        }
        let mut scan = Scan::default();
        for n in 0..starts.0.len() {
            let (here, mut branches) = scan.block(&decoder, bytes, n * BLOCK);
            starts.0[n] = here;
            // Where an expression tells the target, the number does not.
            branches &= !fixed.0[n] & !data.0[n];
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
        for ((label, start), data) in labels.0.iter_mut().zip(&starts.0).zip(&data.0) {
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
                passing,
                starts,
                fixed,
            }),
        }
    }

    /// Prints everything into one text.
    pub fn print_all(&self, out: &mut Text) {
        let mut plans = Plans::new(self.target, self.style);
        let end = self.print(0, self.bytes.len(), &mut plans, out);
        self.tail(end, out);
    }

    /// Prints with as many as `threads` threads, and writes the text to `out` in order and piece by
    /// piece.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, threads: usize, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let threads = threads.min(self.bytes.len() / CHUNK / 2);
        if threads < 2 {
            let mut plans = Plans::new(self.target, self.style);
            let mut text = Text::with_room(TEXT);
            let mut at = 0;
            while at < self.bytes.len() {
                let to = (at + CHUNK).min(self.bytes.len());
                text.clear();
                at = self.print(at, to, &mut plans, &mut text);
                if self.bytes.len() - at < 4 {
                    self.tail(at, &mut text);
                    at = self.bytes.len();
                }
                out.write_all(text.as_bytes())?;
            }
            return Ok(());
        }
        let chunks = Mutex::new(Chunks::new(self));
        let turn = Mutex::new(Turn {
            next: 0,
            result: Ok(()),
            out,
        });
        let passed = Condvar::new();
        let work = || {
            let mut plans = Plans::new(self.target, self.style);
            let mut text = Text::with_room(TEXT);
            loop {
                let chunk = chunks.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(chunk) = chunk else { return };
                text.clear();
                self.chunk(&chunk, &mut plans, &mut text);
                let turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                let waits = |turn: &mut Turn| turn.next != chunk.number && turn.result.is_ok();
                let mut turn = passed
                    .wait_while(turn, waits)
                    .unwrap_or_else(PoisonError::into_inner);
                if turn.result.is_err() {
                    return;
                }
                turn.result = turn.out.write_all(text.as_bytes());
                turn.next += 1;
                passed.notify_all();
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // A host that refuses a thread refuses the next one, too: those that there are do the work.
                if std::thread::Builder::new()
                    .spawn_scoped(scope, work)
                    .is_err()
                {
                    break;
                }
            }
            work();
        });
        turn.into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .result
    }

    /// How many parts code has that [`Listing::part`] prints.
    pub fn parts(bytes: &[u8]) -> usize {
        (bytes.len() / CHUNK).max(1)
    }

    /// Writes one of the parts of labelled code. All of them, in their order, are what [`Listing::write`] writes.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn part(&self, number: usize, own: &mut Own, out: &mut dyn Write) -> io::Result<()> {
        let Some(labelled) = &self.labelled else {
            return Ok(());
        };
        let last = number + 1 >= Listing::parts(self.bytes);
        let border = |number: usize| labelled.border(self.bytes, number * CHUNK);
        let chunk = Chunk {
            number,
            from: border(number),
            to: if last {
                self.bytes.len()
            } else {
                border(number + 1)
            },
            last,
        };
        if own.of != (self.target, self.style) {
            *own = Own::new(self.target, self.style);
        }
        own.text.clear();
        self.chunk(&chunk, &mut own.plans, &mut own.text);
        out.write_all(own.text.as_bytes())
    }

    /// Writes the lines before places, the instructions with expressions, and zeros for the other code. It assembles
    /// to the same layout, symbols and relocations.
    ///
    /// # Errors
    /// Those of `out`.
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
        // An instruction with a literal begins a dword before it.
        let mut places: Vec<usize> = (labelled.fixes.keys().filter_map(offset))
            .map(|at| match labelled.starts.has(at) || at < 4 {
                true => at,
                false => at - 4,
            })
            .collect();
        places.extend(labelled.named.keys().filter_map(offset));
        places.sort_unstable();
        let mut plans = Plans::new(self.target, self.style);
        let mut text = Text::new();
        let mut at = 0;
        let zeros = |from: usize, to: usize, text: &mut Text| {
            if to > from {
                let _ = writeln!(text, "\t.zero {}", to - from);
            }
        };
        for place in places {
            if place < at || place >= whole {
                continue;
            }
            if text.len() > 1 << 16 {
                out.write_all(text.as_bytes())?;
                text.clear();
            }
            zeros(at, place, &mut text);
            at = place;
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

    fn chunk(&self, chunk: &Chunk, plans: &mut Plans, out: &mut Text) {
        let end = self.print(chunk.from, chunk.to, plans, out);
        if chunk.last {
            self.tail(end, out);
        }
    }

    /// Prints what begins in `from..to`, and gives where it ends.
    fn print(&self, from: usize, to: usize, plans: &mut Plans, out: &mut Text) -> usize {
        match &self.labelled {
            None => self.print_plain(from, to, plans, out),
            Some(labelled) => self.print_labelled(labelled, from, to, plans, out),
        }
    }

    fn print_plain(&self, from: usize, to: usize, plans: &mut Plans, out: &mut Text) -> usize {
        let mut at = from;
        while at < to && self.bytes.len() - at >= 4 {
            // Matched where it lies: moving it costs more than decoding it.
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
        from: usize,
        to: usize,
        plans: &mut Plans,
        out: &mut Text,
    ) -> usize {
        let bytes = self.bytes;
        let mut label = String::new();
        let mut at = from;
        while at < to && bytes.len() - at >= 4 {
            if labelled.marked.has(at)
                && let Some(to) = self.mark(labelled, at, out)
            {
                at = to;
                continue;
            }
            if is_zero(bytes, at) {
                let zeros = self.zero_words(labelled, at);
                // Zeros are no instruction that may be: it would read VCC and an SGPR.
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
            let step = match &self.decoder.decode(&bytes[at..]) {
                Some(insn) if self.divided(labelled, at, insn.len as usize) => {
                    at = self.words(labelled, at, at + insn.len as usize, out);
                    continue;
                }
                Some(insn) if labelled.fixed.has(at) || labelled.fixed.has(at + 4) => {
                    at = self.fixed(labelled, at, insn, plans, out);
                    continue;
                }
                Some(insn) => {
                    out.push('\t');
                    if insn.branches() {
                        let to = branch_target(insn, at as u64).map(|to| to as usize);
                        let to = to.filter(|to| labelled.labels.has(*to));
                        label.clear();
                        if let Some(to) = to {
                            self.name(labelled, to, &mut label);
                        }
                        plans.print(insn, to.is_some().then_some(label.as_str()), out);
                    } else {
                        plans.print(insn, None, out);
                    }
                    insn.len as usize
                }
                None if labelled.fixed.has(at) => {
                    at = self.words(labelled, at, at + 4, out);
                    continue;
                }
                None => {
                    out.push('\t');
                    self.long(at, out);
                    4
                }
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

    /// Prints the lines before a place that has some; gives where printing goes on, where that is
    /// not here.
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
        self.passes_over(labelled, at, mark?)
    }

    /// Up to where a mark's own lines stand for the bytes from `at` on.
    fn passes_over(&self, labelled: &Labelled, at: usize, mark: &Mark) -> Option<usize> {
        let until = mark.until?.checked_sub(labelled.base)?;
        let to = (usize::try_from(until).ok()).filter(|to| *to <= self.bytes.len())?;
        // What is branched to within is printed after all.
        let branched_to = |n| labelled.labels.has(n);
        let whole = !mark.padding || !(at + 4..to).step_by(4).any(branched_to);
        (to > at && whole).then_some(to)
    }

    /// Whether an instruction breaks a rule about its operands, so that its text is an error without
    /// `.gcn_permissive`. `head` is what names the target in the source.
    ///
    /// The assembler says so. What cannot break one is passed over, and so is what was seen before.
    pub fn breaks_rules(&self, head: &str) -> bool {
        let mut seen: HashSet<(u64, u8), BuildHasherDefault<BitsHasher>> = HashSet::default();
        let mut plans = Plans::new(self.target, Style::LLVM);
        let mut text = Text::new();
        text.push_str(head);
        let empty = text.len();
        let bytes = self.bytes;
        let mut at = 0;
        while bytes.len() - at >= 4 {
            if let Some(labelled) = &self.labelled
                && labelled.passing.has(at)
                && let Some(mark) = labelled.named.get(&labelled.base.wrapping_add(at as u64))
                && let Some(to) = self.passes_over(labelled, at, mark)
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
            let Some(insn) = &self.decoder.decode(&bytes[at..]) else {
                at += 4;
                continue;
            };
            at += insn.len as usize;
            if keeps_rules(insn) || !seen.insert((bits_for_rules(insn), insn.len)) {
                continue;
            }
            plans.print(insn, None, &mut text);
            text.push('\n');
            if text.len() > MOST_CHECKED {
                if !assembles(&text) {
                    return true;
                }
                text.clear();
                text.push_str(head);
            }
        }
        text.len() > empty && !assembles(&text)
    }

    /// Whether lines belong into the middle of an instruction.
    #[inline]
    fn divided(&self, labelled: &Labelled, at: usize, len: usize) -> bool {
        len > 4
            && (at + 4..at + len)
                .step_by(4)
                .any(|n| labelled.marked.has(n))
    }

    /// Dwords, each alone; gives where they end.
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

    /// An instruction whose literal, or whose target, is an expression; gives where it ends.
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
        // A literal that nothing else in the text looks like shows where it is printed.
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

    /// The name by which a place is branched to.
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

    /// How many zero dwords begin here before the next label: the padding between kernels.
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

    /// What the bytes end with that is no dword.
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

/// Whose turn it is to write.
struct Turn<'a> {
    /// The number of the next chunk.
    next: usize,
    /// An error ends it.
    result: io::Result<()>,
    out: &'a mut (dyn Write + Send),
}

/// A part of the code, from one instruction's first byte to another's.
struct Chunk {
    number: usize,
    from: usize,
    to: usize,
    last: bool,
}

/// Takes the code apart into chunks, each when it is asked for.
struct Chunks<'a> {
    listing: &'a Listing<'a>,
    number: usize,
    at: usize,
    scan: Scan,
    over: bool,
}

impl<'a> Chunks<'a> {
    fn new(listing: &'a Listing<'a>) -> Chunks<'a> {
        Chunks {
            listing,
            number: 0,
            at: 0,
            scan: Scan::default(),
            over: false,
        }
    }
}

impl Iterator for Chunks<'_> {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        if self.over {
            return None;
        }
        let bytes = self.listing.bytes;
        let from = self.at;
        let to = match &self.listing.labelled {
            Some(labelled) => labelled.border(bytes, from + CHUNK),
            None => {
                let blocks = self.number * CHUNK..(self.number + 1) * CHUNK;
                for block in blocks.step_by(BLOCK) {
                    self.scan.block(&self.listing.decoder, bytes, block);
                }
                (self.number + 1) * CHUNK + 4 * self.scan.inside as usize
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
        Some(Chunk {
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

    /// Random instructions of a target, of all rows alike.
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

    /// Whether the text of instructions breaks no rule, by the assembler alone.
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
            let kept: Vec<Insn> = (random_instructions(target, 60_000).into_iter())
                .filter(keeps_rules)
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
            for insn in random_instructions(target, 3000) {
                let bits = bits_for_rules(&insn);
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

    /// Where instructions begin, found one by one.
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
                // Some of it in long runs of instructions of two dwords, or of what looks so.
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
    fn threads_print_what_one_does() {
        let target = Target::parse("gfx803").expect("a target");
        // Branches, literals, zeros and what is no instruction.
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
