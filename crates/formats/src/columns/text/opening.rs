//! Arrays of any layout, made into the one that text is written from.
//!
//! Invariant: an array in another layout than its type's is cast once, here; what cannot be cast is shown as Arrow shows it.
//! Must not know: styles.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Decimal256Array, FixedSizeBinaryArray,
    PrimitiveArray, StringViewArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use model::raw_text;
use model::type_arrow::to_data_type;
use model::{ColumnType, EnumValues, ErrorCode, WideInteger};

use super::{ColumnText, TextOptions};
use crate::error::FormatError;
use model::calendar::zone::Zone;

/// The values of a column in the layout they are written from.
#[derive(Debug)]
pub(super) enum Values {
    UInt8(PrimitiveArray<UInt8Type>),
    UInt16(PrimitiveArray<UInt16Type>),
    UInt32(PrimitiveArray<UInt32Type>),
    UInt64(PrimitiveArray<UInt64Type>),
    Int8(PrimitiveArray<Int8Type>),
    Int16(PrimitiveArray<Int16Type>),
    Int32(PrimitiveArray<Int32Type>),
    Int64(PrimitiveArray<Int64Type>),
    Float32(PrimitiveArray<Float32Type>),
    Float64(PrimitiveArray<Float64Type>),
    Bool(BooleanArray),
    Text(StringViewArray, usize),
    Decimal128(Decimal128Array, u8),
    Decimal256(Decimal256Array, u8),
    Date(PrimitiveArray<Date32Type>),
    Time {
        ticks: arrow::buffer::ScalarBuffer<i64>,
        per_second: i64,
        per_digit: i64,
        precision: u8,
        zone: Box<Zone>,
    },
    Uuid(FixedSizeBinaryArray),
    Wide(FixedSizeBinaryArray, WideInteger),
    Ipv4(PrimitiveArray<UInt32Type>),
    Ipv6(FixedSizeBinaryArray),
    Bytes(FixedSizeBinaryArray),
    Enum(Vec<i16>, Arc<EnumValues>),
    List(OffsetBuffer<i32>, Box<ColumnText>),
    Map(OffsetBuffer<i32>, Box<ColumnText>, Box<ColumnText>),
    Tuple(Vec<Option<Arc<str>>>, Vec<ColumnText>),
    Nothing,
    /// A layout we have no type for, as Arrow prints it.
    Shown(Vec<String>),
}

/// Opens `array`, casting what is in another layout than its type's.
pub(super) fn open(
    array: &ArrayRef,
    column_type: &ColumnType,
    time_zone: &str,
    options: &Arc<TextOptions>,
) -> Result<ColumnText, FormatError> {
    if let (Some(number), Some(interval)) = (column_type.nullable_interval(), array.as_struct_opt()) {
        return open(interval.column(0), number, time_zone, options);
    }
    let wanted = to_data_type(column_type);
    let canonical = if *array.data_type() == wanted {
        Some(Arc::clone(array))
    } else if let DataType::FixedSizeBinary(_) = array.data_type() {
        Some(Arc::clone(array))
    } else {
        cast(array, &wanted).ok()
    };
    let (nulls, values) = match canonical {
        Some(array) => (array.logical_nulls(), values_of(&array, column_type, time_zone, options)?),
        None => (array.logical_nulls(), Values::Shown(shown(array)?)),
    };
    Ok(ColumnText { nulls, values, options: Arc::clone(options) })
}

fn shown(array: &ArrayRef) -> Result<Vec<String>, FormatError> {
    let failed = |error: arrow::error::ArrowError| {
        FormatError::new(ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR, error.to_string())
    };
    let format = FormatOptions::new();
    let formatter = ArrayFormatter::try_new(array, &format).map_err(failed)?;
    (0..array.len()).map(|row| formatter.value(row).try_to_string().map_err(failed)).collect()
}

fn fixed_bytes(array: &ArrayRef, column_type: &ColumnType) -> Option<Values> {
    let bytes = array.as_fixed_size_binary_opt()?.clone();
    match (column_type.value_type(), WideInteger::of(column_type)) {
        (ColumnType::Uuid | ColumnType::Ipv6, _) => None,
        (_, Some(kind)) => Some(Values::Wide(bytes, kind)),
        (_, None) => Some(Values::Bytes(bytes)),
    }
}

fn values_of(
    array: &ArrayRef,
    column_type: &ColumnType,
    time_zone: &str,
    options: &Arc<TextOptions>,
) -> Result<Values, FormatError> {
    let child = |array: &ArrayRef, column_type: &ColumnType| {
        open(array, column_type, time_zone, options).map(Box::new)
    };
    may_be_written(column_type.value_type(), options)?;
    if let Some(values) = fixed_bytes(array, column_type) {
        return Ok(values);
    }
    Ok(match column_type.value_type() {
        ColumnType::UInt8 => Values::UInt8(array.as_primitive().clone()),
        ColumnType::UInt16 => Values::UInt16(array.as_primitive().clone()),
        ColumnType::UInt32 => Values::UInt32(array.as_primitive().clone()),
        ColumnType::UInt64 => Values::UInt64(array.as_primitive().clone()),
        ColumnType::Int8 => Values::Int8(array.as_primitive().clone()),
        ColumnType::Int16 => Values::Int16(array.as_primitive().clone()),
        ColumnType::Int32 => Values::Int32(array.as_primitive().clone()),
        ColumnType::Int64 => Values::Int64(array.as_primitive().clone()),
        ColumnType::Float32 => Values::Float32(array.as_primitive().clone()),
        ColumnType::Float64 => Values::Float64(array.as_primitive().clone()),
        ColumnType::Bool => Values::Bool(array.as_boolean().clone()),
        ColumnType::String => Values::Text(array.as_string_view().clone(), 0),
        ColumnType::AggregateFunction(_) => Values::Text(raw_text::carry_all(array.as_binary_view()), 0),
        ColumnType::FixedString(bytes) => {
            Values::Text(array.as_string_view().clone(), usize::try_from(*bytes).unwrap_or(0))
        }
        ColumnType::Decimal { scale, .. } => match array.as_primitive_opt::<Decimal128Type>() {
            Some(narrow) => Values::Decimal128(narrow.clone(), *scale),
            None => Values::Decimal256(array.as_primitive::<Decimal256Type>().clone(), *scale),
        },
        ColumnType::Date | ColumnType::Date32 => Values::Date(array.as_primitive().clone()),
        ColumnType::DateTime { time_zone: own } => time(array, 0, own.as_deref().unwrap_or(time_zone))?,
        ColumnType::DateTime64 { precision, time_zone: own } => {
            time(array, *precision, own.as_deref().unwrap_or(time_zone))?
        }
        ColumnType::Uuid => Values::Uuid(array.as_fixed_size_binary().clone()),
        ColumnType::Ipv4 => Values::Ipv4(array.as_primitive().clone()),
        ColumnType::Ipv6 => Values::Ipv6(array.as_fixed_size_binary().clone()),
        ColumnType::Enum8(names) => {
            let numbers = array.as_primitive::<Int8Type>().values().iter().map(|n| i16::from(*n)).collect();
            Values::Enum(numbers, Arc::clone(names))
        }
        ColumnType::Enum16(names) => {
            Values::Enum(array.as_primitive::<Int16Type>().values().to_vec(), Arc::clone(names))
        }
        ColumnType::Array(item) => {
            let list = array.as_list::<i32>();
            Values::List(list.offsets().clone(), child(list.values(), item)?)
        }
        ColumnType::Map(key, value) => {
            let map = array.as_map();
            Values::Map(map.offsets().clone(), child(map.keys(), key)?, child(map.values(), value)?)
        }
        ColumnType::Tuple(_) if column_type.value_type().is_interval() => {
            return open(array.as_struct().column(0), &ColumnType::Int64, time_zone, options)
                .map(|number| number.values);
        }
        ColumnType::Tuple(elements) => {
            let columns = elements.iter().zip(array.as_struct().columns());
            let children =
                columns.map(|(element, array)| open(array, &element.column_type, time_zone, options));
            let names = elements.iter().map(|e| e.name.clone()).collect();
            Values::Tuple(names, children.collect::<Result<_, _>>()?)
        }
        // Wide integers in another layout than theirs could not be cast to it.
        ColumnType::Int128 | ColumnType::UInt128 | ColumnType::Int256 | ColumnType::UInt256 => {
            Values::Shown(shown(array)?)
        }
        ColumnType::Nothing | ColumnType::Nullable(_) | ColumnType::LowCardinality(_) => Values::Nothing,
    })
}

/// Refuses values that a setting wants in a form that is not done.
fn may_be_written(value_type: &ColumnType, options: &TextOptions) -> Result<(), FormatError> {
    let (what, setting) = match value_type {
        ColumnType::Float32 | ColumnType::Float64 if options.writing.float_digits > 0 => {
            ("floats", "output_format_float_precision")
        }
        of if of.is_interval() && options.writing.intervals_as_times => {
            ("intervals", "interval_output_format")
        }
        _ => return Ok(()),
    };
    let message = format!("{what} are not written with another value of {setting} than the default");
    Err(FormatError::new(ErrorCode::NOT_IMPLEMENTED, message))
}

fn time(array: &ArrayRef, precision: u8, zone: &str) -> Result<Values, FormatError> {
    let unknown = || FormatError::new(ErrorCode::TYPE_MISMATCH, format!("unknown time zone \"{zone}\""));
    let zone = Box::new(Zone::named(zone).ok_or_else(unknown)?);
    let (ticks, unit_digits) = match array.data_type() {
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            (array.as_primitive::<TimestampMillisecondType>().values().clone(), 3)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            (array.as_primitive::<TimestampMicrosecondType>().values().clone(), 6)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            (array.as_primitive::<TimestampNanosecondType>().values().clone(), 9)
        }
        _ => (array.as_primitive::<TimestampSecondType>().values().clone(), 0),
    };
    let per_second = 10_i64.pow(unit_digits);
    let per_digit = 10_i64.pow(unit_digits.saturating_sub(u32::from(precision)));
    Ok(Values::Time { ticks, per_second, per_digit, precision, zone })
}
