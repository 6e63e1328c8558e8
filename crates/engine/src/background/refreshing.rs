//! Runs of materialized views that are refreshed.
//!
//! Invariant: the rows of a run, the end of those that were there, and what the view remembers of the run are one transaction. A
//! run whose view has meanwhile been given another definition, or has been run by another server, commits nothing. Must not
//! know: when a run is due, and how rows are written.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use boundary::ledgers::errors::Whose;
use boundary::ledgers::refreshes::Refreshed;
use catalog::{Op, Snapshot, TableState};
use host::meter;
use model::{ErrorCode, TableEngine};
use sql::{Refresh, TableName, ViewCommand};
use tables::view_runs::{
    LastRun, awaited, due_ms, refresh_of, refreshed_as, refreshed_views, remembering, with_databases,
};

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::commit::commit_ops;
use crate::insert::into_table::{InsertSelect, replace};
use crate::insert::with_views::Replacing;
use crate::resolve::materialized::destination_of;
use crate::resolve::merged::behind;
use crate::resolve::views::select_of;

/// One view whose turn it is; false if none is.
pub(crate) fn round(services: &Arc<Services>) -> Result<bool, Error> {
    if services.catalog.is_poisoned() {
        return Ok(false);
    }
    let snapshot = services.catalog.snapshot();
    services.refreshes.retain(|id| services.catalog.snapshot().table_by_id(id).is_some());
    for view in refreshed_views(&snapshot) {
        let Some(refresh) = refresh_of(&view.def) else { continue };
        let refresh = refresh?;
        let known = services.refreshes.of(view.def.id);
        if !is_due(services, &snapshot, (view, &refresh), &known) {
            continue;
        }
        let execution = Execution::of_view(services, snapshot.clone(), &view.def);
        let execution = execution.with_settings(&sql::view_settings(&view.def)?)?;
        if services.refreshes.begin(view.def.id, &execution.progress) {
            run(services, &execution, view, &refresh, &known);
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_due(
    services: &Services,
    snapshot: &Snapshot,
    (view, refresh): (&TableState, &Refresh),
    known: &Refreshed,
) -> bool {
    let (id, now_ms) = (view.def.id, services.now_ms());
    if known.running.is_some() || known.is_stopped {
        return false;
    }
    if known.is_asked {
        return true;
    }
    let last = LastRun::of(&view.def);
    let due = due_ms(id, refresh, last.as_ref());
    due.max(known.not_before_ms) <= now_ms
        && services.is_mine(id, "")
        && awaited(snapshot, refresh, last.as_ref(), if due == 0 { now_ms } else { due }).is_empty()
}

/// Attempts of one run that may lose against other changes of the view before that is its failure.
const LOST_MAX: u32 = 10;

/// Runs the view, and notes how that went. One that fails is tried again a few times before its next slot; one that lost against
/// another change, as a definition given on another server, says nothing about the view and begins again from what is newest.
fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    view: &Arc<TableState>,
    refresh: &Refresh,
    known: &Refreshed,
) {
    let (id, begun_ms, failed) = (view.def.id, services.now_ms(), known.failed);
    let account = Some(Arc::clone(&execution.account));
    let runtime = tokio::runtime::Handle::current();
    let work = meter::metered(account, refreshed(services, execution, view, (refresh, begun_ms)));
    let Err(error) = runtime.block_on(work) else {
        services.refreshes.end(id, Ok(()), 0);
        services.wake.notify_waiters();
        return;
    };
    if error.kind == ErrorKind::Conflict && known.lost < LOST_MAX {
        return services.refreshes.put_back(id, known.is_asked);
    }
    let error = execution.without_secrets(&services.config, error);
    services.note_error(&error, &Whose::default());
    let is_last = failed >= refresh.retries.count || error.kind == ErrorKind::Cancelled;
    let pause_ms = refresh.retries.first_pause_ms.saturating_mul(1 << failed.min(32));
    let mut not_before_ms = services.now_ms() + pause_ms.min(refresh.retries.pause_ms_max);
    if is_last {
        let noted = runtime.block_on(note_failure(services, execution, view, (begun_ms, &error)));
        if noted.is_ok() {
            not_before_ms = 0;
        }
    }
    services.refreshes.end(id, Err(error), not_before_ms);
    if is_last {
        services.refreshes.give_up(id);
    }
}

async fn refreshed(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    view: &Arc<TableState>,
    (refresh, begun_ms): (&Refresh, u64),
) -> Result<(), Error> {
    let def = &view.def;
    let target = behind(execution, &execution.stored_table(&destination_of(def)?)?)?;
    let query = sql::Query::from(Box::new(select_of(def)?.0));
    let columns: Vec<String> = def.columns.iter().map(|column| column.name.to_string()).collect();
    let select = InsertSelect { table: &target, columns: Some(&columns), query: &query, text: "" };
    let (of, server) = (Arc::clone(&view.def), services.host_name.to_string());
    let remember = move |ended_ms: u64| {
        let success = Some((begun_ms, ended_ms.saturating_sub(begun_ms)));
        let run = LastRun { begun_ms, ended_ms, success, server, exception: String::new() };
        Op::AlterTable(remembering(&of, &run))
    };
    let replacing = Replacing { clears: !refresh.appends, also: Some(Box::new(remember)) };
    replace(services, execution, select, replacing).await?;
    Ok(())
}

/// Remembers a run that failed: the next one is in its next slot.
async fn note_failure(
    services: &Services,
    execution: &Execution,
    view: &TableState,
    (begun_ms, error): (u64, &Error),
) -> Result<(), Error> {
    let success = LastRun::of(&view.def).and_then(|last| last.success);
    let run = LastRun {
        begun_ms,
        ended_ms: services.now_ms().max(begun_ms),
        success,
        server: services.host_name.to_string(),
        exception: error.to_string(),
    };
    commit_ops(services, execution, Vec::new(), vec![Op::AlterTable(remembering(&view.def, &run))]).await
}

/// SYSTEM REFRESH, WAIT, STOP, START and CANCEL VIEW.
pub(crate) async fn command(
    services: &Arc<Services>,
    execution: &Execution,
    name: &TableName,
    command: ViewCommand,
) -> Result<(), Error> {
    let id = refreshable(execution, name)?.def.id;
    match command {
        ViewCommand::Refresh => services.refreshes.ask(id),
        ViewCommand::Stop => services.refreshes.stop(Some(id)),
        ViewCommand::Start => services.refreshes.start(Some(id)),
        ViewCommand::Cancel => services.refreshes.cancel(id),
        ViewCommand::Wait => return wait(services, execution, name).await,
    }
    services.wake.notify_waiters();
    Ok(())
}

/// Until the view has been run, and no run is under way.
async fn wait(services: &Services, execution: &Execution, name: &TableName) -> Result<(), Error> {
    let id = refreshable(execution, name)?.def.id;
    loop {
        tokio::select! {
            () = services.refreshes.until_idle(id) => {}
            () = execution.progress.cancellation().cancelled() => return Err(Error::cancelled()),
        }
        let view = refreshable(&execution.at_newest_snapshot(&services.catalog), name)?;
        let known = services.refreshes.of(id);
        let (last, asked) = (LastRun::of(&view.def), known.is_asked);
        if let Some(error) = known.error {
            let message = format!("refresh of view \"{name}\" failed: {error}");
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::REFRESH_FAILED, message));
        }
        if known.is_stopped || !asked && last.is_some() {
            return Ok(());
        }
        // Its first run has not begun yet.
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// ALTER TABLE .. MODIFY REFRESH.
pub(crate) async fn modify(
    services: &Services,
    execution: &Execution,
    name: &TableName,
    refresh: &Refresh,
) -> Result<(), Error> {
    let view = refreshable(execution, name)?;
    let before = refresh_of(&view.def).transpose()?;
    if before.is_some_and(|before| before.appends != refresh.appends) {
        let message = format!("view \"{name}\": adding or removing APPEND is not supported");
        return Err(Error::new(ErrorKind::Unsupported, ErrorCode::NOT_IMPLEMENTED, message)
            .with_hint("drop the view and create it again"));
    }
    let refresh = with_databases(refresh, &execution.current_database);
    commit_ops(services, execution, Vec::new(), vec![Op::AlterTable(refreshed_as(&view.def, &refresh))])
        .await?;
    services.wake.notify_waiters();
    Ok(())
}

fn refreshable(execution: &Execution, name: &TableName) -> Result<Arc<TableState>, Error> {
    let found = execution.stored_table(name).ok();
    let is_one = |view: &Arc<TableState>| {
        view.def.engine == TableEngine::MaterializedView && refresh_of(&view.def).is_some()
    };
    found.filter(is_one).ok_or_else(|| {
        let message = format!("refreshable view \"{name}\" does not exist");
        Error::new(ErrorKind::UnknownObject, ErrorCode::BAD_ARGUMENTS, message)
            .with_hint("system.view_refreshes lists those there are")
    })
}
