//! How many bytes the rows of a column take where they are copied.
//!
//! Invariant: texts and elements that rows share count for each of them, what no row shows does not count. For columns of
//! numbers, and of lists of them, it takes no time. Must not know: who copies.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;

/// Texts that cannot have more are not looked at one by one.
const SMALL_BYTES: usize = 1 << 20;

/// Bytes that the rows of a column take where they are copied; texts and elements that rows share count for each of them.
pub fn row_bytes(column: &ArrayRef) -> usize {
    let rows = column.len();
    match column.data_type() {
        DataType::Utf8View | DataType::BinaryView => view_bytes(column),
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            let (first, last) = ends(list.value_offsets());
            rows * 4 + row_bytes(&list.values().slice(first, last - first))
        }
        DataType::Map(..) => {
            let map = column.as_map();
            let (first, last) = ends(map.value_offsets());
            let entries = map.entries().slice(first, last - first);
            rows * 4 + entries.columns().iter().map(row_bytes).fold(0, usize::saturating_add)
        }
        DataType::Struct(_) => {
            column.as_struct().columns().iter().map(row_bytes).fold(0, usize::saturating_add)
        }
        DataType::Dictionary(..) => {
            let values = column.as_any_dictionary().values();
            (row_bytes(values) / values.len().max(1)).saturating_mul(rows)
        }
        DataType::FixedSizeBinary(width) => rows.saturating_mul(usize::try_from(*width).unwrap_or(0)),
        DataType::Boolean => rows.div_ceil(8),
        other => match other.primitive_width() {
            Some(width) => rows * width,
            None => column.get_array_memory_size(),
        },
    }
}

/// A view of 16 bytes for each row, and its text where that is not in the view. The lower half of a view is its length.
fn view_bytes(column: &ArrayRef) -> usize {
    let (views, buffers) = match column.as_string_view_opt() {
        Some(texts) => (texts.views(), texts.data_buffers()),
        None => (column.as_binary_view().views(), column.as_binary_view().data_buffers()),
    };
    let own = views.len() * 16;
    // A text is in one buffer: no sum is over this.
    let most = buffers.iter().map(|buffer| buffer.len()).max().unwrap_or(0).saturating_mul(views.len());
    if most <= SMALL_BYTES {
        return own + most.min(buffers.iter().map(|buffer| buffer.len()).sum());
    }
    let length = |view: &u128| usize::try_from(view & u128::from(u32::MAX)).unwrap_or(usize::MAX);
    own + views.iter().map(length).sum::<usize>()
}

fn ends(offsets: &[i32]) -> (usize, usize) {
    let at = |offset: Option<&i32>| offset.and_then(|offset| usize::try_from(*offset).ok()).unwrap_or(0);
    (at(offsets.first()), at(offsets.last()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, ListArray, StringViewArray, UInt32Array};
    use arrow::buffer::OffsetBuffer;
    use arrow::compute::take;
    use arrow::datatypes::Field;

    use super::*;

    #[test]
    fn what_rows_share_counts_for_each_and_what_none_shows_does_not() {
        let one = StringViewArray::from(vec!["x".repeat(1 << 20)]);
        let shared = take(&one, &UInt32Array::from(vec![0; 40]), None).unwrap();
        assert_eq!(row_bytes(&shared), 40 * ((1 << 20) + 16));
        assert_eq!(row_bytes(&shared.slice(7, 2)), 2 * ((1 << 20) + 16));
        let short: ArrayRef = Arc::new(StringViewArray::from(vec!["short"; 10]));
        assert_eq!(row_bytes(&short), 160);
        let values: ArrayRef = Arc::new(Int64Array::from(vec![7; 1000]));
        let field = Arc::new(Field::new("item", DataType::Int64, true));
        let lists: ArrayRef =
            Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([100; 10]), values, None));
        assert_eq!(row_bytes(&lists), 8040);
        assert_eq!(row_bytes(&lists.slice(3, 1)), 804);
    }
}
