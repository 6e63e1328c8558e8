//! Which row groups to read first, when the first rows of an order are wanted.
//!
//! Pure. Invariant: an order of reading changes no rows; a row group without bounds comes last. Must not know: how the
//! rows are sorted, and how many of them are wanted.

use std::cmp::Ordering;
use std::fmt;

use arrow::datatypes::SchemaRef;
use datafusion::common::ScalarValue;
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::Column;
use parquet::file::metadata::ParquetMetaData;

use crate::parquet::prune;
use crate::tables::split::SourceUnit;

/// The first column of an ORDER BY.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ReadOrder {
    column: String,
    descending: bool,
}

impl ReadOrder {
    /// `None` if the rows are not ordered by a column as it is.
    pub(crate) fn of(order: &[PhysicalSortExpr]) -> Option<ReadOrder> {
        let first = order.first()?;
        let column = first.expr.downcast_ref::<Column>()?;
        Some(ReadOrder { column: column.name().to_owned(), descending: first.options.descending })
    }

    pub(crate) fn column(&self) -> &str {
        &self.column
    }

    /// The value of each row group that comes first in the order.
    pub(crate) fn bounds(
        &self,
        footer: &ParquetMetaData,
        path: &str,
        schema: &SchemaRef,
    ) -> Vec<Option<ScalarValue>> {
        prune::bounds(footer, path, schema, &self.column, self.descending)
    }

    /// Sorts units of one row group each by these bounds.
    pub(crate) fn sort(&self, mut units: Vec<(Option<ScalarValue>, SourceUnit)>) -> Vec<SourceUnit> {
        units.sort_by(|(a, _), (b, _)| match (a, b) {
            (Some(a), Some(b)) => {
                let order = a.partial_cmp(b).unwrap_or(Ordering::Equal);
                if self.descending { order.reverse() } else { order }
            }
            (a, b) => a.is_none().cmp(&b.is_none()),
        });
        units.into_iter().map(|(_, unit)| unit).collect()
    }
}

impl fmt::Display for ReadOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.descending { "desc" } else { "asc" };
        write!(f, "{} {direction}", self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(descending: bool, bounds: &[Option<i64>]) -> Vec<usize> {
        let unit =
            |file| SourceUnit { file, row_groups: None, range: None, bytes: 1, rows: None, share: None };
        let bound = |bound: &Option<i64>| bound.map(|bound| ScalarValue::Int64(Some(bound)));
        let units = bounds.iter().enumerate().map(|(file, value)| (bound(value), unit(file))).collect();
        let sorted = ReadOrder { column: "c".to_owned(), descending }.sort(units);
        sorted.into_iter().map(|unit| unit.file).collect()
    }

    #[test]
    fn the_best_bound_comes_first_and_an_unknown_one_last() {
        assert_eq!(order(false, &[Some(5), None, Some(1), Some(3)]), [2, 3, 0, 1]);
        assert_eq!(order(true, &[None, Some(5), Some(1), Some(7)]), [3, 1, 2, 0]);
        assert_eq!(order(true, &[Some(2), Some(2)]), [0, 1]);
    }
}
