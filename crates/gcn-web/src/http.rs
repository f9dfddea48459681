//! A small HTTP/1.1 server for one user: it listens on the loopback interface, answers one request per connection, and limits
//! the size and the time of a request and the number of connections.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// The maximum size of a request's first line and headers.
const MOST_HEAD: usize = 16 << 10;
/// The maximum size of a request's body.
pub const MOST_BODY: usize = 4 << 20;
/// The maximum number of headers.
const MOST_HEADERS: usize = 64;
/// The maximum number of connections at a time.
const MOST_CONNECTIONS: usize = 64;
/// The maximum time until a request has arrived, and until its answer is sent.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request.
#[derive(Debug, Default)]
pub struct Request {
    /// GET, HEAD or POST.
    pub method: String,
    /// The path, as it was sent.
    pub path: String,
    /// The part after the question mark.
    pub query: String,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header, by its name in lower case; `None` if there is none or there are several.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(n, _)| n == name);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Some(value),
            _ => None,
        }
    }

    /// Returns true if a header was sent at all.
    pub fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(n, _)| n == name)
    }
}

/// An answer.
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The type of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: Cow<'static, [u8]>,
}

impl Response {
    /// An answer of some type.
    pub fn new(
        status: u16,
        content_type: &'static str,
        body: impl Into<Cow<'static, [u8]>>,
    ) -> Response {
        Response {
            status,
            content_type,
            body: body.into(),
        }
    }

    /// Plain text.
    pub fn text(status: u16, text: &str) -> Response {
        let body = format!("{text}\n").into_bytes();
        Response::new(status, "text/plain; charset=utf-8", body)
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}

/// Answers requests until accepting fails for good. Each connection has a thread.
pub fn serve(
    listener: &TcpListener,
    answer: impl Fn(&Request) -> Response + Send + Sync + 'static,
) {
    let answer = Arc::new(answer);
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // The process may have too many open files; the next attempt may succeed.
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        if open.fetch_add(1, SeqCst) >= MOST_CONNECTIONS {
            open.fetch_sub(1, SeqCst);
            let _ = send(&stream, &Response::text(503, "too many connections"), false);
            continue;
        }
        let (answer, open) = (answer.clone(), open.clone());
        std::thread::spawn(move || {
            connection(&stream, &*answer);
            open.fetch_sub(1, SeqCst);
        });
    }
}

fn connection(stream: &TcpStream, answer: &dyn Fn(&Request) -> Response) {
    let (response, head) = match read(stream, Instant::now() + PATIENCE) {
        Ok(request) => {
            let head = request.method == "HEAD";
            let answered = catch_unwind(AssertUnwindSafe(|| answer(&request)));
            let failed = |_| {
                let message = "the server failed at this request; this is an error of gcn";
                Response::text(500, message)
            };
            (answered.unwrap_or_else(failed), head)
        }
        Err(Some(response)) => (response, false),
        // The other side closed the connection, or sent nothing.
        Err(None) => return,
    };
    if send(stream, &response, head).is_ok() {
        drain(stream);
    }
}

/// Reads the rest of the request; otherwise closing the connection could discard the answer.
fn drain(mut stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.set_read_timeout(Some(Duration::from_millis(500)));
    let mut piece = [0; 4096];
    let mut left = 2 * MOST_BODY;
    while let Ok(n @ 1..) = stream.read(&mut piece) {
        left = left.saturating_sub(n);
        if left == 0 {
            return;
        }
    }
}

fn send(mut stream: &TcpStream, response: &Response, head: bool) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let allow = match response.status {
        405 => "Allow: GET, HEAD, POST\r\n",
        _ => "",
    };
    let text = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n{allow}\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n\
         Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
         connect-src 'self'; frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'\r\n\r\n",
        response.status,
        reason(response.status),
        response.content_type,
        response.body.len(),
    );
    let mut all = text.into_bytes();
    if !head {
        all.extend_from_slice(&response.body);
    }
    stream.write_all(&all)?;
    stream.flush()
}

/// Reads some bytes. The error is the answer, if there should be one.
fn more(
    mut stream: &TcpStream,
    deadline: Instant,
    piece: &mut [u8],
) -> Result<usize, Option<Response>> {
    let late = || Some(Response::text(408, "the request did not arrive in time"));
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(late());
    }
    stream.set_read_timeout(Some(left)).map_err(|_| None)?;
    stream.read(piece).map_err(|e| match e.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => late(),
        _ => None,
    })
}

fn read(stream: &TcpStream, deadline: Instant) -> Result<Request, Option<Response>> {
    let bad = |status, why: &str| Err(Some(Response::text(status, why)));
    let mut bytes = Vec::new();
    let mut piece = [0; 8192];
    let end = loop {
        let from = bytes.len().saturating_sub(3);
        let n = more(stream, deadline, &mut piece)?;
        if n == 0 && bytes.is_empty() {
            return Err(None);
        }
        if n == 0 {
            return bad(400, "the request ends before its headers do");
        }
        bytes.extend_from_slice(&piece[..n]);
        if let Some(at) = bytes[from..].windows(4).position(|w| w == b"\r\n\r\n") {
            break from + at + 4;
        }
        if bytes.len() > MOST_HEAD {
            return bad(431, "the request's headers are larger than 16 KiB");
        }
    };
    if end > MOST_HEAD {
        return bad(431, "the request's headers are larger than 16 KiB");
    }
    let mut request = head(&bytes[..end]).map_err(Some)?;
    if request.has("transfer-encoding") {
        return bad(411, "expected a Content-Length, not a Transfer-Encoding");
    }
    let length = match request.header("content-length") {
        None if request.has("content-length") => return bad(400, "there are several lengths"),
        None if request.method == "POST" => return bad(411, "expected a Content-Length"),
        None => 0,
        Some(text) if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) => {
            return bad(400, "the Content-Length is not a number");
        }
        // A number that is too long for usize is too large, too.
        Some(text) => text.parse().unwrap_or(usize::MAX),
    };
    if length > MOST_BODY {
        return bad(413, "the request's body is larger than 4 MiB");
    }
    if (request.header("expect")).is_some_and(|v| v.eq_ignore_ascii_case("100-continue")) {
        let mut stream = stream;
        let _ = stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
    }
    let mut body = bytes.split_off(end);
    while body.len() < length {
        let n = more(stream, deadline, &mut piece)?;
        if n == 0 {
            return bad(400, "the request ends before its Content-Length");
        }
        body.extend_from_slice(&piece[..n]);
    }
    body.truncate(length);
    request.body = body;
    Ok(request)
}

/// The first line and the headers.
fn head(bytes: &[u8]) -> Result<Request, Response> {
    let bad = |status, why: &str| Err(Response::text(status, why));
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return bad(400, "the request is incomplete"),
        Err(httparse::Error::TooManyHeaders) => return bad(431, "there are too many headers"),
        Err(e) => return bad(400, &format!("the request is not HTTP: {e}")),
    }
    let target = parsed.path.unwrap_or("");
    if !target.starts_with('/') {
        return bad(400, "expected a path that begins with a slash");
    }
    let method = parsed.method.unwrap_or("").to_string();
    if !matches!(method.as_str(), "GET" | "HEAD" | "POST") {
        return bad(405, "expected GET or POST");
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut list = Vec::new();
    for header in parsed.headers.iter() {
        let Ok(value) = std::str::from_utf8(header.value) else {
            return bad(400, &format!("the header {} is not text", header.name));
        };
        list.push((header.name.to_ascii_lowercase(), value.trim().to_string()));
    }
    Ok(Request {
        method,
        path: path.to_string(),
        query: query.to_string(),
        headers: list,
        body: Vec::new(),
    })
}
