//! `system.columns`: columns of every table, of those of the session and of those made up from live state.

use boundary::error::Error;
use catalog::Snapshot;
use model::{ColumnType, TableDef};

use super::{SystemTable, columns_in, names};
use ::tables::system_rows::derived_names;
use ::tables::system_rows::rows::{Cell, RowBuilder};
use ::tables::system_rows::shown_default::default_of;
use tables::reserved::{INFORMATION_SCHEMA, SYSTEM};
use tables::temporary::TemporaryTables;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("database", "String"),
        ("table", "String"),
        ("name", "String"),
        ("type", "String"),
        ("position", "UInt64"),
        ("default_kind", "String"),
        ("default_expression", "String"),
        ("data_compressed_bytes", "UInt64"),
        ("data_uncompressed_bytes", "UInt64"),
        ("marks_bytes", "UInt64"),
        ("comment", "String"),
        ("is_in_partition_key", "UInt8"),
        ("is_in_sorting_key", "UInt8"),
        ("is_in_primary_key", "UInt8"),
        ("is_in_sampling_key", "UInt8"),
        ("compression_codec", "String"),
        ("character_octet_length", "Nullable(UInt64)"),
        ("numeric_precision", "Nullable(UInt64)"),
        ("numeric_precision_radix", "Nullable(UInt64)"),
        ("numeric_scale", "Nullable(UInt64)"),
        ("datetime_precision", "Nullable(UInt64)"),
        ("serialization_hint", "Nullable(String)"),
        ("statistics", "String"),
    ],
    fill: |_, execution, rows| fill(&execution.snapshot, &execution.temporary, rows),
};

fn fill(snapshot: &Snapshot, temporary: &TemporaryTables, rows: &mut RowBuilder) -> Result<(), Error> {
    for database in snapshot.databases() {
        for table in snapshot.tables(database.id) {
            push_table(rows, &database.name, &table.def)?;
        }
    }
    for table in temporary.all() {
        push_table(rows, "", &table.def)?;
    }
    let of_schemas = || derived_names::NAMES.iter().copied().collect();
    let derived = std::iter::once((SYSTEM, names()))
        .chain(INFORMATION_SCHEMA.into_iter().map(|database| (database, of_schemas())));
    for (database, tables) in derived {
        for table in tables {
            for (position, (name, column_type)) in columns_in(database, table).into_iter().enumerate() {
                let [octets, precision, radix, scale, datetime] = measures(&column_type);
                rows.push_some([
                    ("database", database.into()),
                    ("table", table.into()),
                    ("name", name.into()),
                    ("type", column_type.to_string().into()),
                    ("position", (position + 1).into()),
                    ("character_octet_length", octets),
                    ("numeric_precision", precision),
                    ("numeric_precision_radix", radix),
                    ("numeric_scale", scale),
                    ("datetime_precision", datetime),
                ])?;
            }
        }
    }
    Ok(())
}

fn push_table(rows: &mut RowBuilder, database: &str, def: &TableDef) -> Result<(), Error> {
    for (position, column) in def.columns.iter().enumerate() {
        push_column(rows, database, def, position, column)?;
    }
    Ok(())
}

fn push_column(
    rows: &mut RowBuilder,
    database: &str,
    def: &TableDef,
    position: usize,
    column: &model::ColumnDef,
) -> Result<(), Error> {
    let used = format!("`{}`", model::table_def::stored_column_name(column.id));
    let uses = |texts: &[std::sync::Arc<str>]| texts.iter().any(|text| text.contains(&used));
    let primary = &def.order_by[..def.order_by.len().min(def.primary_key_len as usize)];
    let (default_kind, default_expression) = default_of(def, column);
    let [octets, precision, radix, scale, datetime] = measures(&column.column_type);
    let codec = column.codec.as_deref().map(|codec| sql::shown_codec(codec, &column.column_type));
    let codec = codec.map_or_else(String::new, |shown| format!("CODEC({shown})"));
    rows.push_some([
        ("database", database.into()),
        ("table", def.name.to_string().into()),
        ("name", column.name.to_string().into()),
        ("type", column.declared_type().into()),
        ("position", (position + 1).into()),
        ("default_kind", default_kind.into()),
        ("default_expression", default_expression.into()),
        ("comment", column.comment.to_string().into()),
        ("is_in_partition_key", uses(&def.partition_by).into()),
        ("is_in_sorting_key", uses(&sql::sorted_by(def)).into()),
        ("is_in_primary_key", uses(primary).into()),
        ("compression_codec", codec.into()),
        ("character_octet_length", octets),
        ("numeric_precision", precision),
        ("numeric_precision_radix", radix),
        ("numeric_scale", scale),
        ("datetime_precision", datetime),
    ])
}

/// What the SQL standard says of a type, NULL where it does not apply: length in bytes, then precision, radix and scale
/// of a number, then that of a time. ClickHouse says nothing of Nullable types.
fn measures(column_type: &ColumnType) -> [Cell; 5] {
    let (mut octets, mut number, mut datetime) = (None, None, None);
    match column_type.value_type() {
        ColumnType::FixedString(length) => octets = Some(u64::from(*length)),
        ColumnType::UInt8 | ColumnType::Int8 | ColumnType::Bool => number = Some((8, 2, 0)),
        ColumnType::UInt16 | ColumnType::Int16 => number = Some((16, 2, 0)),
        ColumnType::UInt32 | ColumnType::Int32 => number = Some((32, 2, 0)),
        ColumnType::UInt64 | ColumnType::Int64 => number = Some((64, 2, 0)),
        ColumnType::Decimal { precision, scale } => {
            number = Some((u64::from(*precision), 10, u64::from(*scale)));
        }
        ColumnType::Date | ColumnType::Date32 | ColumnType::DateTime { .. } => datetime = Some(0),
        ColumnType::DateTime64 { precision, .. } => datetime = Some(u64::from(*precision)),
        _ => {}
    }
    [
        octets.into(),
        number.map(|(precision, _, _)| precision).into(),
        number.map(|(_, radix, _)| radix).into(),
        number.map(|(_, _, scale)| scale).into(),
        datetime.into(),
    ]
}
