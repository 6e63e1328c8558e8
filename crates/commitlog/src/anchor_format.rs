//! The bytes of an anchor: what is known to be durable, written down beside the log.
//!
//! ```text
//!   0  magic "GRISTANC"      8      72  first seq of the newest segment  8
//!   8  version               2      80  bytes that segment has at least  8
//!  10  min_reader_version    2      88  first seq that must be there     8
//!  12  zeros                 4      96  seq of the newest checkpoint     8
//!  16  id of the root       16     104  nothing is collected until, ms   8
//!  32  generation            8     112  written, ms                      8
//!  40  stream                8     120  zeros                          388
//!  48  seq known as synced   8     508  crc32c of bytes 0..508           4
//!  56  hash of its frame    16
//! ```
//!
//! One sector, so that a write of it happens or does not. Numbers are little-endian.
//! Invariant: [`Anchor::decode`] accepts exactly what [`Anchor::encode`] made. Must not know: files.

use crate::record::{BadFrame, Fields};

const MAGIC: [u8; 8] = *b"GRISTANC";
/// Version this program writes, and the newest it reads.
pub const VERSION: u16 = 1;
/// Bytes of an anchor.
pub const ANCHOR_BYTES: usize = 512;
const CHECKED_BYTES: usize = ANCHOR_BYTES - 4;

/// What was durable when it was written. All of it stays true for ever: a log only grows, and what may be deleted is
/// taken back here before it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Anchor {
    pub root_id: [u8; 16],
    /// The copy with the higher one is the newer.
    pub generation: u64,
    pub stream: u64,
    /// This record, and all before it, were synced; 0 when there was none.
    pub synced_seq: u64,
    /// [`crate::record::hash`] of the frame of that record.
    pub synced_hash: [u8; 16],
    /// A segment that begins with this record or a later one is there; 0 when there was none.
    pub newest_segment: u64,
    pub newest_segment_bytes: u64,
    /// Records from here on are in the log; those before are covered by two checkpoints.
    pub needed_from: u64,
    /// A checkpoint of this seq or a later one is there; 0 when there was none.
    pub checkpoint_seq: u64,
    /// Damage was found: no file is deleted before, milliseconds since 1970 UTC.
    pub held_until_ms: u64,
    pub written_ms: u64,
}

impl Anchor {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.root_id);
        for number in [self.generation, self.stream, self.synced_seq] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.synced_hash);
        let numbers = [
            self.newest_segment,
            self.newest_segment_bytes,
            self.needed_from,
            self.checkpoint_seq,
            self.held_until_ms,
            self.written_ms,
        ];
        for number in numbers {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.resize(CHECKED_BYTES, 0);
        out.extend_from_slice(&crc32c::crc32c(&out).to_le_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Anchor, BadFrame> {
        let bytes = bytes.get(..ANCHOR_BYTES).ok_or(BadFrame::Short)?;
        let (checked, checksum) = bytes.split_at(CHECKED_BYTES);
        let mut fields = Fields { rest: checked };
        if fields.take()? != MAGIC {
            return Err(BadFrame::NoMagic);
        }
        if u32::from_le_bytes(Fields { rest: checksum }.take()?) != crc32c::crc32c(checked) {
            return Err(BadFrame::HeaderChecksum);
        }
        let _version: [u8; 2] = fields.take()?;
        let min_reader_version = u16::from_le_bytes(fields.take()?);
        if min_reader_version > VERSION {
            return Err(BadFrame::TooNew(min_reader_version));
        }
        let _zeros: [u8; 4] = fields.take()?;
        let root_id = fields.take()?;
        let mut number = || -> Result<u64, BadFrame> { Ok(u64::from_le_bytes(fields.take()?)) };
        let (generation, stream, synced_seq) = (number()?, number()?, number()?);
        let synced_hash = fields.take()?;
        let mut number = || -> Result<u64, BadFrame> { Ok(u64::from_le_bytes(fields.take()?)) };
        Ok(Anchor {
            root_id,
            generation,
            stream,
            synced_seq,
            synced_hash,
            newest_segment: number()?,
            newest_segment_bytes: number()?,
            needed_from: number()?,
            checkpoint_seq: number()?,
            held_until_ms: number()?,
            written_ms: number()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Anchor {
        Anchor {
            root_id: *b"0123456789abcdef",
            generation: 1,
            stream: 2,
            synced_seq: 3,
            synced_hash: *b"fedcba9876543210",
            newest_segment: 4,
            newest_segment_bytes: 5,
            needed_from: 6,
            checkpoint_seq: 7,
            held_until_ms: 8,
            written_ms: 9,
        }
    }

    #[test]
    fn an_anchor_is_one_sector_and_reads_back() {
        let bytes = sample().encode();
        assert_eq!(bytes.len(), ANCHOR_BYTES);
        assert_eq!(Anchor::decode(&bytes), Ok(sample()));
        assert_eq!(xxhash_rust::xxh3::xxh3_64(&bytes), 0x1404_17d9_75c6_b514, "the bytes of version 1 stay");
    }

    #[test]
    fn any_flipped_byte_and_any_cut_is_refused_and_a_newer_one_says_so() {
        let bytes = sample().encode();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x20;
            assert!(Anchor::decode(&flipped).is_err(), "byte {at}");
            assert_eq!(Anchor::decode(&bytes[..at]), Err(BadFrame::Short));
        }
        let mut newer = bytes[..CHECKED_BYTES].to_vec();
        newer[10] = 2;
        let checksum = crc32c::crc32c(&newer).to_le_bytes();
        newer.extend_from_slice(&checksum);
        assert_eq!(Anchor::decode(&newer), Err(BadFrame::TooNew(2)));
    }
}
