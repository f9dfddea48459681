//! Undefined bits of operands: the undefined bits of a source as an instruction reads it, and the bits of registers that become
//! undefined when the instruction writes its result.
//!
//! The registers are those of a second wave, whose bits are 1 where those of the first are undefined; its EXEC, M0 and MODE
//! are those of the first.

use super::{
    Dpp, LANES, Modifiers, OperandLocation, Opnd, Ty, WaveState, pack, permute, selection, store,
    vgpr,
};
use gcn_isa::meaning::width_mask;
use gcn_isa::operand::{EXEC, M0};

/// A scalar register; EXEC and M0 have no undefined bits there.
fn scalar(wave: &WaveState, code: usize) -> u64 {
    match code as u16 {
        M0 | EXEC => 0,
        code if code == EXEC + 1 => 0,
        code => wave.sgprs.get(code as usize).copied().unwrap_or(0) as u64,
    }
}

impl Opnd {
    /// As [`Opnd::read`].
    pub fn undefined<const N: usize>(
        &self,
        wave: &WaveState,
        mods: &Modifiers,
        dword: Option<u8>,
        out: &mut [u64; N],
    ) {
        let k = dword.unwrap_or(0) as usize;
        let ty = if dword.is_some() { Ty::B32 } else { self.ty };
        match self.location {
            OperandLocation::Vgpr(number) => {
                let low = vgpr(wave, self.vgpr(wave, number) + k);
                let high = vgpr(wave, self.vgpr(wave, number) + k + 1);
                let wide = ty.bits() > 32;
                for lane in 0..N {
                    let upper = if wide { (high[lane] as u64) << 32 } else { 0 };
                    out[lane] = low[lane] as u64 | upper;
                }
                if let Some(dpp) = self.lanes_of(mods) {
                    permute(dpp, wave.exec(), out);
                }
            }
            OperandLocation::Scalar(code) => {
                let low = scalar(wave, code as usize + k);
                let wide = ty.bits() > 32;
                let upper = if wide {
                    scalar(wave, code as usize + k + 1) << 32
                } else {
                    0
                };
                if N == LANES && self.ty == Ty::Mask && dword.is_none() {
                    let bits = low | upper;
                    for (lane, out) in out.iter_mut().enumerate() {
                        *out = bits >> lane & 1;
                    }
                    return;
                }
                *out = [low | upper; N];
            }
            OperandLocation::Const(_) | OperandLocation::Source(_) | OperandLocation::Nothing => {
                *out = [0; N]
            }
        }
        if self.plain || dword.is_some() {
            return;
        }
        if let Some(at) = self.f16_at {
            for v in out.iter_mut() {
                *v = if *v >> at & 0xffff != 0 {
                    0xffff_ffff
                } else {
                    0
                };
            }
        }
        if self.sel != 6 || self.sext {
            self.select(out);
        } else if self.high {
            out.iter_mut().for_each(|v| *v >>= 16);
        }
        if self.ty.bits() < 32 || self.abs != !0 {
            let abs = self.abs & width_mask(self.ty);
            out.iter_mut().for_each(|v| *v &= abs);
        }
    }

    fn lanes_of<'m>(&self, mods: &'m Modifiers) -> Option<&'m Dpp> {
        mods.dpp.as_ref().filter(|_| self.dpp)
    }

    /// As [`Opnd::read_half`].
    pub fn undefined_half<const N: usize>(&self, wave: &WaveState, half: u8, out: &mut [u64; N]) {
        let (shift, _) = self.half(half);
        match self.location {
            OperandLocation::Vgpr(number) => {
                let register = vgpr(wave, self.vgpr(wave, number));
                for lane in 0..N {
                    out[lane] = (register[lane] >> shift & 0xffff) as u64;
                }
            }
            OperandLocation::Scalar(code) => {
                *out = [scalar(wave, code as usize) >> shift & 0xffff; N]
            }
            _ => *out = [0; N],
        }
    }

    /// As writing the operand, or a dword of it: `value` has a 1 for each undefined bit of the result. A result with omod or
    /// clamp is entirely undefined if one of its bits is.
    pub fn write_undefined<const N: usize>(
        &self,
        wave: &mut WaveState,
        mods: &Modifiers,
        dword: Option<u8>,
        (value, value_ty): (&[u64; N], Ty),
        (lanes, exec): (u64, u64),
    ) {
        let k = dword.unwrap_or(0) as u16;
        let ty = if dword.is_some() { Ty::B32 } else { self.ty };
        match self.location {
            OperandLocation::Scalar(code) => {
                if N == LANES && ty == Ty::Mask && value_ty == Ty::Bool {
                    let kept = wave.pair(code) & exec & !lanes;
                    wave.set_pair(code, pack(value) & exec & lanes | kept);
                } else if ty.bits() > 32 {
                    wave.set_pair(code, value[0]);
                } else if let Some(register) = wave.sgprs.get_mut((code + k) as usize) {
                    *register = value[0] as u32;
                }
            }
            OperandLocation::Vgpr(number) => {
                let number = self.vgpr(wave, number) + k as usize;
                let shaped = ty.is_float() && (mods.omod != 0 || mods.clamp);
                let of = |lane: usize| match value[lane % N] {
                    v if shaped && v != 0 => width_mask(ty),
                    v => v,
                };
                if ty.bits() > 32 {
                    store(wave, number + 1, lanes, |lane, _| (of(lane) >> 32) as u32);
                    store(wave, number, lanes, |lane, _| of(lane) as u32);
                } else if self.sel != 6 {
                    let (shift, bits) = selection(self.sel);
                    let mask = (u32::MAX >> (32 - bits)) << shift;
                    store(wave, number, lanes, |lane, old| {
                        let placed = (of(lane) as u32) << shift & mask;
                        let up = 32 - bits - shift;
                        match mods.unused {
                            1 => ((placed << up) as i32 >> up) as u32,
                            2 => old & !mask | placed,
                            _ => placed,
                        }
                    });
                } else if ty.bits() == 16 && (self.high || mods.keeps_upper) {
                    let shift = if self.high { 16 } else { 0 };
                    store(wave, number, lanes, |lane, old| {
                        old & !(0xffff << shift) | (of(lane) as u32 & 0xffff) << shift
                    });
                } else {
                    store(wave, number, lanes, |lane, _| of(lane) as u32);
                }
            }
            OperandLocation::Const(_) | OperandLocation::Source(_) | OperandLocation::Nothing => {}
        }
    }
}
