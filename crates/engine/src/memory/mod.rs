//! The one budget of memory, as DataFusion and tasks of a statement meet it.
//!
//! Must not know: statements, plans.

pub(crate) mod pool;
pub(crate) mod tasks;
pub(crate) mod room;
