//! The manual as HTML: single pages for a server, and a static site that needs no server.
//!
//! Nothing is fetched from elsewhere: the style and the search are two files in the same folder.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use gcn::isa::format::Format;
use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::pages::{self, Entry, Kind};

/// The style of all pages.
pub static STYLE: &str = include_str!("style.css");
/// The search in the browser; it reads the index that [`search_index`] writes.
pub static SEARCH: &str = include_str!("search.js");

/// Names of pages, and the addresses of links to them.
pub struct Links {
    names: HashMap<String, String>,
    errata: BTreeSet<String>,
    file: fn(Kind, &str) -> String,
}

impl Default for Links {
    fn default() -> Links {
        Links::new(&pages::all())
    }
}

impl Links {
    /// Links to the pages of a site.
    pub fn new(entries: &[Entry]) -> Links {
        Links::with(entries, file_name)
    }

    /// Links to pages whose files have other names.
    pub fn with(entries: &[Entry], file: fn(Kind, &str) -> String) -> Links {
        let mut names = HashMap::new();
        for entry in entries {
            for also in &entry.also {
                names
                    .entry(also.to_string())
                    .or_insert_with(|| file(entry.kind, &entry.name));
            }
        }
        // A page's own name takes precedence over an alias.
        for entry in entries.iter().rev() {
            names.insert(entry.name.clone(), file(entry.kind, &entry.name));
        }
        let errata = (entries.iter()).filter(|e| e.kind == Kind::Erratum);
        Links {
            errata: errata.map(|e| e.name.clone()).collect(),
            names,
            file,
        }
    }

    /// The address of the page with a name, relative to the others.
    pub fn to(&self, name: &str) -> Option<&str> {
        self.names.get(name).map(String::as_str)
    }
}

/// Returns the name of a page's file.
pub fn file_name(kind: Kind, name: &str) -> String {
    match kind {
        Kind::Topic | Kind::Instruction => format!("{name}.html"),
        Kind::Format => format!("format-{}.html", name.to_lowercase()),
        Kind::Hazard | Kind::Check => format!("{}-{name}.html", kind.name()),
        Kind::Erratum => format!("decision-{name}.html"),
    }
}

/// Returns the contents of a page as HTML, without a frame around it.
pub fn body(kind: Kind, name: &str, links: &Links) -> Option<String> {
    let markdown = match kind {
        Kind::Format => super::format_page(Format::parse(name)?),
        Kind::Instruction => pages::instruction(name, None)?.1,
        _ => pages::other(name)?.1,
    };
    Some(from_markdown(&markdown, links))
}

/// Returns a complete page.
pub fn document(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} - gcn</title>\n<link rel=\"stylesheet\" href=\"style.css\">\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#page\">Skip to the page</a>\n\
         <header>\n<nav aria-label=\"Manual\"><a class=\"home\" href=\"index.html\">gcn manual</a>\n\
         <a href=\"tutorial.html\">Tutorial</a> <a href=\"instructions.html\">Instructions</a> <a href=\"glossary.html\">Glossary</a></nav>\n\
         <form role=\"search\" id=\"search\"><label for=\"words\">Search</label> \
         <input id=\"words\" type=\"search\" autocomplete=\"off\" placeholder=\"v_add_f32, shift left, waitcnt\" aria-controls=\"found\">\n\
         <ul id=\"found\" hidden></ul></form>\n</header>\n<main id=\"page\">\n{body}</main>\n\
         <script src=\"index.js\" defer></script>\n<script src=\"search.js\" defer></script>\n</body>\n</html>\n",
        title = escape(title),
    )
}

/// Returns a complete page by its name; `None` if there is no such page.
pub fn page(kind: Kind, name: &str, links: &Links) -> Option<String> {
    Some(document(name, &body(kind, name, links)?))
}

/// Returns the files of the site: names and contents.
pub fn site() -> impl Iterator<Item = (String, String)> {
    let entries = pages::all();
    let links = Links::new(&entries);
    let fixed = [
        ("style.css".to_string(), STYLE.to_string()),
        ("search.js".to_string(), SEARCH.to_string()),
        ("index.js".to_string(), search_index(&entries)),
        (
            "instructions.html".to_string(),
            document("Instructions", &instructions(&entries, &links)),
        ),
    ];
    let pages = entries.into_iter().filter_map(move |entry| {
        let page = match entry.name.as_str() {
            "index" => document("Manual", &front(&links)?),
            name => page(entry.kind, name, &links)?,
        };
        Some((file_name(entry.kind, &entry.name), page))
    });
    fixed.into_iter().chain(pages)
}

/// The first page: the topics, the formats, and links to the rest.
pub fn front(links: &Links) -> Option<String> {
    let mut out = body(Kind::Topic, "index", links)?;
    out.push_str("<h2 id=\"formats\">Formats</h2>\n<ul class=\"formats\">\n");
    for format in Format::ALL {
        let _ = writeln!(
            out,
            "<li><a href=\"{}\">{}</a> {}</li>",
            (links.file)(Kind::Format, format.name()),
            format.name(),
            escape(super::purpose(format))
        );
    }
    out.push_str("</ul>\n<p><a href=\"instructions.html\">All instructions</a></p>\n<h2 id=\"decisions\">Decisions where documents are silent or wrong</h2>\n<ul class=\"names\">\n");
    for key in &links.errata {
        let _ = writeln!(
            out,
            "<li><a href=\"{}\">{key}</a></li>",
            (links.file)(Kind::Erratum, key)
        );
    }
    out.push_str("</ul>\n");
    Some(out)
}

/// All instructions with their purposes.
pub fn instructions(entries: &[Entry], links: &Links) -> String {
    let mut out = String::from(
        "<h1>Instructions</h1>\n<table>\n<thead><tr><th>Instruction</th><th>What it is for</th></tr></thead>\n<tbody>\n",
    );
    for entry in entries.iter().filter(|e| e.kind == Kind::Instruction) {
        let href = links.to(&entry.name).unwrap_or("#");
        let _ = writeln!(
            out,
            "<tr><td><a href=\"{href}\"><code>{}</code></a></td><td>{}</td></tr>",
            entry.name,
            escape(&entry.about)
        );
    }
    out.push_str("</tbody>\n</table>\n");
    out
}

/// The index of the search, a script that sets a variable: `[name, about, file, other names]`.
pub fn search_index(entries: &[Entry]) -> String {
    let rows: Vec<serde_json::Value> = entries
        .iter()
        .map(|e| {
            serde_json::json!([
                e.name,
                e.about,
                file_name(e.kind, &e.name),
                e.also.join(" ")
            ])
        })
        .collect();
    // `</script>` cannot occur in a file of its own.
    format!("const PAGES = {};\n", serde_json::Value::from(rows))
}

/// Returns text with the characters of HTML escaped.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Converts Markdown; names of pages become links.
pub fn from_markdown(markdown: &str, links: &Links) -> String {
    let parser = Parser::new_ext(markdown, Options::ENABLE_TABLES);
    let mut events: Vec<Event<'_>> = Vec::new();
    let mut heading: Option<(HeadingLevel, usize)> = None;
    let mut code = false;
    let mut linked = false;
    for event in parser {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                heading = Some((level, events.len()));
            }
            Event::End(TagEnd::Heading(level)) => {
                let Some((_, start)) = heading.take() else {
                    continue;
                };
                let text: String = events[start..]
                    .iter()
                    .map(|e| match e {
                        Event::Text(text) | Event::Code(text) => text.to_string(),
                        _ => String::new(),
                    })
                    .collect();
                let open = format!("<{level} id=\"{}\">", slug(&text));
                events.insert(start, Event::Html(open.into()));
                events.push(Event::Html(format!("</{level}>\n").into()));
            }
            Event::Start(Tag::Table(_)) => {
                events.push(Event::Html("<div class=\"table\">".into()));
                events.push(event);
            }
            Event::End(TagEnd::Table) => {
                events.push(event);
                events.push(Event::Html("</div>\n".into()));
            }
            Event::Start(Tag::CodeBlock(ref kind)) => {
                code = true;
                if let CodeBlockKind::Fenced(language) = kind
                    && &**language == "sh"
                {
                    events.push(Event::Html("<div class=\"command\">".into()));
                } else {
                    events.push(Event::Html("<div class=\"code\">".into()));
                }
                events.push(event);
            }
            Event::End(TagEnd::CodeBlock) => {
                code = false;
                events.push(event);
                events.push(Event::Html("</div>".into()));
            }
            Event::Start(Tag::Link { .. }) => {
                linked = true;
                events.push(event);
            }
            Event::End(TagEnd::Link) => {
                linked = false;
                events.push(event);
            }
            Event::Code(text) => events.push(code_link(text, links)),
            Event::Text(text) if !code && !linked && heading.is_none() => {
                events.push(Event::Html(text_links(&text, links).into()));
            }
            other => events.push(other),
        }
    }
    let mut out = String::new();
    pulldown_cmark::html::push_html(&mut out, events.into_iter());
    out
}

/// Inline code: `gcn doc NAME` and names of instructions become links.
fn code_link<'a>(text: CowStr<'a>, links: &Links) -> Event<'a> {
    let name = text.strip_prefix("gcn doc ").unwrap_or(&text);
    match links.to(name) {
        Some(href) => {
            Event::Html(format!("<a href=\"{href}\"><code>{}</code></a>", escape(&text)).into())
        }
        None => Event::Code(text),
    }
}

/// Plain text: names of instructions and hazards become links.
fn text_links(text: &str, links: &Links) -> String {
    let mut out = String::new();
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        // Only words that are not English ones.
        let format = || word.len() > 1 && Format::parse(word).is_some_and(|f| f.name() == word);
        let known = (word.contains('_') || word.contains('-') || format())
            .then(|| links.to(word))
            .flatten();
        match known {
            Some(href) => {
                let _ = write!(out, "<a href=\"{href}\">{word}</a>");
            }
            None => out.push_str(&escape(word)),
        }
        let next = after.find(part).unwrap_or(after.len());
        out.push_str(&escape(&after[..next]));
        rest = &after[next..];
    }
    out
}

/// The identifier of a heading.
fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.to_lowercase().chars() {
        match c {
            c if c.is_alphanumeric() || c == '_' => out.push(c),
            _ if !out.ends_with('-') && !out.is_empty() => out.push('-'),
            _ => {}
        }
    }
    out.trim_end_matches('-').to_string()
}
