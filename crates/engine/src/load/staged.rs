//! A load with a label that goes on where it stopped, after an error or a crash.
//!
//! ```text
//! StageOpen (files, versions, units frozen) -> StageAdd (units, their parts) ... -> StagePublish + Label
//! ```
//! Invariant: nothing of the load is seen before all of it is; a unit whose parts are staged is not read again. A load
//! that stops stays open, and its error says how to go on. Must not know: what a statement that is no plain scan does.

pub(crate) mod ending;

mod cutting;
mod rounds;
mod sharing;

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use boundary::ledgers::loads::{LoadAttempt, LoadEnd};
use boundary::ledgers::part_log::{PartEvent, PartEventKind, committed_part};
use boundary::once::fingerprint::of_token;
use boundary::once::names::{Once, settled};
use boundary::progress::QueryProgress;
use boundary::request::Rows;
use boundary::secrets::text::masked;
use catalog::{Catalog, Op, StagedLoad};
use cluster::Peer;
use mergetree::write::SinkSettings;
use model::{ErrorCode, Label, LoadId, Seq};
use sources::{ObjectTable, SourceUnit};

use crate::context::execution::{Execution, Helping};
use crate::context::services::Services;
use crate::query::select::PlannedQuery;
use ending::{begin, commit_ops, given_up, stopped};
use rounds::{LoadUnits, Round, units_of};
use sharing::Shared;
use sinks::frozen::{check_source, freeze, input_of};
use tables::conform::Conform;

/// An INSERT SELECT that only projects one source, and has a label, which may be a hidden one.
pub(crate) struct StagedInsert<'a> {
    pub table: mergetree::Table,
    pub conform: Arc<Conform>,
    pub source: Arc<ObjectTable>,
    /// To be frozen when the load is opened; none for one that is open.
    pub units: Vec<SourceUnit>,
    /// Files, by position, whose units are found while the load runs.
    pub to_cut: Vec<usize>,
    pub settings: SinkSettings,
    pub sinks: usize,
    pub once: Once,
    /// The whole statement, for RESUME LOAD and for helpers.
    pub text: &'a str,
    /// Servers that may help.
    pub helpers: Vec<Peer>,
}

/// Opens a load, or goes on with the one that is open under the label, to its end.
pub(crate) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    mut insert: StagedInsert<'_>,
    mut planned: PlannedQuery,
) -> Result<Rows, Error> {
    let label = insert.once.label.clone();
    let label = label.ok_or_else(|| Error::internal("a load without a label was staged"))?;
    let (catalog, history) = (&services.catalog, &services.loads);
    let found = catalog.snapshot().load_labelled(insert.once.database, &label);
    if let Some(open) = &found {
        check_same(open, &insert.once, insert.text)?;
        check_source(open, &insert.source)?;
    }
    let id = found.as_ref().map_or_else(|| fresh_id(services), |open| open.id);
    let attempt = begin(services, execution, id, &label).await?;
    // Looked at again: only from here on nobody else adds to it.
    let open = catalog.snapshot().load(id);
    if found.is_some() && open.is_none() {
        history.forget(id);
        let message = format!("load \"{label}\" ended in this moment", label = label.as_str());
        let error = Error::new(ErrorKind::Conflict, ErrorCode::UNKNOWN_EXCEPTION, message)
            .with_hint("run the statement again");
        return refused(&services.catalog, &execution.progress, &insert.once, error);
    }
    if let Some(open) = &open {
        insert.once = with_kept_token(insert.once, open)?;
    }
    let (shared, first) = match prepare(&insert, &mut planned, open.as_deref(), &attempt).await {
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
        execution
            .warn(format!("load '{}' goes on: {done} of {all} units were staged before", label.as_str()));
    }
    let load = Load { id, label, attempt };
    let opened = match &open {
        Some(_) => Ok(services.catalog.seq()),
        None => load.open(services, execution, &insert, &shared.units()).await,
    };
    let seq = match opened {
        Ok(seq) => seq,
        Err(error) => {
            history.forget(id);
            // Another session may have opened the same load, and even have finished it.
            return refused(&services.catalog, &execution.progress, &insert.once, error);
        }
    };
    let of_load = (load.id, &load.label, &load.attempt);
    let staged = shared.stage(services, execution, &insert, (planned, first), of_load, seq).await;
    let done = match staged {
        Ok(()) => load.publish(services, execution, &insert.once).await,
        Err(error) => Err(error),
    };
    match done {
        Ok(()) => Ok(Rows::none()),
        Err(error) => Err(stopped(services, &execution.profile, id, error).await),
    }
}

/// An id that no load has.
pub(crate) fn fresh_id(services: &Services) -> LoadId {
    LoadId::from_random_bytes(host::random::uuid_bytes(services.host.random.as_ref()))
}

/// Helps with a load that another server coordinates, until that one gives nothing more.
pub(crate) async fn help(
    services: &Arc<Services>,
    execution: &Execution,
    insert: StagedInsert<'_>,
    planned: PlannedQuery,
    helping: &Helping,
) -> Result<Rows, Error> {
    let label = insert.once.label.clone();
    let label = label.ok_or_else(|| Error::internal("a load without a label was staged"))?;
    let open = services.catalog.snapshot().load_labelled(insert.once.database, &label);
    let open = open.ok_or_else(|| given_up(&label))?;
    if open.table != insert.table.def.id {
        return Err(Error::internal("the name of the load's table means another one by now"));
    }
    check_source(&open, &insert.source)?;
    let attempt = begin(services, execution, open.id, &label).await?;
    let units = units_of(&insert, Some(&open)).await?;
    let load = (open.id, &attempt);
    let helped = sharing::help(services, execution, &insert, (planned, units), load, helping).await;
    services.loads.forget(open.id);
    helped.map(|()| Rows::none())
}

/// The answer to a statement whose step was refused: the same statement may have done everything meanwhile.
fn refused(
    catalog: &Arc<Catalog>,
    progress: &Arc<QueryProgress>,
    once: &Once,
    error: Error,
) -> Result<Rows, Error> {
    settled(Err(error), Some(once), catalog, progress).map(|()| Rows::none())
}

/// The open load that a statement goes on with.
///
/// # Errors
/// The label belongs to another statement's load.
pub(crate) fn open_of(
    catalog: &Arc<Catalog>,
    once: &Once,
    text: &str,
) -> Result<Option<Arc<StagedLoad>>, Error> {
    let Some(label) = &once.label else { return Ok(None) };
    let Some(open) = catalog.snapshot().load_labelled(once.database, label) else {
        return Ok(None);
    };
    check_same(&open, once, text)?;
    Ok(Some(open))
}

/// Publishes a load all of whose units are staged, whatever has become of its files.
pub(crate) async fn finish(
    services: &Services,
    execution: &Execution,
    once: &Once,
    open: &StagedLoad,
) -> Result<Rows, Error> {
    let once = with_kept_token(once.clone(), open)?;
    let attempt = begin(services, execution, open.id, &open.label).await?;
    execution.warn(format!("load '{}' goes on: all units were staged before", open.label.as_str()));
    let load = Load { id: open.id, label: open.label.clone(), attempt };
    match load.publish(services, execution, &once).await {
        Ok(()) => Ok(Rows::none()),
        Err(error) => Err(stopped(services, &execution.profile, open.id, error).await),
    }
}

/// The names a load is published under: its token is the one it was opened with.
fn with_kept_token(once: Once, open: &StagedLoad) -> Result<Once, Error> {
    let Some(kept) = open.input.as_ref().and_then(|input| input.token.as_deref()) else { return Ok(once) };
    match once.token_text.as_deref() {
        Some(given) if given != kept => {
            let label = open.label.as_str();
            let message = format!(
                "load \"{label}\" was opened with insert_deduplication_token \"{kept}\", not \"{given}\""
            );
            Err(Error::new(ErrorKind::AlreadyExists, ErrorCode::BAD_ARGUMENTS, message)
                .with_hint(format!("give the same token, or none; CANCEL LOAD '{label}' gives the load up")))
        }
        _ => Ok(Once { token: Some(of_token(kept)), token_text: Some(kept.to_owned()), ..once }),
    }
}

/// The open load of a label must be this statement's.
fn check_same(open: &StagedLoad, once: &Once, text: &str) -> Result<(), Error> {
    let label = open.label.as_str();
    if open.fingerprint == once.fingerprint && open.table == once.table {
        return Ok(());
    }
    let message = format!(
        "label \"{label}\" belongs to an unfinished load of another statement ({}), not to this one ({})",
        open.statement.trim(),
        masked(text).trim()
    );
    Err(Error::new(ErrorKind::AlreadyExists, ErrorCode::BAD_ARGUMENTS, message).with_hint(format!(
        "finish it with RESUME LOAD '{label}', give it up with CANCEL LOAD '{label}', or choose another label"
    )))
}

/// Plans to read what is left. Nothing is written yet.
async fn prepare(
    insert: &StagedInsert<'_>,
    planned: &mut PlannedQuery,
    open: Option<&StagedLoad>,
    attempt: &LoadAttempt,
) -> Result<(Shared, Round), Error> {
    let units = units_of(insert, open).await?;
    let LoadUnits { all, left, uncut, .. } = &units;
    let mut unread: Vec<SourceUnit> = left.iter().filter_map(|unit| all.get(unit.id.0 as usize)).collect();
    unread.extend(uncut.iter().cloned());
    insert.source.expect(&unread, None).await?;
    let shared = Shared::new(insert, units);
    let first = shared.plan(insert, planned, attempt).await?;
    Ok((shared, first))
}

/// One attempt at a load.
struct Load {
    id: LoadId,
    label: Label,
    attempt: Arc<LoadAttempt>,
}

impl Load {
    /// Freezes what the load reads, and takes its label.
    async fn open(
        &self,
        services: &Services,
        execution: &Execution,
        insert: &StagedInsert<'_>,
        units: &[SourceUnit],
    ) -> Result<Seq, Error> {
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
            input: Some(Arc::new(input_of(
                &execution.settings,
                &execution.current_database,
                &insert.source,
                insert.once.token_text.as_deref(),
            ))),
            is_sealed: insert.to_cut.is_empty(),
        };
        commit_ops(services, &execution.profile, vec![open]).await
    }

    /// Makes all rows visible at one `Seq`, and the label used.
    async fn publish(&self, services: &Services, execution: &Execution, once: &Once) -> Result<(), Error> {
        let staged = services.catalog.snapshot().load(self.id);
        let Some(staged) = staged else {
            return settled(Err(given_up(&self.label)), Some(once), &services.catalog, &execution.progress);
        };
        let mut ops = vec![Op::StagePublish { load: self.id }];
        let once = Some(once).filter(|_| !self.label.is_hidden());
        ops.extend(once.into_iter().flat_map(|once| once.ops(staged.rows())));
        execution.progress.begin_commit()?;
        let committed = commit_ops(services, &execution.profile, ops).await;
        settled(committed, once, &services.catalog, &execution.progress)?;
        let mut end = LoadEnd::Finished;
        if services.catalog.snapshot().load(self.id).is_some() {
            // Another statement took the token meanwhile, with the same rows: these are not needed.
            commit_ops(services, &execution.profile, vec![Op::StageAbort { load: self.id }]).await?;
            end = LoadEnd::Cancelled;
        } else if execution.progress.already_loaded().is_none() {
            log_published(services, execution, &staged);
        }
        services.loads.ended(staged, end, services.now_ms(), None);
        services.wake.notify_waiters();
        Ok(())
    }
}

/// One event for each part. The parts of a statement are written side by side, so they share its time.
fn log_published(services: &Services, execution: &Execution, staged: &StagedLoad) {
    let snapshot = services.catalog.snapshot();
    let Some(state) = snapshot.table_by_id(staged.table) else { return };
    for part in staged.parts() {
        // Only the published one has its block numbers, and so its name.
        let named = committed_part(&state, part.id);
        let part = named.as_ref().unwrap_or(part);
        services.part_log.push(PartEvent {
            duration: execution.profile.elapsed(),
            memory_peak: execution.memory.peak(),
            query_id: execution.query_id.clone(),
            ..PartEvent::of(PartEventKind::NewPart, &snapshot, &state.def, part, services.now_ms())
        });
    }
}
