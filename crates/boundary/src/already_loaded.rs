//! What a statement answers that found its rows in the table already.
//!
//! Invariant: it says by what the statement was recognised, when its rows came, and how many they were; nobody has to
//! guess whether something was written.

use std::fmt;

use chrono::DateTime;

/// By what a statement was found to be a repetition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecognisedBy {
    /// WITH LABEL or `insert_label`.
    Label(String),
    /// `insert_deduplication_token`.
    Token(String),
    /// The same rows, in a table with a `non_replicated_deduplication_window`.
    Rows,
}

/// The statement that came first. This one has written nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AlreadyLoaded {
    pub by: RecognisedBy,
    /// When the first statement was committed, in milliseconds since the epoch.
    pub committed_ms: u64,
    /// What it wrote, and what this one therefore did not.
    pub rows: u64,
}

impl fmt::Display for AlreadyLoaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.by {
            RecognisedBy::Label(label) => write!(f, "Label '{label}' was already loaded")?,
            RecognisedBy::Token(token) => write!(f, "Token '{token}' was already loaded")?,
            RecognisedBy::Rows => write!(f, "The same rows were already loaded")?,
        }
        write!(f, " at {}: {} then, nothing written now.", moment(self.committed_ms), row_count(self.rows))
    }
}

/// `2026-01-02 03:04:05 UTC`.
pub fn moment(since_epoch_ms: u64) -> String {
    let time = i64::try_from(since_epoch_ms).ok().and_then(DateTime::from_timestamp_millis);
    time.map_or_else(|| "an unknown time".to_owned(), |time| time.format("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// `1 row`, `3 rows`.
pub fn row_count(rows: u64) -> String {
    if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_names_what_when_and_how_many() {
        let loaded = |by: RecognisedBy, rows: u64| {
            AlreadyLoaded { by, committed_ms: 1_767_323_045_678, rows }.to_string()
        };
        let at = "at 2026-01-02 03:04:05 UTC";
        for (by, rows, expected) in [
            (
                RecognisedBy::Label("l".into()),
                3,
                "Label 'l' was already loaded AT: 3 rows then, nothing written now.",
            ),
            (
                RecognisedBy::Token("x".into()),
                1,
                "Token 'x' was already loaded AT: 1 row then, nothing written now.",
            ),
            (
                RecognisedBy::Rows,
                0,
                "The same rows were already loaded AT: 0 rows then, nothing written now.",
            ),
        ] {
            assert_eq!(loaded(by, rows), expected.replace("AT", at));
        }
    }
}
