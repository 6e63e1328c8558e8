//! Building list, map and tuple arrays in the layout of our types.
//!
//! Invariant: what is built has the data type `to_data_type` gives for the type it was asked for.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, MapArray, MutableArrayData, StructArray, make_array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields};
use arrow::error::ArrowError;
use model::saturating::place_of;
use model::type_arrow::{to_data_type, to_field};
use model::{ColumnType, TupleElement};

/// An Array column of elements of a type.
///
/// # Errors
/// The columns do not fit each other.
pub fn list_of(
    element: &ColumnType,
    offsets: OffsetBuffer<i32>,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(ListArray::try_new(Arc::new(to_field("item", element)), offsets, values, nulls)?))
}

/// A Map column.
///
/// # Errors
/// The columns do not fit each other.
pub fn map_of(
    key: &ColumnType,
    value: &ColumnType,
    offsets: OffsetBuffer<i32>,
    keys: ArrayRef,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let fields = Fields::from(vec![to_field("keys", key), to_field("values", value)]);
    let entries = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
    let field = Arc::new(Field::new("entries", DataType::Struct(fields), false));
    Ok(Arc::new(MapArray::try_new(field, offsets, entries, nulls, false)?))
}

/// A Tuple column of `rows` rows.
///
/// # Errors
/// The columns do not fit each other.
pub fn tuple_of(
    elements: &[TupleElement],
    columns: Vec<ArrayRef>,
    nulls: Option<NullBuffer>,
    rows: usize,
) -> Result<ArrayRef, ArrowError> {
    match to_data_type(&ColumnType::Tuple(elements.to_vec())) {
        DataType::Struct(fields) if !fields.is_empty() => {
            Ok(Arc::new(StructArray::try_new(fields, columns, nulls)?))
        }
        _ => Ok(Arc::new(StructArray::new_empty_fields(rows, nulls))),
    }
}

/// A tuple type without names.
pub fn unnamed(types: impl IntoIterator<Item = ColumnType>) -> ColumnType {
    ColumnType::Tuple(types.into_iter().map(|column_type| TupleElement { name: None, column_type }).collect())
}

/// Offsets of lists of these lengths.
pub fn offsets_of(lengths: impl IntoIterator<Item = usize>) -> OffsetBuffer<i32> {
    OffsetBuffer::from_lengths(lengths)
}

/// NULLs of an array as a buffer of its own.
pub(crate) fn nulls_of(array: &dyn Array) -> Option<NullBuffer> {
    array.nulls().cloned()
}

/// Where the elements of a row of a list are.
pub(crate) fn range(offsets: &[i32], row: usize) -> std::ops::Range<usize> {
    let at = |i: usize| place_of(offsets[i]);
    at(row)..at(row + 1)
}

/// The first elements, at most `max`, of every list, one after the other; a list that is NULL has none.
///
/// # Errors
/// Texts that do not fit one column.
pub fn first_elements(list: &ListArray, max: usize) -> Result<ArrayRef, ArrowError> {
    let offsets = list.value_offsets();
    if list.is_empty() || max == 0 {
        return Ok(list.values().slice(0, 0));
    }
    let all = range(offsets, 0).start..range(offsets, list.len() - 1).end;
    let longest = || (0..list.len()).map(|row| range(offsets, row).len()).max().unwrap_or(0);
    if list.null_count() == 0 && (max >= all.len() || longest() <= max) {
        return Ok(list.values().slice(all.start, all.len()));
    }
    // Row by row without an array for each: there may be millions.
    let values = list.values().to_data();
    let mut kept = MutableArrayData::new(vec![&values], false, all.len());
    for row in (0..list.len()).filter(|row| list.is_valid(*row)) {
        let own = range(offsets, row);
        kept.try_extend(0, own.start, own.start + own.len().min(max))?;
    }
    Ok(make_array(kept.freeze()))
}

#[cfg(test)]
mod tests {
    use arrow::array::Int32Array;
    use arrow::datatypes::Int32Type;

    use super::*;

    fn elements(list: &ListArray, max: usize) -> ArrayRef {
        first_elements(list, max).unwrap()
    }

    #[test]
    fn elements_of_lists_stand_one_after_the_other() {
        let rows = [
            Some(vec![Some(0)]),
            Some(vec![Some(1), None, Some(2)]),
            None,
            Some(vec![]),
            Some(vec![Some(3)]),
        ];
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>(rows).slice(1, 4);
        let numbers = |values: Vec<Option<i32>>| Arc::new(Int32Array::from(values)) as ArrayRef;
        assert_eq!(&elements(&list, 9), &numbers(vec![Some(1), None, Some(2), Some(3)]));
        assert_eq!(&elements(&list, 2), &numbers(vec![Some(1), None, Some(3)]));
        assert_eq!(&elements(&list.slice(0, 1), 3), &numbers(vec![Some(1), None, Some(2)]));
        assert_eq!(elements(&list, 0).len() + elements(&list.slice(0, 0), 3).len(), 0);
    }
}
