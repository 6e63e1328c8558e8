//! When a reader tries to split rows the quick way.
//!
//! Invariant: rows that are never quick cost no more than a few attempts in a hundred. Must not know: any format.

use crate::rows::split::{Room, SplitRows, Taken};
use crate::values::cell::Cell;

/// Rows at most between two attempts.
const SLOW_ROWS_MAX: u32 = 64;

/// How the last attempts went.
#[derive(Default)]
pub(super) struct Pace {
    /// Rows to split one by one before the next attempt.
    slow_left: u32,
    /// As many after the next attempt that finds none.
    slow_next: u32,
}

impl Pace {
    /// Quick rows at `at`, if it is time to look for them.
    pub(super) fn take<'a, S: SplitRows>(
        &mut self,
        rows: &mut S,
        bytes: &'a [u8],
        at: usize,
        room: Room,
        cells: &mut Vec<Cell<'a>>,
    ) -> Option<Taken> {
        if self.slow_left > 0 {
            self.slow_left -= 1;
            return None;
        }
        let taken = rows.quick_rows(bytes, at, room, cells);
        if taken.rows > 0 {
            self.slow_next = 0;
            return Some(taken);
        }
        self.slow_left = self.slow_next;
        self.slow_next = (2 * self.slow_next + 1).min(SLOW_ROWS_MAX);
        None
    }
}
