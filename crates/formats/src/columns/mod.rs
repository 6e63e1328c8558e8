//! Columns: made of text, shown as text, made into columns of other types and names; and which of their cells were left out.
//!
//! Invariant: a column has the layout that its type has in Arrow. Must not know: where rows end, bytes of formats.

pub(crate) mod omitted;
pub mod builder;
pub mod text;
pub mod conform;
pub(crate) mod fit;
