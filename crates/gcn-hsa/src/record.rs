//! Records launches as plans that `gcn run` replays: the code object, the arguments, the contents of its variables and of all
//! memory reachable from them before the launch, and as checks the contents after it.
//!
//! Addresses differ in a replay, so the plan lists the words that are addresses: those that point to memory that the program
//! has allocated, registered or made managed, or to a variable of the code object.

use crate::executable::{Placed, Variable};
use crate::launches::quoted;
use crate::report;
use crate::runtime::Runtime;
use gcn_emu::dispatch::{Launch, Packet};
use gcn_isa::Target;
use gcn_isa::decode::decode;
use gcn_isa::meaning::{Change, GwsOp, Op, meaning};
use gcn_object::CodeObject;
use gcn_object::metadata::{Arg, ValueKind};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A launch that is being recorded.
pub struct Recording {
    folder: PathBuf,
    blocks: Blocks,
    plan: String,
}

/// The memory of the plan: the variables, then the allocations that addresses point to, in the order of discovery.
struct Blocks {
    list: Vec<Block>,
    /// The indices of allocations in the list by first address.
    known: HashMap<u64, usize>,
    /// The start and size of all allocations, in the order of their addresses.
    there: Vec<(u64, u64)>,
    /// The number of variables in the list.
    variables: usize,
}

struct Block {
    name: String,
    at: u64,
    bytes: u64,
    /// The file with the contents before the launch.
    before: String,
}

impl Blocks {
    fn new(variables: &[Variable], there: Vec<(u64, u64)>) -> Blocks {
        let block = |(n, v): (usize, &Variable)| Block {
            name: format!("v{n}"),
            at: v.at,
            bytes: v.bytes,
            before: format!("v{n}.before"),
        };
        Blocks {
            list: variables.iter().enumerate().map(block).collect(),
            known: HashMap::new(),
            there,
            variables: variables.len(),
        }
    }

    /// Returns the allocation that a word points to.
    fn allocation(&self, word: u64) -> Option<(u64, u64)> {
        let n = self.there.partition_point(|&(at, _)| at <= word);
        let &(at, bytes) = self.there.get(n.checked_sub(1)?)?;
        (word - at < bytes).then_some((at, bytes))
    }

    /// Returns the entry of the list that a word points to, and the offset in it.
    fn find(&self, word: u64) -> Option<(usize, u64)> {
        let variables = self.list[..self.variables].iter();
        let inside = |b: &Block| word >= b.at && word - b.at < b.bytes;
        let variable = variables.clone().position(inside);
        let variable = variable.map(|n| (n, word - self.list[n].at));
        variable.or_else(|| {
            let (at, _) = self.allocation(word)?;
            self.known.get(&at).map(|&n| (n, word - at))
        })
    }

    /// As [`Blocks::find`], and adds the allocation to the list if necessary.
    fn reach(&mut self, word: u64) -> Option<(usize, u64)> {
        if let Some(found) = self.find(word) {
            return Some(found);
        }
        let (at, bytes) = self.allocation(word)?;
        let number = self.list.len();
        let name = format!("b{}", number - self.variables);
        self.list.push(Block {
            before: format!("{name}.before"),
            name,
            at,
            bytes,
        });
        self.known.insert(at, number);
        Some((number, word - at))
    }

    /// Returns the addresses in memory from an address on, in the form of plans.
    fn pointers(
        &mut self,
        start: u64,
        bytes: &[u8],
        find: fn(&mut Blocks, u64) -> Option<(usize, u64)>,
    ) -> String {
        let mut list = String::new();
        let skip = start.next_multiple_of(8) - start;
        let mut at = skip as usize;
        while let Some(&word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            let word = u64::from_le_bytes(word);
            // Most words are smaller than all addresses.
            if word >= 1 << 32
                && let Some((number, offset)) = find(self, word)
            {
                let name = &self.list[number].name;
                let _ = write!(list, "[{at}, \"{name}\", {offset}], ");
            }
            at += 8;
        }
        list
    }
}

/// Returns the plan's list of addresses, if there are any.
fn pointers_line(list: &str) -> String {
    match list {
        "" => String::new(),
        list => format!("pointers = [{}]\n", list.trim_end_matches(", ")),
    }
}

fn save(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}

fn read(r: &Runtime, at: u64, bytes: u64) -> Result<Vec<u8>, String> {
    let mut held = vec![0; bytes as usize];
    let read = r.memory().read(at, &mut held);
    read.map_err(|e| e.to_string())?;
    Ok(held)
}

/// Returns the reason why a replay of a kernel cannot succeed, if its code shows one.
fn obstacle(target: Target, file: &[u8], name: &str) -> Option<&'static str> {
    let object = CodeObject::parse(file).ok()?;
    let symbol = object.symbols.iter().find(|s| s.name == name)?;
    let (index, start, end) = gcn::dot::extent(&object, symbol)?;
    let base = object.sections.get(index)?.address;
    let code = object.section_data(index);
    let mut rest = code.get((start - base) as usize..(end - base) as usize)?;
    while !rest.is_empty() {
        let insn = decode(target, rest);
        let length = insn.as_ref().map_or(4, |insn| usize::from(insn.len));
        rest = rest.get(length..).unwrap_or_default();
        let Some(insn) = insn else { continue };
        let program = meaning(insn.row, target);
        let waits = |op: Op| matches!(op, Op::Gws(GwsOp::Take | GwsOp::Barrier));
        if program.nodes.iter().any(|n| waits(n.op)) {
            return Some(
                "it waits for its whole grid by global wave sync, which HIP prepares in another launch",
            );
        }
        let image = program
            .effects
            .iter()
            .any(|e| matches!(e.change, Change::Image(_) | Change::StoreFormat(..)));
        if image
            || program
                .nodes
                .iter()
                .any(|n| matches!(n.op, Op::LoadFormat(_)))
        {
            return Some(
                "it accesses textures or surfaces, whose resources hold addresses that a replay does not translate",
            );
        }
    }
    None
}

impl Recording {
    /// Saves the state before a launch. `number` is the launch's.
    pub fn begin(
        r: &Runtime,
        number: u64,
        folder: PathBuf,
        placed: &Placed,
        launch: &Launch,
        packet: &Packet,
    ) -> Result<Recording, String> {
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let file = placed.file.as_ref().ok_or("its code object was not kept")?;
        save(&folder.join("kernel.co"), file)?;
        let metadata = placed.kernel.metadata.as_ref();
        let args = &metadata.ok_or("its code object has no metadata")?.args;
        let mut blocks = Blocks::new(&placed.variables, r.allocated());
        let mut words = Vec::new();
        for arg in args.iter().filter(|a| !a.value_kind.hidden()) {
            words.push(argument(r, arg, packet, &mut blocks)?);
        }
        let target = r.properties.target;
        let mut plan = String::new();
        if let Some(why) = obstacle(target, file, &placed.kernel.name) {
            report::line(&format!("launch {number} cannot be replayed: {why}"));
            let _ = writeln!(plan, "# This launch cannot be replayed: {why}.");
        }
        let _ = writeln!(
            plan,
            "object = \"kernel.co\"\ntarget = \"{}\"",
            target.name()
        );
        // An entry may contain addresses of further ones.
        let mut n = 0;
        while n < blocks.list.len() {
            let (at, bytes) = (blocks.list[n].at, blocks.list[n].bytes);
            let held = read(r, at, bytes)?;
            let pointers = pointers_line(&blocks.pointers(at, &held, Blocks::reach));
            let Block { name, before, .. } = &blocks.list[n];
            save(&folder.join(before), &held)?;
            let _ = write!(plan, "\n[buffers.{name}]\nfile = \"{before}\"\n{pointers}");
            if let Some(variable) = placed.variables.get(n) {
                let _ = writeln!(plan, "variable = {}", quoted(&variable.name));
            }
            n += 1;
        }
        let name = quoted(&placed.kernel.name);
        let Launch { grid, group, .. } = launch;
        let fixed = placed.kernel.descriptor.group_segment_fixed_size;
        let more = packet.group_bytes.saturating_sub(fixed);
        let _ = write!(
            plan,
            "\n[[launch]]\nkernel = {name}\ngrid = {grid:?}\ngroup = {group:?}\ndynamic-lds = {more}\nargs = [{}]\n",
            words.join(", ")
        );
        // This plan has no checks, for launches that fail.
        save(&folder.join("plan.toml"), plan.as_bytes())?;
        Ok(Recording {
            folder,
            blocks,
            plan,
        })
    }

    /// Saves the state after the launch, and the plan.
    pub fn end(mut self, r: &Runtime) {
        if let Err(e) = self.finish(r) {
            report::line(&format!("a launch is not recorded: {e}"));
        }
    }

    fn finish(&mut self, r: &Runtime) -> Result<(), String> {
        for n in 0..self.blocks.list.len() {
            let Block { at, bytes, .. } = self.blocks.list[n];
            let held = read(r, at, bytes)?;
            let known = |blocks: &mut Blocks, word| blocks.find(word);
            let pointers = pointers_line(&self.blocks.pointers(at, &held, known));
            let Block { name, before, .. } = &self.blocks.list[n];
            // Unchanged contents were already saved.
            let same = std::fs::read(self.folder.join(before)).is_ok_and(|b| b == held);
            let file = match same {
                true => before.clone(),
                false => format!("{name}.after"),
            };
            if !same {
                save(&self.folder.join(&file), &held)?;
            }
            let _ = write!(
                self.plan,
                "\n[[check]]\nbuffer = \"{name}\"\nfile = \"{file}\"\n{pointers}"
            );
        }
        save(&self.folder.join("plan.toml"), self.plan.as_bytes())
    }
}

/// Returns an argument in the form of plans. Memory that it points to becomes a buffer.
fn argument(
    r: &Runtime,
    arg: &Arg,
    packet: &Packet,
    blocks: &mut Blocks,
) -> Result<String, String> {
    let at = packet.kernarg.wrapping_add(arg.offset);
    let bytes = read(r, at, arg.size)?;
    if arg.value_kind == ValueKind::GlobalBuffer
        && let Ok(word) = <[u8; 8]>::try_from(&bytes[..])
    {
        let word = u64::from_le_bytes(word);
        return Ok(match blocks.reach(word) {
            Some((number, 0)) => format!("\"{}\"", blocks.list[number].name),
            Some((number, offset)) => {
                let name = &blocks.list[number].name;
                format!("{{ buffer = \"{name}\", offset = {offset} }}")
            }
            None => format!("\"ptr:{word:#x}\""),
        });
    }
    let mut hex = String::new();
    for byte in &bytes {
        let _ = write!(hex, "{byte:02x}");
    }
    let pointers = blocks.pointers(at, &bytes, Blocks::reach);
    Ok(match pointers.as_str() {
        "" => format!("\"bytes:{hex}\""),
        list => format!(
            "{{ bytes = \"{hex}\", pointers = [{}] }}",
            list.trim_end_matches(", ")
        ),
    })
}
