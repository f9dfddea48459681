//! A server for tests, and a client that sends arbitrary requests.
#![allow(dead_code)]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use gcn_web::{Manual, Opened, Server};
use serde_json::{Value, json};

/// A manual of two pages.
pub struct Pages;

impl Manual for Pages {
    fn page(&self, name: &str) -> Option<String> {
        let known = self.names().iter().any(|n| n == name);
        known.then(|| format!("<h1>{name}</h1><pre>the page of {name}</pre>"))
    }

    fn names(&self) -> Vec<String> {
        vec!["s_endpgm".into(), "v_mbcnt_lo_u32_b32".into()]
    }
}

/// A running server.
pub struct Running {
    /// 127.0.0.1 and the port.
    pub host: String,
    /// The token.
    pub token: String,
    /// The page's address.
    pub url: String,
}

/// Starts a server with the first example, or a document.
pub fn start(document: Option<Value>) -> Running {
    let document = document.unwrap_or_else(|| {
        gcn_web::document(None, None, None, None).expect("the first example is there")
    });
    start_with(document, None)
}

/// Starts a server with a document, and the plan it is of.
pub fn start_with(document: Value, plan: Option<Opened>) -> Running {
    let server = Server::new(0, document, Box::new(Pages)).expect("a port is free");
    let server = server.with_plan(plan);
    let url = server.url();
    std::thread::spawn(move || server.run());
    let rest = url.strip_prefix("http://").expect("it is HTTP");
    let (host, query) = rest.split_once('/').expect("it has a path");
    let token = query.strip_prefix("?token=").expect("it has a token");
    Running {
        host: host.to_string(),
        token: token.to_string(),
        url: url.clone(),
    }
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }
}

/// Sends bytes and reads the answer; `None` if there is none.
pub fn raw(host: &str, bytes: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect(host).expect("the server listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a timeout can be set");
    // The server may answer and close before it has read everything.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    let text = String::from_utf8_lossy(&all).into_owned();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer {
        status,
        head: head.to_string(),
        body: body.to_string(),
    })
}

impl Running {
    /// A GET request; `more` has further headers.
    pub fn get(&self, path: &str, more: &str) -> Answer {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{more}\r\n", self.host);
        raw(&self.host, request.as_bytes()).expect("the server answers")
    }

    /// A POST request of JSON text.
    pub fn post_text(&self, name: &str, body: &str, more: &str) -> Answer {
        let request = format!(
            "POST /{}/api/{name} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{more}\r\n{body}",
            self.token,
            self.host,
            body.len(),
        );
        raw(&self.host, request.as_bytes()).expect("the server answers")
    }

    /// A request of the page.
    pub fn post(&self, name: &str, body: &Value) -> Value {
        let answer = self.post_text(name, &body.to_string(), "");
        assert_eq!(answer.status, 200, "{name}: {}", answer.body);
        answer.json()
    }

    /// The server's answer about a source.
    pub fn code(&self, arch: &str, source: &str) -> Value {
        let body = json!({"source": source, "arch": arch, "syntax": "auto"});
        self.post("code", &body)
    }
}
