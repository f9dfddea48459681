//! Static checks of kernels' code: instructions that connect the workgroups of a grid.

use std::collections::{BTreeMap, BTreeSet};

use gcn_check::code::{Graph, Region};
use gcn_check::statically::roots;
use gcn_isa::Insn;
use gcn_isa::access::{InstructionInfo, InstructionTable, MemorySpace};
use gcn_isa::image::ImageOp;
use gcn_isa::meaning::{AtomicOp, Change, Op, Space, meaning};
use gcn_isa::print::{Style, print};
use gcn_isa::shape::Ty;

use super::{Refusal, refused};
use crate::plan::{Failure, Plan, located};

/// The operator that unites atomics of several shards on one value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unite {
    /// Addition and subtraction: the differences are added.
    Add,
    And,
    Or,
    Xor,
    MinSigned,
    MinUnsigned,
    MaxSigned,
    MaxUnsigned,
}

impl Unite {
    const ALL: [Unite; 8] = [
        Unite::Add,
        Unite::And,
        Unite::Or,
        Unite::Xor,
        Unite::MinSigned,
        Unite::MinUnsigned,
        Unite::MaxSigned,
        Unite::MaxUnsigned,
    ];

    /// Its number in shards.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The operator with a number.
    pub fn of(number: u8) -> Option<Unite> {
        Unite::ALL.get(usize::from(number)).copied()
    }

    /// The united value of two shards; `before` is the value before the first launch, `bits` 32 or 64.
    pub fn unite(self, before: u64, a: u64, b: u64, bits: u32) -> u64 {
        let signed = |n: u64| (n << (64 - bits)) as i64 >> (64 - bits);
        let mask = u64::MAX >> (64 - bits);
        mask & match self {
            Unite::Add => a.wrapping_add(b).wrapping_sub(before),
            Unite::And => a & b,
            Unite::Or => a | b,
            Unite::Xor => a ^ b ^ before,
            Unite::MinSigned => signed(a).min(signed(b)) as u64,
            Unite::MinUnsigned => a.min(b),
            Unite::MaxSigned => signed(a).max(signed(b)) as u64,
            Unite::MaxUnsigned => a.max(b),
        }
    }
}

/// The effect of an instruction on sharding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// It affects only its own workgroup, or it loads and stores.
    Plain,
    /// An atomic that can be united.
    Unites(Unite),
    /// It is refused if it accesses global memory, which its address determines at run time.
    InMemory(Refusal),
    /// It is refused.
    Refused(Refusal),
}

/// Classifies an atomic of global memory.
fn atomic(op: AtomicOp, ty: Ty, returns: bool) -> Class {
    let refusal = match op {
        _ if returns => Refusal::ReturnedAtomic,
        _ if ty.is_float() => Refusal::FloatAtomic,
        AtomicOp::Add | AtomicOp::Sub => return Class::Unites(Unite::Add),
        AtomicOp::And => return Class::Unites(Unite::And),
        AtomicOp::Or => return Class::Unites(Unite::Or),
        AtomicOp::Xor => return Class::Unites(Unite::Xor),
        AtomicOp::Min if ty.is_signed() => return Class::Unites(Unite::MinSigned),
        AtomicOp::Min => return Class::Unites(Unite::MinUnsigned),
        AtomicOp::Max if ty.is_signed() => return Class::Unites(Unite::MaxSigned),
        AtomicOp::Max => return Class::Unites(Unite::MaxUnsigned),
        // Without its result, it is a store.
        AtomicOp::Swap => return Class::Plain,
        _ => Refusal::OrderedAtomic,
    };
    Class::Refused(refusal)
}

/// Classifies an instruction.
pub fn classify(insn: &Insn, info: &InstructionInfo) -> Class {
    let program = meaning(insn.row, insn.target);
    let memory = info.memory(insn);
    if memory.is_some_and(|m| m.space == MemorySpace::Gds) {
        let ordered = program.nodes.iter().any(|n| n.op == Op::Turn);
        return Class::Refused(match ordered {
            true => Refusal::OrderedAppend,
            false => Refusal::Gds,
        });
    }
    let returns = memory.is_some_and(|m| m.returns);
    for node in &program.nodes {
        match node.op {
            Op::Gws(_) => return Class::Refused(Refusal::Gws),
            Op::Turn => return Class::Refused(Refusal::OrderedAppend),
            Op::Atomic(Space::Lds, _) | Op::WaveAtomic(Space::Lds, _) => {}
            Op::Atomic(Space::Gds, _) | Op::WaveAtomic(Space::Gds, _) => {
                return Class::Refused(Refusal::Gds);
            }
            Op::Atomic(space, op) | Op::WaveAtomic(space, op) => {
                return match atomic(op, node.ty, returns) {
                    Class::Refused(refusal) if space == Space::Flat => Class::InMemory(refusal),
                    class => class,
                };
            }
            _ => {}
        }
    }
    for effect in &program.effects {
        if let Change::Image(ImageOp::Atomic(op, ty)) = effect.change {
            return atomic(op, ty, returns);
        }
    }
    Class::Plain
}

/// Checks all code that the plan's kernels reach by branches and direct calls.
///
/// # Errors
/// The first instruction that is refused.
pub fn look(plan: &Plan) -> Result<(), Failure> {
    let mut tables: BTreeMap<&str, InstructionTable> = BTreeMap::new();
    for launch in &plan.launches {
        let Some(object) = plan.objects.get(launch.object) else {
            continue;
        };
        let at = |text: &str| located(&launch.at, text);
        let Ok(target) = crate::dis::target_of(object) else {
            continue;
        };
        let table = tables
            .entry(target.name())
            .or_insert_with(|| InstructionTable::new(target));
        let kernels = roots(object).map_err(|e| at(&e))?;
        let name = |name: &str| match &launch.kernel {
            Some(kernel) => name == kernel,
            None => true,
        };
        // A name other than the symbol's is resolved when the launch is prepared; in that case all kernels are checked here.
        let named = kernels.iter().any(|r| r.kernel.is_some() && name(&r.name));
        let wanted = kernels
            .iter()
            .filter(|r| r.kernel.is_some() && (!named || name(&r.name)));
        for root in wanted {
            let region = || Region {
                address: object.sections[root.section].address,
                bytes: object.section_data(root.section),
            };
            let mut known = BTreeSet::new();
            let mut waiting = vec![root.address];
            while let Some(entry) = waiting.pop() {
                if !known.insert(entry) {
                    continue;
                }
                let Some(graph) = Graph::new(table, region(), entry) else {
                    continue;
                };
                waiting.extend(graph.callees.iter().copied());
                for site in &graph.sites {
                    let Class::Refused(refusal) = classify(&site.insn, table.of(&site.insn)) else {
                        continue;
                    };
                    let mut text = String::new();
                    print(&site.insn, &Style::LLVM, &mut text);
                    let location = format!("kernel {}, {:#x}: {text}", root.name, site.pc);
                    return Err(refused(refusal, &at(&location)));
                }
            }
        }
    }
    Ok(())
}
