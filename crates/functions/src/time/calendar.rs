//! The proleptic Gregorian calendar over days since 1970-01-01, in the 32 bits that columns of dates have.
//!
//! Invariant: `days_of` and `date_of` are `model::calendar`'s, and inverse for every valid date. Must not know: time zones,
//! arrays.

use model::calendar;

pub(crate) const SECONDS_PER_DAY: i64 = 86_400;

/// A date by its parts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Date {
    pub year: i32,
    /// 1..=12.
    pub month: i32,
    /// 1..=31.
    pub day: i32,
}

/// Days since 1970-01-01 of a date; a day past the end of its month runs on into the next.
#[inline]
pub(crate) fn days_of(year: i32, month: i32, day: i32) -> i32 {
    narrow(calendar::days_of(i64::from(year), i64::from(month), i64::from(day)))
}

/// The last day with a date of its own; those behind it have the same one.
const DAYS_MAX: i32 = i32::MAX - 719_468;

/// The date that many days after 1970-01-01.
#[inline]
pub(crate) fn date_of(days: i32) -> Date {
    let (year, month, day) = calendar::civil_of(i64::from(days.min(DAYS_MAX)));
    Date { year: narrow(year), month: narrow(month), day: narrow(day) }
}

#[inline]
pub(crate) fn days_in_month(year: i32, month: i32) -> i32 {
    narrow(calendar::days_in_month(i64::from(year), i64::from(month)))
}

/// Dates of days in 32 bits have parts in 32 bits; days of years far beyond them wrap.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "ClickHouse's days wrap")]
fn narrow(number: i64) -> i32 {
    number as i32
}

/// 1 is Monday, 7 is Sunday.
pub(crate) fn day_of_week(days: i32) -> i32 {
    (days + 3).rem_euclid(7) + 1
}

/// From 1.
pub(crate) fn day_of_year(days: i32) -> i32 {
    days - days_of(date_of(days).year, 1, 1) + 1
}

pub(crate) fn monday(days: i32) -> i32 {
    days - (days + 3).rem_euclid(7)
}

/// Years beyond which no type has dates; sums stop there, so that they stay in their integers.
const YEAR_MAX: i32 = 9999;

/// That many months later, on the last day of the month where the day does not exist.
pub(crate) fn add_months(days: i32, months: i64) -> i32 {
    let date = date_of(days);
    let index = (i64::from(date.year) * 12 + i64::from(date.month - 1)).saturating_add(months);
    let limit = if months > 0 { YEAR_MAX } else { -YEAR_MAX };
    let year = i32::try_from(index.div_euclid(12)).unwrap_or(limit).clamp(-YEAR_MAX, YEAR_MAX);
    let month = i32::try_from(index.rem_euclid(12)).unwrap_or(0) + 1;
    days_of(year, month, date.day.min(days_in_month(year, month)))
}

/// ISO 8601 year and week of a day.
pub(crate) fn iso_week(days: i32) -> (i32, i32) {
    // The week belongs to the year its Thursday is in.
    let thursday = monday(days) + 3;
    let year = date_of(thursday).year;
    (year, (thursday - days_of(year, 1, 1)) / 7 + 1)
}

/// Months from January of year 0.
pub(crate) fn month_index(days: i32) -> i64 {
    let date = date_of(days);
    i64::from(date.year) * 12 + i64::from(date.month) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_days_are_inverse() {
        for days in (-800_000..800_000).step_by(37) {
            let date = date_of(days);
            assert_eq!(days_of(date.year, date.month, date.day), days);
            assert!(date.day >= 1 && date.day <= days_in_month(date.year, date.month), "{date:?}");
        }
        assert_eq!(date_of(0), Date { year: 1970, month: 1, day: 1 });
        assert_eq!(days_of(2020, 2, 30), days_of(2020, 3, 1));
    }

    #[test]
    fn weeks_follow_iso() {
        assert_eq!(iso_week(days_of(2021, 1, 3)), (2020, 53));
        assert_eq!(iso_week(days_of(2018, 12, 31)), (2019, 1));
        assert_eq!(day_of_week(days_of(2024, 2, 29)), 4);
        assert_eq!(day_of_year(days_of(2024, 12, 31)), 366);
    }

    #[test]
    fn months_stop_at_the_last_day() {
        assert_eq!(add_months(days_of(2024, 1, 31), 1), days_of(2024, 2, 29));
        assert_eq!(add_months(days_of(2024, 1, 31), -2), days_of(2023, 11, 30));
        assert_eq!(date_of(add_months(days_of(2024, 1, 1), i64::MAX)).year, YEAR_MAX);
        assert_eq!(date_of(add_months(days_of(2024, 1, 1), i64::MIN)).year, -YEAR_MAX);
        assert_eq!(date_of(add_months(days_of(2024, 1, 1), 12_000_000_000)).year, YEAR_MAX);
    }
}
