//! Text -> number, decimal, bool, UUID.
//!
//! Invariant: pure functions over one value; they accept exactly what ClickHouse's CAST accepts, and say at which
//! byte reading stopped. Must not know: arrays, NULLs.

use arrow::datatypes::{ArrowNativeTypeOp, DecimalType, i256};
use model::WideInteger;

use super::problem::Problem;
use crate::columns::number::Number;

/// Reads a whole integer. With `wrapping`, digits beyond the type's range wrap as ClickHouse's CAST lets them.
pub(crate) fn integer<T: Number>(text: &str, wrapping: bool) -> Result<T, Problem> {
    let bytes = text.as_bytes();
    let (negative, start) = match bytes.first() {
        None => return Err(Problem::Empty),
        Some(b'-') if !T::SIGNED => return Err(Problem::NegativeUnsigned),
        Some(b'-') => (true, 1),
        Some(b'+') => (false, 1),
        Some(_) => (false, 0),
    };
    let mut magnitude: u64 = 0;
    let mut overflowed = false;
    let mut at = start;
    while let Some(digit) = bytes.get(at).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        if at - start >= 18 {
            let next = magnitude.checked_mul(10).and_then(|m| m.checked_add(u64::from(digit)));
            overflowed |= next.is_none();
        }
        magnitude = magnitude.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    if at == start {
        return Err(match bytes.get(at) {
            Some(b'+' | b'-') if start == 1 => Problem::ManySigns,
            None => Problem::NoDigits,
            Some(_) if start == 1 => Problem::NoDigits,
            Some(_) => Problem::Syntax(0),
        });
    }
    if at < bytes.len() {
        return Err(Problem::Syntax(at));
    }
    let value = if negative { -i128::from(magnitude) } else { i128::from(magnitude) };
    if wrapping {
        return Ok(T::wrap_int(value));
    }
    T::exact_int(value).filter(|_| !overflowed).ok_or(Problem::OutOfRange)
}

/// Reads a whole integer of 128 or 256 bits; digits beyond its range wrap.
pub(crate) fn wide(text: &str, kind: WideInteger) -> Result<i256, Problem> {
    if let Some((value, _)) = kind.parse(text.as_bytes()).filter(|_| kind.signed || !text.starts_with('-')) {
        return Ok(value);
    }
    // What is wrong is the same for all integers.
    let wrong = if kind.signed { integer::<i64>(text, true).err() } else { integer::<u64>(text, true).err() };
    Err(wrong.unwrap_or(Problem::Syntax(0)))
}

/// Reads a whole float; `inf`, `nan` and their spellings in any case.
pub(crate) fn float(text: &str) -> Result<f64, Problem> {
    let (negative, body) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let sign = if negative { -1.0 } else { 1.0 };
    let starts_number = body.bytes().next().is_some_and(|b| b.is_ascii_digit() || b == b'.');
    if !starts_number {
        return match body.to_ascii_lowercase().as_str() {
            "inf" | "infinity" => Ok(sign * f64::INFINITY),
            "nan" => Ok(f64::NAN),
            _ => Err(Problem::NotFloat),
        };
    }
    let length = number_length(body.as_bytes());
    let value = body[..length].parse::<f64>().map_err(|_| Problem::NotFloat)?;
    if length < body.len() {
        Err(Problem::Syntax(text.len() - body.len() + length))
    } else {
        Ok(sign * value)
    }
}

/// Bytes of digits, point and exponent at the start.
fn number_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = digits(0);
    if bytes.get(at) == Some(&b'.') {
        at += 1 + digits(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits((at + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    at
}

/// Digits of a decimal as written: all of them, the count after the point, and the exponent.
struct DecimalText<N> {
    unscaled: N,
    scale: i32,
}

/// Reads a whole decimal of a scale; digits beyond the scale are cut off, as ClickHouse does.
pub(crate) fn decimal<T: DecimalType>(text: &str, precision: u8, scale: u8) -> Result<T::Native, Problem>
where
    T::Native: ArrowNativeTypeOp + From<i8>,
{
    let read = decimal_digits::<T::Native>(text, precision, i32::from(scale))?;
    rescale(read.unscaled, read.scale, i32::from(scale)).ok_or(Problem::DecimalDigits)
}

fn decimal_digits<N: ArrowNativeTypeOp + From<i8>>(
    text: &str,
    precision: u8,
    scale: i32,
) -> Result<DecimalText<N>, Problem> {
    let bytes = text.as_bytes();
    let negative = bytes.first() == Some(&b'-');
    let mut at = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    if bytes.is_empty() {
        return Err(Problem::Empty);
    }
    let (mut unscaled, mut digits, mut whole_digits, mut after_point) = (N::ZERO, 0_u32, 0_u32, None::<i32>);
    let mut any = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'.' if after_point.is_none() => after_point = Some(0),
            b'0'..=b'9' => {
                any = true;
                let fraction = after_point.unwrap_or(0);
                // Digits past the scale cannot change the result.
                if fraction < scale.max(0) || after_point.is_none() {
                    let digit = i8::try_from(byte - b'0').unwrap_or(0);
                    let next = unscaled.mul_checked(N::from(10)).and_then(|v| v.add_checked(N::from(digit)));
                    unscaled = next.map_err(|_| Problem::DecimalDigits)?;
                    digits += u32::from(!unscaled.is_zero());
                    whole_digits += u32::from(after_point.is_none() && !unscaled.is_zero());
                    after_point = after_point.map(|count| count + 1);
                }
            }
            _ => break,
        }
        at += 1;
    }
    if !any {
        return Err(Problem::Syntax(0));
    }
    let exponent = exponent(bytes, &mut at);
    if at < bytes.len() {
        return Err(Problem::Syntax(at));
    }
    let whole_max = i64::from(precision) - i64::from(scale);
    if !unscaled.is_zero() && i64::from(whole_digits) + i64::from(exponent) > whole_max || digits > 76 {
        return Err(Problem::DecimalDigits);
    }
    let unscaled = if negative { unscaled.neg_wrapping() } else { unscaled };
    Ok(DecimalText { unscaled, scale: after_point.unwrap_or(0) - exponent })
}

fn exponent(bytes: &[u8], at: &mut usize) -> i32 {
    if !matches!(bytes.get(*at), Some(b'e' | b'E')) {
        return 0;
    }
    let rest = bytes.get(*at + 1..).unwrap_or_default();
    let sign = usize::from(matches!(rest.first(), Some(b'-' | b'+')));
    let count = rest[sign..].iter().take_while(|b| b.is_ascii_digit()).count();
    let parsed = std::str::from_utf8(&rest[..sign + count]).ok().and_then(|t| t.parse::<i32>().ok());
    match parsed {
        Some(exponent) if exponent.abs() < 1000 => {
            *at += 1 + sign + count;
            exponent
        }
        _ => 0,
    }
}

/// The same number with another count of digits after the point, cut towards zero; `None` when it overflows.
pub(crate) fn rescale<N: ArrowNativeTypeOp + From<i8>>(mut unscaled: N, from: i32, to: i32) -> Option<N> {
    for _ in from..to {
        unscaled = unscaled.mul_checked(N::from(10)).ok()?;
    }
    for _ in to..from {
        if unscaled.is_zero() {
            break;
        }
        unscaled = unscaled.div_wrapping(N::from(10));
    }
    Some(unscaled)
}

/// `true`, `yes`, `1` and their kind, in any case.
pub(crate) fn boolean(text: &str) -> Result<bool, Problem> {
    const TRUE: [&str; 7] = ["true", "t", "y", "yes", "on", "enable", "enabled"];
    const FALSE: [&str; 7] = ["false", "f", "n", "no", "off", "disable", "disabled"];
    let one_of = |words: [&str; 7]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    match text {
        "" => Err(Problem::BoolEmpty),
        "1" => Ok(true),
        "0" => Ok(false),
        _ if one_of(TRUE) => Ok(true),
        _ if one_of(FALSE) => Ok(false),
        _ => Err(Problem::Bool),
    }
}

/// The bytes of a UUID that is written; `None` for what is none.
pub(crate) fn uuid_or_none(text: &str) -> Option<[u8; 16]> {
    uuid(text).ok()
}

/// 36 characters with dashes, or 32 without.
pub(crate) fn uuid(text: &str) -> Result<[u8; 16], Problem> {
    let fits = match text.len() {
        36 => [8, 13, 18, 23].iter().all(|at| text.as_bytes()[*at] == b'-'),
        32 => true,
        _ => false,
    };
    let parsed = if fits { uuid::Uuid::try_parse(text).ok() } else { None };
    parsed.map(uuid::Uuid::into_bytes).ok_or(Problem::Uuid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::Decimal128Type;

    #[test]
    fn integers_read_as_clickhouse_reads_them() {
        assert_eq!(integer::<i32>("+12", true), Ok(12));
        assert_eq!(integer::<u8>("300", true), Ok(44));
        assert_eq!(integer::<u8>("300", false), Err(Problem::OutOfRange));
        assert_eq!(integer::<i64>("99999999999999999999", true), Ok(7_766_279_631_452_241_919));
        assert_eq!(integer::<i64>("99999999999999999999", false), Err(Problem::OutOfRange));
        assert_eq!(integer::<i64>("-9223372036854775808", false), Ok(i64::MIN));
        assert_eq!(integer::<i32>("12abc", true), Err(Problem::Syntax(2)));
        assert_eq!(integer::<u8>("-0", true), Err(Problem::NegativeUnsigned));
        assert_eq!(integer::<i32>("+-1", true), Err(Problem::ManySigns));
        assert_eq!(integer::<i32>("", true), Err(Problem::Empty));
    }

    #[test]
    fn floats_read() {
        assert_eq!(float(".5"), Ok(0.5));
        assert_eq!(float("5."), Ok(5.0));
        assert_eq!(float("-Infinity"), Ok(f64::NEG_INFINITY));
        assert_eq!(float("1.5x"), Err(Problem::Syntax(3)));
        assert_eq!(float(""), Err(Problem::NotFloat));
    }

    #[test]
    fn decimals_read_and_cut() {
        let read = |text| decimal::<Decimal128Type>(text, 9, 2);
        assert_eq!(read("1.239"), Ok(123));
        assert_eq!(read("-1.239"), Ok(-123));
        assert_eq!(read("1e2"), Ok(10_000));
        assert_eq!(read("1e-2"), Ok(1));
        assert_eq!(read("12345678901"), Err(Problem::DecimalDigits));
        assert_eq!(read("abc"), Err(Problem::Syntax(0)));
        assert_eq!(read("1.2x"), Err(Problem::Syntax(3)));
    }
}
