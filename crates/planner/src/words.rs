//! Names that a rewritten query and its plan agree on: calls that stand for a step or a marked value, and the names of functions.
//!
//! Invariant: nobody writes one of them himself; a name that `rewrite` puts into a query is known to the rules here. Must not
//! know: syntax trees.

pub use crate::analyzer::filled::FILLED;
pub use crate::analyzer::marks::{DISTINCT_BY, USING};
pub use crate::lookup::names;
pub use crate::scalar::adapter::CAST;
pub use crate::scalar::attached::SIMPLE;
pub use crate::scalar::constant_set::CONSTANTS;
pub use crate::scalar::dict_names::asks_dictionary;
pub use crate::scalar::join_get::asks_table;
pub use crate::scalar::lambda::{BODY, planned_name};
pub use crate::scalar::prewhere::{PREWHERE, PREWHERE_IF_FINAL};
pub use crate::scalar::settled::SETTLED;
pub use crate::scalar::widened::WIDENED;
