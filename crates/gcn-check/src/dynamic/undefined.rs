//! Tracks which bits of registers and memory are undefined, because nothing wrote them, and reports uses in which such bits matter.
//!
//! Every register and every byte of LDS and scratch has a mask of its undefined bits. An instruction's meaning is evaluated on these masks
//! beside the values: `x & 0` is defined whatever x is, and a sum is undefined from its lowest undefined bit on.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use foldhash::{HashMap, HashMapExt};
use gcn_emu::operands::{OperandLocation, Opnd};
use gcn_emu::probe::{self, Access, Executed};
use gcn_emu::wave::{LANES, WaveState, mode};
use gcn_isa::access::{File, InstructionInfo, MemoryKind};
use gcn_isa::format::Format;
use gcn_isa::meaning::{Change, Node, Op, Space, State, width_mask};
use gcn_isa::operand::{EXEC, M0, VCC};
use gcn_isa::shape::{Role, Ty};
use gcn_object::descriptor::KernelDescriptor;

use crate::uninit;

/// The source of an undefined value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Origin {
    /// Nothing wrote this register.
    Register(File, u16),
    /// The instruction loaded bytes of this memory that nothing wrote.
    Load(u32, Source),
}

/// Memory that begins undefined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// LDS; the number is the byte's offset.
    Lds(u32),
    /// Scratch.
    Scratch,
    /// A buffer that undefined bytes were stored to; the number is the address.
    Memory(u64),
}

/// The use of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// The value is part of an address, or a resource.
    Address,
    /// The value decides a branch or which lanes are active.
    Condition,
    /// The value is stored in a buffer.
    Data,
}

/// An undefined value that matters.
#[derive(Clone, Debug)]
pub struct Use {
    /// The kind of use.
    pub purpose: Purpose,
    /// The register, where there is one.
    pub register: Option<(File, u16)>,
    /// The lanes.
    pub lanes: u64,
    /// The source of the value.
    pub origin: Option<Origin>,
}

/// The undefined bits of memory, as a mask for each byte. A page without an entry is defined unless it is in `fresh`.
#[derive(Default)]
pub struct Bytes {
    pages: BTreeMap<u64, Page>,
    /// Addresses whose bytes begin undefined, in pages that are not there: each first one, and the one after the last.
    fresh: BTreeMap<u64, u64>,
    /// All other memory, if its undefined bytes outlive the dispatch.
    shared: Option<Arc<Fresh>>,
}

const PAGE: usize = 4096;

/// The undefined bits of a page's bytes.
struct Page {
    bits: Box<[u8; PAGE]>,
    /// The number of bytes that have some.
    undefined: usize,
}

impl Page {
    /// These bytes are undefined.
    fn new(undefined: Range<usize>) -> Page {
        let mut page = Page {
            bits: Box::new([0; PAGE]),
            undefined: undefined.len(),
        };
        page.bits[undefined].fill(0xff);
        page
    }

    fn set(&mut self, at: usize, bits: u8) {
        let old = std::mem::replace(&mut self.bits[at], bits);
        self.undefined = self.undefined + (bits != 0) as usize - (old != 0) as usize;
    }
}

/// Undefined bytes of memory that dispatches share: what was allocated is undefined until a kernel or a copy writes it.
#[derive(Default)]
pub struct Fresh(RwLock<Bytes>);

impl Fresh {
    fn read(&self) -> RwLockReadGuard<'_, Bytes> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Bytes> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an allocation of whole pages: their bytes are undefined.
    pub fn allocated(&self, at: u64, bytes: u64) {
        let mut all = self.write();
        all.define(at, bytes);
        all.fresh.insert(at, at.saturating_add(bytes));
    }

    /// Returns true if no byte is undefined.
    pub fn is_empty(&self) -> bool {
        let all = self.read();
        all.pages.is_empty() && all.fresh.is_empty()
    }

    /// Returns true if `ask` does so for one of the runs of undefined bytes between two addresses: of each its first one, and the one after its
    /// last one. They come in ascending order, and none goes beyond a page that is partly defined.
    pub fn any(&self, from: u64, to: u64, ask: impl FnMut((u64, u64)) -> bool) -> bool {
        self.read().any(from, to, ask)
    }

    /// Records that a kernel wrote these bytes.
    pub fn define(&self, ranges: Vec<(u64, u64)>) {
        let mut all = self.write();
        for (from, to) in ranges {
            all.define(from, to - from);
        }
    }

    /// Records that something other than a kernel wrote these bytes, or that they were freed.
    pub fn defined(&self, at: u64, bytes: u64) {
        self.write().define(at, bytes);
    }

    fn set(&self, at: u64, size: u8, bits: u64) {
        let mut all = self.write();
        all.set(at, size, bits);
        all.settle(at);
        all.settle(at.wrapping_add(size as u64));
    }
}

impl Bytes {
    /// Creates a map without undefined bytes of its own, on top of the memory that dispatches share.
    pub fn over(shared: Option<Arc<Fresh>>) -> Bytes {
        Bytes {
            shared,
            ..Bytes::default()
        }
    }

    /// Makes the bytes between two addresses undefined.
    pub fn undefine(&mut self, from: u64, to: u64) {
        self.fresh.insert(from, to);
    }

    fn begins_undefined(&self, at: u64) -> bool {
        self.fresh_around(at).is_some()
    }

    /// The bytes around an address that begin undefined.
    fn fresh_around(&self, at: u64) -> Option<(u64, u64)> {
        let (&from, &to) = self.fresh.range(..=at).next_back()?;
        (at < to).then_some((from, to))
    }

    /// Returns the memory that dispatches share, if it contains an address.
    fn elsewhere(&self, at: u64) -> Option<&Fresh> {
        let shared = self.shared.as_deref()?;
        let own = self.pages.contains_key(&(at / PAGE as u64)) || self.begins_undefined(at);
        (!own).then_some(shared)
    }

    fn any(&self, from: u64, to: u64, mut ask: impl FnMut((u64, u64)) -> bool) -> bool {
        let size = PAGE as u64;
        let mut at = from;
        while at < to {
            let next = self.pages.range(at / size..).next();
            let until = to.min(next.map_or(to, |(number, _)| number * size));
            // Before the next page that has bytes of its own.
            if at < until {
                let first = self.fresh.range(..=at).next_back();
                let others = self.fresh.range(at + 1..until);
                for (from, to) in first.into_iter().chain(others) {
                    let run = (at.max(*from), until.min(*to));
                    if run.0 < run.1 && ask(run) {
                        return true;
                    }
                }
                at = until;
                continue;
            }
            let Some((_, page)) = next else { break };
            let end = to.min((at / size + 1) * size);
            let bits = &page.bits[(at % size) as usize..][..(end - at) as usize];
            for run in bits.chunk_by(|a, b| (*a == 0) == (*b == 0)) {
                let after = at + run.len() as u64;
                if run[0] != 0 && ask((at, after)) {
                    return true;
                }
                at = after;
            }
        }
        false
    }

    /// Bytes become defined, and whole pages of them as if they had never been undefined.
    fn define(&mut self, at: u64, bytes: u64) {
        let end = at.saturating_add(bytes);
        if bytes == 0 || self.pages.is_empty() && self.fresh.is_empty() {
            return;
        }
        let page = PAGE as u64;
        let (first, last) = (at.div_ceil(page) * page, end / page * page);
        let edges = match first < last {
            true => [(at, first), (last, end)],
            false => [(at, end), (end, end)],
        };
        for (mut from, to) in edges {
            while from < to {
                let size = (to - from).min(8) as u8;
                self.set(from, size, 0);
                from += size as u64;
            }
        }
        if first < last {
            self.define_pages(first, last);
        }
        self.settle(at);
        self.settle(end - 1);
    }

    /// A page all of whose bytes are defined needs none of its own.
    fn settle(&mut self, at: u64) {
        let number = at / PAGE as u64;
        if self.pages.get(&number).is_some_and(|p| p.undefined == 0) {
            let first = number * PAGE as u64;
            self.define_pages(first, first + PAGE as u64);
        }
    }

    /// Whole pages, from the address of the first one to the end of the last one, become defined.
    fn define_pages(&mut self, first: u64, last: u64) {
        let page = PAGE as u64;
        let own = self.pages.range(first / page..last / page);
        for number in own.map(|(number, _)| *number).collect::<Vec<u64>>() {
            self.pages.remove(&number);
        }
        let over = self.fresh.range(..last).rev();
        let over: Vec<(u64, u64)> = over
            .map(|(from, to)| (*from, *to))
            .take_while(|(_, to)| *to > first)
            .collect();
        for (from, to) in over {
            self.fresh.remove(&from);
            if from < first {
                self.fresh.insert(from, first);
            }
            if to > last {
                self.fresh.insert(last, to);
            }
        }
    }

    /// Returns the undefined bits of up to 8 bytes.
    pub fn get(&self, at: u64, size: u8) -> u64 {
        if let Some(shared) = self.elsewhere(at) {
            return shared.read().get(at, size);
        }
        if self.pages.is_empty() && self.fresh.is_empty() {
            return 0;
        }
        let (offset, size) = (at as usize % PAGE, size.min(8));
        if offset + size as usize > PAGE {
            let here = (PAGE - offset) as u8;
            let after = self.get(at.wrapping_add(here as u64), size - here);
            return self.get(at, here) | after << (8 * here);
        }
        match self.pages.get(&(at / PAGE as u64)) {
            Some(page) => {
                let bytes = page.bits[offset..offset + size as usize].iter();
                bytes.rev().fold(0, |all, bits| all << 8 | *bits as u64)
            }
            None if self.begins_undefined(at) => all_of(size),
            None => 0,
        }
    }

    /// Sets the undefined bits of up to 8 bytes.
    pub fn set(&mut self, at: u64, size: u8, bits: u64) {
        if let Some(shared) = self.elsewhere(at) {
            return shared.set(at, size, bits);
        }
        let (offset, size) = (at as usize % PAGE, size.min(8));
        if offset + size as usize > PAGE {
            let here = (PAGE - offset) as u8;
            self.set(at, here, bits);
            return self.set(
                at.wrapping_add(here as u64),
                size - here,
                bits >> (8 * here),
            );
        }
        let number = at / PAGE as u64;
        if !self.pages.contains_key(&number) {
            let (from, to) = match self.fresh_around(at) {
                None if bits & all_of(size) == 0 => return,
                around => around.unwrap_or_default(),
            };
            let start = number * PAGE as u64;
            let within = |at: u64| at.clamp(start, start + PAGE as u64) - start;
            let undefined = within(from) as usize..within(to) as usize;
            self.pages.insert(number, Page::new(undefined));
        }
        if let Some(page) = self.pages.get_mut(&number) {
            for n in 0..size as usize {
                page.set(offset + n, (bits >> (8 * n)) as u8);
            }
        }
    }
}

/// All bits of up to 8 bytes.
fn all_of(bytes: u8) -> u64 {
    u64::MAX.checked_shr(64 - 8 * bytes as u32).unwrap_or(0)
}

/// The undefined bits of LDS.
#[derive(Default)]
pub struct LdsBytes(Vec<u8>);

impl LdsBytes {
    fn get(&self, at: u64, size: u8) -> u64 {
        let whole = self.0.get(at as usize..at as usize + size.min(8) as usize);
        if whole.is_some_and(|bytes| bytes.iter().all(|b| *b == 0)) {
            return 0;
        }
        let byte = |n: u64| self.0.get((at + n) as usize).copied().unwrap_or(0xff) as u64;
        (0..size.min(8) as u64).fold(0, |all, n| all | byte(n) << (8 * n))
    }

    fn set(&mut self, at: u64, size: u8, bits: u64) {
        let end = (at + size as u64) as usize;
        if self.0.len() < end {
            self.0.resize(end, 0xff);
        }
        for n in 0..size.min(8) as usize {
            self.0[at as usize + n] = (bits >> (8 * n)) as u8;
        }
    }
}

/// The undefined bits of a wave's registers.
pub struct Shadow {
    /// The masks of undefined bits. EXEC, M0 and MODE have the wave's values instead.
    pub registers: WaveState,
    m0: u32,
    scc: bool,
    /// A bit for each VGPR that may have undefined bits.
    dirty: [u64; 4],
    origins: HashMap<(File, u16), Origin>,
    values: Vec<[u64; LANES]>,
}

/// The context of an executed instruction.
pub struct Surroundings<'a> {
    /// The instruction's number.
    pub site: u32,
    /// The properties of its row.
    pub info: &'a InstructionInfo,
    /// The instruction's accesses in order. Refused accesses have no location.
    pub accesses: &'a [Access],
    /// Undefined bytes of LDS.
    pub lds: &'a mut LdsBytes,
    /// Undefined bytes of memory.
    pub memory: &'a mut Bytes,
    /// The kernel only copies data, so undefined bytes that it stores do not matter yet.
    pub moves: bool,
}

impl Shadow {
    /// Creates the shadow of a wave that begins. The descriptor tells which registers have a value.
    pub fn new(wave: &WaveState, descriptor: &KernelDescriptor) -> Shadow {
        let defined = uninit::initial(descriptor);
        let mut registers = WaveState::new(wave.vgprs.len());
        for (code, register) in registers.sgprs.iter_mut().enumerate() {
            let has = defined.contains(File::Scalar, code as u16);
            *register = if has { 0 } else { u32::MAX };
        }
        // The hardware sets XNACK_MASK and others, and FLAT_SCRATCH if it is not a user SGPR.
        for number in 0..wave.vgprs.len() {
            let has = defined.contains(File::Vector, number as u16);
            if let (false, Some(register)) = (has, registers.vgprs.get_mut(number)) {
                *register = [u32::MAX; LANES];
            }
        }
        Shadow {
            registers,
            m0: u32::MAX,
            scc: true,
            dirty: [!0; 4],
            origins: HashMap::new(),
            values: Vec::new(),
        }
    }

    fn scalar(&self, code: u16) -> u32 {
        match code {
            M0 => self.m0,
            EXEC | 127 => 0,
            code => self
                .registers
                .sgprs
                .get(code as usize)
                .copied()
                .unwrap_or(0),
        }
    }

    fn clear(&mut self, file: File, register: u16, lanes: u64) {
        match file {
            File::Scalar if register == M0 => self.m0 = 0,
            File::Scalar => self.registers.sgprs[register as usize & 127] = 0,
            File::Scc => self.scc = false,
            File::Vector => {
                if let Some(values) = self.registers.vgprs.get_mut(register as usize) {
                    for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
                        values[lane] = 0;
                    }
                }
            }
            File::Hwreg => {}
        }
    }

    /// Returns true if MODE.GPR_IDX_EN is set: then instructions do not access the VGPRs that they name.
    fn indexes(&self) -> bool {
        self.registers.mode & mode::GPR_IDX_EN != 0
    }

    fn is_dirty(&self, register: u16) -> bool {
        let word = self.dirty.get(register as usize / 64);
        word.is_none_or(|word| word >> (register % 64) & 1 != 0)
    }

    /// Returns those of `lanes` in which a register has undefined bits; all of them if it is a scalar register with such bits.
    fn undefined_lanes(&self, file: File, register: u16, lanes: u64) -> u64 {
        match file {
            File::Scalar if self.scalar(register) != 0 => lanes,
            File::Scc if self.scc => lanes,
            File::Vector => {
                if !self.is_dirty(register) {
                    return 0;
                }
                let Some(values) = self.registers.vgprs.get(register as usize) else {
                    return 0;
                };
                let on = |lane: &usize| lanes >> lane & 1 != 0 && values[*lane] != 0;
                (0..LANES).filter(on).fold(0, |all, lane| all | 1 << lane)
            }
            _ => 0,
        }
    }

    fn origin(&self, file: File, register: u16) -> Origin {
        let known = self.origins.get(&(file, register)).copied();
        known.unwrap_or(Origin::Register(file, register))
    }

    /// Returns the uses of undefined addresses by an instruction that is about to run. These registers count as defined afterwards.
    pub fn addresses(
        &mut self,
        info: &InstructionInfo,
        insn: &gcn_isa::decode::Insn,
        exec: u64,
    ) -> Vec<Use> {
        let mut uses = Vec::new();
        let lanes = if insn.row.format.is_vector() { exec } else { 1 };
        if info.memory(insn).is_none() || lanes == 0 || insn.row.format == Format::Mimg {
            return uses;
        }
        for access in info.accesses(insn).filter(|a| !a.write && !a.anywhere) {
            let role = access.slot.map(|n| insn.row.shape.slots[n as usize].role);
            let address = match role {
                Some(role) => uninit::is_address(role),
                None => {
                    // FLAT instructions read M0 only if they access LDS.
                    let lds = access.touches(File::Scalar, M0) && insn.row.format != Format::Flat;
                    let scratch = insn.row.format == Format::Scratch && access.file == File::Scalar;
                    lds || scratch && access.first != EXEC
                }
            };
            if !address {
                continue;
            }
            for register in access.first..access.first + access.count as u16 {
                let lanes = self.undefined_lanes(access.file, register, lanes);
                if lanes != 0 {
                    uses.push(Use {
                        purpose: Purpose::Address,
                        register: Some((access.file, register)),
                        lanes,
                        origin: Some(self.origin(access.file, register)),
                    });
                    self.clear(access.file, register, !0);
                }
            }
        }
        uses
    }

    /// Returns true if nothing that an instruction reads is undefined.
    fn clean(&self, executed: &Executed<'_>, around: &Surroundings<'_>) -> bool {
        let reads = |a: &Access| a.kind != MemoryKind::Store && load(a, around) != 0;
        let registers = around.info.accesses(executed.insn).all(|a| {
            if a.write {
                return true;
            }
            !a.anywhere
                && (a.first..a.first + a.count as u16)
                    .all(|n| self.undefined_lanes(a.file, n, !0) == 0)
        });
        registers && !around.accesses.iter().any(reads)
    }

    /// Returns the origin of a result that an instruction computes from undefined values.
    fn origin_of(&self, executed: &Executed<'_>, around: &Surroundings<'_>) -> Option<Origin> {
        let undefined = |a: &&Access| a.kind != MemoryKind::Store && load(a, around) != 0;
        if let Some(access) = around.accesses.iter().find(undefined) {
            let source = match access.location {
                probe::AccessLocation::Lds(at) => Source::Lds(at as u32),
                probe::AccessLocation::Memory(at) if around.memory.begins_undefined(at) => {
                    Source::Scratch
                }
                probe::AccessLocation::Memory(at) => Source::Memory(at),
                _ => return None,
            };
            return Some(Origin::Load(around.site, source));
        }
        let mut reads = around.info.accesses(executed.insn);
        reads.find_map(|a| {
            let mut registers = a.first..a.first + a.count as u16;
            let undefined =
                registers.find(|n| !a.write && self.undefined_lanes(a.file, *n, !0) != 0)?;
            Some(self.origin(a.file, undefined))
        })
    }

    /// Updates the shadow after an instruction. Returns the undefined values that matter, each with the
    /// undefined register that the instruction read, if there is one.
    pub fn step(
        &mut self,
        executed: &Executed<'_>,
        around: &mut Surroundings<'_>,
    ) -> (Vec<Use>, Option<(File, u16)>) {
        let clean = self.clean(executed, around);
        if clean && self.stays_clean(executed, around) {
            return (Vec::new(), None);
        }
        let register = match clean {
            true => None,
            false => self.undefined_read(around.info, executed.insn),
        };
        let origin = match clean {
            true => None,
            false => self.origin_of(executed, around),
        };
        let mut values = std::mem::take(&mut self.values);
        let nodes = executed.program.nodes.len();
        if values.len() < nodes {
            values.resize(nodes, [0; LANES]);
        }
        if clean {
            values[..nodes].fill([0; LANES]);
        } else if executed.width == 1 {
            self.evaluate::<1>(executed, around, &mut values);
        } else {
            self.evaluate::<LANES>(executed, around, &mut values);
        }
        let uses = match executed.width {
            1 => self.effects::<1>(executed, around, &values, origin),
            _ => self.effects::<LANES>(executed, around, &values, origin),
        };
        self.values = values;
        for access in around.info.accesses(executed.insn).filter(|a| a.write) {
            if access.anywhere || self.indexes() {
                self.dirty = [!0; 4];
            }
            for register in access.first..access.first + access.count as u16 {
                let key = (access.file, register);
                self.look_at(access.file, register);
                match self.undefined_lanes(access.file, register, !0) {
                    0 => self.origins.remove(&key),
                    _ => origin.and_then(|origin| self.origins.insert(key, origin)),
                };
            }
        }
        if let Some(status) = executed.status {
            self.look_at(File::Vector, status);
        }
        (uses, register)
    }

    /// Updates whether a register has undefined bits.
    fn look_at(&mut self, file: File, register: u16) {
        if file != File::Vector {
            return;
        }
        let undefined = self.registers.vgprs.get(register as usize);
        let undefined = undefined.is_some_and(|values| values.iter().any(|v| *v != 0));
        if let Some(word) = self.dirty.get_mut(register as usize / 64) {
            let bit = 1 << (register % 64);
            *word = if undefined { *word | bit } else { *word & !bit };
        }
    }

    /// Updates the shadow after an instruction that reads nothing undefined: the registers that it writes become defined. Returns
    /// false if these are not easy to determine.
    fn stays_clean(&mut self, executed: &Executed<'_>, around: &mut Surroundings<'_>) -> bool {
        let easy = !self.indexes()
            && executed.status.is_none()
            && executed.to_lds.is_none()
            && executed.program.effects.iter().all(|e| e.when.is_none());
        if !easy {
            return false;
        }
        let mut writes = around.info.accesses(executed.insn).filter(|a| a.write);
        let dirty = writes.any(|a| {
            let mut registers = a.first..a.first + a.count as u16;
            a.anywhere || a.file == File::Vector && registers.any(|n| self.is_dirty(n))
        });
        if dirty {
            return false;
        }
        for access in around.info.accesses(executed.insn).filter(|a| a.write) {
            if matches!(access.file, File::Scalar | File::Scc) {
                for register in access.first..access.first + access.count as u16 {
                    self.clear(access.file, register, !0);
                    if !self.origins.is_empty() {
                        self.origins.remove(&(access.file, register));
                    }
                }
            }
        }
        for access in around.accesses {
            if access.kind != MemoryKind::Load {
                set(access, 0, around);
            }
        }
        true
    }

    fn evaluate<const N: usize>(
        &self,
        executed: &Executed<'_>,
        around: &Surroundings<'_>,
        values: &mut [[u64; LANES]],
    ) {
        let mut accesses = around
            .accesses
            .iter()
            .filter(|a| a.kind != MemoryKind::Store);
        let mut pending = accesses.next();
        for (at, node) in executed.program.nodes.iter().enumerate() {
            let mut out = [0u64; N];
            let full = width_mask(node.out);
            let undefined = |k: usize, lane: usize| values[node.args[k] as usize][lane % N];
            let value = |k: usize, lane: usize| executed.node(node.args[k] as usize)[lane % N];
            match node.op {
                Op::Const(_) | Op::Field(_) | Op::CodeOf(_) | Op::Lane | Op::FirstLane => {}
                Op::Address | Op::Gws(_) | Op::Turn | Op::Getreg => {}
                Op::Src(slot) => {
                    self.source(&executed.operands[slot as usize], executed, None, &mut out)
                }
                Op::SrcDword(slot, k) => {
                    self.source(
                        &executed.operands[slot as usize],
                        executed,
                        Some(k),
                        &mut out,
                    );
                }
                Op::SrcHalf(slot, half) => {
                    executed.operands[slot as usize].undefined_half(
                        &self.registers,
                        half,
                        &mut out,
                    );
                }
                Op::Get(state) => {
                    let bits = match state {
                        State::Scc => self.scc as u64,
                        State::Vcc => self.registers.pair(VCC),
                        State::M0 => self.m0 as u64,
                        _ => 0,
                    };
                    out = [bits; N];
                }
                Op::Sgpr => {
                    let code = value(0, 0) as u16;
                    let high = if node.out.bits() > 32 {
                        self.scalar(code + 1)
                    } else {
                        0
                    };
                    out = [self.scalar(code) as u64 | (high as u64) << 32; N];
                }
                Op::Vgpr => {
                    let number = value(0, 0) as usize;
                    for (lane, out) in out.iter_mut().enumerate() {
                        let of =
                            |n: usize| self.registers.vgprs.get(n).map_or(0, |v| v[lane] as u64);
                        let high = if node.out.bits() > 32 {
                            of(number + 1) << 32
                        } else {
                            0
                        };
                        *out = of(number) | high;
                    }
                }
                Op::ReadLane => {
                    for (lane, out) in out.iter_mut().enumerate() {
                        *out = match undefined(1, lane) {
                            0 => undefined(0, value(1, lane) as usize),
                            _ => full,
                        };
                    }
                }
                Op::SendLane => {
                    for lane in (0..N).filter(|lane| executed.exec >> lane & 1 != 0) {
                        out[value(1, lane) as usize % N] = undefined(0, lane);
                    }
                }
                Op::Load(..)
                | Op::LoadFormat(_)
                | Op::LdsOfLane
                | Op::Atomic(..)
                | Op::WaveAtomic(..) => {
                    let once = matches!(node.op, Op::WaveAtomic(..));
                    let format = matches!(node.op, Op::LoadFormat(_));
                    for lane in (0..N).filter(|lane| executed.exec >> lane & 1 != 0) {
                        let mut bits = 0;
                        let mut parts = 0;
                        while let Some(access) = pending.filter(|a| parts == 0 || !a.first) {
                            bits |= load(access, around);
                            parts += 1;
                            pending = accesses.next();
                        }
                        let bits = if format && bits != 0 {
                            full
                        } else {
                            bits & full
                        };
                        match once {
                            true => {
                                out = [bits; N];
                                break;
                            }
                            false => out[lane] = bits,
                        }
                    }
                }
                _ => {
                    let arity = node.op.arity();
                    for (lane, out) in out.iter_mut().enumerate() {
                        let u: [u64; 3] =
                            std::array::from_fn(|k| if k < arity { undefined(k, lane) } else { 0 });
                        if u != [0; 3] {
                            let v: [u64; 3] =
                                std::array::from_fn(|k| if k < arity { value(k, lane) } else { 0 });
                            *out = computed(node, v, u) & full;
                        }
                    }
                }
            }
            values[at][..N].copy_from_slice(&out);
        }
    }

    fn source<const N: usize>(
        &self,
        operand: &Opnd,
        executed: &Executed<'_>,
        dword: Option<u8>,
        out: &mut [u64; N],
    ) {
        match operand.location {
            OperandLocation::Scalar(M0) => *out = [self.m0 as u64; N],
            OperandLocation::Source(gcn_isa::operand::Source::Scc) => *out = [self.scc as u64; N],
            _ => operand.undefined(&self.registers, executed.mods, dword, out),
        }
    }

    /// Writes the undefined bits of the results.
    fn effects<const N: usize>(
        &mut self,
        executed: &Executed<'_>,
        around: &mut Surroundings<'_>,
        values: &[[u64; LANES]],
        origin: Option<Origin>,
    ) -> Vec<Use> {
        let mut uses = Vec::new();
        let mut stored = Stored::default();
        let accesses = around.accesses;
        let mut stores = accesses
            .iter()
            .filter(|a| a.kind == MemoryKind::Store)
            .peekable();
        let matters = |purpose, lanes, register| Use {
            purpose,
            register,
            lanes,
            origin,
        };
        for effect in &executed.program.effects {
            let node = &executed.program.nodes[effect.value as usize];
            let second_ty = executed.program.nodes[effect.second as usize].out;
            let mut value: [u64; N] = std::array::from_fn(|n| values[effect.value as usize][n]);
            let second: [u64; N] = std::array::from_fn(|n| values[effect.second as usize][n]);
            let mut lanes = executed.lanes;
            if let Some(when) = effect.when {
                let holds = executed.node(when as usize);
                let unknown = values[when as usize][..N].iter().any(|u| *u != 0);
                if unknown && effect.change == Change::Set(State::Pc) {
                    uses.push(matters(Purpose::Condition, 0, None));
                }
                if unknown {
                    value = [width_mask(node.out); N];
                } else if N == LANES {
                    let on = |lane: &usize| holds[*lane] & 1 != 0;
                    lanes &= (0..LANES).filter(on).fold(0, |all, lane| all | 1 << lane);
                } else if holds[0] & 1 == 0 {
                    continue;
                }
            }
            let locations = (lanes, executed.exec);
            match effect.change {
                Change::Dst(slot) | Change::DstDword(slot, _) if executed.to_lds == Some(slot) => {
                    for lane in (0..N).filter(|lane| lanes >> lane & 1 != 0) {
                        if let Some(access) = stores.next() {
                            set(access, value[lane], around);
                        }
                    }
                }
                Change::Dst(slot) | Change::DstDword(slot, _) => {
                    let k = match effect.change {
                        Change::DstDword(_, k) => Some(k),
                        _ => None,
                    };
                    let operand = &executed.operands[slot as usize];
                    match operand.location {
                        OperandLocation::Scalar(M0) => self.m0 = value[0] as u32,
                        OperandLocation::Scalar(code) if code == EXEC || code == EXEC + 1 => {
                            if value.iter().any(|v| *v != 0) {
                                let register = Some((File::Scalar, EXEC));
                                uses.push(matters(Purpose::Condition, 0, register));
                            }
                        }
                        _ => operand.write_undefined(
                            &mut self.registers,
                            executed.mods,
                            k,
                            (&value, node.out),
                            locations,
                        ),
                    }
                }
                Change::DstHalf(slot, half) => {
                    if let OperandLocation::Vgpr(number) = executed.operands[slot as usize].location
                    {
                        let shift = 16 * (half as u32 & 1);
                        self.each(number as usize, lanes, |lane, old| {
                            old & !(0xffff << shift) | (value[lane % N] as u32 & 0xffff) << shift
                        });
                    }
                }
                Change::DstLane(slot) => {
                    if let OperandLocation::Vgpr(number) = executed.operands[slot as usize].location
                    {
                        let lane = executed.node(effect.second as usize)[0] % LANES as u64;
                        self.each(number as usize, 1 << lane, |_, _| value[0] as u32);
                    }
                }
                Change::Set(state) => {
                    let decides = self.state(state, (&value, node.out), lanes);
                    uses.extend(decides.then(|| matters(Purpose::Condition, 0, None)));
                }
                Change::Sgpr | Change::SgprPair => {
                    let code = executed.node(effect.value as usize)[0] as usize & 127;
                    self.registers.sgprs[code] = second[0] as u32;
                    if second_ty.bits() > 32 && code < 127 {
                        self.registers.sgprs[code + 1] = (second[0] >> 32) as u32;
                    }
                }
                Change::Vgpr => {
                    let number = executed.node(effect.value as usize)[0] as usize;
                    self.each(number, lanes, |lane, _| second[lane % N] as u32);
                    if second_ty.bits() > 32 {
                        self.each(number + 1, lanes, |lane, _| (second[lane % N] >> 32) as u32);
                    }
                }
                Change::Store(..) => {
                    for lane in (0..N).filter(|lane| lanes >> lane & 1 != 0) {
                        if let Some(access) = stores.next() {
                            set(access, second[lane], around);
                            stored.add(access, lane, second[lane], around);
                        }
                    }
                }
                Change::StoreFormat(slot, count, _) => {
                    let OperandLocation::Vgpr(first) = executed.operands[slot as usize].location
                    else {
                        continue;
                    };
                    for lane in (0..N).filter(|lane| lanes >> lane & 1 != 0) {
                        let dword = |k: u16| self.registers.vgprs.get((first + k) as usize);
                        let all = (0..count as u16)
                            .all(|k| dword(k).is_some_and(|values| values[lane] != 0));
                        let mut parts = 0;
                        while let Some(access) = stores.next_if(|a| parts == 0 || !a.first) {
                            set(access, 0, around);
                            stored.add(access, lane, if all { 1 } else { 0 }, around);
                            parts += 1;
                        }
                    }
                }
                // Results of image instructions are taken to be defined.
                Change::Image(_) => self.written(executed, around.info),
                _ => {}
            }
        }
        if let Some(status) = executed.status {
            self.each(status as usize, executed.lanes, |_, _| 0);
        }
        let lanes = stored.everything & !stored.partly;
        if lanes != 0 && !around.moves {
            uses.push(matters(Purpose::Data, lanes, None));
            for access in around.accesses.iter().filter(|a| lanes >> a.lane & 1 != 0) {
                set(access, 0, around);
            }
        }
        self.atomics(executed, around, values, origin, &mut uses);
        uses
    }

    /// Writes the undefined bits of a named state. Returns true if they decide a branch or which lanes are active.
    fn state<const N: usize>(
        &mut self,
        state: State,
        (value, ty): (&[u64; N], Ty),
        lanes: u64,
    ) -> bool {
        match state {
            State::Scc => self.scc = value[0] != 0,
            State::Vcc => {
                let bits = match (N == LANES, ty) {
                    (true, Ty::Bool) => {
                        let on = |lane: &usize| lanes >> lane & 1 != 0 && value[lane % N] != 0;
                        (0..LANES).filter(on).fold(0, |all, lane| all | 1 << lane)
                    }
                    _ => value[0],
                };
                self.registers.set_pair(VCC, bits);
            }
            State::M0 => self.m0 = value[0] as u32,
            State::Exec | State::Pc => return value.iter().any(|v| *v != 0),
            _ => {}
        }
        false
    }

    /// Handles the data of atomics.
    fn atomics(
        &self,
        executed: &Executed<'_>,
        around: &mut Surroundings<'_>,
        values: &[[u64; LANES]],
        origin: Option<Origin>,
        uses: &mut Vec<Use>,
    ) {
        let mut accesses = around
            .accesses
            .iter()
            .filter(|a| a.kind == MemoryKind::Atomic);
        for node in &executed.program.nodes {
            let (Op::Atomic(space, _) | Op::WaveAtomic(space, _)) = node.op else {
                continue;
            };
            let mut lanes = 0;
            for lane in (0..LANES).filter(|lane| executed.exec >> lane & 1 != 0) {
                let Some(access) = accesses.next() else { break };
                let undefined = values[node.args[1] as usize][lane] != 0;
                set(access, if undefined { !0 } else { 0 }, around);
                if undefined
                    && space != Space::Lds
                    && matches!(access.location, probe::AccessLocation::Memory(_))
                {
                    lanes |= 1 << lane;
                    set(access, 0, around);
                }
                if matches!(node.op, Op::WaveAtomic(..)) {
                    break;
                }
            }
            if lanes != 0 {
                uses.push(Use {
                    purpose: Purpose::Data,
                    register: None,
                    lanes,
                    origin,
                });
            }
        }
    }

    /// Makes the registers that an instruction writes defined.
    fn written(&mut self, executed: &Executed<'_>, info: &InstructionInfo) {
        for access in info.accesses(executed.insn).filter(|a| a.write) {
            for register in access.first..access.first + access.count as u16 {
                self.clear(access.file, register, executed.lanes);
            }
        }
    }

    fn each(&mut self, number: usize, lanes: u64, value: impl Fn(usize, u32) -> u32) {
        if let Some(register) = self.registers.vgprs.get_mut(number) {
            for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
                register[lane] = value(lane, register[lane]);
            }
        }
    }

    /// Takes EXEC, M0 and MODE from a wave in which an instruction is about to run.
    pub fn follow(&mut self, wave: &WaveState) {
        self.registers.sgprs[M0 as usize] = wave.m0();
        self.registers.set_exec(wave.exec());
        self.registers.mode = wave.mode;
    }

    /// Returns the first undefined register that an instruction reads in a role, for a report.
    fn undefined_read(
        &self,
        info: &InstructionInfo,
        insn: &gcn_isa::decode::Insn,
    ) -> Option<(File, u16)> {
        let data = |role: Option<Role>| !role.is_some_and(uninit::is_address);
        info.accesses(insn).find_map(|a| {
            let role = a.slot.map(|n| insn.row.shape.slots[n as usize].role);
            let mut registers = a.first..a.first + a.count as u16;
            let found =
                registers.find(|n| !a.write && self.undefined_lanes(a.file, *n, !0) != 0)?;
            data(role).then_some((a.file, found))
        })
    }
}

/// The lanes of stores to buffers: lanes with entirely undefined data, and lanes with partly defined data.
#[derive(Default)]
struct Stored {
    everything: u64,
    partly: u64,
}

impl Stored {
    fn add(&mut self, access: &Access, lane: usize, undefined: u64, around: &Surroundings<'_>) {
        let probe::AccessLocation::Memory(at) = access.location else {
            return;
        };
        if around.memory.begins_undefined(at) {
            return;
        }
        match undefined {
            0 => self.partly |= 1 << lane,
            _ => self.everything |= 1 << lane,
        }
    }
}

/// Returns the undefined bits that an access reads.
fn load(access: &Access, around: &Surroundings<'_>) -> u64 {
    match access.location {
        probe::AccessLocation::Lds(at) => around.lds.get(at, access.size),
        probe::AccessLocation::Memory(at) => around.memory.get(at, access.size),
        _ => 0,
    }
}

fn set(access: &Access, undefined: u64, around: &mut Surroundings<'_>) {
    match access.location {
        probe::AccessLocation::Lds(at) => around.lds.set(at, access.size, undefined),
        probe::AccessLocation::Memory(at) => around.memory.set(at, access.size, undefined),
        _ => {}
    }
}

/// Returns the lowest set bit and all bits above it.
fn upwards(bits: u64) -> u64 {
    bits | bits.wrapping_neg()
}

/// Returns the undefined bits of an operation's result, from the values and undefined bits of its operands. At least one operand bit is undefined.
fn computed(node: &Node, [a, b, c]: [u64; 3], [ua, ub, uc]: [u64; 3]) -> u64 {
    let ty = node.ty;
    let bits = ty.bits().clamp(1, 64);
    let mask = width_mask(ty);
    let float = ty.is_float();
    let signed = |v: u64| ((v << (64 - bits)) as i64 >> (64 - bits)) as u64;
    match node.op {
        Op::Not | Op::Zext | Op::Trunc => ua,
        Op::Sext => signed(ua),
        Op::Rev => ua.reverse_bits() >> (64 - bits),
        Op::And => ua & ub | ua & b | ub & a,
        Op::Or => ua & ub | ua & !b | ub & !a,
        Op::Xor => ua | ub,
        Op::Neg if float => ua,
        Op::Abs if float => ua & !(1 << (bits - 1)),
        Op::Add | Op::Sub | Op::Neg if !float => upwards(ua | ub),
        Op::Mul if !float => {
            let zero = |v: u64, u: u64| u == 0 && v & mask == 0;
            match zero(a, ua) || zero(b, ub) {
                true => 0,
                false => upwards(ua | ub),
            }
        }
        Op::Shl if ub == 0 => {
            if b < 64 {
                ua << b
            } else {
                0
            }
        }
        Op::Shr if ub == 0 && ty.is_signed() => (signed(ua) as i64 >> b.min(63)) as u64,
        Op::Shr if ub == 0 => {
            if b < 64 {
                (ua & mask) >> b
            } else {
                0
            }
        }
        Op::Eq | Op::Ne if !float => ((a ^ b) & !(ua | ub) & mask == 0) as u64,
        Op::Lt | Op::Le | Op::Gt | Op::Ge if !float => {
            // The least and the greatest value that each operand may have.
            let top = if ty.is_signed() { 1 << (bits - 1) } else { 0 };
            let least = |v: u64, u: u64| ((v & !u) ^ (top & !u)) & mask;
            let most = |v: u64, u: u64| ((v | u) ^ (top & !u)) & mask;
            let (a0, a1, b0, b1) = (least(a, ua), most(a, ua), least(b, ub), most(b, ub));
            let certain = match node.op {
                Op::Lt | Op::Ge => a1 < b0 || a0 >= b1,
                _ => a1 <= b0 || a0 > b1,
            };
            !certain as u64
        }
        Op::Select if ua == 0 => {
            if a & 1 != 0 {
                ub
            } else {
                uc
            }
        }
        Op::Select => ub | uc | b ^ c,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However memory is written, what is undefined is what nothing has written; and of a page in which nothing is undefined any more nothing
    /// is kept.
    #[test]
    fn what_is_undefined_is_what_nothing_wrote() {
        let (fresh, start, bytes) = (Fresh::default(), 0x10000, 3 * PAGE as u64 + 100);
        fresh.allocated(start, bytes);
        let mut undefined = vec![true; bytes as usize];
        let mut seed = 1u64;
        let mut below = |n: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for step in 0..2000 {
            let at = below(bytes);
            let most = [8, 8, 300, bytes][below(4) as usize].min(bytes - at);
            let count = 1 + below(most);
            // Now and then it is allocated anew.
            if step % 100 == 99 {
                fresh.defined(start, bytes);
                assert!(fresh.is_empty());
                fresh.allocated(start, bytes);
                undefined.fill(true);
            }
            if count <= 8 && below(2) == 0 {
                let bits = below(1 << 30) << 34 | below(1 << 30);
                fresh.set(start + at, count as u8, bits);
                for n in 0..count {
                    undefined[(at + n) as usize] = bits >> (8 * n) & 0xff != 0;
                }
            } else {
                fresh.define(vec![(start + at, start + at + count)]);
                undefined[at as usize..][..count as usize].fill(false);
            }
            let mut found = vec![false; bytes as usize];
            fresh.any(start, start + bytes, |(from, to)| {
                found[(from - start) as usize..(to - start) as usize].fill(true);
                false
            });
            assert_eq!(found, undefined, "step {step}");
            let got = fresh.read().get(start + at, count.min(8) as u8);
            for n in 0..count.min(8) {
                let some = got >> (8 * n) & 0xff != 0;
                assert_eq!(some, undefined[(at + n) as usize], "step {step}");
            }
            assert_eq!(fresh.is_empty(), undefined.iter().all(|u| !u));
        }
        let any = fresh.any(start, start + bytes, |_| true);
        assert_eq!(any, undefined.contains(&true));
    }
}
