//! The terminal of `gcn debug`: keys and the command line. Every key executes a command of the session.

mod view;

use std::collections::VecDeque;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gcn::emu::wave::LANES;
use ratatui::Terminal;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::prelude::CrosstermBackend;

use crate::commands::Commands;
use crate::{Error, WaveId};

/// The contents of the state pane.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pane {
    Vector,
    Scalar,
    Masks,
    Lds,
    Memory,
}

impl Pane {
    pub(crate) const ALL: [(Pane, &str); 5] = [
        (Pane::Vector, "1 VGPRs"),
        (Pane::Scalar, "2 SGPRs"),
        (Pane::Masks, "3 masks"),
        (Pane::Lds, "4 LDS"),
        (Pane::Memory, "5 memory"),
    ];
}

/// The format of registers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Hex,
    Integer,
    Float,
}

/// The registers of a wave before the last command, to mark changes.
pub(crate) struct Before {
    pub(crate) wave: WaveId,
    pub(crate) sgprs: [u32; 128],
    pub(crate) vgprs: Vec<[u32; LANES]>,
}

/// The state of the terminal, in addition to the session's.
pub(crate) struct App {
    pub(crate) pane: Pane,
    pub(crate) format: Format,
    pub(crate) heat: bool,
    pub(crate) help: bool,
    /// The first lane and the first line of the pane of state.
    pub(crate) lane: usize,
    pub(crate) scroll: usize,
    /// The first address in the memory pane.
    pub(crate) memory: u64,
    /// The instruction under the cursor of the code; the selected wave's if `None`.
    pub(crate) cursor: Option<u64>,
    pub(crate) log: Vec<String>,
    /// The command line, if it is open.
    pub(crate) input: Option<String>,
    pub(crate) offers: Vec<String>,
    pub(crate) before: Option<Before>,
    /// The screen as it was drawn last, while a command runs.
    pub(crate) last: Option<Buffer>,
    /// The debugged program is to end.
    kills: bool,
    /// The screen was handed to the program and not taken back.
    away: bool,
    history: Vec<String>,
    recalled: usize,
    /// Keys that were pressed while a command ran.
    queued: VecDeque<KeyEvent>,
}

/// A command that takes longer than this is shown as running.
const BUSY: Duration = Duration::from_millis(100);

/// The maximum lines of the log.
const LOG: usize = 1000;

/// The hand-over of the terminal to a program that continues, between the thread of a command and the thread of the terminal.
#[derive(Default)]
struct HandOver {
    asked: AtomicBool,
    given: AtomicBool,
}

/// The text that kernels print, until it is shown.
#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs the terminal until the user quits. Returns true if the debugged program is to end. `output` is the terminal. Keys are
/// read from standard input, or, if that is not a terminal, from the process's terminal.
///
/// # Errors
/// A message if the terminal cannot be used.
pub fn run(
    commands: &mut Commands,
    interrupt: &Arc<AtomicBool>,
    output: Box<dyn Write + Send>,
) -> Result<bool, String> {
    let printed = Printed::default();
    commands.session_mut().set_output(printed.clone());
    let failed = |e: std::io::Error| format!("the terminal: {e}");
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // The error is read on the ordinary screen; these calls fail if the terminal is gone.
        let _ = disable_raw_mode();
        let _ = execute!(std::io::stderr(), LeaveAlternateScreen);
        before(panic);
    }));
    let mut terminal = Terminal::new(CrosstermBackend::new(output)).map_err(failed)?;
    enter(&mut terminal).map_err(failed)?;
    let mut app = App {
        pane: Pane::Vector,
        format: Format::Hex,
        heat: false,
        help: false,
        lane: 0,
        scroll: 0,
        memory: commands.session().buffers().first().map_or(0, |b| b.1),
        cursor: None,
        log: vec!["? shows the keys, : opens the command line, q leaves".into()],
        input: None,
        offers: Vec::new(),
        before: None,
        last: None,
        kills: false,
        away: false,
        history: Vec::new(),
        recalled: 0,
        queued: VecDeque::new(),
    };
    let result = app.work(&mut terminal, commands, interrupt, &printed);
    let left = match app.away {
        true => Ok(()),
        false => leave(&mut terminal),
    };
    result.and(left).map_err(failed)?;
    Ok(app.kills)
}

/// The full screen of a terminal.
type Screen = Terminal<CrosstermBackend<Box<dyn Write + Send>>>;

/// Takes the screen.
fn enter(terminal: &mut Screen) -> std::io::Result<()> {
    enable_raw_mode()?;
    execute!(
        terminal.backend_mut(),
        EnterAlternateScreen,
        Clear(ClearType::All)
    )?;
    // The screen keeps nothing of its earlier contents.
    terminal.swap_buffers();
    Ok(())
}

/// Gives the screen back.
fn leave(terminal: &mut Screen) -> std::io::Result<()> {
    terminal.show_cursor()?;
    execute!(terminal.backend_mut(), LeaveAlternateScreen)?;
    disable_raw_mode()
}

impl App {
    fn work(
        &mut self,
        terminal: &mut Screen,
        commands: &mut Commands,
        interrupt: &Arc<AtomicBool>,
        printed: &Printed,
    ) -> std::io::Result<()> {
        loop {
            let mut drawn = None;
            terminal.draw(|frame| {
                view::draw(frame, self, commands.session());
                drawn = Some(frame.buffer_mut().clone());
            })?;
            self.last = drawn;
            let event = match self.queued.pop_front() {
                Some(key) => Event::Key(key),
                None => event::read()?,
            };
            let Event::Key(key) = event else { continue };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            let line = match self.input {
                Some(_) => self.edit(key, commands),
                None => match self.key(key, commands) {
                    Do::Quit => return Ok(()),
                    Do::Nothing => None,
                    Do::Command(line) => Some(line),
                },
            };
            if let Some(line) = line
                && self.execute(terminal, commands, &line, interrupt, printed)?
            {
                return Ok(());
            }
        }
    }

    /// Executes a command, while Ctrl-C interrupts it. Returns true if it ends the session.
    fn execute(
        &mut self,
        terminal: &mut Screen,
        commands: &mut Commands,
        line: &str,
        interrupt: &Arc<AtomicBool>,
        printed: &Printed,
    ) -> std::io::Result<bool> {
        self.remember(commands);
        self.cursor = None;
        interrupt.store(false, SeqCst);
        let mut shown = Duration::ZERO;
        let mut waited = Duration::ZERO;
        let attached = commands.session().is_attached();
        let hand_over = Arc::new(HandOver::default());
        let asks = hand_over.clone();
        commands.session_mut().set_goes_on(Some(Box::new(move || {
            asks.asked.store(true, SeqCst);
            while !asks.given.load(SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
        })));
        let mut left = Ok(());
        let done = std::thread::scope(|scope| {
            let running = scope.spawn(|| commands.execute(line));
            while !running.is_finished() {
                // A program that continues uses the terminal itself; Ctrl-C is then a signal.
                if hand_over.asked.load(SeqCst) {
                    if !hand_over.given.load(SeqCst) {
                        left = leave(terminal);
                        hand_over.given.store(true, SeqCst);
                    }
                    std::thread::sleep(Duration::from_millis(5));
                    continue;
                }
                // The last millisecond of a wait is a loop.
                let wait = match (waited.is_zero(), attached) {
                    (true, _) => 1,
                    (_, true) => 10,
                    _ => 20,
                };
                let wait = Duration::from_millis(wait);
                waited += wait;
                let event = match event::poll(wait) {
                    Ok(true) => event::read().ok(),
                    _ => None,
                };
                let resized = matches!(event, Some(Event::Resize(..)));
                if let Some(Event::Key(key)) = event
                    && key.kind != KeyEventKind::Release
                {
                    match key.code == KeyCode::Esc || is_interrupt(key) {
                        true => interrupt.store(true, SeqCst),
                        false => self.queued.push_back(key),
                    }
                }
                // The command owns the session: the screen shows the running command over the earlier contents.
                if left.is_ok() && (resized || waited >= shown + BUSY) {
                    shown = waited;
                    let draws = terminal.draw(|frame| view::running(frame, self, line));
                    left = draws.map(|_| ());
                }
            }
            running.join()
        });
        interrupt.store(false, SeqCst);
        commands.session_mut().set_goes_on(None);
        left?;
        self.away = hand_over.given.load(SeqCst);
        if commands.session().program_ended() {
            return Ok(true);
        }
        if std::mem::take(&mut self.away) {
            enter(terminal)?;
        }
        let done = done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.log.push(format!("> {line}"));
        {
            let mut text = printed.0.lock().unwrap_or_else(PoisonError::into_inner);
            let text = String::from_utf8_lossy(&std::mem::take(&mut *text)).into_owned();
            self.log.extend(text.lines().map(str::to_owned));
        }
        match done {
            Ok(output) => {
                self.log.extend(output.text.lines().map(str::to_owned));
                if output.quit {
                    self.kills = output.kill;
                    return Ok(true);
                }
            }
            Err(e) => self.complain(&e),
        }
        let old = self.log.len().saturating_sub(LOG);
        self.log.drain(..old);
        // The contents of the terminal may have been overwritten by an interrupted read.
        terminal.autoresize()?;
        Ok(false)
    }

    fn complain(&mut self, error: &Error) {
        self.log
            .extend(error.to_string().lines().map(|l| format!("! {l}")));
    }

    /// Copies the registers, to mark the changes of the next command.
    fn remember(&mut self, commands: &Commands) {
        self.before = commands
            .session()
            .current()
            .ok()
            .map(|(wave, state)| Before {
                wave,
                sgprs: state.sgprs,
                vgprs: state.vgprs.to_vec(),
            });
    }

    /// Handles a key while the command line is closed.
    fn key(&mut self, key: KeyEvent, commands: &Commands) -> Do {
        let command = |line: &str| Do::Command(line.to_owned());
        if is_interrupt(key) {
            return Do::Quit;
        }
        match key.code {
            KeyCode::Char('q') => return Do::Quit,
            KeyCode::Char(':') | KeyCode::Enter => self.input = Some(String::new()),
            KeyCode::Char('?') | KeyCode::F(1) => self.help = !self.help,
            KeyCode::Esc => (self.help, self.cursor) = (false, None),
            KeyCode::Char('s') | KeyCode::F(11) => return command("step"),
            KeyCode::Char('n') | KeyCode::F(10) => return command("next"),
            KeyCode::Char('l') => return command("line"),
            KeyCode::Char('f') => return command("finish"),
            KeyCode::Char('c') | KeyCode::F(5) => return command("continue"),
            KeyCode::Char('r') => return command("run"),
            KeyCode::Char('S') => return command("reverse-step"),
            KeyCode::Char('N') => return command("reverse-next"),
            KeyCode::Char('L') => return command("reverse-line"),
            KeyCode::Char('F') => return command("reverse-finish"),
            KeyCode::Char('C') => return command("reverse-continue"),
            KeyCode::Char('u') => return command("up"),
            KeyCode::Char('d') => return command("down"),
            KeyCode::Char('w') => return self.other_wave(commands, true),
            KeyCode::Char('W') => return self.other_wave(commands, false),
            KeyCode::Char('b') | KeyCode::F(9) => return self.toggle(commands),
            KeyCode::Char('v') => {
                self.format = match self.format {
                    Format::Hex => Format::Integer,
                    Format::Integer => Format::Float,
                    Format::Float => Format::Hex,
                }
            }
            KeyCode::Char('h') => self.heat = !self.heat,
            KeyCode::Char('m') => self.next_buffer(commands),
            KeyCode::Char(c @ '1'..='5') => {
                self.pane = Pane::ALL[c as usize - '1' as usize].0;
                self.scroll = 0;
            }
            KeyCode::Tab => {
                let at = Pane::ALL.iter().position(|(pane, _)| *pane == self.pane);
                self.pane = Pane::ALL[(at.unwrap_or(0) + 1) % Pane::ALL.len()].0;
                self.scroll = 0;
            }
            KeyCode::Left => self.lane = self.lane.saturating_sub(4),
            KeyCode::Right => self.lane = (self.lane + 4).min(LANES - 4),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(8),
            KeyCode::PageDown => self.scroll += 8,
            KeyCode::Up => self.move_cursor(commands, false),
            KeyCode::Down => self.move_cursor(commands, true),
            _ => {}
        }
        Do::Nothing
    }

    /// Shows the memory pane, or, if it is shown already, the next buffer in it.
    fn next_buffer(&mut self, commands: &Commands) {
        let buffers = commands.session().buffers();
        let at = buffers.iter().position(|b| b.1 == self.memory);
        let step = (self.pane == Pane::Memory) as usize;
        let next = at.map_or(0, |at| (at + step) % buffers.len());
        self.memory = buffers.get(next).map_or(self.memory, |b| b.1);
        (self.pane, self.scroll) = (Pane::Memory, 0);
    }

    /// Selects the next or the previous wave that has begun.
    fn other_wave(&mut self, commands: &Commands, forward: bool) -> Do {
        let session = commands.session();
        let waves = session.waves();
        let at = waves.iter().position(|w| Some(w.id) == session.selected());
        let next = match (at, forward) {
            (None, _) => waves.first(),
            (Some(at), true) => waves.get((at + 1) % waves.len()),
            (Some(at), false) => waves.get((at + waves.len() - 1) % waves.len()),
        };
        let (Some(next), Some(selected)) = (next, session.selected()) else {
            return Do::Nothing;
        };
        let [x, y, z] = next.id.workgroup;
        Do::Command(match next.id.workgroup == selected.workgroup {
            true => format!("wave {}", next.id.wave),
            false => format!("workgroup {x},{y},{z}"),
        })
    }

    /// Sets or deletes a breakpoint at the cursor.
    fn toggle(&mut self, commands: &Commands) -> Do {
        let session = commands.session();
        let pc = self.cursor.or(session.selected_pc());
        let Some(pc) = pc else { return Do::Nothing };
        let mut breakpoints = session.breakpoints().iter();
        Do::Command(match breakpoints.find(|b| b.addresses == [pc]) {
            Some(set) => format!("delete {}", set.id),
            None => format!("break {:#x}", session.code().file_address(pc)),
        })
    }

    fn move_cursor(&mut self, commands: &Commands, down: bool) {
        let session = commands.session();
        let here = self.cursor.or(session.selected_pc());
        let Some(here) = here else { return };
        let listed = view::instructions(session, here);
        let Some(at) = listed.iter().position(|pc| *pc == here) else {
            return;
        };
        let next = match down {
            true => listed.get(at + 1),
            false => at.checked_sub(1).and_then(|at| listed.get(at)),
        };
        self.cursor = Some(next.copied().unwrap_or(here));
    }

    /// Edits the command line. Returns the line when it is finished.
    fn edit(&mut self, key: KeyEvent, commands: &Commands) -> Option<String> {
        let mut line = self.input.take()?;
        self.offers.clear();
        if is_interrupt(key) {
            return None;
        }
        match key.code {
            KeyCode::Esc => return None,
            KeyCode::Enter => {
                self.recalled = 0;
                if line.trim().is_empty() {
                    return None;
                }
                self.history.push(line.clone());
                return Some(line);
            }
            KeyCode::Backspace => drop(line.pop()),
            KeyCode::Up | KeyCode::Down => {
                let count = self.history.len();
                self.recalled = match key.code {
                    KeyCode::Up => (self.recalled + 1).min(count),
                    _ => self.recalled.saturating_sub(1),
                };
                line = match self.recalled {
                    0 => String::new(),
                    n => self.history[count - n].clone(),
                };
            }
            KeyCode::Tab => {
                let (start, offers) = commands.complete(&line);
                if let Some(common) = common_beginning(&offers) {
                    line.replace_range(start.., &common);
                }
                match offers.len() {
                    1 => line.push(' '),
                    _ => self.offers = offers,
                }
            }
            KeyCode::Char(c) => line.push(c),
            _ => {}
        }
        self.input = Some(line);
        None
    }
}

/// The action of a key.
enum Do {
    Nothing,
    Quit,
    Command(String),
}

fn is_interrupt(key: KeyEvent) -> bool {
    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// The common prefix of all words.
fn common_beginning(words: &[String]) -> Option<String> {
    let (first, rest) = words.split_first()?;
    let same = |end: &usize| rest.iter().all(|w| w.get(..*end) == first.get(..*end));
    let ends = (0..=first.len())
        .rev()
        .filter(|end| first.is_char_boundary(*end));
    let end = ends.into_iter().find(same).unwrap_or(0);
    Some(first[..end].to_owned())
}
