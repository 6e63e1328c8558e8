//! Rows of one part, by columns and row ranges, in batches.
//!
//! A reader holds the footer and the page index; a running read holds about one page per column, never a row group.
//! Invariant: columns are found by id; a column the part does not have is left out of the batch, and
//! [`crate::evolve`] fills it in. Must not know: why these rows.

use std::ops::Range;
use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
    RowSelection, RowSelector,
};
use ::parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, RowGroupMetaData};
use ::parquet::file::reader::ChunkReader;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use model::part::FORMAT_PARQUET;
use model::table_def::column_id_of;
use model::{ColumnId, PartDescriptor, PartId, TableId};

use crate::error::PartError;
use crate::footer::{PartFooter, tail_range};
use crate::health::PartHealth;
use crate::ranges::FileRanges;
use crate::store::PartStore;

/// An open part. Cheap to clone; reads do not disturb each other.
#[derive(Clone)]
pub struct PartReader {
    table: TableId,
    part: PartId,
    health: Arc<PartHealth>,
    file: FileRanges,
    metadata: ArrowReaderMetadata,
    rows: u64,
}

/// Opens a part: reads its footer and its index of pages.
///
/// # Errors
/// The file is missing, damaged, or of a format this version does not know.
pub fn open_part(store: &PartStore, part: &PartDescriptor) -> Result<PartReader, PartError> {
    if part.format != FORMAT_PARQUET {
        return Err(PartError::UnknownFormat { part: part.id, format: part.format });
    }
    let opened = match open_checked(store, part) {
        Err(error) if error.is_damage() && store.storage().is_far() => {
            store.storage().forget_copy(&part.location.key);
            open_checked(store, part)
        }
        opened => opened,
    };
    opened.inspect_err(|error| store.health().note_error(part.table, error))
}

fn open_checked(store: &PartStore, part: &PartDescriptor) -> Result<PartReader, PartError> {
    let path = store.path(part);
    let file = store.open(part)?;
    let file = FileRanges::new(file, &path).map_err(PartError::disk("read", &path))?;
    let damaged = |e: ::parquet::errors::ParquetError| PartError::damaged(part.id, e);
    // Where pages are, not what is in them: reads here are by row number.
    let options = ArrowReaderOptions::new()
        .with_offset_index_policy(PageIndexPolicy::Optional)
        .with_column_index_policy(PageIndexPolicy::Skip);
    let (file, metadata) = match tail_range(part) {
        Some(tail) => {
            let tail = file.read(&tail).map_err(|e| PartError::unreadable(part.id, &path, e))?;
            let footer = Arc::new(PartFooter::decode(store, part, &tail, false)?);
            let metadata = ArrowReaderMetadata::try_new(Arc::clone(footer.metadata()), options);
            (file.checked_by(footer), metadata.map_err(damaged)?)
        }
        None => {
            store.compare_whole_once(part)?;
            let metadata = ArrowReaderMetadata::load(&file, options).map_err(damaged)?;
            (file, metadata)
        }
    };
    let rows = u64::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0);
    if rows != part.rows {
        let message = format!("it has {rows} rows where {} were written", part.rows);
        return Err(PartError::damaged(part.id, message));
    }
    let health = Arc::clone(store.health());
    Ok(PartReader { table: part.table, part: part.id, health, file, metadata, rows })
}

impl PartReader {
    pub fn part(&self) -> PartId {
        self.part
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The columns as they were when the part was written.
    pub fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    pub fn row_groups(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    /// The footer.
    pub fn metadata(&self) -> &Arc<ParquetMetaData> {
        self.metadata.metadata()
    }

    /// Bytes one running read of a column may hold: its largest pages, decoded, twice (batches keep the page they
    /// look into while the next is decoded), and its dictionary.
    pub fn column_read_bytes(&self, column: ColumnId) -> u64 {
        let Some(root) = self.schema().fields().iter().position(|f| column_id_of(f) == Some(column)) else {
            return 0;
        };
        let metadata = self.metadata.metadata();
        let schema = metadata.file_metadata().schema_descr();
        let leaves = (0..schema.num_columns()).filter(|leaf| schema.get_column_root_idx(*leaf) == root);
        leaves.map(|leaf| self.leaf_read_bytes(leaf)).sum()
    }

    fn leaf_read_bytes(&self, leaf: usize) -> u64 {
        let metadata = self.metadata.metadata();
        let in_group = |(group, chunk): (usize, &RowGroupMetaData)| {
            let chunk = chunk.column(leaf);
            let uncompressed = u64::try_from(chunk.uncompressed_size()).unwrap_or(0);
            let compressed = u64::try_from(chunk.compressed_size()).unwrap_or(0).max(1);
            let pages = metadata.offset_index().and_then(|index| index.get(group)?.get(leaf));
            let largest =
                pages.and_then(|index| index.page_locations().iter().map(|p| p.compressed_page_size).max());
            match largest.and_then(|bytes| u64::try_from(bytes).ok()) {
                // Pages of one column compress about equally well.
                Some(largest) => (largest.saturating_mul(uncompressed) / compressed).min(uncompressed),
                None => uncompressed,
            }
        };
        2 * metadata.row_groups().iter().enumerate().map(in_group).max().unwrap_or(0)
    }

    /// Compares every page with its sum, and decodes none; `told` hears of the bytes.
    ///
    /// # Errors
    /// A page is not as it was written, or the file cannot be read.
    pub fn check_pages(&self, mut told: impl FnMut(u64)) -> Result<(), PartError> {
        for chunk in self.metadata.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns) {
            let (begin, bytes) = chunk.byte_range();
            let length = usize::try_from(bytes).map_err(|e| PartError::damaged(self.part, e))?;
            self.file.get_bytes(begin, length).map_err(|error| self.damage(&error))?;
            told(bytes);
        }
        Ok(())
    }

    /// All rows of these columns, or of some row groups; batches of at most `batch_rows` rows.
    ///
    /// # Errors
    /// The file is damaged or cannot be read.
    pub fn read(
        &self,
        columns: &[ColumnId],
        row_groups: Option<Vec<usize>>,
        batch_rows: usize,
    ) -> Result<PartBatches, PartError> {
        let mut builder = self.builder(columns, batch_rows);
        if let Some(row_groups) = row_groups {
            builder = builder.with_row_groups(row_groups);
        }
        self.build(builder)
    }

    /// A range of rows, counted from the start of the part. Pages outside it are not read.
    ///
    /// # Errors
    /// The file is damaged or cannot be read.
    pub fn read_rows(
        &self,
        columns: &[ColumnId],
        range: Range<u64>,
        batch_rows: usize,
    ) -> Result<PartBatches, PartError> {
        let mut groups = Vec::new();
        let (mut start, mut skipped) = (0, None);
        for (index, group) in self.metadata.metadata().row_groups().iter().enumerate() {
            let end = start + u64::try_from(group.num_rows()).unwrap_or(0);
            if start < range.end && end > range.start {
                groups.push(index);
                skipped.get_or_insert(range.start.saturating_sub(start));
            }
            start = end;
        }
        let count = |rows: u64| usize::try_from(rows).map_err(|e| PartError::damaged(self.part, e));
        let skip = RowSelector::skip(count(skipped.unwrap_or(0))?);
        let select = RowSelector::select(count(range.end.min(self.rows).saturating_sub(range.start))?);
        let selection = RowSelection::from(vec![skip, select]);
        self.build(self.builder(columns, batch_rows).with_row_groups(groups).with_row_selection(selection))
    }

    fn builder(
        &self,
        columns: &[ColumnId],
        batch_rows: usize,
    ) -> ParquetRecordBatchReaderBuilder<FileRanges> {
        let fields = self.schema().fields().iter().enumerate();
        let wanted = fields.filter(|(_, f)| column_id_of(f).is_some_and(|id| columns.contains(&id)));
        let roots: Vec<usize> = wanted.map(|(position, _)| position).collect();
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), roots);
        ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), self.metadata.clone())
            .with_projection(mask)
            .with_batch_size(batch_rows.max(1))
    }

    fn build(&self, builder: ParquetRecordBatchReaderBuilder<FileRanges>) -> Result<PartBatches, PartError> {
        match builder.build() {
            Ok(batches) => Ok(PartBatches { reader: self.clone(), batches }),
            Err(error) => Err(self.damage(&error)),
        }
    }

    /// What is wrong with the part when the Parquet library says so.
    fn damage(&self, said: &dyn std::error::Error) -> PartError {
        let error = self.file.take_damage().unwrap_or_else(|| PartError::damaged(self.part, said));
        self.health.note_error(self.table, &error);
        error
    }
}

/// Batches of a part, in the part's order and with the columns in the part's order.
pub struct PartBatches {
    reader: PartReader,
    batches: ParquetRecordBatchReader,
}

impl Iterator for PartBatches {
    type Item = Result<RecordBatch, PartError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.batches.next()?;
        Some(next.map_err(|error| self.reader.damage(&error)))
    }
}
