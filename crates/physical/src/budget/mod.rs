//! What a statement may use while DataFusion works for it: memory of its operators, the account of its tasks, room for the
//! constants that planning computes.
//!
//! Must not know: statements, what is planned.

pub mod pool;
pub mod tasks;
pub mod sparing;
