//! The house rules a machine can check. No exceptions list: a rule that needs one is not a rule.
//!
//! Each rule is a function from the repository to complaints; `check` runs them all. Reads files, writes none.

mod edges;
mod files;
mod imports;
mod documents;
mod evidence;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::source::Source;

/// What is wrong, and where.
pub(crate) type Complaint = String;

/// A Rust file of the repository.
pub(crate) struct RustFile {
    /// Relative to the root of the repository, with slashes.
    pub(crate) path: String,
    pub(crate) source: Source,
}

impl RustFile {
    /// A file that holds only tests: `tests.rs`, what lies under a folder `tests`, and benches.
    fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs")
            || self.path.split('/').any(|piece| piece == "tests" || piece == "benches")
    }
}

/// All complaints about the repository at `root`.
pub(crate) fn check(root: &Path) -> Result<Vec<Complaint>> {
    let files = rust_files(root)?;
    let mut complaints = edges::check(root)?;
    complaints.extend(files::check(&files));
    complaints.extend(imports::check(&files));
    complaints.extend(documents::check(root, &files)?);
    complaints.extend(evidence::check(root)?);
    complaints.sort();
    Ok(complaints)
}

fn rust_files(root: &Path) -> Result<Vec<RustFile>> {
    let mut paths = Vec::new();
    for folder in ["crates", "xtask", "tests"] {
        collect(&root.join(folder), &mut paths)?;
    }
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let relative = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
            Ok(RustFile { path: relative, source: Source::new(&text) })
        })
        .collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
    Ok(())
}

/// Runs the rules and prints what they say; an error when they say anything.
pub(crate) fn run(root: &Path) -> Result<()> {
    let complaints = check(root)?;
    complaints.iter().for_each(|complaint| crate::say(complaint));
    anyhow::ensure!(complaints.is_empty(), "tidy: {} complaints", complaints.len());
    crate::say("tidy: nothing to complain about");
    Ok(())
}

#[cfg(test)]
mod tests;
