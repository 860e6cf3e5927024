//! The search around the sweep: which board is in which lane, which boards wait, and what became of each puzzle.

use super::Work;
use super::block::Block;
use super::branch::{self, NONE};
use super::sweep::{SOLVED_SUM, solved, sweep};
use super::vector::Lanes;
use crate::engine::Budget;
use crate::sudoku::candidates::Boards;
use crate::sudoku::{CELLS, Candidates, End, Verdict};

/// One call: the puzzles, what is asked about them, and where the answers go.
pub(super) struct Job<'a> {
    pub(super) boards: Boards<'a>,
    /// Solutions to stop at, for each board; not 0.
    pub(super) limit: u64,
    pub(super) budget: &'a Budget<'a>,
    /// One for each board, as of nothing found.
    pub(super) verdicts: &'a mut [Verdict],
    pub(super) witness: Option<Witness<'a>>,
}

/// Is given every solution, with the index of its board.
pub(super) type Witness<'a> = &'a mut (dyn FnMut(usize, &[u8; CELLS]) + 'a);

/// All lanes, and all boards that wait. Its memory is kept between calls.
pub(super) struct Search<L> {
    /// The boards at work.
    live: Block<L>,
    /// Their sums as of the last sweep; 0 for a board not swept yet.
    sums: L,
    /// The puzzle each lane works for.
    owners: [u32; 32],
    /// Lanes without work.
    idle: u32,
    /// Puzzles not begun yet, side by side.
    fresh: Block<L>,
    fresh_first: usize,
    fresh_left: u32,
    /// Boards that wait.
    groups: Vec<Group<L>>,
    /// Groups whose branches are open for work, deepest last.
    ready: Vec<usize>,
    /// Groups without boards.
    spare: Vec<usize>,
    /// The group that gathers boards which logic alone does not solve.
    gathering: usize,
    /// Branches put aside, in one list for each puzzle and one, from `shelf_free`, of places to use again.
    shelf: Vec<Aside>,
    shelf_free: u32,
    /// Puzzles with nothing but branches put aside.
    due: Vec<u32>,
    /// How common it was lately, among puzzles that needed branching, to reach the limit with branches left over. Such
    /// puzzles want one branch after the other; for all the rest, who need every branch anyway, taking whole groups
    /// of branches is cheaper than putting single boards aside. A moving average, kept from call to call.
    plenty: u32,
    /// Solved boards whose answers are still to be read.
    finished: Group<L>,
    progress: Vec<Progress>,
    pub(super) work: Work,
}

/// Boards at a branching point. They gather here until all lanes are taken, so that the branching cells can be chosen
/// for all of them at once; then each goes back into a lane twice.
struct Group<L> {
    block: Block<L>,
    owners: [u32; 32],
    /// Boards gathered so far; they fill the lanes from the lowest.
    count: usize,
    /// The cell to branch on, and the candidate that the first branch takes and the second gives up.
    cells: [u8; 32],
    values: [u16; 32],
    /// Branches not taken yet, by lane.
    first: u32,
    second: u32,
}

impl<L: Lanes> Group<L> {
    #[inline(always)]
    fn empty() -> Self {
        Self {
            block: Block::empty(),
            owners: [0; 32],
            count: 0,
            cells: [0; 32],
            values: [0; 32],
            first: 0,
            second: 0,
        }
    }
}

#[derive(Clone, Copy)]
struct Progress {
    /// Branchings so far.
    nodes: u64,
    /// Boards in lanes, groups and open branches.
    active: u32,
    /// The branch put aside last, as an index into the shelf; `NOTHING` at the end of the list.
    aside: u32,
    done: bool,
}

impl Progress {
    /// Whether this is the puzzle's last board.
    #[inline(always)]
    fn is_alone(&self) -> bool {
        self.active == 1 && self.aside == NOTHING
    }
}

/// A branch put aside: a whole board, and the one put aside before it.
#[derive(Clone, Copy)]
struct Aside {
    cells: [u16; CELLS],
    next: u32,
}

/// The end of a list on the shelf.
const NOTHING: u32 = u32::MAX;
/// While a puzzle has had no more branchings than this, its second branches may wait until the first ones are done.
/// Later it is likely a hard one that needs every branch.
const PATIENCE: u64 = 16;
/// Groups with open branches from which on every second branch is put aside, whatever the puzzle: it bounds memory
/// (5 KiB a group and 160 bytes a board put aside, of which a puzzle has no more than cells).
const READY_MAX: usize = 64;
/// `plenty` as of only puzzles that reach the limit, and the share from which on second branches wait.
const PLENTY_MAX: u32 = 1 << 16;
const PLENTY_MIN: u32 = PLENTY_MAX / 16;

impl<L: Lanes> Search<L> {
    const ALL: u32 = u32::MAX >> (32 - L::COUNT);

    #[inline(always)]
    pub(super) fn new() -> Self {
        Self {
            live: Block::empty(),
            sums: L::splat(0),
            owners: [0; 32],
            idle: Self::ALL,
            fresh: Block::empty(),
            fresh_first: 0,
            fresh_left: 0,
            groups: Vec::new(),
            ready: Vec::new(),
            spare: Vec::new(),
            gathering: 0,
            shelf: Vec::new(),
            shelf_free: NOTHING,
            due: Vec::new(),
            plenty: PLENTY_MAX,
            finished: Group::empty(),
            progress: Vec::new(),
            work: Work::default(),
        }
    }

    /// Solves all boards of a job.
    #[inline(always)]
    pub(super) fn run(&mut self, job: &mut Job<'_>) {
        self.begin(job);
        loop {
            if job.budget.cancelled() {
                self.cancel(job);
                return;
            }
            self.fill(job);
            let busy = Self::ALL & !self.idle;
            if busy == 0 {
                self.settle(job);
                return;
            }
            let seen = sweep(&mut self.live.cells);
            self.work.sweeps += 1;
            self.work.lane_sweeps += u64::from(busy.count_ones());
            let dead = seen.dead() & busy;
            let mut still = seen.sum.equal(self.sums) & busy & !dead;
            let full = seen.sum.equal(L::splat(SOLVED_SUM)) & busy & !dead;
            self.sums = seen.sum;
            for lane in bits(dead) {
                self.close(self.owners[lane]);
            }
            self.idle |= dead;
            if full != 0 {
                self.finish(full, job);
                still &= !full & !self.idle;
            }
            if still != 0 {
                self.gather(still, job);
            }
        }
    }

    #[inline(always)]
    fn begin(&mut self, job: &Job<'_>) {
        self.idle = Self::ALL;
        (self.finished.count, self.finished.first) = (0, 0);
        (self.fresh_first, self.fresh_left) = (0, 0);
        self.progress.clear();
        let untouched = Progress { nodes: 0, active: 1, aside: NOTHING, done: false };
        self.progress.resize(job.boards.len(), untouched);
        self.shelf.clear();
        self.shelf_free = NOTHING;
        self.due.clear();
        self.ready.clear();
        self.spare.clear();
        self.spare.extend(0..self.groups.len());
        self.gathering = self.spare_group();
    }

    #[inline(always)]
    fn spare_group(&mut self) -> usize {
        let index = self.spare.pop().unwrap_or_else(|| {
            self.groups.push(Group::empty());
            self.groups.len() - 1
        });
        self.groups[index].count = 0;
        index
    }

    /// Gives work to idle lanes: open branches first, so that little waits; then puzzles not begun; then what gathers.
    #[inline(always)]
    fn fill(&mut self, job: &mut Job<'_>) {
        while self.idle != 0 {
            if let Some(&top) = self.ready.last() {
                self.take_branches(top);
                if self.groups[top].first | self.groups[top].second == 0 {
                    self.ready.pop();
                    self.spare.push(top);
                }
            } else if self.due.len() >= L::COUNT {
                self.bring_back();
            } else if self.fresh_left != 0 {
                self.take_fresh();
            } else if self.fresh_first < job.boards.len() {
                let count = (job.boards.len() - self.fresh_first).min(L::COUNT);
                let next = self.fresh_first..self.fresh_first + count;
                match job.boards {
                    Boards::Givens(boards) => self.fresh.load(&boards[next]),
                    Boards::Candidates(boards) => {
                        self.fresh.load_words(boards[next].iter().map(Candidates::masks));
                    }
                }
                self.fresh_left = u32::MAX >> (32 - count);
                self.fresh_first += count;
            } else if !self.due.is_empty() {
                self.bring_back();
            } else if self.groups[self.gathering].count * 4 >= L::COUNT
                || (self.idle == Self::ALL && self.groups[self.gathering].count > 0)
            {
                self.branch(job);
            } else if !self.share() {
                return;
            }
        }
    }

    /// Makes a group of boards that were put aside, the newest of each puzzle that has nothing else.
    #[inline(always)]
    fn bring_back(&mut self) {
        let index = self.spare_group();
        let group = &mut self.groups[index];
        let mut places = [0; 32];
        let mut count = 0;
        while count < L::COUNT {
            let Some(owner) = self.due.pop() else { break };
            let progress = &mut self.progress[owner as usize];
            if progress.aside == NOTHING || progress.done {
                continue;
            }
            let place = progress.aside;
            let aside = &mut self.shelf[place as usize];
            progress.aside = aside.next;
            progress.active += 1;
            (aside.next, self.shelf_free) = (self.shelf_free, place);
            places[count] = place as usize;
            group.owners[count] = owner;
            // The whole board is as it should be, so the branch repeats what its first cell has.
            group.cells[count] = 0;
            group.values[count] = aside.cells[0];
            count += 1;
        }
        if count == 0 {
            self.spare.push(index);
            return;
        }
        group.block.load_words(places[..count].iter().map(|&place| &self.shelf[place].cells));
        group.first = u32::MAX >> (32 - count);
        group.second = 0;
        self.ready.push(index);
    }

    /// At the end of a slice: lets branches put aside come back early, so that the last puzzles use all lanes. False
    /// when there are none.
    #[inline(always)]
    fn share(&mut self) -> bool {
        let mut wanted = self.idle.count_ones();
        for lane in bits(Self::ALL & !self.idle) {
            let owner = self.owners[lane];
            if wanted > 0 && self.progress[owner as usize].aside != NOTHING {
                self.due.push(owner);
                wanted -= 1;
            }
        }
        !self.due.is_empty()
    }

    /// Puts the second branches of some boards of a group aside.
    #[inline(always)]
    fn put_aside(&mut self, index: usize, slots: u32) {
        let group = &self.groups[index];
        let mut places = [0; 32];
        for slot in bits(slots) {
            if self.shelf_free == NOTHING {
                self.shelf_free = self.shelf.len() as u32;
                self.shelf.push(Aside { cells: [0; CELLS], next: NOTHING });
            }
            let place = self.shelf_free;
            let progress = &mut self.progress[group.owners[slot] as usize];
            let aside = &mut self.shelf[place as usize];
            (self.shelf_free, aside.next, progress.aside) = (aside.next, progress.aside, place);
            places[slot] = place as usize;
        }
        for eight in 0..L::COUNT / 8 {
            let here = slots >> (eight * 8) & 0xFF;
            if here == 0 {
                continue;
            }
            let boards = group.block.words(eight);
            for i in bits(here) {
                self.shelf[places[eight * 8 + i]].cells = boards[i];
            }
        }
        for slot in bits(slots) {
            self.shelf[places[slot]].cells[usize::from(group.cells[slot])] &= !group.values[slot];
        }
    }

    #[inline(always)]
    fn take_fresh(&mut self) {
        let (mut taken, mut order) = (0, [0; 32]);
        // The block holds the boards just before `fresh_first`; the last one may be short.
        let base = (self.fresh_first - 1) / L::COUNT * L::COUNT;
        for lane in bits(self.idle) {
            if self.fresh_left == 0 {
                break;
            }
            let from = self.fresh_left.trailing_zeros() as usize;
            self.fresh_left &= self.fresh_left - 1;
            order[lane] = from as u8;
            self.owners[lane] = (base + from) as u32;
            taken |= 1 << lane;
        }
        self.live.take(taken, &self.fresh, &order);
        self.start(taken);
    }

    #[inline(always)]
    fn start(&mut self, lanes: u32) {
        self.sums = self.sums.blend(L::mask(lanes), L::splat(0));
        self.idle &= !lanes;
    }

    #[inline(always)]
    fn take_branches(&mut self, from: usize) {
        let group = &mut self.groups[from];
        let (mut taken, mut second, mut order) = (0u32, 0u32, [0; 32]);
        for lane in bits(self.idle) {
            let slot = loop {
                let set = if group.second != 0 { &mut group.second } else { &mut group.first };
                if *set == 0 {
                    break None;
                }
                let is_second = core::ptr::eq(set, &group.second);
                let set = if is_second { &mut group.second } else { &mut group.first };
                let slot = set.trailing_zeros() as usize;
                *set &= *set - 1;
                if !self.progress[group.owners[slot] as usize].done {
                    break Some((slot, is_second));
                }
            };
            let Some((slot, is_second)) = slot else { break };
            order[lane] = slot as u8;
            self.owners[lane] = group.owners[slot];
            taken |= 1 << lane;
            second |= u32::from(is_second) << lane;
        }
        if taken == 0 {
            return;
        }
        self.live.take(taken, &group.block, &order);
        for lane in bits(taken) {
            let slot = usize::from(order[lane]);
            let cell = usize::from(group.cells[slot]);
            let value = group.values[slot];
            let now = &mut self.live.cells[cell].lanes_mut()[lane];
            *now =
                if second >> lane & 1 == 1 { group.block.cells[cell].lanes()[slot] & !value } else { value };
        }
        self.start(taken);
    }

    /// Moves boards from their lanes to the group that gathers; branches when it is full.
    #[inline(always)]
    fn gather(&mut self, still: u32, job: &mut Job<'_>) {
        let mut left = still;
        while left != 0 {
            let group = &mut self.groups[self.gathering];
            let (mut to, mut order) = (0, [0; 32]);
            for lane in bits(left) {
                if group.count == L::COUNT {
                    break;
                }
                order[group.count] = lane as u8;
                group.owners[group.count] = self.owners[lane];
                to |= 1 << group.count;
                group.count += 1;
                left &= !(1 << lane);
            }
            group.block.take(to, &self.live, &order);
            if group.count == L::COUNT {
                self.branch(job);
            }
        }
        self.idle |= still;
    }

    /// Chooses a branching cell for every board gathered, and opens the branches.
    #[inline(always)]
    fn branch(&mut self, job: &mut Job<'_>) {
        let index = self.gathering;
        let group = &mut self.groups[index];
        branch::choose(&group.block, &mut group.cells);
        (group.first, group.second) = (0, 0);
        let mut aside = 0;
        for slot in 0..group.count {
            let group = &mut self.groups[index];
            let owner = group.owners[slot];
            let progress = &mut self.progress[owner as usize];
            if progress.done {
                continue;
            }
            if group.cells[slot] == NONE {
                self.close(owner);
                continue;
            }
            if progress.nodes == job.budget.nodes_max() {
                self.end(owner, End::OutOfNodes, job);
                continue;
            }
            progress.nodes += 1;
            let nodes = progress.nodes;
            self.work.branchings += 1;
            let cell = group.block.cells[usize::from(group.cells[slot])].lanes()[slot];
            group.values[slot] = cell & cell.wrapping_neg();
            group.first |= 1 << slot;
            let all_at_once = nodes > PATIENCE || self.plenty < PLENTY_MIN;
            if all_at_once && self.ready.len() < READY_MAX {
                progress.active += 1;
                group.second |= 1 << slot;
            } else {
                aside |= 1 << slot;
            }
        }
        self.put_aside(index, aside);
        if self.groups[index].first != 0 {
            self.ready.push(index);
        } else {
            self.spare.push(index);
        }
        self.gathering = self.spare_group();
    }

    /// Takes boards whose sum is that of a solved one out of their lanes. Such a board is a solution or dead. When
    /// nothing else is open for its puzzle there is no hurry to know which; otherwise it may be time to stop.
    #[inline(always)]
    fn finish(&mut self, full: u32, job: &mut Job<'_>) {
        let mut hurry = false;
        for lane in bits(full) {
            hurry |= !self.progress[self.owners[lane] as usize].is_alone();
        }
        let mut left = full;
        if hurry {
            let real = solved(&self.live.cells) & full;
            for lane in bits(full) {
                let owner = self.owners[lane];
                if real >> lane & 1 == 0 {
                    self.close(owner);
                    left &= !(1 << lane);
                    continue;
                }
                if self.progress[owner as usize].done {
                    left &= !(1 << lane);
                    continue;
                }
                let verdict = &mut job.verdicts[owner as usize];
                verdict.solutions += 1;
                let enough = verdict.solutions == job.limit;
                if verdict.solutions > 1 && job.witness.is_none() {
                    left &= !(1 << lane);
                }
                if enough && !self.progress[owner as usize].is_alone() {
                    self.plenty += (PLENTY_MAX - self.plenty) / 64;
                    self.end(owner, End::Complete, job);
                } else {
                    self.close(owner);
                }
            }
        }
        while left != 0 {
            let (mut to, mut order) = (0, [0; 32]);
            for lane in bits(left) {
                let slot = self.finished.count;
                if slot == L::COUNT {
                    break;
                }
                self.finished.count += 1;
                self.finished.owners[slot] = self.owners[lane];
                self.finished.first |= u32::from(hurry) << slot;
                order[slot] = lane as u8;
                to |= 1 << slot;
                left &= !(1 << lane);
            }
            self.finished.block.take(to, &self.live, &order);
            if self.finished.count == L::COUNT {
                self.settle(job);
            }
        }
        self.idle |= full;
    }

    /// Reads the answers off the finished boards. Those marked `first` were counted before.
    #[inline(always)]
    fn settle(&mut self, job: &mut Job<'_>) {
        let real = solved(&self.finished.block.cells) | self.finished.first;
        let count = self.finished.count;
        let mut values = [[0; CELLS]; 32];
        self.finished.block.values(&mut values);
        for (slot, values) in values[..count].iter().enumerate() {
            let owner = self.finished.owners[slot];
            let board = owner as usize;
            let verdict = &mut job.verdicts[board];
            if self.finished.first >> slot & 1 == 0 {
                self.close(owner);
                if real >> slot & 1 == 0 {
                    continue;
                }
                verdict.solutions += 1;
            }
            if verdict.solution[0] == 0 {
                verdict.solution = *values;
            }
            if let Some(witness) = &mut job.witness {
                witness(board, values);
            }
        }
        (self.finished.count, self.finished.first) = (0, 0);
    }

    /// One board of a puzzle less.
    #[inline(always)]
    fn close(&mut self, owner: u32) {
        let progress = &mut self.progress[owner as usize];
        progress.active -= 1;
        if progress.active == 0 && !progress.done {
            if progress.aside == NOTHING {
                progress.done = true;
                if progress.nodes > 0 {
                    self.plenty -= self.plenty / 64;
                }
            } else {
                self.due.push(owner);
            }
        }
    }

    /// Ends a puzzle that may still have boards in lanes and groups.
    #[inline(always)]
    fn end(&mut self, owner: u32, end: End, job: &mut Job<'_>) {
        let progress = &mut self.progress[owner as usize];
        progress.done = true;
        while progress.aside != NOTHING {
            let index = progress.aside;
            let aside = &mut self.shelf[index as usize];
            (progress.aside, aside.next, self.shelf_free) = (aside.next, self.shelf_free, index);
        }
        job.verdicts[owner as usize].end = end;
        for lane in 0..L::COUNT {
            self.idle |= u32::from(self.owners[lane] == owner) << lane;
        }
    }

    #[inline(always)]
    fn cancel(&mut self, job: &mut Job<'_>) {
        self.settle(job);
        for (progress, verdict) in self.progress.iter().zip(job.verdicts.iter_mut()) {
            if !progress.done {
                verdict.end = End::Cancelled;
            }
        }
    }
}

/// The numbers of the bits set, lowest first.
#[inline(always)]
fn bits(mut set: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = (set != 0).then_some(set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        bit
    })
}
