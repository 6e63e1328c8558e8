//! How rows of older versions of a table's columns become rows of the current one: casts and defaults, compiled.
//!
//! Invariant: what a scan shows of an old row is what a merge writes of it. A default that asks about its statement
//! (`now()`) is computed anew by every statement until a merge writes it down, as in ClickHouse.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use boundary::error::Error;
use datafusion::execution::SessionState;
use functions::cast::{CastMode, cast_column};
use model::table_def::stored_column_name;
use model::type_arrow::to_field;
use model::{ColumnId, ColumnType, Conversion, DefaultKind, Evolution, RowExpr, RowExprError, TableDef};

use crate::defaults::compile_default;
use crate::nested::declared::elder_part;

/// ClickHouse's casts.
#[derive(Debug)]
struct Casts;

impl Conversion for Casts {
    fn convert(
        &self,
        values: &ArrayRef,
        from: &ColumnType,
        to: &ColumnType,
    ) -> Result<ArrayRef, RowExprError> {
        let cast = cast_column(values, from, to, CastMode::Strict);
        let cast = cast.map_err(|error| RowExprError {
            expression: format!("the stored {from} as {to}"),
            message: error.to_string(),
        })?;
        debug_assert_eq!(cast.len(), values.len());
        Ok(cast)
    }
}

/// Compiles what `def` needs for older rows. True if a default asks about its statement.
pub fn compile_evolution(state: &SessionState, def: &TableDef) -> Result<(Evolution, bool), Error> {
    let mut asks = false;
    let mut columns = BTreeMap::new();
    let mut defaults: BTreeMap<ColumnId, Arc<dyn RowExpr>> = BTreeMap::new();
    for column in &def.columns {
        columns.insert(column.id, to_field(&stored_column_name(column.id), &column.column_type));
        // The first version had all its columns from the start: nothing lacks them.
        if def.schema_version == 1 {
            continue;
        }
        let elder = elder_part(def, column).filter(|_| column.default.is_none());
        let text = match (&column.default, elder) {
            (Some((DefaultKind::Alias, _)), _) | (None, None) => None,
            (Some((_, text)), _) => Some(text.to_string()),
            // As many defaults as the other arrays of the Nested have elements.
            (None, Some(elder)) => {
                let (of, elder) = (column.column_type.to_string(), stored_column_name(elder.id));
                let empty = format!("CAST([], {})", sql::escape::quote_text(&of));
                Some(format!("arrayResize({empty}, length(`{elder}`))"))
            }
        };
        if let Some(text) = text {
            let (default, asked) = compile_default(state, def, &text)?;
            asks |= asked.is_some();
            defaults.insert(column.id, default);
        }
    }
    Ok((Evolution::new(columns, defaults, Arc::new(Casts)), asks))
}
