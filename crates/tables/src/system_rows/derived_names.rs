//! What the views of `information_schema` are called.
//!
//! Must not know: what is in them.

/// Names of the views, in both cases.
pub const NAMES: &[&str] = &[
    "COLUMNS",
    "KEY_COLUMN_USAGE",
    "REFERENTIAL_CONSTRAINTS",
    "SCHEMATA",
    "TABLES",
    "VIEWS",
    "columns",
    "key_column_usage",
    "referential_constraints",
    "schemata",
    "tables",
    "views",
];
