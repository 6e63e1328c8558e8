//! How long a task computes before others have their turn.
//!
//! Invariant: a turn begins when it is first asked about, and again after each end. Must not know: what is computed.

use std::time::Duration;

use crate::clock::{Clock, SystemClock};

/// Short beside what anybody notices, long beside a switch of tasks.
const TURN: Duration = Duration::from_millis(5);

/// How long a task has been computing without awaiting anything.
#[derive(Debug, Default)]
pub struct Turn {
    began: Option<SystemClock>,
}

impl Turn {
    /// Whether it has lasted long enough.
    pub fn is_over(&mut self) -> bool {
        self.began.get_or_insert_with(SystemClock::new).monotonic() > TURN
    }

    /// The task waits for something: its next turn begins when it goes on.
    pub fn end(&mut self) {
        self.began = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_ends_and_the_next_one_is_new() {
        let mut turn = Turn::default();
        assert!(!turn.is_over());
        SystemClock::new().sleep(TURN * 2);
        assert!(turn.is_over());
        turn.end();
        assert!(!turn.is_over());
    }
}
