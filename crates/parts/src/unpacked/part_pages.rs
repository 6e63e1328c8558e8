//! What is known of the pages of one part: their sizes without compression, and the footer that shows some of them so.
//!
//! The first column is always read as it is stored: DataFusion tells the row groups of a piece of a file by where the first
//! column begins, so that must stay a place in the file.
//! Invariant: the layout of a chunk, once known, never changes, so a footer that was given out stays true.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::sync::{Arc, Weak};

use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use model::saturating::usize_of;
use parking_lot::Mutex;

use super::layout::{ChunkLayout, unpacked_size};
use super::residency::{ChunkId, Tick};
use super::unpack;
use crate::parquet::page_places::stored_pages;

/// One part, for as long as it exists.
#[derive(Debug)]
pub struct PartPages {
    id: u64,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// As it is stored; others keep it.
    footer: Weak<ParquetMetaData>,
    /// Chunks that could be unpacked, by where they begin in the file.
    places: BTreeMap<u64, u32>,
    chunks: BTreeMap<u32, Chunk>,
    view: Option<View>,
}

/// The footer with these chunks unpacked.
#[derive(Debug)]
struct View {
    unpacked: BTreeSet<u32>,
    footer: Arc<ParquetMetaData>,
}

#[derive(Debug)]
struct Chunk {
    last_read: Tick,
    pages: Pages,
}

#[derive(Debug)]
enum Pages {
    /// Stored places, and sizes without compression as far as they are known; 0 is not known.
    Some {
        stored: Vec<Range<u64>>,
        sizes: Vec<u32>,
        has_dictionary: bool,
    },
    All(Arc<ChunkLayout>),
    /// Something is not as our writer makes it.
    Unfit,
}

/// A chunk that could be shown unpacked: its size, and when it was last read.
pub(super) type Candidate = (ChunkId, u64, Tick);

impl PartPages {
    pub(super) fn new(id: u64) -> PartPages {
        PartPages { id, known: Mutex::default() }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn layout(&self, chunk: u32) -> Option<Arc<ChunkLayout>> {
        match &self.known.lock().chunks.get(&chunk)?.pages {
            Pages::All(layout) => Some(Arc::clone(layout)),
            _ => None,
        }
    }

    pub(super) fn last_read(&self, chunk: u32) -> Tick {
        self.known.lock().chunks.get(&chunk).map_or(0, |chunk| chunk.last_read)
    }

    /// The footer with the chunks of the columns `wanted` unpacked that `choose` chooses.
    pub(super) fn view(
        &self,
        footer: &Arc<ParquetMetaData>,
        wanted: &HashSet<String>,
        choose: impl FnOnce(&[Candidate]) -> Vec<bool>,
    ) -> Result<Arc<ParquetMetaData>, ParquetError> {
        let mut known = self.known.lock();
        known.note_footer(footer);
        let columns = footer.file_metadata().schema_descr();
        let is_wanted = |chunk: u32| {
            let leaf = chunk as usize % columns.num_columns().max(1);
            columns.column(leaf).path().parts().first().is_some_and(|name| wanted.contains(name))
        };
        let mut unpacked = BTreeSet::new();
        let mut candidates = Vec::new();
        for (number, chunk) in &known.chunks {
            let Pages::All(layout) = &chunk.pages else { continue };
            if is_wanted(*number) {
                candidates.push((ChunkId { part: self.id, chunk: *number }, layout.bytes(), chunk.last_read));
            } else if known.view.as_ref().is_some_and(|view| view.unpacked.contains(number)) {
                unpacked.insert(*number);
            }
        }
        let chosen = choose(&candidates);
        unpacked.extend(
            candidates.iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|((id, ..), _)| id.chunk),
        );
        if unpacked.is_empty() {
            known.view = None;
            return Ok(Arc::clone(footer));
        }
        match &known.view {
            Some(view) if view.unpacked == unpacked => Ok(Arc::clone(&view.footer)),
            _ => {
                let footer = Arc::new(known.unpacked_footer(footer, &unpacked)?);
                known.view = Some(View { unpacked, footer: Arc::clone(&footer) });
                Ok(footer)
            }
        }
    }

    /// Learns sizes of pages from bytes of the file.
    pub(super) fn note_stored(&self, range: &Range<u64>, bytes: &[u8], now: impl FnOnce() -> Tick) {
        let mut known = self.known.lock();
        let Some((_, number)) = known.places.range(..=range.start).next_back() else { return };
        let number = *number;
        let Some(footer) = known.footer.upgrade() else { return };
        let fresh = || Chunk { last_read: 0, pages: Pages::of(&footer, number) };
        let chunk = known.chunks.entry(number).or_insert_with(fresh);
        if chunk.pages.note_stored(number, &footer, range, bytes) {
            chunk.last_read = now();
        }
    }
}

impl Known {
    fn note_footer(&mut self, footer: &Arc<ParquetMetaData>) {
        if self.places.is_empty() {
            let numbered = (0_u32..).zip(footer.row_groups().iter().flat_map(|group| group.columns()));
            let leaves = footer.file_metadata().schema_descr().num_columns().max(1);
            let fit = numbered.filter(|(number, chunk)| {
                !(*number as usize).is_multiple_of(leaves) && unpack::is_known(chunk.compression())
            });
            self.places = fit.map(|(number, chunk)| (chunk.byte_range().0, number)).collect();
        }
        self.footer = Arc::downgrade(footer);
    }

    fn unpacked_footer(
        &self,
        footer: &ParquetMetaData,
        unpacked: &BTreeSet<u32>,
    ) -> Result<ParquetMetaData, ParquetError> {
        let mut groups = footer.row_groups().to_vec();
        let mut index = footer.offset_index().cloned().unwrap_or_default();
        let leaves = footer.file_metadata().schema_descr().num_columns().max(1);
        let of_group = |group: usize| unpacked.range(number_of(group, leaves)..number_of(group + 1, leaves));
        for (at, group) in groups.iter_mut().enumerate().filter(|(at, _)| of_group(*at).next().is_some()) {
            let mut columns = group.columns().to_vec();
            for number in of_group(at) {
                let leaf = *number as usize % leaves;
                let places = index.get_mut(at).and_then(|places| places.get_mut(leaf));
                if let (Some(Pages::All(layout)), Some(column), Some(places)) =
                    (self.chunks.get(number).map(|chunk| &chunk.pages), columns.get_mut(leaf), places)
                {
                    *column = layout.metadata(column)?;
                    *places = layout.page_locations(places)?;
                }
            }
            *group = group.clone().into_builder().set_column_metadata(columns).build()?;
        }
        Ok(footer.clone().into_builder().set_row_groups(groups).set_offset_index(Some(index)).build())
    }
}

impl Pages {
    fn of(footer: &ParquetMetaData, number: u32) -> Pages {
        let found = chunk_of(footer, number).and_then(|(chunk, group, leaf)| {
            stored_pages(chunk, footer.offset_index()?.get(group)?.get(leaf)?)
        });
        match found {
            Some((stored, has_dictionary)) => {
                Pages::Some { sizes: vec![0; stored.len()], stored, has_dictionary }
            }
            None => Pages::Unfit,
        }
    }

    /// Whether `range` is of this chunk.
    fn note_stored(
        &mut self,
        number: u32,
        footer: &ParquetMetaData,
        range: &Range<u64>,
        bytes: &[u8],
    ) -> bool {
        let (stored, sizes, has_dictionary) = match self {
            Pages::Unfit => return false,
            Pages::All(layout) => {
                return layout.pages.last().is_some_and(|page| range.start < page.stored.end);
            }
            Pages::Some { stored, sizes, has_dictionary } => (stored, sizes, *has_dictionary),
        };
        let first = stored.partition_point(|page| page.start < range.start);
        let inside =
            stored.iter().zip(sizes.iter_mut()).skip(first).take_while(|(page, _)| page.end <= range.end);
        let mut is_of_chunk = false;
        for (page, size) in inside {
            is_of_chunk = true;
            let at = usize_of(page.start - range.start);
            match bytes.get(at..).and_then(|page_bytes| unpacked_size(page_bytes, page.end - page.start)) {
                Some(unpacked) => *size = unpacked,
                None => {
                    *self = Pages::Unfit;
                    return false;
                }
            }
        }
        if sizes.iter().all(|size| *size > 0)
            && let Some((chunk, ..)) = chunk_of(footer, number)
        {
            let bytes = sizes.iter().map(|size| u64::from(*size)).sum();
            *self = match ChunkLayout::has_addresses(bytes) {
                true => Pages::All(Arc::new(ChunkLayout::new(
                    number,
                    chunk.compression(),
                    stored,
                    sizes,
                    has_dictionary,
                ))),
                false => Pages::Unfit,
            };
        }
        is_of_chunk
    }
}

/// Chunks are numbered row group by row group, column by column.
fn number_of(group: usize, leaves: usize) -> u32 {
    u32::try_from(group.saturating_mul(leaves)).unwrap_or(u32::MAX)
}

/// A chunk by its number.
fn chunk_of(footer: &ParquetMetaData, number: u32) -> Option<(&ColumnChunkMetaData, usize, usize)> {
    let leaves = footer.file_metadata().schema_descr().num_columns().max(1);
    let (group, leaf) = (number as usize / leaves, number as usize % leaves);
    Some((footer.row_groups().get(group)?.columns().get(leaf)?, group, leaf))
}
