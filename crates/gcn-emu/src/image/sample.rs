//! Sampling: level of detail, wrapping, filters, comparison.
//!
//! Coordinates are scaled in f64, which is exact. Filter weights have eight fraction bits, and so has the level of detail,
//! as in hardware. Sums of weighted elements are f64 and rounded to f32 once. See docs/errata.md, image-filter.

use super::{Access, Image, Kind, Level, PALETTE, memory, read};
use crate::engine::{Failure, Machine};
use crate::formats::{Format, Number};
use crate::wave::{LANES, WaveState};
use gcn_isa::format::Field;
use gcn_isa::image::{Detail, Footprint, ImageOp, Sampling};
use gcn_isa::target::Gen;

/// The decoded fields of a sampler.
struct Sampler {
    /// The wrap mode of coordinates outside of the image: CLAMP_X to CLAMP_Z.
    clamp: [u32; 3],
    compare: u32,
    unnormalized: bool,
    /// Coordinates and slices are truncated to the precision of the filter instead of rounded: TRUNC_COORD.
    truncate: bool,
    /// The filter does not cross the edges between the faces of a cube.
    no_cube_wrap: bool,
    /// 0 is the weighted sum, 1 the minimum and 2 the maximum of the elements.
    reduction: u32,
    min_lod: i32,
    max_lod: i32,
    bias: i32,
    mag_linear: bool,
    min_linear: bool,
    /// The filter across slices of a 3D image; `None`: the same as within them.
    z_linear: Option<bool>,
    mip: Mip,
    border: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mip {
    None,
    Point,
    Linear,
}

impl Sampler {
    fn new(words: [u32; 4]) -> Sampler {
        let field = |word: usize, lo: u32, bits: u32| words[word] >> lo & ((1u32 << bits) - 1);
        // Odd filters are linear; 2 and 3 are the anisotropic ones, treated as 0 and 1.
        let linear = |filter: u32| filter & 1 != 0;
        Sampler {
            clamp: [field(0, 0, 3), field(0, 3, 3), field(0, 6, 3)],
            compare: field(0, 12, 3),
            unnormalized: field(0, 15, 1) != 0,
            truncate: field(0, 27, 1) != 0,
            no_cube_wrap: field(0, 28, 1) != 0,
            reduction: field(0, 29, 2),
            min_lod: field(1, 0, 12) as i32,
            max_lod: field(1, 12, 12) as i32,
            bias: (field(2, 0, 14) << 18) as i32 >> 18,
            mag_linear: linear(field(2, 20, 2)),
            min_linear: linear(field(2, 22, 2)),
            z_linear: match field(2, 24, 2) {
                0 => None,
                filter => Some(filter >= 2),
            },
            mip: match field(2, 26, 2) {
                0 => Mip::None,
                1 => Mip::Point,
                _ => Mip::Linear,
            },
            border: field(3, 30, 2),
        }
    }
}

/// The result of an instruction if no resource is bound.
const NOTHING: [u32; 4] = [0; 4];

/// Runs a sample, a gather or a query of the level of detail in the lanes in `lanes`.
pub(super) fn run(
    op: ImageOp,
    access: &Access<'_>,
    sampler: [u32; 4],
    lanes: u64,
    wave: &mut WaveState,
    machine: &Machine<'_>,
) -> Result<(), Failure> {
    let sampler = Sampler::new(sampler);
    let (sampling, footprint) = match op {
        ImageOp::Sample(sampling) => (sampling, None),
        ImageOp::Gather(sampling, footprint) => (sampling, Some(footprint)),
        // The query answers for a plain sample.
        _ => (PLAIN, None),
    };
    let Some(format) = access.image.format else {
        for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
            match footprint {
                Some(_) => access.write_all(wave, lane, &NOTHING, Number::Uint),
                None => access.write(wave, lane, NOTHING, Number::Uint),
            }
        }
        return Ok(());
    };
    if sampler.border == 3 && sampler.clamp.iter().any(|&mode| mode >= 4) {
        return Err(Failure::unsupported(PALETTE));
    }
    let reader = Reader {
        access,
        image: &access.image,
        sampler: &sampler,
        sampling,
        format,
        unnormalized: sampler.unnormalized || access.insn.field(Field::Unorm) != 0,
        machine,
    };
    // The level of detail is that of a quad, computed from registers that inactive lanes have too.
    let mut results = Vec::new();
    for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
        let lod = reader.lod(wave, lane);
        if op == ImageOp::Lod {
            let values = [lod.clamped, lod.raw, 0, 0].map(|v| (v as f32 / 256.0).to_bits());
            results.push((lane, values, Number::Float));
            continue;
        }
        let point = reader.point(wave, lane);
        let (values, number) = match footprint {
            None => (reader.sample(&point, lod, lane)?, reader.number()),
            Some(footprint) => reader.gather(&point, lod, footprint, lane)?,
        };
        results.push((lane, values, number));
    }
    // All addresses are read before anything is written: VDATA may overlap the address VGPRs.
    for (lane, values, number) in results {
        match footprint {
            None => access.write(wave, lane, values, number),
            Some(footprint) => {
                let count = match footprint {
                    Footprint::Square | Footprint::Row => 4,
                    Footprint::PackedRow => 1,
                    Footprint::PackedRow8 => 2,
                };
                access.write_all(wave, lane, &values[..count], number);
            }
        }
    }
    Ok(())
}

const PLAIN: Sampling = Sampling {
    detail: Detail::Quad,
    compare: false,
    offset: false,
    clamp: false,
    half_derivatives: false,
};

/// A level of detail in 1/256: before and after clamping.
#[derive(Clone, Copy)]
struct Lod {
    raw: i32,
    clamped: i32,
}

/// The point that a lane samples.
struct Point {
    /// In units of a normalized image's side, or in elements if unnormalized.
    position: [f32; 3],
    offset: [i32; 3],
    /// The slice or the face, counted from the resource's first one.
    slice: u32,
    reference: f32,
}

struct Reader<'a> {
    access: &'a Access<'a>,
    image: &'a Image,
    sampler: &'a Sampler,
    sampling: Sampling,
    format: Format,
    unnormalized: bool,
    machine: &'a Machine<'a>,
}

/// The elements along one axis that a filter reads: the number of the first one, and the weight of the second one in 1/256.
#[derive(Clone, Copy)]
struct Axis {
    first: i64,
    weight: u32,
}

impl Reader<'_> {
    /// The number format of the results: a comparison's results are floats.
    fn number(&self) -> Number {
        if self.sampling.compare {
            Number::Float
        } else {
            self.format.number()
        }
    }

    fn coordinate(&self, wave: &WaveState, lane: usize, k: usize) -> f32 {
        self.access
            .float(wave, lane, self.access.address.coordinates[k])
    }

    fn point(&self, wave: &WaveState, lane: usize) -> Point {
        let (access, image) = (self.access, self.image);
        let dimensions = image.dimensions() as usize;
        let mut position = [0.0; 3];
        for (k, x) in position.iter_mut().enumerate().take(dimensions) {
            *x = self.coordinate(wave, lane, k);
        }
        let offsets = access.integer(wave, lane, access.address.offset);
        let offset = |lo: u32| (offsets >> lo << 26) as i32 >> 26;
        let last = image.slices() - 1;
        let rounded = |k: usize| self.coordinate(wave, lane, k).round_ties_even().max(0.0);
        let slice = match image.kind {
            Kind::Cube => {
                // With v_cubesc and related instructions, positions on a face range from 1 to 2. The cubes of an array are eight
                // faces apart.
                position = [position[0] - 1.0, position[1] - 1.0, 0.0];
                let face = rounded(2) as u32;
                (face / 8)
                    .saturating_mul(6)
                    .saturating_add((face % 8).min(5))
                    .min(last)
            }
            Kind::D1Array | Kind::D2Array if access.insn.field(Field::Da) != 0 => {
                let slice = match self.sampler.truncate {
                    // The conversion truncates, and gives 0 for negative numbers and NaN.
                    true => self.coordinate(wave, lane, dimensions),
                    false => rounded(dimensions),
                };
                (slice as u32).min(last)
            }
            _ => 0,
        };
        let reference = access.float(wave, lane, access.address.compare);
        let normalized = matches!(self.format.number(), Number::Unorm | Number::Srgb);
        Point {
            position,
            offset: [offset(0), offset(8), offset(16)],
            slice,
            // Elements of normalized formats have this range.
            reference: if normalized {
                reference.clamp(0.0, 1.0)
            } else {
                reference
            },
        }
    }

    /// The level of detail of a lane.
    fn lod(&self, wave: &WaveState, lane: usize) -> Lod {
        let (access, image, sampler) = (self.access, self.image, self.sampler);
        let level = access.float(wave, lane, access.address.level);
        let mut raw = match self.sampling.detail {
            Detail::Zero => 0,
            Detail::Given => fixed(level),
            // Images without normalized coordinates have one level.
            _ if self.unnormalized => 0,
            _ => self.footprint_lod(wave, lane),
        };
        if self.sampling.detail == Detail::Bias {
            raw += fixed(access.float(wave, lane, access.address.bias));
        }
        if self.sampling.detail != Detail::Zero {
            raw += sampler.bias;
        }
        let mut clamped = raw;
        if self.sampling.clamp {
            clamped = clamped.max(fixed(level));
        }
        clamped = clamped
            .max(sampler.min_lod)
            .min(sampler.max_lod.max(sampler.min_lod));
        let least = image.min_lod - 256 * image.base_level as i32;
        let last = 256 * (image.last_level - image.base_level) as i32;
        Lod {
            raw,
            clamped: clamped.max(least).min(last),
        }
    }

    /// log2 of the number of elements that a step of one pixel covers, the larger of both directions, in 1/256.
    fn footprint_lod(&self, wave: &WaveState, lane: usize) -> i32 {
        let image = self.image;
        let dimensions = image.dimensions() as usize;
        let size = [image.width, image.height, image.depth];
        let quad = lane & !3;
        let mut longest = 0.0f64;
        for direction in 0..2 {
            let mut squares = 0.0;
            for (k, &size) in size.iter().enumerate().take(dimensions) {
                let location = self.access.address.derivatives[direction * dimensions + k];
                let step = match self.sampling.detail {
                    Detail::Derivatives => self.access.float(wave, lane, location) as f64,
                    Detail::CoarseDerivatives => self.access.float(wave, quad, location) as f64,
                    _ => {
                        let at = |lane: usize| self.coordinate(wave, lane, k);
                        (at(quad + 1 + direction) - at(quad)) as f64
                    }
                };
                let step = step * (size >> image.base_level).max(1) as f64;
                squares += step * step;
            }
            if squares > longest {
                longest = squares;
            }
        }
        // The logarithm of a square is twice that of its root, so its value in 1/128 is the root's in 1/256.
        log2_fixed(longest, 7)
    }

    /// The elements that a filter reads along an axis of `size` elements.
    fn axis(&self, k: usize, point: &Point, size: u32, linear: bool) -> Axis {
        let scale = if self.unnormalized { 1.0 } else { size as f64 };
        let mut x = point.position[k] as f64 * scale + point.offset[k] as f64;
        // At most half of an element into the border; without a filter, not into it.
        let end = match linear {
            true => size as f64,
            false => size as f64 - 0.5,
        };
        match self.sampler.clamp[k] {
            4 => x = x.clamp(0.0, end),
            5 => x = x.clamp(-end, end),
            _ => {}
        }
        // Far enough outside for every wrap mode, and small enough for exact arithmetic.
        const FAR: f64 = (1u64 << 40) as f64;
        x = if x.is_nan() { 0.0 } else { x.clamp(-FAR, FAR) };
        // The coordinate has eight fraction bits.
        let round = if self.sampler.truncate { 0.0 } else { 0.5 };
        let steps = (x * 256.0 + round).floor() as i64;
        if !linear {
            return Axis {
                first: steps >> 8,
                weight: 0,
            };
        }
        let steps = steps - 128;
        Axis {
            first: steps >> 8,
            weight: (steps & 255) as u32,
        }
    }

    /// The components of one element in its format; those of the border if the wrap mode selects it.
    fn element(
        &self,
        level: &Level,
        at: [i64; 3],
        slice: u32,
        lane: usize,
    ) -> Result<[u32; 4], Failure> {
        let image = self.image;
        let sizes = [level.width, level.height, level.depth];
        let dimensions = image.dimensions() as usize;
        let (mut location, mut slice) = ([0; 3], slice);
        if image.kind == Kind::Cube {
            (location, slice) = self.on_cube(level.width as i64, at, slice);
        } else {
            for k in 0..dimensions {
                match wrap(at[k], sizes[k] as i64, self.sampler.clamp[k]) {
                    Some(x) => location[k] = x as u32,
                    None => return Ok(self.border()),
                }
            }
            if image.kind == Kind::D3 {
                slice = location[2];
            }
        }
        let address = image.element(level, location[0], location[1], slice, 0);
        let bits = read(self.machine, &self.format, address, lane)?;
        Ok(std::array::from_fn(|k| self.format.component(bits, k)))
    }

    /// The element of a cube's face, or of the neighbouring face if it lies beyond an edge. Beyond a corner, where no face
    /// is, it is the element at the edge.
    fn on_cube(&self, size: i64, at: [i64; 3], slice: u32) -> ([u32; 3], u32) {
        let (mut x, mut y) = (at[0], at[1]);
        let inside = |v: i64| (0..size).contains(&v);
        if self.sampler.no_cube_wrap || !inside(x) && !inside(y) {
            x = x.clamp(0, size - 1);
            y = y.clamp(0, size - 1);
        }
        if inside(x) && inside(y) {
            return ([x as u32, y as u32, 0], slice);
        }
        // The distance of the element's centre from the centre of the face, in units of half an element.
        let (s, t) = (2 * x + 1 - size, 2 * y + 1 - size);
        let [a, b, c] = direction(slice % 6, s, t, size);
        // It is beyond one edge, so another component of the direction is the largest.
        let (face, s, t, major) = face_of(a, b, c);
        // A position from -major to major, as an element from 0 to size.
        let major = major.max(1);
        let back = |v: i64| ((v + major) * size / (2 * major)).clamp(0, size - 1) as u32;
        ([back(s), back(t), 0], slice / 6 * 6 + face)
    }

    fn border(&self) -> [u32; 4] {
        let one = self.format.number().one();
        match self.sampler.border {
            0 => [0; 4],
            1 => std::array::from_fn(|k| if k == self.image.border_alpha { one } else { 0 }),
            _ => [one; 4],
        }
    }

    /// The value of an element for the filter: the element itself, or the result of the comparison with it.
    fn compared(&self, element: [u32; 4], reference: f32) -> [u32; 4] {
        if !self.sampling.compare {
            return element;
        }
        let value = f32::from_bits(element[0]);
        let holds = match self.sampler.compare {
            0 => false,
            1 => reference < value,
            2 => reference == value,
            3 => reference <= value,
            4 => reference > value,
            5 => reference != value,
            6 => reference >= value,
            _ => true,
        };
        let one = 1.0f32.to_bits();
        [if holds { one } else { 0 }, 0, 0, one]
    }

    fn sample(&self, point: &Point, lod: Lod, lane: usize) -> Result<[u32; 4], Failure> {
        let number = self.number();
        let (first, weight) = self.levels(lod);
        let linear = self.linear(lod);
        let mut sum = Sum::new(self.sampler.reduction, number);
        self.add_level(&mut sum, point, first, 256 - weight, linear, lane)?;
        if weight != 0 {
            self.add_level(&mut sum, point, first + 1, weight, linear, lane)?;
        }
        let all = sum.finish();
        let selected = self.format.selected(all, self.image.select);
        // The 1 of a comparison is a float, for every format.
        Ok(
            if self.sampling.compare && self.format.number().is_integer() {
                std::array::from_fn(|k| match self.image.select[k] {
                    1 => 1.0f32.to_bits(),
                    _ => selected[k],
                })
            } else {
                selected
            },
        )
    }

    /// The level to read, counted from the first one in memory, and the weight of the next one.
    fn levels(&self, lod: Lod) -> (u32, u32) {
        let (base, last) = (self.image.base_level, self.image.last_level);
        let lod = lod.clamped.max(0) as u32;
        let (level, weight) = match self.sampler.mip {
            Mip::None => (0, 0),
            Mip::Linear if self.filtered() => (lod >> 8, lod & 255),
            Mip::Point | Mip::Linear => ((lod + 128) >> 8, 0),
        };
        if base + level >= last {
            (last, 0)
        } else {
            (base + level, weight)
        }
    }

    /// Returns true if elements of a level are filtered. Integers are not.
    fn linear(&self, lod: Lod) -> bool {
        let linear = match lod.clamped > 0 {
            true => self.sampler.min_linear,
            false => self.sampler.mag_linear,
        };
        linear && self.filtered()
    }

    /// Returns true if the values can be filtered: results of comparisons, and number formats other than integers.
    fn filtered(&self) -> bool {
        self.sampling.compare || !self.format.number().is_integer()
    }

    fn add_level(
        &self,
        sum: &mut Sum,
        point: &Point,
        level: u32,
        level_weight: u32,
        linear: bool,
        lane: usize,
    ) -> Result<(), Failure> {
        let level = self.image.level(level);
        let sizes = [level.width, level.height, level.depth];
        let dimensions = self.image.dimensions() as usize;
        let nothing = Axis {
            first: 0,
            weight: 0,
        };
        let mut axes = [nothing; 3];
        for k in 0..dimensions {
            let linear = match (k, self.sampler.z_linear) {
                (2, Some(z)) => z && !self.format.number().is_integer(),
                _ => linear,
            };
            axes[k] = self.axis(k, point, sizes[k], linear);
        }
        for corner in 0..1usize << dimensions {
            let mut weight = level_weight as u64;
            let mut at = [0; 3];
            for k in 0..dimensions {
                let second = (corner >> k & 1) as u32;
                let part = axes[k].weight;
                weight *= if second != 0 { part } else { 256 - part } as u64;
                at[k] = axes[k].first + second as i64;
            }
            if weight == 0 {
                continue;
            }
            let element = self.element(&level, at, point.slice, lane)?;
            // The level and each axis contribute a factor of 256, so that the weights sum to 1.
            let scale = 1.0 / (1u64 << (8 * (dimensions + 1))) as f64;
            sum.add(
                self.compared(element, point.reference),
                weight as f64 * scale,
            );
        }
        Ok(())
    }

    /// One component of several elements: that of DMASK's lowest bit, selected through DST_SEL.
    fn gather(
        &self,
        point: &Point,
        lod: Lod,
        footprint: Footprint,
        lane: usize,
    ) -> Result<([u32; 4], Number), Failure> {
        let level = self.image.level(match self.levels(lod) {
            (level, 128..) => level + 1,
            (level, _) => level,
        });
        let sizes = [level.width, level.height, level.depth];
        // Up to gfx8 the four elements of an integer format begin at the element that contains the point.
        let linear = footprint == Footprint::Square
            && (self.image.generation >= Gen::Gfx9 || self.filtered());
        let mut at = [0; 3];
        for (k, at) in at
            .iter_mut()
            .enumerate()
            .take(self.image.dimensions() as usize)
        {
            *at = self.axis(k, point, sizes[k], linear && k < 2).first;
        }
        let channel = (self.access.dmask.trailing_zeros() & 3) as usize;
        let one = |dx: i64, dy: i64| -> Result<u32, Failure> {
            let element =
                self.element(&level, [at[0] + dx, at[1] + dy, at[2]], point.slice, lane)?;
            let element = self.compared(element, point.reference);
            Ok(self.format.selected(element, self.image.select)[channel])
        };
        let number = self.number();
        Ok(match footprint {
            // Counter-clockwise from the lower left.
            Footprint::Square => ([one(0, 1)?, one(1, 1)?, one(1, 0)?, one(0, 0)?], number),
            Footprint::Row => ([one(0, 0)?, one(1, 0)?, one(2, 0)?, one(3, 0)?], number),
            Footprint::PackedRow | Footprint::PackedRow8 => {
                let mut dwords = [0; 4];
                let count = if footprint == Footprint::PackedRow {
                    4
                } else {
                    8
                };
                for k in 0..count {
                    let byte =
                        self.byte(&level, [at[0] + k as i64, at[1], at[2]], point.slice, lane)?;
                    dwords[k / 4] |= byte << (8 * (k % 4));
                }
                (dwords, Number::Uint)
            }
        })
    }

    /// The first byte of an element, unconverted; for the border 0 or 255.
    fn byte(&self, level: &Level, at: [i64; 3], slice: u32, lane: usize) -> Result<u32, Failure> {
        let sizes = [level.width, level.height, level.depth];
        let mut location = [0; 3];
        for k in 0..self.image.dimensions() as usize {
            match wrap(at[k], sizes[k] as i64, self.sampler.clamp[k]) {
                Some(x) => location[k] = x as u32,
                None if self.sampler.border == 2 => return Ok(255),
                None => return Ok(0),
            }
        }
        let slice = if self.image.kind == Kind::D3 {
            location[2]
        } else {
            slice
        };
        let address = self
            .image
            .element(level, location[0], location[1], slice, 0);
        self.machine
            .memory
            .load_u8(address)
            .map(u32::from)
            .map_err(memory(lane))
    }
}

/// A weighted sum of elements, or their minimum or maximum.
struct Sum {
    reduction: u32,
    integer: bool,
    count: u32,
    sum: [f64; 4],
    /// The only element so far, bit by bit.
    first: [u32; 4],
}

impl Sum {
    fn new(reduction: u32, number: Number) -> Sum {
        Sum {
            reduction,
            integer: number.is_integer(),
            count: 0,
            sum: [0.0; 4],
            first: [0; 4],
        }
    }

    fn add(&mut self, element: [u32; 4], weight: f64) {
        if self.count == 0 {
            self.first = element;
        }
        for (sum, bits) in self.sum.iter_mut().zip(element) {
            let value = f32::from_bits(bits) as f64;
            *sum = match self.reduction {
                1 if self.count != 0 => sum.min(value),
                2 if self.count != 0 => sum.max(value),
                1 | 2 => value,
                _ => *sum + value * weight,
            };
        }
        self.count += 1;
    }

    fn finish(self) -> [u32; 4] {
        // A single element is returned unchanged, so integers, NaN payloads and denormals are kept.
        if self.integer || self.count == 1 {
            return self.first;
        }
        self.sum.map(|value| (value as f32).to_bits())
    }
}

/// The element that element `i` of `size` wraps to. Returns `None` for the border.
fn wrap(i: i64, size: i64, mode: u32) -> Option<i64> {
    let mirrored = |i: i64| if i < 0 { -1 - i } else { i };
    let inside = |i: i64| (0..size).contains(&i).then_some(i);
    match mode {
        0 => Some(i.rem_euclid(size)),
        1 => {
            let i = i.rem_euclid(2 * size);
            Some(i.min(2 * size - 1 - i))
        }
        2 => Some(i.clamp(0, size - 1)),
        3 => Some(mirrored(i).clamp(0, size - 1)),
        5 | 7 => inside(mirrored(i)),
        _ => inside(i),
    }
}

/// A float in 1/256, rounded to the nearest and limited to the range of a level of detail.
fn fixed(x: f32) -> i32 {
    if x.is_nan() {
        return 0;
    }
    (x as f64 * 256.0)
        .clamp(-65536.0, 65536.0)
        .round_ties_even() as i32
}

/// log2 of a number that is not negative, in 2^-`bits`, rounded down; for 0 that of a very small number. Only products are
/// computed, so every host gives the same result.
fn log2_fixed(x: f64, bits: u32) -> i32 {
    let limit = 32 << bits;
    if x.is_nan() || x < f64::MIN_POSITIVE {
        return -limit;
    }
    if x.is_infinite() {
        return limit;
    }
    let mut log = (x.to_bits() >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits(x.to_bits() & ((1 << 52) - 1) | 1023 << 52);
    for _ in 0..bits {
        mantissa *= mantissa;
        log *= 2;
        if mantissa >= 2.0 {
            mantissa /= 2.0;
            log += 1;
        }
    }
    log.clamp(-limit, limit)
}

/// The direction of a position on a cube's face: `s` and `t` of `size`, as v_cubesc and v_cubetc define them.
fn direction(face: u32, s: i64, t: i64, size: i64) -> [i64; 3] {
    match face {
        0 => [size, -t, -s],
        1 => [-size, -t, s],
        2 => [s, size, t],
        3 => [s, -size, -t],
        4 => [s, -t, size],
        _ => [-s, -t, -size],
    }
}

/// The face that a direction meets, the position on it and the largest component of the direction.
fn face_of(x: i64, y: i64, z: i64) -> (u32, i64, i64, i64) {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    if az >= ax && az >= ay {
        if z < 0 {
            (5, -x, -y, az)
        } else {
            (4, x, -y, az)
        }
    } else if ay >= ax {
        if y < 0 { (3, x, -z, ay) } else { (2, x, z, ay) }
    } else if x < 0 {
        (1, z, -y, ax)
    } else {
        (0, -z, -y, ax)
    }
}
