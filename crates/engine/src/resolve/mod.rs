//! Names and calls of a statement made into tables: the catalog, system tables, views, files and objects outside.
//!
//! Invariant: all I/O before a plan is made happens here. Must not know: how a plan runs.

pub(crate) mod format_table;
pub(crate) mod function_tables;
pub(crate) mod system;
pub(crate) mod materialized;
pub(crate) mod read_by_views;
pub(crate) mod schemas;
pub(crate) mod calls;
pub(crate) mod outside;
pub(crate) mod merged;
pub(crate) mod query_functions;
pub(crate) mod views;
