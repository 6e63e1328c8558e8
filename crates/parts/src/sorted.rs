//! Order of rows by a table's sort key: computed as comparable bytes, and asserted.
//!
//! NULL and NaN sort last, as ClickHouse sorts them by default; the two zeros are one. Invariant: two batches of one table get comparable
//! bytes from two converters of the same key, so rows of different parts can be compared.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::compute::SortOptions;
use arrow::datatypes::{Float32Type, Float64Type};
use arrow::error::ArrowError;
use arrow::row::{OwnedRow, RowConverter, Rows, SortField};
use model::type_arrow::to_data_type;
use model::{ColumnId, RowExpr, RowExprError};

use crate::error::PartError;

/// Ascending, NULL last.
pub const KEY_ORDER: SortOptions = SortOptions { descending: false, nulls_first: false };

/// Turns the sort key of rows into bytes that compare as the rows do.
#[derive(Debug)]
pub struct KeyRows {
    key: Vec<Arc<dyn RowExpr>>,
    converter: Option<RowConverter>,
}

impl KeyRows {
    /// `key` is the sort key of a table and not empty.
    pub fn new(key: &[Arc<dyn RowExpr>]) -> KeyRows {
        KeyRows { key: key.to_vec(), converter: None }
    }

    /// The values of the key's expressions.
    ///
    /// # Errors
    /// An expression cannot be computed over these rows.
    pub fn arrays(&self, rows: &RecordBatch) -> Result<Vec<ArrayRef>, RowExprError> {
        self.key.iter().map(|expression| expression.evaluate(rows)).collect()
    }

    /// Comparable bytes of arrays made by [`KeyRows::arrays`].
    ///
    /// # Errors
    /// A type that has no order.
    pub fn rows(&mut self, arrays: &[ArrayRef]) -> Result<Rows, RowExprError> {
        let text = self.text();
        let failed =
            |error: ArrowError| RowExprError { expression: text.clone(), message: error.to_string() };
        let converter = match self.converter.take() {
            Some(converter) => converter,
            None => {
                let fields =
                    arrays.iter().map(|a| SortField::new_with_options(a.data_type().clone(), KEY_ORDER));
                RowConverter::new(fields.collect()).map_err(failed)?
            }
        };
        let one_zero: Vec<ArrayRef> = arrays.iter().map(with_one_zero).collect();
        let rows = converter.convert_columns(&one_zero).map_err(failed);
        self.converter = Some(converter);
        rows
    }

    /// The key as people wrote it.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.key.iter().map(|expression| expression.text()).collect();
        format!("({})", texts.join(", "))
    }

    /// The columns the key is computed from, each once.
    pub fn columns(&self) -> Vec<ColumnId> {
        key_columns(&self.key)
    }

    /// Whether the key orders by types that have an order.
    pub fn is_sortable(key: &[Arc<dyn RowExpr>]) -> bool {
        let fields =
            key.iter().map(|e| SortField::new_with_options(to_data_type(e.column_type()), KEY_ORDER));
        RowConverter::new(fields.collect()).is_ok()
    }
}

/// -0.0 is no other key than 0.0: rows of both keep their order. The same array where its values are no floats.
pub fn with_one_zero(values: &ArrayRef) -> ArrayRef {
    if let Some(wide) = values.as_primitive_opt::<Float64Type>() {
        return Arc::new(wide.unary::<_, Float64Type>(|value| if value == 0.0 { 0.0 } else { value }));
    }
    if let Some(narrow) = values.as_primitive_opt::<Float32Type>() {
        return Arc::new(narrow.unary::<_, Float32Type>(|value| if value == 0.0 { 0.0 } else { value }));
    }
    Arc::clone(values)
}

/// The columns expressions are computed from, each once.
pub fn key_columns(key: &[Arc<dyn RowExpr>]) -> Vec<ColumnId> {
    let mut columns: Vec<ColumnId> =
        key.iter().flat_map(|expression| expression.columns().to_vec()).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// How many rows of `limit` come before another input's next row; the first one does. `comes_before` is true of the rows of a
/// beginning and false of the rest. Found by doubling steps, so inputs that hardly overlap cost a few comparisons.
pub fn run_length(limit: usize, comes_before: impl Fn(usize) -> bool) -> usize {
    let (mut before, mut step) = (0, 1);
    while before + step < limit && comes_before(before + step) {
        before += step;
        step *= 2;
    }
    // The answer lies behind `before` and not behind `end`.
    let mut end = limit.min(before + step);
    while end - before > 1 {
        let middle = usize::midpoint(before, end);
        if comes_before(middle) {
            before = middle;
        } else {
            end = middle;
        }
    }
    end
}

/// Watches batches go by and refuses the first row that is smaller than the row before it.
#[derive(Debug)]
pub struct SortedCheck {
    keys: KeyRows,
    last: Option<OwnedRow>,
    rows_seen: u64,
}

impl SortedCheck {
    pub fn new(key: &[Arc<dyn RowExpr>]) -> SortedCheck {
        SortedCheck { keys: KeyRows::new(key), last: None, rows_seen: 0 }
    }

    /// # Errors
    /// `Unsorted`, naming the key and the number of the row; or the key cannot be computed.
    pub fn check(&mut self, batch: &RecordBatch) -> Result<(), PartError> {
        if self.keys.key.is_empty() || batch.num_rows() == 0 {
            return Ok(());
        }
        let computed = self.keys.arrays(batch).and_then(|arrays| self.keys.rows(&arrays));
        let rows = computed.map_err(|e| PartError::Evolve { schema_version: 0, message: e.to_string() })?;
        let unsorted =
            |row: usize| PartError::Unsorted { key: self.keys.text(), row: self.rows_seen + row as u64 };
        if self.last.as_ref().is_some_and(|last| last.row() > rows.row(0)) {
            return Err(unsorted(0));
        }
        if let Some(row) = (1..rows.num_rows()).find(|row| rows.row(row - 1) > rows.row(*row)) {
            return Err(unsorted(row));
        }
        self.last = Some(rows.row(rows.num_rows() - 1).owned());
        self.rows_seen += rows.num_rows() as u64;
        Ok(())
    }
}
