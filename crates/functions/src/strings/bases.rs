//! Bytes in other bases: 2, 32, 58, and base64 for URLs.
//!
//! Invariant: decoding what encoding made gives the same bytes.

use arrow::array::ArrayRef;
use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{alphabet, engine::general_purpose};
use model::{ColumnType, ErrorCode, raw_text};

use super::encode::{digits, of_single};
use crate::error::FunctionError;
use crate::kernel::call::Call;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::takes_text;

const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/// base58 takes time with the square of the length.
const BASE58_BYTES_MAX: usize = 1 << 16;

const URL_LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

fn push_bits(byte: u8, out: &mut String) {
    out.extend((0..8).rev().map(|bit| if byte >> bit & 1 == 1 { '1' } else { '0' }));
}

/// The bytes that hex shows.
fn bin(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    digits(call, |bytes, out| bytes.iter().for_each(|byte| push_bits(*byte, out)))
}

fn unbin(text: &str) -> Vec<u8> {
    let bits: Vec<u8> = raw_text::bytes(text).iter().map(|byte| u8::from(*byte != b'0')).collect();
    // The first byte may have fewer digits.
    bits.rchunks(8).rev().map(|chunk| chunk.iter().fold(0, |byte, bit| byte << 1 | bit)).collect()
}

/// The digits of a number in one base as digits in another, most significant first; leading zeros stay zeros.
fn rebased(digits: &[u8], from: u32, to: u32) -> Vec<u8> {
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    let mut out: Vec<u8> = Vec::new();
    for digit in &digits[zeros..] {
        let mut carry = u32::from(*digit);
        for place in &mut out {
            carry += u32::from(*place) * from;
            *place = u8::try_from(carry % to).unwrap_or(0);
            carry /= to;
        }
        while carry > 0 {
            out.push(u8::try_from(carry % to).unwrap_or(0));
            carry /= to;
        }
    }
    out.extend(std::iter::repeat_n(0, zeros));
    out.reverse();
    out
}

fn base58_encode(bytes: &[u8]) -> String {
    rebased(bytes, 256, 58).into_iter().map(|digit| char::from(BASE58[usize::from(digit)])).collect()
}

fn base58_decode(text: &str) -> Option<Vec<u8>> {
    let digit =
        |byte: u8| BASE58.iter().position(|known| *known == byte).and_then(|at| u8::try_from(at).ok());
    let digits = text.bytes().map(digit).collect::<Option<Vec<u8>>>()?;
    Some(rebased(&digits, 58, 256))
}

fn base32_encode(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(5) {
        let word = (0..5).fold(0_u64, |word, at| word << 8 | u64::from(chunk.get(at).copied().unwrap_or(0)));
        let used = (chunk.len() * 8).div_ceil(5);
        for place in 0..8 {
            let digit = usize::try_from(word >> (35 - 5 * place) & 31).unwrap_or(0);
            out.push(if place < used { char::from(BASE32[digit]) } else { '=' });
        }
    }
    out
}

fn base32_decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(8) || matches!(digits.len() % 8, 1 | 3 | 6) {
        return None;
    }
    let (mut out, mut word, mut bits) = (Vec::new(), 0_u32, 0);
    for byte in digits.bytes() {
        let digit = BASE32.iter().position(|known| *known == byte.to_ascii_uppercase())?;
        word = word << 5 | u32::try_from(digit).ok()?;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from(word >> bits & 0xFF).ok()?);
        }
    }
    Some(out)
}

fn encoded(name: &'static str, encode: fn(&[u8]) -> String, bytes_max: usize) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, takes_text(name, 1, ColumnType::String), move |call| {
        let texts = call.texts(0)?;
        call.each_text(|row, out| {
            let bytes = texts.bytes(row);
            check(bytes.len(), bytes_max, name)?;
            out.push_str(&encode(&bytes));
            Ok(())
        })
    })
}

fn check(length: usize, bytes_max: usize, name: &str) -> Result<(), FunctionError> {
    if length <= bytes_max {
        return Ok(());
    }
    let message = format!("{name} takes {bytes_max} bytes at most, {length} given");
    Err(FunctionError::new(ErrorCode::TOO_LARGE_STRING_SIZE, message))
}

fn decoded(
    name: &'static str,
    decode: fn(&str) -> Option<Vec<u8>>,
    quiet: bool,
    bytes_max: usize,
) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, takes_text(name, 1, ColumnType::String), move |call| {
        let texts = call.texts(0)?;
        call.each_text(|row, out| {
            let text = texts.get(row);
            check(text.len(), bytes_max, name)?;
            match decode(text) {
                Some(bytes) => raw_text::push(&bytes, out),
                None if quiet => {}
                None => {
                    let message = format!("{name} cannot decode '{text}'");
                    return Err(FunctionError::new(ErrorCode::INCORRECT_DATA, message));
                }
            }
            Ok(())
        })
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let most = usize::MAX;
    let url_decode: fn(&str) -> Option<Vec<u8>> = |text| {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0C);
        let close: Vec<u8> = text.bytes().filter(|byte| !is_space(byte)).collect();
        URL_LENIENT.decode(close).ok()
    };
    vec![
        ScalarFunction::new("bin", 1..=1, |args| of_single("bin", args), bin).any_case().doc(
            "bin(x)",
            "Bytes as binary digits; an integer without leading zero bytes.",
            "bin(5) -> '00000101'",
        ),
        decoded("unbin", |text| Some(unbin(text)), false, most).any_case().doc(
            "unbin(text)",
            "The text whose bytes these binary digits are.",
            "unbin('01100001') -> 'a'",
        ),
        encoded("base58Encode", base58_encode, BASE58_BYTES_MAX).any_case().doc(
            "base58Encode(text)",
            "Text in Bitcoin's base58.",
            "base58Encode('Encoded') -> '3dc8KtHrwM'",
        ),
        decoded("base58Decode", base58_decode, false, BASE58_BYTES_MAX).any_case().doc(
            "base58Decode(text)",
            "The text that base58 stands for.",
            "base58Decode('3dc8KtHrwM') -> 'Encoded'",
        ),
        decoded("tryBase58Decode", base58_decode, true, BASE58_BYTES_MAX).any_case().doc(
            "tryBase58Decode(text)",
            "As base58Decode, empty where that fails.",
            "tryBase58Decode('0') -> ''",
        ),
        encoded("base32Encode", base32_encode, most).doc(
            "base32Encode(text)",
            "Text in base32.",
            "base32Encode('Encoded') -> 'IVXGG33EMVSA===='",
        ),
        decoded("base32Decode", base32_decode, false, most).doc(
            "base32Decode(text)",
            "The text that base32 stands for.",
            "base32Decode('IVXGG33EMVSA====') -> 'Encoded'",
        ),
        decoded("tryBase32Decode", base32_decode, true, most).doc(
            "tryBase32Decode(text)",
            "As base32Decode, empty where that fails.",
            "tryBase32Decode('!') -> ''",
        ),
        encoded("base64URLEncode", |bytes| general_purpose::URL_SAFE_NO_PAD.encode(bytes), most)
            .any_case()
            .doc(
                "base64URLEncode(text)",
                "Text in the base64 of URLs, without padding.",
                "base64URLEncode('a?b') -> 'YT9i'",
            ),
        decoded("base64URLDecode", url_decode, false, most).any_case().doc(
            "base64URLDecode(text)",
            "The text that the base64 of URLs stands for.",
            "base64URLDecode('YT9i') -> 'a?b'",
        ),
        decoded("tryBase64URLDecode", url_decode, true, most).any_case().doc(
            "tryBase64URLDecode(text)",
            "As base64URLDecode, empty where that fails.",
            "tryBase64URLDecode('!') -> ''",
        ),
    ]
}
