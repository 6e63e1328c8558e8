//! INSERT: rows from text, from a body, or from a query, into a table.
//!
//! Invariant: the rows of a statement become visible by one transaction. The one place that chooses between inline rows
//! in the log, parts of a sink, a load over units, and a staged load.

use std::sync::Arc;

use arrow::array::RecordBatch;
use boundary::error::Error;
use boundary::once::claim::Claim;
use boundary::once::names::{Once, settled};
use boundary::progress::QueryProgress;
use boundary::request::{BodyStream, Rows};
use catalog::{Op, Precondition, Snapshot, TableState};
use formats::Omissions;
use futures::StreamExt;
use mergetree::write::check_rows;
use mergetree::write::collapse::collapsed_rows;
use model::TableEngine;
use physical::profile::Span;
use sql::{Insert, InsertSource};

use crate::context::execution::Execution;
use crate::context::pressure::{wait_for_flushes, wait_for_merges};
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::insert::drained::{drain_into, has_few_rows};
use crate::insert::named::Named;
use crate::insert::planned_sinks::write_planned;
use crate::insert::rows::{SentRows, encoded};
use crate::insert::sink_settings::{keep_order, partitions_max, sink_settings, sinks_of};
use crate::insert::staging::{ToStage, to_stage};
use crate::insert::values::value_rows;
use crate::insert::with_views::{self, Incoming, Replacing};
use crate::load::adopting::adoption_of;
use crate::load::staged::{self, StagedInsert};
use crate::query::load_source::{read_by_units, resumable_source};
use crate::query::select::{PlannedQuery, plan_into, stream_of};
use crate::resolve::materialized::views_of;
use sinks::commit::submit;
use sinks::frozen::{KnownSource, check_columns, known_source};
use sinks::target::SinkTarget;
use sinks::turns::Batches;
use sinks::turns::write_rows;
use sinks::uncommitted::UncommittedParts;
use tables::conform::{Conform, insert_columns};
use tables::memory::Gathered;

/// Rows of one statement up to this many bytes go into the log; more become parts and only references go there.
const INLINE_BYTES_MAX: usize = 1 << 20;

/// Runs an INSERT into a table of ours. `text` is the statement's text, which the ranges in `insert` point into.
pub(crate) async fn into_table(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    insert: &Insert,
    table: Arc<TableState>,
    text: &str,
    body: Option<BodyStream>,
) -> Result<Rows, Error> {
    let columns = insert.columns.as_deref();
    if let (Some(helping), InsertSource::Select(query)) = (&execution.helping, &insert.source) {
        let select = InsertSelect { table: &table, columns, query, text };
        let named = Named::Helping(Arc::clone(helping));
        return Box::pin(insert_select(services, execution, select, named)).await;
    }
    let claim =
        Claim::of(&execution.settings, insert, &table.def, &execution.current_database, text)?.map(Arc::new);
    let mut body = body;
    if let Some(claim) = &claim {
        body = body.map(|body| claim.watch(body));
        if repeats(&execution.snapshot, &execution.progress, claim, &mut body).await? {
            return Ok(Rows::none());
        }
    }
    let has_views = !views_of(execution, &table.def).is_empty();
    if has_views && claim.is_some() {
        return Err(Error::unsupported("a label or a token of an INSERT that materialized views see"));
    }
    if insert.overwrites && claim.is_some() {
        return Err(Error::unsupported("a label or a token of INSERT OVERWRITE"));
    }
    let replacing = Replacing { clears: insert.overwrites, also: None };
    if let (false, InsertSource::Select(query)) = (replacing.clears, &insert.source) {
        let select = InsertSelect { table: &table, columns, query, text };
        // Boxed, or the small future of VALUES would be as large as this one.
        return Box::pin(insert_select(services, execution, select, claim.map_or(Named::No, Named::Claim)))
            .await;
    }
    let (rows, handle, conform) = incoming(services, execution, insert, &table, text, body).await?;
    if has_views || replacing.clears {
        return seen_by_views(services, execution, &table, (rows, &conform), replacing).await;
    }
    insert_batches(services, execution, &table, (&handle, &conform), claim, rows).await
}

/// The rows of an INSERT as they come, the table, and how they become rows of it.
pub(crate) async fn incoming(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    insert: &Insert,
    table: &Arc<TableState>,
    text: &str,
    body: Option<BodyStream>,
) -> Result<(Batches, Arc<mergetree::Table>, Arc<Conform>), Error> {
    let columns = insert.columns.as_deref();
    let shape =
        || services.tables.insert_shape(&table.def, columns, &|| statement_state(services, execution));
    let (rows, shape) = match &insert.source {
        InsertSource::Values(range) => {
            let shape = shape()?;
            (value_rows(services, execution, &shape, &text[range.clone()], body).await?, shape)
        }
        InsertSource::Format { name, data } => {
            let sent = SentRows::arrive(services, execution, name, &text[data.clone()], body).await?;
            sent.check(&table.def, columns)?;
            let shape = shape()?;
            (sent.rows(services, execution, &shape)?, shape)
        }
        InsertSource::Select(query) => {
            let (planned, conform) =
                Box::pin(plan_rows(services, execution, table, columns, query, None)).await?;
            let rows = Box::pin(selected(services, execution, planned)).await?;
            return Ok((rows, Arc::new(services.tables.handle(&table.def)?.0), conform));
        }
        // It became a SELECT before.
        InsertSource::Infile { .. } => return Err(Error::internal("FROM INFILE was read as rows")),
    };
    Ok((rows, Arc::clone(&shape.table), Arc::clone(&shape.conform)))
}

/// Rows that go through materialized views, too.
async fn seen_by_views(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    table: &Arc<TableState>,
    (rows, conform): (Batches, &Arc<Conform>),
    replacing: Replacing,
) -> Result<Rows, Error> {
    let (settings, _) = sink_settings(services.threads, &execution.settings, &execution.memory);
    let incoming = Incoming { rows, conform: Arc::clone(conform) };
    Box::pin(with_views::run(services, execution, table, incoming, (settings, replacing))).await
}

/// Whether the statement itself took its names before, as of its snapshot. Asked before a row is read; what is taken
/// in the meantime the commit finds out.
pub(crate) async fn repeats(
    snapshot: &Snapshot,
    progress: &Arc<QueryProgress>,
    claim: &Claim,
    body: &mut Option<BodyStream>,
) -> Result<bool, Error> {
    if !claim.once().is_taken(snapshot) {
        return Ok(false);
    }
    // Only all of the data can tell this statement from another one. They are hashed and not read as rows.
    if claim.takes_body
        && let Some(mut body) = body.take()
    {
        while let Some(chunk) = body.next().await {
            chunk?;
        }
    }
    let first = claim.once().repeats(snapshot)?;
    let first = first.ok_or_else(|| Error::internal("a name is taken by no statement"))?;
    progress.set_already_loaded(first);
    Ok(true)
}

/// A table, and how rows become rows of it.
type Destination<'a> = (&'a mergetree::Table, &'a Arc<Conform>);

/// Small statements go into the log, larger ones through a sink.
async fn insert_batches(
    services: &Services,
    execution: &Execution,
    table: &Arc<TableState>,
    into: Destination<'_>,
    claim: Option<Arc<Claim>>,
    mut rows: Batches,
) -> Result<Rows, Error> {
    let (handle, conform) = into;
    let (mut held, mut bytes, mut rows_read) = (Vec::new(), 0, 0);
    let mut in_memory = Gathered::new(&execution.memory);
    while let Some(batch) = rows.next().await {
        let batch = batch?;
        if table.def.engine == TableEngine::Null {
            // Checked and counted, not kept: a body may be larger than memory.
            conform.apply_behind(rows_read, &batch)?;
            rows_read += batch.num_rows() as u64;
            execution.progress.add_written(batch.num_rows() as u64, batch.get_array_memory_size() as u64);
            continue;
        }
        if table.def.engine == TableEngine::Memory {
            in_memory.push(conform.apply_behind(rows_read, &batch)?)?;
            rows_read += batch.num_rows() as u64;
            continue;
        }
        bytes += batch.get_array_memory_size();
        held.push(batch);
        if bytes > INLINE_BYTES_MAX {
            let rest = futures::stream::iter(held.into_iter().map(Ok)).chain(rows).boxed();
            return write_parts(services, execution, table, into, claim, rest).await;
        }
    }
    let mut batches = in_memory.into_batches();
    for batch in &held {
        batches.push(conform.apply_behind(rows_read, batch)?);
        rows_read += batch.num_rows() as u64;
    }
    let bytes: usize = batches.iter().map(RecordBatch::get_array_memory_size).sum();
    if bytes > INLINE_BYTES_MAX && table.def.engine.keeps_parts() {
        // Defaults made much of little.
        let all = futures::stream::iter(held.into_iter().map(Ok)).boxed();
        return write_parts(services, execution, table, into, claim, all).await;
    }
    store_small(services, execution, table, handle, claim.as_deref(), batches).await
}

/// Rows that are too many for the log.
async fn write_parts(
    services: &Services,
    execution: &Execution,
    table: &Arc<TableState>,
    (handle, conform): Destination<'_>,
    claim: Option<Arc<Claim>>,
    rows: Batches,
) -> Result<Rows, Error> {
    wait_for_merges(&execution.snapshot, &execution.progress, table).await?;
    let (_, sinks) = sink_settings(services.threads, &execution.settings, &execution.memory);
    let sinks = sinks_of(&table.def, &execution.settings, sinks, None);
    let target =
        sink_target(services, execution, mergetree::Table::clone(handle), Arc::clone(conform), claim)?;
    write_rows(rows, sinks, &target).await?;
    commit_target(services, target).await
}

/// Rows that fit one record, or go to an engine without parts.
async fn store_small(
    services: &Services,
    execution: &Execution,
    table: &Arc<TableState>,
    handle: &mergetree::Table,
    claim: Option<&Claim>,
    batches: Vec<RecordBatch>,
) -> Result<Rows, Error> {
    let once = claim_of_rows(claim, &batches)?;
    let batches = match execution.settings.get_bool("optimize_on_insert") && !table.def.mode.is_plain() {
        true => collapsed_rows(handle, &batches, partitions_max(&execution.settings))?,
        false => batches,
    };
    let rows: u64 = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    let bytes: u64 = batches.iter().map(|batch| batch.get_array_memory_size() as u64).sum();
    let mut ops = once.as_ref().map_or_else(Vec::new, |once| once.ops(rows));
    match table.def.engine {
        TableEngine::Null => {}
        TableEngine::Memory if execution.rolls_back => {}
        TableEngine::Memory => {
            services.memory_tables_of(&execution.temporary, &table.def).append(table.def.id, batches)?
        }
        // A label is kept also when there were no rows.
        engine if engine.keeps_parts() && (rows > 0 || !ops.is_empty()) => {
            let mut encoded_bytes = 0;
            if rows > 0 {
                let (table, schema_version) = (table.def.id, table.def.schema_version);
                let encoding = execution.profile.timed(Span::Encode);
                for batch in &batches {
                    check_rows(handle, batch, partitions_max(&execution.settings))?;
                }
                let bytes = encoded(handle, &batches)?;
                drop(encoding);
                encoded_bytes = bytes.len() as u64;
                ops.push(Op::InlineRows { table, schema_version, rows, bytes });
            }
            if execution.rolls_back {
                execution.progress.add_written(rows, bytes);
                return Ok(Rows::none());
            }
            let precondition = Precondition::SchemaCompatible {
                table: table.def.id,
                schema_version: table.def.schema_version,
            };
            wait_for_flushes(&services.flushing, &execution.snapshot, &execution.progress, table).await?;
            execution.progress.begin_commit()?;
            let read_seq = execution.snapshot.seq();
            let (catalog, host) = (&handle.catalog, &handle.host);
            let preconditions = execution.kept().chain([precondition]).collect();
            let committed = submit(catalog, host, read_seq, preconditions, ops, &execution.profile).await;
            settled(committed, once.as_ref(), catalog, &execution.progress)?;
            if execution.progress.already_loaded().is_none() {
                services.flushing.note(catalog, table.def.id, encoded_bytes);
            }
        }
        engine if engine.keeps_parts() => {}
        // Rows of a table outside went another way.
        _ => return Err(Error::internal(format!("table \"{}\" keeps no rows", table.def.name))),
    }
    execution.progress.add_written(rows, bytes);
    Ok(Rows::none())
}

/// The claim of a statement all of whose rows are there.
fn claim_of_rows(claim: Option<&Claim>, batches: &[RecordBatch]) -> Result<Option<Once>, Error> {
    let Some(claim) = claim else { return Ok(None) };
    for batch in batches {
        claim.add_rows(batch)?;
    }
    Ok(Some(claim.once()))
}

fn sink_target(
    services: &Services,
    execution: &Execution,
    table: mergetree::Table,
    conform: Arc<Conform>,
    claim: Option<Arc<Claim>>,
) -> Result<Arc<SinkTarget>, Error> {
    let (settings, _) = sink_settings(services.threads, &execution.settings, &execution.memory);
    Ok(Arc::new(SinkTarget {
        uncommitted: Arc::new(UncommittedParts::new(table.store.clone())),
        table,
        conform,
        settings,
        claim,
        progress: Arc::clone(&execution.progress),
        stop: execution.progress.cancellation().child_token(),
        runtimes: services.runtimes.clone(),
        profile: Arc::clone(&execution.profile),
        part_log: Arc::clone(&services.part_log),
        started: services.host.clock.monotonic(),
        rolls_back: execution.rolls_back,
    }))
}

async fn commit_target(services: &Services, target: Arc<SinkTarget>) -> Result<Rows, Error> {
    let work = move || sinks::commit::commit_parts(&target);
    let joined = services.runtimes.spawn_blocking("commit", work).await;
    joined.map_err(Error::ended_early)??;
    services.wake.notify_waiters();
    Ok(Rows::none())
}

/// An INSERT SELECT, and the text it was read from.
pub(crate) struct InsertSelect<'a> {
    pub table: &'a Arc<TableState>,
    pub columns: Option<&'a [String]>,
    pub query: &'a sql::Query,
    pub text: &'a str,
}

pub(crate) async fn insert_select(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    select: InsertSelect<'_>,
    named: Named,
) -> Result<Rows, Error> {
    let InsertSelect { table, columns, query, text } = select;
    let has_views = has_views(execution, table, &named)?;
    let once = named.once(execution.rolls_back);
    let open = match &once {
        Some(once) => staged::open_of(&services.catalog, once, text)?,
        None => None,
    };
    let known = match (&once, &open) {
        // Nothing is left to read: not even the listing.
        (Some(once), Some(open)) if open.is_complete() && !named.is_helping() => {
            return Box::pin(staged::finish(services, execution, once, open)).await;
        }
        (_, Some(open)) => {
            check_columns(open, table, columns)?;
            known_source(open)
        }
        _ => None,
    };
    let (mut planned, conform) =
        plan_rows(services, execution, table, columns, query, known.as_ref()).await?;
    let (handle, _) = services.tables.handle(&table.def)?;
    if has_views {
        let rows = selected(services, execution, planned).await?;
        return seen_by_views(services, execution, table, (rows, &conform), Replacing::default()).await;
    }
    if !table.def.engine.keeps_parts() {
        let physical = planned.physical().await?;
        return drain_into(services, execution, table, &planned, physical, &conform).await;
    }
    let (settings, sinks) = sink_settings(services.threads, &execution.settings, &execution.memory);
    let sinks = sinks_of(&table.def, &execution.settings, sinks, Some(&planned.logical));
    planned.state.config_mut().options_mut().execution.target_partitions = sinks.max(1);
    wait_for_merges(&execution.snapshot, &execution.progress, table).await?;
    if let Some(source) = resumable_source(&planned)?
        && let (of, names) = ((table.def.as_ref(), source.as_ref()), (&named, once))
        && let Some(ToStage { once, units, to_cut, helpers }) =
            to_stage(services, execution, of, names, (open.as_deref(), text)).await?
    {
        let table = handle;
        let insert =
            StagedInsert { table, conform, source, units, to_cut, settings, sinks, once, text, helpers };
        return match named {
            Named::Helping(helping) => {
                Box::pin(staged::help(services, execution, insert, planned, &helping)).await
            }
            _ => Box::pin(staged::run(services, execution, insert, planned)).await,
        };
    }
    let claim = match named {
        Named::Claim(claim) => Some(claim),
        Named::No => None,
        Named::Resumed(_) | Named::Helping(_) => {
            return Err(Error::internal("a load that is no plain scan was staged"));
        }
    };
    read_by_units(&mut planned, sinks).await?;
    let physical = planned.physical().await?;
    if has_few_rows(physical.as_ref()) {
        let schema = physical.schema();
        let rows = stream_of(services, execution, &planned.state, physical, schema)?;
        return insert_batches(services, execution, table, (&handle, &conform), claim, rows).await;
    }
    let target = sink_target(services, execution, handle, conform, claim)?;
    write_planned(services, execution, physical, planned.state.task_ctx(), target).await
}

/// Whether materialized views see the INSERT, which has no name then.
fn has_views(execution: &Execution, table: &TableState, named: &Named) -> Result<bool, Error> {
    match (views_of(execution, &table.def).is_empty(), named) {
        (true, _) => Ok(false),
        (false, Named::No) => Ok(true),
        (false, _) => Err(Error::unsupported("a label of an INSERT that materialized views see")),
    }
}

/// The rows of a SELECT in the order in which it gives them.
async fn selected(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    mut planned: PlannedQuery,
) -> Result<Batches, Error> {
    keep_order(&mut planned, &execution.settings);
    let physical = planned.physical().await?;
    let schema = physical.schema();
    stream_of(services, execution, &planned.state, physical, schema)
}

/// An INSERT SELECT whose rows take the place of those that were there, in one transaction.
pub(crate) async fn replace(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    select: InsertSelect<'_>,
    replacing: Replacing,
) -> Result<Rows, Error> {
    let InsertSelect { table, columns, query, .. } = select;
    let (planned, conform) = plan_rows(services, execution, table, columns, query, None).await?;
    let rows = selected(services, execution, planned).await?;
    seen_by_views(services, execution, table, (rows, &conform), replacing).await
}

/// The SELECT planned, and how its rows become rows of the table.
async fn plan_rows(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    table: &Arc<TableState>,
    columns: Option<&[String]>,
    query: &sql::Query,
    known: Option<&KnownSource>,
) -> Result<(PlannedQuery, Arc<Conform>), Error> {
    let target = insert_columns(&table.def, columns)?;
    let planned = plan_into(services, execution, query, known, &target).await?;
    let omissions = Omissions::of(planned.logical.schema().as_arrow())?;
    let defaults = services.tables.defaults(&table.def, &|| statement_state(services, execution))?;
    let nulls_fit = execution.settings.get_bool("insert_null_as_default");
    let (constraints, _) =
        services.tables.constraints(&table.def, &|| statement_state(services, execution))?;
    let conform = Conform::new(&table.def, columns, omissions.width, &defaults)?;
    let conform = conform.with_null_as_default(nulls_fit).with_omissions(omissions);
    Ok((planned, Arc::new(conform.with_constraints(constraints))))
}

/// What EXPLAIN LOAD says of the pages that an INSERT SELECT would copy.
pub(crate) async fn adoption_lines(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    table: &Arc<TableState>,
    columns: Option<&[String]>,
    query: &sql::Query,
) -> Result<Vec<String>, Error> {
    let (mut planned, conform) = plan_rows(services, execution, table, columns, query, None).await?;
    let (handle, _) = services.tables.handle(&table.def)?;
    let (_, sinks) = sink_settings(services.threads, &execution.settings, &execution.memory);
    planned.state.config_mut().options_mut().execution.target_partitions = sinks.max(1);
    read_by_units(&mut planned, sinks).await?;
    let physical = planned.physical().await?;
    match adoption_of(services, execution, &physical, (&handle, &conform), None) {
        Ok(adoption) => Ok(adoption.report().await?),
        Err(why) => Ok(vec![format!("Adoption: none, {why}")]),
    }
}
