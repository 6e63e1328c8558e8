//! Intervals of time compared with each other, and with numbers.
//!
//! Invariant: units that last equally long always are compared as lengths: those up to weeks in nanoseconds, those from months on
//! in months. A number is compared with how many units there are.

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use model::{ColumnType, ErrorCode};

use crate::arithmetic::interval::Unit;
use crate::error::FunctionError;
use crate::kernel::call::{Arg, Call};

const NANOS_PER_SECOND: i128 = 1_000_000_000;
const SECONDS_PER_DAY: i128 = 86_400;

/// What is asked of two types of which one is an interval.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Meeting {
    /// Of lengths in one unit.
    Lengths,
    /// Of a number and the number of units.
    Numbers,
}

/// How two types meet of which at least one is an interval; `None` where none is, or both have one unit.
pub(super) fn meeting(a: &ColumnType, b: &ColumnType) -> Result<Option<Meeting>, FunctionError> {
    match (Unit::of_interval(a), Unit::of_interval(b)) {
        (None, None) => Ok(None),
        (Some(x), Some(y)) if x == y => Ok(None),
        (Some(x), Some(y)) if x.months().is_some() != y.months().is_some() => {
            let message =
                format!("cannot compare intervals {a} and {b}: the days of a month are not always as many");
            Err(FunctionError::new(ErrorCode::NO_COMMON_TYPE, message))
        }
        (Some(_), Some(_)) => Ok(Some(Meeting::Lengths)),
        (None, Some(_)) if a.is_number() => Ok(Some(Meeting::Numbers)),
        (Some(_), None) if b.is_number() => Ok(Some(Meeting::Numbers)),
        _ => Ok(None),
    }
}

/// The length of one unit in nanoseconds, or in months.
fn length(unit: Unit) -> i128 {
    if let Some(months) = unit.months() {
        return i128::from(months);
    }
    match (unit.days(), unit.seconds()) {
        (Some(days), _) => i128::from(days) * SECONDS_PER_DAY * NANOS_PER_SECOND,
        (_, Some(seconds)) => i128::from(seconds) * NANOS_PER_SECOND,
        _ => 10_i128.pow(9 - unit.digits()),
    }
}

/// The lengths of an interval argument.
pub(super) fn lengths(call: &Call<'_>, index: usize) -> Result<Vec<i128>, FunctionError> {
    let arg = call.arg(index)?;
    let unit = Unit::of_interval(&arg.column_type)
        .ok_or_else(|| FunctionError::illegal_type(&arg.column_type, "of intervals"))?;
    let amounts = arg.array.as_struct().column(0).as_primitive::<Int64Type>();
    Ok(amounts.values().iter().map(|amount| i128::from(*amount) * length(unit)).collect())
}

/// An interval as the number of its units, everything else as it is.
pub(super) fn as_number(arg: &Arg) -> Arg {
    match Unit::of_interval(&arg.column_type) {
        Some(_) => Arg {
            array: std::sync::Arc::clone(arg.array.as_struct().column(0)),
            is_constant: arg.is_constant,
            column_type: ColumnType::Int64,
        },
        None => arg.clone(),
    }
}
