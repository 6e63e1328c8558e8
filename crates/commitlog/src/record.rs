//! The frame of one record.
//!
//! ```text
//!   0  magic "GRRC"            4        48  record uuid            16
//!   4  version                 2        64  previous frame's hash  16   xxh3-128; zeros before the first
//!   6  min_reader_version      2        80  header checksum         4   crc32c of bytes 0..80
//!   8  frame bytes, all of it  4        84  transactions: each  4 bytes of length, then its bytes
//!  12  transactions, count     4       n-4  frame checksum          4   crc32c of bytes 0..n-4
//!  16  stream                  8
//!  24  seq                     8       Numbers are little-endian. The first 84 bytes are frozen for ever:
//!  32  epoch                   8       every later version keeps them, so every program can tell a record it
//!  40  commit time, ms         8       cannot read from a damaged one.
//! ```
//!
//! Both checksums start from the *salt* of the file the frame lies in (0 where a record is an object of its
//! own). Rows in a transaction may contain bytes that imitate a frame; without the salt, which a client
//! cannot know, a search for frames behind a damaged one could be fooled by them.
//!
//! The header's own checksum makes the length trustworthy before the body is read: a header that does not
//! check is enough to reject a torn end.
//!
//! Invariant: [`decode`] accepts exactly what [`encode`] made, bit for bit.
//! Must not know: files, and what a transaction means.

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_128;

/// Version this program writes, and the newest it reads.
pub const VERSION: u16 = 1;
/// Oldest program that can read what this one writes.
const MIN_READER_VERSION: u16 = 1;
/// First bytes of every frame.
pub const MAGIC: [u8; 4] = *b"GRRC";
/// Bytes before the transactions.
pub const HEADER_BYTES: usize = 84;
const HEADER_CHECKED_BYTES: usize = 80;
const CHECKSUM_BYTES: usize = 4;

/// What stands around the transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    pub stream: u64,
    pub seq: u64,
    pub epoch: u64,
    /// Wall clock of the writer, milliseconds since 1970 UTC; for people, never for order.
    pub commit_time_ms: u64,
    pub uuid: [u8; 16],
    /// [`hash`] of the frame before.
    pub previous_hash: [u8; 16],
}

/// A frame taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub envelope: Envelope,
    /// Slices of the frame.
    pub transactions: Vec<Bytes>,
}

/// A header whose checksum is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub envelope: Envelope,
    /// Bytes of the whole frame.
    pub frame_bytes: u32,
    transactions: u32,
}

/// Why bytes are not a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    #[error("the bytes end before the frame does")]
    Short,
    #[error("no frame begins here")]
    NoMagic,
    #[error("header checksum does not match")]
    HeaderChecksum,
    #[error("frame checksum does not match")]
    FrameChecksum,
    /// The checksums match but the lengths inside do not add up: a bug of the writer.
    #[error("lengths inside the frame do not add up")]
    Lengths,
    #[error("record version {0} is needed to read the frame")]
    TooNew(u16),
}

/// Bytes of the frame of these transactions.
pub fn frame_bytes(transactions: &[Bytes]) -> u64 {
    let body: u64 = transactions.iter().map(|t| 4 + u64::try_from(t.len()).unwrap_or(u64::MAX >> 16)).sum();
    84 + body + 4
}

/// Writes a frame to `out`, which is cleared first.
///
/// # Errors
/// A length does not fit its field: the record has 4 GiB or more; its bytes are returned.
pub fn encode(envelope: &Envelope, transactions: &[Bytes], salt: u32, out: &mut Vec<u8>) -> Result<(), u64> {
    let bytes = frame_bytes(transactions);
    let frame = u32::try_from(bytes).map_err(|_| bytes)?;
    let count = u32::try_from(transactions.len()).map_err(|_| bytes)?;
    out.clear();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&MIN_READER_VERSION.to_le_bytes());
    out.extend_from_slice(&frame.to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    for number in [envelope.stream, envelope.seq, envelope.epoch, envelope.commit_time_ms] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&envelope.uuid);
    out.extend_from_slice(&envelope.previous_hash);
    out.extend_from_slice(&crc32c::crc32c_append(salt, out).to_le_bytes());
    for transaction in transactions {
        let length = u32::try_from(transaction.len()).map_err(|_| bytes)?;
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(transaction);
    }
    out.extend_from_slice(&crc32c::crc32c_append(salt, out).to_le_bytes());
    Ok(())
}

/// Reads the first [`HEADER_BYTES`] of a frame.
///
/// # Errors
/// They are not a header, or one for a newer program.
pub fn decode_head(bytes: &[u8], salt: u32) -> Result<Head, BadFrame> {
    let header = bytes.get(..HEADER_BYTES).ok_or(BadFrame::Short)?;
    let mut fields = Fields { rest: header };
    if fields.take::<4>()? != MAGIC {
        return Err(BadFrame::NoMagic);
    }
    let _version = fields.take::<2>()?;
    let min_reader_version = u16::from_le_bytes(fields.take()?);
    let frame_bytes = u32::from_le_bytes(fields.take()?);
    let transactions = u32::from_le_bytes(fields.take()?);
    let mut number = || -> Result<u64, BadFrame> { Ok(u64::from_le_bytes(fields.take()?)) };
    let (stream, seq, epoch, commit_time_ms) = (number()?, number()?, number()?, number()?);
    let (uuid, previous_hash) = (fields.take()?, fields.take()?);
    let checked = crc32c::crc32c_append(salt, &header[..HEADER_CHECKED_BYTES]);
    if u32::from_le_bytes(fields.take()?) != checked {
        return Err(BadFrame::HeaderChecksum);
    }
    if min_reader_version > VERSION {
        return Err(BadFrame::TooNew(min_reader_version));
    }
    let envelope = Envelope { stream, seq, epoch, commit_time_ms, uuid, previous_hash };
    Ok(Head { envelope, frame_bytes, transactions })
}

/// Takes a whole frame apart; `frame` must be exactly its bytes.
///
/// # Errors
/// The bytes are not exactly one frame.
pub fn decode(frame: &Bytes, salt: u32) -> Result<Record, BadFrame> {
    let head = decode_head(frame, salt)?;
    let length = u32::try_from(frame.len()).map_err(|_| BadFrame::Lengths)?;
    if length < head.frame_bytes {
        return Err(BadFrame::Short);
    }
    let end =
        frame.len().checked_sub(CHECKSUM_BYTES).filter(|end| *end >= HEADER_BYTES).ok_or(BadFrame::Short)?;
    if length != head.frame_bytes {
        return Err(BadFrame::Lengths);
    }
    let mut checksum = Fields { rest: &frame[end..] };
    if u32::from_le_bytes(checksum.take()?) != crc32c::crc32c_append(salt, &frame[..end]) {
        return Err(BadFrame::FrameChecksum);
    }
    let mut transactions = Vec::new();
    let mut at = HEADER_BYTES;
    for _ in 0..head.transactions {
        let mut fields = Fields { rest: frame.get(at..end).ok_or(BadFrame::Lengths)? };
        let length = u32::from_le_bytes(fields.take().map_err(|_| BadFrame::Lengths)?);
        let from = at + 4;
        let to = usize::try_from(length).ok().and_then(|length| from.checked_add(length));
        at = to.filter(|to| *to <= end).ok_or(BadFrame::Lengths)?;
        transactions.push(frame.slice(from..at));
    }
    if at != end {
        return Err(BadFrame::Lengths);
    }
    Ok(Record { envelope: head.envelope, transactions })
}

/// What the next record names as the one before it.
pub fn hash(frame: &[u8]) -> [u8; 16] {
    xxh3_128(frame).to_le_bytes()
}

/// Reads fixed-width fields one after the other.
pub(crate) struct Fields<'a> {
    pub(crate) rest: &'a [u8],
}

impl Fields<'_> {
    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], BadFrame> {
        let (field, rest) = self.rest.split_first_chunk::<N>().ok_or(BadFrame::Short)?;
        self.rest = rest;
        Ok(*field)
    }
}

#[cfg(test)]
mod tests;
