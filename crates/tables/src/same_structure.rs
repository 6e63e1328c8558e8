//! Whether rows of one table are stored as those of another are.
//!
//! Invariant: columns are compared by their names and types, keys by their texts; ids and places differ. Must not know: rows.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use model::{ErrorCode, TableDef, TableKeys};

/// Refuses tables whose rows are stored in two ways.
///
/// # Errors
/// What differs: columns, or keys.
pub fn same_structure(
    (from, source): (&TableDef, &TableKeys),
    (to, target): (&TableDef, &TableKeys),
) -> Result<(), Error> {
    let refused = |code: ErrorCode, what: &str| {
        let message = format!("tables \"{}\" and \"{}\" have different {what}", from.name, to.name);
        Err(Error::new(ErrorKind::BadInput, code, message)
            .with_hint("INSERT SELECT copies rows between any tables"))
    };
    let columns = |def: &TableDef| -> Vec<(String, String)> {
        let stored = def.stored_columns();
        let mut columns: Vec<(String, String)> =
            stored.map(|column| (column.name.to_string(), column.column_type.to_string())).collect();
        columns.sort();
        columns
    };
    let texts = |keys: &[Arc<dyn model::RowExpr>]| -> Vec<String> {
        keys.iter().map(|key| key.text().to_owned()).collect()
    };
    if columns(from) != columns(to) {
        return refused(ErrorCode::INCOMPATIBLE_COLUMNS, "columns");
    }
    if texts(&source.sort) != texts(&target.sort) {
        return refused(ErrorCode::BAD_ARGUMENTS, "ORDER BY");
    }
    if texts(&source.partition) != texts(&target.partition) {
        return refused(ErrorCode::BAD_ARGUMENTS, "PARTITION BY");
    }
    if from.primary_key_len != to.primary_key_len {
        return refused(ErrorCode::BAD_ARGUMENTS, "primary keys");
    }
    Ok(())
}
