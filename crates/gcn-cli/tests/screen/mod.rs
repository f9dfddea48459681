//! A terminal for the tests.

use std::path::Path;

/// The terminal on a pseudo-terminal, and the contents of its screen.
pub struct Screen {
    parser: std::sync::Arc<std::sync::Mutex<vt100::Parser>>,
    keys: Box<dyn std::io::Write + Send>,
    pub child: Box<dyn portable_pty::Child + Send + Sync>,
    /// Dropping it closes the terminal.
    master: Box<dyn portable_pty::MasterPty + Send>,
}

impl Screen {
    /// Starts `gcn` with variables of the environment.
    pub fn new(args: &[&str], variables: &[(&str, &str)]) -> Screen {
        use portable_pty::{CommandBuilder, PtySize, native_pty_system};
        let size = PtySize {
            rows: 40,
            cols: 130,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_gcn"));
        command.args(args);
        command.cwd(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
        command.env("TERM", "xterm-256color");
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).expect("the command");
        drop(pair.slave);
        let parser = std::sync::Arc::new(std::sync::Mutex::new(vt100::Parser::new(40, 130, 0)));
        let mut output = pair.master.try_clone_reader().expect("its output");
        let screen = parser.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = output.read(&mut bytes) {
                screen.lock().expect("the screen").process(&bytes[..n]);
            }
        });
        Screen {
            parser,
            keys: pair.master.take_writer().expect("its input"),
            child,
            master: pair.master,
        }
    }

    /// Resizes the terminal; the program gets the signal.
    #[allow(dead_code)]
    pub fn resize(&self, rows: u16, cols: u16) {
        let size = portable_pty::PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        };
        let mut parser = self.parser.lock().expect("the screen");
        // The parser fails at a wide character if there is one column. The program may still write what was for the size before.
        parser.screen_mut().set_size(rows, cols.max(2));
        self.master.resize(size).expect("a size");
    }

    pub fn text(&self) -> String {
        self.parser.lock().expect("the screen").screen().contents()
    }

    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("it reads");
        self.keys.flush().expect("it reads");
    }

    /// Waits until a text is on the screen.
    pub fn shows(&self, wanted: &str) {
        for _ in 0..1500 {
            if self.text().contains(wanted) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("`{wanted}` is not on the screen:\n{}", self.text());
    }

    /// The screen with its colours as SVG.
    #[allow(dead_code)]
    pub fn svg(&self) -> String {
        const WIDE: f64 = 8.0;
        const HIGH: f64 = 17.0;
        let parser = self.parser.lock().expect("the screen");
        let screen = parser.screen();
        let (rows, columns) = screen.size();
        let (width, height) = (columns as f64 * WIDE + 16.0, rows as f64 * HIGH + 16.0);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"13\">\n\
             <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#16181d\"/>\n"
        );
        for row in 0..rows {
            let mut column = 0;
            while column < columns {
                let look = |column: u16| Look::of(screen.cell(row, column));
                let (start, (text, style)) = (column, look(column));
                let mut text = text;
                column += 1;
                while column < columns && look(column).1 == style {
                    text.push_str(&look(column).0);
                    column += 1;
                }
                let (x, y) = (8.0 + start as f64 * WIDE, 8.0 + row as f64 * HIGH);
                let length = (column - start) as f64 * WIDE;
                if let Some(back) = &style.back {
                    out += &format!(
                        "<rect x=\"{x}\" y=\"{y}\" width=\"{length}\" height=\"{HIGH}\" fill=\"{back}\"/>\n"
                    );
                }
                // Blanks at the end need no text.
                let shown = text.trim_end();
                if shown.is_empty() {
                    continue;
                }
                let length = shown.chars().count() as f64 * WIDE;
                let escaped = shown.replace('&', "&amp;").replace('<', "&lt;");
                out += &format!(
                    "<text x=\"{x}\" y=\"{}\" textLength=\"{length}\" xml:space=\"preserve\" fill=\"{}\"{}>{escaped}</text>\n",
                    y + 13.0,
                    style.fore,
                    style.more
                );
            }
        }
        out + "</svg>\n"
    }
}

/// The style of a cell.
#[derive(PartialEq)]
struct Look {
    fore: String,
    back: Option<String>,
    more: &'static str,
}

impl Look {
    fn of(cell: Option<&vt100::Cell>) -> (String, Look) {
        const COLOURS: [&str; 16] = [
            "#16181d", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4",
            "#7f848e", "#ff8a93", "#b5e890", "#ffd98c", "#82c6ff", "#e08fff", "#75dbe6", "#ffffff",
        ];
        let colour = |colour: vt100::Color| match colour {
            vt100::Color::Default => None,
            vt100::Color::Idx(n @ 0..16) => Some(COLOURS[n as usize].to_owned()),
            vt100::Color::Idx(n @ 16..232) => {
                let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n as u32 };
                let n = n - 16;
                let (r, g, b) = (level(n / 36), level(n / 6 % 6), level(n % 6));
                Some(format!("#{r:02x}{g:02x}{b:02x}"))
            }
            vt100::Color::Idx(n) => {
                let grey = 8 + 10 * (n as u32 - 232);
                Some(format!("#{grey:02x}{grey:02x}{grey:02x}"))
            }
            vt100::Color::Rgb(r, g, b) => Some(format!("#{r:02x}{g:02x}{b:02x}")),
        };
        let Some(cell) = cell else {
            let fore = COLOURS[7].to_owned();
            return (
                " ".to_owned(),
                Look {
                    fore,
                    back: None,
                    more: "",
                },
            );
        };
        let (mut fore, mut back) = (colour(cell.fgcolor()), colour(cell.bgcolor()));
        if cell.inverse() {
            (fore, back) = (
                Some(back.unwrap_or(COLOURS[0].to_owned())),
                Some(fore.unwrap_or(COLOURS[7].to_owned())),
            );
        }
        let more = match (cell.dim(), cell.bold(), cell.italic()) {
            (true, ..) => " opacity=\"0.6\"",
            (_, true, _) => " font-weight=\"bold\"",
            (_, _, true) => " font-style=\"italic\"",
            _ => "",
        };
        let text = match cell.contents() {
            "" => " ",
            text => text,
        };
        let fore = fore.unwrap_or(COLOURS[7].to_owned());
        (text.to_owned(), Look { fore, back, more })
    }
}
