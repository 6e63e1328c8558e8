//! The aggregate that another one is where no rows are NULL (`aggregate_functions_null_for_empty`).
//!
//! Invariant: one that has a value of no rows, or says itself what it is then, stays. Must not know: syntax trees.

use aggregates::naming::{self, Aggregate};

/// The aggregate that is NULL over no rows, in the place of one that is not; counts and arrays stay as they are.
pub(crate) fn null_for_empty(name: &str) -> Option<(String, Aggregate)> {
    let lower = name.to_ascii_lowercase();
    let has_value = ["count", "uniq", "group"].iter().any(|start| lower.starts_with(start));
    let said = ["ornull", "ordefault", "state", "merge"].iter().any(|end| lower.contains(end));
    if has_value || said {
        return None;
    }
    let name = format!("{name}OrNull");
    naming::aggregate(&name).map(|aggregate| (name, aggregate))
}
