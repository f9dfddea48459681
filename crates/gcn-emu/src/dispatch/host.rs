//! What a kernel says to the host while it runs: printf's buffer, host calls, and the order in which text comes out.

use super::hostcall::{Heap, Hostcall};
use super::printf::Declared;
use crate::mem::{Fault, Memory};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard};

/// Where the text of kernels goes.
pub(super) type Output = Mutex<Box<dyn Write + Send>>;

/// The host of one dispatch. Each workgroup that runs at a time has a channel of its own, so that its text is known from
/// others', and text comes out in the order of workgroups, whatever order they run in.
pub(super) struct Host {
    channels: Vec<Mutex<Channel>>,
    formats: Vec<Declared>,
    heap: Option<Arc<Heap>>,
    text: Mutex<Text>,
}

/// One workgroup's.
#[derive(Default)]
pub(super) struct Channel {
    /// The address of printf's buffer.
    pub printf: Option<u64>,
    pub hostcall: Option<Hostcall>,
    text: Vec<u8>,
}

/// Bytes of a workgroup's printf buffer: what it prints beyond that is lost, as printf's result says.
pub(super) const PRINTF_BYTES: u64 = 4 << 20;
/// The buffer's head: bytes used and bytes there are.
const PRINTF_HEAD: u64 = 8;

/// Text of workgroups that are not the next to come out.
#[derive(Default)]
struct Text {
    next: u64,
    waiting: BTreeMap<u64, Vec<u8>>,
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Host {
    pub fn new(channels: Vec<Channel>, formats: Vec<Declared>, heap: Option<Arc<Heap>>) -> Host {
        Host {
            channels: channels.into_iter().map(Mutex::new).collect(),
            formats,
            heap,
            text: Mutex::default(),
        }
    }

    /// Makes the head of a printf buffer.
    ///
    /// # Errors
    /// If memory is not mapped there.
    pub fn open_printf(memory: &Memory, at: u64) -> Result<(), Fault> {
        memory.store_u32(at, 0)?;
        memory.store_u32(at + 4, PRINTF_BYTES as u32)
    }

    /// Answers what workgroup `number`, which runs in place `resident`, has asked; says whether it had.
    ///
    /// # Errors
    /// A sentence, when it asks for what there is not.
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
        let served = hostcall.serve(memory, self.heap.as_deref(), text);
        // Whose turn it is need not wait for its end.
        if !text.is_empty() && lock(&self.text).next == number {
            write(output, &std::mem::take(text))?;
        }
        served
    }

    /// Takes what workgroup `number` still had to say: it has ended, or will not go on.
    ///
    /// # Errors
    /// A sentence, when printf's buffer holds what is no output, or the text could not be written.
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
        let mut text = Vec::new();
        while let Some(more) = {
            let next = order.next;
            order.waiting.remove(&next)
        } {
            text.extend(more);
            order.next += 1;
        }
        // Still under the lock, so that nobody overtakes.
        said.and(write(output, &text))
    }

    /// Writes what workgroups behind one that never ran have said.
    ///
    /// # Errors
    /// A sentence, if the text could not be written.
    pub fn close(&self, output: &Output) -> Result<(), String> {
        let waiting = std::mem::take(&mut lock(&self.text).waiting);
        let text: Vec<u8> = waiting.into_values().flatten().collect();
        write(output, &text)
    }

    fn read_printf(&self, memory: &Memory, at: u64, out: &mut Vec<u8>) -> Result<(), String> {
        let fault = |f: Fault| format!("the printf buffer: {f}");
        let used = u64::from(memory.load_u32(at).map_err(fault)?);
        // A kernel may count beyond the end what it then does not store.
        let used = used.min(PRINTF_BYTES - PRINTF_HEAD) as usize;
        if used == 0 {
            return Ok(());
        }
        let mut bytes = vec![0; used];
        memory.read(at + PRINTF_HEAD, &mut bytes).map_err(fault)?;
        Host::open_printf(memory, at).map_err(fault)?;
        let mut rest = &bytes[..];
        while let Some((id, _)) = rest.split_first_chunk::<4>() {
            let id = u32::from_le_bytes(*id);
            let format = self.formats.iter().find(|f| f.id == id);
            let format = format.ok_or_else(|| {
                format!("the kernel prints with format {id}, which its code object does not have")
            })?;
            let Some((entry, tail)) = rest.split_at_checked(format.bytes()) else {
                break;
            };
            format.print(&entry[4..], out);
            rest = tail;
        }
        Ok(())
    }
}

fn write(output: &Output, text: &[u8]) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    let mut output = lock(output);
    let written = output.write_all(text).and_then(|()| output.flush());
    written.map_err(|e| format!("the text that the kernel prints could not be written: {e}"))
}
