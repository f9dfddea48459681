//! Reads campaigns in TOML.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gcn_check::dynamic;
use gcn_isa::Target;
use serde::Deserialize;
use toml::{Spanned, Value};

use super::{Campaign, Kind, Section, mutants, programs, sweep};
use crate::data::Contents;
use crate::plan::{Expected, Plan};
use crate::{io, plan_toml};

/// The instructions of a launch, unless the campaign or the plan says otherwise: an item must end.
const MAX_INSTRUCTIONS: u64 = 100_000_000;

/// The maximum number of items of a section.
const MOST: u64 = 1 << 40;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    checks: Option<Spanned<String>>,
    max_instructions: Option<u64>,
    #[serde(default)]
    sweep: Vec<Spanned<SweepToml>>,
    #[serde(default)]
    mutate: Vec<Spanned<MutateToml>>,
    #[serde(default)]
    fuzz: Vec<Spanned<FuzzToml>>,
}

/// A table with the locations of its values.
type Located = BTreeMap<String, Spanned<Value>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepToml {
    name: Option<String>,
    plan: Spanned<String>,
    #[serde(default)]
    matrix: Located,
    #[serde(default)]
    set: Located,
    #[serde(default)]
    exclude: Vec<Spanned<toml::Table>>,
    #[serde(default)]
    include: Vec<Spanned<toml::Table>>,
    checks: Option<Spanned<String>>,
    #[serde(default)]
    times: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MutateToml {
    name: Option<String>,
    plan: Spanned<String>,
    kernel: Option<Spanned<String>>,
    of: Option<Vec<Spanned<String>>>,
    checks: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FuzzToml {
    name: Option<String>,
    target: Spanned<Names>,
    seeds: Spanned<Value>,
    instructions: Option<Spanned<u32>>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a target, as \"gfx900\", or a list of them"
)]
enum Names {
    One(String),
    Several(Vec<String>),
}

/// The text of a campaign, for locations.
pub(super) struct Reader<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl Reader<'_> {
    /// `campaign.toml:3:1` for a value.
    pub fn of<T>(&self, spanned: &Spanned<T>) -> String {
        plan_toml::position(self.path, self.text, spanned.span().start)
    }

    /// A file that the campaign names, beside it.
    fn beside(&self, name: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(name)
    }

    /// The checks of a section: its own, or the campaign's. `None`: "none".
    fn checks(&self, list: Option<&Spanned<String>>) -> Result<Option<dynamic::Options>, String> {
        match list.map(|list| (list, list.get_ref().as_str())) {
            None => Ok(Some(dynamic::Options::default())),
            Some((_, "none")) => Ok(None),
            Some((at, list)) => dynamic::Options::parse(list)
                .map(Some)
                .map_err(|e| format!("{}: {e}", self.of(at))),
        }
    }
}

/// Numbers: a list of integers, or `"1..=100"` or `"0..64"`.
pub(super) fn values(value: &Value) -> Result<sweep::Values, String> {
    let range = |text: &str| {
        let (first, last) = text.split_once("..")?;
        let (last, inclusive) = match last.strip_prefix('=') {
            Some(last) => (last, 1),
            None => (last, 0),
        };
        let number = |text: &str| text.trim().parse::<i64>().ok();
        let (first, last) = (number(first)?, number(last)?);
        let count = last.checked_sub(first)?.checked_add(inclusive)?;
        (count > 0).then_some(sweep::Values::Range(first, count as u64))
    };
    match value {
        Value::Array(list) if !list.is_empty() => Ok(sweep::Values::List(list.clone())),
        Value::String(text) => {
            let expected = || {
                format!(
                    "`{text}` is not a range: expected \"1..=100\" or \"0..64\", or a list of values"
                )
            };
            range(text).ok_or_else(expected)
        }
        _ => Err("expected a list of values, or a range as \"1..=100\"".into()),
    }
}

/// Reads a campaign.
///
/// # Errors
/// A message with file, line and column.
pub fn read(path: &Path, target: Option<Target>) -> Result<Campaign, String> {
    let text = io::read_text(path)?;
    let reader = Reader { path, text: &text };
    let file: File = toml::from_str(&text).map_err(|e| {
        let at = e.span().map_or(0, |span| span.start);
        format!("{}: {}", plan_toml::position(path, &text, at), e.message())
    })?;
    let mut hash = blake3::Hasher::new();
    hash.update(b"gcn campaign 1");
    part(&mut hash, text.as_bytes());
    part(&mut hash, target.map_or("", |t| t.name()).as_bytes());
    let mut campaign = Campaign {
        path: path.to_owned(),
        target,
        sections: Vec::new(),
        max_instructions: file.max_instructions.unwrap_or(MAX_INSTRUCTIONS),
        print: [0; 32],
    };
    for (n, section) in file.sweep.iter().enumerate() {
        let of = section.get_ref();
        let plan = reader.beside(of.plan.get_ref());
        let sweep = sweep::Sweep::new(&reader, section, &plan, &of.matrix, &of.set)?;
        let sweep = sweep.with(&reader, &of.exclude, &of.include, of.times)?;
        let base = reader.of(&of.plan);
        hash_plan(&mut hash, &plan, target).map_err(|e| format!("{base}: {e}"))?;
        sweep.hash_files(&mut hash);
        let checks = reader.checks(of.checks.as_ref().or(file.checks.as_ref()))?;
        campaign.add(
            &of.name,
            "sweep",
            n,
            sweep.items(),
            Kind::Sweep(sweep),
            checks,
        );
    }
    for (n, section) in file.mutate.iter().enumerate() {
        let of = section.get_ref();
        let plan = reader.beside(of.plan.get_ref());
        let base = reader.of(&of.plan);
        hash_plan(&mut hash, &plan, target).map_err(|e| format!("{base}: {e}"))?;
        let mutants =
            mutants::Mutants::new(&reader, &plan, target, of.kernel.as_ref(), of.of.as_deref())
                .map_err(|e| format!("{}: {e}", reader.of(section)))?;
        let checks = reader.checks(of.checks.as_ref().or(file.checks.as_ref()))?;
        campaign.add(
            &of.name,
            "mutate",
            n,
            mutants.items(),
            Kind::Mutate(mutants),
            checks,
        );
    }
    for (n, section) in file.fuzz.iter().enumerate() {
        let of = section.get_ref();
        let names = match of.target.get_ref() {
            Names::One(name) => vec![name.clone()],
            Names::Several(names) => names.clone(),
        };
        let found = names.iter().map(|name| {
            Target::parse(name)
                .ok_or_else(|| format!("{}: `{name}` is not a target", reader.of(&of.target)))
        });
        let targets = found.collect::<Result<Vec<_>, _>>()?;
        let seeds =
            values(of.seeds.get_ref()).map_err(|e| format!("{}: {e}", reader.of(&of.seeds)))?;
        let length = of.instructions.as_ref().map_or(32, |n| *n.get_ref());
        let programs = programs::Programs::new(targets, seeds, length)
            .map_err(|e| format!("{}: {e}", reader.of(section)))?;
        campaign.add(
            &of.name,
            "fuzz",
            n,
            programs.items(),
            Kind::Fuzz(programs),
            None,
        );
    }
    if campaign.sections.is_empty() {
        return Err(io::named(
            path,
            "there is no [[sweep]], [[mutate]] or [[fuzz]]",
        ));
    }
    if campaign.sections.iter().any(|s| s.items > MOST) || campaign.items() > MOST {
        return Err(io::named(path, "there are more than 2^40 items"));
    }
    campaign.print = *hash.finalize().as_bytes();
    Ok(campaign)
}

impl Campaign {
    /// Adds a section after the others.
    fn add(
        &mut self,
        name: &Option<String>,
        kind: &str,
        number: usize,
        items: u64,
        of: Kind,
        checks: Option<dynamic::Options>,
    ) {
        let name = name
            .clone()
            .unwrap_or_else(|| format!("{kind} {}", number + 1));
        let first = self.items();
        self.sections.push(Section {
            name,
            first,
            items,
            kind: of,
            checks,
        });
    }
}

/// Adds bytes to a hash, delimited from those before.
pub(super) fn part(hash: &mut blake3::Hasher, bytes: &[u8]) {
    hash.update(&(bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

/// Adds a plan, its code and its files to a hash.
fn hash_plan(hash: &mut blake3::Hasher, path: &Path, target: Option<Target>) -> Result<(), String> {
    let text = io::read_text(path)?;
    part(hash, text.as_bytes());
    let (plan, _): (Plan, _) = plan_toml::parse(&text, path, target)?;
    for object in &plan.objects {
        part(hash, object.data());
    }
    let buffers = plan.buffers.iter().map(|b| &b.contents);
    let expected = plan
        .checks
        .iter()
        .filter_map(|check| match &check.expected {
            Expected::Contents(contents) => Some(contents),
            Expected::Buffer(..) => None,
        });
    for contents in buffers.chain(expected) {
        if let Contents::File(path) = contents {
            part(hash, &io::read(path)?);
        }
    }
    Ok(())
}
