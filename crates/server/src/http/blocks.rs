//! ClickHouse's own compression, of `compress=1` and `decompress=1`.
//!
//! ```text
//! ┌ 16 bytes ──────────────┬ 1 ─────┬ 4 ──────────────────┬ 4 ────────┬ ..
//! │ CityHash128 of the rest │ method │ bytes of header+data │ raw bytes │ data
//! └────────────────────────┴────────┴─────────────────────┴───────────┴ ..      numbers are little-endian
//! ```
//! Invariant: what a block declares is checked before memory is taken for it, and its checksum before it is read.

use bytes::{Buf, Bytes, BytesMut};
use engine::coding::city_hash_128;
use engine::{BodyStream, Error, ErrorCode, ErrorKind};
use futures::{StreamExt, stream};

const CHECKSUM_BYTES: usize = 16;
const HEADER_BYTES: usize = 9;
const NONE: u8 = 0x02;
const LZ4: u8 = 0x82;
const ZSTD: u8 = 0x90;
/// ClickHouse's limit.
const BLOCK_BYTES_MAX: usize = 1 << 30;
/// Raw bytes that make a block of ours.
const RAW_BYTES: usize = 1 << 20;

/// Compresses an answer, LZ4.
#[derive(Default)]
pub(crate) struct BlockWriter {
    raw: Vec<u8>,
}

impl BlockWriter {
    /// Takes bytes; full blocks are appended to `out`.
    pub(crate) fn push(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while self.raw.len() + bytes.len() >= RAW_BYTES {
            let (head, rest) = bytes.split_at(RAW_BYTES - self.raw.len());
            self.raw.extend_from_slice(head);
            self.flush(out);
            bytes = rest;
        }
        self.raw.extend_from_slice(bytes);
    }

    /// Appends what is held as a block.
    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) {
        if self.raw.is_empty() {
            return;
        }
        let packed = lz4_flex::block::compress(&self.raw);
        let start = out.len();
        out.extend_from_slice(&[0; CHECKSUM_BYTES]);
        out.push(LZ4);
        out.extend_from_slice(&length(packed.len() + HEADER_BYTES).to_le_bytes());
        out.extend_from_slice(&length(self.raw.len()).to_le_bytes());
        out.extend_from_slice(&packed);
        let (low, high) = city_hash_128(&out[start + CHECKSUM_BYTES..]);
        out[start..start + 8].copy_from_slice(&low.to_le_bytes());
        out[start + 8..start + CHECKSUM_BYTES].copy_from_slice(&high.to_le_bytes());
        self.raw.clear();
    }
}

/// Blocks are far below 4 GiB.
fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// The body without its blocks.
pub(crate) fn unpacked(body: BodyStream) -> BodyStream {
    let state = (body, BytesMut::new(), false);
    let blocks = stream::try_unfold(state, |(mut body, mut held, mut ended)| async move {
        loop {
            if let Some(block) = next_block(&mut held)? {
                return Ok(Some((block, (body, held, ended))));
            }
            if ended {
                return if held.is_empty() {
                    Ok(None)
                } else {
                    Err(bad(ErrorCode::CANNOT_READ_ALL_DATA, "the body ends inside a compressed block"))
                };
            }
            match body.next().await {
                Some(chunk) => held.extend_from_slice(&chunk?),
                None => ended = true,
            }
        }
    });
    blocks.boxed()
}

/// The next block's raw bytes; `None` when it is not all there.
fn next_block(held: &mut BytesMut) -> Result<Option<Bytes>, Error> {
    let Some(header) = held.get(CHECKSUM_BYTES..CHECKSUM_BYTES + HEADER_BYTES) else { return Ok(None) };
    let (method, mut sizes) = (header[0], &header[1..]);
    let size = usize::try_from(sizes.get_u32_le()).unwrap_or(usize::MAX);
    let raw_size = usize::try_from(sizes.get_u32_le()).unwrap_or(usize::MAX);
    if !(HEADER_BYTES..=BLOCK_BYTES_MAX).contains(&size) || raw_size > BLOCK_BYTES_MAX {
        let message = format!("a compressed block declares {size} bytes, {raw_size} raw");
        return Err(bad(ErrorCode::TOO_LARGE_SIZE_COMPRESSED, message)
            .with_hint("decompress=1 is for bodies in ClickHouse's own compressed blocks"));
    }
    if held.len() < CHECKSUM_BYTES + size {
        return Ok(None);
    }
    let mut block = held.split_to(CHECKSUM_BYTES + size).freeze();
    let declared = (block.get_u64_le(), block.get_u64_le());
    if city_hash_128(&block) != declared {
        return Err(bad(
            ErrorCode::CHECKSUM_DOESNT_MATCH,
            "the checksum of a compressed block is not that of its bytes",
        ));
    }
    let data = block.split_off(HEADER_BYTES);
    let unpacked = |error: String| {
        bad(ErrorCode::CANNOT_DECOMPRESS, format!("a compressed block cannot be read: {error}"))
    };
    let raw = match method {
        NONE => data,
        // A byte of LZ4 makes at most 255: what declares more is not read.
        LZ4 if raw_size / 256 > data.len() => {
            return Err(unpacked("it declares more than it can hold".to_owned()));
        }
        LZ4 => lz4_flex::block::decompress(&data, raw_size).map_err(|e| unpacked(e.to_string()))?.into(),
        ZSTD => zstd::bulk::decompress(&data, raw_size).map_err(|e| unpacked(e.to_string()))?.into(),
        other => {
            return Err(bad(
                ErrorCode::UNKNOWN_COMPRESSION_METHOD,
                format!("method {other:#04x} of a compressed block is not known"),
            ));
        }
    };
    if raw.len() != raw_size {
        return Err(bad(
            ErrorCode::CANNOT_DECOMPRESS,
            format!("a compressed block has {} raw bytes and declares {raw_size}", raw.len()),
        ));
    }
    Ok(Some(raw))
}

fn bad(code: ErrorCode, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadInput, code, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(packed: &[u8], length: usize) -> Result<Vec<u8>, Error> {
        let pieces: Vec<_> = packed.chunks(length).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let chunks: Vec<_> = unpacked(stream::iter(pieces).boxed()).collect().await;
        let chunks: Result<Vec<Bytes>, Error> = chunks.into_iter().collect();
        Ok(chunks?.concat())
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let (mut writer, mut out) = (BlockWriter::default(), Vec::new());
        for piece in bytes.chunks(300_000) {
            writer.push(piece, &mut out);
        }
        writer.flush(&mut out);
        out
    }

    #[tokio::test]
    async fn blocks_are_read_back_wherever_they_are_cut() {
        let text: Vec<u8> = (0..2_500_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        let out = packed(&text);
        for length in [1_000, 65_536, out.len()] {
            assert!(read(&out, length).await.unwrap() == text, "{length}");
        }
        let short = packed(b"hello");
        for length in 1..=short.len() {
            assert_eq!(read(&short, length).await.unwrap(), b"hello");
        }
        assert_eq!(packed(b""), b"");
    }

    /// A block as ClickHouse 26.9 writes it into `.bin` files: the bytes 1, 2, 3 without compression.
    #[tokio::test]
    async fn clickhouse_s_blocks_are_read() {
        let mut block = 0x6c3f_4d19_c82d_c513_u64.to_le_bytes().to_vec();
        block.extend(0xc303_40c5_c130_e125_u64.to_le_bytes());
        block.extend([NONE, 12, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3]);
        assert_eq!(read(&block, 5).await.unwrap(), [1, 2, 3]);
    }

    #[tokio::test]
    async fn damaged_blocks_are_errors() {
        let good = packed(b"hello hello hello hello");
        let changed = |at: usize, byte: u8| {
            let mut block = good.clone();
            block[at] = byte;
            block
        };
        let cut = good[..good.len() - 1].to_vec();
        let mut unknown = good.clone();
        unknown[16] = 0x77;
        let (low, high) = city_hash_128(&unknown[16..]);
        unknown[..8].copy_from_slice(&low.to_le_bytes());
        unknown[8..16].copy_from_slice(&high.to_le_bytes());
        for (block, code) in
            [(changed(0, 1), 40), (changed(30, 1), 40), (changed(20, 0x7f), 39), (cut, 33), (unknown, 89)]
        {
            assert_eq!(read(&block, 7).await.unwrap_err().code.number(), code);
        }
    }
}
