//! System tables: live state of the process as rows, one file a table or a family of them.
//!
//! Invariant: a system table is made when a statement names it and does not change while the statement runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use boundary::error::Error;
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use model::ColumnType;
use physical::provider::numbers::{NumberRange, ZERO, numbers_table};

use crate::context::execution::Execution;
use crate::context::services::Services;
use ::tables::reserved::{SYSTEM, is_derived};

mod storage;
mod one_server;
mod columns;

mod abilities;
mod clusters;
mod databases;
mod errors;
mod exports;
mod load_rejected_rows;
mod loads;
mod tables;
mod metrics;
mod named_collections;
mod one;
mod processes;
mod profile_events;
mod query_log;
mod schema_inference_cache;
mod users;

use ::tables::system_rows::rows::{self, Columns, RowBuilder};
pub(crate) use ::tables::system_rows::shown_default::default_of;
use ::tables::system_rows::{derived_names, dictionaries, information_schema, unfilled, view_refreshes};

/// Columns and content of one system table.
pub(crate) struct SystemTable {
    pub columns: &'static Columns,
    pub fill: fn(&Services, &Execution, &mut RowBuilder) -> Result<(), Error>,
}

impl SystemTable {
    fn batch(&self, services: &Services, execution: &Execution) -> Result<RecordBatch, Error> {
        if self.columns.is_empty() {
            return Ok(RecordBatch::new_empty(Arc::new(Schema::empty())));
        }
        rows::batch(self.columns, |rows| (self.fill)(services, execution, rows))
    }

    /// One about what does not exist here.
    const EMPTY: SystemTable = SystemTable { columns: &[], fill: |_, _, _| Ok(()) };
}

/// Every name `system.<name>` resolves, in order.
pub(crate) fn names() -> BTreeSet<&'static str> {
    NAMES.iter().copied().chain(unfilled::tables()).collect()
}

/// Of tables that are filled.
const NAMES: &[&str] = &[
    "asynchronous_metrics",
    "build_options",
    "clusters",
    "columns",
    "data_skipping_indices",
    "data_type_families",
    "databases",
    "detached_parts",
    "detached_tables",
    "dictionaries",
    "disks",
    "errors",
    "events",
    "exports",
    "formats",
    "functions",
    "load_files",
    "load_rejected_rows",
    "load_units",
    "loads",
    "merge_tree_settings",
    "merges",
    "mutations",
    "metrics",
    "named_collections",
    "nodes",
    "numbers",
    "numbers_mt",
    "one",
    "part_log",
    "parts",
    "parts_columns",
    "processes",
    "projections",
    "query_log",
    "schema_inference_cache",
    "settings",
    "settings_profiles",
    "storage_policies",
    "table_engines",
    "table_functions",
    "tables",
    "time_zones",
    "user_directories",
    "users",
    "view_refreshes",
    "zeros",
    "zeros_mt",
];

const DICTIONARIES: SystemTable = SystemTable {
    columns: dictionaries::COLUMNS,
    fill: |_, execution, rows| dictionaries::fill(&execution.snapshot, rows),
};

const VIEW_REFRESHES: SystemTable = SystemTable {
    columns: view_refreshes::COLUMNS,
    fill: |services, execution, rows| {
        view_refreshes::fill(&execution.snapshot, &services.refreshes, services.now_ms(), rows)
    },
};

fn definition(name: &str) -> Option<SystemTable> {
    Some(match name {
        "columns" => columns::TABLE,
        "databases" => databases::TABLE,
        "data_skipping_indices" => storage::INDEXES,
        "projections" => storage::PROJECTIONS,
        "detached_parts" => storage::DETACHED_PARTS,
        "detached_tables" => tables::DETACHED,
        "nodes" => clusters::NODES,
        "disks" => one_server::DISKS,
        "errors" => errors::TABLE,
        "exports" => exports::TABLE,
        "load_files" => loads::FILES,
        "load_rejected_rows" => load_rejected_rows::TABLE,
        "load_units" => loads::UNITS,
        "loads" => loads::LOADS,
        "merges" => storage::merges::TABLE,
        "mutations" => storage::mutations::TABLE,
        "named_collections" => named_collections::TABLE,
        "one" => one::TABLE,
        "part_log" => storage::part_log::TABLE,
        "parts" => storage::PARTS,
        "parts_columns" => storage::PARTS_COLUMNS,
        "processes" => processes::TABLE,
        "query_log" => query_log::TABLE,
        "schema_inference_cache" => schema_inference_cache::TABLE,
        "settings_profiles" => one_server::SETTINGS_PROFILES,
        "storage_policies" => one_server::STORAGE_POLICIES,
        "tables" => tables::TABLE,
        "user_directories" => one_server::USER_DIRECTORIES,
        "asynchronous_metrics" => metrics::ASYNCHRONOUS,
        "clusters" => clusters::CLUSTERS,
        "events" => metrics::EVENTS,
        "metrics" => metrics::METRICS,
        "users" => users::TABLE,
        "view_refreshes" => VIEW_REFRESHES,
        "dictionaries" => DICTIONARIES,
        _ => {
            let empty = unfilled::is_known(name).then_some(SystemTable::EMPTY);
            return abilities::definition(name).or(empty);
        }
    })
}

/// Whether a database made up from live state has this table.
pub(crate) fn has_table(database: &str, name: &str) -> bool {
    match database {
        SYSTEM => NAMES.contains(&name) || unfilled::is_known(name),
        _ => is_derived(database) && derived_names::NAMES.contains(&name),
    }
}

/// (column, type) of a table of a database made up from live state.
pub(crate) fn columns_in(database: &str, name: &str) -> Vec<(String, ColumnType)> {
    match database {
        SYSTEM => columns_of(name),
        _ => information_schema::columns_of(name),
    }
}

/// (column, type) of a system table.
pub(crate) fn columns_of(name: &str) -> Vec<(String, ColumnType)> {
    if let Some(range) = endless(name) {
        let of = if range.column == ZERO { ColumnType::UInt8 } else { ColumnType::UInt64 };
        return vec![(range.column.to_owned(), of)];
    }
    let Some(table) = definition(name) else { return Vec::new() };
    let filled = table.columns.iter().map(|(column, of)| ((*column).to_owned(), rows::column_type(of)));
    filled.chain(unfilled::columns_of(name)).collect()
}

/// The rows of a table that never ends.
fn endless(name: &str) -> Option<NumberRange> {
    let column = match name {
        "numbers" | "numbers_mt" => "number",
        "zeros" | "zeros_mt" => ZERO,
        _ => return None,
    };
    Some(NumberRange { start: 0, count: None, step: 1, column })
}

/// The table behind `system.<name>`.
pub(crate) fn table(
    name: &str,
    services: &Services,
    execution: &Execution,
) -> Result<Option<Arc<dyn TableProvider>>, Error> {
    if let Some(range) = endless(name) {
        return Ok(Some(numbers_table(range, &execution.progress.source)?));
    }
    let Some(table) = definition(name) else { return Ok(None) };
    let batch = unfilled::completed(name, table.batch(services, execution)?)?;
    Ok(Some(Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]])?)))
}

/// The table behind `information_schema.<name>`.
pub(crate) fn schema_table(
    name: &str,
    services: &Services,
    execution: &Execution,
) -> Result<Option<Arc<dyn TableProvider>>, Error> {
    let rows = |over: &str| {
        let table = definition(over).ok_or_else(|| Error::internal(format!("no system.{over}")))?;
        table.batch(services, execution)
    };
    let Some(batch) = information_schema::rows_of(name, rows)? else { return Ok(None) };
    Ok(Some(Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]])?)))
}

#[cfg(test)]
mod tests {
    use ::tables::system_rows::derived_names::NAMES;
    use ::tables::system_rows::information_schema::{Source, columns_of, view};
    use Source::{From, Null, Of, Text};

    use super::definition;

    #[test]
    fn every_view_stands_over_columns_that_there_are() {
        for name in NAMES {
            let view = view(name).unwrap();
            let over = definition(view.over).unwrap();
            let known: Vec<&str> = over.columns.iter().map(|(column, _)| *column).collect();
            for (column, _, source) in view.columns {
                let used: Vec<&str> = match source {
                    Of(used) => vec![used],
                    From(used, _) => used.to_vec(),
                    Text(_) | Null => vec![],
                };
                assert!(used.iter().all(|used| known.contains(used)), "{name}.{column}");
            }
            assert_eq!(columns_of(name).len(), view.columns.len() * 2);
        }
        assert!(view("Tables").is_none() && columns_of("nosuch").is_empty());
    }
}
