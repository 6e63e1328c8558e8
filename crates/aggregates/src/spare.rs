//! Arrays without what they keep alive and do not show: a row taken out of a batch of views keeps all its texts, and every array
//! that is put together of such rows lists their buffers again.
//!
//! Invariant: values are the same. Arrays are taken apart as what they are: as `ArrayData` each would list its buffers anew.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;

/// See the module.
pub(super) fn without_spare(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
        DataType::Struct(fields) if !fields.is_empty() => Arc::new(of_columns(array.as_struct())),
        DataType::List(item) => {
            let list = array.as_list::<i32>();
            let (offsets, shown) = rebased(list.offsets());
            let values = without_spare(&list.values().slice(shown.start, shown.len()));
            Arc::new(ListArray::new(Arc::clone(item), offsets, values, list.nulls().cloned()))
        }
        DataType::Map(entries, ordered) => {
            let map = array.as_map();
            let (offsets, shown) = rebased(map.offsets());
            let pairs = of_columns(&map.entries().slice(shown.start, shown.len()));
            Arc::new(MapArray::new(Arc::clone(entries), offsets, pairs, map.nulls().cloned(), *ordered))
        }
        _ => Arc::clone(array),
    }
}

fn of_columns(array: &StructArray) -> StructArray {
    let columns = array.columns().iter().map(without_spare).collect();
    StructArray::new(array.fields().clone(), columns, array.nulls().cloned())
}

/// Offsets from 0 on, and which values they were of.
fn rebased(offsets: &OffsetBuffer<i32>) -> (OffsetBuffer<i32>, std::ops::Range<usize>) {
    let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
    let place = |offset: i32| usize::try_from(offset).unwrap_or(0);
    let rebased = offsets.iter().map(|offset| offset - first).collect();
    (OffsetBuffer::new(rebased), place(first)..place(last))
}

/// The accumulator, which is given what its rows show and no more: DataFusion's keep a row as a slice of its batch.
pub(super) fn spared(inner: Box<dyn Accumulator>) -> Box<dyn Accumulator> {
    Box::new(Spared(inner))
}

#[derive(Debug)]
struct Spared(Box<dyn Accumulator>);

impl Accumulator for Spared {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(&values.iter().map(without_spare).collect::<Vec<_>>())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.evaluate()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(&states.iter().map(without_spare).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{MapBuilder, StringViewBuilder};

    use super::*;

    #[test]
    fn a_row_of_a_large_batch_is_small_and_the_same() {
        let mut maps = MapBuilder::new(None, StringViewBuilder::new(), StringViewBuilder::new());
        for row in 0..100 {
            maps.keys().append_value("k".repeat(1000));
            maps.values().append_value(format!("a value that is longer than twelve {row}"));
            maps.append(true).unwrap();
        }
        let maps: ArrayRef = Arc::new(maps.finish());
        let row = maps.slice(7, 1);
        let small = without_spare(&row);
        assert_eq!(&small, &row);
        assert!(small.get_array_memory_size() < 5000, "{}", small.get_array_memory_size());
    }
}
