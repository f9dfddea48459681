//! Plans as text, and dumps of the IR after a pass.

use super::Plan;
use crate::ir::fast_path::Leaf;
use crate::ir::print::list;
use crate::ir::region::Block;
use crate::ir::{Id, Node};
use std::cell::RefCell;
use std::fmt;

/// The IR of each compiled region after one pass.
pub struct Dump {
    pass: String,
    text: RefCell<String>,
}

impl Dump {
    /// Creates a dump of the IR after a pass.
    pub fn after(pass: &str) -> Dump {
        Dump {
            pass: pass.to_owned(),
            text: RefCell::default(),
        }
    }

    /// Adds blocks, if `pass` is the dumped one.
    pub fn blocks(&self, pass: &str, blocks: &[Block]) {
        if pass == self.pass {
            for b in blocks {
                self.block(b, None);
                let variants = [&b.all_active, &b.assuming_less, &b.joined, &b.of_grid];
                for b in variants.into_iter().flatten() {
                    self.block(b, None);
                }
            }
        }
    }

    /// Adds a block and its plan, if `pass` is the dumped one.
    pub fn plan(&self, pass: &str, block: &Block, plan: &Plan) {
        if pass == self.pass {
            self.block(block, Some(plan));
        }
    }

    fn block(&self, block: &Block, plan: Option<&Plan>) {
        let mut text = self.text.borrow_mut();
        text.push_str(&block.print_with(plan));
        text.push('\n');
    }

    /// Returns the dumped text.
    pub fn text(self) -> String {
        self.text.into_inner()
    }
}

impl Block {
    /// Prints the block and its plan, if there is one.
    pub fn print_with(&self, plan: Option<&Plan>) -> String {
        let mut text = String::new();
        let written = self
            .print_body(&mut text)
            .and_then(|()| self.print_affine(&mut text))
            .and_then(|()| plan.map_or(Ok(()), |plan| plan.print(&self.graph, &mut text)));
        debug_assert!(written.is_ok(), "a String takes all text");
        text
    }
}

impl Plan {
    /// Prints the results of each pass, one fact per line.
    fn print(&self, graph: &[Node], f: &mut impl fmt::Write) -> fmt::Result {
        let mut ternary: Vec<_> = self.ternary.iter().collect();
        ternary.sort_by_key(|t| t.0);
        for (id, t) in ternary {
            writeln!(f, "  ternary %{id} = {:#04x} {}", t.table, list(&t.args))?;
        }
        let mut selections: Vec<_> = self.selections.iter().collect();
        selections.sort_by_key(|s| s.0);
        for (id, s) in selections {
            let arity = self.arity(*id, &graph[*id as usize]);
            write!(f, "  selection %{id} = ")?;
            if let Some(e) = s.extreme {
                let name = if e.largest { "max" } else { "min" };
                write!(f, "{name}.{} ", format!("{:?}", e.ty).to_lowercase())?;
            }
            writeln!(f, "{}", list(&s.args[..arity]))?;
        }
        let ids = |of: &[bool]| {
            let ids = (0..of.len()).filter(|&at| of[at]).map(|at| at as Id);
            list(&ids.collect::<Vec<_>>())
        };
        for (name, of) in [
            ("live", &self.live),
            ("observed", &self.observed),
            ("watched", &self.watched),
            ("ordered", &self.ordered),
            ("needed", &self.needed),
            ("late", &self.late),
        ] {
            if of.contains(&true) {
                writeln!(f, "  {name} {}", ids(of))?;
            }
        }
        for path in &self.slow_paths {
            let leaf = |l: &Leaf| {
                let flushed = if l.flushed { " flushed" } else { "" };
                format!("b{}{}{flushed}", l.bits, if l.raw { " raw" } else { "" })
            };
            let leaves: Vec<String> = path.leaves.iter().map(leaf).collect();
            writeln!(f, "  slow_path {} {}", path.number, leaves.join(", "))?;
        }
        for op in &self.ops {
            if let Some(write) = op.commit {
                writeln!(f, "  write {write} %{}", op.id)?;
                continue;
            }
            write!(f, "  compute %{}", op.id)?;
            for (k, _) in op.neg.iter().enumerate().filter(|n| *n.1) {
                write!(f, " neg%{}", op.args[k])?;
            }
            for (is, name) in [(op.check, "check"), (op.flush, "flush"), (op.fix, "fix")] {
                if is {
                    write!(f, " {name}")?;
                }
            }
            f.write_char('\n')?;
        }
        Ok(())
    }
}
