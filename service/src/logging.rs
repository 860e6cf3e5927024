//! Log lines on stderr: text for people, JSON for machines, times in UTC.
//! This file installs the one global subscriber; it decides nothing about what is logged.

use std::io::{self, IsTerminal};

use serde::{Deserialize, Serialize};
use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// What is logged, and how it looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogConfig {
    /// Filter directives: `info`, or `info,puzzled_queue=debug`. Default `info`; empty means `error`.
    pub level: String,
    /// The form of a line. Default `text`.
    pub format: LogFormat,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { level: "info".to_owned(), format: LogFormat::Text }
    }
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum LogFormat {
    /// One line for people, coloured on a terminal unless `NO_COLOR` is set.
    #[default]
    Text,
    /// One JSON object a line, the event's fields at its top level.
    Json,
}

impl TryFrom<String> for LogFormat {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        match name.as_str() {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("the formats are text and json"),
        }
    }
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// `log.level` does not parse.
    #[error("log.level = {level:?} is no filter such as \"info\" or \"info,puzzled_queue=debug\": {source}")]
    Level {
        /// The directives as given.
        level: String,
        /// What the filter's parser says.
        source: tracing_subscriber::filter::ParseError,
    },
    /// A subscriber is already installed in this process; it stays.
    #[error("logging is already set up in this process")]
    AlreadySet,
}

/// Installs logging for the whole process. Log lines go to stderr, because stdout belongs to results.
///
/// # Errors
/// When the directives do not parse, or when logging has been set up before (the first one stays in force).
pub fn init(config: &LogConfig) -> Result<(), LogError> {
    let colour =
        io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let subscriber = subscriber(config, colour, io::stderr)?;
    tracing::subscriber::set_global_default(subscriber).map_err(|_| LogError::AlreadySet)
}

fn subscriber<W>(
    config: &LogConfig,
    colour: bool,
    writer: W,
) -> Result<Box<dyn Subscriber + Send + Sync>, LogError>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let filter = EnvFilter::try_new(&config.level)
        .map_err(|source| LogError::Level { level: config.level.clone(), source })?;
    // The formatter reports its own write errors with `eprintln!`, which panics when stderr is closed: a log
    // that nobody reads must not kill a worker. Its clock is the system's, printed in UTC with a `Z`.
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(colour)
        .log_internal_errors(false);
    Ok(match config.format {
        LogFormat::Text => Box::new(lines.finish()),
        LogFormat::Json => Box::new(lines.json().flatten_event(true).with_span_list(false).finish()),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Captured(Arc<Mutex<Vec<u8>>>);

    impl Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(config: &LogConfig, log: impl FnOnce()) -> String {
        let captured = Captured::default();
        let writer = captured.clone();
        let subscriber = subscriber(config, false, move || writer.clone()).unwrap();
        tracing::subscriber::with_default(subscriber, log);
        String::from_utf8(captured.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn text_lines_carry_a_utc_time_and_fields() {
        let text = lines(&LogConfig::default(), || {
            tracing::info!(kind = "sudoku", jobs = 3, "chunk done");
            tracing::debug!("too quiet to be heard");
        });
        assert!(text.trim_end().ends_with("chunk done kind=\"sudoku\" jobs=3"), "{text}");
        assert!(text.split(' ').next().unwrap().ends_with('Z'), "{text}");
        assert_eq!(text.lines().count(), 1);
    }

    #[test]
    fn json_lines_have_the_fields_at_the_top() {
        let config = LogConfig { level: "debug".to_owned(), format: LogFormat::Json };
        let text = lines(&config, || tracing::debug!(jobs = 3, "chunk done"));
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&line["jobs"], &line["message"]), (&3.into(), &"chunk done".into()), "{text}");
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'), "{text}");
    }

    #[test]
    fn bad_directives_are_named_and_a_second_set_up_is_an_error() {
        let config = LogConfig { level: "info,=x=".to_owned(), ..LogConfig::default() };
        let error = init(&config).unwrap_err().to_string();
        assert!(error.contains("log.level = \"info,=x=\""), "{error}");

        init(&LogConfig { level: "off".to_owned(), ..LogConfig::default() }).unwrap();
        assert!(matches!(init(&LogConfig::default()), Err(LogError::AlreadySet)));
    }
}
