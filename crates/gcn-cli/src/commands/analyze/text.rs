//! An analysis as text.

use std::fmt::Write as _;

use gcn::analyze::chip::Chip;
use gcn::analyze::liveness::Bound;
use gcn::analyze::occupancy::MOST_WAVES;
use gcn::analyze::{Analysis, Instruction, KernelOccupancy, Peak};

/// The maximum number of listed addresses of a peak or of a wait.
const LISTED: usize = 4;

/// All kernels.
pub fn text(chip: &Chip, kernels: &[Analysis]) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "chip {} ({}, double precision at 1/{} of single)",
        chip.name,
        chip.target.name(),
        chip.double_rate()
    );
    for kernel in kernels {
        one(&mut out, kernel);
    }
    out
}

/// The first addresses, and the number of the others.
fn addresses(all: &[u64]) -> String {
    let shown: Vec<String> = all
        .iter()
        .take(LISTED)
        .map(|pc| format!("{pc:#x}"))
        .collect();
    match all.len().saturating_sub(LISTED) {
        0 => shown.join(" "),
        more => format!("{} and {more} more", shown.join(" ")),
    }
}

/// Describes the accuracy of a figure of live registers.
pub fn bound(bound: Bound) -> &'static str {
    match bound {
        Bound::Exact => "counted",
        Bound::Lower => "counted; at least, as calls, returns or indirect jumps may read more",
        Bound::Upper => "counted; at most, as the numbers of some registers are computed",
        Bound::Estimate => {
            "counted; an estimate, as calls may read more and the numbers of some registers are computed"
        }
    }
}

fn peak(out: &mut String, name: &str, peak: &Peak) {
    let _ = write!(out, "  live {name:<9} at most {}", peak.count);
    if let Some(first) = peak.at.first() {
        let _ = write!(out, ", before {first:#x}: {}", peak.registers.join(", "));
        if peak.at.len() > 1 {
            let _ = write!(out, " (as many before {})", addresses(&peak.at[1..]));
        }
    }
    out.push('\n');
}

/// The limits of the occupancy, one per line.
pub fn limits(o: &KernelOccupancy) -> Vec<String> {
    let of = &o.occupancy;
    let fewer = |n: Option<u64>, what: &str, waves: u32| match n {
        None => String::new(),
        Some(n) => format!("; {n} {what} fewer allow {}", waves + 1),
    };
    vec![
        format!(
            "VGPRs: {} used, {} allocated, allow {} waves{}",
            o.used.0,
            of.vgprs,
            of.by_vgprs,
            fewer(o.fewer_vgprs.map(u64::from), "VGPRs", of.by_vgprs)
        ),
        format!(
            "SGPRs: {} used, {} allocated, allow {} waves{}",
            o.used.1,
            of.sgprs,
            of.by_sgprs,
            fewer(o.fewer_sgprs.map(u64::from), "SGPRs", of.by_sgprs)
        ),
        format!(
            "LDS: {} bytes allocated, allow {} waves{}",
            of.lds,
            of.by_lds,
            fewer(o.fewer_lds, "bytes", of.by_lds)
        ),
        format!(
            "workgroups of {} waves allow {} waves",
            of.workgroup_waves, of.by_workgroups
        ),
    ]
}

/// The number of waves and its limit.
pub fn waves(o: &KernelOccupancy) -> String {
    let waves = o.occupancy.waves();
    let limit = match o.occupancy.limited_by().as_slice() {
        ["waves"] => "the most there are".to_string(),
        list => format!("limited by {}", list.join(", ")),
    };
    format!("{waves} of {MOST_WAVES} waves a SIMD, {limit}")
}

/// The cost of stalls; `None` if there are none.
pub fn stalls(kernel: &Analysis) -> Option<String> {
    let stalls = kernel.stalls();
    let waves = kernel.waves();
    let rest = match stalls.exposed {
        0 => format!("at {waves} waves a SIMD the others fill all of them if they are ready"),
        _ if waves == 1 => "one wave a SIMD fills none of them".to_string(),
        exposed => format!("at {waves} waves a SIMD at least {exposed} of them remain"),
    };
    (stalls.instructions > 0).then(|| {
        let plural = if stalls.instructions == 1 { "" } else { "s" };
        format!(
            "{} cycles before {} instruction{plural}, each once; {rest}",
            stalls.cycles, stalls.instructions
        )
    })
}

fn one(out: &mut String, kernel: &Analysis) {
    let _ = writeln!(out, "\n{}", kernel.name);
    if let Some(o) = &kernel.occupancy {
        let _ = writeln!(out, "  occupancy      {} (modelled)", waves(o));
        for line in limits(o) {
            let _ = writeln!(out, "    {line}");
        }
    }
    peak(out, "VGPRs", &kernel.vgprs);
    peak(out, "SGPRs", &kernel.sgprs);
    let _ = writeln!(out, "    ({})", bound(kernel.bound));
    if let Some(stalls) = stalls(kernel) {
        let _ = writeln!(out, "  stalls         {stalls} (modelled)");
    }
    for found in &kernel.loops {
        let indent = "  ".repeat(found.depth);
        let _ = write!(
            out,
            "{indent}loop at {:#x}: {} instructions, {} cycles of issue an iteration (modelled), at most {} VGPRs and {} SGPRs live",
            found.header,
            found.instructions,
            cycles(found.cycles.0, found.cycles.1),
            found.live.0,
            found.live.1
        );
        if let Some(iterations) = found.iterations {
            let _ = write!(out, ", ran {iterations} times (measured)");
        }
        out.push('\n');
    }
    for (from, to) in &kernel.irreducible {
        let _ = writeln!(
            out,
            "  the jump at {from:#x} goes back to {to:#x}, which can be reached around it: a loop without a cost"
        );
    }
    if let Some(issued) = kernel.issued() {
        let _ = writeln!(
            out,
            "  issued         {issued} cycles in the run (measured counts, modelled cycles)"
        );
    }
    let measured = kernel.instructions.iter().any(|i| i.counts.is_some());
    let counts = if measured { "        times" } else { "" };
    let _ = writeln!(
        out,
        "\n   address  cycles stall  vgprs sgprs{counts}  instruction"
    );
    for block in &kernel.blocks {
        let instructions = &kernel.instructions[block.first..=block.last];
        if block.first != kernel.blocks[kernel.entry].first || kernel.blocks.len() > 1 {
            let label = instructions.first().map_or(0, |i| i.pc);
            let _ = writeln!(out, ".L{label:x}:");
        }
        for i in instructions {
            instruction(out, i);
        }
    }
    let similar = kernel.instructions.iter().any(|i| !i.listed);
    if similar {
        out.push_str("  ~ the public table does not list the instruction; the cycles are those of similar ones\n");
    }
}

/// One number, or a range.
pub fn cycles(least: u64, most: u64) -> String {
    match least == most {
        true => least.to_string(),
        false => format!("{least}-{most}"),
    }
}

fn instruction(out: &mut String, i: &Instruction) {
    let mut time = cycles(i.cycles.into(), i.most_cycles.into());
    if !i.listed {
        time.insert(0, '~');
    }
    let stall = match i.stall {
        0 => String::new(),
        n => format!("+{n}"),
    };
    let _ = write!(
        out,
        "{:>10}  {time:>6} {stall:>5}  {:>5} {:>5}",
        format!("{:#x}", i.pc),
        i.live_vgprs,
        i.live_sgprs
    );
    if let Some(counts) = i.counts {
        let _ = write!(out, " {:>12}", counts.times);
    }
    let _ = write!(out, "  {}", i.text);
    if !i.waits_for.is_empty() {
        let _ = write!(out, "    ; waits for {}", addresses(&i.waits_for));
    }
    out.push('\n');
}
