//! A plan that the page was opened with: its buffers, and the launch that the page begins with.
//!
//! The page names the plan's buffers and arguments, `plan:NAME` and `plan:#N`, because their contents may be files and may be large.

use std::path::Path;

use gcn::data::{Contents, Ty};
use gcn::emu::dispatch::observers::Observers;
use gcn::engine::{Engines, Kind};
use gcn::isa::Target;
use gcn::plan::{self, ArgPlan, BufferPlan, LaunchPlan, Plan, Ready};
use gcn::{io, plan_toml};
use serde_json::{Value, json};

use crate::launch::MOST_BYTES;
use crate::page;

/// The maximum number of instructions of the launches before the one that is shown.
const MOST_BEFORE: u64 = 1_000_000_000;

/// The buffers of a plan as they are before a launch, and the launch.
pub struct Opened {
    buffers: Vec<BufferPlan>,
    launch: LaunchPlan,
}

/// Reads a plan, and runs its launches before launch `number`, which counts from 1. Returns the document that the page opens.
///
/// # Errors
/// A message with the file's name.
pub fn open(path: &Path, arch: Option<Target>, number: usize) -> Result<(Value, Opened), String> {
    let named = |e: String| io::named(path, e);
    let (mut plan, _) = plan_toml::read(path, arch)?;
    let count = plan.launches.len();
    if number == 0 || number > count {
        let have = match count {
            0 => "the plan has no launch: expected [[launch]]".to_string(),
            1 => format!("there is no launch {number}: the plan has one"),
            _ => format!("there is no launch {number}: the plan has launches 1 to {count}"),
        };
        return Err(named(have));
    }
    let mut bytes = 0u64;
    for buffer in &plan.buffers {
        let size = buffer.contents.size().map_err(|e| named(e.to_string()))?;
        bytes = bytes.saturating_add(size as u64);
    }
    if bytes > MOST_BYTES {
        return Err(named(format!(
            "the buffers have {bytes} bytes, and the page takes at most {MOST_BYTES}; `gcn debug` has no such limit"
        )));
    }
    plan.launches.truncate(number);
    let Some(launch) = plan.launches.pop() else {
        return Err(named("there is no launch".into()));
    };
    plan.checks.clear();
    plan.saves.clear();
    let contents = contents(&plan).map_err(named)?;
    let buffers: Vec<BufferPlan> = (plan.buffers.into_iter().zip(contents))
        .map(|(buffer, contents)| BufferPlan {
            contents,
            // A variable of another object is treated as an ordinary buffer.
            variable: buffer
                .variable
                .filter(|(object, _)| *object == launch.object),
            ..buffer
        })
        .collect();
    let source = match source(path, launch.object)? {
        Some(source) => source,
        None => page::source_of(path, &plan.objects[launch.object])?,
    };
    let target = plan.objects[launch.object].target_name().to_string();
    let args: Vec<String> = (launch.args.iter().enumerate())
        .map(|(n, arg)| text(&buffers, n, arg))
        .collect();
    let three = |sizes: [u32; 3]| {
        let used = 3 - sizes.iter().rev().take_while(|n| **n == 1).count();
        let sizes: Vec<String> = sizes.iter().take(used.max(1)).map(u32::to_string).collect();
        sizes.join(",")
    };
    let name = path.file_name().unwrap_or(path.as_os_str());
    let document = page::opened(
        path,
        json!({
            "name": name.to_string_lossy(),
            "source": source,
            "arch": target,
            "syntax": "auto",
            "registers": "",
            "kernel": launch.kernel.clone().unwrap_or_default(),
            "grid": three(launch.grid),
            "group": three(launch.group),
            "args": args.join("\n"),
        }),
    )?;
    Ok((document, Opened { buffers, launch }))
}

/// The contents of the buffers after the plan's launches.
fn contents(plan: &Plan) -> Result<Vec<Contents>, String> {
    if plan.launches.is_empty() {
        return Ok(plan.buffers.iter().map(|b| b.contents.clone()).collect());
    }
    let options = plan::Options {
        threads: 1,
        deterministic: true,
        max_instructions: Some(MOST_BEFORE),
        debug_traps: false,
        text_to_stderr: true,
        observers: Observers::default(),
        engines: Engines::new(Kind::Interp),
        checker: None,
    };
    let ready = Ready::new(plan, &options).map_err(|f| f.message)?;
    ready.fill(true).map_err(|f| f.message)?;
    for (n, launch) in ready.launches().iter().enumerate() {
        for _ in 0..plan.launches[n].times {
            launch.run().map_err(|e| plan::failed(plan, n, e).message)?;
        }
    }
    let read = |b: &gcn::gpu::Buffer<u8>| b.read().map(Contents::Bytes).map_err(|e| e.to_string());
    ready.buffers().iter().map(read).collect()
}

/// The text of an object that the plan gives as source.
fn source(path: &Path, object: usize) -> Result<Option<String>, String> {
    let text = io::read_text(path)?;
    let table: toml::Table = text
        .parse()
        .map_err(|e: toml::de::Error| io::named(path, e.message().to_string()))?;
    // In the order of the reader of plans: `object`, then those of `[objects]` in alphabetical order.
    let mut files: Vec<&str> = table
        .get("object")
        .and_then(toml::Value::as_str)
        .into_iter()
        .collect();
    if let Some(objects) = table.get("objects").and_then(toml::Value::as_table) {
        let mut named: Vec<(&String, &toml::Value)> = objects.iter().collect();
        named.sort_by_key(|(name, _)| *name);
        files.extend(named.into_iter().filter_map(|(_, file)| file.as_str()));
    }
    let Some(file) = files.get(object).map(Path::new) else {
        return Ok(None);
    };
    if !file.extension().is_some_and(|e| e == "s" || e == "asm") {
        return Ok(None);
    }
    let file = path.parent().unwrap_or(Path::new("")).join(file);
    io::read_text(&file).map(Some)
}

/// An argument in the page's form: in the syntax of `gcn run`, or as an argument of the plan.
fn text(buffers: &[BufferPlan], n: usize, arg: &ArgPlan) -> String {
    let plain = |name: &str| {
        let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        !name.is_empty() && name.chars().all(part)
    };
    let known =
        match arg {
            ArgPlan::Buffer(b, offset) => (buffers.get(*b))
                .filter(|buffer| plain(&buffer.name))
                .map(|buffer| match offset {
                    0 => format!("plan:{}", buffer.name),
                    _ => format!("plan:{}+{offset}", buffer.name),
                }),
            ArgPlan::Value(Some(ty), bytes) => numbers(*ty, bytes),
            ArgPlan::Pointer(address) => Some(format!("ptr:{address:#x}")),
            ArgPlan::Local(bytes) => Some(format!("local:{bytes}")),
            ArgPlan::Value(None, _) | ArgPlan::Block(..) => None,
        };
    known.unwrap_or_else(|| format!("plan:#{n}"))
}

/// Numbers of a type as text that gives the same bytes; `None` if there is none.
fn numbers(ty: Ty, bytes: &[u8]) -> Option<String> {
    let one = |bytes: &[u8]| -> Option<String> {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(all);
        let unused = 64 - 8 * bytes.len() as u32;
        match ty {
            Ty::F32 => {
                let value = f32::from_bits(bits as u32);
                value.is_finite().then(|| format!("{value:?}"))
            }
            Ty::F64 => {
                let value = f64::from_bits(bits);
                value.is_finite().then(|| format!("{value:?}"))
            }
            Ty::F16 => None,
            Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => {
                Some(((bits << unused) as i64 >> unused).to_string())
            }
            _ => Some(bits.to_string()),
        }
    };
    let list: Option<Vec<String>> = bytes.chunks(ty.size()).map(one).collect();
    Some(format!("{ty}:{}", list?.join(",")))
}

impl Opened {
    /// Returns the argument that a text after `plan:` names, with the numbers of the plan's buffers.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn argument(&self, name: &str) -> Result<ArgPlan, String> {
        if let Some(number) = name.strip_prefix('#') {
            let arg = number
                .parse()
                .ok()
                .and_then(|n: usize| self.launch.args.get(n));
            return arg.cloned().ok_or_else(|| {
                format!("the plan's launch has no argument `{number}`; the first is 0")
            });
        }
        let (name, offset) = match name.split_once('+') {
            None => (name, 0),
            Some((name, offset)) => {
                let wrong = || format!("`{offset}` is no number of bytes, as plan:{name}+16");
                (name, offset.parse().map_err(|_| wrong())?)
            }
        };
        let found = self.buffers.iter().position(|b| b.name == name);
        let number = found.ok_or_else(|| {
            let have: Vec<&str> = self.buffers.iter().map(|b| b.name.as_str()).collect();
            format!(
                "the plan has no buffer `{name}`; it has {}",
                have.join(", ")
            )
        })?;
        Ok(ArgPlan::Buffer(number, offset))
    }

    /// Adds the plan's buffers to a launch whose arguments name some: `args` are those arguments with their numbers.
    pub fn add(&self, plan: &mut Plan, args: Vec<(usize, ArgPlan)>) {
        let first = plan.buffers.len();
        let moved = |pointers: &[plan::PointerPlan]| -> Vec<plan::PointerPlan> {
            let one = |p: &plan::PointerPlan| plan::PointerPlan {
                buffer: p.buffer + first,
                ..*p
            };
            pointers.iter().map(one).collect()
        };
        plan.buffers.extend(self.buffers.iter().map(|b| BufferPlan {
            name: b.name.clone(),
            contents: b.contents.clone(),
            ty: b.ty,
            shape: b.shape.clone(),
            variable: b.variable.as_ref().map(|(_, name)| (0, name.clone())),
            pointers: moved(&b.pointers),
            at: String::new(),
        }));
        let Some(launch) = plan.launches.first_mut() else {
            return;
        };
        for (n, arg) in args {
            launch.args[n] = match arg {
                ArgPlan::Buffer(b, offset) => ArgPlan::Buffer(b + first, offset),
                ArgPlan::Block(bytes, pointers) => ArgPlan::Block(bytes, moved(&pointers)),
                other => other,
            };
        }
        if self.launch.kernel.is_none() || launch.kernel == self.launch.kernel {
            launch.offset = self.launch.offset;
            launch.dynamic_lds = self.launch.dynamic_lds;
            launch.any_type = self.launch.any_type;
        }
    }
}
