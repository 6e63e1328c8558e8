//! Snappy files: Hadoop's blocks, which ClickHouse reads and writes, and the framed format of everybody else.
//!
//! ```text
//! Hadoop   uncompressed bytes of the block: u32 BE | (compressed bytes: u32 BE | raw snappy)+ until the block is full
//! framed   ff 06 00 00 "sNaPpY" | (kind: u8 | bytes: u24 LE | checksum, snappy)*
//! ```
//!
//! Invariant: a file that ends inside a block or a frame is an error; nothing larger than [`BLOCK_BYTES_MAX`] is made room
//! for because a length says so. Must not know: streams, files.

use std::io::{self, Read};

/// First bytes of the framed format.
pub(crate) const FRAMED_MAGIC: &[u8] = b"\xff\x06\x00\x00sNaPpY";
/// Largest piece that is read: Hadoop writes 256 KiB, ClickHouse a buffer of its writer, 1 MiB.
const BLOCK_BYTES_MAX: usize = 128 << 20;
/// Bytes of one block that is written.
const BLOCK_BYTES: usize = 1 << 20;

/// Makes Hadoop's blocks.
#[derive(Default)]
pub(crate) struct BlockEncoder {
    waiting: Vec<u8>,
}

impl BlockEncoder {
    pub(crate) fn encode(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = BLOCK_BYTES.saturating_sub(self.waiting.len()).min(bytes.len());
            let (now, later) = bytes.split_at(room);
            self.waiting.extend_from_slice(now);
            bytes = later;
            if self.waiting.len() >= BLOCK_BYTES {
                self.block(out)?;
            }
        }
        Ok(())
    }

    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        if self.waiting.is_empty() { Ok(()) } else { self.block(out) }
    }

    fn block(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let compressed = snap::raw::Encoder::new().compress_vec(&self.waiting)?;
        for length in [self.waiting.len(), compressed.len()] {
            out.extend_from_slice(&u32::try_from(length).map_err(io::Error::other)?.to_be_bytes());
        }
        out.extend_from_slice(&compressed);
        self.waiting.clear();
        Ok(())
    }
}

/// Reads both formats, as its first bytes tell.
#[derive(Default)]
pub(crate) struct Decoder {
    format: Option<Format>,
    /// Of a piece that is not there in full yet.
    waiting: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Framed,
    /// `left`: bytes that the open block still lacks.
    Hadoop {
        left: usize,
    },
}

impl Decoder {
    /// Takes the next bytes of the file and appends what they hold to `out`.
    pub(crate) fn decode(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.waiting.extend_from_slice(bytes);
        let mut at = 0;
        loop {
            let rest = self.waiting.get(at..).unwrap_or_default();
            let format = match self.format {
                Some(format) => format,
                None if rest.len() < FRAMED_MAGIC.len() && FRAMED_MAGIC.starts_with(rest) => break,
                None if rest.starts_with(FRAMED_MAGIC) => Format::Framed,
                None => Format::Hadoop { left: 0 },
            };
            self.format = Some(format);
            let used = match format {
                Format::Framed => framed(rest, out)?,
                Format::Hadoop { left } => {
                    let Some((used, left)) = hadoop(rest, left, out)? else { break };
                    self.format = Some(Format::Hadoop { left });
                    Some(used)
                }
            };
            let Some(used) = used else { break };
            at += used;
        }
        self.waiting.drain(..at);
        Ok(())
    }

    /// Called at the end of the file: whether it ended where a piece ends.
    pub(crate) fn finish(&self) -> io::Result<()> {
        let open_block = matches!(self.format, Some(Format::Hadoop { left }) if left > 0);
        if self.waiting.is_empty() && !open_block { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// One frame of `bytes` into `out`, and its length; `None` when it is not there in full.
fn framed(bytes: &[u8], out: &mut Vec<u8>) -> io::Result<Option<usize>> {
    let Some([_, length @ ..]) = bytes.first_chunk::<4>() else { return Ok(None) };
    let length = usize::from(length[0]) | usize::from(length[1]) << 8 | usize::from(length[2]) << 16;
    let Some(frame) = bytes.get(..4 + length) else { return Ok(None) };
    // The library reads whole files; one that holds this frame alone is the way to have the checksum checked.
    snap::read::FrameDecoder::new(FRAMED_MAGIC.chain(frame)).read_to_end(out)?;
    Ok(Some(frame.len()))
}

/// The next part of a Hadoop block into `out`: its length, and what the block lacks after it.
fn hadoop(bytes: &[u8], left: usize, out: &mut Vec<u8>) -> io::Result<Option<(usize, usize)>> {
    let number = |bytes: &[u8; 4]| usize::try_from(u32::from_be_bytes(*bytes)).map_err(io::Error::other);
    let (mut at, mut left) = (0, left);
    if left == 0 {
        let Some(length) = bytes.first_chunk() else { return Ok(None) };
        left = number(length)?;
        at = 4;
        // An empty block is a header alone.
        if left == 0 {
            return Ok(Some((at, 0)));
        }
    }
    let Some(length) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else { return Ok(None) };
    let length = number(length)?;
    at += 4;
    if length > BLOCK_BYTES_MAX {
        return Err(too_large(length));
    }
    let Some(compressed) = bytes.get(at..at + length) else { return Ok(None) };
    let size = snap::raw::decompress_len(compressed)?;
    if size > BLOCK_BYTES_MAX {
        return Err(too_large(size));
    }
    if size > left || size == 0 {
        let message = format!("a snappy block of {left} bytes holds a part of {size}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    let before = out.len();
    out.resize(before + size, 0);
    snap::raw::Decoder::new().decompress(compressed, &mut out[before..])?;
    Ok(Some((at + length, left - size)))
}

fn too_large(bytes: usize) -> io::Error {
    let message = format!(
        "a snappy block of {bytes} bytes is larger than the {BLOCK_BYTES_MAX} bytes that are read at once; \
         is the file in Hadoop's block format or framed?"
    );
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn text() -> Vec<u8> {
        (0..200_000_u32).flat_map(|n| n.to_string().into_bytes()).collect()
    }

    fn hadoop_file() -> Vec<u8> {
        let (mut encoder, mut file) = (BlockEncoder::default(), Vec::new());
        text().chunks(70_001).for_each(|chunk| encoder.encode(chunk, &mut file).unwrap());
        encoder.finish(&mut file).unwrap();
        file
    }

    fn framed_file() -> Vec<u8> {
        let mut encoder = snap::write::FrameEncoder::new(Vec::new());
        encoder.write_all(&text()).unwrap();
        encoder.into_inner().unwrap()
    }

    fn decoded(file: &[u8], step: usize) -> io::Result<Vec<u8>> {
        let (mut decoder, mut out) = (Decoder::default(), Vec::new());
        for chunk in file.chunks(step) {
            decoder.decode(chunk, &mut out)?;
        }
        decoder.finish().map(|()| out)
    }

    #[test]
    fn both_formats_are_read_in_any_pieces() {
        for file in [hadoop_file(), framed_file()] {
            for step in [1 << 24, 65_536, 4093] {
                assert_eq!(decoded(&file, step).unwrap(), text());
            }
            let twice = [file.clone(), file].concat();
            assert_eq!(decoded(&twice, 1 << 20).unwrap(), [text(), text()].concat());
        }
    }

    #[test]
    fn a_cut_file_and_garbage_behind_it_are_errors() {
        for file in [hadoop_file(), framed_file()] {
            for length in [1, 3, 5, 9, 12, 5000, file.len() / 2, file.len() - 1] {
                let error = decoded(&file[..length], 1 << 20).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{length}");
            }
            assert!(decoded(&[file.clone(), b"garbage, and more of it".to_vec()].concat(), 4096).is_err());
        }
    }

    #[test]
    fn lengths_are_not_believed() {
        let huge = [0xff_u8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0];
        let error = decoded(&huge, 9).unwrap_err().to_string();
        assert!(error.contains("larger than the 134217728 bytes"), "{error}");
        // A raw block that claims 1 GiB in its own header.
        let claims = [&[0x40, 0, 0, 0, 0, 0, 0, 6][..], &[0x80, 0x80, 0x80, 0x80, 0x04, 0]].concat();
        assert!(decoded(&claims, 64).unwrap_err().to_string().contains("1073741824"));
    }
}
