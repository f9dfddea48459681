//! Loads, stores and atomics, each checked against the page map.

use super::*;

impl Memory {
    /// Turns recording on or off. While it is on, each thread records the addresses of its stores and atomics for [`take_stores`].
    pub fn record_stores(&self, on: bool) {
        self.record(NOTE_STORES, on);
    }

    #[inline]
    fn note_store(&self, addr: u64, size: u64) {
        if self.recording.load(Relaxed) != 0 {
            self.note_store_slow(addr, size);
        }
    }

    #[cold]
    fn note_store_slow(&self, addr: u64, size: u64) {
        let recording = self.recording.load(Relaxed);
        if recording & NOTE_STORES != 0 {
            note_store(addr, size);
        }
        if recording & NOTE_PAGES != 0 {
            self.note_pages(addr, size);
        }
    }

    /// Turns kinds of recording on or off: the bits of `what`.
    pub(super) fn record(&self, what: u8, on: bool) {
        match on {
            true => self.recording.fetch_or(what, SeqCst),
            false => self.recording.fetch_and(!what, SeqCst),
        };
    }

    /// Records that an atomic changed a value. The flag is written only once, because threads would contend for it.
    #[inline]
    fn note_change(&self) {
        if !self.changed.load(Relaxed) {
            self.changed.store(true, Relaxed);
        }
    }

    /// Returns the arena offset of an access of `size` bytes at `addr` with permission `need` if one page of the linear part
    /// contains and permits the access, which holds for nearly every access.
    #[inline]
    fn near(&self, addr: u64, size: u64, need: Perm) -> Option<usize> {
        let offset = addr.wrapping_sub(self.linear_base);
        let within = offset < self.linear_bytes && offset % PAGE_SIZE <= PAGE_SIZE - size;
        let state = self.state(offset / PAGE_SIZE);
        let found = within && state & (MAPPED | need.0) == MAPPED | need.0;
        if found && need.contains(Perm::WRITE) {
            self.note_store(addr, size);
        }
        found.then_some((offset + self.origin) as usize)
    }

    /// Returns the arena offset of the byte at `addr`, whose page must permit `need`.
    fn locate(&self, addr: u64, need: Perm) -> Result<usize, FaultKind> {
        let (page, perm) = self
            .guest_page(addr / PAGE_SIZE)
            .ok_or(FaultKind::Unmapped)?;
        if perm.contains(need) {
            Ok((page * PAGE_SIZE + addr % PAGE_SIZE) as usize)
        } else if need.contains(Perm::EXEC) {
            Err(FaultKind::NoExec)
        } else if need.contains(Perm::READ) && !perm.contains(Perm::READ) {
            Err(FaultKind::NoRead)
        } else {
            Err(FaultKind::NoWrite)
        }
    }

    /// Checks the whole access, then calls `each` with an arena offset and a range of the access for each of its pages.
    fn by_page(
        &self,
        addr: u64,
        size: usize,
        need: Perm,
        mut each: impl FnMut(usize, std::ops::Range<usize>),
    ) -> Result<(), Fault> {
        let fault = |kind| Fault {
            addr,
            size: size as u64,
            kind,
        };
        let end = addr
            .checked_add(size as u64)
            .filter(|&end| end <= ADDRESS_END);
        let end = end.ok_or(fault(FaultKind::Unmapped))?;
        if !self.try_access(addr, size as u64, need) {
            return Err(fault(FaultKind::Unmapped));
        }
        let mut page = addr - addr % PAGE_SIZE;
        while page < end {
            self.locate(page, need).map_err(fault)?;
            page += PAGE_SIZE;
        }
        if need.contains(Perm::WRITE) {
            self.note_store(addr, size as u64);
        }
        let mut at = addr;
        while at < end {
            let next = (at - at % PAGE_SIZE + PAGE_SIZE).min(end);
            let offset = self.locate(at, need).map_err(fault)?;
            each(offset, (at - addr) as usize..(next - addr) as usize);
            at = next;
        }
        Ok(())
    }

    /// Loads `out.len()` bytes from `addr`. An empty access never faults.
    ///
    /// # Errors
    /// A [`Fault`] if a page is not mapped or may not be read.
    pub fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault> {
        if out.is_empty() {
            return Ok(());
        }
        self.by_page(addr, out.len(), Perm::READ, |offset, range| {
            self.arena.read(offset, &mut out[range]);
        })
    }

    /// Stores `data` from `addr` on. An empty access never faults.
    ///
    /// # Errors
    /// A [`Fault`] if a page is not mapped or may not be written; nothing is written then.
    pub fn write(&self, addr: u64, data: &[u8]) -> Result<(), Fault> {
        if data.is_empty() {
            return Ok(());
        }
        self.by_page(addr, data.len(), Perm::WRITE, |offset, range| {
            self.arena.write(offset, &data[range]);
        })
    }

    #[cold]
    #[inline(never)]
    fn load_slow<const N: usize>(&self, addr: u64) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        self.read(addr, &mut bytes)?;
        Ok(bytes)
    }

    #[cold]
    #[inline(never)]
    fn store_slow<const N: usize>(&self, addr: u64, bytes: [u8; N]) -> Result<(), Fault> {
        self.write(addr, &bytes)
    }

    /// Loads the dword of machine code at `addr`.
    ///
    /// # Errors
    /// A [`Fault`] if the page is not mapped or not executable, or if `addr` is not a multiple of 4.
    #[inline]
    pub fn fetch_u32(&self, addr: u64) -> Result<u32, Fault> {
        let offset = self.aligned(addr, 4, Perm::EXEC)?;
        Ok(u32::from_le(self.arena.u32(offset).load(Relaxed)))
    }

    /// Returns the arena offset of an aligned access of `size` bytes (a power of two up to the page size).
    #[inline]
    fn aligned(&self, addr: u64, size: u64, need: Perm) -> Result<usize, Fault> {
        let fault = |kind| Fault { addr, size, kind };
        if !addr.is_multiple_of(size) {
            return Err(fault(FaultKind::Misaligned));
        }
        match self.near(addr, size, need) {
            Some(offset) => Ok(offset),
            None => {
                if !self.try_access(addr, size, need) {
                    return Err(fault(FaultKind::Unmapped));
                }
                let offset = self.locate(addr, need).map_err(fault)?;
                if need.contains(Perm::WRITE) {
                    self.note_store(addr, size);
                }
                Ok(offset)
            }
        }
    }
}

macro_rules! access {
    ($load:ident, $store:ident, $t:ident) => {
        impl Memory {
            /// Loads a little-endian value; `addr` need not be aligned.
            ///
            /// # Errors
            /// A [`Fault`] if a page is not mapped or may not be read.
            #[inline]
            pub fn $load(&self, addr: u64) -> Result<$t, Fault> {
                const SIZE: usize = size_of::<$t>();
                match self.near(addr, SIZE as u64, Perm::READ) {
                    Some(offset) if offset.is_multiple_of(SIZE) => {
                        Ok($t::from_le(self.arena.$t(offset).load(Relaxed)))
                    }
                    _ => self.load_slow(addr).map($t::from_le_bytes),
                }
            }

            /// Stores a little-endian value; `addr` need not be aligned.
            ///
            /// # Errors
            /// A [`Fault`] if a page is not mapped or may not be written; nothing is written then.
            #[inline]
            pub fn $store(&self, addr: u64, value: $t) -> Result<(), Fault> {
                const SIZE: usize = size_of::<$t>();
                match self.near(addr, SIZE as u64, Perm::WRITE) {
                    Some(offset) if offset.is_multiple_of(SIZE) => {
                        self.arena.$t(offset).store(value.to_le(), Relaxed);
                        Ok(())
                    }
                    _ => self.store_slow(addr, value.to_le_bytes()),
                }
            }
        }
    };
}

access!(load_u8, store_u8, u8);
access!(load_u16, store_u16, u16);
access!(load_u32, store_u32, u32);

impl Memory {
    /// Loads a little-endian value; `addr` need not be aligned.
    ///
    /// # Errors
    /// A [`Fault`] if a page is not mapped or may not be read.
    #[inline]
    pub fn load_u64(&self, addr: u64) -> Result<u64, Fault> {
        match self.near(addr, 8, Perm::READ) {
            Some(offset) if offset.is_multiple_of(8) => {
                Ok(u64::from_le(self.arena.u64(offset).load(Relaxed)))
            }
            // Two-dword loads are often aligned to only one dword.
            Some(offset) if offset.is_multiple_of(4) => {
                let low = u32::from_le(self.arena.u32(offset).load(Relaxed));
                let high = u32::from_le(self.arena.u32(offset + 4).load(Relaxed));
                Ok(low as u64 | (high as u64) << 32)
            }
            _ => self.load_slow(addr).map(u64::from_le_bytes),
        }
    }

    /// Stores a little-endian value; `addr` need not be aligned.
    ///
    /// # Errors
    /// A [`Fault`] if a page is not mapped or may not be written; nothing is written then.
    #[inline]
    pub fn store_u64(&self, addr: u64, value: u64) -> Result<(), Fault> {
        match self.near(addr, 8, Perm::WRITE) {
            Some(offset) if offset.is_multiple_of(8) => {
                self.arena.u64(offset).store(value.to_le(), Relaxed);
                Ok(())
            }
            Some(offset) if offset.is_multiple_of(4) => {
                self.arena
                    .u32(offset)
                    .store((value as u32).to_le(), Relaxed);
                self.arena
                    .u32(offset + 4)
                    .store(((value >> 32) as u32).to_le(), Relaxed);
                Ok(())
            }
            _ => self.store_slow(addr, value.to_le_bytes()),
        }
    }

    /// Loads `N` consecutive dwords, as the multi-dword loads do; `addr` need not be aligned.
    ///
    /// # Errors
    /// A [`Fault`] if a page is not mapped or may not be read.
    #[inline]
    pub fn load_dwords<const N: usize>(&self, addr: u64) -> Result<[u32; N], Fault> {
        if N as u64 * 4 <= PAGE_SIZE
            && let Some(offset) = self.near(addr, N as u64 * 4, Perm::READ)
            && offset.is_multiple_of(4)
        {
            return Ok(std::array::from_fn(|i| {
                u32::from_le(self.arena.u32(offset + 4 * i).load(Relaxed))
            }));
        }
        let mut bytes = [[0; 4]; N];
        self.read(addr, bytes.as_flattened_mut())?;
        Ok(bytes.map(u32::from_le_bytes))
    }

    /// Stores `N` consecutive dwords, as the multi-dword stores do; `addr` need not be aligned.
    ///
    /// # Errors
    /// A [`Fault`] if a page is not mapped or may not be written; nothing is written then.
    #[inline]
    pub fn store_dwords<const N: usize>(&self, addr: u64, values: [u32; N]) -> Result<(), Fault> {
        if N as u64 * 4 <= PAGE_SIZE
            && let Some(offset) = self.near(addr, N as u64 * 4, Perm::WRITE)
            && offset.is_multiple_of(4)
        {
            for (i, value) in values.into_iter().enumerate() {
                self.arena.u32(offset + 4 * i).store(value.to_le(), Relaxed);
            }
            return Ok(());
        }
        self.write(addr, values.map(u32::to_le_bytes).as_flattened())
    }

    /// Replaces the value at `addr` by the result of `f` on it in one indivisible step, and returns the old value. `f` may
    /// be called more than once when host threads contend. Sequentially consistent with all other atomics.
    ///
    /// # Errors
    /// A [`Fault`] if `addr` is not a multiple of 4, or if the page is not mapped or not both readable and writable.
    #[inline]
    pub fn fetch_update_u32(&self, addr: u64, mut f: impl FnMut(u32) -> u32) -> Result<u32, Fault> {
        let cell = self.arena.u32(self.aligned(addr, 4, Perm::RW)?);
        let mut old = cell.load(Relaxed);
        loop {
            let new = f(u32::from_le(old)).to_le();
            match cell.compare_exchange_weak(old, new, SeqCst, Relaxed) {
                Ok(_) => {
                    if new != old {
                        self.note_change();
                    }
                    return Ok(u32::from_le(old));
                }
                Err(seen) => old = seen,
            }
        }
    }

    /// Like [`Memory::fetch_update_u32`], for 8 bytes aligned to 8.
    ///
    /// # Errors
    /// As [`Memory::fetch_update_u32`].
    #[inline]
    pub fn fetch_update_u64(&self, addr: u64, mut f: impl FnMut(u64) -> u64) -> Result<u64, Fault> {
        let cell = self.arena.u64(self.aligned(addr, 8, Perm::RW)?);
        let mut old = cell.load(Relaxed);
        loop {
            let new = f(u64::from_le(old)).to_le();
            match cell.compare_exchange_weak(old, new, SeqCst, Relaxed) {
                Ok(_) => {
                    if new != old {
                        self.note_change();
                    }
                    return Ok(u64::from_le(old));
                }
                Err(seen) => old = seen,
            }
        }
    }
}

thread_local! {
    static STORES: RefCell<Vec<(u64, u64)>> = const { RefCell::new(Vec::new()) };
}

#[cold]
fn note_store(addr: u64, size: u64) {
    STORES.with_borrow_mut(|stores| stores.push((addr, size)));
}

/// Returns the address and size of each store and atomic of this thread since the last call, if [`Memory::record_stores`] is on.
pub fn take_stores() -> Vec<(u64, u64)> {
    STORES.take()
}
