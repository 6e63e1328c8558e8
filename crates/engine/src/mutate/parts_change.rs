//! ALTER TABLE .. DETACH, ATTACH and DROP DETACHED: parts go out of sight, come back, or are given up.
//!
//! What is detached keeps its file and is named by the definition. What is attached is written anew: its rows are inserted now, and
//! a part says in its footer since when. Invariant: all commands of a statement are one transaction, decided on one snapshot.
//! Must not know: how parts are written, and which parts a command names (`tables`).

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use boundary::ledgers::part_log::committed_part;
use boundary::request::Rows;
use boundary::text_rows::text_rows;
use catalog::TableState;
use mergetree::Table;
use mergetree::write::PartSink;
use model::{ErrorCode, PartDescriptor, SealedPart};
use sql::{PartsChange, PartsChangeKind};

use super::freeze::{self, with_rows};
use super::rows::Changing;
use super::run::{Reservation, TRIES_MAX, commit_written, flush, reserve};
use super::transfer::copy_rows;
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::insert::sink_settings::sink_settings;
use sinks::uncommitted::UncommittedParts;
use tables::parts_change::{Chosen, check_engine, chosen, transaction, within};

/// Runs the statement as one transaction.
pub(crate) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    change: &PartsChange,
) -> Result<Rows, Error> {
    if matches!(change.kind, PartsChangeKind::Freeze { .. } | PartsChangeKind::Unfreeze { .. }) {
        return freeze::run(services, execution, change).await;
    }
    let settings = &execution.settings;
    if change.kind == PartsChangeKind::DropDetached && !settings.get_bool("allow_drop_detached") {
        let message = "DROP DETACHED deletes rows that nothing else has";
        return Err(Error::new(ErrorKind::Unsupported, ErrorCode::SUPPORT_IS_DISABLED, message)
            .with_hint("SETTINGS allow_drop_detached = 1 lets it"));
    }
    let mut tries = 0;
    while tries < TRIES_MAX {
        let state = with_rows(&execution.at_newest_snapshot(&services.catalog), change)?;
        check_engine(&state.def)?;
        if change.kind == PartsChangeKind::Detach {
            flush(services, &state).await?;
        }
        let execution = execution.at_newest_snapshot(&services.catalog);
        let attempt = Attempt::checked(services, &execution, change)?;
        if attempt.chosen.is_empty() {
            return answer(&attempt, &[]);
        }
        let reserved = Reservation {
            services,
            execution: &execution,
            table: attempt.state.def.id,
            parts: &attempt.seen(),
        };
        let slot = match reserved.parts.is_empty() {
            true => None,
            false => match reserve(&reserved).await? {
                Some(slot) => Some(slot),
                // Somebody had a part, who was waited for.
                None => continue,
            },
        };
        let attempt = Arc::new(attempt);
        let done = Arc::clone(&attempt).carried_out().await?;
        drop(slot);
        services.wake.notify_waiters();
        match done {
            Some(written) => return answer(&attempt, &written),
            None => tries += 1,
        }
    }
    let message = "parts and columns were changed by others faster than they could be detached or attached";
    Err(Error::new(ErrorKind::Conflict, ErrorCode::ABORTED, message)
        .with_hint("nothing has changed; try again"))
}

/// The parts that took the place of one that was detached, by its place among those chosen.
type Written = (usize, Vec<SealedPart>);

/// A statement held against the table at one snapshot.
struct Attempt {
    services: Arc<Services>,
    execution: Arc<Execution>,
    change: PartsChange,
    state: Arc<TableState>,
    table: Table,
    chosen: Vec<Chosen>,
}

impl Attempt {
    fn checked(
        services: &Arc<Services>,
        execution: &Arc<Execution>,
        change: &PartsChange,
    ) -> Result<Attempt, Error> {
        let state = with_rows(execution, change)?;
        let (table, _) = services.tables.handle(&state.def)?;
        let asking = statement_state(services, execution)?;
        let within = change.parts.iter().map(|named| within(&asking, &state.def, &table.keys, named));
        let chosen = chosen(&state, &change.kind, &within.collect::<Result<Vec<_>, _>>()?)?;
        let (services, execution) = (Arc::clone(services), Arc::clone(execution));
        Ok(Attempt { services, execution, change: change.clone(), state, table, chosen })
    }

    /// The parts that are read until the statement is done with them.
    fn seen(&self) -> Vec<Arc<PartDescriptor>> {
        match self.change.kind {
            PartsChangeKind::Detach => self.chosen.iter().map(|(_, part)| Arc::clone(part)).collect(),
            _ => Vec::new(),
        }
    }

    /// What was written, or `None` if somebody was faster.
    async fn carried_out(self: Arc<Self>) -> Result<Option<Vec<Written>>, Error> {
        let uncommitted = Arc::new(UncommittedParts::new(self.table.store.clone()));
        let mut sealed = Vec::new();
        if self.change.kind == PartsChangeKind::Attach {
            let (held, kept) = (Arc::clone(&self), Arc::clone(&uncommitted));
            let handle = tokio::runtime::Handle::current();
            let work = move || handle.block_on(held.copy(&kept));
            let copied = self.services.runtimes.spawn_thread("mutation", work)?;
            sealed = copied.await.map_err(|_| Error::internal("a copy of parts ended early"))??;
        }
        self.execution.progress.begin_commit()?;
        let held = Arc::clone(&self);
        let work = move || Ok(held.commit(&uncommitted)?.then_some(sealed));
        let joined = self.services.runtimes.spawn_blocking("commit", work).await;
        joined.map_err(Error::ended_early)?
    }

    /// Writes the rows of each part anew. Runs on a thread of its own: it encodes.
    async fn copy(&self, uncommitted: &UncommittedParts) -> Result<Vec<Written>, Error> {
        let def = &self.state.def;
        let changing = Changing {
            services: Arc::clone(&self.services),
            execution: Arc::clone(&self.execution),
            def: Arc::clone(def),
        };
        let (mut settings, _) = sink_settings(1, &self.execution.settings, &self.execution.memory);
        (settings.collapses, settings.partitions_max) = (false, 0);
        let mut written = Vec::new();
        for (place, (_, part)) in self.chosen.iter().enumerate() {
            let mut sink = PartSink::new(self.table.clone(), settings.clone())?;
            copy_rows(&changing, (&self.state, part), def, &mut sink).await?;
            let parts = sink.finish()?;
            uncommitted.add(parts.clone());
            written.push((place, parts));
        }
        Ok(written)
    }

    /// Whether it is committed; otherwise somebody was faster.
    fn commit(&self, uncommitted: &UncommittedParts) -> Result<bool, Error> {
        let (services, execution, kind) = (&self.services, &self.execution, &self.change.kind);
        let table = self.state.def.id;
        let has_tokens = services.catalog.snapshot().has_tokens(table);
        let forgets = *kind == PartsChangeKind::Detach && has_tokens;
        let decided = transaction(&self.state, kind, &self.chosen, forgets);
        commit_written((services, execution), table, uncommitted, decided)
    }
}

/// What `alter_partition_verbose_result` asks for: parts that were attached, by their names before and now.
fn answer(attempt: &Attempt, written: &[Written]) -> Result<Rows, Error> {
    let Attempt { services, execution, change, state, chosen, .. } = attempt;
    if !execution.settings.get_bool("alter_partition_verbose_result") {
        return Ok(Rows::none());
    }
    if written.is_empty() {
        return text_rows(["command_type", "partition_id", "part_name"], Vec::new());
    }
    let snapshot = services.catalog.snapshot();
    let now = snapshot.table_by_id(state.def.id);
    let rows = written.iter().flat_map(|(place, parts)| parts.iter().map(move |part| (place, part)));
    let row = |(place, sealed): (&usize, &SealedPart)| {
        let (command, before) = &chosen[*place];
        let part = now.as_ref().and_then(|now| committed_part(now, sealed.descriptor().id));
        [
            change.kind.command_type(&change.parts[*command]),
            before.partition.name().to_owned(),
            part.map(|part| part.name()).unwrap_or_default(),
            before.name(),
        ]
    };
    text_rows(["command_type", "partition_id", "part_name", "old_part_name"], rows.map(row).collect())
}
