//! The calendar: days since 1970-01-01, and their years, months and days of the month.
//!
//! Invariant: proleptic Gregorian, and [`days_of`] and [`civil_of`] are inverse for every date. The derivations are Howard
//! Hinnant's `days_from_civil` and `civil_from_days` ("chrono-Compatible Low-Level Date Algorithms", public domain): years
//! begin in March, so that the leap day is the last of its year, and 400 years, an era, are always 146097 days.
//! Must not know: time zones, which are `zone`'s, clocks, the ranges of types.

pub mod zone;

pub mod best_effort;

pub mod date_text;

pub mod schedule;

pub mod names;

/// Days of 400 years.
const ERA_DAYS: i64 = 146_097;

/// Days from the 1st of March of year 0 to 1970-01-01. [`civil_of`] counts from there: a day is to leave room for them.
pub const DAYS_BEFORE_1970: i64 = 719_468;

/// Days since 1970-01-01 of a date; `month` is 1..=12. A day beyond the end of its month runs on into the next.
#[inline]
pub const fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * ERA_DAYS + day_of_era - DAYS_BEFORE_1970
}

/// [`days_of`] for years of up to four digits, in narrow unsigned numbers, whose divisions are multiplications. Counts from
/// [`COMMON_ERA_EPOCH`].
#[inline]
pub const fn days_of_common_era(year: u32, month: u32, day: u32) -> u32 {
    // 400 years later, so that nothing is below zero.
    let (year, month_from_march) = if month <= 2 { (year + 399, month + 9) } else { (year + 400, month - 3) };
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month_from_march + 2) / 5 + day - 1
}

/// What [`days_of_common_era`] gives for 1970-01-01.
pub const COMMON_ERA_EPOCH: i64 = DAYS_BEFORE_1970 + ERA_DAYS;

/// Year, month (1..=12) and day of the month (1..=31) of a day since 1970-01-01.
#[inline]
pub const fn civil_of(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_BEFORE_1970;
    let era = days.div_euclid(ERA_DAYS);
    let day_of_era = days.rem_euclid(ERA_DAYS);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400;
    (if month <= 2 { year + 1 } else { year }, month, day)
}

/// Days of the month; `month` is 1..=12.
#[inline]
pub const fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse() {
        for days in (-800_000..800_000).step_by(97) {
            let (year, month, day) = civil_of(days);
            assert_eq!(days_of(year, month, day), days);
            assert!((1..=days_in_month(year, month)).contains(&day));
        }
        let narrow = |number: i64| u32::try_from(number).unwrap();
        for days in days_of(0, 1, 1)..=days_of(9999, 12, 31) {
            let (year, month, day) = civil_of(days);
            let counted = days_of_common_era(narrow(year), narrow(month), narrow(day));
            assert_eq!(i64::from(counted) - COMMON_ERA_EPOCH, days, "{year}-{month}-{day}");
        }
        assert_eq!(civil_of(0), (1970, 1, 1));
        assert_eq!(civil_of(65_535), (2149, 6, 6));
        assert_eq!(days_of(2020, 2, 30), days_of(2020, 3, 1));
    }
}
