//! `+` and `-` where a date, a time or an interval takes part.
//!
//! Invariant: numbers count days on dates and seconds on times; the difference of two times is in seconds.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{Date32Type, Int32Type, Int64Type};
use model::ColumnType;

use crate::arithmetic::interval::{Unit, add, added_type, amounts, interval_array, is_temporal};
use crate::arithmetic::operator::Operator;
use crate::columns::container::{tuple_of, unnamed};
use crate::error::FunctionError;
use crate::kernel::call::Call;
use crate::kernel::registry::with_nulls;
use crate::kernel::rows::Numbers;
use crate::kernel::types::{is_date, is_time};
use crate::time::temporal::{digits_of, power_of_ten, precision_of, ticks};

/// What the operands are.
enum Shape {
    /// A time at that argument and a number at the other.
    Number {
        time: usize,
    },
    /// A time at that argument and an interval at the other.
    Interval {
        time: usize,
        unit: Unit,
    },
    /// Two intervals, of one unit or of two.
    Intervals {
        first: Unit,
        second: Unit,
    },
    Days,
    Seconds,
    /// Times with fractions.
    Ticks {
        precision: u8,
    },
}

fn shape(operator: Operator, a: &ColumnType, b: &ColumnType) -> Option<Shape> {
    let plus = operator == Operator::Plus;
    if !plus && operator != Operator::Minus {
        return None;
    }
    let is_count = |t: &ColumnType| t.is_number() && !matches!(t, ColumnType::Decimal { .. });
    match (is_temporal(a), is_temporal(b)) {
        (true, false) if is_count(b) => Some(Shape::Number { time: 0 }),
        (false, true) if plus && is_count(a) => Some(Shape::Number { time: 1 }),
        (true, false) => Unit::of_interval(b).map(|unit| Shape::Interval { time: 0, unit }),
        (false, true) if plus => Unit::of_interval(a).map(|unit| Shape::Interval { time: 1, unit }),
        (true, true) if plus => None,
        (true, true) if is_date(a) && is_date(b) => Some(Shape::Days),
        (true, true) if is_time(a) && is_time(b) => {
            let precision = u8::try_from(precision_of(a).max(precision_of(b))).unwrap_or(9);
            let fractions = [a, b].iter().any(|t| matches!(t, ColumnType::DateTime64 { .. }));
            Some(if fractions { Shape::Ticks { precision } } else { Shape::Seconds })
        }
        (false, false) => intervals(a, b),
        _ => None,
    }
}

fn intervals(a: &ColumnType, b: &ColumnType) -> Option<Shape> {
    let whole = |interval: &ColumnType| {
        Unit::of_interval(interval).filter(|unit| *interval == unit.interval_type(false))
    };
    Some(Shape::Intervals { first: whole(a)?, second: whole(b)? })
}

/// The type of the result; `None` when it is not about times.
pub(crate) fn result_type(operator: Operator, a: &ColumnType, b: &ColumnType) -> Option<ColumnType> {
    let pick = |time: usize| if time == 0 { (a, b) } else { (b, a) };
    match shape(operator, a, b)? {
        Shape::Number { time } => Some(pick(time).0.clone()),
        Shape::Interval { time, unit } => {
            let (time, interval) = pick(time);
            let added = added_type(time, unit)?;
            let nullable = *interval == unit.interval_type(true);
            Some(if nullable { added.nullable() } else { added })
        }
        Shape::Intervals { first, second } if first == second => Some(a.clone()),
        Shape::Intervals { .. } => Some(unnamed([a.clone(), b.clone()])),
        Shape::Days | Shape::Seconds => Some(ColumnType::Int32),
        Shape::Ticks { precision } => Some(ColumnType::Decimal { precision: 18, scale: precision }),
    }
}

pub(crate) fn evaluate(operator: Operator, call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (a, b) = (&call.arg(0)?.column_type, &call.arg(1)?.column_type);
    let sign = if operator == Operator::Minus { -1 } else { 1 };
    match shape(operator, a, b) {
        Some(Shape::Number { time }) => {
            let unit = if is_date(&call.arg(time)?.column_type) { Unit::Day } else { Unit::Second };
            add(call, time, &call.ints(1 - time)?, sign, unit)
        }
        Some(Shape::Interval { time, unit }) => {
            let amount = amounts(call, 1 - time)?;
            let moved = add(call, time, &amount, sign, unit)?;
            match amount.array.nulls() {
                Some(nulls) if !amount.is_constant => with_nulls(&moved, nulls),
                Some(nulls) if nulls.null_count() > 0 => {
                    Ok(arrow::array::new_null_array(moved.data_type(), call.rows))
                }
                _ => Ok(moved),
            }
        }
        Some(Shape::Intervals { first, second }) => of_intervals(call, first == second, sign),
        Some(Shape::Days) => {
            let days = |index: usize| -> Result<_, FunctionError> {
                let arg = call.arg(index)?;
                Ok(Numbers {
                    array: arg.array.as_primitive::<Date32Type>().clone(),
                    is_constant: arg.is_constant,
                })
            };
            let (a, b) = (days(0)?, days(1)?);
            call.each::<Int32Type>(|row| Ok(a.get(row).wrapping_sub(b.get(row))))
        }
        Some(Shape::Seconds) => {
            let (a, b) = (aligned(call, 0, 0)?, aligned(call, 1, 0)?);
            call.each::<Int32Type>(|row| {
                Ok(crate::columns::number::wrap(a.get(row).wrapping_sub(b.get(row))))
            })
        }
        Some(Shape::Ticks { precision }) => {
            let (a, b) = (aligned(call, 0, u32::from(precision))?, aligned(call, 1, u32::from(precision))?);
            let made = call.each::<arrow::datatypes::Decimal128Type>(|row| {
                Ok(i128::from(a.get(row)) - i128::from(b.get(row)))
            })?;
            Ok(crate::cast::typed(
                made.as_primitive::<arrow::datatypes::Decimal128Type>().clone(),
                call.result_type.value_type(),
            ))
        }
        None => Err(FunctionError::illegal_type(a, "plus")),
    }
}

/// The sum of intervals of one unit, and those of two units beside each other.
fn of_intervals(call: &Call<'_>, alike: bool, sign: i64) -> Result<ArrayRef, FunctionError> {
    let (a, b) = (amounts(call, 0)?, amounts(call, 1)?);
    let column = |amount: &dyn Fn(usize) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..call.rows).map(amount)))
    };
    let second = |row: usize| b.get(row).wrapping_mul(sign);
    match call.result_type.value_type() {
        ColumnType::Tuple(parts) if !alike => {
            let columns = parts.iter().zip([column(&|row| a.get(row)), column(&second)]);
            let columns = columns.map(|(part, amounts)| interval_array(amounts, &part.column_type));
            Ok(tuple_of(parts, columns.collect::<Result<_, _>>()?, None, call.rows)?)
        }
        interval => interval_array(column(&|row| a.get(row).wrapping_add(second(row))), interval),
    }
}

/// The ticks of a time argument at a precision.
pub(crate) fn aligned(
    call: &Call<'_>,
    index: usize,
    precision: u32,
) -> Result<Numbers<Int64Type>, FunctionError> {
    let arg = call.arg(index)?;
    let digits = digits_of(&arg.column_type);
    let (up, down) =
        (power_of_ten(precision.saturating_sub(digits)), power_of_ten(digits.saturating_sub(precision)));
    let array: Int64Array = ticks(&arg.array).unary(|tick| tick.wrapping_mul(up) / down);
    Ok(Numbers { array, is_constant: arg.is_constant })
}
