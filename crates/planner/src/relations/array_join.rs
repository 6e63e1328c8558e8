//! `FROM t ARRAY JOIN a, b AS x`: the arrays become columns, then one row is made for each element.
//!
//! Invariant: an array without an alias of its own is replaced by its elements where it stands; one with an alias stays,
//! and its elements are a column more.

use datafusion::common::{Column, Result, plan_err};
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use sqlparser::ast::{Expr as SqlExpr, Join, JoinOperator};

use super::{arrays, extended};
use crate::nodes::ArrayJoin;

pub(super) fn plan(
    left: LogicalPlan,
    join: &Join,
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let (mut joined, mut added) = (vec![], vec![]);
    for array in arrays(join) {
        let SqlExpr::Named { expr, name } = array else {
            return plan_err!("ARRAY JOIN of {array}, which has no name");
        };
        let name = name.value.as_str();
        match context.sql_to_expr(expr.as_ref().clone(), left.schema())? {
            Expr::Column(column) if column.name == name => joined.push(column),
            other => {
                joined.push(Column::from_name(name));
                added.push(other.alias(name));
            }
        }
    }
    let keeps_empty = matches!(join.join_operator, JoinOperator::LeftArrayJoin);
    let input = if added.is_empty() { left } else { with_columns(left, added)? };
    Ok(extended(ArrayJoin::try_new(input, joined, keeps_empty)?))
}

/// The plan with more columns; one of theirs hides a column of its name.
fn with_columns(plan: LogicalPlan, added: Vec<Expr>) -> Result<LogicalPlan> {
    let hidden = |name: &str| added.iter().any(|expr| expr.schema_name().to_string() == name);
    let kept = plan.schema().iter().filter(|(_, field)| !hidden(field.name()));
    let mut columns: Vec<Expr> = kept.map(|part| Expr::Column(Column::from(part))).collect();
    columns.extend(added);
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}
