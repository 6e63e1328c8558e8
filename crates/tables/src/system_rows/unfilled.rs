//! What ClickHouse's system tables have and ours do not fill: whole tables about things that do not exist here, which are empty,
//! and columns of tables that do, which hold the defaults of their types, or another column under a second name.
//!
//! Invariant: names and types are ClickHouse 26.9's, out of `clickhouse.tsv` (table, column, type, the column it is another name
//! of); `tests/oracle/system_tables_check.py` compares and writes them. Must not know: what tables hold.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{FieldRef, Schema};
use boundary::error::Error;
use functions::cast::default_array;
use model::ColumnType;
use model::type_arrow::to_field;

use super::rows::column_type;

/// A column that is not filled.
struct Unfilled {
    name: &'static str,
    of: ColumnType,
    /// The column whose values it has.
    alias_of: Option<&'static str>,
}

static KNOWN: LazyLock<BTreeMap<&'static str, Vec<Unfilled>>> = LazyLock::new(|| {
    let mut tables: BTreeMap<&'static str, Vec<Unfilled>> = BTreeMap::new();
    for line in include_str!("unfilled/clickhouse.tsv").lines() {
        let mut fields = line.split('\t');
        if let (Some(table), Some(name), Some(of)) = (fields.next(), fields.next(), fields.next()) {
            let column = Unfilled { name, of: column_type(of), alias_of: fields.next() };
            tables.entry(table).or_default().push(column);
        }
    }
    tables
});

/// The tables that have such columns, or nothing else.
pub fn tables() -> impl Iterator<Item = &'static str> {
    KNOWN.keys().copied()
}

pub fn is_known(table: &str) -> bool {
    KNOWN.contains_key(table)
}

/// (column, type) behind those that are filled.
pub fn columns_of(table: &str) -> impl Iterator<Item = (String, ColumnType)> {
    KNOWN.get(table).into_iter().flatten().map(|column| (column.name.to_owned(), column.of.clone()))
}

/// The rows with the other columns of their table.
pub fn completed(table: &str, batch: RecordBatch) -> Result<RecordBatch, Error> {
    let Some(columns) = KNOWN.get(table) else { return Ok(batch) };
    let internal = |error: arrow::error::ArrowError| Error::internal(error.to_string());
    let mut fields: Vec<FieldRef> = batch.schema().fields().iter().cloned().collect();
    let mut arrays: Vec<ArrayRef> = batch.columns().to_vec();
    for column in columns {
        let same = column.alias_of.and_then(|name| batch.column_by_name(name));
        fields.push(Arc::new(to_field(column.name, &column.of)));
        arrays.push(same.map_or_else(|| default_array(&column.of, batch.num_rows()), Arc::clone));
    }
    let schema = Arc::new(Schema::new(fields));
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema, arrays, &options).map_err(internal)
}
