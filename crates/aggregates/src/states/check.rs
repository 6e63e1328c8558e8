//! Asks bytes that come from outside whether they are states, before a table keeps them.
//!
//! Invariant: what passes can be merged and finished; what could not would stop every merge of the rows around it. Must not
//! know: tables.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DataFusionError, Result};
use functions::FunctionError;
use model::{ColumnType, ErrorCode, StateType};

use super::groups::{Ends, Taker};
use super::recipe::Recipe;
use super::runs::Aggregation;
use crate::naming::Kind;
use crate::typing::external;

/// Asks values of one type.
#[derive(Debug)]
pub struct StateCheck(Place);

/// Where in the values of a column states are.
#[derive(Debug)]
enum Place {
    /// They are states.
    Here { ends: Ends, fields: Vec<FieldRef> },
    /// In the elements of arrays, the entries of maps.
    Elements(Box<StateCheck>),
    /// In these elements of tuples.
    Members(Vec<(usize, StateCheck)>),
}

impl StateCheck {
    /// `None`: there are no states in values of the type.
    ///
    /// # Errors
    /// There is no such function, or it does not take these types.
    pub fn of(column_type: &ColumnType) -> Result<Option<StateCheck>> {
        let members = |types: &mut dyn Iterator<Item = &ColumnType>| {
            let mut members = Vec::new();
            for (at, member) in types.enumerate() {
                if let Some(check) = StateCheck::of(member)? {
                    members.push((at, check));
                }
            }
            Ok::<_, DataFusionError>((!members.is_empty()).then_some(StateCheck(Place::Members(members))))
        };
        let elements =
            |found: Option<StateCheck>| found.map(|check| StateCheck(Place::Elements(Box::new(check))));
        match column_type {
            ColumnType::AggregateFunction(state) => StateCheck::here(state).map(Some),
            ColumnType::Array(inner) => Ok(elements(StateCheck::of(inner)?)),
            ColumnType::Map(key, value) => {
                Ok(elements(members(&mut [key.as_ref(), value.as_ref()].into_iter())?))
            }
            ColumnType::Tuple(all) => members(&mut all.iter().map(|element| &element.column_type)),
            _ => Ok(None),
        }
    }

    fn here(state: &StateType) -> Result<StateCheck> {
        let recipe = Arc::new(Recipe::new(state)?);
        let fields = recipe.state_fields()?;
        Ok(StateCheck(Place::Here { ends: Ends::new(recipe, Kind::Merge)?, fields }))
    }

    /// # Errors
    /// CORRUPTED_DATA: some of the values are no states.
    pub fn check(&self, values: &ArrayRef) -> Result<()> {
        match &self.0 {
            Place::Here { ends, fields } => check_states(ends, fields, values),
            Place::Elements(check) => match values.data_type() {
                DataType::Map(..) => check.check(&(Arc::new(values.as_map().entries().clone()) as ArrayRef)),
                _ => check.check(values.as_list::<i32>().values()),
            },
            Place::Members(members) => {
                let tuple = values.as_struct();
                members.iter().try_for_each(|(at, check)| check.check(tuple.column(*at)))
            }
        }
    }
}

fn check_states(ends: &Ends, fields: &[FieldRef], values: &ArrayRef) -> Result<()> {
    for (field, column) in fields.iter().zip(ends.states(values, None, Taker::One)?) {
        check_nulls(field, &column)?;
    }
    // Bytes may be of the layout and yet no state: what accumulators take for granted of theirs.
    let merging = Aggregation::Stated(ends.clone());
    let lengths = vec![1; values.len()];
    match catch_unwind(AssertUnwindSafe(|| merging.over_runs(std::slice::from_ref(values), &lengths))) {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => match error.find_root() {
            DataFusionError::ResourcesExhausted(_) | DataFusionError::External(_) => Err(error),
            _ => Err(broken("its function cannot take it in")),
        },
        Err(_) => Err(broken("its function cannot take it in")),
    }
}

fn check_nulls(field: &FieldRef, column: &ArrayRef) -> Result<()> {
    if !field.is_nullable() && column.null_count() > 0 {
        return Err(broken("NULL stands where there is a value always"));
    }
    match (field.data_type(), column.data_type()) {
        (DataType::List(element), DataType::List(_)) => {
            check_nulls(element, column.as_list::<i32>().values())
        }
        (DataType::Struct(members), DataType::Struct(_)) => members
            .iter()
            .zip(column.as_struct().columns())
            .try_for_each(|(field, member)| check_nulls(field, member)),
        _ => Ok(()),
    }
}

fn broken(why: &str) -> DataFusionError {
    let message = format!("the state of an aggregate function cannot be read: {why}");
    external(FunctionError::new(ErrorCode::CORRUPTED_DATA, message))
}
