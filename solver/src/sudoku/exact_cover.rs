//! Exact cover with dancing links: the oracle for every faster engine.
//!
//! A sudoku is a table of zeros and ones: a row ("option") for each value in each cell, a column ("item") for each
//! demand: this cell is filled; this row, column or box has this value. A solution is a set of options that covers
//! every item exactly once. Items are linked lists of the options still possible; covering an item unlinks it and
//! everything that conflicts, and because an unlinked node remembers its neighbours, undoing is the same walk
//! backwards (Knuth, "Dancing Links", 2000). Each step takes the item with fewest options, so forced moves cost no
//! search and a dead end is seen at once.
//!
//! It is written for clarity and for every size, not for speed: no task uses it, tests and benches do. There is no
//! recursion; the path lives in a vector whose length the number of cells bounds.

use crate::engine::Budget;
use crate::sudoku::{Board, CELLS, End, Verdict};

/// A search over boards of one size; reusable, it leaves its links as it found them.
///
/// # Examples
///
/// ```
/// use puzzled_solver::Budget;
/// use puzzled_solver::sudoku::ExactCover;
///
/// let puzzle = [1, 2, 3, 4, 3, 4, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0];
/// let mut solution = [0; 16];
/// let (solutions, _) = ExactCover::new(2).solve(&puzzle, 100, &Budget::unlimited(), &mut solution);
/// assert_eq!(solutions, 4);
/// ```
pub struct ExactCover {
    side: usize,
    /// The root at 0, then one head per item, then four nodes per option side by side.
    nodes: Vec<Node>,
    /// Left and right neighbour of the root and of each head, among the items still to cover.
    heads: Vec<(u32, u32)>,
    /// Options left for each item; index 0 is unused.
    sizes: Vec<u32>,
    /// Whether an item is covered by a given. Search needs no such mark.
    is_given: Vec<bool>,
    given_items: Vec<usize>,
    /// The option chosen at each level, as the node in the item that was branched on.
    path: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Node {
    up: u32,
    down: u32,
    item: u32,
}

const ROOT: usize = 0;

impl ExactCover {
    /// Links up all options of an empty board.
    ///
    /// # Panics
    ///
    /// When `box_size` is not 2, 3, 4 or 5.
    pub fn new(box_size: usize) -> Self {
        assert!((2..=5).contains(&box_size), "box sizes are 2 to 5, not {box_size}");
        let side = box_size * box_size;
        let area = side * side;
        let items = 4 * area;
        let heads = (0..=items).map(|i| ((i + items) % (items + 1), (i + 1) % (items + 1)));
        let mut cover = Self {
            side,
            nodes: (0..=items as u32).map(|i| Node { up: i, down: i, item: i }).collect(),
            heads: heads.map(|(left, right)| (left as u32, right as u32)).collect(),
            sizes: vec![0; items + 1],
            is_given: vec![false; items + 1],
            given_items: Vec::with_capacity(items),
            path: Vec::with_capacity(area),
        };
        for option in 0..area * side {
            let (cell, value) = (option / side, option % side);
            let (y, x) = (cell / side, cell % side);
            let box_index = y / box_size * box_size + x / box_size;
            for (group, index) in
                [cell, y * side + value, x * side + value, box_index * side + value].into_iter().enumerate()
            {
                cover.append(1 + group * area + index);
            }
        }
        cover
    }

    /// Adds a node at the bottom of an item.
    fn append(&mut self, item: usize) {
        let node = self.nodes.len() as u32;
        let last = self.nodes[item].up;
        self.nodes.push(Node { up: last, down: item as u32, item: item as u32 });
        self.nodes[last as usize].down = node;
        self.nodes[item].up = node;
        self.sizes[item] += 1;
    }

    /// Counts solutions up to `limit` and hands each to `witness`, values row by row. `cells` holds 0 for a blank.
    /// Givens that contradict each other mean no solution.
    ///
    /// # Panics
    ///
    /// When `cells` does not have this board's number of cells, or a value is above its side.
    pub fn solve_each(
        &mut self,
        cells: &[u8],
        limit: u64,
        budget: &Budget<'_>,
        witness: &mut dyn FnMut(&[u8]),
    ) -> (u64, End) {
        let side = self.side;
        assert_eq!(cells.len(), side * side, "a board has {side} x {side} cells");
        assert!(cells.iter().all(|&value| usize::from(value) <= side), "values go up to {side}");
        let result = if self.take_givens(cells) {
            let mut solution = cells.to_vec();
            // Every path to a solution fills the same cells, all that have no given.
            self.search(limit, budget, |path, nodes_of_items| {
                for &node in path {
                    let option = (node - nodes_of_items) / 4;
                    solution[option / side] = (option % side + 1) as u8;
                }
                witness(&solution);
            })
        } else {
            (0, End::Complete)
        };
        while let Some(item) = self.given_items.pop() {
            self.is_given[item] = false;
            self.uncover(item);
        }
        result
    }

    /// Counts solutions up to `limit` and writes the first one found to `solution`, which is left alone when there
    /// is none.
    ///
    /// # Panics
    ///
    /// As [`ExactCover::solve_each`], and when `solution` is not as long as `cells`.
    pub fn solve(
        &mut self,
        cells: &[u8],
        limit: u64,
        budget: &Budget<'_>,
        solution: &mut [u8],
    ) -> (u64, End) {
        let mut is_first = true;
        self.solve_each(cells, limit, budget, &mut |found| {
            if std::mem::take(&mut is_first) {
                solution.copy_from_slice(found);
            }
        })
    }

    /// Solves each 9x9 board and pushes one verdict for each, in order.
    ///
    /// # Panics
    ///
    /// When this engine is not for box size 3.
    pub fn solve_many(
        &mut self,
        boards: &[Board],
        limit: u64,
        budget: &Budget<'_>,
        verdicts: &mut Vec<Verdict>,
    ) {
        for board in boards {
            let mut solution = [0; CELLS];
            let (solutions, end) = self.solve(board.cells(), limit, budget, &mut solution);
            verdicts.push(Verdict { solutions, end, solution });
        }
    }

    /// Covers the items of all givens; false as soon as one is covered already.
    fn take_givens(&mut self, cells: &[u8]) -> bool {
        for (cell, &value) in cells.iter().enumerate().filter(|&(_, &value)| value > 0) {
            let first = self.first_option_node() + 4 * (cell * self.side + usize::from(value) - 1);
            for node in first..first + 4 {
                let item = self.nodes[node].item as usize;
                if self.is_given[item] {
                    return false;
                }
                self.is_given[item] = true;
                self.given_items.push(item);
                self.cover(item);
            }
        }
        true
    }

    /// Walks the tree of choices; calls `found` with the path and the number of heads at each solution.
    fn search(
        &mut self,
        limit: u64,
        budget: &Budget<'_>,
        mut found: impl FnMut(&[usize], usize),
    ) -> (u64, End) {
        let (mut solutions, mut nodes) = (0, 0);
        let nodes_max = budget.nodes_max();
        if limit == 0 {
            return (0, End::Complete);
        }
        let end = 'search: loop {
            if budget.stopped() {
                break End::Cancelled;
            }
            // Down: branch on the item with fewest options.
            let mut node = match self.smallest_item() {
                None => {
                    found(&self.path, self.first_option_node());
                    solutions += 1;
                    if solutions == limit {
                        break End::Complete;
                    }
                    ROOT
                }
                Some(item) => {
                    self.cover(item);
                    self.nodes[item].down as usize
                }
            };
            // Up, while the item at this level has no options left: `node` is then its head.
            while node < self.first_option_node() {
                if node != ROOT {
                    self.uncover(node);
                }
                let Some(last) = self.path.pop() else { break 'search End::Complete };
                self.uncover_others(last);
                node = self.nodes[last].down as usize;
            }
            let is_guess = self.sizes[self.nodes[node].item as usize] > 1;
            if is_guess && nodes == nodes_max {
                self.uncover(self.nodes[node].item as usize);
                break End::OutOfNodes;
            }
            nodes += u64::from(is_guess);
            self.cover_others(node);
            self.path.push(node);
        };
        while let Some(last) = self.path.pop() {
            self.uncover_others(last);
            self.uncover(self.nodes[last].item as usize);
        }
        (solutions, end)
    }

    fn first_option_node(&self) -> usize {
        self.heads.len()
    }

    /// The item with fewest options; `None` when all are covered.
    fn smallest_item(&self) -> Option<usize> {
        let mut best = None;
        let mut best_size = u32::MAX;
        let mut item = self.heads[ROOT].1 as usize;
        while item != ROOT {
            if self.sizes[item] < best_size {
                (best, best_size) = (Some(item), self.sizes[item]);
                if best_size <= 1 {
                    break;
                }
            }
            item = self.heads[item].1 as usize;
        }
        best
    }

    /// Takes an item off the list and its options off all other items.
    fn cover(&mut self, item: usize) {
        let (left, right) = self.heads[item];
        self.heads[left as usize].1 = right;
        self.heads[right as usize].0 = left;
        let mut node = self.nodes[item].down as usize;
        while node != item {
            for sibling in self.siblings(node) {
                let Node { up, down, item } = self.nodes[sibling];
                self.nodes[up as usize].down = down;
                self.nodes[down as usize].up = up;
                self.sizes[item as usize] -= 1;
            }
            node = self.nodes[node].down as usize;
        }
    }

    /// Undoes [`ExactCover::cover`], in exactly the reverse order.
    fn uncover(&mut self, item: usize) {
        let mut node = self.nodes[item].up as usize;
        while node != item {
            for sibling in self.siblings(node).into_iter().rev() {
                let Node { up, down, item } = self.nodes[sibling];
                self.sizes[item as usize] += 1;
                self.nodes[up as usize].down = sibling as u32;
                self.nodes[down as usize].up = sibling as u32;
            }
            node = self.nodes[node].up as usize;
        }
        let (left, right) = self.heads[item];
        self.heads[left as usize].1 = item as u32;
        self.heads[right as usize].0 = item as u32;
    }

    fn cover_others(&mut self, node: usize) {
        for sibling in self.siblings(node) {
            self.cover(self.nodes[sibling].item as usize);
        }
    }

    fn uncover_others(&mut self, node: usize) {
        for sibling in self.siblings(node).into_iter().rev() {
            self.uncover(self.nodes[sibling].item as usize);
        }
    }

    /// The other three nodes of the same option, cyclically after this one.
    fn siblings(&self, node: usize) -> [usize; 3] {
        let place = node - self.first_option_node();
        let first = node - place % 4;
        [1, 2, 3].map(|step| first + (place + step) % 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(box_size: usize, cells: &[u8], limit: u64, budget: &Budget<'_>) -> (u64, End) {
        ExactCover::new(box_size).solve(cells, limit, budget, &mut vec![0; cells.len()])
    }

    #[test]
    fn counts_all_boards_of_the_smallest_size() {
        // 288 is the number of 4x4 sudoku grids (OEIS A107739).
        assert_eq!(count(2, &[0; 16], u64::MAX, &Budget::unlimited()), (288, End::Complete));
        assert_eq!(count(2, &[0; 16], 100, &Budget::unlimited()), (100, End::Complete));
        assert_eq!(count(2, &[0; 16], 0, &Budget::unlimited()), (0, End::Complete));
    }

    #[test]
    fn large_boards_solve() {
        for box_size in 2usize..=5 {
            let blank = vec![0; box_size.pow(4)];
            let mut solution = blank.clone();
            let mut engine = ExactCover::new(box_size);
            let budget = Budget { nodes: 100_000, ..Budget::unlimited() };
            let (solutions, end) = engine.solve(&blank, 1, &budget, &mut solution);
            assert_eq!((solutions, end), (1, End::Complete), "box size {box_size}");
            assert!(crate::sudoku::is_solution(&blank, &solution, box_size));
            // The same links serve the next board: a full one, and one that contradicts itself.
            assert_eq!(engine.solve(&solution.clone(), 2, &budget, &mut solution), (1, End::Complete));
            let mut twice = blank.clone();
            twice[..2].fill(1);
            assert_eq!(engine.solve(&twice, 2, &budget, &mut solution), (0, End::Complete));
            assert_eq!(engine.solve(&blank, 1, &budget, &mut solution), (1, End::Complete));
        }
    }

    #[test]
    fn a_budget_stops_it_and_the_links_survive() {
        let mut engine = ExactCover::new(3);
        let mut solution = [0; CELLS];
        for nodes in 1..100 {
            let (_, end) =
                engine.solve(&[0; CELLS], u64::MAX, &Budget { nodes, ..Budget::unlimited() }, &mut solution);
            assert_eq!(end, End::OutOfNodes);
        }
        let flag = std::sync::atomic::AtomicBool::new(true);
        let cancelled = Budget { cancel: Some(&flag), ..Budget::unlimited() };
        assert_eq!(engine.solve(&[0; CELLS], 2, &cancelled, &mut solution), (0, End::Cancelled));
        let fresh = ExactCover::new(3);
        assert_eq!((engine.heads, engine.sizes), (fresh.heads, fresh.sizes));
    }
}
