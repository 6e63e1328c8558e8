//! The type of a column of aggregate states: which function's, with which parameters, over what.
//!
//! Invariant: two states can be merged if their types are equal. Must not know: what a state's bytes mean; `planner` does.

use std::fmt;
use std::sync::Arc;

use crate::column_type::ColumnType;

/// What stands in the parentheses of `AggregateFunction(quantiles(0.5, 0.9), UInt64)`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StateType {
    /// With its combinators: `sumIf`.
    pub function: Arc<str>,
    /// Constants as they are written: `0.5`, `'a'`.
    pub parameters: Vec<Arc<str>>,
    pub arguments: Vec<ColumnType>,
}

impl StateType {
    /// Whether states of the two types are the same: LowCardinality changes nothing of a value, and a number of rows says
    /// nothing of what they were.
    pub fn has_states_of(&self, other: &StateType) -> bool {
        let plain = |column_type: &ColumnType| match column_type {
            ColumnType::LowCardinality(inner) => inner.as_ref().clone(),
            other => other.clone(),
        };
        self.function == other.function
            && self.parameters == other.parameters
            && (self.function.as_ref() == "count"
                || self.arguments.iter().map(plain).eq(other.arguments.iter().map(plain)))
    }
}

impl fmt::Display for StateType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        if !self.parameters.is_empty() {
            write!(f, "({})", self.parameters.join(", "))?;
        }
        self.arguments.iter().try_for_each(|argument| write!(f, ", {argument}"))
    }
}
