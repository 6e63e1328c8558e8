//! Columns of filters first, the others only where rows are left.
//!
//! Invariant: a row is left out only if a filter is false or NULL for it; what cannot be evaluated leaves every row, because
//! the plan above filters again. Worth it only where the filter leaves few rows, so it is given up when it does not.
//! Must not know: requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use model::saturating::u64_of;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicate, ArrowPredicateFn, RowFilter};
use parquet::file::metadata::ParquetMetaData;

use crate::parquet::layout::unchecked_text;

/// Bytes of the columns that wait, at least, and so many times those of the filters: less is read in one go, because a
/// second round of requests costs a round trip.
const LATE_BYTES_MIN: u64 = 1 << 20;
const LATE_SHARE_MIN: u64 = 2;
/// A filter that leaves more than one row of so many is given up...
const LEFT_SHARE: u64 = 4;
/// ...once it has seen this many.
const JUDGED_ROWS_MIN: u64 = 8192;

/// Filters over columns that are read as they are stored.
#[derive(Clone)]
pub(crate) struct LateColumns {
    /// Over the file's decoded columns.
    filters: Arc<Vec<Arc<dyn PhysicalExpr>>>,
    decoded: SchemaRef,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    rows: AtomicU64,
    left: AtomicU64,
    given_up: AtomicBool,
}

impl LateColumns {
    /// `None` without a filter that can be evaluated on what the decoder gives: some texts are checked after it.
    pub(crate) fn new(
        mut filters: Vec<Arc<dyn PhysicalExpr>>,
        footer: &ParquetMetaData,
        decoded: SchemaRef,
    ) -> Option<LateColumns> {
        let unchecked = unchecked_text(footer);
        filters.retain(|filter| {
            let columns = collect_columns(filter);
            !columns.is_empty()
                && columns.iter().all(|column| !unchecked.iter().any(|name| name == column.name()))
        });
        (!filters.is_empty()).then(|| LateColumns {
            filters: Arc::new(filters),
            decoded,
            seen: Arc::default(),
        })
    }

    /// The filter of one row group, if reading it in two steps is worth it. `roots` are the columns that are wanted.
    pub(crate) fn of_row_group(
        &self,
        footer: &ParquetMetaData,
        row_group: usize,
        roots: &[usize],
    ) -> Option<RowFilter> {
        if self.seen.given_up.load(Ordering::Relaxed) {
            return None;
        }
        let names = |filter: &Arc<dyn PhysicalExpr>| {
            let columns = collect_columns(filter);
            columns
                .into_iter()
                .filter_map(|column| self.decoded.index_of(column.name()).ok())
                .collect::<Vec<_>>()
        };
        let first: Vec<usize> = self.filters.iter().flat_map(names).collect();
        let (mut early_bytes, mut late_bytes) = (0_u64, 0_u64);
        let metadata = footer.row_group(row_group);
        let descriptor = footer.file_metadata().schema_descr();
        for (leaf, column) in metadata.columns().iter().enumerate() {
            let (root, bytes) = (descriptor.get_column_root_idx(leaf), column.compressed_size());
            let bytes = u64::try_from(bytes).unwrap_or(0);
            match (first.contains(&root), roots.contains(&root)) {
                (true, _) => early_bytes += bytes,
                (false, true) => late_bytes += bytes,
                (false, false) => {}
            }
        }
        if late_bytes < LATE_BYTES_MIN || late_bytes / LATE_SHARE_MIN < early_bytes {
            return None;
        }
        let filters = Arc::clone(&self.filters);
        let seen = Arc::clone(&self.seen);
        let predicate = move |batch: RecordBatch| Ok(left(&filters, &batch, &seen));
        let predicate = ArrowPredicateFn::new(ProjectionMask::roots(descriptor, first), predicate);
        Some(RowFilter::new(vec![Box::new(predicate) as Box<dyn ArrowPredicate>]))
    }
}

/// The rows that every filter leaves.
fn left(filters: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch, seen: &Seen) -> BooleanArray {
    let rows = batch.num_rows();
    let mut keep = vec![true; rows];
    for filter in filters {
        // Only some columns are decoded, so they stand elsewhere than in the file.
        let answer = reassign_expr_columns(Arc::clone(filter), &batch.schema())
            .and_then(|filter| filter.evaluate(batch))
            .and_then(|value| value.into_array(rows));
        let Ok(answer) = answer else { continue };
        let Some(answer) = answer.as_boolean_opt() else { continue };
        keep.iter_mut().enumerate().for_each(|(i, keep)| *keep &= answer.is_valid(i) && answer.value(i));
    }
    let kept = u64_of(keep.iter().filter(|keep| **keep).count());
    let all = seen.rows.fetch_add(u64_of(rows), Ordering::Relaxed) + u64_of(rows);
    let all_kept = seen.left.fetch_add(kept, Ordering::Relaxed) + kept;
    if all >= JUDGED_ROWS_MIN && all_kept > all / LEFT_SHARE {
        seen.given_up.store(true, Ordering::Relaxed);
    }
    BooleanArray::from(keep)
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};
    use arrow::datatypes::DataType;
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::expressions::{binary, cast, col, lit};

    use super::*;

    fn batch(values: Vec<Option<i64>>) -> RecordBatch {
        let column: ArrayRef = Arc::new(Int64Array::from(values));
        RecordBatch::try_from_iter_with_nullable([("n", column, true)]).unwrap()
    }

    fn kept(filter: Arc<dyn PhysicalExpr>, values: Vec<Option<i64>>, seen: &Seen) -> Vec<bool> {
        left(&[filter], &batch(values), seen).values().iter().collect()
    }

    #[test]
    fn rows_are_left_out_only_by_an_answer() {
        let schema = batch(Vec::new()).schema();
        let n = || col("n", &schema).unwrap();
        let seen = Seen::default();
        let above = binary(n(), Operator::Gt, lit(1_i64), &schema).unwrap();
        assert_eq!(kept(above, vec![Some(1), Some(2), None], &seen), [false, true, false]);
        // Division by zero is the business of the plan above; so is a column that is not there.
        let divided = binary(lit(1_i64), Operator::Divide, n(), &schema).unwrap();
        let failing = binary(divided, Operator::Eq, lit(1_i64), &schema).unwrap();
        assert_eq!(kept(failing, vec![Some(1), Some(0)], &seen), [true, true]);
        let number = cast(n(), &schema, DataType::Int32).unwrap();
        assert_eq!(kept(number, vec![Some(1), Some(0)], &seen), [true, true]);
    }

    #[test]
    fn a_filter_that_leaves_much_is_given_up() {
        let schema = batch(Vec::new()).schema();
        for (limit, given_up) in [(1_000_i64, false), (4_000, true)] {
            let below = binary(col("n", &schema).unwrap(), Operator::Lt, lit(limit), &schema).unwrap();
            let seen = Seen::default();
            kept(below, (0..10_000_i64).map(Some).collect(), &seen);
            assert_eq!(seen.given_up.load(Ordering::Relaxed), given_up, "{limit}");
        }
    }
}
