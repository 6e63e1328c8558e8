//! Text with some of it changed, and small questions about it.
//!
//! Invariant: bytes are counted unless the function is named UTF8.

use std::borrow::Cow;

use arrow::array::ArrayRef;
use arrow::datatypes::{Float64Type, UInt16Type, UInt64Type};
use model::{ColumnType, ErrorCode, raw_text};

use crate::columns::number::wrap;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::takes_text;

fn mapped(name: &'static str, map: fn(&str, &mut String)) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, takes_text(name, 1, ColumnType::String), move |call| {
        let texts = call.texts(0)?;
        call.each_text(|row, out| {
            map(texts.get(row), out);
            Ok(())
        })
    })
}

fn test(name: &'static str, texts: usize, holds: fn(&str, &str) -> bool) -> ScalarFunction {
    ScalarFunction::new(name, texts..=texts, takes_text(name, texts, ColumnType::UInt8), move |call| {
        let (subjects, others) = (call.texts(0)?, call.texts(texts - 1)?);
        call.each_flag(|row| holds(subjects.get(row), others.get(row)))
    })
}

/// A letter in its other case, or itself where that has another number of bytes.
fn push_same_size(letter: char, mut letters: impl Iterator<Item = char>, out: &mut String) {
    let (first, second) = (letters.next(), letters.next());
    let same_size = second.is_none() && first.is_some_and(|first| first.len_utf8() == letter.len_utf8());
    if same_size { out.extend(first) } else { out.push(letter) }
}

fn initcap(text: &str, out: &mut String) {
    let mut in_word = false;
    for c in text.chars() {
        if in_word {
            push_same_size(c, c.to_lowercase(), out)
        } else {
            push_same_size(c, c.to_uppercase(), out)
        }
        in_word = c.is_alphanumeric();
    }
}

/// American Soundex.
fn soundex(text: &str, out: &mut String) {
    let code = |c: u8| match c.to_ascii_uppercase() {
        b'B' | b'F' | b'P' | b'V' => b'1',
        b'C' | b'G' | b'J' | b'K' | b'Q' | b'S' | b'X' | b'Z' => b'2',
        b'D' | b'T' => b'3',
        b'L' => b'4',
        b'M' | b'N' => b'5',
        b'R' => b'6',
        _ => b'0',
    };
    let mut letters = text.bytes().filter(u8::is_ascii_alphabetic);
    let Some(first) = letters.next() else { return out.push_str("0000") };
    out.push(char::from(first.to_ascii_uppercase()));
    let mut last = code(first);
    for letter in letters {
        let next = code(letter);
        if next != b'0' && next != last {
            out.push(char::from(next));
        }
        last = next;
        if out.len() == 4 {
            return;
        }
    }
    while out.len() < 4 {
        out.push('0');
    }
}

fn is_subsequence(text: impl Iterator<Item = char>, wanted: &str) -> bool {
    let mut wanted = wanted.chars().peekable();
    for c in text {
        if wanted.peek() == Some(&c) {
            wanted.next();
        }
    }
    wanted.peek().is_none()
}

fn valid(text: &str, out: &mut String) {
    let bytes = raw_text::bytes(text);
    let mut is_broken = false;
    for chunk in bytes.utf8_chunks() {
        is_broken &= chunk.valid().is_empty();
        out.push_str(chunk.valid());
        // One character for all the bytes in a row that are none.
        if !chunk.invalid().is_empty() && !std::mem::replace(&mut is_broken, true) {
            out.push('\u{FFFD}');
        }
    }
}

fn unescaped_xml(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let entity = rest[at + 1..].split_once(';');
        let found = entity.and_then(|(entity, _)| match entity {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            numeric => {
                let digits = numeric.strip_prefix('#')?;
                let code = match digits.strip_prefix(['x', 'X']) {
                    Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                    None => digits.parse().ok()?,
                };
                char::from_u32(code)
            }
        });
        match (found, entity) {
            (Some(c), Some((_, after))) => {
                out.push(c);
                rest = after;
            }
            _ => {
                out.push('&');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
}

fn escaped_xml(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            other => out.push(other),
        }
    }
}

/// Text with some of it replaced, from a place counted from 1, or from the end from -1.
fn overlay(call: &Call<'_>, utf8: bool) -> Result<ArrayRef, FunctionError> {
    let (texts, replacements, places) = (call.texts(0)?, call.texts(1)?, call.ints(2)?);
    let lengths = if call.args.len() > 3 { Some(call.ints(3)?) } else { None };
    call.each_text(|row, out| {
        let replacement = replacements.get(row);
        let carried = texts.get(row);
        // Of a text that carries bytes each of them is a character.
        let text = if utf8 { Cow::Borrowed(carried.as_bytes()) } else { raw_text::bytes(carried) };
        let units: Vec<usize> = match utf8 {
            true => carried.char_indices().map(|(at, _)| at).chain([text.len()]).collect(),
            false => (0..=text.len()).collect(),
        };
        let count = i64::try_from(units.len() - 1).unwrap_or(i64::MAX);
        let place = places.get(row);
        let start = match place {
            // No place is behind the text.
            0 => count,
            1.. => (place - 1).min(count),
            _ => count.saturating_add(place).max(0),
        };
        let own = if utf8 { replacement.chars().count() } else { raw_text::bytes(replacement).len() };
        let own = i64::try_from(own).unwrap_or(i64::MAX);
        let length =
            lengths.as_ref().map(|lengths| lengths.get(row)).filter(|length| *length >= 0).unwrap_or(own);
        let end = start.saturating_add(length).min(count);
        let at = |unit: i64| {
            usize::try_from(unit).ok().and_then(|unit| units.get(unit)).copied().unwrap_or(text.len())
        };
        if utf8 {
            out.extend([&carried[..at(start)], replacement, &carried[at(end)..]]);
        } else {
            let parts = [&text[..at(start)], &raw_text::bytes(replacement), &text[at(end)..]];
            raw_text::push(&parts.concat(), out);
        }
        Ok(())
    })
}

/// Bytes of a text like `1.5 MiB`.
fn readable_size(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..split].parse().ok()?;
    let unit = text[split..].trim_start().to_ascii_lowercase();
    let powers = ["b", "kib", "mib", "gib", "tib", "pib", "eib"];
    let decimal = ["b", "kb", "mb", "gb", "tb", "pb", "eb"];
    let find = |names: [&str; 7], base: f64| {
        let power = i32::try_from(names.iter().position(|name| *name == unit)?).ok()?;
        Some((number * base.powi(power)).ceil())
    };
    let bytes = find(powers, 1024.0).or_else(|| find(decimal, 1000.0))?;
    (bytes < 18_446_744_073_709_551_616.0).then(|| wrap::<f64, u64>(bytes))
}

fn sizes() -> Vec<ScalarFunction> {
    let function = |name: &'static str, result: ColumnType| {
        let nullable = result.is_nullable();
        let strict = name == "parseReadableSize";
        ScalarFunction::new(name, 1..=1, takes_text(name, 1, result), move |call| {
            let texts = call.texts(0)?;
            if nullable {
                let read = |row: usize| readable_size(texts.get(row));
                return Ok(std::sync::Arc::new(
                    (0..call.rows).map(read).collect::<arrow::array::UInt64Array>(),
                ));
            }
            call.each::<UInt64Type>(|row| match readable_size(texts.get(row)) {
                Some(bytes) => Ok(bytes),
                None if strict => {
                    let message = format!("cannot read '{}' as a size like 1.5 MiB", texts.get(row));
                    Err(FunctionError::new(ErrorCode::CANNOT_PARSE_NUMBER, message))
                }
                None => Ok(0),
            })
        })
    };
    vec![
        function("parseReadableSize", ColumnType::UInt64).doc(
            "parseReadableSize(text)",
            "Bytes of a size with a unit.",
            "parseReadableSize('1 KiB') -> 1024",
        ),
        function("parseReadableSizeOrNull", ColumnType::UInt64.nullable()).doc(
            "parseReadableSizeOrNull(text)",
            "As parseReadableSize; NULL where that fails.",
            "parseReadableSizeOrNull('?') -> NULL",
        ),
        function("parseReadableSizeOrZero", ColumnType::UInt64).doc(
            "parseReadableSizeOrZero(text)",
            "As parseReadableSize; 0 where that fails.",
            "parseReadableSizeOrZero('?') -> 0",
        ),
    ]
}

fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0.0_f64; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1.0);
    let total: f64 = counts.iter().sum();
    let parts = counts.iter().filter(|count| **count > 0.0);
    // The sum of nothing, and of a sure thing, is -0.
    parts.map(|count| -(count / total) * (count / total).log2()).sum::<f64>() + 0.0
}

fn starts_and_sequences() -> Vec<ScalarFunction> {
    vec![
        test("startsWithCaseInsensitive", 2, |text, start| {
            text.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start))
        })
        .doc(
            "startsWithCaseInsensitive(text, prefix)",
            "As startsWith in any case.",
            "startsWithCaseInsensitive('Hello', 'hE') -> 1",
        ),
        test("endsWithCaseInsensitive", 2, |text, end| {
            let from = text.len().checked_sub(end.len());
            from.and_then(|from| text.get(from..)).is_some_and(|own| own.eq_ignore_ascii_case(end))
        })
        .doc(
            "endsWithCaseInsensitive(text, suffix)",
            "As endsWith in any case.",
            "endsWithCaseInsensitive('Hello', 'LO') -> 1",
        ),
        test("hasSubsequence", 2, |text, wanted| is_subsequence(text.chars(), wanted))
            .aliases(&["hasSubsequenceUTF8"])
            .doc(
                "hasSubsequence(text, wanted)",
                "Whether the characters occur in this order, with others between.",
                "hasSubsequence('garbage', 'arg') -> 1",
            ),
        test("hasSubsequenceCaseInsensitive", 2, |text, wanted| {
            is_subsequence(text.chars().flat_map(char::to_lowercase), &wanted.to_lowercase())
        })
        .aliases(&["hasSubsequenceCaseInsensitiveUTF8"])
        .doc(
            "hasSubsequenceCaseInsensitive(text, wanted)",
            "As hasSubsequence in any case.",
            "hasSubsequenceCaseInsensitive('GARBAGE', 'arg') -> 1",
        ),
        test("isValidUTF8", 1, |text, _| std::str::from_utf8(&raw_text::bytes(text)).is_ok()).doc(
            "isValidUTF8(text)",
            "Whether the bytes are UTF-8.",
            "isValidUTF8('a') -> 1",
        ),
    ]
}

fn bytes_of_text() -> Vec<ScalarFunction> {
    vec![
        test("isValidASCII", 1, |text, _| text.is_ascii()).aliases(&["isASCII"]).doc(
            "isValidASCII(text)",
            "Whether all bytes are below 128.",
            "isValidASCII('a') -> 1",
        ),
        ScalarFunction::new(
            "stringBytesUniq",
            1..=1,
            takes_text("stringBytesUniq", 1, ColumnType::UInt16),
            |call| {
                let texts = call.texts(0)?;
                call.each::<UInt16Type>(|row| {
                    let mut seen = [false; 256];
                    texts.bytes(row).iter().for_each(|byte| seen[usize::from(*byte)] = true);
                    Ok(u16::try_from(seen.iter().filter(|seen| **seen).count()).unwrap_or(256))
                })
            },
        )
        .doc(
            "stringBytesUniq(text)",
            "How many different bytes there are.",
            "stringBytesUniq('aab') -> 2",
        ),
        ScalarFunction::new(
            "stringBytesEntropy",
            1..=1,
            takes_text("stringBytesEntropy", 1, ColumnType::Float64),
            |call| {
                let texts = call.texts(0)?;
                call.each::<Float64Type>(|row| Ok(entropy(&texts.bytes(row))))
            },
        )
        .doc(
            "stringBytesEntropy(text)",
            "Shannon's entropy of the bytes.",
            "stringBytesEntropy('ab') -> 1",
        ),
    ]
}

fn questions() -> Vec<ScalarFunction> {
    let mut out = starts_and_sequences();
    out.extend(bytes_of_text());
    out
}

fn words() -> Vec<ScalarFunction> {
    vec![
        mapped("initcapUTF8", initcap).doc(
            "initcapUTF8(text)",
            "The first letter of every word in upper case, all others in lower case.",
            "initcapUTF8('não vou') -> 'Não Vou'",
        ),
        mapped("soundex", soundex).any_case().doc(
            "soundex(text)",
            "How a name sounds, in four characters.",
            "soundex('Robert') -> 'R163'",
        ),
        mapped("firstLine", |text, out| {
            out.push_str(text.split(['\n', '\r']).next().unwrap_or(""));
        })
        .doc("firstLine(text)", "The first line.", "firstLine('a\\nb') -> 'a'"),
        mapped("basename", |text, out| out.push_str(text.rsplit(['/', '\\']).next().unwrap_or(""))).doc(
            "basename(path)",
            "What follows the last slash or backslash.",
            "basename('/a/b.txt') -> 'b.txt'",
        ),
        mapped("toStringCutToZero", |text, out| out.push_str(text.split('\0').next().unwrap_or(""))).doc(
            "toStringCutToZero(text)",
            "Text up to its first zero byte.",
            "toStringCutToZero('abc') -> 'abc'",
        ),
        mapped("decodeXMLComponent", unescaped_xml).doc(
            "decodeXMLComponent(text)",
            "Text with XML's entities read.",
            "decodeXMLComponent('&lt;a&gt;') -> '<a>'",
        ),
        mapped("encodeXMLComponent", escaped_xml).doc(
            "encodeXMLComponent(text)",
            "Text with XML's entities.",
            "encodeXMLComponent('<a>') -> '&lt;a&gt;'",
        ),
        mapped("toValidUTF8", valid).doc(
            "toValidUTF8(text)",
            "Bytes that are no UTF-8 as U+FFFD.",
            "toValidUTF8('a') -> 'a'",
        ),
        ScalarFunction::new(
            "appendTrailingCharIfAbsent",
            2..=2,
            takes_text("appendTrailingCharIfAbsent", 2, ColumnType::String),
            |call| {
                let (texts, ends) = (call.texts(0)?, call.texts(1)?);
                call.each_text(|row, out| {
                    let (text, end) = (texts.get(row), ends.get(row));
                    if end.len() != 1 {
                        return Err(FunctionError::bad_argument(
                            "appendTrailingCharIfAbsent takes one character",
                        ));
                    }
                    out.push_str(text);
                    if !text.is_empty() && !text.ends_with(end) {
                        out.push_str(end);
                    }
                    Ok(())
                })
            },
        )
        .doc(
            "appendTrailingCharIfAbsent(text, c)",
            "Text that ends with c, unless it is empty.",
            "appendTrailingCharIfAbsent('a', '/') -> 'a/'",
        ),
    ]
}

/// Two texts, and whole numbers.
fn text_at_a_place(args: &[ArgType], name: &'static str) -> Result<ColumnType, FunctionError> {
    let is_place = |arg: &ArgType| {
        let plain = arg.column_type.value_type();
        plain.is_integer() && !plain.is_wide_integer() || *plain == ColumnType::Nothing
    };
    match args.iter().skip(2).find(|arg| !is_place(arg)) {
        Some(arg) => Err(FunctionError::illegal_type(&arg.column_type, name)),
        None => takes_text(name, 2, ColumnType::String)(args),
    }
}

fn replacements() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "overlay",
            3..=4,
            |args| text_at_a_place(args, "overlay"),
            |call| overlay(call, false),
        )
        .any_case()
        .doc(
            "overlay(text, replacement, place[, length])",
            "Text with the replacement written over it.",
            "overlay('Spark SQL', 'CORE', 7) -> 'Spark CORE'",
        ),
        ScalarFunction::new(
            "overlayUTF8",
            3..=4,
            |args| text_at_a_place(args, "overlayUTF8"),
            |call| overlay(call, true),
        )
        .doc(
            "overlayUTF8(text, replacement, place[, length])",
            "As overlay, in characters.",
            "overlayUTF8('Münch', 'u', 2) -> 'Munch'",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = questions();
    out.extend(sizes());
    out.extend(words());
    out.extend(replacements());

    out
}
