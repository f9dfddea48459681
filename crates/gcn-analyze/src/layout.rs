//! A drawing of a graph in layers: edges go down if possible, and back edges run beside the blocks.

use crate::BlockInfo;
use crate::blocks::Edge;

/// The width of a block's box.
pub const WIDTH: i64 = 176;
/// Its height.
pub const HEIGHT: i64 = 58;
const GAP_X: i64 = 28;
const GAP_Y: i64 = 44;
/// The distance between back edges.
const LANE: i64 = 12;
/// With more points than this on edges over several layers, the edges are drawn straight.
const MOST_POINTS: usize = 20_000;
/// The number of times that the layers are sorted.
const SWEEPS: usize = 8;

/// A drawing.
pub struct Layout {
    /// The left upper corner of each block's box.
    pub boxes: Vec<(i64, i64)>,
    /// The edges with the points of their lines.
    pub edges: Vec<Line>,
    /// The total width and height.
    pub size: (i64, i64),
}

/// The line of an edge.
pub struct Line {
    /// The source block.
    pub from: usize,
    /// The edge, with its target.
    pub edge: Edge,
    /// True for a back edge.
    pub back: bool,
    /// Its points, the first at the source block.
    pub points: Vec<(i64, i64)>,
}

/// A node of a layer: a block, or a point of an edge that crosses the layer.
struct Node {
    block: Option<usize>,
    layer: usize,
    x: i64,
    above: Vec<usize>,
    below: Vec<usize>,
}

impl Node {
    fn width(&self) -> i64 {
        if self.block.is_some() { WIDTH } else { LANE }
    }
}

/// The position of each block in reverse postorder.
fn order(blocks: &[BlockInfo], entry: usize) -> Vec<usize> {
    let mut seen = vec![false; blocks.len()];
    let mut done = Vec::new();
    let mut stack = vec![(entry, 0)];
    if let Some(first) = seen.get_mut(entry) {
        *first = true;
    }
    while let Some((n, edge)) = stack.last_mut() {
        match blocks.get(*n).and_then(|b| b.next.get(*edge)) {
            Some(next) => {
                *edge += 1;
                if !std::mem::replace(&mut seen[next.to], true) {
                    stack.push((next.to, 0));
                }
            }
            None => {
                done.push(*n);
                stack.pop();
            }
        }
    }
    let mut position = vec![blocks.len(); blocks.len()];
    for (n, block) in done.iter().rev().enumerate() {
        if let Some(position) = position.get_mut(*block) {
            *position = n;
        }
    }
    position
}

/// Lays out a graph.
pub fn layout(blocks: &[BlockInfo], entry: usize) -> Layout {
    let position = order(blocks, entry);
    let back = |from: usize, to: usize| position[to] <= position[from];
    // A block is one layer below the lowest of those before it.
    let mut layer = vec![0usize; blocks.len()];
    let mut sorted: Vec<usize> = (0..blocks.len()).collect();
    sorted.sort_by_key(|n| position[*n]);
    for &n in &sorted {
        for edge in blocks[n].next.iter().filter(|e| !back(n, e.to)) {
            layer[edge.to] = layer[edge.to].max(layer[n] + 1);
        }
    }
    let mut nodes: Vec<Node> = (0..blocks.len())
        .map(|n| Node {
            block: Some(n),
            layer: layer[n],
            x: 0,
            above: Vec::new(),
            below: Vec::new(),
        })
        .collect();
    // Edges over several layers get a point in each of them.
    let mut paths: Vec<(usize, Edge, Vec<usize>)> = Vec::new();
    for &n in &sorted {
        for &edge in blocks[n].next.iter().filter(|e| !back(n, e.to)) {
            let mut path = vec![n];
            if nodes.len() < MOST_POINTS {
                for between in layer[n] + 1..layer[edge.to] {
                    nodes.push(Node {
                        block: None,
                        layer: between,
                        x: 0,
                        above: Vec::new(),
                        below: Vec::new(),
                    });
                    path.push(nodes.len() - 1);
                }
            }
            path.push(edge.to);
            for pair in path.windows(2) {
                nodes[pair[0]].below.push(pair[1]);
                nodes[pair[1]].above.push(pair[0]);
            }
            paths.push((n, edge, path));
        }
    }
    let count = nodes.iter().map(|n| n.layer + 1).max().unwrap_or(0);
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (n, node) in nodes.iter().enumerate() {
        layers[node.layer].push(n);
    }
    arrange(&mut nodes, &mut layers);
    let left = nodes.iter().map(|n| n.x - n.width() / 2).min().unwrap_or(0);
    for node in &mut nodes {
        node.x += GAP_X - left;
    }
    let right = nodes.iter().map(|n| n.x + n.width() / 2).max().unwrap_or(0);
    let top = |layer: usize| GAP_Y + layer as i64 * (HEIGHT + GAP_Y);
    let boxes: Vec<(i64, i64)> = (0..blocks.len())
        .map(|n| (nodes[n].x - WIDTH / 2, top(layer[n])))
        .collect();
    let mut edges = Vec::new();
    for (from, edge, path) in paths {
        let mut points = vec![(nodes[from].x, top(layer[from]) + HEIGHT)];
        for &n in &path[1..path.len() - 1] {
            points.push((nodes[n].x, top(nodes[n].layer)));
            points.push((nodes[n].x, top(nodes[n].layer) + HEIGHT));
        }
        points.push((nodes[edge.to].x, top(layer[edge.to])));
        edges.push(Line {
            from,
            edge,
            back: false,
            points,
        });
    }
    let mut lane = right + GAP_X;
    for (from, block) in blocks.iter().enumerate() {
        for &edge in block.next.iter().filter(|e| back(from, e.to)) {
            let (x, y) = (nodes[from].x + WIDTH / 4, top(layer[from]) + HEIGHT);
            let (to_x, to_y) = (nodes[edge.to].x + WIDTH / 4, top(layer[edge.to]));
            edges.push(Line {
                from,
                edge,
                back: true,
                points: vec![
                    (x, y),
                    (x, y + GAP_Y / 3),
                    (lane, y + GAP_Y / 3),
                    (lane, to_y - GAP_Y / 3),
                    (to_x, to_y - GAP_Y / 3),
                    (to_x, to_y),
                ],
            });
            lane += LANE;
        }
    }
    Layout {
        boxes,
        edges,
        size: (lane + GAP_X, top(count.max(1) - 1) + HEIGHT + GAP_Y),
    }
}

/// Sorts each layer by the mean of its neighbours, downwards and upwards in turn, and places the nodes.
fn arrange(nodes: &mut [Node], layers: &mut [Vec<usize>]) {
    let location = |nodes: &mut [Node], layer: &[usize]| {
        let width: i64 = layer.iter().map(|n| nodes[*n].width() + GAP_X).sum();
        let mut x = -width / 2;
        for &n in layer {
            let own = nodes[n].width();
            nodes[n].x = x + own / 2;
            x += own + GAP_X;
        }
    };
    for layer in layers.iter() {
        location(nodes, layer);
    }
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        let numbers: Vec<usize> = match down {
            true => (0..layers.len()).collect(),
            false => (0..layers.len()).rev().collect(),
        };
        for n in numbers {
            let mean = |node: &Node| {
                let beside = if down { &node.above } else { &node.below };
                let sum: i64 = beside.iter().map(|b| nodes[*b].x).sum();
                if beside.is_empty() {
                    node.x
                } else {
                    sum / beside.len() as i64
                }
            };
            let wanted: Vec<(usize, i64)> =
                layers[n].iter().map(|&k| (k, mean(&nodes[k]))).collect();
            let mut sorted = wanted;
            sorted.sort_by_key(|(_, x)| *x);
            layers[n] = sorted.iter().map(|(k, _)| *k).collect();
            // As near to its wanted position as the nodes on its left allow, then those on its right.
            let mut at = i64::MIN / 2;
            for &(k, x) in &sorted {
                let half = nodes[k].width() / 2;
                nodes[k].x = x.max(at + half);
                at = nodes[k].x + half + GAP_X;
            }
            // Shifted back: the mean distance of the nodes from their wanted positions becomes 0.
            let off: i64 = sorted.iter().map(|(k, x)| nodes[*k].x - x).sum();
            let off = off / sorted.len().max(1) as i64;
            for (k, _) in &sorted {
                nodes[*k].x -= off;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(next: &[(usize, bool)]) -> BlockInfo {
        BlockInfo {
            first: 0,
            last: 0,
            next: next.iter().map(|&(to, taken)| Edge { to, taken }).collect(),
            depth: 0,
            cycles: (0, 0),
        }
    }

    /// A branch, a loop and an edge over a layer: no boxes overlap, and edges other than back edges go down.
    #[test]
    fn boxes_do_not_overlap() {
        let blocks = [
            block(&[(1, false), (3, true)]),
            block(&[(2, false), (4, true)]),
            block(&[(1, true), (4, false)]),
            block(&[(4, false)]),
            block(&[]),
        ];
        let layout = layout(&blocks, 0);
        for (n, a) in layout.boxes.iter().enumerate() {
            assert!(a.0 >= 0 && a.0 + WIDTH <= layout.size.0, "{a:?}");
            assert!(a.1 >= 0 && a.1 + HEIGHT <= layout.size.1, "{a:?}");
            for b in &layout.boxes[..n] {
                let apart = (a.0 - b.0).abs() >= WIDTH || (a.1 - b.1).abs() >= HEIGHT;
                assert!(apart, "{a:?} {b:?}");
            }
        }
        assert_eq!(layout.edges.len(), 7);
        for line in &layout.edges {
            assert_eq!(line.back, line.from == 2 && line.edge.to == 1);
            let (first, last) = (line.points[0], line.points[line.points.len() - 1]);
            assert_eq!(first.1 < last.1, !line.back);
        }
    }
}
