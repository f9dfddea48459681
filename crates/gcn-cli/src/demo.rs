//! `gcn demo`: assembles the Mandelbrot kernel of examples/, runs it and draws the result.

use std::fmt::Write as _;

use gcn::emu::dispatch::Stats;
use gcn::gpu::{self, Arg, Gpu};
use gcn::isa::Target;

/// The kernel's source.
pub static SOURCE: &str = include_str!("../text/mandelbrot.s");

/// The maximum number of iterations per pixel.
const ITERATIONS: u32 = 200;

/// A picture: iterations of each pixel, row by row.
pub struct Picture {
    /// Pixels of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The iterations of each pixel.
    pub iterations: Vec<u32>,
    /// The number of instructions that waves executed.
    pub instructions: u64,
    /// The number of waves.
    pub waves: u64,
}

/// Assembles and runs the kernel for a picture of `width` by `height` pixels that are `aspect`
/// times as high as they are wide.
///
/// # Errors
/// The error of the assembler or the machine.
pub fn compute(width: u32, height: u32, aspect: f32) -> Result<Picture, String> {
    let object = gpu::assemble(SOURCE, "mandelbrot.s", None).map_err(|e| e.to_string())?;
    let target = Target::parse(object.target_name()).ok_or("the kernel's target is unknown")?;

    // The complete set, centred.
    let step = (3.1 / width as f32).max(2.5 / (height as f32 * aspect));
    let dy = step * aspect;
    let (x0, y0) = (-0.7 - step * width as f32 / 2.0, -dy * height as f32 / 2.0);
    let count = width as usize * height as usize;
    let run = || -> Result<(Vec<u32>, Stats), gpu::Error> {
        let gpu = Gpu::with_memory(target, count as u64 * 4 + (64 << 20))?;
        let image = gpu.zeros::<u32>(count)?;
        let stats = gpu
            .load_object(object)?
            .kernel("mandelbrot")?
            .launch([width, height], [64])
            .arg(&image)
            .arg(width)
            .arg(height)
            .args([x0, y0, step, dy].map(Arg::from))
            .arg(ITERATIONS)
            .run()?;
        Ok((image.read()?, stats))
    };
    let (iterations, stats) = run().map_err(|e| e.to_string())?;
    Ok(Picture {
        width,
        height,
        iterations,
        instructions: stats.instructions,
        waves: stats.waves,
    })
}

impl Picture {
    fn at(&self, x: u32, y: u32) -> u32 {
        self.iterations[(y * self.width + x) as usize]
    }

    /// A pixel's red, green and blue.
    pub fn colour(&self, x: u32, y: u32) -> [u8; 3] {
        let n = self.at(x, y);
        if n >= ITERATIONS {
            return [8, 8, 16];
        }
        // Three waves of different length, which give neighbouring counts similar colours.
        let t = (n as f32).sqrt() * 0.55;
        let wave = |phase: f32| ((0.5 - 0.5 * (t + phase).cos()) * 255.0) as u8;
        [wave(-0.9), wave(-0.25), wave(0.6)]
    }

    /// Two pixels per character, in 24-bit colour.
    pub fn half_blocks(&self) -> String {
        let mut out = String::new();
        for y in (0..self.height - self.height % 2).step_by(2) {
            for x in 0..self.width {
                let ([r, g, b], [s, h, c]) = (self.colour(x, y), self.colour(x, y + 1));
                let _ = write!(out, "\x1b[38;2;{r};{g};{b}m\x1b[48;2;{s};{h};{c}m▀");
            }
            out.push_str("\x1b[0m\n");
        }
        out
    }

    /// One pixel per character, in plain ASCII.
    pub fn ascii(&self) -> String {
        const SHADES: &[u8] = b" .,:;i1tfLCG08@";
        let mut out = String::new();
        for y in 0..self.height {
            let mut row = String::new();
            for x in 0..self.width {
                let n = self.at(x, y);
                let shade = if n >= ITERATIONS {
                    b'#'
                } else {
                    SHADES[((n as f32).sqrt() * 1.3) as usize % SHADES.len()]
                };
                row.push(shade as char);
            }
            out.push_str(row.trim_end());
            out.push('\n');
        }
        out
    }

    /// A PNG file.
    ///
    /// # Errors
    /// The error of the encoder.
    pub fn png(&self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(|e| e.to_string())?;
        let mut pixels = Vec::with_capacity(self.iterations.len() * 3);
        for y in 0..self.height {
            for x in 0..self.width {
                pixels.extend(self.colour(x, y));
            }
        }
        writer
            .write_image_data(&pixels)
            .map_err(|e| e.to_string())?;
        writer.finish().map_err(|e| e.to_string())?;
        Ok(bytes)
    }
}
