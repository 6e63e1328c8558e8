//! Numbers put into bins, and a bar for a number.
//!
//! Invariant: the bins of age and duration are ClickHouse's.

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{UInt8Type, UInt16Type};
use model::{ColumnType, ErrorCode};

use crate::cast::CastMode;
use crate::columns::number::{Number, with_number};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::is_float;

const DURATIONS: [u16; 15] = [1, 10, 30, 60, 120, 180, 240, 300, 600, 1200, 1800, 3600, 7200, 18_000, 36_000];
/// Widest bar, in characters.
const BAR_WIDTH_MAX: f64 = 1000.0;

fn numbers(
    name: &'static str,
    result: ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| match args.iter().find(|arg| !arg.column_type.is_number()) {
        Some(arg) => Err(FunctionError::illegal_type(&arg.column_type, name)),
        None => Ok(result.clone()),
    }
}

fn age(age: f64) -> u8 {
    match age {
        age if age < 1.0 => 0,
        age if age < 18.0 => 17,
        age if age < 25.0 => 18,
        age if age < 35.0 => 25,
        age if age < 45.0 => 35,
        age if age < 55.0 => 45,
        _ => 55,
    }
}

fn duration(seconds: f64) -> u16 {
    DURATIONS.into_iter().rev().find(|bin| f64::from(*bin) <= seconds).unwrap_or(0)
}

/// The bits of a Float64 that are not its mantissa.
const SIGN_AND_EXPONENT: u64 = 0xFFF0_0000_0000_0000;

/// The power of two at or below a number; 0 for numbers that are not positive.
fn power_of_two(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(0)?;
    let result = call.result_type.value_type();
    let source = call.converted(0, result)?;
    with_number!(result, T => {
        let values = source.as_primitive::<T>();
        call.each::<T>(|row| {
            let value = values.value(arg.row(row));
            Ok(if is_float(result) {
                // The sign and the exponent as they are, without the mantissa: NaN becomes infinite.
                Number::wrap_float(f64::from_bits(value.float().to_bits() & SIGN_AND_EXPONENT))
            } else {
                let value = value.int();
                Number::wrap_int(if value > 0 { 1_i128 << value.ilog2() } else { 0 })
            })
        })
    }, else Err(FunctionError::illegal_type(result, "roundToExp2")))
}

fn round_down_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match (&args[0].column_type, &args[1].column_type) {
        (number, ColumnType::Array(element)) if number.is_number() && element.is_number() => {
            crate::kernel::types::supertype([number, element])
        }
        (number, _) => Err(FunctionError::illegal_type(number, "roundDown")),
    }
}

fn round_down(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let result = call.result_type.value_type();
    let lists = call.lists(1)?;
    let strict = call.caster(CastMode::Strict);
    let bounds = strict.column(lists.values(), &lists.element, result)?;
    let values = call.floats(0)?;
    let floats = strict.column(lists.values(), &lists.element, &ColumnType::Float64)?;
    let floats = floats.as_primitive::<arrow::datatypes::Float64Type>();
    let places: Vec<u64> = (0..call.rows)
        .map(|row| {
            let least = |a: &usize, b: &usize| floats.value(*a).total_cmp(&floats.value(*b));
            let below = lists.range(row).filter(|at| floats.value(*at) <= values.get(row)).max_by(least);
            model::saturating::u64_of(below.or_else(|| lists.range(row).min_by(least)).unwrap_or(0))
        })
        .collect();
    if bounds.is_empty() {
        return Err(FunctionError::bad_argument("roundDown takes an array of at least one number"));
    }
    Ok(arrow::compute::take(&bounds, &arrow::array::UInt64Array::from(places), None)?)
}

/// The bucket of equal width, from 1; 0 below all, one more than there are above all.
fn bucket(value: f64, low: f64, high: f64, count: u16) -> u16 {
    if value < low {
        return 0;
    }
    if value >= high {
        return count.saturating_add(1);
    }
    let place = (value - low) * f64::from(count) / (high - low);
    crate::columns::number::wrap::<f64, u16>(place.floor()) + 1
}

/// Eighths of characters up to a width.
fn draw(value: f64, low: f64, high: f64, width: f64, out: &mut String) {
    let part = if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
    let eighths = crate::columns::number::wrap::<f64, i64>((part * width * 8.0).floor());
    out.extend(std::iter::repeat_n('█', usize::try_from(eighths / 8).unwrap_or(0)));
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    out.push_str(PARTS[usize::try_from(eighths % 8).unwrap_or(0)]);
}

fn bar(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (values, low, high) = (call.floats(0)?, call.floats(1)?, call.floats(2)?);
    let width = if call.args.len() > 3 { call.floats(3)?.get(0) } else { 80.0 };
    if width.is_nan() {
        let message = "the width of a bar is no number";
        return Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    }
    if !(1.0..=BAR_WIDTH_MAX).contains(&width) {
        let message = format!("the width of a bar is from 1 to {BAR_WIDTH_MAX}");
        return Err(FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message));
    }
    call.each_text(|row, out| {
        draw(values.get(row), low.get(row), high.get(row), width, out);
        Ok(())
    })
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("roundAge", 1..=1, numbers("roundAge", ColumnType::UInt8), |call| {
            let ages = call.floats(0)?;
            call.each::<UInt8Type>(|row| Ok(age(ages.get(row))))
        })
        .doc(
            "roundAge(n)",
            "An age as the start of its group: 17, 18, 25, 35, 45, 55.",
            "roundAge(20) -> 18",
        ),
        ScalarFunction::new("roundDuration", 1..=1, numbers("roundDuration", ColumnType::UInt16), |call| {
            let seconds = call.floats(0)?;
            call.each::<UInt16Type>(|row| Ok(duration(seconds.get(row))))
        })
        .doc("roundDuration(seconds)", "A duration down to a usual one.", "roundDuration(15) -> 10"),
        ScalarFunction::new(
            "roundToExp2",
            1..=1,
            |args| match &args[0].column_type {
                ColumnType::Decimal { .. } => {
                    Err(FunctionError::illegal_type(&args[0].column_type, "roundToExp2"))
                }
                wide if wide.is_wide_integer() => {
                    let message = "roundToExp2 is not implemented for big integers";
                    Err(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message))
                }
                ColumnType::Bool => Ok(ColumnType::UInt8),
                number if number.is_number() => Ok(number.clone()),
                other => Err(FunctionError::illegal_type(other, "roundToExp2")),
            },
            power_of_two,
        )
        .doc("roundToExp2(n)", "Down to a power of two.", "roundToExp2(10) -> 8"),
        ScalarFunction::new("roundDown", 2..=2, round_down_type, round_down).doc(
            "roundDown(x, [a, b, ...])",
            "The largest number of the array that is not above x; the least one where all are.",
            "roundDown(5, [1, 3, 8]) -> 3",
        ),
        ScalarFunction::new("widthBucket", 4..=4, numbers("widthBucket", ColumnType::UInt16), |call| {
            let (values, low, high, counts) =
                (call.floats(0)?, call.floats(1)?, call.floats(2)?, call.ints(3)?);
            call.each::<UInt16Type>(|row| {
                let (low, high) = (low.get(row), high.get(row));
                let count = u16::try_from(counts.get(row)).ok().filter(|count| *count > 0);
                match count {
                    Some(count) if low < high && values.get(row).is_finite() => {
                        Ok(bucket(values.get(row), low, high, count))
                    }
                    _ => Err(FunctionError::bad_argument(
                        "widthBucket takes low < high and at least one bucket",
                    )),
                }
            })
        })
        .any_case()
        .aliases(&["width_bucket"])
        .doc(
            "widthBucket(x, low, high, count)",
            "The number of the bucket of equal width that x is in.",
            "widthBucket(5, 0, 10, 5) -> 3",
        ),
        ScalarFunction::new("bar", 3..=4, numbers("bar", ColumnType::String), bar).doc(
            "bar(x, min, max[, width])",
            "A bar whose length is proportional to x - min.",
            "bar(5, 0, 10, 10) -> '█████'",
        ),
    ]
}
