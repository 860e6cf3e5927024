//! What a viewer looks at, and what has to be read for it: at most once a reading of the feed, whoever asks.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::StatusCode;
use puzzled_queue::{BatchId, DeadFilter, DeadLetter, Error, JobId, JobState, Part};
use puzzled_solver::OutcomeKind;
use tokio::sync::{OnceCell, Semaphore};

use crate::access::Permit;
use crate::api::problem::Problem;
use crate::feed::Frame;
use crate::looks::Looks;
use crate::pages::{self, Scene};
use crate::snapshot::Batch;
use crate::trial::{TriedPuzzle, Tries};

/// Failures shown of a batch.
const FAILURES_MAX: u64 = 10;
/// Outcomes looked through for them in one reading.
const SCAN_JOBS: u64 = 16_384;
/// Readings after which dead letters are read again though their number is the same.
const DEAD_EVERY: u64 = 10;
/// Questions put to Redis at once, so that many viewers of different things wait and do not flood it.
const AT_ONCE: usize = 2;
/// Views kept at most, should somebody ask for ever new ones; those beyond are read for each who asks.
const ENTRIES_MAX: usize = 2_000;
/// What nobody has asked for so long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(10);

/// A view, with all that decides what it shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum View {
    /// Big figures, depth, outcomes, the newest batches.
    Now,
    /// Batches whose id or label begins with a text.
    Batches { q: String, count: usize },
    /// One batch.
    Batch(BatchId),
    /// Workers and checks.
    Workers,
    /// Dead letters.
    Dead { filter: DeadFilter, count: usize },
    /// Trying a puzzle: one on its way, or what stands in the form.
    Try { job: Option<JobId>, puzzle: String, task: String },
}

impl View {
    /// A text that is the same for the same view alone.
    fn key(&self) -> String {
        format!("{self:?}")
    }
}

/// A job without an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BadJob {
    pub(crate) index: u64,
    pub(crate) kind: OutcomeKind,
    pub(crate) text: String,
}

/// What was read for a view beyond the feed.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Nothing,
    Batches(Vec<Batch>),
    Batch {
        batch: Box<Batch>,
        failures: Failures,
    },
    /// `kept`: how many there were in all, in the reading `number`.
    Dead {
        letters: Vec<DeadLetter>,
        kept: u64,
        number: u64,
    },
    Try(JobState),
}

/// The first jobs without an answer, found little by little.
#[derive(Clone, Default, Debug)]
pub(crate) struct Failures {
    pub(crate) found: Vec<BadJob>,
    /// Jobs before this one were looked through.
    next: u64,
}

/// Answers, shared by all who ask the same.
#[derive(Clone)]
pub(crate) struct Desk(Arc<Inner>);

struct Inner {
    looks: Looks,
    tries: Arc<Tries>,
    entries: Mutex<HashMap<String, Arc<Entry>>>,
    at_once: Semaphore,
}

type Answered = Result<Arc<Answer>, Problem>;

/// One view, as of the newest reading that somebody saw it in.
struct Entry(Mutex<Slot>);

struct Slot {
    used: Instant,
    /// The reading of the feed.
    number: u64,
    /// Filled by the first who asks; the others wait for it.
    answer: Arc<OnceCell<Answered>>,
    /// The last answer of an earlier reading.
    last: Option<Arc<Answer>>,
    /// Events made of it, by what makes them differ.
    events: HashMap<(Permit, String), Bytes>,
}

impl Entry {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer for a reading, to be filled if need be, and the one before it.
    fn turn_to(&self, number: u64) -> (Arc<OnceCell<Answered>>, Option<Arc<Answer>>) {
        let mut slot = self.slot();
        if number > slot.number {
            if let Some(Ok(answer)) = slot.answer.get() {
                slot.last = Some(answer.clone());
            }
            slot.number = number;
            slot.answer = Arc::default();
            slot.events.clear();
        }
        (slot.answer.clone(), slot.last.clone())
    }
}

impl Desk {
    pub(crate) fn new(looks: Looks, tries: Arc<Tries>) -> Self {
        let (entries, at_once) = (Mutex::default(), Semaphore::new(AT_ONCE));
        Self(Arc::new(Inner { looks, tries, entries, at_once }))
    }

    /// What is to be shown of a view beyond the feed's figures.
    pub(crate) async fn answer(&self, view: &View, frame: &Frame) -> Answered {
        let (cell, last) = self.entry(view).turn_to(frame.number);
        cell.get_or_init(|| self.find(view, frame, last)).await.clone()
    }

    /// A whole page, and its status.
    pub(crate) async fn page(
        &self,
        view: &View,
        frame: &Frame,
        permit: Permit,
        said: &str,
        secret: &str,
    ) -> (StatusCode, String) {
        let answer = self.answer(view, frame).await;
        let status = answer.as_ref().map_or_else(|problem| problem.status, |_| StatusCode::OK);
        let tried = self.tried(view);
        (status, pages::whole(&Scene { view, answer: &answer, frame, permit, said, secret, tried }))
    }

    /// The markup of what is live in a view, as an event: made once a reading, however many look.
    pub(crate) async fn event(&self, view: &View, frame: &Frame, permit: Permit, said: &str) -> Bytes {
        let answer = self.answer(view, frame).await;
        let make = || {
            let (tried, secret) = (self.tried(view), "");
            let scene = Scene { view, answer: &answer, frame, permit, said, secret, tried };
            Bytes::from(event(&pages::live(&scene)))
        };
        let entry = self.entry(view);
        let mut slot = entry.slot();
        if slot.number != frame.number {
            // Somebody saw a newer reading meanwhile, and so will this viewer.
            drop(slot);
            return make();
        }
        slot.events.entry((permit, said.to_owned())).or_insert_with(make).clone()
    }

    fn tried(&self, view: &View) -> Option<TriedPuzzle> {
        match view {
            View::Try { job: Some(job), .. } => self.0.tries.get(*job),
            _ => None,
        }
    }

    fn entry(&self, view: &View) -> Arc<Entry> {
        let mut entries = self.0.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let used = Instant::now();
        entries.retain(|_, entry| entry.slot().used + FORGOTTEN > used);
        let fresh = || {
            let slot = Slot { used, number: 0, answer: Arc::default(), last: None, events: HashMap::new() };
            Arc::new(Entry(Mutex::new(slot)))
        };
        let key = view.key();
        if entries.len() >= ENTRIES_MAX && !entries.contains_key(&key) {
            return fresh();
        }
        let entry = entries.entry(key).or_insert_with(fresh).clone();
        entry.slot().used = used;
        entry
    }

    async fn find(&self, view: &View, frame: &Frame, last: Option<Arc<Answer>>) -> Answered {
        let is_in_frame = matches!(view, View::Now | View::Workers | View::Try { job: None, .. });
        match (&frame.snapshot.stale, last) {
            _ if is_in_frame => Ok(Arc::new(Answer::Nothing)),
            (None, last) => {
                let _turn = self.0.at_once.acquire().await;
                self.read(view, frame, last).await.map_err(Problem::from)
            }
            // The page says that it is stale; what it shows stays.
            (Some(_), Some(last)) => Ok(last),
            (Some(reason), None) => Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, reason.clone())),
        }
    }

    async fn read(
        &self,
        view: &View,
        frame: &Frame,
        last: Option<Arc<Answer>>,
    ) -> Result<Arc<Answer>, Error> {
        let looks = &self.0.looks;
        let answer = match view {
            View::Now | View::Workers | View::Try { job: None, .. } => Answer::Nothing,
            View::Batches { q, count } => Answer::Batches(looks.batches(q, *count).await?),
            View::Batch(id) => {
                let batch = Box::new(looks.batch(*id).await?);
                let mut failures = match last.as_deref() {
                    Some(Answer::Batch { failures, .. }) => failures.clone(),
                    _ => Failures::default(),
                };
                if !batch.collected && (failures.found.len() as u64) < bad_jobs(&batch).min(FAILURES_MAX) {
                    self.scan(*id, &mut failures).await?;
                }
                Answer::Batch { batch, failures }
            }
            View::Dead { filter, count } => {
                // A filter may look through a hundred thousand letters: only when there is something new to find.
                let (now_kept, now) = (frame.snapshot.dead_letters, frame.number);
                match last {
                    Some(last) if matches!(&*last, Answer::Dead { kept, number, .. } if *kept == now_kept && now < number + DEAD_EVERY) =>
                    {
                        return Ok(last);
                    }
                    _ => Answer::Dead {
                        letters: looks.queue.dead_letters(filter, *count).await?,
                        kept: now_kept,
                        number: now,
                    },
                }
            }
            View::Try { job: Some(job), .. } => match last {
                Some(last) if matches!(&*last, Answer::Try(JobState::Recorded { .. })) => return Ok(last),
                _ => Answer::Try(looks.queue.job(*job).await?),
            },
        };
        Ok(Arc::new(answer))
    }

    /// Looks a little further for jobs without an answer.
    async fn scan(&self, id: BatchId, failures: &mut Failures) -> Result<(), Error> {
        let mut reader = self.0.looks.queue.follow(id, failures.next).await?;
        let until = failures.next + SCAN_JOBS;
        while failures.next < until && (failures.found.len() as u64) < FAILURES_MAX {
            let Some(Part { first, outcomes, .. }) = reader.next_ready().await? else { break };
            for (place, outcome) in outcomes.iter().enumerate().filter(|(_, outcome)| is_bad(outcome.kind)) {
                let text = String::from_utf8_lossy(outcome.text).into_owned();
                failures.found.push(BadJob { index: first + place as u64, kind: outcome.kind, text });
            }
            failures.found.truncate(FAILURES_MAX as usize);
            failures.next = first + outcomes.len() as u64;
        }
        Ok(())
    }
}

/// Jobs of a batch that ended without an answer for a reason of their own.
pub(crate) fn bad_jobs(batch: &Batch) -> u64 {
    let bad = OutcomeKind::ALL.into_iter().filter(|kind| is_bad(*kind));
    bad.filter_map(|kind| batch.outcomes.get(kind.name())).sum()
}

fn is_bad(kind: OutcomeKind) -> bool {
    matches!(kind, OutcomeKind::Invalid | OutcomeKind::Failed | OutcomeKind::TimedOut)
}

/// Markup as a server-sent event. Foreign text has lost its control characters before, so there is no carriage return in it.
fn event(markup: &str) -> String {
    let mut text = String::with_capacity(markup.len() + markup.len() / 16 + 32);
    text.push_str("event: page\n");
    for line in markup.lines() {
        // Writing to a String cannot fail.
        let written = writeln!(text, "data: {line}");
        debug_assert!(written.is_ok());
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_however_many_lines_it_has() {
        assert_eq!(
            event("<p>a</p>\n\n<p>b</p>\n"),
            "event: page\ndata: <p>a</p>\ndata: \ndata: <p>b</p>\n\n"
        );
    }

    #[test]
    fn views_that_show_other_things_have_other_keys() {
        let batches = |q: &str| View::Batches { q: q.to_owned(), count: 50 };
        assert_ne!(batches("a").key(), batches("b").key());
        assert_ne!(batches("Now").key(), View::Now.key());
        assert_eq!(batches("a").key(), batches("a").key());
    }
}
