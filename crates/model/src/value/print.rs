//! Single values as text: numbers, dates, times, strings with their escapes.
//!
//! Invariant: byte for byte what ClickHouse prints. Everything appends to a byte vector. Must not know: arrays.

use crate::calendar::civil_of;
use crate::calendar::zone::DAY_SECONDS;

/// How times are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DateTimeOutput {
    /// `YYYY-MM-DD hh:mm:ss` in the column's zone.
    Simple,
    /// `YYYY-MM-DDThh:mm:ssZ`.
    Iso,
    /// Seconds since 1970.
    UnixTimestamp,
}

/// A whole number.
pub fn integer(number: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Exponents of the first digit for which no `e` is used: those of ECMAScript's Number, as in ClickHouse.
const PLAIN_POINT: std::ops::RangeInclusive<i64> = -5..=21;

/// The shortest text that reads back to the same number.
pub fn float<F: ryu::Float>(number: F, as_f64: f64, out: &mut Vec<u8>) {
    if as_f64.is_nan() {
        return out.extend_from_slice(b"nan");
    }
    if as_f64.is_sign_negative() {
        out.push(b'-');
    }
    if as_f64.is_infinite() {
        return out.extend_from_slice(b"inf");
    }
    if as_f64 == 0.0 {
        return out.push(b'0');
    }
    let mut buffer = ryu::Buffer::new();
    let text = buffer.format_finite(number).trim_start_matches('-').as_bytes();
    let (mantissa, exponent) = match text.iter().position(|b| *b == b'e') {
        Some(at) => (&text[..at], exponent_of(&text[at + 1..])),
        None => (text, 0),
    };
    let whole = mantissa.iter().position(|b| *b == b'.').unwrap_or(mantissa.len());
    // Digits without the point, leading and trailing zeros; `point` digits stand before the decimal point.
    let mut digits = [0_u8; 32];
    let mut count = 0;
    let mut point = exponent + i64::try_from(whole).unwrap_or(0);
    for digit in mantissa.iter().filter(|b| **b != b'.') {
        if *digit == b'0' && count == 0 {
            point -= 1;
        } else if let Some(slot) = digits.get_mut(count) {
            *slot = *digit;
            count += 1;
        }
    }
    while count > 1 && digits[count - 1] == b'0' {
        count -= 1;
    }
    lay_out(&digits[..count], point, out);
}

fn exponent_of(text: &[u8]) -> i64 {
    std::str::from_utf8(text).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

fn lay_out(digits: &[u8], point: i64, out: &mut Vec<u8>) {
    if !PLAIN_POINT.contains(&point) {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.push(b'e');
        return integer(point - 1, out);
    }
    match usize::try_from(point) {
        Ok(0) | Err(_) => {
            out.extend_from_slice(b"0.");
            zeros(point.unsigned_abs(), out);
            out.extend_from_slice(digits);
        }
        Ok(whole) if whole >= digits.len() => {
            out.extend_from_slice(digits);
            out.resize(out.len() + whole - digits.len(), b'0');
        }
        Ok(whole) => {
            out.extend_from_slice(&digits[..whole]);
            out.push(b'.');
            out.extend_from_slice(&digits[whole..]);
        }
    }
}

fn zeros(count: u64, out: &mut Vec<u8>) {
    for _ in 0..count {
        out.push(b'0');
    }
}

/// A decimal given by the digits of its unscaled value.
pub fn decimal(unscaled: &str, scale: u8, trailing_zeros: bool, out: &mut Vec<u8>) {
    let digits = unscaled.strip_prefix('-').unwrap_or(unscaled).as_bytes();
    if digits.len() < unscaled.len() {
        out.push(b'-');
    }
    let scale = usize::from(scale);
    let whole = digits.len().saturating_sub(scale);
    if whole == 0 {
        out.push(b'0');
    }
    out.extend_from_slice(&digits[..whole]);
    let mut fraction = &digits[whole..];
    let mut padding = scale - fraction.len();
    if !trailing_zeros {
        while let [rest @ .., b'0'] = fraction {
            fraction = rest;
        }
        if fraction.is_empty() {
            padding = 0;
        }
    }
    if padding + fraction.len() > 0 {
        out.push(b'.');
        out.resize(out.len() + padding, b'0');
        out.extend_from_slice(fraction);
    }
}

/// At least `width` digits.
fn padded(number: i64, width: usize, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(number).as_bytes();
    out.resize(out.len() + width.saturating_sub(text.len()), b'0');
    out.extend_from_slice(text);
}

fn two(number: i64, out: &mut Vec<u8>) {
    // 0..=99 by construction; the fallback keeps the text readable, never wrong by a cast.
    let number = u8::try_from(number).unwrap_or(0);
    out.extend_from_slice(&[b'0' + number / 10 % 10, b'0' + number % 10]);
}

/// `YYYY-MM-DD` of days since 1970-01-01.
pub fn date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil_of(days);
    padded(year.clamp(0, 9999), 4, out);
    out.push(b'-');
    two(month, out);
    out.push(b'-');
    two(day, out);
}

/// `YYYY-MM-DD hh:mm:ss` of local seconds since 1970-01-01, with another byte for the blank if need be.
fn date_time(local_seconds: i64, between: u8, out: &mut Vec<u8>) {
    // Moments outside of the years 0 to 9999 show their ends, as in ClickHouse.
    let local_seconds = local_seconds.clamp(-62_167_219_200, 253_402_300_799);
    date(local_seconds.div_euclid(DAY_SECONDS), out);
    let second = local_seconds.rem_euclid(DAY_SECONDS);
    out.push(between);
    two(second / 3600, out);
    out.push(b':');
    two(second / 60 % 60, out);
    out.push(b':');
    two(second % 60, out);
}

/// A moment: seconds since 1970 in UTC, and `precision` digits of the second that has begun.
pub struct Moment {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Of the second that has begun, in units of the precision.
    pub part: i64,
    /// Digits of the fraction.
    pub precision: u8,
}

impl Moment {
    /// Leaves out zeros at the end of the fraction, so that none, three, six or nine digits are left.
    pub fn cut(&mut self) {
        while !self.precision.is_multiple_of(3) {
            self.part *= 10;
            self.precision += 1;
        }
        while self.precision > 0 && self.part % 1000 == 0 {
            self.part /= 1000;
            self.precision -= 3;
        }
    }

    /// In the zone of this offset, if the form has a zone.
    pub fn write(&self, form: DateTimeOutput, offset: i64, out: &mut Vec<u8>) {
        match form {
            DateTimeOutput::Simple => {
                date_time(self.seconds + offset, b' ', out);
                fraction(self.part, self.precision, out);
            }
            DateTimeOutput::Iso => {
                date_time(self.seconds, b'T', out);
                fraction(self.part, self.precision, out);
                out.push(b'Z');
            }
            DateTimeOutput::UnixTimestamp => {
                let per_second = 10_i64.saturating_pow(u32::from(self.precision));
                let units = self.seconds.saturating_mul(per_second).saturating_add(self.part);
                decimal(&units.to_string(), self.precision, true, out);
            }
        }
    }
}

/// `.fraction` of `precision` digits; nothing for precision 0.
fn fraction(ticks: i64, precision: u8, out: &mut Vec<u8>) {
    if precision > 0 {
        out.push(b'.');
        padded(ticks, usize::from(precision), out);
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

fn hex(byte: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
}

/// Sixteen bytes as the digits of a UUID.
pub fn uuid(bytes: &[u8], out: &mut Vec<u8>) {
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        hex(*byte, out);
    }
}

/// What prints itself: addresses, wide integers.
pub fn shown(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    use std::io::Write;
    // Writing to memory cannot fail.
    let _infallible = write!(out, "{value}");
}

/// Backslash escapes of TabSeparated and of quoted strings.
pub fn escaped(text: &[u8], quote: u8, out: &mut Vec<u8>) {
    let mut copied = 0;
    for (at, byte) in text.iter().enumerate() {
        let letter = match byte {
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0 => b'0',
            b'\\' => b'\\',
            b if *b == quote => quote,
            _ => continue,
        };
        out.extend_from_slice(&text[copied..at]);
        out.extend_from_slice(&[b'\\', letter]);
        copied = at + 1;
    }
    out.extend_from_slice(&text[copied..]);
}

/// `'text'` with escapes.
pub fn quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    escaped(text, b'\'', out);
    out.push(b'\'');
}

/// As [`quoted`], with quotes within that are doubled.
pub fn doubled(text: &[u8], out: &mut Vec<u8>) {
    for piece in text.split(|byte| *byte == b'\'') {
        out.push(b'\'');
        out.extend_from_slice(piece);
        out.push(b'\'');
    }
}

/// `"text"` with quotes doubled.
pub fn csv_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'"', rest) {
        out.extend_from_slice(&rest[..=at]);
        out.push(b'"');
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Text of XML: what would begin a tag or an entity is an entity.
pub fn xml(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'<', b'&', rest) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(if rest[at] == b'<' { b"&lt;" } else { b"&amp;" });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// A JSON string. U+2028 and U+2029 are escaped because JavaScript takes them for line ends.
pub fn json_string(text: &[u8], escape_slashes: bool, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut copied = 0;
    for (at, byte) in text.iter().enumerate() {
        let letter = match byte {
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            b'\\' => b'\\',
            b'"' => b'"',
            b'/' if escape_slashes => b'/',
            0..0x20 => b'u',
            0xe2 if matches!(text.get(at + 1..at + 3), Some([0x80, 0xa8 | 0xa9])) => {
                out.extend_from_slice(&text[copied..at]);
                out.extend_from_slice(b"\\u202");
                out.push(if text[at + 2] == 0xa8 { b'8' } else { b'9' });
                copied = at + 3;
                continue;
            }
            _ => continue,
        };
        out.extend_from_slice(&text[copied..at]);
        out.extend_from_slice(&[b'\\', letter]);
        if letter == b'u' {
            out.extend_from_slice(b"00");
            out.extend(format!("{byte:02X}").bytes());
        }
        copied = at + 1;
    }
    out.extend_from_slice(&text[copied..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_print_as_clickhouse_prints_them() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e21"),
            (1.5e300, "1.5e300"),
            (0.000001, "0.000001"),
            (1e-7, "1e-7"),
            (1.25e-7, "1.25e-7"),
            (123456.789, "123456.789"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (f64::MAX, "1.7976931348623157e308"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(shown(|out| float(number, number, out)), text);
        }
        assert_eq!(shown(|out| float(0.1_f32, f64::from(0.1_f32), out)), "0.1");
    }

    #[test]
    fn decimals_and_dates() {
        for (unscaled, scale, text, full) in [
            ("120", 2, "1.2", "1.20"),
            ("-5", 3, "-0.005", "-0.005"),
            ("0", 2, "0", "0.00"),
            ("7", 0, "7", "7"),
        ] {
            assert_eq!(shown(|out| decimal(unscaled, scale, false, out)), text);
            assert_eq!(shown(|out| decimal(unscaled, scale, true, out)), full);
        }
        assert_eq!(shown(|out| date_time(-1, b' ', out)), "1969-12-31 23:59:59");
        assert_eq!(shown(|out| fraction(7, 3, out)), ".007");
    }

    #[test]
    fn strings_are_escaped() {
        assert_eq!(shown(|out| escaped(b"a\t'\\\0", b'\'', out)), "a\\t\\'\\\\\\0");
        assert_eq!(shown(|out| xml(b"a<b>&c", out)), "a&lt;b>&amp;c");
        assert_eq!(shown(|out| csv_quoted(b"say \"x\"", out)), "\"say \"\"x\"\"\"");
        assert_eq!(
            shown(|out| json_string("a/\"\u{1}\u{2028}é".as_bytes(), true, out)),
            "\"a\\/\\\"\\u0001\\u2028é\""
        );
    }
}
