//! The number of cycles of the shader clock for which an instruction occupies the unit that issues it.
//!
//! The figures are facts from CLRX's documentation of timings (GcnTimings.md); `testdata/timings.tsv` lists them and a test
//! compares. Rows that the page does not list have the figure of their kind, and [`Issue::listed`] is false.
//!
//! ```
//! use gcn_isa::insts::timing::{Cycles, issue};
//! use gcn_isa::insts;
//!
//! let row = |name: &str| insts::by_name(name).next().unwrap();
//! assert_eq!(issue(row("v_add_f32")).cycles, Cycles::Fixed(4));
//! assert_eq!(issue(row("v_rcp_f32")).cycles, Cycles::Fixed(16));
//! // Eight times as long on a chip with a sixteenth of the rate for double precision.
//! assert_eq!(issue(row("v_add_f64")).cycles.on(8), (32, 32));
//! ```

use crate::format::Format;
use crate::inst::{Flags, Inst};
use crate::shape::{Access, Imm, Role, Ty};

/// Cycles of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cycles {
    /// The same on every chip.
    Fixed(u16),
    /// From a minimum to a maximum.
    Range(u16, u16),
    /// This many times the chip's factor of double precision: 1 for half of the rate of single precision, 2 for a
    /// quarter, 4 for an eighth, 8 for a sixteenth.
    Double(u16),
    /// v_fma_f32: 4 if double precision has an eighth of the rate or more, otherwise 16.
    Fma,
    /// The first number without the modifier glc, and the number of additional cycles with it.
    Glc(u16, u16),
    /// A jump: the first if it is not taken, the second if it is.
    Jump(u16, u16),
}

impl Cycles {
    /// The minimum and maximum on a chip with this factor of double precision.
    pub const fn on(self, factor: u16) -> (u16, u16) {
        match self {
            Cycles::Fixed(n) => (n, n),
            Cycles::Range(least, most) | Cycles::Jump(least, most) => (least, most),
            Cycles::Double(n) => (n * factor, n * factor),
            Cycles::Fma if factor <= 4 => (4, 4),
            Cycles::Fma => (16, 16),
            Cycles::Glc(n, more) => (n, n + more),
        }
    }
}

/// The issue data of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Issue {
    /// The cycles.
    pub cycles: Cycles,
    /// For LDS: the minimum number of cycles between two of these instructions of a compute unit.
    pub throughput: Option<u16>,
    /// True if the page lists the instruction. Otherwise the figure is that of similar instructions.
    pub listed: bool,
}

const fn cycles(cycles: Cycles) -> Issue {
    Issue {
        cycles,
        throughput: None,
        listed: true,
    }
}

const fn fixed(n: u16) -> Issue {
    cycles(Cycles::Fixed(n))
}

/// Twice the cycles that their type suggests.
const SLOW_DOUBLE: &[&str] = &[
    "v_div_fmas_f64",
    "v_fma_f64",
    "v_mul_f64",
    "v_trig_preop_f64",
];

/// Instructions with a quarter of the rate, in addition to those with [`Flags::TRANS`].
#[rustfmt::skip]
const QUARTER: &[&str] = &[
    "v_div_fixup_f32", "v_div_fmas_f32", "v_div_scale_f32", "v_mad_i64_i32", "v_mad_u64_u32", "v_mqsad_pk_u16_u8",
    "v_mqsad_u32_u8", "v_mul_hi_i32", "v_mul_hi_u32", "v_mul_lo_i32", "v_mul_lo_u32", "v_qsad_pk_u16_u8", "v_qsad_u8",
];

/// Shifts of 64 bits, which run at the rate of double precision.
#[rustfmt::skip]
const SHIFTS: &[&str] = &[
    "v_ashr_i64", "v_ashrrev_i64", "v_lshl_b64", "v_lshlrev_b64", "v_lshr_b64", "v_lshrrev_b64",
];

/// Rows that the page does not list, or lists without a figure, in formats that it otherwise lists row by row.
#[rustfmt::skip]
const UNLISTED: &[&str] = &[
    "buffer_store_lds_dword", "buffer_wbinvl1", "buffer_wbinvl1_sc", "buffer_wbinvl1_vol", "ds_add_f32", "ds_add_rtn_f32",
    "ds_add_src2_f32", "ds_bpermute_b32", "ds_ordered_count", "ds_permute_b32", "ds_wrap_rtn_b32", "s_atc_probe",
    "s_atc_probe_buffer", "s_dcache_discard", "s_dcache_discard_x2", "s_dcache_wb", "s_dcache_wb_vol", "s_memrealtime",
    "v_add_i16", "v_add_i32", "v_bcnt_u32_b32", "v_bfm_b32", "v_cvt_pk_i16_i32", "v_cvt_pk_u16_u32", "v_cvt_pkaccum_u8_f32",
    "v_cvt_pknorm_i16_f16", "v_cvt_pknorm_i16_f32", "v_cvt_pknorm_u16_f16", "v_cvt_pknorm_u16_f32", "v_cvt_pkrtz_f16_f32",
    "v_div_fixup_legacy_f16", "v_fma_f16", "v_interp_p1ll_f16", "v_interp_p1lv_f16", "v_interp_p2_f16",
    "v_interp_p2_legacy_f16", "v_ldexp_f32", "v_mac_legacy_f32", "v_pack_b32_f16", "v_perm_b32", "v_readlane_b32",
    "v_readlane_regrd_b32", "v_sub_i16", "v_sub_i32", "v_writelane_b32", "v_writelane_regwr_b32",
];

/// Parts of the names of further rows: memory instructions that are new in gfx8 and gfx9, and the synchronisation of waves.
const UNLISTED_PARTS: &[&str] = &["_d16", "_addtid", "_gws_", "_condxchg32_", "s_scratch_"];

fn unlisted(row: &Inst) -> bool {
    let by_name = matches!(
        row.format,
        Format::Vop1 | Format::Vop3 | Format::Ds | Format::Mubuf | Format::Smem
    );
    let scalar = row.format == Format::Smem
        && (row.name.contains("_atomic_") || row.name.contains("_store_"));
    by_name
        && (scalar
            || UNLISTED.contains(&row.name)
            || UNLISTED_PARTS.iter().any(|part| row.name.contains(part)))
}

/// The issue data of a row's instructions.
pub fn issue(row: &Inst) -> Issue {
    let mut issue = match row.format {
        Format::Sop1 => sop1(row),
        Format::Sop2 | Format::Sopc | Format::Vop3p => fixed(4),
        Format::Sopk => sopk(row),
        Format::Sopp => sopp(row),
        Format::Smem => smem(row),
        Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 => valu(row),
        Format::Ds => ds(row),
        Format::Mubuf => buffer(row),
        Format::Mtbuf
        | Format::Mimg
        | Format::Flat
        | Format::Global
        | Format::Scratch
        | Format::Exp
        | Format::Vintrp => Issue {
            listed: false,
            ..buffer(row)
        },
    };
    issue.listed &= !unlisted(row);
    issue
}

fn sop1(row: &Inst) -> Issue {
    if row.name.contains("_saveexec_") {
        return fixed(8);
    }
    fixed(4)
}

fn sopk(row: &Inst) -> Issue {
    // s_setreg: it names a hardware register that it does not read.
    let slots = &row.shape;
    match slots.slot(Role::Imm(Imm::Hwreg)).is_some() && slots.slot(Role::Sdst).is_none() {
        true => fixed(8),
        false => fixed(4),
    }
}

fn sopp(row: &Inst) -> Issue {
    match row.shape.slot(Role::Imm(Imm::Branch)) {
        Some(_) if row.name == "s_branch" => fixed(20),
        Some(_) => cycles(Cycles::Jump(4, 20)),
        None => Issue {
            listed: false,
            ..fixed(4)
        },
    }
}

fn smem(row: &Inst) -> Issue {
    let loaded = row.shape.slot(Role::Sdata).map_or(0, |s| match s.access {
        Access::Write => s.ty.dwords(),
        _ => 0,
    });
    match loaded {
        16 => cycles(Cycles::Range(16, 24)),
        8 => fixed(8),
        _ => fixed(4),
    }
}

fn valu(row: &Inst) -> Issue {
    let has = |ty: Ty| row.shape.slots.iter().any(|slot| slot.ty == ty);
    let compare = row.format == Format::Vopc;
    let wide = has(Ty::F64) || compare && (has(Ty::I64) || has(Ty::U64));
    let slow = row.flags.has(Flags::TRANS) || SLOW_DOUBLE.contains(&row.name);
    if row.name == "v_fma_f32" {
        return cycles(Cycles::Fma);
    }
    if row.name == "v_swap_b32" {
        return fixed(8);
    }
    match (wide || SHIFTS.contains(&row.name), slow) {
        (true, true) => cycles(Cycles::Double(8)),
        (true, false) => cycles(Cycles::Double(4)),
        (false, true) => fixed(16),
        (false, false) if QUARTER.contains(&row.name) => fixed(16),
        (false, false) => fixed(4),
    }
}

/// A width in dwords, its cycles, and its throughput in cycles.
type Width = (u8, u16, u16);

/// LDS, by kind and width.
#[rustfmt::skip]
const DS: &[(&str, &[Width])] = &[
    // The first entry that is a prefix of the instruction's name (without `ds_`) applies.
    ("read2",      &[(1, 8, 4),  (2, 16, 8)]),
    ("read",       &[(1, 4, 2),  (2, 8, 4),  (3, 16, 8),  (4, 16, 8)]),
    ("swizzle",    &[(1, 4, 2)]),
    ("wrxchg2",    &[(1, 12, 6), (2, 20, 12)]),
    ("wrxchg",     &[(1, 8, 4),  (2, 12, 6)]),
    ("write_src2", &[(1, 12, 4), (2, 20, 8)]),
    ("write2",     &[(1, 12, 6), (2, 20, 10)]),
    ("write",      &[(1, 8, 4),  (2, 12, 8), (3, 16, 10), (4, 20, 10)]),
    ("cmpst",      &[(1, 12, 6), (2, 20, 10)]),
    ("mskor",      &[(1, 12, 6), (2, 20, 10)]),
];

fn ds(row: &Inst) -> Issue {
    let name = row.name.strip_prefix("ds_").unwrap_or(row.name);
    let width = match name.rsplit('_').next() {
        Some("b64" | "u64" | "i64" | "f64") => 2,
        Some("b96") => 3,
        Some("b128") => 4,
        _ => 1,
    };
    let timed = |n: u16, per: u16| Issue {
        throughput: Some(per),
        ..fixed(n)
    };
    let kind = DS.iter().find(|(kind, _)| name.starts_with(kind));
    if let Some((_, widths)) = kind {
        let entry = widths.iter().find(|(dwords, ..)| *dwords == width);
        return entry.map_or(fixed(4), |(_, n, per)| timed(*n, *per));
    }
    let atomic = row.shape.slot(Role::Data0).is_some();
    match (name.contains("_src2_"), atomic, width) {
        (true, _, 1) => timed(4, 4),
        (true, ..) => timed(8, 8),
        (false, true, 1) => timed(8, 4),
        (false, true, _) => timed(12, 6),
        // ds_nop, ds_append, ds_consume and others without data.
        (false, false, _) => fixed(4),
    }
}

/// Vector memory, by direction and data width.
fn buffer(row: &Inst) -> Issue {
    let slots = row.shape.slots;
    let data = |slot: &&crate::shape::Slot| {
        matches!(
            slot.role,
            Role::Vdata | Role::Data0 | Role::Vdst | Role::VdstIfGlc
        )
    };
    let written = slots.iter().filter(data).any(|s| s.access == Access::Write);
    let any = slots.iter().any(|slot| data(&slot));
    let dwords = slots.iter().filter(data).map(|s| s.ty.dwords()).max();
    if row.name.contains("cmpswap") {
        return fixed(32);
    }
    if row.name.contains("_atomic_") {
        return match row.name.ends_with("_x2") {
            // The page lists no additional cycles for this instruction.
            true if row.name == "buffer_atomic_and_x2" => fixed(16),
            true => cycles(Cycles::Glc(16, 2)),
            false => cycles(Cycles::Glc(16, 1)),
        };
    }
    match (any, written, dwords) {
        (true, true, Some(1)) => fixed(8),
        (true, true, Some(2)) => fixed(18),
        (true, ..) => fixed(16),
        (false, ..) => fixed(4),
    }
}
