//! OPTIMIZE TABLE: merges on request, waited for.
//!
//! Invariant: after FINAL every partition that was there at the start is one part, unless merges are stopped or a part is
//! damaged: that one stays as it is, and the statement says so.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use boundary::progress::QueryProgress;
use catalog::TableState;
use mergetree::merge::{MergePlan, plan_all_but};
use model::{ErrorCode, PartId, TableEngine, TableId};
use parts::PartStore;
use sql::{Optimize, TableName};

use crate::background::following;
use crate::background::merging::{flush_table, run_merge};
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::resolve::materialized::{destination_of, own_table_of};
use tables::partition_ids::partition_id;

/// Rounds in which nothing could be merged before merges of other servers are asked to rest: a second and a half.
const LOST_MAX: usize = 75;

pub(crate) async fn run(
    services: &Arc<Services>,
    execution: &Execution,
    optimize: &Optimize,
) -> Result<(), Error> {
    let state = table_of(execution, &optimize.table)?;
    if state.def.engine.names_another() || (state.def.engine == TableEngine::Join && !optimize.is_final) {
        // There is nothing in it, or its rows are read as they are anyway.
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
    let request = Requested { table, partition, is_final, throws };
    let working = Arc::clone(services);
    // Flushing joins the rows of several statements: that is a merge, too.
    let joined = state.inline().count() > 1;
    let work = move || merge_all(&working, &request, joined, &cancelled);
    let joined = services.runtimes.spawn_blocking("optimize", work).await;
    joined.map_err(Error::ended_early)?
}

/// What is to be merged.
struct Requested {
    table: TableId,
    partition: Option<String>,
    is_final: bool,
    /// Whether having nothing to do is an error.
    throws: bool,
}

/// Merges until what was there at the start is merged, if it is to be final; blocks.
fn merge_all(
    services: &Arc<Services>,
    asked: &Requested,
    joined: bool,
    progress: &QueryProgress,
) -> Result<(), Error> {
    let (table, is_final) = (asked.table, asked.is_final);
    flush_table(services, table)?;
    let done = |merged: bool| {
        if merged || joined || !asked.throws { Ok(()) } else { Err(nothing_to_merge()) }
    };
    let Some(state) = services.catalog.snapshot().table_by_id(table) else { return Ok(()) };
    // Rows that come from here on are for the next one.
    let until_block = state.next_block();
    // Merges of other servers, which cannot be waited for, take parts away again and again.
    let (mut lost, mut resting) = (0, None);
    loop {
        if lost >= LOST_MAX && resting.is_none() {
            resting = following::rest_elsewhere(services, table);
        }
        let snapshot = services.catalog.snapshot();
        let Some(state) = snapshot.table_by_id(table) else { return Ok(()) };
        let left_alone = services.store.health().damaged(table);
        let mut plans: Vec<MergePlan> =
            plan_all_but(&state, &left_alone, asked.partition.as_deref(), is_final);
        plans.retain(|plan| is_of_start(&state, plan, until_block));
        if plans.is_empty() || progress.is_cancelled() {
            let damaged = damage(&services.store, &state, asked.partition.as_deref());
            return match (progress.is_cancelled(), damaged) {
                (true, _) => Err(Error::cancelled()),
                (false, Some(error)) if is_final => Err(error),
                (false, _) => done(false),
            };
        }
        let mut merged = false;
        for plan in plans {
            match run_merge(services, &state, plan) {
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
            lost += 1;
            // Background merges hold the parts: wait for them, they bring us nearer too.
            services.host.clock.sleep(std::time::Duration::from_millis(20));
        }
        if !services.merges.may_run(table) {
            let message = "merges were stopped meanwhile";
            return Err(Error::new(ErrorKind::Conflict, ErrorCode::CANNOT_ASSIGN_OPTIMIZE, message));
        }
    }
}

/// Whether a merge brings parts together that were there at the start, or makes one of them what it is to be.
fn is_of_start(state: &TableState, plan: &MergePlan, until_block: u64) -> bool {
    let is_old = |id: &&PartId| state.part(**id).is_some_and(|part| part.blocks.min < until_block);
    let old = plan.inputs.iter().filter(is_old).count();
    old > 1 || (old == 1 && plan.inputs.len() == 1)
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
