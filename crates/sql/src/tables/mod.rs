//! What stands in FROM: calls of table functions, joins, names and what may take their place, files, rows of constants.
//!
//! Invariant: nothing is looked up. Must not know: which tables there are, what a table function does.

pub(crate) mod constant_rows;
pub(crate) mod files;
pub mod functions;
pub mod joins;
pub(crate) mod names;
pub(crate) mod servers;
pub mod stars;
