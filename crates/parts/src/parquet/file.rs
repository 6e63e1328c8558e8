//! A part's file as the Parquet library writes it: a stream.
//!
//! Invariant: every byte written is in the checksum, in order.

use std::io::{self, Write};

use model::FileTail;
use xxhash_rust::xxh3::Xxh3;

use crate::error::PartError;
use crate::storage::UnsealedFile;

/// Pages are larger and go straight to the disk; headers and footers are gathered.
const BUFFER_BYTES: usize = 128 * 1024;

/// Writes a file once, front to back, and sums it up.
pub(crate) struct ChecksummedFile {
    file: Box<dyn UnsealedFile>,
    waiting: Vec<u8>,
    hash: Xxh3,
    /// Where the tail began, and its own sum.
    tail: Option<(u64, Xxh3)>,
    bytes: u64,
}

impl ChecksummedFile {
    pub(crate) fn new(file: Box<dyn UnsealedFile>) -> ChecksummedFile {
        let waiting = Vec::with_capacity(BUFFER_BYTES);
        ChecksummedFile { file, waiting, hash: Xxh3::new(), tail: None, bytes: 0 }
    }

    /// What follows is no page any more.
    pub(crate) fn begin_tail(&mut self) {
        self.tail = Some((self.bytes, Xxh3::new()));
    }

    /// Ends the file; returns its length, its XXH3-64 and that of its tail.
    pub(crate) fn end(&mut self) -> io::Result<(u64, u64, Option<FileTail>)> {
        self.flush()?;
        self.file.end();
        let tail = self.tail.as_ref();
        let tail = tail.map(|(begin, hash)| FileTail { begin: *begin, checksum: hash.digest() });
        Ok((self.bytes, self.hash.digest(), tail))
    }

    /// Lets the disk begin with what was written.
    pub(crate) fn start_sync(&mut self) {
        self.file.start_sync();
    }

    /// Makes everything that was flushed durable, and then the file's name.
    pub(crate) fn seal(&mut self) -> Result<(), PartError> {
        self.file.seal()
    }
}

impl Write for ChecksummedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.waiting.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        if bytes.len() >= BUFFER_BYTES {
            self.file.append(bytes)?;
        } else {
            self.waiting.extend_from_slice(bytes);
        }
        self.hash.update(bytes);
        if let Some((_, hash)) = &mut self.tail {
            hash.update(bytes);
        }
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.file.append(&self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }
}
