//! Time as the database sees it.
//!
//! Invariant: `monotonic` never goes back within one process; `now_ms` may (people set clocks), so durations
//! are always differences of `monotonic`.
#![expect(clippy::disallowed_methods, reason = "this file is the door through which time comes in")]

use crate::at_length::at_length;
use std::fmt::Debug;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where time comes from.
pub trait Clock: Send + Sync + Debug {
    /// Wall clock, milliseconds since 1970-01-01 UTC. For people and for records, not for measuring.
    fn now_ms(&self) -> u64;
    /// Time since an arbitrary fixed point; only differences mean something.
    fn monotonic(&self) -> Duration;
    /// Blocks the calling thread. In a simulation only the simulated clock moves.
    fn sleep(&self, duration: Duration);
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// A clock whose monotonic zero is now.
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        // A clock set before 1970 reads as 1970: wrong either way, and no caller can do better.
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    fn sleep(&self, duration: Duration) {
        at_length(|| std::thread::sleep(duration));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monotonic_does_not_go_back() {
        let clock = SystemClock::new();
        let first = clock.monotonic();
        clock.sleep(Duration::from_millis(1));
        assert!(clock.monotonic() >= first + Duration::from_millis(1));
        assert!(clock.now_ms() > 1_600_000_000_000, "the wall clock is in this century");
    }
}
