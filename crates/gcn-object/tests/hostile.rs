//! The reader meets damaged files: whatever it is given, it answers with an object or an error.

use gcn_object::{Builder, CodeObject, directives, metadata};

static OBJECT: &[u8] = include_bytes!("data/linking-gfx900.o");
static LINKED: &[u8] = include_bytes!("data/linking-gfx900.co");

/// Everything that can be asked of an object.
fn use_all(bytes: &[u8]) -> bool {
    let Ok(object) = CodeObject::parse(bytes) else {
        return false;
    };
    for i in 0..object.sections.len() {
        object.section_data(i);
    }
    for kernel in &object.kernels {
        let _ = directives(&kernel.descriptor, &object.target);
    }
    let _ = object.image(0);
    let _ = object.image_with(u64::MAX - 0x2000, |_| Some(1));
    if let Some(note) = object.note() {
        let _ = metadata::faithful_text(note);
        let _ = metadata::decode(note).map(|tree| metadata::verify(&tree));
    }
    if let Ok(builder) = Builder::from_relocatable(&object) {
        let _ = builder.loadable();
        let _ = builder.relocatable();
    }
    true
}

struct Xorshift(u64);

impl Xorshift {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

#[test]
fn truncated() {
    for file in [OBJECT, LINKED] {
        assert!(use_all(file));
        for length in 0..file.len() {
            use_all(&file[..length]);
        }
    }
}

#[test]
fn mutated() {
    let mut random = Xorshift(0x9e37_79b9_7f4a_7c15);
    let odd = [
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
    let mut read = 0;
    for round in 0..6000 {
        let mut file = if round % 2 == 0 { OBJECT } else { LINKED }.to_vec();
        for _ in 0..=random.below(4) {
            // Half of the changes hit the headers at the start and the section headers at the end.
            let at = match random.below(4) {
                0 => random.below(0x200),
                1 => file.len() - 1 - random.below(0x400),
                _ => random.below(file.len()),
            };
            if random.below(2) == 0 {
                file[at] = random.next() as u8;
            } else {
                let value = odd[random.below(odd.len())].to_le_bytes();
                let at = at & !7;
                let width = [1, 2, 4, 8][random.below(4)].min(file.len() - at);
                file[at..at + width].copy_from_slice(&value[..width]);
            }
        }
        read += usize::from(use_all(&file));
    }
    // Most changes to data are harmless, so the deeper code has run.
    assert!((500..5900).contains(&read), "{read}");
}

/// Lengths that promise far more than the bytes hold cost nothing.
#[test]
fn large_promises() {
    for bytes in [
        &[0xdd, 0xff, 0xff, 0xff, 0xff][..],
        &[0xdf, 0xff, 0xff, 0xff, 0xff],
        &[0xdb, 0xff, 0xff, 0xff, 0xff, 0x61],
    ] {
        assert!(metadata::decode(bytes).is_err());
    }
}

#[test]
fn mutated_notes_and_text() {
    let mut random = Xorshift(12345);
    let object = CodeObject::parse(LINKED).unwrap();
    let note = object.note().unwrap();
    let text = metadata::faithful_text(note).unwrap();
    for _ in 0..3000 {
        let mut bytes = note.to_vec();
        let at = random.below(bytes.len());
        bytes[at] = random.next() as u8;
        if let Ok(tree) = metadata::decode(&bytes) {
            let _ = gcn_object::Metadata::from_value(&tree);
            let _ = metadata::to_yaml(&tree);
            let _ = metadata::verify(&tree);
        }
        let mut bytes = text.clone().into_bytes();
        let at = random.below(bytes.len());
        let odd = b" \n-:!&*[]{}'\"~x\t#|>%@?,\0\xc3";
        bytes[at] = odd[random.below(odd.len())];
        if let Ok(text) = std::str::from_utf8(&bytes) {
            let _ = metadata::parse_yaml(text);
        }
    }
}
