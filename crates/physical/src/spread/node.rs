//! SpreadExec: a piece of a plan that is run here over one share, and by other servers over theirs.
//!
//! Its partitions are those of the piece here, and one for each other server. Invariant: every row of the piece comes once; a second time is an error. Must not know: how another
//! server is asked.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::Boundedness;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
};
use futures::StreamExt;
use parking_lot::Mutex;

use super::share::{as_one, order_of};

/// Another server that has a share.
pub trait OtherServer: Send + Sync + fmt::Debug {
    /// How people know it.
    fn name(&self) -> &str;

    /// The rows of the piece over its share, in the order of the piece.
    ///
    /// # Errors
    /// They cannot be asked for.
    fn rows(&self, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream>;
}

/// See the module.
#[derive(Debug)]
pub struct SpreadExec {
    here: Arc<dyn ExecutionPlan>,
    others: Vec<Arc<dyn OtherServer>>,
    /// Partitions that were asked for, by this node and by those made of it: shares are handed out once.
    asked: Arc<Mutex<BTreeSet<usize>>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SpreadExec {
    /// The piece over the share of this server, with those of the others; in as many partitions as `whole` has if that is one.
    pub fn over(
        whole: &Arc<dyn ExecutionPlan>,
        here: Arc<dyn ExecutionPlan>,
        others: Vec<Arc<dyn OtherServer>>,
    ) -> Arc<dyn ExecutionPlan> {
        let spread: Arc<dyn ExecutionPlan> = Arc::new(SpreadExec::new(here, others, Arc::default()));
        match whole.output_partitioning().partition_count() {
            1 => as_one(spread, whole.fetch()),
            _ => spread,
        }
    }

    fn new(
        here: Arc<dyn ExecutionPlan>,
        others: Vec<Arc<dyn OtherServer>>,
        asked: Arc<Mutex<BTreeSet<usize>>>,
    ) -> SpreadExec {
        // What is constant or equal here is so everywhere: steps above were chosen by it.
        let mut equivalence = here.equivalence_properties().clone();
        equivalence.clear_orderings();
        equivalence.clear_per_partition_constants();
        if let Some(order) = order_of(&here) {
            equivalence.add_ordering(order);
        }
        let count = here.output_partitioning().partition_count() + others.len();
        let properties = PlanProperties::new(
            equivalence,
            Partitioning::UnknownPartitioning(count),
            here.pipeline_behavior(),
            Boundedness::Bounded,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        SpreadExec { here, others, asked, properties: Arc::new(properties), metrics }
    }
}

impl DisplayAs for SpreadExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.others.iter().map(|server| server.name()).collect();
        write!(f, "SpreadExec: servers={}, this one and {}", names.len() + 1, names.join(", "))
    }
}

impl ExecutionPlan for SpreadExec {
    fn name(&self) -> &str {
        "SpreadExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.here]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match <[_; 1]>::try_from(children) {
            Ok([here]) => Ok(Arc::new(SpreadExec::new(here, self.others.clone(), Arc::clone(&self.asked)))),
            Err(_) => internal_err!("a piece of a plan is one"),
        }
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if !self.asked.lock().insert(partition) {
            return internal_err!(
                "rows that servers share are asked for twice, and there once: please report the statement"
            );
        }
        let count = self.here.output_partitioning().partition_count();
        if partition < count {
            return self.here.execute(partition, context);
        }
        let Some(server) = self.others.get(partition - count) else {
            return internal_err!("a partition of no server");
        };
        let counters = BaselineMetrics::new(&self.metrics, partition);
        let mut rows = server.rows(context)?;
        let schema = self.schema();
        let counted = futures::stream::poll_fn(move |task| counters.record_poll(rows.poll_next_unpin(task)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, counted)))
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Schema;
    use datafusion::physical_plan::empty::EmptyExec;
    use datafusion::physical_plan::replace_children_if_necessary;

    use super::*;

    #[test]
    fn a_share_that_was_handed_out_is_not_read_as_nothing() {
        let nothing = || -> Arc<dyn ExecutionPlan> { Arc::new(EmptyExec::new(Arc::new(Schema::empty()))) };
        let spread: Arc<dyn ExecutionPlan> = Arc::new(SpreadExec::new(nothing(), vec![], Arc::default()));
        assert!(spread.execute(0, Arc::default()).is_ok());
        assert!(spread.execute(0, Arc::default()).is_err());
        let again = replace_children_if_necessary(spread, vec![nothing()]).unwrap();
        assert!(again.execute(0, Arc::default()).is_err());
    }
}
