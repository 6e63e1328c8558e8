//! Counters of what has been read, shared by every stream of a statement.
//!
//! Invariant: counters only grow; `bytes_read` counts bytes that arrived, `bytes_total` bytes of the files chosen.

use std::sync::atomic::{AtomicU64, Ordering};

use model::saturating::u64_of;

#[derive(Debug, Default)]
pub struct ReadProgress {
    bytes_total: AtomicU64,
    bytes_read: AtomicU64,
    rows_total: AtomicU64,
    rows_read: AtomicU64,
    files_total: AtomicU64,
    files_done: AtomicU64,
    requests: AtomicU64,
}

/// The counters at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReadCounts {
    /// Bytes expected to be read, from the listing.
    pub bytes_total: u64,
    /// Bytes that arrived, compressed as they are stored.
    pub bytes_read: u64,
    /// Rows expected, where metadata tells; 0 if unknown.
    pub rows_total: u64,
    /// Rows decoded.
    pub rows_read: u64,
    pub files_total: u64,
    /// Files read to their end by one stream; a file cut into units is not counted.
    pub files_done: u64,
    /// LIST, HEAD and GET requests asked for (retries not counted).
    pub requests: u64,
}

impl ReadProgress {
    pub fn add_expected(&self, files: u64, bytes: u64, rows: u64) {
        self.files_total.fetch_add(files, Ordering::Relaxed);
        self.bytes_total.fetch_add(bytes, Ordering::Relaxed);
        self.rows_total.fetch_add(rows, Ordering::Relaxed);
    }

    pub fn add_bytes(&self, bytes: u64) {
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn add_rows(&self, rows: usize) {
        self.rows_read.fetch_add(u64_of(rows), Ordering::Relaxed);
    }

    pub fn add_file_done(&self) {
        self.files_done.fetch_add(1, Ordering::Relaxed);
    }

    pub fn add_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub fn bytes_total(&self) -> u64 {
        self.counts().bytes_total
    }

    pub fn bytes_read(&self) -> u64 {
        self.counts().bytes_read
    }

    pub fn rows_total(&self) -> u64 {
        self.counts().rows_total
    }

    pub fn rows_read(&self) -> u64 {
        self.counts().rows_read
    }

    pub fn counts(&self) -> ReadCounts {
        ReadCounts {
            bytes_total: self.bytes_total.load(Ordering::Relaxed),
            bytes_read: self.bytes_read.load(Ordering::Relaxed),
            rows_total: self.rows_total.load(Ordering::Relaxed),
            rows_read: self.rows_read.load(Ordering::Relaxed),
            files_total: self.files_total.load(Ordering::Relaxed),
            files_done: self.files_done.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
        }
    }
}
