//! Rules about `docs/sources.md`, the table of what is read and written: every test it names exists.
//!
//! A test is written `path::function`, `path` alone (a script, a file of SQL tests), or `path: words` for a statement that
//! holds the words. Must not know: whether a test passes.

use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context, Result};
use regex::Regex;

use super::Complaint;

const PAGE: &str = "docs/sources.md";

/// What stands between backquotes and begins with a path of a file of tests.
#[expect(clippy::expect_used, reason = "the pattern is a constant, compiled by every test run")]
static TEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"`((?:crates|tests)/[\w./-]+\.(?:rs|slt|py))(?:::(\w+)|: ([^`]+))?`")
        .expect("a valid pattern")
});

pub(super) fn check(root: &Path) -> Result<Vec<Complaint>> {
    let text = std::fs::read_to_string(root.join(PAGE)).context(PAGE)?;
    Ok(check_page(&text, |path| std::fs::read_to_string(root.join(path)).ok()))
}

/// Complaints about the text of the page; `read` gives a file of the repository.
pub(super) fn check_page(text: &str, read: impl Fn(&str) -> Option<String>) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut named = 0_usize;
    for (number, line) in text.lines().enumerate() {
        let at = format!("{PAGE}:{}", number + 1);
        for found in TEST.captures_iter(line) {
            named += 1;
            let path = &found[1];
            let Some(file) = read(path) else {
                complaints.push(format!("{at}: {path} does not exist"));
                continue;
            };
            if let Some(function) = found.get(2).map(|function| function.as_str())
                && !has_function(&file, function)
            {
                complaints.push(format!("{at}: {path} has no function {function}"));
            }
            if let Some(words) = found.get(3).map(|words| words.as_str())
                && !file.contains(words)
            {
                complaints.push(format!("{at}: {path} does not hold \"{words}\""));
            }
        }
        if is_row(line) && !TEST.is_match(line) && !line.contains("no test") {
            complaints.push(format!("{at}: this row names no test, and does not say \"no test\""));
        }
    }
    if named == 0 {
        complaints.push(format!("{PAGE} names no test"));
    }
    complaints
}

fn has_function(file: &str, name: &str) -> bool {
    file.match_indices(name).any(|(at, _)| {
        let before = &file[..at];
        let after = file[at + name.len()..].trim_start();
        (before.ends_with("fn ") || before.ends_with("def ")) && after.starts_with(['(', '<'])
    })
}

/// A row of a table, but for its head and the line below it.
fn is_row(line: &str) -> bool {
    line.starts_with("| ") && !line.starts_with("| what |")
}
