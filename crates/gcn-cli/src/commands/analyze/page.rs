//! An analysis as one self-contained page of HTML.

use std::fmt::Write as _;

use gcn::analyze::chip::Chip;
use gcn::analyze::layout::{HEIGHT, WIDTH, layout};
use gcn::analyze::{Analysis, Instruction};

use super::text;

const STYLE: &str = "\
:root{color-scheme:light dark;--fg:#1b1f24;--bg:#fff;--dim:#57606a;--line:#d0d7de;--bar:#b6d4fe;--sbar:#c9e7c9;--box:#f6f8fa;--taken:#0550ae;--hot:#b35900}
@media(prefers-color-scheme:dark){:root{--fg:#e6edf3;--bg:#0d1117;--dim:#9198a1;--line:#3d444d;--bar:#1f4b80;--sbar:#235c33;--box:#161b22;--taken:#79b8ff;--hot:#ffb366}}
body{font:14px/1.45 system-ui,sans-serif;color:var(--fg);background:var(--bg);margin:1.5em;max-width:90em}
h1{font-size:1.4em}h2{font-size:1.2em;border-top:1px solid var(--line);padding-top:.8em}h3{font-size:1em}
.kind{color:var(--dim);font-size:.85em}code,td,text{font-family:ui-monospace,monospace}
table{border-collapse:collapse;font-size:12.5px}td,th{padding:1px .7em;text-align:right;white-space:pre}
th{position:sticky;top:0;background:var(--bg);border-bottom:1px solid var(--line)}
td.t,th.t{text-align:left}tr{scroll-margin-top:2.5em}tr.b td{border-top:1px solid var(--line)}tr:target td{outline:2px solid var(--taken)}
.v{background:linear-gradient(to left,var(--bar) var(--p),transparent var(--p))}
.s{background:linear-gradient(to left,var(--sbar) var(--p),transparent var(--p))}
.g{overflow:auto;max-height:80vh;border:1px solid var(--line)}
svg text{font-size:11px;fill:var(--fg)}svg .d{fill:var(--dim)}svg rect{fill:var(--box);stroke:var(--dim)}
svg polyline{fill:none;stroke:var(--dim)}svg polyline.k{stroke:var(--taken)}svg a:focus rect,svg a:hover rect{stroke:var(--taken);stroke-width:2}
svg .h{stroke:var(--hot);stroke-width:2}a{color:var(--taken)}
";

/// Escapes text for HTML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// The page.
pub fn page(file: &str, chip: &Chip, kernels: &[Analysis]) -> String {
    let mut out = String::new();
    let file = escaped(file);
    let _ = writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{file}: analysis</title>\n<style>\n{STYLE}</style></head>\n<body>\n<main>\n<h1>{file}</h1>"
    );
    let _ = writeln!(
        out,
        "<p>Chip {} ({}), double precision at 1/{} of single. Each figure is <em>measured</em> (in a run), <em>counted</em> \
         (from the code) or <em>modelled</em> (from public tables about the hardware); none is a time.</p>",
        chip.name,
        chip.target.name(),
        chip.double_rate()
    );
    if kernels.len() > 1 {
        out.push_str("<ul>\n");
        for (n, kernel) in kernels.iter().enumerate() {
            let name = escaped(&kernel.name);
            let _ = writeln!(out, "<li><a href=\"#k{n}\"><code>{name}</code></a></li>");
        }
        out.push_str("</ul>\n");
    }
    for (n, kernel) in kernels.iter().enumerate() {
        one(&mut out, n, kernel);
    }
    out.push_str("</main>\n</body></html>\n");
    out
}

fn one(out: &mut String, number: usize, kernel: &Analysis) {
    let name = escaped(&kernel.name);
    let _ = writeln!(out, "<h2 id=\"k{number}\"><code>{name}</code></h2>");
    if let Some(o) = &kernel.occupancy {
        let _ = writeln!(
            out,
            "<h3>Occupancy: {} <span class=\"kind\">modelled</span></h3>\n<ul>",
            text::waves(o)
        );
        for line in text::limits(o) {
            let _ = writeln!(out, "<li>{}</li>", escaped(&line));
        }
        out.push_str("</ul>\n");
    }
    let _ = writeln!(
        out,
        "<h3>Live registers <span class=\"kind\">{}</span></h3>\n<ul>",
        text::bound(kernel.bound)
    );
    for (name, peak) in [("VGPRs", &kernel.vgprs), ("SGPRs", &kernel.sgprs)] {
        let _ = write!(out, "<li>{name}: at most {}", peak.count);
        if let Some(pc) = peak.at.first() {
            let _ = write!(
                out,
                ", before <a href=\"#i{number}-{pc:x}\">{pc:#x}</a>: <code>{}</code>",
                escaped(&peak.registers.join(", "))
            );
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
    if let Some(stalls) = text::stalls(kernel) {
        let _ = writeln!(
            out,
            "<h3>Stalls <span class=\"kind\">modelled</span></h3>\n<p>{}</p>",
            escaped(&stalls)
        );
    }
    if !kernel.loops.is_empty() {
        out.push_str("<h3>Loops</h3>\n<ul>\n");
        for found in &kernel.loops {
            let _ = write!(
                out,
                "<li>depth {}, at <a href=\"#i{number}-{pc:x}\">{pc:#x}</a>: {} instructions, {} cycles of issue an iteration \
                 <span class=\"kind\">modelled</span>, at most {} VGPRs and {} SGPRs live",
                found.depth,
                found.instructions,
                text::cycles(found.cycles.0, found.cycles.1),
                found.live.0,
                found.live.1,
                pc = found.header,
            );
            if let Some(iterations) = found.iterations {
                let _ = write!(
                    out,
                    ", ran {iterations} times <span class=\"kind\">measured</span>"
                );
            }
            out.push_str("</li>\n");
        }
        out.push_str("</ul>\n");
    }
    graph(out, number, kernel);
    table(out, number, kernel);
}

/// The control-flow graph as SVG.
fn graph(out: &mut String, number: usize, kernel: &Analysis) {
    let drawing = layout(&kernel.blocks, kernel.entry);
    let (width, height) = drawing.size;
    let measured = kernel.instructions.iter().any(|i| i.counts.is_some());
    let times = |block: usize| {
        let first = &kernel.instructions[kernel.blocks[block].first];
        first.counts.map_or(0, |c| c.times)
    };
    let most = (0..kernel.blocks.len()).map(times).max().unwrap_or(0);
    let weight = match measured {
        true => "how often each block ran (measured), cycles of issue (modelled)",
        false => "cycles of issue (modelled)",
    };
    let _ = writeln!(
        out,
        "<h3>Control flow <span class=\"kind\">{weight}; taken branches in colour</span></h3>\n\
         <div class=\"g\" tabindex=\"0\" role=\"region\" aria-label=\"control-flow graph of {name}\">\
         <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"group\">\
         <defs><marker id=\"a{number}\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"4\" orient=\"auto\">\
         <path d=\"M0,1L7,4L0,7z\" fill=\"context-stroke\"/></marker></defs>",
        name = escaped(&kernel.name),
    );
    for line in &drawing.edges {
        let points: Vec<String> = line
            .points
            .iter()
            .map(|(x, y)| format!("{x},{y}"))
            .collect();
        let class = if line.edge.taken { " class=\"k\"" } else { "" };
        let _ = writeln!(
            out,
            "<polyline{class} points=\"{}\" marker-end=\"url(#a{number})\"/>",
            points.join(" ")
        );
    }
    for (n, block) in kernel.blocks.iter().enumerate() {
        let (x, y) = drawing.boxes[n];
        let instructions = &kernel.instructions[block.first..=block.last];
        let pc = instructions[0].pc;
        let live = instructions.iter().map(|i| i.live_vgprs).max().unwrap_or(0);
        let hot = measured && most > 0 && times(n) == most;
        let class = if hot { " class=\"h\"" } else { "" };
        let code: Vec<&str> = instructions
            .iter()
            .take(40)
            .map(|i| i.text.as_str())
            .collect();
        let ran = match measured {
            true => format!("ran {} times", times(n)),
            false => format!("loop depth {}", block.depth),
        };
        let _ = writeln!(
            out,
            "<a href=\"#i{number}-{pc:x}\"><title>{}</title><rect{class} x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"4\"/>\
             <text x=\"{tx}\" y=\"{}\">.L{pc:x}: {}</text>\
             <text class=\"d\" x=\"{tx}\" y=\"{}\">{} cycles, {}</text>\
             <text class=\"d\" x=\"{tx}\" y=\"{}\">{ran}</text></a>",
            escaped(&code.join("\n")),
            y + 17,
            counted(instructions.len(), "instruction"),
            y + 33,
            text::cycles(block.cycles.0, block.cycles.1),
            counted(live as usize, "VGPR"),
            y + 49,
            tx = x + 8,
        );
    }
    out.push_str("</svg></div>\n");
}

fn table(out: &mut String, number: usize, kernel: &Analysis) {
    let measured = kernel.instructions.iter().any(|i| i.counts.is_some());
    let head = if measured {
        "<th>times, measured</th>"
    } else {
        ""
    };
    // Without debugging information no instruction has a line.
    let lines = kernel.instructions.iter().any(|i| i.line.is_some());
    let source = if lines {
        "<th class=\"t\">source</th>"
    } else {
        ""
    };
    let _ = writeln!(
        out,
        "<h3>Instructions</h3>\n<table><thead><tr><th class=\"t\">address</th><th>cycles, modelled</th><th>stall, modelled</th>\
         <th>VGPRs, counted</th><th>SGPRs, counted</th>{head}<th class=\"t\">instruction</th><th class=\"t\">waits for, counted</th>\
         {source}</tr></thead><tbody>"
    );
    let percent = |n: u32, most: u32| 100 * n / most.max(1);
    for (n, block) in kernel.blocks.iter().enumerate() {
        for (k, i) in kernel.instructions[block.first..=block.last]
            .iter()
            .enumerate()
        {
            let class = if k == 0 && n > 0 { " class=\"b\"" } else { "" };
            let _ = write!(
                out,
                "<tr id=\"i{number}-{pc:x}\"{class}><td class=\"t\">{pc:#x}</td><td>{}</td><td>{}</td>\
                 <td class=\"v\" style=\"--p:{}%\">{}</td><td class=\"s\" style=\"--p:{}%\">{}</td>",
                issue(i),
                if i.stall > 0 {
                    format!("+{}", i.stall)
                } else {
                    String::new()
                },
                percent(i.live_vgprs, kernel.vgprs.count),
                i.live_vgprs,
                percent(i.live_sgprs, kernel.sgprs.count),
                i.live_sgprs,
                pc = i.pc,
            );
            if measured {
                let _ = write!(out, "<td>{}</td>", i.counts.map_or(0, |c| c.times));
            }
            let waits: Vec<String> = (i.waits_for.iter())
                .map(|pc| format!("<a href=\"#i{number}-{pc:x}\">{pc:#x}</a>"))
                .collect();
            let _ = writeln!(
                out,
                "<td class=\"t\">{}</td><td class=\"t\">{}</td>{}</tr>",
                escaped(&i.text),
                waits.join(" "),
                match (lines, i.line.as_deref()) {
                    (true, line) => format!("<td class=\"t\">{}</td>", escaped(line.unwrap_or(""))),
                    (false, _) => String::new(),
                }
            );
        }
    }
    out.push_str("</tbody></table>\n");
}

/// A number with its noun, in the plural unless it is 1.
fn counted(n: usize, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}

fn issue(i: &Instruction) -> String {
    let cycles = text::cycles(i.cycles.into(), i.most_cycles.into());
    if i.listed {
        cycles
    } else {
        format!("~{cycles}")
    }
}
