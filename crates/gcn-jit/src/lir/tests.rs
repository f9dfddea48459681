//! Allocations of made-up code, executed symbolically: every operand must be found where the allocation says.

use super::regalloc::{Allocation, Location, Step, allocate};
use super::{Code, Remat, Role, VReg};

/// Executes an allocation. Panics if an operand is not where the allocation says.
fn check(code: &Code<u32>, out: &Allocation, counts: [u8; 2]) {
    let mut regs = [[None; 32]; 2];
    let mut slots = vec![None; out.slots as usize];
    let mut executed = 0;
    for step in &out.steps {
        match *step {
            Step::Spill { class, reg, slot } => {
                slots[slot as usize] = regs[class as usize][reg as usize];
            }
            Step::Reload { class, reg, slot } => {
                regs[class as usize][reg as usize] = slots[slot as usize];
            }
            Step::Move { class, from, to } => {
                regs[class as usize][to as usize] = regs[class as usize][from as usize];
            }
            Step::Inst { inst, locations } => {
                let operands = code.operands(inst);
                let locations = out.locations(code, inst, locations);
                let remat = code.insts[inst as usize].remat;
                if remat == Remat::No {
                    let between = &code.insts[executed as usize..inst as usize];
                    assert!(between.iter().all(|i| i.remat != Remat::No), "in order");
                    executed = inst + 1;
                }
                let mut read = Vec::new();
                for (&(reg, role), &location) in operands.iter().zip(locations) {
                    let class = code.classes[reg.0 as usize] as usize;
                    if let Location::Reg(r) = location {
                        assert!(r < counts[class]);
                    }
                    if !matches!(role, Role::Use | Role::Any) {
                        continue;
                    }
                    let found = match location {
                        Location::Reg(r) => regs[class][r as usize],
                        Location::Slot(s) => slots[s as usize],
                        Location::Memory(i) => {
                            let remat = code.insts[i as usize].remat;
                            assert!(matches!(remat, Remat::Memory | Remat::Fixed));
                            Some(code.operands(i)[0].0)
                        }
                    };
                    let named = role == Role::Any && code.remat(reg) == Remat::Fixed;
                    assert!(role == Role::Any || matches!(location, Location::Reg(_)));
                    assert!(!named || matches!(location, Location::Memory(_)));
                    assert_eq!(found, Some(reg), "operand of {inst}");
                    read.push((class, location));
                }
                let mut written = Vec::new();
                for (k, (&(reg, role), &location)) in operands.iter().zip(locations).enumerate() {
                    if matches!(role, Role::Use | Role::Any) {
                        continue;
                    }
                    let class = code.classes[reg.0 as usize] as usize;
                    assert!(!written.contains(&(class, location)), "written twice");
                    if matches!(role, Role::Early | Role::Temp) {
                        assert!(
                            !read.contains(&(class, location)),
                            "read after it is written"
                        );
                    }
                    if role == Role::Tied {
                        assert_eq!(location, locations[k - 1]);
                        let same = read.iter().filter(|&&p| p == (class, location)).count();
                        assert_eq!(same, 1, "others read what is changed");
                    }
                    written.push((class, location));
                    let Location::Reg(r) = location else {
                        panic!("written to memory")
                    };
                    regs[class][r as usize] = (role != Role::Temp).then_some(reg);
                }
            }
        }
    }
    let left = code.insts[executed as usize..].iter();
    assert!(left.into_iter().all(|i| i.remat != Remat::No), "all");
}

fn value(code: &mut Code<u32>, of: &[VReg]) -> VReg {
    let d = code.reg(0);
    let mut operands: Vec<_> = of.iter().map(|&r| (r, Role::Use)).collect();
    operands.push((d, Role::Def));
    code.push(0, &operands);
    d
}

fn spills(out: &Allocation) -> usize {
    let spill = |s: &&Step| matches!(s, Step::Spill { .. });
    out.steps.iter().filter(spill).count()
}

#[test]
fn a_result_takes_the_register_of_an_operand_that_dies() {
    let mut code = Code::default();
    let a = value(&mut code, &[]);
    let b = value(&mut code, &[a]);
    value(&mut code, &[b]);
    let out = allocate(&code, [1, 0]).expect("enough registers");
    check(&code, &out, [1, 0]);
    assert_eq!(spills(&out), 0);
}

#[test]
fn the_value_with_the_latest_next_use_is_spilled() {
    let mut code = Code::default();
    let [a, b, c] = [0; 3].map(|_| value(&mut code, &[]));
    value(&mut code, &[b, c]);
    value(&mut code, &[b]);
    value(&mut code, &[a]);
    let out = allocate(&code, [2, 0]).expect("enough registers");
    check(&code, &out, [2, 0]);
    let first = out.steps.iter().find(|s| matches!(s, Step::Spill { .. }));
    assert_eq!(
        first,
        Some(&Step::Spill {
            class: 0,
            reg: 0,
            slot: 0
        })
    );
    assert_eq!(spills(&out), 1);
}

#[test]
fn what_can_be_executed_again_is_not_spilled() {
    let mut code = Code::default();
    let k = code.push_remat(1, Remat::Value, 0);
    let m = code.push_remat(2, Remat::Memory, 0);
    let a = value(&mut code, &[k, m]);
    let b = value(&mut code, &[]);
    let d = code.reg(0);
    code.push(
        3,
        &[
            (a, Role::Use),
            (m, Role::Any),
            (b, Role::Use),
            (d, Role::Def),
        ],
    );
    value(&mut code, &[k, d]);
    let out = allocate(&code, [2, 0]).expect("enough registers");
    check(&code, &out, [2, 0]);
    assert_eq!(spills(&out), 0);
    // The operand that may be in memory is in memory.
    let folded = out.steps.iter().any(|s| match *s {
        Step::Inst { inst, locations } => out
            .locations(&code, inst, locations)
            .contains(&Location::Memory(1)),
        _ => false,
    });
    assert!(folded);
}

#[test]
fn a_register_that_is_not_allocated_is_named() {
    let mut code = Code::default();
    let f = code.push_remat(1, Remat::Fixed, 1);
    let a = value(&mut code, &[]);
    for _ in 0..2 {
        code.push(2, &[(a, Role::Use), (f, Role::Any)]);
    }
    let out = allocate(&code, [1, 0]).expect("enough registers");
    check(&code, &out, [1, 0]);
    let executed = out.steps.iter().any(|s| match *s {
        Step::Inst { inst, .. } => inst == 0,
        _ => false,
    });
    assert!(!executed);
}

#[test]
fn a_tied_operand_that_lives_on_is_copied() {
    let mut code = Code::default();
    let a = value(&mut code, &[]);
    let d = code.reg(0);
    code.push(3, &[(a, Role::Use), (d, Role::Tied)]);
    value(&mut code, &[a, d]);
    let out = allocate(&code, [3, 0]).expect("enough registers");
    check(&code, &out, [3, 0]);
    let moved = out.steps.iter().any(|s| matches!(s, Step::Move { .. }));
    assert!(moved);
}

#[test]
fn too_many_operands_are_refused() {
    let mut code = Code::default();
    let of = [0; 3].map(|_| value(&mut code, &[]));
    value(&mut code, &of);
    assert!(allocate(&code, [2, 0]).is_none());
}

#[test]
fn random_code_keeps_its_values() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 33) as usize % below
    };
    for _ in 0..2000 {
        let counts = [8 + random(9) as u8, 8];
        let mut code: Code<u32> = Code::default();
        let mut have: [Vec<VReg>; 2] = Default::default();
        for _ in 0..random(120) {
            if random(4) == 0 {
                let class = random(2);
                let remat = [Remat::Value, Remat::Memory, Remat::Fixed][random(3)];
                have[class].push(code.push_remat(0, remat, class as u8));
                continue;
            }
            let mut operands = Vec::new();
            let mut defined = Vec::new();
            for (class, have) in have.iter().enumerate() {
                for _ in 0..random(4) {
                    if have.is_empty() {
                        continue;
                    }
                    // Recent registers are preferred.
                    let n = have.len();
                    let reg = have[n - 1 - random(n.min(25))];
                    if random(6) == 0 {
                        let d = code.reg(class as u8);
                        operands.extend([(reg, Role::Use), (d, Role::Tied)]);
                        defined.push((class, d));
                        continue;
                    }
                    operands.push((reg, [Role::Use, Role::Any][random(2)]));
                }
                for _ in 0..random(3) {
                    let role = [Role::Def, Role::Early, Role::Temp][random(3)];
                    let d = code.reg(class as u8);
                    operands.push((d, role));
                    if role != Role::Temp {
                        defined.push((class, d));
                    }
                }
            }
            code.push(0, &operands);
            for (class, d) in defined {
                have[class].push(d);
            }
        }
        let out = allocate(&code, counts).expect("enough registers");
        check(&code, &out, counts);
    }
}
