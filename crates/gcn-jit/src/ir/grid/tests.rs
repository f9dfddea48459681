//! Random programs: the evaluation for all workgroups at once must equal each workgroup's own values.

use super::{Evaluated, Extent, Guard, OPS, Program, Step, StepId, StepOp, Sum, Waves};
use gcn_isa::meaning::Op;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % n
    }

    fn pick(&mut self, from: &[u64]) -> u64 {
        from[self.below(from.len() as u64) as usize]
    }
}

const IDS: [u8; 3] = [2, 3, 4];
const WAVES: usize = 2;

fn sgpr(w: usize, code: u8) -> Option<u32> {
    Some(match code {
        10 => 256,
        11 => 0x0fff_fff0,
        12 => u32::MAX,
        13 => 64 * w as u32,
        _ => code as u32,
    })
}

fn vgpr(w: usize, v: u16) -> [u32; 4] {
    match v {
        0 => [0, 16, 32, 48].map(|s| s + 64 * w as u32),
        _ => [0, 0, 1, 1],
    }
}

fn read(at: u64) -> Option<u32> {
    (at < 0x1000).then_some((at * 0x0101) as u32)
}

fn evaluate(
    program: &Program,
    extent: Extent,
    middle: [u32; 3],
) -> Result<Evaluated, Option<Extent>> {
    let waves = Waves {
        count: WAVES,
        extent,
        sgpr: &sgpr,
        vgpr: &vgpr,
        read: &read,
    };
    program.evaluate(&waves, middle)
}

/// Returns true if a program can be evaluated for the workgroups, or for fewer ones, which they become.
fn can_be(program: &Program, extent: &mut Extent, middle: [u32; 3], fewer: bool) -> bool {
    let mut tried = *extent;
    loop {
        match evaluate(program, tried, middle) {
            Ok(_) => {
                *extent = tried;
                return true;
            }
            Err(Some(less)) if fewer => {
                assert!(less.count() < tried.count(), "{less:?} {tried:?}");
                for dim in 0..3 {
                    let within = less.first[dim]..less.first[dim] + less.groups[dim];
                    assert!(within.contains(&middle[dim]), "{less:?} {middle:?}");
                }
                tried = less;
            }
            Err(_) => return false,
        }
    }
}

/// Computes the values of one workgroup's wave and slice by the definitions of the operations. Loads have no value.
fn concrete(program: &Program, group: [u32; 3], w: usize, slice: usize) -> Vec<Option<u64>> {
    let mut values: Vec<Option<u64>> = Vec::new();
    let mask = |bits: u8| u64::MAX >> (64 - bits as u32);
    for s in &program.steps {
        let of = |k: usize| values[s.args[k] as usize].unwrap_or(0);
        let bits_of = |k: usize| program.steps[s.args[k] as usize].bits;
        let value = match s.op {
            StepOp::Const(v) => v,
            StepOp::Sgpr(code) => match IDS.iter().position(|&id| id == code) {
                Some(dim) => group[dim] as u64,
                None => sgpr(w, code).unwrap_or(0) as u64,
            },
            StepOp::Vgpr(v) => vgpr(w, v)[slice] as u64,
            StepOp::Firsts => 16 * slice as u64,
            StepOp::Load { .. } => {
                values.push(None);
                continue;
            }
            StepOp::Part(k) => {
                let load = &program.steps[s.args[0] as usize];
                let StepOp::Load { offset, .. } = load.op else {
                    unreachable!()
                };
                let from = values[load.args[0] as usize].unwrap_or(0);
                let at = from.wrapping_add_signed(offset as i64 + 4 * k as i64);
                read(at).unwrap_or(0) as u64
            }
            StepOp::Pair => of(0) | of(1) << 32,
            StepOp::Lo => of(0),
            StepOp::Hi => of(0) >> 32,
            StepOp::Sext => of(0) as u32 as i32 as i64 as u64,
            StepOp::Shld(by) => (of(0) << 32 | of(1)) << by >> 32,
            StepOp::Shrd(by) => (of(1) << 32 | of(0)) >> by,
            StepOp::Alu { op, signed, mask } => {
                let bits = bits_of(if op == Op::Select { 1 } else { 0 });
                let wide = |v: u64| {
                    let up = 64 - bits as u32;
                    match signed {
                        true => ((v << up) as i64 >> up) as i128,
                        false => v as i128,
                    }
                };
                let (x, y) = (wide(of(0)), if op.arity() > 1 { wide(of(1)) } else { 0 });
                let shift = (y as u64).min(bits as u64) as u32;
                let truth = |t: bool| {
                    if mask && t {
                        u32::MAX as i128
                    } else {
                        t as i128
                    }
                };
                let result = match op {
                    Op::Add => x + y,
                    Op::Sub => x - y,
                    Op::Mul => x.wrapping_mul(y),
                    Op::MulHi => (x * y) >> 32,
                    Op::And => x & y,
                    Op::Or => x | y,
                    Op::Xor => x ^ y,
                    Op::Not => !x,
                    Op::Neg => -x,
                    Op::Shl if shift == bits as u32 => 0,
                    Op::Shl => x << shift,
                    Op::Shr => x >> shift,
                    Op::Min => x.min(y),
                    Op::Max => x.max(y),
                    Op::Select if of(0) != 0 => y,
                    Op::Select => wide(of(2)),
                    Op::Zext | Op::Trunc => of(0) as i128,
                    Op::Eq => truth(x == y),
                    Op::Ne => truth(x != y),
                    Op::Lt => truth(x < y),
                    Op::Le => truth(x <= y),
                    Op::Gt => truth(x > y),
                    _ => unreachable!(),
                };
                result as u64
            }
        };
        values.push(Some(value & mask(s.bits)));
    }
    values
}

/// A random step after those of a program.
fn step(random: &mut Random, steps: &[Step]) -> Step {
    let operand = |random: &mut Random, bits: u8| -> StepId {
        let of: Vec<usize> = (0..steps.len())
            .filter(|&k| steps[k].bits == bits && !matches!(steps[k].op, StepOp::Load { .. }))
            .collect();
        if bits == 32 && random.below(3) == 0 {
            // The operand is an ID.
            return random.below(3) as StepId;
        }
        // Later steps are chosen more often.
        let at = random
            .below(of.len() as u64)
            .max(random.below(of.len() as u64));
        of[at as usize] as StepId
    };
    let make = |op, args, bits| Step { op, args, bits };
    let [x, y] = [operand(random, 32), operand(random, 32)];
    let [p, q] = [operand(random, 64), operand(random, 64)];
    match random.below(16) {
        0 => make(StepOp::Pair, [x, y, 0], 64),
        1 => make(StepOp::Lo, [p, 0, 0], 32),
        2 => make(StepOp::Hi, [p, 0, 0], 32),
        3 => make(StepOp::Sext, [x, 0, 0], 64),
        4 => make(StepOp::Shld(random.below(32) as u8), [x, y, 0], 32),
        5 => make(StepOp::Shrd(random.below(32) as u8), [x, y, 0], 32),
        6 => {
            let value = random.pick(&[1, 2, 3, 4, 31, 60, 255, !3, 0xffff, 0x8000_0000]);
            make(StepOp::Const(value & 0xffff_ffff), [0; 3], 32)
        }
        7 => make(StepOp::Const(random.pick(&[1, 2, 5, 40, !0])), [0; 3], 64),
        n => {
            let op = OPS[random.below(OPS.len() as u64) as usize];
            let signed = random.below(3) == 0;
            let compares = matches!(op, Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt);
            let mask = compares && n % 2 == 0;
            let bits = if n > 12 && op != Op::MulHi { 64 } else { 32 };
            let (args, bits) = match (op, bits) {
                (Op::Zext, _) => ([x, 0, 0], 64),
                (Op::Trunc, _) => ([p, 0, 0], 32),
                (Op::Select, 32) => ([x, y, operand(random, 32)], 32),
                (Op::Select, _) => ([x, p, q], 64),
                (_, 64) => ([p, q, 0], 64),
                _ => ([x, y, 0], 32),
            };
            let bits = match (compares, mask) {
                (true, true) => 32,
                (true, false) => 1,
                _ => bits,
            };
            make(StepOp::Alu { op, signed, mask }, args, bits)
        }
    }
}

/// The first steps of each program.
fn inputs() -> Vec<Step> {
    let make = |op, bits| Step {
        op,
        args: [0; 3],
        bits,
    };
    let load = StepOp::Load {
        count: 2,
        offset: 4,
    };
    let mut steps: Vec<Step> = [2, 3, 4, 10, 11, 12, 13]
        .map(|code| make(StepOp::Sgpr(code), 32))
        .to_vec();
    steps.extend([make(StepOp::Vgpr(0), 32), make(StepOp::Vgpr(1), 32)]);
    steps.extend([make(StepOp::Firsts, 32), make(StepOp::Const(0x100), 64)]);
    let at = steps.len() as StepId;
    for (op, args) in [(load, at - 1), (StepOp::Part(1), at)] {
        steps.push(Step {
            args: [args, 0, 0],
            ..make(op, 32)
        });
    }
    steps
}

fn guard(random: &mut Random, steps: &[Step]) -> Option<Guard> {
    let of: Vec<StepId> = (0..steps.len() as StepId)
        .filter(|&k| steps[k as usize].bits == 32)
        .filter(|&k| !matches!(steps[k as usize].op, StepOp::Load { .. }))
        .collect();
    let mut one = || of[random.below(of.len() as u64) as usize];
    let (p, q) = (one(), one());
    let step = [0, 15, 60, -15][random.below(4) as usize];
    let other = [0, 15, step][random.below(3) as usize];
    let signed = random.below(2) == 0;
    Some(match random.below(5) {
        0 => Guard::Top {
            of: p,
            step,
            bits: 2,
        },
        1 => Guard::NoWrap {
            of: p,
            step,
            signed,
        },
        2 => Guard::Less {
            of: [p, q],
            step: [step, other],
        },
        3 => Guard::Bits {
            of: p,
            step,
            mask: q,
            ones: signed,
        },
        _ => Guard::AssumedCompare {
            op: [Op::Ne, Op::Eq, Op::Lt, Op::Le][random.below(4) as usize],
            signed,
            of: [p, q],
            step: [step, other],
        },
    })
}

/// Returns true if a guard holds for 16 lanes, by its definition.
fn holds(g: Guard, values: &[Option<u64>]) -> bool {
    let lane = |q: StepId, step: i32, lane: i32| {
        let first = values[q as usize].unwrap_or(0) as u32;
        first.wrapping_add((step / 15 * lane) as u32)
    };
    let lanes = 0..16;
    match g {
        Guard::Top { of, step, bits } => lanes
            .map(|l| lane(of, step, l) >> (32 - bits))
            .all(|top| top == lane(of, step, 0) >> (32 - bits)),
        Guard::NoWrap { of, step, signed } => {
            let first = lane(of, step, 0);
            match signed {
                true => (first as i32).checked_add(step).is_some(),
                false => first.checked_add_signed(step).is_some(),
            }
        }
        Guard::Less { of, step } => {
            let less = |l| lane(of[0], step[0], l) < lane(of[1], step[1], l);
            lanes.map(less).all(|result| result == less(0))
        }
        Guard::Bits {
            of,
            step,
            mask,
            ones,
        } => {
            let differ = lanes.fold(0, |bits, l| bits | lane(of, step, l) ^ lane(of, step, 0));
            let mask = lane(mask, 0, 0);
            differ & if ones { !mask } else { mask } == 0
        }
        Guard::AssumedCompare {
            op,
            signed,
            of,
            step,
        } => lanes
            .map(|l| (lane(of[0], step[0], l), lane(of[1], step[1], l)))
            .all(|(p, q)| match (op, signed) {
                (Op::Ne, _) => p != q,
                (Op::Eq, _) => p == q,
                (Op::Lt, false) => p < q,
                (Op::Lt, true) => (p as i32) < q as i32,
                (_, false) => p <= q,
                (_, true) => p as i32 <= q as i32,
            }),
    }
}

fn at(sum: &Sum, group: [u32; 3], k: usize) -> u64 {
    let of = sum.of[if sum.of.len() == 1 { 0 } else { k }];
    let moved = (0..3).fold(of, |n, dim| n + sum.slopes[dim] * group[dim] as i128);
    (moved & ((1i128 << sum.bits) - 1)) as u64
}

#[test]
fn all_workgroups_at_once_and_each_alone() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut moving, mut guards, mut fewer) = (0, 0, 0);
    for round in 0..800 {
        let groups = [
            random.pick(&[1, 2, 7, 4096, 1 << 20]) as u32,
            random.pick(&[1, 1, 3, 1000]) as u32,
            random.pick(&[1, 1, 5]) as u32,
        ];
        let middle = groups.map(|n| n / 2);
        let mut extent = Extent {
            first: [0; 3],
            groups,
        };
        let mut program = Program {
            steps: inputs(),
            ids: IDS.to_vec(),
            ..Program::default()
        };
        for _ in 0..40 {
            let next = step(&mut random, &program.steps);
            program.steps.push(next);
            if !can_be(&program, &mut extent, middle, round % 2 == 1) {
                program.steps.pop();
            }
        }
        for _ in 0..20 {
            program.guards.extend(guard(&mut random, &program.steps));
            if !can_be(&program, &mut extent, middle, round % 2 == 1) {
                program.guards.pop();
            }
        }
        let all = evaluate(&program, extent, middle).expect("it did");
        guards += program.guards.len();
        fewer += (extent.groups != groups && extent.count() > 1) as u32;
        for n in 0..12 {
            let from_first = match n {
                0 => [0; 3],
                1 => extent.groups.map(|n| n - 1),
                _ => extent.groups.map(|n| random.below(n as u64) as u32),
            };
            let group: [u32; 3] = std::array::from_fn(|dim| extent.first[dim] + from_first[dim]);
            let one = Extent {
                first: group,
                groups: [1; 3],
            };
            let alone = evaluate(&program, one, group).expect("also alone");
            for (w, slice) in [(0, 0), (1, 3)] {
                let k = 4 * w + slice;
                let values = concrete(&program, group, w, slice);
                for (step, value) in values.iter().enumerate() {
                    let Some(value) = *value else { continue };
                    let of = |e: &Evaluated, group| {
                        at(e.sum(step as StepId).expect("a number"), group, k)
                    };
                    let what = &program.steps[..=step];
                    assert_eq!(
                        of(&all, from_first),
                        value,
                        "{extent:?} {group:?} {what:#?}"
                    );
                    assert_eq!(of(&alone, [0; 3]), value, "{group:?} {what:#?}");
                }
                for &g in &program.guards {
                    assert!(holds(g, &values), "{g:?} {group:?} {:#?}", program.steps);
                }
            }
        }
        let after = inputs().len()..program.steps.len();
        moving += after
            .filter(|&s| all.sum(s as StepId).is_some_and(|s| s.slopes != [0; 3]))
            .count();
    }
    let enough = moving > 1000 && guards > 2000 && fewer > 100;
    assert!(enough, "{moving} {guards} {fewer}");
}
