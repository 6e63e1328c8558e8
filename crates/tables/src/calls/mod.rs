//! Calls of table functions and of settings inside a query, before it is planned: what they are given, and what they leave out.
//!
//! Invariant: each but `known`, the list of table functions, and `format_calls`, what one of them gives, rewrites one query, and
//! changes nothing else. Must not know: who runs it.

pub mod known;
pub mod query_calls;
pub mod setting_calls;
pub mod columns_asked;
pub mod computed;
pub mod explained;
pub mod file_filters;
pub mod format_calls;
pub mod source_defaults;
pub mod target_types;
