//! XY-wings and XYZ-wings: a pivot that sees two cells of two candidates each, so that one of the three must hold
//! the digit all share.
//!
//! ```text
//!   xy | xz        whatever the pivot xy holds, a wing holds z, and no cell that sees both wings does.
//!   yz |  -z       In an XYZ-wing the pivot has xyz, and the cell must see it too.
//! ```

use crate::sudoku::rate::pencil::Pencil;
use crate::sudoku::rate::{Step, Technique};
use crate::sudoku::units::{PEERS, cells, is_single};

/// A wing whose pivot has two candidates.
pub(super) fn xy(pencil: &Pencil, step: &mut Step) -> bool {
    find(pencil, 2, step)
}

/// A wing whose pivot has three candidates.
pub(super) fn xyz(pencil: &Pencil, step: &mut Step) -> bool {
    find(pencil, 3, step)
}

fn find(pencil: &Pencil, pivot_size: u32, step: &mut Step) -> bool {
    let pairs = pencil.cells_with(2);
    let pivots = if pivot_size == 2 { pairs } else { pencil.cells_with(pivot_size) };
    cells(pivots).any(|pivot| {
        let all = pencil.cell(pivot);
        // A wing of an XY-wing shares one candidate with the pivot, one of an XYZ-wing both of its own.
        let is_wing = |&wing: &usize| (pencil.cell(wing) & all).count_ones() == pivot_size - 1;
        cells(PEERS[pivot] & pairs).filter(is_wing).any(|first| {
            let later = PEERS[pivot] & pairs & (u128::MAX << first << 1);
            cells(later).filter(is_wing).any(|second| {
                let (one, two) = (pencil.cell(first), pencil.cell(second));
                let shared = one & two;
                if !is_single(shared)
                    || (pivot_size == 2) != (shared & all == 0)
                    || (one | two | all).count_ones() != 3
                {
                    return false;
                }
                let digit = shared.trailing_zeros() as usize;
                let mut seen = PEERS[first] & PEERS[second];
                if pivot_size == 3 {
                    seen &= PEERS[pivot];
                }
                step.begin(if pivot_size == 2 { Technique::XyWing } else { Technique::XyzWing });
                step.digits = one | two;
                step.cells = 1 << pivot | 1 << first | 1 << second;
                step.remove_from(seen & pencil.places(digit), digit);
                step.is_worth()
            })
        })
    })
}
