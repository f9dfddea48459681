//! A terminal for the tests.

use std::path::Path;

/// The terminal on a pseudo-terminal, and what is on its screen.
pub struct Screen {
    parser: std::sync::Arc<std::sync::Mutex<vt100::Parser>>,
    keys: Box<dyn std::io::Write + Send>,
    pub child: Box<dyn portable_pty::Child + Send + Sync>,
    /// It closes the terminal when it is dropped.
    _master: Box<dyn portable_pty::MasterPty + Send>,
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
            _master: pair.master,
        }
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
}
