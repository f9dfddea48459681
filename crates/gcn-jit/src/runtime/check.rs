//! Compares a block's results with the interpreter's.

use crate::runtime::engine::fetch;
use gcn_emu::engine::{Machine, Stop};
use gcn_emu::interp::instruction_info;
use gcn_emu::wave::WaveState;
use gcn_isa::flow::Flow;

/// Panics if two waves that began as `from` differ.
pub(crate) fn check(
    from: &WaveState,
    jit: &WaveState,
    interp: &WaveState,
    machine: &Machine<'_>,
    stop: &Stop,
) {
    if jit == interp {
        return;
    }
    let mut text = String::new();
    let mut pc = from.pc;
    for _ in 0..400 {
        let Some(insn) = fetch(machine, pc) else {
            break;
        };
        text += &format!("{pc:#x}: {insn:?} ");
        gcn_isa::print::print(&insn, &gcn_isa::print::Style::LLVM, &mut text);
        text.push('\n');
        pc += insn.len as u64;
        if instruction_info(&insn).flow(&insn) != Flow::Next {
            break;
        }
    }
    for (n, (a, b)) in jit.vgprs.iter().zip(&interp.vgprs).enumerate() {
        for lane in 0..64 {
            if a[lane] != b[lane] {
                text += &format!(
                    "v{n}[{lane}]: jit {:#x}, interpreter {:#x}, before {:#x}\n",
                    a[lane], b[lane], from.vgprs[n][lane]
                );
                break;
            }
        }
    }
    for (n, (a, b)) in jit.sgprs.iter().zip(&interp.sgprs).enumerate() {
        if a != b {
            text += &format!(
                "s{n}: jit {a:#x}, interpreter {b:#x}, before {:#x}\n",
                from.sgprs[n]
            );
        }
    }
    text += &format!(
        "scc {} {}, pc {:#x} {:#x}, clock {} {}, exec before {:#x}, stop {stop:?}",
        jit.scc,
        interp.scc,
        jit.pc,
        interp.pc,
        jit.clock,
        interp.clock,
        from.exec()
    );
    panic!("compiled code differs after {:#x}:\n{text}", from.pc);
}
