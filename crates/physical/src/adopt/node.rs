//! AdoptExec: units of a load in, one row per sealed part out, as a sink, but what of a row group can be copied is copied.
//!
//! Invariant: the rows are those that the plan it replaces would have given; what is not copied is read, converted and, where a row
//! group does not fit at all, sorted as ever. Must not know: why a column fits (`load`), and how parts are committed.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties,
};

use super::adoption::{AdoptTarget, Adoption, Stages};
use super::counters::AdoptCounters;
use super::stream;
use crate::nodes::sealed_rows::{part_rows, part_schema};

/// See the module.
pub struct AdoptExec {
    target: Arc<dyn AdoptTarget>,
    adoption: Arc<Adoption>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl AdoptExec {
    pub fn new(target: Arc<dyn AdoptTarget>, adoption: Arc<Adoption>) -> AdoptExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(part_schema()),
            Partitioning::UnknownPartitioning(adoption.streams),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        AdoptExec { target, adoption, properties: Arc::new(properties), metrics }
    }
}

impl fmt::Debug for AdoptExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AdoptExec({})", self.target.table().def.name)
    }
}

impl DisplayAs for AdoptExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (table, units) = (&self.target.table().def.name, self.adoption.units.len());
        write!(
            f,
            "AdoptExec: table={table}, files={}, units={units}",
            self.adoption.load.source.files().len()
        )
    }
}

impl AdoptExec {
    /// Runs one stream of a load that outlives its statement: its parts are staged, and none is given.
    ///
    /// # Errors
    /// A row group cannot be read, written or staged. What is staged stays.
    pub async fn stage(&self, stream: usize, batch_rows: usize, stages: Arc<dyn Stages>) -> Result<()> {
        let (target, adoption) = (Arc::clone(&self.target), Arc::clone(&self.adoption));
        let counters = AdoptCounters::new(&self.metrics, stream);
        stream::write(adoption, target, counters, batch_rows, Some(stages)).await.map(drop)
    }
}

impl ExecutionPlan for AdoptExec {
    fn name(&self) -> &str {
        "AdoptExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (target, adoption) = (Arc::clone(&self.target), Arc::clone(&self.adoption));
        let counters = AdoptCounters::new(&self.metrics, partition);
        let batch_rows = context.session_config().batch_size();
        let done = async move {
            let parts = stream::write(adoption, target, counters, batch_rows, None).await;
            part_rows(&parts?)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(part_schema(), futures::stream::once(done))))
    }
}
