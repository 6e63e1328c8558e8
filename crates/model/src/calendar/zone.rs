//! The ranges of dates and times, and time zones.
//!
//! Invariant: proleptic Gregorian calendar, seconds since 1970-01-01 UTC. A local time that a zone skips or has twice
//! is resolved as ClickHouse resolves it. Must not know: the present time.

use super::{civil_of, days_of};
use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::Tz;

/// Seconds of a day without a change of clocks.
pub const DAY_SECONDS: i64 = 86_400;

/// First and last day ClickHouse's `Date` can hold, and those of `Date32`.
pub const DATE_DAYS: (i64, i64) = (0, 65_535);
pub const DATE32_DAYS: (i64, i64) = (days_of(0, 1, 1), days_of(9999, 12, 31));
/// Last second of a `DateTime`, 2106-02-07 06:28:15 UTC.
pub const DATE_TIME_SECONDS_MAX: i64 = 4_294_967_295;

/// The last year whose changes of clocks the tables of zones list.
const LAST_LISTED_YEAR: i64 = 2099;

/// The same moment of the year in the last listed year that has the same days of the week: rules of summer time go on.
pub fn familiar(utc: i64) -> i64 {
    let (year, ..) = civil_of(utc.div_euclid(DAY_SECONDS));
    if year <= LAST_LISTED_YEAR {
        return utc;
    }
    let start = |year: i64| days_of(year, 1, 1);
    let same = |other: &i64| {
        (start(*other) - start(year)) % 7 == 0
            && start(other + 1) - start(*other) == start(year + 1) - start(year)
    };
    let other = (LAST_LISTED_YEAR - 27..=LAST_LISTED_YEAR).rev().find(same).unwrap_or(LAST_LISTED_YEAR);
    utc + (start(other) - start(year)) * DAY_SECONDS
}

/// A time zone that remembers the offset of the day it was asked for last.
#[derive(Clone, Debug)]
pub struct Zone {
    /// `None` is UTC.
    tz: Option<Tz>,
    /// Offset in seconds that holds for UTC seconds in `from..to`.
    from: i64,
    to: i64,
    offset: i64,
}

impl Zone {
    /// The zone without rules.
    pub fn utc() -> Zone {
        Zone { tz: None, from: 0, to: 0, offset: 0 }
    }

    /// An IANA name; `None` when there is no such zone.
    pub fn named(name: &str) -> Option<Zone> {
        match name {
            "" | "UTC" | "Etc/UTC" | "Z" => Some(Zone::utc()),
            _ => Some(Zone { tz: Some(name.parse().ok()?), ..Zone::utc() }),
        }
    }

    fn offset_now(tz: Tz, utc: i64) -> i64 {
        // Beyond chrono's years there are no zone rules; UTC is as good as anything.
        let Some(at) = DateTime::from_timestamp(familiar(utc), 0) else { return 0 };
        i64::from(tz.offset_from_utc_datetime(&at.naive_utc()).fix().local_minus_utc())
    }

    /// Seconds to add to UTC to get local time.
    pub fn offset_at(&mut self, utc: i64) -> i64 {
        let Some(tz) = self.tz else { return 0 };
        if utc >= self.from && utc < self.to {
            return self.offset;
        }
        let offset = Self::offset_now(tz, utc);
        let from = utc.div_euclid(DAY_SECONDS) * DAY_SECONDS;
        let to = from + DAY_SECONDS;
        if Self::offset_now(tz, from) == offset && Self::offset_now(tz, to) == offset {
            (self.from, self.to, self.offset) = (from, to, offset);
        }
        offset
    }

    /// UTC seconds of a local time.
    pub fn utc_of(&mut self, local: i64) -> i64 {
        let Some(tz) = self.tz else { return local };
        // Far enough inside the remembered range that no rule change is near.
        let guess = local - self.offset;
        if guess >= self.from && guess < self.to {
            return guess;
        }
        let midnight = local.div_euclid(DAY_SECONDS) * DAY_SECONDS;
        let start = Self::utc_of_midnight(tz, midnight);
        let end = Self::utc_of_midnight(tz, midnight + DAY_SECONDS);
        let (before, after) = (Self::offset_now(tz, start), Self::offset_now(tz, end));
        let elapsed = local - midnight;
        if before == after {
            self.offset_at(start + elapsed);
            return start + elapsed;
        }
        // The rules change on this day: count the seconds since its start, as ClickHouse does.
        let (mut low, mut high) = (start, end);
        while high - low > 1 {
            let middle = i64::midpoint(low, high);
            if Self::offset_now(tz, middle) == before { low = middle } else { high = middle }
        }
        if elapsed >= high - start { start + elapsed - (after - before) } else { start + elapsed }
    }

    fn utc_of_midnight(tz: Tz, local: i64) -> i64 {
        let first = local - Self::offset_now(tz, local);
        local - Self::offset_now(tz, first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_resolve_gaps_and_overlaps_as_clickhouse() {
        let mut berlin = Zone::named("Europe/Berlin").unwrap();
        let local = |month: i64, day: i64, hour: i64, minute: i64| {
            days_of(2020, month, day) * DAY_SECONDS + hour * 3600 + minute * 60
        };
        for (local_time, offset) in [
            (local(1, 15, 12, 0), 3600),
            (local(7, 15, 12, 0), 7200),
            (local(3, 29, 1, 59), 3600),
            (local(3, 29, 2, 30), 7200),
            (local(3, 29, 3, 0), 7200),
            (local(10, 25, 2, 30), 7200),
            (local(10, 25, 3, 0), 3600),
        ] {
            assert_eq!(berlin.utc_of(local_time), local_time - offset);
        }
        assert_eq!(berlin.offset_at(0), 3600);
        assert!(Zone::named("Mars/Olympus").is_none());
    }
}
