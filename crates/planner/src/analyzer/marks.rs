//! Functions that stand for a step of the plan until `lift` makes it one: `_limitBy(n, skip, key, ..)` and its like.
//!
//! Invariant: none is ever computed. They let DataFusion's planner resolve names and positions as it does for ORDER BY.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Behind the keys of a sort: of each value of the arguments, pass one row, ahead of the sort.
pub const DISTINCT_BY: &str = "_distinctBy";

pub use sql::reader::clauses::USING;
pub(crate) use sql::reader::clauses::{ASOF, FILL, INTERPOLATE, LIMIT_BY, ORDER_BY_ALL, WITH_TIES};

/// The names of all marks.
pub(crate) const MARKS: &[&str] =
    &[LIMIT_BY, DISTINCT_BY, WITH_TIES, FILL, INTERPOLATE, ASOF, ORDER_BY_ALL, USING];

/// Every mark to register.
pub(crate) fn all() -> Vec<Arc<ScalarUDF>> {
    MARKS.iter().map(|name| Arc::new(ScalarUDF::from(Mark::new(name)))).collect()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Mark {
    name: &'static str,
    aliases: Vec<String>,
    signature: Signature,
}

impl Mark {
    fn new(name: &'static str) -> Self {
        // Volatile, so that nothing computes it ahead of time.
        let signature = Signature::variadic_any(Volatility::Volatile);
        Self { name, aliases: vec![name.to_ascii_lowercase()], signature }
    }
}

impl ScalarUDFImpl for Mark {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name, DataType::Boolean, false)))
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{} was left in a plan", self.name)
    }
}
