//! Joining, repeating and filling in text.
//!
//! Invariant: nothing longer than a limit is made.

use arrow::array::ArrayRef;
use model::{ColumnType, ErrorCode};

use crate::error::FunctionError;
use crate::kernel::call::Call;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::takes_text;

/// Longest text that padding makes, as in ClickHouse.
const PADDED_MAX: usize = 1_000_000;

pub(super) fn check_padded(length: usize) -> Result<(), FunctionError> {
    if length <= PADDED_MAX {
        return Ok(());
    }
    let message = format!("new padded length ({length}) is too big: at most {PADDED_MAX}");
    Err(FunctionError::new(ErrorCode::TOO_LARGE_STRING_SIZE, message))
}

/// Most repetitions of a text, as in ClickHouse.
const REPETITIONS_MAX: usize = 1_000_000;

fn check_repetitions(count: usize) -> Result<(), FunctionError> {
    if count <= REPETITIONS_MAX {
        return Ok(());
    }
    let message = format!("too many times to repeat ({count}): at most {REPETITIONS_MAX}");
    Err(FunctionError::new(ErrorCode::TOO_LARGE_STRING_SIZE, message))
}

fn concat_with_separator(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let texts: Vec<_> = (0..call.args.len()).map(|index| call.texts(index)).collect::<Result<_, _>>()?;
    call.each_text(|row, out| {
        let Some((separator, parts)) = texts.split_first() else { return Ok(()) };
        for (index, part) in parts.iter().enumerate() {
            call.reserve_more(separator.get(row).len() + part.get(row).len(), out)?;
            if index > 0 {
                out.push_str(separator.get(row));
            }
            out.push_str(part.get(row));
        }
        Ok(())
    })
}

fn repeat(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (texts, counts) = (call.texts(0)?, call.ints(1)?);
    call.each_text(|row, out| {
        let count = usize::try_from(counts.get(row)).unwrap_or(0);
        check_repetitions(count)?;
        call.reserve_text(texts.get(row).len().saturating_mul(count), out)?;
        (0..count).for_each(|_| out.push_str(texts.get(row)));
        Ok(())
    })
}

/// Fills `{}` and `{1}` of a template.
fn format(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let texts: Vec<_> = (0..call.args.len()).map(|index| call.texts(index)).collect::<Result<_, _>>()?;
    call.each_text(|row, out| {
        let (mut next, mut is_named) = (0, false);
        let mut rest = texts[0].get(row);
        while let Some(at) = rest.find(['{', '}']) {
            out.push_str(&rest[..at]);
            if rest[at..].starts_with("{{") || rest[at..].starts_with("}}") {
                out.push_str(&rest[at..=at]);
                rest = &rest[at + 2..];
                continue;
            }
            let end =
                rest[at..].find('}').ok_or_else(|| FunctionError::bad_argument("unclosed { in a format"))?;
            let name = &rest[at..at + end].trim_start_matches('{');
            if name.is_empty() && is_named || !name.is_empty() && next > 0 {
                let message = "a format cannot have both {} and {0}: number all of its places, or none";
                return Err(FunctionError::bad_argument(message));
            }
            let index = if name.is_empty() { Some(next) } else { name.parse().ok() };
            (next, is_named) = (next + usize::from(name.is_empty()), !name.is_empty());
            let value = index.and_then(|index: usize| texts.get(index + 1));
            let value = value
                .ok_or_else(|| FunctionError::bad_argument("a format names an argument that is missing"))?;
            call.reserve_more(value.get(row).len(), out)?;
            out.push_str(value.get(row));
            rest = &rest[at + end + 1..];
        }
        out.push_str(rest);
        Ok(())
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "concatWithSeparator",
            1..=usize::MAX,
            |_| Ok(ColumnType::String),
            concat_with_separator,
        )
        .any_case()
        .aliases(&["concat_ws", "concatWithSeparatorAssumeInjective"])
        .doc(
            "concatWithSeparator(separator, a, ...)",
            "Texts with a separator between.",
            "concat_ws('-', 'a', 'b') -> 'a-b'",
        ),
        ScalarFunction::new("repeat", 2..=2, takes_text("repeat", 1, ColumnType::String), repeat)
            .any_case()
            .doc("repeat(text, n)", "The text n times.", "repeat('ab', 2) -> 'abab'"),
        ScalarFunction::new("format", 2..=usize::MAX, takes_text("format", 1, ColumnType::String), format)
            .doc(
                "format(template, a, ...)",
                "The template with {} or {0} replaced by the arguments.",
                "format('{1} {0}', 'a', 'b') -> 'b a'",
            ),
        ScalarFunction::new(
            "space",
            1..=1,
            |_| Ok(ColumnType::String),
            |call| {
                let counts = call.ints(0)?;
                call.each_text(|row, out| {
                    let count = usize::try_from(counts.get(row)).unwrap_or(0);
                    check_repetitions(count)?;
                    call.reserve_text(count, out)?;
                    out.extend(std::iter::repeat_n(' ', count));
                    Ok(())
                })
            },
        )
        .any_case()
        .doc("space(n)", "n spaces.", "space(2) -> '  '"),
    ]
}
