//! Tables as statements see them: definitions with compiled keys and defaults, and rows made to fit them.
//!
//! Invariant: a row that comes into a table went through `conform`. Must not know: sessions, statements.

pub(crate) mod memory;
pub(crate) mod temporary;
pub(crate) mod row_expr;
pub(crate) mod partition_ids;
pub(crate) mod alias_columns;
pub(crate) mod constraints;
pub(crate) mod nested;
pub(crate) mod conform;
pub(crate) mod insert_shape;
pub(crate) mod evolving;
pub(crate) mod stored;
pub(crate) mod reserved;
pub(crate) mod virtual_columns;
