//! Random programs: a seed determines instructions that run on every engine, and whose text must assemble to their bytes.

use std::collections::BTreeMap;

use gcn_isa::access::{InstructionTable, MemorySpace};
use gcn_isa::decode::decode;
use gcn_isa::encode::Encoder;
use gcn_isa::flow::Flow;
use gcn_isa::format::{Field, Format, layout_of};
use gcn_isa::inst::Inst;
use gcn_isa::print::{Style, print};
use gcn_isa::{Target, insts};
use serde_json::{Map, Value as Json};

use super::Outcome;
use super::sweep::Values;
use crate::data::SplitMix;
use crate::engine::Kind;
use crate::raw;

/// The maximum number of instructions of a program.
const MOST: u32 = 4096;

/// Registers that programs use: s0 to s15 and v0 to v15.
const REGISTERS: u64 = 16;

/// The rows that programs use, by format, with their properties.
struct Rows {
    target: Target,
    table: InstructionTable,
    by_format: BTreeMap<Format, Vec<&'static Inst>>,
}

/// Random programs for some targets.
pub struct Programs {
    targets: Vec<Rows>,
    seeds: Values,
    length: u32,
    /// The compiling engines, which are compared with the interpreter.
    engines: Vec<Kind>,
}

/// The formats that programs use: no memory except LDS, and no waits or branches.
const FORMATS: [Format; 10] = {
    use Format::*;
    [Sop1, Sop2, Sopc, Sopk, Vop1, Vop2, Vopc, Vop3, Vop3p, Ds]
};

impl Programs {
    /// Programs of `length` instructions for each target and seed.
    ///
    /// # Errors
    /// A sentence.
    pub fn new(targets: Vec<Target>, seeds: Values, length: u32) -> Result<Programs, String> {
        if length == 0 || length > MOST {
            return Err(format!("`instructions` is {length}: expected 1 to {MOST}"));
        }
        if let Values::List(list) = &seeds
            && list.iter().any(|v| !v.is_integer())
        {
            return Err("`seeds` are integers".into());
        }
        if targets.is_empty() {
            return Err("`target` is an empty list".into());
        }
        let engines = Kind::jits();
        if engines.is_empty() {
            return Err(
                "there is no compiling engine on this host to compare with the interpreter".into(),
            );
        }
        let rows = targets.into_iter().map(|target| {
            let mut by_format: BTreeMap<Format, Vec<&'static Inst>> = BTreeMap::new();
            for row in insts::of_target(target).filter(|row| FORMATS.contains(&row.format)) {
                by_format.entry(row.format).or_default().push(row);
            }
            Rows {
                target,
                table: InstructionTable::new(target),
                by_format,
            }
        });
        Ok(Programs {
            targets: rows.collect(),
            seeds,
            length,
            engines,
        })
    }

    /// The number of items.
    pub fn items(&self) -> u64 {
        self.seeds.count().saturating_mul(self.targets.len() as u64)
    }

    /// Runs an item.
    pub fn run(&self, n: u64, record: &mut Map<String, Json>) -> Outcome {
        let rows = &self.targets[(n / self.seeds.count()) as usize];
        let seed = self.seeds.get(n % self.seeds.count());
        let seed = seed.as_integer().unwrap_or_default();
        record.insert("target".into(), rows.target.name().into());
        record.insert("seed".into(), seed.into());
        match self.compare(rows, seed as u64) {
            Ok(()) => Outcome::Ok,
            Err((code, message)) => {
                let hex: String = code.iter().map(|b| format!("{b:02x}")).collect();
                record.insert("message".into(), message.into());
                record.insert("code".into(), hex.into());
                Outcome::Differs
            }
        }
    }

    fn compare(&self, rows: &Rows, seed: u64) -> Result<(), (Vec<u8>, String)> {
        let program = rows.program(seed, self.length);
        let program = program.map_err(|e| (Vec::new(), e))?;
        let code: Vec<u8> = program.concat();
        let mut text = String::new();
        for bytes in &program {
            if let Some(insn) = decode(rows.target, bytes) {
                print(&insn, &Style::LLVM, &mut text);
                text.push('\n');
            }
        }
        match gcn_asm::snippet(rows.target, &text, gcn_asm::Syntax::Llvm, true) {
            Ok(made) if made == code => {}
            Ok(_) => return Err((code, "the text assembles to other bytes".into())),
            Err(errors) => {
                return Err((code, format!("the text does not assemble: {}", errors[0])));
            }
        }
        let run = |engine: Kind| {
            let request = raw::Request {
                target: rows.target,
                code: code.clone(),
                base: None,
                regs: None,
                max: 1 << 20,
                engine,
            };
            raw::run(&request).map(|ran| ran.json().to_string())
        };
        let expected = run(Kind::Interp);
        for engine in &self.engines {
            let got = run(*engine);
            if got != expected {
                let both = [got, expected].map(|r| r.unwrap_or_else(|e| e));
                let at = both[0]
                    .bytes()
                    .zip(both[1].bytes())
                    .position(|(a, b)| a != b);
                let from = at.unwrap_or(0).saturating_sub(60);
                let part = |s: &String| s.chars().skip(from).take(160).collect::<String>();
                return Err((
                    code,
                    format!(
                        "{engine:?} gives …{}…, the interpreter …{}…",
                        part(&both[0]),
                        part(&both[1])
                    ),
                ));
            }
        }
        Ok(())
    }
}

impl Rows {
    /// A program: registers get values, then random instructions follow.
    fn program(&self, seed: u64, length: u32) -> Result<Vec<Vec<u8>>, String> {
        let mut random = SplitMix(seed);
        let mut text =
            String::from("v_mbcnt_lo_u32_b32 v15, -1, 0\nv_mbcnt_hi_u32_b32 v15, -1, v15\n");
        for n in 0..REGISTERS {
            text += &format!("s_mov_b32 s{n}, {:#x}\n", random.next_u64() as u32);
        }
        text += "s_mov_b32 vcc_lo, s3\ns_mov_b32 vcc_hi, s4\n";
        for n in 0..REGISTERS - 1 {
            text += &format!(
                "v_mul_u32_u24 v{n}, {:#x}, v15\n",
                random.next_u64() as u32 >> 9 | 65
            );
            text += &format!(
                "v_xor_b32 v{n}, {:#x}, v{n}\n",
                random.next_u64() as u32 | 65
            );
        }
        let setup = gcn_asm::snippet(self.target, &text, gcn_asm::Syntax::Llvm, false);
        let setup = setup.map_err(|e| format!("internal error: {}", e[0]))?;
        let mut program = Vec::new();
        let mut rest = &setup[..];
        while let Some(insn) = decode(self.target, rest) {
            let (bytes, after) = rest.split_at(insn.len as usize);
            program.push(bytes.to_vec());
            rest = after;
        }
        let end = program.len() + length as usize;
        while program.len() < end {
            program.extend(self.instruction(&mut random));
        }
        Ok(program)
    }

    /// A random instruction that continues with the next one; `None` if the bits do not form one.
    fn instruction(&self, random: &mut SplitMix) -> Option<Vec<u8>> {
        let mut below = |n: u64| ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64;
        let (_, rows) = self
            .by_format
            .iter()
            .nth(below(self.by_format.len() as u64) as usize)?;
        let row = rows[below(rows.len() as u64) as usize];
        let encoding = row.format.encoding();
        let layout = layout_of(encoding, self.target.generation())?;
        let mut encoder = Encoder::new(row, encoding, self.target)?;
        for &(field, _, length) in layout.fields {
            let scalar = [
                below(REGISTERS),
                2 * below(REGISTERS / 2),
                106,
                128 + below(81),
                240 + below(8),
            ];
            let scalar = scalar[below(5) as usize];
            let value = match field {
                Field::Op | Field::Opm | Field::Seg | Field::Gds => continue,
                Field::Ssrc0 | Field::Ssrc1 => scalar,
                Field::Src0 | Field::Src1 | Field::Src2 if length == 9 => match below(2) {
                    0 => scalar,
                    _ => 256 + below(REGISTERS),
                },
                Field::Sdst => [below(REGISTERS), 2 * below(REGISTERS / 2), 106][below(3) as usize],
                Field::Simm16 | Field::Offset0 | Field::Offset1 => below(1 << length),
                Field::Clamp | Field::Omod | Field::Neg | Field::Abs if below(2) == 0 => 0,
                _ if length >= 7 => below(REGISTERS),
                _ => below(1 << length),
            };
            encoder.set(field, (value & ((1u64 << length) - 1)) as u32);
        }
        let (mut bytes, mut length) = encoder.bytes();
        // A literal, if the bits require one.
        bytes[length..length + 4].copy_from_slice(&(below(1 << 32) as u32).to_le_bytes());
        let insn = decode(self.target, &bytes[..length + 4])?;
        length = insn.len as usize;
        let info = self.table.of(&insn);
        let memory = info.memory(&insn);
        let plain = memory.is_none_or(|m| m.space == MemorySpace::Lds);
        let same = std::ptr::eq(insn.row, row) && info.flow(&insn) == Flow::Next && plain;
        same.then(|| bytes[..length].to_vec())
    }
}
