//! The table of kernels of programs in Debian. Their packages are fetched for measuring; the repository contains none of them.
//!
//! To add a kernel, add an entry to the file of its program (or a new file to [`all`]) with the location of its text, the
//! compiler options of the program, and the parameters of the launch.

mod boost;
mod bullet;
mod clblast;
mod clpeak;
mod darktable;
mod fetch;
mod gegl;
mod hashcat;
mod leela;
mod mandelbulber;
mod opencv;
mod opencv_dnn;
mod opencv_imgproc;
mod opencv_vision;
mod openmm;
mod pyfai;
mod python;
mod qgis;
mod silx;
mod small;
mod ufo;
mod viennacl;
mod xrt;

pub use fetch::{Prepared, prepare};

use super::cases::Case;
use super::data::Arg;

/// A kernel.
pub struct Entry {
    /// Its name in the table: the program, a dot, and the kernel, with a word for the variant if there are several.
    pub name: &'static str,
    /// The location of its text.
    pub text: Text,
    /// The options for both compilers. The folder of the text's file is always searched for included files.
    pub options: &'static str,
    /// The kernel's name in the text, which determines its half of the set.
    pub kernel: &'static str,
    /// The number of work-items.
    pub grid: [u32; 3],
    /// The number of work-items of a workgroup.
    pub group: [u32; 3],
    /// Makes the arguments.
    pub args: fn() -> Vec<Arg>,
}

/// The text of a program in OpenCL C.
#[derive(Clone, Copy)]
pub enum Text {
    /// Files of packages, one after the other: the package, and the path in it.
    Files(&'static [(&'static str, &'static str)]),
    /// Texts inside of a package's program or library: each is the C string (up to the zeros on both sides) that contains these
    /// words. A `*` at the end of the path stands for a version.
    Inside(&'static str, &'static str, &'static [&'static str]),
    /// Texts inside of a Python program: each is the string in triple quotation marks that contains these words.
    Quoted(&'static str, &'static str, &'static [&'static str]),
    /// The text that a C++ header appends line by line: the string literals between the first line that contains some words and
    /// the next one that contains others.
    Literals {
        /// The package's name.
        package: &'static str,
        /// The header's path in it.
        file: &'static str,
        /// The words in the first line.
        from: &'static str,
        /// The words in the line after the text.
        to: &'static str,
        /// Words outside of literals that stand for literals.
        replace: &'static [(&'static str, &'static str)],
    },
}

impl Text {
    /// The packages' names.
    pub fn packages(self) -> Vec<&'static str> {
        match self {
            Text::Files(files) => files.iter().map(|file| file.0).collect(),
            Text::Inside(package, ..)
            | Text::Quoted(package, ..)
            | Text::Literals { package, .. } => vec![package],
        }
    }
}

/// A half of the set: the first may be used while the engine is improved, the second is only for final measurements.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Half {
    /// The kernels whose names' CRC-32 is even.
    Build,
    /// The other kernels, which are not examined.
    HeldOut,
}

impl Half {
    pub fn name(self) -> &'static str {
        match self {
            Half::Build => "build",
            Half::HeldOut => "held-out",
        }
    }
}

impl Entry {
    /// Returns its half, by a rule that was chosen before the kernels.
    pub fn half(&self) -> Half {
        match crc32(self.kernel.as_bytes()) % 2 {
            0 => Half::Build,
            _ => Half::HeldOut,
        }
    }

    pub fn case(&self) -> Case {
        Case {
            name: self.name,
            file: self.name,
            kernel: self.kernel,
            grid: self.grid,
            group: self.group,
            args: self.args,
        }
    }
}

/// All kernels.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    let tables: [&'static [Entry]; 22] = [
        darktable::KERNELS,
        silx::KERNELS,
        pyfai::KERNELS,
        gegl::KERNELS,
        opencv::KERNELS,
        opencv_imgproc::KERNELS,
        clpeak::KERNELS,
        clblast::KERNELS,
        viennacl::KERNELS,
        openmm::KERNELS,
        leela::KERNELS,
        hashcat::KERNELS,
        small::KERNELS,
        ufo::KERNELS,
        bullet::KERNELS,
        opencv_dnn::KERNELS,
        opencv_vision::KERNELS,
        python::KERNELS,
        xrt::KERNELS,
        qgis::KERNELS,
        boost::KERNELS,
        mandelbulber::KERNELS,
    ];
    tables.into_iter().flatten()
}

/// The kernel of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    all().find(|entry| entry.name == name)
}

/// The CRC-32 of zlib, PNG and Ethernet.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| match crc & 1 {
            0 => crc >> 1,
            _ => crc >> 1 ^ 0xedb8_8320,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_halves_are_by_the_common_crc() {
        // The published check value of this CRC.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn entries_are_well_formed() {
        let mut names: Vec<&str> = all().map(|entry| entry.name).collect();
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None, "a name stands for one kernel");
        for entry in all() {
            let (grid, group) = (entry.grid, entry.group);
            let whole = (0..3).all(|n| group[n] > 0 && grid[n] % group[n] == 0);
            assert!(
                whole,
                "{}: {grid:?} is not whole workgroups of {group:?}",
                entry.name
            );
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            assert!(
                entry.name.chars().all(plain),
                "{} is a file's name",
                entry.name
            );
        }
    }
}
