//! Whose turn it is to have what is too old deleted, and who is not to have it.
//!
//! Invariant: a table that nobody has seen is due. Must not know: what is too old, and how it goes.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use model::TableId;
use parking_lot::Mutex;

/// Turns of tables with a TTL. Empty when the process begins.
#[derive(Debug, Default)]
pub struct Expiries {
    turns: Mutex<Turns>,
}

#[derive(Debug, Default)]
struct Turns {
    /// Until when a table is left alone.
    resting: HashMap<TableId, Duration>,
    all_stopped: bool,
    stopped: HashSet<TableId>,
}

impl Expiries {
    /// SYSTEM STOP TTL MERGES: of one table, or of all.
    pub fn stop(&self, table: Option<TableId>) {
        let mut turns = self.turns.lock();
        match table {
            None => turns.all_stopped = true,
            Some(table) => {
                turns.stopped.insert(table);
            }
        }
    }

    /// SYSTEM START TTL MERGES.
    pub fn start(&self, table: Option<TableId>) {
        let mut turns = self.turns.lock();
        match table {
            None => {
                turns.all_stopped = false;
                turns.stopped.clear();
            }
            Some(table) => {
                turns.stopped.remove(&table);
            }
        }
    }

    /// Whether a table is not to have its turn.
    pub fn is_stopped(&self, table: TableId) -> bool {
        let turns = self.turns.lock();
        turns.all_stopped || turns.stopped.contains(&table)
    }

    /// Whether a table is due at `now`, and may have its turn.
    pub fn is_due(&self, table: TableId, now: Duration) -> bool {
        !self.is_stopped(table) && self.turns.lock().resting.get(&table).is_none_or(|until| *until <= now)
    }

    /// Leaves a table alone for a while.
    pub fn rest(&self, table: TableId, until: Duration) {
        self.turns.lock().resting.insert(table, until);
    }

    /// Forgets tables that are gone.
    pub fn retain(&self, is_live: impl Fn(TableId) -> bool) {
        let mut turns = self.turns.lock();
        turns.resting.retain(|table, _| is_live(*table));
        turns.stopped.retain(|table| is_live(*table));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_due_until_it_rests_or_is_stopped() {
        let (expiries, a, b) =
            (Expiries::default(), TableId::from_bytes([1; 16]), TableId::from_bytes([2; 16]));
        let second = Duration::from_secs(1);
        assert!(expiries.is_due(a, Duration::ZERO));
        expiries.rest(a, second);
        assert!(!expiries.is_due(a, Duration::ZERO) && expiries.is_due(a, second));
        expiries.stop(None);
        expiries.start(Some(a));
        assert!(!expiries.is_due(a, second));
        expiries.start(None);
        expiries.stop(Some(b));
        assert!(expiries.is_due(a, second) && !expiries.is_due(b, second));
        expiries.retain(|id| id == a);
        assert!(expiries.is_due(b, second));
    }
}
