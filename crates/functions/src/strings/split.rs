//! Text into arrays of text, and back.
//!
//! Invariant: results are Array(String); an empty separator splits into characters.

use arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use model::{ColumnType, raw_text};

use super::pattern::{Compiled, build};
use crate::cast::CastMode;
use crate::columns::container::{list_of, offsets_of, range};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::takes_text;

/// What a piece takes beside its bytes: a view of 16, in a buffer that grows by doubling.
const PIECE_BYTES: usize = 32;

pub(super) fn text_list() -> ColumnType {
    ColumnType::Array(Box::new(ColumnType::String))
}

/// One list of texts per row, written by `split`. A NULL gives what an empty text does: nothing, or one empty text.
pub(super) fn each_list(
    call: &Call<'_>,
    of_empty: bool,
    mut split: impl FnMut(usize, &mut dyn FnMut(&str)) -> Result<(), FunctionError>,
) -> Result<ArrayRef, FunctionError> {
    let mut builder = StringViewBuilder::new();
    let mut lengths = Vec::with_capacity(call.rows);
    let (mut refused, mut all) = (Ok(()), 0_usize);
    for row in 0..call.rows {
        let before = all;
        if call.is_null(row) {
            if of_empty {
                builder.append_value("");
                all += 1;
            }
        } else {
            split(row, &mut |piece| {
                // What is refused is not made; what comes after it need not be.
                if refused.is_ok() {
                    refused = call.reserve(PIECE_BYTES + piece.len());
                }
                if refused.is_ok() {
                    builder.append_value(piece);
                    all += 1;
                }
            })?;
        }
        std::mem::replace(&mut refused, Ok(()))?;
        call.allowance.check_elements(all)?;
        lengths.push(all - before);
    }
    let values: ArrayRef = std::sync::Arc::new(builder.finish());
    Ok(list_of(&ColumnType::String, offsets_of(lengths), values, None)?)
}

/// Pieces asked for by an optional last argument; 0 and less mean all.
fn limit_of(call: &Call<'_>, index: usize) -> Result<usize, FunctionError> {
    if call.args.len() <= index {
        return Ok(usize::MAX);
    }
    let most = call.ints(index)?.get(0);
    Ok(usize::try_from(most).ok().filter(|most| *most > 0).unwrap_or(usize::MAX))
}

fn split_by_text(name: &'static str) -> ScalarFunction {
    ScalarFunction::new(name, 2..=3, takes_text(name, 2, text_list()), move |call| {
        let (separators, texts) = (call.texts(0)?, call.texts(1)?);
        let most = limit_of(call, 2)?;
        let single = name == "splitByChar";
        // By nothing an empty text is in no pieces.
        let of_empty = single || separators.constant().is_none_or(|separator| !separator.is_empty());
        each_list(call, of_empty, |row, push| {
            let (text, separator) = (texts.get(row), separators.get(row));
            if single && separator.len() != 1 {
                let message =
                    format!("illegal separator '{separator}' of splitByChar: it is exactly one byte");
                return Err(FunctionError::bad_argument(message));
            }
            if separator.is_empty() {
                texts.bytes(row).iter().take(most).for_each(|byte| push(&raw_text::text(&[*byte])));
            } else if !text.is_empty() || most > 0 {
                text.split(separator).take(most).for_each(push);
            }
            Ok(())
        })
    })
}

fn split_by(name: &'static str, is_separator: fn(char) -> bool) -> ScalarFunction {
    ScalarFunction::new(name, 1..=2, takes_text(name, 1, text_list()), move |call| {
        let texts = call.texts(0)?;
        let most = limit_of(call, 1)?;
        each_list(call, false, |row, push| {
            texts.get(row).split(is_separator).filter(|piece| !piece.is_empty()).take(most).for_each(push);
            Ok(())
        })
    })
}

fn split_by_expression(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (patterns, texts) = (call.texts(0)?, call.texts(1)?);
    let most = limit_of(call, 2)?;
    let compiled = Compiled::new(|pattern| build(pattern, false, true));
    each_list(call, true, |row, push| {
        let text = texts.get(row);
        if patterns.get(row).is_empty() {
            texts.bytes(row).iter().take(most).for_each(|byte| push(&raw_text::text(&[*byte])));
            return Ok(());
        }
        let pattern = compiled.get(patterns.get(row))?;
        // A match of nothing ends the pieces.
        let (mut start, mut made) = (0, 0);
        while made < most {
            match pattern.find_at(text, start).filter(|found| !found.is_empty()) {
                Some(found) => {
                    push(&text[start..found.start()]);
                    start = found.end();
                }
                None => {
                    push(&text[start..]);
                    break;
                }
            }
            made += 1;
        }
        Ok(())
    })
}

fn extract_all(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (texts, patterns) = (call.texts(0)?, call.texts(1)?);
    let compiled = Compiled::new(|pattern| build(pattern, false, true));
    each_list(call, false, |row, push| {
        let pattern = compiled.get(patterns.get(row))?;
        let group = usize::from(pattern.captures_len() > 1);
        for found in pattern.captures_iter(texts.get(row)) {
            // A match of nothing ends the search.
            if found.get(0).is_none_or(|whole| whole.is_empty()) {
                break;
            }
            push(found.get(group).map_or("", |part| part.as_str()));
        }
        Ok(())
    })
}

fn join_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::Array(_)) => Ok(ColumnType::String),
        Some(other) => Err(FunctionError::illegal_type(other, "arrayStringConcat")),
        None => Err(FunctionError::bad_argument("an argument is needed")),
    }
}

/// Elements that are NULL are left out.
fn join(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let ColumnType::Array(element) = &arg.column_type else {
        return Err(FunctionError::illegal_type(&arg.column_type, "arrayStringConcat"));
    };
    let list = arg.array.as_list::<i32>();
    let texts = call.caster(CastMode::Strict).to_text(list.values(), element);
    let separators = if call.args.len() > 1 { Some(call.texts(1)?) } else { None };
    call.each_text(|row, out| {
        let separator = separators.as_ref().map_or("", |separators| separators.get(row));
        let mut first = true;
        for at in range(list.value_offsets(), arg.row(row)).filter(|at| texts.is_valid(*at)) {
            call.reserve_more(separator.len() + texts.value(at).len(), out)?;
            if !first {
                out.push_str(separator);
            }
            first = false;
            out.push_str(texts.value(at));
        }
        Ok(())
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        split_by_text("splitByChar").doc(
            "splitByChar(separator, text[, most])",
            "The pieces of text between a character.",
            "splitByChar(',', 'a,b') -> ['a','b']",
        ),
        split_by_text("splitByString").doc(
            "splitByString(separator, text[, most])",
            "The pieces of text between a text; its characters if that is empty.",
            "splitByString(', ', 'a, b') -> ['a','b']",
        ),
        ScalarFunction::new(
            "splitByRegexp",
            2..=3,
            takes_text("splitByRegexp", 2, text_list()),
            split_by_expression,
        )
        .doc(
            "splitByRegexp(regexp, text[, most])",
            "The pieces of text between matches.",
            "splitByRegexp('[0-9]', 'a1b') -> ['a','b']",
        ),
        split_by("splitByWhitespace", |c| c.is_ascii_whitespace() || c == '\u{b}').doc(
            "splitByWhitespace(text[, most])",
            "The words of text between white space.",
            "splitByWhitespace(' a b ') -> ['a','b']",
        ),
        split_by("splitByNonAlpha", |c| c.is_ascii_whitespace() || c.is_ascii_punctuation()).doc(
            "splitByNonAlpha(text[, most])",
            "The words of text between white space and punctuation.",
            "splitByNonAlpha('a, b') -> ['a','b']",
        ),
        split_by("alphaTokens", |c| !c.is_ascii_alphabetic()).aliases(&["splitByAlpha"]).doc(
            "alphaTokens(text[, most])",
            "The runs of ASCII letters in text.",
            "alphaTokens('a1b') -> ['a','b']",
        ),
        ScalarFunction::new("extractAll", 2..=2, takes_text("extractAll", 2, text_list()), extract_all).doc(
            "extractAll(text, regexp)",
            "All matches, or their first groups.",
            "extractAll('a1b2', '[0-9]') -> ['1','2']",
        ),
        ScalarFunction::new("arrayStringConcat", 1..=2, join_type, join)
            .any_case()
            .aliases(&["array_to_string"])
            .doc(
                "arrayStringConcat(array[, separator])",
                "The texts of the elements with a separator between.",
                "arrayStringConcat(['a','b'], '-') -> 'a-b'",
            ),
    ]
}
