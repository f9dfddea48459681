//! Host calls: a kernel puts a packet on a stack and waits until the host has answered it.
//!
//! Source: ROCm's device libraries (`ockl/src/hostcall_impl.cl`, `services.cl`) and their heap (`dm.cl`).

use super::host::{Held, Piece};
use super::observers::{Block, KernelHeap};
use super::printf::{self, Counter, Sink, Words};
use crate::mem::{Fault, Memory};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

// The buffer: pointers to headers and payloads, a signal, the heads of the two stacks, and the mask of the bits of a
// packet's number that are its index. The upper bits of a number distinguish it from earlier uses of the same packet; 0 is
// the end of a stack.
const HEADERS: u64 = 0;
const PAYLOADS: u64 = 8;
const DOORBELL: u64 = 16;
const FREE: u64 = 24;
const READY: u64 = 32;
const MASK: u64 = 40;
/// An `amd_signal_t` without an event.
const SIGNAL: u64 = 64;
const SIGNAL_BYTES: u64 = 64;

// A packet's header: the next packet on its stack, the lanes that call, the service, and the control word, whose bit 0 is set while
// it waits.
const HEADER_BYTES: u64 = 24;
/// 8 words for each lane.
const PAYLOAD_BYTES: u64 = 64 * 64;

/// The buffer of the host calls of one workgroup.
#[derive(Clone)]
pub(super) struct Hostcall {
    at: u64,
    mask: u64,
    headers: u64,
    payloads: u64,
    /// Messages that are still incomplete, by number.
    messages: BTreeMap<u64, Vec<u64>>,
    next_message: u64,
}

/// The numbers of services.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Service(u32);

impl Service {
    const FUNCTION_CALL: Service = Service(1);
    const PRINTF: Service = Service(2);
    const DEVMEM: Service = Service(3);
}

/// The maximum number of words of a message.
const LONGEST: usize = 1 << 20;

impl Hostcall {
    /// The number of packets, one for each of `waves` waves, rounded up to a power of two.
    fn packets(waves: usize) -> u64 {
        (waves as u64).next_power_of_two().max(2)
    }

    /// Bytes of the buffer for a workgroup of `waves` waves.
    pub fn bytes(waves: usize) -> u64 {
        let headers = Hostcall::packets(waves) * HEADER_BYTES;
        (SIGNAL + SIGNAL_BYTES + headers).next_multiple_of(64)
            + Hostcall::packets(waves) * PAYLOAD_BYTES
    }

    /// Lays the buffer out at `at`, with all packets free. Whatever is there does not matter.
    ///
    /// # Errors
    /// If memory is not mapped there.
    pub fn new(memory: &Memory, at: u64, waves: usize) -> Result<Hostcall, Fault> {
        let packets = Hostcall::packets(waves);
        let headers = at + SIGNAL + SIGNAL_BYTES;
        let payloads = (headers + packets * HEADER_BYTES).next_multiple_of(64);
        for word in (at..payloads).step_by(8) {
            memory.store_u64(word, 0)?;
        }
        memory.store_u64(at + HEADERS, headers)?;
        memory.store_u64(at + PAYLOADS, payloads)?;
        memory.store_u64(at + DOORBELL, at + SIGNAL)?;
        memory.store_u64(at + READY, 0)?;
        memory.store_u64(at + MASK, packets - 1)?;
        // A user signal with the value 0: there is nothing to wake.
        memory.store_u64(at + SIGNAL, 1)?;
        // Packet 0 is the last one; its number is not 0.
        let mut next = 0;
        for index in 0..packets {
            memory.store_u64(headers + index * HEADER_BYTES, next)?;
            next = if index == 0 { packets } else { index };
        }
        memory.store_u64(at + FREE, next)?;
        Ok(Hostcall {
            at,
            mask: packets - 1,
            headers,
            payloads,
            messages: BTreeMap::new(),
            next_message: 1,
        })
    }

    /// The address that is passed to kernels.
    pub fn address(&self) -> u64 {
        self.at
    }

    /// Serves all packets that are ready, and returns true if there were any. Messages to print are appended to `out` and counted
    /// in `held`.
    ///
    /// # Errors
    /// A message if a packet requests something that does not exist or is invalid, or if too much is held.
    pub fn serve(
        &mut self,
        memory: &Memory,
        heap: Option<&Heap>,
        held: &Held,
        out: &mut Vec<Piece>,
    ) -> Result<bool, String> {
        let fault = |f: Fault| format!("the host call buffer is damaged: {f}");
        if memory.load_u64(self.at + READY).map_err(fault)? == 0 {
            return Ok(false);
        }
        let mut number = memory
            .fetch_update_u64(self.at + READY, |_| 0)
            .map_err(fault)?;
        // The newest packet is on top of the stack.
        let mut ready = Vec::new();
        while number != 0 {
            if ready.len() as u64 > self.mask {
                return Err("the host call buffer is damaged: its stack has no end".into());
            }
            ready.push(number & self.mask);
            let header = self.headers + (number & self.mask) * HEADER_BYTES;
            number = memory.load_u64(header).map_err(fault)?;
        }
        for index in ready.into_iter().rev() {
            let header = self.headers + index * HEADER_BYTES;
            let lanes = memory.load_u64(header + 8).map_err(fault)?;
            let service = memory.load_u32(header + 16).map_err(fault)?;
            for lane in (0..64).filter(|lane| lanes >> lane & 1 != 0) {
                let at = self.payloads + index * PAYLOAD_BYTES + lane * 64;
                let mut words = [0u64; 8];
                for (word, location) in words.iter_mut().zip((at..).step_by(8)) {
                    *word = memory.load_u64(location).map_err(fault)?;
                }
                let answer = self.answer(Service(service), &words, heap, held, out)?;
                memory.store_u64(at, answer[0]).map_err(fault)?;
                memory.store_u64(at + 8, answer[1]).map_err(fault)?;
            }
            // A wave that sees this store also sees the stores before it.
            memory
                .fetch_update_u32(header + 20, |control| control & !1)
                .map_err(fault)?;
        }
        Ok(true)
    }

    fn answer(
        &mut self,
        service: Service,
        words: &[u64; 8],
        heap: Option<&Heap>,
        held: &Held,
        out: &mut Vec<Piece>,
    ) -> Result<[u64; 2], String> {
        match service {
            Service::PRINTF => self.part(words, held, out),
            Service::DEVMEM => {
                let heap = heap.ok_or("a host call asks for memory, and the kernel has no heap")?;
                heap.request(words[0], words[1]).map(|at| [at, 0])
            }
            Service::FUNCTION_CALL => Err(format!(
                "a host call asks for the host's function at {:#x}, and there is no such host: only printf and memory are answered",
                words[0]
            )),
            Service(other) => Err(format!(
                "a host call asks for service {other}; 2 (printf) and 3 (memory) are answered"
            )),
        }
    }

    /// A part of a message: a descriptor (begin, end, words, number), and up to 7 words.
    fn part(
        &mut self,
        words: &[u64; 8],
        held: &Held,
        out: &mut Vec<Piece>,
    ) -> Result<[u64; 2], String> {
        let (descriptor, count) = (words[0], (words[0] >> 5 & 7) as usize);
        // Bytes of the message's entry in the map.
        const PLACE: u64 = 64;
        held.take(8 * count as u64 + if descriptor & 1 != 0 { PLACE } else { 0 })?;
        let number = if descriptor & 1 != 0 {
            let number = self.next_message;
            self.next_message += 1;
            self.messages.insert(number, Vec::new());
            number
        } else {
            descriptor >> 8
        };
        let message = self.messages.get_mut(&number);
        let message = message.ok_or_else(|| {
            format!("a host call goes on with message {number}, which was never begun")
        })?;
        message.extend(&words[1..1 + count]);
        if message.len() > LONGEST {
            return Err(format!(
                "message {number} of host calls has more than {LONGEST} words"
            ));
        }
        if descriptor & 2 == 0 {
            return Ok([descriptor & !1 & 0xff | number << 8, 0]);
        }
        let message = self.messages.remove(&number).unwrap_or_default();
        held.give(PLACE);
        // printf returns the number of characters.
        let mut characters = Counter::default();
        print_message(&message, &mut characters);
        out.push(Piece::Message(message));
        Ok([characters.0, 0])
    }
}

/// Prints the text of a message that printf sent.
pub(super) fn print_message(message: &[u64], out: &mut dyn Sink) {
    // The first word selects the stream: 0 standard output, 1 standard error. Both are output of the program.
    let mut args = Words(message.get(1..).unwrap_or(&[]));
    if let Some(format) = printf::Args::text(&mut args) {
        printf::format(&format, &mut args, out);
    }
}

/// Memory that kernels allocate and free: the structure that `hidden_heap_v1` points to, and an arena for the slabs that it
/// requests from the host.
pub(super) struct Heap {
    /// The address of the heap's own structure, initially zeros.
    pub header: u64,
    start: u64,
    end: u64,
    /// The sizes of allocated slabs by address.
    used: Mutex<BTreeMap<u64, u64>>,
    /// The sizes of freed blocks by address. Slabs, in which the kernels' own code allocates small blocks, are not included.
    freed: Mutex<BTreeMap<u64, u64>>,
    version: AtomicU64,
}

impl KernelHeap for Heap {
    fn version(&self) -> u64 {
        self.version.load(Relaxed)
    }

    fn start(&self) -> u64 {
        self.start
    }

    fn blocks(&self) -> Vec<Block> {
        let used = self.slabs();
        let freed = self.freed.lock().unwrap_or_else(|p| p.into_inner());
        let block = |freed: bool| {
            move |(&address, &bytes): (&u64, &u64)| Block {
                address,
                bytes,
                freed,
            }
        };
        // Addresses that are in use again are not freed.
        let gone = freed.iter().filter(|(at, bytes)| {
            let before = used.range(..*at + *bytes).next_back();
            before.is_none_or(|(first, size)| first + size <= **at)
        });
        used.iter()
            .map(block(false))
            .chain(gone.map(block(true)))
            .collect()
    }
}

impl Heap {
    /// Bytes of the heap's own structure.
    pub const HEADER_BYTES: u64 = 128 << 10;
    /// Slabs are aligned to their size.
    pub const ALIGN: u64 = 2 << 20;

    pub fn new(header: u64, start: u64, size: u64) -> Heap {
        Heap {
            header,
            start,
            end: start + size,
            used: Mutex::default(),
            freed: Mutex::default(),
            version: AtomicU64::new(1),
        }
    }

    /// The sizes of allocated slabs by address.
    pub fn slabs(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        self.used.lock().unwrap_or_else(|p| p.into_inner())
    }

    /// Frees `address` if it is not 0, otherwise allocates `size` bytes and returns their address: 0 if no memory is left.
    fn request(&self, address: u64, size: u64) -> Result<u64, String> {
        let mut used = self.slabs();
        self.version.fetch_add(1, Relaxed);
        if address != 0 {
            return match used.remove(&address) {
                Some(bytes) => {
                    if bytes != Heap::ALIGN {
                        let mut freed = self.freed.lock().unwrap_or_else(|p| p.into_inner());
                        freed.insert(address, bytes);
                    }
                    Ok(0)
                }
                None => Err(format!(
                    "a host call gives back memory at {address:#x} that it never got"
                )),
            };
        }
        let align = if size >= Heap::ALIGN {
            Heap::ALIGN
        } else {
            4096
        };
        let mut at = self.start.next_multiple_of(align);
        for (&first, &taken) in used.iter() {
            if first >= at && first - at >= size {
                break;
            }
            at = at.max(first + taken).next_multiple_of(align);
        }
        match at.checked_add(size.max(1)) {
            Some(end) if end <= self.end => {
                used.insert(at, size.max(1));
                Ok(at)
            }
            _ => Ok(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_known_until_their_addresses_are_used_again() {
        let heap = Heap::new(0, 4 * Heap::ALIGN, 16 * Heap::ALIGN);
        let block = |address, bytes, freed| Block {
            address,
            bytes,
            freed,
        };
        let before = heap.version();
        let slab = heap.request(0, Heap::ALIGN).expect("memory");
        let (a, b) = (heap.request(0, 5000), heap.request(0, 100));
        let (a, b) = (a.expect("memory"), b.expect("memory"));
        assert_ne!(heap.version(), before);
        let all = [block(slab, Heap::ALIGN, false), block(a, 5000, false)];
        assert_eq!(heap.blocks()[..2], all);
        for freed in [slab, a, b] {
            assert_eq!(heap.request(freed, 0), Ok(0));
        }
        // Slabs are the kernels' own; small blocks in them are not known.
        assert_eq!(heap.blocks(), [block(a, 5000, true), block(b, 100, true)]);
        assert!(heap.request(a, 0).is_err());
        let slab = heap.request(0, Heap::ALIGN).expect("memory");
        let again = heap.request(0, 4000).expect("memory");
        assert_eq!(again, a, "the first that fits");
        let now = [
            block(slab, Heap::ALIGN, false),
            block(a, 4000, false),
            block(b, 100, true),
        ];
        assert_eq!(heap.blocks(), now);
    }
}
