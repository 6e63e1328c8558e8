//! What stands in FROM and DataFusion's grammar has no plan for: ARRAY JOIN, and joins that are strict.
//!
//! The rewrite leaves each as a join of its own in parentheses. Here the sides are planned, so that names and types are
//! known. Invariant: columns keep the qualifiers their tables gave them.

mod array_join;
mod strict;

use datafusion::common::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use sql::reader::clauses::{Strictness, word_of};
use sqlparser::ast::{Expr, Join, JoinOperator, TableFactor};

/// See the module.
#[derive(Debug)]
pub(crate) struct Relations;

impl RelationPlanner for Relations {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let TableFactor::NestedJoin { table_with_joins, alias: None } = &relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let [join] = table_with_joins.joins.as_slice() else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let planned = match &join.join_operator {
            JoinOperator::ArrayJoin | JoinOperator::LeftArrayJoin | JoinOperator::InnerArrayJoin => {
                let left = context.plan(table_with_joins.relation.clone())?;
                array_join::plan(left, join, context)?
            }
            JoinOperator::AsOf { match_condition, constraint } => {
                let Some((strictness, side)) = word_of(match_condition).and_then(Strictness::parse) else {
                    return Ok(RelationPlanning::Original(Box::new(relation)));
                };
                let left = context.plan(table_with_joins.relation.clone())?;
                let right = context.plan(join.relation.clone())?;
                strict::plan((left, right), (strictness, side), constraint.clone(), context)?
            }
            _ => return Ok(RelationPlanning::Original(Box::new(relation))),
        };
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(planned, None))))
    }
}

/// The arrays of an ARRAY JOIN, as the rewrite left them.
fn arrays(join: &Join) -> &[Expr] {
    match &join.relation {
        TableFactor::UNNEST { array_exprs, .. } => array_exprs,
        _ => &[],
    }
}

/// A step of our own on top of a plan.
fn extended(node: impl datafusion::logical_expr::UserDefinedLogicalNode + 'static) -> LogicalPlan {
    LogicalPlan::Extension(datafusion::logical_expr::Extension { node: std::sync::Arc::new(node) })
}
