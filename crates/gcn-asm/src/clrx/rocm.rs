//! CLRX's directives for ROCm sources. `.kernel` and `.config` with all settings become the `amd_kernel_code_t` in
//! front of each kernel and the metadata of code object v2, as docs/clrx.md describes. The other binary formats of CLRX
//! are refused.
//!
//! Settings, ranges and defaults are those of CLRX's "Assembler ROCm handling".

use super::Format;
use crate::Level;
use crate::asm::{Asm, FixKind, Fixup};
use crate::expr::{Expr, SymId, Variant};
use crate::insn::nearest;
use crate::lexer::{Span, Tok, Token};
use crate::parse::{Fail, Parser};
use crate::symbols::Def;
use gcn_object::kernel_code::{Field, KernelCode, SIZE};
use gcn_object::target::Version;
use gcn_object::{Binding, Metadata, SymbolKind, note};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// The effect of a config directive.
#[derive(Clone, Copy)]
enum Setting {
    /// Puts a number into a field of `amd_kernel_code_t`.
    Number(&'static str),
    /// Puts a size or alignment into a field that holds its power of two; with the minimum and the maximum.
    Power(&'static str, u64, u64),
    /// Takes no argument and sets the field's one bit.
    Bit(&'static str),
    /// A number for the metadata.
    Told(&'static str),
    /// One to three numbers for the metadata.
    Sizes(&'static str),
    /// A string for the metadata.
    Text(&'static str),
    /// A register count, or a part of the words that are computed from such counts; with its maximum.
    Count(&'static str, i64),
    Dims,
    Groups,
    CodeVersion,
    Machine,
    Reserved(&'static str),
    Defaults,
    Language,
    Arg,
    Printf,
}

use Setting::*;

/// Every directive of a `.config`.
#[rustfmt::skip]
static SETTINGS: &[(&str, Setting)] = &[
    (".arg", Arg),
    (".call_convention", Number("call_convention")),
    (".codeversion", CodeVersion),
    (".cws", Sizes("ReqdWorkGroupSize")),
    (".reqd_work_group_size", Sizes("ReqdWorkGroupSize")),
    (".work_group_size_hint", Sizes("WorkGroupSizeHint")),
    (".fixed_work_group_size", Sizes("FixedWorkGroupSize")),
    (".max_flat_work_group_size", Told("MaxFlatWorkGroupSize")),
    (".vectypehint", Text("VecTypeHint")),
    (".runtime_handle", Text("RuntimeHandle")),
    (".md_symname", Text("SymbolName")),
    (".md_language", Language),
    (".md_kernarg_segment_align", Told("KernargSegmentAlign")),
    (".md_kernarg_segment_size", Told("KernargSegmentSize")),
    (".md_group_segment_fixed_size", Told("GroupSegmentFixedSize")),
    (".md_private_segment_fixed_size", Told("PrivateSegmentFixedSize")),
    (".md_sgprsnum", Told("NumSGPRs")),
    (".md_vgprsnum", Told("NumVGPRs")),
    (".md_wavefront_size", Told("WavefrontSize")),
    (".spilledsgprs", Told("NumSpilledSGPRs")),
    (".spilledvgprs", Told("NumSpilledVGPRs")),
    (".printf", Printf),
    (".debug_private_segment_buffer_sgpr", Number("debug_private_segment_buffer_sgpr")),
    (".debug_wavefront_private_segment_offset_sgpr", Number("debug_wavefront_private_segment_offset_sgpr")),
    (".debugmode", Bit("debug_mode")),
    (".default_hsa_features", Defaults),
    (".dims", Dims),
    (".dx10clamp", Bit("enable_dx10_clamp")),
    (".exceptions", Number("enable_exception")),
    (".floatmode", Number("float_mode")),
    (".gds_segment_size", Number("gds_segment_byte_size")),
    (".group_segment_align", Power("group_segment_alignment", 16, 1 << 63)),
    (".ieeemode", Bit("enable_ieee_mode")),
    (".kernarg_segment_align", Power("kernarg_segment_alignment", 16, 1 << 63)),
    (".kernarg_segment_size", Number("kernarg_segment_byte_size")),
    (".kernel_code_entry_offset", Number("kernel_code_entry_byte_offset")),
    (".kernel_code_prefetch_offset", Number("kernel_code_prefetch_byte_offset")),
    (".kernel_code_prefetch_size", Number("kernel_code_prefetch_byte_size")),
    (".localsize", Number("workgroup_group_segment_byte_size")),
    (".workgroup_group_segment_size", Number("workgroup_group_segment_byte_size")),
    (".machine", Machine),
    (".max_scratch_backing_memory", Number("max_scratch_backing_memory_byte_size")),
    (".pgmrsrc1", Count("rsrc1", u32::MAX as i64)),
    (".pgmrsrc2", Count("rsrc2", u32::MAX as i64)),
    (".priority", Number("priority")),
    (".private_elem_size", Power("private_element_size", 2, 16)),
    (".private_segment_align", Power("private_segment_alignment", 16, 1 << 63)),
    (".privmode", Bit("priv")),
    (".reserved_sgprs", Reserved("reserved_sgpr")),
    (".reserved_vgprs", Reserved("reserved_vgpr")),
    (".runtime_loader_kernel_symbol", Number("runtime_loader_kernel_symbol")),
    (".scratchbuffer", Number("workitem_private_segment_byte_size")),
    (".workitem_private_segment_size", Number("workitem_private_segment_byte_size")),
    (".sgprsnum", Count("sgprs", 104)),
    (".vgprsnum", Count("vgprs", 256)),
    (".userdatanum", Count("userdata", 16)),
    (".tgsize", Bit("enable_sgpr_workgroup_info")),
    (".use_debug_enabled", Bit("is_debug_enabled")),
    (".use_dispatch_id", Bit("enable_sgpr_dispatch_id")),
    (".use_dispatch_ptr", Bit("enable_sgpr_dispatch_ptr")),
    (".use_dynamic_call_stack", Bit("is_dynamic_callstack")),
    (".use_flat_scratch_init", Bit("enable_sgpr_flat_scratch_init")),
    (".use_grid_workgroup_count", Groups),
    (".use_kernarg_segment_ptr", Bit("enable_sgpr_kernarg_segment_ptr")),
    (".use_ordered_append_gds", Bit("enable_ordered_append_gds")),
    (".use_private_segment_buffer", Bit("enable_sgpr_private_segment_buffer")),
    (".use_private_segment_size", Bit("enable_sgpr_private_segment_size")),
    (".use_ptr64", Bit("is_ptr64")),
    (".use_queue_ptr", Bit("enable_sgpr_queue_ptr")),
    (".use_xnack_enabled", Bit("is_xnack_enabled")),
    (".wavefront_sgpr_count", Number("wavefront_sgpr_count")),
    (".workitem_vgpr_count", Number("workitem_vgpr_count")),
    (".wavefront_size", Power("wavefront_size", 64, 64)),
    (".workgroup_fbarrier_count", Number("workgroup_fbarrier_count")),
];

/// Directives of ROCm sources outside `.config`.
static OTHERS: &[&str] = &[
    ".rocm",
    ".kernel",
    ".config",
    ".control_directive",
    ".fkernel",
    ".kcode",
    ".kcodeend",
    ".globaldata",
    ".metadata",
    ".gotsym",
    ".arch_minor",
    ".arch_stepping",
    ".eflags",
    ".newbinfmt",
    ".md_version",
    ".target",
    ".tripple",
    ".nosectdiffs",
];

/// CLRX's other binary formats, with their vendors or drivers.
static FORMATS: &[(&str, Format, &str)] = &[
    (".amd", Format::Amd, "the Catalyst driver's OpenCL 1.2"),
    (".catalyst", Format::Amd, "the Catalyst driver's OpenCL 1.2"),
    (
        ".amdcl2",
        Format::AmdCl2,
        "the Catalyst driver's OpenCL 2.0",
    ),
    (".gallium", Format::Gallium, "Mesa's Gallium"),
];

/// The directives that only these formats have. With `--raw`, which writes only the code, they are ignored.
#[rustfmt::skip]
static FOREIGN: &[&str] = &[
    ".acl_version", ".args", ".boolconsts", ".bssdata", ".calnote", ".cbid", ".cbmask", ".compile_options", ".condout",
    ".constantbuffers", ".driver_info", ".earlyexit", ".entry", ".floatconsts", ".gdssize", ".globalbuffers", ".header",
    ".hsaconfig", ".hwlocal", ".hwregion", ".inputs", ".inputsamplers", ".intconsts", ".isametadata", ".outputs",
    ".persistentbuffers", ".printfid", ".privateid", ".proginfo", ".rwdata", ".sampler", ".samplerinit", ".samplerreloc",
    ".scratchbuffers", ".segment", ".setup", ".setupargs", ".stub", ".subconstantbuffers", ".uav", ".uavid",
    ".uavmailboxsize", ".uavopmask", ".uavprivate", ".useargs", ".useconstdata", ".useenqueue", ".usegeneric",
    ".useprintf", ".userdata", ".usesetup",
    ".hsa_debugmode", ".hsa_dims", ".hsa_dx10clamp", ".hsa_exceptions", ".hsa_floatmode", ".hsa_ieeemode",
    ".hsa_localsize", ".hsa_pgmrsrc1", ".hsa_pgmrsrc2", ".hsa_priority", ".hsa_privmode", ".hsa_scratchbuffer",
    ".hsa_sgprsnum", ".hsa_tgsize", ".hsa_userdatanum", ".hsa_vgprsnum", ".hsalayout", ".inner", ".scratchsym",
    ".usesizes",
];

/// The directives of these formats after which bytes do not belong to the code.
static FOREIGN_PARTS: &[&str] = &[
    ".bssdata",
    ".calnote",
    ".globaldata",
    ".header",
    ".isametadata",
    ".metadata",
    ".rwdata",
    ".setup",
    ".stub",
    ".samplerinit",
    ".control_directive",
];

/// Directives that emit bytes and are therefore allowed in a `.control_directive`.
static DATA: &[&str] = &[
    ".byte", ".short", ".half", ".hword", ".int", ".long", ".word", ".quad", ".octa", ".fill",
    ".skip", ".space", ".zero", ".ascii", ".asciz", ".string", ".float", ".double", ".single",
    ".p2align", ".align", ".balign", ".set", ".equ", ".eqv", ".2byte", ".4byte", ".8byte",
];

/// The part of the source that statements belong to.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Part {
    #[default]
    Sections,
    Config,
    /// Bytes at this section and offset belong to the control directive.
    Control(u32, u64),
    /// Bytes at this section and offset belong to the metadata.
    Metadata(u32, u64),
}

/// A kernel of a ROCm source.
struct RocmKernel {
    name: String,
    id: SymId,
    span: Span,
    /// True if it is a function to the loader.
    function: bool,
    config: Option<Config>,
    told: Told,
    /// One more than the highest VGPR and SGPR of its code; true if the code names FLAT_SCRATCH and XNACK_MASK.
    used: [u32; 2],
    special: [bool; 2],
}

/// The settings of a `.config` for the `amd_kernel_code_t`.
struct Config {
    code: KernelCode,
    /// Fields that were set.
    set: Vec<&'static str>,
    counts: HashMap<&'static str, u32>,
    /// The dimensions of group ids, and those of local ids three bits above.
    dims: Option<u32>,
    control: Option<[u8; SIZE - 128]>,
}

/// The settings of a `.config` for the metadata: YAML values by key.
#[derive(Default)]
struct Told {
    values: BTreeMap<&'static str, String>,
    args: Vec<Vec<(&'static str, String)>>,
    any: bool,
}

/// The settings of a ROCm source.
#[derive(Default)]
pub(crate) struct Rocm {
    pub(crate) on: bool,
    location: Part,
    kernels: Vec<RocmKernel>,
    by_symbol: HashMap<SymId, usize>,
    /// The kernel whose configuration is open.
    open: Option<usize>,
    /// The kernels that the code belongs to, by label and by `.kcode`.
    owners: Vec<usize>,
    kcode: Vec<Vec<usize>>,
    arch: [Option<u32>; 2],
    pub(crate) flags: Option<u32>,
    new_format: bool,
    version: Option<[u32; 2]>,
    printf: Vec<String>,
    /// The name in the ISA note.
    target: Option<String>,
    triple: Option<String>,
    metadata: Option<String>,
}

/// Returns every directive of ROCm sources.
pub(crate) fn directives() -> impl Iterator<Item = &'static str> {
    let settings = SETTINGS.iter().map(|(n, _)| *n);
    settings.chain(OTHERS.iter().copied())
}

/// Returns true if a directive belongs to one of CLRX's formats.
pub(crate) fn is_directive(name: &str) -> bool {
    OTHERS.contains(&name)
        || FORMATS.iter().any(|(n, ..)| *n == name)
        || FOREIGN.contains(&name)
        || SETTINGS.iter().any(|(n, _)| *n == name)
}

const FORMATS_HELP: &str =
    "gcn writes .rocm (code object v2) for such kernels, and --raw writes their code alone";

impl<'s> Asm<'s, '_> {
    /// Ends a `.control_directive` at the first directive that emits no bytes.
    pub(crate) fn leave_control(&mut self, name: &str) -> Result<(), Fail> {
        if [
            ".text",
            ".data",
            ".bss",
            ".rodata",
            ".section",
            ".pushsection",
        ]
        .contains(&name)
        {
            self.leave_config();
        }
        let (Part::Control(section, start) | Part::Metadata(section, start)) = self.rocm.location
        else {
            return Ok(());
        };
        if DATA.contains(&name) {
            return Ok(());
        }
        let location = std::mem::take(&mut self.rocm.location);
        let from = &mut self.sections[section as usize];
        let bytes = from.data.split_off((start as usize).min(from.data.len()));
        from.size = start;
        let waits = |f: &Fixup| f.section == section && f.offset >= start;
        if let Some(waiting) = self.fixups.iter().find(|f| waits(f)) {
            let span = waiting.span;
            self.fixups.retain(|f| !waits(f));
            return Err(Fail::new(span, "expected a number that is known here"));
        }
        if matches!(location, Part::Metadata(..)) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            self.rocm.metadata = Some(text.trim_end_matches('\0').to_string());
            return Ok(());
        }
        let kernel = self.rocm.open.and_then(|n| self.rocm.kernels.get_mut(n));
        let Some(kernel) = kernel else {
            return Ok(());
        };
        let span = kernel.span;
        let bytes = <[u8; SIZE - 128]>::try_from(bytes).map_err(|bytes| {
            let message = format!(
                "expected 128 bytes of .control_directive, found {}",
                bytes.len()
            );
            Fail::new(span, message)
        })?;
        if let Some(config) = &mut kernel.config {
            config.control = Some(bytes);
        }
        Ok(())
    }

    pub(crate) fn clrx_directive(&mut self, tokens: &[Token], name: &str) -> Result<(), Fail> {
        let span = tokens[0].span;
        if let Some((_, format, _)) = FORMATS.iter().find(|(n, ..)| *n == name) {
            self.parse(tokens, |p| p.end())?;
            return self.set_format(*format, span);
        }
        if self.clrx_state.has_foreign_loader() {
            return self.foreign(name, span);
        }
        if FOREIGN.contains(&name) {
            let message = format!("{name} belongs to another binary format of CLRX's");
            return Err(Fail::new(span, message).help(FORMATS_HELP));
        }
        if name == ".rocm" {
            self.parse(tokens, |p| p.end())?;
            return self.set_format(Format::Rocm, span);
        }
        if !self.rocm.on {
            let message = format!("expected .rocm before {name}");
            return Err(Fail::new(span, message)
                .help("CLRX's directives for kernels belong to its binary formats"));
        }
        if let Some((_, setting)) = SETTINGS.iter().find(|(n, _)| *n == name) {
            return self.setting(tokens, name, *setting);
        }
        match name {
            ".kernel" => {
                let (id, at) = self.parse(tokens, |p| {
                    let at = p.span();
                    let id = p.symbol_name()?;
                    p.end()?;
                    Ok((id, at))
                })?;
                self.open_kernel(id, at);
                Ok(())
            }
            ".config" | ".control_directive" | ".fkernel" => {
                self.parse(tokens, |p| p.end())?;
                let machine = self.id().map(|id| id.machine);
                let Some(kernel) = self.rocm.open.and_then(|n| self.rocm.kernels.get_mut(n)) else {
                    return Err(Fail::new(span, format!("expected .kernel before {name}")));
                };
                if name == ".fkernel" {
                    kernel.function = true;
                    return Ok(());
                }
                let Some(machine) = machine else {
                    return Err(Fail::new(
                        span,
                        "the target is not known: expected .gpu or .arch before",
                    ));
                };
                kernel.config.get_or_insert_with(|| Config {
                    code: KernelCode::new(machine),
                    set: Vec::new(),
                    counts: HashMap::new(),
                    dims: None,
                    control: None,
                });
                let (section, offset) = self.location();
                self.rocm.location = match name {
                    ".config" => Part::Config,
                    _ => Part::Control(section, offset),
                };
                Ok(())
            }
            ".kcode" => self.kcode(tokens),
            ".kcodeend" => {
                self.parse(tokens, |p| p.end())?;
                if self.rocm.kcode.pop().is_none() {
                    return Err(Fail::new(span, "expected .kcode before .kcodeend"));
                }
                Ok(())
            }
            ".globaldata" => {
                self.parse(tokens, |p| p.end())?;
                self.leave_config();
                let section = self.named_section(".rodata", None, span)?;
                self.switch(section);
                Ok(())
            }
            ".metadata" => {
                self.parse(tokens, |p| p.end())?;
                let (section, offset) = self.location();
                self.rocm.location = Part::Metadata(section, offset);
                Ok(())
            }
            ".gotsym" => self.gotsym(tokens),
            ".arch_minor" | ".arch_stepping" | ".eflags" => {
                let value = self.parse(tokens, |p| {
                    let value = number(p, 0, u32::MAX.into())?;
                    p.end()?;
                    Ok(value as u32)
                })?;
                match name {
                    ".arch_minor" => self.rocm.arch[0] = Some(value),
                    ".arch_stepping" => self.rocm.arch[1] = Some(value),
                    _ => self.rocm.flags = Some(value),
                }
                Ok(())
            }
            ".newbinfmt" => {
                self.parse(tokens, |p| p.end())?;
                self.rocm.new_format = true;
                Ok(())
            }
            ".md_version" => {
                let version = self.parse(tokens, |p| {
                    let major = number(p, 0, u32::MAX.into())? as u32;
                    p.expect(b',')?;
                    let minor = number(p, 0, u32::MAX.into())? as u32;
                    p.end()?;
                    Ok([major, minor])
                })?;
                self.rocm.version = Some(version);
                Ok(())
            }
            ".target" | ".tripple" => {
                let text = self.parse(tokens, |p| p.one_string())?;
                let text = String::from_utf8_lossy(&text).into_owned();
                match name {
                    ".target" => self.rocm.target = Some(text),
                    _ => self.rocm.triple = Some(text),
                }
                Ok(())
            }
            _ => Err(Fail::new(
                span,
                format!("{name} is not what gcn does: sections are placed by the linker"),
            )
            .help("distances between sections (SYMBOL - .) are resolved")),
        }
    }

    /// Handles a directive of a binary format that gcn does not write. It is ignored if only the code is requested.
    fn foreign(&mut self, name: &str, span: Span) -> Result<(), Fail> {
        match name {
            ".kernel" => {
                self.switch(0);
                Ok(())
            }
            _ if FOREIGN_PARTS.contains(&name) => {
                let section = self.named_section(".rodata", None, span)?;
                self.switch(section);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Reports that a binary format cannot be written, unless only the code is requested.
    pub(crate) fn check_format(&self, format: Format, span: Span) -> Result<(), Fail> {
        let foreign = FORMATS.iter().find(|(_, f, _)| *f == format);
        match foreign {
            Some((_, _, whose)) if !self.options.text_only => {
                let message = format!("this binary format, {whose}, is not written by gcn");
                Err(Fail::new(span, message).help(FORMATS_HELP))
            }
            _ => Ok(()),
        }
    }

    /// Starts a source of the ROCm format.
    pub(crate) fn start_rocm(&mut self) {
        self.rocm.on = true;
        // Kernels begin at multiples of 256 bytes, which the loader relies on.
        self.sections[0].align = self.sections[0].align.max(256);
        if self.version.is_none() {
            self.version = Some(Version::V2);
        }
    }

    /// `.main`: closes the configuration of the current kernel.
    pub(crate) fn leave_kernel(&mut self) {
        self.leave_config();
        self.rocm.open = None;
    }

    /// A section's directive or a label ends a configuration.
    pub(crate) fn leave_config(&mut self) {
        if self.rocm.location == Part::Config {
            self.rocm.location = Part::Sections;
        }
    }

    fn open_kernel(&mut self, id: SymId, span: Span) {
        let count = self.rocm.kernels.len();
        let n = *self.rocm.by_symbol.entry(id).or_insert(count);
        if n == count {
            self.rocm.kernels.push(RocmKernel {
                name: self.sym.name(id).to_string(),
                id,
                span,
                function: false,
                config: None,
                told: Told::default(),
                used: [0; 2],
                special: [false; 2],
            });
        }
        self.rocm.open = Some(n);
        self.rocm.location = Part::Sections;
    }

    /// Handles a label: from a kernel's label on, code belongs to the kernel.
    pub(crate) fn rocm_label(&mut self, id: SymId) {
        if !self.rocm.on {
            return;
        }
        self.leave_config();
        if let Some(&n) = self.rocm.by_symbol.get(&id) {
            self.rocm.owners = vec![n];
        }
    }

    /// Counts an instruction's registers for the kernels that it belongs to.
    pub(crate) fn rocm_registers(&mut self, used: [u32; 2], tokens: &[Token]) {
        if !self.rocm.on {
            return;
        }
        let mut special = [false; 2];
        for token in tokens.iter().filter(|t| t.tok == Tok::Ident) {
            let name = self.text(token.span).to_ascii_lowercase();
            special[0] |= name.starts_with("flat_scratch");
            special[1] |= name.starts_with("xnack_mask");
        }
        let rocm = &mut self.rocm;
        for &n in rocm.kcode.last().unwrap_or(&rocm.owners) {
            if let Some(kernel) = rocm.kernels.get_mut(n) {
                kernel.used = [0, 1].map(|i| kernel.used[i].max(used[i]));
                kernel.special = [0, 1].map(|i| kernel.special[i] || special[i]);
            }
        }
    }

    /// `.kcode KERNEL, -KERNEL, …` or `.kcode +`: selects the kernels that the code up to `.kcodeend` belongs to.
    fn kcode(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let span = tokens[0].span;
        let list = self.parse(tokens, |p| {
            let mut list = Vec::new();
            loop {
                let at = p.span();
                let minus = p.eat(b'-');
                let plus = !minus && p.eat(b'+');
                if plus && p.at_end() {
                    list.push((None, true, at));
                    break;
                }
                list.push((Some(p.symbol_name()?), !minus, at));
                if !p.eat(b',') {
                    break;
                }
            }
            p.end()?;
            Ok(list)
        })?;
        if self.rocm.kcode.len() >= 1000 {
            return Err(Fail::new(span, "expected fewer .kcode in each other"));
        }
        let mut owners = self.rocm.kcode.last().cloned().unwrap_or_default();
        for (id, with, at) in list {
            let Some(id) = id else {
                owners = (0..self.rocm.kernels.len()).collect();
                continue;
            };
            let Some(&n) = self.rocm.by_symbol.get(&id) else {
                return Err(Fail::new(at, "expected a kernel that .kernel named before"));
            };
            owners.retain(|&o| o != n);
            if with {
                owners.push(n);
            }
        }
        self.rocm.kcode.push(owners);
        Ok(())
    }

    /// `.gotsym SYMBOL[, ENTRY]`: eight bytes that hold the symbol's address, with a name.
    fn gotsym(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let span = tokens[0].span;
        let (symbol, entry) = self.parse(tokens, |p| {
            let symbol = p.symbol_name()?;
            let entry = match p.eat(b',') {
                true => Some(p.symbol_name()?),
                false => None,
            };
            p.end()?;
            Ok((symbol, entry))
        })?;
        let here = (self.current, self.previous);
        // The linker creates its own table; this one is written to the section of such tables.
        self.current = self.named_section(".data.rel.ro", None, span)?;
        let section = &mut self.sections[self.current as usize];
        section.align = section.align.max(8);
        let done = match entry {
            Some(entry) => self.define_label(entry, span),
            None => Ok(()),
        }
        .and_then(|()| self.address(symbol, span));
        (self.current, self.previous) = here;
        done
    }

    /// Emits eight bytes that hold a symbol's address.
    fn address(&mut self, symbol: SymId, span: Span) -> Result<(), Fail> {
        let gap = self.location().1.next_multiple_of(8) - self.location().1;
        self.emit_repeated(span, gap, &[0])?;
        let (section, offset) = self.location();
        self.emit(span, &[0; 8])?;
        self.fixups.push(Fixup {
            section,
            offset,
            kind: FixKind::Data(8),
            expr: Expr::Sym(symbol, Variant::None),
            span,
        });
        Ok(())
    }

    fn setting(&mut self, tokens: &[Token], name: &str, setting: Setting) -> Result<(), Fail> {
        let span = tokens[0].span;
        let open = self
            .rocm
            .open
            .filter(|_| self.rocm.location == Part::Config);
        let Some(n) = open else {
            let fail = Fail::new(span, format!("expected .config before {name}"));
            return Err(fail.help("settings stand in a kernel's .config"));
        };
        let most_sgprs = match self.id() {
            Some(id) if id.machine.generation >= 8 => 102,
            _ => 104,
        };
        let mut given = Given::default();
        self.parse(tokens, |p| {
            given.read(p, setting, most_sgprs)?;
            p.end()
        })?;
        let Given {
            told,
            fields,
            count,
            dims,
            arg,
            printf,
        } = given;
        let rocm = &mut self.rocm;
        if let Some((id, text)) = printf {
            let id = id.unwrap_or(rocm.printf.len() as u32 + 1);
            rocm.printf.push(format!("{id}:{text}"));
        }
        let Some(kernel) = rocm.kernels.get_mut(n) else {
            return Ok(());
        };
        kernel.told.any |= !told.is_empty() || arg.is_some();
        kernel.told.values.extend(told);
        kernel.told.args.extend(arg);
        if let Some(config) = &mut kernel.config {
            for (field, value) in fields {
                config.code.put(field, value);
                config.set.push(field);
            }
            config.counts.extend(count);
            config.dims = dims.or(config.dims);
        }
        Ok(())
    }

    /// Writes the configurations in front of their kernels, and the notes. All text must have been read.
    pub(crate) fn finish_rocm(&mut self) {
        if !self.rocm.on {
            return;
        }
        if let Err(fail) = self.leave_control("") {
            self.fail(fail);
        }
        let rocm = std::mem::take(&mut self.rocm);
        self.rocm.flags = rocm.flags;
        let Some(id) = self.id() else {
            return;
        };
        let mut starts: Vec<u64> = Vec::new();
        for kernel in &rocm.kernels {
            match self.sym.get(kernel.id).def {
                Def::Label(0, offset) => starts.push(offset),
                _ => {
                    let message = format!("kernel '{}' has no label in .text", kernel.name);
                    self.message(Level::Error, kernel.span, message, None);
                }
            }
        }
        starts.push(self.sections[0].size);
        starts.sort_unstable();
        let mut yaml = Vec::new();
        for kernel in &rocm.kernels {
            let Def::Label(0, start) = self.sym.get(kernel.id).def else {
                continue;
            };
            let next = starts.partition_point(|s| *s <= start);
            let end = starts.get(next).copied().unwrap_or(start);
            let symbol = self.sym.get_mut(kernel.id);
            symbol.kind = if kernel.function {
                SymbolKind::Func
            } else {
                SymbolKind::HSA_KERNEL
            };
            symbol.binding.get_or_insert(Binding::Global);
            if symbol.size.is_none() {
                symbol.size = Some(Expr::Const((end - start) as i64));
            }
            let mut code = None;
            if let Some(config) = &kernel.config {
                let bytes = complete(kernel, config, &rocm, id.machine.generation);
                let bytes = match bytes {
                    Ok(bytes) => bytes,
                    Err(message) => {
                        self.message(Level::Error, kernel.span, message, None);
                        continue;
                    }
                };
                let at = start as usize;
                match self.sections[0].data.get_mut(at..at + SIZE) {
                    Some(location) if end - start >= SIZE as u64 => {
                        location.copy_from_slice(&bytes.to_bytes());
                    }
                    _ => {
                        let message =
                            format!("kernel '{}' has no room for its configuration", kernel.name);
                        let help = "`.skip 256` after its label makes it".to_string();
                        self.message(Level::Error, kernel.span, message, Some(help));
                    }
                }
                code = Some(bytes);
            }
            if kernel.told.any {
                yaml.push(kernel.told.yaml(&kernel.name, code.as_ref()));
            }
        }
        self.rocm_notes(&rocm, &yaml);
    }

    fn rocm_notes(&mut self, rocm: &Rocm, kernels: &[String]) {
        let Some(id) = self.id() else {
            return;
        };
        let known = self.sections.iter().any(|s| s.name == ".note");
        let (major, minor, stepping) = id.machine.isa();
        let numbers = [
            major,
            rocm.arch[0].unwrap_or(minor),
            rocm.arch[1].unwrap_or(stepping),
        ];
        if !known {
            let version = [2, u32::from(rocm.new_format)];
            self.note(
                "AMD",
                note::VERSION,
                version.map(u32::to_le_bytes).as_flattened(),
            );
            let isa = note::Isa {
                vendor: b"AMD",
                architecture: b"AMDGPU",
                version: numbers,
            };
            if let Some(isa) = isa.to_bytes() {
                self.note("AMD", note::ISA, &isa);
            }
        }
        let name = rocm.target.clone().or_else(|| {
            let triple = rocm.triple.as_ref()?;
            Some(format!("{triple}-{}", id.machine.name))
        });
        if let Some(name) = name {
            self.note("AMD", note::ISA_NAME, name.as_bytes());
        }
        let text = match &rocm.metadata {
            Some(text) => text.clone(),
            None if kernels.is_empty() && rocm.printf.is_empty() && rocm.version.is_none() => {
                return;
            }
            None => {
                let [major, minor] = rocm.version.unwrap_or([1, 0]);
                let mut text = format!("---\nVersion:         [ {major}, {minor} ]\n");
                if !rocm.printf.is_empty() {
                    text.push_str("Printf:\n");
                    for line in &rocm.printf {
                        let _ = writeln!(text, "  - {}", quoted(line.as_bytes()));
                    }
                }
                if !kernels.is_empty() {
                    text.push_str("Kernels:\n");
                    text.extend(kernels.iter().map(String::as_str));
                }
                text + "...\n"
            }
        };
        if let Err(error) = Metadata::from_v2(&text) {
            let message = format!("the settings give no metadata: {error}");
            self.message(Level::Error, Span::default(), message, None);
        }
        self.note("AMD", note::METADATA, text.as_bytes());
    }
}

/// Returns the whole `amd_kernel_code_t`: the settings, and the rest by CLRX's rules.
fn complete(
    kernel: &RocmKernel,
    config: &Config,
    rocm: &Rocm,
    generation: u8,
) -> Result<KernelCode, String> {
    let mut code = config.code.clone();
    let set = |name: &str| config.set.contains(&name);
    let on = |name: &str| config.code.named(name) != 0;
    let count = |name: &str| config.counts.get(name).copied();
    if !set("amd_code_version_minor") {
        code.put("amd_code_version_minor", u64::from(rocm.new_format));
    }
    if !set("amd_machine_kind") {
        for (field, value) in [
            ("amd_machine_version_minor", rocm.arch[0]),
            ("amd_machine_version_stepping", rocm.arch[1]),
        ] {
            if let Some(value) = value {
                code.put(field, value.into());
            }
        }
    }
    if !set("float_mode") {
        code.put("float_mode", 0xc0);
    }
    let taken = [
        ("enable_sgpr_private_segment_buffer", 4),
        ("enable_sgpr_dispatch_ptr", 2),
        ("enable_sgpr_queue_ptr", 2),
        ("enable_sgpr_kernarg_segment_ptr", 2),
        ("enable_sgpr_dispatch_id", 2),
        ("enable_sgpr_flat_scratch_init", 2),
        ("enable_sgpr_private_segment_size", 1),
        ("enable_sgpr_grid_workgroup_count_x", 1),
        ("enable_sgpr_grid_workgroup_count_y", 1),
        ("enable_sgpr_grid_workgroup_count_z", 1),
    ];
    let taken: u32 = taken.iter().filter(|(f, _)| on(f)).map(|(_, n)| n).sum();
    let user = count("userdata").unwrap_or(taken.min(16));
    let scratch = on("workitem_private_segment_byte_size");
    let rsrc2 = count("rsrc2").unwrap_or(0);
    // Bits 7 to 9 are group ids, 11 and 12 the highest local id.
    let dim_bits = match config.dims {
        Some(dims) => {
            let local = (dims >> 3 & 7) as u8;
            (dims & 7) << 7 | (u32::from(local > 1) + u32::from(local > 3)) << 11
        }
        None => rsrc2 & 0x1b80,
    };
    let groups = (dim_bits >> 7 & 7).count_ones();
    let least_sgprs =
        user + groups + u32::from(on("enable_sgpr_workgroup_info")) + u32::from(scratch);
    let least_vgprs = (dim_bits >> 11 & 3) + 1;
    let flat = on("enable_sgpr_flat_scratch_init") || kernel.special[0];
    let xnack = on("is_xnack_enabled") || kernel.special[1];
    let extra = match generation {
        6 => 2,
        7 if flat => 4,
        7 => 2,
        _ if flat => 6,
        _ if xnack => 4,
        _ => 2,
    };
    let most = if generation >= 8 { 102 } else { 104 };
    let sgprs = count("sgprs").unwrap_or(most.min(least_sgprs.max(kernel.used[1]) + extra));
    let vgprs = count("vgprs").unwrap_or(least_vgprs.max(kernel.used[0]));
    let (sgprs, vgprs) = (sgprs.max(1), vgprs.max(1));
    if vgprs > 256 {
        return Err(format!(
            "kernel '{}' uses {vgprs} VGPRs, and there are 256",
            kernel.name
        ));
    }
    // The settings are combined with the value of .pgmrsrc1.
    let rsrc1 = count("rsrc1").unwrap_or(0) | code.compute_pgm_rsrc1();
    let rsrc1 = rsrc1 | ((vgprs - 1) / 4) | (((sgprs - 1) / 8) << 6);
    let lds_granule = if generation == 6 { 256 } else { 512 };
    let lds = match rocm.new_format {
        true => 0,
        false => (code.named("workgroup_group_segment_byte_size") as u32).div_ceil(lds_granule),
    };
    let rsrc2 = rsrc2 & 0xffff_e440
        | code.compute_pgm_rsrc2()
        | u32::from(scratch)
        | user << 1
        | dim_bits
        | lds << 15;
    code.set_compute_pgm_rsrc(rsrc1, rsrc2);
    for (field, value) in [
        ("wavefront_sgpr_count", sgprs),
        ("workitem_vgpr_count", vgprs),
    ] {
        if !set(field) {
            code.put(field, value.into());
        }
    }
    if !set("kernarg_segment_byte_size") {
        code.put("kernarg_segment_byte_size", kernel.told.kernarg_size());
    }
    if let Some(control) = config.control {
        code.set_control_directives(control);
    }
    Ok(code)
}

impl Told {
    /// Returns the size of the arguments in bytes, each at a multiple of its alignment.
    fn kernarg_size(&self) -> u64 {
        self.args.iter().fold(0, |at: u64, arg| {
            let of = |key| {
                let value = arg.iter().find(|(k, _)| *k == key);
                value.and_then(|(_, v)| v.parse::<u64>().ok())
            };
            let size = of("Size").unwrap_or(0);
            let align = of("Align").unwrap_or(1).max(1);
            at.next_multiple_of(align).saturating_add(size)
        })
    }

    /// Returns the kernel's part of the metadata.
    fn yaml(&self, name: &str, code: Option<&KernelCode>) -> String {
        let mut out = String::new();
        let mut first = true;
        let mut line = |out: &mut String, indent: &str, key: &str, value: &str| {
            let dash = if std::mem::take(&mut first) {
                "  - "
            } else {
                "    "
            };
            let text = format!("{dash}{indent}{:<16} {value}", format!("{key}:"));
            let _ = writeln!(out, "{}", text.trim_end());
        };
        line(&mut out, "", "Name", &quoted(name.as_bytes()));
        let symbol = quoted(format!("{name}@kd").as_bytes());
        let given = |key: &str| self.values.get(key).cloned();
        line(
            &mut out,
            "",
            "SymbolName",
            &given("SymbolName").unwrap_or(symbol),
        );
        for key in ["Language", "LanguageVersion"] {
            if let Some(value) = given(key) {
                line(&mut out, "", key, &value);
            }
        }
        let attributes = [
            "ReqdWorkGroupSize",
            "WorkGroupSizeHint",
            "VecTypeHint",
            "RuntimeHandle",
        ];
        if attributes.iter().any(|k| self.values.contains_key(k)) {
            line(&mut out, "", "Attrs", "");
            for key in attributes {
                if let Some(value) = given(key) {
                    line(&mut out, "  ", key, &value);
                }
            }
        }
        if !self.args.is_empty() {
            line(&mut out, "", "Args", "");
            for arg in &self.args {
                for (n, (key, value)) in arg.iter().enumerate() {
                    line(&mut out, if n == 0 { "  - " } else { "    " }, key, value);
                }
            }
        }
        let field = |name: &str| code.map(|c| c.named(name));
        let defaults = [
            ("KernargSegmentSize", field("kernarg_segment_byte_size")),
            (
                "GroupSegmentFixedSize",
                field("workgroup_group_segment_byte_size"),
            ),
            (
                "PrivateSegmentFixedSize",
                field("workitem_private_segment_byte_size"),
            ),
            (
                "KernargSegmentAlign",
                field("kernarg_segment_alignment").map(|p| 1 << p.min(63)),
            ),
            (
                "WavefrontSize",
                field("wavefront_size").map(|p| 1 << p.min(63)),
            ),
            ("NumSGPRs", field("wavefront_sgpr_count")),
            ("NumVGPRs", field("workitem_vgpr_count")),
            ("NumSpilledSGPRs", None),
            ("NumSpilledVGPRs", None),
            ("MaxFlatWorkGroupSize", Some(256)),
            ("FixedWorkGroupSize", None),
        ];
        line(&mut out, "", "CodeProps", "");
        for (key, default) in defaults {
            if let Some(value) = given(key).or(default.map(|v: u64| v.to_string())) {
                line(&mut out, "  ", key, &value);
            }
        }
        out
    }
}

/// Reads a number in a range.
fn number(p: &mut Parser<'_, '_>, least: i64, most: i64) -> Result<i64, Fail> {
    let start = p.span();
    let value = p.absolute()?;
    if !(least..=most).contains(&value) {
        let span = start.to(p.last_span());
        return Err(Fail::new(
            span,
            format!("expected a number from {least} to {most}"),
        ));
    }
    Ok(value)
}

/// Reads a number that fits a field.
fn field_value(p: &mut Parser<'_, '_>, name: &str) -> Result<u64, Fail> {
    let start = p.span();
    let value = p.absolute()?;
    let width = Field::find(name).map_or(64, |f| f.width);
    if !Field::find(name).is_none_or(|f| f.fits(value)) {
        let span = start.to(p.last_span());
        return Err(Fail::new(
            span,
            format!("expected a number that fits {width} bits"),
        ));
    }
    Ok(value as u64)
}

/// Reads some of x, y and z in one word, as bits 0 to 2; `-` for none.
fn dimensions(p: &mut Parser<'_, '_>) -> Result<u32, Fail> {
    let at = p.span();
    let wrong = || Fail::new(at, "expected dimensions: some of x, y and z, such as xy");
    if p.at_end() || p.is(b',') {
        return Ok(0);
    }
    let word = p
        .ident("dimensions, some of x, y and z")
        .map_err(|_| wrong())?;
    word.chars()
        .try_fold(0, |mask, c| match c.to_ascii_lowercase() {
            'x' => Ok(mask | 1),
            'y' => Ok(mask | 2),
            'z' => Ok(mask | 4),
            _ => Err(wrong()),
        })
}

/// Returns a text in YAML's single quotes.
fn quoted(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    if text.chars().any(|c| c.is_control()) {
        // Control characters need double quotes.
        let mut out = String::from("\"");
        for c in text.chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                c if c.is_control() => {
                    let _ = write!(out, "\\u{:04x}", c as u32);
                }
                c => out.push(c),
            }
        }
        return out + "\"";
    }
    format!("'{}'", text.replace('\'', "''"))
}

#[rustfmt::skip]
static KINDS: &[(&str, &str)] = &[
    ("complact", "HiddenCompletionAction"), ("defqueue", "HiddenDefaultQueue"),
    ("dynshptr", "DynamicSharedPointer"), ("globalbuf", "GlobalBuffer"),
    ("gox", "HiddenGlobalOffsetX"), ("globaloffsetx", "HiddenGlobalOffsetX"),
    ("goy", "HiddenGlobalOffsetY"), ("globaloffsety", "HiddenGlobalOffsetY"),
    ("goz", "HiddenGlobalOffsetZ"), ("globaloffsetz", "HiddenGlobalOffsetZ"),
    ("image", "Image"), ("multigridsyncarg", "HiddenMultiGridSyncArg"), ("none", "HiddenNone"),
    ("pipe", "Pipe"), ("printfbuf", "HiddenPrintfBuffer"), ("queue", "Queue"),
    ("sampler", "Sampler"), ("value", "ByValue"),
];
#[rustfmt::skip]
static TYPES: &[(&str, &str)] = &[
    ("i8", "I8"), ("char", "I8"), ("i16", "I16"), ("short", "I16"), ("i32", "I32"), ("int", "I32"),
    ("i64", "I64"), ("long", "I64"), ("u8", "U8"), ("uchar", "U8"), ("u16", "U16"),
    ("ushort", "U16"), ("u32", "U32"), ("uint", "U32"), ("u64", "U64"), ("ulong", "U64"),
    ("f16", "F16"), ("half", "F16"), ("f32", "F32"), ("float", "F32"), ("f64", "F64"),
    ("double", "F64"), ("struct", "Struct"),
];
#[rustfmt::skip]
static SPACES: &[(&str, &str)] = &[
    ("constant", "Constant"), ("generic", "Generic"), ("global", "Global"), ("local", "Local"),
    ("private", "Private"), ("region", "Region"),
];
#[rustfmt::skip]
static ACCESSES: &[(&str, &str)] = &[
    ("default", "Default"), ("read_only", "ReadOnly"), ("rdonly", "ReadOnly"),
    ("read_write", "ReadWrite"), ("rdwr", "ReadWrite"), ("write_only", "WriteOnly"),
    ("wronly", "WriteOnly"),
];
#[rustfmt::skip]
static FLAGS: &[(&str, &str)] = &[
    ("const", "IsConst"), ("pipe", "IsPipe"), ("restrict", "IsRestrict"), ("volatile", "IsVolatile"),
];

/// Reads a word from a table.
fn word(
    p: &mut Parser<'_, '_>,
    table: &'static [(&'static str, &'static str)],
    what: &str,
) -> Result<&'static str, Fail> {
    let at = p.span();
    let text = p.ident(what)?.to_ascii_lowercase();
    match table.iter().find(|(n, _)| *n == text) {
        Some((_, value)) => Ok(value),
        None => {
            let fail = Fail::new(at, format!("expected {what}, found `{text}`"));
            Err(match nearest(&text, table.iter().map(|(n, _)| *n)) {
                Some(near) => fail.help(format!("did you mean `{near}`?")),
                None => fail,
            })
        }
    }
}

/// The values of a setting's arguments.
#[derive(Default)]
struct Given {
    /// For the metadata.
    told: Vec<(&'static str, String)>,
    /// For `amd_kernel_code_t`.
    fields: Vec<(&'static str, u64)>,
    count: Option<(&'static str, u32)>,
    dims: Option<u32>,
    arg: Option<Vec<(&'static str, String)>>,
    printf: Option<(Option<u32>, String)>,
}

impl Given {
    /// Reads the arguments of a setting.
    fn read(
        &mut self,
        p: &mut Parser<'_, '_>,
        setting: Setting,
        most_sgprs: i64,
    ) -> Result<(), Fail> {
        match setting {
            Number(field) => self.fields.push((field, field_value(p, field)?)),
            Power(field, least, most) => {
                let at = p.span();
                let value = p.absolute()? as u64;
                if !value.is_power_of_two() || !(least..=most).contains(&value) {
                    let range = match most {
                        m if m == least => format!("{least}"),
                        m if m > 1 << 32 => format!("a power of two from {least} on"),
                        m => format!("a power of two from {least} to {m}"),
                    };
                    return Err(Fail::new(at, format!("expected {range}")));
                }
                let power = u64::from(value.trailing_zeros());
                // The size of an element is 2 to 16 bytes, encoded as 0 to 3 in the field.
                let less = u64::from(field == "private_element_size");
                self.fields.push((field, power - less));
            }
            Bit(field) => self.fields.push((field, 1)),
            Told(key) => self.told.push((key, number(p, 0, i64::MAX)?.to_string())),
            Sizes(key) => {
                let mut sizes = [0i64; 3];
                let mut given = 0;
                while given < 3 && !p.at_end() {
                    if !p.is(b',') {
                        sizes[given] = number(p, 0, u32::MAX.into())?;
                    }
                    given += 1;
                    if !p.eat(b',') {
                        break;
                    }
                }
                if given == 0 {
                    return Err(Fail::new(p.span(), "expected one to three sizes"));
                }
                for size in sizes.iter_mut().skip(1) {
                    *size = (*size).max(1);
                }
                let [x, y, z] = sizes;
                self.told.push((key, format!("[ {x}, {y}, {z} ]")));
            }
            Text(key) => self.told.push((key, quoted(&p.string()?))),
            Count(which, most) => {
                let most = if which == "sgprs" { most_sgprs } else { most };
                self.count = Some((which, number(p, 0, most)? as u32));
            }
            Dims => {
                let groups = dimensions(p)?;
                let locals = match p.eat(b',') {
                    true => dimensions(p)?,
                    false => groups,
                };
                self.dims = Some(groups | locals << 3);
            }
            Groups => {
                let mask = dimensions(p)?;
                for (bit, axis) in [
                    "enable_sgpr_grid_workgroup_count_x",
                    "enable_sgpr_grid_workgroup_count_y",
                    "enable_sgpr_grid_workgroup_count_z",
                ]
                .into_iter()
                .enumerate()
                {
                    if mask >> bit & 1 != 0 {
                        self.fields.push((axis, 1));
                    }
                }
            }
            CodeVersion => {
                self.fields.push((
                    "amd_code_version_major",
                    field_value(p, "amd_code_version_major")?,
                ));
                p.expect(b',')?;
                self.fields.push((
                    "amd_code_version_minor",
                    field_value(p, "amd_code_version_minor")?,
                ));
            }
            Machine => {
                for (n, field) in [
                    "amd_machine_kind",
                    "amd_machine_version_major",
                    "amd_machine_version_minor",
                    "amd_machine_version_stepping",
                ]
                .into_iter()
                .enumerate()
                {
                    if n > 0 {
                        p.expect(b',')?;
                    }
                    self.fields.push((field, field_value(p, field)?));
                }
            }
            Reserved(which) => {
                let at = p.span();
                let first = number(p, 0, 255)?;
                p.expect(b',')?;
                let last = number(p, 0, 255)?;
                if last < first {
                    return Err(Fail::new(
                        at,
                        "expected the first register and then the last",
                    ));
                }
                let [f, c] = match which {
                    "reserved_sgpr" => ["reserved_sgpr_first", "reserved_sgpr_count"],
                    _ => ["reserved_vgpr_first", "reserved_vgpr_count"],
                };
                self.fields
                    .extend([(f, first as u64), (c, (last - first + 1) as u64)]);
            }
            Defaults => self.fields.extend([
                ("enable_sgpr_private_segment_buffer", 1),
                ("enable_sgpr_dispatch_ptr", 1),
                ("enable_sgpr_kernarg_segment_ptr", 1),
                ("is_ptr64", 1),
                ("private_element_size", 1),
            ]),
            Language => {
                self.told.push(("Language", quoted(&p.string()?)));
                if p.eat(b',') {
                    let major = number(p, 0, u32::MAX.into())?;
                    p.expect(b',')?;
                    let minor = number(p, 0, u32::MAX.into())?;
                    self.told
                        .push(("LanguageVersion", format!("[ {major}, {minor} ]")));
                }
            }
            Arg => self.arg = Some(argument(p)?),
            Printf => self.printf = Some(printf_text(p)?),
        }
        Ok(())
    }
}

/// Reads `[NAME][, "TYPE"], SIZE, [ALIGN], KIND, VALUETYPE[, POINTEEALIGN][, SPACE][, ACCESS][, ACTUAL] [FLAG]…`
fn argument(p: &mut Parser<'_, '_>) -> Result<Vec<(&'static str, String)>, Fail> {
    let mut arg: Vec<(&'static str, String)> = Vec::new();
    if !p.is(b',') {
        let span = p.span();
        let name = match p.peek() {
            Tok::Str => String::from_utf8_lossy(&p.string()?).into_owned(),
            _ => p.ident("the argument's name or `,`")?.to_string(),
        };
        if name.len() > 10_000 {
            return Err(Fail::new(span, "expected a shorter name"));
        }
        arg.push(("Name", quoted(name.as_bytes())));
    }
    p.expect(b',')?;
    if p.peek() == Tok::Str {
        let text = p.string()?;
        if !text.is_empty() {
            arg.push(("TypeName", quoted(&text)));
        }
        p.expect(b',')?;
    }
    let size = number(p, 0, u32::MAX.into())?;
    arg.push(("Size", size.to_string()));
    p.expect(b',')?;
    let align = match p.is(b',') {
        // The default is the smallest power of two that is at least the size, up to 16.
        true => (size.max(1) as u64).next_power_of_two().min(16) as i64,
        false => {
            let at = p.span();
            match number(p, 1, 1 << 31)? {
                n if n & (n - 1) == 0 => n,
                _ => {
                    return Err(Fail::new(
                        at,
                        "expected an alignment that is a power of two",
                    ));
                }
            }
        }
    };
    arg.push(("Align", align.to_string()));
    p.expect(b',')?;
    let kind = word(p, KINDS, "a kind of value")?;
    arg.push(("ValueKind", kind.to_string()));
    p.expect(b',')?;
    arg.push(("ValueType", word(p, TYPES, "a type of value")?.to_string()));
    let mut more = p.eat(b',');
    if more && kind == "DynamicSharedPointer" {
        if !p.is(b',') {
            arg.push(("PointeeAlign", number(p, 0, u32::MAX.into())?.to_string()));
        }
        more = p.eat(b',');
    }
    if more && matches!(kind, "DynamicSharedPointer" | "GlobalBuffer") {
        if !p.is(b',') {
            arg.push((
                "AddrSpaceQual",
                word(p, SPACES, "an address space")?.to_string(),
            ));
        }
        more = p.eat(b',');
    }
    if more && matches!(kind, "Image" | "Pipe") {
        if !p.is(b',') {
            arg.push((
                "AccQual",
                word(p, ACCESSES, "an access qualifier")?.to_string(),
            ));
        }
        more = p.eat(b',');
    }
    if more && matches!(kind, "Image" | "Pipe" | "GlobalBuffer") && !p.at_end() {
        arg.push((
            "ActualAccQual",
            word(p, ACCESSES, "an access qualifier")?.to_string(),
        ));
    }
    while !p.at_end() {
        p.eat(b',');
        arg.push((
            word(p, FLAGS, "const, restrict, volatile or pipe")?,
            "true".into(),
        ));
    }
    Ok(arg)
}

/// Reads `[ID][, SIZE…], "FORMAT"` and returns the id and the rest as the metadata writes it.
fn printf_text(p: &mut Parser<'_, '_>) -> Result<(Option<u32>, String), Fail> {
    let mut id = None;
    if !p.is(b',') && p.peek() != Tok::Str {
        id = Some(number(p, 0, u32::MAX.into())? as u32);
    }
    p.eat(b',');
    let mut sizes = Vec::new();
    while p.peek() != Tok::Str {
        sizes.push(number(p, 0, u32::MAX.into())?);
        p.expect(b',')?;
    }
    let format = String::from_utf8_lossy(&p.string()?).into_owned();
    let mut text = format!("{}:", sizes.len());
    for size in sizes {
        let _ = write!(text, "{size}:");
    }
    // A colon would end the format.
    for c in format.chars() {
        match c {
            ':' => text.push_str("\\72"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            c => text.push(c),
        }
    }
    Ok((id, text))
}
