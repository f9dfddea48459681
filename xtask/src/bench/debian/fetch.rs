//! Packages, the texts in them, and their code.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::{Entry, Text};
use crate::fixtures;

/// The kernels that can be measured, and those that cannot.
#[derive(Default)]
pub struct Prepared {
    /// The names of kernels whose sources and objects exist.
    pub ready: Vec<&'static str>,
    /// The others, each with the reason.
    pub missing: Vec<(&'static str, String)>,
    /// The packages with their versions.
    pub packages: Vec<String>,
}

/// The folder of sources in the user's folder.
pub fn sources(folder: &Path) -> PathBuf {
    folder.join("sources")
}

pub fn objects(folder: &Path) -> PathBuf {
    folder.join("objects")
}

/// The folders of unpacked packages, or the reason why one is missing.
type Packages = BTreeMap<&'static str, Result<PathBuf, String>>;

/// Fetches the packages of these kernels into `folder`, unless they exist, extracts the texts, and compiles them.
///
/// # Errors
/// If the folder cannot be used, or there is no compiler. Kernels that cannot be prepared are in [`Prepared::missing`].
pub fn prepare(entries: &[&'static Entry], folder: &Path, target: &str) -> Result<Prepared> {
    let shown = folder.display();
    let plain = folder
        .to_str()
        .is_some_and(|f| !f.contains(char::is_whitespace));
    ensure!(
        plain,
        "{shown} has spaces in its name, at which compilers would split their options"
    );
    for folder in [sources(folder), objects(folder)] {
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fixtures::check_compiler()?;
    let mut prepared = Prepared::default();
    let mut packages = Packages::new();
    for &entry in entries {
        for name in entry.text.packages() {
            if packages.contains_key(name) {
                continue;
            }
            let package = package(folder, name).map_err(|e| format!("{e:#}"));
            if let Ok(path) = &package {
                let version = path.file_name().map(|n| n.to_string_lossy().into_owned());
                prepared.packages.extend(version);
            }
            packages.insert(name, package);
        }
        match compiled(entry, &packages, folder, target) {
            Ok(()) => prepared.ready.push(entry.name),
            Err(why) => prepared.missing.push((entry.name, format!("{why:#}"))),
        }
    }
    Ok(prepared)
}

/// The unpacked package: a folder whose name is that of the package, an underscore, and the rest of its file's name.
fn package(folder: &Path, name: &str) -> Result<PathBuf> {
    let starts = format!("{name}_");
    let unpacked = |path: &Path| -> Result<Option<PathBuf>> {
        for found in fs::read_dir(path)? {
            let found = found?.path();
            let named = found
                .file_name()
                .is_some_and(|n| n.to_string_lossy().starts_with(&starts));
            if named && found.is_dir() {
                return Ok(Some(found));
            }
        }
        Ok(None)
    };
    if let Some(found) = unpacked(folder)? {
        return Ok(found);
    }
    let shown = folder.display();
    let by_hand = format!("or unpack the package by hand into a folder {shown}/{name}_VERSION");
    eprintln!("fetching {name}");
    let fetch = folder.join("fetch");
    // The incomplete package of an interrupted run is removed.
    let _ = fs::remove_dir_all(&fetch);
    fs::create_dir_all(&fetch)?;
    let output = Command::new("apt-get")
        .args(["download", name])
        .current_dir(&fetch)
        .output();
    let output =
        output.with_context(|| format!("cannot run apt-get: fetch on Debian 12, {by_hand}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said
        .lines()
        .filter(|line| line.starts_with("E:"))
        .collect::<Vec<_>>()
        .join("; ");
    ensure!(
        output.status.success(),
        "apt-get download {name} failed ({said}): is this Debian 12 and online? Run apt-get update, {by_hand}"
    );
    let mut files = fs::read_dir(&fetch)?.filter_map(|f| Some(f.ok()?.path()));
    let file = files.find(|path| path.extension().is_some_and(|e| e == "deb"));
    let file = file.with_context(|| format!("apt-get download {name} has left no package"))?;
    let stem = file.file_stem().context("a package has a name")?;
    let inside = fetch.join("unpacked");
    let output = Command::new("dpkg-deb")
        .arg("-x")
        .arg(&file)
        .arg(&inside)
        .output();
    let output = output.context("cannot run dpkg-deb")?;
    ensure!(
        output.status.success(),
        "dpkg-deb cannot unpack {}",
        file.display()
    );
    let to = folder.join(stem);
    fs::rename(&inside, &to)?;
    fs::remove_dir_all(&fetch)?;
    Ok(to)
}

/// The file of a package, whose name may end in a `*`.
fn file(packages: &Packages, package: &str, name: &str) -> Result<PathBuf> {
    let package = match packages.get(package) {
        Some(Ok(package)) => package,
        Some(Err(why)) => bail!("{why}"),
        None => bail!("no package {package}"),
    };
    let none = || format!("{} has no {name}", package.display());
    let Some(start) = name.strip_suffix('*') else {
        let path = package.join(name);
        ensure!(path.is_file(), none());
        return Ok(path);
    };
    let path = package.join(start);
    let (folder, start) = (
        path.parent().with_context(none)?,
        path.file_name().with_context(none)?,
    );
    let start = start.to_string_lossy();
    let found = fs::read_dir(folder)
        .with_context(none)?
        .filter_map(|f| Some(f.ok()?.path()));
    let mut found = found.filter(|path| {
        let named = path
            .file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with(&*start));
        named && path.is_file() && !path.is_symlink()
    });
    found.next().with_context(none)
}

/// The C string inside of `bytes` that contains these words.
fn string<'a>(bytes: &'a [u8], words: &str) -> Option<&'a [u8]> {
    let at = bytes
        .windows(words.len())
        .position(|part| part == words.as_bytes())?;
    let start = bytes[..at]
        .iter()
        .rposition(|&b| b == 0)
        .map_or(0, |zero| zero + 1);
    let end = bytes[at..]
        .iter()
        .position(|&b| b == 0)
        .map_or(bytes.len(), |zero| at + zero);
    Some(&bytes[start..end])
}

/// The string in triple quotation marks that contains these words.
fn quoted<'a>(source: &'a str, words: &str) -> Option<&'a str> {
    let mut rest = source;
    loop {
        // The first quotation mark opens a string, whose end is the next one of its kind.
        let open = ["\"\"\"", "'''"]
            .iter()
            .filter_map(|mark| Some((rest.find(mark)?, *mark)));
        let (open, mark) = open.min()?;
        let inside = &rest[open + 3..];
        let (text, after) = inside.split_once(mark)?;
        if text.contains(words) {
            return Some(text);
        }
        rest = after;
    }
}

/// The string literals of a line of C++, one after the other, with their escapes resolved.
fn literals(line: &str) -> Result<String> {
    let mut text = String::new();
    let mut rest = line;
    while let Some(open) = rest.find('"') {
        let mut chars = rest[open + 1..].char_indices();
        let close = loop {
            match chars.next() {
                Some((at, '"')) => break at,
                Some((_, '\\')) => text.push(match chars.next() {
                    Some((_, 'n')) => '\n',
                    Some((_, 't')) => '\t',
                    Some((_, other)) => other,
                    None => bail!("a literal ends in a backslash: {line}"),
                }),
                Some((_, other)) => text.push(other),
                None => bail!("a literal without an end: {line}"),
            }
        };
        rest = &rest[open + 1 + close + 1..];
    }
    Ok(text)
}

/// The line that silx and pyFAI remove from a text when they load it: a header for an editor.
const LEFT_OUT: &str = "#include \"for_eclipse.h\"";

/// A kernel's text.
fn text(text: Text, packages: &Packages) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    match text {
        Text::Files(files) => {
            for (package, name) in files {
                let path = file(packages, package, name)?;
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                all.extend(text.replace(LEFT_OUT, "").into_bytes());
                all.push(b'\n');
            }
        }
        Text::Inside(package, name, strings) => {
            let path = file(packages, package, name)?;
            let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
            for words in strings {
                let found = string(&bytes, words);
                all.extend(
                    found.with_context(|| {
                        format!("{} has no text with \"{words}\"", path.display())
                    })?,
                );
                all.push(b'\n');
            }
        }
        Text::Quoted(package, name, strings) => {
            let path = file(packages, package, name)?;
            let source = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            for words in strings {
                let found = quoted(&source, words);
                all.extend(
                    found
                        .with_context(|| {
                            format!("{} has no text with \"{words}\"", path.display())
                        })?
                        .bytes(),
                );
                all.push(b'\n');
            }
        }
        Text::Literals {
            package,
            file: name,
            from,
            to,
            replace,
        } => {
            let path = file(packages, package, name)?;
            let source = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let mut lines = source
                .lines()
                .skip_while(|line| !line.contains(from))
                .peekable();
            ensure!(
                lines.peek().is_some(),
                "{} has no line with \"{from}\"",
                path.display()
            );
            let mut made = String::new();
            for (n, line) in lines.enumerate() {
                if n > 0 && line.contains(to) {
                    break;
                }
                // The tokens between the literals of a line stand for the type for which the text is generated.
                let line = replace
                    .iter()
                    .fold(line.to_owned(), |line, (old, new)| line.replace(old, new));
                made += &literals(&line)?;
            }
            all.extend(made.into_bytes());
        }
    }
    Ok(all)
}

/// The options that both compilers get.
fn options(entry: &Entry, packages: &Packages) -> Result<String> {
    let mut options = entry.options.to_owned();
    if let Text::Files([.., (package, last)]) = entry.text {
        let path = file(packages, package, last)?;
        let folder = path.parent().context("a file is in a folder")?;
        options += &format!(" -I{}", folder.display());
    }
    Ok(options.trim().to_owned())
}

/// Writes a kernel's source, its options and its code, if they are not there.
fn compiled(entry: &Entry, packages: &Packages, folder: &Path, target: &str) -> Result<()> {
    let text = text(entry.text, packages)?;
    let options = options(entry, packages)?;
    let (sources, objects) = (sources(folder), objects(folder));
    let file = |folder: &Path, ending: &str| folder.join(format!("{}{ending}", entry.name));
    let object = file(&objects, &format!("-{target}.co"));
    let (source, given) = (file(&sources, ".cl"), file(&sources, ".options"));
    let same = |path: &Path, what: &[u8]| fs::read(path).is_ok_and(|is| is == what);
    if object.is_file() && same(&source, &text) && same(&given, options.as_bytes()) {
        return Ok(());
    }
    // If compiling fails, no old result may remain.
    let _ = fs::remove_file(&object);
    fs::write(&source, &text)?;
    fs::write(&given, &options)?;
    // Other kernels of the same text may use images, samplers and printf, for which libclc has no functions on this target.
    let mut extra = vec![
        "-w",
        "-Wl,--noinhibit-exec",
        "-Wl,--defsym=__translate_sampler_initializer=0",
        "-Wl,--defsym=__printf_alloc=0",
    ];
    extra.extend(options.split_whitespace());
    fixtures::compile(&sources, entry.name, target, "co", &extra, &objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_at_zeros() {
        let bytes = b"\x7fELF\0int a;\n__kernel void k(\0more";
        assert_eq!(
            string(bytes, "void k"),
            Some(&b"int a;\n__kernel void k("[..])
        );
        assert_eq!(string(bytes, "ELF"), Some(&b"\x7fELF"[..]));
        assert_eq!(string(bytes, "ore"), Some(&b"more"[..]));
        assert_eq!(string(bytes, "void l"), None);
    }

    #[test]
    fn strings_of_a_program() {
        let source = "a = '''one \"\"\" two'''\nb = \"\"\"\nthree's\n\"\"\" % 4\nthree = 3\n";
        assert_eq!(quoted(source, "two"), Some("one \"\"\" two"));
        assert_eq!(quoted(source, "three"), Some("\nthree's\n"));
        assert_eq!(quoted(source, "% 4"), None);
    }

    #[test]
    fn literals_of_a_line() {
        let line = r#"  source.append("  a = \"x\";\n"); source.append("b\\\n");"#;
        assert_eq!(literals(line).unwrap(), "  a = \"x\";\nb\\\n");
        assert!(literals("append(\"no end").is_err());
    }
}
