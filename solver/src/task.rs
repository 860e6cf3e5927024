//! A task: which operation of which kind, with which options; and its text form.
//!
//! The text form is on the wire and in keys, so it is canonical: [`Task`]'s `Display` always names every option, also
//! those at their default, and a later change of a default does not change what a stored batch means. Only `time_ms`, which
//! every task takes and which decides nothing about an answer, is left out where it is not set.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::engine::Engine;
use crate::kind::Kind;
use crate::outcome::OutcomeRef;
use crate::parse_error::ParseError;

/// What one kind offers. Each folder has one, and `kind.rs` lists them.
pub(crate) struct Door {
    pub(crate) name: &'static str,
    /// The first one is what [`Task::guess`] picks.
    pub(crate) operations: &'static [Operation],
    /// Whether a line has the shape of this kind's puzzles; it need not be a correct one.
    pub(crate) fits: fn(&[u8]) -> bool,
    /// Whether a line begins a puzzle written on several lines.
    pub(crate) begins_grid: fn(&[u8]) -> bool,
    /// Whether the text holds all the lines of a puzzle written on several.
    pub(crate) grid_is_complete: fn(&[u8]) -> bool,
    /// A puzzle to try, of the first operation: another for another number.
    pub(crate) random: fn(u64) -> String,
}

/// One operation of a kind. Function pointers and not a trait: every one of them is a plain function of the folder,
/// and the table reads as a table.
pub(crate) struct Operation {
    /// What stands behind the dot; empty where the kind has but one operation and is its whole name.
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) options: &'static [OptionSpec],
    /// Why these values cannot go together, if they cannot.
    pub(crate) conflict: fn(&Values) -> Option<&'static str>,
    pub(crate) canonical: fn(&[u8], &mut Vec<u8>) -> Result<(), ParseError>,
    pub(crate) verify: fn(&Values, &[u8], OutcomeRef<'_>) -> bool,
    pub(crate) engine: fn(&Values) -> Box<dyn Engine>,
    /// About what a job takes on one core, until somebody has measured.
    pub(crate) typical: fn(&Values) -> Duration,
}

/// One option of an operation.
pub(crate) struct OptionSpec {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// A number, or a word's place in its list.
    pub(crate) default: u64,
    pub(crate) domain: Domain,
    /// Whether jobs take longer or shorter for it.
    pub(crate) weighs: bool,
}

/// What an option may be set to.
pub(crate) enum Domain {
    /// A whole number from the first to the second.
    Number(u64, u64),
    /// One of these words; the value is its place in the list. Words may be added at the end, never moved.
    Word(&'static [&'static str]),
}

impl Domain {
    fn read(&self, text: &str) -> Option<u64> {
        match self {
            Domain::Number(min, max) => text.parse().ok().filter(|number| (min..=max).contains(&number)),
            Domain::Word(words) => words.iter().position(|word| *word == text).map(|place| place as u64),
        }
    }

    fn text(&self, value: u64) -> String {
        match self {
            Domain::Number(..) => value.to_string(),
            Domain::Word(words) => words[value as usize].to_owned(),
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Domain::Number(min, max) => write!(f, "a whole number from {min} to {max}"),
            Domain::Word(words) => write!(f, "one of {}", words.join(", ")),
        }
    }
}

/// The `conflict` of operations whose options never quarrel.
pub(crate) const NO_CONFLICT: fn(&Values) -> Option<&'static str> = |_| None;

/// The option values of a task, in the order of its operation's table; the rest are zero.
pub(crate) type Values = [u64; OPTIONS_MAX];
const OPTIONS_MAX: usize = 12;

/// Kind, operation and options: everything an engine must know besides the puzzles.
///
/// # Examples
///
/// ```
/// use puzzled_solver::{Kind, Task};
///
/// let task: Task = "sudoku.count".parse()?;
/// assert_eq!(task.kind(), Kind::Sudoku);
/// assert_eq!(task.to_string(), "sudoku.count:limit=1000");
/// # Ok::<(), puzzled_solver::TaskError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Task {
    kind: Kind,
    /// Index into the door's operations.
    operation: usize,
    values: Values,
    /// In ms; 0 is not set.
    time_ms: u64,
}

/// What every task takes besides its own options: how long one job may take.
const TIME: OptionSpec = OptionSpec {
    name: "time_ms",
    about: "ms a job may take before it ends as timed_out",
    default: 0,
    domain: Domain::Number(1, 86_400_000),
    weighs: false,
};

/// One line of the table of tasks, for help texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskInfo {
    /// The task with its options at their defaults.
    pub task: Task,
    /// What it does, in one line.
    pub about: &'static str,
    /// Its options, in the order of the task's text.
    pub options: Vec<OptionInfo>,
}

/// One option in the table of tasks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionInfo {
    /// The name before the `=`.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// What it is when the task's text does not say.
    pub default: String,
    /// What it may be set to, in words.
    pub values: String,
}

/// Why a text names no task.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// No task of that name.
    #[error("there is no task {name:?}; there are {}", known_names())]
    UnknownTask {
        /// What stands before the first colon.
        name: String,
    },
    /// The task has no option of that name.
    #[error("{task} has no option {option:?}")]
    UnknownOption {
        /// The task's name.
        task: String,
        /// The option as written.
        option: String,
    },
    /// The same option twice.
    #[error("{task} has its option {option:?} twice")]
    RepeatedOption {
        /// The task's name.
        task: String,
        /// The option's name.
        option: String,
    },
    /// Not a value the option takes.
    #[error("{task}: {option} must be {expected}, not {value:?}")]
    BadValue {
        /// The task's name.
        task: String,
        /// The option as written.
        option: String,
        /// The value as written.
        value: String,
        /// What the option takes, in words.
        expected: String,
    },
    /// Every option is right alone, but they ask for what cannot be.
    #[error("{task}: {reason}")]
    Conflict {
        /// The task's name.
        task: String,
        /// What cannot be, and which options to change.
        reason: &'static str,
    },
}

impl Task {
    /// The task's kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How long one job may take; `None` leaves it to the worker.
    pub fn time_limit(&self) -> Option<Duration> {
        (self.time_ms > 0).then(|| Duration::from_millis(self.time_ms))
    }

    /// The name without options, `sudoku.count`: few and fixed, so fit for a metrics label.
    pub fn name(&self) -> String {
        full_name(self.kind, self.operation())
    }

    /// For people: the name, and those options that are not at their defaults.
    pub fn brief(&self) -> String {
        self.text(|spec, value| value != spec.default)
    }

    /// Tasks with the same key take about the same time a job: the name, and the options that weigh.
    pub fn cost_key(&self) -> String {
        self.text(|spec, _| spec.weighs)
    }

    /// About what a job takes on one core, until somebody has measured.
    pub fn typical_cost(&self) -> Duration {
        (self.operation().typical)(&self.values)
    }

    /// The task that the first line of an input looks made for: a sudoku of any size (as a line, or the first row of
    /// a grid) is `sudoku.solve`, nine tiles are `slide.solve`. It goes by shape and forgives single wrong
    /// characters, so that a file with a bad first line still finds its task. Hidden kinds are never guessed.
    pub fn guess(first_line: &[u8]) -> Option<Task> {
        let kind = Kind::PUBLIC.iter().copied().find(|kind| (kind.door().fits)(first_line))?;
        Some(Self::with_defaults(kind, 0))
    }

    /// Every task of the public kinds, options at their defaults.
    pub fn table() -> impl Iterator<Item = TaskInfo> {
        Kind::PUBLIC.iter().flat_map(|&kind| {
            kind.door().operations.iter().enumerate().map(move |(operation, row)| TaskInfo {
                task: Self::with_defaults(kind, operation),
                about: row.about,
                options: (row.options.iter())
                    .map(|spec| OptionInfo {
                        name: spec.name,
                        about: spec.about,
                        default: spec.domain.text(spec.default),
                        values: spec.domain.to_string(),
                    })
                    .collect(),
            })
        })
    }

    /// Checks one input line and appends its canonical text (never with a newline) to `out`. Blank space around the
    /// puzzle, a carriage return too, is dropped. The line may also be a whole grid of several lines where the kind
    /// knows such ([`Task::begins_grid`]).
    ///
    /// # Errors
    ///
    /// The place and reason of the first fault; `out` is then untouched.
    pub fn canonical(&self, line: &[u8], out: &mut Vec<u8>) -> Result<(), ParseError> {
        (self.operation().canonical)(line, out)
    }

    /// Whether this line, as the first of an input, begins a puzzle written on several lines. If so, collect lines,
    /// joined by newlines, until [`Task::grid_is_complete`] and give them to [`Task::canonical`] together.
    ///
    /// Ask it of the first line of an input only: in a file of one puzzle a line, a line cut short may look like the
    /// first row of a grid and would swallow its neighbours.
    pub fn begins_grid(&self, line: &[u8]) -> bool {
        // A line that is a puzzle by itself begins none: to `sudoku.generate`, 123456789 is a number and not a row.
        (self.kind.door().begins_grid)(line) && self.canonical(line, &mut Vec::new()).is_err()
    }

    /// Whether the text has all the cells of a grid that began with its first line. Text with a fault in it may be
    /// complete too; `canonical` then says what is wrong.
    pub fn grid_is_complete(&self, text: &[u8]) -> bool {
        (self.kind.door().grid_is_complete)(text)
    }

    /// Checks one answer by code that shares nothing with the engines.
    ///
    /// What is checked without solving: a `Solved` or `Multiple` answer really solves this very puzzle, and where it
    /// shows several solutions, no two are alike; an `Invalid`
    /// puzzle really does not parse; a slide board without solution really has the wrong parity; a count lies within
    /// its limit; a rating is one that its technique may have; explained steps lead to a solution; what `TimedOut` gives
    /// as its best is a true solution, or as much of a rating or of steps. What is not: that a sudoku has no other
    /// solution, or none, or as many as counted; that steps are the easiest; and that a slide path is the shortest.
    /// `Cancelled` and `Failed` claim nothing and always pass.
    pub fn verify(&self, puzzle: &[u8], outcome: OutcomeRef<'_>) -> bool {
        (self.operation().verify)(&self.values, puzzle, outcome)
    }

    /// A new engine for this task. It may share large read-only tables with others; the first one may take
    /// milliseconds to build them.
    pub fn engine(&self) -> Box<dyn Engine> {
        (self.operation().engine)(&self.values)
    }

    fn with_defaults(kind: Kind, operation: usize) -> Self {
        let mut values = [0; OPTIONS_MAX];
        for (value, spec) in values.iter_mut().zip(kind.door().operations[operation].options) {
            *value = spec.default;
        }
        Self { kind, operation, values, time_ms: 0 }
    }

    /// The name and those options that are to be shown.
    fn text(&self, shown: impl Fn(&OptionSpec, u64) -> bool) -> String {
        let mut text = self.name();
        let time = (self.time_ms > 0).then_some((&TIME, self.time_ms));
        let options = self.operation().options.iter().zip(self.values).chain(time);
        for (i, (spec, value)) in options.filter(|(spec, value)| shown(spec, *value)).enumerate() {
            let sign = if i == 0 { ':' } else { ',' };
            text += &format!("{sign}{}={}", spec.name, spec.domain.text(value));
        }
        text
    }

    fn operation(&self) -> &'static Operation {
        &self.kind.door().operations[self.operation]
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(|_, _| true))
    }
}

impl FromStr for Task {
    type Err = TaskError;

    /// Reads `kind.operation`, or `kind.operation:option=value,option=value`.
    fn from_str(text: &str) -> Result<Self, TaskError> {
        let (name, options) = match text.split_once(':') {
            Some((name, options)) => (name, Some(options)),
            None => (text, None),
        };
        let mut task = Self::named(name).ok_or_else(|| TaskError::UnknownTask { name: name.to_owned() })?;
        let mut seen = [false; OPTIONS_MAX + 1];
        for option in options.into_iter().flat_map(|options| options.split(',')) {
            task.set(name, option, &mut seen)?;
        }
        match (task.operation().conflict)(&task.values) {
            Some(reason) => Err(TaskError::Conflict { task: name.to_owned(), reason }),
            None => Ok(task),
        }
    }
}

impl Task {
    fn named(name: &str) -> Option<Self> {
        let tasks = Kind::ALL.into_iter().flat_map(|kind| {
            kind.door().operations.iter().enumerate().map(move |(index, row)| (kind, index, row))
        });
        tasks
            .into_iter()
            .find(|&(kind, _, row)| full_name(kind, row) == name)
            .map(|(kind, index, _)| Self::with_defaults(kind, index))
    }

    /// Takes one `option=value`.
    fn set(&mut self, task: &str, text: &str, seen: &mut [bool; OPTIONS_MAX + 1]) -> Result<(), TaskError> {
        let (option, value) = text.split_once('=').unwrap_or((text, ""));
        let specs = self.operation().options;
        let Some(index) = specs.iter().chain([&TIME]).position(|spec| spec.name == option) else {
            return Err(TaskError::UnknownOption { task: task.to_owned(), option: option.to_owned() });
        };
        if std::mem::replace(&mut seen[index], true) {
            return Err(TaskError::RepeatedOption { task: task.to_owned(), option: option.to_owned() });
        }
        let (domain, place) = match specs.get(index) {
            Some(spec) => (&spec.domain, &mut self.values[index]),
            None => (&TIME.domain, &mut self.time_ms),
        };
        *place = domain.read(value).ok_or_else(|| TaskError::BadValue {
            task: task.to_owned(),
            option: option.to_owned(),
            value: value.to_owned(),
            expected: domain.to_string(),
        })?;
        Ok(())
    }
}

fn full_name(kind: Kind, operation: &Operation) -> String {
    match operation.name {
        "" => kind.name().to_owned(),
        name => format!("{}.{name}", kind.name()),
    }
}

fn known_names() -> String {
    Task::table().map(|info| info.task.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        let found = text.parse::<Task>().map(|task| task.to_string()).map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text:?}");
    }

    #[test]
    fn text_form() {
        check("sudoku.solve", Ok("sudoku.solve"));
        check("sudoku.count", Ok("sudoku.count:limit=1000"));
        check("sudoku.count:limit=7", Ok("sudoku.count:limit=7"));
        check("slide.solve", Ok("slide.solve"));
        check("echo", Ok("echo"));
        check("echo:time_ms=5", Ok("echo:time_ms=5"));
        check("sudoku.count:time_ms=900,limit=7", Ok("sudoku.count:limit=7,time_ms=900"));
        let brief = |text: &str| text.parse::<Task>().map(|task| task.brief());
        assert_eq!(brief("sudoku.count:limit=1000,time_ms=5").as_deref(), Ok("sudoku.count:time_ms=5"));
        assert_eq!(
            brief("sudoku.generate:seed=0,what=minimal").as_deref(),
            Ok("sudoku.generate:what=minimal")
        );
        assert_eq!(brief("sudoku.solve").as_deref(), Ok("sudoku.solve"));
        let key = |text: &str| text.parse::<Task>().map(|task| task.cost_key());
        assert_eq!(key("sudoku.count:time_ms=5").as_deref(), Ok("sudoku.count:limit=1000"));
        assert_eq!(key("sudoku.generate:seed=1,corner=2"), key("sudoku.generate"));
        assert_ne!(key("sudoku.generate:what=minimal"), key("sudoku.generate"));
        check("echo:time_ms=5,time_ms=5", Err("echo has its option \"time_ms\" twice"));
        check("echo:time_ms=0", Err("echo: time_ms must be a whole number from 1 to 86400000, not \"0\""));
        let unknown = "sudoku".parse::<Task>().unwrap_err().to_string();
        assert!(unknown.starts_with("there is no task \"sudoku\"; there are sudoku.solve, "), "{unknown}");
        check("sudoku.solve:limit=2", Err("sudoku.solve has no option \"limit\""));
        check("sudoku.solve:", Err("sudoku.solve has no option \"\""));
        check("sudoku.count:limit=7,limit=8", Err("sudoku.count has its option \"limit\" twice"));
        check(
            "sudoku.count:limit=0",
            Err("sudoku.count: limit must be a whole number from 1 to 1000000000, not \"0\""),
        );
        check(
            "sudoku.count:limit",
            Err("sudoku.count: limit must be a whole number from 1 to 1000000000, not \"\""),
        );
    }

    #[test]
    fn every_task_of_the_table_reads_back() {
        assert!(Task::table().count() >= 3);
        for info in Task::table() {
            assert_eq!(info.task.to_string().parse(), Ok(info.task));
        }
        for kind in Kind::ALL {
            assert!(kind.door().operations.iter().all(|row| row.options.len() <= OPTIONS_MAX));
        }
    }

    #[test]
    fn an_option_takes_numbers_or_words() {
        let number = Domain::Number(1, 9);
        let numbers = ["1", "9", "0", "10", "-1", "", "x"].map(|text| number.read(text));
        assert_eq!(numbers, [Some(1), Some(9), None, None, None, None, None]);
        let word = Domain::Word(&["no", "yes"]);
        let words = ["no", "yes", "NO", "1", ""].map(|text| word.read(text));
        assert_eq!(words, [Some(0), Some(1), None, None, None]);
        for (domain, text) in [(number, "7"), (word, "yes")] {
            assert_eq!(domain.text(domain.read(text).unwrap()), text);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_any_task_panic(
            name in "(sudoku.solve|sudoku.count|slide.solve|echo)?[:=,a-z0-9]{0,12}",
            line in proptest::collection::vec(proptest::num::u8::ANY, 0..100),
        ) {
            let task = name.parse::<Task>().ok().or_else(|| Task::guess(&line));
            if let Some(task) = task {
                assert_eq!(task.to_string().parse(), Ok(task.clone()));
                let mut out = Vec::new();
                assert!(task.canonical(&line, &mut out).is_ok() || out.is_empty());
            }
        }
    }

    #[test]
    fn guess_goes_by_shape() {
        let guess = |line: &[u8]| Task::guess(line).map(|task| task.to_string());
        let sudoku = Some("sudoku.solve".to_owned());
        let slide = Some("slide.solve".to_owned());
        assert_eq!(guess(&[b'.'; 81]), sudoku);
        assert_eq!(guess(&[b'0'; 16]), sudoku);
        assert_eq!(guess(&[b'G'; 256]), sudoku);
        assert_eq!(guess(&[b'*'; 625]), sudoku);
        let mut spoilt = [b'.'; 81];
        spoilt[5] = b'x';
        assert_eq!(guess(&spoilt), sudoku);
        assert_eq!(guess(b"53..7...."), sudoku);
        assert_eq!(guess(b"5 3 . | . 7 . | . . .\r"), sudoku);
        assert_eq!(guess(b"12345678x"), slide);
        assert_eq!(guess(b"1 2 3 4 5 6 7 8 x\r"), slide);
        assert_eq!(guess(b"11345678x"), slide);
        for line in [&b""[..], b"x", b"hello, world", b"!bad", b"\xff\xfe", &[b'a'; 81]] {
            assert_eq!(guess(line), None, "{line:?}");
        }
    }
}
