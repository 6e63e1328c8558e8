//! What an INSERT claims before it is written: its label, its token, and a fingerprint that grows while its data pass.
//!
//! Invariant: a claim is complete when the last byte and the last row of the statement have passed, that of an INSERT
//! SELECT with a name from the start; what is asked of others before is about the names alone. A statement without
//! label, token or window has no claim and pays nothing. Must not know: how rows are read or written.

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::StreamExt;
use model::{DatabaseId, ErrorCode, Label, TableDef, TableId};
use parking_lot::Mutex;
use sql::{Insert, InsertSource, Settings};

use crate::error::{Error, ErrorKind};
use crate::once::fingerprint::{RowsHash, StatementHash, of_token};
use crate::once::names::Once;
use crate::request::BodyStream;
use crate::secrets::text::without_credentials;

/// See the module. Shared by the sinks of its statement.
pub struct Claim {
    database: DatabaseId,
    table: TableId,
    label: Option<Label>,
    /// `insert_deduplication_token`.
    token: Option<String>,
    /// By its rows, because it has no name and its table remembers rows.
    by_rows: bool,
    /// Whether data come in the request's body.
    pub takes_body: bool,
    statement: Mutex<StatementHash>,
    rows: Mutex<RowsHash>,
}

impl Claim {
    /// What `insert` claims under these settings; `text` is what its ranges point into.
    ///
    /// # Errors
    /// Names that are none, contradict each other, or that the table's engine cannot keep.
    pub fn of(
        settings: &Settings,
        insert: &Insert,
        def: &TableDef,
        current_database: &str,
        text: &str,
    ) -> Result<Option<Claim>, Error> {
        let window = def.setting::<u64>("non_replicated_deduplication_window").unwrap_or(0);
        let names = ["insert_label", "insert_deduplication_token"];
        if window == 0 && insert.label.is_none() && !names.iter().any(|name| settings.is_changed(name)) {
            return Ok(None);
        }
        let label = label_of(settings, insert)?;
        let compares = is_compared(settings, insert);
        let token =
            Some(settings.get_text("insert_deduplication_token")).filter(|t| compares && !t.is_empty());
        let named = label.is_some() || token.is_some();
        let keeps = def.engine.keeps_parts();
        if named && !keeps {
            let engine = def.engine.name();
            let message = format!("table \"{}\": engine {engine} keeps no labels and no tokens", def.name);
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message)
                .with_hint("insert without one, or into a table of engine MergeTree"));
        }
        let by_rows = !named && keeps && compares && window > 0;
        if !named && !by_rows {
            return Ok(None);
        }
        let mut statement = StatementHash::new(def.id, insert.columns.as_deref());
        describe_settings(&mut statement, settings);
        let takes_body = describe(&mut statement, &insert.source, current_database, text);
        Ok(Some(Claim {
            database: def.database,
            table: def.id,
            label,
            token,
            by_rows,
            takes_body,
            statement: Mutex::new(statement),
            rows: Mutex::new(RowsHash::default()),
        }))
    }

    /// The same body, hashed as it passes.
    pub fn watch(self: &Arc<Claim>, body: BodyStream) -> BodyStream {
        if !self.takes_body {
            return body;
        }
        let claim = Arc::clone(self);
        let hashed = body.inspect(move |chunk| {
            if let Ok(chunk) = chunk {
                claim.statement.lock().data(chunk);
            }
        });
        hashed.boxed()
    }

    /// Whether the statement is known by its rows.
    pub fn is_by_rows(&self) -> bool {
        self.by_rows
    }

    /// Rows of the table that are about to be written.
    pub fn add_rows(&self, batch: &RecordBatch) -> Result<(), Error> {
        if self.by_rows {
            let hash = RowsHash::of(batch)?;
            self.rows.lock().add(hash);
        }
        Ok(())
    }

    /// The claim as far as it is known: final when everything has passed, and for INSERT SELECT from the start.
    pub fn once(&self) -> Once {
        let rows = self.rows.lock().digest().filter(|_| self.by_rows);
        Once {
            database: self.database,
            table: self.table,
            label: self.label.clone(),
            token: self.token.as_deref().map(of_token).or(rows),
            fingerprint: rows.unwrap_or_else(|| self.statement.lock().digest()),
            token_text: self.token.clone(),
        }
    }
}

/// WITH LABEL, or `insert_label`.
fn label_of(settings: &Settings, insert: &Insert) -> Result<Option<Label>, Error> {
    let bad = |message: String| Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message);
    let set = Some(settings.get_text("insert_label")).filter(|label| !label.is_empty());
    let text = match (&insert.label, set) {
        (Some(clause), Some(set)) if *clause != set => {
            let message = format!("the statement has label \"{clause}\", and insert_label is \"{set}\"");
            return Err(bad(message).with_hint("give one of them"));
        }
        (Some(clause), _) => clause.clone(),
        (None, Some(set)) => set,
        (None, None) => return Ok(None),
    };
    let wrong = || {
        bad(format!("\"{text}\" is no label"))
            .with_hint("a label has 1 to 128 bytes of letters, digits, '_' and '-'")
    };
    Label::new(&text).ok_or_else(wrong).map(Some)
}

/// Whether tokens and rows are compared: `deduplicate_insert` when it is given, else `insert_deduplicate`; for
/// INSERT SELECT also `deduplicate_insert_select`. Labels are asked for by name and need no setting.
pub fn is_compared(settings: &Settings, insert: &Insert) -> bool {
    let compares = match settings.get_text("deduplicate_insert").as_str() {
        "enable" if settings.is_changed("deduplicate_insert") => true,
        "disable" => false,
        _ => settings.get_bool("insert_deduplicate"),
    };
    let selects = matches!(insert.source, InsertSource::Select(_));
    compares && !(selects && settings.get_text("deduplicate_insert_select") == "disable")
}

/// Hashes the settings under which the same text means other rows. Without any nothing is hashed.
fn describe_settings(hash: &mut StatementHash, settings: &Settings) {
    for (name, value) in settings.deciding_rows() {
        hash.piece(b"setting");
        hash.piece(name.as_bytes());
        hash.piece(value.as_bytes());
    }
}

/// Whether the values of an INSERT may mean something else in another database: a subquery does.
fn depends_on_database(values: &str) -> bool {
    let words = ["select", "database", "currentDatabase", "current_database"];
    sql::lexemes(values).any(|lexeme| words.iter().any(|word| lexeme.eq_ignore_ascii_case(word)))
}

/// Hashes what the statement says; answers whether its data, or their end, come in the request's body.
fn describe(hash: &mut StatementHash, source: &InsertSource, current_database: &str, text: &str) -> bool {
    match source {
        InsertSource::Values(range) if !text[range.clone()].trim().is_empty() => {
            let values = &text[range.clone()];
            if depends_on_database(values) {
                hash.piece(b"database");
                hash.piece(current_database.as_bytes());
            }
            hash.piece(b"rows");
            hash.text(values);
            false
        }
        InsertSource::Values(_) => {
            hash.piece(b"values");
            true
        }
        InsertSource::Format { name, data } => {
            hash.piece(name.to_ascii_lowercase().as_bytes());
            hash.data(text[data.clone()].as_bytes());
            true
        }
        // Printed from what was understood of it, without SETTINGS. Renewed credentials do not make another statement.
        InsertSource::Select(query) => {
            hash.piece(b"select");
            hash.piece(current_database.as_bytes());
            hash.text(&without_credentials(&sql::printed(&query.ast)));
            false
        }
        InsertSource::Infile { path, compression, format } => {
            hash.piece(b"infile");
            for part in [Some(path), compression.as_ref(), format.as_ref()].into_iter().flatten() {
                hash.piece(part.as_bytes());
            }
            false
        }
    }
}

#[cfg(test)]
mod tests;
