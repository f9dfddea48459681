//! A small client of chromedriver.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A browser, which ends with the test.
pub struct Driver {
    child: Child,
    port: u16,
    session: String,
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.send("DELETE", &self.path(""), None);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns true if a program is on the path.
fn installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// The script of axe-core; prints a message if it is missing.
pub fn axe() -> Option<String> {
    let built =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../axe/node_modules/axe-core/axe.min.js");
    let path = std::env::var_os("GCN_AXE").map_or(built, PathBuf::from);
    let script = std::fs::read_to_string(&path).ok();
    if script.is_none() {
        eprintln!("SKIPPED: no axe-core (npm install --prefix target/axe axe-core, or GCN_AXE)");
    }
    script
}

impl Driver {
    /// Starts a browser with a window of this size; prints a message if there is none.
    pub fn new(width: u32, height: u32) -> Option<Driver> {
        if !installed("chromedriver") || !installed("chromium") {
            eprintln!("SKIPPED: chromium and chromedriver are not installed");
            return None;
        }
        let mut child = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let port = lines.find_map(|line| {
            let line = line.ok()?;
            let rest = line.split_once("successfully on port ")?.1;
            rest.trim_end_matches('.').parse().ok()
        });
        let port = port.expect("chromedriver tells its port");
        // It may write more later.
        std::thread::spawn(move || lines.count());
        let mut driver = Driver {
            child,
            port,
            session: String::new(),
        };
        let window = format!("--window-size={width},{height}");
        let args = json!([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            window
        ]);
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": args},
        }}});
        let answer = driver.send("POST", "/session", Some(&wanted));
        driver.session = answer["sessionId"].as_str().expect("a session").to_string();
        // A headless window has no frame, and gets the requested width even if a frame would need more.
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        driver.command("Emulation.setDeviceMetricsOverride", &size);
        Some(driver)
    }

    fn path(&self, rest: &str) -> String {
        format!("/session/{}{rest}", self.session)
    }

    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let body = body.map_or(String::new(), Value::to_string);
        let mut stream =
            TcpStream::connect(("127.0.0.1", self.port)).expect("chromedriver listens");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        stream
            .write_all(head.as_bytes())
            .expect("chromedriver reads");
        stream
            .write_all(body.as_bytes())
            .expect("chromedriver reads");
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("an answer");
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut bytes = vec![0; length];
        reader.read_exact(&mut bytes).expect("an answer");
        let value: Value = serde_json::from_slice(&bytes).expect("JSON");
        let value = value["value"].clone();
        assert!(
            value["error"].is_null() || path.ends_with("/log"),
            "{path}: {}",
            value["message"]
        );
        value
    }

    fn command(&self, name: &str, params: &Value) -> Value {
        let body = json!({"cmd": name, "params": params});
        self.send("POST", &self.path("/goog/cdp/execute"), Some(&body))
    }

    /// The user prefers dark colours.
    pub fn prefer_dark(&self) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
        self.command("Emulation.setEmulatedMedia", &features);
    }

    /// Opens an address.
    pub fn go(&self, url: &str) {
        self.send("POST", &self.path("/url"), Some(&json!({ "url": url })));
    }

    /// Runs a script in the page.
    pub fn js(&self, script: &str, args: &[Value]) -> Value {
        let body = json!({"script": script, "args": args});
        self.send("POST", &self.path("/execute/sync"), Some(&body))
    }

    /// Waits until a script returns true.
    pub fn until(&self, script: &str) {
        let begun = Instant::now();
        while self.js(script, &[]) != true {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "not reached: {script}"
            );
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Types keys to the focused element; a modifier holds until the end.
    pub fn keys(&self, keys: &str) {
        let press = |kind: &str, key: char| json!({"type": kind, "value": key.to_string()});
        let modifier = |key: char| ('\u{e008}'..='\u{e00a}').contains(&key);
        let mut actions = Vec::new();
        for key in keys.chars() {
            actions.push(press("keyDown", key));
            if !modifier(key) {
                actions.push(press("keyUp", key));
            }
        }
        actions.extend(
            keys.chars()
                .filter(|k| modifier(*k))
                .map(|k| press("keyUp", k)),
        );
        let body = json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]});
        self.send("POST", &self.path("/actions"), Some(&body));
    }

    /// Replaces the source, as typing does.
    pub fn edit(&self, source: &str) {
        let script = "const area = document.getElementById('source-text'); area.value = arguments[0]; area.dispatchEvent(new Event('input'))";
        self.js(script, &[json!(source)]);
    }

    /// Errors and warnings on the browser's console.
    pub fn complaints(&self) -> Vec<String> {
        let list = self.send(
            "POST",
            &self.path("/se/log"),
            Some(&json!({"type": "browser"})),
        );
        let list = list.as_array().cloned().unwrap_or_default();
        list.iter()
            .map(|entry| entry["message"].to_string())
            .collect()
    }

    /// The findings of axe-core.
    pub fn violations(&self, axe: &str) -> Value {
        self.js(&format!("{axe}; return null"), &[]);
        let script = "const done = arguments[0]; axe.run(document, { iframes: false, resultTypes: ['violations'] }).then((r) => \
                      done(r.violations.map((v) => [v.id, v.nodes.map((n) => n.target.join(' ') + ': ' + n.failureSummary)])))";
        let body = json!({"script": script, "args": []});
        self.send("POST", &self.path("/execute/async"), Some(&body))
    }

    /// A picture of the window, as PNG in base64.
    pub fn picture(&self) -> String {
        let value = self.send("GET", &self.path("/screenshot"), None);
        value.as_str().expect("base64").to_string()
    }
}
