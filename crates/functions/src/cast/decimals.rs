//! Decimals from and to other numbers and other scales.
//!
//! Invariant: digits after the scale are cut, never rounded; a value that needs more bytes than the precision's
//! storage (4, 8, 16 or 32 bytes) is an error, as in ClickHouse.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowNativeTypeOp, ArrowPrimitiveType, Decimal128Type, Decimal256Type, DecimalType, i256,
};
use model::ColumnType;

use super::caster::{Caster, Column};
use super::problem::{CastError, Problem};
use super::read::rescale;
use crate::columns::number::{Number, NumberType, with_number};

/// Native integers of decimals.
pub(crate) trait Unscaled: ArrowNativeTypeOp + From<i8> {
    fn from_i128(value: i128) -> Self;
    fn to_i128(self) -> Option<i128>;
    fn to_f64(self) -> f64;
    fn from_f64(value: f64) -> Option<Self>;
}

impl Unscaled for i128 {
    fn from_i128(value: i128) -> Self {
        value
    }
    fn to_i128(self) -> Option<i128> {
        Some(self)
    }
    #[expect(clippy::cast_precision_loss, reason = "a float is asked for")]
    fn to_f64(self) -> f64 {
        self as f64
    }
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    fn from_f64(value: f64) -> Option<Self> {
        (value.abs() < 1.7e38).then_some(value as i128)
    }
}

impl Unscaled for i256 {
    fn from_i128(value: i128) -> Self {
        i256::from_i128(value)
    }
    fn to_i128(self) -> Option<i128> {
        i256::to_i128(self)
    }
    fn to_f64(self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }
    fn from_f64(value: f64) -> Option<Self> {
        i256::from_string(&format!("{:.0}", value.trunc()))
    }
}

/// Largest magnitude plus one that the storage of a precision holds, for at most 38 digits.
fn storage_max(precision: u8) -> Option<i128> {
    match precision {
        0..=9 => Some(i128::from(i32::MAX)),
        10..=18 => Some(i128::from(i64::MAX)),
        _ => None,
    }
}

pub(crate) fn fits<N: Unscaled>(value: N, precision: u8) -> bool {
    match (storage_max(precision), value.to_i128()) {
        (None, _) => true,
        (Some(max), Some(value)) => (-max - 1..=max).contains(&value),
        (Some(_), None) => false,
    }
}

fn parts(column_type: &ColumnType) -> (u8, u8) {
    match column_type {
        ColumnType::Decimal { precision, scale } => (*precision, *scale),
        _ => (38, 0),
    }
}

/// Sets precision and scale of the type on a plain array.
pub(crate) fn typed<T: DecimalType>(array: PrimitiveArray<T>, to: &ColumnType) -> ArrayRef {
    let data_type = model::type_arrow::to_data_type(to);
    Arc::new(array.with_data_type(data_type))
}

/// Whether a decimal type is kept in 256 bits.
pub(crate) fn is_wide(column_type: &ColumnType) -> bool {
    parts(column_type).0 > 38
}

impl Caster {
    /// Text, number, Bool or Decimal -> Decimal.
    pub(super) fn to_decimal(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        if is_wide(column.to) {
            self.to_decimal_of::<Decimal256Type>(column)
        } else {
            self.to_decimal_of::<Decimal128Type>(column)
        }
    }

    fn to_decimal_of<T>(&self, column: &Column<'_>) -> Result<ArrayRef, CastError>
    where
        T: DecimalType + ArrowPrimitiveType<Native: Unscaled>,
    {
        let Column { array, from, to } = *column;
        let (precision, scale) = parts(to);
        let checked =
            |value: Option<T::Native>| value.filter(|v| fits(*v, precision)).ok_or(Problem::DecimalOverflow);
        let made: PrimitiveArray<T> = match from {
            ColumnType::String | ColumnType::FixedString(_) => {
                let read = |text: &str| super::read::decimal::<T>(text, precision, scale);
                self.try_map(column, array.as_string_view(), read)?
            }
            ColumnType::Decimal { scale: from_scale, .. } => {
                let rescaled = |value| rescale(value, i32::from(*from_scale), i32::from(scale));
                if is_wide(from) {
                    let narrow = |value: i256| checked(rescaled_wide::<T>(value, *from_scale, scale));
                    self.try_map(column, array.as_primitive::<Decimal256Type>(), narrow)?
                } else {
                    let widen = |value: i128| checked(rescaled(T::Native::from_i128(value)));
                    self.try_map(column, array.as_primitive::<Decimal128Type>(), widen)?
                }
            }
            number => with_number!(number, S => {
                let convert = |value| checked(number_to_unscaled::<S, T>(value, scale));
                self.try_map(column, array.as_primitive::<S>(), convert)?
            }, else return Err(column.unsupported())),
        };
        Ok(typed(made, to))
    }

    /// Decimal -> machine number; what does not fit is an error, as in ClickHouse.
    pub(super) fn decimal_to_number<S: NumberType>(
        &self,
        column: &Column<'_>,
    ) -> Result<ArrayRef, CastError> {
        let (_, scale) = parts(column.from);
        if is_wide(column.from) {
            let convert = |value: i256| unscaled_to_number::<i256, S::Native>(value, scale);
            let array = column.array.as_primitive::<Decimal256Type>();
            Ok(Arc::new(self.try_map::<_, S>(column, array, convert)?))
        } else {
            let convert = |value: i128| unscaled_to_number::<i128, S::Native>(value, scale);
            let array = column.array.as_primitive::<Decimal128Type>();
            Ok(Arc::new(self.try_map::<_, S>(column, array, convert)?))
        }
    }
}

fn rescaled_wide<T: DecimalType<Native: Unscaled>>(value: i256, from: u8, to: u8) -> Option<T::Native> {
    let rescaled = rescale(value, i32::from(from), i32::from(to))?;
    if T::MAX_PRECISION > 38 {
        // The same type: through text, as there is no conversion between equal generic types.
        let low = rescaled.to_i128().map(T::Native::from_i128);
        return low.or_else(|| super::read::decimal::<T>(&rescaled.to_string(), 76, 0).ok());
    }
    rescaled.to_i128().map(T::Native::from_i128)
}

fn number_to_unscaled<S: NumberType, T: DecimalType<Native: Unscaled>>(
    value: S::Native,
    scale: u8,
) -> Option<T::Native> {
    if S::Native::FLOAT {
        let scaled = value.float() * 10_f64.powi(i32::from(scale));
        return if scaled.is_finite() { T::Native::from_f64(scaled) } else { None };
    }
    rescale(T::Native::from_i128(value.int()), 0, i32::from(scale))
}

fn unscaled_to_number<N: Unscaled, S: Number>(value: N, scale: u8) -> Result<S, Problem> {
    if S::FLOAT {
        return Ok(S::wrap_float(value.to_f64() / 10_f64.powi(i32::from(scale))));
    }
    let whole = rescale(value, i32::from(scale), 0).and_then(Unscaled::to_i128);
    whole.and_then(S::exact_int).ok_or(Problem::DecimalOverflow)
}
