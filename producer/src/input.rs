//! The input: a file or standard input, read and cut into chunks by a thread of its own.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use puzzled_queue::NewChunk;
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
    /// Size of a regular file, 0 for anything else.
    size: u64,
    lines: Lines<File>,
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
        Ok(Self { name, size, lines: Lines::new(file) })
    }

    /// What it is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The open file.
    pub fn file(&self) -> &File {
        self.lines.reader()
    }

    /// The task the first line looks made for; `None` when it looks like nothing known. Waits for that line.
    ///
    /// # Errors
    /// [`InputError::Empty`] and [`InputError::Read`].
    pub fn guess_task(&mut self) -> Result<Option<Task>, InputError> {
        match self.lines.peek() {
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
    pub(crate) chunks: Vec<NewChunk>,
    pub(crate) bad_lines: Vec<BadLine>,
    /// Parts of the input read so far, in millionths; 0 = no idea.
    pub(crate) share_ppm: u64,
    /// Said once: the number of bad lines, or what went wrong.
    pub(crate) end: Option<Result<u64, InputError>>,
}

fn run(input: Input, mut chunker: Chunker, linger: Option<Duration>, sender: &mpsc::Sender<Cut>) {
    let Input { name, size, mut lines } = input;
    let hand_over = |chunker: &mut Chunker, consumed: u64, end| {
        let cut = Cut {
            chunks: chunker.take_chunks(),
            bad_lines: chunker.take_bad_lines(),
            share_ppm: (consumed.min(size) * 1_000_000).checked_div(size).unwrap_or(0),
            end,
        };
        sender.blocking_send(cut).is_ok()
    };
    let end = loop {
        while let Some(line) = lines.buffered() {
            chunker.push(line);
            if chunker.chunks() >= CHUNKS_PER_CUT && !hand_over(&mut chunker, lines.consumed(), None) {
                return;
            }
        }
        if let Some(linger) = linger.filter(|_| chunker.open_jobs() > 0)
            && !has_more(lines.reader(), linger)
        {
            chunker.flush();
        }
        if chunker.chunks() > 0 && !hand_over(&mut chunker, lines.consumed(), None) {
            return;
        }
        match lines.fill() {
            Ok(true) => {}
            Ok(false) => {
                // The last line may have no end.
                while let Some(line) = lines.buffered() {
                    chunker.push(line);
                }
                chunker.finish();
                break Ok(chunker.bad());
            }
            Err(source) => {
                chunker.finish();
                break Err(InputError::Read { name, source });
            }
        }
    };
    // Nobody to tell when the receiver is gone.
    hand_over(&mut chunker, lines.consumed(), Some(end));
}

/// Whether something (the end, too) can be read within that time. Files always can.
fn has_more(file: &File, within: Duration) -> bool {
    let timeout = Timespec::try_from(within).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
    let mut fds = [PollFd::new(file, PollFlags::IN)];
    !matches!(poll(&mut fds, Some(&timeout)), Ok(0))
}
