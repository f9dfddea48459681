//! Basic blocks of a graph of instructions, dominators, and natural loops.

use gcn_check::code::Graph;
use gcn_isa::flow::Flow;

/// A sequence of instructions that run one after the other.
pub struct Block {
    /// The numbers of its instructions in the graph.
    pub sites: Vec<usize>,
    /// The blocks that may follow.
    pub next: Vec<Edge>,
    /// The blocks that it may follow.
    pub previous: Vec<usize>,
    /// The innermost loop that contains it.
    pub in_loop: Option<usize>,
}

/// A transition from one block to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The block.
    pub to: usize,
    /// A branch is taken; otherwise the next instruction follows.
    pub taken: bool,
}

/// A natural loop: the blocks of all paths from its header back to it.
pub struct Loop {
    /// The block through which every path enters.
    pub header: usize,
    /// The blocks with a jump back to the header.
    pub latches: Vec<usize>,
    /// All blocks, in ascending order.
    pub blocks: Vec<usize>,
    /// The innermost loop around it.
    pub parent: Option<usize>,
    /// The number of loops that contain it, including itself.
    pub depth: usize,
}

/// The blocks of a graph. The entry is the block number [`Blocks::entry`].
pub struct Blocks {
    /// In ascending order of address.
    pub blocks: Vec<Block>,
    /// The block that runs first.
    pub entry: usize,
    /// The block of each instruction.
    pub of_site: Vec<usize>,
    /// Outer loops before inner ones.
    pub loops: Vec<Loop>,
    /// The position of each block in a topological order without back edges.
    pub position: Vec<usize>,
    /// Back edges to blocks that do not dominate their source, as pairs of blocks: loops with several entries.
    pub irreducible: Vec<(usize, usize)>,
}

impl Blocks {
    /// Divides a graph into blocks.
    pub fn new(graph: &Graph<'_>) -> Blocks {
        let sites = &graph.sites;
        let ends = |at: usize| !matches!(sites[at].flow, Flow::Next | Flow::Trap);
        let leads = |at: usize| {
            at == graph.entry
                || match sites[at].previous.as_slice() {
                    [before] => ends(*before) || before + 1 != at,
                    _ => true,
                }
        };
        let mut blocks: Vec<Block> = Vec::new();
        let mut of_site = vec![0; sites.len()];
        for (at, of) in of_site.iter_mut().enumerate() {
            if at == 0 || leads(at) {
                blocks.push(Block {
                    sites: Vec::new(),
                    next: Vec::new(),
                    previous: Vec::new(),
                    in_loop: None,
                });
            }
            *of = blocks.len() - 1;
            blocks[*of].sites.push(at);
        }
        for n in 0..blocks.len() {
            let Some(&last) = blocks[n].sites.last() else {
                continue;
            };
            let site = &sites[last];
            let target = site.flow.target(site.pc, &site.insn);
            let edges = site.next.iter().map(|&next| Edge {
                to: of_site[next],
                taken: !site.calls && target == Some(sites[next].pc),
            });
            blocks[n].next = edges.collect();
            for edge in blocks[n].next.clone() {
                blocks[edge.to].previous.push(n);
            }
        }
        let entry = of_site[graph.entry];
        let position = positions(&blocks, entry);
        let mut all = Blocks {
            blocks,
            entry,
            of_site,
            loops: Vec::new(),
            position,
            irreducible: Vec::new(),
        };
        all.find_loops();
        all
    }

    /// Returns true for a back edge, against [`Blocks::position`].
    pub fn goes_back(&self, from: usize, edge: Edge) -> bool {
        self.position[edge.to] <= self.position[from]
    }

    /// The immediate dominator of each block.
    fn dominators(&self) -> Vec<usize> {
        let count = self.blocks.len();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|n| self.position[*n]);
        let mut dominator: Vec<Option<usize>> = vec![None; count];
        dominator[self.entry] = Some(self.entry);
        let common = |dominator: &[Option<usize>], mut a: usize, mut b: usize| {
            while a != b {
                let later = if self.position[a] > self.position[b] {
                    &mut a
                } else {
                    &mut b
                };
                *later = dominator[*later].unwrap_or(self.entry);
            }
            a
        };
        let mut changed = true;
        while changed {
            changed = false;
            for &n in order.iter().filter(|n| **n != self.entry) {
                let known = self.blocks[n].previous.iter().copied();
                let known = known.filter(|p| dominator[*p].is_some());
                let new = known.reduce(|a, b| common(&dominator, a, b));
                if new.is_some() && new != dominator[n] {
                    dominator[n] = new;
                    changed = true;
                }
            }
        }
        dominator
            .into_iter()
            .map(|d| d.unwrap_or(self.entry))
            .collect()
    }

    fn find_loops(&mut self) {
        let dominator = self.dominators();
        let dominates = |a: usize, mut b: usize| {
            while self.position[b] > self.position[a] {
                b = dominator[b];
            }
            a == b
        };
        let mut loops: Vec<Loop> = Vec::new();
        let mut irreducible = Vec::new();
        for (n, block) in self.blocks.iter().enumerate() {
            for &edge in block.next.iter().filter(|edge| self.goes_back(n, **edge)) {
                if !dominates(edge.to, n) {
                    irreducible.push((n, edge.to));
                    continue;
                }
                match loops.iter_mut().find(|l| l.header == edge.to) {
                    Some(known) => known.latches.push(n),
                    None => loops.push(Loop {
                        header: edge.to,
                        latches: vec![n],
                        blocks: Vec::new(),
                        parent: None,
                        depth: 1,
                    }),
                }
            }
        }
        for found in &mut loops {
            found.latches.dedup();
            let mut inside = vec![false; self.blocks.len()];
            inside[found.header] = true;
            let mut waiting = found.latches.clone();
            while let Some(n) = waiting.pop() {
                if !std::mem::replace(&mut inside[n], true) {
                    waiting.extend(&self.blocks[n].previous);
                }
            }
            found.blocks = (0..inside.len()).filter(|n| inside[*n]).collect();
        }
        loops.sort_by_key(|l| self.position[l.header]);
        for n in 0..loops.len() {
            let around = (0..n)
                .rev()
                .find(|m| loops[*m].blocks.binary_search(&loops[n].header).is_ok());
            loops[n].parent = around;
            loops[n].depth = 1 + around.map_or(0, |m| loops[m].depth);
            for &block in &loops[n].blocks {
                self.blocks[block].in_loop = Some(n);
            }
        }
        self.loops = loops;
        self.irreducible = irreducible;
    }
}

/// The position of each block in reverse postorder of a depth-first walk.
fn positions(blocks: &[Block], entry: usize) -> Vec<usize> {
    let mut seen = vec![false; blocks.len()];
    let mut postorder = Vec::new();
    let mut stack = vec![(entry, 0)];
    seen[entry] = true;
    while let Some((n, edge)) = stack.last_mut() {
        match blocks[*n].next.get(*edge) {
            Some(next) => {
                *edge += 1;
                if !std::mem::replace(&mut seen[next.to], true) {
                    stack.push((next.to, 0));
                }
            }
            None => {
                postorder.push(*n);
                stack.pop();
            }
        }
    }
    let mut position = vec![blocks.len(); blocks.len()];
    for (n, block) in postorder.iter().rev().enumerate() {
        position[*block] = n;
    }
    position
}
