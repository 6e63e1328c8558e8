//! Names that exist without a record in the log.

/// The database whose tables are made up from live state.
pub(crate) const SYSTEM: &str = "system";
