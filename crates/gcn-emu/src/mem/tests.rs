//! Tests of guest memory in both configurations.

use super::guard::{ARENA_GUARD, GUARDED};
use super::*;

const MIB: u64 = 1 << 20;

/// Tests of the behaviour that both configurations share.
macro_rules! in_both {
    ($($test:ident)*) => {
        mod arena {
            $(#[test]
            fn $test() {
                super::$test(super::Memory::new(super::MIB).unwrap());
            })*
        }

        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        mod of_host {
            $(#[test]
            fn $test() {
                super::$test(super::Memory::of_host(super::MIB, None).unwrap());
            })*
        }
    };
}

in_both! {
    allocations_are_zero_aligned_and_apart
    all_of_the_limit_can_be_mapped_and_no_more
    bad_requests
    no_address_escapes
    permissions
    any_alignment_and_page_crossings
    far_mappings_anywhere
    atomics_of_two_threads_lose_nothing
    faults_say_what_happened
    mapping_agrees_with_a_model
}

fn fault<T: fmt::Debug>(r: Result<T, Fault>) -> FaultKind {
    r.unwrap_err().kind
}

/// An invalid access of the host ends the process. The test runs itself again for each case.
#[cfg(unix)]
#[test]
fn what_checks_would_miss_ends_the_process() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    let m = Memory::new(MIB).unwrap();
    let (data, read) = (m.alloc(1, 1, Perm::RW), m.alloc(1, 1, Perm::READ));
    let (data, read) = (data.unwrap(), read.unwrap());
    let freed = m.alloc(1, 1, Perm::RW).unwrap();
    m.store_u8(freed, 1).unwrap();
    m.free(freed).unwrap();
    let none = m.alloc(1, 1, Perm::NONE).unwrap();
    m.map_at(0x1000, 1, Perm::READ).unwrap();
    let host = |guest: u64| m.arena.address((guest - LINEAR_BASE) as usize);
    let (start, pool) = (m.arena.address(0), m.linear_bytes as usize);
    let mut lds = crate::wave::Lds::new(1024);
    let mut vgprs = crate::wave::Vgprs::new(3);
    let (lds, vgprs) = (lds.as_mut_ptr(), vgprs.as_mut_ptr().cast::<u8>());
    // The location accessed, write or read, and whether the process survives: in any build, in a guarded build.
    let spots = [
        (host(data), true, true, true),
        (host(read), false, true, true),
        (start.wrapping_sub(1), false, false, false),
        (start.wrapping_sub(ARENA_GUARD), false, false, false),
        (start.wrapping_add(m.arena.len), false, false, false),
        (
            start.wrapping_add(m.arena.len + ARENA_GUARD - 1),
            false,
            false,
            false,
        ),
        (lds.wrapping_add(1023), true, true, true),
        (lds.wrapping_add(1024), false, true, false),
        (lds.wrapping_add(1024 + 4096), false, false, false),
        (lds.wrapping_sub(guard::USUAL), false, false, false),
        (host(read), true, true, false),
        (host(none), false, true, false),
        (host(freed), false, true, false),
        (
            host(data).wrapping_add(PAGE_SIZE as usize),
            false,
            true,
            false,
        ),
        (start.wrapping_add(pool), false, true, true),
        (start.wrapping_add(pool), true, true, false),
        (vgprs.wrapping_add(3 * 256 - 1), true, true, true),
        (vgprs.wrapping_add(3 * 256 + 64), false, true, false),
    ];
    const WHICH: &str = "GCN_TEST_TOUCHES";
    if let Ok(which) = std::env::var(WHICH) {
        let (at, write, ..) = spots[which.parse::<usize>().unwrap()];
        // SAFETY: the byte belongs to one of these buffers, or the process ends here.
        unsafe {
            match write {
                true => at.write_volatile(1),
                false => drop(at.read_volatile()),
            }
        }
        return;
    }
    const NAME: &str = "mem::tests::what_checks_would_miss_ends_the_process";
    for (n, &(.., any, guarded)) in spots.iter().enumerate() {
        // In other builds it is unspecified what follows the VGPRs.
        if n == spots.len() - 1 && !GUARDED {
            continue;
        }
        let mut again = Command::new(std::env::current_exe().unwrap());
        let again = again.args([NAME, "--exact"]).env(WHICH, n.to_string());
        let ended = again
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        let lives = if GUARDED { guarded } else { any };
        // SIGSEGV, or SIGBUS, which some systems raise instead.
        let killed = matches!(ended.signal(), Some(11 | 7 | 10));
        assert_eq!(
            (ended.success(), killed),
            (lives, !lives),
            "spot {n}: {ended}"
        );
    }
}

fn allocations_are_zero_aligned_and_apart(m: Memory) {
    let a = m.alloc(100, 256, Perm::RW).unwrap();
    let b = m.alloc(5000, 1 << 16, Perm::RW).unwrap();
    let c = m.alloc(0, 1, Perm::RW).unwrap();
    assert!(a >= m.own().start && a.is_multiple_of(PAGE_SIZE) && b.is_multiple_of(1 << 16));
    assert_eq!(m.load_u64(b + 4996).unwrap(), 0);
    for region in [a, b, c] {
        assert_eq!(fault(m.load_u8(region - 1)), FaultKind::Unmapped);
    }
    assert_eq!(fault(m.load_u8(a + 4096)), FaultKind::Unmapped);
    assert_eq!(fault(m.load_u8(b + 8192)), FaultKind::Unmapped);
    assert_eq!(m.regions().map(|r| r.1).sum::<u64>(), 4 * PAGE_SIZE);
}

fn all_of_the_limit_can_be_mapped_and_no_more(m: Memory) {
    let a = m.alloc(MIB, 1, Perm::RW).unwrap();
    assert_eq!(m.free_bytes(), 0);
    let none = MemError::OutOfMemory { wanted: 1, free: 0 };
    assert_eq!(m.alloc(1, 1, Perm::RW), Err(none.clone()));
    assert_eq!(m.map_at(0x1000, 1, Perm::RW), Err(none));
    m.store_u32(a + MIB - 4, 7).unwrap();
    assert_eq!(fault(m.store_u32(a + MIB - 3, 7)), FaultKind::Unmapped);
    m.free(a).unwrap();
    assert_eq!(m.free(a), Err(MemError::NotMapped { addr: a }));
    assert_eq!(fault(m.load_u8(a)), FaultKind::Unmapped);
    // Freed memory is reused as zeros, and in one piece.
    let a = m.alloc(MIB, 1, Perm::RW).unwrap();
    assert_eq!(m.load_u32(a + MIB - 4).unwrap(), 0);
    m.free(a).unwrap();
    for i in 0..MIB / PAGE_SIZE {
        m.map_at(0x7f00_0000_0000 + i * 3 * PAGE_SIZE, 1, Perm::RW)
            .unwrap();
    }
    assert_eq!(m.free_bytes(), 0);
}

fn bad_requests(m: Memory) {
    assert_eq!(m.alloc(1, 3, Perm::RW), Err(MemError::BadAlign(3)));
    assert_eq!(m.alloc(1, 0, Perm::RW), Err(MemError::BadAlign(0)));
    assert!(matches!(
        m.alloc(1, 1 << 63, Perm::RW),
        Err(MemError::OutOfMemory { .. })
    ));
    assert!(matches!(
        m.alloc(u64::MAX, 1, Perm::RW),
        Err(MemError::OutOfMemory { .. })
    ));
    for (addr, size) in [
        (0, 0),
        (u64::MAX, 1),
        (u64::MAX, 2),
        (ADDRESS_END, 1),
        (1, ADDRESS_END),
    ] {
        assert_eq!(
            m.map_at(addr, size, Perm::RW),
            Err(MemError::BadRegion { addr, size })
        );
    }
    assert!(m.map_at(1 << 40, 1 << 47, Perm::RW).is_err());
    assert!(Memory::new(u64::MAX).is_err());
    assert_eq!(m.free(0x1234), Err(MemError::NotMapped { addr: 0x1234 }));
}

fn no_address_escapes(m: Memory) {
    m.alloc(1, 1, Perm::RWX).unwrap();
    m.map_at(ADDRESS_END - 1, 1, Perm::RWX).unwrap();
    m.map_at(0, 1, Perm::RWX).unwrap();
    let bad = [
        0x1000,
        m.own().start - 8,
        m.own().start,
        m.own().start + 2 * PAGE_SIZE,
        m.own().end - 8,
        m.own().end,
        m.own().start + 3 * MIB - 8,
        m.own().start + 3 * MIB,
        ADDRESS_END - PAGE_SIZE - 8,
        ADDRESS_END,
        ADDRESS_END + m.own().start + PAGE_SIZE,
        1 << 63,
        u64::MAX - 15,
        u64::MAX - 7,
    ];
    for addr in bad {
        assert_eq!(fault(m.load_u8(addr)), FaultKind::Unmapped, "{addr:#x}");
        assert_eq!(fault(m.load_u16(addr)), FaultKind::Unmapped, "{addr:#x}");
        assert_eq!(fault(m.load_u32(addr)), FaultKind::Unmapped, "{addr:#x}");
        assert_eq!(fault(m.load_u64(addr)), FaultKind::Unmapped, "{addr:#x}");
        assert_eq!(
            fault(m.load_dwords::<4>(addr)),
            FaultKind::Unmapped,
            "{addr:#x}"
        );
        assert_eq!(
            fault(m.store_u64(addr, 1)),
            FaultKind::Unmapped,
            "{addr:#x}"
        );
        assert_eq!(fault(m.fetch_u32(addr)), FaultKind::Unmapped, "{addr:#x}");
        assert_eq!(
            fault(m.fetch_update_u32(addr, |x| x)),
            FaultKind::Unmapped,
            "{addr:#x}"
        );
        assert_eq!(
            fault(m.fetch_update_u64(addr, |x| x)),
            FaultKind::Unmapped,
            "{addr:#x}"
        );
        assert_eq!(
            fault(m.read(addr, &mut [0; 20])),
            FaultKind::Unmapped,
            "{addr:#x}"
        );
    }
    // Accesses that begin inside and end outside, including those that wrap around.
    for addr in [
        ADDRESS_END - 1,
        PAGE_SIZE - 1,
        m.own().start + 2 * PAGE_SIZE - 1,
    ] {
        m.store_u8(addr, 1).unwrap();
        assert_eq!(fault(m.load_u16(addr)), FaultKind::Unmapped);
        assert_eq!(fault(m.store_u64(addr, 0)), FaultKind::Unmapped);
        assert_eq!(m.load_u8(addr), Ok(1), "a faulting store writes nothing");
    }
    assert_eq!(fault(m.load_u64(u64::MAX)), FaultKind::Unmapped);
    assert_eq!(fault(m.write(u64::MAX, &[1, 2])), FaultKind::Unmapped);
    assert_eq!(m.read(u64::MAX, &mut []), Ok(()));
}

fn permissions(m: Memory) {
    let r = m.alloc(1, 1, Perm::READ).unwrap();
    let w = m.alloc(1, 1, Perm::WRITE).unwrap();
    let x = m.alloc(1, 1, Perm::EXEC).unwrap();
    let far = 0x7000_0000_0000;
    m.map_at(far, 1, Perm::READ).unwrap();
    for addr in [r, far] {
        assert_eq!(m.load_u32(addr), Ok(0));
        assert_eq!(fault(m.store_u32(addr, 1)), FaultKind::NoWrite);
        assert_eq!(fault(m.fetch_update_u32(addr, |x| x)), FaultKind::NoWrite);
        assert_eq!(fault(m.fetch_u32(addr)), FaultKind::NoExec);
    }
    assert_eq!(m.store_u32(w, 1), Ok(()));
    assert_eq!(fault(m.load_u32(w)), FaultKind::NoRead);
    assert_eq!(fault(m.fetch_update_u64(w, |x| x)), FaultKind::NoRead);
    assert_eq!(m.fetch_u32(x), Ok(0));
    assert_eq!(fault(m.fetch_u32(x + 2)), FaultKind::Misaligned);
    assert_eq!(fault(m.load_u8(x)), FaultKind::NoRead);
    m.protect(x, 1, Perm::RW).unwrap();
    m.protect(far, 1, Perm::RW).unwrap();
    for addr in [x, far] {
        m.store_u32(addr, 5).unwrap();
        assert_eq!(m.perm(addr + 9), Some(Perm::RW));
        assert_eq!(fault(m.fetch_u32(addr)), FaultKind::NoExec);
    }
    m.protect(x, 1, Perm::RX).unwrap();
    assert_eq!(m.fetch_u32(x), Ok(5));
    m.protect(x, 1, Perm::NONE).unwrap();
    assert_eq!(fault(m.load_u32(x)), FaultKind::NoRead);
    assert_eq!(m.perm(x), Some(Perm::NONE));
    assert_eq!(m.perm(x + PAGE_SIZE), None);
    assert_eq!(
        m.protect(x, 2 * PAGE_SIZE, Perm::RW),
        Err(MemError::NotMapped {
            addr: x + PAGE_SIZE
        })
    );
}

fn any_alignment_and_page_crossings(m: Memory) {
    let near = m.alloc(3 * PAGE_SIZE, 1, Perm::RW).unwrap();
    let far = 0x1000;
    m.map_at(far, 3 * PAGE_SIZE, Perm::RW).unwrap();
    for base in [near, far] {
        for at in [base, base + PAGE_SIZE - 20] {
            for shift in 0..24 {
                let addr = at + shift;
                let bytes: [u8; 32] = std::array::from_fn(|i| (i as u64 * 7 + addr) as u8);
                m.write(addr, &bytes).unwrap();
                let mut back = [0; 32];
                m.read(addr, &mut back).unwrap();
                assert_eq!(back, bytes);
                let eight = u64::from_le_bytes(bytes[..8].try_into().unwrap());
                assert_eq!(m.load_u8(addr), Ok(eight as u8));
                assert_eq!(m.load_u16(addr), Ok(eight as u16));
                assert_eq!(m.load_u32(addr), Ok(eight as u32));
                assert_eq!(m.load_u64(addr), Ok(eight));
                let dwords = m.load_dwords::<4>(addr).unwrap();
                assert_eq!(dwords.map(u32::to_le_bytes).as_flattened(), &bytes[..16]);
                m.store_u16(addr, 0x1122).unwrap();
                m.store_u32(addr + 2, 0x3344_5566).unwrap();
                m.store_u64(addr + 6, 0x0102_0304_0506_0708).unwrap();
                m.store_dwords(addr + 14, [1, 0xfedc_ba98, 3]).unwrap();
                m.store_u8(addr + 26, 0xee).unwrap();
                m.read(addr, &mut back).unwrap();
                let head = [0x22, 0x11, 0x66, 0x55, 0x44, 0x33, 8, 7, 6, 5, 4, 3, 2, 1];
                let tail = [1, 0, 0, 0, 0x98, 0xba, 0xdc, 0xfe, 3, 0, 0, 0, 0xee];
                assert_eq!(back[..14], head);
                assert_eq!(back[14..27], tail);
                assert_eq!(back[27..], bytes[27..]);
            }
        }
    }
}

fn far_mappings_anywhere(m: Memory) {
    let linear_end = m.own().end;
    let locations = [
        0,
        0x1000,
        m.own().start - PAGE_SIZE,
        m.own().start + 0x5000,
        linear_end,
        1 << 47,
        ADDRESS_END - PAGE_SIZE,
    ];
    for (i, addr) in locations.into_iter().enumerate() {
        m.map_at(addr + 8, 4, Perm::RW).unwrap();
        m.store_u64(addr + 8, i as u64 + 1).unwrap();
    }
    for (i, addr) in locations.into_iter().enumerate() {
        assert_eq!(m.load_u64(addr + 8), Ok(i as u64 + 1));
        assert_eq!(m.map_at(addr, 1, Perm::RW), Err(MemError::Overlap { addr }));
        assert_eq!(m.fetch_update_u64(addr + 8, |x| x + 10), Ok(i as u64 + 1));
    }
    // An allocation avoids what was mapped in the linear part.
    let big = m.alloc(MIB / 2, 1, Perm::RW).unwrap();
    assert!(big > m.own().start + 0x6000);
    m.free(locations[0] + 8).unwrap();
    assert_eq!(fault(m.load_u8(8)), FaultKind::Unmapped);
    m.map_at(1 << 46, 1, Perm::RW).unwrap();
    assert_eq!(
        m.load_u64((1 << 46) + 8),
        Ok(0),
        "a page used before comes back as zeros"
    );
    // A region that extends from the far side into the linear part.
    m.free(locations[2] + 8).unwrap();
    m.map_at(m.own().start - 4, 8, Perm::RW).unwrap();
    m.store_u64(m.own().start - 4, 0x1111_2222_3333_4444)
        .unwrap();
    assert_eq!(m.load_u32(m.own().start), Ok(0x1111_2222));
    assert_eq!(m.load_u64(m.own().start - 4), Ok(0x1111_2222_3333_4444));
    m.free(m.own().start - 4).unwrap();
    assert_eq!(fault(m.load_u8(m.own().start)), FaultKind::Unmapped);
}

fn atomics_of_two_threads_lose_nothing(m: Memory) {
    let a = m.alloc(64, 1, Perm::RW).unwrap();
    m.map_at(0x2000, 8, Perm::RW).unwrap();
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                for i in 0..50_000u32 {
                    m.fetch_update_u32(a + 4, |x| x.wrapping_add(1)).unwrap();
                    m.fetch_update_u64(0x2000, |x| x + (1 << 32)).unwrap();
                    m.store_u32(a + 8, i).unwrap();
                    m.load_u64(a + 8).unwrap();
                }
            });
        }
    });
    assert_eq!(m.load_u32(a + 4), Ok(100_000));
    assert_eq!(m.load_u64(0x2000), Ok(100_000 << 32));
    assert_eq!(m.load_u32(a + 8), Ok(49_999));
    assert_eq!(
        fault(m.fetch_update_u32(a + 2, |x| x)),
        FaultKind::Misaligned
    );
    assert_eq!(
        fault(m.fetch_update_u64(a + 4, |x| x)),
        FaultKind::Misaligned
    );
}

fn faults_say_what_happened(m: Memory) {
    let fault = m.load_u32(0x10).unwrap_err();
    assert_eq!(
        fault,
        Fault {
            addr: 0x10,
            size: 4,
            kind: FaultKind::Unmapped
        }
    );
    assert_eq!(
        fault.to_string(),
        "memory fault: address 0x10 (4 bytes) is not mapped"
    );
}

/// Random mapping and unmapping against a plain model of which pages are mapped.
fn mapping_agrees_with_a_model(m: Memory) {
    let mut model: BTreeMap<u64, u64> = BTreeMap::new();
    let mut seed = 1u64;
    for _ in 0..5000 {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let r = seed >> 33;
        if r.is_multiple_of(2) && !model.is_empty() {
            let addr = *model.keys().nth((r >> 1) as usize % model.len()).unwrap();
            model.remove(&addr);
            m.free(addr).unwrap();
        } else if r.is_multiple_of(3) {
            let addr = m.own().start - 5 * PAGE_SIZE + (r >> 8) % 400 * PAGE_SIZE;
            if m.map_at(addr, PAGE_SIZE * 2, Perm::RW).is_ok() {
                model.insert(addr, 2);
            }
        } else if let Ok(addr) = m.alloc((r >> 8) % 20 * PAGE_SIZE, 1 << (r >> 4 & 15), Perm::RW) {
            model.insert(addr, ((r >> 8) % 20).max(1));
        }
        let mut end = 0;
        for (&addr, &count) in &model {
            assert!(addr >= end, "regions do not overlap");
            end = addr + count * PAGE_SIZE;
            assert!(m.store_u32(addr, 1).and(m.load_u32(end - 4)).is_ok());
        }
        let mapped: u64 = model.values().sum();
        assert_eq!(m.free_bytes(), MIB - mapped * PAGE_SIZE);
        let gaps: u64 = m.book().gaps.values().sum();
        let far: u64 = m.far_mut().len() as u64;
        assert_eq!(gaps + mapped - far, m.own.end - m.own.start);
    }
}

/// Pages of the program, to be lent.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn pages(count: usize) -> memmap2::MmapMut {
    memmap2::MmapMut::map_anon(count * PAGE_SIZE as usize).unwrap()
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn lent_pages_are_the_programs() {
    let m = Memory::of_host(MIB, None).unwrap();
    let map = pages(4);
    let at = map.as_ptr().expose_provenance() as u64;
    assert_eq!(fault(m.load_u32(at)), FaultKind::Unmapped);
    // SAFETY: the pages live as long as the memory, and nothing else accesses them while it writes.
    let (here, there) = unsafe {
        (
            m.lend(at + 100, 2 * PAGE_SIZE, false).unwrap(),
            m.lend(at + 100, 8, true).unwrap(),
        )
    };
    assert_eq!((here, there), (at + 100, at + 100 + ALIAS));
    let mapping = m.mapping();
    m.store_u64(here, 0x1234_5678_9abc_def0).unwrap();
    assert_eq!(m.load_u64(there), Ok(0x1234_5678_9abc_def0));
    assert_eq!(m.fetch_update_u32(there, |x| x + 1), Ok(0x9abc_def0));
    assert_eq!(map[100], 0xf1);
    // Whole pages are lent: the range of two pages begins 100 bytes after a page's start, so it touches three pages.
    assert_eq!(m.load_u8(at + 3 * PAGE_SIZE - 1), Ok(0));
    assert_eq!(fault(m.load_u8(at + 3 * PAGE_SIZE)), FaultKind::Unmapped);
    assert_eq!(fault(m.load_u8(there + PAGE_SIZE)), FaultKind::Unmapped);
    assert_eq!(fault(m.fetch_u32(at)), FaultKind::NoExec);
    // Pages that are lent twice stay until they have been taken back twice.
    // SAFETY: as above.
    unsafe { m.lend(at + PAGE_SIZE, 1, false).unwrap() };
    assert_eq!(m.take_back(at, 1), Err(MemError::NotMapped { addr: at }));
    m.take_back(here, 2 * PAGE_SIZE).unwrap();
    assert_ne!(m.mapping(), mapping);
    assert_eq!(fault(m.load_u8(here)), FaultKind::Unmapped);
    assert_eq!(m.load_u8(at + PAGE_SIZE), Ok(0));
    assert_eq!(fault(m.load_u8(at + 2 * PAGE_SIZE)), FaultKind::Unmapped);
    m.take_back(at + PAGE_SIZE, 1).unwrap();
    assert_eq!(fault(m.load_u8(at + PAGE_SIZE)), FaultKind::Unmapped);
    assert_eq!(m.load_u8(there), Ok(0xf1));
    m.take_back(there, 8).unwrap();
    assert_eq!(fault(m.load_u8(there)), FaultKind::Unmapped);
    assert_eq!(m.free_bytes(), MIB);
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn lending_asks_the_host() {
    let m = Memory::of_host(MIB, None).unwrap();
    let map = pages(2).make_read_only().unwrap();
    let at = map.as_ptr().expose_provenance() as u64;
    let own = m.alloc(1, 1, Perm::RW).unwrap();
    // SAFETY: where there are pages, they live as long as the memory.
    let lend = |at, size| unsafe { m.lend(at, size, false) };
    assert_eq!(lend(at, 1), Ok(at));
    assert_eq!(m.load_u8(at), Ok(0));
    assert_eq!(fault(m.store_u8(at, 1)), FaultKind::NoWrite);
    for (at, size) in [(own, 1), (at, 0), (ALIAS, 1), (ALIAS - 1, 2), (u64::MAX, 1)] {
        assert_eq!(lend(at, size), Err(MemError::BadRegion { addr: at, size }));
    }
    drop(map);
    m.take_back(at, 1).unwrap();
    assert!(matches!(lend(0x1000, 1), Err(MemError::NotMapped { .. })));
    let arena = Memory::new(MIB).unwrap();
    if !arena.is_of_host() {
        // SAFETY: nothing is lent.
        assert!(unsafe { arena.lend(at, 1, false) }.is_err());
    }
}

#[test]
fn transactions_have_exact_bounds_and_are_rolled_back() {
    for m in [
        Memory::new(1 << 20).expect("memory"),
        Memory::of_host(1 << 20, None).expect("memory"),
    ] {
        let at = m.alloc(3 * PAGE_SIZE, 1, Perm::RW).expect("memory");
        let read_only = m.alloc(16, 1, Perm::RW).expect("memory");
        m.store_u32(at, 1).expect("it is mapped");
        let begin = |size: u64| {
            m.begin_transaction(
                vec![
                    Extent {
                        start: at,
                        end: at + size,
                        writable: true,
                    },
                    Extent {
                        start: read_only,
                        end: read_only + 16,
                        writable: false,
                    },
                ],
                false,
            )
        };
        for size in [PAGE_SIZE, PAGE_SIZE + 6, 3 * PAGE_SIZE - 4] {
            let before = m.mapping();
            assert!(begin(size) && !begin(size));
            assert_ne!(before, m.mapping());
            let last = at + size - 4;
            assert!(m.load_u32(last).is_ok() && m.load_u8(at + size - 1).is_ok());
            assert!(m.store_u32(last, 7).is_ok() && m.store_u64(at + 8, 9).is_ok());
            assert!(m.fetch_update_u32(at, |n| n + 1).is_ok() && !m.suspected());
            assert_eq!(m.load_u32(at), Ok(2));
            assert!(m.load_u32(read_only).is_ok());
            for (n, refused) in [
                m.load_u8(at + size).map(|_| ()),
                m.load_u16(at + size - 1).map(|_| ()),
                m.store_u64(last, 1),
                m.store_u8(read_only, 1),
                m.load_u32(read_only + 13).map(|_| ()),
                m.fetch_update_u32(read_only, |n| n).map(|_| ()),
            ]
            .into_iter()
            .enumerate()
            {
                assert!(refused.is_err() && m.suspected(), "{n} of {size}");
            }
            // Compiled code, which caches ranges, gets exact ones; for stores they contain only pages that are saved.
            let range = |first, last, perm| m.transaction_range(first, last, perm, 64);
            assert_eq!(range(at, at, Perm::READ), Some(Some(at..at + size)));
            assert_eq!(range(last, at + size, Perm::READ), Some(None));
            let whole = range(at, at, Perm::RW)
                .flatten()
                .expect("it may be written");
            assert_eq!(whole, at..at + size);
            assert!(m.end_transaction(true));
            assert_eq!((m.load_u32(at), m.load_u64(at + 8)), (Ok(1), Ok(0)));
            assert_eq!(m.transaction_range(at, at, Perm::READ, 64), None);
            assert!(m.store_u8(read_only, 0).is_ok());
        }
        assert!(begin(8));
        assert!(m.store_u32(at + 4, 5).is_ok());
        assert!(!m.end_transaction(false));
        assert_eq!(m.load_u32(at + 4), Ok(5));
    }
}

/// A transaction sets the states of many pages at a time. Each page gets the state that it would get alone, and its earlier state at the
/// end.
#[test]
fn a_transaction_changes_the_states_of_many_pages_at_a_time() {
    use transaction::{PARTLY, UNSAVED};
    for m in [
        Memory::new(1 << 24).expect("memory"),
        Memory::of_host(1 << 24, None).expect("memory"),
    ] {
        let at = m.alloc(1024 * PAGE_SIZE, 1, Perm::RW).expect("memory");
        let page = |n: u64| at + n * PAGE_SIZE;
        // Two ranges of read-only pages, one of them a single page.
        for (first, count) in [(100, 1), (301, 77)] {
            m.protect(page(first), count * PAGE_SIZE, Perm::READ)
                .expect("it is mapped");
        }
        let extent = |start: u64, end: u64, writable: bool| Extent {
            start,
            end,
            writable,
        };
        let extents = [
            extent(page(3) + 8, page(90), true),
            extent(page(90), page(91) - 4, true),
            // Two extents that share a page, one within a page, and one that ends where a page and the next extent begin.
            extent(page(91), page(150) + 16, true),
            extent(page(150) + 32, page(200), true),
            extent(page(210) + 64, page(210) + 65, true),
            extent(page(220) + 1, page(221), true),
            extent(page(221), page(400) + 4000, true),
            extent(page(500), page(600), false),
            extent(page(1000) + 1, page(1024), true),
        ];
        let first = (at - m.linear().start) / PAGE_SIZE;
        let states = || -> Vec<u8> { (0..1024).map(|n| m.state(first + n)).collect() };
        let before = states();
        assert!(m.begin_transaction(extents.to_vec(), false));
        let wanted = |n: u64| {
            let state = before[n as usize];
            let holds = |e: &&Extent| e.start <= page(n) && page(n + 1) <= e.end;
            let whole = extents.iter().find(holds);
            let mut wanted = state & !Perm::WRITE.0;
            if whole.is_none() {
                wanted = wanted & !MAPPED | PARTLY;
            }
            if state & Perm::WRITE.0 != 0 && whole.is_none_or(|e| e.writable) {
                wanted |= UNSAVED;
            }
            wanted
        };
        let during = states();
        for n in 0..1024 {
            assert_eq!(during[n as usize], wanted(n), "page {n}");
        }
        let runs = (m.transaction.read().expect("no panic").as_ref()).map(|t| t.before.len());
        assert!(runs.is_some_and(|runs| runs < 32), "{runs:?}");
        assert!(m.store_u32(page(50), 1).is_ok() && m.store_u32(page(120), 1).is_ok());
        assert!(!m.end_transaction(true));
        assert_eq!(states(), before);
        assert_eq!(m.load_u32(page(50)), Ok(0));
    }
}

/// Beside a program a transaction confines only the threads that run waves. Kernels may not store where the program may, for example in
/// lent pages. A thread that maps memory stops the transaction and waits for its end.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn a_transaction_beside_a_program_confines_waves_alone() {
    let m = Memory::of_host(MIB, None).expect("memory");
    let (own, shared) = (
        m.alloc(8, 1, Perm::RW).expect("memory"),
        m.alloc(8, 1, Perm::RW).expect("memory"),
    );
    let map = pages(1);
    let at = map.as_ptr().expose_provenance() as u64;
    // The page is lent twice. SAFETY: it lives as long as the memory, and nothing else accesses it.
    let lent = unsafe {
        (
            m.lend(at, 8, false).expect("a page"),
            m.lend(at, 16, false).expect("a page"),
        )
    }
    .0;
    let extent = |start, writable| Extent {
        start,
        end: start + 8,
        writable,
    };
    let extents = vec![
        extent(own, true),
        extent(shared, false),
        extent(lent, false),
    ];
    assert!(
        !m.begin_transaction(extents.clone(), false),
        "lent pages need a shared transaction"
    );
    let stop = Arc::<AtomicBool>::default();
    let outside = m.outside();
    assert!(m.alone(&stop).is_none(), "another thread maps memory");
    drop(outside);
    let alone = m.alone(&stop).expect("no other thread");
    assert!(m.alone(&stop).is_none());
    assert!(m.begin_transaction(extents, true));
    // This thread is the program's.
    for at in [shared, lent] {
        assert_eq!(m.store_u32(at, 5), Ok(()));
    }
    assert!(!m.suspected());
    let waves = RunsWaves::new();
    assert_eq!((m.load_u32(shared), m.load_u32(lent)), (Ok(5), Ok(5)));
    assert_eq!(m.store_u32(own, 6), Ok(()));
    assert!(!m.suspected());
    for at in [shared, lent] {
        assert!(m.store_u32(at, 7).is_err() && m.suspected());
        assert_eq!(m.transaction_range(at, at, Perm::RW, 64), Some(None));
    }
    drop(waves);
    let (m, stopped) = (&m, stop.clone());
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mapped = scope.spawn(|| {
            let at = m.alloc(8, 1, Perm::RW);
            assert!(ended.load(SeqCst), "the transaction has not ended");
            at
        });
        while !stopped.load(SeqCst) {
            std::thread::yield_now();
        }
        assert!(m.end_transaction(true));
        ended.store(true, SeqCst);
        drop(alone);
        assert!(mapped.join().expect("no panic").is_ok());
    });
    // The store of a wave is rolled back, those of the program are not.
    let all = [own, shared, lent].map(|at| m.load_u32(at));
    assert_eq!(all, [Ok(0), Ok(5), Ok(5)]);
    assert_eq!(m.store_u32(lent, 1), Ok(()));
    assert!(m.take_back(at, 8).is_ok() && m.take_back(at, 16).is_ok());
}

/// The journal records stores of compiled code. Compiled code checks the page map; if that refuses a store, the runtime asks for a range,
/// and the page is saved.
#[test]
fn the_journal_records_stores_of_compiled_code() {
    for m in [
        Memory::new(1 << 24).expect("memory"),
        Memory::of_host(1 << 24, None).expect("memory"),
    ] {
        let at = m.alloc(4 * PAGE_SIZE, 1, Perm::RW).expect("memory");
        let constant = m.alloc(16, 1, Perm::READ).expect("memory");
        m.store_u32(at, 1).expect("it is mapped");
        let linear = m.linear();
        let state = |page: u64| m.state((at - linear.start) / PAGE_SIZE + page);
        let writable = |page: u64| state(page) & Perm::WRITE.0 != 0;
        let stores = |page: u64| {
            m.transaction_range(at + page * PAGE_SIZE, at + page * PAGE_SIZE, Perm::RW, 64)
        };
        m.keep_journal(true);
        assert_eq!(stores(0), None, "only the page map restricts compiled code");
        m.keep_journal_of_compiled();
        assert!(!writable(0) && m.perm(at) == Some(Perm::RW));
        assert!(!m.begin_transaction(Vec::new(), false));
        let before = m.mapping();
        assert_eq!(stores(1), Some(Some(at + PAGE_SIZE..at + 2 * PAGE_SIZE)));
        assert_eq!(stores(2), Some(Some(at + PAGE_SIZE..at + 3 * PAGE_SIZE)));
        assert_eq!(
            m.transaction_range(constant, constant, Perm::RW, 64),
            Some(None)
        );
        assert_eq!(m.transaction_range(at, at, Perm::READ, 64), None);
        assert!(writable(1) && writable(2) && !writable(0));
        // Stores through `Memory` are in the same journal, and each page is there once.
        assert!(m.store_u32(at, 2).is_ok() && m.fetch_update_u32(at, |n| n + 1).is_ok());
        assert!(writable(0) && m.mapping() == before);
        let pages = m.take_journal();
        let first = at / PAGE_SIZE;
        let mut numbers: Vec<u64> = pages.keys().map(|page| page - first).collect();
        numbers.sort_unstable();
        assert_eq!((numbers, pages[&first][0]), (vec![0, 1, 2], 1));
        // All pages are write-protected again.
        assert!(!writable(0) && !writable(1) && m.mapping() != before);
        let new = m.alloc(1, 1, Perm::RW).expect("memory");
        assert!(
            m.transaction_range(new, new, Perm::RW, 0)
                .flatten()
                .is_some()
        );
        assert_eq!(m.journal_pages(), [new / PAGE_SIZE]);
        // Stores of threads that are not marked are permitted and not recorded.
        m.keep_journal_of_threads();
        m.take_journal();
        let around = stores(3).flatten().expect("it may be written");
        assert!(around == (at..at + 4 * PAGE_SIZE) && m.journal_pages().is_empty());
        note_stores(true);
        assert_eq!(
            stores(3),
            Some(Some(at + 3 * PAGE_SIZE..at + 4 * PAGE_SIZE))
        );
        note_stores(false);
        assert_eq!(m.journal_pages(), [first + 3]);
        m.keep_journal(false);
        assert!((0..4).all(writable) && stores(0).is_none());
    }
}

/// A thread that works alone is told of another one before that begins.
#[test]
fn exclusive_work_ends_before_another_thread_begins() {
    let memory = Memory::new(MIB).unwrap();
    assert!(!memory.is_exclusive());
    let first = memory.worker(true);
    assert!(memory.is_exclusive());
    let work = first.begin();
    let begun = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|s| {
        let other = s.spawn(|| {
            let second = memory.worker(true);
            begun.store(true, std::sync::atomic::Ordering::SeqCst);
            assert!(!memory.is_exclusive());
            drop(second);
        });
        while memory.is_exclusive() {
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!begun.load(std::sync::atomic::Ordering::SeqCst));
        drop(work);
        other.join().unwrap();
    });
    assert!(memory.is_exclusive());
    drop(first);
    // Others of the dispatch, or code outside it, may store.
    let shared = memory.worker(false);
    assert!(!memory.is_exclusive());
    drop(shared);
}

#[test]
fn unspecified_contents_cost_no_clearing() {
    let memory = Memory::new(MIB).unwrap();
    let a = memory.alloc(3 * PAGE_SIZE, 1, Perm::RW).unwrap();
    memory.store_u32(a + PAGE_SIZE, 7).unwrap();
    memory.free(a).unwrap();
    assert_eq!(fault(memory.load_u8(a)), FaultKind::Unmapped);
    let b = memory
        .alloc_unspecified(3 * PAGE_SIZE, 1, Perm::RW)
        .unwrap();
    assert_eq!((b, memory.load_u32(b + PAGE_SIZE).unwrap()), (a, 7));
    memory.free(b).unwrap();
    let c = memory.alloc(3 * PAGE_SIZE, 1, Perm::RW).unwrap();
    assert_eq!((c, memory.load_u32(c + PAGE_SIZE).unwrap()), (a, 0));
    assert_eq!(memory.free_bytes(), MIB - 3 * PAGE_SIZE);
}

/// Large pages of the host would take 2 MiB for a few bytes. A host without them says nothing of small ones either.
#[cfg(target_os = "linux")]
#[test]
fn sparse_memory_is_in_small_pages_until_it_is_freed() {
    let memory = Memory::new(64 * MIB).unwrap();
    // The host's flags of the pages at a guest's address: "nh" are pages that shall not be large.
    let small = |at: u64| {
        let host = memory.arena.address((at - memory.linear_base) as usize) as usize;
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        let mut within = false;
        for line in maps.lines() {
            let first = line.split(' ').next().unwrap_or_default();
            if let Some((start, end)) = first.split_once('-')
                && let Ok(start) = usize::from_str_radix(start, 16)
                && let Ok(end) = usize::from_str_radix(end, 16)
            {
                within = (start..end).contains(&host);
            }
            if within && let Some(flags) = line.strip_prefix("VmFlags:") {
                return Some(flags.split(' ').any(|flag| flag == "nh"));
            }
        }
        None
    };
    let usual = memory.alloc(8 * MIB, 1, Perm::RW).unwrap();
    let sparse = memory.alloc_sparse(8 * MIB, 64, Perm::RW).unwrap();
    memory.store_u32(sparse, 7).unwrap();
    let (is_small, is_usual) = (small(sparse), small(usual));
    memory.free(sparse).unwrap();
    if GUARDED
        || is_small.is_none()
        || !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists()
    {
        eprintln!("SKIPPED: the host has no large pages, or does not tell");
        return;
    }
    assert_eq!((is_small, is_usual), (Some(true), Some(false)));
    let again = memory.alloc(8 * MIB, 1, Perm::RW).unwrap();
    assert_eq!((again, small(again)), (sparse, Some(false)));
    assert_eq!(memory.load_u32(again).unwrap(), 0);
}
