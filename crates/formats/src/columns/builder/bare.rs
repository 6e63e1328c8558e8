//! Numbers that stand in JSON without quotes, where days and times are wanted.
//!
//! Invariant: what is no JSON number is refused: `2024-01-05` without quotes is three numbers. Must not know: columns.

use crate::settings::DateTimeInput;
use crate::values::cell::{Cell, TextForm};
use model::calendar::date_text::{TimeText, date, time};
use scan::number;

/// Whether the value is JSON and no string.
#[inline]
pub(super) fn is_bare(cell: Cell<'_>) -> bool {
    cell.form == TextForm::Json && cell.text.first() != Some(&b'"')
}

/// Whether it is a number in SQL that stands for days: a larger one may be seconds.
#[inline]
pub(super) fn are_days(cell: Cell<'_>) -> bool {
    cell.form == TextForm::Literal && cell.text.len() <= 4 && cell.text.iter().all(u8::is_ascii_digit)
}

/// The decimal digits of a literal of SQL that has others: `0x1F`, `0b11`.
pub(super) fn decimal(cell: Cell<'_>) -> Option<Vec<u8>> {
    let (digits, radix) = match cell.text {
        [b'0', b'x' | b'X', digits @ ..] if cell.form == TextForm::Literal => (digits, 16),
        [b'0', b'b' | b'B', digits @ ..] if cell.form == TextForm::Literal => (digits, 2),
        _ => return None,
    };
    // A sign would be taken for a digit.
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    u64::from_str_radix(digits, radix).ok().map(|number| number.to_string().into_bytes())
}

/// Eight digits are a date, as in quotes; fewer or more are days since 1970-01-01.
pub(super) fn days(text: &[u8]) -> Option<i64> {
    let days = number::signed::<i64>(text).ok()?;
    date(text).or(Some(days))
}

/// What is a time in quotes, too, or seconds since 1970-01-01 00:00:00 UTC.
pub(super) fn seconds(text: &[u8], input: DateTimeInput) -> Option<TimeText> {
    // As JSON has numbers, with a fraction or an exponent.
    let value = number::float::<f64>(text).ok().filter(|value| value.is_finite())?;
    // Fewer digits are no date.
    let is_date = text.len() >= 8 && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    if let Some(found) = is_date.then(|| time(text, input)).flatten() {
        return Some(found);
    }
    if let Ok(seconds) = number::signed::<i64>(text) {
        return Some(TimeText { seconds, nanos: 0, offset: Some(0) });
    }
    #[expect(clippy::cast_possible_truncation, reason = "a float beyond the integers becomes the last one")]
    let seconds = value.floor() as i64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a second")]
    let nanos = ((value - value.floor()) * 1e9).round() as u32;
    Some(TimeText { seconds, nanos: nanos.min(999_999_999), offset: Some(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_days_and_seconds_and_words_are_neither() {
        assert_eq!(days(b"19000"), Some(19_000));
        assert_eq!(days(b"20240105"), Some(19_727));
        assert_eq!(days(b"2024-01-05"), None);
        let at = |text: &str| {
            let found = seconds(text.as_bytes(), DateTimeInput::BestEffort)?;
            Some((found.seconds, found.nanos, found.offset))
        };
        assert_eq!(at("0"), Some((0, 0, Some(0))));
        assert_eq!(at("86400"), Some((86_400, 0, Some(0))));
        assert_eq!(at("-1.5"), Some((-2, 500_000_000, Some(0))));
        assert_eq!(at("1e9"), Some((1_000_000_000, 0, Some(0))));
        assert_eq!(at("1704449472"), Some((1_704_449_472, 0, Some(0))));
        assert_eq!((at("2024-01-05"), at("true"), at("nan")), (None, None, None));
    }
}
