//! The least and the greatest value of an array.
//!
//! Pure. Invariant: no value of the array is outside of them; an array of a type whose order is not known has none. NaN is
//! the caller's business. Must not know: what they are for.

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::{max, max_boolean, max_string_view, min, min_boolean, min_string_view};
use arrow::datatypes::{
    ArrowNumericType, DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use model::Value;

/// `None` if all is NULL, or no order is known.
pub(super) fn extremes(values: &ArrayRef) -> Option<(Value, Value)> {
    match values.data_type() {
        DataType::Boolean => {
            let values = values.as_boolean();
            Some((Value::Bool(min_boolean(values)?), Value::Bool(max_boolean(values)?)))
        }
        DataType::Int8 => of::<Int8Type>(values),
        DataType::Int16 => of::<Int16Type>(values),
        DataType::Int32 => of::<Int32Type>(values),
        DataType::Int64 => of::<Int64Type>(values),
        DataType::UInt8 => of::<UInt8Type>(values),
        DataType::UInt16 => of::<UInt16Type>(values),
        DataType::UInt32 => of::<UInt32Type>(values),
        DataType::UInt64 => of::<UInt64Type>(values),
        DataType::Float32 => of::<Float32Type>(values),
        DataType::Float64 => of::<Float64Type>(values),
        DataType::Date32 => of::<Date32Type>(values),
        DataType::Timestamp(TimeUnit::Second, _) => of::<TimestampSecondType>(values),
        DataType::Timestamp(TimeUnit::Millisecond, _) => of::<TimestampMillisecondType>(values),
        DataType::Timestamp(TimeUnit::Microsecond, _) => of::<TimestampMicrosecondType>(values),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => of::<TimestampNanosecondType>(values),
        DataType::Decimal128(..) => of::<Decimal128Type>(values),
        DataType::Utf8View => {
            let values = values.as_string_view();
            let (least, greatest) = (min_string_view(values)?, max_string_view(values)?);
            Some((Value::Text(least.into()), Value::Text(greatest.into())))
        }
        _ => None,
    }
}

fn of<T: ArrowNumericType>(values: &ArrayRef) -> Option<(Value, Value)> {
    let values = values.as_primitive::<T>();
    let both = PrimitiveArray::<T>::from_iter_values([min(values)?, max(values)?])
        .with_data_type(values.data_type().clone());
    Some((Value::at(&both, 0)?, Value::at(&both, 1)?))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use arrow::array::{
        Date32Array, Decimal128Array, FixedSizeBinaryArray, Float64Array, Int8Array, StringViewArray,
        TimestampMicrosecondArray, UInt64Array,
    };

    #[test]
    fn each_type_has_its_order() {
        let decimals = Decimal128Array::from(vec![5, -7]).with_precision_and_scale(9, 2).unwrap();
        let times = TimestampMicrosecondArray::from(vec![9, 8]).with_timezone("UTC");
        let cases: [(ArrayRef, Value, Value); 7] = [
            (Arc::new(Int8Array::from(vec![Some(3), None, Some(-4)])), Value::Int(-4), Value::Int(3)),
            (Arc::new(UInt64Array::from(vec![u64::MAX, 0])), Value::UInt(0), Value::UInt(u64::MAX)),
            (Arc::new(Float64Array::from(vec![0.5, -1.5])), Value::Float(-1.5), Value::Float(0.5)),
            (Arc::new(Date32Array::from(vec![2, 1])), Value::Int(1), Value::Int(2)),
            (Arc::new(times), Value::Int(8), Value::Int(9)),
            (Arc::new(decimals), Value::Decimal(-7), Value::Decimal(5)),
            (
                Arc::new(StringViewArray::from(vec!["b", "a text that is longer than a view"])),
                Value::Text("a text that is longer than a view".into()),
                Value::Text("b".into()),
            ),
        ];
        for (values, least, greatest) in cases {
            assert_eq!(extremes(&values), Some((least, greatest)), "{}", values.data_type());
        }
        let nulls: ArrayRef = Arc::new(Int8Array::from(vec![None, None]));
        assert_eq!(extremes(&nulls), None);
        let bytes = FixedSizeBinaryArray::try_from_iter([[1_u8; 16]].into_iter()).unwrap();
        let bytes: ArrayRef = Arc::new(bytes);
        assert_eq!(extremes(&bytes), None, "no order is known");
    }
}
