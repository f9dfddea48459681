//! Generates instruction words from the rows of [`super::formats`], reproducibly for a seed.

use super::formats::{Encoding, Field, Generation, Kind};

/// `s_nop 0x1234`, the separator of samples in lines and bytes. No sample contains it.
pub const SENTINEL: u32 = 0xbf80_1234;

/// A sample to disassemble: an instruction with its literal, or words that only look like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    words: [u32; 2],
    count: u8,
    /// The encoding's name and opcode, by which reports are sorted.
    pub encoding: &'static str,
    pub opcode: u16,
}

impl Sample {
    /// A sample of one or two dwords; `None` for any other number.
    pub fn new(words: &[u32], encoding: &'static str, opcode: u16) -> Option<Sample> {
        // The sentinel is recognised by its bytes, so a sample that contains it is changed.
        let word = |w: u32| if w == SENTINEL { w ^ 1 } else { w };
        match *words {
            [a] => Some(Sample {
                words: [word(a), 0],
                count: 1,
                encoding,
                opcode,
            }),
            [a, b] => Some(Sample {
                words: [word(a), word(b)],
                count: 2,
                encoding,
                opcode,
            }),
            _ => None,
        }
    }

    pub fn words(&self) -> &[u32] {
        &self.words[..usize::from(self.count)]
    }

    pub fn bytes(&self) -> impl Iterator<Item = u8> {
        self.words().iter().flat_map(|w| w.to_le_bytes())
    }
}

/// SplitMix64: small, and every seed gives a good sequence.
pub struct Rng(u64);

impl Rng {
    /// A generator whose sequence depends on all the parts.
    pub fn new(parts: &[u64]) -> Rng {
        let mut rng = Rng(0);
        for &part in parts {
            rng.0 ^= part;
            rng.0 = rng.next();
        }
        rng
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which must be small, because the remainder is biased.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn pick(&mut self, choices: &[u64]) -> u64 {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// The kind of samples of a job.
#[derive(Clone, Copy, Debug)]
pub enum Filling {
    /// Each field with all its interesting values.
    Sweep,
    /// `count` random fillings; `block` is the number of the job, which selects the random sequence.
    Random { block: u64, count: u64 },
}

/// Returns the samples of one opcode of `encoding`. They depend only on the arguments.
pub fn samples(
    encoding: &Encoding,
    generation: Generation,
    opcode: u16,
    filling: Filling,
    seed: u64,
) -> Vec<Sample> {
    let name = encoding
        .name
        .bytes()
        .fold(0, |hash: u64, b| hash.wrapping_mul(31) ^ u64::from(b));
    let block = match filling {
        Filling::Sweep => u64::MAX,
        Filling::Random { block, .. } => block,
    };
    let rng = Rng::new(&[seed, name, encoding.mask, u64::from(opcode), block]);
    let fields: Vec<_> = encoding.fields().collect();
    let mut maker = Maker {
        encoding,
        generation,
        opcode,
        rng,
        fields: &fields,
        out: Vec::new(),
    };
    match filling {
        Filling::Sweep => maker.sweep(),
        Filling::Random { count, .. } => (0..count).for_each(|i| maker.random(i)),
    }
    maker.out
}

struct Maker<'a> {
    encoding: &'a Encoding,
    generation: Generation,
    opcode: u16,
    rng: Rng,
    fields: &'a [&'static Field],
    out: Vec<Sample>,
}

impl Maker<'_> {
    fn sweep(&mut self) {
        let fields = self.fields;
        if fields.is_empty() {
            self.push(&[]);
        }
        for (at, field) in fields.iter().enumerate() {
            let values = interesting(field);
            // Once with zeros in other fields, because LLVM loses fields that an instruction does not use, and once with other values.
            let bare = if values.len() <= 200 {
                &[true, false][..]
            } else {
                &[false]
            };
            for (&value, &bare) in values.iter().flat_map(|v| bare.iter().map(move |b| (v, b))) {
                let mut values: Vec<u64> = fields
                    .iter()
                    .map(|other| {
                        if bare {
                            self.bare(other)
                        } else {
                            self.plain(other)
                        }
                    })
                    .collect();
                values[at] = value;
                self.push(&values);
            }
        }
    }

    /// The `i`-th random filling. Reserved bits are zero in three of five; operands are plain ones in three of five, and
    /// half of them zero in one.
    fn random(&mut self, i: u64) {
        let mode = i % 5;
        let fields = self.fields;
        let values: Vec<u64> = fields
            .iter()
            .map(|field| match (mode, field.kind) {
                (4, _) if self.rng.below(2) == 0 => self.bare(field),
                (0 | 4, _) => self.plain(field),
                (1, Kind::Hidden) => 0,
                (1, Kind::Modifier) if self.rng.below(2) == 0 => 0,
                (2, kind) if !matches!(kind, Kind::Hidden | Kind::Modifier) => self.plain(field),
                _ => self.rng.next() & field.max(),
            })
            .collect();
        self.push(&values);
    }

    /// The value of an unused field: zero, and no scalar address.
    fn bare(&mut self, field: &Field) -> u64 {
        match field.kind {
            Kind::Vgpr | Kind::Src9 | Kind::Imm | Kind::SgprGroup => 0,
            Kind::Saddr => 0x7f,
            _ => self.plain(field),
        }
    }

    /// A value that most instructions accept, aligned to four for pairs and quads.
    fn plain(&mut self, field: &Field) -> u64 {
        let rng = &mut self.rng;
        match field.kind {
            Kind::Hidden | Kind::Modifier => 0,
            Kind::Vgpr | Kind::Imm | Kind::SgprGroup => rng.next() & field.max(),
            Kind::Selector => rng.below(7),
            Kind::Saddr if rng.below(2) == 0 => 0x7f,
            Kind::Saddr => 2 * rng.below(52),
            Kind::Simm16 => match rng.below(4) {
                0 | 1 => 0,
                2 => rng.below(64),
                _ => rng.next() & 0xffff,
            },
            Kind::Sdst | Kind::SdstWide => match rng.below(8) {
                0 | 1 => 0,
                2 => 106,
                _ => 4 * rng.below(24),
            },
            Kind::Ssrc => plain_scalar(rng),
            Kind::Src9 => match rng.below(4) {
                0 | 1 => 256 + rng.below(256),
                _ => plain_scalar(rng),
            },
        }
    }

    /// Appends the samples with these field values, in the order of the encoding's fields, one for each interesting second dword
    /// if a literal (or an SDWA or DPP dword) follows.
    fn push(&mut self, values: &[u64]) {
        let Encoding {
            name,
            opcode: (low, _),
            bits,
            ..
        } = *self.encoding;
        let mut word = bits | (u64::from(self.opcode) << low);
        let mut literal = self.encoding.literal_opcodes.contains(&self.opcode);
        let mut sub_dword = false;
        for (field, &value) in self.fields.iter().zip(values) {
            word |= value << field.low;
            let source = matches!(field.kind, Kind::Ssrc | Kind::Src9);
            literal |= source && value == 255;
            sub_dword |= field.kind == Kind::Src9 && (value == 249 || value == 250);
        }
        let (first, second) = (word as u32, (word >> 32) as u32);
        let mut add = |words: &[u32]| self.out.extend(Sample::new(words, name, self.opcode));
        if self.encoding.dwords() == 2 {
            add(&[first, second]);
        } else if literal {
            // Random, equal to an inline constant, and small but not inline.
            add(&[first, self.rng.next() as u32]);
            add(&[first, inline_equal(&mut self.rng)]);
            add(&[first, 65 + self.rng.below(1000) as u32]);
        } else if sub_dword && self.generation >= Generation::Gfx8 {
            add(&[first, self.rng.next() as u32]);
        } else {
            add(&[first]);
        }
    }
}

fn plain_scalar(rng: &mut Rng) -> u64 {
    match rng.below(16) {
        0 => 106,
        1 => 126,
        2 => 255,
        3 => 240 + rng.below(8),
        4..=6 => 128 + rng.below(81),
        7 => 0,
        _ => 4 * rng.below(25),
    }
}

/// A dword that is an inline constant of some operand type (for f64, the high half, as in a literal).
fn inline_equal(rng: &mut Rng) -> u32 {
    const FLOATS: &[u64] = &[
        0x3f00_0000,
        0xbf00_0000,
        0x3f80_0000,
        0xbf80_0000,
        0x4000_0000,
        0xc000_0000,
        0x4080_0000,
        0xc080_0000,
        0x3e22_f983,
        0x3800,
        0xb800,
        0x3c00,
        0xbc00,
        0x4000,
        0xc000,
        0x4400,
        0xc400,
        0x3118,
        0x3fe0_0000,
        0xbfe0_0000,
        0x3ff0_0000,
        0xbff0_0000,
        0x4010_0000,
        0xc010_0000,
        0x3fc4_5f30,
        0x6dc9_c882,
    ];
    if rng.below(2) == 0 {
        rng.pick(FLOATS) as u32
    } else {
        // -16 to 64.
        (rng.below(81) as u32).wrapping_sub(16)
    }
}

/// Returns the values of a field that are tried one after the other.
fn interesting(field: &Field) -> Vec<u64> {
    let low_sgprs = [0, 1, 2, 3, 5, 20, 21, 50, 51];
    let scalar_destinations = || low_sgprs.into_iter().chain(95..=127);
    let scalar_sources = || {
        let inline = [128, 129, 130, 136, 144, 191].into_iter().chain(192..=210);
        scalar_destinations()
            .chain(inline)
            .chain([215, 220, 230])
            .chain(234..=255)
    };
    match field.kind {
        Kind::Sdst | Kind::Saddr => scalar_destinations().collect(),
        Kind::SdstWide => scalar_destinations()
            .chain([128, 129, 193, 242, 255])
            .collect(),
        Kind::Ssrc => scalar_sources().collect(),
        Kind::Src9 => scalar_sources()
            .chain([256, 257, 258, 300, 301, 509, 510, 511])
            .collect(),
        Kind::Vgpr => vec![0, 1, 2, 3, 50, 51, 127, 128, 254, 255],
        Kind::SgprGroup => (0..=field.max()).collect(),
        Kind::Simm16 => (0..1024)
            .chain(single_bits(field).filter(|&v| v >= 1024))
            .chain([0xc07f])
            .collect(),
        Kind::Imm | Kind::Selector | Kind::Modifier | Kind::Hidden if field.width <= 4 => {
            (0..=field.max()).collect()
        }
        Kind::Imm | Kind::Selector | Kind::Modifier | Kind::Hidden => {
            [0, 3, 5].into_iter().chain(single_bits(field)).collect()
        }
    }
}

/// Each value with one bit set, each with one bit clear, and all ones.
fn single_bits(field: &Field) -> impl Iterator<Item = u64> {
    let max = field.max();
    let bits = (0..field.width).map(|bit| 1_u64 << bit);
    bits.clone()
        .chain(bits.map(move |bit| max & !bit))
        .chain([max])
}

#[cfg(test)]
mod tests {
    use super::super::formats::{FORMATS, find};
    use super::*;

    fn encoding(format: &str, at: usize) -> &'static Encoding {
        &find(format).expect("a format of the table").encodings[at]
    }

    #[test]
    fn same_arguments_same_words_and_other_seed_other_words() {
        let filling = Filling::Random {
            block: 3,
            count: 100,
        };
        let make = |seed| samples(encoding("VOPC", 1), Generation::Gfx6, 17, filling, seed);
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
    }

    #[test]
    fn words_keep_prefix_and_opcode() {
        for e in FORMATS.iter().flat_map(|format| format.encodings) {
            let generation = e.generations[0];
            for filling in [
                Filling::Sweep,
                Filling::Random {
                    block: 0,
                    count: 40,
                },
            ] {
                for sample in samples(e, generation, e.opcodes.1, filling, 7) {
                    let word = u64::from(sample.words()[0]);
                    assert_eq!(word & e.mask, e.bits, "{}", e.name);
                    assert_eq!(
                        (word >> e.opcode.0) & ((1 << e.opcode.1) - 1),
                        u64::from(e.opcodes.1),
                        "{}",
                        e.name
                    );
                }
            }
        }
    }

    #[test]
    fn most_random_fillings_have_no_reserved_bits() {
        let e = encoding("VOPC", 1);
        let hidden: u64 = e
            .fields()
            .filter(|field| field.kind == Kind::Hidden)
            .map(|field| field.max() << field.low)
            .sum();
        let made = samples(
            e,
            Generation::Gfx6,
            1,
            Filling::Random {
                block: 0,
                count: 400,
            },
            1,
        );
        let clean = made.iter().filter(|s| {
            let word = u64::from(s.words()[0]) | u64::from(s.words()[1]) << 32;
            word & hidden == 0
        });
        assert_eq!((made.len(), clean.count()), (400, 240));
    }

    #[test]
    fn a_literal_comes_in_three_kinds_and_only_where_the_format_has_one() {
        let sop2 = samples(encoding("SOP2", 0), Generation::Gfx9, 0, Filling::Sweep, 1);
        let with_255: Vec<_> = sop2.iter().filter(|s| s.words()[0] & 0xff == 255).collect();
        assert!(with_255.len() >= 3 && with_255.iter().all(|s| s.words().len() == 2));
        let small = with_255.iter().any(|s| (65..1065).contains(&s.words()[1]));
        assert!(small);
        let plain = sop2
            .iter()
            .filter(|s| s.words()[0] & 0xff != 255 && s.words()[0] >> 8 & 0xff != 255);
        assert!(plain.into_iter().all(|s| s.words().len() == 1));
    }

    #[test]
    fn no_sample_holds_the_sentinel() {
        let sample = Sample::new(&[SENTINEL, SENTINEL], "SOPP", 0).expect("two dwords");
        assert_eq!(sample.words(), [SENTINEL ^ 1, SENTINEL ^ 1]);
        assert_eq!(Sample::new(&[], "SOPP", 0), None);
    }
}
