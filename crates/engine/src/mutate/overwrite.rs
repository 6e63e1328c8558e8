//! INSERT OVERWRITE t PARTITION (..): the rows of the statement take the place of those of some partitions.
//!
//! Invariant: one transaction takes away all that the partitions have at the snapshot it is decided on, and adds rows of these
//! partitions alone; what is written is kept for it however often others come first. Must not know: where rows come from.

use std::collections::BTreeSet;
use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use boundary::once::claim::Claim;
use boundary::request::{BodyStream, Rows};
use catalog::{Op, Precondition, TableState};
use futures::StreamExt;
use mergetree::Table;
use mergetree::write::PartSink;
use mergetree::write::partition::refuse_outside;
use model::{ErrorCode, PartDescriptor};
use sinks::turns::Batches;
use sql::Insert;

use super::run::{Reservation, TRIES_MAX, commit_written, flush, reserve};
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::insert::into_table::incoming;
use crate::insert::sink_settings::sink_settings;
use crate::resolve::materialized::views_of;
use sinks::uncommitted::UncommittedParts;
use tables::conform::Conform;
use tables::partition_ids::partition_id;
use tables::parts_change::check_engine;

/// Runs the INSERT.
pub(crate) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    insert: &Insert,
    state: &Arc<TableState>,
    (text, body): (&str, Option<BodyStream>),
) -> Result<Rows, Error> {
    check(execution, insert, state, text)?;
    let (rows, table, conform) = incoming(services, execution, insert, state, text, body).await?;
    let asking = statement_state(services, execution)?;
    let ids = insert.partitions.iter().map(|named| partition_id(&asking, &state.def, &table.keys, named));
    let partitions: BTreeSet<String> = ids.collect::<Result<_, _>>()?;
    let uncommitted = Arc::new(UncommittedParts::new(table.store.clone()));
    let overwrite = Overwrite {
        services: Arc::clone(services),
        execution: Arc::clone(execution),
        table: Table::clone(&table),
        schema_version: state.def.schema_version,
        partitions,
        uncommitted,
    };
    let overwrite = Arc::new(overwrite);
    let (held, handle) = (Arc::clone(&overwrite), tokio::runtime::Handle::current());
    let work = move || handle.block_on(held.write(rows, &conform));
    let written = services.runtimes.spawn_thread("sink", work)?;
    written.await.map_err(|_| Error::internal("an INSERT ended early"))??;
    overwrite.committed().await?;
    services.wake.notify_waiters();
    Ok(Rows::none())
}

fn check(execution: &Execution, insert: &Insert, state: &TableState, text: &str) -> Result<(), Error> {
    let refused = |what: &str| Err(Error::unsupported(format!("{what} of INSERT OVERWRITE .. PARTITION")));
    check_engine(&state.def)?;
    if !views_of(execution, &state.def).is_empty() {
        return refused("a table that materialized views see as the target");
    }
    if Claim::of(&execution.settings, insert, &state.def, &execution.current_database, text)?.is_some() {
        return refused("a label or a token");
    }
    if execution.rolls_back {
        return refused("EXPLAIN ANALYZE");
    }
    Ok(())
}

struct Overwrite {
    services: Arc<Services>,
    execution: Arc<Execution>,
    table: Table,
    /// Of the columns that the rows were made for.
    schema_version: u32,
    /// By their ids.
    partitions: BTreeSet<String>,
    uncommitted: Arc<UncommittedParts>,
}

impl Overwrite {
    /// Runs on a thread of its own: it encodes.
    async fn write(&self, mut rows: Batches, conform: &Conform) -> Result<(), Error> {
        let (settings, _) = sink_settings(1, &self.execution.settings, &self.execution.memory);
        let mut sink = PartSink::new(self.table.clone(), settings)?;
        let (mut before, progress) = (0, &self.execution.progress);
        while let Some(batch) = rows.next().await {
            if progress.is_cancelled() {
                return Err(Error::cancelled());
            }
            let batch = conform.apply_behind(before, &batch?)?;
            before += batch.num_rows() as u64;
            refuse_outside(&self.table, &batch, &self.partitions)?;
            progress.add_written(batch.num_rows() as u64, batch.get_array_memory_size() as u64);
            sink.write(batch)?;
        }
        self.uncommitted.add(sink.finish()?);
        Ok(())
    }

    async fn committed(self: Arc<Self>) -> Result<(), Error> {
        let (services, id) = (&self.services, self.table.def.id);
        let newest = || {
            let state = services.catalog.snapshot().table_by_id(id);
            state.ok_or_else(|| Error::unknown_table("", &self.table.def.name))
        };
        for _ in 0..TRIES_MAX {
            flush(services, &newest()?).await?;
            let execution = self.execution.at_newest_snapshot(&services.catalog);
            let state = newest()?;
            let is_named = |part: &&Arc<PartDescriptor>| self.partitions.contains(part.partition.name());
            let gone: Vec<_> = state.parts().filter(is_named).cloned().collect();
            let reserved = Reservation { services, execution: &execution, table: id, parts: &gone };
            let slot = if gone.is_empty() { None } else { reserve(&reserved).await? };
            if slot.is_none() && !gone.is_empty() {
                continue;
            }
            self.execution.progress.begin_commit()?;
            let held = Arc::clone(&self);
            let work = move || held.commit(&execution, &gone);
            let joined = services.runtimes.spawn_blocking("commit", work).await;
            if joined.map_err(Error::ended_early)?? {
                return Ok(());
            }
        }
        let message = "parts or columns were changed by others faster than they could be replaced";
        Err(Error::new(ErrorKind::Conflict, ErrorCode::ABORTED, message)
            .with_hint("nothing has changed; try again"))
    }

    /// False if somebody was faster.
    fn commit(&self, execution: &Execution, gone: &[Arc<PartDescriptor>]) -> Result<bool, Error> {
        let (table, schema_version) = (self.table.def.id, self.schema_version);
        let live = |part: &Arc<PartDescriptor>| Precondition::PartLive { table, part: part.id };
        let mut preconditions: Vec<Precondition> = gone.iter().map(live).collect();
        preconditions.push(Precondition::SchemaCompatible { table, schema_version });
        let mut ops: Vec<Op> = gone.iter().map(|part| Op::RemovePart { table, part: part.id }).collect();
        // What was in a partition that is replaced may be inserted again.
        if self.services.catalog.snapshot().has_tokens(table) {
            ops.push(Op::ForgetTokens { table });
        }
        commit_written((&self.services, execution), table, &self.uncommitted, (preconditions, ops))
    }
}
