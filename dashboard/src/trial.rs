//! Trying one puzzle through the queue: what was pasted becomes a batch of one, of high priority, and its outcome is waited for.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use puzzled_queue::wire::{Encoding, LINE_BYTES_MAX, PayloadWriter};
use puzzled_queue::{Batch, Error, JobId, NewChunk, Priority, Queue};
use puzzled_solver::Task;

/// How long a try is waited for before its page is shown without an outcome. The page goes on looking.
const PATIENCE: Duration = Duration::from_secs(3);

/// Longest a try may take a solver thread, in ms: it shares it with those who wait for more.
const TIME_MS_MAX: u64 = 10_000;

/// Tries remembered for the pages that show them.
const KEPT_MAX: usize = 256;

/// A puzzle that was tried here.
#[derive(Clone, Debug)]
pub(crate) struct TriedPuzzle {
    /// As it was pasted.
    pub(crate) puzzle: String,
    /// What was asked for: a task, or nothing for what the puzzle looks like.
    pub(crate) asked: String,
    /// Its task.
    pub(crate) task: String,
    /// From the click to the outcome, as this process saw it; `None` when it gave up waiting.
    pub(crate) total_us: Option<u64>,
}

/// The last tries, by job.
#[derive(Default)]
pub(crate) struct Tries(Mutex<VecDeque<(JobId, TriedPuzzle)>>);

impl Tries {
    pub(crate) fn get(&self, job: JobId) -> Option<TriedPuzzle> {
        let tries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tries.iter().find(|(known, _)| *known == job).map(|(_, tried)| tried.clone())
    }

    fn put(&self, job: JobId, tried: TriedPuzzle) {
        let mut tries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tries.push_back((job, tried));
        if tries.len() > KEPT_MAX {
            tries.pop_front();
        }
    }
}

/// The task and the canonical text of what somebody pasted: one puzzle, on one line or as a grid. The error is for people.
pub(crate) fn read(pasted: &str, asked: &str) -> Result<(Task, Vec<u8>), String> {
    let lines: Vec<&str> = pasted.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let Some(first) = lines.first() else { return Err("there is no puzzle here: paste one".to_owned()) };
    let task: Task = if asked.is_empty() {
        let guessed = Task::guess(first.as_bytes());
        guessed.ok_or("this looks like no puzzle that is known: choose its task, or paste another")?
    } else {
        asked.parse().map_err(|error: puzzled_solver::TaskError| error.to_string())?
    };
    let text = if lines.len() == 1 || task.begins_grid(first.as_bytes()) {
        lines.join("\n")
    } else {
        return Err(format!("these are {} lines: try one puzzle, or submit a file", lines.len()));
    };
    let mut canonical = Vec::new();
    task.canonical(text.as_bytes(), &mut canonical).map_err(|error| error.to_string())?;
    if canonical.len() > LINE_BYTES_MAX {
        return Err(format!("a puzzle has at most {LINE_BYTES_MAX} bytes"));
    }
    Ok((task, canonical))
}

/// Submits a puzzle that was read, waits a little for its outcome, and remembers it.
pub(crate) async fn submit(
    queue: &Queue,
    tries: &Tries,
    pasted: &str,
    asked: &str,
    (task, canonical): (Task, Vec<u8>),
) -> Result<JobId, Error> {
    let begun = Instant::now();
    let limited = if task.time_limit().is_some() { Ok(task) } else { limit(&task) };
    let task = limited.map_err(|error| Error::Malformed(error.to_string()))?;
    let batch =
        Batch { priority: Priority::High, label: "try it".to_owned(), chunk_jobs: 1, ..Batch::new(task) };
    let job = JobId { batch: batch.id, index: 0 };
    let mut follow = queue.follow(batch.id, 0).await?;
    follow.listen().await?;
    let mut writer = PayloadWriter::new(&batch.task, Encoding::Text);
    writer.push(|out| out.extend_from_slice(&canonical));
    let chunks: Vec<NewChunk> = NewChunk::number([writer.take()]).collect();
    queue.submit(&batch, &chunks).await?;
    // It is submitted: whatever happens to the waiting, the page finds it.
    let waited = tokio::time::timeout(PATIENCE, follow.next()).await;
    let total_us = matches!(waited, Ok(Ok(Some(_))))
        .then(|| u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
    let (puzzle, asked, task) = (pasted.to_owned(), asked.to_owned(), batch.task.brief());
    tries.put(job, TriedPuzzle { puzzle, asked, task, total_us });
    Ok(job)
}

fn limit(task: &Task) -> Result<Task, puzzled_solver::TaskError> {
    let text = task.to_string();
    let sign = if text.contains(':') { ',' } else { ':' };
    format!("{text}{sign}time_ms={TIME_MS_MAX}").parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_paste_is_read_or_they_are_told_why_not() {
        let row = "...8.1..........435............7.8........1...2..3....6......75..34........2..6..";
        let check =
            |pasted: &str, asked: &str, expected: Result<&str, &str>| match (read(pasted, asked), expected) {
                (Ok((task, _)), Ok(name)) => assert_eq!(task.name(), name),
                (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
                (read, expected) => panic!("{read:?} where {expected:?} was expected"),
            };
        check(row, "", Ok("sudoku.solve"));
        check(&format!("\r\n  {row}\r\n\n"), "sudoku.count", Ok("sudoku.count"));
        let grid: String =
            row.as_bytes().chunks(9).map(|line| String::from_utf8_lossy(line) + "\r\n").collect();
        check(&grid, "", Ok("sudoku.solve"));
        check("23415x768", "", Ok("slide.solve"));
        check("  \n ", "", Err("no puzzle here"));
        check("hello", "", Err("no puzzle that is known"));
        check(&format!("{row}\n{row}"), "", Err("2 lines"));
        check(&row.replace('8', "?"), "", Err("column"));
        check(row, "sudoku.sing", Err("sudoku.sing"));
    }

    #[test]
    fn a_try_has_a_time_limit_of_its_own_or_ours() {
        assert_eq!(
            limit(&"sudoku.count".parse().unwrap()).unwrap().to_string(),
            "sudoku.count:limit=1000,time_ms=10000"
        );
        assert_eq!(limit(&"slide.solve".parse().unwrap()).unwrap().to_string(), "slide.solve:time_ms=10000");
    }

    #[test]
    fn the_last_tries_are_remembered() {
        let (tries, batch) = (Tries::default(), puzzled_queue::BatchId::new());
        let job = |index| JobId { batch, index };
        for index in 0..=KEPT_MAX as u64 {
            let (puzzle, asked, task) = (String::new(), String::new(), String::new());
            tries.put(job(index), TriedPuzzle { puzzle, asked, task, total_us: None });
        }
        assert!(tries.get(job(0)).is_none() && tries.get(job(1)).is_some());
    }
}
