//! `puzzled config`: the settings in force and where each comes from, as a settings file.

use std::fmt::Write as _;

use clap::Args;
use puzzled_service::Exit;
use puzzled_service::secret::MASK;
use puzzled_service::settings::{Loaded, Origin};
use serde_json::Value;

use crate::failure::Failure;
use crate::settings::Settings;

/// Flags of `puzzled config`.
#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    /// Show the defaults, whatever is set.
    #[arg(long)]
    defaults: bool,
}

/// Prints every setting.
pub(crate) fn run(args: &ConfigArgs, loaded: &Loaded<Settings>) -> Result<(), Failure> {
    let value = if args.defaults { &Settings::default() } else { &loaded.value };
    let values = serde_json::to_value(value).map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
    super::print(&toml(&values, loaded, args.defaults))
}

/// The file is TOML: JSON's texts, numbers and lists are TOML's too. What is hidden is commented out, because a file
/// with stars for a password would connect to nothing.
fn toml(values: &Value, loaded: &Loaded<Settings>, defaults: bool) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut section = "";
    for setting in &loaded.settings {
        let (room, name) = setting.key.split_once('.').unwrap_or(("", &setting.key));
        if room != section {
            lines.push((format!("\n[{room}]"), String::new()));
            section = room;
        }
        let value = values.pointer(&format!("/{}", setting.key.replace('.', "/"))).unwrap_or(&Value::Null);
        let assignment = format!("{name} = {value}");
        let origin = if defaults { Origin::Default } else { setting.origin.clone() };
        lines.push(if assignment.contains(MASK) {
            (format!("# {assignment}"), format!("{origin}; hidden"))
        } else {
            (assignment, origin.to_string())
        });
    }
    let width = lines.iter().map(|(text, _)| text.chars().count()).max().unwrap_or(0).min(60);
    let mut out =
        String::from("# Settings of puzzled and where each comes from; fit to be saved as puzzled.toml.\n");
    for (text, origin) in lines {
        let written = match origin.as_str() {
            "" => writeln!(out, "{text}"),
            origin => writeln!(out, "{text:width$}  # {origin}"),
        };
        // Writing to a String cannot fail.
        debug_assert!(written.is_ok());
    }
    out
}
