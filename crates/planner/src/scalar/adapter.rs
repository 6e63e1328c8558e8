//! Our scalar functions as DataFusion's.
//!
//! Invariant: what a call returns carries our type; DataFusion never converts an argument, the function does.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction as ScalarCall;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use functions::{Call, FunctionError, ScalarFunction, folding, row_bytes};
use host::at_length::at_length;
use model::type_arrow::{from_field, to_field};
use model::type_name::NESTING_MAX;
use model::{ColumnType, ErrorCode, Monotonicity};

use super::call_name::{Digest, call_name, digest_of_large, short_name};
use super::dict_names;
use super::format_query;
use super::join_get;
use super::long_calls::may_take_long;
use super::preimage::preimage;
use super::unpacked::{seen_argument, seen_type};
use crate::session::session_values;
use aggregates::typing::{argument, argument_type, external, lost_its_type, scalar_at};

/// The cast to exactly the type it names.
pub const CAST: &str = "_CAST";

/// Whether a function is a cast, as a user writes it or as we do.
pub(crate) fn is_cast(name: &str) -> bool {
    name == "CAST" || name == CAST
}

/// One of our functions.
#[derive(Debug, Clone)]
struct Adapter {
    function: &'static ScalarFunction,
    aliases: Arc<[String]>,
    signature: Signature,
    /// Of the one large call that it is in.
    digest: Option<Digest>,
}

impl Adapter {
    fn new(function: &'static ScalarFunction) -> Self {
        let volatility = match function.volatile {
            true => Volatility::Volatile,
            // Without arguments it tells something about the query: the same in all of it, not in the next one.
            false if function.arity().0 == 0 => Volatility::Stable,
            false => Volatility::Immutable,
        };
        let aliases = spellings(function).into();
        Self { function, aliases, signature: Signature::user_defined(volatility), digest: None }
    }
}

/// Every other name it is found under. The planner looks unquoted names up in lower case.
fn spellings(function: &ScalarFunction) -> Vec<String> {
    let mut names: Vec<String> = function.aliases.iter().map(|alias| (*alias).to_owned()).collect();
    names.push(function.name.to_owned());
    let lower: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
    names.extend(lower);
    names.sort_unstable();
    names.dedup();
    names.retain(|name| name != function.name);
    names
}

impl Adapter {
    /// A cast of bytes that only lost their type: they are those of the type asked for.
    fn named_again(&self, args: &ScalarFunctionArgs) -> Option<ColumnarValue> {
        let source =
            args.arg_fields.first().filter(|field| is_cast(self.function.name) && lost_its_type(field))?;
        let same = source.data_type() == args.return_field.data_type();
        args.args.first().filter(|_| same).cloned()
    }
}

/// Refuses a type whose name could not be read again.
fn check_nesting(result: &ColumnType) -> Result<()> {
    let nesting = result.nesting();
    if nesting <= NESTING_MAX {
        return Ok(());
    }
    let message = format!("types are nested {nesting} deep in each other, at most {NESTING_MAX} can be");
    Err(external(FunctionError::new(ErrorCode::TOO_DEEP_RECURSION, message)))
}

impl PartialEq for Adapter {
    fn eq(&self, other: &Self) -> bool {
        self.function.name == other.function.name
    }
}

impl Eq for Adapter {}

impl Hash for Adapter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.name.hash(state);
    }
}

impl ScalarUDFImpl for Adapter {
    fn name(&self) -> &str {
        self.function.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        match self.digest.filter(|_| !args.is_empty()) {
            Some(digest) => Ok(short_name(self.function.name, digest)),
            None => call_name(self.function.name, args),
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(arg_types.to_vec())
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} depends on more than layouts", self.function.name)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types = args.arg_fields.iter().zip(args.scalar_arguments);
        let name = self.function.name;
        let types = types.map(|(field, constant)| Ok(seen_type(name, argument_type(field, *constant)?)));
        let result = self.function.result_type(&types.collect::<Result<Vec<_>>>()?).map_err(external)?;
        check_nesting(&result)?;
        Ok(Arc::new(to_field(self.function.name, &result)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(same) = self.named_again(&args) {
            return Ok(same);
        }
        let result_type = from_field(&args.return_field);
        let all_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let is_constant = all_constant && !self.function.volatile;
        let rows = if is_constant { 1 } else { args.number_rows };
        let values = args.args.iter().zip(&args.arg_fields);
        let seen = |(value, field): (&ColumnarValue, &FieldRef)| {
            seen_argument(self.function.name, argument(value, field)?)
        };
        let values = values.map(seen).collect::<Result<Vec<_>>>()?;
        let session = session_values(&args.config_options);
        let _constant = is_constant.then(folding::of_constants);
        let call = Call::new(&values, rows, &result_type, &session);
        let array = match may_take_long(self.function.name, &values, rows) {
            true => at_length(|| self.function.evaluate(&call)),
            false => self.function.evaluate(&call),
        };
        let array = array.map_err(external)?;
        Ok(if is_constant {
            folding::keep(row_bytes(&array)).map_err(external)?;
            ColumnarValue::Scalar(scalar_at(&array, 0)?)
        } else {
            ColumnarValue::Array(array)
        })
    }

    fn preimage(&self, args: &[Expr], lit_expr: &Expr, info: &SimplifyContext) -> Result<PreimageResult> {
        preimage(self.function, args, lit_expr, info)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        let Some((argument, monotonicity)) = self.function.monotonic_argument else {
            return Ok(SortProperties::Unordered);
        };
        let constant = |(i, input): (usize, &ExprProperties)| {
            i == argument || input.sort_properties == SortProperties::Singleton
        };
        let Some(input) = inputs.get(argument) else { return Ok(SortProperties::Unordered) };
        if !inputs.iter().enumerate().all(constant) {
            return Ok(SortProperties::Unordered);
        }
        Ok(match monotonicity {
            Monotonicity::Increasing => input.sort_properties,
            Monotonicity::Decreasing => -input.sort_properties,
        })
    }
}

static ALL: LazyLock<Vec<Arc<ScalarUDF>>> = LazyLock::new(|| {
    let all = functions::all().iter().chain(format_query::functions()).chain(join_get::functions());
    let all = all.chain(dict_names::functions());
    all.map(adapted).collect()
});

static BY_NAME: LazyLock<HashMap<&'static str, &'static Arc<ScalarUDF>>> = LazyLock::new(|| {
    let names = |udf: &'static Arc<ScalarUDF>| {
        std::iter::once(udf.name())
            .chain(udf.aliases().iter().map(String::as_str))
            .map(move |name| (name, udf))
    };
    ALL.iter().flat_map(names).collect()
});

/// One that is not of the list.
pub(crate) fn adapted(function: &'static ScalarFunction) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(Adapter::new(function)))
}

/// Every function.
pub(crate) fn all() -> Vec<Arc<ScalarUDF>> {
    ALL.clone()
}

/// A function by one of its names.
pub(crate) fn lookup(name: &str) -> Option<Arc<ScalarUDF>> {
    BY_NAME.get(name).map(|udf| Arc::clone(udf))
}

/// A call of one of our functions.
pub(crate) fn call(name: &str, args: Vec<Expr>) -> Result<Expr> {
    match lookup(name) {
        Some(udf) => digested(ScalarCall { func: udf, args }).map(Expr::ScalarFunction),
        None => internal_err!("there is no function {name}"),
    }
}

/// The digest that a call of one of our functions keeps.
pub(crate) fn kept_digest(func: &ScalarUDF) -> Option<Digest> {
    func.inner().downcast_ref::<Adapter>()?.digest
}

/// The call, which keeps its digest if it is one of ours and large.
pub(crate) fn digested(call: ScalarCall) -> Result<ScalarCall> {
    let ScalarCall { func, args } = call;
    let func = match func.inner().downcast_ref::<Adapter>() {
        Some(adapter) => match digest_of_large(adapter.function.name, &args)? {
            None if adapter.digest.is_none() => func,
            digest => Arc::new(ScalarUDF::from(Adapter { digest, ..adapter.clone() })),
        },
        None => func,
    };
    Ok(ScalarCall { func, args })
}
