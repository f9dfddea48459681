//! What is mapped: allocations, pages at given addresses, pages of the program that are lent.

use super::arena::Owner;
use super::*;

impl Memory {
    /// Bytes that may still be mapped.
    pub fn free_bytes(&self) -> u64 {
        self.book().budget * PAGE_SIZE
    }

    /// Maps `size` bytes of zeros (rounded up to whole pages, at least one) at an address of the linear part's choice
    /// that is a multiple of `align` and of the page size. An unmapped page stays on both sides, so that running over
    /// an end faults.
    ///
    /// # Errors
    /// [`MemError::OutOfMemory`], [`MemError::BadAlign`].
    pub fn alloc(&self, size: u64, align: u64, perm: Perm) -> Result<u64, MemError> {
        if !align.is_power_of_two() {
            return Err(MemError::BadAlign(align));
        }
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
        self.map_linear(&mut book, start, count, perm)?;
        let addr = self.linear_base + start * PAGE_SIZE;
        book.regions.insert(addr, (base + start, count));
        Ok(addr)
    }

    /// Maps zeros at the pages that hold the `size` bytes from `addr`, anywhere in the 48 bits of guest addresses.
    ///
    /// # Errors
    /// [`MemError::BadRegion`] for an empty one or one that leaves the 48 bits, [`MemError::Overlap`] if a page is
    /// mapped already, [`MemError::OutOfMemory`]. Nothing is mapped then.
    pub fn map_at(&self, addr: u64, size: u64, perm: Perm) -> Result<(), MemError> {
        let (first, end) = page_range(addr, size)?;
        let mut book = self.book();
        // First, so that no huge region is walked page by page in vain.
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
                Some(own) => self.map_linear(&mut book, own, 1, perm)?,
                None => self.map_far(&mut book, page, perm)?,
            }
        }
        book.regions.insert(addr, (first, end - first));
        Ok(())
    }

    /// Unmaps the region that [`Memory::alloc`] or [`Memory::map_at`] gave at `addr`.
    ///
    /// # Errors
    /// [`MemError::NotMapped`] if there is none.
    pub fn free(&self, addr: u64) -> Result<(), MemError> {
        let mut book = self.book();
        let (first, count) = book
            .regions
            .remove(&addr)
            .ok_or(MemError::NotMapped { addr })?;
        if let Owner::Reserved(range) = &self.arena.owner {
            let own = |page: u64| page.clamp(self.own.start, self.own.end);
            let base = self.linear_base / PAGE_SIZE;
            let (start, end) = (own(first - base), own(first + count - base));
            let at = (start - self.own.start) * PAGE_SIZE;
            range.discard(at as usize, ((end - start) * PAGE_SIZE) as usize);
        }
        for page in first..first + count {
            if let Some(own) = self.own_page(page) {
                self.unmap_linear(&mut book, own)?;
            } else if let Some(far) = self.far_mut().remove(&page) {
                self.note_code(far.perm);
                let page = far.page - self.origin / PAGE_SIZE;
                self.arena.confine(page, 1, Perm::NONE);
                book.pool_free.push(page);
                book.budget += 1;
            }
        }
        Ok(())
    }

    /// Changes what the pages that hold the `size` bytes from `addr` permit.
    ///
    /// # Errors
    /// [`MemError::BadRegion`]; [`MemError::NotMapped`] if a page is not mapped. Nothing is changed then.
    pub fn protect(&self, addr: u64, size: u64, perm: Perm) -> Result<(), MemError> {
        let (first, end) = page_range(addr, size)?;
        let _book = self.book();
        if let Some(page) = (first..end).find(|&page| self.guest_page(page).is_none()) {
            return Err(MemError::NotMapped {
                addr: page * PAGE_SIZE,
            });
        }
        for page in first..end {
            if let Some(own) = self.own_page(page) {
                self.set_state(own, USED | MAPPED | perm.0)?;
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

    /// What the page of `addr` permits, or nothing if it is not mapped.
    pub fn perm(&self, addr: u64) -> Option<Perm> {
        self.guest_page(addr / PAGE_SIZE).map(|(_, perm)| perm)
    }

    /// The regions mapped, in the order of their addresses: address and bytes (whole pages).
    pub fn regions(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let regions: Vec<(u64, u64)> = (self.book().regions.iter())
            .map(|(&addr, &(_, count))| (addr, count * PAGE_SIZE))
            .collect();
        regions.into_iter()
    }

    pub(super) fn far_mut(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<u64, FarPage>> {
        self.far.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page of the linear part at guest page `page`.
    fn linear_page(&self, page: u64) -> Option<u64> {
        let linear = page.wrapping_sub(self.linear_base / PAGE_SIZE);
        (linear < self.linear_bytes / PAGE_SIZE).then_some(linear)
    }

    /// The same, of a page that allocations come from.
    fn own_page(&self, page: u64) -> Option<u64> {
        self.linear_page(page)
            .filter(|linear| self.own.contains(linear))
    }

    /// The page of the arena behind guest page `page`, if mapped, and what it permits.
    pub(super) fn guest_page(&self, page: u64) -> Option<(u64, Perm)> {
        if let Some(linear) = self.linear_page(page) {
            let state = self.state(linear);
            if state & MAPPED != 0 {
                let page = linear + self.origin / PAGE_SIZE;
                return Some((page, Perm(state & Perm::RWX.0)));
            }
            if self.own.contains(&linear) {
                return None;
            }
        }
        let far = self.far.read().unwrap_or_else(PoisonError::into_inner);
        far.get(&page).map(|far| (far.page, far.perm))
    }

    /// Sees to it that the host has memory for pages of the arena's own.
    fn commit(&self, page: u64, count: u64) -> Result<(), MemError> {
        match &self.arena.owner {
            // It has had it from the first.
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
        for page in start..start + count {
            self.take(book, page)?;
            self.set_state(page, USED | MAPPED | perm.0)?;
        }
        self.arena.confine(start, count, perm);
        Ok(())
    }

    fn unmap_linear(&self, book: &mut Book, page: u64) -> Result<(), MemError> {
        // What the host has taken back is zeros.
        let state = if self.is_of_host() { 0 } else { USED };
        self.set_state(page, state)?;
        self.arena.confine(page, 1, Perm::NONE);
        book.budget += 1;
        let (mut first, mut len) = (page, 1);
        if let Some(after) = book.gaps.remove(&(page + 1)) {
            len += after;
        }
        if let Some((&before, &n)) = book.gaps.range(..page).next_back()
            && before + n == page
        {
            first = before;
            len += n;
        }
        book.gaps.insert(first, len);
        Ok(())
    }

    fn map_far(&self, book: &mut Book, guest_page: u64, perm: Perm) -> Result<(), MemError> {
        // The pool has as many pages as the budget began with, so there is one.
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

    /// Counts a page of the arena against the budget and sees to it that it is zero.
    fn take(&self, book: &mut Book, page: u64) -> Result<(), MemError> {
        if self.state(page) & USED != 0 {
            self.arena.confine(page, 1, Perm::WRITE);
            self.arena.zero_page(page + self.origin / PAGE_SIZE);
        }
        self.set_state(page, USED)?;
        book.budget -= 1;
        Ok(())
    }
}

impl Memory {
    /// Lets kernels reach the pages of the program around that hold these bytes: at the host's address, or at that plus
    /// [`ALIAS`]. What the host lets the program do there, and no more, is permitted. Gives the guest address. Pages can
    /// be lent several times, and are mapped until they have been taken back as often.
    ///
    /// # Safety
    /// The pages stay mapped, and what they permit stays permitted, until they have been taken back; and whoever else accesses them bears that kernels do, too.
    ///
    /// # Errors
    /// [`MemError::BadRegion`] where this memory does not have host addresses, the range is empty or leaves them, or has
    /// pages of allocations; [`MemError::NotMapped`] where the program may not read all of it.
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
        let mut book = self.book();
        book.lent.push((first, end, perm));
        self.set_lent(first, end, Some(perm))?;
        Ok(host + more)
    }

    /// Takes pages back that were lent at this guest address, with this size. No kernel accesses them any more when this
    /// returns: it waits for the time slices of those that run, so it is not to be called from one.
    ///
    /// # Errors
    /// [`MemError::NotMapped`] where they were not.
    pub fn take_back(&self, addr: u64, size: u64) -> Result<(), MemError> {
        let (first, end) = page_range(addr, size)?;
        let mut book = self.book();
        let found = book.lent.iter().position(|l| (l.0, l.1) == (first, end));
        book.lent
            .swap_remove(found.ok_or(MemError::NotMapped { addr })?);
        // What others have been lent stays.
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
        // Kernels may ask for what this holds.
        drop(book);
        self.settle();
        Ok(())
    }

    /// Says of guest pages that do not belong to allocations that they are mapped, or are not.
    fn set_lent(&self, first: u64, end: u64, perm: Option<Perm>) -> Result<(), MemError> {
        let state = perm.map_or(0, |perm| MAPPED | perm.0);
        match (self.linear_page(first), self.linear_page(end - 1)) {
            (Some(start), Some(_)) => self.pages.fill(start, end - first, state)?,
            _ => {
                let mut far = self.far_mut();
                for page in first..end {
                    // The arena's page is the host's.
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

    /// The allocation that holds an address: where it begins, and its bytes (whole pages).
    pub fn region_of(&self, addr: u64) -> Option<(u64, u64)> {
        let book = self.book();
        let (&at, &(first, count)) = book.regions.range(..=addr).next_back()?;
        let end = (first + count) * PAGE_SIZE;
        (addr < end).then_some((at, end - at))
    }
}
