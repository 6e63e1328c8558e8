//! Room for the copies that are made of rows on their way out of a statement: into a table, or to who asked.
//!
//! Batches are small, but for single rows that are large: nobody can cut those. Invariant: asked before the copies are made;
//! the room is not kept, for the copies count themselves. Must not know: who copies.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use functions::row_bytes;
use futures::StreamExt;
use host::meter;
use model::ColumnType;
use model::type_arrow::from_field;

use crate::error::Error;
use crate::request::Rows;

/// Copies of fewer bytes are not asked for.
const LARGE_BYTES: usize = 16 << 20;

/// Asks whether a batch can be copied so many times.
///
/// # Errors
/// The statement may not have so much memory: 241.
pub fn room_for(batch: &RecordBatch, copies: usize, consumer: &'static str) -> Result<(), Error> {
    let bytes = batch.columns().iter().map(row_bytes).fold(0, usize::saturating_add);
    if bytes > LARGE_BYTES {
        drop(meter::reserve(consumer, bytes.saturating_mul(copies))?);
    }
    Ok(())
}

/// Asks whether what a writer of rows holds, or makes of one row, can be put together.
///
/// # Errors
/// The statement may not have so much memory: 241.
pub fn room_to_finish(held_bytes: usize, consumer: &'static str) -> Result<(), Error> {
    if held_bytes > LARGE_BYTES {
        // A buffer that grows has room for twice of what is in it.
        drop(meter::reserve(consumer, held_bytes.saturating_mul(2))?);
    }
    Ok(())
}

/// An answer in pieces that writers can write: columns are kept without the zero bytes of a FixedString, and written with
/// them. A row for which there is no room is an error: 241.
pub fn in_pieces(rows: Rows) -> Rows {
    let types: Vec<ColumnType> = rows.schema.fields().iter().map(|field| from_field(field)).collect();
    if !types.iter().any(is_long) {
        return rows;
    }
    let stream = rows.stream.flat_map(move |batch| {
        let pieces = match batch {
            Ok(batch) => pieces_of(&batch, &types),
            Err(error) => vec![Err(error)],
        };
        futures::stream::iter(pieces)
    });
    Rows { schema: rows.schema, stream: stream.boxed() }
}

/// Slices of a batch of which each is written in about [`LARGE_BYTES`], or has one row.
fn pieces_of(batch: &RecordBatch, types: &[ColumnType]) -> Vec<Result<RecordBatch, Error>> {
    let written = |batch: &RecordBatch| {
        let columns = batch.columns().iter().zip(types);
        columns.map(|(column, kind)| fixed_bytes(column, kind)).fold(0, usize::saturating_add)
    };
    let rows = batch.num_rows();
    let each = (rows / (written(batch) / LARGE_BYTES + 1)).max(1);
    let pieces = (0..rows).step_by(each).map(|from| {
        let piece = batch.slice(from, each.min(rows - from));
        room_to_finish(written(&piece), "the answer")?;
        Ok(piece)
    });
    pieces.collect()
}

/// Whether there is a FixedString in it that is longer than a text usually is.
fn is_long(kind: &ColumnType) -> bool {
    match kind {
        ColumnType::FixedString(bytes) => *bytes > 256,
        ColumnType::Nullable(inner) | ColumnType::LowCardinality(inner) | ColumnType::Array(inner) => {
            is_long(inner)
        }
        ColumnType::Map(key, value) => is_long(key) || is_long(value),
        ColumnType::Tuple(elements) => elements.iter().any(|element| is_long(&element.column_type)),
        _ => false,
    }
}

/// Bytes of the FixedStrings of a column as they are written.
fn fixed_bytes(column: &ArrayRef, kind: &ColumnType) -> usize {
    match kind {
        ColumnType::FixedString(bytes) => {
            column.len().saturating_mul(usize::try_from(*bytes).unwrap_or(usize::MAX))
        }
        ColumnType::Nullable(inner) | ColumnType::LowCardinality(inner) => fixed_bytes(column, inner),
        ColumnType::Array(inner) => column.as_list_opt::<i32>().map_or(0, |list| {
            let offsets = list.value_offsets();
            let first = offset(offsets.first());
            fixed_bytes(&list.values().slice(first, offset(offsets.last()) - first), inner)
        }),
        ColumnType::Map(key, value) => column.as_map_opt().map_or(0, |map| {
            let offsets = map.value_offsets();
            let first = offset(offsets.first());
            let entries = map.entries().slice(first, offset(offsets.last()) - first);
            fixed_bytes(entries.column(0), key).saturating_add(fixed_bytes(entries.column(1), value))
        }),
        ColumnType::Tuple(elements) => column.as_struct_opt().map_or(0, |parts| {
            let parts = parts.columns().iter().zip(elements.iter());
            parts
                .map(|(part, element)| fixed_bytes(part, &element.column_type))
                .fold(0, usize::saturating_add)
        }),
        _ => 0,
    }
}

fn offset(offset: Option<&i32>) -> usize {
    offset.and_then(|offset| usize::try_from(*offset).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::StringViewArray;
    use arrow::datatypes::Schema;
    use model::type_arrow::to_field;

    use super::*;

    fn rows_of(kind: &ColumnType, column: ArrayRef) -> Rows {
        let schema = Arc::new(Schema::new(vec![to_field("a", kind)]));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![column]).unwrap();
        Rows { schema, stream: futures::stream::iter([Ok(batch)]).boxed() }
    }

    #[tokio::test]
    async fn rows_that_are_written_long_come_in_pieces() {
        let short: ArrayRef = Arc::new(StringViewArray::from_iter_values(["a"; 100]));
        let lengths = async |bytes: u32| -> Vec<usize> {
            let rows = in_pieces(rows_of(&ColumnType::FixedString(bytes), Arc::clone(&short)));
            rows.stream.map(|batch| batch.unwrap().num_rows()).collect().await
        };
        assert_eq!(lengths(16).await, [100]);
        assert_eq!(lengths(1000).await, [100]);
        assert_eq!(lengths(1 << 20).await.iter().sum::<usize>(), 100);
        assert_eq!(lengths(1 << 20).await.first(), Some(&14));
        assert_eq!(lengths(0xFF_FFFF).await, [1; 100]);
    }
}
