//! Parts of text, and text made to a width.
//!
//! Invariant: positions are 1-based; negative ones count from the end.

use std::borrow::Cow;

use model::saturating::usize_of;
use model::{ColumnType, ErrorCode, raw_text};

use super::join::check_padded;
use crate::error::FunctionError;
use crate::kernel::call::ArgType;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::takes_text;

/// A byte range as text; cut characters are carried as bytes.
fn bytes_of<'t>(text: &'t str, bytes: &[u8], range: std::ops::Range<usize>) -> Cow<'t, str> {
    match text.get(range.clone()) {
        Some(part) if bytes.len() == text.len() => Cow::Borrowed(part),
        _ => Cow::Owned(raw_text::text(&bytes[range])),
    }
}

/// The part of `count` units that starts at a 1-based or negative offset and has that length.
fn slice_range(count: usize, offset: i64, length: Option<i64>) -> std::ops::Range<usize> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    // A start before the first unit uses up length.
    let start = if offset > 0 { offset - 1 } else { count + offset };
    let end = match length {
        None => count,
        Some(length) if length < 0 => count + length,
        Some(length) => start.saturating_add(length),
    };
    if offset == 0 {
        return 0..0;
    }
    let clamp = |at: i64| usize::try_from(at.clamp(0, count)).unwrap_or(0);
    clamp(start)..clamp(end).max(clamp(start))
}

/// Characters or bytes of text.
fn units(text: &str, utf8: bool) -> usize {
    if utf8 { text.chars().count() } else { raw_text::bytes(text).len() }
}

fn char_range(text: &str, range: std::ops::Range<usize>) -> &str {
    let mut ends = text.char_indices().map(|(at, _)| at).chain(std::iter::once(text.len()));
    let start = ends.clone().nth(range.start).unwrap_or(text.len());
    let end = ends.nth(range.end).unwrap_or(text.len());
    &text[start..end]
}

fn part(text: &str, utf8: bool, offset: i64, length: Option<i64>) -> Cow<'_, str> {
    if utf8 && !text.is_ascii() {
        let range = slice_range(text.chars().count(), offset, length);
        return Cow::Borrowed(char_range(text, range));
    }
    let bytes = raw_text::bytes(text);
    bytes_of(text, &bytes, slice_range(bytes.len(), offset, length))
}

/// Text, and behind it numbers: of an offset, a length, a count.
fn text_and_numbers(
    name: &'static str,
    numbers: usize,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync + 'static {
    let text = takes_text(name, 1, ColumnType::String);
    move |args| {
        let no_number = args.iter().skip(1).take(numbers).find(|arg| !arg.column_type.is_number());
        match no_number {
            Some(arg) => Err(FunctionError::illegal_type(&arg.column_type, name)),
            None => text(args),
        }
    }
}

fn substring(name: &'static str, utf8: bool) -> ScalarFunction {
    ScalarFunction::new(name, 2..=3, text_and_numbers(name, 2), move |call| {
        let (texts, offsets) = (call.texts(0)?, call.ints(1)?);
        // ClickHouse notices it only where it runs over a column.
        if !utf8 && !call.arg(0)?.is_constant && call.arg(1)?.is_constant && offsets.get(0) == 0 {
            let message = format!("the offset of {name} is counted from 1, or from the end from -1");
            return Err(FunctionError::new(ErrorCode::ZERO_ARRAY_OR_TUPLE_INDEX, message));
        }
        let lengths = if call.args.len() > 2 { Some(call.ints(2)?) } else { None };
        call.each_text(|row, out| {
            let length = lengths.as_ref().map(|lengths| lengths.get(row));
            out.push_str(&part(texts.get(row), utf8, offsets.get(row), length));
            Ok(())
        })
    })
}

/// So many bits from an offset, which is counted as of a text; zeros fill the last byte.
fn bits_of(bytes: &[u8], offset: i64, length: Option<i64>) -> Vec<u8> {
    let all = i64::try_from(bytes.len()).unwrap_or(i64::MAX).saturating_mul(8);
    let start = if offset > 0 { offset - 1 } else { all.saturating_add(offset) };
    let end = match length {
        None => all,
        Some(length) if length < 0 => all.saturating_add(length),
        Some(length) => start.saturating_add(length).min(all),
    };
    let start = start.max(0);
    if offset == 0 || start >= end {
        return vec![];
    }
    let bit = |at: i64| match usize::try_from(at) {
        Ok(place) if at < end => bytes[place / 8] >> (7 - place % 8) & 1,
        _ => 0,
    };
    let byte = |first: i64| (first..first + 8).fold(0, |byte, at| byte << 1 | bit(at));
    (start..end).step_by(8).map(byte).collect()
}

fn bit_slice() -> ScalarFunction {
    ScalarFunction::new("bitSlice", 2..=3, text_and_numbers("bitSlice", 2), |call| {
        let (texts, offsets) = (call.texts(0)?, call.ints(1)?);
        let lengths = if call.args.len() > 2 { Some(call.ints(2)?) } else { None };
        call.each_text(|row, out| {
            let length = lengths.as_ref().map(|lengths| lengths.get(row));
            raw_text::push(&bits_of(&texts.bytes(row), offsets.get(row), length), out);
            Ok(())
        })
    })
}

fn end_part(name: &'static str, utf8: bool, left: bool) -> ScalarFunction {
    ScalarFunction::new(name, 2..=2, text_and_numbers(name, 1), move |call| {
        let (texts, counts) = (call.texts(0)?, call.ints(1)?);
        call.each_text(|row, out| {
            let (text, count) = (texts.get(row), counts.get(row));
            let piece = match (left, count) {
                (true, count) => part(text, utf8, 1, Some(count)),
                (false, 0) => Cow::Borrowed(""),
                (false, count) if count < 0 => part(text, utf8, 1_i64.saturating_sub(count), None),
                (false, count) => {
                    let units = units(text, utf8);
                    let count = count.min(i64::try_from(units).unwrap_or(i64::MAX));
                    if count == 0 { Cow::Borrowed("") } else { part(text, utf8, -count, None) }
                }
            };
            out.push_str(&piece);
            Ok(())
        })
    })
}

fn trim(name: &'static str, left: bool, right: bool) -> ScalarFunction {
    ScalarFunction::new(name, 1..=2, takes_text(name, 2, ColumnType::String), move |call| {
        let texts = call.texts(0)?;
        let set: Vec<char> =
            if call.args.len() > 1 { call.texts(1)?.get(0).chars().collect() } else { vec![' '] };
        call.each_part(|row| {
            let text = texts.get(row);
            let text = if left { text.trim_start_matches(set.as_slice()) } else { text };
            if right { text.trim_end_matches(set.as_slice()) } else { text }
        })
    })
}

/// The text before the n-th delimiter; behind the n-th from the end where n is negative.
fn before_delimiter<'a>(text: &'a str, delimiter: &str, count: i64) -> &'a str {
    let Some(nth) = count.unsigned_abs().checked_sub(1) else { return "" };
    if delimiter.is_empty() {
        return "";
    }
    let nth = usize_of(nth);
    if count > 0 {
        text.match_indices(delimiter).nth(nth).map_or(text, |(at, _)| &text[..at])
    } else {
        text.rmatch_indices(delimiter).nth(nth).map_or(text, |(at, found)| &text[at + found.len()..])
    }
}

fn substring_index(name: &'static str, utf8: bool) -> ScalarFunction {
    let rule = takes_text(name, 2, ColumnType::String);
    ScalarFunction::new(name, 3..=3, rule, move |call| {
        let (texts, delimiters, counts) = (call.texts(0)?, call.texts(1)?, call.ints(2)?);
        call.each_text(|row, out| {
            if units(delimiters.get(row), utf8) != 1 {
                let message = format!("the delimiter of {name} must be a single character");
                return Err(FunctionError::bad_argument(message));
            }
            out.push_str(before_delimiter(texts.get(row), delimiters.get(row), counts.get(row)));
            Ok(())
        })
    })
}

fn pad(name: &'static str, utf8: bool, left: bool) -> ScalarFunction {
    ScalarFunction::new(name, 2..=3, text_and_numbers(name, 1), move |call| {
        let (texts, widths) = (call.texts(0)?, call.ints(1)?);
        let fills = if call.args.len() > 2 { Some(call.texts(2)?) } else { None };
        call.each_text(|row, out| {
            let text = texts.get(row);
            let width = usize::try_from(widths.get(row)).map_err(|_| {
                let message = format!("the width that {name} is asked for, {}, is negative", widths.get(row));
                FunctionError::new(ErrorCode::INDEX_OF_POSITIONAL_ARGUMENT_IS_OUT_OF_RANGE, message)
            })?;
            check_padded(width)?;
            let fill =
                fills.as_ref().map(|fills| fills.get(row)).filter(|fill| !fill.is_empty()).unwrap_or(" ");
            let have = units(text, utf8);
            let missing = width.saturating_sub(have);
            // The padding, as bytes and as text, beside the result; characters have up to four bytes.
            call.reserve(missing.saturating_mul(if utf8 { 12 } else { 6 }))?;
            let padding: String = if utf8 {
                fill.chars().cycle().take(missing).collect()
            } else {
                let bytes: Vec<u8> = raw_text::bytes(fill).iter().copied().cycle().take(missing).collect();
                raw_text::text(&bytes)
            };
            if left {
                out.push_str(&padding);
            }
            let limit = i64::try_from(width).unwrap_or(i64::MAX);
            out.push_str(&part(text, utf8, 1, Some(limit)));
            if !left {
                out.push_str(&padding);
            }
            Ok(())
        })
    })
}

fn parts() -> Vec<ScalarFunction> {
    let substring_doc = (
        "substring(text, offset[, length])",
        "A part of text, from 1; a negative offset counts from the end.",
    );
    vec![
        bit_slice().doc(
            "bitSlice(text, offset[, length])",
            "The bits from an offset, with zeros in the rest of the last byte; a negative offset or length counts from the end.",
            "bin(bitSlice('Hello', 3, 6)) -> '00100000'",
        ),
        substring("substring", false).any_case().aliases(&["substr", "mid", "byteSlice"]).doc(
            substring_doc.0,
            substring_doc.1,
            "substring('hello', 2, 3) -> 'ell'",
        ),
        substring("substringUTF8", true).any_case().doc(
            "substringUTF8(text, offset[, length])",
            "As substring, in characters.",
            "substringUTF8('ñandú', 2, 2) -> 'an'",
        ),
        end_part("left", false, true).any_case().doc(
            "left(text, n)",
            "The first n bytes.",
            "left('hello', 2) -> 'he'",
        ),
        end_part("leftUTF8", true, true).doc(
            "leftUTF8(text, n)",
            "The first n characters.",
            "leftUTF8('ñu', 1) -> 'ñ'",
        ),
        end_part("right", false, false).any_case().doc(
            "right(text, n)",
            "The last n bytes.",
            "right('hello', 2) -> 'lo'",
        ),
        end_part("rightUTF8", true, false).doc(
            "rightUTF8(text, n)",
            "The last n characters.",
            "rightUTF8('uñ', 1) -> 'ñ'",
        ),
        substring_index("substringIndex", false).any_case().aliases(&["SUBSTRING_INDEX"]).doc(
            "substringIndex(text, delimiter, n)",
            "The text before the n-th delimiter; behind the n-th from the end where n is negative.",
            "substringIndex('a.b.c', '.', 2) -> 'a.b'",
        ),
        substring_index("substringIndexUTF8", true).doc(
            "substringIndexUTF8(text, delimiter, n)",
            "The text before the n-th delimiter, which may be any character.",
            "substringIndexUTF8('aйbйc', 'й', 2) -> 'aйb'",
        ),
    ]
}

fn widths() -> Vec<ScalarFunction> {
    vec![
        trim("trimBoth", true, true).any_case().aliases(&["trim"]).doc(
            "trimBoth(text[, characters])",
            "Text without spaces at both ends.",
            "trimBoth('  a ') -> 'a'",
        ),
        trim("trimLeft", true, false).any_case().aliases(&["ltrim"]).doc(
            "trimLeft(text[, characters])",
            "Text without spaces at its start.",
            "trimLeft('  a') -> 'a'",
        ),
        trim("trimRight", false, true).any_case().aliases(&["rtrim"]).doc(
            "trimRight(text[, characters])",
            "Text without spaces at its end.",
            "trimRight('a  ') -> 'a'",
        ),
        pad("leftPad", false, true).any_case().aliases(&["lpad"]).doc(
            "leftPad(text, width[, fill])",
            "Text made that wide at its start, or cut.",
            "leftPad('7', 3, '0') -> '007'",
        ),
        pad("leftPadUTF8", true, true).doc(
            "leftPadUTF8(text, width[, fill])",
            "As leftPad, in characters.",
            "leftPadUTF8('ñ', 2, '-') -> '-ñ'",
        ),
        pad("rightPad", false, false).any_case().aliases(&["rpad"]).doc(
            "rightPad(text, width[, fill])",
            "Text made that wide at its end, or cut.",
            "rightPad('7', 3, '0') -> '700'",
        ),
        pad("rightPadUTF8", true, false).doc(
            "rightPadUTF8(text, width[, fill])",
            "As rightPad, in characters.",
            "rightPadUTF8('ñ', 2, '-') -> 'ñ-'",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = parts();
    out.extend(widths());
    out
}
