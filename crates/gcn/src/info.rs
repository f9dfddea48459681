//! `gcn info`: the target of a code object, the arguments and resources of its kernels, and their occupancy.

use std::collections::HashMap;
use std::fmt::Write as _;

use gcn_analyze::occupancy::{MOST_WAVES, Occupancy};
use gcn_isa::Target;
use gcn_isa::access::{InstructionTable, MemorySpace};
use gcn_isa::decode::Decoder;
use gcn_isa::flow::Flow;
use gcn_isa::format::{Encoding, Format};
use gcn_isa::inst::Flags;
use gcn_isa::meaning::Signal;
use gcn_isa::shape::Ty;
use gcn_object::descriptor::UserSgpr;
use gcn_object::read::{CodeObject, FileKind, Kernel, Symbol};
use gcn_object::target::Feature;
use gcn_object::{SectionKind, SymbolSection};
use serde_json::{Map, Value, json};

use crate::{dis, dot};

/// The maximum ratio of the code of all kernels to the size of the file up to which instructions are counted.
const OVERLAP: usize = 8;
/// The number of work-items of a wave.
const WAVE: u64 = 64;

/// The limiting resource: `vgprs`, `sgprs`, `lds`, `workgroups`; `none` if all allow the maximum.
fn limited_by(occupancy: &Occupancy) -> &'static str {
    match occupancy.limited_by().first() {
        Some(&"vgpr") => "vgprs",
        Some(&"sgpr") => "sgprs",
        Some(&"lds") => "lds",
        Some(&"workgroups") => "workgroups",
        _ => "none",
    }
}

/// Instructions by class. Each is counted in one class; `trans` to `sdwa_dpp` are parts of `valu`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Mix {
    /// All instructions.
    pub total: u64,
    /// Vector arithmetic.
    pub valu: u64,
    /// Of these: roots, quotients, exponentials, logarithms, sine and cosine.
    pub trans: u64,
    /// Of these: 64-bit floats.
    pub f64: u64,
    /// Of these: two 16-bit halves at once.
    pub packed: u64,
    /// Of these: SDWA or DPP.
    pub sdwa_dpp: u64,
    /// Attribute interpolation.
    pub interp: u64,
    /// Scalar arithmetic.
    pub salu: u64,
    /// Scalar memory.
    pub smem: u64,
    /// Buffers, images and global memory.
    pub vmem: u64,
    /// Flat memory.
    pub flat: u64,
    /// Scratch.
    pub scratch: u64,
    /// LDS.
    pub lds: u64,
    /// GDS.
    pub gds: u64,
    /// Exports.
    pub export: u64,
    /// Branches, calls and returns.
    pub branch: u64,
    /// Waits for counters.
    pub wait: u64,
    /// Barriers.
    pub barrier: u64,
    /// Messages, sleeps, cache control, traps, ends and s_nop.
    pub other: u64,
    /// Dwords that are not instructions.
    pub unknown: u64,
}

impl Mix {
    /// Names and counts in the order of the output.
    pub fn list(&self) -> [(&'static str, u64); 20] {
        [
            ("total", self.total),
            ("valu", self.valu),
            ("trans", self.trans),
            ("f64", self.f64),
            ("packed", self.packed),
            ("sdwa_dpp", self.sdwa_dpp),
            ("interp", self.interp),
            ("salu", self.salu),
            ("smem", self.smem),
            ("vmem", self.vmem),
            ("flat", self.flat),
            ("scratch", self.scratch),
            ("lds", self.lds),
            ("gds", self.gds),
            ("export", self.export),
            ("branch", self.branch),
            ("wait", self.wait),
            ("barrier", self.barrier),
            ("other", self.other),
            ("unknown", self.unknown),
        ]
    }
}

/// Counts instructions.
pub struct Counter {
    decoder: Decoder,
    table: InstructionTable,
}

impl Counter {
    /// A counter for a target's code.
    pub fn new(target: Target) -> Counter {
        Counter {
            decoder: Decoder::new(target),
            table: InstructionTable::new(target),
        }
    }

    /// The instructions of these bytes.
    pub fn count(&mut self, bytes: &[u8]) -> Mix {
        let mut mix = Mix::default();
        let mut at = 0;
        while at < bytes.len() {
            let Some(insn) = self.decoder.decode(&bytes[at..]) else {
                mix.unknown += 1;
                at += 4;
                continue;
            };
            at += insn.len as usize;
            mix.total += 1;
            let info = self.table.of(&insn);
            let space = info.memory(&insn).map(|m| m.space);
            let format = insn.row.format;
            if format.is_valu() {
                mix.valu += 1;
                let double = insn.row.shape.slots.iter().any(|slot| slot.ty == Ty::F64);
                mix.trans += insn.row.flags.has(Flags::TRANS) as u64;
                mix.f64 += double as u64;
                mix.packed += (format == Format::Vop3p) as u64;
                let promoted = [
                    Encoding::Sdwa1,
                    Encoding::Sdwa2,
                    Encoding::SdwaC,
                    Encoding::Dpp1,
                    Encoding::Dpp2,
                    Encoding::DppC,
                ];
                mix.sdwa_dpp += promoted.contains(&insn.encoding) as u64;
                continue;
            }
            let class = match (format, space) {
                (Format::Vintrp, _) => &mut mix.interp,
                (Format::Smem, _) => &mut mix.smem,
                (Format::Ds, Some(MemorySpace::Gds)) => &mut mix.gds,
                (Format::Ds, _) => &mut mix.lds,
                (Format::Flat, _) => &mut mix.flat,
                (Format::Scratch, _) => &mut mix.scratch,
                (Format::Exp, _) => &mut mix.export,
                (Format::Mubuf | Format::Mtbuf | Format::Mimg | Format::Global, _) => &mut mix.vmem,
                _ if matches!(
                    info.flow(&insn),
                    Flow::Branch { .. } | Flow::Indirect { .. }
                ) =>
                {
                    &mut mix.branch
                }
                _ if info.signals(Signal::Waitcnt) => &mut mix.wait,
                _ if info.signals(Signal::Barrier) => &mut mix.barrier,
                (Format::Sopp, _) => &mut mix.other,
                _ => &mut mix.salu,
            };
            *class += 1;
        }
        mix
    }
}

/// One kernel.
pub struct KernelInfo<'a> {
    kernel: &'a Kernel,
    /// The size of its code in bytes.
    pub code_bytes: u64,
    /// Its occupancy.
    pub occupancy: Occupancy,
    /// Its instructions by class.
    pub mix: Mix,
}

/// One code object.
pub struct Info<'a> {
    object: &'a CodeObject,
    /// Its kernels.
    pub kernels: Vec<KernelInfo<'a>>,
    /// The size of all code in bytes.
    pub code_bytes: u64,
}

impl<'a> Info<'a> {
    /// Analyzes a code object.
    ///
    /// # Errors
    /// A message if its target is unknown.
    pub fn new(object: &'a CodeObject) -> Result<Info<'a>, String> {
        let target = dis::target_of(object)?;
        let mut counter = Counter::new(target);
        let code = |s: &&gcn_object::read::Section| s.flags.exec() && s.kind != SectionKind::NOBITS;
        // A damaged section may claim more bytes than the file has.
        let code = object.sections.iter().filter(code);
        let code_bytes = code.map(|s| s.file.len() as u64).sum();
        let mut symbols: HashMap<&str, &Symbol> = HashMap::new();
        for symbol in dis::symbols(object) {
            if matches!(symbol.section, SymbolSection::Index(_)) {
                symbols.entry(&symbol.name).or_insert(symbol);
            }
        }
        // Kernels of unusual files may overlap; the limit keeps the time proportional to the size of the file.
        let mut left = object.data().len().saturating_mul(OVERLAP);
        let kernels = (object.kernels.iter())
            .map(|kernel| {
                let symbol = symbols.get(kernel.name.as_str()).copied();
                let bytes = kernel_code(object, kernel, symbol);
                let counted = if bytes.len() <= left { bytes } else { &[] };
                left -= counted.len();
                KernelInfo {
                    kernel,
                    code_bytes: bytes.len() as u64,
                    occupancy: Occupancy::of(object, kernel, target.generation()),
                    mix: counter.count(counted),
                }
            })
            .collect();
        Ok(Info {
            object,
            kernels,
            code_bytes,
        })
    }

    /// As JSON (docs/json.md).
    pub fn json(&self) -> Value {
        let object = self.object;
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| out.insert(key.to_string(), value);
        put("target", object.target_id().into());
        put("processor", object.target_name().into());
        put(
            "features",
            json!({
                "xnack": feature(object.target.xnack),
                "sramecc": feature(object.target.sramecc),
            }),
        );
        put("code_object_version", object.version.number().into());
        put("abi", abi(object).into());
        put("kind", kind(object).into());
        put("flags", object.flags.into());
        put("code_bytes", self.code_bytes.into());
        let sections: Vec<Value> = (object.sections.iter())
            .map(|s| {
                json!({
                    "name": s.name,
                    "type": s.kind.0,
                    "flags": section_flags(s.flags.0),
                    "address": s.address,
                    "bytes": s.size,
                    "align": s.align,
                })
            })
            .collect();
        put("sections", sections.into());
        put("relocations", object.relocations.len().into());
        put("printf", object.metadata.printf.clone().into());
        let kernels: Vec<Value> = self.kernels.iter().map(KernelInfo::json).collect();
        put("kernels", kernels.into());
        Value::Object(out)
    }

    /// As text.
    pub fn text(&self) -> String {
        let object = self.object;
        let mut out = String::new();
        let _ = writeln!(out, "target        {}", object.target_id());
        let _ = writeln!(
            out,
            "features      xnack {}, sramecc {}",
            feature(object.target.xnack),
            feature(object.target.sramecc)
        );
        let _ = writeln!(
            out,
            "code object   v{}, {}, {} (e_flags {:#x})",
            object.version.number(),
            abi(object),
            kind(object),
            object.flags
        );
        let _ = writeln!(out, "code          {} bytes", self.code_bytes);
        let loaded = object.sections.iter().filter(|s| s.size != 0);
        out.push_str("sections\n");
        for section in loaded {
            let _ = writeln!(
                out,
                "  {:<18} {:>10} bytes at {:#08x}  {}",
                section.name,
                section.size,
                section.address,
                section_flags(section.flags.0)
            );
        }
        for kernel in &self.kernels {
            kernel.text(&mut out);
        }
        if self.kernels.is_empty() {
            out.push_str("no kernels\n");
        }
        out
    }
}

/// A kernel's code, without the padding after it.
fn kernel_code<'a>(object: &'a CodeObject, kernel: &Kernel, symbol: Option<&Symbol>) -> &'a [u8] {
    let extent = symbol.and_then(|s| dot::extent(object, s));
    let Some((index, start, end)) = extent else {
        return &[];
    };
    let start = match (start..end).contains(&kernel.entry) {
        true => kernel.entry,
        false => start,
    };
    let base = object.sections[index].address;
    let range = (start - base) as usize..(end - base) as usize;
    object.section_data(index).get(range).unwrap_or(&[])
}

impl KernelInfo<'_> {
    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.kernel.name
    }

    /// The registers that the code uses according to the metadata, otherwise the allocated ones.
    fn used(&self) -> (u64, u64) {
        let (vgprs, sgprs) = (self.occupancy.vgprs, self.occupancy.sgprs);
        match &self.kernel.metadata {
            Some(m) if m.vgpr_count != 0 || m.sgpr_count != 0 => (m.vgpr_count, m.sgpr_count),
            _ => (vgprs.into(), sgprs.into()),
        }
    }

    fn scratch(&self) -> u64 {
        let own = u64::from(self.kernel.descriptor.private_segment_fixed_size);
        let metadata = self.kernel.metadata.as_ref();
        own.max(metadata.map_or(0, |m| m.private_segment_fixed_size))
    }

    fn lds(&self) -> u64 {
        let own = u64::from(self.kernel.descriptor.group_segment_fixed_size);
        let metadata = self.kernel.metadata.as_ref();
        own.max(metadata.map_or(0, |m| m.group_segment_fixed_size))
    }

    fn kernarg(&self) -> u64 {
        let own = u64::from(self.kernel.descriptor.kernarg_size);
        let metadata = self.kernel.metadata.as_ref();
        own.max(metadata.map_or(0, |m| m.kernarg_segment_size))
    }

    /// As JSON (docs/json.md).
    pub fn json(&self) -> Value {
        let (kernel, metadata) = (self.kernel, self.kernel.metadata.as_ref());
        let descriptor = &kernel.descriptor;
        let (vgprs, sgprs) = self.used();
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| out.insert(key.to_string(), value);
        put("name", kernel.name.clone().into());
        if let Some(cpp) = crate::cpp::demangled(&kernel.name) {
            put("demangled", cpp.into());
        }
        put("entry", kernel.entry.into());
        put("descriptor", kernel.descriptor_address.into());
        put("code_bytes", self.code_bytes.into());
        put("vgprs", vgprs.into());
        put("sgprs", sgprs.into());
        put("allocated_vgprs", self.occupancy.vgprs.into());
        put("allocated_sgprs", self.occupancy.sgprs.into());
        put("lds_bytes", self.lds().into());
        put("scratch_bytes", self.scratch().into());
        put("kernarg_bytes", self.kernarg().into());
        put(
            "kernarg_align",
            metadata.map_or(0, |m| m.kernarg_segment_align).into(),
        );
        put(
            "spilled_vgprs",
            metadata.map_or(0, |m| m.vgpr_spill_count).into(),
        );
        put(
            "spilled_sgprs",
            metadata.map_or(0, |m| m.sgpr_spill_count).into(),
        );
        put("wave_size", WAVE.into());
        put("waves_per_simd", self.occupancy.waves().into());
        put("limited_by", limited_by(&self.occupancy).into());
        put(
            "waves_by",
            json!({
                "vgprs": self.occupancy.by_vgprs,
                "sgprs": self.occupancy.by_sgprs,
                "lds": self.occupancy.by_lds,
                "workgroups": self.occupancy.by_workgroups,
            }),
        );
        put(
            "max_workgroup_size",
            metadata.map(|m| m.max_flat_workgroup_size).into(),
        );
        put(
            "required_workgroup_size",
            json!(metadata.and_then(|m| m.reqd_workgroup_size)),
        );
        put(
            "workgroup_size_hint",
            json!(metadata.and_then(|m| m.workgroup_size_hint)),
        );
        put("language", json!(metadata.and_then(|m| m.language.clone())));
        let user: Vec<&str> = descriptor.user_sgprs().map(user_sgpr).collect();
        put("user_sgprs", user.into());
        put("user_sgpr_count", descriptor.user_sgpr_count().into());
        put(
            "mode",
            json!({
                "float_mode": descriptor.float_mode(),
                "ieee": descriptor.ieee_mode(),
                "dx10_clamp": descriptor.dx10_clamp(),
            }),
        );
        let arguments: Option<Vec<Value>> = metadata.map(|m| {
            (m.args.iter())
                .map(|arg| {
                    json!({
                        "name": arg.name,
                        "type": arg.type_name,
                        "offset": arg.offset,
                        "bytes": arg.size,
                        "kind": arg.value_kind_name,
                        "address_space": arg.address_space,
                        "access": arg.actual_access.as_ref().or(arg.access.as_ref()),
                        "hidden": arg.value_kind.hidden(),
                    })
                })
                .collect()
        });
        put("arguments", json!(arguments));
        let mix = self.mix.list().into_iter();
        let mix: Map<String, Value> = mix.map(|(name, n)| (name.to_string(), n.into())).collect();
        put("instructions", mix.into());
        Value::Object(out)
    }

    fn text(&self, out: &mut String) {
        let metadata = self.kernel.metadata.as_ref();
        let (vgprs, sgprs) = self.used();
        let occupancy = &self.occupancy;
        let _ = writeln!(out, "\nkernel {}", self.kernel.name);
        if let Some(cpp) = crate::cpp::demangled(&self.kernel.name) {
            let _ = writeln!(out, "  {cpp}");
        }
        let _ = writeln!(
            out,
            "  code          {} bytes at {:#x}, {} instructions",
            self.code_bytes, self.kernel.entry, self.mix.total
        );
        let _ = writeln!(
            out,
            "  registers     {vgprs} VGPRs ({} allocated), {sgprs} SGPRs ({} allocated)",
            occupancy.vgprs, occupancy.sgprs
        );
        let spills = metadata.map_or((0, 0), |m| (m.vgpr_spill_count, m.sgpr_spill_count));
        if spills != (0, 0) {
            let _ = writeln!(
                out,
                "  spilled       {} VGPRs, {} SGPRs",
                spills.0, spills.1
            );
        }
        let _ = writeln!(
            out,
            "  memory        {} bytes of LDS, {} of scratch a work-item, {} of arguments",
            self.lds(),
            self.scratch(),
            self.kernarg()
        );
        let limit = match limited_by(occupancy) {
            "vgprs" => ", limited by VGPRs",
            "sgprs" => ", limited by SGPRs",
            "lds" => ", limited by LDS",
            "workgroups" => ", limited by the number of workgroups",
            _ => "",
        };
        let _ = writeln!(
            out,
            "  waves         {} of {MOST_WAVES} a SIMD{limit}",
            occupancy.waves()
        );
        if let Some(metadata) = metadata {
            let mut sizes = format!("at most {} work-items", metadata.max_flat_workgroup_size);
            if let Some([x, y, z]) = metadata.reqd_workgroup_size {
                let _ = write!(sizes, ", must be {x}x{y}x{z}");
            }
            if let Some([x, y, z]) = metadata.workgroup_size_hint {
                let _ = write!(sizes, ", hint {x}x{y}x{z}");
            }
            let _ = writeln!(out, "  workgroup     {sizes}");
        }
        let user: Vec<&str> = self.kernel.descriptor.user_sgprs().map(user_sgpr).collect();
        if !user.is_empty() {
            let _ = writeln!(out, "  user SGPRs    {}", user.join(", "));
        }
        let mix: Vec<String> = (self.mix.list().into_iter().skip(1))
            .filter(|(_, n)| *n != 0)
            .map(|(name, n)| format!("{name} {n}"))
            .collect();
        let _ = writeln!(out, "  mix           {}", mix.join(", "));
        let Some(metadata) = metadata.filter(|m| !m.args.is_empty()) else {
            return;
        };
        out.push_str("  arguments     offset  bytes  what\n");
        for (n, arg) in metadata.args.iter().enumerate() {
            let mut what = arg.value_kind_name.clone();
            for part in [
                &arg.address_space,
                arg.actual_access
                    .as_ref()
                    .map_or(&arg.access, |_| &arg.actual_access),
                &arg.type_name,
                &arg.name,
            ]
            .into_iter()
            .flatten()
            {
                what.push_str("  ");
                what.push_str(part);
            }
            let _ = writeln!(out, "  {n:>12}  {:>6}  {:>5}  {what}", arg.offset, arg.size);
        }
    }
}

fn feature(feature: Feature) -> &'static str {
    match feature {
        Feature::Unsupported => "unsupported",
        Feature::Any => "any",
        Feature::Off => "off",
        Feature::On => "on",
    }
}

/// The system that the object is for: the last words of the triple.
fn abi(object: &CodeObject) -> String {
    let id = object.target_id();
    let triple = id.split("--").next().unwrap_or("");
    triple.rsplit('-').next().unwrap_or("").to_string()
}

fn kind(object: &CodeObject) -> &'static str {
    match object.kind {
        FileKind::Loadable => "loadable",
        FileKind::Relocatable => "relocatable",
    }
}

fn section_flags(flags: u64) -> String {
    let letters = [(1, 'w'), (2, 'a'), (4, 'x'), (0x10, 'M'), (0x20, 'S')];
    let set = letters.iter().filter(|(bit, _)| flags & bit != 0);
    set.map(|(_, letter)| letter).collect()
}

fn user_sgpr(value: UserSgpr) -> &'static str {
    match value {
        UserSgpr::PrivateSegmentBuffer => "private_segment_buffer",
        UserSgpr::DispatchPtr => "dispatch_ptr",
        UserSgpr::QueuePtr => "queue_ptr",
        UserSgpr::KernargSegmentPtr => "kernarg_segment_ptr",
        UserSgpr::DispatchId => "dispatch_id",
        UserSgpr::FlatScratchInit => "flat_scratch_init",
        UserSgpr::PrivateSegmentSize => "private_segment_size",
    }
}

#[cfg(test)]
mod tests {
    use gcn_isa::Gen;
    use gcn_object::SectionFlags;

    use super::*;

    fn occupancy(
        generation: Gen,
        vgprs: u32,
        sgprs: u32,
        lds: u64,
        group: u64,
    ) -> (u32, &'static str) {
        let o = Occupancy::new(generation, vgprs, sgprs, lds, group, false);
        (o.waves(), limited_by(&o))
    }

    /// A section without bytes whose size is a damaged number.
    #[test]
    fn sizes_of_damaged_sections_are_not_added() {
        let file = include_bytes!("../../../testdata/kernels/vadd-gfx900.co");
        let mut object = CodeObject::parse(file).expect("a code object");
        let whole = Info::new(&object).expect("a target").code_bytes;
        assert!(whole > 0);
        let comment = object.section(".comment").expect("a section");
        let section = &mut object.sections[comment];
        section.kind = SectionKind(0);
        section.flags = SectionFlags::CODE;
        section.size = u64::MAX;
        section.file = 0..0;
        assert_eq!(Info::new(&object).expect("a target").code_bytes, whole);
    }

    /// VGPRs: 24 allow ten waves, 25 nine, 128 two, 129 one. SGPRs by the documents of each generation.
    #[test]
    fn waves_of_a_simd() {
        for (vgprs, waves) in [
            (0, 10),
            (24, 10),
            (25, 9),
            (28, 9),
            (32, 8),
            (84, 3),
            (85, 2),
            (128, 2),
            (129, 1),
            (256, 1),
        ] {
            let limit = if waves == 10 { "none" } else { "vgprs" };
            assert_eq!(
                occupancy(Gen::Gfx9, vgprs, 16, 0, 256),
                (waves, limit),
                "{vgprs} VGPRs"
            );
        }
        for (sgprs, old, new) in [
            (48, 10, 10),
            (56, 9, 10),
            (64, 8, 10),
            (72, 7, 10),
            (80, 6, 10),
            (96, 5, 8),
            (102, 4, 7),
        ] {
            assert_eq!(
                occupancy(Gen::Gfx7, 4, sgprs, 0, 256).0,
                old,
                "{sgprs} SGPRs"
            );
            assert_eq!(
                occupancy(Gen::Gfx8, 4, sgprs, 0, 256).0,
                new,
                "{sgprs} SGPRs"
            );
        }
        // Two workgroups of 32 KiB, four waves each, on four SIMDs.
        assert_eq!(occupancy(Gen::Gfx9, 4, 16, 32 << 10, 256), (2, "lds"));
        assert_eq!(occupancy(Gen::Gfx9, 4, 16, 64 << 10, 64), (1, "lds"));
        assert_eq!(occupancy(Gen::Gfx9, 4, 16, 1024, 64), (10, "none"));
    }

    #[test]
    fn instructions_by_class() {
        let target = Target::parse("gfx900").expect("a target");
        let code = gcn_asm::assemble_snippet(
            target,
            "v_rcp_f32 v0, v1\nv_add_f64 v[0:1], v[0:1], v[2:3]\nv_pk_add_f16 v0, v1, v2\n\
             v_mov_b32_dpp v0, v1 row_shr:1\ns_add_u32 s0, s0, s1\ns_load_dword s0, s[0:1], 0x0\n\
             global_load_dword v0, v[0:1], off\nds_read_b32 v0, v1\ns_waitcnt vmcnt(0)\ns_barrier\n\
             flat_load_dword v0, v[0:1]\nbuffer_load_dword v0, off, s[0:3], 0\ns_branch 0\n\
             v_add_f32 v0, v1, v2\ns_endpgm\n.long 0xffffffff",
            false,
        )
        .expect("it assembles");
        let mix = Counter::new(target).count(&code);
        let expected = Mix {
            total: 15,
            valu: 5,
            trans: 1,
            f64: 1,
            packed: 1,
            sdwa_dpp: 1,
            salu: 1,
            smem: 1,
            vmem: 2,
            flat: 1,
            lds: 1,
            branch: 1,
            wait: 1,
            barrier: 1,
            other: 1,
            unknown: 1,
            ..Mix::default()
        };
        assert_eq!(mix, expected);
    }
}
