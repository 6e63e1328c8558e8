//! A load with a label that goes on where it stopped, after an error or a crash.
//!
//! ```text
//! StageOpen (files, versions, units frozen) -> StageAdd (units, their parts) ... -> StagePublish + Label
//! ```
//! Invariant: nothing of the load is seen before all of it is; a unit whose parts are staged is not read again. A load
//! that stops stays open, and its error says how to go on. Must not know: what a statement that is no plain scan does.

pub(crate) mod frozen;
pub(crate) mod sink;

use std::sync::Arc;

use catalog::{Op, StagedLoad};
use datafusion::common::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use load::{LoadPlan, Unit};
use mergetree::write::SinkSettings;
use model::{DatabaseId, Label, LoadId, Seq};
use sources::{ObjectTable, SourceUnit};

use crate::commit::submit;
use crate::conform::Conform;
use crate::context::StatementContext;
use crate::error::{Error, ErrorKind};
use crate::exec::unit_ends::UnitEnds;
use crate::exec::unit_table::UnitTable;
use crate::load_source::{UNIT_BYTES, read_instead, unit_of};
use crate::loads::{LoadAttempt, LoadEnd};
use crate::once::{Once, settled};
use crate::query::PlannedQuery;
use crate::request::Rows;
use crate::sink_target::SinkTarget;
use crate::statement_text::masked;
use crate::uncommitted::UncommittedParts;
use frozen::{freeze, thaw};
use sink::{Staging, write_units};

/// An INSERT SELECT that only projects one source, and has a label.
pub(crate) struct StagedInsert<'a> {
    pub table: mergetree::Table,
    pub conform: Arc<Conform>,
    pub source: Arc<ObjectTable>,
    pub settings: SinkSettings,
    pub sinks: usize,
    pub once: Once,
    /// The whole statement, for RESUME LOAD.
    pub text: &'a str,
}

/// Opens a load, or goes on with the one that is open under the label, to its end.
pub(crate) async fn run(
    context: &Arc<StatementContext>,
    insert: StagedInsert<'_>,
    planned: PlannedQuery,
) -> Result<Rows, Error> {
    let label = insert.once.label.clone();
    let label = label.ok_or_else(|| Error::internal("a load without a label was staged"))?;
    let (catalog, history) = (&context.database.catalog, &context.database.loads);
    let found = catalog.snapshot().load_labelled(insert.once.database, &label);
    if let Some(open) = &found {
        check_same(open, &insert)?;
    }
    let random = &context.database.host.random;
    let fresh = || LoadId::from_random_bytes(host::random::uuid_bytes(random.as_ref()));
    let id = found.as_ref().map_or_else(fresh, |open| open.id);
    let begun = history.begin(id, &context.query_id, &context.progress);
    let attempt = begun.map_err(|query_id| at_work(&label, &query_id))?;
    // Looked at again: only from here on nobody else adds to it.
    let open = catalog.snapshot().load(id);
    if found.is_some() && open.is_none() {
        history.forget(id);
        let message = format!("load \"{label}\" ended in this moment", label = label.as_str());
        return Err(Error::new(ErrorKind::Conflict, 1002, message).with_hint("run the statement again"));
    }
    let prepared = match prepare(&insert, planned, open.as_deref(), &attempt).await {
        Ok(prepared) => prepared,
        Err(error) => {
            match open {
                Some(_) => history.failed(id, &error),
                None => history.forget(id),
            }
            return Err(error);
        }
    };
    if let Some(open) = &open {
        let (done, all) = (open.covered_count(), open.units.len());
        context.warn(format!("load '{}' goes on: {done} of {all} units were staged before", label.as_str()));
    }
    let load = Load { id, label, is_new: open.is_none(), attempt };
    match load.execute(context, insert, prepared).await {
        Ok(()) => Ok(Rows::none()),
        Err(error) => Err(stopped(context, id, error).await),
    }
}

/// The open load of a label must be this statement's.
fn check_same(open: &StagedLoad, insert: &StagedInsert<'_>) -> Result<(), Error> {
    let label = open.label.as_str();
    if open.fingerprint == insert.once.fingerprint && open.table == insert.table.def.id {
        return Ok(());
    }
    let message = format!(
        "label \"{label}\" belongs to an unfinished load of another statement ({}), not to this one ({})",
        open.statement.trim(),
        masked(insert.text).trim()
    );
    Err(Error::new(ErrorKind::AlreadyExists, 36, message).with_hint(format!(
        "finish it with RESUME LOAD '{label}', give it up with CANCEL LOAD '{label}', or choose another label"
    )))
}

fn at_work(label: &Label, query_id: &str) -> Error {
    let message = format!("load \"{}\" is being run by query {query_id}", label.as_str());
    Error::new(ErrorKind::Conflict, 1002, message).with_hint("wait for it; system.loads shows how far it is")
}

/// What an attempt is going to do.
struct Prepared {
    /// All units of the load, by number.
    units: Vec<SourceUnit>,
    ends: Arc<UnitEnds>,
    physical: Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
}

/// Plans to read what is left. Nothing is written yet.
async fn prepare(
    insert: &StagedInsert<'_>,
    mut planned: PlannedQuery,
    open: Option<&StagedLoad>,
    attempt: &LoadAttempt,
) -> Result<Prepared, Error> {
    let units = match open {
        Some(load) => thaw(load, insert.source.files())?,
        None => insert.source.units(UNIT_BYTES).await?,
    };
    let covered = |unit: &Unit| open.is_some_and(|load| load.is_covered(unit.id.0));
    let left: Vec<Unit> = units.iter().enumerate().map(unit_of).filter(|unit| !covered(unit)).collect();
    let unread: Vec<SourceUnit> =
        left.iter().filter_map(|unit| units.get(unit.id.0 as usize).cloned()).collect();
    insert.source.expect(&unread, None).await?;
    let ends = Arc::new(UnitEnds::new(insert.sinks, Arc::clone(&attempt.read)));
    let plan = LoadPlan::new(left);
    let table = UnitTable::new(Arc::clone(&insert.source), units.clone(), &plan, insert.sinks);
    read_instead(&mut planned, table.with_ends(Arc::clone(&ends)))?;
    let physical = planned.physical().await?;
    if !keeps_streams(physical.as_ref(), insert.sinks) {
        return Err(Error::internal("the plan of a load mixes the rows of its streams"));
    }
    Ok(Prepared { units, ends, physical, task: planned.state.task_ctx() })
}

/// Whether every stream of the scan reaches one sink.
fn keeps_streams(plan: &dyn ExecutionPlan, streams: usize) -> bool {
    let same = plan.properties().partitioning.partition_count() == streams;
    same && plan.name() != "RepartitionExec"
        && match plan.children().as_slice() {
            [] => true,
            [child] => keeps_streams(&***child, streams),
            _ => false,
        }
}

/// One attempt at a load.
struct Load {
    id: LoadId,
    label: Label,
    is_new: bool,
    attempt: Arc<LoadAttempt>,
}

impl Load {
    async fn execute(
        &self,
        context: &Arc<StatementContext>,
        insert: StagedInsert<'_>,
        prepared: Prepared,
    ) -> Result<(), Error> {
        if self.is_new {
            self.open(context, &insert, &prepared.units).await?;
        }
        context.progress.watch(&prepared.physical);
        let once = insert.once.clone();
        let inputs = (0..insert.sinks)
            .map(|stream| prepared.physical.execute(stream, Arc::clone(&prepared.task)))
            .collect::<Result<Vec<_>, DataFusionError>>()?;
        let stop = context.progress.cancellation().child_token();
        // Sinks stop at their next batch when this future goes away.
        let stopping = stop.clone().drop_guard();
        let staging = Arc::new(Staging {
            load: self.id,
            target: self.target(context, insert),
            ends: prepared.ends,
            stage_bytes_min: context.settings.get_u64("load_stage_min_bytes"),
            stop,
            attempt: Arc::clone(&self.attempt),
        });
        let sinks = inputs
            .into_iter()
            .enumerate()
            .map(|(stream, input)| write_units(input, Arc::clone(&staging), stream));
        // All of them, also after an error: nothing is added once the statement has been answered.
        let written = futures::future::join_all(sinks).await;
        let failed: Vec<Error> = written.into_iter().filter_map(Result::err).collect();
        let cause = failed.iter().find(|error| error.kind != ErrorKind::Cancelled).or(failed.first());
        if let Some(error) = cause {
            return Err(error.clone());
        }
        stopping.disarm();
        self.publish(context, &once).await
    }

    /// Freezes what the load reads, and takes its label.
    async fn open(
        &self,
        context: &Arc<StatementContext>,
        insert: &StagedInsert<'_>,
        units: &[SourceUnit],
    ) -> Result<(), Error> {
        let (files, units) = freeze(insert.source.files(), units)?;
        let open = Op::StageOpen {
            load: self.id,
            database: insert.once.database,
            label: self.label.clone(),
            table: insert.table.def.id,
            fingerprint: insert.once.fingerprint,
            schema_version: insert.table.def.schema_version,
            // Credentials do not go into the log.
            statement: masked(insert.text).into(),
            files,
            units,
        };
        commit_ops(context, vec![open]).await.map(drop)
    }

    fn target(&self, context: &Arc<StatementContext>, insert: StagedInsert<'_>) -> SinkTarget {
        SinkTarget {
            uncommitted: Arc::new(UncommittedParts::new(insert.table.store.clone())),
            table: insert.table,
            conform: insert.conform,
            settings: SinkSettings { load: Some(self.id), ..insert.settings },
            claim: None,
            progress: Arc::clone(&context.progress),
            stop: context.progress.cancellation().child_token(),
            runtimes: context.database.runtimes.clone(),
            profile: Arc::clone(&context.profile),
            part_log: Arc::clone(&context.database.part_log),
            started: context.database.host.clock.monotonic(),
            rolls_back: false,
        }
    }

    /// Makes all rows visible at one `Seq`, and the label used.
    async fn publish(&self, context: &Arc<StatementContext>, once: &Once) -> Result<(), Error> {
        let database = &context.database;
        let staged = database.catalog.snapshot().load(self.id);
        let staged = staged.ok_or_else(|| given_up(&self.label))?;
        let mut ops = vec![Op::StagePublish { load: self.id }];
        ops.extend(once.ops(staged.rows()));
        context.progress.begin_commit()?;
        let committed = commit_ops(context, ops).await;
        settled(committed, Some(once), &database.catalog, &context.progress)?;
        let mut end = LoadEnd::Finished;
        if database.catalog.snapshot().load(self.id).is_some() {
            // Another statement took the token meanwhile, with the same rows: these are not needed.
            commit_ops(context, vec![Op::StageAbort { load: self.id }]).await?;
            end = LoadEnd::Cancelled;
        }
        database.loads.ended(staged, end, context.now_ms(), None);
        database.wake.notify_waiters();
        Ok(())
    }
}

fn given_up(label: &Label) -> Error {
    let message = format!("load \"{}\" was given up, or its table was dropped or emptied", label.as_str());
    Error::new(ErrorKind::Conflict, 1002, message)
}

async fn commit_ops(context: &Arc<StatementContext>, ops: Vec<Op>) -> Result<Seq, Error> {
    let (catalog, host) = (&context.database.catalog, &context.database.host);
    submit(catalog, host, catalog.snapshot().seq(), Vec::new(), ops, &context.profile).await
}

/// What to say of a load that did not come to its end. One that will not get further by itself, and of which nothing is
/// staged, is no use to anyone: its label is freed.
async fn stopped(context: &Arc<StatementContext>, id: LoadId, error: Error) -> Error {
    let database = &context.database;
    let Some(open) = database.catalog.snapshot().load(id) else {
        database.loads.forget(id);
        return error;
    };
    let needs_change = matches!(
        error.kind,
        ErrorKind::BadInput | ErrorKind::Syntax | ErrorKind::UnknownObject | ErrorKind::Unsupported
    );
    if needs_change
        && open.covered_count() == 0
        && commit_ops(context, vec![Op::StageAbort { load: id }]).await.is_ok()
    {
        database.loads.ended(open, LoadEnd::Failed, context.now_ms(), Some(error.clone()));
        return error;
    }
    database.loads.failed(id, &error);
    let (label, done, all) = (open.label.as_str(), open.covered_count(), open.units.len());
    let stays = format!(
        "load '{label}' stays open with {done} of {all} units staged: run the same statement again, or \
         RESUME LOAD '{label}', to go on; CANCEL LOAD '{label}' gives it up"
    );
    let hint = match &error.hint {
        Some(hint) => format!("{hint}; {stays}"),
        None => stays,
    };
    error.with_hint(hint)
}

/// Gives an open load up: its parts are collected, its label is free.
///
/// # Errors
/// There is no open load of that label.
pub(crate) async fn cancel(
    context: &Arc<StatementContext>,
    database: DatabaseId,
    label: &Label,
) -> Result<(), Error> {
    let history = &context.database.loads;
    let open = context.database.catalog.snapshot().load_labelled(database, label);
    let open = open.ok_or_else(|| not_open(context, database, label))?;
    if let Some(running) = history.attempted(open.id).running() {
        running.progress.cancel();
    }
    commit_ops(context, vec![Op::StageAbort { load: open.id }]).await?;
    history.ended(open, LoadEnd::Cancelled, context.now_ms(), None);
    context.database.wake.notify_waiters();
    Ok(())
}

/// No open load has this label.
pub(crate) fn not_open(context: &StatementContext, database: DatabaseId, label: &Label) -> Error {
    let name = context.snapshot.state().database_name(database);
    let label_text = label.as_str();
    match context.snapshot.label(database, label) {
        Some(done) => {
            let message =
                format!("load \"{label_text}\" of database \"{name}\" is finished: {} rows", done.rows);
            Error::new(ErrorKind::Conflict, 36, message)
        }
        None => {
            let message = format!("database \"{name}\" has no open load \"{label_text}\"");
            Error::new(ErrorKind::UnknownObject, 36, message).with_hint("system.loads lists the loads")
        }
    }
}
