//! Numbers that stand in JSON and SQL without quotes, where values of other types are wanted.
//!
//! Invariant: what is no JSON number is refused: `2024-01-05` without quotes is three numbers. Must not know: columns.

use std::net::Ipv4Addr;

use model::ColumnType;

use crate::settings::DateTimeInput;
use crate::values::cell::{Cell, TextForm};
use model::calendar::date_text::{TimeText, date, time};
use model::calendar::zone::DAY_SECONDS;
use model::value::print;
use scan::{number, sum};

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
    let number = Some(cell.text).filter(|_| cell.form == TextForm::Literal).and_then(sum::of_radix)?;
    Some(number.to_string().into_bytes())
}

/// What a number in SQL, a word for a truth or a sum of whole numbers is as a value of another type, in the text that the
/// reader of the type takes; `None` where it is none of these, or no such value.
pub(super) fn constant(cell: Cell<'_>, of: &ColumnType) -> Option<Vec<u8>> {
    use ColumnType as T;
    let whole = match cell.text {
        _ if cell.form != TextForm::Literal => return None,
        word if word.eq_ignore_ascii_case(b"true") => Some(1),
        word if word.eq_ignore_ascii_case(b"false") => Some(0),
        text => sum::whole(text),
    };
    let float = || number::float::<f64>(cell.text).ok();
    #[expect(clippy::cast_possible_truncation, reason = "a smaller float has no other whole part")]
    let cut = || float().filter(|value| value.abs() < 9e15).map(|value| value.trunc() as i64);
    // As many digits are seconds.
    let seconds = |number: i64| u32::try_from(number).ok().map(|number| format!("{number:010}"));
    let text = match of {
        T::Bool => {
            let is_true = whole.map(|whole| whole != 0).or_else(|| float().map(|value| value != 0.0))?;
            u8::from(is_true).to_string()
        }
        T::Float32 | T::Float64 | T::Decimal { .. } => whole?.to_string(),
        T::DateTime { .. } => seconds(whole.or_else(cut)?.max(0))?,
        T::DateTime64 { .. } => {
            let has_fraction = || float().is_some_and(|value| value.fract() != 0.0);
            seconds(whole.or_else(|| cut().filter(|_| !has_fraction()))?)?
        }
        T::Date => {
            let amount = whole.or_else(cut)?.max(0);
            let mut text = Vec::new();
            print::date(if amount > DAYS_MAX { amount / DAY_SECONDS } else { amount }, &mut text);
            return Some(text);
        }
        T::Ipv4 => Ipv4Addr::from(u32::try_from(whole?).ok()?).to_string(),
        number if number.is_integer() || number.is_wide_integer() => whole.or_else(cut)?.to_string(),
        _ => return None,
    };
    Some(text.into_bytes())
}

/// A number above it is seconds and no days, where a Date is wanted.
const DAYS_MAX: i64 = 65_535;

/// Eight digits are a date, as in quotes; fewer or more are days since 1970-01-01, with a sign where the type's `first` has one.
pub(super) fn days(text: &[u8], first: i64) -> Option<i64> {
    let days = number::signed::<i64>(text).ok().filter(|days| *days >= 0 || first < 0)?;
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
        assert_eq!(days(b"19000", 0), Some(19_000));
        assert_eq!(days(b"20240105", 0), Some(19_727));
        assert_eq!((days(b"-1", 0), days(b"-1", -25_567)), (None, Some(-1)));
        assert_eq!(days(b"2024-01-05", 0), None);
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
