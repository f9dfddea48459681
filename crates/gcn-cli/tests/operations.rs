//! The manual's operation of each instruction agrees with its semantics: the text is evaluated, statement by statement, and so
//! are the nodes of the semantics, with the same values.

mod notation;

use std::collections::BTreeMap;

use gcn::emu::eval::{self, Operation};
use gcn::isa::inst::Inst;
use gcn::isa::insts;
use gcn::isa::meaning::{Change, Op, Program, Space, State, meaning, width_mask};
use gcn::isa::shape::{Access, Ty};
use gcn::isa::target::Target;
use gcn_cli::manual::{self, operations};
use gcn_cli::meaning_text::{field_name, operand_name};
use notation::{Machine, Outcome, load, mix};

/// A generator of numbers.
pub struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0, 1)
    }

    /// A dword, often a special one.
    fn dword(&mut self) -> u32 {
        const SPECIAL: [u32; 20] = [
            0,
            1,
            2,
            31,
            32,
            255,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x3f80_0000,
            0xbf80_0000,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0x7fa0_0000,
            0x0000_7fff,
            0x4b00_0000,
            0x0080_0000,
            0x3c00_4000,
            0x4300_c000,
        ];
        match self.next() % 4 {
            0 => SPECIAL[self.next() as usize % SPECIAL.len()],
            1 => self.next() as u32 & 0x1f001f,
            // A float near 1.
            2 => (self.next() as u32 & 0x80ff_ffff) + 0x3f00_0000,
            _ => self.next() as u32,
        }
    }
}

/// The values of everything that an instruction reads.
pub struct Inputs {
    slots: BTreeMap<u8, [u32; 16]>,
    seed: u64,
    /// The number of the lane.
    pub lane: u64,
    /// MODE.
    pub mode: u32,
}

impl Inputs {
    fn new(program: &Program, random: &mut Random, mode: u32) -> Inputs {
        let mut slots = BTreeMap::new();
        let mut earlier = [0; 16];
        for slot in 0..program.row.shape.slots.len() as u8 {
            let mut dwords = [0; 16].map(|_| random.dword());
            // Two sources are often equal, or one has doubles.
            match random.next() % 6 {
                0 => dwords = earlier,
                1 => dwords[1] = dwords[1] & 0x800f_ffff | 0x3ff0_0000,
                _ => {}
            }
            earlier = dwords;
            slots.insert(slot, dwords);
        }
        Inputs {
            slots,
            seed: random.next(),
            lane: random.next() % 64,
            mode,
        }
    }

    /// The dwords of an operand.
    pub fn slot(&self, slot: u8) -> &[u32; 16] {
        &self.slots[&slot]
    }

    /// The value of a named state or field.
    pub fn named(&self, name: &str, bits: u32) -> u64 {
        let hash = name.bytes().fold(self.seed, |h, b| mix(h, b as u64));
        let value = match name {
            "CLAMP" | "COMPR" | "DONE" | "VM" | "GLC" => hash & 1,
            "OFFSET0" | "OFFSET1" => hash & 0xff,
            _ => hash,
        };
        value & (u64::MAX >> (64 - bits))
    }
}

/// Returns the name of memory in the notation.
fn space_name(space: Space) -> &'static str {
    match space {
        Space::Global => "MEM",
        Space::Flat => "FLAT",
        Space::Scratch => "SCRATCH",
        Space::Lds | Space::Parameters => "LDS",
        Space::Gds => "GDS",
    }
}

/// Evaluates the nodes; `None` if one of them is not modelled here.
fn values(program: &Program, target: Target, inputs: &Inputs) -> Option<Vec<u64>> {
    let mut values: Vec<u64> = Vec::new();
    for node in &program.nodes {
        let arg = |n: usize| values[node.args[n] as usize];
        let mask = width_mask(node.out);
        let qword = |d: &[u32; 16], at: usize| d[at] as u64 | (d[at + 1] as u64) << 32;
        let value = match node.op {
            Op::Const(value) => value,
            Op::Src(slot) if node.out == Ty::Bool => {
                let mask = qword(inputs.slot(slot), 0);
                mask >> inputs.lane & 1
            }
            Op::Src(slot) => qword(inputs.slot(slot), 0) & mask,
            Op::SrcDword(slot, k) => inputs.slot(slot)[k as usize] as u64,
            Op::SrcHalf(slot, k) => (inputs.slot(slot)[0] >> (16 * k) & 0xffff) as u64,
            Op::Get(state) => inputs.named(state.name(), state.ty().bits().max(1)),
            Op::Field(field) => inputs.named(&field_name(field), 16),
            Op::Lane => inputs.lane,
            Op::Address => inputs.named("address", 32),
            Op::FirstLane => inputs.named("first_active_lane", 5),
            Op::CodeOf(slot) => mix(inputs.slot(slot)[0] as u64, 7) & 0x1ff,
            Op::Getreg => mix(arg(0), 11) & mask,
            Op::Sgpr => mix(arg(0), 12) & mask,
            Op::Vgpr => mix(arg(0), 13) & mask,
            Op::ReadLane => mix(arg(0), 14 + (arg(1) & 63)) & mask,
            Op::SendLane => mix(arg(0), 99 + (arg(1) & 63)) & mask,
            Op::Load(space, offset) => load(
                space_name(space),
                arg(0).wrapping_add(offset as u64),
                node.out.bits(),
            ),
            Op::Atomic(space, _) | Op::WaveAtomic(space, _) => {
                load(space_name(space), arg(0), node.out.bits())
            }
            Op::Table(table) => table.get(arg(0) as usize).copied().unwrap_or(0) & mask,
            Op::LoadFormat(_) | Op::LdsOfLane | Op::Gws(_) | Op::Turn => return None,
            _ => {
                let operation = Operation {
                    op: node.op,
                    ty: node.ty,
                    out: node.out,
                    generation: target.generation(),
                    mode: inputs.mode,
                };
                let args =
                    [0, 1, 2].map(|n| [values.get(node.args[n] as usize).copied().unwrap_or(0)]);
                let mut d = [0];
                if !eval::eval(operation, [&args[0], &args[1], &args[2]], &mut d) {
                    return None;
                }
                d[0]
            }
        };
        values.push(value);
    }
    Some(values)
}

/// Writes the low bits of a value to dwords.
pub fn write_bits(to: &mut [u32; 16], at: u32, bits: u32, value: u64) {
    for n in 0..bits {
        let (dword, bit) = (((at + n) / 32) as usize, (at + n) % 32);
        if dword < 16 {
            to[dword] = to[dword] & !(1 << bit) | ((value >> n & 1) as u32) << bit;
        }
    }
}

/// The dwords of a destination before the instruction.
pub fn before(program: &Program, inputs: &Inputs, slot: u8) -> [u32; 16] {
    match program.row.shape.slots[slot as usize].access {
        Access::Write => [0; 16],
        _ => *inputs.slot(slot),
    }
}

/// The results of the nodes and effects; `None` if something is not modelled here.
fn reference(program: &Program, target: Target, inputs: &Inputs) -> Option<Outcome> {
    let values = values(program, target, inputs)?;
    let mut out = Outcome::default();
    for (node, value) in program.nodes.iter().zip(&values) {
        let (Op::Atomic(space, op) | Op::WaveAtomic(space, op)) = node.op else {
            continue;
        };
        let arg = |n: usize| values[node.args[n] as usize];
        let is_lds = space == Space::Lds;
        let new = match op {
            // Memory adds and compares floats by other rules.
            _ if node.ty.is_float() => return None,
            _ => eval::atomic(op, node.ty, *value, arg(1), arg(2), inputs.mode, is_lds),
        };
        let bits = node.out.bits();
        out.set(
            format!("{}[{:#x}]", space_name(space), arg(0)),
            new & (u64::MAX >> (64 - bits)),
        );
    }
    for effect in &program.effects {
        if effect.when.is_some_and(|when| values[when as usize] == 0) {
            continue;
        }
        let (value, second) = (
            values[effect.value as usize],
            values[effect.second as usize],
        );
        let slot_name = |slot: u8| operand_name(program, slot as usize).to_string();
        let slots = program.row.shape.slots;
        match effect.change {
            Change::Dst(slot) | Change::DstDword(slot, _) | Change::DstHalf(slot, _) => {
                let ty = slots[slot as usize].ty;
                if ty == Ty::Mask
                    && program.row.format.is_vector()
                    && matches!(effect.change, Change::Dst(_))
                {
                    out.set(format!("{}[lane]", slot_name(slot)), value);
                    continue;
                }
                let (at, bits) = match effect.change {
                    Change::DstDword(_, k) => (32 * k as u32, 32),
                    Change::DstHalf(_, k) => (16 * k as u32, 16),
                    _ => (0, ty.bits().min(64)),
                };
                let old = before(program, inputs, slot);
                write_bits(out.register(&slot_name(slot), old), at, bits, value);
            }
            Change::DstLane(slot) => {
                out.set(format!("{}[lane {}]", slot_name(slot), second & 63), value);
            }
            Change::Set(state) => {
                let lane = program.row.format.is_vector()
                    && matches!(state, State::Exec | State::Vcc)
                    && program.nodes[effect.value as usize].out == Ty::Bool;
                let name = if lane {
                    format!("{}[lane]", state.name())
                } else {
                    state.name().into()
                };
                out.set(name, value);
            }
            Change::SgprPair => out.set(format!("SGPR[{value}:{}]", value + 1), second),
            Change::Sgpr => out.set(format!("SGPR[{value}]"), second),
            Change::Vgpr => out.set(format!("VGPR[{value}]"), second),
            Change::Store(space, offset) => {
                let at = value.wrapping_add(offset as u64);
                out.set(format!("{}[{at:#x}]", space_name(space)), second);
            }
            Change::Export(k) => {
                let component = ["x", "y", "z", "w"][k as usize];
                out.set(format!("EXPORT[{second}].{component}"), value);
            }
            Change::Setreg => out.set(format!("HWREG({value})"), second),
            Change::Raise(bits) if value != 0 => out.exceptions |= bits,
            Change::Raise(_) | Change::Signal(_) => {}
            Change::StoreFormat(..) | Change::Image(_) => return None,
        }
    }
    Some(out)
}

/// Compares the text with the nodes on some values. Returns false if something is not modelled.
fn compare(row: &'static Inst, target: Target, rounds: u32) -> Result<bool, String> {
    let program = meaning(row, target);
    let text = operations::text(&program, target);
    let name = format!("{} on {}", row.name, target.name());
    let seed = row
        .name
        .bytes()
        .fold(target.table() as u64, |h, b| mix(h, b as u64));
    let mut random = Random(seed);
    for round in 0..rounds {
        let mode = [0x3c0, 0x3f0][round as usize % 2];
        let inputs = Inputs::new(&program, &mut random, mode);
        let Some(expected) = reference(&program, target, &inputs) else {
            return Ok(false);
        };
        let machine = Machine::new(&program, target, &inputs);
        let got = machine
            .run(&text)
            .map_err(|e| format!("{name}: {e}\n{text}"))?;
        got.compare(&expected).map_err(|e| {
            let slots: Vec<String> = (0..row.shape.slots.len() as u8)
                .map(|s| {
                    format!(
                        "{}={:x?}",
                        operand_name(&program, s as usize),
                        &inputs.slot(s)[..4]
                    )
                })
                .collect();
            format!(
                "{name}, mode {mode:#x}, lane {}: {e}\n{}\n{text}",
                inputs.lane,
                slots.join(" ")
            )
        })?;
    }
    Ok(true)
}

#[test]
fn the_operations_do_what_the_semantics_do() {
    let mut wrong = Vec::new();
    let (mut compared, mut skipped) = (0, BTreeMap::<&str, u32>::new());
    for row in insts::all() {
        for target in manual::table_targets() {
            if !insts::exists(row, target) {
                continue;
            }
            match compare(row, target, 30) {
                Ok(true) => compared += 1,
                Ok(false) => *skipped.entry(row.format.name()).or_default() += 1,
                // One report for each row.
                Err(e) => {
                    wrong.push(e);
                    break;
                }
            }
        }
    }
    println!("{compared} operations compared; not modelled: {skipped:?}");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n\n")
    );
    assert!(compared > 5000, "{compared}");
}

#[test]
fn every_entry_by_hand_belongs_to_a_row() {
    for head in operations::heads() {
        for name in head.split_whitespace().filter(|w| !w.starts_with("gfx")) {
            assert!(insts::by_name(name).next().is_some(), "{name}");
        }
    }
}
