//! Dates and times out of text.
//!
//! Invariant: the whole text must be the date; a date that is not in the calendar is refused, but for MySQL's zero date. A
//! clock may run over, as a leap second and the end of a day do. Values beyond a type's range are clamped by the caller.
//! Must not know: column types.

use super::best_effort::{self, Habits};
use super::zone::DAY_SECONDS;
use super::{COMMON_ERA_EPOCH, days_in_month, days_of, days_of_common_era};

/// How times are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DateTimeInput {
    /// `YYYY-MM-DD hh:mm:ss` and Unix seconds only.
    Basic,
    /// Also ISO 8601 with zones, day/month/year, month names, compact digits.
    BestEffort,
    /// The same with month/day/year.
    BestEffortUs,
}

/// A point in time as it was written.
pub type TimeText = best_effort::Written;

#[inline]
fn two(a: u8, b: u8) -> Option<i64> {
    let (tens, ones) = (a.wrapping_sub(b'0'), b.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| i64::from(tens) * 10 + i64::from(ones))
}

#[inline]
fn number(text: &[u8]) -> Option<i64> {
    // No date and no clock has more digits than sixteen, which have a product.
    let is_number = !text.is_empty() && text.len() <= 16 && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| text.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
}

/// `YYYY-MM-DD` with any separators, eight bytes at once. `None`: it is not that, or no day of the calendar.
#[inline]
fn plain_date(text: &[u8; 10]) -> Option<i64> {
    // Of the first eight bytes: where the digits are.
    const DIGITS: u64 = 0x00ff_ff00_ffff_ffff;
    let [y1, y2, y3, y4, s1, m1, m2, s2, d1, d2] = *text;
    let values = u64::from_le_bytes([y1, y2, y3, y4, s1, m1, m2, s2]) ^ 0x3030_3030_3030_3030;
    let digits = values & DIGITS;
    let wrong = (digits | digits.wrapping_add(0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080;
    let day = two(d1, d2)?;
    if wrong != 0 || s1.is_ascii_digit() || s2.is_ascii_digit() {
        return None;
    }
    // Each digit becomes ten of itself and the digit behind it.
    let [century, _, year, _, _, month, _, _] = (digits * 10 + (digits >> 8)).to_le_bytes();
    let year = u32::from(century) * 100 + u32::from(year);
    let (month, day) = (u32::from(month), u32::try_from(day).ok()?);
    let is_day = day <= 28 || i64::from(day) <= days_in_month(i64::from(year), i64::from(month));
    ((1..=12).contains(&month) && day >= 1 && is_day)
        .then(|| i64::from(days_of_common_era(year, month, day)) - COMMON_ERA_EPOCH)
}

/// MySQL's word for no date. It is before every date of every type.
pub const ZERO_DATE: &[u8] = b"0000-00-00";

/// The day that stands for the zero date: ClickHouse's first of Date32; Date clamps it to its own.
const ZERO_DATE_DAYS: i64 = days_of(1900, 1, 1);

#[inline]
fn valid_days(year: i64, month: i64, day: i64) -> Option<i64> {
    let valid = (1..=12).contains(&month) && day >= 1 && (day <= 28 || day <= days_in_month(year, month));
    valid.then(|| days_of(year, month, day))
}

/// `YYYY-MM-DD` (any separator), `YYYY-M-D` or `YYYYMMDD` as days since 1970-01-01.
#[inline]
pub fn date(text: &[u8]) -> Option<i64> {
    if let [_, _, _, _, s1, _, _, s2, _, _] = text
        && !s1.is_ascii_digit()
        && !s2.is_ascii_digit()
    {
        return plain_date(text.first_chunk()?).or_else(|| (text == ZERO_DATE).then_some(ZERO_DATE_DAYS));
    }
    if text.len() == 8 && text.iter().all(u8::is_ascii_digit) {
        return valid_days(number(&text[..4])?, number(&text[4..6])?, number(&text[6..])?);
    }
    let rest = text.get(4..)?;
    let year = number(&text[..4])?;
    let (separator, rest) = rest.split_first()?;
    let at = rest.iter().position(|b| b == separator)?;
    if separator.is_ascii_digit() || at > 2 || rest.len() - at > 3 {
        return None;
    }
    valid_days(year, number(&rest[..at])?, number(&rest[at + 1..])?)
}

/// Seconds since midnight. `24:00:00`, `23:59:60` and whatever else two digits can say run over into the next day.
#[inline]
fn clock(hour: i64, minute: i64, second: i64) -> Option<i64> {
    // Computed only for numbers of a clock: a long run of digits has no product.
    (hour < 100 && minute < 100 && second < 100).then(|| hour * 3600 + minute * 60 + second)
}

/// `YYYY-MM-DD hh:mm:ss[.fraction]`, or `T` instead of the blank.
#[inline]
fn time_in_full(text: &[u8]) -> Option<TimeText> {
    let (head, rest) = text.split_first_chunk::<19>()?;
    let [_, _, _, _, b'-', _, _, b'-', _, _, b' ' | b'T', h1, h2, b':', n1, n2, b':', s1, s2] = *head else {
        return None;
    };
    let nanos = fraction_or_none(rest)?;
    let day = head.first_chunk::<10>()?;
    let days = if day == ZERO_DATE { 0 } else { plain_date(day)? };
    let seconds = days * DAY_SECONDS + clock(two(h1, h2)?, two(n1, n2)?, two(s1, s2)?)?;
    Some(TimeText { seconds, nanos, offset: None })
}

/// A time in full, a bare date with separators, or Unix seconds `[.fraction]`.
#[inline]
pub fn time_basic(text: &[u8]) -> Option<TimeText> {
    if let Some(found) = time_in_full(text) {
        return Some(found);
    }
    // Four digits begin a date.
    if text.len() != 4
        && let Some(unix) = unix_time(text)
    {
        return Some(unix);
    }
    let days = if text == ZERO_DATE { 0 } else { date(text)? };
    Some(TimeText { seconds: days * DAY_SECONDS, nanos: 0, offset: None })
}

fn fraction_or_none(text: &[u8]) -> Option<u32> {
    match text {
        [] => Some(0),
        [b'.', rest @ ..] => nanos_of(rest),
        _ => None,
    }
}

/// Digits behind the point as billionths; more than nine are cut.
fn nanos_of(text: &[u8]) -> Option<u32> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let padded = text.iter().copied().chain(std::iter::repeat(b'0')).take(9);
    Some(padded.fold(0, |nanos, digit| nanos * 10 + u32::from(digit - b'0')))
}

/// Longest run of digits read as Unix seconds.
const UNIX_DIGITS_MAX: usize = 10;

fn unix_time(text: &[u8]) -> Option<TimeText> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let point = text.iter().position(|b| *b == b'.').unwrap_or(text.len());
    if point > UNIX_DIGITS_MAX {
        return None;
    }
    let (seconds, nanos) = (number(&text[..point])?, fraction_or_none(&text[point..])?);
    let (seconds, nanos) = match (negative, nanos) {
        (false, _) => (seconds, nanos),
        (true, 0) => (-seconds, 0),
        (true, _) => (-seconds - 1, 1_000_000_000 - nanos),
    };
    Some(TimeText { seconds, nanos, offset: Some(0) })
}

/// A time as the setting `date_time_input_format` wants it read.
#[inline]
pub fn time(text: &[u8], input: DateTimeInput) -> Option<TimeText> {
    match input {
        DateTimeInput::Basic => time_basic(text),
        DateTimeInput::BestEffort => time_best_effort(text, false),
        DateTimeInput::BestEffortUs => time_best_effort(text, true),
    }
}

/// Everything people and machines write. `month_first` reads 2/1/2020 as the first of February.
fn time_best_effort(text: &[u8], month_first: bool) -> Option<TimeText> {
    if text == ZERO_DATE {
        return None;
    }
    // A file says the same on every day: a date without a year is none.
    time_in_full(text).or_else(|| best_effort::read(text, Habits { month_first, today: None }).ok())
}

#[cfg(test)]
mod tests;
