//! Static figures of GCN kernels.
//!
//! For each kernel of a code object: the registers that are live before each instruction and the points with the most
//! ([`liveness`]), the number of waves that a SIMD can hold and its limits ([`occupancy`]), the cycles that each instruction
//! occupies the unit that issues it ([`gcn_isa::insts::timing`], by [`chip`]), the memory instructions that each s_waitcnt waits
//! for ([`waits`]), and loops with their cost ([`cost`]). The counts of a run can be added ([`profile`]).
//!
//! Each figure is one of three kinds: *measured* (in a run), *counted* (it follows from the code), or *modelled* (from public
//! tables about the hardware, and rules). No figure is a time.

#![forbid(unsafe_code)]

pub mod blocks;
pub mod chip;
pub mod cost;
pub mod json;
pub mod layout;
pub mod liveness;
pub mod occupancy;
pub mod profile;
pub mod waits;

use gcn_check::registers::{self, RegisterSet};
use gcn_check::statically::{Root, roots};
use gcn_isa::access::{File, InstructionTable};
use gcn_isa::insts::timing;
use gcn_isa::print::{Style, print, print_with_label};
use gcn_isa::target::Gen;
use gcn_object::read::CodeObject;

use crate::blocks::{Blocks, Edge};
use crate::chip::Chip;
use crate::liveness::Bound;
use crate::occupancy::Occupancy;
use crate::profile::Counts;

/// The figures of an instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Its address, as `gcn dis` shows it.
    pub pc: u64,
    /// Its text.
    pub text: String,
    /// The minimum cycles of its issue. Modelled.
    pub cycles: u32,
    /// The maximum cycles of its issue. Modelled.
    pub most_cycles: u32,
    /// True if the public table lists the instruction; otherwise the cycles are those of similar ones.
    pub listed: bool,
    /// For LDS: the minimum number of cycles between two of these instructions of a compute unit. Modelled.
    pub lds_throughput: Option<u16>,
    /// Cycles that it waits for the instruction before it, if no other wave of the SIMD fills them. Modelled.
    pub stall: u32,
    /// The registers that are live before it. Counted.
    pub live: RegisterSet,
    /// VGPRs among them.
    pub live_vgprs: u32,
    /// SGPRs among them.
    pub live_sgprs: u32,
    /// The addresses of the instructions that it waits for. Counted.
    pub waits_for: Vec<u64>,
    /// The source file and line.
    pub line: Option<String>,
    /// The block that contains it.
    pub block: usize,
    /// The number of its executions. Measured.
    pub counts: Option<Counts>,
}

/// A block, by the numbers of its first and last instruction.
#[derive(Clone, Debug)]
pub struct BlockInfo {
    /// The first instruction.
    pub first: usize,
    /// The last.
    pub last: usize,
    /// The blocks that may follow.
    pub next: Vec<Edge>,
    /// The number of loops that contain it.
    pub depth: usize,
    /// The sums of the minimum and of the maximum cycles of its instructions.
    pub cycles: (u64, u64),
}

/// A loop.
#[derive(Clone, Debug)]
pub struct LoopInfo {
    /// The address of the first instruction of its header.
    pub header: u64,
    /// The addresses of the jumps back.
    pub latches: Vec<u64>,
    /// Its blocks.
    pub blocks: Vec<usize>,
    /// The number of the loop around it.
    pub parent: Option<usize>,
    /// The number of loops that contain it, including itself.
    pub depth: usize,
    /// The number of its instructions, including those of inner loops.
    pub instructions: usize,
    /// The cycles of an iteration on the path with the fewest and on the path with the most, with one iteration of each inner
    /// loop. Modelled.
    pub cycles: (u64, u64),
    /// The most VGPRs and SGPRs that are live in it.
    pub live: (u32, u32),
    /// The number of executions of its header. Measured.
    pub iterations: Option<u64>,
}

/// The point with the most live registers of a kind.
#[derive(Clone, Debug, Default)]
pub struct Peak {
    /// The number of live registers.
    pub count: u32,
    /// The addresses of all instructions before which this number is live.
    pub at: Vec<u64>,
    /// The names of the registers at the first of them.
    pub registers: Vec<String>,
}

/// The figures of a kernel or function.
pub struct Analysis {
    /// Its name.
    pub name: String,
    /// The occupancy of a kernel; `None` for a function, which has none of its own.
    pub occupancy: Option<KernelOccupancy>,
    /// The chip for which cycles are given.
    pub chip: Chip,
    /// Its instructions that are reachable from the entry, by ascending address.
    pub instructions: Vec<Instruction>,
    /// Its blocks, by ascending address.
    pub blocks: Vec<BlockInfo>,
    /// The block that runs first.
    pub entry: usize,
    /// Its loops, outer ones first.
    pub loops: Vec<LoopInfo>,
    /// Loops with several entries: the addresses of a jump back and of its target. They have no cost.
    pub irreducible: Vec<(u64, u64)>,
    /// The accuracy of the counts of live registers.
    pub bound: Bound,
    /// The most live VGPRs.
    pub vgprs: Peak,
    /// The most live SGPRs.
    pub sgprs: Peak,
}

/// The occupancy of a kernel, and the reductions that would raise it.
#[derive(Clone, Copy, Debug)]
pub struct KernelOccupancy {
    /// The occupancy.
    pub occupancy: Occupancy,
    /// VGPRs and SGPRs that the kernel uses: from the metadata, or the allocated ones.
    pub used: (u32, u32),
    /// The number of VGPRs by which fewer would allow one more wave, counting VGPRs alone; `None` if they allow the maximum.
    pub fewer_vgprs: Option<u32>,
    /// The same for SGPRs; also `None` if the chip gives every wave the same number.
    pub fewer_sgprs: Option<u32>,
    /// The same for bytes of LDS.
    pub fewer_lds: Option<u64>,
}

/// The cost of stalls with each counted once, at the occupancy of the kernel. Modelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stalls {
    /// The number of instructions that wait for the one before them.
    pub instructions: usize,
    /// Their cycles, if no other wave runs.
    pub cycles: u64,
    /// The cycles that remain if all other waves of the SIMD are ready.
    pub exposed: u64,
}

/// The minimum cycles that a SIMD issues for a wave before the next wave's turn.
const LEAST_ISSUE: u32 = 4;

impl Analysis {
    /// The number of waves of a SIMD. A function has no occupancy of its own and counts as one.
    pub fn waves(&self) -> u32 {
        self.occupancy.as_ref().map_or(1, |o| o.occupancy.waves())
    }

    /// Returns the cycles of a stall that the other waves of the SIMD cannot fill at the kernel's occupancy, even if all are ready:
    /// each fills at least four.
    pub fn exposed(&self, stall: u32) -> u32 {
        stall.saturating_sub(LEAST_ISSUE * self.waves().saturating_sub(1))
    }

    /// Sums the stalls, each once.
    pub fn stalls(&self) -> Stalls {
        let stalls = || self.instructions.iter().map(|i| i.stall).filter(|s| *s > 0);
        Stalls {
            instructions: stalls().count(),
            cycles: stalls().map(u64::from).sum(),
            exposed: stalls().map(|s| u64::from(self.exposed(s))).sum(),
        }
    }
}

/// The options of the analysis.
pub struct Options<'a> {
    /// The kernel or function; by default all kernels.
    pub kernel: Option<&'a str>,
    /// The chip; by default the one that stands for the target.
    pub chip: Option<Chip>,
    /// The source line of an address in a section.
    pub line: &'a dyn Fn(usize, u64) -> Option<String>,
}

/// Analyzes the kernels of a code object.
///
/// # Errors
/// A sentence: the chip does not run the code, there is no such kernel, or code is missing from the file.
pub fn analyze(
    object: &CodeObject,
    table: &InstructionTable,
    options: &Options<'_>,
) -> Result<Vec<Analysis>, String> {
    let target = table.target();
    let chip = options.chip.unwrap_or(Chip::of(target));
    if chip.target.generation() != target.generation() {
        return Err(format!(
            "the code is for {}, of {}, and {} is a chip of {}: name a chip of {}",
            target.name(),
            target.generation().name(),
            chip.name,
            chip.target.generation().name(),
            target.generation().name(),
        ));
    }
    let mut roots = roots(object)?;
    match options.kernel {
        Some(name) => {
            let known: Vec<&str> = roots.iter().map(|r| r.name.as_str()).collect();
            if !known.contains(&name) {
                let known = match known.as_slice() {
                    [] => "it has none".to_string(),
                    list => format!("it has {}", list.join(", ")),
                };
                return Err(format!(
                    "there is no kernel or function `{name}` in the file; {known}"
                ));
            }
            roots.retain(|root| root.name == name);
        }
        None => roots.retain(|root| root.kernel.is_some()),
    }
    if roots.is_empty() {
        return Err("there is no kernel in the file; --kernel names a function".into());
    }
    (roots.iter())
        .map(|root| one(object, table, root, chip, options))
        .collect()
}

fn one(
    object: &CodeObject,
    table: &InstructionTable,
    root: &Root,
    chip: Chip,
    options: &Options<'_>,
) -> Result<Analysis, String> {
    let graph = root.graph(object, table)?;
    let generation = graph.target().generation();
    let blocks = Blocks::new(&graph);
    let live = liveness::liveness(&graph);
    let waits = waits::waits(&graph, &blocks);
    let mut instructions: Vec<Instruction> = Vec::with_capacity(graph.sites.len());
    for (at, site) in graph.sites.iter().enumerate() {
        let issue = timing::issue(site.insn.row);
        let (cycles, most) = cost::issue(&graph, at, chip);
        let set = live.before[at];
        let pc = |n: &usize| graph.sites[*n].pc;
        instructions.push(Instruction {
            pc: site.pc,
            text: text(&graph, at),
            cycles,
            most_cycles: most,
            listed: issue.listed,
            lds_throughput: issue.throughput,
            stall: cost::stall(&graph, at),
            live: set,
            live_vgprs: set.of(File::Vector).count() as u32,
            live_sgprs: sgprs(&set, generation).count() as u32,
            waits_for: waits[at].iter().map(pc).collect(),
            line: (options.line)(root.section, site.pc),
            block: blocks.of_site[at],
            counts: None,
        });
    }
    let loops = cost::loops(&graph, &blocks, &instructions);
    let infos = blocks.blocks.iter().map(|block| {
        let of = |f: fn(&Instruction) -> u32| {
            let sites = block.sites.iter();
            sites.map(|at| u64::from(f(&instructions[*at]))).sum()
        };
        BlockInfo {
            first: block.sites.first().copied().unwrap_or(0),
            last: block.sites.last().copied().unwrap_or(0),
            next: block.next.clone(),
            depth: block.in_loop.map_or(0, |n| blocks.loops[n].depth),
            cycles: (of(|i| i.cycles), of(|i| i.most_cycles)),
        }
    });
    let infos: Vec<BlockInfo> = infos.collect();
    let last_pc = |block: usize| {
        let last = blocks.blocks[block].sites.last();
        last.map_or(0, |at| graph.sites[*at].pc)
    };
    let irreducible = (blocks.irreducible.iter())
        .map(|&(from, to)| (last_pc(from), graph.sites[infos[to].first].pc))
        .collect();
    let kernel = root.kernel.map(|n| &object.kernels[n]);
    Ok(Analysis {
        name: root.name.clone(),
        occupancy: kernel.map(|kernel| kernel_occupancy(object, kernel, generation)),
        chip,
        vgprs: peak(
            &instructions,
            |i| i.live_vgprs,
            |set| ranges(File::Vector, set.of(File::Vector), generation),
        ),
        sgprs: peak(
            &instructions,
            |i| i.live_sgprs,
            |set| ranges(File::Scalar, sgprs(set, generation), generation),
        ),
        instructions,
        blocks: infos,
        entry: blocks.entry,
        loops,
        irreducible,
        bound: live.bound,
    })
}

/// The SGPRs that instructions can name by their numbers: without VCC and others that have names.
fn sgprs(set: &RegisterSet, generation: Gen) -> impl Iterator<Item = u16> {
    set.of(File::Scalar)
        .filter(move |n| *n < generation.sgprs())
}

/// The names of registers; consecutive registers are joined to ranges.
fn ranges(file: File, all: impl Iterator<Item = u16>, generation: Gen) -> Vec<String> {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for register in all {
        match ranges.last_mut() {
            Some((_, end)) if *end == register => *end += 1,
            _ => ranges.push((register, register + 1)),
        }
    }
    // A range has at most 255 registers in a name.
    let name = |(first, end): (u16, u16)| match end - first {
        256 => "v[0:255]".to_string(),
        count => registers::names(file, first, count as u8, generation),
    };
    ranges.into_iter().map(name).collect()
}

fn peak(
    instructions: &[Instruction],
    count: impl Fn(&Instruction) -> u32,
    names: impl Fn(&RegisterSet) -> Vec<String>,
) -> Peak {
    let most = instructions.iter().map(&count).max().unwrap_or(0);
    if most == 0 {
        return Peak::default();
    }
    let at: Vec<&Instruction> = instructions.iter().filter(|i| count(i) == most).collect();
    Peak {
        count: most,
        at: at.iter().map(|i| i.pc).collect(),
        registers: at.first().map(|i| names(&i.live)).unwrap_or_default(),
    }
}

fn kernel_occupancy(
    object: &CodeObject,
    kernel: &gcn_object::read::Kernel,
    generation: Gen,
) -> KernelOccupancy {
    let occupancy = Occupancy::of(object, kernel, generation);
    let used = match &kernel.metadata {
        Some(m) if m.vgpr_count != 0 || m.sgpr_count != 0 => {
            (m.vgpr_count as u32, m.sgpr_count as u32)
        }
        _ => (occupancy.vgprs, occupancy.sgprs),
    };
    let more = |by: u32| (by < occupancy::MOST_WAVES).then_some(by + 1);
    let fixed = object.target.machine.sgpr_init_bug;
    KernelOccupancy {
        occupancy,
        used,
        fewer_vgprs: more(occupancy.by_vgprs)
            .map(|waves| used.0.saturating_sub(Occupancy::most_vgprs(waves))),
        fewer_sgprs: more(occupancy.by_sgprs).filter(|_| !fixed).map(|waves| {
            used.1
                .saturating_sub(Occupancy::most_sgprs(generation, waves))
        }),
        fewer_lds: occupancy.fewer_lds(generation),
    }
}

/// The text of an instruction as `gcn dis` writes it.
fn text(graph: &gcn_check::code::Graph<'_>, at: usize) -> String {
    let site = &graph.sites[at];
    let mut text = String::new();
    match site.flow.target(site.pc, &site.insn) {
        Some(to) => print_with_label(&site.insn, &Style::LLVM, &format!(".L{to:x}"), &mut text),
        None => print(&site.insn, &Style::LLVM, &mut text),
    }
    text
}
