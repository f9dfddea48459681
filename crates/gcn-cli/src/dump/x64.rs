//! x86-64 code beside the GCN code from which it was compiled.

use std::collections::HashMap;
use std::fmt::Write as _;

use gcn::isa::Target;
use gcn::isa::decode::decode;
use gcn::isa::print::{Style, print};
use gcn::jit::{Piece, RegionCode, Report};
use gcn::profile::bytes_at;
use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter, OpKind, Register};
use serde_json::{Value as Json, json};

use super::Objects;

/// A piece of compiled code.
struct Part<'a> {
    piece: &'a Piece,
    /// The address of its first instruction as `gcn dis` shows it.
    address: u64,
    /// Address and text of each GCN instruction.
    gcn: Vec<(u64, String)>,
    /// Offset in the region's code and text of each host instruction, and a remark about it.
    host: Vec<(u64, String, Option<String>)>,
}

/// The text of the GCN instructions of a piece.
fn gcn_text(piece: &Piece, objects: Objects<'_>) -> (u64, Vec<(u64, String)>) {
    for (object, base) in objects {
        let Some(target) = Target::parse(object.target_name()) else {
            continue;
        };
        let (mut at, end) = (
            piece.start.wrapping_sub(*base),
            piece.end.wrapping_sub(*base),
        );
        let first = at;
        let mut out = Vec::new();
        while at < end
            && let Some(insn) = bytes_at(object, at).and_then(|bytes| decode(target, &bytes))
        {
            let mut text = String::new();
            print(&insn, &Style::LLVM, &mut text);
            out.push((at, text));
            at += insn.len as u64;
        }
        if !out.is_empty() {
            return (first, out);
        }
    }
    (piece.start, Vec::new())
}

/// Describes the memory operand of an instruction.
fn about(insn: &Instruction) -> Option<String> {
    let memory = (0..insn.op_count()).any(|n| insn.op_kind(n) == OpKind::Memory);
    if !memory || insn.memory_base() == Register::None || insn.is_ip_rel_memory_operand() {
        return None;
    }
    let base = format!("{:?}", insn.memory_base());
    let name = gcn::jit::name_of(&base, insn.memory_displacement64() as i64)?;
    Some(match insn.memory_index() {
        Register::None => name,
        _ => format!("{name}, by an index"),
    })
}

fn host_text(
    region: &RegionCode,
    piece: &Piece,
    starts: &HashMap<u64, u64>,
) -> Vec<(u64, String, Option<String>)> {
    let code = region.code.get(piece.code.clone()).unwrap_or_default();
    let first = piece.code.start as u64;
    let mut decoder = Decoder::with_ip(64, code, first, DecoderOptions::NONE);
    let mut formatter = IntelFormatter::new();
    formatter.options_mut().set_hex_prefix("0x");
    formatter.options_mut().set_hex_suffix("");
    formatter
        .options_mut()
        .set_small_hex_numbers_in_decimal(true);
    formatter
        .options_mut()
        .set_space_after_operand_separator(true);
    formatter.options_mut().set_branch_leading_zeros(false);
    formatter.options_mut().set_rip_relative_addresses(true);
    let mut out = Vec::new();
    while decoder.can_decode() {
        let insn = decoder.decode();
        let mut text = String::new();
        formatter.format(&insn, &mut text);
        let mut what = about(&insn);
        if let OpKind::NearBranch64 = insn.op0_kind()
            && let Some(pc) = starts.get(&insn.near_branch_target())
        {
            what = Some(format!("to {pc:#x}"));
        }
        out.push((insn.ip(), text, what));
    }
    out
}

fn parts<'a>(region: &'a RegionCode, objects: Objects<'_>) -> Vec<Part<'a>> {
    let mut starts = HashMap::new();
    let gcn: Vec<_> = region
        .pieces
        .iter()
        .map(|piece| gcn_text(piece, objects))
        .collect();
    for (piece, (address, _)) in region.pieces.iter().zip(&gcn) {
        starts.insert(piece.code.start as u64, *address);
    }
    region
        .pieces
        .iter()
        .zip(gcn)
        .map(|(piece, (address, gcn))| Part {
            piece,
            address,
            gcn,
            host: host_text(region, piece, &starts),
        })
        .collect()
}

/// Regions in the order of their addresses.
fn sorted(report: &Report) -> Vec<&RegionCode> {
    let mut regions: Vec<&RegionCode> = report.regions.iter().collect();
    regions.sort_by_key(|u| (u.pieces.iter().map(|p| p.start).min(), u.mode, u.vgprs));
    regions
}

/// All compiled code, as text.
pub fn text(report: &Report, objects: Objects<'_>) -> String {
    let mut out = String::new();
    for region in sorted(report) {
        let parts = parts(region, objects);
        let instructions: u64 = parts.iter().map(|p| p.piece.instructions as u64).sum();
        let host: usize = parts.iter().map(|p| p.host.len()).sum();
        let _ = writeln!(
            out,
            "region of {instructions} GCN instructions, MODE {:#x}, {} VGPRs: {host} host instructions ({}), {} bytes",
            region.mode,
            region.vgprs,
            each(host as f64, instructions),
            region.code.len()
        );
        for part in &parts {
            if part.piece.code.is_empty() {
                continue;
            }
            let piece = part.piece;
            let n = piece.instructions as u64;
            let _ = write!(
                out,
                "\n{:#x}: {n} GCN instructions, {} of the host ({}), {} bytes",
                part.address,
                part.host.len(),
                each(part.host.len() as f64, n),
                piece.code.len()
            );
            let tally = piece.tally;
            if tally.times > 0 {
                let _ = write!(
                    out,
                    "; ran {} times with {:.1} lanes, {:.0} ticks a run",
                    tally.times,
                    tally.lanes as f64 / tally.times as f64,
                    tally.ticks as f64 / tally.times as f64
                );
            }
            out.push('\n');
            for (address, text) in &part.gcn {
                let _ = writeln!(out, "  {:<8} {text}", format!("{address:#x}"));
            }
            for (at, text, what) in &part.host {
                let line = format!("      {at:>6x}  {text}");
                let _ = match what {
                    Some(what) => writeln!(out, "{line:<70} ; {what}"),
                    None => writeln!(out, "{line}"),
                };
            }
        }
        out.push('\n');
    }
    if out.is_empty() {
        out.push_str("nothing was compiled\n");
    }
    out
}

fn each(host: f64, instructions: u64) -> String {
    match instructions {
        0 => "a part of the next".into(),
        n => format!("{:.1} each", host / n as f64),
    }
}

/// All compiled code, as JSON.
pub fn json(report: &Report, objects: Objects<'_>) -> Json {
    let regions = sorted(report).into_iter().map(|region| {
        let pieces = parts(region, objects).into_iter().map(|part| {
            let host = part.host.iter().map(|(at, text, what)| match what {
                Some(what) => json!({ "at": at, "inst": text, "about": what }),
                None => json!({ "at": at, "inst": text }),
            });
            let gcn = part.gcn.iter().map(|(at, text)| json!({ "address": at, "inst": text }));
            let mut entry = json!({
                "address": part.address,
                "instructions": part.piece.instructions,
                "bytes": part.piece.code.len(),
                "gcn": gcn.collect::<Vec<_>>(),
                "x86": host.collect::<Vec<_>>(),
            });
            let tally = part.piece.tally;
            if tally.times > 0
                && let Some(entry) = entry.as_object_mut()
            {
                entry.insert("times".into(), json!(tally.times));
                entry.insert("lanes".into(), json!(tally.lanes));
                entry.insert("ticks".into(), json!(tally.ticks));
            }
            entry
        });
        let pieces: Vec<Json> = pieces.collect();
        json!({ "mode": region.mode, "vgprs": region.vgprs, "bytes": region.code.len(), "pieces": pieces })
    });
    Json::Array(regions.collect())
}
