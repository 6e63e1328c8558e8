//! DDL: one file a statement, each a transaction over the catalog.
//!
//! Must not know: rows.

pub(crate) mod commit;
pub(crate) mod columns;
pub(crate) mod definition;
pub(crate) mod create_database;
pub(crate) mod drop_database;
pub(crate) mod create_table;
pub(crate) mod create_temporary;
pub(crate) mod drop_table;
pub(crate) mod drop_temporary;
pub(crate) mod truncate;
pub(crate) mod rename;
pub(crate) mod exchange;
pub(crate) mod create_view;
pub(crate) mod drop_view;
pub(crate) mod alter;
pub(crate) mod collection;
pub(crate) mod create_dictionary;
pub(crate) mod detach;
pub(crate) mod function;
