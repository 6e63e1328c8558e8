//! `-ArgMin` and `-ArgMax`: the aggregate over the rows whose last argument is the smallest, or greatest.
//!
//! Invariant: the accumulator has seen exactly the rows of the best value so far; NULL is no value.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::take;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;

use super::Factory;

#[derive(Debug)]
pub(super) struct Best {
    factory: Factory,
    parameters: usize,
    greatest: bool,
    converter: RowConverter,
    by: DataType,
    best: Option<(OwnedRow, ScalarValue)>,
    inner: Box<dyn Accumulator>,
}

impl Best {
    pub(super) fn try_new(factory: Factory, parameters: usize, greatest: bool, by: DataType) -> Result<Self> {
        let converter = RowConverter::new(vec![SortField::new(by.clone())])?;
        let inner = factory.make()?;
        Ok(Self { factory, parameters, greatest, converter, by, best: None, inner })
    }

    /// The rows of the best value, when it is not worse than the best so far; a better one starts anew. Rows of `absent` are none.
    fn chosen(&mut self, by: &ArrayRef, absent: Option<&NullBuffer>) -> Result<Vec<usize>> {
        let rows = self.converter.convert_columns(std::slice::from_ref(by))?;
        let absent = NullBuffer::union(by.logical_nulls().as_ref(), absent);
        let present = |row: &usize| absent.as_ref().is_none_or(|absent| absent.is_valid(*row));
        let numbers = numbers(by);
        // NaN is worse than any number; the order of rows has it above all.
        let is_number = |row: usize| numbers.as_ref().is_none_or(|numbers| numbers.value(row));
        let order = |a: usize, b: usize| {
            let order = rows.row(a).cmp(&rows.row(b));
            let order = if self.greatest { order } else { order.reverse() };
            is_number(a).cmp(&is_number(b)).then(order)
        };
        let candidates: Vec<usize> = (0..by.len()).filter(present).collect();
        let Some(best) = candidates.iter().copied().max_by(|a, b| order(*a, *b)) else { return Ok(vec![]) };
        let against_known = self.best.as_ref().map(|(known, value)| {
            let order = rows.row(best).cmp(&known.row());
            let order = if self.greatest { order } else { order.reverse() };
            is_number(best).cmp(&!is_nan(value)).then(order)
        });
        match against_known {
            Some(Ordering::Less) => return Ok(vec![]),
            Some(Ordering::Equal) => {}
            _ => {
                self.best = Some((rows.row(best).owned(), ScalarValue::try_from_array(by, best)?));
                self.inner = self.factory.make()?;
            }
        }
        Ok(candidates.into_iter().filter(|row| rows.row(*row) == rows.row(best)).collect())
    }
}

/// Of floats, which are numbers.
fn numbers(by: &ArrayRef) -> Option<BooleanBuffer> {
    let flags = |is_nan: &dyn Fn(usize) -> bool| BooleanBuffer::collect_bool(by.len(), |row| !is_nan(row));
    match by.data_type() {
        DataType::Float64 => {
            let values = by.as_primitive::<Float64Type>();
            Some(flags(&|row| values.value(row).is_nan()))
        }
        DataType::Float32 => {
            let values = by.as_primitive::<Float32Type>();
            Some(flags(&|row| values.value(row).is_nan()))
        }
        _ => None,
    }
}

fn is_nan(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Float64(Some(number)) => number.is_nan(),
        ScalarValue::Float32(Some(number)) => number.is_nan(),
        _ => false,
    }
}

/// The rows in which a column is NULL.
fn any_null(columns: &[ArrayRef]) -> Option<NullBuffer> {
    columns
        .iter()
        .fold(None, |nulls, column| NullBuffer::union(nulls.as_ref(), column.logical_nulls().as_ref()))
}

fn picked(columns: &[ArrayRef], rows: &[usize]) -> Result<Vec<ArrayRef>> {
    let rows: UInt32Array = rows.iter().map(|row| u32::try_from(*row).ok()).collect();
    Ok(columns.iter().map(|column| take(column, &rows, None)).collect::<Result<Vec<_>, _>>()?)
}

impl Accumulator for Best {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let place = values.len() - self.parameters - 1;
        // As without the combinator, a row is passed over that has a NULL anywhere.
        let rows = self.chosen(&values[place], any_null(&values[..place]).as_ref())?;
        if rows.is_empty() {
            return Ok(());
        }
        let mut columns = values.to_vec();
        // `count()` has nothing else to count, and no row that is chosen has NULL there.
        if columns.len() == 1 {
            return self.inner.update_batch(&picked(&columns, &rows)?);
        }
        columns.remove(place);
        let columns = self.factory.laid_out(picked(&columns, &rows)?)?;
        self.inner.update_batch(&columns)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.inner.evaluate()
    }

    fn size(&self) -> usize {
        let best = self.best.as_ref().map_or(0, |(row, value)| row.as_ref().len() + value.size());
        size_of::<Self>() + best + self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let best = match &self.best {
            Some((_, value)) => value.clone(),
            None => ScalarValue::try_from(&self.by)?,
        };
        Ok(std::iter::once(best).chain(self.inner.state()?).collect())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some((by, inner)) = states.split_first() else { return Ok(()) };
        let rows = self.chosen(by, None)?;
        if rows.is_empty() {
            return Ok(());
        }
        self.inner.merge_batch(&picked(inner, &rows)?)
    }
}
