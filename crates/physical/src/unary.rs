//! Unary: what every plan node of one input tells DataFusion in the same words, around what a step says for itself.
//!
//! Invariant: with another input a step is the same step, its properties are worked out again and its counters begin anew.
//! Must not know: what a step does with the rows.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::Statistics;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::OrderingRequirements;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::filter_pushdown::{FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, PhysicalExpr, PlanProperties,
    StatisticsArgs,
};

/// What is done with the rows of one input.
pub trait Step: Clone + Send + Sync + 'static {
    /// Of the node.
    const NAME: &'static str;

    /// Writes the node's line in a plan: its name, where it has nothing more to say.
    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAME)
    }

    /// What holds of the rows that come out: what held of those that came in, where nothing else is said.
    ///
    /// # Errors
    /// The step cannot be done over this input.
    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Result<Arc<PlanProperties>> {
        Ok(Arc::clone(input.properties()))
    }

    /// How the input must be divided.
    fn distribution(&self) -> Distribution {
        Distribution::UnspecifiedDistribution
    }

    /// How each partition of the input must be sorted.
    fn ordering(&self) -> Option<OrderingRequirements> {
        None
    }

    fn keeps_order(&self) -> bool {
        false
    }

    /// Whether the input may be dealt out to more partitions for the step to be done sooner.
    fn may_be_divided(&self) -> bool {
        !matches!(self.distribution(), Distribution::SinglePartition)
    }

    /// Whether the rows that come out are those of the input.
    fn keeps_rows(&self) -> bool {
        false
    }

    /// Whether conditions on what comes out may be asked of the input instead.
    fn passes_conditions(&self, _conditions: &[Arc<dyn PhysicalExpr>]) -> bool {
        false
    }

    /// What is known of the rows that come out, where they are others than the input's.
    fn statistics(&self, schema: &SchemaRef) -> Statistics {
        Statistics::new_unknown(schema)
    }

    /// All that is computed of the input's rows.
    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        Vec::new()
    }

    /// # Errors
    /// The input does not start.
    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream>;
}

/// A step over its input.
pub struct Unary<S> {
    pub step: S,
    pub input: Arc<dyn ExecutionPlan>,
    pub metrics: ExecutionPlanMetricsSet,
    properties: Arc<PlanProperties>,
}

impl<S: Step> Unary<S> {
    /// The node that does `step` with the rows of `input`.
    ///
    /// # Errors
    /// The step cannot be done over this input.
    pub fn over(input: Arc<dyn ExecutionPlan>, step: S) -> Result<Arc<dyn ExecutionPlan>> {
        let properties = step.properties(&input)?;
        Ok(Arc::new(Unary { step, input, metrics: ExecutionPlanMetricsSet::new(), properties }))
    }
}

impl<S: Step> fmt::Debug for Unary<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.step.shown(f)
    }
}

impl<S: Step> DisplayAs for Unary<S> {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.step.shown(f)
    }
}

impl<S: Step> ExecutionPlan for Unary<S> {
    fn name(&self) -> &str {
        S::NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![self.step.distribution()]
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![self.step.ordering()]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![self.step.keeps_order()]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![self.step.may_be_divided()]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for expr in self.step.expressions() {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Unary::over(children.swap_remove(0), self.step.clone())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![if self.step.keeps_rows() { ChildStats::At(partition) } else { ChildStats::Skip }]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        match inputs {
            [input] if self.step.keeps_rows() => Ok(Arc::clone(input)),
            _ if args.partition().is_some() => Ok(Arc::new(Statistics::new_unknown(&self.schema()))),
            _ => Ok(Arc::new(self.step.statistics(&self.schema()))),
        }
    }

    fn supports_limit_pushdown(&self) -> bool {
        self.step.keeps_rows()
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        if self.step.keeps_rows() { CardinalityEffect::Equal } else { CardinalityEffect::Unknown }
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        conditions: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        match self.step.passes_conditions(&conditions) {
            true => FilterDescription::from_children(conditions, &self.children()),
            false => Ok(FilterDescription::all_unsupported(&conditions, &self.children())),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        S::execute(self, partition, context)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
