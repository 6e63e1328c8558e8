//! A partition of one table for another: ATTACH PARTITION .. FROM, REPLACE PARTITION .. FROM, MOVE PARTITION .. TO TABLE.
//!
//! Rows are read and written: files of parts say in their footers whose they are, so none is shared by two tables. Invariant:
//! one transaction, decided on one snapshot, adds the rows and takes away those that go; nobody sees them twice or not at
//! all. Must not know: how parts are written.

use std::sync::Arc;

use arrow::datatypes::FieldRef;
use boundary::error::{Error, ErrorKind};
use catalog::{Op, Precondition, TableState};
use futures::StreamExt;
use mergetree::Table;
use mergetree::write::PartSink;
use model::{ErrorCode, PartDescriptor, TableDef, TableEngine};
use sql::{PartitionTransfer, TransferKind};

use super::rows::Changing;
use super::run::{Reservation, TRIES_MAX, commit_written, flush, reserve};
use crate::context::execution::{Execution, Rewritten};
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::insert::sink_settings::sink_settings;
use sinks::uncommitted::UncommittedParts;
use tables::partition_ids::partition_id;
use tables::same_structure::same_structure;

/// Runs the statement as one transaction.
pub(crate) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    statement: &PartitionTransfer,
) -> Result<(), Error> {
    if statement.partition.is_none() && statement.kind != TransferKind::Attach {
        let message = "only ATTACH PARTITION ALL FROM takes all partitions";
        return Err(Error::new(ErrorKind::Unsupported, ErrorCode::SUPPORT_IS_DISABLED, message)
            .with_hint("name one partition; system.parts has their ids"));
    }
    let mut tries = 0;
    while tries < TRIES_MAX {
        let newest = execution.at_newest_snapshot(&services.catalog);
        for name in [&statement.from, &statement.to] {
            flush(services, &newest.table(name)?).await?;
        }
        let execution = execution.at_newest_snapshot(&services.catalog);
        let transfer = Transfer::checked(services, &execution, statement)?;
        match transfer.attempt().await? {
            Attempt::Done => return Ok(()),
            Attempt::Waited => {}
            Attempt::Lost => tries += 1,
        }
    }
    Err(Error::new(
        ErrorKind::Conflict,
        ErrorCode::ABORTED,
        "parts were merged faster than they could be copied",
    )
    .with_hint("nothing has changed; try again"))
}

enum Attempt {
    Done,
    /// Somebody had a part that goes, who was waited for.
    Waited,
    /// Somebody was faster.
    Lost,
}

/// Writes the rows of a part as rows of a table that has all of its columns.
pub(super) async fn copy_rows(
    changing: &Changing,
    (from, part): (&TableState, &Arc<PartDescriptor>),
    to: &TableDef,
    sink: &mut PartSink,
) -> Result<(), Error> {
    let schema = to.arrow_schema();
    let names: Vec<_> = from.def.stored_columns().map(|column| column.name.as_ref()).collect();
    let place = |field: &FieldRef| names.iter().position(|name| *name == field.name());
    let places: Option<Vec<usize>> = schema.fields().iter().map(place).collect();
    let places = places.ok_or_else(|| Error::internal("a column of the other table is not there"))?;
    let of = Rewritten::Part { state: Arc::new(from.only(Some(part))), is_numbered: true };
    let mut rows = changing.all(&of).await?;
    while let Some(batch) = rows.next().await {
        let batch = batch?;
        let progress = &changing.execution.progress;
        progress.add_written(batch.num_rows() as u64, batch.get_array_memory_size() as u64);
        let columns = places.iter().map(|at| Arc::clone(batch.column(*at))).collect();
        let batch = arrow::array::RecordBatch::try_new(Arc::clone(&schema), columns);
        sink.write(batch.map_err(|e| Error::internal(e.to_string()))?)?;
    }
    Ok(())
}

/// A statement held against both tables, at one snapshot.
struct Transfer {
    services: Arc<Services>,
    execution: Arc<Execution>,
    from: Arc<TableState>,
    to: Arc<TableState>,
    target: Table,
    copied: Vec<Arc<PartDescriptor>>,
    /// Of which table, and which parts of it.
    gone: (Arc<TableState>, Vec<Arc<PartDescriptor>>),
}

impl Transfer {
    fn checked(
        services: &Arc<Services>,
        execution: &Arc<Execution>,
        statement: &PartitionTransfer,
    ) -> Result<Transfer, Error> {
        let (from, to) = (execution.table(&statement.from)?, execution.table(&statement.to)?);
        for state in [&to, &from] {
            if state.def.engine != TableEngine::MergeTree {
                let message = format!(
                    "table \"{}\" of engine {} has no partitions that could go to another table",
                    state.def.name,
                    state.def.engine.name()
                );
                return Err(Error::new(ErrorKind::Unsupported, ErrorCode::NOT_IMPLEMENTED, message));
            }
        }
        let (source, _) = services.tables.handle(&from.def)?;
        let (target, _) = services.tables.handle(&to.def)?;
        same_structure((&from.def, &source.keys), (&to.def, &target.keys))?;
        let state = statement_state(services, execution)?;
        let id = match &statement.partition {
            None => None,
            Some(partition) => Some(partition_id(&state, &to.def, &target.keys, partition)?),
        };
        let of = |state: &Arc<TableState>| -> Vec<Arc<PartDescriptor>> {
            let is_named =
                |part: &&Arc<PartDescriptor>| id.as_ref().is_none_or(|id| part.partition.name() == id);
            state.parts().filter(is_named).cloned().collect()
        };
        let copied = of(&from);
        // What comes from the table itself is there already.
        let is_same = from.def.id == to.def.id && statement.kind != TransferKind::Attach;
        let gone = match statement.kind {
            TransferKind::Replace if !is_same => (Arc::clone(&to), of(&to)),
            TransferKind::Move if !is_same => (Arc::clone(&from), copied.clone()),
            _ => (Arc::clone(&to), Vec::new()),
        };
        let may_be_empty = execution.settings.get_bool("allow_replace_partition_from_empty_source");
        if statement.kind == TransferKind::Replace && copied.is_empty() && !may_be_empty {
            let message = format!(
                "table \"{}\" has no rows in partition {}: REPLACE PARTITION would drop those of \"{}\"",
                from.def.name,
                id.unwrap_or_default(),
                to.def.name
            );
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message).with_hint(
                "DROP PARTITION drops them; allow_replace_partition_from_empty_source = 1 lets it",
            ));
        }
        let copied = if is_same { Vec::new() } else { copied };
        let (services, execution) = (Arc::clone(services), Arc::clone(execution));
        Ok(Transfer { services, execution, from, to, target, copied, gone })
    }

    async fn attempt(self) -> Result<Attempt, Error> {
        if self.copied.is_empty() && self.gone.1.is_empty() {
            return Ok(Attempt::Done);
        }
        let (table, parts) = (self.gone.0.def.id, self.gone.1.as_slice());
        let reserved = Reservation { services: &self.services, execution: &self.execution, table, parts };
        let slot = match parts.is_empty() {
            true => None,
            false => match reserve(&reserved).await? {
                Some(slot) => Some(slot),
                None => return Ok(Attempt::Waited),
            },
        };
        let uncommitted = Arc::new(UncommittedParts::new(self.target.store.clone()));
        let (services, handle) = (Arc::clone(&self.services), tokio::runtime::Handle::current());
        let (held, kept) = (Arc::new(self), Arc::clone(&uncommitted));
        let copying = Arc::clone(&held);
        let work = move || handle.block_on(copying.copy(&kept));
        let copied = services.runtimes.spawn_thread("mutation", work)?;
        copied.await.map_err(|_| Error::internal("a copy of a partition ended early"))??;
        held.execution.progress.begin_commit()?;
        let work = move || held.commit(&uncommitted);
        let joined = services.runtimes.spawn_blocking("commit", work).await;
        let done = joined.map_err(Error::ended_early)?;
        drop(slot);
        services.wake.notify_waiters();
        done
    }

    /// Writes the rows for the other table. Runs on a thread of its own: it encodes.
    async fn copy(&self, uncommitted: &UncommittedParts) -> Result<(), Error> {
        let changing = Changing {
            services: Arc::clone(&self.services),
            execution: Arc::clone(&self.execution),
            def: Arc::clone(&self.from.def),
        };
        let (mut settings, _) = sink_settings(1, &self.execution.settings, &self.execution.memory);
        (settings.collapses, settings.partitions_max) = (false, 0);
        let mut sink = PartSink::new(self.target.clone(), settings)?;
        for part in &self.copied {
            copy_rows(&changing, (&self.from, part), &self.to.def, &mut sink).await?;
        }
        uncommitted.add(sink.finish()?);
        Ok(())
    }

    fn commit(&self, uncommitted: &UncommittedParts) -> Result<Attempt, Error> {
        let (table, gone) = (self.gone.0.def.id, &self.gone.1);
        let live = |part: &Arc<PartDescriptor>| Precondition::PartLive { table, part: part.id };
        let mut preconditions: Vec<Precondition> = gone.iter().map(live).collect();
        for state in [&self.from, &self.to] {
            let (table, schema_version) = (state.def.id, state.def.schema_version);
            preconditions.push(Precondition::SchemaCompatible { table, schema_version });
        }
        let removed = gone.iter().map(|part| Op::RemovePart { table, part: part.id }).collect();
        let of = (self.services.as_ref(), self.execution.as_ref());
        let done = commit_written(of, self.to.def.id, uncommitted, (preconditions, removed))?;
        Ok(if done { Attempt::Done } else { Attempt::Lost })
    }
}
