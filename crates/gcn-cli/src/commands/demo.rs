//! `gcn demo`: an example kernel and its picture.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;
use gcn::io;
use gcn_cli::demo;

#[derive(Args)]
pub struct Options {
    /// Also write the picture as a PNG file
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "mandelbrot.png")]
    png: Option<PathBuf>,
    /// Pixels in x and y
    #[arg(long, value_name = "WxH", value_parser = size)]
    size: Option<(u32, u32)>,
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let expected = "expected WxH, as 640x480, each 1 to 8192";
    let (w, h) = text.split_once('x').ok_or(expected)?;
    let side = |t: &str| {
        t.parse()
            .ok()
            .filter(|n| (1..=8192).contains(n))
            .ok_or(expected)
    };
    Ok((side(w)?, side(h)?))
}

/// Computes the picture and draws it.
///
/// # Errors
/// A message: a fault of the program, or a file that cannot be written.
pub fn run(args: &Options) -> Result<(), String> {
    let terminal = std::io::stdout().is_terminal();
    let (width, height) = args
        .size
        .unwrap_or(if terminal { (96, 72) } else { (78, 34) });
    // A character is about twice as high as wide; half blocks make pixels of that square.
    let picture = demo::compute(width, height, if terminal { 1.0 } else { 2.1 })?;
    let mut text = if terminal {
        picture.half_blocks()
    } else {
        picture.ascii()
    };
    text.push_str(&format!(
        "{} waves ran {} instructions of gfx900 code ({} by {} pixels). Source: examples/mandelbrot.s\n",
        picture.waves, picture.instructions, width, height
    ));
    io::print(text.as_bytes())?;
    if let Some(path) = &args.png {
        let (width, height) = args.size.unwrap_or((640, 480));
        let large = demo::compute(width, height, 1.0)?;
        io::write(path, &large.png()?)?;
        io::complain(&format!("wrote {}\n", path.display()));
    }
    Ok(())
}
