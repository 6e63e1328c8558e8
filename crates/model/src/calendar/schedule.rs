//! When something is due that is done again and again.
//!
//! Invariant: moments are seconds of UTC since 1970; the slots of a clock are the same whoever asks, and whenever it was
//! first asked. Must not know: what is done.

use super::{civil_of, days_in_month, days_of};

/// A length of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Period {
    Seconds(u64),
    /// Of the calendar: their length depends on where they begin.
    Months(u32),
}

/// Slots of seconds are counted from Monday, 29 December 1969, so that those of a week begin on Mondays.
const FIRST_MONDAY: i64 = -3 * DAY;
const DAY: i64 = 86_400;

impl Period {
    pub fn is_zero(self) -> bool {
        matches!(self, Period::Seconds(0) | Period::Months(0))
    }

    /// Where the slot begins that a moment lies in. Of months they begin with January of 1970.
    pub fn floor(self, at: i64) -> i64 {
        match self {
            Period::Seconds(0) | Period::Months(0) => at,
            Period::Seconds(seconds) => {
                let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
                at - (at - FIRST_MONDAY).rem_euclid(seconds)
            }
            Period::Months(months) => {
                let (year, month, _) = civil_of(at.div_euclid(DAY));
                let since_1970 = (year - 1970) * 12 + month - 1;
                let first = since_1970 - since_1970.rem_euclid(i64::from(months));
                days_of(1970 + first.div_euclid(12), first.rem_euclid(12) + 1, 1) * DAY
            }
        }
    }

    /// The moment one such length behind another one. A day that the month has not is its last one.
    pub fn after(self, at: i64) -> i64 {
        match self {
            Period::Seconds(seconds) => at.saturating_add(i64::try_from(seconds).unwrap_or(i64::MAX)),
            Period::Months(months) => {
                let (year, month, day) = civil_of(at.div_euclid(DAY));
                let then = (year * 12 + month - 1).saturating_add(i64::from(months));
                let (year, month) = (then.div_euclid(12), then.rem_euclid(12) + 1);
                days_of(year, month, day.min(days_in_month(year, month))) * DAY + at.rem_euclid(DAY)
            }
        }
    }

    /// About how many seconds it lasts.
    pub fn seconds(self) -> u64 {
        match self {
            Period::Seconds(seconds) => seconds,
            Period::Months(months) => u64::from(months) * 30 * 86_400,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap().and_utc().timestamp()
    }

    #[test]
    fn slots_begin_where_a_calendar_has_them() {
        for (period, moment, begin, next) in [
            (Period::Seconds(1), "2026-11-27 17:42:21", "2026-11-27 17:42:21", "2026-11-27 17:42:22"),
            (Period::Seconds(5_400), "2026-11-27 17:42:21", "2026-11-27 16:30:00", "2026-11-27 18:00:00"),
            (Period::Seconds(86_400), "2026-11-27 17:42:21", "2026-11-27 00:00:00", "2026-11-28 00:00:00"),
            (
                Period::Seconds(7 * 86_400),
                "2026-11-27 17:42:21",
                "2026-11-23 00:00:00",
                "2026-11-30 00:00:00",
            ),
            (Period::Seconds(86_400), "1969-12-31 23:59:59", "1969-12-31 00:00:00", "1970-01-01 00:00:00"),
            (Period::Months(1), "2026-11-27 17:42:21", "2026-11-01 00:00:00", "2026-12-01 00:00:00"),
            (Period::Months(3), "2026-11-27 17:42:21", "2026-10-01 00:00:00", "2027-01-01 00:00:00"),
            (Period::Months(12), "2026-11-27 17:42:21", "2026-01-01 00:00:00", "2027-01-01 00:00:00"),
            (Period::Months(5), "1969-11-27 00:00:00", "1969-08-01 00:00:00", "1970-01-01 00:00:00"),
        ] {
            let begun = period.floor(at(moment));
            assert_eq!((begun, period.after(begun)), (at(begin), at(next)), "{period:?} of {moment}");
        }
        assert_eq!(Period::Months(1).after(at("2026-01-31 10:00:00")), at("2026-02-28 10:00:00"));
    }
}
