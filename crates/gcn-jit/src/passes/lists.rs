//! Lists of numbers, one for each value of a graph.

use crate::ir::Id;
use std::ops::{Index, IndexMut};

/// For each value a list of numbers. All lists share their memory, because most have one or two numbers.
#[derive(Clone, Default, Debug)]
pub(crate) struct Lists {
    /// Where each list begins, and where the last one ends.
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// Returns the lists of `count` values. Each has the numbers that come with its value, in their order.
    pub fn of(count: usize, pairs: &[(Id, u32)]) -> Lists {
        let mut starts = vec![0; count + 1];
        for &(id, _) in pairs {
            starts[id as usize] += 1;
        }
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        // Each list is filled from its end, which becomes its beginning.
        let mut items = vec![0; pairs.len()];
        for &(id, item) in pairs.iter().rev() {
            let at = &mut starts[id as usize];
            *at -= 1;
            items[*at as usize] = item;
        }
        Lists { starts, items }
    }
}

impl Index<usize> for Lists {
    type Output = [u32];

    fn index(&self, at: usize) -> &[u32] {
        &self.items[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

impl IndexMut<usize> for Lists {
    fn index_mut(&mut self, at: usize) -> &mut [u32] {
        &mut self.items[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_to_their_values_in_order() {
        let lists = Lists::of(5, &[(3, 7), (0, 1), (3, 2), (4, 9), (3, 5)]);
        let all: Vec<&[u32]> = (0..5).map(|at| &lists[at]).collect();
        assert_eq!(all, [&[1][..], &[], &[], &[7, 2, 5], &[9]]);
        let none = Lists::of(2, &[]);
        assert!(none[0].is_empty() && none[1].is_empty());
    }
}
