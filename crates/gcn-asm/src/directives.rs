//! The table of directives.

use crate::asm::Asm;
use crate::expr::SymId;
use crate::insn::nearest;
use crate::lexer::{Tok, Token};
use crate::operand::Lower;
use crate::parse::{Fail, Parser};
use crate::quick::plain_declaration;
use crate::sections::Given;
use crate::{Level, Syntax};
use gcn_object::target::Version;
use gcn_object::{Binding, SectionFlags, SectionKind, SymbolKind, Visibility};

/// The names that are suggested for a misspelled one.
static DIRECTIVES: &[&str] = &[
    ".text",
    ".data",
    ".bss",
    ".rodata",
    ".section",
    ".previous",
    ".pushsection",
    ".popsection",
    ".p2align",
    ".align",
    ".balign",
    ".globl",
    ".global",
    ".protected",
    ".hidden",
    ".internal",
    ".weak",
    ".local",
    ".type",
    ".size",
    ".set",
    ".equ",
    ".equiv",
    ".byte",
    ".short",
    ".2byte",
    ".hword",
    ".value",
    ".long",
    ".4byte",
    ".int",
    ".word",
    ".quad",
    ".8byte",
    ".octa",
    ".ascii",
    ".asciz",
    ".string",
    ".zero",
    ".space",
    ".skip",
    ".fill",
    ".org",
    ".ident",
    ".addrsig",
    ".addrsig_sym",
    ".file",
    ".loc",
    ".cfi_sections",
    ".cfi_startproc",
    ".cfi_endproc",
    ".uleb128",
    ".sleb128",
    ".amdgcn_target",
    ".amdhsa_code_object_version",
    ".amdhsa_kernel",
    ".hsa_code_object_version",
    ".hsa_code_object_isa",
    ".amd_kernel_code_t",
    ".end_amd_kernel_code_t",
    ".amd_amdgpu_isa",
    ".amd_amdgpu_hsa_metadata",
    ".end_amd_amdgpu_hsa_metadata",
    ".amdgpu_pal_metadata",
    ".end_amdgpu_pal_metadata",
    ".amd_amdgpu_pal_metadata",
    ".amdgpu_hsa_kernel",
    ".amdgpu_lds",
    ".end_amdhsa_kernel",
    ".amdgpu_metadata",
    ".end_amdgpu_metadata",
    ".gcn_flags",
    ".gcn_permissive",
    ".gcn_rename",
    ".gcn_section_at",
    ".arch",
    ".gpu",
    ".syntax",
    ".comm",
    ".lcomm",
    ".reloc",
    ".dc.b",
    ".dc.w",
    ".dc.l",
    ".macro",
    ".endm",
    ".endmacro",
    ".exitm",
    ".purgem",
    ".rept",
    ".rep",
    ".irp",
    ".irpc",
    ".for",
    ".while",
    ".endr",
    ".if",
    ".ifne",
    ".ifeq",
    ".ifge",
    ".ifgt",
    ".ifle",
    ".iflt",
    ".ifdef",
    ".ifndef",
    ".ifnotdef",
    ".ifb",
    ".ifnb",
    ".ifc",
    ".ifnc",
    ".ifeqs",
    ".ifnes",
    ".ifarch",
    ".ifnarch",
    ".ifgpu",
    ".ifngpu",
    ".else",
    ".elseif",
    ".endif",
    ".include",
    ".incbin",
    ".float",
    ".single",
    ".double",
    ".half",
    ".end",
    ".rawcode",
    ".warning",
    ".error",
];

/// The directives that continue in a section, and therefore end a structure that `.struct` began.
static LEAVE_STRUCTURE: &[&str] = &[
    ".text",
    ".data",
    ".bss",
    ".rodata",
    ".section",
    ".pushsection",
    ".popsection",
    ".previous",
    ".kernel",
    ".main",
    ".globaldata",
    ".config",
];

/// The directives that set the binding or the visibility of symbols.
const DECLARATIONS: [&str; 7] = [
    ".globl",
    ".global",
    ".protected",
    ".hidden",
    ".internal",
    ".weak",
    ".local",
];

impl<'s> Asm<'s, '_> {
    pub(crate) fn directive(&mut self, tokens: &[Token], text: &'s str) -> Result<(), Fail> {
        let span = tokens[0].span;
        let lower = Lower::new(text);
        let name = lower.as_ref().map_or("", Lower::as_str);
        if name.starts_with(".amdhsa_")
            && name != ".amdhsa_code_object_version"
            && name != ".amdhsa_kernel"
        {
            return self.amdhsa(tokens, name);
        }
        if self.block.is_some() && name != ".end_amdhsa_kernel" {
            return Err(Fail::new(
                span,
                "expected an .amdhsa_ directive or .end_amdhsa_kernel",
            ));
        }
        self.leave_control(name)?;
        if self.sym.structure.is_some() && LEAVE_STRUCTURE.contains(&name) {
            self.sym.structure = None;
        }
        let known = self.control_directive(tokens, name)?
            || self.section_directive(tokens, name)?
            || self.symbol_directive(tokens, name)?
            || self.data_directive(tokens, name)?
            || self.file_directive(tokens, name)?
            || self.clrx_directives(tokens, name)?
            || self.hsa_directive(tokens, name)?
            || self.reading_directive(tokens, name)?;
        if known {
            return Ok(());
        }
        let fail = Fail::new(span, format!("there is no directive `{text}`"));
        let names = DIRECTIVES.iter().chain(crate::clrx::directives::WORDS);
        let names = names.copied().chain(crate::clrx::rocm::directives());
        Err(match nearest(name, names) {
            Some(near) => fail.help(format!("did you mean `{near}`?")),
            None => fail,
        })
    }

    /// Handles macros, repetitions, conditions and files. Returns false if the directive is another one.
    fn control_directive(&mut self, tokens: &[Token], name: &str) -> Result<bool, Fail> {
        let span = tokens[0].span;
        match name {
            ".macro" => self.define_macro(tokens),
            ".endm" | ".endmacro" => Err(Fail::new(span, "expected a .macro before this")),
            ".exitm" => self.exit_macro(span),
            ".purgem" => self.forget_macro(tokens),
            ".rept" | ".rep" => self.rept(tokens),
            ".irp" => self.irp(tokens, false),
            ".irpc" => self.irp(tokens, true),
            ".while" => self.while_loop(tokens),
            ".for" => self.for_loop(tokens),
            ".endr" => Err(Fail::new(
                span,
                "expected .rept, .irp, .irpc, .for or .while before this",
            )),
            _ if name.starts_with(".if") => self.condition(tokens, name),
            ".endif" => self.condition_end(tokens, name),
            _ if name.starts_with(".else") => self.condition_end(tokens, name),
            ".include" => self.include(tokens),
            ".incbin" => self.incbin(tokens),
            _ => return Ok(false),
        }?;
        Ok(true)
    }

    /// Handles sections, and locations in them. Returns false if the directive is another one.
    fn section_directive(&mut self, tokens: &[Token], name: &str) -> Result<bool, Fail> {
        let span = tokens[0].span;
        match name {
            ".text" | ".data" | ".bss" | ".rodata" => {
                self.parse(tokens, |p| p.end())?;
                let section = self.named_section(name, None, span)?;
                self.switch(section);
                Ok(())
            }
            ".section" if self.clrx => self.aligned_section(tokens),
            ".section" | ".pushsection" => {
                if name == ".pushsection" {
                    if self.stack.len() >= 1000 {
                        return Err(Fail::new(span, "expected fewer .pushsection"));
                    }
                    self.stack.push((self.current, self.previous));
                }
                self.section(tokens)
            }
            ".popsection" => {
                self.parse(tokens, |p| p.end())?;
                match self.stack.pop() {
                    Some((current, previous)) => {
                        (self.current, self.previous) = (current, previous);
                        Ok(())
                    }
                    None => Err(Fail::new(span, "expected a .pushsection before this")),
                }
            }
            ".previous" => {
                self.parse(tokens, |p| p.end())?;
                std::mem::swap(&mut self.current, &mut self.previous);
                Ok(())
            }
            ".p2align" | ".align" | ".balign" => self.align(tokens, name == ".p2align"),
            _ => return Ok(false),
        }?;
        Ok(true)
    }

    /// Handles symbols and their attributes. Returns false if the directive is another one.
    fn symbol_directive(&mut self, tokens: &[Token], name: &str) -> Result<bool, Fail> {
        match name {
            _ if DECLARATIONS.contains(&name) => {
                let ids = self.parse(tokens, |p| {
                    let mut ids = Vec::new();
                    p.items(|p| {
                        ids.push(p.symbol_name()?);
                        Ok(())
                    })?;
                    Ok(ids)
                })?;
                for id in ids {
                    self.declare(id, name);
                }
                Ok(())
            }
            ".type" => {
                let (id, kind) = self.parse(tokens, |p| {
                    let id = p.symbol_name()?;
                    p.eat(b',');
                    if !p.eat(b'@') && !p.eat(b'%') {
                        p.eat(b'#');
                    }
                    let span = p.span();
                    let word = match p.peek() {
                        Tok::Str => {
                            p.next();
                            p.text(span).trim_matches('"')
                        }
                        _ => p.ident("@function, @object or @notype")?,
                    };
                    p.end()?;
                    let kind = match word {
                        "function" | "STT_FUNC" => SymbolKind::Func,
                        "object" | "STT_OBJECT" => SymbolKind::Object,
                        "notype" | "STT_NOTYPE" => SymbolKind::NoType,
                        "amdgpu_hsa_kernel" => SymbolKind::HSA_KERNEL,
                        _ => {
                            return Err(Fail::new(span, "expected @function, @object or @notype"));
                        }
                    };
                    Ok((id, kind))
                })?;
                self.sym.get_mut(id).kind = kind;
                Ok(())
            }
            ".size" => {
                let (id, expr) = self.parse(tokens, |p| {
                    let id = p.symbol_name()?;
                    p.expect(b',')?;
                    let expr = p.expr()?;
                    p.end()?;
                    Ok((id, expr))
                })?;
                self.sym.get_mut(id).size = Some(expr);
                Ok(())
            }
            ".set" | ".equ" | ".equiv"
                if self.clrx || tokens.get(3).is_some_and(|t| t.tok == Tok::Punct(b'%')) =>
            {
                self.clrx_set(tokens, name == ".equiv")
            }
            ".set" | ".equ" | ".equiv" => {
                let (word, at, expr) = self.parse(tokens, |p| {
                    let at = p.span();
                    let word = p.ident("a symbol")?;
                    p.expect(b',')?;
                    let expr = p.expr()?;
                    p.end()?;
                    Ok((word, at, expr))
                })?;
                self.assign(word, expr, at)
            }
            _ => return Ok(false),
        }?;
        Ok(true)
    }

    /// Applies one of [`DECLARATIONS`].
    fn declare(&mut self, id: SymId, directive: &str) {
        let symbol = self.sym.get_mut(id);
        match directive {
            ".protected" => symbol.visibility = Visibility::Protected,
            ".hidden" => symbol.visibility = Visibility::Hidden,
            ".internal" => symbol.visibility = Visibility::Internal,
            ".weak" => symbol.binding = Some(Binding::Weak),
            ".local" => symbol.binding = Some(Binding::Local),
            _ if symbol.binding == Some(Binding::Weak) => {}
            _ => symbol.binding = Some(Binding::Global),
        }
    }

    /// Reads the next lines that declare one symbol each, without tokens, if plain lines are allowed here. Returns true
    /// if there were any.
    pub(crate) fn plain_declarations(&mut self) -> bool {
        if self.clrx || !self.macros.is_empty() {
            return false;
        }
        let start = self.lexer.pos;
        let mut pos = start;
        while let Some((directive, name, next)) =
            plain_declaration(self.lexer.src, pos, self.lexer.reading)
            && DECLARATIONS.contains(&directive)
        {
            let id = self.sym.intern(name);
            self.declare(id, directive);
            pos = next;
        }
        if pos > start {
            self.lexer.go_to_line(pos);
        }
        pos > start
    }

    /// Handles data. Returns false if the directive is another one.
    fn data_directive(&mut self, tokens: &[Token], name: &str) -> Result<bool, Fail> {
        let span = tokens[0].span;
        match name {
            ".byte" | ".dc.b" => self.data(tokens, 1),
            ".short" | ".2byte" | ".hword" | ".value" | ".dc.w" => self.data(tokens, 2),
            ".long" | ".4byte" | ".int" | ".word" | ".dc.l" => self.data(tokens, 4),
            ".quad" | ".8byte" => self.data(tokens, 8),
            ".octa" => self.octa(tokens),
            ".half" | ".float" | ".single" | ".double" => self.floats(tokens, name),
            ".ascii" | ".asciz" | ".string" => {
                let bytes = self.parse(tokens, |p| {
                    let mut bytes = Vec::new();
                    if p.at_end() {
                        return Ok(bytes);
                    }
                    p.items(|p| {
                        bytes.extend(p.string()?);
                        bytes.extend((name != ".ascii").then_some(0));
                        Ok(())
                    })?;
                    Ok(bytes)
                })?;
                self.emit(span, &bytes)
            }
            ".zero" | ".space" | ".skip" => {
                let (count, fill) = self.parse(tokens, |p| {
                    let span = p.span();
                    let count = p.absolute()?;
                    let fill = if p.eat(b',') { p.absolute()? } else { 0 };
                    p.end()?;
                    match u64::try_from(count) {
                        Ok(count) => Ok((count, fill as u8)),
                        Err(_) => Err(Fail::new(span, "expected a count of 0 or more")),
                    }
                })?;
                self.emit_repeated(span, count, &[fill])
            }
            ".fill" => {
                let (count, size, value) = self.parse(tokens, |p| {
                    let span = p.span();
                    let count = p.absolute()?;
                    let size_span = p.span();
                    let left_out = |p: &Parser| p.clrx && (p.is(b',') || p.at_end());
                    let size = if p.eat(b',') && !left_out(p) {
                        p.absolute()?
                    } else {
                        1
                    };
                    let value = if p.eat(b',') && !left_out(p) {
                        p.absolute()?
                    } else {
                        0
                    };
                    p.end()?;
                    if count < 0 {
                        return Err(Fail::new(span, "expected a count of 0 or more"));
                    }
                    if !(0..=8).contains(&size) {
                        return Err(Fail::new(size_span, "expected a size of 0 to 8 bytes"));
                    }
                    Ok((count as u64, size as usize, value))
                })?;
                // The pattern has four bytes; larger elements continue with zeros.
                let pattern = (value as u32 as u64).to_le_bytes();
                self.emit_repeated(span, count, &pattern[..size])
            }
            ".org" => {
                let (expr, fill, at) = self.parse(tokens, |p| {
                    let at = p.span();
                    let expr = p.expr()?;
                    let fill = if p.eat(b',') { p.absolute()? } else { 0 };
                    p.end()?;
                    Ok((expr, fill as u8, at))
                })?;
                self.org(&expr, at, fill)
            }
            ".comm" => self.common(tokens, false),
            ".lcomm" => self.common(tokens, true),
            ".reloc" => self.relocation(tokens),
            ".uleb128" | ".sleb128" => self.leb128(tokens, name == ".sleb128"),
            _ => return Ok(false),
        }?;
        Ok(true)
    }

    /// Handles properties of the object and its source, and `.amdhsa_kernel`. Returns false if the directive is another
    /// one.
    fn file_directive(&mut self, tokens: &[Token], name: &str) -> Result<bool, Fail> {
        let span = tokens[0].span;
        match name {
            ".ident" => {
                let text = self.parse(tokens, |p| p.one_string())?;
                let flags = SectionFlags(0x30);
                let here = (self.current, self.previous);
                let section = self.named_section(
                    ".comment",
                    Some(Given {
                        flags,
                        kind: Some(SectionKind::PROGBITS),
                        entry_size: 1,
                        ..Given::default()
                    }),
                    span,
                )?;
                self.current = section;
                if self.sections[section as usize].size == 0 {
                    self.emit(span, &[0])?;
                }
                let done = self.emit(span, &text).and_then(|()| self.emit(span, &[0]));
                (self.current, self.previous) = here;
                done
            }
            // The bytes do not depend on these directives.
            ".addrsig" | ".addrsig_sym" => Ok(()),
            ".file" => self.file(tokens),
            ".loc" => self.loc(tokens),
            _ if name.starts_with(".cfi_") => self.cfi(tokens, name),
            ".amdgcn_target" => self.amdgcn_target(tokens),
            ".amdhsa_code_object_version" => {
                let version = self.parse(tokens, |p| {
                    let span = p.span();
                    let value = p.absolute()?;
                    p.end()?;
                    Version::from_number(value).ok_or_else(|| {
                        Fail::new(span, "expected code object version 2, 3, 4, 5 or 6")
                    })
                })?;
                self.version = Some(version);
                Ok(())
            }
            ".amdhsa_kernel" => self.kernel_start(tokens),
            ".end_amdhsa_kernel" => {
                self.parse(tokens, |p| p.end())?;
                self.kernel_end(span)
            }
            ".amdgpu_metadata" => self.metadata_block(span),
            ".end_amdgpu_metadata" => {
                Err(Fail::new(span, "expected an .amdgpu_metadata before this"))
            }
            _ => return Ok(false),
        }?;
        Ok(true)
    }

    /// Handles CLRX's directives. Returns false if the directive is another one.
    fn clrx_directives(&mut self, tokens: &[Token], name: &str) -> Result<bool, Fail> {
        match name {
            _ if crate::clrx::directives::is_word(name) => self.clrx_word(tokens, name),
            _ if crate::clrx::rocm::is_directive(name) => self.clrx_directive(tokens, name),
            _ => return Ok(false),
        }?;
        Ok(true)
    }

    /// Handles code object v2, metadata, Mesa and PAL. Returns false if the directive is another one.
    fn hsa_directive(&mut self, tokens: &[Token], name: &str) -> Result<bool, Fail> {
        let span = tokens[0].span;
        match name {
            ".hsa_code_object_version" => self.hsa_code_object_version(tokens),
            ".hsa_code_object_isa" => self.hsa_code_object_isa(tokens),
            ".amd_kernel_code_t" => self.kernel_code_start(tokens),
            ".amd_amdgpu_isa" => self.amd_amdgpu_isa(tokens),
            ".amd_amdgpu_hsa_metadata" => self.hsa_metadata_block(span),
            ".amdgpu_pal_metadata" => self.pal_metadata_block(span),
            ".amd_amdgpu_pal_metadata" => self.pal_metadata_pairs(tokens),
            ".amdgpu_hsa_kernel" => self.amdgpu_hsa_kernel(tokens),
            ".amdgpu_lds" => self.amdgpu_lds(tokens),
            ".end_amd_kernel_code_t"
            | ".end_amd_amdgpu_hsa_metadata"
            | ".end_amdgpu_pal_metadata" => {
                let start = name.replacen(".end_", ".", 1);
                Err(Fail::new(span, format!("expected {start} before this")))
            }
            _ => return Ok(false),
        }?;
        Ok(true)
    }

    /// Handles the syntax, `gcn dis`'s own directives, and messages. Returns false if the directive is another one.
    fn reading_directive(&mut self, tokens: &[Token], name: &str) -> Result<bool, Fail> {
        let span = tokens[0].span;
        match name {
            ".gcn_permissive" => {
                self.parse(tokens, |p| p.end())?;
                self.permissive = true;
                self.quiet = true;
                Ok(())
            }
            // The name of a symbol in the symbol table: local symbols may share a name there.
            ".gcn_rename" => {
                let renamed = self.parse(tokens, |p| {
                    let id = p.symbol_name()?;
                    p.expect(b',')?;
                    let name = p.one_name("the name in the symbol table")?;
                    p.end()?;
                    Ok((id, name.to_string()))
                })?;
                self.renames.push(renamed);
                Ok(())
            }
            // The whole `e_flags`, if they differ from the target's.
            ".gcn_flags" => {
                let flags = self.parse(tokens, |p| {
                    let at = p.span();
                    let flags = p.absolute()?;
                    p.end()?;
                    u32::try_from(flags).map_err(|_| Fail::new(at, "expected 32 bits of flags"))
                })?;
                self.rocm.flags = Some(flags);
                Ok(())
            }
            // The address of an output section in the loadable file, if it is not where ld.lld would put it.
            ".gcn_section_at" => {
                let location = self.parse(tokens, |p| {
                    let name = p.one_name("a section's name")?;
                    p.expect(b',')?;
                    let at = p.span();
                    let address = p.absolute()?;
                    p.end()?;
                    match u64::try_from(address) {
                        Ok(address) => Ok((name.to_string(), address)),
                        Err(_) => Err(Fail::new(at, "expected an address of 0 or more")),
                    }
                })?;
                self.section_locations.push(location);
                Ok(())
            }
            ".syntax" => {
                let word = self.parse(tokens, |p| {
                    let span = p.span();
                    let word = p.ident("llvm or clrx")?;
                    p.end()?;
                    match word {
                        "llvm" => Ok(false),
                        "clrx" => Ok(true),
                        _ => Err(Fail::new(span, "expected llvm or clrx")),
                    }
                })?;
                self.read_as(word);
                Ok(())
            }
            ".arch" | ".gpu" => {
                if name == ".gpu" && self.options.syntax == Syntax::Auto {
                    self.read_as(true);
                }
                self.clrx_state.gpu = match name {
                    ".gpu" => crate::clrx::directives::device(self.text(tokens[1].span)),
                    _ => None,
                };
                self.arch(tokens)
            }
            ".rawcode" => self.set_format(crate::clrx::Format::Raw, span),
            ".end" => {
                self.end_all();
                Ok(())
            }
            ".warning" | ".error" => {
                let text = if tokens.len() > 2 {
                    self.parse(tokens, |p| p.one_string())?
                } else {
                    Vec::new()
                };
                let text = String::from_utf8_lossy(&text).into_owned();
                let level = if name == ".error" {
                    Level::Error
                } else {
                    Level::Warning
                };
                self.message(level, span, text, None);
                Ok(())
            }
            _ => return Ok(false),
        }?;
        Ok(true)
    }

    pub(crate) fn read_as(&mut self, clrx: bool) {
        self.clrx = clrx;
        self.lexer.reading.semicolon_separates = clrx;
        self.lexer.reading.hash_comments = clrx;
    }
}

#[cfg(test)]
mod tests {
    use super::DIRECTIVES;

    #[test]
    fn the_document_names_every_directive() {
        let text = include_str!("../../../docs/asm.md");
        let name = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
        let words: Vec<&str> = text.split(|c| !name(c)).collect();
        let missing: Vec<_> = DIRECTIVES.iter().filter(|d| !words.contains(d)).collect();
        assert!(missing.is_empty(), "docs/asm.md has not {missing:?}");
    }
}
