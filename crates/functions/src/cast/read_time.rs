//! Text -> dates and times: ClickHouse's basic date reader, and its best-effort reader in a zone.
//!
//! Invariant: pure over one value; results are wall-clock parts or moments, never clamped here.

use super::problem::Problem;
use crate::time::calendar::{SECONDS_PER_DAY, days_in_month, days_of};
use crate::time::zone::Zone;
use model::calendar::best_effort::{self, Habits, Unreadable, Written};

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
        && (fraction.is_empty()
            || fraction.len() > 1 && fraction[0] == b'.' && fraction[1..].iter().all(u8::is_ascii_digit))
}

/// A moment: seconds since the epoch and nanoseconds after them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    pub seconds: i64,
    pub nanos: i64,
}

/// Year, month and day of the month on which the query started: a date without a year is the last of that name.
pub(crate) type Today = (i64, i64, i64);

/// Reads a date and time in about any notation, as [`best_effort`] has it.
pub(crate) fn moment(text: &str, zone: &Zone, today: Today) -> Result<Moment, Problem> {
    written(text, zone, Habits { month_first: false, today: Some(today) })
}

/// As [`moment`], with the month before the day as in the United States where both are numbers.
pub(crate) fn moment_of_us(text: &str, zone: &Zone, today: Today) -> Result<Moment, Problem> {
    written(text, zone, Habits { month_first: true, today: Some(today) })
}

fn written(text: &str, zone: &Zone, habits: Habits) -> Result<Moment, Problem> {
    if let Some(moment) = plain_moment(text.as_bytes(), zone) {
        return Ok(moment);
    }
    match best_effort::read(text.as_bytes(), habits) {
        Ok(Written { seconds, nanos, offset }) => {
            let seconds = offset.map_or_else(|| zone.to_epoch(seconds), |offset| seconds - offset);
            Ok(Moment { seconds, nanos: i64::from(nanos) })
        }
        Err(Unreadable::Part(what)) => Err(Problem::DateTime(what)),
        Err(Unreadable::Rest(at)) => Err(Problem::Syntax(at)),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use chrono_tz::Tz;

    fn seconds(text: &str) -> Result<i64, Problem> {
        moment(text, &Zone::new(Tz::UTC), (2026, 11, 27)).map(|moment| moment.seconds)
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
