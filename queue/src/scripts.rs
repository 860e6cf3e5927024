//! The Lua scripts: one file each in `scripts/`, headed by KEYS, ARGV, returns and what is atomic.

use std::sync::LazyLock;

use redis::Pipeline;

/// A script as Redis gets it: comments and indentation taken off, since the text travels.
pub(crate) struct Script(LazyLock<Loaded>);

struct Loaded {
    text: String,
    hash: String,
}

impl Loaded {
    fn new(source: &str) -> Self {
        let text = compact(source);
        let hash = redis::Script::new(&text).get_hash().to_owned();
        Self { text, hash }
    }
}

macro_rules! script {
    ($($name:ident = $($file:literal)+;)+) => {
        $(pub(crate) static $name: Script = Script(LazyLock::new(|| {
            Loaded::new(concat!($(include_str!(concat!("scripts/", $file, ".lua"))),+))
        }));)+

        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &Script)] = &[$((stringify!($name), &$name)),+];
    };
}

script! {
    CREATE = "settle" "create";
    ENQUEUE = "settle" "feed" "enqueue";
    BEGIN = "feed" "begin";
    COMPLETE = "settle" "feed" "complete";
    DROP = "drop";
    CANCEL = "settle" "cancel";
    COLLECT = "collect";
    RENEW = "renew";
    RELEASE = "release";
    FORGET = "forget";
    SWEEP = "settle" "sweep";
}

/// How a script is named to the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// By its hash: short, but the server may have forgotten it since its restart.
    Hash,
    /// By its text: always works. Inside a transaction this is the only safe way, because NOSCRIPT there would
    /// run the other half of the transaction.
    Text,
}

impl Script {
    /// Appends a call with these keys to the pipeline; the caller appends the arguments.
    pub(crate) fn call<'a>(&self, pipe: &'a mut Pipeline, mode: Mode, keys: &[&str]) -> &'a mut Pipeline {
        match mode {
            Mode::Hash => pipe.cmd("EVALSHA").arg(&self.0.hash),
            Mode::Text => pipe.cmd("EVAL").arg(self.text()),
        };
        pipe.arg(keys.len()).arg(keys)
    }

    pub(crate) fn text(&self) -> &str {
        &self.0.text
    }

    #[cfg(test)]
    pub(crate) fn hash(&self) -> &str {
        &self.0.hash
    }
}

fn compact(source: &str) -> String {
    let lines = source.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("--"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_says_its_keys_arguments_and_returns() {
        for (name, script) in ALL {
            assert!(!script.text().contains("-- "), "{name}: comments must not travel");
            let file = format!("{}/src/scripts/{}.lua", env!("CARGO_MANIFEST_DIR"), name.to_lowercase());
            let source = std::fs::read_to_string(&file).unwrap();
            for heading in ["-- KEYS:", "-- ARGV:", "-- Returns:"] {
                assert!(source.contains(heading), "{file} lacks '{heading}'");
            }
        }
    }
}
