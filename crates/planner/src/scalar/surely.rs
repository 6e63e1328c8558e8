//! `_surely(x)`: whether a condition holds, where unknown is no.
//!
//! Invariant: never NULL, and says so to both plans. DataFusion's `IS TRUE` says it to the logical plan alone, and a plan that
//! computes one twice is refused. Must not know: conditions.

use std::sync::Arc;

use arrow::array::{Array, BooleanArray};
use arrow::compute::prep_null_mask_filter;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::call_name::call_name;

const SURELY: &str = "_surely";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Surely {
    signature: Signature,
}

impl Surely {
    pub(crate) fn function() -> Arc<ScalarUDF> {
        let signature = Signature::exact(vec![DataType::Boolean], Volatility::Immutable);
        Arc::new(ScalarUDF::from(Surely { signature }))
    }
}

/// The condition where it may be unknown, as one that never is.
pub(crate) fn surely(condition: Expr) -> Expr {
    Surely::function().call(vec![condition])
}

impl ScalarUDFImpl for Surely {
    fn name(&self) -> &str {
        SURELY
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        call_name(SURELY, args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(SURELY, DataType::Boolean, false)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [ColumnarValue::Scalar(value)] => {
                let holds = matches!(value, ScalarValue::Boolean(Some(true)));
                Ok(ColumnarValue::Scalar(ScalarValue::Boolean(Some(holds))))
            }
            [ColumnarValue::Array(array)] => {
                Ok(ColumnarValue::Array(Arc::new(known(as_boolean_array(array)?))))
            }
            _ => internal_err!("{SURELY} takes one argument"),
        }
    }
}

fn known(conditions: &BooleanArray) -> BooleanArray {
    if conditions.null_count() == 0 { conditions.clone() } else { prep_null_mask_filter(conditions) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_no() {
        let conditions = BooleanArray::from(vec![Some(true), None, Some(false)]);
        assert_eq!(known(&conditions), BooleanArray::from(vec![true, false, false]));
    }
}
