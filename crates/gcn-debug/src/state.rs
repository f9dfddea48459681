//! The visible state: locations that hold values, and waves.

use gcn::lang;
use gcn_emu::dispatch::Waits;
use gcn_emu::group::Doing;
use gcn_emu::mem::PAGE_SIZE;
use gcn_emu::wave::{LANES, WaveState};
use gcn_isa::Target;

use crate::session::{Error, Session, WaveId};

/// A location that holds a value: registers of a wave, LDS of a workgroup, or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueLocation {
    /// VGPRs from a number on, in a lane or in all of them.
    Vgpr {
        /// The wave.
        wave: WaveId,
        /// The first register.
        first: u16,
        /// The number of registers.
        count: u8,
        /// The lane.
        lane: Option<u8>,
    },
    /// Scalar registers by operand code: SGPRs from 0, VCC at 106, M0 at 124, EXEC at 126.
    Scalar {
        /// The wave.
        wave: WaveId,
        /// The first register's code.
        first: u16,
        /// The number of registers.
        count: u8,
    },
    /// STATUS.SCC of a wave.
    Scc(WaveId),
    /// MODE of a wave.
    Mode(WaveId),
    /// The PC of a wave: the guest address of its next instruction.
    Pc(WaveId),
    /// Bytes of the LDS of a workgroup.
    Lds {
        /// The workgroup's ID.
        workgroup: [u32; 3],
        /// The first byte.
        address: u64,
        /// The number of bytes.
        bytes: u64,
    },
    /// Bytes of guest memory.
    Memory {
        /// The first byte.
        address: u64,
        /// The number of bytes.
        bytes: u64,
    },
}

impl ValueLocation {
    /// The wave whose registers are named.
    pub fn wave(&self) -> Option<WaveId> {
        match self {
            ValueLocation::Vgpr { wave, .. } | ValueLocation::Scalar { wave, .. } => Some(*wave),
            ValueLocation::Scc(wave) | ValueLocation::Mode(wave) | ValueLocation::Pc(wave) => {
                Some(*wave)
            }
            ValueLocation::Lds { .. } | ValueLocation::Memory { .. } => None,
        }
    }

    /// The name in the user's syntax.
    pub fn name(&self, target: Target) -> String {
        let tuple = |letter: &str, first: u16, count: u8| match count {
            1 => format!("{letter}{first}"),
            n => format!("{letter}[{first}:{}]", first + n as u16 - 1),
        };
        match *self {
            ValueLocation::Vgpr {
                first, count, lane, ..
            } => match lane {
                Some(lane) => format!("{}[{lane}]", tuple("v", first, count)),
                None => tuple("v", first, count),
            },
            ValueLocation::Scalar { first, count, .. } if count <= 2 => {
                lang::name(lang::Location::Scalar(first, count), target)
            }
            ValueLocation::Scalar { first, count, .. } => tuple("s", first, count),
            ValueLocation::Scc(_) => "scc".into(),
            ValueLocation::Mode(_) => "mode".into(),
            ValueLocation::Pc(_) => "pc".into(),
            ValueLocation::Lds { address, bytes, .. } => format!("lds {address:#x},{bytes}"),
            ValueLocation::Memory { address, bytes } => format!("mem {address:#x},{bytes}"),
        }
    }
}

/// A wave of the current launch that has begun and whose workgroup has not ended.
#[derive(Clone, Debug)]
pub struct WaveView {
    /// The wave.
    pub id: WaveId,
    /// Its state of progress.
    pub doing: Doing,
    /// What it waits for, if it waits.
    pub waits: Option<Waits>,
    /// Its instruction is next.
    pub next: bool,
    /// The guest address of its next instruction.
    pub pc: u64,
    /// EXEC.
    pub exec: u64,
    /// The instructions that it has executed.
    pub executed: u64,
}

impl Session {
    /// The waves of the workgroups that have begun and not ended.
    pub fn waves(&self) -> Vec<WaveView> {
        let running = self.running();
        let mut out = Vec::new();
        for group in self.stepper().groups() {
            let workgroup = group.workgroup();
            let waiting = self.stepper().waiting(workgroup);
            for (wave, (doing, state)) in group.waves().enumerate() {
                let id = WaveId { workgroup, wave };
                let waits = waiting.iter().find(|w| w.location.wave == wave);
                let waits = waits.map(|w| w.waits.clone());
                out.push(WaveView {
                    id,
                    doing,
                    waits: waits.filter(|w| *w != Waits::Nothing),
                    next: running == Some(id),
                    pc: state.pc,
                    exec: state.exec(),
                    executed: state.clock / 4,
                });
            }
        }
        out
    }

    /// The registers of a wave that has begun and whose workgroup has not ended.
    pub fn wave(&self, id: WaveId) -> Option<&WaveState> {
        self.stepper().wave(id.workgroup, id.wave)
    }

    /// The LDS of a workgroup that has begun and not ended.
    pub fn lds(&self, workgroup: [u32; 3]) -> Option<&[u8]> {
        self.stepper().group(workgroup).map(|group| &**group.lds())
    }

    /// The global data share; empty if nothing has used it.
    pub fn gds(&self) -> Vec<u8> {
        self.stepper().gds()
    }

    /// The selected wave, or a message that there is none.
    ///
    /// # Errors
    /// If no wave is selected, or it has ended.
    pub fn current(&self) -> Result<(WaveId, &WaveState), Error> {
        let Some(id) = self.selected() else {
            return Err("no wave is selected".into());
        };
        match self.wave(id) {
            Some(state) => Ok((id, state)),
            None => Err(format!("{id} has ended; go back to see it, or select another").into()),
        }
    }

    /// The bytes at a location, little-endian; for registers without a lane, the bytes of all lanes one after the other.
    ///
    /// # Errors
    /// A message if there is no such location.
    pub fn read(&self, location: ValueLocation) -> Result<Vec<u8>, Error> {
        let state = |wave: WaveId| {
            self.wave(wave)
                .ok_or_else(|| Error::from(format!("{wave} is not running")))
        };
        Ok(match location {
            ValueLocation::Vgpr {
                wave,
                first,
                count,
                lane,
            } => {
                let state = state(wave)?;
                let registers = first as usize..first as usize + count as usize;
                let have = state.vgprs.len();
                if registers.end > have {
                    return Err(format!(
                        "there is no v{}: the kernel has {have} VGPRs",
                        registers.end - 1
                    )
                    .into());
                }
                let lanes = match lane {
                    Some(lane) => lane as usize % LANES..lane as usize % LANES + 1,
                    None => 0..LANES,
                };
                let words = lanes.flat_map(|lane| registers.clone().map(move |r| (r, lane)));
                let bytes = words.flat_map(|(r, lane)| state.vgprs[r][lane].to_le_bytes());
                bytes.collect()
            }
            ValueLocation::Scalar { wave, first, count } => {
                let state = state(wave)?;
                let registers = first as usize..first as usize + count as usize;
                let words = state
                    .sgprs
                    .get(registers)
                    .ok_or("there is no such register")?;
                words.iter().flat_map(|word| word.to_le_bytes()).collect()
            }
            ValueLocation::Scc(wave) => vec![state(wave)?.scc as u8],
            ValueLocation::Mode(wave) => state(wave)?.mode.to_le_bytes().to_vec(),
            ValueLocation::Pc(wave) => state(wave)?.pc.to_le_bytes().to_vec(),
            ValueLocation::Lds {
                workgroup,
                address,
                bytes,
            } => {
                let [x, y, z] = workgroup;
                let lds = (self.lds(workgroup))
                    .ok_or_else(|| format!("workgroup ({x},{y},{z}) is not running"))?;
                let end = address.saturating_add(bytes);
                let range = usize::try_from(address).ok().zip(usize::try_from(end).ok());
                let found = range.and_then(|(a, b)| lds.get(a..b));
                let have = lds.len();
                found
                    .ok_or_else(|| {
                        format!("LDS {address:#x} to {end:#x} is beyond the {have:#x} bytes of the workgroup")
                    })?
                    .to_vec()
            }
            ValueLocation::Memory { address, bytes } => {
                const MOST: u64 = 1 << 30;
                if bytes > MOST {
                    return Err(format!("{bytes} bytes are too many").into());
                }
                let mut out = vec![0; bytes as usize];
                let read = self.memory().read(address, &mut out);
                read.map_err(|fault| fault.to_string())?;
                out
            }
        })
    }

    /// The readable bytes of a range of guest memory, from its beginning.
    pub fn readable(&self, address: u64, bytes: u64) -> Vec<u8> {
        let location = |address, bytes| ValueLocation::Memory { address, bytes };
        if let Ok(all) = self.read(location(address, bytes)) {
            return all;
        }
        let mut out = Vec::new();
        let (mut at, end) = (address, address.saturating_add(bytes));
        while at < end {
            let next = end.min((at / PAGE_SIZE + 1).saturating_mul(PAGE_SIZE));
            match self.read(location(at, next - at)) {
                Ok(piece) => out.extend(piece),
                Err(_) => break,
            }
            at = next;
        }
        out
    }

    /// The number of SGPRs that the kernel's descriptor asks for.
    pub fn sgprs(&self) -> u16 {
        let descriptor = &self.kernel().descriptor;
        let count = 8 * (descriptor.granulated_wavefront_sgpr_count() as u16 + 1);
        count.min(self.target().generation().sgprs())
    }

    /// Changes the bytes at a location. From here a new history begins.
    ///
    /// # Errors
    /// A message if there is no such location, or it cannot be changed.
    pub fn write(&mut self, location: ValueLocation, bytes: &[u8]) -> Result<(), Error> {
        let have = self.read(location)?;
        if have.len() != bytes.len() {
            return Err(format!("{} bytes are given for {}", bytes.len(), have.len()).into());
        }
        let word = |n: usize| {
            let mut word = [0; 4];
            word.copy_from_slice(&bytes[4 * n..4 * n + 4]);
            u32::from_le_bytes(word)
        };
        let code =
            matches!(location, ValueLocation::Memory { address, .. } if self.code.is_code(address));
        self.change(|stepper, memory| {
            let wave = location.wave();
            if let Some(wave) = wave {
                let state = stepper.wave_mut(wave.workgroup, wave.wave);
                let state = state.ok_or("the wave is not running")?;
                match location {
                    ValueLocation::Vgpr {
                        first, count, lane, ..
                    } => {
                        let lanes = match lane {
                            Some(lane) => lane as usize % LANES..lane as usize % LANES + 1,
                            None => 0..LANES,
                        };
                        for (n, lane) in lanes.enumerate() {
                            for r in 0..count as usize {
                                let word = word(n * count as usize + r);
                                state.vgprs[first as usize + r][lane] = word;
                            }
                        }
                    }
                    ValueLocation::Scalar { first, count, .. } => {
                        for r in 0..count as usize {
                            state.sgprs[first as usize + r] = word(r);
                        }
                    }
                    ValueLocation::Scc(_) => state.scc = bytes[0] & 1 != 0,
                    ValueLocation::Mode(_) => state.mode = word(0),
                    _ => state.pc = (word(0) as u64 | (word(1) as u64) << 32) & !3,
                }
                return Ok(());
            }
            match location {
                ValueLocation::Lds {
                    workgroup, address, ..
                } => {
                    let lds = stepper
                        .lds_mut(workgroup)
                        .ok_or("the workgroup is not running")?;
                    lds[address as usize..address as usize + bytes.len()].copy_from_slice(bytes);
                }
                ValueLocation::Memory { address, .. } => {
                    memory
                        .write(address, bytes)
                        .map_err(|fault| fault.to_string())?;
                    if code {
                        stepper.code_changed();
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        if code {
            self.code.invalidate(&self.machine.memory);
            self.code_changed();
        }
        Ok(())
    }
}
