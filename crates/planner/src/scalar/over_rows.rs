//! Functions over rows of tables that a query names in a call: joinGet, and those of dictionaries.
//!
//! A query is planned with a call that waits for the types ([`Waiting`]). When they are given it becomes one over a lookup
//! ([`OverRows`]), beside a subquery that reads the rows into it: once, before the first row asks. Invariant: what was not read is
//! never asked. Must not know: what is asked, and of which tables.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, Spans, internal_err};
use datafusion::logical_expr::expr::ScalarFunction as ScalarCall;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Subquery, Volatility,
};
use model::ColumnType;
use model::type_arrow::to_field;

use super::call_name::call_name;
use super::lookup::Lookup;
use aggregates::typing::scalar_at;

/// A call of which only the tables of the statement tell the type.
pub(super) trait AsksTables: fmt::Debug + Send + Sync + 'static {
    fn name(&self) -> &'static str;

    /// Where the tables stand: of another statement it is another function.
    fn tables(&self) -> *const ();

    /// What the call gives.
    fn field(&self, args: &ReturnFieldArgs<'_>) -> Result<FieldRef>;
}

/// See the module.
#[derive(Debug)]
pub(super) struct Waiting<A> {
    pub(super) asks: A,
    signature: Signature,
}

impl<A: AsksTables> Waiting<A> {
    pub(super) fn function(asks: A) -> Arc<ScalarUDF> {
        let signature = Signature::variadic_any(Volatility::Stable);
        Arc::new(ScalarUDF::from(Waiting { asks, signature }))
    }
}

/// What a call asks, if it is one that waits for its tables.
pub(super) fn waiting<A: AsksTables>(call: &ScalarCall) -> Option<&A> {
    call.func.inner().downcast_ref::<Waiting<A>>().map(|waiting| &waiting.asks)
}

impl<A: AsksTables> PartialEq for Waiting<A> {
    fn eq(&self, other: &Self) -> bool {
        (self.asks.name(), self.asks.tables()) == (other.asks.name(), other.asks.tables())
    }
}

impl<A: AsksTables> Eq for Waiting<A> {}

impl<A: AsksTables> Hash for Waiting<A> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.asks.name().hash(state);
    }
}

impl<A: AsksTables> ScalarUDFImpl for Waiting<A> {
    fn name(&self) -> &str {
        self.asks.name()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        call_name(self.asks.name(), args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} depends on its table", self.asks.name())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.asks.field(&args)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{} was not made a lookup", self.asks.name())
    }
}

/// What is asked of the rows in a lookup. Of one name, one lookup and one type of results all ask the same.
pub(super) trait AsksRows: fmt::Debug + Send + Sync + 'static {
    fn name(&self) -> &'static str;

    /// A value of `result` for each row of what is given.
    fn values(&self, lookup: &Lookup, given: &[ArrayRef], result: &ColumnType) -> Result<ArrayRef>;
}

/// `name(rows are there, given ..)`.
#[derive(Debug)]
struct OverRows<A> {
    asks: A,
    lookup: Arc<Lookup>,
    result: ColumnType,
    signature: Signature,
}

/// The call of what asks a lookup, into which `plan` reads.
pub(super) fn over_rows<A: AsksRows>(
    asks: A,
    (lookup, plan): (Arc<Lookup>, LogicalPlan),
    result: ColumnType,
    given: impl IntoIterator<Item = Expr>,
) -> Expr {
    let subquery = Subquery { subquery: Arc::new(plan), outer_ref_columns: vec![], spans: Spans::new() };
    let mut args = vec![Expr::ScalarSubquery(subquery)];
    args.extend(given);
    let signature = Signature::variadic_any(Volatility::Stable);
    let func = Arc::new(ScalarUDF::from(OverRows { asks, lookup, result, signature }));
    Expr::ScalarFunction(ScalarCall { func, args })
}

impl<A: AsksRows> PartialEq for OverRows<A> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.lookup, &other.lookup)
            && (self.asks.name(), &self.result) == (other.asks.name(), &other.result)
    }
}

impl<A: AsksRows> Eq for OverRows<A> {}

impl<A: AsksRows> Hash for OverRows<A> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (Arc::as_ptr(&self.lookup), self.asks.name()).hash(state);
    }
}

impl<A: AsksRows> ScalarUDFImpl for OverRows<A> {
    fn name(&self) -> &str {
        self.asks.name()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        call_name(self.asks.name(), args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} depends on its table", self.asks.name())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(to_field(self.asks.name(), &self.result)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut given = args.args;
        if given.len() < 2 {
            return internal_err!("{} without a key", self.asks.name());
        }
        // The mark that the rows are there.
        given.remove(0);
        let is_constant = given.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let given = given.into_iter().map(|value| value.into_array(rows)).collect::<Result<Vec<_>>>()?;
        let values = self.asks.values(&self.lookup, &given, &self.result)?;
        Ok(match is_constant {
            true => ColumnarValue::Scalar(scalar_at(&values, 0)?),
            false => ColumnarValue::Array(values),
        })
    }
}
