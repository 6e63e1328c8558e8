//! Reads parts for DataFusion, with their page indexes kept beside their footers, and pages that are read again and again
//! kept without their compression.
//!
//! DataFusion asks for a footer alone first and for the page index when a predicate may prune pages; what it then loads
//! it does not keep, and decodes again for every statement. A part never changes, so both are decoded together, once.
//! Invariant: what is cached belongs to exactly one file. Must not know: which parts are read, or why.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::CachedParquetFileReaderFactory;
use datafusion::datasource::physical_plan::{FileGroup, ParquetFileReaderFactory};
use datafusion::execution::cache::cache_manager::FileMetadataCache;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use futures::future::BoxFuture;
use model::{PartDescriptor, PartId};
use object_store::ObjectStore;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ParquetMetaData;
use parts::{Fill, PartPages, UnpackedPages, Wanted, tail_range};

use super::checked_file::{CheckedFile, PartChecks, ScannedPart, part_path};

/// DataFusion's readers, which answer with the page index whether or not it was asked for.
#[derive(Debug)]
pub(super) struct PartReaderFactory {
    inner: CachedParquetFileReaderFactory,
    store: Arc<dyn ObjectStore>,
    cache: Arc<FileMetadataCache>,
    checks: Arc<PartChecks>,
    unpacked: Option<(Arc<UnpackedPages>, Arc<HashSet<String>>)>,
    /// The parts in about the order in which they are opened, if it pays to read ahead, and the places of them.
    order: Vec<Arc<PartDescriptor>>,
    places: HashMap<PartId, usize>,
    /// Nothing lets a reader pass over rows.
    reads_all: bool,
}

/// The footers of so many parts are fetched while one is read.
const FOOTERS_AHEAD: usize = 16;

impl PartReaderFactory {
    pub(super) fn new(
        store: Arc<dyn ObjectStore>,
        cache: Arc<FileMetadataCache>,
        checks: Arc<PartChecks>,
    ) -> Self {
        let inner = CachedParquetFileReaderFactory::new(Arc::clone(&store), Arc::clone(&cache));
        let (order, places) = (Vec::new(), HashMap::new());
        PartReaderFactory { inner, store, cache, checks, unpacked: None, order, places, reads_all: false }
    }

    /// The same, which knows the parts that are going to be opened.
    pub(super) fn in_order(mut self, groups: &[FileGroup], reads_all: bool) -> Self {
        self.reads_all = reads_all;
        if self.checks.reads_ahead() {
            let scanned =
                groups.iter().flat_map(FileGroup::iter).filter_map(|file| file.extension::<ScannedPart>());
            self.order = scanned.map(|scanned| Arc::clone(&scanned.part)).collect();
            self.places = self.order.iter().enumerate().map(|(at, part)| (part.id, at)).collect();
        }
        self
    }

    /// Fetches the footers of the parts that come after one, unless they are known.
    fn fetch_footers(&self, file: &PartitionedFile) {
        let Some(scanned) = file.extension::<ScannedPart>() else { return };
        let Some(at) = self.places.get(&scanned.part.id) else { return };
        for part in self.order.iter().skip(at + 1).take(FOOTERS_AHEAD) {
            if let Some(tail) = tail_range(part)
                && self.cache.get(&part_path(part)).is_none()
            {
                self.checks.fetch_ahead(part, std::slice::from_ref(&tail));
            }
        }
    }

    /// The same, with pages of these columns kept without compression.
    pub(super) fn with_unpacked(self, pages: Arc<UnpackedPages>, columns: HashSet<String>) -> Self {
        PartReaderFactory { unpacked: Some((pages, Arc::new(columns))), ..self }
    }
}

impl ParquetFileReaderFactory for PartReaderFactory {
    fn create_reader(
        &self,
        partition_index: usize,
        file: PartitionedFile,
        metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        self.fetch_footers(&file);
        let pages = self.unpacked.as_ref().map(|(cache, columns)| Pages {
            cache: Arc::clone(cache),
            columns: Arc::clone(columns),
            part: cache.part(file.object_meta.location.as_ref()),
            bytes_scanned: MetricBuilder::new(metrics).counter("bytes_scanned", partition_index),
        });
        let (store, cache, checks) =
            (Arc::clone(&self.store), Arc::clone(&self.cache), Arc::clone(&self.checks));
        let inner = self.inner.create_reader(partition_index, file.clone(), metadata_size_hint, metrics)?;
        Ok(Box::new(PartReader {
            inner: CheckedFile::new(inner, store, cache, checks, &file, self.reads_all)?,
            pages,
        }))
    }
}

struct PartReader {
    inner: CheckedFile,
    pages: Option<Pages>,
}

/// The kept pages of one part.
struct Pages {
    cache: Arc<UnpackedPages>,
    columns: Arc<HashSet<String>>,
    part: Arc<PartPages>,
    /// Bytes that came from memory count as read: a statement's figures do not depend on who asked before.
    bytes_scanned: Count,
}

impl AsyncFileReader for PartReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        Box::pin(async move {
            let ranges = self.get_byte_ranges(vec![range.clone()]).await?;
            ranges.into_iter().next().ok_or_else(|| ParquetError::EOF(format!("nothing at {range:?}")))
        })
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        let Some(pages) = &self.pages else { return self.inner.get_byte_ranges(ranges) };
        Box::pin(pages.read(&mut self.inner, ranges))
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        Box::pin(async move {
            let footer = self.inner.get_metadata(options).await?;
            match &self.pages {
                Some(pages) => pages.cache.view(&pages.part, &footer, &pages.columns),
                None => Ok(footer),
            }
        })
    }
}

impl Pages {
    async fn read(&self, file: &mut CheckedFile, ranges: Vec<Range<u64>>) -> ParquetResult<Vec<Bytes>> {
        let wanted = self.cache.wanted(&self.part, &ranges)?;
        // One request for all that is certain to be read.
        let mut begun = HashSet::new();
        let first_runs = wanted.iter().zip(&ranges).filter_map(|(wanted, range)| match wanted {
            Wanted::Stored => Some(range.clone()),
            Wanted::Missing(fill) if begun.insert(fill.chunk()) || !fill.is_whole() => fill.next_run(),
            Wanted::Missing(_) | Wanted::Here { .. } => None,
        });
        let first_runs: Vec<Range<u64>> = first_runs.collect();
        let mut runs = match first_runs.is_empty() {
            true => Vec::new(),
            false => file.get_byte_ranges(first_runs).await?,
        }
        .into_iter();
        let missing = || ParquetError::EOF("a range is missing".to_owned());
        let mut wholes: HashMap<u32, Bytes> = HashMap::new();
        let mut answers = Vec::with_capacity(ranges.len());
        for (wanted, range) in wanted.into_iter().zip(&ranges) {
            answers.push(match wanted {
                Wanted::Stored => {
                    let bytes = runs.next().ok_or_else(missing)?;
                    self.cache.note_stored(&self.part, range, &bytes);
                    bytes
                }
                Wanted::Here { bytes, stored } => {
                    self.bytes_scanned.add(stored);
                    bytes
                }
                Wanted::Missing(fill) => {
                    match wholes.get(&fill.chunk()).and_then(|whole| fill.asked_of(whole)) {
                        Some(bytes) => bytes,
                        None => {
                            let (chunk, first) = (fill.chunk(), runs.next().ok_or_else(missing)?);
                            let (asked, whole) = self.fill(file, fill, first).await?;
                            wholes.extend(whole.map(|whole| (chunk, whole)));
                            asked
                        }
                    }
                }
            });
        }
        Ok(answers)
    }

    /// What was asked for, and the chunk if it was unpacked as a whole.
    async fn fill(
        &self,
        file: &mut CheckedFile,
        mut fill: Fill,
        first: Bytes,
    ) -> ParquetResult<(Bytes, Option<Bytes>)> {
        fill.take(&first)?;
        drop(first);
        while let Some(run) = fill.next_run() {
            let bytes = file.get_bytes(run).await?;
            fill.take(&bytes)?;
        }
        self.cache.keep(&self.part, fill)
    }
}
