//! How often one store may be asked: `s3_max_get_rps`, `s3_max_put_rps` and their bursts.
//!
//! Invariant: over any span the requests let through are at most `burst + per_second * span`. Pure: it is told the
//! time and answers how long to wait. Must not know: who waits, what is asked.

use std::time::Duration;

/// A limit; `per_second` 0 means any number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Rate {
    pub per_second: u64,
    /// Requests let through at once; 0 means as many as in a second.
    pub burst: u64,
}

/// When the next request would be due if all were evenly spaced.
#[derive(Debug, Default)]
pub(crate) struct Spacing {
    due: Duration,
}

impl Spacing {
    /// Takes a place in the row; the answer is how long to wait for it. A place that is not used is lost.
    pub(crate) fn reserve(&mut self, now: Duration, rate: Rate) -> Duration {
        if rate.per_second == 0 {
            return Duration::ZERO;
        }
        let gap_nanos = 1_000_000_000 / rate.per_second;
        let burst = if rate.burst == 0 { rate.per_second } else { rate.burst };
        let ahead = Duration::from_nanos(gap_nanos.saturating_mul(burst.saturating_sub(1)));
        let wait = self.due.saturating_sub(now.saturating_add(ahead));
        self.due = self.due.max(now).saturating_add(Duration::from_nanos(gap_nanos));
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_the_rest_is_spaced() {
        for (per_second, burst, waits_ms) in [
            (0, 0, [0, 0, 0, 0, 0]),
            (10, 1, [0, 100, 200, 300, 400]),
            (10, 3, [0, 0, 0, 100, 200]),
            (2, 0, [0, 0, 500, 1000, 1500]),
        ] {
            let (mut spacing, now) = (Spacing::default(), Duration::from_secs(7));
            let rate = Rate { per_second, burst };
            let waits: Vec<u128> = (0..5).map(|_| spacing.reserve(now, rate).as_millis()).collect();
            assert_eq!(waits, waits_ms, "{per_second}/{burst}");
        }
    }

    #[test]
    fn silence_earns_one_burst_and_no_more() {
        let (mut spacing, rate) = (Spacing::default(), Rate { per_second: 10, burst: 2 });
        for second in [1, 100] {
            let now = Duration::from_secs(second);
            let waits: Vec<u128> = (0..4).map(|_| spacing.reserve(now, rate).as_millis()).collect();
            assert_eq!(waits, [0, 0, 100, 200]);
        }
    }
}
