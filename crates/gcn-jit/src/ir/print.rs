//! Prints regions, blocks and plans as text, which `parse.rs` reads back for tests.

use super::affine::{BaseKind, Guard, Trust};
use super::region::{Block, FpEnv, IndexedWrite, LiveLanes, Store, Terminator};
use super::{Id, Inst, Node};
use gcn_isa::meaning::Space;
use std::fmt;

/// Returns the name of an address space.
pub fn space_name(space: Space) -> &'static str {
    match space {
        Space::Global => "global",
        Space::Flat => "flat",
        Space::Lds => "lds",
        _ => "scratch",
    }
}

/// The names of the roundings, as MODE numbers them.
pub const ROUNDINGS: [&str; 4] = ["nearest", "up", "down", "zero"];

/// Returns the name of a scalar register by its code.
fn sgpr(code: u8) -> String {
    match code {
        106 => "vcc_lo".into(),
        107 => "vcc_hi".into(),
        124 => "m0".into(),
        126 => "exec_lo".into(),
        127 => "exec_hi".into(),
        n => format!("s{n}"),
    }
}

pub(crate) fn list(ids: &[Id]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| format!("%{id}")).collect();
    ids.join(", ")
}

impl fmt::Display for FpEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ROUNDINGS[self.round as usize & 3])?;
        f.write_str(if self.daz { " daz" } else { "" })?;
        f.write_str(if self.ftz { " ftz" } else { "" })
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ty = format!("{:?}", self.ty).to_lowercase();
        match self.op {
            Inst::Const(v) => write!(f, "const {v:#x}"),
            Inst::VIn(v) => write!(f, "vgpr v{v}"),
            Inst::SIn(code) => write!(f, "sgpr {}", sgpr(code)),
            Inst::SccIn => write!(f, "scc"),
            Inst::Lane => write!(f, "lane"),
            Inst::Exec => write!(f, "exec"),
            Inst::Pair => write!(f, "pair"),
            Inst::Lo => write!(f, "lo"),
            Inst::Hi => write!(f, "hi"),
            Inst::LaneIn(v) => write!(f, "read_lane v{v}"),
            Inst::LanesIn(v) => write!(f, "read_lanes v{v}"),
            Inst::VgprAt => write!(f, "vgpr_at"),
            Inst::Shuffle(digits) => write!(f, "shuffle {digits:#x}"),
            Inst::Cycle => write!(f, "cycle"),
            Inst::MaskOf => write!(f, "mask_of"),
            Inst::Ballot => write!(f, "ballot"),
            Inst::Shld(by) => write!(f, "shld {by}"),
            Inst::Shrd(by) => write!(f, "shrd {by}"),
            Inst::ShrLane => write!(f, "shr_lane"),
            Inst::Alu(gcn_isa::meaning::Op::FmaLdexp(n)) => {
                write!(f, "fma_times_power_of_two.{ty} {n}")
            }
            Inst::Alu(op) => write!(f, "{}.{ty}", op.name()),
            Inst::Group {
                space,
                bytes,
                count,
                offset,
            } => write!(f, "load.{} {count}x{bytes} {offset:+}", space_name(space)),
            Inst::Part(n) => write!(f, "part {n}"),
            Inst::Affine { base, step } => write!(f, "affine b{base} {step:+}"),
            Inst::AffineLoad {
                bytes,
                count,
                offset,
                address,
                broadcast,
                in_order,
            } => {
                let name = match (broadcast, in_order) {
                    (true, _) => "load.broadcast",
                    (_, true) => "load.in_order",
                    _ => "load.affine",
                };
                write!(f, "{name} {count}x{bytes} a{address} {offset:+}")
            }
            Inst::Row(offset) => write!(f, "load.row {offset:+}"),
            Inst::FastPath(n) => write!(f, "fast_path {n}"),
            Inst::SLoad { count, offset } => write!(f, "load.scalar {count}x4 {offset:+}"),
        }?;
        if !self.inputs().is_empty() {
            let data = !matches!(
                self.op,
                Inst::Alu(_)
                    | Inst::Pair
                    | Inst::Lo
                    | Inst::Hi
                    | Inst::VgprAt
                    | Inst::Cycle
                    | Inst::MaskOf
                    | Inst::Ballot
                    | Inst::ShrLane
            );
            let fma = matches!(self.op, Inst::Alu(gcn_isa::meaning::Op::FmaLdexp(_)));
            f.write_str(if data || fma { ", " } else { " " })?;
            f.write_str(&list(self.inputs()))?;
        }
        let lanes = if self.vec { "lanes " } else { "" };
        write!(f, " : {lanes}{}", format!("{:?}", self.out).to_lowercase())
    }
}

fn store(f: &mut impl fmt::Write, name: &str, s: &Store) -> fmt::Result {
    let space = space_name(s.space);
    let (lo, hi, bytes, offset) = (s.lo, s.hi, s.bytes, s.offset);
    let order = if s.in_order { "in_order." } else { "" };
    let data = list(&s.data);
    writeln!(
        f,
        "  {name}.{order}{space} x{bytes} {offset:+}, %{lo}, %{hi} = {data}"
    )
}

impl Block {
    /// Prints the block's values, effects and terminator, without the results of passes.
    pub(crate) fn print_body(&self, f: &mut impl fmt::Write) -> fmt::Result {
        let (start, end, insns) = (self.start, self.end, self.insns);
        write!(f, "block {start:#x}..{end:#x}, {insns} instructions")?;
        if self.mode != 0 {
            write!(f, ", mode {:#x}", self.mode)?;
        }
        if let Some(fp) = &self.fp {
            write!(f, ", fp {fp}")?;
        }
        f.write_char('\n')?;
        if self.polls {
            writeln!(f, "  polls")?;
        }
        if self.trust != Trust::Everything {
            writeln!(f, "  trusts {}", self.trust.name())?;
        }
        for (id, node) in self.graph.iter().enumerate() {
            writeln!(f, "  %{id} = {node}")?;
        }
        if self.is_all_active && self.assumed.is_empty() {
            writeln!(f, "  all_active")?;
        }
        for d in &self.assumed {
            let ty = format!("{:?}", d.ty).to_lowercase();
            let word = if self.is_all_active {
                "assume"
            } else {
                "guess"
            };
            writeln!(f, "  {word} {}.{ty} {}", d.op.name(), list(&d.of))?;
        }
        for g in &self.guards {
            writeln!(f, "  guard %{g}")?;
        }
        for (id, count) in &self.skipped {
            writeln!(f, "  skipped {count} if %{id}")?;
        }
        let e = &self.effects;
        if let Some(s) = &e.store {
            store(f, "store", s)?;
        }
        for s in &e.deferred_stores {
            store(f, "deferred_store", s)?;
        }
        for (address, offset, value) in &e.rows {
            writeln!(f, "  store.row {offset:+}, %{address} = %{value}")?;
        }
        if let Some(call) = &e.wave_helper {
            writeln!(f, "  helper {:?} {}", call.helper, list(&call.inputs))?;
        }
        for access in &e.accesses {
            let kind = format!("{:?}", access.kind).to_lowercase();
            let location = if access.lds { "lds" } else { "memory" };
            let scalar = match (access.scalar, access.row) {
                (true, _) => " scalar",
                (_, true) => " row",
                _ => "",
            };
            let halves = list(&[access.lo, access.hi]);
            writeln!(
                f,
                "  record {kind} {location}{scalar} {} {halves}",
                access.bytes
            )?;
        }
        for w in &e.indexed {
            let IndexedWrite {
                number,
                value,
                first,
                end,
            } = w;
            writeln!(f, "  indexed {first}..{end}, %{number} = %{value}")?;
        }
        for &(v, id, live) in &e.vgprs {
            let live = match live {
                LiveLanes::No => "none",
                LiveLanes::Active => "active",
                LiveLanes::Within(_) => "within",
                LiveLanes::All => "all",
            };
            writeln!(f, "  v{v} = %{id} {live}")?;
        }
        for (v, lane, value) in &e.lane_inserts {
            writeln!(f, "  v{v}[%{lane}] = %{value}")?;
        }
        for &(code, id) in &e.sgprs {
            writeln!(f, "  {} = %{id}", sgpr(code))?;
        }
        if let Some(id) = e.scc {
            writeln!(f, "  scc = %{id}")?;
        }
        if let Some(mode) = e.mode {
            writeln!(f, "  mode = {mode:#x}")?;
        }
        match self.terminator {
            Terminator::Jump(pc) => writeln!(f, "  jump {pc:#x}"),
            Terminator::Branch { when, taken, next } => {
                writeln!(f, "  branch %{when}, {taken:#x}, {next:#x}")
            }
            Terminator::Indirect { to, ref among } => {
                write!(f, "  indirect %{to}")?;
                for pc in among {
                    write!(f, ", {pc:#x}")?;
                }
                writeln!(f)
            }
            Terminator::Interpret { jumps, alone } => {
                let jumps = if jumps { " jumps" } else { "" };
                writeln!(f, "  interpret{jumps}{}", if alone { " alone" } else { "" })
            }
            Terminator::End => writeln!(f, "  end"),
            Terminator::Barrier => writeln!(f, "  barrier"),
            Terminator::Leave => writeln!(f, "  leave"),
        }
    }

    /// Prints the results of the affine pass.
    pub(crate) fn print_affine(&self, f: &mut impl fmt::Write) -> fmt::Result {
        let a = &self.affine;
        for (v, step) in &a.state {
            writeln!(f, "  affine v{v} {step:+}")?;
        }
        for (n, op) in a.ops.iter().enumerate() {
            let what = match op.op {
                BaseKind::Vgpr(v) => format!("v{v}"),
                BaseKind::Lane => "lane".into(),
                BaseKind::Scalar(id) => format!("%{id}"),
                BaseKind::Const(v) => format!("{v:#x}"),
                BaseKind::Alu(op, ty) => {
                    format!("{}.{}", op.name(), format!("{ty:?}").to_lowercase())
                }
                BaseKind::Shld(by) => format!("shld {by}"),
                BaseKind::Shrd(by) => format!("shrd {by}"),
            };
            let args: Vec<String> = op.inputs().iter().map(|b| format!("b{b}")).collect();
            let stored = if op.stored { ", stored" } else { "" };
            writeln!(f, "  b{n} = {what} {}{stored}", args.join(", "))?;
        }
        for g in &a.guards {
            match g {
                Guard::Top { of, step, bits } => {
                    writeln!(f, "  guard same_upper_bits {bits} of b{of} {step:+}")
                }
                Guard::NoWrap { of, step, signed } => {
                    let ty = if *signed { "i32" } else { "u32" };
                    writeln!(f, "  guard no_wrap.{ty} b{of} {step:+}")
                }
                Guard::Less { of: [a, b], step } => {
                    let [s, t] = step;
                    writeln!(f, "  guard uniform_less b{a} {s:+}, b{b} {t:+}")
                }
                Guard::Bits {
                    of,
                    step,
                    mask,
                    ones,
                } => {
                    let ones = *ones as u8;
                    writeln!(f, "  guard bits_are {ones} of b{mask} where b{of} {step:+}")
                }
                Guard::AssumedCompare {
                    op,
                    signed,
                    of: [a, b],
                    step: [s, t],
                } => {
                    let sign = if *signed { "signed" } else { "unsigned" };
                    let op = op.name();
                    writeln!(f, "  guard {op}.{sign} b{a} {s:+}, b{b} {t:+}")
                }
            }?;
        }
        for (n, at) in a.addresses.iter().enumerate() {
            let need = ["none", "read", "write", "read_write"][at.need as usize & 3];
            let (lo, hi, step, from, to) = (at.lo, at.hi, at.step, at.from, at.to);
            match at.index {
                Some(by) => write!(f, "  a{n} = b{lo}.i32 << {by}")?,
                None => write!(f, "  a{n} = b{lo}:b{hi}")?,
            }
            write!(f, " {step:+} {need} {from}..{to}")?;
            if let Some((lo, hi)) = at.plus {
                write!(f, ", plus %{lo}:%{hi}")?;
            }
            if let Some(limit) = at.limit {
                write!(f, ", limit %{limit}")?;
            }
            f.write_char('\n')?;
        }
        if let Some((address, offset)) = &a.store {
            writeln!(f, "  store at a{address} {offset:+}")?;
        }
        for (address, offset) in &a.stores {
            writeln!(f, "  deferred_store at a{address} {offset:+}")?;
        }
        for (v, base, step) in &a.writes {
            writeln!(f, "  v{v} = b{base} {step:+}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print_body(f)?;
        self.print_affine(f)
    }
}
