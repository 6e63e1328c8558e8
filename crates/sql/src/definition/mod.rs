//! What statements make of the definition of a table.
//!
//! Invariant: pure: from a definition and a statement to a definition, or to ClickHouse's error. Must not know: which
//! tables there are, what is committed.

pub mod constraints;
pub mod kept;
pub mod ttl;
pub mod mode;
pub mod dictionary;
