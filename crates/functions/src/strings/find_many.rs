//! Many needles or patterns in one text: `multiSearch...` and `multiMatch...`.
//!
//! Invariant: needles and positions count from 1, 0 means none; positions are bytes unless the name says UTF8.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringViewArray, UInt64Array};
use arrow::datatypes::UInt64Type;
use model::saturating::u64_of;
use model::{ColumnType, raw_text};

use super::pattern::{Compiled, build};
use crate::cast::CastMode;
use crate::columns::container::{list_of, offsets_of};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::list::Lists;
use crate::kernel::registry::ScalarFunction;

/// How text is compared and positions are counted.
#[derive(Clone, Copy)]
struct Way {
    any_case: bool,
    utf8: bool,
}

/// What is told about the needles.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Any,
    FirstIndex,
    FirstPosition,
    AllPositions,
}

fn rule(
    name: &'static str,
    result: ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        if !args[0].column_type.is_string() {
            return Err(FunctionError::illegal_type(&args[0].column_type, name));
        }
        match &args[1].column_type {
            ColumnType::Array(element) if element.is_string() => Ok(result.clone()),
            other => Err(FunctionError::illegal_type(other, name)),
        }
    }
}

fn folded(text: &str, way: Way) -> String {
    match (way.any_case, way.utf8) {
        (false, _) => text.to_owned(),
        (true, true) => text.to_lowercase(),
        (true, false) => text.to_ascii_lowercase(),
    }
}

/// The needles of all rows as text.
fn needles(call: &Call<'_>) -> Result<(Lists, StringViewArray), FunctionError> {
    let lists = call.lists(1)?;
    let texts = call.caster(CastMode::Strict).to_text(lists.values(), &lists.element);
    Ok((lists, texts))
}

/// Where each needle of a row starts; 0 if nowhere.
fn positions(text: &str, lists: &Lists, needles: &StringViewArray, row: usize, way: Way) -> Vec<u64> {
    let text = folded(text, way);
    let position = |at: usize| {
        let needle = if needles.is_valid(at) { folded(needles.value(at), way) } else { String::new() };
        match text.find(&needle) {
            // Nothing is found in nothing.
            _ if text.is_empty() => 0,
            Some(at) if way.utf8 => u64_of(text[..at].chars().count()) + 1,
            Some(at) => u64_of(raw_text::bytes(&text[..at]).len()) + 1,
            None => 0,
        }
    };
    lists.range(row).map(position).collect()
}

fn search(name: &'static str, answer: Answer, way: Way) -> ScalarFunction {
    let result = match answer {
        Answer::Any => ColumnType::UInt8,
        Answer::FirstIndex | Answer::FirstPosition => ColumnType::UInt64,
        Answer::AllPositions => ColumnType::Array(Box::new(ColumnType::UInt64)),
    };
    ScalarFunction::new(name, 2..=2, rule(name, result), move |call| {
        let texts = call.texts(0)?;
        let (lists, needles) = needles(call)?;
        let of_row = |row: usize| positions(texts.get(row), &lists, &needles, row, way);
        match answer {
            Answer::Any => call.each_flag(|row| of_row(row).iter().any(|position| *position > 0)),
            Answer::FirstIndex => call.each::<UInt64Type>(|row| {
                Ok(of_row(row).iter().position(|position| *position > 0).map_or(0, |index| u64_of(index) + 1))
            }),
            Answer::FirstPosition => call.each::<UInt64Type>(|row| {
                Ok(of_row(row).into_iter().filter(|position| *position > 0).min().unwrap_or(0))
            }),
            Answer::AllPositions => each_numbers(call, |row| Ok(of_row(row))),
        }
    })
}

/// A list of numbers for each row.
fn each_numbers(
    call: &Call<'_>,
    mut numbers: impl FnMut(usize) -> Result<Vec<u64>, FunctionError>,
) -> Result<ArrayRef, FunctionError> {
    let (mut all, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let own = if call.is_null(row) { Vec::new() } else { numbers(row)? };
        lengths.push(own.len());
        all.extend(own);
    }
    Ok(list_of(&ColumnType::UInt64, offsets_of(lengths), Arc::new(UInt64Array::from(all)), None)?)
}

/// Which patterns of a row occur, by number from 1; only the first one where that is enough.
fn matching(call: &Call<'_>, only_first: bool) -> Result<Vec<Vec<u64>>, FunctionError> {
    let texts = call.texts(0)?;
    let (lists, patterns) = needles(call)?;
    let compiled = Compiled::new(|pattern| build(pattern, false, true));
    let mut out = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let mut found = Vec::new();
        for (index, at) in lists.range(row).enumerate() {
            if !call.is_null(row)
                && patterns.is_valid(at)
                && compiled
                    .get(patterns.value(at))
                    .map_err(|error| FunctionError::bad_argument(error.message))?
                    .is_match(texts.get(row))
            {
                found.push(u64_of(index) + 1);
                if only_first {
                    break;
                }
            }
        }
        out.push(found);
    }
    Ok(out)
}

fn matches() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("multiMatchAny", 2..=2, rule("multiMatchAny", ColumnType::UInt8), |call| {
            let found = matching(call, true)?;
            call.each_flag(|row| !found[row].is_empty())
        })
        .doc(
            "multiMatchAny(text, regexps)",
            "Whether any of an array of regular expressions occurs.",
            "multiMatchAny('abc', ['^x', 'b.']) -> 1",
        ),
        ScalarFunction::new(
            "multiMatchAnyIndex",
            2..=2,
            rule("multiMatchAnyIndex", ColumnType::UInt64),
            |call| {
                let found = matching(call, true)?;
                call.each::<UInt64Type>(|row| Ok(found[row].first().copied().unwrap_or(0)))
            },
        )
        .doc(
            "multiMatchAnyIndex(text, regexps)",
            "The number of a regular expression that occurs; 0 if none does.",
            "multiMatchAnyIndex('abc', ['^x', 'b.']) -> 2",
        ),
        ScalarFunction::new(
            "multiMatchAllIndices",
            2..=2,
            rule("multiMatchAllIndices", ColumnType::Array(Box::new(ColumnType::UInt64))),
            |call| {
                let mut found = matching(call, false)?;
                each_numbers(call, |row| Ok(std::mem::take(&mut found[row])))
            },
        )
        .doc(
            "multiMatchAllIndices(text, regexps)",
            "The numbers of all regular expressions that occur.",
            "multiMatchAllIndices('abc', ['a', 'x', 'c']) -> [1,3]",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = Vec::new();
    macro_rules! four_ways {
        ($name:literal, $answer:expr, $description:literal, $arguments:literal) => {
            for (name, doc, way) in [
                ($name, concat!($name, "(text, needles)"), Way { any_case: false, utf8: false }),
                (
                    concat!($name, "CaseInsensitive"),
                    concat!($name, "CaseInsensitive(text, needles)"),
                    Way { any_case: true, utf8: false },
                ),
                (
                    concat!($name, "UTF8"),
                    concat!($name, "UTF8(text, needles)"),
                    Way { any_case: false, utf8: true },
                ),
                (
                    concat!($name, "CaseInsensitiveUTF8"),
                    concat!($name, "CaseInsensitiveUTF8(text, needles)"),
                    Way { any_case: true, utf8: true },
                ),
            ] {
                out.push(search(name, $answer, way).doc(doc, $description, concat!($name, $arguments)));
            }
        };
    }
    four_ways!(
        "multiSearchAny",
        Answer::Any,
        "Whether any of an array of needles occurs.",
        "('abc', ['x', 'b']) -> 1"
    );
    four_ways!(
        "multiSearchFirstIndex",
        Answer::FirstIndex,
        "The number of the first needle that occurs.",
        "('abc', ['x', 'b']) -> 2"
    );
    four_ways!(
        "multiSearchFirstPosition",
        Answer::FirstPosition,
        "The leftmost position of any needle.",
        "('abc', ['x', 'b']) -> 2"
    );
    four_ways!(
        "multiSearchAllPositions",
        Answer::AllPositions,
        "The position of each needle.",
        "('abc', ['x', 'b']) -> [0,2]"
    );
    out.extend(matches());

    out
}
