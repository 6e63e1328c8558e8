//! Calls of table functions as data: `s3(...)`, `gcs(...)`, `azureBlobStorage(...)`, `url(...)`, `file(...)`; which argument means
//! what, which format is meant, and what may be shown of it.
//!
//! Invariant: pure; no error and nothing shown holds a secret. Must not know: clients, columns.

pub mod urls;
pub mod format;
pub mod signatures;
pub(crate) mod showing;
pub mod arguments;
pub mod collections;
pub(crate) mod sorting;
