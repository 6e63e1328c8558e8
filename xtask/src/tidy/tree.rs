//! Rules about what is many files: folders and crates.
//!
//! Must not know: what is inside a file, beyond the number of its lines.

use std::collections::BTreeMap;

use super::{Complaint, RustFile};

/// Rust files directly in one folder, those of tests, too. More are no longer read as one list.
const FOLDER_FILES_MAX: usize = 25;
/// Lines of a crate, tests not counted. A larger one holds two things.
const CRATE_LINES_MAX: usize = 15_000;
/// `functions` is a shelf: each family has a file, nobody needs the whole to change one, and no crate but `planner` and
/// `engine` waits for it when it is built.
const FUNCTIONS_LINES_MAX: usize = 34_800;
/// `engine` is to be cut and is not yet: what it has, rounded up to the next 500. The figure goes down only.
const ENGINE_LINES_MAX: usize = 18_700;
/// As `engine`.
const FORMATS_LINES_MAX: usize = 17_500;

pub(super) fn check(files: &[RustFile]) -> Vec<Complaint> {
    [folders(files), crates(files)].concat()
}

fn folders(files: &[RustFile]) -> Vec<Complaint> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (folder, _) in files.iter().filter_map(|file| file.path.rsplit_once('/')) {
        *counts.entry(folder).or_default() += 1;
    }
    let large = counts.into_iter().filter(|(_, count)| *count > FOLDER_FILES_MAX);
    large
        .map(|(folder, count)| {
            format!(
                "{folder}: {count} Rust files, the limit is {FOLDER_FILES_MAX}: what some of them share is a folder"
            )
        })
        .collect()
}

fn crates(files: &[RustFile]) -> Vec<Complaint> {
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.is_test()) {
        if let Some((name, _)) = file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/")) {
            *lines.entry(name).or_default() += file.source.lines_of_code();
        }
    }
    let large = lines.into_iter().filter(|(name, lines)| *lines > lines_max(name));
    large
        .map(|(name, lines)| {
            format!("crates/{name}: {lines} lines, the limit is {}: a part of it is a crate", lines_max(name))
        })
        .collect()
}

fn lines_max(name: &str) -> usize {
    match name {
        "engine" => ENGINE_LINES_MAX,
        "formats" => FORMATS_LINES_MAX,
        "functions" => FUNCTIONS_LINES_MAX,
        _ => CRATE_LINES_MAX,
    }
}
