//! Workgroups over threads, and the waves of a workgroup in turns.

use super::abi::Setup;
use super::host::Output;
use super::{Gpu, Launch, Place, RunError, Stats};
use crate::engine::{Code, Engine, Machine, Stop};
use crate::global::Global;
use crate::mem::Memory;
use crate::wave::{Lds, WaveState};
use gcn_isa::target::Target;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

impl Gpu {
    /// Runs all workgroups.
    pub(super) fn run(&self, setup: &Setup<'_>, launch: &Launch) -> Result<Stats, RunError> {
        let groups = setup.shape.groups;
        let total = setup.shape.total;
        let shared = Shared {
            global: Global::default(),
            next: AtomicU64::new(0),
            fuel: launch.max_instructions.map(AtomicU64::new),
            failed: AtomicU64::new(u64::MAX),
            error: Mutex::new(None),
        };
        let work = |thread: usize| {
            let mut engine = (self.engine)();
            let mut stats = Stats::default();
            let mut lds = Lds(vec![0; setup.shape.lds_bytes as usize]);
            loop {
                let number = shared.next.fetch_add(1, Relaxed);
                // Every workgroup before a failed one has been taken by some thread, which finishes it.
                if number >= total || number > shared.failed.load(Relaxed) {
                    return stats;
                }
                let (x, y) = (groups[0] as u64, groups[1] as u64);
                let group = [number % x, number / x % y, number / (x * y)].map(|n| n as u32);
                let mut workgroup = Workgroup {
                    setup,
                    memory: &self.memory,
                    output: &self.output,
                    target: self.target,
                    group,
                    number,
                    thread,
                    shared: &shared,
                    stats: &mut stats,
                };
                lds.0.fill(0);
                let result = workgroup.run(engine.as_mut(), &mut lds, launch);
                let said = match &setup.host {
                    Some(host) => host.finish(&self.memory, &self.output, thread, number),
                    None => Ok(()),
                };
                let said = said.map_err(|why| RunError::Host {
                    place: workgroup.start(),
                    why,
                });
                if let Err(e) = result.and(said) {
                    shared.fail(number, e);
                }
            }
        };
        let mut stats = Stats::default();
        let mut add = |s: Stats| {
            stats.instructions += s.instructions;
            stats.waves += s.waves;
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..setup.shape.threads)
                .map(|t| scope.spawn(move || work(t)))
                .collect();
            add(work(0));
            for other in others {
                match other.join() {
                    Ok(stats) => add(stats),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        let closed = setup.host.as_ref().map(|host| host.close(&self.output));
        let error = shared
            .error
            .into_inner()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        match error {
            Some((_, error)) => Err(error),
            None => match closed {
                Some(Err(why)) => Err(RunError::Launch {
                    kernel: setup.kernel.name.clone(),
                    why,
                }),
                _ => Ok(stats),
            },
        }
    }
}

/// What the threads of a dispatch share.
struct Shared {
    global: Global,
    /// The next workgroup.
    next: AtomicU64,
    /// Instructions that may still run.
    fuel: Option<AtomicU64>,
    /// The lowest workgroup that failed.
    failed: AtomicU64,
    error: Mutex<Option<(u64, RunError)>>,
}

impl Shared {
    fn fail(&self, number: u64, error: RunError) {
        self.failed.fetch_min(number, Relaxed);
        let mut lowest = self
            .error
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if lowest.as_ref().is_none_or(|(at, _)| number < *at) {
            *lowest = Some((number, error));
        }
    }

    /// Takes up to `wanted` instructions' fuel.
    fn take(&self, wanted: u64) -> u64 {
        let Some(fuel) = &self.fuel else {
            return wanted;
        };
        let taken = |left: u64| left.min(wanted);
        match fuel.fetch_update(Relaxed, Relaxed, |left| Some(left - taken(left))) {
            Ok(left) | Err(left) => taken(left),
        }
    }

    fn give_back(&self, unused: u64) {
        if let Some(fuel) = &self.fuel {
            fuel.fetch_add(unused, Relaxed);
        }
    }
}

/// Instructions that a wave runs before the next wave's turn.
const SLICE: u64 = 4096;

#[derive(Clone, Copy, PartialEq)]
enum Doing {
    Running,
    Waiting,
    Halted,
    Ended,
}

/// One workgroup on one thread.
struct Workgroup<'a> {
    setup: &'a Setup<'a>,
    memory: &'a Memory,
    output: &'a Output,
    target: Target,
    group: [u32; 3],
    number: u64,
    thread: usize,
    shared: &'a Shared,
    stats: &'a mut Stats,
}

impl Workgroup<'_> {
    fn place(&self, wave: usize, state: &WaveState) -> Place {
        Place {
            kernel: self.setup.kernel.name.clone(),
            workgroup: self.group,
            wave,
            pc: state.pc,
            offset: state.pc.wrapping_sub(self.setup.entry) as i64,
        }
    }

    /// The first wave's first instruction.
    fn start(&self) -> Place {
        Place {
            kernel: self.setup.kernel.name.clone(),
            workgroup: self.group,
            wave: 0,
            pc: self.setup.entry,
            offset: 0,
        }
    }

    fn run(
        &mut self,
        engine: &mut dyn Engine,
        lds: &mut Lds,
        launch: &Launch,
    ) -> Result<(), RunError> {
        let shape = self.setup.shape;
        let size: [u32; 3] = std::array::from_fn(|d| {
            shape.group[d].min(shape.grid[d] - self.group[d] * shape.group[d])
        });
        let count = shape.waves_of(size);
        let slots = (self.thread * shape.waves_of(shape.group)) as u64;
        let mut waves: Vec<WaveState> = (0..count)
            .map(|w| {
                self.setup
                    .wave(self.target, self.group, size, w, slots + w as u64)
            })
            .collect();
        let mut doing = vec![Doing::Running; count];
        self.stats.waves += count as u64;
        let mut machine = Machine {
            target: self.target,
            memory: self.memory,
            code: Code::Memory,
            lds,
            global: &self.shared.global,
            hidden_private_base: self.setup.scratch,
        };
        loop {
            for w in 0..count {
                if doing[w] != Doing::Running {
                    continue;
                }
                // A lower workgroup's error is the one to report.
                if self.shared.failed.load(Relaxed) < self.number {
                    return Ok(());
                }
                let given = self.shared.take(SLICE);
                let mut fuel = given;
                let stop = engine.run(&mut waves[w], &mut machine, &mut fuel);
                self.shared.give_back(fuel);
                self.stats.instructions += given - fuel;
                let place = || self.place(w, &waves[w]);
                // The wave may be waiting for the host.
                if let Some(host) = &self.setup.host {
                    host.serve(self.memory, self.output, self.thread, self.number)
                        .map_err(|why| RunError::Host {
                            place: place(),
                            why,
                        })?;
                }
                doing[w] = match stop {
                    Stop::Endpgm | Stop::FellOff => Doing::Ended,
                    Stop::Barrier => Doing::Waiting,
                    Stop::Halt => Doing::Halted,
                    Stop::Limit if given == 0 => {
                        let instructions = launch.max_instructions.unwrap_or(0);
                        return Err(RunError::Limit {
                            place: place(),
                            instructions,
                        });
                    }
                    Stop::Limit | Stop::Yield | Stop::Retry => Doing::Running,
                    Stop::Trap(id) => return Err(RunError::Trap { place: place(), id }),
                    Stop::Fault(report) => {
                        return Err(RunError::Fault {
                            place: place(),
                            report: Box::new(report),
                        });
                    }
                };
            }
            if doing.contains(&Doing::Running) {
                continue;
            }
            let those =
                |what: Doing| -> Vec<usize> { (0..count).filter(|&w| doing[w] == what).collect() };
            let (waiting, halted) = (those(Doing::Waiting), those(Doing::Halted));
            match (waiting.first(), halted.first()) {
                (None, None) => return Ok(()),
                (None, Some(&w)) => {
                    return Err(RunError::Halted {
                        place: self.place(w, &waves[w]),
                    });
                }
                (Some(&w), Some(_)) => {
                    let place = self.place(w, &waves[w]);
                    return Err(RunError::Deadlock {
                        place,
                        waiting,
                        halted,
                    });
                }
                (Some(_), None) => {
                    for w in waiting {
                        doing[w] = Doing::Running;
                    }
                }
            }
        }
    }
}
