//! Register allocation of straight code, in one pass forward.
//!
//! The next use of each value is known beforehand. If no register is free, the value with the latest next use is evicted: it is
//! stored to a spill slot, or dropped if it can be rematerialized. A rematerializable value is computed where it is first needed in a
//! register. Because every value is defined once, a slot stays valid until the value's last use.

use super::{Class, Code, Remat, Role, VReg};

/// The location of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Location {
    Reg(u8),
    /// A spill slot.
    Slot(u16),
    /// The memory operand of an instruction that reads it ([`Remat::Memory`]), or its register that is not allocated ([`Remat::Register`]).
    Memory(u32),
}

/// A piece of code to encode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// An instruction; its operands' locations begin at an index of [`Allocation::locations`].
    Inst {
        inst: u32,
        locations: u32,
    },
    Spill {
        class: Class,
        reg: u8,
        slot: u16,
    },
    Reload {
        class: Class,
        reg: u8,
        slot: u16,
    },
    Move {
        class: Class,
        from: u8,
        to: u8,
    },
}

/// The result of register allocation.
#[derive(Default)]
pub(crate) struct Allocation {
    pub steps: Vec<Step>,
    locations: Vec<Location>,
    /// The number of spill slots.
    pub slots: u16,
}

impl Allocation {
    /// Returns the locations of an instruction's operands.
    pub fn locations<O>(&self, code: &Code<O>, inst: u32, locations: u32) -> &[Location] {
        &self.locations[locations as usize..][..code.operands(inst).len()]
    }
}

/// The maximum number of classes, and of registers per class.
pub(crate) const CLASSES: usize = 2;
pub(crate) const REGISTERS: usize = 32;

const NEVER: u32 = u32::MAX;
const NO_REG: u8 = u8::MAX;
const NO_SLOT: u16 = u16::MAX;

/// The distance by which the next use of a value counts as later if evicting the value needs no store.
const CLEAN: u32 = 4;

struct State<'a, O> {
    code: &'a Code<O>,
    counts: [u8; CLASSES],
    out: Allocation,
    /// For each operand: the next use of its register after the instruction.
    after: Vec<u32>,
    /// For each virtual register: its next use, its host register and its slot.
    next: Vec<u32>,
    reg: Vec<u8>,
    slot: Vec<u16>,
    holds: [[Option<VReg>; REGISTERS]; CLASSES],
    /// The registers that the current instruction needs.
    pinned: [u32; CLASSES],
    free_slots: Vec<u16>,
}

/// Assigns the first `counts` registers of each class. `None` if an instruction has more operands than there are registers.
pub(crate) fn allocate<O>(code: &Code<O>, counts: [u8; CLASSES]) -> Option<Allocation> {
    let n = code.classes.len();
    let mut s = State {
        code,
        counts,
        out: Allocation::default(),
        after: next_uses(code),
        next: vec![NEVER; n],
        reg: vec![NO_REG; n],
        slot: vec![NO_SLOT; n],
        holds: [[None; REGISTERS]; CLASSES],
        pinned: [0; CLASSES],
        free_slots: Vec::new(),
    };
    for at in 0..code.insts.len() as u32 {
        s.inst(at)?;
    }
    Some(s.out)
}

/// Returns for each operand the first later instruction that reads its register.
fn next_uses<O>(code: &Code<O>) -> Vec<u32> {
    let mut after = vec![NEVER; code.operands.len()];
    let mut seen = vec![NEVER; code.classes.len()];
    for (at, inst) in code.insts.iter().enumerate().rev() {
        let range = inst.first as usize..(inst.first + inst.count) as usize;
        for k in range.clone() {
            after[k] = seen[code.operands[k].0.0 as usize];
        }
        for &(reg, role) in &code.operands[range] {
            if matches!(role, Role::Use | Role::Any) {
                seen[reg.0 as usize] = at as u32;
            }
        }
    }
    after
}

impl<O> State<'_, O> {
    fn inst(&mut self, at: u32) -> Option<()> {
        let code = self.code;
        let inst = &code.insts[at as usize];
        let operands = code.operands(at);
        let first = inst.first as usize;
        if inst.remat != Remat::No {
            // The value is computed where it is needed.
            self.next[operands[0].0.0 as usize] = self.after[first];
            return Some(());
        }
        self.pinned = [0; CLASSES];
        // Operands that are in registers stay there.
        for &(reg, role) in operands {
            if matches!(role, Role::Use | Role::Any) {
                self.pin(reg);
            }
        }
        let locations = self.out.locations.len();
        self.out
            .locations
            .resize(locations + operands.len(), Location::Reg(0));
        for (k, &(reg, role)) in operands.iter().enumerate() {
            let after = self.after[first + k];
            let tied = operands.get(k + 1).filter(|o| o.1 == Role::Tied);
            let location = match (role, tied) {
                (Role::Use, Some(&(to, _))) => {
                    let others = operands.iter().filter(|o| o.0 == reg).count();
                    let dies = after == NEVER && others == 1;
                    let r = self.tie(reg, to, dies)?;
                    self.next[to.0 as usize] = self.after[first + k + 1];
                    Location::Reg(r)
                }
                (Role::Use, None) if self.remat(reg) == Remat::Register => {
                    Location::Memory(code.origin[reg.0 as usize])
                }
                (Role::Use, None) => Location::Reg(self.load(reg)?),
                (Role::Any, _) => self.any(reg, after)?,
                (Role::Temp | Role::Early, _) => {
                    self.next[reg.0 as usize] = after;
                    Location::Reg(self.define(reg)?)
                }
                (Role::Tied, _) => self.out.locations[locations + k - 1],
                (Role::Def, _) => continue,
            };
            self.out.locations[locations + k] = location;
        }
        for (k, &(reg, role)) in operands.iter().enumerate() {
            if matches!(role, Role::Use | Role::Any) {
                self.next[reg.0 as usize] = self.after[first + k];
                // A result may take the register, because it is written last. If the old value is still live, it is stored before the instruction.
                let r = self.reg[reg.0 as usize];
                if r != NO_REG {
                    self.pinned[self.class(reg) as usize] &= !(1 << r);
                }
                if self.after[first + k] == NEVER {
                    self.leave(reg);
                }
            }
        }
        for (k, &(reg, role)) in operands.iter().enumerate() {
            if role == Role::Def {
                self.next[reg.0 as usize] = self.after[first + k];
                self.out.locations[locations + k] = Location::Reg(self.define(reg)?);
            }
        }
        self.out.steps.push(Step::Inst {
            inst: at,
            locations: locations as u32,
        });
        for &(reg, _) in operands {
            if self.next[reg.0 as usize] == NEVER {
                self.leave(reg);
                // A slot may be reused after the instruction that reads it.
                let slot = std::mem::replace(&mut self.slot[reg.0 as usize], NO_SLOT);
                if slot != NO_SLOT {
                    self.free_slots.push(slot);
                }
            }
        }
        Some(())
    }

    fn class(&self, reg: VReg) -> Class {
        self.code.class(reg)
    }

    fn remat(&self, reg: VReg) -> Remat {
        self.code.remat(reg)
    }

    fn pin(&mut self, reg: VReg) {
        let r = self.reg[reg.0 as usize];
        if r != NO_REG {
            self.pinned[self.class(reg) as usize] |= 1 << r;
        }
    }

    /// Frees a value's register.
    fn leave(&mut self, reg: VReg) {
        let r = std::mem::replace(&mut self.reg[reg.0 as usize], NO_REG);
        if r != NO_REG {
            let class = self.class(reg) as usize;
            self.holds[class][r as usize] = None;
        }
    }

    /// Allocates a register for a value, which the current instruction needs.
    fn define(&mut self, reg: VReg) -> Option<u8> {
        let r = self.take(self.class(reg))?;
        self.put(reg, r);
        Some(r)
    }

    fn put(&mut self, reg: VReg, r: u8) {
        let class = self.class(reg) as usize;
        self.holds[class][r as usize] = Some(reg);
        self.reg[reg.0 as usize] = r;
        self.pinned[class] |= 1 << r;
    }

    fn free(&self, class: Class) -> Option<u8> {
        let (holds, pinned) = (&self.holds[class as usize], self.pinned[class as usize]);
        let free = |&r: &u8| holds[r as usize].is_none() && pinned >> r & 1 == 0;
        (0..self.counts[class as usize]).find(free)
    }

    /// Allocates a register, evicting a value if none is free.
    fn take(&mut self, class: Class) -> Option<u8> {
        if let Some(r) = self.free(class) {
            return Some(r);
        }
        let mut best: Option<(u32, u8, VReg)> = None;
        for r in 0..self.counts[class as usize] {
            if self.pinned[class as usize] >> r & 1 != 0 {
                continue;
            }
            let held = self.holds[class as usize][r as usize]?;
            let clean = self.remat(held) != Remat::No || self.slot[held.0 as usize] != NO_SLOT;
            let mut when = self.next[held.0 as usize];
            if clean {
                when = when.saturating_add(CLEAN);
            }
            if best.is_none_or(|b| when > b.0) {
                best = Some((when, r, held));
            }
        }
        let (_, r, held) = best?;
        if self.remat(held) == Remat::No && self.slot[held.0 as usize] == NO_SLOT {
            let slot = self.free_slots.pop().unwrap_or_else(|| {
                self.out.slots += 1;
                self.out.slots - 1
            });
            self.slot[held.0 as usize] = slot;
            self.out.steps.push(Step::Spill {
                class,
                reg: r,
                slot,
            });
        }
        self.leave(held);
        Some(r)
    }

    /// Loads a value that is in no register into register `r`.
    fn fetch(&mut self, reg: VReg, r: u8) {
        let class = self.class(reg);
        let slot = self.slot[reg.0 as usize];
        if slot != NO_SLOT {
            self.out.steps.push(Step::Reload {
                class,
                reg: r,
                slot,
            });
            return;
        }
        let locations = self.out.locations.len() as u32;
        self.out.locations.push(Location::Reg(r));
        self.out.steps.push(Step::Inst {
            inst: self.code.origin[reg.0 as usize],
            locations,
        });
    }

    /// Returns the register of a value, loading it if needed.
    fn load(&mut self, reg: VReg) -> Option<u8> {
        let r = self.reg[reg.0 as usize];
        if r != NO_REG {
            return Some(r);
        }
        let r = self.define(reg)?;
        self.fetch(reg, r);
        Some(r)
    }

    /// Returns the location of a value, which may be in memory.
    fn any(&mut self, reg: VReg, after: u32) -> Option<Location> {
        if matches!(self.remat(reg), Remat::Fixed | Remat::Register) {
            return Some(Location::Memory(self.code.origin[reg.0 as usize]));
        }
        let r = self.reg[reg.0 as usize];
        if r != NO_REG {
            return Some(Location::Reg(r));
        }
        let slot = self.slot[reg.0 as usize];
        if self.remat(reg) == Remat::Memory
            && (after == NEVER || self.free(self.class(reg)).is_none())
        {
            return Some(Location::Memory(self.code.origin[reg.0 as usize]));
        }
        if slot != NO_SLOT && after == NEVER {
            return Some(Location::Slot(slot));
        }
        Some(Location::Reg(self.load(reg)?))
    }

    /// Allocates a register for `to` that holds the value of `from`. It may be the register of `from` if that dies.
    fn tie(&mut self, from: VReg, to: VReg, dies: bool) -> Option<u8> {
        let class = self.class(from);
        let r = self.reg[from.0 as usize];
        if r != NO_REG && dies {
            self.leave(from);
            self.put(to, r);
            return Some(r);
        }
        let d = self.take(class)?;
        self.put(to, d);
        if r == NO_REG {
            self.fetch(from, d);
        } else {
            self.out.steps.push(Step::Move {
                class,
                from: r,
                to: d,
            });
        }
        Some(d)
    }
}
