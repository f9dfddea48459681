//! `gcn bundle`: offload bundles, and host programs and libraries that contain them.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use gcn::io;
use gcn::object::bundle::{self, Method};
use gcn::object::container::{Container, Kind, Packing};
use gcn::object::{Entry, Error, Source, patch};

#[derive(Args)]
#[command(after_help = "\
An entry is chosen by its target (--target gfx906, gfx906:xnack-, or a whole id) or its number.
Files are read where they are wanted: a library of gigabytes is listed at once. docs/objects.md says
which files are known, and how an entry is put into a program.

Examples:
  gcn bundle list libfoo.so                              the entries of a library
  gcn bundle extract libfoo.so -d parts                  a file for each entry
  gcn bundle extract app --target gfx906 -o k.co         one of them
  gcn bundle replace app --target gfx906 --with new.co -o app.new
  gcn bundle create -o all.hipfb gfx900=a.co gfx906=b.co --compress=zstd")]
pub struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Print a line per entry: its id, which contains the target, and its size
    List(ListOptions),
    /// Write each entry to a file
    Extract(ExtractOptions),
    /// Write a bundle of code objects, as clang-offload-bundler does
    Create(CreateOptions),
    /// Replace an entry's code object, in a bundle or in the program or library that contains it
    Replace(ReplaceOptions),
}

const FILE_HELP: &str = "A bundle (plain, compressed or LLVM's offload binary), a host program, library, object file or archive that contains bundles, or a code object; or `-`";

#[derive(Args)]
struct ListOptions {
    #[arg(help = FILE_HELP)]
    file: PathBuf,
    /// Only entries for this target: gfx906, gfx906:xnack-, or a complete id
    #[arg(long, value_parser = super::entry_target)]
    target: Option<String>,
    /// Also print the numbers of the entry and its bundle, the entry's offset, and how it is packed
    #[arg(long, conflicts_with = "json")]
    long: bool,
    /// Print a JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ExtractOptions {
    #[arg(help = FILE_HELP)]
    file: PathBuf,
    /// The folder for one file per entry; created if it is missing
    #[arg(short, value_name = "DIR", required_unless_present = "o")]
    d: Option<PathBuf>,
    /// Write the single selected entry to this file, or to `-`
    #[arg(short, value_name = "OUT", conflicts_with = "d")]
    o: Option<PathBuf>,
    /// Only entries for this target: gfx906, gfx906:xnack-, or a complete id
    #[arg(long, value_parser = super::entry_target)]
    target: Option<String>,
    /// The entry with this number (`list --long` prints them)
    #[arg(long, value_name = "N")]
    entry: Option<usize>,
}

#[derive(Args)]
#[command(after_help = "\
Example:
  gcn bundle create -o all.hipfb host-x86_64-unknown-linux=/dev/null \\
      hipv4-amdgcn-amd-amdhsa--gfx900=a.co hipv4-amdgcn-amd-amdhsa--gfx906=b.co")]
struct CreateOptions {
    /// An id and the file with its bytes; `gfx906` alone stands for `hipv4-amdgcn-amd-amdhsa--gfx906`
    #[arg(required = true, value_name = "ID=FILE", value_parser = id_and_file)]
    entries: Vec<(String, PathBuf)>,
    /// Output file, or `-`
    #[arg(short, value_name = "OUT")]
    o: PathBuf,
    /// The alignment of each entry in bytes; HIP's runtime requires 4096
    #[arg(long, default_value_t = bundle::PAGE)]
    align: u64,
    /// Compress the bundle
    #[arg(long, value_name = "METHOD", num_args = 0..=1, require_equals = true, default_missing_value = "zlib")]
    compress: Option<MethodArg>,
    /// The version of a compressed bundle's header: 1, 2 (LLVM 19) or 3
    #[arg(long, default_value_t = 2, requires = "compress", value_parser = clap::value_parser!(u16).range(1..=3))]
    header: u16,
}

#[derive(Args)]
#[command(after_help = "\
Where the new code fits its room, nothing else of the file changes. Otherwise the bundle moves after everything that the
program loads, and what points to it is changed.

Example, which changes one kernel of a program:
  gcn bundle extract app --target gfx906 -o k.co
  gcn dis k.co -o k.s                       and edit k.s
  gcn asm k.s -o new.co
  gcn bundle replace app --target gfx906 --with new.co -o app.new")]
struct ReplaceOptions {
    #[arg(help = FILE_HELP)]
    file: PathBuf,
    /// The entry for this target: gfx906, gfx906:xnack-, or a complete id
    #[arg(long, required_unless_present = "entry", value_parser = super::entry_target)]
    target: Option<String>,
    /// The entry with this number (`list --long` prints them)
    #[arg(long, value_name = "N")]
    entry: Option<usize>,
    /// The new code object
    #[arg(long, value_name = "NEW")]
    with: PathBuf,
    /// Output file, which may be FILE, or `-`
    #[arg(short, value_name = "OUT")]
    o: PathBuf,
    /// Accept any file: code for another target, a relocatable object, or no code object
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum MethodArg {
    Zlib,
    Zstd,
}

fn id_and_file(text: &str) -> Result<(String, PathBuf), String> {
    let (id, file) = text
        .split_once('=')
        .filter(|(id, file)| !id.is_empty() && !file.is_empty())
        .ok_or("expected ID=FILE, as hipv4-amdgcn-amd-amdhsa--gfx906=kernel.co")?;
    Ok((whole_id(id), PathBuf::from(file)))
}

fn whole_id(id: &str) -> String {
    match id.starts_with("gfx") {
        true => format!("hipv4-amdgcn-amd-amdhsa--{id}"),
        false => id.to_string(),
    }
}

/// Runs the subcommand.
///
/// # Errors
/// A message with the file's name.
pub fn run(args: &Options) -> Result<(), String> {
    match &args.action {
        Action::List(args) => list(args),
        Action::Extract(args) => extract(args),
        Action::Create(args) => create(args),
        Action::Replace(args) => replace(args),
    }
}

/// The entries that the options select, in file order.
fn chosen<'a>(
    container: &'a Container,
    target: Option<&str>,
    entry: Option<usize>,
) -> Result<Vec<&'a Entry>, Error> {
    if entry.is_some() {
        return Ok(vec![container.choose(target, entry)?]);
    }
    let Some(target) = target else {
        return Ok(container.entries.iter().collect());
    };
    let list = container.matching(target);
    match list.is_empty() {
        // Its message lists the entries.
        true => Ok(vec![container.choose(Some(target), None)?]),
        false => Ok(list),
    }
}

fn list(args: &ListOptions) -> Result<(), String> {
    let named = |e: Error| io::named(&args.file, e);
    let container = io::container(&args.file)?;
    let mut text = String::new();
    for entry in chosen(&container, args.target.as_deref(), None).map_err(named)? {
        let bundle = &container.bundles[entry.bundle];
        let packing = match bundle.packing {
            Packing::Bare => "bare",
            Packing::Plain => "plain",
            Packing::OffloadBinary => "offload-binary",
            Packing::Compressed(header) => header.method.name(),
        };
        let offset = container.file_offset(entry);
        if args.json {
            let line = serde_json::json!({
                "index": entry.index,
                "id": entry.id,
                "target": entry.target.as_ref().map(ToString::to_string),
                "bytes": entry.size,
                "offset": offset,
                "bundle": entry.bundle,
                "packing": packing,
                "section": bundle.section,
                "member": bundle.member,
            });
            text.push_str(&format!("{line}\n"));
            continue;
        }
        // An id may contain any characters; the line must remain one line.
        let id: String = entry
            .id
            .chars()
            .map(|c| if c.is_control() { '?' } else { c })
            .collect();
        if args.long {
            let at = offset.map_or("-".into(), |o| format!("{o:#x}"));
            text.push_str(&format!(
                "{:5} {:4}  {id} {}  {at} {packing}",
                entry.index, entry.bundle, entry.size
            ));
            for location in [&bundle.member, &bundle.section].into_iter().flatten() {
                text.push_str(&format!(" {}", location.escape_debug()));
            }
            text.push('\n');
        } else {
            text.push_str(&format!("{id} {}\n", entry.size));
        }
    }
    io::print(text.as_bytes())
}

fn extract(args: &ExtractOptions) -> Result<(), String> {
    let named = |e: Error| io::named(&args.file, e);
    let container = io::container(&args.file)?;
    if let Some(out) = &args.o {
        let entry = container.choose(args.target.as_deref(), args.entry);
        let bytes = entry.and_then(|e| container.read(e)).map_err(named)?;
        return io::write(out, &bytes);
    }
    let Some(folder) = &args.d else {
        return Err("expected a folder (-d) or a file (-o)".into());
    };
    let entries = chosen(&container, args.target.as_deref(), args.entry).map_err(named)?;
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut used = HashSet::new();
    for entry in entries {
        let bytes = container.read(entry).map_err(named)?;
        let name = file_name(&container, entry, &bytes, &mut used);
        io::write(&folder.join(name), &bytes)?;
    }
    Ok(())
}

/// The name of an entry's file: its id, after the bundle's number if there are several bundles.
fn file_name(
    container: &Container,
    entry: &Entry,
    bytes: &[u8],
    used: &mut HashSet<String>,
) -> String {
    const LONGEST: usize = 180;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
    let mut name = String::new();
    if container.bundles.len() > 1 {
        let width = (container.bundles.len() - 1).to_string().len();
        name = format!("{:0width$}-", entry.bundle);
    }
    let id = entry.id.chars().take(LONGEST);
    name.extend(id.map(|c| if plain(c) { c } else { '_' }));
    if name.starts_with('.') || name.is_empty() {
        name.insert(0, '_');
    }
    let extension = match bytes {
        [0x7f, b'E', b'L', b'F', ..] => ".co",
        [b'B', b'C', 0xc0, 0xde, ..] => ".bc",
        _ => "",
    };
    let mut whole = format!("{name}{extension}");
    let mut n = 2;
    while !used.insert(whole.clone()) {
        whole = format!("{name}.{n}{extension}");
        n += 1;
    }
    whole
}

fn create(args: &CreateOptions) -> Result<(), String> {
    let mut entries = Vec::new();
    for (id, file) in &args.entries {
        entries.push((id.as_str(), io::read(file)?));
    }
    let entries: Vec<(&str, &[u8])> = entries.iter().map(|(id, b)| (*id, &b[..])).collect();
    let bundle = bundle::write(&entries, args.align).map_err(|e| e.to_string())?;
    let bundle = match args.compress {
        None => bundle,
        Some(method) => {
            let method = match method {
                MethodArg::Zlib => Method::Zlib,
                MethodArg::Zstd => Method::Zstd,
            };
            bundle::compress(&bundle, method, args.header).map_err(|e| e.to_string())?
        }
    };
    io::write(&args.o, &bundle)
}

fn replace(args: &ReplaceOptions) -> Result<(), String> {
    let named = |e: Error| io::named(&args.file, e);
    let container = io::container(&args.file)?;
    let entry = container
        .choose(args.target.as_deref(), args.entry)
        .map_err(named)?;
    let new = io::read(&args.with)?;
    if !args.force {
        check(&new, entry).map_err(|e| io::named(&args.with, e))?;
    }
    let patched = patch::replace(&container, entry, &new).map_err(named)?;
    io::stream_like(&args.o, Some(&args.file), |mut out, _| {
        patched.write(&mut out)
    })?;
    if patched.moved {
        let text = "the new code is larger than the old one, so the bundle was moved to the end of the loaded segments";
        io::complain(&format!("gcn: {}: {text}\n", args.o.display()));
    }
    Ok(())
}

/// Checks that the new bytes are a loadable code object for the entry's target.
fn check(new: &[u8], entry: &Entry) -> Result<(), String> {
    const ELF_TYPE: usize = 16;
    let container = Container::new(Source::from_bytes(new.to_vec())).map_err(|e| e.to_string())?;
    let (Kind::CodeObject, [code]) = (container.kind, &container.entries[..]) else {
        return Err("expected a code object (--force accepts any file)".into());
    };
    if new.get(ELF_TYPE..ELF_TYPE + 2) != Some(&[3, 0]) {
        return Err("expected a linked code object, found a relocatable one; `gcn asm` without -c or ld.lld -shared links it (--force accepts any file)".into());
    }
    match (&code.target, &entry.target) {
        (Some(new), Some(old)) if new.fits(old).is_none() => Err(format!(
            "it is for {new}, but entry {} is {} (--force accepts it)",
            entry.index, entry.id
        )),
        _ => Ok(()),
    }
}
