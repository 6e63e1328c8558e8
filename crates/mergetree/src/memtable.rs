//! The inline rows of a table at one snapshot, as batches of the current columns.
//!
//! Invariant: a view, never a second truth; rows come in the order of their block numbers.

use arrow::array::RecordBatch;
use catalog::{InlineStatement, TableState};
use parts::PartError;
use parts::evolve::evolve;

use crate::error::TableError;
use crate::inline;

/// Rows of one batch; a thousand single-row statements are one batch, not a thousand.
const BATCH_ROWS: u64 = 8192;

/// # Errors
/// The log holds bytes that are not rows of this table.
pub fn batches(table: &TableState) -> Result<Vec<RecordBatch>, TableError> {
    let statements: Vec<&InlineStatement> = table.inline().map(AsRef::as_ref).collect();
    chunks(&statements).into_iter().map(|chunk| read(table, chunk)).collect()
}

/// Neighbours of one schema version, up to [`BATCH_ROWS`] rows or one statement.
fn chunks<'a>(statements: &'a [&'a InlineStatement]) -> Vec<&'a [&'a InlineStatement]> {
    let mut chunks = Vec::new();
    let (mut start, mut rows) = (0, 0);
    for (at, statement) in statements.iter().enumerate() {
        let differs = statements[start].schema_version != statement.schema_version;
        if at > start && (differs || rows + statement.rows > BATCH_ROWS) {
            chunks.push(&statements[start..at]);
            (start, rows) = (at, 0);
        }
        rows += statement.rows;
    }
    if start < statements.len() {
        chunks.push(&statements[start..]);
    }
    chunks
}

/// The rows of statements of one schema version, with the current columns.
pub(crate) fn read(table: &TableState, statements: &[&InlineStatement]) -> Result<RecordBatch, TableError> {
    let Some(first) = statements.first() else { return Ok(RecordBatch::new_empty(table.def.arrow_schema())) };
    let schema_version = first.schema_version;
    let def = table.definition_of(schema_version).ok_or_else(|| TableError::InlineDamaged {
        block: first.block,
        message: format!("the table never had version {schema_version} of its columns"),
    })?;
    let rows = inline::decode_all(&def, statements)?;
    let evolved = evolve(&rows, &table.def.arrow_schema());
    evolved.map_err(|e| PartError::Evolve { schema_version, message: e.to_string() }.into())
}
