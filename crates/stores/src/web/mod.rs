//! Pages of `url()`: their addresses, what is kept of them, and all of them as a store.
//!
//! Invariant: a page is looked at once, and shown without its query string. Must not know: buckets, formats.

pub mod location;
pub mod spool;
pub(crate) mod store;
