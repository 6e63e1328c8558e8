//! Large constants as columns: what they take in all rows is asked for before they are repeated.
//!
//! A function of constants gives one value for a batch, and whoever wants a column repeats it without asking: `range(10000000)`
//! beside a hundred rows are eight gigabytes. Invariant: names, types and values stay. Must not know: which functions there are.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::{Alias, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use functions::allowance::reserve;
use functions::row_bytes;

use crate::error::{PhysicalError, into_datafusion};

/// Smaller constants are repeated as they are.
const LITERAL_BYTES_MIN: usize = 4096;

static REPEATED: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(ScalarUDF::from(Repeated::default())));

/// The plan with its large constants asked for. Only for a plan that no rule sees any more: one would compute them.
pub(super) fn with_room(plan: LogicalPlan) -> Result<LogicalPlan> {
    Ok(plan
        .transform_down_with_subqueries(|node| {
            let makes_columns = matches!(
                node,
                LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_) | LogicalPlan::Window(_)
            );
            if !makes_columns {
                return Ok(Transformed::no(node));
            }
            let (schema, names) = (merge_schema(&node.inputs()), NamePreserver::new(&node));
            node.map_expressions(|expr| {
                let name = names.save(&expr);
                let asked = asked(expr, &schema)?;
                Ok(asked.update_data(|expr| name.restore(expr)))
            })
        })?
        .data)
}

/// The column, or the arguments of the aggregate function, with constants asked for.
fn asked(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::Alias(Alias { expr, relation, name, metadata }) => {
            let inner = asked(*expr, schema)?;
            Ok(inner
                .update_data(|expr| Expr::Alias(Alias { expr: Box::new(expr), relation, name, metadata })))
        }
        Expr::AggregateFunction(_) | Expr::WindowFunction(_) => {
            let mut arguments = 0;
            expr.map_children(|argument| {
                arguments += 1;
                // Behind the first argument some functions want literals: delimiters, the default of lag.
                match argument {
                    Expr::Literal(..) if arguments > 1 => Ok(Transformed::no(argument)),
                    argument => constant(argument, schema),
                }
            })
        }
        other => constant(other, schema),
    }
}

fn constant(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if !is_large(&expr, schema)? {
        return Ok(Transformed::no(expr));
    }
    let call = ScalarFunction { func: Arc::clone(&REPEATED), args: vec![expr] };
    Ok(Transformed::yes(Expr::ScalarFunction(call)))
}

fn is_large(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    let may_be = |data_type: &DataType| data_type.is_nested() || *data_type == DataType::Utf8View;
    match expr {
        Expr::Literal(value, _) => Ok(may_be(&value.data_type()) && bytes_of(value) >= LITERAL_BYTES_MIN),
        Expr::ScalarFunction(_) | Expr::HigherOrderFunction(_) | Expr::Cast(_) => {
            let asks = |part: &Expr| {
                let is_query = matches!(
                    part,
                    Expr::ScalarSubquery(_)
                        | Expr::Exists(_)
                        | Expr::InSubquery(_)
                        | Expr::OuterReferenceColumn(..)
                );
                Ok(is_query || matches!(part, Expr::Column(_)))
            };
            Ok(!expr.exists(asks)? && may_be(&expr.get_type(schema)?))
        }
        _ => Ok(false),
    }
}

fn bytes_of(value: &ScalarValue) -> usize {
    value.to_array().map_or(0, |one| row_bytes(&one))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Repeated {
    signature: Signature,
}

impl Default for Repeated {
    fn default() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Repeated {
    fn name(&self) -> &str {
        "_repeated"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types.first().cloned().unwrap_or(DataType::Null))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields.first() {
            Some(field) => Ok(Arc::clone(field)),
            None => internal_err!("_repeated takes an argument"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        match args.args.into_iter().next() {
            Some(ColumnarValue::Scalar(value)) => {
                Ok(ColumnarValue::Array(repeated(&value.to_array()?, rows)?))
            }
            Some(column) => Ok(column),
            None => internal_err!("_repeated takes an argument"),
        }
    }
}

/// One value for all rows. Texts share their bytes.
fn repeated(one: &ArrayRef, rows: usize) -> Result<ArrayRef> {
    let each = match one.data_type() {
        DataType::Utf8View | DataType::BinaryView => 16,
        _ => row_bytes(one),
    };
    let asked = reserve("of a constant", each.saturating_mul(rows));
    let _room = asked.map_err(|error| into_datafusion(PhysicalError::from(error)))?;
    Ok(take(one, &UInt64Array::from(vec![0; rows]), None)?)
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray, Int64Array, ListArray, StringViewArray};
    use arrow::datatypes::Int64Type;

    use super::*;

    #[test]
    fn a_constant_is_there_in_every_row_and_texts_share_their_bytes() {
        let list: ArrayRef =
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), Some(2)])]));
        let lists = repeated(&list, 3).unwrap();
        assert_eq!(lists.as_list::<i32>().value(2).as_ref(), &Int64Array::from(vec![1, 2]) as &dyn Array);
        let text: ArrayRef = Arc::new(StringViewArray::from(vec!["x".repeat(1 << 20)]));
        let texts = repeated(&text, 1000).unwrap();
        assert_eq!((texts.len(), texts.as_string_view().value(999).len()), (1000, 1 << 20));
        assert!(texts.get_array_memory_size() < 4 << 20);
    }
}
