//! Packed pages in memory, each behind its header, until their row group is written.
//!
//! Invariant: a page is packed to where it stays until it is written to the file. Must not know: what is in a page.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;

use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::Bytes;

use super::page_sums::{content_crc, page_sum};
use crate::packer::Packer;

/// Memory is taken in pieces of up to this size.
const PIECE_BYTES_MAX: usize = 4 << 20;
/// A header is known when its page is packed; until then this much room is left for it.
const HEADER_BYTES_MAX: usize = 64;

/// The pages of one chunk, in order.
#[derive(Default)]
pub(super) struct PackedPages {
    pieces: Vec<Vec<u8>>,
    /// Header and content of each page: a piece, and where in it.
    pages: Vec<(usize, Range<usize>)>,
    sums: Vec<u32>,
    bytes: usize,
}

impl PackedPages {
    /// Of headers and contents.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The sums of the pages, headers included.
    pub(super) fn sums(&self) -> &[u32] {
        &self.sums
    }

    /// Packs a page; `header` is told its packed size and CRC-32. Returns the bytes of the header.
    pub(super) fn add(
        &mut self,
        content: &[u8],
        packer: &mut Packer,
        header: impl FnOnce(u32, u32) -> Vec<u8>,
    ) -> ParquetResult<usize> {
        let room = HEADER_BYTES_MAX + Packer::room_for(content.len());
        let has_room = |piece: &Vec<u8>| piece.capacity() - piece.len() >= room;
        if !self.pieces.last().is_some_and(has_room) {
            // A small part takes little; a large one soon takes pieces that waste little at their ends.
            let next = self.pieces.last().map_or(0, |piece| 2 * piece.capacity());
            self.pieces.push(Vec::with_capacity(next.min(PIECE_BYTES_MAX).max(room)));
        }
        let last = self.pieces.len() - 1;
        let piece = &mut self.pieces[last];
        let content_at = piece.len() + HEADER_BYTES_MAX;
        piece.resize(content_at, 0);
        let packed = packer.pack(content, piece).map_err(ParquetError::General)?;
        let header = header(u32::try_from(packed)?, content_crc(&piece[content_at..]));
        let begin = content_at.checked_sub(header.len()).filter(|_| header.len() <= HEADER_BYTES_MAX);
        let begin =
            begin.ok_or_else(|| ParquetError::General("the header of a page is too long".to_owned()))?;
        piece[begin..content_at].copy_from_slice(&header);
        self.sums.push(page_sum(&header, &piece[content_at..]));
        self.pages.push((last, begin..content_at + packed));
        self.bytes += header.len() + packed;
        Ok(header.len())
    }

    pub(super) fn into_run(self) -> PageRun {
        let pieces: Vec<Bytes> = self.pieces.into_iter().map(Bytes::from).collect();
        let pages = self.pages.into_iter().map(|(piece, range)| pieces[piece].slice(range));
        PageRun { pages: pages.collect(), bytes: self.bytes as u64 }
    }
}

/// Pages one behind the other, to be read.
pub(super) struct PageRun {
    pages: VecDeque<Bytes>,
    bytes: u64,
}

impl PageRun {
    /// Of pages, or pieces of pages, in order.
    pub(super) fn of(pages: VecDeque<Bytes>) -> PageRun {
        PageRun { bytes: pages.iter().map(|page| page.len() as u64).sum(), pages }
    }
}

impl Length for PageRun {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for PageRun {
    type T = PageRunReader;

    fn get_read(&self, start: u64) -> ParquetResult<PageRunReader> {
        let mut reader = PageRunReader { pages: self.pages.clone() };
        let skipped = io::copy(&mut Read::by_ref(&mut reader).take(start), &mut io::sink())?;
        if skipped < start {
            return Err(ParquetError::EOF(format!("byte {start} of {} of a chunk", self.bytes)));
        }
        Ok(reader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let mut bytes = vec![0; length];
        self.get_read(start)?.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

pub(super) struct PageRunReader {
    pages: VecDeque<Bytes>,
}

impl Read for PageRunReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.pages.front().is_some_and(Bytes::is_empty) {
            self.pages.pop_front();
        }
        let Some(page) = self.pages.front_mut() else { return Ok(0) };
        let bytes = page.len().min(buf.len());
        buf[..bytes].copy_from_slice(&page.split_to(bytes));
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packer::Effort;

    #[test]
    fn pages_follow_each_other() {
        let mut packer = Packer::new(Effort::Quick).unwrap();
        let mut pages = PackedPages::default();
        let contents: Vec<Vec<u8>> =
            [10_usize, 0, 3 << 20, 70_000, 5 << 20, 1].iter().map(|bytes| vec![b'x'; *bytes]).collect();
        let mut sizes = Vec::new();
        for content in &contents {
            let before = pages.bytes();
            assert_eq!(pages.add(content, &mut packer, |_, _| b"head".to_vec()).unwrap(), 4);
            sizes.push(pages.bytes() - before);
        }
        assert!(pages.add(b"", &mut packer, |_, _| vec![0; HEADER_BYTES_MAX + 1]).is_err());
        let run = pages.into_run();
        assert_eq!(run.len(), sizes.iter().sum::<usize>() as u64);
        let mut at = 0;
        for (size, content) in sizes.iter().zip(&contents) {
            let page = run.get_bytes(at, *size).unwrap();
            assert_eq!(&page[..4], b"head");
            assert_eq!(&zstd::bulk::decompress(&page[4..], content.len()).unwrap(), content);
            at += *size as u64;
        }
        assert!(run.get_read(at).is_ok() && run.get_read(at + 1).is_err());
    }
}
