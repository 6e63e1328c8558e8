//! `_prewhere(condition)`: what PREWHERE asks of a table that is read with FINAL, before its rows replace each other.
//!
//! The table takes the whole call as one of its conditions. Invariant: no row is asked the call itself, which would be after they
//! did; where it does not reach its table, that is an error. `_prewhere_if_final` may stay, over tables whose rows do nothing
//! to each other. Must not know: how a table asks it.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use functions::FunctionError;
use model::ErrorCode;

use super::call_name::call_name;
use aggregates::typing::external;

/// The name the rewrite gives it where the table is read with FINAL in any case.
pub const PREWHERE: &str = "_prewhere";
/// And where it is if it can be.
pub const PREWHERE_IF_FINAL: &str = "_prewhere_if_final";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Prewhere {
    name: &'static str,
    signature: Signature,
}

impl Prewhere {
    pub(crate) fn all() -> [Arc<ScalarUDF>; 2] {
        let of = |name| Prewhere { name, signature: Signature::any(1, Volatility::Immutable) };
        [PREWHERE, PREWHERE_IF_FINAL].map(|name| Arc::new(ScalarUDF::from(of(name))))
    }
}

pub(crate) fn is_prewhere(call: &ScalarFunction) -> bool {
    call.func.inner().downcast_ref::<Prewhere>().is_some()
}

/// The condition in such a call.
pub fn prewhere_of(filter: &Expr) -> Option<&Expr> {
    match filter {
        Expr::ScalarFunction(call) if is_prewhere(call) => call.args.first(),
        Expr::Alias(alias) => prewhere_of(&alias.expr),
        _ => None,
    }
}

impl ScalarUDFImpl for Prewhere {
    fn name(&self) -> &str {
        self.name
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        call_name(self.name, args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name, DataType::Boolean, is_nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.into_iter().next() {
            // A constant leaves all rows or none, whoever asks it.
            Some(value @ ColumnarValue::Scalar(_)) => Ok(value),
            Some(value) if self.name == PREWHERE_IF_FINAL => Ok(value),
            Some(_) => {
                let message =
                    "PREWHERE in this place of a query that reads its table with FINAL is not supported";
                Err(external(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message)))
            }
            None => internal_err!("{} takes a condition", self.name),
        }
    }
}
