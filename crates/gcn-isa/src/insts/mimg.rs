//! MIMG: images: loads, stores, atomics, samples.

use crate::format::Format;
use crate::image::{Detail, Footprint, ImageOp, Raw, Sampling};
use crate::inst::{Flags, Inst, NO};
use crate::meaning::{AtomicOp, Meaning};
use crate::shape::{Mods, Role::*, Shape, Slot, Ty, read, write};

const fn image(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::Image,
    }
}

/// The operands: the data, whose width DMASK gives, the address and the resource.
const fn plain(data: Slot) -> [Slot; 3] {
    [data, read(ImgAddr, Ty::B32), read(Srsrc, Ty::B256)]
}

/// The operands of a sample. `address` is the smallest address.
const fn sampled(address: Ty) -> [Slot; 4] {
    [
        write(Vdata, Ty::B32),
        read(ImgAddr, address),
        read(Srsrc, Ty::B256),
        read(Ssamp, Ty::B128),
    ]
}

static LOAD: Shape = image(&plain(write(Vdata, Ty::B32)));
static STORE: Shape = image(&plain(read(Vdata, Ty::B32)));
static ATOMIC: Shape = image(&plain(write(Vdata, Ty::B32).read_too()));
static SAMPLE1: Shape = image(&sampled(Ty::B32));
static SAMPLE2: Shape = image(&sampled(Ty::B64));
static SAMPLE3: Shape = image(&sampled(Ty::B96));
static SAMPLE4: Shape = image(&sampled(Ty::B128));

const fn mimg(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Mimg, name, opcode, shape, meaning)
}

const FOUR: Flags = Flags::FOUR_CHANNELS;

/// The rows.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //    name                          gfx6 gfx7 gfx8 gfx9  shape     meaning
    mimg("image_load",                  [  0,   0,   0,   0], &LOAD,    load),
    mimg("image_load_mip",              [  1,   1,   1,   1], &LOAD,    load_mip),
    mimg("image_load_pck",              [  2,   2,   2,   2], &LOAD,    load_raw).flag(Flags::NO_D16),
    mimg("image_load_pck_sgn",          [  3,   3,   3,   3], &LOAD,    load_raw_signed).flag(Flags::NO_D16),
    mimg("image_load_mip_pck",          [  4,   4,   4,   4], &LOAD,    load_mip_raw).flag(Flags::NO_D16),
    mimg("image_load_mip_pck_sgn",      [  5,   5,   5,   5], &LOAD,    load_mip_raw_signed).flag(Flags::NO_D16),
    mimg("image_store",                 [  8,   8,   8,   8], &STORE,   store),
    mimg("image_store_mip",             [  9,   9,   9,   9], &STORE,   store_mip),
    mimg("image_store_pck",             [ 10,  10,  10,  10], &STORE,   store_raw).flag(Flags::NO_D16),
    mimg("image_store_mip_pck",         [ 11,  11,  11,  11], &STORE,   store_mip_raw).flag(Flags::NO_D16),
    mimg("image_get_resinfo",           [ 14,  14,  14,  14], &LOAD,    resinfo).flag(Flags::NO_D16),
    mimg("image_atomic_swap",           [ 15,  15,  16,  16], &ATOMIC,  atomic_swap).flag(Flags::NO_D16),
    mimg("image_atomic_cmpswap",        [ 16,  16,  17,  17], &ATOMIC,  atomic_cmpswap).flag(Flags::NO_D16),
    mimg("image_atomic_add",            [ 17,  17,  18,  18], &ATOMIC,  atomic_add).flag(Flags::NO_D16),
    mimg("image_atomic_sub",            [ 18,  18,  19,  19], &ATOMIC,  atomic_sub).flag(Flags::NO_D16),
    mimg("image_atomic_rsub",           [ 19,  NO,  NO,  NO], &ATOMIC,  atomic_rsub).flag(Flags::NO_D16),
    mimg("image_atomic_smin",           [ 20,  20,  20,  20], &ATOMIC,  atomic_smin).flag(Flags::NO_D16),
    mimg("image_atomic_umin",           [ 21,  21,  21,  21], &ATOMIC,  atomic_umin).flag(Flags::NO_D16),
    mimg("image_atomic_smax",           [ 22,  22,  22,  22], &ATOMIC,  atomic_smax).flag(Flags::NO_D16),
    mimg("image_atomic_umax",           [ 23,  23,  23,  23], &ATOMIC,  atomic_umax).flag(Flags::NO_D16),
    mimg("image_atomic_and",            [ 24,  24,  24,  24], &ATOMIC,  atomic_and).flag(Flags::NO_D16),
    mimg("image_atomic_or",             [ 25,  25,  25,  25], &ATOMIC,  atomic_or).flag(Flags::NO_D16),
    mimg("image_atomic_xor",            [ 26,  26,  26,  26], &ATOMIC,  atomic_xor).flag(Flags::NO_D16),
    mimg("image_atomic_inc",            [ 27,  27,  27,  27], &ATOMIC,  atomic_inc).flag(Flags::NO_D16),
    mimg("image_atomic_dec",            [ 28,  28,  28,  28], &ATOMIC,  atomic_dec).flag(Flags::NO_D16),
    mimg("image_atomic_fcmpswap",       [ 29,  29,  NO,  NO], &ATOMIC,  atomic_fcmpswap).flag(Flags::NO_D16),
    mimg("image_atomic_fmin",           [ 30,  30,  NO,  NO], &ATOMIC,  atomic_fmin).flag(Flags::NO_D16),
    mimg("image_atomic_fmax",           [ 31,  31,  NO,  NO], &ATOMIC,  atomic_fmax).flag(Flags::NO_D16),
    mimg("image_sample",                [ 32,  32,  32,  32], &SAMPLE1, sample::<PLAIN>),
    mimg("image_sample_cl",             [ 33,  33,  33,  33], &SAMPLE1, sample::<CL>),
    mimg("image_sample_d",              [ 34,  34,  34,  34], &SAMPLE2, sample::<D>),
    mimg("image_sample_d_cl",           [ 35,  35,  35,  35], &SAMPLE2, sample::<{ D | CL }>),
    mimg("image_sample_l",              [ 36,  36,  36,  36], &SAMPLE1, sample::<L>),
    mimg("image_sample_b",              [ 37,  37,  37,  37], &SAMPLE2, sample::<B>),
    mimg("image_sample_b_cl",           [ 38,  38,  38,  38], &SAMPLE2, sample::<{ B | CL }>),
    mimg("image_sample_lz",             [ 39,  39,  39,  39], &SAMPLE1, sample::<LZ>),
    mimg("image_sample_c",              [ 40,  40,  40,  40], &SAMPLE2, sample::<C>),
    mimg("image_sample_c_cl",           [ 41,  41,  41,  41], &SAMPLE2, sample::<{ C | CL }>),
    mimg("image_sample_c_d",            [ 42,  42,  42,  42], &SAMPLE3, sample::<{ C | D }>),
    mimg("image_sample_c_d_cl",         [ 43,  43,  43,  43], &SAMPLE3, sample::<{ C | D | CL }>),
    mimg("image_sample_c_l",            [ 44,  44,  44,  44], &SAMPLE2, sample::<{ C | L }>),
    mimg("image_sample_c_b",            [ 45,  45,  45,  45], &SAMPLE3, sample::<{ C | B }>),
    mimg("image_sample_c_b_cl",         [ 46,  46,  46,  46], &SAMPLE3, sample::<{ C | B | CL }>),
    mimg("image_sample_c_lz",           [ 47,  47,  47,  47], &SAMPLE2, sample::<{ C | LZ }>),
    mimg("image_sample_o",              [ 48,  48,  48,  48], &SAMPLE2, sample::<O>),
    mimg("image_sample_cl_o",           [ 49,  49,  49,  49], &SAMPLE2, sample::<{ CL | O }>),
    mimg("image_sample_d_o",            [ 50,  50,  50,  50], &SAMPLE3, sample::<{ D | O }>),
    mimg("image_sample_d_cl_o",         [ 51,  51,  51,  51], &SAMPLE3, sample::<{ D | CL | O }>),
    mimg("image_sample_l_o",            [ 52,  52,  52,  52], &SAMPLE2, sample::<{ L | O }>),
    mimg("image_sample_b_o",            [ 53,  53,  53,  53], &SAMPLE3, sample::<{ B | O }>),
    mimg("image_sample_b_cl_o",         [ 54,  54,  54,  54], &SAMPLE3, sample::<{ B | CL | O }>),
    mimg("image_sample_lz_o",           [ 55,  55,  55,  55], &SAMPLE2, sample::<{ LZ | O }>),
    mimg("image_sample_c_o",            [ 56,  56,  56,  56], &SAMPLE3, sample::<{ C | O }>),
    mimg("image_sample_c_cl_o",         [ 57,  57,  57,  57], &SAMPLE3, sample::<{ C | CL | O }>),
    mimg("image_sample_c_d_o",          [ 58,  58,  58,  58], &SAMPLE4, sample::<{ C | D | O }>),
    mimg("image_sample_c_d_cl_o",       [ 59,  59,  59,  59], &SAMPLE4, sample::<{ C | D | CL | O }>),
    mimg("image_sample_c_l_o",          [ 60,  60,  60,  60], &SAMPLE3, sample::<{ C | L | O }>),
    mimg("image_sample_c_b_o",          [ 61,  61,  61,  61], &SAMPLE4, sample::<{ C | B | O }>),
    mimg("image_sample_c_b_cl_o",       [ 62,  62,  62,  62], &SAMPLE4, sample::<{ C | B | CL | O }>),
    mimg("image_sample_c_lz_o",         [ 63,  63,  63,  63], &SAMPLE3, sample::<{ C | LZ | O }>),
    mimg("image_gather4",               [ 64,  64,  64,  64], &SAMPLE1, gather::<PLAIN>).flag(FOUR),
    mimg("image_gather4_cl",            [ 65,  65,  65,  65], &SAMPLE1, gather::<CL>).flag(FOUR),
    mimg("image_gather4h",              [ NO,  NO,  NO,  66], &SAMPLE1, gather_row).flag(FOUR),
    mimg("image_gather4_l",             [ 68,  68,  68,  68], &SAMPLE1, gather::<L>).flag(FOUR),
    mimg("image_gather4_b",             [ 69,  69,  69,  69], &SAMPLE2, gather::<B>).flag(FOUR),
    mimg("image_gather4_b_cl",          [ 70,  70,  70,  70], &SAMPLE2, gather::<{ B | CL }>).flag(FOUR),
    mimg("image_gather4_lz",            [ 71,  71,  71,  71], &SAMPLE1, gather::<LZ>).flag(FOUR),
    mimg("image_gather4_c",             [ 72,  72,  72,  72], &SAMPLE2, gather::<C>).flag(FOUR),
    mimg("image_gather4_c_cl",          [ 73,  73,  73,  73], &SAMPLE2, gather::<{ C | CL }>).flag(FOUR),
    mimg("image_gather4h_pck",          [ NO,  NO,  NO,  74], &SAMPLE1, gather_row_packed).flag(FOUR).flag(Flags::NO_D16),
    mimg("image_gather8h_pck",          [ NO,  NO,  NO,  75], &SAMPLE1, gather_row8).flag(FOUR).flag(Flags::NO_D16),
    mimg("image_gather4_c_l",           [ 76,  76,  76,  76], &SAMPLE2, gather::<{ C | L }>).flag(FOUR),
    mimg("image_gather4_c_b",           [ 77,  77,  77,  77], &SAMPLE3, gather::<{ C | B }>).flag(FOUR),
    mimg("image_gather4_c_b_cl",        [ 78,  78,  78,  78], &SAMPLE3, gather::<{ C | B | CL }>).flag(FOUR),
    mimg("image_gather4_c_lz",          [ 79,  79,  79,  79], &SAMPLE2, gather::<{ C | LZ }>).flag(FOUR),
    mimg("image_gather4_o",             [ 80,  80,  80,  80], &SAMPLE2, gather::<O>).flag(FOUR),
    mimg("image_gather4_cl_o",          [ 81,  81,  81,  81], &SAMPLE2, gather::<{ CL | O }>).flag(FOUR),
    mimg("image_gather4_l_o",           [ 84,  84,  84,  84], &SAMPLE2, gather::<{ L | O }>).flag(FOUR),
    mimg("image_gather4_b_o",           [ 85,  85,  85,  85], &SAMPLE3, gather::<{ B | O }>).flag(FOUR),
    mimg("image_gather4_b_cl_o",        [ 86,  86,  86,  86], &SAMPLE3, gather::<{ B | CL | O }>).flag(FOUR),
    mimg("image_gather4_lz_o",          [ 87,  87,  87,  87], &SAMPLE2, gather::<{ LZ | O }>).flag(FOUR),
    mimg("image_gather4_c_o",           [ 88,  88,  88,  88], &SAMPLE3, gather::<{ C | O }>).flag(FOUR),
    mimg("image_gather4_c_cl_o",        [ 89,  89,  89,  89], &SAMPLE3, gather::<{ C | CL | O }>).flag(FOUR),
    mimg("image_gather4_c_l_o",         [ 92,  92,  92,  92], &SAMPLE3, gather::<{ C | L | O }>).flag(FOUR),
    mimg("image_gather4_c_b_o",         [ 93,  93,  93,  93], &SAMPLE4, gather::<{ C | B | O }>).flag(FOUR),
    mimg("image_gather4_c_b_cl_o",      [ 94,  94,  94,  94], &SAMPLE4, gather::<{ C | B | CL | O }>).flag(FOUR),
    mimg("image_gather4_c_lz_o",        [ 95,  95,  95,  95], &SAMPLE3, gather::<{ C | LZ | O }>).flag(FOUR),
    mimg("image_get_lod",               [ 96,  96,  96,  96], &SAMPLE1, lod).flag(Flags::NO_D16),
    mimg("image_sample_cd",             [104, 104, 104, 104], &SAMPLE2, sample::<CD>),
    mimg("image_sample_cd_cl",          [105, 105, 105, 105], &SAMPLE2, sample::<{ CD | CL }>),
    mimg("image_sample_c_cd",           [106, 106, 106, 106], &SAMPLE3, sample::<{ C | CD }>),
    mimg("image_sample_c_cd_cl",        [107, 107, 107, 107], &SAMPLE3, sample::<{ C | CD | CL }>),
    mimg("image_sample_cd_o",           [108, 108, 108, 108], &SAMPLE3, sample::<{ CD | O }>),
    mimg("image_sample_cd_cl_o",        [109, 109, 109, 109], &SAMPLE3, sample::<{ CD | CL | O }>),
    mimg("image_sample_c_cd_o",         [110, 110, 110, 110], &SAMPLE4, sample::<{ C | CD | O }>),
    mimg("image_sample_c_cd_cl_o",      [111, 111, 111, 111], &SAMPLE4, sample::<{ C | CD | CL | O }>),
    mimg("image_sample_d_g16",          [162, 162, 162, 162], &SAMPLE2,  sample::<{ D | G16 }>).errata(G16_NAMES),
    mimg("image_sample_d_cl_g16",       [163, 163, 163, 163], &SAMPLE2,  sample::<{ D | CL | G16 }>).errata(G16_NAMES),
    mimg("image_sample_c_d_g16",        [170, 170, 170, 170], &SAMPLE3,  sample::<{ C | D | G16 }>).errata(G16_NAMES),
    mimg("image_sample_c_d_cl_g16",     [171, 171, 171, 171], &SAMPLE3,  sample::<{ C | D | CL | G16 }>).errata(G16_NAMES),
    mimg("image_sample_d_o_g16",        [178, 178, 178, 178], &SAMPLE3,  sample::<{ D | O | G16 }>).errata(G16_NAMES),
    mimg("image_sample_d_cl_o_g16",     [179, 179, 179, 179], &SAMPLE3,  sample::<{ D | CL | O | G16 }>).errata(G16_NAMES),
    mimg("image_sample_c_d_o_g16",      [186, 186, 186, 186], &SAMPLE4,  sample::<{ C | D | O | G16 }>).errata(G16_NAMES),
    mimg("image_sample_c_d_cl_o_g16",   [187, 187, 187, 187], &SAMPLE4,  sample::<{ C | D | CL | O | G16 }>).errata(G16_NAMES),
    mimg("image_sample_cd_g16",         [232, 232, 232, 232], &SAMPLE2,  sample::<{ CD | G16 }>).errata(G16_NAMES),
    mimg("image_sample_cd_cl_g16",      [233, 233, 233, 233], &SAMPLE2,  sample::<{ CD | CL | G16 }>).errata(G16_NAMES),
    mimg("image_sample_c_cd_g16",       [234, 234, 234, 234], &SAMPLE3,  sample::<{ C | CD | G16 }>).errata(G16_NAMES),
    mimg("image_sample_c_cd_cl_g16",    [235, 235, 235, 235], &SAMPLE3,  sample::<{ C | CD | CL | G16 }>).errata(G16_NAMES),
    mimg("image_sample_cd_o_g16",       [236, 236, 236, 236], &SAMPLE3,  sample::<{ CD | O | G16 }>).errata(G16_NAMES),
    mimg("image_sample_cd_cl_o_g16",    [237, 237, 237, 237], &SAMPLE3,  sample::<{ CD | CL | O | G16 }>).errata(G16_NAMES),
    mimg("image_sample_c_cd_o_g16",     [238, 238, 238, 238], &SAMPLE4,  sample::<{ C | CD | O | G16 }>).errata(G16_NAMES),
    mimg("image_sample_c_cd_cl_o_g16",  [239, 239, 239, 239], &SAMPLE4,  sample::<{ C | CD | CL | O | G16 }>).errata(G16_NAMES),
];

/// LLVM's names with bit 7 of the opcode, in bit 0.
const G16_NAMES: &[&str] = &["mimg-g16"];

/// Parts of a sample's variant, as in the names. C: a comparison. Source of the level of detail: D derivatives, CD coarse
/// derivatives, L the address, LZ level 0, B a bias. CL: the level is clamped. O: offsets.
const PLAIN: u32 = 0;
const C: u32 = 1;
const D: u32 = 2;
const CD: u32 = 4;
const L: u32 = 8;
const LZ: u32 = 16;
const B: u32 = 32;
const CL: u32 = 64;
const O: u32 = 128;
const G16: u32 = 256;

fn sampling(variant: u32) -> Sampling {
    let has = |part| variant & part != 0;
    Sampling {
        detail: match variant & (D | CD | L | LZ | B) {
            D => Detail::Derivatives,
            CD => Detail::CoarseDerivatives,
            L => Detail::Given,
            LZ => Detail::Zero,
            B => Detail::Bias,
            _ => Detail::Quad,
        },
        compare: has(C),
        offset: has(O),
        clamp: has(CL),
        half_derivatives: has(G16),
    }
}

fn load_as(m: &Meaning, mip: bool, raw: Raw) {
    m.about(match (mip, raw) {
        (false, Raw::Converted) => "Loads an element of an image, without filtering.",
        (true, Raw::Converted) => "Loads an element of a level of an image, without filtering.",
        (_, Raw::Dwords) => "Loads the dwords of an element of an image, unconverted.",
        (_, Raw::SignedDwords) => {
            "Loads the dwords of an element of an image, unconverted but sign-extended."
        }
    });
    m.image(ImageOp::Load { mip, raw });
}

fn load(m: &Meaning) {
    load_as(m, false, Raw::Converted);
}

fn load_mip(m: &Meaning) {
    load_as(m, true, Raw::Converted);
}

fn load_raw(m: &Meaning) {
    load_as(m, false, Raw::Dwords);
}

fn load_raw_signed(m: &Meaning) {
    load_as(m, false, Raw::SignedDwords);
}

fn load_mip_raw(m: &Meaning) {
    load_as(m, true, Raw::Dwords);
}

fn load_mip_raw_signed(m: &Meaning) {
    load_as(m, true, Raw::SignedDwords);
}

fn store_as(m: &Meaning, mip: bool, raw: bool) {
    m.about(match (mip, raw) {
        (false, false) => "Stores an element of an image.",
        (true, false) => "Stores an element of a level of an image.",
        (_, true) => "Stores the dwords of an element of an image, unconverted.",
    });
    m.image(ImageOp::Store { mip, raw });
}

fn store(m: &Meaning) {
    store_as(m, false, false);
}

fn store_mip(m: &Meaning) {
    store_as(m, true, false);
}

fn store_raw(m: &Meaning) {
    store_as(m, false, true);
}

fn store_mip_raw(m: &Meaning) {
    store_as(m, true, true);
}

macro_rules! atomics {
    ($($name:ident $op:ident $ty:ident;)*) => {$(
        fn $name(m: &Meaning) {
            m.about("Changes an element of an image in one step; with GLC it gives the element's old value.");
            m.image(ImageOp::Atomic(AtomicOp::$op, Ty::$ty));
        }
    )*};
}

atomics! {
    atomic_swap Swap U32;
    atomic_cmpswap CmpSwap U32;
    atomic_add Add U32;
    atomic_sub Sub U32;
    atomic_rsub Rsub U32;
    atomic_smin Min I32;
    atomic_umin Min U32;
    atomic_smax Max I32;
    atomic_umax Max U32;
    atomic_and And U32;
    atomic_or Or U32;
    atomic_xor Xor U32;
    atomic_inc Inc U32;
    atomic_dec Dec U32;
    atomic_fcmpswap CmpSwap F32;
    atomic_fmin Min F32;
    atomic_fmax Max F32;
}

fn resinfo(m: &Meaning) {
    m.about("Gives the size of an image: width, height, depth (or slices) and number of levels. The address is a level.");
    m.image(ImageOp::Size);
}

fn lod(m: &Meaning) {
    m.about("Gives the level of detail that a sample would use, and the level before clamping.");
    m.bounded(LOD);
    m.image(ImageOp::Lod);
}

/// The permitted deviation of a chip. See docs/errata.md, image-filter.
const LOD: &str = "the level of detail within 1/256, anisotropy left out";
const FILTER: &str = "weights of 8 bits, so within 1/256 of the difference of neighbouring elements an axis; the level of detail within 1/256, anisotropy left out";

fn sample<const VARIANT: u32>(m: &Meaning) {
    m.about("Samples an image through a sampler.");
    m.bounded(FILTER);
    m.image(ImageOp::Sample(sampling(VARIANT)));
}

fn gather<const VARIANT: u32>(m: &Meaning) {
    m.about("Gives one component of the four elements that a bilinear filter would read: lower left, lower right, upper right, upper left.");
    m.bounded(LOD);
    m.image(ImageOp::Gather(sampling(VARIANT), Footprint::Square));
}

fn gather_row(m: &Meaning) {
    m.about("Gives one component of four adjacent elements.");
    m.image(ImageOp::Gather(sampling(PLAIN), Footprint::Row));
}

fn gather_row_packed(m: &Meaning) {
    m.about("Gives the first bytes of four adjacent elements in one dword.");
    m.image(ImageOp::Gather(sampling(PLAIN), Footprint::PackedRow));
}

fn gather_row8(m: &Meaning) {
    m.about("Gives the first bytes of eight adjacent elements in two dwords.");
    m.image(ImageOp::Gather(sampling(PLAIN), Footprint::PackedRow8));
}
