//! The values of the registers that an instruction names, for reports of its fault.

use crate::fp::{Env, F16, F32, convert};
use crate::interp::instruction_info;
use crate::wave::WaveState;
use gcn_isa::access::{File, MemoryKind};
use gcn_isa::decode::Insn;
use gcn_isa::operand::{EXEC, Reg, reg};
use gcn_isa::shape::{Access, Ty};
use std::fmt;

/// The value of an operand before the instruction: its registers in one lane, or scalar registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The registers in LLVM's syntax: `v2`, `s[4:5]`, `vcc`.
    pub name: String,
    /// Their values, the lowest register's first.
    pub dwords: Vec<u32>,
    /// The operand's type in the instruction.
    pub ty: Ty,
}

impl Held {
    /// All registers as one number: `0x00000001_80000000` for more than two registers, otherwise without leading zeros.
    pub fn hex(&self) -> String {
        match self.dwords.as_slice() {
            [one] => format!("{one:#x}"),
            [low, high] => format!("{:#x}", (*high as u64) << 32 | *low as u64),
            many => {
                let words = many.iter().rev().map(|word| format!("{word:08x}"));
                format!("0x{}", words.collect::<Vec<_>>().join("_"))
            }
        }
    }

    /// The value as a float, if the instruction reads it as a float, or if the operand is untyped bits and the value is likely
    /// a float: its magnitude is between 1e-6 and 1e9.
    pub fn float(&self) -> Option<String> {
        let likely = |value: f64| (1e-6..1e9).contains(&value.abs());
        let number =
            |value: f64, text: String, typed: bool| (typed || likely(value)).then_some(text);
        match (self.dwords.as_slice(), self.ty) {
            ([bits], Ty::F16) => {
                let wide = convert::<F16, F32>((*bits & 0xffff).into(), &Env::IEEE, &Env::IEEE);
                let value = f32::from_bits(wide as u32);
                number(value.into(), format!("{value:?}"), true)
            }
            ([bits], ty @ (Ty::F32 | Ty::B32)) => {
                let value = f32::from_bits(*bits);
                number(value.into(), format!("{value:?}"), ty == Ty::F32)
            }
            ([low, high], ty @ (Ty::F64 | Ty::B64)) => {
                let value = f64::from_bits((*high as u64) << 32 | *low as u64);
                number(value, format!("{value:?}"), ty == Ty::F64)
            }
            _ => None,
        }
    }
}

/// `v2 = 0x3f800000 (1.0)`.
impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.name, self.hex())?;
        match self.float() {
            Some(float) => write!(f, " ({float})"),
            None => Ok(()),
        }
    }
}

/// The registers that an instruction reads: first those that its text names, in the order of the text, then M0, VCC and
/// FLAT_SCRATCH where they are read implicitly. EXEC is left out. Vector registers are left out if no lane is given.
///
/// Destinations are left out, also those that keep a half, as of a d16 load: the old value has no part in the fault, and the
/// compiling engine may have dropped it. The data of an atomic are listed, although its result may replace them.
pub fn operands(insn: &Insn, wave: &WaveState, lane: Option<u8>) -> Vec<Held> {
    let generation = insn.target.generation();
    let info = instruction_info(insn);
    let loads = info
        .memory(insn)
        .is_some_and(|memory| memory.kind == MemoryKind::Load);
    let destination = |slot: u8| insn.row.shape.slots[slot as usize].access != Access::Read;
    let mut spans: Vec<(Option<u8>, File, u16, u16, Ty)> = Vec::new();
    for access in info.accesses(insn) {
        let (first, end) = (access.first, access.first + access.count as u16);
        let known = matches!(access.file, File::Scalar | File::Vector) && !access.anywhere;
        let unnamed_exec = access.slot.is_none() && first == EXEC;
        let loaded = loads && access.slot.is_some_and(destination);
        if !known || access.write || unnamed_exec || loaded {
            continue;
        }
        let same = spans.iter_mut().find(|(slot, file, from, to, _)| {
            *file == access.file && *slot == access.slot && first <= *to && *from <= end
        });
        match same {
            Some((_, _, from, to, _)) => (*from, *to) = (first.min(*from), end.max(*to)),
            None => {
                let slot = access.slot.map(|n| &insn.row.shape.slots[n as usize]);
                let ty = slot.map_or(Ty::B32, |slot| slot.ty);
                spans.push((access.slot, access.file, first, end, ty));
            }
        }
    }
    spans.sort_by_key(|(slot, ..)| slot.unwrap_or(u8::MAX));
    let mut out: Vec<Held> = Vec::new();
    for (_, file, first, end, ty) in spans {
        let numbers = first as usize..end as usize;
        let (name, dwords) = match (file, lane) {
            (File::Vector, Some(lane)) => (
                tuple("v", first, end),
                numbers
                    .filter_map(|n| Some(wave.vgprs.get(n)?[lane as usize & 63]))
                    .collect::<Vec<u32>>(),
            ),
            (File::Vector, None) => continue,
            _ => {
                let dwords = numbers.filter_map(|n| wave.sgprs.get(n).copied());
                let name = match (reg(first, generation), end - first) {
                    (Reg::Sgpr(n), _) => tuple("s", n, n + end - first),
                    (Reg::Ttmp(n), _) => tuple("ttmp", n, n + end - first),
                    (Reg::Half(pair, false), 2..) => pair.name().to_owned(),
                    (Reg::Half(pair, high), _) => {
                        format!("{}_{}", pair.name(), if high { "hi" } else { "lo" })
                    }
                    (Reg::M0, _) => "m0".to_owned(),
                    _ => continue,
                };
                (name, dwords.collect())
            }
        };
        // A register that is read and written is listed once.
        if !dwords.is_empty() && !out.iter().any(|held| held.name == name) {
            out.push(Held { name, dwords, ty });
        }
    }
    out
}

fn tuple(letter: &str, first: u16, end: u16) -> String {
    match end - first {
        1 => format!("{letter}{first}"),
        _ => format!("{letter}[{first}:{}]", end - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gcn_isa::Target;
    use gcn_isa::decode::decode;

    fn told(words: &[u32], set: impl Fn(&mut WaveState)) -> Vec<String> {
        let target = Target::parse("gfx900").unwrap();
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let insn = decode(target, &bytes).unwrap();
        let mut wave = WaveState::new(16);
        set(&mut wave);
        let held = operands(&insn, &wave, Some(3));
        held.iter().map(Held::to_string).collect()
    }

    #[test]
    fn what_is_told_of_operands() {
        // global_load_dword v3, v[1:2], off
        let load = told(&[0xdc50_8000, 0x037f_0001], |wave| {
            wave.vgprs[1][3] = 0xdead_0000;
            wave.vgprs[2][3] = 1;
            wave.vgprs[3][3] = 0x3fc0_0000;
        });
        // Registers that are only written are left out.
        assert_eq!(load, ["v[1:2] = 0x1dead0000"]);
        // global_load_sbyte_d16 v3, v[1:2], off keeps a half of v3.
        let load = told(&[0xdc88_8000, 0x037f_0001], |_| ());
        assert_eq!(load, ["v[1:2] = 0x0"]);
        // global_atomic_add v3, v[1:2], v4, off glc
        let atomic = told(&[0xdd09_8000, 0x037f_0401], |_| ());
        assert_eq!(atomic, ["v[1:2] = 0x0", "v4 = 0x0"]);
        // global_store_dword v[1:2], v3, off
        let store = told(&[0xdc70_8000, 0x007f_0301], |wave| {
            wave.vgprs[1][3] = 0xdead_0000;
            wave.vgprs[2][3] = 1;
            wave.vgprs[3][3] = 0x3fc0_0000;
        });
        assert_eq!(store, ["v[1:2] = 0x1dead0000", "v3 = 0x3fc00000 (1.5)"]);
        // buffer_load_dword v8, v0, s[8:11], s3 offen
        let load = told(&[0xe050_1000, 0x0302_0800], |wave| {
            wave.sgprs[8] = 0x1000;
            wave.sgprs[11] = 0x27000;
        });
        let expected = [
            "v0 = 0x0",
            "s[8:11] = 0x00027000_00000000_00000000_00001000",
            "s3 = 0x0",
        ];
        assert_eq!(load, expected);
        // s_load_dword s0, s[2:3], 0x0
        let load = told(&[0xc002_0001, 0], |wave| wave.sgprs[3] = 2);
        assert_eq!(load, ["s[2:3] = 0x200000000"]);
    }
}
