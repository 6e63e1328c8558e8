//! `JSON_VALUE`, `JSON_QUERY` and `JSON_EXISTS`: a path of SQL/JSON.
//!
//! Invariant: a path is `$`, `.name`, `["name"]`, `[*]` and lists of places and ranges, places from 0 and the end of a
//! range left out, as in ClickHouse; anything else is an error.

use model::{ColumnType, ErrorCode};

use super::document::{Document, Item, Kind};
use super::write;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::constant_text;

enum Step {
    Key(String),
    All,
    /// Half open.
    Places(Vec<std::ops::Range<usize>>),
}

fn bad(path: &str) -> FunctionError {
    FunctionError::bad_argument(format!(
        "unable to parse JSONPath '{path}': write $.name, [\"name\"], [0], [0 to 2] or [*]"
    ))
}

/// A key may stand in brackets without quotes.
fn is_word(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn parse(path: &str) -> Result<Vec<Step>, FunctionError> {
    let mut rest = path.trim().strip_prefix('$').ok_or_else(|| bad(path))?.trim_start();
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix(".\"") {
            let (name, behind) = quoted.split_once('"').ok_or_else(|| bad(path))?;
            steps.push(Step::Key(name.to_owned()));
            rest = behind.trim_start();
            continue;
        }
        if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[', ' ']).unwrap_or(name.len());
            if end == 0 {
                return Err(bad(path));
            }
            steps.push(Step::Key(name[..end].to_owned()));
            rest = name[end..].trim_start();
            continue;
        }
        let inside = rest.strip_prefix('[').ok_or_else(|| bad(path))?.trim_start();
        if let Some(quote) = inside.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            let end = inside[1..].find(quote).ok_or_else(|| bad(path))? + 1;
            steps.push(Step::Key(inside[1..end].to_owned()));
            rest = inside[end + 1..].trim_start().strip_prefix(']').ok_or_else(|| bad(path))?.trim_start();
            continue;
        }
        let (list, after) = inside.split_once(']').ok_or_else(|| bad(path))?;
        steps.push(if list.trim() == "*" {
            Step::All
        } else if is_word(list.trim()) {
            Step::Key(list.trim().to_owned())
        } else {
            Step::Places(places(list).ok_or_else(|| bad(path))?)
        });
        rest = after.trim_start();
    }
    Ok(steps)
}

fn places(list: &str) -> Option<Vec<std::ops::Range<usize>>> {
    let range = |part: &str| match part.split_once(" to ") {
        Some((from, to)) => Some(from.trim().parse().ok()?..to.trim().parse().ok()?),
        None => part.trim().parse().ok().map(|place: usize| place..place.saturating_add(1)),
    };
    list.split(',').map(range).collect()
}

/// Calls `each` for all that the steps lead to, until it says that it is enough.
fn walk<'d>(item: Item<'d>, steps: &[Step], each: &mut dyn FnMut(Item<'d>) -> bool) -> bool {
    let Some((step, rest)) = steps.split_first() else { return each(item) };
    match step {
        Step::Key(name) => {
            let found = item.pairs().find(|(key, _)| key == name);
            found.is_some_and(|(_, value)| walk(value, rest, each))
        }
        Step::All => item.elements().any(|element| walk(element, rest, each)),
        Step::Places(ranges) => ranges.iter().any(|range| {
            item.elements()
                .skip(range.start)
                .take(range.end.saturating_sub(range.start))
                .any(|element| walk(element, rest, each))
        }),
    }
}

fn rule(
    name: &'static str,
    result: ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        // What stands behind the path is not looked at, as in ClickHouse.
        for arg in args.iter().take(2) {
            if !arg.column_type.is_string() {
                return Err(FunctionError::illegal_type(&arg.column_type, name));
            }
        }
        let path = constant_text(args, 1).ok_or_else(|| {
            FunctionError::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("the path of {name} must be a constant text"),
            )
        })?;
        parse(&path).map(|_| result.clone())
    }
}

/// Calls `found` with each value at the path of a row.
fn each(
    call: &Call<'_>,
    row: usize,
    steps: &[Step],
    texts: &crate::kernel::rows::Texts,
    found: &mut dyn FnMut(Item<'_>) -> bool,
) {
    let mut document = Document::new();
    if let Some(root) = document.read(texts.get(row)).filter(|_| !call.is_null(row)) {
        walk(root, steps, &mut |item| found(item));
    }
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("JSON_EXISTS", 2..=usize::MAX, rule("JSON_EXISTS", ColumnType::UInt8), |call| {
            let (texts, steps) = (call.texts(0)?, parse(call.texts(1)?.get(0))?);
            call.each_flag(|row| {
                let mut any = false;
                each(call, row, &steps, &texts, &mut |_| {
                    any = true;
                    true
                });
                any
            })
        })
        .doc(
            "JSON_EXISTS(json, path)",
            "Whether a path of SQL/JSON leads to anything.",
            "JSON_EXISTS('{\"a\": 1}', '$.a') -> 1",
        ),
        ScalarFunction::new("JSON_QUERY", 2..=usize::MAX, rule("JSON_QUERY", ColumnType::String), |call| {
            let (texts, steps) = (call.texts(0)?, parse(call.texts(1)?.get(0))?);
            call.each_text(|row, out| {
                each(call, row, &steps, &texts, &mut |item| {
                    out.push_str(if out.is_empty() { "[" } else { ", " });
                    write::item(item, out);
                    false
                });
                if !out.is_empty() {
                    out.push(']');
                }
                Ok(())
            })
        })
        .doc(
            "JSON_QUERY(json, path)",
            "All that a path of SQL/JSON leads to, as a JSON array.",
            "JSON_QUERY('{\"a\": [1, 2]}', '$.a[*]') -> '[1, 2]'",
        ),
        ScalarFunction::new("JSON_VALUE", 2..=usize::MAX, rule("JSON_VALUE", ColumnType::String), |call| {
            let (texts, steps) = (call.texts(0)?, parse(call.texts(1)?.get(0))?);
            call.each_text(|row, out| {
                each(call, row, &steps, &texts, &mut |item| {
                    let is_value = !matches!(item.kind(), Kind::Array | Kind::Object);
                    if is_value {
                        write::plain(item, out);
                    }
                    is_value
                });
                Ok(())
            })
        })
        .doc(
            "JSON_VALUE(json, path)",
            "The first plain value a path of SQL/JSON leads to.",
            "JSON_VALUE('{\"a\": 1}', '$.a') -> '1'",
        ),
    ]
}
