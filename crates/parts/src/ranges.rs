//! A part's file as the Parquet library reads it: ranges, whose pages are checked before anybody gets them.
//!
//! Invariant: no byte of a page goes to the library before the whole page passed [`PartFooter::check`]. Reads are positioned,
//! so many readers share one file. Must not know: what is read, and why.

use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::Bytes;
use host::DiskRead;
use model::saturating::usize_of;
use parking_lot::Mutex;

use crate::error::PartError;
use crate::footer::PartFooter;

/// Ranges of a part's file, checked as they are read. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct FileRanges {
    file: Arc<dyn DiskRead>,
    path: Arc<Path>,
    bytes: u64,
    /// How ranges are checked; without, they are not.
    footer: Option<Arc<PartFooter>>,
    /// The first damage that was found: the Parquet library passes on its text only.
    damage: Arc<Mutex<Option<PartError>>>,
}

impl FileRanges {
    pub(crate) fn new(file: Arc<dyn DiskRead>, path: &Path) -> io::Result<FileRanges> {
        let bytes = file.len()?;
        Ok(FileRanges { file, path: path.into(), bytes, footer: None, damage: Arc::default() })
    }

    /// The same ranges, whose pages are checked.
    pub(crate) fn checked_by(self, footer: Arc<PartFooter>) -> FileRanges {
        FileRanges { footer: Some(footer), ..self }
    }

    /// Bytes as they are.
    pub(crate) fn read(&self, range: &Range<u64>) -> io::Result<Bytes> {
        let length = usize_of(range.end.saturating_sub(range.start));
        if range.end > self.bytes {
            let message = format!("{length} bytes at {} of a file of {} bytes", range.start, self.bytes);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
        }
        self.file.read_bytes(range.start, length)
    }

    /// Takes the damage that an error of the library was about.
    pub(crate) fn take_damage(&self) -> Option<PartError> {
        self.damage.lock().take()
    }

    /// Bytes of pages, checked together with the rest of their pages.
    fn read_checked(&self, range: Range<u64>) -> ParquetResult<Bytes> {
        let external = |e: io::Error| ParquetError::External(Box::new(e));
        let Some(footer) = &self.footer else { return self.read(&range).map_err(external) };
        let checked = footer.pages_around(&range).and_then(|pages| {
            let bytes = self.read(&pages).map_err(|e| PartError::unreadable(footer.part(), &self.path, e))?;
            footer.check(pages.start, &bytes)?;
            Ok((pages, bytes))
        });
        let (pages, bytes) = checked.map_err(|error| {
            let message = error.to_string();
            self.damage.lock().get_or_insert(error);
            ParquetError::General(message)
        })?;
        let (begin, end) = (range.start - pages.start, range.end - pages.start);
        Ok(bytes.slice(usize::try_from(begin)?..usize::try_from(end)?))
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
        let left = usize_of(self.ranges.bytes.saturating_sub(self.at));
        let bytes = buf.len().min(left);
        let read = self.ranges.read_checked(self.at..self.at + bytes as u64).map_err(io::Error::other)?;
        buf[..bytes].copy_from_slice(&read);
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
        let end = start.checked_add(length as u64);
        let end = end.ok_or_else(|| ParquetError::EOF(format!("{length} bytes at {start} of a file")))?;
        self.read_checked(start..end)
    }
}
