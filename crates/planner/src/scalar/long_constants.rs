//! Long arrays and maps of constants, which are values as soon as their types are known.
//!
//! Every later step walks all arguments of a call, and asks for its type more than once: of 50,000 of them that is a second
//! of planning. A value is one literal.
//!
//! Invariant: the value has the call's type, and what the call would have been. Must not know: how lists are written.

use std::sync::Arc;

use aggregates::typing::literal;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs};
use model::type_arrow::from_field;

/// Calls that make one value of their arguments and read no setting.
const MAKERS: [&str; 2] = ["array", "map"];
/// Shorter ones are left to the folding of constants.
const ARGUMENTS_MIN: usize = 1024;

/// The value of a long call of constants; any other call as it is.
///
/// # Errors
/// What the call ends with.
pub(crate) fn folded(function: ScalarFunction, schema: &DFSchema) -> Result<Expr> {
    let is_long = function.args.len() >= ARGUMENTS_MIN && MAKERS.contains(&function.func.name());
    if !is_long || !function.args.iter().all(|arg| matches!(arg, Expr::Literal(..))) {
        return Ok(Expr::ScalarFunction(function));
    }
    let fields = function.args.iter().map(|arg| Ok(arg.to_field(schema)?.1));
    let arg_fields = fields.collect::<Result<Vec<_>>>()?;
    let call = Expr::ScalarFunction(function);
    let return_field = call.to_field(schema)?.1;
    let Expr::ScalarFunction(ScalarFunction { func, args }) = call else { return Ok(call) };
    let column_type = from_field(&return_field);
    let values = args.into_iter().filter_map(|arg| match arg {
        Expr::Literal(value, _) => Some(ColumnarValue::Scalar(value)),
        _ => None,
    });
    let value = func.invoke_with_args(ScalarFunctionArgs {
        args: values.collect(),
        arg_fields,
        number_rows: 1,
        return_field,
        config_options: Arc::new(ConfigOptions::default()),
    })?;
    literal(&value.into_array(1)?, &column_type)
}
