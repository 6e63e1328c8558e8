//! IGNORE NULLS and RESPECT NULLS behind an aggregate function.
//!
//! Invariant: what is said and would change nothing is left out, what would change something and is not done is an error. Must not
//! know: how a function passes NULLs over.

use aggregates::naming::Aggregate;
use sql::{Result, SqlError};
use sqlparser::ast::NullTreatment;

/// Functions that give one of their values and may give a NULL; all others pass NULLs over without being asked.
const CHOOSING: [&str; 6] =
    ["any", "anyLast", "any_respect_nulls", "anyLast_respect_nulls", "first_value", "last_value"];

/// What the planner is told of it.
///
/// # Errors
/// NOT_IMPLEMENTED: the function has no way to respect NULLs, in ClickHouse neither.
pub(crate) fn null_treatment(
    written: &str,
    aggregate: &Aggregate,
    asked: Option<NullTreatment>,
) -> Result<Option<NullTreatment>> {
    match asked {
        asked if CHOOSING.contains(&aggregate.name.as_str()) => Ok(asked),
        Some(NullTreatment::RespectNulls) => {
            Err(SqlError::not_implemented(format!("RESPECT NULLS of aggregate function {written}")))
        }
        _ => Ok(None),
    }
}
