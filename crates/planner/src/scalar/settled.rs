//! `_settled(x)`: a key of a window with one zero and one NaN, also inside of arrays and tuples.
//!
//! Invariant: values that are equal in an order are the same bits, which is what DataFusion tells partitions and peers apart by. Must
//! not know: windows.

use std::sync::Arc;

use aggregates::typing::scalar_at;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use functions::unsigned_zeros;
use model::ColumnType;

use super::call_name::call_name;

/// Its name, for queries that the rewrite makes.
pub const SETTLED: &str = "_settled";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Settled(Signature);

impl Settled {
    pub(crate) fn function() -> Arc<ScalarUDF> {
        Arc::new(ScalarUDF::from(Settled(Signature::any(1, Volatility::Immutable))))
    }
}

/// The key as one that is told from others by its bits, where there are floats in its type.
pub(crate) fn settled(key: Expr, column_type: &ColumnType) -> Expr {
    if !has_float(column_type) || unsettled(&key) != &key {
        return key;
    }
    Expr::ScalarFunction(ScalarFunction { func: Settled::function(), args: vec![key] })
}

/// What a settled key was.
pub(crate) fn unsettled(key: &Expr) -> &Expr {
    match key {
        Expr::ScalarFunction(call) if call.func.name() == SETTLED => call.args.first().unwrap_or(key),
        _ => key,
    }
}

fn has_float(column_type: &ColumnType) -> bool {
    match column_type.value_type() {
        ColumnType::Float32 | ColumnType::Float64 => true,
        ColumnType::Array(element) => has_float(element),
        ColumnType::Tuple(parts) => parts.iter().any(|part| has_float(&part.column_type)),
        _ => false,
    }
}

impl ScalarUDFImpl for Settled {
    fn name(&self) -> &str {
        SETTLED
    }

    /// The key's own: a label is that of what was written.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        match args {
            [key] => Ok(key.schema_name().to_string()),
            _ => call_name(SETTLED, args),
        }
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types.first().cloned().unwrap_or(DataType::Null))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields {
            [key] => Ok(Arc::clone(key)),
            _ => internal_err!("{SETTLED} takes one key"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [ColumnarValue::Array(keys)] => Ok(ColumnarValue::Array(unsigned_zeros(keys))),
            [ColumnarValue::Scalar(key)] => {
                let settled = unsigned_zeros(&key.to_array()?);
                Ok(ColumnarValue::Scalar(scalar_at(&settled, 0)?))
            }
            _ => internal_err!("{SETTLED} takes one key"),
        }
    }
}
