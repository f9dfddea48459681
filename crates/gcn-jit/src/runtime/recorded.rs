//! Reports the accesses of compiled code to a probe.

use crate::context::Ctx;
use crate::ir::region::AccessRecord;
use crate::runtime::helpers::{parts, tell_turn};
use gcn_emu::probe::{Addresses, RecordedAccess};
use gcn_isa::access::MemoryKind;

/// Reports the accesses of a block to the probe. `what` has a byte for each, as [`AccessRecord::encode`] gives it; 0 ends the list.
///
/// # Safety
/// As of [`parts`]; and the host has AVX2.
pub unsafe extern "sysv64" fn tell_recorder(ctx: *mut Ctx, what: u64) {
    // SAFETY: the caller's contract.
    let (ctx, host, exec) = unsafe {
        let (ctx, host) = parts(ctx);
        let exec = (*ctx.current.wave).exec();
        (ctx, host, exec)
    };
    let Some(probe) = host.machine.probe else {
        return;
    };
    tell_turn(ctx, probe);
    for (code, [low, high]) in what.to_le_bytes().into_iter().zip(&ctx.recorded.addresses) {
        if code == 0 {
            break;
        }
        let (lds, scalar, uniform) = (code >> 2 & 1 != 0, code >> 6 & 1 != 0, code >> 7 != 0);
        // The access is a row: the dwords of all lanes are contiguous.
        let row = lds && scalar;
        let (lds, scalar) = (lds && !row, scalar && !row);
        let exec = if scalar { 1 } else { exec };
        if exec == 0 {
            continue;
        }
        let one = low[0] as u64 | (low[1] as u64) << 32;
        let addresses = match uniform {
            true if row => Addresses::Apart(one, 4),
            true => Addresses::Same(one),
            // SAFETY: the host has the instructions, because compiled code needs them.
            false => unsafe { addresses(low, (!lds).then_some(high), exec) },
        };
        probe.recorded(&RecordedAccess {
            kind: match code & 3 {
                1 => MemoryKind::Load,
                2 => MemoryKind::Store,
                _ => MemoryKind::Atomic,
            },
            lds,
            scalar,
            exec,
            addresses,
            size: AccessRecord::SIZES[code as usize >> 3 & 7],
        });
    }
}

/// Returns the addresses of the active lanes, of which there is at least one, in their simplest form.
#[target_feature(enable = "avx2")]
fn addresses<'a>(low: &'a [u32; 64], high: Option<&'a [u32; 64]>, exec: u64) -> Addresses<'a> {
    let each = || slices(low, high, exec).unwrap_or(Addresses::Each(low, high));
    let first = exec.trailing_zeros() as usize % 64;
    let lanes = exec >> first;
    let count = lanes.trailing_ones() as usize;
    let upper = high.map_or(0, |high| high[first]);
    let of_first = low[first] as u64 | (upper as u64) << 32;
    if lanes == 1 {
        return Addresses::Same(of_first);
    }
    if lanes.count_ones() as usize != count {
        return each();
    }
    let step = low[first + 1].wrapping_sub(low[first]);
    let differs = |low: &[u32], high: Option<&[u32]>| {
        let mut wanted = low[0];
        let mut differs = 0;
        for at in low {
            differs |= at ^ wanted;
            wanted = wanted.wrapping_add(step);
        }
        for at in high.into_iter().flatten() {
            differs |= at ^ upper;
        }
        differs != 0
    };
    let differ = match count {
        64 => differs(&low[..], high.map(|h| &h[..])),
        _ => {
            let those = first..first + count;
            differs(&low[those.clone()], high.map(|h| &h[those]))
        }
    };
    if differ {
        return each();
    }
    let step = step as i32 as i64;
    let last = low[first] as i64 + step * (count as i64 - 1);
    if !(0..1 << 32).contains(&last) {
        return each();
    }
    match step {
        0 => Addresses::Same(of_first),
        _ => Addresses::Apart(of_first.wrapping_add_signed(-step * first as i64), step),
    }
}

/// Returns the addresses of the active lanes if they have a constant step in each 16 lanes.
#[target_feature(enable = "avx2")]
fn slices<'a>(low: &[u32; 64], high: Option<&[u32; 64]>, exec: u64) -> Option<Addresses<'a>> {
    let mut all = [(0, 0); 4];
    for (n, slice) in all.iter_mut().enumerate() {
        let on = (exec >> (16 * n)) as u16;
        if on == 0 {
            continue;
        }
        let first = on.trailing_zeros() as usize;
        let count = (on >> first).trailing_ones() as usize;
        if on.count_ones() as usize != count {
            return None;
        }
        let those = 16 * n + first..16 * n + first + count;
        let low = &low[those.clone()];
        let step = match low {
            [a, b, ..] => b.wrapping_sub(*a),
            _ => 0,
        };
        let upper = high.map_or(0, |high| high[those.start]);
        let mut differs = 0;
        match <&[u32; 16]>::try_from(low) {
            Ok(low) => {
                for (k, at) in low.iter().enumerate() {
                    differs |= at ^ low[0].wrapping_add(step.wrapping_mul(k as u32));
                }
            }
            Err(_) => {
                for (k, at) in low.iter().enumerate() {
                    differs |= at ^ low[0].wrapping_add(step.wrapping_mul(k as u32));
                }
            }
        }
        for at in high.map_or(&[][..], |high| &high[those]) {
            differs |= at ^ upper;
        }
        let step = step as i32 as i64;
        let last = low[0] as i64 + step * (count as i64 - 1);
        if differs != 0 || !(0..1 << 32).contains(&last) {
            return None;
        }
        let at = low[0] as u64 | (upper as u64) << 32;
        *slice = (at.wrapping_add_signed(-step * first as i64), step);
    }
    Some(Addresses::Slices(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_the_simplest_form() {
        if !std::is_x86_feature_detected!("avx2") {
            return;
        }
        let find = |of: &dyn Fn(usize) -> u64, exec: u64| {
            let low = std::array::from_fn(|n| of(n) as u32);
            let high = std::array::from_fn(|n| (of(n) >> 32) as u32);
            // SAFETY: the host has AVX2.
            let found = unsafe { addresses(&low, Some(&high), exec) };
            let text = match found {
                Addresses::Same(at) => format!("same {at:#x}"),
                Addresses::Apart(at, step) => format!("{at:#x} by {step}"),
                Addresses::Slices(slices) => {
                    let slices = slices.map(|(at, step)| format!("{at:#x} by {step}"));
                    slices.join(", ")
                }
                Addresses::Each(..) => "each".to_owned(),
            };
            let access = RecordedAccess {
                kind: MemoryKind::Load,
                lds: false,
                scalar: false,
                exec,
                addresses: found,
                size: 4,
            };
            let lanes = (0..64).filter(|lane| exec >> lane & 1 != 0);
            assert!(access.each().eq(lanes.map(of)), "{text}");
            text
        };
        let dwords = |n: usize| 0x1_0000_1000 + 4 * n as u64;
        assert_eq!(find(&dwords, !0), "0x100001000 by 4");
        assert_eq!(find(&dwords, 0xff0), "0x100001000 by 4");
        assert_eq!(find(&dwords, 1 << 63), "same 0x1000010fc");
        assert_eq!(find(&dwords, 0xf0f), "each");
        assert_eq!(
            find(&|n| 0x100 * (n as u64 / 16), 0xffff_0000_0ff0_0001),
            "0x0 by 0, 0x100 by 0, 0x0 by 0, 0x300 by 0"
        );
        let rows = |n: usize| 0x1000 * (n as u64 / 16) + 8 * (n as u64 % 16);
        assert_eq!(
            find(&rows, !0),
            "0x0 by 8, 0x1000 by 8, 0x2000 by 8, 0x3000 by 8"
        );
        assert_eq!(find(&|_| 0x123, !0), "same 0x123");
        assert_eq!(find(&|n| 0x5000 - 8 * n as u64, !0), "0x5000 by -8");
        // The upper half differs between lanes.
        assert_eq!(find(&|n| 0xffff_fff0 + 4 * n as u64, !0), "each");
        assert_eq!(find(&|n| (n * n) as u64, !0), "each");
    }
}
