//! Directives of the older ABIs: code object v2, Mesa and PAL. `.hsa_code_object_*`, `.amd_kernel_code_t`,
//! `.amdgpu_hsa_kernel`, `.amd_amdgpu_isa`, metadata as text, `.amdgpu_lds`.

use crate::asm::Asm;
use crate::insn::nearest;
use crate::lexer::{Span, Tok, Token};
use crate::parse::Fail;
use crate::symbols::Def;
use gcn_isa::Target;
use gcn_object::kernel_code::{FIELDS, Field, KernelCode};
use gcn_object::target::{MACHINES, Machine, Os, TargetId, Version};
use gcn_object::write::add_note;
use gcn_object::{Metadata, SymbolKind, metadata, note};
use std::collections::BTreeMap;

/// The maximum number of bytes of LDS in `.amdgpu_lds`, on gfx6 and later.
const MAX_LDS: i64 = 65536;

/// An `.amd_kernel_code_t` block being read.
pub(crate) struct CodeBlock {
    code: KernelCode,
    pub(crate) span: Span,
    /// True if the target was not known at the start of the block; the block's machine version then sets it.
    names_target: bool,
}

impl<'s> Asm<'s, '_> {
    /// Appends a note to the section of notes.
    pub(crate) fn note(&mut self, name: &str, kind: u32, descriptor: &[u8]) {
        let os = self.os.unwrap_or(Os::Hsa);
        add_note(&mut self.sections, os, name, kind, descriptor);
    }

    /// Sets the operating system that a triple or an option names.
    pub(crate) fn new_os(&mut self, os: Os, span: Span) -> Result<(), Fail> {
        match self.os {
            Some(old) if old != os => Err(Fail::new(
                span,
                format!(
                    "this is for {}, but the file is for {}",
                    os.name(),
                    old.name()
                ),
            )),
            _ => {
                self.os = Some(os);
                Ok(())
            }
        }
    }

    pub(crate) fn hsa_code_object_version(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let (numbers, span) = self.parse(tokens, |p| {
            let start = p.span();
            let major = p.absolute()?;
            p.expect(b',')?;
            let minor = p.absolute()?;
            p.end()?;
            Ok(([major, minor], start.to(p.last_span())))
        })?;
        let mut descriptor = Vec::new();
        for number in numbers {
            let number = u32::try_from(number)
                .map_err(|_| Fail::new(span, "expected version numbers of 32 bits"))?;
            descriptor.extend(number.to_le_bytes());
        }
        if self.options.version.is_none() && self.version.is_none() {
            self.version = Some(Version::V2);
        }
        self.note("AMD", note::VERSION, &descriptor);
        Ok(())
    }

    pub(crate) fn hsa_code_object_isa(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let span = tokens[0].span;
        let given = self.parse(tokens, |p| {
            if p.at_end() {
                return Ok(None);
            }
            let mut version = [0; 3];
            for number in &mut version {
                let at = p.span();
                *number = u32::try_from(p.absolute()?)
                    .map_err(|_| Fail::new(at, "expected a version number of 32 bits"))?;
                p.expect(b',')?;
            }
            let vendor = p.string()?;
            p.expect(b',')?;
            let architecture = p.string()?;
            p.end()?;
            Ok(Some((version, vendor, architecture)))
        })?;
        let (version, vendor, architecture) = match given {
            Some(given) => given,
            None => match self.id() {
                Some(id) => (v2_numbers(&id), b"AMD".to_vec(), b"AMDGPU".to_vec()),
                None => {
                    let fail =
                        Fail::new(span, "expected MAJOR, MINOR, STEPPING, \"AMD\", \"AMDGPU\"");
                    return Err(fail.help("without them, the target must be named before"));
                }
            },
        };
        if self.target.is_none()
            && let [major, minor, stepping] = version
            && let Some(id) = TargetId::from_isa(major, minor, stepping)
        {
            self.take_id(id, span)?;
        }
        let isa = note::Isa {
            vendor: &vendor,
            architecture: &architecture,
            version,
        };
        let descriptor = isa.to_bytes();
        let descriptor = descriptor.ok_or_else(|| Fail::new(span, "expected shorter names"))?;
        self.note("AMD", note::ISA, &descriptor);
        Ok(())
    }

    /// Sets a target with its features, unless another one was named before.
    fn take_id(&mut self, id: TargetId, span: Span) -> Result<(), Fail> {
        let Some(target) = Target::parse(id.machine.name) else {
            return Err(Fail::new(span, format!("{} is no target", id.machine.name)));
        };
        self.new_target(target, span)?;
        if self.target_id.is_none() {
            self.target_id = Some((id, self.version.unwrap_or(Version::V4)));
        }
        Ok(())
    }

    pub(crate) fn amd_amdgpu_isa(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let text = self.parse(tokens, |p| p.one_string())?;
        let span = tokens.get(1).map_or(tokens[0].span, |t| t.span);
        let text = String::from_utf8_lossy(&text).into_owned();
        let (os, id) = Os::split(&text).map_err(|m| Fail::new(span, m))?;
        self.new_os(os, span)?;
        let version = match os {
            Os::Hsa => self.version.unwrap_or(Version::V2),
            _ => Version::V3,
        };
        let id = match (os, version) {
            (Os::Hsa, _) => TargetId::parse(id, version).map_err(|m| Fail::new(span, m))?,
            // Without HSA the features are not part of the name.
            _ => match Machine::from_name(id) {
                Some(machine) => TargetId::new(machine),
                None => return Err(Fail::new(span, format!("unknown processor '{id}'"))),
            },
        };
        self.take_id(id, span)?;
        self.note("AMD", note::ISA_NAME, text.as_bytes());
        Ok(())
    }

    pub(crate) fn amdgpu_hsa_kernel(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let id = self.parse(tokens, |p| {
            let id = p.symbol_name()?;
            p.end()?;
            Ok(id)
        })?;
        self.sym.get_mut(id).kind = SymbolKind::HSA_KERNEL;
        for count in self.kernel_counts {
            self.sym.get_mut(count).def = Def::Absolute(0);
        }
        Ok(())
    }

    pub(crate) fn amdgpu_lds(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let (id, at, size, align) = self.parse(tokens, |p| {
            let at = p.span();
            let id = p.symbol_name()?;
            p.expect(b',')?;
            let span = p.span();
            let size = p.absolute()?;
            if !(0..=MAX_LDS).contains(&size) {
                return Err(Fail::new(
                    span,
                    format!("expected a size of 0 to {MAX_LDS} bytes of LDS"),
                ));
            }
            let mut align = 4;
            if p.eat(b',') {
                let span = p.span();
                align = p.absolute()?;
                if align <= 0 || align & (align - 1) != 0 || align >= 1 << 31 {
                    return Err(Fail::new(
                        span,
                        "expected an alignment that is a power of two",
                    ));
                }
            }
            p.end()?;
            Ok((id, at, size as u64, align as u64))
        })?;
        let symbol = self.sym.get_mut(id);
        if symbol.def != Def::None {
            let name = symbol.name.as_str();
            return Err(Fail::new(at, format!("'{name}' is defined already")));
        }
        symbol.def = Def::Lds(size, align);
        symbol.defined_at = at.start;
        symbol.kind = SymbolKind::Object;
        Ok(())
    }

    pub(crate) fn kernel_code_start(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        self.parse(tokens, |p| p.end())?;
        let machine = self.id().map(|id| id.machine);
        self.code_block = Some(CodeBlock {
            // For an unknown machine the block itself must give the version numbers.
            code: KernelCode::new(machine.unwrap_or(&MACHINES[0])),
            span: tokens[0].span,
            names_target: machine.is_none(),
        });
        Ok(())
    }

    /// A line between `.amd_kernel_code_t` and its end: `NAME = VALUE`, or the end.
    pub(crate) fn kernel_code_line(&mut self, tokens: &[Token], text: &str) -> Result<(), Fail> {
        let span = tokens[0].span;
        if text.eq_ignore_ascii_case(".end_amd_kernel_code_t") {
            self.parse(tokens, |p| p.end())?;
            return self.kernel_code_end();
        }
        let (value, at) = self.parse(tokens, |p| {
            if tokens[0].tok != Tok::Ident || !p.eat(b'=') {
                return Err(Fail::new(
                    span,
                    "expected FIELD = VALUE or .end_amd_kernel_code_t",
                ));
            }
            let start = p.span();
            let value = p.absolute()?;
            p.end()?;
            Ok((value, start.to(p.last_span())))
        })?;
        // llvm-mc accepts this field and ignores its value.
        if text == "max_scratch_backing_memory_byte_size" {
            return Ok(());
        }
        let Some(block) = &mut self.code_block else {
            return Ok(());
        };
        block.code.assign(text, value).map_err(|message| {
            let known = FIELDS.iter().filter(|f| f.named).map(|f| f.name);
            match nearest(text, known) {
                None => Fail::new(span, message),
                _ if Field::find(text).is_some() => Fail::new(at, message),
                Some(near) => Fail::new(span, message).help(format!("did you mean `{near}`?")),
            }
        })
    }

    fn kernel_code_end(&mut self) -> Result<(), Fail> {
        let Some(block) = self.code_block.take() else {
            return Ok(());
        };
        if block.names_target {
            let version = ["major", "minor", "stepping"]
                .map(|part| block.code.named(&format!("amd_machine_version_{part}")) as u32);
            let [major, minor, stepping] = version;
            match TargetId::from_isa(major, minor, stepping) {
                Some(id) => self.take_id(TargetId::new(id.machine), block.span)?,
                None => {
                    let message = format!("gfx{major}{minor}{stepping:x} is no target");
                    return Err(Fail::new(block.span, message));
                }
            }
        }
        self.emit(block.span, &block.code.to_bytes())
    }

    /// `.amd_amdgpu_hsa_metadata`: the metadata of code object v2, which is YAML in the file, too.
    pub(crate) fn hsa_metadata_block(&mut self, span: Span) -> Result<(), Fail> {
        let text = self.raw_block(".end_amd_amdgpu_hsa_metadata", span)?;
        let bad = |m: String| Fail::new(span, format!("kernel metadata: {m}"));
        let value = metadata::parse_yaml(text).map_err(|e| bad(e.to_string()))?;
        let known = |key: &str| {
            let map = value.as_map();
            map.is_some_and(|m| m.iter().any(|(k, _)| k.as_str() == Some(key)))
        };
        if !known("Version") {
            return Err(bad("expected a map with 'Version' and 'Kernels'".into()));
        }
        Metadata::from_v2(text).map_err(|e| bad(e.to_string()))?;
        // The metadata is the text between the directives plus one line break, from the document's start on.
        let text = text.trim_start_matches(['\n', '\r']);
        let text = match text.trim_end_matches([' ', '\t']) {
            t if t.ends_with("\n\n") => &t[..t.len() - 1],
            t => t,
        };
        self.note("AMD", note::METADATA, text.as_bytes());
        Ok(())
    }

    /// `.amdgpu_pal_metadata`: YAML that becomes msgpack.
    pub(crate) fn pal_metadata_block(&mut self, span: Span) -> Result<(), Fail> {
        self.new_os(Os::Pal, span)?;
        let text = self.raw_block(".end_amdgpu_pal_metadata", span)?;
        let bad = |m: String| Fail::new(span, format!("PAL metadata: {m}"));
        let mut value = metadata::parse_yaml(text).map_err(|e| bad(e.to_string()))?;
        number_registers(&mut value, false).map_err(bad)?;
        let descriptor = metadata::encode(&value);
        self.note("AMDGPU", note::MSGPACK, &descriptor);
        Ok(())
    }

    /// `.amd_amdgpu_pal_metadata REGISTER, VALUE, …`: the older form, pairs of words.
    pub(crate) fn pal_metadata_pairs(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        self.new_os(Os::Pal, tokens[0].span)?;
        let registers = self.parse(tokens, |p| {
            let mut registers: BTreeMap<u32, u32> = BTreeMap::new();
            loop {
                let word = |p: &mut crate::parse::Parser<'_, '_>| {
                    let at = p.span();
                    let value = p.absolute()?;
                    let fits = (-(1i64 << 31)..1 << 32).contains(&value);
                    match fits {
                        true => Ok(value as u32),
                        false => Err(Fail::new(at, "expected a number of 32 bits")),
                    }
                };
                let key = word(p)?;
                if !p.eat(b',') {
                    return Err(Fail::new(
                        p.span(),
                        "expected registers and their values in turn: a value is missing",
                    ));
                }
                *registers.entry(key).or_default() |= word(p)?;
                if !p.eat(b',') {
                    break;
                }
            }
            p.end()?;
            Ok(registers)
        })?;
        let words = registers.into_iter().flat_map(|(k, v)| [k, v]);
        let descriptor: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        self.note("AMD", note::PAL, &descriptor);
        Ok(())
    }
}

/// PAL's YAML names a register as `0x2c0a` or `0x2c0a (NAME)`; the file holds the number.
fn number_registers(value: &mut metadata::Value, registers: bool) -> Result<(), String> {
    match value {
        metadata::Value::Map(entries) => {
            for (key, value) in entries {
                if registers && let Some(text) = key.as_str() {
                    let digits = text.split_whitespace().next().unwrap_or("");
                    let number = match digits.strip_prefix("0x") {
                        Some(hex) => u32::from_str_radix(hex, 16),
                        None => digits.parse(),
                    };
                    let number = number.map_err(|_| format!("'{text}' is no register's number"))?;
                    *key = metadata::Value::from(number);
                }
                let inside = key.as_str() == Some(".registers");
                number_registers(value, inside)?;
            }
            Ok(())
        }
        metadata::Value::Array(list) => {
            list.iter_mut().try_for_each(|v| number_registers(v, false))
        }
        _ => Ok(()),
    }
}

/// Returns the version numbers that code object v2 uses for a target.
fn v2_numbers(id: &TargetId) -> [u32; 3] {
    let name = id.short(Version::V2);
    let digits = name.trim_start_matches("gfx");
    let number = u32::from_str_radix(digits, 16).unwrap_or(0);
    [number >> 8, number >> 4 & 15, number & 15]
}
