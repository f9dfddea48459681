//! The modifiers after an instruction's operands, one row per modifier.
//!
//! A row contains the modifier's names, its dialect, the field that it sets, the form of its value, and its text in the
//! manual. The assembler looks names up ([`by_name`]); the printers and the manual refer to the rows ([`GLC`]). The modifiers
//! of an instruction are determined by its [`Mods`](crate::shape::Mods).

use crate::format::Field;
use crate::names;
use crate::target::Gen;

/// An encoding that a modifier can request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Form {
    /// 32 bits.
    E32,
    /// VOP3, 64 bits.
    E64,
    /// SDWA.
    Sdwa,
    /// DPP.
    Dpp,
}

/// The syntaxes that have a modifier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Dialect {
    /// LLVM's and CLRX's.
    Both,
    /// Only CLRX's.
    Clrx,
}

/// The fields that a modifier sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sets {
    /// A field of one bit.
    Flag(Field),
    /// A field that holds the number.
    Number(Field),
    /// A field with one bit per source.
    Bits3(Field),
    /// OMOD.
    Omod,
    /// The offset, in any fields.
    Offset,
    /// The offset of ds_swizzle_b32 as a pattern: `offset:swizzle(…)`.
    Swizzle,
    /// OP_SEL.
    OpSel,
    /// OP_SEL_HI and OP_SEL_HI2.
    OpSelHi,
    /// CLRX's `abs:3`: one bit per source.
    Abs,
    /// CLRX's `neg:[0,1]`.
    Neg,
    /// CLRX's `sext:1`.
    Sext,
    /// The high half of an attribute.
    High,
    /// A16, the bit that is R128 before gfx9.
    A16,
    /// DFMT in the low four bits, NFMT above.
    Format,
    /// DPP_CTRL.
    DppCtrl,
    /// BOUND_CTRL.
    BoundCtrl,
    /// The encoding.
    Form(Form),
    /// The bits of the encoding that the rest of the text does not express.
    Bits,
    /// A field that the instruction ignores, in CLRX's notation: `ssrc=0x14`. No row has it.
    Ignored(&'static str),
    /// Like `Ignored`, for a bit: `neg2`. No row has it.
    IgnoredBit(Field, u8),
}

/// The form of a modifier's value.
#[derive(Clone, Copy, Debug)]
pub enum Arg {
    /// No value, or `:0` or `:1`.
    Flag,
    /// `offset:16`.
    Number,
    /// `mul:2`: the allowed numbers and their encodings.
    OneOf(&'static [(i64, u64)]),
    /// `[0,1]`: bits.
    List,
    /// A name of a selection: LLVM's, CLRX's.
    Select(&'static [(&'static str, &'static str)]),
    /// `quad_perm:[0,1,2,3]`.
    QuadPerm,
    /// A base, to which a number from the first to the second is added.
    Plus(u64, i64, i64),
    /// A number that may be omitted if it is 1.
    Wave(u64),
    /// No value.
    Fixed(u64),
    /// `[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT]` or the number.
    Format,
}

/// A modifier.
#[derive(Clone, Copy, Debug)]
pub struct Modifier {
    /// Its name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// The syntaxes that have it.
    pub dialect: Dialect,
    /// The fields that it sets.
    pub sets: Sets,
    /// The form of its value.
    pub arg: Arg,
    /// ` name`, as printed without a value.
    pub word: &'static str,
    /// ` name:`, as printed before a value.
    pub prefix: &'static str,
    /// Its text in the manual's lines of syntax.
    pub syntax: &'static str,
    /// Its description in the manual.
    pub doc: &'static str,
}

impl Modifier {
    /// The field that it sets, if it is the same one in all instructions.
    pub const fn field(&self) -> Option<Field> {
        match self.sets {
            Sets::Flag(field) | Sets::Number(field) | Sets::Bits3(field) => Some(field),
            Sets::Omod => Some(Field::Omod),
            Sets::A16 => Some(Field::R128),
            Sets::DppCtrl => Some(Field::DppCtrl),
            Sets::BoundCtrl => Some(Field::BoundCtrl),
            _ => None,
        }
    }

    /// Returns true if a name is one of its own.
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// Declares a constant for each row, and [`MODIFIERS`].
macro_rules! modifiers {
    ($($row:ident: $name:literal $(| $alias:literal)*, $dialect:ident, $sets:expr, $arg:expr, $syntax:literal, $doc:literal;)+) => {
        $(
            #[doc = concat!("`", $syntax, "`: ", $doc, ".")]
            pub const $row: &Modifier = &{
                use Arg::*;
                Modifier {
                    name: $name,
                    aliases: &[$($alias),*],
                    dialect: Dialect::$dialect,
                    sets: $sets,
                    arg: $arg,
                    word: concat!(" ", $name),
                    prefix: concat!(" ", $name, ":"),
                    syntax: $syntax,
                    doc: $doc,
                }
            };
        )+

        /// All modifiers. An assembler suggests the first of equally similar names.
        pub static MODIFIERS: &[&Modifier] = &[$($row),+];
    };
}

modifiers! {
    // Columns: constant, names, dialect, the fields that it sets, value, syntax, description.
    CLAMP: "clamp", Both, Sets::Flag(Field::Clamp), Flag, "clamp", "Clamps the result";
    MUL: "mul", Both, Sets::Omod, OneOf(&[(1, 0), (2, 1), (4, 2)]), "mul:2|mul:4", "Multiplies a float result";
    DIV: "div", Both, Sets::Omod, OneOf(&[(1, 0), (2, 3)]), "div:2", "Divides a float result";
    OP_SEL: "op_sel", Both, Sets::OpSel, List, "op_sel:[…]", "Halves of the sources that the result reads, or its low half, and which half is written";
    OP_SEL_HI: "op_sel_hi", Both, Sets::OpSelHi, List, "op_sel_hi:[…]", "Halves of the sources that the high half of the result reads";
    NEG_LO: "neg_lo", Both, Sets::Bits3(Field::Neg), List, "neg_lo:[…]", "Negation of the low half of source 0, 1, 2";
    NEG_HI: "neg_hi", Both, Sets::Bits3(Field::NegHi), List, "neg_hi:[…]", "Negation of the high half of source 0, 1, 2";
    HIGH: "high", Both, Sets::High, Flag, "high", "The attribute's high half";
    FORMAT: "format", Both, Sets::Format, Format, "format:[DFMT,NFMT]", "Data format and number format";
    DFMT: "dfmt", Both, Sets::Number(Field::Dfmt), Number, "dfmt:N", "Data format";
    NFMT: "nfmt", Both, Sets::Number(Field::Nfmt), Number, "nfmt:N", "Number format";
    DMASK: "dmask", Both, Sets::Number(Field::Dmask), Number, "dmask:N", "Which of the four components are there";
    UNORM: "unorm", Both, Sets::Flag(Field::Unorm), Flag, "unorm", "Coordinates are not normalised";
    R128: "r128", Both, Sets::Flag(Field::R128), Flag, "r128", "The resource has 128 bits";
    A16: "a16", Both, Sets::A16, Flag, "a16", "The address components have 16 bits";
    LWE: "lwe", Both, Sets::Flag(Field::Lwe), Flag, "lwe", "LOD warning enable";
    DA: "da", Both, Sets::Flag(Field::Da), Flag, "da", "The image is an array";
    D16: "d16", Both, Sets::Flag(Field::D16), Flag, "d16", "The data is 16 bits wide";
    DONE: "done", Both, Sets::Flag(Field::Done), Flag, "done", "The last export of its kind";
    COMPR: "compr", Both, Sets::Flag(Field::Compr), Flag, "compr", "The sources are pairs of 16-bit values";
    VM: "vm", Both, Sets::Flag(Field::Vm), Flag, "vm", "EXEC is the valid mask";
    DST_SEL: "dst_sel", Both, Sets::Number(Field::DstSel), Select(&names::SDWA_SEL), "dst_sel:SEL", "Part of the destination: 0-3 byte, 4-5 word, 6 all";
    SRC0_SEL: "src0_sel", Both, Sets::Number(Field::Src0Sel), Select(&names::SDWA_SEL), "src0_sel:SEL", "Part of source 0: 0-3 byte, 4-5 word, 6 all";
    SRC1_SEL: "src1_sel", Both, Sets::Number(Field::Src1Sel), Select(&names::SDWA_SEL), "src1_sel:SEL", "Part of source 1: 0-3 byte, 4-5 word, 6 all";
    DST_UNUSED: "dst_unused" | "dst_un", Both, Sets::Number(Field::DstUnused), Select(&names::SDWA_UNUSED), "dst_unused:UNUSED", "The rest of the destination: 0 zero, 1 sign, 2 kept";
    QUAD_PERM: "quad_perm", Both, Sets::DppCtrl, QuadPerm, "quad_perm:[A,B,C,D]", "Each lane of four reads the one that is named";
    ROW_SHL: "row_shl", Both, Sets::DppCtrl, Plus(0x100, 1, 15), "row_shl:N", "Each lane reads the one N higher in its row of 16";
    ROW_SHR: "row_shr", Both, Sets::DppCtrl, Plus(0x110, 1, 15), "row_shr:N", "Each lane reads the one N lower in its row of 16";
    ROW_ROR: "row_ror", Both, Sets::DppCtrl, Plus(0x120, 1, 15), "row_ror:N", "As row_shr, round the row";
    WAVE_SHL: "wave_shl", Both, Sets::DppCtrl, Wave(0x130), "wave_shl:1", "Each lane reads the next higher one";
    WAVE_ROL: "wave_rol", Both, Sets::DppCtrl, Wave(0x134), "wave_rol:1", "As wave_shl, round the wave";
    WAVE_SHR: "wave_shr", Both, Sets::DppCtrl, Wave(0x138), "wave_shr:1", "Each lane reads the next lower one";
    WAVE_ROR: "wave_ror", Both, Sets::DppCtrl, Wave(0x13c), "wave_ror:1", "As wave_shr, round the wave";
    ROW_MIRROR: "row_mirror", Both, Sets::DppCtrl, Fixed(0x140), "row_mirror", "Rows of 16 in reverse order";
    ROW_HALF_MIRROR: "row_half_mirror", Both, Sets::DppCtrl, Fixed(0x141), "row_half_mirror", "Halves of rows in reverse order";
    ROW_BCAST: "row_bcast", Both, Sets::DppCtrl, OneOf(&[(15, 0x142), (31, 0x143)]), "row_bcast:15|row_bcast:31", "The last lane of each row for the next one, or lane 31 for the upper rows";
    ROW_MASK: "row_mask", Both, Sets::Number(Field::RowMask), Number, "row_mask:N", "Rows of sixteen lanes that are written";
    BANK_MASK: "bank_mask", Both, Sets::Number(Field::BankMask), Number, "bank_mask:N", "Banks of four lanes that are written";
    BOUND_CTRL: "bound_ctrl", Both, Sets::BoundCtrl, Flag, "bound_ctrl:0", "Lanes outside read 0; without it the lane is not written";
    OFFSET: "offset", Both, Sets::Offset, Number, "offset:N", "Offset";
    OFFSET0: "offset0", Both, Sets::Number(Field::Offset0), Number, "offset0:N", "First offset, or bits 7:0 of the only one";
    OFFSET1: "offset1", Both, Sets::Number(Field::Offset1), Number, "offset1:N", "Second offset, or bits 15:8 of the only one";
    GDS: "gds", Both, Sets::Flag(Field::Gds), Flag, "gds", "Global data share in place of LDS";
    OFFEN: "offen", Both, Sets::Flag(Field::Offen), Flag, "offen", "VADDR holds an offset";
    IDXEN: "idxen", Both, Sets::Flag(Field::Idxen), Flag, "idxen", "VADDR holds an index";
    ADDR64: "addr64", Both, Sets::Flag(Field::Addr64), Flag, "addr64", "VADDR holds a 64-bit address";
    GLC: "glc", Both, Sets::Flag(Field::Glc), Flag, "glc", "Globally coherent; of an atomic: gives the old value";
    SLC: "slc", Both, Sets::Flag(Field::Slc), Flag, "slc", "System level coherent";
    LDS: "lds", Both, Sets::Flag(Field::Lds), Flag, "lds", "The data goes to LDS";
    TFE: "tfe", Both, Sets::Flag(Field::Tfe), Flag, "tfe", "Texture fail enable: a status dword follows the data";
    NV: "nv", Both, Sets::Flag(Field::Nv), Flag, "nv", "Non-volatile memory";
    VOP3: "vop3", Both, Sets::Form(Form::E64), Fixed(0), "vop3", "The encoding VOP3";
    SDWA: "sdwa", Both, Sets::Form(Form::Sdwa), Fixed(0), "sdwa", "The encoding SDWA";
    DPP: "dpp", Both, Sets::Form(Form::Dpp), Fixed(0), "dpp", "The encoding DPP";
    BITS: "bits", Both, Sets::Bits, Number, "bits:N", "What the true encoding has otherwise than the rest of the text says, by exclusive or";
    INST_OFFSET: "inst_offset", Both, Sets::Offset, Number, "inst_offset:N", "As offset, of FLAT, GLOBAL and SCRATCH";
    OMOD: "omod", Both, Sets::Omod, OneOf(&[(0, 0), (1, 1), (2, 2), (3, 3)]), "omod:N", "Output modifier: 1 times 2, 2 times 4, 3 divided by 2";
    DPP_CTRL: "dpp_ctrl", Both, Sets::DppCtrl, Plus(0, 0, 0x1ff), "dpp_ctrl:N", "Which lane a lane reads";
    ROW_BCAST15: "row_bcast15", Both, Sets::DppCtrl, Fixed(0x142), "row_bcast15", "As row_bcast:15";
    ROW_BCAST31: "row_bcast31", Both, Sets::DppCtrl, Fixed(0x143), "row_bcast31", "As row_bcast:31";
    DPPCTRL: "dppctrl", Clrx, Sets::DppCtrl, Plus(0, 0, 0x1ff), "dppctrl:N", "As dpp_ctrl";
    ROW_HMIRROR: "row_hmirror", Clrx, Sets::DppCtrl, Fixed(0x141), "row_hmirror", "As row_half_mirror";
    ABS: "abs", Clrx, Sets::Abs, List, "abs:[…]", "Absolute value of source 0, 1, 2";
    NEG: "neg", Clrx, Sets::Neg, List, "neg:[…]", "Negation of source 0, 1, 2, after ABS";
    SEXT: "sext", Clrx, Sets::Sext, List, "sext:[…]", "Sign-extends the part of source 0, 1";
}

/// The modifiers of buffer instructions, in the order of LLVM's text.
pub const BUFFER: [&Modifier; 8] = [IDXEN, OFFEN, ADDR64, OFFSET, GLC, SLC, TFE, LDS];
/// The modifiers of buffer instructions, in the order of CLRX's text.
pub const BUFFER_CLRX: [&Modifier; 8] = [OFFEN, IDXEN, OFFSET, GLC, SLC, ADDR64, LDS, TFE];
/// The flags of FLAT, GLOBAL and SCRATCH.
pub const FLAT: [&Modifier; 5] = [GLC, SLC, TFE, LDS, NV];
/// The flags of image instructions, with A16 on gfx9 in R128's place.
pub const fn image(generation: Gen) -> [&'static Modifier; 8] {
    let r128 = match generation {
        Gen::Gfx9 => A16,
        _ => R128,
    };
    [UNORM, GLC, SLC, r128, TFE, LWE, DA, D16]
}
/// The flags of exports.
pub const EXPORT: [&Modifier; 3] = [DONE, COMPR, VM];
/// The selections of SDWA.
pub const SELECTIONS: [&Modifier; 4] = [DST_SEL, DST_UNUSED, SRC0_SEL, SRC1_SEL];

/// The modifier with a name in lower case, in any dialect.
pub fn by_name(name: &str) -> Option<&'static Modifier> {
    let mut at = hash(name.as_bytes());
    loop {
        let row = *MODIFIERS.get(NAMES[at] as usize)?;
        if row.is_called(name) {
            return Some(row);
        }
        at = (at + 1) % SLOTS;
    }
}

/// The modifier whose value is stored in a field unchanged.
pub fn of_field(field: Field) -> Option<&'static Modifier> {
    let plain = |row: &&&Modifier| match row.sets {
        Sets::Flag(of) | Sets::Number(of) | Sets::Bits3(of) => of == field,
        _ => false,
    };
    MODIFIERS.iter().find(plain).copied()
}

const SLOTS: usize = 256;

/// Row numbers, hashed by name with open addressing; 255 marks a free slot.
static NAMES: [u8; SLOTS] = {
    let mut slots = [u8::MAX; SLOTS];
    let mut n = 0;
    while n < MODIFIERS.len() {
        insert(&mut slots, MODIFIERS[n].name, n as u8);
        let mut a = 0;
        while a < MODIFIERS[n].aliases.len() {
            insert(&mut slots, MODIFIERS[n].aliases[a], n as u8);
            a += 1;
        }
        n += 1;
    }
    slots
};

const fn insert(slots: &mut [u8; SLOTS], name: &str, row: u8) {
    let mut at = hash(name.as_bytes());
    while slots[at] != u8::MAX {
        at = (at + 1) % SLOTS;
    }
    slots[at] = row;
}

/// A hash of a few letters distinguishes the names.
const fn hash(name: &[u8]) -> usize {
    let n = name.len();
    if n == 0 {
        return 0;
    }
    let (first, middle, last) = (name[0] as usize, name[n / 2] as usize, name[n - 1] as usize);
    (first * 7 + middle * 31 + last * 3 + n * 13) % SLOTS
}
