//! Runs merges and flushes for whoever asks: background work or OPTIMIZE.
//!
//! Invariant: a merge that lost a race is not an error; its output is deleted and its inputs stay live.

use std::sync::Arc;

use catalog::TableState;
use host::MemoryBudget;
use mergetree::merge::{self, MergeOutcome, MergePlan};
use model::TableId;

use crate::database::Database;
use crate::error::{Error, ErrorKind};

/// Memory of one background merge; the bound for a hundred parts.
const MERGE_MEMORY_BYTES: u64 = 256 << 20;

/// Runs one merge on the calling thread; false if it could not start, was cancelled or lost.
pub(crate) fn run_merge(
    database: &Arc<Database>,
    state: &Arc<TableState>,
    plan: MergePlan,
) -> Result<bool, Error> {
    let (table, _) = database.tables.handle(&state.def)?;
    let now = database.host.clock.monotonic();
    let Some(slot) = database.merges.enter(state.def.id, plan, now) else { return Ok(false) };
    let memory: MemoryBudget = database.host.memory.child(MERGE_MEMORY_BYTES);
    let running = &slot.merge;
    let outcome = merge::run(&table, &running.plan, &memory, &running.progress, &running.cancelled)?;
    match outcome {
        MergeOutcome::Committed { .. } => Ok(true),
        MergeOutcome::Lost | MergeOutcome::Cancelled => Ok(false),
        MergeOutcome::NoSpace => {
            let message =
                format!("not enough free disk space to merge parts of table \"{}\"", state.def.name);
            Err(Error::new(ErrorKind::Limit, 243, message)
                .with_hint("a merge needs room for its result beside its inputs"))
        }
    }
}

/// Makes the inline rows of a table into parts.
pub(crate) fn flush_table(database: &Arc<Database>, table: TableId) -> Result<(), Error> {
    let snapshot = database.catalog.snapshot();
    let Some(state) = snapshot.table_by_id(table) else { return Ok(()) };
    if state.inline().next().is_none() {
        return Ok(());
    }
    let (handle, _) = database.tables.handle(&state.def)?;
    mergetree::flush::run(&handle)?;
    Ok(())
}
