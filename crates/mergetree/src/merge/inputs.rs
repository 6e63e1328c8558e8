//! The inputs of a merge made ready: in order, open, weighed, sampled.
//!
//! An input in another order than the table's is sorted into temporary parts, block by block. Invariant: inputs stay in
//! block order, temporary parts in the place of the part they came from; dropping the inputs deletes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use host::MemoryBudget;
use model::table_def::column_id_of;
use model::{BlockRange, ColumnId, Evolution, PartDescriptor, SortOrder, TableKeys};
use parts::sorted::key_columns;
use parts::{PartReader, PartStore, WritePurpose, open_part};

use super::memory::{BATCH_ROWS_MAX, ColumnCost, MergeCosts};
use super::rows::InputRows;
use crate::error::TableError;
use crate::table::Table;
use crate::write::{PartSink, SinkSettings};

/// Inputs ready to be read.
pub(crate) struct Inputs {
    pub(crate) readers: Vec<PartReader>,
    /// Average bytes of a row of each.
    pub(crate) row_bytes: Vec<u64>,
    schema: SchemaRef,
    evolution: Arc<Evolution>,
    rows_total: u64,
    bytes_total: u64,
    encoded_total: u64,
    _temporary: TemporaryParts,
}

/// Rows decoded at once while sorting.
const BATCH_ROWS: usize = 8192;
/// Rows looked at to choose encodings, from each of as many places.
const SAMPLE_ROWS: u64 = 1024;
const SAMPLE_PLACES: u64 = 4;
/// Of each place, if rows are large.
const SAMPLE_BYTES: u64 = 1 << 20;

impl Inputs {
    /// # Errors
    /// A part is missing or damaged, there is no memory to sort one, or `cancelled`.
    pub(crate) fn open(
        table: &Table,
        parts: &[Arc<PartDescriptor>],
        memory: &MemoryBudget,
        cancelled: &AtomicBool,
    ) -> Result<Inputs, TableError> {
        let order = table.sort_order();
        let scratch = table.store.scratch();
        let mut temporary = TemporaryParts { store: scratch.clone(), parts: Vec::new() };
        let mut sorted = Vec::with_capacity(parts.len());
        for part in parts {
            if order == SortOrder::None || part.sort_order == order {
                sorted.push((&table.store, Arc::clone(part)));
                continue;
            }
            let made = sort(table, &scratch, part, (memory, cancelled))?;
            sorted.extend(made.iter().map(|part| (&scratch, Arc::clone(part))));
            temporary.parts.extend(made);
        }
        sorted.retain(|(_, part)| part.rows > 0);
        let readers = sorted.iter().map(|(store, part)| open_part(store, part));
        Ok(Inputs {
            readers: readers.collect::<Result<Vec<_>, _>>()?,
            row_bytes: sorted.iter().map(|(_, part)| part.bytes_uncompressed.div_ceil(part.rows)).collect(),
            schema: table.def.arrow_schema(),
            evolution: Arc::clone(&table.keys.evolution),
            rows_total: sorted.iter().map(|(_, part)| part.rows).sum(),
            bytes_total: sorted.iter().map(|(_, part)| part.bytes_uncompressed).sum(),
            encoded_total: sorted.iter().map(|(_, part)| part.bytes).sum(),
            _temporary: temporary,
        })
    }

    pub(crate) fn costs(&self, table: &Table) -> MergeCosts {
        let keys = key_columns(&table.keys.sort);
        let columns: Vec<(ColumnId, ColumnCost)> =
            column_ids(&self.schema).into_iter().map(|column| (column, self.column_cost(column))).collect();
        let key = columns.iter().filter(|(column, _)| keys.contains(column)).map(|(_, cost)| cost);
        let footers = self.readers.iter().map(|reader| reader.metadata().memory_size() as u64);
        MergeCosts {
            inputs: self.readers.len() as u64,
            rows_max: self.readers.iter().map(PartReader::rows).max().unwrap_or(0),
            rows_total: self.rows_total,
            batch_rows_max: table.def.setting("merge_max_block_size").unwrap_or(BATCH_ROWS_MAX),
            bytes_total: self.bytes_total,
            encoded_total: self.encoded_total,
            fixed: footers.sum::<u64>() + key.clone().map(|cost| cost.pages).sum::<u64>(),
            // The comparable bytes repeat the values, and say where each row ends.
            key_row: key.map(|cost| 2 * cost.row + 8).sum(),
            columns: columns.into_iter().map(|(_, cost)| cost).collect(),
        }
    }

    fn column_cost(&self, column: ColumnId) -> ColumnCost {
        let sizes = self.readers.iter().map(|reader| column_sizes(reader, column));
        let (dictionaries, values) = sizes.fold((0, 0), |sum, (a, b)| (sum.0 + a, sum.1 + b));
        let pages: u64 = self.readers.iter().map(|reader| reader.column_read_bytes(column)).sum();
        // A view, or a number and its NULL bit, beside the bytes of texts.
        ColumnCost { pages: pages + dictionaries, row: 16 + values / self.rows_total.max(1) }
    }

    /// Rows of the largest input, from several places.
    ///
    /// # Errors
    /// The part is damaged.
    pub(crate) fn sample(&self) -> Result<RecordBatch, TableError> {
        let mut rows = Vec::new();
        let largest = self.readers.iter().zip(&self.row_bytes).max_by_key(|(reader, _)| reader.rows());
        if let Some((reader, row_bytes)) = largest {
            let count = SAMPLE_ROWS.min(SAMPLE_BYTES / (*row_bytes).max(1)).max(16);
            for place in 0..SAMPLE_PLACES {
                let start = reader.rows() * place / SAMPLE_PLACES;
                let end = (start + count).min(reader.rows() * (place + 1) / SAMPLE_PLACES);
                let mut range =
                    InputRows::new(reader, start..end, (&self.schema, &self.evolution), BATCH_ROWS);
                while let Some(batch) = range.next()? {
                    rows.push(batch);
                }
            }
        }
        concat_batches(&self.schema, &rows).map_err(|e| TableError::Gather(e.to_string()))
    }
}

/// Bytes of the dictionaries that are held while a column is read, and of all its values.
fn column_sizes(reader: &PartReader, column: ColumnId) -> (u64, u64) {
    let metadata = reader.metadata();
    let schema = metadata.file_metadata().schema_descr();
    let Some(root) = reader.schema().fields().iter().position(|f| column_id_of(f) == Some(column)) else {
        return (0, 0);
    };
    let (mut dictionaries, mut values) = (0, 0);
    for leaf in (0..schema.num_columns()).filter(|leaf| schema.get_column_root_idx(*leaf) == root) {
        let mut largest = 0;
        for chunk in metadata.row_groups().iter().map(|group| group.column(leaf)) {
            let uncompressed = u64::try_from(chunk.uncompressed_size()).unwrap_or(0);
            values += uncompressed;
            let dictionary =
                chunk.dictionary_page_offset().map_or(0, |start| chunk.data_page_offset() - start);
            let compressed = u64::try_from(chunk.compressed_size()).unwrap_or(0).max(1);
            let dictionary = u64::try_from(dictionary).unwrap_or(0).saturating_mul(uncompressed) / compressed;
            largest = largest.max(dictionary.min(uncompressed));
        }
        // The bytes, and a view of each entry.
        dictionaries += 2 * largest;
    }
    (dictionaries, values)
}

fn column_ids(schema: &SchemaRef) -> Vec<ColumnId> {
    schema.fields().iter().filter_map(|field| column_id_of(field)).collect()
}

/// Sorts a part block by block into `scratch`; equal keys stay in order, because blocks are in order.
fn sort(
    table: &Table,
    scratch: &PartStore,
    part: &Arc<PartDescriptor>,
    (memory, cancelled): (&MemoryBudget, &AtomicBool),
) -> Result<Vec<Arc<PartDescriptor>>, TableError> {
    // All rows are of one partition, whatever the key says of them now.
    let keys = Arc::new(TableKeys {
        sort: table.keys.sort.clone(),
        partition: Vec::new(),
        combined: table.keys.combined.clone(),
        evolution: Arc::clone(&table.keys.evolution),
    });
    let in_one = Table { keys, store: scratch.clone(), ..table.clone() };
    let reader = open_part(&table.store, part)?;
    let schema = table.def.arrow_schema();
    // All columns are read at once. Without these pages there is no sorting, so blocks are the smaller for them.
    let held = column_ids(&schema).into_iter().map(|column| {
        let (dictionary, _) = column_sizes(&reader, column);
        reader.column_read_bytes(column).saturating_add(dictionary)
    });
    let mut pages = memory.empty_grant("merge input pages");
    pages.grow_anyway(held.fold(0, u64::saturating_add));
    let mut sink = PartSink::replacing(
        in_one,
        SinkSettings::within(memory),
        WritePurpose::Scratch,
        BlockRange::default(),
    );
    let mut rows = InputRows::new(&reader, 0..reader.rows(), (&schema, &table.keys.evolution), BATCH_ROWS);
    while let Some(batch) = rows.next()? {
        check_cancelled(cancelled)?;
        sink.write(batch)?;
    }
    Ok(sink.finish()?.into_iter().map(|part| Arc::new(part.into_descriptor())).collect())
}

/// # Errors
/// `Cancelled`.
pub(crate) fn check_cancelled(cancelled: &AtomicBool) -> Result<(), TableError> {
    match cancelled.load(Ordering::Relaxed) {
        true => Err(TableError::Cancelled),
        false => Ok(()),
    }
}

/// Deletes its parts when it goes.
struct TemporaryParts {
    store: PartStore,
    parts: Vec<Arc<PartDescriptor>>,
}

impl Drop for TemporaryParts {
    fn drop(&mut self) {
        for part in &self.parts {
            // Failing that, the file is an orphan, which the next opening collects.
            let _ = self.store.delete(part);
        }
    }
}
