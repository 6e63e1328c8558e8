//! FillExec: ORDER BY .. WITH FILL over one sorted stream of rows.
//!
//! Invariant: rows of the input pass as they are and in their order; rows that are missing between them are made a batch
//! at a time, so a gap of any size takes the memory of one batch.

mod row;
mod bounds;
mod rows;
mod filler;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, SortField};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, OrderingRequirements};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PhysicalExpr, PlanProperties,
};
use model::ColumnType;
use model::type_arrow::from_field;

pub(crate) use bounds::{Constant, Written, rule};
use filler::Filler;
use row::Rule;
use rows::{Maker, Origin};

/// What is filled, and with what.
#[derive(Clone)]
pub(crate) struct Plan {
    pub keys: Vec<(Arc<dyn PhysicalExpr>, Rule)>,
    pub prefix: Vec<Arc<dyn PhysicalExpr>>,
    /// Columns by their place, with what they are computed from.
    pub interpolated: Vec<(usize, Option<Arc<dyn PhysicalExpr>>)>,
}

pub(crate) struct FillExec {
    input: Arc<dyn ExecutionPlan>,
    plan: Plan,
    ordering: Option<LexOrdering>,
    properties: Arc<PlanProperties>,
}

impl FillExec {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, plan: Plan) -> FillExec {
        // What the sort was asked for: of what it gives, columns that are the same in all rows of a stream are left out.
        let sort = input.downcast_ref::<SortExec>().map(|sort| sort.expr().clone());
        let ordering = sort.or_else(|| input.output_ordering().cloned());
        FillExec::with_ordering(input, plan, ordering)
    }

    fn with_ordering(input: Arc<dyn ExecutionPlan>, plan: Plan, ordering: Option<LexOrdering>) -> FillExec {
        // Nothing that holds of the input's rows holds of those that are made.
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        FillExec { input, plan, ordering, properties: Arc::new(properties) }
    }

    fn maker(&self, schema: &SchemaRef) -> Result<Maker> {
        let place = |expr: &Arc<dyn PhysicalExpr>| expr.downcast_ref::<Column>().map(Column::index);
        let mut origins = vec![Origin::Default; schema.fields().len()];
        for (at, value) in &self.plan.interpolated {
            let Some(origin) = origins.get_mut(*at) else { return internal_err!("no column {at} to fill") };
            *origin = value.clone().map_or(Origin::Before, Origin::Computed);
        }
        self.plan.prefix.iter().filter_map(place).for_each(|at| origins[at] = Origin::Range);
        for (number, (key, _)) in self.plan.keys.iter().enumerate() {
            if let Some(at) = place(key) {
                origins[at] = Origin::Key(number);
            }
        }
        Maker::try_new(Arc::clone(schema), origins)
    }
}

impl fmt::Debug for FillExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FillExec")
    }
}

impl DisplayAs for FillExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<String> = self.plan.keys.iter().map(|(key, _)| key.to_string()).collect();
        let prefix: Vec<String> = self.plan.prefix.iter().map(ToString::to_string).collect();
        write!(f, "FillExec: keys=[{}], for each=[{}]", keys.join(", "), prefix.join(", "))
    }
}

impl ExecutionPlan for FillExec {
    fn name(&self) -> &str {
        "FillExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition]
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![self.ordering.clone().map(OrderingRequirements::from)]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let keys = self.plan.keys.iter().map(|(key, _)| key);
        let values = self.plan.interpolated.iter().filter_map(|(_, value)| value.as_ref());
        for expr in keys.chain(&self.plan.prefix).chain(values) {
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
        let input = children.swap_remove(0);
        Ok(Arc::new(FillExec::with_ordering(input, self.plan.clone(), self.ordering.clone())))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows_max = context.session_config().batch_size().max(1);
        let input = self.input.execute(partition, context)?;
        let schema = input.schema();
        let fields = self.plan.prefix.iter().map(|key| key.data_type(&schema).map(SortField::new));
        let types = self.plan.keys.iter().map(|(key, _)| Ok(from_field(key.return_field(&schema)?.as_ref())));
        let maker = self.maker(&schema)?;
        let filler = Filler::new(
            maker,
            self.plan.clone(),
            types.collect::<Result<Vec<ColumnType>>>()?,
            RowConverter::new(fields.collect::<Result<Vec<_>>>()?)?,
            rows_max,
        );
        let rows = futures::stream::unfold(Some((input, filler)), |running| async move {
            let (mut input, mut filler) = running?;
            match filler.next(&mut input).await {
                Ok(Some(batch)) => Some((Ok(batch), Some((input, filler)))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}
