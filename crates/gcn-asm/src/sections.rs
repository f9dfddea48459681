//! Sections, and the current one among them.

use crate::asm::Asm;
use crate::lexer::{Span, Tok, Token};
use crate::parse::{Fail, Parser};
use gcn_object::write::Section;
use gcn_object::{SectionFlags, SectionKind};

/// The attributes of a `.section` directive other than the name.
#[derive(Clone, Default)]
pub(crate) struct Given {
    pub(crate) flags: SectionFlags,
    pub(crate) kind: Option<SectionKind>,
    pub(crate) entry_size: u64,
    pub(crate) extra: Extra,
}

/// The properties that distinguish sections of one name, and data of a section other than its bytes.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Extra {
    /// The symbol that names the section's group; a linker keeps one group of each name.
    pub(crate) group: Option<String>,
    pub(crate) unique: Option<u32>,
    /// The section that this one describes, whose position it takes in the order.
    pub(crate) link: Option<String>,
}

impl<'s> Asm<'s, '_> {
    pub(crate) fn switch(&mut self, section: u32) {
        self.previous = self.current;
        self.current = section;
    }

    pub(crate) fn named_section(
        &mut self,
        name: &str,
        given: Option<Given>,
        span: Span,
    ) -> Result<u32, Fail> {
        let none = Extra::default();
        let extra = |n: usize| self.extras.get(&(n as u32)).unwrap_or(&none);
        // The sections of a name, in their order. Some were created without being named in the text.
        for (n, section) in self.sections.iter().enumerate().skip(self.named) {
            let same = self.sections_named.entry(section.name.clone());
            same.or_default().push(n);
        }
        self.named = self.sections.len();
        let mut same = self.sections_named.get(name).into_iter().flatten();
        let found = same.find(|n| given.as_ref().is_none_or(|g| g.extra == *extra(**n)));
        if let Some(&n) = found {
            let section = &self.sections[n];
            if let Some(g) = given
                && (section.flags != g.flags || g.kind.is_some_and(|k| k != section.kind))
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
        let given = given.unwrap_or(Given {
            flags: default,
            ..Given::default()
        });
        let kind = given.kind.unwrap_or(if name.starts_with(".note") {
            SectionKind::NOTE
        } else if is(".bss") {
            SectionKind::NOBITS
        } else {
            SectionKind::PROGBITS
        });
        if self.sections.len() > 10_000 {
            return Err(Fail::new(span, "expected fewer sections"));
        }
        let mut section = Section::new(
            name,
            given.flags,
            if name == ".text" { 4 } else { 1 },
            Vec::new(),
        );
        section.kind = kind;
        section.entry_size = given.entry_size;
        self.sections.push(section);
        let new = self.sections.len() as u32 - 1;
        if given.extra != none {
            self.extras.insert(new, given.extra);
        }
        Ok(new)
    }

    pub(crate) fn section(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let span = tokens[0].span;
        let (name, given) = self.parse(tokens, |p| {
            // A name may contain characters that end other names; it ends at the comma.
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
                let flags = SectionFlags(flags);
                return Ok((
                    name,
                    Some(Given {
                        flags,
                        ..Given::default()
                    }),
                ));
            }
            let at = p.span();
            if p.peek() != Tok::Str {
                return Err(Fail::new(at, "expected flags such as \"a\" or #alloc"));
            }
            p.next();
            // Flags without a letter are a number after the letters, as in GNU as.
            let text = p.text(at).trim_matches('"');
            let (letters, number) = match text.find(|c: char| c.is_ascii_digit()) {
                Some(start) => text.split_at(start),
                None => (text, ""),
            };
            if !number.is_empty() {
                let parsed = match number.strip_prefix("0x") {
                    Some(hex) => u64::from_str_radix(hex, 16),
                    None => number.parse(),
                };
                flags |= parsed.map_err(|_| {
                    Fail::new(at, format!("expected letters and a number, not `{number}`"))
                })?;
            }
            for c in letters.chars() {
                flags |= match c {
                    'w' => 1,
                    'a' => 2,
                    'x' => 4,
                    'M' => 0x10,
                    'S' => 0x20,
                    'T' => 0x400,
                    'R' => 0x20_0000,
                    'e' => 0x8000_0000,
                    'G' => SectionFlags::GROUP,
                    'o' => SectionFlags::LINK_ORDER,
                    _ => {
                        return Err(Fail::new(at, format!("there is no section flag '{c}'")));
                    }
                };
            }
            let mut given = Given {
                flags: SectionFlags(flags),
                ..Given::default()
            };
            if p.eat(b',') {
                given.kind = Some(p.section_kind()?);
            }
            // LLVM accepts a size only for mergeable sections; tables have one, too.
            let sized = p.is(b',') && matches!(p.peek_at(1), Tok::Int(_));
            if given.kind.is_some() && (flags & 0x10 != 0 || sized) {
                p.expect(b',')?;
                let at = p.span();
                let size = p.absolute()?;
                given.entry_size = u64::try_from(size)
                    .map_err(|_| Fail::new(at, "expected the size of an entry"))?;
            }
            if flags & SectionFlags::GROUP != 0 {
                p.expect(b',')?;
                given.extra.group = Some(p.name("the group's name")?.to_string());
                if p.is(b',') && p.text(p.span_at(1)) == "comdat" {
                    p.next();
                    p.next();
                }
            }
            if flags & SectionFlags::LINK_ORDER != 0 {
                p.expect(b',')?;
                given.extra.link = Some(p.name("a section's name")?.to_string());
            }
            if p.eat(b',') {
                let at = p.span();
                if p.ident("unique")? != "unique" {
                    return Err(Fail::new(at, "expected unique"));
                }
                p.expect(b',')?;
                let at = p.span();
                let number = p.absolute()?;
                given.extra.unique =
                    Some(u32::try_from(number).map_err(|_| Fail::new(at, "expected a number"))?);
            }
            p.end()?;
            Ok((name, Some(given)))
        })?;
        let section = self.named_section(name, given, span)?;
        self.switch(section);
        Ok(())
    }
}

impl<'s> Parser<'s, '_> {
    /// Reads `@progbits` and the like, or a number.
    fn section_kind(&mut self) -> Result<SectionKind, Fail> {
        if !self.eat(b'@') {
            self.eat(b'%');
        }
        let at = self.span();
        if let Tok::Int(n) = self.peek()
            && let Ok(n) = u32::try_from(n)
        {
            self.next();
            return Ok(SectionKind(n));
        }
        let expected = "@progbits, @nobits, @note or an array's type";
        match self.name(expected)? {
            "progbits" => Ok(SectionKind::PROGBITS),
            "nobits" => Ok(SectionKind::NOBITS),
            "note" => Ok(SectionKind::NOTE),
            "init_array" => Ok(SectionKind::INIT_ARRAY),
            "fini_array" => Ok(SectionKind::FINI_ARRAY),
            "preinit_array" => Ok(SectionKind::PREINIT_ARRAY),
            "llvm_addrsig" => Ok(SectionKind::LLVM_ADDRSIG),
            _ => Err(Fail::new(at, format!("expected {expected}"))),
        }
    }

    /// Reads a name, which may be quoted.
    fn name(&mut self, what: &str) -> Result<&'s str, Fail> {
        if self.peek() == Tok::Str {
            let text = self.text(self.span()).trim_matches('"');
            self.next();
            return Ok(text);
        }
        // `.text` and `1.2` are valid names here as well.
        self.ident(what)
    }
}
