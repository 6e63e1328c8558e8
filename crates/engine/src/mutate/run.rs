//! A mutation from its check to its commit.
//!
//! Invariant: what it changes is what its snapshot showed. A merge that holds a part is waited for, and one that came first
//! makes it begin anew; neither loses the other's work.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use boundary::error::{Error, ErrorKind};
use boundary::ledgers::mutations::EndedMutation;
use boundary::ledgers::part_log::{PartEvent, PartEventKind, committed_part};
use catalog::{Op, Precondition, TableState};
use futures::{StreamExt, TryStreamExt};
use mergetree::merge::running::MergeSlot;
use mergetree::merge::{MergePlan, MergeReason};
use model::{ErrorCode, PartDescriptor, PartId, SealedPart, TableEngine, TableId};
use sql::{Mutation, RowChange, RowCommand, Settings};

use super::memory;
use super::part::{Outcome, Rewriting};
use super::rows::Changing;
use crate::background::following;
use crate::background::merging::flush_table;
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::resolve::materialized::destination_of;
use sinks::commit::commit;
use sinks::uncommitted::UncommittedParts;
use tables::changes::checked;
use tables::changes::{Change, Kind, Within};

/// How often it begins anew because merges came first.
pub(super) const TRIES_MAX: usize = 50;

/// How often it loses against merges before those of other servers are asked to rest.
const LOST_MAX: usize = 2;

/// For how long a merge that holds a part is left alone before it is looked at again.
const WAIT: Duration = Duration::from_millis(20);

/// Runs the commands as one transaction.
pub(crate) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    mutation: &Mutation,
) -> Result<(), Error> {
    let begun = services.now_ms();
    let mutation = &of_rows(services, execution, mutation)?;
    let is_ttl = |command: &RowCommand| matches!(command.change, RowChange::MaterializeTtl { .. });
    let by_server = mutation.commands.iter().any(is_ttl);
    // What is too old is nothing that a session decides.
    let database = execution.resolve(&mutation.table).0;
    let server = by_server.then(|| execution.as_first_run(Settings::session(), database));
    let execution = server.as_ref().unwrap_or(execution);
    let (mut tries, mut resting) = (0, None);
    while tries < TRIES_MAX {
        let state = execution.at_newest_snapshot(&services.catalog).table(&mutation.table)?;
        match state.def.engine {
            TableEngine::MergeTree | TableEngine::SharedMemory | TableEngine::Join => {}
            TableEngine::Memory => return memory::run(services, execution, mutation, &state).await,
            engine => {
                let message = format!("Mutations are not supported by storage {}", engine.name());
                return Err(Error::new(ErrorKind::Unsupported, ErrorCode::NOT_IMPLEMENTED, message)
                    .with_hint("rows of MergeTree and Memory tables can be changed"));
            }
        }
        flush(services, &state).await?;
        // Rows that come from here on are for the next statement.
        let execution = execution.at_newest_snapshot(&services.catalog);
        let state = execution.table(&mutation.table)?;
        let (table, _) = services.tables.handle(&state.def)?;
        let asking = statement_state(services, &execution)?;
        let changes = checked(&asking, mutation, &state.def, &table.keys)?;
        refuse_unknown_parts(&state, &changes)?;
        let rewriting = Rewriting {
            table: services.tables.rewriting_handle(&state.def, &|| statement_state(services, &execution))?,
            changing: Changing {
                services: Arc::clone(services),
                execution: Arc::clone(&execution),
                def: Arc::clone(&state.def),
            },
            state,
            changes,
        };
        let table = rewriting.state.def.id;
        match attempt(Arc::new(rewriting)).await? {
            Attempt::Done { parts } => {
                log(services, &execution, mutation, begun, parts);
                return Ok(());
            }
            // Others are done by now, so somebody gets ahead.
            Attempt::Waited => {}
            Attempt::Lost => {
                tries += 1;
                if resting.is_none() && tries >= LOST_MAX {
                    let asking = Arc::clone(services);
                    let rest = move || following::rest_elsewhere(&asking, table);
                    resting = services.runtimes.spawn_blocking("beat", rest).await.ok().flatten();
                }
            }
        }
    }
    Err(Error::new(
        ErrorKind::Conflict,
        ErrorCode::ABORTED,
        "parts were merged faster than they could be changed",
    )
    .with_hint("nothing has changed; try again"))
}

/// The rows of a materialized view are those of the table they went to.
fn of_rows(services: &Services, execution: &Arc<Execution>, mutation: &Mutation) -> Result<Mutation, Error> {
    // Another server may have made the table a moment ago.
    let execution = execution.at_newest_snapshot(&services.catalog);
    let def = Arc::clone(&execution.table(&mutation.table)?.def);
    let table = match def.engine {
        TableEngine::MaterializedView => destination_of(&def)?,
        _ => mutation.table.clone(),
    };
    Ok(Mutation { table, ..mutation.clone() })
}

/// What one try came to.
enum Attempt {
    /// It is committed; so many parts changed.
    Done { parts: usize },
    /// Somebody had a part, who was waited for.
    Waited,
    /// Somebody was faster.
    Lost,
}

/// Makes the rows that are there now rows of parts.
pub(super) async fn flush(services: &Arc<Services>, state: &Arc<TableState>) -> Result<(), Error> {
    if state.inline_count() == 0 {
        return Ok(());
    }
    let (held, table) = (Arc::clone(services), state.def.id);
    let work = move || flush_table(&held, table);
    services.runtimes.spawn_blocking("flush", work).await.map_err(Error::ended_early)?
}

fn refuse_unknown_parts(state: &TableState, changes: &[Change]) -> Result<(), Error> {
    for change in changes {
        if let Within::Part(name) = &change.within
            && !state.parts().any(|part| part.name() == *name)
        {
            let message = format!("no part {name} in table \"{}\"", state.def.name);
            return Err(Error::new(ErrorKind::UnknownObject, ErrorCode::NO_SUCH_DATA_PART, message)
                .with_hint("system.parts has the names of parts; a merge gives others"));
        }
    }
    Ok(())
}

async fn attempt(rewriting: Arc<Rewriting>) -> Result<Attempt, Error> {
    rewriting.check().await?;
    let services = &rewriting.changing.services;
    let found: Vec<Option<Arc<PartDescriptor>>> = futures::stream::iter(rewriting.state.parts().cloned())
        .map(|part| {
            let rewriting = Arc::clone(&rewriting);
            async move { Ok::<_, Error>(rewriting.touches(&part).await?.then_some(part)) }
        })
        .buffered(services.threads.max(1))
        .try_collect()
        .await?;
    let touched: Vec<Arc<PartDescriptor>> = found.into_iter().flatten().collect();
    if touched.is_empty() {
        return Ok(Attempt::Done { parts: 0 });
    }
    let (table, execution) = (rewriting.state.def.id, rewriting.changing.execution.as_ref());
    let Some(_slot) = reserve(&Reservation { services, execution, table, parts: &touched }).await? else {
        return Ok(Attempt::Waited);
    };
    let uncommitted = Arc::new(UncommittedParts::new(rewriting.table.store.clone()));
    let mut written = futures::stream::iter(touched)
        .map(|part| on_a_thread(Arc::clone(&rewriting), part, Arc::clone(&uncommitted)))
        .buffer_unordered(services.threads.max(1));
    let mut replaced: Vec<Arc<PartDescriptor>> = Vec::new();
    while let Some(done) = written.next().await {
        replaced.extend(done?);
    }
    drop(written);
    commit_parts(&rewriting, replaced, &uncommitted).await
}

/// Parts that a statement takes away.
pub(super) struct Reservation<'a> {
    pub services: &'a Services,
    pub execution: &'a Execution,
    pub table: TableId,
    pub parts: &'a [Arc<PartDescriptor>],
}

/// Keeps merges and other mutations away from the parts; `None` if they are not all there any more.
pub(super) async fn reserve(asked: &Reservation<'_>) -> Result<Option<MergeSlot>, Error> {
    let (services, table) = (asked.services, asked.table);
    let ids: HashSet<PartId> = asked.parts.iter().map(|part| part.id).collect();
    loop {
        if asked.execution.progress.is_cancelled() {
            return Err(Error::cancelled());
        }
        let now = services.host.clock.monotonic();
        let slot = services.merges.enter_mutation(table, reservation(asked.parts), now);
        let state = services.catalog.snapshot().table_by_id(table);
        if !state.is_some_and(|state| ids.iter().all(|id| state.part(*id).is_some())) {
            return Ok(None);
        }
        if slot.is_some() {
            return Ok(slot);
        }
        // Somebody has one of them; when that ends, the parts are others.
        tokio::time::sleep(WAIT).await;
    }
}

fn reservation(touched: &[Arc<PartDescriptor>]) -> MergePlan {
    MergePlan {
        inputs: touched.iter().map(|part| part.id).collect(),
        partition: touched.first().map_or_else(model::PartitionValue::all, |part| part.partition.clone()),
        rows_total: touched.iter().map(|part| part.rows).sum(),
        bytes_total: touched.iter().map(|part| part.bytes).sum(),
        level: touched.iter().map(|part| part.level).max().unwrap_or(0),
        reason: MergeReason::Mutation,
    }
}

/// The part, if it is replaced; what takes its place is among the uncommitted ones.
async fn on_a_thread(
    rewriting: Arc<Rewriting>,
    part: Arc<PartDescriptor>,
    uncommitted: Arc<UncommittedParts>,
) -> Result<Option<Arc<PartDescriptor>>, Error> {
    let handle = tokio::runtime::Handle::current();
    let runtimes = rewriting.changing.services.runtimes.clone();
    let work = move || match handle.block_on(rewriting.rewrite(&part))? {
        Outcome::Stays => Ok(None),
        Outcome::Goes => Ok(Some(part)),
        Outcome::Becomes(sealed) => {
            uncommitted.add(vec![*sealed]);
            Ok(Some(part))
        }
    };
    let written = runtimes.spawn_thread("mutation", work)?;
    written.await.map_err(|_| Error::internal("a mutation ended early"))?
}

async fn commit_parts(
    rewriting: &Arc<Rewriting>,
    replaced: Vec<Arc<PartDescriptor>>,
    uncommitted: &Arc<UncommittedParts>,
) -> Result<Attempt, Error> {
    let parts = replaced.len();
    if parts == 0 {
        return Ok(Attempt::Done { parts });
    }
    rewriting.changing.execution.progress.begin_commit()?;
    let (held, kept) = (Arc::clone(rewriting), Arc::clone(uncommitted));
    let work = move || {
        let (services, execution) = (&held.changing.services, &held.changing.execution);
        let table = held.state.def.id;
        let written: Vec<SealedPart> = kept.take();
        let live = |part: &Arc<PartDescriptor>| Precondition::PartLive { table, part: part.id };
        let mut preconditions: Vec<Precondition> = replaced.iter().map(live).collect();
        let schema_version = held.state.def.schema_version;
        preconditions.push(Precondition::SchemaCompatible { table, schema_version });
        let removed = replaced.iter().map(|part| Op::RemovePart { table, part: part.id });
        let mut ops: Vec<Op> = removed.chain(written.iter().cloned().map(Op::AddPart)).collect();
        // What was in a partition that is gone may be inserted again.
        let drops = held.changes.iter().any(|change| change.kind == Kind::Drop);
        if drops && services.catalog.snapshot().has_tokens(table) {
            ops.push(Op::ForgetTokens { table });
        }
        let profile = Some(execution.profile.as_ref());
        let read_seq = execution.snapshot.seq();
        let committed = commit(&services.catalog, &services.host, read_seq, preconditions, ops, profile);
        match committed {
            Ok(_) => {
                log_parts((services, execution), (PartEventKind::MutatePart, table), &replaced, &written);
                Ok(Attempt::Done { parts })
            }
            // A durable record may name them.
            Err(error) if error.kind == ErrorKind::OutcomeUnknown => Err(error),
            Err(error) => {
                kept.add(written);
                kept.discard();
                if error.kind == ErrorKind::Conflict { Ok(Attempt::Lost) } else { Err(error) }
            }
        }
    };
    let services = &rewriting.changing.services;
    let joined = services.runtimes.spawn_blocking("commit", work).await;
    let done = joined.map_err(Error::ended_early)?;
    services.wake.notify_waiters();
    done
}

/// Commits parts that were written, beside other ops; false if somebody was faster, and they are where they were.
pub(super) fn commit_written(
    (services, execution): (&Services, &Execution),
    table: TableId,
    uncommitted: &UncommittedParts,
    (preconditions, mut ops): (Vec<Precondition>, Vec<Op>),
) -> Result<bool, Error> {
    let written: Vec<SealedPart> = uncommitted.take();
    ops.extend(written.iter().cloned().map(Op::AddPart));
    let (read_seq, profile) = (execution.snapshot.seq(), Some(execution.profile.as_ref()));
    match commit(&services.catalog, &services.host, read_seq, preconditions, ops, profile) {
        Ok(_) => {
            log_parts((services, execution), (PartEventKind::NewPart, table), &[], &written);
            Ok(true)
        }
        // A durable record may name them.
        Err(error) if error.kind == ErrorKind::OutcomeUnknown => Err(error),
        Err(error) => {
            uncommitted.add(written);
            if error.kind == ErrorKind::Conflict { Ok(false) } else { Err(error) }
        }
    }
}

/// One event for each part that is new, or took the place of one of these.
pub(super) fn log_parts(
    (services, execution): (&Services, &Execution),
    (kind, table): (PartEventKind, TableId),
    replaced: &[Arc<PartDescriptor>],
    written: &[SealedPart],
) {
    let snapshot = services.catalog.snapshot();
    let Some(state) = snapshot.table_by_id(table) else { return };
    for sealed in written.iter().map(SealedPart::descriptor) {
        let named = committed_part(&state, sealed.id);
        let part = named.as_deref().unwrap_or(sealed);
        let before = replaced.iter().filter(|before| before.blocks == sealed.blocks);
        services.part_log.push(PartEvent {
            duration: execution.profile.elapsed(),
            merged_from: before.map(|part| part.name()).collect(),
            memory_peak: execution.memory.peak(),
            query_id: execution.query_id.clone(),
            ..PartEvent::of(kind, &snapshot, &state.def, part, services.now_ms())
        });
    }
}

fn log(services: &Services, execution: &Execution, mutation: &Mutation, begun: u64, parts: usize) {
    let (database, table) = execution.resolve(&mutation.table);
    for command in &mutation.commands {
        // Whole partitions go without a mutation, as in ClickHouse; and what nobody said is none.
        let is_said = !command.text.is_empty();
        if is_said && !matches!(command.change, RowChange::DropPartition | RowChange::DropPart { .. }) {
            services.mutations.push(EndedMutation {
                database: database.to_owned(),
                table: table.to_owned(),
                command: command.text.clone(),
                begun_ms: begun,
                parts,
            });
        }
    }
}
