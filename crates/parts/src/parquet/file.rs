//! A part's file as the Parquet library wants it: a stream to write, ranges to read.
//!
//! Invariant: every byte written is in the checksum, in order. Reads are positioned, so many readers share one file.

use std::io::{self, Read, Write};
use std::sync::Arc;

use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::Bytes;
use host::{DiskFile, DiskRead};
use xxhash_rust::xxh3::Xxh3;

/// Pages are larger and go straight to the disk; headers and footers are gathered.
const BUFFER_BYTES: usize = 128 * 1024;

/// Writes a file once, front to back, and sums it up.
pub(crate) struct ChecksummedFile {
    file: Box<dyn DiskFile>,
    waiting: Vec<u8>,
    hash: Xxh3,
    bytes: u64,
}

impl ChecksummedFile {
    pub(crate) fn new(file: Box<dyn DiskFile>) -> ChecksummedFile {
        ChecksummedFile { file, waiting: Vec::with_capacity(BUFFER_BYTES), hash: Xxh3::new(), bytes: 0 }
    }

    /// Ends the file; returns its length and XXH3-64.
    pub(crate) fn end(&mut self) -> io::Result<(u64, u64)> {
        self.flush()?;
        Ok((self.bytes, self.hash.digest()))
    }

    /// Lets the disk begin with what was written.
    pub(crate) fn start_sync(&mut self) {
        self.file.start_sync();
    }

    /// Makes everything that was flushed durable.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
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

/// Ranges of an open file.
#[derive(Clone, Debug)]
pub(crate) struct FileRanges {
    file: Arc<dyn DiskRead>,
    bytes: u64,
}

impl FileRanges {
    pub(crate) fn new(file: Arc<dyn DiskRead>) -> io::Result<FileRanges> {
        let bytes = file.len()?;
        Ok(FileRanges { file, bytes })
    }
}

impl Length for FileRanges {
    fn len(&self) -> u64 {
        self.bytes
    }
}

/// Reads on from a position.
pub(crate) struct RangeReader {
    ranges: FileRanges,
    at: u64,
}

impl Read for RangeReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.ranges.bytes.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let bytes = buf.len().min(left);
        self.ranges.file.read_at(self.at, &mut buf[..bytes])?;
        self.at += bytes as u64;
        Ok(bytes)
    }
}

impl ChunkReader for FileRanges {
    type T = io::BufReader<RangeReader>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(io::BufReader::new(RangeReader { ranges: self.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            let message = format!("{length} bytes at {start} of a file of {} bytes", self.bytes);
            return Err(ParquetError::EOF(message));
        }
        self.file.read_bytes(start, length).map_err(|e| ParquetError::External(Box::new(e)))
    }
}
