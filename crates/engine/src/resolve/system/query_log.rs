//! `system.query_log`: statements that ended, newest last; kept in memory, bounded.

use boundary::error::Error;
use boundary::ledgers::processes::LoggedQuery;
use boundary::progress::QueryProgress;
use model::ErrorCode;
use model::saturating::{micros_of, millis_of};
use planner::normalized_query_hash;

use super::SystemTable;
use super::processes::{HTTP_METHOD, INTERFACE, address, http_method, interface};
use super::profile_events::profile_events;
use ::tables::system_rows::rows::{Cell, RowBuilder};

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("hostname", "String"),
        (
            "type",
            "Enum8('QueryStart' = 1, 'QueryFinish' = 2, 'ExceptionBeforeStart' = 3, 'ExceptionWhileProcessing' = 4)",
        ),
        ("event_date", "Date"),
        ("event_time", "DateTime('UTC')"),
        ("event_time_microseconds", "DateTime64(6, 'UTC')"),
        ("query_start_time", "DateTime('UTC')"),
        ("query_start_time_microseconds", "DateTime64(6, 'UTC')"),
        ("query_duration_ms", "UInt64"),
        ("read_rows", "UInt64"),
        ("read_bytes", "UInt64"),
        ("written_rows", "UInt64"),
        ("written_bytes", "UInt64"),
        ("result_rows", "UInt64"),
        ("result_bytes", "UInt64"),
        ("memory_usage", "UInt64"),
        ("current_database", "String"),
        ("query", "String"),
        ("formatted_query", "String"),
        ("normalized_query_hash", "UInt64"),
        ("query_kind", "String"),
        ("databases", "Array(String)"),
        ("tables", "Array(String)"),
        ("columns", "Array(String)"),
        ("exception_code", "Int32"),
        ("exception_name", "String"),
        ("exception", "String"),
        ("stack_trace", "String"),
        ("is_initial_query", "UInt8"),
        ("user", "String"),
        ("query_id", "String"),
        ("address", "String"),
        ("port", "UInt16"),
        ("initial_user", "String"),
        ("initial_query_id", "String"),
        ("initial_address", "String"),
        ("initial_port", "UInt16"),
        ("interface", INTERFACE),
        ("client_name", "String"),
        ("http_method", HTTP_METHOD),
        ("http_user_agent", "String"),
        ("log_comment", "String"),
        ("thread_ids", "Array(UInt64)"),
        ("peak_threads_usage", "UInt64"),
        ("ProfileEvents", "Map(String, UInt64)"),
        ("Settings", "Map(String, String)"),
        ("warnings", "Array(String)"),
    ],
    fill: |services, execution, rows| {
        let mut ended = services.processes.ended();
        ended.retain(|entry| execution.sees_statements_of(&entry.process.user));
        for entry in ended {
            push_entry(rows, entry, &services.host_name)?;
        }
        Ok(())
    },
};

fn push_entry(rows: &mut RowBuilder, entry: LoggedQuery, host_name: &str) -> Result<(), Error> {
    let process = entry.process;
    let duration_ms = millis_of(entry.duration);
    let duration_us = micros_of(entry.duration);
    // The clock on the wall counts milliseconds; what the statement took is known better.
    let started_us = process.started_ms.saturating_mul(1000);
    let times = process.profile.counters(entry.duration);
    let events = profile_events(times.into_iter().chain(insert_counters(&process.progress)));
    let code = entry.error.as_ref().map(|error| error.code);
    let (address, port) = address(&process.client);
    let settings = process.given_settings();
    let target = process.progress.target();
    let (databases, tables) = match target {
        (database, table) if !database.is_empty() => {
            (vec![database.clone()], vec![format!("{database}.{table}")])
        }
        _ => (Vec::new(), Vec::new()),
    };
    rows.push_some([
        ("hostname", host_name.into()),
        ("type", Cell::Int(if entry.error.is_none() { 2 } else { 4 })),
        ("event_date", Cell::Time(process.started_ms + duration_ms)),
        ("event_time", Cell::Time(process.started_ms + duration_ms)),
        ("event_time_microseconds", Cell::Micros(started_us.saturating_add(duration_us))),
        ("query_start_time", Cell::Time(process.started_ms)),
        ("query_start_time_microseconds", Cell::Micros(started_us)),
        ("query_duration_ms", duration_ms.into()),
        ("read_rows", entry.read_rows.into()),
        ("read_bytes", entry.read_bytes.into()),
        ("written_rows", process.progress.written_rows().into()),
        ("written_bytes", process.progress.written_bytes().into()),
        ("result_rows", entry.result_rows.into()),
        ("memory_usage", entry.memory_peak.into()),
        ("current_database", process.database.into()),
        ("normalized_query_hash", normalized_query_hash(&process.query).into()),
        ("query", process.query.into()),
        ("query_kind", process.kind.into()),
        ("databases", databases.into()),
        ("tables", tables.into()),
        ("exception_code", Cell::code(code)),
        ("exception_name", code.map_or("", ErrorCode::name).into()),
        ("exception", entry.error.map(|error| error.to_string()).unwrap_or_default().into()),
        ("is_initial_query", true.into()),
        ("user", process.user.to_string().into()),
        ("query_id", process.query_id.clone().into()),
        ("address", address.clone()),
        ("port", port.clone()),
        ("initial_user", process.user.to_string().into()),
        ("initial_query_id", process.query_id.into()),
        ("initial_address", address),
        ("initial_port", port),
        ("interface", interface(&process.client)),
        ("client_name", process.client.name.clone().into()),
        ("http_method", http_method(&process.client)),
        ("http_user_agent", process.client.http_user_agent.clone().into()),
        ("ProfileEvents", events),
        ("Settings", Cell::settings(settings)),
        ("warnings", process.progress.warnings().into()),
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
