//! When an answer tells how far its statement is.
//!
//! Invariant: whoever waits for rows is woken once in `interactive_delay`, and only in a format that tells. Must not know: writers.

use std::time::Duration;

use formats::{FormatKind, FormatSettings, OutputStats};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::progress::QueryProgress;

/// More often than this nobody looks.
const SHORTEST: Duration = Duration::from_millis(1);

/// The moments for lines of progress; none in formats that have no such lines.
pub struct Telling(Option<Interval>);

impl Telling {
    pub async fn new(kind: FormatKind, settings: &FormatSettings) -> Telling {
        if !kind.tells_progress() {
            return Telling(None);
        }
        let mut ticks = interval(settings.progress_every.max(SHORTEST));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first comes at once, when there is nothing to tell.
        ticks.tick().await;
        Telling(Some(ticks))
    }

    /// Waits for the next moment; may be dropped while it waits.
    pub async fn due(&mut self) {
        match &mut self.0 {
            Some(ticks) => drop(ticks.tick().await),
            None => std::future::pending().await,
        }
    }
}

impl QueryProgress {
    /// What a format may say of the statement, which began so long ago.
    pub fn told(&self, elapsed: Duration) -> OutputStats {
        OutputStats {
            rows_read: self.read_rows(),
            bytes_read: self.read_bytes(),
            rows_total: self.total_rows_approx(),
            elapsed,
            ..OutputStats::default()
        }
    }
}
