//! Text as times by MySQL's specifiers: `parseDateTime`, the way back of `formatDateTime`.
//!
//! Invariant: all of the text is read, or it does not fit; a part that is not named is that of 1970-01-01 00:00:00, or of the year 2000
//! where another part of the day is named. Of several ways to name a day the last one counts, as in ClickHouse.

use arrow::array::{ArrayRef, Int64Array};
use model::{ColumnType, ErrorCode};

use crate::conversion::convert::zone_argument;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::{ScalarFunction, with_nulls};
use crate::kernel::types::takes_text;
use crate::time::calendar::{SECONDS_PER_DAY, day_of_week, days_in_month, days_of};
use crate::time::temporal::{digits_of, from_ticks, power_of_ten, zone_of};
use crate::time::zone::Zone;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// What is done with text that does not fit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Otherwise {
    Error,
    Null,
    Zero,
}

/// The parts read so far.
struct Parts {
    year: Option<i32>,
    month: i32,
    day: i32,
    day_of_year: i32,
    way: Way,
    /// Of a year by ISO weeks.
    week: i32,
    /// From Monday.
    weekday: i32,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    /// Whether the hour is one of twelve; one of 24 is in no half.
    by_halves: bool,
    afternoon: bool,
    offset: Option<i64>,
}

/// How a day is named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Year,
    Month,
    Week,
    DayOfYear,
}

/// Why a text did not become a time.
enum Failure {
    Text,
    Specifier(char),
}

/// A number of exactly `digits` digits between two bounds.
fn exact(rest: &mut &str, digits: usize, low: i64, high: i64) -> Result<i64, Failure> {
    let long_enough = rest.bytes().take(digits).filter(u8::is_ascii_digit).count() == digits;
    if long_enough { number(rest, digits, low, high) } else { Err(Failure::Text) }
}

/// A number of up to `digits` digits between two bounds.
fn number(rest: &mut &str, digits: usize, low: i64, high: i64) -> Result<i64, Failure> {
    let length = rest.bytes().take(digits).take_while(u8::is_ascii_digit).count();
    let value: i64 = rest[..length].parse().map_err(|_| Failure::Text)?;
    *rest = &rest[length..];
    if (low..=high).contains(&value) { Ok(value) } else { Err(Failure::Text) }
}

fn small(rest: &mut &str, digits: usize, low: i64, high: i64) -> Result<i32, Failure> {
    i32::try_from(exact(rest, digits, low, high)?).map_err(|_| Failure::Text)
}

/// One of some words, as long as they are or their first three letters; its place from 1.
fn word(rest: &mut &str, words: &[&str], whole: bool) -> Result<i32, Failure> {
    for (index, word) in words.iter().enumerate() {
        let wanted = if whole { word } else { &word[..3] };
        if rest.get(..wanted.len()).is_some_and(|start| start.eq_ignore_ascii_case(wanted)) {
            *rest = &rest[wanted.len()..];
            return i32::try_from(index + 1).map_err(|_| Failure::Text);
        }
    }
    Err(Failure::Text)
}

fn literal(rest: &mut &str, text: &str) -> Result<(), Failure> {
    *rest = rest.strip_prefix(text).ok_or(Failure::Text)?;
    Ok(())
}

/// `+0200` or `-02:00` in seconds.
fn offset(rest: &mut &str) -> Result<i64, Failure> {
    let sign = match rest.chars().next() {
        Some('+') => 1,
        Some('-') => -1,
        _ => return Err(Failure::Text),
    };
    *rest = &rest[1..];
    let hours = number(rest, 2, 0, 23)?;
    *rest = rest.strip_prefix(':').unwrap_or(rest);
    Ok(sign * (hours * 3600 + number(rest, 2, 0, 59)? * 60))
}

impl Parts {
    fn new() -> Self {
        Self {
            year: None,
            month: 1,
            day: 1,
            day_of_year: 1,
            way: Way::Year,
            week: 1,
            weekday: 1,
            hour: 0,
            minute: 0,
            second: 0,
            micros: 0,
            by_halves: false,
            afternoon: false,
            offset: None,
        }
    }

    fn read(mut self, template: &str, text: &str) -> Result<Self, Failure> {
        let mut rest = text;
        let mut letters = template.chars();
        while let Some(letter) = letters.next() {
            if letter == '%' {
                self.specifier(letters.next().unwrap_or('%'), &mut rest)?;
            } else {
                literal(&mut rest, letter.encode_utf8(&mut [0; 4]))?;
            }
        }
        if rest.is_empty() { Ok(self) } else { Err(Failure::Text) }
    }

    fn specifier(&mut self, letter: char, rest: &mut &str) -> Result<(), Failure> {
        self.way = match letter {
            'm' | 'c' | 'M' | 'b' | 'd' | 'e' => Way::Month,
            'V' | 'u' | 'a' | 'W' => Way::Week,
            'j' => Way::DayOfYear,
            _ => self.way,
        };
        match letter {
            'Y' => self.year = Some(small(rest, 4, 1900, 2299)?),
            'y' => {
                let year = small(rest, 2, 0, 99)?;
                self.year = Some(if year < 70 { 2000 + year } else { 1900 + year });
            }
            'm' => self.month = small(rest, 2, 1, 12)?,
            'c' => self.month = i32::try_from(number(rest, 2, 1, 12)?).unwrap_or(1),
            'M' => self.month = word(rest, &MONTHS, true)?,
            'b' => self.month = word(rest, &MONTHS, false)?,
            'd' => self.day = small(rest, 2, 1, 31)?,
            'e' => self.day = i32::try_from(number(rest, 2, 1, 31)?).unwrap_or(1),
            'G' => self.year = Some(small(rest, 4, 1900, 2299)?),
            'V' => self.week = small(rest, 2, 1, 53)?,
            'u' => self.weekday = small(rest, 1, 1, 7)?,
            'j' => self.day_of_year = small(rest, 3, 1, 366)?,
            'a' => self.weekday = word(rest, &WEEKDAYS, false)?,
            'W' => self.weekday = word(rest, &WEEKDAYS, true)?,
            'H' => (self.hour, self.by_halves) = (exact(rest, 2, 0, 23)?, false),
            'k' => (self.hour, self.by_halves) = (number(rest, 2, 0, 23)?, false),
            'h' | 'I' | 'l' => (self.hour, self.by_halves) = (number(rest, 2, 1, 12)? % 12, true),
            'i' => self.minute = exact(rest, 2, 0, 59)?,
            's' | 'S' => self.second = exact(rest, 2, 0, 59)?,
            'f' => {
                let before = rest.len();
                let value = number(rest, 6, 0, 999_999)?;
                let digits = u32::try_from(before - rest.len()).unwrap_or(6);
                self.micros = value * power_of_ten(6 - digits);
            }
            'p' => {
                self.afternoon = word(rest, &["am", "pm"], true)? == 2;
            }
            'F' => self.all("%Y-%m-%d", rest)?,
            'D' => self.all("%m/%d/%y", rest)?,
            'T' => self.all("%H:%i:%s", rest)?,
            'R' => self.all("%H:%i", rest)?,
            'r' => self.all("%h:%i %p", rest)?,
            'z' => self.offset = Some(offset(rest)?),
            'n' => literal(rest, "\n")?,
            't' => literal(rest, "\t")?,
            '%' => literal(rest, "%")?,
            other => return Err(Failure::Specifier(other)),
        }
        Ok(())
    }

    fn all(&mut self, template: &str, rest: &mut &str) -> Result<(), Failure> {
        let mut letters = template.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '%' => self.specifier(letters.next().unwrap_or('%'), rest)?,
                other => literal(rest, other.encode_utf8(&mut [0; 4]))?,
            }
        }
        Ok(())
    }

    /// Seconds since the epoch.
    fn epoch(&self, zone: &Zone) -> Result<i64, Failure> {
        let monday = |day: i32| day - (day_of_week(day) - 1);
        // A year that has every day.
        let year = self.year.unwrap_or(if self.way == Way::Year { 1970 } else { 2000 });
        let day = match self.way {
            // The fourth of January is in the first week.
            Way::Week => monday(days_of(year, 1, 4)) + (self.week - 1) * 7 + self.weekday - 1,
            Way::DayOfYear if self.day_of_year > 337 + days_in_month(year, 2) => return Err(Failure::Text),
            Way::DayOfYear => days_of(year, 1, 1) + self.day_of_year - 1,
            Way::Month | Way::Year if self.day > days_in_month(year, self.month) => {
                return Err(Failure::Text);
            }
            Way::Month | Way::Year => days_of(year, self.month, self.day),
        };
        let hour = self.hour + if self.by_halves && self.afternoon { 12 } else { 0 };
        let local = i64::from(day) * SECONDS_PER_DAY + hour * 3600 + self.minute * 60 + self.second;
        Ok(self.offset.map_or_else(|| zone.to_epoch(local), |offset| local - offset))
    }
}

fn parsed(call: &Call<'_>, otherwise: Otherwise) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    let given = if call.args.len() > 1 { Some(call.texts(1)?) } else { None };
    let result = call.result_type.value_type();
    let usual = if digits_of(result) > 0 { "%Y-%m-%d %H:%i:%s.%f" } else { "%Y-%m-%d %H:%i:%s" };
    let template = |row: usize| given.as_ref().map_or(usual, |given| given.get(row));
    let zone = Zone::new(zone_of(result, call.session.time_zone));
    let fractions = digits_of(result) > 0;
    let (mut ticks, mut valid) = (Vec::with_capacity(call.rows), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        if call.is_null(row) {
            ticks.push(0);
            valid.push(true);
            continue;
        }
        let read = Parts::new().read(template(row), texts.get(row));
        let read = read.and_then(|parts| Ok((parts.epoch(&zone)?, parts.micros)));
        let in_range = |(epoch, _): &(i64, i64)| fractions || (0..=0xFFFF_FFFF).contains(epoch);
        match read {
            Ok(moment) if in_range(&moment) => {
                ticks.push(if fractions { moment.0 * 1_000_000 + moment.1 } else { moment.0 });
                valid.push(true);
            }
            Err(Failure::Specifier(letter)) => {
                let message = format!("parseDateTime with %{letter} is not supported");
                // Those that ClickHouse knows, and reads as little.
                let is_known = matches!(letter, 'v' | 'x' | 'Q' | 'U' | 'X');
                let code = if is_known { ErrorCode::NOT_IMPLEMENTED } else { ErrorCode::BAD_ARGUMENTS };
                return Err(FunctionError::new(code, message));
            }
            _ if otherwise == Otherwise::Error => {
                let message = format!("cannot parse '{}' by the format '{}'", texts.get(row), template(row));
                return Err(FunctionError::new(ErrorCode::CANNOT_PARSE_DATETIME, message));
            }
            _ => {
                ticks.push(0);
                valid.push(false);
            }
        }
    }
    let made = from_ticks(Int64Array::from(ticks), result);
    if otherwise == Otherwise::Null { with_nulls(&made, &valid.into()) } else { Ok(made) }
}

fn function(name: &'static str, otherwise: Otherwise, fractions: bool) -> ScalarFunction {
    let rule = move |args: &[ArgType]| {
        takes_text(name, 2, ColumnType::String)(args)?;
        let time_zone = zone_argument(args, 2)?;
        let time = match fractions {
            true => ColumnType::DateTime64 { precision: 6, time_zone },
            false => ColumnType::DateTime { time_zone },
        };
        Ok(if otherwise == Otherwise::Null { time.nullable() } else { time })
    };
    ScalarFunction::new(name, 1..=3, rule, move |call| parsed(call, otherwise))
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        function("parseDateTime", Otherwise::Error, false).any_case().aliases(&["TO_UNIXTIME"]).doc(
            "parseDateTime(text, format[, zone])",
            "A DateTime read by MySQL's specifiers.",
            "parseDateTime('04/01/2021', '%d/%m/%Y') -> 2021-01-04 00:00:00",
        ),
        function("parseDateTimeOrNull", Otherwise::Null, false).any_case().aliases(&["str_to_date"]).doc(
            "parseDateTimeOrNull(text, format[, zone])",
            "As parseDateTime; NULL where the text does not fit.",
            "parseDateTimeOrNull('?', '%Y') -> NULL",
        ),
        function("parseDateTimeOrZero", Otherwise::Zero, false).doc(
            "parseDateTimeOrZero(text, format[, zone])",
            "As parseDateTime; the epoch where the text does not fit.",
            "parseDateTimeOrZero('?', '%Y') -> 1970-01-01 00:00:00",
        ),
        function("parseDateTime64", Otherwise::Error, true).doc(
            "parseDateTime64(text, format[, zone])",
            "A DateTime64(6) read by MySQL's specifiers.",
            "parseDateTime64('2021-01-04 01:02:03.5', '%Y-%m-%d %H:%i:%s.%f') -> 2021-01-04 01:02:03.500000",
        ),
        function("parseDateTime64OrNull", Otherwise::Null, true).doc(
            "parseDateTime64OrNull(text, format[, zone])",
            "As parseDateTime64; NULL where the text does not fit.",
            "parseDateTime64OrNull('?', '%Y') -> NULL",
        ),
        function("parseDateTime64OrZero", Otherwise::Zero, true).doc(
            "parseDateTime64OrZero(text, format[, zone])",
            "As parseDateTime64; the epoch where the text does not fit.",
            "parseDateTime64OrZero('?', '%Y')",
        ),
    ]
}
