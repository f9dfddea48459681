//! Sections and which of them is current.

use crate::asm::Asm;
use crate::lexer::{Span, Tok, Token};
use crate::parse::Fail;
use gcn_object::write::Section;
use gcn_object::{SectionFlags, SectionKind};

impl<'s> Asm<'s, '_> {
    pub(crate) fn switch(&mut self, section: u32) {
        self.previous = self.current;
        self.current = section;
    }

    pub(crate) fn named_section(
        &mut self,
        name: &str,
        given: Option<(SectionFlags, Option<SectionKind>, u64)>,
        span: Span,
    ) -> Result<u32, Fail> {
        let found = self.sections.iter().position(|s| s.name == name);
        if let Some(n) = found {
            let section = &self.sections[n];
            if let Some((flags, kind, _)) = given
                && (section.flags != flags || kind.is_some_and(|k| k != section.kind))
            {
                return Err(Fail::new(
                    span,
                    format!("section '{name}' was made with other flags or another type"),
                ));
            }
            return Ok(n as u32);
        }
        let is = |stem: &str| {
            name == stem || name.strip_prefix(stem).is_some_and(|r| r.starts_with('.'))
        };
        let default = if is(".rodata") || name == ".rodata1" {
            SectionFlags::ALLOC
        } else if is(".text") || is(".init") || is(".fini") {
            SectionFlags::CODE
        } else if is(".data")
            || name == ".data1"
            || is(".bss")
            || is(".init_array")
            || is(".fini_array")
        {
            SectionFlags::DATA
        } else {
            SectionFlags(0)
        };
        let (flags, kind, entry_size) = given.unwrap_or((default, None, 0));
        let kind = kind.unwrap_or(if name.starts_with(".note") {
            SectionKind::NOTE
        } else if is(".bss") {
            SectionKind::NOBITS
        } else {
            SectionKind::PROGBITS
        });
        if self.sections.len() > 10_000 {
            return Err(Fail::new(span, "expected fewer sections"));
        }
        let mut section =
            Section::new(name, flags, if name == ".text" { 4 } else { 1 }, Vec::new());
        section.kind = kind;
        section.entry_size = entry_size;
        self.sections.push(section);
        Ok(self.sections.len() as u32 - 1)
    }

    pub(crate) fn section(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let span = tokens[0].span;
        let (name, given) = self.parse(tokens, |p| {
            // A name may have characters that end other names, up to the comma.
            let start = p.span();
            let mut end = start;
            while !p.at_end() && !p.is(b',') {
                end = p.span();
                p.next();
            }
            let name = p
                .text(Span {
                    start: start.start,
                    end: end.end,
                })
                .trim_matches('"');
            if name.is_empty() {
                return Err(Fail::new(start, "expected a section's name"));
            }
            if !p.eat(b',') {
                p.end()?;
                return Ok((name, None));
            }
            let mut flags = 0u64;
            if p.is(b'#') {
                while p.eat(b'#') {
                    let span = p.span();
                    flags |= match p.ident("alloc, write or execinstr")? {
                        "alloc" => 2,
                        "write" => 1,
                        "execinstr" => 4,
                        "exclude" => 0x8000_0000,
                        _ => {
                            return Err(Fail::new(span, "expected #alloc, #write or #execinstr"));
                        }
                    };
                    p.eat(b',');
                }
                p.end()?;
                return Ok((name, Some((SectionFlags(flags), None, 0))));
            }
            let at = p.span();
            if p.peek() != Tok::Str {
                return Err(Fail::new(at, "expected flags such as \"a\" or #alloc"));
            }
            p.next();
            for c in p.text(at).trim_matches('"').chars() {
                flags |= match c {
                    'w' => 1,
                    'a' => 2,
                    'x' => 4,
                    'M' => 0x10,
                    'S' => 0x20,
                    'T' => 0x400,
                    'R' => 0x20_0000,
                    'e' => 0x8000_0000,
                    _ => {
                        return Err(Fail::new(at, format!("there is no section flag '{c}'")));
                    }
                };
            }
            let mut kind = None;
            let mut entry_size = 0;
            if p.eat(b',') {
                if !p.eat(b'@') {
                    p.eat(b'%');
                }
                let at = p.span();
                kind = Some(match p.peek() {
                    Tok::Int(n) if n <= u32::MAX as u64 => {
                        p.next();
                        SectionKind(n as u32)
                    }
                    _ => match p.ident("@progbits, @nobits or @note")?.trim_matches('"') {
                        "progbits" => SectionKind::PROGBITS,
                        "nobits" => SectionKind::NOBITS,
                        "note" => SectionKind::NOTE,
                        _ => {
                            return Err(Fail::new(at, "expected @progbits, @nobits or @note"));
                        }
                    },
                });
                if p.eat(b',') {
                    let at = p.span();
                    entry_size = p.absolute()?;
                    if !(0..=1 << 20).contains(&entry_size) {
                        return Err(Fail::new(at, "expected the size of an entry"));
                    }
                }
            }
            p.end()?;
            Ok((name, Some((SectionFlags(flags), kind, entry_size as u64))))
        })?;
        let section = self.named_section(name, given, span)?;
        self.switch(section);
        Ok(())
    }
}
