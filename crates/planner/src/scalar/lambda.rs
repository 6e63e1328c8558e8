//! Lambdas while a statement is read: DataFusion's planner has to know their parameters before it can read their bodies.
//!
//! A call with a lambda is read as a higher-order function of DataFusion's, which is asked for nothing but types; the
//! rules make a plain function of it (`coercion`). Invariant: the body's type is known with all that Arrow cannot say,
//! because it stands inside of [`BODY`], whose result is an Array of it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, HigherOrderFunctionArgs, HigherOrderReturnFieldArgs, HigherOrderSignature,
    HigherOrderUDF, HigherOrderUDFImpl, LambdaParametersProgress, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDFImpl, Signature, ValueOrLambda, Volatility,
};
use functions::{LambdaFunction, lambda_functions};
use model::ColumnType;
use model::type_arrow::to_field;

use super::call_name::call_name;
use super::unpacked::seen_type;
use aggregates::typing::{argument_type, external, type_of_field};

/// The rewrite puts every body into a call of it; `coercion` takes it out again.
pub const BODY: &str = "_lambdaBody";

/// The planner's name of a function that takes a lambda. One that takes the tuples of its one array apart, so that
/// each of the lambda's parameters is an element, has another.
pub fn planned_name(function: &LambdaFunction, apart: bool) -> String {
    format!("_{}{}", function.name, if apart { "Apart" } else { "" })
}

/// A function that takes a lambda, as the planner reads it.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) function: &'static LambdaFunction,
    pub(crate) apart: bool,
    name: String,
    signature: HigherOrderSignature,
}

impl PartialEq for Planned {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Planned {}

impl Hash for Planned {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// Every function that takes a lambda.
pub(crate) fn all() -> Vec<Arc<HigherOrderUDF>> {
    let planned = |function: &'static LambdaFunction, apart: bool| Planned {
        function,
        apart,
        name: planned_name(function, apart),
        signature: HigherOrderSignature::variadic_any(Volatility::Immutable),
    };
    let both = |function| [planned(function, false), planned(function, true)];
    lambda_functions().iter().flat_map(both).map(|made| Arc::new(HigherOrderUDF::from(made))).collect()
}

impl Planned {
    fn unplanned<T>(&self) -> Result<T> {
        internal_err!("the lambda of {} was not planned", self.function.name)
    }
}

impl HigherOrderUDFImpl for Planned {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        call_name(&self.name, args)
    }

    fn signature(&self) -> &HigherOrderSignature {
        &self.signature
    }

    fn lambda_parameters(
        &self,
        _step: usize,
        fields: &[ValueOrLambda<FieldRef, Option<FieldRef>>],
    ) -> Result<LambdaParametersProgress> {
        let types = fields.iter().filter_map(|field| match field {
            ValueOrLambda::Value(field) => Some(type_of_field(field)),
            ValueOrLambda::Lambda(_) => None,
        });
        let parameters =
            self.function.parameters(&types.collect::<Vec<_>>(), self.apart).map_err(external)?;
        let fields = parameters.iter().map(|parameter| Arc::new(to_field("", parameter))).collect();
        Ok(LambdaParametersProgress::Complete(vec![fields]))
    }

    fn return_field_from_args(&self, args: HigherOrderReturnFieldArgs<'_>) -> Result<FieldRef> {
        let Some(ValueOrLambda::Lambda(body)) = args.arg_fields.first() else { return self.unplanned() };
        let ColumnType::Array(body) = type_of_field(body) else { return self.unplanned() };
        let mut types = Vec::with_capacity(args.arg_fields.len());
        for (field, constant) in args.arg_fields.iter().zip(args.scalar_arguments).skip(1) {
            let ValueOrLambda::Value(field) = field else { return self.unplanned() };
            types.push(seen_type(self.function.name, argument_type(field, *constant)?));
        }
        // What is folded has its type only when literals have theirs, which is not yet.
        let folds = self.function.over == functions::lambda::Over::Fold;
        let result = if folds { Ok(*body) } else { self.function.result_type(&body, &types) };
        Ok(Arc::new(to_field(&self.name, &result.map_err(external)?)))
    }

    fn clear_null_values(&self) -> bool {
        false
    }

    fn invoke_with_args(&self, _args: HigherOrderFunctionArgs) -> Result<ColumnarValue> {
        self.unplanned()
    }

    fn coerce_value_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(arg_types.to_vec())
    }
}

/// `_lambdaBody(x)`: carries the type of x inside of an Array.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Body {
    signature: Signature,
    aliases: Vec<String>,
}

impl Default for Body {
    fn default() -> Self {
        let aliases = vec![BODY.to_ascii_lowercase()];
        Self { signature: Signature::any(1, Volatility::Immutable), aliases }
    }
}

impl ScalarUDFImpl for Body {
    fn name(&self) -> &str {
        BODY
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        call_name(BODY, args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {BODY} depends on more than layouts")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let ([field], [constant]) = (args.arg_fields, args.scalar_arguments) else {
            return internal_err!("{BODY} takes one argument");
        };
        let body = argument_type(field, *constant)?.column_type;
        Ok(Arc::new(to_field(BODY, &ColumnType::Array(Box::new(body)))))
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(DataFusionError::Internal(format!("{BODY} was not planned")))
    }
}
