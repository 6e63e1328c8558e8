//! Exactly once: the names a statement is written under, and whether it was written under them before.
//!
//! Invariant: names are committed with the rows, in one transaction. The same name with the same fingerprint means that
//! the rows are in, and nothing is written; with another fingerprint it is an error, never silence.
//! Must not know: how a fingerprint is made.

use catalog::{Catalog, LabelState, Op, Snapshot};
use model::{DatabaseId, ErrorCode, Label, Seq, TableId};

use crate::already_loaded::{AlreadyLoaded, RecognisedBy, moment, row_count};
use crate::error::{Error, ErrorKind};
use crate::progress::QueryProgress;

/// What one statement is known by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Once {
    /// Where the label is unique.
    pub database: DatabaseId,
    /// Where the token is.
    pub table: TableId,
    pub label: Option<Label>,
    pub token: Option<u128>,
    pub fingerprint: u128,
    /// The token as the user wrote it; `None` when it was made of the rows.
    pub token_text: Option<String>,
}

impl Once {
    /// What joins the rows in their transaction.
    pub fn ops(&self, rows: u64) -> Vec<Op> {
        let (database, table, fingerprint) = (self.database, self.table, self.fingerprint);
        let label = self.label.clone().map(|label| Op::Label { database, label, fingerprint, rows });
        let token = self.token.map(|token| Op::DedupToken { table, token, fingerprint, rows });
        label.into_iter().chain(token).collect()
    }

    fn states(&self, snapshot: &Snapshot) -> (Option<LabelState>, Option<LabelState>) {
        let label = self.label.as_ref().and_then(|label| snapshot.label(self.database, label));
        let token = self.token.and_then(|token| snapshot.token(self.table, token));
        (label, token)
    }

    /// Whether one of the names is taken, by whatever statement.
    pub fn is_taken(&self, snapshot: &Snapshot) -> bool {
        let (label, token) = self.states(snapshot);
        label.is_some() || token.is_some()
    }

    /// The statement this one repeats, if there is one.
    ///
    /// # Errors
    /// Another statement took one of the names.
    pub fn repeats(&self, snapshot: &Snapshot) -> Result<Option<AlreadyLoaded>, Error> {
        let (label, token) = self.states(snapshot);
        self.judge(label, token)
    }

    fn judge(
        &self,
        label: Option<LabelState>,
        token: Option<LabelState>,
    ) -> Result<Option<AlreadyLoaded>, Error> {
        let by_label = self.label.as_ref().map(|label| RecognisedBy::Label(label.as_str().to_owned()));
        let by_token = self.token_text.clone().map_or(RecognisedBy::Rows, RecognisedBy::Token);
        let names = [(label, by_label), (token, Some(by_token))];
        let mut found = None;
        for (state, by) in names {
            let (Some(state), Some(by)) = (state, by) else { continue };
            if state.fingerprint != self.fingerprint {
                return Err(taken(&by, &state));
            }
            let loaded = AlreadyLoaded { by, committed_ms: state.committed_ms, rows: state.rows };
            found.get_or_insert(loaded);
        }
        Ok(found)
    }
}

/// The name belongs to a statement that was another one.
fn taken(by: &RecognisedBy, first: &LabelState) -> Error {
    let (name, noun) = match by {
        RecognisedBy::Label(label) => (format!("label \"{label}\""), "label"),
        RecognisedBy::Token(token) => (format!("insert_deduplication_token \"{token}\""), "token"),
        RecognisedBy::Rows => ("the hash of these rows".to_owned(), "label"),
    };
    let (at, rows) = (moment(first.committed_ms), row_count(first.rows));
    let message = format!("{name} was used at {at} by another statement, which put in {rows}");
    Error::new(ErrorKind::AlreadyExists, ErrorCode::BAD_ARGUMENTS, message)
        .with_hint(format!("repeat that statement as it was, or choose another {noun}"))
}

/// What a commit answered, in the light of the names it carried: it is refused when they are taken by now, and then it
/// may have been this very statement that took them.
pub fn settled(
    committed: Result<Seq, Error>,
    once: Option<&Once>,
    catalog: &Catalog,
    progress: &QueryProgress,
) -> Result<(), Error> {
    let Err(error) = committed else { return Ok(()) };
    let Some(once) = once else { return Err(error) };
    match once.repeats(&catalog.snapshot())? {
        Some(loaded) => {
            progress.set_already_loaded(loaded);
            Ok(())
        }
        None => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(label: Option<&str>, token: Option<&str>) -> Once {
        Once {
            database: DatabaseId::from_bytes([1; 16]),
            table: TableId::from_bytes([2; 16]),
            label: label.map(|label| Label::new(label).unwrap()),
            token: token.map(|_| 9),
            fingerprint: 7,
            token_text: token.map(str::to_owned),
        }
    }

    fn state(fingerprint: u128) -> LabelState {
        LabelState { seq: Seq(5), fingerprint, committed_ms: 1_767_323_045_000, rows: 3 }
    }

    #[test]
    fn the_names_join_the_rows() {
        let both = named(Some("l"), Some("x"));
        let (database, table) = (both.database, both.table);
        let label = Label::new("l").unwrap();
        assert_eq!(
            both.ops(4),
            [
                Op::Label { database, label, fingerprint: 7, rows: 4 },
                Op::DedupToken { table, token: 9, fingerprint: 7, rows: 4 }
            ]
        );
        assert!(named(None, None).ops(4).is_empty());
    }

    #[test]
    fn the_same_statement_is_recognised_by_either_name() {
        let by = |once: &Once, label, token| once.judge(label, token).unwrap().map(|loaded| loaded.by);
        let both = named(Some("l"), Some("x"));
        assert_eq!(by(&both, None, None), None);
        assert_eq!(by(&both, Some(state(7)), None), Some(RecognisedBy::Label("l".to_owned())));
        assert_eq!(by(&both, None, Some(state(7))), Some(RecognisedBy::Token("x".to_owned())));
        assert_eq!(by(&both, Some(state(7)), Some(state(7))), Some(RecognisedBy::Label("l".to_owned())));
        let rows = Once { token: Some(9), ..named(None, None) };
        assert_eq!(by(&rows, None, Some(state(7))), Some(RecognisedBy::Rows));
    }

    #[test]
    fn another_statement_under_a_name_is_an_error_that_says_whose_it_is() {
        let both = named(Some("l"), Some("x"));
        let error = both.judge(Some(state(8)), None).unwrap_err();
        assert_eq!(error.code.number(), 36);
        assert_eq!(
            error.message,
            "label \"l\" was used at 2026-01-02 03:04:05 UTC by another statement, which put in 3 rows"
        );
        assert_eq!(error.hint.as_deref(), Some("repeat that statement as it was, or choose another label"));
        let error = both.judge(Some(state(7)), Some(state(8))).unwrap_err();
        assert!(
            error.message.starts_with("insert_deduplication_token \"x\" was used at"),
            "{}",
            error.message
        );
    }
}
