//! Example code.

use serde_json::{Value, json};

/// An example.
pub struct Example {
    /// Its name in links.
    pub id: &'static str,
    /// Its name in the list.
    pub title: &'static str,
    /// The source.
    pub source: &'static str,
    /// The target.
    pub arch: &'static str,
    /// Registers before a run, for a snippet.
    pub registers: &'static str,
    /// The kernel, work-items, work-items of a workgroup and arguments, for a kernel.
    pub launch: [&'static str; 4],
}

/// All examples; the page begins with the first.
pub static EXAMPLES: &[Example] = &[
    Example {
        id: "divergence",
        title: "Divergent lanes: absolute values",
        source: include_str!("../page/examples/divergence.s"),
        arch: "gfx900",
        registers: "",
        launch: ["", "64", "64", ""],
    },
    Example {
        id: "lds",
        title: "A sum over lanes through LDS",
        source: include_str!("../page/examples/lds.s"),
        arch: "gfx803",
        registers: "",
        launch: ["", "64", "64", ""],
    },
    Example {
        id: "collatz",
        title: "A scalar loop: Collatz",
        source: include_str!("../page/examples/collatz.s"),
        arch: "gfx701",
        registers: "s0 = 27\n",
        launch: ["", "64", "64", ""],
    },
    Example {
        id: "waits",
        title: "What the checker finds: a missing wait",
        source: include_str!("../page/examples/waits.s"),
        arch: "gfx900",
        registers: "s[0:1] = 0x1000\nmem[0x1000] = 7, mem[0x1004] = 35\n",
        launch: ["", "64", "64", ""],
    },
    Example {
        id: "saxpy",
        title: "Kernel: saxpy",
        source: include_str!("../page/examples/saxpy.s"),
        arch: "gfx803",
        registers: "",
        launch: [
            "saxpy",
            "256",
            "256",
            "buf:randf32:1024:1\nbuf:randf32:1024:2\nu32:200\nf32:2\n",
        ],
    },
    Example {
        id: "mandelbrot",
        title: "Kernel: the Mandelbrot set",
        source: include_str!("../page/examples/mandelbrot.s"),
        arch: "gfx900",
        registers: "",
        launch: [
            "mandelbrot",
            "64,4",
            "64",
            "buf:zero:1024\nu32:64\nu32:4\nf32:-2.2\nf32:-0.5\nf32:0.046875\nf32:0.3\nu32:30\n",
        ],
    },
    Example {
        id: "sums",
        title: "Kernels: sums with LDS and a grid barrier",
        source: include_str!("../page/examples/sums.s"),
        arch: "gfx900",
        registers: "",
        launch: ["block_sums", "512", "256", "buf:rand:2048:1\nbuf:zero:8\n"],
    },
];

impl Example {
    /// The document that the page opens.
    pub fn document(&self) -> Value {
        json!({
            "name": self.title,
            "example": self.id,
            "source": self.source,
            "arch": self.arch,
            "syntax": "auto",
            "registers": self.registers,
            "kernel": self.launch[0],
            "grid": self.launch[1],
            "group": self.launch[2],
            "args": self.launch[3],
        })
    }
}
