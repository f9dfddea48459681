//! Packets of GDB's remote protocol: `$TEXT#SUM`, with `+`, `-` and the interrupt byte between them.

use std::io::Read;
use std::sync::mpsc::Sender;

use crate::interrupts::Interrupts;

/// The maximum bytes of a packet, which the client queries.
pub const MOST: usize = 0x20000;

/// An event from a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet's contents, without escapes.
    Packet(Vec<u8>),
    /// Bytes that do not form a packet, with the reason.
    Malformed(String),
    /// The reply arrived with errors and must be sent again.
    Again,
    /// Ctrl-C. The flag that ends motions was already set when the byte arrived.
    Interrupt,
    /// The client has disconnected, with the error if there was one.
    Closed(Option<String>),
}

/// Takes packets out of bytes that arrive in pieces.
#[derive(Debug, Default)]
pub struct Framer {
    /// The bytes since `$`, with escapes; `None` between packets.
    body: Option<Vec<u8>>,
    /// The packet became too long; the rest of it is dropped.
    long: bool,
    /// The characters of the checksum, after `#`.
    sum: Option<Vec<u8>>,
}

impl Framer {
    /// Takes a byte. Returns the event that it completes.
    pub fn take(&mut self, byte: u8) -> Option<Event> {
        if let Some(sum) = &mut self.sum {
            sum.push(byte);
            return (sum.len() == 2).then(|| self.finish());
        }
        let Some(body) = &mut self.body else {
            return match byte {
                b'$' => {
                    self.body = Some(Vec::new());
                    None
                }
                b'+' => None,
                b'-' => Some(Event::Again),
                3 => Some(Event::Interrupt),
                other => {
                    let shown = other.escape_ascii();
                    Some(Event::Malformed(format!(
                        "a byte `{shown}` outside of a packet; packets begin with `$`"
                    )))
                }
            };
        };
        match byte {
            b'#' => self.sum = Some(Vec::new()),
            // An incomplete packet is dropped.
            b'$' => {
                body.clear();
                self.long = false;
                return Some(Event::Malformed(
                    "a packet that another one interrupts".into(),
                ));
            }
            _ if body.len() < MOST => body.push(byte),
            _ => self.long = true,
        }
        None
    }

    fn finish(&mut self) -> Event {
        let body = self.body.take().unwrap_or_default();
        let given = self.sum.take().unwrap_or_default();
        if std::mem::take(&mut self.long) {
            return Event::Malformed(format!("a packet of more than {MOST} bytes"));
        }
        let sum = checksum(&body);
        let text = String::from_utf8_lossy(&given);
        if u8::from_str_radix(&text, 16) != Ok(sum) {
            return Event::Malformed(format!(
                "a packet with the checksum `{}`; its contents have {sum:02x}",
                given.escape_ascii()
            ));
        }
        let mut out = Vec::with_capacity(body.len());
        let mut bytes = body.into_iter();
        while let Some(byte) = bytes.next() {
            out.push(match byte {
                b'}' => bytes.next().unwrap_or(0) ^ 0x20,
                byte => byte,
            });
        }
        Event::Packet(out)
    }
}

fn checksum(body: &[u8]) -> u8 {
    body.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte))
}

/// A packet with these contents.
pub fn packet(contents: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(contents.len() + 4);
    for &byte in contents {
        match byte {
            b'#' | b'$' | b'}' | b'*' => body.extend([b'}', byte ^ 0x20]),
            byte => body.push(byte),
        }
    }
    let sum = checksum(&body);
    let mut out = vec![b'$'];
    out.extend(body);
    out.extend(format!("#{sum:02x}").bytes());
    out
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |n: u8| char::from_digit(n.into(), 16).unwrap_or('0');
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// The bytes of hexadecimal digits.
pub fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|n| n as u8);
    let pairs = digits.chunks(2);
    pairs
        .map(|pair| match *pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        })
        .collect()
}

/// Reads a client's bytes until it disconnects, and sends the events. Ctrl-C sets the interrupt flag directly, because the
/// receiver is busy while waves run; so does the end of the connection.
pub fn listen(mut from: impl Read, to: &Sender<Event>, interrupts: &Interrupts) {
    let mut framer = Framer::default();
    let mut bytes = [0; 4096];
    loop {
        let count = match from.read(&mut bytes) {
            Ok(0) => return close(to, interrupts, None),
            Ok(count) => count,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return close(to, interrupts, Some(e.to_string())),
        };
        for &byte in &bytes[..count] {
            let Some(event) = framer.take(byte) else {
                continue;
            };
            if event == Event::Interrupt {
                interrupts.raise();
            }
            if to.send(event).is_err() {
                return;
            }
        }
    }
}

fn close(to: &Sender<Event>, interrupts: &Interrupts, why: Option<String>) {
    interrupts.raise();
    // The receiver may have ended.
    let _ = to.send(Event::Closed(why));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(bytes: &[u8]) -> Vec<Event> {
        let mut framer = Framer::default();
        bytes.iter().filter_map(|&b| framer.take(b)).collect()
    }

    #[test]
    fn packets_round_trip() {
        let all: Vec<u8> = (0..=255).collect();
        for contents in [&b"qSupported"[..], b"", b"a#b$c}d*e", &all] {
            let sent = packet(contents);
            assert_eq!(events(&sent), [Event::Packet(contents.to_vec())]);
        }
    }

    #[test]
    fn what_is_no_packet_is_named() {
        let malformed = |bytes: &[u8]| match events(bytes).as_slice() {
            [Event::Malformed(why), ..] => why.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            malformed(b"$g#00"),
            "a packet with the checksum `00`; its contents have 67"
        );
        assert_eq!(
            malformed(b"$g#zz"),
            "a packet with the checksum `zz`; its contents have 67"
        );
        assert!(malformed(b"GET / HTTP/1.1").contains("a byte `G` outside of a packet"));
        assert!(malformed(b"$g$g#67").contains("another one interrupts"));
        let long = [b"$".as_slice(), &vec![b'a'; MOST + 1], b"#00"].concat();
        assert!(malformed(&long).contains("more than"));
        // The next packet is read again.
        assert_eq!(
            events(b"$g#00$g#67\x03+-")[1..],
            [Event::Packet(b"g".to_vec()), Event::Interrupt, Event::Again]
        );
    }
}
