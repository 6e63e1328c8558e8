//! The aggregate function behind `sumState`, `sumMerge` and `sumMergeState`.
//!
//! Invariant: the rewrite writes kind, name and parameters as one text in front of the arguments; [`bound`] takes it off, so
//! that calls that differ in them are other columns. The type of a state is that of the arguments as they are given.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, GroupsAccumulator, Signature, Volatility,
};
use functions::FunctionError;
use model::type_arrow::to_field;
use model::{ColumnType, ErrorCode, StateType};

use super::groups::{All, Ends, One};
use super::recipe::Recipe;
use crate::naming::Kind;
use crate::own::PARAMETER_END;
use crate::typing::{external, literal_of, type_of_field};

/// The name under which the rewrite calls all of them.
pub const STATED: &str = "_stated";

/// See the module. Registered without a call, for the planner to find.
#[derive(Clone, Debug)]
pub(crate) struct Stated {
    name: String,
    call: Option<Call>,
    signature: Signature,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Call {
    kind: Kind,
    function: Arc<str>,
    parameters: Vec<Arc<str>>,
    /// `countState()`: the argument stands for none.
    has_no_arguments: bool,
}

impl Default for Stated {
    fn default() -> Self {
        let signature = Signature::user_defined(Volatility::Immutable);
        Self { name: STATED.to_owned(), call: None, signature }
    }
}

/// What the rewrite writes in front of the arguments.
pub fn written(kind: Kind, function: &str, has_arguments: bool, parameters: &[String]) -> String {
    let kind = format!("{kind:?}");
    let has_arguments = if has_arguments { "1" } else { "0" };
    let parameters = parameters.iter().map(String::as_str);
    [kind.as_str(), function, has_arguments]
        .into_iter()
        .chain(parameters)
        .collect::<Vec<_>>()
        .join(&PARAMETER_END.to_string())
}

/// The function of a call, whose first argument says which one it is; `None` for other functions.
pub fn bound(udaf: &AggregateUDF, args: &mut Vec<Expr>) -> Result<Option<Arc<AggregateUDF>>> {
    if udaf.name() != STATED {
        return Ok(None);
    }
    let text = match args.first().and_then(literal_of) {
        Some(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text))) => text.clone(),
        _ => return internal_err!("{STATED} without the name of its function"),
    };
    let parts: Vec<&str> = text.split(PARAMETER_END).collect();
    let [kind, function, has_arguments, parameters @ ..] = parts.as_slice() else {
        return internal_err!("{STATED} of {text}");
    };
    let Some((_, kind)) = Kind::ALL.iter().find(|(name, _)| *name == *kind) else {
        return internal_err!("{STATED} of {text}");
    };
    args.remove(0);
    let call = Call {
        kind: *kind,
        function: (*function).into(),
        parameters: parameters.iter().map(|parameter| StateType::parameter(parameter)).collect(),
        has_no_arguments: *has_arguments == "0",
    };
    let name = match call.parameters.is_empty() {
        true => format!("{function}{kind:?}"),
        false => format!("{function}{kind:?}({})", call.parameters.join(", ")),
    };
    let stated = Stated { name, call: Some(call), ..Stated::default() };
    Ok(Some(Arc::new(AggregateUDF::from(stated))))
}

/// A state that DISTINCT went into would be one of the function without it, which another state does not add to as it should:
/// `-Distinct` has the values in its state.
///
/// # Errors
/// NOT_IMPLEMENTED.
pub fn refuse_distinct(udaf: &AggregateUDF, is_distinct: bool) -> Result<()> {
    if !is_distinct {
        return Ok(());
    }
    let name = udaf.name();
    let message = format!(
        "DISTINCT in front of the arguments of {name} is not supported: -Distinct in front of -State, as in sumDistinctState, keeps a state of different values"
    );
    Err(external(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message)))
}

impl PartialEq for Stated {
    fn eq(&self, other: &Self) -> bool {
        self.call == other.call
    }
}

impl Eq for Stated {}

impl Hash for Stated {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.call.hash(state);
    }
}

fn illegal(message: String) -> DataFusionError {
    external(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
}

impl Stated {
    fn call(&self) -> Result<&Call> {
        match &self.call {
            Some(call) => Ok(call),
            None => internal_err!("{STATED} without its function"),
        }
    }

    /// The type of the states that come in or go out.
    fn state_type(&self, fields: &[FieldRef]) -> Result<StateType> {
        let call = self.call()?;
        let types: Vec<ColumnType> = fields.iter().map(|field| type_of_field(field)).collect();
        if call.kind == Kind::State {
            let plain = |column_type: ColumnType| match column_type {
                ColumnType::LowCardinality(inner) => *inner,
                other => other,
            };
            let arguments = match call.has_no_arguments {
                true => Vec::new(),
                false => types.into_iter().map(plain).collect(),
            };
            let (function, parameters) = (Arc::clone(&call.function), call.parameters.clone());
            return Ok(StateType { function, parameters, arguments });
        }
        let [column_type] = types.as_slice() else {
            let message =
                format!("aggregate function {} takes one argument, {} given", self.name, types.len());
            return Err(external(FunctionError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message)));
        };
        let Some(state) = column_type.state() else {
            return Err(illegal(format!(
                "illegal type {column_type} of argument for aggregate function {}: it must be AggregateFunction(..)",
                self.name
            )));
        };
        if state.function != call.function {
            return Err(illegal(format!(
                "illegal type {column_type} of argument for aggregate function {}: these are states of {}, not of {}",
                self.name, state.function, call.function
            )));
        }
        let parameters = match call.parameters.is_empty() {
            true => state.parameters.clone(),
            // Levels are asked of a state, the number of values it keeps is part of it.
            false if call.function.starts_with("quantile") => call.parameters.clone(),
            false if call.parameters == state.parameters => call.parameters.clone(),
            false => {
                return Err(illegal(format!(
                    "illegal type {column_type} of argument for aggregate function {}: its parameters differ",
                    self.name
                )));
            }
        };
        Ok(StateType { parameters, ..state.as_ref().clone() })
    }

    fn ends(&self, fields: &[FieldRef]) -> Result<Ends> {
        let recipe = Recipe::new(&self.state_type(fields)?)?;
        Ends::new(Arc::new(recipe), self.call()?.kind)
    }
}

impl AggregateUDFImpl for Stated {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(arg_types.to_vec())
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} depends on more than layouts", self.name)
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        let state = self.state_type(arg_fields)?;
        let recipe = Recipe::new(&state)?;
        let result = match self.call()?.kind {
            Kind::Merge => recipe.result().clone(),
            Kind::State | Kind::MergeState => ColumnType::AggregateFunction(Arc::new(state)),
        };
        Ok(Arc::new(to_field(&self.name, &result)))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let ends = self.ends(args.expr_fields)?;
        Ok(Box::new(One { inner: ends.recipe.accumulator()?, ends }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let fields = Recipe::new(&self.state_type(args.input_fields)?)?.state_fields()?;
        let named = fields.iter().enumerate().map(|(at, field)| {
            let name = format!("{}[{at}]", args.name);
            Arc::new(Field::clone(field).with_name(name))
        });
        Ok(named.collect())
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        let groups = self.ends(args.expr_fields).and_then(|ends| ends.recipe.groups());
        groups.is_ok_and(|groups| groups.is_some())
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        let ends = self.ends(args.expr_fields)?;
        match ends.recipe.groups()? {
            Some(inner) => Ok(Box::new(All { inner, ends })),
            None => internal_err!("{} has no accumulator for groups", self.name),
        }
    }
}
