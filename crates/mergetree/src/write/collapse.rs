//! Rows of equal sort key become one, as the table's mode says: a pure function over rows in order.
//!
//! Four places ask it: sinks and small INSERTs of the rows of one statement, merges, and reads with FINAL. Invariant: rows
//! come in the order of the sort key, and equal keys in the order of insertion; what comes out is in order, too, and does
//! not depend on how the rows were cut into batches. Must not know: parts, and who asks.

mod choose;
mod sums;
mod combined;

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::{concat_batches, take};
use arrow::datatypes::{Float32Type, Float64Type, SchemaRef};
use arrow::error::ArrowError;
use arrow::row::Rows;
use model::table_def::column_id_of;
use model::{ColumnId, Combine, Combining, MergeMode, TableDef, TableKeys};
use parts::sorted::{KeyRows, key_columns};

use super::gather::{gather, places};
use super::partition::split;
use super::sort::BlockKeys;
use crate::error::TableError;
use crate::table::Table;

pub(crate) use choose::{ordered, truths};

/// A mode over the positions of columns.
#[derive(Clone, Debug)]
enum Rule {
    Replacing {
        version: Option<usize>,
        is_deleted: Option<usize>,
        hides_deleted: bool,
    },
    Collapsing {
        sign: usize,
        keeps_negative: bool,
    },
    Versioned {
        sign: usize,
        version: usize,
    },
    /// Numbers that are added, and columns that are combined by a function.
    Combining {
        sums: Vec<usize>,
        combined: Vec<(usize, Arc<dyn Combine>)>,
    },
}

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum For {
    /// Rows that are stored: what later rows may have to know stays.
    Storage,
    /// Rows that are shown by FINAL: those that are deleted are not.
    Reading,
}

/// See the module.
pub struct Collapser {
    rule: Rule,
    /// `None`: all rows have one key.
    keys: Option<KeyRows>,
    schema: SchemaRef,
    /// The rows of the last key so far.
    held: Vec<RecordBatch>,
    /// That key.
    held_key: Vec<u8>,
}

/// The columns that are asked when rows of the table become one.
pub fn columns_asked(def: &TableDef, keys: &TableKeys) -> Vec<ColumnId> {
    let mut asked = key_columns(&keys.sort);
    match &def.mode {
        MergeMode::Summing { .. } | MergeMode::Aggregating | MergeMode::Coalescing { .. } => {
            asked.extend(def.summed_columns());
            asked.extend(def.combined_columns().into_iter().map(|(id, _)| id));
        }
        mode => asked.extend(mode.columns()),
    }
    asked
}

impl Collapser {
    /// For rows of `schema`, which has the columns that are asked; `None` for a table all of whose rows stay.
    ///
    /// # Errors
    /// A column that is asked is not in the schema.
    pub fn new(
        def: &TableDef,
        keys: &TableKeys,
        schema: &SchemaRef,
        who: For,
    ) -> Result<Option<Collapser>, TableError> {
        let at = |id: &ColumnId| {
            let found = schema.fields().iter().position(|field| column_id_of(field) == Some(*id));
            found.ok_or_else(|| failed(format!("column {} is not there", id.0)))
        };
        let rule = match &def.mode {
            MergeMode::Plain => return Ok(None),
            MergeMode::Replacing { version, is_deleted } => Rule::Replacing {
                version: version.as_ref().map(at).transpose()?,
                is_deleted: is_deleted.as_ref().map(at).transpose()?,
                hides_deleted: who == For::Reading,
            },
            MergeMode::Collapsing { sign } => {
                Rule::Collapsing { sign: at(sign)?, keeps_negative: who == For::Storage }
            }
            MergeMode::VersionedCollapsing { sign, version } => {
                Rule::Versioned { sign: at(sign)?, version: at(version)? }
            }
            MergeMode::Summing { .. } | MergeMode::Aggregating | MergeMode::Coalescing { .. } => {
                let sums = def.summed_columns().iter().map(at).collect::<Result<_, _>>()?;
                let combine = |(id, _): &(ColumnId, Combining)| match keys.combined.get(id) {
                    Some(combine) => Ok((at(id)?, Arc::clone(combine))),
                    None => Err(failed(format!("nobody says how values of column {} become one", id.0))),
                };
                let combined = def.combined_columns().iter().map(combine).collect::<Result<_, _>>()?;
                Rule::Combining { sums, combined }
            }
        };
        let keys = (!keys.sort.is_empty()).then(|| KeyRows::new(&keys.sort));
        let schema = SchemaRef::clone(schema);
        Ok(Some(Collapser { rule, keys, schema, held: Vec::new(), held_key: Vec::new() }))
    }

    /// Takes the next rows; gives those of all keys that are complete.
    ///
    /// # Errors
    /// A key cannot be computed, or a sign is neither 1 nor -1.
    pub fn push(&mut self, rows: &RecordBatch) -> Result<Option<RecordBatch>, TableError> {
        let count = rows.num_rows();
        if count == 0 {
            return Ok(None);
        }
        let keys = self.keys_of(rows)?;
        let key = |row: usize| keys.as_ref().map_or(&[][..], |keys| keys.row(row).data());
        let begins = |row: usize| {
            if row == 0 { self.held.is_empty() || key(0) != self.held_key } else { key(row) != key(row - 1) }
        };
        let Some(last) = (0..count).rev().find(|row| begins(*row)) else {
            self.held.push(rows.clone());
            self.shorten()?;
            return Ok(None);
        };
        let before = self.held.iter().cloned().chain((last > 0).then(|| rows.slice(0, last)));
        let complete: Vec<RecordBatch> = before.collect();
        self.held_key = key(last).to_vec();
        self.held = vec![rows.slice(last, count - last)];
        self.collapsed(&complete, true)
    }

    /// The rows of the last key.
    ///
    /// # Errors
    /// As [`Collapser::push`].
    pub fn finish(&mut self) -> Result<Option<RecordBatch>, TableError> {
        let held = std::mem::take(&mut self.held);
        self.collapsed(&held, true)
    }

    /// Of very many rows of one key only what they come to so far is kept, where that is the same.
    fn shorten(&mut self) -> Result<(), TableError> {
        const HELD_MAX: usize = 64;
        let can_be_shortened =
            matches!(self.rule, Rule::Replacing { hides_deleted: false, .. } | Rule::Combining { .. });
        if self.held.len() < HELD_MAX || !can_be_shortened {
            return Ok(());
        }
        let held = std::mem::take(&mut self.held);
        self.held = self.collapsed(&held, false)?.into_iter().collect();
        Ok(())
    }

    fn keys_of(&mut self, rows: &RecordBatch) -> Result<Option<Rows>, TableError> {
        let Some(keys) = &mut self.keys else { return Ok(None) };
        let arrays: Vec<ArrayRef> = keys.arrays(rows)?.iter().map(canonical).collect();
        Ok(Some(keys.rows(&arrays)?))
    }

    /// Rows as they are to be; of keys of which more rows may come nothing goes that adds nothing.
    fn collapsed(
        &mut self,
        complete: &[RecordBatch],
        is_complete: bool,
    ) -> Result<Option<RecordBatch>, TableError> {
        let rows = concat_batches(&self.schema, complete).map_err(broken)?;
        if rows.num_rows() == 0 {
            return Ok(None);
        }
        let keys = self.keys_of(&rows)?;
        // Sums without a key are those of each row.
        let without_key = !matches!(self.rule, Rule::Combining { .. });
        let is_same =
            |row: usize| keys.as_ref().map_or(without_key, |keys| keys.row(row) == keys.row(row - 1));
        let mut starts = vec![0];
        starts.extend((1..rows.num_rows()).filter(|row| !is_same(*row)));
        let out = match &self.rule {
            Rule::Combining { sums, combined } => {
                let out = combined::combined(&rows, &starts, sums, combined)?;
                if is_complete { combined::without_nothing(out, sums, combined)? } else { out }
            }
            rule => taken(&rows, &choose::chosen(rule, &rows, &starts)?)?,
        };
        Ok((out.num_rows() > 0).then_some(out))
    }
}

/// The same numbers with one zero and one NaN, which are equal to what else is zero and NaN.
fn canonical(values: &ArrayRef) -> ArrayRef {
    // Adding zero makes one zero of the two.
    if let Some(wide) = values.as_primitive_opt::<Float64Type>() {
        return Arc::new(
            wide.unary::<_, Float64Type>(|value| if value.is_nan() { f64::NAN } else { value + 0.0 }),
        );
    }
    if let Some(narrow) = values.as_primitive_opt::<Float32Type>() {
        return Arc::new(
            narrow.unary::<_, Float32Type>(|value| if value.is_nan() { f32::NAN } else { value + 0.0 }),
        );
    }
    Arc::clone(values)
}

fn taken(rows: &RecordBatch, chosen: &[u32]) -> Result<RecordBatch, TableError> {
    if chosen.len() == rows.num_rows() {
        return Ok(rows.clone());
    }
    let indices = UInt32Array::from(chosen.to_vec());
    let columns: Result<Vec<ArrayRef>, ArrowError> =
        rows.columns().iter().map(|column| take(column, &indices, None)).collect();
    RecordBatch::try_new(rows.schema(), columns.map_err(broken)?).map_err(broken)
}

/// Rows of one INSERT as they are stored: those of each partition in order, equal keys made one.
///
/// # Errors
/// A key cannot be computed, or there are too many partitions.
pub fn collapsed_rows(
    table: &Table,
    batches: &[RecordBatch],
    partitions_max: u64,
) -> Result<Vec<RecordBatch>, TableError> {
    if batches.iter().all(|batch| batch.num_rows() == 0) {
        return Ok(Vec::new());
    }
    let schema = table.def.arrow_schema();
    let keys = BlockKeys::new(&table.keys, batches)?;
    let mut collapsed = Vec::new();
    for piece in split(table, batches, partitions_max)? {
        let Some(mut collapser) = Collapser::new(&table.def, &table.keys, &schema, For::Storage)? else {
            return Ok(batches.to_vec());
        };
        let order = match keys.sorted_rows(piece.rows.as_deref()).or(piece.rows) {
            Some(order) => order,
            None => places(batches).map_err(broken)?,
        };
        let sorted = gather(batches, &order).map_err(broken)?;
        collapsed.extend(collapser.push(&sorted)?);
        collapsed.extend(collapser.finish()?);
    }
    Ok(collapsed)
}

fn broken(error: ArrowError) -> TableError {
    failed(error.to_string())
}

fn failed(message: String) -> TableError {
    TableError::Gather(message)
}

#[cfg(test)]
mod tests;
