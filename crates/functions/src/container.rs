//! Building list, map and tuple arrays in the layout of our types.
//!
//! Invariant: what is built has the data type `to_data_type` gives for the type it was asked for.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, MapArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields};
use arrow::error::ArrowError;
use model::type_arrow::{to_data_type, to_field};
use model::{ColumnType, TupleElement};

/// An Array column of elements of a type.
pub(crate) fn list_of(
    element: &ColumnType,
    offsets: OffsetBuffer<i32>,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(ListArray::try_new(Arc::new(to_field("item", element)), offsets, values, nulls)?))
}

/// A Map column.
pub(crate) fn map_of(
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
pub(crate) fn tuple_of(
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
pub(crate) fn unnamed(types: impl IntoIterator<Item = ColumnType>) -> ColumnType {
    ColumnType::Tuple(types.into_iter().map(|column_type| TupleElement { name: None, column_type }).collect())
}

/// Offsets of lists of these lengths.
pub(crate) fn offsets_of(lengths: impl IntoIterator<Item = usize>) -> OffsetBuffer<i32> {
    OffsetBuffer::from_lengths(lengths)
}

/// NULLs of an array as a buffer of its own.
pub(crate) fn nulls_of(array: &dyn Array) -> Option<NullBuffer> {
    array.nulls().cloned()
}

/// Where the elements of a row of a list are.
pub(crate) fn range(offsets: &[i32], row: usize) -> std::ops::Range<usize> {
    let at = |i: usize| usize::try_from(offsets[i]).unwrap_or(0);
    at(row)..at(row + 1)
}
