//! The explained reasons why lines of LLVM's tests fail (docs/llvm-tests.md).

use super::{Failure, Outcome};
use gcn_isa::{Inst, insts};

/// A class of failing lines with its reason.
pub struct Class {
    pub name: &'static str,
    pub reason: &'static str,
    holds: fn(&Failure) -> bool,
}

/// Returns the class of a failure; `None` if it is not explained.
pub fn of(failure: &Failure) -> Option<&'static Class> {
    CLASSES.iter().find(|class| (class.holds)(failure))
}

/// Returns the mnemonic of a line without the suffix of an encoding.
fn name(failure: &Failure) -> &str {
    let word = failure.text.split_whitespace().next().unwrap_or("");
    ["_e32", "_e64", "_sdwa", "_dpp"]
        .iter()
        .find_map(|suffix| word.strip_suffix(suffix))
        .unwrap_or(word)
}

/// Returns true if the target has a row of this name and LLVM has another name for it, or does not have it.
fn is_other_name(failure: &Failure) -> bool {
    let name = name(failure);
    let here = |row: &&'static Inst| insts::exists(row, failure.target);
    insts::by_name(name).any(|row| here(&row) && (row.name != name || name == "v_mac_legacy_f32"))
}

static CLASSES: &[Class] = &[
    Class {
        name: "names of the documents",
        reason: "LLVM has another name for the instruction on this target, or none; we also accept the documents' and \
                 CLRX's name if LLVM has no instruction of that name",
        holds: |f| {
            f.outcome == Outcome::Taken
                && f.wanted == "instruction not supported on this GPU"
                && is_other_name(f)
        },
    },
    Class {
        name: "gfx9's carry names before gfx8",
        reason: "LLVM takes v_add_co_u32 and the like on gfx6 and gfx7 in VOP3 only; ours is the shorter encoding of \
                 the same instruction",
        holds: |f| {
            f.outcome == Outcome::Differs && name(f).ends_with("_co_u32") && f.found.len() == 8
        },
    },
    Class {
        name: "not in the documents",
        reason: "LLVM takes it, but the documents do not have the instruction on this generation",
        holds: |f| {
            let exists = |row: &&'static Inst| insts::exists(row, f.target);
            f.outcome == Outcome::Refused
                && insts::by_name(name(f)).next().is_some()
                && !insts::by_name(name(f)).any(|row| exists(&row))
        },
    },
    Class {
        name: "taken by later versions of LLVM",
        reason: "LLVM 15 takes TBA and TMA of gfx9 by name, LLVM 19 float constants in 16-bit integer operands",
        holds: |f| {
            let float_in_integer = name(f).contains("16")
                && [
                    "literal operands are not supported",
                    "invalid operand for instruction",
                ]
                .contains(&f.wanted.as_str());
            let trap_register = f.wanted
                == "specified hardware register is not supported on this GPU"
                && (f.text.contains("(HW_REG_TBA_") || f.text.contains("(HW_REG_TMA_"));
            f.outcome == Outcome::Taken && (float_in_integer || trap_register)
        },
    },
    Class {
        name: "an expression that no relocation can express",
        reason: "llvm-mc accepts it when it writes text and rejects it when it writes an object",
        holds: |f| {
            f.outcome == Outcome::Refused && f.found == "this subtracts an address from a number"
        },
    },
    Class {
        name: "metadata of code object v2",
        reason: "it is text in the file: LLVM rewrites it and adds missing keys, ours keeps the source's text, including \
                 keys that LLVM does not know",
        holds: |f| {
            f.outcome == Outcome::Object
                && f.text == "section .note"
                && f.wanted.contains("0a000000414d4400")
                || f.outcome == Outcome::Taken && f.wanted == "invalid HSA metadata"
        },
    },
    Class {
        name: "-mattr of the object's target",
        reason: "gcn asm takes the target's features from .amdgcn_target and its like, not from options",
        holds: |f| {
            f.outcome == Outcome::Object && f.run.contains("mattr=") && !f.run.contains("triple=")
        },
    },
    Class {
        name: "a counter that is not a number",
        reason: "if .amdgcn.next_free_vgpr is set to a symbol, LLVM rejects the instructions after it, ours rejects the \
                 symbol's value",
        holds: |f| {
            f.wanted.starts_with(".amdgcn.next_free_{v,s}gpr symbols")
                || f.text.starts_with(".set .amdgcn.next_free_")
        },
    },
    Class {
        name: ".amdhsa_kernel for other systems",
        reason: "LLVM has the directive only for amdhsa",
        holds: |f| {
            f.outcome == Outcome::Taken
                && f.wanted == "unknown directive"
                && f.text.starts_with(".amdhsa_kernel")
        },
    },
    Class {
        name: "descriptor without code",
        reason: "a kernel that no code is defined for: LLVM makes its descriptor global like the undefined symbol, ours \
                 keeps it local",
        holds: |f| {
            f.outcome == Outcome::Object
                && f.text == "symbols"
                && f.wanted.contains(".kd .text")
                && f.wanted.contains("Undefined")
        },
    },
    Class {
        name: "@abs32@lo",
        reason: "LLVM 14 writes R_AMDGPU_ABS32 for it and for @abs32@hi; ours is R_AMDGPU_ABS32_LO, as the name says",
        holds: |f| {
            f.outcome == Outcome::Object
                && f.text.starts_with("relocations of")
                && f.wanted.replace("r_type: 6 }", "r_type: 1 }") == f.found
        },
    },
    Class {
        name: "what a relocation overwrites",
        reason: "LLVM leaves -1 in the field of a branch that a linker fills in, ours 0; the addend is in the relocation",
        holds: |f| {
            f.outcome == Outcome::Object
                && f.text == "section .text"
                && f.wanted.replace("ffff82bf", "000082bf") == f.found
        },
    },
];
