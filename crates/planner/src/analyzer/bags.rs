//! INTERSECT ALL and EXCEPT ALL of bags: a row is as often in the result as it is in both sides, or more often in the left.
//!
//! DataFusion joins the sides by all columns, which tells only whether a row is there. Invariant: the n-th of equal rows of
//! one side meets the n-th of the other.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{Expr, ExprFunctionExt, Join, LogicalPlan, LogicalPlanBuilder};

/// What counts equal rows; no column of a statement has such a name.
const NUMBERS: [&str; 2] = ["\u{1}left", "\u{1}right"];

/// The join of a set operation, as one of rows with their numbers.
pub(crate) fn numbered(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match node {
        LogicalPlan::Join(join) if is_of_bags(&join) => {
            let shown = join.schema.columns().into_iter().map(Expr::Column).collect::<Vec<_>>();
            let [of_left, of_right] = NUMBERS;
            let (left, right) = (with_number(join.left, of_left)?, with_number(join.right, of_right)?);
            let mut on = join.on;
            on.push((Expr::Column(Column::from_name(of_left)), Expr::Column(Column::from_name(of_right))));
            let joined = Join::try_new(
                Arc::new(left),
                Arc::new(right),
                on,
                join.filter,
                join.join_type,
                join.join_constraint,
                join.null_equality,
                join.null_aware,
            )?;
            let plan = LogicalPlanBuilder::from(LogicalPlan::Join(joined)).project(shown)?.build()?;
            Ok(Transformed::yes(plan))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// Only set operations take NULL for equal to NULL; of different rows on the left there is nothing to count.
fn is_of_bags(join: &Join) -> bool {
    join.null_equality == NullEquality::NullEqualsNull
        && matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && !matches!(join.left.as_ref(), LogicalPlan::Distinct(_))
}

fn with_number(plan: Arc<LogicalPlan>, name: &str) -> Result<LogicalPlan> {
    let columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    let number = row_number().partition_by(columns.clone()).build()?;
    let made = Column::from_name(number.schema_name().to_string());
    let columns = columns.into_iter().chain([Expr::Column(made).alias(name)]);
    LogicalPlanBuilder::from(plan).window(vec![number])?.project(columns)?.build()
}
