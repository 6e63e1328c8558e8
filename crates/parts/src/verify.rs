//! Reads a part back completely and compares it with what its descriptor says.
//!
//! Invariant: a part that passes can be read by every scan and merge. Used by CHECK TABLE, `inspect` and tests.

use std::sync::Arc;

use arrow::array::Array;
use model::table_def::column_id_of;
use model::{ColumnId, PartDescriptor, RowExpr, SortOrder, Value};

use crate::array_size::batch_bytes;
use crate::error::PartError;
use crate::reader::open_part;
use crate::sorted::SortedCheck;
use crate::store::PartStore;

/// What was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VerifiedPart {
    pub rows: u64,
    /// Of the file.
    pub bytes: u64,
    /// Of the rows in memory.
    pub bytes_uncompressed: u64,
}

/// Rows decoded at once.
const BATCH_ROWS: usize = 8192;

/// Checks length, checksum, every page, bounds, NULL counts and, if `sort_key` is the one the part was sorted by, the
/// order. What is found is noted in the store's [`crate::PartHealth`].
///
/// # Errors
/// `Damaged`, `Checksum` or `Unsorted` with the first difference.
pub fn verify(
    store: &PartStore,
    part: &PartDescriptor,
    sort_key: &[Arc<dyn RowExpr>],
) -> Result<VerifiedPart, PartError> {
    let verified = verify_file(store, part, sort_key);
    match &verified {
        Ok(_) => store.health().note_sound(part, store.host().clock.now_ms()),
        Err(error) => {
            store.health().note_error(part.table, error);
            store.health().note_looked(part, store.host().clock.now_ms());
        }
    }
    verified
}

fn verify_file(
    store: &PartStore,
    part: &PartDescriptor,
    sort_key: &[Arc<dyn RowExpr>],
) -> Result<VerifiedPart, PartError> {
    store.compare_whole(part)?;
    let reader = open_part(store, part)?;
    let columns: Vec<ColumnId> = reader.schema().fields().iter().filter_map(|f| column_id_of(f)).collect();
    let key: &[Arc<dyn RowExpr>] = if part.sort_order == SortOrder::None { &[] } else { sort_key };
    let mut sorted = SortedCheck::new(key);
    let mut nulls = vec![0; columns.len()];
    let (mut rows, mut bytes_uncompressed) = (0, 0);
    for batch in reader.read(&columns, None, BATCH_ROWS)? {
        let batch = batch?;
        sorted.check(&batch)?;
        for (position, column) in columns.iter().enumerate() {
            let array = batch.column(position);
            nulls[position] += array.null_count() as u64;
            within_bounds(part, *column, array)?;
        }
        rows += batch.num_rows() as u64;
        bytes_uncompressed += batch_bytes(&batch);
    }
    if rows != part.rows {
        return Err(PartError::damaged(part.id, format!("{rows} rows were read of {}", part.rows)));
    }
    for (column, found) in columns.iter().zip(nulls) {
        if let Some(expected) =
            part.bounds_of(*column).and_then(|bounds| bounds.nulls).filter(|n| *n != found)
        {
            let message = format!("column {} has {found} nulls where {expected} were written", column.0);
            return Err(PartError::damaged(part.id, message));
        }
    }
    Ok(VerifiedPart { rows, bytes: part.bytes, bytes_uncompressed })
}

/// Looks at the first and last value of a batch only where looking at all would cost more than decoding did.
fn within_bounds(part: &PartDescriptor, column: ColumnId, array: &dyn Array) -> Result<(), PartError> {
    let Some(bounds) = part.bounds_of(column) else { return Ok(()) };
    for row in [0, array.len().saturating_sub(1)] {
        let value = if row < array.len() { Value::at(array, row) } else { None };
        let Some(value) = value.filter(|value| *value != Value::Null) else { continue };
        let below = bounds.min.as_ref().is_some_and(|min| value.order(min).is_lt());
        let above = bounds.max.as_ref().is_some_and(|max| value.order(max).is_gt());
        if below || above {
            return Err(PartError::damaged(
                part.id,
                format!("a value of column {} is out of bounds", column.0),
            ));
        }
    }
    Ok(())
}
