//! A kernel that is stepped: a [`Stepper`] over a session of the debugger.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use gcn::emu::dispatch::Waits;
use gcn::emu::group::Doing;
use gcn::emu::mem::Memory;
use gcn::emu::wave::WaveState;
use gcn_debug::motion::Unit;
use gcn_debug::{Error, Moment, Options, Reason, Session, Status, WaveId};
use serde_json::{Value, json};

use crate::code::Built;
use crate::launch::{self, Alarm, Launch};
use crate::session::{MOST_STEPS, Stepper, View};

/// The approximate maximum bytes of a run's checkpoints.
const MOST_HISTORY: usize = 64 << 20;
/// The maximum number of waves in the list.
const MOST_WAVES: usize = 256;

/// The waves of a kernel.
pub struct KernelRun {
    session: Session,
    interrupt: Arc<AtomicBool>,
    /// The selected wave in its present state, or in its last state if it has ended.
    id: WaveId,
    wave: WaveState,
    lds: Vec<u8>,
    step: u64,
    ended: Option<(&'static str, String)>,
}

fn told(e: Error) -> String {
    e.message
}

/// The name of a wave in requests: `0,0,0:1`.
fn name(id: WaveId) -> String {
    let [x, y, z] = id.workgroup;
    format!("{x},{y},{z}:{}", id.wave)
}

impl KernelRun {
    /// A launch before its first instruction.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn new(built: &Built, launch: &Launch<'_>) -> Result<KernelRun, String> {
        let (plan, options) = launch::plan(built, launch)?;
        let interrupt = Arc::new(AtomicBool::new(false));
        let options = Options {
            plan: options,
            history_bytes: MOST_HISTORY,
            interrupt: interrupt.clone(),
            ..Options::default()
        };
        let session = Session::new(plan, options).map_err(told)?;
        let id = session.selected().or(session.running());
        let mut run = KernelRun {
            session,
            interrupt,
            id: id.ok_or("the launch has no wave")?,
            wave: WaveState::new(0),
            lds: Vec::new(),
            step: 0,
            ended: None,
        };
        run.refresh();
        Ok(run)
    }

    /// Copies the selected wave, because the page shows it even when it has ended.
    fn refresh(&mut self) {
        let session = &self.session;
        if let Some(id) = session.selected() {
            self.id = id;
        }
        if let Some(wave) = session.wave(self.id) {
            self.wave.clone_from(wave);
            let lds = session.lds(self.id.workgroup).unwrap_or_default();
            self.lds.clear();
            self.lds.extend_from_slice(lds);
        }
        let views = session.waves();
        let own = views.iter().find(|w| w.id == self.id);
        if let Some(own) = own {
            self.step = own.executed;
        }
        let end = |kind, text: &str| Some((kind, text.to_string()));
        self.ended = match session.status() {
            Status::Failed(report) => Some(("fault", report)),
            Status::Ended => end("ended", "all waves of the kernel have ended"),
            Status::Running => match own.map(|w| w.doing) {
                Some(Doing::Ended) => end("endpgm", "the wave has ended; others go on"),
                Some(Doing::Halted) => end("halt", "the wave has halted"),
                None => end("endpgm", "the workgroup has ended; others go on"),
                _ => None,
            },
        };
    }

    /// Makes these addresses the only breakpoints.
    fn breakpoints(&mut self, stops: &BTreeSet<u64>) -> Result<(), String> {
        let old: Vec<u32> = self.session.breakpoints().iter().map(|b| b.id).collect();
        for id in old {
            self.session.delete(id).map_err(told)?;
        }
        for pc in stops {
            let location = format!("{pc:#x}");
            self.session.break_at(&location, None).map_err(told)?;
        }
        Ok(())
    }

    /// Calls `f` with a time limit.
    fn motion(
        &mut self,
        f: impl FnOnce(&mut Session, &AtomicBool) -> Result<(), Error>,
    ) -> Result<(), String> {
        let interrupt = self.interrupt.clone();
        interrupt.store(false, SeqCst);
        let flag = interrupt.clone();
        let alarm = Alarm::new(move || flag.store(true, SeqCst));
        let moved = f(&mut self.session, &interrupt);
        drop(alarm);
        interrupt.store(false, SeqCst);
        self.refresh();
        moved.map_err(told)
    }
}

impl Stepper for KernelRun {
    fn forward(&mut self, count: u64, stops: &BTreeSet<u64>) -> Result<(), String> {
        self.breakpoints(stops)?;
        let to_end = count >= MOST_STEPS || !stops.is_empty();
        self.motion(|session, late| {
            if to_end {
                return session.resume().map(|_| ());
            }
            for _ in 0..count {
                let stop = session.step(Unit::Instruction)?;
                if stop.reason != Reason::Step || late.load(SeqCst) {
                    break;
                }
            }
            Ok(())
        })
    }

    fn back(&mut self, count: u64, stops: &BTreeSet<u64>) -> Result<(), String> {
        self.breakpoints(stops)?;
        let id = self.id;
        let to_start = count >= MOST_STEPS || !stops.is_empty();
        self.motion(|session, late| {
            if to_start && stops.is_empty() {
                session.restart()?;
                // The wave exists at the start if its workgroup is among the first.
                let _ = session.select(id);
                return Ok(());
            }
            if to_start {
                return session.reverse_resume().map(|_| ());
            }
            for _ in 0..count {
                let stop = session.reverse_step()?;
                if stop.reason != Reason::Step || late.load(SeqCst) {
                    break;
                }
            }
            Ok(())
        })
    }

    fn moment(&self) -> u64 {
        self.session.now().tick
    }

    fn go_to(&mut self, moment: u64) -> Result<(), String> {
        self.breakpoints(&BTreeSet::new())?;
        self.motion(|session, late| {
            while session.now().tick < moment
                && session.status() == Status::Running
                && !late.load(SeqCst)
            {
                let Some(next) = session.running() else { break };
                session.select(next)?;
                session.step(Unit::Instruction)?;
            }
            if session.now().tick > moment {
                session.goto(Moment {
                    launch: 0,
                    tick: moment,
                })?;
            }
            Ok(())
        })
    }

    fn view(&self) -> View<'_> {
        View {
            wave: &self.wave,
            pc: self.session.code().file_address(self.wave.pc),
            step: self.step,
            lds: &self.lds,
            over: self.session.status() != Status::Running,
            end: self.ended.clone(),
        }
    }

    fn waves(&self) -> Vec<Value> {
        let code = self.session.code();
        let one = |w: &gcn_debug::WaveView| {
            let doing = match (w.doing, &w.waits) {
                (Doing::Ended, _) => "ended".to_string(),
                (Doing::Halted, _) => "halted".to_string(),
                (_, Some(Waits::Barrier(_))) | (Doing::Waiting, _) => "waits at a barrier".into(),
                (_, Some(Waits::Loop(_))) => "waits in a loop".into(),
                (_, Some(_)) => "waits".into(),
                _ => format!("at {:#x}", code.file_address(w.pc)),
            };
            let id = name(w.id);
            let text = format!("{id} {doing}{}", if w.next { ", next" } else { "" });
            json!({"id": id, "text": text, "selected": w.id == self.id})
        };
        let views = self.session.waves();
        let mut list: Vec<Value> = views.iter().take(MOST_WAVES).map(one).collect();
        if !views.iter().take(MOST_WAVES).any(|w| w.id == self.id) {
            let id = name(self.id);
            list.push(json!({"id": id, "text": format!("{id} ended"), "selected": true}));
        }
        list
    }

    fn select(&mut self, wave: &str) -> Result<(), String> {
        let views = self.session.waves();
        let found = views.iter().find(|w| name(w.id) == wave);
        match found {
            Some(found) => self.session.select(found.id).map_err(told)?,
            None if name(self.id) == wave => {}
            None => return Err(format!("wave {wave} has not begun, or has ended")),
        }
        self.refresh();
        Ok(())
    }

    fn regions(&self) -> Vec<(String, u64, u64)> {
        let buffers = self.session.buffers().into_iter().take(256);
        buffers
            .map(|(name, at, bytes)| (name.to_string(), at, bytes as u64))
            .collect()
    }

    fn memory(&self) -> &Memory {
        self.session.memory()
    }
}
