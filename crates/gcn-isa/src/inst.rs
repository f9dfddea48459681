//! The row: one instruction.

use crate::format::Format;
use crate::meaning::Meaning;
use crate::shape::Shape;
use crate::target::{Features, Gen};

/// In a row's opcode list: the generation does not have the instruction.
pub const NO: u16 = 0xffff;

/// One instruction. See the tables of [`crate::insts`].
pub struct Inst {
    /// LLVM's mnemonic, without suffixes such as `_e32`.
    pub name: &'static str,
    /// The documents' (CLRX's) mnemonic if it differs.
    pub clrx: Option<&'static str>,
    /// Further names that the assembler accepts.
    pub aliases: &'static [&'static str],
    /// The format it belongs to.
    pub format: Format,
    /// Its opcode in gfx6, gfx7, gfx8 and gfx9, or [`NO`].
    pub opcode: [u16; 4],
    /// The features a target must have.
    pub needs: Features,
    /// Its operands.
    pub shape: &'static Shape,
    /// Writes the semantics of the instruction.
    pub meaning: fn(&Meaning),
    /// Properties that do not follow from the other fields.
    pub flags: Flags,
    /// Entries of docs/errata.md whose choices affect it.
    pub errata: &'static [&'static str],
    /// See [`Inst::also_read`]; [`NO`] if there is none.
    pub also_read: u16,
}

/// Properties that the assembler, printer or decoder needs in addition to shape and format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// No flags.
    pub const NONE: Flags = Flags(0);
    /// There is no VOP3, SDWA or DPP form, and the text has no `_e32`.
    pub const ONLY_E32: Flags = Flags(1);
    /// No SDWA form.
    pub const NO_SDWA: Flags = Flags(2);
    /// No DPP form.
    pub const NO_DPP: Flags = Flags(4);

    /// Its 16-bit result clears the upper half of its VGPR, although it has three 16-bit sources.
    pub const CLEARS_UPPER: Flags = Flags(8);

    /// An image instruction that returns four channels, independently of DMASK: the gathers.
    pub const FOUR_CHANNELS: Flags = Flags(16);

    /// It implicitly reads VCC over the constant bus.
    pub const READS_VCC: Flags = Flags(32);

    /// It implicitly reads M0 over the constant bus.
    pub const READS_M0: Flags = Flags(64);

    /// Its destination must not overlap a source.
    pub const EARLY_WRITE: Flags = Flags(128);

    /// Its sources must be registers, not constants: it reads registers selected by their numbers, or uses them as addresses.
    pub const REGISTERS: Flags = Flags(256);

    /// It cannot have a literal source, although its format can.
    pub const NO_LITERAL: Flags = Flags(512);

    /// SRC0 and SRC1 are swapped: SRC0 cannot be lds_direct.
    pub const SWAPPED: Flags = Flags(1024);

    /// An image instruction without D16.
    pub const NO_D16: Flags = Flags(2048);

    /// A quotient, root, exponential, logarithm, sine or cosine: the hardware approximates it, at a
    /// quarter of the rate of plain arithmetic or less.
    pub const TRANS: Flags = Flags(4096);

    /// Its 16-bit result is written to the upper half of its VGPR.
    pub const WRITES_UPPER: Flags = Flags(8192);
    /// On gfx9 its 16-bit result keeps the upper half of its VGPR, although its sources do not have
    /// 16 bits.
    pub const KEEPS_UPPER: Flags = Flags(16384);

    /// Returns true if all flags of `other` are set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl Inst {
    /// A row without special properties.
    pub const fn new(
        format: Format,
        name: &'static str,
        opcode: [u16; 4],
        shape: &'static Shape,
        meaning: fn(&Meaning),
    ) -> Inst {
        Inst {
            name,
            clrx: None,
            aliases: &[],
            format,
            opcode,
            needs: Features::NONE,
            shape,
            meaning,
            flags: Flags::NONE,
            errata: &[],
            also_read: NO,
        }
    }

    /// An opcode of gfx8 and gfx9 that is also decoded as this row, but never written: the text shows it with `bits:`.
    pub const fn also_read(mut self, opcode: u16) -> Inst {
        self.also_read = opcode;
        self
    }

    /// The mnemonic of the documents, if it differs from LLVM's.
    pub const fn clrx(mut self, name: &'static str) -> Inst {
        self.clrx = Some(name);
        self
    }

    /// Further names for the assembler.
    pub const fn alias(mut self, names: &'static [&'static str]) -> Inst {
        self.aliases = names;
        self
    }

    /// The features it needs.
    pub const fn needs(mut self, features: Features) -> Inst {
        self.needs = features;
        self
    }

    /// Sets flags.
    pub const fn flag(mut self, flags: Flags) -> Inst {
        self.flags = Flags(self.flags.0 | flags.0);
        self
    }

    /// Names the entries of docs/errata.md whose choices affect it.
    pub const fn errata(mut self, entries: &'static [&'static str]) -> Inst {
        self.errata = entries;
        self
    }

    /// Its opcode in a generation.
    pub const fn opcode_in(&self, generation: Gen) -> Option<u16> {
        match self.opcode[generation as usize] {
            NO => None,
            op => Some(op),
        }
    }

    /// Returns true if a VOP3 form exists.
    pub const fn has_vop3(&self) -> bool {
        matches!(self.format, Format::Vop3)
            || matches!(
                self.format,
                Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vintrp
            ) && !self.flags.has(Flags::ONLY_E32)
    }

    /// Returns true if the SDWA form exists in a generation; 64-bit operands prevent it.
    pub const fn has_sdwa(&self, generation: Gen) -> bool {
        self.promotes(generation) && !self.flags.has(Flags::NO_SDWA)
    }

    /// Returns true if the DPP form exists in a generation.
    pub const fn has_dpp(&self, generation: Gen) -> bool {
        self.promotes(generation) && !self.flags.has(Flags::NO_DPP)
    }

    const fn promotes(&self, generation: Gen) -> bool {
        let mut n = 0;
        while n < self.shape.slots.len() {
            let ty = self.shape.slots[n].ty;
            if ty.bits() > 32 && !matches!(ty, crate::shape::Ty::Mask) {
                return false;
            }
            n += 1;
        }
        generation as u8 >= Gen::Gfx8 as u8
            && matches!(self.format, Format::Vop1 | Format::Vop2 | Format::Vopc)
            && !self.flags.has(Flags::ONLY_E32)
    }
}
