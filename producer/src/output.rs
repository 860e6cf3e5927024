//! The output thread: formats outcomes and writes them in large pieces, at once when nothing more is ready.
//!
//! A thread of its own, because a reader that dawdles blocks whoever writes, and signals and leases must not wait.

use std::io::{self, Write};

use puzzled_queue::Formatter;
use puzzled_queue::wire::{Payload, PayloadReader};
use puzzled_solver::{OutcomeKind, Outcomes};
use tokio::sync::{mpsc, oneshot};

/// Written at once.
const BLOCK_BYTES: usize = 256 * 1024;

/// Parts that wait for the thread. Their outcomes count as unwritten, so the window bounds their bytes.
const PARTS_AHEAD: usize = 64;

/// Outcomes to write.
#[derive(Debug)]
pub(crate) struct Piece {
    /// Index of the first job, from the beginning of the input.
    pub(crate) first: u64,
    pub(crate) outcomes: Outcomes,
    /// The puzzles, where the format shows them.
    pub(crate) payload: Option<Payload>,
    /// Chunk to be dropped from the queue once this is written.
    pub(crate) chunk: u64,
}

/// What became of pieces.
#[derive(Debug)]
pub(crate) enum Written {
    /// This one is written, the whole of it.
    Piece { chunk: u64, jobs: u64, counts: [u64; OutcomeKind::ALL.len()] },
    /// Writing failed and is over.
    Broken { error: io::Error, jobs: u64 },
}

/// The thread, for whoever stops early: it ends by itself once nobody can send pieces any more.
#[derive(Debug)]
pub(crate) struct Ending(oneshot::Receiver<u64>);

impl Ending {
    /// Waits until everything handed over is written; the jobs whose lines are out, if that is known.
    pub(crate) async fn jobs(&mut self) -> Option<u64> {
        (&mut self.0).await.ok()
    }
}

/// Starts the thread.
pub(crate) fn start(
    output: impl Write + Send + 'static,
    formatter: Formatter,
) -> io::Result<(mpsc::Sender<Piece>, mpsc::UnboundedReceiver<Written>, Ending)> {
    let (pieces, inbox) = mpsc::channel(PARTS_AHEAD);
    // Bounded by the pieces on their way.
    let (acks, outbox) = mpsc::unbounded_channel();
    let (end, ending) = oneshot::channel();
    std::thread::Builder::new().name("output".to_owned()).spawn(move || {
        let mut writer = Writer::new(output, formatter);
        if let Err(error) = writer.run(inbox, &acks) {
            let jobs = writer.jobs();
            // Whoever started us may be gone.
            drop(acks.send(Written::Broken { error, jobs }));
        }
        // Nobody may wait for it.
        end.send(writer.jobs()).ok();
    })?;
    Ok((pieces, outbox, Ending(ending)))
}

/// Formats and writes, and knows how many whole lines are out.
pub(crate) struct Writer<W> {
    output: W,
    formatter: Formatter,
    buffer: Vec<u8>,
    lines: u64,
    /// Lines before the first job.
    head: u64,
}

impl<W: Write> Writer<W> {
    /// Begins with the head of the format, which is written with the first piece.
    pub(crate) fn new(output: W, formatter: Formatter) -> Self {
        let mut buffer = Vec::new();
        let head = formatter.begin(&mut buffer);
        Self { output, formatter, buffer, lines: 0, head }
    }

    /// Jobs whose lines are out, the whole of each.
    pub(crate) fn jobs(&self) -> u64 {
        self.lines.saturating_sub(self.head)
    }

    /// Whether it is time to write.
    pub(crate) fn is_full(&self) -> bool {
        self.buffer.len() >= BLOCK_BYTES
    }

    fn run(
        &mut self,
        mut inbox: mpsc::Receiver<Piece>,
        acks: &mpsc::UnboundedSender<Written>,
    ) -> io::Result<()> {
        let mut done = Vec::new();
        while let Some(piece) = inbox.blocking_recv() {
            let mut next = Some(piece);
            while let Some(piece) = next {
                self.format(&piece);
                done.push(Written::Piece {
                    chunk: piece.chunk,
                    jobs: piece.outcomes.len() as u64,
                    counts: piece.outcomes.counts().map(u64::from),
                });
                next = if self.is_full() { None } else { inbox.try_recv().ok() };
            }
            self.write()?;
            for ack in done.drain(..) {
                // Whoever started us may be gone; then nobody needs to know.
                drop(acks.send(ack));
            }
        }
        self.write()
    }

    /// Adds lines to what is to be written.
    pub(crate) fn format(&mut self, piece: &Piece) {
        let wanted = piece.payload.as_ref().filter(|_| self.formatter.wants_puzzles());
        let puzzles = wanted.and_then(|payload| PayloadReader::parse(&payload.bytes, payload.jobs).ok());
        for (i, outcome) in piece.outcomes.iter().enumerate() {
            let puzzle = puzzles.as_ref().and_then(|read| read.line(i));
            self.formatter.write(piece.first + i as u64, puzzle, outcome, &mut self.buffer);
        }
    }

    /// Writes what was formatted.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        let mut rest = &self.buffer[..];
        while !rest.is_empty() {
            match self.output.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    self.lines += memchr::memchr_iter(b'\n', &rest[..n]).count() as u64;
                    rest = &rest[n..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.buffer.clear();
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use puzzled_queue::{BatchId, Format};

    use super::*;

    /// Takes so many bytes, then is full.
    struct Disk(usize);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let n = bytes.len().min(self.0);
            self.0 -= n;
            if n == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(n) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_full_disk_tells_how_many_lines_are_whole() {
        let check = async |format, bytes, expected| {
            let formatter = Formatter::new(format, BatchId::new());
            let (pieces, mut acks, _ending) = start(Disk(bytes), formatter).unwrap();
            let mut outcomes = Outcomes::new();
            (0..10).for_each(|_| outcomes.push(OutcomeKind::Solved, b"123"));
            pieces.send(Piece { first: 0, outcomes, payload: None, chunk: 0 }).await.unwrap();
            drop(pieces);
            match acks.recv().await.unwrap() {
                Written::Broken { jobs, error } => {
                    assert_eq!((jobs, error.kind()), (expected, io::ErrorKind::StorageFull));
                }
                other => panic!("{other:?}"),
            }
        };
        check(Format::Text, 0, 0).await;
        check(Format::Text, 3, 0).await;
        check(Format::Text, 4, 1).await;
        check(Format::Text, 39, 9).await;
        check(Format::Csv, 21 + 13, 1).await;
    }
}
