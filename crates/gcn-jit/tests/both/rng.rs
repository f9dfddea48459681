//! Pseudorandom numbers, reproducible by their seed.

/// SplitMix64.
#[derive(Clone)]
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Returns true once in `n` times on average.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// Returns a number with interesting bits.
    pub fn word(&mut self) -> u32 {
        const SPECIAL: [u32; 32] = [
            0,
            1,
            2,
            0x8000_0000,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0xffc0_0000,
            0x7f80_0001,
            0x7fa0_0000,
            0x807f_ffff,
            0x0080_0000,
            0x0040_0000,
            0x7f7f_ffff,
            0x3f80_0000,
            0xbf80_0000,
            0x4f00_0000,
            0x4f80_0000,
            0xffff_ffff,
            0xffff_fffe,
            0x7fff_ffff,
            // Upper halves of 64-bit floats: infinity, NaN, 1, the smallest normal, the largest.
            0x7ff0_0000,
            0x7ff8_0000,
            0x3ff0_0000,
            0x0010_0000,
            0x7fef_ffff,
            // Pairs of 16-bit floats.
            0x3c00_3c00,
            0x7c00_fc00,
            0x7e00_0001,
            0x03ff_0400,
            0x0000_ffff,
            0xffff_0000,
        ];
        match self.below(7) {
            0 => self.pick(&SPECIAL),
            1 => self.below(64) as u32,
            2 | 3 => (self.below(200) as f32 - 100.0)
                .to_bits()
                .wrapping_add(self.below(3) as u32),
            4 => (self.below(1 << 12) as f32 / 64.0).to_bits(),
            _ => self.next() as u32,
        }
    }
}
