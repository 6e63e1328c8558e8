//! `_row_bytes(x)`: what is counted instead of a tuple, an array or a map where different values are.
//!
//! Invariant: equal for equal values, others for others. Must not know: who counts.

use std::sync::Arc;

use aggregates::row_bytes::row_bytes;
use arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::call_name::call_name;

const ROW_BYTES: &str = "_row_bytes";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct RowBytes(Signature);

impl RowBytes {
    pub(crate) fn function() -> Arc<ScalarUDF> {
        Arc::new(ScalarUDF::from(RowBytes(Signature::any(1, Volatility::Immutable))))
    }
}

/// The bytes of a value's.
pub(crate) fn bytes_of(value: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction { func: RowBytes::function(), args: vec![value] })
}

impl ScalarUDFImpl for RowBytes {
    fn name(&self) -> &str {
        ROW_BYTES
    }

    /// The value's own: a label is that of what was written.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        match args {
            [value] => Ok(value.schema_name().to_string()),
            _ => call_name(ROW_BYTES, args),
        }
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [value] => Ok(ColumnarValue::Array(row_bytes(&value.to_array(args.number_rows)?)?)),
            _ => internal_err!("{ROW_BYTES} takes one value"),
        }
    }
}
