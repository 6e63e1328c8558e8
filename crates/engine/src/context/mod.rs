//! What outlives a statement (`services`, and `database` around them), and what one statement runs with (`execution`).
//!
//! Must not know: what a statement does.

pub(crate) mod services;
pub mod database;
pub mod figures;
pub(crate) mod execution;
pub(crate) mod servers;
pub(crate) mod session_state;
pub(crate) mod collections;
pub(crate) mod limits;
pub(crate) mod pressure;
pub(crate) mod source_settings;
