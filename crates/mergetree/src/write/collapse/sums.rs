//! Sums of the numbers of each key: SummingMergeTree.
//!
//! Invariant: sums have the type of their column and wrap around, as ClickHouse's do; 0 and NULL are nothing. Must not know:
//! keys, other columns.

use std::sync::Arc;

use super::failed;
use crate::error::TableError;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowNativeTypeOp, DataType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};

/// One sum for each key, the values of which begin at each of `starts`. A sum that is something takes its key's mark away.
pub(super) fn sum_of(
    column: &ArrayRef,
    may_be_null: bool,
    starts: &[usize],
    is_zero: &mut [bool],
) -> Result<ArrayRef, TableError> {
    if let Some(truths) = column.as_boolean_opt() {
        return Ok(any_true(truths, may_be_null, starts, is_zero));
    }
    macro_rules! by_type {
        ($($pattern:pat => $kind:ty),* $(,)?) => {
            match column.data_type() {
                $($pattern => Ok(sums::<$kind>(column.as_primitive(), may_be_null, starts, is_zero)),)*
                other => Err(failed(format!("values of {other} cannot be added"))),
            }
        };
    }
    by_type! {
        DataType::Int8 => Int8Type, DataType::Int16 => Int16Type,
        DataType::Int32 => Int32Type, DataType::Int64 => Int64Type,
        DataType::UInt8 => UInt8Type, DataType::UInt16 => UInt16Type,
        DataType::UInt32 => UInt32Type, DataType::UInt64 => UInt64Type,
        DataType::Float32 => Float32Type, DataType::Float64 => Float64Type,
        DataType::Decimal32(..) => Decimal32Type, DataType::Decimal64(..) => Decimal64Type,
        DataType::Decimal128(..) => Decimal128Type, DataType::Decimal256(..) => Decimal256Type,
    }
}

/// The sum of truths is whether there is one.
fn any_true(column: &BooleanArray, may_be_null: bool, starts: &[usize], is_zero: &mut [bool]) -> ArrayRef {
    let ends = starts.iter().skip(1).copied().chain([column.len()]);
    let runs = starts.iter().copied().zip(ends).zip(is_zero);
    let any = |((start, end), is_zero): ((usize, usize), &mut bool)| {
        let values = (start..end).filter(|row| column.is_valid(*row)).map(|row| column.value(row));
        let any = values.reduce(|any, value| any || value);
        *is_zero &= any.is_none_or(|any| !may_be_null && !any);
        any
    };
    Arc::new(runs.map(any).collect::<BooleanArray>())
}

fn sums<T: ArrowPrimitiveType>(
    column: &PrimitiveArray<T>,
    may_be_null: bool,
    starts: &[usize],
    is_zero: &mut [bool],
) -> ArrayRef {
    let ends = starts.iter().skip(1).copied().chain([column.len()]);
    let runs = starts.iter().copied().zip(ends).zip(is_zero);
    let sum = |((start, end), is_zero): ((usize, usize), &mut bool)| {
        let values = (start..end).filter(|row| column.is_valid(*row)).map(|row| column.value(row));
        let sum = values.reduce(ArrowNativeTypeOp::add_wrapping);
        // Of a column that may be NULL only NULL is nothing.
        *is_zero &= sum.is_none_or(|sum| !may_be_null && sum.is_zero());
        sum
    };
    let sums: PrimitiveArray<T> = runs.map(sum).collect();
    Arc::new(sums.with_data_type(column.data_type().clone()))
}
