//! Waves as threads of a debugger's protocol.

use std::collections::HashMap;

use gcn_emu::group::Doing;

use crate::commands::{position, waiting};
use crate::session::{Session, Status, WaveId};
use crate::state::WaveView;

/// The thread that stands for the launches if no wave is running.
pub(crate) const NOBODY: u32 = 0x7fff_ffff;

/// The numbers of threads. A wave keeps its number.
#[derive(Default)]
pub(crate) struct Threads {
    numbers: HashMap<(usize, WaveId), u32>,
    known: Vec<(usize, WaveId)>,
}

impl Threads {
    fn number(&mut self, launch: usize, wave: WaveId) -> u32 {
        let Threads { numbers, known } = self;
        *numbers.entry((launch, wave)).or_insert_with(|| {
            known.push((launch, wave));
            known.len() as u32
        })
    }

    /// The wave of a thread, if it is running.
    pub(crate) fn wave(&self, session: &Session, number: u32) -> Option<WaveId> {
        let wave = self.wave_of_launch(session, number);
        wave.filter(|wave| session.wave(*wave).is_some())
    }

    /// The wave of a thread in this launch. The wave may have ended.
    pub(crate) fn wave_of_launch(&self, session: &Session, number: u32) -> Option<WaveId> {
        let at = (number as usize).checked_sub(1)?;
        let (launch, wave) = *self.known.get(at)?;
        (session.now().launch == launch).then_some(wave)
    }

    /// The waves that can run or wait, with their numbers.
    pub(crate) fn live(&mut self, session: &Session) -> Vec<(u32, Option<WaveView>)> {
        let launch = session.now().launch;
        let live =
            |wave: &WaveView| matches!(wave.doing, Doing::Running | Doing::Waiting | Doing::Halted);
        let waves = session.waves().into_iter().filter(live);
        let mut out: Vec<_> = waves
            .map(|wave| (self.number(launch, wave.id), Some(wave)))
            .collect();
        if out.is_empty() {
            out.push((NOBODY, None));
        }
        out
    }

    /// The thread of the selected wave, or of another one.
    pub(crate) fn selected(&mut self, session: &Session) -> u32 {
        let threads = self.live(session);
        let of = |id: Option<WaveId>| {
            let is_it = |(_, wave): &&(u32, Option<WaveView>)| {
                wave.as_ref().is_some_and(|w| Some(w.id) == id)
            };
            threads.iter().find(is_it).map(|(n, _)| *n)
        };
        let (selected, running) = (session.selected(), session.running());
        of(selected).or(of(running)).unwrap_or(threads[0].0)
    }

    /// A thread's name, and the location of its wave.
    pub(crate) fn about(&mut self, session: &Session, number: u32) -> [String; 2] {
        let threads = self.live(session);
        let wave = threads.into_iter().find(|(n, _)| *n == number);
        match wave {
            Some((_, Some(wave))) => {
                let [x, y, z] = wave.id.workgroup;
                let mut location = position(session, wave.pc);
                if let Some(waits) = &wave.waits {
                    location = format!("{location}, {}", waiting(waits));
                }
                [format!("({x},{y},{z}) wave {}", wave.id.wave), location]
            }
            Some((_, None)) => match session.status() {
                Status::Ended => ["the end".into(), "no wave is running".into()],
                Status::Running => ["launch".into(), "no wave has begun".into()],
                Status::Failed(_) => ["failed".into(), "no wave is running".into()],
            },
            None => Default::default(),
        }
    }
}
