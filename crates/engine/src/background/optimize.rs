//! OPTIMIZE TABLE: merges on request, waited for.
//!
//! Invariant: after FINAL every partition that was there at the start is one part, unless merges are stopped or a part is
//! damaged: that one stays as it is, and the statement says so.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use catalog::TableState;
use mergetree::merge::{MergePlan, plan_all_but};
use model::{ErrorCode, TableEngine};
use parts::PartStore;
use sql::{Optimize, TableName};

use crate::background::merging::{flush_table, run_merge};
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::resolve::materialized::{destination_of, own_table_of};
use tables::partition_ids::partition_id;

pub(crate) async fn run(
    services: &Arc<Services>,
    execution: &Execution,
    optimize: &Optimize,
) -> Result<(), Error> {
    let state = table_of(execution, &optimize.table)?;
    if state.def.engine.names_another() {
        // There is nothing in it.
        return Ok(());
    }
    if state.def.engine != TableEngine::MergeTree {
        let message = format!("table \"{}\" has no parts to optimize", optimize.table);
        return Err(Error::new(ErrorKind::Unsupported, ErrorCode::NOT_IMPLEMENTED, message));
    }
    let partition = match &optimize.partition {
        None => None,
        Some(partition) => {
            let (keys, asking) =
                (services.tables.handle(&state.def)?.0.keys, statement_state(services, execution)?);
            Some(partition_id(&asking, &state.def, &keys, partition)?)
        }
    };
    let table = state.def.id;
    if !services.merges.may_run(table) {
        return Err(Error::new(ErrorKind::Conflict, ErrorCode::CANNOT_ASSIGN_OPTIMIZE, "merges are stopped")
            .with_hint("SYSTEM START MERGES lets them run again"));
    }
    let (is_final, cancelled) = (optimize.is_final, Arc::clone(&execution.progress));
    let throws = execution.settings.get_bool("optimize_throw_if_noop") && !is_final;
    let runtimes = services.runtimes.clone();
    let services = Arc::clone(services);
    let work = move || {
        // Flushing joins the rows of several statements: that is a merge, too.
        let joined = state.inline().count() > 1;
        flush_table(&services, table)?;
        let done = |merged: bool| if merged || joined || !throws { Ok(()) } else { Err(nothing_to_merge()) };
        loop {
            let snapshot = services.catalog.snapshot();
            let Some(state) = snapshot.table_by_id(table) else { return Ok(()) };
            let left_alone = services.store.health().damaged(table);
            let plans: Vec<MergePlan> = plan_all_but(&state, &left_alone, partition.as_deref(), is_final);
            if plans.is_empty() || cancelled.is_cancelled() {
                let damaged = damage(&services.store, &state, partition.as_deref());
                return match (cancelled.is_cancelled(), damaged) {
                    (true, _) => Err(Error::cancelled()),
                    (false, Some(error)) if is_final => Err(error),
                    (false, _) => done(false),
                };
            }
            let mut merged = false;
            for plan in plans {
                match run_merge(&services, &state, plan) {
                    // What is damaged is left alone; the other parts are merged first.
                    Err(_) if is_final && services.store.health().damaged(table).len() > left_alone.len() => {
                        merged = true;
                    }
                    ended => merged |= ended?,
                }
            }
            if !is_final {
                return done(merged);
            }
            if !merged {
                // Background merges hold the parts: wait for them, they bring us nearer too.
                services.host.clock.sleep(std::time::Duration::from_millis(20));
            }
            if !services.merges.may_run(table) {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    ErrorCode::CANNOT_ASSIGN_OPTIMIZE,
                    "merges were stopped meanwhile",
                ));
            }
        }
    };
    let joined = runtimes.spawn_blocking("optimize", work).await;
    joined.map_err(Error::ended_early)?
}

/// The table, or that of a materialized view that has one of its own.
pub(crate) fn table_of(execution: &Execution, name: &TableName) -> Result<Arc<TableState>, Error> {
    let state = execution.table(name)?;
    if state.def.engine != TableEngine::MaterializedView {
        return Ok(state);
    }
    let table = destination_of(&state.def)?;
    if own_table_of(execution, &state.def).is_none() {
        let message = format!("materialized view {name} fills a table that is not its own");
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::INCORRECT_QUERY, message)
            .with_hint(format!("OPTIMIZE TABLE {table} says which")));
    }
    execution.table(&table)
}

/// What is wrong with a part that had to be left as it is.
fn damage(store: &PartStore, state: &TableState, partition: Option<&str>) -> Option<Error> {
    let mut wanted = state.parts().filter(|part| partition.is_none_or(|name| name == part.partition.name()));
    wanted.find_map(|part| {
        let damage = store.health().of(part).1?;
        let error = Error::new(ErrorKind::Corruption, ErrorCode::CORRUPTED_DATA, damage.as_ref())
            .of_part(&state.def.name, part);
        Some(error.with_hint(
            "the part is left as it is, and the others were merged; put its file back from a copy",
        ))
    })
}

/// What `optimize_throw_if_noop` asks for; FINAL has reached its goal then.
fn nothing_to_merge() -> Error {
    Error::new(
        ErrorKind::Conflict,
        ErrorCode::CANNOT_ASSIGN_OPTIMIZE,
        "there are no parts to merge, and optimize_throw_if_noop is set",
    )
}
