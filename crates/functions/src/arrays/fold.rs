//! Arrays into one value: sums, extremes, averages.
//!
//! Invariant: NULL elements have no least and no greatest, and are added by nothing; an empty array gives the default.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use arrow::compute::{concat, take};
use arrow::datatypes::{
    ArrowNativeTypeOp, ArrowPrimitiveType, DataType, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, Float64Type, Int64Type, UInt64Type, i256,
};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use crate::cast::{CastMode, default_array, typed};
use crate::columns::container::{list_of, offsets_of};
use crate::columns::number::with_number;
use crate::columns::wide;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::list::{element_order, nan_flags};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::{integer_shape, is_float};

fn element_type(args: &[ArgType], name: &str) -> Result<ColumnType, FunctionError> {
    match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::Array(element)) => Ok(element.value_type().clone()),
        Some(other) => Err(FunctionError::illegal_type(other, name)),
        None => Err(FunctionError::bad_argument("an array is needed")),
    }
}

/// The type of elements that are added, none of which may be NULL.
fn addend_type(args: &[ArgType], name: &str) -> Result<ColumnType, FunctionError> {
    match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::Array(element)) if !element.is_number() || element.is_nullable() => {
            Err(FunctionError::illegal_type(element, name))
        }
        _ => element_type(args, name),
    }
}

/// What a condition gives for each element.
fn flag_type(args: &[ArgType], name: &str) -> Result<(), FunctionError> {
    match element_type(args, name)? {
        ColumnType::UInt8 | ColumnType::Bool | ColumnType::Nothing => Ok(()),
        other => Err(FunctionError::illegal_type(&other, name)),
    }
}

/// What 128 bits hold of a Decimal, and 256.
const NARROW_DIGITS_MAX: u8 = 38;
const WIDE_DIGITS_MAX: u8 = 76;

fn is_wide_decimal(of: &ColumnType) -> bool {
    matches!(of, ColumnType::Decimal { precision, .. } if *precision > NARROW_DIGITS_MAX)
}

fn sum_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let element = addend_type(args, "arraySum")?;
    match (&element, integer_shape(&element)) {
        (ColumnType::Decimal { precision, scale }, _) => {
            let precision = if *precision > NARROW_DIGITS_MAX { WIDE_DIGITS_MAX } else { NARROW_DIGITS_MAX };
            Ok(ColumnType::Decimal { precision, scale: *scale })
        }
        (wide, _) if wide.is_wide_integer() => Ok(element),
        (_, Some((_, true))) => Ok(ColumnType::Int64),
        (_, Some((_, false))) => Ok(ColumnType::UInt64),
        (other, None) if is_float(other) => Ok(ColumnType::Float64),
        (other, None) => Err(FunctionError::illegal_type(other, "arraySum")),
    }
}

/// The elements of argument 0 in another type, NULLs kept.
fn elements_as(call: &Call<'_>, to: &ColumnType) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let from = lists.element.clone().nullable();
    Ok(call.caster(CastMode::Strict).column(lists.values(), &from, &to.clone().nullable())?)
}

fn sum(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let result = call.result_type.value_type();
    let values = elements_as(call, result)?;
    if result.is_wide_integer() {
        let numbers = wide::numbers(&values, result)?;
        let total = |row: usize| lists.range(row).fold(i256::ZERO, |sum, at| sum.wrapping_add(numbers[at]));
        let totals: Vec<i256> = (0..call.rows).map(total).collect();
        return wide::column(&totals, result, None);
    }
    macro_rules! total {
        ($t:ty) => {{
            let values = values.as_primitive::<$t>();
            call.each::<$t>(|row| {
                let mut sum = Default::default();
                for at in lists.range(row).filter(|at| values.is_valid(*at)) {
                    sum = values.value(at).add_wrapping(sum);
                }
                Ok(sum)
            })
        }};
    }
    match result {
        ColumnType::Float64 => total!(Float64Type),
        ColumnType::Int64 => total!(Int64Type),
        wide if is_wide_decimal(wide) => {
            Ok(typed(total!(Decimal256Type)?.as_primitive::<Decimal256Type>().clone(), result))
        }
        ColumnType::Decimal { .. } => {
            Ok(typed(total!(Decimal128Type)?.as_primitive::<Decimal128Type>().clone(), result))
        }
        _ => total!(UInt64Type),
    }
}

fn average(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let values = elements_as(call, &ColumnType::Float64)?;
    let values = values.as_primitive::<Float64Type>();
    call.each::<Float64Type>(|row| {
        let (mut sum, mut count) = (0.0, 0.0);
        for at in lists.range(row).filter(|at| values.is_valid(*at)) {
            sum += values.value(at);
            count += 1.0;
        }
        Ok(if count == 0.0 { 0.0 } else { sum / count })
    })
}

fn product(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let values = elements_as(call, &ColumnType::Float64)?;
    let values = values.as_primitive::<Float64Type>();
    let is_whole = lists.element.is_integer();
    call.each::<Float64Type>(|row| {
        let own = lists.range(row);
        let product: f64 = if own.is_empty() { 0.0 } else { own.map(|at| values.value(at)).product() };
        // Whole numbers have one zero.
        Ok(if is_whole { product + 0.0 } else { product })
    })
}

/// The element that is least, or greatest, in the order of its type.
fn extreme(call: &Call<'_>, wanted: Ordering) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let values = lists.values();
    let order = element_order(values)?;
    let nan = nan_flags(values);
    let fallback = default_array(call.result_type, 1);
    let all = concat(&[values.as_ref(), fallback.as_ref()])?;
    let missing = values.len();
    let places: Vec<u64> = (0..call.rows)
        .map(|row| {
            let own = lists.range(row).filter(|at| values.is_valid(*at));
            let own = own.filter(|at| nan.as_ref().is_none_or(|nan| !nan[*at]));
            let best = own.reduce(|best, at| if order(at, best) == wanted { at } else { best });
            u64_of(best.unwrap_or(missing))
        })
        .collect();
    Ok(take(&all, &UInt64Array::from(places), None)?)
}

/// Elements that are not zero.
fn count(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let truths = crate::kernel::rows::truths(lists.values(), &lists.element, &call.caster(CastMode::Strict))?;
    call.each::<arrow::datatypes::UInt32Type>(|row| {
        let counted = lists.range(row).filter(|at| truths.is_valid(*at) && truths.value(*at)).count();
        Ok(u32::try_from(counted).unwrap_or(u32::MAX))
    })
}

fn quantified(call: &Call<'_>, all: bool) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let truths = crate::kernel::rows::truths(lists.values(), &lists.element, &call.caster(CastMode::Strict))?;
    let holds = |at: usize| truths.is_valid(at) && truths.value(at);
    call.each_flag(|row| if all { lists.range(row).all(holds) } else { lists.range(row).any(holds) })
}

fn running_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    Ok(ColumnType::Array(Box::new(sum_type(args)?)))
}

fn running_sum(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "arrayCumSum"));
    };
    let lists = call.lists(0)?;
    let values = elements_as(call, element)?;
    let (mut places, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let own = if call.is_null(row) { 0..0 } else { lists.range(row) };
        lengths.push(own.len());
        places.push(own);
    }
    macro_rules! run {
        ($t:ty) => {{
            let values = values.as_primitive::<$t>();
            let mut out: Vec<<$t as ArrowPrimitiveType>::Native> = Vec::new();
            for own in places {
                let mut sum = Default::default();
                for at in own {
                    sum = values.value(at).add_wrapping(sum);
                    out.push(sum);
                }
            }
            arrow::array::PrimitiveArray::<$t>::from_iter_values(out)
        }};
    }
    let sums: ArrayRef = match &**element {
        wide if is_wide_decimal(wide) => typed(run!(Decimal256Type), element),
        ColumnType::Decimal { .. } => typed(run!(Decimal128Type), element),
        number => with_number!(number, T => {
            Arc::new(run!(T)) as ArrayRef
        }, else return Err(FunctionError::illegal_type(element, "arrayCumSum"))),
    };
    Ok(list_of(element, offsets_of(lengths), sums, None)?)
}

/// The type of differences: as of the function minus.
fn difference_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let element = match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::Array(element)) => (**element).clone(),
        _ => element_type(args, "arrayDifference")?,
    };
    let is_wide = |bytes: u8| {
        if bytes == 8 { ColumnType::Int64 } else { crate::kernel::types::integer_of(bytes * 2, true) }
    };
    let result = match (&element, integer_shape(&element)) {
        (ColumnType::Decimal { .. }, _) => element.clone(),
        (ColumnType::Date | ColumnType::DateTime { .. }, _) => ColumnType::Int32,
        (_, Some((bytes, _))) => is_wide(bytes),
        (other, None) if is_float(other) => ColumnType::Float64,
        (other, None) => return Err(FunctionError::illegal_type(other, "arrayDifference")),
    };
    Ok(ColumnType::Array(Box::new(result)))
}

/// Each element without the one in front of it; 0 first.
fn difference(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "arrayDifference"));
    };
    let lists = call.lists(0)?;
    let lengths: Vec<usize> = (0..call.rows).map(|row| lists.range(row).len()).collect();
    if **element == ColumnType::Nothing {
        return Ok(list_of(element, offsets_of(lengths), default_array(element, 0), None)?);
    }
    // Days and seconds are numbers here.
    let from = match lists.element {
        ColumnType::Date => ColumnType::UInt16,
        ColumnType::DateTime { .. } => ColumnType::UInt32,
        ref other => other.clone(),
    };
    let caster = call.caster(CastMode::Strict);
    let plain = caster.column(lists.values(), &lists.element, &from)?;
    let values = caster.column(&plain, &from, element)?;
    macro_rules! differences {
        ($t:ty) => {{
            let values = values.as_primitive::<$t>();
            let mut out = Vec::with_capacity(values.len());
            for row in 0..call.rows {
                let own = lists.range(row);
                let start = own.start;
                // The first is 0 whatever the element is: inf less inf would be NaN.
                out.extend(own.map(|at| match at == start {
                    true => Default::default(),
                    false => values.value(at).sub_wrapping(values.value(at - 1)),
                }));
            }
            arrow::array::PrimitiveArray::<$t>::from_iter_values(out)
        }};
    }
    let made: ArrayRef = match &**element {
        decimal @ ColumnType::Decimal { .. } => match values.data_type() {
            DataType::Decimal32(..) => typed(differences!(Decimal32Type), decimal),
            DataType::Decimal64(..) => typed(differences!(Decimal64Type), decimal),
            DataType::Decimal128(..) => typed(differences!(Decimal128Type), decimal),
            _ => typed(differences!(Decimal256Type), decimal),
        },
        number => with_number!(number, T => {
            Arc::new(differences!(T))
        }, else return Err(FunctionError::illegal_type(number, "arrayDifference"))),
    };
    Ok(list_of(element, offsets_of(lengths), made, None)?)
}

/// The running sums, each at least 0.
fn running_positive(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "arrayCumSumNonNegative"));
    };
    let lists = call.lists(0)?;
    let values = elements_as(call, element)?;
    let lengths: Vec<usize> = (0..call.rows).map(|row| lists.range(row).len()).collect();
    macro_rules! run {
        ($t:ty) => {{
            let values = values.as_primitive::<$t>();
            let mut out = Vec::with_capacity(values.len());
            for row in 0..call.rows {
                let mut sum = <$t as ArrowPrimitiveType>::Native::default();
                for at in lists.range(row) {
                    sum = sum.add_wrapping(values.value(at));
                    if sum < Default::default() {
                        sum = Default::default();
                    }
                    out.push(sum);
                }
            }
            Arc::new(arrow::array::PrimitiveArray::<$t>::from_iter_values(out)) as ArrayRef
        }};
    }
    let sums = match &**element {
        ColumnType::Float64 => run!(Float64Type),
        ColumnType::Int64 => run!(Int64Type),
        ColumnType::UInt64 => run!(UInt64Type),
        wide if is_wide_decimal(wide) => {
            typed(run!(Decimal256Type).as_primitive::<Decimal256Type>().clone(), element)
        }
        ColumnType::Decimal { .. } => {
            typed(run!(Decimal128Type).as_primitive::<Decimal128Type>().clone(), element)
        }
        other => return Err(FunctionError::illegal_type(other, "arrayCumSumNonNegative")),
    };
    Ok(list_of(element, offsets_of(lengths), sums, None)?)
}

fn float_type(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| match addend_type(args, name) {
        Ok(_) => Ok(ColumnType::Float64),
        Err(error) => {
            // ClickHouse finds texts out when it computes.
            let is_text = element_type(args, name).is_ok_and(|element| element.is_string());
            let code = if is_text { ErrorCode::ILLEGAL_COLUMN } else { error.code };
            Err(FunctionError { code, ..error })
        }
    }
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let extreme_type = |args: &[ArgType]| match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::Array(element)) => Ok(element.as_ref().clone()),
        _ => element_type(args, "arrayMin"),
    };
    let flag = |args: &[ArgType]| flag_type(args, "arrayExists").map(|()| ColumnType::UInt8);
    vec![
        ScalarFunction::new("arraySum", 1..=1, sum_type, sum).doc(
            "arraySum(array)",
            "The sum.",
            "arraySum([1, 2]) -> 3",
        ),
        ScalarFunction::new("arrayMin", 1..=1, extreme_type, |call| extreme(call, Ordering::Less)).doc(
            "arrayMin(array)",
            "The smallest element.",
            "arrayMin([2, 1]) -> 1",
        ),
        ScalarFunction::new("arrayMax", 1..=1, extreme_type, |call| extreme(call, Ordering::Greater)).doc(
            "arrayMax(array)",
            "The largest element.",
            "arrayMax([2, 1]) -> 2",
        ),
        ScalarFunction::new("arrayAvg", 1..=1, float_type("arrayAvg"), average).doc(
            "arrayAvg(array)",
            "The average.",
            "arrayAvg([1, 2]) -> 1.5",
        ),
        ScalarFunction::new("arrayProduct", 1..=1, float_type("arrayProduct"), product).doc(
            "arrayProduct(array)",
            "The product as Float64.",
            "arrayProduct([2, 3]) -> 6",
        ),
        ScalarFunction::new(
            "arrayCount",
            1..=1,
            |args| flag_type(args, "arrayCount").map(|()| ColumnType::UInt32),
            count,
        )
        .doc("arrayCount(array)", "Elements that are not 0.", "arrayCount([0, 1, 2]) -> 2"),
        ScalarFunction::new("arrayExists", 1..=1, flag, |call| quantified(call, false)).doc(
            "arrayExists(array)",
            "Whether any element is not 0.",
            "arrayExists([0, 1]) -> 1",
        ),
        ScalarFunction::new("arrayAll", 1..=1, flag, |call| quantified(call, true)).doc(
            "arrayAll(array)",
            "Whether no element is 0.",
            "arrayAll([0, 1]) -> 0",
        ),
        ScalarFunction::new("arrayCumSum", 1..=1, running_type, running_sum).doc(
            "arrayCumSum(array)",
            "The running sums.",
            "arrayCumSum([1, 2]) -> [1,3]",
        ),
        ScalarFunction::new("arrayCumSumNonNegative", 1..=1, running_type, running_positive).doc(
            "arrayCumSumNonNegative(array)",
            "The running sums, each set to 0 where it would be less.",
            "arrayCumSumNonNegative([1, -5, 3]) -> [1,0,3]",
        ),
        ScalarFunction::new("arrayDifference", 1..=1, difference_type, difference).doc(
            "arrayDifference(array)",
            "The differences of neighbouring elements, 0 first.",
            "arrayDifference([1, 5, 3]) -> [0,4,-2]",
        ),
    ]
}
