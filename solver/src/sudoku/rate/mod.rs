//! How hard a puzzle is for a person: solved the way people solve, easiest step first, it is as hard as its hardest step.
//!
//! # The idea
//!
//! ```text
//! loop
//!     for each technique of the scale, easiest first
//!         if it concludes anything: apply that one step, and begin again with the easiest
//!     if none did: guess
//! the rating of the puzzle is the highest rating of its steps
//! ```
//!
//! The techniques and their numbers are those of the Sudoku Explainer of Nicolas Juillerat, so that a rating means here
//! what it means wherever puzzles are traded; the code is ours.
//! docs/rating.md describes them, and says how often the two agree on puzzles with published ratings.
//!
//! | part | duty |
//! |---|---|
//! | `pencil` | candidates |
//! | `technique`, `step` | the scale, and what one step says |
//! | `singles`, `locked`, `subsets`, `fish`, `wings`, `uniqueness`, `grave`, `aligned` | a family of techniques each |
//! | `links`, `chains` | single chains: nothing but implications between candidates |
//! | `forcing`, `plus` | many chains at once |
//! | `engine` | the tasks |
//!
//! Uniqueness arguments (rectangles, loops, graves) hold only where there is one solution. So whoever rates a puzzle must
//! have solved it before; that solution is also what every step is held against, and where a guess comes from.

mod aligned;
mod chains;
mod engine;
mod fish;
mod forcing;
mod grave;
mod links;
mod locked;
mod pencil;
mod plus;
mod singles;
mod step;
mod subsets;
mod technique;
mod uniqueness;
mod wings;

pub(crate) use engine::{RateEngine, Report, canonical, verify};
pub use step::{Node, Step};
pub use technique::Technique;

use crate::engine::Budget;
use crate::sudoku::{Bitmask, Board, CELLS, End, units};
use chains::Chains;
use forcing::{Forcing, Growth};
use pencil::Pencil;

/// How hard a puzzle is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rating {
    /// The highest rating of a step, in tenths; 0 for a board without blanks.
    pub tenths: u8,
    /// The first step of that rating; none for a board without blanks.
    pub hardest: Option<Technique>,
}

/// A rating in a word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Grade {
    /// Up to 1.5: nothing but hidden singles.
    Easy,
    /// 1.6 to 2.5: still without pencil marks.
    Medium,
    /// 2.6 to 4.4: locked candidates, subsets, fish and wings.
    Hard,
    /// 4.5 to 7.9: uniqueness, large subsets, cycles and single chains.
    Expert,
    /// 8.0 and more: several chains at once, and trial.
    Extreme,
}

impl Grade {
    /// Every grade, easiest first.
    pub const ALL: [Grade; 5] = [Grade::Easy, Grade::Medium, Grade::Hard, Grade::Expert, Grade::Extreme];

    /// The grade of a rating in tenths.
    pub fn of(tenths: u8) -> Grade {
        match tenths {
            0..=15 => Grade::Easy,
            16..=25 => Grade::Medium,
            26..=44 => Grade::Hard,
            45..=79 => Grade::Expert,
            80.. => Grade::Extreme,
        }
    }

    /// The word in outcomes.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Easy => "easy",
            Grade::Medium => "medium",
            Grade::Hard => "hard",
            Grade::Expert => "expert",
            Grade::Extreme => "extreme",
        }
    }
}

impl Rating {
    /// Nothing done yet.
    const NONE: Rating = Rating { tenths: 0, hardest: None };

    /// The rating in a word.
    pub fn grade(&self) -> Grade {
        Grade::of(self.tenths)
    }

    /// Appends it as text: `RATING TECHNIQUE GRADE`, such as `4.2 xy-wing hard`; `0.0 none easy` for a board without
    /// blanks.
    pub fn write(&self, out: &mut Vec<u8>) {
        step::write_tenths(self.tenths, out);
        out.push(b' ');
        out.extend_from_slice(self.hardest.map_or("none", Technique::name).as_bytes());
        out.push(b' ');
        out.extend_from_slice(self.grade().name().as_bytes());
    }

    /// Reads what [`Rating::write`] writes; `None` for anything else.
    pub fn parse(text: &str) -> Option<Rating> {
        let mut words = text.split(' ');
        let (tenths, name) = (step::parse_tenths(words.next()?)?, words.next()?);
        let rating = Rating { tenths, hardest: Technique::parse(name) };
        let fits = match rating.hardest {
            Some(technique) => technique.may_rate(tenths),
            None => rating == Self::NONE,
        };
        let mut again = Vec::new();
        rating.write(&mut again);
        (fits && again == text.as_bytes()).then_some(rating)
    }
}

/// Rates one puzzle; `None` when it has no solution or several.
///
/// For many puzzles keep a [`Rater`].
///
/// # Examples
///
/// ```
/// use puzzled_solver::sudoku::{Board, Technique, rate};
///
/// let line = b"000000010400000000020000000000050407008000300001090000300400200050100000000806000";
/// let rating = rate(&Board::parse(line)?).expect("one solution");
/// assert_eq!((rating.tenths, rating.hardest), (15, Some(Technique::HiddenSingle)));
/// # Ok::<(), puzzled_solver::ParseError>(())
/// ```
pub fn rate(board: &Board) -> Option<Rating> {
    let budget = Budget::unlimited();
    let mut verdicts = Vec::new();
    Bitmask::new().solve_many(&[*board], 2, &budget, &mut verdicts);
    (verdicts[0].solutions == 1).then(|| Rater::new().rate(board, &verdicts[0].solution, &budget).rating)
}

/// Rates puzzles, and keeps its memory between them.
pub struct Rater {
    step: Step,
    chains: Box<Chains>,
    forcing: Forcing,
}

/// What a [`Rater`] found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rated {
    /// The rating. With [`Technique::Trial`] it is a lower bound; and if the end is not [`End::Complete`], it is that of the
    /// steps taken so far.
    pub rating: Rating,
    /// Why the rating stopped.
    pub end: End,
}

impl Default for Rater {
    fn default() -> Self {
        Self::new()
    }
}

impl Rater {
    /// A rater with its memory allocated.
    pub fn new() -> Self {
        Self { step: Step::blank(), chains: Box::new(Chains::new()), forcing: Forcing::new() }
    }

    /// Rates a board whose only solution is `solution` (values row by row).
    ///
    /// # Panics
    ///
    /// May panic if that is not the only solution.
    pub fn rate(&mut self, board: &Board, solution: &[u8; CELLS], budget: &Budget<'_>) -> Rated {
        self.run(board, solution, budget, &mut |step| step.technique != Technique::Trial)
    }

    /// [`Rater::rate`], and pushes every step. A guess ([`Technique::Trial`]) fills one cell from the solution.
    ///
    /// # Panics
    ///
    /// May panic if `solution` is not the only solution.
    pub fn explain(
        &mut self,
        board: &Board,
        solution: &[u8; CELLS],
        budget: &Budget<'_>,
        steps: &mut Vec<Step>,
    ) -> Rated {
        self.run(board, solution, budget, &mut |step| {
            steps.push(step.clone());
            true
        })
    }

    /// Solves the board, until `go_on` says no to a step.
    fn run(
        &mut self,
        board: &Board,
        solution: &[u8; CELLS],
        budget: &Budget<'_>,
        go_on: &mut dyn FnMut(&Step) -> bool,
    ) -> Rated {
        let mut pencil = Pencil::new(board);
        let mut rating = Rating::NONE;
        let mut effort = Effort { budget, left: budget.nodes_max() };
        while !pencil.is_full() {
            if budget.stopped() {
                return Rated { rating, end: End::Cancelled };
            }
            match self.find(&pencil, &mut effort) {
                None => return Rated { rating, end: effort.end() },
                Some(true) => {}
                Some(false) => guess(&pencil, solution, rating.tenths, &mut self.step),
            }
            let step = &self.step;
            assert!(step.agrees_with(solution), "a step against the only solution: {step:?}");
            apply(step, &mut pencil);
            let is_harder = step.tenths > rating.tenths || step.technique == Technique::Trial;
            if is_harder && rating.hardest != Some(Technique::Trial) {
                rating = Rating { tenths: step.tenths, hardest: Some(step.technique) };
            }
            if !go_on(step) {
                break;
            }
        }
        Rated { rating, end: End::Complete }
    }

    /// Leaves the easiest step there is in `self.step`; whether there is one. `None` if the effort ended first.
    fn find(&mut self, pencil: &Pencil, effort: &mut Effort<'_>) -> Option<bool> {
        let step = &mut self.step;
        let found = singles::hidden(pencil, step)
            || locked::direct(pencil, step)
            || subsets::direct_hidden(pencil, 2, step)
            || singles::naked(pencil, step)
            || subsets::direct_hidden(pencil, 3, step)
            || locked::indirect(pencil, step)
            || subsets::naked(pencil, 2, step)
            || fish::find(pencil, 2, step)
            || subsets::hidden(pencil, 2, step)
            || subsets::naked(pencil, 3, step)
            || fish::find(pencil, 3, step)
            || subsets::hidden(pencil, 3, step)
            || wings::xy(pencil, step)
            || wings::xyz(pencil, step)
            || uniqueness::find(pencil, step)
            || subsets::naked(pencil, 4, step)
            || fish::find(pencil, 4, step)
            || subsets::hidden(pencil, 4, step)
            || grave::find(pencil, step)
            || aligned::pair(pencil, step);
        let found = found
            || self.chains.find(pencil, effort, step)?
            || aligned::triplet(pencil, step)
            || self.forcing.find(pencil, Growth::Nishio, effort, step)?
            || self.forcing.find(pencil, Growth::Static, effort, step)?
            || self.forcing.find(pencil, Growth::Dynamic, effort, step)?
            || self.forcing.find(pencil, Growth::Plus, effort, step)?;
        Some(found)
    }
}

/// What may still be spent on a puzzle.
struct Effort<'a> {
    budget: &'a Budget<'a>,
    /// Assumptions yet to follow.
    left: u64,
}

impl Effort<'_> {
    /// Pays for one assumption; `None` if there is nothing left to pay with, or nobody waits for the answer.
    fn spend(&mut self) -> Option<()> {
        if self.budget.stopped() {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        Some(())
    }

    /// Why it ended.
    fn end(&self) -> End {
        if self.budget.stopped() { End::Cancelled } else { End::OutOfNodes }
    }
}

/// Fills one of the cells with fewest candidates.
///
/// Whatever needed more than the base rating of a guess before it (long chains may), the whole needs at least that.
fn guess(pencil: &Pencil, solution: &[u8; CELLS], tenths: u8, step: &mut Step) {
    let open = (0..CELLS).filter(|&cell| pencil.cell(cell) != 0);
    let cell = open.min_by_key(|&cell| pencil.cell(cell).count_ones()).expect("a board that is not full");
    step.begin(Technique::Trial);
    step.tenths = step.tenths.max(tenths);
    step.place(cell, usize::from(solution[cell]) - 1);
}

fn apply(step: &Step, pencil: &mut Pencil) {
    if let Some((cell, digit)) = step.placed {
        pencil.place(cell.into(), usize::from(digit) - 1);
    }
    for &(cell, digits) in &step.removed {
        for digit in units::bits(digits) {
            pencil.remove(cell.into(), digit);
        }
    }
}
