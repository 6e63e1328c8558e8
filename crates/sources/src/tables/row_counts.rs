//! Rows of text files, counted once by whoever reads one to its end.
//!
//! Invariant: a number is remembered only for a whole file read without an error, under the settings it was read with.
//! Must not know: formats.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use futures::stream::{self, StreamExt};
use model::saturating::{u64_of, usize_of};
use stores::error::{Result, SourceError};
use stores::files::listing::SourceFile;

use crate::cache::key::SchemaKey;
use crate::cache::schemas::SchemaCache;
use crate::parquet::decode::BatchStream;
use crate::schema::virtual_columns::FileColumn;

/// Passes batches on and remembers their number of rows at the end.
pub(crate) fn counting(
    batches: BatchStream,
    cache: Arc<SchemaCache>,
    key: SchemaKey,
    now_ms: u64,
) -> BatchStream {
    let state = (batches, 0_u64, Some((cache, key)));
    stream::unfold(state, move |(mut batches, mut rows, mut into)| async move {
        let next = batches.next().await;
        match &next {
            Some(Ok(batch)) => rows = rows.saturating_add(u64_of(batch.num_rows())),
            Some(Err(_)) => into = None,
            None => {
                if let Some((cache, key)) = into.take() {
                    cache.put_rows(key, rows, now_ms);
                }
            }
        }
        next.map(|batch| (batch, (batches, rows, into)))
    })
    .boxed()
}

/// The rows of a file of which nothing but constants is wanted.
pub(crate) fn constant_rows(
    constants: &[FileColumn],
    output: &SchemaRef,
    file: &SourceFile,
    rows: u64,
    batch_rows: usize,
) -> Result<BatchStream> {
    let found = |name: &str| constants.iter().find(|column| column.name() == name);
    let columns = output.fields().iter().filter_map(|field| found(field.name()));
    let broken = |error: String| SourceError::corrupt(&file.path, error);
    let whole = columns.map(|column| column.values(file, 0, batch_rows)).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch_rows));
    let batch = RecordBatch::try_new_with_options(Arc::clone(output), whole, &options)
        .map_err(|error| broken(error.to_string()))?;
    let batches = stream::unfold(rows, move |left| {
        let take = usize_of(left).min(batch_rows);
        let after = left.saturating_sub(u64_of(take));
        let next = (take > 0).then(|| (Ok(batch.slice(0, take)), after));
        async move { next }
    });
    Ok(batches.boxed())
}
