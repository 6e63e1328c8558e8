//! Settings of a table as ALTER changes them, and the changes of columns that they forbid.
//!
//! Invariant: a setting that ClickHouse fixes when a table is made stays as it was then. Must not know: who obeys a setting.

use model::table_def::stored_column_name;
use model::{ColumnDef, ErrorCode, TableDef};
use sql::definition::kept::indexes;
use sql::table_text::stored_expr;
use sql::{Result, SettingChange, SettingText, Settings, SqlError, table_settings};

/// How parts are laid out, or which indexes the columns have: a table is made with them.
const FIXED: &[&str] = &[
    "index_granularity",
    "index_granularity_bytes",
    "enable_mixed_granularity_parts",
    "add_minmax_index_for_numeric_columns",
    "add_minmax_index_for_string_columns",
    "add_minmax_index_for_temporal_columns",
];

/// Whether a column that an index needs may get another type.
const SECONDARY_INDEX_MODE: &str = "alter_column_secondary_index_mode";

pub(super) fn modify(def: &mut TableDef, changes: &[SettingChange]) -> Result<()> {
    let mut checked = Settings::of_table();
    checked.apply_all(changes)?;
    for change in changes {
        if change.value == SettingText::Default {
            reset(def, &change.name)?;
            continue;
        }
        let value =
            checked.changed().find(|(name, _)| *name == change.name).map(|(_, value)| value.to_string());
        // One that is the default is kept as it was written.
        let value = value.or_else(|| change.value.text().map(str::to_owned)).unwrap_or_default();
        if FIXED.contains(&change.name.as_str()) && value_of(def, &change.name)? != value {
            check_fixed(&change.name)?;
        }
        def.settings.insert(change.name.as_str().into(), value.into());
    }
    Ok(())
}

pub(super) fn reset(def: &mut TableDef, name: &str) -> Result<()> {
    check_fixed(name)?;
    if table_settings().find(name).is_err() {
        return Err(SqlError::bad_arguments(format!(
            "there is no setting \"{name}\" of tables that could be reset"
        )));
    }
    def.settings.remove(name);
    Ok(())
}

/// The value that a table has, also where its definition does not say it.
fn value_of(def: &TableDef, name: &str) -> Result<String> {
    let mut settings = Settings::of_table();
    if let Some(own) = def.settings.get(name) {
        settings.set(name, own)?;
    }
    Ok(settings.get_text(name))
}

fn check_fixed(name: &str) -> Result<()> {
    if !FIXED.contains(&name) {
        return Ok(());
    }
    let message = format!("setting \"{name}\" is fixed when a table is made");
    Err(SqlError::new(ErrorCode::READONLY_SETTING, message))
}

/// Refuses another type for a column of an index where the table's setting says so.
pub(super) fn check_indexed(def: &TableDef, column: &ColumnDef) -> Result<()> {
    if value_of(def, SECONDARY_INDEX_MODE)? != "throw" {
        return Ok(());
    }
    let stored = format!("`{}`", stored_column_name(column.id));
    for index in indexes(def) {
        if !stored_expr(&index.expression, &def.columns).is_ok_and(|text| text.contains(&stored)) {
            continue;
        }
        let message = format!(
            "cannot change the type of column {}: index {} needs it, and {SECONDARY_INDEX_MODE} is 'throw'",
            column.name, index.name
        );
        return Err(SqlError::new(ErrorCode::ALTER_OF_COLUMN_IS_FORBIDDEN, message));
    }
    Ok(())
}
