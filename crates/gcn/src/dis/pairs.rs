//! Finds addresses that code computes from the program counter and two literals.

use std::collections::HashMap;

use gcn_isa::Insn;

use super::*;

/// A pair of literals that code adds to the address of an instruction.
pub(super) struct Pair {
    /// The addresses of the literals.
    pub(super) low: u64,
    pub(super) high: u64,
    /// The address that they are added to.
    pub(super) pc: u64,
    /// The sum.
    pub(super) to: u64,
}

/// Returns the pairs by section.
pub(super) fn all_pairs(
    object: &CodeObject,
    target: Target,
    outlines: &[OnceLock<Arc<Outline>>],
) -> Vec<Vec<Pair>> {
    let sections = object.sections.iter().enumerate();
    sections
        .map(|(index, section)| {
            if !section.flags.exec() || section.kind == SectionKind::NOBITS {
                return Vec::new();
            }
            let bytes = object.section_data(index);
            pairs(
                target,
                bytes,
                section.address,
                &outline(outlines, index, target, bytes),
            )
        })
        .collect()
}

/// Finds the literals whose low and high halves are added to the program counter that an instruction read.
fn pairs(target: Target, bytes: &[u8], base: u64, outline: &Outline) -> Vec<Pair> {
    /// The number of instructions after it that are searched for the additions.
    const NEAR: usize = 12;
    let decoder = Decoder::new(target);
    let mut info: HashMap<&'static str, InstructionInfo> = HashMap::new();
    let mut pairs = Vec::new();
    // By form: true if its instructions store the program counter in registers; determined at first use.
    let mut keeps: Vec<Option<bool>> = vec![None; Insn::forms()];
    // First dwords of instructions that do not store it, each in the slot of its hash.
    let mut others = vec![0u32; (bytes.len() / 16).next_power_of_two().clamp(64, 1 << 12)];
    let mut at = 0;
    while at < bytes.len() {
        let slot = outline.bits(bytes, at).map(|(bits, len)| {
            let first = bits as u32;
            (first, len, slot_of(first as u64, others.len()))
        });
        if let Some((first, len, slot)) = slot
            && others[slot] == first
            && first != 0
        {
            at += len;
            continue;
        }
        let Some(insn) = decoder.decode(&bytes[at..]) else {
            at += 4;
            continue;
        };
        let next = at + insn.len as usize;
        let keeps_pc = keeps[insn.form()].get_or_insert_with(|| {
            !insn.row.format.is_vector() && InstructionInfo::new(insn.row, target).keeps_pc()
        });
        if !*keeps_pc {
            if let Some((first, _, slot)) = slot {
                others[slot] = first;
            }
            at = next;
            continue;
        }
        let own = InstructionInfo::new(insn.row, target);
        let pair = (own.accesses(&insn))
            .find(|a| a.write && a.file == File::Scalar && a.count == 2 && !a.anywhere);
        let (mut low, mut high) = (None, None);
        let mut after = next;
        if let Some(pair) = pair.filter(|_| own.flow(&insn) == gcn_isa::flow::Flow::Next) {
            for _ in 0..NEAR {
                let Some(insn) = bytes.get(after..).and_then(|b| decoder.decode(b)) else {
                    break;
                };
                let info = (info.entry(insn.row.name))
                    .or_insert_with(|| InstructionInfo::new(insn.row, target));
                if info.flow(&insn) != gcn_isa::flow::Flow::Next {
                    break;
                }
                let plain = layout_of(insn.encoding, insn.generation()).map_or(8, |l| l.bytes);
                let literal = insn.len > plain;
                let touches = |n: u16, write: bool| {
                    (info.accesses(&insn)).any(|a| a.write == write && a.touches(File::Scalar, n))
                };
                let found = (after as u64 + 4, insn.literal);
                let mut spoiled = false;
                for (n, half) in [(pair.first, &mut low), (pair.first + 1, &mut high)] {
                    if touches(n, true) {
                        match half {
                            None if literal && touches(n, false) => *half = Some(found),
                            _ => spoiled = true,
                        }
                    }
                }
                if spoiled || low.is_some() && high.is_some() {
                    break;
                }
                after += insn.len as usize;
            }
        }
        if let (Some((low_at, low)), Some((high_at, high))) = (low, high)
            && low_at != high_at
        {
            let pc = base.wrapping_add(next as u64);
            let distance = (high as u64) << 32 | low as u64;
            pairs.push(Pair {
                low: base.wrapping_add(low_at),
                high: base.wrapping_add(high_at),
                pc,
                to: pc.wrapping_add(distance),
            });
        }
        at = next;
    }
    pairs
}
