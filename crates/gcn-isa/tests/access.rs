//! Shapes and meanings agree on the registers that are read and written.

use gcn_isa::access::{File, InstructionTable};
use gcn_isa::encode::Encoder;
use gcn_isa::inst::Flags;
use gcn_isa::operand::{VCC, Value};
use gcn_isa::shape::{Access, Role};
use gcn_isa::{Field, Target, decode, insts};

/// Operands for which the shape and the meaning differ.
#[rustfmt::skip]
const EXCEPTIONS: &[(&str, Role, &str)] = &[
    ("s_movrels_b32", Role::Ssrc0, "M0 says which register is read"),
    ("s_movrels_b64", Role::Ssrc0, "M0 says which register is read"),
    ("s_movreld_b32", Role::Sdst, "M0 says which register is written"),
    ("s_movreld_b64", Role::Sdst, "M0 says which register is written"),
    ("v_movrels_b32", Role::Src0, "M0 says which register is read"),
    ("v_movreld_b32", Role::Vdst, "M0 says which register is written"),
    ("v_movrelsd_b32", Role::Src0, "M0 says which register is read"),
    ("v_movrelsd_b32", Role::Vdst, "M0 says which register is written"),
    ("v_writelane_b32", Role::Vdst, "a partial write; its text and encoding know it as read too"),
];

/// The compares that are always false or true read nothing.
fn is_constant(name: &str) -> bool {
    name.starts_with("v_cmp") && ["_f_", "_t_", "_tru_"].iter().any(|c| name.contains(c))
}

#[test]
fn shapes_and_meanings_agree() {
    let mut wrong = std::collections::BTreeSet::new();
    let mut used = vec![false; EXCEPTIONS.len()];
    for target in Target::all() {
        let table = InstructionTable::new(target);
        for row in insts::of_target(target) {
            if is_constant(row.name) {
                continue;
            }
            let mut encoder = Encoder::new(row, row.format.encoding(), target).expect(row.name);
            // Some operands exist only with GLC.
            encoder.set(Field::Glc, 1);
            encoder.set(Field::Offen, 1);
            for slot in row.shape.slots {
                // A register code for each operand: 256 is a VGPR, 4 an SGPR.
                let _ = encoder.set_code(slot.role, 4) || encoder.set_code(slot.role, 256);
            }
            let (mut bytes, _) = encoder.bytes();
            bytes[8..].fill(0);
            let insn = decode(target, &bytes).unwrap_or_else(|| panic!("{}", row.name));
            for (n, slot) in row.shape.slots.iter().enumerate() {
                if !matches!(insn.operand(slot).value, Value::Code(_)) {
                    continue;
                }
                let mut found = [false; 2];
                for access in table.of(&insn).accesses(&insn) {
                    if access.slot == Some(n as u8) {
                        found[access.write as usize] = true;
                    }
                }
                let expected = [slot.access != Access::Write, slot.access != Access::Read];
                if found != expected {
                    let listed = (EXCEPTIONS.iter())
                        .position(|(name, role, _)| *name == row.name && *role == slot.role);
                    match listed {
                        Some(at) => used[at] = true,
                        None => {
                            wrong.insert(format!(
                                "{} {:?}: the shape says {:?}, the meaning [read, written] {found:?}\n",
                                row.name, slot.role, slot.access
                            ));
                        }
                    }
                }
            }
        }
    }
    for ((name, role, why), _) in EXCEPTIONS.iter().zip(&used).filter(|(_, used)| !**used) {
        wrong.insert(format!("{name} {role:?} ({why}) is no exception\n"));
    }
    let wrong: Vec<String> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "\n{}", wrong.concat());
}

/// The rows that implicitly read VCC are flagged, because VCC takes a place on the constant bus.
#[test]
fn implicit_vcc_is_flagged() {
    for target in Target::all() {
        let table = InstructionTable::new(target);
        for row in insts::of_target(target).filter(|row| row.format.is_valu()) {
            let encoder = Encoder::new(row, row.format.encoding(), target).expect(row.name);
            let (mut bytes, _) = encoder.bytes();
            bytes[8..].fill(0);
            let insn = decode(target, &bytes).unwrap_or_else(|| panic!("{}", row.name));
            let reads = table.of(&insn).accesses(&insn).any(|access| {
                !access.write && access.slot.is_none() && access.touches(File::Scalar, VCC)
            });
            assert_eq!(reads, row.flags.has(Flags::READS_VCC), "{}", row.name);
        }
    }
}

/// For any bits, the registers exist.
#[test]
fn accesses_of_random_words() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut count = 0;
    for target in Target::all() {
        let table = InstructionTable::new(target);
        for _ in 0..50_000 {
            let mut bytes = [0u8; 12];
            bytes[..8].copy_from_slice(&next().to_le_bytes());
            bytes[8..].copy_from_slice(&(next() as u32).to_le_bytes());
            let Some(insn) = decode(target, &bytes) else {
                continue;
            };
            let of = table.of(&insn);
            for access in of.accesses(&insn) {
                count += 1;
                assert!(access.count > 0, "{insn:?}: {access:?}");
                match access.file {
                    File::Scalar => assert!(access.first < 128, "{insn:?}: {access:?}"),
                    File::Vector => assert!(access.first < 512, "{insn:?}: {access:?}"),
                    File::Scc => assert_eq!((access.first, access.count), (0, 1)),
                    File::Hwreg => assert!(access.first < 64),
                }
                let mut names = 0;
                access.each_name(target.generation(), |name| {
                    assert!(!name.is_empty());
                    names += 1;
                });
                assert!(names > 0, "{insn:?}: {access:?}");
            }
            let _ = (of.memory(&insn), of.counters(&insn), of.flow(&insn));
        }
    }
    assert!(count > 1_000_000, "{count}");
}
