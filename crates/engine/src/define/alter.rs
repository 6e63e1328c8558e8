//! ALTER TABLE: one transaction with the new definition; no part is rewritten.
//!
//! Rows of older versions are read as rows of the new one (`parts::evolve`), and merges write them so. Invariant: a type
//! is changed only when every value there is converts; rows that come meanwhile are looked at, too, before the commit.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use boundary::error::{Error, ErrorKind};
use catalog::{Op, Precondition, TableState};
use host::Runtimes;
use mergetree::TableError;
use mergetree::scan::check_values;
use model::{ColumnId, ErrorCode, PartId, TableDef};
use parts::PartError;
use sql::{Alter, AlterCommand};
use tables::altered::{altered, retyped};
use tables::checks::check_altered;
use tables::nested::declared::flattened_alter;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::commit::commit_ops;
use crate::resolve::read_by_views::reader_of;
use tables::stored::Tables;

/// How often a change is decided again because another statement came first.
const TRIES_MAX: usize = 20;

pub(crate) async fn run(services: &Services, execution: &Execution, alter: &Alter) -> Result<(), Error> {
    let mut passed = BTreeSet::new();
    let mut lost = Error::internal("an ALTER was never tried");
    for _ in 0..TRIES_MAX {
        let execution = execution.at_newest_snapshot(&services.catalog);
        let state = execution.stored_table(&alter.table)?;
        let flattens = execution.settings.get_bool("flatten_nested");
        let alter = flattened_alter(&state.def, alter, flattens)?;
        refuse_read(&execution, &state.def, &alter)?;
        let Some(next) = altered(&state.def, &alter)?.map(Arc::new) else { return Ok(()) };
        check_altered(&state.def, &next, &execution.settings)?;
        services.tables.check(&next)?;
        let mut preconditions = Vec::new();
        let columns = retyped(&state.def, &next);
        if !columns.is_empty() {
            passed =
                values_convert(&services.runtimes, &services.tables, &state, &next, columns, passed).await?;
            preconditions.push(Precondition::NoRowsSince { table: next.id, next_block: state.next_block() });
        }
        match commit_ops(services, &execution, preconditions, vec![Op::AlterTable(next.as_ref().clone())])
            .await
        {
            Err(error) if error.kind == ErrorKind::Conflict => lost = error,
            done => return done,
        }
    }
    Err(lost.with_hint("the table is being written to without a pause; try again when it is less busy"))
}

/// A column that a materialized view reads stays: every INSERT would fail without it.
fn refuse_read(execution: &Execution, def: &TableDef, alter: &Alter) -> Result<(), Error> {
    for command in &alter.commands {
        let AlterCommand::DropColumn { name, .. } = command else { continue };
        if let Some(view) = reader_of(execution, def, name)? {
            let message = format!("cannot drop column {name}: materialized view \"{view}\" reads it");
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::ALTER_OF_COLUMN_IS_FORBIDDEN, message)
                .with_hint("drop the view first, and create it again without the column"));
        }
    }
    Ok(())
}

/// Reads the columns as they are to be; answers the parts that need not be read again.
async fn values_convert(
    runtimes: &Runtimes,
    tables: &Tables,
    state: &Arc<TableState>,
    next: &Arc<TableDef>,
    columns: Vec<ColumnId>,
    mut passed: BTreeSet<PartId>,
) -> Result<BTreeSet<PartId>, Error> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let _given_up = GivenUp(Arc::clone(&cancelled));
    let table = tables.compile(next)?.0;
    let state = Arc::clone(state);
    let work = move || check_values(&table, &state, &columns, &mut passed, &cancelled).map(|()| passed);
    let joined = runtimes.spawn_blocking("alter", work).await;
    match joined.map_err(Error::ended_early)? {
        Ok(passed) => Ok(passed),
        Err(TableError::Part(PartError::Evolve { message, .. })) => {
            let message =
                format!("a value of table \"{}\" does not convert to the new type: {message}", next.name);
            Err(Error::new(ErrorKind::BadInput, ErrorCode::UNFINISHED, message)
                .with_hint("nothing has changed; add a column of the new type, or correct the values first"))
        }
        Err(error) => Err(error.into()),
    }
}

/// Nobody waits for the statement any more when this goes.
struct GivenUp(Arc<AtomicBool>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
