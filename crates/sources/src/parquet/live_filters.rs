//! Filters that grow while the query runs: what ORDER BY with a LIMIT has no use for any more, what no key of a join's
//! other side can match.
//!
//! Invariant: a row group is skipped only if its bounds prove that no row of it passes the filters as they are now; they
//! only ever become narrower, so what is skipped once is never wanted again. Must not know: who narrows them.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::ScalarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr_common::physical_expr::{snapshot_generation, snapshot_physical_expr};
use parking_lot::Mutex;
use parquet::file::metadata::ParquetMetaData;

use crate::parquet::prune::RowGroupFilter;

/// The filters of one run of a scan, over the columns of its table.
pub(crate) struct LiveFilters {
    filters: Vec<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
    known: Mutex<Known>,
}

/// What the filters said when they were last looked at.
#[derive(Clone)]
struct Known {
    generation: u64,
    says_nothing: bool,
    filters: Arc<[RowGroupFilter]>,
}

impl LiveFilters {
    /// `None` if none of the filters grows, or bounds cannot answer them.
    pub(crate) fn new(filters: &[Arc<dyn PhysicalExpr>], schema: &SchemaRef) -> Option<LiveFilters> {
        let usable = |filter: &&Arc<dyn PhysicalExpr>| {
            snapshot_generation(filter) != 0
                // Bounds leave NaN out, which is larger than all other numbers in the order of the engine.
                && collect_columns(filter).iter().all(|column| {
                    schema.field_with_name(column.name()).is_ok_and(|field| !field.data_type().is_floating())
                })
        };
        let filters: Vec<Arc<dyn PhysicalExpr>> = filters
            .iter()
            .filter(usable)
            .filter_map(|filter| reassign_expr_columns(Arc::clone(filter), schema).ok())
            .collect();
        let known = Known { generation: 0, says_nothing: true, filters: Arc::default() };
        (!filters.is_empty()).then(|| LiveFilters {
            filters,
            schema: Arc::clone(schema),
            known: Mutex::new(known),
        })
    }

    /// Whether a row group may hold rows that still pass.
    pub(crate) fn keeps(&self, footer: &ParquetMetaData, path: &str, row_group: usize) -> bool {
        let known = self.known();
        known.filters.iter().all(|filter| !filter.keep(footer, path, vec![row_group]).is_empty())
    }

    /// Whether nothing can be skipped yet, because nobody has seen a row.
    pub(crate) fn says_nothing(&self) -> bool {
        self.known().says_nothing
    }

    fn known(&self) -> Known {
        let generation = self.filters.iter().map(snapshot_generation).fold(0, u64::wrapping_add);
        let mut known = self.known.lock();
        if known.generation != generation {
            let now: Vec<Arc<dyn PhysicalExpr>> = self
                .filters
                .iter()
                .filter_map(|filter| snapshot_physical_expr(Arc::clone(filter)).ok())
                .collect();
            let filters =
                now.iter().filter_map(|filter| RowGroupFilter::new(Arc::clone(filter), &self.schema));
            let filters: Arc<[RowGroupFilter]> = filters.collect();
            *known = Known { generation, says_nothing: now.iter().all(is_true), filters };
        }
        known.clone()
    }
}

fn is_true(filter: &Arc<dyn PhysicalExpr>) -> bool {
    filter
        .downcast_ref::<Literal>()
        .is_some_and(|literal| *literal.value() == ScalarValue::Boolean(Some(true)))
}
