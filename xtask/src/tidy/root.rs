//! What stands at the top of the repository: named one by one, so that what a run of something left there is not committed
//! with the next change.

use std::path::Path;

use anyhow::Result;

use super::Complaint;

/// Everything that belongs there, hidden files and what is built apart.
const NAMES: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "STYLE.md",
    "clippy.toml",
    "crates",
    "deny.toml",
    "docs",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "target",
    "tests",
    "xtask",
];

pub(super) fn check(root: &Path) -> Result<Vec<Complaint>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(strangers(names.iter().map(String::as_str)))
}

pub(super) fn strangers<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Complaint> {
    let strange = names.filter(|name| !name.starts_with('.') && !NAMES.contains(name));
    strange.map(|name| format!("{name}: does not belong at the top of the repository")).collect()
}
