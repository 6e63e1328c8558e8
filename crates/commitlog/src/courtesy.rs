//! Whether this writer lets others of its log go first, because one of them never gets its turn.
//!
//! Whoever is nearest to the end of the log knows what the next record must name, and the others hear of it a request later: they
//! would lose for as long as he has something to append. Invariant: it costs time and nothing else. Must not know: who asked, and how.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Shared by the writer and by whoever hears others.
#[derive(Debug, Default)]
pub struct Courtesy {
    /// On the monotonic clock, microseconds.
    until: AtomicU64,
}

impl Courtesy {
    /// Lets others go first up to this time of the monotonic clock.
    pub fn extend(&self, until: Duration) {
        self.until.fetch_max(u64::try_from(until.as_micros()).unwrap_or(u64::MAX), Ordering::AcqRel);
    }

    pub(crate) fn lasts(&self, now: Duration) -> bool {
        now.as_micros() < self.until.load(Ordering::Acquire).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lasts_as_long_as_the_longest_that_was_asked_for() {
        let courtesy = Courtesy::default();
        assert!(!courtesy.lasts(Duration::ZERO));
        courtesy.extend(Duration::from_secs(9));
        courtesy.extend(Duration::from_secs(5));
        assert!(courtesy.lasts(Duration::from_secs(8)) && !courtesy.lasts(Duration::from_secs(9)));
    }
}
