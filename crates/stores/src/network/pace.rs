//! How long a body may stay silent, and how slow it may be.
//!
//! A total limit would break large answers on slow lines, a limit on silence alone would wait for hours on a server
//! that sends a byte a second. So there are both: silence, and a floor of bytes in each window.
//!
//! Invariant: a body that brings less than [`FLOOR_BYTES_PER_SECOND`] is given up within one window; one that brings
//! more never is. Pure: it is told the time. Must not know: what the bytes are.

use std::time::Duration;

use model::saturating::{millis_of, u64_of};

/// Slower than this nobody is served, and another connection may be faster.
const FLOOR_BYTES_PER_SECOND: u64 = 2048;

#[derive(Clone, Debug)]
pub(crate) struct Pace {
    silence_max: Duration,
    window: Duration,
    window_began: Duration,
    window_bytes: u64,
}

impl Pace {
    pub(crate) fn new(silence_max: Duration, window: Duration, now: Duration) -> Pace {
        Pace { silence_max, window, window_began: now, window_bytes: 0 }
    }

    /// How long the next piece may take.
    pub(crate) fn patience(&self, now: Duration) -> Duration {
        self.silence_max.min((self.window_began + self.window).saturating_sub(now))
    }

    pub(crate) fn arrived(&mut self, bytes: usize, now: Duration) {
        self.window_bytes += u64_of(bytes);
        if self.window_bytes >= self.floor() {
            (self.window_began, self.window_bytes) = (now, 0);
        }
    }

    fn floor(&self) -> u64 {
        let window_ms = millis_of(self.window);
        (window_ms.saturating_mul(FLOOR_BYTES_PER_SECOND) / 1000).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds until a body that brings `bytes` every `every_ms` is given up, if it is within ten minutes.
    fn given_up_after(bytes: usize, every_ms: u64) -> Option<u64> {
        let mut pace = Pace::new(Duration::from_secs(5), Duration::from_secs(30), Duration::ZERO);
        let (mut now, every) = (Duration::ZERO, Duration::from_millis(every_ms));
        while now < Duration::from_secs(600) {
            let patience = pace.patience(now);
            if patience < every {
                return Some((now + patience).as_secs());
            }
            now += every;
            pace.arrived(bytes, now);
        }
        None
    }

    #[test]
    fn silence_and_dribble_end_and_slow_lines_do_not() {
        assert_eq!(given_up_after(1 << 20, 6000), Some(5), "silent");
        assert_eq!(given_up_after(1024, 1000), Some(30), "1 kB/s");
        assert_eq!(given_up_after(1, 10), Some(30), "a byte at a time");
        assert_eq!(given_up_after(4096, 1000), None, "4 kB/s");
        assert_eq!(given_up_after(64 << 10, 4000), None, "in lumps");
    }
}
