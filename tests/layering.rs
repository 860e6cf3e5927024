//! Holds the layers of ARCHITECTURE.md: which room may use which, and who alone may do what.
//! It reads manifests and sources only; nothing is built or run.

use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// Each room and the rooms it may use. The root package, which composes them all, may use any.
const ROOMS: &[(&str, &[&str])] = &[
    ("puzzled-solver", &[]),
    ("puzzled-service", &[]),
    ("puzzled-queue", &["puzzled-solver", "puzzled-service"]),
    ("puzzled-worker", &["puzzled-solver", "puzzled-service", "puzzled-queue"]),
    ("puzzled-producer", &["puzzled-solver", "puzzled-service", "puzzled-queue"]),
    ("puzzled-dashboard", &["puzzled-solver", "puzzled-service", "puzzled-queue"]),
];

const ROOT: &str = "puzzled";

/// Crates that one room alone may use, and what the others do instead.
const OWNED: &[(&str, &str, &str)] = &[
    ("redis", "puzzled-queue", "ask the queue crate; if it lacks a door, add one there"),
    ("config", "puzzled-service", "load settings through puzzled_service::settings"),
];

/// What one place alone may write, as (text, the path that may, remedy).
const PHRASES: &[(&str, &str, &str)] = &[
    ("env::var", "service/src", "make it a setting, or take it as an argument"),
    (
        "process::exit",
        "src/main.rs",
        "return puzzled_service::Exit up to main, so that everything is flushed",
    ),
    ("process::abort", "src/main.rs", "return an error; an abort skips the drain"),
];

#[test]
fn rooms_use_only_what_lies_below_them() {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo metadata reads this workspace");
    let mut wrong = Vec::new();
    for package in metadata.workspace_packages() {
        wrong.extend(forbidden_rooms(package));
        wrong.extend(forbidden_crates(package));
    }
    for source in sources() {
        wrong.extend(forbidden_phrases(&source));
    }
    assert!(wrong.is_empty(), "the layers are broken:\n  {}", wrong.join("\n  "));
}

/// Tests obey the table as well: a room that needs a higher one to be tested is tested in `tests/` instead.
fn forbidden_rooms(package: &Package) -> Vec<String> {
    let name = package.name.as_str();
    if name == ROOT {
        return Vec::new();
    }
    let Some((_, allowed)) = ROOMS.iter().find(|(room, _)| *room == name) else {
        return vec![format!(
            "{name} is in no layer: add it to ROOMS in tests/layering.rs and to ARCHITECTURE.md"
        )];
    };
    let is_room = |crate_name: &str| crate_name == ROOT || ROOMS.iter().any(|(room, _)| *room == crate_name);
    package
        .dependencies
        .iter()
        .filter(|dependency| is_room(&dependency.name) && !allowed.contains(&dependency.name.as_str()))
        .map(|dependency| {
            format!(
                "{name} -> {}: it may use only {allowed:?}; move what it needs down a layer, or compose in src/",
                dependency.name
            )
        })
        .collect()
}

fn forbidden_crates(package: &Package) -> Vec<String> {
    let name = package.name.as_str();
    let mut wrong = Vec::new();
    for dependency in &package.dependencies {
        // The root's tests break Redis on purpose and look at its keys from outside, as an operator would.
        if name == ROOT && dependency.kind == DependencyKind::Development {
            continue;
        }
        for (owned, owner, remedy) in OWNED {
            if dependency.name == *owned && name != *owner {
                wrong.push(format!("{name} -> {owned}: only {owner} may; {remedy}"));
            }
        }
    }
    wrong
}

fn forbidden_phrases(source: &Path) -> Vec<String> {
    let text = fs::read_to_string(source).expect("a source file is readable");
    let place = source.strip_prefix(root()).expect("sources lie below the root");
    let mut wrong = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
        for (phrase, owner, remedy) in PHRASES {
            if line.contains(phrase) && !place.starts_with(owner) {
                wrong.push(format!("{}:{}: {phrase} outside {owner}; {remedy}", place.display(), number + 1));
            }
        }
    }
    wrong
}

/// The Rust files of every room's `src` and of the binary. Tests, benches and build scripts are not the service:
/// cargo itself talks to them through the environment.
fn sources() -> Vec<PathBuf> {
    let rooms = ROOMS.iter().map(|(room, _)| root().join(room.trim_start_matches("puzzled-")).join("src"));
    let mut folders: Vec<PathBuf> = rooms.chain([root().join("src")]).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a room has a src folder") {
            let path = entry.expect("a folder is readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// docs/reliability.md promises by naming tests; a promise whose test is gone is none.
#[test]
fn every_test_that_the_reliability_page_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/reliability.md")).expect("the page");
    let mut sources = String::new();
    for folder in ["tests", "queue/tests", "queue/src/model", "worker/src"] {
        for file in fs::read_dir(root.join(folder)).expect("a folder").flatten() {
            if file.path().extension().is_some_and(|extension| extension == "rs") {
                sources += &fs::read_to_string(file.path()).expect("a source");
            }
        }
    }
    let rows: Vec<&str> =
        page.lines().filter(|line| line.starts_with("| ") && line.ends_with("` |")).collect();
    assert!(rows.len() >= 25, "{} rows", rows.len());
    for row in rows {
        let name = row.rsplit('`').nth(1).unwrap_or_default();
        assert!(sources.contains(&format!("fn {name}(")), "{name} of row: {row}");
    }
}
