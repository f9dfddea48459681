use gcn_isa::{
    Target, decode,
    encode::Encoder,
    insts,
    print::{Style, print},
};
use std::collections::BTreeMap;
fn main() {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for arch in [
        "gfx600", "gfx701", "gfx803", "gfx810", "gfx900", "gfx904", "gfx906",
    ] {
        let t = Target::parse(arch).unwrap();
        for row in insts::of_target(t) {
            let mut encs = vec![row.format.encoding()];
            if row.has_vop3() {
                encs.push(if row.shape.is_vop3b() {
                    gcn_isa::Encoding::Vop3b
                } else {
                    gcn_isa::Encoding::Vop3
                });
            }
            for enc in encs {
                let Some(mut e) = Encoder::new(row, enc, t) else {
                    continue;
                };
                for slot in row.shape.slots {
                    let _ = e.set_code(slot.role, 4) || e.set_code(slot.role, 256);
                }
                for f in [
                    gcn_isa::Field::Dmask,
                    gcn_isa::Field::OpSelHi,
                    gcn_isa::Field::OpSelHi2,
                    gcn_isa::Field::Imm,
                    gcn_isa::Field::Unorm,
                ] {
                    let v = if f == gcn_isa::Field::OpSelHi { 3 } else { 1 };
                    e.set(f, v);
                }
                let (mut b, _) = e.bytes();
                b[8..].fill(0);
                let Some(i) = decode(t, &b) else {
                    eprintln!("{} no", row.name);
                    continue;
                };
                let mut s = String::new();
                print(&i, &Style::LLVM, &mut s);
                texts.entry(s).or_insert_with(|| row.name.to_string());
            }
        }
    }
    for (t, n) in &texts {
        println!("{n}\t{t}");
    }
    // which target's assembler takes which
    for t in Target::all() {
        for (text, n) in &texts {
            let ok = gcn_asm::assemble_snippet(t, text, false);
            if let Ok(b) = ok {
                println!("@{}\t{n}\t{text}\t{b:02x?}", t.name());
            }
        }
    }
}
