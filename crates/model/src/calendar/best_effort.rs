//! Dates and times as people and machines write them: what ClickHouse's `parseDateTimeBestEffort` reads.
//!
//! Invariant: a part that is written twice is refused or stays unread, never overwritten; what is not understood ends the
//! reading, and the caller hears where. A clock may run over (24:00:00, 23:59:60). Must not know: time zones by region,
//! column types, the clock of this machine.

mod words;

use super::zone::DAY_SECONDS;
use super::{days_in_month, days_of};

/// A point in time as it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// Seconds since 1970-01-01, local unless `offset` is given.
    pub seconds: i64,
    pub nanos: u32,
    /// Seconds east of UTC, where the text says so; 0 for Unix time.
    pub offset: Option<i64>,
}

/// Why a text is no time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// A part of it is wrong.
    Part(&'static str),
    /// It is one up to this byte, from 0.
    Rest(usize),
}

/// Which of two numbers is the month where both may be, and the day that tells the year of a date without one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Habits {
    /// As in the United States.
    pub month_first: bool,
    /// Year, month, day: a date without a year is the last of that name. `None` refuses it.
    pub today: Option<(i64, i64, i64)>,
}

/// Reads all of the text.
pub fn read(text: &[u8], habits: Habits) -> Result<Written, Unreadable> {
    let mut reader = Reader { text, month_first: habits.month_first, ..Reader::default() };
    while reader.at < text.len() && reader.found.is_none() {
        let before = reader.at;
        match reader.text[reader.at] {
            b'0'..=b'9' => reader.number()?,
            _ => reader.sign_or_word()?,
        }
        if reader.at == before {
            break;
        }
    }
    let written = match reader.found {
        Some(found) => found,
        None => reader.finish(habits.today)?,
    };
    if reader.at < text.len() { Err(Unreadable::Rest(reader.at)) } else { Ok(written) }
}

type Step = Result<(), Unreadable>;

fn wrong(what: &'static str) -> Step {
    Err(Unreadable::Part(what))
}

#[derive(Default)]
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    month_first: bool,
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    /// Hour, minute, second.
    clock: (i64, i64, i64),
    /// More than an hour is written.
    has_time: bool,
    /// A comma stands between day and time.
    has_comma: bool,
    nanos: u32,
    has_fraction: bool,
    is_am: bool,
    is_pm: bool,
    /// Hours and minutes without their sign.
    offset: Option<(i64, i64)>,
    is_west: bool,
    /// Unix time, which is the whole text.
    found: Option<Written>,
}

/// What stands between the numbers of a date.
const SEPARATORS: [u8; 3] = [b'-', b'/', b'.'];

fn value(digits: &[u8]) -> i64 {
    digits.iter().fold(0_i64, |value, digit| value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0')))
}

/// A part of a date; 0 is none.
fn part(digits: &[u8]) -> Option<i64> {
    Some(value(digits)).filter(|value| *value > 0)
}

/// Digits behind the point as billionths; more than nine are cut.
fn billionths(digits: &[u8]) -> u32 {
    let padded = digits.iter().copied().chain(std::iter::repeat(b'0')).take(9);
    padded.fold(0, |nanos, digit| nanos * 10 + u32::from(digit - b'0'))
}

impl<'a> Reader<'a> {
    fn next(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, wanted: &[u8]) -> Option<u8> {
        let found = self.next().filter(|byte| wanted.contains(byte))?;
        self.at += 1;
        Some(found)
    }

    fn digits(&mut self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += length;
        &rest[..length]
    }

    /// One or two digits.
    fn short(&mut self, otherwise: &'static str) -> Result<i64, Unreadable> {
        let digits = self.digits();
        if matches!(digits.len(), 1 | 2) { Ok(value(digits)) } else { Err(Unreadable::Part(otherwise)) }
    }

    fn has_date(&self) -> bool {
        self.year.is_some() && self.month.is_some() && self.day.is_some()
    }

    /// Whether some part of a date is there.
    fn is_dated(&self) -> bool {
        self.year.is_some() || self.month.is_some() || self.day.is_some()
    }

    fn is_empty(&self) -> bool {
        self.year.is_none() && !self.has_time
    }

    /// A run of digits: its length says what it is.
    fn number(&mut self) -> Step {
        let start = self.at;
        let run = self.digits();
        match run.len() {
            13 | 16 | 19 if self.is_empty() => self.unix(&run[..10], &run[10..]),
            9 | 10 if self.is_empty() => {
                let fraction = if self.take(b".").is_some() { self.digits() } else { &[] };
                self.unix(run, fraction)
            }
            14 if self.is_empty() => {
                self.compact_date(&run[..8]);
                self.compact_clock(&run[8..])
            }
            8 if self.year.is_none() => {
                self.compact_date(run);
                Ok(())
            }
            6 if self.year.is_none() && self.month.is_none() => {
                (self.year, self.month) = (part(&run[..4]), part(&run[4..]));
                Ok(())
            }
            6 if !self.has_time => self.compact_clock(run),
            4 if self.year.is_none() => self.year_first(run),
            1 | 2 => self.short_number(start, value(run)),
            _ => wrong("unexpected number of decimal digits"),
        }
    }

    fn unix(&mut self, seconds: &[u8], fraction: &[u8]) -> Step {
        self.found = Some(Written { seconds: value(seconds), nanos: billionths(fraction), offset: Some(0) });
        Ok(())
    }

    fn compact_date(&mut self, run: &[u8]) {
        (self.year, self.month, self.day) = (part(&run[..4]), part(&run[4..6]), part(&run[6..]));
    }

    fn compact_clock(&mut self, run: &[u8]) -> Step {
        self.clock = (value(&run[..2]), value(&run[2..4]), run.get(4..).map_or(0, value));
        self.has_time = true;
        self.fraction();
        Ok(())
    }

    /// `YYYY-MM[-DD]` behind the year, with any separator.
    fn year_first(&mut self, year: &[u8]) -> Step {
        self.year = part(year);
        if self.month.is_some() || self.next().is_none() {
            return if self.next() == Some(b',') {
                wrong("unexpected comma behind the year")
            } else {
                Ok(())
            };
        }
        let separator = self.text[self.at];
        self.at += 1;
        let run = self.digits();
        match run.len() {
            1 | 2 => self.month = part(run),
            _ if separator == b' ' => {
                let is_name = self.next().is_some_and(|byte| byte.is_ascii_alphabetic());
                let is_behind_time = self.has_time && self.day.is_none();
                return if is_name && is_behind_time { wrong("unexpected word") } else { Ok(()) };
            }
            _ => return wrong("unexpected number of decimal digits after year"),
        }
        if separator == b',' {
            return wrong("unexpected comma behind the year");
        }
        if self.day.is_none() && self.take(&[separator]).is_some() {
            let run = self.digits();
            match run.len() {
                1 | 2 => self.day = part(run),
                _ if separator == b' ' => {}
                _ => return wrong("unexpected number of decimal digits after year and month"),
            }
        }
        Ok(())
    }

    /// One or two digits: an hour, a day, or day and month and year.
    fn short_number(&mut self, start: usize, number: i64) -> Step {
        if self.next() == Some(b':') {
            if self.has_time {
                self.at = start;
                return Ok(());
            }
            return self.clock(number);
        }
        if self.take(b",").is_some() {
            if self.month.is_some() && self.day.is_none() {
                self.day = Some(number);
            }
            return Ok(());
        }
        if self.next().is_some_and(|byte| SEPARATORS.contains(&byte)) {
            return self.day_first(number);
        }
        match self.day {
            None => self.day = Some(number).filter(|day| *day > 0),
            Some(_) => self.clock.0 = number,
        }
        Ok(())
    }

    /// `:mm[:ss[.fraction]]` behind the hour.
    fn clock(&mut self, hour: i64) -> Step {
        self.at += 1;
        let minute = self.short("unexpected number of decimal digits after hour")?;
        let mut second = 0;
        if self.take(b":").is_some() {
            second = self.short("unexpected number of decimal digits after hour and minute")?;
        }
        self.clock = (hour, minute, second);
        self.has_time = true;
        self.fraction();
        Ok(())
    }

    fn fraction(&mut self) {
        if self.take(b".").is_some() {
            let digits = self.digits();
            self.nanos = billionths(digits);
            self.has_fraction = !digits.is_empty();
        }
    }

    /// `31/12/2020`, `31-12-20`, `31-Dec-2020` behind the first number.
    fn day_first(&mut self, first: i64) -> Step {
        if self.day.is_some() {
            return wrong("day of month is duplicated");
        }
        if self.month.is_some() {
            return wrong("month is duplicated");
        }
        self.at += 1;
        let run = self.digits();
        let second = match run.len() {
            1 | 2 => value(run),
            0 if !self.month_first => self.month_word()?,
            _ => return wrong("unexpected number of decimal digits after day of month"),
        };
        let (day, month) = if self.month_first { (second, first) } else { (first, second) };
        let (day, month) = if month > 12 { (month, day) } else { (day, month) };
        (self.day, self.month) = (Some(day).filter(|day| *day > 0), Some(month).filter(|month| *month > 0));
        if self.take(&SEPARATORS).is_some() {
            if self.year.is_some() {
                return wrong("year is duplicated");
            }
            let run = self.digits();
            self.year = match run.len() {
                4 => Some(value(run)),
                2 if value(run) < 70 => Some(value(run) + 2000),
                2 => Some(value(run) + 1900),
                _ => return wrong("unexpected number of decimal digits after day of month and month"),
            };
        }
        Ok(())
    }

    fn sign_or_word(&mut self) -> Step {
        match self.text[self.at] {
            b' ' => {
                self.at += 1;
                Ok(())
            }
            b',' if !self.has_comma && self.is_dated() != self.has_time => {
                self.at += 1;
                self.has_comma = true;
                Ok(())
            }
            b'T' if self.year.is_some() && !self.has_time => {
                self.at += 1;
                Ok(())
            }
            b'Z' => {
                self.at += 1;
                self.shift(0, 0);
                Ok(())
            }
            b'.' if self.has_time && !self.has_fraction => {
                self.fraction();
                Ok(())
            }
            b'+' | b'-' => self.zone_offset(),
            byte if byte.is_ascii_alphabetic() => self.word(),
            _ => Ok(()),
        }
    }

    fn finish(&self, today: Option<(i64, i64, i64)>) -> Result<Written, Unreadable> {
        if !self.is_dated() && !self.has_time {
            return Err(Unreadable::Part("neither Date nor Time was parsed successfully"));
        }
        if self.has_comma && !(self.has_date() && self.has_time) {
            return Err(Unreadable::Part("unexpected comma"));
        }
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        let year = match (self.year, today) {
            (Some(year), _) => year,
            (None, Some((year, this_month, this_day))) if (month, day) > (this_month, this_day) => year - 1,
            (None, Some((year, ..))) => year,
            (None, None) => return Err(Unreadable::Part("the year is missing")),
        };
        if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
            return Err(Unreadable::Part("unexpected date"));
        }
        let (mut hour, minute, second) = self.clock;
        if self.is_pm && hour < 12 {
            hour += 12;
        }
        if self.is_am && hour == 12 {
            hour = 0;
        }
        let seconds = days_of(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 + second;
        Ok(Written {
            seconds,
            nanos: self.nanos,
            offset: self
                .offset
                .map(|(hours, minutes)| (hours * 60 + minutes) * if self.is_west { -60 } else { 60 }),
        })
    }
}

#[cfg(test)]
mod tests;
