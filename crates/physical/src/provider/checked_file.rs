//! The file of a part as DataFusion's readers get it: only footers and pages that are as they were written.
//!
//! A part with sums of its pages is read from its end: footer and index of pages come in one request, are compared with the
//! sum in the descriptor, and are kept; each fetch of pages is compared as it arrives, once. A part without is compared as a
//! whole before its first reader gets a byte. Invariant: bytes that leave here are those that the writer wrote, or the
//! statement ends with an error that names the place. Must not know: what is read, and what is kept of it.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::common::HashMap;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::execution::cache::cache_manager::{CachedFileMetadataEntry, FileMetadata, FileMetadataCache};
use futures::future::BoxFuture;
use host::Runtimes;
use model::PartDescriptor;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};
use parts::{PartError, PartFooter, PartStore, tail_range};

use super::read_ahead::ReadAhead;
use crate::error::PhysicalError;

/// Where parts are compared as a whole, and what is known of their health: an extension of the session.
#[derive(Debug)]
pub struct PartChecks {
    pub store: PartStore,
    pub runtimes: Runtimes,
    /// Whether what will be read soon is fetched while something else is decoded.
    pub reads_ahead: bool,
}

impl PartChecks {
    /// Begins to fetch ranges of a part, if that pays.
    pub(super) fn fetch_ahead(&self, part: &PartDescriptor, ranges: &[Range<u64>]) {
        if !ranges.is_empty() {
            self.store.storage().fetch_ahead(&part.location.key, ranges);
        }
    }

    /// Whether it pays to read ahead.
    pub(super) fn reads_ahead(&self) -> bool {
        self.reads_ahead && self.store.storage().is_far()
    }
}

/// Which part a file of a scan is.
#[derive(Clone, Debug)]
pub(crate) struct ScannedPart {
    pub part: Arc<PartDescriptor>,
    pub table: Arc<str>,
    /// Of the table's columns as they are read: how older parts become rows depends on it.
    pub version: u32,
}

/// Where the store of parts has it, and by which its footer is kept.
pub fn part_path(part: &PartDescriptor) -> Path {
    Path::from(part.location.key.as_ref())
}

/// One part, open for one reader.
pub(super) struct CheckedFile {
    file: Box<dyn AsyncFileReader + Send>,
    store: Arc<dyn ObjectStore>,
    cache: Arc<FileMetadataCache>,
    checks: Arc<PartChecks>,
    meta: ObjectMeta,
    scanned: ScannedPart,
    footer: Option<Arc<PartFooter>>,
    ahead: Option<ReadAhead>,
    /// Whether damage was met that may be of a copy on this machine: what is read again is from the storage.
    reads_again: bool,
}

impl CheckedFile {
    pub(super) fn new(
        file: Box<dyn AsyncFileReader + Send>,
        store: Arc<dyn ObjectStore>,
        cache: Arc<FileMetadataCache>,
        checks: Arc<PartChecks>,
        of: &PartitionedFile,
        reads_all: bool,
    ) -> ParquetResult<CheckedFile> {
        let scanned = of.extension::<ScannedPart>().cloned();
        let scanned =
            scanned.ok_or_else(|| ParquetError::General(format!("{} is scanned as no part", of.path())))?;
        let (meta, footer) = (of.object_meta.clone(), None);
        let ahead = checks.reads_ahead().then(|| ReadAhead::new(reads_all));
        let reads_again = false;
        Ok(CheckedFile { file, store, cache, checks, meta, scanned, footer, ahead, reads_again })
    }

    /// The footer; read again if a copy of this machine was damaged.
    async fn footer(&mut self) -> ParquetResult<Arc<PartFooter>> {
        self.reads_again = false;
        match self.footer_once().await {
            Err(error) if is_of_copy(&error) => self.footer_once().await,
            footer => footer,
        }
    }

    async fn footer_once(&mut self) -> ParquetResult<Arc<PartFooter>> {
        if let Some(footer) = &self.footer {
            return Ok(Arc::clone(footer));
        }
        let part = &self.scanned.part;
        // One without sums may have been found damaged since its footer was kept.
        let is_sound = tail_range(part).is_some() || self.checks.store.health().is_compared(part);
        let kept = self.cache.get(&self.meta.location);
        let kept = kept.filter(|kept| is_sound && kept.is_valid_for(&self.meta));
        let kept = kept.and_then(|kept| {
            kept.file_metadata.as_any().downcast_ref::<KeptFooter>().map(|kept| Arc::clone(&kept.0))
        });
        let footer = match kept {
            Some(footer) => footer,
            None => {
                let footer = Arc::new(self.read_footer().await?);
                let kept = CachedFileMetadataEntry::new(
                    self.meta.clone(),
                    Arc::new(KeptFooter(Arc::clone(&footer))),
                );
                self.cache.put(&self.meta.location, kept);
                footer
            }
        };
        self.footer = Some(Arc::clone(&footer));
        Ok(footer)
    }

    async fn read_footer(&mut self) -> ParquetResult<PartFooter> {
        let part = Arc::clone(&self.scanned.part);
        if let Some(tail) = tail_range(&part) {
            let read = self.store.get_ranges(&self.meta.location, std::slice::from_ref(&tail)).await;
            let read = match read {
                Ok(read) => read,
                Err(error) => return Err(self.explained(ParquetError::External(Box::new(error))).await),
            };
            let tail = read.into_iter().next().unwrap_or_default();
            let decoded = PartFooter::decode(&self.checks.store, &part, &tail, true);
            return decoded.map_err(|error| self.damage(error));
        }
        let (checks, compared) = (Arc::clone(&self.checks), Arc::clone(&part));
        let comparing = move || checks.store.compare_whole_once(&compared);
        let compared = self.checks.runtimes.spawn_blocking("compare part", comparing).await;
        compared.map_err(|e| ParquetError::External(Box::new(e)))?.map_err(|error| self.damage(error))?;
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
        let metadata = self.file.get_metadata(Some(&options)).await?;
        Ok(PartFooter::without_sums(&part, metadata))
    }

    async fn read(&mut self, ranges: Vec<Range<u64>>) -> ParquetResult<Vec<Bytes>> {
        match self.read_once(ranges.clone(), false).await {
            Err(error) if is_of_copy(&error) => self.read_once(ranges, true).await,
            read => read,
        }
    }

    async fn read_once(&mut self, ranges: Vec<Range<u64>>, is_again: bool) -> ParquetResult<Vec<Bytes>> {
        let footer = self.footer().await?;
        self.reads_again = is_again;
        let pages = ranges.iter().map(|range| footer.pages_around(range));
        let pages: Vec<Range<u64>> = pages.collect::<Result<_, _>>().map_err(|error| self.damage(error))?;
        if let Some(ahead) = &mut self.ahead {
            let ahead = ahead.note(footer.metadata(), &ranges);
            self.checks.fetch_ahead(&self.scanned.part, &ahead);
        }
        let read = match self.file.get_byte_ranges(pages.clone()).await {
            Ok(read) => read,
            Err(error) => return Err(self.explained(error).await),
        };
        let mut answers = Vec::with_capacity(ranges.len());
        for ((bytes, pages), range) in read.into_iter().zip(pages).zip(ranges) {
            footer.check(pages.start, &bytes).map_err(|error| self.damage(error))?;
            let (begin, end) = (range.start - pages.start, range.end - pages.start);
            answers.push(bytes.slice(usize::try_from(begin)?..usize::try_from(end)?));
        }
        Ok(answers)
    }

    /// A file that is shorter than it was, or gone, is damaged, whatever the store says.
    async fn explained(&mut self, error: ParquetError) -> ParquetError {
        let (checks, part) = (Arc::clone(&self.checks), Arc::clone(&self.scanned.part));
        let find = move || checks.store.storage().find(&part.location.key);
        // It may wait for a store that does not answer.
        let found = self.checks.runtimes.spawn_blocking("find part", find).await;
        let part = &self.scanned.part;
        match found {
            Ok(Ok(Some(bytes))) if bytes < part.bytes => {
                let message = format!("it has {bytes} bytes where {} were written", part.bytes);
                self.damage(PartError::Damaged { part: part.id, message })
            }
            Ok(Ok(None)) => {
                let message = "its file is missing".to_owned();
                self.damage(PartError::Damaged { part: part.id, message })
            }
            // The store is gone, and says nothing of the part.
            Ok(Err(unreachable)) => {
                let ScannedPart { part, table, .. } = &self.scanned;
                ParquetError::External(Box::new(PhysicalError::of_part(unreachable, table, part)))
            }
            // It answers again, or answered too late.
            _ if self.checks.store.storage().is_far() => {
                let ScannedPart { part, table, .. } = &self.scanned;
                let path = self.checks.store.path(part);
                let failed = PartError::disk("read", &path)(std::io::Error::other(error.to_string()));
                ParquetError::External(Box::new(PhysicalError::of_part(failed, table, part)))
            }
            _ => error,
        }
    }

    /// Notes damage, and says of which table and part it is; unless it may be of a copy on this machine, which is forgotten.
    fn damage(&mut self, error: PartError) -> ParquetError {
        let ScannedPart { part, table, .. } = &self.scanned;
        let storage = self.checks.store.storage();
        if storage.is_far() && !self.reads_again {
            storage.forget_copy(&part.location.key);
            self.reads_again = true;
            return ParquetError::External(Box::new(DamagedCopy));
        }
        self.checks.store.health().note_error(part.table, &error);
        ParquetError::External(Box::new(PhysicalError::of_part(error, table, part)))
    }
}

impl AsyncFileReader for CheckedFile {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        Box::pin(async move {
            let read = self.read(vec![range.clone()]).await?;
            read.into_iter().next().ok_or_else(|| ParquetError::EOF(format!("nothing at {range:?}")))
        })
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        Box::pin(self.read(ranges))
    }

    fn get_metadata<'a>(
        &'a mut self,
        _options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        Box::pin(async move { Ok(Arc::clone(self.footer().await?.metadata())) })
    }
}

/// What this machine kept of a part is not what was written; the storage may have sound bytes.
#[derive(Debug, thiserror::Error)]
#[error("a copy of a part is damaged")]
struct DamagedCopy;

fn is_of_copy(error: &ParquetError) -> bool {
    matches!(error, ParquetError::External(inner) if inner.is::<DamagedCopy>())
}

/// A footer in DataFusion's cache of footers.
struct KeptFooter(Arc<PartFooter>);

impl FileMetadata for KeptFooter {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn memory_size(&self) -> usize {
        self.0.memory_bytes()
    }

    fn extra_info(&self) -> HashMap<String, String> {
        HashMap::new()
    }
}
