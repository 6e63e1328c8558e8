//! Columns off the wire as arrays.
//!
//! Invariant: the array has the layout of `type_arrow::to_data_type`; a value the type does not know (an enum's number
//! without a name, digits beyond a decimal's precision) is an error with its place.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Decimal128Array, Decimal256Array, FixedSizeBinaryArray,
    LargeStringArray, ListArray, MapArray, NullArray, PrimitiveArray, StringViewArray, StructArray,
    UInt32Array,
};
use arrow::buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type, i256,
};
use arrow::error::ArrowError;
use model::type_arrow::{to_data_type, to_field};
use model::{ColumnType, ErrorCode, WideInteger, raw_text};

use super::column::{Column, Values, offset, width};
use crate::error::ValueError;
use model::calendar::zone::DATE32_DAYS;

/// A value that is not of its type.
#[derive(Debug)]
pub(crate) struct Unfit {
    /// Row of the column, from 0, where the value stands in one.
    pub(crate) row: Option<usize>,
    pub(crate) error: ValueError,
}

impl From<ArrowError> for Unfit {
    fn from(error: ArrowError) -> Self {
        Self { row: None, error: ValueError::new(ErrorCode::INCORRECT_DATA, error.to_string()) }
    }
}

fn unfit(row: usize, code: ErrorCode, message: impl Into<String>) -> Unfit {
    Unfit { row: Some(row), error: ValueError::new(code, message) }
}

/// The column's values as an array.
pub(crate) fn to_array(column: Column, column_type: &ColumnType) -> Result<ArrayRef, Unfit> {
    let nulls = column.nulls.map(|flags| NullBuffer::from_iter(flags.iter().map(|null| *null == 0)));
    let value_type = column_type.value_type();
    match column.values {
        Values::Fixed { bytes, .. } => fixed(bytes, value_type, nulls),
        Values::Text { ends, bytes } if value_type.state().is_some() => Ok(states(ends, bytes)),
        Values::Text { ends, bytes } => Ok(text(ends, bytes, nulls)),
        Values::Views(views) => Ok(views.into_array(nulls)),
        Values::List { ends, item } => list(&ends, *item, value_type, nulls),
        Values::Tuple { rows, children } => {
            let DataType::Struct(fields) = to_data_type(value_type) else {
                return Err(no_layout(value_type));
            };
            let types = elements(value_type);
            // Rows of a child are not rows of the column unless the tuple stands in no list.
            let arrays = children.into_iter().zip(&types).map(|(child, t)| to_array(child, t));
            let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
            Ok(Arc::new(StructArray::try_new_with_length(fields, arrays, nulls, rows)?))
        }
        Values::Dictionary { keys, indexes } => dictionary(*keys, indexes, column_type),
        Values::Nothing(rows) => Ok(Arc::new(NullArray::new(rows))),
    }
}

fn no_layout(column_type: &ColumnType) -> Unfit {
    Unfit {
        row: None,
        error: ValueError::new(ErrorCode::LOGICAL_ERROR, format!("{column_type} has no layout")),
    }
}

fn elements(value_type: &ColumnType) -> Vec<ColumnType> {
    match value_type {
        ColumnType::Tuple(elements) => elements.iter().map(|e| e.column_type.clone()).collect(),
        ColumnType::Map(key, value) => vec![key.as_ref().clone(), value.as_ref().clone()],
        _ => Vec::new(),
    }
}

fn numbers<T: ArrowPrimitiveType>(bytes: MutableBuffer, nulls: Option<NullBuffer>) -> PrimitiveArray<T> {
    PrimitiveArray::new(ScalarBuffer::from(Buffer::from(bytes)), nulls)
}

fn fixed(
    bytes: MutableBuffer,
    value_type: &ColumnType,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, Unfit> {
    use ColumnType as T;
    let count = bytes.len().checked_div(width(value_type)).unwrap_or(0);
    Ok(match value_type {
        T::UInt8 => Arc::new(numbers::<UInt8Type>(bytes, nulls)),
        T::UInt16 => Arc::new(numbers::<UInt16Type>(bytes, nulls)),
        T::UInt32 | T::Ipv4 => Arc::new(numbers::<UInt32Type>(bytes, nulls)),
        T::UInt64 => Arc::new(numbers::<UInt64Type>(bytes, nulls)),
        T::Int8 => Arc::new(numbers::<Int8Type>(bytes, nulls)),
        T::Int16 => Arc::new(numbers::<Int16Type>(bytes, nulls)),
        T::Int32 => Arc::new(numbers::<Int32Type>(bytes, nulls)),
        T::Int64 => Arc::new(numbers::<Int64Type>(bytes, nulls)),
        T::Float32 => Arc::new(numbers::<Float32Type>(bytes, nulls)),
        T::Float64 => Arc::new(numbers::<Float64Type>(bytes, nulls)),
        T::Bool => {
            let bits = BooleanBuffer::collect_bool(count, |row| bytes.as_slice()[row] != 0);
            Arc::new(BooleanArray::new(bits, nulls))
        }
        T::Enum8(names) => {
            let array = numbers::<Int8Type>(bytes, nulls);
            known_names(array.iter().map(|n| n.map(i16::from)), value_type, |n| names.name(n).is_some())?;
            Arc::new(array)
        }
        T::Enum16(names) => {
            let array = numbers::<Int16Type>(bytes, nulls);
            known_names(array.iter(), value_type, |n| names.name(n).is_some())?;
            Arc::new(array)
        }
        T::Date => {
            let days = numbers::<UInt16Type>(bytes, None);
            Arc::new(days.unary::<_, Date32Type>(i32::from).with_nulls(nulls))
        }
        T::Date32 => {
            let in_range = |days: i64| i32::try_from(days.clamp(DATE32_DAYS.0, DATE32_DAYS.1)).unwrap_or(0);
            let days = numbers::<Int32Type>(bytes, None);
            Arc::new(days.unary::<_, Date32Type>(|days| in_range(i64::from(days))).with_nulls(nulls))
        }
        T::DateTime { .. } => {
            let seconds = numbers::<UInt32Type>(bytes, None);
            let stamps = seconds.unary::<_, TimestampSecondType>(i64::from).with_nulls(nulls);
            Arc::new(stamps.with_data_type(to_data_type(value_type)))
        }
        T::DateTime64 { precision, .. } => ticks(bytes, value_type, *precision, nulls)?,
        T::Uuid => {
            // Two numbers of eight bytes, the upper half first, each least byte first.
            let swapped: Vec<u8> =
                bytes.as_slice().chunks(8).flat_map(|half| half.iter().rev().copied()).collect();
            Arc::new(FixedSizeBinaryArray::try_new(16, Buffer::from_vec(swapped), nulls)?)
        }
        T::Ipv6 => Arc::new(FixedSizeBinaryArray::try_new(16, Buffer::from(bytes), nulls)?),
        T::Decimal { precision, scale } => decimals(bytes, *precision, *scale, nulls)?,
        wide => {
            let kind = WideInteger::of(wide).ok_or_else(|| no_layout(wide))?;
            let stored = Buffer::from_vec(kind.turn(bytes.as_slice(), true));
            let width = i32::try_from(kind.bytes).unwrap_or(0);
            Arc::new(FixedSizeBinaryArray::try_new(width, stored, nulls)?)
        }
    })
}

/// A NULL may lie over any number: ClickHouse writes 0 there.
fn known_names(
    mut numbers: impl Iterator<Item = Option<i16>>,
    column_type: &ColumnType,
    is_known: impl Fn(i16) -> bool,
) -> Result<(), Unfit> {
    match numbers.position(|number| number.is_some_and(|number| !is_known(number))) {
        None => Ok(()),
        Some(row) => Err(unfit(
            row,
            ErrorCode::UNKNOWN_ELEMENT_OF_ENUM,
            format!("a number has no name in {column_type}"),
        )),
    }
}

/// Ticks of 10^-precision as the ticks of the array, which are thousandths of each other.
fn ticks(
    bytes: MutableBuffer,
    value_type: &ColumnType,
    precision: u8,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, Unfit> {
    let data_type = to_data_type(value_type);
    let DataType::Timestamp(unit, _) = &data_type else { return Err(no_layout(value_type)) };
    let factor = ticks_per_tick(*unit, precision);
    let given = numbers::<Int64Type>(bytes, None);
    let scaled: Option<Vec<i64>> = given.values().iter().map(|ticks| ticks.checked_mul(factor)).collect();
    let Some(scaled) = scaled else {
        let row = given.values().iter().position(|ticks| ticks.checked_mul(factor).is_none());
        let message = format!("a time is out of the range of {value_type}");
        return Err(unfit(row.unwrap_or(0), ErrorCode::ARGUMENT_OUT_OF_BOUND, message));
    };
    let values = ScalarBuffer::from(scaled);
    Ok(match unit {
        TimeUnit::Second => {
            Arc::new(PrimitiveArray::<TimestampSecondType>::new(values, nulls).with_data_type(data_type))
        }
        TimeUnit::Millisecond => {
            Arc::new(PrimitiveArray::<TimestampMillisecondType>::new(values, nulls).with_data_type(data_type))
        }
        TimeUnit::Microsecond => {
            Arc::new(PrimitiveArray::<TimestampMicrosecondType>::new(values, nulls).with_data_type(data_type))
        }
        TimeUnit::Nanosecond => {
            Arc::new(PrimitiveArray::<TimestampNanosecondType>::new(values, nulls).with_data_type(data_type))
        }
    })
}

/// Ticks of `unit` in one of 10^-precision seconds.
pub(super) fn ticks_per_tick(unit: TimeUnit, precision: u8) -> i64 {
    let digits: u8 = match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    };
    10_i64.pow(u32::from(digits.saturating_sub(precision)))
}

fn decimals(
    bytes: MutableBuffer,
    precision: u8,
    scale: u8,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, Unfit> {
    let scale = i8::try_from(scale).unwrap_or(0);
    let wide = |error: ArrowError| {
        let message = format!("a number does not fit Decimal({precision}, {scale}): {error}");
        Unfit { row: None, error: ValueError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message) }
    };
    if precision > 38 {
        let values: Vec<i256> =
            bytes.as_slice().as_chunks::<32>().0.iter().map(|v| i256::from_le_bytes(*v)).collect();
        let array = Decimal256Array::new(values.into(), nulls).with_precision_and_scale(precision, scale)?;
        array.validate_decimal_precision(precision).map_err(wide)?;
        return Ok(Arc::new(array));
    }
    let values: Vec<i128> = match precision {
        ..=9 => numbers::<Int32Type>(bytes, None).values().iter().map(|v| i128::from(*v)).collect(),
        10..=18 => numbers::<Int64Type>(bytes, None).values().iter().map(|v| i128::from(*v)).collect(),
        _ => bytes.as_slice().as_chunks::<16>().0.iter().map(|v| i128::from_le_bytes(*v)).collect(),
    };
    let array = Decimal128Array::new(values.into(), nulls).with_precision_and_scale(precision, scale)?;
    array.validate_decimal_precision(precision).map_err(wide)?;
    Ok(Arc::new(array))
}

fn states(ends: Vec<i64>, bytes: Vec<u8>) -> ArrayRef {
    let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
    let values = offsets.windows(2).map(|pair| &bytes[offset(pair[0])..offset(pair[1])]);
    Arc::new(BinaryViewArray::from_iter_values(values))
}

fn text(ends: Vec<i64>, bytes: Vec<u8>, nulls: Option<NullBuffer>) -> ArrayRef {
    let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
    let values = Buffer::from_vec(bytes);
    let whole = OffsetBuffer::new(offsets.clone().into());
    if let Ok(texts) = LargeStringArray::try_new(whole, values.clone(), nulls.clone()) {
        return Arc::new(StringViewArray::from(&texts));
    }
    // Bytes that are no UTF-8 are carried in text.
    let carried = offsets.windows(2).enumerate().map(|(row, pair)| {
        let valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        valid.then(|| raw_text::text(&values[offset(pair[0])..offset(pair[1])]))
    });
    Arc::new(carried.collect::<StringViewArray>())
}

fn list(
    ends: &[i32],
    item: Column,
    value_type: &ColumnType,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, Unfit> {
    let offsets: Vec<i32> = std::iter::once(0).chain(ends.iter().copied()).collect();
    // A bad item is told by the row its list stands in.
    let in_list = |mut unfit: Unfit| {
        let end = |item: usize| ends.partition_point(|end| offset(i64::from(*end)) <= item);
        unfit.row = unfit.row.map(end);
        unfit
    };
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    match (value_type, to_data_type(value_type)) {
        (ColumnType::Array(inner), _) => {
            let values = to_array(item, inner).map_err(in_list)?;
            Ok(Arc::new(ListArray::try_new(Arc::new(to_field("item", inner)), offsets, values, nulls)?))
        }
        (ColumnType::Map(..), DataType::Map(entries, sorted)) => {
            let (Values::Tuple { rows, children }, DataType::Struct(fields)) =
                (item.values, entries.data_type())
            else {
                return Err(no_layout(value_type));
            };
            let types = elements(value_type);
            let arrays = children.into_iter().zip(&types).map(|(child, t)| to_array(child, t));
            let arrays = arrays.collect::<Result<Vec<_>, _>>().map_err(in_list)?;
            let pairs = StructArray::try_new_with_length(fields.clone(), arrays, None, rows)?;
            Ok(Arc::new(MapArray::try_new(entries, offsets, pairs, nulls, sorted)?))
        }
        (other, _) => Err(no_layout(other)),
    }
}

/// Every row's key; views share the keys' bytes, so that a long key in many rows costs no memory.
fn dictionary(keys: Column, indexes: Vec<u32>, column_type: &ColumnType) -> Result<ArrayRef, Unfit> {
    let count = u32::try_from(keys.len()).unwrap_or(u32::MAX);
    if let Some(row) = indexes.iter().position(|index| *index >= count) {
        let message = format!("index {} is beyond the {count} keys of the dictionary", indexes[row]);
        return Err(unfit(row, ErrorCode::INCORRECT_DATA, message));
    }
    let keys = to_array(keys, column_type.value_type()).map_err(|unfit| Unfit { row: None, ..unfit })?;
    let nulls =
        column_type.is_nullable().then(|| NullBuffer::from_iter(indexes.iter().map(|index| *index != 0)));
    let rows = UInt32Array::new(indexes.into(), nulls);
    Ok(arrow::compute::take(&keys, &rows, None)?)
}

trait WithNulls {
    fn with_nulls(self, nulls: Option<NullBuffer>) -> Self;
}

impl<T: ArrowPrimitiveType> WithNulls for PrimitiveArray<T> {
    fn with_nulls(self, nulls: Option<NullBuffer>) -> Self {
        let (data_type, values, _) = self.into_parts();
        PrimitiveArray::new(values, nulls).with_data_type(data_type)
    }
}
