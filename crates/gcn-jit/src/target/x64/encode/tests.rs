//! Decodes emitted code by an independent decoder: every instruction with registers from all banks, every kind of address,
//! masks and constants.

use super::*;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

/// The positions of an instruction's operands in its encoding.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// MODRM.REG, VVVV, MODRM.RM.
    RegVRm,
    /// MODRM.REG, MODRM.RM.
    RegRm,
    /// MODRM.RM, MODRM.REG: stores.
    RmReg,
    /// VVVV, MODRM.RM; MODRM.REG is a part of the opcode.
    VRm(u8),
    /// MODRM.REG, memory indexed by a vector.
    Gather,
    /// Memory indexed by a vector, MODRM.REG.
    Scatter,
}
use Form::*;

/// An instruction's description: its name, its form, whether it may broadcast a memory element, whether it has an immediate, and
/// whether its operands may be memory.
struct Row {
    e: E,
    name: &'static str,
    mnemonic: Mnemonic,
    form: Form,
    broadcast: bool,
    imm: bool,
    memory: bool,
}

macro_rules! rows {
    ($($name:ident $mnemonic:ident $form:expr, $($flag:ident)*;)*) => {
        vec![$(Row {
            e: op::$name,
            name: stringify!($name),
            mnemonic: Mnemonic::$mnemonic,
            form: $form,
            broadcast: [$(stringify!($flag)),*].contains(&"b"),
            imm: [$(stringify!($flag)),*].contains(&"i"),
            memory: ![$(stringify!($flag)),*].contains(&"r"),
        }),*]
    };
}

/// Flags: `b` may broadcast, `i` has an immediate, `r` is used only on registers.
fn rows() -> Vec<Row> {
    rows! {
        MOVDQU32 Vmovdqu32 RegRm, ;
        MOVDQU32_ST Vmovdqu32 RmReg, ;
        ADDD Vpaddd RegVRm, b;
        SUBD Vpsubd RegVRm, b;
        MULLD Vpmulld RegVRm, b;
        MULLQ Vpmullq RegVRm, b;
        MULUDQ Vpmuludq RegVRm, b;
        MULDQ Vpmuldq RegVRm, b;
        ANDD Vpandd RegVRm, b;
        ANDQ Vpandq RegVRm, b;
        ORD Vpord RegVRm, b;
        XORD Vpxord RegVRm, b;
        TERND Vpternlogd RegVRm, b i;
        SLLVD Vpsllvd RegVRm, b;
        SRLVD Vpsrlvd RegVRm, b;
        SRAVD Vpsravd RegVRm, b;
        SLLVQ Vpsllvq RegVRm, b;
        SRLVQ Vpsrlvq RegVRm, b;
        SRAVQ Vpsravq RegVRm, b;
        SHIFTD_I Vpsrld VRm(2), b i;
        SHIFTD_I Vpsrad VRm(4), b i;
        SHIFTD_I Vpslld VRm(6), b i;
        SHLDD Vpshldd RegVRm, b i;
        SHRDD Vpshrdd RegVRm, b i;
        MINSD Vpminsd RegVRm, b;
        MINUD Vpminud RegVRm, b;
        MAXSD Vpmaxsd RegVRm, b;
        MAXUD Vpmaxud RegVRm, b;
        CMPD Vpcmpd RegVRm, b i;
        CMPUD Vpcmpud RegVRm, b i;
        BLENDD Vpblendmd RegVRm, b;
        BLENDQ Vpblendmq RegVRm, b;
        ABSD Vpabsd RegRm, b;
        LZCNTD Vplzcntd RegRm, b;
        POPCNTD Vpopcntd RegRm, b;
        BCASTD_R Vpbroadcastd RegRm, r;
        BCASTQ_R Vpbroadcastq RegRm, r;
        BCASTD Vpbroadcastd RegRm, ;
        MOVD_ST Vmovd RmReg, ;
        BCASTQ Vpbroadcastq RegRm, ;
        ADDPS Vaddps RegVRm, b;
        MULPS Vmulps RegVRm, b;
        SUBPS Vsubps RegVRm, b;
        DIVPS Vdivps RegVRm, b;
        SQRTPS Vsqrtps RegRm, b;
        MINPS Vminps RegVRm, b;
        MAXPS Vmaxps RegVRm, b;
        FMADD213PS Vfmadd213ps RegVRm, b;
        FMADD231PS Vfmadd231ps RegVRm, b;
        CMPPS Vcmpps RegVRm, b i;
        RANGEPS Vrangeps RegVRm, b i;
        RNDSCALEPS Vrndscaleps RegRm, b i;
        RNDSCALEPD Vrndscalepd RegRm, b i;
        FPCLASSPS Vfpclassps RegRm, b i;
        SCALEFPS Vscalefps RegVRm, b;
        CVTDQ2PS Vcvtdq2ps RegRm, b;
        CVTUDQ2PS Vcvtudq2ps RegRm, b;
        CVTTPS2DQ Vcvttps2dq RegRm, b;
        CVTTPS2UDQ Vcvttps2udq RegRm, b;
        CVTPS2PD Vcvtps2pd RegRm, b;
        CVTPD2PS Vcvtpd2ps RegRm, b;
        CVTDQ2PD Vcvtdq2pd RegRm, b;
        CVTUDQ2PD Vcvtudq2pd RegRm, b;
        CVTTPD2DQ Vcvttpd2dq RegRm, b;
        CVTTPD2UDQ Vcvttpd2udq RegRm, b;
        PERMD Vpermd RegVRm, b;
        PERMI2D Vpermi2d RegVRm, b;
        PMOVSXDQ Vpmovsxdq RegRm, ;
        PMOVZXDQ Vpmovzxdq RegRm, ;
        PMOVZXBD Vpmovzxbd RegRm, ;
        PMOVZXWD Vpmovzxwd RegRm, ;
        PMOVDB_ST Vpmovdb RmReg, ;
        PMOVDW_ST Vpmovdw RmReg, ;
        EXTRACT256 Vextracti64x4 RmReg, i;
        INSERT256 Vinserti64x4 RegVRm, i;
        INSERT128 Vinserti32x4 RegVRm, i;
        PSHUFD Vpshufd RegRm, b i;
        UNPCKLD Vpunpckldq RegVRm, b;
        UNPCKHD Vpunpckhdq RegVRm, b;
        UNPCKLQ Vpunpcklqdq RegVRm, b;
        UNPCKHQ Vpunpckhqdq RegVRm, b;
        COMPRESSD Vpcompressd RmReg, ;
        MOVDQU8 Vmovdqu8 RegRm, ;
        MOVDQU8_ST Vmovdqu8 RmReg, ;
        PERMB Vpermb RegVRm, ;
        GATHERDD Vpgatherdd Gather, ;
        GATHERQD Vpgatherqd Gather, ;
        GATHERDQ Vpgatherdq Gather, ;
        SCATTERQD Vpscatterqd Scatter, ;
        SCATTERDD Vpscatterdd Scatter, ;
        SCATTERDQ Vpscatterdq Scatter, ;
        CVTPH2PS Vcvtph2ps RegRm, ;
        CVTPS2PH Vcvtps2ph RmReg, i;
        CVTQQ2PD Vcvtqq2pd RegRm, b;
        CVTUQQ2PD Vcvtuqq2pd RegRm, b;
        CVTQQ2PS Vcvtqq2ps RegRm, b;
        CVTUQQ2PS Vcvtuqq2ps RegRm, b;
        MOVD_LD Vmovd RegRm, ;
        PINSRD Vpinsrd RegVRm, i;
        MOVQ_LD Vmovq RegRm, ;
        PINSRQ Vpinsrq RegVRm, i;
        MOVQ_ST Vmovq RmReg, ;
        PEXTRQ Vpextrq RmReg, i;
        EXTRACT128 Vextracti32x4 RmReg, i;
        SHUFPS Vshufps RegVRm, b i;
        SHUF128 Vshufi32x4 RegVRm, b i;
        MOVM2D Vpmovm2d RegRm, r;
        TESTMD Vptestmd RegVRm, b;
        TESTNMD Vptestnmd RegVRm, b;
        ANDND Vpandnd RegVRm, b;
        ADDQ Vpaddq RegVRm, b;
        SUBQ Vpsubq RegVRm, b;
        ORQ Vporq RegVRm, b;
        SHIFTQ_I Vpsrlq VRm(2), b i;
        SHIFTQ_I Vpsllq VRm(6), b i;
        CMPUQ Vpcmpuq RegVRm, b i;
    }
}

/// Decodes the one instruction that consists of these bytes.
fn read(bytes: &[u8], what: &str) -> Instruction {
    let mut decoder = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE);
    let insn = decoder.decode();
    assert!(!insn.is_invalid(), "{what}: {bytes:02x?} is invalid");
    assert_eq!(insn.len(), bytes.len(), "{what}: {bytes:02x?} is {insn}");
    insn
}

/// Returns the tested addresses: every base and index, and displacements around the limits of compressed and plain bytes.
fn addresses(n: i32) -> Vec<Mem> {
    let mut out = Vec::new();
    for base in 0..16 {
        out.push(mem(base, 0));
        for disp in [
            1,
            n,
            -n,
            127 * n,
            128 * n,
            -128 * n,
            -129 * n,
            n / 2,
            0x1234_5678,
            -0x1234_5678,
        ] {
            out.push(mem(base, disp));
        }
        for (index, scale) in [(0, 1), (1, 2), (7, 4), (8, 8), (12, 1), (15, 4)] {
            for disp in [0, n, 3, 1 << 20] {
                out.push(Mem {
                    base,
                    index: Some((index, scale)),
                    disp,
                });
            }
        }
    }
    out
}

/// Checks the memory operand.
fn same_memory(insn: &Instruction, m: Mem, what: &str) {
    let text = format!("{what}: {insn}");
    assert_eq!(insn.memory_base().number(), m.base as usize, "{text}");
    assert_eq!(insn.memory_displacement64() as i64, m.disp as i64, "{text}");
    match m.index {
        None => assert_eq!(insn.memory_index(), Register::None, "{text}"),
        Some((index, scale)) => {
            assert_eq!(insn.memory_index().number(), index as usize, "{text}");
            assert_eq!(insn.memory_index_scale(), scale as u32, "{text}");
        }
    }
}

/// Checks a vector instruction against the requested operands.
fn same(row: &Row, insn: &Instruction, reg: u8, v: u8, rm: Rm, mask: K) {
    let what = format!("{} {reg} {v} {rm:?} {mask:?}", row.name);
    let text = format!("{what}: {insn}");
    let mnemonic = match row.mnemonic {
        // W selects the 64-bit form.
        Mnemonic::Vmovdqu32 if row.e.w == 1 => Mnemonic::Vmovdqu64,
        other => other,
    };
    assert_eq!(insn.mnemonic(), mnemonic, "{text}");
    let (first, second, third) = match row.form {
        RegVRm => (Some(reg), Some(v), Some(2)),
        RegRm => (Some(reg), None, Some(1)),
        RmReg => (None, Some(reg), Some(0)),
        VRm(_) => (Some(v), None, Some(1)),
        Gather => (Some(reg), None, None),
        Scatter => (None, Some(reg), None),
    };
    if let Some(n) = first {
        assert_eq!(insn.op0_register().number(), n as usize, "{text}");
    }
    if let Some(n) = second {
        assert_eq!(insn.op1_register().number(), n as usize, "{text}");
    }
    if let Some(at) = third {
        match rm {
            Rm::R(r) => assert_eq!(insn.op_register(at).number(), r as usize, "{text}"),
            Rm::M(m) | Rm::B(m) => {
                assert_eq!(insn.op_kind(at), OpKind::Memory, "{text}");
                same_memory(insn, m, &what);
            }
            Rm::C(_) => assert!(insn.is_ip_rel_memory_operand(), "{text}"),
        }
    }
    let elements = matches!(rm, Rm::B(_) | Rm::C(_)) && row.broadcast;
    assert_eq!(insn.is_broadcast(), elements, "{text}");
    let k = match insn.op_mask() {
        Register::None => 0,
        k => k.number() as u8,
    };
    assert_eq!(k, mask.k, "{text}");
    assert_eq!(insn.zeroing_masking(), mask.zero, "{text}");
    if row.imm {
        assert_eq!(insn.immediate8(), IMM, "{text}");
    }
}

const IMM: u8 = 5;
/// Registers of each bank, which one bit of the encoding distinguishes.
const REGISTERS: [u8; 8] = [0, 3, 7, 8, 15, 16, 24, 31];

/// A vector destination may keep elements or clear them; an opmask or memory can only keep.
fn masks(row: &Row, to_memory: bool) -> Vec<K> {
    let opmask = matches!(
        row.name,
        "CMPD" | "CMPUD" | "CMPPS" | "FPCLASSPS" | "CMPUQ" | "TESTMD" | "TESTNMD"
    );
    let unmasked = short(row) || row.name == "MOVM2D";
    if unmasked {
        return vec![ALL];
    }
    match opmask || to_memory {
        true => vec![ALL, keep(1), keep(7)],
        false => vec![ALL, keep(1), keep(7), zero(2), zero(7)],
    }
}

/// Returns true if an instruction works on 128 bits, with a general register or memory.
fn short(row: &Row) -> bool {
    matches!(
        row.name,
        "MOVD_ST" | "MOVD_LD" | "PINSRD" | "MOVQ_LD" | "PINSRQ" | "MOVQ_ST" | "PEXTRQ"
    )
}

fn emit(row: &Row, reg: u8, v: u8, rm: Rm, mask: K) -> Vec<u8> {
    let mut a = Asm::new();
    let length = if short(row) { 0 } else { 2 };
    a.evex(row.e.l(length), reg, v, rm, mask, row.imm.then_some(IMM));
    a.buf
}

#[test]
fn every_vector_instruction() {
    let source = include_str!("../encode.rs");
    let rows = rows();
    for line in source.lines() {
        if let Some((name, _)) = line
            .trim_start()
            .strip_prefix("pub const ")
            .and_then(|rest| rest.split_once(": E = e"))
        {
            assert!(rows.iter().any(|r| r.name == name), "{name} is not tested");
        }
    }
    // The forms for f32 are also used for f64.
    let doubles: Vec<Row> = rows
        .iter()
        .filter_map(|row| {
            let mnemonic = match row.mnemonic {
                Mnemonic::Vaddps => Mnemonic::Vaddpd,
                Mnemonic::Vmulps => Mnemonic::Vmulpd,
                Mnemonic::Vsubps => Mnemonic::Vsubpd,
                Mnemonic::Vdivps => Mnemonic::Vdivpd,
                Mnemonic::Vsqrtps => Mnemonic::Vsqrtpd,
                Mnemonic::Vminps => Mnemonic::Vminpd,
                Mnemonic::Vmaxps => Mnemonic::Vmaxpd,
                Mnemonic::Vfmadd213ps => Mnemonic::Vfmadd213pd,
                Mnemonic::Vfmadd231ps => Mnemonic::Vfmadd231pd,
                Mnemonic::Vcmpps => Mnemonic::Vcmppd,
                Mnemonic::Vrangeps => Mnemonic::Vrangepd,
                Mnemonic::Vfpclassps => Mnemonic::Vfpclasspd,
                Mnemonic::Vscalefps => Mnemonic::Vscalefpd,
                _ => return None,
            };
            let e = row.e.pd();
            Some(Row {
                e,
                mnemonic,
                ..*row
            })
        })
        .collect();
    // The signs of a product and of its addend are two bits of the opcode.
    let signs = [
        (true, false, Mnemonic::Vfnmadd231ps),
        (false, true, Mnemonic::Vfmsub231ps),
        (true, true, Mnemonic::Vfnmsub231ps),
    ];
    let add = rows.iter().find(|row| row.name == "FMADD231PS");
    let add = add.expect("the row");
    let turned = signs.map(|(product, addend, mnemonic)| Row {
        e: add.e.turned(product, addend),
        mnemonic,
        ..*add
    });
    let mut count = 0;
    for row in rows.iter().chain(&doubles).chain(&turned) {
        // There are only 8 opmasks, and 0 is as good as any.
        let opmask = masks(row, false).len() == 3;
        let general = matches!(row.name, "BCASTD_R" | "BCASTQ_R") || short(row);
        let first: &[u8] = if let VRm(digit) = &row.form {
            std::slice::from_ref(digit)
        } else if opmask {
            &[0, 1, 7]
        } else {
            &REGISTERS
        };
        let none = [0];
        let seconds: &[u8] = match row.form {
            RegVRm | VRm(_) => &REGISTERS,
            _ => &none,
        };
        let others: &[u8] = match general {
            true => &REGISTERS[..5],
            false if row.name == "MOVM2D" => &[0, 1, 7],
            false => &REGISTERS,
        };
        for &reg in first {
            for &v in seconds {
                if matches!(row.form, Gather | Scatter) {
                    for index in REGISTERS.into_iter().filter(|&i| i != reg) {
                        for base in [0, 4, 5, 12, 13] {
                            for disp in [0, 4, -4, 508, 512, 513] {
                                let m = Mem {
                                    base,
                                    index: Some((index, 1)),
                                    disp,
                                };
                                let bytes = emit(row, reg, 0, Rm::M(m), keep(3));
                                let insn = read(&bytes, row.name);
                                same(row, &insn, reg, 0, Rm::M(m), keep(3));
                                same_memory(&insn, m, row.name);
                                count += 1;
                            }
                        }
                    }
                    continue;
                }
                for &r in others {
                    for mask in masks(row, false) {
                        let bytes = emit(row, reg, v, Rm::R(r), mask);
                        same(row, &read(&bytes, row.name), reg, v, Rm::R(r), mask);
                        count += 1;
                    }
                }
                if !row.memory || reg != first[first.len() / 2] || v != seconds[seconds.len() / 2] {
                    continue;
                }
                let n = row.e.n as i32;
                for m in addresses(n) {
                    for mask in masks(row, row.form == RmReg) {
                        let bytes = emit(row, reg, v, Rm::M(m), mask);
                        same(row, &read(&bytes, row.name), reg, v, Rm::M(m), mask);
                        count += 1;
                    }
                }
                if row.broadcast {
                    for m in addresses(if row.e.w == 1 { 8 } else { 4 }) {
                        let bytes = emit(row, reg, v, Rm::B(m), keep(4));
                        same(row, &read(&bytes, row.name), reg, v, Rm::B(m), keep(4));
                        count += 1;
                    }
                }
            }
        }
    }
    assert!(count > 50_000, "{count}");
}

#[test]
fn displacements_are_short_where_they_can_be() {
    let length = |e: E, rm: Rm| {
        let mut a = Asm::new();
        a.z(e, 1, 2, rm);
        a.buf.len()
    };
    assert_eq!(length(op::ADDD, Rm::M(mem(RAX, 64))), 7);
    assert_eq!(length(op::ADDD, Rm::M(mem(RAX, 65))), 10);
    assert_eq!(length(op::ADDD, Rm::B(mem(RAX, 64))), 7);
    assert_eq!(length(op::ADDD, Rm::B(mem(RAX, 508))), 7);
    assert_eq!(length(op::ADDD, Rm::B(mem(RAX, 512))), 10);
    assert_eq!(length(op::PMOVZXBD, Rm::M(mem(RAX, 16 * 127))), 7);
}

#[test]
fn constants_lie_after_the_code() {
    for row in rows().iter().filter(|r| r.broadcast && r.form == RegVRm) {
        let reg = if masks(row, false).len() == 3 { 5 } else { 25 };
        let value = 0x1122_3344_5566_7788u64;
        let mut a = Asm::new();
        let imm = row.imm.then_some(IMM);
        a.zi(op::TERND, 1, 2, Rm::C(7), ALL, 1);
        let from = a.buf.len();
        a.evex(row.e, reg, 17, Rm::C(value), ALL, imm);
        let end = a.buf.len();
        a.ret();
        a.finish();
        let mut decoder =
            Decoder::with_ip(64, &a.buf[from..end], from as u64, DecoderOptions::NONE);
        let insn = decoder.decode();
        assert_eq!(insn.len(), end - from);
        same(row, &insn, reg, 17, Rm::C(value), ALL);
        let at = insn.ip_rel_memory_address() as usize;
        let size = if row.e.w == 1 { 8 } else { 4 };
        assert_eq!(
            a.buf[at..at + size],
            value.to_le_bytes()[..size],
            "{}",
            row.name
        );
    }
}

/// Decodes the one instruction that `f` emits.
fn one(f: impl FnOnce(&mut Asm)) -> Instruction {
    let mut a = Asm::new();
    f(&mut a);
    read(&a.buf, "one")
}

#[test]
fn general_instructions() {
    use Mnemonic as N;
    let number = |r: Register| r.number() as u8;
    for wide in [false, true] {
        let size = if wide { 8 } else { 4 };
        for r in 0..16 {
            for s in 0..16 {
                let pairs = [
                    (N::Add, 0),
                    (N::Or, 1),
                    (N::And, 4),
                    (N::Sub, 5),
                    (N::Xor, 6),
                    (N::Cmp, 7),
                ];
                for (mnemonic, which) in pairs {
                    let insn = one(|a| a.alu(which, wide, r, Rm::R(s)));
                    assert_eq!(insn.mnemonic(), mnemonic);
                    assert_eq!(
                        (number(insn.op0_register()), number(insn.op1_register())),
                        (r, s)
                    );
                    assert_eq!(insn.op0_register().size(), size);
                }
                let insn = one(|a| a.imul(wide, r, Rm::R(s)));
                assert_eq!((insn.mnemonic(), number(insn.op0_register())), (N::Imul, r));
                let insn = one(|a| a.test(wide, r, s));
                assert_eq!(insn.mnemonic(), N::Test);
                let insn = one(|a| a.cmov(Cc::A, wide, r, Rm::R(s)));
                assert_eq!(
                    (insn.mnemonic(), number(insn.op1_register())),
                    (N::Cmova, s)
                );
                for (pp, mnemonic) in [(1, N::Shlx), (3, N::Shrx), (2, N::Sarx)] {
                    let insn = one(|a| a.shift_by(pp, wide, r, s, 9));
                    assert_eq!(insn.mnemonic(), mnemonic);
                    assert_eq!(insn.op0_register().size(), size);
                    assert_eq!(number(insn.op1_register()), s);
                    assert_eq!(number(insn.op2_register()), 9);
                }
                if r != s || !wide {
                    let insn = one(|a| a.mov(wide, r, Rm::R(s)));
                    assert_eq!((insn.mnemonic(), number(insn.op0_register())), (N::Mov, r));
                }
            }
            for (which, mnemonic) in [(4, N::Shl), (5, N::Shr), (7, N::Sar), (1, N::Ror)] {
                let insn = one(|a| a.shift_imm(which, wide, r, 13));
                assert_eq!(
                    (insn.mnemonic(), number(insn.op0_register())),
                    (mnemonic, r)
                );
                assert_eq!(insn.immediate8(), 13);
                assert_eq!(insn.op0_register().size(), size);
            }
            for imm in [0, 1, -1, 127, 128, -128, -129, i32::MAX, i32::MIN] {
                for (which, mnemonic) in [(0, N::Add), (4, N::And), (5, N::Sub), (7, N::Cmp)] {
                    let insn = one(|a| a.alu_imm(which, wide, Rm::R(r), imm));
                    assert_eq!(
                        (insn.mnemonic(), number(insn.op0_register())),
                        (mnemonic, r)
                    );
                    let got = insn.immediate(1);
                    let same = if wide {
                        imm as i64 as u64
                    } else {
                        imm as u32 as u64
                    };
                    let mask = if wide { !0 } else { 0xffff_ffff };
                    assert_eq!(got & mask, same, "{insn}");
                }
            }
            for m in addresses(1) {
                if m.index.is_some_and(|i| i.0 == 4) {
                    continue;
                }
                let insn = one(|a| a.mov(wide, r, Rm::M(m)));
                assert_eq!((insn.mnemonic(), number(insn.op0_register())), (N::Mov, r));
                same_memory(&insn, m, "mov");
                let insn = one(|a| a.store(wide, m, r));
                assert_eq!((insn.mnemonic(), number(insn.op1_register())), (N::Mov, r));
                assert_eq!(insn.op1_register().size(), size);
                same_memory(&insn, m, "store");
                let insn = one(|a| a.alu(5, wide, r, Rm::M(m)));
                same_memory(&insn, m, "sub");
                let insn = one(|a| a.alu_imm(7, wide, Rm::M(m), 1000));
                same_memory(&insn, m, "cmp");
                assert_eq!(insn.immediate(1), 1000);
            }
        }
    }
}

#[test]
fn instructions_of_one_register() {
    use Mnemonic as N;
    let number = |r: Register| r.number() as u8;
    for r in 0..16 {
        for m in addresses(1) {
            let insn = one(|a| a.lea(r, m));
            assert_eq!((insn.mnemonic(), number(insn.op0_register())), (N::Lea, r));
            same_memory(&insn, m, "lea");
            let insn = one(|a| a.store8(m, r));
            assert_eq!(insn.op1_register().size(), 1);
            assert_eq!(number(insn.op1_register().full_register()), r);
            same_memory(&insn, m, "store8");
            let insn = one(|a| a.store16(m, r));
            assert_eq!(insn.op1_register().size(), 2);
            assert_eq!(number(insn.op1_register().full_register()), r);
            same_memory(&insn, m, "store16");
            let insn = one(|a| a.movzx8(r, m));
            assert_eq!(
                (insn.mnemonic(), number(insn.op0_register())),
                (N::Movzx, r)
            );
            let insn = one(|a| a.cmp16_zero(m));
            assert_eq!((insn.mnemonic(), insn.memory_size().size()), (N::Cmp, 2));
            same_memory(&insn, m, "cmp16");
            assert_eq!(one(|a| a.ldmxcsr(m)).mnemonic(), N::Ldmxcsr);
            assert_eq!(one(|a| a.stmxcsr(m)).mnemonic(), N::Stmxcsr);
            let insn = one(|a| a.call(Rm::M(m)));
            assert_eq!((insn.mnemonic(), insn.memory_size().size()), (N::Call, 8));
            same_memory(&insn, m, "call");
            if m.index.is_none_or(|i| i.0 != 4) {
                let insn = one(|a| a.kload16(r & 7, m));
                assert_eq!(
                    (insn.mnemonic(), number(insn.op0_register())),
                    (N::Kmovw, r & 7)
                );
                same_memory(&insn, m, "kload16");
                let insn = one(|a| a.kstore16(m, r & 7));
                assert_eq!(
                    (insn.mnemonic(), number(insn.op1_register())),
                    (N::Kmovw, r & 7)
                );
                same_memory(&insn, m, "kstore16");
                let insn = one(|a| a.store_imm(m, 0x8123_4567));
                assert_eq!((insn.mnemonic(), insn.memory_size().size()), (N::Mov, 4));
                assert_eq!(insn.immediate32(), 0x8123_4567);
                same_memory(&insn, m, "store_imm");
                let insn = one(|a| a.store_imm8(m, 1));
                assert_eq!((insn.mnemonic(), insn.memory_size().size()), (N::Mov, 1));
                assert_eq!(insn.immediate8(), 1);
                same_memory(&insn, m, "store_imm8");
                let insn = one(|a| a.setcc_to(Cc::Ns, m));
                assert_eq!((insn.mnemonic(), insn.memory_size().size()), (N::Setns, 1));
                same_memory(&insn, m, "setcc_to");
                let insn = one(|a| a.rotate_right(true, Rm::M(m), 16));
                assert_eq!((insn.mnemonic(), insn.memory_size().size()), (N::Ror, 8));
                assert_eq!(insn.immediate8(), 16);
                same_memory(&insn, m, "rotate_right");
            }
        }
        for value in [
            0,
            1,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            1 << 32,
            u64::MAX,
            1 << 63,
            -5i64 as u64,
        ] {
            let insn = one(|a| a.imm(r, value));
            assert_eq!(number(insn.op0_register()), r);
            match insn.mnemonic() {
                N::Xor => assert_eq!((value, number(insn.op1_register())), (0, r)),
                _ => {
                    let size = insn.op0_register().size();
                    let got = insn.immediate(1);
                    assert_eq!(
                        if size == 4 { got & 0xffff_ffff } else { got },
                        value,
                        "{insn}"
                    );
                }
            }
        }
        assert_eq!(number(one(|a| a.push(r)).op0_register()), r);
        assert_eq!(number(one(|a| a.pop(r)).op0_register()), r);
        let insn = one(|a| a.jmp_to(Rm::R(r)));
        assert_eq!((insn.mnemonic(), number(insn.op0_register())), (N::Jmp, r));
        for k in 1..8 {
            let insn = one(|a| a.k_to_gpr(r, k));
            assert_eq!(
                (number(insn.op0_register()), number(insn.op1_register())),
                (r, k)
            );
            let insn = one(|a| a.gpr_to_k(k, r));
            assert_eq!(
                (number(insn.op0_register()), number(insn.op1_register())),
                (k, r)
            );
            let insn = one(|a| a.gpr_to_k64(k, r));
            assert_eq!(insn.mnemonic(), N::Kmovq);
            assert_eq!(
                (number(insn.op0_register()), number(insn.op1_register())),
                (k, r)
            );
        }
        for (other, wide) in (0..16).flat_map(|other| [(other, false), (other, true)]) {
            let insn = one(|a| a.tzcnt(wide, r, other));
            assert_eq!(insn.op0_register().size(), if wide { 8 } else { 4 });
            assert_eq!(insn.mnemonic(), N::Tzcnt);
            let operands = (insn.op0_register(), insn.op1_register());
            assert_eq!(
                (
                    number(operands.0.full_register()),
                    number(operands.1.full_register())
                ),
                (r, other)
            );
            let insn = one(|a| a.blsr(wide, r, other));
            assert_eq!(insn.op0_register().size(), if wide { 8 } else { 4 });
            assert_eq!(insn.mnemonic(), N::Blsr);
            let operands = (insn.op0_register(), insn.op1_register());
            assert_eq!(
                (
                    number(operands.0.full_register()),
                    number(operands.1.full_register())
                ),
                (r, other)
            );
        }
        // There are two instructions: one sets the byte, the other the rest of the register.
        let mut a = Asm::new();
        a.setcc(Cc::Le, r);
        let mut decoder = Decoder::new(64, &a.buf, DecoderOptions::NONE);
        let (set, extend) = (decoder.decode(), decoder.decode());
        assert_eq!((set.mnemonic(), extend.mnemonic()), (N::Setle, N::Movzx));
        assert_eq!(number(set.op0_register().full_register()), r);
        assert_eq!(number(extend.op0_register()), r);
        assert_eq!(number(extend.op1_register().full_register()), r);
        assert!(!decoder.can_decode());
    }
}

#[test]
fn opmasks_and_displacements() {
    use Mnemonic as N;
    let number = |r: Register| r.number() as u8;
    for a in 0..8 {
        for b in 0..8 {
            let kops = [
                (0x41, N::Kandw),
                (0x42, N::Kandnw),
                (0x45, N::Korw),
                (0x46, N::Kxnorw),
                (0x47, N::Kxorw),
            ];
            for (op, mnemonic) in kops {
                let insn = one(|x| x.kop(op, 3, a, b));
                assert_eq!(insn.mnemonic(), mnemonic);
                let registers = [
                    insn.op0_register(),
                    insn.op1_register(),
                    insn.op2_register(),
                ];
                assert_eq!(registers.map(number), [3, a, b]);
            }
            let insn = one(|x| x.kortest(a, b));
            assert_eq!(insn.mnemonic(), N::Kortestw);
            assert_eq!(
                [insn.op0_register(), insn.op1_register()].map(number),
                [a, b]
            );
            let insn = one(|x| x.kunpckbw(5, a, b));
            assert_eq!(insn.mnemonic(), N::Kunpckbw);
            assert_eq!(
                [insn.op1_register(), insn.op2_register()].map(number),
                [a, b]
            );
            let insn = one(|x| x.knot(a, b));
            assert_eq!(insn.mnemonic(), N::Knotw);
            let insn = one(|x| x.kshiftr(a, b, 8));
            assert_eq!((insn.mnemonic(), insn.immediate8()), (N::Kshiftrw, 8));
        }
    }
    assert_eq!(one(|a| a.vzeroupper()).mnemonic(), N::Vzeroupper);
    assert_eq!(one(|a| a.ret()).mnemonic(), N::Ret);
}

#[test]
fn jumps_go_where_they_should() {
    let codes = [
        (Cc::B, Mnemonic::Jb),
        (Cc::Ae, Mnemonic::Jae),
        (Cc::E, Mnemonic::Je),
        (Cc::Ne, Mnemonic::Jne),
        (Cc::Be, Mnemonic::Jbe),
        (Cc::A, Mnemonic::Ja),
        (Cc::S, Mnemonic::Js),
        (Cc::L, Mnemonic::Jl),
        (Cc::Ge, Mnemonic::Jge),
        (Cc::Le, Mnemonic::Jle),
        (Cc::G, Mnemonic::Jg),
    ];
    for (cc, mnemonic) in codes {
        let mut a = Asm::new();
        let (back, on) = (a.here(), a.label());
        a.jcc(cc, on);
        a.jmp(back);
        a.call_label(on);
        a.bind(on);
        let target = a.buf.len() as u64;
        a.ret();
        a.finish();
        let mut decoder = Decoder::with_ip(64, &a.buf, 0, DecoderOptions::NONE);
        let (first, second, third) = (decoder.decode(), decoder.decode(), decoder.decode());
        assert_eq!(
            (first.mnemonic(), first.near_branch_target()),
            (mnemonic, target)
        );
        assert_eq!(
            (second.mnemonic(), second.near_branch_target()),
            (Mnemonic::Jmp, 0)
        );
        assert_eq!(
            (third.mnemonic(), third.near_branch_target()),
            (Mnemonic::Call, target)
        );
    }
}
