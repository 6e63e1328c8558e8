//! One file of the log: its name, its header, and reading its frames from front to back.
//!
//! ```text
//!  <first seq, 20 digits>.seg
//!   0  magic "GRISTSEG"      8      24  seq of the first record   8
//!   8  version               2      32  created, ms               8
//!  10  min_reader_version    2      40  id of the root           16   zeros before there were anchors
//!  12  salt                  4      56  zeros                     4
//!  16  stream                8      60  crc32c of bytes 0..60     4
//!                                   64  frames without gaps, then zeros to the end of the file
//! ```
//!
//! The header and the first zeros are durable before the first frame is written. So a file whose header does
//! not check and which holds nothing but zeros behind it was never used; with anything else behind it, it is
//! corrupt.
//!
//! Must not know: other segments, and whether a bad frame is the torn end (see [`crate::replay`]).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use host::{Disk, DiskRead};

use crate::error::LogError;
use crate::record::{self, BadFrame, Fields, HEADER_BYTES, Head, Record};

const MAGIC: [u8; 8] = *b"GRISTSEG";
const VERSION: u16 = 1;
/// Bytes before the first frame.
pub(crate) const SEGMENT_HEADER_BYTES: u64 = 64;
const CHECKED_BYTES: usize = 60;
/// Read ahead of the frames: one system call for about a thousand small records.
const WINDOW_BYTES: u64 = 1 << 20;
const ZEROS: [u8; 4096] = [0; 4096];

/// What the file says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    pub stream: u64,
    pub first_seq: u64,
    /// Milliseconds since 1970 UTC.
    pub created_ms: u64,
    pub root_id: [u8; 16],
    pub(crate) salt: u32,
}

/// Path of the segment that begins with `first_seq`.
pub(crate) fn path_of(dir: &Path, first_seq: u64) -> PathBuf {
    dir.join(format!("{first_seq:020}.seg"))
}

/// The first seq a file name tells; `None` for files that are no segments.
fn first_seq_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".seg")?;
    if digits.len() != 20 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// First seqs and bytes of all segments of a folder, ascending.
pub(crate) fn list(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<(u64, u64)>> {
    // Names have a fixed width, so the order of names is the order of numbers.
    Ok(disk
        .list(dir)?
        .iter()
        .filter(|entry| !entry.is_dir)
        .filter_map(|entry| Some((first_seq_of(&entry.name)?, entry.bytes)))
        .collect())
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&self.salt.to_le_bytes());
        for number in [self.stream, self.first_seq, self.created_ms] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.root_id);
        out.resize(CHECKED_BYTES, 0);
        out.extend_from_slice(&crc32c::crc32c(&out).to_le_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Result<Self, BadFrame> {
        let checked = crc32c::crc32c(bytes.get(..CHECKED_BYTES).ok_or(BadFrame::Short)?);
        let mut fields = Fields { rest: bytes };
        if fields.take()? != MAGIC {
            return Err(BadFrame::NoMagic);
        }
        let _version: [u8; 2] = fields.take()?;
        let min_reader_version = u16::from_le_bytes(fields.take()?);
        let salt = u32::from_le_bytes(fields.take()?);
        let mut number = || -> Result<u64, BadFrame> { Ok(u64::from_le_bytes(fields.take()?)) };
        let (stream, first_seq, created_ms) = (number()?, number()?, number()?);
        let header = Self { salt, stream, first_seq, created_ms, root_id: fields.take()? };
        let _zeros: [u8; 4] = fields.take()?;
        if u32::from_le_bytes(fields.take()?) != checked {
            return Err(BadFrame::HeaderChecksum);
        }
        if min_reader_version > VERSION {
            return Err(BadFrame::TooNew(min_reader_version));
        }
        Ok(header)
    }
}

/// A segment being read.
#[derive(Debug)]
pub(crate) struct SegmentReader {
    pub(crate) path: PathBuf,
    pub(crate) header: SegmentHeader,
    file: Arc<dyn DiskRead>,
    /// Length of the file.
    pub(crate) bytes: u64,
    /// Where the next frame begins.
    pub(crate) at: u64,
    window: Bytes,
    window_at: u64,
}

/// A frame found where it should be.
#[derive(Debug)]
pub(crate) struct Framed {
    pub(crate) offset: u64,
    pub(crate) frame: Bytes,
    pub(crate) record: Record,
}

/// What is behind the last good frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Remains {
    /// End of the last byte that is not zero; the reader's position when all are.
    pub(crate) end: u64,
    /// Offset and seq of a sound frame header of a later record: the bad frame is then not the torn end.
    pub(crate) later: Option<(u64, u64)>,
}

impl SegmentReader {
    /// Opens a segment; `None` when the file was created but never used.
    pub(crate) fn open(disk: &dyn Disk, path: &Path) -> Result<Option<Self>, LogError> {
        let io_error = |source| LogError::Io { path: path.to_owned(), source };
        let file = disk.open_read(path).map_err(io_error)?;
        let bytes = file.len().map_err(io_error)?;
        let empty = SegmentHeader { stream: 0, first_seq: 0, created_ms: 0, root_id: [0; 16], salt: 0 };
        let (window, window_at) = (Bytes::new(), 0);
        let mut reader = Self { path: path.to_owned(), header: empty, file, bytes, at: 0, window, window_at };
        let head = reader.peek(0, SEGMENT_HEADER_BYTES.min(bytes)).map_err(io_error)?;
        reader.at = SEGMENT_HEADER_BYTES;
        match SegmentHeader::decode(&head) {
            Ok(header) => reader.header = header,
            Err(BadFrame::TooNew(version)) => return Err(reader.too_new(version)),
            Err(_) if reader.remains(u64::MAX)?.end == SEGMENT_HEADER_BYTES => return Ok(None),
            Err(why) => return Err(reader.corrupt(0, format!("segment header: {why}"))),
        }
        Ok(Some(reader))
    }

    /// The next frame, or why there is none; the position moves only past a good one.
    pub(crate) fn next(&mut self) -> Result<Result<Framed, BadFrame>, LogError> {
        let offset = self.at;
        let head = match self.head_at(offset)? {
            Ok(head) => head,
            Err(BadFrame::TooNew(version)) => return Err(self.too_new(version)),
            Err(why) => return Ok(Err(why)),
        };
        let frame_bytes = u64::from(head.frame_bytes);
        if offset.saturating_add(frame_bytes) > self.bytes {
            return Ok(Err(BadFrame::Short));
        }
        // A copy of its own, so that who keeps a transaction keeps one frame in memory and not a window.
        let frame = Bytes::copy_from_slice(&self.peek(offset, frame_bytes).map_err(|e| self.io_error(e))?);
        match record::decode(&frame, self.header.salt) {
            Ok(record) => {
                self.at = offset + frame_bytes;
                Ok(Ok(Framed { offset, frame, record }))
            }
            Err(why) => Ok(Err(why)),
        }
    }

    /// Looks through everything behind the position for bytes that are not zero and for frames of records
    /// after `seq`.
    pub(crate) fn remains(&mut self, seq: u64) -> Result<Remains, LogError> {
        let mut remains = Remains { end: self.at, later: None };
        let mut from = self.at;
        while from < self.bytes {
            let window =
                self.peek(from, WINDOW_BYTES.min(self.bytes - from)).map_err(|e| self.io_error(e))?;
            for chunk in window.chunks(ZEROS.len()) {
                // Nearly all of it is zeros, and comparing pages is fast.
                if chunk != &ZEROS[..chunk.len()] {
                    self.look_through(chunk, from, seq, &mut remains)?;
                }
                from += u64::try_from(chunk.len()).unwrap_or(WINDOW_BYTES);
            }
        }
        Ok(remains)
    }

    fn look_through(
        &mut self,
        chunk: &[u8],
        from: u64,
        seq: u64,
        remains: &mut Remains,
    ) -> Result<(), LogError> {
        for (i, byte) in chunk.iter().enumerate().filter(|(_, byte)| **byte != 0) {
            let offset = from + u64::try_from(i).unwrap_or(0);
            remains.end = offset + 1;
            if *byte == record::MAGIC[0] && remains.later.is_none() && seq < u64::MAX {
                remains.later = self.later_head(offset, seq)?;
            }
        }
        Ok(())
    }

    fn later_head(&mut self, offset: u64, seq: u64) -> Result<Option<(u64, u64)>, LogError> {
        let head = match self.head_at(offset)? {
            Ok(head) => head,
            // Its checksum is right, so it is a record, and not this program's to judge or to cut off.
            Err(BadFrame::TooNew(version)) => return Err(self.too_new(version)),
            Err(_) => return Ok(None),
        };
        let envelope = head.envelope;
        Ok((envelope.stream == self.header.stream && envelope.seq > seq).then_some((offset, envelope.seq)))
    }

    fn head_at(&mut self, offset: u64) -> Result<Result<Head, BadFrame>, LogError> {
        let header = u64::try_from(HEADER_BYTES).unwrap_or(u64::MAX);
        let bytes = header.min(self.bytes.saturating_sub(offset));
        let bytes = self.peek(offset, bytes).map_err(|e| self.io_error(e))?;
        Ok(record::decode_head(&bytes, self.header.salt))
    }

    /// `bytes` bytes from `offset`, which must lie within the file.
    fn peek(&mut self, offset: u64, bytes: u64) -> io::Result<Bytes> {
        let held = u64::try_from(self.window.len()).unwrap_or(0);
        if offset < self.window_at || offset + bytes > self.window_at + held {
            let wanted = bytes.max(WINDOW_BYTES).min(self.bytes.saturating_sub(offset));
            self.window = self.file.read_bytes(offset, usize::try_from(wanted).map_err(io::Error::other)?)?;
            self.window_at = offset;
        }
        let from = usize::try_from(offset - self.window_at).map_err(io::Error::other)?;
        let to = from + usize::try_from(bytes).map_err(io::Error::other)?;
        if to > self.window.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(self.window.slice(from..to))
    }

    pub(crate) fn corrupt(&self, offset: u64, what: String) -> LogError {
        LogError::Corruption { path: self.path.clone(), offset, what }
    }

    fn too_new(&self, min_reader_version: u16) -> LogError {
        LogError::TooNew { path: self.path.clone(), min_reader_version }
    }

    fn io_error(&self, source: io::Error) -> LogError {
        LogError::Io { path: self.path.clone(), source }
    }
}
