//! `system.data_skipping_indices`, `system.projections` and SHOW INDEX: what definitions say of them. Neither has data.

use arrow::array::RecordBatch;
use sql::definition::kept::{index_expression, indexes, projection_key, projections};

use boundary::error::Error;
use catalog::Snapshot;
use model::TableDef;

use super::rows::{self, Cell, Columns, RowBuilder};

pub const INDEXES: &Columns = &[
    ("database", "String"),
    ("table", "String"),
    ("name", "String"),
    ("type", "String"),
    ("type_full", "String"),
    ("expr", "String"),
    ("creation", "Enum8('Explicit' = 0, 'Implicit' = 1)"),
    ("granularity", "UInt64"),
    ("data_compressed_bytes", "UInt64"),
    ("data_uncompressed_bytes", "UInt64"),
    ("marks_bytes", "UInt64"),
];

pub fn fill_indexes(snapshot: &Snapshot, rows: &mut RowBuilder) -> Result<(), Error> {
    for database in snapshot.databases() {
        for table in snapshot.tables(database.id) {
            for index in indexes(&table.def) {
                let kind = index.index_type.split('(').next().unwrap_or_default().trim();
                rows.push_some([
                    ("database", database.name.to_string().into()),
                    ("table", table.def.name.to_string().into()),
                    ("name", index.name.as_str().into()),
                    ("type", kind.into()),
                    ("type_full", index.index_type.as_str().into()),
                    ("expr", index_expression(&index).into()),
                    ("creation", Cell::Int(0)),
                    ("granularity", index.granularity.into()),
                ])?;
            }
        }
    }
    Ok(())
}

/// MySQL's columns, as ClickHouse names them.
const SHOWN: &Columns = &[
    ("table", "String"),
    ("non_unique", "UInt8"),
    ("key_name", "String"),
    ("seq_in_index", "UInt64"),
    ("pk_col", "String"),
    ("collation", "Nullable(String)"),
    ("cardinality", "UInt8"),
    ("sub_part", "Nullable(String)"),
    ("packed", "Nullable(String)"),
    ("null", "Nullable(String)"),
    ("index_type", "String"),
    ("comment", "String"),
    ("index_comment", "String"),
    ("visible", "String"),
    ("expression", "String"),
];

/// The rows of SHOW INDEX: the expressions of the primary key, one empty row where there are none, and indexes that skip data;
/// by name.
pub fn shown_indexes(def: &TableDef) -> Result<RecordBatch, Error> {
    const PRIMARY: &str = "PRIMARY";
    struct Shown {
        name: String,
        place: usize,
        column: String,
        kind: String,
        expression: String,
    }
    let primary = &def.order_by[..def.order_by.len().min(def.primary_key_len as usize)];
    let mut columns: Vec<String> = primary.iter().map(|key| sql::display_expression(key, def)).collect();
    if columns.is_empty() {
        columns.push(String::new());
    }
    let keys = columns.into_iter().enumerate().map(|(at, column)| Shown {
        name: PRIMARY.to_owned(),
        place: at + 1,
        column,
        kind: PRIMARY.to_owned(),
        expression: String::new(),
    });
    let kept = indexes(def).map(|index| Shown {
        place: 1,
        column: String::new(),
        kind: index.index_type.split('(').next().unwrap_or_default().trim().to_ascii_uppercase(),
        expression: index_expression(&index),
        name: index.name,
    });
    let mut shown: Vec<Shown> = keys.chain(kept).collect();
    shown.sort_by_cached_key(|index| (index.name.to_lowercase(), index.place));
    rows::batch(SHOWN, |rows| {
        for index in shown {
            rows.push_some([
                ("table", def.name.to_string().into()),
                ("non_unique", true.into()),
                ("seq_in_index", index.place.into()),
                ("pk_col", index.column.into()),
                ("collation", if index.kind == PRIMARY { "A".into() } else { Cell::Null }),
                ("key_name", index.name.into()),
                ("index_type", index.kind.into()),
                ("visible", "YES".into()),
                ("expression", index.expression.into()),
            ])?;
        }
        Ok(())
    })
}

pub const PROJECTIONS: &Columns = &[
    ("database", "String"),
    ("table", "String"),
    ("name", "String"),
    ("type", "Enum8('Normal' = 0, 'Aggregate' = 1)"),
    ("sorting_key", "Array(String)"),
    ("query", "String"),
];

pub fn fill_projections(snapshot: &Snapshot, rows: &mut RowBuilder) -> Result<(), Error> {
    for database in snapshot.databases() {
        for table in snapshot.tables(database.id) {
            for projection in projections(&table.def) {
                let (key, aggregates) = projection_key(&projection);
                rows.push_some([
                    ("database", database.name.to_string().into()),
                    ("table", table.def.name.to_string().into()),
                    ("name", projection.name.as_str().into()),
                    ("type", Cell::Int(i32::from(aggregates))),
                    ("sorting_key", key.into()),
                    ("query", sql::shown_projection(&projection.query).into()),
                ])?;
            }
        }
    }
    Ok(())
}
