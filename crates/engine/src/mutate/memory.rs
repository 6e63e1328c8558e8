//! DELETE and UPDATE of a Memory table: its rows are made anew and put in the place of the old ones.
//!
//! Invariant: rows that came meanwhile are not lost: then it begins anew.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use datafusion::physical_plan::execute_stream;
use futures::StreamExt;
use model::ErrorCode;
use sql::{Mutation, TableName};

use super::checked::{Kind, Within, checked};
use super::new_values::NewValues;
use super::queries::{self, From};
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::query::select::plan;
use crate::tables::memory::Gathered;

/// How often it begins anew because other rows came first.
const TRIES_MAX: usize = 50;

pub(super) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    mutation: &Mutation,
) -> Result<(), Error> {
    let state = execution.table(&mutation.table)?;
    let (table, _) = services.tables.handle(&state.def)?;
    let asking = statement_state(services, execution)?;
    let changes = checked(&asking, mutation, &state.def, &table.keys)?;
    for change in changes {
        if change.within != Within::All || change.kind == Kind::Drop {
            let message = "tables of engine Memory have no partitions";
            return Err(Error::new(ErrorKind::Unsupported, ErrorCode::NOT_IMPLEMENTED, message));
        }
        let mut tries = 0;
        while !change_once(services, execution, mutation, &change.kind).await? {
            tries += 1;
            if tries == TRIES_MAX {
                let message = "rows were added faster than they could be changed";
                return Err(Error::new(ErrorKind::Conflict, ErrorCode::ABORTED, message));
            }
        }
    }
    Ok(())
}

/// False if other rows came meanwhile.
async fn change_once(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    mutation: &Mutation,
    kind: &Kind,
) -> Result<bool, Error> {
    let state = execution.table(&mutation.table)?;
    let def = &state.def;
    let tables = services.memory_tables_of(&execution.temporary, def);
    let before = tables.batches(def.id);
    let asking = || statement_state(services, execution);
    let defaults = services.tables.defaults(def, &asking)?;
    let (constraints, _) = services.tables.constraints(def, &asking)?;
    let new_values = NewValues::new(def, kind, &defaults, constraints);
    let source = named(&mutation.table);
    let from = From { source: &source, name: &def.name, is_numbered: false };
    let query = sql::Query::from(Box::new(sql::parse_query(&queries::rows(kind, def, &from))?));
    let mut planned = plan(services, execution, &query, None).await?;
    planned.state.config_mut().options_mut().execution.target_partitions = 1;
    let mut rows = execute_stream(planned.physical().await?, planned.state.task_ctx())?;
    let (mut gathered, mut read) = (Gathered::new(&execution.memory), 0);
    while let Some(batch) = rows.next().await {
        if execution.progress.is_cancelled() {
            return Err(Error::cancelled());
        }
        let batch = new_values.of(&batch.map_err(Error::from)?, read)?;
        read += batch.num_rows() as u64;
        gathered.push(batch)?;
    }
    tables.replace(def.id, &before, gathered.into_batches())
}

fn named(table: &TableName) -> String {
    let database = table.database.iter().map(|name| sql::escape::always_quote_name(name) + ".");
    database.chain([sql::escape::always_quote_name(&table.table)]).collect()
}
