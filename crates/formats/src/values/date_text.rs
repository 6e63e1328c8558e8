//! Dates and times out of text.
//!
//! Invariant: the whole text must be the date; a date that is not in the calendar is refused, but for MySQL's zero date. A
//! clock may run over, as a leap second and the end of a day do. Values beyond a type's range are clamped by the caller.
//! Must not know: column types.

use model::calendar::{COMMON_ERA_EPOCH, days_in_month, days_of, days_of_common_era};

use crate::scan::number::digits;
use crate::settings::DateTimeInput;
use model::calendar::zone::DAY_SECONDS;

/// A point in time as it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TimeText {
    /// Seconds since 1970-01-01, local unless `offset` is given.
    pub(crate) seconds: i64,
    pub(crate) nanos: u32,
    /// Seconds east of UTC, when the text says so; 0 for Unix time.
    pub(crate) offset: Option<i64>,
}

#[inline]
fn two(a: u8, b: u8) -> Option<i64> {
    let (tens, ones) = (a.wrapping_sub(b'0'), b.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| i64::from(tens) * 10 + i64::from(ones))
}

#[inline]
fn number(text: &[u8]) -> Option<i64> {
    i64::try_from(digits(text).ok()?).ok()
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
pub(crate) const ZERO_DATE: &[u8] = b"0000-00-00";

/// The day that stands for the zero date: ClickHouse's first of Date32; Date clamps it to its own.
const ZERO_DATE_DAYS: i64 = days_of(1900, 1, 1);

#[inline]
fn valid_days(year: i64, month: i64, day: i64) -> Option<i64> {
    let valid = (1..=12).contains(&month) && day >= 1 && (day <= 28 || day <= days_in_month(year, month));
    valid.then(|| days_of(year, month, day))
}

/// `YYYY-MM-DD` (any separator), `YYYY-M-D` or `YYYYMMDD` as days since 1970-01-01.
#[inline]
pub(crate) fn date(text: &[u8]) -> Option<i64> {
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

/// `YYYY-MM-DD hh:mm:ss[.fraction]`, `T` instead of the blank, a bare date, or Unix seconds `[.fraction]`.
#[inline]
pub(crate) fn time_basic(text: &[u8]) -> Option<TimeText> {
    if let Some((head, rest)) = text.split_first_chunk::<19>()
        && let [_, _, _, _, b'-', _, _, b'-', _, _, b' ' | b'T', h1, h2, b':', n1, n2, b':', s1, s2] = *head
        && (rest.is_empty() || rest[0] == b'.' && rest[1..].iter().all(u8::is_ascii_digit))
    {
        let day = head.first_chunk::<10>()?;
        let days = if day == ZERO_DATE { 0 } else { plain_date(day)? };
        let seconds = days * DAY_SECONDS + clock(two(h1, h2)?, two(n1, n2)?, two(s1, s2)?)?;
        return Some(TimeText { seconds, nanos: fraction_or_none(rest)?, offset: None });
    }
    if text.len() != 8
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
pub(crate) fn time(text: &[u8], input: DateTimeInput) -> Option<TimeText> {
    match input {
        DateTimeInput::Basic => time_basic(text),
        DateTimeInput::BestEffort => time_best_effort(text, false),
        DateTimeInput::BestEffortUs => time_best_effort(text, true),
    }
}

/// Everything people and machines write: see `DateTimeInput::BestEffort`. `month_first` reads 2/1/2020 as the first of February.
fn time_best_effort(text: &[u8], month_first: bool) -> Option<TimeText> {
    if text == ZERO_DATE {
        return None;
    }
    if let Some(found) = time_basic(text)
        && (found.offset.is_none() || text.len() >= 9)
    {
        return Some(found);
    }
    Guess { text, month_first, ..Guess::default() }.read()
}

/// Reads a date word by word.
#[derive(Default)]
struct Guess<'a> {
    text: &'a [u8],
    at: usize,
    month_first: bool,
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    time: Option<(i64, i64, i64)>,
    nanos: u32,
    afternoon: Option<bool>,
    offset: Option<i64>,
    done: Option<TimeText>,
}

const MONTHS: [&[u8; 3]; 12] =
    [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];
const WEEKDAYS: [&[u8; 3]; 7] = [b"mon", b"tue", b"wed", b"thu", b"fri", b"sat", b"sun"];

impl<'a> Guess<'a> {
    fn read(mut self) -> Option<TimeText> {
        while let Some(byte) = self.text.get(self.at).copied() {
            match byte {
                b' ' | b',' => self.at += 1,
                b'0'..=b'9' => self.digits()?,
                b'+' | b'-' => self.zone_offset()?,
                b'a'..=b'z' | b'A'..=b'Z' => self.word()?,
                _ => return None,
            }
        }
        if let Some(done) = self.done {
            return Some(done);
        }
        let month = self.month.or_else(|| self.day.is_none().then_some(1))?;
        let days = valid_days(self.year?, month, self.day.unwrap_or(1))?;
        let (mut hour, minute, second) = self.time.unwrap_or((0, 0, 0));
        match self.afternoon {
            Some(true) if hour < 12 => hour += 12,
            Some(false) if hour == 12 => hour = 0,
            _ => {}
        }
        let seconds = days * DAY_SECONDS + clock(hour, minute, second)?;
        Some(TimeText { seconds, nanos: self.nanos, offset: self.offset })
    }

    fn take_while(&mut self, wanted: fn(&u8) -> bool) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|b| !wanted(b)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn next_is(&self, wanted: &[u8]) -> bool {
        self.text.get(self.at).is_some_and(|b| wanted.contains(b))
    }

    /// A part that is written twice is no part of one time.
    fn has_no_day(&self) -> Option<()> {
        (self.year.is_none() && self.month.is_none() && self.day.is_none()).then_some(())
    }

    fn has_no_time(&self) -> Option<()> {
        self.time.is_none().then_some(())
    }

    fn digits(&mut self) -> Option<()> {
        let run = self.take_while(u8::is_ascii_digit);
        match run.len() {
            1 | 2 if self.next_is(b":") => self.clock(number(run)?),
            1 | 2 if self.next_is(b"/.-") => self.day_first(number(run)?),
            1 | 2 if self.day.is_none() => {
                self.day = Some(number(run)?);
                Some(())
            }
            // An hour alone behind its day.
            1 | 2 if self.time.is_none() => {
                self.time = Some((number(run)?, 0, 0));
                Some(())
            }
            4 if self.next_is(b"-/.") => self.year_first(number(run)?),
            4 if self.year.is_none() => {
                self.year = Some(number(run)?);
                Some(())
            }
            6 if self.year.is_some() => self.compact_clock(run),
            6 if self.month.is_none() => {
                (self.year, self.month) = (Some(number(&run[..4])?), Some(number(&run[4..])?));
                Some(())
            }
            8 => self.compact_date(run),
            14 => {
                self.compact_date(&run[..8])?;
                self.compact_clock(&run[8..])
            }
            13 | 16 | 19 => self.unix_fraction(run),
            _ => None,
        }
    }

    /// Unix time in milliseconds, microseconds or nanoseconds.
    fn unix_fraction(&mut self, run: &[u8]) -> Option<()> {
        self.has_no_day().and(self.has_no_time())?;
        let (seconds, fraction) = run.split_at(10);
        self.done = Some(TimeText { seconds: number(seconds)?, nanos: nanos_of(fraction)?, offset: Some(0) });
        Some(())
    }

    fn compact_date(&mut self, run: &[u8]) -> Option<()> {
        self.has_no_day()?;
        (self.year, self.month, self.day) =
            (Some(number(&run[..4])?), Some(number(&run[4..6])?), Some(number(&run[6..])?));
        Some(())
    }

    fn compact_clock(&mut self, run: &[u8]) -> Option<()> {
        self.has_no_time()?;
        self.time = Some((number(&run[..2])?, number(&run[2..4])?, number(&run[4..])?));
        self.fraction()
    }

    fn fraction(&mut self) -> Option<()> {
        if self.next_is(b".") {
            self.at += 1;
            let run = self.take_while(u8::is_ascii_digit);
            self.nanos = nanos_of(run)?;
        }
        Some(())
    }

    fn clock(&mut self, hour: i64) -> Option<()> {
        self.has_no_time()?;
        let two_digits = |run: &[u8]| number(run).filter(|_| run.len() <= 2);
        self.at += 1;
        let minute = two_digits(self.take_while(u8::is_ascii_digit))?;
        let mut second = 0;
        if self.next_is(b":") {
            self.at += 1;
            second = two_digits(self.take_while(u8::is_ascii_digit))?;
        }
        self.time = Some((hour, minute, second));
        self.fraction()
    }

    fn year_first(&mut self, year: i64) -> Option<()> {
        self.has_no_day()?;
        self.year = Some(year);
        self.at += 1;
        self.month = Some(number(self.take_while(u8::is_ascii_digit))?);
        if self.next_is(b"-/.") {
            self.at += 1;
            self.day = Some(number(self.take_while(u8::is_ascii_digit))?);
        }
        if self.next_is(b"T") {
            self.at += 1;
        }
        Some(())
    }

    /// `31/12/2020`, `31-12-20`; what cannot be a month is the day, whichever comes first.
    fn day_first(&mut self, day: i64) -> Option<()> {
        self.day.is_none().then_some(())?;
        self.day = Some(day);
        self.at += 1;
        if self.text.get(self.at).is_some_and(u8::is_ascii_alphabetic) {
            return Some(()); // 5-Jan-2020: the word and the year follow
        }
        let month = number(self.take_while(u8::is_ascii_digit))?;
        let swapped = if self.month_first { day <= 12 } else { month > 12 };
        (self.day, self.month) = if swapped { (Some(month), Some(day)) } else { (Some(day), Some(month)) };
        if self.next_is(b"-/.") {
            self.at += 1;
            self.year = Some(full_year(self.take_while(u8::is_ascii_digit))?);
        }
        Some(())
    }

    fn word(&mut self) -> Option<()> {
        let word = self.take_while(u8::is_ascii_alphabetic).to_ascii_lowercase();
        match word.as_slice() {
            b"t" if self.year.is_some() => return Some(()),
            b"z" | b"utc" | b"gmt" => self.offset = Some(0),
            b"am" => self.afternoon = Some(false),
            b"pm" => self.afternoon = Some(true),
            _ => {
                let start: &[u8; 3] = word.first_chunk()?;
                if let Some(month) = MONTHS.iter().position(|m| *m == start) {
                    self.month = Some(i64::try_from(month).ok()? + 1);
                    if self.next_is(b"-/") {
                        self.at += 1;
                        self.year = Some(full_year(self.take_while(u8::is_ascii_digit))?);
                    }
                } else if !WEEKDAYS.contains(&start) {
                    return None;
                }
            }
        }
        Some(())
    }

    /// `+02`, `-0330`, `+05:30`.
    fn zone_offset(&mut self) -> Option<()> {
        self.time?;
        let sign = if self.text[self.at] == b'-' { -1 } else { 1 };
        self.at += 1;
        let run = self.take_while(u8::is_ascii_digit);
        let (hours, minutes) = match run.len() {
            1 | 2 if self.next_is(b":") => {
                self.at += 1;
                (number(run)?, number(self.take_while(u8::is_ascii_digit))?)
            }
            1 | 2 => (number(run)?, 0),
            4 => (number(&run[..2])?, number(&run[2..])?),
            _ => return None,
        };
        if hours >= 24 || minutes >= 60 {
            return None;
        }
        self.offset = Some(sign * clock(hours, minutes, 0)?);
        Some(())
    }
}

fn full_year(run: &[u8]) -> Option<i64> {
    let year = number(run)?;
    match run.len() {
        2 => Some(if year < 70 { year + 2000 } else { year + 1900 }),
        4 => Some(year),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
