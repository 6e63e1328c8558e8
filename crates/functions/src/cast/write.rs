//! Value -> text, as ClickHouse prints it.
//!
//! Invariant: what is written here is read back by `read` and `read_time` to the same value. Must not know: arrays.

use std::fmt::{Display, Write};

use crate::time::calendar::{SECONDS_PER_DAY, date_of};

/// Shortest text that reads back; an exponent outside of 1e-6..1e21.
pub(crate) fn float64(value: f64, out: &mut String) {
    if !write_special(value, out) {
        let mut buffer = ryu::Buffer::new();
        shortest(buffer.format_finite(value), out);
    }
}

/// As [`float64`], with the digits a Float32 needs.
pub(crate) fn float32(value: f32, out: &mut String) {
    if !write_special(f64::from(value), out) {
        let mut buffer = ryu::Buffer::new();
        shortest(buffer.format_finite(value), out);
    }
}

fn write_special(value: f64, out: &mut String) -> bool {
    let word = match value {
        v if v.is_nan() => "nan",
        v if v == f64::INFINITY => "inf",
        v if v == f64::NEG_INFINITY => "-inf",
        _ => return false,
    };
    out.push_str(word);
    true
}

/// Lays out the shortest digits (`1.5e300`, `0.1`, `1e16`, `2.0`) the way ClickHouse does.
fn shortest(text: &str, out: &mut String) {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = if fraction == "0" { "" } else { fraction };
    if negative {
        out.push('-');
    }
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let all = [whole, fraction].concat();
    let leading = all.len() - all.trim_start_matches('0').len();
    let digits = all[leading..].trim_end_matches('0');
    if digits.is_empty() {
        return out.push('0');
    }
    let signed = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    // The value is 0.digits * 10^point.
    let point = signed(whole.len()) - signed(leading) + exponent;
    let count = signed(digits.len());
    let zeros = |n: i32| std::iter::repeat_n('0', usize::try_from(n).unwrap_or(0));
    if !(-5..=21).contains(&point) {
        out.push_str(&digits[..1]);
        if digits.len() > 1 {
            out.push('.');
            out.push_str(&digits[1..]);
        }
        out.push('e');
        out.push_str(itoa::Buffer::new().format(point - 1));
    } else if point <= 0 {
        out.push_str("0.");
        out.extend(zeros(-point));
        out.push_str(digits);
    } else if point >= count {
        out.push_str(digits);
        out.extend(zeros(point - count));
    } else {
        let split = usize::try_from(point).unwrap_or(0);
        out.push_str(&digits[..split]);
        out.push('.');
        out.push_str(&digits[split..]);
    }
}

fn two_digits(value: i64, out: &mut String) {
    const DIGITS: &[u8; 10] = b"0123456789";
    for digit in [value / 10 % 10, value % 10] {
        let digit = usize::try_from(digit).unwrap_or(0);
        out.push(char::from(DIGITS[digit]));
    }
}

/// `YYYY-MM-DD`.
pub(crate) fn date(days: i32, out: &mut String) {
    let date = date_of(days);
    let year = i64::from(date.year);
    two_digits(year / 100, out);
    two_digits(year % 100, out);
    out.push('-');
    two_digits(i64::from(date.month), out);
    out.push('-');
    two_digits(i64::from(date.day), out);
}

/// The first second of 0000-01-01 and the last one of 9999-12-31.
const CALENDAR_FIRST: i64 = -62_167_219_200;
const CALENDAR_LAST: i64 = 253_402_300_799;

/// `YYYY-MM-DD hh:mm:ss` of wall-clock seconds.
pub(crate) fn date_time(local: i64, out: &mut String) {
    // Moments outside of the calendar show its ends.
    let local = local.clamp(CALENDAR_FIRST, CALENDAR_LAST);
    let days = i32::try_from(local.div_euclid(SECONDS_PER_DAY)).unwrap_or(0);
    date(days, out);
    out.push(' ');
    time_of_day(local.rem_euclid(SECONDS_PER_DAY), out);
}

/// `hh:mm:ss`.
pub(crate) fn time_of_day(seconds: i64, out: &mut String) {
    two_digits(seconds / 3600, out);
    out.push(':');
    two_digits(seconds / 60 % 60, out);
    out.push(':');
    two_digits(seconds % 60, out);
}

/// The `digits` digits after the second: nothing for 0, else `.500`.
pub(crate) fn fraction(ticks: i64, digits: u32, out: &mut String) {
    if digits > 0 {
        let width = usize::try_from(digits).unwrap_or(0);
        let _infallible = write!(out, ".{ticks:0width$}");
    }
}

/// Digits of an unscaled decimal with the point set, without zeros at its end.
pub(crate) fn decimal(unscaled: &str, scale: u8, out: &mut String) {
    let (negative, digits) = unscaled.strip_prefix('-').map_or((false, unscaled), |rest| (true, rest));
    let scale = usize::from(scale);
    let padded = if digits.len() <= scale {
        format!("{digits:0>width$}", width = scale + 1)
    } else {
        digits.to_owned()
    };
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    if negative {
        out.push('-');
    }
    out.push_str(whole);
    let fraction = fraction.trim_end_matches('0');
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
}

/// `61f0c404-5cb3-11e7-907b-a6006ad3dba0`.
pub(crate) fn uuid(bytes: &[u8], out: &mut String) {
    if let Ok(uuid) = uuid::Uuid::from_slice(bytes) {
        let mut buffer = uuid::Uuid::encode_buffer();
        out.push_str(uuid.hyphenated().encode_lower(&mut buffer));
    }
}

/// What prints itself: addresses, wide integers.
pub(crate) fn shown(value: impl Display, out: &mut String) {
    // Writing to a String cannot fail.
    let _infallible = write!(out, "{value}");
}

/// Text in single quotes with escapes, as inside arrays.
pub(crate) fn quoted(text: &str, out: &mut String) {
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            other => out.push(other),
        }
    }
    out.push('\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: f64) -> String {
        let mut out = String::new();
        float64(value, &mut out);
        out
    }

    #[test]
    fn floats_print_as_clickhouse_prints_them() {
        for (value, text) in [
            (1.0, "1"),
            (1e20, "100000000000000000000"),
            (1e21, "1e21"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (-0.0, "-0"),
            (1.5e300, "1.5e300"),
            (1.234e22, "1.234e22"),
            (0.1, "0.1"),
            (123.456, "123.456"),
            (1e16, "10000000000000000"),
            (f64::NAN, "nan"),
            (-1.5, "-1.5"),
            (1.2345e-10, "1.2345e-10"),
        ] {
            assert_eq!(shown(value), text);
        }
    }

    #[test]
    fn decimals_lose_zeros_at_the_end() {
        for (unscaled, scale, text) in [("150", 2, "1.5"), ("-5", 2, "-0.05"), ("100", 2, "1"), ("7", 0, "7")]
        {
            let mut out = String::new();
            decimal(unscaled, scale, &mut out);
            assert_eq!(out, text);
        }
    }
}
