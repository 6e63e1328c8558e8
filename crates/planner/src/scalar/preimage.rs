//! `toDate(t) = d` means `t >= start of d AND t < start of the next day`: ranges of the argument of a monotonic function.
//!
//! The range is found by bisecting the values of the column's type with the function itself, so a function needs
//! nothing but to be monotonic. Invariant: a range is given only where the function takes the wanted value inside the
//! searched values and other values at both of their ends, so values outside of them fall on the right side.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, ExprSchemable};
use functions::{Arg, ArgType, Call, ScalarFunction, SessionValues};
use model::type_arrow::to_data_type;
use model::{ColumnType, Monotonicity};

use crate::session::session_values;
use aggregates::typing::{external, literal_array, type_of_field, type_of_literal};

/// Seconds of the searched range: 1970-01-02 to 2105-12-31, which every type of time and date can hold.
const SECONDS: (i64, i64) = (86_400, 4_291_660_800);
const SECONDS_PER_DAY: i64 = 86_400;

/// The function with its one column as a function of ticks.
struct OfTicks<'a> {
    function: &'a ScalarFunction,
    args: Vec<Arg>,
    column: usize,
    column_type: ColumnType,
    result_type: ColumnType,
    session: &'a SessionValues,
}

impl OfTicks<'_> {
    fn argument(&self, ticks: i64) -> Result<ArrayRef> {
        let ticks: ArrayRef = match i32::try_from(ticks) {
            Ok(days) if is_date(&self.column_type) => Arc::new(Int32Array::from(vec![days])),
            _ => Arc::new(Int64Array::from(vec![ticks])),
        };
        Ok(cast(&ticks, &to_data_type(&self.column_type))?)
    }

    fn at(&mut self, ticks: i64) -> Result<ScalarValue> {
        let array = self.argument(ticks)?;
        if let Some(arg) = self.args.get_mut(self.column) {
            arg.array = array;
        }
        let call = Call::new(&self.args, 1, &self.result_type, self.session);
        ScalarValue::try_from_array(&self.function.evaluate(&call).map_err(external)?, 0)
    }

    /// The first tick in the range at which `reached` holds; it holds from there on.
    fn first(&mut self, range: (i64, i64), reached: impl Fn(&ScalarValue) -> bool) -> Result<i64> {
        let (mut below, mut from) = range;
        while from - below > 1 {
            let middle = below + (from - below) / 2;
            if reached(&self.at(middle)?) { from = middle } else { below = middle }
        }
        Ok(from)
    }
}

fn is_date(column_type: &ColumnType) -> bool {
    matches!(column_type, ColumnType::Date | ColumnType::Date32)
}

/// The ticks to search in; `None` for types that are no times.
fn searched(column_type: &ColumnType) -> Option<(i64, i64)> {
    let scaled = |factor: i64| Some((SECONDS.0.checked_mul(factor)?, SECONDS.1.checked_mul(factor)?));
    match (column_type, to_data_type(column_type)) {
        (ColumnType::Date | ColumnType::Date32, _) => {
            Some((SECONDS.0 / SECONDS_PER_DAY, SECONDS.1 / SECONDS_PER_DAY))
        }
        (_, DataType::Timestamp(TimeUnit::Second, _)) => Some(SECONDS),
        (_, DataType::Timestamp(TimeUnit::Millisecond, _)) => scaled(1_000),
        (_, DataType::Timestamp(TimeUnit::Microsecond, _)) => scaled(1_000_000),
        (_, DataType::Timestamp(TimeUnit::Nanosecond, _)) => scaled(1_000_000_000),
        _ => None,
    }
}

/// The values of the monotonic argument for which the function gives the literal.
pub(crate) fn preimage(
    function: &ScalarFunction,
    args: &[Expr],
    literal: &Expr,
    context: &SimplifyContext,
) -> Result<PreimageResult> {
    let Some((column, Monotonicity::Increasing)) = function.monotonic_argument else {
        return Ok(PreimageResult::None);
    };
    let (Expr::Literal(value, _), Some(argument)) = (literal, args.get(column)) else {
        return Ok(PreimageResult::None);
    };
    let session = session_values(context.config_options());
    let Some(mut function) = of_ticks(function, args, column, context, &session)? else {
        return Ok(PreimageResult::None);
    };
    let Some(range) = searched(&function.column_type) else { return Ok(PreimageResult::None) };
    let Ok(wanted) = value.cast_to(&to_data_type(&function.result_type)) else {
        return Ok(PreimageResult::None);
    };
    // A literal that the result type cannot hold exactly has no preimage.
    if wanted.is_null() || wanted.cast_to(&value.data_type()).ok().as_ref() != Some(value) {
        return Ok(PreimageResult::None);
    }
    if function.at(range.0)? >= wanted || function.at(range.1)? <= wanted {
        return Ok(PreimageResult::None);
    }
    let lower = function.first(range, |found| *found >= wanted)?;
    let upper = function.first(range, |found| *found > wanted)?;
    if function.at(lower)? != wanted {
        return Ok(PreimageResult::None);
    }
    let bound = |ticks: i64| ScalarValue::try_from_array(&function.argument(ticks)?, 0);
    let interval = Interval::try_new(bound(lower)?, bound(upper)?)?;
    Ok(PreimageResult::Range { expr: argument.clone(), interval: Box::new(interval) })
}

/// `None` when another argument is not constant.
fn of_ticks<'a>(
    function: &'a ScalarFunction,
    args: &[Expr],
    column: usize,
    context: &SimplifyContext,
    session: &'a SessionValues,
) -> Result<Option<OfTicks<'a>>> {
    let (mut given, mut types) = (Vec::new(), Vec::new());
    let mut column_type = ColumnType::Nothing;
    for (position, arg) in args.iter().enumerate() {
        let field = arg.to_field(context.schema().as_ref())?.1;
        let (arg_type, array) = match arg {
            Expr::Column(_) if position == column => {
                // NULLs never satisfy a comparison, so the function is looked at without them.
                column_type = type_of_field(&field).value_type().clone();
                (column_type.clone(), functions::default_array(&column_type, 1))
            }
            Expr::Literal(value, _) if position != column => {
                let arg_type = type_of_literal(value, &field);
                let array = literal_array(value, &arg_type)?;
                (arg_type, array)
            }
            _ => return Ok(None),
        };
        let constant = (position != column).then(|| Arc::clone(&array));
        types.push(ArgType { column_type: arg_type.clone(), constant });
        given.push(Arg { array, is_constant: true, column_type: arg_type });
    }
    let Ok(result_type) = function.result_type(&types) else { return Ok(None) };
    Ok(Some(OfTicks { function, args: given, column, column_type, result_type, session }))
}
