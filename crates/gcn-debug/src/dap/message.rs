//! Messages of the Debug Adapter Protocol: JSON after a header with its length; and base64, the encoding of memory in them.

use std::io::{BufRead, BufReader, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use serde_json::Value;

use crate::interrupts::Interrupts;

/// The maximum bytes of a message.
const MOST: usize = 16 << 20;

/// A message of an editor.
#[derive(Debug)]
pub enum Event {
    /// A message, and true if it has interrupted a motion.
    Message(Value, bool),
    /// The message cannot be read, nor can anything after it.
    Malformed(String),
    /// The editor has disconnected.
    Closed,
}

/// Reads a message. `None` at the end.
fn read(from: &mut impl BufRead) -> Result<Option<Value>, String> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        let header = from.by_ref().take(4096).read_until(b'\n', &mut line);
        if header.map_err(|e| e.to_string())? == 0 {
            return match length {
                None => Ok(None),
                Some(_) => Err("the input ends in a header".into()),
            };
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() && length.is_some() {
            break;
        }
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("Content-Length") => {
                let value = value.trim().parse().ok().filter(|n| *n <= MOST);
                let value = value.ok_or_else(|| {
                    format!("`{line}`: expected a number of bytes, at most {MOST}")
                })?;
                length = Some(value);
            }
            Some(_) => {}
            None => return Err(format!("`{line}`: expected the header Content-Length: N")),
        }
    }
    let mut body = vec![0; length.unwrap_or(0)];
    from.read_exact(&mut body)
        .map_err(|_| "the input ends in a message".to_owned())?;
    let value = serde_json::from_slice(&body).map_err(|e| format!("a message is no JSON: {e}"))?;
    Ok(Some(value))
}

/// Reads an editor's messages until it disconnects. Messages that cannot wait interrupt the current motion. `continuing` is true
/// if that motion resumes by itself afterwards.
pub fn listen(
    from: impl Read,
    to: &Sender<Event>,
    interrupts: &Interrupts,
    continuing: &AtomicBool,
) {
    let mut from = BufReader::new(from);
    loop {
        let (event, last) = match read(&mut from) {
            Ok(Some(message)) => {
                let command = message["command"].as_str().unwrap_or("");
                let urgent = matches!(command, "pause" | "terminate" | "disconnect")
                    || command.starts_with("set") && continuing.load(Ordering::SeqCst);
                if urgent {
                    interrupts.raise();
                }
                (Event::Message(message, urgent), false)
            }
            Ok(None) => {
                interrupts.raise();
                (Event::Closed, true)
            }
            Err(why) => {
                interrupts.raise();
                (Event::Malformed(why), true)
            }
        };
        if to.send(event).is_err() || last {
            return;
        }
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes as base64.
pub fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let word = group.iter().enumerate().fold(0u32, |word, (n, &byte)| {
            word | (byte as u32) << (16 - 8 * n)
        });
        for n in 0..4 {
            out.push(match n <= group.len() {
                true => DIGITS[(word >> (18 - 6 * n)) as usize & 63] as char,
                false => '=',
            });
        }
    }
    out
}

/// The bytes of base64.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut word, mut bits) = (0u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let digit = DIGITS.iter().position(|&d| d == byte)? as u32;
        word = word << 6 | digit;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_round_trips() {
        assert_eq!(base64(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
        let all: Vec<u8> = (0..=255).collect();
        for n in 0..all.len() {
            assert_eq!(from_base64(&base64(&all[n..])).unwrap(), all[n..]);
        }
        assert_eq!(from_base64("a b"), None);
    }

    #[test]
    fn what_is_no_message_is_named() {
        let read = |text: &str| {
            read(&mut text.as_bytes()).map_err(|e| e.chars().take(40).collect::<String>())
        };
        assert!(read("Content-Length: 2\r\n\r\n{}").unwrap().is_some());
        assert!(read("").unwrap().is_none());
        for text in [
            "hello\n",
            "Content-Length: x\r\n\r\n",
            "Content-Length: 9\r\n\r\n{}",
            "Content-Length: 2\r\n\r\n}{",
        ] {
            read(text).unwrap_err();
        }
    }
}
