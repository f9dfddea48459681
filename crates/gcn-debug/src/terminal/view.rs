//! The contents of the terminal of `gcn debug`.

use gcn::emu::wave::{LANES, WaveState};
use gcn::isa::access::File;
use gcn::isa::operand::EXEC;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Wrap};

use super::{App, Format, Pane};
use crate::commands::{hexdump, position};
use crate::{Session, Status, ValueLocation};

/// Instructions before the central one of a list.
const CONTEXT: usize = 6;

const KEYS: &str = concat!(
    " s n l f    step, next, line, finish     S N L F    the same backwards\n",
    " c C        continue, and backwards      r          run from the beginning\n",
    " b          breakpoint at the cursor     Up Down    the cursor in the code\n",
    " w W        next wave, previous wave     1 … 5, Tab the pane of state\n",
    " u d        the caller, and back         v          hex, integers, floats\n",
    " Left Right lanes                        h          heat map of lanes\n",
    " PgUp PgDn  registers or memory          m          the next buffer\n",
    " Ctrl-C Esc interrupt what runs          Esc        leave the cursor or this\n",
    " : Enter    command line: Tab completes, Up recalls, `help` lists commands\n",
    " q          leave",
);

/// The least size at which all parts of the screen have room.
const LEAST: (u16, u16) = (50, 18);

/// Shows the session.
pub(crate) fn draw(frame: &mut Frame<'_>, app: &App, session: &Session) {
    let area = frame.area();
    match area.width >= LEAST.0 && area.height >= LEAST.1 {
        true => all(frame, app, session),
        false => little(frame, app, session),
    }
}

/// The layout for a small terminal: the location of the wave, the code around it, below it the chosen state pane, and the last
/// message.
fn little(frame: &mut Frame<'_>, app: &App, session: &Session) {
    let area = frame.area();
    // From the most important to the least.
    let row = |wanted: u16, left: &mut u16| {
        let taken = wanted.min(*left);
        *left -= taken;
        taken
    };
    let mut left = area.height;
    let code_least = row(1, &mut left);
    let input = row(1, &mut left);
    let title = row(1, &mut left);
    let log = row(1 + (area.height > 8) as u16, &mut left);
    let state = if left >= 4 { left / 2 } else { 0 };
    let rows = [title, code_least + left - state, state, log, input];
    let [title, code_area, state, log, input] =
        Layout::vertical(rows.map(Constraint::Length)).areas(area);
    frame.render_widget(short_title(session), title);
    code(frame, code_area, app, session);
    if state.height > 0 {
        pane(frame, state, app, session);
    }
    list_log(frame, log, app);
    command_line(frame, input, app);
    if app.help {
        let text = "the terminal is too small for the keys: `help` and docs/debug.md list them\n";
        frame.render_widget(Clear, code_area);
        let text = Paragraph::new(text).wrap(Wrap { trim: true });
        frame.render_widget(text, code_area);
    }
}

/// Shows that a command runs, over the earlier contents.
pub(crate) fn running(frame: &mut Frame<'_>, app: &App, command: &str) {
    let area = frame.area();
    let same = app.last.as_ref().filter(|last| last.area == area);
    match same {
        Some(last) => frame.buffer_mut().clone_from(last),
        // The earlier contents had another size.
        None => list_log(frame, area, app),
    }
    let text = format!(" `{command}` runs; Ctrl-C interrupts");
    let line = Rect {
        height: 1.min(area.height),
        ..area
    };
    frame.render_widget(Clear, line);
    frame.render_widget(Line::from(text).reversed(), line);
}

fn list_log(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let first = app.log.len().saturating_sub(area.height as usize);
    let lines: Vec<Line> = app.log[first..].iter().map(|l| log_line(l)).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

fn command_line(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let line = match &app.input {
        Some(text) => {
            // The end of the text is shown, where the user types.
            let room = (area.width as usize).saturating_sub(2);
            let hidden = text.chars().count().saturating_sub(room);
            let text: String = text.chars().skip(hidden).collect();
            Line::from(vec![
                format!(":{text}").into(),
                "█".into(),
                format!("  {}", app.offers.join(" ")).dim(),
            ])
        }
        None => Line::from(" ? keys  : command").dim(),
    };
    frame.render_widget(line, area);
}

fn all(frame: &mut Frame<'_>, app: &App, session: &Session) {
    let log = (frame.area().height / 4).clamp(3, 10);
    let [top, middle, bottom, input] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(6),
        Constraint::Length(log),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(45), Constraint::Min(20)]).areas(middle);
    let waves = (session.waves().len() as u16 + 2).clamp(3, middle.height / 3);
    let [waves, state] =
        Layout::vertical([Constraint::Length(waves), Constraint::Min(3)]).areas(right);
    frame.render_widget(title(session), top);
    code(frame, left, app, session);
    list_waves(frame, waves, session);
    pane(frame, state, app, session);
    let block = Block::default().borders(Borders::TOP);
    let inner = block.inner(bottom);
    frame.render_widget(block, bottom);
    list_log(frame, inner, app);
    command_line(frame, input, app);
    if app.help {
        let size = Rect {
            x: middle.x + 2,
            y: middle.y + 1,
            width: middle.width.saturating_sub(4).min(78),
            height: middle.height.saturating_sub(2).min(12),
        };
        frame.render_widget(Clear, size);
        let block = Block::bordered().title(" keys ");
        frame.render_widget(Paragraph::new(KEYS).block(block), size);
    }
}

fn log_line(text: &str) -> Line<'_> {
    match text.as_bytes().first() {
        Some(b'>') => Line::from(text).dim(),
        Some(b'!') => Line::from(text).red(),
        _ => Line::from(text),
    }
}

fn title(session: &Session) -> Line<'static> {
    let now = session.now();
    let state = match session.status() {
        Status::Running => match session.selected() {
            Some(wave) => wave.to_string(),
            None => String::new(),
        },
        Status::Ended => "ended".into(),
        Status::Failed(why) => format!("failed: {}", why.lines().next().unwrap_or("")),
    };
    let text = format!(
        " {} on {}  launch {}, tick {}  {state}",
        session.kernel().name,
        session.target().name(),
        now.launch,
        now.tick
    );
    Line::from(text).style(Style::new().add_modifier(Modifier::REVERSED))
}

/// As [`title`], for a narrow terminal.
fn short_title(session: &Session) -> Line<'static> {
    let state = match (session.status(), session.selected()) {
        (Status::Running, Some(wave)) => {
            let [x, y, z] = wave.workgroup;
            format!("({x},{y},{z}) wave {}", wave.wave)
        }
        (Status::Running, None) => String::new(),
        (Status::Ended, _) => "ended".into(),
        (Status::Failed(_), _) => "failed".into(),
    };
    let text = format!("tick {} {state}", session.now().tick);
    Line::from(text).style(Style::new().add_modifier(Modifier::REVERSED))
}

/// The guest addresses of the instructions of the function that holds an address, or some around it if it is long.
pub(crate) fn instructions(session: &Session, pc: u64) -> Vec<u64> {
    const MOST: usize = 20_000;
    let Some((start, end)) = session.code().function(pc) else {
        return vec![pc];
    };
    let (mut at, mut out) = (start, Vec::new());
    while at < end && out.len() < MOST {
        out.push(at);
        let info = session.code().decode(at, session.memory());
        at += info.map_or(4, |info| info.insn.len as u64);
    }
    match out.contains(&pc) {
        true => out,
        false => (0..32).map(|n| pc + 4 * n).collect(),
    }
}

fn code(frame: &mut Frame<'_>, area: Rect, app: &App, session: &Session) {
    let current = session.current().ok().map(|(_, state)| state.pc);
    let selected = session.selected_pc();
    let near = app.cursor.or(selected).unwrap_or(session.entry());
    // No border if there is little room.
    let block = match area.height > 5 && area.width > 20 {
        true => {
            let name = selected.map_or(String::new(), |pc| match session.level() {
                0 => format!(" {} ", position(session, pc)),
                n => format!(" frame {n}: {} ", position(session, pc)),
            });
            Block::bordered().title(name)
        }
        false => Block::new(),
    };
    let rows = block.inner(area).height as usize;
    let mut shown = 0;
    let all = instructions(session, near);
    let at = all.iter().position(|pc| *pc == near).unwrap_or(0);
    let waves = session.waves();
    let (mut lines, mut last) = (Vec::new(), None);
    for &pc in &all[at.saturating_sub(CONTEXT)..] {
        if pc > near && lines.len() >= shown + rows {
            break;
        }
        let line = session.code().line(pc);
        let comment = session.comment(pc);
        if comment.is_some() {
            last = line;
        } else if let Some(line) = line.filter(|line| last != Some(*line)) {
            let text = line.text.as_deref().unwrap_or("").trim().to_owned();
            lines.push(Line::from(format!("  {line}: {text}")).dim().italic());
            last = Some(line);
        }
        let here = waves.iter().filter(|w| w.pc == pc).count();
        let set = session
            .breakpoints()
            .iter()
            .any(|b| b.addresses.contains(&pc));
        let text = session.code().listed(pc, session.memory());
        if pc == near {
            shown = lines.len();
        }
        let mark = match (current == Some(pc), here) {
            _ if session.level() > 0 && selected == Some(pc) => "->".to_owned(),
            (true, 0 | 1) => "=>".to_owned(),
            (true, n) => format!("={}", n.min(9)),
            (_, 0) => "  ".to_owned(),
            (_, n) => format!(" {}", n.min(9)),
        };
        let address = session.code().file_address(pc);
        let mut line = Line::from(vec![
            Span::from(if set { "●" } else { " " }).red(),
            Span::from(mark).yellow(),
            Span::from(format!(" {address:#06x} ")).dim(),
            Span::from(text),
            Span::from(comment.map_or(String::new(), |comment| format!("  {comment}")))
                .dim()
                .italic(),
        ]);
        if app.cursor == Some(pc) {
            line = line.style(Style::new().add_modifier(Modifier::REVERSED));
        } else if current == Some(pc) {
            line = line.bold();
        }
        lines.push(line);
    }
    // The selected instruction must be among the lines, with some before it.
    let first = (shown + 1 + rows / 3).saturating_sub(rows).min(shown);
    lines.drain(..first);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn list_waves(frame: &mut Frame<'_>, area: Rect, session: &Session) {
    let text = crate::commands::waves(session);
    let text: Vec<String> = text.lines().map(str::to_owned).collect();
    let selected = text.iter().position(|l| l.starts_with('*')).unwrap_or(0);
    let rows = area.height.saturating_sub(2) as usize;
    let first = selected.saturating_sub(rows.saturating_sub(1));
    let lines = text.into_iter().skip(first).take(rows);
    let lines: Vec<Line> = lines
        .map(|line| match line.starts_with('*') {
            true => Line::from(line).bold(),
            false => Line::from(line),
        })
        .collect();
    let out = session.selected().map(|w| session.outstanding(w));
    let out = out.unwrap_or_default();
    let title = format!(
        " waves; outstanding: vm {} lgkm {} exp {} ",
        out.vm, out.lgkm, out.exp
    );
    frame.render_widget(
        Paragraph::new(lines).block(Block::bordered().title(title)),
        area,
    );
}

fn pane(frame: &mut Frame<'_>, area: Rect, app: &App, session: &Session) {
    let mut title: Vec<Span> = vec![" ".into()];
    for (pane, name) in Pane::ALL {
        title.push(match pane == app.pane {
            true => Span::from(name).bold().reversed(),
            false => Span::from(name),
        });
        title.push("  ".into());
    }
    let block = Block::bordered().title(Line::from(title));
    let inner = block.inner(area);
    let lines = match session.current() {
        Err(e) => vec![Line::from(e.to_string())],
        Ok((_, state)) => match app.pane {
            Pane::Vector => vectors(inner, app, session, state),
            Pane::Scalar => scalars(inner, app, session, state),
            Pane::Masks => masks(session, state),
            Pane::Lds => dump(inner, app, session, true),
            Pane::Memory => dump(inner, app, session, false),
        },
    };
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn value(bits: u32, format: Format) -> String {
    match format {
        Format::Hex => format!("{bits:08x}"),
        Format::Integer => format!("{:>11}", bits as i32),
        Format::Float => format!("{:>11.5e}", f32::from_bits(bits)),
    }
}

/// VGPRs, one per line, lanes side by side: values, or, if they do not fit or the user wants it, a heat map of all lanes.
fn vectors(area: Rect, app: &App, session: &Session, state: &WaveState) -> Vec<Line<'static>> {
    let wave = session.selected();
    let before = app.before.as_ref().filter(|b| Some(b.wave) == wave);
    let exec = state.exec();
    let changed = |n: usize, lane: usize| {
        let old = before.and_then(|b| b.vgprs.get(n)).map(|v| v[lane]);
        old.is_some_and(|old| old != state.vgprs[n][lane])
    };
    let cell = value(0, app.format).len() + 1;
    let fit = (area.width as usize).saturating_sub(5) / cell;
    let heat = app.heat || fit < 4;
    let mut lines = Vec::new();
    let first = app.lane.min(LANES - fit.clamp(1, LANES));
    if heat {
        lines.push(
            Line::from("     0       8       16      24      32      40      48      56").dim(),
        );
    } else {
        let lanes = (first..(first + fit).min(LANES)).map(|lane| format!("{lane:>cell$}"));
        lines.push(Line::from(format!("    {}", lanes.collect::<String>())).dim());
    }
    let rows = (area.height as usize).saturating_sub(1);
    let last = state.vgprs.len().saturating_sub(1);
    for n in app.scroll.min(last)..state.vgprs.len().min(app.scroll.min(last) + rows) {
        let mut spans = vec![Span::from(format!("{:<5}", format!("v{n}"))).cyan()];
        if heat {
            spans.extend(heat_row(&state.vgprs[n], exec, app.format, |lane| {
                changed(n, lane)
            }));
        } else {
            for lane in first..(first + fit).min(LANES) {
                let text = format!("{} ", value(state.vgprs[n][lane], app.format));
                let mut span = Span::from(text);
                if exec >> lane & 1 == 0 {
                    span = span.dim();
                }
                if changed(n, lane) {
                    span = span.yellow().bold();
                }
                spans.push(span);
            }
        }
        lines.push(Line::from(spans));
    }
    lines
}

/// One character per lane: the brighter, the greater the value among those of the register. Inactive lanes are dots.
fn heat_row(
    values: &[u32; LANES],
    exec: u64,
    format: Format,
    changed: impl Fn(usize) -> bool,
) -> Vec<Span<'static>> {
    const SHADES: [u8; 6] = [17, 19, 26, 33, 45, 159];
    let number = |bits: u32| match format {
        Format::Hex => bits as f64,
        Format::Integer => (bits as i32) as f64,
        Format::Float => f32::from_bits(bits) as f64,
    };
    let all = values.iter().map(|v| number(*v)).filter(|v| v.is_finite());
    let (low, high) = all.fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
    let spans = values.iter().enumerate().map(|(lane, &bits)| {
        let x = number(bits);
        let part = if high > low {
            (x - low) / (high - low)
        } else {
            0.0
        };
        let shade = SHADES[((part * 5.99).clamp(0.0, 5.0)) as usize];
        let text = match (exec >> lane & 1, changed(lane)) {
            (0, _) => "·",
            (_, true) => "*",
            (_, false) => " ",
        };
        Span::styled(
            text,
            Style::new().bg(Color::Indexed(shade)).fg(Color::Yellow),
        )
    });
    spans.collect()
}

fn scalars(area: Rect, app: &App, session: &Session, state: &WaveState) -> Vec<Line<'static>> {
    let before = app
        .before
        .as_ref()
        .filter(|b| Some(b.wave) == session.selected());
    let named = [
        ("exec", state.exec()),
        ("vcc", state.vcc()),
        ("m0", state.m0().into()),
        ("scc", state.scc.into()),
        ("mode", state.mode.into()),
        ("status", state.status_word().into()),
        ("pc", session.code().file_address(state.pc)),
    ];
    let mut lines: Vec<Line> = Vec::new();
    for pair in named.chunks(2) {
        let cells = pair
            .iter()
            .map(|(name, value)| format!("{name:<7}{value:<#20x} "));
        lines.push(Line::from(cells.collect::<String>()));
    }
    let count = 8
        * (session
            .kernel()
            .descriptor
            .granulated_wavefront_sgpr_count() as usize
            + 1);
    let count = count.min(session.target().generation().sgprs() as usize);
    let width = value(0, app.format).len() + 7;
    let columns = (area.width as usize / width).clamp(1, 8);
    let rows = (0..count).collect::<Vec<_>>();
    for row in rows.chunks(columns).skip(app.scroll) {
        let cells = row.iter().map(|&n| {
            let text = format!(
                "{:<5}{}  ",
                format!("s{n}"),
                value(state.sgprs[n], app.format)
            );
            match before.is_some_and(|b| b.sgprs[n] != state.sgprs[n]) {
                true => Span::from(text).yellow().bold(),
                false => Span::from(text),
            }
        });
        lines.push(Line::from(cells.collect::<Vec<_>>()));
    }
    lines
}

/// EXEC and VCC, and the masks that instructions of this function have saved: the active lanes outside of branches.
fn masks(session: &Session, state: &WaveState) -> Vec<Line<'static>> {
    let picture = |name: &str, mask: u64, note: String| {
        let lanes = (0..LANES).map(|lane| if mask >> lane & 1 != 0 { '█' } else { '·' });
        let lanes: String = lanes.collect();
        [
            Line::from(vec![
                Span::from(format!("{name:<9}")).cyan(),
                Span::from(format!("{mask:#018x}, {} lanes {note}", mask.count_ones())),
            ]),
            Line::from(format!("  {lanes}")),
        ]
    };
    let mut lines = Vec::new();
    lines.extend(picture("exec", state.exec(), String::new()));
    lines.extend(picture("vcc", state.vcc(), String::new()));
    let mut seen = Vec::new();
    for pc in instructions(session, state.pc)
        .into_iter()
        .filter(|pc| *pc < state.pc)
    {
        let Some(info) = session.code().decode(pc, session.memory()) else {
            continue;
        };
        let scalar = |a: &&gcn::isa::access::RegAccess| a.file == File::Scalar;
        let exec = info.writes.iter().filter(scalar).any(|a| a.first == EXEC);
        let saved = info
            .writes
            .iter()
            .filter(scalar)
            .find(|a| a.first < 106 && a.count == 2);
        if let (true, Some(saved)) = (exec, saved)
            && !seen.contains(&saved.first)
        {
            seen.push(saved.first);
            let mask = state.pair(saved.first);
            let address = session.code().file_address(pc);
            let name = format!("s[{}:{}]", saved.first, saved.first + 1);
            lines.extend(picture(&name, mask, format!("of {address:#x}")));
        }
    }
    lines
}

fn dump(area: Rect, app: &App, session: &Session, lds: bool) -> Vec<Line<'static>> {
    let rows = area.height as u64;
    let skipped = 16 * app.scroll as u64;
    let Some(wave) = session.selected() else {
        return Vec::new();
    };
    let (from, bytes) = match lds {
        true => {
            let have = session.lds(wave.workgroup).map_or(0, <[u8]>::len) as u64;
            let from = skipped.min(have);
            (from, (have - from).min(16 * rows))
        }
        false => (app.memory + skipped, 16 * rows),
    };
    let location = match lds {
        true => ValueLocation::Lds {
            workgroup: wave.workgroup,
            address: from,
            bytes,
        },
        false => ValueLocation::Memory {
            address: from,
            bytes,
        },
    };
    let text = match session.read(location) {
        Ok(data) if data.is_empty() => "the workgroup has no LDS".to_owned(),
        Ok(data) => hexdump(from, &data),
        Err(e) => e.to_string(),
    };
    text.lines().map(|l| Line::from(l.to_owned())).collect()
}
