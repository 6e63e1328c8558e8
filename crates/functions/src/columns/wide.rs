//! Columns of any integer type as numbers of 256 bits, and back.
//!
//! Invariant: a number read from a column is the one it holds; one written to a column wraps in its type. Rows that are
//! NULL read as 0. Must not know: functions.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeBinaryArray, PrimitiveArray};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::i256;
use model::{ColumnType, WideInteger};

use crate::columns::number::{Number, with_number};
use crate::error::FunctionError;

/// What the numbers of an integer type are, of a narrow one as if it had 128 bits.
pub(crate) fn kind_of(column_type: &ColumnType) -> WideInteger {
    WideInteger::of(column_type).unwrap_or(WideInteger { bytes: 16, signed: true })
}

/// The numbers of a column of an integer type; Bool is 0 and 1.
pub(crate) fn numbers(array: &ArrayRef, column_type: &ColumnType) -> Result<Vec<i256>, FunctionError> {
    let plain = column_type.value_type();
    if let Some(kind) = WideInteger::of(plain) {
        let stored = array.as_fixed_size_binary();
        let number = |row| if stored.is_null(row) { i256::ZERO } else { kind.decode(stored.value(row)) };
        return Ok((0..stored.len()).map(number).collect());
    }
    if let Some(flags) = array.as_boolean_opt() {
        return Ok((0..flags.len()).map(|row| i256::from_i128(i128::from(flags.value(row)))).collect());
    }
    with_number!(plain, T => {
        let values = array.as_primitive::<T>();
        let number = |row: usize| if values.is_null(row) { 0 } else { values.value(row).int() };
        Ok((0..values.len()).map(|row| i256::from_i128(number(row))).collect())
    }, else Err(FunctionError::illegal_type(plain, "of integers")))
}

/// A column of an integer type of these numbers, each wrapped in the type.
pub(crate) fn column(
    numbers: &[i256],
    column_type: &ColumnType,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, FunctionError> {
    let plain = column_type.value_type();
    if let Some(kind) = WideInteger::of(plain) {
        let mut stored = Vec::with_capacity(numbers.len() * kind.bytes);
        numbers.iter().for_each(|number| kind.encode(*number, &mut stored));
        let width = i32::try_from(kind.bytes).unwrap_or(0);
        return Ok(Arc::new(FixedSizeBinaryArray::try_new(width, Buffer::from(stored), nulls)?));
    }
    with_number!(plain, T => {
        let values: Vec<<T as arrow::datatypes::ArrowPrimitiveType>::Native> =
            numbers.iter().map(|number| Number::wrap_int(number.as_i128())).collect();
        Ok(Arc::new(PrimitiveArray::<T>::try_new(ScalarBuffer::from(values), nulls)?))
    }, else Err(FunctionError::illegal_type(plain, "of integers")))
}

/// The nearest float.
pub(crate) fn float(number: i256, kind: WideInteger) -> f64 {
    match number.to_i128() {
        Some(small) if kind.signed || small >= 0 => small as f64,
        // The text is exact, and reading it rounds once.
        _ => kind.shown(number).to_string().parse().unwrap_or(f64::NAN),
    }
}

/// The whole part of a finite float, modulo 2^256.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
pub(crate) fn of_float(value: f64) -> i256 {
    let whole = value.trunc();
    if whole.abs() < 1e38 {
        return i256::from_i128(whole as i128);
    }
    let top = 2_f64.powi(255);
    match i256::from_f64(whole) {
        Some(number) => number,
        // The upper half of UInt256: the difference is exact.
        None if whole < top * 2.0 && whole > 0.0 => {
            i256::from_f64(whole - top).unwrap_or(i256::ZERO).wrapping_add(i256::MIN)
        }
        None => i256::ZERO,
    }
}
