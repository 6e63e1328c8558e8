//! Parquet as the file format of parts: files, settings, statistics.
//!
//! Invariant: what differs between this format and another one is in this folder, `writer.rs` and `reader.rs`.

pub(crate) mod file;
pub(crate) mod footer_sum;
pub(crate) mod page_header;
pub(crate) mod page_places;
pub(crate) mod page_sums;
mod packed_pages;
pub(crate) mod summed_pages;
mod page_limits;
pub(crate) mod text_chunk;
pub(crate) mod properties;
mod copied_bounds;
pub(crate) mod spliced_chunk;
pub(crate) mod stats;
