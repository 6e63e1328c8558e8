//! `system.processes`: statements running now.

use std::net::SocketAddr;

use boundary::request::Caller;
use planner::normalized_query_hash;

use super::SystemTable;
use ::tables::system_rows::rows::{Cell, Columns};

pub(super) const COLUMNS: &Columns = &[
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
    ("os_user", "String"),
    ("client_hostname", "String"),
    ("client_name", "String"),
    ("client_revision", "UInt64"),
    ("client_version_major", "UInt64"),
    ("client_version_minor", "UInt64"),
    ("client_version_patch", "UInt64"),
    ("http_method", HTTP_METHOD),
    ("http_user_agent", "String"),
    ("http_referer", "String"),
    ("forwarded_for", "String"),
    ("quota_key", "String"),
    ("distributed_depth", "UInt64"),
    ("elapsed", "Float64"),
    ("is_cancelled", "UInt8"),
    ("is_all_data_sent", "UInt8"),
    ("read_rows", "UInt64"),
    ("read_bytes", "UInt64"),
    ("total_rows_approx", "UInt64"),
    ("written_rows", "UInt64"),
    ("written_bytes", "UInt64"),
    ("memory_usage", "Int64"),
    ("peak_memory_usage", "Int64"),
    ("query", "String"),
    ("normalized_query_hash", "UInt64"),
    ("query_kind", "String"),
    ("thread_ids", "Array(UInt64)"),
    ("peak_threads_usage", "UInt64"),
    ("ProfileEvents", "Map(String, UInt64)"),
    ("Settings", "Map(String, String)"),
    ("current_database", "String"),
];

pub(super) const INTERFACE: &str = "Enum8('Unknown' = 0, 'TCP' = 1, 'HTTP' = 2, 'gRPC' = 3, 'MySQL' = 4, \
     'PostgreSQL' = 5, 'Local' = 6, 'TCP_Interserver' = 7, 'Prometheus' = 8, 'Background' = 9)";
pub(super) const HTTP_METHOD: &str =
    "Enum8('UNKNOWN' = 0, 'GET' = 1, 'POST' = 2, 'OPTIONS' = 3, 'PUT' = 4, 'DELETE' = 5, 'HEAD' = 6)";

/// By which door a client came.
pub(super) fn interface(client: &Caller) -> Cell {
    Cell::Int(if !client.http_method.is_empty() {
        2
    } else if client.address.is_some() {
        1
    } else {
        6
    })
}

pub(super) fn http_method(client: &Caller) -> Cell {
    let methods = ["GET", "POST", "OPTIONS", "PUT", "DELETE", "HEAD"];
    let place = methods.iter().position(|method| method.eq_ignore_ascii_case(&client.http_method));
    Cell::Int(place.and_then(|place| i32::try_from(place + 1).ok()).unwrap_or(0))
}

/// (address, port), an IPv4 address as ClickHouse maps it into IPv6.
pub(super) fn address(client: &Caller) -> (Cell, Cell) {
    let text = match client.address {
        None => "::".to_owned(),
        Some(SocketAddr::V4(address)) => format!("::ffff:{}", address.ip()),
        Some(SocketAddr::V6(address)) => address.ip().to_string(),
    };
    let port = client.address.map_or(0, |address| u64::from(address.port()));
    (text.into(), port.into())
}

pub(super) const TABLE: SystemTable = SystemTable {
    columns: COLUMNS,
    fill: |services, execution, rows| {
        let now = services.host.clock.monotonic();
        let mut running = services.processes.running();
        running.retain(|process| execution.sees_statements_of(&process.user));
        for process in running {
            let (progress, client) = (&process.progress, &process.client);
            let (address, port) = address(client);
            let settings = process.given_settings();
            rows.push_some([
                ("is_initial_query", true.into()),
                ("user", process.user.to_string().into()),
                ("query_id", process.query_id.clone().into()),
                ("address", address.clone()),
                ("port", port.clone()),
                ("initial_user", process.user.to_string().into()),
                ("initial_query_id", process.query_id.into()),
                ("initial_address", address),
                ("initial_port", port),
                ("interface", interface(client)),
                ("client_name", client.name.clone().into()),
                ("http_method", http_method(client)),
                ("http_user_agent", client.http_user_agent.clone().into()),
                ("elapsed", now.saturating_sub(process.started).as_secs_f64().into()),
                ("is_cancelled", progress.is_cancelled().into()),
                ("read_rows", progress.read_rows().into()),
                ("read_bytes", progress.read_bytes().into()),
                ("total_rows_approx", progress.total_rows_approx().into()),
                ("written_rows", progress.written_rows().into()),
                ("written_bytes", progress.written_bytes().into()),
                ("memory_usage", process.memory.used().into()),
                ("peak_memory_usage", process.memory.peak().into()),
                ("normalized_query_hash", normalized_query_hash(&process.query).into()),
                ("query", process.query.into()),
                ("query_kind", process.kind.into()),
                ("Settings", Cell::settings(settings)),
                ("current_database", process.database.into()),
            ])?;
        }
        Ok(())
    },
};
