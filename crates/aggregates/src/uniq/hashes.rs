//! 32 bits of each row's values, equal for equal values.
//!
//! Numbers of up to 64 bits have the hashes of ClickHouse's `uniq`, so that counts of large sets are its own.
//! Invariant: they are stored in states, so they never change.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimeUnit, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use datafusion::common::Result;
use functions::{CastMode, cast_column, city_hash_64, join_hashes_64};
use model::{ColumnType, raw_text};

use crate::typing::external;

/// The hash of each row, and which rows have all their values.
pub(super) fn hashes(columns: &[ArrayRef], types: &[ColumnType]) -> Result<(Vec<u32>, Option<NullBuffer>)> {
    let mut nulls: Option<NullBuffer> = None;
    for column in columns {
        nulls = NullBuffer::union(nulls.as_ref(), column.logical_nulls().as_ref());
    }
    let low = |hash: u64| u32::try_from(hash & 0xFFFF_FFFF).unwrap_or(0);
    if let ([column], [column_type]) = (columns, types)
        && !matches!(column_type.value_type(), ColumnType::Tuple(_))
    {
        let words = words(column, column_type)?;
        return Ok((words.into_iter().map(|word| low(mixed(word))).collect(), nulls));
    }
    let rows = columns.first().map_or(0, |column| column.len());
    let mut joined: Option<Vec<u64>> = None;
    for (column, column_type) in columns.iter().zip(types) {
        joined = Some(joined_with(joined, column, column_type)?);
    }
    let joined = joined.unwrap_or_else(|| vec![0; rows]);
    Ok((joined.into_iter().map(low).collect(), nulls))
}

/// The finalizer of MurmurHash3.
fn mixed(word: u64) -> u64 {
    let mut x = word;
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

fn joined_with(so_far: Option<Vec<u64>>, column: &ArrayRef, column_type: &ColumnType) -> Result<Vec<u64>> {
    if let ColumnType::Tuple(elements) = column_type.value_type() {
        let mut so_far = so_far;
        for (member, element) in column.as_struct().columns().iter().zip(elements) {
            so_far = Some(joined_with(so_far, member, &element.column_type)?);
        }
        return Ok(so_far.unwrap_or_else(|| vec![0; column.len()]));
    }
    let own = match column_type.value_type() {
        ColumnType::String => words(column, column_type)?,
        _ => words(column, column_type)?.iter().map(|word| city_hash_64(&word.to_le_bytes())).collect(),
    };
    Ok(match so_far {
        None => own,
        Some(so_far) => {
            so_far.into_iter().zip(own).map(|(joined, next)| join_hashes_64(next, joined)).collect()
        }
    })
}

fn numbers<T: ArrowPrimitiveType>(column: &ArrayRef, word: impl Fn(T::Native) -> u64) -> Vec<u64> {
    column.as_primitive::<T>().values().iter().map(|value| word(*value)).collect()
}

/// Each value as 64 bits: a number itself, of anything else a hash.
fn words(column: &ArrayRef, column_type: &ColumnType) -> Result<Vec<u64>> {
    Ok(match column.data_type() {
        DataType::UInt8 => numbers::<UInt8Type>(column, u64::from),
        DataType::UInt16 => numbers::<UInt16Type>(column, u64::from),
        DataType::UInt32 => numbers::<UInt32Type>(column, u64::from),
        DataType::UInt64 => numbers::<UInt64Type>(column, |value| value),
        DataType::Int8 => numbers::<Int8Type>(column, |value| i64::from(value).cast_unsigned()),
        DataType::Int16 => numbers::<Int16Type>(column, |value| i64::from(value).cast_unsigned()),
        DataType::Int32 => numbers::<Int32Type>(column, |value| i64::from(value).cast_unsigned()),
        DataType::Int64 => numbers::<Int64Type>(column, i64::cast_unsigned),
        // By bits, as GROUP BY and `uniqExact`: NaNs of other bits are other values, -0.0 is not 0.0.
        DataType::Float32 => numbers::<Float32Type>(column, |value| u64::from(value.to_bits())),
        DataType::Float64 => numbers::<Float64Type>(column, f64::to_bits),
        DataType::Boolean => column.as_boolean().iter().map(|flag| u64::from(flag == Some(true))).collect(),
        DataType::Date32 => return words(&cast(column, &DataType::Int32)?, &ColumnType::Int32),
        DataType::Timestamp(TimeUnit::Second, _) => {
            return words(&cast(column, &DataType::Int64)?, &ColumnType::Int64);
        }
        DataType::Decimal128(precision, _) if *precision <= 18 => {
            let digits = column.as_primitive::<arrow::datatypes::Decimal128Type>();
            digits.values().iter().map(|value| i64::try_from(*value).unwrap_or(0).cast_unsigned()).collect()
        }
        DataType::FixedSizeBinary(_) => {
            let bytes = column.as_fixed_size_binary();
            (0..bytes.len()).map(|row| city_hash_64(bytes.value(row))).collect()
        }
        DataType::Utf8View => {
            let texts = column.as_string_view();
            texts.iter().map(|text| city_hash_64(&raw_text::bytes(text.unwrap_or_default()))).collect()
        }
        _ => {
            let text = cast_column(column, column_type, &ColumnType::String.nullable(), CastMode::Strict);
            return words(&text.map_err(external)?, &ColumnType::String);
        }
    })
}
