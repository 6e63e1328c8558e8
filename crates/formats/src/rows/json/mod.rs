//! Rows of JSON: objects and lists one after the other, inside a document, column by column, or by names.
//!
//! Must not know: column types.

pub(crate) mod each_row;
pub(crate) mod document;
pub(crate) mod by_column;
pub(crate) mod objects;
