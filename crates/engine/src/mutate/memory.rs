//! DELETE and UPDATE of a Memory table: its rows are made anew and put in the place of the old ones.
//!
//! Invariant: all commands happen at once or none does; rows that came meanwhile are not lost: then it begins anew.

use std::sync::Arc;

use arrow::array::RecordBatch;
use boundary::error::{Error, ErrorKind};
use catalog::TableState;
use futures::{StreamExt, stream};
use model::ErrorCode;
use sql::Mutation;

use super::rows::Changing;
use crate::context::execution::{Execution, Rewritten};
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use tables::changes::checked;
use tables::changes::{Kind, Within};
use tables::memory::Gathered;

/// How often it begins anew because other rows came first.
const TRIES_MAX: usize = 50;

pub(super) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    mutation: &Mutation,
    state: &Arc<TableState>,
) -> Result<(), Error> {
    let (table, _) = services.tables.handle(&state.def)?;
    let asking = statement_state(services, execution)?;
    let changes = checked(&asking, mutation, &state.def, &table.keys)?;
    if changes.iter().any(|change| change.within != Within::All || change.kind == Kind::Drop) {
        let message = "tables of engine Memory have no partitions";
        return Err(Error::new(ErrorKind::Unsupported, ErrorCode::NOT_IMPLEMENTED, message));
    }
    let changing = Changing {
        services: Arc::clone(services),
        execution: Arc::clone(execution),
        def: Arc::clone(&state.def),
    };
    let tables = services.memory_tables_of(&execution.temporary, &state.def);
    for _ in 0..TRIES_MAX {
        let before = tables.batches(state.def.id);
        let mut rows = before.clone();
        for change in &changes {
            rows = changed(&changing, &change.kind, rows).await?;
        }
        if tables.replace(state.def.id, &before, rows)? {
            return Ok(());
        }
    }
    let message = "rows were added faster than they could be changed";
    Err(Error::new(ErrorKind::Conflict, ErrorCode::ABORTED, message))
}

async fn changed(
    changing: &Changing,
    kind: &Kind,
    rows: Vec<RecordBatch>,
) -> Result<Vec<RecordBatch>, Error> {
    let count = rows.iter().map(|batch| batch.num_rows() as u64).sum();
    let of = Rewritten::Rows { def: Arc::clone(&changing.def), rows: Arc::new(rows.clone()) };
    changing.check(kind, &of).await?;
    let mut gathered = Gathered::new(&changing.execution.memory);
    let all = stream::iter(rows.into_iter().map(Ok)).boxed();
    changing.change(kind, &of, (count, None), all, &mut |batch| gathered.push(batch)).await?;
    Ok(gathered.into_batches())
}
