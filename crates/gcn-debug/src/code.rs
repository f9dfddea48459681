//! The code of the loaded objects: instructions, symbols, source lines, and locations as users write them.

use std::collections::{BTreeMap, HashMap};

use gcn::lines::Lines;
use gcn_emu::engine::{Code as From, instruction};
use gcn_emu::mem::Memory;
use gcn_isa::Target;
use gcn_isa::access::{Counters, InstructionTable, MemoryKind, RegAccess};
use gcn_isa::decode::Insn;
use gcn_isa::flow::{Flow, branch_target};
use gcn_isa::print::{Style, print};
use gcn_object::read::CodeObject;
use gcn_object::{SymbolKind, SymbolSection};

use crate::calls::Outstanding;

/// An instruction, and the facts about it that the session uses.
#[derive(Clone, Debug)]
pub struct Info {
    /// Its guest address.
    pub pc: u64,
    /// The instruction.
    pub insn: Insn,
    /// The registers that it writes.
    pub writes: Vec<RegAccess>,
    /// The instruction may write memory, LDS or GDS.
    pub stores: bool,
    /// The instruction calls: it saves the next instruction's address.
    pub calls: bool,
    /// The instruction jumps to an address in registers and saves none, as a return does.
    pub returns: bool,
    /// The counters that it increments.
    pub counters: Counters,
    /// The maximum that it leaves outstanding, if it is a wait.
    pub waits: Option<Outstanding>,
    /// A breakpoint is here.
    pub(crate) breaks: bool,
}

/// The maximum bytes of code that are searched for calls.
const MOST_CODE: u64 = 4 << 20;

/// A loaded object.
struct Image {
    /// The offset added to the file's addresses.
    base: u64,
    /// Guest addresses of its code: start and end of each executable segment.
    code: Vec<(u64, u64)>,
    /// Functions and kernels by guest address: name and size.
    symbols: BTreeMap<u64, (String, u64)>,
    /// Source lines by guest address: file, line and the line's text. An entry with an empty file marks the end of the last line.
    lines: BTreeMap<u64, Line>,
}

/// A line of source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The file, as it was given to the compiler.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// Its text, if the file was found.
    pub text: Option<String>,
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The addresses of a breakpoint's location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Guest addresses of instructions.
    pub addresses: Vec<u64>,
    /// The line that was chosen, if it differs from the requested one.
    pub note: Option<String>,
}

/// The code of all loaded objects.
pub struct CodeMap {
    target: Target,
    table: InstructionTable,
    images: Vec<Image>,
    numbers: HashMap<u64, u32>,
    infos: Vec<Info>,
    /// The address and number of the instruction that was looked up last.
    last: (u64, u32),
}

fn image(object: &CodeObject, base: u64) -> Image {
    let guest = |address: u64| address.wrapping_add(base);
    let code: Vec<(u64, u64)> = (object.segments.iter())
        .filter(|s| s.executable)
        .map(|s| (guest(s.address), guest(s.address + s.size)))
        .collect();
    let mut symbols: BTreeMap<u64, (String, u64)> = BTreeMap::new();
    for symbol in gcn::dis::symbols(object) {
        let SymbolSection::Index(section) = symbol.section else {
            continue;
        };
        let exec = object.sections.get(section).is_some_and(|s| s.flags.exec());
        let named = matches!(symbol.kind, SymbolKind::Func | SymbolKind::NoType);
        if exec && named && !symbol.name.is_empty() {
            symbols.insert(guest(symbol.address), (symbol.name.clone(), symbol.size));
        }
    }
    for kernel in &object.kernels {
        let size = symbols.get(&guest(kernel.entry)).map_or(0, |s| s.1);
        symbols.insert(guest(kernel.entry), (kernel.name.clone(), size));
    }
    let mut lines = BTreeMap::new();
    if let Ok(read) = Lines::read(object, true) {
        for (n, section) in object.sections.iter().enumerate() {
            if !section.flags.exec() {
                continue;
            }
            for (address, text) in read.of(n, section.address, section.address + section.size) {
                let (location, text) = match text.split_once('\n') {
                    Some((location, text)) => (location, Some(text.trim_end().to_owned())),
                    None => (text, None),
                };
                let Some((file, line)) = location.rsplit_once(':') else {
                    continue;
                };
                let Ok(line) = line.parse() else { continue };
                let file = file.to_owned();
                lines.insert(guest(address), Line { file, line, text });
            }
        }
    }
    Image {
        base,
        code,
        symbols,
        lines,
    }
}

impl CodeMap {
    /// The code of objects, with the differences between their addresses in memory and in the files.
    pub(crate) fn new<'a>(
        target: Target,
        objects: impl IntoIterator<Item = (u64, &'a CodeObject)>,
    ) -> CodeMap {
        let objects = objects.into_iter();
        CodeMap {
            target,
            table: InstructionTable::new(target),
            images: objects.map(|(base, object)| image(object, base)).collect(),
            numbers: HashMap::new(),
            infos: Vec::new(),
            last: (u64::MAX, 0),
        }
    }

    /// The number of the instruction at a guest address among those that were looked up. Returns `None` if there is no instruction.
    pub(crate) fn number(
        &mut self,
        pc: u64,
        memory: &Memory,
        breaks: impl Fn(u64) -> bool,
    ) -> Option<u32> {
        // Usually it is the one after the last.
        let guess = self.last.1 + 1;
        if self
            .infos
            .get(guess as usize)
            .is_some_and(|info| info.pc == pc)
        {
            self.last = (pc, guess);
            return Some(guess);
        }
        if let Some(&number) = self.numbers.get(&pc) {
            self.last = (pc, number);
            return Some(number);
        }
        let info = self.decode(pc, memory)?;
        let number = self.infos.len() as u32;
        self.infos.push(Info {
            breaks: breaks(pc),
            ..info
        });
        self.numbers.insert(pc, number);
        self.last = (pc, number);
        Some(number)
    }

    /// The instruction of a number.
    pub(crate) fn info(&self, number: u32) -> &Info {
        &self.infos[number as usize]
    }

    /// The instruction at a guest address, if it was looked up.
    pub(crate) fn decoded(&self, pc: u64) -> Option<&Info> {
        self.numbers.get(&pc).map(|&n| self.info(n))
    }

    /// The guest addresses of instructions that call or return. `None` if there is too much code to search.
    pub(crate) fn calls_and_returns(&self, memory: &Memory) -> Option<Vec<u64>> {
        let ranges = || self.images.iter().flat_map(|image| &image.code);
        if ranges().map(|(start, end)| end - start).sum::<u64>() > MOST_CODE {
            return None;
        }
        let mut found = Vec::new();
        for &(start, end) in ranges() {
            let mut pc = start;
            while pc < end {
                let insn = instruction(self.target, From::Memory, memory, pc);
                let Some(insn) = insn else {
                    pc += 4;
                    continue;
                };
                let flow = self.table.of(&insn).flow(&insn);
                if matches!(
                    flow,
                    Flow::Indirect { .. } | Flow::Branch { links: true, .. }
                ) {
                    found.push(pc);
                }
                pc += insn.len as u64;
            }
        }
        Some(found)
    }

    /// Marks the instructions that have breakpoints.
    pub(crate) fn mark(&mut self, breaks: impl Fn(u64) -> bool) {
        for info in &mut self.infos {
            info.breaks = breaks(info.pc);
        }
    }

    /// Discards decoded instructions, because code was changed.
    pub(crate) fn invalidate(&mut self, memory: &Memory) {
        for n in 0..self.infos.len() {
            if let Some(info) = self.decode(self.infos[n].pc, memory) {
                let breaks = self.infos[n].breaks;
                self.infos[n] = Info { breaks, ..info };
            }
        }
    }

    /// Decodes the instruction at a guest address.
    pub fn decode(&self, pc: u64, memory: &Memory) -> Option<Info> {
        let insn = instruction(self.target, From::Memory, memory, pc)?;
        let info = self.table.of(&insn);
        let flow = info.flow(&insn);
        let links = |flow: &Flow| match flow {
            Flow::Branch { links, .. } | Flow::Indirect { links, .. } => *links,
            _ => false,
        };
        Some(Info {
            pc,
            writes: info.accesses(&insn).filter(|a| a.write).collect(),
            stores: info
                .memory(&insn)
                .is_some_and(|m| m.kind != MemoryKind::Load || m.to_lds),
            counters: info.counters(&insn),
            waits: gcn::check::waitcnt::wait(info, &insn).map(|w| Outstanding::left_by(&w)),
            calls: links(&flow),
            returns: matches!(flow, Flow::Indirect { links: false, .. }),
            breaks: false,
            insn,
        })
    }

    /// The guest address of the instruction that contains a guest address, unless the address is its first byte. Instructions are
    /// decoded from the beginning of the function.
    pub(crate) fn within(&self, address: u64, memory: &Memory) -> Option<u64> {
        let mut pc = self.function(address)?.0;
        while pc < address {
            let insn = instruction(self.target, From::Memory, memory, pc);
            let next = pc + insn.map_or(4, |insn| insn.len as u64);
            if address < next {
                return Some(pc);
            }
            pc = next;
        }
        None
    }

    /// The text of the instruction at a guest address.
    pub fn text(&self, pc: u64, memory: &Memory) -> String {
        match instruction(self.target, From::Memory, memory, pc) {
            Some(insn) => {
                let mut text = String::new();
                print(&insn, &Style::LLVM, &mut text);
                text
            }
            None => "no instruction".into(),
        }
    }

    /// As [`CodeMap::text`], with the target of a branch: `s_cbranch_scc1 65532 <factorial+0x14>`.
    pub fn listed(&self, pc: u64, memory: &Memory) -> String {
        let text = self.text(pc, memory);
        let insn = instruction(self.target, From::Memory, memory, pc);
        match insn.and_then(|insn| branch_target(&insn, pc)) {
            Some(to) => format!("{text} <{}>", self.name(to)),
            None => text,
        }
    }

    /// The name of a guest address relative to its function or kernel; otherwise the address as `gcn dis` prints it.
    pub fn name(&self, pc: u64) -> String {
        match self.symbol(pc) {
            Some((name, 0)) => name.to_owned(),
            Some((name, offset)) => format!("{name}+{offset:#x}"),
            None => format!("{:#x}", self.file_address(pc)),
        }
    }

    fn image_of(&self, pc: u64) -> Option<&Image> {
        let holds = |image: &&Image| image.code.iter().any(|(a, b)| (*a..*b).contains(&pc));
        self.images.iter().find(holds)
    }

    /// Returns true if a guest address is in the code of an object.
    pub fn is_code(&self, pc: u64) -> bool {
        self.image_of(pc).is_some()
    }

    /// The address of an instruction in its file, as `gcn dis` prints it.
    pub fn file_address(&self, pc: u64) -> u64 {
        self.image_of(pc)
            .map_or(pc, |image| pc.wrapping_sub(image.base))
    }

    /// The function or kernel that holds a guest address, and the distance from its beginning.
    pub fn symbol(&self, pc: u64) -> Option<(&str, u64)> {
        let image = self.image_of(pc)?;
        let (start, (name, _)) = image.symbols.range(..=pc).next_back()?;
        Some((name, pc - start))
    }

    /// The guest addresses from the beginning of the function that holds an address to its end.
    pub fn function(&self, pc: u64) -> Option<(u64, u64)> {
        let image = self.image_of(pc)?;
        let (&start, (_, size)) = image.symbols.range(..=pc).next_back()?;
        let next = image.symbols.range(pc + 1..).next().map(|(&at, _)| at);
        let end = image.code.iter().find(|(a, b)| (*a..*b).contains(&pc))?.1;
        let end = next.unwrap_or(end).min(end);
        Some((
            start,
            if *size > 0 {
                (start + size).min(end).max(pc + 4)
            } else {
                end
            },
        ))
    }

    /// Names of functions and kernels.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let images = self.images.iter();
        images.flat_map(|image| image.symbols.values().map(|(name, _)| name.as_str()))
    }

    /// The files of the lines.
    pub fn files(&self) -> Vec<&str> {
        let lines = self.images.iter().flat_map(|image| image.lines.values());
        let mut files: Vec<&str> = lines.map(|line| line.file.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// The source line of a guest address.
    pub fn line(&self, pc: u64) -> Option<&Line> {
        let image = self.image_of(pc)?;
        let (_, line) = image.lines.range(..=pc).next_back()?;
        (!line.file.is_empty()).then_some(line)
    }

    /// Returns true if the code of a line begins at a guest address.
    pub fn line_begins(&self, pc: u64) -> bool {
        self.image_of(pc)
            .is_some_and(|image| image.lines.contains_key(&pc))
    }

    /// The location that a text names: `0x1c40` (an address as `gcn dis` prints it, or a guest address), `NAME`, `NAME+0x10`,
    /// `FILE:LINE`. `near` is the guest address of the current wave; the object that contains it takes precedence.
    ///
    /// # Errors
    /// A message that names the part that matches nothing.
    pub fn locate(&self, text: &str, near: u64) -> Result<Location, String> {
        let text = text.trim();
        let plain = text.strip_prefix('*').unwrap_or(text).trim();
        if let Some(address) = gcn::run::integer(plain) {
            let address =
                u64::try_from(address).map_err(|_| format!("`{text}` is not an address"))?;
            return self.at_address(address, near);
        }
        if let Some((file, line)) = plain.rsplit_once(':')
            && let Ok(line) = line.trim().parse::<u64>()
        {
            return self.at_line(file.trim(), line, near);
        }
        let (name, offset) = match plain.split_once('+') {
            Some((name, offset)) => {
                let number = gcn::run::integer(offset.trim()).and_then(|n| u64::try_from(n).ok());
                let number = number.ok_or_else(|| {
                    format!("`{offset}` in `{text}` is not an offset in bytes; expected a number, as 0x10")
                })?;
                (name.trim(), number)
            }
            None => (plain, 0),
        };
        let start = self.named(name, near)?;
        let address = start.wrapping_add(offset);
        self.checked(address, text)
    }

    fn checked(&self, address: u64, text: &str) -> Result<Location, String> {
        if !self.is_code(address) || !address.is_multiple_of(4) {
            let end = "the address is no instruction's";
            return Err(format!("`{text}` matches nothing: {end}"));
        }
        Ok(Location {
            addresses: vec![address],
            note: None,
        })
    }

    fn at_address(&self, address: u64, near: u64) -> Result<Location, String> {
        let own = self.image_of(near).into_iter();
        let bases = own.chain(&self.images).map(|image| image.base);
        let text = format!("{address:#x}");
        for guest in bases
            .map(|base| address.wrapping_add(base))
            .chain([address])
        {
            if self.is_code(guest) {
                return self.checked(guest, &text);
            }
        }
        let ranges: Vec<String> = (self.images.iter())
            .flat_map(|image| {
                image
                    .code
                    .iter()
                    .map(|(a, b)| (a - image.base, b - image.base))
            })
            .map(|(a, b)| format!("{a:#x} to {b:#x}"))
            .collect();
        let ranges = ranges.join(", ");
        Err(format!("`{text}` matches nothing: the code is at {ranges}"))
    }

    fn named(&self, name: &str, near: u64) -> Result<u64, String> {
        let own = self.image_of(near).into_iter();
        for image in own.chain(&self.images) {
            let mut symbols = image.symbols.iter();
            if let Some((&at, _)) = symbols.find(|(_, (n, _))| n == name) {
                return Ok(at);
            }
        }
        // The name of a C++ function without its parameters.
        let is_it = |symbol: &str| {
            gcn::cpp::demangled(symbol).is_some_and(|cpp| {
                let head = cpp.split('(').next().unwrap_or(&cpp);
                cpp == name || head == name || head.rsplit("::").next() == Some(name)
            })
        };
        let symbols = self.images.iter().flat_map(|image| &image.symbols);
        let fits: Vec<u64> = symbols
            .filter(|(_, (n, _))| is_it(n))
            .map(|(&at, _)| at)
            .collect();
        match fits.as_slice() {
            [one] => Ok(*one),
            [] => {
                let mut names: Vec<String> = self.names().map(str::to_owned).collect();
                let more = names.len().saturating_sub(20);
                names.truncate(20);
                let more = match more {
                    0 => String::new(),
                    n => format!(" and {n} more"),
                };
                Err(format!(
                    "`{name}` matches nothing: there is no such symbol; the code has {}{more}",
                    gcn::cpp::list(&names)
                ))
            }
            _ => Err(format!(
                "`{name}` fits several functions; write the symbol's name"
            )),
        }
    }

    fn at_line(&self, file: &str, wanted: u64, near: u64) -> Result<Location, String> {
        let current = self.line(near).map(|line| line.file.clone());
        let is_it = |line: &&Line| match file {
            "" => Some(&line.file) == current.as_ref(),
            _ => line.file == file || line.file.ends_with(&format!("/{file}")),
        };
        let all = || self.images.iter().flat_map(|image| &image.lines);
        let of_file = || all().filter(|(_, line)| is_it(line));
        let Some(line) = of_file()
            .map(|(_, l)| l.line)
            .filter(|l| *l >= wanted)
            .min()
        else {
            let files = self.files();
            return Err(match (files.is_empty(), of_file().next()) {
                (true, _) => format!(
                    "`{file}:{wanted}` matches nothing: the object has no line tables; compilers and `gcn asm` write them with -g"
                ),
                (false, None) => format!(
                    "`{file}:{wanted}` matches nothing: no code comes from such a file; there is {}",
                    files.join(", ")
                ),
                (false, Some(_)) => {
                    let last = of_file().map(|(_, l)| l.line).max().unwrap_or(0);
                    format!("`{file}:{wanted}` matches nothing: the last line with code is {last}")
                }
            });
        };
        // The first address in each function.
        let mut addresses: BTreeMap<u64, u64> = BTreeMap::new();
        for (&address, _) in of_file().filter(|(_, l)| l.line == line) {
            let function = self.function(address).map_or(address, |f| f.0);
            let first = addresses.entry(function).or_insert(address);
            *first = address.min(*first);
        }
        Ok(Location {
            addresses: addresses.into_values().collect(),
            note: (line != wanted).then(|| format!("line {wanted} has no code, line {line} has")),
        })
    }
}
