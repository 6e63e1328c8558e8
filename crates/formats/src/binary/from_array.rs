//! Arrays as columns for the wire.
//!
//! Invariant: the inverse of `to_array`; NULL rows hold the type's default, as ClickHouse writes them. An array in
//! another layout than its type's is cast first.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use model::saturating::place_of;
use model::type_arrow::to_data_type;
use model::{ColumnType, ErrorCode, WideInteger, raw_text};

use super::column::{Column, Layout, Values};
use super::to_array::ticks_per_tick;
use crate::error::FormatError;

/// The values of `array`, which are of `column_type`.
pub(crate) fn from_array(
    array: &ArrayRef,
    column_type: &ColumnType,
    layout: Layout,
) -> Result<Column, FormatError> {
    let wanted = to_data_type(column_type);
    let array = if *array.data_type() == wanted {
        Arc::clone(array)
    } else {
        cast(array, &wanted).map_err(|error| {
            let message = format!("{} cannot be written as {column_type}: {error}", array.data_type());
            FormatError::new(ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR, message)
        })?
    };
    if let (ColumnType::LowCardinality(_), Layout::Columns) = (column_type, layout) {
        return dictionary(&array, column_type);
    }
    let mut column = Column::new(column_type, layout);
    if let Some(nulls) = &mut column.nulls {
        // An array of nothing but NULLs has no bitmap to ask.
        let all = array.data_type() == &DataType::Null;
        nulls.extend((0..array.len()).map(|row| u8::from(all || array.is_null(row))));
    }
    fill(&mut column.values, &array, column_type.value_type(), layout)?;
    Ok(column)
}

fn fill(
    values: &mut Values,
    array: &ArrayRef,
    value_type: &ColumnType,
    layout: Layout,
) -> Result<(), FormatError> {
    match values {
        Values::Fixed { width, bytes, default } => {
            let mut wire = wire_bytes(array, value_type, *width)?;
            if array.null_count() > 0 {
                let nulls =
                    wire.chunks_mut((*width).max(1)).enumerate().filter(|(row, _)| array.is_null(*row));
                nulls.for_each(|(_, value)| value.copy_from_slice(default));
            }
            bytes.extend_from_slice(&wire);
        }
        Values::Text { ends, bytes } if value_type.state().is_some() => {
            for state in array.as_binary_view() {
                bytes.extend_from_slice(state.unwrap_or_default());
                ends.push(i64::try_from(bytes.len()).unwrap_or(i64::MAX));
            }
        }
        Values::Text { ends, bytes } => {
            for text in array.as_string_view() {
                bytes.extend_from_slice(&raw_text::bytes(text.unwrap_or_default()));
                ends.push(i64::try_from(bytes.len()).unwrap_or(i64::MAX));
            }
        }
        Values::List { ends, item } => {
            let (offsets, nested) = match array.data_type() {
                DataType::Map(..) => {
                    let map = array.as_map();
                    (map.offsets().clone(), Arc::new(map.entries().clone()) as ArrayRef)
                }
                _ => (array.as_list::<i32>().offsets().clone(), Arc::clone(array.as_list::<i32>().values())),
            };
            let first = offsets.first().copied().unwrap_or(0);
            ends.extend(offsets.iter().skip(1).map(|end| end - first));
            let start = place_of(first);
            let nested = nested.slice(start, ends.last().map_or(0, |end| place_of(*end)));
            **item = match value_type {
                ColumnType::Array(inner) => from_array(&nested, inner, layout)?,
                ColumnType::Map(key, value) => tuple(&nested, &[key.as_ref(), value.as_ref()], layout)?,
                other => return Err(no_layout(other)),
            };
        }
        Values::Tuple { .. } => {
            let ColumnType::Tuple(elements) = value_type else { return Err(no_layout(value_type)) };
            let types: Vec<&ColumnType> = elements.iter().map(|element| &element.column_type).collect();
            *values = tuple(array, &types, layout)?.values;
        }
        Values::Nothing(rows) => *rows = array.len(),
        Values::Views(_) | Values::Dictionary { .. } => return Err(no_layout(value_type)),
    }
    Ok(())
}

fn no_layout(column_type: &ColumnType) -> FormatError {
    FormatError::new(ErrorCode::LOGICAL_ERROR, format!("{column_type} has no place in a binary format"))
}

fn tuple(array: &ArrayRef, types: &[&ColumnType], layout: Layout) -> Result<Column, FormatError> {
    let children = array.as_struct().columns().iter().zip(types);
    let children = children.map(|(child, t)| from_array(child, t, layout)).collect::<Result<_, _>>()?;
    Ok(Column { nulls: None, values: Values::Tuple { rows: array.len(), children } })
}

/// The bytes of a primitive array as they lie in memory.
macro_rules! raw {
    ($array:expr, $t:ty) => {
        $array.as_primitive::<$t>().values().inner().as_slice().to_vec()
    };
}

fn wire_bytes(array: &ArrayRef, value_type: &ColumnType, width: usize) -> Result<Vec<u8>, FormatError> {
    use ColumnType as T;
    Ok(match value_type {
        T::UInt8 => raw!(array, UInt8Type),
        T::UInt16 => raw!(array, UInt16Type),
        T::UInt32 | T::Ipv4 => raw!(array, UInt32Type),
        T::UInt64 => raw!(array, UInt64Type),
        T::Int8 | T::Enum8(_) => raw!(array, Int8Type),
        T::Int16 | T::Enum16(_) => raw!(array, Int16Type),
        T::Int32 => raw!(array, Int32Type),
        T::Int64 => raw!(array, Int64Type),
        T::Float32 => raw!(array, Float32Type),
        T::Float64 => raw!(array, Float64Type),
        T::Date32 => raw!(array, Date32Type),
        T::Bool => (0..array.len()).map(|row| u8::from(array.as_boolean().value(row))).collect(),
        T::Date => {
            let days = array.as_primitive::<Date32Type>().values().iter();
            days.flat_map(|days| u16::try_from(*days).unwrap_or(0).to_le_bytes()).collect()
        }
        T::DateTime { .. } => {
            let seconds = array.as_primitive::<TimestampSecondType>().values().iter();
            seconds.flat_map(|seconds| u32::try_from(*seconds).unwrap_or(0).to_le_bytes()).collect()
        }
        T::DateTime64 { precision, .. } => {
            let (unit, ticks) = ticks_of(array);
            let factor = ticks_per_tick(unit, *precision);
            ticks.iter().flat_map(|ticks| ticks.div_euclid(factor).to_le_bytes()).collect()
        }
        T::Uuid => {
            let uuids = array.as_fixed_size_binary();
            let halves = (0..uuids.len()).flat_map(|row| uuids.value(row).chunks(8));
            halves.flat_map(|half| half.iter().rev().copied()).collect()
        }
        T::Ipv6 => {
            let octets = array.as_fixed_size_binary();
            (0..octets.len()).flat_map(|row| octets.value(row).iter().copied()).collect()
        }
        T::Decimal { .. } => match array.data_type() {
            DataType::Decimal256(..) => {
                let values = array.as_primitive::<Decimal256Type>().values().iter();
                values.flat_map(|value| value.to_le_bytes()).collect()
            }
            _ => {
                // The digits fit the width, so the bytes cut off only repeat the sign.
                let values = array.as_primitive::<Decimal128Type>().values().iter();
                values.flat_map(|value| value.to_le_bytes().into_iter().take(width)).collect()
            }
        },
        wide => {
            let kind = WideInteger::of(wide).ok_or_else(|| no_layout(wide))?;
            let stored = array.as_fixed_size_binary();
            let values: Vec<u8> = (0..stored.len()).flat_map(|row| stored.value(row)).copied().collect();
            kind.turn(&values, false)
        }
    })
}

fn ticks_of(array: &ArrayRef) -> (TimeUnit, &[i64]) {
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            (TimeUnit::Millisecond, array.as_primitive::<TimestampMillisecondType>().values())
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            (TimeUnit::Microsecond, array.as_primitive::<TimestampMicrosecondType>().values())
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            (TimeUnit::Nanosecond, array.as_primitive::<TimestampNanosecondType>().values())
        }
        _ => (TimeUnit::Second, array.as_primitive::<TimestampSecondType>().values()),
    }
}

/// Distinct values as keys in the order they come: ahead of them NULL, if the type knows it, and the default.
fn dictionary(array: &ArrayRef, column_type: &ColumnType) -> Result<Column, FormatError> {
    let plain = from_array(array, &column_type.value_type().clone(), Layout::Rows)?;
    let mut keys = Column::new(column_type.value_type(), Layout::Columns);
    keys.values.push_default();
    if column_type.is_nullable() {
        keys.values.push_default();
    }
    let default = keys.cell(0).to_vec();
    let own = u32::from(column_type.is_nullable());
    let mut known: HashMap<&[u8], u32> = HashMap::from([(default.as_slice(), own)]);
    let mut indexes = Vec::with_capacity(array.len());
    for row in 0..array.len() {
        if array.is_null(row) {
            // Without a key for NULL it is the default.
            indexes.push(0);
            continue;
        }
        let cell = plain.cell(row);
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX).saturating_add(own);
        let index = *known.entry(cell).or_insert(next);
        if index == next {
            match &mut keys.values {
                Values::Fixed { bytes, .. } => bytes.extend_from_slice(cell),
                _ => keys.push_text(cell),
            }
        }
        indexes.push(index);
    }
    Ok(Column { nulls: None, values: Values::Dictionary { keys: Box::new(keys), indexes } })
}
