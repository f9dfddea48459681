//! Examples that run: a line for `gcn eval`, and its output.

use gcn::engine::Kind;
use gcn::eval;
use gcn::isa::access::{InstructionInfo, MemoryKind};
use gcn::isa::format::Format;
use gcn::isa::inst::Inst;
use gcn::isa::insts;
use gcn::isa::print::{Style, print};
use gcn::isa::shape::{Access, Mods, Role, Slot, Ty};
use gcn::isa::target::{Gen, Target};

/// Examples of instructions whose operands need a setting of their own: a target and a line for `gcn eval`.
static BY_HAND: &str = include_str!("examples.txt");

/// An example: the target, the line, and the output of `gcn eval`.
pub struct Example {
    /// The target.
    pub target: Target,
    /// The line, in the syntax of `gcn eval`.
    pub line: String,
    /// The output of `gcn eval`.
    pub result: String,
}

impl Example {
    /// Returns the values of a float destination as numbers, if the result shows its bits.
    pub fn as_floats(&self, row: &Inst) -> Option<String> {
        let first = self.line.split(';').next()?;
        let (_, operands) = first.trim().split_once(' ')?;
        let texts = split_operands(operands.split("   ").next()?);
        let (slot, text) = row
            .shape
            .slots
            .iter()
            .zip(texts)
            .find(|(s, _)| s.access != Access::Read)?;
        let packed =
            row.shape.mods == Mods::Packed && row.shape.slots.iter().any(|s| s.ty == Ty::F16);
        let register = register(text.split_whitespace().next()?)?;
        let at = first_number(register)?;
        let name = |n: u32| format!("{}{n}", &register[..1]);
        let low = match slot.ty {
            // An unchanged half of a number is 0.
            Ty::F64 => self.values(&name(at)).unwrap_or_default(),
            _ => self.values(&name(at))?,
        };
        let float = |bits: u32| format!("{:?}", f32::from_bits(bits));
        let half = |bits: u32| format!("{:?}", crate::meaning_text::half_to_f64(bits as u16));
        let numbers: Vec<String> = match slot.ty {
            Ty::F32 => low.into_iter().map(float).collect(),
            Ty::F16 => low.into_iter().map(half).collect(),
            Ty::F64 => {
                let high = self.values(&name(at + 1)).unwrap_or_default();
                let pair = |n: usize| {
                    let (low, high) = (low.get(n).copied(), high.get(n).copied());
                    f64::from_bits(u64::from(high.unwrap_or(0)) << 32 | u64::from(low.unwrap_or(0)))
                };
                (0..low.len().max(high.len()))
                    .map(|n| format!("{:?}", pair(n)))
                    .collect()
            }
            _ if packed => (low.into_iter())
                .map(|bits| format!("({}, {})", half(bits), half(bits >> 16)))
                .collect(),
            _ => return None,
        };
        Some(numbers.join(", "))
    }

    /// Returns the values of a register in the result, one per lane.
    fn values(&self, register: &str) -> Option<Vec<u32>> {
        let number = |text: &str| match text.trim().strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => text.trim().parse().ok(),
        };
        let result = format!(", {}", self.result);
        let (_, value) = result.split_once(&format!(", {register} = "))?;
        match value.strip_prefix('[') {
            Some(list) => {
                let list = list.split_once(']')?.0.split(" ..").next()?;
                list.split(',').map(number).collect()
            }
            None => Some(vec![number(value.split(',').next()?)?]),
        }
    }

    /// The command for a shell.
    pub fn command(&self) -> String {
        format!("gcn eval --arch {} '{}'", self.target.name(), self.line)
    }
}

/// The targets that examples are shown for, best first.
const PREFERRED: [&str; 9] = [
    "gfx900", "gfx906", "gfx904", "gfx803", "gfx810", "gfx701", "gfx700", "gfx600", "gfx90c",
];

/// Returns two examples of a row, on one of the targets: first handwritten ones, then generated ones.
pub fn examples(row: &'static Inst, targets: &[Target]) -> Vec<Example> {
    let mut out = by_hand(row, targets);
    let preferred = PREFERRED.iter().filter_map(|name| Target::parse(name));
    let target = preferred
        .filter(|t| insts::exists(row, *t))
        .find(|t| targets.iter().any(|u| u.table() == t.table()));
    let Some(target) = target.or(targets.last().copied()) else {
        return out;
    };
    // Examples whose results equal the old values are the last choice.
    let mut same = Vec::new();
    for set in 0..SETS {
        if out.len() >= 2 {
            return out;
        }
        let Some(example) = line(row, target, set).and_then(|line| visible(target, line)) else {
            continue;
        };
        let known = |e: &Example| e.line == example.line;
        if out.iter().any(known) || same.iter().any(known) {
            continue;
        }
        let shown = |e: &Example| e.result == example.result;
        match out.iter().any(shown) || example.result == UNCHANGED {
            true => same.push(example),
            false => out.push(example),
        }
    }
    out.extend(same);
    if out.len() < 2
        && let Some(line) = line(row, target, 0)
    {
        let (text, state) = line.split_once("   ").unwrap_or((&line, ""));
        let followed = format!("{text}; s_mov_b32 s0, 7   {state}");
        out.extend(run(target, followed.trim_end().to_string()));
    }
    out.truncate(2);
    out
}

/// The output of `gcn eval` if nothing changed.
const UNCHANGED: &str = "nothing changed";

/// Returns the first two handwritten examples.
fn by_hand(row: &'static Inst, targets: &[Target]) -> Vec<Example> {
    let mut out = Vec::new();
    for line in BY_HAND.lines().filter(|l| !l.starts_with('#')) {
        let Some((arch, line)) = line.split_once(' ') else {
            continue;
        };
        let name = line.split([' ', ';']).next().unwrap_or("");
        let plain = ["_e32", "_e64"]
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix));
        if name != row.name && plain != Some(row.name) {
            continue;
        }
        let target = Target::parse(arch).filter(|a| targets.iter().any(|t| t.table() == a.table()));
        out.extend(target.and_then(|target| run(target, line.to_string())));
    }
    out.truncate(2);
    out
}

/// Runs a line. If the result equals the destination's old value, the line runs again with another old value.
fn visible(target: Target, line: String) -> Option<Example> {
    let presets = ["", "scc = 1", "v0 = 1", "s4 = 1"];
    let tries = presets
        .iter()
        .map(|preset| match (*preset, line.contains(" = ")) {
            ("", _) => line.clone(),
            (preset, true) => format!("{line}, {preset}"),
            (preset, false) => format!("{line}   {preset}"),
        });
    let mut examples = tries.filter_map(|line| run(target, line));
    let first = examples.next()?;
    match first.result.as_str() {
        UNCHANGED => Some(examples.find(|e| e.result != UNCHANGED).unwrap_or(first)),
        _ => Some(first),
    }
}

/// Runs a line; `None` if it is invalid or ends in an error.
fn run(target: Target, line: String) -> Option<Example> {
    let answer = eval::line(
        target,
        &line,
        gcn::asm::Syntax::Llvm,
        eval::MAX,
        Kind::Interp,
    )
    .ok()?;
    answer.fault.is_none().then_some(Example {
        target,
        line,
        result: answer.changed,
    })
}

/// The number of sets of values: the first two that show different results become examples.
const SETS: usize = 4;

/// The values of a type in each set, for the first, second and third source.
fn values(ty: Ty, set: usize) -> [&'static str; 3] {
    let sets: [[&str; 3]; SETS] = match ty {
        Ty::F16 => [
            ["1.5h", "2.0h", "-3.25h"],
            ["10.0h", "0.25h", "4.0h"],
            ["0.5h", "-0.75h", "0.125h"],
            ["-2.0h", "3.0h", "1.0h"],
        ],
        Ty::F32 => [
            ["1.5", "2.0", "-3.25"],
            ["10.0", "0.25", "4.0"],
            ["0.5", "-0.75", "0.125"],
            ["-2.0", "3.0", "1.0"],
        ],
        Ty::F64 => [
            ["1.5d", "2.0d", "-3.25d"],
            ["10.0d", "0.25d", "4.0d"],
            ["0.5d", "-0.75d", "0.125d"],
            ["-2.0d", "3.0d", "1.0d"],
        ],
        Ty::I16 | Ty::U16 => [
            ["12", "5", "3"],
            ["0xffff", "2", "7"],
            ["3", "0x8010", "5"],
            ["7", "7", "0x1234"],
        ],
        Ty::I32 | Ty::U32 => [
            ["12", "5", "3"],
            ["0xfffffff0", "2", "7"],
            ["3", "0x80012345", "5"],
            ["7", "7", "0x12345"],
        ],
        Ty::I64 | Ty::U64 => [
            ["12", "5", "3"],
            ["0xfffffffffffffff0", "2", "7"],
            ["3", "0x8000000012345678", "5"],
            ["7", "7", "0x123456789"],
        ],
        Ty::B64 | Ty::Mask => [
            ["0xff", "0x1234", "3"],
            ["0x8000000000000000", "8", "0xff"],
            ["0xf0f0", "0xff00ff", "7"],
            ["3", "0xf0f0f0f0f0f0f0f0", "1"],
        ],
        Ty::B16 => [
            ["4", "0x1234", "8"],
            ["0x1234", "4", "0xff"],
            ["0xf0f0", "0xff00", "7"],
            ["3", "0xf0f0", "1"],
        ],
        _ => [
            ["4", "0x12345678", "8"],
            ["0x12345678", "12", "0xff00ff"],
            ["0xf0f0f0f0", "0xff00ff", "7"],
            ["3", "0xf0f0f0f0", "1"],
        ],
    };
    sets[set]
}

/// The values that a compare compares in three lanes.
fn compared(slot: &Slot, set: usize) -> &'static str {
    match (slot.ty, slot.role, set) {
        (Ty::F16, Role::Src0, 0) => "[1.0h, 2.0h, 3.0h ..]",
        (Ty::F16, Role::Src0, _) => "[2.0h, 0x7e00, -1.0h ..]",
        (Ty::F16, ..) => "2.0h",
        (Ty::F32, Role::Src0, 0) => "[1.0, 2.0, 3.0 ..]",
        (Ty::F32, Role::Src0, _) => "[2.0, 0x7fc00000, -1.0 ..]",
        (Ty::F32, ..) => "2.0",
        (Ty::F64, Role::Src0, 0) => "[1.0d, 2.0d, 3.0d ..]",
        (Ty::F64, Role::Src0, _) => "[2.0d, 0x7ff8000000000000, -1.0d ..]",
        (Ty::F64, ..) => "2.0d",
        (_, Role::Src0, 0) => "[1, 2, 3 ..]",
        (Ty::I16 | Ty::U16, Role::Src0, _) => "[2, 0xffff, 0 ..]",
        (Ty::I64 | Ty::U64, Role::Src0, _) => "[2, 0xffffffffffffffff, 0 ..]",
        (_, Role::Src0, _) => "[2, 0xffffffff, 0 ..]",
        // The classes of v_cmp_class: negative, positive and normal; NaN.
        (Ty::B32, _, 0 | 2) => "0x108",
        (Ty::B32, ..) => "3",
        _ => "2",
    }
}

/// The registers that an operand's text names: `v1`, `v[2:3]`, `s[4:7]`; without signs and modifiers.
fn register(text: &str) -> Option<&str> {
    let text = text.trim();
    let known = text.starts_with(['v', 's'])
        && text[1..].starts_with(|c: char| c.is_ascii_digit() || c == '[');
    known.then_some(text)
}

/// The number of the first register.
fn first_number(register: &str) -> Option<u32> {
    let digits = register[1..].trim_start_matches('[');
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// Returns a line with values for the operands.
fn line(row: &'static Inst, target: Target, set: usize) -> Option<String> {
    let encoding = super::encodings(row, target).into_iter().next()?;
    let bytes = super::example(row, encoding, target)?;
    let mut insn = gcn::isa::decode(target, &bytes)?;
    // The other examples of an atomic return the old value.
    let memory = InstructionInfo::new(row, target).memory(&insn);
    let with_glc = set % 2 == 1
        && row.format != Format::Ds
        && memory.is_some_and(|m| m.kind == MemoryKind::Atomic);
    let bytes = super::example_with(row, encoding, target, with_glc)?;
    if with_glc {
        insn = gcn::isa::decode(target, &bytes)?;
    }
    let mut text = String::new();
    print(&insn, &Style::LLVM, &mut text);
    if set % 2 == 1
        && matches!(
            row.format,
            Format::Ds | Format::Flat | Format::Global | Format::Mubuf
        )
        && text.contains("v0")
    {
        // The second example has an offset, if the instruction can have one.
        let offset = match (row.format, target.generation()) {
            (Format::Flat, g) if g < Gen::Gfx9 => "",
            _ if text.contains("offset") || text.contains("_2") || text.contains("gws") => "",
            _ => " offset:4",
        };
        text.push_str(offset);
    }
    let (_, operands) = text.split_once(' ').unwrap_or((&text, ""));
    let mut state: Vec<String> = Vec::new();
    let vector = row.format.is_vector() && !row.format.is_valu();
    if vector {
        state.push("exec = 0x1".into());
    }
    if row.format == Format::Ds && target.generation() < Gen::Gfx9 {
        state.push("m0 = -1".into());
    }
    let mut sources = 0u32;
    let texts: Vec<&str> = split_operands(operands);
    let absent = texts.len() < row.shape.slots.len();
    let slots = row
        .shape
        .slots
        .iter()
        .filter(|s| !(absent && s.role == Role::VdstIfGlc));
    if row.format == Format::Vopc {
        state.push("exec = 0x7, vcc = 0xff".into());
    }
    for (slot, text) in slots.zip(&texts) {
        setting(row, slot, text, set, &mut sources, &mut state);
    }
    // Values of VCC and SCC, if the instruction reads them.
    let reads_vcc = row.shape.slots.iter().any(|s| s.role == Role::CarryIn)
        || row.flags.has(gcn::isa::inst::Flags::READS_VCC);
    if reads_vcc {
        state.push("vcc = 0x5".into());
    }
    if super::reads_scc(row, target) {
        state.push(format!("scc = {}", 1 - set % 2));
    }
    Some(
        format!("{text}   {}", state.join(", "))
            .trim_end()
            .to_string(),
    )
}

/// Splits operands at commas outside of brackets.
fn split_operands(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                out.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(text[start..].split(" offset").next().unwrap_or("").trim());
    out
}

/// Adds the setting of one operand.
fn setting(
    row: &Inst,
    slot: &Slot,
    text: &str,
    set: usize,
    sources: &mut u32,
    state: &mut Vec<String>,
) {
    let text = text.split_whitespace().next().unwrap_or("");
    let Some(register) = register(text) else {
        return;
    };
    let memory = |state: &mut Vec<String>, at: u32| {
        for n in 0..4 {
            state.push(format!(
                "mem[{:#x}] = {:#x}",
                at + 4 * n,
                0x1111_1111u32 * (n + 1 + [0, 4, 8, 9][set])
            ));
        }
    };
    match slot.role {
        Role::FlatAddr if row.format == Format::Scratch => {
            state.push("flat_scratch = 0x2000".into());
            state.push("mem[0x2000] = 0x11111111".into());
        }
        Role::FlatAddr => {
            state.push(format!("{register} = 0x2000"));
            memory(state, 0x2000);
        }
        Role::Sbase if slot.ty.dwords() == 2 => {
            state.push(format!("{register} = 0x2000"));
            memory(state, 0x2010);
        }
        Role::Sbase | Role::Srsrc if slot.ty.dwords() == 4 => {
            let Some(first) = first_number(register) else {
                return;
            };
            state.push(format!("s{first} = 0x2000"));
            state.push(format!("s{} = 0x1000", first + 2));
            state.push(format!("s{} = 0x27fac", first + 3));
            memory(
                state,
                if slot.role == Role::Sbase {
                    0x2010
                } else {
                    0x2000
                },
            );
        }
        Role::DsAddr => {
            if row.name.contains("permute") {
                state.push(format!("{register} = [4, 8, 0 ..]"));
                state[0] = "exec = 0x7".into();
                return;
            }
            state.push(format!("{register} = 16"));
            for n in 0..2 {
                state.push(format!(
                    "lds[{:#x}] = {}",
                    16 + 4 * n,
                    [7, 100, 0x8000_0000u32, 300][set] + n
                ));
            }
        }
        Role::Data0 | Role::Data1 | Role::Vdata | Role::Sdata if slot.access != Access::Write => {
            match slot.ty.dwords() {
                1 if row.name.contains("permute") => {
                    state.push(format!("{register} = [10, 20, 30 ..]"))
                }
                1 => state.push(format!(
                    "{register} = {}",
                    [5, 300, 0x8000_0001u32, 7][set] + 2 * *sources
                )),
                2 => {
                    let value = ["5", "0x700000008", "0x8000000000000001", "9"][set];
                    state.push(format!("{register} = {value}"));
                }
                n => {
                    let Some(first) = first_number(register) else {
                        return;
                    };
                    for k in 0..n as u32 {
                        state.push(format!(
                            "{}{} = {}",
                            &register[..1],
                            first + k,
                            k + 1 + 4 * set as u32
                        ));
                    }
                }
            }
            *sources += 1;
        }
        Role::Ssrc0
        | Role::Ssrc1
        | Role::SsrcK
        | Role::Src0
        | Role::Src1
        | Role::Src2
        | Role::LaneSel => {
            let lanes = matches!(slot.role, Role::Src0)
                && row
                    .shape
                    .slots
                    .iter()
                    .any(|s| matches!(s.role, Role::SdstV | Role::LaneSel))
                && row.format.is_valu()
                && register.starts_with('v');
            let value = match (lanes, slot.role) {
                (true, _) => "[10, 20, 30, 40 ..]",
                _ if row.format == Format::Vopc => compared(slot, set),
                (_, Role::LaneSel) => ["1", "3", "0", "2"][set],
                _ => values(slot.ty, set)[(*sources as usize).min(2)],
            };
            state.push(format!("{register} = {value}"));
            *sources += 1;
        }
        Role::Sdst | Role::Vdst if slot.access == Access::ReadWrite => {
            state.push(format!("{register} = {}", values(slot.ty, set)[2]));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_by_hand_runs() {
        for line in BY_HAND
            .lines()
            .filter(|l| !l.starts_with('#') && !l.is_empty())
        {
            let (arch, text) = line.split_once(' ').expect("a target");
            let target = Target::parse(arch).expect("a target");
            assert!(run(target, text.to_string()).is_some(), "{line}");
            let name = text.split([' ', ';']).next().unwrap_or("");
            assert!(!super::super::find(name).is_empty(), "{line}");
        }
    }

    #[test]
    fn every_row_has_two_examples() {
        let mut same = 0;
        for row in insts::all() {
            let targets = super::super::row_targets(row);
            if targets.is_empty() {
                continue;
            }
            let examples = examples(row, &targets);
            assert_eq!(examples.len(), 2, "{}", row.name);
            let first = (examples[0].target.name(), &examples[0].line);
            assert_ne!(first, (examples[1].target.name(), &examples[1].line));
            same += usize::from(examples[0].result == examples[1].result);
        }
        // Compares that are always false, images that are the same for two targets, and instructions without effect.
        assert!(same < 170, "{same} rows with the same result twice");
    }

    #[test]
    fn floats_are_shown_as_numbers() {
        let numbers = |name: &str, line: &str| {
            let row = super::super::find(name)[0];
            let target = Target::parse("gfx900").expect("a target");
            run(target, line.into()).expect("it runs").as_floats(row)
        };
        for (name, line, expected) in [
            (
                "v_add_f32",
                "v_add_f32 v0, v1, v2   v1 = 1.5, v2 = 2.0",
                "3.5",
            ),
            (
                "v_add_f64",
                "v_add_f64 v[0:1], v[2:3], v[4:5]   v[2:3] = 1.5d, v[4:5] = 2.25d",
                "3.75",
            ),
            (
                "v_pk_add_f16",
                "v_pk_add_f16 v0, v1, v2   v1 = 0x40003c00, v2 = 0x3c003c00",
                "(2.0, 3.0)",
            ),
            (
                "v_add_f16",
                "v_add_f16 v0, v1, v2   v1 = 1.5h, v2 = 2.0h",
                "3.5",
            ),
            // A changed mask is not taken for the result.
            (
                "v_div_scale_f32",
                "v_div_scale_f32 v0, vcc, v1, v1, v2   v1 = 0x7e800000, v2 = 1.0",
                "4.611686018427388e18",
            ),
        ] {
            let shown = numbers(name, line).unwrap_or_default();
            let number = |t: &str| t.parse::<f64>().unwrap_or(f64::NAN);
            assert!(
                shown == expected || (number(&shown) / number(expected) - 1.0).abs() < 1e-6,
                "{line}: {shown}"
            );
        }
        assert_eq!(numbers("v_add_u32", "v_add_u32 v0, v1, v2   v1 = 1"), None);
    }
}
