//! The machine IR: a target's instructions with virtual registers, between instruction selection and encoding.
//!
//! Code is a flat sequence of instructions. Every register is defined by one of them, before its uses. An instruction of a target
//! may stand for several of the host, and may have out-of-line code that begins and ends at it: the target writes such a section
//! after the block, with the registers that the instruction has been given. This module therefore knows neither control flow nor
//! opcodes nor what an instruction does, but only which registers it reads and writes, and how ([`Role`]).
//!
//! [`regalloc`] assigns host registers. The target encodes the resulting steps once for each copy of the code.

pub(crate) mod regalloc;
#[cfg(test)]
mod tests;

/// A virtual register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct VReg(pub u32);

/// A bank of host registers, by number.
pub(crate) type Class = u8;

/// How an instruction uses an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// It reads the operand from a register.
    Use,
    /// It reads the operand from a register or from memory.
    Any,
    /// It writes the operand after it has read all others.
    Def,
    /// It may write the operand before it has read the others.
    Early,
    /// It writes the operand to the register of the operand before this one, which is a [`Role::Use`].
    Tied,
    /// A temporary register, which it may change.
    Temp,
}

/// How the result of an instruction can be rematerialized instead of spilled. Such an instruction reads no registers, and the memory
/// that it reads does not change while the code runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Remat {
    /// It is executed once, where it stands.
    No,
    /// It is executed where its result is needed.
    Value,
    /// Like `Value`, and the result is also in memory: [`Role::Any`] may name the instruction.
    Memory,
    /// Like `Value`, and the result is in a register that is not allocated: [`Role::Any`] names the instruction.
    Fixed,
    /// Like `Fixed`, and instructions read the register as they do those that are allocated: [`Role::Use`] names the instruction, too.
    Register,
}

/// An instruction.
pub(crate) struct Inst<O> {
    pub op: O,
    pub remat: Remat,
    first: u32,
    count: u32,
}

/// Instructions in order.
pub(crate) struct Code<O> {
    pub insts: Vec<Inst<O>>,
    operands: Vec<(VReg, Role)>,
    classes: Vec<Class>,
    /// The instruction that defines each register.
    origin: Vec<u32>,
}

impl<O> Default for Code<O> {
    fn default() -> Code<O> {
        Code {
            insts: Vec::new(),
            operands: Vec::new(),
            classes: Vec::new(),
            origin: Vec::new(),
        }
    }
}

impl<O> Code<O> {
    /// Returns a new virtual register.
    pub fn reg(&mut self, class: Class) -> VReg {
        self.classes.push(class);
        self.origin.push(u32::MAX);
        VReg(self.classes.len() as u32 - 1)
    }

    /// Appends an instruction.
    pub fn push(&mut self, op: O, operands: &[(VReg, Role)]) {
        self.push_as(op, Remat::No, operands);
    }

    /// Appends an instruction that defines a register and can be executed anywhere.
    pub fn push_remat(&mut self, op: O, remat: Remat, class: Class) -> VReg {
        let d = self.reg(class);
        self.push_as(op, remat, &[(d, Role::Def)]);
        d
    }

    /// Appends an instruction that defines the given register and can be executed anywhere.
    pub fn push_remat_to(&mut self, op: O, remat: Remat, to: VReg) {
        self.push_as(op, remat, &[(to, Role::Def)]);
    }

    /// Returns the bank that a register belongs to.
    pub fn class(&self, reg: VReg) -> Class {
        self.classes[reg.0 as usize]
    }

    /// Returns the position of the instruction that defines a register.
    pub fn origin(&self, reg: VReg) -> u32 {
        self.origin[reg.0 as usize]
    }

    /// Returns the instruction that defines a register.
    pub fn origin_of(&self, reg: VReg) -> &Inst<O> {
        &self.insts[self.origin(reg) as usize]
    }

    fn push_as(&mut self, op: O, remat: Remat, operands: &[(VReg, Role)]) {
        let at = self.insts.len() as u32;
        for &(reg, role) in operands {
            if matches!(role, Role::Def | Role::Early | Role::Tied | Role::Temp) {
                debug_assert_eq!(self.origin[reg.0 as usize], u32::MAX, "defined once");
                self.origin[reg.0 as usize] = at;
            }
        }
        self.insts.push(Inst {
            op,
            remat,
            first: self.operands.len() as u32,
            count: operands.len() as u32,
        });
        self.operands.extend_from_slice(operands);
    }

    /// Returns how the instruction that defines a register can be rematerialized.
    pub fn remat(&self, reg: VReg) -> Remat {
        self.insts[self.origin[reg.0 as usize] as usize].remat
    }

    /// Lets an instruction read another register as one of its operands.
    pub fn replace_operand(&mut self, at: u32, k: usize, reg: VReg) {
        let first = self.insts[at as usize].first as usize;
        self.operands[first + k].0 = reg;
    }

    /// Removes instructions, whose results nothing reads. The others keep their order and their registers.
    pub fn remove(&mut self, removed: &[bool]) {
        let insts = std::mem::take(&mut self.insts);
        let operands = std::mem::take(&mut self.operands);
        self.origin.fill(u32::MAX);
        for (inst, _) in insts.into_iter().zip(removed).filter(|i| !i.1) {
            let of = &operands[inst.first as usize..][..inst.count as usize];
            self.push_as(inst.op, inst.remat, of);
        }
    }

    /// Returns which instructions have results that nothing reads, not even an instruction that has an effect.
    pub fn dead(&self) -> Vec<bool> {
        let mut read = vec![false; self.classes.len()];
        let mut dead = vec![false; self.insts.len()];
        for at in (0..self.insts.len()).rev() {
            let operands = self.operands(at as u32);
            let mut results = operands
                .iter()
                .filter(|o| matches!(o.1, Role::Def | Role::Early | Role::Tied));
            dead[at] = results.clone().count() > 0 && results.all(|o| !read[o.0.0 as usize]);
            if !dead[at] {
                for o in operands
                    .iter()
                    .filter(|o| matches!(o.1, Role::Use | Role::Any))
                {
                    read[o.0.0 as usize] = true;
                }
            }
        }
        dead
    }

    /// Returns the operands of an instruction.
    pub fn operands(&self, inst: u32) -> &[(VReg, Role)] {
        let i = &self.insts[inst as usize];
        &self.operands[i.first as usize..][..i.count as usize]
    }
}
