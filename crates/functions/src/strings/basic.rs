//! Length and case of text, and single characters.
//!
//! Invariant: lengths are bytes unless the function is named UTF8.

use arrow::array::{ArrayRef, AsArray, StringViewArray};
use arrow::datatypes::{UInt32Type, UInt64Type};
use model::saturating::u64_of;
use model::{ColumnType, raw_text};

use crate::columns::container::{range, tuple_of, unnamed};
use crate::columns::number::wrap;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::takes_text;

/// Bytes of a text that stands in its view instead of a buffer.
const INLINE_BYTES_MAX: u32 = 12;
/// Bytes that are looked through even for a single text.
const HELD_BYTES_MAX: usize = 4096;

/// Text, or something with elements.
fn countable(
    name: &'static str,
    result: ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> {
    move |args| match args.first().map(|arg| &arg.column_type) {
        Some(
            ColumnType::String | ColumnType::FixedString(_) | ColumnType::Array(_) | ColumnType::Map(..),
        ) => Ok(result.clone()),
        Some(ColumnType::Uuid | ColumnType::Ipv4 | ColumnType::Ipv6) if name != "length" => {
            Ok(result.clone())
        }
        Some(other) => Err(FunctionError::illegal_type(other, name)),
        None => Err(FunctionError::bad_argument("an argument is needed")),
    }
}

/// Elements or bytes of each row.
fn lengths(call: &Call<'_>) -> Result<Box<dyn Fn(usize) -> usize>, FunctionError> {
    let arg = call.arg(0)?;
    let constant = arg.is_constant;
    let at = move |row: usize| if constant { 0 } else { row };
    Ok(match &arg.column_type {
        ColumnType::Array(_) => {
            let list = arg.array.as_list::<i32>().clone();
            Box::new(move |row| range(list.value_offsets(), at(row)).len())
        }
        ColumnType::Map(..) => {
            let map = arg.array.as_map().clone();
            Box::new(move |row| range(map.value_offsets(), at(row)).len())
        }
        ColumnType::FixedString(bytes) => {
            let bytes = usize::try_from(*bytes).unwrap_or(usize::MAX);
            Box::new(move |_| bytes)
        }
        ColumnType::Ipv4 => {
            let array = arg.array.as_primitive::<UInt32Type>().clone();
            Box::new(move |row| usize::from(array.value(at(row)) != 0))
        }
        ColumnType::Uuid | ColumnType::Ipv6 => {
            let array = arg.array.as_fixed_size_binary().clone();
            Box::new(move |row| usize::from(array.value(at(row)).iter().any(|byte| *byte != 0)))
        }
        _ => {
            let array = arg.array.as_string_view().clone();
            let is_plain = holds_only_text(&array);
            // The length is in the low half of a view; a byte that is no UTF-8 is carried in four.
            Box::new(move |row| match u32::try_from(array.views()[at(row)] & 0xFFFF_FFFF).unwrap_or(0) {
                0 => 0,
                length if is_plain && length > INLINE_BYTES_MAX => length as usize,
                _ => raw_text::bytes(array.value(at(row))).len(),
            })
        }
    })
}

/// Whether nothing that the texts look into carries bytes that are no UTF-8. One look at a page is faster than one at each
/// of its texts, unless few texts look into much.
fn holds_only_text(array: &StringViewArray) -> bool {
    let held: usize = array.data_buffers().iter().map(|buffer| buffer.len()).sum();
    held <= HELD_BYTES_MAX + 2 * array.total_buffer_bytes_used()
        && !array.data_buffers().iter().any(|buffer| raw_text::may_carry_any(buffer))
}

fn emptiness(call: &Call<'_>, wants_empty: bool) -> Result<ArrayRef, FunctionError> {
    if let ColumnType::FixedString(_) = call.arg(0)?.column_type {
        let texts = call.texts(0)?;
        return call.each_flag(|row| texts.get(row).bytes().all(|byte| byte == 0) == wants_empty);
    }
    let lengths = lengths(call)?;
    call.each_flag(|row| (lengths(row) == 0) == wants_empty)
}

fn mapped(name: &'static str, map: impl Fn(&str, &mut String) + Send + Sync + 'static) -> ScalarFunction {
    let rule = move |args: &[ArgType]| match args.first().map(|arg| &arg.column_type) {
        Some(text @ (ColumnType::String | ColumnType::FixedString(_))) => Ok(text.clone()),
        Some(other) => Err(FunctionError::illegal_type(other, name)),
        None => Err(FunctionError::bad_argument("text is needed")),
    };
    ScalarFunction::new(name, 1..=1, rule, move |call| {
        let texts = call.texts(0)?;
        call.each_text(|row, out| {
            map(texts.get(row), out);
            Ok(())
        })
    })
}

fn initcap(text: &str, out: &mut String) {
    let mut in_word = false;
    for c in text.chars() {
        out.push(if in_word { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() });
        in_word = c.is_ascii_alphanumeric();
    }
}

/// Numbers without zeros in front, each behind its length, which is written so that shorter ones come first.
fn natural_sort_key(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let end = rest[at..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |length| at + length);
        let digits = rest[at..end].trim_start_matches('0');
        let digits = if digits.is_empty() { "0" } else { digits };
        let length = match digits.len() - 1 {
            n @ ..8 => n.to_string(),
            n @ ..18 => format!("8{}", n - 8),
            n @ ..20 => format!("9{}", n - 18),
            n @ ..99 => format!("9{n}"),
            n => format!("999{}{}", (n + 1).to_string().len(), n + 1),
        };
        out.extend([&rest[..at], length.as_str(), digits]);
        rest = &rest[end..];
    }
    out.push_str(rest);
}

fn reverse_bytes(text: &str, out: &mut String) {
    if text.is_ascii() {
        out.extend(text.bytes().rev().map(char::from));
    } else {
        let bytes: Vec<u8> = raw_text::bytes(text).iter().rev().copied().collect();
        raw_text::push(&bytes, out);
    }
}

fn sizes() -> Vec<ScalarFunction> {
    let length_utf8 = |name: &'static str| {
        ScalarFunction::new(name, 1..=1, takes_text(name, 1, ColumnType::UInt64), |call| {
            let texts = call.texts(0)?;
            let begins = |byte: &&u8| **byte & 0xC0 != 0x80;
            call.each::<UInt64Type>(|row| Ok(u64_of(texts.bytes(row).iter().filter(begins).count())))
        })
    };
    vec![
        ScalarFunction::new("length", 1..=1, countable("length", ColumnType::UInt64), |call| {
            let lengths = lengths(call)?;
            call.each::<UInt64Type>(|row| Ok(u64_of(lengths(row))))
        })
        .any_case()
        .aliases(&["OCTET_LENGTH", "CARDINALITY"])
        .doc("length(x)", "Bytes of text, elements of an array or map.", "length('añ') -> 3"),
        length_utf8("lengthUTF8").any_case().aliases(&["CHAR_LENGTH", "CHARACTER_LENGTH"]).doc(
            "lengthUTF8(text)",
            "Characters of text.",
            "lengthUTF8('añ') -> 2",
        ),
        ScalarFunction::new("empty", 1..=1, countable("empty", ColumnType::UInt8), |call| {
            emptiness(call, true)
        })
        .doc("empty(x)", "Whether text, an array or a map is empty.", "empty('') -> 1"),
        ScalarFunction::new("notEmpty", 1..=1, countable("notEmpty", ColumnType::UInt8), |call| {
            emptiness(call, false)
        })
        .doc(
            "notEmpty(x)",
            "Whether text, an array or a map has anything in it.",
            "notEmpty('') -> 0",
        ),
        ScalarFunction::new("ascii", 1..=1, takes_text("ascii", 1, ColumnType::Int32), |call| {
            let texts = call.texts(0)?;
            call.each::<arrow::datatypes::Int32Type>(|row| {
                Ok(texts.bytes(row).first().copied().map_or(0, i32::from))
            })
        })
        .any_case()
        .doc("ascii(text)", "The first byte's number.", "ascii('A') -> 65"),
        ScalarFunction::new(
            "char",
            1..=usize::MAX,
            |_| Ok(ColumnType::String),
            |call| {
                let codes: Vec<_> =
                    (0..call.args.len()).map(|index| call.ints(index)).collect::<Result<_, _>>()?;
                call.each_text(|row, out| {
                    let bytes: Vec<u8> = codes.iter().map(|code| wrap::<i64, u8>(code.get(row))).collect();
                    raw_text::push(&bytes, out);
                    Ok(())
                })
            },
        )
        .any_case()
        .doc("char(n, ...)", "Text of the bytes with these numbers.", "char(72, 105) -> 'Hi'"),
    ]
}

fn cases() -> Vec<ScalarFunction> {
    vec![
        mapped("lower", |text, out| out.extend(text.chars().map(|c| c.to_ascii_lowercase())))
            .any_case()
            .aliases(&["lcase"])
            .doc("lower(text)", "ASCII letters in lower case.", "lower('ABC') -> 'abc'"),
        mapped("upper", |text, out| out.extend(text.chars().map(|c| c.to_ascii_uppercase())))
            .any_case()
            .aliases(&["ucase"])
            .doc("upper(text)", "ASCII letters in upper case.", "upper('abc') -> 'ABC'"),
        mapped("initcap", initcap).any_case().doc(
            "initcap(text)",
            "The first ASCII letter of every word in upper case, all others in lower case.",
            "initcap('hello wORLD') -> 'Hello World'",
        ),
        mapped("naturalSortKey", natural_sort_key).aliases(&["NATURAL_SORT_KEY"]).doc(
            "naturalSortKey(text)",
            "A key by which numbers in texts are sorted as numbers.",
            "naturalSortKey('a10') -> 'a110'",
        ),
        mapped("lowerUTF8", |text, out| out.push_str(&text.to_lowercase())).doc(
            "lowerUTF8(text)",
            "All letters in lower case.",
            "lowerUTF8('Ñ') -> 'ñ'",
        ),
        mapped("upperUTF8", |text, out| out.extend(text.chars().flat_map(char::to_uppercase))).doc(
            "upperUTF8(text)",
            "All letters in upper case.",
            "upperUTF8('ñ') -> 'Ñ'",
        ),
        mapped("reverseUTF8", |text, out| out.extend(text.chars().rev())).doc(
            "reverseUTF8(text)",
            "The characters backwards.",
            "reverseUTF8('abñ') -> 'ñba'",
        ),
        ScalarFunction::new(
            "reverse",
            1..=1,
            |args| match args.first().map(|arg| &arg.column_type) {
                Some(list @ ColumnType::Array(_)) => Ok(list.clone()),
                Some(ColumnType::Tuple(parts)) => {
                    Ok(unnamed(parts.iter().rev().map(|part| part.column_type.clone())))
                }
                Some(fixed @ ColumnType::FixedString(_)) => Ok(fixed.clone()),
                _ => takes_text("reverse", 1, ColumnType::String)(args),
            },
            |call| {
                if let ColumnType::Array(_) = call.result_type {
                    return crate::kernel::list::reverse_lists(call);
                }
                if let ColumnType::Tuple(elements) = call.result_type {
                    let array = crate::kernel::rows::expanded(call.arg(0)?, call.rows)?;
                    let columns = array.as_struct().columns().iter().rev().cloned().collect();
                    return Ok(tuple_of(elements, columns, None, call.rows)?);
                }
                let texts = call.texts(0)?;
                call.each_text(|row, out| {
                    reverse_bytes(texts.get(row), out);
                    Ok(())
                })
            },
        )
        .any_case()
        .doc(
            "reverse(x)",
            "Bytes of text, or elements of an array or tuple, backwards.",
            "reverse('abc') -> 'cba'",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = sizes();
    out.extend(cases());
    out
}
