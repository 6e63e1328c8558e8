//! Do all values of a table's columns convert to the types they are about to get?
//!
//! Invariant: what passes here is read later without an error: the same conversion is asked, of every live part and every
//! inline row. Only the columns in question are read, batch by batch.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::datatypes::{Schema, SchemaRef};
use catalog::{InlineStatement, TableState};
use model::table_def::column_id_of;
use model::{ColumnId, PartId, TableDef};
use parts::evolve::{columns_read, evolve};
use parts::{PartError, open_part};

use crate::error::TableError;
use crate::inline;
use crate::table::Table;

/// Rows decoded at once.
const BATCH_ROWS: usize = 8192;

/// Reads `columns` of all rows of `state` as `table`, which is the table as it will be, has them. Parts in `passed` are not
/// read again; those that pass are added.
///
/// # Errors
/// A value does not convert, a part cannot be read, or `cancelled`.
pub fn check_values(
    table: &Table,
    state: &TableState,
    columns: &[ColumnId],
    passed: &mut BTreeSet<PartId>,
    cancelled: &AtomicBool,
) -> Result<(), TableError> {
    let fields = table.def.arrow_schema();
    let fields = fields.fields().iter().filter(|f| column_id_of(f).is_some_and(|id| columns.contains(&id)));
    let target: SchemaRef = Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()));
    for part in state.parts() {
        if passed.contains(&part.id)
            || !differs(state.definition_of(part.schema_version).as_deref(), &table.def, columns)
        {
            continue;
        }
        let reader = open_part(&table.store, part)?;
        let read = columns_read(reader.schema(), &target, &table.keys.evolution);
        for batch in reader.read(&read, None, BATCH_ROWS)? {
            if cancelled.load(Ordering::Relaxed) {
                return Err(TableError::Cancelled);
            }
            evolve(&batch?, &target, &table.keys.evolution).map_err(|e| unfit(part.schema_version, &e))?;
        }
        passed.insert(part.id);
    }
    let statements: Vec<&InlineStatement> = state.inline().map(AsRef::as_ref).collect();
    for same in statements.chunk_by(|a, b| a.schema_version == b.schema_version) {
        let Some(then) = same.first().and_then(|first| state.definition_of(first.schema_version)) else {
            continue;
        };
        let rows = inline::decode_all(&then, same)?;
        evolve(&rows, &target, &table.keys.evolution).map_err(|e| unfit(then.schema_version, &e))?;
    }
    Ok(())
}

/// Whether one of the columns had another type.
fn differs(then: Option<&TableDef>, now: &TableDef, columns: &[ColumnId]) -> bool {
    let column_type = |def: &TableDef, id| def.column_by_id(id).map(|column| column.column_type.clone());
    then.is_none_or(|then| columns.iter().any(|id| column_type(then, *id) != column_type(now, *id)))
}

fn unfit(schema_version: u32, error: &arrow::error::ArrowError) -> TableError {
    PartError::Evolve { schema_version, message: error.to_string() }.into()
}
