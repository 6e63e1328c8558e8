//! `system.query_log`: statements that ended, newest last; kept in memory, bounded.

use super::SystemTable;
use super::profile_events::profile_events;
use super::rows::{Cell, RowBuilder};
use crate::error::Error;
use crate::processes::LoggedQuery;
use crate::progress::QueryProgress;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        (
            "type",
            "Enum8('QueryStart' = 1, 'QueryFinish' = 2, 'ExceptionBeforeStart' = 3, 'ExceptionWhileProcessing' = 4)",
        ),
        ("event_time", "DateTime('UTC')"),
        ("event_time_microseconds", "DateTime64(6, 'UTC')"),
        ("query_start_time", "DateTime('UTC')"),
        ("query_start_time_microseconds", "DateTime64(6, 'UTC')"),
        ("query_duration_ms", "UInt64"),
        ("query_id", "String"),
        ("query_kind", "String"),
        ("current_database", "String"),
        ("read_rows", "UInt64"),
        ("read_bytes", "UInt64"),
        ("written_rows", "UInt64"),
        ("written_bytes", "UInt64"),
        ("result_rows", "UInt64"),
        ("memory_usage", "UInt64"),
        ("exception_code", "Int32"),
        ("exception", "String"),
        ("query", "String"),
        ("ProfileEvents", "Map(String, UInt64)"),
    ],
    fill: |context, rows| {
        for entry in context.database.processes.ended() {
            push_entry(rows, entry)?;
        }
        Ok(())
    },
};

fn push_entry(rows: &mut RowBuilder, entry: LoggedQuery) -> Result<(), Error> {
    let process = entry.process;
    let duration_ms = u64::try_from(entry.duration.as_millis()).unwrap_or(u64::MAX);
    let duration_us = u64::try_from(entry.duration.as_micros()).unwrap_or(u64::MAX);
    // The clock on the wall counts milliseconds; what the statement took is known better.
    let started_us = process.started_ms.saturating_mul(1000);
    let times = process.profile.counters(entry.duration);
    let events = profile_events(times.into_iter().chain(insert_counters(&process.progress)));
    rows.push([
        Cell::Int(if entry.error.is_none() { 2 } else { 4 }),
        Cell::Time(process.started_ms + duration_ms),
        Cell::Micros(started_us.saturating_add(duration_us)),
        Cell::Time(process.started_ms),
        Cell::Micros(started_us),
        duration_ms.into(),
        process.query_id.into(),
        process.kind.into(),
        process.database.into(),
        entry.read_rows.into(),
        entry.read_bytes.into(),
        process.progress.written_rows().into(),
        process.progress.written_bytes().into(),
        entry.result_rows.into(),
        entry.memory_peak.into(),
        Cell::Int(entry.error.as_ref().map_or(0, |error| error.code)),
        entry.error.map(|error| error.to_string()).unwrap_or_default().into(),
        process.query.into(),
        events,
    ])
}

/// ClickHouse's counters of an INSERT.
fn insert_counters(progress: &QueryProgress) -> [(&'static str, u64); 5] {
    let delayed_ms = progress.delayed_ms();
    [
        ("InsertedRows", progress.written_rows()),
        ("InsertedBytes", progress.written_bytes()),
        ("DuplicatedInsertedBlocks", u64::from(progress.already_loaded().is_some())),
        ("DelayedInserts", u64::from(delayed_ms > 0)),
        ("DelayedInsertsMilliseconds", delayed_ms),
    ]
}
