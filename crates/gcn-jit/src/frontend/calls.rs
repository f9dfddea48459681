//! Calls within a region: where jumps to addresses in registers probably go.
//!
//! Compilers compute a function's address right before the call, from the PC and constants, and a function returns to the address that
//! the call left in a register. The addresses found here only decide which code belongs to the region, and what an address is compared
//! with at run time. A wave that jumps to another one leaves the region.

use super::*;

/// The maximum number of addresses that a jump is compared with.
const AMONG: usize = 16;

/// The maximum number of functions of a region.
const FUNCTIONS: usize = 64;

/// The values of scalar registers that come from the PC and constants, in straight code.
#[derive(Default)]
pub(super) struct Constants {
    sgprs: Map<u16, u32>,
    scc: Option<u64>,
}

impl Constants {
    /// Takes an instruction into account. Returns the address that it jumps to, if that is known and in registers.
    pub fn follow(&mut self, pc: u64, k: &InsnInfo) -> Option<u64> {
        let program = k.parts.row.program;
        let reads_pc =
            |e: &gcn_isa::meaning::Effect| program.nodes[e.value as usize].op == Op::Get(State::Pc);
        let begins = k.flow == Flow::Next
            && !k.insn.row.format.is_vector()
            && program.effects.iter().any(reads_pc);
        if self.sgprs.is_empty() && !begins {
            return None;
        }
        let value = |node: u16| {
            modes::known(&k.insn, program, node, &|op| match op {
                Op::Get(State::Pc) => Some(pc + k.len),
                Op::Get(State::Scc) => self.scc,
                Op::Src(slot) => self.source(&k.parts.operands[slot as usize]),
                _ => None,
            })
        };
        let mut written: Vec<(u16, u32)> = Vec::new();
        let (mut scc, mut to) = (self.scc.filter(|_| !k.scc.1), None);
        for e in program.effects.iter().filter(|e| e.when.is_none()) {
            match e.change {
                Change::Set(State::Pc) => to = value(e.value),
                Change::Set(State::Scc) => scc = value(e.value),
                Change::Dst(slot) => {
                    let o = &k.parts.operands[slot as usize];
                    if let (OperandLocation::Scalar(code), Some(v)) = (o.location, value(e.value)) {
                        let dwords = o.ty.dwords().clamp(1, 2) as u16;
                        written.extend((0..dwords).map(|n| (code + n, (v >> (32 * n)) as u32)));
                    }
                }
                _ => {}
            }
        }
        self.sgprs
            .retain(|&code, _| k.swrites & analyze::bit(code) == 0);
        self.sgprs.extend(written);
        self.scc = scc;
        to.filter(|_| matches!(k.flow, Flow::Indirect { .. }))
            .map(|to| to & !3)
    }

    fn source(&self, o: &Opnd) -> Option<u64> {
        let OperandLocation::Scalar(code) = o.location else {
            return None;
        };
        let dword = |code: u16| self.sgprs.get(&code).map(|&v| v as u64);
        match o.ty.bits() {
            64 => Some(dword(code)? | dword(code + 1)? << 32),
            _ => dword(code),
        }
    }
}

/// Where the jumps of a region to addresses in registers probably go.
pub(super) struct Calls(Map<u64, Box<[u64]>>);

impl Calls {
    /// `known` has the addresses that jumps go to. The other jumps of functions are returns to where they were called.
    pub fn of(insns: &BTreeMap<u64, InsnInfo>, known: &BTreeMap<u64, u64>) -> Calls {
        let mut calls: Map<u64, BTreeSet<u64>> = Map::default();
        let mut returns: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for (&pc, &to) in known {
            let (Some(k), true) = (insns.get(&pc), insns.contains_key(&to)) else {
                continue;
            };
            calls.entry(pc).or_default().insert(to);
            let back = pc + k.len;
            if matches!(k.flow, Flow::Indirect { links: true, .. }) && insns.contains_key(&back) {
                returns.entry(to).or_default().insert(back);
            }
        }
        if returns.len() <= FUNCTIONS {
            for (&function, back) in &returns {
                for pc in returns_of(function, insns, known) {
                    calls.entry(pc).or_default().extend(back);
                }
            }
        }
        let all = calls.into_iter();
        Calls(all.map(|(pc, to)| (pc, to.into_iter().collect())).collect())
    }

    /// Returns where a jump at an address goes, if the address is in registers.
    pub fn at(&self, pc: u64) -> &[u64] {
        self.0.get(&pc).map_or(&[], |to| to)
    }
}

/// Returns the jumps of a function to addresses in registers that are not known.
fn returns_of(
    function: u64,
    insns: &BTreeMap<u64, InsnInfo>,
    known: &BTreeMap<u64, u64>,
) -> Vec<u64> {
    let mut seen = BTreeSet::new();
    let mut work = vec![function];
    let mut found = Vec::new();
    while let Some(mut pc) = work.pop() {
        while let Some(k) = insns.get(&pc).filter(|_| seen.insert(pc)) {
            work.extend(k.flow.target(pc, &k.insn));
            if let Flow::Indirect { links: false, .. } = k.flow {
                match known.get(&pc) {
                    Some(&to) => work.push(to),
                    None => found.push(pc),
                }
            }
            if !k.flow.falls_through() {
                break;
            }
            pc += k.len;
        }
    }
    found
}

impl Builder<'_> {
    /// Returns true if an instruction jumps to an address in registers that is known and code of the region.
    pub(super) fn jumps_within(&self, pc: u64, changes: &Changes) -> bool {
        let known =
            |calls: &&Calls| matches!(changes.jump, Some((None, to)) if calls.at(pc).contains(&to));
        self.calls.filter(known).is_some()
    }

    /// Returns how a block ends with a jump to an address in registers, if the instruction always jumps.
    pub(super) fn indirect(&mut self, pc: u64, changes: &Changes) -> Option<Terminator> {
        let among = self.calls.map_or(&[][..], |calls| calls.at(pc));
        let (to, among) = match (changes.indirect, changes.jump) {
            (None, Some((None, to))) => {
                let known = among.iter().filter(|&&pc| pc == to);
                (self.g.constant(Ty::B64, to), known.copied().collect())
            }
            (to, _) if among.len() <= AMONG => (to?, among.into()),
            (to, _) => (to?, Box::default()),
        };
        Some(Terminator::Indirect { to, among })
    }
}

#[cfg(test)]
mod tests {
    use super::super::joined::tests::region_of;
    use super::*;

    /// The first function is called twice, the other once, and the last jump goes to an address of which nothing is known.
    const CODE: &str = "\
s_getpc_b64 s[4:5]
a:
s_add_u32 s4, s4, first-a
s_addc_u32 s5, s5, 0
s_swappc_b64 s[30:31], s[4:5]
s_nop 1
s_swappc_b64 s[30:31], s[4:5]
s_nop 2
s_getpc_b64 s[6:7]
b:
s_add_u32 s6, s6, other-b
s_addc_u32 s7, s7, 0
s_swappc_b64 s[28:29], s[6:7]
s_setpc_b64 s[8:9]
first:
v_add_u32 v0, 1, v0
s_setpc_b64 s[30:31]
other:
s_setpc_b64 s[28:29]
";

    #[test]
    fn functions_return_to_where_they_are_called() {
        let region = region_of(CODE);
        let among = |c: &Block| match &c.terminator {
            Terminator::Indirect { among, .. } => Some((c.start, among.to_vec())),
            _ => None,
        };
        let jumps: Vec<_> = region.blocks.iter().filter_map(among).collect();
        let (first, other) = (0x38, 0x40);
        let expected = [
            (0, vec![first]),
            (0x14, vec![first]),
            (0x1c, vec![other]),
            (0x34, vec![]),
            (first, vec![0x14, 0x1c]),
            (other, vec![0x34]),
        ];
        assert_eq!(jumps, expected);
    }
}
