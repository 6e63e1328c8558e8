//! Pages out of a part's file, without their compression.
//!
//! Invariant: a page comes out with exactly the bytes its layout promised, or as an error that says which page did not.
//! Must not know: what is kept.

use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;

use super::layout::{ChunkLayout, Page};
use crate::parquet::page_header::PageHeader;

/// Unpacks pages of one chunk, one after the other.
pub(super) struct Unpacker {
    codec: Compression,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    header: Vec<u8>,
}

/// Whether pages of this codec can be unpacked here.
pub(super) fn is_known(codec: Compression) -> bool {
    matches!(codec, Compression::ZSTD(_) | Compression::LZ4_RAW)
}

impl Unpacker {
    pub(super) fn new(layout: &ChunkLayout) -> Result<Unpacker, ParquetError> {
        let zstd = match layout.codec {
            Compression::ZSTD(_) => Some(zstd::bulk::Decompressor::new()?),
            _ => None,
        };
        Ok(Unpacker { codec: layout.codec, zstd, header: Vec::new() })
    }

    /// `stored` is the page as it is in the file, `out` has the size of the page without compression.
    pub(super) fn unpack(&mut self, page: &Page, stored: &[u8], out: &mut [u8]) -> Result<(), ParquetError> {
        let damaged = |what: &str| {
            let (at, bytes) = (page.stored.start, stored.len());
            ParquetError::General(format!("the page of {bytes} bytes at {at} is damaged: {what}"))
        };
        let header = PageHeader::parse(stored).ok_or_else(|| damaged("no header"))?;
        let header_bytes = header.header_bytes(stored.len());
        let header_bytes = header_bytes.ok_or_else(|| damaged("its content is cut"))?;
        let (head, content) = stored.split_at(header_bytes);
        self.header.clear();
        header.for_unpacked(head, &mut self.header);
        if out.len() != self.header.len() + header.unpacked as usize {
            return Err(damaged("its size is not that of the last time"));
        }
        let (head_out, content_out) = out.split_at_mut(self.header.len());
        head_out.copy_from_slice(&self.header);
        if content_out.is_empty() {
            return Ok(());
        }
        let written = match (&mut self.zstd, self.codec) {
            (Some(zstd), _) => {
                zstd.decompress_to_buffer(content, content_out).map_err(|e| damaged(&e.to_string()))?
            }
            (None, Compression::LZ4_RAW) => {
                lz4_flex::block::decompress_into(content, content_out).map_err(|e| damaged(&e.to_string()))?
            }
            (None, codec) => return Err(damaged(&format!("its codec is {codec}"))),
        };
        if written != content_out.len() {
            return Err(damaged("it ends early"));
        }
        Ok(())
    }
}
