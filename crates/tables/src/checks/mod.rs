//! What ClickHouse refuses in a definition although it could be kept: codecs, types, indexes and keys that make no sense.
//!
//! Invariant: pure, and asked when a statement defines something; what was defined before is never refused again. Must not
//! know: what an index or a codec does.

mod codecs;
mod indexes;
mod keys;
mod types;

use model::{DefaultKind, TableDef, TableEngine};

use sql::definition::kept;
use sql::lexer::error::{Result, SqlError};
use sql::settings::Settings;

/// Checks the definition of a new table.
///
/// # Errors
/// Those of ClickHouse for what it does not let be defined.
pub fn check_new(def: &TableDef, settings: &Settings) -> Result<()> {
    check_columns(None, def, settings)?;
    kept::check_indexes(def)?;
    indexes::check(None, def)?;
    match def.engine {
        TableEngine::MergeTree => keys::check(def),
        _ => Ok(()),
    }
}

/// Checks what ALTER makes of a definition.
///
/// # Errors
/// As [`check_new`], of what the statement says.
pub fn check_altered(before: &TableDef, after: &TableDef, settings: &Settings) -> Result<()> {
    check_columns(Some(before), after, settings)?;
    indexes::check(Some(before), after)
}

fn check_columns(before: Option<&TableDef>, def: &TableDef, settings: &Settings) -> Result<()> {
    for column in &def.columns {
        let old = before.and_then(|before| before.columns.iter().find(|old| old.id == column.id));
        let is_same_type = old.is_some_and(|old| old.column_type == column.column_type);
        if !is_same_type {
            types::check(&column.name, &column.column_type, settings)?;
        }
        let Some(codec) = &column.codec else { continue };
        if is_same_type && old.is_some_and(|old| old.codec.as_ref() == Some(codec)) {
            continue;
        }
        if column.default.as_ref().is_some_and(|(kind, _)| *kind == DefaultKind::Alias) {
            let message = format!("column {} is an ALIAS: it has no codec", column.name);
            return Err(SqlError::bad_arguments(message));
        }
        codecs::check(codec, &column.column_type, settings)?;
    }
    Ok(())
}
