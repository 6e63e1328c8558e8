//! Names that exist without a record in the log.

/// The database whose tables are made up from live state.
pub const SYSTEM: &str = "system";

/// The standard's views over them, and the same under the name in capitals.
pub const INFORMATION_SCHEMA: [&str; 2] = ["information_schema", "INFORMATION_SCHEMA"];

/// Inside a plan: where names without a database are looked up when the session has temporary tables.
pub const HERE: &str = "_here";

/// Whether a database is made up from live state, so that nothing in it can be created or written.
pub fn is_derived(database: &str) -> bool {
    database == SYSTEM || INFORMATION_SCHEMA.contains(&database)
}

/// The part that a mutation writes anew, in the same schema.
pub const REWRITTEN: &str = "rewritten";
