//! Texts compared in any case of all alphabets, and their pieces.
//!
//! Invariant: letters are folded as `char::to_lowercase` does; bytes that are no characters are themselves.

use arrow::datatypes::{Int8Type, UInt8Type, UInt64Type};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode, raw_text};

use super::pattern::{Compiled, build};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::takes_text;

fn test(name: &'static str, holds: fn(&str, &str) -> bool) -> ScalarFunction {
    ScalarFunction::new(name, 2..=2, takes_text(name, 2, ColumnType::UInt8), move |call| {
        let (texts, others) = (call.texts(0)?, call.texts(1)?);
        call.each_flag(|row| holds(&texts.get(row).to_lowercase(), &others.get(row).to_lowercase()))
    })
}

fn matches(name: &'static str, any_case: bool, wanted: bool) -> ScalarFunction {
    ScalarFunction::new(name, 2..=2, takes_text(name, 2, ColumnType::UInt8), move |call| {
        let (texts, patterns) = (call.texts(0)?, call.texts(1)?);
        let compiled = match any_case {
            true => Compiled::new(|pattern| build(pattern, true, true)),
            false => Compiled::new(|pattern| build(pattern, false, true)),
        };
        call.each::<UInt8Type>(|row| {
            Ok(u8::from(compiled.get(patterns.get(row))?.is_match(texts.get(row)) == wanted))
        })
    })
}

/// The place of a match, from 1 in bytes; 0 where there is none.
fn regexp_position(call: &Call<'_>) -> Result<arrow::array::ArrayRef, FunctionError> {
    let (texts, patterns) = (call.texts(0)?, call.texts(1)?);
    let starts = if call.args.len() > 2 { Some(call.ints(2)?) } else { None };
    let compiled = Compiled::new(|pattern| build(pattern, false, true));
    call.each::<UInt64Type>(|row| {
        let text = texts.get(row);
        let start = starts.as_ref().map_or(1, |starts| starts.get(row));
        let start = usize::try_from(start - 1).unwrap_or(0);
        let Some(start) = (start..=text.len()).find(|at| text.is_char_boundary(*at)) else { return Ok(0) };
        // A match of nothing is none.
        let found = compiled.get(patterns.get(row))?.find_at(text, start).filter(|found| !found.is_empty());
        Ok(found.map_or(0, |found| u64_of(raw_text::bytes(&text[..found.start()]).len()) + 1))
    })
}

/// The order of parts of two texts: -1, 0 or 1.
fn compare_substrings(call: &Call<'_>) -> Result<arrow::array::ArrayRef, FunctionError> {
    let (a, b) = (call.texts(0)?, call.texts(1)?);
    let numbers = (2..5).map(|index| call.ints(index)).collect::<Result<Vec<_>, _>>()?;
    call.each::<Int8Type>(|row| {
        let number = |index: usize| {
            usize::try_from(numbers[index].get(row)).map_err(|_| {
                let message = "the places and the length of compareSubstrings are not negative";
                FunctionError::new(ErrorCode::INDEX_OF_POSITIONAL_ARGUMENT_IS_OUT_OF_RANGE, message)
            })
        };
        let (from_a, from_b, count) = (number(0)?, number(1)?, number(2)?);
        let (x, y) = (a.bytes(row), b.bytes(row));
        // ClickHouse compares bytes with a sign: those of letters beyond ASCII come first.
        let part = |bytes: &[u8], from: usize| -> Vec<i8> {
            bytes.iter().skip(from).take(count).map(|byte| i8::from_ne_bytes([*byte])).collect()
        };
        Ok(match part(&x, from_a).cmp(&part(&y, from_b)) {
            std::cmp::Ordering::Less => -1,
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Greater => 1,
        })
    })
}

fn compared_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    takes_text("compareSubstrings", 2, ColumnType::Int8)(args)?;
    match args[2..].iter().find(|arg| !arg.column_type.is_integer()) {
        Some(other) => Err(FunctionError::illegal_type(&other.column_type, "compareSubstrings")),
        None => Ok(ColumnType::Int8),
    }
}

/// A number in another base, as MySQL writes it: negative bases are those of signed numbers.
fn converted(digits: &str, from: i64, to: i64) -> String {
    let digits = digits.trim();
    let (negative, digits) = digits.strip_prefix('-').map_or((false, digits), |rest| (true, rest));
    let base = u32::try_from(from.unsigned_abs()).unwrap_or(10);
    let mut number = 0_u64;
    for digit in digits.chars().map_while(|c| c.to_digit(36)).take_while(|digit| *digit < base) {
        number = match number.checked_mul(u64::from(base)).and_then(|n| n.checked_add(u64::from(digit))) {
            Some(number) => number,
            None => return in_base(u64::MAX, to),
        };
    }
    in_base(if negative { number.wrapping_neg() } else { number }, to)
}

fn in_base(number: u64, to: i64) -> String {
    let signed = number.cast_signed();
    let (negative, mut rest) =
        if to < 0 && signed < 0 { (true, signed.unsigned_abs()) } else { (false, number) };
    let base = to.unsigned_abs();
    let mut out = Vec::new();
    while out.is_empty() || rest > 0 {
        let digit = u32::try_from(rest % base).unwrap_or(0);
        out.push(char::from_digit(digit, 36).unwrap_or('0').to_ascii_uppercase());
        rest /= base;
    }
    out.extend(negative.then_some('-'));
    out.into_iter().rev().collect()
}

fn conv(call: &Call<'_>) -> Result<arrow::array::ArrayRef, FunctionError> {
    let (numbers, from, to) = (call.texts(0)?, call.ints(1)?, call.ints(2)?);
    call.each_text(|row, out| {
        let (from, to) = (from.get(row), to.get(row));
        if [from, to].iter().any(|base| !(2..=36).contains(&base.unsigned_abs())) {
            return Err(FunctionError::bad_argument("the bases of conv are 2 to 36"));
        }
        if numbers.get(row).trim().is_empty() {
            return Err(FunctionError::bad_argument("the number of conv is empty"));
        }
        out.push_str(&converted(numbers.get(row), from, to));
        Ok(())
    })
}

/// The parts between separators in the other order.
fn reverse_by_separator(call: &Call<'_>) -> Result<arrow::array::ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    let separators = if call.args.len() > 1 { Some(call.texts(1)?) } else { None };
    call.each_text(|row, out| {
        let text = texts.get(row);
        let separator = separators.as_ref().map_or(".", |separators| separators.get(row));
        if separator.is_empty() {
            out.extend(text.chars().rev());
            return Ok(());
        }
        let parts: Vec<&str> = text.rsplit(separator).collect();
        out.push_str(&parts.join(separator));
        Ok(())
    })
}

fn patterns() -> Vec<ScalarFunction> {
    vec![
        matches("notMatch", false, false).doc(
            "notMatch(text, regexp)",
            "Whether the regular expression matches nowhere.",
            "notMatch('abc', 'x') -> 1",
        ),
        matches("matchCaseInsensitive", true, true).doc(
            "matchCaseInsensitive(text, regexp)",
            "As match in any case.",
            "matchCaseInsensitive('ABC', 'b') -> 1",
        ),
        matches("notMatchCaseInsensitive", true, false).doc(
            "notMatchCaseInsensitive(text, regexp)",
            "As notMatch in any case.",
            "notMatchCaseInsensitive('ABC', 'x') -> 1",
        ),
        ScalarFunction::new(
            "regexpPosition",
            2..=3,
            takes_text("regexpPosition", 2, ColumnType::UInt64),
            regexp_position,
        )
        .any_case()
        .aliases(&["regexpInstr", "regexp_instr"])
        .doc(
            "regexpPosition(text, regexp[, start])",
            "The place of the first match, from 1; 0 where there is none.",
            "regexpPosition('abcb', 'b') -> 2",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = patterns();
    out.extend([
        test("startsWithCaseInsensitiveUTF8", |text, start| text.starts_with(start)).doc(
            "startsWithCaseInsensitiveUTF8(text, prefix)",
            "As startsWith in any case of all alphabets.",
            "startsWithCaseInsensitiveUTF8('Éab', 'éA') -> 1",
        ),
        test("endsWithCaseInsensitiveUTF8", |text, end| text.ends_with(end)).doc(
            "endsWithCaseInsensitiveUTF8(text, suffix)",
            "As endsWith in any case of all alphabets.",
            "endsWithCaseInsensitiveUTF8('abÉ', 'Bé') -> 1",
        ),
        ScalarFunction::new(
            "countSubstringsCaseInsensitiveUTF8",
            2..=2,
            takes_text("countSubstringsCaseInsensitiveUTF8", 2, ColumnType::UInt64),
            |call| {
                let (texts, needles) = (call.texts(0)?, call.texts(1)?);
                call.each::<UInt64Type>(|row| {
                    let needle = needles.get(row).to_lowercase();
                    let count = texts.get(row).to_lowercase().matches(&needle).count();
                    Ok(if needle.is_empty() { 0 } else { u64_of(count) })
                })
            },
        )
        .doc(
            "countSubstringsCaseInsensitiveUTF8(text, needle)",
            "As countSubstrings in any case of all alphabets.",
            "countSubstringsCaseInsensitiveUTF8('ÉéE', 'é') -> 2",
        ),
        ScalarFunction::new("compareSubstrings", 5..=5, compared_type, compare_substrings).doc(
            "compareSubstrings(a, b, from_a, from_b, length)",
            "The order of parts of two texts: -1, 0 or 1; places count from 0.",
            "compareSubstrings('Saxony', 'Anglo-Saxon', 0, 6, 5) -> 0",
        ),
        ScalarFunction::new("conv", 3..=3, |_| Ok(ColumnType::String), conv).any_case().doc(
            "conv(number, from, to)",
            "The digits of a number in another base.",
            "conv('ff', 16, 10) -> '255'",
        ),
        ScalarFunction::new(
            "reverseBySeparator",
            1..=2,
            takes_text("reverseBySeparator", 1, ColumnType::String),
            reverse_by_separator,
        )
        .doc(
            "reverseBySeparator(text[, separator])",
            "The parts between separators in the other order.",
            "reverseBySeparator('a.b.c', '.') -> 'c.b.a'",
        ),
    ]);
    out
}
