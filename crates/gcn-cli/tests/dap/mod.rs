//! An editor for the tests: requests over pipes.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// An editor.
pub struct Editor {
    pub child: Child,
    pub input: ChildStdin,
    pub messages: Receiver<Value>,
    /// Events that arrived before an answer.
    pub events: Vec<Value>,
    pub seq: u64,
}

impl Editor {
    pub fn start() -> Editor {
        let mut child = Command::new(env!("CARGO_BIN_EXE_gcn"))
            .args(["debug", "--dap"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (send, messages) = channel();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            loop {
                let mut header = String::new();
                if output.read_line(&mut header).unwrap() == 0 {
                    return;
                }
                let length = header.trim().strip_prefix("Content-Length: ").unwrap();
                let mut body = vec![0; length.parse::<usize>().unwrap() + 2];
                output.read_exact(&mut body).unwrap();
                let _ = send.send(serde_json::from_slice(&body[2..]).unwrap());
            }
        });
        Editor {
            input: child.stdin.take().unwrap(),
            child,
            messages,
            events: Vec::new(),
            seq: 0,
        }
    }

    pub fn next(&mut self) -> Value {
        self.messages.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    /// Sends a request, and returns its answer.
    pub fn ask(&mut self, command: &str, arguments: Value) -> Value {
        self.seq += 1;
        let text =
            json!({"seq": self.seq, "type": "request", "command": command, "arguments": arguments});
        let text = text.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        loop {
            let message = self.next();
            if message["type"] == "response" {
                assert_eq!(message["request_seq"], self.seq);
                return message;
            }
            self.events.push(message);
        }
    }

    /// As `ask`; returns the answer's body.
    pub fn body(&mut self, command: &str, arguments: Value) -> Value {
        let answer = self.ask(command, arguments);
        assert_eq!(answer["success"], true, "{answer}");
        answer["body"].clone()
    }

    /// The body of the next event of a kind.
    pub fn event(&mut self, kind: &str) -> Value {
        loop {
            let known = self.events.iter().position(|e| e["event"] == kind);
            if let Some(at) = known {
                return self.events.remove(at)["body"].clone();
            }
            let message = self.next();
            self.events.push(message);
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
