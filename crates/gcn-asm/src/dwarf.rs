//! Debugging information. `.file`, `.loc` and `.cfi_*` become `.debug_line` and `.debug_frame`. With
//! [`crate::Options::debug`] every instruction gets its own source line, and a unit names the source.

use crate::Level;
use crate::asm::{Asm, FixKind, Fixup};
use crate::expr::Expr;
use crate::lexer::{Span, Tok, Token};
use crate::parse::Fail;
use crate::quick::CodeLine;
use crate::sections::Given;
use crate::sources::Lines;
use gcn_object::{SectionFlags, SectionKind};
use gimli::write::{
    Address, AttributeValue, CallFrameInstruction, CommonInformationEntry, DwarfUnit, EndianVec,
    FileId, FileInfo, FrameDescriptionEntry, FrameTable, LineProgram, LineString, LineStringTable,
    Range, RangeList, RelocateWriter, Relocation, RelocationTarget, Sections, StringTable,
};
use gimli::{Encoding, Format, LineEncoding, LittleEndian, Register, SectionId};
use std::collections::BTreeMap;

/// A row of the line table: the source line of the bytes from `offset` on.
#[derive(Clone, Copy, Default)]
struct Row {
    offset: u64,
    file: u32,
    line: u64,
    column: u64,
    is_statement: bool,
    basic_block: bool,
    prologue_end: bool,
    epilogue_begin: bool,
    isa: u64,
    discriminator: u64,
}

struct File {
    directory: Option<Vec<u8>>,
    name: Vec<u8>,
    md5: Option<[u8; 16]>,
}

/// A `.cfi_startproc` and the directives that follow it.
struct Frame {
    section: u32,
    start: u64,
    end: u64,
    instructions: Vec<(u32, CallFrameInstruction)>,
}

/// The state that the directives have set.
pub(crate) struct Debug {
    files: BTreeMap<u32, File>,
    /// The line of the next bytes, from the last `.loc`.
    next: Option<Row>,
    is_statement: bool,
    rows: BTreeMap<u32, Vec<Row>>,
    frames: Vec<Frame>,
    open_frame: Option<(Frame, Span)>,
    debug_frame: bool,
    eh_frame: bool,
    /// For `-g`: the section, offset and source position of each instruction.
    lines: Vec<(u32, u64, u32)>,
}

impl Default for Debug {
    fn default() -> Debug {
        Debug {
            files: BTreeMap::new(),
            next: None,
            is_statement: true,
            rows: BTreeMap::new(),
            frames: Vec::new(),
            open_frame: None,
            debug_frame: false,
            eh_frame: true,
            lines: Vec::new(),
        }
    }
}

/// AMDGPU's values, as LLVM writes them.
const CODE_ALIGN: u8 = 4;
const DATA_ALIGN: i8 = 4;
const RETURN_ADDRESS: Register = Register(16);
/// `DW_LANG_Mips_Assembler`, the number that every assembler uses.
const ASSEMBLER: gimli::DwLang = gimli::DW_LANG_Mips_Assembler;

const LINE_ENCODING: LineEncoding = LineEncoding {
    // Data may start at any byte.
    minimum_instruction_length: 1,
    maximum_operations_per_instruction: 1,
    default_is_stmt: true,
    line_base: -5,
    line_range: 14,
};

fn encoding(version: u16) -> Encoding {
    Encoding {
        format: Format::Dwarf32,
        version,
        address_size: 8,
    }
}

impl<'s> Asm<'s, '_> {
    /// `.file`: a source file's number, or its name alone, which becomes a symbol.
    pub(crate) fn file(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let span = tokens[0].span;
        let (number, file, at) = self.parse(tokens, |p| {
            let at = p.span();
            if p.peek() == Tok::Str {
                let name = p.one_string()?;
                return Ok((None, name_file(name, None, at)?, at));
            }
            let number = p.absolute()?;
            let number = u32::try_from(number)
                .map_err(|_| Fail::new(at, "expected a file's number, 0 or more"))?;
            let (mut directory, at) = (None, p.span());
            let mut name = p.string()?;
            if p.peek() == Tok::Str {
                directory = Some(std::mem::replace(&mut name, p.string()?));
            }
            let mut file = name_file(name, directory, at)?;
            while !p.at_end() {
                let at = p.span();
                match p.ident("md5 or source")? {
                    "md5" => file.md5 = Some(md5(p)?),
                    "source" => {
                        p.string()?;
                    }
                    _ => return Err(Fail::new(at, "expected md5 or source")),
                }
            }
            Ok((Some(number), file, at))
        })?;
        let Some(number) = number else {
            let name = String::from_utf8_lossy(&file.name).into_owned();
            if self.file_symbols.len() >= 10_000 {
                return Err(Fail::new(span, "expected fewer .file"));
            }
            self.file_symbols.push(name);
            return Ok(());
        };
        let old = self.debug.files.insert(number, file);
        match (&old, self.debug.files.get(&number)) {
            (Some(old), Some(new)) if old.name != new.name || old.directory != new.directory => {
                Err(Fail::new(at, format!("file {number} has a name already")))
            }
            _ => Ok(()),
        }
    }

    /// `.loc`: the source line of the next instruction.
    pub(crate) fn loc(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let was_statement = self.debug.is_statement;
        let (row, at) = self.parse(tokens, |p| {
            let at = p.span();
            let number = |p: &mut crate::parse::Parser<'_, '_>, what: &str| {
                let at = p.span();
                let value = p.absolute()?;
                u32::try_from(value)
                    .map_err(|_| Fail::new(at, format!("expected {what}, 0 to 4294967295")))
            };
            let mut row = Row {
                is_statement: was_statement,
                file: number(p, "a file's number")?,
                ..Row::default()
            };
            row.line = number(p, "a line")?.into();
            if !p.at_end() && p.peek() != Tok::Ident {
                row.column = number(p, "a column")?.into();
            }
            while !p.at_end() {
                let at = p.span();
                match p.ident("an option of .loc")? {
                    "basic_block" => row.basic_block = true,
                    "prologue_end" => row.prologue_end = true,
                    "epilogue_begin" => row.epilogue_begin = true,
                    "is_stmt" => match number(p, "0 or 1")? {
                        value @ 0..=1 => row.is_statement = value == 1,
                        _ => return Err(Fail::new(at, "expected is_stmt 0 or is_stmt 1")),
                    },
                    "isa" => row.isa = number(p, "an instruction set's number")?.into(),
                    "discriminator" => row.discriminator = number(p, "a discriminator")?.into(),
                    _ => {
                        return Err(Fail::new(
                            at,
                            "expected basic_block, prologue_end, epilogue_begin, is_stmt, isa or discriminator",
                        ));
                    }
                }
            }
            Ok((row, at))
        })?;
        if !self.debug.files.contains_key(&row.file) {
            let message = format!("expected a `.file {}` before this", row.file);
            return Err(Fail::new(at, message));
        }
        // A line without instructions gets a row too, as in LLVM.
        self.begin_line();
        self.debug.is_statement = row.is_statement;
        self.debug.next = Some(row);
        Ok(())
    }

    /// Returns true if the next bytes begin a row of the line table.
    pub(crate) fn line_waits(&self) -> bool {
        self.debug.next.is_some()
    }

    /// Begins the row of the last `.loc` at the next byte.
    pub(crate) fn begin_line(&mut self) {
        let (section, offset) = self.location();
        if let Some(row) = self.debug.next.take() {
            let rows = self.debug.rows.entry(section).or_default();
            rows.push(Row { offset, ..row });
        }
    }

    /// With `-g`: records that the next instruction is at `span` in the source.
    pub(crate) fn own_line(&mut self, span: Span) {
        if self.options.debug.is_some() {
            let (section, offset) = self.location();
            self.debug.lines.push((section, offset, span.start));
        }
    }

    /// With `-g`: records the instructions of plain lines up to `end` in the text. Offset `from` of their bytes is `at` in
    /// the section.
    pub(crate) fn plain_lines(&mut self, code: &[CodeLine], from: usize, at: u64, end: usize) {
        let (base, section) = (self.lexer.base, self.current);
        let lines = code
            .iter()
            .take_while(|line| (line.position as usize) < end);
        self.debug.lines.extend(lines.map(|line| {
            let offset = at + (line.offset as usize - from) as u64;
            (section, offset, base + line.position)
        }));
    }

    pub(crate) fn cfi(&mut self, tokens: &[Token], name: &str) -> Result<(), Fail> {
        let span = tokens[0].span;
        let (section, offset) = self.location();
        match name {
            ".cfi_sections" => {
                let names = self.parse(tokens, |p| {
                    let mut names = [false; 2];
                    while !p.at_end() {
                        let at = p.span();
                        match p.ident(".debug_frame or .eh_frame")? {
                            ".debug_frame" => names[0] = true,
                            ".eh_frame" => names[1] = true,
                            _ => return Err(Fail::new(at, "expected .debug_frame or .eh_frame")),
                        }
                        if !p.eat(b',') {
                            break;
                        }
                    }
                    p.end()?;
                    Ok(names)
                })?;
                [self.debug.debug_frame, self.debug.eh_frame] = names;
                return Ok(());
            }
            ".cfi_startproc" => {
                self.parse(tokens, |p| {
                    if p.peek() == Tok::Ident && p.text(p.span()) == "simple" {
                        p.next();
                    }
                    p.end()
                })?;
                if self.debug.open_frame.is_some() {
                    return Err(Fail::new(span, "expected .cfi_endproc before this"));
                }
                let frame = Frame {
                    section,
                    start: offset,
                    end: offset,
                    instructions: Vec::new(),
                };
                self.debug.open_frame = Some((frame, span));
                return Ok(());
            }
            _ => {}
        }
        let Some((mut frame, at)) = self.debug.open_frame.take() else {
            return Err(Fail::new(span, "expected .cfi_startproc before this"));
        };
        if frame.section != section {
            return Err(Fail::new(
                span,
                "this is in another section than its .cfi_startproc",
            ));
        }
        if name == ".cfi_endproc" {
            self.parse(tokens, |p| p.end())?;
            frame.end = offset;
            self.debug.frames.push(frame);
            return Ok(());
        }
        let instruction = self.parse(tokens, |p| {
            let mut numbers = Vec::new();
            while !p.at_end() {
                let at = p.span();
                let number = i32::try_from(p.absolute()?)
                    .map_err(|_| Fail::new(at, "expected a number of 32 bits"))?;
                numbers.push((number, at));
                if !p.eat(b',') {
                    break;
                }
            }
            p.end()?;
            let wrong = |what: &str| Fail::new(span, format!("expected {name} {what}"));
            let register = |n: usize, what: &str| {
                let (number, at) = *numbers.get(n).ok_or_else(|| wrong(what))?;
                let number = u16::try_from(number)
                    .map_err(|_| Fail::new(at, "expected a register's number of 16 bits"))?;
                Ok(Register(number))
            };
            let offset =
                |n: usize, what: &str| numbers.get(n).map(|n| n.0).ok_or_else(|| wrong(what));
            let (instruction, count) = match name {
                ".cfi_def_cfa" => {
                    let what = "REGISTER, OFFSET";
                    let register = register(0, what)?;
                    (CallFrameInstruction::Cfa(register, offset(1, what)?), 2)
                }
                ".cfi_def_cfa_register" => {
                    let register = register(0, "REGISTER")?;
                    (CallFrameInstruction::CfaRegister(register), 1)
                }
                ".cfi_def_cfa_offset" => (CallFrameInstruction::CfaOffset(offset(0, "OFFSET")?), 1),
                ".cfi_offset" => {
                    let what = "REGISTER, OFFSET";
                    let register = register(0, what)?;
                    (CallFrameInstruction::Offset(register, offset(1, what)?), 2)
                }
                ".cfi_register" => {
                    let what = "REGISTER, REGISTER";
                    let (a, b) = (register(0, what)?, register(1, what)?);
                    (CallFrameInstruction::Register(a, b), 2)
                }
                ".cfi_undefined" => (CallFrameInstruction::Undefined(register(0, "REGISTER")?), 1),
                ".cfi_same_value" => (CallFrameInstruction::SameValue(register(0, "REGISTER")?), 1),
                ".cfi_restore" => (CallFrameInstruction::Restore(register(0, "REGISTER")?), 1),
                ".cfi_remember_state" => (CallFrameInstruction::RememberState, 0),
                ".cfi_restore_state" => (CallFrameInstruction::RestoreState, 0),
                _ => return Err(Fail::new(span, format!("{name} is not written by gcn"))),
            };
            match numbers.get(count) {
                Some((_, at)) => Err(Fail::new(*at, "expected the end of the statement")),
                None => Ok(instruction),
            }
        });
        if let Ok(instruction) = &instruction {
            let distance = (offset.saturating_sub(frame.start)).min(u32::MAX.into()) as u32;
            frame.instructions.push((distance, instruction.clone()));
        }
        self.debug.open_frame = Some((frame, at));
        instruction.map(|_| ())
    }

    /// `.uleb128` and `.sleb128`: numbers and distances that are known at this point.
    pub(crate) fn leb128(&mut self, tokens: &[Token], signed: bool) -> Result<(), Fail> {
        let span = tokens[0].span;
        let bytes = self.parse(tokens, |p| {
            let mut bytes = Vec::new();
            p.items(|p| {
                let at = p.span();
                let value = p.absolute()?;
                let done = match signed {
                    true => gimli::leb128::write::Leb128::signed(value),
                    false if value < 0 => {
                        return Err(Fail::new(at, "expected a number of 0 or more"));
                    }
                    false => gimli::leb128::write::Leb128::unsigned(value as u64),
                };
                bytes.extend(done.bytes());
                Ok(())
            })?;
            Ok(bytes)
        })?;
        self.emit(span, &bytes)
    }

    /// Writes the recorded information into its sections. All other text must have been read.
    pub(crate) fn write_debug(&mut self) {
        let debug = std::mem::take(&mut self.debug);
        if let Some((_, span)) = debug.open_frame {
            let message = "expected .cfi_endproc: this has no end".into();
            self.message(Level::Error, span, message, None);
        }
        let mut sections = Sections::new(Writer::default());
        let told = !debug.files.is_empty() || self.sections.iter().any(|s| s.name == ".debug_info");
        let written = if !told && !debug.lines.is_empty() {
            self.write_own(&debug.lines, &mut sections)
        } else {
            self.write_told(&debug, &mut sections)
        }
        .and_then(|()| write_frames(&debug, &mut sections));
        if let Err(message) = written {
            let span = Span::default();
            self.message(
                Level::Error,
                span,
                format!("debugging information: {message}"),
                None,
            );
            return;
        }
        let mut location = Vec::new();
        let taken = sections.for_each(|id, writer: &Writer| -> Result<(), Fail> {
            if writer.bytes.slice().is_empty() {
                return Ok(());
            }
            let flags = match id {
                SectionId::DebugStr | SectionId::DebugLineStr => 0x30,
                SectionId::EhFrame => 2,
                _ => 0,
            };
            let given = Given {
                flags: SectionFlags(flags),
                kind: Some(SectionKind::PROGBITS),
                entry_size: u64::from(flags == 0x30),
                ..Given::default()
            };
            let name = id.name();
            let known = self.sections.iter().any(|s| s.name == name);
            let section = self.named_section(name, (!known).then_some(given), Span::default())?;
            let made = &mut self.sections[section as usize];
            if matches!(id, SectionId::DebugFrame | SectionId::EhFrame) {
                made.align = made.align.max(8);
            }
            let start = made.data.len() as u64;
            made.data.extend_from_slice(writer.bytes.slice());
            made.size = made.data.len() as u64;
            location.push((section, start, writer.relocations.clone()));
            Ok(())
        });
        if let Err(fail) = taken {
            self.fail(fail);
        }
        for (section, start, relocations) in location {
            for relocation in relocations {
                let target = match relocation.target {
                    RelocationTarget::Symbol(section) => Some(section as u32),
                    RelocationTarget::Section(id) => {
                        let found = self.sections.iter().position(|s| s.name == id.name());
                        found.map(|n| n as u32)
                    }
                };
                if let Some(target) = target {
                    self.fixups.push(Fixup {
                        section,
                        offset: start + relocation.offset as u64,
                        kind: FixKind::Data(relocation.size),
                        expr: Expr::Location(target, relocation.addend as u64),
                        span: Span::default(),
                    });
                }
            }
        }
    }

    /// Writes the line table of `.file` and `.loc`.
    fn write_told(&self, debug: &Debug, out: &mut Sections<Writer>) -> Result<(), String> {
        if debug.rows.is_empty() && debug.files.is_empty() {
            return Ok(());
        }
        // As in LLVM, a file 0 selects DWARF 5.
        let version = if debug.files.contains_key(&0) { 5 } else { 4 };
        let first = u32::from(version == 4);
        let string = |bytes: &[u8]| LineString::String(bytes.to_vec());
        let mut program = match debug.files.get(&0) {
            Some(file) => LineProgram::new(
                encoding(version),
                LINE_ENCODING,
                string(file.directory.as_deref().unwrap_or(b".")),
                None,
                string(&file.name),
                Some(info(file)),
            ),
            None => {
                let name = string(b"");
                LineProgram::new(
                    encoding(version),
                    LINE_ENCODING,
                    string(b""),
                    None,
                    name,
                    None,
                )
            }
        };
        program.file_has_md5 = debug.files.values().all(|f| f.md5.is_some());
        let mut ids = BTreeMap::new();
        let mut names = BTreeMap::new();
        for (expected, (&number, file)) in (first..).zip(&debug.files) {
            if expected != number {
                return Err(format!(
                    "the numbers of .file must follow each other: {expected} is missing"
                ));
            }
            let directory = match &file.directory {
                Some(directory) => program.add_directory(string(directory)),
                None => program.default_directory(),
            };
            // Two numbers of one file must stay distinct. Different spellings of the name distinguish them: the parts
            // `./` and `.//` before it are the binary digits of the number of earlier occurrences of the name.
            let again: &mut u32 = names.entry((&file.name, &file.directory)).or_default();
            let mut name = file.name.clone();
            if number > 0 {
                for bit in 0..u32::BITS - again.leading_zeros() {
                    let digit: &[u8] = if *again >> bit & 1 == 0 {
                        b"./"
                    } else {
                        b".//"
                    };
                    name.splice(0..0, digit.iter().copied());
                }
            }
            *again += 1;
            ids.insert(
                number,
                program.add_file(string(&name), directory, Some(info(file))),
            );
        }
        for (&section, rows) in &debug.rows {
            program.begin_sequence(Some(Address::Symbol {
                symbol: section as usize,
                addend: rows.first().map_or(0, |r| r.offset) as i64,
            }));
            let start = rows.first().map_or(0, |r| r.offset);
            for row in rows {
                let Some(&file) = ids.get(&row.file) else {
                    continue;
                };
                let to = program.row();
                to.address_offset = row.offset - start;
                to.file = file;
                to.line = row.line;
                to.column = row.column;
                to.is_statement = row.is_statement;
                to.basic_block = row.basic_block;
                to.prologue_end = row.prologue_end;
                to.epilogue_begin = row.epilogue_begin;
                to.isa = row.isa;
                to.discriminator = row.discriminator;
                program.generate_row();
            }
            let end = self.sections[section as usize].size;
            program.end_sequence(end - start);
        }
        let (mut lines, mut strings) = (LineStringTable::default(), StringTable::default());
        let written = program.write(
            &mut out.debug_line,
            encoding(version),
            &mut lines,
            &mut strings,
        );
        written.map(|_| ()).map_err(|e| e.to_string())
    }

    /// Writes the line table and the unit of the source itself.
    fn write_own(
        &self,
        lines: &[(u32, u64, u32)],
        out: &mut Sections<Writer>,
    ) -> Result<(), String> {
        let Some(directory) = &self.options.debug else {
            return Ok(());
        };
        let bytes = |text: &str| text.replace('\0', "").into_bytes();
        let version = 4;
        let mut unit = DwarfUnit::new(encoding(version));
        let directory = match bytes(directory) {
            d if d.is_empty() => b".".to_vec(),
            d => d,
        };
        let mut program = LineProgram::new(
            encoding(version),
            LINE_ENCODING,
            LineString::String(directory.clone()),
            None,
            LineString::String(Vec::new()),
            None,
        );
        let here = program.default_directory();
        let mut files = BTreeMap::new();
        let mut sections: BTreeMap<u32, Vec<(u64, u32)>> = BTreeMap::new();
        for &(section, offset, at) in lines {
            sections.entry(section).or_default().push((offset, at));
        }
        let mut found = Lines::default();
        let mut main = None;
        // Usually it is the file of the previous line.
        let mut last: Option<(&str, FileId)> = None;
        let mut ranges = Vec::new();
        for (section, rows) in sections {
            let start = rows.first().map_or(0, |r| r.0);
            let begin = Address::Symbol {
                symbol: section as usize,
                addend: start as i64,
            };
            program.begin_sequence(Some(begin));
            for (offset, at) in rows {
                let (name, line) = self.sources.file_and_line(at, &mut found);
                let name = if name.is_empty() { "<source>" } else { name };
                let file = match last {
                    Some((before, file)) if before == name => file,
                    _ => *files.entry(name.to_string()).or_insert_with(|| {
                        program.add_file(LineString::String(bytes(name)), here, None)
                    }),
                };
                last = Some((name, file));
                main.get_or_insert_with(|| bytes(name));
                let row = program.row();
                row.address_offset = offset - start;
                row.file = file;
                row.line = line as u64;
                program.generate_row();
            }
            let length = self.sections[section as usize].size - start;
            program.end_sequence(length);
            ranges.push(Range::StartLength { begin, length });
        }
        unit.unit.line_program = program;
        let ranges = unit.unit.ranges.add(RangeList(ranges));
        let root = unit.unit.root();
        let root = unit.unit.get_mut(root);
        let producer = format!("gcn {}", env!("CARGO_PKG_VERSION"));
        for (name, value) in [
            (gimli::DW_AT_name, main.unwrap_or_default()),
            (gimli::DW_AT_comp_dir, directory),
            (gimli::DW_AT_producer, producer.into_bytes()),
        ] {
            root.set(name, AttributeValue::String(value));
        }
        root.set(gimli::DW_AT_language, AttributeValue::Language(ASSEMBLER));
        root.set(
            gimli::DW_AT_low_pc,
            AttributeValue::Address(Address::Constant(0)),
        );
        root.set(gimli::DW_AT_ranges, AttributeValue::RangeListRef(ranges));
        unit.write(out).map_err(|e| e.to_string())
    }
}

fn write_frames(debug: &Debug, out: &mut Sections<Writer>) -> Result<(), String> {
    if debug.frames.is_empty() {
        return Ok(());
    }
    let table = |version| {
        let mut table = FrameTable::default();
        let cie = table.add_cie(CommonInformationEntry::new(
            encoding(version),
            CODE_ALIGN,
            DATA_ALIGN,
            RETURN_ADDRESS,
        ));
        for frame in &debug.frames {
            let address = Address::Symbol {
                symbol: frame.section as usize,
                addend: frame.start as i64,
            };
            let length = u32::try_from(frame.end - frame.start).unwrap_or(u32::MAX);
            let mut fde = FrameDescriptionEntry::new(address, length);
            for (offset, instruction) in &frame.instructions {
                fde.add_instruction(*offset, instruction.clone());
            }
            table.add_fde(cie, fde);
        }
        table
    };
    let said = |e: gimli::write::Error| e.to_string();
    if debug.debug_frame {
        (table(4).write_debug_frame(&mut out.debug_frame)).map_err(said)?;
    }
    if debug.eh_frame {
        table(1).write_eh_frame(&mut out.eh_frame).map_err(said)?;
    }
    Ok(())
}

fn info(file: &File) -> FileInfo {
    FileInfo {
        md5: file.md5.unwrap_or_default(),
        ..FileInfo::default()
    }
}

fn name_file(name: Vec<u8>, directory: Option<Vec<u8>>, at: Span) -> Result<File, Fail> {
    let directory = directory.filter(|d| !d.is_empty());
    if name.is_empty() || name.contains(&0) || directory.iter().flatten().any(|&c| c == 0) {
        return Err(Fail::new(at, "expected a file's name, without NUL"));
    }
    Ok(File {
        directory,
        name,
        md5: None,
    })
}

/// `0x` and 32 digits.
fn md5(p: &mut crate::parse::Parser<'_, '_>) -> Result<[u8; 16], Fail> {
    let at = p.span();
    let digits = p.text(at).strip_prefix("0x").unwrap_or("");
    let value = u128::from_str_radix(digits, 16)
        .map_err(|_| Fail::new(at, "expected 0x and 32 hexadecimal digits"))?;
    p.next();
    Ok(value.to_be_bytes())
}

/// The bytes of a section and the relocations in them.
#[derive(Clone)]
pub(crate) struct Writer {
    bytes: EndianVec<LittleEndian>,
    relocations: Vec<Relocation>,
}

impl Default for Writer {
    fn default() -> Writer {
        Writer {
            bytes: EndianVec::new(LittleEndian),
            relocations: Vec::new(),
        }
    }
}

impl RelocateWriter for Writer {
    type Writer = EndianVec<LittleEndian>;

    fn writer(&self) -> &Self::Writer {
        &self.bytes
    }

    fn writer_mut(&mut self) -> &mut Self::Writer {
        &mut self.bytes
    }

    fn relocate(&mut self, relocation: Relocation) {
        self.relocations.push(relocation);
    }
}
