//! Integers of 128 and 256 bits from and to all else.
//!
//! Invariant: integers wrap in Strict and Insert and are exact in OrNull and OrDefault; text always wraps, as ClickHouse
//! lets the digits of these types.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, PrimitiveArray};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::{Decimal128Type, Decimal256Type, Float64Type, i256};
use model::{ColumnType, WideInteger};

use super::caster::{Caster, Column, broken};
use super::decimals::{Unscaled, fits, is_wide, typed};
use super::problem::{CastError, Problem};
use super::read::rescale;
use crate::columns::number::{Number, NumberType, with_number};
use crate::columns::wide::{column as column_of, float, kind_of, numbers, of_float};

impl Caster {
    /// Text, numbers -> wide integers.
    pub(super) fn to_wide(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        let Some(kind) = WideInteger::of(column.to) else { return Err(column.unsupported()) };
        match column.from {
            ColumnType::String | ColumnType::FixedString(_) => {
                let text = column.array.as_string_view();
                self.wide_rows(column, text, |row| super::read::wide(text.value(row), kind))
            }
            ColumnType::Float32 | ColumnType::Float64 => {
                let floats = self.step(column.array, column.from, &ColumnType::Float64)?;
                let floats = floats.as_primitive::<Float64Type>();
                self.wide_rows(column, floats, |row| self.wide_of_float(floats.value(row), kind))
            }
            ColumnType::Decimal { scale, .. } => {
                let scale = i32::from(*scale);
                let whole = |value: i256| rescale(value, scale, 0).filter(|whole| kind.fits(*whole, false));
                let whole = |value: i256| whole(value).ok_or(Problem::DecimalOverflow);
                match column.array.as_primitive_opt::<Decimal256Type>() {
                    Some(wide) => self.wide_rows(column, wide, |row| whole(wide.value(row))),
                    None => {
                        let narrow = column.array.as_primitive::<Decimal128Type>();
                        self.wide_rows(column, narrow, |row| whole(i256::from_i128(narrow.value(row))))
                    }
                }
            }
            from if from.is_integer() || from.is_wide_integer() => {
                let values =
                    numbers(column.array, from).map_err(|error| broken(&error.message, column.to))?;
                let source = kind_of(from);
                let exact = !self.raises();
                self.wide_rows(column, column.array, |row| {
                    let value = values[row];
                    let out_of_range = exact && !holds(kind, value, source);
                    if out_of_range { Err(Problem::OutOfRange) } else { Ok(value) }
                })
            }
            _ => Err(column.unsupported()),
        }
    }

    fn wide_of_float(&self, value: f64, kind: WideInteger) -> Result<i256, Problem> {
        if !value.is_finite() {
            return Err(Problem::NotFinite);
        }
        let number = of_float(value);
        let same = float(kind.wrap(number), kind) == value;
        if same || self.raises() { Ok(number) } else { Err(Problem::OutOfRange) }
    }

    /// Each row that is not NULL; what does not convert is an error or a NULL, as the mode says.
    fn wide_rows(
        &self,
        column: &Column<'_>,
        array: &dyn Array,
        convert: impl Fn(usize) -> Result<i256, Problem>,
    ) -> Result<ArrayRef, CastError> {
        let mut values = Vec::with_capacity(array.len());
        let mut failed = Vec::new();
        for row in 0..array.len() {
            let converted = if array.is_null(row) { Ok(i256::ZERO) } else { convert(row) };
            values.push(match converted {
                Ok(value) => value,
                Err(problem) => {
                    self.check(problem, row, column)?;
                    failed.push(row);
                    i256::ZERO
                }
            });
        }
        let nulls = self.nulls_with(array, &failed);
        column_of(&values, column.to, nulls).map_err(|error| broken(&error.message, column.to))
    }

    /// Wide integers -> machine numbers.
    pub(super) fn wide_to_number(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        with_number!(column.to, T => self.wide_to_number_of::<T>(column), else Err(column.unsupported()))
    }

    fn wide_to_number_of<T: NumberType>(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        let Some(kind) = WideInteger::of(column.from) else { return Err(column.unsupported()) };
        let wraps = self.raises();
        let stored = column.array.as_fixed_size_binary();
        let made = self.try_map::<_, T>(column, stored, |value| {
            let number = kind.decode(value);
            if T::Native::FLOAT {
                return Ok(T::Native::wrap_float(float(number, kind)));
            }
            if wraps {
                return Ok(T::Native::wrap_int(number.as_i128()));
            }
            let small = number.to_i128().filter(|small| kind.signed || *small >= 0);
            small.and_then(T::Native::exact_int).ok_or(Problem::OutOfRange)
        })?;
        Ok(Arc::new(made))
    }

    /// Wide integers -> decimals.
    pub(super) fn wide_to_decimal(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        let (Some(kind), ColumnType::Decimal { precision, scale }) =
            (WideInteger::of(column.from), column.to)
        else {
            return Err(column.unsupported());
        };
        let stored = column.array.as_fixed_size_binary();
        let unscaled = |value: &[u8]| {
            let number = kind.decode(value);
            let beyond = !kind.signed && number.is_negative();
            let scaled = if beyond { None } else { rescale(number, 0, i32::from(*scale)) };
            scaled.filter(|number| fits(*number, *precision)).ok_or(Problem::DecimalOverflow)
        };
        if is_wide(column.to) {
            let made: PrimitiveArray<Decimal256Type> = self.try_map(column, stored, unscaled)?;
            return Ok(typed(made, column.to));
        }
        let narrow = |value: &[u8]| Unscaled::to_i128(unscaled(value)?).ok_or(Problem::DecimalOverflow);
        let made: PrimitiveArray<Decimal128Type> = self.try_map(column, stored, narrow)?;
        Ok(typed(made, column.to))
    }

    /// Wide integers as Int64, at the ends of its range where they do not fit.
    pub(super) fn saturated_wide(&self, column: &Column<'_>) -> ArrayRef {
        let kind = kind_of(column.from);
        let stored = column.array.as_fixed_size_binary();
        let clamp = |number: i256| {
            let negative = kind.signed && number.is_negative();
            let small = number.to_i128().filter(|small| (*small < 0) == negative);
            let small = small.and_then(|small| i64::try_from(small).ok());
            small.unwrap_or(if negative { i64::MIN } else { i64::MAX })
        };
        let value = |row: usize| if stored.is_null(row) { 0 } else { clamp(kind.decode(stored.value(row))) };
        let values: Vec<i64> = (0..stored.len()).map(value).collect();
        Arc::new(Int64Array::new(ScalarBuffer::from(values), stored.nulls().cloned()))
    }
}

/// Whether a type has the number that another type has.
fn holds(kind: WideInteger, value: i256, source: WideInteger) -> bool {
    kind.order(kind.wrap(value), source, value).is_eq()
}
