//! Text -> dates and times, ClickHouse's basic date reader and its best-effort reader of times.
//!
//! Invariant: pure over one value; results are wall-clock parts or moments, never clamped here.

use super::problem::Problem;
use crate::time::calendar::{SECONDS_PER_DAY, days_in_month, days_of};
use crate::time::zone::Zone;

/// Reads `YYYY-MM-DD` with any separators, or `YYYYMMDD`; a time of day after it is read over.
/// `None` in `Ok` is a date that does not exist.
pub(crate) fn date(text: &str) -> Result<Option<i32>, Problem> {
    let bytes = text.as_bytes();
    let (year, month, day, end) = date_parts(bytes)?;
    if end < bytes.len() && !is_time_of_day(&bytes[end..]) {
        return Err(Problem::Syntax(end));
    }
    let exists = (1..=12).contains(&month) && (1..=31).contains(&day);
    Ok(exists.then(|| days_of(year, month, day)))
}

fn digit(bytes: &[u8], at: usize) -> Option<i32> {
    bytes.get(at).filter(|b| b.is_ascii_digit()).map(|b| i32::from(*b - b'0'))
}

/// Year, month, day and where the text after them starts.
fn date_parts(bytes: &[u8]) -> Result<(i32, i32, i32, usize), Problem> {
    let at = |i| digit(bytes, i).ok_or(Problem::Date);
    let year = at(0)? * 1000 + at(1)? * 100 + at(2)? * 10 + at(3)?;
    if digit(bytes, 4).is_some() {
        return Ok((year, at(4)? * 10 + at(5)?, at(6)? * 10 + at(7)?, 8));
    }
    let one_or_two = |start: usize| -> Result<(i32, usize), Problem> {
        let first = at(start)?;
        Ok(digit(bytes, start + 1).map_or((first, start + 1), |second| (first * 10 + second, start + 2)))
    };
    let (month, end) = one_or_two(5)?;
    if digit(bytes, end).is_some() || end >= bytes.len() {
        return Err(Problem::Date);
    }
    let (day, end) = one_or_two(end + 1)?;
    Ok((year, month, day, end))
}

/// ` hh:mm:ss` or `Thh:mm:ss`, perhaps with a fraction.
fn is_time_of_day(bytes: &[u8]) -> bool {
    let shape = bytes.len() >= 9 && matches!(bytes[0], b' ' | b'T');
    let digits = [1, 2, 4, 5, 7, 8].iter().all(|at| digit(bytes, *at).is_some());
    let fraction = bytes.get(9..).unwrap_or_default();
    shape
        && digits
        && bytes[3] == b':'
        && bytes[6] == b':'
        && (fraction.is_empty() || fraction[0] == b'.' && fraction[1..].iter().all(u8::is_ascii_digit))
}

/// A moment: seconds since the epoch and nanoseconds after them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    pub seconds: i64,
    pub nanos: i64,
}

/// Reads a date and time in about any notation; `year_now` stands in where the text names no year.
pub(crate) fn moment(text: &str, zone: &Zone, year_now: i32) -> Result<Moment, Problem> {
    if let Some(moment) = plain_moment(text.as_bytes(), zone) {
        return Ok(moment);
    }
    BestEffort::new(text).read(zone, year_now)
}

/// As [`moment`], with the month before the day as in the United States where both are numbers.
pub(crate) fn moment_of_us(text: &str, zone: &Zone, year_now: i32) -> Result<Moment, Problem> {
    if let Some(moment) = plain_moment(text.as_bytes(), zone) {
        return Ok(moment);
    }
    BestEffort { month_first: true, ..BestEffort::new(text) }.read(zone, year_now)
}

/// The hot path: `YYYY-MM-DD hh:mm:ss`, perhaps with a fraction and `Z`.
fn plain_moment(bytes: &[u8], zone: &Zone) -> Option<Moment> {
    let shape = bytes.len() >= 19
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && matches!(bytes[10], b' ' | b'T')
        && bytes[13] == b':'
        && bytes[16] == b':';
    if !shape {
        return None;
    }
    let two = |at: usize| Some(digit(bytes, at)? * 10 + digit(bytes, at + 1)?);
    let year = two(0)? * 100 + two(2)?;
    let (month, day) = (two(5)?, two(8)?);
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    let time = i64::from(two(11)?) * 3600 + i64::from(two(14)?) * 60 + i64::from(two(17)?);
    let (nanos, end) = match bytes.get(19) {
        Some(b'.') => fraction(bytes, 20),
        _ => (0, 19),
    };
    let local = i64::from(days_of(year, month, day)) * SECONDS_PER_DAY + time;
    match &bytes[end..] {
        [] => Some(Moment { seconds: zone.to_epoch(local), nanos }),
        [b'Z'] => Some(Moment { seconds: local, nanos }),
        _ => None,
    }
}

/// Nanoseconds of the digits from `at`, and where they end; digits past the ninth are dropped.
fn fraction(bytes: &[u8], at: usize) -> (i64, usize) {
    let (mut nanos, mut unit, mut end) = (0_i64, 100_000_000_i64, at);
    while let Some(digit) = digit(bytes, end) {
        nanos += i64::from(digit) * unit;
        unit /= 10;
        end += 1;
    }
    (nanos, end)
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// Zone words that are understood, with hours east of UTC.
const ZONE_WORDS: [(&str, i64); 5] = [("utc", 0), ("gmt", 0), ("z", 0), ("msk", 3), ("msd", 4)];

/// Parts read so far, and the text still to be read.
struct BestEffort<'a> {
    bytes: &'a [u8],
    at: usize,
    year: Option<i32>,
    month: Option<i32>,
    day: Option<i32>,
    /// Seconds of the day.
    time: Option<i64>,
    hour: i64,
    nanos: i64,
    offset: Option<i64>,
    /// A Unix timestamp, which is the whole text.
    epoch: Option<i64>,
    /// The first of two numbers is the month.
    month_first: bool,
}

type Step = Result<(), Problem>;

impl<'a> BestEffort<'a> {
    fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let (year, month, day, time) = (None, None, None, None);
        Self {
            bytes,
            at: 0,
            year,
            month,
            day,
            time,
            hour: 0,
            nanos: 0,
            offset: None,
            epoch: None,
            month_first: false,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// The digits here: their value and how many.
    fn digits(&mut self, most: usize) -> (i64, usize) {
        let start = self.at;
        let mut value = 0_i64;
        while let Some(digit) = digit(self.bytes, self.at) {
            if self.at - start == most {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
            self.at += 1;
        }
        (value, self.at - start)
    }

    fn read(mut self, zone: &Zone, year_now: i32) -> Result<Moment, Problem> {
        while let Some(byte) = self.peek() {
            match byte {
                b'0'..=b'9' => self.number()?,
                b' ' | b',' | b';' | b'T' if byte != b'T' || self.day.is_some() || self.month.is_some() => {
                    self.at += 1;
                }
                b'+' | b'-' if self.time.is_none() && self.day.is_some() && self.is_clock_behind(byte) => {
                    self.at += 1;
                    let (digits, count) = self.digits(6);
                    self.set_time(if count == 4 { digits * 100 } else { digits });
                }
                b'+' | b'-' if self.time.is_some() || self.year.is_some() && byte == b'+' => {
                    self.zone_offset()?
                }
                b'+' | b'-' if self.at == 0 && self.bytes.len() > 8 => self.at += 1,
                b'.' if self.epoch.is_some() || self.time.is_some() => {
                    let (nanos, end) = fraction(self.bytes, self.at + 1);
                    self.nanos = nanos;
                    self.at = end;
                }
                b'.' => return Err(Problem::DateTime("unexpected point symbol")),
                b'a'..=b'z' | b'A'..=b'Z' => self.word()?,
                _ => return Err(Problem::DateTime("unexpected symbol")),
            }
        }
        self.finish(zone, year_now)
    }

    /// Whether `hhmmss` is behind the sign here, or `hhmm` behind a minus: a time of day, and no offset of a zone.
    fn is_clock_behind(&self, sign: u8) -> bool {
        let count = self.bytes.iter().skip(self.at + 1).take_while(|byte| byte.is_ascii_digit()).count();
        count == 6 || count == 4 && sign == b'-'
    }

    /// A run of digits; its length and what follows say what it is.
    fn number(&mut self) -> Step {
        let start = self.at;
        let (value, count) = self.digits(20);
        let next = self.peek();
        let small = i32::try_from(value).unwrap_or(i32::MAX);
        match count {
            // A bare year before the date is complete; a clock value after it.
            4 if matches!(next, Some(b'-' | b'/' | b'.' | b':')) && self.year.is_none() => {
                self.year_first(small)
            }
            4 if self.year.is_none() => {
                self.year = Some(small);
                Ok(())
            }
            4 => {
                self.time = Some(value / 100 * 3600 + value % 100 * 60);
                Ok(())
            }
            8 if self.year.is_none() => {
                self.set_date(small / 10_000, small / 100 % 100, small % 100);
                Ok(())
            }
            14 if self.year.is_none() => {
                let date = i32::try_from(value / 1_000_000).unwrap_or(0);
                self.set_date(date / 10_000, date / 100 % 100, date % 100);
                self.set_time(value % 1_000_000);
                Ok(())
            }
            6 if self.year.is_none() => {
                (self.year, self.month) = (Some(small / 100), Some(small % 100));
                Ok(())
            }
            6 => {
                self.set_time(value);
                Ok(())
            }
            9 | 10 | 13 | 16 | 19 if start <= 1 && self.year.is_none() => self.timestamp(value, count),
            1 | 2 => self.short_number(small, next),
            3 if matches!(next, Some(b'.')) => Err(Problem::DateTime("unexpected point symbol")),
            _ => Err(Problem::DateTime("unexpected number of decimal digits")),
        }
    }

    fn timestamp(&mut self, value: i64, count: usize) -> Step {
        let (ticks, nanos) = match count {
            13 => (1_000, 1_000_000),
            16 => (1_000_000, 1_000),
            19 => (1_000_000_000, 1),
            _ => (1, 0),
        };
        self.epoch = Some(value / ticks);
        self.nanos = value % ticks * nanos;
        Ok(())
    }

    fn set_date(&mut self, year: i32, month: i32, day: i32) {
        (self.year, self.month, self.day) = (Some(year), Some(month), Some(day));
    }

    /// From the digits `hhmmss`.
    fn set_time(&mut self, digits: i64) {
        self.hour = digits / 10_000;
        self.time = Some(digits / 10_000 * 3600 + digits / 100 % 100 * 60 + digits % 100);
    }

    /// `YYYY-MM[-DD]` after the year.
    fn year_first(&mut self, year: i32) -> Step {
        self.year = Some(year);
        let separator = self.peek();
        self.at += 1;
        let (month, count) = self.digits(2);
        if count == 0 {
            return self.month_word_after_year();
        }
        self.month = i32::try_from(month).ok();
        if self.peek() == separator && digit(self.bytes, self.at + 1).is_some() {
            self.at += 1;
            let (day, _) = self.digits(2);
            self.day = i32::try_from(day).ok();
        }
        Ok(())
    }

    fn month_word_after_year(&mut self) -> Step {
        self.word()?;
        self.at += usize::from(matches!(self.peek(), Some(b'-' | b'/' | b'.')));
        let (day, count) = self.digits(2);
        self.day = if count > 0 { i32::try_from(day).ok() } else { None };
        Ok(())
    }

    /// One or two digits: an hour, a day, or day and month and year.
    fn short_number(&mut self, value: i32, next: Option<u8>) -> Step {
        match next {
            Some(b':') => self.clock(value),
            Some(b'/' | b'.' | b'-') if self.day.is_none() => self.day_first(value, next),
            Some(b' ' | b',' | b'a'..=b'z' | b'A'..=b'Z') | None if self.day.is_none() => {
                self.day = Some(value);
                Ok(())
            }
            _ if self.day.is_some() && self.time.is_none() => {
                self.hour = i64::from(value);
                self.time = Some(self.hour * 3600);
                Ok(())
            }
            _ => Err(Problem::DateTime("unexpected number of decimal digits")),
        }
    }

    /// `hh:mm[:ss]` after the hour.
    fn clock(&mut self, hour: i32) -> Step {
        self.hour = i64::from(hour);
        let mut time = self.hour * 3600;
        for unit in [60, 1] {
            if !self.take(b':') {
                break;
            }
            let (value, count) = self.digits(2);
            if count == 0 {
                return Err(Problem::DateTime("unexpected number of decimal digits after hour: 0"));
            }
            time += value * unit;
        }
        self.time = Some(time);
        Ok(())
    }

    /// `DD/MM/YYYY`, `DD-Mon-YYYY`; the other order where the first number cannot be a day before a month.
    fn day_first(&mut self, value: i32, separator: Option<u8>) -> Step {
        self.at += 1;
        let (second, count) = self.digits(2);
        if count == 0 {
            self.day = Some(value);
            self.word()?;
        } else {
            let second = i32::try_from(second).unwrap_or(0);
            let swapped = second > 12 || self.month_first && value <= 12;
            (self.day, self.month) =
                if swapped { (Some(second), Some(value)) } else { (Some(value), Some(second)) };
        }
        if self.peek() == separator {
            self.at += 1;
            let (year, count) = self.digits(4);
            let year = i32::try_from(year).unwrap_or(0);
            self.year = match count {
                4 => Some(year),
                2 => Some(if year < 70 { 2000 + year } else { 1900 + year }),
                _ => return Err(Problem::DateTime("unexpected number of decimal digits in year")),
            };
        }
        Ok(())
    }

    fn word(&mut self) -> Step {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_alphabetic()) {
            self.at += 1;
        }
        let word = String::from_utf8_lossy(&self.bytes[start..self.at]).to_ascii_lowercase();
        let prefix = word.get(..3).unwrap_or(&word);
        if matches!(word.as_str(), "am" | "pm") {
            return self.half_of_day(word == "pm");
        }
        if let Some((_, hours)) = ZONE_WORDS.iter().find(|(name, _)| *name == word) {
            self.offset = Some(hours * 3600);
        } else if let Some(index) = MONTHS.iter().position(|month| *month == prefix) {
            self.month = i32::try_from(index + 1).ok();
        } else if !WEEKDAYS.contains(&prefix) {
            return Err(Problem::DateTime("unexpected word"));
        }
        Ok(())
    }

    fn half_of_day(&mut self, afternoon: bool) -> Step {
        let shift = match (afternoon, self.hour) {
            (false, 12) => -12,
            (true, hour) if hour < 12 => 12,
            _ => 0,
        };
        self.time = self.time.map(|time| time + shift * 3600);
        Ok(())
    }

    /// `+hh`, `+hh:mm`, `+hhmm`.
    fn zone_offset(&mut self) -> Step {
        let negative = self.peek() == Some(b'-');
        self.at += 1;
        let (value, count) = self.digits(4);
        let mut seconds = match count {
            1 | 2 => value * 3600,
            3 | 4 => value / 100 * 3600 + value % 100 * 60,
            _ => return Err(Problem::DateTime("unexpected number of decimal digits for time zone offset")),
        };
        if self.take(b':') {
            seconds += self.digits(2).0 * 60;
        }
        self.offset = Some(if negative { -seconds } else { seconds });
        Ok(())
    }

    fn finish(self, zone: &Zone, year_now: i32) -> Result<Moment, Problem> {
        if let Some(seconds) = self.epoch {
            return Ok(Moment { seconds, nanos: self.nanos });
        }
        if self.year.is_none() && self.month.is_none() && self.day.is_none() && self.time.is_none() {
            return Err(Problem::DateTime("neither Date nor Time was parsed successfully"));
        }
        let (year, month) = (self.year.unwrap_or(year_now), self.month.unwrap_or(1));
        let day = self.day.unwrap_or(1);
        if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
            return Err(Problem::DateTime("unexpected date"));
        }
        let local = i64::from(days_of(year, month, day)) * SECONDS_PER_DAY + self.time.unwrap_or(0);
        let seconds = self.offset.map_or_else(|| zone.to_epoch(local), |offset| local - offset);
        Ok(Moment { seconds, nanos: self.nanos })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono_tz::Tz;

    fn seconds(text: &str) -> Result<i64, Problem> {
        moment(text, &Zone::new(Tz::UTC), 2026).map(|moment| moment.seconds)
    }

    #[test]
    fn many_notations_of_one_moment() {
        for text in [
            "2020-01-01 10:11:12",
            "2020-01-01T10:11:12Z",
            "2020-1-1 10:11:12",
            "20200101101112",
            "20200101T101112Z",
            "1577873472",
            "1577873472000",
            "Wed, 1 Jan 2020 10:11:12 GMT",
            "01/01/2020 10:11:12",
            "01.01.2020 10:11:12 AM",
            "2020-01-01 11:11:12+01:00",
            "2020-01-01 05:11:12 -0500",
            "1-Jan-2020 10:11:12",
        ] {
            assert_eq!(seconds(text), Ok(1_577_873_472), "{text}");
        }
        assert_eq!(seconds("2020-01-01 25:00:00"), seconds("2020-01-02 01:00:00"));
        assert_eq!(seconds("abc"), Err(Problem::DateTime("unexpected word")));
        assert!(seconds("").is_err() && seconds("2020-02-30 10:11:12").is_err());
    }

    #[test]
    fn dates() {
        assert_eq!(date("2020-1-5"), Ok(Some(18266)));
        assert_eq!(date("20200105"), Ok(Some(18266)));
        assert_eq!(date("2020/01/05 10:00:00.5"), Ok(Some(18266)));
        assert_eq!(date("2020-13-01"), Ok(None));
        assert_eq!(date("2020-01"), Err(Problem::Date));
        assert_eq!(date("2020-01-05x"), Err(Problem::Syntax(10)));
    }
}
