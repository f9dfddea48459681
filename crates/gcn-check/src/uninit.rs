//! The static check `uninit`: uses of registers that no path to the use writes.
//!
//! A use is reported where the value matters: as an address or a resource, as a condition or EXEC, and as the data of a store. Copies of a
//! value are followed. Compilers leave values undefined that do not matter, so a store is reported only if all of its data are undefined.

use gcn_isa::access::{File, MemoryKind, RegAccess};
use gcn_isa::decode::Insn;
use gcn_isa::flow::{Condition, Flow};
use gcn_isa::format::Format;
use gcn_isa::meaning::State;
use gcn_isa::operand::{EXEC, M0, VCC};
use gcn_isa::shape::Role;
use gcn_isa::target::Gen;
use gcn_object::descriptor::KernelDescriptor;

use crate::code::Graph;
use crate::registers::{self, RegisterSet};
use crate::report::{Check, Finding, Severity};

/// Returns the registers that are initialised when a kernel starts, according to its descriptor.
pub fn initial(descriptor: &KernelDescriptor) -> RegisterSet {
    let mut set = RegisterSet::default();
    let ids = descriptor
        .enable_workgroup_id()
        .into_iter()
        .filter(|on| *on)
        .count() as u32;
    let count = descriptor.user_sgpr_count()
        + ids
        + descriptor.enable_workgroup_info() as u32
        + descriptor.enable_private_segment() as u32;
    for register in 0..count as u16 {
        set.insert(File::Scalar, register);
    }
    for register in 0..=descriptor.enable_vgpr_workitem_id() as u16 {
        set.insert(File::Vector, register);
    }
    for register in [EXEC, EXEC + 1] {
        set.insert(File::Scalar, register);
    }
    // The trap handler's registers do not concern the kernel.
    for register in VCC + 2..M0 {
        set.insert(File::Scalar, register);
    }
    set
}

/// The kind of a use.
enum Use {
    Address,
    Condition,
    Data,
}

/// Finds uses of registers that no path to them writes.
pub fn check(graph: &Graph<'_>, descriptor: &KernelDescriptor) -> Vec<Finding> {
    let step = |at: usize, state: &mut RegisterSet| step(graph, at, state);
    let merge = |old: &mut RegisterSet, new: &RegisterSet| old.unite(new);
    let states = graph.forward(initial(descriptor), step, merge);
    let mut findings = Vec::new();
    for (at, state) in states.iter().enumerate() {
        if let Some(state) = state {
            uses(graph, at, state, &mut findings);
        }
        beyond(graph, at, descriptor, &mut findings);
    }
    findings
}

/// Returns the accesses of registers whose numbers are in the code.
fn accesses(graph: &Graph<'_>, at: usize) -> Vec<RegAccess> {
    let all = graph.info(at).accesses(&graph.sites[at].insn);
    all.filter(|a| !a.anywhere && a.file != File::Hwreg)
        .collect()
}

fn undefined(state: &RegisterSet, access: &RegAccess) -> Option<u16> {
    (access.first..access.first + access.count as u16).find(|n| !state.contains(access.file, *n))
}

fn step(graph: &Graph<'_>, at: usize, state: &mut RegisterSet) {
    let insn = &graph.sites[at].insn;
    let accesses = accesses(graph, at);
    let reads = || accesses.iter().filter(|a| !a.write && a.slot.is_some());
    // The result of a move, or of anything else with one source, is undefined if the source is.
    let sources = insn.row.shape.slots.len().saturating_sub(1);
    let copies = sources == 1
        && graph.info(at).memory(insn).is_none()
        && reads().count() == 1
        && reads().all(|a| (a.first..a.first + a.count as u16).all(|n| !state.contains(a.file, n)));
    if graph.sites[at].calls {
        // The callee may write any register.
        for n in 0..256 {
            state.insert(File::Scalar, n % 128);
            state.insert(File::Vector, n);
        }
        state.insert(File::Scc, 0);
    }
    if graph.info(at).accesses(insn).any(|a| a.write && a.anywhere) {
        let file = match insn.row.format.is_vector() {
            true => File::Vector,
            false => File::Scalar,
        };
        for n in 0..256 {
            state.insert(file, n);
        }
    }
    for write in accesses.iter().filter(|a| a.write) {
        for n in write.first..write.first + write.count as u16 {
            match copies {
                false => {
                    state.insert(write.file, n);
                }
                true if !write.partial => state.remove(write.file, n),
                // Inactive lanes keep their values.
                true => {}
            }
        }
    }
}

/// Returns true if a buffer store spills a register. It has the same address in all lanes, because the resource of scratch adds the lane's
/// number. Compilers also spill registers without a value.
fn spills(insn: &Insn) -> bool {
    insn.row.format == Format::Mubuf && insn.buffer_address_dwords() == 0
}

/// Finds the uses of undefined registers that matter.
fn uses(graph: &Graph<'_>, at: usize, state: &RegisterSet, findings: &mut Vec<Finding>) {
    let site = &graph.sites[at];
    let info = graph.info(at);
    let accesses = accesses(graph, at);
    let memory = info.memory(&site.insn);
    let branch = match site.flow {
        Flow::Branch {
            when: Condition::If { state, .. },
            ..
        } => Some(state),
        _ => None,
    };
    let writes_exec = accesses
        .iter()
        .any(|a| a.write && a.touches(File::Scalar, EXEC));
    for access in accesses.iter().filter(|a| !a.write) {
        let role = access
            .slot
            .map(|n| site.insn.row.shape.slots[n as usize].role);
        let address = match role {
            Some(role) => is_address(role),
            None => {
                // FLAT instructions read M0 only if they access LDS.
                let lds = access.touches(File::Scalar, M0) && site.insn.row.format != Format::Flat;
                let scratch =
                    site.insn.row.format == Format::Scratch && access.file == File::Scalar;
                lds || scratch && access.first != EXEC
            }
        };
        let data = matches!(
            role,
            Some(Role::Vdata | Role::Data0 | Role::Data1 | Role::Sdata | Role::ExpSrc(_))
        );
        let condition = match access.file {
            File::Scc => branch == Some(State::Scc),
            File::Scalar if access.first == VCC && branch == Some(State::Vcc) => true,
            _ => writes_exec && access.slot.is_some() && access.file == File::Scalar,
        };
        let registers = access.first..access.first + access.count as u16;
        let (purpose, register) = match (memory, address, data, condition) {
            (Some(_), true, ..) => (Use::Address, undefined(state, access)),
            (Some(m), _, true, _) if m.kind != MemoryKind::Load && !spills(&site.insn) => {
                let all = registers.clone().all(|n| !state.contains(access.file, n));
                (Use::Data, all.then_some(access.first))
            }
            (None, .., true) => (Use::Condition, undefined(state, access)),
            _ => continue,
        };
        let Some(register) = register else { continue };
        let name = registers::name(access.file, register, graph.target().generation());
        let what = match purpose {
            Use::Address => "is part of an address",
            Use::Condition => "decides a branch or which lanes are active",
            Use::Data => "is stored",
        };
        findings.push(Finding {
            check: Check::Uninit,
            severity: Severity::Error,
            rule: "undefined-register",
            site: at,
            register: Some((access.file, register)),
            message: format!(
                "{name} {what}, but no instruction on any path to here gives it a value"
            ),
            related: Vec::new(),
            help: None,
        });
    }
}

/// Finds registers above those that the descriptor allocates.
pub(crate) fn beyond(
    graph: &Graph<'_>,
    at: usize,
    descriptor: &KernelDescriptor,
    findings: &mut Vec<Finding>,
) {
    let generation = graph.target().generation();
    let vgprs = descriptor.vgpr_count() as u16;
    // The hardware allocates SGPRs in units of 16 from gfx8 on.
    let sgprs = match generation {
        Gen::Gfx6 | Gen::Gfx7 => descriptor.sgpr_count() as u16,
        _ => (descriptor.sgpr_count() as u16).next_multiple_of(16),
    };
    for access in accesses(graph, at) {
        let (limit, kind) = match access.file {
            File::Vector => (vgprs, "VGPRs"),
            File::Scalar if access.first < generation.sgprs() => (sgprs, "SGPRs"),
            _ => continue,
        };
        let last = access.first + access.count as u16 - 1;
        if last < limit || access.file == File::Scalar && last >= generation.sgprs() {
            continue;
        }
        let register = access.first.max(limit);
        let name = registers::name(access.file, register, generation);
        findings.push(Finding {
            check: Check::Uninit,
            severity: Severity::Error,
            rule: "beyond-allocation",
            site: at,
            register: Some((access.file, register)),
            message: format!(
                "{name} does not exist: the kernel's descriptor allots {limit} {kind}"
            ),
            related: Vec::new(),
            help: Some(match access.file {
                File::Vector => format!("raise .amdhsa_next_free_vgpr to {}", last + 1),
                _ => format!("raise .amdhsa_next_free_sgpr to {}", last + 1),
            }),
        });
        return;
    }
}

pub(crate) fn is_address(role: Role) -> bool {
    matches!(
        role,
        Role::Sbase
            | Role::Soff
            | Role::DsAddr
            | Role::BufAddr
            | Role::Srsrc
            | Role::Ssamp
            | Role::Soffset
            | Role::FlatAddr
            | Role::Saddr
    )
}
