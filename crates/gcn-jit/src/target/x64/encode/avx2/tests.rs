//! Every instruction's AVX2 code leaves what the host's own AVX-512 instruction leaves, in random registers.

use super::*;
use crate::target::Level;

#[repr(C, align(64))]
#[derive(Clone, PartialEq)]
struct State {
    z: [[u32; 16]; 32],
    masks: [[u32; 16]; 32],
    scratch: [[u32; 16]; 4],
    k: [u64; 8],
    memory: [[u32; 16]; 8],
    gpr: [u64; 2],
    mxcsr: u32,
    host: u32,
    first: u32,
}

const Z: i32 = 0;
const MASKS: i32 = 2048;
const SCRATCH: i32 = 4096;
const KS: i32 = SCRATCH + 256;
const MEMORY: i32 = KS + 64;
const GPR: i32 = MEMORY + 512;
const MXCSR: i32 = GPR + 16;
const HOST: i32 = MXCSR + 4;

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn dword(&mut self) -> u32 {
        const SPECIAL: [u32; 14] = [
            0,
            0x8000_0000,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0xff81_2345,
            1,
            0x807f_ffff,
            0x7fff_ffff,
            0xffff_ffff,
            0x4f00_0000,
            0x4f80_0000,
            0xbf80_0000,
            0x7ff0_0000,
        ];
        match self.below(6) {
            0 => SPECIAL[self.below(14) as usize],
            1 => self.below(70) as u32,
            2 => (self.below(2000) as f32 - 1000.0).to_bits(),
            3 => ((self.below(2000) as f64 - 1000.0).to_bits() >> 32) as u32,
            4 => 0x4e00_0000 + (self.next() as u32 & 0x01ff_ffff),
            _ => self.next() as u32,
        }
    }
}

/// Runs what `body` writes; `None` where it has no AVX2 code.
fn run(level: Level, state: &State, body: &dyn Fn(&mut Asm)) -> Option<State> {
    let mut a = match level {
        Level::Avx512 => Asm::new(),
        Level::Avx2 => Asm::avx2(Homes {
            base: RBP,
            vectors: Z,
            masks: MASKS,
            scratch: SCRATCH,
            first: HOST + 4,
        }),
    };
    a.push(RBP);
    a.push(RBX);
    a.mov(true, RBP, Rm::R(RDI));
    a.stmxcsr(mem(RBP, MXCSR + 4));
    let count = a.registers();
    for z in 0..count {
        a.z(op::MOVDQU32, z, 0, Rm::M(mem(RBP, Z + 64 * z as i32)));
    }
    for k in 0..8 {
        a.kload16(k, mem(RBP, KS + 8 * k as i32));
    }
    a.mov(true, RSI, Rm::M(mem(RBP, GPR)));
    a.imm(RBX, 0);
    a.ldmxcsr(mem(RBP, MXCSR));
    body(&mut a);
    a.ldmxcsr(mem(RBP, MXCSR + 4));
    a.store(true, mem(RBP, GPR), RSI);
    a.store(true, mem(RBP, GPR + 8), RBX);
    for z in 0..count {
        a.z(op::MOVDQU32_ST, z, 0, Rm::M(mem(RBP, Z + 64 * z as i32)));
    }
    for k in 0..8 {
        a.kstore16(mem(RBP, KS + 8 * k as i32), k);
    }
    a.vzeroupper();
    a.pop(RBX);
    a.pop(RBP);
    a.ret();
    a.finish();
    if a.unknown {
        return None;
    }
    let mut map = memmap2::MmapMut::map_anon(a.buf.len()).expect("memory");
    map.copy_from_slice(&a.buf);
    let code = map.make_exec().expect("code");
    let mut state = Box::new(state.clone());
    // SAFETY: the code is a function of this signature that touches the state alone.
    unsafe {
        let f: extern "sysv64" fn(*mut State) = std::mem::transmute(code.as_ptr());
        f(&mut *state);
    }
    state.masks = [[0; 16]; 32];
    state.scratch = [[0; 16]; 4];
    state.host = 0;
    state.first = 0;
    Some(*state)
}

fn random(r: &mut Rng) -> State {
    let mut line = || std::array::from_fn(|_| 0u32).map(|_: u32| r.dword());
    let z = std::array::from_fn(|_| line());
    let memory = std::array::from_fn(|_| line());
    let k = std::array::from_fn(|_| match r.below(4) {
        0 => 0xffff,
        1 => 0,
        _ => r.next() & 0xffff,
    });
    State {
        z,
        masks: [[0; 16]; 32],
        scratch: [[0; 16]; 4],
        k,
        memory,
        gpr: [r.next(), 0],
        mxcsr: 0x1f80 | (r.below(4) as u32) << 13 | (r.below(2) as u32) << 6,
        host: 0,
        first: 0,
    }
}

/// Compares the two for random registers: `body` gets three of them, an opmask and a number.
fn same(name: &str, body: impl Fn(&mut Asm, [u8; 3], Rm, K, u8)) {
    if !Level::Avx512.available() {
        eprintln!("passed over: this host has no AVX-512 to compare with");
        return;
    }
    let mut r = Rng(name
        .bytes()
        .fold(7, |h, b| (h ^ b as u64).wrapping_mul(0x100_0000_01b3)));
    for round in 0..300 {
        let state = random(&mut r);
        let reg = |r: &mut Rng| [0, 1, 2, 5, 6, 7, 13, 31][r.below(8) as usize];
        let regs = [reg(&mut r), reg(&mut r), reg(&mut r)];
        let memory = mem(RBP, MEMORY + 64 * r.below(4) as i32);
        let rm = match r.below(5) {
            0 => Rm::M(memory),
            1 => Rm::B(memory),
            2 => Rm::C(r.dword() as u64),
            _ => Rm::R(regs[2]),
        };
        let k = match r.below(3) {
            0 => ALL,
            1 => keep(1 + r.below(7) as u8),
            _ => zero(1 + r.below(7) as u8),
        };
        let n = r.next() as u8;
        let body = |a: &mut Asm| body(a, regs, rm, k, n);
        let want = run(Level::Avx512, &state, &body).expect("AVX-512 code");
        let got = run(Level::Avx2, &state, &body)
            .unwrap_or_else(|| panic!("{name}: no AVX2 code, {regs:?} {rm:?} {k:?} {n}"));
        let said = format!(
            "{name}, round {round}: {regs:?} {rm:x?} {k:?} {n:#x} mxcsr {:#x}",
            state.mxcsr
        );
        for (i, (x, y)) in want.z.iter().zip(&got.z).enumerate() {
            assert!(
                x == y,
                "{said}: z{i}\nwant {x:x?}\ngot  {y:x?}\nof   {:x?}\n     {:x?}\n     {:x?}",
                state.z[regs[0] as usize],
                state.z[regs[1] as usize],
                state.z[regs[2] as usize]
            );
        }
        assert!(
            want.k == got.k,
            "{said}: want {:x?} got {:x?}",
            want.k,
            got.k
        );
        assert!(
            want.memory == got.memory,
            "{said}: memory\nwant {:x?}\ngot  {:x?}",
            want.memory,
            got.memory
        );
        assert!(
            want.gpr == got.gpr,
            "{said}: {:x?} {:x?}",
            want.gpr,
            got.gpr
        );
    }
}

/// No broadcast.
fn full(rm: Rm) -> Rm {
    match rm {
        Rm::B(m) => Rm::M(m),
        Rm::C(_) => Rm::R(7),
        rm => rm,
    }
}

#[test]
fn of_two_and_one() {
    use op::*;
    let q = |e: E| E { w: 1, ..e };
    let list = [
        ("addd", ADDD),
        ("subd", SUBD),
        ("mulld", MULLD),
        ("mullq", MULLQ),
        ("muludq", MULUDQ),
        ("muldq", MULDQ),
        ("andd", ANDD),
        ("ord", ORD),
        ("xord", XORD),
        ("andq", q(ANDD)),
        ("orq", q(ORD)),
        ("xorq", q(XORD)),
        ("andnd", E { op: 0xdf, ..ANDD }),
        (
            "addq",
            E {
                op: 0xd4,
                ..q(ADDD)
            },
        ),
        (
            "subq",
            E {
                op: 0xfb,
                ..q(SUBD)
            },
        ),
        ("sllvd", SLLVD),
        ("srlvd", SRLVD),
        ("sravd", SRAVD),
        ("sllvq", SLLVQ),
        ("srlvq", SRLVQ),
        ("sravq", SRAVQ),
        ("minsd", MINSD),
        ("minud", MINUD),
        ("maxsd", MAXSD),
        ("maxud", MAXUD),
        ("minsq", q(MINSD)),
        ("minuq", q(MINUD)),
        ("maxsq", q(MAXSD)),
        ("maxuq", q(MAXUD)),
        ("blendd", BLENDD),
        ("blendq", BLENDQ),
        ("addps", ADDPS),
        ("mulps", MULPS),
        ("subps", SUBPS),
        ("divps", DIVPS),
        ("maxps", MAXPS),
        ("addpd", ADDPS.pd()),
        ("mulpd", MULPS.pd()),
        ("subpd", SUBPS.pd()),
        ("divpd", DIVPS.pd()),
        ("maxpd", MAXPS.pd()),
        (
            "minpd",
            E {
                op: 0x5d,
                ..ADDPS.pd()
            },
        ),
        ("unpckldq", E { op: 0x62, ..ANDD }),
        ("prorvd", E { op: 0x14, ..SLLVD }),
        ("prolvq", E { op: 0x15, ..SLLVQ }),
    ];
    for (name, e) in list {
        same(name, |a, [d, v, _], rm, k, _| {
            let k = if matches!(e.op, 0x64) { keep(k.k) } else { k };
            a.zk(e, d, v, rm, k);
        });
    }
    let list = [
        ("absd", ABSD),
        (
            "absq",
            E {
                op: 0x1f,
                ..q(ABSD)
            },
        ),
        ("lzcntd", LZCNTD),
        ("popcntd", POPCNTD),
        ("sqrtps", SQRTPS),
        ("sqrtpd", SQRTPS.pd()),
        ("cvtdq2ps", CVTDQ2PS),
        ("cvtudq2ps", CVTUDQ2PS),
        ("cvttps2dq", CVTTPS2DQ),
        ("cvttps2udq", CVTTPS2UDQ),
        ("cvtpd2ps", CVTPD2PS),
        ("cvttpd2dq", CVTTPD2DQ),
        ("cvttpd2udq", CVTTPD2UDQ),
    ];
    for (name, e) in list {
        same(name, |a, [d, ..], rm, k, _| {
            a.zk(e, d, 0, rm, k);
            if matches!(name, "cvtpd2ps" | "cvttpd2dq" | "cvttpd2udq") {
                // The upper half is not defined.
                a.z(XORD, 1, 1, Rm::R(1));
                a.zi(INSERT256, d, d, Rm::R(1), ALL, 1);
            }
        });
    }
    for (name, e) in [
        ("cvtps2pd", CVTPS2PD),
        ("cvtdq2pd", CVTDQ2PD),
        ("cvtudq2pd", CVTUDQ2PD),
    ] {
        same(name, |a, [d, ..], rm, k, _| a.zk(e, d, 0, rm, k));
    }
    let ph = E {
        map: 2,
        pp: 1,
        w: 0,
        op: 0x13,
        n: 32,
    };
    for (name, e) in [
        ("pmovzxdq", PMOVZXDQ),
        ("pmovzxbd", PMOVZXBD),
        ("pmovzxwd", PMOVZXWD),
        ("cvtph2ps", ph),
    ] {
        same(name, |a, [d, ..], rm, k, _| a.zk(e, d, 0, full(rm), k));
    }
    for (name, o) in [
        ("fmadd231", 0xb8),
        ("fmsub231", 0xba),
        ("fnmadd213", 0xac),
        ("fnmsub132", 0x9e),
    ] {
        for w in 0..2 {
            let e = E {
                map: 2,
                pp: 1,
                w,
                op: o,
                n: 64,
            };
            same(name, |a, [d, v, _], rm, k, _| a.zk(e, d, v, rm, k));
        }
    }
}

#[test]
fn with_numbers() {
    use op::*;
    let q = |e: E| E { w: 1, ..e };
    for (name, e) in [
        ("shldd", SHLDD),
        ("shrdd", SHRDD),
        ("shldq", q(SHLDD)),
        ("ternd", TERND),
        ("ternq", q(TERND)),
    ] {
        same(name, |a, [d, v, _], rm, k, n| a.zi(e, d, v, rm, k, n));
    }
    for (name, e, list) in [
        ("shiftd", SHIFTD_I, [0, 1, 2, 4, 6]),
        (
            "shiftq",
            E {
                op: 0x73,
                ..q(SHIFTD_I)
            },
            [2, 6, 2, 6, 2],
        ),
    ] {
        same(name, |a, [d, ..], rm, k, n| {
            let ext = list[n as usize % 5];
            a.evex(e, 2, ext, d, full(rm), k, Some(n >> 2));
        });
    }
    same("psraq", |a, [d, ..], rm, k, n| {
        a.evex(q(SHIFTD_I), 2, 4, d, full(rm), k, Some(n))
    });
    same("shufd", |a, [d, ..], rm, k, n| {
        a.zi(E { op: 0x70, ..ANDD }, d, 0, rm, k, n)
    });
    for (name, e) in [
        ("cmpd", CMPD),
        ("cmpud", CMPUD),
        ("cmpq", q(CMPD)),
        ("cmpuq", q(CMPUD)),
    ] {
        same(name, |a, [_, v, _], rm, k, n| {
            a.zi(e, 1 + (n >> 5 & 3), v, rm, keep(k.k), n & 7)
        });
    }
    for (name, e) in [("cmpps", CMPPS), ("cmppd", CMPPS.pd())] {
        same(name, |a, [_, v, _], rm, k, n| {
            a.zi(e, 1 + (n >> 5 & 3), v, rm, keep(k.k), n & 31)
        });
    }
    for (name, e) in [("addps", ADDPS), ("mulpd", MULPS.pd())] {
        same(name, |a, [d, v, z], _, _, n| a.zr(e, d, v, z, n & 3));
    }
    for (name, pp, w) in [
        ("testmd", 1, 0),
        ("testnmd", 2, 0),
        ("testmq", 1, 1),
        ("testnmq", 2, 1),
    ] {
        let e = E {
            map: 2,
            pp,
            w,
            op: 0x27,
            n: 64,
        };
        same(name, |a, [_, v, _], rm, k, n| {
            a.zk(e, 1 + (n & 3), v, rm, keep(k.k))
        });
    }
    for (name, w) in [("fpclassps", 0), ("fpclasspd", 1)] {
        same(name, |a, _, rm, k, n| {
            a.zi(
                E { w, ..FPCLASSPS },
                1 + (n >> 5 & 3),
                0,
                rm,
                keep(k.k),
                n & 0x99,
            )
        });
    }
    for (name, e) in [("rangeps", RANGEPS), ("rangepd", RANGEPS.pd())] {
        same(name, |a, [d, v, _], rm, k, n| {
            a.zi(e, d, v, rm, k, 4 | n & 1)
        });
    }
    for (name, e) in [("rndscaleps", RNDSCALEPS), ("rndscalepd", RNDSCALEPD)] {
        same(name, |a, [d, ..], rm, k, n| a.zi(e, d, 0, rm, k, n & 15));
    }
    for (name, wide) in [("scalefps", false), ("scalefpd", true)] {
        same(name, |a, [d, v, z], rm, k, _| {
            // The exponent is a whole number.
            if wide {
                a.z(CVTDQ2PD, z, 0, rm);
                a.zk(SCALEFPS.pd(), d, v, Rm::R(z), k);
            } else {
                a.z(CVTDQ2PS, z, 0, rm);
                a.zk(SCALEFPS, d, v, Rm::R(z), k);
            }
        });
    }
    same("scalefpd, near", |a, [d, v, z], rm, k, n| {
        // Numbers and exponents whose product is about the smallest.
        let by = if n & 4 == 0 { 2 } else { 4 };
        a.z(ORD, v, v, Rm::C(0x0010_0000));
        a.zi(RNDSCALEPS, z, 0, rm, ALL, 8);
        a.evex(SHIFTD_I, 2, by, z, Rm::R(z), ALL, Some(20));
        a.z(SUBD, z, z, Rm::C(1100));
        a.z(CVTDQ2PD, z, 0, Rm::R(z));
        a.zk(SCALEFPS.pd(), d, v, Rm::R(z), k);
    });
}

#[test]
fn moves() {
    use op::*;
    let q = |e: E| E { w: 1, ..e };
    let memory = |n: u8| mem(RBP, MEMORY + 64 + n as i32 % 64);
    for (name, e) in [("movdqu32", MOVDQU32), ("movdqu64", q(MOVDQU32))] {
        same(name, |a, [d, ..], rm, k, _| a.zk(e, d, 0, full(rm), k));
        same(name, |a, [d, ..], _, k, n| {
            a.zk(E { op: 0x7f, ..e }, d, 0, Rm::M(memory(n)), keep(k.k))
        });
    }
    for (name, e) in [("bcastd", BCASTD), ("bcastq", BCASTQ)] {
        same(name, |a, [d, ..], rm, k, _| {
            let rm = if let Rm::B(m) = rm { Rm::M(m) } else { rm };
            a.zk(e, d, 0, rm, k);
        });
    }
    same("bcastd_r", |a, [d, ..], _, k, n| {
        a.zk(
            E {
                w: n & 1,
                ..BCASTD_R
            },
            d,
            0,
            Rm::R(RSI),
            k,
        )
    });
    same("movd", |a, [d, ..], _, _, n| {
        a.evex(MOVD_ST, 0, d, 0, Rm::R(RBX), ALL, None);
        a.evex(MOVD_ST, 0, d, 0, Rm::M(memory(n)), ALL, None);
    });
    for (name, e) in [("pmovdb", PMOVDB_ST), ("pmovdw", PMOVDW_ST)] {
        same(name, |a, [d, ..], _, k, n| {
            a.zk(e, d, 0, Rm::M(memory(n)), keep(k.k))
        });
    }
    same("extract", |a, [d, v, _], _, _, n| {
        a.zi(EXTRACT256, d, 0, Rm::R(v), ALL, n & 1);
        a.z(XORD, 1, 1, Rm::R(1));
        a.zi(INSERT256, v, v, Rm::R(1), ALL, 1);
    });
    same("insert", |a, [d, v, _], rm, _, n| {
        a.zi(INSERT256, d, v, full(rm), ALL, n & 1)
    });
    same("permt2d", |a, [d, v, _], rm, _, n| {
        a.z(
            E {
                op: if n & 1 == 0 { 0x76 } else { 0x7e },
                ..PERMT2D
            },
            d,
            v,
            full(rm),
        )
    });
    same("permd", |a, [d, v, _], rm, k, _| {
        a.zk(
            E {
                op: 0x36,
                ..PERMT2D
            },
            d,
            v,
            full(rm),
            k,
        )
    });
    same("compressd", |a, [d, v, _], _, k, _| {
        let k = if k.k == 0 { zero(3) } else { k };
        a.zk(COMPRESSD, d, 0, Rm::R(v), k);
    });
    same("gatherdd", |a, [d, ..], _, _, n| {
        // The result, the numbers and the opmask are three registers.
        let index = if d == 13 { 7 } else { 13 };
        a.z(ANDD, index, index, Rm::C(63));
        a.lea(RAX, memory(n & 63));
        let at = Mem {
            base: RAX,
            index: Some((index, 4)),
            disp: 0,
        };
        a.zk(GATHERDD, d, 0, Rm::M(at), keep(1 + n % 7));
    });
}

#[test]
fn gathers_and_conversions() {
    use op::*;
    let q = |e: E| E { w: 1, ..e };
    let memory = |n: u8| mem(RBP, MEMORY + 64 + n as i32 % 64);
    same("gatherqd", |a, [d, ..], _, _, n| {
        let index = if d == 13 { 7 } else { 13 };
        a.z(E { w: 1, ..ANDD }, index, index, Rm::C(63));
        a.lea(RAX, memory(n & 63));
        let at = Mem {
            base: RAX,
            index: Some((index, 4)),
            disp: 0,
        };
        let e = E {
            op: 0x91,
            ..GATHERDD
        };
        a.zk(e, d, 0, Rm::M(at), keep(1 + n % 7));
        a.z(XORD, 1, 1, Rm::R(1));
        a.zi(INSERT256, d, d, Rm::R(1), ALL, 1);
    });
    same("scatterqd", |a, [d, index, _], _, _, n| {
        a.z(E { w: 1, ..ANDD }, index, index, Rm::C(63));
        a.lea(RDX, memory(n & 63));
        let at = Mem {
            base: RDX,
            index: Some((index, 4)),
            disp: 4,
        };
        let e = E {
            op: 0xa1,
            ..GATHERDD
        };
        a.zk(e, d, 0, Rm::M(at), keep(1 + n % 7));
    });
    same("moves of 128 bits", |a, [d, ..], _, _, n| {
        a.evex(MOVDQU32, 0, d, 0, Rm::M(memory(n)), ALL, None);
        a.evex(MOVDQU32_ST, 0, d, 0, Rm::M(memory(n / 2)), ALL, None);
        a.z(XORD, d, d, Rm::R(d));
    });
    same("carry", |a, [d, ..], _, _, n| {
        let e = if n & 1 == 0 { ADDD } else { SUBD };
        a.zk(e, d, d, Rm::C(1), keep(1 + n % 7));
    });
    for (name, e) in [
        ("cvtqq2pd", CVTQQ2PD),
        ("cvtuqq2pd", CVTUQQ2PD),
        ("cvtqq2ps", CVTQQ2PS),
        ("cvtuqq2ps", CVTUQQ2PS),
    ] {
        same(name, |a, [d, ..], rm, k, n| {
            // Of all magnitudes.
            let rm = match rm {
                Rm::R(r) => {
                    let ext = if n & 1 == 0 { 2 } else { 4 };
                    let q = E {
                        op: if ext == 2 { 0x73 } else { 0x72 },
                        ..q(SHIFTD_I)
                    };
                    a.evex(q, 2, ext, r, Rm::R(r), ALL, Some(n >> 2));
                    Rm::R(r)
                }
                rm => rm,
            };
            a.zk(e, d, 0, rm, k);
            if e.pp == 0 || e.pp == 3 {
                a.z(XORD, 1, 1, Rm::R(1));
                a.zi(INSERT256, d, d, Rm::R(1), ALL, 1);
            }
        });
    }
    same("cvtps2ph", |a, [d, v, _], _, _, n| {
        let e = E {
            map: 3,
            pp: 1,
            w: 0,
            op: 0x1d,
            n: 32,
        };
        a.zi(e, d, 0, Rm::R(v), ALL, n & 7);
        a.z(XORD, 1, 1, Rm::R(1));
        a.zi(INSERT256, v, v, Rm::R(1), ALL, 1);
    });
}

#[test]
fn mixes() {
    for mix in [Mix::Even, Mix::Odd, Mix::ZipLow, Mix::ZipHigh] {
        same(&format!("{mix:?}"), |a, [_, v, _], rm, _, n| {
            // Where VPERMI2D's numbers are is of no matter to AVX2 code; its result is no operand.
            let numbers: [u32; 16] = std::array::from_fn(|i| {
                let i = i as u32;
                match mix {
                    Mix::Even => 2 * i,
                    Mix::Odd => 2 * i + 1,
                    Mix::ZipLow => i / 2 + 16 * (i % 2),
                    Mix::ZipHigh => 8 + i / 2 + 16 * (i % 2),
                }
            });
            let place = mem(RBP, MEMORY + 64 * 7);
            for (i, number) in numbers.into_iter().enumerate() {
                a.imm(RAX, number as u64);
                a.store(false, mem(RBP, place.disp + 4 * i as i32), RAX);
            }
            a.mix(mix, 3 + 6 * (n & 1), v, full(rm), place);
        });
    }
}

#[test]
fn opmasks() {
    for o in [0x41, 0x42, 0x45, 0x46, 0x47] {
        same("kop", |a, regs, _, _, _| {
            let [d, p, q] = regs.map(|r| r & 7);
            a.kop(o, d, p, q);
        });
    }
    same("others", |a, regs, _, _, n| {
        let [d, p, q] = regs.map(|r| r & 7);
        match n & 7 {
            0 => a.knot(d, p),
            1 => a.k_to_gpr(RBX, p),
            2 => a.gpr_to_k(d, RSI),
            3 => a.kunpckbw(d, p, q),
            4 | 5 => a.kshiftr(d, p, 8),
            _ => a.kshiftr(d, p, n >> 4),
        }
    });
    same("kortest", |a, regs, _, _, _| {
        let [_, p, q] = regs.map(|r| r & 7);
        a.kortest(p, q);
        a.setcc(Cc::E, RBX);
    });
    same("first", |a, [_, v, _], _, _, _| {
        a.on(5, mem(RBP, GPR));
        a.first(RBX, v, 5, 4);
    });
}
