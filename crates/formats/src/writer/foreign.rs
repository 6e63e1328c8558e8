//! Batches in layouts that every reader of Arrow and Parquet knows.
//!
//! Invariant: texts are plain strings or bytes, FixedString is bytes of its width, LowCardinality its values. Where the
//! layout says less than the type (an enum, a Date), the field keeps our extension, so that we read the type back.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeBinaryBuilder, ListArray, MapArray, RecordBatch, RecordBatchOptions,
    StructArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use arrow::error::ArrowError;
use model::ColumnType;
use model::type_arrow::{EXTENSION_NAME_KEY, from_field, to_data_type, to_field};

use crate::arrow_stream::UUID_EXTENSION;
use crate::error::{FormatError, code};

/// What strings become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Texts {
    /// Marked as text, not as bytes.
    pub(super) marked: bool,
    /// FixedString keeps its width.
    pub(super) fixed: bool,
}

/// The schema of the file.
pub(super) fn schema(names: &[String], types: &[ColumnType], texts: Texts) -> SchemaRef {
    let fields = names.iter().zip(types).map(|(name, t)| field(name, t, texts));
    Arc::new(Schema::new(fields.collect::<Vec<Field>>()))
}

/// The batch in that schema.
pub(super) fn batch(
    given: &RecordBatch,
    schema: &SchemaRef,
    types: &[ColumnType],
    texts: Texts,
) -> Result<RecordBatch, FormatError> {
    let mut arrays = Vec::with_capacity(types.len());
    for ((array, column_type), field) in given.columns().iter().zip(types).zip(schema.fields()) {
        let ours = to_data_type(column_type);
        let array = if *array.data_type() == ours { Ok(Arc::clone(array)) } else { cast(array, &ours) };
        let array = array.and_then(|array| converted(&array, column_type, texts));
        arrays.push(array.map_err(|error| failed(&error).in_column(field.name()))?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(given.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options).map_err(|error| failed(&error))
}

fn failed(error: &ArrowError) -> FormatError {
    FormatError::new(code::CANNOT_WRITE, error.to_string())
}

fn field(name: &str, column_type: &ColumnType, texts: Texts) -> Field {
    let plain = Field::new(name, layout(column_type, texts), column_type.is_nullable());
    if *column_type.value_type() == ColumnType::Uuid {
        let extension = (EXTENSION_NAME_KEY.to_owned(), UUID_EXTENSION.to_owned());
        return plain.with_metadata(HashMap::from([extension]));
    }
    let says_enough = from_field(&plain) == *column_type || *plain.data_type() != to_data_type(column_type);
    if says_enough { plain } else { plain.with_metadata(to_field(name, column_type).metadata().clone()) }
}

fn layout(column_type: &ColumnType, texts: Texts) -> DataType {
    match column_type.value_type() {
        ColumnType::FixedString(width) if texts.fixed => {
            DataType::FixedSizeBinary(i32::try_from(*width).unwrap_or(i32::MAX))
        }
        ColumnType::String | ColumnType::FixedString(_) if texts.marked => DataType::Utf8,
        ColumnType::String | ColumnType::FixedString(_) => DataType::Binary,
        ColumnType::Array(item) => DataType::List(Arc::new(field("item", item, texts))),
        ColumnType::Map(key, value) => {
            let entries = Fields::from(vec![field("key", key, texts), field("value", value, texts)]);
            DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false)
        }
        ColumnType::Tuple(elements) => {
            let named = |(at, element): (usize, &model::TupleElement)| {
                let position = (at + 1).to_string();
                field(element.name.as_deref().unwrap_or(&position), &element.column_type, texts)
            };
            DataType::Struct(elements.iter().enumerate().map(named).collect())
        }
        other => to_data_type(other),
    }
}

fn converted(array: &ArrayRef, column_type: &ColumnType, texts: Texts) -> Result<ArrayRef, ArrowError> {
    let wanted = layout(column_type, texts);
    if *array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    match (column_type.value_type(), &wanted) {
        (ColumnType::FixedString(_), DataType::FixedSizeBinary(width)) => padded(array, *width),
        (ColumnType::Array(item), DataType::List(field)) => {
            let list = array.as_list::<i32>();
            let values = converted(list.values(), item, texts)?;
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, nulls)?))
        }
        (ColumnType::Map(key, value), DataType::Map(entries, sorted)) => {
            let map = array.as_map();
            let DataType::Struct(fields) = entries.data_type() else { return cast(array, &wanted) };
            let columns = vec![converted(map.keys(), key, texts)?, converted(map.values(), value, texts)?];
            let pairs = StructArray::try_new(fields.clone(), columns, None)?;
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, pairs, nulls, *sorted)?))
        }
        (ColumnType::Tuple(elements), DataType::Struct(fields)) => {
            let tuple = array.as_struct();
            let columns = tuple.columns().iter().zip(elements);
            let columns = columns.map(|(column, e)| converted(column, &e.column_type, texts));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let nulls = tuple.nulls().cloned();
            Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, tuple.len())?))
        }
        _ => cast(array, &wanted),
    }
}

/// Texts filled up with zero bytes.
fn padded(array: &ArrayRef, width: i32) -> Result<ArrayRef, ArrowError> {
    let mut builder = FixedSizeBinaryBuilder::with_capacity(array.len(), width);
    let mut value = Vec::new();
    for text in array.as_string_view() {
        match text {
            Some(text) => {
                value.clear();
                value.extend_from_slice(text.as_bytes());
                value.resize(usize::try_from(width).unwrap_or(0), 0);
                builder.append_value(&value)?;
            }
            None => builder.append_null(),
        }
    }
    Ok(Arc::new(builder.finish()))
}
