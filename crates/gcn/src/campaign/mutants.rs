//! Mutations: a plan whose code is changed in one instruction, to measure which changes the plan's checks and the checker notice.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gcn_check::code::Graph;
use gcn_check::mutate::{self, Change};
use gcn_check::statically;
use gcn_isa::access::InstructionTable;
use gcn_isa::decode::decode;
use gcn_isa::encode::Encoder;
use gcn_isa::format::Format;
use gcn_isa::meaning::Signal;
use gcn_isa::operand::{Reg, Value, reg};
use gcn_isa::print::{Style, print};
use gcn_isa::shape::{Access, Role};
use gcn_isa::{Insn, Target};
use gcn_object::CodeObject;
use serde_json::{Map, Value as Json};
use toml::Spanned;

use super::file::Reader;
use super::{Outcome, Running};
use crate::plan_toml;

/// `s_nop 0`, which replaces removed instructions.
const NOP: u32 = 0xbf80_0000;

/// The kinds of changes.
const KINDS: [&str; 4] = ["waits", "nops", "barriers", "operands"];

/// A change of an instruction.
struct Mutation {
    kind: &'static str,
    kernel: String,
    pc: u64,
    before: String,
    after: String,
    object: usize,
    /// The offset in the object's file.
    file: usize,
    bytes: Vec<u8>,
}

/// The mutations of a plan's code.
pub struct Mutants {
    path: PathBuf,
    mutations: Vec<Mutation>,
}

fn text(insn: &Insn) -> String {
    let mut text = String::new();
    print(insn, &Style::LLVM, &mut text);
    text.trim().to_owned()
}

/// The changes of an instruction: the kind, and the bytes.
fn changes(graph: &Graph<'_>, at: usize) -> Vec<(&'static str, Vec<u8>)> {
    let site = &graph.sites[at];
    let mut out = Vec::new();
    let mut add = |kind, word: u32| out.push((kind, word.to_le_bytes().to_vec()));
    if graph.signals(at, Signal::Barrier) {
        add("barriers", NOP);
    }
    for change in mutate::changes(graph, at) {
        match change {
            Change::Without(_) | Change::Weaker(_) => {
                if let Some(word) = mutate::weaker_wait(graph, at, change) {
                    add("waits", word);
                }
            }
            // Code keeps its length, and an s_nop can only become shorter.
            Change::ShorterNop => add("nops", site.insn.bits as u32 - 1),
            Change::NoNop => {}
        }
    }
    out.extend(
        operands(&site.insn)
            .into_iter()
            .map(|bytes| ("operands", bytes)),
    );
    out
}

/// The instruction with one source replaced by the next register or number, for each source.
fn operands(insn: &Insn) -> Vec<Vec<u8>> {
    use Format::*;
    let mut out = Vec::new();
    if !matches!(
        insn.row.format,
        Sop1 | Sop2 | Sopc | Vop1 | Vop2 | Vopc | Vop3 | Vop3p
    ) {
        return out;
    }
    for slot in insn.row.shape.slots {
        let source = matches!(
            slot.role,
            Role::Ssrc0 | Role::Ssrc1 | Role::Src0 | Role::Src1 | Role::Src2
        );
        let Value::Code(code) = insn.operand(slot).value else {
            continue;
        };
        if !source || slot.access != Access::Read {
            continue;
        }
        let size = u16::from(insn.dwords(slot).max(1));
        let step = match reg(code, insn.generation()) {
            // Tuples of SGPRs begin at multiples of their size.
            Reg::Sgpr(_) => size.next_power_of_two().min(4),
            Reg::Vgpr(_) => 1,
            Reg::Int(0..=63) => 1,
            _ => continue,
        };
        let Some(mut encoder) = Encoder::new(insn.row, insn.encoding, insn.target) else {
            continue;
        };
        encoder.bits = insn.bits;
        encoder.literal = (insn.len > 4 && insn.literal != 0).then_some(insn.literal);
        if !encoder.set_code(slot.role, code + step) {
            continue;
        }
        let (bytes, length) = encoder.bytes();
        let same = decode(insn.target, &bytes[..length]);
        if length == insn.len as usize
            && same.is_some_and(|s| std::ptr::eq(s.row, insn.row) && text(&s) != text(insn))
        {
            out.push(bytes[..length].to_vec());
        }
    }
    out
}

impl Mutants {
    /// Lists the mutations of a plan's code: of one kernel and the functions, or of all kernels that are launched.
    ///
    /// # Errors
    /// A sentence.
    pub fn new(
        reader: &Reader<'_>,
        path: &Path,
        target: Option<Target>,
        kernel: Option<&Spanned<String>>,
        kinds: Option<&[Spanned<String>]>,
    ) -> Result<Mutants, String> {
        let mut wanted: BTreeSet<&str> = ["waits", "nops", "barriers"].into();
        if let Some(kinds) = kinds {
            wanted.clear();
            for kind in kinds {
                if !KINDS.contains(&kind.get_ref().as_str()) {
                    let (at, all) = (reader.of(kind), KINDS.join(", "));
                    return Err(format!(
                        "{at}: `{}` is nothing that is changed: expected {all}",
                        kind.get_ref()
                    ));
                }
                wanted.insert(kind.get_ref());
            }
        }
        let (plan, _) = plan_toml::read(path, target)?;
        let mut mutations = Vec::new();
        let mut known = BTreeSet::new();
        for (number, object) in plan.objects.iter().enumerate() {
            let launches = plan.launches.iter().filter(|l| l.object == number);
            let launched: Vec<Option<&str>> = launches.map(|l| l.kernel.as_deref()).collect();
            let here = |name: &str| launched.iter().any(|l| l.is_none_or(|l| l == name));
            let table = InstructionTable::new(crate::dis::target_of(object)?);
            let options = statically::Options {
                checks: BTreeSet::new(),
                notes: false,
            };
            for checked in statically::check(object, &table, None, &options)? {
                let chosen = kernel.is_none_or(|k| *k.get_ref() == checked.name);
                if checked.kernel && !(here(&checked.name) && chosen) {
                    continue;
                }
                let section = &object.sections[checked.section];
                for (at, site) in checked.graph.sites.iter().enumerate() {
                    if !known.insert((number, checked.section, site.pc)) {
                        continue;
                    }
                    for (kind, bytes) in changes(&checked.graph, at) {
                        let after = decode(site.insn.target, &bytes);
                        if let (true, Some(after)) = (wanted.contains(kind), after) {
                            mutations.push(Mutation {
                                kind,
                                kernel: checked.name.clone(),
                                pc: site.pc,
                                before: text(&site.insn),
                                after: text(&after),
                                object: number,
                                file: section.file.start + (site.pc - section.address) as usize,
                                bytes,
                            });
                        }
                    }
                }
            }
        }
        if mutations.is_empty() {
            let all: Vec<&str> = wanted.into_iter().collect();
            return Err(format!(
                "the code that the plan launches has nothing to change of: {}",
                all.join(", ")
            ));
        }
        mutations.sort_by_key(|m| (m.object, m.file));
        Ok(Mutants {
            path: path.to_owned(),
            mutations,
        })
    }

    /// The number of items: the unchanged code, and each mutation.
    pub fn items(&self) -> u64 {
        self.mutations.len() as u64 + 1
    }

    /// Runs an item.
    pub fn run(
        &self,
        n: u64,
        target: Option<Target>,
        running: &Running<'_>,
        record: &mut Map<String, Json>,
    ) -> Option<Outcome> {
        let mutation = n.checked_sub(1).map(|n| &self.mutations[n as usize]);
        let read = plan_toml::read(&self.path, target).and_then(|(mut plan, options)| {
            if let Some(m) = mutation {
                let object = plan
                    .objects
                    .get_mut(m.object)
                    .ok_or("the plan has changed")?;
                let mut file = object.data().to_vec();
                let location = file.get_mut(m.file..m.file + m.bytes.len());
                location
                    .ok_or("the code has changed")?
                    .copy_from_slice(&m.bytes);
                *object = CodeObject::from_bytes(file).map_err(|e| e.to_string())?;
            }
            Ok((plan, options))
        });
        match mutation {
            None => {
                record.insert("mutation".into(), "none: the code as it is".into());
            }
            Some(m) => {
                let change = format!(
                    "{} at {:#x}: `{}` for `{}`",
                    m.kernel, m.pc, m.after, m.before
                );
                record.insert("mutation".into(), change.into());
                record.insert("of".into(), m.kind.into());
                record.insert("kernel".into(), m.kernel.as_str().into());
                record.insert("pc".into(), m.pc.into());
            }
        }
        let outcome = running.run(read, record)?;
        Some(match (outcome, mutation) {
            (Outcome::Ok, Some(_)) => Outcome::Survived,
            (outcome, _) => outcome,
        })
    }
}
