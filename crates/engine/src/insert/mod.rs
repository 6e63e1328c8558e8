//! Rows into tables: from VALUES, from bodies in a format, from queries and from files beside the client.
//!
//! Invariant: a statement's rows become visible together or not at all. Must not know: tables outside.

pub(crate) mod values;
pub(crate) mod rows;
pub(crate) mod sink_settings;
mod planned_sinks;
pub(crate) mod named;
mod staging;
pub(crate) mod with_views;
mod drained;
pub(crate) mod into_table;
