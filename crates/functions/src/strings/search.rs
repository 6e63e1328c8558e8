//! Finding in text: positions, prefixes, LIKE, regular expressions, tokens.
//!
//! Invariant: positions are 1-based, 0 means not found; flags are UInt8.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt8Array};
use arrow::datatypes::UInt64Type;
use model::saturating::{u64_of, usize_of};
use model::{ColumnType, raw_text};

use super::pattern::{Compiled, Like, build, with_backslashes};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::{any_integer_shape, takes_text};

/// How positions are counted and letters compared.
#[derive(Clone, Copy)]
struct Way {
    utf8: bool,
    any_case: bool,
}

fn folded(text: &str, way: Way) -> String {
    if !way.any_case {
        return text.to_owned();
    }
    if way.utf8 { text.to_lowercase() } else { text.to_ascii_lowercase() }
}

/// As [`find`] in the bytes of texts that carry some.
fn find_bytes(haystack: &[u8], needle: &[u8], start: u64) -> u64 {
    let skip = usize_of(start.max(1) - 1);
    let Some(rest) = haystack.get(skip..) else { return 0 };
    if needle.is_empty() {
        return u64_of(skip) + 1;
    }
    rest.windows(needle.len()).position(|window| window == needle).map_or(0, |at| u64_of(skip + at) + 1)
}

/// Where the needle starts at or after the 1-based `start`; 0 if nowhere.
fn find(haystack: &str, needle: &str, start: u64, way: Way) -> u64 {
    if !way.utf8 && (raw_text::may_carry(haystack) || raw_text::may_carry(needle)) {
        return find_bytes(&raw_text::bytes(haystack), &raw_text::bytes(needle), start);
    }
    let skip = usize_of(start.max(1) - 1);
    if !way.utf8 && needle.is_empty() {
        // Nothing is found wherever it is looked for, also between the bytes of a character.
        return if skip <= haystack.len() { u64_of(skip) + 1 } else { 0 };
    }
    let from = if way.utf8 {
        haystack.char_indices().map(|(at, _)| at).chain(std::iter::once(haystack.len())).nth(skip)
    } else {
        (skip <= haystack.len())
            .then(|| (skip..=haystack.len()).find(|at| haystack.is_char_boundary(*at)))
            .flatten()
    };
    let Some(from) = from else { return 0 };
    match haystack[from..].find(needle) {
        Some(at) if way.utf8 => u64_of(haystack[..from + at].chars().count()) + 1,
        Some(at) => u64_of(from + at) + 1,
        None => 0,
    }
}

fn position(name: &'static str, haystack: usize, way: Way) -> ScalarFunction {
    let needle = 1 - haystack;
    let of_texts = takes_text(name, 2, ColumnType::UInt64);
    let rule = move |args: &[ArgType]| match args.get(2).map(|arg| &arg.column_type) {
        Some(start) if !start.is_integer() || any_integer_shape(start).is_none_or(|(_, signed)| signed) => {
            Err(FunctionError::illegal_type(start, name))
        }
        _ => of_texts(args),
    };
    ScalarFunction::new(name, 2..=3, rule, move |call| {
        let (haystacks, needles) = (call.texts(haystack)?, call.texts(needle)?);
        let starts = if call.args.len() > 2 { Some(call.converted(2, &ColumnType::UInt64)?) } else { None };
        let start = |row: usize| {
            let own = call.args.get(2).map_or(0, |arg| arg.row(row));
            starts.as_ref().map_or(1, |starts| starts.as_primitive::<UInt64Type>().value(own))
        };
        if !way.any_case {
            return call
                .each::<UInt64Type>(|row| Ok(find(haystacks.get(row), needles.get(row), start(row), way)));
        }
        call.each::<UInt64Type>(|row| {
            let (haystack, needle) = (folded(haystacks.get(row), way), folded(needles.get(row), way));
            Ok(find(&haystack, &needle, start(row), way))
        })
    })
}

fn test(name: &'static str, holds: impl Fn(&str, &str) -> bool + Send + Sync + 'static) -> ScalarFunction {
    ScalarFunction::new(name, 2..=2, takes_text(name, 2, ColumnType::UInt8), move |call| {
        let (texts, others) = (call.texts(0)?, call.texts(1)?);
        call.each_flag(|row| holds(texts.get(row), others.get(row)))
    })
}

fn like(
    name: &'static str,
    compile: fn(&str) -> Result<Like, FunctionError>,
    wanted: bool,
) -> ScalarFunction {
    ScalarFunction::new(name, 2..=3, takes_text(name, 3, ColumnType::UInt8), move |call| {
        let (texts, patterns) = (call.texts(0)?, call.texts(1)?);
        let escape = if call.args.len() > 2 { Some(escape(name, call)?) } else { None };
        let plain = |pattern| match escape {
            Some(escape) => with_backslashes(pattern, escape).map(Cow::Owned),
            None => Ok(Cow::Borrowed(pattern)),
        };
        if let Some(pattern) = patterns.constant() {
            let pattern = compile(&plain(pattern)?)?;
            return call.each_flag(|row| pattern.matches(texts.get(row)) == wanted);
        }
        let compiled = Compiled::new(compile);
        call.each::<arrow::datatypes::UInt8Type>(|row| {
            let pattern = plain(patterns.get(row))?;
            Ok(u8::from(compiled.get(&pattern)?.matches(texts.get(row)) == wanted))
        })
    })
}

/// The character of ESCAPE.
fn escape(name: &str, call: &Call<'_>) -> Result<char, FunctionError> {
    let written = call.texts(2)?;
    let mut chars = written.constant().unwrap_or("").chars();
    match (chars.next(), chars.next()) {
        (Some(escape), None) if escape.is_ascii() => Ok(escape),
        _ => Err(FunctionError::bad_argument(format!(
            "the ESCAPE argument of function {name} must be a single ASCII character, got '{}'",
            written.constant().unwrap_or("")
        ))),
    }
}

fn matches(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (texts, patterns) = (call.texts(0)?, call.texts(1)?);
    let compiled = Compiled::new(|pattern| build(pattern, false, true));
    if let Some(pattern) = patterns.constant() {
        let pattern = compiled.get(pattern)?;
        return call.each_flag(|row| pattern.is_match(texts.get(row)));
    }
    call.each::<arrow::datatypes::UInt8Type>(|row| {
        Ok(u8::from(compiled.get(patterns.get(row))?.is_match(texts.get(row))))
    })
}

/// The first group of the first match, or all of it where there is no group.
fn extract(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (texts, patterns) = (call.texts(0)?, call.texts(1)?);
    let compiled = Compiled::new(|pattern| build(pattern, false, true));
    call.each_text(|row, out| {
        let pattern = compiled.get(patterns.get(row))?;
        if let Some(found) = pattern.captures(texts.get(row)) {
            let group = usize::from(pattern.captures_len() > 1);
            out.push_str(found.get(group).map_or("", |part| part.as_str()));
        }
        Ok(())
    })
}

fn count_substrings(name: &'static str, any_case: bool) -> ScalarFunction {
    ScalarFunction::new(name, 2..=3, takes_text(name, 2, ColumnType::UInt64), move |call| {
        let (texts, needles) = (call.texts(0)?, call.texts(1)?);
        let starts = if call.args.len() > 2 { Some(call.ints(2)?) } else { None };
        let way = Way { utf8: false, any_case };
        call.each::<UInt64Type>(|row| {
            let start = starts.as_ref().map_or(0, |starts| usize::try_from(starts.get(row) - 1).unwrap_or(0));
            let (text, needle) = (folded(texts.get(row), way), folded(needles.get(row), way));
            Ok(if needle.is_empty() {
                0
            } else {
                u64_of(text.get(start..).unwrap_or("").matches(needle.as_str()).count())
            })
        })
    })
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// Whether the token stands in the text between characters that are not letters or digits.
fn has_token(text: &str, token: &str) -> bool {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(token)) {
        let (start, end) = (from + at, from + at + token.len());
        let bytes = text.as_bytes();
        let free_before = start == 0 || !is_token_byte(bytes[start - 1]);
        let free_after = end >= bytes.len() || !is_token_byte(bytes[end]);
        if free_before && free_after && !token.is_empty() {
            return true;
        }
        from = (start + 1..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len() + 1);
    }
    false
}

fn token_test(name: &'static str, any_case: bool) -> ScalarFunction {
    ScalarFunction::new(name, 2..=2, takes_text(name, 2, ColumnType::UInt8), move |call| {
        let (texts, tokens) = (call.texts(0)?, call.texts(1)?);
        let way = Way { utf8: false, any_case };
        call.each::<arrow::datatypes::UInt8Type>(|row| {
            let token = tokens.get(row);
            if !token.bytes().all(is_token_byte) {
                let message = format!("the token of {name} is one word, and '{token}' has a separator");
                return Err(FunctionError::bad_argument(message));
            }
            Ok(u8::from(has_token(&folded(texts.get(row), way), &folded(token, way))))
        })
    })
}

/// As [`token_test`], NULL where the token is none.
fn token_test_or_null(name: &'static str, any_case: bool) -> ScalarFunction {
    let result = ColumnType::UInt8.nullable();
    ScalarFunction::new(name, 2..=2, takes_text(name, 2, result), move |call| {
        let (texts, tokens) = (call.texts(0)?, call.texts(1)?);
        let way = Way { utf8: false, any_case };
        let found = |row: usize| {
            let token = tokens.get(row);
            let is_token = !call.is_null(row) && token.bytes().all(is_token_byte);
            is_token.then(|| u8::from(has_token(&folded(texts.get(row), way), &folded(token, way))))
        };
        Ok(Arc::new((0..call.rows).map(found).collect::<UInt8Array>()))
    })
}

fn positions() -> Vec<ScalarFunction> {
    let bytes = Way { utf8: false, any_case: false };
    vec![
        position("position", 0, bytes).any_case().doc(
            "position(haystack, needle[, start])",
            "Byte at which the needle starts, from 1; 0 if it does not occur.",
            "position('hello', 'l') -> 3",
        ),
        position("locate", 1, bytes).any_case().doc(
            "locate(needle, haystack[, start])",
            "As position, with the needle first.",
            "locate('l', 'hello') -> 3",
        ),
        position("positionUTF8", 0, Way { utf8: true, any_case: false }).doc(
            "positionUTF8(haystack, needle[, start])",
            "As position, in characters.",
            "positionUTF8('ñu', 'u') -> 2",
        ),
        position("positionCaseInsensitive", 0, Way { utf8: false, any_case: true })
            .aliases(&["instr"])
            .any_case()
            .doc(
                "positionCaseInsensitive(haystack, needle[, start])",
                "As position, ASCII letters alike in both cases.",
                "positionCaseInsensitive('Hello', 'h') -> 1",
            ),
        position("positionCaseInsensitiveUTF8", 0, Way { utf8: true, any_case: true }).doc(
            "positionCaseInsensitiveUTF8(haystack, needle[, start])",
            "As positionUTF8, letters alike in both cases.",
            "positionCaseInsensitiveUTF8('Ñu', 'ñ') -> 1",
        ),
    ]
}

fn patterns() -> Vec<ScalarFunction> {
    let exact: fn(&str) -> Result<Like, FunctionError> = |pattern| Like::compile(pattern, false);
    let any_case: fn(&str) -> Result<Like, FunctionError> = |pattern| Like::compile(pattern, true);
    vec![
        like("like", exact, true).doc(
            "like(text, pattern[, escape])",
            "Whether text matches % and _.",
            "like('abc', 'a%') -> 1",
        ),
        like("notLike", exact, false).doc(
            "notLike(text, pattern[, escape])",
            "The opposite of like.",
            "notLike('abc', 'a%') -> 0",
        ),
        like("ilike", any_case, true).doc(
            "ilike(text, pattern[, escape])",
            "like without regard to case.",
            "ilike('ABC', 'a%') -> 1",
        ),
        like("notILike", any_case, false).doc(
            "notILike(text, pattern[, escape])",
            "The opposite of ilike.",
            "notILike('ABC', 'a%') -> 0",
        ),
        ScalarFunction::new("match", 2..=2, takes_text("match", 2, ColumnType::UInt8), matches)
            .aliases(&["REGEXP_MATCHES"])
            .doc(
                "match(text, regexp)",
                "Whether a regular expression occurs in text.",
                "match('abc', 'b+') -> 1",
            ),
        ScalarFunction::new("extract", 2..=2, takes_text("extract", 2, ColumnType::String), extract)
            .aliases(&["REGEXP_EXTRACT"])
            .any_case()
            .doc(
                "extract(text, regexp)",
                "The first match, or its first group.",
                "extract('a12', '(\\\\d)') -> '1'",
            ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = positions();
    out.extend(patterns());
    out.extend([
        test("startsWith", |text, prefix| text.starts_with(prefix)).aliases(&["startsWithUTF8"]).doc(
            "startsWith(text, prefix)",
            "Whether text starts so.",
            "startsWith('abc', 'ab') -> 1",
        ),
        test("endsWith", |text, suffix| text.ends_with(suffix)).aliases(&["endsWithUTF8"]).doc(
            "endsWith(text, suffix)",
            "Whether text ends so.",
            "endsWith('abc', 'bc') -> 1",
        ),
        token_test("hasToken", false).doc(
            "hasToken(text, token)",
            "Whether a word occurs in text.",
            "hasToken('a b', 'b') -> 1",
        ),
        token_test("hasTokenCaseInsensitive", true).doc(
            "hasTokenCaseInsensitive(text, token)",
            "As hasToken in any case.",
            "hasTokenCaseInsensitive('a B', 'b') -> 1",
        ),
        token_test_or_null("hasTokenOrNull", false).any_case().doc(
            "hasTokenOrNull(text, token)",
            "As hasToken, NULL where the token has separators.",
            "hasTokenOrNull('a b', 'b') -> 1",
        ),
        token_test_or_null("hasTokenCaseInsensitiveOrNull", true).any_case().doc(
            "hasTokenCaseInsensitiveOrNull(text, token)",
            "As hasTokenOrNull in any case.",
            "hasTokenCaseInsensitiveOrNull('a B', 'b') -> 1",
        ),
        count_substrings("countSubstrings", false).doc(
            "countSubstrings(text, needle)",
            "How often a needle occurs, without overlap.",
            "countSubstrings('aaa', 'a') -> 3",
        ),
        count_substrings("countSubstringsCaseInsensitive", true).doc(
            "countSubstringsCaseInsensitive(text, needle)",
            "As countSubstrings in any case.",
            "countSubstringsCaseInsensitive('aAa', 'A') -> 3",
        ),
    ]);
    out
}
