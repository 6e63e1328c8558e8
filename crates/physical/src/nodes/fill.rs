//! FillExec: ORDER BY .. WITH FILL over one sorted stream of rows.
//!
//! Invariant: rows of the input pass as they are and in their order; rows that are missing between them are made a batch
//! at a time, so a gap of any size takes the memory of one batch.

mod row;
mod stale;
mod bounds;
mod rows;
mod filler;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, SortField};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, OrderingRequirements};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{Distribution, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties};
use model::ColumnType;
use model::type_arrow::from_field;

pub(crate) use bounds::{Constant, Written, alone_if_stale, rule};
use filler::Filler;
use row::Rule;
use rows::{Maker, Origin};

use super::asked_order::asked_order;
use crate::unary::{Step, Unary};

/// What is filled, and with what.
#[derive(Clone)]
pub(crate) struct Plan {
    pub keys: Vec<(Arc<dyn PhysicalExpr>, Rule)>,
    pub prefix: Vec<Arc<dyn PhysicalExpr>>,
    /// Columns by their place, with what they are computed from.
    pub interpolated: Vec<(usize, Option<Arc<dyn PhysicalExpr>>)>,
}

#[derive(Clone)]
pub(crate) struct FillExec {
    plan: Plan,
    ordering: Option<LexOrdering>,
}

impl FillExec {
    pub(crate) fn over(input: Arc<dyn ExecutionPlan>, plan: Plan) -> Result<Arc<dyn ExecutionPlan>> {
        let ordering = asked_order(&input);
        Unary::over(input, FillExec { plan, ordering })
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

impl Step for FillExec {
    const NAME: &'static str = "FillExec";

    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<String> = self.plan.keys.iter().map(|(key, _)| key.to_string()).collect();
        let prefix: Vec<String> = self.plan.prefix.iter().map(ToString::to_string).collect();
        write!(f, "FillExec: keys=[{}], for each=[{}]", keys.join(", "), prefix.join(", "))
    }

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Result<Arc<PlanProperties>> {
        // Nothing that holds of the input's rows holds of those that are made.
        Ok(Arc::new(PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )))
    }

    fn distribution(&self) -> Distribution {
        Distribution::SinglePartition
    }

    fn ordering(&self) -> Option<OrderingRequirements> {
        self.ordering.clone().map(OrderingRequirements::from)
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        let keys = self.plan.keys.iter().map(|(key, _)| key);
        let values = self.plan.interpolated.iter().filter_map(|(_, value)| value.as_ref());
        keys.chain(&self.plan.prefix).chain(values).collect()
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let plan = &node.step.plan;
        let rows_max = context.session_config().batch_size().max(1);
        let input = node.input.execute(partition, context)?;
        let schema = input.schema();
        let fields = plan.prefix.iter().map(|key| key.data_type(&schema).map(SortField::new));
        let types = plan.keys.iter().map(|(key, _)| Ok(from_field(key.return_field(&schema)?.as_ref())));
        let maker = node.step.maker(&schema)?;
        let filler = Filler::new(
            maker,
            plan.clone(),
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
