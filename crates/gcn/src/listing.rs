//! Code printed line by line, in chunks that several threads can print.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, PoisonError};

use gcn_isa::Target;
use gcn_isa::decode::Decoder;
use gcn_isa::flow::branch_target;
use gcn_isa::plan::Plans;
use gcn_isa::print::{Style, Syntax, push_dec, push_hex_digits};
use gcn_isa::text::{Sink, Text};

use crate::dis::{Labels, Show};

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

/// What a listing has that is not plain.
struct Labelled<'a> {
    /// The address of the first byte.
    base: u64,
    show: Show,
    named: &'a Labels,
    /// Which dwords are an instruction, or the end, that is branched to.
    labels: Bits,
    /// The same, and those that have a name.
    marked: Bits,
    /// Where chunks begin.
    chunks: Vec<usize>,
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

    /// Source that assembles to the same bytes, with labels at branch targets. `base` is the
    /// address of the first byte; `named` holds the labels there are anyway.
    pub fn labelled(
        target: Target,
        bytes: &'a [u8],
        base: u64,
        style: Style,
        show: Show,
        named: &'a Labels,
    ) -> Listing<'a> {
        let decoder = Decoder::new(target);
        let mut starts = Bits::new(bytes.len());
        let mut labels = Bits::new(bytes.len());
        let mut chunks = Vec::new();
        let mut next = 0;
        let mut at = 0;
        while bytes.len() - at >= 4 {
            // A run of zeros is one line: no chunk begins within.
            if at >= next && (at == 0 || !is_zero(bytes, at)) {
                chunks.push(at);
                next = at + CHUNK;
            }
            starts.set(at);
            let (len, branches) = decoder.skim(&bytes[at..]);
            // Few instructions are branches: those are decoded again.
            if branches
                && let Some(insn) = decoder.decode(&bytes[at..])
                && let Some(to) = branch_target(&insn, at as u64)
                && to <= bytes.len() as u64
            {
                labels.set(to as usize);
            }
            at += len;
        }
        starts.set(at);
        for (label, start) in labels.0.iter_mut().zip(&starts.0) {
            *label &= start;
        }
        let mut marked = labels.clone();
        for address in named.range(base..).map(|(address, _)| address - base) {
            if address <= bytes.len() as u64 && address % 4 == 0 {
                marked.set(address as usize);
            }
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
                labels,
                marked,
                chunks,
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
                scope.spawn(work);
            }
            work();
        });
        turn.into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .result
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
            if labelled.marked.has(at) {
                self.mark(labelled, at, out);
            }
            if is_zero(bytes, at) {
                let zeros = self.zero_words(labelled, at);
                if zeros >= 2 {
                    let _ = writeln!(out, "\t.fill {zeros}, 4, 0");
                    at += 4 * zeros;
                    continue;
                }
            }
            let start = out.len();
            out.push('\t');
            let step = match &self.decoder.decode(&bytes[at..]) {
                Some(insn) => {
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
                None => {
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

    /// The labels at a place that has some.
    #[inline(never)]
    fn mark(&self, labelled: &Labelled, at: usize, out: &mut Text) {
        let address = labelled.base.wrapping_add(at as u64);
        match labelled.named.get(&address) {
            Some(names) => {
                for name in names {
                    out.push_str(name);
                    out.push_str(":\n");
                }
            }
            None => {
                self.name(labelled, at, out);
                out.push_str(":\n");
            }
        }
    }

    /// The name by which a place is branched to.
    fn name(&self, labelled: &Labelled, at: usize, out: &mut impl Sink) {
        let address = labelled.base.wrapping_add(at as u64);
        if let Some(name) = labelled.named.get(&address).and_then(|names| names.first()) {
            out.push_str(name);
        } else if self.style.syntax == Syntax::Clrx {
            // CLRX's labels end in the section's number.
            out.push_str(".L");
            push_dec(out, address);
            out.push_str("_0");
        } else {
            out.push_str("L_");
            push_hex_digits(out, address);
        }
    }

    /// How many zero dwords begin here before the next label: the padding between kernels.
    fn zero_words(&self, labelled: &Labelled, at: usize) -> usize {
        let mut end = at;
        while is_zero(self.bytes, end) && (end == at || !labelled.marked.has(end)) {
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
    over: bool,
}

impl<'a> Chunks<'a> {
    fn new(listing: &'a Listing<'a>) -> Chunks<'a> {
        Chunks {
            listing,
            number: 0,
            at: 0,
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
            Some(labelled) => *labelled.chunks.get(self.number + 1).unwrap_or(&bytes.len()),
            None => {
                let mut at = from;
                while at < from + CHUNK && bytes.len() - at >= 4 {
                    at += self.listing.decoder.skim(&bytes[at..]).0;
                }
                if bytes.len() - at < 4 {
                    bytes.len()
                } else {
                    at
                }
            }
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
