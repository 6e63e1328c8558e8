//! Numbers out of text, without allocation.
//!
//! Invariant: the whole text must be the number; what does not fit is an error, never wrapped.

use arrow::datatypes::i256;

/// Why a text is not a number of the wanted type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NumberError {
    NotANumber,
    OutOfRange,
}

/// Digits that always fit into 64 bits.
const SAFE_DIGITS: usize = 19;

/// Reads digits only.
#[inline]
pub(crate) fn digits(text: &[u8]) -> Result<u64, NumberError> {
    if text.is_empty() {
        return Err(NumberError::NotANumber);
    }
    if text.len() > SAFE_DIGITS {
        return many_digits(text);
    }
    let mut number = 0_u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(NumberError::NotANumber);
        }
        number = number * 10 + u64::from(digit);
    }
    Ok(number)
}

#[cold]
fn many_digits(text: &[u8]) -> Result<u64, NumberError> {
    if !text.iter().all(u8::is_ascii_digit) {
        return Err(NumberError::NotANumber);
    }
    let add = |number: u64, byte: &u8| number.checked_mul(10)?.checked_add(u64::from(byte - b'0'));
    text.iter().try_fold(0, add).ok_or(NumberError::OutOfRange)
}

#[inline]
pub(crate) fn unsigned<T: TryFrom<u64>>(text: &[u8]) -> Result<T, NumberError> {
    let number = match text {
        [b'+', rest @ ..] => digits(rest)?,
        [b'-', rest @ ..] => match digits(rest)? {
            0 => 0,
            _ => return Err(NumberError::OutOfRange),
        },
        _ => digits(text)?,
    };
    T::try_from(number).map_err(|_| NumberError::OutOfRange)
}

#[inline]
pub(crate) fn signed<T: TryFrom<i64>>(text: &[u8]) -> Result<T, NumberError> {
    let number = match text {
        [b'-', rest @ ..] => 0_i64.checked_sub_unsigned(digits(rest)?).ok_or(NumberError::OutOfRange)?,
        [b'+', rest @ ..] => i64::try_from(digits(rest)?).map_err(|_| NumberError::OutOfRange)?,
        _ => i64::try_from(digits(text)?).map_err(|_| NumberError::OutOfRange)?,
    };
    T::try_from(number).map_err(|_| NumberError::OutOfRange)
}

/// Decimal and scientific notation, `nan`, `inf` and `infinity` in any case.
#[inline]
pub(crate) fn float<T: lexical_core::FromLexical>(text: &[u8]) -> Result<T, NumberError> {
    lexical_core::parse(text).map_err(|_| NumberError::NotANumber)
}

/// Sign, digits without the point, and the power of ten of the last digit.
struct DecimalText<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i32,
}

fn split_decimal(text: &[u8]) -> Option<DecimalText<'_>> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let (mantissa, exponent) = match text.iter().position(|b| matches!(b, b'e' | b'E')) {
        Some(at) => (&text[..at], signed::<i32>(&text[at + 1..]).ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = match mantissa.iter().position(|b| *b == b'.') {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, &mantissa[..0]),
    };
    let digits_only = whole.iter().chain(fraction).all(u8::is_ascii_digit);
    let any = !whole.is_empty() || !fraction.is_empty();
    (digits_only && any).then_some(DecimalText { negative, whole, fraction, exponent })
}

/// Powers of ten beyond this are zero or out of range for every Decimal.
const EXPONENT_MAX: i32 = 200;

/// Unscaled value of a Decimal(precision, scale). Digits behind the scale are cut off, as ClickHouse does.
pub(crate) fn decimal128(text: &[u8], precision: u8, scale: u8) -> Result<i128, NumberError> {
    if let Some(value) = short_decimal(text, precision, scale) {
        return Ok(value);
    }
    let value = decimal256(text, precision, scale)?;
    value.to_i128().ok_or(NumberError::OutOfRange)
}

/// Digits of a decimal that fit into 64 bits with room for one more.
const SHORT_DIGITS: usize = 18;

/// The common case: few digits, no exponent. `None` leaves the text to the general reader.
#[inline]
fn short_decimal(text: &[u8], precision: u8, scale: u8) -> Option<i128> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let scale = usize::from(scale);
    if digits.is_empty() || digits.len() + scale > SHORT_DIGITS {
        return None;
    }
    let (mut value, mut fraction) = (0_i64, None);
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        match (&mut fraction, digit) {
            (None, 0..=9) => value = value * 10 + i64::from(digit),
            // Digits behind the scale are cut.
            (Some(seen), 0..=9) if *seen == scale => {}
            (Some(seen), 0..=9) => {
                value = value * 10 + i64::from(digit);
                *seen += 1;
            }
            (None, _) if *byte == b'.' && digits.len() > 1 => fraction = Some(0),
            _ => return None,
        }
    }
    value *= 10_i64.pow(u32::try_from(scale - fraction.unwrap_or(0)).ok()?);
    if precision < 19 && value >= 10_i64.pow(u32::from(precision)) {
        return None;
    }
    Some(i128::from(if negative { -value } else { value }))
}

/// As [`decimal128`], up to 76 digits.
pub(crate) fn decimal256(text: &[u8], precision: u8, scale: u8) -> Result<i256, NumberError> {
    let parts = split_decimal(text).ok_or(NumberError::NotANumber)?;
    if parts.exponent.abs() > EXPONENT_MAX {
        return Err(NumberError::OutOfRange);
    }
    // Digits to keep of whole + fraction; a negative count keeps none, more than there are appends zeros.
    let whole_digits = i32::try_from(parts.whole.len()).map_err(|_| NumberError::OutOfRange)?;
    let keep = usize::try_from(whole_digits + parts.exponent + i32::from(scale)).unwrap_or(0);
    let all = parts.whole.iter().chain(parts.fraction).copied();
    let kept = all.chain(std::iter::repeat(b'0')).take(keep).skip_while(|b| *b == b'0');
    let mut value = Wide::default();
    for (count, byte) in kept.enumerate() {
        if count >= usize::from(precision) {
            return Err(NumberError::OutOfRange);
        }
        value.push(byte - b'0');
    }
    let value = value.finish();
    Ok(if parts.negative { value.wrapping_neg() } else { value })
}

/// Collects up to 76 digits, in 128 bits as long as they fit.
#[derive(Default)]
struct Wide {
    low: i128,
    low_digits: u32,
    high: Option<i256>,
}

const LOW_DIGITS_MAX: u32 = 38;

impl Wide {
    fn push(&mut self, digit: u8) {
        if let Some(high) = self.high {
            self.high =
                Some(high.wrapping_mul(i256::from_i128(10)).wrapping_add(i256::from_i128(i128::from(digit))));
        } else if self.low_digits == LOW_DIGITS_MAX {
            self.high = Some(i256::from_i128(self.low));
            self.push(digit);
        } else {
            self.low = self.low * 10 + i128::from(digit);
            self.low_digits += 1;
        }
    }

    fn finish(self) -> i256 {
        self.high.unwrap_or_else(|| i256::from_i128(self.low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        assert_eq!(signed::<i8>(b"-128"), Ok(-128));
        assert_eq!(signed::<i8>(b"128"), Err(NumberError::OutOfRange));
        assert_eq!(signed::<i64>(b"-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(signed::<i64>(b"9223372036854775808"), Err(NumberError::OutOfRange));
        assert_eq!(unsigned::<u64>(b"18446744073709551615"), Ok(u64::MAX));
        assert_eq!(unsigned::<u64>(b"18446744073709551616"), Err(NumberError::OutOfRange));
        assert_eq!(unsigned::<u8>(b"+7"), Ok(7));
        assert_eq!(unsigned::<u8>(b"-1"), Err(NumberError::OutOfRange));
        for wrong in [&b""[..], b"-", b"1.5", b"abc", b"1 ", b"0x1"] {
            assert_eq!(signed::<i32>(wrong), Err(NumberError::NotANumber), "{wrong:?}");
        }
    }

    #[test]
    fn decimals_cut_and_scale() {
        for (text, unscaled) in [
            ("1.239", 123),
            ("-0.005", 0),
            ("1e2", 10_000),
            (".5", 50),
            ("7.", 700),
            ("-12345e-2", -12_345),
            ("0000000000001", 100),
        ] {
            assert_eq!(decimal128(text.as_bytes(), 9, 2), Ok(unscaled), "{text}");
        }
        for text in ["1.239", "-0.005", "7.", "99999999.99", "0", "-12345678.1", ".5"] {
            let general = decimal256(text.as_bytes(), 15, 2).map(|value| value.to_i128().unwrap());
            assert_eq!(decimal128(text.as_bytes(), 15, 2), general, "{text}");
        }
        assert_eq!(decimal128(b"99999999.99", 9, 2), Err(NumberError::OutOfRange));
        assert_eq!(decimal128(b"12345678", 9, 2), Err(NumberError::OutOfRange));
        assert_eq!(decimal128(b"1.2.3", 9, 2), Err(NumberError::NotANumber));
        assert_eq!(decimal128(b".", 9, 2), Err(NumberError::NotANumber));
        let wide = "9".repeat(76);
        assert_eq!(decimal256(wide.as_bytes(), 76, 0).map(|v| v.to_string()), Ok(wide));
    }
}
