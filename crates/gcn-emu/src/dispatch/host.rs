//! Requests of a kernel to the host while it runs: printf's buffer, host calls, and the order of the printed text.
//!
//! Text is formatted when it is the next to be written, and is written piece by piece. Until then the unformatted pieces
//! of each workgroup are held, which take little memory; if they exceed the limit, the dispatch ends with an error.

use super::hostcall::{Heap, Hostcall, print_message};
use super::printf::{Declared, Sink};
use crate::mem::{Fault, Memory};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

/// The destination of the text of kernels.
pub(super) type Output = Mutex<Box<dyn Write + Send>>;

/// The host of one dispatch. Each workgroup that runs at a time has its own channel, which keeps its text apart from that of
/// others. Text is written in the order of workgroups, in whatever order they run.
pub(super) struct Host {
    channels: Vec<Mutex<Channel>>,
    /// The formats by their IDs.
    formats: HashMap<u32, Declared>,
    heap: Option<Arc<Heap>>,
    held: Held,
    text: Mutex<Text>,
}

/// The channel of one workgroup.
#[derive(Clone, Default)]
pub(super) struct Channel {
    /// The address of printf's buffer.
    pub printf: Option<u64>,
    pub hostcall: Option<Hostcall>,
    text: Vec<Piece>,
}

/// A piece of unformatted text.
#[derive(Clone)]
pub(super) enum Piece {
    /// Entries of a printf buffer, complete and with known formats.
    Entries(Vec<u8>),
    /// A message of host calls.
    Message(Vec<u64>),
}

impl Piece {
    fn bytes(&self) -> u64 {
        match self {
            Piece::Entries(bytes) => bytes.len() as u64,
            Piece::Message(words) => 8 * words.len() as u64,
        }
    }
}

/// The maximum bytes of host memory for text that is not yet printed.
pub(super) const HELD_MOST: u64 = 256 << 20;

/// Counts the bytes held for text that is not yet printed.
pub(super) struct Held {
    bytes: AtomicU64,
    most: u64,
}

impl Held {
    /// A count of 0, with the maximum `most`.
    pub fn new(most: u64) -> Held {
        Held {
            bytes: AtomicU64::new(0),
            most,
        }
    }

    /// Counts bytes that are held from now on.
    ///
    /// # Errors
    /// A message if there are too many.
    pub fn take(&self, bytes: u64) -> Result<(), String> {
        let before = self.bytes.fetch_add(bytes, Relaxed);
        if before + bytes <= self.most {
            return Ok(());
        }
        self.give(bytes);
        Err(format!(
            "what the kernel prints takes more than {} MiB before it can be written: workgroups before this one have not ended, \
             or messages of host calls are not",
            self.most >> 20
        ))
    }

    /// Releases bytes that are no longer held.
    pub fn give(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }
}

/// The state of a host at a moment of a dispatch.
#[derive(Clone)]
pub(super) struct HostState {
    channels: Vec<Channel>,
    held: u64,
    text: Text,
    heap: Option<BTreeMap<u64, u64>>,
}

/// Bytes of a workgroup's printf buffer: output beyond it is lost, and printf's result says so.
pub(super) const PRINTF_BYTES: u64 = 4 << 20;
/// The buffer's header: bytes used and bytes available.
const PRINTF_HEAD: u64 = 8;

/// Text of workgroups whose turn to be written has not come.
#[derive(Clone, Default)]
struct Text {
    next: u64,
    waiting: BTreeMap<u64, Vec<Piece>>,
}

/// Text on its way to the output; it is written in pieces of about this size.
struct Stream<'a> {
    output: MutexGuard<'a, Box<dyn Write + Send>>,
    buffer: Vec<u8>,
    result: io::Result<()>,
}

const STREAM: usize = 1 << 16;

impl Stream<'_> {
    fn write(&mut self) {
        if self.result.is_ok() {
            self.result = self.output.write_all(&self.buffer);
        }
        self.buffer.clear();
    }

    /// Writes the remaining text.
    fn end(mut self) -> Result<(), String> {
        self.write();
        let written = self.result.and_then(|()| self.output.flush());
        written.map_err(|e| format!("the text that the kernel prints could not be written: {e}"))
    }
}

impl Sink for Stream<'_> {
    fn put(&mut self, text: &[u8]) {
        for part in text.chunks(STREAM) {
            self.buffer.extend_from_slice(part);
            if self.buffer.len() >= STREAM {
                self.write();
            }
        }
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Host {
    pub fn new(channels: Vec<Channel>, formats: Vec<Declared>, heap: Option<Arc<Heap>>) -> Host {
        let mut by_number = HashMap::new();
        for format in formats {
            by_number.entry(format.id).or_insert(format);
        }
        Host {
            channels: channels.into_iter().map(Mutex::new).collect(),
            formats: by_number,
            heap,
            held: Held::new(HELD_MOST),
            text: Mutex::default(),
        }
    }

    /// Returns the present state.
    pub fn state(&self) -> HostState {
        HostState {
            channels: self.channels.iter().map(|c| lock(c).clone()).collect(),
            held: self.held.bytes.load(Relaxed),
            text: lock(&self.text).clone(),
            heap: self.heap.as_ref().map(|heap| heap.slabs().clone()),
        }
    }

    /// Returns to an earlier state.
    pub fn set_state(&self, state: &HostState) {
        for (channel, old) in self.channels.iter().zip(&state.channels) {
            *lock(channel) = old.clone();
        }
        self.held.bytes.store(state.held, Relaxed);
        *lock(&self.text) = state.text.clone();
        if let (Some(heap), Some(old)) = (&self.heap, &state.heap) {
            *heap.slabs() = old.clone();
        }
    }

    /// Initializes the header of a printf buffer.
    ///
    /// # Errors
    /// If memory is not mapped there.
    pub fn open_printf(memory: &Memory, at: u64) -> Result<(), Fault> {
        memory.store_u32(at, 0)?;
        memory.store_u32(at + 4, PRINTF_BYTES as u32)
    }

    /// Serves the requests of workgroup `number`, which runs in slot `resident`. Returns true if there was one.
    ///
    /// # Errors
    /// A message if it requests something that does not exist.
    pub fn serve(
        &self,
        memory: &Memory,
        output: &Output,
        resident: usize,
        number: u64,
    ) -> Result<bool, String> {
        let Some(channel) = self.channels.get(resident) else {
            return Ok(false);
        };
        let mut channel = lock(channel);
        let Channel { hostcall, text, .. } = &mut *channel;
        let Some(hostcall) = hostcall else {
            return Ok(false);
        };
        let served = hostcall.serve(memory, self.heap.as_deref(), &self.held, text);
        // The workgroup whose text is next need not wait until it has ended.
        if !text.is_empty() && lock(&self.text).next == number {
            self.print(output, std::mem::take(text))?;
        }
        served
    }

    /// Takes the remaining text of workgroup `number`, which has ended or will not continue.
    ///
    /// # Errors
    /// A message if printf's buffer holds invalid entries, or the text could not be written.
    pub fn finish(
        &self,
        memory: &Memory,
        output: &Output,
        resident: usize,
        number: u64,
    ) -> Result<(), String> {
        let Some(channel) = self.channels.get(resident) else {
            return Ok(());
        };
        let mut said = self.serve(memory, output, resident, number).map(|_| ());
        let mut channel = lock(channel);
        if let Some(at) = channel.printf {
            let result = self.read_printf(memory, at, &mut channel.text);
            said = said.and(result);
        }
        let mut order = lock(&self.text);
        order
            .waiting
            .insert(number, std::mem::take(&mut channel.text));
        // All of it happens under the lock, so that no other thread's text overtakes it.
        while let Some(text) = {
            let next = order.next;
            order.waiting.remove(&next)
        } {
            said = said.and(self.print(output, text));
            order.next += 1;
        }
        said
    }

    /// Writes the text of workgroups after one that never ran.
    ///
    /// # Errors
    /// A message if the text could not be written.
    pub fn close(&self, output: &Output) -> Result<(), String> {
        let waiting = std::mem::take(&mut lock(&self.text).waiting);
        self.print(output, waiting.into_values().flatten().collect())
    }

    /// Formats text and writes it.
    fn print(&self, output: &Output, text: Vec<Piece>) -> Result<(), String> {
        if text.is_empty() {
            return Ok(());
        }
        let mut stream = Stream {
            output: lock(output),
            buffer: Vec::new(),
            result: Ok(()),
        };
        for piece in text {
            self.held.give(piece.bytes());
            // After a failed write nothing more is formatted.
            if stream.result.is_err() {
                continue;
            }
            match piece {
                Piece::Message(words) => print_message(&words, &mut stream),
                Piece::Entries(bytes) => {
                    let mut rest = &bytes[..];
                    while let Some((format, entry, tail)) = self.entry(rest)
                        && stream.result.is_ok()
                    {
                        format.print(entry, &mut stream);
                        rest = tail;
                    }
                }
            }
        }
        stream.end()
    }

    /// The first entry of a printf buffer: its format, its arguments, and the bytes after it.
    fn entry<'a>(&self, bytes: &'a [u8]) -> Option<(&Declared, &'a [u8], &'a [u8])> {
        let (id, _) = bytes.split_first_chunk::<4>()?;
        let format = self.formats.get(&u32::from_le_bytes(*id))?;
        let (entry, tail) = bytes.split_at_checked(format.bytes())?;
        Some((format, &entry[4..], tail))
    }

    /// Takes the entries of a printf buffer.
    fn read_printf(&self, memory: &Memory, at: u64, out: &mut Vec<Piece>) -> Result<(), String> {
        let fault = |f: Fault| format!("the printf buffer: {f}");
        let used = u64::from(memory.load_u32(at).map_err(fault)?);
        // The count may exceed the end: a kernel increments it also for entries that it then does not store.
        let used = used.min(PRINTF_BYTES - PRINTF_HEAD) as usize;
        if used == 0 {
            return Ok(());
        }
        let mut bytes = vec![0; used];
        memory.read(at + PRINTF_HEAD, &mut bytes).map_err(fault)?;
        Host::open_printf(memory, at).map_err(fault)?;
        let mut rest = &bytes[..];
        while let Some((.., tail)) = self.entry(rest) {
            rest = tail;
        }
        // An incomplete entry was too long for the buffer.
        let id = rest.first_chunk().copied().map(u32::from_le_bytes);
        let unknown = id.filter(|id| !self.formats.contains_key(id));
        bytes.truncate(used - rest.len());
        bytes.shrink_to_fit();
        self.held.take(bytes.len() as u64)?;
        out.push(Piece::Entries(bytes));
        match unknown {
            None => Ok(()),
            Some(id) => Err(format!(
                "the kernel prints with format {id}, which its code object does not have"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::Perm;

    /// Records how much was written, and the size of the pieces.
    #[derive(Clone, Default)]
    struct Sizes(Arc<Mutex<Vec<usize>>>);

    impl Write for Sizes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            lock(&self.0).push(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A host for some workgroups, with a printf buffer of `entries` entries of one number for each of them.
    fn host(memory: &Memory, workgroups: usize, format: &str, entries: u32) -> Host {
        let mut channels = Vec::new();
        for _ in 0..workgroups {
            let at = memory.alloc(PRINTF_BYTES, 64, Perm::RW).unwrap();
            Host::open_printf(memory, at).unwrap();
            memory.store_u32(at, 8 * entries).unwrap();
            let entry = [1, 0, 0, 0, 7, 0, 0, 0].repeat(entries as usize);
            memory.write(at + PRINTF_HEAD, &entry).unwrap();
            channels.push(Channel {
                printf: Some(at),
                ..Channel::default()
            });
        }
        Host::new(channels, vec![Declared::parse(format).unwrap()], None)
    }

    #[test]
    fn text_is_streamed_in_the_order_of_workgroups() {
        let memory = Memory::new(64 << 20).unwrap();
        let sizes = Sizes::default();
        let output: Output = Mutex::new(Box::new(sizes.clone()));
        let host = host(&memory, 2, "1:1:4:%65535d", 4096);
        // The second workgroup waits for the first; its text is held unformatted.
        host.finish(&memory, &output, 1, 1).unwrap();
        assert!(lock(&sizes.0).is_empty());
        assert_eq!(host.held.bytes.load(Relaxed), 8 * 4096);
        host.finish(&memory, &output, 0, 0).unwrap();
        assert_eq!(host.held.bytes.load(Relaxed), 0);
        let sizes = lock(&sizes.0);
        assert_eq!(sizes.iter().sum::<usize>(), 2 * 4096 * 4095);
        assert!(sizes.iter().all(|&bytes| bytes <= 2 * STREAM));
    }

    #[test]
    fn too_much_that_waits_is_an_error() {
        let memory = Memory::new(64 << 20).unwrap();
        let output: Output = Mutex::new(Box::new(io::sink()));
        let mut host = host(&memory, 2, "1:1:4:%d", 1000);
        host.held = Held::new(7999);
        let why = host.finish(&memory, &output, 1, 1).unwrap_err();
        assert!(why.contains("before it can be written"), "{why}");
    }

    #[test]
    fn an_unknown_format_is_told_after_the_text_before_it() {
        let memory = Memory::new(64 << 20).unwrap();
        let sizes = Sizes::default();
        let output: Output = Mutex::new(Box::new(sizes.clone()));
        let host = host(&memory, 1, "1:1:4:%d", 3);
        let at = lock(&host.channels[0]).printf.unwrap();
        memory.store_u32(at + PRINTF_HEAD + 16, 9).unwrap();
        let why = host.finish(&memory, &output, 0, 0).unwrap_err();
        assert!(why.contains("format 9"), "{why}");
        assert_eq!(*lock(&sizes.0), [2]);
    }

    /// Writes a host call of one lane into the first packet, and makes it ready.
    fn call(memory: &Memory, hostcall: &Hostcall, words: [u64; 8]) {
        let at = hostcall.address();
        let (headers, payloads) = (
            memory.load_u64(at).unwrap(),
            memory.load_u64(at + 8).unwrap(),
        );
        memory.store_u64(headers, 0).unwrap();
        memory.store_u64(headers + 8, 1).unwrap();
        memory.store_u32(headers + 16, 2).unwrap();
        for (n, word) in (0..).zip(words) {
            memory.store_u64(payloads + 8 * n, word).unwrap();
        }
        memory.store_u64(at + 32, 2).unwrap();
    }

    #[test]
    fn messages_that_never_end_are_an_error() {
        let memory = Memory::new(1 << 20).unwrap();
        let at = memory.alloc(Hostcall::bytes(1), 64, Perm::RW).unwrap();
        let mut hostcall = Hostcall::new(&memory, at, 1).unwrap();
        let (held, mut out) = (Held::new(1 << 16), Vec::new());
        let mut begun = 0;
        let why = loop {
            // Begun, without words, and not ended.
            call(&memory, &hostcall, [1, 0, 0, 0, 0, 0, 0, 0]);
            match hostcall.serve(&memory, None, &held, &mut out) {
                Ok(_) => begun += 1,
                Err(why) => break why,
            }
            assert!(begun <= 1 << 10);
        };
        assert!(why.contains("host calls"), "{why}");
        // A message that ends releases its bytes, and its text has the number of characters that is returned.
        let mut hostcall = Hostcall::new(&memory, at, 1).unwrap();
        let held = Held::new(1 << 16);
        let format = u64::from_le_bytes(*b"%65535d\0");
        call(&memory, &hostcall, [3 | 3 << 5, 0, format, 5, 0, 0, 0, 0]);
        assert_eq!(hostcall.serve(&memory, None, &held, &mut out), Ok(true));
        assert_eq!(held.bytes.load(Relaxed), 24);
        let payload = memory.load_u64(at + 8).unwrap();
        assert_eq!(memory.load_u64(payload).unwrap(), 4095);
    }
}
