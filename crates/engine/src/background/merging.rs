//! Runs merges and flushes for whoever asks: background work or OPTIMIZE.
//!
//! Invariant: a merge that lost a race is not an error; its output is deleted and its inputs stay live.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use boundary::error::{Error, ErrorKind};
use boundary::ledgers::part_log::{PartEvent, PartEventKind, committed_part};
use catalog::TableState;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;
use functions::call::SessionValues;
use host::MemoryBudget;
use mergetree::TableError;
use mergetree::flush::FlushOutcome;
use mergetree::merge::{self, MergeOutcome, MergePlan, memory_bytes_of};
use model::{ErrorCode, PartDescriptor, TableId};
use parts::PartStore;

use crate::context::services::Services;

/// Runs one merge on the calling thread; false if it could not start, was cancelled or lost.
pub(crate) fn run_merge(
    services: &Arc<Services>,
    state: &Arc<TableState>,
    plan: MergePlan,
) -> Result<bool, Error> {
    let table = services.tables.rewriting_handle(&state.def, &|| Ok(rewriting_state(services)))?;
    let now = services.host.clock.monotonic();
    let Some(slot) = services.merges.enter(state.def.id, plan, now) else { return Ok(false) };
    let memory: MemoryBudget = services.host.memory.child(memory_bytes_of(services.host.memory.limit()));
    let running = &slot.merge;
    let outcome = merge::run(&table, &running.plan, &memory, &running.progress, &running.cancelled);
    let outcome = outcome.map_err(|error| merge_error(&services.store, state, error));
    log_merge(services, state, &running.plan, memory.peak(), now, &outcome);
    match outcome? {
        MergeOutcome::Committed { .. } => Ok(true),
        MergeOutcome::Lost | MergeOutcome::Cancelled => Ok(false),
        MergeOutcome::NoSpace => Err(no_space(state)),
    }
}

/// An input that is damaged is no input of another merge.
fn merge_error(store: &PartStore, state: &TableState, error: TableError) -> Error {
    let TableError::Part(part) = error else { return error.into() };
    let copied = part.damaged_part().and_then(|id| state.part(id));
    // It may have been a copy: the storage has sound bytes then, which are compared here, and the next merge reads those.
    if store.storage().is_far()
        && let Some(copied) = copied
        && part.is_damage()
        && store.compare_whole(copied).is_ok()
    {
        store.health().note_sound_again(state.def.id, &part);
        return part.into();
    }
    store.health().note_error(state.def.id, &part);
    let damaged = part.damaged_part().and_then(|id| state.part(id));
    match damaged {
        Some(damaged) => Error::from(part).of_part(&state.def.name, damaged),
        None => part.into(),
    }
}

/// What defaults that ask about their statement are told when rows are written anew: the time is now.
pub(crate) fn rewriting_state(services: &Services) -> SessionState {
    let now_ns = i64::try_from(services.host.clock.now_ms()).unwrap_or(0).saturating_mul(1_000_000);
    let values = SessionValues { now_ns, user: "default".into(), ..SessionValues::default() };
    let config = planner::with_session_values(SessionConfig::new(), values);
    let mut state =
        SessionStateBuilder::new_from_existing(services.base_state.clone()).with_config(config).build();
    // Expressions compiled by themselves see the options only of a state that has begun.
    state.mark_start_execution();
    state
}

fn no_space(state: &TableState) -> Error {
    let message = format!("not enough free disk space to merge parts of table \"{}\"", state.def.name);
    Error::new(ErrorKind::Limit, ErrorCode::NOT_ENOUGH_SPACE, message)
        .with_hint("a merge needs room for its result beside its inputs")
}

/// What lost a race or was cancelled is no event: nothing has happened to any part.
fn log_merge(
    services: &Services,
    state: &TableState,
    plan: &MergePlan,
    memory_peak: u64,
    started: Duration,
    outcome: &Result<MergeOutcome, Error>,
) {
    let (merged, error) = match outcome {
        Ok(MergeOutcome::Committed { part, inputs, .. }) => (Some((*part, *inputs)), None),
        Ok(MergeOutcome::NoSpace) => (None, Some(no_space(state))),
        Ok(MergeOutcome::Lost | MergeOutcome::Cancelled) => return,
        Err(error) => (None, Some(error.clone())),
    };
    let inputs_read = merged.map_or(plan.inputs.len(), |(_, inputs)| inputs);
    let inputs: Vec<_> = plan.inputs.iter().take(inputs_read).filter_map(|id| state.part(*id)).collect();
    let Some(&first) = inputs.first() else { return };
    let clock = &services.host.clock;
    let snapshot = services.catalog.snapshot();
    let after = snapshot.table_by_id(state.def.id);
    let result = merged.and_then(|(part, _)| committed_part(after.as_ref()?, part?));
    let shown = result.as_ref().unwrap_or(first);
    let event = PartEvent::of(PartEventKind::MergeParts, &snapshot, &state.def, shown, clock.now_ms());
    let made = result.is_some();
    services.part_log.push(PartEvent {
        duration: clock.monotonic().saturating_sub(started),
        merged_from: inputs.iter().map(|part| part.name()).collect(),
        memory_peak,
        // A merge that failed has no part to tell of.
        part_name: if made { event.part_name.clone() } else { String::new() },
        rows: if made { event.rows } else { 0 },
        bytes: if made { event.bytes } else { 0 },
        bytes_uncompressed: if made { event.bytes_uncompressed } else { 0 },
        error,
        ..event
    });
}

/// Until a flush that came first is looked at again.
const LOST_FLUSH_PAUSE: Duration = Duration::from_millis(1);

/// Makes the inline rows of a table into parts, a bounded number at a time.
pub(crate) fn flush_table(services: &Arc<Services>, table: TableId) -> Result<(), Error> {
    // Those that are there now; whatever comes meanwhile is for the next flush.
    let mut until = None;
    let flushed = loop {
        let snapshot = services.catalog.snapshot();
        let Some(state) = snapshot.table_by_id(table) else { break Ok(()) };
        let Some(first) = state.inline().next() else { break Ok(()) };
        let last = *until.get_or_insert_with(|| state.inline().last().map_or(0, |last| last.block));
        if first.block > last {
            break Ok(());
        }
        match flush_piece(services, &state) {
            Ok(true) => {}
            // Another flush came first; rows may be left that it did not know.
            Ok(false) => services.host.clock.sleep(LOST_FLUSH_PAUSE),
            Err(error) => break Err(error),
        }
    };
    services.flushing.recount(&services.catalog.snapshot());
    flushed
}

/// False if another flush came first, or there was nothing.
fn flush_piece(services: &Arc<Services>, state: &Arc<TableState>) -> Result<bool, Error> {
    let handle = services.tables.rewriting_handle(&state.def, &|| Ok(rewriting_state(services)))?;
    let started = services.host.clock.monotonic();
    let outcome = mergetree::flush::run(&handle)?;
    log_flush(services, state, started);
    Ok(matches!(outcome, FlushOutcome::Committed { .. }))
}

/// The parts of a flush are those that took the places of rows that were inline before.
fn log_flush(services: &Services, before: &TableState, started: Duration) {
    let clock = &services.host.clock;
    let snapshot = services.catalog.snapshot();
    let Some(after) = snapshot.table_by_id(before.def.id) else { return };
    let places: HashSet<u64> = before.inline().map(|statement| statement.block).collect();
    let removed = after.removed().map(|removed| &removed.descriptor);
    let flushed = |part: &&Arc<PartDescriptor>| part.level == 0 && places.contains(&part.blocks.min);
    for part in after.parts().chain(removed).filter(flushed) {
        services.part_log.push(PartEvent {
            merge_reason: "Flush",
            duration: clock.monotonic().saturating_sub(started),
            ..PartEvent::of(PartEventKind::NewPart, &snapshot, &after.def, part, clock.now_ms())
        });
    }
}
