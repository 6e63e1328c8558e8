//! How a table makes one of the values of rows of equal key: states are merged, other values go through the function that
//! their column was declared with.
//!
//! Invariant: the type of what comes out is that of what goes in. Must not know: rows, keys.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result};
use functions::FunctionError;
use model::type_arrow::to_data_type;
use model::{ColumnType, Combine, Combining, ErrorCode, RowExprError, StateType};

use super::groups::Ends;
use super::recipe::Recipe;
use super::runs::Aggregation;
use crate::naming::{self, Kind};
use crate::typing::external;

/// Functions that a SimpleAggregateFunction may name: what they give can be given to them again.
const SIMPLE: &[&str] = &[
    "any",
    "any_respect_nulls",
    "anyLast",
    "anyLast_respect_nulls",
    "first_value",
    "last_value",
    "min",
    "max",
    "sum",
    "sumWithOverflow",
    "groupBitAnd",
    "groupBitOr",
    "groupBitXor",
    "sumMap",
    "minMap",
    "maxMap",
    "groupArrayArray",
    "groupArrayLastArray",
    "groupUniqArrayArray",
];

#[derive(Debug)]
struct Combiner {
    /// For errors.
    text: String,
    how: Aggregation,
    layout: DataType,
}

/// How values of the type become one.
///
/// # Errors
/// There is no such function, or it gives another type.
pub fn combiner(column_type: &ColumnType, combining: &Combining) -> Result<Arc<dyn Combine>> {
    let (text, how) = match (combining, column_type.state()) {
        (Combining::States, Some(state)) => {
            let recipe = Arc::new(Recipe::new(state)?);
            (column_type.to_string(), Aggregation::Stated(Ends::new(recipe, Kind::MergeState)?))
        }
        (Combining::States, None) => {
            let message = format!("values of {column_type} are no states");
            return Err(external(FunctionError::new(ErrorCode::LOGICAL_ERROR, message)));
        }
        (Combining::By(function), _) => {
            let recipe = simple(function, column_type)?;
            (format!("{function} of {column_type}"), Aggregation::Plain(Arc::new(recipe)))
        }
    };
    Ok(Arc::new(Combiner { text, how, layout: to_data_type(column_type) }))
}

fn simple(function: &str, column_type: &ColumnType) -> Result<Recipe> {
    let bad = |message: String| external(FunctionError::new(ErrorCode::BAD_ARGUMENTS, message));
    let state = declared(function, column_type)?;
    let known = naming::canonical(&state.function);
    if !known.is_some_and(|known| SIMPLE.contains(&known.as_str())) {
        let message =
            format!("SimpleAggregateFunction of {function} is not supported: it takes {}", SIMPLE.join(", "));
        return Err(bad(message));
    }
    let recipe = Recipe::new(&state)?;
    let wanted = match column_type {
        ColumnType::LowCardinality(inner) => inner.as_ref(),
        other => other,
    };
    if recipe.result() == wanted {
        return Ok(recipe);
    }
    Err(bad(format!(
        "SimpleAggregateFunction({function}, {column_type}): aggregate function {function} gives {}",
        recipe.result()
    )))
}

/// A function's text in a type, over values of the type.
fn declared(function: &str, column_type: &ColumnType) -> Result<StateType> {
    let text = format!("AggregateFunction({function}, {column_type})");
    let parsed = model::type_name::parse(&text).ok();
    match parsed.as_ref().and_then(ColumnType::state) {
        Some(state) => Ok(state.as_ref().clone()),
        None => {
            let message = format!("{function} is no aggregate function");
            Err(external(FunctionError::new(ErrorCode::UNKNOWN_AGGREGATE_FUNCTION, message)))
        }
    }
}

/// Refuses a type whose states nobody could make or read.
///
/// # Errors
/// There is no such function, or it does not take these types.
pub fn check_states(column_type: &ColumnType) -> Result<()> {
    match column_type {
        ColumnType::AggregateFunction(state) => Recipe::new(state).map(drop),
        ColumnType::Array(inner) | ColumnType::Nullable(inner) | ColumnType::LowCardinality(inner) => {
            check_states(inner)
        }
        ColumnType::Map(key, value) => check_states(key).and_then(|()| check_states(value)),
        ColumnType::Tuple(elements) => {
            elements.iter().try_for_each(|element| check_states(&element.column_type))
        }
        _ => Ok(()),
    }
}

impl Combine for Combiner {
    fn combine(&self, values: &ArrayRef, starts: &[usize]) -> Result<ArrayRef, RowExprError> {
        if starts.len() == values.len() {
            return Ok(Arc::clone(values));
        }
        let failed = |error: DataFusionError| RowExprError {
            expression: self.text.clone(),
            message: error.find_root().to_string(),
        };
        let ends = starts.iter().skip(1).copied().chain([values.len()]);
        let lengths: Vec<usize> = starts.iter().zip(ends).map(|(start, end)| end - start).collect();
        let combined = self.how.over_runs(std::slice::from_ref(values), &lengths).map_err(failed)?;
        match *combined.data_type() == self.layout {
            true => Ok(combined),
            false => cast(&combined, &self.layout).map_err(|error| failed(error.into())),
        }
    }
}
