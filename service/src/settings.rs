//! Layered settings: defaults < file < environment < flags. Knows no setting by name: a role hands in its type.
//!
//! Each layer is read into a flat list of keys first and checked against the keys of `T::default()`, so that every
//! error can say which key, where it came from and what was expected, and so that the listing can tell each
//! value's origin. The `config` crate reads TOML and the environment's names, merges, and deserializes.
//!
//! A type for settings is structs of structs, with text, numbers, booleans, unit enums, lists of those, [`Secret`]s
//! and newtypes of them as leaves. There is no `Option`: `""` or 0 means "none", and the field's doc says so.
//!
//! [`Secret`]: crate::Secret

mod shape;

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use config::{Config, Environment, FileFormat, Source, Value, ValueKind};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use shape::Unsupported;
use shape::{Kind, Leaf, show};

/// The variable that names the settings file. It is not a setting itself.
pub const FILE_VARIABLE: &str = "PUZZLED_CONFIG";
/// The file that is read when nobody names one, if it exists in the working directory.
pub const FILE_DEFAULT: &str = "puzzled.toml";
const PREFIX: &str = "PUZZLED";

/// Settings as they are in force.
#[derive(Debug, Clone)]
pub struct Loaded<T> {
    /// The settings, for the program.
    pub value: T,
    /// The same for people: one entry per key, in the order of declaration.
    pub settings: Vec<Setting>,
}

/// One setting in force, fit to be printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The dotted key: `redis.url`.
    pub key: String,
    /// Its value; secrets and the passwords in URLs are hidden.
    pub value: String,
    /// Where the value came from.
    pub origin: Origin,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// This settings file.
    File(PathBuf),
    /// This environment variable.
    Environment(String),
    /// The flag that sets this key.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Environment(variable) => write!(f, "environment variable {variable}"),
            Self::Flag(key) => write!(f, "command line flag for {key}"),
        }
    }
}

/// Why settings could not be loaded. No message contains a secret.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file that was asked for cannot be read.
    #[error("cannot read the settings file {path} ({asked_by}): {source}", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Who named it: the command line, a variable, or nobody.
        asked_by: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("the settings file {path} is not valid TOML: {message}", path = .path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, column and reason; the line itself is left out, since it may hold a password.
        message: String,
    },
    /// No such setting.
    #[error("unknown setting {key} ({origin}){}", suggestion(.nearest, .origin))]
    Unknown {
        /// The key as given.
        key: String,
        /// Who gave it.
        origin: Origin,
        /// The known key most like it.
        nearest: Option<String>,
    },
    /// The value has the wrong type or is out of range.
    #[error("{key} = {value} ({origin}) is not {expected}")]
    WrongType {
        /// The key.
        key: String,
        /// The value as given, secrets hidden.
        value: String,
        /// Who gave it.
        origin: Origin,
        /// What fits.
        expected: String,
    },
    /// The value has the right type and is refused all the same.
    #[error("{key} = {value} ({origin}): {reason}")]
    Refused {
        /// The key.
        key: String,
        /// The value as given, secrets hidden.
        value: String,
        /// Who gave it.
        origin: Origin,
        /// Why.
        reason: String,
    },
    /// Each value is right on its own, but not all of them together.
    #[error("these settings do not go together: {reason}")]
    Together {
        /// Why.
        reason: String,
    },
    /// A variable of ours holds bytes that are not text.
    #[error("the environment variable {variable} is not valid UTF-8")]
    NotUnicode {
        /// The variable.
        variable: String,
    },
    /// A bug in the type that was asked for.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

fn suggestion(nearest: &Option<String>, origin: &Origin) -> String {
    match (nearest, origin) {
        (None, _) => String::new(),
        (Some(key), Origin::Environment(_)) => format!("; did you mean {} ({key})?", variable(key)),
        (Some(key), _) => format!("; did you mean {key}?"),
    }
}

impl<T> Loaded<T> {
    /// The settings one a line, `key = value  # origin`, for `puzzled config`.
    #[must_use]
    pub fn listing(&self) -> String {
        let assignments: Vec<_> =
            self.settings.iter().map(|setting| format!("{} = {}", setting.key, setting.value)).collect();
        let width = assignments.iter().map(|text| text.chars().count()).max().unwrap_or(0).min(60);
        self.settings
            .iter()
            .zip(assignments)
            .map(|(setting, text)| format!("{text:width$}  # {}\n", setting.origin))
            .collect()
    }
}

/// The environment variable that sets `key`: `redis.url` is `PUZZLED_REDIS__URL`.
#[must_use]
pub fn variable(key: &str) -> String {
    format!("{PREFIX}_{}", key.replace('.', "__").to_uppercase())
}

/// Loads the settings of type `T`: its defaults, overridden by the file (the given one, else the one that
/// `PUZZLED_CONFIG` names, else `./puzzled.toml` if there is one), by `PUZZLED_SECTION__KEY` variables, and by
/// `flags`, pairs of dotted key and text. In variables and flags a list is separated by commas, and text stays text
/// even when it looks like a number.
///
/// Variables that Kubernetes adds for a service called `puzzled...` (`PUZZLED_REDIS_PORT=tcp://...`) are skipped;
/// every other `PUZZLED_` variable must be a setting.
///
/// # Errors
/// When the file cannot be read, a key is unknown in any layer, or a value does not fit: the first such, in the
/// order of the layers. Messages never contain a secret.
pub fn load<T>(file: Option<&Path>, flags: &[(String, String)]) -> Result<Loaded<T>, SettingsError>
where
    T: Serialize + DeserializeOwned + Default,
{
    load_from(file, Path::new(FILE_DEFAULT), std::env::vars_os(), flags)
}

/// [`load`] with its surroundings as arguments.
fn load_from<T>(
    file: Option<&Path>,
    file_default: &Path,
    environment: impl Iterator<Item = (OsString, OsString)>,
    flags: &[(String, String)],
) -> Result<Loaded<T>, SettingsError>
where
    T: Serialize + DeserializeOwned + Default,
{
    let known = Known(shape::leaves(&T::default())?);
    let environment = our_variables(environment)?;
    let mut set: HashMap<String, (ValueKind, Origin)> = HashMap::new();

    let named = environment.get(FILE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    if let Some((path, text)) = read_file(file, named, file_default)? {
        for (key, value) in parse_file(&path, &text)? {
            if matches!(value, ValueKind::Table(_)) && known.is_section(&key) {
                continue; // A heading with nothing below it.
            }
            let value = known.typed(&key, value, Origin::File(path.clone()))?;
            set.insert(key, (value, Origin::File(path.clone())));
        }
    }
    for (name, text) in
        environment.iter().filter(|(name, text)| *name != FILE_VARIABLE && !is_service_link(name, text))
    {
        let key = key_of_variable(name);
        let origin = Origin::Environment(name.clone());
        let value = known.parsed(&key, text, origin.clone())?;
        set.insert(key, (value, origin));
    }
    for (key, text) in flags {
        let origin = Origin::Flag(key.clone());
        let value = known.parsed(key, text, origin.clone())?;
        set.insert(key.clone(), (value, origin));
    }

    let value: T = match known.build(&set) {
        Ok(value) => value,
        Err(reason) => return Err(known.blame::<T>(&set, &reason)),
    };
    let settings = shape::leaves(&value)?
        .into_iter()
        .map(|leaf| Setting {
            value: leaf.shown(),
            origin: set.get(&leaf.key).map_or(Origin::Default, |(_, origin)| origin.clone()),
            key: leaf.key,
        })
        .collect();
    Ok(Loaded { value, settings })
}

/// The settings there are.
struct Known(Vec<Leaf>);

impl Known {
    fn leaf(&self, key: &str, origin: &Origin) -> Result<&Leaf, SettingsError> {
        if let Some(leaf) = self.0.iter().find(|leaf| leaf.key == key) {
            return Ok(leaf);
        }
        if self.is_section(key) {
            return Err(SettingsError::WrongType {
                key: key.to_owned(),
                // Whatever stands there may be a secret in the wrong place.
                value: crate::secret::MASK.to_owned(),
                origin: origin.clone(),
                expected: format!("a section; set one of its keys instead, such as {}", self.example(key)),
            });
        }
        Err(SettingsError::Unknown {
            key: key.to_owned(),
            origin: origin.clone(),
            nearest: self.nearest(key),
        })
    }

    fn example(&self, section: &str) -> &str {
        self.0.iter().find(|leaf| leaf.key.starts_with(&format!("{section}."))).map_or("", |leaf| &leaf.key)
    }

    /// Checks a typed value, from a file.
    fn typed(&self, key: &str, value: ValueKind, origin: Origin) -> Result<ValueKind, SettingsError> {
        let leaf = self.leaf(key, &origin)?;
        let shown = shown(leaf, &value);
        leaf.kind.fit(value).ok_or_else(|| wrong_type(leaf, shown, origin))
    }

    /// Reads a text, from a variable or a flag.
    fn parsed(&self, key: &str, text: &str, origin: Origin) -> Result<ValueKind, SettingsError> {
        let leaf = self.leaf(key, &origin)?;
        let value = leaf.kind.parse(text);
        value.ok_or_else(|| wrong_type(leaf, shown(leaf, &ValueKind::String(text.to_owned())), origin))
    }

    /// The defaults with `set` on top, as a `T`; else what the deserializer says.
    fn build<T: DeserializeOwned>(&self, set: &HashMap<String, (ValueKind, Origin)>) -> Result<T, String> {
        let text = |error: config::ConfigError| error.to_string();
        let mut builder = Config::builder();
        for leaf in &self.0 {
            let value = set.get(&leaf.key).map_or(&leaf.value, |(value, _)| value);
            builder = builder.set_override(&leaf.key, Value::new(None, value.clone())).map_err(text)?;
        }
        builder.build().and_then(Config::try_deserialize).map_err(text)
    }

    /// Finds the key that made `build` fail: the first that fails alone on top of the defaults. The deserializer's
    /// own account of the place depends on the type; this does not.
    fn blame<T: DeserializeOwned>(
        &self,
        set: &HashMap<String, (ValueKind, Origin)>,
        reason: &str,
    ) -> SettingsError {
        for leaf in &self.0 {
            let Some(entry) = set.get(&leaf.key) else { continue };
            let alone = HashMap::from([(leaf.key.clone(), entry.clone())]);
            if let Err(reason) = self.build::<T>(&alone) {
                let (value, origin) = entry;
                // The message begins with the key; the deserializer need not end with it.
                let place = format!(" for key `{}`", leaf.key);
                return SettingsError::Refused {
                    key: leaf.key.clone(),
                    value: shown(leaf, value),
                    origin: origin.clone(),
                    reason: without(leaf, value, reason.trim_end_matches(&place)),
                };
            }
        }
        let reason = self.0.iter().fold(reason.to_owned(), |reason, leaf| match set.get(&leaf.key) {
            Some((value, _)) => without(leaf, value, &reason),
            None => reason,
        });
        SettingsError::Together { reason }
    }

    fn is_section(&self, key: &str) -> bool {
        self.0.iter().any(|leaf| leaf.key.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
    }

    /// The known key most like `key`. Separators do not count, so that `redis_url` finds `redis.url`.
    fn nearest(&self, key: &str) -> Option<String> {
        let plain = |key: &str| key.to_lowercase().replace(['.', '_', '-'], "");
        let wanted = plain(key);
        let (distance, nearest) =
            self.0.iter().map(|leaf| (edit_distance(&wanted, &plain(&leaf.key)), &leaf.key)).min()?;
        // Half of it changed is no misspelling.
        (distance * 2 <= wanted.chars().count()).then(|| nearest.clone())
    }
}

fn wrong_type(leaf: &Leaf, value: String, origin: Origin) -> SettingsError {
    SettingsError::WrongType { key: leaf.key.clone(), value, origin, expected: leaf.kind.expected() }
}

/// A given value, fit for an error message.
fn shown(leaf: &Leaf, value: &ValueKind) -> String {
    match (leaf.kind, value) {
        (Kind::Secret, _) => crate::secret::MASK.to_owned(),
        (_, ValueKind::String(text)) => format!("{:?}", crate::secret::redact(text)),
        (_, value) => show(value),
    }
}

/// `message` without the value it may repeat, where that value must not be shown.
fn without(leaf: &Leaf, value: &ValueKind, message: &str) -> String {
    let message = match value {
        ValueKind::String(text) if leaf.kind == Kind::Secret && !text.is_empty() => {
            message.replace(text.as_str(), crate::secret::MASK)
        }
        ValueKind::String(text) => message.replace(text.as_str(), &crate::secret::redact(text)),
        _ => message.to_owned(),
    };
    crate::secret::redact(&message)
}

/// The variables that begin with our prefix, as text, sorted: the first error must not depend on the system's order.
fn our_variables(
    all: impl Iterator<Item = (OsString, OsString)>,
) -> Result<BTreeMap<String, String>, SettingsError> {
    let prefix = format!("{PREFIX}_");
    all.filter_map(|(name, value)| {
        Some((name.into_string().ok().filter(|name| name.starts_with(&prefix))?, value))
    })
    .map(|(name, value)| match value.into_string() {
        Ok(value) => Ok((name, value)),
        Err(_) => Err(SettingsError::NotUnicode { variable: name }),
    })
    .collect()
}

/// The dotted key that a variable of ours sets. Its value stays out of this: `config` would guess types, and turn
/// a password of digits into a number.
fn key_of_variable(name: &str) -> String {
    let one = config::Map::from([(name.to_owned(), String::new())]);
    let environment =
        Environment::with_prefix(PREFIX).prefix_separator("_").separator("__").source(Some(one)).collect();
    environment.ok().and_then(|keys| keys.into_keys().next()).unwrap_or_else(|| name.to_lowercase())
}

/// Whether Kubernetes set this variable: it gives every pod the addresses of every service in its namespace, named
/// after them, and a service called `puzzled-redis` must not keep our pods from starting.
fn is_service_link(name: &str, value: &str) -> bool {
    if name.contains("__") {
        return false;
    }
    let is_address = ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme));
    let port = name.split("_PORT_").nth(1).and_then(|rest| rest.split_once('_'));
    name.ends_with("_SERVICE_HOST")
        || name.ends_with("_SERVICE_PORT")
        || name.contains("_SERVICE_PORT_")
        || (name.ends_with("_PORT") && is_address)
        || port.is_some_and(|(number, protocol)| {
            number.parse::<u16>().is_ok()
                && ["TCP", "UDP", "SCTP"].iter().any(|known| protocol.starts_with(known))
        })
}

/// The settings file's path and text; `None` when there is none and nobody asked for one.
fn read_file(
    given: Option<&Path>,
    named: Option<PathBuf>,
    default: &Path,
) -> Result<Option<(PathBuf, String)>, SettingsError> {
    let (path, asked_by, must_exist) = match (given, named) {
        (Some(path), _) => (path.to_owned(), "named on the command line", true),
        (None, Some(path)) => (path, "named by PUZZLED_CONFIG", true),
        (None, None) => (default.to_owned(), "found in the working directory", false),
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some((path, text))),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !must_exist => Ok(None),
        Err(source) => Err(SettingsError::Unreadable { path, asked_by, source }),
    }
}

/// The dotted keys and values of a TOML text, sorted by key.
fn parse_file(path: &Path, text: &str) -> Result<BTreeMap<String, ValueKind>, SettingsError> {
    let tables = config::File::from_str(text, FileFormat::Toml).collect().map_err(|error| {
        SettingsError::Syntax { path: path.to_owned(), message: without_source_lines(&error.to_string()) }
    })?;
    let mut keys = BTreeMap::new();
    let mut tables = vec![(String::new(), tables)];
    while let Some((section, table)) = tables.pop() {
        for (name, value) in table {
            let key = if section.is_empty() { name } else { format!("{section}.{name}") };
            match value.kind {
                ValueKind::Table(table) if !table.is_empty() => tables.push((key, table)),
                kind => {
                    keys.insert(key, kind);
                }
            }
        }
    }
    Ok(keys)
}

/// The parser's message without its picture of the line (`3 | password = ...`), which may hold a secret.
fn without_source_lines(message: &str) -> String {
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let Some((place, rest)) = lines.split_first() else { return String::new() };
    let place = place.trim_start_matches("TOML parse error ");
    let after_picture = rest.iter().rposition(|line| line.contains('|')).map_or(0, |at| at + 1);
    let reason = &rest[after_picture..];
    if reason.is_empty() { place.to_owned() } else { format!("{place}: {}", reason.join("; ")) }
}

/// Levenshtein's distance: how many letters to insert, delete or replace.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
