//! Rules about single files: size, opening words, names, dead code, notes to self.

use std::sync::LazyLock;

use regex::Regex;

use super::{Complaint, RustFile, pattern};

/// Code lines of a file, tests not counted.
const FILE_LINES_MAX: usize = 500;
/// Lines of tests at the end of a file; more move to `<name>/tests.rs`.
const INLINE_TEST_LINES_MAX: usize = 300;
/// Code lines of a function; clippy's `too_many_lines` has the same limit.
const FUNCTION_LINES_MAX: usize = 70;

const FORBIDDEN_FILES: &[&str] = &["util", "utils", "common", "helper", "helpers", "manager", "misc"];
const FORBIDDEN_TYPES: &[&str] = &[
    "Manager",
    "Helper",
    "Helpers",
    "Util",
    "Utils",
    "Common",
    "Info",
    "Data",
    "Inner",
    "Impl",
    "Processor",
];

static TYPE_NAME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(?:struct|enum|trait|type|union)\s+([A-Z]\w*)"));
static DEAD_CODE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*//\s*(?:pub(?:\([a-z]+\))?\s+)?(?:mod|use)\s+[\w:{}*,\s]+;\s*$"));
static NOTE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(?:TODO|FIXME|XXX)\b"));
static NUMBERED_NOTE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bTODO\(#\d+\)"));
static LAST_WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"[A-Z][a-z0-9]*$"));

pub(super) fn check(files: &[RustFile]) -> Vec<Complaint> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &RustFile) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let path = &file.path;
    // What a tests.rs is, is said by its place: the tests of the module beside it, whose words it shares.
    let shares_words = path.ends_with("/tests.rs");
    if !shares_words && !file.source.lines.first().is_some_and(|line| line.starts_with("//!")) {
        complaints.push(format!("{path}:1: does not open with //!"));
    }
    complaints.extend(forbidden_file_name(path));
    if !file.is_test() {
        complaints.extend(sizes(file));
    }
    complaints.extend(forbidden_types(file));
    for (index, line) in file.source.lines.iter().enumerate() {
        // Code keeps what stands outside strings and comments: a note inside a string is not a note.
        let outside_strings = line.contains("//") && !is_inside_string(file, index);
        if DEAD_CODE.is_match(line) && outside_strings {
            complaints.push(format!("{path}:{}: commented-out code", index + 1));
        }
        if outside_strings && NOTE.is_match(line) && !NUMBERED_NOTE.is_match(line) {
            complaints.push(format!("{path}:{}: a note without an issue: write TODO(#number)", index + 1));
        }
    }
    complaints
}

/// Whether the `//` of a line belongs to a string: then a quote of the blanked code stands before it.
fn is_inside_string(file: &RustFile, index: usize) -> bool {
    let (line, code) = (&file.source.lines[index], &file.source.code[index]);
    line.find("//").is_none_or(|at| line[..at].matches('"').count() % 2 == 1 || code.len() > line.len())
}

fn forbidden_file_name(path: &str) -> Option<Complaint> {
    let pieces = path.trim_end_matches(".rs").split('/').skip(1);
    let bad = pieces.into_iter().find(|piece| FORBIDDEN_FILES.contains(piece) || piece.ends_with("_v2"))?;
    Some(format!("{path}: \"{bad}\" says nothing about what is inside"))
}

fn sizes(file: &RustFile) -> Vec<Complaint> {
    let path = &file.path;
    let mut complaints = Vec::new();
    let lines = file.source.lines_of_code();
    if lines > FILE_LINES_MAX {
        complaints.push(format!("{path}: {lines} lines, the wall is {FILE_LINES_MAX}"));
    }
    let test_lines = file.source.lines.len() - lines;
    if test_lines > INLINE_TEST_LINES_MAX {
        complaints.push(format!("{path}: {test_lines} lines of tests, move them to a tests.rs"));
    }
    complaints.extend(file.source.functions().into_iter().filter(|f| f.code_lines > FUNCTION_LINES_MAX).map(
        |f| {
            format!(
                "{path}:{}: fn {} has {} lines, the limit is {FUNCTION_LINES_MAX}",
                f.line, f.name, f.code_lines
            )
        },
    ));
    complaints
}

fn forbidden_types(file: &RustFile) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (number, line) in file.source.code_outside_tests() {
        // An associated type is named by its trait, often somebody else's.
        if line.starts_with("    type ") {
            continue;
        }
        for name in TYPE_NAME.captures_iter(line).filter_map(|found| found.get(1)) {
            let last = LAST_WORD.find(name.as_str()).map_or("", |word| word.as_str());
            if FORBIDDEN_TYPES.contains(&last) {
                complaints.push(format!("{}:{number}: type {} ends in {last}", file.path, name.as_str()));
            }
        }
    }
    complaints
}
