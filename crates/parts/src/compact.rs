//! Rows that stay in memory, without the rest of what they were cut from.
//!
//! A text is a view into the page it was read from, so ten rows may hold a page, or a whole column chunk. Invariant: the
//! values are the same, and the buffers of the copy hold nothing else.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, GenericByteViewArray, ListArray, MapArray, RecordBatch, StructArray,
};
use arrow::datatypes::{ByteViewType, DataType};
use arrow::error::ArrowError;

/// A copy of the texts, if they take less than the buffers they are in; anything else as it is.
///
/// # Errors
/// The batch contradicts its schema.
pub fn compacted(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    if batch.num_columns() == 0 {
        return Ok(batch.clone());
    }
    let columns = batch.columns().iter().map(compacted_array).collect::<Result<_, _>>()?;
    RecordBatch::try_new(batch.schema(), columns)
}

fn compacted_array(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(match array.data_type() {
        DataType::Utf8View => views(array, array.as_string_view()),
        DataType::BinaryView => views(array, array.as_binary_view()),
        DataType::List(field) => {
            let list = array.as_list::<i32>();
            let values = compacted_array(list.values())?;
            Arc::new(ListArray::try_new(
                Arc::clone(field),
                list.offsets().clone(),
                values,
                list.nulls().cloned(),
            )?)
        }
        DataType::Map(field, is_sorted) => {
            let map = array.as_map();
            let entries = compacted_struct(map.entries())?;
            let offsets = map.offsets().clone();
            Arc::new(MapArray::try_new(
                Arc::clone(field),
                offsets,
                entries,
                map.nulls().cloned(),
                *is_sorted,
            )?)
        }
        DataType::Struct(_) => Arc::new(compacted_struct(array.as_struct())?),
        _ => Arc::clone(array),
    })
}

fn compacted_struct(values: &StructArray) -> Result<StructArray, ArrowError> {
    let columns = values.columns().iter().map(compacted_array).collect::<Result<Vec<_>, _>>()?;
    if columns.is_empty() {
        return Ok(values.clone());
    }
    StructArray::try_new(values.fields().clone(), columns, values.nulls().cloned())
}

fn views<T: ByteViewType>(array: &ArrayRef, views: &GenericByteViewArray<T>) -> ArrayRef {
    let held: usize = views.data_buffers().iter().map(|buffer| buffer.capacity()).sum();
    if views.total_buffer_bytes_used() < held { Arc::new(views.gc()) } else { Arc::clone(array) }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringViewArray};
    use arrow::buffer::{NullBuffer, OffsetBuffer};
    use arrow::datatypes::Field;

    use super::*;

    fn held(array: &ArrayRef) -> usize {
        array.as_string_view().data_buffers().iter().map(|buffer| buffer.capacity()).sum()
    }

    #[test]
    fn few_rows_hold_only_their_own_texts() {
        let long = |number: usize| format!("a text that is longer than a view holds, {number}");
        let all: StringViewArray = (0..1000).map(|number| (number % 3 != 0).then(|| long(number))).collect();
        let texts: ArrayRef = Arc::new(all);
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
        let items = Arc::new(Field::new_list_field(DataType::Utf8View, true));
        let nulls = Some(NullBuffer::from_iter((0..500).map(|row| row != 7)));
        let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(2, 500));
        let lists: ArrayRef = Arc::new(ListArray::new(items, offsets, Arc::clone(&texts), nulls));
        let batch = RecordBatch::try_from_iter([
            ("t", texts.slice(10, 4)),
            ("n", numbers.slice(10, 4)),
            ("l", lists.slice(5, 4)),
        ]);
        let batch = batch.unwrap();
        assert!(held(batch.column(0)) > 8_000);
        let small = compacted(&batch).unwrap();
        assert_eq!(small, batch);
        assert!(held(small.column(0)) < 300, "{}", held(small.column(0)));
        let again = compacted(&small).unwrap();
        assert!(std::ptr::eq(
            again.column(0).as_string_view().data_buffers()[0].as_ptr(),
            small.column(0).as_string_view().data_buffers()[0].as_ptr()
        ));
    }
}
