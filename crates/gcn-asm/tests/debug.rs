//! Debugging information from `.file`, `.loc`, `.cfi_*` and from the option for it.

use expect_test::{Expect, expect};
use gcn_asm::{Assembled, Options, assemble, render};
use gcn_isa::Target;
use gimli::{EndianSlice, LittleEndian};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

fn assembled(source: &str, debug: Option<&str>) -> Assembled {
    let options = Options {
        target: Target::parse("gfx900"),
        debug: debug.map(str::to_owned),
        ..Options::default()
    };
    let output = assemble(source, "dir/a.s", &options);
    let said = render(&output.diagnostics, false);
    output.object.unwrap_or_else(|| panic!("{said}"))
}

fn bad(source: &str, expected: Expect) {
    let options = Options {
        target: Target::parse("gfx900"),
        ..Options::default()
    };
    let output = assemble(source, "a.s", &options);
    assert!(output.object.is_none());
    expected.assert_eq(&render(&output.diagnostics, false));
}

/// The sections of a loadable file, with their addresses resolved.
fn sections(object: &Assembled) -> gcn_object::CodeObject {
    gcn_object::CodeObject::parse(&object.loadable().unwrap()).unwrap()
}

/// `address file:line:column flags` of each row; the address is relative to the start of the code.
fn rows(object: &gcn_object::CodeObject) -> Vec<String> {
    let section = |name: &str| {
        object
            .section(name)
            .map_or(&[][..], |n| object.section_data(n))
    };
    let lines = gimli::DebugLine::new(section(".debug_line"), LittleEndian);
    let program = lines
        .program(gimli::DebugLineOffset(0), 8, None, None)
        .unwrap();
    let text = object.sections[object.section(".text").unwrap()].address;
    let mut rows = program.rows();
    let mut out = Vec::new();
    while let Some((header, row)) = rows.next_row().unwrap() {
        let file = row.file(header).unwrap();
        let name: Slice<'_> = match file.path_name() {
            gimli::AttributeValue::String(s) => s,
            _ => panic!("names are in the table"),
        };
        let at = match row.column() {
            gimli::ColumnType::LeftEdge => 0,
            gimli::ColumnType::Column(c) => c.get(),
        };
        let mut flags = String::new();
        for (on, word) in [
            (!row.is_stmt(), " not_stmt"),
            (row.prologue_end(), " prologue"),
            (row.epilogue_begin(), " epilogue"),
            (row.basic_block(), " block"),
            (row.end_sequence(), " end"),
        ] {
            flags += if on { word } else { "" };
        }
        out.push(format!(
            "{:#x} {}:{}:{at}{flags}",
            row.address() - text,
            name.to_string_lossy(),
            row.line().map_or(0, |l| l.get()),
        ));
    }
    out
}

#[test]
fn loc_makes_rows() {
    let source = "
.file 0 \"/src\" \"k.cl\" md5 0xa0a82b5e775b9a83ea8c9c1a6e765c4a
.file 1 \"/inc\" \"h.h\" md5 0x00000000000000000000000000000001
.loc 0 1 0
.loc 0 2 12 prologue_end
  s_nop 0
  s_nop 0
.loc 1 7 3 is_stmt 0
  s_nop 0
.loc 0 9
.long 5
.loc 0 10 1 is_stmt 1 basic_block epilogue_begin discriminator 3 isa 1
  s_endpgm
";
    let object = sections(&assembled(source, None));
    assert_eq!(
        rows(&object),
        [
            "0x0 k.cl:1:0",
            "0x0 k.cl:2:12 prologue",
            "0x8 h.h:7:3 not_stmt",
            "0xc k.cl:9:0 not_stmt",
            "0x10 k.cl:10:1 epilogue block",
            "0x14 k.cl:10:1 epilogue block end",
        ]
        .map(|s| s.replace(" epilogue block end", " end"))
    );
}

#[test]
fn older_numbering() {
    let source = ".file 1 \"a.c\"\n.file 2 \"a.c\"\n.loc 2 3\ns_endpgm\n";
    let object = sections(&assembled(source, None));
    assert_eq!(rows(&object), ["0x0 .//a.c:3:0", "0x4 .//a.c:3:0 end"]);
}

#[test]
fn own_lines() {
    let source = "  s_nop 0\n.macro m\n  s_nop 1\n.endm\n  m\n\n  s_endpgm\n";
    let object = assembled(source, Some("/here"));
    let read = sections(&object);
    assert_eq!(
        rows(&read),
        [
            "0x0 dir/a.s:1:0",
            "0x4 dir/a.s:3:0",
            "0x8 dir/a.s:7:0",
            "0xc dir/a.s:7:0 end"
        ]
    );
    let load = |id: gimli::SectionId| -> Result<Slice<'_>, gimli::Error> {
        let data = read
            .section(id.name())
            .map_or(&[][..], |n| read.section_data(n));
        Ok(EndianSlice::new(data, LittleEndian))
    };
    let dwarf = gimli::Dwarf::load(load).unwrap();
    let header = dwarf.units().next().unwrap().unwrap();
    let unit = dwarf.unit(header).unwrap();
    assert_eq!(unit.name.unwrap().to_string_lossy(), "dir/a.s");
    assert_eq!(unit.comp_dir.unwrap().to_string_lossy(), "/here");
    let text = read.sections[read.section(".text").unwrap()].address;
    let mut ranges = dwarf.unit_ranges(&unit).unwrap();
    let range = ranges.next().unwrap().unwrap();
    assert_eq!((range.begin, range.end), (text, text + 12));
    // The code is the same as without.
    assert_eq!(object.text(), assembled(source, None).text());
    assert!(
        !assembled(source, None)
            .sections
            .iter()
            .any(|s| s.name.starts_with(".debug"))
    );
}

/// A source with lines of its own keeps them.
#[test]
fn own_lines_give_way() {
    let source = ".file 1 \"a.c\"\n.loc 1 30\ns_endpgm\n";
    let object = sections(&assembled(source, Some("/here")));
    assert_eq!(rows(&object), ["0x0 a.c:30:0", "0x4 a.c:30:0 end"]);
}

#[test]
fn frames() {
    let source = "
.cfi_sections .debug_frame
.cfi_startproc
  s_nop 0
.cfi_def_cfa_offset 16
  s_nop 0
.cfi_endproc
";
    let object = sections(&assembled(source, None));
    let data = object.section_data(object.section(".debug_frame").unwrap());
    let mut frames = gimli::DebugFrame::new(data, LittleEndian);
    frames.set_address_size(8);
    let bases = gimli::BaseAddresses::default();
    let mut entries = gimli::UnwindSection::entries(&frames, &bases);
    let text = object.sections[object.section(".text").unwrap()].address;
    let mut found = 0;
    while let Some(entry) = entries.next().unwrap() {
        if let gimli::CieOrFde::Fde(partial) = entry {
            let cie = gimli::UnwindSection::cie_from_offset;
            let fde = partial.parse(cie).unwrap();
            assert_eq!((fde.initial_address(), fde.len()), (text, 8));
            found += 1;
        }
    }
    assert_eq!(found, 1);
}

#[test]
fn numbers_of_many_bytes() {
    let object = assembled(
        "a: s_nop 0\nb:\n.uleb128 0, 127, 128, 300, b-a\n.sleb128 -1, 63, 64, -128\n",
        None,
    );
    assert_eq!(
        object.text()[4..],
        [
            0, 0x7f, 0x80, 1, 0xac, 2, 4, 0x7f, 0x3f, 0xc0, 0, 0x80, 0x7f
        ]
    );
}

/// A name without a number is a symbol.
#[test]
fn file_symbols() {
    let object = assembled(".file \"a.c\"\n", None);
    let symbol = &object.symbols[0];
    assert_eq!(
        (symbol.name.as_str(), symbol.kind),
        ("a.c", gcn_object::SymbolKind::File)
    );
}

#[test]
fn refusals() {
    bad(
        ".file 1 \"a\"
.file 1 \"b\"
.file 2 \"\"
.file -1 \"x\"
.file 2 \"x\" md5 12
.file 2 \"x\" sha 12
.loc 3 1
.loc 1 -1
.loc 1 2 3 nonsense
.loc 1 2 is_stmt 2
.cfi_endproc
.cfi_startproc
.cfi_startproc
.cfi_escape 1, 2
.cfi_offset 3
.cfi_undefined 1, 2
.cfi_sections .debug_info
.uleb128 -1
.uleb128 later
.cfi_endproc
",
        expect![[r#"
            error: file 1 has a name already
             --> a.s:2:9
              |
            2 | .file 1 "b"
              |         ^^^
            error: expected a file's name, without NUL
             --> a.s:3:9
              |
            3 | .file 2 ""
              |         ^^
            error: expected a file's number, 0 or more
             --> a.s:4:7
              |
            4 | .file -1 "x"
              |       ^
            error: expected 0x and 32 hexadecimal digits
             --> a.s:5:17
              |
            5 | .file 2 "x" md5 12
              |                 ^^
            error: expected md5 or source
             --> a.s:6:13
              |
            6 | .file 2 "x" sha 12
              |             ^^^
            error: expected a `.file 3` before this
             --> a.s:7:6
              |
            7 | .loc 3 1
              |      ^
            error: expected an expression, found the end of the statement
             --> a.s:8:10
              |
            8 | .loc 1 -1
              |          ^
            error: expected basic_block, prologue_end, epilogue_begin, is_stmt, isa or discriminator
             --> a.s:9:12
              |
            9 | .loc 1 2 3 nonsense
              |            ^^^^^^^^
            error: expected is_stmt 0 or is_stmt 1
              --> a.s:10:10
               |
            10 | .loc 1 2 is_stmt 2
               |          ^^^^^^^
            error: expected .cfi_startproc before this
              --> a.s:11:1
               |
            11 | .cfi_endproc
               | ^^^^^^^^^^^^
            error: expected .cfi_endproc before this
              --> a.s:13:1
               |
            13 | .cfi_startproc
               | ^^^^^^^^^^^^^^
            error: .cfi_escape is not written by gcn
              --> a.s:14:1
               |
            14 | .cfi_escape 1, 2
               | ^^^^^^^^^^^
            error: expected .cfi_offset REGISTER, OFFSET
              --> a.s:15:1
               |
            15 | .cfi_offset 3
               | ^^^^^^^^^^^
            error: expected the end of the statement
              --> a.s:16:19
               |
            16 | .cfi_undefined 1, 2
               |                   ^
            error: expected .debug_frame or .eh_frame
              --> a.s:17:15
               |
            17 | .cfi_sections .debug_info
               |               ^^^^^^^^^^^
            error: expected a number of 0 or more
              --> a.s:18:10
               |
            18 | .uleb128 -1
               |          ^
            error: expected a value that is known here: 'later' is not defined before
              --> a.s:19:10
               |
            19 | .uleb128 later
               |          ^^^^^
        "#]],
    );
    bad(
        ".file 1 \"a\"\n.file 3 \"b\"\n.cfi_startproc\n",
        expect![[r#"
        error: debugging information: the numbers of .file must follow each other: 2 is missing
         --> a.s:1:1
          |
        1 | .file 1 "a"
          | ^
        error: expected .cfi_endproc: this has no end
         --> a.s:3:1
          |
        3 | .cfi_startproc
          | ^^^^^^^^^^^^^^
    "#]],
    );
}
