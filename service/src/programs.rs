//! Finding other programs: the only reader of PATH.

use std::path::PathBuf;

/// The first of these programs that stands on PATH.
pub fn find(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    names.iter().find_map(|name| {
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
    })
}
