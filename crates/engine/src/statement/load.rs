//! RESUME LOAD and CANCEL LOAD.
//!
//! Invariant: a resumed load runs the statement it was opened with, into the table it was opened for, whatever their
//! names are now. Must not know: how a load is staged.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use boundary::once::names::Once;
use boundary::request::Rows;
use model::{DatabaseId, ErrorCode, Label};
use sql::{InsertSource, Statement};

use stores::calls::urls::HIDDEN_PART;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::insert::into_table::{InsertSelect, insert_select};
use crate::insert::named::Named;
use crate::load::staged;
use crate::load::staged::ending::{cancel as give_up, not_open};
use sinks::arriving::infile::as_select;

/// Goes on with an open load. One that is finished is left as it is, with a warning: a client that does not know how its
/// load ended may ask again.
pub(crate) async fn resume(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    database: Option<&str>,
    label: &str,
) -> Result<Rows, Error> {
    let (database, label) = named(execution, database, label)?;
    let Some(open) = execution.snapshot.load_labelled(database, &label) else {
        let Some(done) = execution.snapshot.label(database, &label) else {
            return Err(not_open(&execution.snapshot, database, &label));
        };
        execution.warn(format!("load '{}' was finished before, with {} rows", label.as_str(), done.rows));
        return Ok(Rows::none());
    };
    let once = Once {
        database,
        table: open.table,
        label: Some(label),
        token: None,
        fingerprint: open.fingerprint,
        token_text: None,
    };
    if open.is_complete() {
        // Nothing is read, so nothing of the statement is needed.
        return Box::pin(staged::finish(services, execution, &once, &open)).await;
    }
    if open.statement.contains(HIDDEN_PART) {
        let message = format!(
            "the statement of load \"{}\" has arguments that are not kept, as credentials are",
            open.label.as_str()
        );
        return Err(Error::new(ErrorKind::Denied, ErrorCode::BAD_ARGUMENTS, message)
            .with_hint("run the same statement again: it goes on where the load stopped"));
    }
    let parsed = sql::parse_one(&open.statement)?;
    let Statement::Insert(insert) = &parsed.statement else {
        return Err(Error::internal("the statement of a load is no INSERT"));
    };
    let table = execution.snapshot.table_by_id(open.table);
    let table = table.ok_or_else(|| Error::internal("an open load has no table"))?;
    let insert = as_select(insert, &table.def)?;
    let InsertSource::Select(query) = &insert.source else {
        return Err(Error::internal("the statement of a load has no SELECT"));
    };
    let execution = match &open.input {
        Some(input) => {
            let kept = input.settings.iter().map(|(name, value)| (&**name, &**value));
            execution.as_first_run(execution.settings.deciding_as(kept)?, &input.current_database)
        }
        None => Arc::clone(execution),
    };
    let execution = execution.with_settings(&parsed.output.settings)?;
    let columns = insert.columns.as_deref();
    let select = InsertSelect { table: &table, columns, query, text: &open.statement };
    Box::pin(insert_select(services, &execution, select, Named::Resumed(once))).await
}

/// Gives an open load up.
pub(crate) async fn cancel(
    services: &Services,
    execution: &Execution,
    database: Option<&str>,
    label: &str,
) -> Result<Rows, Error> {
    let (database, label) = named(execution, database, label)?;
    give_up(services, execution, database, &label).await?;
    Ok(Rows::none())
}

fn named(execution: &Execution, database: Option<&str>, label: &str) -> Result<(DatabaseId, Label), Error> {
    let name = database.unwrap_or(&execution.current_database);
    let found = execution.snapshot.database(name).ok_or_else(|| Error::unknown_database(name))?;
    let read = Label::new(label).ok_or_else(|| {
        Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, format!("\"{label}\" is no label"))
            .with_hint("a label has 1 to 128 bytes of letters, digits, '_' and '-'")
    })?;
    Ok((found.id, read))
}
