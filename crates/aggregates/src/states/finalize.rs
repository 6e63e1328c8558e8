//! Functions over single states, and over the elements of arrays: `finalizeAggregation`, `initializeAggregation`, `arrayReduce`.
//!
//! Invariant: each row is a group of its own. Must not know: plans.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, AsArray, UInt32Array};
use arrow::compute::{cast, take};
use arrow::datatypes::DataType;
use datafusion::common::DataFusionError;
use functions::{Arg, ArgType, Call, FunctionError, ScalarFunction};
use model::saturating::place_of;
use model::type_arrow::to_data_type;
use model::{ColumnType, ErrorCode, StateType};

use super::groups::Ends;
use super::recipe::Recipe;
use super::runs::Aggregation;
use crate::naming::{self, Kind};

static FUNCTIONS: LazyLock<Vec<ScalarFunction>> = LazyLock::new(|| {
    let result = |name: &'static str, element: fn(&str, &ColumnType) -> Result<ColumnType, FunctionError>| {
        move |args: &[ArgType]| {
            let types = args.iter().skip(1).map(|arg| element(name, &arg.column_type));
            let types = types.collect::<Result<Vec<_>, _>>()?;
            let written = args.first().and_then(|arg| arg.constant.as_ref());
            Ok(aggregation(name, written, &types)?.result())
        }
    };
    vec![
        ScalarFunction::new("finalizeAggregation", 1..=1, finalized_type, finalize).own_nulls().doc(
            "finalizeAggregation(state)",
            "What the aggregate function gives whose state this is.",
            "finalizeAggregation(initializeAggregation('sumState', 5))",
        ),
        ScalarFunction::new(INITIALIZE, 2..=64, result(INITIALIZE, itself), initialize).own_nulls().doc(
            "initializeAggregation('aggregate', x, ...)",
            "The aggregate function over this row alone; with -State its state.",
            "initializeAggregation('sum', 5)",
        ),
        ScalarFunction::new(REDUCE, 2..=64, result(REDUCE, element_of), reduce).own_nulls().doc(
            "arrayReduce('aggregate', array, ...)",
            "The aggregate function over the elements of arrays.",
            "arrayReduce('max', [1, 3, 2])",
        ),
    ]
});

const INITIALIZE: &str = "initializeAggregation";
const REDUCE: &str = "arrayReduce";

/// All of them.
pub fn functions() -> &'static [ScalarFunction] {
    &FUNCTIONS
}

fn of_plan(error: DataFusionError) -> FunctionError {
    if let DataFusionError::External(inner) = &error
        && let Some(own) = inner.downcast_ref::<FunctionError>()
    {
        return own.clone();
    }
    FunctionError::new(ErrorCode::BAD_ARGUMENTS, error.to_string())
}

fn itself(_: &str, column_type: &ColumnType) -> Result<ColumnType, FunctionError> {
    Ok(column_type.clone())
}

fn element_of(name: &str, column_type: &ColumnType) -> Result<ColumnType, FunctionError> {
    match column_type {
        // Of elements without a type: there are none, or they are NULL.
        ColumnType::Array(element) if *element.value_type() == ColumnType::Nothing => {
            Ok(ColumnType::UInt8.nullable())
        }
        ColumnType::Array(element) => Ok(element.as_ref().clone()),
        other => Err(FunctionError::illegal_type(other, name)),
    }
}

/// The aggregation of a constant name over arguments of these types.
fn aggregation(
    function: &str,
    written: Option<&ArrayRef>,
    types: &[ColumnType],
) -> Result<Aggregation, FunctionError> {
    let text = written.and_then(|constant| cast(constant, &DataType::Utf8View).ok());
    let Some(text) = text.as_ref().and_then(|text| text.as_string_view_opt()?.iter().next()?) else {
        let message = format!("the first argument of {function} must be a constant name");
        return Err(FunctionError::new(ErrorCode::BAD_ARGUMENTS, message));
    };
    let parsed = model::type_name::parse(&format!("AggregateFunction({text})")).ok();
    let Some(named) = parsed.as_ref().and_then(ColumnType::state) else {
        let message = format!("{text} is no aggregate function");
        return Err(FunctionError::new(ErrorCode::UNKNOWN_AGGREGATE_FUNCTION, message));
    };
    let (kind, inner) = match naming::aggregate(&named.function).and_then(|aggregate| aggregate.stateful) {
        Some((kind, inner)) => (Some(kind), inner.into()),
        None => {
            (None, naming::canonical(&named.function).map_or_else(|| Arc::clone(&named.function), Arc::from))
        }
    };
    let state = match (kind, types) {
        (Some(Kind::Merge | Kind::MergeState), [column_type]) => match column_type.state() {
            Some(state) if state.function == inner => state.as_ref().clone(),
            _ => return Err(FunctionError::illegal_type(column_type, text)),
        },
        _ => StateType { function: inner, parameters: named.parameters.clone(), arguments: types.to_vec() },
    };
    let recipe = Arc::new(Recipe::new(&state).map_err(of_plan)?);
    match kind {
        Some(kind) => Ends::new(recipe, kind).map(Aggregation::Stated).map_err(of_plan),
        None => Ok(Aggregation::Plain(recipe)),
    }
}

/// A row for each of the call.
fn expanded(arg: &Arg, rows: usize) -> Result<ArrayRef, FunctionError> {
    if !arg.is_constant {
        return Ok(Arc::clone(&arg.array));
    }
    Ok(take(&arg.array, &UInt32Array::from_value(0, rows), None)?)
}

fn laid_out(array: ArrayRef, layout: &DataType) -> Result<ArrayRef, FunctionError> {
    if array.data_type() == layout { Ok(array) } else { Ok(cast(&array, layout)?) }
}

fn finalized_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    Ok(finalizing(&args[0].column_type)?.result())
}

fn finalizing(column_type: &ColumnType) -> Result<Aggregation, FunctionError> {
    let Some(state) = column_type.state() else {
        return Err(FunctionError::illegal_type(column_type, "finalizeAggregation"));
    };
    let recipe = Arc::new(Recipe::new(state).map_err(of_plan)?);
    Ends::new(recipe, Kind::Merge).map(Aggregation::Stated).map_err(of_plan)
}

fn finalize(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let states = expanded(&call.args[0], call.rows)?;
    let found =
        finalizing(&call.args[0].column_type)?.over_runs(&[states], &vec![1; call.rows]).map_err(of_plan)?;
    laid_out(found, &to_data_type(call.result_type))
}

fn initialize(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let types: Vec<ColumnType> = call.args.iter().skip(1).map(|arg| arg.column_type.clone()).collect();
    let aggregation = aggregation(INITIALIZE, Some(&call.args[0].array), &types)?;
    let columns =
        call.args.iter().skip(1).map(|arg| expanded(arg, call.rows)).collect::<Result<Vec<_>, _>>()?;
    let found = aggregation.over_runs(&columns, &vec![1; call.rows]).map_err(of_plan)?;
    laid_out(found, &to_data_type(call.result_type))
}

fn reduce(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let types = call.args.iter().skip(1).map(|arg| element_of(REDUCE, &arg.column_type));
    let aggregation = aggregation(REDUCE, Some(&call.args[0].array), &types.collect::<Result<Vec<_>, _>>()?)?;
    let (mut columns, mut lengths) = (Vec::new(), Vec::new());
    for arg in call.args.iter().skip(1) {
        let array = laid_out(expanded(arg, call.rows)?, &to_data_type(&arg.column_type))?;
        let list = array.as_list::<i32>();
        let own: Vec<usize> = list.offsets().lengths().collect();
        let start = list.offsets().first().map_or(0, |first| place_of(*first));
        let elements = list.values().slice(start, own.iter().sum());
        columns.push(laid_out(elements, &to_data_type(&element_of(REDUCE, &arg.column_type)?))?);
        if !lengths.is_empty() && lengths != own {
            let message = "arrays passed to arrayReduce must have equal sizes";
            return Err(FunctionError::new(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH, message));
        }
        lengths = own;
    }
    let found = aggregation.over_runs(&columns, &lengths).map_err(of_plan)?;
    laid_out(found, &to_data_type(call.result_type))
}
