//! Time zones over seconds since the epoch, fast for UTC and for rows that are near each other.
//!
//! Invariant: `to_epoch(to_local(t)) == t` except in the hour a zone repeats. Must not know: arrays.

use std::cell::Cell;

use chrono::{DateTime, LocalResult, NaiveDateTime, Offset, TimeZone};
use chrono_tz::Tz;
use model::calendar::zone::familiar;

use crate::time::calendar::{SECONDS_PER_DAY, days_of};

/// A zone with a memory of the last day asked about; made per kernel call, not shared between threads.
pub(crate) struct Zone {
    tz: Tz,
    is_utc: bool,
    /// A day number (UTC) in which the offset does not change, and that offset.
    day: Cell<Option<(i64, i64)>>,
    whole_hours: Cell<Option<bool>>,
}

impl Zone {
    /// The IANA name.
    pub(crate) fn name(&self) -> &'static str {
        self.tz.name()
    }

    pub(crate) fn new(tz: Tz) -> Self {
        let is_utc = matches!(tz, Tz::UTC | Tz::Etc__UTC | Tz::GMT | Tz::Etc__GMT | Tz::Zulu | Tz::UCT);
        Self { tz, is_utc, day: Cell::new(None), whole_hours: Cell::new(None) }
    }

    /// Seconds to add to UTC at that moment.
    pub(crate) fn offset_at(&self, epoch: i64) -> i64 {
        if self.is_utc {
            return 0;
        }
        let day = epoch.div_euclid(SECONDS_PER_DAY);
        if let Some((known, offset)) = self.day.get()
            && known == day
        {
            return offset;
        }
        let start = self.offset_found(day * SECONDS_PER_DAY);
        if start == self.offset_found(day * SECONDS_PER_DAY + SECONDS_PER_DAY - 1) {
            self.day.set(Some((day, start)));
            return start;
        }
        self.offset_found(epoch)
    }

    fn offset_found(&self, epoch: i64) -> i64 {
        let Some(utc) = naive(familiar(epoch)) else { return 0 };
        i64::from(self.tz.offset_from_utc_datetime(&utc).fix().local_minus_utc())
    }

    /// Whether the zone is whole hours off UTC in all the years of DateTime.
    pub(crate) fn has_whole_hours(&self) -> bool {
        // Any offset lasts for a month at least, or nearly so.
        const STEP: usize = 30;
        let known = self.whole_hours.get();
        let whole = known.unwrap_or_else(|| {
            let days = (0..i64::from(days_of(2038, 1, 1))).step_by(STEP);
            self.is_utc
                || days.map(|day| self.offset_found(day * SECONDS_PER_DAY)).all(|offset| offset % 3600 == 0)
        });
        self.whole_hours.set(Some(whole));
        whole
    }

    /// Seconds since the epoch as a clock on the wall would count them.
    pub(crate) fn to_local(&self, epoch: i64) -> i64 {
        epoch + self.offset_at(epoch)
    }

    /// The moment a wall clock shows that time: the first of two; in a gap, read with the offset after it.
    pub(crate) fn to_epoch(&self, local: i64) -> i64 {
        if self.is_utc {
            return local;
        }
        let moved = familiar(local);
        if moved != local {
            return self.to_epoch(moved) - (moved - local);
        }
        let guess = local - self.offset_at(local);
        let exact = local - self.offset_at(guess);
        if exact == guess && self.steady_near(guess) {
            return guess;
        }
        let Some(wall) = naive(local) else { return exact };
        match self.tz.offset_from_local_datetime(&wall) {
            LocalResult::Single(offset) => local - i64::from(offset.fix().local_minus_utc()),
            LocalResult::Ambiguous(first, _) => local - i64::from(first.fix().local_minus_utc()),
            // In a gap the wall time does not exist; ClickHouse reads it with the offset after the gap.
            LocalResult::None => local - self.offset_found(local + SECONDS_PER_DAY / 2),
        }
    }

    /// The first moment at which a wall clock shows that time or a later one: a day without a midnight starts
    /// where the gap ends.
    pub(crate) fn first_at(&self, local: i64) -> i64 {
        let epoch = self.to_epoch(local);
        let missing = local - self.to_local(epoch);
        if missing <= 0 {
            return epoch;
        }
        let (mut before, mut behind) = (epoch, epoch + missing);
        while behind - before > 1 {
            let middle = before + (behind - before) / 2;
            if self.to_local(middle) >= local { behind = middle } else { before = middle }
        }
        behind
    }

    /// No change of the offset within a quarter of a day, so a local time there is unambiguous.
    fn steady_near(&self, epoch: i64) -> bool {
        const REACH: i64 = SECONDS_PER_DAY / 4;
        let day = epoch.div_euclid(SECONDS_PER_DAY);
        let within = |t: i64| t.div_euclid(SECONDS_PER_DAY) == day;
        if within(epoch - REACH)
            && within(epoch + REACH)
            && self.day.get().is_some_and(|(known, _)| known == day)
        {
            return true;
        }
        self.offset_found(epoch - REACH) == self.offset_found(epoch + REACH)
    }
}

fn naive(epoch: i64) -> Option<NaiveDateTime> {
    DateTime::from_timestamp(epoch, 0).map(|moment| moment.naive_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_time_goes_and_comes_back() {
        for tz in
            [Tz::UTC, Tz::Europe__Paris, Tz::America__New_York, Tz::Asia__Kolkata, Tz::Australia__Lord_Howe]
        {
            let zone = Zone::new(tz);
            for epoch in (1_577_836_800..1_609_459_200_i64).step_by(7_213) {
                let back = zone.to_epoch(zone.to_local(epoch));
                assert!(back == epoch || (epoch - back).abs() <= 3600, "{tz} {epoch} {back}");
            }
        }
    }

    #[test]
    fn gaps_and_folds() {
        let paris = Zone::new(Tz::Europe__Paris);
        // 2020-03-29 02:30 does not exist, 2020-10-25 02:30 exists twice.
        assert_eq!(paris.to_epoch(1_585_449_000), 1_585_441_800);
        assert_eq!(paris.to_epoch(1_603_593_000), 1_603_585_800);
        assert_eq!(paris.first_at(1_585_449_000), 1_585_443_600);
        assert_eq!(paris.first_at(1_603_593_000), 1_603_585_800);
        // In São Paulo 2018-11-04 started at one o'clock.
        assert_eq!(Zone::new(Tz::America__Sao_Paulo).first_at(1_541_289_600), 1_541_300_400);
    }
}
