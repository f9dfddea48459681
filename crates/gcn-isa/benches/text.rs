//! The speed of decoding and printing: `cargo bench -p gcn-isa`. Counts are instructions.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use gcn_isa::decode::Decoder;
use gcn_isa::plan::Plans;
use gcn_isa::print::{Style, print};
use gcn_isa::text::Text;
use gcn_isa::{Format, Target};

fn main() {
    divan::main();
}

const COUNT: usize = 100_000;

/// Instructions with random operands. With `few` they resemble real code, which repeats a hundred instructions and sets no
/// modifier; otherwise they are any that the target decodes.
fn code(target: Target, few: bool) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    let decoder = Decoder::new(target);
    let mut kinds = Vec::new();
    let mut out = Vec::new();
    let mut count = 0;
    while count < COUNT {
        let mut word = next();
        if few && kinds.len() >= 100 {
            // Other VGPRs in an earlier instruction.
            word = kinds[next() as usize % kinds.len()] ^ next() & 0x1fe_1e00;
        }
        let bytes = word.to_le_bytes();
        let Some(insn) = decoder.decode(&bytes) else {
            continue;
        };
        if few && kinds.len() < 100 {
            if !matches!(insn.row.format, Format::Vop1 | Format::Vop2) || insn.len != 4 {
                continue;
            }
            kinds.push(word);
        }
        out.extend(&bytes[..insn.len as usize]);
        count += 1;
    }
    out
}

const TARGETS: [&str; 3] = ["gfx600", "gfx803", "gfx900"];

#[divan::bench(args = TARGETS, consts = [true, false])]
fn decode<const FEW: bool>(bencher: Bencher, name: &str) {
    let target = Target::parse(name).unwrap();
    let code = code(target, FEW);
    let decoder = Decoder::new(target);
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        let mut rest = black_box(code.as_slice());
        let mut sum = 0;
        while let Some(insn) = &decoder.decode(rest) {
            sum += insn.bits ^ insn.row.opcode[0] as u64;
            rest = &rest[insn.len as usize..];
        }
        sum
    });
}

#[divan::bench(args = TARGETS, consts = [true, false])]
fn plans<const FEW: bool>(bencher: Bencher, name: &str) {
    let target = Target::parse(name).unwrap();
    let code = code(target, FEW);
    let decoder = Decoder::new(target);
    let mut plans = Plans::new(target, Style::LLVM);
    let mut text = Text::new();
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        text.clear();
        let mut rest = black_box(code.as_slice());
        while let Some(insn) = &decoder.decode(rest) {
            plans.print(insn, None, &mut text);
            rest = &rest[insn.len as usize..];
        }
        text.len()
    });
}

#[divan::bench(args = TARGETS)]
fn general(bencher: Bencher, name: &str) {
    let target = Target::parse(name).unwrap();
    let code = code(target, false);
    let decoder = Decoder::new(target);
    let mut text = String::new();
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        text.clear();
        let mut rest = black_box(code.as_slice());
        while let Some(insn) = &decoder.decode(rest) {
            print(insn, &Style::LLVM, &mut text);
            rest = &rest[insn.len as usize..];
        }
        text.len()
    });
}
