//! Replacing in text, plainly and by regular expression.
//!
//! Invariant: `\0` is the match and `\1`..`\9` its groups, as in ClickHouse; `$` has no meaning.

use arrow::array::ArrayRef;
use model::ColumnType;
use regex::Captures;

use super::pattern::{Compiled, build};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::takes_text;

fn plain(name: &'static str, most: usize) -> ScalarFunction {
    ScalarFunction::new(name, 3..=3, takes_text(name, 3, ColumnType::String), move |call| {
        let (texts, needles, replacements) = (call.texts(0)?, call.texts(1)?, call.texts(2)?);
        call.each_text(|row, out| {
            let (text, needle) = (texts.get(row), needles.get(row));
            if needle.is_empty() {
                out.push_str(text);
            } else {
                let found = text.matches(needle).take(most).count();
                let longer = replacements.get(row).len().saturating_sub(needle.len()).saturating_mul(found);
                call.reserve_text(text.len().saturating_add(longer), out)?;
                let mut rest = text;
                for _ in 0..most {
                    let Some(at) = rest.find(needle) else { break };
                    out.push_str(&rest[..at]);
                    out.push_str(replacements.get(row));
                    rest = &rest[at + needle.len()..];
                }
                out.push_str(rest);
            }
            Ok(())
        })
    })
}

/// A replacement cut into texts and numbers of groups.
enum Piece<'a> {
    Text(&'a str),
    Group(usize),
}

fn pieces(replacement: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    let mut rest = replacement;
    while let Some(at) = rest.find('\\') {
        let next = rest[at + 1..].chars().next();
        match next {
            Some(c) if c.is_ascii_digit() => {
                out.push(Piece::Text(&rest[..at]));
                out.push(Piece::Group(
                    c.to_digit(10).and_then(|digit| usize::try_from(digit).ok()).unwrap_or(0),
                ));
                rest = &rest[at + 2..];
            }
            Some('\\') => {
                out.push(Piece::Text(&rest[..=at]));
                rest = &rest[at + 2..];
            }
            _ => {
                out.push(Piece::Text(&rest[..=at]));
                rest = &rest[at + 1..];
            }
        }
    }
    out.push(Piece::Text(rest));
    out
}

fn fill(found: &Captures<'_>, pieces: &[Piece<'_>], out: &mut String) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Group(group) => out.push_str(found.get(*group).map_or("", |part| part.as_str())),
        }
    }
}

/// Bytes that [`fill`] writes.
fn filled_bytes(found: &Captures<'_>, pieces: &[Piece<'_>]) -> usize {
    let bytes = |piece: &Piece<'_>| match piece {
        Piece::Text(text) => text.len(),
        Piece::Group(group) => found.get(*group).map_or(0, |part| part.len()),
    };
    pieces.iter().map(bytes).fold(0, usize::saturating_add)
}

fn by_expression(call: &Call<'_>, most: usize) -> Result<ArrayRef, FunctionError> {
    let (texts, patterns, replacements) = (call.texts(0)?, call.texts(1)?, call.texts(2)?);
    let compiled = Compiled::new(|pattern| {
        build(pattern, false, true).map_err(|error| FunctionError::bad_argument(error.message))
    });
    call.each_text(|row, out| {
        let pattern = compiled.get(patterns.get(row))?;
        let pieces = pieces(replacements.get(row));
        let groups = pattern.captures_len();
        let is_beyond = |piece: &Piece<'_>| matches!(piece, Piece::Group(group) if *group >= groups);
        if pieces.iter().any(is_beyond) {
            let message = format!(
                "the replacement '{}' names a group that '{}' has not: it has {}",
                replacements.get(row),
                patterns.get(row),
                groups - 1
            );
            return Err(FunctionError::bad_argument(message));
        }
        let text = texts.get(row);
        if patterns.get(row).is_empty() {
            out.push_str(text);
            return Ok(());
        }
        // As in RE2's loop, an empty match may stand right behind another one.
        let (mut end, mut at, mut made) = (0, 0, 0);
        while made < most && at <= text.len() {
            let Some(found) = pattern.captures_at(text, at) else { break };
            let Some(whole) = found.get(0) else { break };
            out.push_str(&text[end..whole.start()]);
            call.reserve_more(filled_bytes(&found, &pieces), out)?;
            fill(&found, &pieces, out);
            (end, made) = (whole.end(), made + 1);
            let step = text[end..].chars().next().map_or(1, char::len_utf8);
            at = if whole.is_empty() { end + step } else { end };
        }
        out.push_str(&text[end..]);
        Ok(())
    })
}

/// A FixedString keeps its length.
fn translate_type(name: &'static str, args: &[ArgType], utf8: bool) -> Result<ColumnType, FunctionError> {
    let text = takes_text(name, 3, ColumnType::String)(args)?;
    match &args[0].column_type {
        ColumnType::FixedString(_) if utf8 => {
            Err(FunctionError::bad_argument(format!("{name} does not take a FixedString")))
        }
        fixed @ ColumnType::FixedString(_) => Ok(fixed.clone()),
        _ => Ok(text),
    }
}

/// Characters of `from` without one of `to` at their place are left out; of a character named twice the last counts.
fn translate(name: &'static str, utf8: bool) -> ScalarFunction {
    let rule = move |args: &[ArgType]| translate_type(name, args, utf8);
    ScalarFunction::new(name, 3..=3, rule, move |call| {
        let (texts, from, to) = (call.texts(0)?, call.texts(1)?, call.texts(2)?);
        let keeps_length = matches!(call.result_type.value_type(), ColumnType::FixedString(_));
        call.each_text(|row, out| {
            let from: Vec<char> = from.get(row).chars().collect();
            let to: Vec<char> = to.get(row).chars().collect();
            let refused = if !utf8 && from.iter().chain(&to).any(|c| !c.is_ascii()) {
                Some("exchanges ASCII characters only")
            } else if from.len() < to.len() {
                Some("has as many characters to exchange as those they become, or more")
            } else if keeps_length && from.len() != to.len() {
                Some("of a FixedString takes two lists of the same length")
            } else {
                None
            };
            if let Some(reason) = refused {
                return Err(FunctionError::bad_argument(format!("{name} {reason}")));
            }
            for c in texts.get(row).chars() {
                match from.iter().rposition(|known| *known == c) {
                    Some(at) => out.extend(to.get(at)),
                    None => out.push(c),
                }
            }
            Ok(())
        })
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        plain("replaceOne", 1).doc(
            "replaceOne(text, needle, replacement)",
            "Text with the first occurrence replaced.",
            "replaceOne('aa', 'a', 'b') -> 'ba'",
        ),
        plain("replaceAll", usize::MAX).any_case().aliases(&["replace"]).doc(
            "replaceAll(text, needle, replacement)",
            "Text with all occurrences replaced.",
            "replaceAll('aa', 'a', 'b') -> 'bb'",
        ),
        ScalarFunction::new(
            "replaceRegexpOne",
            3..=3,
            takes_text("replaceRegexpOne", 3, ColumnType::String),
            |call| by_expression(call, 1),
        )
        .doc(
            "replaceRegexpOne(text, regexp, replacement)",
            "Text with the first match replaced; \\1 stands for a group.",
            "replaceRegexpOne('a1b2', '[0-9]', '-') -> 'a-b2'",
        ),
        ScalarFunction::new(
            "replaceRegexpAll",
            3..=3,
            takes_text("replaceRegexpAll", 3, ColumnType::String),
            |call| by_expression(call, usize::MAX),
        )
        .any_case()
        .aliases(&["REGEXP_REPLACE"])
        .doc(
            "replaceRegexpAll(text, regexp, replacement)",
            "Text with all matches replaced; \\1 stands for a group.",
            "replaceRegexpAll('a1b2', '[0-9]', '-') -> 'a-b-'",
        ),
        translate("translate", false).doc(
            "translate(text, from, to)",
            "Text with characters exchanged one by one.",
            "translate('abc', 'ab', 'xy') -> 'xyc'",
        ),
        translate("translateUTF8", true).doc(
            "translateUTF8(text, from, to)",
            "Text with characters exchanged one by one, which may be any characters.",
            "translateUTF8('Straße', 'ß', 's') -> 'Strase'",
        ),
    ]
}
