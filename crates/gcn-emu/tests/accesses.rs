//! Compares the reads and writes that an instruction declares with its execution: nothing else changes, and nothing else has an
//! effect.

mod common;

use common::Rng;
use gcn_emu::interp::Interp;
use gcn_emu::mem::{Memory, Perm};
use gcn_emu::snippet::{End, Snippet, run};
use gcn_emu::wave::{Lds, WaveState, mode};
use gcn_isa::access::{
    File, HWREG_MODE, HWREG_STATUS, InstructionInfo, InstructionTable, RegAccess,
};
use gcn_isa::format::layout_of;
use gcn_isa::print::{Style, print};
use gcn_isa::{Encoding, Format, Insn, Target, decode, insts};

const VGPRS: usize = 40;

/// Random, but often a small number, because addresses and shift counts are small.
fn word(rng: &mut Rng) -> u32 {
    let r = rng.next();
    match r >> 62 {
        0 => (r & 0xff) as u32,
        1 => (r & 0xfff) as u32,
        2 => 0x3f80_0000 | (r & 0x7f_ffff) as u32,
        _ => r as u32,
    }
}

/// A wave whose registers hold random values. The modes that move or skip operands are off.
fn noise(rng: &mut Rng) -> WaveState {
    let mut wave = WaveState::new(VGPRS);
    wave.sgprs = std::array::from_fn(|_| word(rng));
    for register in &mut wave.vgprs {
        *register = std::array::from_fn(|_| word(rng));
    }
    wave.mode = word(rng) & !(mode::GPR_IDX_EN | mode::VSKIP);
    wave.scc = rng.next() & 1 != 0;
    wave
}

/// The registers of an access that exist in the wave.
fn registers(access: &RegAccess) -> impl Iterator<Item = (File, usize)> + use<> {
    let (file, first) = (access.file, access.first as usize);
    let range = match access.file {
        File::Vector if access.anywhere => 0..VGPRS,
        File::Scalar if access.anywhere => 0..128,
        _ => first..first + access.count as usize,
    };
    range.map(move |n| (file, n))
}

/// Gives `to` the register's value in `from`.
fn copy(register: (File, usize), from: &WaveState, to: &mut WaveState) {
    match register {
        (File::Scalar, n) if n < 128 => to.sgprs[n] = from.sgprs[n],
        // A VGPR beyond the wave's VGPRs is read as v0.
        (File::Vector, n) => {
            let n = if n < VGPRS { n } else { 0 };
            to.vgprs[n] = from.vgprs[n];
        }
        (File::Scc, _) => to.scc = from.scc,
        (File::Hwreg, n) if n == HWREG_MODE as usize => to.mode = from.mode,
        (File::Hwreg, n) if n == HWREG_STATUS as usize => to.status = from.status,
        _ => {}
    }
}

struct Ran {
    wave: WaveState,
    end: End,
    pc: u64,
    lds: Lds,
    memory: Vec<u8>,
}

fn execute(target: Target, code: &[u8], start: &WaveState, memory: &Memory) -> Ran {
    let mut wave = start.clone();
    let content: Vec<u8> = (0..4096u32).map(|n| (n * 37) as u8).collect();
    memory.write(0, &content).expect("mapped");
    let mut lds = Lds::from(&content[..1024]);
    let mut engine = Interp::new();
    let outcome = run(
        Snippet {
            target,
            code,
            start_pc: 0,
            max: 1,
        },
        &mut wave,
        &mut lds,
        memory,
        &mut engine,
    );
    let mut after = vec![0; 4096];
    memory.read(0, &mut after).expect("mapped");
    Ran {
        wave,
        end: outcome.end,
        pc: outcome.pc,
        lds,
        memory: after,
    }
}

/// Puts a resource and a sampler that can be used where an image instruction has them: a small linear image of any kind.
fn bind(rng: &mut Rng, insn: &Insn, wave: &mut WaveState) {
    let resource = 4 * insn.field(gcn_isa::Field::Srsrc) as usize;
    let sampler = 4 * insn.field(gcn_isa::Field::Ssamp) as usize;
    let r = rng.next() as u32;
    let tiling = if insn.generation() == gcn_isa::Gen::Gfx9 {
        0
    } else {
        8
    };
    let words = [
        0,
        // 32 or 32_32 UINT or FLOAT.
        if r & 1 == 0 { 4 } else { 11 } << 20 | if r & 2 == 0 { 4 } else { 7 } << 26,
        (r >> 4 & 7) | (r >> 8 & 7) << 14,
        0xfac | tiling << 20 | (8 + (r >> 12 & 7)) << 28,
        (r >> 16 & 1) | 7 << 13,
        1 << 13,
        0,
        0,
    ];
    if resource + 8 <= 96 {
        wave.sgprs[resource..resource + 8].copy_from_slice(&words);
    }
    let shape = insn.row.shape;
    if shape.slot(gcn_isa::shape::Role::Ssamp).is_some()
        && sampler + 4 <= 96
        && (sampler + 4 <= resource || resource + 8 <= sampler)
    {
        wave.sgprs[sampler + 3] &= 0x3fff_ffff;
    }
}

/// Returns a description of the first mismatch between an instruction and its declared accesses.
fn check(
    rng: &mut Rng,
    info: &InstructionInfo,
    insn: &Insn,
    memory: &Memory,
) -> Result<(), String> {
    let accesses: Vec<RegAccess> = info.accesses(insn).collect();
    let (bytes, len) = insn.to_bytes();
    let first = noise(rng);
    let mut first = first;
    if insn.row.format == Format::Mimg {
        bind(rng, insn, &mut first);
    }
    let mut second = noise(rng);
    second.hw_id = first.hw_id;
    for access in &accesses {
        if !access.write || access.partial {
            registers(access).for_each(|register| copy(register, &first, &mut second));
        }
    }
    let a = execute(insn.target, &bytes[..len], &first, memory);
    let b = execute(insn.target, &bytes[..len], &second, memory);
    if (&a.end, a.pc) != (&b.end, b.pc) {
        return Err(format!("ends as {:?}, then as {:?}", a.end, b.end));
    }
    // A fault stops both in the middle of the instruction.
    if matches!(a.end, End::Fault(_)) {
        return Ok(());
    }
    if a.memory != b.memory || a.lds != b.lds {
        return Err("memory depends on something else".into());
    }
    // The second wave's result, with the written registers replaced by the first wave's, equals its initial state.
    for (start, ran) in [(&first, &a), (&second, &b)] {
        let mut unchanged = ran.wave.clone();
        unchanged.pc = start.pc;
        unchanged.clock = start.clock;
        for access in accesses.iter().filter(|access| access.write) {
            registers(access).for_each(|register| copy(register, start, &mut unchanged));
        }
        if unchanged.scc != start.scc {
            return Err("SCC changed".into());
        }
        if unchanged.mode != start.mode || unchanged.status != start.status {
            return Err("MODE or STATUS changed".into());
        }
        if let Some(n) = (0..128).find(|&n| unchanged.sgprs[n] != start.sgprs[n]) {
            return Err(format!("scalar register {n} changed"));
        }
        if let Some(n) = (0..VGPRS).find(|&n| unchanged.vgprs[n] != start.vgprs[n]) {
            return Err(format!("v{n} changed"));
        }
    }
    let mut same = b.wave.clone();
    for access in accesses.iter().filter(|access| access.write) {
        for register in registers(access) {
            copy(register, &a.wave, &mut same);
        }
    }
    for access in accesses.iter().filter(|access| access.write) {
        for (file, n) in registers(access) {
            let differs = match file {
                File::Scalar => n < 128 && same.sgprs[n] != b.wave.sgprs[n],
                File::Vector => n < VGPRS && same.vgprs[n] != b.wave.vgprs[n],
                File::Scc => same.scc != b.wave.scc,
                File::Hwreg => false,
            };
            if differs {
                return Err(format!("{file:?} {n} depends on something else"));
            }
        }
    }
    Ok(())
}

#[test]
fn accesses_are_what_happens() {
    let mut rng = Rng(0x0bad_5eed_1234_5678);
    let memory = Memory::new(1 << 20).unwrap();
    memory.map_at(0, 4096, Perm::RW).unwrap();
    let mut wrong = std::collections::BTreeSet::new();
    let mut ran = 0;
    for name in ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"] {
        let target = Target::parse(name).unwrap();
        let table = InstructionTable::new(target);
        for row in insts::of_target(target) {
            for encoding in encodings(row.format) {
                let Some(layout) = layout_of(*encoding, target.generation()) else {
                    continue;
                };
                let encoder = gcn_isa::encode::Encoder::new(row, *encoding, target);
                let Some(encoder) = encoder else { continue };
                let name_bits = encoder.bits;
                let mut found = 0;
                for _ in 0..400 {
                    if found == 4 {
                        break;
                    }
                    // Few bits, so that registers and offsets are small.
                    let free = rng.next() & rng.next() & rng.next();
                    let mut bytes = [0u8; 12];
                    let bits = name_bits ^ (free & !fixed(layout));
                    bytes[..8].copy_from_slice(&bits.to_le_bytes());
                    bytes[8..].copy_from_slice(&word(&mut rng).to_le_bytes());
                    let Some(insn) = decode(target, &bytes) else {
                        continue;
                    };
                    if !std::ptr::eq(insn.row, row) {
                        continue;
                    }
                    let of = table.of(&insn);
                    let beyond = |a: RegAccess| {
                        a.file == File::Vector
                            && !a.anywhere
                            && a.first as usize + a.count as usize > VGPRS
                    };
                    if of.accesses(&insn).any(beyond) {
                        continue;
                    }
                    // Codes without a name.
                    let mut text = String::new();
                    print(&insn, &Style::LLVM, &mut text);
                    if text.contains("op(") {
                        continue;
                    }
                    found += 1;
                    ran += 1;
                    if let Err(what) = check(&mut rng, of, &insn, &memory) {
                        wrong.insert(format!("{name}: {text}: {what}\n"));
                    }
                }
            }
        }
    }
    let wrong: Vec<String> = wrong.into_iter().collect();
    assert!(
        wrong.is_empty(),
        "{}\n{}",
        wrong.len(),
        wrong[..wrong.len().min(60)].concat()
    );
    assert!(ran > 10_000, "only {ran} instructions");
}

fn encodings(format: Format) -> &'static [Encoding] {
    use Encoding::*;
    match format {
        Format::Vop1 => &[Vop1, Vop3, Vop3b, Sdwa1, Dpp1],
        Format::Vop2 => &[Vop2, Vop3, Vop3b, Sdwa2, Dpp2],
        Format::Vopc => &[Vopc, Vop3, SdwaC, DppC],
        Format::Vop3 => &[Vop3, Vop3b],
        Format::Sop1 => &[Sop1],
        Format::Sop2 => &[Sop2],
        Format::Sopc => &[Sopc],
        Format::Sopk => &[Sopk],
        Format::Sopp => &[Sopp],
        Format::Smem => &[Smem],
        Format::Vop3p => &[Vop3p],
        Format::Vintrp => &[Vintrp],
        Format::Ds => &[Ds],
        Format::Mubuf => &[Mubuf],
        Format::Mtbuf => &[Mtbuf],
        Format::Mimg => &[Mimg],
        Format::Flat | Format::Global | Format::Scratch => &[Flat],
        Format::Exp => &[Exp],
    }
}

/// The bits that identify the instruction.
fn fixed(layout: &gcn_isa::format::Layout) -> u64 {
    use gcn_isa::Field;
    let mut mask = layout.mask;
    for field in [Field::Op, Field::Seg] {
        let at = layout.field(field);
        if at.len != 0 {
            mask |= ((1u64 << at.len) - 1) << at.lo;
        }
    }
    mask
}
