//! Groups and counts of regular expressions.
//!
//! Invariant: a group that took no part in a match is the empty text.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewBuilder};
use arrow::datatypes::UInt64Type;
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};
use regex::{Captures, Regex};

use super::pattern::{Compiled, build};
use crate::columns::container::{list_of, offsets_of};
use crate::error::FunctionError;
use crate::kernel::call::Call;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::takes_text;

fn texts() -> ColumnType {
    ColumnType::Array(Box::new(ColumnType::String))
}

fn lists() -> ColumnType {
    ColumnType::Array(Box::new(texts()))
}

fn expressions() -> Compiled<Regex> {
    Compiled::new(|pattern| build(pattern, false, true))
}

/// Groups of the expression; it must have one.
fn groups_of(pattern: &Regex) -> Result<usize, FunctionError> {
    match pattern.captures_len() - 1 {
        0 => Err(FunctionError::bad_argument(format!("there are no groups in regexp: {}", pattern.as_str()))),
        groups => Ok(groups),
    }
}

fn extract_groups(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (subjects, patterns, compiled) = (call.texts(0)?, call.texts(1)?, expressions());
    let mut builder = StringViewBuilder::new();
    let mut lengths = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let pattern = compiled.get(patterns.get(row))?;
        let groups = groups_of(&pattern)?;
        let found = if call.is_null(row) { None } else { pattern.captures(subjects.get(row)) };
        lengths.push(found.as_ref().map_or(0, |_| groups));
        for group in found.iter().flat_map(|found| found.iter().skip(1)) {
            builder.append_value(group.map_or("", |part| part.as_str()));
        }
    }
    Ok(list_of(&ColumnType::String, offsets_of(lengths), Arc::new(builder.finish()), None)?)
}

/// The matches of shorter texts are not counted beforehand.
const LONG_BYTES: usize = 64 << 10;

/// A match with its places, kept until all are found; each group takes places and a piece beside that.
const MATCH_BYTES: usize = 192;

/// The matches of a text, as ClickHouse looks for them: not at the end of the text, and also empty ones behind others.
fn all_captures<'t>(pattern: &Regex, subject: &'t str) -> Vec<Captures<'t>> {
    let (mut all, mut at) = (Vec::new(), 0);
    while at < subject.len() {
        let Some(found) = pattern.captures_at(subject, at) else { break };
        let Some(whole) = found.get(0).filter(|whole| whole.start() < subject.len()) else { break };
        let step = subject[whole.end()..].chars().next().map_or(1, char::len_utf8);
        at = if whole.is_empty() { whole.end() + step } else { whole.end() };
        all.push(found);
    }
    all
}

/// A list for each match, or a list for each group.
fn extract_all_groups(call: &Call<'_>, by_match: bool) -> Result<ArrayRef, FunctionError> {
    let (subjects, patterns, compiled) = (call.texts(0)?, call.texts(1)?, expressions());
    let mut builder = StringViewBuilder::new();
    let (mut inner, mut outer) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let pattern = compiled.get(patterns.get(row))?;
        let groups = groups_of(&pattern)?;
        if call.is_null(row) {
            outer.push(0);
            continue;
        }
        if subjects.get(row).len() > LONG_BYTES {
            let matches = pattern.find_iter(subjects.get(row)).count();
            call.reserve(matches.saturating_mul(MATCH_BYTES.saturating_add(groups.saturating_mul(48))))?;
        }
        let matches = all_captures(&pattern, subjects.get(row));
        let part =
            |place: usize, group: usize| matches[place].get(group + 1).map_or("", |part| part.as_str());
        if by_match {
            outer.push(matches.len());
            inner.extend(matches.iter().map(|_| groups));
            (0..matches.len())
                .for_each(|at| (0..groups).for_each(|group| builder.append_value(part(at, group))));
        } else {
            outer.push(groups);
            inner.extend((0..groups).map(|_| matches.len()));
            (0..groups)
                .for_each(|group| (0..matches.len()).for_each(|at| builder.append_value(part(at, group))));
        }
    }
    let lists = list_of(&ColumnType::String, offsets_of(inner), Arc::new(builder.finish()), None)?;
    Ok(list_of(&texts(), offsets_of(outer), lists, None)?)
}

fn count_matches(name: &'static str, compile: fn(&str) -> Result<Regex, FunctionError>) -> ScalarFunction {
    ScalarFunction::new(name, 2..=2, takes_text(name, 2, ColumnType::UInt64), move |call| {
        let (subjects, patterns) = (call.texts(0)?, call.texts(1)?);
        let compiled = Compiled::new(compile);
        call.each::<UInt64Type>(|row| {
            let pattern = compiled.get(patterns.get(row))?;
            // Empty matches do not count.
            let found = pattern.find_iter(subjects.get(row)).filter(|found| !found.is_empty()).count();
            Ok(u64_of(found))
        })
    })
}

fn regexp_extract(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (subjects, patterns, compiled) = (call.texts(0)?, call.texts(1)?, expressions());
    let wanted = if call.args.len() > 2 { Some(call.ints(2)?) } else { None };
    call.each_text(|row, out| {
        let pattern = compiled.get(patterns.get(row))?;
        let default = i64::from(pattern.captures_len() > 1);
        let group = wanted.as_ref().map_or(default, |wanted| wanted.get(row));
        let group =
            usize::try_from(group).ok().filter(|group| *group < pattern.captures_len()).ok_or_else(|| {
                let message = format!("regexp {} has no group {group}", pattern.as_str());
                FunctionError::new(ErrorCode::INDEX_OF_POSITIONAL_ARGUMENT_IS_OUT_OF_RANGE, message)
            })?;
        if let Some(found) = pattern.captures(subjects.get(row)) {
            out.push_str(found.get(group).map_or("", |part| part.as_str()));
        }
        Ok(())
    })
}

fn groups() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("extractGroups", 2..=2, takes_text("extractGroups", 2, texts()), extract_groups)
            .doc(
                "extractGroups(text, regexp)",
                "The groups of the first match.",
                "extractGroups('a=1', '(a)=(1)') -> ['a','1']",
            ),
        ScalarFunction::new(
            "extractAllGroupsVertical",
            2..=2,
            takes_text("extractAllGroupsVertical", 2, lists()),
            |call| extract_all_groups(call, true),
        )
        .aliases(&["extractAllGroups"])
        .doc(
            "extractAllGroupsVertical(text, regexp)",
            "The groups of each match.",
            "extractAllGroupsVertical('a1b2', '([a-z])([0-9])') -> [['a','1'],['b','2']]",
        ),
        ScalarFunction::new(
            "extractAllGroupsHorizontal",
            2..=2,
            takes_text("extractAllGroupsHorizontal", 2, lists()),
            |call| extract_all_groups(call, false),
        )
        .doc(
            "extractAllGroupsHorizontal(text, regexp)",
            "The matches of each group.",
            "extractAllGroupsHorizontal('a1b2', '([a-z])([0-9])') -> [['a','b'],['1','2']]",
        ),
        count_matches("countMatches", |pattern| build(pattern, false, true)).doc(
            "countMatches(text, regexp)",
            "How often a regular expression matches.",
            "countMatches('aab', 'a') -> 2",
        ),
        count_matches("countMatchesCaseInsensitive", |pattern| build(pattern, true, true)).doc(
            "countMatchesCaseInsensitive(text, regexp)",
            "As countMatches in any case.",
            "countMatchesCaseInsensitive('aAb', 'a') -> 2",
        ),
        ScalarFunction::new(
            "regexpExtract",
            2..=3,
            takes_text("regexpExtract", 2, ColumnType::String),
            regexp_extract,
        )
        .any_case()
        .aliases(&["REGEXP_SUBSTR"])
        .doc(
            "regexpExtract(text, regexp[, group])",
            "A group of the first match, the first group if not said; 0 is all of it.",
            "regexpExtract('a12', '([a-z])([0-9]+)', 2) -> '12'",
        ),
    ]
}

fn counts() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "regexpQuoteMeta",
            1..=1,
            takes_text("regexpQuoteMeta", 1, ColumnType::String),
            |call| {
                let subjects = call.texts(0)?;
                call.each_text(|row, out| {
                    for c in subjects.get(row).chars() {
                        match c {
                            '\0' | '\\' | '(' | ')' | '^' | '$' | '.' | '[' | ']' | '?' | '*' | '+' | '{'
                            | ':' | '-' | '|' => {
                                out.push('\\');
                                out.push(c);
                            }
                            other => out.push(other),
                        }
                    }
                    Ok(())
                })
            },
        )
        .doc(
            "regexpQuoteMeta(text)",
            "Text as a regular expression that matches it.",
            "regexpQuoteMeta('ab') -> 'ab'",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = groups();
    out.extend(counts());
    out
}
