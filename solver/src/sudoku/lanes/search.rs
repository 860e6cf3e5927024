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
    /// Groups with branches open for work, deepest last.
    ready: Vec<usize>,
    /// Groups without boards.
    spare: Vec<usize>,
    /// The group that gathers boards which logic alone does not solve.
    gathering: usize,
    /// Puzzles with nothing but kept branches.
    due: Vec<u32>,
    /// How common it was lately, among puzzles that needed branching, to reach the limit with branches left over. Such
    /// puzzles want one branch after the other; all the rest need every branch anyway. A share of [`ALWAYS`].
    plenty: u32,
    /// How common it was lately, among boards that came from a branching, to end as a solution. Where nearly all do,
    /// any cell will do to branch on. A share of [`ALWAYS`].
    luck: u32,
    /// Boards that are solved, or dead: a look at the sum does not tell.
    finished: Block<L>,
    finished_owners: [u32; 32],
    finished_count: usize,
    progress: Vec<Progress>,
    pub(super) work: Work,
}

/// Boards at a branching point. They gather here until all lanes are taken, so that the branching cells can be chosen
/// for all of them at once. From then on the group holds the first branches, and what the second ones differ in.
struct Group<L> {
    block: Block<L>,
    owners: [u32; 32],
    /// Boards gathered so far; they fill the lanes from the lowest.
    count: usize,
    /// The cell to branch on, and its candidates in the second branch.
    cells: [u8; 32],
    rest: [u16; 32],
    /// Lanes whose board is open for work as it is.
    first: u32,
    /// Lanes whose second branch is to follow.
    second: u32,
    /// Lanes whose second branch is to follow when nothing else is left of its puzzle.
    kept: u32,
    /// For these lanes: the place of the branch that the same puzzle kept before, or `NOTHING`.
    below: [u32; 32],
    is_ready: bool,
}

impl<L: Lanes> Group<L> {
    #[inline(always)]
    fn empty() -> Self {
        Self {
            block: Block::empty(),
            owners: [0; 32],
            count: 0,
            cells: [0; 32],
            rest: [0; 32],
            first: 0,
            second: 0,
            kept: 0,
            below: [NOTHING; 32],
            is_ready: false,
        }
    }

    /// Puts the second branches in place of the first ones.
    #[inline(always)]
    fn turn(&mut self) {
        for slot in bits(self.second) {
            self.block.cells[usize::from(self.cells[slot])].lanes_mut()[slot] = self.rest[slot];
        }
        (self.first, self.second) = (self.second, 0);
    }
}

#[derive(Clone, Copy)]
struct Progress {
    /// Branchings so far.
    nodes: u64,
    /// Boards in lanes, open branches, gathering or finished.
    active: u32,
    /// Those finished.
    finished: u32,
    /// The place of the branch kept last.
    kept: u32,
    done: bool,
}

/// The end of a list of kept branches.
const NOTHING: u32 = u32::MAX;
/// Stands for a group where none gathers.
const NO_GROUP: usize = usize::MAX;
/// While a puzzle has had no more branchings than this, its second branches may wait until the first ones are done.
/// Later it is likely a hard one that needs every branch.
const PATIENCE: u64 = 16;
/// Groups with open branches from which on every second branch is kept, whatever the puzzle: it bounds memory.
const READY_MAX: usize = 64;
/// Groups from which on two with few kept branches become one before another is made.
const CROWD: usize = 64;
/// The whole of `plenty` and `luck`.
const ALWAYS: u32 = 1 << 16;
/// The share of `plenty` from which on second branches are kept.
const PLENTY_MIN: u32 = ALWAYS / 16;
/// The share of `luck` from which on any cell will do.
const LUCK_MIN: u32 = ALWAYS / 4 * 3;

impl<L: Lanes> Search<L> {
    const ALL: u32 = u32::MAX >> (32 - L::COUNT);
    /// Boards that leave their lanes together, while all lanes have work: moving takes as long for one as for all, and
    /// a board that waits costs its lane a sweep.
    const COMPANY: u32 = L::COUNT as u32 / 8;

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
            due: Vec::new(),
            plenty: ALWAYS,
            luck: 0,
            finished: Block::empty(),
            finished_owners: [0; 32],
            finished_count: 0,
            progress: Vec::new(),
            work: Work::default(),
        }
    }

    /// Solves all boards of a job.
    #[inline(always)]
    pub(super) fn run(&mut self, job: &mut Job<'_>) {
        self.begin(job);
        loop {
            if job.budget.stopped() {
                self.cancel(job);
                return;
            }
            self.fill(job);
            let busy = Self::ALL & !self.idle;
            if busy == 0 {
                return;
            }
            let seen = sweep(&mut self.live.cells);
            self.work.sweeps += 1;
            self.work.lane_sweeps += u64::from(busy.count_ones());
            let dead = seen.dead() & busy;
            let mut still = seen.sum.equal(self.sums) & busy & !dead;
            let full = seen.sum.equal(L::splat(SOLVED_SUM)) & busy & !dead;
            self.sums = seen.sum;
            if busy == Self::ALL && (dead | still | full).count_ones() < Self::COMPANY {
                continue;
            }
            for lane in bits(dead) {
                let owner = self.owners[lane];
                self.lose(owner);
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
        self.finished_count = 0;
        (self.fresh_first, self.fresh_left) = (0, 0);
        self.progress.clear();
        let untouched = Progress { nodes: 0, active: 1, finished: 0, kept: NOTHING, done: false };
        self.progress.resize(job.boards.len(), untouched);
        self.due.clear();
        self.ready.clear();
        self.spare.clear();
        self.spare.extend(0..self.groups.len());
        for group in &mut self.groups {
            (group.first, group.second, group.kept, group.is_ready) = (0, 0, 0, false);
        }
        self.gathering = self.spare_group();
    }

    /// A group without boards.
    #[inline(always)]
    fn spare_group(&mut self) -> usize {
        if self.spare.is_empty() && self.groups.len() >= CROWD {
            self.merge();
        }
        let index = self.spare.pop().unwrap_or_else(|| {
            self.groups.push(Group::empty());
            self.groups.len() - 1
        });
        self.groups[index].count = 0;
        index
    }

    /// Makes one group of the two with fewest kept branches, if there are two that fit.
    #[inline(always)]
    fn merge(&mut self) {
        let is_only_kept = |&index: &usize| {
            let group = &self.groups[index];
            index != self.gathering && group.kept != 0 && !group.is_ready
        };
        let kept = |&index: &usize| self.groups[index].kept.count_ones();
        let indices = || (0..self.groups.len()).filter(is_only_kept);
        let Some(from) = indices().min_by_key(kept) else { return };
        let Some(into) = indices().filter(|&index| index != from).min_by_key(kept) else { return };
        if kept(&from) + kept(&into) > L::COUNT as u32 {
            return;
        }
        let Ok([source, target]) = self.groups.get_disjoint_mut([from, into]) else { return };
        let (mut to, mut order) = (0, [0; 32]);
        for (slot, free) in bits(source.kept).zip(bits(Self::ALL & !target.kept)) {
            to |= 1 << free;
            order[free] = slot as u8;
            target.owners[free] = source.owners[slot];
            target.cells[free] = source.cells[slot];
            target.rest[free] = source.rest[slot];
        }
        target.block.take(to, &source.block, &order);
        target.kept |= to;
        source.kept = 0;
        for free in bits(to) {
            let (old, new) = (place(from, usize::from(order[free])), place(into, free));
            self.rename(self.groups[into].owners[free], old, new);
            // Only now: a place below may have been renamed where the old list had it.
            self.groups[into].below[free] = self.groups[from].below[usize::from(order[free])];
        }
        self.spare.push(from);
    }

    /// Changes one place in a puzzle's list of kept branches.
    #[inline(always)]
    fn rename(&mut self, owner: u32, old: u32, new: u32) {
        let mut at = &mut self.progress[owner as usize].kept;
        while *at != old && *at != NOTHING {
            let (index, slot) = parts(*at);
            at = &mut self.groups[index].below[slot];
        }
        *at = new;
    }

    /// Takes note that a group may have no boards any more.
    #[inline(always)]
    fn release(&mut self, index: usize) {
        let group = &self.groups[index];
        if group.first | group.second | group.kept == 0 && !group.is_ready && index != self.gathering {
            self.spare.push(index);
        }
    }

    /// Gives work to idle lanes: open branches first, so that little waits; then puzzles not begun; then what gathers.
    #[inline(always)]
    fn fill(&mut self, job: &mut Job<'_>) {
        while self.idle != 0 {
            if let Some(&top) = self.ready.last() {
                self.take_branches(top);
                if self.groups[top].first | self.groups[top].second == 0 {
                    self.ready.pop();
                    self.groups[top].is_ready = false;
                    self.release(top);
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
            } else if self.finished_count > 0 {
                self.settle(job);
            } else if !self.share() {
                return;
            }
        }
    }

    /// Makes a group of the branches kept last by puzzles that have nothing else.
    #[inline(always)]
    fn bring_back(&mut self) {
        let index = self.spare_group();
        let mut places = [(0, 0); 32];
        let mut count = 0;
        while count < L::COUNT {
            let Some(owner) = self.due.pop() else { break };
            let progress = &mut self.progress[owner as usize];
            if progress.kept == NOTHING || progress.done {
                continue;
            }
            places[count] = parts(progress.kept);
            let (from, slot) = places[count];
            progress.kept = self.groups[from].below[slot];
            progress.active += 1;
            self.groups[index].owners[count] = owner;
            count += 1;
        }
        let all = Self::first_lanes(count);
        let mut left = all;
        while left != 0 {
            let from = places[left.trailing_zeros() as usize].0;
            let Ok([target, source]) = self.groups.get_disjoint_mut([index, from]) else { break };
            let (mut to, mut order) = (0, [0; 32]);
            for lane in bits(left) {
                if places[lane].0 == from {
                    to |= 1 << lane;
                    order[lane] = places[lane].1 as u8;
                }
            }
            target.block.take(to, &source.block, &order);
            for lane in bits(to) {
                let slot = places[lane].1;
                target.block.cells[usize::from(source.cells[slot])].lanes_mut()[lane] = source.rest[slot];
                source.kept &= !(1 << slot);
            }
            left &= !to;
            self.release(from);
        }
        self.groups[index].first = all;
        self.open(index);
    }

    /// Lets lanes take the branches of a group.
    #[inline(always)]
    fn open(&mut self, index: usize) {
        let group = &mut self.groups[index];
        if group.first | group.second != 0 {
            group.is_ready = true;
            self.ready.push(index);
        } else {
            self.release(index);
        }
    }

    /// The lanes from 0 up to a number.
    #[inline(always)]
    fn first_lanes(count: usize) -> u32 {
        ((1u64 << count) - 1) as u32
    }

    /// At the end of a slice: lets kept branches come back early, so that the last puzzles use all lanes. False
    /// when there are none.
    #[inline(always)]
    fn share(&mut self) -> bool {
        let mut wanted = self.idle.count_ones();
        for lane in bits(Self::ALL & !self.idle) {
            let owner = self.owners[lane];
            if wanted > 0 && self.progress[owner as usize].kept != NOTHING {
                self.due.push(owner);
                wanted -= 1;
            }
        }
        !self.due.is_empty()
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
        if group.first == 0 {
            group.turn();
        }
        let (mut taken, mut order) = (0, [0; 32]);
        for lane in bits(self.idle) {
            while group.first != 0 {
                let slot = group.first.trailing_zeros() as usize;
                group.first &= group.first - 1;
                let owner = group.owners[slot];
                if !self.progress[owner as usize].done {
                    order[lane] = slot as u8;
                    self.owners[lane] = owner;
                    taken |= 1 << lane;
                    break;
                }
            }
        }
        if taken != 0 {
            self.live.take(taken, &group.block, &order);
            self.start(taken);
        }
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
        if self.luck >= LUCK_MIN {
            branch::choose::<L, false>(&group.block, &mut group.cells);
        } else {
            branch::choose::<L, true>(&group.block, &mut group.cells);
        }
        for slot in 0..group.count {
            let group = &self.groups[index];
            let owner = group.owners[slot];
            let progress = &self.progress[owner as usize];
            if progress.done {
                continue;
            }
            if group.cells[slot] == NONE {
                self.lose(owner);
                continue;
            }
            if progress.nodes == job.budget.nodes_max() {
                // What is found counts.
                if progress.finished > 0 {
                    self.settle(job);
                }
                if !self.progress[owner as usize].done {
                    self.end(owner, End::OutOfNodes, job);
                }
                continue;
            }
            let group = &mut self.groups[index];
            let progress = &mut self.progress[owner as usize];
            progress.nodes += 1;
            self.work.branchings += 1;
            let cell = &mut group.block.cells[usize::from(group.cells[slot])].lanes_mut()[slot];
            let guess = *cell & cell.wrapping_neg();
            group.rest[slot] = *cell & !guess;
            *cell = guess;
            group.first |= 1 << slot;
            let all_at_once = progress.nodes > PATIENCE || self.plenty < PLENTY_MIN;
            if all_at_once && self.ready.len() < READY_MAX {
                progress.active += 1;
                group.second |= 1 << slot;
            } else {
                group.kept |= 1 << slot;
                group.below[slot] = progress.kept;
                progress.kept = place(index, slot);
            }
        }
        self.gathering = NO_GROUP;
        self.open(index);
        self.gathering = self.spare_group();
    }

    /// Takes boards whose sum is that of a solved one out of their lanes. Such a board is a solution or dead, and there
    /// is no hurry to know which unless boards are at work that a solution makes needless.
    #[inline(always)]
    fn finish(&mut self, full: u32, job: &mut Job<'_>) {
        let mut hurry = false;
        let mut left = full;
        while left != 0 {
            let (mut to, mut order) = (0, [0; 32]);
            for lane in bits(left) {
                if self.finished_count == L::COUNT {
                    break;
                }
                left &= !(1 << lane);
                let owner = self.owners[lane];
                let progress = &mut self.progress[owner as usize];
                if progress.done {
                    continue;
                }
                progress.finished += 1;
                hurry |= progress.active > progress.finished
                    && job.verdicts[owner as usize].solutions + u64::from(progress.finished) >= job.limit;
                order[self.finished_count] = lane as u8;
                to |= 1 << self.finished_count;
                self.finished_owners[self.finished_count] = owner;
                self.finished_count += 1;
            }
            self.finished.take(to, &self.live, &order);
            if self.finished_count == L::COUNT {
                self.settle(job);
            }
        }
        self.idle |= full;
        if hurry {
            self.settle(job);
        }
    }

    /// Reads the answers off the finished boards.
    #[inline(always)]
    fn settle(&mut self, job: &mut Job<'_>) {
        let real = solved(&self.finished.cells);
        let mut values = [[0; CELLS]; 32];
        self.finished.values(&mut values);
        for (slot, values) in values[..self.finished_count].iter().enumerate() {
            let owner = self.finished_owners[slot];
            let progress = &mut self.progress[owner as usize];
            progress.finished -= 1;
            if progress.done {
                continue;
            }
            if real >> slot & 1 == 0 {
                self.lose(owner);
                continue;
            }
            let is_from_branching = progress.nodes > 0;
            let is_last = progress.active == 1 && progress.kept == NOTHING;
            let verdict = &mut job.verdicts[owner as usize];
            verdict.solutions += 1;
            let is_enough = verdict.solutions == job.limit;
            if verdict.solutions == 1 {
                verdict.solution = *values;
            }
            if let Some(witness) = &mut job.witness {
                witness(owner as usize, values);
            }
            if is_from_branching {
                raise(&mut self.luck);
            }
            if is_enough && !is_last {
                raise(&mut self.plenty);
                self.end(owner, End::Complete, job);
            } else {
                self.close(owner);
            }
        }
        self.finished_count = 0;
    }

    /// One board of a puzzle less: it had no solution.
    #[inline(always)]
    fn lose(&mut self, owner: u32) {
        if self.progress[owner as usize].nodes > 0 {
            lower(&mut self.luck);
        }
        self.close(owner);
    }

    /// One board of a puzzle less.
    #[inline(always)]
    fn close(&mut self, owner: u32) {
        let progress = &mut self.progress[owner as usize];
        progress.active -= 1;
        if progress.active == 0 && !progress.done {
            if progress.kept == NOTHING {
                progress.done = true;
                if progress.nodes > 0 {
                    lower(&mut self.plenty);
                }
            } else {
                self.due.push(owner);
            }
        }
    }

    /// Ends a puzzle that may still have boards in lanes and groups.
    #[inline(always)]
    fn end(&mut self, owner: u32, end: End, job: &mut Job<'_>) {
        job.verdicts[owner as usize].end = end;
        let progress = &mut self.progress[owner as usize];
        progress.done = true;
        let may_be_in_lanes = progress.active > 1;
        let mut kept = core::mem::replace(&mut progress.kept, NOTHING);
        while kept != NOTHING {
            let (index, slot) = parts(kept);
            let group = &mut self.groups[index];
            group.kept &= !(1 << slot);
            kept = group.below[slot];
            self.release(index);
        }
        if may_be_in_lanes {
            for lane in 0..L::COUNT {
                self.idle |= u32::from(self.owners[lane] == owner) << lane;
            }
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

/// Moves a share of [`ALWAYS`] towards all.
#[inline(always)]
fn raise(share: &mut u32) {
    *share += (ALWAYS - *share) / 64;
}

/// Moves a share towards none.
#[inline(always)]
fn lower(share: &mut u32) {
    *share -= *share / 64;
}

/// A lane of a group as one number.
#[inline(always)]
fn place(group: usize, slot: usize) -> u32 {
    (group * 32 + slot) as u32
}

/// The group and lane of a place.
#[inline(always)]
fn parts(place: u32) -> (usize, usize) {
    (place as usize / 32, place as usize % 32)
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
