//! `-OrNull` and `-OrDefault` inside of a state: whether there was a row is part of it.
//!
//! Invariant: the last column of the state is how many rows there were. Must not know: which rows count.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::UInt64Type;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;
use functions::default_array;
use model::ColumnType;
use model::saturating::u64_of;

use crate::typing::scalar_at;

#[derive(Debug)]
pub(super) struct Counted {
    inner: Box<dyn Accumulator>,
    result: ColumnType,
    /// Columns that are arguments; parameters stand behind them.
    arguments: usize,
    rows: u64,
}

impl Counted {
    pub(super) fn new(inner: Box<dyn Accumulator>, result: ColumnType, arguments: usize) -> Counted {
        Counted { inner, result, arguments, rows: 0 }
    }
}

impl Accumulator for Counted {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        // A row with a NULL is none.
        let rows = values.first().map_or(0, |column| column.len());
        let arguments = values.get(..self.arguments).unwrap_or(values);
        let is_there = |row: &usize| arguments.iter().all(|column| column.is_valid(*row));
        self.rows += u64_of((0..rows).filter(is_there).count());
        self.inner.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.rows == 0 { scalar_at(&default_array(&self.result, 1), 0) } else { self.inner.evaluate() }
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut states = self.inner.state()?;
        states.push(ScalarValue::UInt64(Some(self.rows)));
        Ok(states)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some((rows, inner)) = states.split_last() else {
            return internal_err!("a state without its number of rows");
        };
        self.rows += rows.as_primitive::<UInt64Type>().iter().flatten().sum::<u64>();
        self.inner.merge_batch(inner)
    }
}
