//! DDL: each statement a transaction over the catalog.
//!
//! Must not know: rows.

pub(crate) mod columns;
pub(crate) mod table;
pub(crate) mod temporary;
pub(crate) mod view;
pub(crate) mod altered;
pub(crate) mod alter;
pub(crate) mod collection;
