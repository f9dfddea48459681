//! The code of a kernel or function as a graph: every instruction that a path from the entry reaches, with its successors.

use std::collections::{BTreeMap, HashMap};

use gcn_isa::access::{File, InstructionInfo, InstructionTable};
use gcn_isa::decode::{Decoder, Insn};
use gcn_isa::flow::Flow;
use gcn_isa::format::Format;
use gcn_isa::hazard;
use gcn_isa::meaning::Signal;
use gcn_isa::operand::{INT0, Value};
use gcn_isa::shape::Role;
use gcn_isa::target::Target;

/// Bytes of code and their address.
#[derive(Clone, Copy)]
pub struct Region<'a> {
    /// The address of the first byte.
    pub address: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

impl Region<'_> {
    fn at(&self, address: u64) -> Option<&[u8]> {
        let from = usize::try_from(address.checked_sub(self.address)?).ok()?;
        self.bytes.get(from..).filter(|rest| !rest.is_empty())
    }
}

/// An instruction of the graph.
pub struct Site {
    /// Its address.
    pub pc: u64,
    /// The instruction.
    pub insn: Insn,
    /// How control continues after it.
    pub flow: Flow,
    /// The instructions that may follow it; after a call, the one to which the callee returns.
    pub next: Vec<usize>,
    /// The instructions that it may follow.
    pub previous: Vec<usize>,
    /// The instruction calls a function.
    pub calls: bool,
    /// The instruction jumps to an address in registers and does not come back: a return or a tail call.
    pub leaves: bool,
    /// The number of wait states that the instruction counts as.
    pub wait_states: u32,
}

/// The location of a scalar value: an SGPR, or a lane of a VGPR.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holder {
    Sgpr(u16),
    Lane(u16, u16),
}

/// The source of a value.
enum Origin {
    /// It was copied from this location.
    In(Holder),
    /// It was computed or loaded.
    Made,
    /// It cannot be followed.
    Unknown,
}

/// The instructions that paths from one entry reach, in ascending order of address.
pub struct Graph<'t> {
    /// The properties of the target's instructions.
    pub table: &'t InstructionTable,
    /// The instructions. The entry is [`Graph::entry`].
    pub sites: Vec<Site>,
    /// The number of the first instruction that runs.
    pub entry: usize,
    /// Addresses that paths reach but that hold no instruction of the target, each with the preceding instruction's number: (instruction, address).
    pub invalid: Vec<(usize, u64)>,
    /// The addresses of functions that are called by branches.
    pub callees: Vec<u64>,
}

impl<'t> Graph<'t> {
    /// Follows all paths from an address. Returns `None` if there is no instruction.
    pub fn new(table: &'t InstructionTable, region: Region<'_>, entry: u64) -> Option<Graph<'t>> {
        let decoder = Decoder::new(table.target());
        let decode = |pc: u64| region.at(pc).and_then(|bytes| decoder.decode(bytes));
        decode(entry)?;
        let mut found: BTreeMap<u64, (Insn, Flow)> = BTreeMap::new();
        let mut missing = Vec::new();
        let mut callees = Vec::new();
        let mut waiting = vec![(entry, entry)];
        while let Some((pc, from)) = waiting.pop() {
            if found.contains_key(&pc) {
                continue;
            }
            let Some(insn) = decode(pc) else {
                missing.push((from, pc));
                continue;
            };
            let flow = table.of(&insn).flow(&insn);
            found.insert(pc, (insn, flow));
            if let Some(to) = flow.target(pc, &insn) {
                match flow {
                    Flow::Branch { links: true, .. } => callees.push(to),
                    _ => waiting.push((to, pc)),
                }
            }
            if flow.falls_through() {
                waiting.push((pc + insn.len as u64, pc));
            }
        }
        let number: HashMap<u64, usize> =
            found.keys().enumerate().map(|(n, pc)| (*pc, n)).collect();
        let mut sites: Vec<Site> = (found.iter())
            .map(|(&pc, &(insn, flow))| site(table.of(&insn), pc, insn, flow, &number))
            .collect();
        for n in 0..sites.len() {
            for next in sites[n].next.clone() {
                sites[next].previous.push(n);
            }
        }
        callees.sort_unstable();
        callees.dedup();
        Some(Graph {
            table,
            sites,
            entry: number[&entry],
            invalid: missing
                .into_iter()
                .map(|(from, pc)| (number[&from], pc))
                .collect(),
            callees,
        })
    }

    /// The target.
    pub fn target(&self) -> Target {
        self.table.target()
    }

    /// Returns the properties of an instruction's row.
    pub fn info(&self, site: usize) -> &'t InstructionInfo {
        self.table.of(&self.sites[site].insn)
    }

    /// Returns true if an instruction that leaves the function returns to the caller. Otherwise it jumps to an address that the
    /// function has computed or loaded, as a tail call does.
    pub fn returns(&self, at: usize) -> bool {
        if !self.sites[at].leaves {
            return false;
        }
        let insn = &self.sites[at].insn;
        let mut reads = self
            .info(at)
            .accesses(insn)
            .filter(|a| !a.write && !a.implicit);
        let Some(source) = reads.find(|a| a.file == File::Scalar) else {
            return true;
        };
        // The search follows the address back through moves and lanes of VGPRs to the instructions that may have written it.
        let mut seen = vec![(at, Holder::Sgpr(source.first))];
        let mut waiting = seen.clone();
        while let Some((from, holder)) = waiting.pop() {
            for &before in &self.sites[from].previous {
                match self.origin(before, holder) {
                    Origin::Made => return false,
                    Origin::Unknown => {}
                    Origin::In(holder) => {
                        let next = (before, holder);
                        if !seen.contains(&next) {
                            seen.push(next);
                            waiting.push(next);
                        }
                    }
                }
            }
        }
        true
    }

    /// Returns the source of a value before an instruction that may have moved it.
    fn origin(&self, at: usize, holder: Holder) -> Origin {
        let insn = &self.sites[at].insn;
        let (info, row) = (self.info(at), insn.row);
        let (file, register) = match holder {
            Holder::Sgpr(register) => (File::Scalar, register),
            Holder::Lane(register, _) => (File::Vector, register),
        };
        let mut accesses = info.accesses(insn);
        let Some(write) = accesses.find(|a| a.write && !a.anywhere && a.touches(file, register))
        else {
            return Origin::In(holder);
        };
        let scalar = info
            .accesses(insn)
            .find(|a| !a.write && a.slot.is_some() && a.file == File::Scalar);
        // The lane that v_readlane and v_writelane select by a constant.
        let lane = row
            .shape
            .slot(Role::LaneSel)
            .and_then(|slot| match insn.operand(slot).value {
                Value::Code(code) if (INT0..INT0 + 64).contains(&code) => Some(code - INT0),
                _ => None,
            });
        match (holder, lane) {
            (Holder::Sgpr(_), Some(lane)) => {
                let vector = info
                    .accesses(insn)
                    .find(|a| !a.write && a.file == File::Vector);
                vector.map_or(Origin::Unknown, |v| Origin::In(Holder::Lane(v.first, lane)))
            }
            (Holder::Lane(_, own), Some(lane)) if own == lane => {
                scalar.map_or(Origin::Unknown, |s| Origin::In(Holder::Sgpr(s.first)))
            }
            (Holder::Lane(..), Some(_)) => Origin::In(holder),
            (Holder::Lane(..), None) => Origin::Unknown,
            (Holder::Sgpr(register), None) => match row.format {
                Format::Sop2 | Format::Smem => Origin::Made,
                _ if info.keeps_pc() && !self.sites[at].calls => Origin::Made,
                Format::Sop1 => scalar.map_or(Origin::Unknown, |s| {
                    Origin::In(Holder::Sgpr(s.first + (register - write.first)))
                }),
                _ => Origin::Unknown,
            },
        }
    }

    /// Returns true if an instruction has an event such as a barrier or a wait.
    pub fn signals(&self, site: usize, signal: Signal) -> bool {
        self.info(site).signals(signal)
    }

    /// Computes the state before every instruction: the least solution of a forward analysis. `step` changes the state before an
    /// instruction to the state after it; `merge` adds a state to another and returns true if that changed it. Unreachable
    /// instructions have no state.
    pub fn forward<S: Clone>(
        &self,
        initial: S,
        mut step: impl FnMut(usize, &mut S),
        mut merge: impl FnMut(&mut S, &S) -> bool,
    ) -> Vec<Option<S>> {
        let mut states: Vec<Option<S>> = vec![None; self.sites.len()];
        states[self.entry] = Some(initial);
        let mut queued = vec![false; self.sites.len()];
        // The lowest address is visited first: most branches go forward, so few instructions are visited twice.
        let mut queue = std::collections::BinaryHeap::from([std::cmp::Reverse(self.entry)]);
        while let Some(std::cmp::Reverse(at)) = queue.pop() {
            queued[at] = false;
            let Some(mut state) = states[at].clone() else {
                continue;
            };
            step(at, &mut state);
            for &next in &self.sites[at].next {
                let changed = match &mut states[next] {
                    Some(old) => merge(old, &state),
                    new => {
                        *new = Some(state.clone());
                        true
                    }
                };
                if changed && !queued[next] {
                    queued[next] = true;
                    queue.push(std::cmp::Reverse(next));
                }
            }
        }
        states
    }
}

fn site(
    info: &InstructionInfo,
    pc: u64,
    insn: Insn,
    flow: Flow,
    number: &HashMap<u64, usize>,
) -> Site {
    let (calls, jumps) = match flow {
        Flow::Branch { links, .. } => (links, false),
        Flow::Indirect { links, .. } => (links, true),
        _ => (false, false),
    };
    let mut next = Vec::new();
    if flow.falls_through() {
        next.extend(number.get(&(pc + insn.len as u64)).copied());
    }
    if let Some(to) = flow.target(pc, &insn).filter(|_| !calls) {
        let to = number.get(&to).copied();
        next.extend(to.filter(|n| !next.contains(n)));
    }
    Site {
        pc,
        insn,
        flow,
        next,
        previous: Vec::new(),
        calls,
        leaves: jumps && !calls,
        wait_states: hazard::wait_states(&insn, info),
    }
}
