//! One value of one column: partition values, key bounds, defaults.
//!
//! Invariant: `Value::at` and `Value::to_array` are inverse for every layout that bounds are kept for. The order of
//! two values of one type is the order ClickHouse sorts them in; NULL sorts last.

pub mod digest;
pub mod escapes;
pub mod in_words;
pub mod packed;
pub mod print;
pub mod bson;
pub mod uuid_text;
pub mod width;
pub mod strokes;
pub mod members;
pub mod enum_lookup;

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, StringViewArray,
    new_null_array,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use arrow::error::ArrowError;

/// A scalar. Dates are days, times are ticks of their column's precision, enums are numbers, UUIDs are bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    /// Unscaled value; the scale is the column's.
    Decimal(i128),
    Text(Arc<str>),
    Bytes(Arc<[u8]>),
}

impl Value {
    /// Reads row `row`; `None` for nested types, for which no bounds are kept.
    pub fn at(array: &dyn Array, row: usize) -> Option<Value> {
        if array.is_null(row) {
            return Some(Value::Null);
        }
        let one = array.slice(row, 1);
        let value = match array.data_type() {
            DataType::Boolean => Value::Bool(one.as_boolean().value(0)),
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Value::Int(as_i64(&one)?),
            DataType::Date32 => Value::Int(as_i64(&cast(&one, &DataType::Int32).ok()?)?),
            DataType::Date64 | DataType::Timestamp(..) => Value::Int(as_i64(&one)?),
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => {
                Value::UInt(cast(&one, &DataType::UInt64).ok()?.as_primitive::<UInt64Type>().value(0))
            }
            DataType::Float16 | DataType::Float32 | DataType::Float64 => {
                Value::Float(cast(&one, &DataType::Float64).ok()?.as_primitive::<Float64Type>().value(0))
            }
            DataType::Decimal128(..) => {
                Value::Decimal(one.as_any().downcast_ref::<Decimal128Array>()?.value(0))
            }
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..) => {
                Value::Text(cast(&one, &DataType::Utf8View).ok()?.as_string_view().value(0).into())
            }
            DataType::FixedSizeBinary(_) => {
                Value::Bytes(one.as_any().downcast_ref::<FixedSizeBinaryArray>()?.value(0).into())
            }
            _ => return None,
        };
        Some(value)
    }

    /// An array of one row in the given layout; an error names the layout that cannot hold the value.
    pub fn to_array(&self, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let plain: ArrayRef = match self {
            Value::Null => return Ok(new_null_array(data_type, 1)),
            Value::Bool(value) => Arc::new(BooleanArray::from(vec![*value])),
            Value::Int(value) => Arc::new(arrow::array::Int64Array::from(vec![*value])),
            Value::UInt(value) => Arc::new(arrow::array::UInt64Array::from(vec![*value])),
            Value::Float(value) => Arc::new(arrow::array::Float64Array::from(vec![*value])),
            Value::Decimal(value) => {
                let array = Decimal128Array::from(vec![*value]);
                return Ok(Arc::new(array.with_data_type(data_type.clone())));
            }
            Value::Text(value) => Arc::new(StringViewArray::from(vec![value.as_ref()])),
            Value::Bytes(value) => {
                Arc::new(FixedSizeBinaryArray::try_from_iter(std::iter::once(value.as_ref()))?)
            }
        };
        match data_type {
            DataType::Date32 => cast(&cast(&plain, &DataType::Int32)?, data_type),
            _ => cast(&plain, data_type),
        }
    }

    /// Order of two values of one column; NULL and NaN sort last. Values of different kinds compare as equal.
    pub fn order(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => Ordering::Greater,
            (_, Value::Null) => Ordering::Less,
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
            (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
            (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            _ => Ordering::Equal,
        }
    }
}

fn as_i64(one: &ArrayRef) -> Option<i64> {
    Some(cast(one, &DataType::Int64).ok()?.as_primitive::<Int64Type>().value(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Date32Array, Int8Array, TimestampMillisecondArray};

    #[test]
    fn values_survive_arrays() {
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(Int8Array::from(vec![Some(-3), None])),
            Arc::new(Date32Array::from(vec![20_000, 1])),
            Arc::new(TimestampMillisecondArray::from(vec![1_700_000_000_123]).with_timezone("UTC")),
            Arc::new(StringViewArray::from(vec!["a long enough string to leave the view", ""])),
            Arc::new(Decimal128Array::from(vec![12345]).with_precision_and_scale(10, 2).unwrap()),
            Arc::new(BooleanArray::from(vec![true])),
        ];
        for array in arrays {
            for row in 0..array.len() {
                let value = Value::at(&array, row).unwrap();
                let back = value.to_array(array.data_type()).unwrap();
                assert_eq!(&back, &array.slice(row, 1));
            }
        }
    }
}
