//! How large a page of a part becomes.
//!
//! Invariant: every writer of pages keeps to both. Must not know: what is in a page.

/// Rows of a page: as many as ClickHouse has in a granule, so that pruning is as fine. The library knows one limit for all
/// columns of a file; the cost for the others is an index entry of about 20 bytes per page.
pub(super) const PAGE_ROWS_MAX: usize = 8192;

/// Bytes of a page before compression. Just above 256 KiB zstd changes to parameters that are quicker both ways for text;
/// larger pages pack better still, but a merge of 100 inputs holds one page of each.
pub(super) const PAGE_BYTES_MAX: usize = 512 * 1024;
