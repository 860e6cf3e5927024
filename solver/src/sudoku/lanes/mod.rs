//! The lane engine: many boards side by side, one in each lane of the processor's vectors.
//!
//! # The idea
//!
//! A cell is nine candidate bits in a 16-bit lane, a board is the same lane of 81 vectors, and every instruction works
//! on 8, 16 or 32 boards at once. What boards must not do in such a machine is wait for each other, so a lane keeps
//! its board only as long as plain logic gets somewhere:
//!
//! ```text
//!                     lane 0   1   2   3   4  ..  31
//!           cell  0 [   .   .   .   .   .       .  ]
//!   fresh   cell  1 [   .   .   .   .   .       .  ]    one sweep: rows and boxes band by band, then columns
//!  boards     ..                                        and boxes stack by stack, in place, for all lanes
//! ------->  cell 80 [   .   .   .   .   .       .  ]
//!    ^                  |   |   |   |   |       |
//!    |                 on  on dead full still  on       sums of candidates tell which
//!    |                          |   |   |
//!    |             gone <-------+   |   +-------> gathered, 32 to a group; then, for the whole group at once,
//!    |     answers read by 32 <-----+             the branching cell of each board is chosen
//!    |                                                  |
//!    +---- first branches, then second ones <-----------+
//! ```
//!
//! # The tricks
//!
//! 1. Boards never share work, only instructions: a lane is refilled as soon as its board is dead, full or still. All
//!    moves are one permutation and one blend for each of the 81 vectors, some 60 ns whatever the number of boards
//!    moved.
//! 2. A band, or a stack, is nine *mini-lines* of three cells, and every mask of its three lines and three boxes is
//!    put together from theirs: what is settled, what a mini-line has (`a | b | c`) and has twice (the majority of
//!    three). With AVX-512 each is one instruction. A stack is a band with rows and columns exchanged, so columns
//!    come from the same code. (Mini-lines as the unit of thought are what t-dillon's tdoku and the JCZSolve family
//!    made of bands of 27 bits.)
//! 3. Locked candidates fall out of the same nine masks: a value that a box has in one line only leaves the rest of
//!    that line, and the other way round.
//! 4. Hidden singles are what a unit has once and not twice, as of before the locked candidates of the same pass: what
//!    these uncover can wait, and both come from the same few masks. A cell takes them only if it has any: `settle`.
//! 5. A contradiction that costs nothing to see is a value without a place in some unit. What slips through cannot end
//!    as a solution, since answers are checked whole.
//! 6. Candidates only ever go, so their sum as plain numbers (81 x 511 fits 16 bits) says whether a sweep changed
//!    anything, and 9 x 511 says "solved or dead" without a look at the cells.
//! 7. A board that needs a guess leaves its lane. Scoring all 81 cells (`branch`) is as dear as two or three sweeps, but for a
//!    full group of boards, no lane of it idle, it is cheap. The score is what DESIGN.md measured: among the cells
//!    with fewest candidates, the one whose peers share most of them.
//! 8. The rest is moved by the group as well: transposing answers out (32 at a time), boards in, branches aside.
//! 9. Both branches of a guess become work at once, whichever lanes are free: the last hard puzzle of a slice spreads
//!    over all of them. Only where puzzles tend to reach the limit with branches to spare (many solutions, counting to
//!    2) the second branch waits until the first is done, which halves the work. It waits where it is: its group
//!    keeps the board, and a cell's other candidates are all that sets the second branch apart.
//! 10. Where nearly all branches end as solutions, any cell will do to branch on: the score is left out.
//!
//! What lost, measured: scores for one board at a time in scalar code (four times slower on hard puzzles); reading an
//! answer as soon as it is there (a third of the time of easy puzzles, a tenth now); values with two places left as
//! branching points or as a bonus, and peers counted once for each unit they share (10 to 40 % more branches);
//! putting every second branch aside (10 to 30 % slower where puzzles have one solution); looking for a value settled
//! twice in a unit (it saves 0.2 % of the sweeps); leaving out boxes, or the naked singles of columns (4 to 10 % more
//! sweeps, for less than that); 8 lanes in a plain array
//! (half as slow again as 16 on easy puzzles). Not built, for its price in strided loads and stores: a stack of
//! boards for each lane.
//!
//! # What is not promised
//!
//! Which of several solutions comes first, and in which order boards are done. A board's verdict does not depend on
//! width or neighbours, with one exception: with a budget of nodes, a board with more solutions than asked for may run
//! out of it among some neighbours and not among others, and what any board shows when it runs out may differ.

#![expect(
    clippy::needless_range_loop,
    reason = "lanes, lines and boxes are numbers that several arrays share"
)]

mod block;
mod branch;
#[cfg(target_arch = "aarch64")]
mod neon;
mod search;
mod sweep;
mod vector;
mod widths;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use widths::Width;

use crate::engine::Budget;
use crate::sudoku::candidates::Boards;
use crate::sudoku::{AnyBoard, CELLS, End, Verdict};
use search::{Job, Witness};
use widths::Engine;

/// The engine for slices of 9x9 boards. It keeps its memory between calls: groups of boards (5 KiB each with 32 lanes), some
/// 70 that are open for work and those with kept branches, of which each puzzle at work has 16 at most; and 32 bytes a
/// board of the slice.
///
/// # Examples
///
/// ```
/// use puzzled_solver::Budget;
/// use puzzled_solver::sudoku::{Board, LaneEngine};
///
/// let line = b"000000010400000000020000000000050407008000300001090000300400200050100000000806000";
/// let boards = [Board::parse(line)?; 100];
/// let mut verdicts = Vec::new();
/// LaneEngine::new().solve_many(&boards, 2, &Budget::unlimited(), &mut verdicts);
/// assert!(verdicts.iter().all(|verdict| verdict.solutions == 1));
/// # Ok::<(), puzzled_solver::ParseError>(())
/// ```
pub struct LaneEngine {
    width: Width,
    engine: Box<dyn Engine>,
}

/// How much an engine has done; independent of the machine's speed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Sweeps of logic over all lanes.
    pub sweeps: u64,
    /// The same, counting each lane that had a board.
    pub lane_sweeps: u64,
    /// Boards that needed a guess.
    pub branchings: u64,
}

impl Default for LaneEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl LaneEngine {
    /// An engine of the widest vectors the processor has.
    pub fn new() -> Self {
        let width = Width::available()[0];
        Self { width, engine: widths::engine(width) }
    }

    /// An engine of a given width; `None` when this processor lacks it.
    pub fn with_width(width: Width) -> Option<Self> {
        Width::available().contains(&width).then(|| Self { width, engine: widths::engine(width) })
    }

    /// The width in use.
    pub fn width(&self) -> Width {
        self.width
    }

    /// What the engine has done since it was made.
    pub fn work(&self) -> Work {
        self.engine.work()
    }

    /// Counts the solutions of each board up to `limit` and pushes one verdict for each, in order. After the cancel
    /// flag is seen, those not finished are [`End::Cancelled`].
    pub fn solve_many<B: AnyBoard>(
        &mut self,
        boards: &[B],
        limit: u64,
        budget: &Budget<'_>,
        verdicts: &mut Vec<Verdict>,
    ) {
        self.run(B::boards(boards), limit, budget, verdicts, None);
    }

    /// [`LaneEngine::solve_many`], and hands every solution to `witness` with the index of its board. The order among
    /// the solutions of a board, and among boards, is not promised.
    pub fn solve_each<B: AnyBoard>(
        &mut self,
        boards: &[B],
        limit: u64,
        budget: &Budget<'_>,
        verdicts: &mut Vec<Verdict>,
        witness: &mut dyn FnMut(usize, &[u8; CELLS]),
    ) {
        self.run(B::boards(boards), limit, budget, verdicts, Some(witness));
    }

    fn run<'a>(
        &mut self,
        boards: Boards<'a>,
        limit: u64,
        budget: &'a Budget<'a>,
        verdicts: &'a mut Vec<Verdict>,
        witness: Option<Witness<'a>>,
    ) {
        let first = verdicts.len();
        let nothing = Verdict { solutions: 0, end: End::Complete, solution: [0; CELLS] };
        verdicts.resize(first + boards.len(), nothing);
        if limit > 0 {
            let verdicts = &mut verdicts[first..];
            self.engine.run(&mut Job { boards, limit, budget, verdicts, witness });
        }
    }
}
