//! Intervals of one unit as those of another, and numbers as intervals.
//!
//! Invariant: units meet where one lasts a whole number of the other always; the finer one holds both.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StructArray};
use arrow::datatypes::{DataType, Int64Type};
use model::ColumnType;
use model::type_arrow::to_data_type;

use super::caster::{Caster, Column};
use super::problem::CastError;

/// How long a unit is: in months, or in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Length {
    Months(i64),
    Nanos(i64),
}

/// The length of the unit of an interval type.
pub(crate) fn length_of(column_type: &ColumnType) -> Option<Length> {
    const SECOND: i64 = 1_000_000_000;
    const DAY: i64 = 86_400 * SECOND;
    let ColumnType::Tuple(elements) = column_type else { return None };
    let [element] = elements.as_slice() else { return None };
    Some(match element.name.as_deref()?.strip_prefix("Interval")? {
        "Nanosecond" => Length::Nanos(1),
        "Microsecond" => Length::Nanos(1_000),
        "Millisecond" => Length::Nanos(1_000_000),
        "Second" => Length::Nanos(SECOND),
        "Minute" => Length::Nanos(60 * SECOND),
        "Hour" => Length::Nanos(3600 * SECOND),
        "Day" => Length::Nanos(DAY),
        "Week" => Length::Nanos(7 * DAY),
        "Month" => Length::Months(1),
        "Quarter" => Length::Months(3),
        "Year" => Length::Months(12),
        _ => return None,
    })
}

/// The finer of two interval types; `None` where neither holds the other.
pub(crate) fn finer<'a>(a: &'a ColumnType, b: &'a ColumnType) -> Option<&'a ColumnType> {
    let first = match (length_of(a)?, length_of(b)?) {
        (Length::Months(x), Length::Months(y)) | (Length::Nanos(x), Length::Nanos(y)) => x <= y,
        _ => return None,
    };
    Some(if first { a } else { b })
}

impl Caster {
    /// Numbers as so many units.
    pub(super) fn to_interval(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        let amounts = self.step(column.array, column.from, &ColumnType::Int64)?;
        let DataType::Struct(fields) = to_data_type(column.to) else { return Err(column.unsupported()) };
        let nulls = amounts.nulls().cloned();
        let made = StructArray::try_new(fields, vec![amounts], nulls);
        made.map(|made| Arc::new(made) as ArrayRef).map_err(|_| column.unsupported())
    }

    /// Intervals as those of a finer unit.
    pub(super) fn interval_as(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        let times = match (length_of(column.from), length_of(column.to)) {
            (Some(Length::Months(x)), Some(Length::Months(y)))
            | (Some(Length::Nanos(x)), Some(Length::Nanos(y)))
                if x % y == 0 =>
            {
                x / y
            }
            _ => return Err(column.unsupported()),
        };
        let parts = column.array.as_struct();
        let amounts: &Int64Array = parts.column(0).as_primitive::<Int64Type>();
        let moved: ArrayRef = Arc::new(amounts.unary::<_, Int64Type>(|amount| amount.wrapping_mul(times)));
        let DataType::Struct(fields) = to_data_type(column.to) else {
            return Err(column.unsupported());
        };
        let made = StructArray::try_new(fields, vec![moved], parts.nulls().cloned());
        made.map(|made| Arc::new(made) as ArrayRef).map_err(|_| column.unsupported())
    }
}
