//! `-ArgMin` and `-ArgMax`: the aggregate over the rows whose last argument is the smallest, or greatest.
//!
//! Invariant: the accumulator has seen exactly the rows of the best value so far; NULL is no value.

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::DataType;
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

    /// The rows of the best value, when it is not worse than the best so far; a better one starts anew.
    fn chosen(&mut self, by: &ArrayRef) -> Result<Vec<usize>> {
        let rows = self.converter.convert_columns(std::slice::from_ref(by))?;
        let nulls = by.logical_nulls();
        let present = |row: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
        let candidates: Vec<usize> = (0..by.len()).filter(present).collect();
        let best = match self.greatest {
            true => candidates.iter().copied().max_by(|a, b| rows.row(*a).cmp(&rows.row(*b))),
            false => candidates.iter().copied().min_by(|a, b| rows.row(*a).cmp(&rows.row(*b))),
        };
        let Some(best) = best else { return Ok(vec![]) };
        let order = self.best.as_ref().map(|(known, _)| rows.row(best).cmp(&known.row()));
        match order.map(|order| if self.greatest { order.reverse() } else { order }) {
            Some(std::cmp::Ordering::Greater) => return Ok(vec![]),
            Some(std::cmp::Ordering::Equal) => {}
            _ => {
                self.best = Some((rows.row(best).owned(), ScalarValue::try_from_array(by, best)?));
                self.inner = self.factory.make()?;
            }
        }
        Ok(candidates.into_iter().filter(|row| rows.row(*row) == rows.row(best)).collect())
    }
}

fn picked(columns: &[ArrayRef], rows: &[usize]) -> Result<Vec<ArrayRef>> {
    let rows: UInt32Array = rows.iter().map(|row| u32::try_from(*row).ok()).collect();
    Ok(columns.iter().map(|column| take(column, &rows, None)).collect::<Result<Vec<_>, _>>()?)
}

impl Accumulator for Best {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let place = values.len() - self.parameters - 1;
        let rows = self.chosen(&values[place])?;
        if rows.is_empty() {
            return Ok(());
        }
        let mut columns = values.to_vec();
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
        let rows = self.chosen(by)?;
        if rows.is_empty() {
            return Ok(());
        }
        self.inner.merge_batch(&picked(inner, &rows)?)
    }
}
