//! Where the values of one column collect before they are an array.
//!
//! Invariant: `finish` gives the layout of `type_arrow::to_data_type`; NULL rows hold the type's zero.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, BooleanBufferBuilder, Decimal128Array, Decimal256Array, FixedSizeBinaryArray,
    ListArray, MapArray, NullArray, PrimitiveArray, StringViewArray, StringViewBuilder, StructArray,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::nullif;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Fields, TimeUnit, i256};
use arrow::datatypes::{
    Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::error::ArrowError;
use model::raw_text::bytes_of_all;
use model::saturating::place_of;
use model::type_arrow::{to_data_type, to_field};
use model::value::enum_lookup::EnumLookup;
use model::{ColumnType, Value, WideInteger};

use super::{BuilderOptions, TypedColumnBuilder, zone_of};
use crate::error::FormatError;
use model::calendar::date_text::TimeText;
use model::calendar::zone::{DATE_TIME_SECONDS_MAX, Zone};
use scan::number::NumberError;

/// Parameters of a DateTime or DateTime64.
#[derive(Debug)]
pub(super) struct TimeColumn {
    pub(super) zone: Zone,
    /// `None` for DateTime, which is clamped to its 32 bits.
    pub(super) precision: Option<u8>,
    pub(super) unit: TimeUnit,
    data_type: DataType,
}

impl TimeColumn {
    /// Ticks of the column's unit.
    #[inline]
    pub(super) fn ticks(&mut self, found: TimeText) -> Result<i64, NumberError> {
        let utc = match found.offset {
            Some(offset) => found.seconds - offset,
            None => self.zone.utc_of(found.seconds),
        };
        let Some(precision) = self.precision else {
            return Ok(utc.clamp(0, DATE_TIME_SECONDS_MAX));
        };
        let (per_second, unit_digits) = match self.unit {
            TimeUnit::Second => (1, 0),
            TimeUnit::Millisecond => (1000, 3),
            TimeUnit::Microsecond => (1_000_000, 6),
            TimeUnit::Nanosecond => (1_000_000_000, 9),
        };
        // Digits beyond the precision are cut, then the rest is scaled to the unit.
        let cut = 10_i64.pow(9 - u32::from(precision.min(9)));
        let nanos = i64::from(found.nanos) / cut * cut;
        let fraction = nanos / 10_i64.pow(9 - unit_digits);
        utc.checked_mul(per_second).and_then(|t| t.checked_add(fraction)).ok_or(NumberError::OutOfRange)
    }
}

#[derive(Debug)]
pub(super) enum Store {
    UInt8(Vec<u8>),
    UInt16(Vec<u16>),
    UInt32(Vec<u32>),
    UInt64(Vec<u64>),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Bool(Vec<bool>),
    Text {
        values: Box<StringViewBuilder>,
        fixed: Option<usize>,
        /// Whether they are states, which are bytes.
        states: bool,
        rows: usize,
    },
    Decimal128(Vec<i128>, u8, u8),
    Decimal256(Vec<i256>, u8, u8),
    Date(Vec<i32>, (i64, i64)),
    Time(Vec<i64>, Box<TimeColumn>),
    Wide(Vec<i256>, WideInteger),
    Ipv4(Vec<u32>),
    /// Values of 16 bytes by their bits, the first byte on top: UUIDs, IPv6 addresses.
    Uuid(Vec<u128>),
    Ipv6(Vec<u128>),
    Enum8(Vec<i8>, Box<EnumLookup>),
    Enum16(Vec<i16>, Box<EnumLookup>),
    List {
        offsets: Vec<i32>,
        item: Box<TypedColumnBuilder>,
    },
    Map {
        offsets: Vec<i32>,
        key: Box<TypedColumnBuilder>,
        value: Box<TypedColumnBuilder>,
        data_type: DataType,
    },
    Tuple {
        names: Vec<Option<Arc<str>>>,
        children: Vec<TypedColumnBuilder>,
        rows: usize,
        fields: Fields,
    },
    Nothing(usize),
}

impl Store {
    pub(super) fn new(value_type: &ColumnType, options: &BuilderOptions) -> Result<Store, FormatError> {
        let child = |column_type: &ColumnType| TypedColumnBuilder::with_options(column_type, options);
        let time = |zone: Option<&Arc<str>>, precision| -> Result<Store, FormatError> {
            let data_type = to_data_type(value_type);
            let unit = if let DataType::Timestamp(unit, _) = &data_type { *unit } else { TimeUnit::Second };
            let column = TimeColumn { zone: zone_of(zone, options)?, precision, unit, data_type };
            Ok(Store::Time(Vec::new(), Box::new(column)))
        };
        let text = |fixed| Store::Text {
            values: Box::new(StringViewBuilder::new()),
            fixed,
            states: value_type.state().is_some(),
            rows: 0,
        };
        Ok(match value_type {
            ColumnType::UInt8 => Store::UInt8(Vec::new()),
            ColumnType::UInt16 => Store::UInt16(Vec::new()),
            ColumnType::UInt32 => Store::UInt32(Vec::new()),
            ColumnType::UInt64 => Store::UInt64(Vec::new()),
            ColumnType::Int8 => Store::Int8(Vec::new()),
            ColumnType::Int16 => Store::Int16(Vec::new()),
            ColumnType::Int32 => Store::Int32(Vec::new()),
            ColumnType::Int64 => Store::Int64(Vec::new()),
            ColumnType::Float32 => Store::Float32(Vec::new()),
            ColumnType::Float64 => Store::Float64(Vec::new()),
            ColumnType::Bool => Store::Bool(Vec::new()),
            ColumnType::String | ColumnType::AggregateFunction(_) => text(None),
            ColumnType::FixedString(bytes) => text(usize::try_from(*bytes).ok()),
            ColumnType::Decimal { precision, scale } => match to_data_type(value_type) {
                DataType::Decimal256(..) => Store::Decimal256(Vec::new(), *precision, *scale),
                _ => Store::Decimal128(Vec::new(), *precision, *scale),
            },
            ColumnType::Date => Store::Date(Vec::new(), model::calendar::zone::DATE_DAYS),
            ColumnType::Date32 => Store::Date(Vec::new(), model::calendar::zone::DATE32_DAYS),
            ColumnType::DateTime { time_zone } => time(time_zone.as_ref(), None)?,
            ColumnType::DateTime64 { precision, time_zone } => time(time_zone.as_ref(), Some(*precision))?,
            ColumnType::Uuid => Store::Uuid(Vec::new()),
            ColumnType::Ipv4 => Store::Ipv4(Vec::new()),
            ColumnType::Int128 | ColumnType::UInt128 | ColumnType::Int256 | ColumnType::UInt256 => {
                let kind = WideInteger::of(value_type).unwrap_or(WideInteger { bytes: 32, signed: true });
                Store::Wide(Vec::new(), kind)
            }
            ColumnType::Ipv6 => Store::Ipv6(Vec::new()),
            ColumnType::Enum8(values) => Store::Enum8(Vec::new(), Box::new(EnumLookup::new(values))),
            ColumnType::Enum16(values) => Store::Enum16(Vec::new(), Box::new(EnumLookup::new(values))),
            ColumnType::Array(item) => Store::List { offsets: Vec::new(), item: Box::new(child(item)?) },
            ColumnType::Map(key, value) => Store::Map {
                offsets: Vec::new(),
                key: Box::new(child(key)?),
                value: Box::new(child(value)?),
                data_type: to_data_type(value_type),
            },
            ColumnType::Tuple(elements) => Store::Tuple {
                names: elements.iter().map(|element| element.name.clone()).collect(),
                children: elements
                    .iter()
                    .map(|element| child(&element.column_type))
                    .collect::<Result<_, _>>()?,
                rows: 0,
                fields: match to_data_type(value_type) {
                    DataType::Struct(fields) => fields,
                    _ => Fields::empty(),
                },
            },
            ColumnType::Nothing => Store::Nothing(0),
            ColumnType::Nullable(inner) | ColumnType::LowCardinality(inner) => Store::new(inner, options)?,
        })
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Store::UInt8(values) => values.len(),
            Store::UInt16(values) => values.len(),
            Store::UInt32(values) | Store::Ipv4(values) => values.len(),
            Store::UInt64(values) => values.len(),
            Store::Int8(values) | Store::Enum8(values, _) => values.len(),
            Store::Int16(values) | Store::Enum16(values, _) => values.len(),
            Store::Int32(values) | Store::Date(values, _) => values.len(),
            Store::Int64(values) | Store::Time(values, _) => values.len(),
            Store::Float32(values) => values.len(),
            Store::Float64(values) => values.len(),
            Store::Bool(values) => values.len(),
            Store::Text { rows, .. } | Store::Nothing(rows) | Store::Tuple { rows, .. } => *rows,
            Store::Decimal128(values, ..) => values.len(),
            Store::Decimal256(values, ..) | Store::Wide(values, _) => values.len(),
            Store::Uuid(values) | Store::Ipv6(values) => values.len(),
            Store::List { offsets, .. } | Store::Map { offsets, .. } => offsets.len(),
        }
    }

    /// Keeps the first `len` values.
    pub(super) fn truncate(&mut self, len: usize) {
        match self {
            Store::UInt8(values) => values.truncate(len),
            Store::UInt16(values) => values.truncate(len),
            Store::UInt32(values) | Store::Ipv4(values) => values.truncate(len),
            Store::UInt64(values) => values.truncate(len),
            Store::Int8(values) | Store::Enum8(values, _) => values.truncate(len),
            Store::Int16(values) | Store::Enum16(values, _) => values.truncate(len),
            Store::Int32(values) | Store::Date(values, _) => values.truncate(len),
            Store::Int64(values) | Store::Time(values, _) => values.truncate(len),
            Store::Float32(values) => values.truncate(len),
            Store::Float64(values) => values.truncate(len),
            Store::Bool(values) => values.truncate(len),
            Store::Text { values, rows, .. } if *rows > len => {
                // The builder only grows; its bytes are shared, not copied.
                let array = values.finish();
                values.append_array(&array.slice(0, len));
                *rows = len;
            }
            Store::Text { .. } => {}
            Store::Decimal128(values, ..) => values.truncate(len),
            Store::Decimal256(values, ..) | Store::Wide(values, _) => values.truncate(len),
            Store::Uuid(values) | Store::Ipv6(values) => values.truncate(len),
            Store::List { offsets, item } => {
                offsets.truncate(len);
                item.truncate(last(offsets));
            }
            Store::Map { offsets, key, value, .. } => {
                offsets.truncate(len);
                key.truncate(last(offsets));
                value.truncate(last(offsets));
            }
            Store::Tuple { children, rows, .. } => {
                children.iter_mut().for_each(|child| child.truncate(len));
                *rows = len.min(*rows);
            }
            Store::Nothing(rows) => *rows = len.min(*rows),
        }
    }

    pub(super) fn push_default(&mut self) {
        match self {
            Store::UInt8(values) => values.push(0),
            Store::UInt16(values) => values.push(0),
            Store::UInt32(values) | Store::Ipv4(values) => values.push(0),
            Store::UInt64(values) => values.push(0),
            Store::Int8(values) => values.push(0),
            Store::Int16(values) => values.push(0),
            Store::Int32(values) => values.push(0),
            Store::Int64(values) | Store::Time(values, _) => values.push(0),
            Store::Float32(values) => values.push(0.0),
            Store::Float64(values) => values.push(0.0),
            Store::Bool(values) => values.push(false),
            Store::Text { values, rows, .. } => {
                values.append_value("");
                *rows += 1;
            }
            Store::Decimal128(values, ..) => values.push(0),
            Store::Decimal256(values, ..) | Store::Wide(values, _) => values.push(i256::ZERO),
            // 1970-01-01 is the default of Date32, too.
            Store::Date(values, _) => values.push(0),
            Store::Uuid(values) | Store::Ipv6(values) => values.push(0),
            Store::Enum8(values, lookup) => values.push(i8::try_from(lookup.least()).unwrap_or(0)),
            Store::Enum16(values, lookup) => values.push(lookup.least()),
            Store::List { offsets, item } => offsets.push(length(item)),
            Store::Map { offsets, key, .. } => offsets.push(length(key)),
            Store::Tuple { children, rows, .. } => {
                children.iter_mut().for_each(TypedColumnBuilder::append_default);
                *rows += 1;
            }
            Store::Nothing(rows) => *rows += 1,
        }
    }

    /// False when the value's kind or size does not fit.
    pub(super) fn push_value(&mut self, value: &Value) -> bool {
        fn put<T>(values: &mut Vec<T>, value: Option<T>) -> bool {
            value.is_some_and(|value| {
                values.push(value);
                true
            })
        }
        let int = match value {
            Value::Int(int) => Some(i128::from(*int)),
            Value::UInt(int) => Some(i128::from(*int)),
            Value::Bool(flag) => Some(i128::from(*flag)),
            Value::Decimal(unscaled) => Some(*unscaled),
            _ => None,
        };
        match self {
            Store::UInt8(values) => put(values, int.and_then(|v| v.try_into().ok())),
            Store::UInt16(values) => put(values, int.and_then(|v| v.try_into().ok())),
            Store::UInt32(values) | Store::Ipv4(values) => put(values, int.and_then(|v| v.try_into().ok())),
            Store::UInt64(values) => put(values, int.and_then(|v| v.try_into().ok())),
            Store::Int8(values) | Store::Enum8(values, _) => put(values, int.and_then(|v| v.try_into().ok())),
            Store::Int16(values) | Store::Enum16(values, _) => {
                put(values, int.and_then(|v| v.try_into().ok()))
            }
            Store::Int32(values) | Store::Date(values, _) => put(values, int.and_then(|v| v.try_into().ok())),
            Store::Int64(values) | Store::Time(values, _) => put(values, int.and_then(|v| v.try_into().ok())),
            Store::Bool(values) => put(values, int.map(|v| v != 0)),
            Store::Decimal128(values, ..) => put(values, int),
            Store::Decimal256(values, ..) => put(values, int.map(i256::from_i128)),
            Store::Float64(values) => put(values, if let Value::Float(v) = value { Some(*v) } else { None }),
            Store::Float32(values) => {
                put(values, if let Value::Float(v) = value { Some(narrow(*v)) } else { None })
            }
            Store::Wide(values, kind) => match value {
                Value::Bytes(bytes) => put(values, Some(kind.decode(bytes))),
                _ => put(values, int.map(i256::from_i128)),
            },
            Store::Uuid(values) | Store::Ipv6(values) => match value {
                Value::Bytes(bytes) => put(values, bytes.as_ref().try_into().ok().map(u128::from_be_bytes)),
                _ => false,
            },
            Store::Text { values, rows, .. } => {
                let Value::Text(text) = value else { return false };
                values.append_value(text.as_ref());
                *rows += 1;
                true
            }
            Store::List { .. } | Store::Map { .. } | Store::Tuple { .. } | Store::Nothing(_) => false,
        }
    }

    pub(super) fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Store::UInt8(values) => primitive::<UInt8Type>(values, nulls),
            Store::UInt16(values) => primitive::<UInt16Type>(values, nulls),
            Store::UInt32(values) | Store::Ipv4(values) => primitive::<UInt32Type>(values, nulls),
            Store::UInt64(values) => primitive::<UInt64Type>(values, nulls),
            Store::Int8(values) | Store::Enum8(values, _) => primitive::<Int8Type>(values, nulls),
            Store::Int16(values) | Store::Enum16(values, _) => primitive::<Int16Type>(values, nulls),
            Store::Int32(values) => primitive::<Int32Type>(values, nulls),
            Store::Int64(values) => primitive::<Int64Type>(values, nulls),
            Store::Float32(values) => primitive::<Float32Type>(values, nulls),
            Store::Float64(values) => primitive::<Float64Type>(values, nulls),
            Store::Date(values, _) => primitive::<Date32Type>(values, nulls),
            Store::Bool(values) => Arc::new(BooleanArray::new(packed(values), nulls)),
            Store::Text { values, rows, states, .. } => {
                *rows = 0;
                texts(&values.finish(), nulls, *states)?
            }
            Store::Decimal128(values, precision, scale) => {
                let array = Decimal128Array::new(std::mem::take(values).into(), nulls);
                Arc::new(array.with_precision_and_scale(*precision, i8::try_from(*scale).unwrap_or(0))?)
            }
            Store::Decimal256(values, precision, scale) => {
                let array = Decimal256Array::new(std::mem::take(values).into(), nulls);
                Arc::new(array.with_precision_and_scale(*precision, i8::try_from(*scale).unwrap_or(0))?)
            }
            Store::Wide(values, kind) => wide(values, *kind, nulls)?,
            Store::Time(values, column) => match column.unit {
                TimeUnit::Second => stamps::<TimestampSecondType>(values, nulls, column),
                TimeUnit::Millisecond => stamps::<TimestampMillisecondType>(values, nulls, column),
                TimeUnit::Microsecond => stamps::<TimestampMicrosecondType>(values, nulls, column),
                TimeUnit::Nanosecond => stamps::<TimestampNanosecondType>(values, nulls, column),
            },
            Store::Uuid(values) | Store::Ipv6(values) => {
                let bytes: Vec<u8> = std::mem::take(values).iter().flat_map(|v| v.to_be_bytes()).collect();
                Arc::new(FixedSizeBinaryArray::try_new(16, Buffer::from_vec(bytes), nulls)?)
            }
            Store::List { offsets, item } => {
                let field = Arc::new(to_field("item", item.column_type()));
                let values = child(item)?;
                Arc::new(ListArray::try_new(field, take_offsets(offsets), values, nulls)?)
            }
            Store::Map { offsets, key, value, data_type } => {
                let DataType::Map(entries_field, sorted) = data_type else {
                    return Err(ArrowError::SchemaError("a map needs a map layout".to_owned()));
                };
                let DataType::Struct(fields) = entries_field.data_type() else {
                    return Err(ArrowError::SchemaError("a map needs entries".to_owned()));
                };
                let entries = StructArray::try_new(fields.clone(), vec![child(key)?, child(value)?], None)?;
                Arc::new(MapArray::try_new(
                    Arc::clone(entries_field),
                    take_offsets(offsets),
                    entries,
                    nulls,
                    *sorted,
                )?)
            }
            Store::Tuple { children, rows, fields, .. } => {
                let arrays = children.iter_mut().map(child).collect::<Result<Vec<_>, _>>()?;
                let rows = std::mem::take(rows);
                Arc::new(StructArray::try_new_with_length(fields.clone(), arrays, nulls, rows)?)
            }
            Store::Nothing(rows) => Arc::new(NullArray::new(std::mem::take(rows))),
        })
    }
}

#[expect(clippy::cast_possible_truncation, reason = "Float32 is meant to round")]
fn narrow(value: f64) -> f32 {
    value as f32
}

fn texts(array: &StringViewArray, nulls: Option<NullBuffer>, states: bool) -> Result<ArrayRef, ArrowError> {
    match nulls {
        _ if states => Ok(Arc::new(bytes_of_all(array))),
        None => Ok(Arc::new(array.clone())),
        // Unlike a new array of these parts, it does not look at every text again.
        Some(nulls) => nullif(array, &BooleanArray::new(!nulls.inner(), None)),
    }
}

/// Rows of a child as the next offset; Arrow lists hold at most 2^31 items, readers make far smaller batches.
pub(super) fn length(child: &TypedColumnBuilder) -> i32 {
    i32::try_from(child.len()).unwrap_or(i32::MAX)
}

/// Items of all lists together.
fn last(offsets: &[i32]) -> usize {
    offsets.last().map_or(0, |end| place_of(*end))
}

fn child(builder: &mut TypedColumnBuilder) -> Result<ArrayRef, ArrowError> {
    builder.finish().map_err(|error| ArrowError::ExternalError(Box::new(error)))
}

fn take_offsets(ends: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let offsets: Vec<i32> = std::iter::once(0).chain(std::mem::take(ends)).collect();
    OffsetBuffer::new(ScalarBuffer::from(offsets))
}

fn packed(values: &mut Vec<bool>) -> arrow::buffer::BooleanBuffer {
    let mut bits = BooleanBufferBuilder::new(values.len());
    bits.append_slice(values);
    values.clear();
    bits.finish()
}

fn primitive<T: ArrowPrimitiveType>(values: &mut Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(std::mem::take(values).into(), nulls))
}

fn wide(
    values: &mut Vec<i256>,
    kind: WideInteger,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let mut stored = Vec::with_capacity(values.len() * kind.bytes);
    std::mem::take(values).into_iter().for_each(|value| kind.encode(value, &mut stored));
    let width = i32::try_from(kind.bytes).unwrap_or(0);
    Ok(Arc::new(FixedSizeBinaryArray::try_new(width, Buffer::from_vec(stored), nulls)?))
}

fn stamps<T: ArrowPrimitiveType<Native = i64>>(
    values: &mut Vec<i64>,
    nulls: Option<NullBuffer>,
    column: &TimeColumn,
) -> ArrayRef {
    let array = PrimitiveArray::<T>::new(std::mem::take(values).into(), nulls);
    Arc::new(array.with_data_type(column.data_type.clone()))
}
