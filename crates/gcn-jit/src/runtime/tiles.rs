//! Tiles of memory that lanes walk over: finding walks, and reading ahead.
//!
//! An access has a tile if it is in a loop and lanes choose its addresses. Compiled code takes from the tile what is there; otherwise it
//! asks here. Once all lanes have moved by the same few bytes, each lane's next 64 bytes are read. Nothing in a tile outlives what may change
//! memory: code that others' writes may become visible in empties it, and stores of the loop write to it or empty it.

use crate::context::{Ctx, TILE_BUDGET, Tile, TileParts};
use crate::runtime::helpers::parts;
use std::arch::x86_64::*;
use std::mem::offset_of;

/// The bytes of each lane in a tile.
const BYTES: u32 = 64;
/// The farthest that lanes move from access to access.
const FAR: i32 = 4;
/// How far they move where reading ahead pays whatever the rows are.
const CLOSE: i32 = 2;
/// What reading ahead costs, and looking in vain, in dwords that each lane would have loaded meanwhile.
const FILL: i32 = 10;
const LOOK: i32 = 3;

/// The lanes of a part.
type Lanes<const LANES: usize> = [u32; LANES];

/// The access that asks.
struct Request<const LANES: usize> {
    active: u32,
    /// The bytes of the access, and its constant.
    size: u32,
    offset: u32,
    /// The addresses at which it may be: the first, and their number.
    range: [u64; 2],
    /// The lower halves of the lanes' addresses: those of inactive lanes are that of the first active one.
    lo: Lanes<LANES>,
    high: u32,
    bias: u64,
    host_bits: u64,
}

impl<const LANES: usize> Request<LANES> {
    fn first(&self) -> usize {
        self.active.trailing_zeros() as usize
    }

    /// Returns how far the first active lane is from its base, and whether all active lanes are as far from theirs.
    #[target_feature(enable = "avx2")]
    fn moved(&self, bases: &Lanes<LANES>) -> (u32, bool) {
        let first = self.first();
        let by = self.lo[first].wrapping_sub(bases[first]);
        let mut other = _mm256_setzero_si256();
        for at in (0..LANES).step_by(8) {
            let moved = _mm256_sub_epi32(eight(&self.lo[at..]), eight(&bases[at..]));
            let wrong = _mm256_xor_si256(moved, _mm256_set1_epi32(by as i32));
            let active = lanes_of(self.active >> at);
            other = _mm256_or_si256(other, _mm256_and_si256(wrong, active));
        }
        (by, is_zero(other))
    }

    /// Returns true if the lanes' lines meet in few sets of a cache, where they drive each other out before their next elements are
    /// loaded. Otherwise reading them again costs no more than reading ahead.
    fn meets(&self) -> bool {
        let (mut sets, mut lines, mut last) = (0u64, 0, None);
        for (lane, lo) in self.lo.iter().enumerate() {
            if self.active >> lane & 1 == 0 {
                continue;
            }
            let line = lo.wrapping_add(self.offset) / BYTES;
            lines += (last != Some(line)) as u32;
            last = Some(line);
            sets |= 1 << (line % 64);
        }
        lines >= 8 && sets.count_ones() <= 4
    }

    /// Where in a tile an access of a walk begins.
    fn start(&self, step: i32) -> u32 {
        match step > 0 {
            true => 0,
            false => BYTES - self.size,
        }
    }

    /// Returns true if lanes that move so come to the next elements.
    fn walks(&self, step: i32) -> bool {
        let unit = self.size.min(4) as i32;
        step != 0 && step.abs() <= FAR && step % unit == 0
    }

    /// Returns the lanes' bases, if each lane's bytes may be read, and where the lowest base's bytes are.
    #[target_feature(enable = "avx2")]
    fn rows(&self, step: i32) -> Option<Rows<LANES>> {
        let start = self.start(step);
        let mut bases = self.lo;
        let (mut low, mut low_base) = (_mm256_set1_epi32(-1), _mm256_set1_epi32(-1));
        let (mut high_base, mut far) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        for at in (0..LANES).step_by(8) {
            let lo = eight(&self.lo[at..]);
            let base = _mm256_sub_epi32(lo, _mm256_set1_epi32(start as i32));
            let distance = _mm256_sub_epi32(base, _mm256_set1_epi32(self.range[0] as i32));
            put_eight(&mut bases[at..], base);
            low = _mm256_min_epu32(low, lo);
            low_base = _mm256_min_epu32(low_base, base);
            high_base = _mm256_max_epu32(high_base, base);
            far = _mm256_max_epu32(far, distance);
        }
        let (least, lowest) = (least_of(low), least_of(low_base));
        let (highest, farthest) = (greatest_of(high_base), greatest_of(far));
        // The range has the first bytes of accesses of four bytes or more.
        if least < start || farthest as u64 + (BYTES as u64 - 4) >= self.range[1] {
            return None;
        }
        let guest = |base: u32| {
            let guest = (self.high as u64) << 32 | base as u64;
            guest.wrapping_add_signed(self.offset as i32 as i64)
        };
        let (first, last) = (guest(lowest), guest(highest));
        let above = |guest: u64| guest >> 32;
        if above(first.wrapping_sub(BYTES as u64)) != above(last + 2 * BYTES as u64)
            || highest - lowest > (1 << 30) - BYTES
        {
            return None;
        }
        Some(Rows {
            bases,
            lowest,
            host: self.bias.wrapping_add(first & self.host_bits),
            from: first as u32,
            to: last as u32 + BYTES,
        })
    }
}

/// The memory of a part's lanes.
struct Rows<const LANES: usize> {
    bases: Lanes<LANES>,
    lowest: u32,
    /// The host's address of the lowest lane's bytes.
    host: u64,
    /// The first byte of all, and the one after the last.
    from: u32,
    to: u32,
}

/// Finds the memory of a part's active lanes, whose addresses are in the context, in a tile, or reads it. Nonzero: it is not there.
///
/// # Safety
/// As of [`parts`]; and the access's range was permitted.
pub(crate) unsafe extern "sysv64" fn tile(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: the caller's; all levels have AVX2.
    unsafe {
        match what & 0xff {
            16 => tile_of::<16>(ctx, what),
            _ => tile_of::<8>(ctx, what),
        }
    }
}

/// See [`tile`].
///
/// # Safety
/// As of [`tile`], and the host has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn tile_of<const LANES: usize>(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: the caller's.
    let (ctx, _) = unsafe { parts(ctx) };
    let active = ctx.call.lanes as u32 & ((1 << LANES) - 1);
    if active == 0 {
        return 1;
    }
    let first = active.trailing_zeros() as usize;
    let (lo, high) = (&ctx.addresses[0].0, &ctx.addresses[1].0);
    let mut lo: Lanes<LANES> = *lo.first_chunk().unwrap_or(&[0; LANES]);
    if active.count_ones() as usize != LANES {
        let one = lo[first];
        for (lane, lo) in lo.iter_mut().enumerate() {
            let inactive = (active >> lane & 1).wrapping_sub(1);
            *lo = *lo & !inactive | one & inactive;
        }
    }
    let request = Request::<LANES> {
        active,
        size: (what >> 8 & 0xff) as u32,
        offset: (what >> 32) as u32,
        range: ctx.remembered.ranges[(what >> 16 & 0xffff) as usize],
        lo,
        high: high[first],
        bias: ctx.memory.bias,
        host_bits: ctx.memory.host_bits,
    };
    let number = ctx.tiles.part / size_of::<Tile>();
    let at = ctx.tiles.part % size_of::<Tile>() - offset_of!(Tile, bases);
    let part = [at / 64, at % 64 / 32];
    // SAFETY: the code numbers the tiles that there are, and nothing else uses them meanwhile.
    let tile = unsafe { &mut *ctx.make_tiles().add(number) };
    let budget = &mut ctx.tiles.budget[number];
    let on = ctx.tiles.on[number] != 0;
    if !on || (tile.high, tile.offset) != (request.high, request.offset) {
        for (slice, half) in (0..8).map(|n| (n / 2, n % 2)) {
            tile.settle(request.size, [slice, half], budget);
        }
        tile.empty();
        (tile.high, tile.offset) = (request.high, request.offset);
    }
    let found = tile.look(&request, part, budget).is_some();
    // A tile without memory that is on knows where the lanes were.
    ctx.tiles.on[number] = (found || *budget > 0) as u8;
    !found as u64
}

impl Tile {
    /// Adds what a part was of use to the budget.
    fn settle(&mut self, size: u32, [slice, half]: [usize; 2], budget: &mut i32) {
        let (next, step) = (self.next[slice][half], self.step[slice][half]);
        if next != Tile::NOTHING {
            let gain = accesses(next, step, size) as i32;
            self.good = (gain > FILL) as u32;
            *budget = TILE_BUDGET.min(*budget + gain);
        }
    }

    /// Forgets the memory, but not how lanes move.
    fn empty(&mut self) {
        self.next = [[Tile::NOTHING; 2]; 4];
        (self.hull, self.hull_host, self.hull_bytes) = (0, 0, 0);
        self.parts = TileParts::default();
    }

    /// The bases of a part's lanes.
    fn bases_of<const LANES: usize>(
        &mut self,
        [slice, half]: [usize; 2],
    ) -> Option<&mut Lanes<LANES>> {
        self.bases[slice].0[8 * half..].first_chunk_mut()
    }

    /// Makes the part have the lanes' memory. `None` if they do not walk, or the memory is not all permitted.
    #[target_feature(enable = "avx2")]
    fn look<const LANES: usize>(
        &mut self,
        r: &Request<LANES>,
        part: [usize; 2],
        budget: &mut i32,
    ) -> Option<()> {
        let [slice, half] = part;
        let at = 2 * slice + half;
        let (next, step) = (self.next[slice][half], self.step[slice][half] as i32);
        let here = next != Tile::NOTHING;
        self.settle(r.size, part, budget);
        let (by, alike) = r.moved(self.bases_of(part)?);
        let same = alike && r.active & !self.parts.lanes[at] == 0;
        let last = self.parts.last[at];
        let goes_on = same && here && by == next;
        let wanted = match (same, here) {
            _ if goes_on => Some(step),
            (true, true) if by <= BYTES - r.size && by.is_multiple_of(r.size.min(4)) => {
                self.next[slice][half] = by;
                *budget -= LOOK;
                return (*budget > 0).then_some(());
            }
            (true, false) if r.walks(by.wrapping_sub(last) as i32) => {
                Some(by.wrapping_sub(last) as i32)
            }
            _ if self.good != 0 && r.walks(step) => Some(step),
            _ => None,
        };
        // Lanes that walk on are as far from each other as before.
        if let Some(step) = wanted
            && (goes_on || step.abs() <= CLOSE || r.meets())
            && self.fill(r, part, step).is_some()
        {
            *budget -= FILL;
            return Some(());
        }
        *budget -= LOOK;
        // The addresses are those to compare the next ones with.
        self.parts.set(at, r.active, 0, [0, 0], false);
        self.next[slice][half] = Tile::NOTHING;
        *self.bases_of(part)? = r.lo;
        None
    }

    /// Reads the lanes' memory. An inactive lane has that of the first active one.
    #[target_feature(enable = "avx2")]
    fn fill<const LANES: usize>(
        &mut self,
        r: &Request<LANES>,
        part: [usize; 2],
        step: i32,
    ) -> Option<()> {
        let [slice, half] = part;
        let rows = r.rows(step)?;
        let ahead = BYTES as isize * step.signum() as isize;
        for group in 0..LANES / 8 {
            let mut of_lanes = [std::ptr::null(); 8];
            for (row, base) in of_lanes.iter_mut().zip(&rows.bases[8 * group..]) {
                let above = base - rows.lowest;
                *row = rows.host.wrapping_add(above as u64) as *const u8;
            }
            let to = self.columns[0][slice].0[8 * (half + group)..].as_mut_ptr();
            // SAFETY: each row has 64 bytes that the access may read, and each of the 16 columns, 64 dwords from one to the next, eight
            // dwords of these lanes.
            unsafe { transpose(of_lanes, to, ahead) };
        }
        *self.bases_of(part)? = rows.bases;
        let start = r.start(step);
        self.next[slice][half] = start;
        self.step[slice][half] = step as u32;
        let apart = r.active.count_ones() as usize == LANES && apart(&rows.bases);
        let extent = [rows.from, rows.to];
        self.parts
            .set(2 * slice + half, r.active, start, extent, apart);
        self.bound(r.bias);
        Some(())
    }

    /// Finds the extent of all parts.
    #[target_feature(enable = "avx2")]
    fn bound(&mut self, bias: u64) {
        let (from, to) = self.parts.extent();
        self.apart = self.parts.are_apart() as u32;
        self.hull = from.wrapping_sub(Tile::BEFORE);
        self.hull_bytes = to - from + Tile::BEFORE;
        self.hull_host = self.hull.wrapping_add(bias as u32);
    }
}

impl TileParts {
    /// Sets what is known of a part. Without memory, its extent is empty.
    #[target_feature(enable = "avx2")]
    fn set(&mut self, at: usize, lanes: u32, last: u32, [from, to]: [u32; 2], apart: bool) {
        // Of two parts with common bytes, each has the other's bit.
        let both_from = _mm256_max_epu32(eight(&self.from), _mm256_set1_epi32(from as i32));
        let both_to = _mm256_min_epu32(eight(&self.to), _mm256_set1_epi32(to as i32));
        let none = _mm256_cmpeq_epi32(_mm256_max_epu32(both_from, both_to), both_from);
        let mine = _mm256_set1_epi32(1 << at);
        let others = _mm256_andnot_si256(mine, eight(&self.common));
        let common = _mm256_or_si256(others, _mm256_andnot_si256(none, mine));
        put_eight(&mut self.common, common);
        let all = !_mm256_movemask_ps(_mm256_castsi256_ps(none)) as u32 & 0xff;
        let itself = (to != 0 && !apart) as u32;
        self.common[at] = all & !(1 << at) | itself << at;
        (self.lanes[at], self.last[at]) = (lanes, last);
        (self.from[at], self.to[at]) = (from, to);
    }

    /// Returns the first byte of all parts, and the one after the last.
    #[target_feature(enable = "avx2")]
    fn extent(&self) -> (u32, u32) {
        let to = eight(&self.to);
        let nothing = _mm256_cmpeq_epi32(to, _mm256_setzero_si256());
        let from = _mm256_or_si256(eight(&self.from), nothing);
        let (from, to) = (least_of(from), greatest_of(to));
        if to == 0 { (0, 0) } else { (from, to) }
    }

    /// Returns true if each byte of memory is here once at most.
    fn are_apart(&self) -> bool {
        self.common.iter().fold(0, |all, c| all | c) == 0
    }
}

/// The number of accesses of a walk that have been made when the next one is expected there.
fn accesses(next: u32, step: u32, size: u32) -> u32 {
    let step = step as i32;
    if next == Tile::NOTHING || step == 0 {
        return 0;
    }
    let start = if step > 0 { 0 } else { (BYTES - size) as i32 };
    let (moved, by) = ((next as i32 - start).unsigned_abs(), step.unsigned_abs());
    match by.is_power_of_two() {
        true => moved >> by.trailing_zeros(),
        false => moved / by,
    }
}

/// Returns true if no two lanes' memory overlaps, as is found where each lane is above the one before it, or each below.
#[target_feature(enable = "avx2")]
fn apart<const LANES: usize>(bases: &Lanes<LANES>) -> bool {
    let bytes = _mm256_set1_epi32(BYTES as i32);
    let is_far = |above: __m256i, below: __m256i| {
        let distance = _mm256_sub_epi32(above, below);
        let order = _mm256_cmpeq_epi32(_mm256_max_epu32(above, below), above);
        let far = _mm256_cmpeq_epi32(_mm256_max_epu32(distance, bytes), distance);
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_and_si256(order, far))) as u32
    };
    let (mut up, mut down) = (0, 0);
    let next = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0);
    for at in (0..LANES).step_by(8) {
        let these = eight(&bases[at..]);
        let others = match bases[at..].get(1..9) {
            Some(others) => eight(others),
            // The last lane has none after it.
            None => _mm256_permutevar8x32_epi32(these, next),
        };
        up |= is_far(others, these) << at;
        down |= is_far(these, others) << at;
    }
    let pairs = (1 << (LANES - 1)) - 1;
    up & pairs == pairs || down & pairs == pairs
}

// The compiler does not turn loops over lanes into vector code where they find several extremes or test bits, so that is written as such.

/// The first eight numbers of a slice.
#[inline]
#[target_feature(enable = "avx2")]
fn eight(of: &[u32]) -> __m256i {
    // SAFETY: the slice has so many.
    unsafe { _mm256_loadu_si256(of[..8].as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn put_eight(to: &mut [u32], what: __m256i) {
    // SAFETY: the slice has so many.
    unsafe { _mm256_storeu_si256(to[..8].as_mut_ptr().cast(), what) }
}

/// All ones in the lanes whose bits are set.
#[inline]
#[target_feature(enable = "avx2")]
fn lanes_of(bits: u32) -> __m256i {
    let bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits as i32), bit), bit)
}

#[inline]
#[target_feature(enable = "avx2")]
fn is_zero(of: __m256i) -> bool {
    _mm256_testz_si256(of, of) != 0
}

#[inline]
#[target_feature(enable = "avx2")]
fn least_of(of: __m256i) -> u32 {
    let of = _mm256_min_epu32(of, _mm256_permute2x128_si256::<1>(of, of));
    let of = _mm256_min_epu32(of, _mm256_shuffle_epi32::<0x4e>(of));
    let of = _mm256_min_epu32(of, _mm256_shuffle_epi32::<0xb1>(of));
    _mm256_extract_epi32::<0>(of) as u32
}

#[inline]
#[target_feature(enable = "avx2")]
fn greatest_of(of: __m256i) -> u32 {
    let ones = _mm256_set1_epi32(-1);
    !least_of(_mm256_xor_si256(of, ones))
}

/// Returns the columns of four rows, in each half.
#[inline]
#[target_feature(enable = "avx2")]
fn four([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let low = [_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d)];
    let high = [_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d)];
    [
        _mm256_unpacklo_epi64(low[0], low[1]),
        _mm256_unpackhi_epi64(low[0], low[1]),
        _mm256_unpacklo_epi64(high[0], high[1]),
        _mm256_unpackhi_epi64(high[0], high[1]),
    ]
}

/// Writes 16 dwords of each of eight rows as columns, 64 dwords from one to the next, and prefetches what is `ahead` of the rows.
///
/// # Safety
/// The host has AVX2. Each row has 64 bytes, and there is room for the columns.
#[target_feature(enable = "avx2")]
unsafe fn transpose(rows: [*const u8; 8], to: *mut u32, ahead: isize) {
    let [a, b, c, d, e, f, g, h] = rows;
    for half in 0..2 {
        // SAFETY: the caller's.
        let load = |row: *const u8| unsafe { _mm256_loadu_si256(row.add(32 * half).cast()) };
        let x = four([load(a), load(b), load(c), load(d)]);
        let y = four([load(e), load(f), load(g), load(h)]);
        for k in 0..4 {
            let low = _mm256_permute2x128_si256::<0x20>(x[k], y[k]);
            let high = _mm256_permute2x128_si256::<0x31>(x[k], y[k]);
            // SAFETY: the caller's.
            unsafe {
                _mm256_storeu_si256(to.add(64 * (8 * half + k)).cast(), low);
                _mm256_storeu_si256(to.add(64 * (8 * half + k + 4)).cast(), high);
            }
        }
    }
    for row in rows {
        _mm_prefetch::<_MM_HINT_T1>(row.wrapping_offset(ahead).cast());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of memory, and a tile that walks them.
    struct Walk {
        memory: Vec<u32>,
        tile: Box<Tile>,
        budget: i32,
    }

    impl Walk {
        fn new() -> Walk {
            // SAFETY: every field is a number or an array of those.
            #[allow(unsafe_code)]
            let mut tile: Box<Tile> = unsafe { Box::new(std::mem::zeroed()) };
            tile.empty();
            Walk {
                memory: (0..1 << 14).collect(),
                tile,
                budget: TILE_BUDGET,
            }
        }

        /// Looks for dwords of 16 lanes whose rows are `pitch` bytes apart, `at` bytes from their beginnings. Returns whether they
        /// were read or found.
        fn look(&mut self, pitch: u32, at: u32, active: u32) -> bool {
            let request = Request::<16> {
                active,
                size: 4,
                offset: 0,
                range: [0x1000, self.memory.len() as u64 * 4 - 3],
                lo: std::array::from_fn(|lane| match active >> lane & 1 {
                    0 => 0x1000 + active.trailing_zeros() * pitch + at,
                    _ => 0x1000 + lane as u32 * pitch + at,
                }),
                high: 0,
                bias: (self.memory.as_ptr() as u64).wrapping_sub(0x1000),
                host_bits: u64::MAX,
            };
            // SAFETY: the tests run where there is AVX2.
            let found = unsafe { self.tile.look(&request, [0, 0], &mut self.budget) };
            found.is_some()
        }

        /// The lanes' dwords where the next access is expected.
        fn column(&self) -> [u32; 16] {
            self.tile.columns[self.tile.next[0][0] as usize / 4][0].0
        }
    }

    #[test]
    fn a_walk_is_found_and_read_ahead() {
        let mut w = Walk::new();
        assert!(!w.look(1024, 0, 0xffff));
        assert!(w.look(1024, 4, 0xffff), "all lanes have moved by a dword");
        assert_eq!((w.tile.next[0][0], w.tile.step[0][0]), (0, 4));
        assert_eq!(
            w.column(),
            std::array::from_fn(|lane| 256 * lane as u32 + 1)
        );
        assert_eq!(w.tile.apart, 1);
        // What code leaves when it has taken all 16.
        w.tile.next[0][0] = 64;
        assert!(w.look(1024, 68, 0xffff));
        assert_eq!(
            w.column(),
            std::array::from_fn(|lane| 256 * lane as u32 + 17)
        );
        assert_eq!((w.budget, w.tile.good), (TILE_BUDGET - FILL, 1));
        assert!(w.look(1024, 80, 0xffff), "a dword that is there");
        assert_eq!(w.tile.next[0][0], 12);
    }

    #[test]
    fn backwards_the_last_bytes_are_the_first() {
        let mut w = Walk::new();
        assert!(!w.look(1024, 252, 0xffff));
        assert!(w.look(1024, 248, 0xffff));
        assert_eq!((w.tile.next[0][0], w.tile.step[0][0] as i32), (60, -4));
        assert_eq!(
            w.column(),
            std::array::from_fn(|lane| 256 * lane as u32 + 62)
        );
    }

    #[test]
    fn what_does_not_walk_is_given_up() {
        let mut w = Walk::new();
        for at in [0, 400, 8, 8, 300, 2, 1000, 20, 700] {
            assert!(!w.look(1024, at, 0xffff), "{at}");
        }
        assert_eq!(w.budget, TILE_BUDGET - 9 * LOOK);
    }

    #[test]
    fn rows_that_stay_in_the_cache_are_not_read_ahead() {
        for pitch in [4, 64, 256, 1000, 4032] {
            let mut w = Walk::new();
            assert!(!w.look(pitch, 0, 0xffff));
            assert!(!w.look(pitch, 4, 0xffff), "{pitch}");
        }
        let rows = |pitch: i32, wrong: u32| -> [u32; 16] {
            std::array::from_fn(|lane| {
                let close = if lane as u32 == wrong {
                    4 * pitch.signum()
                } else {
                    0
                };
                (0x10000 + lane as i32 * pitch - close) as u32
            })
        };
        // SAFETY: the tests run where there is AVX2.
        let is_apart = |bases: &[u32; 16]| unsafe { apart(bases) };
        for pitch in [64, -64, 1024, -1024] {
            assert!(is_apart(&rows(pitch, 99)), "{pitch}");
            // Any lane may be too close to the one before it.
            for wrong in (1..16).filter(|_| pitch.abs() == 64) {
                assert!(!is_apart(&rows(pitch, wrong)), "{pitch}, lane {wrong}");
            }
        }
        assert!(!is_apart(&rows(60, 99)) && !is_apart(&rows(0, 99)));
        let mut back = rows(1024, 99);
        back[9] = 0;
        assert!(!is_apart(&back));
    }

    #[test]
    fn memory_beyond_the_range_is_not_read() {
        let mut w = Walk::new();
        let pitch = 4096;
        let last = w.memory.len() as u32 * 4 - 15 * pitch;
        assert!(!w.look(pitch, last - 68, 0xffff));
        assert!(w.look(pitch, last - 64, 0xffff), "the last 64 bytes");
        let mut w = Walk::new();
        assert!(!w.look(pitch, last - 64, 0xffff));
        assert!(!w.look(pitch, last - 60, 0xffff), "four bytes too many");
    }

    #[test]
    fn lanes_without_rows_are_not_apart() {
        for (pitch, active, apart) in [(4096, 0xffff, 1), (4096, 0x7fff, 0)] {
            let mut w = Walk::new();
            assert!(!w.look(pitch, 0, active));
            assert!(w.look(pitch, 4, active));
            assert_eq!(w.tile.apart, apart, "{pitch}");
        }
    }
}
