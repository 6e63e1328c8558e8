//! What is known without reading keeps its type: `max(ip)` that is taken from the bounds of parts is an IPv4.
//!
//! DataFusion puts a literal of the value in the place of the aggregation, without what its field says of our type; functions
//! above would take it for a number. Invariant: values stay. Must not know: where bounds come from.

use std::sync::Arc;

use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};

use super::Rule;

/// The name of DataFusion's rule.
const STATISTICS: &str = "aggregate_statistics";

/// The rule, or if it is the one that answers from statistics, one that keeps types.
pub(super) fn typed(rule: Rule) -> Rule {
    match rule.name() {
        STATISTICS => Arc::new(TypedStatistics { rule }),
        _ => rule,
    }
}

#[derive(Debug)]
struct TypedStatistics {
    rule: Rule,
}

impl PhysicalOptimizerRule for TypedStatistics {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = self.rule.optimize(plan, config)?;
        Ok(plan.transform_up(with_types)?.data)
    }

    fn name(&self) -> &str {
        STATISTICS
    }

    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}

/// Literals over the placeholder row, which still has the fields of the aggregation.
fn with_types(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(projection) = plan.downcast_ref::<ProjectionExec>() else { return Ok(Transformed::no(plan)) };
    let fields = projection.input().schema();
    let of_row =
        projection.input().is::<PlaceholderRowExec>() && fields.fields().len() == projection.expr().len();
    let values: Option<Vec<ScalarValue>> = projection.expr().iter().map(|one| value_of(&one.expr)).collect();
    let (Some(values), true) = (values, of_row) else { return Ok(Transformed::no(plan)) };
    let typed = values.into_iter().zip(fields.fields()).zip(projection.expr());
    let typed = typed.map(|((value, field), one)| {
        let metadata = (!field.metadata().is_empty()).then(|| FieldMetadata::from(field.metadata()));
        let value = value.cast_to(field.data_type())?;
        let expr = Arc::new(Literal::new_with_metadata(value, metadata)) as Arc<dyn PhysicalExpr>;
        Ok(ProjectionExpr { expr, alias: one.alias.clone() })
    });
    let typed = typed.collect::<Result<Vec<_>>>()?;
    Ok(Transformed::yes(Arc::new(ProjectionExec::try_new(typed, Arc::clone(projection.input()))?)))
}

fn value_of(expr: &Arc<dyn PhysicalExpr>) -> Option<ScalarValue> {
    Some(expr.downcast_ref::<Literal>()?.value().clone())
}
