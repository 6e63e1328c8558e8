//! Rules about words for humans: paths in `ARCHITECTURE.md` exist, every crate has its paragraph, every setting its
//! meaning, and every setting that is said to be obeyed a reader.

use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context, Result};
use regex::Regex;

use super::edges::EDGES;
use super::{Complaint, RustFile, pattern};

pub(super) const ARCHITECTURE: &str = "ARCHITECTURE.md";
const ARCHITECTURE_LINES_MAX: usize = 250;
/// The tables of settings, and what reads them for everybody.
const SETTINGS: &str = "crates/settings/src";

static CODE_SPAN: LazyLock<Regex> = LazyLock::new(|| pattern(r"`([^`\s]+)`"));
/// A row of a settings table: name, kind, default, effect, meaning.
static SETTING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?m)^[ \t]*(\w+)\s+[\w()&\[\]", ]+,\s*"[^"]*",\s*(Obeyed|NoEffect|Refused),\s*"([^"]*)""#)
});

pub(super) fn check(root: &Path, files: &[RustFile]) -> Result<Vec<Complaint>> {
    let text = std::fs::read_to_string(root.join(ARCHITECTURE)).context(ARCHITECTURE)?;
    let mut complaints = check_architecture(&text, |path| root.join(path).exists());
    let (tables, others): (Vec<&RustFile>, Vec<&RustFile>) = files
        .iter()
        .filter(|file| file.path.starts_with("crates/") && !file.is_test())
        .partition(|file| file.path.starts_with(SETTINGS) && !file.path.ends_with("/change.rs"));
    let code: String = others.into_iter().map(lines_outside_tests).collect();
    for file in tables {
        let table = lines_outside_tests(file);
        complaints.extend(undocumented_settings(&file.path, &table));
        complaints.extend(unread_settings(&file.path, &table, &code));
    }
    Ok(complaints)
}

fn lines_outside_tests(file: &RustFile) -> String {
    let lines = file.source.lines.iter().zip(&file.source.in_tests);
    lines.filter(|(_, in_tests)| !**in_tests).map(|(line, _)| format!("{line}\n")).collect()
}

/// Complaints about the text of `ARCHITECTURE.md`.
pub(super) fn check_architecture(text: &str, exists: impl Fn(&str) -> bool) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let lines = text.lines().count();
    if lines > ARCHITECTURE_LINES_MAX {
        complaints.push(format!("{ARCHITECTURE}: {lines} lines, the limit is {ARCHITECTURE_LINES_MAX}"));
    }
    for (number, line) in text.lines().enumerate() {
        for path in CODE_SPAN.captures_iter(line).filter_map(|found| found.get(1)).map(|found| found.as_str())
        {
            if is_path(path) && !candidates(path).iter().any(|candidate| exists(candidate)) {
                complaints.push(format!("{ARCHITECTURE}:{}: {path} does not exist", number + 1));
            }
        }
    }
    for (name, ..) in EDGES {
        if !text.lines().any(|line| line.starts_with(&format!("**`{name}`**"))) {
            complaints.push(format!(
                "{ARCHITECTURE}: crate {name} has no paragraph (a line that begins **`{name}`**)"
            ));
        }
    }
    complaints
}

/// `engine/insert.rs`, `docs/design/parts.md`, `.ci/run`: something with a slash or a file's suffix.
fn is_path(text: &str) -> bool {
    let plain = text.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
    let known_suffix = [".rs", ".md", ".toml", ".py"].iter().any(|suffix| text.ends_with(suffix));
    plain && (known_suffix || (text.contains('/') && !text.starts_with('/') && !text.contains("//")))
}

/// As it stands, and with a crate's `src` filled in: `engine/insert.rs` is `crates/engine/src/insert.rs`.
fn candidates(path: &str) -> Vec<String> {
    let inside = path.split_once('/').map(|(first, rest)| format!("crates/{first}/src/{rest}"));
    [Some(path.to_owned()), inside].into_iter().flatten().collect()
}

/// Settings whose meaning is empty or too short to be one.
pub(super) fn undocumented_settings(path: &str, text: &str) -> Vec<Complaint> {
    const MEANING_CHARS_MIN: usize = 10;
    SETTING
        .captures_iter(text)
        .filter(|row| row.get(3).is_none_or(|meaning| meaning.as_str().trim().len() < MEANING_CHARS_MIN))
        .filter_map(|row| {
            Some(format!("{path}: setting {} has no meaning written down", row.get(1)?.as_str()))
        })
        .collect()
}

/// Settings that are marked as obeyed although `code`, all that is not a table of settings, names them nowhere.
pub(super) fn unread_settings(path: &str, text: &str, code: &str) -> Vec<Complaint> {
    SETTING
        .captures_iter(text)
        .filter(|row| row.get(2).is_some_and(|effect| effect.as_str() == "Obeyed"))
        .filter_map(|row| Some(row.get(1)?.as_str()))
        .filter(|name| !code.contains(&format!("\"{name}\"")))
        .map(|name| format!("{path}: setting {name} is marked Obeyed, and no code reads it"))
        .collect()
}
