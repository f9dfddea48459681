//! The format of grid variants on disk.

use crate::codec::{In, Out};
use crate::ir::affine::{Guard, SliceLayout};
use crate::ir::grid::{GridAddress, OPS, Program, Step, StepOp};
use crate::target::x64::grid::{GridCode, GridLoad};
use gcn_isa::meaning::Op;

impl GridCode {
    /// Serializes the variant. `None` if it has no form on disk.
    pub(super) fn save(&self, out: &mut Out) -> Option<()> {
        let mut saved = Some(());
        let p = &self.program;
        out.list(&p.steps, |out, step| {
            saved = saved.and_then(|()| save_step(out, step));
        });
        out.list(&p.guards, |out, guard| {
            saved = saved.and_then(|()| save_guard(out, guard));
        });
        out.list(&p.addresses, |out, a| {
            for n in [a.number, a.step, a.lo] {
                out.u32(n as u32);
            }
            let (layout, bytes) = match a.layout {
                None => (0, 0),
                Some(SliceLayout::Rows) => (1, 0),
                Some(SliceLayout::Multiples(bytes)) => (2, bytes),
            };
            out.u8(layout);
            out.u8(a.need);
            for n in [a.apart, bytes, a.from, a.to] {
                out.u32(n as u32);
            }
        });
        out.list(&p.bases, |out, &(base, step)| pair(out, base as u32, step));
        out.list(&p.apart, |out, &(a, b)| pair(out, a as u32, b));
        out.bytes(&p.ids);
        p.reads.iter().for_each(|&reads| out.u8(reads as u8));
        out.u32(self.at);
        out.list(&self.loads, |out, l| {
            out.u32(l.pointer);
            pair(out, l.to, l.step);
        });
        out.list(&self.scalars, |out, &(to, step)| pair(out, to, step));
        out.list(&self.slopes, |out, &at| out.u32(at));
        out.u8(self.writes_affine as u8);
        saved
    }

    /// Reads a variant. `size` is the size of the code in bytes.
    pub(super) fn load(from: &mut In<'_>, size: usize) -> Option<GridCode> {
        let steps = from.list(load_step)?;
        let guards = from.list(load_guard)?;
        let addresses = from.list(|from| {
            let [number, step, lo] = [short(from)?, short(from)?, short(from)?];
            let (layout, need) = (from.u8()?, from.u8()?);
            let [apart, bytes, first, to] = [int(from)?, int(from)?, int(from)?, int(from)?];
            let layout = match layout {
                0 => None,
                1 => Some(SliceLayout::Rows),
                2 => Some(SliceLayout::Multiples(bytes)),
                _ => return None,
            };
            Some(GridAddress {
                number,
                step,
                lo,
                apart,
                layout,
                need,
                from: first,
                to,
            })
        })?;
        let bases = from.list(|from| Some((short(from)?, short(from)?)))?;
        let apart = from.list(|from| Some((short(from)?, short(from)?)))?;
        let ids = from.bytes()?.to_vec();
        let reads = [from.flag()?, from.flag()?, from.flag()?];
        let at = from.u32().filter(|&at| (at as usize) < size)?;
        let loads = from.list(|from| {
            Some(GridLoad {
                pointer: from.u32()?,
                to: from.u32()?,
                step: short(from)?,
            })
        })?;
        Some(GridCode {
            program: Program {
                steps,
                guards,
                addresses,
                bases,
                apart,
                ids,
                reads,
            },
            at,
            loads,
            scalars: from.list(|from| Some((from.u32()?, short(from)?)))?,
            slopes: from.list(|from| from.u32())?,
            writes_affine: from.flag()?,
        })
    }
}

fn pair(out: &mut Out, first: u32, second: u16) {
    out.u32(first);
    out.u32(second as u32);
}

fn short(from: &mut In<'_>) -> Option<u16> {
    from.u32()?.try_into().ok()
}

fn int(from: &mut In<'_>) -> Option<i32> {
    Some(from.u32()? as i32)
}

fn save_op(out: &mut Out, op: Op) -> Option<()> {
    let known = OPS.iter().position(|&o| o == op);
    out.u8(known.unwrap_or(0) as u8);
    known.map(|_| ())
}

fn load_op(from: &mut In<'_>) -> Option<Op> {
    OPS.get(from.u8()? as usize).copied()
}

fn save_step(out: &mut Out, step: &Step) -> Option<()> {
    let mut saved = Some(());
    let (kind, value) = match step.op {
        StepOp::Const(v) => (0, v),
        StepOp::Sgpr(code) => (1, code as u64),
        StepOp::Vgpr(v) => (2, v as u64),
        StepOp::Firsts => (3, 0),
        StepOp::Load { count, offset } => (4, (count as u64) << 32 | offset as u32 as u64),
        StepOp::Part(k) => (5, k as u64),
        StepOp::Pair => (6, 0),
        StepOp::Lo => (7, 0),
        StepOp::Hi => (8, 0),
        StepOp::Sext => (9, 0),
        StepOp::Shld(by) => (10, by as u64),
        StepOp::Shrd(by) => (11, by as u64),
        StepOp::Alu { signed, mask, .. } => (12, (signed as u64) << 1 | mask as u64),
    };
    out.u8(kind);
    out.u64(value);
    if let StepOp::Alu { op, .. } = step.op {
        saved = save_op(out, op);
    }
    step.args.iter().for_each(|&arg| out.u32(arg as u32));
    out.u8(step.bits);
    saved
}

fn load_step(from: &mut In<'_>) -> Option<Step> {
    let (kind, value) = (from.u8()?, from.u64()?);
    let byte = || u8::try_from(value).ok();
    let op = match kind {
        0 => StepOp::Const(value),
        1 => StepOp::Sgpr(byte()?),
        2 => StepOp::Vgpr(value.try_into().ok()?),
        3 => StepOp::Firsts,
        4 => StepOp::Load {
            count: (value >> 32).try_into().ok()?,
            offset: value as i32,
        },
        5 => StepOp::Part(byte()?),
        6 => StepOp::Pair,
        7 => StepOp::Lo,
        8 => StepOp::Hi,
        9 => StepOp::Sext,
        10 => StepOp::Shld(byte()?),
        11 => StepOp::Shrd(byte()?),
        12 => StepOp::Alu {
            op: load_op(from)?,
            signed: value >> 1 & 1 != 0,
            mask: value & 1 != 0,
        },
        _ => return None,
    };
    let args = [short(from)?, short(from)?, short(from)?];
    let bits = from.u8().filter(|bits| (1..=64).contains(bits))?;
    Some(Step { op, args, bits })
}

fn save_guard(out: &mut Out, guard: &Guard) -> Option<()> {
    let (kind, flags, of, step) = match *guard {
        Guard::Top { of, step, bits } => (0, bits, [of, 0], [step, 0]),
        Guard::NoWrap { of, step, signed } => (1, signed as u8, [of, 0], [step, 0]),
        Guard::Less { of, step } => (2, 0, of, step),
        Guard::Bits {
            of,
            step,
            mask,
            ones,
        } => (3, ones as u8, [of, mask], [step, 0]),
        Guard::AssumedCompare {
            signed, of, step, ..
        } => (4, signed as u8, of, step),
    };
    out.u8(kind);
    out.u8(flags);
    of.iter().for_each(|&of| out.u32(of as u32));
    step.iter().for_each(|&step| out.u32(step as u32));
    match *guard {
        Guard::AssumedCompare { op, .. } => save_op(out, op),
        _ => Some(()),
    }
}

fn load_guard(from: &mut In<'_>) -> Option<Guard> {
    let (kind, flags) = (from.u8()?, from.u8()?);
    let [first, second] = [short(from)?, short(from)?];
    let steps = [int(from)?, int(from)?];
    let (of, step) = (first, steps[0]);
    Some(match kind {
        0 => Guard::Top {
            of,
            step,
            bits: flags,
        },
        1 => Guard::NoWrap {
            of,
            step,
            signed: flags != 0,
        },
        2 => Guard::Less {
            of: [first, second],
            step: steps,
        },
        3 => Guard::Bits {
            of,
            step,
            mask: second,
            ones: flags != 0,
        },
        4 => Guard::AssumedCompare {
            op: load_op(from)?,
            signed: flags != 0,
            of: [first, second],
            step: steps,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a variant with one element of each kind.
    fn code() -> GridCode {
        let load = StepOp::Load {
            count: 4,
            offset: -8,
        };
        let mut all = vec![StepOp::Const(u64::MAX), StepOp::Sgpr(5), StepOp::Vgpr(255)];
        all.extend([StepOp::Firsts, load, StepOp::Part(3), StepOp::Pair]);
        all.extend([StepOp::Lo, StepOp::Hi, StepOp::Sext]);
        all.extend([StepOp::Shld(2), StepOp::Shrd(31)]);
        all.extend(OPS.iter().enumerate().map(|(n, &op)| StepOp::Alu {
            op,
            signed: n % 2 == 0,
            mask: n % 3 == 0,
        }));
        let step = |(n, op): (usize, StepOp)| Step {
            op,
            args: [n as u16, 511, 0],
            bits: [1, 32, 64][n % 3],
        };
        let (of, step_of) = ([7, 8], [-15, 60]);
        let guards = vec![
            Guard::Top {
                of: 3,
                step: -60,
                bits: 2,
            },
            Guard::NoWrap {
                of: 4,
                step: 15,
                signed: true,
            },
            Guard::Less { of, step: step_of },
            Guard::Bits {
                of: 9,
                step: 15,
                mask: 10,
                ones: true,
            },
            Guard::AssumedCompare {
                op: Op::Le,
                signed: true,
                of,
                step: step_of,
            },
        ];
        let layouts = [
            None,
            Some(SliceLayout::Rows),
            Some(SliceLayout::Multiples(16)),
        ];
        let address = |layout: Option<SliceLayout>| GridAddress {
            number: 3,
            step: 4,
            lo: 5,
            apart: -4,
            layout,
            need: 2,
            from: -60,
            to: 4,
        };
        GridCode {
            program: Program {
                steps: all.into_iter().enumerate().map(step).collect(),
                guards,
                addresses: layouts.into_iter().map(address).collect(),
                bases: vec![(6, 7)],
                apart: vec![(3, 5)],
                ids: vec![8, 9],
                reads: [true, false, true],
            },
            at: 99,
            loads: vec![GridLoad {
                to: 10,
                pointer: 12,
                step: 4,
            }],
            scalars: vec![(14, 1)],
            slopes: vec![16, 22],
            writes_affine: true,
        }
    }

    #[test]
    fn what_is_loaded_is_what_was_saved() {
        let code = code();
        let mut out = Out::default();
        assert_eq!(code.save(&mut out), Some(()));
        let mut from = In(&out.0);
        assert_eq!(GridCode::load(&mut from, 100).as_ref(), Some(&code));
        assert!(from.0.is_empty());
        // Loading fails if the entry is beyond the code, or if bytes are missing.
        assert_eq!(GridCode::load(&mut In(&out.0), 99), None);
        for bytes in 0..out.0.len() {
            assert_eq!(GridCode::load(&mut In(&out.0[..bytes]), 100), None);
        }
    }
}
