//! Handmade host files, and a loader for them.

#![allow(dead_code, reason = "each test uses its part")]

/// Random numbers from a fixed sequence.
pub struct Xorshift(pub u64);

impl Xorshift {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Changes some bytes of the file, half of them near its start and end, where headers are.
    pub fn mutate(&mut self, file: &mut Vec<u8>) {
        const ODD: [u64; 11] = [
            0,
            1,
            0xff,
            0xffff,
            0x7fff_ffff,
            0xffff_ffff,
            u64::MAX,
            u64::MAX - 63,
            1 << 63,
            1 << 40,
            0x1000,
        ];
        for _ in 0..=self.below(4) {
            let size = file.len();
            let at = match self.below(4) {
                0 => self.below(size.min(0x200)),
                1 => size - 1 - self.below(size.min(0x400)),
                _ => self.below(size),
            };
            if self.below(2) == 0 {
                file[at] = self.next() as u8;
            } else {
                let value = ODD[self.below(ODD.len())].to_le_bytes();
                let at = at & !7;
                let width = [1, 2, 4, 8][self.below(4)].min(size - at);
                file[at..at + width].copy_from_slice(&value[..width]);
            }
        }
        if self.below(8) == 0 {
            file.truncate(self.below(file.len()));
        }
    }
}

pub fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    bytes[at..at + width]
        .iter()
        .rev()
        .fold(0, |n, b| n << 8 | u64::from(*b))
}

/// The size of `.bss` in [`library`], in bytes.
pub const BSS: u64 = 0x2345;
const FATBIN: u64 = 0x1000;

struct Section {
    name: &'static str,
    kind: u32,
    flags: u64,
    address: u64,
    bytes: Vec<u8>,
    size: u64,
    info: u32,
}

fn section(name: &'static str, kind: u32, flags: u64, address: u64, bytes: Vec<u8>) -> Section {
    let size = bytes.len() as u64;
    Section {
        name,
        kind,
        flags,
        address,
        bytes,
        size,
        info: 0,
    }
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Returns a shared library (or with `fixed` a program at fixed addresses) for x86-64 with these bundles in
/// `.hip_fatbin`, each at the start of a page, a wrapper for each in `.hipFatBinSegment`, and zeroed data after them.
pub fn library(bundles: &[&[u8]], fixed: bool) -> Vec<u8> {
    const RELATIVE: u64 = 8;
    let mut fatbin = Vec::new();
    let mut starts = Vec::new();
    for bundle in bundles {
        fatbin.resize(fatbin.len().next_multiple_of(4096), 0);
        starts.push(FATBIN + fatbin.len() as u64);
        fatbin.extend(*bundle);
    }
    // The second segment's address is one page more than its offset in the file.
    let data = (FATBIN + fatbin.len() as u64).next_multiple_of(64);
    let (dynamic, dynamic_size) = (data + 4096, 64);
    let wrappers = dynamic + dynamic_size;
    let (mut table, mut segment, mut symbols) = (Vec::new(), Vec::new(), vec![0; 24]);
    for (n, start) in starts.iter().enumerate() {
        let slot = wrappers + 24 * n as u64;
        segment.extend(0x4849_5046u32.to_le_bytes());
        segment.extend(1u32.to_le_bytes());
        segment.extend(words(&[if fixed { *start } else { 0 }, 0]));
        if !fixed {
            table.extend(words(&[slot + 8, RELATIVE, *start]));
        }
        symbols.extend([0, 0, 0, 0, 1, 0, 2, 0]);
        symbols.extend(words(&[*start, 0]));
    }
    let rela = 0x200;
    let table_size = table.len() as u64;
    let mut sections = vec![
        section(".rela.dyn", 4, 2, rela, table),
        section(".hip_fatbin", 1, 2, FATBIN, fatbin),
        section(
            ".dynamic",
            6,
            3,
            dynamic,
            words(&[7, rela, 8, table_size, 9, 24, 0, 0]),
        ),
        section(".hipFatBinSegment", 1, 3, wrappers, segment),
        section(".bss", 8, 3, 0, Vec::new()),
        section(".comment", 1, 0, 0, b"made by hand\0".to_vec()),
        section(".symtab", 2, 0, 0, symbols),
    ];
    let end = wrappers + 24 * bundles.len() as u64;
    (sections[4].address, sections[4].size) = (end, BSS);
    sections[6].info = 1;
    let mut names = vec![0];
    let mut name_offsets = Vec::new();
    sections.push(section(".shstrtab", 3, 0, 0, Vec::new()));
    for s in &sections {
        name_offsets.push(names.len() as u32);
        names.extend(s.name.as_bytes());
        names.push(0);
    }
    let last = sections.len() - 1;
    (sections[last].size, sections[last].bytes) = (names.len() as u64, names);

    let mut file = vec![0u8; 64];
    let mut program = |kind: u32, flags: u32, offset: u64, address: u64, size: u64, memory: u64| {
        file.extend(kind.to_le_bytes());
        file.extend(flags.to_le_bytes());
        file.extend(words(&[offset, address, address, size, memory, 0x1000]));
    };
    program(1, 4, 0, 0, data, data);
    program(1, 6, data, dynamic, end - dynamic, end - dynamic + BSS);
    program(2, 6, data, dynamic, dynamic_size, dynamic_size);
    let mut offsets = Vec::new();
    for s in &sections {
        let at = match s.flags {
            0 => file.len().next_multiple_of(8) as u64,
            2 => s.address,
            _ => s.address - 4096,
        };
        offsets.push(at);
        if s.kind != 8 {
            file.resize(at as usize, 0);
            file.extend(&s.bytes);
        }
    }
    file.resize(file.len().next_multiple_of(8), 0);
    let headers = file.len() as u64;
    file.extend([0; 64]);
    for (n, s) in sections.iter().enumerate() {
        file.extend(name_offsets[n].to_le_bytes());
        file.extend(s.kind.to_le_bytes());
        file.extend(words(&[s.flags, s.address, offsets[n], s.size]));
        file.extend(0u32.to_le_bytes());
        file.extend(s.info.to_le_bytes());
        file.extend(words(&[1, if s.kind == 2 { 24 } else { 0 }]));
    }
    let mut header = b"\x7fELF\x02\x01\x01".to_vec();
    header.resize(16, 0);
    header.extend([if fixed { 2 } else { 3 }, 0, 62, 0, 1, 0, 0, 0]);
    header.extend(words(&[0, 64, headers]));
    header.extend([0, 0, 0, 0, 64, 0, 56, 0, 3, 0, 64, 0]);
    header.extend((sections.len() as u16 + 1).to_le_bytes());
    header.extend((last as u16 + 1).to_le_bytes());
    file[..64].copy_from_slice(&header);
    file
}

/// Returns an object file with a section of this name and bytes.
pub fn object_file(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0u8; 64];
    let start = file.len() as u64;
    file.extend(bytes);
    let names_at = file.len() as u64;
    let names = format!("\0{name}\0.shstrtab\0");
    file.extend(names.as_bytes());
    file.resize(file.len().next_multiple_of(8), 0);
    let headers = file.len() as u64;
    file.extend([0; 64]);
    for (name, kind, at, size) in [
        (1, 1u32, start, bytes.len()),
        (2 + name.len() as u32, 3, names_at, names.len()),
    ] {
        file.extend(name.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend(words(&[0, 0, at, size as u64, 0, 1, 0]));
    }
    let mut header = b"\x7fELF\x02\x01\x01".to_vec();
    header.resize(16, 0);
    header.extend([1, 0, 62, 0, 1, 0, 0, 0]);
    header.extend(words(&[0, 0, headers]));
    header.extend([0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 64, 0, 3, 0, 2, 0]);
    file[..64].copy_from_slice(&header);
    file
}

/// Loads a program: returns its memory, and the addresses in its wrappers after relocation.
pub fn load(file: &[u8]) -> (Vec<u8>, Vec<u64>) {
    let mut memory = Vec::new();
    let programs = number(file, 56, 2) as usize;
    let mut dynamic = None;
    for n in 0..programs {
        let at = 64 + 56 * n;
        let field = |k: usize| number(file, at + 8 * k, 8) as usize;
        let (offset, address, size, whole) = (field(1), field(2), field(4), field(5));
        match number(file, at, 4) {
            1 => {
                assert_eq!(offset % 4096, address % 4096);
                assert!(address >= memory.len(), "segments overlap");
                memory.resize(address + whole, 0);
                memory[address..address + size].copy_from_slice(&file[offset..offset + size]);
            }
            2 => dynamic = Some(address),
            _ => {}
        }
    }
    let dynamic = dynamic.unwrap();
    let (rela, size) = (
        number(&memory, dynamic + 8, 8) as usize,
        number(&memory, dynamic + 24, 8) as usize,
    );
    for at in (rela..rela + size).step_by(24) {
        assert_eq!(number(&memory, at + 8, 8), 8);
        let slot = number(&memory, at, 8) as usize;
        let value = number(&memory, at + 16, 8);
        memory[slot..slot + 8].copy_from_slice(&value.to_le_bytes());
    }
    let mut pointers = Vec::new();
    let mut at = dynamic + 64;
    while number(&memory, at, 4) == 0x4849_5046 {
        pointers.push(number(&memory, at + 8, 8));
        at += 24;
    }
    (memory, pointers)
}

/// Returns the name, offset, size, address and type of each section.
pub fn sections(file: &[u8]) -> Vec<(String, usize, usize, u64, u64)> {
    let (start, count) = (number(file, 40, 8) as usize, number(file, 60, 2) as usize);
    let names = start + 64 * number(file, 62, 2) as usize;
    let names = number(file, names + 24, 8) as usize;
    (1..count)
        .map(|n| {
            let at = start + 64 * n;
            let name = &file[names + number(file, at, 4) as usize..];
            let name = &name[..name.iter().position(|b| *b == 0).unwrap()];
            (
                String::from_utf8(name.to_vec()).unwrap(),
                number(file, at + 24, 8) as usize,
                number(file, at + 32, 8) as usize,
                number(file, at + 16, 8),
                number(file, at + 4, 4),
            )
        })
        .collect()
}
