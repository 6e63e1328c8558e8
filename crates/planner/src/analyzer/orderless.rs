//! Rows without columns have no order: a Sort of them is taken away, and a LIMIT stays.
//!
//! `SELECT count() FROM (SELECT * FROM t ORDER BY rand() LIMIT 5)` needs none of t's columns, and none are left below the Sort.
//! DataFusion's sort makes batches of the columns that it sorts and cannot say how many rows there are without one. Invariant: as
//! many rows as before.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// See the module.
#[derive(Debug)]
pub(crate) struct Orderless;

impl OptimizerRule for Orderless {
    fn name(&self) -> &str {
        "orderless"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let sort = match plan {
            LogicalPlan::Sort(sort) if sort.input.schema().fields().is_empty() => sort,
            other => return Ok(Transformed::no(other)),
        };
        let rows = Arc::unwrap_or_clone(sort.input);
        let rows = match sort.fetch {
            Some(fetch) => LogicalPlanBuilder::from(rows).limit(0, Some(fetch))?.build()?,
            None => rows,
        };
        Ok(Transformed::yes(rows))
    }
}
