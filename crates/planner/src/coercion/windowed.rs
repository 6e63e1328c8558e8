//! Window functions with arguments, orders and frames of ClickHouse's types.
//!
//! Invariant: a frame by RANGE reaches as far as its offsets say, whatever the type of its key: they are counted in numbers that
//! do not overflow, days and seconds for dates and times. Rows whose keys are equal in an order are peers and of one partition:
//! there -0 is 0 and NaN is NaN, as nowhere else.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{NullTreatment, WindowFunction};
use datafusion::logical_expr::{
    Cast, Expr, ExprSchemable, SortExpr, WindowFrame, WindowFrameBound, WindowFrameUnits,
    WindowFunctionDefinition,
};
use functions::FunctionError;
use model::{ColumnType, ErrorCode};

use super::aggregated::{floats, joined, or_null, types_of, values};
use super::branches::{common_type, without_dictionary};
use super::comparison::cast_to;
use super::sort_keys::sort_keys;
use crate::scalar::adapter::call;
use crate::scalar::settled::settled;
use aggregates::arranged::{arranged_of_different, is_blind_to_different};
use aggregates::typing::{external, type_of};
use aggregates::{check_arguments, over_frames, takes_floats};

/// Digits of the largest UInt64, and one more for what an offset adds.
const WIDEST_KEY: DataType = DataType::Decimal128(21, 0);

/// A window function with its arguments and its frame as ClickHouse has them.
pub(crate) fn typed_window(mut function: WindowFunction, schema: &DFSchema) -> Result<Expr> {
    function.params.args = values(function.params.args, schema)?;
    if let ("argMin" | "argMax", [of, by]) =
        (function.fun.name(), types_of(&function.params.args, schema)?.as_slice())
        && by.is_nullable()
    {
        let value = std::mem::replace(&mut function.params.args[0], Expr::Literal(ScalarValue::Null, None));
        function.params.args[0] = or_null(value, of)?;
    }
    if function.fun.name() == "groupConcat" {
        function.params.args = joined(function.params.args, schema)?;
    }
    if let WindowFunctionDefinition::AggregateUDF(func) = &function.fun {
        check_arguments(func, &types_of(&function.params.args, schema)?)?;
        if takes_floats(func) {
            function.params.args = floats(function.params.args, schema)?;
        }
    }
    if matches!(function.fun, WindowFunctionDefinition::WindowUDF(_)) {
        check_default(&mut function.params.args, schema)?;
    }
    let window = &mut function.params;
    let skips = matches!(function.fun.name(), "any" | "anyLast" | "first_value" | "last_value");
    if skips && window.null_treatment.is_none() {
        window.null_treatment = Some(NullTreatment::IgnoreNulls);
    }
    for key in &mut window.partition_by {
        let column_type = type_of(key, schema)?;
        *key = settled(std::mem::replace(key, Expr::Literal(ScalarValue::Null, None)), &column_type);
    }
    window.order_by = ordered(std::mem::take(&mut window.order_by), &window.window_frame, schema)?;
    window.window_frame = framed(window.window_frame.clone(), &window.order_by, schema)?;
    if let WindowFunctionDefinition::AggregateUDF(func) = &function.fun
        && window.distinct
        && is_blind_to_different(func)
    {
        window.distinct = false;
        let of_different = arranged_of_different(Arc::clone(func), vec![]);
        function.fun = WindowFunctionDefinition::AggregateUDF(of_different);
    }
    if let WindowFunctionDefinition::AggregateUDF(func) = &function.fun {
        let fields = window.args.iter().map(|arg| Ok(arg.to_field(schema)?.1)).collect::<Result<_>>()?;
        function.fun = WindowFunctionDefinition::AggregateUDF(over_frames(func, &window.args, fields));
    }
    Ok(Expr::from(function))
}

/// The third argument of `lag` and `lead`, the value where there is no row: in the type of the first, which has to hold its type.
fn check_default(args: &mut [Expr], schema: &DFSchema) -> Result<()> {
    let [value, _, default] = args else { return Ok(()) };
    let (value_type, own) = (type_of(value, schema)?, type_of(default, schema)?);
    let (plain, own) = (without_dictionary(value_type), without_dictionary(own));
    if plain == own {
        return Ok(());
    }
    if common_type(&[plain.clone(), own.clone()]).ok().as_ref() != Some(&plain) {
        let message = format!("the default value of type {own} is no value of the argument's type {plain}");
        return Err(external(FunctionError::new(ErrorCode::BAD_ARGUMENTS, message)));
    }
    *default = cast_to(std::mem::replace(default, Expr::Literal(ScalarValue::Null, None)), &plain)?;
    Ok(())
}

fn is_plain(bound: &WindowFrameBound) -> bool {
    bound.is_unbounded() || *bound == WindowFrameBound::CurrentRow
}

fn has_offsets(frame: &WindowFrame) -> bool {
    frame.units == WindowFrameUnits::Range && !(is_plain(&frame.start_bound) && is_plain(&frame.end_bound))
}

/// The keys of a window: with NaN where NULL is, or, for a frame of offsets, the one key as a number.
fn ordered(mut keys: Vec<SortExpr>, frame: &WindowFrame, schema: &DFSchema) -> Result<Vec<SortExpr>> {
    match keys.as_mut_slice() {
        [key] if has_offsets(frame) => {
            key.expr = number(key.expr.clone(), schema)?;
            Ok(keys)
        }
        _ => {
            let mut keys = sort_keys(keys, schema)?;
            for key in &mut keys {
                let column_type = type_of(&key.expr, schema)?;
                key.expr = settled(key.expr.clone(), &column_type);
            }
            Ok(keys)
        }
    }
}

/// A key to which offsets are added.
fn number(key: Expr, schema: &DFSchema) -> Result<Expr> {
    use ColumnType::*;
    let column_type = type_of(&key, schema)?;
    match column_type.value_type() {
        UInt64 => Ok(Expr::Cast(Cast::new(Box::new(key), WIDEST_KEY))),
        UInt8 | UInt16 | UInt32 | Int8 | Int16 | Int32 | Date | Date32 | DateTime { .. } => {
            call("toInt64", vec![key])
        }
        Int64 => Ok(key),
        Float32 | Float64 => Ok(settled(key, &column_type)),
        _ => {
            let message = format!("a RANGE frame with offsets over a key of type {column_type}");
            Err(external(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message)))
        }
    }
}

/// A frame from peers to peers: DataFusion has none by RANGE where the first key is bytes, and the same by GROUPS.
fn framed(frame: WindowFrame, order: &[SortExpr], schema: &DFSchema) -> Result<WindowFrame> {
    let Some(first) = order.first().filter(|_| frame.units == WindowFrameUnits::Range) else {
        return Ok(frame);
    };
    let bytes = matches!(first.expr.get_type(schema)?, DataType::FixedSizeBinary(_));
    Ok(match bytes && !has_offsets(&frame) {
        true => WindowFrame::new_bounds(WindowFrameUnits::Groups, frame.start_bound, frame.end_bound),
        false => frame,
    })
}
