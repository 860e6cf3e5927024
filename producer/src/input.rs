//! The input: a file, standard input or numbers in sequence, read and cut into chunks by a thread of its own.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use puzzled_queue::wire::Payload;
use puzzled_solver::Task;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc;

use crate::chunker::{BadLine, Chunker};
use crate::config::Config;
use crate::lines::{Line, Lines};

/// Chunks handed over at once; small chunks would else cost a message each.
const CHUNKS_PER_CUT: usize = 256;

/// Hand-overs the reader may be ahead.
const CUTS_AHEAD: usize = 4;

/// Bad lines that are described; the rest is counted.
pub const BAD_LINES_MAX: u64 = 10;

/// Why there is no input.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// It cannot be opened.
    #[error("cannot open {name}: {source}")]
    Open {
        /// What it is called.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// Reading it failed.
    #[error("cannot read {name}: {source}")]
    Read {
        /// What it is called.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// A directory.
    #[error("{0} is a directory: give a file with one puzzle a line, or - for standard input")]
    Directory(String),
    /// Nothing in it.
    #[error("no puzzles in {0}: it is empty")]
    Empty(String),
}

/// An open input.
#[derive(Debug)]
pub struct Input {
    name: String,
    source: Source,
}

/// Where lines come from.
#[derive(Debug)]
enum Source {
    /// `size` of a regular file in bytes, 0 for anything else.
    File { lines: Lines<File>, size: u64 },
    /// Numbers in decimal digits, one a line: `left` of them from `next` on.
    Numbers { next: u64, left: u64 },
}

impl Input {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// When it cannot be opened or is a directory.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        let is_stdin = path == Path::new("-");
        let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
        let opened = if is_stdin {
            io::stdin().as_fd().try_clone_to_owned().map(File::from)
        } else {
            File::open(path)
        };
        let with_size = opened.and_then(|file| file.metadata().map(|metadata| (file, metadata)));
        let (file, metadata) = with_size.map_err(|source| InputError::Open { name: name.clone(), source })?;
        if metadata.is_dir() {
            return Err(InputError::Directory(name));
        }
        let size = if metadata.is_file() { metadata.len() } else { 0 };
        Ok(Self { name, source: Source::File { lines: Lines::new(file), size } })
    }

    /// Lines that are the numbers from `first` on, `count` of them, made while they are read. `None` if there are not
    /// so many below 2^64.
    pub fn numbers(first: u64, count: u64) -> Option<Self> {
        first.checked_add(count.checked_sub(1)?)?;
        let name = format!("numbers from {first}");
        Some(Self { name, source: Source::Numbers { next: first, left: count } })
    }

    /// What it is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The open file, if it is one.
    pub fn file(&self) -> Option<&File> {
        match &self.source {
            Source::File { lines, .. } => Some(lines.reader()),
            Source::Numbers { .. } => None,
        }
    }

    /// The task the first line looks made for; `None` when it looks like nothing known. Waits for that line.
    ///
    /// # Errors
    /// [`InputError::Empty`] and [`InputError::Read`].
    pub fn guess_task(&mut self) -> Result<Option<Task>, InputError> {
        let Source::File { lines, .. } = &mut self.source else { return Ok(None) };
        match lines.peek() {
            Ok(Some(Line::Text(text))) => Ok(Task::guess(text)),
            Ok(Some(Line::TooLong)) => Ok(None),
            Ok(None) => Err(InputError::Empty(self.name.clone())),
            Err(source) => Err(InputError::Read { name: self.name.clone(), source }),
        }
    }

    /// Starts the thread that reads to the end. It ends with its input, or when the receiver goes; while it waits
    /// for a terminal nobody needs to wait for it.
    pub(crate) fn read(self, task: &Task, config: &Config, linger: bool) -> mpsc::Receiver<Cut> {
        let (sender, receiver) = mpsc::channel(CUTS_AHEAD);
        let chunker = Chunker::new(task, config.chunk_jobs, config.encoding, BAD_LINES_MAX);
        let linger = linger.then(|| Duration::from_millis(config.linger_ms));
        let failed = sender.clone();
        let spawned = std::thread::Builder::new()
            .name("input".to_owned())
            .spawn(move || run(self, chunker, linger, &sender));
        if let Err(source) = spawned {
            let error = InputError::Read { name: "the input".to_owned(), source };
            drop(failed.try_send(Cut { end: Some(Err(error)), ..Cut::default() }));
        }
        receiver
    }
}

/// What the reader hands over.
#[derive(Default, Debug)]
pub(crate) struct Cut {
    pub(crate) chunks: Vec<Payload>,
    pub(crate) bad_lines: Vec<BadLine>,
    /// Jobs expected in all; 0 = no idea.
    pub(crate) expected: u64,
    /// Said once: the number of bad lines, or what went wrong.
    pub(crate) end: Option<Result<u64, InputError>>,
}

fn run(input: Input, chunker: Chunker, linger: Option<Duration>, sender: &mpsc::Sender<Cut>) {
    let reader = Reader { chunker, jobs: 0, sender };
    match input.source {
        Source::File { lines, size } => reader.read_file(&input.name, lines, size, linger),
        Source::Numbers { next, left } => reader.count_numbers(next, left),
    }
}

/// The thread's state.
struct Reader<'a> {
    chunker: Chunker,
    /// Jobs handed over.
    jobs: u64,
    sender: &'a mpsc::Sender<Cut>,
}

impl Reader<'_> {
    fn read_file(mut self, name: &str, mut lines: Lines<File>, size: u64, linger: Option<Duration>) {
        let end = loop {
            while let Some(line) = lines.buffered() {
                self.chunker.push(line);
                if self.chunker.chunks() >= CHUNKS_PER_CUT && !self.hand_over(share(&lines, size), None) {
                    return;
                }
            }
            if let Some(linger) = linger.filter(|_| self.chunker.open_jobs() > 0)
                && !has_more(lines.reader(), linger)
            {
                self.chunker.flush();
            }
            if self.chunker.chunks() > 0 && !self.hand_over(share(&lines, size), None) {
                return;
            }
            match lines.fill() {
                Ok(true) => {}
                Ok(false) => {
                    // The last line may have no end.
                    while let Some(line) = lines.buffered() {
                        self.chunker.push(line);
                    }
                    break Ok(self.chunker.bad());
                }
                Err(source) => break Err(InputError::Read { name: name.to_owned(), source }),
            }
        };
        self.chunker.finish();
        // Nobody to tell when the receiver is gone.
        self.hand_over(share(&lines, size), Some(end));
    }

    fn count_numbers(mut self, next: u64, left: u64) {
        let share = |done: u64| (u128::from(done), u128::from(left));
        let mut text = Vec::new();
        for done in 0..left {
            text.clear();
            write!(text, "{}", next + done).expect("a Vec takes any text");
            self.chunker.push(Line::Text(&text));
            if self.chunker.chunks() >= CHUNKS_PER_CUT && !self.hand_over(share(done + 1), None) {
                return;
            }
        }
        self.chunker.finish();
        let end = Ok(self.chunker.bad());
        self.hand_over(share(left), Some(end));
    }

    /// `share`: how much of how much is read, in whatever unit; of nothing if that is not known. Says whether anybody
    /// still listens.
    fn hand_over(&mut self, (done, all): (u128, u128), end: Option<Result<u64, InputError>>) -> bool {
        let chunks = self.chunker.take_chunks();
        self.jobs += chunks.iter().map(|chunk| u64::from(chunk.jobs)).sum::<u64>();
        // Jobs handed over are a little less than those read, and the same of large inputs.
        let expected = (u128::from(self.jobs) * all).checked_div(done).unwrap_or(0);
        let cut = Cut {
            chunks,
            bad_lines: self.chunker.take_bad_lines(),
            expected: u64::try_from(expected).unwrap_or(u64::MAX),
            end,
        };
        self.sender.blocking_send(cut).is_ok()
    }
}

/// How many bytes are read, and how many there are.
fn share(lines: &Lines<File>, size: u64) -> (u128, u128) {
    (u128::from(lines.consumed().min(size)), u128::from(size))
}

/// Whether something (the end, too) can be read within that time. Files always can.
fn has_more(file: &File, within: Duration) -> bool {
    let timeout = Timespec::try_from(within).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
    let mut fds = [PollFd::new(file, PollFlags::IN)];
    !matches!(poll(&mut fds, Some(&timeout)), Ok(0))
}
