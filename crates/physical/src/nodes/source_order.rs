//! Answers over a table that counts come in its order, as ClickHouse's do, although nothing asks for one.
//!
//! Invariant: rows are the same with and without it; only what spreads the one stream of such a table over threads is taken
//! out, and only where no step below the answer mixes its rows anyway. Must not know: which table it is.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::streaming::StreamingTableExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, Partitioning};

use super::join_table::one_of_key::OneOfKeyExec;
use super::skip::SkipExec;
use crate::unary::Unary;

/// The plan with a single stream from its source to the answer, if the source is one that streams.
pub fn in_source_order(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    Ok(unspread(&plan)?.unwrap_or(plan))
}

fn unspread(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let mut children: Vec<_> = plan.children().into_iter().map(Arc::clone).collect();
    let Some(child) = children.last_mut() else { return Ok(None) };
    if let Some(spread) = plan.downcast_ref::<RepartitionExec>() {
        let deals = matches!(spread.partitioning(), Partitioning::RoundRobinBatch(_));
        // A LIMIT in between gathers the rows, which are then spread again.
        let below = unspread(child)?.unwrap_or_else(|| Arc::clone(child));
        return Ok((deals && is_one_stream(&below)).then_some(below));
    }
    if !keeps_order(plan) {
        return Ok(None);
    }
    let Some(whole) = unspread(child)? else { return Ok(None) };
    *child = whole;
    Arc::clone(plan)
        .replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
        .map(Some)
}

/// Whether the rows come from one partition of a table that streams, in its order.
fn is_one_stream(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if plan.output_partitioning().partition_count() != 1 {
        return false;
    }
    match plan.children().as_slice() {
        [] => plan.is::<StreamingTableExec>(),
        [.., last] => keeps_order(plan) && is_one_stream(last),
    }
}

/// Whether rows of one stream, of two inputs the second, leave the step in their order. Of OFFSET, and of the row
/// of a key, rules shall not know, lest they move a sort below it.
fn keeps_order(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<CoalescePartitionsExec>()
        || plan.is::<Unary<SkipExec>>()
        || plan.is::<Unary<OneOfKeyExec>>()
        || plan.maintains_input_order() == [true]
        || is_looked_up(plan)
}

/// Whether each row of the second input is looked up in a table made of the whole first one.
fn is_looked_up(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.maintains_input_order() == [false, true]
        && plan
            .downcast_ref::<HashJoinExec>()
            .is_some_and(|join| *join.partition_mode() == PartitionMode::CollectLeft)
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;
    use arrow::compute::cast;
    use arrow::datatypes::{DataType, Int64Type};
    use datafusion::physical_plan::collect;
    use datafusion::prelude::{SessionConfig, SessionContext};
    use stores::ReadProgress;

    use super::*;
    use crate::provider::numbers::{NumberRange, numbers_table};

    fn spreads(plan: &Arc<dyn ExecutionPlan>) -> bool {
        plan.is::<RepartitionExec>() || plan.children().into_iter().any(spreads)
    }

    #[tokio::test]
    async fn numbers_come_in_order_through_filters_and_expressions_and_are_spread_below_aggregates() {
        let config = SessionConfig::new().with_target_partitions(4).with_batch_size(8);
        let context = SessionContext::new_with_config(config);
        let range = NumberRange { start: 0, count: Some(10_000), step: 1, column: "n" };
        let table = numbers_table(range, &Arc::new(ReadProgress::default())).unwrap();
        context.register_table("t", table).unwrap();
        for (sql, spread_before, spread_after) in [
            ("SELECT n FROM t", false, false),
            ("SELECT n * 3 + 1 FROM t WHERE n % 3 = 0", true, false),
            (
                "SELECT n + 1 FROM (SELECT n * 2 AS n FROM t WHERE n > 5) WHERE n % 4 = 0 LIMIT 500",
                true,
                false,
            ),
            ("SELECT max(n * 2) FROM t GROUP BY n % 7 ORDER BY 1", true, true),
        ] {
            let plan = context.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
            assert_eq!(spreads(&plan), spread_before, "{sql}");
            let plan = in_source_order(plan).unwrap();
            let shown = datafusion::physical_plan::displayable(plan.as_ref()).indent(true).to_string();
            assert_eq!(spreads(&plan), spread_after, "{sql}\n{shown}");
            let batches = collect(plan, context.task_ctx()).await.unwrap();
            let values: Vec<i64> = batches
                .iter()
                .map(|batch| cast(batch.column(0), &DataType::Int64).unwrap())
                .flat_map(|column| column.as_primitive::<Int64Type>().values().to_vec())
                .collect();
            assert!(!values.is_empty() && values.is_sorted(), "{sql}");
        }
    }
}
