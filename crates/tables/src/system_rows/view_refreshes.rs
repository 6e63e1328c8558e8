//! `system.view_refreshes`: the views that are refreshed, and their runs.
//!
//! Must not know: which views a user may see.

use boundary::error::Error;
use boundary::ledgers::refreshes::Refreshes;
use catalog::Snapshot;
use sql::SqlError;

use super::rows::{Cell, Columns, RowBuilder};
use crate::view_runs::{LastRun, awaited, due_ms, refresh_of, refreshed_views};

pub const COLUMNS: &Columns = &[
    ("database", "String"),
    ("view", "String"),
    ("uuid", "UUID"),
    ("status", "String"),
    ("last_success_time", "Nullable(DateTime)"),
    ("last_success_duration_ms", "Nullable(UInt64)"),
    ("last_refresh_time", "Nullable(DateTime)"),
    ("last_refresh_replica", "String"),
    ("next_refresh_time", "Nullable(DateTime)"),
    ("exception", "String"),
    ("retry", "UInt64"),
    ("progress", "Nullable(Float64)"),
    ("read_rows", "Nullable(UInt64)"),
    ("read_bytes", "Nullable(UInt64)"),
    ("total_rows", "Nullable(UInt64)"),
    ("written_rows", "Nullable(UInt64)"),
    ("written_bytes", "Nullable(UInt64)"),
];

/// # Errors
/// A clause that another version of the program wrote, and this one cannot read.
pub fn fill(
    snapshot: &Snapshot,
    refreshes: &Refreshes,
    now_ms: u64,
    rows: &mut RowBuilder,
) -> Result<(), Error> {
    for view in refreshed_views(snapshot) {
        let def = &view.def;
        let refresh = match refresh_of(def) {
            Some(refresh) => refresh.map_err(|error: SqlError| Error::from(error))?,
            None => continue,
        };
        let (last, known) = (LastRun::of(def), refreshes.of(def.id));
        let due = due_ms(def.id, &refresh, last.as_ref()).max(known.not_before_ms);
        let waits = !awaited(snapshot, &refresh, last.as_ref(), due.max(1)).is_empty();
        let status = match () {
            () if known.running.is_some() => "Running",
            () if known.is_stopped => "Disabled",
            () if waits && (due <= now_ms || last.is_none()) => "WaitingForDependencies",
            () => "Scheduled",
        };
        let exception = match (&known.error, &last) {
            (Some(error), _) => error.to_string(),
            (None, Some(last)) => last.exception.clone(),
            (None, None) => String::new(),
        };
        let (success, running) = (last.as_ref().and_then(|last| last.success), known.running.as_ref());
        let figure = |of_running: Option<u64>, of_last: u64| Cell::UInt(of_running.unwrap_or(of_last));
        let database = snapshot.database_by_id(def.database);
        let database = database.map_or_else(String::new, |database| database.name.to_string());
        let moment = |ms: Option<u64>| ms.map_or(Cell::Null, Cell::Time);
        rows.push([
            database.into(),
            def.name.to_string().into(),
            Cell::Uuid(*def.id.as_bytes()),
            status.into(),
            moment(success.map(|(begun_ms, _)| begun_ms)),
            success.map_or(Cell::Null, |(_, duration_ms)| Cell::UInt(duration_ms)),
            moment(last.as_ref().map(|last| last.ended_ms)),
            last.as_ref().map_or(String::new(), |last| last.server.clone()).into(),
            moment(Some(if due == 0 { now_ms } else { due })),
            exception.into(),
            Cell::UInt(known.failed),
            running.map_or(Cell::Null, |running| {
                let (read, total) = (running.read_rows(), running.total_rows_approx());
                Cell::Float(if total == 0 { 0.0 } else { read as f64 / total.max(read) as f64 })
            }),
            figure(running.map(|running| running.read_rows()), known.read_rows),
            figure(running.map(|running| running.read_bytes()), known.read_bytes),
            figure(running.map(|running| running.total_rows_approx()), known.read_rows),
            figure(running.map(|running| running.written_rows()), known.written_rows),
            figure(running.map(|running| running.written_bytes()), known.written_bytes),
        ])?;
    }
    Ok(())
}
