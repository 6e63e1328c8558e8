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
    /// Constants as [`StateType::parameter`] has them: `0.5`, `'a'`.
    pub parameters: Vec<Arc<str>>,
    pub arguments: Vec<ColumnType>,
}

impl StateType {
    /// A constant as ClickHouse prints it: `.5` and `5e-1` are `0.5`, `1.0` is `1.`; others are as they are written.
    pub fn parameter(written: &str) -> Arc<str> {
        let is_number = written.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let number = written.parse::<f64>().ok().filter(|_| is_number && written.contains(['.', 'e', 'E']));
        match number {
            Some(number) if number == 0.0 || (1e-6..1e15).contains(&number.abs()) => {
                let shown = number.to_string();
                if shown.contains('.') { shown.into() } else { format!("{shown}.").into() }
            }
            _ => written.into(),
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_shown_as_clickhouse_shows_them() {
        let shown = [".5", "0.90", "1e-1", "1.0", "1.", "0.", "5", "'.5'", "1e-7", "[1.0]"];
        let shown: Vec<Arc<str>> = shown.into_iter().map(StateType::parameter).collect();
        let expected = ["0.5", "0.9", "0.1", "1.", "1.", "0.", "5", "'.5'", "1e-7", "[1.0]"];
        assert_eq!(shown.iter().map(AsRef::as_ref).collect::<Vec<_>>(), expected);
    }
}
