//! Targets, kernel descriptors and kernel metadata.

use crate::Kernel;
use crate::Level;
use crate::ahead::{END, end_of};
use crate::asm::{Asm, FixKind, Fixup, KernelBlock, LateKernel, Waiting};
use crate::expr::{EvalError, Expr, Op, Variant};
use crate::insn::nearest;
use crate::lexer::{Span, Tok, Token};
use crate::parse::Fail;
use crate::quick::{next_line, plain_setting};
use gcn_isa::Target;
use gcn_object::target::{Machine, Os, TargetId, Version};
use gcn_object::{KernelBuilder, KernelDescriptor, SymbolKind, Visibility, metadata, note};

impl<'s> Asm<'s, '_> {
    pub(crate) fn new_target(&mut self, target: Target, span: Span) -> Result<(), Fail> {
        match self.target {
            Some(old) if old != target => Err(Fail::new(
                span,
                format!(
                    "this is for {}, but the target is {}",
                    target.name(),
                    old.name()
                ),
            )),
            _ => {
                self.set_target(target);
                Ok(())
            }
        }
    }

    pub(crate) fn amdgcn_target(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let text = self.parse(tokens, |p| p.one_string())?;
        let span = tokens[1].span;
        let text = String::from_utf8_lossy(&text).into_owned();
        let (os, id) = Os::split(&text).map_err(|m| Fail::new(span, m))?;
        self.new_os(os, span)?;
        // Only v3 writes a feature with `+` before it.
        let v3 = id.contains('+') && !id.contains(':');
        let version = match self.version {
            _ if v3 => Version::V3,
            Some(version) => version,
            None => Version::V4,
        };
        let id = TargetId::parse(id, version).map_err(|m| Fail::new(span, m))?;
        let Some(target) = Target::parse(id.machine.name) else {
            return Err(Fail::new(span, format!("{} is no target", id.machine.name)));
        };
        self.new_target(target, span)?;
        self.target_id = Some((id, version));
        Ok(())
    }

    pub(crate) fn arch(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let (target, span) = self.target_name(tokens)?;
        self.new_target(target, span)
    }

    /// Returns the target that a directive names.
    pub(crate) fn target_name(&mut self, tokens: &[Token]) -> Result<(Target, Span), Fail> {
        // The lexer reads `gcn1.2` as a name and a number.
        let span = match tokens {
            [_, first, .., last, _] => first.span.to(last.span),
            [_, only, ..] => only.span,
            _ => Span::default(),
        };
        let name = self.text(span).trim_matches('"');
        if let Some(target) = Target::parse(name) {
            return Ok((target, span));
        }
        // CLRX's names of architectures, and of devices that have other names in LLVM.
        let device = crate::clrx::directives::target_of_device(name).filter(|_| self.clrx);
        let known = crate::clrx::directives::target_of_architecture(name).or(device);
        if let Some(target) = known {
            return Ok((target, span));
        }
        let fail = Fail::new(span, format!("there is no target `{name}`"));
        let names = Target::all().map(Target::name);
        Err(match nearest(name, names) {
            Some(near) => fail.help(format!("did you mean `{near}`?")),
            None => fail,
        })
    }

    /// Returns the target with its features.
    pub(crate) fn id(&self) -> Option<TargetId> {
        let target = self.target?;
        match self.target_id {
            Some((id, _)) => Some(id),
            None => Machine::from_name(target.name()).map(TargetId::new),
        }
    }

    pub(crate) fn kernel_start(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let span = tokens[0].span;
        let name = self.parse(tokens, |p| {
            let span = p.span();
            let name = match p.peek() {
                Tok::Str => {
                    p.next();
                    p.text(span).trim_matches('"')
                }
                _ => p.ident("the kernel's name")?,
            };
            p.end()?;
            Ok(name)
        })?;
        let builder = self.id().map(KernelBuilder::new);
        let known = builder.is_some();
        self.block = Some(KernelBlock {
            name,
            span,
            builder,
            waiting: Vec::new(),
        });
        if !known {
            return Err(Fail::new(
                span,
                "the target is not known: expected .amdgcn_target before",
            ));
        }
        Ok(())
    }

    pub(crate) fn amdhsa(&mut self, tokens: &[Token], name: &str) -> Result<(), Fail> {
        let span = tokens[0].span;
        if self.block.is_none() {
            return Err(Fail::new(span, "expected .amdhsa_kernel before this"));
        }
        let (value, at) = self.parse(tokens, |p| {
            let start = p.span();
            let expr = p.expr()?;
            let at = start.to(p.last_span());
            let value = match p.sym.evaluate(&expr) {
                Err(EvalError::Undefined(_)) => Err(expr),
                _ => Ok(p.known(&expr, start)?),
            };
            p.end()?;
            Ok((value, at))
        })?;
        let value = match value {
            Ok(value) => value,
            Err(expr) => {
                if let Some(block) = &mut self.block {
                    block.waiting.push(Waiting {
                        name: name.to_string(),
                        expr,
                        span: at,
                    });
                }
                return Ok(());
            }
        };
        let Some(builder) = self.block.as_mut().and_then(|b| b.builder.as_mut()) else {
            return Ok(());
        };
        builder.set(name, value).map_err(|message| {
            let at = if message.contains("value") { at } else { span };
            let known = gcn_object::descriptor::DIRECTIVES.iter().map(|d| d.name);
            let fail = Fail::new(at, message);
            match nearest(name, known.filter(|k| *k != name)) {
                Some(near) if fail.message.contains("unknown") => {
                    fail.help(format!("did you mean `{near}`?"))
                }
                _ => fail,
            }
        })
    }

    /// Reads the next lines of a kernel's block that set a plain number, without tokens; [`Asm::amdhsa`] gives the same result.
    /// Returns true if there were any.
    pub(crate) fn plain_settings(&mut self) -> bool {
        let plain = self.lexer.line_start
            && self.lexer.pos >= self.quick_from
            && !self.clrx
            && self.macros.is_empty()
            && self.listing.is_none();
        let builder = self.block.as_mut().and_then(|b| b.builder.as_mut());
        let Some(builder) = builder.filter(|_| plain) else {
            return false;
        };
        let start = self.lexer.pos;
        let mut pos = start;
        while let Some((name, value, next)) = plain_setting(self.lexer.src, pos, self.lexer.reading)
            && builder.set(name, value).is_ok()
        {
            pos = next;
        }
        if pos > start {
            self.lexer.go_to_line(pos);
        }
        pos > start
    }

    pub(crate) fn kernel_end(&mut self, span: Span) -> Result<(), Fail> {
        let Some(block) = self.block.take() else {
            return Err(Fail::new(span, "expected .amdhsa_kernel before this"));
        };
        let Some(builder) = block.builder else {
            return Ok(());
        };
        let late = !block.waiting.is_empty();
        let descriptor = match late {
            // Its bytes are written when the symbols are known.
            true => KernelDescriptor::default(),
            false => builder.finish().map_err(|m| Fail::new(block.span, m))?,
        };
        // LLVM adds the descriptor's symbol before the code's.
        let kd = self.sym.intern_made(format!("{}.kd", block.name));
        let code = self.sym.intern(block.name);
        let (section, offset) = self.location();
        if !offset.is_multiple_of(64) {
            self.message(
                Level::Warning,
                block.span,
                "the kernel descriptor is not at a multiple of 64 bytes".into(),
                Some("`.p2align 6` before .amdhsa_kernel aligns it".into()),
            );
        }
        let align = &mut self.sections[section as usize].align;
        *align = (*align).max(64);
        self.define_label(kd, block.span)?;
        let (binding, visibility) = {
            let symbol = self.sym.get_mut(code);
            let old = (symbol.binding, symbol.visibility);
            if symbol.visibility == Visibility::Default {
                symbol.visibility = Visibility::Protected;
            }
            old
        };
        let symbol = self.sym.get_mut(kd);
        symbol.binding = binding;
        symbol.visibility = visibility;
        symbol.kind = SymbolKind::Object;
        symbol.size = Some(Expr::Const(64));
        self.emit(block.span, &descriptor.to_bytes())?;
        let distance = Expr::Binary(
            Op::Sub,
            Box::new((
                Expr::Sym(code, Variant::None),
                Expr::Location(section, offset),
            )),
        );
        self.fixups.push(Fixup {
            section,
            offset: offset + 16,
            kind: FixKind::Data(8),
            expr: distance,
            span: block.span,
        });
        if late {
            self.late_kernels.push(LateKernel {
                builder,
                waiting: block.waiting,
                kernel: self.kernels.len(),
                location: (section, offset),
                span: block.span,
            });
        }
        self.kernels.push(Kernel {
            name: block.name.to_string(),
            descriptor,
        });
        Ok(())
    }

    /// Writes the descriptors that depended on undefined symbols. All text must have been read.
    pub(crate) fn finish_kernels(&mut self) {
        for mut late in std::mem::take(&mut self.late_kernels) {
            let mut good = true;
            for waiting in std::mem::take(&mut late.waiting) {
                let value = match self.sym.evaluate(&waiting.expr) {
                    Ok(value) if value.is_absolute() => {
                        late.builder.set(&waiting.name, value.addend)
                    }
                    Ok(_) => Err(
                        "expected an absolute expression: this one depends on where code is placed"
                            .into(),
                    ),
                    Err(error) => Err(self.explain(error)),
                };
                if let Err(message) = value {
                    good = false;
                    self.message(Level::Error, waiting.span, message, None);
                }
            }
            match late.builder.finish() {
                _ if !good => {}
                Err(message) => self.message(Level::Error, late.span, message, None),
                Ok(descriptor) => {
                    let (section, offset) = late.location;
                    let bytes = descriptor.to_bytes();
                    let at = offset as usize;
                    let data = &mut self.sections[section as usize].data;
                    if let Some(location) = data.get_mut(at..at + bytes.len()) {
                        location.copy_from_slice(&bytes);
                    }
                    if let Some(kernel) = self.kernels.get_mut(late.kernel) {
                        kernel.descriptor = descriptor;
                    }
                }
            }
        }
    }

    /// Returns the text up to the line that begins with `end`, for blocks that do not consist of statements.
    pub(crate) fn raw_block(&mut self, end: &str, span: Span) -> Result<&'s str, Fail> {
        let start = self.lexer.pos;
        let rest = self.lexer.src.get(start..).unwrap_or("");
        if let Some(at) = end_of(rest, end) {
            self.lexer.go_to_line(next_line(self.lexer.src, start + at));
            return Ok(&rest[..at]);
        }
        self.lexer.pos = self.lexer.src.len();
        Err(Fail::new(
            span,
            format!("expected {end}: this block has no end"),
        ))
    }

    pub(crate) fn metadata_block(&mut self, span: Span) -> Result<(), Fail> {
        let text = self.raw_block(END, span)?;
        let yaml = |e: metadata::MetadataError| Fail::new(span, format!("kernel metadata: {e}"));
        let known = (self.options.metadata.as_deref())
            .filter(|known| text.is_empty() || known.text() == text);
        let made = match known {
            Some(known) => Some(known.made()),
            None => self.ahead.take().and_then(|ahead| ahead.made(text)),
        };
        let made = made.unwrap_or_else(|| crate::ahead::made(text));
        let (descriptor, minor) = made.map_err(yaml)?;
        if self.version.is_none() {
            self.version = match minor {
                Some(0) => Some(Version::V3),
                Some(2) if self.target.is_some_and(Target::is_generic) => Some(Version::V6),
                Some(2) => Some(Version::V5),
                _ => Some(Version::V4),
            };
        }
        if self.metadata.is_some() {
            return Err(Fail::new(span, "there is kernel metadata already"));
        }
        self.note("AMDGPU", note::MSGPACK, &descriptor);
        self.metadata = Some(descriptor);
        Ok(())
    }
}
