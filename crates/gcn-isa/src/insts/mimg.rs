//! MIMG: images: loads, stores, atomics, samples.

use crate::format::Format;
use crate::inst::{Flags, Inst, NO};
use crate::meaning::{Meaning, Touch};
use crate::shape::{Mods, Role::*, Shape, Slot, Ty, read, write};

const fn image(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::Image,
    }
}

/// The data, whose width DMASK says, the address and the resource.
const fn plain(data: Slot) -> [Slot; 3] {
    [data, read(ImgAddr, Ty::B32), read(Srsrc, Ty::B256)]
}

/// A sample: `address` is the least that the address takes.
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
    mimg("image_load_mip",              [  1,   1,   1,   1], &LOAD,    load),
    mimg("image_load_pck",              [  2,   2,   2,   2], &LOAD,    load).flag(Flags::NO_D16),
    mimg("image_load_pck_sgn",          [  3,   3,   3,   3], &LOAD,    load).flag(Flags::NO_D16),
    mimg("image_load_mip_pck",          [  4,   4,   4,   4], &LOAD,    load).flag(Flags::NO_D16),
    mimg("image_load_mip_pck_sgn",      [  5,   5,   5,   5], &LOAD,    load).flag(Flags::NO_D16),
    mimg("image_store",                 [  8,   8,   8,   8], &STORE,   store),
    mimg("image_store_mip",             [  9,   9,   9,   9], &STORE,   store),
    mimg("image_store_pck",             [ 10,  10,  10,  10], &STORE,   store).flag(Flags::NO_D16),
    mimg("image_store_mip_pck",         [ 11,  11,  11,  11], &STORE,   store).flag(Flags::NO_D16),
    mimg("image_get_resinfo",           [ 14,  14,  14,  14], &LOAD,    resinfo).flag(Flags::NO_D16),
    mimg("image_atomic_swap",           [ 15,  15,  16,  16], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_atomic_cmpswap",        [ 16,  16,  17,  17], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_atomic_add",            [ 17,  17,  18,  18], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_atomic_sub",            [ 18,  18,  19,  19], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_atomic_rsub",           [ 19,  NO,  NO,  NO], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_atomic_smin",           [ 20,  20,  20,  20], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_atomic_umin",           [ 21,  21,  21,  21], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_atomic_smax",           [ 22,  22,  22,  22], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_atomic_umax",           [ 23,  23,  23,  23], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_atomic_and",            [ 24,  24,  24,  24], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_atomic_or",             [ 25,  25,  25,  25], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_atomic_xor",            [ 26,  26,  26,  26], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_atomic_inc",            [ 27,  27,  27,  27], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_atomic_dec",            [ 28,  28,  28,  28], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_atomic_fcmpswap",       [ 29,  29,  NO,  NO], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_atomic_fmin",           [ 30,  30,  NO,  NO], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_atomic_fmax",           [ 31,  31,  NO,  NO], &ATOMIC,  atomic).flag(Flags::NO_D16),
    mimg("image_sample",                [ 32,  32,  32,  32], &SAMPLE1, sample),
    mimg("image_sample_cl",             [ 33,  33,  33,  33], &SAMPLE1, sample),
    mimg("image_sample_d",              [ 34,  34,  34,  34], &SAMPLE2, sample),
    mimg("image_sample_d_cl",           [ 35,  35,  35,  35], &SAMPLE2, sample),
    mimg("image_sample_l",              [ 36,  36,  36,  36], &SAMPLE1, sample),
    mimg("image_sample_b",              [ 37,  37,  37,  37], &SAMPLE2, sample),
    mimg("image_sample_b_cl",           [ 38,  38,  38,  38], &SAMPLE2, sample),
    mimg("image_sample_lz",             [ 39,  39,  39,  39], &SAMPLE1, sample),
    mimg("image_sample_c",              [ 40,  40,  40,  40], &SAMPLE2, sample),
    mimg("image_sample_c_cl",           [ 41,  41,  41,  41], &SAMPLE2, sample),
    mimg("image_sample_c_d",            [ 42,  42,  42,  42], &SAMPLE3, sample),
    mimg("image_sample_c_d_cl",         [ 43,  43,  43,  43], &SAMPLE3, sample),
    mimg("image_sample_c_l",            [ 44,  44,  44,  44], &SAMPLE2, sample),
    mimg("image_sample_c_b",            [ 45,  45,  45,  45], &SAMPLE3, sample),
    mimg("image_sample_c_b_cl",         [ 46,  46,  46,  46], &SAMPLE3, sample),
    mimg("image_sample_c_lz",           [ 47,  47,  47,  47], &SAMPLE2, sample),
    mimg("image_sample_o",              [ 48,  48,  48,  48], &SAMPLE2, sample),
    mimg("image_sample_cl_o",           [ 49,  49,  49,  49], &SAMPLE2, sample),
    mimg("image_sample_d_o",            [ 50,  50,  50,  50], &SAMPLE3, sample),
    mimg("image_sample_d_cl_o",         [ 51,  51,  51,  51], &SAMPLE3, sample),
    mimg("image_sample_l_o",            [ 52,  52,  52,  52], &SAMPLE2, sample),
    mimg("image_sample_b_o",            [ 53,  53,  53,  53], &SAMPLE3, sample),
    mimg("image_sample_b_cl_o",         [ 54,  54,  54,  54], &SAMPLE3, sample),
    mimg("image_sample_lz_o",           [ 55,  55,  55,  55], &SAMPLE2, sample),
    mimg("image_sample_c_o",            [ 56,  56,  56,  56], &SAMPLE3, sample),
    mimg("image_sample_c_cl_o",         [ 57,  57,  57,  57], &SAMPLE3, sample),
    mimg("image_sample_c_d_o",          [ 58,  58,  58,  58], &SAMPLE4, sample),
    mimg("image_sample_c_d_cl_o",       [ 59,  59,  59,  59], &SAMPLE4, sample),
    mimg("image_sample_c_l_o",          [ 60,  60,  60,  60], &SAMPLE3, sample),
    mimg("image_sample_c_b_o",          [ 61,  61,  61,  61], &SAMPLE4, sample),
    mimg("image_sample_c_b_cl_o",       [ 62,  62,  62,  62], &SAMPLE4, sample),
    mimg("image_sample_c_lz_o",         [ 63,  63,  63,  63], &SAMPLE3, sample),
    mimg("image_gather4",               [ 64,  64,  64,  64], &SAMPLE1, gather).flag(FOUR),
    mimg("image_gather4_cl",            [ 65,  65,  65,  65], &SAMPLE1, gather).flag(FOUR),
    mimg("image_gather4h",              [ NO,  NO,  NO,  66], &SAMPLE1, gather).flag(FOUR),
    mimg("image_gather4_l",             [ 68,  68,  68,  68], &SAMPLE1, gather).flag(FOUR),
    mimg("image_gather4_b",             [ 69,  69,  69,  69], &SAMPLE2, gather).flag(FOUR),
    mimg("image_gather4_b_cl",          [ 70,  70,  70,  70], &SAMPLE2, gather).flag(FOUR),
    mimg("image_gather4_lz",            [ 71,  71,  71,  71], &SAMPLE1, gather).flag(FOUR),
    mimg("image_gather4_c",             [ 72,  72,  72,  72], &SAMPLE2, gather).flag(FOUR),
    mimg("image_gather4_c_cl",          [ 73,  73,  73,  73], &SAMPLE2, gather).flag(FOUR),
    mimg("image_gather4h_pck",          [ NO,  NO,  NO,  74], &SAMPLE1, gather).flag(FOUR).flag(Flags::NO_D16),
    mimg("image_gather8h_pck",          [ NO,  NO,  NO,  75], &SAMPLE1, gather).flag(FOUR).flag(Flags::NO_D16),
    mimg("image_gather4_c_l",           [ 76,  76,  76,  76], &SAMPLE2, gather).flag(FOUR),
    mimg("image_gather4_c_b",           [ 77,  77,  77,  77], &SAMPLE3, gather).flag(FOUR),
    mimg("image_gather4_c_b_cl",        [ 78,  78,  78,  78], &SAMPLE3, gather).flag(FOUR),
    mimg("image_gather4_c_lz",          [ 79,  79,  79,  79], &SAMPLE2, gather).flag(FOUR),
    mimg("image_gather4_o",             [ 80,  80,  80,  80], &SAMPLE2, gather).flag(FOUR),
    mimg("image_gather4_cl_o",          [ 81,  81,  81,  81], &SAMPLE2, gather).flag(FOUR),
    mimg("image_gather4_l_o",           [ 84,  84,  84,  84], &SAMPLE2, gather).flag(FOUR),
    mimg("image_gather4_b_o",           [ 85,  85,  85,  85], &SAMPLE3, gather).flag(FOUR),
    mimg("image_gather4_b_cl_o",        [ 86,  86,  86,  86], &SAMPLE3, gather).flag(FOUR),
    mimg("image_gather4_lz_o",          [ 87,  87,  87,  87], &SAMPLE2, gather).flag(FOUR),
    mimg("image_gather4_c_o",           [ 88,  88,  88,  88], &SAMPLE3, gather).flag(FOUR),
    mimg("image_gather4_c_cl_o",        [ 89,  89,  89,  89], &SAMPLE3, gather).flag(FOUR),
    mimg("image_gather4_c_l_o",         [ 92,  92,  92,  92], &SAMPLE3, gather).flag(FOUR),
    mimg("image_gather4_c_b_o",         [ 93,  93,  93,  93], &SAMPLE4, gather).flag(FOUR),
    mimg("image_gather4_c_b_cl_o",      [ 94,  94,  94,  94], &SAMPLE4, gather).flag(FOUR),
    mimg("image_gather4_c_lz_o",        [ 95,  95,  95,  95], &SAMPLE3, gather).flag(FOUR),
    mimg("image_get_lod",               [ 96,  96,  96,  96], &SAMPLE1, lod).flag(Flags::NO_D16),
    mimg("image_sample_cd",             [104, 104, 104, 104], &SAMPLE2, sample),
    mimg("image_sample_cd_cl",          [105, 105, 105, 105], &SAMPLE2, sample),
    mimg("image_sample_c_cd",           [106, 106, 106, 106], &SAMPLE3, sample),
    mimg("image_sample_c_cd_cl",        [107, 107, 107, 107], &SAMPLE3, sample),
    mimg("image_sample_cd_o",           [108, 108, 108, 108], &SAMPLE3, sample),
    mimg("image_sample_cd_cl_o",        [109, 109, 109, 109], &SAMPLE3, sample),
    mimg("image_sample_c_cd_o",         [110, 110, 110, 110], &SAMPLE4, sample),
    mimg("image_sample_c_cd_cl_o",      [111, 111, 111, 111], &SAMPLE4, sample),
    mimg("image_sample_d_g16",          [162, 162, 162, 162], &SAMPLE2,  sample).errata(G16),
    mimg("image_sample_d_cl_g16",       [163, 163, 163, 163], &SAMPLE2,  sample).errata(G16),
    mimg("image_sample_c_d_g16",        [170, 170, 170, 170], &SAMPLE3,  sample).errata(G16),
    mimg("image_sample_c_d_cl_g16",     [171, 171, 171, 171], &SAMPLE3,  sample).errata(G16),
    mimg("image_sample_d_o_g16",        [178, 178, 178, 178], &SAMPLE3,  sample).errata(G16),
    mimg("image_sample_d_cl_o_g16",     [179, 179, 179, 179], &SAMPLE3,  sample).errata(G16),
    mimg("image_sample_c_d_o_g16",      [186, 186, 186, 186], &SAMPLE4,  sample).errata(G16),
    mimg("image_sample_c_d_cl_o_g16",   [187, 187, 187, 187], &SAMPLE4,  sample).errata(G16),
    mimg("image_sample_cd_g16",         [232, 232, 232, 232], &SAMPLE2,  sample).errata(G16),
    mimg("image_sample_cd_cl_g16",      [233, 233, 233, 233], &SAMPLE2,  sample).errata(G16),
    mimg("image_sample_c_cd_g16",       [234, 234, 234, 234], &SAMPLE3,  sample).errata(G16),
    mimg("image_sample_c_cd_cl_g16",    [235, 235, 235, 235], &SAMPLE3,  sample).errata(G16),
    mimg("image_sample_cd_o_g16",       [236, 236, 236, 236], &SAMPLE3,  sample).errata(G16),
    mimg("image_sample_cd_cl_o_g16",    [237, 237, 237, 237], &SAMPLE3,  sample).errata(G16),
    mimg("image_sample_c_cd_o_g16",     [238, 238, 238, 238], &SAMPLE4,  sample).errata(G16),
    mimg("image_sample_c_cd_cl_o_g16",  [239, 239, 239, 239], &SAMPLE4,  sample).errata(G16),
];

/// LLVM's names with bit 7 of the opcode, in bit 0.
const G16: &[&str] = &["mimg-g16"];

fn load(m: &Meaning) {
    m.untold("Loads an element of an image, without filtering.");
}

fn store(m: &Meaning) {
    m.untold("Stores an element of an image.");
}

fn atomic(m: &Meaning) {
    m.untold(
        "Changes an element of an image in one step; with GLC it gives the element's old value.",
    );
}

fn resinfo(m: &Meaning) {
    m.untold("Gives the size of an image: width, height, depth and number of mip levels.");
    m.touches(Touch::Nothing);
}

fn lod(m: &Meaning) {
    m.untold("Gives the level of detail that a sample would use.");
    m.touches(Touch::Nothing);
}

fn sample(m: &Meaning) {
    m.untold("Samples an image through a sampler.");
}

fn gather(m: &Meaning) {
    m.untold("Gives one channel of the four elements that a sample would filter.");
}
