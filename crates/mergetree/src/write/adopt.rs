//! Row groups of other files become parts: some columns copied as they are stored, the others encoded here.
//!
//! Rows stay in the order of the other files. Invariant: the part claims the order of the sort key only after all of its rows were
//! compared, and is of one partition. Must not know: files outside, and who decides which columns are copied.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use catalog::TableState;
use model::{BlockRange, LoadId, PartitionValue, SealedPart, SortOrder};
use parts::sorted::SortedCheck;
use parts::{CopiedChunk, PartError, PartSpec, PartWriter, UnsyncedPart, WritePurpose};

use super::partition::split;
use crate::error::TableError;
use crate::origin::origin_pairs;
use crate::table::Table;

/// Bytes of the table's parts that a merge has to sort before it can merge them: the debt that adoption makes. A table without a sort
/// key has none.
pub fn unsorted_bytes(table: &Table, state: &TableState) -> u64 {
    let sorted = table.sort_order();
    let unsorted = state.parts().filter(|part| sorted != SortOrder::None && part.sort_order != sorted);
    unsorted.map(|part| part.bytes).fold(0, u64::saturating_add)
}

/// What the keys of a row group's rows say.
#[derive(Clone, PartialEq, Debug)]
pub struct KeysFound {
    /// Whether the rows are in the order of the sort key; with none they are.
    pub in_order: bool,
    /// In the order of their first rows.
    pub partitions: Vec<PartitionValue>,
}

/// Looks at the keys of rows that have, at least, the columns of the sort key and the partition key.
///
/// # Errors
/// A key cannot be computed.
pub fn find_keys(table: &Table, rows: &[RecordBatch]) -> Result<KeysFound, TableError> {
    let mut check = SortedCheck::new(&table.keys.sort);
    let mut in_order = true;
    for batch in rows {
        match check.check(batch) {
            Ok(()) => {}
            Err(PartError::Unsorted { .. }) => {
                in_order = false;
                break;
            }
            Err(error) => return Err(error.into()),
        }
    }
    let pieces = split(table, rows, 0)?;
    Ok(KeysFound { in_order, partitions: pieces.into_iter().map(|piece| piece.partition).collect() })
}

/// The values of one column of a row group.
pub enum AdoptedColumn {
    Copied(CopiedChunk),
    /// In the layout of the table's column.
    Values(Vec<ArrayRef>),
}

/// A row group that goes into a part as one.
pub struct AdoptedRows {
    /// Of every stored column, in the table's order.
    pub columns: Vec<AdoptedColumn>,
    pub partition: PartitionValue,
    /// The first and the last row, of which the key's columns are looked at; `None` if the rows are not in the order of the sort key,
    /// as [`find_keys`] found.
    pub ends: Option<(RecordBatch, RecordBatch)>,
}

/// Decoded bytes of a part that takes no more row groups.
const PART_BYTES_MAX: u64 = 1 << 30;

/// Writes row groups one by one, as few parts as their order and partitions allow.
///
/// Row groups that are not in order share parts with each other; one in order goes behind another one only if it begins where that
/// ended. Synchronous; one thread drives it. Invariant: dropped before [`AdoptedParts::finish`], it leaves no file.
pub struct AdoptedParts {
    table: Table,
    load: Option<LoadId>,
    open: Option<OpenPart>,
    /// Written and being synced, while the next part is written.
    unsynced: Option<UnsyncedPart>,
    sealed: Vec<SealedPart>,
}

struct OpenPart {
    writer: PartWriter,
    partition: PartitionValue,
    /// The last row, if all are in order.
    last: Option<RecordBatch>,
    /// Of each column, whether its pages tell NULLs.
    optional: Vec<Option<bool>>,
}

impl AdoptedParts {
    pub fn new(table: Table, load: Option<LoadId>) -> AdoptedParts {
        AdoptedParts { table, load, open: None, unsynced: None, sealed: Vec::new() }
    }

    /// Writes a row group.
    ///
    /// # Errors
    /// The disk refuses, or the columns are not those of the table or of different lengths.
    pub fn write(&mut self, rows: AdoptedRows) -> Result<(), TableError> {
        let stored = self.table.def.stored_columns().count();
        if stored != rows.columns.len() {
            let columns = rows.columns.len();
            return Err(self.table.rows_error(format!("a row group has {columns} column(s)")));
        }
        if !self.goes_on(&rows)? {
            self.end_part()?;
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.begin_part(&rows)?,
        };
        for (position, column) in rows.columns.iter().enumerate() {
            match column {
                AdoptedColumn::Copied(chunk) => open.writer.append_chunk(position, chunk)?,
                AdoptedColumn::Values(batches) => {
                    for values in batches {
                        open.writer.write_column(position, values)?;
                    }
                }
            }
        }
        open.writer.end_row_group()?;
        open.last = rows.ends.map(|(_, last)| last);
        let is_full = open.writer.bytes_uncompressed() >= PART_BYTES_MAX;
        self.open = Some(open);
        if is_full { self.end_part() } else { Ok(()) }
    }

    /// Makes all parts durable and returns them.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn finish(mut self) -> Result<Vec<SealedPart>, TableError> {
        self.end_part()?;
        self.seal()?;
        Ok(std::mem::take(&mut self.sealed))
    }

    /// Whether the open part can take the row group.
    fn goes_on(&self, rows: &AdoptedRows) -> Result<bool, TableError> {
        let Some(open) = &self.open else { return Ok(true) };
        let fits = open.partition == rows.partition
            && rows.columns.iter().zip(&open.optional).all(|(column, optional)| match column {
                AdoptedColumn::Copied(chunk) => *optional == Some(chunk.is_optional),
                // Encodings were chosen for those columns only that had values then.
                AdoptedColumn::Values(_) => optional.is_none(),
            });
        match (&open.last, &rows.ends) {
            _ if !fits => Ok(false),
            (None, None) => Ok(true),
            (Some(last), Some((first, _))) => follows(&self.table, last, first),
            _ => Ok(false),
        }
    }

    fn begin_part(&self, rows: &AdoptedRows) -> Result<OpenPart, TableError> {
        let table = &self.table;
        let optional: Vec<Option<bool>> = rows
            .columns
            .iter()
            .map(|values| match values {
                AdoptedColumn::Copied(chunk) => Some(chunk.is_optional),
                AdoptedColumn::Values(_) => None,
            })
            .collect();
        let told = table.def.stored_columns().zip(&optional);
        let told: Vec<_> = told.filter_map(|(column, optional)| Some((column.id, (*optional)?))).collect();
        let spec = PartSpec {
            table: Arc::clone(&table.def),
            keys: Arc::clone(&table.keys),
            partition: rows.partition.clone(),
            sort: if rows.ends.is_some() { table.sort_order() } else { SortOrder::None },
            level: 0,
            purpose: WritePurpose::Insert,
            load: self.load,
            blocks: BlockRange::default(),
            encodings: None,
            origin: origin_pairs(table, 0, BlockRange::default(), &[]),
        };
        let mut writer = PartWriter::adopting(&table.store, spec, &told)?;
        let first = sample(&writer, &rows.columns).map_err(|error| table.rows_error(error))?;
        writer.choose_encodings(&first);
        Ok(OpenPart { writer, partition: rows.partition.clone(), last: None, optional })
    }

    fn end_part(&mut self) -> Result<(), TableError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let written = open.writer.close()?;
        self.seal()?;
        self.unsynced = Some(written);
        Ok(())
    }

    fn seal(&mut self) -> Result<(), TableError> {
        if let Some(part) = self.unsynced.take() {
            self.sealed.push(part.seal()?);
        }
        Ok(())
    }
}

impl Drop for AdoptedParts {
    fn drop(&mut self) {
        for part in &self.sealed {
            // Failing that, the file is an orphan, which the next opening collects.
            let _ = self.table.store.delete(part.descriptor());
        }
    }
}

/// Whether a row may stand behind another one in the order of the sort key.
fn follows(table: &Table, last: &RecordBatch, first: &RecordBatch) -> Result<bool, TableError> {
    let mut check = SortedCheck::new(&table.keys.sort);
    check.check(last)?;
    match check.check(first) {
        Ok(()) => Ok(true),
        Err(PartError::Unsorted { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The first rows of the columns that are encoded, by which encodings are chosen; those that are copied are empty texts, zeros and
/// NULLs, of which nobody asks.
fn sample(writer: &PartWriter, columns: &[AdoptedColumn]) -> Result<RecordBatch, arrow::error::ArrowError> {
    let first = |column: &AdoptedColumn| match column {
        AdoptedColumn::Values(batches) => batches.first().map(|values| values.len()),
        AdoptedColumn::Copied(_) => None,
    };
    let rows = columns.iter().filter_map(first).min().unwrap_or(0).min(parts::SAMPLE_ROWS_MAX);
    let schema = writer.schema();
    let arrays = schema.fields().iter().zip(columns).map(|(field, column)| match column {
        AdoptedColumn::Values(batches) => match batches.first() {
            Some(values) => Ok(values.slice(0, rows)),
            None => parts::evolve::default_array(field, rows),
        },
        AdoptedColumn::Copied(_) => parts::evolve::default_array(field, rows),
    });
    let arrays = arrays.collect::<Result<Vec<ArrayRef>, _>>()?;
    RecordBatch::try_new(Arc::clone(schema), arrays)
}
