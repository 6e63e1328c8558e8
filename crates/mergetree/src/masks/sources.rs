//! Rows that masks are computed of: parts, and rows of the log in the order of the key.
//!
//! Invariant: only the columns that decide are read. Must not know: what is decided.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use model::saturating::usize_of;
use model::table_def::column_id_of;
use model::{Evolution, PartDescriptor};
use parts::sorted::KeyRows;
use parts::{PartReader, array_size, open_part};

use crate::error::TableError;
use crate::merge::rows::{InputRows, SortedRows};
use crate::table::Table;
use crate::write::collapse::columns_asked;
use crate::write::gather::{gather, places};
use crate::write::sort::BlockKeys;

/// Rows that were inserted one behind the other.
#[derive(Clone, Debug)]
pub enum MaskSource {
    /// In the order of the key.
    Part(Arc<PartDescriptor>),
    /// In the order of insertion.
    Rows(Vec<RecordBatch>),
}

impl MaskSource {
    pub fn rows(&self) -> u64 {
        match self {
            MaskSource::Part(part) => part.rows,
            MaskSource::Rows(rows) => rows.iter().map(|batch| batch.num_rows() as u64).sum(),
        }
    }
}

/// The same, ready to be read from any row on.
pub(super) struct Opened {
    kind: Kind,
    pub(super) rows: u64,
    evolution: Arc<Evolution>,
    schema: SchemaRef,
}

enum Kind {
    Part(PartReader),
    /// In the order of the key; of each row its number by insertion, if that is another.
    Held(RecordBatch, Option<Vec<u32>>),
}

/// The columns that decide.
pub(super) fn schema_asked(table: &Table) -> SchemaRef {
    let asked = columns_asked(&table.def, &table.keys);
    let all = table.def.arrow_schema();
    let fields =
        all.fields().iter().filter(|field| column_id_of(field).is_some_and(|id| asked.contains(&id)));
    Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()))
}

impl Opened {
    /// # Errors
    /// A part is missing or damaged; a key cannot be computed.
    pub(super) fn open(table: &Table, source: &MaskSource, schema: &SchemaRef) -> Result<Opened, TableError> {
        let kind = match source {
            MaskSource::Part(part) => Kind::Part(open_part(&table.store, part)?),
            MaskSource::Rows(rows) => held(table, rows, schema)?,
        };
        let (rows, evolution) = (source.rows(), Arc::clone(&table.keys.evolution));
        Ok(Opened { kind, rows, evolution, schema: Arc::clone(schema) })
    }

    /// Rows by their places in the order of the key.
    pub(super) fn read(&self, range: Range<u64>, batch_rows: usize) -> SortedRows {
        match &self.kind {
            Kind::Part(reader) => {
                let columns = (&self.schema, &self.evolution);
                SortedRows::Part(Box::new(InputRows::new(reader, range, columns, batch_rows)))
            }
            Kind::Held(rows, _) => {
                let (start, end) = (usize_of(range.start), usize_of(range.end));
                SortedRows::Held { rows: rows.slice(start, end.saturating_sub(start)), batch_rows }
            }
        }
    }

    /// What one running read of the columns that decide holds: pages, a batch, and its keys as bytes.
    pub(super) fn read_bytes(&self, table: &Table, batch_rows: usize) -> u64 {
        let rows = batch_rows as u64;
        match &self.kind {
            Kind::Held(held, _) => {
                let all = array_size::batch_bytes(held);
                all + 2 * all * rows.min(self.rows) / self.rows.max(1)
            }
            Kind::Part(reader) => {
                let columns = columns_asked(&table.def, &table.keys);
                let pages: u64 = columns.iter().map(|column| reader.column_read_bytes(*column)).sum();
                // A batch and its keys are as large as a page each.
                2 * pages
            }
        }
    }

    /// The number of a row by its place in the order of the key.
    pub(super) fn number(&self, place: usize) -> usize {
        self.numbers().map_or(place, |numbers| numbers[place] as usize)
    }

    /// The keys of the rows with this number and later ones; none of a part, whose rows are all there from the beginning.
    ///
    /// # Errors
    /// A key cannot be computed.
    pub(super) fn keys_from(&self, table: &Table, first: u64) -> Result<Vec<Vec<u8>>, TableError> {
        let Kind::Held(rows, _) = &self.kind else { return Ok(Vec::new()) };
        if rows.num_rows() == 0 || first >= self.rows {
            return Ok(Vec::new());
        }
        let mut keys = KeyRows::new(&table.keys.sort);
        let arrays = keys.arrays(rows)?;
        let encoded = keys.rows(&arrays)?;
        let new = (0..rows.num_rows()).filter(|place| self.number(*place) >= usize_of(first));
        Ok(new.map(|place| encoded.row(place).data().to_vec()).collect())
    }

    /// The same for all rows, where the two differ.
    pub(super) fn numbers(&self) -> Option<&[u32]> {
        match &self.kind {
            Kind::Held(_, numbers) => numbers.as_deref(),
            Kind::Part(_) => None,
        }
    }
}

fn held(table: &Table, rows: &[RecordBatch], schema: &SchemaRef) -> Result<Kind, TableError> {
    let broken = |error: arrow::error::ArrowError| TableError::Gather(error.to_string());
    let position = |field: &Arc<arrow::datatypes::Field>| {
        let of = |at: &Arc<arrow::datatypes::Field>| column_id_of(at) == column_id_of(field);
        let found = rows.first().and_then(|batch| batch.schema().fields().iter().position(of));
        found.ok_or_else(|| TableError::Gather(format!("column {} is not there", field.name())))
    };
    let positions = schema.fields().iter().map(position).collect::<Result<Vec<_>, _>>()?;
    let narrow: Vec<RecordBatch> =
        rows.iter().map(|batch| batch.project(&positions)).collect::<Result<_, _>>().map_err(broken)?;
    let order = BlockKeys::new(&table.keys, &narrow)?.sorted_rows(None);
    let all = places(&narrow).map_err(broken)?;
    let sorted = gather(&narrow, order.as_deref().unwrap_or(&all)).map_err(broken)?;
    let sorted = sorted.with_schema(Arc::clone(schema)).map_err(broken)?;
    let Some(order) = order else { return Ok(Kind::Held(sorted, None)) };
    let mut firsts = vec![0_u32];
    for batch in &narrow {
        let rows = u32::try_from(batch.num_rows()).unwrap_or(u32::MAX);
        firsts.push(firsts.last().copied().unwrap_or(0).saturating_add(rows));
    }
    let numbers = order.iter().map(|place| firsts[place.batch as usize] + place.row).collect();
    Ok(Kind::Held(sorted, Some(numbers)))
}
