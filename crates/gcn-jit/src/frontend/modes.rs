//! MODE before each instruction of a region.
//!
//! A region continues over instructions that change rounding, denormals, DX10_CLAMP or IEEE, the bits on which only float operations depend, if
//! the new MODE is known. Where MODE flushes denormals, compilers change it around each division of f32. Every block has one MODE, and a block
//! of its own writes the new one.
//!
//! A change and the one that undoes it may also be within a block, which then writes no MODE: the instructions between them are a *span*. A
//! block has one floating-point environment, so no float operation of a span may be left in it. As a rule they are the steps of a
//! division, which becomes one operation ([`Graph::division`]). If some are left, the changes of the span have blocks of their own.

use super::*;
use gcn_emu::eval::{Operation, eval};
use gcn_emu::wave::mode_after;

/// The bits of MODE that may change within a region.
const MODE_OF_BLOCKS: u32 = 0x3ff;

/// The maximum number of instructions of a span.
const SPAN_INSNS: usize = 48;

/// A change of MODE after which the region continues.
pub(crate) struct ModeChange {
    /// The new MODE.
    mode: u32,
    /// The scalar register with the new bits, and the value that it is assumed to have.
    source: Option<(u16, u32)>,
    /// The change is within a block: the address of the first change of its span.
    span: Cell<Option<u64>>,
}

/// What an instruction writes to the field that the hwreg code names.
struct Written {
    code: u32,
    value: u32,
    source: Option<(u16, u32)>,
}

/// Finds MODE before each instruction of a region, and the changes after which it continues. There are none if an instruction is
/// reached with more than one MODE.
pub(super) fn follow(
    entry: u64,
    insns: &mut BTreeMap<u64, InsnInfo>,
    leaders: &BTreeSet<u64>,
    calls: &calls::Calls,
    s: &CompileRequest<'_>,
) {
    let fields = fields(insns);
    if fields.is_empty() {
        return;
    }
    let generation = s.target.generation();
    let changed = |pc: u64, mode: u32| {
        let field = fields.get(&pc)?;
        let new = mode_after(mode, field.code, field.value, generation)?;
        ((new ^ mode) & !MODE_OF_BLOCKS == 0).then_some((new, field.source))
    };
    let mut modes: Map<u64, u32> = Map::default();
    let mut work = vec![(entry, s.mode)];
    while let Some((mut pc, mut mode)) = work.pop() {
        while let Some(k) = insns.get(&pc) {
            match modes.insert(pc, mode) {
                Some(before) if before != mode => return,
                Some(_) => break,
                None => {}
            }
            mode = changed(pc, mode).map_or(mode, |new| new.0);
            work.extend(k.flow.target(pc, &k.insn).map(|target| (target, mode)));
            work.extend(calls.at(pc).iter().map(|&target| (target, mode)));
            if !k.flow.falls_through() {
                break;
            }
            pc += k.len;
        }
    }
    for (&pc, k) in insns.iter_mut() {
        k.mode = modes.get(&pc).copied().unwrap_or(s.mode);
        if let Some((mode, source)) = changed(pc, k.mode) {
            let span = Cell::new(None);
            k.sets_mode = Some(ModeChange { mode, source, span });
            k.unknown_effects = false;
        }
    }
    let mut free = 0;
    for (&pc, k) in insns.iter() {
        if pc >= free && k.mode == s.mode && k.sets_mode.is_some() {
            free = mark_span(pc, k, insns, leaders).unwrap_or(free);
        }
    }
}

/// Marks the changes of the span that begins with a change of MODE. Returns the address after it. `None` if there is none.
fn mark_span(
    first: u64,
    k: &InsnInfo,
    insns: &BTreeMap<u64, InsnInfo>,
    leaders: &BTreeSet<u64>,
) -> Option<u64> {
    let begins = k.sets_mode.as_ref()?;
    let mut pc = first + k.len;
    if begins.mode != k.mode {
        for count in 0.. {
            let next = insns.get(&pc)?;
            let plain = next.flow == Flow::Next && !next.unknown_effects;
            if !plain || leaders.contains(&pc) || count == SPAN_INSNS {
                return None;
            }
            pc += next.len;
            if let Some(ends) = &next.sets_mode {
                if ends.mode != k.mode {
                    return None;
                }
                ends.span.set(Some(first));
                break;
            }
        }
    }
    begins.span.set(Some(first));
    Some(pc)
}

/// Makes the changes of spans, which are given by the addresses of their first changes, end blocks.
pub(super) fn split(insns: &BTreeMap<u64, InsnInfo>, spans: &BTreeSet<u64>) {
    for change in insns.values().filter_map(|k| k.sets_mode.as_ref()) {
        let span = change.span.get();
        change.span.set(span.filter(|first| !spans.contains(first)));
    }
}

/// Returns what instructions write to fields of hardware registers, by their addresses, if that is known or can be assumed. A scalar
/// register is assumed to have the constant that was written to it last before, in the order of addresses.
fn fields(insns: &BTreeMap<u64, InsnInfo>) -> Map<u64, Written> {
    let mut fields = Map::default();
    if !insns.values().any(|k| is_setreg(&k.insn)) {
        return fields;
    }
    let mut constants: Map<u16, u32> = Map::default();
    for (&pc, k) in insns {
        if is_setreg(&k.insn) {
            let written = written(&k.insn, &constants);
            fields.extend(written.map(|written| (pc, written)));
        }
        if k.swrites != 0 {
            constants.retain(|&register, _| k.swrites & analyze::bit(register) == 0);
            constants.extend(moved_constant(k));
        }
    }
    fields
}

fn is_setreg(insn: &Insn) -> bool {
    let effects = &gcn_emu::interp::program(insn).effects;
    effects.iter().any(|e| matches!(e.change, Change::Setreg))
}

/// Returns what an instruction writes to a field of a hardware register. `constants` has the values that scalar registers are assumed to
/// have.
fn written(insn: &Insn, constants: &Map<u16, u32>) -> Option<Written> {
    let program = gcn_emu::interp::program(insn);
    let [effect] = &program.effects[..] else {
        return None;
    };
    let code = constant(insn, program, effect.value)? as u32;
    let (value, source) = match constant(insn, program, effect.second) {
        Some(value) => (value as u32, None),
        None => {
            let Op::Src(slot) = program.nodes[effect.second as usize].op else {
                return None;
            };
            let OperandLocation::Scalar(register) = location(insn, slot) else {
                return None;
            };
            let value = *constants.get(&register)?;
            (value, Some((register, value)))
        }
    };
    Some(Written {
        code,
        value,
        source,
    })
}

/// Returns the scalar register to which an instruction writes a constant, and nothing else, with the constant.
fn moved_constant(k: &InsnInfo) -> Option<(u16, u32)> {
    let program = gcn_emu::interp::program(&k.insn);
    let [effect] = &program.effects[..] else {
        return None;
    };
    let (Change::Dst(slot), None) = (effect.change, effect.when) else {
        return None;
    };
    let OperandLocation::Scalar(register) = location(&k.insn, slot) else {
        return None;
    };
    let one = k.swrites == analyze::bit(register);
    let value = constant(&k.insn, program, effect.value).filter(|_| one)?;
    Some((register, value as u32))
}

fn location(insn: &Insn, slot: u8) -> OperandLocation {
    Opnd::new(insn, &insn.row.shape.slots[slot as usize]).location
}

/// Returns the value of a node that depends on the instruction's bits alone.
pub(super) fn constant(insn: &Insn, program: &Program, node: u16) -> Option<u64> {
    known(insn, program, node, &|_| None)
}

/// Returns the value of a node that depends on the instruction's bits and on the values that `given` returns.
pub(super) fn known(
    insn: &Insn,
    program: &Program,
    node: u16,
    given: &dyn Fn(Op) -> Option<u64>,
) -> Option<u64> {
    let n = &program.nodes[node as usize];
    match n.op {
        Op::Const(value) => Some(value),
        Op::Field(field) => Some(insn.field(field) as u64),
        Op::Src(slot) => match location(insn, slot) {
            OperandLocation::Const(value) => Some(value),
            _ => given(n.op),
        },
        op if op.arity() > 0 && !n.ty.is_float() && !n.out.is_float() => {
            let mut args = [[0]; 3];
            for (k, arg) in args.iter_mut().enumerate().take(op.arity()) {
                *arg = [known(insn, program, n.args[k], given)?];
            }
            let operation = Operation {
                op,
                ty: n.ty,
                out: n.out,
                generation: insn.target.generation(),
                mode: 0,
            };
            let mut value = [0];
            eval(operation, args.each_ref(), &mut value).then_some(value[0])
        }
        op => given(op),
    }
}

impl Builder<'_> {
    /// Begins an instruction, which runs with this MODE.
    pub(super) fn in_mode(&mut self, mode: u32) {
        if self.code.insns == 0 {
            self.mode = mode;
            self.g.modes.clear();
            self.spans.clear();
        }
        self.g.mode = mode;
    }

    /// Lowers a change of MODE that is within a block.
    pub(super) fn change_mode(&mut self, change: &ModeChange) -> Result<Changes, Refusal> {
        let span = change.span.get().ok_or(Refusal::NewBlock)?;
        let guards = self.assumption(change)?.into_iter().collect();
        let first = self.g.nodes.len() as Id;
        self.g.change_mode(change.mode);
        self.spans.retain(|known| known.0 < first);
        self.spans.push((first, span));
        Ok(Changes {
            guards,
            ..Changes::default()
        })
    }

    /// Returns a truth value, which must be false, of what a change of MODE assumes.
    fn assumption(&mut self, change: &ModeChange) -> Result<Option<Id>, Refusal> {
        let Some((register, value)) = change.source else {
            return Ok(None);
        };
        let (now, assumed) = (self.sgpr(register), self.c32(value as u64));
        let differs = (self.g).alu(Op::Ne, Ty::B32, Ty::Bool, [now, assumed, 0])?;
        Ok((self.g.value_of(differs) != Some(0)).then_some(differs))
    }

    /// Adds a block that changes MODE.
    pub(super) fn add_change_of_mode(
        &mut self,
        pc: u64,
        k: &InsnInfo,
        change: &ModeChange,
    ) -> Result<(), Refusal> {
        self.in_mode(k.mode);
        let guard = self.assumption(change)?;
        self.guards.extend(guard);
        self.sets_mode = Some(change.mode);
        self.code.add(pc, pc + k.len, 1, false, false);
        Ok(())
    }

    /// Records the spans of a finished block that it may not contain: those that it does not contain as a whole, and those of
    /// which float operations are left.
    pub(super) fn check_spans(&mut self, block: &Block) {
        let Some(&(_, last)) = self.spans.last() else {
            return;
        };
        if self.g.mode != block.mode {
            self.failed_spans.insert(last);
        }
        for (id, live) in block.live().into_iter().enumerate() {
            let id = id as Id;
            if live && block.graph[id as usize].rounds() && self.g.mode_of(id) != block.mode {
                let span = self.spans.iter().rfind(|span| span.0 <= id);
                self.failed_spans.extend(span.map(|span| span.1));
            }
        }
        self.g.modes.clear();
        self.spans.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Node;
    use gcn_isa::decode;

    /// A division of v0 by v1 where MODE flushes denormals of f32. `first` comes before it.
    fn division(first: &str, [keep, flush]: [&str; 2]) -> String {
        format!(
            "{first}
v_div_scale_f32 v4, s[0:1], v1, v1, v0
v_div_scale_f32 v5, vcc, v0, v1, v0
v_rcp_f32 v6, v4
{keep}
v_fma_f32 v7, -v4, v6, 1.0
v_fma_f32 v6, v7, v6, v6
v_mul_f32 v7, v5, v6
v_fma_f32 v8, -v4, v7, v5
v_fma_f32 v7, v8, v6, v7
v_fma_f32 v4, -v4, v7, v5
{flush}
v_div_fmas_f32 v4, v4, v6, v7
v_div_fixup_f32 v2, v4, v1, v0
"
        )
    }

    const CONSTANTS: [&str; 2] = [
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3",
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0",
    ];
    const REGISTERS: [&str; 2] = [
        "s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s8",
        "s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s9",
    ];
    const STORE: &str = "flat_store_dword v[10:11], v2\ns_endpgm\n";

    /// The region of code where MODE flushes the denormals of f32.
    fn region_of(code: &str) -> Region {
        let target = Target::parse("gfx803").expect("a target");
        let text = gcn_asm::assemble_snippet(target, code, false).expect("it assembles");
        let fetch = |pc: u64| decode(target, text.get(pc as usize..)?);
        let request = CompileRequest {
            vgprs: 16,
            ..CompileRequest::plain(target, 0x3c0, &fetch)
        };
        region(0, &request)
    }

    /// Returns MODE of each block of code, and the number of its live divisions.
    fn blocks(code: &str) -> Vec<(u32, usize)> {
        let divisions = |b: &Block| {
            let live = b.live().into_iter().zip(&b.graph);
            let division = |n: &Node| n.op == Inst::Alu(Op::Div);
            live.filter(|(live, n)| *live && division(n)).count()
        };
        let region = region_of(code);
        let blocks = region.blocks.iter();
        blocks.map(|b| (b.mode, divisions(b))).collect()
    }

    #[test]
    fn divisions_are_one_operation() {
        let code = division("", CONSTANTS) + STORE;
        assert_eq!(blocks(&code), [(0x3c0, 1)]);
        let first = "s_load_dwordx2 s[8:9], s[2:3], 0x0\ns_mov_b32 s8, 3\ns_movk_i32 s9, 0x0";
        // The store is in a block of its own because of the scalar load.
        let code = division(first, REGISTERS) + STORE;
        assert_eq!(blocks(&code), [(0x3c0, 1), (0x3c0, 0)]);
    }

    #[test]
    fn steps_that_are_observed_have_their_own_blocks() {
        let code = division("", CONSTANTS) + "v_add_f32 v2, v2, v8\n" + STORE;
        // The reciprocal is a division. Both changes are blocks.
        let expected = [(0x3c0, 1), (0x3c0, 0), (0x3f0, 0), (0x3f0, 0), (0x3c0, 0)];
        assert_eq!(blocks(&code), expected);
    }

    #[test]
    fn unknown_changes_leave_the_region() {
        let leaves = |code: &str| {
            let leaves =
                |b: &&Block| matches!(b.terminator, Terminator::Interpret { jumps: true, .. });
            region_of(code).blocks.iter().filter(leaves).count()
        };
        let [keep, flush] = CONSTANTS;
        let end = "v_mul_f32 v0, v0, v1\ns_endpgm\n";
        assert_eq!(leaves(&format!("{keep}\n{end}")), 0);
        // A register of which nothing is known, and VSKIP.
        assert_eq!(leaves(&format!("{}\n{end}", REGISTERS[0])), 1);
        let vskip = |on: u32| format!("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), {on}\n{end}");
        assert_eq!([leaves(&vskip(0)), leaves(&vskip(1))], [0, 1]);
        // The end is reached with two MODEs, or with one.
        let two = format!("s_cbranch_scc1 end\n{keep}\nend:\n{end}");
        assert_eq!(leaves(&two), 1);
        let one = format!("s_cbranch_scc1 end\n{keep}\n{flush}\nend:\n{end}");
        assert_eq!(leaves(&one), 0);
    }
}
