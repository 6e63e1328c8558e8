//! What stands in FROM: calls of table functions, names and what may take their place, rows of constants.
//!
//! Invariant: nothing is looked up. Must not know: which tables there are, what a table function does.

pub(crate) mod constant_rows;
pub mod functions;
pub(crate) mod names;
