//! Writes the files of a data set side by side, one thread a file at a time.
//!
//! Invariant: the bytes of a file do not depend on how many threads write. Knows columns only as Arrow does.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use super::target::{FileSink, Target};
use crate::failure::Failure;

/// Rows made at once: a few megabytes of text, which stays in the processor's cache.
const BATCH_ROWS: u64 = 2048;
/// Rows of a row group: small enough that one file keeps several readers busy.
const ROW_GROUP_ROWS: usize = 131_072;

/// Rows of one file.
pub(crate) trait FileRows {
    /// The next rows, at most `rows_max`; `None` after the last.
    fn next_batch(&mut self, rows_max: u64) -> Option<Result<RecordBatch, ArrowError>>;
}

/// Files that can be made independently.
pub(crate) trait DataSet: Sync {
    fn schema(&self) -> SchemaRef;
    fn files(&self) -> u32;
    fn name(&self, number: u32) -> String;
    fn rows(&self, number: u32) -> Box<dyn FileRows + '_>;
    /// Columns in which hardly a value repeats, so that a dictionary would only cost time.
    fn distinct_columns(&self) -> &'static [&'static str];
}

/// What has been written so far; read by whoever shows progress.
#[derive(Debug, Default)]
pub struct Written {
    pub rows: AtomicU64,
    pub bytes: AtomicU64,
    pub files: AtomicU32,
}

/// Writes every file of `set` with at most `threads` threads. The first error ends all of them.
pub(crate) fn write_files(
    set: &dyn DataSet,
    target: &Target,
    threads: usize,
    written: &Written,
) -> Result<(), Failure> {
    let next = AtomicU32::new(0);
    let write_some = || -> Result<(), Failure> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= set.files() {
                return Ok(());
            }
            // An error ends this thread; the others must not begin another file.
            write_file(set, number, target, written)
                .inspect_err(|_| next.store(set.files(), Ordering::Relaxed))?;
        }
    };
    thread::scope(|scope| {
        let writers: Vec<_> = (0..threads.max(1))
            .map(|number| {
                thread::Builder::new().name(format!("generate-{number}")).spawn_scoped(scope, write_some)
            })
            .collect();
        writers.into_iter().try_for_each(|writer| {
            writer?.join().unwrap_or_else(|_| Err(Failure::new("a writer thread of the generator died")))
        })
    })
}

fn write_file(set: &dyn DataSet, number: u32, target: &Target, written: &Written) -> Result<(), Failure> {
    let sink = Counted { sink: target.create(&set.name(number))?, written };
    let options = ArrowWriterOptions::new()
        .with_properties(properties(set.distinct_columns())?)
        .with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(sink, set.schema(), options)?;
    let mut rows = set.rows(number);
    while let Some(batch) = rows.next_batch(BATCH_ROWS) {
        let batch = batch?;
        writer.write(&batch)?;
        written.rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
    }
    writer.into_inner()?.sink.finish()?;
    written.files.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

fn properties(distinct_columns: &[&str]) -> Result<WriterProperties, Failure> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_created_by("gristmill generate".to_owned());
    for column in distinct_columns {
        properties = properties.set_column_dictionary_enabled(ColumnPath::from(*column), false);
    }
    Ok(properties.build())
}

/// Counts bytes on their way into a file.
struct Counted<'a> {
    sink: Box<dyn FileSink>,
    written: &'a Written,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.sink.write(bytes)?;
        self.written.bytes.fetch_add(taken as u64, Ordering::Relaxed);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
