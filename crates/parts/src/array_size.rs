//! How much memory rows really take.
//!
//! Arrow counts a shared text buffer once per array that looks into it, which overstates a batch cut from a large
//! page by orders of magnitude. Invariant: the sizes of two halves of a batch add up to the size of the whole, but
//! for rounding of bits.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;

/// Bytes of the values of a batch.
pub fn batch_bytes(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(array_bytes).sum()
}

/// Bytes of the values of an array; texts count with their own length, not with the buffers they sit in.
pub fn array_bytes(array: &ArrayRef) -> u64 {
    let rows = array.len() as u64;
    let nulls = array.nulls().map_or(0, |_| rows.div_ceil(8));
    nulls + value_bytes(array, rows)
}

fn value_bytes(array: &ArrayRef, rows: u64) -> u64 {
    match array.data_type() {
        DataType::Null => 0,
        DataType::Boolean => rows.div_ceil(8),
        DataType::Utf8View => rows * 16 + array.as_string_view().total_buffer_bytes_used() as u64,
        DataType::BinaryView => rows * 16 + array.as_binary_view().total_buffer_bytes_used() as u64,
        DataType::FixedSizeBinary(bytes) => rows * u64::try_from(*bytes).unwrap_or(0),
        DataType::Struct(_) => array.as_struct().columns().iter().map(array_bytes).sum(),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            rows * 4 + array_bytes(&used_values(list.values(), list.value_offsets()))
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let entries: ArrayRef = std::sync::Arc::new(map.entries().clone());
            rows * 4 + array_bytes(&used_values(&entries, map.value_offsets()))
        }
        other => match other.primitive_width() {
            Some(width) => rows * width as u64,
            None => array.get_array_memory_size() as u64,
        },
    }
}

fn used_values(values: &ArrayRef, offsets: &[i32]) -> ArrayRef {
    let at = |offset: Option<&i32>| offset.and_then(|o| usize::try_from(*o).ok()).unwrap_or(0);
    let (start, end) = (at(offsets.first()), at(offsets.last()));
    values.slice(start, end.saturating_sub(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int64Array, StringViewArray};
    use std::sync::Arc;

    #[test]
    fn halves_add_up() {
        let long = "x".repeat(100);
        let text: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..64).map(|_| long.as_str())));
        assert_eq!(array_bytes(&text), 64 * 116);
        assert_eq!(array_bytes(&text.slice(0, 32)) + array_bytes(&text.slice(32, 32)), array_bytes(&text));
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1; 10]));
        assert_eq!(array_bytes(&numbers.slice(0, 5)), 40);
    }
}
