//! `gcn web`: a local page to write, read, check and step GCN code.
//!
//! [`Server`] listens on the loopback interface and answers only requests that carry its token ([`http`] limits their size and
//! time). The page is in `page/`, plain HTML, CSS and JavaScript, and part of the program. [`api`] handles the page's requests,
//! [`code`] the data about a source, and [`session`] runs that are stepped.

#![forbid(unsafe_code)]

pub mod api;
pub mod code;
pub mod examples;
mod export;
mod fields;
pub mod http;
mod kernel;
mod launch;
mod opened;
mod page;
pub mod session;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use serde_json::Value;

use crate::http::{Request, Response};
use crate::session::Sessions;

pub use export::export;
pub use opened::{Opened, open};
pub use page::{document, escape};

/// The manual that the page shows.
pub trait Manual: Send + Sync {
    /// The page of a name, as HTML for the body of a document; `None` if there is none.
    fn page(&self, name: &str) -> Option<String>;

    /// The names of all pages.
    fn names(&self) -> Vec<String>;
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
    site: Site,
}

/// The contents of a server.
struct Site {
    /// The page, which is built once.
    index: String,
    manual: Box<dyn Manual>,
    sessions: Sessions,
    opened: Option<Opened>,
}

impl Server {
    /// Listens on the loopback interface; port 0 is any free one. `document` is the document that the page opens first
    /// ([`document`]).
    ///
    /// # Errors
    /// A sentence: the port is taken, or the system has no random numbers.
    pub fn new(port: u16, document: Value, manual: Box<dyn Manual>) -> Result<Server, String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|e| match port {
            0 => format!("no port can be opened on 127.0.0.1: {e}"),
            _ => format!("port {port} on 127.0.0.1: {e}; without --port a free one is taken"),
        })?;
        let address = listener.local_addr().map_err(|e| e.to_string())?;
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|e| format!("no random numbers: {e}"))?;
        let token: String = random.iter().map(|b| format!("{b:02x}")).collect();
        Ok(Server {
            listener,
            address,
            site: Site {
                index: page::index(&document, &format!("/{token}/"), None),
                manual,
                sessions: Sessions::default(),
                opened: None,
            },
            token,
        })
    }

    /// Lets launches name the buffers of a plan ([`open`]).
    pub fn with_plan(mut self, opened: Option<Opened>) -> Server {
        self.site.opened = opened;
        self
    }

    /// The page's address, with the token.
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.address, self.token)
    }

    /// Answers requests until the process ends.
    pub fn run(self) {
        let Server {
            listener,
            address,
            token,
            site,
        } = self;
        http::serve(&listener, move |request| {
            match admitted(request, address, &token) {
                Ok(path) => site.answer(request, path, &token),
                Err(refused) => refused,
            }
        });
    }
}

/// Returns the path of a request after the token, if the request may be answered: it comes from this page and has the token, in the
/// path or as `?token=…`.
fn admitted<'r>(
    request: &'r Request,
    address: SocketAddr,
    token: &str,
) -> Result<&'r str, Response> {
    let forbidden = |why: &str| Err(Response::text(403, why));
    // Another name that resolves to this address may be that of an attacker's page.
    let port = address.port();
    let known = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let host = request.header("host").unwrap_or("");
    if !known.iter().any(|k| k.eq_ignore_ascii_case(host)) {
        return forbidden("the request is for another host; use the address that gcn web printed");
    }
    if request.has("origin") {
        let origin = request.header("origin").unwrap_or("");
        let own = origin.strip_prefix("http://");
        if !own.is_some_and(|o| known.iter().any(|k| k.eq_ignore_ascii_case(o))) {
            return forbidden("the request comes from another page");
        }
    }
    if (request.header("sec-fetch-site")).is_some_and(|s| s == "cross-site" || s == "same-site")
        && request.method == "POST"
    {
        return forbidden("the request comes from another page");
    }
    let missing = "the token is missing or wrong: open the address that gcn web printed when it started, \
                   with all that follows the question mark";
    if let Some(rest) = request.path.strip_prefix('/') {
        let (first, path) = rest.split_once('/').unwrap_or((rest, ""));
        if same(first, token) {
            return Ok(path);
        }
        let mut pairs = request.query.split('&').filter_map(|p| p.split_once('='));
        if pairs.any(|(key, value)| key == "token" && same(value, token)) {
            return Ok(rest);
        }
    }
    forbidden(missing)
}

/// Compares in a time that does not depend on the position of a difference.
fn same(a: &str, b: &str) -> bool {
    let different = a.bytes().zip(b.bytes()).fold(0, |d, (x, y)| d | (x ^ y));
    a.len() == b.len() && different == 0
}

impl Site {
    fn answer(&self, request: &Request, path: &str, token: &str) -> Response {
        if let Some(name) = path.strip_prefix("api/") {
            return self.api(request, name);
        }
        if request.method == "POST" {
            return Response::text(405, "expected GET");
        }
        if path.is_empty() || path == "index.html" {
            let html = self.index.clone().into_bytes();
            return Response::new(200, "text/html; charset=utf-8", html);
        }
        if let Some(file) = page::FILES.iter().find(|f| f.name == path) {
            return Response::new(200, file.content_type, file.text.as_bytes());
        }
        if let Some(id) = path.strip_prefix("example/") {
            let example = examples::EXAMPLES.iter().find(|e| e.id == id);
            return match example {
                Some(example) => json(&example.document()),
                None => Response::text(404, "there is no such example"),
            };
        }
        if let Some(name) = path.strip_prefix("manual/") {
            let name = name.strip_suffix(".html").unwrap_or(name);
            return match self.manual.page(name) {
                Some(body) => {
                    let html = page::manual(name, &body, &format!("/{token}/"));
                    Response::new(200, "text/html; charset=utf-8", html.into_bytes())
                }
                None => Response::text(404, "the manual has no such page"),
            };
        }
        Response::text(404, "there is no such page")
    }

    fn api(&self, request: &Request, name: &str) -> Response {
        if request.method != "POST" {
            return Response::text(405, "expected POST");
        }
        let content = request.header("content-type").unwrap_or("");
        let content = content.split(';').next().unwrap_or("").trim();
        if !content.eq_ignore_ascii_case("application/json") {
            return Response::text(415, "expected application/json");
        }
        match api::answer(name, &request.body, &self.sessions, self.opened.as_ref()) {
            Ok(value) => json(&value),
            Err(api::Refusal::Malformed(why)) => {
                let body = serde_json::json!({ "error": why }).to_string();
                Response::new(400, "application/json", body.into_bytes())
            }
            Err(api::Refusal::Unknown) => Response::text(404, "there is no such request"),
        }
    }
}

fn json(value: &Value) -> Response {
    Response::new(200, "application/json", value.to_string().into_bytes())
}
