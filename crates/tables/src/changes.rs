//! The commands of DELETE, UPDATE and ALTER TABLE about rows, as changes of a table.
//!
//! Invariant: what cannot be done is refused before a row is read. Must not know: parts, and how rows are read.

mod change;
mod refused;
mod expired;
mod checked;

pub use change::{Change, Kind, Within};
pub use checked::checked;
