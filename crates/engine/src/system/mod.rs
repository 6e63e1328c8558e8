//! System tables: live state of the process as rows, one file a table or a family of them.
//!
//! Invariant: a system table is made when a statement names it and does not change while the statement runs.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use model::ColumnType;
use model::type_arrow::to_field;

use crate::context::StatementContext;
use crate::error::Error;
use crate::provider::numbers::{NumberRange, numbers_table};

pub(crate) mod rows;

mod columns;
mod databases;
mod errors;
mod exports;
mod formats;
mod functions;
mod load_rejected_rows;
pub(crate) mod loads;
mod merges;
mod named_collections;
mod one;
mod part_log;
mod parts;
mod processes;
mod profile_events;
mod query_log;
mod schema_inference_cache;
mod settings;
mod tables;

pub(crate) use columns::default_of;
use rows::RowBuilder;

/// Columns and content of one system table.
pub(crate) struct SystemTable {
    pub columns: &'static [(&'static str, &'static str)],
    pub fill: fn(&StatementContext, &mut RowBuilder) -> Result<(), Error>,
}

/// Every name `system.<name>` resolves.
pub(crate) const NAMES: &[&str] = &[
    "columns",
    "databases",
    "errors",
    "exports",
    "formats",
    "functions",
    "load_files",
    "load_rejected_rows",
    "load_units",
    "loads",
    "merges",
    "merge_tree_settings",
    "named_collections",
    "numbers",
    "one",
    "part_log",
    "parts",
    "processes",
    "query_log",
    "schema_inference_cache",
    "settings",
    "tables",
];

fn definition(name: &str) -> Option<SystemTable> {
    Some(match name {
        "columns" => columns::TABLE,
        "databases" => databases::TABLE,
        "errors" => errors::TABLE,
        "exports" => exports::TABLE,
        "formats" => formats::TABLE,
        "functions" => functions::TABLE,
        "load_files" => loads::FILES,
        "load_rejected_rows" => load_rejected_rows::TABLE,
        "load_units" => loads::UNITS,
        "loads" => loads::LOADS,
        "merges" => merges::TABLE,
        "merge_tree_settings" => settings::MERGE_TREE_TABLE,
        "named_collections" => named_collections::TABLE,
        "one" => one::TABLE,
        "part_log" => part_log::TABLE,
        "parts" => parts::TABLE,
        "processes" => processes::TABLE,
        "query_log" => query_log::TABLE,
        "schema_inference_cache" => schema_inference_cache::TABLE,
        "settings" => settings::TABLE,
        "tables" => tables::TABLE,
        _ => return None,
    })
}

/// (column, type) of a system table.
pub(crate) fn columns_of(name: &str) -> Vec<(String, ColumnType)> {
    if name == "numbers" {
        return vec![("number".to_owned(), ColumnType::UInt64)];
    }
    let Some(table) = definition(name) else { return Vec::new() };
    table.columns.iter().map(|(column, of)| ((*column).to_owned(), rows::column_type(of))).collect()
}

/// The table behind `system.<name>`.
pub(crate) fn table(name: &str, context: &StatementContext) -> Result<Option<Arc<dyn TableProvider>>, Error> {
    if name == "numbers" {
        return Ok(Some(numbers_table(NumberRange { start: 0, count: None, step: 1, zeros: false })?));
    }
    let Some(table) = definition(name) else { return Ok(None) };
    let batch = batch_of(&table, context)?;
    Ok(Some(Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]])?)))
}

fn batch_of(table: &SystemTable, context: &StatementContext) -> Result<RecordBatch, Error> {
    let types: Vec<ColumnType> = table.columns.iter().map(|(_, of)| rows::column_type(of)).collect();
    let fields: Vec<_> = table.columns.iter().zip(&types).map(|((name, _), of)| to_field(name, of)).collect();
    let mut builder = RowBuilder::new(&types);
    (table.fill)(context, &mut builder)?;
    builder.finish(Arc::new(Schema::new(fields)))
}
