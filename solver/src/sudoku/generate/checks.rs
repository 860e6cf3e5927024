//! The independent look at what was made: from the text and the options alone, and by another engine.

use super::number;
use super::wanted::{PuzzleWanted, Wanted};
use crate::engine::Budget;
use crate::outcome::{OutcomeKind, OutcomeRef};
use crate::sudoku::verify::is_solution_line;
use crate::sudoku::{Bitmask, Board, CELLS, Candidates};

/// Clues of a minimal puzzle that are asked for their need. All of them take ten times as long as digging did; two of each
/// puzzle tell a generator that leaves needless ones within a chunk.
const CLUES_ASKED: usize = 2;

/// Whether an answer is as wanted. Not checked: that it is this very number's, that none was nearer where none was
/// found, difficulties, and the need of every clue of a minimal puzzle: only of some that the puzzle itself picks.
pub(super) fn verify(wanted: &Wanted, line: &[u8], outcome: OutcomeRef<'_>) -> bool {
    use OutcomeKind::{Cancelled, Failed, Invalid, Multiple, NoSolution, Solved, TimedOut};
    let is_number = number::read(line).is_ok();
    match (outcome.kind, &wanted.puzzle) {
        (Cancelled | Failed, _) => true,
        (Invalid, _) => !is_number,
        (Solved, None) => is_number && is_grid(wanted, outcome.text),
        (Solved, Some(puzzle)) => {
            is_number && read(wanted, outcome.text).is_some_and(|board| is_as_wanted(puzzle, &board))
        }
        // Time may be up before there is any puzzle. The nearest one is a puzzle at least.
        (TimedOut, _) if outcome.text.is_empty() => is_number,
        (TimedOut, Some(_)) => is_number && read(wanted, outcome.text).is_some(),
        (NoSolution | Multiple | TimedOut, _) => false,
    }
}

fn is_grid(wanted: &Wanted, text: &[u8]) -> bool {
    text.try_into().is_ok_and(|grid| is_solution_line(&[b'.'; CELLS], grid))
        && (wanted.corner == 0 || text[0] == b'0' + wanted.corner)
}

/// Canonical text of a puzzle with one solution, which has the corner asked for.
fn read(wanted: &Wanted, text: &[u8]) -> Option<Board> {
    let board = Board::from_line(text)?;
    let mut canonical = Vec::new();
    board.write(&mut canonical);
    let mut verdicts = Vec::new();
    Bitmask::new().solve_many(&[board], 2, &Budget::unlimited(), &mut verdicts);
    let corner = wanted.corner == 0 || verdicts[0].solution[0] == wanted.corner;
    (canonical == text && verdicts[0].solutions == 1 && corner).then_some(board)
}

fn is_as_wanted(wanted: &PuzzleWanted, board: &Board) -> bool {
    let clues = board.cells().iter().filter(|&&cell| cell != 0).count();
    wanted.clues.contains(&clues)
        && wanted.symmetry.holds(board.cells())
        && (!wanted.minimal || is_minimal_by_some(board))
}

/// Whether each of some clues, were it another digit, would leave some solution.
fn is_minimal_by_some(board: &Board) -> bool {
    let cells = board.cells();
    let clues: Vec<usize> = (0..CELLS).filter(|&cell| cells[cell] != 0).collect();
    // FNV-1a: any mixture of the cells will do.
    let mixed = cells.iter().fold(0xcbf2_9ce4_8422_2325_u64, |mixed, &cell| {
        (mixed ^ u64::from(cell)).wrapping_mul(0x0100_0000_01b3)
    });
    let asked = clues.len().min(CLUES_ASKED);
    let others: Vec<Candidates> = (0..asked)
        .map(|turn| clues[((mixed >> 32) as usize + turn * clues.len() / asked) % clues.len()])
        .filter_map(|cell| {
            let mut masks = *Candidates::from(board).masks();
            masks[cell] ^= Candidates::ANY;
            Candidates::from_masks(masks)
        })
        .collect();
    let mut verdicts = Vec::new();
    Bitmask::new().solve_many(&others, 1, &Budget::unlimited(), &mut verdicts);
    verdicts.iter().all(|verdict| verdict.solutions == 1)
}
