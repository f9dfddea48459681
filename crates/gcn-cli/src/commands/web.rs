//! `gcn web`: a local page that explains, checks and steps code.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;
use gcn::io;
use gcn::isa::Target;
use gcn_cli::web::Pages;
use gcn_web::{Opened, Server};
use serde_json::Value;

#[derive(Args)]
#[command(after_help = "\
The page is served on this machine alone, at an address with a random token, and asks nothing of any other
machine. The address is the first line of standard output; Ctrl-C ends the server. docs/web.md describes the page.

Examples:
  gcn web
  gcn web kernel.s
  gcn web kernel.co --port 8080 --no-open
  gcn web examples/saxpy.toml                          a plan: its kernel, with the plan's buffers and arguments
  gcn web examples/mandelbrot.s --export out/pages     static pages: the manual and the code, without runs")]
pub struct Options {
    /// Source (.s), a code object, a bundle, a program or library that carries one, or a plan (.toml); by default an example
    file: Option<PathBuf>,
    /// The target of source and entries that do not name it
    #[arg(long, value_parser = super::target(), ignore_case = true, hide_possible_values = true)]
    arch: Option<Target>,
    #[command(flatten)]
    choice: super::Choice,
    /// The plan's launch that the page begins with, from 1; those before it run first
    #[arg(long, value_name = "N")]
    launch: Option<usize>,
    /// The port; by default any free one
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Do not open the page in a browser
    #[arg(long)]
    no_open: bool,
    /// Write static pages into a folder instead
    #[arg(long, value_name = "DIR", conflicts_with_all = ["port", "no_open"])]
    export: Option<PathBuf>,
}

/// Serves the page, or writes static ones.
///
/// # Errors
/// A message: a file that cannot be read or written, or a port that is taken.
pub fn run(args: &Options) -> Result<(), String> {
    let (document, plan) = document(args)?;
    if let Some(folder) = &args.export {
        return gcn_web::export(folder, &document, &Pages);
    }
    let server = Server::new(args.port, document, Box::new(Pages))?.with_plan(plan);
    let url = server.url();
    io::print(format!("{url}\n").as_bytes())?;
    if !args.no_open && !open(&url) {
        io::complain("gcn: note: no browser was found; open the address by hand\n");
    }
    server.run();
    Ok(())
}

/// Returns the document that the page opens, and the plan from which it may take buffers.
fn document(args: &Options) -> Result<(Value, Option<Opened>), String> {
    let path = args.file.as_deref();
    if let Some(path) = path.filter(|p| p.extension().is_some_and(|e| e == "toml")) {
        let (document, opened) = gcn_web::open(path, args.arch, args.launch.unwrap_or(1))?;
        return Ok((document, Some(opened)));
    }
    if args.launch.is_some() {
        return Err("--launch names a launch of a plan: expected a file .toml".into());
    }
    let target = args.choice.target.as_deref();
    let document = gcn_web::document(path, args.arch, target, args.choice.entry)?;
    Ok((document, None))
}

/// Opens an address in the user's browser.
fn open(url: &str) -> bool {
    let (program, first): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(first).arg(url);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    match command.stderr(Stdio::null()).spawn() {
        Ok(mut child) => {
            std::thread::spawn(move || child.wait());
            true
        }
        Err(_) => false,
    }
}
