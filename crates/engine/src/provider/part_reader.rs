//! Reads parts for DataFusion, with their page indexes kept beside their footers.
//!
//! DataFusion asks for a footer alone first and for the page index when a predicate may prune pages; what it then loads
//! it does not keep, and decodes again for every statement. A part never changes, so both are decoded together, once.
//! Invariant: what is cached belongs to exactly one file. Must not know: which parts are read, or why.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::ParquetFileReaderFactory;
use datafusion::datasource::physical_plan::parquet::CachedParquetFileReaderFactory;
use datafusion::execution::cache::cache_manager::FileMetadataCache;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::future::BoxFuture;
use object_store::ObjectStore;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};

/// DataFusion's readers, which answer with the page index whether or not it was asked for.
#[derive(Debug)]
pub(super) struct PartReaderFactory {
    inner: CachedParquetFileReaderFactory,
}

impl PartReaderFactory {
    pub(super) fn new(store: Arc<dyn ObjectStore>, cache: Arc<FileMetadataCache>) -> Self {
        PartReaderFactory { inner: CachedParquetFileReaderFactory::new(store, cache) }
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
        let inner = self.inner.create_reader(partition_index, file, metadata_size_hint, metrics)?;
        Ok(Box::new(PartReader(inner)))
    }
}

struct PartReader(Box<dyn AsyncFileReader + Send>);

impl AsyncFileReader for PartReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, parquet::errors::Result<Bytes>> {
        self.0.get_bytes(range)
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, parquet::errors::Result<Vec<Bytes>>> {
        self.0.get_byte_ranges(ranges)
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, parquet::errors::Result<Arc<ParquetMetaData>>> {
        Box::pin(async move {
            let options = options.cloned().unwrap_or_default();
            let options = options.with_page_index_policy(PageIndexPolicy::Optional);
            self.0.get_metadata(Some(&options)).await
        })
    }
}
