//! Aligned exclusion: of all ways to fill two or three cells, those go that leave nothing for a cell all of them
//! see, or put a digit twice into a unit; a candidate that is in no way left goes as well.

use crate::sudoku::CELLS;
use crate::sudoku::rate::pencil::Pencil;
use crate::sudoku::rate::{Step, Technique};
use crate::sudoku::units::{PEERS, bits, cells};

/// Two cells, and cells of two candidates that see both.
pub(super) fn pair(pencil: &Pencil, step: &mut Step) -> bool {
    let board = Excluders::new(pencil, 2);
    cells(board.bases)
        .any(|one| cells(board.bases & (u128::MAX << one << 1)).any(|two| board.exclude(&[one, two], step)))
}

/// Three cells, the last of which is an excluder of one of the others, and cells of two or three candidates that see
/// all.
pub(super) fn triplet(pencil: &Pencil, step: &mut Step) -> bool {
    let board = Excluders::new(pencil, 3);
    cells(board.bases).any(|one| {
        cells(board.bases & (u128::MAX << one << 1)).any(|two| {
            let third = (board.seen[one] | board.seen[two]) & board.bases & !(1 << one | 1 << two);
            // The excluders of all three are among those of the two.
            (board.seen[one] & board.seen[two]).count_ones() >= 2
                && cells(third).any(|three| board.exclude(&[one, two, three], step))
        })
    })
}

struct Excluders<'a> {
    pencil: &'a Pencil,
    /// For each cell, the cells with few candidates that see it.
    seen: [u128; CELLS],
    /// The open cells that have such.
    bases: u128,
}

impl<'a> Excluders<'a> {
    fn new(pencil: &'a Pencil, size: u32) -> Self {
        let few = (2..=size).fold(0, |set, count| set | pencil.cells_with(count));
        let seen: [u128; CELLS] =
            std::array::from_fn(|cell| if pencil.cell(cell) == 0 { 0 } else { PEERS[cell] & few });
        let bases = (0..CELLS).filter(|&cell| seen[cell] != 0).fold(0, |set, cell| set | 1 << cell);
        Self { pencil, seen, bases }
    }

    /// Looks for a way to fill the base cells with each of their candidates.
    fn exclude<const N: usize>(&self, bases: &[usize; N], step: &mut Step) -> bool {
        let common = bases.iter().fold(u128::MAX, |set, &base| set & self.seen[base]);
        if common.count_ones() < 2 {
            return false;
        }
        // A way found shows a candidate of every base to be good; most triplets need few.
        let mut good = [0; N];
        let mut gone = [0; N];
        for index in 0..N {
            for digit in bits(self.pencil.cell(bases[index])) {
                if good[index] >> digit & 1 == 1 {
                    continue;
                }
                let mut filled = [0; N];
                filled[index] = 1 << digit;
                if self.fill(bases, common, &mut filled, 0) {
                    good.iter_mut().zip(filled).for_each(|(good, bit)| *good |= bit);
                } else {
                    gone[index] |= 1 << digit;
                }
            }
        }
        if gone.iter().all(|&gone| gone == 0) {
            return false;
        }
        step.begin(if N == 2 { Technique::AlignedPairExclusion } else { Technique::AlignedTripletExclusion });
        for (&base, gone) in bases.iter().zip(gone) {
            step.cells |= 1 << base;
            step.remove(base, gone);
        }
        true
    }

    /// Fills the base cells from `depth` on that are not filled; whether there is a way.
    fn fill<const N: usize>(
        &self,
        bases: &[usize; N],
        common: u128,
        filled: &mut [u16; N],
        depth: usize,
    ) -> bool {
        if depth == N {
            let taken = filled.iter().fold(0, |set, bit| set | bit);
            return cells(common).all(|cell| self.pencil.cell(cell) & !taken != 0);
        }
        if filled[depth] != 0 {
            return self.fill(bases, common, filled, depth + 1);
        }
        let clashing = (0..N)
            .filter(|&other| PEERS[bases[other]] >> bases[depth] & 1 == 1)
            .fold(0, |set, other| set | filled[other]);
        for digit in bits(self.pencil.cell(bases[depth]) & !clashing) {
            filled[depth] = 1 << digit;
            if self.fill(bases, common, filled, depth + 1) {
                return true;
            }
        }
        filled[depth] = 0;
        false
    }
}
