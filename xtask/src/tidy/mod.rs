//! The house rules a machine can check. No exceptions list: a rule that needs one is not a rule.
//!
//! Each rule is a function from the repository to complaints; `check` runs them all. Reads files, writes none.

mod root;
mod manifest;
mod edges;
mod dependencies;
mod files;
mod tree;
mod imports;
mod bans;
mod budget;
mod documents;
mod evidence;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::{Context, Result};
use regex::Regex;

use crate::source::Source;

/// What is wrong, and where.
pub(crate) type Complaint = String;

/// A Rust file of the repository.
pub(crate) struct RustFile {
    /// Relative to the root of the repository, with slashes.
    pub(crate) path: String,
    pub(crate) source: Source,
    /// Whether a `#[cfg(test)] mod name;` declares it, or the module it lies in.
    pub(crate) declared_for_tests: bool,
}

impl RustFile {
    /// A file that holds only tests: `tests.rs`, what is declared for them, what lies under a folder `tests`, and benches.
    fn is_test(&self) -> bool {
        self.declared_for_tests
            || self.path.ends_with("/tests.rs")
            || self.path.split('/').any(|piece| piece == "tests" || piece == "benches")
    }
}

static MODULE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:pub(?:\([a-z]+\))?\s+)?mod\s+(\w+)\s*;"));

#[expect(clippy::expect_used, reason = "the patterns are constants, compiled by every test run")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

/// All complaints about the repository at `root`.
pub(crate) fn check(root: &Path) -> Result<Vec<Complaint>> {
    let files = rust_files(root)?;
    let manifests = manifest::all(root)?;
    let architecture = text_of(root, documents::ARCHITECTURE)?;
    let workspace = text_of(root, "Cargo.toml")?;
    let mut complaints = edges::check(&manifests, &architecture);
    complaints.extend(dependencies::check(&manifests, &workspace, &files));
    complaints.extend(files::check(&files));
    complaints.extend(tree::check(&files));
    complaints.extend(imports::check(&files));
    complaints.extend(bans::check(&files, &architecture));
    complaints.extend(budget::check(&text_of(root, "Cargo.lock")?, &workspace));
    complaints.extend(documents::check(root, &files)?);
    complaints.extend(evidence::check(root)?);
    complaints.extend(root::check(root)?);
    complaints.sort();
    Ok(complaints)
}

fn text_of(root: &Path, path: &str) -> Result<String> {
    std::fs::read_to_string(root.join(path)).with_context(|| path.to_owned())
}

fn rust_files(root: &Path) -> Result<Vec<RustFile>> {
    let mut paths = Vec::new();
    for folder in ["crates", "xtask", "tests"] {
        collect(&root.join(folder), &mut paths)?;
    }
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let relative = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        files.push(RustFile { path: relative, source: Source::new(&text), declared_for_tests: false });
    }
    mark_tests(&mut files);
    Ok(files)
}

/// Notes of each file whether it is declared for tests.
fn mark_tests(files: &mut [RustFile]) {
    let declared: BTreeSet<String> = files.iter().flat_map(modules_of_tests).collect();
    for file in files {
        let mut module = Some(module_path(&file.path));
        while let Some(path) = module {
            file.declared_for_tests |= declared.contains(path);
            module = path.rsplit_once('/').map(|(folder, _)| folder);
        }
    }
}

/// The modules that lines of tests in `file` declare.
fn modules_of_tests(file: &RustFile) -> Vec<String> {
    let lines = file.source.code.iter().zip(&file.source.in_tests).filter(|(_, in_tests)| **in_tests);
    let names = lines.filter_map(|(line, _)| MODULE.captures(line)?.get(1));
    names.map(|name| format!("{}/{}", module_path(&file.path), name.as_str())).collect()
}

/// Where the modules lie that a file declares: `a/b.rs`, `a/b/mod.rs` and `a/b/lib.rs` all have them in `a/b`.
fn module_path(path: &str) -> &str {
    let stem = path.trim_end_matches(".rs");
    let root = ["/mod", "/lib", "/main"].iter().find_map(|name| stem.strip_suffix(name));
    root.unwrap_or(stem)
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
