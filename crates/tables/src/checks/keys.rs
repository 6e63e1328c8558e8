//! Keys that ClickHouse refuses: constants, repeated expressions, partitions by floats. Columns with NULL are let be: a table made
//! of files has them wherever the files do not say otherwise.
//!
//! Invariant: of an expression that is no plain column only its text is judged. Must not know: how keys are compiled.

use std::sync::Arc;

use model::table_def::stored_column_name;
use model::{ColumnType, ErrorCode, TableDef};

use sql::definition::kept;
use sql::lexer::error::{Result, SqlError};

pub(super) fn check(def: &TableDef) -> Result<()> {
    check_granularity(def)?;
    check_constants("sorting", &def.order_by)?;
    check_constants("partition", &def.partition_by)?;
    let repeated = def.order_by.iter().enumerate().any(|(at, key)| def.order_by[..at].contains(key));
    if repeated && !is_on(def, "allow_suspicious_indices") {
        return Err(SqlError::bad_arguments("an expression of the sorting key is given twice")
            .with_hint("the setting allow_suspicious_indices of the table lets it be"));
    }
    for key in &def.partition_by {
        if let Some(ColumnType::Float32 | ColumnType::Float64) =
            column_of(def, key).map(ColumnType::value_type)
        {
            return Err(SqlError::bad_arguments("a partition key is no floating-point number"));
        }
    }
    check_sampling(def)
}

fn check_granularity(def: &TableDef) -> Result<()> {
    let value = |name: &str| def.settings.get(name).and_then(|value| value.parse::<u64>().ok());
    if value("index_granularity") == Some(0) {
        return Err(SqlError::bad_arguments("setting index_granularity: 0 makes no sense"));
    }
    // A table says by a setting of its own what is the least.
    let least = value("min_index_granularity_bytes").unwrap_or(1024);
    match value("index_granularity_bytes") {
        Some(bytes) if bytes > 0 && bytes < least => {
            let message = format!("setting index_granularity_bytes: {bytes} is lower than {least}");
            Err(SqlError::bad_arguments(message))
        }
        _ => Ok(()),
    }
}

/// Literals, alone and in parentheses; what calls say is seen when they are compiled.
fn check_constants(which: &str, key: &[Arc<str>]) -> Result<()> {
    let is_constant = |part: &&Arc<str>| {
        let text = part.trim_matches(['(', ')']);
        let is_text = text.len() > 1 && text.starts_with('\'') && text.ends_with('\'') && !text.contains('`');
        text.parse::<f64>().is_ok() || is_text
    };
    match key.iter().find(is_constant) {
        Some(_) => Err(SqlError::new(ErrorCode::ILLEGAL_COLUMN, format!("the {which} key holds a constant"))),
        None => Ok(()),
    }
}

/// SAMPLE BY a column wants an unsigned integer.
fn check_sampling(def: &TableDef) -> Result<()> {
    let Some(name) = kept::texts(def, "SAMPLE BY").next() else { return Ok(()) };
    let column = def.columns.iter().find(|column| *column.name == *name);
    match column.map(|column| &column.column_type) {
        None | Some(ColumnType::UInt8 | ColumnType::UInt16 | ColumnType::UInt32 | ColumnType::UInt64) => {
            Ok(())
        }
        Some(other) => {
            let message = format!("SAMPLE BY takes an unsigned integer, not {other}");
            Err(SqlError::new(ErrorCode::ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER, message))
        }
    }
}

/// The type of the column, of a key that is one.
fn column_of<'a>(def: &'a TableDef, key: &str) -> Option<&'a ColumnType> {
    let found = def.columns.iter().find(|column| key == format!("`{}`", stored_column_name(column.id)))?;
    Some(&found.column_type)
}

fn is_on(def: &TableDef, name: &str) -> bool {
    def.settings.get(name).is_some_and(|value| matches!(value.as_ref(), "1" | "true"))
}
