//! Statements that answer with rows: SELECT, SHOW, KILL, and what EXPLAIN says of sources.
//!
//! Must not know: how answers are written.

pub(crate) mod elsewhere;
pub(crate) mod spreading;
mod named;
pub(crate) mod select;
pub(crate) mod constant_calls;
pub(crate) mod kill;
pub(crate) mod load_source;
pub(crate) mod show;
pub(crate) mod explain_sources;
