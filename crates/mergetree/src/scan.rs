//! What a scan of a table has to read: the parts that may match, and the inline rows, of one snapshot.
//!
//! Invariant: pruning never loses a row. Must not know: how parts are read.

pub mod prune;
pub mod plan;
pub mod convertible;

pub use convertible::check_values;
pub use plan::{PrunedParts, ScanPlan, plan};
pub use prune::{ColumnRange, ScanFilter};
