//! Hexadecimal, base64 and percent encodings.
//!
//! Invariant: decoding what encoding made gives the same text; bytes that are no UTF-8 are carried as `model::raw_text` does.

use std::borrow::Cow;

use arrow::array::{ArrayRef, AsArray};
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use model::{ColumnType, ErrorCode, raw_text};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};

use crate::cast::CastMode;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::raw::{in_memory, memory};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::{any_integer_shape, takes_text};

fn push_hex(bytes: impl IntoIterator<Item = u8>, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// The type of the digits of one value, which is no array or other nest.
pub(super) fn of_single(name: &str, args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match args.first().map(|arg| &arg.column_type) {
        Some(
            nest @ (ColumnType::Array(_)
            | ColumnType::Map(..)
            | ColumnType::Tuple(_)
            | ColumnType::Date32
            | ColumnType::Enum8(_)
            | ColumnType::Enum16(_)),
        ) => Err(FunctionError::illegal_type(nest, name)),
        Some(time @ ColumnType::DateTime64 { .. }) => {
            let message = format!("function {name} does not take {time}");
            Err(FunctionError::new(ErrorCode::ILLEGAL_COLUMN, message))
        }
        _ => Ok(ColumnType::String),
    }
}

/// Integers without their leading zero bytes, floats and decimals as they lie in memory, all else as bytes.
fn hex(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    digits(call, |bytes, out| push_hex(bytes.iter().copied(), out))
}

/// The digits of integers without their leading zero bytes, of floats and decimals as they lie in memory, of UUIDs and
/// addresses from their first byte on, of text as its bytes.
pub(super) fn digits(call: &Call<'_>, push: impl Fn(&[u8], &mut String)) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let plain = &arg.column_type;
    if let ColumnType::Uuid | ColumnType::Ipv6 = plain {
        let array = arg.array.as_fixed_size_binary();
        return call.each_text(|row, out| {
            push(array.value(arg.row(row)), out);
            Ok(())
        });
    }
    if plain.is_string() {
        let texts = call.texts(0)?;
        return call.each_text(|row, out| {
            push(&texts.bytes(row), out);
            Ok(())
        });
    }
    let is_turned = any_integer_shape(&in_memory(plain)).is_some();
    let memory = memory(&arg.array, plain, &call.caster(CastMode::Strict))?;
    let mut bytes = Vec::new();
    call.each_text(|row, out| {
        bytes.clear();
        memory(arg.row(row), &mut bytes);
        if is_turned {
            let used = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
            bytes.truncate(used);
            bytes.reverse();
        }
        push(&bytes, out);
        Ok(())
    })
}

/// What is no digit stands for all bits.
fn nibble(byte: u8) -> u8 {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).unwrap_or(0xFF)
}

fn unhex(text: &str) -> String {
    let digits: Vec<u8> = raw_text::bytes(text).iter().map(|byte| nibble(*byte)).collect();
    // An odd number of digits has a zero before it.
    let padded: Vec<u8> = if digits.len() % 2 == 1 { [vec![0], digits].concat() } else { digits };
    let bytes: Vec<u8> = padded.chunks_exact(2).map(|pair| (pair[0] << 4).wrapping_add(pair[1])).collect();
    raw_text::text(&bytes)
}

const PADDED: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, PADDED);

/// The text that base64 stands for, in which white space does not count.
fn decoded(text: &str) -> Option<String> {
    let is_space = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0C);
    let bytes = if text.bytes().any(is_space) {
        let close: Vec<u8> = text.bytes().filter(|byte| !is_space(*byte)).collect();
        STANDARD.decode(close).ok()?
    } else {
        STANDARD.decode(text).ok()?
    };
    Some(raw_text::text(&bytes))
}

fn base64_encode(name: &'static str) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, takes_text(name, 1, ColumnType::String), |call| {
        let texts = call.texts(0)?;
        call.each_text(|row, out| {
            STANDARD.encode_string(texts.bytes(row), out);
            Ok(())
        })
    })
}

fn base64_decode(name: &'static str, quiet: bool) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, takes_text(name, 1, ColumnType::String), move |call| {
        let texts = call.texts(0)?;
        call.each_text(|row, out| {
            match decoded(texts.get(row)) {
                Some(text) => out.push_str(&text),
                None if quiet => {}
                None => {
                    let message = format!("cannot decode {} as base64", texts.get(row));
                    return Err(FunctionError::new(ErrorCode::INCORRECT_DATA, message));
                }
            }
            Ok(())
        })
    })
}

/// `+` is itself; a broken escape stays.
pub(super) fn percent_decoded(text: &str) -> String {
    let encoded = raw_text::bytes(text);
    let bytes: Cow<'_, [u8]> = percent_decode(&encoded).into();
    raw_text::text(&bytes)
}

/// All but what RFC 3986 calls unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

fn percent_encoded(text: &str, out: &mut String) {
    out.extend(percent_encode(&raw_text::bytes(text), RESERVED));
}

fn mapped(name: &'static str, map: fn(&str, &mut String)) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, takes_text(name, 1, ColumnType::String), move |call| {
        let texts = call.texts(0)?;
        call.each_text(|row, out| {
            map(texts.get(row), out);
            Ok(())
        })
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("hex", 1..=1, |args| of_single("hex", args), hex).any_case().doc(
            "hex(x)",
            "Bytes as hexadecimal digits; an integer without leading zeros.",
            "hex('ab') -> '6162'",
        ),
        mapped("unhex", |text, out| out.push_str(&unhex(text))).any_case().doc(
            "unhex(text)",
            "The text whose bytes these hexadecimal digits are.",
            "unhex('6162') -> 'ab'",
        ),
        base64_encode("base64Encode").any_case().aliases(&["TO_BASE64"]).doc(
            "base64Encode(text)",
            "Text in base64.",
            "base64Encode('abc') -> 'YWJj'",
        ),
        base64_decode("base64Decode", false).any_case().aliases(&["FROM_BASE64"]).doc(
            "base64Decode(text)",
            "The text that base64 stands for.",
            "base64Decode('YWJj') -> 'abc'",
        ),
        base64_decode("tryBase64Decode", true).doc(
            "tryBase64Decode(text)",
            "As base64Decode, empty where that fails.",
            "tryBase64Decode('?') -> ''",
        ),
        mapped("decodeURLComponent", |text, out| out.push_str(&percent_decoded(text))).doc(
            "decodeURLComponent(text)",
            "Text with percent escapes read.",
            "decodeURLComponent('a%20b') -> 'a b'",
        ),
        mapped("encodeURLFormComponent", |text, out| {
            let mut escaped = String::new();
            percent_encoded(text, &mut escaped);
            out.push_str(&escaped.replace("%20", "+"));
        })
        .doc(
            "encodeURLFormComponent(text)",
            "As encodeURLComponent; a blank is +.",
            "encodeURLFormComponent('a b') -> 'a+b'",
        ),
        mapped("encodeURLComponent", percent_encoded).doc(
            "encodeURLComponent(text)",
            "Text with percent escapes.",
            "encodeURLComponent('a b') -> 'a%20b'",
        ),
    ]
}
