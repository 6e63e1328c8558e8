//! Machine numbers, and text as numbers, UUIDs and fixed strings.
//!
//! Invariant: number to number wraps in Strict and Insert and is exact in OrNull and OrDefault, as CAST and
//! accurateCast are.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeBinaryArray};
use arrow::buffer::Buffer;
use model::ColumnType;

use super::caster::{Caster, Column};
use super::problem::{CastError, Problem};
use super::read;
use crate::columns::number::{Number, NumberType, exact, with_number, wrap};

impl Caster {
    /// Text, number or Decimal -> machine number.
    pub(super) fn to_number(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        with_number!(column.to, T => self.to_number_of::<T>(column), else Err(column.unsupported()))
    }

    fn to_number_of<T: NumberType>(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        match column.from {
            ColumnType::String | ColumnType::FixedString(_) => {
                let text = column.array.as_string_view();
                let wrapping = self.raises();
                let read = self.try_map::<_, T>(column, text, |text| {
                    if T::Native::FLOAT {
                        read::float(text).map(T::Native::wrap_float)
                    } else {
                        read::integer(text, wrapping)
                    }
                })?;
                Ok(Arc::new(read))
            }
            ColumnType::Decimal { .. } => self.decimal_to_number::<T>(column),
            from => {
                with_number!(from, S => self.number_to_number::<S, T>(column), else Err(column.unsupported()))
            }
        }
    }

    fn number_to_number<S: NumberType, T: NumberType>(
        &self,
        column: &Column<'_>,
    ) -> Result<ArrayRef, CastError> {
        let array = column.array.as_primitive::<S>();
        if !self.raises() {
            let convert = |value: S::Native| {
                let made = exact::<S::Native, T::Native>(value).ok_or(Problem::OutOfRange)?;
                // A float that is another one in fewer bits is not that number.
                let same = !S::Native::FLOAT || !T::Native::FLOAT || made.float() == value.float();
                if same || !value.is_finite() { Ok(made) } else { Err(Problem::OutOfRange) }
            };
            return Ok(Arc::new(self.try_map::<_, T>(column, array, convert)?));
        }
        if S::Native::FLOAT && !T::Native::FLOAT {
            let convert =
                |value: S::Native| if value.is_finite() { Ok(wrap(value)) } else { Err(Problem::NotFinite) };
            return Ok(Arc::new(self.try_map::<_, T>(column, array, convert)?));
        }
        Ok(Arc::new(array.unary::<_, T>(wrap)))
    }

    /// Text -> UUID.
    pub(super) fn to_uuid(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        let text = column.array.as_string_view();
        let mut bytes = Vec::with_capacity(text.len() * 16);
        let mut failed = Vec::new();
        for row in 0..text.len() {
            let parsed = if text.is_null(row) { Ok([0; 16]) } else { read::uuid(text.value(row)) };
            bytes.extend(match parsed {
                Ok(parsed) => parsed,
                Err(problem) => {
                    self.check(problem, row, column)?;
                    failed.push(row);
                    [0; 16]
                }
            });
        }
        let nulls = self.nulls_with(text, &failed);
        Ok(Arc::new(FixedSizeBinaryArray::new(16, Buffer::from(bytes), nulls)))
    }

    /// Text that is short enough; padding is not held in memory.
    pub(super) fn to_fixed_string(&self, column: &Column<'_>, bytes_max: u32) -> Result<ArrayRef, CastError> {
        let text = column.array.as_string_view();
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        let trimmed = |row: usize| text.value(row).trim_end_matches('\0');
        let mut failed = Vec::new();
        for row in (0..text.len()).filter(|row| text.is_valid(*row)) {
            if model::raw_text::bytes(trimmed(row)).len() > bytes_max {
                self.check(Problem::TooLong, row, column)?;
                failed.push(row);
            }
        }
        let padded = (0..text.len()).any(|row| text.is_valid(row) && text.value(row).ends_with('\0'));
        if failed.is_empty() && !padded {
            return Ok(Arc::clone(column.array));
        }
        let nulls = self.nulls_with(text, &failed);
        let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let kept = (0..text.len()).map(|row| match row {
            row if is_null(row) => None,
            row if trimmed(row).len() > bytes_max => Some(""),
            row => Some(trimmed(row)),
        });
        Ok(Arc::new(arrow::array::StringViewArray::from_iter(kept)))
    }
}
