//! What outlives a statement (`database`), and what one statement runs with (`statement`).
//!
//! Must not know: what a statement does.

pub mod database;
pub mod figures;
pub(crate) mod statement;
pub(crate) mod collections;
pub(crate) mod limits;
pub(crate) mod pressure;
pub(crate) mod source_settings;
