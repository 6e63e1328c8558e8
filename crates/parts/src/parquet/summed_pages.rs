//! Pages that the Parquet library writes get their sums here: it leaves the field `crc` of their headers out.
//!
//! The library hands each finished page to a [`PageStore`], the header first; this one sums the page up while it is in the
//! processor's cache and puts the sum into the header, which makes it a few bytes longer. [`ChunkPages::append`] then sets
//! sizes and places right. Invariant: what a chunk's metadata and offset index say is true of the pages as they are written.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::sync::Arc;

use ::parquet::arrow::arrow_writer::{ArrowColumnChunk, PageKey, PageStore, PageStoreArgs, PageStoreFactory};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::writer::SerializedRowGroupWriter;
use bytes::Bytes;
use parking_lot::Mutex;

use super::packed_pages::PageRun;
use super::page_header::{PageKind, with_sum};
use super::page_sums::{content_crc, page_sum};

/// The stores of the row group that is being written, by leaf.
#[derive(Debug, Default)]
pub(crate) struct SummedPages {
    leaves: Mutex<BTreeMap<usize, Arc<Mutex<ChunkPages>>>>,
}

impl SummedPages {
    /// The pages of the chunk whose writer was made last.
    pub(crate) fn of_leaf(&self, leaf: usize) -> Arc<Mutex<ChunkPages>> {
        self.leaves.lock().get(&leaf).map(Arc::clone).unwrap_or_default()
    }
}

impl PageStoreFactory for SummedPages {
    fn create(&self, args: &PageStoreArgs<'_>) -> ParquetResult<Box<dyn PageStore>> {
        let pages = Arc::<Mutex<ChunkPages>>::default();
        self.leaves.lock().insert(args.column_index(), Arc::clone(&pages));
        Ok(Box::new(Store(pages)))
    }
}

struct Store(Arc<Mutex<ChunkPages>>);

impl PageStore for Store {
    fn put(&mut self, value: Bytes) -> ParquetResult<PageKey> {
        self.0.lock().put(value)
    }

    fn take(&mut self, key: PageKey) -> ParquetResult<Bytes> {
        let mut pages = self.0.lock();
        let blob = usize::try_from(key.get()).ok().and_then(|at| pages.blobs.get_mut(at));
        blob.map(std::mem::take).ok_or_else(|| ParquetError::General("a page is missing".to_owned()))
    }

    fn memory_size(&self) -> usize {
        self.0.lock().bytes
    }
}

/// The pages of one chunk.
#[derive(Debug, Default)]
pub(crate) struct ChunkPages {
    /// Header and content of each page, in turn.
    blobs: Vec<Bytes>,
    bytes: usize,
    data: Vec<Summed>,
    /// The page, and its content's place among the blobs.
    dictionary: Option<(Summed, usize)>,
}

/// A page that is complete.
#[derive(Clone, Copy, Debug)]
struct Summed {
    sum: u32,
    /// Bytes by which its header grew.
    grown: usize,
}

impl ChunkPages {
    fn put(&mut self, value: Bytes) -> ParquetResult<PageKey> {
        let key = self.blobs.len();
        if key % 2 == 1 {
            let header = &self.blobs[key - 1];
            let (kind, summed) = with_sum(header, content_crc(&value))
                .ok_or_else(|| ParquetError::General("the header of a page is not understood".to_owned()))?;
            let page = Summed { sum: page_sum(&summed, &value), grown: summed.len() - header.len() };
            match kind {
                PageKind::Dictionary => self.dictionary = Some((page, key)),
                PageKind::Data => self.data.push(page),
            }
            self.bytes += page.grown;
            self.blobs[key - 1] = Bytes::from(summed);
        }
        self.bytes += value.len();
        self.blobs.push(value);
        Ok(PageKey::new(key as u64))
    }

    /// Appends the chunk to a row group, and the sums of its pages to `sums`, in the order of the file.
    pub(crate) fn append<W: Write + Send>(
        pages: &Mutex<ChunkPages>,
        mut chunk: ArrowColumnChunk,
        target: &mut SerializedRowGroupWriter<'_, W>,
        sums: &mut Vec<u32>,
    ) -> ParquetResult<()> {
        let mut these = pages.lock();
        sums.extend(these.dictionary.iter().map(|(page, _)| page.sum));
        sums.extend(these.data.iter().map(|page| page.sum));
        these.fit(chunk.close_mut())?;
        match these.dictionary {
            None => {
                drop(these);
                chunk.append_to_row_group(target)
            }
            // The library counts a dictionary's bytes before it gives them to the store.
            Some((_, content)) => {
                let mut blobs: VecDeque<Bytes> = std::mem::take(&mut these.blobs).into();
                let dictionary: Vec<Bytes> = blobs.drain(content - 1..=content).collect();
                dictionary.into_iter().rev().for_each(|blob| blobs.push_front(blob));
                target.append_column(&PageRun::of(blobs), chunk.close().clone())
            }
        }
    }

    /// Makes sizes and places those of the pages with their sums.
    fn fit(&self, close: &mut ColumnCloseResult) -> ParquetResult<()> {
        let dictionary = self.dictionary.map(|(page, content)| {
            let bytes = self.blobs[content - 1].len() + self.blobs[content].len();
            (page.grown, bytes)
        });
        let (dictionary_grown, dictionary_bytes) = dictionary.unwrap_or_default();
        let grown = dictionary_grown + self.data.iter().map(|page| page.grown).sum::<usize>();
        let first_data = i64::try_from(dictionary_bytes)?;
        let metadata = close.metadata.clone();
        let (packed, unpacked) = (metadata.compressed_size(), metadata.uncompressed_size());
        let mut builder = metadata
            .into_builder()
            .set_total_compressed_size(packed + i64::try_from(grown)?)
            .set_total_uncompressed_size(unpacked + i64::try_from(grown)?);
        if dictionary.is_some() {
            builder = builder.set_dictionary_page_offset(Some(0)).set_data_page_offset(first_data);
        }
        close.metadata = builder.build()?;
        close.bytes_written += grown as u64;
        let locations = close.offset_index.iter_mut().flat_map(|index| index.page_locations.iter_mut());
        let mut at = first_data;
        for (location, page) in locations.zip(&self.data) {
            location.compressed_page_size += i32::try_from(page.grown)?;
            location.offset = at;
            at += i64::from(location.compressed_page_size);
        }
        Ok(())
    }
}
