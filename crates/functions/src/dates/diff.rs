//! Differences of times: `dateDiff` and `age`.
//!
//! Invariant: `dateDiff` counts the boundaries of the unit between two times, `age` the whole units.

use model::{ColumnType, ErrorCode};

use super::local::{Locals, check};
use crate::arithmetic::interval::Unit;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::constant_text;
use crate::time::calendar::{date_of, month_index};

/// The number of a unit's boundaries before a time.
fn boundary(locals: &Locals, row: usize, unit: Unit) -> i64 {
    match unit {
        Unit::Year => month_index(locals.day(row)).div_euclid(12),
        Unit::Quarter => month_index(locals.day(row)).div_euclid(3),
        Unit::Month => month_index(locals.day(row)),
        // Days are counted from a Monday, and cut towards it on both sides, as in ClickHouse.
        Unit::Week => (i64::from(locals.day(row)) + 3) / 7,
        Unit::Day => i64::from(locals.day(row)),
        Unit::Hour => locals.stable_hour_number(row),
        Unit::Minute => locals.epoch(row).div_euclid(60),
        Unit::Second => locals.epoch(row),
        below => locals.ticks_at(row, below.digits()),
    }
}

/// Whole units from `a` to `b`, where `a` is not after `b`.
fn whole_units(a: (&Locals, usize), b: (&Locals, usize), unit: Unit) -> i64 {
    // Days are those of the wall clock, shorter units pass on the time line.
    let is_wall = unit.days().is_some() || unit.months().is_some();
    let seconds = |(locals, row): (&Locals, usize)| {
        let whole = if is_wall { locals.seconds(row) } else { locals.epoch(row) };
        (whole, locals.fraction(row) * (1_000_000_000 / locals.per_second))
    };
    let (start, end) = (seconds(a), seconds(b));
    if let Some(months) = unit.months() {
        let (from, to) = (a.0.day(a.1), b.0.day(b.1));
        let crossed = month_index(to) - month_index(from);
        // The 31st is not reached in a shorter month.
        let reached = (date_of(from).day, a.0.time(a.1), start.1) <= (date_of(to).day, b.0.time(b.1), end.1);
        let whole = if reached { crossed } else { crossed - 1 };
        return whole / months;
    }
    let span = unit.seconds().or_else(|| unit.days().map(|days| days * 86_400));
    let nanos =
        (i128::from(end.0) - i128::from(start.0)) * 1_000_000_000 + i128::from(end.1) - i128::from(start.1);
    let divisor =
        span.map_or_else(|| 10_i128.pow(9 - unit.digits()), |span| i128::from(span) * 1_000_000_000);
    i64::try_from(nanos / divisor).unwrap_or(i64::MAX)
}

fn rule(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        let unit = constant_text(args, 0).ok_or_else(|| {
            FunctionError::new(ErrorCode::ILLEGAL_COLUMN, format!("{name} needs a constant unit"))
        })?;
        Unit::parse(&unit).ok_or_else(|| {
            FunctionError::bad_argument(format!("function {name} does not support '{unit}' unit"))
        })?;
        check(args, 1, name)?;
        check(args, 2, name)?;
        Ok(ColumnType::Int64)
    }
}

fn difference(name: &'static str, whole: bool) -> ScalarFunction {
    ScalarFunction::new(name, 3..=4, rule(name), move |call: &Call<'_>| {
        let unit = Unit::parse(call.texts(0)?.get(0))
            .ok_or_else(|| FunctionError::bad_argument("not a unit of time"))?;
        let (a, b) = (Locals::new(call, 1, 3)?, Locals::new(call, 2, 3)?);
        call.each::<arrow::datatypes::Int64Type>(|row| {
            if !whole {
                return Ok(boundary(&b, row, unit).wrapping_sub(boundary(&a, row, unit)));
            }
            let moment = |l: &Locals| (l.epoch(row), l.fraction(row) * (1_000_000_000 / l.per_second));
            Ok(if moment(&a) <= moment(&b) {
                whole_units((&a, row), (&b, row), unit)
            } else {
                -whole_units((&b, row), (&a, row), unit)
            })
        })
    })
    .any_case()
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        difference("dateDiff", false).aliases(&["date_diff", "timestampDiff", "timestamp_diff"]).doc(
            "dateDiff(unit, a, b[, zone])",
            "The boundaries of a unit that lie between two times.",
            "dateDiff('day', toDate('2020-01-01'), toDate('2020-01-03')) -> 2",
        ),
        difference("age", true).doc(
            "age(unit, a, b[, zone])",
            "The whole units between two times.",
            "age('month', toDate('2020-01-15'), toDate('2020-02-14')) -> 0",
        ),
    ]
}
