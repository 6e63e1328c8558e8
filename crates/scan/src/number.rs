//! Numbers out of text, without allocation.
//!
//! Invariant: the whole text must be the number; what does not fit is an error, never wrapped.

use arrow::datatypes::i256;

/// Why a text is not a number of the wanted type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumberError {
    NotANumber,
    OutOfRange,
}

/// Digits that always fit into 64 bits.
const SAFE_DIGITS: usize = 19;

/// Reads digits only.
#[inline]
pub fn digits(text: &[u8]) -> Result<u64, NumberError> {
    let length = text.len();
    if length < SHORT_DIGITS_MIN {
        return few_digits(text);
    }
    if length <= 8 {
        return eight_digits(text);
    }
    if length > SAFE_DIGITS {
        return many_digits(text);
    }
    let (high, low) = text.split_at(length - 8);
    // At most eleven digits, so the product is below 10^19.
    Ok(digits(high)? * 100_000_000 + eight_digits(low)?)
}

#[inline]
fn few_digits(text: &[u8]) -> Result<u64, NumberError> {
    if text.is_empty() {
        return Err(NumberError::NotANumber);
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

/// Fewer digits are read one by one.
const SHORT_DIGITS_MIN: usize = 4;

/// Four to eight digits at once: as neighbours in a word they become pairs, then fours, then the number.
#[inline]
fn eight_digits(text: &[u8]) -> Result<u64, NumberError> {
    let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) else {
        return few_digits(text);
    };
    // The text ends at the top of the word; where it is shorter than that the halves overlap and agree.
    let unused = 64_usize.saturating_sub(text.len() * 8);
    let first = u64::from(u32::from_le_bytes(*first)) << unused;
    let last = u64::from(u32::from_le_bytes(*last)) << 32;
    let values = (first | last) ^ (0x3030_3030_3030_3030 << unused);
    // A value above nine, or a byte that is no digit's.
    if (values | values.wrapping_add(0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080 != 0 {
        return Err(NumberError::NotANumber);
    }
    let pairs = (values.wrapping_mul(10).wrapping_add(values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100).wrapping_add(pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Ok((fours.wrapping_mul(10_000).wrapping_add(fours >> 32)) & 0xffff_ffff)
}

#[cold]
fn many_digits(text: &[u8]) -> Result<u64, NumberError> {
    if !text.iter().all(u8::is_ascii_digit) {
        return Err(NumberError::NotANumber);
    }
    let add = |number: u64, byte: &u8| number.checked_mul(10)?.checked_add(u64::from(byte - b'0'));
    text.iter().try_fold(0, add).ok_or(NumberError::OutOfRange)
}

/// A number that may have a plus sign.
#[inline]
pub fn unsigned<T: TryFrom<u64>>(text: &[u8]) -> Result<T, NumberError> {
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

/// A number with either sign or none.
#[inline]
pub fn signed<T: TryFrom<i64>>(text: &[u8]) -> Result<T, NumberError> {
    let number = match text {
        [b'-', rest @ ..] => 0_i64.checked_sub_unsigned(digits(rest)?).ok_or(NumberError::OutOfRange)?,
        [b'+', rest @ ..] => i64::try_from(digits(rest)?).map_err(|_| NumberError::OutOfRange)?,
        _ => i64::try_from(digits(text)?).map_err(|_| NumberError::OutOfRange)?,
    };
    T::try_from(number).map_err(|_| NumberError::OutOfRange)
}

/// Decimal and scientific notation, `nan`, `inf` and `infinity` in any case.
#[inline]
pub fn float<T: Float>(text: &[u8]) -> Result<T, NumberError> {
    match short_float(text).and_then(|(digits, behind_point)| T::exact(digits, behind_point)) {
        Some(value) if text.first() == Some(&b'-') => Ok(-value),
        Some(value) => Ok(value),
        None => lexical_core::parse(text).map_err(|_| NumberError::NotANumber),
    }
}

/// Whether a text is a number of which no float of 64 bits holds anything but its sign.
pub fn is_huge(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_digit) && float::<f64>(text).is_ok_and(f64::is_infinite)
}

/// A type of floating point numbers.
pub trait Float: lexical_core::FromLexical + std::ops::Neg<Output = Self> {
    /// `digits / 10^behind_point`, if both are numbers of this type: then the quotient is the nearest there is.
    fn exact(digits: u64, behind_point: usize) -> Option<Self>;
}

const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

impl Float for f64 {
    #[inline]
    fn exact(digits: u64, behind_point: usize) -> Option<f64> {
        let ten = TENS.get(behind_point)?;
        (digits <= 1 << 53).then(|| digits as f64 / ten)
    }
}

impl Float for f32 {
    #[inline]
    fn exact(digits: u64, behind_point: usize) -> Option<f32> {
        const TENS: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];
        let ten = TENS.get(behind_point)?;
        (digits <= 1 << 24).then(|| digits as f32 / ten)
    }
}

/// Digits, of which some may stand behind a point, as one number and how many those are; the sign is passed over. `None`
/// leaves the text to the general reader.
#[inline]
fn short_float(text: &[u8]) -> Option<(u64, usize)> {
    let text = match text {
        [b'-', rest @ ..] => rest,
        _ => text,
    };
    if text.len() > SHORT_DIGITS {
        return None;
    }
    let (mut number, mut point) = (0_u64, text.len());
    for (at, byte) in text.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            number = number * 10 + u64::from(digit);
        } else if *byte == b'.' && point == text.len() {
            point = at;
        } else {
            return None;
        }
    }
    // A point wants digits on both sides.
    match text.len().checked_sub(point + 1) {
        None if text.is_empty() => None,
        None => Some((number, 0)),
        Some(behind_point) if behind_point > 0 && point > 0 => Some((number, behind_point)),
        Some(_) => None,
    }
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
pub fn decimal128(text: &[u8], precision: u8, scale: u8) -> Result<i128, NumberError> {
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
pub fn decimal256(text: &[u8], precision: u8, scale: u8) -> Result<i256, NumberError> {
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
    fn digits_of_every_length_and_place() {
        let all = "1234567890987654321";
        for length in 1..=all.len() {
            let text = &all[all.len() - length..];
            assert_eq!(digits(text.as_bytes()), Ok(text.parse::<u64>().unwrap()), "{text}");
            let nines = "9".repeat(length);
            assert_eq!(digits(nines.as_bytes()), Ok(nines.parse::<u64>().unwrap()), "{nines}");
            for at in 0..length {
                for wrong in [b'/', b':', b' ', 0, b'0' | 0x80, 0xff, b'0' ^ 0x10, b'9' + 7] {
                    let mut changed = text.as_bytes().to_vec();
                    changed[at] = wrong;
                    assert_eq!(digits(&changed), Err(NumberError::NotANumber), "{changed:?}");
                }
            }
        }
    }

    #[test]
    fn short_floats_are_what_the_general_reader_says() {
        for text in [
            "0",
            "-0",
            "0.125",
            "-12.5",
            "1246.5",
            "0.1",
            "0.3",
            "123456.789012",
            "00012.50",
            "9007199254740993",
            "16777217",
            "99999999999999999",
            "1.00000000000000001",
            "0.0000000000000001",
            "3.4028235",
            "0.1000000014901161",
            "-7.",
            ".5",
            "-.5",
            "1e5",
            "nan",
            "inf",
            "-",
            "",
            ".",
            "1.2.3",
            "1,5",
            "0x1",
            "+1",
            "--1",
            " 1",
        ] {
            let bytes = text.as_bytes();
            let wide: Result<f64, _> = lexical_core::parse(bytes).map_err(|_| NumberError::NotANumber);
            let narrow: Result<f32, _> = lexical_core::parse(bytes).map_err(|_| NumberError::NotANumber);
            assert_eq!(float::<f64>(bytes).map(f64::to_bits), wide.map(f64::to_bits), "{text}");
            assert_eq!(float::<f32>(bytes).map(f32::to_bits), narrow.map(f32::to_bits), "{text}");
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
