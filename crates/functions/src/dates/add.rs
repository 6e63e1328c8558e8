//! Moving times: `addDays`, `subtractHours`, `dateAdd`, and intervals.
//!
//! Invariant: the arithmetic is `interval`'s; days and longer keep the wall clock's time.

use arrow::array::ArrayRef;
use model::{ColumnType, ErrorCode};

use crate::arithmetic::interval::{Unit, add, added_type, interval_array};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::constant_text;

fn moved_type(args: &[ArgType], time: usize, unit: Unit, name: &str) -> Result<ColumnType, FunctionError> {
    let source = args
        .get(time)
        .map(|arg| &arg.column_type)
        .ok_or_else(|| FunctionError::bad_argument("a time is needed"))?;
    let added = added_type(source, unit).ok_or_else(|| FunctionError::illegal_type(source, name))?;
    let amount = &args[if time == 0 { 1 } else { time - 1 }].column_type;
    if amount.is_number() { Ok(added) } else { Err(FunctionError::illegal_type(amount, name)) }
}

fn add_unit(name: &'static str, unit: Unit, sign: i64) -> ScalarFunction {
    let rule = move |args: &[ArgType]| moved_type(args, 0, unit, name);
    let kernel = move |call: &Call<'_>| add(call, 0, &call.ints(1)?, sign, unit);
    let function = ScalarFunction::new(name, 2..=2, rule, kernel);
    // Days and longer move the wall clock, which may go back where a zone changes its offset.
    if unit < Unit::Day { function.increasing_by(0) } else { function }
}

fn unit_of(args: &[ArgType]) -> Result<Unit, FunctionError> {
    let name = constant_text(args, 0)
        .ok_or_else(|| FunctionError::bad_argument("a constant unit of time is needed"))?;
    Unit::parse(&name).ok_or_else(|| FunctionError::bad_argument(format!("'{name}' is not a unit of time")))
}

/// `dateAdd(unit, n, t)`, or `dateAdd(t, interval)`.
fn date_add(name: &'static str, sign: i64) -> ScalarFunction {
    let rule = move |args: &[ArgType]| match args {
        [time, interval] => {
            let unit = Unit::of_interval(&interval.column_type)
                .ok_or_else(|| FunctionError::illegal_type(&interval.column_type, name))?;
            added_type(&time.column_type, unit)
                .ok_or_else(|| FunctionError::illegal_type(&time.column_type, name))
        }
        _ => moved_type(args, 2, unit_of(args)?, name),
    };
    ScalarFunction::new(name, 2..=3, rule, move |call: &Call<'_>| {
        if let [_, interval] = call.args {
            let unit = Unit::of_interval(&interval.column_type)
                .ok_or_else(|| FunctionError::illegal_type(&interval.column_type, name))?;
            return add(call, 0, &crate::arithmetic::interval::amounts(call, 1)?, sign, unit);
        }
        let unit = Unit::parse(call.texts(0)?.get(0))
            .ok_or_else(|| FunctionError::bad_argument("not a unit of time"))?;
        add(call, 2, &call.ints(1)?, sign, unit)
    })
    .any_case()
}

/// Nanoseconds of a unit; a month counts as four weeks.
fn length(unit: Unit) -> i128 {
    const NANOS_PER_SECOND: i128 = 1_000_000_000;
    const DAY: i128 = 86_400 * NANOS_PER_SECOND;
    match (unit.months(), unit.days(), unit.seconds()) {
        (Some(months), ..) => i128::from(months) * 28 * DAY,
        (_, Some(days), _) => i128::from(days) * DAY,
        (.., Some(seconds)) => i128::from(seconds) * NANOS_PER_SECOND,
        _ => 10_i128.pow(9 - unit.digits()),
    }
}

fn to_interval(name: &'static str, unit: Unit) -> ScalarFunction {
    let rule = move |args: &[ArgType]| match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::Nothing) => Ok(ColumnType::Nothing),
        Some(number) if number.is_number() || number.is_string() => {
            Ok(unit.interval_type(number.is_nullable()))
        }
        Some(other)
            if other.enum_values().is_some()
                || matches!(
                    other.value_type(),
                    ColumnType::Bool | ColumnType::Date | ColumnType::Date32 | ColumnType::DateTime { .. }
                ) =>
        {
            Ok(unit.interval_type(other.is_nullable()))
        }
        Some(interval) if Unit::of_interval(interval).is_some() => Ok(unit.interval_type(false)),
        Some(time) if matches!(time.value_type(), ColumnType::DateTime64 { .. }) => {
            let message = format!("function {name} does not take {time}: times with fractions are no counts");
            Err(FunctionError::new(ErrorCode::CANNOT_CONVERT_TYPE, message))
        }
        Some(other) => Err(FunctionError::illegal_type(other, name)),
        None => Err(FunctionError::bad_argument("a number is needed")),
    };
    ScalarFunction::new(name, 1..=1, rule, move |call: &Call<'_>| -> Result<ArrayRef, FunctionError> {
        let arg = call.arg(0)?;
        if let Some(from) = Unit::of_interval(&arg.column_type) {
            let amounts = crate::arithmetic::interval::amounts(call, 0)?;
            let (has, wants) = (length(from), length(unit));
            let moved =
                |row: usize| i64::try_from(i128::from(amounts.get(row)) * has / wants).unwrap_or(i64::MAX);
            let numbers = arrow::array::Int64Array::from_iter_values((0..call.rows).map(moved));
            return interval_array(std::sync::Arc::new(numbers), call.result_type);
        }
        let to = if arg.column_type.is_nullable() { ColumnType::Int64.nullable() } else { ColumnType::Int64 };
        let caster = call.caster(crate::cast::CastMode::Strict);
        let numbers = caster.column(&arg.array, &arg.column_type, &to)?;
        let numbers = crate::kernel::rows::expanded(
            &crate::kernel::call::Arg { array: numbers, ..arg.clone() },
            call.rows,
        )?;
        interval_array(numbers, call.result_type)
    })
    .own_nulls()
}

/// `addX`, `subtractX` and `toIntervalX` of one unit.
macro_rules! unit_functions {
    ($word:literal, $plural:literal, $unit:expr) => {
        [
            add_unit(concat!("add", $plural), $unit, 1).doc(
                concat!("add", $plural, "(t, n)"),
                concat!("The time n ", $plural, " later."),
                concat!("add", $plural, "(toDateTime('2020-01-01 00:00:00'), 1)"),
            ),
            add_unit(concat!("subtract", $plural), $unit, -1).doc(
                concat!("subtract", $plural, "(t, n)"),
                concat!("The time n ", $plural, " before."),
                concat!("subtract", $plural, "(toDateTime('2020-01-01 00:00:00'), 1)"),
            ),
            to_interval(concat!("toInterval", $word), $unit).doc(
                concat!("toInterval", $word, "(n)"),
                concat!("An interval of n ", $plural, "."),
                concat!("plus(toDateTime('2020-01-01 00:00:00'), toInterval", $word, "(1))"),
            ),
        ]
    };
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let units = [
        unit_functions!("Nanosecond", "Nanoseconds", Unit::Nanosecond),
        unit_functions!("Microsecond", "Microseconds", Unit::Microsecond),
        unit_functions!("Millisecond", "Milliseconds", Unit::Millisecond),
        unit_functions!("Second", "Seconds", Unit::Second),
        unit_functions!("Minute", "Minutes", Unit::Minute),
        unit_functions!("Hour", "Hours", Unit::Hour),
        unit_functions!("Day", "Days", Unit::Day),
        unit_functions!("Week", "Weeks", Unit::Week),
        unit_functions!("Month", "Months", Unit::Month),
        unit_functions!("Quarter", "Quarters", Unit::Quarter),
        unit_functions!("Year", "Years", Unit::Year),
    ];
    let mut out: Vec<ScalarFunction> = units.into_iter().flatten().collect();
    out.push(date_add("dateAdd", 1).aliases(&["date_add", "timestampAdd", "timestamp_add"]).doc(
        "dateAdd(unit, n, t)",
        "The time n units later.",
        "dateAdd('day', 1, toDate('2020-01-01')) -> 2020-01-02",
    ));
    out.push(date_add("dateSub", -1).aliases(&["date_sub", "timestampSub", "timestamp_sub"]).doc(
        "dateSub(unit, n, t)",
        "The time n units before.",
        "dateSub('day', 1, toDate('2020-01-02')) -> 2020-01-01",
    ));
    out
}
