//! Mapping: allocations, pages at given addresses, lent pages of the host program.

use super::arena::Owner;
use super::*;

/// What is in memory that is mapped.
#[derive(Clone, Copy)]
enum Contents {
    Zeros,
    Unspecified,
    /// Unspecified, and most of it will never be used.
    Sparse,
}

impl Memory {
    /// Returns the number of bytes that may still be mapped.
    pub fn free_bytes(&self) -> u64 {
        self.book().budget * PAGE_SIZE
    }

    /// Maps `size` bytes of zeros (rounded up to whole pages, at least one) in the linear part, at an address
    /// that is a multiple of `align` and of the page size. An unmapped page stays on both sides, so that an access beyond
    /// an end faults.
    ///
    /// # Errors
    /// [`MemError::OutOfMemory`], [`MemError::BadAlign`].
    pub fn alloc(&self, size: u64, align: u64, perm: Perm) -> Result<u64, MemError> {
        self.alloc_with(size, align, perm, Contents::Zeros)
    }

    /// Like [`Memory::alloc`], but what is in the memory is unspecified: zeros, or what memory that was freed had. This takes less time for much memory
    /// of which little is used.
    ///
    /// # Errors
    /// As [`Memory::alloc`].
    pub fn alloc_unspecified(&self, size: u64, align: u64, perm: Perm) -> Result<u64, MemError> {
        self.alloc_with(size, align, perm, Contents::Unspecified)
    }

    /// Like [`Memory::alloc_unspecified`], for memory of which only the first bytes are likely to be used. The host provides it in small pages: a large one
    /// would take 2 MiB for a few bytes.
    ///
    /// # Errors
    /// As [`Memory::alloc`].
    pub fn alloc_sparse(&self, size: u64, align: u64, perm: Perm) -> Result<u64, MemError> {
        self.alloc_with(size, align, perm, Contents::Sparse)
    }

    fn alloc_with(
        &self,
        size: u64,
        align: u64,
        perm: Perm,
        contents: Contents,
    ) -> Result<u64, MemError> {
        if !align.is_power_of_two() {
            return Err(MemError::BadAlign(align));
        }
        let _outside = self.outside();
        let mut book = self.book();
        let out_of_memory = MemError::OutOfMemory {
            wanted: size,
            free: book.budget * PAGE_SIZE,
        };
        let count = size.div_ceil(PAGE_SIZE).max(1);
        if count > book.budget {
            return Err(out_of_memory);
        }
        let base = self.linear_base / PAGE_SIZE;
        let align = (align / PAGE_SIZE).max(1);
        // The first gap with room for the pages and one more on either side.
        let fit = book.gaps.iter().find_map(|(&first, &len)| {
            let start = (base + first + 1).checked_next_multiple_of(align)? - base;
            (start + count < first + len).then_some(start)
        });
        let start = fit.ok_or(out_of_memory)?;
        self.map_linear(&mut book, start, count, perm, contents)?;
        let addr = self.linear_base + start * PAGE_SIZE;
        if let Contents::Sparse = contents {
            self.arena.use_small_pages(start, count, true);
            book.in_small_pages.insert(addr);
        }
        for page in [start - 1, start + count] {
            self.arena.touch(page);
        }
        book.regions.insert(addr, (base + start, count));
        book.sizes.insert(addr, size);
        Ok(addr)
    }

    /// Maps zeros at the pages that hold the `size` bytes from `addr`, anywhere in the 48 bits of guest addresses.
    ///
    /// # Errors
    /// [`MemError::BadRegion`] for an empty region or one that exceeds the 48 bits, [`MemError::Overlap`] if a page is
    /// already mapped, [`MemError::OutOfMemory`]. In each case nothing is mapped.
    pub fn map_at(&self, addr: u64, size: u64, perm: Perm) -> Result<(), MemError> {
        let (first, end) = page_range(addr, size)?;
        let _outside = self.outside();
        let mut book = self.book();
        // This check comes first, because the next one visits every page of the region.
        if end - first > book.budget {
            return Err(MemError::OutOfMemory {
                wanted: size,
                free: book.budget * PAGE_SIZE,
            });
        }
        if let Some(page) = (first..end).find(|&page| self.guest_page(page).is_some()) {
            return Err(MemError::Overlap {
                addr: page * PAGE_SIZE,
            });
        }
        for page in first..end {
            match self.own_page(page) {
                Some(own) => self.map_linear(&mut book, own, 1, perm, Contents::Zeros)?,
                None => self.map_far(&mut book, page, perm)?,
            }
        }
        book.regions.insert(addr, (first, end - first));
        book.sizes.insert(addr, size);
        Ok(())
    }

    /// Unmaps the region that [`Memory::alloc`] or [`Memory::map_at`] mapped at `addr`.
    ///
    /// # Errors
    /// [`MemError::NotMapped`] if there is no such region.
    pub fn free(&self, addr: u64) -> Result<(), MemError> {
        let _outside = self.outside();
        let mut book = self.book();
        let (first, count) = book
            .regions
            .remove(&addr)
            .ok_or(MemError::NotMapped { addr })?;
        book.sizes.remove(&addr);
        if book.in_small_pages.remove(&addr) {
            let start = first - self.linear_base / PAGE_SIZE;
            self.arena.use_small_pages(start, count, false);
        }
        if let Owner::Reserved(range) = &self.arena.owner {
            let own = |page: u64| page.clamp(self.own.start, self.own.end);
            let base = self.linear_base / PAGE_SIZE;
            let (start, end) = (own(first - base), own(first + count - base));
            let at = (start - self.own.start) * PAGE_SIZE;
            range.discard(at as usize, ((end - start) * PAGE_SIZE) as usize);
        }
        let mut page = first;
        while page < first + count {
            let own = |page: u64| self.own_page(page).filter(|_| page < first + count);
            if let Some(start) = own(page) {
                let next = (page..).find(|&page| own(page).is_none());
                let end = next.unwrap_or(first + count);
                self.unmap_linear(&mut book, start, end - page)?;
                page = end;
                continue;
            }
            if let Some(far) = self.far_mut().remove(&page) {
                self.note_code(far.perm);
                let page = far.page - self.origin / PAGE_SIZE;
                self.arena.confine(page, 1, Perm::NONE);
                book.pool_free.push(page);
                book.budget += 1;
            }
            page += 1;
        }
        Ok(())
    }

    /// Changes the permissions of the pages that hold the `size` bytes from `addr`.
    ///
    /// # Errors
    /// [`MemError::BadRegion`]; [`MemError::NotMapped`] if a page is not mapped. In each case nothing is changed.
    pub fn protect(&self, addr: u64, size: u64, perm: Perm) -> Result<(), MemError> {
        let (first, end) = page_range(addr, size)?;
        let _outside = self.outside();
        let _book = self.book();
        if let Some(page) = (first..end).find(|&page| self.guest_page(page).is_none()) {
            return Err(MemError::NotMapped {
                addr: page * PAGE_SIZE,
            });
        }
        for page in first..end {
            if let Some(own) = self.own_page(page) {
                self.set_state(own, self.write_protected(USED | MAPPED | perm.0))?;
                self.arena.confine(own, 1, perm);
            } else if let Some(far) = self.far_mut().get_mut(&page) {
                self.note_code(Perm(far.perm.0 | perm.0));
                far.perm = perm;
                let page = far.page - self.origin / PAGE_SIZE;
                self.arena.confine(page, 1, perm);
            }
        }
        Ok(())
    }

    /// Returns the permissions of the page that contains `addr`, or `None` if it is not mapped.
    pub fn perm(&self, addr: u64) -> Option<Perm> {
        self.guest_page(addr / PAGE_SIZE).map(|(_, perm)| perm)
    }

    /// Returns the mapped regions in the order of their addresses: address, and the requested bytes.
    pub fn extents(&self) -> Vec<(u64, u64)> {
        let book = self.book();
        let of = |(&addr, &(_, count)): (&u64, &(u64, u64))| {
            let asked = book.sizes.get(&addr).copied();
            (addr, asked.unwrap_or(count * PAGE_SIZE))
        };
        book.regions.iter().map(of).collect()
    }

    /// Returns the mapped regions in the order of their addresses: address, and the bytes of their whole pages.
    pub fn regions(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let regions: Vec<(u64, u64)> = (self.book().regions.iter())
            .map(|(&addr, &(_, count))| (addr, count * PAGE_SIZE))
            .collect();
        regions.into_iter()
    }

    pub(super) fn far_mut(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<u64, FarPage>> {
        self.far.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number, within the linear part, of guest page `page`, if the linear part contains it.
    pub(super) fn linear_page(&self, page: u64) -> Option<u64> {
        let linear = page.wrapping_sub(self.linear_base / PAGE_SIZE);
        (linear < self.linear_bytes / PAGE_SIZE).then_some(linear)
    }

    /// Like `linear_page`, but only for pages that allocations come from.
    pub(super) fn own_page(&self, page: u64) -> Option<u64> {
        self.linear_page(page)
            .filter(|linear| self.own.contains(linear))
    }

    /// Returns the arena page of guest page `page` and its permissions, or `None` if it is not mapped.
    pub(super) fn guest_page(&self, page: u64) -> Option<(u64, Perm)> {
        if let Some(linear) = self.linear_page(page) {
            let state = self.state(linear);
            if state & (MAPPED | transaction::PARTLY) != 0 {
                let page = linear + self.origin / PAGE_SIZE;
                // A store may write the page, because its contents are saved first.
                let write = if state & transaction::UNSAVED != 0 {
                    Perm::WRITE.0
                } else {
                    0
                };
                return Some((page, Perm(state & Perm::RWX.0 | write)));
            }
            if self.own.contains(&linear) {
                return None;
            }
        }
        let far = self.far.read().unwrap_or_else(PoisonError::into_inner);
        far.get(&page).map(|far| (far.page, far.perm))
    }

    /// Makes the host provide memory for pages of the arena's own range.
    fn commit(&self, page: u64, count: u64) -> Result<(), MemError> {
        match &self.arena.owner {
            // The host commits the pages of a mapping when they are first touched.
            Owner::Map(_) => Ok(()),
            Owner::Reserved(range) => {
                let from = (page - self.own.start) * PAGE_SIZE;
                range.take(from as usize, (count * PAGE_SIZE) as usize)
            }
        }
    }

    /// Maps pages of the linear part that lie within one gap.
    fn map_linear(
        &self,
        book: &mut Book,
        start: u64,
        count: u64,
        perm: Perm,
        contents: Contents,
    ) -> Result<(), MemError> {
        self.commit(start, count)?;
        if let Some((&first, &len)) = book.gaps.range(..=start).next_back() {
            book.gaps.remove(&first);
            if start > first {
                book.gaps.insert(first, start - first);
            }
            if first + len > start + count {
                book.gaps.insert(start + count, first + len - start - count);
            }
        }
        if let Contents::Zeros = contents {
            for page in start..start + count {
                self.clear(page);
            }
        }
        let state = self.write_protected(USED | MAPPED | perm.0);
        self.set_states(start, count, state)?;
        book.budget -= count;
        self.arena.confine(start, count, perm);
        Ok(())
    }

    /// Unmaps consecutive pages of the linear part.
    fn unmap_linear(&self, book: &mut Book, start: u64, count: u64) -> Result<(), MemError> {
        // With host addresses `free` has returned the pages to the host, which zeroes them.
        let state = if self.is_of_host() { 0 } else { USED };
        self.set_states(start, count, state)?;
        self.arena.confine(start, count, Perm::NONE);
        book.budget += count;
        let (mut first, mut len) = (start, count);
        if let Some(after) = book.gaps.remove(&(start + count)) {
            len += after;
        }
        if let Some((&before, &n)) = book.gaps.range(..start).next_back()
            && before + n == start
        {
            first = before;
            len += n;
        }
        book.gaps.insert(first, len);
        Ok(())
    }

    fn map_far(&self, book: &mut Book, guest_page: u64, perm: Perm) -> Result<(), MemError> {
        // The pool has as many pages as the initial budget, so there is a free one.
        let page = book.pool_free.pop().unwrap_or_else(|| {
            book.pool_next += 1;
            book.pool_next - 1
        });
        self.commit(page, 1)?;
        self.take(book, page)?;
        self.note_code(perm);
        self.arena.confine(page, 1, perm);
        let far = FarPage {
            page: page + self.origin / PAGE_SIZE,
            perm,
        };
        self.far_mut().insert(guest_page, far);
        Ok(())
    }

    /// Counts a page of the arena against the budget and makes sure that it is zero.
    fn take(&self, book: &mut Book, page: u64) -> Result<(), MemError> {
        self.clear(page);
        self.set_state(page, USED)?;
        book.budget -= 1;
        Ok(())
    }

    /// Makes sure that a page that is not mapped is zero.
    fn clear(&self, page: u64) {
        if self.state(page) & USED != 0 {
            self.arena.confine(page, 1, Perm::WRITE);
            self.arena.zero_page(page + self.origin / PAGE_SIZE);
        }
    }
}

impl Memory {
    /// Makes the pages of the host program that contain these bytes accessible to kernels, at their host address or, with `alias`, at
    /// that address plus [`ALIAS`]. Kernels get the program's permissions. Returns the guest address. Pages can be lent several times;
    /// they stay mapped until they have been taken back the same number of times.
    ///
    /// # Safety
    /// The pages must stay mapped, with their permissions, until they have been taken back; and all other code that accesses them
    /// must tolerate that kernels do so, too.
    ///
    /// # Errors
    /// [`MemError::BadRegion`] if this memory does not have host addresses, or if the range is empty, exceeds the host's addresses,
    /// or contains pages of allocations; [`MemError::NotMapped`] if the program may not read all of it.
    pub unsafe fn lend(&self, host: u64, size: u64, alias: bool) -> Result<u64, MemError> {
        let bad = MemError::BadRegion { addr: host, size };
        let (first, end) = page_range(host, size)?;
        let ours = (self.own().start / PAGE_SIZE, self.own().end / PAGE_SIZE);
        if !self.is_of_host() || end > ALIAS / PAGE_SIZE || first < ours.1 && end > ours.0 {
            return Err(bad);
        }
        let (at, bytes) = (first * PAGE_SIZE, (end - first) * PAGE_SIZE);
        let perm = match host::access(at as usize, bytes as usize) {
            (true, true) => Perm::RW,
            (true, false) => Perm::READ,
            _ => return Err(MemError::NotMapped { addr: host }),
        };
        let more = if alias { ALIAS } else { 0 };
        let (first, end) = (first + more / PAGE_SIZE, end + more / PAGE_SIZE);
        let _outside = self.outside();
        let mut book = self.book();
        book.lent.push((first, end, perm));
        self.set_lent(first, end, Some(perm))?;
        Ok(host + more)
    }

    /// Takes back pages that were lent at this guest address with this size. When this returns, no kernel accesses them any
    /// more: it waits for the time slices that are running, so it must not be called from a kernel's thread.
    ///
    /// # Errors
    /// [`MemError::NotMapped`] if they were not lent.
    pub fn take_back(&self, addr: u64, size: u64) -> Result<(), MemError> {
        let (first, end) = page_range(addr, size)?;
        let _outside = self.outside();
        let mut book = self.book();
        let found = book.lent.iter().position(|l| (l.0, l.1) == (first, end));
        book.lent
            .swap_remove(found.ok_or(MemError::NotMapped { addr })?);
        // Pages that are also lent by other calls stay.
        let others = book.lent.iter().filter(|l| l.0 < end && l.1 > first);
        let mut others: Vec<(u64, u64)> = others.map(|l| (l.0, l.1)).collect();
        others.sort_unstable();
        let mut at = first;
        for (from, to) in others {
            if from > at {
                self.set_lent(at, from, None)?;
            }
            at = at.max(to);
        }
        if at < end {
            self.set_lent(at, end, None)?;
        }
        // The kernels for which `settle` waits may need this lock.
        drop(book);
        self.settle();
        Ok(())
    }

    /// Marks guest pages that do not belong to allocations as mapped with `perm`, or with `None` as not mapped.
    fn set_lent(&self, first: u64, end: u64, perm: Option<Perm>) -> Result<(), MemError> {
        let state = perm.map_or(0, |perm| self.write_protected(MAPPED | perm.0));
        match (self.linear_page(first), self.linear_page(end - 1)) {
            (Some(start), Some(_)) => self.pages.fill(start, end - first, state)?,
            _ => {
                let mut far = self.far_mut();
                for page in first..end {
                    // The arena page is the host's page.
                    let page_of_host = page % (ALIAS / PAGE_SIZE);
                    match perm {
                        Some(perm) => far.insert(
                            page,
                            FarPage {
                                page: page_of_host,
                                perm,
                            },
                        ),
                        None => far.remove(&page),
                    };
                }
            }
        }
        self.mapping.store(0, SeqCst);
        Ok(())
    }

    /// Returns the allocation that contains an address: its start, and the bytes of its whole pages.
    pub fn region_of(&self, addr: u64) -> Option<(u64, u64)> {
        let book = self.book();
        let (&at, &(first, count)) = book.regions.range(..=addr).next_back()?;
        let end = (first + count) * PAGE_SIZE;
        (addr < end).then_some((at, end - at))
    }
}
