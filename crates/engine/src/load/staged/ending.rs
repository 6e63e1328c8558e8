//! How statements take an open load, stop, and give it up; and what they say then.
//!
//! Invariant: a load that stops stays open while it is of use, and whoever is told so is told how to go on.
//! Must not know: how rows are read and staged.

use std::sync::Arc;
use std::time::Duration;

use boundary::error::{Error, ErrorKind};
use boundary::ledgers::loads::{LoadAttempt, LoadEnd};
use catalog::{Op, Snapshot, StagedLoad};
use model::{DatabaseId, ErrorCode, Label, LoadId, Seq};
use physical::profile::StatementProfile;

use crate::context::execution::Execution;
use crate::context::services::Services;
use sinks::commit::submit;

/// How long a statement waits for the sinks of one that was stopped.
const STOPPING_MAX: Duration = Duration::from_secs(10);
const STOPPING_POLL: Duration = Duration::from_millis(10);

/// Takes the load for this statement.
pub(super) async fn begin(
    services: &Services,
    execution: &Execution,
    load: LoadId,
    label: &Label,
) -> Result<Arc<LoadAttempt>, Error> {
    let clock = &services.host.clock;
    let since = clock.monotonic();
    loop {
        let begun = services.loads.begin(load, &execution.query_id, &execution.progress);
        let running = match begun {
            Ok(attempt) => return Ok(attempt),
            Err(running) => running,
        };
        if !running.stops || clock.monotonic().saturating_sub(since) >= STOPPING_MAX {
            return Err(at_work(label, &running.query_id));
        }
        // A cancelled statement is dropped, and its sleep with it.
        tokio::time::sleep(STOPPING_POLL).await;
    }
}

fn at_work(label: &Label, query_id: &str) -> Error {
    let message = format!("load \"{}\" is being run by query {query_id}", label.as_str());
    Error::new(ErrorKind::Conflict, ErrorCode::UNKNOWN_EXCEPTION, message)
        .with_hint("wait for it; system.loads shows how far it is")
}

pub(super) fn given_up(label: &Label) -> Error {
    let load = if label.is_hidden() { "the load".to_owned() } else { format!("load \"{}\"", label.as_str()) };
    let message = format!("{load} was given up, or its table was dropped or emptied");
    Error::new(ErrorKind::Conflict, ErrorCode::UNKNOWN_EXCEPTION, message)
}

pub(super) async fn commit_ops(
    services: &Services,
    profile: &StatementProfile,
    ops: Vec<Op>,
) -> Result<Seq, Error> {
    let (catalog, host) = (&services.catalog, &services.host);
    submit(catalog, host, catalog.snapshot().seq(), Vec::new(), ops, profile).await
}

/// What to say of a load that did not come to its end. One that will not get further by itself, and of which nothing is
/// staged, is no use to anyone: its label is freed.
pub(super) async fn stopped(
    services: &Services,
    profile: &StatementProfile,
    id: LoadId,
    error: Error,
) -> Error {
    let Some(open) = services.catalog.snapshot().load(id) else {
        services.loads.forget(id);
        return error;
    };
    if open.label.is_hidden() {
        // Nobody can go on with it. If this fails, too, it is given up later (`load/abandoned.rs`).
        let _aborted = commit_ops(services, profile, vec![Op::StageAbort { load: id }]).await;
        services.loads.ended(open, LoadEnd::Failed, services.now_ms(), Some(error.clone()));
        return error;
    }
    let needs_change = matches!(
        error.kind,
        ErrorKind::BadInput | ErrorKind::Syntax | ErrorKind::UnknownObject | ErrorKind::Unsupported
    );
    if needs_change
        && open.covered_count() == 0
        && commit_ops(services, profile, vec![Op::StageAbort { load: id }]).await.is_ok()
    {
        services.loads.ended(open, LoadEnd::Failed, services.now_ms(), Some(error.clone()));
        return error;
    }
    services.loads.failed(id, &error);
    with_way_on(error, &open)
}

/// What to say of a statement that was stopped from outside, by ctrl-C or a time limit: its load stays open, too.
pub(crate) fn left(services: &Services, query_id: &str, error: Error) -> Error {
    if error.hint.as_ref().is_some_and(|hint| hint.contains("CANCEL LOAD")) {
        return error;
    }
    let open = services.loads.begun_by(query_id).and_then(|id| services.catalog.snapshot().load(id));
    let Some(open) = open else { return error };
    services.loads.failed(open.id, &error);
    if open.label.is_hidden() {
        // Given up as soon as its sinks have stopped.
        return error;
    }
    with_way_on(error, &open)
}

fn with_way_on(error: Error, open: &StagedLoad) -> Error {
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
    services: &Services,
    execution: &Execution,
    database: DatabaseId,
    label: &Label,
) -> Result<(), Error> {
    let history = &services.loads;
    let open = services.catalog.snapshot().load_labelled(database, label);
    let open = open.ok_or_else(|| not_open(&execution.snapshot, database, label))?;
    if let Some(running) = history.attempted(open.id).running() {
        running.progress.cancel();
    }
    commit_ops(services, &execution.profile, vec![Op::StageAbort { load: open.id }]).await?;
    history.ended(open, LoadEnd::Cancelled, services.now_ms(), None);
    services.wake.notify_waiters();
    Ok(())
}

/// No open load has this label.
pub(crate) fn not_open(snapshot: &Snapshot, database: DatabaseId, label: &Label) -> Error {
    let name = snapshot.state().database_name(database);
    let label_text = label.as_str();
    match snapshot.label(database, label) {
        Some(done) => {
            let message =
                format!("load \"{label_text}\" of database \"{name}\" is finished: {} rows", done.rows);
            Error::new(ErrorKind::Conflict, ErrorCode::BAD_ARGUMENTS, message)
        }
        None => {
            let message = format!("database \"{name}\" has no open load \"{label_text}\"");
            Error::new(ErrorKind::UnknownObject, ErrorCode::BAD_ARGUMENTS, message)
                .with_hint("system.loads lists the loads")
        }
    }
}

#[cfg(test)]
mod tests {
    use catalog::loads::OpenedLoad;
    use model::TableId;

    use super::*;

    #[test]
    fn whoever_is_stopped_is_told_how_to_go_on() {
        let load = OpenedLoad {
            id: LoadId::from_bytes([1; 16]),
            database: DatabaseId::from_bytes([2; 16]),
            label: Label::new("l").unwrap(),
            table: TableId::from_bytes([3; 16]),
            fingerprint: 4,
            schema_version: 1,
            statement: "INSERT".into(),
            files: Vec::new(),
            units: Vec::new(),
            input: None,
            is_sealed: true,
        };
        let told = with_way_on(Error::cancelled(), &StagedLoad::new(load, Seq(1), 0));
        assert_eq!(told.kind, ErrorKind::Cancelled);
        assert!(told.hint.unwrap().contains("RESUME LOAD 'l'"));
    }
}
