//! Batches in layouts that every reader of Arrow and Parquet knows.
//!
//! Invariant: texts are plain strings or bytes, FixedString is bytes of its width, LowCardinality its values. Where the
//! layout says less than the type (an enum, a Date), the field keeps our extension, so that we read the type back.
//! Parquet has no seconds and few of its readers know extensions: there times are in milliseconds or finer and of UTC,
//! and enums are their names, as in ClickHouse's files.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeBinaryArray, FixedSizeBinaryBuilder, ListArray, MapArray, RecordBatch,
    RecordBatchOptions, StringArray, StructArray, make_array,
};
use arrow::buffer::Buffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, Int16Type, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use model::type_arrow::{EXTENSION_NAME_KEY, from_field, to_data_type, to_field};
use model::{ColumnType, EnumValues, ErrorCode, WideInteger};

use crate::binary::arrow_stream::UUID_EXTENSION;
use crate::error::FormatError;

/// What values become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// Strings are marked as text, not as bytes.
    pub(super) marked: bool,
    /// FixedString keeps its width.
    pub(super) fixed: bool,
    /// The file is Parquet.
    pub(super) parquet: bool,
}

/// The schema of the file.
pub(super) fn schema(names: &[String], types: &[ColumnType], wanted: Layout) -> SchemaRef {
    let fields = names.iter().zip(types).map(|(name, t)| field(name, t, wanted));
    Arc::new(Schema::new(fields.collect::<Vec<Field>>()))
}

/// The batch in that schema.
pub(super) fn batch(
    given: &RecordBatch,
    schema: &SchemaRef,
    types: &[ColumnType],
    wanted: Layout,
) -> Result<RecordBatch, FormatError> {
    let mut arrays = Vec::with_capacity(types.len());
    for ((array, column_type), field) in given.columns().iter().zip(types).zip(schema.fields()) {
        let ours = to_data_type(column_type);
        let array = if *array.data_type() == ours { Ok(Arc::clone(array)) } else { cast(array, &ours) };
        let array = array.and_then(|array| converted(&array, column_type, wanted));
        arrays.push(array.map_err(|error| failed(&error).in_column(field.name()))?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(given.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options).map_err(|error| failed(&error))
}

fn failed(error: &ArrowError) -> FormatError {
    FormatError::new(ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR, error.to_string())
}

fn field(name: &str, column_type: &ColumnType, wanted: Layout) -> Field {
    let plain = Field::new(name, layout(column_type, wanted), column_type.is_nullable());
    if column_type.is_wide_integer() {
        // Our extension would say that they lie as in our columns.
        return plain;
    }
    if *column_type.value_type() == ColumnType::Uuid {
        let extension = (EXTENSION_NAME_KEY.to_owned(), UUID_EXTENSION.to_owned());
        return plain.with_metadata(HashMap::from([extension]));
    }
    let says_enough = from_field(&plain) == *column_type || *plain.data_type() != to_data_type(column_type);
    if says_enough { plain } else { plain.with_metadata(to_field(name, column_type).metadata().clone()) }
}

fn layout(column_type: &ColumnType, wanted: Layout) -> DataType {
    match column_type.value_type() {
        ColumnType::FixedString(width) if wanted.fixed => {
            DataType::FixedSizeBinary(i32::try_from(*width).unwrap_or(i32::MAX))
        }
        ColumnType::String if wanted.marked && wanted.parquet => to_data_type(&ColumnType::String),
        ColumnType::String | ColumnType::FixedString(_) if wanted.marked => DataType::Utf8,
        ColumnType::String | ColumnType::FixedString(_) | ColumnType::AggregateFunction(_) => {
            DataType::Binary
        }
        ColumnType::Array(item) => DataType::List(Arc::new(field("item", item, wanted))),
        ColumnType::Map(key, value) => {
            let entries = Fields::from(vec![field("key", key, wanted), field("value", value, wanted)]);
            DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false)
        }
        ColumnType::Tuple(elements) => {
            let named = |(at, element): (usize, &model::TupleElement)| {
                let position = (at + 1).to_string();
                field(element.name.as_deref().unwrap_or(&position), &element.column_type, wanted)
            };
            DataType::Struct(elements.iter().enumerate().map(named).collect())
        }
        ColumnType::Enum8(_) | ColumnType::Enum16(_) if wanted.parquet => DataType::Utf8,
        ColumnType::DateTime { .. } if wanted.parquet => utc(TimeUnit::Millisecond),
        ColumnType::DateTime64 { precision, .. } if wanted.parquet => utc(match precision {
            0..=3 => TimeUnit::Millisecond,
            4..=6 => TimeUnit::Microsecond,
            _ => TimeUnit::Nanosecond,
        }),
        other => to_data_type(other),
    }
}

fn utc(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, Some("UTC".into()))
}

fn converted(array: &ArrayRef, column_type: &ColumnType, wanted: Layout) -> Result<ArrayRef, ArrowError> {
    let target = layout(column_type, wanted);
    if let Some(kind) = WideInteger::of(column_type) {
        return turned(array, kind);
    }
    if *array.data_type() == target {
        return Ok(Arc::clone(array));
    }
    match (column_type.value_type(), &target) {
        (ColumnType::FixedString(_), DataType::FixedSizeBinary(width)) => padded(array, *width),
        (ColumnType::Array(item), DataType::List(field)) => {
            let list = array.as_list::<i32>();
            let values = converted(list.values(), item, wanted)?;
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, nulls)?))
        }
        (ColumnType::Map(key, value), DataType::Map(entries, sorted)) => {
            let map = array.as_map();
            let DataType::Struct(fields) = entries.data_type() else { return cast(array, &target) };
            let columns = vec![converted(map.keys(), key, wanted)?, converted(map.values(), value, wanted)?];
            let pairs = StructArray::try_new(fields.clone(), columns, None)?;
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, pairs, nulls, *sorted)?))
        }
        (ColumnType::Tuple(elements), DataType::Struct(fields)) => {
            let tuple = array.as_struct();
            let columns = tuple.columns().iter().zip(elements);
            let columns = columns.map(|(column, e)| converted(column, &e.column_type, wanted));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let nulls = tuple.nulls().cloned();
            Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, tuple.len())?))
        }
        (ColumnType::Enum8(values) | ColumnType::Enum16(values), DataType::Utf8) => named(array, values),
        (ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. }, DataType::Timestamp(unit, zone)) => {
            // The numbers count from 1970 in UTC, whatever zone they are shown in.
            let without_zone = match array.data_type() {
                DataType::Timestamp(own, _) => {
                    cast(&in_zone(array, own, None)?, &DataType::Timestamp(*unit, None))?
                }
                _ => return cast(array, &target),
            };
            in_zone(&without_zone, unit, zone.as_ref())
        }
        _ => cast(array, &target),
    }
}

/// The same numbers, said to be of this zone.
fn in_zone(array: &ArrayRef, unit: &TimeUnit, zone: Option<&Arc<str>>) -> Result<ArrayRef, ArrowError> {
    let data = array.to_data().into_builder().data_type(DataType::Timestamp(*unit, zone.cloned())).build()?;
    Ok(make_array(data))
}

/// Numbers of an enum as its names.
fn named(array: &ArrayRef, values: &EnumValues) -> Result<ArrayRef, ArrowError> {
    let numbers = cast(array, &DataType::Int16)?;
    let numbers = numbers.as_primitive::<Int16Type>();
    let name = |number: Option<i16>| match number {
        None => Ok(None),
        Some(number) => match values.name(number) {
            Some(name) => Ok(Some(name.as_ref())),
            None => Err(ArrowError::InvalidArgumentError(format!("{number} is no value of the enum"))),
        },
    };
    Ok(Arc::new(numbers.iter().map(name).collect::<Result<StringArray, _>>()?))
}

/// Wide integers with the lowest byte first, as ClickHouse writes them.
fn turned(array: &ArrayRef, kind: WideInteger) -> Result<ArrayRef, ArrowError> {
    let stored = array.as_fixed_size_binary();
    let bytes: Vec<u8> = (0..stored.len()).flat_map(|row| stored.value(row)).copied().collect();
    let values = Buffer::from_vec(kind.turn(&bytes, false));
    let values = FixedSizeBinaryArray::try_new(stored.value_length(), values, stored.nulls().cloned())?;
    Ok(Arc::new(values))
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
