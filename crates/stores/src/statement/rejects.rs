//! Rows of files that were skipped because they could not be read.
//!
//! Invariant: what one statement keeps is bounded; the count is of all of them. Must not know: what a bad row is.

use std::sync::atomic::{AtomicU64, Ordering};

use formats::RejectedRow;
use parking_lot::Mutex;

/// Rows one statement keeps.
const KEPT_MAX: usize = 1000;

/// A skipped row, and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reject {
    /// Path of the file; empty for rows that came with the statement.
    pub file: String,
    pub row: RejectedRow,
}

/// The skipped rows of one statement, shared by its streams.
#[derive(Debug, Default)]
pub struct Rejects {
    kept: Mutex<Vec<Reject>>,
    rows: AtomicU64,
}

impl Rejects {
    /// Adds `count` rows of a file, of which `rows` are known.
    pub fn add(&self, file: &str, rows: Vec<RejectedRow>, count: u64) {
        self.rows.fetch_add(count, Ordering::Relaxed);
        if rows.is_empty() {
            return;
        }
        let mut kept = self.kept.lock();
        let room = KEPT_MAX.saturating_sub(kept.len());
        kept.extend(rows.into_iter().take(room).map(|row| Reject { file: file.to_owned(), row }));
    }

    /// All rows skipped.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Those kept, in the order they were met.
    pub fn take(&self) -> Vec<Reject> {
        std::mem::take(&mut self.kept.lock())
    }
}

#[cfg(test)]
mod tests {
    use model::ErrorCode;

    use super::*;

    #[test]
    fn a_statement_keeps_the_first_thousand() {
        let rejects = Rejects::default();
        let row = |row| RejectedRow {
            row,
            position: 0,
            column: None,
            code: ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
            message: String::new(),
            text: String::new(),
        };
        rejects.add("a", (1..=900).map(row).collect(), 900);
        rejects.add("b", (1..=900).map(row).collect(), 5000);
        let kept = rejects.take();
        assert_eq!((rejects.rows(), kept.len()), (5900, 1000));
        assert_eq!(kept.last().map(|last| (last.file.as_str(), last.row.row)), Some(("b", 100)));
    }
}
